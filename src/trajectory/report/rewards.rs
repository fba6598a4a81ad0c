//! [`Rewards`]: those of any number of episodes, in a memory that does not grow.

use super::chart::Reward;

/// So many points at most are drawn.
const MAX_POINTS: usize = 500;

#[derive(Debug)]
pub(super) struct Rewards {
    points: Vec<Reward>,
    /// How many episodes a point is of.
    each: u64,
    number: u64,
    mean: f64,
}

impl Default for Rewards {
    fn default() -> Self {
        Self { points: Vec::new(), each: 1, number: 0, mean: 0.0 }
    }
}

impl Rewards {
    /// The reward of the next episode; what is no number is none.
    #[expect(clippy::cast_precision_loss, reason = "of a mean")]
    pub(super) fn add(&mut self, reward: f64, success: Option<bool>) {
        if !reward.is_finite() {
            return;
        }
        self.number += 1;
        let number = self.number as f64;
        // Parted first: a difference of great numbers is none.
        self.mean += reward / number - self.mean / number;
        let one = Reward {
            number: 1,
            sum: reward,
            min: reward,
            max: reward,
            successes: u64::from(success == Some(true)),
            failures: u64::from(success == Some(false)),
        };
        match self.points.last_mut().filter(|last| last.number < self.each) {
            Some(last) => *last = sum(last, &one),
            None => self.points.push(one),
        }
        if self.points.len() > MAX_POINTS {
            self.points =
                self.points.chunks(2).map(|two| two.iter().skip(1).fold(two[0], |a, b| sum(&a, b))).collect();
            self.each *= 2;
        }
    }

    pub(super) fn points(&self) -> &[Reward] {
        &self.points
    }

    pub(super) fn each(&self) -> u64 {
        self.each
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn mean(&self) -> f64 {
        self.mean
    }
}

fn sum(one: &Reward, other: &Reward) -> Reward {
    Reward {
        number: one.number + other.number,
        sum: (one.sum + other.sum).clamp(f64::MIN, f64::MAX),
        min: one.min.min(other.min),
        max: one.max.max(other.max),
        successes: one.successes + other.successes,
        failures: one.failures + other.failures,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_episodes_are_few_points_and_none_is_lost() {
        let mut rewards = Rewards::default();
        for n in 0..10_007_u32 {
            rewards.add(f64::from(n), Some(n % 2 == 0));
        }
        rewards.add(f64::NAN, None);
        let points = rewards.points();
        assert!(points.len() <= MAX_POINTS && points.len() > MAX_POINTS / 4);
        assert_eq!(points.iter().map(|point| point.number).sum::<u64>(), 10_007);
        assert_eq!((points[0].min, points[points.len() - 1].max), (0.0, 10_006.0));
        assert!((rewards.mean() - 5003.0).abs() < 1e-6);
        assert!(points.windows(2).all(|two| two[0].max < two[1].min));
    }
}
