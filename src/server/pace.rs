//! [`Paces`]: how long each tool takes, to know which calls are worth a thread of their own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// What handing a call to another thread costs, and somewhat more. A tool that takes longer gains from a thread
/// of its own, which may be on another core.
const SHORT: Duration = Duration::from_micros(20);

/// Names beyond this number are not measured, in case tools come and go under ever new names.
const MAX_NAMES: usize = 10_000;

/// The mean before the first call has been measured.
const UNKNOWN: u64 = u64::MAX;

/// One tool's pace.
#[derive(Debug)]
pub(super) struct Pace {
    /// Nanoseconds, or [`UNKNOWN`].
    mean: AtomicU64,
    /// A call of this tool runs on a reading thread. A second one goes elsewhere, so that a tool that suddenly blocks takes
    /// one reading thread with it and not all.
    is_on_reader: AtomicBool,
}

impl Pace {
    /// Takes the place on the reading thread, if the tool is not known to take long and the place is free.
    pub(super) fn enter_reader(&self) -> bool {
        let mean = self.mean.load(Ordering::Relaxed);
        let is_short = mean == UNKNOWN || u128::from(mean) < SHORT.as_nanos();
        is_short && !self.is_on_reader.swap(true, Ordering::Acquire)
    }

    pub(super) fn leave_reader(&self) {
        self.is_on_reader.store(false, Ordering::Release);
    }

    /// A call took the time since `start`. The mean falls fast, as first calls are slow, and rises slowly, as any call
    /// may be interrupted by the operating system.
    pub(super) fn measure(&self, start: Instant) {
        let took = u64::try_from(start.elapsed().as_nanos()).unwrap_or(UNKNOWN - 1);
        let mean = self.mean.load(Ordering::Relaxed);
        let new = match mean {
            UNKNOWN => took,
            mean if took <= mean => took.midpoint(mean),
            mean => mean + (took - mean) / 8,
        };
        self.mean.store(new, Ordering::Relaxed);
    }
}

/// The paces of all tools, by name.
#[derive(Debug, Default)]
pub(super) struct Paces(RwLock<HashMap<String, Arc<Pace>>>);

impl Paces {
    /// The pace of a tool that exists.
    pub(super) fn of(&self, name: &str) -> Option<Arc<Pace>> {
        if let Some(pace) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Some(Arc::clone(pace));
        }
        let mut paces = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if paces.len() >= MAX_NAMES {
            return None;
        }
        let pace = Pace { mean: AtomicU64::new(UNKNOWN), is_on_reader: AtomicBool::new(false) };
        Some(Arc::clone(paces.entry(name.to_owned()).or_insert_with(|| Arc::new(pace))))
    }
}
