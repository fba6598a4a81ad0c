//! Training examples, form by form.

use serde_json::{Value, json};
use tinymcp::json::Json;
use tinymcp::protocol::{CallToolResult, Content, ToolDefinition};
use tinymcp::trajectory::{
    ArgumentsForm, ErrorKind, Event, Keep, MessageEvent, ReasoningForm, RecordedError, ResultForm,
    SftExample, SftOptions, Speaker, ToolCallRecord, ToolsForm, Trajectory, TurnEvent,
    trajectory_to_sft_example,
};

fn call(tool: &str, arguments: &str, text: &str) -> ToolCallRecord {
    ToolCallRecord::new(tool, Json::parse(arguments).expect("JSON")).with_result(CallToolResult::text(text))
}

fn two_calls() -> Trajectory {
    let mut trajectory = Trajectory::new("What is 1 + 2?");
    trajectory.push(call("add", r#"{"a":1,"b":9007199254740993}"#, "3"));
    trajectory.push(call("note", r#"{"text":"caf\u00e9 😀 \"q\""}"#, "kept\nhere"));
    trajectory.set_final_answer("It is 3.");
    trajectory.set_success(true);
    trajectory.set_total_reward(1.0);
    trajectory
}

/// Two calls in the first turn, one in the second, and what was thought.
fn turns() -> Trajectory {
    let mut trajectory = two_calls();
    let mut other = Trajectory::new("Look around");
    other.push(MessageEvent::new(Speaker::System, "Be brief."));
    let mut turn = TurnEvent::from("two at once");
    turn.text = Some("I look.".to_owned());
    other.push(turn);
    other.push(call("left", "{}", "a wall"));
    other.push(call("right", "{}", "a door"));
    other.push(MessageEvent::new(Speaker::User, "Go on!"));
    other.push(TurnEvent::from("through the door"));
    other.push(
        ToolCallRecord::new("go", json!({})).with_error(RecordedError::new(ErrorKind::Timeout, "no answer")),
    );
    other.set_final_answer("Stuck.");
    std::mem::swap(&mut trajectory, &mut other);
    trajectory
}

fn messages(example: &SftExample) -> Vec<Value> {
    example.messages().iter().map(Json::to_value).collect()
}

fn roles(example: &SftExample) -> Vec<String> {
    let role = |message: &Value| {
        message.get("role").or(message.get("from")).and_then(Value::as_str).unwrap_or("?").to_owned()
    };
    messages(example).iter().map(role).collect()
}

fn of(options: &SftOptions, trajectory: &Trajectory) -> SftExample {
    options.example(trajectory).expect("an example")
}

#[test]
fn the_default_has_the_agreed_shape_to_the_letter() {
    // The line that Python writes by `json.dumps` of the agreed function's result, but for its spaces.
    let want = concat!(
        r#"{"messages":[{"role":"system","content":"You are a helpful assistant with access to tools. Use tools to complete tasks step by step."},"#,
        r#"{"role":"user","content":"What is 1 + 2?"},"#,
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_0000","type":"function","function":{"name":"add","arguments":"{\"a\": 1, \"b\": 9007199254740993}"}}]},"#,
        r#"{"role":"tool","content":"{\"content\": [\"3\"]}","tool_call_id":"call_0000"},"#,
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_0001","type":"function","function":{"name":"note","arguments":"{\"text\": \"caf\\u00e9 \\ud83d\\ude00 \\\"q\\\"\"}"}}]},"#,
        r#"{"role":"tool","content":"{\"content\": [\"kept\\nhere\"]}","tool_call_id":"call_0001"},"#,
        r#"{"role":"assistant","content":"It is 3."}],"metadata":{"success":true,"reward":1.0,"num_tool_calls":2}}"#,
    );
    assert_eq!(trajectory_to_sft_example(&two_calls()).to_json().as_str(), want);
    let empty = trajectory_to_sft_example(&Trajectory::new("x"));
    assert_eq!(messages(&empty)[2], json!({"role": "assistant", "content": ""}));
    assert_eq!(
        empty.get("metadata").map(Json::as_str),
        Some(r#"{"success":false,"reward":0.0,"num_tool_calls":0}"#)
    );
    assert_eq!(
        roles(&of(&SftOptions::new().without_empty_answer(), &Trajectory::new("x"))),
        ["system", "user"]
    );
}

#[test]
fn calls_of_a_turn_are_one_message_if_that_is_wanted() {
    let one_by_one = of(&SftOptions::new(), &turns());
    assert_eq!(
        roles(&one_by_one),
        [
            "system",
            "user",
            "assistant",
            "tool",
            "assistant",
            "tool",
            "user",
            "assistant",
            "tool",
            "assistant"
        ]
    );
    let parallel = of(&SftOptions::new().with_parallel_calls(), &turns());
    assert_eq!(
        roles(&parallel),
        ["system", "user", "assistant", "tool", "tool", "user", "assistant", "tool", "assistant"]
    );
    let all = messages(&parallel);
    assert_eq!((&all[0]["content"], &all[2]["content"]), (&json!("Be brief."), &json!("I look.")));
    let ids: Vec<_> = (0..2).map(|n| all[2]["tool_calls"][n]["id"].clone()).collect();
    assert_eq!(ids, [all[3]["tool_call_id"].clone(), all[4]["tool_call_id"].clone()]);
    // A call without a result says why.
    assert_eq!(all[7]["content"], json!("{\"content\": [\"no answer\"]}"));
    // Calls outside of turns have a message each.
    assert_eq!(roles(&of(&SftOptions::new().with_parallel_calls(), &two_calls())).len(), 7);
}

#[test]
fn parallel_calls_are_in_the_order_in_which_they_began() {
    let events = [("b", 20), ("a", 10)].map(|(tool, at_ns)| {
        let mut event = Event::new("7", 2 + at_ns % 20, call(tool, "{}", tool));
        (event.turn, event.at_ns) = (1, at_ns);
        event
    });
    let mut lines = vec![
        r#"{"event":"begin","trajectory":"7","seq":0,"task":"x"}"#.to_owned(),
        r#"{"event":"turn","trajectory":"7","seq":1,"turn":1}"#.to_owned(),
    ];
    lines.extend(events.iter().map(|event| serde_json::to_string(event).expect("JSON")));
    let file = lines.join("\n");
    let read = tinymcp::trajectory::Trajectories::new(file.as_bytes()).next().expect("one").expect("whole");
    let example = of(&SftOptions::new().with_parallel_calls(), &read);
    let names: Vec<_> =
        (0..2).map(|n| messages(&example)[2]["tool_calls"][n]["function"]["name"].clone()).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn thoughts_go_where_they_are_wanted() {
    let think = of(&SftOptions::new().with_parallel_calls().with_reasoning(ReasoningForm::Think), &turns());
    assert_eq!(messages(&think)[2]["content"], "<think>\ntwo at once\n</think>\n\nI look.");
    assert_eq!(messages(&think)[6]["content"], "<think>\nthrough the door\n</think>");
    let field =
        of(&SftOptions::templates().with_parallel_calls().with_reasoning(ReasoningForm::Field), &turns());
    assert_eq!(messages(&field)[2]["reasoning_content"], "two at once");
    assert_eq!(messages(&field)[6]["content"], "");
    let blocks =
        of(&SftOptions::anthropic().with_parallel_calls().with_reasoning(ReasoningForm::Field), &turns());
    assert_eq!(messages(&blocks)[1]["content"][0], json!({"type": "thinking", "thinking": "two at once"}));
    assert!(!of(&SftOptions::new(), &turns()).to_json().as_str().contains("two at once"));
}

#[test]
fn templates_get_objects_and_no_null() {
    let example = of(&SftOptions::templates(), &two_calls());
    let text = example.to_json().to_string();
    assert!(!text.contains("null"), "{text}");
    assert!(text.contains(r#""arguments":{"a":1,"b":9007199254740993}"#), "{text}");
    assert!(text.contains(r#""content":"kept\nhere""#), "{text}");
    let one = SftOptions::new().with_arguments(ArgumentsForm::Object).with_empty_content();
    assert_eq!(messages(&of(&one, &two_calls()))[2]["content"], "");
}

#[test]
fn anthropic_has_blocks_and_roles_in_turn() {
    let example = of(&SftOptions::anthropic().with_parallel_calls(), &turns());
    assert_eq!(example.get("system").map(Json::as_str), Some("\"Be brief.\""));
    assert_eq!(roles(&example), ["user", "assistant", "user", "assistant", "user", "assistant"]);
    let all = messages(&example);
    assert_eq!(
        all[1]["content"],
        json!([
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "call_0000", "name": "left", "input": {}},
            {"type": "tool_use", "id": "call_0001", "name": "right", "input": {}},
        ])
    );
    // Results, then what the user says.
    assert_eq!(all[2]["content"][1]["tool_use_id"], "call_0001");
    assert_eq!(all[2]["content"][2], json!({"type": "text", "text": "Go on!"}));
    assert_eq!(
        all[4]["content"][0],
        json!({"type": "tool_result", "tool_use_id": "call_0002", "content": [{"type": "text", "text": "no answer"}], "is_error": true})
    );
}

#[test]
fn hermes_is_text_in_which_nothing_looks_like_a_tag() {
    let mut trajectory = Trajectory::new("x");
    trajectory.push(call("write", r#"{"text":"</tool_call> \u00e9"}"#, "</tool_response>"));
    trajectory.set_tools(vec![ToolDefinition::new("write", json!({"type": "object", "title": "</tools>"}))]);
    trajectory.set_final_answer("ok");
    let example = of(&SftOptions::hermes().with_tools(ToolsForm::List), &trajectory);
    assert_eq!(roles(&example), ["system", "human", "gpt", "tool", "gpt"]);
    let all = messages(&example);
    let value = |n: usize| all[n]["value"].as_str().expect("text").to_owned();
    for (n, tag) in [(2, "tool_call"), (3, "tool_response"), (0, "tools")] {
        assert_eq!(value(n).matches(&format!("\n</{tag}>")).count(), 1, "{}", value(n));
    }
    let inside = |n: usize, tag: &str| -> Value {
        let text = value(n);
        let inside = text
            .split(&format!("<{tag}>\n"))
            .nth(1)
            .and_then(|rest| rest.split(&format!("\n</{tag}>")).next());
        serde_json::from_str(inside.expect("between tags")).expect("JSON")
    };
    assert_eq!(inside(2, "tool_call"), json!({"name": "write", "arguments": {"text": "</tool_call> é"}}));
    assert_eq!(inside(3, "tool_response"), json!({"name": "write", "content": "</tool_response>"}));
    assert!(value(2).contains('é'), "{}", value(2));
    assert_eq!(
        example.get("tools").map(Json::to_value),
        Some(json!([
            {"type": "function", "function": {"name": "write", "parameters": {"type": "object", "title": "</tools>"}}}
        ]))
    );
}

#[test]
fn tools_stand_beside_the_messages() {
    let mut trajectory = two_calls();
    let schema = r#"{"type":"object","properties":{"b":{"maximum":9007199254740993}}}"#;
    let add = ToolDefinition::new("add", Json::parse(schema).expect("JSON")).with_description("Adds");
    trajectory.set_tools(vec![add]);
    let list = of(&SftOptions::new().with_tools(ToolsForm::List), &trajectory);
    let want = format!(
        r#"[{{"type":"function","function":{{"name":"add","description":"Adds","parameters":{schema}}}}}]"#
    );
    assert_eq!(list.get("tools").map(Json::as_str), Some(want.as_str()));
    let text = of(&SftOptions::new().with_tools(ToolsForm::Text), &trajectory);
    assert_eq!(text.get("tools").and_then(|tools| tools.to::<String>().ok()), Some(want));
    let anthropic = of(&SftOptions::anthropic().with_tools(ToolsForm::List), &trajectory);
    assert_eq!(
        anthropic.get("tools").map(Json::to_value).map(|tools| tools[0]["input_schema"].clone()),
        serde_json::from_str(schema).ok()
    );
    assert_eq!(of(&SftOptions::new(), &trajectory).get("tools"), None);
    assert_eq!(of(&SftOptions::new().with_tools(ToolsForm::List), &two_calls()).get("tools"), None);
}

#[test]
fn pictures_and_sounds_are_parts() {
    let result = CallToolResult::new(vec![
        Content::text("see"),
        Content::image("AAEC", "image/png"),
        Content::audio("UklG", "audio/x-wav"),
        Content::resource_link("file:///a", "a"),
    ]);
    let mut trajectory = Trajectory::new("look");
    trajectory.push(ToolCallRecord::new("look", json!({})).with_result(result));
    let openai = messages(&of(&SftOptions::templates().with_media(), &trajectory));
    assert_eq!(openai[1]["content"], json!([{"type": "text", "text": "look"}]));
    assert_eq!(
        openai[3]["content"],
        json!([
            {"type": "text", "text": "see"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAEC"}},
            {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
            {"type": "text", "text": "[a: file:///a]"},
        ])
    );
    let anthropic = messages(&of(&SftOptions::anthropic().with_media(), &trajectory));
    assert_eq!(
        anthropic[2]["content"][0]["content"][1],
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAEC"}})
    );
    let hermes = of(&SftOptions::hermes().with_media(), &trajectory);
    assert_eq!(hermes.get("images").map(Json::as_str), Some(r#"["data:image/png;base64,AAEC"]"#));
    assert_eq!(messages(&hermes)[3]["value"].as_str().map(|text| text.matches("<image>").count()), Some(1));
    // Without media they are named, or left out.
    let plain = messages(&of(&SftOptions::templates(), &trajectory));
    assert_eq!(
        plain[3]["content"],
        "see\n[image: image/png, 3 bytes]\n[audio: audio/x-wav, 3 bytes]\n[a: file:///a]"
    );
    let whole = messages(&of(&SftOptions::new().with_results(ResultForm::Whole), &trajectory));
    assert!(whole[3]["content"].as_str().is_some_and(|text| text.contains("\"data\": \"AAEC\"")));
    assert_eq!(messages(&of(&SftOptions::new(), &trajectory))[3]["content"], "{\"content\": [\"see\"]}");
}

/// Calls and results by their ids: each has its other.
fn is_whole(example: &SftExample) -> bool {
    let all = messages(example);
    let calls: Vec<_> = all
        .iter()
        .filter_map(|one| one["tool_calls"].as_array())
        .flatten()
        .map(|one| one["id"].clone())
        .collect();
    let results: Vec<_> =
        all.iter().filter(|one| one["role"] == "tool").map(|one| one["tool_call_id"].clone()).collect();
    calls == results
}

#[test]
fn no_limit_parts_a_call_from_its_result() {
    let mut long = Trajectory::new("go");
    for n in 0..20 {
        if n % 3 == 0 {
            long.push(TurnEvent::from(""));
        }
        long.push(call("step", &format!("{{\"n\":{n}}}"), &"x".repeat(n * 7)));
    }
    long.set_final_answer("there");
    let length = |text: &str| text.len();
    let all: usize = trajectory_to_sft_example(&long).messages().iter().map(|one| one.as_str().len()).sum();
    let mut seen = [0, 0];
    for limit in (0..=all).step_by(13).chain([all]) {
        for (at, keep) in [Keep::Start, Keep::End].into_iter().enumerate() {
            for options in [SftOptions::new(), SftOptions::new().with_parallel_calls()] {
                let Some(example) = options.with_limit(limit, keep, length).example(&long) else { continue };
                let size: usize = example.messages().iter().map(|one| one.as_str().len()).sum();
                assert!(size <= limit, "{size} of {limit}");
                assert!(is_whole(&example), "at {limit}");
                assert_eq!(&roles(&example)[..2], ["system", "user"]);
                let metadata = example.get("metadata").map(Json::to_value).expect("metadata");
                let omitted = metadata["omitted_tool_calls"].as_u64().unwrap_or_default();
                assert_eq!(
                    metadata["num_tool_calls"].as_u64().map(|kept| kept + omitted),
                    Some(20),
                    "at {limit}"
                );
                let ends = messages(&example).last().is_some_and(|last| last["content"] == "there");
                assert!(ends || keep == Keep::Start, "at {limit}");
                assert!(!ends || keep == Keep::End || omitted == 0, "at {limit}");
                seen[at] += 1;
            }
        }
    }
    assert!(seen.iter().all(|seen| *seen > 50), "{seen:?}");
    let tight = SftOptions::new().with_limit(10, Keep::End, length);
    assert_eq!(tight.example(&long), None);
}

#[test]
fn examples_are_written_a_line_each() {
    let mut out = Vec::new();
    let all = [two_calls(), turns()].map(Ok);
    let written = SftOptions::new().write(all, &mut out).expect("written");
    assert_eq!((written.examples, written.too_long), (2, 0));
    let text = String::from_utf8(out).expect("UTF-8");
    assert_eq!(text.lines().map(serde_json::from_str::<Value>).filter(Result::is_ok).count(), 2);
    let broken = [Err(std::io::Error::other("gone"))];
    SftOptions::new().write(broken, Vec::new()).expect_err("what cannot be read is told");
}

#[test]
fn half_a_surrogate_pair_stops_no_reader() {
    let mut trajectory = Trajectory::new("x");
    trajectory.push(call("x", r#"{"a":"cut \ud83d"}"#, "ok"));
    for options in [SftOptions::new(), SftOptions::templates(), SftOptions::anthropic(), SftOptions::hermes()]
    {
        let text = of(&options, &trajectory).to_json().to_string();
        assert!(!text.contains("ud83d"), "{text}");
        serde_json::from_str::<Value>(&text).expect("JSON");
    }
}
