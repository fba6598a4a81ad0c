//! [`Session`]: what is known of one Legacy client, from its `initialize` to its end.
//!
//! spec: 2025-11-25 basic/transports#session-management

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::answers::refusal;
use super::backend::{Backend, Line};
use super::events::{EventError, EventStore, Replay, StreamKey};
use super::exchange::Exchange;
use super::sessions::Sessions;
use super::sse::{write_event, write_priming};
use super::standing::Standing;
use super::wire::Response;
use crate::context::Principal;
use crate::jsonrpc::RequestId;
use crate::peer::{Call, InFlight, NotServed, Pending};
use crate::protocol::ProtocolVersion;
use crate::sync::{Mutex, lock};

/// What a client is told to wait before it comes back, if nothing else is said.
const RETRY: Duration = Duration::from_secs(1);

/// One Legacy client.
pub(super) struct Session {
    /// Cannot be guessed: whoever has it is the client.
    pub(super) id: String,
    /// Whether it speaks the HTTP+SSE of 2024-11-05.
    pub(super) is_pair: bool,
    pub(super) principal: Option<Principal>,
    pub(super) line: Arc<dyn Line>,
    /// Where it is found, until its end.
    sessions: Weak<Sessions>,
    in_flight: InFlight,
    standing: Arc<Standing>,
    events: Option<Arc<dyn EventStore>>,
    /// The exchanges that a client can come back to, by stream. Held for a look-up. End: each one's answer.
    streams: Mutex<HashMap<StreamKey, Arc<Exchange>>>,
    /// Those that wait without a thread. Held for a look-up. End: each one's answer.
    open: Mutex<Vec<(Arc<Call>, Weak<Exchange>)>>,
    used: Mutex<Used>,
}

/// Whether a session is in use.
struct Used {
    /// Requests and streams that are open.
    count: usize,
    /// When the last of them ended.
    since: Instant,
    is_over: bool,
}

/// Keeps a session from being idle.
pub(super) struct InUse(Arc<Session>);

impl Drop for InUse {
    fn drop(&mut self) {
        let mut used = lock(&self.0.used);
        used.count -= 1;
        used.since = Instant::now();
    }
}

/// What a session is made of.
pub(super) struct NewSession<'a> {
    pub(super) id: String,
    pub(super) is_pair: bool,
    pub(super) principal: Option<Principal>,
    pub(super) backend: &'a dyn Backend,
    pub(super) sessions: &'a Arc<Sessions>,
    pub(super) events: Option<Arc<dyn EventStore>>,
}

impl Session {
    pub(super) fn new(new: NewSession<'_>) -> Arc<Self> {
        let NewSession { id, is_pair, principal, backend, sessions, events } = new;
        let limits = backend.limits();
        // A pair has one stream that nobody can come back to.
        let events = events.filter(|_| !is_pair);
        Arc::new_cyclic(|session| Self {
            id,
            is_pair,
            principal,
            line: backend.line(session),
            sessions: Arc::downgrade(sessions),
            in_flight: InFlight::new(limits.in_flight),
            standing: Arc::new(Standing::new(session, limits, backend.tap())),
            events,
            streams: Mutex::default(),
            open: Mutex::default(),
            used: Mutex::new(Used { count: 0, since: Instant::now(), is_over: false }),
        })
    }

    pub(super) fn standing(&self) -> &Arc<Standing> {
        &self.standing
    }

    pub(super) fn pending(&self) -> &Pending {
        self.standing.pending()
    }

    /// Whether it is a session of `principal`. What else is known of somebody may have changed meanwhile, as with each new token.
    pub(super) fn is_of(&self, principal: &Option<Principal>) -> bool {
        self.principal.as_ref().map(Principal::id) == principal.as_ref().map(Principal::id)
    }

    /// Opens a call of the client, which is made by `principal` as it is now.
    pub(super) fn begin(&self, id: RequestId, principal: &Option<Principal>) -> Result<Arc<Call>, NotServed> {
        let call = self.in_flight.begin_by(id, principal.clone())?;
        // Looked at once it is counted: either this sees the end, or the end sees the call.
        if self.is_over() {
            self.in_flight.cancel(&call.id, "the session has ended");
        }
        Ok(call)
    }

    /// Whether `call` may be answered, by whoever asks first.
    pub(super) fn finish(&self, call: &Arc<Call>) -> bool {
        self.in_flight.finish(call)
    }

    /// The thread that served a call is done with it.
    pub(super) fn served(&self) {
        self.in_flight.end();
    }

    /// The client gives up on `id`. `false`: there is no such call (any more).
    pub(super) fn cancel(&self, id: &RequestId, reason: &str) -> bool {
        let is_cancelled = self.in_flight.cancel(id, reason);
        if is_cancelled {
            // Without a thread nobody else sees that there is no answer.
            let call =
                lock(&self.open).iter().find(|(call, _)| call.id == *id).map(|(call, _)| Arc::clone(call));
            call.iter().for_each(|call| self.give_up(call));
        }
        is_cancelled
    }

    /// A call that waits without a thread has no answer, if it was cancelled.
    fn give_up(&self, call: &Arc<Call>) {
        if !call.cancel.is_cancelled() {
            return;
        }
        let given_up = {
            let mut open = lock(&self.open);
            // Whoever takes it out is the one who gives it up.
            open.iter().position(|(known, _)| Arc::ptr_eq(known, call)).map(|at| open.swap_remove(at))
        };
        if let Some(exchange) = given_up.and_then(|(_, exchange)| exchange.upgrade()) {
            exchange.skip(self.no_answer());
        }
    }

    /// What HTTP says to a call that was cancelled.
    ///
    /// spec: 2025-11-25 basic/utilities/cancellation (which has no answer)
    pub(super) fn no_answer(&self) -> Response {
        if self.is_over() { refusal(404, "the session has ended") } else { Response::new(202) }
    }

    fn is_over(&self) -> bool {
        lock(&self.used).is_over
    }

    pub(super) fn is_open(&self, id: &RequestId) -> bool {
        self.in_flight.is_open(id)
    }

    /// `None` if it has ended.
    pub(super) fn in_use(self: &Arc<Self>) -> Option<InUse> {
        let mut used = lock(&self.used);
        if used.is_over {
            return None;
        }
        used.count += 1;
        Some(InUse(Arc::clone(self)))
    }

    /// Since when nothing is open; `None` if something is, or it has ended.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let used = lock(&self.used);
        (used.count == 0 && !used.is_over).then_some(used.since)
    }

    /// Ends it: whatever is open is cancelled, and its streams end.
    pub(super) fn end(&self, reason: &str) {
        if !std::mem::replace(&mut lock(&self.used).is_over, true) {
            self.wind_up(reason);
        }
    }

    /// Nobody can use it any more, if nothing has been open for `time`: then `true`, and the caller is to
    /// [wind it up](Self::wind_up).
    pub(super) fn give_up_idle(&self, time: Duration) -> bool {
        let mut used = lock(&self.used);
        let is_idle = !used.is_over && used.count == 0 && used.since.elapsed() >= time;
        used.is_over |= is_idle;
        is_idle
    }

    /// Ends what is left of it. To be called once, by whoever has ended it.
    pub(super) fn wind_up(&self, reason: &str) {
        self.in_flight.cancel_all(reason);
        let streams = std::mem::take(&mut *lock(&self.streams));
        streams.into_values().for_each(|exchange| exchange.abandon(refusal(404, reason)));
        let open = std::mem::take(&mut *lock(&self.open));
        open.iter()
            .filter_map(|(_, exchange)| exchange.upgrade())
            .for_each(|exchange| exchange.abandon(refusal(404, reason)));
        self.line.end(reason);
        self.standing.end();
        failed(self.stored(|events| events.forget(&self.id)));
    }

    /// Ends it from within: nobody finds it any more.
    pub(super) fn leave(&self, reason: &str) {
        if let Some(sessions) = self.sessions.upgrade() {
            sessions.end(&self.id, reason);
        }
    }

    /// The answer to `exchange` comes later. Until then the client hears over it what it opened no stream for.
    ///
    /// spec: 2025-11-25 basic/utilities/tasks#input-required-status (a client waits for a result to be asked)
    pub(super) fn stays_open(&self, call: &Arc<Call>, exchange: &Arc<Exchange>) {
        let mut open = lock(&self.open);
        Self::tidy(&mut open);
        if !open.iter().any(|(known, _)| Arc::ptr_eq(known, call)) {
            open.push((Arc::clone(call), Arc::downgrade(exchange)));
        }
        drop(open);
        self.standing.hand_over(exchange);
        // If it was cancelled in this moment.
        self.give_up(call);
    }

    /// The client of `exchange` has come back: if that waits, it hears what was to be said meanwhile.
    pub(super) fn is_back(&self, exchange: &Arc<Exchange>) {
        let waits =
            |(_, known): &(Arc<Call>, Weak<Exchange>)| std::ptr::eq(known.as_ptr(), Arc::as_ptr(exchange));
        let does_wait = lock(&self.open).iter().any(waits);
        if does_wait {
            self.standing.hand_over(exchange);
        }
    }

    /// An exchange that waits, if there is one.
    pub(super) fn open_exchange(&self) -> Option<Arc<Exchange>> {
        let mut open = lock(&self.open);
        Self::tidy(&mut open);
        open.iter().filter_map(|(_, exchange)| exchange.upgrade()).find(|exchange| exchange.is_open())
    }

    fn tidy(open: &mut Vec<(Arc<Call>, Weak<Exchange>)>) {
        open.retain(|(_, exchange)| exchange.upgrade().is_some_and(|exchange| !exchange.is_over()));
    }

    /// Whether its client can be told something now.
    pub(super) fn is_heard(&self) -> bool {
        self.standing.is_open() || self.open_exchange().is_some()
    }

    /// Whether its client can be told to come back.
    ///
    /// spec: 2025-11-25 basic/transports#sending-messages-to-the-server (earlier revisions have no priming event)
    pub(super) fn can_poll(&self) -> bool {
        self.events.is_some() && self.line.legacy_version() == Some(ProtocolVersion::V2025_11_25)
    }

    /// Begins the stream of `exchange`: what it opens with is appended to `first`. `None`: nobody can come back to it.
    pub(super) fn begin_stream(
        &self,
        exchange: Option<&Weak<Exchange>>,
        retry: Option<Duration>,
        first: &mut Vec<u8>,
    ) -> Option<StreamKey> {
        let id = self.stored(|events| events.begin(&self.id))?;
        let id = id.inspect_err(|e| log::warn!("a stream cannot be kept: {e}")).ok()?;
        if self.can_poll() {
            let Some(event_id) = self.keep(&id, b"") else {
                self.end_stream(&id);
                return None;
            };
            write_priming(first, &event_id, Some(retry.unwrap_or(RETRY)));
        }
        if let Some(exchange) = exchange.and_then(Weak::upgrade) {
            lock(&self.streams).insert(id.clone(), exchange);
        }
        // As in `begin`: nobody else would take it out.
        if self.is_over() {
            self.end_stream(&id);
            return None;
        }
        Some(id)
    }

    /// The answer of a stream has been kept, or there will be none.
    pub(super) fn end_stream(&self, id: &StreamKey) {
        let ended = lock(&self.streams).remove(id);
        drop(ended); // it may lead back here: not under the lock
        failed(self.stored(|events| events.end(id)));
    }

    /// Keeps a message of a stream, under the id that is returned.
    pub(super) fn keep(&self, id: &StreamKey, message: &[u8]) -> Option<String> {
        let message = std::str::from_utf8(message).ok()?;
        let kept = self.stored(|events| events.store(id, message))?;
        kept.inspect_err(|e| log::warn!("an event is not kept: {e}")).ok()
    }

    /// What a client has missed that saw the event `last`.
    pub(super) fn missed(&self, last: &str) -> Option<Replay> {
        let missed = self.stored(|events| events.after(&self.id, last))?;
        missed.inspect_err(|e| log::debug!("a client cannot come back: {e}")).ok()
    }

    /// Asks the store, which is the program's: its panic is a failure like any other.
    fn stored<T>(
        &self,
        ask: impl FnOnce(&dyn EventStore) -> Result<T, EventError>,
    ) -> Option<Result<T, EventError>> {
        let events = self.events.as_deref()?;
        let asked = catch_unwind(AssertUnwindSafe(|| ask(events)));
        Some(asked.unwrap_or_else(|_| Err(EventError::Failed("the store panicked".to_owned()))))
    }

    pub(super) fn exchange(&self, id: &StreamKey) -> Option<Arc<Exchange>> {
        lock(&self.streams).get(id).cloned()
    }
}

/// A store that fails costs what it would have kept.
fn failed(result: Option<Result<(), EventError>>) {
    if let Some(Err(e)) = result {
        log::warn!("the event store failed: {e}");
    }
}

/// The events of a replay.
pub(super) fn replayed(missed: &Replay) -> Vec<u8> {
    if missed.is_cut {
        log::debug!("some events of {:?} are not kept any more", missed.stream);
    }
    let mut out = Vec::new();
    for (id, message) in &missed.events {
        write_event(&mut out, Some(id), None, message.as_bytes());
    }
    out
}
