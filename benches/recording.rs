//! What recording adds to a call: blocks of plain and of recorded calls in turn, medians of blocks.
//!
//! ```text
//! cargo bench --features trajectory --bench recording
//! ```
//!
//! Each bar is printed beside the figure; a figure over its bar ends the program with an error. The first line is the recorder's
//! work alone, before a caller that answers at once; in a real call the same takes longer, as a thread that was just woken finds
//! none of it in its caches, and as those who wait for its next call go to sleep meanwhile. What that is by itself says the last
//! figure of `echo`: that of a caller which is busy for as long as the work alone takes, and records nothing.

#![allow(clippy::print_stdout, reason = "this is a program that measures")]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tinymcp::client::{CallOptions, Caller, List};
use tinymcp::json::Json;
use tinymcp::protocol::{CallToolResult, ToolDefinition};
use tinymcp::trajectory::{Recorder, Redaction, Sink};
use tinymcp::{Arguments, Server, ToolRegistry, testing, tool};

/// Short ones, so that what else the machine does meets them alike.
const BLOCKS: usize = 100;

fn main() -> ExitCode {
    let echo = tool! { fn echo(text: String) -> String { text } };
    let slow = tool! {
        fn slow(text: String) -> String {
            std::thread::sleep(Duration::from_millis(1));
            text
        }
    };
    let tools = ToolRegistry::new().with(echo).and_then(|tools| tools.with(slow)).expect("tools");
    let server = Server::builder("bench", "1.0.0").tools(tools).build().expect("a server");
    let client = testing::pair(&server).expect("a pair");

    let path = std::env::temp_dir().join(format!("tinymcp-bench-{}.jsonl", std::process::id()));
    let sink = Sink::open(&path).expect("a file");
    let plain: Arc<dyn Caller> = Arc::new(client.handle());
    let recorder = Recorder::new(Arc::clone(&plain), &sink);
    let redacting = recorder.clone().with_redaction(Redaction::new().keys(["password"]));
    let (recorded, redacted) = (recorder.begin("bench"), redacting.begin("bench"));

    let instant: Arc<dyn Caller> = Arc::new(Instantly(CallToolResult::text("x".repeat(140))));
    let alone = Recorder::new(Arc::clone(&instant), &sink).begin("bench");

    // With its text once each way, 300 bytes and a little.
    let arguments = Json::from(json!({"text": "x".repeat(140)}));
    let measured = in_turn(&[&*instant, &alone], "echo", &arguments, 500);
    let work = measured[1] - measured[0];
    println!("alone: {work:.2} us");
    let busy = Busy(Arc::clone(&plain), Duration::from_secs_f64(work.max(0.0) / 1e6));
    let mut is_good = true;
    for (tool, calls, bar) in [("echo", 500, Bar::Added(5.0)), ("slow", 30, Bar::Part(5.0))] {
        let measured = in_turn(&[&*plain, &recorded, &redacted, &busy], tool, &arguments, calls);
        let [before, after, kept_out, other] = measured[..] else { unreachable!("four") };
        let added = after - before;
        let (figure, most, unit) = match bar {
            Bar::Added(most) => (added, most, "us added"),
            Bar::Part(most) => (added / before * 100.0, most, "% added"),
        };
        println!(
            "{tool}: {before:.2} us plain, {after:.2} us recorded: {figure:.2} {unit} (at most {most}); \
             {kept_out:.2} us with a redaction; {:.2} us added by being as busy",
            other - before
        );
        is_good &= figure <= most;
    }
    println!("{} events, {} lost", sink.written(), sink.lost());
    let _ = std::fs::remove_file(path);
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Answers at once.
struct Instantly(CallToolResult);

impl Caller for Instantly {
    fn call(&self, _: &str, _: Arguments<'_>, _: &CallOptions) -> tinymcp::Result<CallToolResult> {
        Ok(self.0.clone())
    }

    fn list_tools(&self, _: &CallOptions) -> tinymcp::Result<List<ToolDefinition>> {
        Err(tinymcp::Error::Unsupported("nothing but calls".to_owned()))
    }
}

/// Is busy for so long after each call.
struct Busy(Arc<dyn Caller>, Duration);

impl Caller for Busy {
    fn call(
        &self,
        name: &str,
        arguments: Arguments<'_>,
        options: &CallOptions,
    ) -> tinymcp::Result<CallToolResult> {
        let result = self.0.call(name, arguments, options);
        let until = Instant::now() + self.1;
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        result
    }

    fn list_tools(&self, options: &CallOptions) -> tinymcp::Result<List<ToolDefinition>> {
        self.0.list_tools(options)
    }
}

enum Bar {
    /// Microseconds.
    Added(f64),
    /// Per cent.
    Part(f64),
}

/// Microseconds a call: the median of blocks of each, one block of each in turn.
fn in_turn(callers: &[&dyn Caller], tool: &str, arguments: &Json, calls: u32) -> Vec<f64> {
    let mut blocks = vec![Vec::new(); callers.len()];
    for _ in 0..BLOCKS {
        for (caller, blocks) in callers.iter().zip(&mut blocks) {
            let start = Instant::now();
            for _ in 0..calls {
                let arguments = Arguments::from_raw(arguments.as_raw()).expect("an object");
                caller.call(tool, arguments, &CallOptions::default()).expect("a result");
            }
            blocks.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(calls));
        }
    }
    let median = |blocks: &mut Vec<f64>| {
        blocks.sort_by(f64::total_cmp);
        blocks[blocks.len() / 2]
    };
    blocks.iter_mut().map(median).collect()
}
