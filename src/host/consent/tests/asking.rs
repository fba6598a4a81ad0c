//! How long and how often the user is asked.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::*;

#[test]
fn one_answer_for_the_session_is_for_all_who_wait() {
    let desk = Desk::new();
    let gate = gatekeeper(Rules::new(), Some(desk.user.clone()), &Grants::new(), AskLimits::default()).0;
    let (same, other) = (tool("same", ""), tool("other", ""));
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..7).map(|_| scope.spawn(|| call(&gate, "s", &same).map(drop))).collect();
        let (question, _, answer) = desk.next();
        assert_eq!(question.tool.as_deref(), Some("same"));
        // One of a server at a time, whatever it is about.
        let another = scope.spawn(|| call(&gate, "s", &other).map(drop));
        assert!(desk.questions.recv_timeout(Duration::from_millis(50)).is_err());
        answer.send(Answer::Session).expect("awaited");
        let (question, _, answer) = desk.next();
        assert_eq!(question.tool.as_deref(), Some("other"));
        answer.send(Answer::No).expect("awaited");
        for call in calls {
            call.join().expect("no panic").expect("allowed for the session");
        }
        denied(another.join().expect("no panic"));
    });
    assert!(desk.questions.is_empty());
}

#[test]
fn one_no_for_the_session_is_for_all_who_wait() {
    let desk = Desk::new();
    let gate = gatekeeper(Rules::new(), Some(desk.user.clone()), &Grants::new(), AskLimits::default()).0;
    let tool = tool("t", "");
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| call(&gate, "s", &tool).map(drop))).collect();
        desk.next().2.send(Answer::NoSession).expect("awaited");
        calls.into_iter().for_each(|call| drop(denied(call.join().expect("no panic"))));
    });
    assert!(desk.questions.is_empty());
}

#[test]
fn servers_are_asked_about_side_by_side_up_to_a_number() {
    let desk = Desk::new();
    let limits = AskLimits::default().with_shown(2);
    let gate = gatekeeper(Rules::new(), Some(desk.user.clone()), &Grants::new(), limits).0;
    let tool = tool("t", "");
    std::thread::scope(|scope| {
        for server in ["a", "b", "c"] {
            let (gate, tool) = (&gate, &tool);
            scope.spawn(move || denied(call(gate, server, tool)));
        }
        let (first, second) = (desk.next(), desk.next());
        assert_ne!(first.0.server, second.0.server);
        assert!(desk.questions.recv_timeout(Duration::from_millis(50)).is_err());
        first.2.send(Answer::No).expect("awaited");
        let third = desk.next();
        assert!(third.0.server != first.0.server && third.0.server != second.0.server);
        (second.2.send(Answer::No).expect("awaited"), third.2.send(Answer::No).expect("awaited"));
    });
}

#[test]
fn whoever_does_not_answer_says_no_and_is_told_to_stop() {
    let desk = Desk::new();
    let limits = AskLimits::default().with_time(Duration::from_millis(50)).with_shown(1);
    let gate = gatekeeper(Rules::new(), Some(desk.user.clone()), &Grants::new(), limits).0;
    let tool = tool("t", "");
    // Two threads there are for a question at a time; nobody ever comes back from them.
    let mut stuck = Vec::new();
    for _ in 0..2 {
        assert!(denied(call(&gate, "s", &tool)).contains("did not answer within 50 ms"));
        let shown = desk.next();
        assert_eq!(shown.1.reason(), Some("no answer in time"));
        stuck.push(shown);
    }
    let begun = Instant::now();
    assert!(denied(call(&gate, "s", &tool)).contains("2 earlier questions have not come back"));
    assert!(begun.elapsed() < Duration::from_millis(50), "{:?}", begun.elapsed());
    // A late yes is none.
    for shown in stuck {
        shown.2.send(Answer::Always).expect("awaited");
    }
    assert_eq!(gate_list(&gate, &tool, &desk), 0);
}

/// How much is granted, once whoever was stuck is back.
fn gate_list(gate: &Gatekeeper, tool: &ToolDefinition, desk: &Desk) -> usize {
    let begun = Instant::now();
    while desk.questions.is_empty() && begun.elapsed() < LONG {
        denied(call(gate, "s", tool));
    }
    desk.next().2.send(Answer::No).unwrap_or_default();
    gate.grants().list().expect("no file").len()
}

#[test]
fn a_caller_that_gives_up_ends_the_question() {
    let desk = Desk::new();
    let gate = gatekeeper(Rules::new(), Some(desk.user.clone()), &Grants::new(), AskLimits::default()).0;
    let (tool, arguments) = (tool("t", ""), Json::empty_object());
    let subject = Subject::call("s", "{}", &tool, &arguments);
    let stop = CancelToken::new();
    std::thread::scope(|scope| {
        let calling = scope.spawn(|| gate.permit(&subject, Some(&stop)).map(drop));
        let waiting = scope.spawn(|| gate.permit(&subject, Some(&stop)).map(drop));
        let (_, withdrawn, _answer) = desk.next();
        stop.cancel("the user pressed stop");
        for call in [calling, waiting] {
            let error = call.join().expect("no panic").expect_err("given up");
            assert!(matches!(&error, Error::Cancelled(why) if why == "the user pressed stop"), "{error}");
        }
        assert!(withdrawn.wait_timeout(LONG));
    });
    let error = gate.permit(&subject, Some(&stop)).map(drop).expect_err("given up before");
    assert!(matches!(error, Error::Cancelled(_)), "{error}");
    assert!(desk.questions.is_empty());
}

#[test]
fn what_is_taken_back_while_it_is_asked_is_no() {
    let desk = Desk::new();
    let grants = Grants::new();
    let gate = gatekeeper(Rules::new(), Some(desk.user.clone()), &grants, AskLimits::default()).0;
    let tool = tool("t", "");
    std::thread::scope(|scope| {
        let calling = scope.spawn(|| call(&gate, "s", &tool).map(drop));
        let (_, withdrawn, answer) = desk.next();
        assert_eq!(grants.revoke_server("s").expect("no file"), 1);
        assert!(denied(calling.join().expect("no panic")).contains("taken back"));
        assert!(withdrawn.wait_timeout(LONG));
        // Nobody waits for it any more.
        let _ = answer.send(Answer::Session);
    });
    assert_eq!(grants.list().expect("no file"), []);
}

#[test]
fn a_thousand_at_once_are_a_few_questions() {
    let shown = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&shown);
    let user = move |_: &Question, _: &CancelToken| {
        count.fetch_add(1, Ordering::Relaxed);
        Answer::Once
    };
    let limits = AskLimits::default().with_waiting(4).with_per_minute(10);
    let (gate, told) = gatekeeper(Rules::new(), Some(Arc::new(user)), &Grants::new(), limits);
    let allowed = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let params = CreateMessageParams::new(1).with_user("give");
                    match gate.permit(&Subject::sample("bad", "{}", &params), None) {
                        Ok(_) => drop(allowed.fetch_add(1, Ordering::Relaxed)),
                        Err(error) => {
                            assert!(error.to_string().contains("it was not asked about"), "{error}")
                        }
                    }
                }
            });
        }
    });
    assert_eq!((shown.load(Ordering::Relaxed), allowed.into_inner()), (10, 10));
    let told = told.lock().expect("no panic").clone();
    assert!((8..=10).contains(&told.len()), "{told:?}");
    assert!(told[told.len() - 1].contains("512 were denied without asking"), "{told:?}");
    // Others are asked about as ever.
    call(&gate, "good", &tool("t", "")).expect("yes");
}
