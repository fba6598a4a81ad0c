//! Ten thousand clients that listen, each on a stream of its own: no thread for any, little memory, and a notice reaches them
//! all. Linux only, to look at the server, which is a process of its own.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "the server says where it listens")]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tinymcp::http::HttpServer;
use tinymcp::{Server, ToolRegistry, tool};

/// What the server is told, as this program again.
const SERVE: &str = "TINYMCP_TEST_CROWD";

const STREAMS: usize = 10_000;

/// The longest that anything takes here.
const SOON: Duration = Duration::from_secs(20);

/// The server: what it reads is a change of its tools.
#[test]
fn child() {
    if std::env::var_os(SERVE).is_none() {
        return;
    }
    let server = Server::builder("crowd", "1").tools(ToolRegistry::new()).build().expect("a server");
    let http = HttpServer::builder(&server).bind("127.0.0.1:0").expect("an address");
    println!("at {}", http.address());
    let changes = server.clone();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            drop(line.expect("text"));
            let tool = tool! { fn one_more() -> String { String::new() } };
            changes.tools().register(tool).expect("a new tool");
        }
        changes.handle().stop();
    });
    http.serve().expect("served");
}

struct Crowded {
    child: Child,
    address: String,
}

impl Crowded {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["child", "--exact", "--nocapture"])
            .env(SERVE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a server");
        let said = BufReader::new(child.stdout.take().expect("piped")).lines();
        let address =
            said.map(|line| line.expect("text")).find_map(|line| Some(line.split_once("at ")?.1.to_owned()));
        Self { child, address: address.expect("an address") }
    }

    /// A number in its `/proc/…/status`.
    fn status(&self, name: &str) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("readable");
        let line = status.lines().find(|line| line.starts_with(name)).expect("a line");
        line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
    }

    fn listen(&self) -> BufReader<TcpStream> {
        let version = "2026-07-28";
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {
            "notifications": {"toolsListChanged": true},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": version,
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        }})
        .to_string();
        let mut socket = TcpStream::connect(&self.address).expect("connected");
        socket.set_read_timeout(Some(SOON)).expect("a timeout");
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {version}\r\n\
             Mcp-Method: subscriptions/listen\r\nContent-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        socket.write_all((head + &body).as_bytes()).expect("sent");
        BufReader::with_capacity(512, socket)
    }
}

impl Drop for Crowded {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads until something is told of `method`.
fn until(stream: &mut BufReader<TcpStream>, method: &str) {
    let mut line = String::new();
    while !line.contains(method) {
        line.clear();
        assert!(stream.read_line(&mut line).expect("told in time") > 0, "closed before {method}");
    }
}

/// How many descriptors a process may have.
fn descriptors() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").expect("readable");
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("a limit");
    line.split_whitespace().nth(3).and_then(|soft| soft.parse().ok()).unwrap_or(usize::MAX)
}

#[test]
fn a_notice_reaches_everybody_who_listens() {
    // Fewer where the system allows no more.
    let count = STREAMS.min(descriptors().saturating_sub(64));
    let mut crowded = Crowded::start();
    until(&mut crowded.listen(), "subscriptions/acknowledged");
    let (memory, threads) = (crowded.status("VmRSS"), crowded.status("Threads"));
    let mut streams: Vec<_> = (0..count).map(|_| crowded.listen()).collect();
    streams.iter_mut().for_each(|stream| until(stream, "subscriptions/acknowledged"));
    let more = crowded.status("VmRSS").saturating_sub(memory);
    assert!(more <= 8 * count, "{count} streams took {more} KiB");
    // Those who opened them are left for a while, of which there are at most 64.
    let now = crowded.status("Threads");
    assert!(now <= threads + 64, "{threads} threads have become {now}");

    let start = Instant::now();
    let stdin = crowded.child.stdin.as_mut().expect("piped");
    stdin.write_all(b"change\n").expect("told");
    streams.iter_mut().for_each(|stream| until(stream, "notifications/tools/list_changed"));
    let took = start.elapsed();
    assert!(took < Duration::from_secs(2), "{count} clients were told in {took:?}");
}
