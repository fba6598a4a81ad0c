//! Peers for the tests, each in a process of its own: the test binary itself, started again.
//!
//! A binary that uses this has `#[test] fn child() { peers::child() }`, which does nothing unless the environment names a
//! role. libtest's own lines on stdout come before the peer's; to a client they are noise like any other.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tinymcp::client::Timeouts;
use tinymcp::transport::{ChildProcess, Patience};
use tinymcp::{Client, Error};

use super::{odd, served};

/// Names the role of a child.
const ROLE: &str = "TINYMCP_TEST_PEER";

/// Long enough for a loaded machine; a test that waits this long has failed.
pub(crate) const LONG: Duration = Duration::from_secs(30);

const ARGS: [&str; 5] = ["--exact", "child", "--quiet", "--nocapture", "--test-threads=1"];

/// The body of the test `child`: plays the role that the environment names, if any.
pub(crate) fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    match role.split_once(':') {
        Some(("odd", mode)) => odd::serve(mode),
        Some(("served", options)) => served::serve(options),
        #[cfg(feature = "host")]
        Some(("host", role)) => super::hosts::serve(role),
        #[cfg(feature = "host")]
        Some(("wayward", role)) => super::wayward::serve(role),
        _ => panic!("no role {role}"),
    }
}

fn exe() -> std::path::PathBuf {
    std::env::current_exe().expect("the test binary")
}

/// An odd server, see [`odd`].
pub(crate) fn odd(mode: &str) -> ChildProcess {
    ChildProcess::new(exe()).args(ARGS).env(ROLE, format!("odd:{mode}"))
}

/// `script` under `sh`, in which `"$0" "$@"` is an odd server.
pub(crate) fn odd_in_shell(script: &str, mode: &str) -> ChildProcess {
    let exe = exe();
    ChildProcess::new("sh")
        .args(["-c", script])
        .args([exe.as_os_str()])
        .args(ARGS)
        .env(ROLE, format!("odd:{mode}"))
}

/// A client of an odd server, which the first use settles.
pub(crate) fn client(mode: &str) -> Client {
    Client::builder().open(odd(mode)).expect("the test binary starts")
}

/// A client of an odd server with a timeout for calls.
pub(crate) fn hasty(mode: &str, call: Duration) -> Client {
    let timeouts = Timeouts::default().with_call(call).with_connect(LONG).with_probe(LONG);
    Client::builder().timeouts(timeouts).patience(brief()).open(odd(mode)).expect("the test binary starts")
}

/// Short waits for servers that are known to ignore them.
pub(crate) fn brief() -> Patience {
    Patience::default()
        .with_flush(Duration::from_millis(100))
        .with_exit(Duration::from_millis(200))
        .with_term(Duration::from_secs(1))
        .with_threads(Duration::from_millis(200))
}

/// A client of the well-behaved server, see [`served`].
pub(crate) fn served(options: &str) -> ChildProcess {
    ChildProcess::new(exe()).args(ARGS).env(ROLE, format!("served:{options}"))
}

/// How a child is started that plays `role`: program, arguments, and the variable that names it.
pub(crate) fn started_as(role: &str) -> (String, [&'static str; 5], (&'static str, String)) {
    (exe().to_str().expect("a plain path").to_owned(), ARGS, (ROLE, role.to_owned()))
}

/// Everything an odd server has heard so far.
pub(crate) fn heard(client: &Client) -> Vec<Value> {
    let text = client.call_tool("heard", ()).expect("heard").text_content();
    serde_json::from_str(&text).expect("an array")
}

/// Waits until an odd server has heard what `is_it` looks for.
pub(crate) fn until_heard(client: &Client, is_it: impl Fn(&Value) -> bool) -> Value {
    let start = Instant::now();
    loop {
        if let Some(found) = heard(client).into_iter().find(&is_it) {
            return found;
        }
        assert!(start.elapsed() < LONG, "never heard");
        std::thread::yield_now();
    }
}

/// The error, which must come within `time`.
pub(crate) fn fails_within<T>(time: Duration, run: impl FnOnce() -> Result<T, Error>) -> Error {
    let start = Instant::now();
    let Err(error) = run() else { panic!("it succeeded") };
    assert!(start.elapsed() < time, "only after {:?}: {error}", start.elapsed());
    error
}

/// Runs `work` on a thread of its own, and fails if it does not end.
pub(crate) fn ends<T: Send + 'static>(time: Duration, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (tx, rx) = channel();
    let thread = std::thread::spawn(move || tx.send(work()));
    match rx.recv_timeout(time) {
        Ok(value) => value,
        Err(RecvTimeoutError::Timeout) => panic!("not over after {time:?}"),
        Err(RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(thread.join().expect_err("the thread panicked"))
        }
    }
}

/// Waits until `holds`.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < LONG, "never: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) const INIT: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"0"}}}"#;
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The line of a call.
pub(crate) fn call(id: impl Into<Value>, name: &str, arguments: Value) -> String {
    let params = json!({"name": name, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": params}).to_string()
}

/// The line of a request without parameters.
pub(crate) fn request(id: impl Into<Value>, method: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method}).to_string()
}

/// The text of a tool's result.
pub(crate) fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}"))
}

/// A well-behaved server as a child, driven by raw lines.
pub(crate) struct Raw {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Opened by a drop: until then the server's output is not read.
    gate: Option<Sender<()>>,
    /// Answers that came while another was waited for.
    early: Vec<Value>,
}

impl Raw {
    pub(crate) fn new(options: &str) -> Self {
        Self::unread(options).read()
    }

    /// Its output is not read until [`read`](Self::read).
    pub(crate) fn unread(options: &str) -> Self {
        let mut command = Command::new(exe());
        command.args(ARGS);
        Self::spawn(command, options)
    }

    /// `script` under `sh`, in which `"$0" "$@"` is the server.
    pub(crate) fn in_shell(script: &str, options: &str) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(exe()).args(ARGS);
        Self::spawn(command, options).read()
    }

    fn spawn(mut command: Command, options: &str) -> Self {
        command.env(ROLE, format!("served:{options}"));
        Self::of(command)
    }

    /// Another server than that of the test binary. Its output is not read until [`read`](Self::read).
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("it starts");
        let stdout = child.stdout.take().expect("stdout");
        let (tx, lines) = channel();
        let (gate, opened) = channel::<()>();
        std::thread::spawn(move || {
            let _ = opened.recv();
            let mut is_header = true;
            for line in BufReader::with_capacity(1 << 20, stdout).lines() {
                let line = line.expect("UTF-8");
                // libtest's header, once.
                is_header = is_header && (line.is_empty() || line.starts_with("running 1 test"));
                if !is_header && tx.send(line).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, gate: Some(gate), early: Vec::new() }
    }

    /// Begins to read the server's output.
    pub(crate) fn read(mut self) -> Self {
        self.gate = None;
        self
    }

    /// After `initialize`.
    pub(crate) fn initialized(options: &str) -> Self {
        let mut raw = Self::new(options);
        raw.send(INIT);
        raw.send(INITIALIZED);
        assert_eq!(raw.answer(0)["result"]["protocolVersion"], "2025-06-18");
        raw
    }

    pub(crate) fn send(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes());
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().expect("open").write_all(bytes).expect("the server reads");
    }

    /// Whether the server still takes input.
    pub(crate) fn try_send_bytes(&mut self, bytes: &[u8]) -> bool {
        self.stdin.as_mut().expect("open").write_all(bytes).is_ok()
    }

    /// The next line, which must be one JSON object.
    pub(crate) fn next(&mut self) -> Value {
        let line = self.lines.recv_timeout(LONG).expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"))
    }

    /// The answer to `id`, whenever it comes.
    pub(crate) fn answer(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        let is_it = |message: &Value| message.get("id") == Some(&id) && message.get("method").is_none();
        if let Some(at) = self.early.iter().position(is_it) {
            return self.early.remove(at);
        }
        loop {
            let message = self.next();
            if is_it(&message) {
                return message;
            }
            self.early.push(message);
        }
    }

    pub(crate) fn ask(&mut self, line: &str) -> Value {
        self.send(line);
        self.next()
    }

    pub(crate) fn end_input(&mut self) {
        self.stdin = None;
    }

    /// All lines up to the end of the output.
    pub(crate) fn rest(&mut self) -> Vec<Value> {
        let mut all = std::mem::take(&mut self.early);
        while let Ok(line) = self.lines.recv_timeout(LONG) {
            all.push(serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}")));
        }
        all
    }

    /// Ends the input and waits for the exit: the lines that came, how it ended, and after how long.
    pub(crate) fn finish(&mut self) -> (Vec<Value>, ExitStatus, Duration) {
        let start = Instant::now();
        self.end_input();
        let rest = self.rest();
        let status = self.child.wait().expect("it exits");
        (rest, status, start.elapsed())
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
