//! What is said of a request that fails.

use serde_json::json;
use tinymcp::transport::FailureKind::{NotSent, OutcomeUnknown, Refused, SessionEnded};

use crate::http::ScriptedHttp;
use crate::line::{Line, Seen};

#[test]
fn a_status_says_what_became_of_the_request() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    let html = "<html>\r\n <h1>It is   broken</h1>\n</html>";
    for (status, headers, body, kind, problem) in [
        ("400 Bad Request", &[][..], "", Refused, "HTTP 400 Bad Request"),
        (
            "401 Unauthorized",
            &[("WWW-Authenticate", "Bearer realm=\"x\"")],
            "no",
            Refused,
            "HTTP 401 Unauthorized, WWW-Authenticate: Bearer realm=\"x\": no",
        ),
        ("404 Not Found", &[], html, Refused, "HTTP 404 Not Found: <html> <h1>It is broken</h1> </html>"),
        (
            "429 Too Many Requests",
            &[("Retry-After", "7")],
            "",
            Refused,
            "HTTP 429 Too Many Requests, retry after 7",
        ),
        ("500 Internal Server Error", &[], "{}", OutcomeUnknown, "HTTP 500 Internal Server Error: {}"),
        (
            "502 Bad Gateway",
            &[],
            html,
            OutcomeUnknown,
            "HTTP 502 Bad Gateway: <html> <h1>It is broken</h1> </html>",
        ),
        ("503 Service Unavailable", &[], "", OutcomeUnknown, "HTTP 503 Service Unavailable"),
        (
            "503 Service Unavailable",
            &[("Retry-After", "7")],
            "",
            Refused,
            "HTTP 503 Service Unavailable, retry after 7",
        ),
        (
            "200 OK",
            &[("Content-Type", "text/html")],
            "<p>Log in",
            OutcomeUnknown,
            "HTTP 200 OK with a body of text/html that is not JSON: <p>Log in",
        ),
        ("200 OK", &[], "", OutcomeUnknown, "HTTP 200 OK without an answer"),
        (
            "200 OK",
            &[("Content-Encoding", "gzip")],
            "\u{1f}",
            OutcomeUnknown,
            "HTTP 200 OK with a body encoded as gzip",
        ),
        ("202 Accepted", &[], "", OutcomeUnknown, "HTTP 202 Accepted without an answer"),
        ("304 Not Modified", &[], "", Refused, "HTTP 304 Not Modified"),
    ] {
        line.ask_modern(1, "tools/call", json!({"name": "t"}));
        server.expect("tools/call").reply(status, headers, body);
        assert_eq!(line.failure(1), (kind, problem.to_owned()), "{status}");
    }
    line.expect_silence();
}

#[test]
fn an_error_of_json_rpc_is_the_answer_whatever_the_status() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    for (status, id) in [
        ("400 Bad Request", json!(1)),
        ("404 Not Found", json!("1")),
        ("400 Bad Request", json!(null)),
        ("403 Forbidden", json!("server-error")),
        ("500 Internal Server Error", json!(1)),
        ("200 OK", json!(null)),
        ("200 OK", json!(1)),
    ] {
        line.ask_modern(1, "tools/call", json!({"name": "t"}));
        let error =
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32020, "message": "m", "data": {"a": 1}}});
        server.expect("tools/call").reply_json(status, &[], &error);
        let frame = line.frame();
        assert_eq!(frame["id"], 1, "{status}");
        assert_eq!(frame["error"], json!({"code": -32020, "message": "m", "data": {"a": 1}}));
    }
    line.ask_modern(1, "tools/call", json!({"name": "t"}));
    let arrived = server.expect("tools/call");
    arrived.reply_json(
        "400 Bad Request",
        &[],
        &json!({"jsonrpc": "2.0", "error": {"code": 1, "message": "m"}}),
    );
    assert_eq!((line.frame()["id"].clone(), line.expect_silence()), (json!(1), ()));
}

#[test]
fn a_session_that_is_unknown_has_ended() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    line.greet(&server);
    line.ask(1, "tools/list", json!({}));
    server.expect("tools/list").reply("404 Not Found", &[], "gone");
    assert_eq!(line.failure(1), (SessionEnded, "HTTP 404 Not Found: gone".to_owned()));
    line.ask(2, "tools/list", json!({}));
    let error =
        json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32001, "message": "session not found"}});
    server.expect("tools/list").reply_json("404 Not Found", &[], &error);
    assert_eq!(line.failure(2).0, SessionEnded);
    line.ask(3, "x/unknown", json!({}));
    server.expect("x/unknown").error("404 Not Found", -32601, "unknown method: x/unknown");
    assert_eq!(line.frame()["error"]["code"], -32601);
}

#[test]
fn what_breaks_off_has_an_unknown_outcome() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    for (said, problem) in [
        ("", "sent, and then: the server closed the connection"),
        ("HTTP/1.1 200 OK\r\nContent-", "sent, and then: the server closed the connection"),
        ("SSH-2.0-OpenSSH\r\n\r\n", "sent, and then: "),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"json",
            "HTTP 200 OK, and then: the server closed the connection",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {}\n\n",
            "the server ended the stream before the answer",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:",
            "the stream broke off before the answer: ",
        ),
    ] {
        line.ask_modern(1, "tools/call", json!({"name": "t"}));
        server.expect("tools/call").say_and_close(said.as_bytes());
        if said.contains("data: {}") {
            assert_eq!(line.frame(), json!({}));
        }
        let (kind, told) = line.failure(1);
        assert_eq!(kind, OutcomeUnknown, "{said}");
        assert!(told.starts_with(problem), "{said}: {told}");
    }
}

#[test]
fn what_cannot_be_sent_was_not_sent() {
    let server = ScriptedHttp::start();
    let url = server.url("/mcp");
    drop(server);
    let mut line = Line::open(tinymcp::http::HttpTransport::new(&url).expect("an address"));
    line.ask_modern(1, "tools/list", json!({}));
    let (kind, told) = line.failure(1);
    assert_eq!(kind, NotSent);
    assert!(told.starts_with("not sent: Connection refused"), "{told}");
}

#[test]
fn what_is_too_long_fails_its_call_and_costs_no_memory() {
    let server = ScriptedHttp::start();
    let transport = tinymcp::http::HttpTransport::new(&server.url("/mcp")).expect("an address");
    let mut line = Line::with_limit(transport, 1000);
    let long = "x".repeat(2000);
    let expect_too_long = |line: &Line, id: i64| match line.next() {
        // The engine fails the call whose answer begins so.
        Seen::TooLong(head) => assert_eq!(head, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#)),
        other => panic!("{other:?}"),
    };
    line.ask_modern(1, "tools/call", json!({"name": "t"}));
    server.expect("tools/call").result(json!({"text": long}));
    expect_too_long(&line, 1);
    // A notification of that size is skipped, and the answer comes.
    line.ask_modern(2, "tools/call", json!({"name": "t"}));
    let mut stream = server.expect("tools/call").stream(&[]);
    stream.message(&json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": long}}));
    assert!(matches!(line.next(), Seen::TooLong(head) if head.contains("notifications/message")));
    stream.result(json!({}));
    line.result(2);
    stream.end();
    // An answer of that size fails its call.
    line.ask_modern(3, "tools/call", json!({"name": "t"}));
    let mut stream = server.expect("tools/call").stream(&[]);
    stream.result(json!({"text": long}));
    expect_too_long(&line, 3);
    stream.end();
    // A page of that size is shown as its beginning.
    line.ask_modern(4, "tools/call", json!({"name": "t"}));
    server.expect("tools/call").reply("404 Not Found", &[], &long);
    assert_eq!(line.failure(4), (Refused, format!("HTTP 404 Not Found: {}…", "x".repeat(200))));
    line.expect_silence();
}

#[test]
fn messages_in_an_array_are_each_their_own() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    line.greet(&server);
    line.ask(1, "tools/call", json!({"name": "t"}));
    let batch = json!([
        {"jsonrpc": "2.0", "method": "notifications/message"},
        {"jsonrpc": "2.0", "id": 1, "result": {"a": 1}}
    ]);
    server.expect("tools/call").reply_json("200 OK", &[], &batch);
    assert_eq!(line.frame()["method"], "notifications/message");
    assert_eq!(line.result(1), json!({"a": 1}));
    line.ask(2, "tools/call", json!({"name": "t"}));
    server.expect("tools/call").reply_json("200 OK", &[], &json!([]));
    assert_eq!(line.failure(2), (OutcomeUnknown, "HTTP 200 OK with JSON that is no answer: []".to_owned()));
    line.expect_silence();
}

#[test]
fn nothing_is_sent_twice() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    line.ask_modern(1, "tools/list", json!({}));
    server.expect("tools/list").result(json!({}));
    line.result(1);
    // It takes the next request on the same connection, and is gone.
    line.ask_modern(2, "tools/call", json!({"name": "t"}));
    let arrived = server.expect("tools/call");
    assert_eq!(arrived.connection, 0);
    drop(arrived);
    assert_eq!(
        line.failure(2),
        (OutcomeUnknown, "sent, and then: the server closed the connection".to_owned())
    );
    assert!(server.try_next().is_none());
}

#[test]
fn half_a_request_was_not_sent() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("bound"));
    let mut line = Line::open(tinymcp::http::HttpTransport::new(&url).expect("an address"));
    // More than fits between the two.
    line.ask_modern(1, "tools/call", json!({"name": "t", "arguments": {"text": "x".repeat(30_000_000)}}));
    drop(listener.accept().expect("connects"));
    let (kind, problem) = line.failure(1);
    assert_eq!(kind, NotSent);
    assert!(problem.starts_with("not sent: "), "{problem}");
}

#[cfg(feature = "tls")]
#[test]
fn a_server_without_a_certificate_is_sent_nothing() {
    let server = ScriptedHttp::start();
    let url = server.url("/mcp").replace("http://", "https://");
    let transport = tinymcp::http::HttpTransport::new(&url).expect("an address");
    for (pem, problem) in [
        ("", "invalid use: the root certificates: there is none"),
        ("-----BEGIN CERTIFICATE-----\nnot\n", "invalid use: the root certificates: "),
    ] {
        let refused = transport.clone().root_certificates(pem.as_bytes()).expect_err("refused").to_string();
        assert!(refused.starts_with(problem), "{refused}");
    }
    let mut line = Line::open(transport);
    line.ask_modern(1, "tools/list", json!({}));
    assert_eq!(line.failure(1).0, NotSent);
    assert!(server.try_next().is_none());
}

#[cfg(not(feature = "tls"))]
#[test]
fn https_names_the_feature_that_it_needs() {
    let refused =
        tinymcp::http::HttpTransport::new("https://example.com/mcp?key=secret").expect_err("refused");
    let want = "unsupported: https://example.com/mcp: https needs the feature tls of tinymcp";
    assert_eq!(refused.to_string(), want);
}
