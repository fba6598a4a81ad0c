//! [`RerunReport`]: what came out differently.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::difference::{Difference, shown};
use super::script::Recorded;
use crate::trajectory::failure::RecordedError;

/// So many differences of one result are kept.
pub(super) const MAX_DIFFERENCES: usize = 20;

/// What came out when a trajectory was run again. Its text tells all differences, a line each.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RerunReport {
    /// The requests, in the order in which they began.
    pub requests: Vec<Rerun>,
    /// How the tools that were offered differ, if it is recorded which those were.
    pub tools: ToolsThen,
}

/// A request that was made again, or why it was not.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rerun {
    /// The place of its event in the trajectory.
    pub seq: u64,
    /// `tools/call`, `resources/read` or `prompts/get`.
    pub method: &'static str,
    /// The tool, the prompt, or the address of the resource.
    pub name: String,
    /// How it came out.
    pub outcome: RerunOutcome,
    /// How long it took when it was recorded.
    pub recorded: Duration,
    /// How long it took now; `None` if it was not made.
    pub took: Option<Duration>,
}

/// How a request came out that was made again.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RerunOutcome {
    /// As it was recorded, but for what is ignored.
    Equal,
    /// Another result, or another error: the first 20 places where they differ.
    Different(Vec<Difference>),
    /// There was a result, and now there is an error.
    FailsNow(RecordedError),
    /// There was this error, and now there is a result.
    WorksNow(RecordedError),
    /// It was not made, for this reason.
    NotRun(String),
}

/// How the tools differ that were offered then and now. A tool that is in neither list is the same.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolsThen {
    /// Those that are gone.
    pub only_recorded: Vec<String>,
    /// Those that are new.
    pub only_now: Vec<String>,
    /// Those that are described otherwise, and where.
    pub changed: BTreeMap<String, Vec<Difference>>,
    /// Why they could not be listed now.
    pub error: Option<RecordedError>,
}

impl RerunOutcome {
    /// Whether it came out otherwise than recorded. What was not run did not.
    #[must_use]
    pub fn is_different(&self) -> bool {
        !matches!(self, Self::Equal | Self::NotRun(_))
    }
}

impl ToolsThen {
    /// Whether they are the same.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        *self == Self::default()
    }
}

impl Rerun {
    pub(super) fn new(recorded: &Recorded, outcome: RerunOutcome) -> Self {
        Self {
            seq: recorded.seq,
            method: recorded.kind.method(),
            name: recorded.name.clone(),
            outcome,
            recorded: Duration::from_nanos(recorded.duration_ns),
            took: None,
        }
    }
}

impl RerunReport {
    /// Whether every request was made and came out as it was recorded, and the same tools are offered.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.tools.is_equal() && self.equal() == self.requests.len()
    }

    /// How many requests came out as they were recorded.
    #[must_use]
    pub fn equal(&self) -> usize {
        self.requests.iter().filter(|one| one.outcome == RerunOutcome::Equal).count()
    }

    /// How many came out differently.
    #[must_use]
    pub fn different(&self) -> usize {
        self.requests.iter().filter(|one| one.outcome.is_different()).count()
    }

    /// How many were not made.
    #[must_use]
    pub fn not_run(&self) -> usize {
        self.requests.iter().filter(|one| matches!(one.outcome, RerunOutcome::NotRun(_))).count()
    }
}

impl fmt::Display for RerunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (equal, different, not_run) = (self.equal(), self.different(), self.not_run());
        write!(f, "{equal} as recorded, {different} different, {not_run} not run")?;
        self.tools.fmt(f)?;
        for one in &self.requests {
            let mut line =
                |text: &dyn fmt::Display| write!(f, "\nevent {}, {}: {text}", one.seq, shown(&one.name));
            match &one.outcome {
                RerunOutcome::Equal => {}
                RerunOutcome::Different(found) => found.iter().try_for_each(|one| line(one))?,
                RerunOutcome::FailsNow(error) => line(&format_args!("fails now: {}", shown(&error.message)))?,
                RerunOutcome::WorksNow(error) => {
                    line(&format_args!("works now, and failed then: {}", shown(&error.message)))?;
                }
                RerunOutcome::NotRun(why) => line(&format_args!("not run: {}", shown(why)))?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for ToolsThen {
    /// A line for each difference, with a line break before it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for gone in &self.only_recorded {
            write!(f, "\ntool {}: only recorded", shown(gone))?;
        }
        for new in &self.only_now {
            write!(f, "\ntool {}: only offered now", shown(new))?;
        }
        for (name, found) in &self.changed {
            found.iter().try_for_each(|one| write!(f, "\ntool {}: {one}", shown(name)))?;
        }
        match &self.error {
            Some(error) => write!(f, "\ntools cannot be listed now: {}", shown(&error.message)),
            None => Ok(()),
        }
    }
}
