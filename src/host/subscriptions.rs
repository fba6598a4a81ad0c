//! What programs hear of changes on all servers: [`Events`] of a host.
//!
//! ```text
//!  Changes of each server ──▶ a thread each ──▶ one bounded queue ──▶ next()
//! ```
//!
//! **Invariants:** nothing is lost: a thread that finds the queue full waits, and what changes meanwhile is kept as marks by the
//! client; a server that comes later is listened to as well.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, never, select};

use super::member::Member;
use crate::client::{Changes, Event, EventSource, Events, Filter};
use crate::error::{Error, Result};
use crate::sync::{CancelToken, Mutex, lock};

/// So many may be open with one host.
const MAX_OPEN: usize = 64;

/// So many events wait for one who is slow.
const QUEUE: usize = 64;

/// Who listens. Owner: the host. Bound: [`MAX_OPEN`]. End of each: its drop, or that of the host.
#[derive(Default)]
pub(super) struct Subscriptions(Mutex<Vec<Weak<Subscription>>>);

struct Subscription {
    filter: Filter,
    events: Sender<Event>,
    /// Fires at its end.
    over: CancelToken,
    /// Those that are listened to, each with its thread.
    listened: Mutex<Vec<(Arc<Member>, Arc<Changes>)>>,
}

impl Subscriptions {
    /// Listens to `members`, and to those that will come.
    ///
    /// # Errors
    /// When nothing is asked for, or too many listen.
    pub(super) fn open(&self, filter: Filter, members: &[Arc<Member>], end: &CancelToken) -> Result<Events> {
        if filter.is_empty() {
            return Err(Error::InvalidUse("the filter asks for nothing".into()));
        }
        let (events, taken) = bounded(QUEUE);
        let over = CancelToken::new();
        end.carries(&over);
        let subscription = Arc::new(Subscription { filter, events, over, listened: Mutex::default() });
        {
            let mut open = lock(&self.0);
            open.retain(|subscription| subscription.strong_count() > 0);
            if open.len() >= MAX_OPEN {
                return Err(Error::Busy(format!("{MAX_OPEN} listen to events of this host")));
            }
            open.push(Arc::downgrade(&subscription));
        }
        for member in members {
            subscription.listen(member);
        }
        Ok(Events::new(Source { events: taken, subscription }))
    }

    /// A server is there now, perhaps not for the first time.
    pub(super) fn came(&self, member: &Arc<Member>) {
        let open: Vec<_> = lock(&self.0).iter().filter_map(Weak::upgrade).collect();
        for subscription in open {
            subscription.listen(member);
        }
    }
}

impl Subscription {
    /// Listens to `member`, unless it does already: what is open outlives a restart. A server that tells of nothing is none to
    /// listen to.
    fn listen(&self, member: &Arc<Member>) {
        let Some(handle) = member.handle() else { return };
        let is_listened = |(other, changes): &(Arc<Member>, Arc<Changes>)| {
            Arc::ptr_eq(other, member) && changes.end().is_none()
        };
        if lock(&self.listened).iter().any(is_listened) {
            return;
        }
        let changes = match handle.listen(self.filter.clone()) {
            Ok(changes) => Arc::new(changes),
            Err(Error::Unsupported(_)) => return,
            Err(error) => {
                log::warn!("changes on server {} are not heard of: {error}", member.name);
                return;
            }
        };
        let mut listened = lock(&self.listened);
        if self.over.is_cancelled() || listened.iter().any(is_listened) {
            return;
        }
        listened.retain(|(_, changes)| changes.end().is_none());
        let (server, events, over) = (Arc::clone(&member.name), self.events.clone(), self.over.clone());
        let told = Arc::clone(&changes);
        // Owner: the subscription. End: that of the changes, which the subscription's drop and the client's close bring.
        let thread = thread::Builder::new().name("mcp-host-events".into()).spawn(move || {
            let over = over.receiver();
            for change in &*told {
                let event = Event::new(Some(Arc::clone(&server)), change);
                select! {
                    send(events, event) -> sent => if sent.is_err() { break },
                    recv(over) -> _ => break,
                }
            }
        });
        match thread {
            Ok(_) => listened.push((Arc::clone(member), changes)),
            Err(error) => log::warn!("no thread for the changes on server {}: {error}", member.name),
        }
    }
}

/// The end that is taken from.
struct Source {
    events: Receiver<Event>,
    subscription: Arc<Subscription>,
}

impl EventSource for Source {
    fn next(&mut self, time: Option<Duration>) -> Option<Event> {
        let passed = time.map_or_else(never, crossbeam_channel::after);
        // What is there comes first, also after the end.
        if let Ok(event) = self.events.try_recv() {
            return Some(event);
        }
        let over = self.subscription.over.receiver();
        select! {
            recv(self.events) -> event => event.ok(),
            recv(over) -> _ => None,
            recv(passed) -> _ => None,
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.subscription.over.cancel("nobody listens any more");
        for (_, changes) in lock(&self.subscription.listened).drain(..) {
            changes.close();
        }
    }
}
