//! Peers over HTTP that are slow, silent, greedy or broken: each costs little, harms nobody else, and leaves nothing behind.
//!
//! Each test is alone in the process: at its end no thread of the server is left and no descriptor more than before.

#![cfg(target_os = "linux")]

#[path = "support/eras.rs"]
mod eras;
#[path = "http_hostile/greedy.rs"]
mod greedy;
#[path = "support/http.rs"]
mod http;
#[path = "http_hostile/malformed.rs"]
mod malformed;
#[path = "support/puppet.rs"]
mod puppet;
#[path = "http_hostile/slow.rs"]
mod slow;
mod support;

use std::process::Command;

use eras::call;
use http::{Hosted, Request};
use puppet::{Puppet, puppet};
use serde_json::json;

fn hosted() -> (Hosted, Puppet) {
    let (server, puppet) = puppet();
    (Hosted::new(&server), puppet)
}

fn echo() -> Request {
    call(1, "echo", json!({"message": "hi"}))
}

/// Somebody else is served.
#[track_caller]
fn serves(hosted: &Hosted) {
    assert_eq!(hosted.ask(&echo()).text(), "hi");
}

/// The resident memory of this process, in KiB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line");
    line.split_whitespace().nth(1).and_then(|text| text.parse().ok()).expect("a number")
}

/// The CPU time of this process, in ticks of 10 ms.
fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let ticks = |at| support::alone::stat_field(&stat, at).parse::<u64>().expect("a number");
    ticks(11) + ticks(12)
}

/// The threads of this process.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").expect("Linux").count()
}

/// Whether this process may have so many descriptors open. If not, the test of this name is run in one that may, and is not to
/// be run here.
fn has_descriptors(test: &str, wanted: usize) -> bool {
    let limits = std::fs::read_to_string("/proc/self/limits").expect("Linux");
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("a line");
    let soft = line.split_whitespace().nth(3).expect("a limit");
    if soft == "unlimited" || soft.parse::<usize>().expect("a number") >= wanted {
        return true;
    }
    let exe = std::env::current_exe().expect("the test binary");
    let script = format!(r#"ulimit -n {wanted} && exec "$0" "$@""#);
    let child = Command::new("sh").args(["-c", &script]).arg(exe).args(["--exact", test]).output();
    let output = child.expect("a shell");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    false
}
