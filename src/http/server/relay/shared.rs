//! [`SharedLine`]: all Modern clients and their one server.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use serde_json::value::RawValue;

use super::door::Door;
use super::splice::{Marks, one_line, replaced};
use super::upstream::{Hears, Upstream, not_sent};
use super::{Reach, fail, time};
use crate::http::server::backend::{Asked, Line};
use crate::http::server::session::Session;
use crate::http::server::way::Way;
use crate::json::FromJson;
use crate::jsonrpc::{ErrorObject, Incoming, RequestId, begin_result, write_json};
use crate::method::Method;
use crate::peer::{Call, Served, busy, cancelled, own_id};
use crate::protocol::{ProtocolVersion, meta};
use crate::sync::Deadline;

/// All Modern clients and their one server, for which each call has an id that no other has.
///
/// The server is reached with the first request, and again with the next one after it has ended.
pub(super) struct SharedLine {
    me: Weak<Self>,
    reach: Arc<Reach>,
    door: Door,
    /// Calls that are open. Held for a look-up. Bound: `in_flight`, and as many subscriptions. End: each one's answer, or
    /// its client's leaving.
    calls: Mutex<Calls>,
    /// Signalled when the last call has ended.
    done: Condvar,
}

#[derive(Default)]
struct Calls {
    open: HashMap<i64, Open>,
    /// The id of the last call. No id is given out twice: a late answer finds nobody.
    last: i64,
}

#[derive(Clone)]
struct Open {
    call: Arc<Call>,
    way: Way,
    upstream: Arc<Upstream>,
    /// What its client calls it, as it stands in the request.
    id: Arc<str>,
    /// What its client calls its progress.
    token: Option<Arc<str>>,
    is_listen: bool,
}

impl SharedLine {
    pub(super) fn new(reach: &Arc<Reach>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            reach: Arc::clone(reach),
            door: Door::default(),
            calls: Mutex::default(),
            done: Condvar::new(),
        })
    }

    fn upstream(&self) -> Result<Arc<Upstream>, ErrorObject> {
        let open = || self.reach.open(self.me.upgrade().ok_or("the server is ending")?);
        self.door.get(open).map_err(ErrorObject::internal)
    }

    fn pass_on(&self, asked: Asked<'_>) -> Result<(), ErrorObject> {
        let Asked { way, call, request, message } = asked;
        // A handshake or a subscription of another era would be one of all clients.
        let method = Method::from_name(request.method);
        if method.is_some_and(|method| !method.is_in(&ProtocolVersion::V2026_07_28)) {
            return Err(ErrorObject::method_not_found(request.method));
        }
        let text = std::str::from_utf8(message).map_err(ErrorObject::invalid_request)?;
        let text = one_line(text);
        let marks = Marks::of_client(&text).map_err(ErrorObject::invalid_request)?;
        let id = marks.id.clone().ok_or_else(|| ErrorObject::invalid_request("id: missing"))?;
        let upstream = self.upstream()?;
        let open = Open {
            call: Arc::clone(call),
            way: way.clone(),
            upstream: Arc::clone(&upstream),
            id: text[id].into(),
            token: marks.token.clone().map(|token| text[token].into()),
            is_listen: method == Some(Method::SubscriptionsListen),
        };
        let number = self.open(open)?;
        let own = number.to_string();
        let sent = upstream.send(&replaced(&text, [(marks.id, &own), (marks.token, &own)]));
        if let Err(why) = sent {
            self.take(number);
            return Err(ErrorObject::internal(not_sent(why)));
        }
        // Its client may have gone before the call was among the others.
        if call.while_open(|| ()).is_none() && self.take(number).is_some() {
            withdraw(&upstream, number, "the client closed the connection");
        }
        Ok(())
    }

    /// Opens a call: its id here.
    fn open(&self, open: Open) -> Result<i64, ErrorObject> {
        let mut calls = self.calls();
        let limit = self.reach.limits.in_flight;
        let alike = calls.open.values().filter(|other| other.is_listen == open.is_listen);
        if alike.count() >= limit {
            return Err(busy(limit));
        }
        calls.last += 1;
        let number = calls.last;
        calls.open.insert(number, open);
        Ok(number)
    }

    /// The call of this id, which ends.
    fn take(&self, number: i64) -> Option<Open> {
        let mut calls = self.calls();
        let taken = calls.open.remove(&number);
        if calls.open.is_empty() {
            self.done.notify_all();
        }
        taken
    }

    /// The calls that this is so of, which end.
    fn take_all(&self, is_so: impl Fn(&Open) -> bool) -> Vec<(i64, Open)> {
        let numbers: Vec<_> = {
            let calls = self.calls();
            calls.open.iter().filter(|(_, open)| is_so(open)).map(|(number, _)| *number).collect()
        };
        numbers.into_iter().filter_map(|number| Some((number, self.take(number)?))).collect()
    }

    fn fail_all(&self, reason: &str, is_so: impl Fn(&Open) -> bool) {
        self.take_all(is_so).iter().for_each(|(_, open)| fail(&open.call, &open.way, reason));
    }

    fn find(&self, id: Option<&RawValue>) -> Option<Open> {
        let number = own_id(&RequestId::from_json(id?).ok()?)?;
        self.calls().open.get(&number).cloned()
    }

    fn answer(&self, id: &RequestId, error: Option<&ErrorObject>, text: &str) {
        let Some(open) = own_id(id).and_then(|number| self.take(number)) else {
            log::debug!("ignored an answer to {id}: nobody waits for it");
            return;
        };
        let marks = Marks::of_answer(text);
        let subscription = marks.subscription.filter(|_| open.is_listen);
        let answer = replaced(text, [(marks.id, &open.id), (subscription, &open.id)]);
        open.way.answer(&open.call, error, answer.into_bytes());
    }

    fn tell(&self, method: &str, params: Option<&RawValue>, text: &str) {
        let marks = Marks::of_notice(text, params);
        let raw = |place: &Option<std::ops::Range<usize>>| {
            let text = text.get(place.clone()?)?;
            serde_json::from_str::<&RawValue>(text).ok()
        };
        let (open, notice) = if method == Method::Progress.name() {
            let open = self.find(raw(&marks.token)).filter(|open| open.token.is_some());
            let token = open.as_ref().and_then(|open| open.token.clone()).unwrap_or_default();
            (open, replaced(text, [(marks.token, &token)]))
        } else {
            let open = self.find(raw(&marks.subscription)).filter(|open| open.is_listen);
            let id = open.as_ref().map(|open| Arc::clone(&open.id)).unwrap_or_default();
            (open, replaced(text, [(marks.subscription, &id)]))
        };
        let Some(Open { call, way, .. }) = open else {
            // Whose it is nobody can know. That is so of log messages, too.
            log::debug!("dropped {method}: it belongs to no call");
            return;
        };
        if let Some(Err(why)) = call.while_open(|| way.message(notice.as_bytes())) {
            log::debug!("dropped {method} of {}: {why:?}", call.id);
        }
    }

    /// The server has ended a subscription, which clients learn from the end of their call.
    ///
    /// spec: 2026-07-28 basic/patterns/subscriptions#graceful-closure
    fn torn_down(&self, params: Option<&RawValue>) {
        let ended = cancelled(params).ok().and_then(|(id, _)| own_id(&id));
        let is_listen = |number: &i64| self.calls().open.get(number).is_some_and(|open| open.is_listen);
        match ended.filter(is_listen).and_then(|number| self.take(number)) {
            Some(open) => end_subscription(&open),
            None => log::debug!("ignored a cancellation by the server: no such subscription is open"),
        }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The server is to forget a call.
///
/// spec: 2026-07-28 basic/patterns/cancellation#transport-specific-cancellation
fn withdraw(upstream: &Arc<Upstream>, number: i64, reason: &str) {
    let mut json = Vec::new();
    write_json(&mut json, reason);
    let reason = String::from_utf8_lossy(&json);
    let notice = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{number},"reason":{reason}}}}}"#
    );
    if let Err(why) = upstream.send(&notice) {
        log::debug!("a cancellation was not sent: {why:?}");
    }
}

fn end_subscription(open: &Open) {
    let mut message = Vec::new();
    begin_result(&mut message, Some(&open.call.id));
    message.extend_from_slice(br#"{"resultType":"complete","_meta":{"#);
    write_json(&mut message, meta::SUBSCRIPTION_ID);
    message.push(b':');
    write_json(&mut message, &open.call.id);
    message.extend_from_slice(b"}}}");
    open.way.answer(&open.call, None, message);
}

impl Line for SharedLine {
    fn serve(&self, asked: Asked<'_>, _out: &mut Vec<u8>) -> Served {
        match self.pass_on(asked) {
            Ok(()) => Served::Open,
            Err(error) => Served::Answered(Err(error)),
        }
    }

    fn hear(
        &self,
        _session: Option<&Session>,
        incoming: Incoming<'_>,
        message: &[u8],
    ) -> Result<(), ErrorObject> {
        let Incoming::Notification { method, .. } = incoming else { return Ok(()) };
        // The ids in these would be other clients'. Who closes a connection cancels its call.
        // spec: 2026-07-28 basic/transports/streamable-http#sending-messages
        if matches!(method.as_ref(), "notifications/cancelled" | "notifications/progress") {
            log::debug!("ignored {method} of a client");
            return Ok(());
        }
        let text = std::str::from_utf8(message).map_err(ErrorObject::invalid_request)?;
        let text = one_line(text);
        Marks::of_client(&text).map_err(ErrorObject::invalid_request)?;
        // Where no server is reached there is nobody to be told; and to reach one takes time, which whoever brings this has not.
        match self.door.current() {
            Some(upstream) => upstream.send(&text).map_err(|why| ErrorObject::internal(not_sent(why))),
            None => {
                log::debug!("dropped {method} of a client: there is no server yet");
                Ok(())
            }
        }
    }

    fn given_up(&self, call: &Arc<Call>) {
        for (number, open) in self.take_all(|open| Arc::ptr_eq(&open.call, call)) {
            withdraw(&open.upstream, number, "the client closed the connection");
        }
    }

    fn accepts_batches(&self) -> bool {
        false
    }

    fn legacy_version(&self) -> Option<ProtocolVersion> {
        None
    }

    fn end_subscriptions(&self) {
        for (number, open) in self.take_all(|open| open.is_listen) {
            end_subscription(&open);
            withdraw(&open.upstream, number, "the server is ending");
        }
    }

    fn drain(&self, deadline: Deadline) {
        let is_busy = |calls: &mut Calls| !calls.open.is_empty();
        drop(self.done.wait_timeout_while(self.calls(), time(deadline), is_busy));
        self.fail_all("the server is ending", |_| true);
    }

    fn end(&self, reason: &str) {
        let upstream = self.door.shut(reason);
        self.fail_all(reason, |_| true);
        upstream.into_iter().for_each(|upstream| upstream.close());
    }
}

impl Hears for SharedLine {
    fn heard(&self, incoming: Incoming<'_>, text: &str) {
        match incoming {
            Incoming::Response { id: Some(id), result } => self.answer(&id, result.err().as_ref(), text),
            Incoming::Response { id: None, result } => {
                log::warn!("the server could not read a message: {:?}", result.err());
            }
            Incoming::Notification { method, params } if method == Method::Cancelled.name() => {
                self.torn_down(params);
            }
            Incoming::Notification { method, params } => self.tell(&method, params, text),
            // spec: 2026-07-28 basic/transports/stdio#receiving-messages (a server MUST NOT, a client has no responses)
            Incoming::Request { method, .. } => {
                log::debug!("ignored {method}: there is no one client to ask")
            }
        }
    }

    fn failed(&self, id: &RequestId, problem: String) {
        let open = own_id(id).and_then(|number| self.take(number));
        open.iter().for_each(|open| fail(&open.call, &open.way, &problem));
    }

    fn ended(&self, upstream: &Upstream, reason: &str) {
        self.door.leave(upstream);
        self.fail_all(reason, |open| std::ptr::eq(&*open.upstream, upstream));
    }
}
