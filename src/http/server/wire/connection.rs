//! [`Connection`]: a socket, and where in the exchange of requests and answers it is.
//!
//! ```text
//!            ┌────────────── answered, and more may follow ◀───────────────┐
//!            ▼                                                             │
//!        Receiving ──▶ Serving ──▶ (Streaming) ──▶ Flushing ──────────────▶┤
//!            │             │            │             │                    ▼
//!            ▼             ▼            ▼             ▼                Lingering
//!         Closed ◀──────── the peer is gone, or something takes too long ──┘
//! ```
//!
//! **Invariants:** one request at a time, in the order they came; the inbox is with at most one thread, which reads without
//! the lock; what other people gave (callbacks, half a request) is called and dropped without it.

use std::io::Read;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::common::Common;
use super::inbox::{Inbox, Stage};
use super::outgoing::Outgoing;
use super::parse::{Manner, Refusal};
use super::readiness::{Event, Key, Source, Wants};
use super::registry::NEVER;
use super::{Response, text};
use crate::sync::{caught, lock};

/// Called when the peer has gone.
pub(super) type Gone = Box<dyn FnOnce() + Send>;

/// After its last answer a connection waits so long for its peer to close, and takes so many bytes: closed before those are
/// taken, the operating system would tell the peer to forget what it has not read yet.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 16 * 1024 * 1024;

/// The first turn.
const FIRST: u32 = 1;

/// A connection.
pub(super) struct Connection {
    pub(super) key: Key,
    pub(super) peer: SocketAddr,
    pub(super) common: Arc<Common>,
    /// Held for a system call that does not wait, at most.
    state: Mutex<State>,
}

pub(super) struct State {
    /// Until it is closed.
    pub(super) socket: Option<Arc<TcpStream>>,
    pub(super) phase: Phase,
    /// `None` while a thread reads.
    inbox: Option<Inbox>,
    /// There may be something to read: it came when nobody read.
    unread: bool,
    /// The peer sends no more.
    pub(super) has_ended: bool,
    pub(super) is_broken: bool,
    /// This is the last answer.
    pub(super) closes: bool,
    /// Counts the requests.
    pub(super) turn: u32,
    /// The request is not answered in full.
    pub(super) is_open: bool,
    pub(super) out: Outgoing,
    pub(super) gone: Option<Gone>,
    /// When what is waited for has taken too long.
    pub(super) deadline: u64,
    /// What the deadline is for, while receiving.
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Waits for a request or the rest of it.
    Receiving,
    /// A thread has the request.
    Serving,
    /// An event stream goes on.
    Streaming(Manner),
    /// What was answered is being written.
    Flushing,
    /// Takes so many more bytes to throw them away.
    Lingering(usize),
    Closed,
}

/// What is left to do when the lock is given back: it is other people's.
#[derive(Default)]
#[must_use]
pub(super) struct Rest {
    /// To be called.
    pub(super) gone: Option<Gone>,
    /// To be dropped.
    pub(super) callback: Option<Gone>,
    inbox: Option<Inbox>,
}

impl Rest {
    fn and(self, other: Self) -> Self {
        Self {
            gone: self.gone.or(other.gone),
            callback: self.callback.or(other.callback),
            inbox: self.inbox.or(other.inbox),
        }
    }

    pub(super) fn settle(self) {
        let Self { gone, callback, inbox } = self;
        caught(move || drop((callback, inbox)));
        if let Some(gone) = gone {
            caught(gone);
        }
    }
}

/// What a thread that reads has in its hands.
pub(super) struct Reading {
    pub(super) inbox: Inbox,
    pub(super) socket: Arc<TcpStream>,
    /// There may be something to read.
    pub(super) may_read: bool,
    /// Until the end is seen: no edge will tell of it any more.
    pub(super) has_ended: bool,
}

impl Connection {
    pub(super) fn new(key: Key, socket: Arc<TcpStream>, peer: SocketAddr, common: &Arc<Common>) -> Self {
        let state = State {
            socket: Some(socket),
            phase: Phase::Receiving,
            inbox: Some(Inbox::new(common.held())),
            unread: false,
            has_ended: false,
            is_broken: false,
            closes: false,
            turn: FIRST - 1,
            is_open: false,
            out: common.outgoing(),
            gone: None,
            deadline: common.clock.after(common.limits.idle_time),
            stage: Stage::Nothing,
        };
        Self { key, peer, common: Arc::clone(common), state: Mutex::new(state) }
    }

    /// One for which there is no room: its first request is answered before it is read.
    pub(super) fn to_turn_away(
        key: Key,
        socket: Arc<TcpStream>,
        peer: SocketAddr,
        common: &Arc<Common>,
    ) -> Self {
        let connection = Self::new(key, socket, peer, common);
        connection.begun(&mut connection.lock());
        connection
    }

    /// Says so, and closes it.
    pub(super) fn turn_away(&self, response: Response) {
        self.answer(FIRST, Manner::LAST, response);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Tells the operating system what is waited for, if it has to be told.
    pub(super) fn rearm(&self, state: &State) {
        let reads = match state.phase {
            Phase::Receiving => state.inbox.is_some(),
            Phase::Lingering(_) => true,
            Phase::Serving | Phase::Streaming(_) | Phase::Flushing => !state.unread && !state.has_ended,
            Phase::Closed => return,
        };
        self.common.readiness.rearm(self.key, Wants { read: reads, write: !state.out.is_empty() });
    }

    /// Has somebody of the crew look at the connection.
    pub(super) fn poke(&self, state: &State) {
        if let Some(socket) = &state.socket {
            self.common.readiness.poke(&Source::Stream(Arc::clone(socket)), self.key);
        }
    }

    /// Takes news. What there is to read is for the caller.
    pub(super) fn hear(&self, event: Event) -> Option<Reading> {
        let mut state = self.lock();
        let (reading, rest) = self.heard(&mut state, event);
        self.rearm(&state);
        drop(state);
        rest.settle();
        reading
    }

    fn heard(&self, state: &mut State, event: Event) -> (Option<Reading>, Rest) {
        state.has_ended |= event.has_ended;
        if event.is_broken || state.is_broken {
            return (None, self.close(state));
        }
        let mut rest = Rest::default();
        if event.is_writable && !state.out.is_empty() {
            rest = self.flush(state);
        }
        match state.phase {
            Phase::Receiving => {
                state.unread |= event.is_readable;
                return (self.begin_to_read(state), rest);
            }
            Phase::Streaming(_) if state.has_ended => rest = rest.and(self.close(state)),
            Phase::Serving | Phase::Streaming(_) | Phase::Flushing => {
                state.unread |= event.is_readable;
                if state.has_ended {
                    rest.gone = state.gone.take();
                }
            }
            Phase::Lingering(left) if event.is_readable => rest = rest.and(self.drain(state, left)),
            Phase::Lingering(_) | Phase::Closed => {}
        }
        (None, rest)
    }

    fn begin_to_read(&self, state: &mut State) -> Option<Reading> {
        let has_input = state.inbox.as_ref()?.has_input();
        let socket = state.socket.clone()?;
        if !state.unread && !has_input {
            return None;
        }
        let inbox = state.inbox.take()?;
        let may_read = std::mem::take(&mut state.unread);
        Some(Reading { inbox, socket, may_read, has_ended: state.has_ended })
    }

    /// The inbox comes back, as the request is not complete; unless there is more to read by now.
    pub(super) fn await_more(&self, inbox: Inbox) -> Option<Reading> {
        let mut state = self.lock();
        let stage = inbox.stage();
        if stage != state.stage {
            state.stage = stage;
            let limits = &self.common.limits;
            let time = match stage {
                Stage::Nothing => limits.idle_time,
                Stage::Head => limits.head_time,
                Stage::Body => limits.body_time,
            };
            state.deadline = self.common.clock.after(time);
        }
        let is_over = state.phase == Phase::Closed || self.common.is_stopping();
        state.inbox = Some(inbox);
        let (reading, rest) = if is_over {
            (None, self.close(&mut state))
        } else if state.unread {
            (self.begin_to_read(&mut state), Rest::default())
        } else {
            (None, Rest::default())
        };
        self.rearm(&state);
        drop(state);
        rest.settle();
        reading
    }

    /// Begins an exchange: a request is there, or has to be refused. `None`: the connection is closed.
    pub(super) fn begin(&self, inbox: Inbox, may_read: bool) -> Option<u32> {
        let mut state = self.lock();
        let is_over = state.phase == Phase::Closed || self.common.is_stopping();
        state.inbox = Some(inbox);
        if is_over {
            let rest = self.close(&mut state);
            drop(state);
            rest.settle();
            return None;
        }
        state.unread |= may_read;
        self.begun(&mut state);
        self.rearm(&state);
        Some(state.turn)
    }

    fn begun(&self, state: &mut State) {
        self.common.exchange_began();
        state.phase = Phase::Serving;
        state.turn = state.turn.wrapping_add(1);
        state.is_open = true;
        state.deadline = NEVER;
    }

    /// Everything that was answered is written.
    pub(super) fn end(&self, state: &mut State) -> Rest {
        state.is_open = false;
        self.common.exchange_ended();
        let callback = state.gone.take();
        if state.closes || self.common.is_stopping() {
            return Rest { callback, ..self.linger(state) };
        }
        state.phase = Phase::Receiving;
        state.stage = Stage::Nothing;
        state.deadline = self.common.clock.after(self.common.limits.idle_time);
        if state.unread || state.inbox.as_ref().is_some_and(Inbox::has_input) {
            self.poke(state);
        }
        Rest { callback, ..Rest::default() }
    }

    /// Says that nothing more will come, and waits for the peer to say the same.
    fn linger(&self, state: &mut State) -> Rest {
        let said = state.socket.as_ref().map(|socket| socket.shutdown(Shutdown::Write));
        if !matches!(said, Some(Ok(()))) {
            return self.close(state);
        }
        state.phase = Phase::Lingering(LINGER_BYTES);
        state.deadline = self.common.clock.after(LINGER);
        if state.unread || state.has_ended {
            self.poke(state);
        }
        Rest { inbox: state.inbox.take(), ..Rest::default() }
    }

    fn drain(&self, state: &mut State, mut left: usize) -> Rest {
        let mut room = [0; 4096];
        while let Some(socket) = &state.socket {
            match (&**socket).read(&mut room) {
                Ok(n) if n > 0 && n <= left => left -= n,
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                _ => return self.close(state),
            }
        }
        state.phase = Phase::Lingering(left);
        Rest::default()
    }

    /// Writes on.
    fn flush(&self, state: &mut State) -> Rest {
        let Some(socket) = &state.socket else { return Rest::default() };
        match state.out.flush(&mut &**socket) {
            Err(_) => self.close(state),
            Ok(_) if state.out.is_empty() && state.phase == Phase::Flushing => self.end(state),
            Ok(written) => {
                // Asking for a body is no answer, and has no time of its own.
                if written > 0 && matches!(state.phase, Phase::Streaming(_) | Phase::Flushing) {
                    self.wrote(state);
                }
                Rest::default()
            }
        }
    }

    /// The time for the next step of an answer begins.
    pub(super) fn wrote(&self, state: &mut State) {
        let limits = &self.common.limits;
        let time = if state.out.is_empty() { limits.keep_alive } else { limits.write_time };
        state.deadline = self.common.clock.after(time);
    }

    /// Closes the connection.
    pub(super) fn close(&self, state: &mut State) -> Rest {
        if state.phase == Phase::Closed {
            return Rest { inbox: state.inbox.take(), ..Rest::default() };
        }
        state.phase = Phase::Closed;
        state.has_ended = true;
        state.out.clear();
        self.common.readiness.forget(self.key);
        state.socket = None;
        let mut rest = Rest { inbox: state.inbox.take(), ..Rest::default() };
        if state.is_open {
            self.common.exchange_ended();
            rest.gone = state.gone.take();
        }
        self.common.registry.remove(self.key);
        self.common.room_was_made();
        rest
    }

    /// The peer has ended, or the connection broke, while its inbox was with the caller.
    pub(super) fn ended(&self, inbox: Inbox) {
        let mut state = self.lock();
        state.inbox = Some(inbox);
        let rest = self.close(&mut state);
        drop(state);
        rest.settle();
    }

    /// Looks whether something has taken too long; returns when to look again.
    pub(super) fn look(self: &Arc<Self>, now: u64) -> u64 {
        let mut state = self.lock();
        if now < state.deadline {
            return state.deadline;
        }
        let mut is_slow = false;
        let rest = match state.phase {
            // Somebody is at it in this moment.
            Phase::Receiving if state.inbox.is_none() => return now,
            Phase::Receiving if state.stage == Stage::Nothing => self.close(&mut state),
            Phase::Receiving => {
                is_slow = true;
                self.begun(&mut state);
                Rest::default()
            }
            _ if state.is_broken => self.close(&mut state),
            Phase::Streaming(manner) if state.out.is_empty() => {
                self.keep_alive(&mut state, manner);
                Rest::default()
            }
            Phase::Streaming(_) | Phase::Flushing | Phase::Lingering(_) => self.close(&mut state),
            Phase::Serving | Phase::Closed => Rest::default(),
        };
        let (next, turn) = (state.deadline, state.turn);
        self.rearm(&state);
        drop(state);
        rest.settle();
        if is_slow {
            self.answer(turn, Manner::LAST, Refusal::new(408, "the request took too long").into_response());
        }
        next
    }

    /// The wire stops: `true` closes the connection whatever it does, otherwise one that serves or writes goes on until that is done.
    pub(super) fn stop(&self, at_once: bool) {
        let mut state = self.lock();
        state.closes = true;
        let is_busy = state.is_open || matches!(state.phase, Phase::Lingering(_));
        // A thread that reads looks whether the wire stops when it gives the inbox back.
        let is_read = state.phase == Phase::Receiving && state.inbox.is_none();
        let rest = if at_once || !is_busy && !is_read { self.close(&mut state) } else { Rest::default() };
        drop(state);
        rest.settle();
    }

    /// Closes the connection if its request is not answered: `true`.
    pub(super) fn cut_off(&self) -> bool {
        let mut state = self.lock();
        let is_unanswered = matches!(state.phase, Phase::Serving | Phase::Streaming(_));
        let rest = if is_unanswered { self.close(&mut state) } else { Rest::default() };
        drop(state);
        rest.settle();
        is_unanswered
    }

    /// It was registered with the operating system. If it has been closed meanwhile, it is forgotten again.
    pub(super) fn is_registered(&self) {
        if self.lock().phase == Phase::Closed {
            self.common.readiness.forget(self.key);
        }
    }

    /// Asks for the body.
    pub(super) fn ask_for_body(&self) {
        let mut state = self.lock();
        let State { socket: Some(socket), out, .. } = &mut *state else { return };
        if let Err(e) = out.write(&mut &**socket, text::CONTINUE) {
            // The thread that reads will meet the same.
            log::debug!("a connection broke while it was written to: {e}");
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("peer", &self.peer).finish_non_exhaustive()
    }
}
