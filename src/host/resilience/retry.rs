//! [`Retry`]: how often something is tried, and how long is waited in between.

use std::time::Duration;

use crate::client::{Backoff, Random};

/// How often a call is tried, and how long is waited before it is tried again. What may be tried again is not up to this: see
/// [`Resilient`](super::Resilient).
///
/// ```
/// use std::time::Duration;
/// use tinymcp::host::resilience::Retry;
///
/// // Three tries; a second before the second one, two before the third.
/// let retry = Retry::default().with_jitter(0.0);
/// assert_eq!(retry.pauses().collect::<Vec<_>>(), [Duration::from_secs(1), Duration::from_secs(2)]);
///
/// let patient = Retry::default().with_tries(6).with_base(Duration::from_millis(200)).with_cap(Duration::from_secs(1));
/// assert_eq!(patient.pauses().count(), 5);
/// assert!(patient.pauses().all(|pause| pause <= Duration::from_secs(1)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    tries: u32,
    backoff: Backoff,
    try_time: Option<Duration>,
    seed: Option<u64>,
}

impl Default for Retry {
    /// Three tries; a second before the second, two before the third, a random half of each left out.
    fn default() -> Self {
        let backoff =
            Backoff { first: Duration::from_secs(1), factor: 2.0, cap: Duration::from_secs(30), jitter: 0.5 };
        Self { tries: 3, backoff, try_time: None, seed: None }
    }
}

impl Retry {
    /// One try, and no other.
    #[must_use]
    pub fn never() -> Self {
        Self::default().with_tries(1)
    }

    /// Sets how often a call is tried in all, the first time included; zero counts as one. Default: 3.
    #[must_use]
    pub fn with_tries(mut self, tries: u32) -> Self {
        self.tries = tries.max(1);
        self
    }

    /// Sets the pause before the second try. Default: 1 s.
    #[must_use]
    pub fn with_base(mut self, pause: Duration) -> Self {
        self.backoff.first = pause;
        self
    }

    /// Sets how many times longer each further pause is; what is less than one, or no number, counts as one. Default: 2.
    #[must_use]
    pub fn with_factor(mut self, factor: f64) -> Self {
        self.backoff.factor = factor.max(1.0);
        self
    }

    /// Sets the longest pause. Default: 30 s.
    #[must_use]
    pub fn with_cap(mut self, pause: Duration) -> Self {
        self.backoff.cap = pause;
        self
    }

    /// Sets which share of a pause may be left out at random, from 0 to 1, so that many callers do not come back at once.
    /// Default: 0.5.
    #[must_use]
    pub fn with_jitter(mut self, share: f64) -> Self {
        self.backoff.jitter = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        self
    }

    /// Sets how long one try may take, within the time of the call. A try that takes longer is cancelled, and made again if the
    /// call can be repeated. Default: as long as the call.
    #[must_use]
    pub fn with_try_time(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.try_time = time.into();
        self
    }

    /// Makes the random parts the same each time, for tests.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// How often a call is tried in all.
    #[must_use]
    pub fn tries(&self) -> u32 {
        self.tries
    }

    /// The pauses between the tries of one call, in order: one fewer than tries.
    pub fn pauses(&self) -> Pauses {
        let random = self.seed.map_or_else(Random::new, Random::seeded);
        Pauses { backoff: self.backoff, random, made: 0, left: self.tries - 1 }
    }

    pub(super) fn try_time(&self) -> Option<Duration> {
        self.try_time
    }
}

/// What [`Retry::pauses`] returns.
#[derive(Clone, Debug)]
#[must_use = "an iterator does nothing unless it is asked"]
pub struct Pauses {
    backoff: Backoff,
    random: Random,
    made: u32,
    left: u32,
}

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.left = self.left.checked_sub(1)?;
        self.made += 1;
        Some(self.backoff.pause(self.made, &mut self.random))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.left as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Pauses {}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(retry: &Retry) -> Vec<u128> {
        retry.pauses().map(|pause| pause.as_millis()).collect()
    }

    #[test]
    fn pauses_are_those_that_were_asked_for() {
        let plain = Retry::default().with_jitter(0.0);
        for (retry, want) in [
            (plain.clone(), vec![1_000, 2_000]),
            (plain.clone().with_tries(8), vec![1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]),
            (plain.clone().with_factor(1.5).with_tries(4), vec![1_000, 1_500, 2_250]),
            (plain.clone().with_factor(f64::NAN), vec![1_000, 1_000]),
            (plain.clone().with_factor(-3.0), vec![1_000, 1_000]),
            (plain.clone().with_factor(f64::INFINITY), vec![1_000, 30_000]),
            (plain.clone().with_base(Duration::MAX), vec![30_000, 30_000]),
            (plain.clone().with_base(Duration::ZERO).with_factor(f64::INFINITY), vec![0, 0]),
            (plain.clone().with_cap(Duration::ZERO), vec![0, 0]),
            (plain.clone().with_tries(0), vec![]),
            (Retry::never(), vec![]),
        ] {
            assert_eq!(millis(&retry), want, "{retry:?}");
        }
    }

    #[test]
    fn jitter_takes_away_no_more_than_its_share() {
        for (share, least) in [(0.25, 750), (0.5, 500), (1.0, 0), (7.0, 0), (f64::NAN, 1_000), (-1.0, 1_000)]
        {
            for _ in 0..200 {
                let pause = millis(&Retry::default().with_jitter(share).with_tries(2))[0];
                assert!((least..=1_000).contains(&pause), "{share}: {pause}");
            }
        }
        let seeded = Retry::default().with_seed(7).with_tries(20);
        assert_eq!(millis(&seeded), millis(&seeded));
        assert_ne!(millis(&seeded), millis(&seeded.with_seed(8)));
    }
}
