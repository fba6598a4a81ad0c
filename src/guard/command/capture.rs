//! [`Capture`]: both outputs of a program, up to a size.

use std::io::{self, Read};
use std::process::{ChildStderr, ChildStdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, bounded};

use super::LAST_BYTES;
use crate::sync::{Mutex, lock};

/// What is read of both pipes.
///
/// A thread for each (`mcp-capture`). Owner: the run. Bound: the size that was set; beyond it a thread reads nothing, and the program is
/// ended. End: the pipe's; it is not waited for longer than a second, as what has left the group may hold the pipe open.
pub(super) struct Capture {
    outputs: [Arc<Mutex<Vec<u8>>>; 2],
    is_full: Arc<AtomicBool>,
    /// Disconnected when both pipes have ended.
    ended: Receiver<()>,
}

impl Capture {
    pub(super) fn of(
        stdout: Option<ChildStdout>,
        stderr: Option<ChildStderr>,
        max_bytes: usize,
    ) -> io::Result<Self> {
        let (end, ended) = bounded::<()>(0);
        let capture = Self { outputs: Default::default(), is_full: Arc::default(), ended };
        let [out, err] = &capture.outputs;
        let start = |pipe: Option<Box<dyn Read + Send>>, output: &Arc<Mutex<Vec<u8>>>| {
            let Some(pipe) = pipe else { return Ok(()) };
            let (output, is_full, end) = (Arc::clone(output), Arc::clone(&capture.is_full), end.clone());
            let read = move || {
                let _end = end;
                read_to_end(pipe, &output, &is_full, max_bytes);
            };
            std::thread::Builder::new().name("mcp-capture".into()).spawn(read).map(drop)
        };
        start(stdout.map(|pipe| Box::new(pipe) as _), out)?;
        start(stderr.map(|pipe| Box::new(pipe) as _), err)?;
        Ok(capture)
    }

    /// Whether more was written than may be.
    pub(super) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Acquire)
    }

    /// What was written to stdout and to stderr; `None` if it was too much.
    pub(super) fn take(self) -> Option<(Vec<u8>, Vec<u8>)> {
        // Nothing is ever sent: this ends by the disconnection or by the time.
        let _ = self.ended.recv_timeout(LAST_BYTES);
        let [out, err] = &self.outputs;
        let outputs = (std::mem::take(&mut *lock(out)), std::mem::take(&mut *lock(err)));
        (!self.is_full()).then_some(outputs)
    }
}

fn read_to_end(mut pipe: impl Read, output: &Mutex<Vec<u8>>, is_full: &AtomicBool, max_bytes: usize) {
    let mut buf = [0; 8192];
    loop {
        match pipe.read(&mut buf) {
            Ok(0) => return,
            Ok(n) => {
                let mut output = lock(output);
                if output.len() + n > max_bytes {
                    is_full.store(true, Ordering::Release);
                    return;
                }
                output.extend_from_slice(&buf[..n]);
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => {
                log::debug!("reading a program's output ended: {e}");
                return;
            }
        }
    }
}
