//! [`Backoff`]: how long to wait before something is tried again. The one place where such pauses are made.

use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// How long to wait before the try `number`, counted from 1: `first`, and twice as long each time; a random half of
/// it is left out, so that many clients of a server do not come at once.
pub(super) fn backoff(first: Duration, number: u32) -> Duration {
    Backoff { first, factor: 2.0, jitter: 0.5, cap: MAX_PAUSE }.pause(number, &mut Random::new())
}

/// Pauses that grow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Backoff {
    /// Before the first further try.
    pub(crate) first: Duration,
    /// So many times longer before each one after it.
    pub(crate) factor: f64,
    /// The longest, whatever the factor.
    pub(crate) cap: Duration,
    /// Which share of a pause may be left out, at random: from 0 to 1.
    pub(crate) jitter: f64,
}

impl Backoff {
    /// How long to wait before the try `number`, counted from 1.
    pub(crate) fn pause(&self, number: u32, random: &mut Random) -> Duration {
        let exponent = i32::try_from(number.saturating_sub(1)).unwrap_or(i32::MAX);
        let grown = self.first.as_secs_f64() * self.factor.powi(exponent);
        // Zero times infinity is no number: that pause is zero.
        let grown = if grown.is_nan() { 0.0 } else { grown };
        let pause = Duration::try_from_secs_f64(grown).unwrap_or(self.cap).min(self.cap);
        pause.mul_f64(1.0 - self.jitter * random.share())
    }
}

/// Numbers that nobody can foresee well enough to be in step with: splitmix64. Not for secrets.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Seeded differently for each one that is made.
    pub(crate) fn new() -> Self {
        Self(std::collections::hash_map::RandomState::new().build_hasher().finish())
    }

    /// The same numbers for the same seed.
    #[cfg(feature = "host")]
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// From 0 to 1, without 1.
    pub(crate) fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        // As many bits as such a number has.
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit() {
        for (number, most) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 30), (40, 30), (u32::MAX, 30)] {
            let most = Duration::from_secs(most);
            for _ in 0..100 {
                let pause = backoff(Duration::from_secs(1), number);
                assert!(pause >= most / 2 && pause <= most, "{number}: {pause:?}");
            }
        }
        assert_eq!(backoff(Duration::ZERO, 5), Duration::ZERO);
        assert_eq!(backoff(Duration::ZERO, u32::MAX), Duration::ZERO);
    }

    #[test]
    fn random_numbers_are_spread() {
        let mut random = Random::new();
        let mut tenths = [0; 10];
        for _ in 0..10_000 {
            tenths[(random.share() * 10.0) as usize] += 1;
        }
        assert!(tenths.iter().all(|count| (700..1_300).contains(count)), "{tenths:?}");
    }
}
