//! Legacy clients: their sessions, and what they send.
//!
//! spec: 2025-11-25 basic/transports#streamable-http

use std::sync::Arc;

use super::answers::{error_response, json_response, pong, refusal};
use super::backend::Asked;
use super::endpoint::{Endpoint, Inbound, heard};
use super::exchange::Exchange;
use super::greeting::Greeting;
use super::session::{NewSession, Session, replayed};
use super::way::Way;
use super::wire::{Reply, Response};
use crate::http::headers;
use crate::jsonrpc::{BadFrame, ErrorObject, Incoming, RequestId};
use crate::peer::{self, Call, NotServed, Request};
use crate::protocol::ProtocolVersion;

impl Endpoint {
    /// Serves what a Legacy client has posted, or answers that it does not.
    pub(super) fn serve_legacy(
        &self,
        from: Inbound<'_>,
        incoming: Result<Incoming<'_>, BadFrame>,
        reply: Reply,
    ) {
        if let Ok(Incoming::Request { id, method, params }) = &incoming {
            if method == "initialize" {
                let request = Request { method, params: *params };
                return self.initialize(from, id.clone(), request, reply);
            }
        }
        let id = match &incoming {
            Ok(Incoming::Request { id, .. }) => Some(id.clone()),
            _ => None,
        };
        let session = match self.session(&from) {
            Ok(session) => session,
            Err((status, problem)) => {
                let error = ErrorObject::invalid_request(problem);
                return reply.answer(error_response(status, id.as_ref(), &error));
            }
        };
        let Some(_in_use) = session.in_use() else {
            return reply.answer(refusal(404, "the session has ended"));
        };
        match incoming {
            Ok(Incoming::Request { id, method, params }) => {
                self.serve_request(&session, &from, id, Request { method: &method, params }, reply);
            }
            Ok(other) => {
                reply.answer(heard(session.line.hear(Some(&session), other, from.body)));
            }
            Err(bad) if bad.is_batch && session.line.accepts_batches() => {
                self.serve_batch(&session, &from, reply);
            }
            Err(bad) => reply.answer(error_response(400, bad.id.as_ref(), &bad.error)),
        }
    }

    /// The session that a request names.
    ///
    /// # Errors
    /// The status and what is wrong.
    pub(super) fn session(&self, from: &Inbound<'_>) -> Result<Arc<Session>, (u16, String)> {
        let Some(id) = from.head.header(headers::SESSION_ID) else {
            // spec: 2025-11-25 basic/transports#session-management (SHOULD be 400)
            return Err((400, "the Mcp-Session-Id header is missing: send initialize first".to_owned()));
        };
        // spec: 2025-11-25 basic/transports#protocol-version-header (MUST be 400)
        if let Some(version) = from.head.header(headers::PROTOCOL_VERSION) {
            let version = ProtocolVersion::from(version);
            if !version.is_legacy() || !self.backend.offered().contains(&version) {
                return Err((400, format!("unsupported MCP-Protocol-Version: {version}")));
            }
        }
        let session = self.sessions.find(id).filter(|session| !session.is_pair);
        // One of somebody else is as unknown as any.
        // spec: 2025-11-25 basic/transports#session-management (MUST be 404)
        session
            .filter(|session| session.is_of(from.principal))
            .ok_or_else(|| (404, "the session is unknown, or has ended".to_owned()))
    }

    /// A session to be, which counts once it is added.
    pub(super) fn new_session(&self, from: &Inbound<'_>, is_pair: bool) -> Result<Arc<Session>, String> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|e| format!("no random numbers: {e}"))?;
        let prefix = self.session_prefix.as_ref().and_then(|name| from.head.header(name));
        let mut id =
            prefix.filter(|prefix| fits(prefix)).map(|prefix| format!("{prefix}-")).unwrap_or_default();
        id.extend(bytes.iter().map(|byte| format!("{byte:02x}")));
        Ok(Session::new(NewSession {
            id,
            is_pair,
            principal: from.principal.clone(),
            backend: &*self.backend,
            sessions: &self.sessions,
            events: self.events.clone(),
        }))
    }

    fn initialize(&self, from: Inbound<'_>, id: RequestId, request: Request<'_>, reply: Reply) {
        let session = match self.new_session(&from, false) {
            Ok(session) => session,
            Err(problem) => {
                return reply.answer(error_response(500, Some(&id), &ErrorObject::internal(problem)));
            }
        };
        let call = Arc::new(Call::by(id, session.principal.clone()));
        let refuse = |reply: Reply, problem| {
            reply.answer(error_response(503, Some(&call.id), &ErrorObject::internal(problem)));
        };
        // It is in use until it is answered, so that nothing ends it, and counts: to begin it may cost a process.
        let Some(in_use) = session.in_use() else { return };
        if let Err(problem) = self.sessions.add(Arc::clone(&session)) {
            session.end("there is no room");
            return refuse(reply, problem);
        }
        let greeting = Greeting::new(Arc::clone(&session), in_use, &self.sessions, self.tap(), reply);
        let way = Way::Greeting(Arc::clone(&greeting));
        let asked = Asked { way: &way, call: &call, request, message: from.body };
        if let Some((error, body)) = self.run(&*session.line, asked) {
            way.answer(&call, error.as_ref(), body);
        }
    }

    fn serve_request(
        &self,
        session: &Arc<Session>,
        from: &Inbound<'_>,
        id: RequestId,
        request: Request<'_>,
        reply: Reply,
    ) {
        if request.method == "ping" && session.line.is_here() && !session.is_open(&id) {
            return reply.answer(json_response(200, pong(&id)));
        }
        let call = match session.begin(id.clone(), from.principal) {
            Ok(call) => call,
            Err(NotServed::Duplicate) => {
                // Without the id: an answer to it would be taken for the first call's.
                return reply.answer(refusal(400, format!("request id {id} is in use")));
            }
            Err(NotServed::Full(limit)) => {
                return reply.answer(error_response(503, Some(&id), &peer::busy(limit)));
            }
        };
        let exchange = self.exchange(session, reply);
        let way = Way::Exchange(Arc::clone(&exchange));
        let asked = Asked { way: &way, call: &call, request, message: from.body };
        match self.run(&*session.line, asked) {
            None => session.stays_open(&call, &exchange),
            Some((error, body)) if session.finish(&call) => exchange.finish(error.as_ref(), body),
            Some(_) => exchange.skip(session.no_answer()),
        }
        session.served();
    }

    /// The answer to a POST of a session, which is in use until then.
    fn exchange(&self, session: &Arc<Session>, reply: Reply) -> Arc<Exchange> {
        let exchange = Exchange::new(Some(session), self.tap());
        let (gone, in_use) = (Arc::clone(&exchange), session.in_use());
        reply.when_gone(Box::new(move || {
            gone.client_left(0);
            drop(in_use);
        }));
        exchange.open(reply);
        exchange
    }

    /// Several messages, in 2025-03-26 alone: the requests are served in turn, and answered together, but for those that stay open.
    ///
    /// spec: 2025-03-26 basic/transports#sending-messages-to-the-server
    fn serve_batch(&self, session: &Arc<Session>, from: &Inbound<'_>, reply: Reply) {
        let messages = match peer::split_batch(from.body) {
            Ok(messages) => messages,
            Err(problem) => return reply.answer(error_response(400, None, &BadFrame::batch(problem).error)),
        };
        let exchange = self.exchange(session, reply);
        let way = Way::Exchange(Arc::clone(&exchange));
        let mut answers: Vec<Vec<u8>> = Vec::new();
        for message in messages {
            match Incoming::decode(message.get().as_bytes()) {
                Ok(Incoming::Request { id, method, .. }) if method == "initialize" => {
                    let error = ErrorObject::invalid_request("initialize cannot be part of a batch");
                    answers.push(error_response(400, Some(&id), &error).body);
                }
                Ok(Incoming::Request { id, method, .. }) if method == "ping" && session.line.is_here() => {
                    answers.push(pong(&id));
                }
                Ok(Incoming::Request { id, method, params }) => {
                    match session.begin(id.clone(), from.principal) {
                        Ok(call) => {
                            let request = Request { method: &method, params };
                            let message = message.get().as_bytes();
                            let asked = Asked { way: &way, call: &call, request, message };
                            exchange.expect_another();
                            match self.run(&*session.line, asked) {
                                None => session.stays_open(&call, &exchange),
                                Some((_, answer)) => {
                                    exchange.expect_less();
                                    answers.extend(session.finish(&call).then_some(answer));
                                }
                            }
                            session.served();
                        }
                        Err(NotServed::Duplicate) => {
                            answers.push(refusal(400, format!("request id {id} is in use")).body);
                        }
                        Err(NotServed::Full(limit)) => {
                            answers.push(error_response(503, Some(&id), &peer::busy(limit)).body);
                        }
                    }
                }
                Ok(other) => {
                    if let Err(error) = session.line.hear(Some(session), other, message.get().as_bytes()) {
                        answers.push(error_response(503, None, &error).body);
                    }
                }
                Err(bad) => answers.push(error_response(400, bad.id.as_ref(), &bad.error).body),
            }
        }
        if exchange.is_last() && !answers.is_empty() {
            return exchange.finish(None, [b"[", answers.join(&b',').as_slice(), b"]"].concat());
        }
        for answer in &answers {
            if let Err(reason) = exchange.event(answer) {
                log::debug!("an answer was not sent: {reason:?}");
            }
        }
        exchange.skip(session.no_answer());
    }

    /// A GET: the stream for what belongs to no request, or the rest of one that broke off.
    ///
    /// spec: 2025-11-25 basic/transports#listening-for-messages-from-the-server, #resumability-and-redelivery
    pub(super) fn listen(&self, from: &Inbound<'_>, reply: Reply) {
        let session = match self.session(from) {
            Ok(session) => session,
            Err((status, problem)) => return reply.answer(refusal(status, problem)),
        };
        let Some(in_use) = session.in_use() else {
            return reply.answer(refusal(404, "the session has ended"));
        };
        let Some(last) = from.head.header(headers::LAST_EVENT_ID) else {
            let begun = Arc::clone(&session);
            let first = move || {
                let mut first = Vec::new();
                let id = begun.begin_stream(None, None, &mut first);
                (first, id)
            };
            return session.standing().open(reply, first, move || drop(in_use));
        };
        let Some(missed) = session.missed(last) else {
            return reply.answer(refusal(400, "the Last-Event-ID is unknown, or too old"));
        };
        // Looked up once more by those who send, as more may have come.
        let (again, last) = (Arc::clone(&session), last.to_owned());
        let look = move || again.missed(&last).map(|missed| replayed(&missed)).unwrap_or_default();
        if let Some(exchange) = session.exchange(&missed.stream) {
            exchange.resume(reply, look, in_use);
            session.is_back(&exchange);
        } else if !missed.has_ended && session.standing().is(&missed.stream) {
            session.standing().open(reply, move || (look(), Some(missed.stream)), move || drop(in_use));
        } else {
            reply.stream(&[], &replayed(&missed)).finish(b"");
        }
    }

    /// A DELETE.
    pub(super) fn delete(&self, from: &Inbound<'_>, reply: Reply) {
        match self.session(from) {
            Ok(session) => {
                self.sessions.end(&session.id, "the client has ended the session");
                reply.answer(Response::new(204));
            }
            Err((status, problem)) => reply.answer(refusal(status, problem)),
        }
    }
}

/// Whether the id of a session may begin like this.
fn fits(prefix: &str) -> bool {
    (1..=64).contains(&prefix.len()) && prefix.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
