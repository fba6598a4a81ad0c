//! Our client with other people's servers, and our servers with other people's clients.
//!
//! The peers are installed programs, so that there is no use in running this without them:
//!
//! ```text
//! TINYMCP_INTEROP=$(.ci/peers) cargo test --features http --test interop [-- NAME...]
//! ```
//!
//! `.ci/peers` installs them into a directory outside the tree and prints its name. Without the variable nothing is tested,
//! and this says so. `NAME` picks the cases whose name contains it. The example programs must have been built.

#![allow(clippy::print_stdout, reason = "this is a test harness")]

mod answering;
mod client_everything;
mod client_features;
#[cfg(feature = "host")]
mod many;
mod our_client;
mod our_server;
mod passed;
mod peers;
mod relay;
mod server_features;
mod serving;
mod tasks;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crossbeam_channel::{RecvTimeoutError, bounded};
use peers::Peers;

/// No case takes nearly as long.
const LIMIT: Duration = Duration::from_secs(120);

/// So many cases run at a time: much of their time is waiting for programs to start.
const AT_ONCE: usize = 3;

type Case = (&'static str, fn(&Peers));

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    if args.first().is_some_and(|arg| arg == our_server::SERVE) {
        our_server::serve();
        return ExitCode::SUCCESS;
    }
    if args.first().is_some_and(|arg| arg == tasks::SERVE) {
        tasks::serve();
        return ExitCode::SUCCESS;
    }
    let Some(dir) = std::env::var_os("TINYMCP_INTEROP").filter(|dir| !dir.is_empty()) else {
        println!("interop: no peers (set TINYMCP_INTEROP), nothing tested");
        return ExitCode::SUCCESS;
    };
    let dir = std::fs::canonicalize(&dir).unwrap_or_else(|e| panic!("TINYMCP_INTEROP={dir:?}: {e}"));
    // First those that take long and do little.
    let cases = tasks::CASES
        .iter()
        .chain(our_client::CASES)
        .chain(client_everything::CASES)
        .chain(client_features::CASES)
        .chain(our_server::CASES)
        .chain(server_features::CASES)
        .copied()
        .chain(our_server::notes_case());
    #[cfg(feature = "host")]
    let cases = cases.chain(many::CASES.iter().copied());
    let chosen = cases.filter(|(name, _)| args.is_empty() || args.iter().any(|arg| name.contains(arg)));
    let (cases, verdicts) = (Mutex::new(chosen), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((name, case)) = next(&cases) {
                    let is_ok = run(&dir, name, case);
                    peers::locked(&verdicts).push((name, is_ok));
                }
            });
        }
    });
    let verdicts = verdicts.into_inner().expect("no panic");
    let failed: Vec<_> = verdicts.iter().filter(|(_, is_ok)| !is_ok).map(|(name, _)| name).collect();
    let passed = verdicts.len() - failed.len();
    for name in &failed {
        println!("interop: failed: {name}");
    }
    println!("interop: {passed} passed, {} failed", failed.len());
    // Also when a name was mistyped: nothing passed is no success.
    if failed.is_empty() && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn next<T>(cases: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    peers::locked(cases).next()
}

/// Runs a case on a thread of its own, of its name, which is left behind if it does not end.
fn run(dir: &Path, name: &'static str, case: fn(&Peers)) -> bool {
    let start = Instant::now();
    let peers = Peers::new(dir.to_owned(), name);
    let (done_tx, done_rx) = bounded::<()>(1);
    let begun = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        case(&peers);
        // Before the verdict: this program may end right after it.
        drop(peers);
        let _ = done_tx.send(());
    });
    begun.expect("a thread");
    let verdict = match done_rx.recv_timeout(LIMIT) {
        Ok(()) => "ok",
        Err(RecvTimeoutError::Disconnected) => "FAILED",
        Err(RecvTimeoutError::Timeout) => "FAILED: it still runs",
    };
    println!("interop: {name} ... {verdict} ({:.1} s)", start.elapsed().as_secs_f64());
    verdict == "ok"
}
