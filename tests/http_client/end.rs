//! The end of a connection: what is told, and that nothing is left.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::http::ScriptedHttp;
use crate::line::{Line, Seen};

#[test]
fn a_session_is_ended_on_the_server() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    line.greet(&server);
    line.ask(1, "tools/call", json!({"name": "hangs"}));
    let hangs = server.expect("tools/call");
    let closing = thread::spawn(move || line.close());
    let delete = server.expect_verb("DELETE");
    assert_eq!(delete.header("mcp-session-id"), Some("s-1"));
    delete.reply("204 No Content", &[], "");
    hangs.expect_closed();
    closing.join().expect("closed");
}

#[test]
fn what_was_written_before_the_end_is_delivered() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    line.greet(&server);
    line.notify("notifications/roots/list_changed", json!({}));
    line.notify("notifications/progress", json!({}));
    line.write(&json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    let closing = thread::spawn(move || line.close());
    server.expect("notifications/roots/list_changed").accepted();
    server.expect("notifications/progress").accepted();
    server.expect("").accepted();
    server.expect_verb("DELETE").reply("200 OK", &[], "");
    closing.join().expect("closed");
}

#[test]
fn a_server_that_accepts_nothing_delays_the_end_by_a_few_seconds_at_most() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    line.greet(&server);
    line.notify("notifications/progress", json!({}));
    let silent = server.expect("notifications/progress");
    line.ask(1, "tools/list", json!({}));
    let start = Instant::now();
    line.close();
    // 1 s for what was written, 2 s for the session.
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    let deleted = server.expect_verb("DELETE");
    deleted.expect_closed();
    silent.expect_closed();
    assert!(server.try_next().is_none());
}

#[test]
fn reading_ends_when_it_is_interrupted() {
    let server = ScriptedHttp::start();
    let line = Line::to(&server);
    line.link.interrupt();
    assert!(matches!(line.next(), Seen::End));
    line.close();
    assert_eq!(server.connections(), 0);
}
