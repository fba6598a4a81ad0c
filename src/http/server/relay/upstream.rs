//! [`Upstream`]: a connection to a server, and the one thread that reads from it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, bounded};

use super::slots::Slot;
use super::splice::one_line;
use crate::jsonrpc::{BadFrame, Incoming, RequestId, is_empty_line};
use crate::peer::{self, Limits, NotSent, Outbox, Writing};
use crate::sync::{Deadline, Mutex, lock};
use crate::transport::{
    FailureKind, FrameRead, Link, OpenOptions, Patience, Received, RequestFailure, Transport,
};

/// How long each step of ending a server may take.
pub(super) const PATIENCE: Patience = Patience {
    flush: Duration::from_secs(1),
    exit: Duration::from_secs(2),
    term: Duration::from_secs(2),
    threads: Duration::ZERO,
};

/// How long after the end of a server its output may last.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// So many lines that are no messages go to the log.
const REPORTED_NOISE: u32 = 5;

/// Hears what a server says. Called by the thread that reads: must not block.
pub(super) trait Hears: Send + Sync + 'static {
    /// A message, and its text, which is one line.
    fn heard(&self, incoming: Incoming<'_>, text: &str);

    /// There will be no answer to a request, for this reason.
    fn failed(&self, id: &RequestId, problem: String);

    /// Nothing more comes, for this reason, and nothing can be sent. Called once.
    fn ended(&self, upstream: &Upstream, reason: &str);
}

/// A connection to a server.
///
/// Owner: a line. Threads: `mcp-relay`, which reads, and ends with the server's output; `mcp-relay-end`, which ends a server that
/// its line has closed; `mcp-writer`, once the server does not read at once. End: [`close`](Self::close), or the server's.
pub(super) struct Upstream {
    outbox: Arc<Outbox>,
    link: Box<dyn Link>,
    /// Whether somebody sees to its end.
    is_ending: AtomicBool,
    has_answered: AtomicBool,
    /// Lines that are no messages.
    noise: AtomicU32,
    /// Until it is told of the end.
    hears: Mutex<Option<Arc<dyn Hears>>>,
    /// Disconnected when nothing more is read.
    reading: Receiver<()>,
    /// Until nothing is left of the server.
    slot: Mutex<Option<Slot>>,
}

impl Upstream {
    /// Reaches a server.
    ///
    /// # Errors
    /// What the transport says, or that there is no thread.
    pub(super) fn open(
        transport: Box<dyn Transport>,
        limits: &Limits,
        slot: Slot,
        hears: Arc<dyn Hears>,
    ) -> std::io::Result<Arc<Self>> {
        let (over, reading) = bounded(0);
        let connection = transport.open(&OpenOptions { max_frame_bytes: limits.frame_bytes })?;
        let upstream = Arc::new(Self {
            outbox: Arc::new(Outbox::new(connection.writer, Writing::Threaded, limits.unsent_bytes)),
            link: connection.link,
            is_ending: AtomicBool::new(false),
            has_answered: AtomicBool::new(false),
            noise: AtomicU32::new(0),
            hears: Mutex::new(Some(Arc::clone(&hears))),
            reading,
            slot: Mutex::new(Some(slot)),
        });
        let (at_work, mut reader) = (Arc::clone(&upstream), connection.reader);
        let spawned = thread::Builder::new().name("mcp-relay".into()).spawn(move || {
            let _over = over;
            // A transport of somebody else may panic. Without an end its callers would wait for nothing.
            let read = catch_unwind(AssertUnwindSafe(|| at_work.read(&mut *reader, &*hears)));
            at_work.has_ended(read.unwrap_or_else(|_| "reading panicked".to_owned()));
        });
        match spawned {
            Ok(_) => Ok(upstream),
            Err(e) => {
                lock(&upstream.hears).take();
                Err(e)
            }
        }
    }

    /// A command line or an address, for the log.
    pub(super) fn name(&self) -> &str {
        self.link.name()
    }

    /// Sends a message, one line. Never waits for the server.
    ///
    /// # Errors
    /// When it does not read, or has ended.
    pub(super) fn send(self: &Arc<Self>, message: &str) -> Result<(), NotSent> {
        if self.link.has_ended() {
            // Something that it has started may hold its output open: then nothing else says so.
            self.close();
            return Err(NotSent::Closed(has_ended(self.link.exit_status())));
        }
        match self.outbox.send(&[message.as_bytes(), b"\n"].concat()) {
            Err(NotSent::Closed(problem)) => {
                log::debug!("{}: {problem}", self.name());
                self.close();
                Err(NotSent::Closed(has_ended(self.link.exit_status())))
            }
            sent => sent,
        }
    }

    pub(super) fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }

    /// Ends the server, in bounded time, which nobody waits for.
    pub(super) fn close(self: &Arc<Self>) {
        if self.is_ending.swap(true, Ordering::SeqCst) {
            return;
        }
        let at_work = Arc::clone(self);
        let spawned = thread::Builder::new().name("mcp-relay-end".into()).spawn(move || at_work.end());
        if let Err(e) = spawned {
            log::warn!("no thread to end {}: {e}", self.name());
            self.end();
        }
    }

    fn end(&self) {
        self.outbox.drain(Deadline::after(Some(PATIENCE.flush)));
        self.outbox.close("the connection is closed");
        let ending = self.link.close(&PATIENCE);
        log::debug!("{} {ending}", self.name());
        // Its last answers are still to be read, unless something that it has started holds its output open. Nothing is ever
        // sent: this ends by the disconnection or by the time.
        let _ = self.reading.recv_timeout(LAST_WORDS);
        self.tell_end(&has_ended(ending.status));
        lock(&self.slot).take();
    }

    /// Its output has ended.
    fn has_ended(&self, problem: String) {
        let is_awaited = self.is_ending.swap(true, Ordering::SeqCst);
        // First, so that whoever sends from now on knows, and whoever has sent is told.
        self.outbox.close(&problem);
        let reason = has_ended(self.link.exit_status());
        if !is_awaited {
            let stderr = self.link.stderr_tail();
            let said = if stderr.is_empty() { String::new() } else { format!(", and said: {stderr}") };
            log::warn!("{}: {problem}, {reason}{said}", self.name());
        }
        self.tell_end(&reason);
        if !is_awaited {
            let ending = self.link.close(&PATIENCE);
            log::debug!("{} {ending}", self.name());
            lock(&self.slot).take();
        }
    }

    fn tell_end(&self, reason: &str) {
        let hears = lock(&self.hears).take();
        if let Some(hears) = hears {
            hears.ended(self, reason);
        }
    }

    /// Reads until the end; why that is.
    fn read(&self, reader: &mut dyn FrameRead, hears: &dyn Hears) -> String {
        let mut frame = Vec::new();
        loop {
            match reader.read_frame(&mut frame) {
                Ok(Received::Frame) if is_empty_line(&frame) => {}
                Ok(Received::Frame) if reader.is_cut() && Incoming::decode(&frame).is_err() => {
                    log::debug!("ignored half a message, the last of {}", self.name());
                }
                Ok(Received::Frame) => self.accept(&frame, hears),
                Ok(Received::TooLong(limit)) => self.refuse(&frame, &BadFrame::too_long(limit), hears),
                Ok(Received::Failed) => {
                    let Some(RequestFailure { id, kind, problem, .. }) = reader.take_failure() else {
                        continue;
                    };
                    hears.failed(&id, problem);
                    if kind == FailureKind::SessionEnded {
                        return "its session has ended".to_owned();
                    }
                }
                Ok(Received::End) => return "its output has ended".to_owned(),
                Err(e) => return format!("reading failed: {e}"),
            }
        }
    }

    fn accept(&self, frame: &[u8], hears: &dyn Hears) {
        // As with lone surrogates: a character is lost, not the message.
        let text = String::from_utf8_lossy(frame);
        let text = one_line(&text);
        match Incoming::decode(text.as_bytes()) {
            Ok(incoming) => {
                if matches!(incoming, Incoming::Response { .. }) {
                    self.has_answered.store(true, Ordering::Relaxed);
                }
                hears.heard(incoming, &text);
            }
            // spec: 2025-03-26 basic/index#batching
            Err(bad) if bad.is_batch => match peer::split_batch(text.as_bytes()) {
                Ok(messages) => messages.iter().for_each(|message| match message.get().trim_start() {
                    inner if inner.starts_with('[') => log::debug!("ignored a batch in a batch"),
                    _ => self.accept(message.get().as_bytes(), hears),
                }),
                Err(problem) => log::warn!("ignored a batch of {}: {problem}", self.name()),
            },
            Err(bad) => self.refuse(text.as_bytes(), &bad, hears),
        }
    }

    /// A frame that is no message. Its call fails, if one can see whose answer it is.
    fn refuse(&self, frame: &[u8], bad: &BadFrame, hears: &dyn Hears) {
        match peer::garbled_answer(&String::from_utf8_lossy(frame)) {
            Some(id) => hears.failed(&id, format!("the answer cannot be read: {}", bad.error.message)),
            None if self.noise.fetch_add(1, Ordering::Relaxed) < REPORTED_NOISE => {
                log::warn!("skipped a line of {}, which is no message: {}", self.name(), bad.error);
            }
            None => {}
        }
    }
}

fn has_ended(status: Option<ExitStatus>) -> String {
    status.map_or_else(
        || "the server has ended".to_owned(),
        |status| format!("the server has ended ({status})"),
    )
}

/// Why a message was not sent, in words for its sender.
pub(super) fn not_sent(why: NotSent) -> String {
    match why {
        NotSent::Full(limit) => format!("{limit} bytes wait for a peer that does not read"),
        NotSent::Closed(reason) => reason,
    }
}
