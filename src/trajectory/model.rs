//! [`Trajectory`]: what an agent did, as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::event::{BeginEvent, EndEvent, EndReason, Event, EventKind, Speaker};
use super::format::{Definitions, Line, microseconds};
use super::request_event::ToolCallRecord;
use super::sink::Sink;
use crate::json::Object;
use crate::protocol::ToolDefinition;

/// What an agent did for one task, from its beginning to its end.
///
/// It is read from a recording by [`Trajectories`](super::Trajectories), or made by hand:
///
/// ```
/// use serde_json::json;
/// use tinymcp::protocol::CallToolResult;
/// use tinymcp::trajectory::{ToolCallRecord, Trajectory};
///
/// let mut trajectory = Trajectory::new("What is 1 + 2?");
/// trajectory.push(ToolCallRecord::new("add", json!({"a": 1, "b": 2})).with_result(CallToolResult::text("3")));
/// trajectory.set_final_answer("It is 3.");
/// trajectory.set_success(true);
/// trajectory.set_total_reward(1.0);
/// assert_eq!(trajectory.tool_calls().count(), 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    id: String,
    /// In the order of their places. If it has a beginning, that is the first; if it has an end, that is the last.
    events: Vec<Event>,
    /// The tools that its events refer to, by their keys.
    definitions: BTreeMap<String, Arc<Definitions>>,
    omitted: u64,
}

/// A call of a trajectory: the record, which it dereferences to, and when it was.
#[derive(Clone, Copy, Debug)]
pub struct ToolCall<'a> {
    /// The event.
    pub event: &'a Event,
    /// What it says.
    pub record: &'a ToolCallRecord,
}

impl Deref for ToolCall<'_> {
    type Target = ToolCallRecord;
    fn deref(&self) -> &ToolCallRecord {
        self.record
    }
}

impl ToolCall<'_> {
    /// When its result was there, in seconds since 1970.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "microseconds of this century are less than 2^53")]
    pub fn timestamp(&self) -> f64 {
        (self.event.time_us + self.record.duration_ns / 1000) as f64 / 1e6
    }
}

impl Trajectory {
    /// One that begins now.
    #[must_use]
    pub fn new(task: impl Into<String>) -> Self {
        let mut begin = Event::new("", 0, BeginEvent::new(task));
        begin.time_us = microseconds(SystemTime::now());
        Self { id: String::new(), events: vec![begin], definitions: BTreeMap::new(), omitted: 0 }
    }

    /// The same under this id. Without it a trajectory made by hand has the empty id, which does for one in a file.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        for event in &mut self.events {
            event.trajectory.clone_from(&self.id);
        }
        self
    }

    /// Of the events that were read; in any order.
    pub(super) fn of(
        id: String,
        mut events: Vec<Event>,
        definitions: BTreeMap<String, Arc<Definitions>>,
        omitted: u64,
    ) -> Self {
        events.sort_by_key(|event| event.seq);
        Self { id, events, definitions, omitted }
    }

    /// What tells it from others of its file.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// All that happened, in order.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// What the agent was to do: what its beginning says, or else the user's first message, as the reset of an environment is
    /// recorded; empty if there is neither.
    #[must_use]
    pub fn task_description(&self) -> &str {
        match self.begin() {
            Some(begin) if !begin.task.is_empty() => &begin.task,
            _ => self.events.iter().find_map(said_by_user).unwrap_or_default(),
        }
    }

    /// The places of the calls that reset an environment, which are not the agent's.
    pub(super) fn resets(&self) -> BTreeSet<u64> {
        let resets = self.events.iter().filter_map(|event| match &event.kind {
            EventKind::Reset(reset) => reset.calls.as_deref(),
            _ => None,
        });
        resets.flatten().copied().collect()
    }

    /// Its beginning, if that was read.
    #[must_use]
    pub fn begin(&self) -> Option<&BeginEvent> {
        match &self.events.first()?.kind {
            EventKind::Begin(begin) => Some(begin),
            _ => None,
        }
    }

    /// Its end, if it came to one.
    #[must_use]
    pub fn end(&self) -> Option<&EndEvent> {
        match &self.events.last()?.kind {
            EventKind::End(end) => Some(end),
            _ => None,
        }
    }

    /// Whether all of it is there: beginning and end, and nothing was lost between.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let consecutive = self.events.iter().zip(0..).all(|(event, place)| event.seq == place);
        self.begin().is_some() && self.end().is_some() && consecutive && self.omitted == 0
    }

    /// How many of its events were passed over when it was read, as it has too many of them.
    #[must_use]
    pub fn omitted(&self) -> u64 {
        self.omitted
    }

    /// The agent's calls, in order: without those that reset an environment, which [`events`](Self::events) has as well.
    pub fn tool_calls(&self) -> impl Iterator<Item = ToolCall<'_>> {
        let resets = self.resets();
        self.all_calls().filter(move |call| !resets.contains(&call.event.seq))
    }

    fn all_calls(&self) -> impl Iterator<Item = ToolCall<'_>> {
        self.events.iter().filter_map(|event| match &event.kind {
            EventKind::Call(record) => Some(ToolCall { event, record }),
            _ => None,
        })
    }

    /// The names of the tools that reset an environment here.
    pub(super) fn reset_tools(&self) -> BTreeSet<&str> {
        let resets = self.resets();
        let calls = self.all_calls().filter(|call| resets.contains(&call.event.seq));
        calls.map(|call| call.record.tool.as_str()).collect()
    }

    /// What the agent answered in the end.
    #[must_use]
    pub fn final_answer(&self) -> Option<&str> {
        self.end()?.answer.as_deref()
    }

    /// Whether it did what it was to do, if anybody said so.
    #[must_use]
    pub fn success(&self) -> Option<bool> {
        self.end()?.success
    }

    /// The reward for all of it, or else the sum of the rewards on the way; `None` if there was none.
    #[must_use]
    pub fn total_reward(&self) -> Option<f64> {
        if let Some(reward) = self.end().and_then(|end| end.reward) {
            return Some(reward);
        }
        let given = self.events.iter().filter_map(|event| match &event.kind {
            EventKind::Step(step) => step.reward,
            EventKind::Reward(reward) => Some(reward.value),
            _ => None,
        });
        given.fold(None, |sum, reward| Some(sum.unwrap_or(0.0) + reward))
    }

    /// What is known of it beside, at its beginning and at its end; what was said later counts.
    #[must_use]
    pub fn metadata(&self) -> Object {
        let at_begin = self.begin().and_then(|begin| begin.metadata.as_ref());
        let at_end = self.end().and_then(|end| end.metadata.as_ref());
        let all = at_begin.into_iter().chain(at_end).flat_map(Object::iter);
        all.map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }

    /// The tools as they were offered last, if they were.
    #[must_use]
    pub fn tools(&self) -> Option<&[ToolDefinition]> {
        let key = self.events.iter().rev().find_map(|event| match &event.kind {
            EventKind::List(list) => list.definitions.as_ref(),
            EventKind::Begin(begin) => begin.definitions.as_ref(),
            _ => None,
        })?;
        self.definitions(key).map(|definitions| definitions.tools.as_slice())
    }

    /// The tools that have this key, of those its events refer to.
    #[must_use]
    pub fn definitions(&self, key: &str) -> Option<&Definitions> {
        self.definitions.get(key).map(AsRef::as_ref)
    }

    /// Says which tools were offered from the beginning.
    pub fn set_tools(&mut self, tools: Vec<ToolDefinition>) {
        let definitions = Definitions::new(tools);
        if let Some(Event { kind: EventKind::Begin(begin), .. }) = self.events.first_mut() {
            begin.definitions = Some(definitions.key.clone());
        }
        self.definitions.insert(definitions.key.clone(), Arc::new(definitions));
    }

    /// Adds an event before the end, as of now; what took time began so long ago.
    pub fn push(&mut self, kind: impl Into<EventKind>) {
        let kind = kind.into();
        let took = match &kind {
            EventKind::Call(record) => record.duration(),
            _ => Duration::ZERO,
        };
        let began = SystemTime::now().checked_sub(took).unwrap_or(UNIX_EPOCH);
        self.push_at(microseconds(began), kind);
    }

    /// The same for an event that began at `time_us`.
    pub(super) fn push_at(&mut self, time_us: u64, kind: EventKind) {
        let place = self.events.len() - usize::from(self.end().is_some());
        let begin_us = self.events.first().map_or(time_us, |begin| begin.time_us);
        let before = place.checked_sub(1).and_then(|at| self.events.get(at));
        let (seq, turn) = before.map_or((0, 0), |event| (event.seq + 1, event.turn));
        let turn = turn + u64::from(matches!(kind, EventKind::Turn(_)));
        let at_ns = time_us.saturating_sub(begin_us).saturating_mul(1000);
        self.events.insert(place, Event { trajectory: self.id.clone(), seq, turn, time_us, at_ns, kind });
        if let Some(end) = self.events.get_mut(place + 1) {
            end.seq = seq + 1;
        }
    }

    /// Says when it began.
    pub(super) fn begin_at(&mut self, time_us: u64) {
        if let Some(begin) = self.events.first_mut() {
            begin.time_us = time_us;
        }
    }

    /// Sets what the agent answered in the end.
    pub fn set_final_answer(&mut self, answer: impl Into<String>) {
        self.end_mut().answer = Some(answer.into());
    }

    /// Sets whether it did what it was to do.
    pub fn set_success(&mut self, success: bool) {
        self.end_mut().success = Some(success);
    }

    /// Sets the reward for all of it.
    pub fn set_total_reward(&mut self, reward: f64) {
        self.end_mut().reward = Some(reward).filter(|reward| reward.is_finite());
    }

    /// Sets something else that is known of it.
    pub fn set_metadata<T: serde::Serialize + ?Sized>(&mut self, name: impl Into<String>, value: &T) {
        self.end_mut().metadata.get_or_insert_with(Object::new).insert(name, value);
    }

    /// Its end, which it is brought to if it has none.
    fn end_mut(&mut self) -> &mut EndEvent {
        if self.end().is_none() {
            let calls = self.all_calls().count() as u64;
            let time_us =
                self.events.last().map_or_else(|| microseconds(SystemTime::now()), |last| last.time_us);
            let end = EndEvent { reason: Some(EndReason::Ended), calls, ..EndEvent::default() };
            self.push_at(time_us, end.into());
        }
        match self.events.last_mut().map(|last| &mut last.kind) {
            Some(EventKind::End(end)) => end,
            _ => unreachable!("it was just put there"),
        }
    }

    /// Writes it to a recording, with the tools that it refers to.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn append_to(&self, sink: &Sink) -> io::Result<()> {
        for (key, definitions) in &self.definitions {
            sink.keep(&key.as_str().into(), || definitions.as_ref().clone())?;
        }
        let mut line = Vec::new();
        for event in &self.events {
            line.clear();
            Line::from(event.clone()).write(&mut line);
            sink.write(&line)?;
        }
        Ok(())
    }
}

fn said_by_user(event: &Event) -> Option<&str> {
    match &event.kind {
        EventKind::Message(message) if message.role == Speaker::User => Some(&message.text),
        _ => None,
    }
}
