//! [`Event`]: one line of a recording, and what each kind of event says beyond when it was and what it belongs to.

use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::environment_event::{DoneEvent, ResetEvent, RewardEvent, StepEvent};
use super::failure::RecordedError;
use super::format::Fields;
use crate::json::{FromJson, Json, JsonError, Members, Object, wire};
use crate::protocol::{CallToolResult, GetPromptResult, ProtocolVersion, ReadResourceResult};

/// Something that happened in a trajectory.
///
/// ```
/// use tinymcp::trajectory::{Event, EventKind};
///
/// let line = r#"{"event":"end","trajectory":"7","seq":3,"turn":1,"time_us":1785196800000000,"at_ns":5,"success":true}"#;
/// let event: Event = serde_json::from_str(line)?;
/// let EventKind::End(end) = &event.kind else { unreachable!() };
/// assert_eq!((event.seq, end.success), (3, Some(true)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// Which trajectory it belongs to.
    pub trajectory: String,
    /// Its place in the trajectory: 0 is the beginning. A number that is missing is an event that was lost.
    pub seq: u64,
    /// The turn of the agent; 0 before the first.
    pub turn: u64,
    /// When it began by the wall clock, in microseconds since 1970.
    pub time_us: u64,
    /// When it began by a clock that is never set, in nanoseconds since the trajectory began.
    pub at_ns: u64,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum EventKind {
    /// A trajectory begins.
    Begin(BeginEvent),
    /// A turn of the agent begins.
    Turn(TurnEvent),
    /// Somebody said something outside of tools.
    Message(MessageEvent),
    /// A tool was called.
    Call(ToolCallRecord),
    /// Something was listed.
    List(ListEvent),
    /// A resource was read.
    Read(ReadEvent),
    /// A prompt was filled in.
    Prompt(PromptEvent),
    /// A server told of a change.
    Notice(NoticeEvent),
    /// A server asked something, and was answered.
    Input(InputEvent),
    /// An environment was reset.
    Reset(ResetEvent),
    /// An environment went one step on.
    Step(StepEvent),
    /// A reward was given.
    Reward(RewardEvent),
    /// An episode of an environment is over.
    Done(DoneEvent),
    /// The trajectory ends.
    End(EndEvent),
    /// A kind this version of the crate does not know.
    Unknown(UnknownEvent),
}

/// An event of a kind that this version of the crate does not know.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UnknownEvent {
    /// The word in `event`.
    pub name: String,
    /// Its members.
    pub members: Object,
}

macro_rules! kinds {
    ($($variant:ident($content:ident) = $name:literal),* $(,)?) => {
        impl EventKind {
            /// The word in `event`.
            #[must_use]
            pub fn name(&self) -> &str {
                match self {
                    $( Self::$variant(_) => $name, )*
                    Self::Unknown(event) => &event.name,
                }
            }

            fn read(name: String, members: Members<'_>) -> Result<Self, JsonError> {
                match name.as_str() {
                    $( $name => $content::from_members(members).map(Self::$variant), )*
                    _ => Ok(Self::Unknown(UnknownEvent { name, members: members.rest() })),
                }
            }

            pub(super) fn write(&self, fields: &mut Fields<'_>) {
                match self {
                    $( Self::$variant(content) => fields.members(content), )*
                    Self::Unknown(event) => fields.members(&event.members),
                }
            }
        }

        $( impl From<$content> for EventKind {
            fn from(content: $content) -> Self {
                Self::$variant(content)
            }
        } )*
    };
}

kinds! {
    Begin(BeginEvent) = "begin",
    Turn(TurnEvent) = "turn",
    Message(MessageEvent) = "message",
    Call(ToolCallRecord) = "call",
    List(ListEvent) = "list",
    Read(ReadEvent) = "read",
    Prompt(PromptEvent) = "prompt",
    Notice(NoticeEvent) = "notice",
    Input(InputEvent) = "input",
    Reset(ResetEvent) = "reset",
    Step(StepEvent) = "step",
    Reward(RewardEvent) = "reward",
    Done(DoneEvent) = "done",
    End(EndEvent) = "end",
}

impl Event {
    /// An event of `trajectory` at its place there, with neither a turn nor a time.
    pub fn new(trajectory: impl Into<String>, seq: u64, kind: impl Into<EventKind>) -> Self {
        Self { trajectory: trajectory.into(), seq, turn: 0, time_us: 0, at_ns: 0, kind: kind.into() }
    }

    pub(super) fn from_members(name: String, mut members: Members<'_>) -> Result<Self, JsonError> {
        Ok(Self {
            trajectory: members.required("trajectory")?,
            seq: members.required("seq")?,
            turn: members.lenient("turn").unwrap_or_default(),
            time_us: members.lenient("time_us").unwrap_or_default(),
            at_ns: members.lenient("at_ns").unwrap_or_default(),
            kind: EventKind::read(name, members)?,
        })
    }

    /// Appends its line, without the line's end.
    pub(super) fn write(&self, line: &mut Vec<u8>) {
        let mut fields = Fields::of(line, self.kind.name());
        fields.place(&self.trajectory, self.seq, self.turn, self.time_us, self.at_ns);
        self.kind.write(&mut fields);
        fields.end();
    }
}

impl FromJson for Event {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        let mut members = Members::of(raw)?;
        Self::from_members(members.required("event")?, members)
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = Vec::new();
        self.write(&mut line);
        let raw: &RawValue = serde_json::from_slice(&line).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

wire::deserialize_through_json!(Event);

wire::string_enum! {
    /// Who says something.
    pub enum Speaker {
        /// Who set the agent up.
        System = "system",
        /// The person.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }

    /// What was listed.
    pub enum ListKind {
        /// Tools.
        Tools = "tools",
        /// Resources.
        Resources = "resources",
        /// Prompts.
        Prompts = "prompts",
    }

    /// What a server told of.
    pub enum NoticeKind {
        /// The list of tools changed.
        Tools = "tools_changed",
        /// The list of prompts changed.
        Prompts = "prompts_changed",
        /// The list of resources changed.
        Resources = "resources_changed",
        /// A resource changed.
        Resource = "resource_updated",
        /// Changes may be missed from now on.
        Interrupted = "interrupted",
    }

    /// How a trajectory came to its end.
    pub enum EndReason {
        /// It was ended.
        Ended = "ended",
        /// Whoever recorded it let go of it.
        Dropped = "dropped",
    }
}

wire::wire! {
    /// A trajectory begins.
    pub struct BeginEvent {
        /// What the agent is to do, in the user's words.
        pub task: String = "task",
        /// The key of the tools as they were offered last, if they were before this trajectory began.
        pub definitions: Option<String> = "definitions",
        /// Whatever else is known of it.
        pub metadata: Option<Object> = "metadata",
    }

    /// A turn of the agent begins: what it thinks and says, and the calls that follow, are of one answer of the model.
    #[derive(Default)]
    pub struct TurnEvent {
        /// What the model thought.
        pub reasoning: Option<String> = "reasoning",
        /// What it said beside its calls.
        pub text: Option<String> = "text",
    }

    /// Somebody said something outside of tools: a further wish of the user, for example.
    pub struct MessageEvent {
        /// Who.
        pub role: Speaker = "role",
        /// What.
        pub text: String = "text",
    }

    /// A call of a tool and its result, or why there is none.
    pub struct ToolCallRecord {
        /// The server's name with who called it, where that is known.
        pub server: Option<String> = "server",
        /// The revision that was spoken.
        pub revision: Option<ProtocolVersion> = "revision",
        /// The tool, by the name it was called by.
        pub tool: String = "tool",
        /// Its arguments.
        pub arguments: Json = "arguments",
        /// The whole result; absent if there is none.
        pub result: Option<CallToolResult> = "result",
        /// Whether there is no result, or one that says that the tool failed.
        pub is_error: bool = "is_error" or lenient,
        /// Why there is no result.
        pub error: Option<RecordedError> = "error",
        /// How long it took.
        pub duration_ns: u64 = "duration_ns" or lenient,
        /// What was decided about it.
        pub decision: Option<RecordedDecision> = "decision",
    }

    /// What a policy or a user decided about a request.
    pub struct RecordedDecision {
        /// Whether it was let through.
        pub allowed: bool = "allowed",
        /// Why, or why not.
        pub reason: Option<String> = "reason",
    }

    /// A list, as it was offered.
    pub struct ListEvent {
        /// The server, if it is of one.
        pub server: Option<String> = "server",
        /// The revision that was spoken, if it is of one server.
        pub revision: Option<ProtocolVersion> = "revision",
        /// Of what.
        pub what: ListKind = "what",
        /// The key of the tools in a line of definitions; of lists of tools that did not fail.
        pub definitions: Option<String> = "definitions",
        /// The resources or prompts.
        pub items: Option<Vec<ListedItem>> = "items",
        /// What was in the list and could not be used.
        pub rejected: Option<Vec<RejectedItem>> = "rejected",
        /// Why there is no list.
        pub error: Option<RecordedError> = "error",
        /// How long it took.
        pub duration_ns: u64 = "duration_ns" or lenient,
        /// What was decided about it.
        pub decision: Option<RecordedDecision> = "decision",
    }

    /// A resource or prompt in a list.
    pub struct ListedItem {
        /// Its server, where there are several.
        pub server: Option<String> = "server",
        /// As the server has it.
        pub item: Json = "item",
    }

    /// Something in a list that could not be used.
    pub struct RejectedItem {
        /// Its name, if it has one.
        pub name: Option<String> = "name",
        /// What is wrong with it.
        pub problem: String = "problem",
    }

    /// A resource that was read.
    pub struct ReadEvent {
        /// The server, where that is known.
        pub server: Option<String> = "server",
        /// The revision that was spoken.
        pub revision: Option<ProtocolVersion> = "revision",
        /// Its address.
        pub uri: String = "uri",
        /// The whole result; absent if there is none.
        pub result: Option<ReadResourceResult> = "result",
        /// Why there is no result.
        pub error: Option<RecordedError> = "error",
        /// How long it took.
        pub duration_ns: u64 = "duration_ns" or lenient,
        /// What was decided about it.
        pub decision: Option<RecordedDecision> = "decision",
    }

    /// A prompt that was filled in.
    pub struct PromptEvent {
        /// The server, where that is known.
        pub server: Option<String> = "server",
        /// The revision that was spoken.
        pub revision: Option<ProtocolVersion> = "revision",
        /// Its name.
        pub name: String = "name",
        /// Its arguments.
        pub arguments: Json = "arguments",
        /// The whole result; absent if there is none.
        pub result: Option<GetPromptResult> = "result",
        /// Why there is no result.
        pub error: Option<RecordedError> = "error",
        /// How long it took.
        pub duration_ns: u64 = "duration_ns" or lenient,
        /// What was decided about it.
        pub decision: Option<RecordedDecision> = "decision",
    }

    /// A change that a server told of.
    pub struct NoticeEvent {
        /// The server, where there are several.
        pub server: Option<String> = "server",
        /// What changed.
        pub change: NoticeKind = "change",
        /// The address of the resource that changed.
        pub uri: Option<String> = "uri",
    }

    /// A question of a server, and what it was answered. Several of them can belong to one call.
    pub struct InputEvent {
        /// Who asks, as the transport knows it: a command line or an address.
        pub server: Option<String> = "server",
        /// What tells the question from others that are open.
        pub key: String = "key",
        /// What is asked: `elicitation/create`, `sampling/createMessage` or `roots/list`.
        pub method: String = "method",
        /// The parameters of the question.
        pub params: Option<Json> = "params",
        /// The answer; absent if there is none.
        pub answer: Option<Json> = "answer" or null,
        /// Why there is no answer.
        pub error: Option<RecordedError> = "error",
        /// The method of the call that needs it, where that is known.
        pub of_method: Option<String> = "of_method",
        /// The tool, prompt or resource of that call.
        pub of_name: Option<String> = "of_name",
        /// How long it took.
        pub duration_ns: u64 = "duration_ns" or lenient,
    }

    /// A trajectory ends. What is said later than this event belongs to nothing.
    #[derive(Default)]
    pub struct EndEvent {
        /// How it came to that.
        pub reason: Option<EndReason> = "reason",
        /// What the agent answered in the end.
        pub answer: Option<String> = "answer",
        /// Whether it did what it was to do.
        pub success: Option<bool> = "success",
        /// The reward for all of it.
        pub reward: Option<f64> = "reward" or plain,
        /// Whatever else is known of it by now.
        pub metadata: Option<Object> = "metadata",
        /// How many calls it made.
        pub calls: u64 = "calls" or lenient,
        /// How many of its events could not be written.
        pub lost: u64 = "lost" or lenient,
    }
}

impl ToolCallRecord {
    /// A call of `tool`, without a result so far.
    #[must_use]
    pub fn new(tool: impl Into<String>, arguments: impl Into<Json>) -> Self {
        Self {
            server: None,
            revision: None,
            tool: tool.into(),
            arguments: arguments.into(),
            result: None,
            is_error: false,
            error: None,
            duration_ns: 0,
            decision: None,
            extra: Object::new(),
        }
    }

    /// Sets the result, and with it whether the tool failed.
    #[must_use]
    pub fn with_result(mut self, result: CallToolResult) -> Self {
        self.is_error = result.is_error();
        self.result = Some(result);
        self
    }

    /// Sets why there is no result.
    #[must_use]
    pub fn with_error(mut self, error: RecordedError) -> Self {
        self.is_error = true;
        self.error = Some(error);
        self
    }

    /// Sets how long it took.
    #[must_use]
    pub fn with_duration(mut self, duration: Duration) -> Self {
        self.duration_ns = nanoseconds(duration);
        self
    }

    /// How long it took.
    #[must_use]
    pub fn duration(&self) -> Duration {
        Duration::from_nanos(self.duration_ns)
    }
}

impl BeginEvent {
    /// The beginning of a trajectory for `task`.
    #[must_use]
    pub fn new(task: impl Into<String>) -> Self {
        Self { task: task.into(), definitions: None, metadata: None, extra: Object::new() }
    }
}

impl MessageEvent {
    /// `role` says `text`.
    #[must_use]
    pub fn new(role: Speaker, text: impl Into<String>) -> Self {
        Self { role, text: text.into(), extra: Object::new() }
    }
}

impl RecordedDecision {
    /// Whether it was let through, and why.
    #[must_use]
    pub fn new(allowed: bool, reason: impl Into<Option<String>>) -> Self {
        Self { allowed, reason: reason.into(), extra: Object::new() }
    }
}

/// 584 years are enough.
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
