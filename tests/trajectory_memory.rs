//! What recording, and reading it again, cost in memory: alone in its program, as it is that of all its tests. Linux only.

#![cfg(target_os = "linux")]

use std::fs;
use std::sync::Arc;

use tinymcp::client::{CallOptions, Caller, List};
use tinymcp::protocol::{CallToolResult, ToolDefinition};
use tinymcp::trajectory::{Recorder, Sink, Statistics, Trajectories};
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

fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS")).expect("VmRSS");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

#[test]
fn memory_does_not_grow_with_what_is_recorded_nor_with_what_is_read() {
    let path = std::env::temp_dir().join(format!("tinymcp-recorded-memory-{}", std::process::id()));
    let _ = fs::remove_file(&path);
    let sink = Sink::open(&path).expect("a file");
    let recorder = Recorder::new(Arc::new(Letters), &sink);
    let record = |episodes: usize| {
        for _ in 0..episodes {
            let recording = recorder.begin("an episode");
            for _ in 0..100 {
                let arguments =
                    Arguments::from_text(r#"{"text":"some arguments of a usual length, no more"}"#);
                recording
                    .call("letters", arguments.expect("an object"), &CallOptions::default())
                    .expect("letters");
            }
        }
    };
    record(100);
    let before = resident_kib();
    record(900);
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < 5_000, "from 10,000 to 100,000 calls: {grown} KiB");
    assert_eq!((sink.written(), sink.lost(), sink.open_trajectories()), (102_000, 0, 0));

    let read = |most: usize| {
        let mut statistics = Statistics::new();
        for one in Trajectories::open(&path).expect("a file").take(most) {
            statistics.add(&one.expect("a trajectory"));
        }
        statistics.calls()
    };
    assert_eq!(read(100), 10_000);
    let before = resident_kib();
    assert_eq!(read(usize::MAX), 100_000);
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < 5_000, "reading: {grown} KiB");
    fs::remove_file(path).expect("removed");
}
