//! Record, replay, training examples, environments.

mod environment;
mod sampling;

pub use environment::{
    Action, ActionSpace, Environment, EpisodeLog, Member, Observation, Step, StepInfo, VecEnvironment,
    Watched,
};
pub use sampling::{CannotSample, Random, SUPPORTED, Sampler};
mod environment_event;
mod event;
mod failure;
mod format;

pub use environment_event::{DoneEvent, ResetEvent, RewardEvent, StepEvent};
pub use event::{
    BeginEvent, EndEvent, EndReason, Event, EventKind, InputEvent, ListEvent, ListKind, ListedItem,
    MessageEvent, NoticeEvent, NoticeKind, PromptEvent, ReadEvent, RecordedDecision, RejectedItem, Speaker,
    ToolCallRecord, TurnEvent, UnknownEvent,
};
pub use failure::{ErrorKind, RecordedError};
pub use format::{Definitions, FORMAT, FORMAT_VERSION, Header, Line, content_key};
