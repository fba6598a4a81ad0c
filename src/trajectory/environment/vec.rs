//! [`VecEnvironment`]: many environments, each on a thread of its own.
//!
//! ```text
//!  actions ──▶ a queue each ──▶ member thread: its Environment ──▶ one queue of steps ──▶ receive
//! ```
//!
//! **Invariants:** a member's steps depend on its seeds and actions alone; one that fails is made anew by itself, while the others
//! go on; at most one order of a member is under way.

use std::fmt;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::{Action, Environment, Observation, Step, StepInfo};
use crate::error::{Error, Result};

/// What one member of a [`VecEnvironment`] did.
#[derive(Debug)]
#[non_exhaustive]
pub struct Member<T> {
    /// Which one, from 0.
    pub index: usize,
    /// What came of it.
    pub outcome: Result<T>,
}

enum Order {
    Reset(u64),
    Step(Action),
}

enum Done {
    Reset(Result<Observation>),
    Step(Result<Step>),
}

type Make = Arc<dyn Fn(usize) -> Result<Environment> + Send + Sync>;

/// So many environments, stepped together or as each is ready.
///
/// ```
/// # use serde_json::json;
/// # use std::sync::Arc;
/// # use tinymcp::{Server, ToolRegistry, testing, tool};
/// use tinymcp::trajectory::{Action, Environment, VecEnvironment};
///
/// # let tools = ToolRegistry::new().with(tool! { fn roll() -> String { r#"{"reward": 1}"#.into() } })?;
/// # let server = Server::builder("dice", "1.0.0").tools(tools).build()?;
/// # let clients: Vec<_> = (0..4).map(|_| testing::pair(&server)).collect::<Result<_, _>>()?;
/// # let handles: Vec<_> = clients.iter().map(|client| client.handle()).collect();
/// let mut environments = VecEnvironment::new(4, move |index| {
///     Ok(Environment::new(Arc::new(handles[index].clone()))) // as a rule a client of a child of its own
/// })?;
/// environments.reset(&[1, 2, 3, 4])?;
/// let rolls = vec![Action::new("roll", ())?; 4];
/// for step in environments.step(rolls)? {
///     assert_eq!(step.outcome?.reward, 1.0);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct VecEnvironment {
    members: Vec<Worker>,
    done: Receiver<(usize, Done)>,
}

/// Owner: the [`VecEnvironment`]. End: its drop, after the order that is under way.
struct Worker {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
    is_busy: bool,
}

impl VecEnvironment {
    /// `count` environments, each made by `make` on the thread that it is stepped on; it is told which. Whenever a member fails,
    /// `make` is called for it again.
    ///
    /// # Errors
    /// When a thread cannot be started. What `make` says is told by the first reset.
    pub fn new(
        count: usize,
        make: impl Fn(usize) -> Result<Environment> + Send + Sync + 'static,
    ) -> Result<Self> {
        let make: Make = Arc::new(make);
        // Room for an answer of each, so that no member ever waits with one.
        let (tell, done) = bounded(count.max(1));
        let members = (0..count).map(|index| Worker::start(index, Arc::clone(&make), tell.clone()));
        Ok(Self { members: members.collect::<Result<_>>()?, done })
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Resets all, each with its seed, and waits for all.
    ///
    /// # Errors
    /// [`Error::InvalidUse`] when there are not as many seeds, or something is under way; the first error of a member.
    pub fn reset(&mut self, seeds: &[u64]) -> Result<Vec<Observation>> {
        self.must_fit(seeds.len(), "seeds")?;
        for (index, seed) in seeds.iter().enumerate() {
            self.order(index, Order::Reset(*seed))?;
        }
        let mut all: Vec<Result<Observation>> = Vec::new();
        for member in self.collect()? {
            all.push(match member.1 {
                Done::Reset(outcome) => outcome,
                Done::Step(_) => Err(mixed()),
            });
        }
        all.into_iter().collect()
    }

    /// Resets one; [`receive_reset`](Self::receive_reset) tells what came of it.
    ///
    /// # Errors
    /// [`Error::InvalidUse`] when there is no such member, or it is at something.
    pub fn send_reset(&mut self, index: usize, seed: u64) -> Result<()> {
        self.order(index, Order::Reset(seed))
    }

    /// Steps all together, and waits for all: their steps, in order. A member that fails is an error in its place, and is made anew.
    ///
    /// # Errors
    /// [`Error::InvalidUse`] when there are not as many actions, or something is under way.
    pub fn step(&mut self, actions: Vec<Action>) -> Result<Vec<Member<Step>>> {
        self.must_fit(actions.len(), "actions")?;
        for (index, action) in actions.into_iter().enumerate() {
            self.order(index, Order::Step(action))?;
        }
        let steps = self.collect()?.into_iter().map(|(index, done)| match done {
            Done::Step(outcome) => Member { index, outcome },
            Done::Reset(_) => Member { index, outcome: Err(mixed()) },
        });
        Ok(steps.collect())
    }

    /// Steps one; [`receive`](Self::receive) tells what came of it, in the order in which members are ready.
    ///
    /// # Errors
    /// [`Error::InvalidUse`] when there is no such member, or it is at something.
    pub fn send(&mut self, index: usize, action: Action) -> Result<()> {
        self.order(index, Order::Step(action))
    }

    /// Waits for the next member that is done with what it was [sent](Self::send); `None` if nothing is under way.
    ///
    /// # Errors
    /// [`Error::InvalidUse`] when that was a reset.
    pub fn receive(&mut self) -> Result<Option<Member<Step>>> {
        match self.take() {
            None => Ok(None),
            Some((index, Done::Step(outcome))) => Ok(Some(Member { index, outcome })),
            Some((_, Done::Reset(_))) => Err(mixed()),
        }
    }

    /// Waits for the next member that is done with its reset; `None` if nothing is under way.
    ///
    /// # Errors
    /// [`Error::InvalidUse`] when that was a step.
    pub fn receive_reset(&mut self) -> Result<Option<Member<Observation>>> {
        match self.take() {
            None => Ok(None),
            Some((index, Done::Reset(outcome))) => Ok(Some(Member { index, outcome })),
            Some((_, Done::Step(_))) => Err(mixed()),
        }
    }

    fn must_fit(&self, count: usize, what: &str) -> Result<()> {
        if self.members.iter().any(|member| member.is_busy) {
            return Err(Error::InvalidUse("a member is still at something".into()));
        }
        match count == self.len() {
            true => Ok(()),
            false => Err(Error::InvalidUse(format!("{count} {what} for {} environments", self.len()))),
        }
    }

    fn order(&mut self, index: usize, order: Order) -> Result<()> {
        let count = self.len();
        let member = self.members.get_mut(index);
        let member =
            member.ok_or_else(|| Error::InvalidUse(format!("no member {index}, there are {count}")))?;
        if member.is_busy {
            return Err(Error::InvalidUse(format!("member {index} is still at something")));
        }
        let sent = member.orders.as_ref().is_some_and(|orders| orders.send(order).is_ok());
        member.is_busy = sent;
        if sent { Ok(()) } else { Err(Error::InvalidUse(format!("member {index} has ended"))) }
    }

    fn take(&mut self) -> Option<(usize, Done)> {
        if !self.members.iter().any(|member| member.is_busy) {
            return None;
        }
        let (index, done) = self.done.recv().ok()?;
        self.members[index].is_busy = false;
        Some((index, done))
    }

    /// What all have done, in their order.
    fn collect(&mut self) -> Result<Vec<(usize, Done)>> {
        let mut all: Vec<_> = std::iter::from_fn(|| self.take()).collect();
        all.sort_by_key(|(index, _)| *index);
        match all.len() == self.len() {
            true => Ok(all),
            false => Err(Error::InvalidUse("a member has ended".into())),
        }
    }
}

fn mixed() -> Error {
    Error::InvalidUse("resets and steps are under way at the same time".into())
}

impl Worker {
    fn start(index: usize, make: Make, done: Sender<(usize, Done)>) -> Result<Self> {
        let (orders, taken) = bounded(1);
        let thread = thread::Builder::new()
            .name(format!("mcp-env-{index}"))
            .spawn(move || Alone { index, make, environment: None, last_seed: 0 }.run(&taken, &done))
            .map_err(|error| Error::Transport {
                context: "cannot start a thread of an environment".into(),
                error,
            })?;
        Ok(Self { orders: Some(orders), thread: Some(thread), is_busy: false })
    }
}

/// One member, on its thread.
struct Alone {
    index: usize,
    make: Make,
    environment: Option<Environment>,
    last_seed: u64,
}

impl Alone {
    fn run(mut self, orders: &Receiver<Order>, done: &Sender<(usize, Done)>) {
        for order in orders {
            let what = match order {
                Order::Reset(seed) => Done::Reset(self.reset(seed)),
                Order::Step(action) => Done::Step(self.step(&action)),
            };
            if done.send((self.index, what)).is_err() {
                return;
            }
        }
    }

    fn reset(&mut self, seed: u64) -> Result<Observation> {
        self.last_seed = seed;
        match self.made()?.reset(seed) {
            Ok(observation) => Ok(observation),
            // It may have died long ago: a new one has a chance of its own.
            Err(first) => {
                log::warn!("environment {} is made anew: {first}", self.index);
                self.environment = None;
                self.made()?.reset(seed)
            }
        }
    }

    fn made(&mut self) -> Result<&mut Environment> {
        if self.environment.is_none() {
            self.environment = Some((self.make)(self.index)?);
        }
        self.environment.as_mut().ok_or_else(mixed)
    }

    /// One that fails is made anew and begins its episode again: the step is truncated, and tells why.
    fn step(&mut self, action: &Action) -> Result<Step> {
        let Some(environment) = &mut self.environment else {
            return Err(Error::InvalidUse("the episode has not begun: reset comes first".into()));
        };
        let error = match environment.step(action) {
            Ok(step) => return Ok(step),
            Err(error @ Error::InvalidUse(_)) => return Err(error),
            Err(error) => error,
        };
        log::warn!("environment {} is made anew: {error}", self.index);
        self.environment = None;
        let seed = self.last_seed;
        let observation = self.made()?.reset(seed)?;
        let info = StepInfo { problem: Some(error.to_string()), ..StepInfo::default() };
        Ok(Step { observation, reward: 0.0, terminated: false, truncated: true, info })
    }
}

impl Drop for VecEnvironment {
    fn drop(&mut self) {
        for member in &mut self.members {
            member.orders = None;
        }
        for member in &mut self.members {
            if let Some(thread) = member.thread.take() {
                let _ = thread.join();
            }
        }
    }
}

impl fmt::Debug for VecEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VecEnvironment").field("members", &self.len()).finish_non_exhaustive()
    }
}
