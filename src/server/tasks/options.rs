//! [`TaskOptions`]: how much of tasks a server takes on.

use std::time::Duration;

/// How long tasks are kept, and how many.
///
/// ```
/// use std::time::Duration;
/// use tinymcp::server::TaskOptions;
///
/// let options = TaskOptions::default().with_ttl(Duration::from_secs(600)).with_max_running(4);
/// assert_eq!(options.max_tasks, 1024);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskOptions {
    /// How long a task is kept, counted from when it is made; at least 1 s. Then it is cancelled, if it is still at work, and
    /// forgotten. Default: 1 h.
    pub ttl: Duration,
    /// The most that a 2025-11-25 client may ask for instead. Default: 24 h.
    pub max_ttl: Duration,
    /// How long clients are told to wait between two looks at a task. Default: 1 s.
    pub poll_interval: Duration,
    /// How many tasks are kept, those that have ended included. Beyond that the oldest of the latter make room; if there is none,
    /// further calls fail. Default: 1,024.
    pub max_tasks: usize,
    /// How many run at once, each on a thread of its own (`mcp-task`); at least one. Further ones wait. Default: 64.
    pub max_running: usize,
    /// The largest result that is kept, in bytes of JSON; a larger one fails the task. Default: 16 MiB.
    pub max_result_bytes: usize,
    /// How many bytes all results, and the arguments of tasks that wait for a thread, may have together. Beyond that the
    /// oldest tasks that have ended make room. Default: 256 MiB.
    pub max_bytes: usize,
}

const DEFAULT_TTL: Duration = Duration::from_secs(3600);

const MAX_TTL: Duration = Duration::from_secs(86_400);

const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A shorter life is none: a client could not fetch the result.
const MIN_TTL: Duration = Duration::from_secs(1);

impl Default for TaskOptions {
    fn default() -> Self {
        Self {
            ttl: DEFAULT_TTL,
            max_ttl: MAX_TTL,
            poll_interval: POLL_INTERVAL,
            max_tasks: 1024,
            max_running: 64,
            max_result_bytes: 16 * 1024 * 1024,
            max_bytes: 256 * 1024 * 1024,
        }
    }
}

impl TaskOptions {
    /// Sets how long a task is kept.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Sets the most that a 2025-11-25 client may ask for.
    #[must_use]
    pub fn with_max_ttl(mut self, ttl: Duration) -> Self {
        self.max_ttl = ttl;
        self
    }

    /// Sets how long clients are told to wait between two looks.
    #[must_use]
    pub fn with_poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = interval;
        self
    }

    /// Sets how many tasks are kept.
    #[must_use]
    pub fn with_max_tasks(mut self, tasks: usize) -> Self {
        self.max_tasks = tasks;
        self
    }

    /// Sets how many run at once.
    #[must_use]
    pub fn with_max_running(mut self, tasks: usize) -> Self {
        self.max_running = tasks;
        self
    }

    /// Sets the largest result that is kept.
    #[must_use]
    pub fn with_max_result_bytes(mut self, bytes: usize) -> Self {
        self.max_result_bytes = bytes;
        self
    }

    /// Sets how many bytes all results may have together.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// How long a task lives for which a client asks for so many milliseconds.
    pub(super) fn lifetime(&self, wish: Option<u64>) -> Duration {
        // spec: 2025-11-25 basic/utilities/tasks#ttl-and-resource-management (a receiver may choose otherwise)
        let wish = wish.map(|ms| Duration::from_millis(ms).min(self.max_ttl));
        wish.unwrap_or(self.ttl).max(MIN_TTL)
    }
}
