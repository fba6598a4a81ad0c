//! [`Selection`]: which trajectories are wanted.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::model::Trajectory;

type Test = Arc<dyn Fn(&Trajectory) -> bool + Send + Sync>;

/// Which trajectories are wanted: those that pass everything that was asked for.
///
/// ```
/// use tinymcp::trajectory::{Selection, Trajectory};
///
/// let short_and_good = Selection::new().success(true).calls(0..=20).with(|t| !t.task_description().is_empty());
/// let mut trajectory = Trajectory::new("Tidy up");
/// assert!(!short_and_good.takes(&trajectory)); // nobody said that it was a success
/// trajectory.set_success(true);
/// assert!(short_and_good.takes(&trajectory));
/// ```
#[derive(Clone, Default)]
pub struct Selection {
    tests: Vec<Test>,
}

impl Selection {
    /// Everything is wanted so far.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Those that pass a test of your own.
    #[must_use]
    pub fn with(mut self, test: impl Fn(&Trajectory) -> bool + Send + Sync + 'static) -> Self {
        self.tests.push(Arc::new(test));
        self
    }

    /// Those of which this was said.
    #[must_use]
    pub fn success(self, success: bool) -> Self {
        self.with(move |trajectory| trajectory.success() == Some(success))
    }

    /// Those whose [total reward](Trajectory::total_reward) is at least this.
    #[must_use]
    pub fn min_reward(self, reward: f64) -> Self {
        self.with(move |trajectory| trajectory.total_reward().is_some_and(|total| total >= reward))
    }

    /// Those whose [total reward](Trajectory::total_reward) is at most this.
    #[must_use]
    pub fn max_reward(self, reward: f64) -> Self {
        self.with(move |trajectory| trajectory.total_reward().is_some_and(|total| total <= reward))
    }

    /// Those that called this tool.
    #[must_use]
    pub fn tool(self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.with(move |trajectory| trajectory.tool_calls().any(|call| call.tool == name))
    }

    /// Those that did not call this tool.
    #[must_use]
    pub fn without_tool(self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.with(move |trajectory| trajectory.tool_calls().all(|call| call.tool != name))
    }

    /// Those with so many calls.
    #[must_use]
    pub fn calls(self, number: RangeInclusive<usize>) -> Self {
        self.with(move |trajectory| number.contains(&trajectory.tool_calls().count()))
    }

    /// Those that are [all there](Trajectory::is_complete).
    #[must_use]
    pub fn complete(self) -> Self {
        self.with(Trajectory::is_complete)
    }

    /// Those without a call that failed.
    #[must_use]
    pub fn without_errors(self) -> Self {
        self.with(|trajectory| trajectory.tool_calls().all(|call| !call.is_error))
    }

    /// Whether `trajectory` passes everything.
    #[must_use]
    pub fn takes(&self, trajectory: &Trajectory) -> bool {
        self.tests.iter().all(|test| test(trajectory))
    }
}

impl fmt::Debug for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selection").field("tests", &self.tests.len()).finish()
    }
}
