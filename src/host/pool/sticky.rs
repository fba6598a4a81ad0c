//! [`Sticky`]: a conversation that stays on one connection.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::shared::{Patience, Seat, Shared};
use crate::client::{Begun, CallOptions, Caller, ClientHandle, Events, Filter, Mark};
use crate::error::{Error, Phase, Result};
use crate::host::resilience::route::{Act, Need, Route, routed_calls};
use crate::host::resilience::{Standing, Times, honest};
use crate::method::Method;
use crate::protocol::ToolDefinition;
use crate::sync::{Mutex, lock};

/// So many conversations go by a key.
const MAX_CONVERSATIONS: usize = 10_000;

/// One that nobody holds is forgotten after so long without a call.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// How long a key may be.
const MAX_KEY_BYTES: usize = 1_024;

/// A conversation by its key: what [`PoolHandle::sticky`](super::PoolHandle::sticky) returns.
#[derive(Clone)]
pub struct Sticky {
    shared: Arc<Shared>,
    conversation: Arc<Conversation>,
}

/// Owner: the pool, by its key; it may be forgotten when nobody else holds it.
pub(super) struct Conversation {
    key: String,
    /// Held for a look or an exchange.
    place: Mutex<Place>,
}

struct Place {
    last_used: Instant,
    at: At,
}

#[derive(Clone)]
enum At {
    /// Its first call decides.
    Nowhere,
    Member {
        id: usize,
        born: u64,
        mark: Option<Mark>,
    },
    /// Its connection is gone, and what the server knew of it.
    Ended,
}

impl Sticky {
    pub(super) fn of(shared: &Arc<Shared>, key: String) -> Result<Self> {
        if key.len() > MAX_KEY_BYTES {
            let bytes = key.len();
            return Err(Error::InvalidUse(format!("a key of {bytes} bytes, limit {MAX_KEY_BYTES}")));
        }
        let mut conversations = lock(&shared.conversations);
        let found = conversations.get(&key).map(Arc::clone);
        if let Some(conversation) = found {
            return Ok(Self { shared: Arc::clone(shared), conversation });
        }
        forget_idle(shared, &mut conversations);
        if conversations.len() >= MAX_CONVERSATIONS {
            let idle = conversations.values().filter(|held| Arc::strong_count(held) == 1);
            let oldest = idle.min_by_key(|idle| lock(&idle.place).last_used).map(|idle| idle.key.clone());
            let problem = || Error::Busy(format!("{MAX_CONVERSATIONS} conversations are open in the pool"));
            let forgotten = conversations.remove(&oldest.ok_or_else(problem)?);
            if let Some(forgotten) = forgotten {
                forgotten.leave(shared);
            }
        }
        let place = Mutex::new(Place { last_used: Instant::now(), at: At::Nowhere });
        let conversation = Arc::new(Conversation { key: key.clone(), place });
        conversations.insert(key, Arc::clone(&conversation));
        Ok(Self { shared: Arc::clone(shared), conversation })
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.conversation.key
    }

    /// Ends the conversation: its calls fail from now on, and the key begins another one. Nothing is said to the server.
    pub fn end(self) {
        self.over();
    }

    fn over(&self) {
        self.conversation.leave(&self.shared);
        let mut conversations = lock(&self.shared.conversations);
        let is_it = |held: &Arc<Conversation>| Arc::ptr_eq(held, &self.conversation);
        if conversations.get(&self.conversation.key).is_some_and(is_it) {
            conversations.remove(&self.conversation.key);
        }
    }

    /// Where its calls are made.
    fn seat(&self, method: &str, patience: &Patience<'_>) -> Result<(Seat, Option<Mark>)> {
        loop {
            let at = {
                let mut place = lock(&self.conversation.place);
                place.last_used = Instant::now();
                place.at.clone()
            };
            match at {
                At::Ended => return Err(over(method)),
                At::Member { id, born, mark } => match (self.shared.seat_at(id, born, method)?, mark) {
                    (Some(seat), mark) => return Ok((seat, mark)),
                    (None, Some(_)) => {
                        self.over();
                        return Err(over(method));
                    }
                    // A Modern server has nothing to forget.
                    (None, None) => self.conversation.moves(&self.shared),
                },
                At::Nowhere => self.settle(method, patience)?,
            }
        }
    }

    /// Chooses the member, and waits for one if there is none.
    fn settle(&self, method: &str, patience: &Patience<'_>) -> Result<()> {
        loop {
            let mut state = self.shared.lock();
            if state.is_closed {
                return Err(super::closed(method));
            }
            let idle = state.startable(Instant::now());
            let mut is_shared = false;
            let chosen = state.choose_for_conversation().and_then(|member| {
                is_shared = member.conversations > 0;
                let client = member.handle()?;
                let is_modern = client.is_modern()?;
                let mark = client.mark();
                if mark.is_none() {
                    return Some((member.id, None)); // it has just ended
                }
                let at = At::Member { id: member.id, born: member.born, mark: mark.filter(|_| !is_modern) };
                Some((member.id, Some(at)))
            });
            match chosen {
                Some((id, Some(at))) => {
                    // Another thread may have chosen meanwhile. The two locks are taken in this order only.
                    let mut place = lock(&self.conversation.place);
                    if matches!(place.at, At::Nowhere) {
                        place.at = at;
                        if let Some(member) = state.find(id) {
                            member.conversations += 1;
                        }
                    }
                    drop(place);
                    drop(state);
                    if let Some(idle) = idle.filter(|_| is_shared) {
                        self.shared.begin_start(idle, false); // for those that begin next
                    }
                    return Ok(());
                }
                Some((id, None)) => self.shared.take_out(&mut state, id, super::closed(method)),
                None => match state.worth_starting(Instant::now()) {
                    Some(id) => {
                        drop(state);
                        self.shared.begin_start(id, false);
                    }
                    None if state.may_come_up() => self.shared.wait(state, patience)?,
                    None => return Err(super::shared::none_is_ready(&state, method)),
                },
            }
        }
    }
}

impl Shared {
    /// Forgets conversations that nobody uses any more.
    pub(super) fn forget_idle(&self) {
        forget_idle(self, &mut lock(&self.conversations));
    }
}

fn forget_idle(shared: &Shared, conversations: &mut HashMap<String, Arc<Conversation>>) {
    conversations.retain(|_, conversation| {
        let is_held = Arc::strong_count(conversation) > 1;
        let is_kept = is_held || lock(&conversation.place).last_used.elapsed() < IDLE;
        if !is_kept {
            conversation.leave(shared);
        }
        is_kept
    });
}

impl Conversation {
    /// It is over.
    fn leave(&self, shared: &Shared) {
        self.become_(shared, At::Ended);
    }

    /// It goes on somewhere else.
    fn moves(&self, shared: &Shared) {
        self.become_(shared, At::Nowhere);
    }

    fn become_(&self, shared: &Shared, at: At) {
        let mut state = shared.lock();
        let before = std::mem::replace(&mut lock(&self.place).at, at);
        if let At::Member { id, .. } = before {
            if let Some(member) = state.find(id) {
                member.conversations = member.conversations.saturating_sub(1);
            }
            state.signal();
        }
    }
}

/// The connection of a conversation is gone.
pub(super) fn ended(client: &ClientHandle, method: &str) -> Error {
    let detail = "the conversation ended with its connection".to_owned();
    Error::SessionEnded(client.failure(Phase::Call(method.to_owned()), Duration::ZERO, detail))
}

fn over(method: &str) -> Error {
    let detail = "the conversation is over".to_owned();
    let phase = Phase::Call(method.to_owned());
    Error::SessionEnded(Box::new(crate::error::Failure::new(phase, "a pool".to_owned(), detail)))
}

impl Route for Sticky {
    fn route(&self, need: Need<'_>, options: &CallOptions, act: Act<'_>) -> Result<()> {
        let method = need.method();
        let mut times = Times::new(options, &self.shared.timeouts());
        let begun = Begun::default();
        let mut moved = false;
        loop {
            let patience = Patience { method, until: times.deadline(), cancel: options.cancel_token() };
            let (seat, mark) = self.seat(method, &patience)?;
            times.learn(options, &self.shared.timeouts());
            let left = times.left(options, None).watched_by(&begun);
            let left = match &mark {
                Some(mark) => left.only_on(mark),
                None => left,
            };
            let Err(error) = act(&seat.client, &left) else { return Ok(()) };
            seat.note(&error);
            if !error.is_closed() {
                return Err(error);
            }
            if mark.is_some() {
                self.over();
                return Err(match error {
                    // Nothing was sent: what is wrong is that the server has forgotten the conversation.
                    Error::Closed(_) if !begun.is_set() => ended(&seat.client, method),
                    error => honest(error, begun.is_set(), method),
                });
            }
            let is_repeatable = self.shared.is_repeatable(need, options);
            let may_repeat = Standing::of(&error, begun.is_set()).may_repeat(is_repeatable);
            if std::mem::replace(&mut moved, true) || !may_repeat {
                return Err(honest(error, begun.is_set(), method));
            }
            // A Modern server has nothing to forget.
            self.conversation.moves(&self.shared);
        }
    }

    fn listed(&self, tools: &[ToolDefinition]) {
        self.shared.repeatable.refresh(tools);
    }
}

impl Caller for Sticky {
    routed_calls!();

    /// The changes on its connection, and on the one that comes in its place.
    fn events(&self, filter: Filter) -> Result<Events> {
        let need = Need::Method(Method::SubscriptionsListen);
        let options = CallOptions::default();
        crate::host::resilience::route::routed(self, need, &options, &|caller, _| {
            caller.events(filter.clone())
        })
    }
}

impl fmt::Debug for Sticky {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sticky").field("key", &self.conversation.key).finish_non_exhaustive()
    }
}
