//! Makes a page of a recording, to be looked at in any browser.
//!
//! ```text
//! $ cargo run --example report --features trajectory -- episodes.jsonl page.html
//! page.html: 24 trajectories, 371 events
//! ```
//!
//! What had no room on the page is said in a second line.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it talks with its user")]

use std::process::ExitCode;

use tinymcp::trajectory::report;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [recording, page] = &arguments[..] else {
        eprintln!("usage: report RECORDING PAGE");
        return ExitCode::from(2);
    };
    match report(recording, page) {
        Ok(summary) => {
            println!(
                "{}: {} trajectories, {} events",
                page.to_string_lossy(),
                summary.trajectories,
                summary.events
            );
            if summary.left_out_events > 0 {
                println!("without room there: {} events", summary.left_out_events);
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("report: {error}");
            ExitCode::FAILURE
        }
    }
}
