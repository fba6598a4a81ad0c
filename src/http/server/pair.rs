//! The HTTP+SSE of 2024-11-05: one stream for all that the server says, and a place to post to.
//!
//! spec: 2024-11-05 basic/transports#http-with-sse

use std::sync::Arc;

use super::answers::{error_response, pong, refusal};
use super::backend::Asked;
use super::endpoint::{Endpoint, Inbound, heard};
use super::session::Session;
use super::sse::write_event;
use super::way::Way;
use super::wire::{Reply, Response};
use crate::jsonrpc::{ErrorObject, Incoming, RequestId};
use crate::peer::{self, NotServed, Request};

impl Endpoint {
    /// A GET: a session, which lasts as long as its stream.
    pub(super) fn open_pair(&self, from: &Inbound<'_>, reply: Reply) {
        let session = match self.new_session(from, true) {
            Ok(session) => session,
            Err(problem) => return reply.answer(refusal(500, problem)),
        };
        if let Err(problem) = self.sessions.add(Arc::clone(&session)) {
            return reply.answer(refusal(503, problem));
        }
        let Some(in_use) = session.in_use() else {
            return reply.answer(refusal(503, "the server is ending"));
        };
        let messages = self.paths.pair.as_ref().map(|(_, messages)| messages.as_str()).unwrap_or_default();
        let mut first = Vec::new();
        let place = format!("{messages}?sessionId={}", session.id);
        write_event(&mut first, None, Some("endpoint"), place.as_bytes());
        let (sessions, id) = (Arc::clone(&self.sessions), session.id.clone());
        let closed = move || {
            drop(in_use);
            sessions.end(&id, "the client has left");
        };
        session.standing().open(reply, move || (first, None), closed);
    }

    /// A POST: accepted, and answered over the stream.
    pub(super) fn post_pair(&self, from: &Inbound<'_>, reply: Reply) {
        let query = from.head.query().unwrap_or_default();
        let id = query.split('&').find_map(|part| part.strip_prefix("sessionId=")).unwrap_or_default();
        let session = self.sessions.find(id).filter(|session| session.is_pair);
        let Some(session) = session.filter(|session| session.is_of(from.principal)) else {
            return reply.answer(refusal(404, "the session is unknown, or has ended"));
        };
        match Incoming::decode(from.body) {
            Ok(Incoming::Request { id, method, params }) => {
                reply.answer(Response::new(202));
                self.serve_pair(&session, from, id, Request { method: &method, params });
            }
            Ok(other) => {
                reply.answer(heard(session.line.hear(Some(&session), other, from.body)));
            }
            Err(bad) => reply.answer(error_response(400, bad.id.as_ref(), &bad.error)),
        }
    }

    fn serve_pair(&self, session: &Arc<Session>, from: &Inbound<'_>, id: RequestId, request: Request<'_>) {
        let tell = |message: &[u8]| session.standing().answer_by(message);
        let refuse = |id, error: &ErrorObject| tell(&error_response(200, id, error).body);
        if request.method == "ping" && session.line.is_here() && !session.is_open(&id) {
            return tell(&pong(&id));
        }
        let call = match session.begin(id.clone(), from.principal) {
            Ok(call) => call,
            Err(NotServed::Duplicate) => {
                let problem = format!("request id {id} is in use");
                return refuse(None, &ErrorObject::invalid_request(problem));
            }
            Err(NotServed::Full(limit)) => return refuse(Some(&id), &peer::busy(limit)),
        };
        let way = Way::Standing(Arc::clone(session.standing()));
        let asked = Asked { way: &way, call: &call, request, message: from.body };
        if let Some((_, answer)) = self.run(&*session.line, asked) {
            if session.finish(&call) {
                tell(&answer);
            }
        }
        session.served();
    }
}
