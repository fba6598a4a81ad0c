//! Sixty-four environments, each a child of its own, recorded: nothing leaks, nothing is mixed up, and every member can be had again.

#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "figures are shown on demand")]

#[path = "support/members.rs"]
mod members;
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use members::{action, environment, mixed_in, processes};
use support::alone::{alone, children};
use tinymcp::trajectory::{EventKind, Sampler, Sink, Trajectories, VecEnvironment};

const MEMBERS: usize = 64;
/// In all. An optimised build does the whole of them in a few seconds.
const STEPS: usize = if cfg!(debug_assertions) { 6_400 } else { 100_000 };
/// What may be held more after the second half of the steps than after the first, here and in a child.
const MAX_GROWTH_KIB: usize = 5_000;
const MAX_GROWTH_OF_CHILD_KIB: usize = 500;

#[test]
fn child() {
    members::child();
}

/// Removed in the end.
struct File(PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn resident_kib(process: &str) -> usize {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS")).expect("a line");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

/// This process, and the children by their members.
fn held() -> (usize, BTreeMap<usize, usize>) {
    let children = processes().into_iter().map(|(member, process)| (member, resident_kib(&process)));
    (resident_kib("self"), children.collect())
}

fn seed(member: usize) -> u64 {
    member as u64 * 31
}

/// Steps all members so many times; returns what each has seen.
fn run(all: &mut VecEnvironment, rounds: usize, half_way: impl FnOnce()) -> Vec<u64> {
    let seeds: Vec<u64> = (0..MEMBERS).map(seed).collect();
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
            let text = step.observation.text();
            if let Some(line) = lines[done.index].as_str() {
                assert!(text.lines().any(|has| has == line), "{}: {step:?}", done.index);
            }
            seen[done.index] = mixed_in(seen[done.index], &text, step.reward);
        }
    }
    seen
}

/// One member by itself, as it is without the others.
fn alone_again(member: usize, rounds: usize) -> u64 {
    let mut environment = environment(member, None).expect("starts");
    environment.reset(seed(member)).expect("resets");
    let mut sampler = Sampler::new(seed(member));
    (0..rounds).fold(0, |seen, round| {
        let step = environment.step(&action(&mut sampler, member, round)).expect("a step");
        mixed_in(seen, &step.observation.text(), step.reward)
    })
}

/// What each member has seen, by the recording, in which all of it must be.
fn recorded(file: &Path, rounds: usize) -> Vec<u64> {
    let mut seen = BTreeMap::new();
    for trajectory in Trajectories::open(file).expect("a recording") {
        let trajectory = trajectory.expect("a trajectory");
        let member: usize = trajectory.metadata().get("member").expect("a member");
        assert_eq!(trajectory.metadata().get("seed"), Some(seed(member)));
        let mut results = BTreeMap::new();
        let (mut told, mut steps) = (0, 0);
        for event in trajectory.events() {
            match &event.kind {
                EventKind::Call(call) => {
                    results.insert(event.seq, call.result.as_ref().expect("a result"));
                }
                EventKind::Step(step) => {
                    let result = &results[&step.call.expect("a call")];
                    told = mixed_in(told, &result.text_content(), step.reward.expect("a reward"));
                    steps += 1;
                }
                _ => {}
            }
        }
        assert_eq!(steps, rounds);
        assert!(seen.insert(member, told).is_none(), "two trajectories of {member}");
    }
    seen.into_values().collect()
}

#[test]
fn many_steps_of_many_members() {
    let _alone = alone();
    let file =
        File(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("many-{}.jsonl", std::process::id())));
    let rounds = STEPS.div_ceil(MEMBERS);
    let sink = Sink::open(&file.0).expect("a file");
    let to = sink.clone();
    let mut all = VecEnvironment::new(MEMBERS, move |member| environment(member, Some(&to))).expect("starts");
    let mut before = (0, BTreeMap::new());
    let seen = run(&mut all, rounds, || before = held());
    let after = held();
    let grown = after.0.saturating_sub(before.0);
    println!("{grown} KiB more after {STEPS} steps, of {}", after.0);
    assert!(grown < MAX_GROWTH_KIB, "{grown} KiB more after {STEPS} steps");
    assert_eq!(after.1.len(), MEMBERS);
    for (member, held) in &after.1 {
        let grown = held.saturating_sub(before.1[member]);
        assert!(grown < MAX_GROWTH_OF_CHILD_KIB, "child {member}: {grown} KiB more");
    }
    assert_eq!(children().len(), MEMBERS);
    drop(all);
    assert_eq!(children().len(), 0);
    assert_eq!((sink.lost(), sink.refused(), sink.open_trajectories()), (0, 0, 0));

    assert_eq!(recorded(&file.0, rounds), seen);
    // A member depends on its seed alone: some by themselves for the whole of the way, all together for a part of it.
    for member in [0, 21, MEMBERS - 1] {
        assert_eq!(alone_again(member, rounds), seen[member], "{member}");
    }
    let part = || {
        let mut all = VecEnvironment::new(MEMBERS, |member| environment(member, None)).expect("starts");
        run(&mut all, 20, || {})
    };
    assert_eq!(part(), part());
}
