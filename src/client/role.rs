//! [`ClientRole`]: what the engine asks of a client.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use serde_json::value::RawValue;

use super::cache::Cache;
use super::notices::{Dispatcher, Notices};
use super::session::{Session, SettledAgain};
use crate::jsonrpc::{BadFrame, ErrorObject};
use crate::peer::{Role, Served, Serving};
use crate::sync::{Mutex, lock};

/// As many skipped lines are reported in the log; then they are only counted.
const REPORTED_NOISE: u64 = 5;

#[derive(Debug)]
pub(super) struct ClientRole {
    is_modern: AtomicBool,
    noise: AtomicU64,
    dispatcher: Dispatcher,
    /// Of the connection that was settled last. Locked for a look.
    cache: Mutex<Option<Arc<Cache>>>,
}

impl ClientRole {
    pub(super) fn new(notices: Notices, session: Weak<Session>) -> Self {
        Self {
            is_modern: AtomicBool::new(false),
            noise: AtomicU64::new(0),
            dispatcher: Dispatcher::new(notices, session),
            cache: Mutex::new(None),
        }
    }

    pub(super) fn settle(&self, is_modern: bool) {
        self.is_modern.store(is_modern, Ordering::SeqCst);
    }

    /// From now on `cache` hears what changes.
    pub(super) fn keep_true(&self, cache: Option<&Arc<Cache>>) {
        *lock(&self.cache) = cache.cloned();
    }

    pub(super) fn noise(&self) -> u64 {
        self.noise.load(Ordering::Relaxed)
    }

    pub(super) fn close(&self) {
        self.dispatcher.close();
    }
}

impl SettledAgain for ClientRole {
    fn settled_again(&self) {
        // What the old server did not live to say, and what is different in the new one.
        self.dispatcher.tools_changed();
    }
}

impl Role for ClientRole {
    fn is_quick(&self, _method: &str) -> bool {
        // What the server may ask for (roots, sampling, elicitation) will be answered by users' code; without any
        // it is refused at once.
        true
    }

    fn serve(&self, serving: Serving<'_>, _out: &mut Vec<u8>) -> Served {
        Served::Answered(Err(ErrorObject::method_not_found(serving.request.method)))
    }

    fn notified(&self, method: &str, params: Option<&RawValue>) {
        // Before anybody is told, who would ask at once.
        let cache = lock(&self.cache).clone();
        if let Some(cache) = cache {
            cache.heard(method, params);
        }
        self.dispatcher.notified(method, params);
    }

    fn bad_frame(&self, frame: &[u8], bad: &BadFrame) -> Option<ErrorObject> {
        if self.noise.fetch_add(1, Ordering::Relaxed) < REPORTED_NOISE {
            let excerpt: String = String::from_utf8_lossy(frame).chars().take(80).collect();
            log::warn!(
                "skipped a line from the server that is no message ({}): {excerpt}",
                bad.error.message
            );
        }
        None
    }

    fn accepts_batches(&self) -> bool {
        // Only 2025-03-26 servers send them; on other connections what is in them is no less clear.
        true
    }

    // spec: 2026-07-28 basic/transports/stdio#sending-messages (the client MUST NOT write responses)
    fn may_respond(&self) -> bool {
        !self.is_modern.load(Ordering::SeqCst)
    }

    fn is_modern(&self, _params: Option<&RawValue>) -> bool {
        self.is_modern.load(Ordering::SeqCst)
    }
}
