//! [`Environment`]: any set of servers as an environment of reinforcement learning.
//!
//! | | here |
//! |---|---|
//! | action space | the tools of all servers, kept up to date |
//! | observation | the result of the action, and chosen resources |
//! | reward | from the result, or a function of it |
//! | reset | the tool `reset_environment`, or a restart |
//!
//! **Invariants:** an action that the environment refuses is an observation, as the agent is to learn from it; an environment that does
//! not work is an error; an episode ends for certain, by its steps and by the time of each.

mod space;
mod step;
mod vec;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use space::ActionSpace;
pub use step::{Action, Observation, Step, StepInfo, Watched};
pub use vec::{Member, VecEnvironment};

use crate::client::{CallOptions, Caller, Events, Filter, Placed};
use crate::error::{Error, Result};
use crate::json::Json;
use crate::protocol::{CallToolResult, ToolDefinition};
use crate::tool::Arguments;

/// The tool that resets, by convention.
const RESET: &str = "reset_environment";

type Restart = Box<dyn FnMut(u64) -> Result<Arc<dyn Caller>> + Send>;
type RewardOf = Box<dyn FnMut(&Action, &Observation) -> f64 + Send>;
type EndOf = Box<dyn FnMut(&Action, &Observation) -> bool + Send>;

/// Hears what happens in an environment: a recorder, a progress line.
pub trait EpisodeLog: Send {
    /// An episode begins.
    fn reset(&mut self, seed: u64, observation: &Observation);

    /// A step was made.
    fn step(&mut self, action: &Action, step: &Step);

    /// The environment does not work.
    fn failed(&mut self, error: &Error) {
        let _ = error;
    }
}

/// Any [`Caller`] as an environment: one server, a pool, a host of many, a recorder before any of them.
///
/// ```
/// use serde_json::json;
/// use std::sync::Arc;
/// use tinymcp::trajectory::{Action, Environment};
/// use tinymcp::{Server, ToolRegistry, testing, tool};
///
/// let tools = ToolRegistry::new()
///     .with(tool! { fn reset_environment(seed: u64) -> String { format!("find {}", seed % 10) } })?
///     .with(tool! { fn guess(number: u64) -> String {
///         json!({"reward": if number == 7 { 1.0 } else { 0.0 }, "terminated": number == 7}).to_string()
///     } })?;
/// let client = testing::pair(&Server::builder("guess", "1.0.0").tools(tools).build()?)?;
///
/// let mut environment = Environment::new(Arc::new(client.handle())).max_steps(10);
/// assert_eq!(environment.reset(27)?.text(), "find 7");
/// assert_eq!(environment.action_space()?.actions[0].name, "guess");
/// let step = environment.step(&Action::new("guess", json!({"number": 7}))?)?;
/// assert_eq!((step.reward, step.terminated, step.truncated), (1.0, true, false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Environment {
    caller: Arc<dyn Caller>,
    restart: Option<Restart>,
    reset_tool: Option<String>,
    watched: Vec<Watched>,
    reward: RewardOf,
    end: EndOf,
    max_steps: Option<u64>,
    step_time: Option<Duration>,
    logs: Vec<Box<dyn EpisodeLog>>,
    space: Option<ActionSpace>,
    generation: u64,
    /// The tool that resets, as listed.
    resets: Option<ToolDefinition>,
    changes: Option<Events>,
    steps: u64,
    total_reward: f64,
    is_over: bool,
}

impl Environment {
    /// The tools of `caller` as an environment.
    #[must_use]
    pub fn new(caller: Arc<dyn Caller>) -> Self {
        Self {
            caller,
            restart: None,
            reset_tool: None,
            watched: Vec::new(),
            reward: Box::new(|_, observation| reward_in(observation)),
            end: Box::new(|_, observation| says(observation, "terminated") || says(observation, "done")),
            max_steps: None,
            step_time: None,
            logs: Vec::new(),
            space: None,
            generation: 0,
            resets: None,
            changes: None,
            steps: 0,
            total_reward: 0.0,
            is_over: true,
        }
    }

    /// The tool that resets. Default: `reset_environment`, also with the name of a server before it; without one nothing is reset. It
    /// is given the seed if its schema has a property `seed`, and is no action.
    #[must_use]
    pub fn reset_tool(mut self, name: impl Into<String>) -> Self {
        self.reset_tool = Some(name.into());
        self
    }

    /// Resets by making a new caller, such as the client of a server that is started again; it is given the seed. A tool that resets is
    /// called after it, if there is one.
    #[must_use]
    pub fn reset_by(mut self, restart: impl FnMut(u64) -> Result<Arc<dyn Caller>> + Send + 'static) -> Self {
        self.restart = Some(Box::new(restart));
        self
    }

    /// Reads this resource after each reset and each step.
    #[must_use]
    pub fn observe(mut self, resource: impl Into<Watched>) -> Self {
        self.watched.push(resource.into());
        self
    }

    /// How good what came of an action is. Default: the number `reward` of the structured result, or of a text that is a JSON object;
    /// else 0.
    #[must_use]
    pub fn reward(mut self, reward: impl FnMut(&Action, &Observation) -> f64 + Send + 'static) -> Self {
        self.reward = Box::new(reward);
        self
    }

    /// Whether an episode has come to its end. Default: the result says `terminated` or `done`, found as a reward is.
    #[must_use]
    pub fn end(mut self, end: impl FnMut(&Action, &Observation) -> bool + Send + 'static) -> Self {
        self.end = Box::new(end);
        self
    }

    /// So many steps an episode may have; the last is truncated. Default: any number.
    #[must_use]
    pub fn max_steps(mut self, steps: u64) -> Self {
        self.max_steps = Some(steps);
        self
    }

    /// So long a step may take; one that takes longer is cancelled and truncates the episode. Default: as the caller has it.
    #[must_use]
    pub fn step_time(mut self, time: Duration) -> Self {
        self.step_time = Some(time);
        self
    }

    /// Tells `log` what happens.
    #[must_use]
    pub fn log(mut self, log: impl EpisodeLog + 'static) -> Self {
        self.logs.push(Box::new(log));
        self
    }

    /// What can be done now. It is listed anew after the servers say that it has changed.
    ///
    /// # Errors
    /// When it cannot be listed.
    pub fn action_space(&mut self) -> Result<ActionSpace> {
        // In this order: a change between the two is seen the next time.
        let has_changed = self.has_changed();
        if let Some(space) = self.space.as_ref().filter(|_| !has_changed) {
            return Ok(space.clone());
        }
        let mut tools = self.caller.list_tools(&CallOptions::default().with_fresh())?.items;
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let is_reset = |tool: &ToolDefinition| match &self.reset_tool {
            Some(name) => tool.name == *name,
            None => tool.name == RESET || tool.name.ends_with(&format!("__{RESET}")),
        };
        self.resets = tools.iter().find(|tool| is_reset(tool)).cloned();
        tools.retain(|tool| !is_reset(tool));
        if self.space.as_ref().is_none_or(|space| space.actions != tools) {
            self.generation += 1;
        }
        let space = ActionSpace { actions: tools, generation: self.generation };
        self.space = Some(space.clone());
        Ok(space)
    }

    /// Whether the servers said so since the last time. Without such notices it is listed at each reset.
    fn has_changed(&mut self) -> bool {
        if self.changes.is_none() {
            // One that tells of nothing does not change, or is listed at the next reset.
            self.changes = self.caller.events(Filter::new().tools()).ok();
        }
        let mut has_changed = false;
        if let Some(changes) = &mut self.changes {
            while changes.next_timeout(Duration::ZERO).is_some() {
                has_changed = true;
            }
        }
        has_changed
    }

    /// Begins an episode: the same seed, the same beginning.
    ///
    /// # Errors
    /// When the servers cannot be reset, or the tool that does it fails.
    pub fn reset(&mut self, seed: u64) -> Result<Observation> {
        let reset = self.try_reset(seed);
        match &reset {
            Ok(observation) => self.logs.iter_mut().for_each(|log| log.reset(seed, observation)),
            Err(error) => self.logs.iter_mut().for_each(|log| log.failed(error)),
        }
        reset
    }

    fn try_reset(&mut self, seed: u64) -> Result<Observation> {
        (self.steps, self.total_reward, self.is_over) = (0, 0.0, true);
        if let Some(restart) = &mut self.restart {
            self.caller = restart(seed)?;
            (self.changes, self.space) = (None, None);
        }
        if self.changes.is_none() {
            self.space = None;
        }
        self.action_space()?;
        let mut observation = match &self.resets {
            None => Observation::default(),
            Some(tool) => {
                let arguments =
                    if takes_seed(tool) { format!("{{\"seed\":{seed}}}") } else { "{}".to_owned() };
                let result = self.call(&tool.name, &arguments)?;
                if result.is_error() {
                    let problem = format!("{} failed: {}", tool.name, result.text_content());
                    return Err(Error::Protocol(problem));
                }
                Observation::of(result)
            }
        };
        observation.resources = self.resources()?;
        self.is_over = false;
        Ok(observation)
    }

    fn call(&self, tool: &str, arguments: &str) -> Result<CallToolResult> {
        let arguments = Arguments::from_text(arguments)
            .map_err(|e| Error::InvalidUse(format!("arguments of {tool}: {e}")))?;
        let mut options = CallOptions::default();
        if let Some(time) = self.step_time {
            options = options.with_total(time).with_timeout(time);
        }
        self.caller.call(tool, arguments, &options)
    }

    fn resources(&self) -> Result<Vec<Placed<crate::protocol::ReadResourceResult>>> {
        let mut read = Vec::new();
        for watched in &self.watched {
            match self.caller.read_resource(watched.address(), &CallOptions::default().with_fresh()) {
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
        let step = self.try_step(action);
        match &step {
            Ok(step) => {
                self.is_over = step.is_last();
                self.logs.iter_mut().for_each(|log| log.step(action, step));
            }
            Err(error) => {
                self.is_over = true;
                self.logs.iter_mut().for_each(|log| log.failed(error));
            }
        }
        step
    }

    fn try_step(&mut self, action: &Action) -> Result<Step> {
        let begun = Instant::now();
        let mut problem = None;
        let is_reset = self.resets.as_ref().is_some_and(|tool| tool.name == action.tool);
        let called = if is_reset {
            Err(Error::InvalidUse(format!("{} is no action", action.tool)))
        } else {
            self.call(&action.tool, action.arguments.as_str())
        };
        let mut observation = match called {
            Ok(result) => Observation::of(result),
            Err(error @ (Error::Peer(_) | Error::InvalidUse(_) | Error::Denied(_))) => {
                Observation::refusal(&error.to_string())
            }
            Err(error) if error.is_timeout() && self.step_time.is_some() => {
                let text = error.to_string();
                problem = Some(text.clone());
                Observation::refusal(&text)
            }
            Err(error) => return Err(error),
        };
        let duration = begun.elapsed();
        observation.resources = self.resources()?;
        self.steps += 1;
        let reward = (self.reward)(action, &observation);
        self.total_reward += reward;
        let terminated = problem.is_none() && (self.end)(action, &observation);
        if problem.is_none() && !terminated && self.max_steps.is_some_and(|most| self.steps >= most) {
            problem = Some(format!("{} steps", self.steps));
        }
        let truncated = problem.is_some();
        let info = StepInfo { steps: self.steps, duration, total_reward: self.total_reward, problem };
        Ok(Step { observation, reward, terminated, truncated, info })
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("steps", &self.steps)
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}

fn takes_seed(tool: &ToolDefinition) -> bool {
    let schema = tool.input_schema.to_value();
    schema.pointer("/properties/seed").is_some()
}

/// The number `reward` of a result; 0 without one.
fn reward_in(observation: &Observation) -> f64 {
    let reward = observation.member("reward").and_then(|json| json.as_str().parse::<f64>().ok());
    reward.filter(|reward| reward.is_finite()).unwrap_or_default()
}

fn says(observation: &Observation, name: &str) -> bool {
    observation.member(name).is_some_and(|json: Json| json.as_str() == "true")
}
