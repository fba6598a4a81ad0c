//! [`Pending`]: our own requests that wait for an answer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

use crate::json::Json;
use crate::jsonrpc::{ErrorObject, RequestId};
use crate::sync::{Mutex, lock};

/// As many progress reports wait for a caller that is slow to look; later ones are dropped.
const PROGRESS: usize = 64;

/// An answer as it came.
pub(crate) type Answer = Result<Json, NoResult>;

/// What came in place of a result.
#[derive(Debug)]
pub(crate) enum NoResult {
    /// The peer's error.
    Error(ErrorObject),
    /// Something that cannot be read; why.
    Garbled(String),
}

/// Who waits for which id. Owner: the peer. Bound: `limit` entries. End: each entry's answer, its caller's loss of
/// interest, or the connection's end, which disconnects every channel.
#[derive(Debug)]
pub(crate) struct Pending {
    next: AtomicI64,
    limit: usize,
    /// `None` after the end of the connection.
    slots: Mutex<Option<HashMap<i64, Slot>>>,
}

#[derive(Debug)]
struct Slot {
    answer: Sender<Answer>,
    progress: Option<Sender<Json>>,
}

/// What the caller holds. The progress that came before the answer is in its channel before the answer is in its own.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) id: i64,
    pub(crate) answer: Receiver<Answer>,
    /// Never ready if no progress was asked for.
    pub(crate) progress: Receiver<Json>,
}

/// Why no slot was given.
#[derive(Debug)]
pub(crate) enum NoSlot {
    Full(usize),
    Closed,
}

impl Pending {
    pub(crate) fn new(limit: usize) -> Self {
        Self { next: AtomicI64::new(1), limit, slots: Mutex::new(Some(HashMap::new())) }
    }

    /// Takes the next id, which is also the token of its progress, and a slot for its answer.
    ///
    /// spec: 2026-07-28 basic/index#requests, basic/patterns/progress#progress-flow (both are unique: no id is given
    /// out twice)
    pub(crate) fn register(&self, wants_progress: bool) -> Result<Waiting, NoSlot> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer_tx, answer) = bounded(1);
        let (progress_tx, progress) = if wants_progress {
            let (tx, rx) = bounded(PROGRESS);
            (Some(tx), rx)
        } else {
            (None, crossbeam_channel::never())
        };
        let mut slots = lock(&self.slots);
        let slots = slots.as_mut().ok_or(NoSlot::Closed)?;
        if slots.len() >= self.limit {
            return Err(NoSlot::Full(self.limit));
        }
        slots.insert(id, Slot { answer: answer_tx, progress: progress_tx });
        Ok(Waiting { id, answer, progress })
    }

    /// Delivers an answer. `false`: nobody waits for this id (any more).
    pub(crate) fn complete(&self, id: &RequestId, answer: Answer) -> bool {
        let Some(number) = own_id(id) else { return false };
        let slot = lock(&self.slots).as_mut().and_then(|slots| slots.remove(&number));
        // The one place of the channel is free: a slot is completed once.
        slot.is_some_and(|slot| slot.answer.send(answer).is_ok())
    }

    /// Delivers progress; the token of a request is its id. `false`: nobody asked.
    pub(crate) fn progress(&self, token: &RequestId, params: Json) -> bool {
        let Some(number) = own_id(token) else { return false };
        let sender = lock(&self.slots)
            .as_ref()
            .and_then(|slots| slots.get(&number))
            .and_then(|slot| slot.progress.clone());
        match sender.map(|sender| sender.try_send(params)) {
            Some(Err(TrySendError::Full(_))) => {
                log::debug!("dropped progress of request {number}: {PROGRESS} reports wait already");
                true
            }
            Some(Ok(())) => true,
            Some(Err(TrySendError::Disconnected(_))) | None => false,
        }
    }

    /// Forgets a request; `true` if it was still waiting.
    pub(crate) fn forget(&self, id: i64) -> bool {
        lock(&self.slots).as_mut().is_some_and(|slots| slots.remove(&id).is_some())
    }

    /// Disconnects everybody who waits, and everybody who would.
    pub(crate) fn close(&self) {
        let slots = lock(&self.slots).take();
        drop(slots);
    }
}

/// Our ids are integers. Some servers answer with the string form of one.
fn own_id(id: &RequestId) -> Option<i64> {
    match id {
        RequestId::Number(number) => Some(*number),
        RequestId::String(text) => {
            let number = text.parse().ok().filter(|number: &i64| number.to_string() == *text)?;
            log::debug!("the peer spelled our id {number} as a string");
            Some(number)
        }
    }
}
