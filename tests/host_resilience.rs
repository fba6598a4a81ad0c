//! Servers that die: what is tried again, what is not, and when a server is started again. One test at a time, as processes are
//! counted.

#![cfg(target_os = "linux")]

#[path = "support/counting.rs"]
mod counting;
mod support;

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use counting::{Counting, kill, kind};
use serde_json::json;
use support::alone::{alone, are_asleep, is_alive};
use support::peers::{LONG, eventually};
use tinymcp::client::{CallOptions, Caller, Timeouts};
use tinymcp::host::resilience::{
    Breaker, BreakerOptions, BreakerState, Resilient, Restart, RestartEvent, RestartPolicy, Retry,
    resilient_tool_call,
};
use tinymcp::{Arguments, CancelToken, ClientHandle, Error, Server, ToolRegistry, testing, tool};

#[test]
fn child() {
    counting::child();
}

/// Three tries with hardly any pause.
fn quick() -> Retry {
    Retry::default().with_base(Duration::from_millis(1))
}

fn at_once(when: Restart) -> RestartPolicy {
    RestartPolicy::new(when).with_pauses(Duration::from_millis(1), Duration::from_millis(5))
}

fn call(client: &ClientHandle, tool: &str) -> tinymcp::Result<String> {
    let result = resilient_tool_call(client, tool, (), &quick(), &CallOptions::default());
    result.map(|result| result.text_content())
}

fn call_of(caller: &dyn Caller, tool: &str) -> tinymcp::Result<String> {
    let result = caller.call(tool, Arguments::empty(), &CallOptions::default());
    result.map(|result| result.text_content())
}

#[test]
fn what_was_not_sent_is_sent_to_another_process() {
    let _alone = alone();
    let counting = Counting::new("unsent");
    let client = counting.client();
    let first = call(&client, "act").expect("answers");
    for round in 1..=3 {
        let before = call(&client, "pid").expect("answers");
        kill(&before);
        // Whether it is noticed before or after: nothing of it was done.
        eventually("the connection ends", || {
            client.call_tool("pid", ()).is_err_and(|error| error.is_closed())
        });
        assert_ne!(call(&client, "act").expect("another answers"), before);
        assert_eq!(counting.count("act"), 1 + round);
        assert_eq!(counting.count("start"), 1 + round);
        assert!(!is_alive(&before));
    }
    assert!(!is_alive(&first));
}

#[test]
fn what_may_have_been_done_is_not_done_again_unasked() {
    let _alone = alone();
    for legacy in [false, true] {
        let counting = Counting::new("unknown");
        let counting = if legacy { counting.legacy() } else { counting };
        let client = counting.client();
        for times in 1..=2 {
            let error = call(&client, "act_and_die").expect_err("its answer is lost");
            assert_eq!(kind(&error), "OutcomeUnknown", "{error}");
            assert_eq!(counting.count("act_and_die"), times);
        }
        // Who says that it does no harm has it done again: three times, and all died of it.
        let options = CallOptions::default().with_repeatable();
        let error = resilient_tool_call(&client, "act_and_die", (), &quick(), &options).expect_err("dies");
        assert_eq!(kind(&error), "OutcomeUnknown", "{error}");
        assert_eq!(counting.count("act_and_die"), 5);
        // A tool says it itself, without having been listed before.
        counting.mark("die");
        counting.mark("die again");
        call(&client, "look").expect("the third one answers");
        assert_eq!(counting.count("look"), 3);
    }
}

#[test]
fn what_the_server_says_is_an_answer() {
    let _alone = alone();
    let counting = Counting::new("answers");
    let client = counting.client();
    let error = call(&client, "no_such_tool").expect_err("unknown");
    assert_eq!(kind(&error), "Peer", "{error}");
    let options = CallOptions::default().with_repeatable();
    let failed = resilient_tool_call(&client, "wait_for", json!({"marker": 5}), &quick(), &options);
    assert!(failed.expect("an answer").is_error());
    for bad in [json!([1]), json!("text"), json!(5)] {
        let error = resilient_tool_call(&client, "act", bad, &quick(), &options).expect_err("no object");
        assert_eq!(kind(&error), "InvalidUse", "{error}");
    }
    assert_eq!(counting.count("start"), 1);
}

#[test]
fn one_time_runs_over_all_tries() {
    let _alone = alone();
    let counting = Counting::new("deadline");
    counting.mark("silent");
    let client = counting.client();
    let soon = Duration::from_millis(300);
    for options in [CallOptions::default().with_timeout(soon), CallOptions::default().with_total(soon)] {
        let start = Instant::now();
        let error =
            resilient_tool_call(&client, "act", (), &quick().with_tries(100), &options).expect_err("silent");
        assert_eq!(kind(&error), "Timeout", "{error}");
        assert!(start.elapsed() >= soon && start.elapsed() < 10 * soon, "{:?}", start.elapsed());
    }
    counting.unmark("silent");
    client.close().expect("closes");

    // A pause that would be too long is not begun.
    let client = counting.client();
    let (options, patient) =
        (CallOptions::default().with_timeout(LONG), Retry::default().with_base(2 * LONG));
    counting.mark("die");
    let start = Instant::now();
    let error =
        resilient_tool_call(&client, "look", (), &patient.with_cap(2 * LONG), &options).expect_err("dies");
    assert_eq!(kind(&error), "OutcomeUnknown", "{error}");
    assert!(start.elapsed() < LONG);
    assert_eq!(counting.count("look"), 1);
}

#[test]
fn a_try_that_takes_too_long_is_cancelled_and_made_again_if_it_can_be() {
    let _alone = alone();
    let counting = Counting::new("tries");
    let client = counting.client();
    call(&client, "pid").expect("answers");
    let retry = quick().with_try_time(Duration::from_millis(200));
    for (options, tries) in [(CallOptions::default(), 1), (CallOptions::default().with_repeatable(), 3)] {
        let before = counting.count("wait");
        let error = resilient_tool_call(&client, "wait", (), &retry, &options).expect_err("too long");
        assert_eq!(kind(&error), "Timeout", "{error}");
        assert_eq!(counting.count("wait"), before + tries);
    }
    assert_eq!(counting.count("start"), 1, "a server that is alive is not started again");
}

#[test]
fn cancelling_ends_a_pause_at_once() {
    let _alone = alone();
    let counting = Counting::new("cancel");
    let client = counting.client();
    let token = CancelToken::new();
    counting.mark("die");
    let calling = {
        let (client, options) =
            (client.handle(), CallOptions::default().with_cancel(&token).with_timeout(None));
        let retry = Retry::default().with_base(LONG).with_cap(LONG);
        let call = move || resilient_tool_call(&client, "look", (), &retry, &options);
        thread::Builder::new().name("calling".into()).spawn(call).expect("a thread")
    };
    eventually("it was tried", || counting.count("look") == 1);
    eventually("it waits", || client.call_tool("pid", ()).is_err() && are_asleep("calling", 1));
    let start = Instant::now();
    token.cancel("enough");
    let error = calling.join().expect("no panic").expect_err("cancelled");
    assert_eq!(kind(&error), "Cancelled", "{error}");
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(counting.count("look"), 1);
}

#[test]
fn those_who_find_it_dead_start_it_once() {
    let _alone = alone();
    let counting = Counting::new("flight");
    let client = counting.client();
    kill(&call(&client, "pid").expect("answers"));
    let calling: Vec<_> = (0..16)
        .map(|_| {
            let client = client.handle();
            thread::spawn(move || call(&client, "act"))
        })
        .collect();
    let pids: Vec<_> =
        calling.into_iter().map(|calling| calling.join().expect("no panic").expect("answers")).collect();
    assert!(pids.iter().all(|pid| *pid == pids[0]), "{pids:?}");
    assert_eq!((counting.count("start"), counting.count("act")), (2, 16));
}

#[test]
fn an_open_circuit_sends_nothing_and_a_probe_closes_it() {
    let _alone = alone();
    let counting = Counting::new("breaker");
    let client = counting.client();
    let long = BreakerOptions::default().with_failures(2).with_cool_down(2 * LONG);
    let breaker = Breaker::new(long);
    let builder = || Resilient::builder().retry(quick()).restart(at_once(Restart::Lazily));
    let caller = builder().breaker(breaker.clone()).over(&client).expect("put over");
    assert_eq!(call_of(&caller, "no_such_tool").map_err(|error| kind(&error)), Err("Peer"));
    for _ in 0..2 {
        assert_eq!(breaker.state(), BreakerState::Closed);
        assert_eq!(call_of(&caller, "act_and_die").map_err(|error| kind(&error)), Err("OutcomeUnknown"));
    }
    assert!(matches!(breaker.state(), BreakerState::Open(_)));
    let starts = counting.count("start");
    for _ in 0..3 {
        let error = call_of(&caller, "act").expect_err("open");
        assert_eq!(kind(&error), "Unreachable");
        assert!(error.is_retryable() && error.to_string().contains("tried again in"), "{error}");
    }
    assert_eq!((counting.count("start"), counting.count("act")), (starts, 0), "nothing was sent or started");

    // Somebody has mended it.
    caller.restart(Some(LONG), None).expect("starts");
    assert_eq!(breaker.state(), BreakerState::Closed);
    call_of(&caller, "act").expect("answers");

    // After the cool-down one call tries it.
    let brief = BreakerOptions::default().with_failures(1).with_cool_down(Duration::from_millis(20));
    let caller = builder().breaker(Breaker::new(brief)).over(&client).expect("put over");
    call_of(&caller, "act_and_die").expect_err("dies");
    eventually("the cool-down is over", || call_of(&caller, "act").is_ok());
    assert_eq!(caller.breaker().expect("there").state(), BreakerState::Closed);
}

type Told = Arc<Mutex<Vec<RestartEvent>>>;

fn telling(policy: RestartPolicy) -> (RestartPolicy, Told) {
    let told = Told::default();
    let tell = Arc::clone(&told);
    (policy.on_event(move |event| tell.lock().expect("not poisoned").push(event.clone())), told)
}

#[test]
fn an_eager_restart_waits_for_nobody() {
    let _alone = alone();
    let counting = Counting::new("eager");
    let client = counting.client();
    let (policy, told) = telling(at_once(Restart::Eagerly).with_stable_after(Duration::ZERO));
    let caller = Resilient::builder().retry(quick()).restart(policy).over(&client).expect("put over");
    let mut pid = call_of(&caller, "pid").expect("answers");
    for round in 1..=3 {
        kill(&pid);
        eventually("it was started again", || counting.count("start") == 1 + round);
        let now = call_of(&caller, "pid").expect("answers");
        assert_ne!(now, pid);
        assert!(!is_alive(&pid), "the old one is gone");
        pid = now;
    }
    let told = told.lock().expect("not poisoned").clone();
    let [begins, ends] = [RestartEvent::Restarting(1), RestartEvent::Restarted];
    assert!(
        told.len() == 6 && told.chunks(2).all(|pair| *pair == [begins.clone(), ends.clone()]),
        "{told:?}"
    );
    client.close().expect("closes");
    let error = call_of(&caller, "pid").expect_err("closed");
    assert!(error.to_string().contains("closed by this client"), "{error}");
    assert_eq!(counting.count("start"), 4);
}

#[test]
fn a_server_that_does_not_stay_is_left_alone() {
    let _alone = alone();
    for when in [Restart::Eagerly, Restart::Lazily] {
        let counting = Counting::new("crashing");
        let client = counting.client();
        let (policy, told) = telling(at_once(when).with_limit(3));
        let builder = Resilient::builder().retry(quick().with_tries(10)).no_breaker().restart(policy);
        let caller = builder.over(&client).expect("put over");
        let pid = call_of(&caller, "pid").expect("answers");
        counting.mark("broken");
        kill(&pid);
        let error = call_of(&caller, "pid").expect_err("it does not start");
        assert_eq!(kind(&error), "Closed", "{error}");
        eventually("it is given up", || caller.given_up().is_some());
        // A client starts one that dies of the first question a second time, to ask in another way.
        let starts = counting.count("start");
        assert!((4..=7).contains(&starts), "{starts}");
        let start = Instant::now();
        let error = call_of(&caller, "pid").expect_err("it is left alone");
        assert!(error.to_string().contains("it was started 3 times in a row"), "{error}");
        assert!(start.elapsed() < LONG && counting.count("start") == starts);
        assert!(matches!(told.lock().expect("not poisoned").last(), Some(RestartEvent::GivenUp(_))));
        counting.unmark("broken");
        caller.restart(Some(LONG), None).expect("somebody says so");
        let pid = call_of(&caller, "pid").expect("answers");
        // And from then on as before.
        kill(&pid);
        eventually("another answers", || call_of(&caller, "pid").is_ok_and(|now| now != pid));
    }
}

#[test]
fn without_restarts_a_dead_server_stays_dead() {
    let _alone = alone();
    let counting = Counting::new("never");
    let client = counting.client();
    let builder = Resilient::builder().retry(Retry::default().with_base(LONG));
    let caller = builder.restart(RestartPolicy::new(Restart::Never)).over(&client).expect("put over");
    kill(&call_of(&caller, "pid").expect("answers"));
    let start = Instant::now();
    let error = call_of(&caller, "pid").expect_err("dead");
    assert!(error.is_closed() && start.elapsed() < LONG, "{error}");
    assert_eq!(counting.count("start"), 1);
    client.reconnect().expect("starts");
    call_of(&caller, "pid").expect("answers");
}

#[test]
fn what_cannot_be_opened_again_fails_at_once() {
    let _alone = alone();
    let tools = ToolRegistry::new().with(tool! { fn hi() -> &'static str { "hi" } }).expect("registers");
    let server = Server::builder("memory", "1").tools(tools).build().expect("a server");
    let client = testing::pair(&server).expect("a pair");
    let caller =
        Resilient::builder().retry(Retry::default().with_base(LONG)).over(&client).expect("put over");
    assert_eq!(call_of(&caller, "hi").expect("answers"), "hi");
    assert_eq!(caller.list_tools(&CallOptions::default()).expect("lists").items.len(), 1);
    assert_eq!(caller.discover_tools().expect("lists").len(), 1);
    let unsupported = caller.restart(Some(LONG), None).expect_err("a pipe in memory");
    assert_eq!(kind(&unsupported), "Unsupported", "{unsupported}");
    assert_eq!(call_of(&caller, "hi").expect("still"), "hi");
    let handle = client.handle();
    client.close().expect("closes");
    let start = Instant::now();
    for error in [call_of(&caller, "hi"), call(&handle, "hi")].map(|called| called.expect_err("closed")) {
        assert_eq!(kind(&error), "Closed", "{error}");
    }
    assert!(start.elapsed() < LONG);
}

/// A caller of somebody else, which fails as it is told.
struct Failing(Mutex<Vec<Error>>);

impl Caller for Failing {
    fn call(
        &self,
        _: &str,
        _: Arguments<'_>,
        _: &CallOptions,
    ) -> tinymcp::Result<tinymcp::protocol::CallToolResult> {
        match self.0.lock().expect("not poisoned").pop() {
            Some(error) => Err(error),
            None => Ok(tinymcp::protocol::CallToolResult::text("here")),
        }
    }

    fn list_tools(
        &self,
        _: &CallOptions,
    ) -> tinymcp::Result<tinymcp::client::List<tinymcp::protocol::ToolDefinition>> {
        Err(Error::Unsupported("no list".into()))
    }
}

#[test]
fn any_caller_can_be_tried_again() {
    let busy = || Error::Busy("64 requests in flight".into());
    let caller = |errors: Vec<Error>, timeouts: Timeouts| {
        let failing = Arc::new(Failing(Mutex::new(errors)));
        Resilient::builder().retry(quick()).timeouts(timeouts).over_caller(failing)
    };
    let two = caller(vec![busy(), busy()], Timeouts::none());
    assert_eq!(call_of(&two, "x").expect("the third one"), "here");
    let three = caller(vec![busy(), busy(), busy()], Timeouts::default());
    assert_eq!(call_of(&three, "x").map_err(|error| kind(&error)), Err("Busy"));
    let no_time = caller(vec![busy()], Timeouts::default().with_call(Duration::ZERO));
    assert_eq!(call_of(&no_time, "x").map_err(|error| kind(&error)), Err("Busy"));
    assert_eq!(
        caller(vec![], Timeouts::none()).restart(None, None).map_err(|error| kind(&error)),
        Err("Unsupported")
    );
}
