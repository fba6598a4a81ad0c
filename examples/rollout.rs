//! Collects episodes of the editing task of `env_server`: a policy plays them in many environments at once, they are recorded, and
//! those that succeeded become training examples. This program starts itself as the server of each environment.
//!
//! ```text
//! $ cargo run --example rollout --features trajectory -- --output played
//! 20 episodes of policy scripted, seed 0, in 8 environments: 122 steps in 0.1 s
//!
//! tool                 calls   errors      mean       p50       p95
//! read_file               20        0   1.38 ms   0.91 ms   2.85 ms
//! replace_line            71        0   0.76 ms   0.66 ms   1.29 ms
//! run_tests               31        0   0.86 ms   0.75 ms   1.85 ms
//! all                    122        0
//!
//! success rate 100.0 %, total reward 20.00, mean 1.00
//!
//! played/episodes.jsonl: 20 trajectories
//! played/train.jsonl: 20 training examples
//! ```
//!
//! `--policy random` calls any tool with arguments that its schema allows, and hardly ever succeeds. The episodes depend on `--seed`
//! alone, however many `--environments` play them. A file that is there already is never written to.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it talks with its user")]

use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::{Duration, Instant};

use serde_json::json;
use tinymcp::Client;
use tinymcp::trajectory::{
    Action, ActionSpace, Arrived, Environment, Observation, Random, Recorder, Sampler, Selection, SftOptions,
    Sink, Statistics, Step, ToolsForm, Trajectories, VecEnvironment,
};
use tinymcp::transport::ChildProcess;

#[path = "env_server.rs"]
mod env_server;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str = "usage: rollout [--policy scripted|random] [--episodes N] [--environments N] [--max-steps N] [--seed N] [--output DIR]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match &arguments[..] {
        [serve] if serve == "serve" => env_server::main(),
        _ => match Options::of(&arguments) {
            Ok(options) => play(&options),
            Err(problem) => {
                eprintln!("rollout: {problem}\n{USAGE}");
                return ExitCode::from(2);
            }
        },
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rollout: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Options {
    policy: Kind,
    episodes: usize,
    environments: usize,
    max_steps: u64,
    seed: u64,
    output: PathBuf,
}

impl Options {
    fn of(arguments: &[String]) -> std::result::Result<Self, String> {
        let mut options = Self {
            policy: Kind::Scripted,
            episodes: 20,
            environments: 8,
            max_steps: 20,
            seed: 0,
            output: std::env::temp_dir().join(format!("tinymcp-rollout-{}", std::process::id())),
        };
        for pair in arguments.chunks(2) {
            let [name, value] = pair else {
                return Err(format!("{} is unknown or lacks its value", pair[0]));
            };
            match name.as_str() {
                "--policy" => options.policy = parsed(name, value)?,
                "--episodes" => options.episodes = parsed(name, value)?,
                "--environments" => options.environments = parsed(name, value)?,
                "--max-steps" => options.max_steps = parsed(name, value)?,
                "--seed" => options.seed = parsed(name, value)?,
                "--output" => options.output = PathBuf::from(value),
                _ => return Err(format!("{name} is unknown")),
            }
        }
        if options.environments == 0 {
            return Err("--environments 0: one at least".to_owned());
        }
        Ok(options)
    }
}

fn parsed<T: FromStr>(name: &str, value: &str) -> std::result::Result<T, String> {
    value.parse().map_err(|_| format!("{name} {value} is not understood"))
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Scripted,
    Random,
}

impl FromStr for Kind {
    type Err = ();

    fn from_str(name: &str) -> std::result::Result<Self, ()> {
        match name {
            "scripted" => Ok(Self::Scripted),
            "random" => Ok(Self::Random),
            _ => Err(()),
        }
    }
}

impl Kind {
    /// A policy for one episode, which depends on nothing but the seed of that.
    fn policy(self, seed: u64) -> Policy {
        match self {
            Self::Scripted => Policy::Scripted(Script {
                random: Random::new(seed),
                numbers: Vec::new(),
                plan: VecDeque::new(),
            }),
            Self::Random => Policy::Random(Sampler::new(seed)),
        }
    }
}

/// What decides in an episode.
enum Policy {
    Scripted(Script),
    Random(Sampler),
}

impl Policy {
    fn next(&mut self, space: &ActionSpace, seen: &Observation) -> Result<Action> {
        match self {
            Self::Scripted(script) => script.next(seen),
            Self::Random(sampler) => Ok(space.sample(sampler)?),
        }
    }
}

/// Plays well, but miscalculates now and then; the tests tell it, and it mends that.
struct Script {
    random: Random,
    numbers: Vec<i64>,
    /// The lines still to be written, each with what is put on top by mistake.
    plan: VecDeque<(usize, i64)>,
}

impl Script {
    fn next(&mut self, seen: &Observation) -> Result<Action> {
        let text = seen.text();
        if self.numbers.is_empty() {
            // What `read_file` said, or else what the reset said, which has no numbers.
            self.numbers = text.lines().map_while(|line| line.parse().ok()).collect();
            if self.numbers.is_empty() {
                let thought = "I need the numbers first.";
                return Ok(Action::new("read_file", json!({"path": "numbers.txt"}))?.in_turn(thought));
            }
            self.plan = (1..=3).map(|line| (line, i64::from(self.random.below(6) == 0))).collect();
        } else if text.contains("... FAILED") {
            // One line of it for each line of the report, in their order.
            let failed = (1..=3).filter(|at| text.contains(&format!("test {} ... FAILED", name(*at))));
            self.plan = failed.map(|line| (line, 0)).collect();
        }
        let Some((line, slip)) = self.plan.pop_front() else {
            return Ok(Action::new("run_tests", ())?.in_turn("The report is written. Is it right?"));
        };
        let value = slip + self.value(line);
        let thought = format!("Line {line} is the {}: {value}.", name(line));
        let line = json!({"line": line, "text": format!("{} = {value}", name(line))});
        Ok(Action::new("replace_line", line)?.in_turn(thought.as_str()))
    }

    fn value(&self, line: usize) -> i64 {
        let numbers = self.numbers.iter().copied();
        match line {
            1 => numbers.sum(),
            2 => numbers.min().unwrap_or_default(),
            _ => numbers.max().unwrap_or_default(),
        }
    }
}

fn name(line: usize) -> &'static str {
    ["sum", "least", "greatest"][line - 1]
}

/// Plays, and says what came of it.
fn play(options: &Options) -> Result<()> {
    fs::create_dir_all(&options.output)?;
    let (episodes, train) = (options.output.join("episodes.jsonl"), options.output.join("train.jsonl"));
    for path in [&episodes, &train] {
        // Made here, so that two programs never share one.
        File::create_new(path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let begun = Instant::now();
    let steps = collect(options, &Sink::open(&episodes)?)?;
    let took = begun.elapsed();

    let mut statistics = Statistics::new();
    for trajectory in Trajectories::open(&episodes)? {
        statistics.add(&trajectory?);
    }
    let good = Trajectories::open(&episodes)?.select(Selection::new().success(true).complete());
    let form = SftOptions::new().with_tools(ToolsForm::Text).without_empty_answer();
    let written = form.write(good, BufWriter::new(File::options().append(true).open(&train)?))?;

    println!(
        "{} episodes of policy {}, seed {}, in {} environments: {steps} steps in {:.1} s",
        statistics.trajectories(),
        format!("{:?}", options.policy).to_lowercase(),
        options.seed,
        options.environments,
        took.as_secs_f64(),
    );
    print_table(&statistics);
    println!("\n{}: {} trajectories", episodes.display(), statistics.trajectories());
    println!("{}: {} training examples", train.display(), written.examples);
    Ok(())
}

/// One environment: a server of its own, recorded.
fn environment(program: &Path, sink: &Sink, max_steps: u64) -> tinymcp::Result<Environment> {
    let server = Client::builder().open(ChildProcess::new(program).arg("serve"))?.into_caller();
    let recorder = Recorder::new(server.clone(), sink).with_server("env-server");
    Ok(Environment::new(server)
        .record(&recorder)
        .max_steps(max_steps)
        .step_time(Duration::from_secs(30))
        .success(|last| last.terminated))
}

/// The episode that a member plays.
struct Episode {
    seed: u64,
    policy: Policy,
}

/// Plays all episodes, each member the next one when it is done with its last; returns how many steps that took.
fn collect(options: &Options, sink: &Sink) -> Result<u64> {
    let mut seeds = Random::new(options.seed);
    // Fewer bits than there are, so that every reader of JSON has them exactly.
    let mut left = (0..options.episodes).map(|_| seeds.seed() >> 11);
    let (program, sink, max_steps) = (std::env::current_exe()?, sink.clone(), options.max_steps);
    let members = options.environments.min(options.episodes);
    let mut all = VecEnvironment::new(members, move |_| environment(&program, &sink, max_steps))?;

    let mut playing: HashMap<usize, Episode> = HashMap::new();
    let mut begin = |all: &mut VecEnvironment, playing: &mut HashMap<usize, Episode>, index| {
        let Some(seed) = left.next() else { return Ok(()) };
        playing.insert(index, Episode { seed, policy: options.policy.policy(seed) });
        all.send_reset(index, seed)
    };
    for index in 0..members {
        begin(&mut all, &mut playing, index)?;
    }
    let mut progress = Progress::new(options.episodes);
    while let Some(member) = all.receive() {
        let index = member.index;
        let seen = match member.outcome? {
            Arrived::Step(step) => {
                progress.step(&step);
                if let Some(problem) = broken(&step) {
                    let seed = playing[&index].seed;
                    return Err(format!(
                        "environment {index} broke in the episode of seed {seed}: {problem}"
                    )
                    .into());
                }
                if step.is_last() {
                    begin(&mut all, &mut playing, index)?;
                    continue;
                }
                step.observation
            }
            Arrived::Reset(seen) => seen,
            other => return Err(format!("not asked for: {other:?}").into()),
        };
        let space = all.action_space(index)?;
        let episode = playing.get_mut(&index).ok_or("an answer without an episode")?;
        all.send(index, episode.policy.next(&space, &seen)?)?;
    }
    Ok(progress.steps)
}

/// Why the environment had to be made anew, if it had.
fn broken(step: &Step) -> Option<&str> {
    step.next.as_ref().and(step.info.problem.as_deref())
}

/// How far it is, in one line of a terminal; elsewhere nothing.
struct Progress {
    is_shown: bool,
    begun: Instant,
    shown: Instant,
    of: usize,
    steps: u64,
    episodes: usize,
    reward: f64,
}

impl Progress {
    fn new(of: usize) -> Self {
        let now = Instant::now();
        let is_shown = io::stderr().is_terminal();
        Self { is_shown, begun: now, shown: now, of, steps: 0, episodes: 0, reward: 0.0 }
    }

    fn step(&mut self, step: &Step) {
        self.steps += 1;
        self.reward += step.reward;
        self.episodes += usize::from(step.is_last());
        let is_due = self.shown.elapsed() > Duration::from_millis(100) || self.episodes == self.of;
        if self.is_shown && is_due {
            self.shown = Instant::now();
            let rate = self.steps as f64 / self.begun.elapsed().as_secs_f64();
            eprint!(
                "\r{}/{} episodes, {rate:.0} steps/s, reward {:.2} ",
                self.episodes, self.of, self.reward
            );
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            // What follows has a line without it.
            eprint!("\r\x1b[2K");
            let _ = io::stderr().flush();
        }
    }
}

fn print_table(statistics: &Statistics) {
    let time = |time: Option<Duration>| {
        time.map_or("-".to_owned(), |time| format!("{:.2} ms", time.as_secs_f64() * 1e3))
    };
    println!("\n{:<18} {:>7} {:>8} {:>9} {:>9} {:>9}", "tool", "calls", "errors", "mean", "p50", "p95");
    for (name, tool) in statistics.tools() {
        let (calls, errors, took) = (tool.calls(), tool.errors(), tool.durations());
        let (mean, half, most) = (took.mean(), took.percentile(50.0), took.percentile(95.0));
        println!("{name:<18} {calls:>7} {errors:>8} {:>9} {:>9} {:>9}", time(mean), time(half), time(most));
    }
    println!("{:<18} {:>7} {:>8}", "all", statistics.calls(), statistics.errors());
    let rewards = statistics.rewards();
    let total = rewards.mean().unwrap_or_default() * rewards.number() as f64;
    println!(
        "\nsuccess rate {:.1} %, total reward {total:.2}, mean {:.2}",
        100.0 * statistics.success_rate().unwrap_or_default(),
        rewards.mean().unwrap_or_default(),
    );
}
