//! Record, replay, training examples, environments.

mod environment;
mod sampling;

pub use environment::{
    Action, ActionSpace, Environment, EpisodeLog, Member, Observation, Step, StepInfo, VecEnvironment,
    Watched,
};
pub use sampling::{CannotSample, Random, SUPPORTED, Sampler};
