//! [`StateStore`]: what a call learned in earlier rounds, until its client comes back.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::sync::{Deadline, Mutex, lock};

/// The store of a server, made by the first call that needs one unless the program chose one.
pub(crate) type States = Arc<OnceLock<Arc<dyn StateStore>>>;

/// Keeps the state of calls that wait for input.
///
/// A Modern server that needs something from its client ends the call with a question; the client calls again with the answer
/// and with a string, the *request state*. Behind that string is what the earlier rounds learned: answers, and the
/// values of [`Context::step`](crate::Context::step). The default, [`MemoryStates`], keeps it in this process and gives the
/// client a meaningless handle. A store of your own can share it between processes.
///
/// The server puts nothing into the binding but what must be the same in every round: the principal, the method, and its
/// parameters. A store must refuse a state under any other binding than its own.
pub trait StateStore: Send + Sync {
    /// Keeps `state` for `time`, under `binding`, and returns the request state for the client.
    ///
    /// # Errors
    /// When it cannot be kept.
    fn keep(&self, binding: &[u8], state: Vec<u8>, time: Duration) -> Result<String, StateError>;

    /// What is kept under `request_state` and `binding`. A store that can tells each state once, so that no answer counts
    /// twice.
    ///
    /// # Errors
    /// When `request_state` is made up or changed, belongs to another binding, was told already, or is too old.
    fn take(&self, binding: &[u8], request_state: &str) -> Result<Vec<u8>, StateError>;
}

/// Why a request state is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// It is none of this store, or it has been used, or it had to make room for others.
    #[error("unknown, or used already")]
    Unknown,
    /// Its time is over.
    #[error("expired")]
    Expired,
    /// It belongs to another call: to another method, other parameters, or another principal.
    #[error("it belongs to another call")]
    Foreign,
    /// More than the store takes.
    #[error("the state of a call has {size} bytes, more than {limit}")]
    TooLarge {
        /// Bytes of the state.
        size: usize,
        /// Bytes that a state may have.
        limit: usize,
    },
    /// The store itself failed.
    #[error("{0}")]
    Failed(String),
}

/// The largest state of a call, in bytes.
const MAX_STATE_BYTES: usize = 1024 * 1024;

/// All states of a server together.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// So many states are kept.
const MAX_STATES: usize = 1024;

/// States in the memory of this process, each told once.
///
/// Bound: 1,024 states, 16 MiB in all and 1 MiB each; the oldest make room. A server that is one of several behind a load
/// balancer needs a store that they share.
///
/// ```
/// use std::time::Duration;
/// use tinymcp::context::{MemoryStates, StateError, StateStore};
///
/// let states = MemoryStates::new();
/// let handle = states.keep(b"call a", b"what was learned".to_vec(), Duration::from_secs(600))?;
/// assert_eq!(states.take(b"call b", &handle), Err(StateError::Foreign));
/// assert_eq!(states.take(b"call a", &handle)?, b"what was learned");
/// assert_eq!(states.take(b"call a", &handle), Err(StateError::Unknown));
/// # Ok::<(), StateError>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryStates {
    /// Held for a look-up.
    kept: Mutex<Kept>,
    /// Keys of hashes that nobody outside can compute: one half of a handle, or of the trace of a binding, each.
    keys: [RandomState; 2],
}

#[derive(Default)]
struct Kept {
    /// By the number in the handle, so that the first is the oldest.
    states: BTreeMap<u64, State>,
    bytes: usize,
    given_out: u64,
}

struct State {
    binding: u128,
    until: Deadline,
    state: Vec<u8>,
}

impl MemoryStates {
    /// Without states.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number, and what only we can compute from it.
    fn handle(&self, number: u64) -> String {
        format!("{number}-{:032x}", self.hash(1, &number.to_be_bytes()))
    }

    fn hash(&self, kind: u8, bytes: &[u8]) -> u128 {
        let [high, low] = &self.keys;
        u128::from(high.hash_one((kind, bytes))) << 64 | u128::from(low.hash_one((kind, bytes)))
    }
}

impl StateStore for MemoryStates {
    fn keep(&self, binding: &[u8], state: Vec<u8>, time: Duration) -> Result<String, StateError> {
        if state.len() > MAX_STATE_BYTES {
            return Err(StateError::TooLarge { size: state.len(), limit: MAX_STATE_BYTES });
        }
        let binding = self.hash(0, binding);
        let mut kept = lock(&self.kept);
        kept.given_out += 1;
        let number = kept.given_out;
        kept.bytes += state.len();
        kept.states.insert(number, State { binding, until: Deadline::after(Some(time)), state });
        while kept.states.len() > MAX_STATES || kept.bytes > MAX_BYTES {
            let oldest = kept.states.keys().next().copied();
            oldest.and_then(|oldest| kept.remove(oldest));
        }
        Ok(self.handle(number))
    }

    fn take(&self, binding: &[u8], request_state: &str) -> Result<Vec<u8>, StateError> {
        let number = request_state.split_once('-').and_then(|(number, _)| number.parse().ok());
        let number =
            number.filter(|number| self.handle(*number) == request_state).ok_or(StateError::Unknown)?;
        let binding = self.hash(0, binding);
        let mut kept = lock(&self.kept);
        let found = kept.states.get(&number).ok_or(StateError::Unknown)?;
        if found.until.has_passed() {
            kept.remove(number);
            return Err(StateError::Expired);
        }
        if found.binding != binding {
            return Err(StateError::Foreign); // and stays, for its own call
        }
        kept.remove(number).map(|found| found.state).ok_or(StateError::Unknown)
    }
}

impl Kept {
    fn remove(&mut self, number: u64) -> Option<State> {
        let state = self.states.remove(&number)?;
        self.bytes -= state.state.len();
        Some(state)
    }
}

impl std::fmt::Debug for Kept {
    /// States may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").field("states", &self.states.len()).field("bytes", &self.bytes).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn only_the_unchanged_handle_of_the_same_call_is_accepted_in_time_and_once() {
        let states = MemoryStates::new();
        let handle = states.keep(b"a", b"1".to_vec(), LONG).expect("kept");
        let mut other = handle.clone();
        let last = other.pop().expect("not empty");
        other.push(if last == '0' { '1' } else { '0' });
        for made_up in ["", "1", "1-", &other, &format!("{handle}0"), "x-y", &format!("+{handle}")] {
            assert_eq!(states.take(b"a", made_up), Err(StateError::Unknown), "{made_up}");
        }
        assert_eq!(states.take(b"b", &handle), Err(StateError::Foreign));
        assert_eq!(MemoryStates::new().take(b"a", &handle), Err(StateError::Unknown));
        assert_eq!(states.take(b"a", &handle), Ok(b"1".to_vec()));
        assert_eq!(states.take(b"a", &handle), Err(StateError::Unknown));
        let late = states.keep(b"a", b"1".to_vec(), Duration::ZERO).expect("kept");
        assert_eq!(states.take(b"a", &late), Err(StateError::Expired));
    }

    #[test]
    fn the_oldest_make_room() {
        let states = MemoryStates::new();
        let handles: Vec<_> =
            (0..=MAX_STATES).map(|_| states.keep(b"a", vec![0], LONG).expect("kept")).collect();
        assert_eq!(states.take(b"a", &handles[0]), Err(StateError::Unknown));
        assert!(states.take(b"a", &handles[1]).is_ok());
        let large = |n: usize| states.keep(b"a", vec![0; n], LONG);
        let first = large(MAX_STATE_BYTES).expect("kept");
        for _ in 0..MAX_BYTES / MAX_STATE_BYTES {
            large(MAX_STATE_BYTES).expect("kept");
        }
        assert_eq!(states.take(b"a", &first), Err(StateError::Unknown));
        assert!(lock(&states.kept).bytes <= MAX_BYTES);
        assert!(matches!(large(MAX_STATE_BYTES + 1), Err(StateError::TooLarge { .. })));
    }
}
