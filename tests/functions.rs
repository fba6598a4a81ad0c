//! Function calling: tools in the formats of models' interfaces, and a model's calls answered, each once.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};

use serde_json::{Value, json};
use tinymcp::client::CallOptions;
use tinymcp::functions::{Format, Functions, import};
use tinymcp::json::Json;
use tinymcp::protocol::{CallToolResult, Content};
use tinymcp::{Arguments, Context, FnTool, Server, ToolError, ToolRegistry, testing, tool};

const FORMATS: [Format; 3] = [Format::OpenAi, Format::OpenAiResponses, Format::Anthropic];

fn tools() -> ToolRegistry {
    let tools = ToolRegistry::new();
    let add = |tool: FnTool| tools.register(tool).expect("registers");
    add(tool! {
        /// Add two numbers
        fn add(a: i64, b: i64) -> i64 { a + b }
    });
    add(tool! { fn fail() -> Result<String, ToolError> { Err(ToolError::new("no such file")) } });
    add(FnTool::new("say.it/now", "Say it", json!({"type": "object"}), |arguments, _| {
        arguments.as_str().to_owned()
    }));
    add(FnTool::new("picture", "", json!({"type": "object"}), |_, _| {
        CallToolResult::new(vec![
            Content::text("a cat"),
            Content::image("aGk=", "image/png"),
            Content::audio("aGk=", "audio/wav"),
        ])
    }));
    add(tool! { fn boom() -> String { panic!("no") } });
    tools
}

fn call(format: Format, id: &str, name: &str, arguments: &str) -> Value {
    match format {
        Format::OpenAi => {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
        }
        Format::OpenAiResponses => {
            json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments})
        }
        _ => {
            json!({"type": "tool_use", "id": id, "name": name, "input": serde_json::from_str::<Value>(arguments).unwrap_or(Value::Null)})
        }
    }
}

fn message(format: Format, calls: Vec<Value>) -> Json {
    Json::from(match format {
        Format::OpenAi => json!({"role": "assistant", "content": null, "tool_calls": calls}),
        Format::OpenAiResponses => json!({"output": calls}),
        _ => json!({"role": "assistant", "content": calls}),
    })
}

/// The answers as (id, text, whether it failed).
fn answered(format: Format, answers: &[Json]) -> Vec<(String, String, bool)> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => panic!("{value}"),
    };
    let string = |value: &Value| value.as_str().expect("a string").to_owned();
    let mut all = Vec::new();
    for answer in answers.iter().map(Json::to_value) {
        match format {
            Format::OpenAi => {
                assert_eq!(answer["role"], "tool");
                let text = text(&answer["content"]);
                all.push((string(&answer["tool_call_id"]), text.clone(), text.starts_with("error: ")));
            }
            Format::OpenAiResponses => {
                assert_eq!(answer["type"], "function_call_output");
                let text = text(&answer["output"]);
                all.push((string(&answer["call_id"]), text.clone(), text.starts_with("error: ")));
            }
            _ => {
                assert_eq!(answer["role"], "user");
                for block in answer["content"].as_array().expect("blocks") {
                    assert_eq!(block["type"], "tool_result");
                    all.push((
                        string(&block["tool_use_id"]),
                        text(&block["content"]),
                        block["is_error"] == true,
                    ));
                }
            }
        }
    }
    all
}

fn dispatched(format: Format, calls: Vec<Value>) -> Vec<(String, String, bool)> {
    let tools = tools();
    let functions = Functions::of(&tools, format);
    let answers =
        functions.dispatch(&message(format, calls), &tools, &Context::detached()).expect("a message");
    answered(format, &answers)
}

#[test]
fn definitions_have_the_shape_of_their_format() {
    let tools = tools();
    for format in FORMATS {
        let functions = Functions::of(&tools, format);
        let all = functions.tools().to_value();
        let all = all.as_array().expect("an array");
        assert_eq!(all.len(), 5);
        let (first, schema) = match format {
            Format::OpenAi => (&all[0]["function"], "parameters"),
            Format::OpenAiResponses => (&all[0], "parameters"),
            _ => (&all[0], "input_schema"),
        };
        assert_eq!(first["name"], "add");
        assert_eq!(first["description"], "Add two numbers");
        assert_eq!(first[schema]["required"], json!(["a", "b"]));
        let is_typed = all[0]["type"] == "function";
        assert_eq!(is_typed, format != Format::Anthropic);
        assert_eq!(functions.tool("say_it_now"), Some("say.it/now"));
        assert_eq!(functions.tool("say.it/now"), None);
    }
}

#[test]
fn every_call_has_one_answer_whatever_is_wrong_with_it() {
    for format in FORMATS {
        let calls = vec![
            call(format, "1", "add", r#"{"a": 1, "b": 2}"#),
            call(format, "2", "fail", "{}"),
            call(format, "3", "missing", "{}"),
            call(format, "4", "add", r#"{"a": 1}"#),
            call(format, "5", "boom", "{}"),
            call(format, "6", "say_it_now", r#"{"x": 1}"#),
            call(format, "6", "fail", "{}"),
            call(format, "", "add", r#"{"a": 2, "b": 2}"#),
            json!({"type": "text", "text": "thinking"}),
        ];
        let all = dispatched(format, calls);
        let ids: Vec<_> = all.iter().map(|(id, ..)| id.as_str()).collect();
        let text = if format == Format::OpenAi { &["call_8"][..] } else { &[] };
        assert_eq!(ids, [&["1", "2", "3", "4", "5", "6", "call_7"][..], text].concat(), "{format:?}");
        assert_eq!((all[0].1.as_str(), all[0].2), ("3", false));
        assert!(all[1].2 && all[1].1.contains("no such file"));
        assert!(all[2].2 && all[2].1.contains("missing"), "{:?}", all[2]);
        assert!(all[3].2 && all[3].1.contains("b: missing"), "{:?}", all[3]);
        assert!(all[4].2, "{:?}", all[4]);
        assert_eq!(all[5].1.replace(' ', ""), r#"{"x":1}"#);
        assert_eq!(all[6].1, "4");
    }
}

#[test]
fn arguments_are_strings_that_may_be_empty_or_broken() {
    for format in [Format::OpenAi, Format::OpenAiResponses] {
        let calls = ["", "  ", "null", "{", "[1]", "\"x\""]
            .map(|text| call(format, text, "say_it_now", text))
            .to_vec();
        let all = dispatched(format, calls);
        let failed: Vec<bool> = all.iter().map(|(.., failed)| *failed).collect();
        assert_eq!(failed, [false, false, false, true, true, true], "{all:?}");
        assert!(all[3].1.contains("no JSON") && all[4].1.contains("must be a JSON object"), "{all:?}");
    }
}

#[test]
fn numbers_stay_as_they_are_written() {
    let text = r#"{"n":12345678901234567890123.50}"#;
    let openai = message(Format::OpenAi, vec![call(Format::OpenAi, "1", "say_it_now", text)]);
    let anthropic = Json::parse(&format!(
        r#"{{"content": [{{"type": "tool_use", "id": "1", "name": "say_it_now", "input": {text}}}]}}"#
    ))
    .expect("JSON");
    for (format, message) in [(Format::OpenAi, openai), (Format::Anthropic, anthropic)] {
        let tools = tools();
        let functions = Functions::of(&tools, format);
        let answers = functions.dispatch(&message, &tools, &Context::detached()).expect("a message");
        assert_eq!(answered(format, &answers)[0].1, text);
    }
}

#[test]
fn pictures_pass_where_they_are_taken() {
    for format in FORMATS {
        let tools = tools();
        let functions = Functions::of(&tools, format);
        let message = message(format, vec![call(format, "1", "picture", "{}")]);
        let answers = functions.dispatch(&message, &tools, &Context::detached()).expect("a message");
        let text = answers[0].as_str();
        assert!(text.contains("a cat") && text.contains("audio/wav, 4 bytes"), "{text}");
        let is_passed = text.contains(r#""source":{"data":"aGk=","media_type":"image/png","type":"base64"}"#);
        assert_eq!(is_passed, format == Format::Anthropic, "{text}");
    }
}

#[test]
fn calls_of_one_turn_run_side_by_side() {
    let barrier = Arc::new(Barrier::new(4));
    let meets = Arc::clone(&barrier);
    let tools = ToolRegistry::new()
        .with(tool! { fn meet() -> &'static str { meets.wait(); "met" } })
        .expect("registers");
    let functions = Functions::of(&tools, Format::OpenAi);
    let calls = (0..4).map(|i| call(Format::OpenAi, &i.to_string(), "meet", "")).collect();
    let message = message(Format::OpenAi, calls);
    let answers = functions.dispatch(&message, &tools, &Context::detached()).expect("a message");
    assert_eq!(answers.len(), 4);
}

#[test]
fn a_caller_can_be_dispatched_to() {
    let server = Server::builder("tools", "1").tools(tools()).build().expect("a server");
    let client = testing::pair(&server).expect("a pair");
    let listed = client.list_tools().expect("lists").items;
    let functions = Functions::of_definitions(&listed, Format::Anthropic);
    let calls = vec![
        call(Format::Anthropic, "1", "add", r#"{"a": 1, "b": 1}"#),
        call(Format::Anthropic, "2", "nothing", "{}"),
        call(Format::Anthropic, "3", "say_it_now", "{}"),
    ];
    let message = message(Format::Anthropic, calls);
    let answers =
        functions.dispatch_to(&message, &client.handle(), &CallOptions::default()).expect("a message");
    let all = answered(Format::Anthropic, &answers);
    assert_eq!(
        all.iter().map(|(_, text, failed)| (text.as_str(), *failed)).collect::<Vec<_>>()[0],
        ("2", false)
    );
    assert!(all[1].2 && !all[2].2);
}

#[test]
fn what_is_no_message_is_an_error_and_calls_nothing() {
    let ran = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&ran);
    let tools = ToolRegistry::new()
        .with(tool! { fn run() -> u32 { count.fetch_add(1, Ordering::SeqCst) } })
        .expect("registers");
    for format in FORMATS {
        let functions = Functions::of(&tools, format);
        for text in ["1", "\"x\"", "null"] {
            let message = Json::parse(text).expect("JSON");
            assert!(functions.dispatch(&message, &tools, &Context::detached()).is_err(), "{text}");
        }
        for text in ["{}", r#"{"content": "just text", "tool_calls": null}"#, "[]"] {
            let message = Json::parse(text).expect("JSON");
            assert!(
                functions.dispatch(&message, &tools, &Context::detached()).expect("a message").is_empty()
            );
        }
    }
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}

#[test]
fn what_was_a_function_can_be_served() {
    for format in FORMATS {
        let definitions = Functions::of(&tools(), format).tools();
        let imported = import(&definitions, |name, arguments: Arguments<'_>| {
            Ok::<_, ToolError>(format!("{name} {}", arguments.as_str()))
        })
        .expect("functions");
        let served = ToolRegistry::new();
        for tool in imported {
            served.register(tool).expect("registers");
        }
        assert_eq!(served.names(), ["add", "boom", "fail", "picture", "say_it_now"]);
        let result = served
            .execute(
                "add",
                Arguments::from_text(r#"{"a": 1, "b": 2}"#).expect("an object"),
                &Context::detached(),
            )
            .expect("a result");
        assert_eq!(result.text_content(), r#"add {"a": 1, "b": 2}"#);
    }
    let broken = Json::parse(r#"[{"name": "a"}, {"description": "nameless"}]"#).expect("JSON");
    let error = import(&broken, |_, _| Ok::<_, ToolError>("")).expect_err("no function").to_string();
    assert!(error.contains('1') && error.contains("name"), "{error}");
}
