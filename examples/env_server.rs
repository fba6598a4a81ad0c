//! An environment for agents: a small task of editing files, with tests that pass or fail, and a reward.
//!
//! `numbers.txt` has five numbers, `report.txt` says what their sum, least and greatest are, and is wrong. The agent reads files, replaces
//! lines, and runs the tests, which reward each test that passes for the first time and end the episode when all do.
//!
//! ```text
//! $ cargo build --example env_server
//! $ cargo run --example rollout --features trajectory   # plays it, records it, writes training examples
//! ```

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use tinymcp::protocol::ResourceTemplate;
use tinymcp::{FnTemplate, ResourceRegistry, Server, ToolError, ToolRegistry, data, tool};

data! {
    /// What the tests say.
    pub struct Report {
        /// How many tests passed.
        passed: u32,
        /// How many did not.
        failed: u32,
        /// For what passed for the first time: all of them together are 1.
        reward: f64,
        /// All pass.
        terminated: bool,
        /// A line for each test.
        output: String,
    }
}

/// The names of the lines of the report, and what they should say.
type Rule = (&'static str, fn(&[i64]) -> i64);

const RULES: [Rule; 3] = [
    ("sum", |numbers| numbers.iter().sum()),
    ("least", |numbers| numbers.iter().copied().min().unwrap_or_default()),
    ("greatest", |numbers| numbers.iter().copied().max().unwrap_or_default()),
];

/// The files of one episode.
#[derive(Default)]
struct Workspace {
    numbers: Vec<i64>,
    report: Vec<String>,
    /// Which tests have passed before.
    passed: [bool; RULES.len()],
}

impl Workspace {
    /// The beginning that belongs to a seed.
    fn new(seed: u64) -> Self {
        // Any mixing will do, as long as it stays the same.
        let mut state = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            i64::try_from(state >> 33).unwrap_or_default() % 20
        };
        let numbers: Vec<i64> = (0..5).map(|_| next()).collect();
        let report = RULES.iter().map(|(name, _)| format!("{name} = ?")).collect();
        Self { numbers, report, passed: [false; RULES.len()] }
    }

    fn file(&self, path: &str) -> Option<String> {
        match path {
            "numbers.txt" => Some(self.numbers.iter().map(|number| format!("{number}\n")).collect()),
            "report.txt" => Some(self.report.iter().map(|line| format!("{line}\n")).collect()),
            _ => None,
        }
    }

    fn test(&mut self) -> Report {
        let mut report =
            Report { passed: 0, failed: 0, reward: 0.0, terminated: false, output: String::new() };
        for (index, (name, value)) in RULES.iter().enumerate() {
            let wanted = format!("{name} = {}", value(&self.numbers));
            let passes = self.report.iter().any(|line| line.trim() == wanted);
            let verdict = if passes { "ok" } else { "FAILED" };
            report.output += &format!("test {name} ... {verdict}\n");
            if !passes {
                report.failed += 1;
                continue;
            }
            report.passed += 1;
            if !std::mem::replace(&mut self.passed[index], true) {
                report.reward += 1.0 / RULES.len() as f64;
            }
        }
        report.terminated = report.failed == 0;
        report
    }
}

type Shared = Arc<Mutex<Workspace>>;

fn with<T>(shared: &Shared, work: impl FnOnce(&mut Workspace) -> T) -> T {
    work(&mut shared.lock().unwrap_or_else(PoisonError::into_inner))
}

fn no_file(path: &str) -> ToolError {
    ToolError::new(format!("path: there is no file {path:?}, but numbers.txt and report.txt"))
}

/// The server, with a workspace of its own.
pub(crate) fn server() -> Result<Server, Box<dyn Error>> {
    let shared = Shared::new(Mutex::new(Workspace::new(0)));
    let tools = ToolRegistry::new();
    let state = Arc::clone(&shared);
    tools.register(tool! {
        /// Begin anew: the same seed, the same files
        fn reset_environment(seed: u64 = 0) -> &'static str {
            with(&state, |workspace| *workspace = Workspace::new(seed));
            "Make report.txt say what is true of the numbers in numbers.txt, so that all tests pass."
        }
    })?;
    let state = Arc::clone(&shared);
    tools.register(
        tool! {
            /// Read a file, numbers.txt or report.txt
            fn read_file(path: String) -> Result<String, ToolError> {
                with(&state, |workspace| workspace.file(&path)).ok_or_else(|| no_file(&path))
            }
        }
        .read_only(),
    )?;
    let state = Arc::clone(&shared);
    tools.register(tool! {
        /// Replace a line of report.txt
        fn replace_line(
            /// Counted from 1
            line: usize,
            text: String,
        ) -> Result<String, ToolError> {
            with(&state, |workspace| {
                let lines = workspace.report.len();
                let place = line.checked_sub(1).and_then(|at| workspace.report.get_mut(at));
                let place = place.ok_or_else(|| ToolError::new(format!("line: the file has lines 1 to {lines}")))?;
                *place = text.lines().next().unwrap_or_default().to_owned();
                Ok(workspace.file("report.txt").unwrap_or_default())
            })
        }
    })?;
    let state = Arc::clone(&shared);
    tools.register(tool! {
        /// Run the tests of report.txt
        fn run_tests() -> Report { with(&state, Workspace::test) }
    })?;
    let template = ResourceTemplate::new("env://{path}", "file");
    let files = FnTemplate::new(template, move |variables, _| {
        let path = variables.get("path")?;
        with(&shared, |workspace| workspace.file(path))
    });
    let resources = ResourceRegistry::new();
    resources.register_template(files)?;
    Ok(Server::builder("env-server", "1.0.0").tools(tools).resources(resources).build()?)
}

/// Serves it on stdin and stdout.
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    tinymcp::logging::init();
    server()?.start()?;
    Ok(())
}
