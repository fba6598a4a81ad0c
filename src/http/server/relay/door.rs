//! [`Door`]: the one server of a line, reached by the first who needs it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::upstream::Upstream;
use crate::error::Seconds;
use crate::http::server::wire;

/// Before a server is reached anew that ended without having answered anything; doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// And no longer than this.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// The one server of a line. Whoever comes while it is being reached waits for that.
#[derive(Default)]
pub(super) struct Door {
    /// Never held while anything is reached.
    state: Mutex<State>,
    /// Signalled when a server was reached, or could not be.
    opened: Condvar,
}

#[derive(Default)]
struct State {
    stage: Stage,
    /// So often in a row a server ended without having answered anything, or could not be reached.
    failures: u32,
    /// When that was last.
    failed: Option<Instant>,
}

#[derive(Default)]
enum Stage {
    #[default]
    Shut,
    Opening,
    Open(Arc<Upstream>),
    /// For good, as this says.
    Over(String),
}

impl Door {
    /// The server, which `open` reaches if there is none.
    ///
    /// # Errors
    /// In words for clients.
    pub(super) fn get(
        &self,
        open: impl FnOnce() -> Result<Arc<Upstream>, String>,
    ) -> Result<Arc<Upstream>, String> {
        let mut state = self.lock();
        loop {
            match &state.stage {
                Stage::Open(upstream) => return Ok(Arc::clone(upstream)),
                Stage::Over(reason) => return Err(reason.clone()),
                Stage::Opening => {
                    wire::lend();
                    state = self.opened.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                Stage::Shut => break,
            }
        }
        if let Some(left) = state.pause_left() {
            let problem = "the server has ended, and is not started again";
            return Err(format!("{problem} for another {}", Seconds(left)));
        }
        state.stage = Stage::Opening;
        drop(state);
        let opening = Opening(self);
        let opened = open();
        let mut state = self.lock();
        let (outcome, too_late) = match (&state.stage, opened) {
            (Stage::Over(reason), Ok(upstream)) => (Err(reason.clone()), Some(upstream)),
            (_, Ok(upstream)) => {
                state.stage = Stage::Open(Arc::clone(&upstream));
                (Ok(upstream), None)
            }
            (_, Err(problem)) => {
                state.has_failed();
                (Err(problem), None)
            }
        };
        drop(state);
        drop(opening);
        // Its line is told of the end, and comes here.
        too_late.into_iter().for_each(|upstream| upstream.close());
        outcome
    }

    /// What there is now.
    pub(super) fn current(&self) -> Option<Arc<Upstream>> {
        match &self.lock().stage {
            Stage::Open(upstream) => Some(Arc::clone(upstream)),
            _ => None,
        }
    }

    /// This one is no more; the next who needs one reaches another.
    pub(super) fn leave(&self, upstream: &Upstream) {
        let mut state = self.lock();
        if !matches!(&state.stage, Stage::Open(current) if std::ptr::eq(&**current, upstream)) {
            return;
        }
        state.stage = Stage::Shut;
        if upstream.has_answered() {
            state.failures = 0;
        } else {
            state.has_failed();
        }
    }

    /// No more servers; the one there was is returned.
    pub(super) fn shut(&self, reason: &str) -> Option<Arc<Upstream>> {
        let before = std::mem::replace(&mut self.lock().stage, Stage::Over(reason.to_owned()));
        self.opened.notify_all();
        match before {
            Stage::Open(upstream) => Some(upstream),
            _ => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
        self.failed = Some(Instant::now());
    }

    fn pause_left(&self) -> Option<Duration> {
        let pause = pause(self.failures)?;
        let left = pause.saturating_sub(self.failed?.elapsed());
        (!left.is_zero()).then_some(left)
    }
}

/// The pause after so many failures in a row.
fn pause(failures: u32) -> Option<Duration> {
    let doublings = failures.checked_sub(1)?;
    Some(FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(doublings)).min(MAX_PAUSE))
}

/// Whoever waits is woken on every way out, panics included.
struct Opening<'a>(&'a Door);

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        if matches!(state.stage, Stage::Opening) {
            state.stage = Stage::Shut;
        }
        drop(state);
        self.0.opened.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit() {
        let pauses: Vec<_> = [0, 1, 2, 3, 7, 8, 9, 1000].map(pause).into_iter().collect();
        let millis = |ms| Some(Duration::from_millis(ms));
        let want = [None, millis(100), millis(200), millis(400), millis(6400), millis(10_000)];
        assert_eq!(pauses[..6], want);
        assert_eq!(pauses[6..], [millis(10_000); 2]);
    }
}
