//! [`Exchange`]: the answer to one POST, which becomes an event stream when something precedes it.
//!
//! ```text
//!   New ──▶ Undecided ── the answer comes first ─────────▶ Over     (JSON)
//!               │
//!               └─ an event comes first ─▶ Streaming ──▶ Over       (events, the answer is the last)
//!                                            │    ▲
//!                          the client is gone └▶ Away                (Legacy: events are kept for when it comes back)
//! ```
//!
//! **Invariants:** what precedes an answer is sent before it, and nothing after it; nothing here waits for the client.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::answers::{json_response, status_of};
use super::events::StreamKey;
use super::session::{InUse, Session};
use super::sse::write_event;
use super::wire::{self, EventStream, NotWritten, Reply, Response};
use crate::jsonrpc::{ErrorObject, begin_result, write_call, write_error};
use crate::peer::{Call, NotSent, Outlet, Pending};
use crate::sync::{Mutex, lock};
use crate::transport::{Direction, Tap, show};

/// The answer to one POST.
pub(super) struct Exchange {
    /// Held while something is sent, which never waits for the client, and kept, which takes as long as the store does.
    state: Mutex<State>,
    /// How often the client has come back. Changed under the lock of the state.
    returns: AtomicU32,
    /// How many answers are to come: one, and in a batch those of calls that stay open.
    answers: AtomicUsize,
    /// Of a Legacy client.
    session: Option<Arc<Session>>,
    me: Weak<Exchange>,
    tap: Option<Arc<dyn Tap>>,
}

enum State {
    New,
    Undecided(Reply),
    Streaming(EventStream, Option<StreamKey>),
    Away(StreamKey),
    Over,
}

impl Exchange {
    pub(super) fn new(session: Option<&Arc<Session>>, tap: Option<&Arc<dyn Tap>>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            state: Mutex::new(State::New),
            returns: AtomicU32::new(0),
            answers: AtomicUsize::new(1),
            session: session.cloned(),
            me: Weak::clone(me),
            tap: tap.cloned(),
        })
    }

    /// Where the answer goes. Dropped if the client has gone meanwhile.
    pub(super) fn open(&self, reply: Reply) {
        let mut state = lock(&self.state);
        if matches!(*state, State::New) {
            *state = State::Undecided(reply);
        }
    }

    /// Nothing more is sent.
    pub(super) fn over(&self) {
        let before = std::mem::replace(&mut *lock(&self.state), State::Over);
        drop(before); // what it holds may lead back here: not under the lock
    }

    /// Whether its client can be told something.
    pub(super) fn is_open(&self) -> bool {
        matches!(*lock(&self.state), State::Undecided(_) | State::Streaming(..))
    }

    /// Whether nothing more is said.
    pub(super) fn is_over(&self) -> bool {
        matches!(*lock(&self.state), State::Over)
    }

    /// The client's connection has ended, which is no cancellation in Legacy: what still comes is kept for it if it knows an
    /// event to ask with.
    ///
    /// spec: 2025-11-25 basic/transports#sending-messages-to-the-server
    pub(super) fn client_left(&self, returns: u32) {
        let mut state = lock(&self.state);
        if self.returns.load(Ordering::SeqCst) != returns {
            return; // it is back already, over another connection
        }
        let before = std::mem::replace(&mut *state, State::Over);
        match &before {
            State::Streaming(_, Some(id)) => *state = State::Away(id.clone()),
            State::Away(id) => *state = State::Away(id.clone()),
            _ => {}
        }
        drop(state);
        drop(before);
    }

    /// Sends a message ahead of the answer.
    pub(super) fn event(&self, message: &[u8]) -> Result<(), NotSent> {
        let message = message.strip_suffix(b"\n").unwrap_or(message);
        let mut state = lock(&self.state);
        let sent = match &*state {
            State::New | State::Over => Err(NotSent::Closed("the answer has been sent".to_owned())),
            State::Away(id) => {
                self.keep(id, message);
                Ok(())
            }
            State::Streaming(stream, id) => {
                let mut event = Vec::with_capacity(message.len() + 64);
                self.write(&mut event, id.as_ref(), message);
                match stream.send(&event) {
                    // It is kept for when the client comes back, who has left in this moment.
                    Err(NotWritten::Gone) if id.is_some() => Ok(()),
                    sent => sent.map_err(not_sent),
                }
            }
            State::Undecided(_) => {
                if let State::Undecided(reply) = std::mem::replace(&mut *state, State::Over) {
                    let (mut first, id) = self.begin_stream(None);
                    self.write(&mut first, id.as_ref(), message);
                    *state = State::Streaming(reply.stream(&[], &first), id);
                }
                Ok(())
            }
        };
        drop(state);
        if sent.is_ok() {
            self.show(message);
        }
        sent
    }

    /// The end of the answer: a result or an error, as `message`.
    pub(super) fn finish(&self, error: Option<&ErrorObject>, message: Vec<u8>) {
        self.show(&message);
        let before = std::mem::replace(&mut *lock(&self.state), State::Over);
        match before {
            State::Undecided(reply) => {
                // To a Legacy client a 404 is the end of its session.
                let error = error.filter(|_| self.session.is_none());
                reply.answer(json_response(error.map_or(200, status_of), message));
            }
            State::Streaming(stream, id) => {
                let mut event = Vec::with_capacity(message.len() + 64);
                self.write(&mut event, id.as_ref(), &message);
                stream.finish(&event);
                self.end_stream(id.as_ref());
            }
            State::Away(id) => {
                self.keep(&id, &message);
                self.end_stream(Some(&id));
            }
            State::New | State::Over => log::debug!("an answer has no client any more"),
        }
    }

    /// One more answer is to come.
    pub(super) fn expect_another(&self) {
        self.answers.fetch_add(1, Ordering::SeqCst);
    }

    /// One less is to come; `true` if it was the last.
    pub(super) fn expect_less(&self) -> bool {
        self.answers.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// Whether only one is to come.
    pub(super) fn is_last(&self) -> bool {
        self.answers.load(Ordering::SeqCst) == 1
    }

    /// A call has no answer. Without any, `response` is what HTTP says.
    ///
    /// spec: 2025-11-25 basic/utilities/cancellation#behavior-requirements
    pub(super) fn skip(&self, response: Response) {
        if self.expect_less() {
            self.abandon(response);
        }
    }

    /// Ends it without an answer of the server: by that of HTTP, or in the middle of its events.
    pub(super) fn abandon(&self, response: Response) {
        // Not within the match, which would hold the lock to its end.
        let before = std::mem::replace(&mut *lock(&self.state), State::Over);
        match before {
            State::Undecided(reply) => reply.answer(response),
            State::Streaming(stream, id) => {
                stream.finish(b"");
                self.end_stream(id.as_ref());
            }
            State::Away(id) => self.end_stream(Some(&id)),
            State::New | State::Over => {}
        }
    }

    /// Begins a stream of a session: what it opens with, and its name, if a client can come back to it.
    fn begin_stream(&self, retry: Option<Duration>) -> (Vec<u8>, Option<StreamKey>) {
        let mut first = Vec::new();
        let id =
            self.session.as_ref().and_then(|session| session.begin_stream(Some(&self.me), retry, &mut first));
        (first, id)
    }

    fn end_stream(&self, id: Option<&StreamKey>) {
        if let (Some(session), Some(id)) = (&self.session, id) {
            session.end_stream(id);
        }
    }

    /// Appends a message as an event, and keeps it where a client can come back.
    fn write(&self, out: &mut Vec<u8>, id: Option<&StreamKey>, message: &[u8]) {
        let event_id = id.and_then(|id| self.keep(id, message));
        write_event(out, event_id.as_deref(), None, message);
    }

    fn keep(&self, id: &StreamKey, message: &[u8]) -> Option<String> {
        self.session.as_ref()?.keep(id, message)
    }

    fn show(&self, message: &[u8]) {
        if let Some(tap) = &self.tap {
            show(&**tap, Direction::Sent, message);
        }
    }
}

/// The message of a notification.
pub(super) fn notice(method: &str, params: Option<&str>) -> Vec<u8> {
    let mut message = Vec::with_capacity(params.map_or(0, str::len) + method.len() + 48);
    write_call(&mut message, None, method, params);
    message
}

pub(super) fn not_sent(why: NotWritten) -> NotSent {
    match why {
        NotWritten::Full(limit) => NotSent::Full(limit),
        NotWritten::Gone => NotSent::Closed("the client has gone".to_owned()),
    }
}

/// The message of an answer.
pub(super) fn answer_message(call: &Call, result: Result<&str, &ErrorObject>) -> Vec<u8> {
    let mut message = Vec::new();
    match result {
        Ok(result) => {
            begin_result(&mut message, Some(&call.id));
            message.extend_from_slice(result.as_bytes());
            message.push(b'}');
        }
        Err(error) => write_error(&mut message, Some(&call.id), error),
    }
    message
}

impl Outlet for Exchange {
    fn notify(&self, call: &Call, method: &str, params: &str, is_due: &dyn Fn() -> bool) -> bool {
        let message = notice(method, Some(params));
        let sent = call.while_open(|| is_due().then(|| self.event(&message))).flatten();
        if let Some(Err(reason)) = &sent {
            log::debug!("dropped {method} of request {}: {reason:?}", call.id);
        }
        matches!(sent, Some(Ok(())))
    }

    fn post(&self, call: Option<&Call>, method: &str, params: Option<&str>) -> Result<(), NotSent> {
        let Some(call) = call else {
            return match &self.session {
                Some(session) => session.standing().post(None, method, params),
                None => Err(NotSent::Closed(format!("{method} belongs to no request"))),
            };
        };
        let ended = || Err(NotSent::Closed("the request has ended".to_owned()));
        call.while_open(|| self.event(&notice(method, params))).unwrap_or_else(ended)
    }

    fn pending(&self) -> Option<&Pending> {
        self.session.as_ref().map(|session| session.pending())
    }

    fn send(&self, _call: &Call, frame: &[u8]) -> Result<(), NotSent> {
        self.event(frame)
    }

    fn look_after(&self) {
        wire::lend();
    }

    fn of_connection(&self) -> Option<Weak<dyn Outlet>> {
        let standing: Arc<dyn Outlet> = self.session.as_ref()?.standing().clone();
        Some(Arc::downgrade(&standing))
    }

    fn send_away(&self, retry: Duration) -> bool {
        if !self.session.as_ref().is_some_and(|session| session.can_poll()) {
            return false;
        }
        let mut state = lock(&self.state);
        match std::mem::replace(&mut *state, State::Over) {
            State::Undecided(reply) => {
                let (first, id) = self.begin_stream(Some(retry));
                match id {
                    Some(id) => {
                        *state = State::Away(id);
                        drop(state);
                        reply.stream(&[], &first).finish(b"");
                        true
                    }
                    None => {
                        *state = State::Undecided(reply);
                        false
                    }
                }
            }
            State::Streaming(stream, Some(id)) => {
                *state = State::Away(id.clone());
                drop(state);
                let mut last = Vec::new();
                super::sse::write_retry(&mut last, retry);
                stream.finish(&last);
                true
            }
            other => {
                *state = other;
                false
            }
        }
    }

    fn answer(&self, call: &Arc<Call>, result: Result<&str, &ErrorObject>, _waits: bool) {
        self.answer_with(call, result.err(), answer_message(call, result));
    }
}

impl Exchange {
    /// Answers `call` with a whole message, which may be this error, unless it has ended.
    pub(super) fn answer_with(&self, call: &Arc<Call>, error: Option<&ErrorObject>, message: Vec<u8>) {
        let is_first = match &self.session {
            Some(session) => session.finish(call),
            None => call.close(),
        };
        if !is_first {
            return;
        }
        if self.expect_less() {
            self.finish(error, message);
        } else if let Err(reason) = self.event(&message) {
            // Its client would wait for it for ever.
            log::debug!("a batch is given up, of which an answer was not sent: {reason:?}");
            self.abandon(Response::new(500));
        }
    }

    /// The client has come back: it is told what it has `missed`, and over the same connection what still comes. `in_use` is kept
    /// as long.
    pub(super) fn resume(self: &Arc<Self>, reply: Reply, missed: impl FnOnce() -> Vec<u8>, in_use: InUse) {
        let mut state = lock(&self.state);
        // One that comes back while its old connection still looks alive knows better.
        let id = match &*state {
            State::Away(id) | State::Streaming(_, Some(id)) => id.clone(),
            _ => {
                drop(state);
                return reply.stream(&[], &missed()).finish(b"");
            }
        };
        let returns = self.returns.fetch_add(1, Ordering::SeqCst) + 1;
        let stream = reply.stream(&[], &missed());
        let before = std::mem::replace(&mut *state, State::Streaming(stream.clone(), Some(id)));
        drop(state);
        let exchange = Arc::clone(self);
        stream.when_gone(Box::new(move || {
            exchange.client_left(returns);
            drop(in_use);
        }));
        if let State::Streaming(old, _) = before {
            old.finish(b"");
        }
    }
}
