//! The processes of environments: one that is killed is started again alone, and nothing is left in the end.

#![cfg(target_os = "linux")]

#[path = "support/members.rs"]
mod members;
mod support;

use std::process::Command;

use members::{action, environment, mixed_in, processes};
use support::alone::{alone, children, is_alive};
use support::peers::eventually;
use tinymcp::trajectory::{
    Action, Arrived, EventKind, Observation, Sampler, Sink, Step, Trajectories, VecEnvironment,
};

const MEMBERS: usize = 6;
const VICTIM: usize = 4;

#[test]
fn child() {
    members::child();
}

fn kill(process: &str) {
    let status = Command::new("kill").args(["-KILL", process]).status().expect("kill runs");
    assert!(status.success());
    eventually("it is dead", || !is_alive(process));
}

fn numbers() -> Action {
    Action::new("read_file", serde_json::json!({"path": "numbers.txt"})).expect("an action")
}

/// All of them read the numbers of their episodes.
fn round(all: &mut VecEnvironment) -> Vec<Step> {
    let done = all.step(vec![numbers(); MEMBERS]).expect("steps");
    done.into_iter().map(|member| member.outcome.expect("a step")).collect()
}

fn reset(all: &mut VecEnvironment) {
    let seen: Vec<Observation> = all.reset(&[9; MEMBERS]).expect("resets");
    assert!(seen.iter().all(|seen| seen.text().contains("report.txt")));
}

#[test]
fn one_that_is_killed_is_started_again_alone() {
    let _alone = alone();
    let sink = Sink::memory();
    let to = sink.clone();
    let mut all = VecEnvironment::new(MEMBERS, move |member| environment(member, Some(&to))).expect("starts");
    reset(&mut all);
    let first = round(&mut all);
    let before = processes();
    kill(&before[&VICTIM]);

    let steps = round(&mut all);
    for (member, step) in steps.iter().enumerate() {
        if member == VICTIM {
            // The step counts as broken off, says why, and a new episode of the same seed has begun.
            assert!(step.truncated && !step.terminated && step.observation.is_error, "{step:?}");
            assert!(step.info.problem.is_some());
            assert!(step.next.as_ref().is_some_and(|next| next.text().contains("report.txt")));
        } else {
            assert_eq!((step.is_last(), step.info.steps, step.next.is_some()), (false, 2, false));
            assert_eq!(step.observation.text(), first[member].observation.text());
        }
    }
    let after = processes();
    assert_eq!(after.len(), MEMBERS);
    for member in 0..MEMBERS {
        assert_eq!(before[&member] == after[&member], member != VICTIM, "{member}");
    }
    let steps = round(&mut all);
    assert_eq!(steps[VICTIM].info.steps, 1);
    assert_eq!(
        steps[VICTIM].observation.text(),
        first[VICTIM].observation.text(),
        "the same seed, the same numbers"
    );
    assert_eq!(steps[0].info.steps, 3);

    // Killed while nothing is under way: the reset starts it again and nobody sees a failure.
    kill(&after[&VICTIM]);
    reset(&mut all);
    assert!(round(&mut all).iter().all(|step| step.info.steps == 1 && !step.is_last()));
    drop(all);

    // Each episode of the victim is a trajectory, and the one that was broken off says so.
    let read =
        Trajectories::new(&sink.contents()[..]).collect::<std::io::Result<Vec<_>>>().expect("a recording");
    let of_victim: Vec<_> = read.iter().filter(|one| one.metadata().get("member") == Some(VICTIM)).collect();
    let failed = |one: &&&tinymcp::trajectory::Trajectory| {
        one.events().iter().any(|event| matches!(&event.kind, EventKind::Step(step) if step.error.is_some()))
    };
    assert_eq!(of_victim.iter().filter(failed).count(), 1);
    assert_eq!(read.iter().filter(|one| failed(&one)).count(), 1);
}

/// A killed member has no part in what the others see, however they are stepped.
#[test]
fn the_others_see_what_they_see_without_it() {
    const STEPS: usize = 60;
    let _alone = alone();
    let run = |killed: bool| {
        let mut all = VecEnvironment::new(MEMBERS, |member| environment(member, None)).expect("starts");
        let seeds: Vec<u64> = (0..MEMBERS as u64).collect();
        all.reset(&seeds).expect("resets");
        let mut samplers: Vec<_> = seeds.iter().map(|seed| Sampler::new(*seed)).collect();
        let (mut seen, mut made) = (vec![0; MEMBERS], vec![0; MEMBERS]);
        for (index, sampler) in samplers.iter_mut().enumerate() {
            all.send(index, action(sampler, index, 0)).expect("sent");
        }
        while let Some(member) = all.receive() {
            let index = member.index;
            let Arrived::Step(step) = member.outcome.expect("a step") else { panic!("not asked for") };
            seen[index] = mixed_in(seen[index], &step.observation.text(), step.reward);
            made[index] += 1;
            if killed && index == VICTIM && made[index] == STEPS / 2 {
                kill(&processes()[&VICTIM]);
            }
            if made[index] < STEPS {
                all.send(index, action(&mut samplers[index], index, made[index])).expect("sent");
            }
        }
        seen.remove(VICTIM);
        seen
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn a_drop_in_the_middle_leaves_no_child() {
    let _alone = alone();
    let mut all = VecEnvironment::new(MEMBERS, |member| environment(member, None)).expect("starts");
    reset(&mut all);
    assert_eq!(children().len(), MEMBERS);
    for index in 0..MEMBERS {
        all.send(index, numbers()).expect("sent");
    }
    drop(all);
    assert_eq!(children().len(), 0);
    // And one of which a member cannot be had.
    let mut some = VecEnvironment::new(MEMBERS, |member| match member {
        VICTIM => Err(tinymcp::Error::InvalidUse("not this one".into())),
        _ => environment(member, None),
    })
    .expect("starts");
    let error = some.reset(&[1; MEMBERS]).expect_err("one cannot be had");
    assert!(error.to_string().contains("not this one"), "{error}");
    drop(some);
    assert_eq!(children().len(), 0);
}
