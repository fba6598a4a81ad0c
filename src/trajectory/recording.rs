//! [`Recording`]: an open trajectory, and how its events are put together.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::event::{BeginEvent, EndEvent, EndReason, EventKind, MessageEvent, TurnEvent};
use super::failure::RecordedError;
use super::format::{Fields, microseconds};
use super::notices::{Notices, notice};
use super::recorder::Core;
use super::request_event::nanoseconds;
use crate::client::{CallNotes, Change};
use crate::json::Object;
use crate::sync::{Mutex, lock};

/// An open trajectory: a [`Caller`](crate::client::Caller) that records what is done through it.
///
/// Clones are the same trajectory. It ends by [`end`](Self::end), or when the last clone is dropped, which the recording tells
/// apart. Calls that are under way then still belong to it, and its end is written after them; what begins later goes through
/// unrecorded.
///
/// ```
/// # use std::sync::Arc;
/// # use tinymcp::{Server, ToolRegistry, testing};
/// # let client = testing::pair(&Server::builder("any", "1.0.0").build()?)?;
/// use tinymcp::trajectory::{Line, Lines, MessageEvent, Recorder, Sink, Speaker, TurnEvent};
///
/// let sink = Sink::memory();
/// let recording = Recorder::new(Arc::new(client.handle()), &sink).begin("Tidy up");
/// recording.next_turn("The folder may be empty.");
/// recording.message(MessageEvent::new(Speaker::User, "Not the photos!"));
/// recording.set_reward(0.5);
/// recording.end();
///
/// let contents = sink.contents();
/// let lines = Lines::new(&contents[..]).map(|line| line.map(|read| read.line));
/// let events = lines.filter_map(|line| if let Ok(Line::Event(event)) = line { Some(event) } else { None });
/// let kinds: Vec<_> = events.map(|event| (event.kind.name().to_owned(), event.turn)).collect();
/// assert_eq!(kinds, [("begin".into(), 0), ("turn".into(), 1), ("message".into(), 1), ("end".into(), 1)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Recording(pub(super) Arc<Open>);

pub(super) struct Open {
    pub(super) core: Core,
    id: String,
    /// It may be one too many.
    is_recorded: bool,
    began: Instant,
    seq: AtomicU64,
    turn: AtomicU64,
    calls: AtomicU64,
    lost: AtomicU64,
    /// Twice the number of those who have an event to write, and one more once it is over: the last of them writes the end.
    users: AtomicU64,
    is_finished: AtomicBool,
    /// Locked for a look or a change.
    outcome: Mutex<EndEvent>,
    notices: Notices,
}

thread_local! {
    /// Lines are put together here. Given back unless it has grown much.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// The trajectories whose calls this thread is in, the innermost last.
    static CURRENT: RefCell<Vec<Arc<Open>>> = const { RefCell::new(Vec::new()) };
}

/// A buffer that is kept for the next line.
const KEPT_BYTES: usize = 64 << 10;

/// The beginning of an event.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    time_us: u64,
    instant: Instant,
}

impl Moment {
    pub(super) fn now() -> Self {
        Self { time_us: microseconds(SystemTime::now()), instant: Instant::now() }
    }

    fn since(started: Instant) -> Self {
        let ago = started.elapsed();
        let time = SystemTime::now().checked_sub(ago).unwrap_or(SystemTime::UNIX_EPOCH);
        Self { time_us: microseconds(time), instant: started }
    }

    pub(super) fn elapsed_ns(&self) -> u64 {
        nanoseconds(self.instant.elapsed())
    }
}

/// Keeps the end of a trajectory from being written before the event that somebody has.
pub(super) struct Writing<'a>(&'a Open);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if self.0.users.fetch_sub(2, Ordering::AcqRel) == 3 {
            self.0.finish();
        }
    }
}

/// Until it is dropped, what this thread does belongs to a trajectory.
pub(super) struct Here;

impl Here {
    fn of(open: &Arc<Open>) -> Self {
        CURRENT.with_borrow_mut(|current| current.push(Arc::clone(open)));
        Self
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        // What is dropped may be the last handle, whose end is written: not within the borrow.
        drop(CURRENT.with_borrow_mut(Vec::pop));
    }
}

/// The trajectory whose call this thread is in.
pub(super) fn current() -> Option<Arc<Open>> {
    CURRENT.with_borrow(|current| current.last().cloned())
}

impl Open {
    pub(super) fn begin(core: &Core, id: String, mut begin: BeginEvent) -> Recording {
        let is_recorded = core.sink.begin();
        if begin.definitions.is_none() {
            begin.definitions = core.shared.offered().map(|key| key.as_ref().to_owned());
        }
        let open = Arc::new(Self {
            core: core.clone(),
            id,
            is_recorded,
            began: Instant::now(),
            seq: AtomicU64::new(0),
            turn: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            users: AtomicU64::new(0),
            is_finished: AtomicBool::new(false),
            outcome: Mutex::default(),
            notices: if is_recorded { Notices::of(core) } else { Notices::default() },
        });
        open.record(Moment::now(), &begin.into());
        Recording(open)
    }

    /// Somebody has an event to write; `None` if it is over, or not recorded.
    pub(super) fn write(&self) -> Option<Writing<'_>> {
        if !self.is_recorded {
            return None;
        }
        let before = self.users.fetch_add(2, Ordering::AcqRel);
        let writing = Writing(self);
        (before & 1 == 0).then_some(writing)
    }

    /// Puts an event together and writes it.
    pub(super) fn event(
        &self,
        _writing: &Writing<'_>,
        at: Moment,
        kind: &str,
        fill: impl FnOnce(&mut Fields<'_>),
    ) -> u64 {
        self.put(at, kind, fill)
    }

    fn put(&self, at: Moment, kind: &str, fill: impl FnOnce(&mut Fields<'_>)) -> u64 {
        let seq = self.seq.fetch_add(1, Ordering::Relaxed);
        let turn = self.turn.load(Ordering::Relaxed);
        let mut line = BUFFER.take();
        line.clear();
        let mut fields = Fields::of(&mut line, kind).redacted(&self.core.settings.redaction);
        let at_ns = nanoseconds(at.instant.saturating_duration_since(self.began));
        fields.place(&self.id, seq, turn, at.time_us, at_ns);
        fill(&mut fields);
        fields.end();
        line.push(b'\n');
        if self.core.sink.write(&line).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        if line.capacity() <= KEPT_BYTES {
            BUFFER.set(line);
        }
        seq
    }

    pub(super) fn record(&self, at: Moment, kind: &EventKind) -> Option<u64> {
        let writing = self.write()?;
        Some(self.event(&writing, at, kind.name(), |fields| kind.write(fields)))
    }

    pub(super) fn count_call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// From now on nothing begins here.
    fn close(&self, reason: EndReason) {
        if !self.is_recorded {
            return;
        }
        self.hear();
        lock(&self.outcome).reason.get_or_insert(reason);
        if self.users.fetch_or(1, Ordering::AcqRel) == 0 {
            self.finish();
        }
    }

    fn finish(&self) {
        if self.is_finished.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut end = std::mem::take(&mut *lock(&self.outcome));
        end.calls = self.calls.load(Ordering::Relaxed);
        end.lost = self.lost.load(Ordering::Relaxed);
        let end = EventKind::from(end);
        self.put(Moment::now(), end.name(), |fields| end.write(fields));
        self.core.sink.end();
        self.notices.end();
    }

    /// Records what was told of meanwhile.
    pub(super) fn hear(&self) {
        self.notices.hear(|event| {
            self.record(Moment::now(), &notice(&event).into());
        });
    }

    /// Whether this is recorded without being listened to by the program.
    pub(super) fn hears(&self, change: &Change) -> bool {
        self.notices.include(change)
    }

    /// What is recorded of a text that is not always somebody's: the names of servers are ours, their command lines are not.
    pub(super) fn redacted(&self, member: &str, text: String) -> String {
        let redaction = &self.core.settings.redaction;
        if redaction.is_empty() {
            return text;
        }
        let redacted = redaction.apply(member, &text.into());
        redacted.to().unwrap_or_else(|_| redacted.as_str().to_owned())
    }

    /// What is recorded of which way a request went.
    pub(super) fn write_notes(&self, fields: &mut Fields<'_>, notes: &CallNotes) {
        // What is shown is ours alone, so that nothing waits for the lock.
        notes.way(|server, revision| {
            if let Some(server) = self.core.settings.server.as_deref().or(server) {
                fields.value("server", server);
            }
            fields.optional("revision", revision);
        });
    }

    /// Does something that belongs here.
    pub(super) fn inside<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        let Some(inputs) = &self.core.settings.inputs else { return work() };
        // Only questions want to know where they belong.
        let _here = Here::of(self);
        let entered = inputs.enter(self);
        if entered.is_among_others {
            // Of a question that does not say whose it is, nobody can tell now.
            inputs.fall_back_to(self.core.own().as_ref());
        }
        work()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.close(EndReason::Dropped);
    }
}

/// What is recorded after a request: how long it took and what was decided about it.
pub(super) fn write_after(
    fields: &mut Fields<'_>,
    error: Option<&crate::Error>,
    took: u64,
    notes: &CallNotes,
) {
    fields.optional("error", error.map(RecordedError::from).as_ref());
    fields.value("duration_ns", &took);
    let decision = notes.decision().or_else(|| match error {
        Some(crate::Error::Denied(reason)) => Some((false, reason.clone())),
        _ => None,
    });
    if let Some((allowed, reason)) = decision {
        fields.value("decision", &super::request_event::RecordedDecision::new(allowed, reason));
    }
}

impl Recording {
    /// The id of the trajectory.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Whether it is recorded: not if too many were open when it began.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.0.is_recorded
    }

    /// Begins the next turn of the agent, and returns its number; the first is 1. The calls of a turn are of one answer of the
    /// model, and training examples can make one message of them.
    pub fn next_turn(&self, turn: impl Into<TurnEvent>) -> u64 {
        let number = self.0.turn.fetch_add(1, Ordering::Relaxed) + 1;
        self.record(turn.into());
        number
    }

    /// Somebody said something outside of tools.
    pub fn message(&self, message: MessageEvent) {
        self.record(message);
    }

    /// Records an event as of now, for environments and the like; its place in the trajectory, if that is recorded and not over.
    /// Beginnings and ends are not recorded this way.
    pub fn record(&self, kind: impl Into<EventKind>) -> Option<u64> {
        self.record_at(Moment::now(), &kind.into())
    }

    /// The same for an event that began at `started`.
    pub fn record_since(&self, started: Instant, kind: impl Into<EventKind>) -> Option<u64> {
        self.record_at(Moment::since(started), &kind.into())
    }

    fn record_at(&self, at: Moment, kind: &EventKind) -> Option<u64> {
        if matches!(kind, EventKind::Begin(_) | EventKind::End(_)) {
            log::warn!("not recorded: a trajectory has one beginning and one end");
            return None;
        }
        self.0.record(at, kind)
    }

    /// How long it has been open.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.began.elapsed()
    }

    /// Sets what the agent answered in the end.
    pub fn set_answer(&self, answer: impl Into<String>) {
        lock(&self.0.outcome).answer = Some(answer.into());
    }

    /// Sets whether it did what it was to do.
    pub fn set_success(&self, success: bool) {
        lock(&self.0.outcome).success = Some(success);
    }

    /// Sets the reward for all of it. One that is no number is not recorded.
    pub fn set_reward(&self, reward: f64) {
        if reward.is_finite() {
            lock(&self.0.outcome).reward = Some(reward);
        } else {
            log::warn!("not recorded: a reward of {reward}");
        }
    }

    /// Sets a member of what else is known of it by its end.
    pub fn set_metadata<T: serde::Serialize + ?Sized>(&self, name: impl Into<String>, value: &T) {
        lock(&self.0.outcome).metadata.get_or_insert_with(Object::new).insert(name, value);
    }

    /// Ends it. Calls that are under way still belong to it. Once is enough; later changes count for nothing.
    pub fn end(&self) {
        self.0.close(EndReason::Ended);
    }
}

impl From<&str> for TurnEvent {
    /// A turn with this reasoning; without any if that is empty.
    fn from(reasoning: &str) -> Self {
        Self { reasoning: Some(reasoning.to_owned()).filter(|text| !text.is_empty()), ..Self::default() }
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").field("id", &self.0.id).finish_non_exhaustive()
    }
}
