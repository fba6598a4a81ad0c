//! A recorded session served again: exact answers, order, misses, lists that change.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tinymcp::client::{Address, CallOptions, Caller, Filter};
use tinymcp::json::Json;
use tinymcp::protocol::{
    CallToolResult, Content, Prompt, PromptArgument, ReadResourceResult, Resource, ResourceContents,
    ToolDefinition,
};
use tinymcp::trajectory::{
    BeginEvent, Definitions, ErrorKind, Event, EventKind, Line, REPLAY_MISS, RecordedError, Recorder,
    Redaction, Replay, ReplayOrder, Sink, ToolCallRecord, Trajectories, Trajectory,
};
use tinymcp::{
    Arguments, CancelToken, Client, Error, FnPrompt, FnResource, PromptRegistry, ProtocolVersion,
    ResourceRegistry, Server, ToolError, ToolRegistry, testing, tool,
};

fn json(text: &str) -> Json {
    Json::parse(text).expect("JSON")
}

fn call(caller: &dyn Caller, tool: &str, arguments: &str) -> Result<CallToolResult, Error> {
    caller.call(tool, Arguments::from_text(arguments).expect("an object"), &CallOptions::default())
}

fn record(tool: &str, arguments: &str, text: &str) -> ToolCallRecord {
    ToolCallRecord::new(tool, json(arguments)).with_result(CallToolResult::text(text))
}

/// A trajectory of calls that follow each other; the text of each result is its number.
fn session(calls: &[(&str, &str)]) -> Trajectory {
    let mut trajectory = Trajectory::new("any");
    for (i, (tool, arguments)) in calls.iter().enumerate() {
        trajectory.push(record(tool, arguments, &i.to_string()));
    }
    trajectory
}

fn miss(result: Result<CallToolResult, Error>) -> String {
    match result {
        Err(Error::Peer(error)) if error.code == REPLAY_MISS => error.message,
        other => panic!("no miss: {other:?}"),
    }
}

/// Every kind of content, and what is easily lost on the way.
fn odd_result() -> CallToolResult {
    let structured = r#"{"big":9007199254740993,"huge":1e400,"zero":-0.0,"one":1.00,"emoji":"😀","control":"\u0007\u202e"}"#;
    let mut result = CallToolResult::new(vec![
        Content::text("emoji 😀, control \u{7}, right to left \u{202e}abc, \u{2028}"),
        Content::image("iVBORw0KGgo=", "image/png"),
        Content::audio("UklGRg==", "audio/wav"),
        Content::resource_link("file:///a%20b", "a b"),
        Content::resource(ResourceContents::blob("file:///c", "AAECAwQ=")),
        Content::text("x".repeat(8 << 20)),
    ])
    .with_structured_content(json(structured));
    result.is_error = Some(true);
    result.extra.insert("unknown", &json!({"kept": 18_446_744_073_709_551_615_u64}));
    result
}

#[test]
fn results_are_exactly_as_recorded_through_every_door() {
    let mut recorded = Trajectory::new("odd");
    let result = odd_result();
    recorded.push(ToolCallRecord::new("odd", json(r#"{"n":9007199254740993}"#)).with_result(result.clone()));
    let sink = Sink::memory();
    recorded.append_to(&sink).expect("written");
    let read = Trajectories::new(&sink.contents()[..]).next().expect("one").expect("whole");
    let replay = Replay::of(&read).with_order(ReplayOrder::Lookup);

    assert_eq!(call(&replay, "odd", r#"{"n":9007199254740993}"#).expect("recorded"), result);
    assert!(call(&replay, "odd", r#"{"n":9007199254740992}"#).is_err());
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let client = testing::pair_with(
            Client::builder().versions([version.clone()]),
            &replay.server().expect("built"),
        );
        let answer = call(&client.expect("a pair").handle(), "odd", r#" { "n" : 9007199254740993 } "#);
        let answer = answer.expect("recorded");
        assert_eq!((&answer.content, &answer.extra), (&result.content, &result.extra), "{version}");
        let text = |result: &CallToolResult| result.structured_content.as_ref().map(ToString::to_string);
        assert_eq!((text(&answer), answer.is_error), (text(&result), Some(true)), "{version}");
    }
}

#[test]
fn requests_match_as_json_values() {
    let recorded = session(&[("t", r#"{"a":1,"b":{"c":[1,{"d":"x"}]},"s":"{\"k\":1}"}"#)]);
    let replay = Replay::of(&recorded).with_order(ReplayOrder::Lookup);
    for same in [
        r#"{"s":"{\"k\":1}","b":{"c":[1,{"d":"x"}]},"a":1}"#,
        r#"{ "a": 1, "b": {"c": [1, {"d": "\u0078"}]}, "s": "{\"k\":1}" }"#,
        r#"{"a":1,"b":{"c":[1,{"d":"x"}]},"s":"{\"k\":1}","_meta":{"progressToken":7}}"#,
    ] {
        assert_eq!(call(&replay, "t", same).expect(same).text_content(), "0");
    }
    for (other, place) in [
        (r#"{"a":1.0,"b":{"c":[1,{"d":"x"}]},"s":"{\"k\":1}"}"#, "/a: recorded 1, now 1.0"),
        (r#"{"a":"1","b":{"c":[1,{"d":"x"}]},"s":"{\"k\":1}"}"#, "/a: recorded 1, now \"1\""),
        (r#"{"a":1,"b":{"c":[{"d":"x"},1]},"s":"{\"k\":1}"}"#, "/b/c/0"),
        (r#"{"a":1,"b":{"c":[1,{"d":"x"}]},"s":"{ \"k\":1}"}"#, "/s"),
        (r#"{"a":1,"b":{"c":[1,{"d":"x"}]}}"#, "/s: recorded \"{\\\"k\\\":1}\", now nothing"),
    ] {
        let told = miss(call(&replay, "t", other));
        assert!(told.contains(&format!("at {place}")), "{told}");
    }
    let told = miss(call(&replay, "u", "{}"));
    assert!(told.ends_with("nothing like it was recorded"), "{told}");
}

#[test]
fn in_strict_order_each_answer_is_given_once_and_in_its_turn() {
    let recorded = session(&[("a", r#"{"n":1}"#), ("b", "{}"), ("a", r#"{"n":1}"#)]);
    let replay = Replay::of(&recorded);
    let told = miss(call(&replay, "b", "{}"));
    assert_eq!(
        told,
        r#"replay miss: came tools/call b {}; expected tools/call a {"n":1} (event 1); recorded elsewhere: tools/call b {} (event 2)"#
    );
    let Err(Error::Peer(error)) = call(&replay, "a", r#"{"n":2}"#) else { panic!("no miss") };
    let data = error.data.expect("data").to_value();
    assert_eq!(data["differences"], json!([{"pointer": "/n", "recorded": "1", "now": "2"}]));
    assert_eq!((&data["nearest"]["seq"], &data["expected"][0]["name"]), (&json!(1), &json!("a")));
    // A miss changes nothing.
    for (tool, arguments, want) in [("a", r#"{"n":1}"#, "0"), ("b", "{}", "1"), ("a", r#"{"n":1}"#, "2")] {
        assert_eq!(call(&replay, tool, arguments).expect(want).text_content(), want);
    }
    let told = miss(call(&replay, "a", r#"{"n":1}"#));
    assert!(told.contains("expected nothing more") && told.contains("every recorded answer"), "{told}");
    assert_eq!((replay.left(), replay.missed(), replay.misses().len()), (0, 3, 3));
    let problem = replay.finish().expect_err("misses").to_string();
    assert!(problem.contains("3 requests were not recorded"), "{problem}");

    let fresh = replay.again();
    let problem = fresh.finish().expect_err("nothing was asked").to_string();
    assert!(problem.contains("3 recorded requests did not come, the first: tools/call a"), "{problem}");
    let client = testing::pair(&fresh.server().expect("built")).expect("a pair");
    for (tool, n) in [("a", json!({"n": 1})), ("b", json!({})), ("a", json!({"n": 1}))] {
        client.call_tool(tool, n).expect("recorded");
    }
    fresh.finish().expect("it went as recorded");
}

#[test]
fn what_was_under_way_side_by_side_comes_in_any_order() {
    let event = |seq, at_ns, took, tool: &str| {
        let call = record(tool, "{}", tool).with_duration(Duration::from_nanos(took));
        let mut event = Event::new("7", seq, call);
        event.at_ns = at_ns;
        Line::from(event)
    };
    // `slow` spans `b` and `c`, which follow each other; `last` begins after all. Recorded as they ended.
    let lines =
        || [event(1, 20, 10, "b"), event(2, 40, 10, "c"), event(3, 10, 60, "slow"), event(4, 100, 5, "last")];
    for order in [["slow", "b", "c", "last"], ["b", "slow", "c", "last"], ["b", "c", "slow", "last"]] {
        let replay = Replay::of_lines(lines());
        for tool in order {
            assert_eq!(call(&replay, tool, "{}").expect(tool).text_content(), tool);
        }
        replay.finish().expect("as recorded");
    }
    let replay = Replay::of_lines(lines());
    assert!(
        miss(call(&replay, "c", "{}")).contains("expected one of tools/call slow {} (event 3), tools/call b")
    );
    assert!(call(&replay, "slow", "{}").is_ok() && call(&replay, "c", "{}").is_err());
}

#[test]
fn in_another_order_the_same_request_gets_its_answers_in_turn() {
    let recorded = session(&[("a", "{}"), ("b", "{}"), ("a", "{}")]);
    let texts = |order| {
        let replay = Replay::of(&recorded).with_order(order);
        let answer = |tool| call(&replay, tool, "{}").map(|result| result.text_content()).ok();
        [answer("b"), answer("a"), answer("a"), answer("a")]
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(texts(ReplayOrder::EachOnce), [some("1"), some("0"), some("2"), None]);
    assert_eq!(texts(ReplayOrder::Lookup), [some("1"), some("0"), some("2"), some("2")]);
    assert_eq!(texts(ReplayOrder::Strict), [None, some("0"), None, None]);
}

#[test]
fn errors_come_back_as_they_were() {
    let mut recorded = Trajectory::new("errors");
    let mut peer = RecordedError::new(ErrorKind::Peer, "unknown tool: nope");
    (peer.code, peer.data) = (Some(-32602), Some(json(r#"{"n":9007199254740993}"#)));
    recorded.push(ToolCallRecord::new("nope", json("{}")).with_error(peer.clone()));
    recorded.push(
        ToolCallRecord::new("slow", json("{}")).with_error(RecordedError::new(ErrorKind::Timeout, "60 s")),
    );
    recorded.set_tools(vec![ToolDefinition::new("slow", json(r#"{"type":"object","required":["x"]}"#))]);
    let replay = Replay::of(&recorded);
    let Err(Error::Peer(error)) = call(&replay, "nope", "{}") else { panic!("no error") };
    assert_eq!(RecordedError::from(&error), peer);
    assert!(
        matches!(call(&replay, "slow", "{}"), Err(Error::Protocol(text)) if text == "recorded timeout: 60 s")
    );

    let client = testing::pair(&replay.again().server().expect("built")).expect("a pair");
    assert_eq!(client.list_tools().expect("listed").items.len(), 1, "what was not offered is not listed");
    let Err(Error::Peer(error)) = client.call_tool("nope", json!({})) else { panic!("no error") };
    assert_eq!(RecordedError::from(&error), peer);
    let Err(Error::Peer(error)) = client.call_tool("slow", json!({})) else { panic!("no error") };
    assert_eq!(error.message, "recorded timeout: 60 s");
    assert_eq!(error.data.expect("data").to_value()["kind"], "timeout");
}

#[test]
fn a_redaction_is_applied_to_both_sides() {
    // By a closure that would not give the same if it saw its own work.
    let redaction = || {
        Redaction::new()
            .keys(["token"])
            .with(|member, json| (member == "uri").then(|| Json::from(format!("<{}>", json.as_str().len()))))
    };
    let mut recorded =
        session(&[("login", r#"{"user":"ada","token":"[redacted]"}"#), ("login", r#"{"token":"seen"}"#)]);
    let mut read = recorded.events()[1].clone();
    read.kind =
        serde_json::from_value::<Event>(json!({"event": "read", "trajectory": "", "seq": 0, "uri": "<8>",
        "result": {"contents": [{"uri": "a:b", "text": "c"}]}}))
        .expect("an event")
        .kind;
    recorded.push(read.kind);
    let replay = Replay::of(&recorded).with_redaction(redaction());
    let told = miss(call(&replay, "login", r#"{"user":"eve","token":"sk-1234"}"#));
    assert!(told.contains("/user: recorded \"ada\", now \"eve\"") && !told.contains("sk-1234"), "{told}");
    assert!(call(&replay, "login", r#"{"user":"ada","token":"sk-1234"}"#).is_ok());
    assert!(call(&replay, "login", r#"{"token":"seen"}"#).is_ok(), "what was recorded without it");
    let read = replay
        .read_resource("file:a".into(), &CallOptions::default())
        .expect("eight characters with the quotes");
    assert_eq!(read.contents[0].uri(), "a:b");
}

/// A server with everything, whose tool `grow` brings another tool.
fn live() -> Server {
    let tools = ToolRegistry::new();
    let grown = tools.clone();
    tools.register(tool! { fn add(a: i64, b: i64) -> i64 { a + b } }).expect("valid");
    let grow = tinymcp::FnTool::new("grow", "", json(r#"{"type":"object"}"#), move |_, _| {
        grown.register(tool! { fn late() -> String { "late".into() } })?;
        Ok::<_, ToolError>("grown")
    });
    tools.register(grow).expect("valid");
    let page = Resource::new("docs://page", "page").with_mime_type("text/html");
    let resources = ResourceRegistry::new()
        .with(FnResource::new(page, |_| {
            // Without a type of its own.
            let mut contents = ResourceContents::text("docs://page#part", "<p>");
            if let ResourceContents::Text(text) = &mut contents {
                text.mime_type = None;
            }
            ReadResourceResult::new(vec![contents, ResourceContents::blob("docs://page/b", "AAEC")])
        }))
        .expect("valid");
    let mut explain = Prompt::new("explain");
    explain.arguments = Some(vec![PromptArgument::new("topic").with_required(true)]);
    let prompts = PromptRegistry::new()
        .with(FnPrompt::new(explain, |arguments, _| {
            Ok::<_, ToolError>(format!("Explain {}.", arguments.required("topic")?))
        }))
        .expect("valid");
    Server::builder("all", "1.0.0").tools(tools).resources(resources).prompts(prompts).build().expect("built")
}

/// What a program does with any caller, told as text.
fn tour(caller: &dyn Caller) -> Vec<String> {
    let options = CallOptions::default();
    let mut told = Vec::new();
    let names = |told: &mut Vec<String>| {
        let tools = caller.list_tools(&options).expect("tools");
        told.push(tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>().join(" "));
    };
    names(&mut told);
    told.push(format!("{:?}", caller.list_resources(&options).expect("resources").items));
    told.push(format!("{:?}", caller.list_prompts(&options).expect("prompts").items));
    told.push(format!("{:?}", call(caller, "add", r#"{"a":1,"b":2}"#)));
    told.push(format!("{:?}", call(caller, "add", r#"{"a":1}"#)));
    told.push(format!("{:?}", caller.read_resource("docs://page".into(), &options)));
    told.push(format!(
        "{:?}",
        caller.read_resource("docs://none".into(), &options).map_err(|e| e.to_string())
    ));
    told.push(format!("{:?}", caller.get_prompt("explain".into(), &json(r#"{"topic":"tides"}"#), &options)));
    let missing = caller.get_prompt("explain".into(), &json("{}"), &options);
    told.push(missing.map_err(|e| e.to_string()).expect_err("no topic"));
    told.push(format!("{:?}", call(caller, "grow", "{}")));
    names(&mut told);
    told.push(format!("{:?}", call(caller, "late", "{}")));
    told
}

#[test]
fn a_whole_session_is_served_again_as_it_was() {
    let path = std::env::temp_dir().join(format!("tinymcp-replay-{}.jsonl", std::process::id()));
    for version in [ProtocolVersion::V2025_06_18, ProtocolVersion::V2026_07_28] {
        let _ = std::fs::remove_file(&path);
        let client =
            testing::pair_with(Client::builder().versions([version.clone()]), &live()).expect("a pair");
        let sink = Sink::open(&path).expect("a file");
        let recording = Recorder::new(Arc::new(client.handle()), &sink).begin("tour");
        let first = tour(&recording);
        recording.end();

        let replay = Replay::open(&path).expect("read");
        assert_eq!(tour(&replay), first, "{version}, as a caller");
        replay.finish().expect("as recorded");

        let replay = replay.again();
        let server = replay.server().expect("built");
        let client =
            testing::pair_with(Client::builder().versions([version.clone()]), &server).expect("a pair");
        let handle = client.handle();
        let mut changes = Caller::events(&handle, Filter::new().tools()).expect("listening");
        assert_eq!(tour(&handle), first, "{version}, as a server");
        replay.finish().expect("as recorded");
        assert!(changes.next_timeout(Duration::from_secs(5)).is_some(), "{version}: the list changed");
    }
    std::fs::remove_file(&path).expect("removed");
}

#[test]
fn notices_come_at_their_places() {
    let line = |text: &str| Line::parse(text).expect("a line");
    let replay = Replay::of_lines([
        line(
            r#"{"event":"call","trajectory":"7","seq":1,"tool":"touch","arguments":{},"result":{"content":[]},"duration_ns":0}"#,
        ),
        line(r#"{"event":"notice","trajectory":"7","seq":2,"change":"resource_updated","uri":"a:b"}"#),
        line(
            r#"{"event":"call","trajectory":"7","seq":3,"tool":"touch","arguments":{},"result":{"content":[]},"duration_ns":0}"#,
        ),
    ]);
    let mut events = replay.events(Filter::new().resource("a:b")).expect("events");
    assert!(events.next_timeout(Duration::ZERO).is_none());
    call(&replay, "touch", "{}").expect("recorded");
    assert!(events.next_timeout(Duration::from_secs(5)).is_some());
    assert!(events.next().is_none(), "nothing more will come");
}

#[test]
fn of_several_servers_the_one_that_is_named_answers() {
    let line = |seq: u64, server: &str| {
        let text = format!(
            r#"{{"event":"read","trajectory":"7","seq":{seq},"server":"{server}","uri":"a:b","duration_ns":0,"result":{{"contents":[{{"uri":"a:b","text":"{server}"}}]}}}}"#
        );
        Line::parse(&text).expect("a line")
    };
    let replay = Replay::of_lines([line(1, "one"), line(2, "two")]).with_order(ReplayOrder::EachOnce);
    let read = |address: Address<'_>| {
        let read = replay.read_resource(address, &CallOptions::default());
        read.map(|read| format!("{:?}", read.contents[0])).map_err(|e| e.to_string())
    };
    assert!(read(Address::of("two", "a:b")).expect("recorded").contains("two"));
    assert!(read(Address::of("two", "a:b")).is_err());
    assert!(read("a:b".into()).expect("any").contains("one"));
    assert!(read("a:c".into()).expect_err("a miss").contains("nearest: resources/read a:b"));
}

#[test]
fn durations_are_replayed_if_asked_for_and_a_cancel_ends_them() {
    let mut recorded = Trajectory::new("slow");
    for took in [50, 3_600_000] {
        recorded.push(record("t", "{}", "done").with_duration(Duration::from_millis(took)));
    }
    let started = Instant::now();
    let at_once = Replay::of(&recorded);
    assert!(call(&at_once, "t", "{}").is_ok() && call(&at_once, "t", "{}").is_ok());
    assert!(started.elapsed() < Duration::from_secs(60));

    let replay = Replay::of(&recorded).with_durations(1.0);
    let started = Instant::now();
    assert!(call(&replay, "t", "{}").is_ok() && started.elapsed() >= Duration::from_millis(50));
    let token = CancelToken::new();
    let options = CallOptions::default().with_cancel(&token);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| replay.call("t", Arguments::empty(), &options));
        token.cancel("enough");
        let result = waiting.join().expect("no panic");
        assert!(matches!(result, Err(Error::Cancelled(reason)) if reason == "enough"));
    });
}

#[test]
fn tools_are_listed_as_they_were_offered_before_the_trajectory() {
    let schema = r#"{"type":"object","properties":{"n":{"maximum":9007199254740993}},"x-odd":[1.0]}"#;
    let tool = ToolDefinition::new("t", json(schema))
        .with_title("T")
        .with_output_schema(json(r#"{"type":"object"}"#));
    let definitions = Definitions::new(vec![tool.clone()]);
    let mut begin = BeginEvent::new("any");
    begin.definitions = Some(definitions.key.clone());
    let lines = [Line::Definitions(definitions), Line::from(Event::new("7", 0, EventKind::from(begin)))];
    let replay = Replay::of_lines(lines);
    assert_eq!(replay.list_tools(&CallOptions::default()).expect("tools").items, std::slice::from_ref(&tool));
    // Its output schema is not compared with what was recorded, whatever that is.
    let client = testing::pair(&replay.server().expect("built")).expect("a pair");
    let listed = client.list_tools().expect("tools").items;
    assert_eq!((listed[0].input_schema.as_str(), &listed[0].title), (schema, &tool.title));
}
