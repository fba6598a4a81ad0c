//! [`Outgoing`]: what is written and the peer has not taken.
//!
//! **Invariant:** what all of them hold is counted together, and has a limit: a peer can ask for much and read nothing of it.

use std::collections::VecDeque;
use std::io::{self, Write};

use super::inbox::Held;

/// Pieces smaller than this are put together.
const PIECE: usize = 16 * 1024;

/// Bytes that wait for their peer, in order. Without any it holds no memory.
#[derive(Debug)]
pub(super) struct Outgoing {
    pieces: VecDeque<Vec<u8>>,
    /// Of the first piece.
    written: usize,
    bytes: usize,
    /// The same among those of all connections.
    held: Held,
    /// So many they may hold together.
    limit: usize,
}

impl Outgoing {
    pub(super) fn new(held: Held, limit: usize) -> Self {
        Self { pieces: VecDeque::new(), written: 0, bytes: 0, held, limit }
    }

    /// Nothing of it will be taken.
    pub(super) fn clear(&mut self) {
        (self.pieces, self.written, self.bytes) = (VecDeque::new(), 0, 0);
        self.held.set(0, self.limit);
    }

    /// Counts what waits. One that waits alone may, however much it is; others are given up.
    fn count(&mut self) -> io::Result<()> {
        let bytes = self.bytes + self.written; // a piece is held until its end
        if self.held.set(bytes, self.limit.max(bytes)) {
            return Ok(());
        }
        self.clear();
        let problem = format!("more than {} bytes wait for clients that do not read", self.limit);
        log::warn!("an answer is given up: {problem}");
        Err(io::Error::new(io::ErrorKind::OutOfMemory, problem))
    }

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
    /// The connection's, and when too much waits.
    pub(super) fn write(&mut self, to: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
        let written = if self.is_empty() { write_some(to, bytes)? } else { 0 };
        let rest = &bytes[written..];
        match self.pieces.back_mut() {
            Some(last) if last.len() + rest.len() <= PIECE => last.extend_from_slice(rest),
            _ if rest.is_empty() => {}
            _ => self.pieces.push_back(rest.to_vec()),
        }
        self.bytes += rest.len();
        self.count()
    }

    /// The same, without a copy of what is taken at once.
    ///
    /// # Errors
    /// The connection's, and when too much waits.
    pub(super) fn write_owned(&mut self, to: &mut dyn Write, mut bytes: Vec<u8>) -> io::Result<()> {
        let written = if self.is_empty() { write_some(to, &bytes)? } else { 0 };
        if written < bytes.len() {
            // It may wait for long: without what is taken already, and without room for more.
            bytes.drain(..written);
            bytes.shrink_to_fit();
            self.bytes += bytes.len();
            self.pieces.push_back(bytes);
        }
        self.count()
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
                self.count()?; // never more than before
                return Ok(before - self.bytes);
            }
            self.written = 0;
            self.pieces.pop_front();
        }
        self.clear();
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

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
            let mut out = Outgoing::new(Held::new(&Arc::default()), 0);
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
    #[test]
    fn what_waits_has_a_limit_for_all_together() {
        let all = Arc::new(AtomicUsize::new(0));
        let held = || all.load(Ordering::Relaxed);
        let new = || (Narrow(Vec::new(), 10), Outgoing::new(Held::new(&all), 100));
        let ((mut to, mut one), (mut past, mut other)) = (new(), new());
        // Alone it may be as much as it likes. What is taken does not count.
        one.write_owned(&mut to, vec![b'x'; 210]).expect("alone");
        assert_eq!((one.bytes(), held()), (200, 200));
        let error = other.write_owned(&mut past, vec![b'x'; 11]).expect_err("too much").to_string();
        assert_eq!(error, "more than 100 bytes wait for clients that do not read");
        other.clear();
        other.write(&mut past, b"").expect("nothing waits");
        assert_eq!(held(), 200);
        // A piece is held until all of it is taken.
        to.1 = 150;
        assert_eq!(one.flush(&mut to).expect("written"), 150);
        assert_eq!((one.bytes(), held()), (50, 200));
        to.1 = 50;
        assert_eq!(one.flush(&mut to).expect("written"), 50);
        assert_eq!(held(), 0);
        one.write(&mut to, &[b'x'; 60]).expect("below the limit");
        other.write(&mut past, &[b'x'; 40]).expect("up to the limit");
        assert!(other.write(&mut past, b"x").is_err());
        drop((one, other));
        assert_eq!(held(), 0);
    }
}
