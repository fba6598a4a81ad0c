//! Servers and hosts that are killed in the middle of everything: nothing is left, nothing is done twice in silence, and the audit log
//! explains what was done.

#![cfg(target_os = "linux")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;
use support::alone::{alone, is_alive};
use support::hosts::{Dice, entry, folder, kill, lines};
use support::peers::{self, LONG, brief, eventually};
use tinymcp::client::CallOptions;
use tinymcp::host::audit::{AuditLog, Ended, Kind, LineKind};
use tinymcp::host::consent::Rules;
use tinymcp::host::resilience::{Restart, RestartPolicy, Retry};
use tinymcp::host::{Host, HostBuilder, ServerState};
use tinymcp::{Error, Result};

#[test]
fn child() {
    peers::child();
}

fn open(restart: Restart) -> HostBuilder {
    let millis = Duration::from_millis;
    Host::builder()
        .policy(Rules::new().allow("*", "*"))
        .retry(Retry::default().with_base(millis(2)).with_cap(millis(10)))
        .restart(RestartPolicy::new(restart).with_pauses(millis(1), millis(5)).with_limit(1_000))
        .client(|_, builder| builder.patience(brief()))
}

/// What became of one call, and how often it ran.
fn check(outcome: &Result<String>, ran: usize, is_repeatable: bool, round: u64) {
    match outcome {
        Ok(_) if is_repeatable => assert!(ran >= 1, "round {round}: answered and never run"),
        Ok(_) => assert_eq!(ran, 1, "round {round}: answered"),
        // It may have run, once; a call that can be repeated may have run more often.
        Err(Error::OutcomeUnknown(_)) => assert!(ran <= 1 || is_repeatable, "round {round}: ran {ran} times"),
        // It is known that it did not.
        Err(error) => assert!(ran == 0 || is_repeatable, "round {round}: {error}, and it ran {ran} times"),
    }
}

#[test]
fn two_hundred_servers_are_killed_in_every_phase() {
    let _alone = alone();
    let folder = folder("kills");
    let (pids, others, marks) = (folder.join("pids"), folder.join("others"), folder.join("marks"));
    let mut dice = Dice(20_261_201);
    let role = format!("pids={},steady", pids.display());
    let slow = format!("pids={},slow=20,steady", others.display());
    let other = format!("pids={},steady", others.display());
    let last_pid = || lines(&pids).last().cloned();
    let last_other = || lines(&others).last().cloned();
    let host = open(Restart::Lazily).server(entry("s", &role)).start().expect("starts");
    host.wait_ready(LONG);
    for round in 0..200 {
        let line = format!("round {round}");
        let ran = || lines(&marks).iter().filter(|mark| **mark == line).count();
        match dice.below(4) {
            // While it starts: it can be started again.
            0 => {
                let started = lines(&others).len();
                host.add(entry("starting", &slow)).expect("added");
                eventually("it starts", || lines(&others).len() > started);
                dice.pause(Duration::from_millis(30));
                kill(&last_other().expect("started"));
                host.wait_ready(LONG);
                let state = host.state("starting").expect("it is there");
                assert!(
                    matches!(state, ServerState::Failed(_) | ServerState::Ready | ServerState::Ended(_)),
                    "{state}"
                );
                host.remove("starting").expect("removed");
            }
            // While it does nothing: the next call is made all the same.
            1 => {
                kill(&last_pid().expect("started"));
                let outcome = mark(&host, "s__mark", &marks, &line, 0);
                check(&outcome, ran(), false, round);
            }
            // In the middle of a call.
            2 => {
                let (tool, is_repeatable) =
                    if dice.below(2) == 0 { ("s__mark_slowly", false) } else { ("s__mark_again", true) };
                let pid = last_pid().expect("started");
                let wait = dice.below(10);
                let outcome = std::thread::scope(|scope| {
                    let calling = scope.spawn(|| mark(&host, tool, &marks, &line, wait));
                    dice.pause(Duration::from_millis(8));
                    kill(&pid);
                    calling.join().expect("no panic")
                });
                check(&outcome, ran(), is_repeatable, round);
                if is_repeatable {
                    outcome.expect("it is made again");
                }
            }
            // While it is ended.
            _ => {
                let closing = open(Restart::Eagerly).server(entry("c", &other)).start().expect("starts");
                closing.wait_ready(LONG);
                let pid = last_other().expect("started");
                std::thread::scope(|scope| {
                    scope.spawn(|| kill(&pid));
                    dice.pause(Duration::from_millis(2));
                    for (server, report) in closing.close() {
                        report.unwrap_or_else(|e| panic!("round {round}: {server}: {e}"));
                    }
                });
            }
        }
        // Whatever it was, the server is there.
        if host.state("s") != Some(ServerState::Ready) {
            host.call_tool("s__echo", json!({"text": "there"})).expect("it is started again");
        }
        let pid = host.call_tool("s__pid", ()).expect("answers").text_content();
        assert_eq!(last_pid().as_deref(), Some(pid.as_str()), "round {round}");
    }
    drop(host);
    assert!(![lines(&pids), lines(&others)].concat().iter().any(|pid| is_alive(pid)));
}

fn mark(host: &Host, tool: &str, file: &Path, line: &str, ms: u64) -> Result<String> {
    let arguments = match tool {
        "s__mark" => json!({"file": file, "line": line}),
        _ => json!({"file": file, "line": line, "ms": ms}),
    };
    let options = CallOptions::default().with_total(LONG);
    host.call_tool_with(tool, arguments, &options).map(|result| result.text_content())
}

/// Names the folder of a host that is to be killed.
const HOST: &str = "TINYMCP_HOST_TO_BE_KILLED";

/// The host of the test below, in a process of its own: marks and marks until it is killed.
#[test]
fn a_host_to_be_killed() {
    let Some(folder) = std::env::var_os(HOST).map(PathBuf::from) else { return };
    let role = format!("pids={},steady", folder.join("pids").display());
    let log = AuditLog::open(folder.join("audit.jsonl")).expect("opens");
    let host = (0..3).fold(open(Restart::Eagerly).audit(&log), |builder, i| {
        builder.server(entry(&format!("s{i}"), &role))
    });
    let host = host.start().expect("starts");
    host.wait_ready(LONG);
    std::thread::scope(|scope| {
        for server in 0..3 {
            let (host, folder) = (&host, &folder);
            scope.spawn(move || {
                for count in 0.. {
                    let arguments =
                        json!({"file": folder.join("marks"), "line": format!("{server}/{count}")});
                    host.call_tool(&format!("s{server}__mark"), arguments).expect("marks");
                }
            });
        }
    });
}

#[test]
fn fifty_hosts_are_killed_and_their_logs_explain_what_they_did() {
    let mut dice = Dice(1_120_262);
    for round in 0..50 {
        let folder = folder(&format!("host-{round}"));
        let (pids, marks, audit) = (folder.join("pids"), folder.join("marks"), folder.join("audit.jsonl"));
        let mut host = Command::new(std::env::current_exe().expect("the test binary"))
            .args(["--exact", "a_host_to_be_killed", "--nocapture", "--test-threads=1"])
            .env(HOST, &folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        // Anywhere between its start and the middle of its work.
        if round % 5 == 0 {
            eventually("it begins", || audit.exists());
        } else {
            eventually("it works", || marks.exists());
        }
        dice.pause(Duration::from_millis(30));
        host.kill().expect("killed");
        host.wait().expect("ended");
        // Servers that obey the end of their input are gone.
        eventually("its servers are gone", || !lines(&pids).iter().any(|pid| is_alive(pid)));
        let lost = explained(&audit, &marks);
        assert!(lost <= 3, "round {round}: {lost} calls without an outcome, of three threads");
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}

/// Sees to it that the log is whole, and that every mark is one of a call in it; returns how many calls have no outcome.
fn explained(audit: &Path, marks: &Path) -> usize {
    if !audit.exists() {
        assert_eq!(lines(marks), [""; 0]);
        return 0;
    }
    // Whole but for the last line.
    let damaged: Vec<_> = AuditLog::read(audit)
        .expect("opens")
        .map(|line| line.expect("read").kind() == LineKind::Damaged)
        .collect();
    assert!(!damaged.iter().rev().skip(1).any(|is_damaged| *is_damaged));
    let mut calls = BTreeMap::new();
    for account in AuditLog::read(audit).expect("opens").explain() {
        let account = account.expect("read");
        if account.kind() == Some(Kind::Call) {
            let arguments = account
                .intent()
                .expect("an intent")
                .members()
                .json("arguments")
                .expect("arguments")
                .to_value();
            let line = arguments["line"].as_str().expect("a line").to_owned();
            assert!(calls.insert(line, account.ended()).is_none(), "one call twice");
        }
    }
    let mut seen = BTreeSet::new();
    for mark in lines(marks) {
        assert!(seen.insert(mark.clone()), "{mark} was done twice");
        // A torn intent is one of which nothing was sent: its line is written first.
        assert!(calls.contains_key(&mark), "{mark} was done, and nobody knows of it");
    }
    for (line, ended) in &calls {
        assert!(*ended != Ended::Ok || seen.contains(line), "{line} is said to be done");
    }
    calls.values().filter(|ended| **ended == Ended::Unknown).count()
}
