//! A server in a process of its own that counts what it does in a file, and dies when it is told to.
//!
//! A binary that uses this has `#[test] fn child() { counting::child() }`, which does nothing unless the environment says so.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::support::alone::is_alive;
use crate::support::peers::{LONG, eventually};
use tinymcp::client::ClientBuilder;
use tinymcp::transport::{ChildProcess, Patience};
use tinymcp::{CancelToken, Client, Context, Error, FnTool, ProtocolVersion, Server, ToolRegistry, tool};

const FOLDER: &str = "TINYMCP_TEST_COUNTING";

/// What it has remembered, as a server with a session does.
static REMEMBERED: AtomicU32 = AtomicU32::new(0);

fn note(folder: &Path, what: &str) {
    let line = format!("{what} {}\n", std::process::id());
    let file = fs::OpenOptions::new().create(true).append(true).open(folder.join("log"));
    file.expect("the log").write_all(line.as_bytes()).expect("written");
}

/// Takes a marker that the test has put: whether it was there.
fn taken(folder: &Path, marker: &str) -> bool {
    fs::remove_file(folder.join(marker)).is_ok()
}

/// The body of the test `child`: the server, if the environment names a folder.
pub(crate) fn child() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    note(&folder, "start");
    if folder.join("broken").exists() || taken(&folder, "broken once") {
        std::process::exit(3);
    }
    if folder.join("silent").exists() {
        loop {
            std::thread::park();
        }
    }
    let tools = ToolRegistry::new();
    let add = |tool: FnTool| tools.register(tool).expect("registers");
    let at = folder.clone();
    add(tool! { fn act() -> u32 { note(&at, "act"); std::process::id() } });
    let at = folder.clone();
    add(tool! { fn act_as(name: String) -> u32 { note(&at, &name); std::process::id() } });
    // Its answer is lost.
    let at = folder.clone();
    add(tool! { fn act_and_die() -> u32 { note(&at, "act_and_die"); std::process::exit(7) } });
    // The same as often as there are markers; it says that repeating it does no harm.
    let at = folder.clone();
    let harmless = tool! { fn look() -> u32 {
        note(&at, "look");
        if taken(&at, "die") || taken(&at, "die again") { std::process::exit(7) }
        std::process::id()
    } };
    add(harmless.read_only());
    let at = folder.clone();
    add(tool! { fn wait(cx: &Context) -> String {
        note(&at, "wait");
        let is_cancelled = cx.cancel_token().wait_timeout(2 * LONG);
        if is_cancelled { "cancelled" } else { "over" }.to_owned()
    } });
    let at = folder.clone();
    add(tool! { fn wait_for(marker: String) -> u32 {
        note(&at, "wait_for");
        while !at.join(&marker).exists() {
            let _ = CancelToken::new().wait_timeout(Duration::from_millis(2));
        }
        std::process::id()
    } });
    add(tool! { fn pid() -> u32 { std::process::id() } });
    add(tool! { fn remember() -> u32 { REMEMBERED.fetch_add(1, Ordering::SeqCst) + 1 } });
    let mut server = Server::builder("counting", "1").tools(tools);
    if folder.join("legacy").exists() {
        server = server.versions([ProtocolVersion::V2025_06_18]);
    }
    server.build().expect("a server").start().expect("serves");
    std::process::exit(0);
}

/// A folder in which a server counts, and which tells it what to do.
pub(crate) struct Counting(PathBuf);

impl Counting {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tinymcp-counting-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    /// The server speaks Legacy alone.
    pub(crate) fn legacy(self) -> Self {
        self.mark("legacy");
        self
    }

    pub(crate) fn server(&self) -> ChildProcess {
        let exe = std::env::current_exe().expect("the test binary");
        let args = ["--exact", "child", "--quiet", "--nocapture", "--test-threads=1"];
        ChildProcess::new(exe).args(args).env(FOLDER, &self.0)
    }

    pub(crate) fn builder() -> ClientBuilder {
        let brief = Patience::default()
            .with_flush(Duration::from_millis(100))
            .with_exit(Duration::from_millis(500))
            .with_term(Duration::from_secs(1))
            .with_threads(Duration::from_millis(200));
        Client::builder().patience(brief)
    }

    pub(crate) fn client(&self) -> Client {
        Self::builder().open(self.server()).expect("starts")
    }

    /// Makes what a pool needs.
    pub(crate) fn factory(&self) -> impl Fn(usize) -> tinymcp::Result<Client> + Send + Sync + use<> {
        let server = self.server();
        move |_| Self::builder().open(server.clone())
    }

    pub(crate) fn mark(&self, marker: &str) {
        fs::write(self.0.join(marker), "").expect("marked");
    }

    pub(crate) fn unmark(&self, marker: &str) {
        fs::remove_file(self.0.join(marker)).expect("it was marked");
    }

    pub(crate) fn is_marked(&self, marker: &str) -> bool {
        self.0.join(marker).exists()
    }

    /// How often it has done `what`.
    pub(crate) fn count(&self, what: &str) -> usize {
        self.pids(what).len()
    }

    /// The processes that have done `what`, in order.
    pub(crate) fn pids(&self, what: &str) -> Vec<String> {
        let log = fs::read_to_string(self.0.join("log")).unwrap_or_default();
        let lines = log.lines().filter_map(|line| line.rsplit_once(' '));
        lines.filter(|(did, _)| *did == what).map(|(_, pid)| pid.to_owned()).collect()
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Ends a process that this test has started, and waits until its pipes are closed.
pub(crate) fn kill(pid: &str) {
    signal("-KILL", pid);
    // Its threads share the pipes: the last one to end closes them.
    let threads = || fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    eventually("it is dead", || !is_alive(pid) && threads() <= 1);
}

/// Signals a process that this test has started.
pub(crate) fn signal(signal: &str, pid: &str) {
    let signalled = Command::new("kill").args([signal, pid]).status().expect("kill");
    assert!(signalled.success());
}

/// What kind an error is of.
pub(crate) fn kind(error: &Error) -> &'static str {
    match error {
        Error::OutcomeUnknown(_) => "OutcomeUnknown",
        Error::Unreachable(_) => "Unreachable",
        Error::SessionEnded(_) => "SessionEnded",
        Error::Closed(_) => "Closed",
        Error::Timeout(_) => "Timeout",
        Error::Cancelled(_) => "Cancelled",
        Error::Busy(_) => "Busy",
        Error::Peer(_) => "Peer",
        Error::Transport { .. } => "Transport",
        Error::Unsupported(_) => "Unsupported",
        Error::InvalidUse(_) => "InvalidUse",
        _ => "other",
    }
}
