//! Prompts and completion on a server, in every revision.

#[path = "support/dialog.rs"]
mod dialog;

use dialog::Dialog;
use serde_json::{Value, json};
use tinymcp::protocol::{
    AudioContent, Completion, CompletionContext, Content, GetPromptResult, Icon, ImageContent, Prompt,
    PromptArgument, PromptMessage, TextResourceContents,
};
use tinymcp::{
    Context, ErrorObject, FnPrompt, PromptRegistry, ProtocolVersion, Server, ToolError, data, prompt,
};

data! {
    /// How to say it
    enum Tone { Kind, Strict }
}

fn explain() -> FnPrompt {
    prompt! {
        /// Explain something
        fn explain(
            /// What
            topic: String,
            language: Option<String>,
            /// How many examples
            count: u32 = 3,
            tone: Option<Tone>,
            cx: &Context,
        ) -> Result<String, ToolError> {
            if topic == "boom" {
                panic!("on purpose");
            }
            if topic == "taboo" {
                return Err(ToolError::new("nobody speaks of that"));
            }
            if topic == "no" {
                return Err(ToolError::bad_arguments("topic: not that one"));
            }
            if topic == "own" {
                return Err(ToolError::protocol(ErrorObject::new(-32050, "not today")));
            }
            let strict = matches!(tone, Some(Tone::Strict));
            let language = language.as_deref().unwrap_or("English");
            Ok(format!("{topic} in {language}, {count} examples, strict: {strict}, {}", cx.protocol_version()))
        }
    }
    .title("Explain")
    .argument_title("topic", "The topic")
    .icon(Icon::new("https://example.com/explain.png"))
    .complete_from("language", ["English", "español", "Esperanto"])
    .complete("topic", |typed: &str, known: &CompletionContext, _: &Context| {
        let all = match known.get("language") {
            Some("español") => vec!["mareas", "luna"],
            _ => vec!["tides", "the moon"],
        };
        all.into_iter().filter(|topic| topic.starts_with(typed)).collect::<Vec<_>>()
    })
    .complete("count", |typed: &str, _: &CompletionContext, _: &Context| match typed {
        "many" => Ok(Completion::new((0..250).map(|n| n.to_string()))),
        "some" => Ok(Completion::new(["1", "2"]).with_more()),
        "boom" => panic!("on purpose"),
        "-" => Err(ToolError::new("no negative numbers")),
        _ => Ok(Completion::new(["1", "2"]).with_total(9)),
    })
}

fn prompts() -> PromptRegistry {
    let all_kinds = FnPrompt::new(Prompt::new("all_kinds"), |_, _| {
        let resource = TextResourceContents::new("test://page", "a page").with_mime_type("text/plain");
        let picture = ImageContent::from_bytes(b"picture", "image/png");
        GetPromptResult::new(vec![
            PromptMessage::user(Content::text("look")),
            PromptMessage::user(Content::Image(picture)),
            PromptMessage::user(Content::Audio(AudioContent::from_bytes(b"sound", "audio/wav"))),
            PromptMessage::user(Content::resource_link("test://page", "page")),
            PromptMessage::user(Content::resource(resource)),
            PromptMessage::assistant(Content::text("I see")),
        ])
        .with_description("Everything")
    });
    let definition = Prompt::new("late")
        .with_argument(PromptArgument::new("branch").with_required(true))
        .with_argument(PromptArgument::new("base"));
    let late =
        FnPrompt::new(definition, |arguments, _| format!("{:?}", arguments.iter().collect::<Vec<_>>()));
    let prompts = PromptRegistry::new();
    for prompt in [explain(), all_kinds, late] {
        prompts.register(prompt).expect("registers");
    }
    prompts
}

fn server() -> Server {
    Server::builder("prompter", "1").prompts(prompts()).page_size(2).build().expect("a server")
}

#[test]
fn prompts_are_listed_page_by_page_as_each_revision_knows_them() {
    for mut dialog in Dialog::all(&server()) {
        let version = dialog.version.clone();
        assert!(dialog.capabilities["prompts"].is_object(), "{version}");
        let has_completions = version >= ProtocolVersion::V2025_03_26;
        assert_eq!(dialog.capabilities.get("completions").is_some(), has_completions, "{version}");
        let first = dialog.ask("prompts/list", json!({})).result();
        let second = dialog.ask("prompts/list", json!({"cursor": first["nextCursor"]})).result();
        assert!(second.get("nextCursor").is_none(), "{second}");
        let names = |page: &Value| -> Vec<String> {
            let prompts = page["prompts"].as_array().expect("a list").iter();
            prompts.map(|prompt| prompt["name"].as_str().expect("a name").to_owned()).collect()
        };
        assert_eq!([names(&first), names(&second)].concat(), ["all_kinds", "explain", "late"]);
        let explain = &first["prompts"][1];
        assert_eq!(explain["description"], "Explain something");
        assert_eq!(explain.get("title").is_some(), version >= ProtocolVersion::V2025_06_18, "{version}");
        assert_eq!(explain.get("icons").is_some(), version >= ProtocolVersion::V2025_11_25, "{version}");
        let arguments = explain["arguments"].as_array().expect("arguments");
        let told: Vec<_> = arguments.iter().map(|a| (a["name"].as_str(), a["required"].as_bool())).collect();
        let told: Vec<_> = told.iter().map(|(name, required)| (name.unwrap_or("-"), *required)).collect();
        assert_eq!(
            told,
            [("topic", Some(true)), ("language", Some(false)), ("count", Some(false)), ("tone", Some(false))]
        );
        assert_eq!(arguments[0].get("title").is_some(), version >= ProtocolVersion::V2025_06_18);
        assert_eq!((&arguments[0]["description"], arguments[1].get("description")), (&json!("What"), None));
        assert_eq!(first.get("ttlMs").is_some(), version.is_modern(), "{version}");
        assert_eq!(dialog.ask("prompts/list", json!({"cursor": "made up"})).error().0, -32602);
    }
}

#[test]
fn what_users_type_is_read_as_what_the_prompt_wants() {
    let text = |topic: &str, language: &str, count: u32, strict: bool| {
        format!("{topic} in {language}, {count} examples, strict: {strict}")
    };
    for mut dialog in Dialog::all(&server()) {
        for (arguments, expected) in [
            (json!({"topic": "tides"}), text("tides", "English", 3, false)),
            (json!({"topic": "tides", "language": null, "count": null}), text("tides", "English", 3, false)),
            (json!({"topic": "42", "language": "", "count": "7", "tone": "Strict"}), text("42", "", 7, true)),
            (json!({"topic": "", "count": "", "tone": ""}), text("", "English", 3, false)),
            // Clients forget the quotes.
            (json!({"topic": 42, "language": true, "count": 7}), text("42", "true", 7, false)),
            (
                json!({"topic": "{\"a\":1}", "count": "4294967295"}),
                text("{\"a\":1}", "English", u32::MAX, false),
            ),
        ] {
            let params = json!({"name": "explain", "arguments": arguments});
            let result = dialog.ask("prompts/get", params).result();
            assert_eq!(result["description"], "Explain something");
            let message = &result["messages"][0];
            assert_eq!(message["role"], "user");
            assert_eq!(message["content"]["text"], format!("{expected}, {}", dialog.version));
        }
        let params = json!({"name": "late", "arguments": {"branch": "main"}});
        let result = dialog.ask("prompts/get", params).result();
        assert_eq!(result["messages"][0]["content"]["text"], r#"[("branch", "main")]"#);
    }
}

#[test]
fn errors_name_every_argument_and_are_errors_of_the_request() {
    for mut dialog in Dialog::all(&server()) {
        for (params, code, message) in [
            (json!({"name": "nobody"}), -32602, "unknown prompt: nobody"),
            (json!({}), -32602, "params.name: missing"),
            (json!({"name": 5}), -32602, "params.name: expected a string, found 5"),
            (json!({"name": "explain"}), -32602, "bad arguments for prompt explain: topic: missing"),
            (
                json!({"name": "explain", "arguments": {"count": "many", "tone": "Loud", "style": "dry"}}),
                -32602,
                "bad arguments for prompt explain: topic: missing; count: expected an integer, found \"many\"; \
                 tone: expected one of Kind, Strict, found \"Loud\"; style: unknown argument",
            ),
            (
                json!({"name": "late", "arguments": {"bronch": "x", "base": "y"}}),
                -32602,
                "bad arguments for prompt late: branch: missing; bronch: unknown argument",
            ),
            (
                json!({"name": "explain", "arguments": {"topic": ["x"]}}),
                -32602,
                "params.arguments.topic: expected a string, found [\"x\"]",
            ),
            (
                json!({"name": "explain", "arguments": {"topic": "no"}}),
                -32602,
                "bad arguments for prompt explain: topic: not that one",
            ),
            (json!({"name": "explain", "arguments": {"topic": "taboo"}}), -32603, "nobody speaks of that"),
            (json!({"name": "explain", "arguments": {"topic": "own"}}), -32050, "not today"),
            (json!({"name": "explain", "arguments": {"topic": "boom"}}), -32603, "prompt `explain` panicked"),
        ] {
            let error = dialog.ask("prompts/get", params.clone()).error();
            assert_eq!(error, (code, message.to_owned()), "{}: {params}", dialog.version);
        }
        // And the connection lives.
        dialog.ask("prompts/get", json!({"name": "all_kinds"})).result();
    }
}

#[test]
fn every_kind_of_content_reaches_each_revision_in_a_form_it_knows() {
    for mut dialog in Dialog::all(&server()) {
        let result = dialog.ask("prompts/get", json!({"name": "all_kinds", "arguments": {}})).result();
        let messages = result["messages"].as_array().expect("messages");
        let kinds: Vec<_> = messages.iter().map(|m| m["content"]["type"].as_str().unwrap_or("-")).collect();
        let audio = if dialog.version < ProtocolVersion::V2025_03_26 { "text" } else { "audio" };
        let link = if dialog.version < ProtocolVersion::V2025_06_18 { "text" } else { "resource_link" };
        assert_eq!(kinds, ["text", "image", audio, link, "resource", "text"], "{}", dialog.version);
        assert_eq!(messages[1]["content"]["data"], "cGljdHVyZQ==");
        assert_eq!(messages[4]["content"]["resource"]["text"], "a page");
        assert_eq!(
            (&messages[5]["role"], &result["description"]),
            (&json!("assistant"), &json!("Everything"))
        );
        let result_type = result.get("resultType").and_then(Value::as_str);
        assert_eq!(result_type, dialog.version.is_modern().then_some("complete"));
    }
}

fn typing(reference: &Value, argument: &str, value: &str) -> Value {
    json!({"ref": reference, "argument": {"name": argument, "value": value}})
}

#[test]
fn arguments_are_completed() {
    let many: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    let reference = json!({"type": "ref/prompt", "name": "explain"});
    for mut dialog in Dialog::all(&server()) {
        for (argument, typed, expected) in [
            ("language", "ES", json!({"values": ["español", "Esperanto"], "total": 2, "hasMore": false})),
            (
                "language",
                "",
                json!({"values": ["English", "español", "Esperanto"], "total": 3, "hasMore": false}),
            ),
            ("language", "x", json!({"values": [], "total": 0, "hasMore": false})),
            ("topic", "t", json!({"values": ["tides", "the moon"], "total": 2, "hasMore": false})),
            // An enum of words completes itself.
            ("tone", "s", json!({"values": ["Strict"], "total": 1, "hasMore": false})),
            ("count", "many", json!({"values": many, "total": 250, "hasMore": true})),
            ("count", "some", json!({"values": ["1", "2"], "hasMore": true})),
            ("count", "1", json!({"values": ["1", "2"], "total": 9, "hasMore": true})),
            ("nothing", "x", json!({"values": [], "total": 0, "hasMore": false})),
        ] {
            let result = dialog.ask("completion/complete", typing(&reference, argument, typed)).result();
            assert_eq!(result["completion"], expected, "{}: {argument} {typed}", dialog.version);
        }
        let mut params = typing(&reference, "topic", "m");
        params["context"] = json!({"arguments": {"language": "español"}});
        let result = dialog.ask("completion/complete", params).result();
        assert_eq!(result["completion"]["values"], json!(["mareas"]));
        // A prompt that is known and completes nothing.
        let silent = json!({"type": "ref/prompt", "name": "all_kinds"});
        let result = dialog.ask("completion/complete", typing(&silent, "x", "")).result();
        assert_eq!(result["completion"]["values"], json!([]));
    }
}

#[test]
fn what_cannot_be_completed_is_an_error() {
    let prompt = json!({"type": "ref/prompt", "name": "explain"});
    for mut dialog in Dialog::all(&server()) {
        for (params, code, message) in [
            (
                typing(&json!({"type": "ref/prompt", "name": "nobody"}), "x", ""),
                -32602,
                "unknown prompt: nobody",
            ),
            (
                typing(&json!({"type": "ref/resource", "uri": "file:///{path}"}), "path", ""),
                -32602,
                "unknown resource template: file:///{path}",
            ),
            (
                typing(&json!({"type": "ref/tool", "name": "x"}), "x", ""),
                -32602,
                "params.ref.type: expected ref/prompt or ref/resource",
            ),
            (json!({"argument": {"name": "x", "value": ""}}), -32602, "params.ref: missing"),
            (json!({"ref": prompt, "argument": {"name": "x"}}), -32602, "params.argument.value: missing"),
            (typing(&prompt, "count", "-"), -32603, "no negative numbers"),
            (typing(&prompt, "count", "boom"), -32603, "the completion of `explain` panicked"),
        ] {
            let error = dialog.ask("completion/complete", params.clone()).error();
            assert_eq!(error, (code, message.to_owned()), "{}: {params}", dialog.version);
        }
    }
}

#[test]
fn only_what_is_there_is_offered() {
    let without = Server::builder("empty", "1").build().expect("a server");
    assert!(without.prompts().is_none());
    let plain = PromptRegistry::new().with(FnPrompt::new(Prompt::new("p"), |_, _| "p")).expect("registers");
    let plain = Server::builder("plain", "1").prompts(plain);
    let declared = Server::builder("declared", "1").completions().prompts(PromptRegistry::new());
    for (server, prompts, completions, method, code) in [
        (&without, false, false, "prompts/get", -32601),
        (&without, false, false, "completion/complete", -32601),
        (&plain.build().expect("a server"), true, false, "prompts/get", -32602),
        (&declared.build().expect("a server"), true, true, "completion/complete", -32602),
    ] {
        for mut dialog in Dialog::all(server) {
            let version = dialog.version.clone();
            assert_eq!(dialog.capabilities.get("prompts").is_some(), prompts, "{version}");
            let completions = completions && version >= ProtocolVersion::V2025_03_26;
            assert_eq!(dialog.capabilities.get("completions").is_some(), completions, "{version}");
            assert_eq!(dialog.ask(method, json!({"name": "nobody"})).error().0, code, "{version}: {method}");
        }
    }
}

#[test]
fn prompts_may_come_and_go() {
    let server = server();
    let prompts = server.prompts().expect("some").clone();
    let before = prompts.generation();
    let heard = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let hears = heard.clone();
    let listener = prompts.on_change(move || {
        hears.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    });
    let mut dialog = Dialog::open(&server, &ProtocolVersion::V2026_07_28);
    prompts.register(prompt! { fn new() -> String { "new".into() } }).expect("registers");
    assert_eq!(
        dialog.ask("prompts/get", json!({"name": "new"})).result()["messages"][0]["content"]["text"],
        "new"
    );
    assert!(prompts.replace(prompt! { fn new() -> &'static str { "newer" } }).expect("replaces").is_some());
    let result = dialog.ask("prompts/get", json!({"name": "new"})).result();
    assert_eq!(result["messages"][0]["content"]["text"], "newer");
    assert!(prompts.remove("new").is_some() && prompts.remove("new").is_none());
    assert_eq!(dialog.ask("prompts/get", json!({"name": "new"})).error().0, -32602);
    drop(listener);
    assert_eq!(prompts.generation() - before, 3);
    assert_eq!(heard.load(std::sync::atomic::Ordering::SeqCst), 3);

    let named =
        |name: &str| prompts.register(FnPrompt::new(Prompt::new(name), |_, _| "")).map_err(|e| e.to_string());
    assert_eq!(named("late"), Err("duplicate prompt: late".into()));
    assert_eq!(named(""), Err("invalid prompt name \"\": empty".into()));
    assert!(
        named(&"x".repeat(129)).expect_err("too long").contains("129 characters, at most 128 are allowed")
    );
}

#[test]
fn a_prompt_may_ask_its_client() {
    let here = prompt! {
        fn here(greeting: String, cx: &Context) -> Result<String, ToolError> {
            Ok(format!("{greeting} {}", cx.roots()?[0].uri))
        }
    };
    let prompts = PromptRegistry::new().with(here).expect("registers");
    let server = Server::builder("asks", "1").prompts(prompts).build().expect("a server");
    let roots = json!({"roots": [{"uri": "file:///work"}]});
    for version in ProtocolVersion::ALL {
        let mut dialog = Dialog::open_as(&server, &version, json!({"roots": {}}));
        let params = json!({"name": "here", "arguments": {"greeting": "hello"}});
        let result = if version.is_modern() {
            let result = dialog.ask("prompts/get", params.clone()).result();
            assert_eq!(result["resultType"], "input_required");
            let key = result["inputRequests"].as_object().expect("questions").keys().next().expect("one");
            let mut again = params;
            again["inputResponses"] = json!({key: roots});
            again["requestState"] = result["requestState"].clone();
            dialog.ask("prompts/get", again).result()
        } else {
            dialog.send("prompts/get", params);
            let asked = dialog.peer.expect_request("roots/list");
            dialog.peer.respond(&asked.id, roots.clone());
            dialog.answer("prompts/get").result()
        };
        assert_eq!(result["messages"][0]["content"]["text"], "hello file:///work", "{version}");
        // Who cannot be asked is told what is missing.
        let mut unable = Dialog::open(&server, &version);
        let params = json!({"name": "here", "arguments": {"greeting": "hello"}});
        let (code, message) = unable.ask("prompts/get", params).error();
        assert!(code == -32021 && message.contains("roots"), "{version}: {message} ({code})");
    }
}
