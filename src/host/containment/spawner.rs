//! [`Spawner`]: the thread that starts servers and stays.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use crate::sys::{Signal, signal_group};
use crate::transport::Spawn;
use crate::{Error, Result};

/// How long a start may take, with those that are before it.
const TURN: Duration = Duration::from_secs(30);

/// A thread that starts processes, one after another, and then stays.
///
/// Linux can end a process with its parent (`--die-with-parent`, `PR_SET_PDEATHSIG`), but means the *thread* that started it: a
/// server started by a thread that is done ends with that thread, though the program lives on. So servers are started by one
/// that stays: the thread `mcp-spawn`. It belongs to this value and its clones, and every server that it has started
/// holds one; it ends with the last of them. When the whole program ends, however that comes about, the thread does too, and with it
/// every server that is contained with [`Bwrap`](super::Bwrap).
///
/// ```
/// use std::sync::Arc;
/// use tinymcp::host::containment::Spawner;
/// use tinymcp::transport::ChildProcess;
///
/// let spawner = Spawner::start()?;
/// let server = ChildProcess::new("notes-server").spawn_with(Arc::new(spawner.clone()));
/// # let _ = server;
/// # Ok::<(), tinymcp::Error>(())
/// ```
#[derive(Clone)]
pub struct Spawner {
    /// A rendezvous: whoever starts a process waits for its turn, at most [`TURN`].
    jobs: Sender<Job>,
}

struct Job {
    command: Command,
    /// A rendezvous too: a child whose owner has given up is ended, not lost.
    reply: Sender<io::Result<Child>>,
}

impl Spawner {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`Error::Transport`] if the system has no thread for it.
    pub fn start() -> Result<Self> {
        let (jobs, work) = bounded(0);
        let thread = std::thread::Builder::new().name("mcp-spawn".into());
        match thread.spawn(move || run(&work)) {
            // Not joined: it ends by itself once nobody can give it work.
            Ok(_) => Ok(Self { jobs }),
            Err(error) => {
                Err(Error::Transport { context: "cannot start the thread that starts servers".into(), error })
            }
        }
    }
}

impl Spawn for Spawner {
    fn spawn(&self, command: Command) -> io::Result<Child> {
        let end = Instant::now() + TURN;
        let late = || {
            let text =
                format!("not started within {} s: an earlier start, or this one, hangs", TURN.as_secs());
            io::Error::new(io::ErrorKind::TimedOut, text)
        };
        let gone = || io::Error::other("the thread that starts servers is gone");
        let (reply, answer) = bounded(0);
        self.jobs
            .send_deadline(Job { command, reply }, end)
            .map_err(|e| if e.is_timeout() { late() } else { gone() })?;
        answer.recv_deadline(end).map_err(|e| if e == RecvTimeoutError::Timeout { late() } else { gone() })?
    }
}

impl fmt::Debug for Spawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Spawner")
    }
}

fn run(work: &Receiver<Job>) {
    for Job { mut command, reply } in work {
        // A panic here would end this thread, and with it every server.
        let started = catch_unwind(AssertUnwindSafe(|| command.spawn()))
            .unwrap_or_else(|_| Err(io::Error::other("starting the process panicked")));
        if let Err(unwanted) = reply.send(started) {
            if let Ok(mut child) = unwanted.into_inner() {
                log::warn!("a server was started too late and is ended again");
                signal_group(child.id(), Signal::Kill);
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_child_that_nobody_waits_for_is_ended() {
        let (jobs, work) = bounded(1);
        let mut command = Command::new("sleep");
        command.arg("3600");
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let (reply, _) = bounded(0);
        jobs.send(Job { command, reply }).expect("room");
        drop(jobs);
        let started = Instant::now();
        run(&work); // which waits for the child's end
        assert!(started.elapsed() < Duration::from_secs(60));
    }
}
