//! The engine: one connection, both directions, and the threads around it.
//!
//! ```text
//!               reader thread                         worker threads (pool)
//!   frames ──▶  decode ─┬─ response ──▶ Pending ──▶ the caller's channel
//!                       ├─ cancelled ─▶ InFlight ─▶ the call's cancel token
//!                       ├─ request ───▶ InFlight ─▶ Role::serve ──▶ Outbox ──▶ frames
//!                       └─ other notifications ───▶ Role::notified
//! ```
//!
//! **Invariants:** knows JSON-RPC and the three notices that belong to it (`ping`, `notifications/cancelled`,
//! `notifications/progress`) and no client or server; the thread that reads never waits for other people's code; no lock
//! is held while such code runs or while a send may block.

mod ask;
mod batch;
mod call;
mod density;
mod garbled;
#[cfg(all(test, shuttle))]
mod model;
mod outbox;
mod pending;
mod principal;
mod reader;
mod serve;
mod wait;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use serde_json::value::RawValue;

pub(crate) use ask::{Asked, NotAnswered, ask};
pub(crate) use call::Call;
pub(crate) use call::InFlight;
pub(crate) use outbox::{NotSent, Outbox, Writing};
use pending::NoSlot;
pub(crate) use pending::{NoResult, Pending, StreamEnd, Waiting, own_id};
pub use principal::Principal;
use reader::Reading;
pub(crate) use wait::{Patient, Waited, wait};
#[cfg(feature = "http-server")]
pub(crate) use {
    batch::split as split_batch, call::NotServed, garbled::answered as garbled_answer, reader::cancelled,
    serve::busy,
};

use crate::jsonrpc::{BadFrame, ErrorObject, RequestId, write_call};
use crate::sync::{Deadline, Mutex, ThreadPool, lock};
use crate::transport::{Connection, EndStep, Ending, Link, Patience};

/// How long after the end of the peer's process its output may last.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// What an engine may hold at a time. The public face is `ServerBuilder` and `ClientBuilder`.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Requests of the peer that are open.
    pub(crate) in_flight: usize,
    /// Threads that serve them.
    pub(crate) threads: usize,
    /// Our requests that wait for an answer.
    pub(crate) pending: usize,
    /// Bytes that wait for a peer that does not read.
    pub(crate) unsent_bytes: usize,
    /// The longest frame that is read.
    pub(crate) frame_bytes: usize,
}

/// A request as its handler sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: Option<&'a RawValue>,
}

/// Where a request is being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ground {
    /// On the thread that read it: only what is known to be short.
    Reader,
    /// On a thread of the pool.
    Worker,
}

/// A request while it is served.
#[derive(Clone, Copy)]
pub(crate) struct Serving<'a> {
    /// Where what belongs to it goes.
    pub(crate) outlet: &'a Arc<dyn Outlet>,
    pub(crate) call: &'a Arc<Call>,
    pub(crate) request: Request<'a>,
    pub(crate) ground: Ground,
}

/// What came of serving a request.
#[derive(Debug)]
pub(crate) enum Served {
    /// The result's text was appended to the buffer, or this is the error.
    Answered(Result<(), ErrorObject>),
    /// Not here: it may take long. Serve it on a worker.
    Elsewhere,
    /// It stays open without a thread, until [`Outlet::answer`] or the peer's cancellation ends it.
    Open,
}

/// Where what belongs to a call goes: the shared writer of a connection, or nowhere.
pub(crate) trait Outlet: Send + Sync {
    /// Sends a notification while `call` is open, so that it precedes the answer and nothing follows that, and if it
    /// `is_due` when its turn has come. `false`: it was not sent, as the peer does not read or the call has ended. Never
    /// waits for the peer, except to write where nobody else does.
    fn notify(&self, call: &Call, method: &str, params: &str, is_due: &dyn Fn() -> bool) -> bool;

    /// Sends a notification, while `call` is open if it belongs to one. Never waits for the peer: it is written by another
    /// thread.
    ///
    /// # Errors
    /// When the peer does not read, so that there is no room; when `call` or the connection has ended.
    fn post(&self, call: Option<&Call>, method: &str, params: Option<&str>) -> Result<(), NotSent>;

    /// Who waits for answers of the peer; `None` if it cannot be asked. See [`ask`](ask::ask).
    fn pending(&self) -> Option<&Pending>;

    /// Sends a frame to the peer for the sake of `call`.
    fn send(&self, call: &Call, frame: &[u8]) -> Result<(), NotSent>;

    /// Ends the connection if the peer is gone.
    fn look_after(&self);

    /// Where to send what outlasts its request; `None`: here.
    fn of_connection(&self) -> Option<Weak<dyn Outlet>> {
        None
    }

    /// Has the client come back for what is still to be sent, after `retry`; `false` if it cannot.
    fn send_away(&self, _retry: Duration) -> bool {
        false
    }

    /// Answers a call that was left [open](Served::Open), with the JSON of its result or an error. Nothing happens if it has
    /// ended. A thread that `waits` for the peer to read never loses the answer.
    fn answer(&self, call: &Arc<Call>, result: Result<&str, &ErrorObject>, waits: bool);
}

/// The server or the client behind a connection.
pub(crate) trait Role: Send + Sync + 'static {
    /// Whether the method runs nobody else's code and can be served by the reading thread at once.
    fn is_quick(&self, method: &str) -> bool;

    /// Serves one request: appends the result's JSON to `out`.
    fn serve(&self, serving: Serving<'_>, out: &mut Vec<u8>) -> Served;

    /// A notification the engine does not handle itself. Called by the reading thread: must not block.
    fn notified(&self, method: &str, params: Option<&RawValue>);

    /// A frame that is no message; the error to answer with, if any. Called by the reading thread.
    fn bad_frame(&self, frame: &[u8], bad: &BadFrame) -> Option<ErrorObject>;

    /// Whether a frame may hold several messages.
    fn accepts_batches(&self) -> bool {
        false
    }

    /// Whether responses may be written at all.
    fn may_respond(&self) -> bool {
        true
    }

    /// Whether a request carries the metadata of a Modern one.
    fn is_modern(&self, params: Option<&RawValue>) -> bool;

    /// The connection has ended. Called once, by the reading thread.
    fn ended(&self) {}
}

/// How the engine is set up.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) limits: Limits,
    pub(crate) writing: Writing,
    /// Whether the reading thread may run short calls itself.
    pub(crate) runs_short_calls: bool,
}

/// One connection's engine. Clones share it.
#[derive(Clone)]
pub(crate) struct Peer(Arc<Shared>);

/// What the threads of one engine share.
pub(crate) struct Shared {
    role: Arc<dyn Role>,
    outbox: Arc<Outbox>,
    pending: Pending,
    in_flight: InFlight,
    pool: ThreadPool,
    reading: Reading,
    link: Box<dyn Link>,
    /// Why reading ended: an error, or the end of the input.
    end: OnceLock<Option<String>>,
    /// Disconnected when reading has ended.
    ended: (Mutex<Option<Sender<()>>>, Receiver<()>),
    runs_short_calls: bool,
    /// No more requests are accepted.
    is_ending: AtomicBool,
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Peer({})", self.0.link.name())
    }
}

/// What had to be left behind at the end of a connection.
///
/// Displays as how the peer ended and then whatever did not go well: `killed (signal: 9 (SIGKILL)), a handler still runs`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CloseReport {
    /// What it took to end the peer.
    pub ending: Ending,
    /// Everything we had to say was written.
    pub flushed: bool,
    /// The reading thread was stuck in a read that nothing could end, and was left to itself.
    pub reader_detached: bool,
    /// So many threads still ran handlers and were left to themselves.
    pub handlers_detached: usize,
}

impl std::fmt::Display for CloseReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.ending)?;
        if !self.flushed {
            f.write_str(", not everything was written")?;
        }
        if self.reader_detached {
            f.write_str(", a read is still blocked")?;
        }
        match self.handlers_detached {
            0 => Ok(()),
            1 => f.write_str(", a handler still runs"),
            n => write!(f, ", {n} handlers still run"),
        }
    }
}

impl Peer {
    /// Starts the engine on an open connection.
    ///
    /// # Errors
    /// When the reading thread cannot be started.
    pub(crate) fn start(connection: Connection, role: Arc<dyn Role>, setup: &Setup) -> io::Result<Self> {
        let limits = &setup.limits;
        let (end_tx, end_rx) = bounded(0);
        let shared = Arc::new(Shared {
            role,
            outbox: Arc::new(Outbox::new(connection.writer, setup.writing, limits.unsent_bytes)),
            pending: Pending::new(limits.pending),
            in_flight: InFlight::new(limits.in_flight),
            pool: ThreadPool::new("mcp-worker", limits.threads, limits.in_flight),
            reading: Reading::new(connection.reader),
            link: connection.link,
            end: OnceLock::new(),
            ended: (Mutex::new(Some(end_tx)), end_rx),
            runs_short_calls: setup.runs_short_calls,
            is_ending: AtomicBool::new(false),
        });
        reader::start(&shared)?;
        Ok(Self(shared))
    }

    /// Sends a request; `write_params` is given its id and appends the parameters' JSON to the frame.
    pub(crate) fn request(
        &self,
        method: &str,
        wants_progress: bool,
        write_params: impl FnOnce(&mut Vec<u8>, i64),
    ) -> Result<Waiting, NotStarted> {
        let waiting = self.0.pending.register(wants_progress).map_err(|no_slot| match no_slot {
            NoSlot::Full(limit) => NotStarted::Busy(format!("{limit} requests wait for an answer already")),
            NoSlot::Closed => NotStarted::Closed,
        })?;
        self.send_request(waiting.id, method, write_params).map(|()| waiting)
    }

    /// Sends the request that was registered as `id`; forgets it if that fails.
    fn send_request(
        &self,
        id: i64,
        method: &str,
        write_params: impl FnOnce(&mut Vec<u8>, i64),
    ) -> Result<(), NotStarted> {
        let sent = serve::with_buffer(|frame| {
            write_call(frame, Some(&RequestId::Number(id)), method, Some(""));
            frame.pop();
            write_params(frame, id);
            frame.extend_from_slice(b"}\n");
            self.0.outbox.send(frame)
        });
        sent.map_err(|not_sent| {
            self.0.pending.forget(id);
            match not_sent {
                NotSent::Full(limit) => {
                    NotStarted::Busy(format!("{limit} bytes wait for a peer that does not read"))
                }
                NotSent::Closed(_) => NotStarted::Closed,
            }
        })
    }

    /// Sends a request that stays open without a thread, a deadline or a share in the limit of calls, until `on_end` is
    /// called or it is [forgotten](Self::forget). The end of the connection is not told, see
    /// [`when_closed`](Self::when_closed).
    pub(crate) fn open_stream(
        &self,
        method: &str,
        on_end: Box<dyn FnOnce(StreamEnd) + Send>,
        write_params: impl FnOnce(&mut Vec<u8>, i64),
    ) -> Result<(), NotStarted> {
        let id = self.0.pending.register_stream(on_end).ok_or(NotStarted::Closed)?;
        self.send_request(id, method, write_params)
    }

    /// Has `on_close` called at the end of the connection, by the thread that finds it: it must not block. `false`: the end
    /// has come.
    pub(crate) fn when_closed(&self, on_close: impl FnOnce() + Send + 'static) -> bool {
        self.0.pending.when_closed(Box::new(move |()| on_close()))
    }

    /// The answer of `waiting` has been received.
    pub(crate) fn give_back(&self, waiting: &Waiting) {
        self.0.pending.give_back(waiting);
    }

    /// Stops waiting for `id`; `true` if its answer had not come.
    pub(crate) fn forget(&self, id: i64) -> bool {
        self.0.pending.forget(id)
    }

    /// Sends a notification.
    pub(crate) fn notify(&self, method: &str, params: Option<&str>) -> Result<(), NotSent> {
        serve::with_buffer(|frame| {
            write_call(frame, None, method, params);
            frame.push(b'\n');
            self.0.outbox.send(frame)
        })
    }

    /// So many answers came to what was never asked.
    #[cfg(feature = "host")]
    pub(crate) fn strays(&self) -> u64 {
        self.0.pending.strays()
    }

    /// Becomes ready (disconnected) when reading has ended.
    pub(crate) fn ended(&self) -> Receiver<()> {
        self.0.ended.1.clone()
    }

    /// Becomes ready (disconnected) when a write has failed.
    pub(crate) fn broken(&self) -> Receiver<()> {
        self.0.outbox.broken()
    }

    /// Waits for the end of reading, at most `time`; whether it came.
    pub(crate) fn has_ended_within(&self, time: Duration) -> bool {
        // Nothing is ever sent: this ends by the disconnection or by the time.
        let _ = self.0.ended.1.recv_timeout(time);
        self.0.end.get().is_some()
    }

    /// Waits until no request of ours waits for an answer, at most `time`.
    pub(crate) fn await_answers(&self, time: Duration) {
        let deadline = Deadline::after(Some(time));
        // Looking now and then is good enough for what hardly ever happens; calls that end pay nothing for it.
        while !self.0.pending.is_empty() && !deadline.has_passed() && self.0.end.get().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Whether reading has ended; with what error, if any.
    pub(crate) fn end(&self) -> Option<Option<String>> {
        self.0.end.get().cloned()
    }

    /// For a thread that has waited for the peer for some time: what the peer does before it answers may need the place of
    /// this thread in the pool. A person who is asked takes minutes, and tools must be callable meanwhile.
    ///
    /// Ends the connection if the peer's process has ended and yet its output has not.
    pub(crate) fn look_after(&self) {
        self.0.look_after();
    }

    /// Whether these are clones of one.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The other end.
    pub(crate) fn link(&self) -> &dyn Link {
        self.0.link.as_ref()
    }

    /// Lets accepted requests finish, and their answers be written: `false` if some requests did not finish by the deadline.
    /// Whether all was written, [`close`](Self::close) tells. Requests that still come are refused.
    pub(crate) fn drain(&self, deadline: Deadline) -> bool {
        self.0.is_ending.store(true, Ordering::SeqCst);
        let finished = self.0.in_flight.drain(deadline);
        let left = deadline.remaining().map(|left| left.max(Duration::from_millis(100)));
        self.0.outbox.drain(Deadline::after(left));
        finished
    }

    /// Nobody waits for an answer of the peer any more.
    pub(crate) fn end_questions(&self) {
        self.0.pending.close();
    }

    /// Ends the connection in bounded time, whatever the peer does.
    pub(crate) fn close(&self, reason: &str, patience: &Patience) -> CloseReport {
        let shared = &self.0;
        shared.in_flight.cancel_all(reason);
        let flushed = shared.outbox.drain(Deadline::after(Some(patience.flush)));
        let had_ended = shared.link.has_ended() || shared.end.get().is_some();
        shared.outbox.close(reason);
        shared.pending.close();
        let mut ending = shared.link.close(patience);
        if ending.step == EndStep::AlreadyEnded && !had_ended {
            // It saw the end of its input before the link looked.
            ending.step = EndStep::EndOfInput;
        }
        let handlers_detached = shared.pool.close(patience.threads);
        let reader_detached = !shared.reading.is_own_thread() && {
            // Nothing is ever sent: this ends by the disconnection or by the time.
            let _ = shared.ended.1.recv_timeout(patience.threads);
            shared.end.get().is_none() || shared.reading.is_stuck(patience.threads)
        };
        let handlers_detached = handlers_detached + shared.reading.dismiss(patience.threads);
        if reader_detached {
            log::warn!("the reading thread of {} is stuck and was left to itself", shared.link.name());
        }
        CloseReport { ending, flushed, reader_detached, handlers_detached }
    }
}

/// Why a request was not sent.
#[derive(Debug)]
pub(crate) enum NotStarted {
    Busy(String),
    Closed,
}

impl Shared {
    /// For a thread that has waited for the peer for some time: what the peer does before it answers may need the place of
    /// this thread in the pool. A person who is asked takes minutes, and tools must be callable meanwhile.
    ///
    /// Ends the connection if the peer's process has ended and yet its output has not: something that it started holds the
    /// pipe open, and would keep every caller until its timeout.
    fn look_after(&self) {
        self.pool.lend();
        if self.end.get().is_some() || !self.link.has_ended() {
            return;
        }
        // The end of its output is usually a moment behind. Nothing is ever sent: this ends by the disconnection or by the time.
        let _ = self.ended.1.recv_timeout(LAST_WORDS);
        if self.end.get().is_none() {
            self.finish(Some("its process ended and left its output open to another".to_owned()));
        }
    }

    /// Reading is over.
    fn finish(&self, error: Option<String>) {
        if self.end.set(error).is_err() {
            return;
        }
        self.pending.close();
        self.role.ended();
        let sender = lock(&self.ended.0).take();
        drop(sender);
    }
}
