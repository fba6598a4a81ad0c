//! [`ClientRole`]: what the engine asks of a client.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use serde_json::value::RawValue;

use super::ClientHandle;
use super::answer::Answers;
use super::asked::About;
use super::cache::Cache;
use super::notices::Dispatcher;
use super::session::{ServerIdentity, Session};
use crate::json::{FromJson, Json};
use crate::jsonrpc::{BadFrame, ErrorObject};
use crate::peer::{Role, Served, Serving};
use crate::protocol::{ElicitationCompleteParams, InputRequest, ProtocolVersion};
use crate::sync::{Mutex, lock};

/// As many skipped lines are reported in the log; then they are only counted.
const REPORTED_NOISE: u64 = 5;

pub(super) struct ClientRole {
    session: Weak<Session>,
    is_modern: AtomicBool,
    /// The server of the handshake, from the moment at which it may ask something. Locked for a look.
    greeted: Mutex<Option<Arc<ServerIdentity>>>,
    noise: AtomicU64,
    dispatcher: Arc<Dispatcher>,
    /// Of the connection that was settled last. Locked for a look.
    cache: Mutex<Option<Arc<Cache>>>,
    answers: Arc<Answers>,
}

impl ClientRole {
    pub(super) fn new(dispatcher: &Arc<Dispatcher>, answers: &Arc<Answers>, session: &Weak<Session>) -> Self {
        Self {
            session: session.clone(),
            is_modern: AtomicBool::new(false),
            greeted: Mutex::default(),
            noise: AtomicU64::new(0),
            dispatcher: Arc::clone(dispatcher),
            answers: Arc::clone(answers),
            cache: Mutex::new(None),
        }
    }

    /// A connection begins.
    pub(super) fn begin(&self) {
        // Until something else is settled: who is asked during the handshake is to answer.
        self.settle(false);
        *lock(&self.greeted) = None;
    }

    pub(super) fn settle(&self, is_modern: bool) {
        self.is_modern.store(is_modern, Ordering::SeqCst);
    }

    /// From now on `cache` hears what changes.
    pub(super) fn keep_true(&self, cache: Option<&Arc<Cache>>) {
        *lock(&self.cache) = cache.cloned();
    }

    /// Before the server is told that this client is ready.
    pub(super) fn greet(&self, server: &Arc<ServerIdentity>) {
        *lock(&self.greeted) = Some(Arc::clone(server));
    }

    /// The server of the handshake, if there was one.
    pub(super) fn greeted(&self) -> Option<Arc<ServerIdentity>> {
        lock(&self.greeted).clone()
    }

    /// Answers a request of a Legacy server.
    fn answer(&self, serving: Serving<'_>) -> Result<Json, ErrorObject> {
        let method = serving.request.method;
        if !self.answers.answers(method) {
            return Err(ErrorObject::method_not_found(method));
        }
        let Some(session) = self.session.upgrade() else {
            return Err(ErrorObject::internal("this client is closed"));
        };
        let _holding = self.answers.held_up.hold();
        let request = InputRequest::read(method.to_owned(), serving.request.params)
            .map_err(ErrorObject::invalid_params)?;
        let server = self.greeted();
        // One that asks before the handshake is over will understand the newest as well as any other.
        let version = server.as_ref().map_or(ProtocolVersion::LATEST_LEGACY, |server| server.version.clone());
        let about = About {
            client: ClientHandle { session },
            server,
            key: serving.call.id.to_string(),
            call: None,
            cancel: serving.call.cancel.clone(),
            deadline: None,
        };
        self.answers.answer(request, &version, about)
    }

    /// The user is done with a URL.
    fn completed(&self, params: Option<&RawValue>) {
        let read = params.map(ElicitationCompleteParams::from_json);
        match read {
            Some(Ok(params)) if self.answers.urls.complete(&params.elicitation_id) => {
                self.dispatcher.elicitation_complete(params.elicitation_id);
            }
            Some(Ok(params)) => log::debug!("ignored the end of elicitation {}", params.elicitation_id),
            Some(Err(e)) => log::debug!("ignored the end of an elicitation: {e}"),
            None => log::debug!("ignored the end of an elicitation: no params"),
        }
    }

    pub(super) fn noise(&self) -> u64 {
        self.noise.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for ClientRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientRole")
    }
}

impl Role for ClientRole {
    fn is_quick(&self, method: &str) -> bool {
        // What is answered, is answered by users' code; anything else is refused at once.
        self.is_modern(None) || !self.answers.answers(method)
    }

    fn serve(&self, serving: Serving<'_>, out: &mut Vec<u8>) -> Served {
        if self.is_modern(None) {
            // Nobody will see it, and nobody's code is to run for it.
            return Served::Answered(Err(ErrorObject::method_not_found(serving.request.method)));
        }
        Served::Answered(self.answer(serving).map(|answer| out.extend_from_slice(answer.as_str().as_bytes())))
    }

    fn notified(&self, method: &str, params: Option<&RawValue>) {
        // Before anybody is told, who would ask at once.
        let cache = lock(&self.cache).clone();
        if let Some(cache) = cache {
            cache.heard(method, params);
        }
        if method == "notifications/elicitation/complete" {
            self.completed(params);
        }
        if let Some(session) = self.session.upgrade() {
            session.changes.heard(method, params, self.is_modern.load(Ordering::SeqCst));
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
