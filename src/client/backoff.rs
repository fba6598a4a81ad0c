//! How long to wait before something is tried again.

use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// How long to wait before the try `number`, counted from 1: `first`, and twice as long each time; a random half of
/// it is left out, so that many clients of a server do not come at once.
pub(super) fn backoff(first: Duration, number: u32) -> Duration {
    let factor = 1_u32.checked_shl(number.saturating_sub(1)).unwrap_or(u32::MAX);
    let pause = first.saturating_mul(factor).min(MAX_PAUSE);
    // Seeded differently for each one that is made.
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    pause / 2 + (pause / 2).mul_f64((random % 1024) as f64 / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit() {
        for (number, most) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 30), (40, 30)] {
            let most = Duration::from_secs(most);
            for _ in 0..100 {
                let pause = backoff(Duration::from_secs(1), number);
                assert!(pause >= most / 2 && pause <= most, "{number}: {pause:?}");
            }
        }
        assert_eq!(backoff(Duration::ZERO, 5), Duration::ZERO);
    }
}
