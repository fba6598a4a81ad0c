//! Pools of servers that go astray: while they start, while they are leased, while they are drained.

#![cfg(target_os = "linux")]

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::alone::{alone, children, is_alive};
use support::hosts::{folder, kill, lines};
use support::peers::{self, brief, eventually};
use tinymcp::client::{CallOptions, Caller};
use tinymcp::host::pool::{MemberState, Pool, PoolBuilder, Start};
use tinymcp::transport::ChildProcess;
use tinymcp::{Arguments, CancelToken, Client, Error, Result};

#[test]
fn child() {
    peers::child();
}

const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn open(role: &str) -> Result<Client> {
    let (program, args, (variable, value)) = peers::started_as(&format!("wayward:{role}"));
    let child = ChildProcess::new(program).args(args).env(variable, value);
    Client::builder().patience(brief()).open(child)
}

fn builder(size: usize) -> PoolBuilder {
    Pool::builder().size(size).start(Start::Eagerly).no_health_checks().pauses(millis(5), millis(20))
}

fn pool(builder: PoolBuilder, role: String) -> Pool {
    builder.open(move |_| open(&role)).expect("opens")
}

fn call(caller: &dyn Caller, tool: &str, arguments: &Value) -> Result<String> {
    let arguments = Arguments::new(arguments).expect("an object");
    caller.call(tool, arguments, &CallOptions::default()).map(|result| result.text_content())
}

fn pid(caller: &dyn Caller) -> String {
    call(caller, "pid", &json!({})).expect("answers")
}

fn all_ready(pool: &Pool) {
    eventually("all are ready", || pool.members().iter().all(|member| member.state == MemberState::Ready));
}

fn none_is_alive(pids: &Path) {
    let alive: Vec<_> = lines(pids).into_iter().filter(|pid| is_alive(pid)).collect();
    assert!(alive.is_empty() && children().is_empty(), "still there: {alive:?} {:?}", children());
}

#[test]
fn what_starts_when_a_pool_is_closed_is_gone() {
    let _alone = alone();
    let pids = folder("pool-closing").join("pids");
    for round in 0..30_u64 {
        let file = pids.display().to_string();
        let (ready, rest) = (format!("pids={file}"), format!("starts_after=25,pids={file}"));
        // One is there at once, the others take a while.
        let pool = builder(4).open(move |id| open(if id == 0 { &ready } else { &rest })).expect("opens");
        let _ = CancelToken::new().wait_timeout(millis(round));
        let begun = Instant::now();
        pool.close(Duration::ZERO);
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        none_is_alive(&pids);
    }
}

#[test]
fn a_member_that_is_removed_while_it_starts_is_gone() {
    let _alone = alone();
    let pids = folder("pool-removing").join("pids");
    let pool = pool(builder(1), "".to_owned());
    let first = pid(&pool);
    drop(pool);
    let role = format!("starts_after=10,pids={}", pids.display());
    let pool = self::pool(builder(1), role);
    assert_ne!(first, pid(&pool));
    let there = lines(&pids).len();
    for round in 0..40_u64 {
        let id = pool.add().expect("added");
        let _ = CancelToken::new().wait_timeout(Duration::from_micros(round * 500));
        pool.remove(id, Duration::ZERO).expect("removed");
        let alive: Vec<_> = lines(&pids).into_iter().skip(there).filter(|pid| is_alive(pid)).collect();
        assert!(alive.is_empty() && children().len() == 1, "{alive:?}");
    }
    assert_eq!(pool.members().len(), 1);
    pid(&pool);
}

#[test]
fn a_leased_member_that_dies_ends_its_lease_and_no_other() {
    let _alone = alone();
    let marks = folder("leased").join("marks");
    let pool = pool(builder(2), "".to_owned());
    all_ready(&pool);
    for round in 0..10 {
        let lease = pool.lease(&CallOptions::default()).expect("leased");
        let other = pool.lease(&CallOptions::default()).expect("leased");
        let (leased, others) = (pid(&lease), pid(&other));
        let line = json!({"file": marks, "line": format!("{round}"), "ms": 60_000});
        std::thread::scope(|scope| {
            let calling = scope.spawn(|| call(&lease, "mark", &line));
            eventually("it runs", || lines(&marks).len() == round + 1);
            kill(&leased);
            let error = calling.join().expect("no panic").expect_err("it died");
            assert!(matches!(error, Error::OutcomeUnknown(_)), "{error}");
        });
        let error = call(&lease, "mark", &line).expect_err("the conversation is over");
        assert!(error.is_closed(), "{error}");
        assert_eq!(pid(&other), others);
        drop((lease, other));
        // Both can be leased again, and know nothing of what was.
        let leases: Vec<_> = (0..2).map(|_| pool.lease(&CallOptions::default()).expect("leased")).collect();
        let pids: BTreeSet<_> = leases.iter().map(|lease| pid(lease)).collect();
        assert!(pids.len() == 2 && !pids.contains(&leased), "{pids:?}");
    }
    assert_eq!(lines(&marks).len(), 10, "none ran twice");
}

#[test]
fn a_drain_waits_for_its_grace_and_no_longer() {
    let _alone = alone();
    let marks = folder("drained").join("marks");
    let pool = pool(builder(2), "stays".to_owned());
    all_ready(&pool);
    let handle = pool.handle();
    let line = |ms: u64| json!({"file": marks, "line": ms.to_string(), "ms": ms});
    std::thread::scope(|scope| {
        let (handle, line) = (&handle, &line);
        let short = scope.spawn(move || call(handle, "mark", &line(200)));
        let long = scope.spawn(move || call(handle, "mark", &line(60_000)));
        eventually("both run", || lines(&marks).len() == 2);
        let begun = Instant::now();
        let report = pool.close(millis(500));
        let after = begun.elapsed();
        assert!(after >= millis(500) && after < Duration::from_secs(3), "{after:?}");
        assert_eq!(report.calls_cut_off, 1);
        assert_eq!(short.join().expect("no panic").expect("it had time"), "mark done");
        let error = long.join().expect("no panic").expect_err("it was cut off");
        assert!(matches!(error, Error::OutcomeUnknown(_)), "{error}");
        assert!(matches!(call(handle, "mark", &line(0)), Err(Error::Closed(_))));
    });
    assert_eq!(lines(&marks).len(), 2);
}

#[test]
fn a_member_that_hangs_is_replaced_and_holds_up_nobody() {
    let _alone = alone();
    let folder = folder("hangs");
    let (pids, deaf) = (folder.join("pids"), folder.join("deaf"));
    let first = format!("pids={},deaf={}", pids.display(), deaf.display());
    let pool = Pool::builder()
        .size(2)
        .start(Start::Eagerly)
        .pauses(millis(5), millis(20))
        .health_checks(millis(50), millis(300))
        .open(move |id| open(if id == 0 { &first } else { "" }))
        .expect("opens");
    all_ready(&pool);
    let hanging = lines(&pids)[0].clone();
    std::fs::write(&deaf, &hanging).expect("written");
    eventually("it is seen", || pool.members().iter().any(|member| member.state != MemberState::Ready));
    // Calls go to the other one, and its own end is seen as well.
    for _ in 0..3 {
        let begun = Instant::now();
        let other = pid(&pool);
        assert!(begun.elapsed() < millis(250), "{:?}", begun.elapsed());
        kill(&other);
        // Not by a call: until another is there, that would go to the one that hangs.
        let restarts = || pool.members()[1].restarts;
        let before = restarts();
        eventually("another is there", || {
            restarts() > before && pool.members()[1].state == MemberState::Ready
        });
    }
    eventually("it is replaced", || !is_alive(&hanging));
    all_ready(&pool);
}

#[test]
fn a_conversation_whose_server_is_gone_is_told_so_and_begins_anew() {
    let _alone = alone();
    let pool = pool(builder(2), "".to_owned());
    all_ready(&pool);
    for _ in 0..5 {
        let sticky = pool.sticky("key").expect("begun");
        let before = pid(&sticky);
        kill(&before);
        eventually("it is over", || match call(&sticky, "pid", &json!({})) {
            Err(Error::SessionEnded(_)) => true,
            // It was sent just before the end was seen.
            Err(Error::OutcomeUnknown(_)) => false,
            Err(error) => panic!("{error}"),
            Ok(pid) => {
                assert_eq!(pid, before);
                false
            }
        });
        let again = pool.sticky("key").expect("begun");
        assert_ne!(pid(&again), before);
        assert!(matches!(call(&sticky, "pid", &json!({})), Err(Error::SessionEnded(_))));
        again.end();
    }
}
