//! What is recorded, as it is read again.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tinymcp::client::{
    Address, CallOptions, Caller, Change, Event as Heard, EventSource, Events, Filter, List, Placed,
};
use tinymcp::json::Json;
use tinymcp::protocol::{
    CallToolResult, Content, GetPromptResult, Prompt, ReadResourceResult, Resource, ResourceContents,
    ToolDefinition,
};
use tinymcp::testing::{Pair, pair};
use tinymcp::trajectory::{
    BeginEvent, EndReason, ErrorKind, Event, EventKind, Line, Lines, ListKind, NoticeKind, Recorder,
    Recording, Redaction, ResetEvent, Sink, StepEvent, Trajectories, Trajectory, TurnEvent,
};
use tinymcp::{Arguments, Error, FnResource, ResourceRegistry, Server, ToolError, ToolRegistry, tool};

fn calculator() -> Pair {
    let add = tool! {
        /// Add two numbers
        fn add(a: i64, b: i64) -> i64 { a + b }
    };
    let fail = tool! { fn fail() -> Result<String, ToolError> { Err(ToolError::new("no")) } };
    let tools = ToolRegistry::new().with(add).and_then(|tools| tools.with(fail)).expect("tools");
    let note = FnResource::new(Resource::new("note://plan", "plan"), |_| "first this");
    let resources = ResourceRegistry::new().with(note).expect("a resource");
    let server = Server::builder("calculator", "1.0.0").tools(tools).resources(resources).build();
    pair(&server.expect("a server")).expect("a pair")
}

fn arguments(value: &serde_json::Value) -> Arguments<'static> {
    Arguments::new(value).expect("an object")
}

fn plain() -> CallOptions {
    CallOptions::default()
}

fn read(sink: &Sink) -> Vec<Trajectory> {
    Trajectories::new(&sink.contents()[..]).collect::<Result<_, _>>().expect("a recording")
}

fn kinds(trajectory: &Trajectory) -> Vec<&str> {
    trajectory.events().iter().map(|event| event.kind.name()).collect()
}

#[test]
fn everything_done_through_a_recording_is_in_its_trajectory() {
    let (client, sink) = (calculator(), Sink::memory());
    let recorder = Recorder::new(Arc::new(client.handle()), &sink);
    let recording = recorder.begin("What is 1 + 2?");
    recording.list_tools(&plain()).expect("tools");
    recording.next_turn("first the sum");
    let sum = recording.call("add", arguments(&json!({"a": 1, "b": 2})), &plain()).expect("a result");
    recording.next_turn(TurnEvent::default());
    recording.call("fail", Arguments::empty(), &plain()).expect("a failed result");
    recording.call("missing", Arguments::empty(), &plain()).expect_err("no such tool");
    recording.read_resource("note://plan".into(), &plain()).expect("a note");
    recording.list_resources(&plain()).expect("resources");
    recording.get_prompt("none".into(), &Json::empty_object(), &plain()).expect_err("no such prompt");
    recording.set_answer("3");
    recording.set_success(true);
    recording.set_metadata("model", "m1");
    recording.end();

    let all = read(&sink);
    let [trajectory] = &all[..] else { panic!("one trajectory, not {}", all.len()) };
    assert_eq!(
        kinds(trajectory),
        ["begin", "list", "turn", "call", "turn", "call", "call", "read", "list", "prompt", "end"]
    );
    assert!(trajectory.is_complete());
    assert_eq!(trajectory.id(), recording.id());
    assert_eq!((trajectory.task_description(), trajectory.final_answer()), ("What is 1 + 2?", Some("3")));
    assert_eq!(trajectory.metadata().get::<String>("model").as_deref(), Some("m1"));
    let names: Vec<_> = trajectory.tools().expect("offered").iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["add", "fail"]);

    let calls: Vec<_> = trajectory.tool_calls().collect();
    assert_eq!(calls.iter().map(|call| call.event.turn).collect::<Vec<_>>(), [1, 2, 2]);
    assert_eq!(calls[0].result.as_ref(), Some(&sum));
    assert_eq!(calls[0].arguments.as_str(), r#"{"a":1,"b":2}"#);
    assert_eq!(calls[0].server.as_deref(), Some("calculator"));
    assert_eq!(calls[0].revision.as_ref().map(ToString::to_string).as_deref(), Some("2026-07-28"));
    assert!(
        calls[0].duration_ns > 0
            && calls[0].event.at_ns > 0
            && calls[0].event.time_us > 1_700_000_000_000_000
    );
    assert_eq!(calls.iter().map(|call| call.is_error).collect::<Vec<_>>(), [false, true, true]);
    assert_eq!(calls[1].result.as_ref().map(CallToolResult::text_content).as_deref(), Some("no"));
    let error = calls[2].error.as_ref().expect("an error");
    assert_eq!(
        (&error.kind, error.code, error.message.as_str()),
        (&ErrorKind::Peer, Some(-32602), "unknown tool: missing")
    );
    assert!(matches!(error.to_error(), Error::Peer(peer) if peer.code == -32602));

    let EventKind::List(resources) = &trajectory.events()[8].kind else { panic!("a list") };
    assert_eq!(resources.what, ListKind::Resources);
    assert!(resources.items.as_ref().expect("items")[0].item.as_str().contains("note://plan"));
}

#[test]
fn interleaved_recordings_and_threads_are_told_apart() {
    let (client, sink) = (calculator(), Sink::memory());
    let recorder = Recorder::new(Arc::new(client.handle()), &sink);
    std::thread::scope(|scope| {
        for agent in 0..8_i64 {
            let recording = recorder.begin(format!("agent {agent}"));
            for thread in 0..2_i64 {
                let recording = recording.clone();
                scope.spawn(move || {
                    for n in 0..50 {
                        let sum = json!({"a": agent * 1000, "b": thread * 100 + n});
                        recording.call("add", arguments(&sum), &plain()).expect("a sum");
                    }
                });
            }
        }
    });
    let all = read(&sink);
    assert_eq!(all.len(), 8);
    for trajectory in all {
        let agent: i64 = trajectory.task_description()["agent ".len()..].parse().expect("a number");
        assert!(trajectory.is_complete(), "agent {agent}");
        assert_eq!(trajectory.tool_calls().count(), 100);
        assert_eq!(
            trajectory.end().map(|end| (end.calls, end.reason.clone())),
            Some((100, Some(EndReason::Dropped)))
        );
        for call in trajectory.tool_calls() {
            let sum: i64 = call.result.as_ref().expect("a sum").text_content().parse().expect("a number");
            assert_eq!(sum / 1000, agent);
        }
    }
}

/// Answers with what it was made with.
struct Answers {
    result: CallToolResult,
    heard: Mutex<Vec<Heard>>,
}

impl Answers {
    fn with(result: CallToolResult) -> Arc<Self> {
        Arc::new(Self { result, heard: Mutex::default() })
    }
}

impl Caller for Answers {
    fn call(&self, _: &str, _: Arguments<'_>, options: &CallOptions) -> tinymcp::Result<CallToolResult> {
        let notes = options.notes().expect("a recorder asks for notes");
        notes.set_server("files");
        notes.set_decision(true, "rule: files/*");
        Ok(self.result.clone())
    }

    fn list_tools(&self, _: &CallOptions) -> tinymcp::Result<List<ToolDefinition>> {
        Err(Error::Denied("nobody may list".to_owned()))
    }

    fn events(&self, _: Filter) -> tinymcp::Result<Events> {
        struct Heards(Vec<Heard>);
        impl EventSource for Heards {
            fn next(&mut self, _: Option<std::time::Duration>) -> Option<Heard> {
                self.0.pop()
            }
        }
        Ok(Events::new(Heards(self.heard.lock().expect("whole").clone())))
    }
}

/// Every kind of content, numbers that no double holds, control characters, and what later revisions may add.
fn odd_result() -> CallToolResult {
    let text = r#"{"content":[{"type":"text","text":"tab\t nul\u0000 line\n \u2028 😀 </script>","annotations":{"priority":0.1}},
        {"type":"image","data":"AAEC/w==","mimeType":"image/png","_meta":{"n":9007199254740993}},
        {"type":"audio","data":"UklGRg==","mimeType":"audio/wav"},
        {"type":"resource_link","uri":"file:///a","name":"a","size":18446744073709551615},
        {"type":"resource","resource":{"uri":"file:///b","blob":"/w==","mimeType":"application/x"}},
        {"type":"hologram","data":[1e400,-0]}],
        "structuredContent":{"id":9007199254740993,"big":1000000000000000000000000000000,"f":1.50},
        "later":[123456789012345678901234567890],"_meta":{"com.example/x":1}}"#;
    let result: CallToolResult = Json::parse(text).expect("JSON").to().expect("a result");
    assert_eq!(result.content.len(), 6);
    result
}

#[test]
fn numbers_bytes_and_what_is_not_known_come_back() {
    let (result, sink) = (odd_result(), Sink::memory());
    let recording = Recorder::new(Answers::with(result.clone()), &sink).begin("odd \u{0} 😀 \"task\"\n");
    let text = "{\n  \"n\": 9007199254740993,\r\n \"e\": 1e400, \"s\": \"a\\nb\", \"z\": 1.0\n}";
    recording.call("x", Arguments::from_text(text).expect("an object"), &plain()).expect("a result");
    recording.end();

    let contents = String::from_utf8(sink.contents()).expect("UTF-8");
    assert_eq!(contents.lines().count(), 4, "a line each:\n{contents}");
    let all = read(&sink);
    let call = all[0].tool_calls().next().expect("a call");
    assert_eq!(call.result.as_ref(), Some(&result));
    assert_eq!(call.arguments.as_str(), r#"{"n":9007199254740993,"e":1e400,"s":"a\nb","z":1.0}"#);
    let again = serde_json::to_string(call.result.as_ref().expect("a result")).expect("JSON");
    for number in
        ["9007199254740993", "1000000000000000000000000000000", "1.50", "1e400", "18446744073709551615"]
    {
        assert!(again.contains(number), "{number} in {again}");
    }
    assert_eq!(
        call.decision.as_ref().map(|made| (made.allowed, made.reason.as_deref())),
        Some((true, Some("rule: files/*")))
    );
    assert_eq!(call.server.as_deref(), Some("files"));
    assert_eq!(all[0].task_description(), "odd \u{0} 😀 \"task\"\n");
}

#[test]
fn lines_written_again_are_the_same() {
    let (client, sink) = (calculator(), Sink::memory());
    let recorder = Recorder::new(Arc::new(client.handle()), &sink);
    let recording = recorder.begin("all kinds");
    recording.list_tools(&plain()).expect("tools");
    recording.call("add", arguments(&json!({"a": 1, "b": 2})), &plain()).expect("a sum");
    recording.call("gone", Arguments::empty(), &plain()).expect_err("unknown");
    recording.read_resource("note://plan".into(), &plain()).expect("a note");
    recording.list_prompts(&plain()).expect_err("it has no prompts");
    let mut step = StepEvent::new(1, "add");
    step.reward = Some(0.25);
    step.observation = Some(Json::null());
    recording.record(ResetEvent::default());
    recording.record(step);
    recording.set_reward(1.0);
    recording.end();
    drop(recording);
    for line in String::from_utf8(sink.contents()).expect("UTF-8").lines() {
        let mut again = Vec::new();
        Line::parse(line).expect("a line").write(&mut again);
        assert_eq!(String::from_utf8_lossy(&again).trim_end(), line);
    }
}

#[test]
fn notices_refusals_and_later_kinds_are_recorded() {
    let answers = Answers::with(CallToolResult::text(""));
    let here = Some("files".into());
    answers.heard.lock().expect("whole").extend([
        Heard::new(None, Change::Interrupted),
        Heard::new(here, Change::ResourceUpdated("file:///a".into())),
    ]);
    let sink = Sink::memory();
    let recording = Recorder::new(answers, &sink).begin("listen");
    assert_eq!(recording.events(Filter::new().tools()).expect("events").count(), 2);
    recording.list_tools(&plain()).expect_err("denied");
    recording.end();

    let mut contents = sink.contents();
    contents.extend_from_slice(
        br#"{"event":"hologram","trajectory":"t9","seq":0,"beam":[9007199254740993]}
{"event":"begin","trajectory":"t9","seq":1,"task":"later","colour":"blue"}
"#,
    );
    let all: Vec<_> = Trajectories::new(&contents[..]).map(|read| read.expect("a recording")).collect();
    let EventKind::Notice(updated) = &all[0].events()[1].kind else { panic!("a notice") };
    assert_eq!(
        (updated.server.as_deref(), &updated.change, updated.uri.as_deref()),
        (Some("files"), &NoticeKind::Resource, Some("file:///a"))
    );
    let EventKind::List(list) = &all[0].events()[3].kind else { panic!("a list") };
    assert_eq!(list.error.as_ref().map(|error| &error.kind), Some(&ErrorKind::Denied));
    assert_eq!(list.decision.as_ref().map(|made| made.allowed), Some(false));
    // A beginning begins another one of the same id; what was before has none.
    let EventKind::Unknown(beam) = &all[1].events()[0].kind else { panic!("an unknown one") };
    assert_eq!(
        (beam.name.as_str(), beam.members.json("beam").map(Json::as_str)),
        ("hologram", Some("[9007199254740993]"))
    );
    assert_eq!(all[2].begin().and_then(|begin| begin.extra.get::<String>("colour")).as_deref(), Some("blue"));
}

#[test]
fn only_the_copy_is_redacted() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    struct Seen(Arc<Mutex<Vec<String>>>);
    impl Caller for Seen {
        fn call(
            &self,
            _: &str,
            arguments: Arguments<'_>,
            _: &CallOptions,
        ) -> tinymcp::Result<CallToolResult> {
            self.0.lock().expect("whole").push(arguments.as_str().to_owned());
            CallToolResult::structured(&json!({"token": "t-1", "id": 9_007_199_254_740_993_u64}))
                .map_err(|e| Error::InvalidUse(e.to_string()))
        }
        fn list_tools(&self, _: &CallOptions) -> tinymcp::Result<List<ToolDefinition>> {
            Err(Error::Unsupported("none".into()))
        }
    }
    let sink = Sink::memory();
    let redaction = Redaction::new().keys(["API_KEY", "token"]).with(|member, json| {
        (member == "task" && json.as_str().contains("s3cr3t")).then(|| Json::from("[task]"))
    });
    let recorder = Recorder::new(Arc::new(Seen(Arc::clone(&seen))), &sink).with_redaction(redaction);
    let recording = recorder.begin("use s3cr3t");
    let given = json!({"api_key": "k-1", "deep": [{"Token": {"a": 1}}], "n": 9_007_199_254_740_993_u64});
    let result = recording.call("x", arguments(&given), &plain()).expect("a result");
    recording.end();

    assert!(seen.lock().expect("whole")[0].contains("k-1"), "what is sent is as it was");
    assert!(result.text_content().contains("t-1"), "and so is what comes back");
    let contents = String::from_utf8(sink.contents()).expect("UTF-8");
    for secret in ["k-1", "t-1", "s3cr3t", r#""a":1"#] {
        assert!(!contents.contains(secret), "{secret} in {contents}");
    }
    let all = read(&sink);
    let call = all[0].tool_calls().next().expect("a call");
    assert_eq!(
        call.arguments.as_str(),
        r#"{"api_key":"[redacted]","deep":[{"Token":"[redacted]"}],"n":9007199254740993}"#
    );
    let text = call.result.as_ref().expect("a result").text_content();
    assert_eq!(text, r#"{"id":9007199254740993,"token":"[redacted]"}"#);
}

#[test]
fn definitions_are_redacted_and_stay_definitions() {
    struct Offering(Vec<ToolDefinition>);
    impl Caller for Offering {
        fn call(&self, _: &str, _: Arguments<'_>, _: &CallOptions) -> tinymcp::Result<CallToolResult> {
            Ok(CallToolResult::default())
        }
        fn list_tools(&self, _: &CallOptions) -> tinymcp::Result<List<ToolDefinition>> {
            Ok(List::new(self.0.clone()))
        }
    }
    let tools: Vec<ToolDefinition> = serde_json::from_value(json!([{
        "name": "login",
        "description": "as root, with ghp_Abc123",
        "inputSchema": {
            "type": "object",
            "properties": {
                "password": {"type": "string", "default": "hunter2", "enum": ["hunter2"], "minLength": 3},
                "auth": {"default": {"password": "hunter3"}},
                "token": {"$ref": "#/$defs/Token"},
            },
            "$defs": {"Token": {"type": "string", "examples": ["hunter4"]}},
            "required": ["password"],
        },
        "_meta": {"token": "hunter5"},
    }]))
    .expect("tools");
    let (sink, told) = (Sink::memory(), Sink::memory());
    let redaction = Redaction::new().keys(["password", "token"]).texts(|text| {
        text.contains("ghp_").then(|| text.split("ghp_").next().unwrap_or_default().to_owned() + "[token]")
    });
    let recorder = Recorder::new(Arc::new(Offering(tools.clone())), &sink).with_redaction(redaction.clone());
    let recording = recorder.begin("log in with ghp_Zz");
    for _ in 0..3 {
        assert_eq!(recording.list_tools(&plain()).expect("tools").items, tools, "as they are");
    }
    recording.end();
    let text = String::from_utf8(sink.contents()).expect("UTF-8");
    assert!(!text.contains("hunter") && !text.contains("ghp_"), "{text}");
    assert_eq!(text.matches(r#""event":"definitions""#).count(), 1, "once a content");
    let all = read(&sink);
    assert_eq!(all[0].task_description(), "log in with [token]");
    let [login] = all[0].tools().expect("offered") else { panic!("one") };
    assert_eq!(login.description.as_deref(), Some("as root, with [token]"));
    let schema = json!({
        "type": "object",
        "properties": {
            "password": {"type": "string", "minLength": 3},
            "auth": {"default": {"password": "[redacted]"}},
            "token": {"$ref": "#/$defs/Token"},
        },
        "$defs": {"Token": {"type": "string"}},
        "required": ["password"],
    });
    assert_eq!(login.input_schema.to_value(), schema);
    // What makes something else of tools leaves nothing of them.
    let odd = Redaction::new().with(|member, _| (member == "tools").then(|| Json::from("none")));
    let recording = Recorder::new(Arc::new(Offering(tools)), &told).with_redaction(odd).begin("x");
    recording.list_tools(&plain()).expect("tools");
    recording.end();
    let all = read(&told);
    assert!(all[0].is_complete() && all[0].tools().is_none());
}

#[test]
#[cfg(feature = "patterns")]
fn regular_expressions_keep_parts_of_texts_out() {
    let redaction = Redaction::new().regex(r"sk-[a-z0-9]+").expect("a pattern");
    let json = Json::parse(r#"{"sk-k1":"use sk-abc1, then sk-x\n","inner":"{\"a\":\"sk-9\"}","n":1e400}"#);
    assert_eq!(
        redaction.apply("result", &json.expect("JSON")).as_str(),
        r#"{"[redacted]":"use [redacted], then [redacted]\n","inner":"{\"a\":\"[redacted]\"}","n":1e400}"#
    );
    assert!(Redaction::new().regex("(").is_err());
}

#[test]
fn a_redaction_that_panics_records_nothing_of_it_and_fails_nobody() {
    let sink = Sink::memory();
    let redaction = Redaction::new().with(|member, _| if member == "result" { panic!("odd") } else { None });
    let recorder =
        Recorder::new(Answers::with(CallToolResult::text("secret")), &sink).with_redaction(redaction);
    let recording = recorder.begin("x");
    assert_eq!(recording.call("x", Arguments::empty(), &plain()).expect("a result").text_content(), "secret");
    recording.end();
    assert!(!String::from_utf8(sink.contents()).expect("UTF-8").contains("secret"));
}

#[test]
fn too_many_open_trajectories_are_not_recorded_and_work() {
    let client = calculator();
    let sink = Sink::memory().with_max_open(2);
    let recorder = Recorder::new(Arc::new(client.handle()), &sink);
    let open: Vec<Recording> = (0..3).map(|n| recorder.begin(n.to_string())).collect();
    assert_eq!(open.iter().map(Recording::is_recorded).collect::<Vec<_>>(), [true, true, false]);
    open[2].call("add", arguments(&json!({"a": 1, "b": 2})), &plain()).expect("a sum");
    assert_eq!((sink.open_trajectories(), sink.refused()), (2, 1));
    drop(open);
    assert_eq!(sink.open_trajectories(), 0);
    assert!(recorder.begin("again").is_recorded());
    assert_eq!(read(&sink).len(), 3);
}

#[test]
fn the_end_is_the_last_event_whatever_is_under_way() {
    let (begun, waits) = (crossbeam_channel::bounded::<()>(1), crossbeam_channel::bounded::<()>(1));
    struct Slow(crossbeam_channel::Sender<()>, crossbeam_channel::Receiver<()>);
    impl Caller for Slow {
        fn call(&self, _: &str, _: Arguments<'_>, _: &CallOptions) -> tinymcp::Result<CallToolResult> {
            self.0.send(()).expect("somebody waits");
            self.1.recv().expect("it goes on");
            Ok(CallToolResult::text("late"))
        }
        fn list_tools(&self, _: &CallOptions) -> tinymcp::Result<List<ToolDefinition>> {
            Err(Error::Unsupported("none".into()))
        }
    }
    let sink = Sink::memory();
    let recording =
        Recorder::new(Arc::new(Slow(begun.0, waits.1)), &sink).begin_as("mine", BeginEvent::new("x"));
    let caller = recording.clone();
    let calling = std::thread::spawn(move || caller.call("x", Arguments::empty(), &CallOptions::default()));
    begun.1.recv().expect("it has begun");
    recording.end();
    assert_eq!(recording.record(ResetEvent::default()), None, "it is over");
    assert_eq!(sink.open_trajectories(), 1);
    waits.0.send(()).expect("it waits");
    calling.join().expect("no panic").expect("a result");
    assert_eq!(sink.open_trajectories(), 0);
    let all = read(&sink);
    assert_eq!(kinds(&all[0]), ["begin", "call", "end"]);
    assert_eq!((all[0].id(), all[0].end().map(|end| end.calls)), ("mine", Some(1)));
}

#[test]
fn what_is_done_through_the_recorder_itself_has_a_trajectory() {
    let (client, sink) = (calculator(), Sink::memory());
    let recorder = Recorder::new(Arc::new(client.handle()), &sink).with_server("mine");
    recorder.list_tools(&plain()).expect("tools");
    recorder.clone().call("add", arguments(&json!({"a": 1, "b": 2})), &plain()).expect("a sum");
    // Tools that were offered before are known to what begins later.
    recorder.begin("later").end();
    drop(recorder);
    let all = read(&sink);
    assert_eq!(kinds(&all[1]), ["begin", "list", "call", "end"]);
    assert_eq!(all[1].tool_calls().next().and_then(|call| call.record.server.as_deref()), Some("mine"));
    assert_eq!(all[0].tools().map(<[ToolDefinition]>::len), Some(2));
    let definitions = String::from_utf8(sink.contents()).expect("UTF-8");
    assert_eq!(definitions.matches(r#""event":"definitions""#).count(), 1, "once for each content");
}

/// A file that is gone with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tinymcp-recording-{name}-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn a_torn_line_is_repaired_wherever_it_is_torn() {
    let file = Scratch::new("torn");
    let sink = Sink::open(&file.0).expect("a file");
    let recorder = Recorder::new(Answers::with(odd_result()), &sink);
    let recording = recorder.begin("torn");
    recording.call("x", Arguments::empty(), &plain()).expect("a result");
    drop((recording, recorder, sink));
    let whole = fs::read(&file.0).expect("a file");
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let count = |bytes: &[u8]| {
        Lines::new(bytes)
            .filter(|read| matches!(read, Ok(line) if !matches!(line.line, Line::Header(_))))
            .count()
    };
    assert_eq!(count(&whole), lines.len() - 1);

    // Every cut in the last line and some elsewhere, the header included.
    let last = whole.len() - lines[lines.len() - 1].len();
    for cut in (0..lines[0].len()).chain((lines[0].len()..last).step_by(37)).chain(last..whole.len()) {
        let mut reader = Lines::new(&whole[..cut]);
        let read: Vec<_> = reader.by_ref().collect();
        assert!(read.iter().all(Result::is_ok), "cut at {cut}: {read:?}");
        let complete = whole[..cut].iter().filter(|byte| **byte == b'\n').count();
        let lacks_end_only = lines
            .iter()
            .scan(0, |at, line| {
                *at += line.len();
                Some(*at)
            })
            .any(|end| end == cut + 1);
        assert_eq!(read.len(), complete + usize::from(lacks_end_only), "cut at {cut}");

        fs::write(&file.0, &whole[..cut]).expect("written");
        let sink = Sink::open(&file.0).expect("repaired");
        Recorder::new(Answers::with(CallToolResult::text("after")), &sink).begin("after").end();
        drop(sink);
        let repaired = fs::read(&file.0).expect("a file");
        let mut reader = Lines::new(&repaired[..]);
        let events = reader
            .by_ref()
            .map(|read| read.expect("a line"))
            .filter(|read| !matches!(read.line, Line::Header(_)))
            .count();
        assert_eq!((reader.broken(), reader.is_torn()), (0, false), "cut at {cut}");
        let kept = (complete + usize::from(lacks_end_only)).saturating_sub(1);
        assert_eq!(events, kept + 2, "cut at {cut}");
    }
}

#[test]
fn other_files_are_left_as_they_are() {
    let file = Scratch::new("foreign");
    for (text, problem) in [
        (
            "{\"format\":\"tinymcp-trajectory\",\"version\":2}\n",
            "version 2 of tinymcp-trajectory, and this program knows 1",
        ),
        ("[1,2]\n", "not a file of tinymcp-trajectory"),
        ("dear diary", "not a file of tinymcp-trajectory"),
        ("{\"format\":\"tinymcp-wire\",\"version\":1}\n", "not a file of tinymcp-trajectory"),
    ] {
        fs::write(&file.0, text).expect("written");
        let error = Sink::open(&file.0).expect_err(text).to_string();
        assert!(error.ends_with(problem), "{error}");
        assert_eq!(fs::read_to_string(&file.0).expect("there"), text);
    }
    let error = Lines::new(&b"dear diary\n"[..]).next().expect("an item").expect_err("no recording");
    assert!(error.to_string().starts_with("not a recording"), "{error}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_failing_disk_fails_nobody_and_is_counted() {
    let client = calculator();
    let full = std::env::temp_dir().join(format!("tinymcp-recording-full-{}", std::process::id()));
    let _ = fs::remove_file(&full);
    std::os::unix::fs::symlink("/dev/full", &full).expect("a link");
    let sink = Sink::open(&full).expect("a full disk keeps nobody from working");
    fs::remove_file(&full).expect("removed");
    let problem = sink.problem().expect("no room for the header");
    assert!(problem.contains("No space left"), "{problem}");
    assert_eq!((sink.written(), sink.lost()), (0, 0));
    let recording = Recorder::new(Arc::new(client.handle()), &sink).begin("x");
    let sum = recording.call("add", arguments(&json!({"a": 1, "b": 2})), &plain()).expect("a sum");
    assert_eq!(sum.text_content(), "3");
    recording.list_tools(&plain()).expect("tools");
    recording.end();
    // The definitions of the tools are a line of their own.
    assert_eq!((sink.written(), sink.lost(), sink.problem()), (0, 5, Some(problem)));

    // A sink in memory is full one day as well.
    let sink = Sink::memory();
    let recording = Recorder::new(Arc::new(client.handle()), &sink).begin("x");
    let big = Json::from("x".repeat(40 << 20));
    let note = |text: &Json| {
        let mut event = ResetEvent::default();
        event.observation = Some(text.clone());
        recording.record(event)
    };
    assert_eq!((note(&big), note(&big)), (Some(1), Some(2)));
    recording.call("add", arguments(&json!({"a": 1, "b": 2})), &plain()).expect("a sum");
    assert_eq!((sink.lost(), sink.problem()), (1, None));
    recording.end();
    let all = read(&sink);
    assert_eq!(all[0].end().map(|end| end.lost), Some(1));
    assert!(!all[0].is_complete(), "a number is missing");
}

#[test]
fn eight_megabytes_survive() {
    let sink = Sink::memory();
    let blob = "QUJD".repeat(2 << 20);
    let result = CallToolResult::new(vec![Content::image(blob.as_str(), "image/png")]);
    let recording = Recorder::new(Answers::with(result.clone()), &sink).begin("large");
    recording.call("x", Arguments::empty(), &plain()).expect("a result");
    recording.end();
    assert_eq!(read(&sink)[0].tool_calls().next().and_then(|call| call.record.result.clone()), Some(result));
}

#[test]
fn events_have_one_form_whoever_writes_them() {
    let line = r#"{"event":"done","trajectory":"7","seq":3,"turn":1,"time_us":1,"at_ns":2,"terminated":true,"truncated":false,"steps":4,"total_reward":3}"#;
    let event: Event = serde_json::from_str(line).expect("an event");
    assert_eq!(serde_json::to_string(&event).expect("JSON"), line);
}

/// So that the compiler sees every method of a caller passed on.
#[test]
fn a_recording_is_a_caller_like_any_other() {
    fn all(caller: &dyn Caller) -> [bool; 3] {
        let read: tinymcp::Result<ReadResourceResult> =
            caller.read_resource(Address::of("calculator", "note://plan"), &plain());
        let listed: tinymcp::Result<List<Placed<Resource>>> = caller.list_resources(&plain());
        let prompts: tinymcp::Result<List<Placed<Prompt>>> = caller.list_prompts(&plain());
        let _: tinymcp::Result<GetPromptResult> =
            caller.get_prompt("none".into(), &Json::empty_object(), &plain());
        [
            read.is_ok_and(
                |read| matches!(&read.contents[0], ResourceContents::Text(text) if text.text == "first this"),
            ),
            listed.is_ok(),
            prompts.is_ok(),
        ]
    }
    let client = calculator();
    let recorder = Recorder::new(Arc::new(client.handle()), &Sink::memory());
    assert_eq!(all(&recorder.begin("x")), all(&client.handle()));
}
