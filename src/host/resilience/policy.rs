//! [`RestartPolicy`]: when a server is started again, and how often in a row.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::client::Backoff;

/// When a server is started again whose connection has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Restart {
    /// Not. Calls fail until somebody [reconnects](crate::ClientHandle::reconnect).
    Never,
    /// By the next call.
    #[default]
    Lazily,
    /// At once.
    Eagerly,
}

/// What happens to a server whose connection ends. Told to [`RestartPolicy::on_event`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestartEvent {
    /// It is started again, so many times in a row.
    Restarting(u32),
    /// It is there again.
    Restarted,
    /// That did not go well; the text says why.
    Failed(String),
    /// It was started again too often in a row, and is left alone now; the text says what it was at last.
    GivenUp(String),
}

type OnEvent = Arc<dyn Fn(&RestartEvent) + Send + Sync>;

/// When a server is started again, how long is waited before, and how often that happens in a row.
///
/// A first restart comes at once. If the server does not stay, the next one waits for a second, and each further one
/// twice as long, up to 30 s; after five in a row it is left alone for five minutes, or until somebody says
/// [`restart`](super::Resilient::restart). "In a row" ends when it has stayed for ten seconds.
///
/// ```
/// use std::time::Duration;
/// use tinymcp::host::resilience::{Restart, RestartPolicy};
///
/// let policy = RestartPolicy::new(Restart::Eagerly).with_limit(10).with_stable_after(Duration::from_secs(60));
/// assert_eq!(policy.when(), Restart::Eagerly);
/// ```
#[derive(Clone)]
pub struct RestartPolicy {
    when: Restart,
    pub(super) backoff: Backoff,
    pub(super) limit: u32,
    pub(super) stable_after: Duration,
    pub(super) rest: Duration,
    pub(super) on_event: Option<OnEvent>,
}

impl Default for RestartPolicy {
    fn default() -> Self {
        Self::new(Restart::default())
    }
}

impl RestartPolicy {
    /// With the default pauses and limit.
    #[must_use]
    pub fn new(when: Restart) -> Self {
        let backoff =
            Backoff { first: Duration::from_secs(1), factor: 2.0, cap: Duration::from_secs(30), jitter: 0.5 };
        Self {
            when,
            backoff,
            limit: 5,
            stable_after: Duration::from_secs(10),
            rest: Duration::from_secs(300),
            on_event: None,
        }
    }

    /// When it is started again.
    #[must_use]
    pub fn when(&self) -> Restart {
        self.when
    }

    /// Sets the pause before the second restart in a row, which doubles before each further one, and the longest pause. A random
    /// half of each is left out. Default: 1 s and 30 s.
    #[must_use]
    pub fn with_pauses(mut self, base: Duration, cap: Duration) -> Self {
        (self.backoff.first, self.backoff.cap) = (base, cap);
        self
    }

    /// Sets how often in a row it is started again. Default: 5.
    #[must_use]
    pub fn with_limit(mut self, restarts: u32) -> Self {
        self.limit = restarts;
        self
    }

    /// Sets how long the server has to stay, so that the next restart is the first again. Default: 10 s.
    #[must_use]
    pub fn with_stable_after(mut self, time: Duration) -> Self {
        self.stable_after = time;
        self
    }

    /// Sets how long it is left alone after that; then a call may try once more. Default: 5 min.
    #[must_use]
    pub fn with_rest(mut self, time: Duration) -> Self {
        self.rest = time;
        self
    }

    /// Calls `callback` on the thread `mcp-restart`, which waits for it.
    #[must_use]
    pub fn on_event(mut self, callback: impl Fn(&RestartEvent) + Send + Sync + 'static) -> Self {
        self.on_event = Some(Arc::new(callback));
        self
    }
}

impl fmt::Debug for RestartPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestartPolicy")
            .field("when", &self.when)
            .field("limit", &self.limit)
            .field("stable_after", &self.stable_after)
            .finish_non_exhaustive()
    }
}
