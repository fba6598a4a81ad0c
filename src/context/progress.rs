//! [`Pace`]: which progress reports are sent.

use std::time::{Duration, Instant};

/// Reports may come this often in the long run, ...
const INTERVAL: Duration = Duration::from_millis(10);

/// ... and so many at once.
const BURST: u32 = 64;

/// The reports of one call so far.
#[derive(Debug)]
pub(super) struct Pace {
    last: f64,
    /// When the reports so far would have been sent at an even pace.
    even: Option<Instant>,
}

impl Default for Pace {
    fn default() -> Self {
        Self { last: f64::NEG_INFINITY, even: None }
    }
}

impl Pace {
    /// Whether `done` of `total` is to be sent at `now`: it must be more than before, and not one of too many. The last report
    /// of a call always is, if it can be told by its total.
    ///
    /// spec: 2026-07-28 basic/patterns/progress#progress-flow (the value MUST increase),
    /// #implementation-notes (rate limiting)
    pub(super) fn is_due(&mut self, done: f64, total: Option<f64>, now: Instant) -> bool {
        if done <= self.last {
            return false;
        }
        let even = self.even.map_or(now, |even| even.max(now));
        let is_last = total.is_some_and(|total| done >= total);
        if even - now > INTERVAL * (BURST - 1) && !is_last {
            return false;
        }
        self.last = done;
        self.even = Some(even + INTERVAL);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_increase_and_do_not_flood() {
        let start = Instant::now();
        let mut pace = Pace::default();
        let sent = (0..1000).filter(|n| pace.is_due(f64::from(*n), Some(1000.0), start)).count();
        assert_eq!(sent, 64);
        assert!(!pace.is_due(999.0, Some(1000.0), start));
        assert!(pace.is_due(1000.0, Some(1000.0), start), "the end is told");
        assert!(!pace.is_due(1000.0, Some(1000.0), start), "once");
        // What was saved up comes back at the even pace.
        let mut pace = Pace::default();
        let sent = (0..1000_u32)
            .filter(|n| pace.is_due(f64::from(*n), None, start + Duration::from_millis(u64::from(*n))))
            .count();
        assert_eq!(sent, 64 + 99);
        let later = start + Duration::from_secs(60);
        assert_eq!((1000..1100).filter(|n| pace.is_due(f64::from(*n), None, later)).count(), 64);
    }
}
