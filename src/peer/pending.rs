//! [`Pending`]: our own requests that wait for an answer, and those that stay open without anybody waiting.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

use crate::json::Json;
use crate::jsonrpc::{ErrorObject, RequestId};
use crate::sync::{Mutex, lock};
use crate::transport::RequestFailure;

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
    /// Nothing, and nothing will. Boxed: answers are moved about.
    Failed(Box<RequestFailure>),
}

/// How a request ended that stays open without anybody waiting.
#[derive(Debug)]
pub(crate) enum StreamEnd {
    /// It was answered.
    Answer(Answer),
    /// The peer cancelled it.
    Cancelled,
}

/// Called once and without any lock, by the thread that reads or closes: must not block.
struct OnEnd<T>(Box<dyn FnOnce(T) + Send>);

impl<T> fmt::Debug for OnEnd<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnEnd")
    }
}

/// The channel of one call's answer; `None` is the end of the connection.
type Lane = (Sender<Option<Answer>>, Receiver<Option<Answer>>);

/// So many lanes are kept for later calls. Making a lane takes longer than everything else that is done for a call here.
const SPARE_LANES: usize = 64;

/// Who waits for which id. Owner: the peer. Bound: `limit` calls; whoever opens streams and listens for the end has a bound
/// of his own. End: each entry's answer, its caller's loss of interest, or the connection's end, which is told to everybody
/// who waits, and for streams to those who listen for it.
#[derive(Debug)]
pub(crate) struct Pending {
    next: AtomicI64,
    limit: usize,
    /// Answers to what was never asked.
    #[cfg(feature = "host")]
    strays: std::sync::atomic::AtomicU64,
    /// `None` after the end of the connection.
    open: Mutex<Option<Open>>,
}

#[derive(Debug, Default)]
struct Open {
    slots: HashMap<i64, Slot>,
    /// Empty lanes, at most [`SPARE_LANES`].
    spare: Vec<Lane>,
    /// Requests that stay open.
    streams: HashMap<i64, OnEnd<StreamEnd>>,
    /// Called at the end of the connection.
    closing: Vec<OnEnd<()>>,
}

#[derive(Debug)]
struct Slot {
    answer: Sender<Option<Answer>>,
    progress: Option<Sender<Json>>,
}

/// What the caller holds. The progress that came before the answer is in its channel before the answer is in its own.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) id: i64,
    lane: Lane,
    /// Never ready if no progress was asked for.
    pub(crate) progress: Receiver<Json>,
}

impl Waiting {
    /// Where the one answer comes.
    pub(crate) fn answer(&self) -> &Receiver<Option<Answer>> {
        &self.lane.1
    }
}

/// Why no slot was given.
#[derive(Debug)]
pub(crate) enum NoSlot {
    Full(usize),
    Closed,
}

impl Pending {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            next: AtomicI64::new(1),
            limit,
            #[cfg(feature = "host")]
            strays: std::sync::atomic::AtomicU64::new(0),
            open: Mutex::new(Some(Open::default())),
        }
    }

    /// Takes the next id, which is also the token of its progress, and a slot for its answer.
    ///
    /// spec: 2026-07-28 basic/index#requests, basic/patterns/progress#progress-flow (both are unique: no id is given
    /// out twice)
    pub(crate) fn register(&self, wants_progress: bool) -> Result<Waiting, NoSlot> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (progress_tx, progress) = if wants_progress {
            let (tx, rx) = bounded(PROGRESS);
            (Some(tx), rx)
        } else {
            (None, crossbeam_channel::never())
        };
        let mut open = lock(&self.open);
        let open = open.as_mut().ok_or(NoSlot::Closed)?;
        if open.slots.len() >= self.limit {
            return Err(NoSlot::Full(self.limit));
        }
        let lane = open.spare.pop().unwrap_or_else(|| bounded(1));
        open.slots.insert(id, Slot { answer: lane.0.clone(), progress: progress_tx });
        Ok(Waiting { id, lane, progress })
    }

    /// Takes the next id for a request that stays open until `on_end` is called. `None` after the end of the connection.
    pub(crate) fn register_stream(&self, on_end: Box<dyn FnOnce(StreamEnd) + Send>) -> Option<i64> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.open).as_mut()?.streams.insert(id, OnEnd(on_end));
        Some(id)
    }

    /// Has `on_close` called at the end of the connection; `false` if that has come.
    pub(crate) fn when_closed(&self, on_close: Box<dyn FnOnce(()) + Send>) -> bool {
        lock(&self.open).as_mut().map(|open| open.closing.push(OnEnd(on_close))).is_some()
    }

    /// The peer cancelled `id`; `false` if that is no stream (any more).
    pub(crate) fn cancelled(&self, id: &RequestId) -> bool {
        self.end_stream(id, || StreamEnd::Cancelled)
    }

    fn end_stream(&self, id: &RequestId, end: impl FnOnce() -> StreamEnd) -> bool {
        let Some(number) = own_id(id) else { return false };
        let on_end = lock(&self.open).as_mut().and_then(|open| open.streams.remove(&number));
        on_end.map(|on_end| (on_end.0)(end())).is_some()
    }

    /// The answer of `waiting` has been received: its lane is empty, and nobody sends on it any more.
    pub(crate) fn give_back(&self, waiting: &Waiting) {
        if let Some(open) = lock(&self.open).as_mut().filter(|open| open.spare.len() < SPARE_LANES) {
            open.spare.push(waiting.lane.clone());
        }
    }

    /// Delivers an answer. `false`: nobody waits for this id (any more).
    pub(crate) fn complete(&self, id: &RequestId, answer: Answer) -> bool {
        #[cfg(feature = "host")]
        self.count_stray(id);
        let Some(number) = own_id(id) else { return false };
        let slot = lock(&self.open).as_mut().and_then(|open| open.slots.remove(&number));
        match slot {
            // The one place of the channel is free: a slot is completed once.
            Some(slot) => slot.answer.send(Some(answer)).is_ok(),
            None => self.end_stream(&number.into(), || StreamEnd::Answer(answer)),
        }
    }

    /// An id that was never given out. One that was may come late.
    #[cfg(feature = "host")]
    fn count_stray(&self, id: &RequestId) {
        if own_id(id).is_none_or(|number| number < 1 || number >= self.next.load(Ordering::Relaxed)) {
            self.strays.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// So many answers came to what was never asked.
    #[cfg(feature = "host")]
    pub(crate) fn strays(&self) -> u64 {
        self.strays.load(Ordering::Relaxed)
    }

    /// Delivers progress; the token of a request is its id. `false`: nobody asked.
    pub(crate) fn progress(&self, token: &RequestId, params: Json) -> bool {
        let Some(number) = own_id(token) else { return false };
        let sender = lock(&self.open)
            .as_ref()
            .and_then(|open| open.slots.get(&number))
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
        let forgotten =
            lock(&self.open).as_mut().map(|open| (open.streams.remove(&id), open.slots.remove(&id)));
        // Dropped without the lock: what is called at an end may hold anything.
        forgotten.is_some_and(|(stream, slot)| stream.is_some() || slot.is_some())
    }

    /// Whether anybody waits for an answer.
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.open).as_ref().is_none_or(|open| open.slots.is_empty())
    }

    /// Tells everybody who waits, and refuses everybody who would.
    pub(crate) fn close(&self) {
        let Some(open) = lock(&self.open).take() else { return };
        for slot in open.slots.into_values() {
            // The one place is free. A caller who lost interest has dropped the other end.
            let _ = slot.answer.try_send(None);
        }
        open.closing.into_iter().for_each(|on_close| (on_close.0)(()));
    }
}

/// Our ids are integers. Some servers answer with the string form of one.
pub(crate) fn own_id(id: &RequestId) -> Option<i64> {
    match id {
        RequestId::Number(number) => Some(*number),
        RequestId::String(text) => {
            let number = text.parse().ok().filter(|number: &i64| number.to_string() == *text)?;
            log::debug!("the peer spelled our id {number} as a string");
            Some(number)
        }
    }
}
