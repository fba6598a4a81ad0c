//! What is wrong with a request, and the status that says so.
//!
//! spec: 2026-07-28 basic/index#error-codes, basic/transports/streamable-http

use serde_json::{Value, json};
use tinymcp::{Context, ErrorObject, FnTool, ProtocolVersion, ToolError};

use crate::eras::{CAPABILITIES, INFO, MODERN, VERSION, call, initialize, message, modern, modern_lacking};
use crate::http::{Hosted, Request};
use crate::puppet::{STOCK, puppet_with};
use crate::{hosted, puppet};

#[test]
fn what_a_request_must_say_of_itself_is_asked_for() {
    let (hosted, _puppet) = hosted();
    let mut conn = hosted.connect();
    for method in ["server/discover", "tools/list", "subscriptions/listen"] {
        let params = || json!({"notifications": {}});
        for lacking in [Some(VERSION), Some(CAPABILITIES), None] {
            let response = conn.ask(&modern_lacking(5, method, params(), lacking));
            assert_eq!(response.error(), (400, -32602), "{method} without {lacking:?}: {response}");
            assert_eq!(response.json()["id"], 5);
        }
        for (member, value) in [
            (VERSION, json!(20_260_728)),
            (VERSION, json!(null)),
            (CAPABILITIES, json!([])),
            (CAPABILITIES, json!(1)),
        ] {
            let mut params = params();
            params["_meta"] = json!({member: value});
            let response = conn.ask(&modern(5, method, params));
            assert_eq!(response.error(), (400, -32602), "{method} with {member} {value}: {response}");
        }
        let response = conn.ask(&modern(5, method, json!({"_meta": 7, "notifications": {}})));
        assert_eq!(response.error(), (400, -32602), "{response}");
    }
    // Who the client is, it may keep to itself, or say wrongly.
    conn.ask(&modern_lacking(5, "tools/list", json!({}), Some(INFO))).result();
    conn.ask(&modern(5, "tools/list", json!({"_meta": {INFO: 7}}))).result();
}

#[test]
fn a_revision_that_is_not_served_is_told_which_are() {
    let (hosted, _puppet) = hosted();
    let mut conn = hosted.connect();
    for version in ["1900-01-01", "2030-01-01", "latest"] {
        let request = modern(5, "tools/list", json!({"_meta": {VERSION: version}}))
            .set("MCP-Protocol-Version", version);
        let response = conn.ask(&request);
        assert_eq!(response.error(), (400, -32022), "{response}");
        let data = response.json()["error"]["data"].clone();
        assert_eq!(data["requested"], version);
        let supported = data["supported"].as_array().expect("a list");
        assert!(supported.contains(&json!(MODERN)), "{data}");
    }
    // What comes first is told: the method may be any.
    let request = modern(5, "no/method", json!({"_meta": {VERSION: "2030-01-01"}}))
        .set("MCP-Protocol-Version", "2030-01-01");
    assert_eq!(conn.ask(&request).error(), (400, -32022));
}

#[test]
fn methods_that_there_are_not_are_not_found() {
    let (hosted, _puppet) = hosted();
    let mut conn = hosted.connect();
    for method in [
        "no/method",
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/list",
        "tasks/result",
        "sampling/createMessage",
        "elicitation/create",
        "roots/list",
        "notifications/initialized",
        "",
    ] {
        let params = json!({"level": "info", "uri": STOCK, "protocolVersion": MODERN, "capabilities": {}});
        let response = conn.ask(&modern("x", method, params));
        assert_eq!(response.error(), (404, -32601), "{method}: {response}");
        assert_eq!(response.json()["id"], "x");
    }
}

#[test]
fn errors_of_the_work_itself_are_answers_like_any_other() {
    let (hosted, _puppet) = hosted();
    let refuses = FnTool::new("refuses", "", json!({"type": "object"}), |_, _: &Context| {
        Err::<String, _>(ToolError::protocol(ErrorObject::new(-32050, "not today")))
    });
    hosted.server.tools().register(refuses).expect("free");
    let mut conn = hosted.connect();
    for (request, code) in [
        (call(4, "nothing", json!({})), -32602),
        (call(4, "refuses", json!({})), -32050),
        (modern(4, "prompts/get", json!({"name": "nothing"})), -32602),
        (modern(4, "resources/read", json!({"uri": "tea://nothing"})), -32602),
        (modern(4, "tools/list", json!({"cursor": "nonsense"})), -32602),
    ] {
        let response = conn.ask(&request);
        assert_eq!(response.error(), (200, code), "{response}");
        assert_eq!(response.json()["id"], 4);
    }
}

#[test]
fn an_ability_that_the_client_did_not_declare_is_asked_for() {
    let (hosted, _puppet) = hosted();
    let params = json!({"name": "book", "arguments": {}, "_meta": {CAPABILITIES: {"sampling": {}}}});
    let response = hosted.ask(&modern(5, "tools/call", params));
    assert_eq!(response.error(), (400, -32021), "{response}");
    let data = response.json()["error"]["data"].clone();
    assert!(data["requiredCapabilities"]["elicitation"].is_object(), "{data}");
}

#[test]
fn bodies_that_are_no_request_are_refused() {
    let (hosted, _puppet) = hosted();
    let mut conn = hosted.connect();
    let list = modern(1, "tools/list", json!({})).json();
    let rows: [(Vec<u8>, i64); 16] = [
        (b"".to_vec(), -32700),
        (b"not json".to_vec(), -32700),
        (b"{\"jsonrpc\":".to_vec(), -32700),
        (b"{\"jsonrpc\":\"2.0\"}{}".to_vec(), -32700),
        (b"\xff\xfe".to_vec(), -32700),
        (b"[]".to_vec(), -32600),
        (json!([list]).to_string().into_bytes(), -32600),
        (json!([list, list]).to_string().into_bytes(), -32600),
        (b"5".to_vec(), -32600),
        (b"null".to_vec(), -32600),
        (b"\"x\"".to_vec(), -32600),
        (b"{}".to_vec(), -32600),
        (json!({"jsonrpc": "1.0", "id": 1, "method": "tools/list"}).to_string().into_bytes(), -32600),
        (json!({"jsonrpc": "2.0", "id": null, "method": "tools/list"}).to_string().into_bytes(), -32600),
        (json!({"jsonrpc": "2.0", "id": 1.5, "method": "tools/list"}).to_string().into_bytes(), -32600),
        (json!({"jsonrpc": "2.0", "id": {}, "method": "tools/list"}).to_string().into_bytes(), -32600),
    ];
    for (body, code) in rows {
        let shown = String::from_utf8_lossy(&body).into_owned();
        let response = conn.ask(&modern(1, "tools/list", json!({})).with_body(body));
        assert_eq!(response.error(), (400, code), "{shown}: {response}");
        // What is no id is not given back; the id of what is no request otherwise is.
        let id = response.json().get("id").cloned();
        assert!(
            id.is_none() || shown.contains(r#""jsonrpc":"1.0""#) && id == Some(json!(1)),
            "{shown}: {id:?}"
        );
    }
    // The connection goes on.
    conn.ask(&modern(1, "tools/list", json!({}))).result();
    let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"a":{deep}}}}}"#);
    let response = conn.ask(&modern(1, "tools/list", json!({})).with_body(body));
    assert_eq!(response.status, 400, "{response}");
    conn.ask(&modern(1, "tools/list", json!({}))).result();
}

#[test]
fn clients_must_not_send_responses() {
    let (hosted, _puppet) = hosted();
    let mut conn = hosted.connect();
    for body in [
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "m"}}),
    ] {
        let response = conn.ask(&Request::post(&body).with("MCP-Protocol-Version", MODERN));
        assert_eq!(response.status, 400, "{response}");
        assert_eq!(response.json().get("id"), None);
    }
    conn.ask(&call(1, "echo", json!({"message": "m"}))).result();
}

#[test]
fn a_client_without_headers_is_told_what_is_wrong() {
    let (hosted, _puppet) = hosted();
    // One that probes an old server with as little as it can, and the revision in a header.
    let bare = Request::post(&json!({"jsonrpc": "2.0", "id": 3, "method": "server/discover"}))
        .with("MCP-Protocol-Version", MODERN)
        .with("Mcp-Method", "server/discover");
    let response = hosted.ask(&bare);
    assert_eq!(response.error(), (400, -32602), "{response}");
    // And in none: that is what a client before 2025-06-18 looks like, without a session.
    let response = hosted.ask(&bare.without("MCP-Protocol-Version").without("Mcp-Method"));
    assert_eq!((response.status, response.json()["id"].clone()), (400, json!(3)), "{response}");
}

#[test]
fn a_server_of_this_revision_alone_refuses_a_handshake_and_says_what_it_serves() {
    let (server, _puppet) = puppet_with(|builder| builder.versions([ProtocolVersion::V2026_07_28]));
    let hosted = Hosted::new(&server);
    let mut conn = hosted.connect();
    for request in [
        initialize("2025-11-25", json!({})),
        initialize("2025-11-25", json!({})).with("MCP-Protocol-Version", "2025-11-25"),
        initialize(MODERN, json!({})),
    ] {
        let response = conn.ask(&request);
        let message = response.json();
        assert_eq!(response.status, 400, "{response}");
        // Such a client knows no other way: what it shows to its user is this.
        assert!(message["error"].to_string().contains(MODERN), "{message}");
        assert_eq!(response.header("Mcp-Session-Id"), None);
    }
    // Without its metadata no request is one of this revision.
    for version in [None, Some("2025-11-25"), Some("2025-06-18")] {
        let request = Request::post(&message(5, "tools/list", json!({})));
        let request =
            version.map_or(request.clone(), |version| request.with("MCP-Protocol-Version", version));
        let response = conn.ask(&request);
        assert_eq!((response.status, response.json()["id"].clone()), (400, json!(5)), "{response}");
    }
}

#[test]
fn requests_of_another_kind_are_refused_by_http_alone() {
    let (hosted, _puppet) = hosted();
    let request = || call(1, "echo", json!({"message": "m"}));
    let mut conn = hosted.connect();
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "json"] {
        assert_eq!(conn.ask(&request().set("Content-Type", kind)).status, 415, "{kind}");
    }
    for kind in ["application/json; charset=utf-8", "Application/JSON", "application/json;charset=\"utf-8\""]
    {
        assert_eq!(conn.ask(&request().set("Content-Type", kind)).text(), "m", "{kind}");
    }
    for kind in ["text/html", "image/*", "application/xml, text/css"] {
        assert_eq!(conn.ask(&request().set("Accept", kind)).status, 406, "{kind}");
    }
    for kind in ["application/json,text/event-stream", "*/*", "TEXT/EVENT-STREAM;q=0.5, application/json;q=1"]
    {
        assert_eq!(conn.ask(&request().set("Accept", kind)).text(), "m", "{kind}");
    }
    let split =
        request().without("Accept").with("Accept", "application/json").with("Accept", "text/event-stream");
    assert_eq!(conn.ask(&split).text(), "m");
    assert_eq!(conn.ask(&request().at("/mcp?key=value")).text(), "m");
    for path in ["/", "/MCP", "/mcp/x", "/mcpx", "/other?/mcp"] {
        let mut conn = hosted.connect();
        assert_eq!(conn.ask(&request().at(path)).status, 404, "{path}");
    }
}

#[test]
fn the_endpoint_is_where_it_was_set() {
    let (server, _puppet) = puppet::puppet();
    let hosted = Hosted::with(&server, |builder| builder.path("/tea/room"));
    assert!(
        hosted.url.ends_with("/tea/room") && hosted.url.starts_with("http://127.0.0.1:"),
        "{}",
        hosted.url
    );
    let request = call(1, "echo", json!({"message": "m"}));
    assert_eq!(hosted.ask(&request.clone().at("/tea/room")).text(), "m");
    assert_eq!(hosted.ask(&request).status, 404);
    let none = |path: &str| tinymcp::http::HttpServer::builder(&server).path(path).bind("127.0.0.1:0").err();
    assert!(matches!(none("tea"), Some(tinymcp::Error::InvalidUse(_))));
    let taken = tinymcp::http::HttpServer::builder(&server).bind(hosted.address).err();
    assert!(matches!(taken, Some(tinymcp::Error::Transport { .. })), "{taken:?}");
}

#[test]
fn a_head_has_no_body() {
    let (hosted, _puppet) = hosted();
    let mut conn = hosted.connect();
    conn.send(&Request::new("HEAD", "/mcp").with("Connection", "close"));
    let all = String::from_utf8(conn.rest()).expect("UTF-8");
    assert!(all.starts_with("HTTP/1.1 405 ") && all.ends_with("\r\n\r\n"), "{all}");
}

#[test]
fn ids_come_back_as_they_were() {
    let (hosted, _puppet) = hosted();
    let mut conn = hosted.connect();
    for id in [json!(0), json!(""), json!("a\"b"), json!(i64::MAX), json!(-1)] {
        for method in ["no/method", "tools/list"] {
            let response = conn.ask(&modern(id.clone(), method, json!({})));
            assert_eq!(response.json()["id"], id, "{response}");
        }
        let response = conn.ask(&modern(id.clone(), "tools/list", json!({})).without("Mcp-Method"));
        assert_eq!(response.json()["id"], id, "{response}");
    }
    let params: Value = json!([1]);
    let body = json!({"jsonrpc": "2.0", "id": 6, "method": "tools/list", "params": params});
    let response = conn.ask(&modern(6, "tools/list", json!({})).with_body(body.to_string()));
    assert_eq!(response.status, 400, "{response}");
}

/// spec: 2026-07-28 basic/transports/streamable-http#server-validation
#[test]
fn a_header_of_other_characters_is_a_mismatch() {
    let (server, _puppet) = puppet();
    let hosted = Hosted::new(&server);
    for value in [&b"caf\xe9"[..], b"a\x01b", b"a\x00b"] {
        let request = modern(7, "tools/list", json!({})).with("Mcp-Param-Odd", "@");
        let bytes = request.bytes();
        let at = bytes.iter().position(|byte| *byte == b'@').expect("the place");
        let mut conn = hosted.connect();
        conn.send_bytes(&[&bytes[..at], value, &bytes[at + 1..]].concat());
        let response = conn.response();
        assert_eq!(response.error(), (400, -32020), "{value:?}: {response}");
    }
}

/// Whoever looks at the headers must see what the server does.
#[test]
fn the_headers_are_compared_with_the_member_that_counts() {
    let (server, _puppet) = puppet();
    let hosted = Hosted::new(&server);
    let twice = |first: &str, last: &str| {
        let request = modern(7, "tools/call", json!({"name": "echo", "arguments": {"message": "m"}}));
        let text = String::from_utf8(request.body.clone()).expect("text");
        let text = text.replace(r#""name":"echo""#, &format!(r#""name":"{first}","name":"{last}""#));
        hosted.ask(&request.with_body(text))
    };
    assert_eq!(twice("whoami", "echo").text(), "m");
    assert_eq!(twice("echo", "whoami").error(), (400, -32020));
}
