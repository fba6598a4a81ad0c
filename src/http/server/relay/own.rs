//! [`OwnLine`]: a Legacy client and the server of its own.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use serde_json::value::RawValue;

use super::door::Door;
use super::splice::one_line;
use super::upstream::{Hears, Upstream, not_sent};
use super::{Reach, fail, time};
use crate::http::server::answers::{error_response, pong, refusal};
use crate::http::server::backend::{Asked, Line};
use crate::http::server::session::Session;
use crate::http::server::way::Way;
use crate::json::{FromJson, Members};
use crate::jsonrpc::{ErrorObject, Incoming, RequestId};
use crate::peer::{self, Call, NotSent, Served, own_id};
use crate::protocol::ProtocolVersion;
use crate::sync::Deadline;

/// A Legacy client and the server of its own: messages pass with the ids they have.
///
/// What the server says of itself goes over the stream of the one call that is open, as it most likely belongs to that, and so
/// comes before the answer. If there is none, or are several, it goes over the stream that the client has opened for such, or
/// else over that of any call; without either it waits for the former. The server is reached with the client's first message, and both end together.
pub(super) struct OwnLine {
    me: Weak<Self>,
    reach: Arc<Reach>,
    session: Weak<Session>,
    door: Door,
    /// Calls that are open. Held for a look-up. Bound: those of the session. End: each one's answer or cancellation.
    calls: Mutex<HashMap<RequestId, Open>>,
    /// Signalled when the last call has ended.
    done: Condvar,
    version: OnceLock<ProtocolVersion>,
}

struct Open {
    call: Arc<Call>,
    way: Way,
    /// Of its progress.
    token: Option<RequestId>,
}

impl OwnLine {
    pub(super) fn new(reach: &Arc<Reach>, session: &Weak<Session>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            reach: Arc::clone(reach),
            session: Weak::clone(session),
            door: Door::default(),
            calls: Mutex::default(),
            done: Condvar::new(),
            version: OnceLock::new(),
        })
    }

    fn upstream(&self) -> Result<Arc<Upstream>, String> {
        self.door.get(|| {
            let me = self.me.upgrade().ok_or("the session has ended")?;
            self.reach.open(me)
        })
    }

    fn pass_on(&self, asked: Asked<'_>) -> Result<(), String> {
        let Asked { way, call, request, message } = asked;
        let text = std::str::from_utf8(message).map_err(|e| e.to_string())?;
        let upstream = self.upstream()?;
        let token = request.params.and_then(token_of_request);
        let open = Open { call: Arc::clone(call), way: way.clone(), token };
        self.calls().insert(call.id.clone(), open);
        // Before the server can say something because of it.
        if let (Way::Exchange(exchange), Some(session)) = (way, self.session.upgrade()) {
            session.stays_open(call, exchange);
        }
        let sent = upstream.send(&one_line(text));
        sent.map_err(|why| {
            self.take(&call.id);
            not_sent(why)
        })
    }

    /// The call of this id, which ends.
    fn take(&self, id: &RequestId) -> Option<Open> {
        let mut calls = self.calls();
        let taken = calls.remove(id).or_else(|| {
            // Some servers answer with the string form of a number.
            let number = own_id(id).filter(|_| matches!(id, RequestId::String(_)))?;
            calls.remove(&RequestId::Number(number))
        });
        if calls.is_empty() {
            self.done.notify_all();
        }
        taken
    }

    /// Brings the client what belongs to no call of it.
    fn tell(&self, text: &str) -> Result<(), NotSent> {
        let ended = || NotSent::Closed("the session has ended".to_owned());
        let session = self.session.upgrade().ok_or_else(ended)?;
        let over_call = self.only().and_then(|(call, way)| call.while_open(|| way.message(text.as_bytes())));
        match over_call {
            Some(Ok(())) => Ok(()),
            // Its client has gone, or does not read.
            _ => session.standing().message(text.as_bytes()),
        }
    }

    /// The one call that is open, if it has a stream.
    fn only(&self) -> Option<(Arc<Call>, Way)> {
        let calls = self.calls();
        let open =
            calls.values().next().filter(|open| calls.len() == 1 && matches!(open.way, Way::Exchange(_)))?;
        Some((Arc::clone(&open.call), open.way.clone()))
    }

    /// Something that the server asks of the client, or of whoever can say it.
    fn ask(&self, id: &RequestId, method: &str, text: &str) {
        let answer = if method == "ping" && !self.session.upgrade().is_some_and(|session| session.is_heard())
        {
            // There may be no stream for long, or, before the handshake, none at all.
            pong(id)
        } else if let Err(why) = self.tell(text) {
            error_response(200, Some(id), &ErrorObject::internal(not_sent(why))).body
        } else {
            return;
        };
        let answer = String::from_utf8_lossy(&answer);
        if let Some(Err(why)) = self.door.current().map(|upstream| upstream.send(&answer)) {
            log::debug!("a question of a server has no answer: {why:?}");
        }
    }

    fn progress(&self, params: Option<&RawValue>, text: &str) {
        let token = params.and_then(|params| Members::of(params).ok()?.take("progressToken"));
        let token = token.and_then(|raw| RequestId::from_json(raw).ok());
        let found = {
            let calls = self.calls();
            let mut open = calls.values().filter(|open| open.token.is_some() && open.token == token);
            open.next().map(|open| (Arc::clone(&open.call), open.way.clone()))
        };
        let told = match found {
            Some((call, way)) => call.while_open(|| way.message(text.as_bytes())).unwrap_or(Ok(())),
            None => self.tell(text),
        };
        if let Err(why) = told {
            log::debug!("dropped progress: {why:?}");
        }
    }

    fn answer(&self, id: &RequestId, result: Result<&RawValue, ErrorObject>, text: &str) {
        let Some(open) = self.take(id) else {
            log::debug!("ignored an answer to {id}: nobody waits for it");
            return;
        };
        if let (Way::Greeting(_), Ok(result)) = (&open.way, &result) {
            let version = Members::of(result).ok().and_then(|mut result| result.take("protocolVersion"));
            let version = version.and_then(|raw| ProtocolVersion::from_json(raw).ok());
            version.into_iter().for_each(|version| drop(self.version.set(version)));
        }
        open.way.answer(&open.call, result.err().as_ref(), text.as_bytes().to_vec());
    }

    fn fail_all(&self, reason: &str) {
        let open = std::mem::take(&mut *self.calls());
        self.done.notify_all();
        open.values().for_each(|open| fail(&open.call, &open.way, reason));
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<RequestId, Open>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn token_of_request(params: &RawValue) -> Option<RequestId> {
    let fields = Members::of(params).ok()?.take("_meta")?;
    RequestId::from_json(Members::of(fields).ok()?.take("progressToken")?).ok()
}

impl Line for OwnLine {
    fn serve(&self, asked: Asked<'_>, _out: &mut Vec<u8>) -> Served {
        match self.pass_on(asked) {
            Ok(()) => Served::Open,
            Err(problem) => Served::Answered(Err(ErrorObject::internal(problem))),
        }
    }

    fn hear(
        &self,
        session: Option<&Session>,
        incoming: Incoming<'_>,
        message: &[u8],
    ) -> Result<(), ErrorObject> {
        let text = std::str::from_utf8(message).map_err(ErrorObject::internal)?;
        if let (Incoming::Notification { method, params }, Some(session)) = (&incoming, session) {
            if method == "notifications/cancelled" {
                let cancelled = peer::cancelled(*params);
                if let Some((id, reason)) = cancelled.ok().filter(|(id, reason)| session.cancel(id, reason)) {
                    log::debug!("request {id} cancelled: {reason}");
                    drop(self.take(&id));
                }
            }
        }
        let upstream = self.upstream().map_err(ErrorObject::internal)?;
        upstream.send(&one_line(text)).map_err(|why| ErrorObject::internal(not_sent(why)))
    }

    /// The server says whether it is alive.
    fn is_here(&self) -> bool {
        false
    }

    fn accepts_batches(&self) -> bool {
        self.version.get() == Some(&ProtocolVersion::V2025_03_26)
    }

    fn legacy_version(&self) -> Option<ProtocolVersion> {
        self.version.get().cloned()
    }

    fn drain(&self, deadline: Deadline) {
        let is_busy = |calls: &mut HashMap<_, _>| !calls.is_empty();
        drop(self.done.wait_timeout_while(self.calls(), time(deadline), is_busy));
        self.fail_all("the server is ending");
    }

    fn end(&self, reason: &str) {
        let upstream = self.door.shut(reason);
        let open = std::mem::take(&mut *self.calls());
        self.done.notify_all();
        open.into_values().for_each(|open| open.way.abandon(refusal(404, reason)));
        upstream.into_iter().for_each(|upstream| upstream.close());
    }
}

impl Hears for OwnLine {
    fn heard(&self, incoming: Incoming<'_>, text: &str) {
        match incoming {
            Incoming::Response { id: Some(id), result } => self.answer(&id, result, text),
            Incoming::Request { id, method, .. } => self.ask(&id, &method, text),
            Incoming::Notification { method, params } if method == "notifications/progress" => {
                self.progress(params, text);
            }
            Incoming::Notification { .. } | Incoming::Response { id: None, .. } => {
                if let Err(why) = self.tell(text) {
                    log::debug!("dropped a message of a server: {why:?}");
                }
            }
        }
    }

    fn failed(&self, id: &RequestId, problem: String) {
        self.take(id).iter().for_each(|open| fail(&open.call, &open.way, &problem));
    }

    fn ended(&self, _upstream: &Upstream, reason: &str) {
        self.fail_all(reason);
        // What the server knew of its client is lost.
        self.session.upgrade().into_iter().for_each(|session| session.leave(reason));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    #[test]
    fn tokens_are_texts_or_numbers() {
        let token = |text| token_of_request(Json::parse(text).expect("JSON").as_raw());
        assert_eq!(token(r#"{"_meta":{"progressToken":"a"}}"#), Some("a".into()));
        assert_eq!(token(r#"{"_meta":{"progressToken":5}}"#), Some(5.into()));
        assert_eq!(token(r#"{"_meta":{"progressToken":null}}"#), None);
        assert_eq!(token("{}"), None);
    }
}
