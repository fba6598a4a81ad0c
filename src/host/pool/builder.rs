//! [`PoolBuilder`]: what is set before a pool opens.

use std::time::Duration;

use super::shared::Shared;
use super::{Pool, PoolHandle};
use crate::client::{Backoff, Client};
use crate::error::{Error, Result};

/// So many members a pool may have.
pub(super) const MAX_MEMBERS: usize = 256;

/// Which member takes a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Balance {
    /// The one with the fewest open calls; of several, the one that comes next.
    #[default]
    LeastBusy,
    /// One after the other.
    RoundRobin,
}

/// When members are started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Start {
    /// When there are calls: the first by the first, and another one whenever a call finds all of them busy.
    #[default]
    Lazily,
    /// At once, side by side. [`PoolBuilder::open`] returns when the first one is ready.
    Eagerly,
}

/// A [`Pool`] to be.
///
/// ```no_run
/// use std::time::Duration;
/// use tinymcp::Client;
/// use tinymcp::host::pool::{Balance, Pool, Start};
///
/// let pool = Pool::builder()
///     .size(8)
///     .start(Start::Eagerly)
///     .balance(Balance::RoundRobin)
///     .health_checks(Duration::from_secs(10), Duration::from_secs(2))
///     .open(|number| Client::connect("my-server", &["--shard", &number.to_string()]))?;
/// # drop(pool);
/// # Ok::<(), tinymcp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PoolBuilder {
    pub(super) size: usize,
    pub(super) start: Start,
    pub(super) balance: Balance,
    pub(super) check_every: Option<Duration>,
    pub(super) check_time: Duration,
    pub(super) backoff: Backoff,
    pub(super) stable_after: Duration,
    pub(super) reuses_sessions: bool,
}

impl Default for PoolBuilder {
    fn default() -> Self {
        let backoff =
            Backoff { first: Duration::from_secs(1), factor: 2.0, cap: Duration::from_secs(30), jitter: 0.5 };
        Self {
            size: 4,
            start: Start::default(),
            balance: Balance::default(),
            check_every: Some(Duration::from_secs(30)),
            check_time: Duration::from_secs(5),
            backoff,
            stable_after: Duration::from_secs(10),
            reuses_sessions: false,
        }
    }
}

impl PoolBuilder {
    /// Sets how many members it begins with, from 1 to 256. Default: 4.
    #[must_use]
    pub fn size(mut self, members: usize) -> Self {
        self.size = members;
        self
    }

    /// Sets when they are started. Default: [`Start::Lazily`].
    #[must_use]
    pub fn start(mut self, start: Start) -> Self {
        self.start = start;
        self
    }

    /// Sets which one takes a call. Default: [`Balance::LeastBusy`].
    #[must_use]
    pub fn balance(mut self, balance: Balance) -> Self {
        self.balance = balance;
        self
    }

    /// Asks each member so often whether it is alive, and waits so long for the answer. One that does not answer gets no calls while there
    /// are others; if it does not answer twice in a row and has no open calls, it is started again. Default: every 30 s, for 5 s.
    #[must_use]
    pub fn health_checks(mut self, every: Duration, time: Duration) -> Self {
        (self.check_every, self.check_time) = (Some(every), time);
        self
    }

    /// Asks nobody. That a connection has ended is noticed all the same.
    #[must_use]
    pub fn no_health_checks(mut self) -> Self {
        self.check_every = None;
        self
    }

    /// Sets the pause before a member is started again that did not stay for ten seconds, which doubles each time, and the longest
    /// one. A random half of each is left out. One that has stayed is started again at once. Default: 1 s and 30 s.
    #[must_use]
    pub fn pauses(mut self, base: Duration, cap: Duration) -> Self {
        (self.backoff.first, self.backoff.cap) = (base, cap);
        self
    }

    /// Leases connections of a Legacy server on which something was done before, by others or by a lease that is over. By default
    /// they are opened anew, as the server may remember it.
    #[must_use]
    pub fn reuse_sessions(mut self) -> Self {
        self.reuses_sessions = true;
        self
    }

    /// Opens it. `factory` makes the client of each member, and is given its number: 0, 1, and so on. It is called on a thread
    /// of its own (`mcp-pool-start`), for several members at the same time, and again when a member cannot be reconnected.
    ///
    /// # Errors
    /// - [`Error::InvalidUse`] when the size is 0 or above 256.
    /// - [`Error::Transport`] when there is no thread for it.
    /// - With [`Start::Eagerly`], when no member could be started: the first error.
    pub fn open(self, factory: impl Fn(usize) -> Result<Client> + Send + Sync + 'static) -> Result<Pool> {
        if self.size == 0 || self.size > MAX_MEMBERS {
            let size = self.size;
            return Err(Error::InvalidUse(format!("a pool of {size} members, from 1 to {MAX_MEMBERS}")));
        }
        let start = self.start;
        let shared = Shared::new(self, Box::new(factory))?;
        // From here on its drop closes what was begun.
        let pool = Pool { handle: PoolHandle { shared } };
        if start == Start::Eagerly {
            pool.handle.shared.start_all()?;
        }
        Ok(pool)
    }
}
