//! [`Readiness`] by `poll`, for systems without `epoll`. One of the threads that wait polls for all.
//!
//! `poll` tells what is, not what changes. What was told is therefore not asked for again, until the connection
//! says by [`rearm`](Readiness::rearm) what it waits for.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use super::{Event, Key, Source, WAKE, Wants, timespec};

/// The sockets, and what each waits for.
#[derive(Debug)]
pub(in super::super) struct Readiness {
    /// Held for a few instructions, never while polling.
    table: Mutex<Table>,
    /// Signalled when there is news, or nobody polls.
    news: Condvar,
    /// Connected with itself: a datagram ends the poll, which has to begin again with other sockets.
    waker: UdpSocket,
}

#[derive(Debug, Default)]
struct Table {
    /// Bound: the open connections.
    sockets: HashMap<Key, (Source, Wants)>,
    /// Bound: two for each socket, what it was polled for and one poke.
    told: VecDeque<Event>,
    wakes: usize,
    is_polling: bool,
}

impl Readiness {
    pub(in super::super) fn new() -> io::Result<Self> {
        let waker = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        waker.connect(waker.local_addr()?)?;
        waker.set_nonblocking(true)?;
        Ok(Self { table: Mutex::default(), news: Condvar::new(), waker })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its news will come by `key`, until it is [forgotten](Self::forget). It waits to be readable.
    pub(in super::super) fn register(&self, source: &Source, key: Key) -> io::Result<()> {
        let mut table = self.lock();
        table.sockets.insert(key, (source.clone(), Wants { read: true, write: false }));
        self.interrupt(&table);
        Ok(())
    }

    /// What it waits for from now on.
    pub(in super::super) fn rearm(&self, key: Key, wants: Wants) {
        let mut table = self.lock();
        let Some((_, wanted)) = table.sockets.get_mut(&key) else { return };
        if std::mem::replace(wanted, wants) != wants {
            self.interrupt(&table);
        }
    }

    /// Closes the socket if nobody else has it.
    pub(in super::super) fn forget(&self, key: Key) {
        let mut table = self.lock();
        table.sockets.remove(&key);
        self.interrupt(&table);
    }

    /// Makes news of the socket.
    pub(in super::super) fn poke(&self, _source: &Source, key: Key) {
        let mut table = self.lock();
        let poke = Event { key, is_readable: true, is_writable: true, has_ended: false, is_broken: false };
        if !table.told.contains(&poke) {
            table.told.push_back(poke);
        }
        self.tell(&table);
    }

    /// One of the threads that wait, or the next one that will, is told [`WAKE`].
    pub(in super::super) fn wake(&self) {
        let mut table = self.lock();
        table.wakes += 1;
        self.tell(&table);
    }

    fn tell(&self, table: &Table) {
        self.news.notify_one();
        self.interrupt(table);
    }

    fn interrupt(&self, table: &Table) {
        if !table.is_polling {
            return;
        }
        // It fails when there are datagrams in it already.
        if let Err(e) = self.waker.send(&[1]) {
            log::trace!("the waker is full: {e}");
        }
    }

    /// Waits for news; `None`: there were none within `timeout`, or a signal came.
    pub(in super::super) fn wait(&self, timeout: Option<Duration>) -> io::Result<Option<Event>> {
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let left = || until.map(|until| until.saturating_duration_since(Instant::now()));
        let mut is_late = false;
        let mut table = self.lock();
        loop {
            if let Some(event) = table.next() {
                return Ok(Some(event));
            }
            if is_late {
                return Ok(None);
            }
            if table.is_polling {
                // An hour stands for ever: this is a loop.
                let left = left().unwrap_or(Duration::from_secs(3600));
                table = self.news.wait_timeout(table, left).unwrap_or_else(PoisonError::into_inner).0;
            } else {
                table.is_polling = true;
                let asked = table.asked();
                drop(table);
                let seen = self.poll(&asked, left());
                drop(asked);
                table = self.lock();
                table.is_polling = false;
                // Another one polls now, or takes what is told beyond what this thread takes.
                self.news.notify_all();
                for (key, flags, has_ended) in seen? {
                    table.take_down(key, flags, has_ended);
                }
            }
            is_late = left().is_some_and(|left| left.is_zero());
        }
    }

    /// What was seen of each socket that has news, and whether its peer has ended.
    fn poll(
        &self,
        asked: &[(Key, Source, PollFlags)],
        timeout: Option<Duration>,
    ) -> io::Result<Vec<(Key, PollFlags, bool)>> {
        let mut sockets: Vec<_> =
            asked.iter().map(|(_, source, flags)| PollFd::new(source, *flags)).collect();
        sockets.push(PollFd::new(&self.waker, PollFlags::IN));
        match rustix::event::poll(&mut sockets, timeout.map(timespec).as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Err(e) => return Err(e.into()),
        }
        while self.waker.recv(&mut [0]).is_ok() {}
        let mut seen = Vec::new();
        for ((key, source, _), socket) in asked.iter().zip(&sockets) {
            let flags = socket.revents();
            if !flags.is_empty() {
                let has_ended = match source {
                    Source::Stream(stream) if flags.contains(PollFlags::IN) => {
                        stream.peek(&mut [0]).is_ok_and(|n| n == 0)
                    }
                    _ => false,
                };
                seen.push((*key, flags, has_ended));
            }
        }
        Ok(seen)
    }
}

impl Table {
    fn next(&mut self) -> Option<Event> {
        if self.wakes > 0 {
            self.wakes -= 1;
            let (is_readable, is_writable, has_ended, is_broken) = (false, false, false, false);
            return Some(Event { key: WAKE, is_readable, is_writable, has_ended, is_broken });
        }
        self.told.pop_front()
    }

    /// What to poll for. A socket of which nothing is asked would still say, again and again, that it is broken.
    fn asked(&self) -> Vec<(Key, Source, PollFlags)> {
        let asked = self.sockets.iter().filter(|(_, (_, wants))| *wants != Wants::default());
        asked
            .map(|(key, (source, wants))| {
                let mut flags = PollFlags::empty();
                flags.set(PollFlags::IN, wants.read);
                flags.set(PollFlags::OUT, wants.write);
                (*key, source.clone(), flags)
            })
            .collect()
    }

    /// Tells what was seen, and asks for it no more.
    fn take_down(&mut self, key: Key, flags: PollFlags, has_ended: bool) {
        let Some((_, wants)) = self.sockets.get_mut(&key) else { return };
        let is_broken = flags.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
        let (is_readable, is_writable) = (flags.contains(PollFlags::IN), flags.contains(PollFlags::OUT));
        wants.read &= !is_readable && !is_broken;
        wants.write &= !is_writable && !is_broken;
        self.told.push_back(Event { key, is_readable, is_writable, has_ended, is_broken });
    }
}
