//! [`Outgoing`]: what is written and the peer has not taken.

use std::collections::VecDeque;
use std::io::{self, Write};

/// Pieces smaller than this are put together.
const PIECE: usize = 16 * 1024;

/// Bytes that wait for their peer, in order. Without any it holds no memory.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    pieces: VecDeque<Vec<u8>>,
    /// Of the first piece.
    written: usize,
    bytes: usize,
}

impl Outgoing {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// So many wait.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes what there is room for, and keeps the rest.
    ///
    /// # Errors
    /// The connection's.
    pub(super) fn write(&mut self, to: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
        let written = if self.is_empty() { write_some(to, bytes)? } else { 0 };
        let rest = &bytes[written..];
        match self.pieces.back_mut() {
            Some(last) if last.len() + rest.len() <= PIECE => last.extend_from_slice(rest),
            _ if rest.is_empty() => {}
            _ => self.pieces.push_back(rest.to_vec()),
        }
        self.bytes += rest.len();
        Ok(())
    }

    /// The same, without a copy.
    ///
    /// # Errors
    /// The connection's.
    pub(super) fn write_owned(&mut self, to: &mut dyn Write, bytes: Vec<u8>) -> io::Result<()> {
        let written = if self.is_empty() { write_some(to, &bytes)? } else { 0 };
        if written < bytes.len() {
            if self.is_empty() {
                self.written = written;
            }
            self.bytes += bytes.len() - written;
            self.pieces.push_back(bytes);
        }
        Ok(())
    }

    /// Writes on; returns how much was.
    ///
    /// # Errors
    /// The connection's.
    pub(super) fn flush(&mut self, to: &mut dyn Write) -> io::Result<usize> {
        let before = self.bytes;
        while let Some(piece) = self.pieces.front() {
            let rest = &piece[self.written..];
            let written = write_some(to, rest)?;
            self.bytes -= written;
            if written < rest.len() {
                self.written += written;
                return Ok(before - self.bytes);
            }
            self.written = 0;
            self.pieces.pop_front();
        }
        self.pieces = VecDeque::new();
        Ok(before)
    }
}

/// As much as there is room for: until the operating system says that there is none, as only then it tells when there is again.
fn write_some(to: &mut dyn Write, bytes: &[u8]) -> io::Result<usize> {
    let mut written = 0;
    while written < bytes.len() {
        match to.write(&bytes[written..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => written += n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has room for so many bytes.
    struct Narrow(Vec<u8>, usize);

    impl Write for Narrow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let n = bytes.len().min(self.1).min(7);
            if n == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.1 -= n;
            self.0.extend_from_slice(&bytes[..n]);
            Ok(n)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_has_no_room_waits_and_keeps_its_order() {
        for room in 0..60 {
            let mut to = Narrow(Vec::new(), room);
            let mut out = Outgoing::default();
            out.write(&mut to, b"one, ").expect("written");
            out.write_owned(&mut to, b"and a longer second, ".to_vec()).expect("written");
            out.write(&mut to, b"three, ").expect("written");
            out.write(&mut to, &[b'x'; PIECE]).expect("written");
            let all = [b"one, and a longer second, three, ".as_slice(), &[b'x'; PIECE]].concat();
            assert_eq!(out.bytes(), all.len() - room);
            let mut flushed = 0;
            while !out.is_empty() {
                to.1 = 1000 + room;
                flushed += out.flush(&mut to).expect("written");
            }
            assert_eq!(flushed, all.len() - room);
            assert!(to.0 == all, "room for {room}");
            assert_eq!(out.pieces.capacity(), 0);
        }
    }
}
