//! What clients in the wild send to servers with resources, prompts, completion and questions.

#[path = "support/dialog.rs"]
mod dialog;

use dialog::Dialog;
use serde_json::{Value, json};
use tinymcp::jsonrpc::Response;
use tinymcp::protocol::{CreateMessageParams, Resource, ResourceTemplate};
use tinymcp::testing::ScriptedPeer;
use tinymcp::{
    Context, FnResource, FnTemplate, FnTool, Message, PromptRegistry, ProtocolVersion, RequestId,
    ResourceRegistry, Server, ToolError, ToolRegistry, prompt,
};

fn asking_server(threads: usize) -> Server {
    let ask = FnTool::new("ask", "", json!({"type": "object"}), |_, cx: &Context| {
        let answer = cx.sample("s", CreateMessageParams::new(1).with_user("Hi"))?;
        Ok::<_, ToolError>(answer.text_content())
    });
    let tools = ToolRegistry::new().with(ask).expect("free");
    Server::builder("asks", "1").tools(tools).max_threads(threads).build().expect("a server")
}

/// Answers need none of the threads that wait for them.
#[test]
fn a_server_whose_threads_all_wait_hears_the_answers() {
    for threads in [1, 2] {
        let mut peer = ScriptedPeer::for_server(&asking_server(threads));
        let hello = json!({"protocolVersion": ProtocolVersion::V2025_11_25, "capabilities": {"sampling": {}},
                           "clientInfo": {"name": "c", "version": "1"}});
        peer.request(0, "initialize", hello);
        peer.expect_result(0);
        peer.notify("notifications/initialized", json!({}));
        let calls = 4;
        for id in 1..=calls {
            peer.request(id, "tools/call", json!({"name": "ask", "arguments": {}}));
        }
        peer.request(99, "ping", json!({}));
        let (mut open, mut answered, mut is_alive) = (Vec::new(), 0, false);
        while answered < calls {
            match peer.expect() {
                Message::Request(question) => open.push(question.id),
                Message::Response(Response { id: Some(RequestId::Number(99)), .. }) => is_alive = true,
                Message::Response(Response { result: Ok(result), .. }) => {
                    assert_eq!(result.to_value()["content"][0]["text"], "said");
                    answered += 1;
                }
                other => panic!("{other:?}"),
            }
            // Only once there is an answer to the ping, and so every thread waits that there is.
            while let (true, Some(id)) = (is_alive, open.last()) {
                let said =
                    json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "said"}});
                peer.respond(id, said);
                open.pop();
            }
        }
    }
}

/// A server with everything, to which clients send odd parameters.
fn full_server() -> Server {
    let note = ResourceTemplate::new("notes:///{name}", "note");
    let note = FnTemplate::new(note, |variables, _: &Context| variables.get("name").map(str::to_owned));
    let note = note.complete_from("name", ["moon"]);
    let readme = FnResource::text(Resource::new("notes:///readme", "readme"), "read me");
    let resources = ResourceRegistry::new().with(readme).expect("free").with_template(note).expect("free");
    let explain = prompt! {
        /// Explain something
        fn explain(topic: String, words: Option<u32>) -> String { format!("{topic} {words:?}") }
    };
    let prompts = PromptRegistry::new().with(explain.complete_from("topic", ["tides"])).expect("free");
    Server::builder("full", "1").resources(resources).prompts(prompts).logging().build().expect("a server")
}

#[test]
fn odd_parameters_are_read_or_are_the_error_of_their_request() {
    let server = full_server();
    let template = json!({"type": "ref/resource", "uri": "notes:///{name}"});
    let prompt = json!({"type": "ref/prompt", "name": "explain"});
    let typed = json!({"name": "topic", "value": ""});
    for mut dialog in Dialog::all(&server) {
        let is_modern = dialog.version.is_modern();
        let mut cases = vec![
            ("resources/list", json!({"cursor": null}), Ok(r#""notes:///readme""#)),
            ("resources/list", json!({"cursor": 5}), Err("cursor")),
            ("resources/list", json!({"cursor": "nobody's"}), Err("cursor")),
            ("resources/templates/list", json!({"cursor": ""}), Err("cursor")),
            ("prompts/list", json!({"cursor": "nobody's"}), Err("cursor")),
            ("prompts/list", json!({"filter": [1]}), Ok("explain")),
            ("resources/read", json!({}), Err("uri")),
            ("resources/read", json!({"uri": null}), Err("uri")),
            ("resources/read", json!({"uri": ["notes:///readme"]}), Err("uri")),
            ("resources/read", json!({"uri": ""}), Err("")),
            ("resources/read", json!({"uri": "notes:///readme", "more": {}}), Ok("read me")),
            ("prompts/get", json!({}), Err("name")),
            ("prompts/get", json!({"name": "explain"}), Err("topic: missing")),
            ("prompts/get", json!({"name": "explain", "arguments": null}), Err("topic: missing")),
            ("prompts/get", json!({"name": "explain", "arguments": []}), Err("arguments")),
            ("prompts/get", json!({"name": "explain", "arguments": {"topic": {}}}), Err("topic")),
            // What users of the SDKs send though the arguments are texts.
            (
                "prompts/get",
                json!({"name": "explain", "arguments": {"topic": true, "words": 5}}),
                Ok("true Some(5)"),
            ),
            (
                "prompts/get",
                json!({"name": "explain", "arguments": {"topic": "x", "words": null}}),
                Ok("x None"),
            ),
            (
                "prompts/get",
                json!({"name": "explain", "arguments": {"topic": "x", "words": "many"}}),
                Err("words"),
            ),
            ("completion/complete", json!({}), Err("ref")),
            ("completion/complete", json!({"ref": prompt}), Err("argument")),
            ("completion/complete", json!({"ref": {"type": "ref/song"}, "argument": typed}), Err("ref")),
            ("completion/complete", json!({"ref": {"name": "explain"}, "argument": typed}), Err("ref")),
            ("completion/complete", json!({"ref": prompt, "argument": {"name": "topic"}}), Err("value")),
            ("completion/complete", json!({"ref": prompt, "argument": typed, "context": null}), Ok("tides")),
            (
                "completion/complete",
                json!({"ref": prompt, "argument": typed, "context": {"arguments": null}}),
                Ok("tides"),
            ),
            (
                "completion/complete",
                json!({"ref": template, "argument": {"name": "name", "value": "m"}}),
                Ok("moon"),
            ),
        ];
        if !is_modern {
            cases.extend([
                ("logging/setLevel", json!({}), Err("level")),
                ("logging/setLevel", json!({"level": null}), Err("level")),
                ("logging/setLevel", json!({"level": "loud"}), Err("level")),
                ("resources/subscribe", json!({}), Err("uri")),
                ("resources/unsubscribe", json!({"uri": "notes:///never"}), Ok("{}")),
            ]);
        } else {
            let responses = |responses: Value| {
                (
                    "prompts/get",
                    json!({"name": "explain", "arguments": {"topic": "x"}, "inputResponses": responses}),
                    Ok("x None"),
                )
            };
            cases.extend([responses(Value::Null), responses(json!({"nobody": {"asked": 1}}))]);
        }
        for (method, params, expected) in cases {
            let version = dialog.version.clone();
            let answer = dialog.ask(method, params.clone()).answer;
            match (answer, expected) {
                (Ok(result), Ok(text)) => assert!(result.to_string().contains(text), "{params}: {result}"),
                (Err((-32602, message)), Err(word)) => assert!(message.contains(word), "{params}: {message}"),
                // An address that is none may be one of nothing.
                (Err((-32002, _)), Err("")) => {}
                (answer, _) => panic!("{version} {method} {params}: {answer:?}, not {expected:?}"),
            }
        }
    }
}
