//! [`Environment`]: any set of servers as an environment of reinforcement learning.
//!
//! | | here |
//! |---|---|
//! | action space | the tools of all servers, kept up to date |
//! | observation | the result of the action, and chosen resources |
//! | reward | from the result, or a function of it |
//! | reset | the tools `reset_environment`, or a restart |
//! | recording | each episode is a trajectory |
//!
//! **Invariants:** an action that the environment refuses is an observation, as the agent is to learn from it; an environment that does
//! not work is an error; an episode ends for certain, by its steps, by the time of each and by that of all.

mod episode;
mod record;
mod space;
mod step;
mod vec;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use space::ActionSpace;
pub use step::{Action, Observation, Step, StepInfo, Watched};
pub use vec::{Arrived, Member, VecEnvironment};

use self::record::Record;
use super::recorder::Recorder;
use super::recording::Recording;
use crate::client::{CallOptions, Caller, Events, List};
use crate::error::{Error, Result};
use crate::protocol::{CallToolResult, ToolDefinition};
use crate::tool::Arguments;

type Restart = Box<dyn FnMut(u64) -> Result<Arc<dyn Caller>> + Send>;
type RewardOf = Box<dyn FnMut(&Action, &Observation) -> f64 + Send>;
type EndOf = Box<dyn FnMut(&Action, &Observation) -> bool + Send>;
type SuccessOf = Box<dyn FnMut(&Step) -> bool + Send>;

/// Hears what happens in an environment, such as a progress line.
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
    success: Option<SuccessOf>,
    max_steps: Option<u64>,
    max_time: Option<Duration>,
    step_time: Option<Duration>,
    reset_time: Option<Duration>,
    logs: Vec<Box<dyn EpisodeLog>>,
    record: Option<Record>,
    space: Option<ActionSpace>,
    generation: u64,
    /// The tools that reset, as listed.
    resets: Vec<ToolDefinition>,
    changes: Changes,
    /// When its reset was done.
    begun: Instant,
    steps: u64,
    total_reward: f64,
    /// What was said of it in this episode.
    is_success: Option<bool>,
    is_over: bool,
}

/// What the servers tell of.
enum Changes {
    /// They were not asked yet.
    Unknown,
    /// They tell of nothing.
    None,
    Heard(Events),
}

/// Stands where no server has been started yet, and while one is started again.
struct NotStarted;

impl NotStarted {
    fn error() -> Error {
        Error::InvalidUse("the environment has not been started: reset comes first".into())
    }
}

impl Caller for NotStarted {
    fn call(&self, _: &str, _: Arguments<'_>, _: &CallOptions) -> Result<CallToolResult> {
        Err(Self::error())
    }

    fn list_tools(&self, _: &CallOptions) -> Result<List<ToolDefinition>> {
        Err(Self::error())
    }
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
            end: Box::new(|_, observation| {
                says(observation, "terminated") == Some(true) || says(observation, "done") == Some(true)
            }),
            success: None,
            max_steps: None,
            max_time: None,
            step_time: None,
            reset_time: None,
            logs: Vec::new(),
            record: None,
            space: None,
            generation: 0,
            resets: Vec::new(),
            changes: Changes::Unknown,
            begun: Instant::now(),
            steps: 0,
            total_reward: 0.0,
            is_success: None,
            is_over: true,
        }
    }

    /// One whose servers are started by each reset, which gives `start` its seed: [`new`](Self::new) with
    /// [`reset_by`](Self::reset_by), without a first one that nobody uses.
    #[must_use]
    pub fn started_by(start: impl FnMut(u64) -> Result<Arc<dyn Caller>> + Send + 'static) -> Self {
        Self::new(Arc::new(NotStarted)).reset_by(start)
    }

    /// The tool that resets. Default: `reset_environment`, and with several servers that of each, such as `notes__reset_environment`;
    /// without one nothing is reset. It is given the seed if its schema has a property `seed`, and is no action.
    #[must_use]
    pub fn reset_tool(mut self, name: impl Into<String>) -> Self {
        self.reset_tool = Some(name.into());
        self
    }

    /// Resets by making a new caller, such as the client of a server that is started again; it is given the seed. The one before is
    /// dropped first, so that its server has ended if nobody else holds it, see [`Client::into_caller`](crate::Client::into_caller).
    /// A tool that resets is called after it, if there is one.
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

    /// How good what came of an action is; a step whose reward is no finite number is an error. Default: the number `reward` of the
    /// structured result, or of a text that is a JSON object; else 0.
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

    /// Whether the agent has done what it was to do, told from the last step of an episode. Default: what the last result that has
    /// a `success` says, found as a reward is; else it is not known.
    #[must_use]
    pub fn success(mut self, success: impl FnMut(&Step) -> bool + Send + 'static) -> Self {
        self.success = Some(Box::new(success));
        self
    }

    /// So many steps an episode may have; the last is truncated. Default: any number.
    #[must_use]
    pub fn max_steps(mut self, steps: u64) -> Self {
        self.max_steps = Some(steps);
        self
    }

    /// So long an episode may take, counted from the end of its reset; what the agent thinks between the steps is part of it. A step
    /// that is under way then is cancelled, and one that comes later is not made; either truncates the episode. Default: any time.
    #[must_use]
    pub fn max_time(mut self, time: Duration) -> Self {
        self.max_time = Some(time);
        self
    }

    /// So long a step may take, with what is observed after it; one that takes longer is cancelled and truncates the episode. Default:
    /// as long as the caller waits, after which the environment counts as broken.
    #[must_use]
    pub fn step_time(mut self, time: Duration) -> Self {
        self.step_time = Some(time);
        self
    }

    /// So long each request of a reset may take. Default: as long as the caller waits.
    #[must_use]
    pub fn reset_time(mut self, time: Duration) -> Self {
        self.reset_time = Some(time);
        self
    }

    /// Records each episode as a trajectory: what resets, the calls and what is read, each step with the place of its call, and the
    /// end with the total reward. It goes where `recorder` records, and leaves out what that does, but what it calls is what
    /// *this* environment calls; so the environment is to be made of the same caller as the recorder, not of the recorder, which would
    /// record everything twice.
    ///
    /// What was seen at the reset is the user's first message, for [training examples](crate::guide::training). A trajectory ends
    /// with the last step, or with the reset that breaks it off.
    ///
    /// ```
    /// # use serde_json::json;
    /// # use std::sync::Arc;
    /// # use tinymcp::{Server, ToolRegistry, testing, tool};
    /// use tinymcp::trajectory::{Action, Environment, Recorder, Sink, Trajectories};
    ///
    /// # let tools = ToolRegistry::new().with(tool! { fn roll() -> String {
    /// #     json!({"reward": 1, "done": true, "success": true}).to_string() } })?;
    /// # let client = testing::pair(&Server::builder("dice", "1.0.0").tools(tools).build()?)?;
    /// let sink = Sink::memory(); // or Sink::open("episodes.jsonl")?
    /// let caller = Arc::new(client.handle());
    /// let recorder = Recorder::new(caller.clone(), &sink).with_server("dice");
    /// let mut environment = Environment::new(caller).record(&recorder).task("Roll the dice.");
    /// environment.reset(1)?;
    /// environment.step(&Action::new("roll", ())?.in_turn("It is all luck."))?;
    ///
    /// let read = Trajectories::new(&sink.contents()[..]).next().expect("one")?;
    /// assert_eq!((read.success(), read.total_reward()), (Some(true), Some(1.0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn record(mut self, recorder: &Recorder) -> Self {
        let before = self.record.take().unwrap_or_default();
        self.record = Some(before.by(recorder.before(Arc::clone(&self.caller))));
        self
    }

    /// What the agent is to do, for the recording. Default: what is seen at the reset.
    #[must_use]
    pub fn task(mut self, task: impl Into<String>) -> Self {
        self.record.get_or_insert_default().task = task.into();
        self
    }

    /// A member of the metadata of each trajectory, beside `seed`, `episode`, and the `member` of a [`VecEnvironment`].
    #[must_use]
    pub fn metadata<T: serde::Serialize + ?Sized>(mut self, name: impl Into<String>, value: &T) -> Self {
        self.record.get_or_insert_default().metadata.insert(name, value);
        self
    }

    /// The trajectory of the episode, if it is recorded: for what only the agent knows, such as messages. After the last step
    /// nothing more is recorded in it.
    #[must_use]
    pub fn recording(&self) -> Option<&Recording> {
        self.record.as_ref()?.episode()
    }

    /// Its episodes are counted by somebody who has made others before it.
    fn numbered(&mut self, episode: u64) -> &mut Self {
        if let Some(record) = &mut self.record {
            record.episodes = episode;
        }
        self
    }

    /// How many steps the episode has had, and the sum of their rewards.
    fn so_far(&self) -> (u64, f64) {
        (self.steps, self.total_reward)
    }

    /// Tells `log` what happens.
    #[must_use]
    pub fn log(mut self, log: impl EpisodeLog + 'static) -> Self {
        self.logs.push(Box::new(log));
        self
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

/// The number `reward` of a result; 0 without one.
fn reward_in(observation: &Observation) -> f64 {
    let reward = observation.member("reward").and_then(|json| json.as_str().parse::<f64>().ok());
    reward.filter(|reward| reward.is_finite()).unwrap_or_default()
}

fn says(observation: &Observation, name: &str) -> Option<bool> {
    match observation.member(name)?.as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}
