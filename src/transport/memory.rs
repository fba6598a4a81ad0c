//! [`memory_pair`]: two ends in one process, for tests and for a server inside its client's program.

use std::io;

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};

use super::framing::HEAD_BYTES;
use super::{Connection, FrameRead, FrameWrite, Link, OpenOptions, Received, Transport};

/// As many frames may wait in each direction before writing blocks. A channel's end is its writing half's.
const FRAMES: usize = 256;

/// One end of a [`memory_pair`].
#[derive(Debug)]
pub struct MemoryTransport {
    incoming: Receiver<Vec<u8>>,
    outgoing: Sender<Vec<u8>>,
    /// Dropped by the link to end a blocked read.
    stop: (Sender<()>, Receiver<()>),
}

/// Two connected ends: what one writes, the other reads.
#[must_use]
pub fn memory_pair() -> (MemoryTransport, MemoryTransport) {
    let ((to_a, from_b), (to_b, from_a)) = (bounded(FRAMES), bounded(FRAMES));
    let end = |incoming, outgoing| MemoryTransport { incoming, outgoing, stop: bounded(1) };
    (end(from_b, to_b), end(from_a, to_a))
}

impl MemoryTransport {
    /// The bare channels, frames without line ends: for whoever plays a peer by hand.
    pub(crate) fn into_channels(self) -> (Receiver<Vec<u8>>, Sender<Vec<u8>>) {
        (self.incoming, self.outgoing)
    }
}

impl Transport for MemoryTransport {
    fn open(self: Box<Self>, options: &OpenOptions) -> io::Result<Connection> {
        let (stop, stopped) = self.stop;
        let reader =
            MemoryReader { incoming: self.incoming, stopped, max_frame_bytes: options.max_frame_bytes };
        Ok(Connection::new(reader, MemoryWriter(self.outgoing), MemoryLink(stop)))
    }
}

struct MemoryReader {
    incoming: Receiver<Vec<u8>>,
    stopped: Receiver<()>,
    max_frame_bytes: usize,
}

impl FrameRead for MemoryReader {
    fn read_frame(&mut self, frame: &mut Vec<u8>) -> io::Result<Received> {
        frame.clear();
        let received = match self.incoming.try_recv() {
            Err(TryRecvError::Empty) => crossbeam_channel::select! {
                recv(self.incoming) -> received => received.ok(),
                recv(self.stopped) -> _ => None,
            },
            received => received.ok(),
        };
        let Some(mut received) = received else { return Ok(Received::End) };
        if received.len() > self.max_frame_bytes {
            received.truncate(HEAD_BYTES);
            *frame = received;
            return Ok(Received::TooLong(self.max_frame_bytes));
        }
        *frame = received;
        Ok(Received::Frame)
    }

    fn has_frame(&self) -> bool {
        !self.incoming.is_empty()
    }
}

struct MemoryWriter(Sender<Vec<u8>>);

impl FrameWrite for MemoryWriter {
    fn write_frames(&mut self, frames: &[u8]) -> io::Result<()> {
        for frame in frames.split_inclusive(|b| *b == b'\n') {
            let frame = frame.strip_suffix(b"\n").unwrap_or(frame);
            self.0.send(frame.to_vec()).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        }
        Ok(())
    }
}

struct MemoryLink(Sender<()>);

impl Link for MemoryLink {
    fn name(&self) -> &str {
        "in-memory peer"
    }

    fn interrupt(&self) {
        // Full: it has been interrupted before.
        let _ = self.0.try_send(());
    }
}
