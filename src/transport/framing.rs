//! [`LineReader`]: frames out of a byte stream.

use std::fmt;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use super::{FrameRead, Received};

/// The longest frame read by default: 16 MiB.
pub const DEFAULT_MAX_FRAME_BYTES: usize = 16 * 1024 * 1024;

/// As much as a pipe holds.
const BUFFER_BYTES: usize = 64 * 1024;

/// A frame buffer larger than this is given back after a large frame.
const KEEP_BYTES: usize = 256 * 1024;

/// How far a frame buffer grows once a frame is larger than [`BUFFER_BYTES`]: memory that is not used costs nothing, and
/// growing in small steps leaves holes behind.
const LARGE_BYTES: usize = 1024 * 1024;

/// So much is kept of a frame that is too long: enough to see which call it answers.
pub(super) const HEAD_BYTES: usize = 256;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Reads one line a frame. Works on bytes: a line that is not UTF-8 is its own error, not the stream's end.
///
/// spec: 2026-07-28 basic/transports/stdio (messages are delimited by newlines)
pub struct LineReader<R> {
    inner: BufReader<R>,
    max_frame_bytes: usize,
    is_first: bool,
    is_cut: bool,
}

impl<R: Read> LineReader<R> {
    /// Reads lines of at most `max_frame_bytes` from `inner`.
    pub fn new(inner: R, max_frame_bytes: usize) -> Self {
        Self {
            inner: BufReader::with_capacity(BUFFER_BYTES, inner),
            max_frame_bytes,
            is_first: true,
            is_cut: false,
        }
    }

    /// Reads up to the line's end. Of a line beyond the limit all but the head is read and forgotten.
    fn read_line(&mut self, frame: &mut Vec<u8>) -> io::Result<Received> {
        let mut total = 0_usize;
        loop {
            let chunk = match self.inner.fill_buf() {
                Ok([]) if total == 0 => return Ok(Received::End),
                Ok(chunk) => chunk,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            // std's search for a byte, at memchr speed.
            let used = { chunk }.skip_until(b'\n')?;
            let ended = used == 0 || chunk[used - 1] == b'\n';
            let text = &chunk[..used - usize::from(ended && used > 0)];
            total += text.len();
            if total <= self.max_frame_bytes {
                if total > frame.capacity() && total > BUFFER_BYTES {
                    frame.reserve_exact(
                        (total.next_multiple_of(LARGE_BYTES)).max(frame.len() * 2) - frame.len(),
                    );
                }
                frame.extend_from_slice(text);
            } else if let Some(room) = HEAD_BYTES.checked_sub(frame.len()) {
                frame.extend_from_slice(&text[..room.min(text.len())]);
            }
            self.inner.consume(used);
            if ended {
                self.is_cut = used == 0;
                break;
            }
        }
        if total > self.max_frame_bytes {
            frame.truncate(HEAD_BYTES);
            return Ok(Received::TooLong(self.max_frame_bytes));
        }
        Ok(Received::Frame)
    }
}

impl<R: Read + Send> FrameRead for LineReader<R> {
    fn read_frame(&mut self, frame: &mut Vec<u8>) -> io::Result<Received> {
        frame.clear();
        if frame.capacity() > KEEP_BYTES {
            frame.shrink_to(BUFFER_BYTES);
        }
        let received = self.read_line(frame)?;
        if frame.last() == Some(&b'\r') {
            frame.pop();
        }
        // Some shells put a byte order mark in front of what they pipe.
        if std::mem::take(&mut self.is_first) && frame.starts_with(BYTE_ORDER_MARK) {
            frame.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(received)
    }

    fn has_frame(&self) -> bool {
        self.inner.buffer().contains(&b'\n')
    }

    fn is_cut(&self) -> bool {
        self.is_cut
    }
}

impl<R> fmt::Debug for LineReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineReader").field("max_frame_bytes", &self.max_frame_bytes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes in pieces cut at the given places.
    struct Pieces(Vec<Vec<u8>>);

    impl Read for Pieces {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            let piece = self.0.remove(0);
            buf[..piece.len()].copy_from_slice(&piece);
            Ok(piece.len())
        }
    }

    fn frames(reader: &mut impl FrameRead) -> Vec<String> {
        let mut frame = Vec::new();
        let mut all = Vec::new();
        loop {
            match reader.read_frame(&mut frame).expect("reads") {
                Received::End => return all,
                Received::TooLong(limit) => all.push(format!("over {limit}")),
                Received::Frame => all.push(String::from_utf8_lossy(&frame).into_owned()),
                Received::Failed => all.push("failed".to_owned()),
            }
        }
    }

    #[test]
    fn every_split_gives_the_same_frames() {
        let text = "\u{feff}{\"a\":1}\r\n\n[2]\n0123456789ab\nlast";
        let want = ["{\"a\":1}", "", "[2]", "over 11", "last"];
        for cut in 1..text.len() {
            let (a, b) = text.as_bytes().split_at(cut);
            let pieces = Pieces(vec![a.to_vec(), b.to_vec()]);
            assert_eq!(frames(&mut LineReader::new(pieces, 11)), want, "cut at {cut}");
        }
        let bytes = Pieces(text.bytes().map(|b| vec![b]).collect());
        assert_eq!(frames(&mut LineReader::new(bytes, 11)), want);
    }

    #[test]
    fn a_frame_in_the_buffer_is_announced() {
        let mut reader = LineReader::new(&b"a\nb\nc"[..], 10);
        let mut frame = Vec::new();
        let mut seen = Vec::new();
        while reader.read_frame(&mut frame).expect("reads") == Received::Frame {
            seen.push((reader.has_frame(), reader.is_cut()));
        }
        assert_eq!(seen, [(true, false), (false, false), (false, true)]);
    }

    #[test]
    fn an_endless_line_costs_no_memory() {
        let mut reader = LineReader::new(io::repeat(b'a').take(50_000_000).chain(&b"\nok\n"[..]), 1000);
        let mut frame = Vec::new();
        assert_eq!(reader.read_frame(&mut frame).expect("reads"), Received::TooLong(1000));
        assert_eq!(frame, [b'a'; HEAD_BYTES]);
        assert!(frame.capacity() <= BUFFER_BYTES);
        assert_eq!(reader.read_frame(&mut frame).expect("reads"), Received::Frame);
        assert_eq!(frame, b"ok");
    }
}
