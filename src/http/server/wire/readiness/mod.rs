//! Which sockets have news: `epoll` on Linux, `poll` elsewhere.
//!
//! A socket is registered once. Its news are *edges*: what has happened since it was told last. Any number of threads wait
//! at once, and one edge wakes one of them.
//!
//! **Invariant:** an edge is told, perhaps twice, never lost: who is told reads or writes until the socket has no more to
//! give, or keeps in mind that it has not.

#[cfg(target_os = "linux")]
mod epoll;
#[cfg(any(test, not(target_os = "linux")))]
mod poll;
#[cfg(test)]
mod tests;

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

#[cfg(target_os = "linux")]
pub(super) use epoll::Readiness;
#[cfg(not(target_os = "linux"))]
pub(super) use poll::Readiness;

/// What names a socket in its news. Never [`WAKE`].
pub(super) type Key = u64;

/// The key of the news that [`Readiness::wake`] makes.
pub(super) const WAKE: Key = Key::MAX;

/// News of a socket. What is not said may be so all the same: each names what was seen when it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) key: Key,
    /// There are bytes, or the end of them, or a connection to accept.
    pub(super) is_readable: bool,
    /// There is room for bytes.
    pub(super) is_writable: bool,
    /// The peer has said that no more bytes will come.
    pub(super) has_ended: bool,
    /// The connection is no more.
    pub(super) is_broken: bool,
}

/// What a connection waits for. `epoll` tells everything and does not ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wants {
    pub(super) read: bool,
    pub(super) write: bool,
}

/// A socket, kept open for as long as it is registered.
#[derive(Clone, Debug)]
pub(super) enum Source {
    Listener(Arc<TcpListener>),
    Stream(Arc<TcpStream>),
}

/// What the operating system's calls take.
fn timespec(timeout: Duration) -> rustix::event::Timespec {
    let seconds = timeout.as_secs().min(i32::MAX as u64 / 1000);
    rustix::event::Timespec { tv_sec: seconds as _, tv_nsec: timeout.subsec_nanos() as _ }
}

#[cfg(not(windows))]
impl std::os::fd::AsFd for Source {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        match self {
            Self::Listener(listener) => listener.as_fd(),
            Self::Stream(stream) => stream.as_fd(),
        }
    }
}

#[cfg(windows)]
impl std::os::windows::io::AsSocket for Source {
    fn as_socket(&self) -> std::os::windows::io::BorrowedSocket<'_> {
        match self {
            Self::Listener(listener) => listener.as_socket(),
            Self::Stream(stream) => stream.as_socket(),
        }
    }
}
