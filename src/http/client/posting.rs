//! One message, one POST: its headers, and what its reply says.

use std::sync::Arc;
use std::time::Duration;

use ureq::http::header::{ACCEPT, CONTENT_TYPE};
use ureq::http::{HeaderMap, HeaderName, HeaderValue, Method as Verb};

use super::answer::Heard;
use super::exchange::Exchange;
use super::line::Line;
use super::outgoing::{Outgoing, What};
use super::settings::OutgoingRequest;
use super::wire::{Call, Reply, Trouble, told_io};
use crate::http::{headers, value};
use crate::method::Method;

/// How long the server may take to accept a notification or a response. What is ordered behind it waits so long.
pub(super) const NOTE_TIME: Duration = Duration::from_secs(10);

impl Line {
    /// Sends a message and takes in what comes of it.
    pub(super) fn exchange(
        self: &Arc<Self>,
        exchange: &Arc<Exchange>,
        sent: &Outgoing,
    ) -> Result<(), Trouble> {
        if self.legacy(|legacy| legacy.endpoint.is_some()) {
            return self.post_to_endpoint(exchange, sent);
        }
        match sent.what {
            What::Request(_) => self.request(exchange, sent),
            _ => self.note(exchange, sent),
        }
    }

    fn request(self: &Arc<Self>, exchange: &Arc<Exchange>, sent: &Outgoing) -> Result<(), Trouble> {
        let headers = self.post_headers(sent);
        let has_session = headers.contains_key(headers::SESSION_ID);
        let read_timeout = self.settings.read_timeout.filter(|_| sent.is(Method::SubscriptionsListen));
        let reply = self.post(exchange, sent, headers, read_timeout, None)?;
        if !reply.head.status.is_success() {
            return self.refusal(exchange, sent, has_session, reply);
        }
        if sent.is(Method::Initialize) {
            // spec: 2025-11-25 basic/transports#session-management (only visible ASCII)
            let session = reply.head.headers.get(headers::SESSION_ID).cloned();
            let is_valid =
                |id: &HeaderValue| id.as_bytes().iter().all(u8::is_ascii_graphic) && !id.is_empty();
            if session.as_ref().is_some_and(|id| !is_valid(id)) {
                log::warn!("ignored the session id of {}: it is not visible ASCII", self.settings.name());
            }
            self.legacy(|legacy| legacy.session = session.filter(is_valid));
        }
        if let Some(encoding) = reply.head.encoding() {
            return Err(Trouble::unknown(format!("{} with a body encoded as {encoding}", reply.head.told())));
        }
        if reply.head.is_event_stream() {
            return self.follow(exchange, sent, reply);
        }
        self.whole_answer(exchange, sent, reply)
    }

    /// A reply that is read to its end before anything is done with it.
    pub(super) fn whole_answer(
        &self,
        exchange: &Exchange,
        sent: &Outgoing,
        reply: Reply,
    ) -> Result<(), Trouble> {
        let (told, media_type) = (reply.head.told(), reply.head.media_type());
        let body = match reply.read(self, exchange, self.max_frame_bytes) {
            Ok(Ok(body)) => body,
            Ok(Err(head)) => {
                self.hear_too_long(sent, &head);
                return Ok(());
            }
            Err(e) => return Err(Trouble::unknown(format!("{told}, and then: {}", told_io(&e)))),
        };
        let is_json = serde_json::from_slice::<&serde_json::value::RawValue>(&body).is_ok();
        if is_json && self.hear_body(sent, &body) == Heard::Answer {
            return Ok(());
        }
        let what = match (is_json, media_type.as_str()) {
            (true, _) => "with JSON that is no answer".to_owned(),
            (false, _) if body.is_empty() => "without an answer".to_owned(),
            (false, "") => "with a body that is not JSON".to_owned(),
            (false, kind) => format!("with a body of {kind} that is not JSON"),
        };
        Err(Trouble::unknown(match super::wire::shown(&body) {
            text if text.is_empty() => format!("{told} {what}"),
            text => format!("{told} {what}: {text}"),
        }))
    }

    /// The server does not do what was asked.
    fn refusal(
        self: &Arc<Self>,
        exchange: &Arc<Exchange>,
        sent: &Outgoing,
        has_session: bool,
        reply: Reply,
    ) -> Result<(), Trouble> {
        let head = reply.head.clone();
        let (told, body) = self.page(exchange, reply);
        if self.hear_refusal(sent, head.status, has_session, &body) {
            return Ok(());
        }
        if sent.is(Method::Initialize) && matches!(head.status.as_u16(), 400 | 404 | 405) {
            // spec: 2026-07-28 basic/transports/streamable-http#httpsse-transport-2024-11-05
            if let Some(outcome) = self.try_old(exchange, sent) {
                return outcome;
            }
        }
        Err(Trouble::replied(&head, has_session, told))
    }

    /// The body of a reply that is no answer, and its text for people.
    pub(super) fn page(&self, exchange: &Exchange, reply: Reply) -> (String, Vec<u8>) {
        let head = reply.head.clone();
        // What breaks off is shown as far as it came.
        let body = match reply.read(self, exchange, self.max_frame_bytes) {
            Ok(Ok(body) | Err(body)) => body,
            Err(e) => {
                log::debug!("the body of an error was not read: {}", told_io(&e));
                Vec::new()
            }
        };
        (head.told_with(&body), body)
    }

    /// A message that has no answer.
    fn note(self: &Arc<Self>, exchange: &Arc<Exchange>, sent: &Outgoing) -> Result<(), Trouble> {
        let headers = self.post_headers(sent);
        let outcome = self.post(exchange, sent, headers, None, Some(NOTE_TIME));
        self.after_cancelling(sent);
        let reply = outcome?;
        if !reply.head.status.is_success() {
            return Err(Trouble::refused(self.page(exchange, reply).0));
        }
        // spec: 2025-11-25 basic/transports#sending-messages-to-the-server (202, and no body)
        if !reply.head.is_event_stream() {
            reply.discard(self, exchange);
        }
        if sent.is(Method::Initialized) {
            self.listen_to_session();
        }
        Ok(())
    }

    /// The server knows that a request was given up, so nothing more is wanted of its stream.
    fn after_cancelling(&self, sent: &Outgoing) {
        if let What::Cancellation(id) = &sent.what {
            self.exchanges.find(id).into_iter().for_each(|exchange| exchange.give_up());
        }
    }

    pub(super) fn post(
        &self,
        exchange: &Exchange,
        sent: &Outgoing,
        headers: HeaderMap,
        read_timeout: Option<Duration>,
        timeout: Option<Duration>,
    ) -> Result<Reply, Trouble> {
        let url = self.legacy(|legacy| legacy.endpoint.clone());
        let shown = OutgoingRequest {
            http_method: "POST",
            method: Some(sent.method.as_str()).filter(|method| !method.is_empty()),
            name: sent.name.as_deref(),
        };
        let call = Call {
            verb: Verb::POST,
            url: url.as_ref().unwrap_or(&self.settings.url),
            headers,
            body: Some(&sent.frame),
            shown,
            read_timeout,
            timeout,
        };
        self.send(exchange, &call)
    }

    fn post_headers(&self, sent: &Outgoing) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let mut add = |name: &str, text: &str| match (
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_str(text),
        ) {
            (Ok(name), Ok(value)) => drop(headers.insert(name, value)),
            _ => log::warn!("left out the header {name}: it cannot be written"),
        };
        match &sent.version {
            Some(version) => {
                // spec: 2026-07-28 basic/transports/streamable-http#request-metadata
                add(headers::PROTOCOL_VERSION, version);
                add(headers::METHOD, &value::encode(&sent.method));
                if let Some(name) = &sent.name {
                    add(headers::NAME, &value::encode(name));
                }
                sent.mirrored.iter().for_each(|(name, value)| add(name, value));
            }
            // spec: 2025-11-25 basic/transports#session-management, #protocol-version-header (on all but the first)
            None if !sent.is(Method::Initialize) => self.add_session(&mut headers),
            None => {}
        }
        headers
    }

    /// What a Legacy server wants to see in every request after `initialize`.
    pub(super) fn add_session(&self, headers: &mut HeaderMap) {
        let (session, version) = self.legacy(|legacy| (legacy.session.clone(), legacy.version.clone()));
        if let Some(session) = session {
            headers.insert(HeaderName::from_static(headers::SESSION_ID), session);
        }
        if let Some(version) = version {
            headers.insert(HeaderName::from_static(headers::PROTOCOL_VERSION), version);
        }
    }
}
