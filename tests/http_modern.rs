//! Modern clients of a server over HTTP: one POST a message, and its answer.
//!
//! spec: 2026-07-28 basic/transports/streamable-http

#[path = "support/eras.rs"]
mod eras;
#[path = "http_modern/errors.rs"]
mod errors;
#[path = "http_modern/headers.rs"]
mod headers;
#[path = "support/http.rs"]
mod http;
#[path = "http_modern/listen.rs"]
mod listen;
#[path = "support/puppet.rs"]
mod puppet;
#[path = "http_modern/rounds.rs"]
mod rounds;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use eras::{LOG_LEVEL, call, message, modern};
use http::{Conn, Hosted};
use puppet::{Order, Puppet, puppet, puppet_with};
use serde_json::{Value, json};
use tinymcp::transport::{Direction, Tap};

/// A call of the puppet that wants to hear of its progress.
fn watched(id: impl Into<Value>, line: usize) -> http::Request {
    let params = json!({"name": "puppet", "arguments": {"line": line}, "_meta": {"progressToken": format!("p{line}")}});
    modern(id, "tools/call", params)
}

fn hosted() -> (Hosted, Puppet) {
    let (server, puppet) = puppet();
    (Hosted::new(&server), puppet)
}

#[test]
fn an_answer_that_comes_first_is_json() {
    let (hosted, _puppet) = hosted();
    let mut conn = hosted.connect();
    for id in [json!(1), json!("1"), json!("\u{e9}"), json!(-3), json!(9_007_199_254_740_993_i64)] {
        let response = conn.ask(&call(id.clone(), "echo", json!({"message": "hi"})));
        assert!(response.is("application/json"), "{response}");
        assert_eq!(response.header("Mcp-Session-Id"), None);
        assert_eq!(response.json()["id"], id);
        assert_eq!(response.result()["resultType"], "complete");
        assert_eq!(response.text(), "hi");
    }
    // A bad argument is for the model to read.
    let result = conn.ask(&call(1, "echo", json!({}))).result();
    assert_eq!(result["isError"], true, "{result}");
    let panicked = conn.ask(&call(1, "boom", json!({})));
    assert_eq!((panicked.status, panicked.json()["id"].clone()), (200, json!(1)), "{panicked}");
    assert_eq!(conn.ask(&call(1, "echo", json!({"message": "on"}))).text(), "on");
}

#[test]
fn every_method_of_the_revision_is_served() {
    let (hosted, _puppet) = hosted();
    let mut conn = hosted.connect();
    let complete =
        json!({"ref": {"type": "ref/prompt", "name": "brew"}, "argument": {"name": "tea", "value": ""}});
    for (method, params, member) in [
        ("server/discover", json!({}), "supportedVersions"),
        ("tools/list", json!({}), "tools"),
        ("prompts/list", json!({}), "prompts"),
        ("prompts/get", json!({"name": "brew", "arguments": {"tea": "green"}}), "messages"),
        ("resources/list", json!({}), "resources"),
        ("resources/templates/list", json!({}), "resourceTemplates"),
        ("resources/read", json!({"uri": puppet::STOCK}), "contents"),
    ] {
        let result = conn.ask(&modern(method, method, params)).result();
        assert!(!result[member].is_null(), "{method}: {result}");
    }
    // What this server has no use for, it says so.
    let response = conn.ask(&modern(1, "completion/complete", complete));
    assert!(response.status == 200 || response.error() == (404, -32601), "{response}");
}

#[test]
fn what_precedes_an_answer_makes_it_a_stream() {
    let (hosted, _puppet) = hosted();
    let steps =
        |meta: Value| modern(7, "tools/call", json!({"name": "steps", "arguments": {"n": 3}, "_meta": meta}));
    let mut events = hosted.open(&steps(json!({"progressToken": "p"})));
    assert_eq!(events.head.header("X-Accel-Buffering"), Some("no"));
    let caching = events.head.header("Cache-Control").expect("a header");
    assert!(caching.contains("no-cache") || caching.contains("no-store"), "{caching}");
    assert_eq!(events.head.header("Mcp-Session-Id"), None);
    for step in 1..=3 {
        let event = events.event().expect("an event");
        // Streams of this revision cannot be resumed.
        assert_eq!((&event.id, event.retry), (&None, None), "{event:?}");
        assert!(event.event.as_ref().is_none_or(|name| name == "message"), "{event:?}");
        let message = event.message();
        assert_eq!(message["method"], "notifications/progress");
        let params = &message["params"];
        assert_eq!(
            (&params["progressToken"], params["progress"].as_f64()),
            (&json!("p"), Some(f64::from(step)))
        );
    }
    let answer = events.message();
    assert_eq!((&answer["id"], http::text(&answer["result"])), (&json!(7), "done".to_owned()));
    events.expect_end();
    // Who does not ask for progress gets none.
    assert!(hosted.ask(&steps(json!({}))).is("application/json"));
}

#[test]
fn log_messages_come_in_the_stream_of_the_call_that_asked_for_them() {
    let (hosted, puppet) = hosted();
    for (level, is_stream) in [(Some("info"), true), (Some("error"), false), (None, false)] {
        let meta = level.map_or(json!({}), |level| json!({LOG_LEVEL: level}));
        let mut conn = hosted.connect();
        conn.send(&modern(1, "tools/call", json!({"name": "puppet", "arguments": {}, "_meta": meta})));
        puppet.expect("began");
        puppet.order(Order::Log("steeping".to_owned()));
        puppet.order(Order::Return("done".to_owned()));
        let messages = conn.messages();
        assert_eq!(messages.len(), 1 + usize::from(is_stream), "{messages:?}");
        if is_stream {
            assert_eq!(messages[0]["method"], "notifications/message");
            assert_eq!(messages[0]["params"]["data"], "steeping");
        }
    }
}

#[test]
fn messages_come_when_they_are_sent() {
    let (hosted, puppet) = hosted();
    let mut conn = hosted.connect();
    conn.send(&watched(1, 0));
    puppet.expect("began");
    puppet.order(Order::Progress(1.0));
    let mut events = conn.events();
    assert_eq!(events.notice("notifications/progress")["progress"].as_f64(), Some(1.0));
    // The next one is only made when this one has come.
    for step in [2.0, 3.0] {
        puppet.order(Order::Progress(step));
        assert_eq!(events.notice("notifications/progress")["progress"].as_f64(), Some(step));
    }
    puppet.order(Order::Panic);
    let last = events.message();
    assert_eq!((&last["id"], last.get("method")), (&json!(1), None), "a panic is an answer as well");
    events.expect_end();
}

#[test]
fn a_connection_can_be_used_again() {
    let (hosted, _puppet) = hosted();
    let mut conn = hosted.connect();
    assert_eq!(conn.ask(&call(1, "echo", json!({"message": "a"}))).text(), "a");
    conn.send(&modern(
        2,
        "tools/call",
        json!({"name": "steps", "arguments": {"n": 1}, "_meta": {"progressToken": 1}}),
    ));
    let mut events = conn.events();
    let closes = events.head.header("Connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
    let is_chunked = events.head.header("Transfer-Encoding").is_some();
    assert_eq!(events.rest().len(), 2);
    let mut conn = events.into_conn();
    if closes || !is_chunked {
        conn.expect_closed();
    } else {
        assert_eq!(conn.ask(&call(3, "echo", json!({"message": "b"}))).text(), "b");
    }
    // Unless the client wants it closed.
    let mut conn = hosted.connect();
    let response = conn.ask(&call(1, "echo", json!({"message": "c"})).with("Connection", "close"));
    assert_eq!(response.text(), "c");
    conn.expect_closed();
}

#[test]
fn a_client_that_goes_cancels_its_call_and_frees_the_thread() {
    let (server, puppet) = puppet_with(|builder| builder.max_threads(1));
    let hosted = Hosted::new(&server);
    let begun = |is_stream: bool| {
        let mut conn = hosted.connect();
        conn.send(&watched(1, 0));
        puppet.expect("began");
        if is_stream {
            puppet.order(Order::Progress(1.0));
            let mut events = conn.events();
            events.notice("notifications/progress");
            return Box::new(events) as Box<dyn std::any::Any>;
        }
        Box::new(conn)
    };
    for is_stream in [false, true] {
        // The best of a few: the machine may be busy with other tests.
        let times = (0..3).map(|_| {
            drop(begun(is_stream));
            let start = std::time::Instant::now();
            let told = puppet.told();
            assert!(told.starts_with("cancelled"), "{told}");
            start.elapsed()
        });
        let best = times.min().expect("three");
        assert!(best < Duration::from_millis(250), "{best:?}, a stream: {is_stream}");
        // There is one thread, and it is free.
        assert_eq!(hosted.ask(&call(1, "echo", json!({"message": "free"}))).text(), "free");
    }
}

#[test]
fn equal_ids_of_different_connections_are_different_calls() {
    let (hosted, puppet) = hosted();
    let mut conns: Vec<Conn> = (0..3).map(|_| hosted.connect()).collect();
    for (line, conn) in conns.iter_mut().enumerate() {
        conn.send(&watched(1, line));
        puppet.expect("began");
    }
    // One is given up, which is not the others' end.
    drop(conns.remove(1));
    assert!(puppet.told().starts_with("cancelled"));
    for (line, conn) in [0, 2].into_iter().zip(conns) {
        puppet.order_on(line, Order::Progress(1.0));
        let mut events = conn.events();
        let progress = events.notice("notifications/progress");
        assert_eq!(progress["progressToken"], format!("p{line}"), "of this call");
        puppet.order_on(line, Order::Return(format!("line {line}")));
        assert_eq!(http::text(&events.last(1)["result"]), format!("line {line}"));
    }
}

#[test]
fn sixty_four_slow_tools_run_at_once() {
    let (hosted, puppet) = hosted();
    let mut conns: Vec<Conn> = (0..64).map(|_| hosted.connect()).collect();
    for (n, conn) in conns.iter_mut().enumerate() {
        conn.send(&call(1, "held", json!({"name": n.to_string()})));
    }
    let mut begun: Vec<String> = (0..64).map(|_| puppet.told()).collect();
    begun.sort();
    let mut all: Vec<String> = (0..64).map(|n| format!("{n} began")).collect();
    all.sort();
    assert_eq!(begun, all);
    puppet.open_gate();
    for (n, conn) in conns.iter_mut().enumerate() {
        assert_eq!(conn.response().text(), format!("{n} let go"));
    }
}

#[test]
fn a_notification_is_accepted_and_has_no_answer() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    let (server, _puppet) = puppet_with(move |builder| {
        builder.on_notification(move |method, _| hears.lock().expect("not poisoned").push(method.to_owned()))
    });
    let hosted = Hosted::new(&server);
    for method in ["notifications/com.example/hello", "notifications/cancelled"] {
        let body = json!({"jsonrpc": "2.0", "method": method, "params": {"requestId": 1}});
        let request =
            http::Request::post(&body).with("MCP-Protocol-Version", eras::MODERN).with("Mcp-Method", method);
        hosted.ask(&request).expect_accepted();
    }
    let start = std::time::Instant::now();
    while heard.lock().expect("not poisoned").is_empty() {
        assert!(start.elapsed() < http::LONG, "never heard");
        std::thread::yield_now();
    }
    assert_eq!(heard.lock().expect("not poisoned")[0], "notifications/com.example/hello");
}

#[test]
fn what_belongs_to_sessions_is_ignored() {
    let (hosted, _puppet) = hosted();
    let request = call(1, "echo", json!({"message": "hi"}))
        .with("Mcp-Session-Id", "no-such-session")
        .with("Last-Event-ID", "7");
    let response = hosted.ask(&request);
    assert_eq!(response.text(), "hi");
    assert_eq!(response.header("Mcp-Session-Id"), None);
    let (server, _puppet) = puppet_with(|builder| builder.versions([tinymcp::ProtocolVersion::V2026_07_28]));
    let hosted = Hosted::new(&server);
    assert_eq!(hosted.ask(&request).text(), "hi");
    for method in ["GET", "DELETE", "PUT", "OPTIONS", "PATCH"] {
        let response =
            hosted.ask(&http::Request::new(method, "/mcp").with("Connection", "close").with("Accept", "*/*"));
        assert_eq!((response.status, response.header("Allow")), (405, Some("POST")), "{method}");
    }
}

/// Remembers what passed.
#[derive(Clone, Default)]
struct Passed(Arc<Mutex<Vec<(Direction, Value)>>>);

impl Tap for Passed {
    fn frame(&self, direction: Direction, frame: &[u8]) {
        let frame = serde_json::from_slice(frame).expect("JSON");
        self.0.lock().expect("not poisoned").push((direction, frame));
    }
}

#[test]
fn a_tap_sees_messages_in_both_directions() {
    let passed = Passed::default();
    let tap = passed.clone();
    let (server, _puppet) = puppet_with(move |builder| builder.tap(tap));
    let hosted = Hosted::new(&server);
    let steps = json!({"name": "steps", "arguments": {"n": 2}, "_meta": {"progressToken": "p"}});
    let (asked, plain) = (modern(1, "tools/call", steps), call(2, "echo", json!({"message": "m"})));
    let came = [hosted.messages(&asked), hosted.messages(&plain)];
    let unknown = modern(3, "no/method", json!({}));
    let refused = hosted.ask(&unknown).json();
    // What is sent is seen before it arrives.
    let mut want = vec![(Direction::Received, asked.json())];
    want.extend(came[0].iter().map(|message| (Direction::Sent, message.clone())));
    want.push((Direction::Received, plain.json()));
    want.extend(came[1].iter().map(|message| (Direction::Sent, message.clone())));
    want.push((Direction::Received, unknown.json()));
    want.push((Direction::Sent, refused));
    assert_eq!(*passed.0.lock().expect("not poisoned"), want);
}

#[test]
fn a_large_answer_and_a_large_question_arrive_whole() {
    let (hosted, _puppet) = hosted();
    let mut conn = hosted.connect();
    assert_eq!(conn.ask(&call(1, "big", json!({"bytes": 2_000_000}))).text().len(), 2_000_000);
    let long = "m".repeat(1_000_000);
    assert_eq!(conn.ask(&call(2, "echo", json!({"message": long}))).text(), long);
    // The same in chunks, and with a client that first asks whether it may send.
    let request = call(3, "echo", json!({"message": long})).with("Transfer-Encoding", "chunked");
    let body = message(3, "tools/call", request.json()["params"].clone()).to_string();
    conn.send_bytes(&request.head());
    for chunk in body.as_bytes().chunks(100_000) {
        conn.send_bytes(format!("{:x}\r\n", chunk.len()).as_bytes());
        conn.send_bytes(chunk);
        conn.send_bytes(b"\r\n");
    }
    conn.send_bytes(b"0\r\n\r\n");
    assert_eq!(conn.response().text(), long);
    let asks = call(4, "echo", json!({"message": "may I"})).with("Expect", "100-continue");
    conn.send_bytes(&asks.head());
    conn.expect_continue();
    conn.send_bytes(&asks.body);
    assert_eq!(conn.response().text(), "may I");
}
