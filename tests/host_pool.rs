//! Several connections to the same server as one. One test at a time, as processes are counted.

#![cfg(target_os = "linux")]

#[path = "support/counting.rs"]
mod counting;
mod support;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use counting::{Counting, kill, kind, signal};
use serde_json::json;
use support::alone::alone;
use support::peers::{LONG, eventually};
use tinymcp::client::{CallOptions, Caller};
use tinymcp::host::pool::{Balance, MemberState, Pool, PoolBuilder, Start};
use tinymcp::{Arguments, CancelToken, Error};

#[test]
fn child() {
    counting::child();
}

fn call(caller: &dyn Caller, tool: &str) -> tinymcp::Result<String> {
    let result = caller.call(tool, Arguments::empty(), &CallOptions::default());
    result.map(|result| result.text_content())
}

fn call_with(caller: &dyn Caller, tool: &str, arguments: serde_json::Value) -> tinymcp::Result<String> {
    let arguments = Arguments::new(&arguments).expect("an object");
    caller.call(tool, arguments, &CallOptions::default()).map(|result| result.text_content())
}

/// With hardly any pause, and without pings.
fn builder(size: usize) -> PoolBuilder {
    let (brief, long) = (Duration::from_millis(1), Duration::from_millis(10));
    Pool::builder().size(size).pauses(brief, long).no_health_checks()
}

fn eager(size: usize, counting: &Counting) -> Pool {
    let pool = builder(size).start(Start::Eagerly).open(counting.factory()).expect("opens");
    eventually("all are ready", || ready(&pool) == size);
    pool
}

fn ready(pool: &Pool) -> usize {
    pool.members().iter().filter(|member| member.state == MemberState::Ready).count()
}

fn pids(caller: &dyn Caller, calls: usize) -> BTreeSet<String> {
    (0..calls).map(|_| call(caller, "pid").expect("answers")).collect()
}

/// Calls `wait_for` on another thread; it has begun.
fn waiting(
    pool: &Pool,
    counting: &Counting,
    marker: &'static str,
) -> thread::JoinHandle<tinymcp::Result<String>> {
    let (pool, before) = (pool.handle(), counting.count("wait_for"));
    let calling = thread::spawn(move || call_with(&pool, "wait_for", json!({"marker": marker})));
    eventually("it has begun", || counting.count("wait_for") == before + 1);
    calling
}

#[test]
fn calls_are_spread() {
    let _alone = alone();
    let counting = Counting::new("spread");
    let pool = builder(3).balance(Balance::RoundRobin).start(Start::Eagerly).open(counting.factory());
    let pool = pool.expect("opens");
    eventually("all are ready", || ready(&pool) == 3);
    let order: Vec<_> = (0..6).map(|_| call(&pool, "pid").expect("answers")).collect();
    assert_eq!(order[..3], order[3..]);
    assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 3);
    assert_eq!(pool.list_tools(&CallOptions::default()).expect("lists").items.len(), 8);
    assert_eq!(pool.discover_tools().expect("lists").len(), 8);
    drop(pool);

    let pool = eager(3, &counting);
    let slow = [waiting(&pool, &counting, "go"), waiting(&pool, &counting, "go")];
    assert_eq!(pids(&pool, 8).len(), 1, "the one that has nothing to do");
    counting.mark("go");
    let busy: BTreeSet<_> = slow.map(|slow| slow.join().expect("no panic").expect("answers")).into();
    assert_eq!(busy.len(), 2);
    assert!(busy.is_disjoint(&pids(&pool, 1)) || pids(&pool, 9).len() == 3);
}

#[test]
fn a_lazy_pool_grows_with_its_calls() {
    let _alone = alone();
    let counting = Counting::new("lazy");
    let pool = builder(3).open(counting.factory()).expect("opens");
    assert_eq!(counting.count("start"), 0);
    assert!(pool.members().iter().all(|member| member.state == MemberState::Idle));
    assert_eq!(pids(&pool, 5).len(), 1);
    assert_eq!(counting.count("start"), 1);
    // The second finds the first one busy, and has another one started for those after it.
    let slow = [waiting(&pool, &counting, "go"), waiting(&pool, &counting, "go")];
    eventually("another one is there", || ready(&pool) == 2);
    assert_eq!(pids(&pool, 5).len(), 1);
    assert_eq!(counting.count("start"), 2);
    counting.mark("go");
    slow.into_iter().for_each(|slow| drop(slow.join().expect("no panic").expect("answers")));
}

#[test]
fn what_cannot_be_opened_is_an_error_at_once() {
    let _alone = alone();
    assert_eq!(builder(0).open(|_| unreachable!()).map_err(|error| kind(&error)).err(), Some("InvalidUse"));
    assert_eq!(builder(257).open(|_| unreachable!()).map_err(|error| kind(&error)).err(), Some("InvalidUse"));
    let no_program = |_| Counting::builder().connect("/no/such/program", &[]);
    let error = builder(3).start(Start::Eagerly).open(no_program).expect_err("no program");
    assert_eq!(kind(&error), "Transport", "{error}");
    assert!(error.to_string().contains("/no/such/program"), "{error}");

    let slow = Duration::from_secs(60);
    let panics = builder(2).pauses(slow, slow).open(|_| panic!("the panic of a test")).expect("lazy");
    let start = Instant::now();
    let error = call(&panics, "pid").expect_err("it panics");
    assert_eq!(kind(&error), "Unreachable", "{error}");
    assert!(error.is_retryable() && error.to_string().contains("the factory of a pool panicked"), "{error}");
    assert!(error.to_string().contains("tried again in") && start.elapsed() < LONG, "{error}");

    // One of several is enough.
    let counting = Counting::new("half");
    let factory = counting.factory();
    let some = move |number: usize| match number {
        1 => factory(number),
        _ => no_program(number),
    };
    let pool = builder(3).pauses(slow, slow).start(Start::Eagerly).open(some).expect("one is ready");
    assert_eq!(pids(&pool, 5).len(), 1);
}

#[test]
fn a_dead_member_hides_no_other_and_comes_back() {
    let _alone = alone();
    let counting = Counting::new("dead");
    let pool = eager(3, &counting);
    for round in 1..=5 {
        let killed = call(&pool, "pid").expect("answers");
        kill(&killed);
        // Whether the pool knows it yet or not.
        (0..9).for_each(|_| drop(call(&pool, "act").expect("another answers")));
        assert_eq!(counting.count("act"), 9 * round);
        eventually("it is back", || ready(&pool) == 3);
        assert_eq!(counting.count("start"), 3 + round);
        assert!(!pids(&pool, 9).contains(&killed));
    }
    assert_eq!(pool.members().iter().map(|member| member.restarts).sum::<u32>(), 5);
    // All at once.
    pids(&pool, 9).iter().for_each(|pid| kill(pid));
    call(&pool, "act").expect("one is brought back for it");
}

#[test]
fn what_may_have_been_done_stays_so() {
    let _alone = alone();
    let counting = Counting::new("once");
    let pool = eager(2, &counting);
    for times in 1..=3 {
        let error = call(&pool, "act_and_die").expect_err("its answer is lost");
        assert_eq!(kind(&error), "OutcomeUnknown", "{error}");
        assert_eq!(counting.count("act_and_die"), times);
    }
    let arguments = Arguments::empty();
    let error =
        pool.call("act_and_die", arguments, &CallOptions::default().with_repeatable()).expect_err("dies");
    assert_eq!(kind(&error), "OutcomeUnknown", "{error}");
    assert_eq!(counting.count("act_and_die"), 3 + 3, "on each member, and once more");
    counting.mark("die");
    pool.list_tools(&CallOptions::default()).expect("lists");
    call(&pool, "look").expect("its tool says that it can be repeated");
    assert_eq!(counting.count("look"), 2);
}

/// Threads that call while members are killed: no call is carried out twice, and none lost without a word.
#[test]
fn under_fire_each_call_is_done_once_or_is_known_to_be_unsure() {
    let _alone = alone();
    let counting = Counting::new("fire");
    let pool = eager(3, &counting);
    let (is_over, calls) = (AtomicBool::new(false), AtomicUsize::new(0));
    let outcomes = thread::scope(|scope| {
        let callers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut outcomes = Vec::new();
                    while !is_over.load(Ordering::SeqCst) {
                        let name = format!("call-{}", calls.fetch_add(1, Ordering::SeqCst));
                        let outcome = call_with(&pool, "act_as", json!({"name": name}));
                        outcomes.push((name, outcome.map_err(|error| kind(&error))));
                    }
                    outcomes
                })
            })
            .collect();
        for _ in 0..40 {
            if let Some(pid) = counting.pids("start").last().filter(|pid| support::alone::is_alive(pid)) {
                kill(pid);
            }
            let before = calls.load(Ordering::SeqCst);
            eventually("calls go on", || calls.load(Ordering::SeqCst) > before + 3);
        }
        is_over.store(true, Ordering::SeqCst);
        callers.into_iter().flat_map(|caller| caller.join().expect("no panic")).collect::<Vec<_>>()
    });
    let mut sure = 0;
    for (name, outcome) in &outcomes {
        let times = counting.count(name);
        match outcome {
            Ok(_) => assert_eq!(times, 1, "{name}"),
            Err("OutcomeUnknown") => assert!(times <= 1, "{name}: {times}"),
            Err(error) => assert_eq!(times, 0, "{name}: {error}"),
        }
        sure += usize::from(outcome.is_ok());
    }
    assert!(sure > outcomes.len() / 2, "{sure} of {}", outcomes.len());
}

#[test]
fn a_lease_is_one_conversation_on_a_connection_of_its_own() {
    let _alone = alone();
    let counting = Counting::new("lease").legacy();
    let pool = eager(2, &counting);
    (0..4).for_each(|_| drop(call(&pool, "remember").expect("answers")));
    let options = CallOptions::default().with_timeout(Duration::from_millis(50));
    let leases = [(); 2].map(|()| pool.lease(&CallOptions::default()).expect("free"));
    for turn in 1..=3 {
        for lease in &leases {
            assert_eq!(call(lease, "remember").expect("answers"), turn.to_string(), "from the beginning");
        }
    }
    assert!(pids(&leases[0], 5).is_disjoint(&pids(&leases[1], 5)));
    let error = pool.lease(&options).expect_err("none is free");
    assert_eq!(kind(&error), "Busy", "{error}");
    let error = call(&pool, "pid").expect_err("none is free");
    assert_eq!(kind(&error), "Busy", "{error}");
    let token = CancelToken::new();
    token.cancel("enough");
    let error = pool.lease(&options.with_timeout(LONG).with_cancel(&token)).expect_err("cancelled");
    assert_eq!(kind(&error), "Cancelled", "{error}");

    // One that waits gets the next that is free, and hears nothing of what was said before.
    let handle = pool.handle();
    let waits = thread::spawn(move || call(&handle.lease(&CallOptions::default())?, "remember"));
    eventually("it waits, or is about to", || !waits.is_finished());
    drop(leases);
    assert_eq!(waits.join().expect("no panic").expect("free at last"), "1");

    // A conversation ends with its connection.
    let lease = pool.lease(&CallOptions::default()).expect("free");
    kill(&call(&lease, "pid").expect("answers"));
    let error = call(&lease, "remember").expect_err("dead");
    assert!(matches!(kind(&error), "OutcomeUnknown" | "Closed" | "SessionEnded"), "{error}");
    eventually("both are up", || ready(&pool) == 2);
    for _ in 0..3 {
        let error = call(&lease, "remember").expect_err("it is another connection");
        assert_eq!(kind(&error), "SessionEnded", "{error}");
    }
}

#[test]
fn leases_of_modern_servers_and_reused_ones_start_nothing_anew() {
    let _alone = alone();
    for (counting, builder) in [
        (Counting::new("modern"), builder(1)),
        (Counting::new("reused").legacy(), builder(1).reuse_sessions()),
    ] {
        let pool = builder.start(Start::Eagerly).open(counting.factory()).expect("opens");
        let starts = counting.count("start");
        call(&pool, "remember").expect("answers");
        for turn in 2..=4 {
            let lease = pool.lease(&CallOptions::default()).expect("free");
            assert_eq!(call(&lease, "remember").expect("answers"), turn.to_string());
        }
        assert_eq!(counting.count("start"), starts);
    }
}

#[test]
fn a_key_stays_on_its_connection() {
    let _alone = alone();
    let counting = Counting::new("sticky").legacy();
    let pool = eager(3, &counting);
    let ada = pool.sticky("ada").expect("a conversation");
    assert_eq!(pids(&ada, 5).len(), 1);
    // By its key it is the same; others are elsewhere, as long as there is room.
    let [bob, eve] = ["bob", "eve"].map(|key| pool.sticky(key).expect("a conversation"));
    let others = [&bob, &eve].map(|other| pids(other, 3));
    assert_eq!(pids(&pool.sticky("ada").expect("the same"), 3), pids(&ada, 1));
    assert!(
        others[0].is_disjoint(&others[1]) && others.iter().all(|other| other.is_disjoint(&pids(&ada, 1)))
    );
    (0..6).for_each(|_| drop(call(&pool, "act").expect("answers")));
    for turn in 1..=3 {
        assert_eq!(call(&ada, "remember").expect("answers"), turn.to_string());
    }
    // It ends with its connection, which is told, and then the key begins anew.
    let pid = call(&ada, "pid").expect("answers");
    kill(&pid);
    eventually("all are up", || counting.count("start") == 4 && ready(&pool) == 3);
    for _ in 0..3 {
        let error = call(&ada, "remember").expect_err("forgotten");
        assert_eq!(kind(&error), "SessionEnded", "{error}");
    }
    let again = pool.sticky("ada").expect("another");
    assert_eq!(call(&again, "remember").expect("answers"), "1");
    // It is not leased to others, whoever waits for it.
    let options = CallOptions::default().with_timeout(Duration::from_secs(1));
    bob.end();
    let leases: Vec<_> = (0..3).map_while(|_| pool.lease(&options).ok()).collect();
    let own = pids(&again, 1);
    assert!(leases.len() == 1 && leases.iter().all(|lease| pids(lease, 1).is_disjoint(&own)));
    drop((leases, eve));
    assert_eq!(call(&again, "remember").expect("answers"), "2");
    again.clone().end();
    assert_eq!(call(&again, "remember").map_err(|error| kind(&error)), Err("SessionEnded"));
    assert_eq!(pool.sticky("k".repeat(1025)).map_err(|error| kind(&error)).err(), Some("InvalidUse"));
}

#[test]
fn a_modern_conversation_goes_on_elsewhere() {
    let _alone = alone();
    let counting = Counting::new("moves");
    let pool = eager(2, &counting);
    let ada = pool.sticky("ada").expect("a conversation");
    for _ in 0..3 {
        let pid = call(&ada, "pid").expect("answers");
        assert_eq!(pids(&ada, 3), BTreeSet::from([pid.clone()]));
        kill(&pid);
        eventually("it goes on", || call(&ada, "pid").is_ok_and(|now| now != pid));
    }
}

#[test]
fn a_close_lets_calls_finish_and_leaves_nothing() {
    let _alone = alone();
    let counting = Counting::new("drain");
    let pool = eager(2, &counting);
    let handle = pool.handle();
    let slow = [waiting(&pool, &counting, "go"), waiting(&pool, &counting, "go")];
    let closing = thread::spawn(move || pool.close(LONG));
    eventually("no more calls", || call(&handle, "pid").is_err_and(|error| kind(&error) == "Closed"));
    assert!(!closing.is_finished(), "it waits for those that are open");
    counting.mark("go");
    let report = closing.join().expect("no panic");
    assert!(report.is_drained() && report.members.len() == 2, "{report:?}");
    assert!(report.members.iter().all(|end| end.outcome.is_ok()), "{report:?}");
    slow.into_iter().for_each(|slow| drop(slow.join().expect("no panic").expect("finished")));
    assert_eq!(handle.add().map_err(|error| kind(&error)), Err("Closed"));
    assert_eq!(kind(&handle.lease(&CallOptions::default()).expect_err("closed")), "Closed");
    assert_eq!(call(&handle.sticky("k").expect("a key"), "pid").map_err(|error| kind(&error)), Err("Closed"));

    counting.unmark("go");
    let pool = eager(2, &counting);
    let stuck = waiting(&pool, &counting, "never");
    let report = pool.close(Duration::from_millis(20));
    assert_eq!(report.calls_cut_off, 1);
    let error = stuck.join().expect("no panic").expect_err("cut off");
    assert!(error.is_closed(), "{error}");
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error}");
}

#[test]
fn members_come_and_go_at_run_time() {
    let _alone = alone();
    let counting = Counting::new("members");
    let pool = eager(1, &counting);
    let first = call(&pool, "pid").expect("answers");
    assert_eq!(pool.add().expect("room"), 1);
    eventually("two are ready", || ready(&pool) == 2);
    let slow = waiting(&pool, &counting, "go");
    let busy = pool.members().iter().find(|member| member.open_calls == 1).expect("one").id;
    let handle = pool.handle();
    let removing = thread::spawn(move || handle.remove(busy, LONG));
    eventually("it leaves", || pool.members().iter().any(|member| member.state == MemberState::Leaving));
    assert_eq!(pids(&pool, 5).len(), 1);
    assert_eq!(pool.remove(busy, LONG).map_err(|error| kind(&error)).err(), Some("InvalidUse"));
    counting.mark("go");
    slow.join().expect("no panic").expect("finishes");
    removing.join().expect("no panic").expect("closed");
    assert_eq!(pool.members().len(), 1);
    assert_eq!(pool.add().expect("room"), 2, "no number comes twice");
    pool.remove(2, Duration::ZERO).expect("also while it is being started");
    let left = pool.members()[0].id;
    pool.remove(left, LONG).expect("the last one");
    let error = call(&pool, "pid").expect_err("nobody");
    assert!(error.to_string().contains("it has no members"), "{error}");
    assert_eq!(kind(&pool.remove(7, LONG).expect_err("none")), "InvalidUse");
    pool.add().expect("room");
    assert_ne!(call(&pool, "pid").expect("answers"), first);
}

#[test]
fn who_does_not_answer_is_out_and_comes_back() {
    let _alone = alone();
    let counting = Counting::new("silent");
    let checks = (Duration::from_millis(20), Duration::from_millis(100));
    let pool = builder(2).health_checks(checks.0, checks.1).start(Start::Eagerly);
    let pool = pool.open(counting.factory()).expect("opens");
    eventually("both are ready", || ready(&pool) == 2);
    // At work it is only left out, and is back when it answers.
    let slow = waiting(&pool, &counting, "go");
    let busy = counting.pids("wait_for")[0].clone();
    let starts = counting.count("start");
    signal("-STOP", &busy);
    eventually("it is out", || pool.members().iter().any(|member| member.state == MemberState::Silent));
    assert!(!pids(&pool, 5).contains(&busy));
    signal("-CONT", &busy);
    eventually("it is back", || ready(&pool) == 2);
    counting.mark("go");
    assert_eq!(slow.join().expect("no panic").expect("answers"), busy);
    assert_eq!(counting.count("start"), starts);
    // Without anything to do it is replaced.
    signal("-STOP", &busy);
    eventually("another is there", || counting.count("start") == starts + 1 && ready(&pool) == 2);
    assert!(!pids(&pool, 5).contains(&busy) && !support::alone::is_alive(&busy));
}
