//! [`Shared`]: what the handles and the threads of a pool share. [`Seat`]: the right to make one call on a member.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, after, bounded, never, select};

use super::builder::{MAX_MEMBERS, PoolBuilder};
use super::closed;
use super::events::Merged;
use super::state::{Stage, State};
use super::sticky::Conversation;
use crate::client::{Begun, CallOptions, Client, ClientHandle, Random, Repeatable, Timeouts};
use crate::error::{Error, Failure, Phase, Result};
use crate::host::resilience::route::{Act, Need};
use crate::host::resilience::{Standing, Times, check_cancelled, honest};
use crate::sync::{CancelToken, Deadline, Mutex, lock};

pub(super) type Factory = dyn Fn(usize) -> Result<Client> + Send + Sync;

/// Owner: the pool; its handles, and the threads that start members, hold it as well.
pub(super) struct Shared {
    pub(super) options: PoolBuilder,
    pub(super) factory: Box<Factory>,
    /// Held for a look or an exchange; under it no server is waited for and no code of the program runs.
    state: Mutex<State>,
    /// Wakes the thread `mcp-pool`. Bound: one signal. Its end is the end of this.
    pub(super) wake: Sender<()>,
    pub(super) repeatable: Repeatable,
    /// By their keys. Bound: see there.
    pub(super) conversations: Mutex<HashMap<String, Arc<Conversation>>>,
    /// Who listens to changes. Bound: see there.
    pub(super) sources: Mutex<Vec<Weak<Merged>>>,
    /// How long calls take whose options do not say, as the first client has it.
    timeouts: Mutex<Timeouts>,
}

/// Who waits for a member.
pub(super) struct Patience<'a> {
    pub(super) method: &'a str,
    pub(super) until: Deadline,
    pub(super) cancel: Option<&'a CancelToken>,
}

impl Shared {
    pub(super) fn new(options: PoolBuilder, factory: Box<Factory>) -> Result<Arc<Self>> {
        let (wake, woken) = bounded(1);
        let shared = Arc::new(Self {
            state: Mutex::new(State::new(options.size)),
            options,
            factory,
            wake,
            repeatable: Repeatable::default(),
            conversations: Mutex::default(),
            sources: Mutex::default(),
            timeouts: Mutex::new(Timeouts::default()),
        });
        super::health::watch(&shared, woken)?;
        Ok(shared)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(super) fn timeouts(&self) -> Timeouts {
        *lock(&self.timeouts)
    }

    pub(super) fn learn_timeouts(&self, client: &ClientHandle) {
        *lock(&self.timeouts) = *client.timeouts();
    }

    pub(super) fn wake(&self) {
        // One that waits already says the same.
        let _ = self.wake.try_send(());
    }

    pub(super) fn add(&self) -> Result<usize> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(closed("initialize"));
        }
        if state.members.len() >= MAX_MEMBERS {
            return Err(Error::Busy(format!("a pool has {MAX_MEMBERS} members at most")));
        }
        Ok(state.add())
    }

    /// Starts all members, and waits for the first one.
    pub(super) fn start_all(self: &Arc<Self>) -> Result<()> {
        let ids: Vec<_> = self.lock().members.iter().map(|member| member.id).collect();
        ids.into_iter().for_each(|id| self.begin_start(id, false));
        let patience = Patience { method: "initialize", until: Deadline::after(None), cancel: None };
        loop {
            let state = self.lock();
            if state.members.iter().any(|member| matches!(member.stage, Stage::Ready)) {
                return Ok(());
            }
            if !state.has_starting() {
                let errors = state.members.iter().find_map(|member| match &member.stage {
                    Stage::Out { error, .. } => Some(error.copy()),
                    _ => None,
                });
                return errors.map_or(Ok(()), Err);
            }
            self.wait(state, &patience)?;
        }
    }

    /// Waits for a change.
    ///
    /// # Errors
    /// When the time is over, or the caller gives up.
    pub(super) fn wait(&self, mut state: MutexGuard<'_, State>, patience: &Patience<'_>) -> Result<()> {
        let change = state.change();
        state.waiting += 1;
        drop(state);
        let start = Instant::now();
        let cancelled = patience.cancel.map_or_else(never, CancelToken::receiver);
        let timeout = patience.until.remaining().map_or_else(never, after);
        let waited = select! {
            recv(change) -> _ => Ok(()),
            recv(cancelled) -> _ => check_cancelled(patience.cancel),
            recv(timeout) -> _ => {
                // Nothing was sent.
                let detail = "no connection is ready".to_owned();
                let mut failure = Failure::new(Phase::Handshake, "a pool".to_owned(), detail);
                failure.after = start.elapsed();
                Err(Error::Timeout(Box::new(failure)))
            }
        };
        self.lock().waiting -= 1;
        waited
    }

    /// A member for a call, without those in `not`, each in this life of it; `None` if there is no other. Starts one if that helps,
    /// and waits for it.
    fn seat(self: &Arc<Self>, not: &[(usize, u64)], patience: &Patience<'_>) -> Result<Option<Seat>> {
        loop {
            let mut state = self.lock();
            if state.is_closed {
                return Err(closed(patience.method));
            }
            let idle = state.startable(Instant::now());
            if let Some(member) = state.choose(self.options.balance, not) {
                let (id, life, was_busy) = (member.id, member.life, member.busy > 0);
                let Some(client) = member.handle() else { return Ok(None) };
                (member.busy, member.is_used) = (member.busy + 1, true);
                drop(state);
                if let Some(idle) = idle.filter(|_| was_busy) {
                    self.begin_start(idle, false); // for those who come next
                }
                return Ok(Some(Seat { shared: Arc::clone(self), id, life, client }));
            }
            match state.worth_starting(Instant::now()) {
                Some(id) => {
                    drop(state);
                    self.begin_start(id, false);
                }
                None if state.may_come_up() => self.wait(state, patience)?,
                None if not.is_empty() => return Err(none_is_ready(&state, patience.method)),
                None => return Ok(None),
            }
        }
    }

    /// A member for a call, if it is still `born` and takes calls.
    pub(super) fn seat_at(self: &Arc<Self>, id: usize, born: u64, method: &str) -> Result<Option<Seat>> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(closed(method));
        }
        let member = state.find(id).filter(|member| member.born == born);
        let member = member.filter(|member| !matches!(member.stage, Stage::Leaving));
        let Some(member) = member else { return Ok(None) };
        let Some(client) = member.handle() else { return Ok(None) };
        (member.busy, member.is_used) = (member.busy + 1, true);
        Ok(Some(Seat { shared: Arc::clone(self), id, life: member.life, client }))
    }

    /// Makes a call: on one member after the other, as long as that does no harm, once more than there are members at most.
    pub(super) fn route(self: &Arc<Self>, need: Need<'_>, options: &CallOptions, act: Act<'_>) -> Result<()> {
        let method = need.method();
        let mut times = Times::new(options, &self.timeouts());
        let begun = Begun::default();
        let mut tried = Vec::new();
        let mut last = None;
        loop {
            let cancel = options.cancel_token();
            check_cancelled(cancel)?;
            let patience = Patience { method, until: times.deadline(), cancel };
            let seat = match (self.seat(&tried, &patience), last.take()) {
                (Ok(Some(seat)), _) => seat,
                (Ok(None) | Err(_), Some(error)) => return Err(error),
                (Ok(None), None) => return Err(closed(method)),
                (Err(error), None) => return Err(error),
            };
            // The first member may have come up for this call.
            times.learn(options, &self.timeouts());
            let Err(error) = act(&seat.client, &times.left(options, None).watched_by(&begun)) else {
                return Ok(());
            };
            seat.note(&error);
            let is_repeatable = self.is_repeatable(need, options);
            if !Standing::of(&error, begun.is_set()).may_repeat(is_repeatable) {
                return Err(honest(error, begun.is_set(), method));
            }
            tried.push((seat.id, seat.life));
            if times.deadline().has_passed() || tried.len() > self.lock().members.len() {
                return Err(error);
            }
            log::debug!("{method} goes to another member of the pool: {error}");
            last = Some(error);
        }
    }

    /// Whether a call can be repeated.
    pub(super) fn is_repeatable(&self, need: Need<'_>, options: &CallOptions) -> bool {
        match need {
            Need::Method(_) => true,
            Need::Tool(name) => options.is_repeatable() || self.repeatable.has(name),
        }
    }

    /// The connection of a member has ended, or it cannot be used for another reason: it is brought back by the thread
    /// `mcp-pool`.
    pub(super) fn take_out(&self, state: &mut State, id: usize, error: Error) {
        let stable_after = self.options.stable_after;
        let Some(member) = state.find(id) else { return };
        if matches!(member.stage, Stage::Leaving | Stage::Out { .. }) {
            return;
        }
        let was_up = member.is_up();
        let has_stayed = member.ready_since.take().is_some_and(|since| since.elapsed() >= stable_after);
        let pause = match (has_stayed, member.failures) {
            (true, _) => {
                member.failures = 0;
                Duration::ZERO
            }
            // One that was up is brought back at once, the first time.
            (false, 0) if was_up => Duration::ZERO,
            (false, failures) => self.options.backoff.pause(failures.max(1), &mut Random::new()),
        };
        member.failures = member.failures.saturating_add(1);
        member.unanswered = 0;
        log::debug!("member {id} of a pool is out, and started again after {pause:?}: {error}");
        member.stage = Stage::Out { until: Instant::now() + pause, error, was_up };
        state.signal();
        self.wake();
    }
}

/// Why no member takes a call.
pub(super) fn none_is_ready(state: &State, method: &str) -> Error {
    let members = state.members.len();
    let leased = state.members.iter().filter(|member| member.is_leased).count();
    let phase = Phase::Call(method.to_owned());
    let now = Instant::now();
    let out = state.members.iter().filter_map(|member| match &member.stage {
        Stage::Out { until, error, .. } => Some((until.saturating_duration_since(now), error)),
        _ => None,
    });
    match out.min_by_key(|(again_in, _)| *again_in) {
        Some((again_in, error)) => {
            let again_in = crate::error::Seconds(again_in);
            let detail = format!("none of {members} connections is up, tried again in {again_in}: {error}");
            Error::Unreachable(Box::new(Failure::new(phase, "a pool".to_owned(), detail)))
        }
        None if leased > 0 => Error::Busy(format!("all of {leased} connections of the pool are leased")),
        None => {
            let detail = "it has no members".to_owned();
            Error::Unreachable(Box::new(Failure::new(phase, "a pool".to_owned(), detail)))
        }
    }
}

/// A call that is open on a member. Its drop makes room.
pub(super) struct Seat {
    pub(super) shared: Arc<Shared>,
    pub(super) id: usize,
    life: u64,
    pub(super) client: ClientHandle,
}

impl Seat {
    /// Looks whether `error` says that the member is gone.
    pub(super) fn note(&self, error: &Error) {
        if error.is_closed() && self.client.has_ended() {
            let mut state = self.shared.lock();
            // Unless another client has come in its place.
            let is_it = state.find(self.id).is_some_and(|member| {
                member.is_up() && member.client.as_ref().is_some_and(|client| client.has_ended())
            });
            if is_it {
                self.shared.take_out(&mut state, self.id, error.copy());
            }
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        if let Some(member) = state.find(self.id) {
            // Counted by whoever made this.
            member.busy = member.busy.saturating_sub(1);
        }
        state.signal();
    }
}
