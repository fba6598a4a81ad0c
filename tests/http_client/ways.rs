//! The way to a server: redirects, proxies, headers of the user, connections that are used again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::json;
use tinymcp::http::HttpTransport;
use tinymcp::transport::FailureKind::{NotSent, Refused};

use crate::http::ScriptedHttp;
use crate::line::Line;

#[test]
fn redirects_are_followed_within_the_origin_with_method_and_body() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    for status in ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        line.ask_modern(1, "tools/call", json!({"name": "t"}));
        server.expect("tools/call").reply(status, &[("Location", "/mcp/")], "moved");
        let again = server.expect("tools/call");
        assert_eq!((again.path.as_str(), again.header("mcp-name")), ("/mcp/", Some("t")), "{status}");
        let whole = server.url("/elsewhere");
        again.reply(status, &[("Location", &whole)], "");
        let again = server.expect("tools/call");
        assert_eq!(again.path, "/elsewhere");
        again.result(json!({}));
        line.result(1);
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn redirects_that_are_not_followed_say_why() {
    let (server, other) = (ScriptedHttp::start(), ScriptedHttp::start());
    let mut line = Line::to(&server);
    line.ask_modern(1, "tools/list", json!({}));
    server.expect("tools/list").reply("307 Temporary Redirect", &[("Location", &other.url("/mcp"))], "");
    let (kind, problem) = line.failure(1);
    let want = format!(
        "HTTP 307 Temporary Redirect: it leads from {} to {}, which is not followed",
        server.url(""),
        other.url("")
    );
    assert_eq!((kind, problem), (Refused, want));
    assert!(other.try_next().is_none());

    line.ask_modern(2, "tools/list", json!({}));
    server.expect("tools/list").reply("303 See Other", &[("Location", "/other")], "see there");
    assert_eq!(line.failure(2), (Refused, "HTTP 303 See Other: see there".to_owned()));

    line.ask_modern(3, "tools/list", json!({}));
    for _ in 0..6 {
        server.expect("tools/list").reply("307 Temporary Redirect", &[("Location", "/mcp")], "");
    }
    let (kind, problem) = line.failure(3);
    assert_eq!(kind, Refused);
    assert!(problem.starts_with("more than 5 redirects"), "{problem}");
    assert!(server.try_next().is_none());
}

#[test]
fn headers_of_the_user_go_with_every_request() {
    let server = ScriptedHttp::start();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (asked, tokens) = (Arc::clone(&seen), AtomicUsize::new(0));
    let transport = HttpTransport::new(&server.url("/mcp"))
        .and_then(|transport| transport.header("X-Team", "blue"))
        .and_then(|transport| transport.header("Authorization", "Bearer stale"))
        .expect("valid")
        .headers_with(move |request| {
            let line = format!(
                "{} {} {}",
                request.http_method,
                request.method.unwrap_or("-"),
                request.name.unwrap_or("-")
            );
            asked.lock().expect("no panic").push(line);
            let token = tokens.fetch_add(1, Ordering::SeqCst);
            Ok(vec![("authorization".to_owned(), format!("Bearer {token}"))])
        });
    let shown = format!("{transport:?}");
    assert!(shown.contains("x-team") && !shown.contains("blue") && !shown.contains("stale"), "{shown}");
    let mut line = Line::open(transport);
    line.initialize(&server);
    let get = server.expect_verb("GET");
    assert_eq!((get.header("authorization"), get.header("x-team")), (Some("Bearer 2"), Some("blue")));
    get.reply("405 Method Not Allowed", &[], "");
    line.ask(1, "tools/call", json!({"name": "t"}));
    let call = server.expect("tools/call");
    assert_eq!((call.header("authorization"), call.header("x-team")), (Some("Bearer 3"), Some("blue")));
    call.result(json!({}));
    line.result(1);
    line.write(&json!({"jsonrpc": "2.0", "id": 5, "result": {}}));
    server.expect("").accepted();
    let closing = std::thread::spawn(move || line.close());
    let delete = server.expect_verb("DELETE");
    assert_eq!(delete.header("authorization"), Some("Bearer 5"));
    delete.reply("200 OK", &[], "");
    closing.join().expect("closed");
    let want = [
        "POST initialize -",
        "POST notifications/initialized -",
        "GET - -",
        "POST tools/call t",
        "POST - -",
        "DELETE - -",
    ];
    assert_eq!(*seen.lock().expect("no panic"), want);
}

#[test]
fn a_callback_that_fails_costs_its_request() {
    let server = ScriptedHttp::start();
    let transport = HttpTransport::new(&server.url("/mcp")).expect("an address").headers_with(|request| {
        match request.name {
            Some("error") => Err("no token: the user is not signed in".to_owned()),
            Some("panic") => panic!("the panic of a test"),
            Some("bad") => Ok(vec![("x-secret".to_owned(), "a\nb".to_owned())]),
            Some("reserved") => Ok(vec![("Mcp-Session-Id".to_owned(), "s".to_owned())]),
            _ => Ok(Vec::new()),
        }
    });
    let mut line = Line::open(transport);
    for (name, want) in [
        ("error", "no token: the user is not signed in"),
        ("panic", "the callback for headers panicked"),
        ("bad", "header \"x-secret\": its value has characters that no header carries"),
        ("reserved", "header \"Mcp-Session-Id\": the transport sets it itself"),
    ] {
        line.ask_modern(1, "tools/call", json!({"name": name}));
        assert_eq!(line.failure(1), (NotSent, want.to_owned()));
    }
    assert_eq!(server.connections(), 0);
    for (name, value) in [("", "a"), ("a b", "a"), ("x", "a\r\nb: c"), ("Accept", "a"), ("Mcp-Param-X", "a")]
    {
        let refused = HttpTransport::new("http://h/").expect("an address").header(name, value);
        assert!(refused.is_err(), "{name}: {value}");
    }
}

#[test]
fn a_proxy_leads_to_other_machines_and_never_to_this_one() {
    let (server, proxy) = (ScriptedHttp::start(), ScriptedHttp::start());
    let through =
        |url: &str| HttpTransport::new(url).and_then(|t| t.proxy(Some(&proxy.url("")))).expect("valid");
    let mut line = Line::open(through(&server.url("/mcp")));
    line.ask_modern(1, "tools/list", json!({}));
    server.expect("tools/list").result(json!({}));
    line.result(1);
    assert_eq!(proxy.connections(), 0);

    let mut line = Line::open(through("http://server.example/mcp"));
    line.ask_modern(1, "tools/list", json!({}));
    let connect = proxy.expect_verb("CONNECT");
    assert_eq!(connect.path, "server.example:80");
    connect.reply("403 Forbidden", &[], "");
    let (kind, problem) = line.failure(1);
    assert_eq!(kind, NotSent);
    assert!(problem.contains("403"), "{problem}");

    let refused = |proxy: &str| {
        let transport = HttpTransport::new("http://h/").expect("an address");
        transport.proxy(Some(proxy)).expect_err("refused").to_string()
    };
    assert_eq!(
        refused("socks5://user:secret@h:1"),
        "invalid use: the proxy: proxies of the kind SOCKS5 are not supported"
    );
    assert_eq!(refused("ftp://user:secret@h:1"), "invalid use: the proxy: it is no address of a proxy");
}

#[test]
fn a_connection_serves_again_unless_the_server_has_closed_it() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    let call = |line: &mut Line, respond: &dyn Fn(crate::http::Arrived)| {
        line.ask_modern(1, "tools/list", json!({}));
        let arrived = server.expect("tools/list");
        let connection = arrived.connection;
        respond(arrived);
        line.result(1);
        connection
    };
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let plain = |arrived: crate::http::Arrived| arrived.reply("200 OK", &[], answer);
    assert_eq!(call(&mut line, &plain), 0);
    // Used again, and closed after that.
    let closing = |arrived: crate::http::Arrived| {
        let length = answer.len();
        arrived
            .say_and_close(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{answer}").as_bytes());
    };
    assert_eq!(call(&mut line, &closing), 0);
    let hasty =
        |arrived: crate::http::Arrived| arrived.reply("200 OK", &[("Keep-Alive", "timeout=1")], answer);
    assert_eq!(call(&mut line, &hasty), 1);
    // Its server waits for a second only, in which a request might cross the closing.
    assert_eq!(call(&mut line, &plain), 2);
    let streamed = |arrived: crate::http::Arrived| {
        let mut stream = arrived.stream(&[]);
        stream.result(json!({}));
        stream.end();
    };
    assert_eq!(call(&mut line, &streamed), 2);
}

#[test]
fn arguments_travel_in_headers_where_the_tool_says_so() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    let annotated = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "query": {"type": "string"}
    }});
    let invalid = json!({"type": "object", "properties": {"a": {"type": "number", "x-mcp-header": "A"}}});
    line.ask_modern(1, "tools/list", json!({}));
    server.expect("tools/list").result(json!({
        "tools": [{"name": "sql", "inputSchema": annotated}, {"name": "bad", "inputSchema": invalid}],
        "nextCursor": "2"
    }));
    line.result(1);
    line.ask_modern(2, "tools/list", json!({"cursor": "2"}));
    server
        .expect("tools/list")
        .result(json!({"tools": [{"name": "plain", "inputSchema": {"type": "object"}}]}));
    line.result(2);
    let params = |arrived: &crate::http::Arrived| {
        let headers = arrived.headers.iter().filter(|(name, _)| name.starts_with("mcp-param-"));
        headers.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
    };
    for (name, arguments, want) in [
        (
            "sql",
            json!({"region": "us-west1", "count": 3, "query": "q"}),
            vec!["mcp-param-count=3", "mcp-param-region=us-west1"],
        ),
        ("sql", json!({"region": "Zürich"}), vec!["mcp-param-region==?base64?WsO8cmljaA==?="]),
        ("sql", json!({"region": null}), vec![]),
        ("bad", json!({"a": 1.5}), vec![]),
        ("plain", json!({"region": "x"}), vec![]),
    ] {
        line.ask_modern(3, "tools/call", json!({"name": name, "arguments": arguments}));
        let arrived = server.expect("tools/call");
        assert_eq!(params(&arrived), want, "{name}");
        arrived.result(json!({}));
        line.result(3);
        // Not in the Legacy era.
        line.ask(4, "tools/call", json!({"name": name, "arguments": arguments}));
        let arrived = server.expect("tools/call");
        assert!(params(&arrived).is_empty() && arrived.header("mcp-name").is_none());
        arrived.result(json!({}));
        line.result(4);
    }
    // The tool has changed.
    line.ask_modern(5, "tools/list", json!({}));
    server
        .expect("tools/list")
        .result(json!({"tools": [{"name": "sql", "inputSchema": {"type": "object"}}]}));
    line.result(5);
    line.ask_modern(6, "tools/call", json!({"name": "sql", "arguments": {"region": "r"}}));
    let arrived = server.expect("tools/call");
    assert!(params(&arrived).is_empty());
    arrived.result(json!({}));
    line.result(6);
}
