//! [`Random`]: numbers that depend on a seed alone.

/// A small generator (SplitMix64). Written out, so that the same seed gives the same numbers in every version; not for secrets.
///
/// ```
/// use tinymcp::trajectory::Random;
///
/// let mut dice = Random::new(7);
/// let first: Vec<u64> = (0..3).map(|_| dice.below(6) + 1).collect();
/// let mut again = Random::new(7);
/// assert_eq!(first, (0..3).map(|_| again.below(6) + 1).collect::<Vec<_>>());
/// ```
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The seed of another generator, for a part that is to be reproducible by itself.
    pub fn seed(&mut self) -> u64 {
        self.bits()
    }

    /// 64 bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 up to, but without, `end`; 0 if that is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        // The high half of the product: each number is as likely, up to 2^-64 of `end`.
        let product = u128::from(self.bits()) * u128::from(end);
        (product >> 64) as u64
    }

    /// From 0 up to, but without, 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are what a number holds")]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Heads or tails.
    pub fn flip(&mut self) -> bool {
        self.bits() >> 63 == 1
    }

    /// One of `items`; `None` if there is none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let at = self.below(items.len() as u64);
        items.get(usize::try_from(at).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_for_ever() {
        let mut random = Random::new(1_234_567);
        // The published sequence of SplitMix64 for this seed.
        assert_eq!([random.bits(), random.bits()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
        let mut counts = [0; 6];
        for _ in 0..6_000 {
            counts[usize::try_from(random.below(6)).expect("small")] += 1;
        }
        assert!(counts.iter().all(|count| (850..1_150).contains(count)), "{counts:?}");
        assert_eq!(random.below(0), 0);
        assert!((0..1_000).map(|_| random.unit()).all(|unit| (0.0..1.0).contains(&unit)));
    }
}
