//! A host of real servers, each in a process of its own.

#![cfg(target_os = "linux")]

mod support;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::json;
use support::alone::{alone, is_alive};
use support::hosts::{entry, folder, lines};
use support::peers::{self, LONG, brief, eventually};
use tinymcp::Error;
use tinymcp::client::{Address, CallOptions, Caller, Change, Filter};
use tinymcp::host::consent::Rules;
use tinymcp::host::containment::CommandLine;
use tinymcp::host::resilience::{Restart, RestartPolicy};
use tinymcp::host::{Host, HostBuilder, HostEvent, HostEvents, ServerState};

#[test]
fn child() {
    peers::child();
}

/// A host that allows everything.
fn open() -> HostBuilder {
    Host::builder().policy(Rules::new().allow("*", "*")).client(|_, builder| builder.patience(brief()))
}

/// Waits for what `is_it` looks for.
fn until<T>(events: &HostEvents, mut is_it: impl FnMut(HostEvent) -> Option<T>) -> T {
    loop {
        let event = events.next_timeout(LONG).expect("it is told");
        if let Some(found) = is_it(event) {
            return found;
        }
    }
}

fn until_state(events: &HostEvents, name: &str, wanted: impl Fn(&ServerState) -> bool) -> ServerState {
    until(events, |event| match event {
        HostEvent::State { server, state } if &*server == name && wanted(&state) => Some(state),
        _ => None,
    })
}

fn text(host: &Host, tool: &str, arguments: serde_json::Value) -> String {
    host.call_tool(tool, arguments).unwrap_or_else(|e| panic!("{tool}: {e}")).text_content()
}

#[test]
fn a_silent_server_holds_up_nobody() {
    let _alone = alone();
    let begun = Instant::now();
    let mut builder = open().start_time(Duration::from_secs(2)).server(entry("silent", "silent"));
    for i in 0..10 {
        builder = builder.server(entry(&format!("good{i}"), "steady"));
    }
    let host = builder.start().expect("starts");
    assert!(host.wait_first(LONG).is_some());
    let mut waiting: BTreeSet<_> = (0..10).map(|i| format!("good{i}__echo")).collect();
    let events = host.watch();
    while !waiting.is_empty() {
        waiting.retain(|tool| host.tools().get(tool).is_none());
        assert!(waiting.is_empty() || events.next_timeout(LONG).is_some());
    }
    for i in 0..10 {
        assert_eq!(text(&host, &format!("good{i}__echo"), json!({"text": "here"})), "here");
    }
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_eq!(host.state("silent"), Some(ServerState::Starting));
    // It hides nobody, and says why it is not there.
    let ServerState::Failed(why) = until_state(&events, "silent", |s| *s != ServerState::Starting) else {
        panic!("it failed")
    };
    assert!(why.contains("no answer within 2 s during handshake"), "{why}");
    assert_eq!(text(&host, "good3__echo", json!({"text": "still"})), "still");
}

#[test]
fn a_hundred_servers_eight_at_a_time() {
    let _alone = alone();
    let begun = Instant::now();
    let servers = (0..100).map(|i| entry(&format!("s{i}"), "steady"));
    let host = servers.fold(open(), HostBuilder::server).max_starting(8).start().expect("starts");
    let states = host.wait_ready(Duration::from_secs(60));
    assert!(states.iter().all(|(_, state)| *state == ServerState::Ready), "{states:?}");
    assert!(begun.elapsed() < Duration::from_secs(60));
    let pids: BTreeSet<_> = (0..100).map(|i| text(&host, &format!("s{i}__pid"), json!({}))).collect();
    assert_eq!(pids.len(), 100);
    let report = host.close();
    assert_eq!(report.len(), 100);
    assert!(report.iter().all(|(_, ended)| ended.is_ok()));
    assert!(!pids.iter().any(|pid| is_alive(pid)));
}

#[test]
fn tools_come_and_go_and_keep_their_names() {
    let host = open().server(entry("one", "steady")).server(entry("two", "steady")).start().expect("starts");
    host.wait_ready(LONG);
    let events = host.watch();
    text(&host, "one__grow", json!({"name": "a.b"}));
    until(&events, |event| match event {
        HostEvent::Tools { server, added, .. } if &*server == "one" => {
            assert_eq!(added, ["one__a_b"]);
            Some(())
        }
        _ => None,
    });
    assert_eq!(text(&host, "one__a_b", json!({})), "new");
    // Another that comes to the same name is not offered, and the first stays what it is.
    text(&host, "one__grow", json!({"name": "a_b"}));
    let problem = until(&events, |event| match event {
        HostEvent::ToolRefused { tool, problem, .. } => Some((tool, problem)),
        _ => None,
    });
    assert!(
        problem.1.contains("one__a_b") && problem.1.contains("\"a.b\"") && problem.1.contains("\"a_b\""),
        "{problem:?}"
    );
    let names: Vec<_> = host.list_tools(&CallOptions::default()).expect("lists").items;
    assert!(names.iter().all(|tool| tool.name.starts_with("one__") || tool.name.starts_with("two__")));
    // Gone with its server.
    host.remove("one").expect("removed");
    assert!(host.tools().names().iter().all(|name| name.starts_with("two__")));
    assert!(matches!(host.call_tool("one__echo", json!({"text": ""})), Err(Error::InvalidUse(_))));
    host.add(entry("three", "steady")).expect("added");
    host.wait_ready(LONG);
    assert_eq!(text(&host, "three__echo", json!({"text": "new"})), "new");
    assert!(matches!(host.add(entry("three", "steady")), Err(Error::InvalidUse(_))));
}

#[test]
fn two_servers_that_come_to_one_name_are_both_named() {
    let host = open().server(entry("a", "steady")).start().expect("starts");
    host.wait_ready(LONG);
    text(&host, "a__grow", json!({"name": "b__echo"}));
    eventually("the tool is there", || host.tools().get("a__b__echo").is_some());
    let events = host.watch();
    host.add(entry("a__b", "steady")).expect("added");
    let problem = until(&events, |event| match event {
        HostEvent::ToolRefused { server, problem, .. } => {
            assert_eq!(&*server, "a__b");
            Some(problem)
        }
        _ => None,
    });
    assert!(
        problem.contains("\"b__echo\" of server a") && problem.contains("\"echo\" of server a__b"),
        "{problem}"
    );
    assert_eq!(text(&host, "a__b__echo", json!({})), "new");
    // Once the name is free it is the other's.
    host.remove("a").expect("removed");
    assert_eq!(text(&host, "a__b__echo", json!({"text": "mine"})), "mine");
}

#[test]
fn a_server_that_died_is_started_again_by_the_next_call() {
    let _alone = alone();
    let file = folder("lazy").join("starts");
    let changing = entry("s", &format!("changing={},steady", file.display()));
    let host = open().server(changing).start().expect("starts");
    host.wait_ready(LONG);
    let events = host.watch();
    let before = text(&host, "s__pid", json!({}));
    let error = host.call_tool("s__die", ()).expect_err("it died");
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error}");
    until_state(&events, "s", |state| matches!(state, ServerState::Ended(_)));
    let after = text(&host, "s__pid", json!({}));
    assert_ne!(before, after);
    assert!(!is_alive(&before));
    // It is version 2 now, which is told.
    until(&events, |event| match event {
        HostEvent::Identity { before, after, .. } => {
            assert_eq!(before.info.as_ref().map(|info| &*info.version), Some("1"));
            assert_eq!(after.info.as_ref().map(|info| &*info.version), Some("2"));
            Some(())
        }
        _ => None,
    });
}

#[test]
fn a_server_that_died_is_started_again_at_once_if_that_is_wanted() {
    let host = open()
        .restart(RestartPolicy::new(Restart::Eagerly))
        .server(entry("s", "steady"))
        .start()
        .expect("starts");
    host.wait_ready(LONG);
    let events = host.watch();
    host.call_tool("s__die", ()).expect_err("it died");
    until_state(&events, "s", |state| matches!(state, ServerState::Ended(_)));
    until_state(&events, "s", |state| *state == ServerState::Ready);
    assert_eq!(text(&host, "s__echo", json!({"text": "again"})), "again");
}

#[test]
fn calls_of_a_server_that_is_removed_are_unknown() {
    let folder = folder("removed");
    let file = folder.join("marks");
    let host = open().server(entry("s", "steady")).start().expect("starts");
    host.wait_ready(LONG);
    let handle = host.handle();
    let arguments = json!({"file": file, "line": "once", "ms": 60_000});
    let calling = std::thread::spawn(move || handle.call_tool("s__mark_slowly", arguments));
    eventually("it runs", || lines(&file) == ["once"]);
    host.remove("s").expect("removed");
    let error = calling.join().expect("no panic").expect_err("it was removed");
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error}");
    assert_eq!(lines(&file), ["once"]);
}

#[test]
fn a_server_that_cannot_start_says_why_and_can_be_tried_again() {
    let folder = folder("retry");
    let missing = tinymcp::host::config::ServerEntry::command("m", "/no/such/program", [""; 0]);
    let host = open().server(missing).server(entry("dies", "dies")).start().expect("starts");
    let states = host.wait_ready(LONG);
    for (name, state) in states {
        let ServerState::Failed(why) = state else { panic!("{name}: {state}") };
        let wanted = if &*name == "m" { "/no/such/program" } else { "exit status: 3" };
        assert!(why.contains(wanted), "{why}");
    }
    assert!(host.restart("m").is_err());
    drop(folder);
}

#[test]
fn closing_does_not_wait_for_servers_that_start() {
    let _alone = alone();
    let pids = folder("closing").join("pids");
    let silent = format!("pids={},silent", pids.display());
    let host = open().start_time(LONG * 2).server(entry("a", &silent)).server(entry("b", &silent));
    let host = host.max_starting(1).start().expect("starts");
    eventually("one of them starts", || lines(&pids).len() == 1);
    let begun = Instant::now();
    host.close();
    assert!(begun.elapsed() < LONG / 2);
    eventually("it has ended", || !is_alive(&lines(&pids)[0]));
    assert_eq!(lines(&pids).len(), 1, "the other one never began");
}

#[test]
fn every_server_is_started_in_its_sandbox() {
    let wrapped = |command: CommandLine| Ok(command.wrapped_in("env", ["TINYMCP_WRAPPED=yes"]));
    let host = open().sandbox(wrapped).server(entry("s", "steady")).start().expect("starts");
    host.wait_ready(LONG);
    let environment = format!("/proc/{}/environ", text(&host, "s__pid", json!({})));
    assert!(std::fs::read_to_string(environment).expect("read").contains("TINYMCP_WRAPPED=yes"));
}

#[test]
fn events_of_all_servers_come_in_one_place() {
    let host = open().server(entry("one", "steady")).server(entry("two", "steady")).start().expect("starts");
    host.wait_ready(LONG);
    let mut events = host.events(Filter::new().tools()).expect("listens");
    for server in ["one", "two"] {
        text(&host, &format!("{server}__grow"), json!({"name": "new"}));
        let event = events.next_timeout(LONG).expect("it is told");
        assert_eq!((event.server.as_deref(), event.change), (Some(server), Change::ToolsChanged));
    }
    // One that comes later is listened to as well.
    host.add(entry("three", "steady")).expect("added");
    host.wait_ready(LONG);
    text(&host, "three__grow", json!({"name": "new"}));
    assert_eq!(events.next_timeout(LONG).expect("it is told").server.as_deref(), Some("three"));
    drop(host);
    assert!(events.next().is_none());
}

#[test]
fn an_address_without_a_server_is_only_for_one() {
    let host = open().server(entry("one", "steady")).server(entry("two", "steady")).start().expect("starts");
    host.wait_ready(LONG);
    let error = host.read_resource(Address::from("x://y"), &CallOptions::default()).expect_err("which?");
    assert!(matches!(error, Error::InvalidUse(_)) && error.to_string().contains("one, two"), "{error}");
}
