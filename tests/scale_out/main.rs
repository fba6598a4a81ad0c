//! Two replicas of a server behind nginx: round robin without sessions, and sessions by a hash.
//!
//! ```text
//! TINYMCP_NGINX=/usr/sbin/nginx cargo test --features http --test scale_out
//! ```
//!
//! Without the variable nothing is tested, and this says so. The configurations beside this file are those of the guide; only
//! their ports are replaced.

#![allow(clippy::print_stdout, reason = "this is a test harness")]

mod nginx;
mod replica;

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nginx::Nginx;
use replica::{Replica, Work};
use serde_json::json;
use tinymcp::protocol::{ElicitResult, ProtocolVersion};
use tinymcp::{Client, Error, Result};

type Case = fn(&std::path::Path);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == replica::SERVE) {
        replica::serve(&args[1..]);
        return ExitCode::SUCCESS;
    }
    let Some(program) = std::env::var_os("TINYMCP_NGINX").filter(|program| !program.is_empty()) else {
        println!("scale_out: no nginx (set TINYMCP_NGINX), nothing tested");
        return ExitCode::SUCCESS;
    };
    let cases: [(&str, Case); 3] = [
        ("a call that asks twice is served by several replicas", rounds),
        ("a replica is killed under load, and nothing runs twice", killed),
        ("a session stays with its replica", sessions),
    ];
    for (name, case) in cases {
        let start = Instant::now();
        case(program.as_ref());
        println!("scale_out: {name} ({:.1} s)", start.elapsed().as_secs_f64());
    }
    ExitCode::SUCCESS
}

fn client(url: &str, versions: &[ProtocolVersion]) -> Client {
    Client::builder()
        .name("scale-out", "1")
        .versions(versions.iter().cloned())
        .on_elicit(|_| Ok(ElicitResult::accept(tinymcp::json::Object::new())))
        .connect_http(url)
        .expect("a valid URL")
}

/// Each round of a call may be served by another replica: what was learned travels with the client.
fn rounds(program: &std::path::Path) {
    let work = Work::new();
    let replicas = [Replica::start(&work), Replica::start(&work)];
    let nginx = Nginx::start(program, include_str!("modern.conf"), &replicas);
    let client = client(&nginx.url(), &[ProtocolVersion::V2026_07_28]);
    let mut mixed = 0;
    for _ in 0..10 {
        let result = client.call_tool("deploy", json!({"environment": "production"})).expect("deployed");
        let text = result.text_content();
        let mut rounds: Vec<&str> = text.split(' ').collect();
        assert_eq!(rounds.len(), 3, "first, second and last round: {text}");
        rounds.sort_unstable();
        rounds.dedup();
        mixed += usize::from(rounds.len() > 1);
    }
    assert!(mixed > 0, "no call was served by more than one replica");
    let served = replicas.iter().filter(|replica| work.deployed_by(replica.id()) > 0).count();
    assert_eq!(served, 2, "both replicas finish calls");
}

/// What became of each call, by its number.
type Outcomes = Mutex<HashMap<usize, Result<()>>>;

fn killed(program: &std::path::Path) {
    let work = Work::new();
    let mut replicas = [Replica::start(&work), Replica::start(&work)];
    let nginx = Nginx::start(program, include_str!("modern.conf"), &replicas);
    let url = nginx.url();
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (lookups, charges) = (Outcomes::default(), Outcomes::default());
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (url, next, is_over, lookups, charges) = (&url, &next, &is_over, &lookups, &charges);
            scope.spawn(move || {
                let client = client(url, &[ProtocolVersion::V2026_07_28]);
                // Known by their annotations to be safe to do again, or not.
                client.discover_tools().expect("tools");
                while !is_over.load(Ordering::SeqCst) {
                    let call = next.fetch_add(1, Ordering::SeqCst);
                    let (tool, outcomes) =
                        if number % 2 == 0 { ("lookup", lookups) } else { ("charge", charges) };
                    let outcome = client.call_tool(tool, json!({"call": call})).map(drop);
                    outcomes.lock().expect("no panic").insert(call, outcome);
                }
            });
        }
        for turn in 0..4 {
            work.wait_for(200 * (turn + 1));
            let victim = &mut replicas[turn % 2];
            victim.kill();
            work.wait_for_more(100);
            victim.start_again(&work);
            work.wait_for_more(100);
        }
        is_over.store(true, Ordering::SeqCst);
    });
    let (lookups, charges) =
        (lookups.into_inner().expect("no panic"), charges.into_inner().expect("no panic"));
    let lost: Vec<_> =
        lookups.iter().filter_map(|(call, outcome)| Some((call, outcome.as_ref().err()?))).collect();
    let (count, shown) = (lost.len(), &lost[..lost.len().min(3)]);
    assert!(
        lost.is_empty(),
        "what may be done twice is done again by the client: {count} were not: {shown:?}"
    );
    let runs = work.charged();
    let (mut done, mut unknown) = (0, 0);
    for (call, outcome) in &charges {
        let count = runs.get(call).copied().unwrap_or_default();
        match outcome {
            Ok(()) => assert_eq!(count, 1, "call {call} was answered"),
            Err(Error::OutcomeUnknown(_)) => assert!(count <= 1, "call {call} ran {count} times"),
            Err(other) => panic!("call {call}: {other}, ran {count} times"),
        }
        match outcome {
            Ok(()) => done += 1,
            Err(_) => unknown += 1,
        }
    }
    println!("  {} lookups done, {done} charges done, {unknown} reported as unknown", lookups.len());
    assert!(done > 0);
}

fn sessions(program: &std::path::Path) {
    let work = Work::new();
    let replicas = [Replica::start(&work), Replica::start(&work)];
    let nginx = Nginx::start(program, include_str!("legacy.conf"), &replicas);
    let mut used = HashMap::new();
    for _ in 0..12 {
        let client = client(&nginx.url(), &[ProtocolVersion::V2025_11_25]);
        let mut seen: Vec<String> = (0..5)
            .map(|_| client.call_tool("who", json!({})).expect("the session is known").text_content())
            .collect();
        seen.dedup();
        assert_eq!(seen.len(), 1, "one session, one replica");
        // Asked over the stream of the call, and answered by another request of the same session.
        let text =
            client.call_tool("deploy", json!({"environment": "test"})).expect("deployed").text_content();
        assert!(text.split(' ').all(|round| round == seen[0]), "{text}, {seen:?}");
        *used.entry(seen.remove(0)).or_insert(0) += 1;
        client.close().expect("closed");
    }
    assert_eq!(used.len(), 2, "both replicas have sessions: {used:?}");
}

/// Everything here happens within this, or not at all.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
