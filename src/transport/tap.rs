//! [`Tap`]: seeing every frame that passes, for recorders and wire logs.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::{Connection, FrameRead, FrameWrite, Received, RequestFailure};

/// Which way a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Direction {
    /// From the peer to us.
    Received,
    /// From us to the peer.
    Sent,
}

/// Sees every frame that passes a connection, exactly as it passes.
///
/// Called by the thread that reads or writes, in the order of the wire and before the frame is acted on: return
/// quickly, and hand work to another thread. A panic goes to the log and costs the tap that frame, not the connection.
pub trait Tap: Send + Sync {
    /// One frame, without its line end. It may be anything the peer wrote, not only JSON.
    fn frame(&self, direction: Direction, frame: &[u8]);
}

/// Writes every frame to the log at level `trace`. **Nothing is redacted.**
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct WireLog;

impl Tap for WireLog {
    fn frame(&self, direction: Direction, frame: &[u8]) {
        let arrow = if direction == Direction::Received { "<" } else { ">" };
        log::trace!("{arrow} {}", String::from_utf8_lossy(frame));
    }
}

/// Lets `tap` see what passes `connection`.
pub(crate) fn tapped(connection: Connection, tap: &Arc<dyn Tap>) -> Connection {
    Connection {
        reader: Box::new(TappedReader { inner: connection.reader, tap: Arc::clone(tap) }),
        writer: Box::new(TappedWriter { inner: connection.writer, tap: Arc::clone(tap), partial: 0 }),
        link: connection.link,
    }
}

/// The thread that reads and the writer in use would be lost with a panic, and every call with them.
pub(crate) fn show(tap: &dyn Tap, direction: Direction, frame: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| tap.frame(direction, frame))).is_err() {
        log::error!("a tap panicked");
    }
}

struct TappedReader {
    inner: Box<dyn FrameRead>,
    tap: Arc<dyn Tap>,
}

impl FrameRead for TappedReader {
    fn read_frame(&mut self, frame: &mut Vec<u8>) -> io::Result<Received> {
        let received = self.inner.read_frame(frame)?;
        if received == Received::Frame {
            show(&*self.tap, Direction::Received, frame);
        }
        Ok(received)
    }

    fn take_failure(&mut self) -> Option<RequestFailure> {
        self.inner.take_failure()
    }

    fn has_frame(&self) -> bool {
        self.inner.has_frame()
    }

    fn is_cut(&self) -> bool {
        self.inner.is_cut()
    }
}

struct TappedWriter {
    inner: Box<dyn FrameWrite>,
    tap: Arc<dyn Tap>,
    /// Bytes offered before that were not written then: they come again and have been seen.
    partial: usize,
}

impl TappedWriter {
    fn show(&mut self, frames: &[u8]) {
        let new = frames.get(self.partial..).unwrap_or_default();
        for frame in new.split_inclusive(|b| *b == b'\n') {
            show(&*self.tap, Direction::Sent, frame.strip_suffix(b"\n").unwrap_or(frame));
        }
        self.partial = 0;
    }
}

impl FrameWrite for TappedWriter {
    fn write_frames(&mut self, frames: &[u8]) -> io::Result<()> {
        self.show(frames);
        self.inner.write_frames(frames)
    }

    fn write_some(&mut self, frames: &[u8]) -> io::Result<Option<usize>> {
        let written = self.inner.write_some(frames)?;
        if let Some(written) = written {
            self.show(frames);
            self.partial = frames.len() - written;
        }
        Ok(written)
    }
}
