//! [`Outbox`]: every frame leaves through here, whole and in order.
//!
//! Whoever finds the writer free writes its own frame; whoever finds it taken leaves the frame for the one who
//! is writing. That saves a wake-up a call, and under load gathers many frames into one write.
//!
//! Some threads must never wait for the peer to read: the reading one, and every caller on a client (its deadline
//! counts from the moment the call is made). What they cannot write at once is left to a writer thread.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::sync::Deadline;
use crate::transport::FrameWrite;

/// Who may wait while the peer does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writing {
    /// The thread that sends: the workers of a server.
    Direct,
    /// Only the writer thread: a client.
    Threaded,
}

/// Why a frame was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotSent {
    /// This many bytes wait already for a peer that does not read.
    Full(usize),
    /// Nothing can be sent any more.
    Closed(String),
}

/// The outgoing side of a connection.
///
/// Owner: the peer. Bound: `limit` bytes wait. End: [`close`](Self::close), or the first write error.
pub(crate) struct Outbox {
    state: Mutex<State>,
    /// Signalled when waiting bytes were taken, when the writer came back, and at the end.
    changed: Condvar,
    /// Signalled when the writer thread has something to do, and at the end. Apart from `changed`, which is signalled
    /// after every write.
    called: Condvar,
    /// Disconnected by the first write error.
    broken: Receiver<()>,
    writing: Writing,
    limit: usize,
}

struct State {
    /// `None` while somebody writes, and after the end.
    writer: Option<Box<dyn FrameWrite>>,
    /// Whole frames that wait for whoever is writing.
    waiting: Vec<u8>,
    /// Why nothing can be sent any more.
    ended: Option<String>,
    /// Something that was taken has not been written and never will be.
    has_lost: bool,
    /// Dropped by the first write error.
    intact: Option<Sender<()>>,
    thread: WriterThread,
    /// How many threads wait on `changed`: signalling it is a system call even when nobody does.
    waiters: usize,
}

/// The writer thread (`mcp-writer`) is started by the first frame that needs it, waits on `called`, and ends with the
/// outbox.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WriterThread {
    NotStarted,
    Waiting,
    Called,
    Writing,
}

impl Outbox {
    pub(crate) fn new(writer: Box<dyn FrameWrite>, writing: Writing, limit: usize) -> Self {
        let (intact, broken) = bounded(0);
        let state = State {
            writer: Some(writer),
            waiting: Vec::new(),
            ended: None,
            has_lost: false,
            intact: Some(intact),
            thread: WriterThread::NotStarted,
            waiters: 0,
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            called: Condvar::new(),
            broken,
            writing,
            limit,
        }
    }

    /// Becomes ready (disconnected) when a write has failed.
    pub(crate) fn broken(&self) -> Receiver<()> {
        self.broken.clone()
    }

    /// Sends `frame`, which ends with a line break. On a server this may wait for the peer to read.
    ///
    /// # Errors
    /// When the end has come; on a client also when too much waits already.
    pub(crate) fn send(self: &Arc<Self>, frame: &[u8]) -> Result<(), NotSent> {
        let mut state = self.lock();
        loop {
            if let Some(reason) = &state.ended {
                return Err(NotSent::Closed(reason.clone()));
            }
            if self.may_write(&state) || state.has_room(frame.len(), self.limit) {
                break;
            }
            if self.writing == Writing::Threaded {
                return Err(NotSent::Full(self.limit));
            }
            state = self.wait(state);
        }
        let writer = if self.may_write(&state) { state.writer.take() } else { None };
        let Some(writer) = writer else {
            state.waiting.extend_from_slice(frame);
            return Ok(());
        };
        if state.waiting.is_empty() {
            drop(state);
            self.write(writer, frame)
        } else {
            state.waiting.extend_from_slice(frame);
            let batch = std::mem::take(&mut state.waiting);
            drop(state);
            self.write(writer, &batch)
        }
    }

    /// Leaves `frame` to be written by the next [`flush`](Self::flush), [`nudge`](Self::nudge) or `send`. Never waits.
    ///
    /// # Errors
    /// When too much waits already, or the end has come.
    pub(crate) fn push(&self, frame: &[u8]) -> Result<(), NotSent> {
        let mut state = self.lock();
        if let Some(reason) = &state.ended {
            return Err(NotSent::Closed(reason.clone()));
        }
        if !state.has_room(frame.len(), self.limit) {
            return Err(NotSent::Full(self.limit));
        }
        state.waiting.extend_from_slice(frame);
        Ok(())
    }

    /// Like [`push`](Self::push), but waits for room: for the reading thread, which stops reading while its peer does.
    pub(crate) fn push_waiting(self: &Arc<Self>, frame: &[u8]) -> Result<(), NotSent> {
        loop {
            match self.push(frame) {
                Err(NotSent::Full(_)) => {
                    self.nudge();
                    let state = self.lock();
                    if state.ended.is_none() && !state.has_room(frame.len(), self.limit) {
                        drop(self.wait(state));
                    }
                }
                done => return done,
            }
        }
    }

    /// Writes what waits, unless somebody else is at it. May wait for the peer to read.
    pub(crate) fn flush(self: &Arc<Self>) {
        let mut state = self.lock();
        if state.waiting.is_empty() {
            return;
        }
        let writer = if self.may_write(&state) { state.writer.take() } else { None };
        if let Some(writer) = writer {
            let batch = std::mem::take(&mut state.waiting);
            drop(state);
            // The answers of others: who waits for them learns of the end by reading.
            let _ = self.write(writer, &batch);
        }
    }

    /// Has what waits written by the writer thread. Waits only if no such thread can be started.
    pub(crate) fn nudge(self: &Arc<Self>) {
        let mut state = self.lock();
        if state.waiting.is_empty() || state.writer.is_none() {
            return;
        }
        if let Err(e) = self.call_thread(&mut state) {
            log::warn!("no writer thread, reading waits for writing: {e}");
            drop(state);
            self.flush();
        }
    }

    /// How many bytes wait.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Waits until everything is written; `false` if it was not by then, or could not be.
    pub(crate) fn drain(self: &Arc<Self>, deadline: Deadline) -> bool {
        self.nudge();
        let mut state = self.lock();
        loop {
            if state.ended.is_some() {
                return !state.has_lost;
            }
            if state.waiting.is_empty() && state.writer.is_some() {
                return true;
            }
            match deadline.remaining() {
                Some(left) if left.is_zero() => return false,
                left => state = self.wait_for(state, left),
            }
        }
    }

    /// Ends sending. Drops the writer, which tells the peer; if somebody is stuck in a write, when that returns.
    pub(crate) fn close(&self, reason: &str) {
        let writer = {
            let mut state = self.lock();
            state.ended.get_or_insert_with(|| reason.to_owned());
            state.has_lost |= !state.waiting.is_empty();
            state.waiting = Vec::new();
            self.signal(&state);
            state.writer.take()
        };
        drop(writer);
    }

    /// Writes `frames` and then whatever was left meanwhile, and gives the writer back. Fails if `frames` could not be
    /// written: a peer may end its input and yet not its output, and then nothing else says so.
    fn write(self: &Arc<Self>, mut writer: Box<dyn FrameWrite>, frames: &[u8]) -> Result<(), NotSent> {
        let mut batch;
        let mut frames = frames;
        let mut outcome = Err(());
        loop {
            let written = match self.writing {
                Writing::Direct => writer.write_frames(frames).map(|()| frames.len()),
                Writing::Threaded => writer.write_some(frames).map(Option::unwrap_or_default),
            };
            let mut state = self.lock();
            match written {
                Err(e) => {
                    self.fail(&mut state, &e);
                    return outcome.map_err(|()| NotSent::Closed(e.to_string()));
                }
                Ok(written) if written < frames.len() => {
                    state.waiting.splice(..0, frames[written..].iter().copied());
                    if self.is_over(&mut state) {
                        return Ok(());
                    }
                    state.writer = Some(writer);
                    if let Err(e) = self.call_thread(&mut state) {
                        self.fail(&mut state, &e);
                        state.writer = None;
                    }
                    return Ok(());
                }
                Ok(_) => outcome = Ok(()),
            }
            if self.is_over(&mut state) {
                return Ok(());
            }
            if state.waiting.is_empty() {
                state.writer = Some(writer);
                self.signal(&state);
                return Ok(());
            }
            batch = std::mem::take(&mut state.waiting);
            frames = &batch;
            self.signal(&state); // there is room again
        }
    }

    /// Whether a sender takes the writer. Not if the writer thread was called because the channel is full: each
    /// sender would then move all that waits, once there and once back.
    fn may_write(&self, state: &State) -> bool {
        let is_left = self.writing == Writing::Threaded && state.thread == WriterThread::Called;
        state.writer.is_some() && !is_left
    }

    /// Whether the end came while we were writing.
    fn is_over(&self, state: &mut State) -> bool {
        if state.ended.is_some() {
            state.waiting = Vec::new();
            self.signal(state);
        }
        state.ended.is_some()
    }

    fn fail(&self, state: &mut State, error: &io::Error) {
        log::debug!("writing ended: {error}");
        state.ended.get_or_insert_with(|| format!("writing failed: {error}"));
        state.has_lost = true;
        state.intact = None;
        state.waiting = Vec::new();
        self.signal(state);
    }

    fn call_thread(self: &Arc<Self>, state: &mut State) -> io::Result<()> {
        if state.thread == WriterThread::NotStarted {
            let outbox = Arc::clone(self);
            std::thread::Builder::new().name("mcp-writer".into()).spawn(move || outbox.run_thread())?;
        }
        state.thread = WriterThread::Called;
        self.called.notify_one();
        Ok(())
    }

    fn run_thread(self: Arc<Self>) {
        let mut state = self.lock();
        while state.ended.is_none() {
            let writer = if state.thread == WriterThread::Called { state.writer.take() } else { None };
            let Some(mut writer) = writer else {
                if state.thread == WriterThread::Called && state.waiting.is_empty() {
                    state.thread = WriterThread::Waiting;
                }
                state = self.called.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.thread = WriterThread::Writing;
            while !state.waiting.is_empty() {
                let batch = std::mem::take(&mut state.waiting);
                self.signal(&state);
                drop(state);
                let written = writer.write_frames(&batch);
                state = self.lock();
                if let Err(e) = written {
                    self.fail(&mut state, &e);
                }
            }
            if state.ended.is_none() {
                state.writer = Some(writer);
                state.thread = WriterThread::Waiting;
            }
            self.signal(&state);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signal(&self, state: &State) {
        if state.waiters > 0 {
            self.changed.notify_all();
        }
        if state.ended.is_some() {
            self.called.notify_all();
        }
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.wait_for(state, None)
    }

    fn wait_for<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        time: Option<Duration>,
    ) -> MutexGuard<'a, State> {
        state.waiters += 1;
        let mut state = match time {
            Some(time) => self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0,
            None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
        };
        state.waiters -= 1;
        state
    }
}

impl State {
    /// A frame larger than the limit goes when nothing else waits: it must go somehow.
    fn has_room(&self, bytes: usize, limit: usize) -> bool {
        self.waiting.is_empty() || self.waiting.len() + bytes <= limit
    }
}
