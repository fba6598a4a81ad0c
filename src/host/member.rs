//! [`Member`]: one server of a host, from its entry to its end.
//!
//! ```text
//!  Waiting ──▶ Starting ──▶ Ready ──▶ Ended ──▶ Starting …
//!                 └──▶ Failed ──▶ Starting …            any ──▶ Stopped
//! ```
//!
//! **Invariants:** at most one thread at a time starts it for the first time, and others share what comes of that; further starts are the
//! [`Restarter`]'s.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::convert::Infallible;
use std::fmt;
use std::hash::BuildHasher;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, after, bounded, never, select};

use super::config::ServerEntry;
use super::events::ServerState;
use super::filter::visible;
use super::resilience::{Breaker, Restarter, Times};
use crate::client::{CallOptions, Client, ClientHandle, ServerIdentity};
use crate::error::{Error, Result};
use crate::protocol::ToolDefinition;
use crate::sync::{CancelToken, Deadline, Mutex, lock};

pub(super) struct Member {
    pub(super) name: Arc<str>,
    pub(super) entry: ServerEntry,
    /// The entry in one line, which consent is bound to.
    pub(super) configured: String,
    pub(super) breaker: Breaker,
    pub(super) strays: Strays,
    /// Fires when it is taken out of the host, or the host is closed.
    pub(super) gone: CancelToken,
    /// Fires when nothing of it is left.
    over: CancelToken,
    /// Held while a state is set and told, so that states are told in the order in which they are set. Nothing is waited for under it.
    telling: Mutex<()>,
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
    /// What was refused of it and told, as hashes.
    refusals: HashSet<u64>,
    hasher: RandomState,
    pace: Pace,
    /// What is not to be seen in texts, longest first.
    hidden: Arc<[String]>,
}

/// So much of a text that came from a server is told.
const MAX_TEXT: usize = 32 * 1024;

/// Of so many refused tools it is known that they were told.
const MAX_REFUSALS: usize = 10_000;

/// The first pause before tools are listed again that have changed just now; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Who changes its tools once is listed at once; who does so all the time, at growing distances.
#[derive(Default)]
struct Pace {
    last: Option<Instant>,
    pause: Duration,
}

impl Pace {
    fn pause(&mut self, now: Instant) -> Duration {
        let quiet = self.last.map(|last| now.saturating_duration_since(last));
        self.pause = match quiet {
            Some(quiet) if quiet < (self.pause * 2).max(Duration::from_secs(1)) => {
                (self.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE)
            }
            _ => Duration::ZERO,
        };
        self.pause
    }
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
            over: CancelToken::new(),
            telling: Mutex::default(),
            inside: Mutex::new(Inside {
                state,
                client: None,
                restarter: None,
                identity: None,
                flight: None,
                failure: None,
                listed: Arc::new([]),
                has_clash: false,
                refusals: HashSet::new(),
                hasher: RandomState::new(),
                pace: Pace::default(),
                hidden: Arc::new([]),
            }),
        }
    }

    pub(super) fn state(&self) -> ServerState {
        lock(&self.inside).state.clone()
    }

    /// Sets the state and has it told, if it is news and the one before `may_end` by it. A member that was stopped stays so.
    pub(super) fn set_state(
        &self,
        state: &ServerState,
        may_end: impl Fn(&ServerState) -> bool,
        tell: impl FnOnce(),
    ) -> bool {
        let _telling = lock(&self.telling);
        let is_news = {
            let mut inside = lock(&self.inside);
            let before = &inside.state;
            let is_news = before != state && *before != ServerState::Stopped && may_end(before);
            if is_news {
                inside.state = state.clone();
            }
            is_news
        };
        if is_news {
            tell();
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

    /// The client of what was started, and what starts it again. While it is started for the first time that is nobody else's business.
    ///
    /// # Errors
    /// When it was never started, or is just being.
    pub(super) fn running(&self) -> Result<(ClientHandle, Arc<Restarter>)> {
        let running = {
            let inside = lock(&self.inside);
            let client = inside.client.as_ref().filter(|_| inside.flight.is_none());
            client.map(|client| client.handle()).zip(inside.restarter.clone())
        };
        running.ok_or_else(|| self.not_running())
    }

    /// Waits until nobody starts it for the first time, if that is under way and has come so far that there is a client: its tools are
    /// known a moment before it is ready.
    ///
    /// # Errors
    /// When `cancel` fires. Not when it takes longer than a call with these `options` may.
    pub(super) fn wait_started(&self, options: &CallOptions) -> Result<()> {
        let (client, flight) = {
            let inside = lock(&self.inside);
            (inside.client.as_ref().map(|client| client.handle()), inside.flight.clone())
        };
        let (Some(client), Some(flight)) = (client, flight) else { return Ok(()) };
        let until = Times::new(options, client.timeouts()).deadline();
        wait(&flight, until, options.cancel_token())
    }

    pub(super) fn restarter(&self) -> Option<Arc<Restarter>> {
        lock(&self.inside).restarter.clone()
    }

    /// Why it cannot be used just now.
    pub(super) fn not_running(&self) -> Error {
        let inside = lock(&self.inside);
        match &inside.failure {
            Some(error) if inside.flight.is_none() => error.copy(),
            _ => Error::Busy(format!("server {} is not ready: {}", self.name, inside.state)),
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

    /// It counts as clashing until it is known not to, so that a name that becomes free meanwhile is not missed.
    pub(super) fn set_listed(&self, listed: Arc<[ToolDefinition]>) {
        let mut inside = lock(&self.inside);
        (inside.listed, inside.has_clash) = (listed, true);
    }

    /// As it was listed last.
    pub(super) fn listed(&self) -> Arc<[ToolDefinition]> {
        Arc::clone(&lock(&self.inside).listed)
    }

    pub(super) fn set_clash(&self, listed: &Arc<[ToolDefinition]>, has_clash: bool) {
        let mut inside = lock(&self.inside);
        if Arc::ptr_eq(&inside.listed, listed) {
            inside.has_clash = has_clash;
        }
    }

    /// Whether a part of what was listed last has a name that was another's.
    pub(super) fn is_clashing(&self) -> bool {
        lock(&self.inside).has_clash
    }

    /// Whether nobody was told yet that this tool is refused for this. Of the last [`MAX_REFUSALS`] it is known.
    pub(super) fn is_refusal_news(&self, tool: &str, problem: &str) -> bool {
        let mut inside = lock(&self.inside);
        let refusal = inside.hasher.hash_one((tool, problem));
        if inside.refusals.len() >= MAX_REFUSALS {
            inside.refusals.clear();
        }
        inside.refusals.insert(refusal)
    }

    /// How long to wait before its tools are listed because it says that they have changed.
    pub(super) fn pause_before_listing(&self) -> Duration {
        lock(&self.inside).pace.pause(Instant::now())
    }

    /// They were listed because of that.
    pub(super) fn has_listed(&self) {
        lock(&self.inside).pace.last = Some(Instant::now());
    }

    /// What it was started with and is not to be seen: texts of less than four bytes could be anything.
    pub(super) fn hide<'a>(&self, secrets: impl Iterator<Item = &'a str>) {
        let mut hidden: Vec<_> = secrets.filter(|text| text.len() >= 4).map(str::to_owned).collect();
        // A part of another is not to keep that from being found.
        hidden.sort_by_key(|text| std::cmp::Reverse(text.len()));
        hidden.dedup();
        lock(&self.inside).hidden = hidden.into();
    }

    /// A text that came from the server, or from starting it, without what is to be hidden, of bounded length, for any terminal.
    pub(super) fn harmless(&self, mut text: String) -> String {
        let hidden = Arc::clone(&lock(&self.inside).hidden);
        for secret in hidden.iter().filter(|secret| !secret.is_empty()) {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), "[secret]");
            }
        }
        if text.len() > MAX_TEXT {
            let end = (0..=MAX_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
            text.truncate(end);
            text.push('…');
        }
        visible(&text).into_owned()
    }

    /// An error that is told outside.
    pub(super) fn harmless_error(&self, error: Error) -> Error {
        error.map_texts(&|text| self.harmless(text))
    }

    /// Gives back what runs of it, which is ended by dropping it.
    pub(super) fn discard(&self) -> (Option<Client>, Option<Arc<Restarter>>) {
        let mut inside = lock(&self.inside);
        (inside.client.take(), inside.restarter.take())
    }

    /// Begins its end; `false` if that has begun.
    pub(super) fn leaves(&self) -> bool {
        let has_left =
            std::mem::replace(&mut lock(&self.inside).state, ServerState::Stopped) == ServerState::Stopped;
        self.gone.cancel(format!("server {} was stopped", self.name));
        !has_left
    }

    /// Waits until whoever starts it has seen that nobody wants it any more, and has ended what he started: at most for `time`.
    pub(super) fn has_landed(&self, time: Duration) -> bool {
        let flight = lock(&self.inside).flight.clone();
        flight.is_none_or(|flight| flight.recv_timeout(time) == Err(RecvTimeoutError::Disconnected))
    }

    /// Runs `introduce`, which makes it known and tells of it: before anything else is told.
    pub(super) fn introduced<T>(&self, introduce: impl FnOnce() -> T) -> T {
        let _telling = lock(&self.telling);
        introduce()
    }

    /// Nothing of it is left; has that told.
    pub(super) fn is_over(&self, tell: impl FnOnce()) {
        {
            let _telling = lock(&self.telling);
            tell();
        }
        self.over.cancel("it has ended");
    }

    /// Waits until nothing of it is left, at most for `time`.
    pub(super) fn wait_over(&self, time: Duration) -> bool {
        self.over.wait_timeout(time)
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
            if inside.state == ServerState::Stopped {
                return Err(super::ending::closed());
            }
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
            wait(&other, Deadline::after(None), cancel)?;
            return if self.handle().is_some() { Ok(()) } else { Err(self.not_running()) };
        }
        let landing = Landing(self);
        let outcome = start();
        lock(&self.inside).failure = outcome.as_ref().err().map(Error::copy);
        drop(landing);
        outcome
    }
}

fn wait(flight: &Receiver<Infallible>, until: Deadline, cancel: Option<&CancelToken>) -> Result<()> {
    let cancelled = cancel.map_or_else(never, CancelToken::receiver);
    let passed = until.remaining().map_or_else(never, after);
    select! {
        recv(flight) -> _ => Ok(()),
        recv(passed) -> _ => Ok(()),
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
