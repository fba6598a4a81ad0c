//! A whole client before a server that follows a script.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tinymcp::client::CallOptions;
use tinymcp::http::HttpTransport;
use tinymcp::protocol::notice::ProgressParams;
use tinymcp::{CancelToken, Client, Error, ProtocolVersion};

use crate::http::{Arrived, ScriptedHttp};

fn during<T: Send>(act: impl FnOnce() -> T + Send, script: impl FnOnce()) -> T {
    thread::scope(|scope| {
        let acting = scope.spawn(act);
        script();
        acting.join().expect("no panic")
    })
}

fn discovered(arrived: Arrived) {
    arrived.result(json!({
        "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete",
        "ttlMs": 0, "cacheScope": "private"
    }));
}

#[test]
fn a_modern_server_is_used() {
    let server = ScriptedHttp::start();
    let client = Client::connect_http(&server.url("/mcp?key=secret")).expect("a client");
    let identity = during(|| client.initialize(), || discovered(server.expect("server/discover")));
    assert_eq!(identity.expect("settled").version, ProtocolVersion::V2026_07_28);
    let schema =
        json!({"type": "object", "properties": {"city": {"type": "string", "x-mcp-header": "City"}}});
    let tools = during(
        || client.discover_tools(),
        || {
            let tools = json!([{"name": "weather", "inputSchema": schema}]);
            let list = json!({"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"});
            server.expect("tools/list").result(list);
        },
    );
    assert_eq!(tools.expect("listed").len(), 1);
    let (reported, progress) = std::sync::mpsc::channel();
    let result = during(
        || {
            let report = move |params: &ProgressParams| reported.send(params.progress).expect("awaited");
            let options = CallOptions::default().with_progress(report);
            client.call_tool_with("weather", json!({"city": "Rom"}), &options)
        },
        || {
            let arrived = server.expect("tools/call");
            assert_eq!(
                (arrived.header("mcp-param-city"), arrived.path.as_str()),
                (Some("Rom"), "/mcp?key=secret")
            );
            let token = arrived.json()["params"]["_meta"]["progressToken"].clone();
            let mut stream = arrived.stream(&[]);
            let params = json!({"progressToken": token, "progress": 1});
            stream.message(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
            stream.result(json!({"content": [{"type": "text", "text": "mild"}], "resultType": "complete"}));
            stream.end();
        },
    );
    assert_eq!(result.expect("answered").text_content(), "mild");
    assert_eq!(progress.iter().collect::<Vec<_>>(), [1.0]);
    // Giving up closes the stream.
    let token = CancelToken::new();
    let cancelled = during(
        || client.call_tool_with("weather", (), &CallOptions::default().with_cancel(&token)),
        || {
            let arrived = server.expect("tools/call");
            token.cancel("enough");
            arrived.expect_closed();
        },
    );
    assert!(matches!(cancelled, Err(Error::Cancelled(_))), "{cancelled:?}");
    client.close().expect("closed");
    assert!(server.try_next().is_none());
}

#[test]
fn a_legacy_server_is_used_and_asks_in_turn() {
    let server = ScriptedHttp::start();
    let client = Client::builder()
        .versions([ProtocolVersion::V2025_11_25])
        .roots([tinymcp::protocol::roots::Root::new("file:///home")])
        .open(HttpTransport::new(&server.url("/mcp")).expect("an address"))
        .expect("a client");
    during(|| client.initialize(), || {
        let arrived = server.expect("initialize");
        let result = json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}
        });
        let answer = json!({"jsonrpc": "2.0", "id": arrived.id(), "result": result});
        arrived.reply_json("200 OK", &[("mcp-session-id", "s")], &answer);
        server.expect("notifications/initialized").accepted();
    })
    .expect("settled");
    let mut stream = server.expect_verb("GET").stream(&[]);
    let result = during(
        || client.call_tool("t", ()),
        || {
            let call = server.expect("tools/call");
            stream.message(&json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"}));
            let answer = server.expect("");
            assert_eq!(answer.json()["result"]["roots"][0]["uri"], "file:///home");
            answer.accepted();
            call.result(json!({"content": [{"type": "text", "text": "seen"}]}));
        },
    );
    assert_eq!(result.expect("answered").text_content(), "seen");
    let closed = during(
        || client.close(),
        || {
            server.expect_verb("DELETE").reply("200 OK", &[], "");
            stream.expect_closed();
        },
    );
    closed.expect("closed");
}

#[test]
fn a_reconnect_is_a_new_session() {
    let server = ScriptedHttp::start();
    let builder = Client::builder().versions([ProtocolVersion::V2025_11_25]);
    let client = builder.connect_http(&server.url("/mcp")).expect("a client");
    let greet = |session: &str| {
        let arrived = server.expect("initialize");
        assert_eq!(arrived.header("mcp-session-id"), None);
        let result: Value = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}});
        let answer = json!({"jsonrpc": "2.0", "id": arrived.id(), "result": result});
        arrived.reply_json("200 OK", &[("mcp-session-id", session)], &answer);
        let initialized = server.expect("notifications/initialized");
        assert_eq!(initialized.header("mcp-session-id"), Some(session));
        initialized.accepted();
        server.expect_verb("GET").reply("405 Method Not Allowed", &[], "");
    };
    during(|| client.initialize(), || greet("a")).expect("settled");
    during(
        || client.reconnect(),
        || {
            let delete = server.expect_verb("DELETE");
            assert_eq!(delete.header("mcp-session-id"), Some("a"));
            delete.reply("200 OK", &[], "");
            greet("b");
        },
    )
    .expect("settled again");
    during(|| client.close(), || server.expect_verb("DELETE").reply("200 OK", &[], "")).expect("closed");
}

#[test]
fn a_server_of_2024_is_found_behind_two_refusals() {
    let server = ScriptedHttp::start();
    let client = Client::connect_http(&server.url("/sse")).expect("a client");
    let mut stream = None;
    let identity = during(
        || client.initialize(),
        || {
            server.expect("server/discover").reply("404 Not Found", &[], "Cannot POST /sse");
            server.expect("initialize").reply("404 Not Found", &[], "Cannot POST /sse");
            let open = stream.insert(server.expect_verb("GET").stream(&[]));
            open.send("event: endpoint\ndata: /messages?s=1\n\n");
            let again = server.expect("initialize");
            let info = json!({"name": "old", "version": "1"});
            let result =
                json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": info});
            open.message(&json!({"jsonrpc": "2.0", "id": again.id(), "result": result}));
            again.accepted();
            server.expect("notifications/initialized").accepted();
        },
    );
    assert_eq!(identity.expect("settled").version, ProtocolVersion::V2024_11_05);
    let mut stream = stream.expect("open");
    let result = during(
        || client.call_tool("t", ()),
        || {
            let call = server.expect("tools/call");
            let result = json!({"content": [{"type": "text", "text": "old"}]});
            stream.message(&json!({"jsonrpc": "2.0", "id": call.id(), "result": result}));
            call.accepted();
        },
    );
    assert_eq!(result.expect("answered").text_content(), "old");
    drop(stream);
    let gone = client.call_tool("t", ()).expect_err("the server is gone");
    assert!(gone.is_closed(), "{gone}");
    client.close().expect("closed");
}

#[test]
fn a_server_that_lets_nobody_in_says_so() {
    let server = ScriptedHttp::start();
    let client = Client::connect_http(&server.url("/mcp")).expect("a client");
    let challenge = [("WWW-Authenticate", "Bearer resource_metadata=\"https://example.com/meta\"")];
    let is_done = AtomicBool::new(false);
    let error = during(
        || {
            let error = client.initialize().expect_err("refused");
            is_done.store(true, Ordering::SeqCst);
            error
        },
        || {
            let mut asked = 0;
            while !is_done.load(Ordering::SeqCst) {
                if let Some(arrived) = server.next_within(Duration::from_millis(10)) {
                    asked += 1;
                    arrived.reply("401 Unauthorized", &challenge, "who are you?");
                }
            }
            assert_eq!(asked, 1, "another handshake would fare no better");
        },
    );
    assert!(matches!(error, Error::Rejected { status: Some(401), .. }), "{error}");
    let error = error.to_string();
    assert!(error.contains("HTTP 401 Unauthorized, WWW-Authenticate: Bearer resource_metadata="), "{error}");
    assert!(error.contains("who are you?"), "{error}");
}
