//! Servers that go astray while somebody waits: deadlines, cancelling, restarts that race with ends, many rounds of everything.

#![cfg(target_os = "linux")]

mod support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use support::alone::{alone, children, is_alive};
use support::hosts::{Dice, folder, kill, lines};
use support::peers::{self, LONG, brief, eventually};
use support::wayward::wayward;
use tinymcp::client::CallOptions;
use tinymcp::host::consent::{Answer, Question, Rules};
use tinymcp::host::resilience::{BreakerOptions, Restart, RestartPolicy, Retry};
use tinymcp::host::{Host, HostBuilder, HostEvent, ServerState};
use tinymcp::{CancelToken, Error};

#[test]
fn child() {
    peers::child();
}

const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn open(restart: Restart) -> HostBuilder {
    Host::builder()
        .policy(Rules::new().allow("*", "*"))
        .retry(Retry::default().with_base(millis(2)).with_cap(millis(10)))
        .restart(RestartPolicy::new(restart).with_pauses(millis(1), millis(5)).with_limit(100_000))
        .client(|_, builder| builder.patience(brief()))
}

fn started(builder: HostBuilder) -> Host {
    let host = builder.start().expect("starts");
    host.wait_ready(LONG);
    host
}

fn has_ended(host: &Host) {
    eventually("it has ended", || matches!(host.state("s"), Some(ServerState::Ended(_))));
}

/// The error, and when it came.
fn took<T>(run: impl FnOnce() -> Result<T, Error>) -> (Error, Duration) {
    let begun = Instant::now();
    let Err(error) = run() else { panic!("it went well") };
    (error, begun.elapsed())
}

#[test]
fn one_time_holds_over_restarts_pauses_and_tries() {
    let _alone = alone();
    let folder = folder("deadlines");
    let (pids, starts, marks) = (folder.join("pids"), folder.join("starts"), folder.join("marks"));
    // It starts at once the first time, and dies at every call.
    let role = format!("dies_on=1,starts={},pids={}", starts.display(), pids.display());
    let builder = open(Restart::Lazily).retry(Retry::default().with_tries(1_000).with_base(millis(5)));
    let builder = builder.breaker(BreakerOptions::default().with_failures(0));
    let host = started(builder.server(wayward("s", &role)));
    for (tool, total) in [("s__mark_again", 700), ("s__mark_again", 50), ("s__mark_again", 300)] {
        let options = CallOptions::default().with_total(millis(total));
        let (error, after) =
            took(|| host.call_tool_with(tool, json!({"file": marks, "line": "x"}), &options));
        assert!(after < millis(total + 150), "{total}: {after:?}: {error}");
    }
    assert!(lines(&marks).len() > 2, "it was tried again");
}

#[test]
fn a_restart_that_takes_long_is_waited_for_as_long_as_the_call_may_take() {
    let _alone = alone();
    let folder = folder("slow-restart");
    let (pids, deaf) = (folder.join("pids"), folder.join("deaf"));
    let role = format!("deaf={},pids={}", deaf.display(), pids.display());
    let host = started(open(Restart::Lazily).server(wayward("s", &role)));
    std::fs::write(&deaf, "").expect("written");
    kill(&lines(&pids)[0]);
    has_ended(&host);
    let options = CallOptions::default().with_timeout(millis(400));
    let (error, after) = took(|| host.call_tool_with("s__pid", (), &options));
    assert!(after >= millis(395) && after < millis(600), "{after:?}: {error}");
    // Whoever cancels need not wait either.
    let token = CancelToken::new();
    let options = CallOptions::default().with_cancel(&token);
    std::thread::scope(|scope| {
        let calling = scope.spawn(|| took(|| host.call_tool_with("s__pid", (), &options)));
        let _ = CancelToken::new().wait_timeout(millis(100));
        let cancelled = Instant::now();
        token.cancel("enough");
        let (error, _) = calling.join().expect("no panic");
        assert!(matches!(error, Error::Cancelled(_)), "{error}");
        assert!(cancelled.elapsed() < millis(200));
    });
    // Nor whoever closes, or restarts it.
    std::thread::scope(|scope| {
        let restarting = scope.spawn(|| host.restart("s"));
        let _ = CancelToken::new().wait_timeout(millis(100));
        let begun = Instant::now();
        host.remove("s").expect("removed");
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        restarting.join().expect("no panic").expect_err("it was removed");
        assert!(children().is_empty());
    });
}

#[test]
fn a_pause_before_another_try_can_be_cancelled_and_so_can_a_question() {
    let _alone = alone();
    let marks = folder("cancelled").join("marks");
    let builder = open(Restart::Lazily).retry(Retry::default().with_base(LONG).with_jitter(0.0));
    let rules = Rules::new().allow("s", "mark_again");
    let builder = builder.policy(rules).consent(|_: &Question, cancel: &CancelToken| {
        let _ = cancel.wait_timeout(LONG);
        Answer::No
    });
    let host = started(builder.server(wayward("s", "dies_on=1")));
    for (tool, ran) in [("s__mark_again", 1), ("s__mark", 1)] {
        let token = CancelToken::new();
        let options = CallOptions::default().with_cancel(&token);
        std::thread::scope(|scope| {
            let arguments = json!({"file": marks, "line": "x"});
            let calling = scope.spawn(|| took(|| host.call_tool_with(tool, arguments, &options)));
            eventually("it ran", || lines(&marks).len() == ran);
            let _ = CancelToken::new().wait_timeout(millis(100));
            let cancelled = Instant::now();
            token.cancel("enough");
            let (error, _) = calling.join().expect("no panic");
            assert!(matches!(error, Error::Cancelled(_)), "{tool}: {error}");
            assert!(cancelled.elapsed() < millis(500), "{tool}");
        });
    }
    assert_eq!(lines(&marks).len(), 1);
}

#[test]
fn who_wants_a_restart_now_waits_for_no_pause() {
    let _alone = alone();
    let pids = folder("hurry").join("pids");
    let policy = RestartPolicy::new(Restart::Eagerly).with_pauses(LONG * 4, LONG * 4);
    let host = open(Restart::Eagerly).restart(policy);
    let host = started(host.server(wayward("s", &format!("pids={}", pids.display()))));
    kill(&lines(&pids)[0]);
    eventually("the first comes at once", || lines(&pids).len() == 2);
    eventually("it is ready", || host.state("s") == Some(ServerState::Ready));
    kill(&lines(&pids)[1]);
    has_ended(&host);
    eventually("the second is to wait", || support::alone::are_asleep("mcp-restart", 1));
    let begun = Instant::now();
    host.restart("s").expect("restarted");
    assert!(begun.elapsed() < LONG, "{:?}", begun.elapsed());
    assert_eq!(lines(&pids).len(), 3);
    // Nor does whoever closes it in a pause.
    kill(&lines(&pids)[2]);
    eventually("the fourth is there or waits", || {
        support::alone::are_asleep("mcp-restart", 1) || lines(&pids).len() == 4
    });
    drop(host);
    assert!(begun.elapsed() < LONG, "{:?}", begun.elapsed());
}

#[test]
fn an_open_circuit_lets_one_of_many_try() {
    let _alone = alone();
    let folder = folder("circuit");
    let (marks, deaf) = (folder.join("marks"), folder.join("deaf"));
    let breaker = BreakerOptions::default().with_failures(2).with_cool_down(millis(300)).with_growth(1.0);
    let role = format!("deaf={}", deaf.display());
    let builder = open(Restart::Never).retry(Retry::never()).breaker(breaker);
    let host = started(builder.server(wayward("s", &role)));
    std::fs::write(&deaf, "").expect("written");
    let options = CallOptions::default().with_timeout(millis(200));
    let call = || host.call_tool_with("s__mark", json!({"file": marks, "line": "x"}), &options);
    call().expect_err("no answer");
    call().expect_err("no answer");
    for _ in 0..3 {
        eventually("it lets one try", || {
            let errors: Vec<_> = std::thread::scope(|scope| {
                let calls: Vec<_> = (0..16).map(|_| scope.spawn(|| call().expect_err("no answer"))).collect();
                calls.into_iter().map(|call| call.join().expect("no panic")).collect()
            });
            let sent = errors.iter().filter(|error| !matches!(error, Error::Unreachable(_))).count();
            assert!(sent <= 1, "{errors:?}");
            sent == 1
        });
    }
    std::fs::remove_file(&deaf).expect("removed");
    eventually("it closes again", || call().is_ok());
    assert_eq!(lines(&marks).len(), 1);
}

/// What may follow what.
fn may_follow(before: &ServerState, after: &ServerState) -> bool {
    use ServerState::{Ended, Failed, Ready, Starting, Stopped, Waiting};
    match (before, after) {
        (Stopped, _) => matches!(after, Waiting),
        (_, Stopped) => true,
        (Waiting, Starting | Failed(_)) => true,
        (Starting, Ready | Failed(_)) => true,
        (Ready, Ended(_) | Starting | Failed(_)) => true,
        (Ended(_), Starting | Failed(_)) => true,
        (Failed(_), Starting | Waiting | Failed(_)) => true,
        _ => false,
    }
}

#[test]
fn states_are_told_in_their_order_whatever_happens() {
    let _alone = alone();
    let pids = folder("storm").join("pids");
    for restart in [Restart::Lazily, Restart::Eagerly] {
        let host = open(restart).start().expect("starts");
        let events = host.watch();
        let is_over = AtomicBool::new(false);
        let last_pid = || lines(&pids).last().cloned();
        std::thread::scope(|scope| {
            let (host, is_over, last_pid) = (&host, &is_over, &last_pid);
            scope.spawn(move || {
                let mut dice = Dice(7);
                while !is_over.load(Ordering::Relaxed) {
                    dice.pause(millis(20));
                    last_pid().iter().for_each(|pid| kill(pid));
                }
            });
            for _ in 0..2 {
                scope.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        let _ = host.call_tool("s__mark_again", ());
                    }
                });
            }
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let _ = host.restart("s");
                }
            });
            let mut dice = Dice(11);
            for _ in 0..60 {
                let _ = host.add(wayward("s", &format!("pids={}", pids.display())));
                dice.pause(millis(80));
                let begun = Instant::now();
                host.remove("s").expect("it ends");
                assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
                let alive: Vec<_> = lines(&pids).into_iter().filter(|pid| is_alive(pid)).collect();
                assert!(alive.is_empty(), "{alive:?}");
            }
            is_over.store(true, Ordering::Relaxed);
        });
        drop(host);
        let mut last: Option<ServerState> = None;
        let mut seen = BTreeMap::<String, usize>::new();
        for event in events {
            let HostEvent::State { state, .. } = event else { continue };
            if let Some(last) = &last {
                assert!(may_follow(last, &state), "{last}, then {state}");
            }
            *seen.entry(state.to_string().split(':').next().unwrap_or_default().to_owned()).or_default() += 1;
            last = Some(state);
        }
        assert_eq!(last, Some(ServerState::Stopped));
        assert!(seen["stopped"] == 60 && seen["ready"] > 10, "{seen:?}");
    }
}

/// Of this process, in KiB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

#[test]
fn many_rounds_of_everything_leave_nothing() {
    let _alone = alone();
    let rounds = std::env::var("TINYMCP_ROUNDS").ok().and_then(|count| count.parse().ok()).unwrap_or(60);
    let host = open(Restart::Lazily).start().expect("starts");
    let round = |host: &Host| {
        host.add(wayward("s", "many=50")).expect("added");
        host.wait_ready(LONG);
        host.call_tool("s__pid", ()).expect("answers");
        host.remove("s").expect("removed");
    };
    (0..rounds / 4).for_each(|_| round(&host));
    let (before, descriptors) = (memory(), support::alone::descriptors());
    (0..rounds).for_each(|_| round(&host));
    let after = memory();
    assert!(after < before + 8 * 1024, "{before} KiB, then {after} KiB");
    eventually("no descriptor more", || support::alone::descriptors() <= descriptors);
    eventually("the host's own threads", || support::alone::mcp_threads().len() <= 3);
    assert!(host.servers().is_empty() && host.tools().is_empty() && children().is_empty());
}

#[test]
fn a_name_that_becomes_free_while_another_lists_is_its_own() {
    let _alone = alone();
    // Both come to the same names; whoever stays has them in the end.
    let host = open(Restart::Lazily).start().expect("starts");
    for round in 0..30_u64 {
        host.add(wayward("a b", "")).expect("added");
        host.wait_ready(LONG);
        assert!(host.tools().get("a_b__pid").is_some());
        host.add(wayward("a_b", "")).expect("added");
        let _ = CancelToken::new().wait_timeout(Duration::from_micros(round * 1_500));
        host.remove("a b").expect("removed");
        host.wait_ready(LONG);
        let pid = host.call_tool("a_b__pid", ()).unwrap_or_else(|e| panic!("round {round}: {e}"));
        assert!(is_alive(&pid.text_content()));
        host.remove("a_b").expect("removed");
    }
}
