//! The events of environments.

use crate::json::{Json, Object, wire};

use super::failure::RecordedError;

wire::wire! {
    /// An environment was reset.
    #[derive(Default)]
    pub struct ResetEvent {
        /// With which seed, if any.
        pub seed: Option<u64> = "seed",
        /// The places in the trajectory of the calls that reset: they are not the agent's.
        pub calls: Option<Vec<u64>> = "calls",
        /// What was seen then, if that is not the results of the calls alone.
        pub observation: Option<Json> = "observation" or null,
        /// Why it could not be reset.
        pub error: Option<RecordedError> = "error",
        /// How long it took.
        pub duration_ns: u64 = "duration_ns" or lenient,
    }

    /// An environment went one step on.
    pub struct StepEvent {
        /// Which step of the episode: 1 is the first.
        pub step: u64 = "step" or lenient,
        /// The place in the trajectory of the call that was made for it; what is told there need not be told here.
        pub call: Option<u64> = "call",
        /// The tool.
        pub tool: String = "tool",
        /// Its arguments.
        pub arguments: Option<Json> = "arguments",
        /// What was seen then, if that is not the result of the call alone.
        pub observation: Option<Json> = "observation" or null,
        /// The reward of this step.
        pub reward: Option<f64> = "reward" or plain,
        /// The episode is over by the rules of the environment.
        pub terminated: bool = "terminated" or lenient,
        /// The episode was cut off by a limit.
        pub truncated: bool = "truncated" or lenient,
        /// Whatever else the environment says.
        pub info: Option<Object> = "info",
        /// Why the step could not be made.
        pub error: Option<RecordedError> = "error",
        /// How long it took.
        pub duration_ns: u64 = "duration_ns" or lenient,
    }

    /// A reward was given, beside those of steps.
    pub struct RewardEvent {
        /// How much.
        pub value: f64 = "value",
        /// By whom or for what.
        pub source: Option<String> = "source",
    }

    /// An episode of an environment is over.
    #[derive(Default)]
    pub struct DoneEvent {
        /// By the rules of the environment.
        pub terminated: bool = "terminated" or lenient,
        /// By a limit.
        pub truncated: bool = "truncated" or lenient,
        /// How many steps it had.
        pub steps: u64 = "steps" or lenient,
        /// The sum of its rewards.
        pub total_reward: Option<f64> = "total_reward" or plain,
    }
}

impl StepEvent {
    /// A step that called `tool`, without anything seen so far.
    #[must_use]
    pub fn new(step: u64, tool: impl Into<String>) -> Self {
        Self {
            step,
            call: None,
            tool: tool.into(),
            arguments: None,
            observation: None,
            reward: None,
            terminated: false,
            truncated: false,
            info: None,
            error: None,
            duration_ns: 0,
            extra: Object::new(),
        }
    }
}

impl RewardEvent {
    /// A reward of this value.
    #[must_use]
    pub fn new(value: f64) -> Self {
        Self { value, source: None, extra: Object::new() }
    }
}
