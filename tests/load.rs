//! Many calls at once: every answer finds its caller, whole. A debug build makes fewer of them.

#![cfg(unix)]

mod support;

use std::collections::VecDeque;
use std::time::Instant;

use serde_json::{Value, json};
use support::peers;
use tinymcp::client::{CallHandle, CallOptions};
use tinymcp::{Client, ProtocolVersion};

#[test]
fn child() {
    peers::child();
}

const THREADS: usize = 32;
const CALLS: usize = 1000;

/// 1 B to 100 kB, mostly small: JSON takes its time in a debug build.
const SIZES: [usize; 20] =
    [1, 2, 3, 7, 10, 20, 30, 50, 70, 100, 120, 150, 200, 300, 500, 700, 1000, 1500, 4000, 0];

fn size(thread: usize, call: usize) -> usize {
    match SIZES[call % SIZES.len()] {
        0 => 100_000 / (1 + (thread * CALLS + call) / SIZES.len() % 50),
        small => small,
    }
}

/// Text that no other call has.
fn message(thread: usize, call: usize, bytes: usize) -> String {
    let name = format!("{thread}/{call}/");
    let text = name.repeat(bytes / name.len() + 1);
    if bytes < name.len() { name } else { text[..bytes].to_owned() }
}

#[test]
fn thirty_two_threads_get_a_thousand_right_answers_each() {
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let client = Client::builder().versions([version]).open(peers::served("")).expect("starts");
        client.initialize().expect("settles");
        let calls = if cfg!(debug_assertions) { CALLS / 4 } else { CALLS }; // for each era
        let start = Instant::now();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let client = client.handle();
                scope.spawn(move || {
                    for call in 0..calls {
                        let sent = message(thread, call, size(thread, call));
                        let answer = client.call_tool("echo", json!({"message": sent})).expect("answers");
                        assert!(answer.text_content() == sent, "thread {thread}, call {call}");
                    }
                });
            }
        });
        client.close().expect("closes");
        assert!(start.elapsed() < peers::LONG, "{:?}", start.elapsed());
    }
}

#[test]
fn five_hundred_open_calls_of_64_kib_are_answered_each_with_its_own() {
    let client = Client::builder().open(peers::served("")).expect("starts");
    let options = CallOptions::default();
    let open: Vec<(String, CallHandle)> = (0..500)
        .map(|call| {
            let sent = message(7, call, 64 * 1024);
            let handle = client.start_call("echo", json!({"message": sent}), &options).expect("sent");
            (sent, handle)
        })
        .collect();
    // In another order than they were sent.
    for (sent, handle) in open.into_iter().rev() {
        assert!(handle.wait().expect("answers").text_content() == sent);
    }
    client.close().expect("closes");
}

#[test]
fn one_thread_keeps_many_calls_open_and_cancels_some() {
    let client = Client::builder().open(peers::served("")).expect("starts");
    let options = CallOptions::default();
    let mut open = VecDeque::new();
    for call in 0..3000 {
        let sent = message(1, call, call % 50);
        let handle = client.start_call("echo", json!({"message": sent}), &options).expect("sent");
        if call % 7 == 0 {
            drop(handle);
            continue;
        }
        open.push_back((sent, handle));
        if open.len() > 64 {
            let (sent, handle) = open.pop_front().expect("open");
            assert_eq!(handle.wait().expect("answers").text_content(), sent);
        }
    }
    for (sent, handle) in open {
        assert_eq!(handle.wait().expect("answers").text_content(), sent);
    }
    // Nothing is left running on the server.
    let counted: Value =
        client.call_tool("run", ()).expect("answers").structured_as().expect("JSON").unwrap_or(json!(1));
    assert_eq!(counted.get("result").unwrap_or(&counted), &json!(1));
    client.close().expect("closes");
}
