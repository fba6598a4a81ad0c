//! [`ClientRole`]: what the engine asks of a client.

use std::sync::Weak;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::value::RawValue;

use super::session::Session;
use crate::jsonrpc::{BadFrame, ErrorObject};
use crate::peer::{Role, Served, Serving};

/// As many skipped lines are reported in the log; then they are only counted.
const REPORTED_NOISE: u64 = 5;

#[derive(Debug)]
pub(super) struct ClientRole {
    is_modern: AtomicBool,
    noise: AtomicU64,
    session: Weak<Session>,
}

impl ClientRole {
    pub(super) fn new(session: Weak<Session>) -> Self {
        Self { is_modern: AtomicBool::new(false), noise: AtomicU64::new(0), session }
    }

    pub(super) fn settle(&self, is_modern: bool) {
        self.is_modern.store(is_modern, Ordering::SeqCst);
    }

    pub(super) fn noise(&self) -> u64 {
        self.noise.load(Ordering::Relaxed)
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
        if let Some(session) = self.session.upgrade() {
            session.heard(method, params, self.is_modern.load(Ordering::SeqCst));
        }
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
