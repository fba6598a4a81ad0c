//! What a test must leave nothing of: processes, threads, descriptors. Linux only.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::peers::eventually;

/// Holds back the other tests of this binary and sees to it that nothing is left at the end.
pub(crate) struct Alone {
    _turn: MutexGuard<'static, ()>,
    descriptors: usize,
}

pub(crate) fn alone() -> Alone {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    Alone { _turn: turn, descriptors: descriptors() }
}

impl Alone {
    /// How many descriptors there were before.
    pub(crate) fn descriptors(&self) -> usize {
        self.descriptors
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        eventually("no thread of ours left", || mcp_threads().is_empty());
        eventually("no child left", || children().is_empty());
        eventually("no descriptor left", || descriptors() <= self.descriptors);
    }
}

pub(crate) fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("Linux").count()
}

pub(crate) fn mcp_threads() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux").filter_map(Result::ok);
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("mcp-")).collect()
}

/// The processes whose parent or group leader's parent we are, zombies included.
pub(crate) fn children() -> Vec<String> {
    let me = std::process::id().to_string();
    let stats = fs::read_dir("/proc").expect("Linux").filter_map(Result::ok);
    let stats = stats.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    stats.filter(|stat| stat_field(stat, 1) == me).collect()
}

/// Field `at` of a stat line, counted from the state: 1 is the parent, 2 the group, 3 the session.
pub(crate) fn stat_field(stat: &str, at: usize) -> String {
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    after_name.split_whitespace().nth(at).unwrap_or_default().to_owned()
}

pub(crate) fn is_alive(pid: &str) -> bool {
    // A zombie is not alive.
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat_field(&stat, 0) != "Z")
}

/// Whether so many threads of this name wait for something.
pub(crate) fn are_asleep(name: &str, threads: usize) -> bool {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux").filter_map(Result::ok);
    let stats = tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
    let asleep = |stat: &String| stat.contains(&format!("({name})")) && stat_field(stat, 0) == "S";
    stats.filter(asleep).count() == threads
}
