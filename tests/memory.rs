//! What a hostile server costs in memory: alone in its program, as the peak of a process is that of all its tests.

#![cfg(target_os = "linux")]

mod support;

use serde_json::json;
use support::peers::{self, LONG, hasty};

#[test]
fn child() {
    peers::child();
}

#[test]
fn a_line_of_200_mb_costs_little_memory_and_one_call() {
    let client = hasty("huge_line", LONG);
    client.initialize().expect("settles");
    let before = peak_kib();
    // The server answers after the line.
    assert!(client.call_tool("t", ()).expect("answers").text_content().starts_with("ok"));
    assert_eq!(client.noise(), 2); // libtest's header, and that line
    // 16 MiB are kept until the line proves too long, in a buffer that doubles.
    assert!(peak_kib() - before < 100_000, "{} KiB", peak_kib() - before);
    assert!(client.call_tool("echo", json!({"text": "goes on"})).is_ok());
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM")).expect("VmHWM");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}
