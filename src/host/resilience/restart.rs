//! [`Restarter`]: starts a server again, one restart at a time.
//!
//! ```text
//!  calls ──▶ ready() ──┐
//!                      ├──▶ one flight: pause, old process gone, new one, protocol settled ──▶ all who wait
//!  mcp-watch ── ended ─┘        (thread mcp-restart)
//! ```
//!
//! **Invariants:** at most one flight at a time; whoever waits for one does so for as long as *his* call has time, and the flight
//! goes on without him; the lock is held for a look or an exchange.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, after, bounded, never, select};

use super::attempts::{Revive, check_cancelled};
use super::policy::{Restart, RestartEvent, RestartPolicy};
use crate::client::{ClientHandle, Random};
use crate::error::{Error, Phase, Result};
use crate::sync::{CancelToken, Deadline, Mutex, caught, lock};

/// Owner: whoever makes calls with it. Threads: `mcp-restart`, at most one at a time, until its flight is over; `mcp-watch`, at most
/// one and only for eager restarts, until the client or this is closed. Neither is waited for.
pub(crate) struct Restarter {
    shared: Arc<Shared>,
    /// Dropped with this, or before: ends the watching, and a pause before a restart.
    running: Mutex<Option<Sender<Infallible>>>,
}

struct Shared {
    client: ClientHandle,
    policy: RestartPolicy,
    state: Mutex<State>,
    /// Disconnected when the owner is gone.
    stop: Receiver<Infallible>,
    /// Ends a pause: somebody wants the restart now. Bound: one signal, taken at the latest when the flight is over.
    hurry: (Sender<()>, Receiver<()>),
}

#[derive(Default)]
struct State {
    flight: Option<Flight>,
    is_watched: bool,
    /// Restarts since the server last stayed.
    in_a_row: u32,
    /// When the last one was over.
    last: Option<Instant>,
    /// Whether the protocol could not be settled on the connection there is: it may hang.
    has_failed: bool,
    /// Why nothing is tried any more, and since when.
    given_up: Option<(String, Instant)>,
    /// It cannot be opened again, or has no revision in common: only the owner can do something about it.
    is_hopeless: bool,
}

#[derive(Clone)]
struct Flight {
    /// Disconnected at the end.
    over: Receiver<Infallible>,
    outcome: Arc<OnceLock<Result<()>>>,
}

impl Restarter {
    pub(crate) fn new(client: &ClientHandle, policy: RestartPolicy) -> Self {
        let (running, stop) = bounded(0);
        let state = Mutex::default();
        let hurry = bounded(1);
        let shared = Arc::new(Shared { client: client.clone(), policy, state, stop, hurry });
        Self { shared, running: Mutex::new(Some(running)) }
    }

    /// Begins to watch, if restarts are to be eager.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub(crate) fn watch(&self) -> Result<()> {
        self.shared.be_watched()
    }

    /// Starts the server again, whatever it does now and however often it was before.
    ///
    /// # Errors
    /// As [`ClientHandle::reconnect`], and when there is no time for it.
    pub(crate) fn restart(&self, until: Deadline, cancel: Option<&CancelToken>) -> Result<()> {
        {
            let mut state = lock(&self.shared.state);
            (state.in_a_row, state.given_up, state.last) = (0, None, None);
            state.is_hopeless = false;
            if state.flight.is_some() {
                let _ = self.shared.hurry.0.try_send(());
            }
        }
        let flight = self.shared.fly(true)?;
        self.shared.wait(&flight, until, cancel)
    }

    /// Starts nothing any more, and waits until nobody does, at most for `time`: after the client was closed.
    pub(crate) fn has_landed(&self, time: Duration) -> bool {
        drop(lock(&self.running).take());
        let flight = lock(&self.shared.state).flight.clone();
        flight.is_none_or(|flight| flight.over.recv_timeout(time) == Err(RecvTimeoutError::Disconnected))
    }

    /// Why the server is not started again any more, if so.
    pub(crate) fn given_up(&self) -> Option<String> {
        lock(&self.shared.state).given_up.as_ref().map(|(why, _)| why.clone())
    }
}

impl Revive for Restarter {
    fn ready(&self, until: Deadline, cancel: Option<&CancelToken>) -> Result<()> {
        let shared = &self.shared;
        if shared.client.mark().is_some() || shared.client.is_closed() {
            return Ok(()); // or the call tells best
        }
        let is_final = shared.policy.when() == Restart::Never || lock(&shared.state).is_hopeless;
        if is_final && shared.client.has_ended() {
            return Ok(());
        }
        let flight = shared.fly(false)?;
        shared.wait(&flight, until, cancel)
    }

    fn is_hopeful(&self, error: &Error) -> bool {
        let shared = &self.shared;
        if shared.client.is_closed() {
            return false;
        }
        let state = lock(&shared.state);
        if state.given_up.is_some() {
            return false;
        }
        // Without restarts a connection that has ended stays so.
        let is_final = shared.policy.when() == Restart::Never || state.is_hopeless;
        drop(state);
        !(is_final && error.is_closed() && shared.client.has_ended())
    }

    fn name(&self) -> String {
        self.shared.client.server_name()
    }
}

impl Shared {
    /// The flight that is under way, or a new one. `anew`: also if the connection is alive.
    fn fly(self: &Arc<Self>, anew: bool) -> Result<Flight> {
        let (running, over) = bounded(0);
        let mut state = lock(&self.state);
        if let Some(flight) = &state.flight {
            return Ok(flight.clone());
        }
        if let Some((why, since)) = &state.given_up {
            if since.elapsed() < self.policy.rest {
                let why = why.clone();
                drop(state);
                return Err(self.left_alone(&why));
            }
            // One more, which decides.
            (state.in_a_row, state.given_up) = (self.policy.limit.saturating_sub(1), None);
        }
        let flight = Flight { over, outcome: Arc::default() };
        let (shared, told) = (Arc::clone(self), flight.clone());
        // Under the lock, so that there are never two; the new thread waits for it.
        spawn("mcp-restart", move || {
            let landing = Landing { shared, _running: running };
            // Set once: by this thread.
            let _ = told.outcome.set(landing.shared.revive(anew));
        })?;
        state.flight = Some(flight.clone());
        Ok(flight)
    }

    fn wait(&self, flight: &Flight, until: Deadline, cancel: Option<&CancelToken>) -> Result<()> {
        let start = Instant::now();
        let cancelled = cancel.map_or_else(never, CancelToken::receiver);
        let timeout = until.remaining().map_or_else(never, after);
        select! {
            recv(flight.over) -> _ => match flight.outcome.get() {
                Some(Ok(())) => Ok(()),
                Some(Err(error)) => Err(error.copy()),
                None => Err(self.left_alone("the restart panicked")),
            },
            recv(cancelled) -> _ => check_cancelled(cancel),
            recv(timeout) -> _ => {
                let detail = "the server is being started".to_owned();
                Err(Error::Timeout(self.client.failure(Phase::Handshake, start.elapsed(), detail)))
            }
        }
    }

    /// The life of the thread `mcp-restart`.
    fn revive(self: &Arc<Self>, anew: bool) -> Result<()> {
        let is_first = {
            let state = lock(&self.state);
            !anew && !state.has_failed && state.last.is_none() && !self.client.has_ended()
        };
        // Settling the protocol for the first time is no restart.
        if !is_first {
            self.pause()?;
        }
        let by_force = lock(&self.state).has_failed;
        let revived = match self.client.mark().filter(|_| anew) {
            Some(mark) => self.client.replace_mark(&mark),
            None => self.client.revive(by_force),
        };
        {
            let mut state = lock(&self.state);
            state.last = Some(Instant::now()).filter(|_| !is_first || revived.is_err());
            state.has_failed = revived.is_err();
            state.is_hopeless = matches!(revived, Err(Error::Unsupported(_)));
        }
        if revived.is_ok() {
            if let Err(error) = self.be_watched() {
                log::warn!("{} is started again by the next call only: {error}", self.client.server_name());
            }
        }
        if !is_first || revived.is_err() {
            self.tell(&match &revived {
                Ok(()) => RestartEvent::Restarted,
                Err(error) => RestartEvent::Failed(error.to_string()),
            });
        }
        revived
    }

    /// Counts a restart, and waits before it if it is not the first in a row.
    fn pause(&self) -> Result<()> {
        let (number, pause) = {
            let mut state = lock(&self.state);
            let since = state.last.map(|last| last.elapsed());
            if !state.has_failed && since.is_none_or(|since| since >= self.policy.stable_after) {
                state.in_a_row = 0;
            }
            if state.in_a_row >= self.policy.limit {
                let why = format!("it was started {} times in a row and did not stay", state.in_a_row);
                state.given_up = Some((why.clone(), Instant::now()));
                drop(state);
                self.tell(&RestartEvent::GivenUp(why.clone()));
                return Err(self.left_alone(&why));
            }
            state.in_a_row += 1;
            let number = state.in_a_row;
            let pause = match number {
                1 => Duration::ZERO,
                _ => self.policy.backoff.pause(number - 1, &mut Random::new()),
            };
            (number, pause.saturating_sub(since.unwrap_or_default()))
        };
        if !pause.is_zero() {
            log::debug!("{} is started again after {pause:?}", self.client.server_name());
            select! {
                // Whoever has gone, or closed, wants no restart.
                recv(self.stop) -> _ => return Err(self.left_alone("nobody wants it any more")),
                recv(self.hurry.1) -> _ => {}
                recv(after(pause)) -> _ => {}
            }
        }
        self.tell(&RestartEvent::Restarting(number));
        Ok(())
    }

    fn left_alone(&self, why: &str) -> Error {
        let detail = format!("it is not started again: {why}");
        Error::Closed(self.client.failure(Phase::Handshake, Duration::ZERO, detail))
    }

    fn tell(&self, event: &RestartEvent) {
        log::debug!("{}: {event:?}", self.client.server_name());
        if let Some(on_event) = &self.policy.on_event {
            caught(|| on_event(event));
        }
    }

    /// Has the connection watched, if restarts are to be eager.
    fn be_watched(self: &Arc<Self>) -> Result<()> {
        if self.policy.when() != Restart::Eagerly {
            return Ok(());
        }
        if std::mem::replace(&mut lock(&self.state).is_watched, true) {
            return Ok(());
        }
        let shared = Arc::clone(self);
        spawn("mcp-watch", move || shared.watch()).inspect_err(|_| lock(&self.state).is_watched = false)
    }

    /// The life of the thread `mcp-watch`: has the server started again whenever its connection ends.
    fn watch(self: &Arc<Self>) {
        loop {
            let ended = self.client.ended().unwrap_or_else(never);
            select! {
                recv(self.stop) -> _ => break,
                recv(ended) -> _ => {}
            }
            if self.client.is_closed() {
                break;
            }
            let Ok(flight) = self.fly(false) else { break };
            select! {
                recv(self.stop) -> _ => break,
                recv(flight.over) -> _ => {}
            }
            let state = lock(&self.state);
            if state.is_hopeless || state.given_up.is_some() {
                break;
            }
        }
        lock(&self.state).is_watched = false;
    }
}

/// The end of a flight, also of one that panics.
struct Landing {
    shared: Arc<Shared>,
    /// Dropped after the flight is off the list.
    _running: Sender<Infallible>,
}

impl Drop for Landing {
    fn drop(&mut self) {
        let mut state = lock(&self.shared.state);
        state.flight = None;
        // Whoever hurried this one hurries no later one; as a rule there is nothing.
        let _ = self.shared.hurry.1.try_recv();
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<()> {
    let context = || format!("cannot start a thread {name}");
    let thread = thread::Builder::new().name(name.to_owned()).spawn(run);
    thread.map(drop).map_err(|error| Error::Transport { context: context(), error })
}
