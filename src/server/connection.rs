//! [`Connection`]: what a server knows of one connection, which is what a Legacy handshake settled.

use std::sync::{Arc, PoisonError, RwLock, Weak};

use serde_json::value::RawValue;

use super::Inner;
use super::changes::Most;
use crate::context::LegacyClient;
use crate::json::{Json, Members};
use crate::jsonrpc::{BadFrame, ErrorObject, Message, Response};
use crate::method::Method;
use crate::peer::{Call, Ground, NotSent, Outlet, Pending, Request, Role, Served, Serving};
use crate::protocol::{ProtocolVersion, meta};

/// One connection's state. A Modern request uses none of it.
///
/// spec: 2026-07-28 basic/index#statelessness
pub(super) struct Connection {
    server: Weak<Inner>,
    /// Under which it listens to changes.
    pub(super) number: u64,
    /// Keeps the server alive while the connection is served; the implicit one is kept by the server instead.
    _served: Option<Arc<Inner>>,
    /// Written by each `initialize`; held for a copy of the pointer.
    legacy: RwLock<Option<Arc<LegacyClient>>>,
}

impl Connection {
    pub(super) fn new(server: Arc<Inner>, most: Most) -> Self {
        let number = server.changes.open(most);
        Self { server: Arc::downgrade(&server), number, _served: Some(server), legacy: RwLock::default() }
    }

    pub(super) fn new_implicit(server: Weak<Inner>) -> Self {
        // Nothing can be told without a wire: it listens to nothing.
        Self { server, number: 0, _served: None, legacy: RwLock::default() }
    }

    /// What the handshake settled, if there was one.
    pub(super) fn legacy(&self) -> Option<Arc<LegacyClient>> {
        self.legacy.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn settle(&self, client: LegacyClient) -> Arc<LegacyClient> {
        let client = Arc::new(client);
        *self.legacy.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&client));
        client
    }

    /// Serves one message without a wire.
    pub(super) fn handle(&self, message: Message) -> Option<Message> {
        let request = match message {
            Message::Request(request) => request,
            Message::Notification(notification) => {
                self.notified(&notification.method, notification.params.as_ref().map(Json::as_raw));
                return None;
            }
            Message::Response(_) => return None,
        };
        let params = request.params.as_ref().map(Json::as_raw);
        let result = if request.method == "ping" && !self.is_modern(params) {
            Ok(Json::empty_object())
        } else {
            let outlet: Arc<dyn Outlet> = Arc::new(Nowhere);
            let call = Arc::new(Call::new(request.id.clone()));
            let asked = Request { method: &request.method, params };
            let mut out = Vec::new();
            let serving = Serving { outlet: &outlet, call: &call, request: asked, ground: Ground::Worker };
            match self.serve(serving, &mut out) {
                Served::Answered(Ok(())) => std::str::from_utf8(&out)
                    .map_err(ErrorObject::internal)
                    .and_then(|text| Json::parse(text).map_err(ErrorObject::internal)),
                Served::Answered(Err(error)) => Err(error),
                Served::Elsewhere => Err(ErrorObject::internal("no thread to serve the request on")),
                Served::Open => Err(ErrorObject::internal("there is no stream to keep open")),
            }
        };
        Some(Message::Response(Response { id: Some(request.id), result }))
    }
}

/// The outlet of what has no wire: a message that came without one, and a task that outlives its connection.
pub(super) struct Nowhere;

impl Outlet for Nowhere {
    fn notify(&self, call: &Call, method: &str, _params: &str, _is_due: &dyn Fn() -> bool) -> bool {
        log::debug!("dropped {method} of request {}: there is no outlet", call.id);
        false
    }

    fn pending(&self) -> Option<&Pending> {
        None
    }

    fn post(&self, _call: Option<&Call>, _method: &str, _params: Option<&str>) -> Result<(), NotSent> {
        Err(NotSent::Closed("there is no outlet".to_owned()))
    }

    fn send(&self, _call: &Call, _frame: &[u8]) -> Result<(), NotSent> {
        Err(NotSent::Closed("there is no outlet".to_owned()))
    }

    fn look_after(&self) {}

    fn answer(&self, call: &Arc<Call>, _result: Result<&str, &ErrorObject>, _waits: bool) {
        log::debug!("no answer to {}: there is no outlet", call.id);
    }
}

impl Role for Connection {
    fn is_quick(&self, method: &str) -> bool {
        // Most requests are calls, which need no look at anything else.
        method != Method::ToolsCall.name()
            && self.server.upgrade().is_none_or(|server| server.is_quick(method))
    }

    fn serve(&self, serving: Serving<'_>, out: &mut Vec<u8>) -> Served {
        match self.server.upgrade() {
            Some(server) => server.dispatch(self, serving, out),
            None => Served::Answered(Err(ErrorObject::internal("the server is gone"))),
        }
    }

    fn notified(&self, method: &str, params: Option<&RawValue>) {
        log::debug!("heard {method}");
        let Some(server) = self.server.upgrade() else { return };
        if method == "notifications/initialized" {
            // Requests are served as soon as the handshake is answered, but the client is told of changes only now.
            server.changes.initialized(self.number);
        } else if let Some(hear) = &server.config.hear {
            hear.notified(method, params);
        }
    }

    fn bad_frame(&self, _frame: &[u8], bad: &BadFrame) -> Option<ErrorObject> {
        log::debug!("a frame is no message: {}", bad.error);
        Some(bad.error.clone())
    }

    // spec: 2025-03-26 basic/index#batching; no other revision has batches
    fn accepts_batches(&self) -> bool {
        self.legacy().is_some_and(|client| client.version == ProtocolVersion::V2025_03_26)
    }

    fn is_modern(&self, params: Option<&RawValue>) -> bool {
        let fields = params.and_then(|params| Members::of(params).ok()?.take("_meta"));
        let fields = fields.and_then(|fields| Members::of(fields).ok());
        fields.is_some_and(|mut fields| fields.take(meta::PROTOCOL_VERSION).is_some())
    }
}
