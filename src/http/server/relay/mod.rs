//! The relay: serves over HTTP what a server elsewhere serves, usually a child process on its stdin and stdout.
//!
//! ```text
//!   Legacy client ── session ── OwnLine ─── Upstream ═══ a server of its own
//!   Legacy client ── session ── OwnLine ─── Upstream ═══ a server of its own
//!   Modern clients ──────────── SharedLine ─ Upstream ═══ one server for all of them
//! ```
//!
//! Messages pass as they are. To the server of a Legacy client the relay is that client, down to its ids. Modern clients share a
//! server, to which they are one: what only a client can know to be its own – ids, progress tokens, ids of subscriptions – is
//! replaced in the text on the way there, and put back on the way back.
//!
//! **Invariants:** JSON stays text, of which nothing else changes; a server that floods, hangs or dies hurts nobody but the clients it
//! serves; every call is answered or its client has gone; no thread waits for an answer: each server has one that reads.

mod door;
mod own;
mod shared;
mod slots;
mod splice;
mod upstream;

use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use own::OwnLine;
use serde_json::value::RawValue;
use shared::SharedLine;
use slots::Slots;
use upstream::{Hears, PATIENCE, Upstream};

use super::backend::{Backend, Line, Serves};
use super::session::Session;
use super::way::Way;
use super::wire::{self, Head};
use crate::era::Offered;
use crate::error::Result;
use crate::jsonrpc::{ErrorObject, write_error};
use crate::peer::{Call, Limits};
use crate::sync::{CancelToken, Deadline};
use crate::transport::{DEFAULT_MAX_FRAME_BYTES, Tap, Transport};

/// So many Legacy clients may have a server of their own by default.
pub(super) const MAX_SERVERS: usize = 32;

/// Makes what reaches a server.
type Connect = Box<dyn Fn() -> Box<dyn Transport> + Send + Sync>;

/// The backend that is elsewhere.
pub(super) struct Relay {
    reach: Arc<Reach>,
    offered: Offered,
    stop: CancelToken,
    /// To be ended with the serving.
    shared: OnceLock<Weak<SharedLine>>,
}

/// What all lines of a relay need to reach a server.
pub(super) struct Reach {
    connect: Connect,
    slots: Arc<Slots>,
    limits: Limits,
}

impl Reach {
    /// Reaches a server whose messages `hears` gets.
    ///
    /// # Errors
    /// In words for clients; the log has the cause.
    fn open(&self, hears: Arc<dyn Hears>) -> Result<Arc<Upstream>, String> {
        // One that has to go to make room takes a moment.
        let since = Instant::now();
        let slot = self.slots.take(Deadline::after(Some(TO_END)), wire::lend);
        let slot = slot.ok_or_else(|| format!("server busy: {} servers run", self.slots.limit()))?;
        let upstream = Upstream::open((self.connect)(), &self.limits, slot, hears).map_err(|e| {
            log::error!("a server cannot be reached: {e}");
            "the server cannot be reached".to_owned()
        })?;
        log::debug!("reached {} after {:?}", upstream.name(), since.elapsed());
        Ok(upstream)
    }
}

/// Answers a call in place of a server that does not.
fn fail(call: &Arc<Call>, way: &Way, problem: &str) {
    let error = ErrorObject::internal(problem);
    let mut message = Vec::new();
    write_error(&mut message, Some(&call.id), &error);
    way.answer(call, Some(&error), message);
}

/// What is left until then.
fn time(deadline: Deadline) -> Duration {
    deadline.remaining().unwrap_or(Duration::MAX)
}

/// No server takes longer to end.
const TO_END: Duration = Duration::from_secs(10);

impl Relay {
    pub(super) fn new<T: Transport>(connect: impl Fn() -> T + Send + Sync + 'static) -> Self {
        let limits = Limits {
            in_flight: 1024,
            threads: 64,
            pending: 1024,
            unsent_bytes: 16 * 1024 * 1024,
            frame_bytes: DEFAULT_MAX_FRAME_BYTES,
        };
        let connect: Connect = Box::new(move || Box::new(connect()));
        Self {
            reach: Arc::new(Reach { connect, slots: Slots::new(), limits }),
            offered: Offered::default(),
            stop: CancelToken::new(),
            shared: OnceLock::new(),
        }
    }
}

impl Backend for Relay {
    fn prepare(&self, sessions: usize) -> Result<()> {
        self.reach.slots.allow(sessions.saturating_add(1));
        Ok(())
    }

    /// Whatever the server does not speak it says itself.
    fn offered(&self) -> &Offered {
        &self.offered
    }

    fn limits(&self) -> &Limits {
        &self.reach.limits
    }

    fn grace(&self) -> Duration {
        Duration::from_secs(5)
    }

    fn tap(&self) -> Option<&Arc<dyn Tap>> {
        None
    }

    fn stop_token(&self) -> &CancelToken {
        &self.stop
    }

    fn check_mirrored(
        &self,
        _tool: &str,
        _arguments: Option<&RawValue>,
        _head: &Head,
    ) -> std::result::Result<(), String> {
        // spec: 2026-07-28 basic/transports/streamable-http#server-behavior-for-custom-headers (an intermediary that does not
        // know what they mirror ignores them)
        Ok(())
    }

    fn line(&self, session: &Weak<Session>) -> Arc<dyn Line> {
        OwnLine::new(&self.reach, session)
    }

    fn modern_line(&self, _listens: usize) -> Arc<dyn Line> {
        let line = SharedLine::new(&self.reach);
        self.shared.get_or_init(|| Arc::downgrade(&line));
        line
    }

    fn begin_serving(&self) -> Box<dyn Serves + '_> {
        Box::new(Serving(self))
    }
}

/// Ends the servers on every way out, panics included.
struct Serving<'a>(&'a Relay);

impl Serves for Serving<'_> {}

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        if let Some(line) = self.0.shared.get().and_then(Weak::upgrade) {
            line.end("the server is ending");
        }
        if !self.0.reach.slots.drain(Deadline::after(Some(TO_END))) {
            log::warn!("a server has not ended after {TO_END:?}");
        }
    }
}

/// How long each step of ending a server may take.
const _: () = assert!(
    PATIENCE.flush.as_secs() + PATIENCE.exit.as_secs() + PATIENCE.term.as_secs() + 2 < TO_END.as_secs(),
    "what ends a server takes longer"
);
