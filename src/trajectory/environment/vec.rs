//! [`VecEnvironment`]: many environments, each on a thread of its own.
//!
//! ```text
//!  actions ──▶ a queue each ──▶ member thread: its Environment ──▶ one queue of steps ──▶ receive
//! ```
//!
//! **Invariants:** a member's steps depend on its seeds and actions alone; one that fails, or panics, is made anew by itself, while
//! the others go on; at most one order of a member is under way, and each is answered.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::{Action, ActionSpace, Environment, Observation, Step, StepInfo};
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

/// What a member was told to do, done.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Arrived {
    /// An episode has begun.
    Reset(Observation),
    /// A step was made.
    Step(Step),
}

enum Order {
    Reset(u64),
    Step(Action),
    /// Answered on a channel of its own, with room for it.
    Space(Sender<Result<ActionSpace>>),
}

type Done = (usize, Result<Arrived>);

/// What all members have in common.
struct Common {
    make: Box<dyn Fn(usize) -> Result<Environment> + Send + Sync>,
    /// The seed of each episode of each member, if they follow by themselves.
    seeds: OnceLock<Box<dyn Fn(usize, u64) -> u64 + Send + Sync>>,
}

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
    common: Arc<Common>,
    done: Receiver<Done>,
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
    /// If they are [recorded](Environment::record), each has trajectories of its own, whose metadata have its number as `member`.
    ///
    /// # Errors
    /// When a thread cannot be started. What `make` says is told by the first reset.
    pub fn new(
        count: usize,
        make: impl Fn(usize) -> Result<Environment> + Send + Sync + 'static,
    ) -> Result<Self> {
        let common = Arc::new(Common { make: Box::new(make), seeds: OnceLock::new() });
        // Room for an answer of each, so that no member ever waits with one.
        let (tell, done) = bounded(count.max(1));
        let members = (0..count).map(|index| Worker::start(index, Arc::clone(&common), tell.clone()));
        Ok(Self { members: members.collect::<Result<_>>()?, common, done })
    }

    /// Lets a new episode follow each by itself. `seeds` says with which seed: it is given the member and how many episodes it
    /// has begun before. The last step of an episode then has the beginning of the next as its [`next`](Step::next). Once is enough;
    /// later changes count for nothing.
    #[must_use]
    pub fn auto_reset(self, seeds: impl Fn(usize, u64) -> u64 + Send + Sync + 'static) -> Self {
        let _ = self.common.seeds.set(Box::new(seeds));
        self
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

    /// What one of them can do now.
    ///
    /// # Errors
    /// [`Error::InvalidUse`] when there is no such member, or it is at something; when its space cannot be listed.
    pub fn action_space(&mut self, index: usize) -> Result<ActionSpace> {
        let (tell, told) = bounded(1);
        self.order(index, Order::Space(tell))?;
        self.members[index].is_busy = false;
        told.recv().unwrap_or_else(|_| Err(ended(index)))
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
        let begun = self.collect()?.into_iter().map(|(_, outcome)| match outcome? {
            Arrived::Reset(observation) => Ok(observation),
            Arrived::Step(_) => Err(mixed()),
        });
        begun.collect()
    }

    /// Steps all together, and waits for all: their steps, in order. A member that fails is made anew and begins an episode; its step is
    /// truncated, says why, and has the beginning of that episode as its [`next`](Step::next). If that fails as well, it is an
    /// error in its place.
    ///
    /// # Errors
    /// [`Error::InvalidUse`] when there are not as many actions, or something is under way.
    pub fn step(&mut self, actions: Vec<Action>) -> Result<Vec<Member<Step>>> {
        self.must_fit(actions.len(), "actions")?;
        for (index, action) in actions.into_iter().enumerate() {
            self.order(index, Order::Step(action))?;
        }
        let steps = self.collect()?.into_iter().map(|(index, outcome)| {
            let outcome = outcome.and_then(|arrived| match arrived {
                Arrived::Step(step) => Ok(step),
                Arrived::Reset(_) => Err(mixed()),
            });
            Member { index, outcome }
        });
        Ok(steps.collect())
    }

    /// Resets one; [`receive`](Self::receive) tells what came of it.
    ///
    /// # Errors
    /// [`Error::InvalidUse`] when there is no such member, or it is at something.
    pub fn send_reset(&mut self, index: usize, seed: u64) -> Result<()> {
        self.order(index, Order::Reset(seed))
    }

    /// Steps one; [`receive`](Self::receive) tells what came of it, in the order in which members are ready.
    ///
    /// # Errors
    /// [`Error::InvalidUse`] when there is no such member, or it is at something.
    pub fn send(&mut self, index: usize, action: Action) -> Result<()> {
        self.order(index, Order::Step(action))
    }

    /// Waits for the next member that is done with what it was [sent](Self::send); `None` if nothing is under way.
    pub fn receive(&mut self) -> Option<Member<Arrived>> {
        let (index, outcome) = self.take()?;
        Some(Member { index, outcome })
    }

    fn must_fit(&self, count: usize, what: &str) -> Result<()> {
        if let Some(index) = self.members.iter().position(|member| member.is_busy) {
            return Err(Error::InvalidUse(format!("member {index} is still at something")));
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
        member.is_busy = member.orders.as_ref().is_some_and(|orders| orders.send(order).is_ok());
        if member.is_busy { Ok(()) } else { Err(ended(index)) }
    }

    fn take(&mut self) -> Option<Done> {
        if !self.members.iter().any(|member| member.is_busy) {
            return None;
        }
        let (index, done) = self.done.recv().ok()?;
        self.members[index].is_busy = false;
        Some((index, done))
    }

    /// What all have done, in their order.
    fn collect(&mut self) -> Result<Vec<Done>> {
        let mut all: Vec<_> = std::iter::from_fn(|| self.take()).collect();
        all.sort_by_key(|(index, _)| *index);
        match all.len() == self.len() {
            true => Ok(all),
            false => Err(Error::InvalidUse("a member has ended".into())),
        }
    }
}

fn ended(index: usize) -> Error {
    Error::InvalidUse(format!("member {index} has ended"))
}

fn mixed() -> Error {
    Error::InvalidUse("resets and steps are under way at the same time".into())
}

/// One broken environment is one failed order, not the end of its member.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        log::error!("an environment panicked");
        Err(Error::Protocol("an environment panicked".into()))
    })
}

impl Worker {
    fn start(index: usize, common: Arc<Common>, done: Sender<Done>) -> Result<Self> {
        let (orders, taken) = bounded(1);
        let alone = Alone { index, common, environment: None, last_seed: 0, episodes: 0 };
        let thread = thread::Builder::new()
            .name(format!("mcp-env-{index}"))
            .spawn(move || alone.run(&taken, &done))
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
    common: Arc<Common>,
    environment: Option<Environment>,
    last_seed: u64,
    /// How many it has begun.
    episodes: u64,
}

impl Alone {
    fn run(mut self, orders: &Receiver<Order>, done: &Sender<Done>) {
        for order in orders {
            let outcome = match order {
                Order::Reset(seed) => self.reset(seed).map(Arrived::Reset),
                Order::Step(action) => self.step(&action).map(Arrived::Step),
                Order::Space(tell) => {
                    let space = guarded(|| self.made()?.action_space());
                    let _ = tell.send(space);
                    continue;
                }
            };
            if done.send((self.index, outcome)).is_err() {
                return;
            }
        }
    }

    fn reset(&mut self, seed: u64) -> Result<Observation> {
        self.last_seed = seed;
        let (is_new, number) = (self.environment.is_none(), self.episodes);
        self.episodes += 1;
        match guarded(|| self.made()?.numbered(number).reset(seed)) {
            // It may have died long ago: a new one has a chance of its own.
            Err(first) if !is_new => {
                self.give_up(&first);
                guarded(|| self.made()?.numbered(number).reset(seed))
            }
            reset => reset,
        }
    }

    fn give_up(&mut self, error: &Error) {
        log::warn!("environment {} is made anew: {error}", self.index);
        // Its drop may be what panics.
        let old = self.environment.take();
        let _ = guarded(|| {
            drop(old);
            Ok(())
        });
    }

    fn made(&mut self) -> Result<&mut Environment> {
        let environment = match self.environment.take() {
            Some(environment) => environment,
            None => (self.common.make)(self.index)?.metadata("member", &self.index),
        };
        Ok(self.environment.insert(environment))
    }

    /// The seed of the episode that is next.
    fn next_seed(&self) -> Option<u64> {
        Some(self.common.seeds.get()?(self.index, self.episodes))
    }

    /// One that fails is made anew and begins an episode: the step is truncated, and tells why.
    fn step(&mut self, action: &Action) -> Result<Step> {
        let Some(environment) = &mut self.environment else {
            return Err(Error::InvalidUse("the episode has not begun: reset comes first".into()));
        };
        let mut step = match guarded(|| environment.step(action)) {
            Ok(step) => step,
            Err(error @ Error::InvalidUse(_)) => return Err(error),
            Err(error) => {
                let (steps, total_reward) = environment.so_far();
                self.give_up(&error);
                let seed = guarded(|| Ok(self.next_seed()))?.unwrap_or(self.last_seed);
                let next = Some(self.reset(seed)?);
                let problem = Some(error.to_string());
                let observation = Observation::refusal(&error.to_string());
                let info = StepInfo { steps, total_reward, problem, ..StepInfo::default() };
                return Ok(Step { observation, reward: 0.0, terminated: false, truncated: true, next, info });
            }
        };
        if step.is_last() {
            // The step counts, whatever comes of the next episode.
            let next = guarded(|| Ok(self.next_seed()))
                .and_then(|seed| seed.map(|seed| self.reset(seed)).transpose());
            match next {
                Ok(next) => step.next = next,
                Err(error) => {
                    let _ = step.info.problem.get_or_insert(format!("no next episode: {error}"));
                }
            }
        }
        Ok(step)
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
