//! [`Statistics`]: how many calls, how long, how many errors, how good.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::event::{EventKind, ToolCallRecord};
use super::model::Trajectory;

/// So many tools are counted by their names; others together, under [`OTHERS`].
const MAX_TOOLS: usize = 1000;

/// The name under which tools are counted together when there are too many.
pub const OTHERS: &str = "(others)";

/// Figures of any number of trajectories, in memory that does not grow with it.
///
/// `Display` writes them as a table.
///
/// ```
/// use serde_json::json;
/// use std::time::Duration;
/// use tinymcp::trajectory::{Statistics, ToolCallRecord, Trajectory};
///
/// let mut statistics = Statistics::new();
/// for n in 1..=100 {
///     let mut trajectory = Trajectory::new("wait");
///     trajectory.push(ToolCallRecord::new("wait", json!({})).with_duration(Duration::from_millis(n)));
///     trajectory.set_success(n > 25);
///     statistics.add(&trajectory);
/// }
/// assert_eq!(statistics.success_rate(), Some(0.75));
/// let wait = &statistics.tools()["wait"];
/// assert_eq!((wait.calls(), wait.durations().max()), (100, Some(Duration::from_millis(100))));
/// let median = wait.durations().percentile(50.0).expect("some");
/// assert!(median.abs_diff(Duration::from_millis(50)) < Duration::from_millis(2));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    trajectories: u64,
    successes: u64,
    failures: u64,
    rewards: Spread,
    lengths: Spread,
    calls: u64,
    errors: u64,
    tools: BTreeMap<String, ToolStatistics>,
}

/// Figures of one tool.
#[derive(Clone, Debug, Default)]
pub struct ToolStatistics {
    calls: u64,
    errors: u64,
    durations: Durations,
}

/// Number, sum and limits of some values.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spread {
    number: u64,
    sum: f64,
    min: f64,
    max: f64,
}

impl Spread {
    fn add(&mut self, value: f64) {
        (self.min, self.max) = match self.number {
            0 => (value, value),
            _ => (self.min.min(value), self.max.max(value)),
        };
        self.number += 1;
        self.sum += value;
    }

    fn merge(&mut self, other: &Self) {
        if other.number > 0 {
            (self.min, self.max) = match self.number {
                0 => (other.min, other.max),
                _ => (self.min.min(other.min), self.max.max(other.max)),
            };
            self.number += other.number;
            self.sum += other.sum;
        }
    }

    /// How many there are.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Their mean, if there are any.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a mean is not exact")]
    pub fn mean(&self) -> Option<f64> {
        (self.number > 0).then(|| self.sum / self.number as f64)
    }

    /// The least, if there are any.
    #[must_use]
    pub fn min(&self) -> Option<f64> {
        (self.number > 0).then_some(self.min)
    }

    /// The greatest, if there are any.
    #[must_use]
    pub fn max(&self) -> Option<f64> {
        (self.number > 0).then_some(self.max)
    }
}

/// Each power of two is parted into so many classes: a percentile is off by less than 1 part in 32.
const PARTS: u32 = 32;

/// Durations: mean and limits exact, percentiles to 3 %, in 15 kB whatever their number.
#[derive(Clone, Default)]
pub struct Durations {
    number: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
    /// How many there are in each class; made with the first one.
    classes: Vec<u64>,
}

impl Durations {
    fn add(&mut self, ns: u64) {
        if self.number == 0 {
            self.min_ns = ns;
            self.classes = vec![0; class(u64::MAX) + 1];
        }
        self.number += 1;
        self.sum_ns += u128::from(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.classes[class(ns)] += 1;
    }

    fn merge(&mut self, other: &Self) {
        if other.number == 0 {
            return;
        }
        if self.number == 0 {
            *self = other.clone();
            return;
        }
        self.number += other.number;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        for (mine, others) in self.classes.iter_mut().zip(&other.classes) {
            *mine += others;
        }
    }

    /// How many there are.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Their mean, if there are any.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.sum_ns.checked_div(u128::from(self.number))?;
        // No more than the greatest, which is one.
        Some(Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)))
    }

    /// The shortest, if there are any.
    #[must_use]
    pub fn min(&self) -> Option<Duration> {
        (self.number > 0).then(|| Duration::from_nanos(self.min_ns))
    }

    /// The longest, if there are any.
    #[must_use]
    pub fn max(&self) -> Option<Duration> {
        (self.number > 0).then(|| Duration::from_nanos(self.max_ns))
    }

    /// The time within which so many percent of them were over, to 3 %; `None` if there are none, or this is not between 0 and 100.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of at most what is counted, which a few in 2^53 do not change"
    )]
    pub fn percentile(&self, percent: f64) -> Option<Duration> {
        if self.number == 0 || !(0.0..=100.0).contains(&percent) {
            return None;
        }
        let wanted = ((percent / 100.0 * self.number as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let class = self.classes.iter().position(|number| {
            seen += number;
            seen >= wanted
        })?;
        Some(Duration::from_nanos(middle(class).clamp(self.min_ns, self.max_ns)))
    }
}

impl fmt::Debug for Durations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Durations")
            .field("number", &self.number)
            .field("mean", &self.mean())
            .field("min", &self.min())
            .field("max", &self.max())
            .finish_non_exhaustive()
    }
}

/// The class of a value: up to [`PARTS`] its own, then by its highest bit and the five after it.
fn class(ns: u64) -> usize {
    let bits = PARTS.ilog2();
    let Some(shift) = ns.checked_ilog2().and_then(|high| high.checked_sub(bits)) else {
        return usize::try_from(ns).unwrap_or_default();
    };
    // Between PARTS and twice that.
    let top = usize::try_from(ns >> shift).unwrap_or_default();
    top + shift as usize * PARTS as usize
}

/// The value in the middle of a class.
fn middle(class: usize) -> u64 {
    let parts = PARTS as usize;
    if class < 2 * parts {
        return class as u64;
    }
    let shift = class / parts - 1;
    let lowest = ((class - shift * parts) as u64) << shift;
    lowest + (1_u64 << shift) / 2
}

impl ToolStatistics {
    fn add(&mut self, call: &ToolCallRecord) {
        self.calls += 1;
        self.errors += u64::from(call.is_error);
        self.durations.add(call.duration_ns);
    }

    /// How often it was called.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// How often it failed, or there was no result.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// How long its calls took.
    #[must_use]
    pub fn durations(&self) -> &Durations {
        &self.durations
    }
}

impl Statistics {
    /// Of nothing so far.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a trajectory.
    #[expect(clippy::cast_precision_loss, reason = "no trajectory has 2^53 calls")]
    pub fn add(&mut self, trajectory: &Trajectory) {
        self.trajectories += 1;
        match trajectory.success() {
            Some(true) => self.successes += 1,
            Some(false) => self.failures += 1,
            None => {}
        }
        if let Some(reward) = trajectory.total_reward() {
            self.rewards.add(reward);
        }
        let mut calls = 0_u64;
        for event in trajectory.events() {
            if let EventKind::Call(call) = &event.kind {
                calls += 1;
                self.add_call(call);
            }
        }
        self.lengths.add(calls as f64);
    }

    /// Counts a call alone.
    pub fn add_call(&mut self, call: &ToolCallRecord) {
        self.calls += 1;
        self.errors += u64::from(call.is_error);
        self.tool(&call.tool).add(call);
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: &Self) {
        self.trajectories += other.trajectories;
        self.successes += other.successes;
        self.failures += other.failures;
        self.rewards.merge(&other.rewards);
        self.lengths.merge(&other.lengths);
        self.calls += other.calls;
        self.errors += other.errors;
        for (name, theirs) in &other.tools {
            let mine = self.tool(name);
            mine.calls += theirs.calls;
            mine.errors += theirs.errors;
            mine.durations.merge(&theirs.durations);
        }
    }

    fn tool(&mut self, name: &str) -> &mut ToolStatistics {
        let is_known = self.tools.contains_key(name);
        let name = if is_known || self.tools.len() < MAX_TOOLS { name } else { OTHERS };
        self.tools.entry(name.to_owned()).or_default()
    }

    /// How many trajectories there were.
    #[must_use]
    pub fn trajectories(&self) -> u64 {
        self.trajectories
    }

    /// The part of those of which success or failure was said that were a success.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a rate is not exact")]
    pub fn success_rate(&self) -> Option<f64> {
        let said = self.successes + self.failures;
        (said > 0).then(|| self.successes as f64 / said as f64)
    }

    /// Their total rewards, of those that had one.
    #[must_use]
    pub fn rewards(&self) -> &Spread {
        &self.rewards
    }

    /// How many calls each of them made.
    #[must_use]
    pub fn lengths(&self) -> &Spread {
        &self.lengths
    }

    /// How many calls there were.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// How many of them failed.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// The tools, by name. Beyond 1,000 of them further ones are counted together as [`OTHERS`].
    #[must_use]
    pub fn tools(&self) -> &BTreeMap<String, ToolStatistics> {
        &self.tools
    }
}

impl<'a> Extend<&'a Trajectory> for Statistics {
    fn extend<I: IntoIterator<Item = &'a Trajectory>>(&mut self, trajectories: I) {
        for trajectory in trajectories {
            self.add(trajectory);
        }
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} trajectories", self.trajectories)?;
        if let Some(rate) = self.success_rate() {
            write!(f, ", success rate {:.1} %", rate * 100.0)?;
        }
        if let Some(mean) = self.rewards.mean() {
            write!(f, ", mean reward {mean:.3}")?;
        }
        writeln!(f, ", {} calls, {} errors", self.calls, self.errors)?;
        let width = self.tools.keys().map(|name| name.chars().count()).max().unwrap_or(0).max(4);
        let row = |f: &mut fmt::Formatter<'_>, cells: [String; 8]| {
            let [name, rest @ ..] = cells;
            write!(f, "{name:width$}")?;
            for cell in rest {
                write!(f, " {cell:>9}")?;
            }
            writeln!(f)
        };
        row(f, ["tool", "calls", "errors", "mean", "min", "p50", "p99", "max"].map(str::to_owned))?;
        for (name, tool) in &self.tools {
            let took = &tool.durations;
            let time = |time: Option<Duration>| time.map_or_else(String::new, milliseconds);
            row(
                f,
                [
                    name.clone(),
                    tool.calls.to_string(),
                    tool.errors.to_string(),
                    time(took.mean()),
                    time(took.min()),
                    time(took.percentile(50.0)),
                    time(took.percentile(99.0)),
                    time(took.max()),
                ],
            )?;
        }
        Ok(())
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_in_order_and_narrow() {
        let mut before = 0;
        for ns in
            (0..70_u64).flat_map(|n| [n, n * 97 + 13]).chain((5..64).map(|bit| 1 << bit)).chain([u64::MAX])
        {
            let of = class(ns);
            assert!(middle(of).abs_diff(ns) <= ns / 32, "{ns} is in the class of {}", middle(of));
            before = before.max(of);
        }
        assert_eq!(before, class(u64::MAX));
        assert!((1..5000_u64).all(|ns| class(ns) >= class(ns - 1)));
    }

    #[test]
    fn parts_can_be_added_up() {
        let (mut all, mut even, mut odd) = (Durations::default(), Durations::default(), Durations::default());
        for ns in 0..10_000 {
            all.add(ns);
            if ns % 2 == 0 { even.add(ns) } else { odd.add(ns) }
        }
        even.merge(&odd);
        for percent in [0.0, 1.0, 50.0, 99.0, 100.0] {
            assert_eq!(even.percentile(percent), all.percentile(percent));
        }
        assert_eq!((even.mean(), even.min(), even.max()), (all.mean(), all.min(), all.max()));
        assert_eq!(all.percentile(100.1), None);
    }
}
