//! [`Limits`]: how much a peer may send, hold and wait.

use std::time::Duration;

/// How much a peer may send, hold and wait.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Bytes of a request's head.
    pub(crate) head_bytes: usize,
    /// Headers of a request.
    pub(crate) headers: usize,
    /// Bytes of a request's body.
    pub(crate) body_bytes: usize,
    /// Bytes of all heads and bodies that are being received.
    pub(crate) receiving_bytes: usize,
    /// Bytes of all answers that wait for peers that do not read; one that waits alone may be larger.
    pub(crate) sending_bytes: usize,
    /// From the first byte of a head to its last.
    pub(crate) head_time: Duration,
    /// For a body.
    pub(crate) body_time: Duration,
    /// For a connection to wait for its next request, and for its first.
    pub(crate) idle_time: Duration,
    /// For a peer to take some more of what is written.
    pub(crate) write_time: Duration,
    /// An event stream that is silent for this long says so, by a comment.
    pub(crate) keep_alive: Duration,
    /// Open connections.
    pub(crate) connections: usize,
    /// Threads that serve requests.
    pub(crate) threads: usize,
    /// Requests that wait for a thread.
    pub(crate) waiting: usize,
    /// Bytes that wait for a peer that does not read, on an event stream; its end always has room.
    pub(crate) stream_bytes: usize,
}
