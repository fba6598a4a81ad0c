//! [`Readiness`] by `epoll`, edge-triggered: no system call for a request but the wait itself.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};

use super::{Event, Key, Source, WAKE, Wants, timespec};

/// Everything, told once: an edge comes when something has changed. `OUT` costs nothing: its edge comes only after a write that found no room.
const EDGES: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);

/// The kernel's list of sockets that have news.
#[derive(Debug)]
pub(in super::super) struct Readiness {
    epoll: OwnedFd,
    /// Every write to it is an edge, so that it is never read.
    waker: OwnedFd,
}

impl Readiness {
    pub(in super::super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let waker = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &waker, EventData::new_u64(WAKE), EventFlags::IN | EventFlags::ET)?;
        Ok(Self { epoll, waker })
    }

    /// Its news will come by `key`. Closing the socket ends that.
    pub(in super::super) fn register(&self, source: &Source, key: Key) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, source, EventData::new_u64(key), EDGES)?)
    }

    /// Nothing to do: edges are always told.
    #[expect(clippy::unused_self, reason = "other systems have to be told")]
    pub(in super::super) fn rearm(&self, _key: Key, _wants: Wants) {}

    /// Nothing to do: a socket that is closed is forgotten.
    #[expect(clippy::unused_self, reason = "other systems have to be told")]
    pub(in super::super) fn forget(&self, _key: Key) {}

    /// Makes news of the socket, as it is now.
    pub(in super::super) fn poke(&self, source: &Source, key: Key) {
        if let Err(e) = epoll::modify(&self.epoll, source, EventData::new_u64(key), EDGES) {
            log::error!("a connection is not looked at again: {e}");
        }
    }

    /// Waits for news; `None`: there were none within `timeout`, or a signal came.
    pub(in super::super) fn wait(&self, timeout: Option<Duration>) -> io::Result<Option<Event>> {
        let timeout = timeout.map(timespec);
        let mut room = [MaybeUninit::uninit()];
        let told = match epoll::wait(&self.epoll, &mut room, timeout.as_ref()) {
            Ok((told, _)) => told.first().copied(),
            Err(rustix::io::Errno::INTR) => None,
            Err(e) => return Err(e.into()),
        };
        Ok(told.map(|told| {
            let (flags, data) = (told.flags, told.data);
            Event {
                key: data.u64(),
                is_readable: flags.intersects(EventFlags::IN | EventFlags::RDHUP),
                is_writable: flags.contains(EventFlags::OUT),
                has_ended: flags.contains(EventFlags::RDHUP),
                is_broken: flags.intersects(EventFlags::HUP | EventFlags::ERR),
            }
        }))
    }

    /// One of the threads that wait, or the next one that will, is told [`WAKE`].
    pub(in super::super) fn wake(&self) {
        // It fails when 2^64 of them have been, which the kernel would count to in some centuries.
        if let Err(e) = rustix::io::write(&self.waker, &1_u64.to_ne_bytes()) {
            log::error!("no thread was woken: {e}");
        }
    }
}
