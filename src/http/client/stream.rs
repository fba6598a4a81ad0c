//! Event streams: reading one, opening one again that broke off, and the one of a Legacy session.

use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, bounded, select};
use ureq::http::header::ACCEPT;
use ureq::http::{HeaderMap, HeaderName, HeaderValue, Method as Verb, StatusCode};

use super::answer::Heard;
use super::exchange::{Exchange, Purpose};
use super::line::Line;
use super::outgoing::{Outgoing, What};
use super::settings::OutgoingRequest;
use super::sse::{Event, EventReader};
use super::wire::{Call, Reply, Trouble, told_io};
use crate::http::headers;
use crate::url::Url;

/// As much is read at once.
const PIECE_BYTES: usize = 8 * 1024;

/// How a stream ended.
pub(super) enum Ended {
    /// After the answer.
    Answered,
    /// Before it; how.
    Short(String),
}

/// A stream that lasted so long was none of them, even if the server had nothing to say.
const LASTING: Duration = Duration::from_secs(5);

/// How long what comes after the handshake waits for the stream of the session. There are servers that answer once they have
/// something to say.
const STREAM_TIME: Duration = Duration::from_millis(500);

/// How long to wait if the server does not say.
const RETRY: Duration = Duration::from_secs(1);

/// Nor less than this, whatever it says.
const MIN_PAUSE: Duration = Duration::from_millis(100);

/// The wait doubles with every try that brings nothing, up to this; the server's own may be longer.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// When to open a stream again, and when no more.
struct Pace {
    tries: u32,
    failures: u32,
    opened: Instant,
}

impl Pace {
    fn new(tries: u32) -> Self {
        Self { tries, failures: 0, opened: Instant::now() }
    }

    /// How long to wait for the next try; `None`: there have been enough.
    fn next(&mut self, has_brought: bool, retry: Option<Duration>) -> Option<Duration> {
        let is_fine = has_brought || self.opened.elapsed() >= LASTING;
        self.failures = if is_fine { 0 } else { self.failures + 1 };
        if self.failures >= self.tries {
            return None;
        }
        // spec: 2025-11-25 basic/transports#sending-messages-to-the-server (MUST respect the server's time)
        let least = retry.unwrap_or(RETRY).max(MIN_PAUSE);
        let doubled = RETRY.saturating_mul(1 << self.failures.min(10)).min(MAX_PAUSE);
        Some(if self.failures == 0 { least } else { least.max(doubled) + jitter(doubled) })
    }
}

/// Up to a quarter of `pause`, so that clients that lost their streams at once do not return at once.
fn jitter(pause: Duration) -> Duration {
    use std::hash::{BuildHasher, RandomState};
    let random = u32::try_from(RandomState::new().hash_one(pause) % 1024).unwrap_or_default();
    pause / 4 * random / 1024
}

impl Line {
    /// Reads the stream that answers `sent`, and goes on with it if it breaks off, where the server can do that.
    pub(super) fn follow(
        self: &Arc<Self>,
        exchange: &Arc<Exchange>,
        sent: &Outgoing,
        reply: Reply,
    ) -> Result<(), Trouble> {
        let mut events = EventReader::new(self.max_frame_bytes);
        let mut pace = Pace::new(self.settings.stream_tries);
        let mut has_brought = false;
        let mut ended = self.read_answer(exchange, sent, reply, &mut events, &mut has_brought);
        loop {
            let problem = match ended {
                Ended::Answered => return Ok(()),
                Ended::Short(problem) => problem,
            };
            // spec: 2026-07-28 basic/transports/streamable-http#receiving-messages (streams are not resumable)
            let is_resumable = !exchange.is_modern && events.last_id().is_some() && !exchange.is_given_up();
            let pause = if is_resumable { pace.next(has_brought, events.retry()) } else { None };
            let Some(pause) = pause else { return Err(Trouble::unknown(problem)) };
            log::debug!(
                "a stream of {} broke off and is continued in {pause:?}: {problem}",
                self.settings.name()
            );
            if exchange.given_up.wait_timeout(pause) {
                return Ok(());
            }
            pace.opened = Instant::now();
            has_brought = false;
            ended = match self.open_stream(exchange, &self.settings.url, events.last_id()) {
                Ok(reply) if reply.head.status.is_success() && reply.head.is_event_stream() => {
                    events = events.reopened();
                    self.read_answer(exchange, sent, reply, &mut events, &mut has_brought)
                }
                Ok(reply) if reply.head.status.is_client_error() => {
                    let told = self.page(exchange, reply).0;
                    return Err(Trouble::unknown(format!("{problem}, and it cannot be continued: {told}")));
                }
                Ok(reply) => Ended::Short(self.page(exchange, reply).0),
                Err(trouble) => Ended::Short(trouble.problem),
            };
        }
    }

    fn read_answer(
        &self,
        exchange: &Exchange,
        sent: &Outgoing,
        reply: Reply,
        events: &mut EventReader,
        has_brought: &mut bool,
    ) -> Ended {
        let mut is_answered = false;
        let id_before = events.last_id().map(<[u8]>::to_vec);
        let end = self.read_events(exchange, reply, events, |event| {
            *has_brought = true;
            let heard = match event {
                Event::Whole { kind, data } if kind == "message" && !data.is_empty() => {
                    self.hear(sent, &data)
                }
                Event::Whole { .. } => Heard::Other,
                Event::TooLong(head) => self.hear_too_long(sent, &head),
            };
            if heard == Heard::Answer && !std::mem::replace(&mut is_answered, true) {
                // The server is to end the stream now. If it does so soon, its connection can be used again.
                self.exchanges.linger(exchange);
            }
        });
        *has_brought |= events.last_id() != id_before.as_deref();
        if is_answered { Ended::Answered } else { Ended::Short(end) }
    }

    /// Gives what comes to `on_event` until the stream ends; how it did.
    pub(super) fn read_events(
        &self,
        exchange: &Exchange,
        reply: Reply,
        events: &mut EventReader,
        mut on_event: impl FnMut(Event),
    ) -> String {
        let keep_alive = reply.head.keep_alive();
        let mut body = reply.into_reader();
        let mut piece = [0; PIECE_BYTES];
        loop {
            match body.read(&mut piece) {
                Ok(0) => {
                    drop(body);
                    exchange.release(&self.agents, keep_alive);
                    return "the server ended the stream before the answer".to_owned();
                }
                Ok(read) => events.feed(&piece[..read], &mut on_event),
                Err(e) => return format!("the stream broke off before the answer: {}", told_io(&e)),
            }
        }
    }

    /// Asks for a stream: that of the session, or the rest of one that broke off after the event `last_id`.
    pub(super) fn open_stream(
        &self,
        exchange: &Exchange,
        url: &Url,
        last_id: Option<&[u8]>,
    ) -> Result<Reply, Trouble> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        self.add_session(&mut headers);
        if let Some(id) = last_id.and_then(|id| HeaderValue::from_bytes(id).ok()) {
            headers.insert(HeaderName::from_static(headers::LAST_EVENT_ID), id);
        }
        let call = Call {
            verb: Verb::GET,
            url,
            headers,
            body: None,
            shown: OutgoingRequest { http_method: "GET", method: None, name: None },
            read_timeout: self.settings.read_timeout,
            timeout: None,
        };
        self.send(exchange, &call)
    }

    /// Opens the stream on which a Legacy server says what belongs to no request, if it has one, and waits a moment until the
    /// server has answered: a question that it asks before, on behalf of the first call, is lost with servers on the official
    /// TypeScript SDK.
    ///
    /// spec: 2025-11-25 basic/transports#listening-for-messages-from-the-server
    pub(super) fn listen_to_session(self: &Arc<Self>) {
        let Some(exchange) = self.exchanges.begin(Purpose::Stream, None, false) else { return };
        // Disconnected once the server has answered.
        let (unanswered, answered) = bounded::<()>(0);
        let stream = {
            let exchange = Arc::clone(&exchange);
            move |line: &Arc<Self>| {
                line.keep_listening(&exchange, unanswered);
                line.exchanges.end(&exchange);
            }
        };
        if let Err(problem) = self.run_stream(stream) {
            log::warn!("no stream of what {} says by itself: {problem}", self.settings.name());
            return self.exchanges.end(&exchange);
        }
        let stop = self.stop.receiver();
        select! {
            recv(answered) -> _ => {}
            recv(stop) -> _ => {}
            default(STREAM_TIME) => log::debug!("{} has not opened its stream yet", self.settings.name()),
        }
    }

    fn keep_listening(self: &Arc<Self>, exchange: &Arc<Exchange>, unanswered: Sender<()>) {
        let mut unanswered = Some(unanswered);
        let nothing = Outgoing::nothing();
        let mut events = EventReader::new(self.max_frame_bytes);
        let mut pace = Pace::new(self.settings.stream_tries);
        let mut was_open = false;
        loop {
            pace.opened = Instant::now();
            let mut has_brought = false;
            let opened = self.open_stream(exchange, &self.settings.url, events.last_id());
            drop(unanswered.take());
            let told = match opened {
                Ok(reply) if reply.head.status == StatusCode::OK && reply.head.is_event_stream() => {
                    events = events.reopened();
                    was_open = true;
                    match self.read_answer(exchange, &nothing, reply, &mut events, &mut has_brought) {
                        Ended::Answered => return,
                        Ended::Short(told) => told,
                    }
                }
                Ok(reply) if reply.head.status.is_server_error() => self.page(exchange, reply).0,
                Ok(reply) => {
                    // 405 is how a server says that it offers none; others say it otherwise.
                    let told = self.page(exchange, reply).0;
                    let url = self.settings.name();
                    return match was_open {
                        true => log::warn!(
                            "the stream of what {url} says by itself cannot be opened again: {told}"
                        ),
                        false => log::debug!("{url} says nothing by itself: {told}"),
                    };
                }
                Err(trouble) => trouble.problem,
            };
            if exchange.is_given_up() {
                return;
            }
            let Some(pause) = pace.next(has_brought, events.retry()) else {
                return log::warn!(
                    "gave up the stream of what {} says by itself: {told}",
                    self.settings.name()
                );
            };
            log::debug!("the stream of {} is opened again in {pause:?}: {told}", self.settings.name());
            if exchange.given_up.wait_timeout(pause) {
                return;
            }
        }
    }
}

impl Outgoing {
    /// In place of a request, where nothing was sent.
    pub(super) fn nothing() -> Self {
        Self {
            frame: Vec::new(),
            what: What::Notification,
            method: String::new(),
            name: None,
            version: None,
            mirrored: Vec::new(),
            has_cursor: false,
        }
    }
}
