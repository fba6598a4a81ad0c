//! What clients in the wild send to servers with resources, prompts, completion and questions.

#[path = "support/dialog.rs"]
mod dialog;

use dialog::Dialog;
use serde_json::{Value, json};
use tinymcp::json::{FromJson, Json};
use tinymcp::jsonrpc::Response;
use tinymcp::protocol::{
    CallToolResult, CompleteResult, CreateMessageParams, GetPromptResult, Prompt, PromptArgument,
    ReadResourceResult, Resource, ResourceTemplate,
};
use tinymcp::testing::ScriptedPeer;
use tinymcp::{
    Context, FnPrompt, FnResource, FnTemplate, FnTool, Message, PromptRegistry, ProtocolVersion, RequestId,
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

/// With members that nobody knows, in each object.
fn sprinkled(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: serde_json::Map<_, _> =
                members.iter().map(|(name, value)| (name.clone(), sprinkled(value))).collect();
            members.insert("x-unknown".to_owned(), json!({"kept": [9_007_199_254_740_993_u64, null]}));
            Value::Object(members)
        }
        Value::Array(items) => items.iter().map(sprinkled).collect(),
        other => other.clone(),
    }
}

/// The parts of `value` that `shape` has: a revision adds members of its own.
fn part(value: &Value, shape: &Value) -> Value {
    match (value, shape) {
        (Value::Object(value), Value::Object(shape)) => {
            let members = shape.iter().map(|(name, shape)| (name.clone(), part(&value[name], shape)));
            members.collect()
        }
        (Value::Array(value), Value::Array(shape)) if value.len() == shape.len() => {
            value.iter().zip(shape).map(|(value, shape)| part(value, shape)).collect()
        }
        _ => value.clone(),
    }
}

#[test]
fn what_nobody_knows_survives_a_server_that_passes_it_on() {
    let contents = json!([{"uri": "a:b", "text": "t"}, {"uri": "a:c", "blob": "AA=="}]);
    let read = sprinkled(&json!({"contents": contents, "_meta": {"m": 1}}));
    let text = json!({"type": "text", "text": "t", "annotations": {"priority": 0.5}});
    let embedded = json!({"type": "resource", "resource": {"uri": "a:b", "text": "t"}});
    let messages = json!([{"role": "user", "content": text}, {"role": "assistant", "content": embedded}]);
    let got = sprinkled(&json!({"messages": messages, "description": "d"}));
    let called =
        sprinkled(&json!({"content": [text, embedded], "structuredContent": {"n": 1}, "isError": false}));
    let found = sprinkled(&json!({"completion": {"values": ["a"], "total": 1, "hasMore": false}}));
    let listed =
        sprinkled(&json!({"name": "r", "uri": "a:b", "title": "R", "annotations": {"audience": ["user"]}}));

    let definition: Resource = from(&listed);
    let (passed, filled, done, proposed) = (read.clone(), got.clone(), called.clone(), found.clone());
    let resource = FnResource::new(definition, move |_| from::<ReadResourceResult>(&passed));
    let prompt = FnPrompt::new(Prompt::new("p").with_argument(PromptArgument::new("a")), move |_, _| {
        from::<GetPromptResult>(&filled)
    });
    let prompt = prompt.complete("a", move |_, _, _| from::<CompleteResult>(&proposed).completion);
    let tool =
        FnTool::new("t", "", json!({"type": "object"}), move |_, _: &Context| from::<CallToolResult>(&done));
    let server = Server::builder("proxy", "1")
        .tools(ToolRegistry::new().with(tool).expect("free"))
        .resources(ResourceRegistry::new().with(resource).expect("free"))
        .prompts(PromptRegistry::new().with(prompt).expect("free"))
        .build()
        .expect("a server");
    for mut dialog in Dialog::all(&server).filter(|dialog| dialog.version >= ProtocolVersion::V2025_11_25) {
        let typed =
            json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}});
        // The completion is made by the handler, its frame by the server.
        let found = json!({"completion": found["completion"]});
        for (method, params, expected) in [
            ("resources/read", json!({"uri": "a:b"}), &read),
            ("prompts/get", json!({"name": "p"}), &got),
            ("tools/call", json!({"name": "t"}), &called),
            ("completion/complete", typed, &found),
            ("resources/list", json!({}), &json!({"resources": [listed]})),
        ] {
            let result = dialog.ask(method, params).result();
            assert_eq!(part(&result, expected), *expected, "{} {method}", dialog.version);
        }
    }
}

fn from<T: FromJson>(value: &Value) -> T {
    T::from_json(Json::from(value.clone()).as_raw()).expect("well-formed")
}
