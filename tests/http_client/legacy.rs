//! The Legacy era: sessions, streams of the session, streams that are continued.

use serde_json::json;

use crate::http::ScriptedHttp;
use crate::line::Line;

#[test]
fn the_session_and_the_revision_go_with_everything_after_the_handshake() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    line.ask(0, "initialize", json!({"protocolVersion": "2025-11-25"}));
    let arrived = server.expect("initialize");
    assert_eq!((arrived.header("mcp-session-id"), arrived.header("mcp-protocol-version")), (None, None));
    assert_eq!(arrived.header("mcp-method"), None);
    let answer = json!({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2025-06-18"}});
    arrived.reply_json("200 OK", &[("Mcp-Session-Id", "s-1")], &answer);
    line.result(0);
    line.notify("notifications/initialized", json!({}));
    let initialized = server.expect("notifications/initialized");
    let told = |arrived: &crate::http::Arrived| {
        let header = |name: &str| arrived.header(name).unwrap_or_default().to_owned();
        (header("mcp-session-id"), header("mcp-protocol-version"))
    };
    let want = ("s-1".to_owned(), "2025-06-18".to_owned());
    assert_eq!(told(&initialized), want);
    // What was written after it waits until it was accepted.
    line.ask(1, "tools/list", json!({}));
    line.ask(2, "ping", json!({}));
    assert!(server.try_next().is_none());
    initialized.accepted();
    let mut methods = Vec::new();
    for _ in 0..3 {
        let arrived = server.next();
        assert_eq!(told(&arrived), want);
        if arrived.verb == "GET" {
            assert_eq!(arrived.header("accept"), Some("text/event-stream"));
            assert_eq!(arrived.header("content-type"), None);
            arrived.reply("405 Method Not Allowed", &[("Allow", "POST")], "");
        } else {
            methods.push(arrived.json()["method"].as_str().expect("a method").to_owned());
            arrived.result(json!({}));
            line.frame();
        }
    }
    methods.sort();
    assert_eq!(methods, ["ping", "tools/list"]);
    // The end.
    let closing = std::thread::spawn(move || line.close());
    let arrived = server.expect_verb("DELETE");
    assert_eq!(told(&arrived), want);
    arrived.reply("405 Method Not Allowed", &[], "");
    closing.join().expect("closed");
}

#[test]
fn calls_wait_for_the_stream_of_the_session_but_not_for_ever() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    line.initialize(&server);
    line.ask(1, "tools/list", json!({}));
    let unanswered = server.expect_verb("GET");
    assert!(server.try_next().is_none());
    let mut stream = unanswered.stream(&[]);
    let call = server.expect("tools/list");
    stream.message(&json!({"jsonrpc": "2.0", "id": "a", "method": "roots/list"}));
    assert_eq!(line.frame()["id"], "a");
    call.result(json!({}));
    line.result(1);

    // A server that does not answer the GET before it has something to say.
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    line.initialize(&server);
    line.ask(1, "tools/list", json!({}));
    let unanswered = server.expect_verb("GET");
    server.expect("tools/list").result(json!({}));
    line.result(1);
    drop(unanswered);
}

#[test]
fn what_a_server_asks_on_its_stream_is_answered_by_a_post() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    line.initialize(&server);
    let mut stream = server.expect_verb("GET").stream(&[]);
    stream.message(&json!({"jsonrpc": "2.0", "id": "a", "method": "roots/list"}));
    assert_eq!(line.frame()["method"], "roots/list");
    line.write(&json!({"jsonrpc": "2.0", "id": "a", "result": {"roots": []}}));
    let answer = server.expect("");
    assert_eq!(answer.json()["result"], json!({"roots": []}));
    assert_eq!(answer.header("mcp-session-id"), Some("s-1"));
    answer.accepted();
    // On the stream of a call as well.
    line.ask(1, "tools/call", json!({"name": "t"}));
    let mut call = server.expect("tools/call").stream(&[]);
    call.message(&json!({"jsonrpc": "2.0", "id": 5, "method": "ping"}));
    assert_eq!(line.frame()["method"], "ping");
    line.write(&json!({"jsonrpc": "2.0", "id": 5, "result": {}}));
    server.expect("").accepted();
    call.result(json!({}));
    call.end();
    line.result(1);
}
