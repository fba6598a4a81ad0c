//! Replay: a recorded session as a server, or as a caller, and a trajectory run again against live servers.
//!
//! **Invariant:** what is answered is what was recorded, or an error that says that nothing was. Nothing is made up, and nothing is
//! sent anywhere.

mod caller;
mod difference;
mod ignored;
mod miss;
mod rerun;
mod rerun_report;
mod run;
mod script;
mod serve;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

pub use difference::Difference;
pub use rerun::{RerunOptions, rerun};
pub use rerun_report::{Rerun, RerunOutcome, RerunReport, ToolsThen};

use self::run::Run;
use self::script::Script;
use self::serve::Served;
use super::format::Line;
use super::lines::Lines;
use super::model::Trajectory;
use super::redaction::Redaction;
use crate::error::{Error, Result};

/// The code of the error that answers a request of which nothing was recorded.
// spec: 2026-07-28 basic/index (-32000 to -32019 are for implementations)
pub const REPLAY_MISS: i64 = -32010;

/// Which recorded answers a request may get.
///
/// In each of them a request gets an answer to the same request: the same method, the same tool, resource or prompt, and the same
/// arguments as JSON values. The order of keys makes no difference, `1` and `1.0` are two numbers, and a `_meta` does not count.
/// Everything else is a miss: the error [`REPLAY_MISS`], whose text and data name what came, what was expected, the nearest recorded
/// request and where it differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplayOrder {
    /// Each answer once, in the order in which the requests began. Requests that were under way side by side may come in any
    /// order. After a miss the same request is still expected.
    #[default]
    Strict,
    /// Each answer once, in any order: the same request made twice gets its answers in the order in which they were recorded,
    /// and then there is none left.
    EachOnce,
    /// Like [`EachOnce`](Self::EachOnce), but the last answer to a request is given for ever after.
    Lookup,
}

/// A recorded session that answers as it did.
///
/// It is a [`Caller`](crate::client::Caller), for programs that are written for one, and it makes a [`Server`](crate::Server), for
/// everything else. Clones, and all servers made of one, share what has been answered so far.
///
/// | | |
/// |---|---|
/// | lists | As they were offered, in strict order each from the place in the session where it was first seen to change; otherwise everything that was offered at any time. What nobody listed is made up from what was asked for. |
/// | results | Exactly as they were recorded: every kind of content, numbers of any size. What a client's revision lacks is left out by the server, as for any other. |
/// | errors | The server's own with their code and data. Others, such as a time-out, which no server can answer, become an error that names them. |
/// | notices | In strict order, at their places. |
/// | questions | Not asked again: the result that came after them is the answer. |
/// | durations | None, unless [`with_durations`](Self::with_durations) asks for them. |
///
/// ```
/// use serde_json::json;
/// use tinymcp::protocol::CallToolResult;
/// use tinymcp::testing;
/// use tinymcp::trajectory::{Replay, ToolCallRecord, Trajectory};
///
/// let mut recorded = Trajectory::new("What is 2^53 + 1?");
/// let result = CallToolResult::structured(&9_007_199_254_740_993_u64)?;
/// recorded.push(ToolCallRecord::new("power", json!({"base": 2, "exponent": 53, "plus": 1})).with_result(result.clone()));
///
/// let replay = Replay::of(&recorded);
/// let client = testing::pair(&replay.server()?)?;
/// let miss = client.call_tool("power", json!({"base": 2, "exponent": 54, "plus": 1})).unwrap_err();
/// assert!(miss.to_string().contains("at /exponent: recorded 53, now 54"), "{miss}");
/// let answer = client.call_tool("power", json!({"plus": 1, "exponent": 53, "base": 2}))?;
/// assert_eq!(answer.structured_content, result.structured_content);
/// assert_eq!((replay.left(), replay.missed()), (0, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Replay {
    run: Arc<Run>,
    served: Arc<Served>,
    settings: Settings,
}

#[derive(Clone, Debug, Default)]
struct Settings {
    order: ReplayOrder,
    redaction: Redaction,
    /// By how much the recorded durations are multiplied; 0 is not at all.
    durations: f64,
}

impl Replay {
    /// What happened in a trajectory.
    #[must_use]
    pub fn of(trajectory: &Trajectory) -> Self {
        Self::of_all([trajectory])
    }

    /// What happened in several trajectories, one after the other.
    #[must_use]
    pub fn of_all<'a>(trajectories: impl IntoIterator<Item = &'a Trajectory>) -> Self {
        let mut script = Script::default();
        for trajectory in trajectories {
            script.add(trajectory.events(), |key| trajectory.definitions(key));
        }
        script.complete();
        Self::begin(Arc::new(script), Settings::default())
    }

    /// What the lines of a recording tell, a trajectory after the other.
    #[must_use]
    pub fn of_lines(lines: impl IntoIterator<Item = Line>) -> Self {
        Self::begin(Arc::new(Script::of_lines(lines)), Settings::default())
    }

    /// What a recording tells, a trajectory after the other. All of it is held in memory.
    ///
    /// # Errors
    /// As [`Lines`].
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let lines = Lines::open(path)?.map(|read| read.map(|read| read.line));
        Ok(Self::of_lines(lines.collect::<io::Result<Vec<_>>>()?))
    }

    fn begin(script: Arc<Script>, settings: Settings) -> Self {
        let run = Arc::new(Run::new(script, settings.order, settings.redaction.clone()));
        let served = Arc::new(Served::new(&run));
        Self { run, served, settings }
    }

    /// The same from the beginning: nothing has been answered.
    #[must_use]
    pub fn again(&self) -> Self {
        Self::begin(Arc::clone(self.run.script()), self.settings.clone())
    }

    /// Which answers a request may get. Begins anew, as every setting does.
    #[must_use]
    pub fn with_order(self, order: ReplayOrder) -> Self {
        Self::begin(Arc::clone(self.run.script()), Settings { order, ..self.settings })
    }

    /// Compares requests after `redaction`, with which the session was recorded: a secret that was kept out of the recording
    /// matches whatever stands in its place now. Misses do not show it either.
    #[must_use]
    pub fn with_redaction(self, redaction: Redaction) -> Self {
        Self::begin(Arc::clone(self.run.script()), Settings { redaction, ..self.settings })
    }

    /// Answers after as long as it took, times `factor`: 1 is as it was, 0 at once. A call that is cancelled ends at once.
    #[must_use]
    pub fn with_durations(self, factor: f64) -> Self {
        let durations = if factor.is_finite() { factor.max(0.0) } else { 0.0 };
        Self::begin(Arc::clone(self.run.script()), Settings { durations, ..self.settings })
    }

    /// How many recorded answers have not been given.
    #[must_use]
    pub fn left(&self) -> usize {
        self.run.left()
    }

    /// How many requests came of which nothing was recorded.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.run.missed()
    }

    /// What was said about the first 100 of them.
    #[must_use]
    pub fn misses(&self) -> Vec<String> {
        self.run.misses()
    }

    /// Whether the session went as it was recorded: every answer was given, and nothing else was asked for.
    ///
    /// # Errors
    /// [`Error::InvalidUse`] with what was missed and what is left.
    pub fn finish(&self) -> Result<()> {
        let mut problems = Vec::new();
        if let Some(first) = self.misses().first() {
            problems.push(format!("{} requests were not recorded, the first: {first}", self.missed()));
        }
        if let Some(first) = self.run.first_left() {
            problems.push(format!("{} recorded requests did not come, the first: {first}", self.left()));
        }
        if problems.is_empty() { Ok(()) } else { Err(Error::InvalidUse(problems.join("; "))) }
    }
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay")
            .field("order", &self.settings.order)
            .field("left", &self.left())
            .field("missed", &self.missed())
            .finish_non_exhaustive()
    }
}
