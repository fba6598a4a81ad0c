//! [`StderrTail`]: a child's stderr, read all the time.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, bounded};

use crate::sync::{Mutex, lock};

/// How much is kept for error messages.
const TAIL_BYTES: usize = 16 * 1024;

/// A line longer than this is given to the callback in pieces.
const LINE_BYTES: usize = 16 * 1024;

/// What becomes of each line.
pub(super) type OnLine = dyn Fn(&str) + Send + Sync;

/// The end of what a child wrote to stderr.
///
/// A thread (`mcp-stderr`) reads from before the first byte is written to the child, because a full
/// pipe would block it. Bound: [`TAIL_BYTES`]. End: the pipe's; it is never joined, for a process the child left
/// behind may hold the pipe open.
#[derive(Debug)]
pub(super) struct StderrTail {
    tail: Arc<Mutex<VecDeque<u8>>>,
    /// Disconnected when the pipe has ended.
    ended: Receiver<()>,
}

impl StderrTail {
    /// Nothing is captured.
    pub(super) fn none() -> Self {
        Self { tail: Arc::default(), ended: bounded(0).1 }
    }

    /// Reads `pipe` to its end.
    pub(super) fn read(
        mut pipe: impl Read + Send + 'static,
        callback: Option<Arc<OnLine>>,
    ) -> io::Result<Self> {
        let (end, ended) = bounded::<()>(0);
        let tail = Arc::<Mutex<VecDeque<u8>>>::default();
        let kept = Arc::clone(&tail);
        std::thread::Builder::new().name("mcp-stderr".into()).spawn(move || {
            let _end = end;
            let mut buf = [0; 4096];
            let mut line = Vec::new();
            loop {
                let read = match pipe.read(&mut buf) {
                    Ok(0) => break,
                    Ok(n) => &buf[..n],
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                    Err(e) => {
                        log::debug!("reading a server's stderr ended: {e}");
                        break;
                    }
                };
                keep(&mut lock(&kept), read);
                if let Some(callback) = &callback {
                    split_lines(&mut line, read, callback.as_ref());
                }
            }
            if let Some(callback) = callback.filter(|_| !line.is_empty()) {
                give(callback.as_ref(), &line);
            }
        })?;
        Ok(Self { tail, ended })
    }

    /// What was written last; waits at most `time` for the pipe's end.
    pub(super) fn text(&self, time: Duration) -> String {
        // Nothing is ever sent: this ends by the disconnection or by the time.
        let _ = self.ended.recv_timeout(time);
        let tail: Vec<u8> = lock(&self.tail).iter().copied().collect();
        String::from_utf8_lossy(&tail).into_owned()
    }
}

fn keep(tail: &mut VecDeque<u8>, read: &[u8]) {
    let excess = (tail.len() + read.len()).saturating_sub(TAIL_BYTES).min(tail.len());
    tail.drain(..excess);
    tail.extend(read);
}

/// Gives the line to the callback. If that panics the pipe is read on all the same, for the child's sake.
fn give(callback: &OnLine, line: &[u8]) {
    let line = String::from_utf8_lossy(line);
    let call = AssertUnwindSafe(|| callback(line.trim_end_matches(['\r', '\n'])));
    if catch_unwind(call).is_err() {
        log::error!("a callback for lines of stderr panicked");
    }
}

fn split_lines(line: &mut Vec<u8>, read: &[u8], callback: &OnLine) {
    for piece in read.split_inclusive(|b| *b == b'\n') {
        line.extend_from_slice(piece);
        if piece.ends_with(b"\n") || line.len() >= LINE_BYTES {
            give(callback, line);
            line.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_that_panics_does_not_stop_the_reading() {
        let text = io::Cursor::new(b"one\ntwo\n".to_vec());
        let tail = StderrTail::read(text, Some(Arc::new(|_: &str| panic!("the panic of a test"))));
        assert_eq!(tail.expect("a thread").text(Duration::from_secs(60)), "one\ntwo\n");
    }

    #[test]
    fn the_tail_is_bounded_and_lines_reach_the_callback() {
        let seen = Arc::<Mutex<Vec<usize>>>::default();
        let lines = Arc::clone(&seen);
        let text = format!("short\r\n{}\nlast", "x".repeat(300_000));
        let tail = StderrTail::read(
            io::Cursor::new(text.into_bytes()),
            Some(Arc::new(move |line: &str| lock(&lines).push(line.len()))),
        )
        .expect("a thread");
        let text = tail.text(Duration::from_secs(60));
        assert_eq!(text.len(), TAIL_BYTES);
        assert!(text.ends_with("x\nlast"));
        let seen = lock(&seen);
        assert_eq!((seen[0], seen.last(), seen.iter().sum::<usize>()), (5, Some(&4), 5 + 300_000 + 4));
    }
}
