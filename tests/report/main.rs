//! The page of a recording in a browser: what is there, what a click and a search do, and that hostile content does nothing.
//!
//! ```text
//! TINYMCP_BROWSER=/usr/bin/chromium TINYMCP_PUPPETEER=DIRECTORY cargo test --features trajectory --test report
//! ```
//!
//! The directory has `puppeteer-core` in its `node_modules`; `.ci/report` installs both. Without the variables nothing is tested,
//! and this says so. With an argument, the page is written there and nothing else is done.

#![allow(clippy::print_stdout, reason = "this is a test harness")]

mod hostile;

use std::path::Path;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let folder = std::env::temp_dir().join(format!("tinymcp-report-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let recording = folder.join("recording <b>of</b> \u{202e}many.jsonl");
    let page = folder.join("page.html");
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let (Some(browser), Some(puppeteer)) = (set("TINYMCP_BROWSER"), set("TINYMCP_PUPPETEER")) else {
        println!("report: no browser (set TINYMCP_BROWSER and TINYMCP_PUPPETEER), nothing tested");
        return ExitCode::SUCCESS;
    };
    hostile::write(&recording);
    let summary = tinymcp::trajectory::report(&recording, &page).expect("a page");
    println!("report: {summary:?}");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report/look.mjs");
    let mut node = Command::new("node");
    node.arg(script).arg(&page).env("TINYMCP_BROWSER", browser).env("TINYMCP_PUPPETEER", puppeteer);
    node.env("TINYMCP_PROFILE", folder.join("profile"));
    let looked = node.status().expect("node runs");
    if !looked.success() {
        println!("report: the page is left at {}", page.display());
        return ExitCode::FAILURE;
    }
    std::fs::remove_dir_all(&folder).expect("removed");
    ExitCode::SUCCESS
}
