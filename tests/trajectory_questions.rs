//! What servers ask, and the frames, in recordings.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use tinymcp::client::{Asked, CallOptions, Caller, ClientHandler};
use tinymcp::context::Ability;
use tinymcp::json::{Json, Object};
use tinymcp::protocol::{ElicitFormParams, ElicitParams, ElicitResult, PrimitiveSchema, RequestedSchema};
use tinymcp::testing::{Pair, pair_with};
use tinymcp::trajectory::{
    EventKind, InputEvent, InputLog, Recorder, Sink, Trajectories, Trajectory, WireRecorder,
};
use tinymcp::{
    Arguments, Client, Context, ErrorObject, ProtocolVersion, Server, ToolError, ToolRegistry, tool,
};

/// Says yes to everything that it is asked politely.
struct Polite;

impl ClientHandler for Polite {
    fn can(&self, ability: Ability) -> bool {
        matches!(ability, Ability::Form)
    }

    fn elicit(&self, form: &Asked<ElicitFormParams>) -> Result<ElicitResult, ErrorObject> {
        if !form.message.contains("please") {
            return Err(ErrorObject::new(-1, "rude"));
        }
        let mut answer = Object::new();
        answer.insert("name", "Ada");
        Ok(ElicitResult::accept(answer))
    }
}

fn asking(inputs: &InputLog, version: ProtocolVersion) -> Pair {
    let ask = tool! {
        fn ask(text: String, cx: &Context) -> Result<String, ToolError> {
            let fields = RequestedSchema::new().required("name", PrimitiveSchema::text());
            let answer = cx.elicit("name", ElicitParams::form(text, fields))?;
            Ok(answer.is_accepted().to_string())
        }
    };
    let tools = ToolRegistry::new().with(ask).expect("a tool");
    let server = Server::builder("curious", "1.0.0").tools(tools).build().expect("a server");
    pair_with(Client::builder().versions([version]).handler(inputs.clone()), &server).expect("a pair")
}

fn read(sink: &Sink) -> Vec<Trajectory> {
    Trajectories::new(&sink.contents()[..]).collect::<Result<_, _>>().expect("a recording")
}

fn inputs(trajectory: &Trajectory) -> Vec<&InputEvent> {
    let input = |event| match event {
        &tinymcp::trajectory::Event { kind: EventKind::Input(ref input), .. } => Some(input),
        _ => None,
    };
    trajectory.events().iter().filter_map(input).collect()
}

#[test]
fn questions_belong_to_the_trajectory_whose_call_brings_them() {
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let (log, sink) = (InputLog::new(Polite), Sink::memory());
        let client = asking(&log, version.clone());
        let recorder = Recorder::new(Arc::new(client.handle()), &sink).with_inputs(&log);
        let idle = recorder.begin("idle");
        for text in ["your name, please", "your name"] {
            let recording = recorder.begin(text);
            let arguments = json!({"text": text});
            let arguments = Arguments::new(&arguments).expect("an object");
            // The rude one fails in one era with a result and in the other with an error.
            let _ = recording.call("ask", arguments, &CallOptions::default());
            recording.end();
        }
        idle.end();
        let all = read(&sink);
        let [polite, rude, idle] = &all[..] else { panic!("three") };
        let asked = inputs(polite);
        assert_eq!(asked.len(), 1, "{version}");
        assert_eq!(asked[0].method, "elicitation/create");
        let params = asked[0].params.as_ref().map(Json::to_value).expect("parameters");
        assert_eq!(params["message"], "your name, please");
        let answer = asked[0].answer.as_ref().map(Json::to_value).expect("an answer");
        assert_eq!(answer, json!({"action": "accept", "content": {"name": "Ada"}}));
        let of_name = asked[0].of_name.as_deref();
        assert_eq!(of_name, version.is_modern().then_some("ask"));
        let refused = inputs(rude);
        assert_eq!(refused[0].error.as_ref().map(|error| error.message.as_str()), Some("rude"));
        assert!(polite.is_complete() && rude.is_complete() && inputs(idle).is_empty());
        // The question is part of the call, and so it is there before.
        let kinds: Vec<_> = polite.events().iter().map(|event| event.kind.name()).collect();
        assert_eq!(kinds, ["begin", "input", "call", "end"]);
    }
}

#[test]
fn frames_are_written_as_they_passed() {
    let path = std::env::temp_dir().join(format!("tinymcp-wire-{}.jsonl", std::process::id()));
    let _ = fs::remove_file(&path);
    let echo = tool! { fn echo(text: String) -> String { text } };
    let server =
        Server::builder("echo", "1.0.0").tools(ToolRegistry::new().with(echo).expect("a tool")).build();
    let server = server.expect("a server");
    for round in 0..2 {
        let wire = WireRecorder::open(&path).expect("a file");
        let client = pair_with(Client::builder().tap(wire.clone()), &server).expect("a pair");
        client.call_tool("echo", json!({"text": format!("round {round} 😀\n\u{0}")})).expect("a result");
        client.close().expect("closed");
        assert!(wire.written() >= 4 && wire.lost() == 0);
        // As a program leaves it that is killed.
        let text = fs::read(&path).expect("a file");
        fs::write(&path, [&text[..], b"{\"direction\":\"se"].concat()).expect("written");
    }
    let text = fs::read_to_string(&path).expect("a file");
    fs::remove_file(&path).expect("removed");
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(lines.len(), text.lines().count() - 1, "only the last one is torn");
    assert_eq!((&lines[0]["format"], &lines[0]["version"]), (&json!("tinymcp-wire"), &json!(1)));
    let frames: Vec<(&str, Value)> = lines[1..]
        .iter()
        .map(|line| (line["direction"].as_str().expect("a way"), line["frame"].as_str().expect("a frame")))
        .map(|(way, frame)| (way, serde_json::from_str(frame).expect("a message")))
        .collect();
    let calls: Vec<_> = frames.iter().filter(|(_, frame)| frame["method"] == "tools/call").collect();
    assert_eq!(calls.len(), 2);
    assert!(calls.iter().all(|(way, _)| *way == "sent"));
    assert_eq!(calls[1].1["params"]["arguments"]["text"], "round 1 😀\n\u{0}");
    let answers = frames.iter().filter(|(way, frame)| *way == "received" && frame.get("result").is_some());
    assert_eq!(answers.count(), frames.len() - frames.iter().filter(|(way, _)| *way == "sent").count());
}
