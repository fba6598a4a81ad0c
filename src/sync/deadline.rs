//! [`Deadline`]: a moment by which something must have happened, or none.

use std::time::{Duration, Instant};

/// A point in time, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    /// `timeout` from now; `None`, or more than the clock can count, is never.
    pub(crate) fn after(timeout: Option<Duration>) -> Self {
        timeout.map_or(Self(None), |_| Self::of(Instant::now(), timeout))
    }

    /// `timeout` from `start`.
    pub(crate) fn of(start: Instant, timeout: Option<Duration>) -> Self {
        Self(timeout.and_then(|timeout| start.checked_add(timeout)))
    }

    /// That moment.
    #[cfg(feature = "host")]
    pub(crate) fn at(moment: Instant) -> Self {
        Self(Some(moment))
    }

    /// Whichever comes first.
    pub(crate) fn earlier(self, other: Self) -> Self {
        match (self.0, other.0) {
            (Some(a), Some(b)) => Self(Some(a.min(b))),
            (a, b) => Self(a.or(b)),
        }
    }

    pub(crate) fn instant(self) -> Option<Instant> {
        self.0
    }

    /// What is left, zero if it has passed; `None` for never.
    pub(crate) fn remaining(self) -> Option<Duration> {
        self.0.map(|at| at.saturating_duration_since(Instant::now()))
    }

    pub(crate) fn has_passed(self) -> bool {
        self.remaining().is_some_and(|left| left.is_zero())
    }
}
