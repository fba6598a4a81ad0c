//! Sixty-four environments, each a child of its own: nothing leaks, nothing is mixed up, and every member can be had again.

#![cfg(target_os = "linux")]

mod support;

use serde_json::json;
use support::alone::{alone, children};
use tinymcp::trajectory::{Action, Environment, Sampler, Step, VecEnvironment};
use tinymcp::transport::ChildProcess;
use tinymcp::{Client, Result};

#[path = "../examples/env_server.rs"]
mod env_server;

const MEMBERS: usize = 64;
/// In all. An optimised build does the whole of them in a few seconds.
const STEPS: usize = if cfg!(debug_assertions) { 20_000 } else { 100_000 };

/// The server of a child: this program, started again.
#[test]
fn child() {
    if std::env::var_os("TINYMCP_ENV_SERVER").is_some() {
        env_server::main().expect("served");
    }
}

fn environment() -> Result<Environment> {
    let exe = std::env::current_exe().expect("the test binary");
    let args = ["--exact", "child", "--quiet", "--nocapture", "--test-threads=1"];
    let server = ChildProcess::new(exe).args(args).env("TINYMCP_ENV_SERVER", "1");
    Ok(Environment::new(Client::builder().open(server)?.into_caller()).end(|_, _| false))
}

fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS")).expect("a line");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

/// A line that only this member writes in this step, or a look at what there is.
fn action(sampler: &mut Sampler, member: usize, step: usize) -> Action {
    let random = sampler.random();
    match random.below(4) {
        0 => Action::new("read_file", json!({"path": "numbers.txt"})),
        1 => Action::new("run_tests", ()),
        _ => Action::new(
            "replace_line",
            json!({"line": 1 + random.below(3), "text": format!("{member} {step}")}),
        ),
    }
    .expect("an action")
}

/// What a member has seen, in one number.
fn mixed_in(seen: u64, step: &Step) -> u64 {
    let text = step.observation.text();
    text.bytes().fold(seen ^ step.reward.to_bits(), |seen, byte| {
        (seen ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Runs all members for `rounds` steps each; returns what each has seen.
fn run(all: &mut VecEnvironment, rounds: usize, half_way: impl FnOnce()) -> Vec<u64> {
    let seeds: Vec<u64> = (0..MEMBERS as u64).map(|member| member * 31).collect();
    all.reset(&seeds).expect("resets");
    let mut samplers: Vec<_> = seeds.iter().map(|seed| Sampler::new(*seed)).collect();
    let mut seen = vec![0; MEMBERS];
    let mut half_way = Some(half_way);
    for round in 0..rounds {
        if round == rounds / 2 {
            half_way.take().expect("once")();
        }
        let actions: Vec<_> =
            samplers.iter_mut().enumerate().map(|(member, sampler)| action(sampler, member, round)).collect();
        let lines: Vec<_> =
            actions.iter().map(|action| action.arguments.to_value()["text"].clone()).collect();
        for done in all.step(actions).expect("steps") {
            let step = done.outcome.expect("a step");
            if let Some(line) = lines[done.index].as_str() {
                assert!(step.observation.text().lines().any(|has| has == line), "{}: {step:?}", done.index);
            }
            seen[done.index] = mixed_in(seen[done.index], &step);
        }
    }
    seen
}

#[test]
fn many_steps_of_many_members() {
    let _alone = alone();
    let mut all = VecEnvironment::new(MEMBERS, |_| environment()).expect("starts");
    let rounds = STEPS / MEMBERS + 1;
    let mut before = 0;
    let first = run(&mut all, rounds, || before = resident_kib());
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < 2_000, "{grown} KiB more after {STEPS} steps");
    assert_eq!(children().len(), MEMBERS);
    // Every member again, for a part of the way and in new processes.
    drop(all);
    let mut again = VecEnvironment::new(MEMBERS, |_| environment()).expect("starts");
    let part = run(&mut again, 20, || {});
    drop(again);
    let mut third = VecEnvironment::new(MEMBERS, |_| environment()).expect("starts");
    assert_eq!(part, run(&mut third, 20, || {}));
    assert_eq!(first.len(), MEMBERS);
}
