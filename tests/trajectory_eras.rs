//! Recordings in every revision: what servers tell of and ask meanwhile, and the session served again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tinymcp::client::{Asked, CallOptions, Caller, ClientHandler, Filter};
use tinymcp::context::Ability;
use tinymcp::json::{Json, Object};
use tinymcp::protocol::{
    CallToolResult, CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitParams, ElicitResult,
    ListRootsParams, PrimitiveSchema, RequestedSchema, Root, SamplingMessage,
};
use tinymcp::testing::{self, Pair};
use tinymcp::trajectory::{
    EventKind, InputLog, NoticeKind, Recorder, Replay, Sink, Trajectories, Trajectory,
};
use tinymcp::{
    Arguments, Client, Context, ErrorObject, ProtocolVersion, Server, ToolError, ToolRegistry, tool,
};

const REVISIONS: [ProtocolVersion; 5] = [
    ProtocolVersion::V2024_11_05,
    ProtocolVersion::V2025_03_26,
    ProtocolVersion::V2025_06_18,
    ProtocolVersion::V2025_11_25,
    ProtocolVersion::V2026_07_28,
];

fn read(sink: &Sink) -> Trajectory {
    let mut all =
        Trajectories::new(&sink.contents()[..]).collect::<Result<Vec<_>, _>>().expect("a recording");
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn call(caller: &dyn Caller, tool: &str, arguments: &str) -> tinymcp::Result<CallToolResult> {
    caller.call(tool, Arguments::from_text(arguments).expect("an object"), &CallOptions::default())
}

fn growing() -> Server {
    let tools = ToolRegistry::new();
    let grown = tools.clone();
    let grow =
        tinymcp::FnTool::new("grow", "", Json::parse(r#"{"type":"object"}"#).expect("JSON"), move |_, _| {
            grown.register(tool! { fn late() -> String { "late".into() } })?;
            Ok::<_, ToolError>("grown")
        });
    tools.register(grow).expect("valid");
    tools.register(tool! { fn nothing() -> String { String::new() } }).expect("valid");
    Server::builder("growing", "1.0.0").tools(tools).build().expect("a server")
}

fn pair(version: &ProtocolVersion, server: &Server, builder: tinymcp::client::ClientBuilder) -> Pair {
    testing::pair_with(builder.versions([version.clone()]), server).expect("a pair")
}

/// Calls `nothing` until it is recorded that the tools have changed.
fn until_told(recording: &tinymcp::trajectory::Recording, sink: &Sink) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !String::from_utf8(sink.contents()).expect("UTF-8").contains("tools_changed") {
        assert!(Instant::now() < deadline, "nothing was told");
        call(recording, "nothing", "{}").expect("a result");
    }
}

#[test]
fn changes_are_recorded_once_whoever_listens() {
    for version in REVISIONS {
        for listens in [false, true] {
            let client = pair(&version, &growing(), Client::builder());
            let sink = Sink::memory();
            let recorder =
                Recorder::new(Arc::new(client.handle()), &sink).with_notices(Filter::new().tools());
            let recording = recorder.begin("grow");
            let own = listens.then(|| recording.events(Filter::new().tools()).expect("listening"));
            recording.list_tools(&CallOptions::default()).expect("tools");
            recording.list_tools(&CallOptions::default()).expect("tools");
            call(&recording, "grow", "{}").expect("grown");
            if let Some(mut own) = own {
                own.next_timeout(Duration::from_secs(20)).expect("it changed");
            }
            until_told(&recording, &sink);
            for _ in 0..3 {
                recording.list_tools(&CallOptions::default()).expect("tools");
            }
            recording.end();
            let trajectory = read(&sink);
            let told = trajectory.events().iter().filter_map(|event| match &event.kind {
                EventKind::Notice(notice) => Some((notice.change.clone(), event.seq)),
                _ => None,
            });
            let told: Vec<_> = told.collect();
            assert!(
                matches!(told[..], [(NoticeKind::Tools, seq)] if seq > 3),
                "{version} {listens}: {told:?}"
            );
            let text = String::from_utf8(sink.contents()).expect("UTF-8");
            assert_eq!(text.matches(r#""event":"definitions""#).count(), 2, "once a content");
            assert!(trajectory.is_complete());
            assert_eq!(trajectory.tools().map(<[_]>::len), Some(3));
        }
    }
}

#[test]
fn who_tells_of_nothing_is_recorded_as_ever() {
    struct Deaf;
    impl Caller for Deaf {
        fn call(&self, _: &str, _: Arguments<'_>, _: &CallOptions) -> tinymcp::Result<CallToolResult> {
            Ok(CallToolResult::text("still"))
        }
        fn list_tools(
            &self,
            _: &CallOptions,
        ) -> tinymcp::Result<tinymcp::client::List<tinymcp::protocol::ToolDefinition>> {
            Ok(tinymcp::client::List::new(Vec::new()))
        }
    }
    let sink = Sink::memory();
    let recording = Recorder::new(Arc::new(Deaf), &sink).with_notices(Filter::new().tools()).begin("listen");
    assert_eq!(call(&recording, "any", "{}").expect("a result").text_content(), "still");
    drop(recording);
    assert!(read(&sink).is_complete());
}

/// Answers everything.
struct Obliging;

impl ClientHandler for Obliging {
    fn can(&self, _: Ability) -> bool {
        true
    }
    fn elicit(&self, _: &Asked<ElicitFormParams>) -> Result<ElicitResult, ErrorObject> {
        let mut answer = Object::new();
        answer.insert("name", "Ada 😀");
        Ok(ElicitResult::accept(answer))
    }
    fn sample(&self, _: &Asked<CreateMessageParams>) -> Result<CreateMessageResult, ErrorObject> {
        Ok(CreateMessageResult::text("a-model", "forty-two"))
    }
    fn roots(&self, _: &Asked<ListRootsParams>) -> Result<Vec<Root>, ErrorObject> {
        Ok(vec![Root::new("file:///home/ada")])
    }
}

#[test]
fn every_kind_of_question_is_recorded_with_its_answer() {
    let ask = tool! {
        fn ask(cx: &Context) -> Result<String, ToolError> {
            let fields = RequestedSchema::new().required("name", PrimitiveSchema::text());
            let name = cx.elicit("name", ElicitParams::form("Who?", fields))?;
            let mut question = CreateMessageParams::new(100);
            question.messages.push(SamplingMessage::user("What is it?"));
            let said = cx.sample("think", question)?;
            let roots = cx.roots()?;
            Ok(format!("{} {} {}", name.is_accepted(), said.model, roots.len()))
        }
    };
    let tools = ToolRegistry::new().with(ask).expect("a tool");
    let server = Server::builder("curious", "1.0.0").tools(tools).build().expect("a server");
    for version in [ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28]
    {
        let log = InputLog::new(Obliging);
        let client = pair(&version, &server, Client::builder().handler(log.clone()));
        let sink = Sink::memory();
        let recording = Recorder::new(Arc::new(client.handle()), &sink).with_inputs(&log).begin("ask");
        assert_eq!(call(&recording, "ask", "{}").expect("answered").text_content(), "true a-model 1");
        recording.end();
        let trajectory = read(&sink);
        let asked = trajectory.events().iter().filter_map(|event| match &event.kind {
            EventKind::Input(input) => {
                Some((input.method.as_str(), input.answer.as_ref().map(Json::to_value).unwrap_or_default()))
            }
            _ => None,
        });
        let asked: Vec<(&str, Value)> = asked.collect();
        assert_eq!(
            asked.iter().map(|(method, _)| *method).collect::<Vec<_>>(),
            ["elicitation/create", "sampling/createMessage", "roots/list",]
        );
        assert_eq!(asked[0].1["content"]["name"], "Ada 😀", "{version}");
        assert_eq!(
            (&asked[1].1["model"], &asked[1].1["content"]["text"]),
            (&json!("a-model"), &json!("forty-two"))
        );
        assert_eq!(asked[2].1["roots"][0]["uri"], "file:///home/ada");
        assert!(trajectory.is_complete());

        // Served again the answer comes without the questions.
        let client = pair(&version, &Replay::of(&trajectory).server().expect("a server"), Client::builder());
        assert_eq!(call(&client.handle(), "ask", "{}").expect("answered").text_content(), "true a-model 1");
    }
}

/// As a server wrote it that counts on nobody to change it.
const WIRE: &str = r#"{"content":[{"type":"text","text":"{\"n\":9007199254740993,\"x\":1.0}"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}],"structuredContent":{"lone":"\ud83d cut","n":9007199254740993,"huge":1e400,"zero":-0.0,"exp":1E5,"emoji":"😀","control":"\u0000\u001f\u007f"}}"#;

#[test]
fn a_session_is_served_again_in_every_revision() {
    let result: CallToolResult = serde_json::from_str(WIRE).expect("a result");
    let big = "x".repeat(8 << 20) + "\u{0}😀";
    let mut recorded = Trajectory::new("every revision");
    let pushed = |tool: &str, arguments: &str, result: CallToolResult| {
        tinymcp::trajectory::ToolCallRecord::new(tool, Json::parse(arguments).expect("JSON"))
            .with_result(result)
    };
    recorded.push(pushed("odd", r#"{"a":"\ud83d","b":[1,1.0,1e0]}"#, result.clone()));
    recorded.push(pushed("big", "{}", CallToolResult::text(big.as_str())));
    recorded.push(pushed("bad", "{}", CallToolResult::error("no 😀")));
    recorded.push(tinymcp::trajectory::ToolCallRecord::new("gone", Json::empty_object()).with_error(
        tinymcp::trajectory::RecordedError::new(tinymcp::trajectory::ErrorKind::Peer, "it broke"),
    ));
    let sink = Sink::memory();
    recorded.append_to(&sink).expect("written");
    let text = String::from_utf8(sink.contents()).expect("UTF-8");
    assert!(text.contains(r#""lone":"\ud83d cut""#) && text.contains(r#""b":[1,1.0,1e0]"#), "to the byte");
    let recorded = read(&sink);
    for version in REVISIONS {
        let replay = Replay::of(&recorded);
        let client = pair(&version, &replay.server().expect("a server"), Client::builder());
        let handle = client.handle();
        for other in [r#"{"b":[1,1,1e0],"a":"\ud83d"}"#, r#"{"b":[1,1.0,1],"a":"\ud83d"}"#] {
            let miss = call(&handle, "odd", other).expect_err("another number").to_string();
            assert!(miss.contains("/b/") && miss.contains("nearest"), "{version}: {miss}");
        }
        let odd = call(&handle, "odd", r#"{"b":[1, 1.0, 1e0], "a":"\ud83d"}"#).expect("the same");
        // What a revision lacks is lowered: structured content stands in one text more.
        assert_eq!(odd.content[..2], result.content[..], "{version}");
        if version >= ProtocolVersion::V2025_06_18 {
            assert_eq!(odd.content.len(), 2, "{version}");
            let structured = odd.structured_content.as_ref().map(Json::as_str);
            assert_eq!(structured, result.structured_content.as_ref().map(Json::as_str), "{version}");
        }
        assert!(call(&handle, "big", "{}").expect("large").text_content() == big, "{version}");
        assert!(call(&handle, "bad", "{}").is_ok_and(|bad| bad.is_error() && bad.text_content() == "no 😀"));
        assert!(call(&handle, "gone", "{}").expect_err("an error").to_string().contains("it broke"));
        let (answered, missed) = (replay.left() == 0, replay.missed());
        assert_eq!((answered, missed), (true, 2), "{version}");
    }
}
