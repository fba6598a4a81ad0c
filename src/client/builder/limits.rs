//! How long a client waits, and how much it takes.

use std::time::Duration;

use super::ClientBuilder;
use crate::transport::Patience;

/// How long a client waits. `None` is for ever.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Timeouts {
    /// For settling the protocol, from its start. Default: 30 s.
    pub connect: Option<Duration>,
    /// For the answer to the Modern probe, within `connect`; then the handshake is tried. Default: 5 s.
    pub probe: Duration,
    /// For the answer to a call; with `reset_on_progress`, for the answer or the next progress. Default: 60 s.
    pub call: Option<Duration>,
    /// For a call in all, however much progress it reports. Default: 1 h.
    pub call_total: Option<Duration>,
    /// Whether progress starts `call` anew. Each call then asks for progress. Default: no.
    pub reset_on_progress: bool,
    /// Before a stream of change notices that broke off is opened again; twice as long before each further try, up to
    /// 30 s, and a random part of it shorter. Default: 1 s.
    pub reopen: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Some(Duration::from_secs(30)),
            probe: Duration::from_secs(5),
            call: Some(Duration::from_secs(60)),
            call_total: Some(Duration::from_secs(3600)),
            reset_on_progress: false,
            reopen: Duration::from_secs(1),
        }
    }
}

impl Timeouts {
    /// No limit anywhere but for the probe.
    #[must_use]
    pub fn none() -> Self {
        Self { connect: None, call: None, call_total: None, ..Self::default() }
    }

    /// Sets the time for settling the protocol.
    #[must_use]
    pub fn with_connect(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.connect = time.into();
        self
    }

    /// Sets the time for the Modern probe.
    #[must_use]
    pub fn with_probe(mut self, time: Duration) -> Self {
        self.probe = time;
        self
    }

    /// Sets the time for a call.
    #[must_use]
    pub fn with_call(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.call = time.into();
        self
    }

    /// Sets the time for a call in all.
    #[must_use]
    pub fn with_call_total(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.call_total = time.into();
        self
    }

    /// Sets the time before a stream of change notices is opened again.
    #[must_use]
    pub fn with_reopen(mut self, time: Duration) -> Self {
        self.reopen = time;
        self
    }

    /// Lets progress start the time of a call anew.
    #[must_use]
    pub fn with_reset_on_progress(mut self) -> Self {
        self.reset_on_progress = true;
        self
    }
}

impl ClientBuilder {
    /// How long to wait.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// How long closing waits at each step.
    #[must_use]
    pub fn patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// The longest frame that is read, in bytes. A longer one is skipped, and its call fails. Default: 16 MiB.
    #[must_use]
    pub fn max_frame_bytes(mut self, bytes: usize) -> Self {
        self.limits.frame_bytes = bytes;
        self
    }

    /// How many calls may be open; further ones are [`Error::Busy`](crate::Error::Busy). Default: 4,096.
    #[must_use]
    pub fn max_open_calls(mut self, calls: usize) -> Self {
        self.limits.pending = calls;
        self
    }

    /// How many bytes may wait for a server that does not read; further calls are
    /// [`Error::Busy`](crate::Error::Busy). Default: 64 MiB.
    #[must_use]
    pub fn max_unsent_bytes(mut self, bytes: usize) -> Self {
        self.limits.unsent_bytes = bytes;
        self
    }

    /// How often a call is made again because the server asked something. Default: 10.
    #[must_use]
    pub fn max_input_rounds(mut self, rounds: u32) -> Self {
        self.max_input_rounds = rounds;
        self
    }
}
