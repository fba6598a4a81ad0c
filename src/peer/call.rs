//! [`Call`]: a request of the peer that is being served.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, PoisonError};

use super::Principal;
use crate::jsonrpc::RequestId;
use crate::sync::{CancelToken, Deadline, Mutex, lock};

/// One request of the peer, from the moment it was read to its one answer.
///
/// Answering and cancelling race; whoever closes the call first wins, and nothing is sent for it after that.
///
/// spec: 2026-07-28 basic/patterns/cancellation#timing-considerations, basic/transports/stdio#cancellation (nothing more is
/// sent for a cancelled request), basic/patterns/progress#implementation-notes (progress stops with the answer)
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: RequestId,
    pub(crate) cancel: CancelToken,
    /// Who makes it, if that is known.
    pub(crate) principal: Option<Principal>,
    is_open: Mutex<bool>,
}

impl Call {
    pub(crate) fn new(id: RequestId) -> Self {
        Self::by(id, None)
    }

    pub(crate) fn by(id: RequestId, principal: Option<Principal>) -> Self {
        Self { id, cancel: CancelToken::new(), principal, is_open: Mutex::new(true) }
    }

    /// Closes the call: `true` for the one who may answer (or need not, because he cancelled).
    pub(crate) fn close(&self) -> bool {
        std::mem::replace(&mut *lock(&self.is_open), false)
    }

    /// Runs `send` if the call is still open, and keeps it open meanwhile. `send` must not block.
    pub(crate) fn while_open<T>(&self, send: impl FnOnce() -> T) -> Option<T> {
        let is_open = lock(&self.is_open);
        is_open.then(send)
    }
}

/// Why a request is not served.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotServed {
    /// The id belongs to a call that is open.
    Duplicate,
    /// This many calls are open.
    Full(usize),
}

/// The open calls by id. Owner: the peer. Bound: `limit`. End: each call's.
#[derive(Debug)]
pub(crate) struct InFlight {
    calls: Mutex<HashMap<RequestId, Arc<Call>>>,
    limit: usize,
    /// Signalled when the last call has ended; for draining.
    empty: Condvar,
    /// The number of threads that serve a call, kept apart from `calls`: a cancelled call has no entry, but
    /// its handler may still run.
    serving: std::sync::Mutex<Serving>,
}

#[derive(Debug, Default)]
struct Serving {
    count: usize,
    is_awaited: bool,
}

impl InFlight {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            calls: Mutex::new(HashMap::new()),
            limit,
            empty: Condvar::new(),
            serving: std::sync::Mutex::default(),
        }
    }

    pub(crate) fn begin(&self, id: RequestId) -> Result<Arc<Call>, NotServed> {
        self.begin_by(id, None)
    }

    pub(crate) fn begin_by(
        &self,
        id: RequestId,
        principal: Option<Principal>,
    ) -> Result<Arc<Call>, NotServed> {
        let call = {
            let mut calls = lock(&self.calls);
            let is_full = calls.len() >= self.limit;
            // spec: 2026-07-28 basic/index#requests (an id must not match another open request of its sender)
            match calls.entry(id) {
                std::collections::hash_map::Entry::Occupied(_) => return Err(NotServed::Duplicate),
                std::collections::hash_map::Entry::Vacant(_) if is_full => {
                    return Err(NotServed::Full(self.limit));
                }
                std::collections::hash_map::Entry::Vacant(place) => {
                    let call = Arc::new(Call::by(place.key().clone(), principal));
                    Arc::clone(place.insert(call))
                }
            }
        };
        self.serving().count += 1;
        Ok(call)
    }

    /// Whether a call of this id is open: any answer with this id would be taken for its own.
    pub(crate) fn is_open(&self, id: &RequestId) -> bool {
        lock(&self.calls).contains_key(id)
    }

    /// The handler of `call` has returned: `true` if it may answer. The caller then answers and calls
    /// [`end`](Self::end).
    pub(crate) fn finish(&self, call: &Arc<Call>) -> bool {
        let may_answer = call.close();
        if may_answer {
            lock(&self.calls).remove(&call.id);
        }
        may_answer
    }

    /// The answer of a finished call, if any, has been handed to the outbox.
    pub(crate) fn end(&self) {
        let mut serving = self.serving();
        serving.count -= 1;
        if serving.count == 0 && serving.is_awaited {
            self.empty.notify_all();
        }
    }

    /// The peer gave up on `id`. `false`: there is no such call (any more).
    pub(crate) fn cancel(&self, id: &RequestId, reason: &str) -> bool {
        let Some(call) = lock(&self.calls).get(id).cloned() else { return false };
        if !call.close() {
            return false;
        }
        lock(&self.calls).remove(id);
        call.cancel.cancel(reason);
        true
    }

    /// Fires every token; nothing is answered any more.
    pub(crate) fn cancel_all(&self, reason: &str) {
        let calls = std::mem::take(&mut *lock(&self.calls));
        for call in calls.into_values() {
            call.close();
            call.cancel.cancel(reason);
        }
    }

    /// Waits until no handler runs; `false` if some still did at the deadline.
    pub(crate) fn drain(&self, deadline: Deadline) -> bool {
        let mut serving = self.serving();
        while serving.count > 0 {
            serving.is_awaited = true;
            serving = match deadline.remaining() {
                Some(left) if left.is_zero() => return false,
                Some(left) => {
                    self.empty.wait_timeout(serving, left).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.empty.wait(serving).unwrap_or_else(PoisonError::into_inner),
            };
        }
        true
    }

    fn serving(&self) -> std::sync::MutexGuard<'_, Serving> {
        self.serving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
