//! [`Member`]: one server of a host, from its entry to its end.
//!
//! ```text
//!  Waiting ──▶ Starting ──▶ Ready ──▶ Ended ──▶ Starting …
//!                 └──▶ Failed ──▶ Starting …            any ──▶ Stopped
//! ```
//!
//! **Invariants:** at most one thread at a time starts it for the first time, and others share what comes of that; further starts are the
//! [`Restarter`]'s.

use std::convert::Infallible;
use std::fmt;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::{Receiver, bounded, never, select};

use super::config::ServerEntry;
use super::events::ServerState;
use super::resilience::{Breaker, Restarter};
use crate::client::{Client, ClientHandle, ServerIdentity};
use crate::error::{Error, Result};
use crate::protocol::ToolDefinition;
use crate::sync::{CancelToken, Mutex, lock};

pub(super) struct Member {
    pub(super) name: Arc<str>,
    pub(super) entry: ServerEntry,
    /// The entry in one line, which consent is bound to.
    pub(super) configured: String,
    pub(super) breaker: Breaker,
    pub(super) strays: Strays,
    /// Fires when it is taken out of the host, or the host is closed.
    pub(super) gone: CancelToken,
    /// Locked for a look or an exchange.
    inside: Mutex<Inside>,
}

struct Inside {
    state: ServerState,
    client: Option<Client>,
    /// As soon as there is a client.
    restarter: Option<Arc<Restarter>>,
    identity: Option<Arc<ServerIdentity>>,
    /// Somebody brings it up; disconnected when that is over.
    flight: Option<Receiver<Infallible>>,
    /// What came of the last time it was tried, if it did not go well.
    failure: Option<Error>,
    /// As it was listed last; shared with whoever looks.
    listed: Arc<[ToolDefinition]>,
    /// Some of it has a name that was another's.
    has_clash: bool,
}

impl Member {
    pub(super) fn new(entry: ServerEntry, configured: String, breaker: Breaker) -> Self {
        let state = if entry.disabled { ServerState::Disabled } else { ServerState::Waiting };
        Self {
            name: Arc::from(entry.name.as_str()),
            entry,
            configured,
            breaker,
            strays: Strays::default(),
            gone: CancelToken::new(),
            inside: Mutex::new(Inside {
                state,
                client: None,
                restarter: None,
                identity: None,
                flight: None,
                failure: None,
                listed: Arc::new([]),
                has_clash: false,
            }),
        }
    }

    pub(super) fn state(&self) -> ServerState {
        lock(&self.inside).state.clone()
    }

    /// Whether that is news. A member that was stopped stays so.
    pub(super) fn set_state(&self, state: &ServerState) -> bool {
        let mut inside = lock(&self.inside);
        let is_news = inside.state != *state && inside.state != ServerState::Stopped;
        if is_news {
            inside.state = state.clone();
        }
        is_news
    }

    pub(super) fn identity(&self) -> Option<Arc<ServerIdentity>> {
        lock(&self.inside).identity.clone()
    }

    /// Notes what it says of itself; returns what it said before.
    pub(super) fn set_identity(&self, identity: &Arc<ServerIdentity>) -> Option<Arc<ServerIdentity>> {
        lock(&self.inside).identity.replace(Arc::clone(identity))
    }

    pub(super) fn handle(&self) -> Option<ClientHandle> {
        lock(&self.inside).client.as_ref().map(|client| client.handle())
    }

    /// The client of what was started, and what starts it again.
    ///
    /// # Errors
    /// When it was never started.
    pub(super) fn running(&self) -> Result<(ClientHandle, Arc<Restarter>)> {
        let running = {
            let inside = lock(&self.inside);
            inside.client.as_ref().map(|client| client.handle()).zip(inside.restarter.clone())
        };
        running.ok_or_else(|| self.not_running())
    }

    /// Why it cannot be used just now.
    pub(super) fn not_running(&self) -> Error {
        let inside = lock(&self.inside);
        match &inside.failure {
            Some(error) => error.copy(),
            None => Error::Busy(format!("server {} is not ready: {}", self.name, inside.state)),
        }
    }

    /// Keeps the client of a server that is running, unless the member is gone: then it is given back.
    pub(super) fn keep(&self, client: Client, restarter: Restarter) -> Option<Client> {
        let mut inside = lock(&self.inside);
        if inside.state == ServerState::Stopped {
            return Some(client);
        }
        let restarter = Some(Arc::new(restarter));
        let old = (inside.client.replace(client), mem::replace(&mut inside.restarter, restarter));
        drop(inside);
        drop(old); // ends it, so not under the lock
        None
    }

    pub(super) fn set_listed(&self, listed: &Arc<[ToolDefinition]>, has_clash: bool) {
        let mut inside = lock(&self.inside);
        (inside.listed, inside.has_clash) = (Arc::clone(listed), has_clash);
    }

    /// What was listed last, if a part of it has a name that was another's.
    pub(super) fn clashing(&self) -> Option<Arc<[ToolDefinition]>> {
        let inside = lock(&self.inside);
        inside.has_clash.then(|| Arc::clone(&inside.listed))
    }

    /// Gives back what runs of it, which is ended by dropping it.
    pub(super) fn discard(&self) -> (Option<Client>, Option<Arc<Restarter>>) {
        let mut inside = lock(&self.inside);
        (inside.client.take(), inside.restarter.take())
    }

    /// It is over; returns what is to be closed.
    pub(super) fn stop(&self) -> Option<Client> {
        self.gone.cancel(format!("server {} was stopped", self.name));
        lock(&self.inside).state = ServerState::Stopped;
        self.discard().0
    }

    /// Has `start` run by one thread, unless it is started already. Whoever finds another at it waits for that, until `cancel` fires, and
    /// shares what comes of it.
    pub(super) fn start(
        &self,
        cancel: Option<&CancelToken>,
        start: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        // Disconnected at the end of the flight, also by a panic.
        let (_over, flight) = bounded(0);
        let other = {
            let mut inside = lock(&self.inside);
            if inside.client.is_some() && inside.flight.is_none() {
                return Ok(());
            }
            match &inside.flight {
                Some(other) => Some(other.clone()),
                None => {
                    inside.flight = Some(flight);
                    None
                }
            }
        };
        if let Some(other) = other {
            wait(&other, cancel)?;
            return if self.handle().is_some() { Ok(()) } else { Err(self.not_running()) };
        }
        let landing = Landing(self);
        let outcome = start();
        lock(&self.inside).failure = outcome.as_ref().err().map(Error::copy);
        drop(landing);
        outcome
    }
}

fn wait(flight: &Receiver<Infallible>, cancel: Option<&CancelToken>) -> Result<()> {
    let cancelled = cancel.map_or_else(never, CancelToken::receiver);
    select! {
        recv(flight) -> _ => Ok(()),
        recv(cancelled) -> _ => {
            let reason = cancel.and_then(CancelToken::reason).unwrap_or("cancelled");
            Err(Error::Cancelled(reason.to_owned()))
        }
    }
}

/// How many answers to nothing were told of.
#[derive(Default)]
pub(super) struct Strays(AtomicU64);

impl Strays {
    /// `count` if that is worth telling: the first, and then each time that there are twice as many.
    pub(super) fn news(&self, count: u64) -> Option<u64> {
        let is_more = |told: u64| (count > 0 && count >= told.saturating_mul(2)).then_some(count);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_more).ok().map(|_| count)
    }
}

/// Nobody starts the member any more.
struct Landing<'a>(&'a Member);

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        lock(&self.0.inside).flight = None;
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Member({}, {})", self.name, self.state())
    }
}
