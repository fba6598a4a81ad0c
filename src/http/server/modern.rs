//! One Modern request: what its headers must say, and its one exchange.
//!
//! spec: 2026-07-28 basic/transports/streamable-http

use std::sync::Arc;

use serde_json::value::RawValue;

use super::answers::error_response;
use super::backend::Asked;
use super::endpoint::{Endpoint, Inbound};
use super::exchange::Exchange;
use super::way::Way;
use super::wire::{Head, Reply};
use crate::http::headers::{self, quoted};
use crate::http::value;
use crate::json::{JsonError, Members, string};
use crate::jsonrpc::{ErrorCode, ErrorObject, RequestId};
use crate::method::Method;
use crate::peer::{Call, Request};
use crate::protocol::{ProtocolVersion, meta};

/// A Modern request, or what ought to be one.
pub(super) struct ModernRequest<'a> {
    pub(super) from: Inbound<'a>,
    pub(super) id: RequestId,
    pub(super) request: Request<'a>,
    /// The parameters.
    pub(super) members: Members<'a>,
    /// Their `_meta`.
    pub(super) meta: Members<'a>,
}

impl Endpoint {
    /// Serves a Modern request on the calling thread.
    pub(super) fn serve_modern(&self, modern: ModernRequest<'_>, reply: Reply) {
        // A handshake, where none is offered, is told so where it is read: such a client has other headers, or none.
        let is_handshake = modern.request.method == Method::Initialize.name()
            && self.backend.offered().latest_legacy().is_none();
        if let Some(error) = self.check(&modern).err().filter(|_| !is_handshake) {
            return reply.answer(error_response(400, Some(&modern.id), &error));
        }
        let call = Arc::new(Call::by(modern.id, modern.from.principal.clone()));
        let exchange = Exchange::new(None, self.tap());
        // spec: 2026-07-28 basic/transports/streamable-http#cancellation (a closed stream MUST be taken as a cancellation)
        let (given_up, gone, line) = (Arc::clone(&call), Arc::clone(&exchange), Arc::clone(&self.modern));
        reply.when_gone(Box::new(move || {
            gone.over();
            if given_up.close() {
                given_up.cancel.cancel("the client closed the connection");
                line.given_up(&given_up);
            }
        }));
        exchange.open(reply);
        let way = Way::Exchange(Arc::clone(&exchange));
        let asked = Asked { way: &way, call: &call, request: modern.request, message: modern.from.body };
        if let Some((error, body)) = self.run(&*self.modern, asked) {
            if call.close() {
                exchange.finish(error.as_ref(), body);
            }
        }
    }

    /// spec: 2026-07-28 basic/transports/streamable-http#server-validation
    fn check(&self, modern: &ModernRequest<'_>) -> Result<(), ErrorObject> {
        let ModernRequest { from: Inbound { head, .. }, request, members, meta: fields, .. } = modern;
        let header = single(head, headers::PROTOCOL_VERSION)
            .map_err(mismatch)?
            .ok_or_else(|| mismatch("the MCP-Protocol-Version header is missing"))?;
        let at = |name: &'static str| {
            move |e: JsonError| ErrorObject::invalid_params(e.inside(name).inside("_meta").inside("params"))
        };
        let missing = || JsonError::new("missing");
        let field = |name| fields.find(name).ok_or_else(missing);
        let version = field(meta::PROTOCOL_VERSION).and_then(string).map_err(at(meta::PROTOCOL_VERSION))?;
        if header != version {
            return Err(differs("MCP-Protocol-Version", header, &version));
        }
        // One that is not served is told that first: it may have other metadata.
        if self.backend.offered().contains(&ProtocolVersion::from(&*version)) {
            let object = |raw: &RawValue| match raw.get().starts_with('{') {
                true => Ok(()),
                false => Err(JsonError::expected("an object", raw)),
            };
            field(meta::CLIENT_CAPABILITIES).and_then(object).map_err(at(meta::CLIENT_CAPABILITIES))?;
        }
        let sent = single(head, headers::METHOD)
            .map_err(mismatch)?
            .ok_or_else(|| mismatch("the Mcp-Method header is missing"))?;
        if sent != request.method {
            return Err(differs("Mcp-Method", sent, request.method));
        }
        let Some(method) = Method::from_name(request.method) else { return Ok(()) };
        if let Some(source) = headers::named_by(method) {
            let body = members.find(source).and_then(|raw| string(raw).ok());
            // Without it the body is at fault, which is told where it is read.
            if let Some(body) = body {
                match single(head, headers::NAME).map_err(mismatch)? {
                    Some(sent) => {
                        let sent = value::decode(sent).map_err(|e| mismatch(format!("Mcp-Name: {e}")))?;
                        if sent != body {
                            return Err(differs("Mcp-Name", &sent, &body));
                        }
                    }
                    // The list of required headers in the specification has none for tasks.
                    None if source == "taskId" => {}
                    None => return Err(mismatch("the Mcp-Name header is missing")),
                }
                if method == Method::ToolsCall {
                    let arguments = members.find("arguments");
                    self.backend.check_mirrored(&body, arguments, head).map_err(mismatch)?;
                }
            }
        }
        Ok(())
    }
}

/// The one value of a header of a request.
pub(super) fn single<'a>(head: &'a Head, name: &str) -> Result<Option<&'a str>, String> {
    headers::only(head.headers(name), name)
}

fn mismatch(problem: impl std::fmt::Display) -> ErrorObject {
    ErrorObject::new(ErrorCode::HEADER_MISMATCH, format!("header mismatch: {problem}"))
}

fn differs(name: &str, header: &str, body: &str) -> ErrorObject {
    mismatch(format!("the {name} header is {}, the body says {}", quoted(header), quoted(body)))
}
