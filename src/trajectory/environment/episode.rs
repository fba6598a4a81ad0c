//! What an [`Environment`] does: its space, resets and steps.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Action, ActionSpace, Changes, Environment, NotStarted, Observation, Step, StepInfo, says};
use crate::client::{CallOptions, Caller, Filter, Placed};
use crate::error::{Error, Result, Seconds};
use crate::protocol::{CallToolResult, ReadResourceResult, ToolDefinition};
use crate::tool::Arguments;

/// The tool that resets, by convention; and how it ends where the name of its server stands before it.
const RESET: &str = "reset_environment";
const RESET_OF_ONE: &str = "__reset_environment";

/// What is recorded of a step beside the step itself.
#[derive(Default)]
pub(super) struct Told {
    /// The place of its call.
    pub(super) call: Option<u64>,
    /// What was seen is what the call has as its result.
    pub(super) is_result: bool,
}

impl Environment {
    /// What can be done now. It is listed at each reset, and after the servers say that it has changed.
    ///
    /// # Errors
    /// When it cannot be listed.
    pub fn action_space(&mut self) -> Result<ActionSpace> {
        // In this order: a change between the two is seen the next time.
        let has_changed = self.has_changed();
        match &self.space {
            Some(space) if !has_changed => Ok(space.clone()),
            _ => self.listed(None),
        }
    }

    fn listed(&mut self, time: Option<Duration>) -> Result<ActionSpace> {
        let mut tools = self.caller().list_tools(&within(time).with_fresh())?.items;
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let is_reset = |tool: &ToolDefinition| match &self.reset_tool {
            Some(name) => tool.name == *name,
            None => tool.name == RESET || tool.name.ends_with(RESET_OF_ONE),
        };
        let (resets, actions): (Vec<_>, Vec<_>) = tools.into_iter().partition(is_reset);
        self.resets = resets;
        if self.space.as_ref().is_none_or(|space| *space.actions != *actions) {
            self.generation += 1;
            self.space = Some(ActionSpace { actions: actions.into(), generation: self.generation });
        }
        self.space.clone().ok_or_else(NotStarted::error)
    }

    /// Whether the servers said so since the last time.
    fn has_changed(&mut self) -> bool {
        if matches!(self.changes, Changes::Unknown) {
            // From the caller itself: the subscription outlives the episode.
            self.changes = match self.caller.events(Filter::new().tools()) {
                Ok(events) => Changes::Heard(events),
                Err(error) => {
                    log::debug!("an environment hears of no changes: {error}");
                    Changes::None
                }
            };
        }
        let Changes::Heard(events) = &mut self.changes else { return false };
        let mut has_changed = false;
        while let Some(event) = events.next_timeout(Duration::ZERO) {
            has_changed = true;
            if let Some(record) = &self.record {
                record.notice(&event);
            }
        }
        has_changed
    }

    /// Through the recording, if there is one.
    fn caller(&self) -> &dyn Caller {
        match self.recording() {
            Some(recording) => recording,
            None => &*self.caller,
        }
    }

    /// Begins an episode: the same seed, the same beginning.
    ///
    /// # Errors
    /// When the servers cannot be reset, or the tool that does it fails.
    pub fn reset(&mut self, seed: u64) -> Result<Observation> {
        let begun = Instant::now();
        (self.steps, self.total_reward, self.is_success, self.is_over) = (0, 0.0, None, true);
        let started = self.restart(seed);
        if let Some(record) = &mut self.record {
            record.begin(seed);
        }
        let mut calls = Vec::new();
        let reset = started.and_then(|()| self.try_reset(seed, &mut calls));
        if let Some(record) = &mut self.record {
            record.reset(begun, seed, calls, &reset);
        }
        match &reset {
            Ok(observation) => self.logs.iter_mut().for_each(|log| log.reset(seed, observation)),
            Err(error) => self.logs.iter_mut().for_each(|log| log.failed(error)),
        }
        self.is_over = reset.is_err();
        self.begun = Instant::now();
        reset
    }

    fn restart(&mut self, seed: u64) -> Result<()> {
        let Some(restart) = &mut self.restart else { return Ok(()) };
        // What was started before ends first: it may hold what the next one needs.
        self.changes = Changes::Unknown;
        self.caller = Arc::new(NotStarted);
        if let Some(record) = &mut self.record {
            record.go_through(&self.caller);
        }
        self.caller = restart(seed)?;
        if let Some(record) = &mut self.record {
            record.go_through(&self.caller);
        }
        Ok(())
    }

    fn try_reset(&mut self, seed: u64, calls: &mut Vec<u64>) -> Result<Observation> {
        // In this order, as for the action space. What it was told of before is listed now.
        self.has_changed();
        self.listed(self.reset_time)?;
        let mut results = Vec::new();
        for tool in &self.resets {
            let arguments = if takes_seed(tool) { format!("{{\"seed\":{seed}}}") } else { "{}".to_owned() };
            let (result, call) = self.call(&tool.name, &arguments, &within(self.reset_time));
            calls.extend(call);
            let result = result?;
            if result.is_error() {
                let problem = format!("{} failed: {}", tool.name, result.text_content());
                return Err(Error::Protocol(problem));
            }
            results.push(result);
        }
        let mut observation = Observation::joined(results);
        observation.resources = self.resources(|| within(self.reset_time))?;
        Ok(observation)
    }

    fn call(
        &self,
        tool: &str,
        arguments: &str,
        options: &CallOptions,
    ) -> (Result<CallToolResult>, Option<u64>) {
        let arguments = match Arguments::from_text(arguments) {
            Ok(arguments) => arguments,
            Err(e) => return (Err(Error::InvalidUse(format!("arguments of {tool}: {e}"))), None),
        };
        match self.recording() {
            Some(recording) => recording.call_at(tool, arguments, options),
            None => (self.caller.call(tool, arguments, options), None),
        }
    }

    fn resources(&self, options: impl Fn() -> CallOptions) -> Result<Vec<Placed<ReadResourceResult>>> {
        let mut read = Vec::new();
        for watched in &self.watched {
            match self.caller().read_resource(watched.address(), &options().with_fresh()) {
                Ok(result) => read.push(Placed::new(watched.server.clone(), result)),
                Err(error) if error.is_resource_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    /// Does something.
    ///
    /// An action that is refused, such as a tool that is not there or arguments that it does not take, is an observation whose
    /// `is_error` is true.
    ///
    /// # Errors
    /// - [`Error::InvalidUse`] before the first reset and after the last step of an episode.
    /// - When the servers cannot be reached; a reset may help.
    pub fn step(&mut self, action: &Action) -> Result<Step> {
        if self.is_over {
            return Err(Error::InvalidUse("the episode is over, or has not begun: reset comes first".into()));
        }
        // Over unless it goes well: a function that panics leaves no half of a step.
        self.is_over = true;
        if let Some((turn, recording)) = action.turn.as_ref().zip(self.recording()) {
            recording.next_turn(turn.clone());
        }
        let begun = Instant::now();
        let mut told = Told::default();
        let step = self.try_step(action, begun, &mut told);
        if let Some(record) = &self.record {
            record.step(begun, action, (self.steps, self.total_reward), &told, &step);
        }
        match &step {
            Ok(step) => {
                self.is_over = step.is_last();
                self.logs.iter_mut().for_each(|log| log.step(action, step));
            }
            Err(error) => self.logs.iter_mut().for_each(|log| log.failed(error)),
        }
        step
    }

    fn try_step(&mut self, action: &Action, begun: Instant, told: &mut Told) -> Result<Step> {
        self.steps += 1;
        let mut problem = None;
        let is_too_late = self.out_of_time().is_some();
        let called = if is_too_late {
            Err(Error::InvalidUse("the episode has no time left".to_owned()))
        } else if self.resets.iter().any(|tool| tool.name == action.tool) {
            Err(Error::InvalidUse(format!("{} is no action", action.tool)))
        } else {
            let called = self.call(&action.tool, action.arguments.as_str(), &within(self.time_left(begun)));
            told.call = called.1;
            called.0
        };
        told.is_result = called.is_ok();
        let is_limited = self.step_time.is_some() || self.max_time.is_some();
        let is_late = |error: &Error| error.is_timeout() && is_limited;
        let mut observation = match called {
            Ok(result) => Observation::of(result),
            Err(error @ (Error::Peer(_) | Error::InvalidUse(_) | Error::Denied(_))) => {
                Observation::refusal(&error.to_string())
            }
            Err(error) if is_late(&error) => {
                let text = self.why_late(begun, &error);
                problem = Some(text.clone());
                Observation::refusal(&text)
            }
            Err(error) => return Err(error),
        };
        let duration = begun.elapsed();
        if problem.is_none() && !is_too_late {
            match self.resources(|| within(self.time_left(begun))) {
                Ok(resources) => observation.resources = resources,
                Err(error) if is_late(&error) => problem = Some(self.why_late(begun, &error)),
                Err(error) => return Err(error),
            }
        }
        if is_too_late {
            problem = self.out_of_time();
        }
        let reward = (self.reward)(action, &observation);
        if !reward.is_finite() {
            return Err(Error::InvalidUse(format!("a reward of {reward}")));
        }
        self.total_reward += reward;
        let terminated = problem.is_none() && (self.end)(action, &observation);
        if problem.is_none() && !terminated {
            if says(&observation, "truncated") == Some(true) {
                problem = Some("the environment broke it off".to_owned());
            } else if self.max_steps.is_some_and(|most| self.steps >= most) {
                problem = Some(format!("{} steps", self.steps));
            } else {
                problem = self.out_of_time();
            }
        }
        self.is_success = says(&observation, "success").or(self.is_success);
        let truncated = problem.is_some();
        let (steps, total_reward, success) = (self.steps, self.total_reward, self.is_success);
        let info = StepInfo { steps, duration, total_reward, success, problem };
        let mut step = Step { observation, reward, terminated, truncated, next: None, info };
        if let Some(success) = self.success.as_mut().filter(|_| step.is_last()) {
            step.info.success = Some(success(&step));
        }
        Ok(step)
    }
}

impl Environment {
    /// What the step that began then may still take, by its own limit and by that of the episode.
    fn time_left(&self, begun: Instant) -> Option<Duration> {
        let of_step = self.step_time.map(|time| time.saturating_sub(begun.elapsed()));
        let of_episode = self.max_time.map(|time| time.saturating_sub(self.begun.elapsed()));
        [of_step, of_episode].into_iter().flatten().min()
    }

    /// What to say of a time-out: the limit that is over, and not what was left of it. Where both are, the episode's is why it does
    /// not go on.
    fn why_late(&self, begun: Instant, error: &Error) -> String {
        let of_step = self.step_time.filter(|most| begun.elapsed() >= *most);
        let step = of_step.map(|most| format!("the step has taken {}", Seconds(most)));
        self.out_of_time().or(step).unwrap_or_else(|| error.to_string())
    }

    /// What to say if the episode has taken as long as it may.
    fn out_of_time(&self) -> Option<String> {
        let most = self.max_time.filter(|most| self.begun.elapsed() >= *most)?;
        Some(format!("the episode has taken {}", Seconds(most)))
    }
}

fn within(time: Option<Duration>) -> CallOptions {
    match time {
        Some(time) => CallOptions::default().with_total(time).with_timeout(time),
        None => CallOptions::default(),
    }
}

fn takes_seed(tool: &ToolDefinition) -> bool {
    let schema = tool.input_schema.to_value();
    schema.pointer("/properties/seed").is_some()
}
