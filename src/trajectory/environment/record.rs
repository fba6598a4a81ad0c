//! [`Record`]: the episodes of an environment as trajectories.

use std::sync::Arc;
use std::time::Instant;

use super::episode::Told;
use super::{Action, Observation, Step};
use crate::client::{Caller, Event};
use crate::error::Result;
use crate::json::Object;
use crate::trajectory::environment_event::{DoneEvent, ResetEvent, StepEvent};
use crate::trajectory::event::{BeginEvent, MessageEvent, Speaker};
use crate::trajectory::failure::RecordedError;
use crate::trajectory::notices::notice;
use crate::trajectory::recorder::Recorder;
use crate::trajectory::recording::Recording;
use crate::trajectory::request_event::nanoseconds;

/// What is recorded, and the trajectory of the episode.
#[derive(Default)]
pub(super) struct Record {
    recorder: Option<Recorder>,
    pub(super) task: String,
    pub(super) metadata: Object,
    pub(super) episodes: u64,
    episode: Option<Recording>,
}

impl Record {
    pub(super) fn by(mut self, recorder: Recorder) -> Self {
        self.recorder = Some(recorder);
        self
    }

    pub(super) fn episode(&self) -> Option<&Recording> {
        self.episode.as_ref()
    }

    /// From now on what is done through this is recorded.
    pub(super) fn go_through(&mut self, caller: &Arc<dyn Caller>) {
        self.episode = None;
        self.recorder = self.recorder.take().map(|recorder| recorder.before(Arc::clone(caller)));
    }

    pub(super) fn begin(&mut self, seed: u64) {
        let Some(recorder) = &self.recorder else { return };
        let mut metadata = self.metadata.clone();
        metadata.insert("seed", &seed);
        metadata.insert("episode", &self.episodes);
        self.episodes += 1;
        let mut begin = BeginEvent::new(&self.task);
        begin.metadata = Some(metadata);
        // The one before ends first, if it was broken off.
        self.episode = None;
        self.episode = Some(recorder.begin_with(begin));
    }

    pub(super) fn notice(&self, event: &Event) {
        if let Some(episode) = self.episode.as_ref().filter(|episode| !episode.0.hears(&event.change)) {
            episode.record(notice(event));
        }
    }

    pub(super) fn reset(&mut self, begun: Instant, seed: u64, calls: Vec<u64>, reset: &Result<Observation>) {
        let Some(episode) = &self.episode else { return };
        let event = ResetEvent {
            seed: Some(seed),
            calls: Some(calls).filter(|calls| !calls.is_empty()),
            error: reset.as_ref().err().map(RecordedError::from),
            duration_ns: nanoseconds(begun.elapsed()),
            ..ResetEvent::default()
        };
        episode.record_since(begun, event);
        match reset {
            Ok(observation) => {
                let text = observation.text();
                if !text.is_empty() && text != self.task {
                    episode.message(MessageEvent::new(Speaker::User, text));
                }
            }
            Err(_) => episode.end(),
        }
    }

    /// `so_far`: which step it was, and the rewards of the episode.
    pub(super) fn step(
        &self,
        begun: Instant,
        action: &Action,
        so_far: (u64, f64),
        told: &Told,
        step: &Result<Step>,
    ) {
        let Some(episode) = &self.episode else { return };
        let mut event = StepEvent::new(so_far.0, &action.tool);
        event.call = told.call;
        event.arguments = told.call.is_none().then(|| action.arguments.clone());
        event.duration_ns = nanoseconds(begun.elapsed());
        match step {
            Ok(step) => {
                if !told.is_result || told.call.is_none() {
                    event.observation = step.observation.to_json();
                }
                event.reward = Some(step.reward);
                (event.terminated, event.truncated) = (step.terminated, step.truncated);
                event.info = info(step);
            }
            Err(error) => event.error = Some(RecordedError::from(error)),
        }
        episode.record_since(begun, event);
        let done = match step {
            Ok(step) if !step.is_last() => return,
            Ok(step) => (step.terminated, step.truncated, step.info.success),
            Err(_) => (false, true, None),
        };
        let (steps, total_reward) = (so_far.0, Some(so_far.1));
        let (terminated, truncated, success) = done;
        episode.record(DoneEvent { terminated, truncated, steps, total_reward, ..DoneEvent::default() });
        episode.set_reward(so_far.1);
        if let Some(success) = success {
            episode.set_success(success);
        }
        episode.end();
    }
}

/// What else is known of a step.
fn info(step: &Step) -> Option<Object> {
    let mut info = Object::new();
    if let Some(problem) = &step.info.problem {
        info.insert("problem", problem);
    }
    if let Some(success) = &step.info.success {
        info.insert("success", success);
    }
    (!info.is_empty()).then_some(info)
}
