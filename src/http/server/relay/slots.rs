//! [`Slots`]: how many servers there may be at a time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::time;
use crate::sync::Deadline;

/// Counts servers, from before they are reached until nothing is left of them.
pub(super) struct Slots {
    limit: AtomicUsize,
    /// Held for a look.
    taken: Mutex<usize>,
    /// Signalled when one is free again.
    freed: Condvar,
}

/// The right to have a server.
pub(super) struct Slot(Arc<Slots>);

impl Drop for Slot {
    fn drop(&mut self) {
        *self.0.taken() -= 1;
        self.0.freed.notify_all();
    }
}

impl Slots {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { limit: AtomicUsize::new(0), taken: Mutex::new(0), freed: Condvar::new() })
    }

    /// Sets how many there may be.
    pub(super) fn allow(&self, limit: usize) {
        self.limit.store(limit, Ordering::SeqCst);
    }

    pub(super) fn limit(&self) -> usize {
        self.limit.load(Ordering::SeqCst)
    }

    /// Takes a slot, when one is free; `waits` is called before this waits.
    pub(super) fn take(self: &Arc<Self>, deadline: Deadline, waits: impl Fn()) -> Option<Slot> {
        let has_room = |taken: usize| taken < self.limit();
        if !has_room(*self.taken()) {
            waits();
        }
        let mut taken = self.wait_until(has_room, deadline)?;
        *taken += 1;
        Some(Slot(Arc::clone(self)))
    }

    /// Waits until none is taken; `false` if some are at the deadline.
    pub(super) fn drain(&self, deadline: Deadline) -> bool {
        self.wait_until(|taken| taken == 0, deadline).is_some()
    }

    fn wait_until(&self, is_so: impl Fn(usize) -> bool, deadline: Deadline) -> Option<MutexGuard<'_, usize>> {
        let waited = self.freed.wait_timeout_while(self.taken(), time(deadline), |taken| !is_so(*taken));
        let (taken, _) = waited.unwrap_or_else(PoisonError::into_inner);
        is_so(*taken).then_some(taken)
    }

    fn taken(&self) -> MutexGuard<'_, usize> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
