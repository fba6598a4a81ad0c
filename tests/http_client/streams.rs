//! Streams that break off: when and how they are opened again.

use std::time::{Duration, Instant};

use serde_json::json;
use tinymcp::http::HttpTransport;
use tinymcp::transport::FailureKind::OutcomeUnknown;

use crate::http::ScriptedHttp;
use crate::line::Line;

#[test]
fn a_call_goes_on_where_its_stream_broke_off_after_the_time_that_the_server_says() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    line.greet(&server);
    line.ask(1, "tools/call", json!({"name": "t"}));
    let mut stream = server.expect("tools/call").stream(&[]);
    stream.send("id: e1\nretry: 400\ndata:\n\n");
    let ended = Instant::now();
    stream.end();
    let get = server.expect_verb("GET");
    assert!(ended.elapsed() >= Duration::from_millis(400), "{:?}", ended.elapsed());
    assert_eq!(get.header("last-event-id"), Some("e1"));
    assert_eq!(
        (get.header("mcp-session-id"), get.header("accept")),
        (Some("s-1"), Some("text/event-stream"))
    );
    // Once more, now without an end in order; the time still holds.
    let mut stream = get.stream(&[]);
    stream.send("id: e2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n");
    assert_eq!(line.frame()["method"], "notifications/progress");
    let ended = Instant::now();
    drop(stream);
    let get = server.expect_verb("GET");
    assert!(ended.elapsed() >= Duration::from_millis(400), "{:?}", ended.elapsed());
    assert_eq!(get.header("last-event-id"), Some("e2"));
    let mut stream = get.stream(&[]);
    stream.send("id: e3\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}\n\n");
    assert_eq!(line.result(1), json!({"a": 1}));
    // A stream that does not end by itself after the answer is ended with the connection.
    let closing = std::thread::spawn(move || line.close());
    server.expect_verb("DELETE").reply("200 OK", &[], "");
    stream.expect_closed();
    closing.join().expect("closed");
}

#[test]
fn what_cannot_be_continued_has_an_unknown_outcome() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    line.greet(&server);
    // Without an id nothing can be asked for.
    line.ask(1, "tools/call", json!({"name": "t"}));
    server.expect("tools/call").stream(&[]).end();
    assert_eq!(line.failure(1).0, OutcomeUnknown);
    // A server that knows no continuation.
    line.ask(2, "tools/call", json!({"name": "t"}));
    let mut stream = server.expect("tools/call").stream(&[]);
    stream.send("id: e1\nretry: 1\n\n");
    drop(stream);
    server.expect_verb("GET").reply("405 Method Not Allowed", &[], "");
    let (kind, problem) = line.failure(2);
    assert_eq!(kind, OutcomeUnknown);
    assert!(problem.ends_with("and it cannot be continued: HTTP 405 Method Not Allowed"), "{problem}");
    // In the Modern era there is none.
    line.ask_modern(3, "tools/call", json!({"name": "t"}));
    let mut stream = server.expect("tools/call").stream(&[]);
    stream.send("id: e1\nretry: 1\ndata:\n\n");
    stream.end();
    assert_eq!(line.failure(3).0, OutcomeUnknown);
    assert!(server.try_next().is_none());
}

#[test]
fn a_call_that_was_given_up_is_not_continued() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    line.greet(&server);
    line.ask(1, "tools/call", json!({"name": "t"}));
    let mut stream = server.expect("tools/call").stream(&[]);
    stream.send("id: e1\nretry: 60000\ndata:\n\n");
    stream.end();
    // Its exchange waits for a minute now, and yet ends.
    line.cancel(1);
    let cancelled = server.expect("notifications/cancelled");
    assert_eq!(cancelled.json()["params"]["requestId"], 1);
    assert_eq!(cancelled.header("mcp-session-id"), Some("s-1"));
    cancelled.accepted();
    let closing = std::thread::spawn(move || line.close());
    server.expect_verb("DELETE").reply("200 OK", &[], "");
    closing.join().expect("closed");
    assert!(server.try_next().is_none());
}

#[test]
fn a_legacy_server_is_told_of_what_was_given_up_and_then_the_stream_is_closed() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    line.greet(&server);
    line.ask(1, "tools/call", json!({"name": "t"}));
    let stream = server.expect("tools/call").stream(&[]);
    line.cancel(1);
    server.expect("notifications/cancelled").accepted();
    stream.expect_closed();
    // What still waits behind a notification is never sent.
    line.notify("notifications/roots/list_changed", json!({}));
    let changed = server.expect("notifications/roots/list_changed");
    line.ask(2, "tools/call", json!({"name": "t"}));
    line.ask(3, "tools/call", json!({"name": "t"}));
    line.cancel(2);
    changed.accepted();
    let next = server.expect("tools/call");
    assert_eq!(next.id(), 3);
    next.result(json!({}));
    line.result(3);
    line.expect_silence();
}

#[test]
fn the_stream_of_a_session_is_opened_again_with_patience() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    line.initialize(&server);
    let mut stream = server.expect_verb("GET").stream(&[]);
    stream.send("retry: 150\nid: 7\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n");
    assert_eq!(line.frame()["method"], "notifications/message");
    let ended = Instant::now();
    drop(stream);
    let get = server.expect_verb("GET");
    assert!(ended.elapsed() >= Duration::from_millis(150));
    assert_eq!(get.header("last-event-id"), Some("7"));
    // It opens and brings nothing: the wait grows beyond the server's.
    let ended = Instant::now();
    get.stream(&[]).end();
    let get = server.expect_verb("GET");
    assert!(ended.elapsed() >= Duration::from_secs(2), "{:?}", ended.elapsed());
    // The session is gone.
    get.reply("404 Not Found", &[], "");
    line.ask(1, "ping", json!({}));
    server.expect("ping").result(json!({}));
    line.result(1);
    assert!(server.try_next().is_none());
}

#[test]
fn a_server_without_a_stream_is_not_asked_again() {
    for status in [
        "400 Bad Request",
        "401 Unauthorized",
        "404 Not Found",
        "405 Method Not Allowed",
        "406 Not Acceptable",
    ] {
        let server = ScriptedHttp::start();
        let mut line = Line::to(&server);
        line.initialize(&server);
        server.expect_verb("GET").reply(status, &[], "no");
        still_answers(&mut line, &server);
    }
    for (kind, body) in [("text/html", "<html>"), ("application/json", "{}")] {
        let server = ScriptedHttp::start();
        let mut line = Line::to(&server);
        line.initialize(&server);
        server.expect_verb("GET").reply("200 OK", &[("Content-Type", kind)], body);
        still_answers(&mut line, &server);
    }
}

fn still_answers(line: &mut Line, server: &ScriptedHttp) {
    line.ask(1, "ping", json!({}));
    server.expect("ping").result(json!({}));
    line.result(1);
    line.expect_silence();
    assert!(server.try_next().is_none());
}

#[test]
fn a_stream_that_says_nothing_for_too_long_counts_as_gone() {
    let server = ScriptedHttp::start();
    let transport = HttpTransport::new(&server.url("/mcp")).expect("an address");
    let mut line = Line::open(transport.read_timeout(Duration::from_millis(100)));
    line.ask_modern(1, "subscriptions/listen", json!({}));
    let mut listens = server.expect("subscriptions/listen").stream(&[]);
    listens.message(&json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged"}));
    line.frame();
    let (kind, problem) = line.failure(1);
    assert_eq!(kind, OutcomeUnknown);
    assert_eq!(problem, "the stream broke off before the answer: no word from the server in time");
    listens.expect_closed();
    // A call may take longer.
    line.ask_modern(2, "tools/call", json!({"name": "t"}));
    let mut call = server.expect("tools/call").stream(&[]);
    std::thread::sleep(Duration::from_millis(200)); // a server that takes its time, which is what is tried
    call.result(json!({}));
    line.result(2);
}
