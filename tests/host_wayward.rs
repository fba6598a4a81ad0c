//! Servers that go astray at run time, under one host: slow ones, dying ones, ones that change all the time.

#![cfg(target_os = "linux")]

mod support;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use support::alone::{alone, children, is_alive};
use support::hosts::{folder, kill, lines};
use support::peers::{self, LONG, brief, eventually};
use support::wayward::wayward;
use tinymcp::client::CallOptions;
use tinymcp::host::audit::AuditLog;
use tinymcp::host::consent::{Answer, Consent, Question, Rules};
use tinymcp::host::resilience::{RestartPolicy, Retry};
use tinymcp::host::{Host, HostBuilder, HostEvent, HostEvents, ServerState};
use tinymcp::{CancelToken, Error};

#[test]
fn child() {
    peers::child();
}

/// A host that allows everything.
fn open() -> HostBuilder {
    let millis = Duration::from_millis;
    Host::builder()
        .policy(Rules::new().allow("*", "*"))
        .retry(Retry::default().with_base(millis(2)).with_cap(millis(10)))
        .restart(RestartPolicy::default().with_pauses(millis(1), millis(5)).with_limit(1_000))
        .client(|_, builder| builder.patience(brief()))
}

fn started(builder: HostBuilder) -> (Host, HostEvents) {
    let host = builder.start().expect("starts");
    host.wait_ready(LONG);
    let events = host.watch();
    (host, events)
}

fn until<T>(events: &HostEvents, mut is_it: impl FnMut(HostEvent) -> Option<T>) -> T {
    loop {
        let event = events.next_timeout(LONG).expect("it is told");
        if let Some(found) = is_it(event) {
            return found;
        }
    }
}

fn role(words: &[&str], pids: &Path) -> String {
    format!("{},pids={}", words.join(","), pids.display())
}

fn none_is_alive(pids: &Path) {
    let alive: Vec<_> = lines(pids).into_iter().filter(|pid| is_alive(pid)).collect();
    assert!(alive.is_empty(), "still there: {alive:?}");
}

#[test]
fn a_close_leaves_nothing_of_servers_that_start() {
    let _alone = alone();
    let pids = folder("close-starting").join("pids");
    for round in 0..20_u64 {
        let roles = ["mute", "starts_after=40", "stays", "list_hangs=0", "ends_in_start"];
        let servers = roles.iter().map(|word| wayward(word, &role(&[word], &pids)));
        let host = servers.fold(open(), HostBuilder::server).start().expect("starts");
        let _ = CancelToken::new().wait_timeout(Duration::from_millis(round * 3));
        let begun = Instant::now();
        drop(host);
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        none_is_alive(&pids);
        assert!(children().is_empty(), "round {round}: {:?}", children());
    }
}

#[test]
fn what_is_removed_while_it_starts_is_gone() {
    let _alone = alone();
    let pids = folder("remove-starting").join("pids");
    let host = open().start().expect("starts");
    let events = host.watch();
    for round in 0..60_u64 {
        host.add(wayward("s", &role(&["starts_after=10"], &pids))).expect("added");
        let _ = CancelToken::new().wait_timeout(Duration::from_micros(round * 500));
        host.remove("s").expect("removed");
        none_is_alive(&pids);
        assert!(children().is_empty(), "round {round}");
        let mut last = None;
        while let Some(event) = events.try_next() {
            if let HostEvent::State { state, .. } = event {
                assert_ne!(last, Some(ServerState::Stopped), "{state} after the end");
                last = Some(state);
            }
        }
        assert_eq!(last, Some(ServerState::Stopped));
        assert!(host.tools().is_empty(), "{:?}", host.tools().names());
    }
}

#[test]
fn fifty_calls_end_when_the_host_is_dropped() {
    let _alone = alone();
    let folder = folder("fifty");
    let (pids, marks) = (folder.join("pids"), folder.join("marks"));
    let (host, _) = started(open().server(wayward("s", &role(&["stays"], &pids))));
    let handle = host.handle();
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..50)
            .map(|i| {
                let arguments = json!({"file": marks, "line": i.to_string(), "ms": 60_000});
                let handle = &handle;
                scope.spawn(move || handle.call_tool("s__mark", arguments))
            })
            .collect();
        eventually("all run", || lines(&marks).len() == 50);
        let begun = Instant::now();
        drop(host);
        for call in calls {
            let error = call.join().expect("no panic").expect_err("it was cut off");
            assert!(matches!(error, Error::OutcomeUnknown(_)), "{error}");
        }
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    });
    none_is_alive(&pids);
    assert_eq!(lines(&marks).len(), 50, "none ran twice");
}

#[test]
fn a_name_is_free_once_its_server_is_gone() {
    let _alone = alone();
    let pids = folder("again").join("pids");
    let (host, _) = started(open().server(wayward("s", &role(&["stays"], &pids))));
    std::thread::scope(|scope| {
        let host = &host;
        let removing = scope.spawn(move || host.remove("s").expect("removed"));
        let mut refused = 0;
        while let Err(error) = host.add(wayward("s", &role(&[], &pids))) {
            assert!(matches!(error, Error::InvalidUse(_) | Error::Busy(_)), "{error}");
            refused += 1;
        }
        // The old one is gone first.
        let pids = lines(&pids);
        assert!(refused > 0 && !is_alive(&pids[0]));
        removing.join().expect("no panic");
    });
    host.wait_ready(LONG);
    assert_eq!(host.state("s"), Some(ServerState::Ready));
    let pid = host.call_tool("s__pid", ()).expect("its tools are there").text_content();
    assert_eq!(lines(&pids), [lines(&pids)[0].clone(), pid]);
}

#[test]
fn a_flood_of_changes_is_listed_now_and_then() {
    let _alone = alone();
    let listed = folder("flood").join("listed");
    let role = format!("floods,turns,many=200,listed={}", listed.display());
    let (host, events) = started(open().server(wayward("s", &role)).server(wayward("good", "")));
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(4) {
        host.call_tool("good__pid", ()).expect("nobody else is held up");
        host.call_tool("s__pid", ()).expect("it can be called");
    }
    let listings = lines(&listed).len();
    assert!(listings <= 12, "{listings} listings in 4 s");
    let mut told = 0;
    while let Some(event) = events.try_next() {
        assert!(!matches!(event, HostEvent::Missed(_)));
        told += 1;
    }
    assert!(told <= 40, "{told} events");
}

#[test]
fn a_list_that_fails_leaves_the_last_one() {
    let _alone = alone();
    let short = Duration::from_secs(2);
    for (word, time, why) in [
        ("list_fails=1", LONG, "the list is lost"),
        ("endless=1", LONG, "pages"),
        ("list_hangs=1", short, "no answer within"),
        ("endless=1,list_after=100", short, "no answer within"),
    ] {
        let host = open().server(wayward("s", word)).start_time(time);
        let (host, events) = started(host);
        host.call_tool("s__notify", ()).expect("answers");
        let begun = Instant::now();
        let problem = until(&events, |event| match event {
            HostEvent::Trouble { problem, .. } => Some(problem),
            event => panic!("{word}: {event}"),
        });
        assert!(problem.contains(why), "{word}: {problem}");
        assert!(begun.elapsed() < time * 2, "{word}: {:?}", begun.elapsed());
        host.call_tool("s__mark", ()).expect("as it was listed last");
        assert_eq!(host.state("s"), Some(ServerState::Ready));
    }
}

#[test]
fn what_is_refused_by_the_thousand_is_told_in_a_few_words() {
    let _alone = alone();
    for (word, most) in [("twins=3000", 1), ("nameless=3000", 32)] {
        let builder = open().server(wayward("s", word)).server(wayward("good", ""));
        let host = builder.start().expect("starts");
        let events = host.watch();
        host.wait_ready(LONG);
        host.call_tool("s__notify", ()).expect("answers");
        host.call_tool("good__pid", ()).expect("answers");
        let _ = CancelToken::new().wait_timeout(Duration::from_millis(500));
        let (mut refused, mut rest) = (0, Vec::new());
        while let Some(event) = events.try_next() {
            match event {
                HostEvent::ToolRefused { .. } => refused += 1,
                event => rest.push(event.to_string()),
            }
        }
        // By their names, and not again when they are listed again.
        assert_eq!(refused, most, "{word}: {rest:?}");
        let more: Vec<_> = rest.iter().filter(|event| event.contains("more of its tools")).collect();
        assert!(more.len() == usize::from(most > 1), "{rest:?}");
    }
}

/// Says yes, and lets something happen meanwhile.
struct Meanwhile<F>(F, Arc<Mutex<Vec<String>>>);

impl<F: Fn() + Send + Sync + 'static> Consent for Meanwhile<F> {
    fn ask(&self, question: &Question, _: &CancelToken) -> Answer {
        self.1.lock().expect("no panic").push(question.to_string());
        (self.0)();
        Answer::Always
    }
}

#[test]
fn what_changes_while_the_user_is_asked_is_asked_again_and_again_is_an_error() {
    let _alone = alone();
    let folder = folder("turns");
    let (ways, marks) = (folder.join("ways"), folder.join("marks"));
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let handle = Arc::<Mutex<Option<tinymcp::host::HostHandle>>>::default();
    let (theirs, file) = (Arc::clone(&handle), ways.clone());
    let turning = Arc::new(AtomicUsize::new(usize::MAX));
    let left = Arc::clone(&turning);
    let meanwhile = move || {
        if left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_err() {
            return;
        }
        std::fs::write(&file, "way\n".repeat(lines(&file).len() + 1)).expect("written");
        let host = theirs.lock().expect("no panic").clone().expect("a host");
        let before = host.tools().get("s__turncoat").expect("it is there").description().to_owned();
        host.call_tool("s__notify", ()).expect("tells");
        eventually("it is listed", || {
            host.tools().get("s__turncoat").is_some_and(|tool| tool.description() != before)
        });
    };
    let role = format!("turns={}", ways.display());
    let rules = Rules::new().allow("s", "notify");
    let builder = open().policy(rules).consent(Meanwhile(meanwhile, Arc::clone(&asked)));
    let (host, _) = started(builder.server(wayward("s", &role)));
    *handle.lock().expect("no panic") = Some(host.handle());
    let arguments = json!({"file": marks, "line": "turned"});
    let error = host.call_tool("s__turncoat", &arguments).expect_err("it never stays");
    assert!(error.to_string().contains("change"), "{error}");
    assert!(matches!(error, Error::Denied(_)), "{error:?}");
    assert_eq!(asked.lock().expect("no panic").len(), 3, "{asked:?}");
    assert_eq!(lines(&marks), [""; 0], "nothing was done");
    // Once it stays, it is asked once more, and shown what is other than before.
    turning.store(1, Ordering::SeqCst);
    host.call_tool("s__turncoat", &arguments).expect("agreed to");
    assert_eq!(asked.lock().expect("no panic").len(), 5, "{asked:?}");
    assert_eq!(lines(&marks), ["turned"]);
    *handle.lock().expect("no panic") = None;
}

#[test]
fn what_is_another_after_a_restart_is_asked_about_again() {
    let _alone = alone();
    let folder = folder("restart-turns");
    let (ways, marks, pids) = (folder.join("ways"), folder.join("marks"), folder.join("pids"));
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let role = format!("turns={},pids={}", ways.display(), pids.display());
    let builder = open().policy(Rules::new()).consent(Meanwhile(|| {}, Arc::clone(&asked)));
    let (host, _) = started(builder.server(wayward("s", &role)));
    let arguments = json!({"file": marks, "line": "done"});
    host.call_tool("s__turncoat", &arguments).expect("agreed to");
    host.call_tool("s__turncoat", &arguments).expect("agreed to before");
    assert_eq!(asked.lock().expect("no panic").len(), 1);
    std::fs::write(&ways, "way\n").expect("written");
    kill(&lines(&pids)[0]);
    eventually("it has ended", || matches!(host.state("s"), Some(ServerState::Ended(_))));
    host.call_tool("s__turncoat", &arguments).expect("agreed to again");
    let asked = asked.lock().expect("no panic").clone();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[1].contains("in the 1. way"), "{asked:?}");
    assert_eq!(lines(&marks).len(), 3);
}

#[test]
fn a_server_whose_tools_cannot_be_listed_after_a_restart_is_not_lost() {
    let _alone = alone();
    let folder = folder("breaks");
    let (pids, starts) = (folder.join("pids"), folder.join("starts"));
    let role = format!("breaks=2,starts={},pids={}", starts.display(), pids.display());
    let (host, events) = started(open().server(wayward("s", &role)));
    kill(&lines(&pids)[0]);
    eventually("it has ended", || matches!(host.state("s"), Some(ServerState::Ended(_))));
    host.call_tool("s__pid", ()).expect("it has what it had");
    let problem = until(&events, |event| match event {
        HostEvent::Trouble { problem, .. } => Some(problem),
        _ => None,
    });
    assert!(problem.contains("the list is lost"), "{problem}");
    eventually("it is there", || host.state("s") == Some(ServerState::Ready));
    host.restart("s").expect("restarted");
    // Whatever it lists: its end is seen.
    kill(lines(&pids).last().expect("three of them"));
    eventually("it has ended", || matches!(host.state("s"), Some(ServerState::Ended(_))));
}

#[test]
fn secrets_are_not_repeated() {
    let _alone = alone();
    let file = folder("secrets").join("audit.jsonl");
    for (word, written) in [
        ("says=TOKEN", "${env:MY_TOKEN}"),
        ("says=TOKEN,ends_in_start", "${env:MY_TOKEN}"),
        // As a part of something longer, of which the server repeats the part.
        ("says=TOKEN,tail", "Bearer ${env:MY_TOKEN}"),
        ("says=TOKEN,tail,ends_in_start", "Bearer ${input:token}"),
    ] {
        let source = std::collections::BTreeMap::from([("MY_TOKEN".to_owned(), "s3cr3t-t0ken".to_owned())]);
        let resolver = tinymcp::host::config::Resolver::new().secrets(source).answer("token", "s3cr3t-t0ken");
        let entry = wayward("s", word).with_env("TOKEN", written);
        let log = AuditLog::open(&file).expect("opens");
        let host = open().resolver(resolver).audit(&log).server(entry).start().expect("starts");
        let events = host.watch();
        host.wait_ready(LONG);
        let state = host.state("s").expect("there");
        let mut all = format!("{state} {host:?} {:?}", host.restart("s"));
        all += &format!("{:?}", host.call_tool("s__pid", ()));
        while let Some(event) = events.try_next() {
            all += &format!("{event} {event:?}\n");
        }
        drop((host, log));
        all += &std::fs::read_to_string(&file).expect("read");
        assert!(matches!(state, ServerState::Failed(_)));
        assert!(all.contains("[secret]") && !all.contains("s3cr3t-t0ken"), "{all}");
        std::fs::remove_file(&file).expect("removed");
    }
}

#[test]
fn what_a_server_says_of_its_failure_is_harmless_and_short() {
    let _alone = alone();
    let host =
        open().server(wayward("s", "refuses=\u{1b}[2Jbad\u{202e}")).server(wayward("t", "refuses=huge"));
    let (host, _) = started(host);
    for (server, wanted) in [("s", "bad\\u{202e}"), ("t", "aaaa")] {
        let state = host.state(server).expect("there").to_string();
        assert!(
            state.contains(wanted) && !state.contains('\u{1b}') && !state.contains('\u{202e}'),
            "{state}"
        );
        assert!(state.len() < 64 * 1024, "{}", state.len());
        let error = host.call_tool(&format!("{server}__pid"), ()).expect_err("it is not there").to_string();
        assert!(error.len() < 64 * 1024 && !error.contains('\u{1b}'), "{}", error.len());
    }
}

#[test]
fn a_server_that_dies_on_every_third_call_does_nothing_twice() {
    let _alone = alone();
    let marks = folder("thirds").join("marks");
    let (host, _) = started(open().server(wayward("s", "dies_on=3")));
    let options = CallOptions::default().with_total(LONG);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (host, marks, options) = (&host, &marks, &options);
            scope.spawn(move || {
                for count in 0..12 {
                    let line = format!("{thread}/{count}");
                    let arguments = json!({"file": marks, "line": line});
                    let outcome = host.call_tool_with("s__mark", arguments, options);
                    let ran = lines(marks).iter().filter(|mark| **mark == line).count();
                    match outcome {
                        Ok(_) => assert_eq!(ran, 1, "{line}"),
                        Err(Error::OutcomeUnknown(_)) => assert!(ran <= 1, "{line}"),
                        Err(error) => assert_eq!(ran, 0, "{line}: {error}"),
                    }
                }
            });
        }
    });
}
