//! What is measured: the floor, a server and a client of this crate. Each is this program, started anew.

use std::collections::VecDeque;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use serde_json::json;
use tinymcp::client::{CallHandle, CallOptions};
use tinymcp::json::Json;
use tinymcp::transport::ChildProcess;
use tinymcp::{Client, ClientHandle, ProtocolVersion, Server, ToolRegistry, tool};

use super::{Failure, Options};

/// What `spin` does: about 300 us of arithmetic in which each step needs the one before.
const SPIN_STEPS: u64 = 172_000;

pub(crate) fn spin(steps: u64) -> u64 {
    let mut x = black_box(0x9E37_79B9_7F4A_7C15_u64);
    for _ in 0..steps {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x)
}

pub(crate) fn spin_once() {
    spin(SPIN_STEPS);
}

/// One thread, no parsing beyond finding the id and the message, a fixed reply. Nothing that answers correctly can be faster
/// by more than noise. With an `era`, it ends when it is greeted in the other one.
pub(crate) fn floor(era: Option<&str>) -> Result<(), Failure> {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let (mut line, mut answer, mut kind) = (String::new(), Vec::new(), "");
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let Some((_, id)) = line.split_once("\"id\":") else { continue };
        let id = id.split([',', '}']).next().unwrap_or_default();
        answer.clear();
        write!(answer, "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{")?;
        if let Some((call, message)) = line.split_once("\"message\":\"") {
            if call.contains("\"sleep\"") {
                continue; // it is asleep for ever, and that costs nothing
            }
            let message = message.split('"').next().unwrap_or_default();
            write!(
                answer,
                "{kind}\"content\":[{{\"type\":\"text\",\"text\":\"{message}\"}}],\"isError\":false"
            )?;
        } else if line.contains("\"server/discover\"") && era != Some("legacy") {
            kind = "\"resultType\":\"complete\",";
            write!(
                answer,
                "{kind}\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{{\"tools\":{{}}}},"
            )?;
            answer.extend_from_slice(b"\"ttlMs\":0,\"cacheScope\":\"private\"");
        } else if era == Some("modern") {
            return Err("greeted in the other era".into());
        } else {
            answer.extend_from_slice(b"\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},");
            answer.extend_from_slice(b"\"serverInfo\":{\"name\":\"floor\",\"version\":\"1\"}");
        }
        answer.extend_from_slice(b"}}\n");
        output.write_all(&answer)?;
        output.flush()?;
    }
}

/// The server of this crate.
pub(crate) fn tools() -> Result<(), Failure> {
    let echo = tool! {
        /// Echo a message
        fn echo(message: String) -> String { message }
    };
    let spin = tool! {
        /// Compute for about 300 us, then echo a message
        fn spin(message: String) -> String {
            spin_once();
            message
        }
    };
    let sleep = tool! {
        /// Wait, then echo a message
        fn sleep(message: String, ms: u64) -> String {
            std::thread::sleep(Duration::from_millis(ms));
            message
        }
    };
    let tools = ToolRegistry::new().with(echo)?.with(spin)?.with(sleep)?;
    Server::builder("bench", "1.0.0").tools(tools).build()?.start()?;
    Ok(())
}

/// The client of this crate: as `examples/echo_client`, but counts its answers.
pub(crate) fn client(options: &Options, server: &[String]) -> Result<(), Failure> {
    let (calls, window) = (options.number("--calls", 20_000)?, options.number("--window", 1)?);
    let (threads, bytes) = (options.number("--threads", 1)?, options.number("--bytes", 16)?);
    let version = match options.get("--era") {
        Some("modern") => ProtocolVersion::V2026_07_28,
        _ => ProtocolVersion::V2025_11_25,
    };
    let program = server.first().ok_or("a SERVER is missing")?;
    let client = Client::builder().versions([version]).open(ChildProcess::new(program).args(&server[1..]))?;
    client.initialize()?;
    let arguments = Json::new(&json!({ "message": "m".repeat(bytes) }))?;
    in_turn(&client, &arguments, (calls / 10).clamp(1, 1000))?;
    let start = Instant::now();
    let mut latencies = Vec::new();
    if threads > 1 {
        std::thread::scope(|scope| {
            let share = |t: usize| calls / threads + usize::from(t < calls % threads);
            let handles = (0..threads).map(|t| (client.handle(), share(t)));
            let (arguments, mut workers) = (&arguments, Vec::new());
            for (client, share) in handles {
                workers.push(scope.spawn(move || in_turn(&client, arguments, share)));
            }
            for worker in workers {
                latencies.extend(worker.join().map_err(|_| "a thread panicked")??);
            }
            Ok::<(), Failure>(())
        })?;
    } else if window > 1 {
        at_once(&client, &arguments, calls, window)?;
    } else {
        latencies = in_turn(&client, &arguments, calls)?;
    }
    let wall = start.elapsed();
    client.close()?;
    latencies.sort();
    let median = latencies.get(latencies.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e6);
    println!("{}", json!({ "p50_us": median, "calls_per_s": calls as f64 / wall.as_secs_f64() }));
    Ok(())
}

/// One call after the other.
fn in_turn(client: &ClientHandle, arguments: &Json, calls: usize) -> tinymcp::Result<Vec<Duration>> {
    let mut latencies = Vec::with_capacity(calls);
    for _ in 0..calls {
        let start = Instant::now();
        let result = client.call_tool("echo", arguments)?;
        latencies.push(start.elapsed());
        assert!(!result.content.is_empty(), "an answer without content");
    }
    Ok(latencies)
}

/// `window` calls open at any time, from one thread.
fn at_once(client: &ClientHandle, arguments: &Json, calls: usize, window: usize) -> tinymcp::Result<()> {
    let options = CallOptions::default();
    let mut open: VecDeque<CallHandle> = VecDeque::with_capacity(window);
    for sent in 0..calls + window {
        let next = (sent < calls).then(|| client.start_call("echo", arguments, &options)).transpose()?;
        open.extend(next);
        if open.len() > window - 1 || sent >= calls {
            if let Some(call) = open.pop_front() {
                assert!(!call.wait()?.content.is_empty(), "an answer without content");
            }
        }
    }
    Ok(())
}
