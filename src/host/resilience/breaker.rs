//! [`Breaker`]: leaves a server alone that fails again and again.
//!
//! ```text
//!          too many failures                 cool-down over
//!  Closed ───────────────────▶ Open ◀─────────────────────▶ HalfOpen ──▶ Closed
//!                                     the probe failed, cool-down grows     the probe went well
//! ```
//!
//! **Invariants:** in `HalfOpen` at most one call is under way; the verdict of a call that was let in before the state changed
//! counts for nothing; the lock is held for a look or an exchange.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::Seconds;
use crate::sync::{Mutex, lock};

/// So many of the last calls can be looked at.
const MAX_RECENT: u32 = 64;

/// When a [`Breaker`] opens, and for how long.
///
/// ```
/// use std::time::Duration;
/// use tinymcp::host::resilience::BreakerOptions;
///
/// // After three failures in a row, or when half of the last twenty calls failed.
/// let options = BreakerOptions::default()
///     .with_failures(3)
///     .with_rate(0.5, 20)
///     .with_cool_down(Duration::from_secs(5));
/// # let _ = options;
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BreakerOptions {
    /// So many failures in a row open it; zero: they never do. Default: 5.
    pub failures: u32,
    /// It opens when at least this share of the last calls failed: from 0 to 1, and how many calls, up to 64, as soon as there
    /// were so many. Default: not.
    pub rate: Option<(f64, u32)>,
    /// How long nothing is sent after it opened. Default: 10 s.
    pub cool_down: Duration,
    /// So many times longer after each probe that failed. Default: 2.
    pub growth: f64,
    /// The longest cool-down. Default: 5 min.
    pub longest_cool_down: Duration,
}

impl Default for BreakerOptions {
    fn default() -> Self {
        Self {
            failures: 5,
            rate: None,
            cool_down: Duration::from_secs(10),
            growth: 2.0,
            longest_cool_down: Duration::from_secs(300),
        }
    }
}

impl BreakerOptions {
    /// Sets how many failures in a row open it; zero: they never do.
    #[must_use]
    pub fn with_failures(mut self, failures: u32) -> Self {
        self.failures = failures;
        self
    }

    /// Opens it also when at least `share` (from 0 to 1) of the last `calls` (up to 64) failed.
    #[must_use]
    pub fn with_rate(mut self, share: f64, calls: u32) -> Self {
        self.rate = Some((share, calls.clamp(1, MAX_RECENT)));
        self
    }

    /// Sets how long nothing is sent after it opened.
    #[must_use]
    pub fn with_cool_down(mut self, time: Duration) -> Self {
        self.cool_down = time;
        self
    }

    /// Sets how many times longer the cool-down is after each probe that failed; less than one counts as one.
    #[must_use]
    pub fn with_growth(mut self, factor: f64) -> Self {
        self.growth = factor.max(1.0);
        self
    }

    /// Sets the longest cool-down.
    #[must_use]
    pub fn with_longest_cool_down(mut self, time: Duration) -> Self {
        self.longest_cool_down = time;
        self
    }
}

/// What a [`Breaker`] does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BreakerState {
    /// Calls are made.
    Closed,
    /// Nothing is sent before this moment. The next call after it is a probe.
    Open(Instant),
    /// A probe decides.
    HalfOpen,
}

/// Leaves a server alone that fails again and again, and tries it with a single call before it is trusted again. Clones share
/// one state.
///
/// A [`Resilient`](super::Resilient) has one; by itself it is for programs that make their calls in another way:
///
/// ```
/// use std::time::Duration;
/// use tinymcp::host::resilience::{Breaker, BreakerOptions, BreakerState};
///
/// let breaker = Breaker::new(BreakerOptions::default().with_failures(2).with_cool_down(Duration::from_secs(60)));
/// for _ in 0..2 {
///     breaker.permit()?.failed();
/// }
/// assert!(matches!(breaker.state(), BreakerState::Open(_)));
/// let refused = breaker.permit().unwrap_err();
/// assert!(refused.again_in().is_some_and(|time| time > Duration::from_secs(50)));
///
/// breaker.reset();
/// breaker.permit()?.succeeded();
/// # Ok::<(), tinymcp::host::resilience::Tripped>(())
/// ```
#[derive(Clone, Debug)]
pub struct Breaker(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    options: BreakerOptions,
    core: Mutex<Core>,
}

impl Default for Breaker {
    fn default() -> Self {
        Self::new(BreakerOptions::default())
    }
}

impl Breaker {
    /// A breaker that is closed.
    #[must_use]
    pub fn new(options: BreakerOptions) -> Self {
        let core = Mutex::new(Core::new(options.cool_down));
        Self(Arc::new(Shared { options, core }))
    }

    /// Asks whether a call may be made. The [`Permit`] is to be told how it went; one that is dropped counts for nothing.
    ///
    /// # Errors
    /// [`Tripped`] while it is open, and while a probe is under way.
    pub fn permit(&self) -> Result<Permit, Tripped> {
        let entry = lock(&self.0.core).enter(Instant::now())?;
        Ok(Permit { shared: Arc::clone(&self.0), entry, is_told: false })
    }

    /// What it does now.
    #[must_use]
    pub fn state(&self) -> BreakerState {
        lock(&self.0.core).state(Instant::now())
    }

    /// Closes it, as if nothing had failed: after somebody has mended the server.
    pub fn reset(&self) {
        lock(&self.0.core).close(&self.0.options);
    }
}

/// The permission to make one call. See [`Breaker::permit`].
#[derive(Debug)]
#[must_use = "the breaker is to be told how the call went"]
pub struct Permit {
    shared: Arc<Shared>,
    entry: Entry,
    is_told: bool,
}

impl Permit {
    /// The server answered, if only with an error.
    pub fn succeeded(self) {
        self.tell(true);
    }

    /// The server could not be reached, or did not answer.
    pub fn failed(self) {
        self.tell(false);
    }

    fn tell(mut self, went_well: bool) {
        self.is_told = true;
        lock(&self.shared.core).leave(self.entry, Some(went_well), &self.shared.options, Instant::now());
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if !self.is_told {
            lock(&self.shared.core).leave(self.entry, None, &self.shared.options, Instant::now());
        }
    }
}

/// Why a call was not made: the server failed too often. Nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tripped {
    again_in: Option<Duration>,
}

impl Tripped {
    /// When the next call is made; `None` if that is decided by one that is under way.
    #[must_use]
    pub fn again_in(&self) -> Option<Duration> {
        self.again_in
    }
}

impl fmt::Display for Tripped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.again_in {
            Some(time) => write!(f, "circuit open after failures, tried again in {}", Seconds(time)),
            None => f.write_str("circuit open after failures, a call under way decides"),
        }
    }
}

impl std::error::Error for Tripped {}

/// In which state a call was let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry(u64);

/// The state, without lock and clock.
#[derive(Debug)]
struct Core {
    now: Now,
    /// Counts the changes of state.
    age: u64,
    /// The next cool-down.
    cool_down: Duration,
}

#[derive(Debug)]
enum Now {
    Closed {
        in_a_row: u32,
        /// The last calls, a bit each: 1 is a failure; and how many there were, up to [`MAX_RECENT`].
        recent: u64,
        seen: u32,
    },
    Open(Instant),
    HalfOpen {
        is_probing: bool,
    },
}

impl Now {
    const CLOSED: Self = Self::Closed { in_a_row: 0, recent: 0, seen: 0 };
}

impl Core {
    fn new(cool_down: Duration) -> Self {
        Self { now: Now::CLOSED, age: 0, cool_down }
    }

    fn become_(&mut self, now: Now) {
        self.now = now;
        self.age += 1;
    }

    fn state(&self, at: Instant) -> BreakerState {
        match self.now {
            Now::Closed { .. } => BreakerState::Closed,
            Now::Open(until) if at < until => BreakerState::Open(until),
            Now::Open(_) | Now::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    fn enter(&mut self, at: Instant) -> Result<Entry, Tripped> {
        match &mut self.now {
            Now::Closed { .. } => {}
            Now::Open(until) if at < *until => return Err(Tripped { again_in: Some(*until - at) }),
            Now::Open(_) => self.become_(Now::HalfOpen { is_probing: true }),
            Now::HalfOpen { is_probing: true } => return Err(Tripped { again_in: None }),
            Now::HalfOpen { is_probing } => *is_probing = true,
        }
        Ok(Entry(self.age))
    }

    /// `went_well`: `None` if nobody knows.
    fn leave(&mut self, entry: Entry, went_well: Option<bool>, options: &BreakerOptions, at: Instant) {
        if entry.0 != self.age {
            return;
        }
        match (&mut self.now, went_well) {
            (Now::Closed { in_a_row, recent, seen }, Some(went_well)) => {
                *in_a_row = if went_well { 0 } else { in_a_row.saturating_add(1) };
                *recent = *recent << 1 | u64::from(!went_well);
                *seen = (*seen + 1).min(MAX_RECENT);
                let is_row = options.failures > 0 && *in_a_row >= options.failures;
                if is_row || is_rate(options, *recent, *seen) {
                    self.open(options, at);
                }
            }
            (Now::HalfOpen { .. }, Some(true)) => self.close(options),
            (Now::HalfOpen { .. }, Some(false)) => self.open(options, at),
            (Now::HalfOpen { is_probing }, None) => *is_probing = false,
            (Now::Closed { .. }, None) | (Now::Open(_), _) => {}
        }
    }

    fn open(&mut self, options: &BreakerOptions, at: Instant) {
        let time = self.cool_down.min(options.longest_cool_down);
        // A cool-down beyond what the clock can count is one of a hundred years.
        let until = at.checked_add(time).unwrap_or(at + Duration::from_secs(100 * 365 * 24 * 3600));
        self.cool_down = Duration::try_from_secs_f64(time.as_secs_f64() * options.growth.max(1.0))
            .unwrap_or(options.longest_cool_down);
        self.become_(Now::Open(until));
    }

    fn close(&mut self, options: &BreakerOptions) {
        self.cool_down = options.cool_down;
        self.become_(Now::CLOSED);
    }
}

/// Whether too many of the last calls failed.
fn is_rate(options: &BreakerOptions, recent: u64, seen: u32) -> bool {
    let Some((share, calls)) = options.rate else { return false };
    let calls = calls.clamp(1, MAX_RECENT);
    let failed = (recent & (u64::MAX >> (MAX_RECENT - calls))).count_ones();
    // All calls that went well are no reason, whatever the share.
    seen >= calls && failed > 0 && f64::from(failed) >= share * f64::from(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    struct Trial {
        options: BreakerOptions,
        core: Core,
        at: Instant,
    }

    impl Trial {
        fn new(options: BreakerOptions) -> Self {
            let core = Core::new(options.cool_down);
            Self { options, core, at: Instant::now() }
        }

        /// A call that goes as `calls` say: `+` well, `-` not, `?` nobody knows. How many were let in.
        fn run(&mut self, calls: &str) -> usize {
            let calls = calls.chars().map(|call| match call {
                '+' => Some(true),
                '-' => Some(false),
                _ => None,
            });
            let mut let_in = 0;
            for went_well in calls {
                if let Ok(entry) = self.core.enter(self.at) {
                    let_in += 1;
                    self.core.leave(entry, went_well, &self.options, self.at);
                }
            }
            let_in
        }

        fn is_open(&self) -> bool {
            matches!(self.core.state(self.at), BreakerState::Open(_))
        }

        fn again_in(&mut self) -> Option<Duration> {
            self.core.enter(self.at).err().and_then(|tripped| tripped.again_in)
        }
    }

    #[test]
    fn it_opens_by_a_row_or_by_the_rate() {
        let row = BreakerOptions::default().with_failures(3);
        let rate = BreakerOptions::default().with_failures(0).with_rate(0.5, 4);
        let both = BreakerOptions::default().with_failures(2).with_rate(0.5, 4);
        for (options, calls, is_open) in [
            (&row, "--+--+--", false),
            (&row, "--?-", true),
            (&row, "+++++---", true),
            (&rate, "---", false),
            (&rate, "----", true),
            (&rate, "+-+-", true),
            (&rate, "+++-+++-+++-", false),
            (&rate, "++++++++++--", true),
            (&both, "--", true),
            (&both, "-+-+", true),
            (&BreakerOptions::default().with_failures(0), "----------", false),
            (&BreakerOptions::default().with_failures(0).with_rate(0.0, 1), "++++", false),
            (&BreakerOptions::default().with_failures(0).with_rate(1.0, 64), &"-".repeat(64), true),
        ] {
            let mut trial = Trial::new(options.clone());
            trial.run(calls);
            assert_eq!(trial.is_open(), is_open, "{options:?} {calls}");
        }
    }

    #[test]
    fn a_probe_decides_and_failed_ones_make_the_pause_longer() {
        let options = BreakerOptions::default().with_failures(1).with_longest_cool_down(25 * SECOND);
        let mut trial = Trial::new(options);
        for cool_down in [10, 20, 25, 25] {
            assert_eq!(trial.run("-"), 1);
            assert!(trial.is_open());
            assert_eq!(trial.again_in(), Some(cool_down * SECOND));
            assert_eq!(trial.run("+++"), 0, "nothing is sent");
            trial.at += cool_down * SECOND;
            assert_eq!(trial.core.state(trial.at), BreakerState::HalfOpen);
        }
        let probe = trial.core.enter(trial.at).expect("a probe");
        assert_eq!(trial.run("++"), 0, "one at a time");
        assert_eq!(trial.again_in(), None);
        // The one that was given up makes room for another.
        trial.core.leave(probe, None, &trial.options, trial.at);
        assert_eq!(trial.run("++-"), 3);
        assert_eq!(trial.again_in(), Some(10 * SECOND), "the pauses begin anew");
    }

    #[test]
    fn late_verdicts_count_for_nothing() {
        let mut trial = Trial::new(BreakerOptions::default().with_failures(2));
        let late = [(); 3].map(|()| trial.core.enter(trial.at).expect("closed"));
        trial.run("--");
        for (entry, went_well) in late.into_iter().zip([true, false, true]) {
            trial.core.leave(entry, Some(went_well), &trial.options, trial.at);
            assert_eq!(trial.again_in(), Some(10 * SECOND));
        }
        trial.at += 10 * SECOND;
        let probe = trial.core.enter(trial.at).expect("a probe");
        trial.core.leave(late[0], Some(true), &trial.options, trial.at);
        assert_eq!(trial.core.state(trial.at), BreakerState::HalfOpen);
        trial.core.leave(probe, Some(true), &trial.options, trial.at);
        trial.core.leave(probe, Some(false), &trial.options, trial.at);
        assert_eq!(trial.core.state(trial.at), BreakerState::Closed);
    }

    #[test]
    fn absurd_times_are_long_times() {
        let options = BreakerOptions { growth: f64::INFINITY, ..BreakerOptions::default() };
        let options =
            options.with_failures(1).with_cool_down(Duration::MAX).with_longest_cool_down(Duration::MAX);
        let mut trial = Trial::new(options);
        trial.run("-");
        assert!(trial.again_in() > Some(Duration::from_secs(1_000_000)));
    }
}
