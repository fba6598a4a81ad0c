//! [`Exchange`]: one request of HTTP, or several that belong together, and how it is ended from outside.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, PoisonError};
use std::time::{Duration, Instant};

use ureq::Agent;

use super::agents::Agents;
use crate::jsonrpc::RequestId;
use crate::sync::{CancelToken, Deadline, Mutex, lock};

/// As many streams may stay open a while after their answer, for the server to end them: a connection that was ended
/// in order serves the next request.
const MAX_LINGERING: usize = 8;

/// How long they may.
const LINGER: Duration = Duration::from_millis(500);

/// What an exchange is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A message that has an answer.
    Call,
    /// One that has none.
    Note,
    /// A stream of its own.
    Stream,
}

pub(super) struct Exchange {
    serial: u64,
    purpose: Purpose,
    /// Of the request that is to be answered, if it is one.
    id: Option<RequestId>,
    pub(super) is_modern: bool,
    /// Fires when nobody waits for this any more.
    pub(super) given_up: CancelToken,
    /// What works for it now.
    agent: Mutex<Option<Agent>>,
    is_answered: AtomicBool,
}

impl Exchange {
    /// Lets `agent` work for this; `false`: it was given up.
    pub(super) fn enter(&self, agent: &Agent) -> bool {
        let mut place = lock(&self.agent);
        if self.given_up.is_cancelled() {
            return false;
        }
        *place = Some(agent.clone());
        true
    }

    /// The agent has done its work in order and can do other.
    pub(super) fn release(&self, agents: &Agents, keep_alive: Option<Duration>) {
        let agent = lock(&self.agent).take();
        if let Some(agent) = agent {
            agents.give_back(agent, keep_alive);
        }
    }

    /// Ends it: whatever it is doing fails at once, except looking up a name and connecting, which have times of their own.
    pub(super) fn give_up(&self) {
        self.given_up.cancel("given up");
        let agent = lock(&self.agent).take();
        if let Some(agent) = agent {
            agent.shutdown();
        }
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.is_cancelled()
    }
}

/// The exchanges that are open. Owner: the connection to the server. Bound: those that wait and run, see `Line`. End of
/// each: its own, or with the connection.
#[derive(Default)]
pub(super) struct Exchanges {
    open: std::sync::Mutex<Open>,
    /// Signalled when the last note has ended.
    no_notes: Condvar,
}

#[derive(Default)]
struct Open {
    next: u64,
    is_closed: bool,
    notes: usize,
    by_serial: HashMap<u64, Arc<Exchange>>,
    lingering: VecDeque<(Instant, u64)>,
}

impl Exchanges {
    /// Opens one; `None` after the close.
    pub(super) fn begin(
        &self,
        purpose: Purpose,
        id: Option<RequestId>,
        is_modern: bool,
    ) -> Option<Arc<Exchange>> {
        let mut open = self.lock();
        if open.is_closed {
            return None;
        }
        open.next += 1;
        open.notes += usize::from(purpose == Purpose::Note);
        let exchange = Arc::new(Exchange {
            serial: open.next,
            purpose,
            id,
            is_modern,
            given_up: CancelToken::new(),
            agent: Mutex::new(None),
            is_answered: AtomicBool::new(false),
        });
        open.by_serial.insert(exchange.serial, Arc::clone(&exchange));
        Some(exchange)
    }

    /// The one that waits for the answer to `id`.
    pub(super) fn find(&self, id: &RequestId) -> Option<Arc<Exchange>> {
        let open = self.lock();
        let is_wanted = |exchange: &&Arc<Exchange>| {
            exchange.id.as_ref() == Some(id) && !exchange.is_answered.load(Ordering::SeqCst)
        };
        open.by_serial.values().find(is_wanted).cloned()
    }

    pub(super) fn end(&self, exchange: &Exchange) {
        let mut open = self.lock();
        if open.by_serial.remove(&exchange.serial).is_some() && exchange.purpose == Purpose::Note {
            open.notes -= 1;
            if open.notes == 0 {
                self.no_notes.notify_all();
            }
        }
        open.lingering.retain(|(_, serial)| *serial != exchange.serial);
    }

    /// `exchange` has its answer; its stream may end by itself, for a while.
    pub(super) fn linger(&self, exchange: &Exchange) {
        exchange.is_answered.store(true, Ordering::SeqCst);
        self.lock().lingering.push_back((Instant::now(), exchange.serial));
        self.sweep();
    }

    /// Ends those that have stayed open long enough.
    pub(super) fn sweep(&self) {
        let ended: Vec<_> = {
            let mut open = self.lock();
            let mut ended = Vec::new();
            while let Some((since, serial)) = open.lingering.front().copied() {
                if open.lingering.len() <= MAX_LINGERING && since.elapsed() < LINGER {
                    break;
                }
                open.lingering.pop_front();
                ended.extend(open.by_serial.get(&serial).cloned());
            }
            ended
        };
        ended.iter().for_each(|exchange| exchange.give_up());
    }

    /// Waits until every notification and response has been accepted, for a while.
    pub(super) fn finish_notes(&self, time: Duration) {
        let deadline = Deadline::after(Some(time));
        let mut open = self.lock();
        while open.notes > 0 && !deadline.has_passed() {
            let left = deadline.remaining().unwrap_or(time);
            open = self.no_notes.wait_timeout(open, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all, and all to come.
    pub(super) fn close(&self) {
        let all: Vec<_> = {
            let mut open = self.lock();
            open.is_closed = true;
            open.by_serial.values().cloned().collect()
        };
        all.iter().for_each(|exchange| exchange.give_up());
    }
}
