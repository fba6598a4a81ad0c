//! The page of a recording in a browser: what is there, what a click and a search do, and that hostile content does nothing.
//!
//! ```text
//! TINYMCP_BROWSER=/usr/bin/chromium TINYMCP_PUPPETEER=DIRECTORY cargo test --features trajectory --test report
//! ```
//!
//! The directory has `puppeteer-core` in its `node_modules`; `.ci/report` installs both. Without the variables nothing is tested,
//! and this says so. With `TINYMCP_PAGE=FILE` the page is written there for people to look at, and nothing else is done.

#![allow(clippy::print_stdout, reason = "this is a test harness")]

mod hostile;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let page = set("TINYMCP_PAGE");
    let tools = set("TINYMCP_BROWSER").zip(set("TINYMCP_PUPPETEER"));
    if page.is_none() && tools.is_none() {
        println!(
            "report: skipped, nothing was tested: TINYMCP_BROWSER and TINYMCP_PUPPETEER are not set (.ci/report sets them)"
        );
        return ExitCode::SUCCESS;
    }
    let folder = std::env::temp_dir().join(format!("tinymcp-report-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let recording = folder.join(RECORDING);
    hostile::write(&recording);
    let done = match (page, tools) {
        (Some(page), _) => {
            let summary = tinymcp::trajectory::report(&recording, &page).expect("a page");
            println!("report: {} is written, {summary:?}", Path::new(&page).display());
            true
        }
        (None, Some((browser, puppeteer))) => {
            let page = folder.join("page.html");
            let summary = tinymcp::trajectory::report(&recording, &page).expect("a page");
            println!("report: {summary:?}");
            let mut node = Command::new("node");
            node.arg(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/report/look.mjs")).arg(&page);
            node.arg(summary.events.to_string()).arg(hostile::EPISODES.to_string());
            node.env("TINYMCP_BROWSER", browser).env("TINYMCP_PUPPETEER", puppeteer);
            node.env("TINYMCP_PROFILE", folder.join("profile"));
            node.status().expect("node runs").success()
        }
        (None, None) => unreachable!("said above"),
    };
    std::fs::remove_dir_all(&folder).expect("removed");
    if done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A name that would do harm as markup, and one that a file may have everywhere but on Windows.
const RECORDING: &str =
    if cfg!(windows) { "many.jsonl" } else { "<img src=x onerror=attacked()> \u{202e}many.jsonl" };
