//! Steps per second: a `VecEnvironment` and a Python loop with the official SDK, on the same program as the server of each of 64
//! environments, with the same steps.
//!
//! ```text
//! TINYMCP_STEPS=path/to/python cargo test --release --features trajectory --test steps
//! ```
//!
//! `.ci/steps` installs what that Python needs and builds the server, `examples/env_server`. The two take turns, and the medians
//! count: ours is to be five times as fast. Without the variable ours makes a few steps, nothing is compared, and this says so.
//! The Python side is `steps.py` beside this file.

#![allow(clippy::print_stdout, reason = "this is a test harness")]

use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tinymcp::Client;
use tinymcp::trajectory::{Action, Environment, VecEnvironment};
use tinymcp::transport::ChildProcess;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const MEMBERS: usize = 64;
const ROUNDS: usize = 40;
const RUNS: usize = 5;
/// So many times as fast as the loop we are to be at least.
const WANTED: f64 = 5.0;

/// One run of either side.
struct Run {
    took: Duration,
    /// All that was seen, so that both have done the same.
    seen: u64,
    reward: f64,
    /// Processor time of the servers, and of the side itself, if it can be read.
    servers: Option<Duration>,
    own: Option<Duration>,
}

/// What a member does in a step. `steps.py` does the same.
fn action(member: usize, step: usize) -> Result<Action> {
    let action = match step % 4 {
        0 => Action::new("read_file", json!({"path": "numbers.txt"})),
        1 => {
            let text = format!("{member} {step}");
            Action::new("replace_line", json!({"line": 1 + step / 4 % 3, "text": text}))
        }
        2 => Action::new("read_file", json!({"path": "report.txt"})),
        _ => Action::new("run_tests", ()),
    };
    Ok(action?)
}

fn ours(server: &Path, members: usize, rounds: usize) -> Result<Run> {
    let server = server.to_owned();
    let mut all = VecEnvironment::new(members, move |_| {
        let client = Client::builder().open(ChildProcess::new(&server))?;
        Ok(Environment::new(client.into_caller()).end(|_, _| false))
    })?;
    all.reset(&(0..members as u64).collect::<Vec<_>>())?;
    let mut round = |number: usize| -> Result<(u64, f64)> {
        let (mut seen, mut reward) = (0, 0.0);
        let actions: Vec<_> = (0..members).map(|member| action(member, number)).collect::<Result<_>>()?;
        for done in all.step(actions)? {
            let step = done.outcome?;
            let text = step.observation.text();
            if number % 4 == 1 && !text.contains(&format!("{} {number}", done.index)) {
                return Err(format!("member {} saw {text}", done.index).into());
            }
            seen += text.len() as u64;
            reward += step.reward;
        }
        Ok((seen, reward))
    };
    // Not part of it.
    round(0)?;
    let me = std::process::id();
    let (servers, own) = (time_of_children(me), time_of(me));
    let (mut seen, mut reward) = (0, 0.0);
    let begun = Instant::now();
    for number in 0..rounds {
        let (length, rewarded) = round(number)?;
        seen += length;
        reward += rewarded;
    }
    let took = begun.elapsed();
    let (servers, own) = (since(servers, time_of_children(me)), since(own, time_of(me)));
    Ok(Run { took, seen, reward, servers, own })
}

fn theirs(python: &OsStr, server: &Path) -> Result<Run> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/steps/steps.py");
    let mut loops = Command::new(python)
        .arg(script)
        .args([MEMBERS.to_string(), ROUNDS.to_string()])
        .arg(server)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = loops.stdin.take().ok_or("no stdin")?;
    let mut lines = BufReader::new(loops.stdout.take().ok_or("no stdout")?).lines();
    let mut next = || lines.next().ok_or("steps.py has ended")?.map_err(Box::<dyn Error>::from);
    let outcome = (|| {
        let ready = next()?;
        if ready != "ready" {
            return Err(format!("steps.py said {ready}").into());
        }
        let (servers, own) = (time_of_children(loops.id()), time_of(loops.id()));
        input.write_all(b"go\n")?;
        let said: Value = serde_json::from_str(&next()?)?;
        let (servers, own) = (since(servers, time_of_children(loops.id())), since(own, time_of(loops.id())));
        let number = |name: &str| said[name].as_f64().ok_or_else(|| format!("no {name} in {said}"));
        let took = Duration::from_secs_f64(number("seconds")?);
        Ok(Run {
            took,
            seen: said["seen"].as_u64().ok_or("nothing seen")?,
            reward: number("reward")?,
            servers,
            own,
        })
    })();
    drop(input);
    let status = loops.wait()?;
    if outcome.is_ok() && !status.success() {
        return Err(format!("steps.py: {status}").into());
    }
    outcome
}

/// What the threads of a process that are alive have had of the processors.
fn time_of(process: u32) -> Option<Duration> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    threads
        .map(|thread| {
            let text = fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
        })
        .sum()
}

fn time_of_children(process: u32) -> Option<Duration> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // After the name, which may have anything in it: the state, and then the parent.
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        if parent.and_then(|parent| parent.parse().ok()) == Some(process) {
            children.push(id);
        }
    }
    if children.is_empty() { None } else { children.into_iter().map(time_of).sum() }
}

fn since(before: Option<Duration>, after: Option<Duration>) -> Option<Duration> {
    Some(after?.saturating_sub(before?))
}

/// Prints the median of a side, and returns it, in steps per second.
fn told(side: &str, runs: &[Run]) -> f64 {
    let steps = (MEMBERS * ROUNDS) as f64;
    let mut rates: Vec<f64> = runs.iter().map(|run| steps / run.took.as_secs_f64()).collect();
    rates.sort_by(f64::total_cmp);
    let per_step = |of: fn(&Run) -> Option<Duration>| {
        let mut times: Vec<Duration> = runs.iter().filter_map(of).collect();
        times.sort();
        let median = times.get(times.len() / 2).map(|time| time.as_secs_f64() * 1e6 / steps);
        median.map_or("not readable".to_owned(), |time| format!("{time:.0} us a step"))
    };
    let (median, least, most) = (rates[rates.len() / 2], rates[0], rates[rates.len() - 1]);
    println!("{side:<24} {median:>7.0} steps/s ({least:.0} to {most:.0})");
    println!(
        "{:24} CPU of the servers: {}, of the loop: {}",
        "",
        per_step(|run| run.servers),
        per_step(|run| run.own)
    );
    median
}

fn compare(python: &OsStr, server: &Path) -> Result<bool> {
    let (mut us, mut them) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        us.push(ours(server, MEMBERS, ROUNDS)?);
        them.push(theirs(python, server)?);
    }
    let first = &us[0];
    for run in us.iter().chain(&them) {
        if run.seen != first.seen || (run.reward - first.reward).abs() > 1e-6 {
            return Err("the two have not seen the same".into());
        }
    }
    println!(
        "{MEMBERS} environments, {ROUNDS} steps of each, {RUNS} runs in turns, medians; {} bytes seen",
        first.seen
    );
    let ours = told("VecEnvironment", &us);
    let times = ours / told("Python, asyncio.gather", &them);
    println!("{times:.1} times as fast, wanted {WANTED:.0}");
    Ok(times >= WANTED)
}

fn main() -> ExitCode {
    let mut server = std::env::current_exe().expect("a path");
    server.pop();
    server.pop();
    let server = server.join("examples").join(format!("env_server{}", std::env::consts::EXE_SUFFIX));
    let python = std::env::var_os("TINYMCP_STEPS").filter(|python| !python.is_empty());
    let outcome = match &python {
        Some(python) => compare(python, &server),
        None => ours(&server, 4, 8).map(|run| {
            println!("steps: no python (set TINYMCP_STEPS), nothing is compared; {} bytes seen", run.seen);
            true
        }),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("steps: {error}");
            ExitCode::FAILURE
        }
    }
}
