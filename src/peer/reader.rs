//! The reading role: one thread reads, and may also run short calls; a stand-by takes over when such a
//! call turns out long. See [`Baton`] for the rule and its proof.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use serde_json::value::RawValue;

use super::call::NotServed;
use super::density::Density;
use super::garbled::Heard;
use super::pending::NoResult;
use super::serve::{Outcome, busy, with_buffer};
use super::{Call, Ground, Request, Shared};
use crate::json::{FromJson, Json, JsonError, Members};
use crate::jsonrpc::{BadFrame, ErrorObject, Incoming, RequestId, begin_result, is_empty_line};
use crate::sync::{Baton, Deadline, Lent, Refused, Tick};
use crate::transport::{FrameRead, Received};

/// How often a stand-by looks. A call that is still running at the second look loses the role: after half to one
/// millisecond.
const TICK: Duration = Duration::from_micros(500);

/// Looks without anything happening after which a stand-by sleeps until it is woken. Ticking costs CPU time.
const QUIET_TICKS: u32 = 20;

/// A longer frame goes to a worker: taking it apart is not short.
const SHORT_FRAME_BYTES: usize = 64 * 1024;

/// Answers are gathered while further requests are here already, up to so many bytes.
const GATHER_BYTES: usize = 32 * 1024;

/// The reading half and who may use it.
///
/// Threads: `mcp-reader` holds the role; at most one `mcp-standby` waits for it (they change places). A thread that lost
/// the role while it runs a call becomes the stand-by, or ends if there is one. End: with the input, or when
/// [`dismiss`](Self::dismiss)ed; a read that nothing can end keeps its thread.
pub(super) struct Reading {
    /// Locked by the holder of the role alone.
    reader: Mutex<Box<dyn FrameRead>>,
    /// Likewise.
    density: Mutex<Density>,
    baton: Baton,
    /// Whether there is a stand-by, or a thread on its way to being it.
    has_stand_by: AtomicBool,
    /// The stand-by, to be woken.
    stand_by: Mutex<Option<Thread>>,
    is_over: AtomicBool,
    /// The ones that run: at most the reader, the stand-by, and those that lost the role and finish a call.
    threads: Mutex<Vec<thread::ThreadId>>,
    ended: Condvar,
}

impl Reading {
    pub(super) fn new(reader: Box<dyn FrameRead>) -> Self {
        Self {
            reader: Mutex::new(reader),
            density: Mutex::default(),
            baton: Baton::default(),
            has_stand_by: AtomicBool::new(false),
            stand_by: Mutex::new(None),
            is_over: AtomicBool::new(false),
            threads: Mutex::default(),
            ended: Condvar::new(),
        }
    }

    /// Whether the calling thread is one of the reading ones: it must not wait for itself.
    pub(super) fn is_own_thread(&self) -> bool {
        locked(&self.threads).contains(&thread::current().id())
    }

    /// Wakes a stand-by so that it ends, and waits a while for these threads, except a stuck reader: how many still run a
    /// call that was thought to be short.
    pub(super) fn dismiss(&self, grace: Duration) -> usize {
        self.is_over.store(true, Ordering::SeqCst);
        self.wake_stand_by();
        let deadline = Deadline::after(Some(grace));
        let stuck = usize::from(!self.is_own_thread() && self.reader.try_lock().is_err());
        let mut threads = locked(&self.threads);
        while threads.len() > stuck && !deadline.has_passed() {
            let left = deadline.remaining().unwrap_or_default();
            threads = self.ended.wait_timeout(threads, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        threads.iter().filter(|id| **id != thread::current().id()).count().saturating_sub(stuck)
    }

    /// Whether a read is still blocked after `grace`.
    pub(super) fn is_stuck(&self, grace: Duration) -> bool {
        let deadline = Deadline::after(Some(grace));
        while self.reader.try_lock().is_err() {
            if deadline.has_passed() {
                return true;
            }
            thread::sleep(Duration::from_millis(1));
        }
        false
    }

    fn wake_stand_by(&self) {
        if let Some(stand_by) = locked(&self.stand_by).as_ref() {
            stand_by.unpark();
        }
    }
}

/// What is left of a connection that has ended.
struct NothingMore;

impl FrameRead for NothingMore {
    fn read_frame(&mut self, _frame: &mut Vec<u8>) -> io::Result<Received> {
        Ok(Received::End)
    }
}

fn locked<T: ?Sized>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the reading thread.
pub(super) fn start(shared: &Arc<Shared>) -> io::Result<()> {
    spawn(shared, "mcp-reader", Post::Reader)
}

/// Which request `notifications/cancelled` is about, and why.
///
/// # Errors
/// What is wrong with the parameters.
pub(crate) fn cancelled(params: Option<&RawValue>) -> Result<(RequestId, String), JsonError> {
    let mut params = params.map_or_else(|| Err(JsonError::new("no parameters")), Members::of)?;
    let reason = params.lenient::<String>("reason").unwrap_or_else(|| "cancelled by the peer".to_owned());
    Ok((params.required("requestId")?, reason))
}

enum Post {
    Reader,
    StandBy,
}

fn spawn(shared: &Arc<Shared>, name: &str, post: Post) -> io::Result<()> {
    let at_work = Arc::clone(shared);
    // Counted by the one who starts it, so that nobody finds it missing in between.
    let mut threads = locked(&shared.reading.threads);
    let thread = thread::Builder::new().name(name.into()).spawn(move || {
        // A transport of somebody else may panic. Without an end its callers would wait for nothing.
        if catch_unwind(AssertUnwindSafe(|| at_work.serve_posts(post))).is_err() {
            log::error!("a reading thread panicked");
            at_work.finish(Some("reading panicked".to_owned()));
        }
        let mut threads = locked(&at_work.reading.threads);
        threads.retain(|id| *id != thread::current().id());
        at_work.reading.ended.notify_all();
    })?;
    threads.push(thread.thread().id());
    Ok(())
}

/// How a reader left its post.
enum Left {
    /// Nothing more is read.
    Ended,
    /// A stand-by reads now.
    Relieved,
}

impl Shared {
    /// A reading thread's life.
    fn serve_posts(self: &Arc<Self>, mut post: Post) {
        loop {
            post = match post {
                Post::Reader => match self.read() {
                    Left::Ended => {
                        // Handles may live long after the connection; its descriptor must not.
                        *locked(&self.reading.reader) = Box::new(NothingMore);
                        return;
                    }
                    Left::Relieved if self.reading.has_stand_by.swap(true, Ordering::SeqCst) => return,
                    Left::Relieved => Post::StandBy,
                },
                Post::StandBy if self.stand_by() => Post::Reader,
                Post::StandBy => return,
            }
        }
    }

    /// Stands by until the role is ours (`true`) or the connection is over.
    fn stand_by(&self) -> bool {
        let reading = &self.reading;
        *locked(&reading.stand_by) = Some(thread::current());
        let mut last = reading.baton.turn();
        let mut quiet = 0;
        while !reading.is_over.load(Ordering::SeqCst) {
            if !reading.baton.is_watched() {
                thread::park();
                last = reading.baton.turn();
                quiet = 0;
                continue;
            }
            thread::park_timeout(TICK);
            match reading.baton.tick(&mut last) {
                Tick::Took => {
                    *locked(&reading.stand_by) = None;
                    reading.has_stand_by.store(false, Ordering::SeqCst);
                    return true;
                }
                Tick::Active => quiet = 0,
                Tick::Quiet => {
                    quiet += 1;
                    if quiet >= QUIET_TICKS {
                        reading.baton.doze(last);
                    }
                }
            }
        }
        false
    }

    /// Makes sure that a stand-by ticks; `false` if there is none now.
    fn is_watched(self: &Arc<Self>) -> bool {
        let reading = &self.reading;
        if reading.baton.is_watched() {
            return true;
        }
        reading.baton.watch();
        if reading.has_stand_by.swap(true, Ordering::SeqCst) {
            reading.wake_stand_by();
            return true;
        }
        match spawn(self, "mcp-standby", Post::StandBy) {
            Ok(()) => true,
            Err(e) => {
                log::debug!("no stand-by thread, every call goes to a worker: {e}");
                reading.has_stand_by.store(false, Ordering::SeqCst);
                reading.baton.doze(reading.baton.turn());
                false
            }
        }
    }

    /// Reads until the end, or until somebody else does.
    fn read(self: &Arc<Self>) -> Left {
        // A reader before us may have gathered answers that nobody has written.
        self.outbox.nudge();
        let mut frame = Vec::new();
        loop {
            let (received, has_more) = {
                let mut reader = locked(&self.reading.reader);
                let received = reader.read_frame(&mut frame);
                (received, reader.has_frame())
            };
            let is_held = match received {
                Ok(Received::Frame) if is_empty_line(&frame) => true,
                Ok(Received::Frame) => self.accept(&mut frame, has_more),
                Ok(Received::TooLong(limit)) => {
                    self.refuse(&frame, &BadFrame::too_long(limit));
                    true
                }
                Ok(Received::Failed) => {
                    self.hear_failure();
                    true
                }
                Ok(Received::End) => {
                    self.finish(None);
                    return Left::Ended;
                }
                Err(e) => {
                    log::debug!("reading ended: {e}");
                    self.finish(Some(e.to_string()));
                    return Left::Ended;
                }
            };
            if !is_held || (!has_more && !self.deliver()) {
                return Left::Relieved;
            }
        }
    }

    /// Acts on one frame; `false` if the reading role was lost meanwhile.
    fn accept(self: &Arc<Self>, frame: &mut Vec<u8>, has_more: bool) -> bool {
        match Incoming::decode(frame) {
            Ok(Incoming::Request { id, method, params }) => {
                let request = Request { method: &method, params };
                let is_dense = locked(&self.reading.density).another();
                let Some(call) = self.admit(id, request) else { return true };
                if self.role.is_quick(&method) {
                    self.serve_here(&call, request);
                    return true;
                }
                if frame.len() > SHORT_FRAME_BYTES {
                    // The frame itself goes to the worker: taking it apart once more takes no longer than a copy.
                    self.serve_frame_on_worker(call, std::mem::take(frame));
                    return true;
                }
                if is_dense {
                    if let Some(loan) = self.lend() {
                        return self.serve_lent(call, request, has_more, loan);
                    }
                }
                self.serve_on_worker(call, request);
            }
            Ok(other) => self.hear(other),
            Err(bad) if bad.is_batch && self.role.accepts_batches() => self.accept_batch(frame),
            Err(bad) => self.refuse(frame, &bad),
        }
        true
    }

    /// Opens a call for a request, unless the engine answers it itself.
    pub(super) fn admit(&self, id: RequestId, request: Request<'_>) -> Option<Arc<Call>> {
        // spec: 2025-11-25 basic/utilities/ping (prompt, in any state); a Modern ping does not exist
        let is_ping = request.method == "ping" && !self.role.is_modern(request.params);
        if is_ping {
            match self.in_flight.is_open(&id) {
                true => self.answer_duplicate(&id),
                false => self.pong(&id),
            }
            return None;
        }
        match self.in_flight.begin(id.clone()) {
            // Looked at once it is counted: either this sees the end, or whoever waits for the last call sees this one.
            Ok(call) if self.is_ending.load(Ordering::SeqCst) => {
                self.answer_refused(&call, &Refused::Closed);
            }
            Ok(call) => return Some(call),
            Err(NotServed::Duplicate) => self.answer_duplicate(&id),
            Err(NotServed::Full(limit)) => self.answer(Some(&id), &busy(limit)),
        }
        None
    }

    /// Without the id: an answer to it would be taken for the first call's.
    fn answer_duplicate(&self, id: &RequestId) {
        self.answer(None, &ErrorObject::invalid_request(format!("request id {id} is in use")));
    }

    fn pong(&self, id: &RequestId) {
        if !self.role.may_respond() {
            log::debug!("ignored a ping: this connection carries no responses of ours");
            return;
        }
        with_buffer(|frame| {
            begin_result(frame, Some(id));
            frame.extend_from_slice(b"{}}\n");
            self.sent(self.outbox.push_waiting(frame));
        });
    }

    /// Serves what needs nobody else's code, in the reading role.
    fn serve_here(self: &Arc<Self>, call: &Arc<Call>, request: Request<'_>) {
        let outcome = with_buffer(|frame| {
            let outcome = self.serve(call, request, Ground::Reader, frame);
            if outcome == Outcome::Answer {
                self.sent(self.outbox.push_waiting(frame));
            }
            outcome
        });
        match outcome {
            // It was not as quick as it looked.
            Outcome::Elsewhere => self.serve_on_worker(Arc::clone(call), request),
            _ => self.in_flight.end(),
        }
    }

    /// Lends the role, so that something that may take long can be done; `None` if nobody would take over.
    fn lend(self: &Arc<Self>) -> Option<Lent> {
        let is_dense = locked(&self.reading.density).is_dense();
        if !self.runs_short_calls || !is_dense || !self.is_watched() {
            // A loan that nobody ends would be taken by a stand-by that still looks: there would be two readers.
            return None;
        }
        Some(self.reading.baton.lend()).filter(|lent| *lent != Lent::Unwatched)
    }

    /// Ends the loan; `false` if the role was taken.
    fn reclaim(&self, lent: Lent) -> bool {
        matches!(lent, Lent::Loan(loan) if self.reading.baton.reclaim(loan))
    }

    /// Serves a call that is thought to be short, while a stand-by watches; `false` if the role was lost.
    fn serve_lent(
        self: &Arc<Self>,
        call: Arc<Call>,
        request: Request<'_>,
        has_more: bool,
        lent: Lent,
    ) -> bool {
        let outcome = with_buffer(|frame| {
            let outcome = self.serve(&call, request, Ground::Reader, frame);
            if outcome == Outcome::Answer {
                self.sent(self.outbox.push_waiting(frame));
            }
            outcome
        });
        if outcome != Outcome::Elsewhere {
            self.in_flight.end();
        }
        if !has_more || self.outbox.waiting() > GATHER_BYTES {
            self.outbox.flush();
        }
        let is_held = self.reclaim(lent);
        if !is_held {
            // What was left to the next frame's turn here: that turn is somebody else's, and may be over.
            self.outbox.flush();
        }
        if outcome == Outcome::Elsewhere {
            self.serve_on_worker(call, request);
        }
        is_held
    }

    /// Has the gathered answers written: here if a stand-by watches, for the peer may not be reading, or else by the
    /// writer thread; `false` if the role was lost.
    fn deliver(self: &Arc<Self>) -> bool {
        if self.outbox.waiting() == 0 {
            return true;
        }
        let Some(lent) = self.lend() else {
            self.outbox.nudge();
            return true;
        };
        self.outbox.flush();
        self.reclaim(lent)
    }

    /// Acts on what needs no answer.
    pub(super) fn hear(&self, incoming: Incoming<'_>) {
        match incoming {
            Incoming::Response { id: Some(id), result } => {
                if !self.pending.complete(&id, result.map(Json::of_frame).map_err(NoResult::Error)) {
                    log::debug!("ignored a response to {id}: nobody waits for it");
                }
            }
            Incoming::Response { id: None, result } => {
                log::warn!("the peer could not read one of our messages: {:?}", result.err());
            }
            // spec: 2026-07-28 basic/index#notifications (never answered)
            Incoming::Notification { method, params } => match method.as_ref() {
                "notifications/cancelled" => self.hear_cancelled(params),
                "notifications/progress" => self.hear_progress(params),
                _ => self.role.notified(&method, params),
            },
            Incoming::Request { .. } => {}
        }
    }

    /// A request of ours ends without an answer.
    fn hear_failure(&self) {
        let Some(failure) = locked(&self.reading.reader).take_failure() else { return };
        let id = failure.id.clone();
        if !self.pending.complete(&id, Err(NoResult::Failed(Box::new(failure)))) {
            log::debug!("ignored the failure of {id}: nobody waits for it");
        }
    }

    fn hear_cancelled(&self, params: Option<&RawValue>) {
        match cancelled(params) {
            Ok((id, reason)) if self.in_flight.cancel(&id, &reason) => {
                log::debug!("request {id} cancelled: {reason}");
            }
            // spec: 2026-07-28 basic/patterns/cancellation (a server tears down what a request of ours had opened)
            Ok((id, reason)) if self.pending.cancelled(&id) => {
                log::debug!("{id} ended by the peer: {reason}")
            }
            // spec: 2026-07-28 basic/patterns/cancellation#timing-considerations (it may come after the answer)
            Ok((id, _)) => log::debug!("ignored the cancellation of {id}: no such request is open"),
            Err(problem) => log::debug!("ignored a cancellation: {problem}"),
        }
    }

    fn hear_progress(&self, params: Option<&RawValue>) {
        let token = params.and_then(|raw| Members::of(raw).ok()?.take("progressToken"));
        let token = token.and_then(|raw| RequestId::from_json(raw).ok());
        match (token, params) {
            (Some(token), Some(params)) if self.pending.progress(&token, Json::of_frame(params)) => {}
            (token, _) => log::debug!("ignored progress for {token:?}: nobody asked for it (any more)"),
        }
    }

    pub(super) fn refuse(&self, frame: &[u8], bad: &BadFrame) {
        // Half a frame is the last of a peer that has died: its end says more.
        let is_cut = locked(&self.reading.reader).is_cut();
        let heard = if is_cut { Heard::Nothing } else { self.hear_garbled(frame, bad) };
        if heard == Heard::Mended {
            return;
        }
        // An answer is not answered: its id is one of ours, and for the peer perhaps that of a call of its own.
        if let Some(error) = self.role.bad_frame(frame, bad).filter(|_| heard == Heard::Nothing) {
            self.answer(bad.id.as_ref().filter(|id| !self.in_flight.is_open(id)), &error);
        }
    }
}
