//! [`Registry`]: the open connections, and when each is looked at for what has taken too long.
//!
//! A connection says when it has waited too long for something. That changes with every request, so it is not what
//! is kept in order here: every connection is looked at once in a *round*, which is no longer than the shortest time a
//! connection could wait, and says then whether it is too early.
//!
//! **Invariant:** of every place of the table there is exactly one entry among the looks while a connection is in it, in the heap or in
//! the hands of the thread that looks; it is in at most a round.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Limits;
use super::connection::Connection;
use super::readiness::Key;

/// No moment.
pub(super) const NEVER: u64 = u64::MAX;

/// The place of the listening socket, which is looked at when it could not accept.
pub(super) const LISTENER: u32 = u32::MAX - 1;

/// As many are looked at in one go.
const LOOKS: usize = 256;

/// Milliseconds since the wire was made.
#[derive(Debug)]
pub(super) struct Clock(Instant);

impl Clock {
    pub(super) fn new() -> Self {
        Self(Instant::now())
    }

    pub(super) fn now(&self) -> u64 {
        millis(self.0.elapsed())
    }

    pub(super) fn after(&self, time: Duration) -> u64 {
        self.now().saturating_add(millis(time))
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(NEVER)
}

/// Owner: the wire. Its lock is held for a few instructions, within that of a connection or without.
#[derive(Debug)]
pub(super) struct Registry {
    table: Mutex<Table>,
    /// When the next look is due.
    next: AtomicU64,
    /// Signalled when a connection closes, or an exchange ends while the wire stops.
    changed: Condvar,
    round: u64,
}

#[derive(Debug, Default)]
struct Table {
    /// Bound: `connections` and those that are turned away, at most so many as were open at once.
    places: Vec<Place>,
    free: Vec<u32>,
    open: usize,
    /// Bound: the places, and one for the listening socket.
    looks: BinaryHeap<Reverse<(u64, u32)>>,
    is_closed: bool,
}

#[derive(Debug, Default)]
struct Place {
    /// Tells the connection from others that were here before.
    turn: u32,
    connection: Option<Arc<Connection>>,
    /// There is an entry for it among the looks.
    is_looked_at: bool,
}

fn key(place: u32, turn: u32) -> Key {
    u64::from(turn) << 32 | u64::from(place)
}

fn place_of(key: Key) -> (usize, u32) {
    #[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
    (key as u32 as usize, (key >> 32) as u32)
}

impl Registry {
    pub(super) fn new(limits: &Limits) -> Self {
        let times =
            [limits.head_time, limits.body_time, limits.idle_time, limits.write_time, limits.keep_alive];
        let shortest = times.into_iter().map(millis).min().unwrap_or(NEVER);
        let (table, changed) = (Mutex::default(), Condvar::new());
        Self { table, next: AtomicU64::new(NEVER), changed, round: shortest.clamp(8, 5_000) }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a place to a connection, unless `most` are open. `true`: those who wait should know of an earlier look than they do.
    pub(super) fn insert(
        &self,
        most: usize,
        now: u64,
        make: impl FnOnce(Key) -> Connection,
    ) -> Option<(Arc<Connection>, bool)> {
        let mut table = self.lock();
        if table.is_closed || table.open >= most {
            return None;
        }
        let index = match table.free.pop() {
            Some(index) => index,
            None => {
                // There are never so many descriptors.
                let index = u32::try_from(table.places.len()).ok().filter(|index| *index < LISTENER)?;
                table.places.push(Place::default());
                index
            }
        };
        table.open += 1;
        let place = &mut table.places[index as usize];
        place.turn = place.turn.wrapping_add(1);
        let connection = Arc::new(make(key(index, place.turn)));
        place.connection = Some(Arc::clone(&connection));
        let is_new = !std::mem::replace(&mut place.is_looked_at, true);
        let is_next = is_new && self.look(&mut table, self.rounded(now, self.round), index);
        Some((connection, is_next))
    }

    pub(super) fn get(&self, key: Key) -> Option<Arc<Connection>> {
        let (index, turn) = place_of(key);
        let table = self.lock();
        table.places.get(index).filter(|place| place.turn == turn)?.connection.clone()
    }

    pub(super) fn remove(&self, key: Key) {
        let (index, turn) = place_of(key);
        let mut table = self.lock();
        let Some(place) = table.places.get_mut(index).filter(|place| place.turn == turn) else { return };
        let removed = place.connection.take();
        if removed.is_some() {
            table.open -= 1;
            table.free.push(index as u32);
            self.changed.notify_all();
        }
        drop(table);
        drop(removed);
    }

    /// The open ones.
    pub(super) fn all(&self) -> Vec<Arc<Connection>> {
        self.lock().places.iter().filter_map(|place| place.connection.clone()).collect()
    }

    /// Takes no more.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
    }

    /// Whoever waits in [`wait_until`](Self::wait_until) looks again.
    pub(super) fn notify(&self) {
        drop(self.lock());
        self.changed.notify_all();
    }

    /// Waits until `is_so`, which is told how many are open, or `deadline`; `true`: it is so.
    pub(super) fn wait_until(&self, deadline: Instant, is_so: impl Fn(usize) -> bool) -> bool {
        let mut table = self.lock();
        loop {
            if is_so(table.open) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            table = self.changed.wait_timeout(table, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether a look is due.
    pub(super) fn is_due(&self, now: u64) -> bool {
        self.next.load(Ordering::SeqCst) <= now
    }

    /// Whether one will be.
    pub(super) fn has_looks(&self) -> bool {
        self.next.load(Ordering::SeqCst) != NEVER
    }

    /// How long until one is; `None`: there is nothing to look at.
    pub(super) fn until_due(&self, now: u64) -> Option<Duration> {
        let next = self.next.load(Ordering::SeqCst);
        (next != NEVER).then(|| Duration::from_millis(next.saturating_sub(now)))
    }

    /// Has the listening socket looked at; `true`: as for [`insert`](Self::insert).
    pub(super) fn look_at_listener(&self, at: u64) -> bool {
        self.look(&mut self.lock(), at, LISTENER)
    }

    /// Takes the places that are to be looked at now. Each is to be given back.
    pub(super) fn due(&self, now: u64) -> Vec<(u32, Option<Arc<Connection>>)> {
        let mut table = self.lock();
        let mut due = Vec::new();
        while due.len() < LOOKS && table.looks.peek().is_some_and(|Reverse((at, _))| *at <= now) {
            let Some(Reverse((_, index))) = table.looks.pop() else { break };
            due.push((index, table.places.get(index as usize).and_then(|place| place.connection.clone())));
        }
        self.next.store(table.looks.peek().map_or(NEVER, |Reverse((at, _))| *at), Ordering::SeqCst);
        due
    }

    /// Gives a place back, to be looked at again at `at` or in a round.
    pub(super) fn looked_at(&self, index: u32, now: u64, at: u64) {
        let mut table = self.lock();
        let Some(place) = table.places.get_mut(index as usize) else { return };
        if place.connection.is_none() {
            place.is_looked_at = false;
        } else {
            let wait = at.saturating_sub(now).clamp(1, self.round);
            self.look(&mut table, self.rounded(now, wait), index);
        }
    }

    fn look(&self, table: &mut Table, at: u64, index: u32) -> bool {
        table.looks.push(Reverse((at, index)));
        let is_next = at < self.next.load(Ordering::SeqCst);
        if is_next {
            self.next.store(at, Ordering::SeqCst);
        }
        is_next
    }

    /// Later by up to an eighth of a round, so that many looks are one wake-up.
    fn rounded(&self, now: u64, wait: u64) -> u64 {
        now.saturating_add(wait).next_multiple_of(self.round / 8)
    }
}

#[cfg(test)]
impl Registry {
    /// How many are open, how many places there are, and how many looks.
    pub(super) fn sizes(&self) -> (usize, usize, usize) {
        let table = self.lock();
        (table.open, table.places.len(), table.looks.len())
    }
}
