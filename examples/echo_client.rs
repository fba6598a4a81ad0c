//! Calls the `echo` tool of a server over and over and prints one line of JSON with the figures.
//!
//! ```text
//! cargo run --release --example echo_client -- [--era legacy|modern] [--calls N] [--window W] [--threads T] [--bytes B] -- SERVER [ARG...]
//! ```
//!
//! A window of 1 measures latency; a larger one keeps that many calls open from one thread, or from `--threads`.

#![allow(clippy::print_stdout, reason = "the figures are the program's output")]

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::json;
use tinymcp::client::CallOptions;
use tinymcp::json::Json;
use tinymcp::transport::ChildProcess;
use tinymcp::{Client, ClientHandle, ProtocolVersion};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let split = args.iter().position(|arg| arg == "--").ok_or("-- SERVER [ARG...] is missing")?;
    let (options, server) = (&args[..split], &args[split + 1..]);
    let option = |name: &str| options.iter().position(|arg| arg == name).and_then(|at| options.get(at + 1));
    let number = |name: &str, default: usize| option(name).map_or(Ok(default), |text| text.parse());
    let (calls, window, bytes) = (number("--calls", 20_000)?, number("--window", 1)?, number("--bytes", 16)?);
    let threads = number("--threads", 1)?;
    let version = match option("--era").map(String::as_str) {
        Some("modern") => ProtocolVersion::V2026_07_28,
        _ => ProtocolVersion::V2025_11_25,
    };
    let program = server.first().ok_or("a SERVER is missing")?;

    let start = Instant::now();
    let client = Client::builder().versions([version]).open(ChildProcess::new(program).args(&server[1..]))?;
    client.initialize()?;
    let startup = start.elapsed();

    let arguments = Json::new(&json!({ "message": "m".repeat(bytes) }))?;
    for _ in 0..(calls / 10).clamp(1, 1000) {
        client.call_tool("echo", &arguments)?;
    }
    let start = Instant::now();
    let mut latencies = Vec::new();
    if threads > 1 {
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|t| {
                    let share = calls / threads + usize::from(t < calls % threads);
                    let (client, arguments) = (client.handle(), &arguments);
                    scope.spawn(move || in_turn(&client, arguments, share))
                })
                .collect();
            for worker in workers {
                latencies.extend(worker.join().map_err(|_| "a thread panicked")??);
            }
            Ok::<(), Box<dyn std::error::Error>>(())
        })?;
    } else if window > 1 {
        at_once(&client, &arguments, calls, window)?;
    } else {
        latencies = in_turn(&client, &arguments, calls)?;
    }
    let wall = start.elapsed();
    client.close()?;

    latencies.sort();
    let percentile = |share: usize| {
        let at = (latencies.len() * share / 100).min(latencies.len().saturating_sub(1));
        latencies.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e6)
    };
    println!(
        "{}",
        json!({
            "client": "tinymcp", "calls": calls, "window": window.max(threads), "bytes": bytes,
            "startup_ms": startup.as_secs_f64() * 1e3, "p50_us": percentile(50), "p90_us": percentile(90),
            "p99_us": percentile(99), "calls_per_s": calls as f64 / wall.as_secs_f64(),
        })
    );
    Ok(())
}

/// One call after the other.
fn in_turn(client: &ClientHandle, arguments: &Json, calls: usize) -> tinymcp::Result<Vec<Duration>> {
    let mut latencies = Vec::with_capacity(calls);
    for _ in 0..calls {
        let start = Instant::now();
        let result = client.call_tool("echo", arguments)?;
        latencies.push(start.elapsed());
        assert!(!result.content.is_empty());
    }
    Ok(latencies)
}

/// `window` calls open at any time, from one thread.
fn at_once(client: &ClientHandle, arguments: &Json, calls: usize, window: usize) -> tinymcp::Result<()> {
    let options = CallOptions::default();
    let mut open = VecDeque::with_capacity(window);
    for _ in 0..calls {
        if open.len() == window {
            if let Some(call) = open.pop_front() {
                let result = tinymcp::client::CallHandle::wait(call)?;
                assert!(!result.content.is_empty());
            }
        }
        open.push_back(client.start_call("echo", arguments, &options)?);
    }
    for call in open {
        assert!(!call.wait()?.content.is_empty());
    }
    Ok(())
}
