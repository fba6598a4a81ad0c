//! [`Wake`]: who waits for what is marked.

use std::sync::{Condvar, MutexGuard, PoisonError};
use std::time::Duration;

/// Wakes those who wait for the marks of one [`Changes`](super::Changes).
#[derive(Debug, Default)]
pub(super) struct Wake {
    waiting: Condvar,
    /// Told as well: somebody who takes from several. Bound: one signal, which is never waited with.
    #[cfg(feature = "host")]
    pub(super) also: std::sync::OnceLock<crossbeam_channel::Sender<()>>,
}

impl Wake {
    pub(super) fn notify_all(&self) {
        self.waiting.notify_all();
        #[cfg(feature = "host")]
        if let Some(signal) = self.also.get() {
            // One that waits already says the same, and nobody may be there any more.
            let _ = signal.try_send(());
        }
    }

    /// Waits for that, at most `time`; whether it was in vain.
    pub(super) fn wait_timeout<T>(&self, guard: MutexGuard<'_, T>, time: Duration) -> bool {
        let (guard, timeout) = self.waiting.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner);
        drop(guard);
        timeout.timed_out()
    }
}
