//! The example that collects episodes: what it writes is read back, and the same seed gives the same episodes.

#[path = "support/places.rs"]
mod places;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use places::Place;
use serde_json::Value;
use tinymcp::trajectory::{EventKind, Trajectories, Trajectory};

/// Beside this test, where cargo builds examples.
fn program() -> PathBuf {
    let mut path = std::env::current_exe().expect("a path");
    path.pop();
    path.pop();
    path.join("examples").join(format!("rollout{}", std::env::consts::EXE_SUFFIX))
}

fn run(options: &str, output: &Path) -> Output {
    let options = options.split_whitespace();
    Command::new(program()).args(options).arg("--output").arg(output).output().expect("the example was built")
}

/// One that ends well; returns what it printed.
fn played(options: &str, output: &Path) -> String {
    let ended = run(options, output);
    let said = String::from_utf8(ended.stderr).expect("text");
    assert!(ended.status.success(), "{said}");
    // No progress where there is no terminal.
    assert_eq!(said, "");
    String::from_utf8(ended.stdout).expect("text")
}

fn read(output: &Path) -> Vec<Trajectory> {
    let mut file = Trajectories::open(output.join("episodes.jsonl")).expect("a recording");
    let all = file.by_ref().collect::<std::io::Result<_>>().expect("trajectories");
    assert_eq!((file.broken(), file.is_torn()), (0, false));
    all
}

fn examples(output: &Path) -> Vec<Value> {
    let text = fs::read_to_string(output.join("train.jsonl")).expect("a file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// What was done and seen in each episode, by its seed; without ids and times.
fn episodes(output: &Path) -> BTreeMap<u64, Vec<String>> {
    let told = |trajectory: Trajectory| {
        let seed = trajectory.metadata().get::<u64>("seed").expect("a seed");
        let told = trajectory.events().iter().filter_map(|event| match &event.kind {
            EventKind::Call(call) => {
                Some(format!("{} {} {:?}", call.tool, call.arguments.as_str(), call.result))
            }
            EventKind::Step(step) => Some(format!("{} {:?} {:?}", step.step, step.reward, step.terminated)),
            EventKind::Message(message) => Some(format!("{message:?}")),
            EventKind::Turn(turn) => Some(format!("{turn:?}")),
            EventKind::Done(done) => Some(format!("{done:?}")),
            _ => None,
        });
        (seed, told.collect())
    };
    read(output).into_iter().map(told).collect()
}

/// The number in column `at` of the row that begins with `name`.
fn number(printed: &str, name: &str, at: usize) -> u64 {
    let row = printed.lines().find(|line| line.split_whitespace().next() == Some(name));
    let row = row.unwrap_or_else(|| panic!("no {name}: {printed}"));
    row.split_whitespace().nth(at).and_then(|number| number.parse().ok()).expect("a number")
}

#[test]
fn scripted_episodes_are_recorded_and_become_training_examples() {
    let place = Place::new();
    let output = place.path().join("new").join("scripted");
    let printed = played("--policy scripted --episodes 12 --environments 3 --seed 5", &output);
    let all = read(&output);
    assert_eq!(all.len(), 12);
    let mut calls = 0;
    for one in &all {
        assert!(one.is_complete());
        assert_eq!(one.success(), Some(true));
        assert!(one.total_reward().is_some_and(|reward| (reward - 1.0).abs() < 1e-9));
        assert!(one.metadata().get::<u64>("member").is_some());
        calls += one.tool_calls().count() as u64;
    }
    assert_eq!(number(&printed, "all", 1), calls);
    assert_eq!((number(&printed, "read_file", 1), number(&printed, "read_file", 2)), (12, 0));
    assert!(printed.contains("success rate 100.0 %, total reward 12.00, mean 1.00"), "{printed}");

    let examples = examples(&output);
    assert_eq!(examples.len(), 12);
    for example in &examples {
        let messages = example["messages"].as_array().expect("messages");
        assert_eq!(
            (messages[0]["role"].as_str(), messages[1]["role"].as_str()),
            (Some("system"), Some("user"))
        );
        assert!(messages[1]["content"].as_str().is_some_and(|task| task.contains("report.txt")));
        let mut asked = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
        let first = asked.next().expect("a call");
        assert_eq!(first["function"]["name"], "read_file");
        assert_eq!(first["function"]["arguments"], r#"{"path": "numbers.txt"}"#);
        assert!(asked.all(|call| call["function"]["name"] != "reset_environment"));
        assert_eq!(messages.last().expect("one")["role"], "tool");
        assert_eq!(example["metadata"]["success"], true);
    }
}

#[test]
fn the_same_seed_gives_the_same_episodes_however_many_environments_play_them() {
    let place = Place::new();
    for policy in ["scripted", "random"] {
        let mut told = Vec::new();
        for (environments, seed) in [(1, 7), (4, 7), (4, 8)] {
            let output = place.path().join(format!("{policy}-{environments}-{seed}"));
            let options = format!(
                "--policy {policy} --episodes 9 --environments {environments} --seed {seed} --max-steps 8"
            );
            played(&options, &output);
            told.push(episodes(&output));
        }
        assert_eq!(told[0].len(), 9);
        assert_eq!(told[0], told[1]);
        assert_ne!(told[1], told[2]);
    }
}

#[test]
fn random_episodes_are_cut_off_and_only_those_that_succeed_are_trained_on() {
    let place = Place::new();
    let output = place.path().join("random");
    let printed = played("--policy random --episodes 10 --environments 4 --seed 3 --max-steps 6", &output);
    let all = read(&output);
    assert_eq!(all.len(), 10);
    let good = all.iter().filter(|one| one.success() == Some(true)).count();
    for one in &all {
        let steps = one.events().iter().filter(|event| matches!(event.kind, EventKind::Step(_))).count();
        assert!(one.is_complete() && (steps == 6 || one.success() == Some(true)));
    }
    assert_eq!(examples(&output).len(), good);
    let errors =
        all.iter().flat_map(Trajectory::tool_calls).filter(|call| call.record.is_error).count() as u64;
    assert!(errors > 0);
    assert_eq!(number(&printed, "all", 2), errors);
    assert_eq!(number(&printed, "all", 1), 60, "{printed}");
}

#[test]
fn what_is_there_is_not_written_to_and_what_is_not_understood_is_refused() {
    let place = Place::new();
    fs::write(place.path().join("episodes.jsonl"), "mine").expect("written");
    let refused = run("--episodes 1", place.path());
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("episodes.jsonl"));
    assert_eq!(fs::read(place.path().join("episodes.jsonl")).expect("a file"), b"mine");
    for options in ["--policy best", "--episodes", "--environments 0", "--unknown 1"] {
        let refused = Command::new(program()).args(options.split_whitespace()).output().expect("built");
        assert_eq!(refused.status.code(), Some(2), "{options}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("usage: rollout"), "{options}");
    }
}
