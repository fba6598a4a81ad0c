//! A recording of several episodes, with much that would do harm in a page that is not careful.

use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use tinymcp::json::Json;
use tinymcp::protocol::{CallToolResult, Content, ResourceContents};
use tinymcp::trajectory::{
    BeginEvent, DoneEvent, EndEvent, ErrorKind, Event, EventKind, Line, MessageEvent, RecordedError, Speaker,
    StepEvent, ToolCallRecord, TurnEvent,
};

/// Each would call `attacked()`, load something from `attack.example`, or leave the page, if it were markup anywhere.
pub(crate) const ATTACKS: &[&str] = &[
    "</script><script>attacked()</script>",
    "</style><style>@import url(https://attack.example/a.css)</style>",
    "</pre></details></title><img src=x onerror=attacked()>",
    "<svg onload=attacked()><a xlink:href=\"javascript:attacked()\">x</a></svg>",
    "\" onfocus=attacked() autofocus x=\"' onmouseover='attacked()",
    "<iframe srcdoc=\"<script>parent.attacked()</script>\"></iframe>",
    "<link rel=stylesheet href=https://attack.example/b.css><base href=https://attack.example/>",
    "<meta http-equiv=refresh content=\"0;url=https://attack.example/\">",
    "<!--<script>attacked()//--></script>",
    "]]><![CDATA[<script>attacked()</script>",
    "`${attacked()}`\u{2028}attacked()\u{2029}",
    "javascript:attacked()",
    "&lt;script&gt;attacked()&lt;/script&gt;",
];

/// So many episodes of an agent at work follow.
pub(crate) const EPISODES: u64 = 24;

/// Every place of a page that shows a text of others.
fn everywhere(attack: &str) -> Vec<EventKind> {
    let mut begin = BeginEvent::new(attack);
    begin.metadata = Some(tinymcp::json::Object::new());
    begin.metadata.as_mut().expect("just set").insert(attack, attack);
    let mut call = ToolCallRecord::new(attack, json!({attack: attack})).with_result(
        CallToolResult::new(vec![
            Content::text(attack),
            Content::image(attack, attack),
            Content::resource_link(attack, attack),
            Content::resource(ResourceContents::text(attack, attack)),
            Content::resource(ResourceContents::blob(attack, attack)),
        ])
        .with_structured_content(Json::from(json!({attack: [attack]}))),
    );
    call.server = Some(attack.to_owned());
    let mut error = RecordedError::new(ErrorKind::Peer, attack);
    (error.code, error.data) = (Some(-1), Some(Json::from(json!({attack: attack}))));
    let mut failed = ToolCallRecord::new(attack, json!({})).with_error(error);
    failed.server = Some(attack.to_owned());
    let mut end = EndEvent::default();
    end.answer = Some(attack.to_owned());
    let turn = TurnEvent::from(attack);
    let message = MessageEvent::new(Speaker::User, attack);
    let mut kinds: Vec<EventKind> =
        vec![begin.into(), turn.into(), message.into(), call.into(), failed.into()];
    kinds.extend(others(attack));
    kinds.push(end.into());
    kinds
}

/// The other kinds, and one that nobody knows.
fn others(attack: &str) -> Vec<EventKind> {
    let object = json!({attack: attack});
    let error = json!({"kind": attack, "message": attack, "code": -1, "data": object});
    let decision = json!({"allowed": false, "reason": attack});
    let failed = |mut event: Value| {
        let members = [("server", json!(attack)), ("error", error.clone()), ("decision", decision.clone())];
        for (name, value) in members {
            event[name] = value;
        }
        event
    };
    let contents = json!([
        {"uri": attack, "mimeType": attack, "text": attack},
        {"uri": attack, "mimeType": attack, "blob": attack},
    ]);
    let messages = json!([
        {"role": "user", "content": {"type": "text", "text": attack}},
        {"role": "assistant", "content": {"type": attack, "x": attack}},
    ]);
    let events = [
        failed(json!({"event": "list", "what": "tools", "definitions": attack,
            "items": [{"server": attack, "item": object}], "rejected": [{"name": attack, "problem": attack}]})),
        failed(json!({"event": "read", "uri": attack, "result": {"contents": contents}})),
        failed(json!({"event": "prompt", "name": attack, "arguments": object,
            "result": {"description": attack, "messages": messages}})),
        json!({"event": "notice", "server": attack, "change": "tools_changed", "uri": attack}),
        failed(json!({"event": "input", "key": attack, "method": attack, "params": object, "answer": object,
            "of_method": attack, "of_name": attack})),
        json!({"event": "reset", "observation": attack, "error": error}),
        json!({"event": "step", "step": 1, "tool": attack, "arguments": object, "observation": attack,
            "reward": 0.5, "terminated": false, "truncated": false, "info": object, "error": error}),
        json!({"event": "reward", "value": 0.5, "source": attack}),
        json!({"event": attack, attack: attack}),
    ];
    let kind = |mut event: Value| {
        (event["trajectory"], event["seq"]) = (json!("x"), json!(0));
        serde_json::from_str::<Event>(&event.to_string()).unwrap_or_else(|e| panic!("{e}: {event}")).kind
    };
    events.into_iter().map(kind).collect()
}

/// Writes the recording.
pub(crate) fn write(path: &Path) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).expect("a file"));
    let mut line = Vec::new();
    let mut put = |event: Event| {
        line.clear();
        Line::from(event).write(&mut line);
        file.write_all(&line).expect("written");
    };
    let mut time_us = 1_785_196_800_000_000;
    for (n, attack) in ATTACKS.iter().enumerate() {
        for (seq, kind) in (0..).zip(everywhere(attack)) {
            let mut event = Event::new(format!("{n} {attack}"), seq, kind);
            (event.time_us, event.at_ns) = (time_us, seq * 1_000_000);
            time_us += 1000;
            put(event);
        }
    }
    for n in 0..EPISODES {
        let began = time_us;
        let mut at_us = 0;
        let mut seq = 0;
        let id = format!("episode-{n}");
        let mut next = |kind: EventKind, took_us: u64, turn: u64| {
            let mut event = Event::new(id.clone(), seq, kind);
            (event.time_us, event.at_ns, event.turn) = (began + at_us, at_us * 1000, turn);
            seq += 1;
            at_us += took_us + 900;
            put(event);
        };
        next(
            BeginEvent::new(format!("Make the tests of task {n} pass: the parser drops the last line"))
                .into(),
            200,
            0,
        );
        for turn in 1..=3 + n % 4 {
            next(
                TurnEvent::from(
                    [
                        "I look at the failing test first.",
                        "The loop ends one line early; I change its condition.",
                        "Now the tests again.",
                    ][usize::try_from(turn % 3).expect("small")],
                )
                .into(),
                40_000,
                turn,
            );
            let call = |server: &str, tool: &str, arguments: Value, took: u64| {
                let mut call = ToolCallRecord::new(tool, arguments)
                    .with_duration(std::time::Duration::from_micros(took));
                call.server = Some(server.to_owned());
                call
            };
            let read = call("files", "files__read", json!({"path": format!("src/parser_{turn}.rs"), "from": 9_007_199_254_740_993_u64}), 700 + 130 * n)
                .with_result(CallToolResult::text("fn lines(text: &str) -> usize {\n    text.matches('\\n').count() // 😀 and \u{202e}gnirts\u{202c}, \u{1b}[31mred\u{1b}[0m\n}\n"));
            next(read.into(), 800 + 130 * n, turn);
            let mut run =
                call("tests", "tests__run", json!({"filter": "parser", "seed": n}), 21_000 + 4_000 * turn);
            run = if (n + turn) % 5 == 0 {
                run.with_result(CallToolResult::error(
                    "test parser::last_line ... FAILED\nassertion failed: left 2, right 3",
                ))
            } else {
                run.with_result(
                    CallToolResult::structured(
                        &json!({"passed": 40 + turn, "failed": 0, "of": 9_007_199_254_740_993_u64}),
                    )
                    .expect("JSON"),
                )
            };
            next(run.into(), 22_000 + 4_000 * turn, turn);
            let mut step = StepEvent::new(turn, "tests__run");
            step.reward = Some(if (n + turn) % 5 == 0 {
                -0.25
            } else {
                0.1 * f64::from(u32::try_from(n).expect("small"))
            });
            next(step.into(), 0, turn);
        }
        if n == 3 {
            let blob = "QUFB".repeat(2 << 20);
            next(
                ToolCallRecord::new("files__photo", json!({}))
                    .with_result(CallToolResult::new(vec![
                        Content::image(blob, "image/png"),
                        Content::text("long ".repeat(1_700_000)),
                    ]))
                    .into(),
                90_000,
                9,
            );
        }
        let mut done = DoneEvent::default();
        (done.terminated, done.steps) = (true, 3 + n % 4);
        next(done.into(), 0, 9);
        let mut end = EndEvent::default();
        (end.success, end.answer) =
            (Some(n % 3 != 0), Some("The loop counted line breaks; now it counts lines.".to_owned()));
        next(end.into(), 0, 9);
        time_us = began + at_us;
    }
    file.flush().expect("written");
}
