//! [`Common`]: what the connections of a wire share.

use std::io;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::Limits;
use super::inbox::Held;
use super::outgoing::Outgoing;
use super::readiness::{Key, Readiness, Source};
use super::registry::{Clock, LISTENER, Registry};
use crate::sync::lock;

/// The key of the listening socket's news.
pub(super) const ACCEPT: Key = LISTENER as Key;

/// What the connections of a wire share.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) limits: Limits,
    pub(super) readiness: Readiness,
    pub(super) registry: Registry,
    pub(super) clock: Clock,
    /// Until the stop. Held to clone it.
    listener: Mutex<Option<Source>>,
    /// There was no room for a connection that waits to be accepted.
    is_accept_due: AtomicBool,
    is_stopping: AtomicBool,
    /// Requests that are not answered in full.
    exchanges: AtomicUsize,
    /// Bytes of requests that are being received.
    receiving: Arc<AtomicUsize>,
    /// Bytes of answers that wait for their peers.
    sending: Arc<AtomicUsize>,
}

impl Common {
    pub(super) fn new(listener: Source, limits: Limits) -> io::Result<Self> {
        Ok(Self {
            readiness: Readiness::new()?,
            registry: Registry::new(&limits),
            clock: Clock::new(),
            listener: Mutex::new(Some(listener)),
            is_accept_due: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            exchanges: AtomicUsize::new(0),
            receiving: Arc::default(),
            sending: Arc::default(),
            limits,
        })
    }

    pub(super) fn listener(&self) -> Option<Source> {
        lock(&self.listener).clone()
    }

    /// Closes the listening socket, as soon as nobody is accepting.
    pub(super) fn close_listener(&self) {
        self.readiness.forget(ACCEPT);
        drop(lock(&self.listener).take());
    }

    /// Has connections accepted that wait already.
    pub(super) fn accept_again(&self) {
        if let Some(listener) = self.listener() {
            self.readiness.poke(&listener, ACCEPT);
        }
    }

    /// The operating system had no room for another connection: once there is some, or soon. `true`: that is news.
    pub(super) fn accept_later(&self, at: u64) -> bool {
        if self.registry.look_at_listener(at) {
            self.readiness.wake();
        }
        !self.is_accept_due.swap(true, Ordering::SeqCst)
    }

    /// There is room for a connection.
    pub(super) fn room_was_made(&self) {
        if self.is_accept_due.load(Ordering::Relaxed) && self.is_accept_due.swap(false, Ordering::SeqCst) {
            self.accept_again();
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    pub(super) fn begin_to_stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
    }

    pub(super) fn exchange_began(&self) {
        self.exchanges.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn exchange_ended(&self) {
        self.exchanges.fetch_sub(1, Ordering::SeqCst);
        if self.is_stopping() {
            self.registry.notify();
        }
    }

    pub(super) fn exchanges(&self) -> usize {
        self.exchanges.load(Ordering::SeqCst)
    }

    /// Counts nothing yet among the bytes that are being received.
    pub(super) fn held(&self) -> Held {
        Held::new(&self.receiving)
    }

    /// With nothing in it, to be counted among the bytes that wait for peers.
    pub(super) fn outgoing(&self) -> Outgoing {
        Outgoing::new(Held::new(&self.sending), self.limits.sending_bytes)
    }
}

#[cfg(test)]
impl Common {
    pub(super) fn receiving(&self) -> usize {
        self.receiving.load(Ordering::SeqCst)
    }
}
