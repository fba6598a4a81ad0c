//! [`StderrTail`]: a child's stderr, read all the time.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::sync::{Mutex, lock};

/// How much is kept for error messages.
const TAIL_BYTES: usize = 16 * 1024;

/// So many lines may wait for a callback; then they are dropped.
const QUEUE: usize = 1024;

/// A line longer than this is given to the callback in pieces.
const LINE_BYTES: usize = 16 * 1024;

/// What becomes of each line.
pub(super) type OnLine = dyn Fn(&str) + Send + Sync;

/// The end of what a child wrote to stderr.
///
/// A thread (`mcp-stderr`) reads from before the first byte is written to the child, because a full
/// pipe would block it. Bound: [`TAIL_BYTES`]. End: the pipe's; it is never joined, for a process the child left
/// behind may hold the pipe open. For the same reason a callback runs on a second one (`mcp-lines`): it may be slow, or
/// call the very server that would be blocked. Bound: [`QUEUE`] lines.
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
        let lines = callback.map(|callback| Lines::start(callback, end.clone())).transpose()?;
        std::thread::Builder::new().name("mcp-stderr".into()).spawn(move || {
            let _end = end;
            let mut lines = lines;
            let mut buf = [0; 4096];
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
                if let Some(lines) = &mut lines {
                    lines.split(read);
                }
            }
            if let Some(mut lines) = lines.filter(|lines| !lines.line.is_empty()) {
                lines.give();
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

/// What is written, as lines on their way to a callback.
struct Lines {
    line: Vec<u8>,
    queue: Sender<String>,
    dropped: u64,
}

impl Lines {
    /// `end` is dropped after the last line was given.
    fn start(callback: Arc<OnLine>, end: Sender<()>) -> io::Result<Self> {
        let (queue, lines) = bounded::<String>(QUEUE);
        std::thread::Builder::new().name("mcp-lines".into()).spawn(move || {
            let _end = end;
            for line in lines {
                if catch_unwind(AssertUnwindSafe(|| callback(&line))).is_err() {
                    log::error!("a callback for stderr lines panicked");
                }
            }
        })?;
        Ok(Self { line: Vec::new(), queue, dropped: 0 })
    }

    fn split(&mut self, read: &[u8]) {
        for piece in read.split_inclusive(|b| *b == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.line.len() >= LINE_BYTES {
                self.give();
            }
        }
    }

    fn give(&mut self) {
        let line = String::from_utf8_lossy(&self.line).trim_end_matches(['\r', '\n']).to_owned();
        self.line.clear();
        if self.queue.try_send(line).is_err() {
            self.dropped += 1;
            if self.dropped == 1 {
                log::warn!("dropped a line of stderr: {QUEUE} wait for a callback that is slow");
            }
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
