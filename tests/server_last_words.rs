//! What a server says in its log when its client is gone. There is one logger for the whole process, so this is a test binary
//! of its own.

#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use log::{LevelFilter, Log, Metadata, Record};
use serde_json::{Value, json};
use tinymcp::transport::Stream;
use tinymcp::{CancelToken, CloseReport, Server, ToolRegistry, tool};

static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Ear;

impl Log for Ear {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        heard().push(record.args().to_string());
    }

    fn flush(&self) {}
}

fn heard() -> MutexGuard<'static, Vec<String>> {
    HEARD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A server that gives a call 50 ms at its end, and the two ends of its client.
/// Its tool returns when `held` is let go.
fn serving(held: &CancelToken) -> (JoinHandle<CloseReport>, UnixStream, BufReader<UnixStream>) {
    let (requests, input) = UnixStream::pair().expect("a pair");
    let (answers, output) = UnixStream::pair().expect("a pair");
    let held = held.clone();
    let stuck = tool! { fn stuck() -> bool { held.wait_timeout(Duration::from_secs(60)) } };
    let tools = ToolRegistry::new().with(stuck).expect("free");
    let server = Server::builder("s", "1").tools(tools).grace(Duration::from_millis(50)).build();
    let server = server.expect("a server");
    let serving = std::thread::spawn(move || server.serve(Stream::new("s", input, output)).expect("served"));
    (serving, requests, BufReader::new(answers))
}

fn send(requests: &mut UnixStream, id: u32, method: &str, mut params: Value) {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    writeln!(requests, "{request}").expect("sent");
}

#[test]
fn it_is_said_that_work_is_left_unfinished_if_there_is_any() {
    log::set_logger(&Ear).expect("the first logger");
    log::set_max_level(LevelFilter::Warn);
    let is_said = || heard().drain(..).any(|line| line.contains("left unfinished after the grace of 50 ms"));

    // The client is gone, and with it the stream of notices that it had open: that is no work.
    let (serving, mut requests, mut answers) = serving(&CancelToken::new());
    send(&mut requests, 1, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let mut acknowledged = String::new();
    answers.read_line(&mut acknowledged).expect("an acknowledgement");
    drop(answers);
    drop(requests);
    serving.join().expect("no panic");
    assert!(!is_said());

    let held = CancelToken::new();
    let (serving, mut requests, answers) = self::serving(&held);
    send(&mut requests, 1, "tools/call", json!({"name": "stuck", "arguments": {}}));
    drop(requests);
    serving.join().expect("no panic");
    held.cancel("the server has ended");
    assert!(is_said());
    drop(answers);
}
