//! A server on stdio at its limits: what it holds, how it stops, what its handlers start.

#![cfg(unix)]

mod support;

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::peers::{self, LONG, Raw, call, request, text};
use tinymcp::client::CallOptions;
use tinymcp::transport::{Stream, memory_pair};
use tinymcp::{Client, Server};

#[test]
fn child() {
    peers::child();
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
}

/// Waits for the exit without ending the input.
fn exits(raw: &mut Raw) -> Duration {
    let start = Instant::now();
    loop {
        if let Some(status) = raw.child.try_wait().expect("a status") {
            assert!(status.success(), "{status}");
            return start.elapsed();
        }
        assert!(start.elapsed() < LONG, "it does not exit");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_stop_ends_the_server_though_its_input_stays_open() {
    // The best of a few: the machine may be busy with other tests.
    let best = (0..5).map(|_| {
        let mut raw = Raw::initialized("");
        assert_eq!(text(&raw.ask(&call(1, "stop", json!({})))), "stopping");
        exits(&mut raw)
    });
    let best = best.min().expect("five");
    assert!(best < Duration::from_millis(100), "{best:?}");
}

#[test]
fn a_stop_finishes_what_was_accepted_and_accepts_nothing_more() {
    let mut raw = Raw::initialized("");
    raw.send(&call(1, "wait", json!({"ms": 300})));
    assert_eq!(text(&raw.ask(&call(2, "stop", json!({})))), "stopping");
    // The stop is seen a moment after its answer.
    let start = Instant::now();
    let refused = loop {
        raw.send(&call(3, "echo", json!({"message": "m"})));
        let answer = raw.answer(3);
        if answer.get("error").is_some() {
            break answer;
        }
        assert!(start.elapsed() < LONG, "it goes on accepting");
    };
    assert_eq!(code(&refused), -32603);
    assert!(refused["error"]["message"].as_str().expect("text").contains("ending"), "{refused}");
    assert_eq!(raw.ask(&request(4, "ping"))["result"], json!({}));
    assert_eq!(text(&raw.answer(1)), "waited");
    exits(&mut raw);
    // A client that never pauses cannot keep a stopped server alive.
    let mut raw = Raw::initialized("");
    raw.send(&call(1, "stop", json!({})));
    let line = call(2, "echo", json!({"message": "m"})) + "\n";
    let start = Instant::now();
    while raw.try_send_bytes(line.repeat(20).as_bytes()) {
        assert!(start.elapsed() < Duration::from_secs(3), "it is kept alive");
    }
    exits(&mut raw);
}

#[test]
fn the_end_hook_runs_on_every_way_out() {
    let file = std::env::temp_dir().join(format!("tinymcp-hook-{}", std::process::id()));
    for stop in [false, true] {
        let script = format!(r#"exec "$0" "$@" 2>{}"#, file.display());
        let mut raw = Raw::in_shell(&script, "hook=");
        raw.send(peers::INIT);
        raw.answer(0);
        if stop {
            raw.send(&call(1, "stop", json!({})));
            raw.answer(1);
        }
        assert!(raw.finish().1.success());
        let stderr = std::fs::read_to_string(&file).expect("a file");
        assert_eq!(stderr.matches("the hook ran").count(), 1, "stopped: {stop}");
    }
    std::fs::remove_file(file).expect("removed");
}

#[test]
fn an_idle_server_uses_no_cpu() {
    let mut raw = Raw::initialized("");
    // Warm: with a stand-by thread that has seen dense traffic.
    (0..200).for_each(|id| raw.send(&call(id, "echo", json!({"message": "m"}))));
    (0..200).for_each(|id| drop(raw.answer(id)));
    let mut ticks = |id: u32| text(&raw.ask(&call(id, "cpu", json!({})))).parse::<u64>().expect("a number");
    let _first = ticks(1);
    let before = ticks(2);
    // Time itself is what is measured here.
    std::thread::sleep(Duration::from_millis(700));
    let used = ticks(3) - before;
    // Ticks of 10 ms: one or two are the calls that ask.
    assert!(used <= 3, "{used} ticks in 700 ms");
}

#[test]
fn results_nobody_reads_wait_and_are_all_there_in_the_end() {
    let mut raw = Raw::unread("");
    raw.send(peers::INIT);
    for id in 1..=10 {
        raw.send(&call(id, "big", json!({"bytes": 1_000_000})));
    }
    raw.send(&request(11, "ping"));
    let mut raw = raw.read();
    for id in 1..=10 {
        assert_eq!(text(&raw.answer(id)).len(), 1_000_000);
    }
    assert_eq!(raw.answer(11)["result"], json!({}));
    // Also when far more waits than may, so that reading stops meanwhile.
    let mut raw = Raw::unread("unsent=100000");
    raw.send(peers::INIT);
    let lines: String = (1..=100).map(|id| call(id, "big", json!({"bytes": 20_000})) + "\n").collect();
    raw.send_bytes(lines.as_bytes());
    let pings: String = (1000..2000).map(|id| request(id, "ping") + "\n").collect();
    raw.send_bytes(pings.as_bytes()); // as much as a pipe holds
    let mut raw = raw.read();
    (1..=100).for_each(|id| assert_eq!(text(&raw.answer(id)).len(), 20_000));
    (1000..2000).for_each(|id| drop(raw.answer(id)));
    let (rest, status, _) = raw.finish();
    assert!(rest.is_empty() || rest.iter().all(|answer| answer["id"] == 0), "{}", rest.len());
    assert!(status.success());
}

#[test]
fn a_client_that_never_reads_cannot_keep_the_server() {
    let mut raw = Raw::unread("grace=200");
    raw.send(peers::INIT);
    raw.send(&call(1, "big", json!({"bytes": 5_000_000})));
    let start = Instant::now();
    raw.end_input();
    exits(&mut raw);
    // The grace, a second for the flush; and slack.
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn a_line_of_200_mb_costs_one_error_and_little_memory() {
    let mut raw = Raw::initialized("");
    let chunk = vec![b'{'; 1 << 20];
    (0..200).for_each(|_| raw.send_bytes(&chunk));
    raw.send_bytes(b"\n");
    let refused = raw.next();
    assert_eq!((code(&refused), refused.get("id")), (-32700, None));
    assert!(refused["error"]["message"].as_str().expect("text").contains("16777216"), "{refused}");
    let peak: u64 = text(&raw.ask(&call(1, "peak_kib", json!({})))).parse().expect("a number");
    assert!(peak < 100_000, "{peak} KiB");
    // The limit is the server's to set, and is exact.
    let mut raw = Raw::initialized("frame=200");
    let ping = request(1, "ping");
    raw.send(&(ping.clone() + &" ".repeat(200 - ping.len())));
    assert_eq!(raw.next()["result"], json!({}));
    raw.send(&(ping.clone() + &" ".repeat(201 - ping.len())));
    assert_eq!(code(&raw.next()), -32700);
    // An endless line is no message either.
    let mut raw = Raw::new("frame=1000");
    (0..10).for_each(|_| raw.send_bytes(&chunk));
    let (rest, status, _) = raw.finish();
    assert_eq!((rest.len(), status.success()), (1, true));
}

#[test]
fn deep_nesting_is_an_error_and_no_stack_overflow() {
    let mut raw = Raw::initialized("");
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let inner = if open == "[" { "" } else { "1" };
        let deep = format!("{}{inner}{}", open.repeat(200_000), close.repeat(200_000));
        for line in [
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{deep}}}}}"#),
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"message":{deep}}}}}}}"#
            ),
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{deep}}}}}"#
            ),
            format!(r#"{{"jsonrpc":"2.0","id":{deep},"method":"ping"}}"#),
            deep.clone(),
        ] {
            let answer = raw.ask(&line);
            assert!(answer.is_object());
        }
    }
    assert_eq!(raw.ask(&request(1, "ping"))["result"], json!({}));
}

#[test]
fn what_a_handler_starts_neither_eats_requests_nor_writes_answers() {
    let mut raw = Raw::initialized("");
    for id in 0..3 {
        raw.send(&call(id, "cat", json!({})));
        raw.send(&request(100 + id, "ping"));
        assert!(text(&raw.answer(id)).contains("exit status: 0"));
        raw.answer(100 + id);
    }
    assert!(text(&raw.ask(&call(1, "shout", json!({})))).contains("exit status: 0"));
    assert_eq!(text(&raw.ask(&call(2, "capture", json!({})))), "captured\n");
    // As many as without a server: its own duplicates are not inherited.
    let alone = support::served::inherited_descriptors().expect("counted");
    assert_eq!(text(&raw.ask(&call(3, "descriptors", json!({})))), alone);
    assert!(raw.finish().0.is_empty());
}

#[test]
fn a_call_that_turns_out_long_is_answered_without_a_further_push() {
    // Dense traffic makes the reading thread run short calls itself. One that then takes long, with another request already
    // read behind it, loses the reading role; its answer must be written all the same.
    let mut raw = Raw::initialized("");
    let quick: String = (1..=400).map(|id| call(id, "mood", json!({"ms": 0})) + "\n").collect();
    for round in 0..5 {
        raw.send_bytes(quick.as_bytes());
        let last =
            [call("slow", "mood", json!({"ms": 60})), request("behind", "ping"), String::new()].join("\n");
        raw.send_bytes(last.as_bytes());
        (1..=400).for_each(|id| assert_eq!(text(&raw.answer(id)), "fine"));
        raw.answer("behind");
        assert_eq!(text(&raw.answer("slow")), "fine", "round {round}");
    }
}

#[test]
fn a_thread_that_cannot_be_started_is_an_error_and_no_panic() {
    // Each thread asks for more address space than a few of them get.
    let script = r#"ulimit -v 3000000; export RUST_MIN_STACK=700000000; exec "$0" "$@""#;
    let mut raw = Raw::in_shell(script, "grace=0");
    raw.send(peers::INIT);
    assert!(raw.answer(0)["result"].is_object());
    // More at once than there will be threads.
    (1..=20).for_each(|id| raw.send(&call(id, "wait", json!({"ms": 100}))));
    for id in 1..=20 {
        let answer = raw.answer(id);
        assert!(answer.get("result").is_some() || code(&answer) == -32603, "{answer}");
    }
    assert_eq!(raw.ask(&request(21, "ping"))["result"], json!({}));
    assert!(raw.finish().1.success());
}

#[test]
fn a_change_of_the_tools_is_told_to_a_legacy_client() {
    let mut raw = Raw::initialized("");
    raw.send(&call(1, "grow", json!({"name": "late_tool"})));
    let told = |message: &Value| message["method"] == "notifications/tools/list_changed";
    let (first, second) = (raw.next(), raw.next());
    assert!(told(&first) || told(&second), "{first} {second}");
    assert_eq!(text(&raw.ask(&call(2, "late_tool", json!({})))), "new");
}

#[test]
fn a_server_that_can_answer_nobody_ends_and_says_what_was_lost() {
    let (mut requests, input) = UnixStream::pair().expect("a pair");
    let (answers, output) = UnixStream::pair().expect("a pair");
    drop(answers);
    let server = support::served::server("");
    let serving = std::thread::spawn(move || server.serve(Stream::new("half", input, output)));
    writeln!(requests, "{}", request(1, "ping")).expect("sent");
    let report = peers::ends(LONG, move || serving.join().expect("no panic").expect("served"));
    assert!(!report.flushed, "{report:?}");
    drop(requests); // until here its input was open
}

#[test]
fn the_end_hook_waits_for_the_last_connection() {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let hook = move || {
        counted.fetch_add(1, Ordering::SeqCst);
    };
    let server = Server::builder("s", "1").on_end(hook).build().expect("a server");
    let [first, second] = [(), ()].map(|()| {
        let (ours, theirs) = memory_pair();
        let server = server.clone();
        let serving = std::thread::spawn(move || server.serve(theirs).expect("served"));
        let client = Client::builder().open(ours).expect("opens");
        client.initialize().expect("settles"); // which shows that it is being served
        (client, serving)
    });
    for ((client, serving), ran) in [(first, 0), (second, 1)] {
        client.close().expect("closes");
        serving.join().expect("no panic");
        assert_eq!(runs.load(Ordering::SeqCst), ran);
    }
}

#[test]
fn a_handler_left_behind_is_counted_wherever_it_ran() {
    let server = support::served::server("grace=1");
    let (ours, theirs) = memory_pair();
    let serving = std::thread::spawn(move || server.serve(theirs).expect("served"));
    let client = Client::builder().open(ours).expect("opens");
    // Traffic is dense at first: the thread that reads runs the call.
    let call = client.start_call("stubborn", json!({"ms": 2_000}), &CallOptions::default()).expect("sent");
    client.ping().expect("answers");
    client.close().expect("closes");
    assert_eq!(serving.join().expect("no panic").handlers_detached, 1);
    drop(call);
}
