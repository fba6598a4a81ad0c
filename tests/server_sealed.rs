//! Calls whose state is carried by their client: any server that has the key goes on with them.

use serde_json::{Value, json};
use tinymcp::http::SealedStates;
use tinymcp::protocol::{ElicitParams, PrimitiveSchema, RequestedSchema};
use tinymcp::testing::ScriptedPeer;
use tinymcp::{Context, FnTool, RequestId, Server, ToolError, ToolRegistry};

/// Asks twice, and does something in between.
fn book(cx: &Context) -> Result<String, ToolError> {
    let form = |message: &str| {
        ElicitParams::form(message, RequestedSchema::new().required("text", PrimitiveSchema::text()))
    };
    let from: Option<Value> = cx.elicit("from", form("From?"))?.content_as()?;
    let seat = cx.step("seat", || Ok::<_, ToolError>("12A".to_owned()))?;
    let to: Option<Value> = cx.elicit("to", form("To?"))?.content_as()?;
    let text = |answer: Option<Value>| answer.unwrap_or_default()["text"].as_str().unwrap_or("?").to_owned();
    Ok(format!("{} to {}, {seat}", text(from), text(to)))
}

fn server(states: SealedStates) -> ScriptedPeer {
    let tools = ToolRegistry::new();
    tools
        .register(FnTool::new("book", "", json!({"type": "object"}), |_, cx: &Context| book(cx)))
        .expect("registered");
    let server = Server::builder("travel", "1").tools(tools).state_store(states).build().expect("a server");
    ScriptedPeer::for_server(&server)
}

fn with_key(byte: u8) -> SealedStates {
    SealedStates::with_key(&[byte; 32]).expect("long enough")
}

/// A round of the call, with the answer to `key` and the state of the round before.
fn ask(peer: &mut ScriptedPeer, id: i64, arguments: Value, more: Option<(&str, &str, &Value)>) {
    let mut params = json!({"name": "book", "arguments": arguments, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    }});
    if let Some((key, answer, before)) = more {
        params["inputResponses"] = json!({key: {"action": "accept", "content": {"text": answer}}});
        params["requestState"] = before["requestState"].clone();
    }
    peer.request(id, "tools/call", params);
}

#[test]
fn each_round_may_be_another_servers() {
    let [mut one, mut other, mut third] = [with_key(1), with_key(1), with_key(1)].map(server);
    ask(&mut one, 1, json!({}), None);
    let first = one.expect_result(1).to_value();
    assert_eq!(first["resultType"], "input_required", "{first}");
    ask(&mut other, 1, json!({}), Some(("from", "Ulm", &first)));
    let second = other.expect_result(1).to_value();
    assert_eq!(second["inputRequests"]["to"]["method"], "elicitation/create", "{second}");
    // Sealed and not consumed: the same round once more has the same result.
    for id in 1..=2 {
        ask(&mut third, id, json!({}), Some(("to", "Rome", &second)));
        let result = third.expect_result(id).to_value();
        assert_eq!(result["content"][0]["text"], "Ulm to Rome, 12A", "{result}");
    }
}

#[test]
fn a_state_is_good_for_its_own_call_and_for_those_who_know_the_key() {
    let mut one = server(with_key(1));
    ask(&mut one, 1, json!({}), None);
    let first = one.expect_result(1).to_value();
    let mut changed = first.clone();
    let state = first["requestState"].as_str().expect("a state");
    changed["requestState"] = json!(format!("{state}A"));
    let rotated = with_key(2).also_accept(&[1; 32]).expect("long enough");
    let refused = |states: SealedStates, arguments: Value, before: &Value| {
        let mut peer = server(states);
        ask(&mut peer, 1, arguments, Some(("from", "Ulm", before)));
        let error = peer.expect_error(RequestId::from(1));
        assert_eq!(
            (error.code, error.message.as_str()),
            (-32602, "params.requestState: unknown, or used already")
        );
    };
    refused(with_key(1), json!({"other": 1}), &first);
    refused(with_key(1), json!({}), &changed);
    refused(with_key(2), json!({}), &first);
    refused(SealedStates::new().expect("random bytes"), json!({}), &first);
    let mut peer = server(rotated);
    ask(&mut peer, 1, json!({}), Some(("from", "Ulm", &first)));
    assert_eq!(peer.expect_result(1).to_value()["resultType"], "input_required");
}
