//! What a handler asks of its client: as requests to a Legacy one, as rounds to a Modern one, by the same source.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tinymcp::context::{Ability, AskError, Question};
use tinymcp::json::Object;
use tinymcp::protocol::{
    CompletionContext, CreateMessageParams, ElicitParams, ElicitUrlParams, IncludeContext, PrimitiveSchema,
    RequestedSchema, ToolUseContent,
};
use tinymcp::testing::ScriptedPeer;
use tinymcp::{Context, FnTool, PromptRegistry, ProtocolVersion, Server, ToolError, ToolRegistry, prompt};

/// Everything that can be declared.
fn able() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}, "context": {}}, "roots": {}})
}

fn schema() -> Value {
    json!({"type": "object"})
}

fn form(message: &str) -> ElicitParams {
    ElicitParams::form(message, RequestedSchema::new().required("name", PrimitiveSchema::text()))
}

/// How often the effect of `deploy` happened.
static RELEASES: AtomicU32 = AtomicU32::new(0);

/// Asks once, does something once, and asks for two things at once.
fn deploy(cx: &Context) -> Result<String, ToolError> {
    let who = cx.elicit("who", form("Who?"))?;
    let who: Option<Value> = who.content_as()?;
    let release: u32 = cx.step("release", || Ok::<_, ToolError>(RELEASES.fetch_add(1, Ordering::SeqCst)))?;
    let ask = CreateMessageParams::new(10).with_user("Hi").with_include_context(IncludeContext::ThisServer);
    let (said, roots) = cx.ask((Question::sample("said", ask), Question::roots("where")))?;
    Ok(format!("{} {} {} {release}", who.unwrap_or_default()["name"], said.text_content(), roots[0].uri))
}

/// Asks with one key until the answer is good.
fn insist(cx: &Context) -> Result<String, ToolError> {
    for _ in 0..3 {
        let answer = cx.elicit("name", form("Your name, at least two letters"))?;
        let Some(content) = answer.content_as::<Value>()? else { return Ok("gave up".into()) };
        if let Some(name) = content["name"].as_str().filter(|name| name.len() >= 2) {
            return Ok(name.to_owned());
        }
    }
    Err(ToolError::new("no name"))
}

fn tools() -> ToolRegistry {
    let tool = |name: &str, run: fn(&Context) -> Result<String, ToolError>| {
        FnTool::new(name, "", schema(), move |_, cx| run(cx))
    };
    let tools = ToolRegistry::new();
    tools.register(tool("deploy", deploy)).expect("registered");
    tools.register(tool("insist", insist)).expect("registered");
    tools
        .register(tool("swallows", |cx| {
            cx.roots().map(|_| "got them".to_owned()).map_err(|e| ToolError::new(format!("lost: {e}")))
        }))
        .expect("registered");
    tools
        .register(tool("optional", |cx| match cx.supports(Ability::Form) {
            true => Ok("asks".to_owned()),
            false => Ok("does without".to_owned()),
        }))
        .expect("registered");
    tools
        .register(tool("unbalanced", |cx| {
            let call = ToolUseContent::new("1", "clock", Object::new());
            let ask = CreateMessageParams::new(10).with_assistant(call).with_user("Well?");
            Ok(cx.ask((Question::roots("where"), Question::sample("said", ask)))?.1.text_content())
        }))
        .expect("registered");
    tools
        .register(tool("login", |_| {
            let login = ElicitUrlParams::new("Log in", "https://example.com/login").with_elicitation_id("7");
            Err(ToolError::url_elicitation_required(vec![login]))
        }))
        .expect("registered");
    tools
}

fn server() -> Server {
    Server::builder("asks", "1").tools(tools()).build().expect("a server")
}

fn modern(capabilities: &Value) -> Value {
    json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
           "io.modelcontextprotocol/clientCapabilities": capabilities})
}

fn legacy(version: &ProtocolVersion, capabilities: &Value) -> ScriptedPeer {
    let mut peer = ScriptedPeer::for_server(&server());
    let hello = json!({"protocolVersion": version, "capabilities": capabilities,
                       "clientInfo": {"name": "c", "version": "1"}});
    peer.request(0, "initialize", hello);
    peer.expect_result(0);
    peer.notify("notifications/initialized", json!({}));
    peer
}

fn call(peer: &mut ScriptedPeer, id: i64, params: Value) {
    peer.request(id, "tools/call", params);
}

/// A Modern call, with more members.
fn round(peer: &mut ScriptedPeer, id: i64, tool: &str, more: Value) -> Value {
    let mut params = json!({"name": tool, "arguments": {}, "_meta": modern(&able())});
    params.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    call(peer, id, params);
    peer.expect_result(id).to_value()
}

fn answer(request: &str) -> Value {
    match request {
        "elicitation/create" => json!({"action": "accept", "content": {"name": "Ada"}}),
        "sampling/createMessage" => {
            json!({"role": "assistant", "content": {"type": "text", "text": "Hello"}, "model": "m"})
        }
        "roots/list" => json!({"roots": [{"uri": "file:///work"}]}),
        other => panic!("asked for {other}"),
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}

#[test]
fn the_same_source_serves_every_revision_that_can_ask() {
    for version in &ProtocolVersion::ALL {
        let before = RELEASES.load(Ordering::SeqCst);
        let has_elicitation = *version >= ProtocolVersion::V2025_06_18;
        let result = if version.is_modern() {
            let mut peer = ScriptedPeer::for_server(&server());
            let mut result = round(&mut peer, 1, "deploy", json!({}));
            let mut rounds = 1;
            while result["resultType"] == "input_required" {
                rounds += 1;
                let asked = result["inputRequests"].as_object().expect("questions").clone();
                let answers: serde_json::Map<_, _> = asked
                    .iter()
                    .map(|(key, ask)| (key.clone(), answer(ask["method"].as_str().expect("a method"))))
                    .collect();
                let more = json!({"inputResponses": answers, "requestState": result["requestState"]});
                result = round(&mut peer, rounds, "deploy", more);
            }
            assert_eq!(rounds, 3, "both questions of the second round were asked at once");
            result
        } else {
            let mut peer = legacy(version, &able());
            call(&mut peer, 1, json!({"name": "deploy", "arguments": {}}));
            if has_elicitation {
                let asked = peer.expect_request("elicitation/create");
                let mode = asked.params.expect("params").to_value()["mode"].clone();
                assert_eq!(mode.is_null(), *version < ProtocolVersion::V2025_11_25, "{version}");
                peer.respond(&asked.id, answer("elicitation/create"));
                let sample = peer.expect_request("sampling/createMessage");
                let roots = peer.expect_request("roots/list");
                // Answered in the other order.
                peer.respond(&roots.id, answer("roots/list"));
                peer.respond(&sample.id, answer("sampling/createMessage"));
            }
            peer.expect_result(1).to_value()
        };
        let releases = RELEASES.load(Ordering::SeqCst) - before;
        if has_elicitation {
            assert_eq!(text(&result), format!("\"Ada\" Hello file:///work {before}"), "{version}");
            assert_eq!(releases, 1, "{version}");
        } else {
            assert_eq!(result["isError"], true, "{version}");
            assert_eq!(text(&result), "the client does not support elicitation with a form", "{version}");
            assert_eq!(releases, 0, "{version}");
        }
    }
}

#[test]
fn nothing_is_asked_that_was_not_declared() {
    for version in &ProtocolVersion::ALL {
        for (capabilities, is_able) in [(json!({}), false), (json!({"sampling": {}, "roots": {}}), false)] {
            assert!(!is_able);
            if version.is_modern() {
                let mut peer = ScriptedPeer::for_server(&server());
                let params = |tool: &str| json!({"name": tool, "_meta": modern(&capabilities)});
                call(&mut peer, 1, params("deploy"));
                let error = peer.expect_error(tinymcp::RequestId::from(1));
                assert_eq!(error.code, -32021);
                let data = error.data.expect("data").to_value();
                assert_eq!(data, json!({"requiredCapabilities": {"elicitation": {"form": {}}}}));
                call(&mut peer, 2, params("optional"));
                assert_eq!(text(&peer.expect_result(2).to_value()), "does without");
            } else {
                let mut peer = legacy(version, &capabilities);
                call(&mut peer, 1, json!({"name": "deploy"}));
                let result = peer.expect_result(1).to_value();
                assert_eq!(result["isError"], true, "{version}: {result}");
                assert!(text(&result).contains("elicitation"), "{version}: {result}");
            }
        }
    }
}

#[test]
fn a_state_is_for_one_retry_of_its_own_call_in_time() {
    let mut peer = ScriptedPeer::for_server(&server());
    let first = round(&mut peer, 1, "insist", json!({}));
    assert_eq!(first["resultType"], "input_required", "{first}");
    assert_eq!(first.get("ttlMs"), None, "{first}");
    let state = first["requestState"].as_str().expect("a state").to_owned();
    let answers = json!({"name": answer("elicitation/create")});
    let attempt = |peer: &mut ScriptedPeer, id: i64, params: Value| {
        let mut all =
            json!({"name": "insist", "arguments": {}, "_meta": modern(&able()), "inputResponses": answers});
        all.as_object_mut().expect("an object").extend(params.as_object().expect("an object").clone());
        call(peer, id, all);
    };
    let refused = |peer: &mut ScriptedPeer, id: i64, problem: &str| {
        let error = peer.expect_error(tinymcp::RequestId::from(id));
        assert_eq!(error.code, -32602, "{error}");
        assert!(error.message.contains(problem), "{error}");
    };
    attempt(&mut peer, 2, json!({"requestState": format!("{state}-TAMPERED")}));
    refused(&mut peer, 2, "unknown");
    attempt(&mut peer, 3, json!({"requestState": state, "arguments": {"other": 1}}));
    refused(&mut peer, 3, "another call");
    attempt(&mut peer, 4, json!({"requestState": state, "name": "deploy"}));
    refused(&mut peer, 4, "another call");
    attempt(&mut peer, 5, json!({"requestState": 5}));
    refused(&mut peer, 5, "params.requestState: expected a string");
    attempt(&mut peer, 6, json!({"requestState": state, "inputResponses": []}));
    refused(&mut peer, 6, "params.inputResponses: expected an object");
    // The same call, spelled otherwise, on any connection.
    let mut same = json!({"requestState": state});
    same["_meta"] = modern(&able());
    attempt(&mut peer, 7, same);
    assert_eq!(text(&peer.expect_result(7).to_value()), "Ada");
    attempt(&mut peer, 8, json!({"requestState": state}));
    refused(&mut peer, 8, "used already");

    let hasty =
        Server::builder("hasty", "1").tools(tools()).input_time(Duration::ZERO).build().expect("a server");
    let mut peer = ScriptedPeer::for_server(&hasty);
    let first = round(&mut peer, 1, "insist", json!({}));
    attempt(&mut peer, 2, json!({"requestState": first["requestState"]}));
    refused(&mut peer, 2, "expired");
}

#[test]
fn what_is_missing_is_asked_again_and_what_was_not_asked_is_ignored() {
    let mut peer = ScriptedPeer::for_server(&server());
    let first = round(&mut peer, 1, "insist", json!({"inputResponses": {"wrong": {"action": "accept"}}}));
    let state = &first["requestState"];
    let again = round(
        &mut peer,
        2,
        "insist",
        json!({"requestState": state, "inputResponses": {"wrong": {"action": "accept"}}}),
    );
    assert_eq!(again["inputRequests"], first["inputRequests"]);
    assert_ne!(again["requestState"], first["requestState"]);
    // A key that is used again is another question.
    let short = json!({"name": {"action": "accept", "content": {"name": "A"}}});
    let third = round(
        &mut peer,
        3,
        "insist",
        json!({"requestState": again["requestState"], "inputResponses": short}),
    );
    assert_eq!(third["inputRequests"].as_object().expect("questions").keys().collect::<Vec<_>>(), ["name#2"]);
    let long = json!({"name#2": {"action": "accept", "content": {"name": "Al"}}});
    let last =
        round(&mut peer, 4, "insist", json!({"requestState": third["requestState"], "inputResponses": long}));
    assert_eq!(text(&last), "Al");
}

#[test]
fn a_client_may_answer_before_it_is_asked() {
    let mut peer = ScriptedPeer::for_server(&server());
    let short = json!({"action": "accept", "content": {"name": "A"}});
    let ahead = json!({"name": answer("elicitation/create"), "other": {"action": "accept"}});
    assert_eq!(text(&round(&mut peer, 1, "insist", json!({"inputResponses": ahead}))), "Ada");
    // Only to the first question of a key; it is checked, and kept for the rounds that follow.
    let again = round(&mut peer, 2, "insist", json!({"inputResponses": {"name": short}}));
    assert_eq!(again["inputRequests"].as_object().expect("questions").keys().collect::<Vec<_>>(), ["name#2"]);
    let long = json!({"name#2": {"action": "accept", "content": {"name": "Al"}}});
    let more = json!({"requestState": again["requestState"], "inputResponses": long});
    assert_eq!(text(&round(&mut peer, 3, "insist", more)), "Al");
    // What cannot be an answer is no reason to ask, and costs no state.
    let first = round(&mut peer, 4, "insist", json!({}));
    let state = &first["requestState"];
    for (id, params) in [
        (5, json!({"inputResponses": {"name": 12345}})),
        (6, json!({"inputResponses": {"name": 12345}, "requestState": state})),
    ] {
        let mut all = json!({"name": "insist", "arguments": {}, "_meta": modern(&able())});
        all.as_object_mut().expect("an object").extend(params.as_object().expect("an object").clone());
        call(&mut peer, id, all);
        let error = peer.expect_error(tinymcp::RequestId::from(id));
        assert_eq!(error.code, -32602, "{error}");
        assert_eq!(error.message, "params.inputResponses.name: expected an object, found 12345");
    }
    let more = json!({"requestState": state, "inputResponses": {"name": answer("elicitation/create")}});
    assert_eq!(text(&round(&mut peer, 7, "insist", more)), "Ada");
    let none = round(&mut peer, 8, "insist", json!({"inputResponses": null}));
    assert_eq!(none["resultType"], "input_required");
}

#[test]
fn an_answer_that_does_not_fit_its_form_fails_the_call() {
    let mut peer = ScriptedPeer::for_server(&server());
    let first = round(&mut peer, 1, "insist", json!({}));
    let bad = json!({"name": {"action": "accept", "content": {"name": 5}}});
    let result =
        round(&mut peer, 2, "insist", json!({"requestState": first["requestState"], "inputResponses": bad}));
    assert_eq!(result["isError"], true, "{result}");
    assert!(text(&result).contains("name"), "{result}");
    // Declined is an answer.
    let first = round(&mut peer, 3, "insist", json!({}));
    let declined = json!({"name": {"action": "decline"}});
    let result = round(
        &mut peer,
        4,
        "insist",
        json!({"requestState": first["requestState"], "inputResponses": declined}),
    );
    assert_eq!(text(&result), "gave up");
}

#[test]
fn a_handler_that_rewords_the_error_still_asks() {
    let mut peer = ScriptedPeer::for_server(&server());
    let first = round(&mut peer, 1, "swallows", json!({}));
    assert_eq!(first["inputRequests"], json!({"roots": {"method": "roots/list"}}));
    let more =
        json!({"requestState": first["requestState"], "inputResponses": {"roots": answer("roots/list")}});
    assert_eq!(text(&round(&mut peer, 2, "swallows", more)), "got them");
}

#[test]
fn urls_that_must_be_visited_are_an_error_in_2025_11_25_and_a_question_after_it() {
    let mut peer = legacy(&ProtocolVersion::V2025_11_25, &able());
    call(&mut peer, 1, json!({"name": "login"}));
    let error = peer.expect_error(tinymcp::RequestId::from(1));
    assert_eq!(error.code, -32042);
    let data = error.data.expect("data").to_value();
    assert_eq!(data["elicitations"][0]["elicitationId"], "7");
    let mut peer = ScriptedPeer::for_server(&server());
    let asked = round(&mut peer, 1, "login", json!({}));
    let url = &asked["inputRequests"]["7"]["params"];
    assert_eq!((&url["mode"], &url["url"]), (&json!("url"), &json!("https://example.com/login")));
    // Who cannot be sent there is told so, in every revision.
    for version in &ProtocolVersion::ALL[..] {
        if version.is_modern() {
            continue;
        }
        let mut peer = legacy(version, &json!({"elicitation": {"form": {}}}));
        call(&mut peer, 1, json!({"name": "login"}));
        let result = peer.expect_result(1).to_value();
        assert_eq!(text(&result), "the client does not support elicitation by a URL", "{version}");
    }
    let mut peer = ScriptedPeer::for_server(&server());
    call(&mut peer, 2, json!({"name": "login", "_meta": modern(&json!({"elicitation": {"form": {}}}))}));
    assert_eq!(peer.expect_error(tinymcp::RequestId::from(2)).code, -32021);
}

#[test]
fn a_legacy_call_that_waits_ends_with_the_clients_no_its_cancellation_or_the_time() {
    let mut peer = legacy(&ProtocolVersion::V2025_11_25, &able());
    call(&mut peer, 1, json!({"name": "insist"}));
    let asked = peer.expect_request("elicitation/create");
    peer.respond_error(&asked.id, tinymcp::ErrorObject::new(-1, "no"));
    let result = peer.expect_result(1).to_value();
    assert_eq!(text(&result), "the client refused name: no (-1)");

    call(&mut peer, 2, json!({"name": "insist"}));
    let asked = peer.expect_request("elicitation/create");
    peer.notify("notifications/cancelled", json!({"requestId": 2, "reason": "enough"}));
    // The question is withdrawn, and the call not answered.
    let withdrawn = peer.expect_notification("notifications/cancelled");
    assert_eq!(withdrawn.params.expect("params").to_value()["requestId"], json!(asked.id));

    let hasty = Server::builder("hasty", "1").tools(tools()).input_time(Duration::from_millis(1)).build();
    let mut peer = ScriptedPeer::for_server(&hasty.expect("a server"));
    peer.request(0, "initialize", json!({"protocolVersion": "2025-11-25", "capabilities": able()}));
    peer.expect_result(0);
    call(&mut peer, 1, json!({"name": "insist"}));
    peer.expect_request("elicitation/create");
    peer.expect_notification("notifications/cancelled");
    assert!(text(&peer.expect_result(1).to_value()).starts_with("the client did not answer within"));
}

#[test]
fn a_client_that_goes_away_ends_the_waiting() {
    let (told_tx, told) = crossbeam_channel::bounded(1);
    let told_tx = Arc::new(told_tx);
    let tools = ToolRegistry::new();
    let tool = FnTool::new("ask", "", schema(), move |_, cx| {
        let answer = cx.roots().map(drop);
        let _ = told_tx.send(answer.clone());
        answer.map_err(ToolError::from)
    });
    tools.register(tool).expect("registered");
    let server = Server::builder("asks", "1").tools(tools).build().expect("a server");
    let mut peer = ScriptedPeer::for_server(&server);
    peer.request(0, "initialize", json!({"protocolVersion": "2025-11-25", "capabilities": able()}));
    peer.expect_result(0);
    call(&mut peer, 1, json!({"name": "ask"}));
    peer.expect_request("roots/list");
    peer.close();
    let answer = told.recv_timeout(Duration::from_secs(20)).expect("the handler went on");
    assert!(matches!(answer, Err(AskError::Closed)), "{answer:?}");
}

#[test]
fn what_must_not_be_asked_is_not() {
    let problem = "said cannot be asked: messages[0]: 1 has no result in the next message";
    let mut peer = ScriptedPeer::for_server(&server());
    assert_eq!(text(&round(&mut peer, 1, "unbalanced", json!({}))), problem);
    let mut peer = legacy(&ProtocolVersion::V2025_11_25, &able());
    call(&mut peer, 1, json!({"name": "unbalanced"}));
    assert_eq!(text(&peer.expect_result(1).to_value()), problem);
}

#[test]
fn a_modern_client_is_asked_nothing_where_there_are_no_rounds() {
    let asks = |_: &str, _: &CompletionContext, cx: &Context| {
        assert!(!cx.supports(Ability::Roots) || !cx.protocol_version().is_modern());
        Ok::<_, ToolError>(cx.roots()?.into_iter().map(|root| root.uri).collect::<Vec<_>>())
    };
    let open = prompt! { fn open(path: String) -> String { path } }.complete("path", asks);
    let prompts = PromptRegistry::new().with(open).expect("registered");
    let server = Server::builder("asks", "1").prompts(prompts).build().expect("a server");
    let path =
        json!({"ref": {"type": "ref/prompt", "name": "open"}, "argument": {"name": "path", "value": ""}});
    let mut peer = ScriptedPeer::for_server(&server);
    let mut params = path.clone();
    params["_meta"] = modern(&able());
    peer.request(1, "completion/complete", params);
    let error = peer.expect_error(tinymcp::RequestId::from(1));
    assert!(error.message.contains("can be asked only by tools/call"), "{}", error.message);
    // A Legacy one can be asked at any time.
    peer.request(2, "initialize", json!({"protocolVersion": "2025-11-25", "capabilities": able()}));
    peer.expect_result(2);
    peer.request(3, "completion/complete", path);
    let asked = peer.expect_request("roots/list");
    peer.respond(&asked.id, answer("roots/list"));
    assert_eq!(peer.expect_result(3).to_value()["completion"]["values"], json!(["file:///work"]));
}

#[test]
fn an_answer_that_is_no_message_fails_its_question_and_is_not_answered() {
    let mut peer = legacy(&ProtocolVersion::V2025_11_25, &able());
    for garbled in ["", r#","result":NaN"#, r#","error":{"code":1,"message":"a"},"result":{}"#] {
        call(&mut peer, 1, json!({"name": "insist"}));
        let asked = peer.expect_request("elicitation/create");
        peer.send_raw(format!(r#"{{"jsonrpc":"2.0","id":{}{garbled}}}"#, json!(asked.id)));
        // The next frame: an error with the id of the question would be taken for the answer to a call of that id.
        let result = peer.expect_result(1).to_value();
        assert_eq!(result["isError"], true, "{garbled}: {result}");
    }
}

#[test]
fn a_server_that_stops_answers_the_calls_that_wait_for_their_client() {
    let server = Server::builder("asks", "1").tools(tools()).grace(Duration::ZERO).build().expect("a server");
    let mut peer = ScriptedPeer::for_server(&server);
    peer.request(0, "initialize", json!({"protocolVersion": "2025-11-25", "capabilities": able()}));
    peer.expect_result(0);
    call(&mut peer, 1, json!({"name": "insist"}));
    peer.expect_request("elicitation/create");
    server.handle().stop();
    assert_eq!(text(&peer.expect_result(1).to_value()), "the connection has ended");
}
