//! The HTTP+SSE of 2024-11-05: one stream for all that the server says, and an address where messages go.
//!
//! spec: 2024-11-05 basic/transports#http-with-sse

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Sender, bounded};
use ureq::http::header::CONTENT_TYPE;
use ureq::http::{HeaderMap, HeaderValue};

use super::exchange::{Exchange, Purpose};
use super::line::{Item, Line};
use super::outgoing::Outgoing;
use super::posting::NOTE_TIME;
use super::sse::{Event, EventReader};
use super::wire::Trouble;

/// How long a server may take to name the address. A stream of Streamable HTTP never does.
const ENDPOINT_TIME: Duration = Duration::from_secs(5);

impl Line {
    /// Looks whether the server speaks HTTP+SSE, and if so sends `initialize` there. `None`: it does not.
    pub(super) fn try_old(
        self: &Arc<Self>,
        exchange: &Arc<Exchange>,
        sent: &Outgoing,
    ) -> Option<Result<(), Trouble>> {
        let stream = self.exchanges.begin(Purpose::Stream, None, false)?;
        let (named, name) = bounded(1);
        let run = {
            let stream = Arc::clone(&stream);
            move |line: &Arc<Self>| {
                line.read_old(&stream, named);
                line.exchanges.end(&stream);
            }
        };
        if let Err(problem) = self.run_stream(run) {
            self.exchanges.end(&stream);
            log::debug!("no stream to see whether {} speaks HTTP+SSE: {problem}", self.settings.name());
            return None;
        }
        let endpoint = name.recv_timeout(ENDPOINT_TIME).ok();
        let joined = endpoint.map(|endpoint| self.settings.url.join(&endpoint));
        let refused = match joined {
            Some(Ok(endpoint)) if endpoint.is_of_origin(&self.settings.url) => {
                log::debug!("{} speaks HTTP+SSE", self.settings.name());
                self.legacy(|legacy| legacy.endpoint = Some(endpoint));
                return Some(self.post_to_endpoint(exchange, sent));
            }
            Some(Ok(endpoint)) => Some(Trouble::refused(format!(
                "the server at {} names {} as the place for messages, which is not trusted",
                self.settings.url.origin(),
                endpoint.origin()
            ))),
            Some(Err(e)) => {
                Some(Trouble::refused(format!("the place for messages that the server names: {e}")))
            }
            None => None,
        };
        stream.give_up();
        refused.map(Err)
    }

    /// Reads the stream, and tells `named` what its first event says, if that is an address.
    fn read_old(self: &Arc<Self>, stream: &Arc<Exchange>, named: Sender<String>) {
        let reply = match self.open_stream(stream, &self.settings.url, None) {
            Ok(reply) if reply.head.status.is_success() && reply.head.is_event_stream() => reply,
            Ok(reply) => return log::debug!("not HTTP+SSE: {}", self.page(stream, reply).0),
            Err(trouble) => return log::debug!("not HTTP+SSE: {}", trouble.problem),
        };
        let nothing = Outgoing::nothing();
        let mut events = EventReader::new(self.max_frame_bytes);
        let mut named = Some(named);
        let mut is_spoken = false;
        let told = self.read_events(stream, reply, &mut events, |event| match (named.take(), event) {
            (Some(named), Event::Whole { kind, data }) if kind == "endpoint" => {
                is_spoken = true;
                // Nobody waits any more if it took too long.
                let _ = named.send(String::from_utf8_lossy(&data).into_owned());
            }
            (Some(named), _) => drop(named),
            (None, _) if !is_spoken => {}
            (None, Event::Whole { kind, data }) if kind == "message" && !data.is_empty() => {
                self.hear(&nothing, &data);
            }
            (None, Event::Whole { .. }) => {}
            (None, Event::TooLong(head)) => {
                self.hear_too_long(&nothing, &head);
            }
        });
        if is_spoken && !stream.is_given_up() {
            log::debug!("{told}");
            self.deliver(Item::End);
        }
    }

    /// Sends a message whose answer, if any, comes on the stream.
    pub(super) fn post_to_endpoint(&self, exchange: &Exchange, sent: &Outgoing) -> Result<(), Trouble> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // The stream says when the server has done it; until then it need not say anything here.
        let time = Some(NOTE_TIME).filter(|_| sent.id().is_none());
        let reply = self.post(exchange, sent, headers, None, time)?;
        if reply.head.status.is_success() {
            reply.discard(self, exchange);
            return Ok(());
        }
        let head = reply.head.clone();
        let (told, body) = self.page(exchange, reply);
        if self.hear_refusal(sent, head.status, false, &body) {
            return Ok(());
        }
        Err(Trouble::replied(&head, false, told))
    }
}
