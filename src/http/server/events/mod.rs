//! [`EventStore`]: what was sent on the event streams of Legacy sessions, for clients whose connection broke.
//!
//! spec: 2025-11-25 basic/transports#resumability-and-redelivery

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sync::{Mutex, lock};

/// Keeps the events of the streams of Legacy sessions for a while, so that a client whose connection broke is sent what it missed.
///
/// A stream begins with a request or with the `GET` of a client, belongs to one session, and ends when its last message is
/// stored. Each of its events has an id, which the client sends back to go on after it. The default,
/// [`MemoryEvents`], is in this process; a store of your own can keep more, or elsewhere. The session itself is in its process, and
/// ends with it: events do not bring it to another one.
///
/// Events of one stream are stored one after the other, and what comes after one is not asked for at the same time. Methods are
/// called on the threads that serve requests, and may wait: nothing else is said on that stream meanwhile, and a thread that finds
/// its connection closed waits as well, so a store should answer within milliseconds.
///
/// ```
/// use tinymcp::http::{EventError, EventStore, MemoryEvents, Replay, StreamKey};
///
/// /// Keeps what the other store keeps, except for what is too large to be sent twice.
/// struct Small(MemoryEvents);
///
/// impl EventStore for Small {
///     fn begin(&self, session: &str) -> Result<StreamKey, EventError> {
///         self.0.begin(session)
///     }
///     fn store(&self, stream: &StreamKey, message: &str) -> Result<String, EventError> {
///         if message.len() > 100_000 {
///             return Err(EventError::Failed("too large to be kept".into()));
///         }
///         self.0.store(stream, message)
///     }
///     fn end(&self, stream: &StreamKey) -> Result<(), EventError> {
///         self.0.end(stream)
///     }
///     fn after(&self, session: &str, last: &str) -> Result<Replay, EventError> {
///         self.0.after(session, last)
///     }
///     fn forget(&self, session: &str) -> Result<(), EventError> {
///         self.0.forget(session)
///     }
/// }
///
/// # let small = Small(MemoryEvents::new());
/// # let stream = small.begin("a session")?;
/// # assert!(small.store(&stream, "{}").is_ok());
/// # let server = tinymcp::Server::builder("s", "1").build().expect("a server");
/// let builder = tinymcp::http::HttpServer::builder(&server).events(small);
/// # let _ = builder;
/// # Ok::<(), EventError>(())
/// ```
pub trait EventStore: Send + Sync {
    /// Begins a stream of `session`.
    ///
    /// # Errors
    /// When the store fails. The stream is then sent without ids.
    fn begin(&self, session: &str) -> Result<StreamKey, EventError>;

    /// Gives the next event of `stream` its id, and keeps its `message`: JSON in one line, or nothing, for an event that only
    /// tells its id. An id is visible ASCII, is no other event's of the same session, and leads back to its stream.
    ///
    /// # Errors
    /// When the store fails. The event is then sent without an id.
    fn store(&self, stream: &StreamKey, message: &str) -> Result<String, EventError>;

    /// Notes that nothing more is stored for `stream`.
    ///
    /// # Errors
    /// When the store fails.
    fn end(&self, stream: &StreamKey) -> Result<(), EventError>;

    /// What came after the event `last`, on the stream of that event and on no other.
    ///
    /// # Errors
    /// [`Unknown`](EventError::Unknown) when `session` has no such event, or the store kept nothing of its stream; or when the
    /// store fails.
    fn after(&self, session: &str, last: &str) -> Result<Replay, EventError>;

    /// Forgets all streams of `session`, which has ended.
    ///
    /// # Errors
    /// When the store fails.
    fn forget(&self, session: &str) -> Result<(), EventError>;
}

/// Which stream: a session, and a number that the store chose.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct StreamKey {
    session: Arc<str>,
    number: u64,
}

impl StreamKey {
    /// The stream of `session` with this number.
    pub fn new(session: impl Into<Arc<str>>, number: u64) -> Self {
        Self { session: session.into(), number }
    }

    /// The session it belongs to.
    #[must_use]
    pub fn session(&self) -> &str {
        &self.session
    }

    /// What the store calls it.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }
}

impl fmt::Debug for StreamKey {
    /// Without the session: who knows its id can use it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {}", self.number)
    }
}

/// What a client missed of a stream.
#[derive(Clone)]
#[non_exhaustive]
pub struct Replay {
    /// The stream.
    pub stream: StreamKey,
    /// Ids and messages, in their order.
    pub events: Vec<(String, Arc<str>)>,
    /// Whether nothing more will come.
    pub has_ended: bool,
    /// Whether there were more, between the event that the client knows and the first of these, which are not kept any more.
    pub is_cut: bool,
}

impl Replay {
    /// So much of `stream`, complete.
    #[must_use]
    pub fn new(stream: StreamKey, events: Vec<(String, Arc<str>)>, has_ended: bool) -> Self {
        Self { stream, events, has_ended, is_cut: false }
    }

    /// The same, as the rest of something longer if `is_cut`.
    #[must_use]
    pub fn cut(mut self, is_cut: bool) -> Self {
        self.is_cut = is_cut;
        self
    }
}

impl fmt::Debug for Replay {
    /// Without the messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stream, events, has_ended, is_cut } = self;
        write!(f, "{} events of {stream:?}, has_ended: {has_ended}, is_cut: {is_cut}", events.len())
    }
}

/// Why there is no event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// The session has no such event, or its stream is not kept any more.
    #[error("unknown event, or not kept any more")]
    Unknown,
    /// The store itself failed.
    #[error("{0}")]
    Failed(String),
}

/// Events that are kept of a stream.
const MAX_EVENTS: usize = 256;

/// Bytes of a stream's events. A single one may be larger.
const MAX_STREAM_BYTES: usize = 1024 * 1024;

/// Streams that are kept of a session.
const MAX_STREAMS: usize = 16;

/// Bytes of all events.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// How long an event is kept.
const TIME: Duration = Duration::from_secs(300);

/// About what an event takes beside its message.
const EVENT_BYTES: usize = 128;

/// Events in the memory of this process.
///
/// Bound: 256 events and 1 MiB of a stream (one event may be larger), 16 streams of a session, 64 MiB in all, and each for 5 min. The
/// oldest are given up; of the streams of a session first those that have ended.
///
/// ```
/// use tinymcp::http::{EventError, EventStore, MemoryEvents};
///
/// let events = MemoryEvents::new();
/// let stream = events.begin("a session")?;
/// let first = events.store(&stream, "")?;
/// events.store(&stream, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)?;
/// events.end(&stream)?;
///
/// let missed = events.after("a session", &first)?;
/// assert_eq!((missed.events.len(), missed.has_ended, missed.is_cut), (1, true, false));
/// assert_eq!(events.after("another session", &first).err(), Some(EventError::Unknown));
/// # Ok::<(), EventError>(())
/// ```
#[derive(Default)]
pub struct MemoryEvents {
    /// Held for a look-up, and while what is over a bound is given up.
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// By number, so that the first is the oldest. Every one is in its stream.
    events: BTreeMap<u64, Event>,
    /// How many numbers of events were given out.
    stored: u64,
    streams: BTreeMap<u64, Stream>,
    /// How many numbers of streams were given out.
    begun: u64,
    /// The streams of each session that has any, oldest first.
    sessions: BTreeMap<Arc<str>, Vec<u64>>,
    bytes: usize,
}

struct Event {
    stream: u64,
    message: Arc<str>,
    at: Instant,
}

impl Event {
    fn bytes(&self) -> usize {
        self.message.len() + EVENT_BYTES
    }
}

struct Stream {
    session: Arc<str>,
    /// The numbers of what is kept, oldest first.
    events: VecDeque<u64>,
    bytes: usize,
    /// The number that was given out last.
    last: u64,
    /// The last number that was given up; 0 if none was.
    given_up: u64,
    has_ended: bool,
}

impl MemoryEvents {
    /// Without events.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn store_at(&self, stream: &StreamKey, message: &str, now: Instant) -> String {
        let message = Arc::from(message);
        let mut kept = lock(&self.kept);
        kept.expire(now);
        let number = kept.store(Event { stream: stream.number, message, at: now });
        id(stream.number, number)
    }

    fn after_at(&self, session: &str, last: &str, now: Instant) -> Option<Replay> {
        let (number, after) = last.split_once('-')?;
        let (number, after) = (number.parse().ok()?, after.parse().ok()?);
        let mut kept = lock(&self.kept);
        kept.expire(now);
        let stream = kept.streams.get(&number)?;
        let is_ours = *stream.session == *session && after <= stream.last && id(number, after) == last;
        is_ours.then(|| {
            let missed = stream.events.iter().filter(|event| **event > after);
            let events = missed.map(|event| (id(number, *event), Arc::clone(&kept.events[event].message)));
            let key = StreamKey::new(Arc::clone(&stream.session), number);
            Replay::new(key, events.collect(), stream.has_ended).cut(stream.given_up > after)
        })
    }
}

/// What a client knows an event by.
fn id(stream: u64, event: u64) -> String {
    format!("{stream}-{event}")
}

impl EventStore for MemoryEvents {
    fn begin(&self, session: &str) -> Result<StreamKey, EventError> {
        Ok(lock(&self.kept).begin(session))
    }

    fn store(&self, stream: &StreamKey, message: &str) -> Result<String, EventError> {
        Ok(self.store_at(stream, message, Instant::now()))
    }

    fn end(&self, stream: &StreamKey) -> Result<(), EventError> {
        let mut kept = lock(&self.kept);
        if let Some(stream) = kept.streams.get_mut(&stream.number) {
            stream.has_ended = true;
        }
        kept.tidy(stream.number);
        Ok(())
    }

    fn after(&self, session: &str, last: &str) -> Result<Replay, EventError> {
        self.after_at(session, last, Instant::now()).ok_or(EventError::Unknown)
    }

    fn forget(&self, session: &str) -> Result<(), EventError> {
        let mut kept = lock(&self.kept);
        for stream in kept.sessions.get(session).cloned().unwrap_or_default() {
            kept.remove(stream);
        }
        Ok(())
    }
}

impl Kept {
    fn begin(&mut self, session: &str) -> StreamKey {
        self.begun += 1;
        let number = self.begun;
        let session = match self.sessions.get_key_value(session) {
            Some((session, _)) => Arc::clone(session),
            None => Arc::from(session),
        };
        let streams = self.sessions.entry(Arc::clone(&session)).or_default();
        streams.push(number);
        if streams.len() > MAX_STREAMS {
            let ended = streams.iter().find(|number| self.streams.get(number).is_some_and(|s| s.has_ended));
            let given_up = ended.copied().unwrap_or(streams[0]);
            self.remove(given_up);
        }
        self.streams.insert(
            number,
            Stream {
                session: Arc::clone(&session),
                events: VecDeque::new(),
                bytes: 0,
                last: 0,
                given_up: 0,
                has_ended: false,
            },
        );
        StreamKey::new(session, number)
    }

    /// The number of the event. It is kept if it has a message, and its stream was not given up before.
    fn store(&mut self, event: Event) -> u64 {
        self.stored += 1;
        let (number, stream) = (self.stored, event.stream);
        let Some(found) = self.streams.get_mut(&stream) else { return number };
        found.last = number;
        if event.message.is_empty() {
            return number;
        }
        found.events.push_back(number);
        found.bytes += event.bytes();
        self.bytes += event.bytes();
        self.events.insert(number, event);
        while let Some(oldest) = self.streams.get(&stream).and_then(Stream::too_many) {
            self.give_up(oldest);
        }
        while self.bytes > MAX_BYTES {
            let Some((&oldest, _)) = self.events.first_key_value() else { break };
            self.give_up(oldest);
        }
        number
    }

    fn expire(&mut self, now: Instant) {
        while let Some((&oldest, event)) = self.events.first_key_value() {
            if now.saturating_duration_since(event.at) < TIME {
                return;
            }
            self.give_up(oldest);
        }
    }

    /// Gives an event up, the oldest of its stream.
    fn give_up(&mut self, number: u64) {
        let Some(event) = self.events.remove(&number) else { return };
        self.bytes -= event.bytes();
        if let Some(stream) = self.streams.get_mut(&event.stream) {
            stream.events.pop_front();
            stream.bytes -= event.bytes();
            stream.given_up = number;
        }
        self.tidy(event.stream);
    }

    /// Forgets a stream that has nothing to tell.
    fn tidy(&mut self, number: u64) {
        if self.streams.get(&number).is_some_and(|stream| stream.has_ended && stream.events.is_empty()) {
            self.remove(number);
        }
    }

    fn remove(&mut self, number: u64) {
        let Some(stream) = self.streams.remove(&number) else { return };
        for event in stream.events {
            self.events.remove(&event);
        }
        self.bytes -= stream.bytes;
        if let Some(streams) = self.sessions.get_mut(&stream.session) {
            streams.retain(|other| *other != number);
            if streams.is_empty() {
                self.sessions.remove(&stream.session);
            }
        }
    }
}

impl Stream {
    /// The oldest event, if there are more than are kept.
    fn too_many(&self) -> Option<u64> {
        let is_over =
            self.events.len() > MAX_EVENTS || (self.bytes > MAX_STREAM_BYTES && self.events.len() > 1);
        self.events.front().copied().filter(|_| is_over)
    }
}

impl fmt::Debug for MemoryEvents {
    /// Without the messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = lock(&self.kept);
        let Kept { events, streams, bytes, .. } = &*kept;
        write!(f, "{} events of {} streams, {bytes} bytes", events.len(), streams.len())
    }
}

#[cfg(test)]
mod tests;
