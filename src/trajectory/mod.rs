//! Record what an agent does through MCP, and make training data of it.
//!
//! | | |
//! |---|---|
//! | [`Recorder`], [`Recording`] | callers that record what is done through them |
//! | [`Sink`], [`Redaction`], [`InputLog`], [`WireRecorder`] | where to, what not, what servers ask, the frames themselves |
//! | [`Event`], [`Line`] | what is recorded, and its [format](crate::guide::trajectories) |
//! | [`Lines`], [`Trajectories`], [`Trajectory`] | reading it, line by line or as what belongs together |
//! | [`Selection`], [`Statistics`], [`merge()`] | taking some of it, counting it, putting files together |
//! | [`Replay`], [`rerun`] | a recorded session [served again](crate::guide::replay), and a trajectory run once more |
//! | [`report()`], [`Report`] | one page that shows a recording |
//! | [`SftExample`], [`SftOptions`] | [training examples](crate::guide::training) in the forms that trainers read |
//! | [`Environment`], [`VecEnvironment`], [`Sampler`] | servers as [environments](crate::guide::environments), many at once, and a policy that has no idea |
//!
//! **Invariants:** recording never fails or changes a request; what is recorded keeps its numbers and bytes; nothing here grows with
//! the length of a recording.

mod environment;
mod environment_event;
mod event;
mod failure;
mod format;
mod group;
mod inputs;
mod lines;
mod merge;
mod model;
mod notices;
mod plain;
mod recorded;
mod recorder;
mod recording;
mod redaction;
mod repair;
mod replay;
mod report;
mod request_event;
mod sampling;
mod selection;
mod sink;
mod statistics;
mod training;
mod wire_log;

pub use environment::{
    Action, ActionSpace, Arrived, Environment, EpisodeLog, Member, Observation, Step, StepInfo,
    VecEnvironment, Watched,
};
pub use environment_event::{DoneEvent, ResetEvent, RewardEvent, StepEvent};
pub use event::{
    BeginEvent, EndEvent, EndReason, Event, EventKind, InputEvent, MessageEvent, NoticeEvent, NoticeKind,
    Speaker, TurnEvent, UnknownEvent,
};
pub use failure::{ErrorKind, RecordedError};
pub use format::{Definitions, FORMAT, FORMAT_VERSION, Header, Line, content_key};
pub use group::Trajectories;
pub use inputs::InputLog;
pub use lines::{Lines, ReadLine};
pub use merge::{Merged, merge};
pub use model::{ToolCall, Trajectory};
pub use recorder::Recorder;
pub use recording::Recording;
pub use redaction::Redaction;
pub use replay::{
    Difference, REPLAY_MISS, Replay, ReplayOrder, Rerun, RerunOptions, RerunOutcome, RerunReport, ToolsThen,
    rerun,
};
pub use report::{Report, ReportSummary, report};
pub use request_event::{
    ListEvent, ListKind, ListedItem, PromptEvent, ReadEvent, RecordedDecision, RejectedItem, ToolCallRecord,
};
pub use sampling::{CannotSample, Random, SUPPORTED, Sampler};
pub use selection::Selection;
pub use sink::Sink;
pub use statistics::{Durations, OTHERS, Spread, Statistics, ToolStatistics};
pub use training::{
    ArgumentsForm, Keep, MessageForm, ReasoningForm, ResultForm, SftExample, SftOptions, SftWritten,
    ToolsForm, trajectory_to_sft_example,
};
pub use wire_log::WireRecorder;
