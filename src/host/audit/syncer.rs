//! [`Syncer`]: brings lines to the disk some time after they were written.

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, select};

use super::log::Shared;

/// At the close of a log so long is waited for the last lines to reach the disk.
const LAST_SYNC: Duration = Duration::from_secs(2);

/// Owner: the log. Bound: one thread. End: with the log, after the last lines; a disk that takes longer than [`LAST_SYNC`] is left to
/// itself and reported.
pub(super) struct Syncer {
    /// Holds one sign that there is something to do.
    wake: Sender<()>,
    stop: Option<Sender<Infallible>>,
    ended: Receiver<Infallible>,
}

impl Syncer {
    pub(super) fn start(shared: &Arc<Shared>, time: Duration) -> io::Result<Self> {
        let (wake, woken) = bounded(1);
        let (stop, stopped) = bounded(0);
        let (end, ended) = bounded::<Infallible>(0);
        let shared = Arc::downgrade(shared);
        std::thread::Builder::new().name("mcp-audit".into()).spawn(move || {
            run(&shared, time, &woken, &stopped);
            drop(end);
        })?;
        Ok(Self { wake, stop: Some(stop), ended })
    }

    /// There are lines. Never waits.
    pub(super) fn wake(&self) {
        // A sign that is there already says the same.
        let _ = self.wake.try_send(());
    }
}

fn run(shared: &Weak<Shared>, time: Duration, woken: &Receiver<()>, stopped: &Receiver<Infallible>) {
    loop {
        let goes_on = select! {
            recv(woken) -> sign => sign.is_ok() && stopped.recv_timeout(time).is_err_and(|e| e.is_timeout()),
            recv(stopped) -> _ => false,
        };
        // Before the lines are brought to the disk, so that one that comes meanwhile is not missed.
        let _ = woken.try_recv();
        if let Some(shared) = shared.upgrade() {
            // What came of it is told by the log's health.
            let _ = shared.sync();
        }
        if !goes_on {
            return;
        }
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if self.ended.recv_timeout(LAST_SYNC).is_err_and(|e| e.is_timeout()) {
            log::warn!("the last lines of the audit log did not reach the disk within {LAST_SYNC:?}");
        }
    }
}
