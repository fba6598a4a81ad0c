//! A program that is killed while it records, and one whose disk is full. Linux only.

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

const FULL: &str = "TINYMCP_TEST_FULL_DISK";

/// Records on a disk that is full after a while, if it is told where.
#[test]
fn child_with_little_room() {
    let Some(path) = std::env::var_os(FULL) else { return };
    let sink = Sink::open(path).expect("a file");
    let recording = Recorder::new(Arc::new(Letters), &sink).begin("whatever the disk does");
    for _ in 0..100 {
        recording.call("letters", Arguments::empty(), &CallOptions::default()).expect("letters");
    }
    recording.end();
    let problem = sink.problem().expect("there was no room");
    assert!(problem.contains("File too large"), "{problem}");
    assert!(sink.lost() > 10 && sink.written() + sink.lost() == 102, "{sink:?}");
}

#[test]
fn a_disk_that_is_full_fails_nobody_and_its_recording_is_gone_on_with() {
    let path = scratch("full");
    // Of the shell's units, 512 or 1024 bytes: none, so that not even the header fits, and some.
    for (round, blocks) in [0, 16, 0].into_iter().enumerate() {
        let status = Command::new("sh")
            .args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\""), "sh"])
            .arg(std::env::current_exe().expect("a test"))
            .args(["--exact", "child_with_little_room", "--nocapture", "--test-threads=1"])
            .env(FULL, &path)
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .status()
            .expect("a shell");
        assert!(status.success(), "round {round}");
        let text = fs::read_to_string(&path).expect("a file");
        assert_eq!(text.is_empty(), round == 0, "{text}");
    }
    let recorder = Recorder::new(Arc::new(Letters), &Sink::open(&path).expect("a file"));
    let recording = recorder.begin("there is room again");
    recording.call("letters", Arguments::empty(), &CallOptions::default()).expect("letters");
    recording.end();
    let mut read = Trajectories::open(&path).expect("a file");
    let all: Vec<_> = read.by_ref().map(|one| one.expect("a trajectory")).collect();
    assert_eq!((all.len(), read.broken()), (2, 0), "what was torn was cut off");
    let [whole, torn] = [&all[0], &all[1]].map(|one| one.tool_calls().count()).map(|calls| calls as u64);
    assert!(whole == 1 && (10..100).contains(&torn), "{whole} {torn}");
    assert!(all[0].is_complete() && all[1].end().is_none());
    fs::remove_file(path).expect("removed");
}
