//! Drives a stdio server with raw JSON-RPC, checks every answer, and prints one line of JSON with the figures.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Failure, Options};

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"driver","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
const INITIALIZE: &str =
    r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"driver","version":"1"}"#;

/// No single measurement takes that long.
const STUCK: Duration = Duration::from_secs(180);

/// A driver's whole run.
pub(crate) fn drive(options: &Options, command: &[String]) -> Result<(), Failure> {
    std::thread::spawn(|| {
        std::thread::sleep(STUCK);
        eprintln!("no end after {STUCK:?}");
        std::process::exit(1);
    });
    let modern = options.get("--era") == Some("modern");
    let calls = options.number("--calls", 10_000)?;
    if let Some(how) = options.get("--pings") {
        println!("{}", pings(command, modern, how == "dense", options.number("--sleeps", 1)?, calls)?);
        return Ok(());
    }
    let tool = options.get("--tool").unwrap_or("echo");
    let window = options.number("--window", 1)?;
    let mut server = Driven::start(command, modern)?;
    server.padding = "m".repeat(options.number("--bytes", 16)?.saturating_sub(8));
    let every = Duration::from_millis(options.number("--every-ms", 0)? as u64);
    server.in_turn(tool, if every.is_zero() { (calls / 10).clamp(1, 1000) } else { 5 }, every)?;
    let cpu = server.cpu_ns();
    let start = Instant::now();
    let mut latencies =
        if window > 1 { server.at_once(tool, calls, window)? } else { server.in_turn(tool, calls, every)? };
    let wall = start.elapsed();
    let cpu = server.cpu_ns().zip(cpu).map(|(end, begin)| (end - begin) as f64 / 1e3 / calls as f64);
    latencies.sort();
    let median = latencies.get(latencies.len() / 2).map(|time| time.as_secs_f64() * 1e6);
    println!(
        "{}",
        json!({
            "p50_us": median, "p50_ms": median.map(|us| us / 1e3), "calls_per_s": calls as f64 / wall.as_secs_f64(),
            "cpu_us": cpu, "peak_mib": server.status("VmHWM:").map(|kib| kib / 1024.0), "threads": server.status("Threads:"),
        })
    );
    server.end()
}

/// How long a ping takes while `sleeps` calls of a tool sleep for 300 ms: the longest of `count`, each on a server of its
/// own, so that these are always the first calls of their tool. `dense`: while 32 calls of another tool are open.
fn pings(
    command: &[String],
    modern: bool,
    dense: bool,
    sleeps: usize,
    count: usize,
) -> Result<Value, Failure> {
    let (mut longest, mut on_readers) = (Duration::ZERO, 0);
    for _ in 0..count {
        let mut server = Driven::start(command, modern)?;
        let mut frames = String::new();
        if dense {
            server.at_once("echo", 1000, 32)?;
            for _ in 0..32 {
                server.frame(&mut frames, "echo");
            }
        } else {
            std::thread::sleep(Duration::from_millis(20));
        }
        let slept: Vec<_> = (0..sleeps).map(|_| server.frame(&mut frames, "sleep")).collect();
        if !dense {
            server.input.write_all(frames.as_bytes())?;
            frames.clear();
            std::thread::sleep(Duration::from_millis(2));
        }
        // A Modern server has no ping; this comes closest.
        let ping = server.next_id();
        let (method, params) = if modern {
            ("server/discover", format!(",\"params\":{{{META}}}"))
        } else {
            ("ping", String::new())
        };
        writeln!(frames, "{{\"jsonrpc\":\"2.0\",\"id\":{ping},\"method\":\"{method}\"{params}}}")?;
        let start = Instant::now();
        server.input.write_all(frames.as_bytes())?;
        loop {
            let answer = server.read()?;
            let took = start.elapsed();
            let answer = parsed(&answer)?;
            if answer["id"] == ping {
                if !answer["result"].is_object() {
                    return Err(format!("no pong: {answer}").into());
                }
                longest = longest.max(took);
                break;
            }
            if slept.iter().any(|id| answer["id"] == *id) {
                return Err("the sleep was over before the ping".into());
            }
            server.check(&answer)?;
        }
        on_readers += usize::from(server.sleeps_on_reader());
        // It would finish its sleep.
        server.child.kill()?;
        server.child.wait()?;
    }
    Ok(json!({ "longest_ms": longest.as_secs_f64() * 1e3, "slept_on_reader": on_readers }))
}

/// A server under test.
struct Driven {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    modern: bool,
    padding: String,
    last_id: usize,
}

impl Driven {
    /// Starts a server and settles the protocol.
    fn start(command: &[String], modern: bool) -> Result<Self, Failure> {
        let program = command.first().ok_or("a COMMAND is missing")?;
        let mut child = Command::new(program)
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = child.stdin.take().ok_or("no stdin")?;
        let output = BufReader::with_capacity(1 << 20, child.stdout.take().ok_or("no stdout")?);
        let mut server = Self { child, input, output, modern, padding: String::new(), last_id: 0 };
        let id = server.next_id();
        let (method, params, sign) = match modern {
            true => ("server/discover", META, "/result/supportedVersions"),
            false => ("initialize", INITIALIZE, "/result/protocolVersion"),
        };
        let hello =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}}}}}\n");
        server.input.write_all(hello.as_bytes())?;
        let answer = server.read()?;
        let answer = parsed(&answer)?;
        if answer.pointer(sign).is_none() {
            return Err(format!("no {method}: {answer}").into());
        }
        if !modern {
            server.input.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        }
        Ok(server)
    }

    /// Ends a server by the end of its input, and wants it to end well.
    fn end(mut self) -> Result<(), Failure> {
        drop(self.input);
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(format!("the server ended with {status}").into()) }
    }

    fn next_id(&mut self) -> usize {
        self.last_id += 1;
        self.last_id
    }

    fn message(&self, id: usize) -> String {
        format!("{id:08x}{}", self.padding)
    }

    /// Appends a call; returns its id.
    fn frame(&mut self, frames: &mut String, tool: &str) -> usize {
        let (id, meta) = (self.next_id(), if self.modern { [",", META] } else { [""; 2] }.concat());
        let (message, ms) = (self.message(id), if tool == "sleep" { ",\"ms\":300" } else { "" });
        let params = format!("{{\"name\":\"{tool}\",\"arguments\":{{\"message\":\"{message}\"{ms}}}{meta}}}");
        let _ = writeln!(
            frames,
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{params}}}"
        );
        id
    }

    /// The next response.
    fn read(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.output.read_line(&mut line)? == 0 {
                return Err("the server closed its output".into());
            }
            if !line.contains("\"method\":\"notifications/") {
                return Ok(line);
            }
        }
    }

    /// The id of a good answer.
    fn check(&self, answer: &Value) -> Result<usize, Failure> {
        let result = &answer["result"];
        let id = answer["id"].as_u64().and_then(|id| usize::try_from(id).ok()).unwrap_or_default();
        let is_good = result["content"][0]["text"].as_str() == Some(&self.message(id))
            && result["isError"] != true
            && result["resultType"].as_str() == self.modern.then_some("complete");
        let shown = || answer.to_string().chars().take(400).collect::<String>();
        if is_good { Ok(id) } else { Err(format!("a bad answer: {}", shown()).into()) }
    }

    /// One call after the other, or one `every` so often.
    fn in_turn(&mut self, tool: &str, calls: usize, every: Duration) -> Result<Vec<Duration>, Failure> {
        let mut latencies = Vec::with_capacity(calls);
        let mut due = Instant::now();
        for _ in 0..calls {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            due += every;
            let mut frame = String::new();
            let id = self.frame(&mut frame, tool);
            let start = Instant::now();
            self.input.write_all(frame.as_bytes())?;
            let answer = self.read()?;
            latencies.push(start.elapsed());
            if self.check(&parsed(&answer)?)? != id {
                return Err(format!("an answer to another call than {id}").into());
            }
        }
        Ok(latencies)
    }

    /// `window` calls open at any time. Frames are small enough for a window of them to fit into a pipe, so one thread
    /// may write and read.
    fn at_once(&mut self, tool: &str, calls: usize, window: usize) -> Result<Vec<Duration>, Failure> {
        let first = self.last_id + 1;
        let (mut is_open, mut sent, mut answered) = (vec![true; calls], 0, 0);
        let mut frames = String::new();
        while answered < calls {
            frames.clear();
            while sent < calls && sent - answered < window {
                self.frame(&mut frames, tool);
                sent += 1;
            }
            assert!(frames.len() <= 64 * 1024, "a window must fit into a pipe");
            self.input.write_all(frames.as_bytes())?;
            loop {
                let answer = self.read()?;
                let id = self.check(&parsed(&answer)?)?;
                let place = id.checked_sub(first).and_then(|at| is_open.get_mut(at));
                if !place.is_some_and(std::mem::take) {
                    return Err(format!("a second answer to {id}").into());
                }
                answered += 1;
                if !self.output.buffer().contains(&b'\n') {
                    break;
                }
            }
        }
        Ok(Vec::new())
    }

    fn threads(&self) -> impl Iterator<Item = std::path::PathBuf> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).ok();
        tasks.into_iter().flatten().flatten().map(|task| task.path())
    }

    /// The CPU time of all threads that live, in nanoseconds.
    fn cpu_ns(&self) -> Option<u64> {
        let times = self.threads().map(|task| {
            std::fs::read_to_string(task.join("schedstat")).ok()?.split(' ').next()?.parse::<u64>().ok()
        });
        times.sum::<Option<u64>>().filter(|time| *time > 0)
    }

    /// Whether a thread that reads, or did, runs the sleeping tool.
    fn sleeps_on_reader(&self) -> bool {
        let is = |task: &std::path::Path, file: &str, start: &[&str]| {
            let text = std::fs::read_to_string(task.join(file)).unwrap_or_default();
            start.iter().any(|start| text.starts_with(start))
        };
        // clock_nanosleep on x86-64 and on ARM
        self.threads().any(|task| {
            is(&task, "comm", &["mcp-reader", "mcp-standby"]) && is(&task, "syscall", &["230 ", "115 "])
        })
    }

    fn status(&self, key: &str) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with(key))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }
}

fn parsed(line: &str) -> Result<Value, Failure> {
    Ok(serde_json::from_str(line)?)
}
