//! A program that is killed while it records. Linux only.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::json;
use tinymcp::client::{CallOptions, Caller, List};
use tinymcp::protocol::{CallToolResult, ToolDefinition};
use tinymcp::trajectory::{Recorder, Sink, Trajectories};
use tinymcp::{Arguments, Error};

/// Answers with 200 letters.
struct Letters;

impl Caller for Letters {
    fn call(&self, _: &str, _: Arguments<'_>, _: &CallOptions) -> tinymcp::Result<CallToolResult> {
        Ok(CallToolResult::text("x".repeat(200)))
    }

    fn list_tools(&self, _: &CallOptions) -> tinymcp::Result<List<ToolDefinition>> {
        Err(Error::Unsupported("none".to_owned()))
    }
}

const FILE: &str = "TINYMCP_TEST_RECORDING";

/// Records until it is killed, if it is told where; what it says on stdout is in the file.
#[test]
fn child() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let recorder = Recorder::new(Arc::new(Letters), &Sink::open(path).expect("a file"));
    let recording = recorder.begin("until the end");
    let arguments = json!({"n": 9_007_199_254_740_993_u64});
    for n in 0_u64.. {
        let arguments = Arguments::new(&arguments).expect("an object");
        recording.call("letters", arguments, &CallOptions::default()).expect("letters");
        if n % 100 == 0 {
            // Past libtest, which keeps what is printed.
            use std::io::Write as _;
            let mut out = std::io::stdout();
            writeln!(out, "recorded {n}").and_then(|()| out.flush()).expect("somebody reads");
        }
    }
}

fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("tinymcp-crash-{name}-{}", std::process::id()));
    let _ = fs::remove_file(&path);
    path
}

#[test]
fn whoever_is_killed_loses_at_most_the_last_line() {
    let path = scratch("killed");
    for round in 1..=5_u64 {
        let program = std::env::current_exe().expect("a test");
        let mut child = Command::new(program)
            .args(["--exact", "child", "--nocapture", "--test-threads=1"])
            .env(FILE, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let told = lines
            .map(|line| line.expect("text"))
            .filter_map(|line| line.split("recorded ").nth(1)?.parse::<u64>().ok());
        let told = told.take(10 + usize::try_from(round).expect("small")).last().expect("it records");
        child.kill().expect("killed");
        child.wait().expect("ended");

        let mut read = Trajectories::open(&path).expect("a file");
        let all: Vec<_> = read.by_ref().map(|one| one.expect("a trajectory")).collect();
        assert_eq!((all.len() as u64, read.broken()), (round, 0));
        let last = all
            .iter()
            .map(|one| one.tool_calls().count() as u64)
            .nth(usize::try_from(round - 1).expect("small"));
        assert!(last.is_some_and(|calls| calls > told), "{last:?} of {told}");
        for one in &all {
            assert!(
                one.end().is_none() && one.events().iter().zip(0..).all(|(event, place)| event.seq == place)
            );
        }
    }
    fs::remove_file(path).expect("removed");
}
