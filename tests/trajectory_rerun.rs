//! A trajectory run again against live servers: what differs, and what may.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use tinymcp::client::Caller;
use tinymcp::json::Json;
use tinymcp::protocol::CallToolResult;
use tinymcp::tool::Structured;
use tinymcp::trajectory::{
    ErrorKind, RecordedError, Recorder, Redaction, Replay, RerunOptions, RerunOutcome, Sink, ToolCallRecord,
    Trajectories, Trajectory, rerun,
};
use tinymcp::{Arguments, FnTool, Server, ToolError, ToolRegistry, testing, tool};

fn json(text: &str) -> Json {
    Json::parse(text).expect("JSON")
}

/// A server whose `now` is another each time, and whose `fail` fails or not.
fn server(fails: bool) -> Server {
    let ticks = AtomicU64::new(if fails { 100 } else { 0 });
    let schema = || json(r#"{"type":"object"}"#);
    let now = FnTool::new("now", "", schema(), move |_, _| {
        Structured(json!({"tick": ticks.fetch_add(1, Ordering::Relaxed), "zone": "UTC"}))
    });
    let fail = FnTool::new("fail", "", schema(), move |_, _| {
        if fails { Err(ToolError::protocol(tinymcp::ErrorObject::new(-32000, "no"))) } else { Ok("fine") }
    });
    let echo =
        FnTool::new("echo", "", schema(), |arguments: Arguments<'_>, _: &_| arguments.as_str().to_owned());
    let tools = ToolRegistry::new();
    for tool in [now, fail, echo] {
        tools.register(tool).expect("valid");
    }
    if fails {
        tools.register(tool! { fn new() -> String { String::new() } }).expect("valid");
    }
    Server::builder("clock", "1.0.0").tools(tools).build().expect("built")
}

fn recorded(fails: bool, redaction: Redaction) -> Trajectory {
    let client = testing::pair(&server(fails)).expect("a pair");
    let sink = Sink::memory();
    let recording = Recorder::new(Arc::new(client.handle()), &sink).with_redaction(redaction).begin("any");
    let options = tinymcp::client::CallOptions::default();
    recording.list_tools(&options).expect("tools");
    for (tool, arguments) in
        [("now", "{}"), ("fail", "{}"), ("echo", r#"{"token":"sk-1","n":9007199254740993}"#)]
    {
        // Some fail, which is recorded.
        let _ = recording.call(tool, Arguments::from_text(arguments).expect("an object"), &options);
    }
    recording.end();
    Trajectories::new(&sink.contents()[..]).next().expect("one").expect("whole")
}

#[test]
fn the_same_server_comes_out_the_same_but_for_what_changes_each_time() {
    let trajectory = recorded(true, Redaction::new());
    let live = testing::pair(&server(true)).expect("a pair");
    live.call_tool("now", json!({})).expect("one tick more");
    let report = rerun(&trajectory, &live.handle(), &RerunOptions::new());
    assert_eq!((report.equal(), report.different(), report.is_equal()), (2, 1, false), "{report}");
    let RerunOutcome::Different(found) = &report.requests[0].outcome else { panic!("{report}") };
    let places: Vec<_> = found.iter().map(|one| one.pointer.as_str()).collect();
    assert_eq!(places, ["/content/0/text/tick", "/structuredContent/tick"]);
    assert_eq!(found[1].to_string(), "/structuredContent/tick: recorded 100, now 101");
    assert!(report.requests[0].took.is_some());

    for options in [
        RerunOptions::new().ignore("/structuredContent/tick"),
        RerunOptions::new().ignore("/**/tick"),
        RerunOptions::new().ignore_if(|tool, one| tool == "now" && one.pointer.ends_with("/tick")),
    ] {
        let report = rerun(&trajectory, &live.handle(), &options);
        assert!(report.is_equal(), "{report}");
    }
}

#[test]
fn another_server_is_told_apart() {
    let trajectory = recorded(true, Redaction::new());
    let live = testing::pair(&server(false)).expect("a pair");
    let report = rerun(&trajectory, &live.handle(), &RerunOptions::new());
    assert_eq!(report.tools.only_recorded, ["new"]);
    assert!(
        matches!(&report.requests[1].outcome, RerunOutcome::WorksNow(error) if error.code == Some(-32000))
    );
    let text = report.to_string();
    assert!(text.contains("tool new: only recorded") && text.contains("fail: works now"), "{text}");

    let back = recorded(false, Redaction::new());
    let live = testing::pair(&server(true)).expect("a pair");
    let report = rerun(&back, &live.handle(), &RerunOptions::new().stop_at_first());
    assert_eq!(report.tools.only_now, ["new"]);
    assert_eq!((report.different(), report.not_run()), (1, 2), "{report}");
    let report = rerun(&back, &live.handle(), &RerunOptions::new().only(|tool, _| tool == "fail"));
    assert!(
        matches!(&report.requests[1].outcome, RerunOutcome::FailsNow(error) if error.kind == ErrorKind::Peer)
    );
    assert_eq!((report.different(), report.not_run()), (1, 2), "{report}");
}

#[test]
fn what_was_kept_out_of_the_recording_is_not_sent_in_its_place() {
    let redaction = || Redaction::new().keys(["token", "tick"]);
    let trajectory = recorded(true, redaction());
    let live = testing::pair(&server(true)).expect("a pair");
    let options = RerunOptions::new().with_redaction(redaction());
    let report = rerun(&trajectory, &live.handle(), &options);
    assert_eq!((report.equal(), report.not_run()), (2, 1), "{report}");
    let options =
        options.fill_in(|tool, _| (tool == "echo").then(|| json(r#"{"token":"sk-1","n":9007199254740993}"#)));
    let report = rerun(&trajectory, &live.handle(), &options);
    assert!(report.is_equal(), "{report}");
}

#[test]
fn what_was_denied_is_not_made_up_for() {
    let mut trajectory = Trajectory::new("any");
    trajectory.push(
        ToolCallRecord::new("delete", json("{}"))
            .with_error(RecordedError::new(ErrorKind::Denied, "policy: no")),
    );
    let report =
        rerun(&trajectory, &testing::pair(&server(true)).expect("a pair").handle(), &RerunOptions::new());
    assert!(report.to_string().ends_with("delete: not run: it was denied: policy: no"), "{report}");
}

#[test]
fn a_replay_is_a_live_server_like_any_other_and_large_results_are_told_briefly() {
    let mut trajectory = Trajectory::new("large");
    let large = |c: &str| CallToolResult::text(c.repeat(8 << 20));
    trajectory.push(ToolCallRecord::new("large", json("{}")).with_result(large("a")));
    assert!(rerun(&trajectory, &Replay::of(&trajectory), &RerunOptions::new()).is_equal());
    let mut other = Trajectory::new("large");
    other.push(ToolCallRecord::new("large", json("{}")).with_result(large("b")));
    let report = rerun(&trajectory, &Replay::of(&other), &RerunOptions::new());
    assert_eq!(report.different(), 1);
    assert!(report.to_string().len() < 1000 && report.to_string().contains("… (8388610 bytes)"), "{report}");
}
