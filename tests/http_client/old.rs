//! The HTTP+SSE of 2024-11-05.

use serde_json::json;
use tinymcp::transport::FailureKind::Refused;

use crate::http::{EventStream, ScriptedHttp};
use crate::line::{Line, Seen};

/// Settles the protocol with a server that speaks only that.
fn greeted(server: &ScriptedHttp, line: &mut Line, status: &str, endpoint: &str) -> EventStream {
    line.ask(0, "initialize", json!({"protocolVersion": "2025-11-25"}));
    server.expect("initialize").reply(status, &[], "Cannot POST /mcp");
    let get = server.expect_verb("GET");
    assert_eq!((get.path.as_str(), get.header("accept")), ("/mcp", Some("text/event-stream")));
    let mut stream = get.stream(&[]);
    stream.send(&format!("event: endpoint\ndata: {endpoint}\n\n"));
    let again = server.expect("initialize");
    assert_eq!(again.path, "/messages?session=5");
    again.reply("202 Accepted", &[], "Accepted");
    let result = json!({"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}});
    stream.message(&json!({"jsonrpc": "2.0", "id": 0, "result": result}));
    line.result(0);
    stream
}

#[test]
fn an_old_server_is_spoken_to_as_it_wants() {
    let server = ScriptedHttp::start();
    for (status, endpoint) in [
        ("405 Method Not Allowed", "/messages?session=5".to_owned()),
        ("404 Not Found", "messages?session=5".to_owned()),
        ("400 Bad Request", server.url("/messages?session=5")),
    ] {
        let mut line = Line::to(&server);
        let mut stream = greeted(&server, &mut line, status, &endpoint);
        line.notify("notifications/initialized", json!({}));
        server.expect("notifications/initialized").accepted();
        // Both ways, all over the one stream.
        line.ask(1, "tools/call", json!({"name": "t"}));
        let call = server.expect("tools/call");
        assert_eq!(call.path, "/messages?session=5");
        call.reply("200 OK", &[], "");
        stream.message(&json!({"jsonrpc": "2.0", "id": "q", "method": "roots/list"}));
        assert_eq!(line.frame()["id"], "q");
        line.write(&json!({"jsonrpc": "2.0", "id": "q", "result": {"roots": []}}));
        assert_eq!(server.expect("").path, "/messages?session=5");
        // Given up after its POST was accepted.
        line.cancel(1);
        server.expect("notifications/cancelled").accepted();
        // Refused.
        line.ask(2, "tools/list", json!({}));
        server.expect("tools/list").reply("400 Bad Request", &[], "no session");
        assert_eq!(line.failure(2), (Refused, "HTTP 400 Bad Request: no session".to_owned()));
        // The end of the stream is that of the connection.
        stream.end();
        assert!(matches!(line.next(), Seen::End));
        line.close();
        assert!(server.try_next().is_none());
    }
}

#[test]
fn the_place_for_messages_must_be_of_the_same_origin() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    line.ask(0, "initialize", json!({}));
    server.expect("initialize").reply("405 Method Not Allowed", &[], "");
    let mut stream = server.expect_verb("GET").stream(&[]);
    stream.send("event: endpoint\ndata: http://evil.example/messages\n\n");
    let (kind, problem) = line.failure(0);
    assert_eq!(kind, Refused);
    assert!(problem.contains("names http://evil.example as the place for messages"), "{problem}");
    stream.expect_closed();
    assert!(server.try_next().is_none());
}

#[test]
fn what_is_no_old_server_keeps_its_refusal() {
    let server = ScriptedHttp::start();
    for answer in ["405", "html", "other event", "end"] {
        let mut line = Line::to(&server);
        line.ask(0, "initialize", json!({}));
        server.expect("initialize").reply("404 Not Found", &[], "nothing here");
        let get = server.expect_verb("GET");
        match answer {
            "405" => get.reply("405 Method Not Allowed", &[], ""),
            "html" => get.reply("200 OK", &[("Content-Type", "text/html")], "<html>"),
            "other event" => {
                let mut stream = get.stream(&[]);
                stream.message(&json!({"jsonrpc": "2.0", "method": "notifications/message"}));
                stream.expect_closed();
            }
            _ => get.stream(&[]).end(),
        }
        assert_eq!(line.failure(0), (Refused, "HTTP 404 Not Found: nothing here".to_owned()), "{answer}");
        line.close();
    }
    // An error of JSON-RPC is an answer: nothing else is tried.
    let mut line = Line::to(&server);
    line.ask(0, "initialize", json!({}));
    server.expect("initialize").error("400 Bad Request", -32602, "no");
    assert_eq!(line.frame()["error"]["code"], -32602);
    line.close();
    assert!(server.try_next().is_none());
}
