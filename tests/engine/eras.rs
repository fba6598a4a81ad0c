//! A scripted client against a server: which era a request is of, and what its revision allows.

use serde_json::{Value, json};
use tinymcp::testing::ScriptedPeer;
use tinymcp::{ProtocolVersion, RequestId, Server};

use super::{LONG, expect_nothing, initialize, modern, server};

#[test]
fn methods_are_judged_by_the_request_and_the_connection() {
    let (mut client, ..) = server();
    let table: [(&str, [i64; 3]); 15] = [
        // before the handshake, after it, with Modern metadata; 0 is a result
        ("tools/list", [-32602, 0, 0]),
        ("tools/call", [-32602, 0, 0]),
        ("resources/list", [-32602, 0, -32601]),
        ("resources/templates/list", [-32602, 0, -32601]),
        ("prompts/list", [-32602, 0, -32601]),
        ("resources/read", [-32602, -32601, -32601]),
        ("logging/setLevel", [-32602, -32601, -32601]),
        ("server/discover", [0, -32601, 0]),
        ("subscriptions/listen", [-32602, -32602, -32602]),
        ("sampling/createMessage", [-32602, -32601, -32601]),
        ("roots/list", [-32602, -32601, -32601]),
        ("notifications/initialized", [-32601, -32601, -32601]),
        ("no/such/method", [-32601, -32601, -32601]),
        ("", [-32601, -32601, -32601]),
        ("ping", [0, 0, -32601]),
    ];
    for state in 0..3 {
        if state == 1 {
            initialize(&mut client, "2025-11-25");
        }
        for (method, want) in table {
            let params = json!({"name": "echo"});
            client.request(1, method, if state == 2 { modern(params) } else { params });
            let frame: Value = serde_json::from_str(&client.expect_frame()).expect("JSON");
            assert_eq!(frame["id"], 1);
            let code = frame["error"]["code"].as_i64().unwrap_or(0);
            assert_eq!(code, want[state], "{method} in state {state}: {frame}");
        }
    }
    client.request(1, "initialize", modern(json!({"protocolVersion": "2025-11-25"})));
    assert_eq!(client.expect_error(RequestId::from(1)).code, -32601);
}

#[test]
fn the_metadata_of_a_modern_request_is_judged() {
    let (mut client, ..) = server();
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    for (meta, code) in [
        (json!({version: "2026-07-28", capabilities: {}}), 0),
        (json!({version: "2026-07-28"}), -32602),
        (json!({capabilities: {}}), -32602),
        (json!({version: 5, capabilities: {}}), -32602),
        (json!({version: "2026-07-28", capabilities: 5}), -32602),
        (json!({version: "2025-11-25", capabilities: {}}), -32022),
        (json!({version: "2099-01-01", capabilities: {}}), -32022),
    ] {
        client.request(1, "tools/list", json!({"_meta": meta}));
        let frame: Value = serde_json::from_str(&client.expect_frame()).expect("JSON");
        assert_eq!(frame["error"]["code"].as_i64().unwrap_or(0), code, "{meta}: {frame}");
        if code == -32022 {
            assert_eq!(frame["error"]["data"]["requested"], meta[version]);
            assert!(frame["error"]["data"]["supported"].as_array().is_some_and(|all| !all.is_empty()));
        }
    }
}

#[test]
fn both_eras_share_a_connection() {
    let (mut client, ..) = server();
    let call = json!({"name": "echo", "arguments": {"a": 1}});
    client.request(0, "tools/call", modern(call.clone()));
    assert_eq!(client.expect_result(0).to_value()["resultType"], "complete");
    initialize(&mut client, "2025-06-18");
    for id in 0..10 {
        let is_modern = id % 2 == 0;
        let params = if is_modern { modern(call.clone()) } else { call.clone() };
        client.request(id, "tools/call", params);
        let result = client.expect_result(id).to_value();
        assert_eq!(result["content"][0]["text"], r#"{"a":1}"#);
        assert_eq!(result.get("resultType").is_some(), is_modern, "{result}");
        assert_eq!(result.get("_meta").is_some(), is_modern, "{result}");
    }
}

#[test]
fn the_handshake_settles_on_what_both_speak() {
    for (asked, want) in [
        (json!("2024-11-05"), "2024-11-05"),
        (json!("2025-03-26"), "2025-03-26"),
        (json!("2025-06-18"), "2025-06-18"),
        (json!("2025-11-25"), "2025-11-25"),
        (json!("2026-07-28"), "2025-11-25"),
        (json!("1999-01-01"), "2025-11-25"),
        (json!(5), "2025-11-25"),
        (Value::Null, "2025-11-25"),
    ] {
        let (mut client, ..) = server();
        client.request(
            1,
            "initialize",
            json!({"protocolVersion": asked, "capabilities": "odd", "clientInfo": 1}),
        );
        assert_eq!(client.expect_result(1).to_value()["protocolVersion"], want, "{asked}");
    }
    // To a server without Modern revisions the probe is a method like any other that it lacks.
    let server =
        Server::builder("s", "1").versions([ProtocolVersion::V2025_06_18]).build().expect("a server");
    let mut client = ScriptedPeer::for_server(&server).with_deadline(LONG);
    for params in [modern(json!({})), json!({})] {
        client.request(1, "server/discover", params);
        assert_eq!(client.expect_error(RequestId::from(1)).code, -32601);
    }
    // A server without Legacy revisions says what it has.
    let server =
        Server::builder("s", "1").versions([ProtocolVersion::V2026_07_28]).build().expect("a server");
    let mut client = ScriptedPeer::for_server(&server).with_deadline(LONG);
    for asked in ["2025-11-25", "2026-07-28"] {
        client.request(1, "initialize", json!({"protocolVersion": asked}));
        let error = client.expect_error(RequestId::from(1));
        assert_eq!(error.code, -32022);
        assert!(error.message.ends_with("initialize request, supported: 2026-07-28"), "{error}");
        let data = error.data.expect("data").to_value();
        assert_eq!(data, json!({"supported": ["2026-07-28"], "requested": asked}));
    }
}

#[test]
fn batches_are_of_one_revision() {
    let batch =
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/list"}]"#;
    for version in [None, Some("2024-11-05"), Some("2025-06-18"), Some("2025-11-25")] {
        let (mut client, ..) = server();
        if let Some(version) = version {
            initialize(&mut client, version);
        }
        client.send_raw(batch);
        assert_eq!(client.expect_error(None).code, -32600, "{version:?}");
        expect_nothing(&mut client);
    }
}

/// The answers of a batch by id, `null` for those without one.
fn answers(client: &mut ScriptedPeer) -> Vec<(Value, Value)> {
    let frame: Value = serde_json::from_str(&client.expect_frame()).expect("JSON");
    let answers = frame.as_array().unwrap_or_else(|| panic!("no batch: {frame}"));
    let what = |answer: &Value| match answer["error"]["code"].as_i64() {
        Some(code) => json!(code),
        None => answer["result"]["content"][0]["text"].clone(),
    };
    let mut answers: Vec<_> = answers.iter().map(|answer| (answer["id"].clone(), what(answer))).collect();
    answers.sort_by_key(|(id, _)| id.to_string());
    answers
}

#[test]
fn a_batch_is_answered_by_a_batch() {
    let (mut client, gate, _) = server();
    initialize(&mut client, "2025-03-26");
    let call = |id: Value, name: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name}});
    let note = json!({"jsonrpc": "2.0", "method": "notifications/unknown"});
    let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
    let again = json!({"jsonrpc": "2.0", "id": 9, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}});
    client.send_raw(
        json!([call(json!(1), "echo"), note, ping, 5, again, call(json!("1"), "nope")]).to_string(),
    );
    assert_eq!(
        answers(&mut client),
        [
            (json!("1"), json!(-32602)),
            (json!("p"), Value::Null),
            (json!(1), json!("{}")),
            (json!(9), json!(-32600)),
            (Value::Null, json!(-32600)),
        ]
    );
    let modern_ping = json!({"jsonrpc": "2.0", "id": "m", "method": "ping", "params": modern(json!({}))});
    client.send_raw(json!([modern_ping, ping]).to_string());
    assert_eq!(answers(&mut client), [(json!("m"), json!(-32601)), (json!("p"), Value::Null)]);
    // Nothing to say is not an empty batch.
    client.send_raw(json!([note, note]).to_string());
    expect_nothing(&mut client);
    let endless = format!("[5{}]", ",5".repeat(4096));
    for refused in ["[]", "[ ]", &endless] {
        client.send_raw(refused);
        assert_eq!(client.expect_error(None).code, -32600);
    }
    // What is in a batch can be cancelled, and the rest is answered.
    client.send_raw(
        json!([call(json!(1), "hold"), call(json!(2), "echo"), call(json!(3), "echo")]).to_string(),
    );
    gate.entered();
    client.notify("notifications/cancelled", json!({"requestId": 1}));
    client.notify("notifications/cancelled", json!({"requestId": 3}));
    expect_nothing(&mut client);
    gate.release();
    assert_eq!(answers(&mut client), [(json!(2), json!("{}"))]);
}

#[test]
fn a_batch_harms_no_open_call_and_is_bounded() {
    let (mut client, gate, _) = server();
    initialize(&mut client, "2025-03-26");
    client.request(7, "tools/call", json!({"name": "hold"}));
    gate.entered();
    let again = json!({"jsonrpc": "2.0", "id": 7, "method": "initialize"});
    let bad = json!({"jsonrpc": "2.0", "id": 7, "method": 5});
    client.send_raw(json!([again, bad]).to_string());
    assert_eq!(answers(&mut client), [(Value::Null, json!(-32600)), (Value::Null, json!(-32600))]);
    gate.release();
    client.expect_result(7);
    // Every "5" would get an error of a hundred bytes.
    client.send_raw(format!("[{}5]", "5,".repeat(10_000)));
    let error = client.expect_error(None);
    assert_eq!(error.code, -32600);
    assert!(error.message.starts_with("a batch has at most 4096 messages"), "{error}");
}
