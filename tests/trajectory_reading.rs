//! Reading, taking from, counting and putting together what was recorded.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use tinymcp::json::Json;
use tinymcp::protocol::{CallToolResult, Content, ToolDefinition};
use tinymcp::trajectory::{
    BeginEvent, Event, EventKind, Line, Lines, OTHERS, RewardEvent, Selection, Sink, Statistics, StepEvent,
    ToolCallRecord, Trajectories, Trajectory, TurnEvent, merge,
};

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tinymcp-reading-{name}-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn call(tool: &str, text: &str) -> ToolCallRecord {
    ToolCallRecord::new(tool, json!({"n": 9_007_199_254_740_993_u64}))
        .with_result(CallToolResult::text(text))
        .with_duration(Duration::from_micros(1500))
}

fn trajectory(id: &str, tools: &[&str]) -> Trajectory {
    let mut trajectory = Trajectory::new(format!("task of {id}")).with_id(id);
    for tool in tools {
        trajectory.push(call(tool, "done"));
    }
    trajectory.set_success(true);
    trajectory
}

fn ids(bytes: &[u8]) -> Vec<String> {
    Trajectories::new(bytes).map(|read| read.expect("a trajectory").id().to_owned()).collect()
}

#[test]
fn a_trajectory_is_read_as_it_was_written() {
    let mut written = trajectory("7", &["a", "b"]);
    written.set_tools(vec![ToolDefinition::new("a", Json::empty_object())]);
    written.push(TurnEvent::from("and then"));
    written.push(call("c", "😀"));
    written.set_final_answer("all done");
    written.set_total_reward(0.1);
    written.set_metadata("n", &[1, 2]);
    assert!(written.is_complete());
    assert_eq!(written.events().last().map(|end| (end.seq, end.turn)), Some((5, 0)));

    let sink = Sink::memory();
    written.append_to(&sink).expect("written");
    let read: Vec<_> = Trajectories::new(&sink.contents()[..]).map(|read| read.expect("whole")).collect();
    assert_eq!(read, [written]);
    assert_eq!(read[0].tools().map(<[ToolDefinition]>::len), Some(1));
}

#[test]
fn rewards_on_the_way_add_up_unless_somebody_said_the_total() {
    let mut episode = Trajectory::new("x");
    assert_eq!(episode.total_reward(), None);
    let mut step = StepEvent::new(1, "a");
    step.reward = Some(0.5);
    episode.push(step);
    episode.push(RewardEvent::new(-2.0));
    assert_eq!(episode.total_reward(), Some(-1.5));
    episode.set_total_reward(7.0);
    assert_eq!(episode.total_reward(), Some(7.0));
    episode.set_total_reward(f64::NAN);
    assert_eq!(episode.total_reward(), Some(-1.5), "what is no number is none");
}

fn lines(events: &[Event]) -> Vec<u8> {
    let mut out = Vec::new();
    for event in events {
        Line::from(event.clone()).write(&mut out);
    }
    out
}

fn ended(id: &str, seq: u64) -> Event {
    Event::new(id, seq, tinymcp::trajectory::EndEvent::default())
}

fn begun(id: &str) -> Event {
    Event::new(id, 0, BeginEvent::new(id))
}

#[test]
fn trajectories_come_as_they_end_and_the_unfinished_at_last() {
    let file = lines(&[begun("a"), begun("b"), begun("c"), ended("b", 1), ended("a", 1)]);
    assert_eq!(ids(&file), ["b", "a", "c"]);
}

#[test]
fn events_out_of_order_are_put_in_order_and_gaps_are_seen() {
    let at = |seq| Event::new("a", seq, call("t", &seq.to_string()));
    let file = lines(&[begun("a"), at(2), at(1), ended("a", 3)]);
    let read = Trajectories::new(&file[..]).next().expect("one").expect("whole");
    assert!(read.is_complete());
    let texts: Vec<_> =
        read.tool_calls().filter_map(|call| Some(call.result.as_ref()?.text_content())).collect();
    assert_eq!(texts, ["1", "2"]);
    let file = lines(&[begun("a"), at(2), ended("a", 3)]);
    assert!(!Trajectories::new(&file[..]).next().expect("one").expect("whole").is_complete());
}

#[test]
fn only_so_many_are_put_together_at_a_time() {
    let file = lines(&[
        begun("a"),
        begun("b"),
        Event::new("a", 1, call("t", "")),
        begun("c"),
        ended("a", 2),
        ended("b", 1),
    ]);
    let read: Vec<_> = Trajectories::new(&file[..]).max_open(2).map(|read| read.expect("whole")).collect();
    let seen: Vec<_> =
        read.iter().map(|one| (one.id(), one.begin().is_some(), one.end().is_some())).collect();
    // `b` was silent for longest as `c` began. What came of it later has no beginning.
    assert_eq!(seen, [("b", true, false), ("a", true, true), ("b", false, true), ("c", true, false)]);

    let calls = (1..=10).map(|seq| Event::new("a", seq, call("t", "")));
    let file = lines(&[begun("a")].into_iter().chain(calls).chain([ended("a", 11)]).collect::<Vec<_>>());
    let read = Trajectories::new(&file[..]).max_events(4).next().expect("one").expect("whole");
    assert_eq!((read.events().len(), read.omitted(), read.end().is_some()), (5, 7, true));
    assert!(!read.is_complete());
}

#[test]
fn one_trajectory_may_have_a_hundred_thousand_calls() {
    let call = |seq: u64| {
        format!(
            "{{\"event\":\"call\",\"trajectory\":\"a\",\"seq\":{seq},\"tool\":\"t\",\"arguments\":{{}}}}\n"
        )
    };
    let mut text = String::from_utf8(lines(&[begun("a")])).expect("UTF-8");
    text.extend((1..=100_000).map(call));
    text += &String::from_utf8(lines(&[ended("a", 100_001)])).expect("UTF-8");
    let read: Vec<_> = Trajectories::new(text.as_bytes()).map(|one| one.expect("whole")).collect();
    assert_eq!((read.len(), read[0].tool_calls().count(), read[0].omitted()), (1, 100_000, 0));
    assert!(read[0].is_complete());
}

#[test]
fn a_broken_line_costs_itself_alone() {
    let mut file = lines(&[begun("a")]);
    file.extend_from_slice(b"{\"event\":\"call\",\"trajectory\":\n\n\xff\xfe\n{\"event\":\"call\"}\r\n");
    file.extend_from_slice(&lines(&[ended("a", 1)]));
    file.extend_from_slice(b"{\"event\":\"begin\",\"trajec");
    let mut read = Trajectories::new(&file[..]);
    assert_eq!(read.by_ref().count(), 1);
    assert_eq!((read.broken(), read.is_torn()), (3, true));
}

#[test]
fn offsets_lead_back_to_the_line() {
    let file = lines(&[begun("a"), begun("ü😀"), ended("a", 1)]);
    for read in Lines::new(&file[..]) {
        let read = read.expect("a line");
        let bytes = &file[usize::try_from(read.offset).expect("small")..]
            [..usize::try_from(read.length).expect("small")];
        assert_eq!(Line::parse(std::str::from_utf8(bytes).expect("UTF-8")).expect("a line"), read.line);
    }
}

#[test]
fn files_with_the_same_ids_stay_apart() {
    let (one, two, both) = (Scratch::new("one"), Scratch::new("two"), Scratch::new("both"));
    for (file, tool) in [(&one, "a"), (&two, "b")] {
        let mut with_tools = trajectory("7", &[tool]);
        with_tools.set_tools(vec![ToolDefinition::new("same", Json::empty_object())]);
        with_tools.append_to(&Sink::open(&file.0).expect("a file")).expect("written");
    }
    let torn = fs::read(&two.0).expect("a file");
    fs::write(&two.0, [&torn[..], b"{\"event\":"].concat()).expect("written");
    let merged = merge([&one.0, &two.0], &Sink::open(&both.0).expect("a file")).expect("merged");
    assert_eq!((merged.events, merged.broken), (6, 1));
    let read: Vec<_> =
        Trajectories::open(&both.0).expect("a file").map(|read| read.expect("whole")).collect();
    let seen: Vec<_> = read
        .iter()
        .map(|one| (one.id(), one.tool_calls().next().map(|call| call.record.tool.as_str())))
        .collect();
    assert_eq!(seen, [("1:7", Some("a")), ("2:7", Some("b"))]);
    assert!(read.iter().all(|one| one.is_complete() && one.tools().is_some()));
    let text = fs::read_to_string(&both.0).expect("a file");
    assert_eq!(text.matches("\"definitions\",\"key\"").count(), 1);
    merge(["/no/such/file"], &Sink::memory()).expect_err("no such file");
}

#[test]
fn files_are_merged_by_time_and_each_keeps_its_order() {
    let (one, two, both) = (Scratch::new("early"), Scratch::new("late"), Scratch::new("by-time"));
    for (file, id, times) in [(&one, "a", [10, 40, 30, 50]), (&two, "b", [20, 25, 45, 45])] {
        let sink = Sink::open(&file.0).expect("a file");
        let mut with_times = trajectory(id, &["t", "u"]);
        with_times.set_tools(vec![ToolDefinition::new(id, Json::empty_object())]);
        with_times.append_to(&sink).expect("written");
        let text = fs::read_to_string(&file.0).expect("a file");
        let mut times = times.into_iter();
        let lines = text.lines().map(|line| match Line::parse(line).expect("a line") {
            Line::Event(mut event) => {
                event.time_us = times.next().expect("four");
                let mut line = Vec::new();
                Line::Event(event).write(&mut line);
                String::from_utf8(line).expect("UTF-8")
            }
            _ => format!("{line}\n"),
        });
        fs::write(&file.0, lines.collect::<String>()).expect("written");
    }
    let order = |path: &Path| {
        let lines = Lines::open(path).expect("a file").map(|read| read.expect("a line").line);
        let told = lines.filter_map(|line| match line {
            Line::Event(event) => Some(format!("{}{}", event.trajectory, event.time_us)),
            Line::Definitions(_) => Some("definitions".to_owned()),
            _ => None,
        });
        told.collect::<Vec<_>>().join(" ")
    };
    let merged = merge([&one.0, &two.0], &Sink::open(&both.0).expect("a file")).expect("merged");
    assert_eq!((merged.events, merged.broken), (8, 0));
    let want = "definitions definitions 1:a10 2:b20 2:b25 1:a40 1:a30 2:b45 2:b45 1:a50";
    assert_eq!(order(&both.0), want);
    let all: Vec<_> = Trajectories::open(&both.0).expect("a file").map(|one| one.expect("whole")).collect();
    assert!(all.iter().all(|one| one.is_complete() && one.tools().is_some()), "{all:?}");
    // Into itself: what is written is not read once more.
    let merged = merge([&one.0], &Sink::open(&one.0).expect("a file")).expect("merged");
    assert_eq!(merged.events, 4);
    assert_eq!(order(&one.0).matches("1:a").count(), 4);
}

#[test]
fn selections_take_what_passes_everything() {
    let mut failed = trajectory("failed", &["a", "b", "b"]);
    failed.set_success(false);
    failed.set_total_reward(-1.0);
    let mut good = trajectory("good", &["a"]);
    good.set_total_reward(1.0);
    let unknown = Trajectory::new("unknown").with_id("unknown");
    let all = [failed, good, unknown];
    let cases: [(&str, Selection, &[&str]); 10] = [
        ("everything", Selection::new(), &["failed", "good", "unknown"]),
        ("success", Selection::new().success(true), &["good"]),
        ("failure", Selection::new().success(false), &["failed"]),
        ("reward", Selection::new().min_reward(0.0), &["good"]),
        ("low reward", Selection::new().max_reward(0.0), &["failed"]),
        ("tool", Selection::new().tool("b"), &["failed"]),
        ("no tool", Selection::new().without_tool("b"), &["good", "unknown"]),
        ("length", Selection::new().calls(1..=2), &["good"]),
        ("complete", Selection::new().complete(), &["failed", "good"]),
        ("two", Selection::new().tool("a").with(|one| one.id() != "good"), &["failed"]),
    ];
    for (what, selection, want) in cases {
        let taken: Vec<_> = all.iter().filter(|one| selection.takes(one)).map(Trajectory::id).collect();
        assert_eq!(taken, want, "{what}");
    }
}

#[test]
fn figures_are_of_each_tool_and_bounded() {
    let mut statistics = Statistics::new();
    for n in 0..2000_u32 {
        let mut one = Trajectory::new("x");
        one.push(call(&format!("tool {n}"), ""));
        one.push(
            ToolCallRecord::new("same", json!({})).with_duration(Duration::from_millis(u64::from(n) + 1)),
        );
        one.set_success(n % 4 == 0);
        one.set_total_reward(f64::from(n));
        statistics.add(&one);
    }
    assert_eq!((statistics.trajectories(), statistics.calls(), statistics.errors()), (2000, 4000, 0));
    assert_eq!((statistics.success_rate(), statistics.rewards().mean()), (Some(0.25), Some(999.5)));
    assert_eq!(statistics.tools().len(), 1001, "further ones are counted together");
    assert_eq!(statistics.tools()[OTHERS].calls(), 1001);
    let took = statistics.tools()["same"].durations();
    assert_eq!((took.min(), took.max()), (Some(Duration::from_millis(1)), Some(Duration::from_secs(2))));
    assert_eq!(took.mean(), Some(Duration::from_micros(1_000_500)));
    let median = took.percentile(50.0).expect("some").as_secs_f64();
    assert!((0.97..1.03).contains(&median), "{median}");
    let table = statistics.to_string();
    assert!(
        table.starts_with(
            "2000 trajectories, success rate 25.0 %, mean reward 999.500, 4000 calls, 0 errors\n"
        ),
        "{table}"
    );
    assert!(table.contains("1000.50 ms") && table.contains(OTHERS), "{table}");
}

#[test]
fn the_plain_document_has_the_agreed_shape_and_comes_back() {
    let file = Scratch::new("plain");
    let mut written = Trajectory::new("What is 1 + 2?");
    let pictures = CallToolResult::new(vec![
        Content::text("3"),
        Content::image("AA==", "image/png"),
        Content::text("é"),
    ]);
    written.push(call("add", "").with_result(pictures));
    written.push(ToolCallRecord::new("fail", json!({})).with_result(CallToolResult::error("no")));
    written.set_final_answer("3");
    written.save_trajectory(&file.0).expect("saved");

    let text = fs::read_to_string(&file.0).expect("a file");
    assert!(text.contains("9007199254740993"), "{text}");
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let names: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("  \""))
        .map(|line| line.trim().split('"').nth(1))
        .collect();
    assert_eq!(
        names,
        ["task_description", "tool_calls", "final_answer", "success", "total_reward"].map(Some)
    );
    let first = &document["tool_calls"][0];
    assert_eq!(first["result"], json!({"content": ["3", "é"]}));
    assert_eq!(
        (&first["tool_name"], &first["duration_ms"], &first["is_error"]),
        (&json!("add"), &json!(1.5), &json!(false))
    );
    assert!(first["timestamp"].as_f64().is_some_and(|seconds| (1.7e9..1e10).contains(&seconds)), "{first}");
    assert_eq!((&document["success"], &document["total_reward"]), (&json!(false), &json!(0.0)));

    let read = Trajectory::load_trajectory(&file.0).expect("a document");
    assert_eq!((read.task_description(), read.final_answer()), ("What is 1 + 2?", Some("3")));
    assert_eq!((read.success(), read.total_reward()), (Some(false), Some(0.0)));
    let calls: Vec<_> = read.tool_calls().collect();
    assert_eq!(calls[0].arguments.as_str(), r#"{"n":9007199254740993}"#);
    assert_eq!(calls[0].duration(), Duration::from_micros(1500));
    assert_eq!(calls[0].result.as_ref().map(CallToolResult::text_content).as_deref(), Some("3\né"));
    assert!(calls[1].is_error && calls[1].result.as_ref().is_some_and(CallToolResult::is_error));
    assert!((calls[0].timestamp() - first["timestamp"].as_f64().expect("a number")).abs() < 2e-6);
    // Once more, and it is the same.
    read.save_trajectory(&file.0).expect("saved");
    let again: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&file.0).expect("a file")).expect("JSON");
    assert_eq!(again["tool_calls"][0]["arguments"], first["arguments"]);
}

#[test]
fn a_document_of_another_program_is_read() {
    let file = Scratch::new("python");
    // As Python's `json.dump(.., indent=2)` writes it.
    fs::write(
        &file.0,
        r#"{
  "task_description": "caf\u00e9 \ud83d\ude00",
  "tool_calls": [
    {
      "timestamp": 1785196800.25,
      "tool_name": "add",
      "arguments": {
        "a": 9007199254740993
      },
      "result": {
        "content": [
          "3"
        ]
      },
      "duration_ms": 12.5,
      "is_error": false
    }
  ],
  "final_answer": "",
  "success": true,
  "total_reward": 1
}"#,
    )
    .expect("written");
    let read = Trajectory::load_trajectory(&file.0).expect("a document");
    assert_eq!(
        (read.task_description(), read.success(), read.total_reward()),
        ("café 😀", Some(true), Some(1.0))
    );
    let call = read.tool_calls().next().expect("a call");
    assert_eq!(call.arguments.as_str(), r#"{"a":9007199254740993}"#);
    assert_eq!(call.event.time_us, 1_785_196_800_237_500);
    fs::write(&file.0, "{\"tool_calls\": []}").expect("written");
    let error = Trajectory::load_trajectory(&file.0).expect_err("no task").to_string();
    assert!(error.ends_with("task_description: missing"), "{error}");
    // Results in other shapes are texts as well; a call that is none is no document without calls.
    let results =
        r#"["plain", {"content": [{"type": "text", "text": "block"}, 5]}, {"n": 9007199254740993}, null]"#;
    let results: Vec<Json> = Json::parse(results).expect("JSON").to().expect("a list");
    let calls: Vec<_> = results
        .iter()
        .map(|result| format!(r#"{{"tool_name": "t", "result": {}}}"#, result.as_str()))
        .collect();
    let document = |calls: &str| format!(r#"{{"task_description": "t", "tool_calls": {calls}}}"#);
    fs::write(&file.0, document(&format!("[{}]", calls.join(",")))).expect("written");
    let read = Trajectory::load_trajectory(&file.0).expect("a document");
    let texts: Vec<_> =
        read.tool_calls().filter_map(|call| Some(call.result.as_ref()?.text_content())).collect();
    assert_eq!(texts, ["plain", "block\n5", r#"{"n": 9007199254740993}"#, ""]);
    fs::write(&file.0, document(r#"[{"tool_name": "t"}, {"tool": "t"}]"#)).expect("written");
    let error = Trajectory::load_trajectory(&file.0).expect_err("no name").to_string();
    assert!(error.contains("tool_calls") && error.ends_with("tool_name: missing"), "{error}");
}

#[test]
fn what_is_pushed_stands_before_the_end() {
    let mut one = trajectory("a", &["t"]);
    one.push(call("u", ""));
    let kinds: Vec<_> =
        one.events().iter().map(|event| (event.seq, matches!(event.kind, EventKind::End(_)))).collect();
    assert_eq!(kinds, [(0, false), (1, false), (2, false), (3, true)]);
}
