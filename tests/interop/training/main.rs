//! Training files of every form, read by `datasets` and rendered by the chat templates that `trl` ships.
//!
//! ```text
//! TINYMCP_TRAINING=path/to/python cargo test --features trajectory --test training
//! ```
//!
//! `.ci/training` installs what that Python needs. Without the variable the files are written and nothing reads them, and this
//! says so. What is checked is in `check.py` beside this file.

#![allow(clippy::print_stdout, reason = "this is a test harness")]

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::json;
use tinymcp::json::Json;
use tinymcp::protocol::{CallToolResult, Content, ToolDefinition};
use tinymcp::trajectory::{
    Keep, MessageEvent, ReasoningForm, ResultForm, SftOptions, Sink, Speaker, ToolCallRecord, ToolsForm,
    Trajectories, Trajectory, TurnEvent, merge,
};

fn call(tool: &str, arguments: &str, result: CallToolResult) -> ToolCallRecord {
    ToolCallRecord::new(tool, Json::parse(arguments).expect("JSON")).with_result(result)
}

/// Two tools with nothing in common in their arguments; numbers beyond doubles, letters beyond ASCII.
fn sums() -> Trajectory {
    let mut trajectory =
        Trajectory::new("What is 1 + 9007199254740993? Na\u{ef}ve \u{1f600}").with_id("sums");
    let number = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]});
    let text =
        json!({"type": "object", "properties": {"text": {"type": "string", "description": "What to keep"}}});
    trajectory.set_tools(vec![
        ToolDefinition::new("add", number).with_description("Adds two numbers"),
        ToolDefinition::new("note", text).with_description("Keeps a text"),
    ]);
    trajectory.push(TurnEvent::from("A sum, and then a note."));
    trajectory.push(call("add", r#"{"a":1,"b":9007199254740993}"#, CallToolResult::text("9007199254740994")));
    trajectory.push(call(
        "note",
        "{\"text\":\"it is 9007199254740994 \u{1f600} \\\"quoted\\\"\"}",
        CallToolResult::text("kept\nhere"),
    ));
    trajectory.push(TurnEvent::from("Done."));
    trajectory.push(call("note", "{}", CallToolResult::error("text: missing")));
    trajectory.set_final_answer("It is 9007199254740994.");
    trajectory.set_success(true);
    trajectory.set_total_reward(0.75);
    trajectory
}

/// Another tool, a user who goes on, and no success.
fn search() -> Trajectory {
    let mut trajectory = Trajectory::new("Find it").with_id("search");
    let query = json!({"type": "object", "properties": {"query": {"type": "string"}, "deep": {"type": "object", "properties": {"n": {"type": "integer"}}}}});
    trajectory.set_tools(vec![ToolDefinition::new("search", query).with_description("Searches")]);
    trajectory.push(call(
        "search",
        r#"{"query":"it","deep":{"n":9007199254740995}}"#,
        CallToolResult::text("nothing in 18446744073709551616"),
    ));
    trajectory.push(MessageEvent::new(Speaker::User, "Look again."));
    trajectory.push(call("search", r#"{"query":"it"}"#, CallToolResult::default()));
    trajectory.set_final_answer("It is not there.");
    trajectory.set_success(false);
    trajectory
}

fn picture() -> Trajectory {
    let mut trajectory = Trajectory::new("Look").with_id("picture");
    let seen = CallToolResult::new(vec![Content::text("a dot"), Content::image("iVBORw0KGgo=", "image/png")]);
    trajectory.push(call("look", "{}", seen));
    trajectory.set_final_answer("A dot.");
    trajectory
}

/// Every form: its name, and how it is made.
fn forms() -> Vec<(&'static str, SftOptions)> {
    vec![
        ("openai", SftOptions::new()),
        (
            "openai_tools",
            SftOptions::new()
                .with_tools(ToolsForm::Text)
                .with_parallel_calls()
                .with_results(ResultForm::Whole),
        ),
        ("openai_tool_list", SftOptions::new().with_tools(ToolsForm::List)),
        ("openai_media", SftOptions::new().with_media().with_empty_content()),
        ("templates", SftOptions::templates().with_tools(ToolsForm::Text)),
        (
            "templates_strings",
            SftOptions::new().with_empty_content().with_unicode().with_tools(ToolsForm::Text),
        ),
        (
            "templates_parallel",
            SftOptions::templates()
                .with_tools(ToolsForm::Text)
                .with_parallel_calls()
                .with_reasoning(ReasoningForm::Field),
        ),
        (
            "templates_think",
            SftOptions::templates().with_reasoning(ReasoningForm::Think).with_limit(
                2000,
                Keep::End,
                str::len,
            ),
        ),
        (
            "anthropic",
            SftOptions::anthropic().with_tools(ToolsForm::Text).with_reasoning(ReasoningForm::Field),
        ),
        ("anthropic_media", SftOptions::anthropic().with_media().with_parallel_calls()),
        ("hermes", SftOptions::hermes().with_tools(ToolsForm::Text).with_reasoning(ReasoningForm::Think)),
        ("hermes_media", SftOptions::hermes().with_media()),
    ]
}

/// Writes a file of each form, a recording, and documents of single trajectories.
fn write(folder: &Path) -> std::io::Result<()> {
    let all = [sums(), search(), picture()];
    for trajectory in &all {
        trajectory.append_to(&Sink::open(folder.join("recording.jsonl"))?)?;
        trajectory.save_trajectory(folder.join(format!("plain_{}.json", trajectory.id())))?;
    }
    // What is written is what was read, and not what is in memory.
    merge([folder.join("recording.jsonl")], &Sink::open(folder.join("merged.jsonl"))?)?;
    for (name, options) in forms() {
        let file = BufWriter::new(File::create(folder.join(format!("sft_{name}.jsonl")))?);
        let written = options.write(Trajectories::open(folder.join("merged.jsonl"))?, file)?;
        assert_eq!(written.examples, 3, "{name}");
    }
    Ok(())
}

fn main() -> ExitCode {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("training");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).and_then(|()| write(&folder)).expect("files");
    let Some(python) = std::env::var_os("TINYMCP_TRAINING").filter(|python| !python.is_empty()) else {
        println!(
            "training: no python (set TINYMCP_TRAINING), the files are read by nobody: {}",
            folder.display()
        );
        return ExitCode::SUCCESS;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/training/check.py");
    let mut check = Command::new(python);
    check.arg(script).arg(&folder).env("HF_HUB_OFFLINE", "1").env("HF_DATASETS_OFFLINE", "1");
    check
        .env("TRANSFORMERS_OFFLINE", "1")
        .env("HF_HOME", folder.join("cache"))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    match check.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(status) => {
            println!("training: check.py: {status}");
            ExitCode::FAILURE
        }
        Err(e) => {
            println!("training: check.py cannot be run: {e}");
            ExitCode::FAILURE
        }
    }
}
