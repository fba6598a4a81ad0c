//! The Modern era: each request by itself.

use serde_json::json;
use tinymcp::http::HttpTransport;

use crate::http::ScriptedHttp;
use crate::line::{Line, Seen};

#[test]
fn a_request_tells_in_its_head_what_it_is() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    for (method, params, name) in [
        ("tools/call", json!({"name": "t"}), Some("t")),
        ("prompts/get", json!({"name": "Grüße"}), Some("=?base64?R3LDvMOfZQ==?=")),
        ("resources/read", json!({"uri": "file:///a b"}), Some("file:///a b")),
        ("tasks/get", json!({"taskId": "1"}), Some("1")),
        ("tools/list", json!({}), None),
        ("server/discover", json!({}), None),
    ] {
        line.ask_modern(1, method, params);
        let arrived = server.expect(method);
        assert_eq!(arrived.path, "/mcp");
        assert_eq!(arrived.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(arrived.header("mcp-method"), Some(method));
        assert_eq!(arrived.header("mcp-name"), name);
        assert_eq!(arrived.header("accept"), Some("application/json, text/event-stream"));
        assert_eq!(arrived.header("content-type"), Some("application/json"));
        assert_eq!(arrived.header("accept-encoding"), Some("identity"));
        assert_eq!(arrived.header("mcp-session-id"), None);
        assert!(arrived.header("user-agent").expect("told").starts_with("tinymcp/"));
        arrived.result(json!({"of": method}));
        assert_eq!(line.result(1)["of"], method);
    }
    assert_eq!(server.connections(), 1, "one connection serves all");
    line.close();
}

#[test]
fn an_answer_may_be_one_object_or_a_stream_with_more_before_it() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    // Pretty-printed, with a number that no double holds.
    line.ask_modern(1, "tools/call", json!({"name": "t"}));
    let body = "{\r\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n \"result\": {\"n\": 123456789012345678901234567890, \"t\": \"a  \\n b\"}\n}\n";
    server.expect("tools/call").reply("200 OK", &[("content-type", "application/json; charset=utf-8")], body);
    let Seen::Frame(frame) = line.next() else { panic!("no frame") };
    assert_eq!(
        frame,
        r#"{"jsonrpc":"2.0","id":1,"result":{"n":123456789012345678901234567890,"t":"a  \n b"}}"#
    );

    line.ask_modern(2, "tools/call", json!({"name": "t"}));
    let mut stream = server.expect("tools/call").stream(&[]);
    stream.send(": hello\n\n");
    stream.message(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}));
    assert_eq!(line.frame()["method"], "notifications/progress");
    stream.result(json!({"done": true}));
    assert_eq!(line.result(2), json!({"done": true}));
    stream.end();
    line.ask_modern(3, "tools/list", json!({}));
    server.expect("tools/list").result(json!({"tools": []}));
    line.result(3);
    line.expect_silence();
}

#[test]
fn a_stream_may_come_in_any_pieces() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    let events = "\u{feff}data: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"notifications/message\"}\n\n: x\r\n\r\nid: 5\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"ä\":\"😀\"}}\r\n\r\n";
    let whole = {
        let mut whole =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
                .to_owned()
                .into_bytes();
        for chunk in events.as_bytes().chunks(11) {
            whole.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            whole.extend_from_slice(chunk);
            whole.extend_from_slice(b"\r\n");
        }
        whole.extend_from_slice(b"0\r\n\r\n");
        whole
    };
    for size in [1, 2, 3, 7, 50, whole.len()] {
        line.ask_modern(7, "tools/call", json!({"name": "t"}));
        server.expect("tools/call").say_in_pieces(&whole, size);
        assert_eq!(line.frame()["method"], "notifications/message");
        assert_eq!(line.result(7)["ä"], "😀");
    }
    line.expect_silence();
}

#[test]
fn requests_do_not_wait_for_each_other() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    let open: Vec<_> = (0..20)
        .map(|id| {
            line.ask_modern(id, "tools/call", json!({"name": "t"}));
            server.expect("tools/call")
        })
        .collect();
    for arrived in open.into_iter().rev() {
        let id = arrived.id();
        arrived.result(json!({}));
        assert_eq!(line.frame()["id"], id);
    }
}

#[test]
fn giving_up_closes_the_stream_and_sends_nothing() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    line.ask_modern(1, "tools/call", json!({"name": "silent"}));
    let silent = server.expect("tools/call");
    line.ask_modern(2, "tools/call", json!({"name": "talks"}));
    let mut talks = server.expect("tools/call").stream(&[]);
    talks.message(&json!({"jsonrpc": "2.0", "method": "notifications/progress"}));
    line.frame();
    line.ask_modern(3, "subscriptions/listen", json!({}));
    let mut listens = server.expect("subscriptions/listen").stream(&[]);
    listens.message(&json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged"}));
    line.frame();
    (1..=3).for_each(|id| line.cancel(id));
    silent.expect_closed();
    talks.expect_closed();
    listens.expect_closed();
    // A late one of what has ended.
    line.ask_modern(4, "tools/list", json!({}));
    server.expect("tools/list").result(json!({"tools": []}));
    line.result(4);
    line.cancel(4);
    line.cancel(99);
    line.ask_modern(5, "tools/list", json!({}));
    server.expect("tools/list").result(json!({"tools": []}));
    line.result(5);
    line.expect_silence();
}

#[test]
fn calls_beyond_the_limit_wait_for_their_turn() {
    let server = ScriptedHttp::start();
    let transport = HttpTransport::new(&server.url("/mcp")).expect("an address").max_calls(2);
    let mut line = Line::open(transport);
    (0..4).for_each(|id| line.ask_modern(id, "tools/call", json!({"name": "t"})));
    let first = [server.expect("tools/call"), server.expect("tools/call")];
    // A stream and a notification have threads of their own.
    line.ask_modern(9, "subscriptions/listen", json!({}));
    let _stream = server.expect("subscriptions/listen").stream(&[]);
    line.notify("notifications/progress", json!({}));
    server.expect("notifications/progress").accepted();
    assert!(server.try_next().is_none());
    // One that waits is given up, and never sent.
    line.cancel(2);
    first.into_iter().for_each(|arrived| arrived.result(json!({})));
    assert_eq!(line.frame()["id"].as_i64().max(line.frame()["id"].as_i64()), Some(1));
    let last = server.expect("tools/call");
    assert_eq!(last.id(), 3);
    last.result(json!({}));
    line.result(3);
    line.expect_silence();
}
