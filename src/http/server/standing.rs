//! [`Standing`]: the stream of a session for what belongs to no request, which its client opens by a GET.
//!
//! Until then, and while the client comes back, a few messages wait. In the HTTP+SSE of 2024-11-05 everything goes over it.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use super::events::StreamKey;
use super::exchange::{Exchange, answer_message, not_sent, notice};
use super::session::Session;
use super::sse::write_event;
use super::wire::{self, EventStream, NotWritten, Reply};
use crate::jsonrpc::ErrorObject;
use crate::peer::{Call, Limits, NotSent, Outlet, Pending};
use crate::sync::{Mutex, lock};
use crate::transport::{Direction, Tap, show};

/// So many messages wait for a client that has no stream open; older ones are given up.
const WAITING: usize = 64;

/// The outlet of a session as a whole.
pub(super) struct Standing {
    session: Weak<Session>,
    /// Who waits for answers of the client.
    pending: Pending,
    /// Answers that wait for a client that does not read.
    unsent_bytes: usize,
    /// Held while something is sent, which never waits for the client, and kept, which takes as long as the store does.
    state: Mutex<State>,
    tap: Option<Arc<dyn Tap>>,
}

#[derive(Default)]
struct State {
    stream: Option<EventStream>,
    id: Option<StreamKey>,
    waiting: VecDeque<Vec<u8>>,
    /// How often a stream was opened, which tells the present one.
    opened: u32,
    is_over: bool,
}

impl Standing {
    pub(super) fn new(session: &Weak<Session>, limits: &Limits, tap: Option<&Arc<dyn Tap>>) -> Self {
        Self {
            session: Weak::clone(session),
            pending: Pending::new(limits.pending),
            unsent_bytes: limits.unsent_bytes,
            state: Mutex::default(),
            tap: tap.cloned(),
        }
    }

    pub(super) fn pending(&self) -> &Pending {
        &self.pending
    }

    /// Everything goes over `reply` from now on, what has waited at once; a stream from before ends. `first` is asked for what it
    /// opens with and its name, when nothing else can be sent; `closed` is called when the client closes it, or else dropped.
    pub(super) fn open(
        self: &Arc<Self>,
        reply: Reply,
        first: impl FnOnce() -> (Vec<u8>, Option<StreamKey>),
        closed: impl FnOnce() + Send + 'static,
    ) {
        let mut state = lock(&self.state);
        let (first, id) = first();
        let stream = reply.stream(&[], &first);
        for message in std::mem::take(&mut state.waiting) {
            if let Err(reason) = stream.send(&self.event(id.as_ref(), &message).0) {
                log::debug!("dropped a message of a session: {reason:?}");
            }
        }
        state.opened += 1;
        let opened = state.opened;
        state.id = id;
        let old = if state.is_over { Some(stream.clone()) } else { state.stream.replace(stream.clone()) };
        drop(state);
        if let Some(old) = old {
            old.finish(b"");
        }
        let standing = Arc::clone(self);
        stream.when_gone(Box::new(move || {
            standing.closed(opened);
            closed();
        }));
    }

    /// The client has closed the stream.
    fn closed(&self, opened: u32) {
        let mut state = lock(&self.state);
        if state.opened == opened {
            let gone = state.stream.take();
            drop(state);
            drop(gone);
        }
    }

    /// Whether the client has it open.
    pub(super) fn is_open(&self) -> bool {
        lock(&self.state).stream.is_some()
    }

    /// Whether a stream of this name is, or was at last, this one.
    pub(super) fn is(&self, id: &StreamKey) -> bool {
        lock(&self.state).id.as_ref() == Some(id)
    }

    /// The session has ended.
    pub(super) fn end(&self) {
        self.pending.close();
        let mut state = lock(&self.state);
        state.is_over = true;
        state.waiting.clear();
        drop(state);
        self.end_stream();
    }

    /// The client is told that no more comes.
    pub(super) fn end_stream(&self) {
        let stream = lock(&self.state).stream.take();
        if let Some(stream) = stream {
            stream.finish(b"");
        }
    }

    /// Sends a message, or has it wait.
    pub(super) fn message(&self, message: &[u8]) -> Result<(), NotSent> {
        let message = message.strip_suffix(b"\n").unwrap_or(message);
        let sent = self.over_stream(message, EventStream::send).unwrap_or_else(|| {
            // It has opened none, but waits for an answer.
            let exchange = || self.session.upgrade().and_then(|session| session.open_exchange());
            match exchange().map(|exchange| exchange.event(message)) {
                Some(Ok(())) => Ok(()),
                _ => self.have_wait(message).inspect(|()| {
                    // Or does so since this moment, and found nothing that waits.
                    exchange().into_iter().for_each(|exchange| self.hand_over(&exchange));
                }),
            }
        });
        self.show(&sent, message);
        sent
    }

    /// Sends an answer, for which there is more room than for other messages. If there is none, that is the end of the session.
    pub(super) fn answer_by(&self, message: &[u8]) {
        let room = self.unsent_bytes;
        let sent = self
            .over_stream(message, |stream, event| stream.push(event, room))
            .unwrap_or_else(|| Err(NotSent::Closed("the client has closed its stream".to_owned())));
        self.show(&sent, message);
        match sent {
            Ok(()) => {}
            Err(NotSent::Closed(reason)) => log::debug!("an answer was not sent: {reason}"),
            Err(NotSent::Full(limit)) => {
                log::warn!("a session is ended: {limit} bytes wait for a client that does not read");
                if let Some(session) = self.session.upgrade() {
                    session.leave("the client does not read");
                }
            }
        }
    }

    /// `None`: there is no stream.
    fn over_stream(
        &self,
        message: &[u8],
        send: impl FnOnce(&EventStream, &[u8]) -> Result<(), NotWritten>,
    ) -> Option<Result<(), NotSent>> {
        let state = lock(&self.state);
        if state.is_over {
            return Some(Err(NotSent::Closed("the session has ended".to_owned())));
        }
        self.over(&state, message, send)
    }

    /// The same of what is known to be open. A stream that breaks in this moment is none, unless the client can come back for what
    /// is kept of it.
    fn over(
        &self,
        state: &State,
        message: &[u8],
        send: impl FnOnce(&EventStream, &[u8]) -> Result<(), NotWritten>,
    ) -> Option<Result<(), NotSent>> {
        let stream = state.stream.as_ref()?;
        let (event, is_kept) = self.event(state.id.as_ref(), message);
        match send(stream, &event) {
            Err(NotWritten::Gone) => is_kept.then_some(Ok(())),
            sent => Some(sent.map_err(not_sent)),
        }
    }

    fn have_wait(&self, message: &[u8]) -> Result<(), NotSent> {
        let mut state = lock(&self.state);
        // It may have been opened in this moment.
        if let Some(sent) = self.over(&state, message, EventStream::send) {
            return sent;
        }
        let bytes = |state: &State| state.waiting.iter().map(Vec::len).sum::<usize>() + message.len();
        while state.waiting.len() == WAITING
            || (!state.waiting.is_empty() && bytes(&state) > self.unsent_bytes)
        {
            state.waiting.pop_front();
        }
        state.waiting.push_back(message.to_vec());
        Ok(())
    }

    fn show(&self, sent: &Result<(), NotSent>, message: &[u8]) {
        if let (Ok(()), Some(tap)) = (sent, &self.tap) {
            show(&**tap, Direction::Sent, message);
        }
    }

    /// What waits goes over the answer that the client waits for, unless it has a stream.
    pub(super) fn hand_over(&self, exchange: &Exchange) {
        let waiting = {
            let mut state = lock(&self.state);
            if state.stream.is_some() { VecDeque::new() } else { std::mem::take(&mut state.waiting) }
        };
        for message in waiting {
            // It may have been answered in this moment.
            if let Err(reason) = exchange.event(&message).or_else(|_| self.have_wait(&message)) {
                log::debug!("dropped a message of a session: {reason:?}");
            }
        }
    }

    /// A message as an event of the stream `id`, and whether it is kept.
    fn event(&self, id: Option<&StreamKey>, message: &[u8]) -> (Vec<u8>, bool) {
        let event_id = id.and_then(|id| self.session.upgrade()?.keep(id, message));
        let mut event = Vec::with_capacity(message.len() + 64);
        write_event(&mut event, event_id.as_deref(), None, message);
        (event, event_id.is_some())
    }
}

impl Outlet for Standing {
    fn notify(&self, call: &Call, method: &str, params: &str, is_due: &dyn Fn() -> bool) -> bool {
        let message = notice(method, Some(params));
        let sent = call.while_open(|| is_due().then(|| self.message(&message))).flatten();
        matches!(sent, Some(Ok(())))
    }

    fn post(&self, call: Option<&Call>, method: &str, params: Option<&str>) -> Result<(), NotSent> {
        let send = || self.message(&notice(method, params));
        let ended = || Err(NotSent::Closed("the request has ended".to_owned()));
        call.map_or_else(|| Some(send()), |call| call.while_open(send)).unwrap_or_else(ended)
    }

    fn pending(&self) -> Option<&Pending> {
        Some(&self.pending)
    }

    fn send(&self, _call: &Call, frame: &[u8]) -> Result<(), NotSent> {
        self.message(frame)
    }

    fn look_after(&self) {
        wire::lend();
    }

    fn answer(&self, call: &Arc<Call>, result: Result<&str, &ErrorObject>, _waits: bool) {
        self.answer_with(call, &answer_message(call, result));
    }
}

impl Standing {
    /// Answers `call` with a whole message, unless it has ended.
    pub(super) fn answer_with(&self, call: &Arc<Call>, message: &[u8]) {
        if self.session.upgrade().is_some_and(|session| session.finish(call)) {
            self.answer_by(message);
        }
    }
}
