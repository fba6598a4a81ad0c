//! Servers that do not read, do not stop, do not end, or end at the wrong moment.

#![cfg(unix)]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::peers::{self, LONG, brief, ends, fails_within, hasty, odd, odd_in_shell};
use tinymcp::client::{CallOptions, Timeouts};
use tinymcp::transport::{EndStep, Patience, Stream};
use tinymcp::{Client, Error, ProtocolVersion};

#[test]
fn child() {
    peers::child();
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_server_that_does_not_read_costs_its_caller_the_timeout_and_nobody_else() {
    let stuck = hasty("no_read", SECOND);
    stuck.initialize().expect("settles");
    let other = peers::client("ok");
    other.initialize().expect("settles");
    let big = json!({"text": "x".repeat(5_000_000)});
    let start = Instant::now();
    // Every caller gets its timeout, also those whose frame waits behind another's.
    let errors: Vec<Error> = std::thread::scope(|scope| {
        let calls: Vec<_> =
            (0..4).map(|_| scope.spawn(|| stuck.call_tool("t", &big).expect_err("stuck"))).collect();
        for _ in 0..20 {
            other.call_tool("t", ()).expect("others are not affected");
        }
        calls.into_iter().map(|call| call.join().expect("no panic")).collect()
    });
    assert!(errors.iter().all(Error::is_timeout), "{errors:?}");
    // The time runs from when the arguments are text, which takes a while for 5 MB in a debug build.
    let after: Vec<_> = errors.iter().map(|error| error.failure().expect("known").after).collect();
    assert!(after.iter().all(|after| *after >= SECOND && *after < 4 * SECOND), "{after:?}");
    assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
    let report = ends(LONG, move || {
        let start = Instant::now();
        (stuck.close().expect("closes"), start.elapsed())
    });
    // 100 ms for the flush, 200 ms for the end of input, then SIGTERM; and slack.
    assert!(report.1 < 3 * SECOND, "{report:?}");
    assert!(!report.0.flushed && report.0.ending.step == EndStep::Term, "{report:?}");
}

#[test]
fn unsent_bytes_are_bounded_and_overload_is_an_error_at_once() {
    let client = Client::builder()
        .max_unsent_bytes(1_000_000)
        .timeouts(Timeouts::default().with_call(Duration::from_millis(500)))
        .patience(brief())
        .open(odd("no_read"))
        .expect("starts");
    client.initialize().expect("settles");
    let big = json!({"text": "x".repeat(600_000)});
    let first = client.start_call("t", &big, &CallOptions::default()).expect("leaves the caller");
    let second = client.start_call("t", &big, &CallOptions::default());
    let error = match second {
        // The first was with the writer, so this one waits in its place.
        Ok(_open) => fails_within(SECOND, || client.start_call("t", &big, &CallOptions::default())),
        Err(error) => error,
    };
    assert!(matches!(&error, Error::Busy(text) if text.contains("1000000 bytes")), "{error}");
    assert!(first.wait().expect_err("stuck").is_timeout());

    let few = Client::builder().max_open_calls(2).open(odd("never")).expect("starts");
    few.initialize().expect("settles");
    let open: Vec<_> =
        (0..2).map(|_| few.start_call("t", (), &CallOptions::default()).expect("room")).collect();
    let error = few.call_tool("t", ()).expect_err("no room");
    assert!(matches!(&error, Error::Busy(text) if text.contains('2')), "{error}");
    drop(open);
    assert!(few.ping().is_ok());
}

#[test]
fn a_server_that_floods_does_not_keep_answers_away() {
    let client = hasty("flood", LONG);
    let start = Instant::now();
    for _ in 0..20 {
        client.call_tool("echo", json!({"text": "through"})).expect("answers");
    }
    client.call_tool("t", ()).expect("answers"); // from here on it floods
    for _ in 0..20 {
        assert_eq!(
            client.call_tool("echo", json!({"text": "through"})).expect("answers").text_content(),
            "through"
        );
    }
    client.ping().expect("answers");
    assert!(start.elapsed() < LONG);
    ends(LONG, move || client.close().expect("closes"));
    // With a callback that is slow as well.
    let (tx, rx) = channel::<()>();
    let rx = std::sync::Mutex::new(rx);
    let client = Client::builder()
        .on_notification(move |_, _| {
            let _ = rx.lock().expect("not poisoned").recv_timeout(LONG);
        })
        .patience(brief())
        .open(odd("flood"))
        .expect("starts");
    client.call_tool("t", ()).expect("answers");
    client.call_tool("echo", json!({"text": "through"})).expect("answers");
    ends(LONG, move || client.close().expect("closes"));
    drop(tx);
}

#[test]
fn a_server_that_dies_mid_call_fails_the_call_with_its_last_words() {
    let client = hasty("exit_mid", LONG);
    client.initialize().expect("settles");
    let error = fails_within(SECOND, || client.call_tool("t", ()));
    // What became of the call nobody knows: a caller must not send it again unasked.
    assert!(matches!(error, Error::OutcomeUnknown(_)) && !error.is_retryable(), "{error}");
    let text = error.to_string();
    for word in ["tools/call", "--exact child", "exit status: 7", "Traceback: boom"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    // Later calls fail at once, and say the same.
    for _ in 0..3 {
        let error = fails_within(SECOND, || client.call_tool("t", ()));
        assert!(error.is_closed() && error.to_string().contains("exit status: 7"), "{error}");
    }
    fails_within(SECOND, || client.ping());

    for (mode, word) in [("half_answer", "exit status: 7"), ("abort_mid", "signal: 6")] {
        let client = hasty(mode, LONG);
        client.initialize().expect("settles");
        let error = fails_within(SECOND, || client.call_tool("t", ()));
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn a_call_that_broke_is_not_made_again() {
    let (tx, rx) = channel();
    let counted = tinymcp::transport::Stderr::lines(move |line| {
        let _ = tx.send(line.to_owned());
    });
    let client = Client::builder().open(odd("exit_mid").stderr(counted)).expect("starts");
    let error = client.call_tool("t", ()).expect_err("it dies");
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error}");
    assert!(client.call_tool("t", ()).is_err() && client.ping().is_err());
    drop(client);
    assert_eq!(rx.iter().collect::<Vec<_>>(), ["Traceback: boom"]);
}

#[test]
fn the_end_of_the_process_counts_though_a_grandchild_holds_its_output() {
    let client = hasty("exit_mid_grandchild", LONG);
    client.initialize().expect("settles");
    let error = fails_within(2 * SECOND, || client.call_tool("t", ()));
    for word in ["exit status: 7", "Traceback: boom", "output open"] {
        assert!(error.to_string().contains(word), "{word} in {error}");
    }
    fails_within(SECOND, || client.call_tool("t", ()));
    let report = ends(LONG, move || client.close().expect("closes"));
    assert_eq!(report.ending.step, EndStep::AlreadyEnded);
    assert!(report.ending.orphans_signalled && !report.reader_detached, "{report:?}");
    // In the handshake as well.
    let client = Client::builder()
        .patience(brief())
        .open(odd_in_shell("sleep 600 & echo no luck >&2; exit 3", "ok"))
        .expect("starts");
    let error = fails_within(5 * SECOND, || client.initialize().map(drop));
    assert!(error.to_string().contains("exit status: 3") && error.to_string().contains("no luck"), "{error}");
}

#[test]
fn closing_reaches_what_a_wrapper_started_and_waits_for_nothing_for_ever() {
    for script in [r#""$0" "$@"; true"#, r#"sleep 600 & "$0" "$@""#, r#"(sleep 600 &) ; exec "$0" "$@""#] {
        let client = Client::builder().patience(brief()).open(odd_in_shell(script, "ok")).expect("starts");
        client.call_tool("t", ()).unwrap_or_else(|e| panic!("{script}: {e}"));
        let start = Instant::now();
        let report = ends(LONG, move || client.close().expect("closes"));
        assert!(start.elapsed() < 3 * SECOND && !report.reader_detached, "{script}: {report:?}");
    }
    // In a session of its own: not to be found, so its hold on the pipe is reported and left.
    let client = Client::builder().patience(brief()).open(odd("runaway")).expect("starts");
    client.call_tool("t", ()).expect("answers");
    let start = Instant::now();
    let report = ends(LONG, move || client.close().expect("closes"));
    assert!(start.elapsed() < 2 * SECOND, "{:?}", start.elapsed());
    assert!(report.reader_detached && report.ending.step == EndStep::EndOfInput, "{report:?}");
}

#[test]
fn stderr_is_read_whatever_the_callback_does() {
    for mode in ["stderr_init", "stderr_call"] {
        let client = hasty(mode, LONG);
        client.initialize().expect("settles");
        let start = Instant::now();
        assert!(client.call_tool("t", ()).is_ok());
        assert!(start.elapsed() < SECOND, "{mode}: {:?}", start.elapsed());
    }
    for stderr in [
        tinymcp::transport::Stderr::lines(|_| panic!("the panic of a test")),
        tinymcp::transport::Stderr::Discard,
    ] {
        let client = Client::builder().open(odd("stderr_call").stderr(stderr)).expect("starts");
        for _ in 0..3 {
            assert!(client.call_tool("t", ()).is_ok());
        }
    }
}

#[test]
fn a_stderr_callback_that_never_returns_does_not_block_the_server() {
    let (hold, held) = channel::<()>();
    let held = std::sync::Mutex::new(held);
    let stuck = tinymcp::transport::Stderr::lines(move |_| {
        let _ = held.lock().expect("ours").recv_timeout(LONG);
    });
    let client = Client::builder().patience(brief()).open(odd("speak").stderr(stuck)).expect("starts");
    let line = json!({"text": "line\n".repeat(50_000)});
    let options = CallOptions::default().with_timeout(10 * SECOND);
    for _ in 0..2 {
        client.call_tool_with("t", &line, &options).expect("stderr is drained");
    }
    ends(LONG, move || client.close().expect("closes"));
    drop(hold);
}

/// Plays a server on one end of a socket: `serve` gets each message and the writing half.
fn by_hand(serve: impl Fn(&Value, &mut UnixStream) + Send + 'static) -> (Client, UnixStream) {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    let handle = theirs.try_clone().expect("a clone");
    std::thread::spawn(move || {
        let mut writer = theirs.try_clone().expect("a clone");
        for line in BufReader::new(theirs).lines().map_while(Result::ok) {
            let message: Value = serde_json::from_str(&line).expect("a client writes JSON");
            if message["method"] == "initialize" {
                let result = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "h", "version": "1"}});
                let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
                writeln!(writer, "{answer}").expect("the client reads");
            } else {
                serve(&message, &mut writer);
            }
        }
    });
    let client = Client::builder()
        .versions([ProtocolVersion::V2025_11_25])
        .timeouts(Timeouts::default().with_call(LONG))
        .patience(brief())
        .open(Stream::unix(ours).expect("a transport"))
        .expect("opens");
    client.initialize().expect("settles");
    (client, handle)
}

#[test]
fn a_server_that_ends_its_input_alone_fails_the_next_call_at_once() {
    let (client, socket) = by_hand(|_, _| {});
    socket.shutdown(Shutdown::Read).expect("half closed");
    // Through the thread that writes: the first call may be on its way before the failure is seen.
    let first = client.start_call("t", (), &CallOptions::default());
    let error = fails_within(5 * SECOND, || {
        loop {
            let _open = client.start_call("t", (), &CallOptions::default())?;
        }
        #[allow(unreachable_code)]
        Ok(())
    });
    assert!(error.is_closed(), "{error}");
    drop(first);
}

#[test]
fn a_server_that_ends_its_output_alone_fails_all_open_calls() {
    let (client, socket) = by_hand(|_, _| {});
    let client = Arc::new(client);
    let callers: Vec<_> = (0..8)
        .map(|_| {
            let handle = client.handle();
            std::thread::spawn(move || fails_within(LONG, || handle.call_tool("t", ())))
        })
        .collect();
    socket.shutdown(Shutdown::Write).expect("half closed");
    for caller in callers {
        assert!(caller.join().expect("no panic").is_closed());
    }
}

#[test]
fn a_server_that_asks_and_never_reads_is_bounded_too() {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair");
    let client = Client::builder()
        .versions([ProtocolVersion::V2025_11_25])
        .timeouts(Timeouts::default().with_connect(SECOND))
        .max_unsent_bytes(100_000)
        .patience(brief())
        .open(Stream::unix(ours).expect("a transport"))
        .expect("opens");
    // Pings until the client no longer reads them, because its answers are not read.
    theirs.set_write_timeout(Some(Duration::from_millis(300))).expect("a timeout");
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n".repeat(100);
    let mut sent = 0;
    while theirs.write_all(ping.as_bytes()).is_ok() {
        sent += ping.len();
        assert!(sent < 100_000_000, "the client takes everything");
    }
    let error = fails_within(5 * SECOND, || client.initialize().map(drop));
    assert!(error.is_timeout() || matches!(error, Error::Busy(_)), "{error}");
    ends(LONG, move || client.close().expect("closes"));
    let _ = theirs.read(&mut [0; 1024]);
}

#[test]
fn a_dropped_client_ends_its_server_though_its_thread_panics() {
    let (tx, rx) = channel();
    let thread = std::thread::spawn(move || {
        let client = Client::builder().patience(Patience::default()).open(odd("ok")).expect("starts");
        let text = client.call_tool("t", ()).expect("answers").text_content();
        tx.send(text.trim_start_matches("ok ").to_owned()).expect("open");
        panic!("the panic of a test");
    });
    let pid = rx.recv_timeout(LONG).expect("a process id");
    assert!(thread.join().is_err());
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
}
