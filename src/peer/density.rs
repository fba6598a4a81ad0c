//! [`Density`]: whether requests come so close together that a ticking stand-by is worth its CPU time.

use std::time::{Duration, Instant};

/// Requests closer together than this are dense traffic, ...
const DENSE_GAP: Duration = Duration::from_millis(1);

/// ... once there have been so many in a row.
const DENSE_RUN: u32 = 16;

/// A gap longer than this ends it. One in between, such as the operating system makes by running somebody else, ...
const SPARSE_GAP: Duration = Duration::from_millis(10);

/// ... halves what has been counted, up to here.
const MAX_RUN: u32 = 4 * DENSE_RUN;

/// Whether requests come so close together that a ticking stand-by is worth its CPU time.
pub(super) struct Density {
    last: Option<Instant>,
    run: u32,
}

impl Default for Density {
    /// Dense until the first gap shows otherwise: most connections begin with a burst.
    fn default() -> Self {
        Self { last: None, run: MAX_RUN }
    }
}

impl Density {
    /// Another request; whether traffic is dense.
    pub(super) fn another(&mut self) -> bool {
        let now = Instant::now();
        let gap = self.last.replace(now).map_or(Duration::ZERO, |last| now - last);
        self.run = match gap {
            gap if gap < DENSE_GAP => (self.run + 1).min(MAX_RUN),
            gap if gap < SPARSE_GAP => self.run / 2,
            _ => 0,
        };
        self.is_dense()
    }

    pub(super) fn is_dense(&self) -> bool {
        self.run >= DENSE_RUN
    }
}
