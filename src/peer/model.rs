//! The races of answering, cancelling and giving up under the model checker.
//!
//! `RUSTFLAGS="--cfg shuttle" cargo test --release --lib model`

use std::sync::Arc;

use crossbeam_channel::TryRecvError;
use shuttle::thread;

use super::call::{Call, InFlight, NotServed};
use super::pending::{NoSlot, Pending};
use crate::json::Json;
use crate::jsonrpc::RequestId;
use crate::sync::{Mutex, lock};

const ITERATIONS: usize = 10_000;

/// What left for the peer, in order.
type Wire = Arc<Mutex<Vec<&'static str>>>;

/// A handler with a helper that reports progress, and a peer that cancels: one winner, and nothing after it.
fn cancel_race() {
    let calls = Arc::new(InFlight::new(4));
    let wire = Wire::default();
    let id = RequestId::from(1);
    let call = calls.begin(id.clone()).expect("room");
    assert_eq!(calls.begin(id.clone()).expect_err("in use"), NotServed::Duplicate);

    let handler = {
        let (calls, call, wire) = (Arc::clone(&calls), Arc::clone(&call), Arc::clone(&wire));
        thread::spawn(move || {
            call.while_open(|| lock(&wire).push("progress"));
            let may_answer = calls.finish(&call);
            if may_answer {
                lock(&wire).push("answer");
            }
            calls.end();
            may_answer
        })
    };
    let helper = {
        let (call, wire) = (Arc::clone(&call), Arc::clone(&wire));
        thread::spawn(move || {
            for _ in 0..2 {
                call.while_open(|| lock(&wire).push("progress"));
            }
        })
    };
    let was_cancelled = calls.cancel(&id, "no longer wanted");
    if was_cancelled {
        lock(&wire).push("cancelled");
    }
    let answered = handler.join().expect("no panic");
    helper.join().expect("no panic");
    assert!(answered != was_cancelled, "answered {answered}, cancelled {was_cancelled}");
    assert_eq!(call.cancel.is_cancelled(), was_cancelled);
    let wire = lock(&wire);
    let closes = wire.iter().position(|what| *what != "progress").expect("it ended somehow");
    assert_eq!(closes, wire.len() - 1, "{wire:?}");
    // Nothing is left behind: the id is free, and nobody is counted as serving.
    assert!(!calls.cancel(&id, "late"));
    let again = calls.begin(id).expect("free again");
    assert!(calls.finish(&again));
    calls.end();
    assert!(calls.drain(crate::sync::Deadline::after(Some(std::time::Duration::ZERO))));
}

#[test]
fn answer_and_cancellation_have_one_winner() {
    shuttle::check_dfs(cancel_race, Some(200_000));
    shuttle::check_random(cancel_race, ITERATIONS);
    shuttle::check_pct(cancel_race, ITERATIONS, 3);
}

/// Two calls, a cancellation and the end of the connection at once: each call ends once and the limit holds.
fn many_calls() {
    let calls = Arc::new(InFlight::new(2));
    let open: Vec<Arc<Call>> = (0..2).map(|id| calls.begin(id.into()).expect("room")).collect();
    assert_eq!(calls.begin(9.into()).expect_err("no room"), NotServed::Full(2));
    let handlers: Vec<_> = open
        .iter()
        .map(|call| {
            let (calls, call) = (Arc::clone(&calls), Arc::clone(call));
            thread::spawn(move || {
                let may_answer = calls.finish(&call);
                calls.end();
                may_answer
            })
        })
        .collect();
    let closing = Arc::clone(&calls);
    let closer = thread::spawn(move || closing.cancel_all("the end"));
    let cancelled = calls.cancel(&0.into(), "peer");
    let answered: Vec<bool> = handlers.into_iter().map(|handler| handler.join().expect("no panic")).collect();
    closer.join().expect("no panic");
    assert!(!(answered[0] && cancelled));
    for (call, answered) in open.iter().zip(answered) {
        assert!(!call.close(), "still open");
        // The end fires the token of a call that was answered in the same moment; nobody listens any more.
        assert!(answered || call.cancel.is_cancelled());
    }
    assert!(calls.begin(0.into()).is_ok() && calls.begin(1.into()).is_ok(), "both ids are free");
}

#[test]
fn the_open_calls_stay_consistent() {
    shuttle::check_random(many_calls, ITERATIONS);
    shuttle::check_pct(many_calls, ITERATIONS, 3);
}

/// A peer that answers twice, a caller that gives up, a connection that ends: one answer or none.
fn pending_race() {
    let pending = Arc::new(Pending::new(4));
    let waiting = pending.register(true).expect("room");
    let id = RequestId::from(waiting.id);
    let readers: Vec<_> = (1..=2)
        .map(|n| {
            let (pending, id) = (Arc::clone(&pending), id.clone());
            thread::spawn(move || {
                let heard = pending.progress(&id, Json::from(serde_json::json!(n)));
                let completed = pending.complete(&id, Ok(Json::from(serde_json::json!(n))));
                assert!(heard || !completed, "progress was refused before the answer came");
                completed
            })
        })
        .collect();
    let closing = Arc::clone(&pending);
    let closer = thread::spawn(move || closing.close());
    let forgotten = pending.forget(waiting.id);
    let completed: Vec<bool> = readers.into_iter().map(|reader| reader.join().expect("no panic")).collect();
    closer.join().expect("no panic");
    let wins = usize::from(forgotten) + completed.iter().filter(|won| **won).count();
    assert!(wins <= 1, "forgotten {forgotten}, completed {completed:?}");
    let heard: Vec<_> = std::iter::from_fn(|| waiting.answer().try_recv().ok()).collect();
    let answers = heard.iter().filter(|answer| answer.is_some()).count();
    assert_eq!(answers, completed.iter().filter(|won| **won).count());
    // Whoever still waits is told of the end, once and instead of an answer.
    assert_eq!(heard.len(), usize::from(!forgotten), "{heard:?}");
    assert!(matches!(pending.register(false), Err(NoSlot::Closed)));
}

#[test]
fn a_request_gets_one_answer_or_none() {
    shuttle::check_random(pending_race, ITERATIONS);
    shuttle::check_pct(pending_race, ITERATIONS, 3);
}
