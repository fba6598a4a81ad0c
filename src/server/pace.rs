//! [`Paces`]: how long each tool takes, to know which calls are worth a thread of their own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// What handing a call to another thread costs, and somewhat more. A tool that takes longer gains from a thread
/// of its own, which may be on another core.
const SHORT: Duration = Duration::from_micros(20);

/// Further calls of a tool go elsewhere, so that one that suddenly blocks takes few reading threads with it. More than one,
/// because a thread may also have lost the role just because the operating system interrupted it.
const MAX_ON_READERS: u32 = 4;

/// Names beyond this number are not measured, in case tools come and go under ever new names.
const MAX_NAMES: usize = 10_000;

/// The mean before the first call has been measured.
const UNKNOWN: u64 = u64::MAX;

/// One tool's pace.
#[derive(Debug)]
pub(super) struct Pace {
    /// Nanoseconds, or [`UNKNOWN`].
    mean: AtomicU64,
    /// So many calls of this tool run on threads that read, or did when the call began.
    on_readers: AtomicU32,
}

impl Pace {
    /// Takes the place on the reading thread, if the tool is not known to take long and the place is free.
    pub(super) fn enter_reader(&self) -> bool {
        let mean = self.mean.load(Ordering::Relaxed);
        let room = match mean {
            // A first call that is still running has cost a reading thread already: the next does not try the same.
            UNKNOWN => 1,
            mean if u128::from(mean) < SHORT.as_nanos() => MAX_ON_READERS,
            _ => 0,
        };
        if self.on_readers.load(Ordering::Relaxed) >= room {
            return false;
        }
        self.on_readers.fetch_add(1, Ordering::Relaxed);
        true
    }

    pub(super) fn leave_reader(&self) {
        self.on_readers.fetch_sub(1, Ordering::Relaxed);
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

/// The paces of all tools, by name. Owner: the server. Bound: [`MAX_NAMES`]. Held for a look-up.
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
        let pace = Pace { mean: AtomicU64::new(UNKNOWN), on_readers: AtomicU32::new(0) };
        Some(Arc::clone(paces.entry(name.to_owned()).or_insert_with(|| Arc::new(pace))))
    }
}
