//! [`Hub`]: where all notices of change of a client arrive, and everything is opened that they belong to.
//!
//! **Invariants:** the lock is held for a look or an exchange; under it nothing is sent, nobody is waited for and no code of
//! somebody else runs. What the reading thread does here never waits.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;

use super::filter::{Change, Filter};
use super::heard::Heard;
use super::subs::{CALLBACKS, Opening, Phase, State, Sub};
use super::wake::Wake;
use super::{ChangesEnd, MAX_OPEN};
use crate::client::notices::Dispatcher;
use crate::client::session::{Session, Settled, SettledAgain};
use crate::error::{Error, Phase as During, Result};
use crate::json::Object;
use crate::jsonrpc::write_json;
use crate::method::Method;
use crate::peer::{NoResult, NotStarted, StreamEnd};
use crate::protocol::notice::CancelledParams;
use crate::sync::Deadline;

/// How often one who waits looks whether there is anybody to wait for.
const LOOK: Duration = Duration::from_millis(500);

/// Who listens to what, on one connection after the other. Owner: the session. End: its close.
pub(in crate::client) struct Hub {
    this: Weak<Self>,
    session: Weak<Session>,
    dispatcher: Arc<Dispatcher>,
    state: Mutex<State>,
    /// Signalled when the thread that opens streams has something to do earlier than before, and at the end.
    wake: Condvar,
}

impl Hub {
    /// `filter` is what there are callbacks for.
    pub(in crate::client) fn new(
        filter: Filter,
        dispatcher: Arc<Dispatcher>,
        session: Weak<Session>,
    ) -> Arc<Self> {
        let mut state = State::default();
        if !filter.is_empty() {
            state.subs.push(Sub::new(CALLBACKS, filter, Phase::Lost, None));
        }
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            session,
            dispatcher,
            state: Mutex::new(state),
            wake: Condvar::new(),
        })
    }

    // Poisoned locks are entered: nothing of somebody else runs inside.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A notification, from the reading thread.
    pub(in crate::client) fn heard(&self, method: &str, params: Option<&RawValue>, is_modern: bool) {
        if let Some(heard) = Heard::of(method, params) {
            let routed = self.lock().route(&heard, is_modern);
            if routed.is_for_callbacks {
                self.dispatcher.nudge();
            }
            if routed.is_taken {
                return;
            }
        }
        self.dispatcher.other(method, params);
    }

    /// What the callbacks are to be told next.
    pub(in crate::client) fn take_for_callbacks(&self) -> Option<Change> {
        self.lock().take_for_callbacks()
    }

    /// How much the callbacks are to be told.
    pub(in crate::client) fn due_for_callbacks(&self) -> usize {
        self.lock().find(CALLBACKS).map_or(0, |sub| sub.marks.len())
    }

    /// The protocol was settled on a connection: everything is opened on it.
    pub(in crate::client) fn settled(&self) {
        let Some(session) = self.session.upgrade() else { return };
        if self.lock().subs.is_empty() {
            return;
        }
        self.adopt(&session);
        self.open_due(&session);
    }

    pub(in crate::client) fn close(&self) {
        self.dispatcher.close();
        let old = self.lock().close();
        self.wake.notify_all();
        drop(old);
    }

    /// Uses the connection that the session uses now.
    fn adopt(&self, session: &Session) {
        let (number, settled, old) = {
            let mut state = self.lock();
            // Looked up under the lock, so that of two who adopt the last one has the last connection.
            let Some(settled) = session.current().filter(|_| !state.is_closed) else { return };
            if settled.peer.end().is_some() {
                return; // only another one helps
            }
            if state.on.as_ref().is_some_and(|on| on.settled.peer.is(&settled.peer)) {
                return;
            }
            let (number, old) = state.adopt(Arc::clone(&settled));
            (number, settled, old)
        };
        drop(old); // perhaps the last to hold a connection
        let this = Weak::clone(&self.this);
        let is_open = settled.peer.when_closed(move || {
            if let Some(hub) = this.upgrade() {
                hub.lost(number);
            }
        });
        if !is_open {
            self.lost(number);
        }
    }

    fn lost(&self, number: u64) {
        let old = self.lock().lost(number);
        drop(old);
    }

    /// Starts to listen; waits until that is answered.
    pub(super) fn listen(&self, session: &Arc<Session>, filter: Filter) -> Result<(u64, Arc<Wake>)> {
        let settled = session.settled(None)?;
        match self.listen_on(session, Arc::clone(&settled), filter.clone()) {
            Err(error @ Error::SessionEnded(_)) => match session.renew(&settled, None)? {
                Some(settled) => self.listen_on(session, settled, filter),
                None => Err(error),
            },
            listening => listening,
        }
    }

    fn listen_on(
        &self,
        session: &Arc<Session>,
        mut settled: Arc<Settled>,
        filter: Filter,
    ) -> Result<(u64, Arc<Wake>)> {
        let start = Instant::now();
        let during = || During::Call(Method::SubscriptionsListen.name().to_owned());
        self.adopt(session);
        let wake = Arc::new(Wake::default());
        let key = {
            let mut state = self.lock();
            if state.subs.iter().filter(|sub| sub.key != CALLBACKS).count() >= MAX_OPEN {
                return Err(Error::Busy(format!("{MAX_OPEN} streams of changes are open already")));
            }
            let phase = if state.on.is_some() { Phase::Due(Instant::now()) } else { Phase::Lost };
            let key = state.next_number();
            state.subs.push(Sub::new(key, filter, phase, Some(Arc::clone(&wake))));
            key
        };
        self.open_due(session);
        let until = match settled.is_modern() {
            true => Deadline::of(start, session.config.timeouts.call),
            false => Deadline::after(None), // each of its requests has a deadline
        };
        let failed = loop {
            let mut state = self.lock();
            match state.find(key).map(|sub| &sub.phase) {
                Some(Phase::Open { .. }) => return Ok((key, wake)),
                Some(Phase::Over(ChangesEnd::Failed(error))) => break error.copy(),
                Some(Phase::Over(ChangesEnd::Ended)) => {
                    let problem = "the server ended a subscription that it had not acknowledged";
                    break Error::Protocol(problem.to_owned());
                }
                Some(Phase::Opening(_) | Phase::Due(_)) if until.has_passed() => {
                    drop(state);
                    break Error::Timeout(session.failure(during(), Some(&settled.peer), start.elapsed()));
                }
                Some(Phase::Opening(_) | Phase::Due(_)) => {
                    self.wait(state, &wake, until);
                }
                // Another has been made, or is being made, by whoever needed it.
                Some(Phase::Lost) if session.has_replaced(&settled) => {
                    drop(state);
                    match session.settled(None) {
                        Ok(another) => settled = another,
                        Err(error) => break error,
                    }
                    self.adopt(session);
                    self.open_due(session);
                }
                Some(Phase::Lost | Phase::Over(ChangesEnd::Closed)) | None => {
                    drop(state);
                    break session.closed(during(), Some(&settled.peer), start.elapsed());
                }
            }
        };
        self.remove(key);
        Err(failed)
    }

    /// Waits for a signal, at most until then or the next look.
    fn wait(&self, state: MutexGuard<'_, State>, wake: &Wake, until: Deadline) {
        let settled = state.on.as_ref().map(|on| Arc::clone(&on.settled));
        let time = until.remaining().map_or(LOOK, |left| left.min(LOOK));
        if wake.wait_timeout(state, time) {
            if let Some(settled) = settled {
                settled.peer.look_after();
            }
        }
    }

    /// The next change for `key`; `None` at the deadline and at the end.
    pub(super) fn next(&self, key: u64, wake: &Wake, until: Deadline) -> Option<Change> {
        loop {
            let mut state = self.lock();
            let sub = state.find(key)?;
            match sub.marks.take() {
                None if matches!(sub.phase, Phase::Over(_)) || until.has_passed() => return None,
                None => self.wait(state, wake, until),
                change => return change,
            }
        }
    }

    pub(super) fn honoured(&self, key: u64) -> Filter {
        self.lock().find(key).map(|sub| sub.honoured.clone()).unwrap_or_default()
    }

    pub(super) fn end(&self, key: u64) -> Option<ChangesEnd> {
        match &self.lock().find(key)?.phase {
            Phase::Over(end) => Some(end.clone()),
            _ => None,
        }
    }

    /// Nobody listens to it any more. Its end stays known until it is removed.
    pub(super) fn end_of(&self, key: u64) {
        let stream = self.lock().find(key).and_then(|sub| {
            sub.marks = Default::default();
            sub.over(ChangesEnd::Closed);
            sub.stream.take()
        });
        self.given_up(stream);
    }

    pub(super) fn remove(&self, key: u64) {
        let removed = {
            let mut state = self.lock();
            let at = state.subs.iter().position(|sub| sub.key == key);
            at.map(|at| state.subs.swap_remove(at))
        };
        self.given_up(removed.and_then(|sub| sub.stream));
    }

    fn given_up(&self, stream: Option<i64>) {
        let settled = self.lock().on.as_ref().map(|on| Arc::clone(&on.settled));
        if let (Some(id), Some(settled)) = (stream, settled) {
            cancel(&settled, id);
        }
        self.call_thread();
    }

    /// Opens what is due. Never waits for the server.
    pub(super) fn open_due(&self, session: &Session) {
        loop {
            let opening = self.lock().next_due(Deadline::after(session.config.timeouts.call));
            let Some(opening) = opening else { break };
            self.open_stream(session, &opening);
        }
        if self.due_for_callbacks() > 0 {
            self.dispatcher.nudge();
        }
        self.call_thread();
    }

    /// spec: 2026-07-28 basic/patterns/subscriptions#opening-a-stream
    fn open_stream(&self, session: &Session, opening: &Opening) {
        let Opening { key, attempt, filter, settled } = opening;
        let (key, attempt) = (*key, *attempt);
        let this = Weak::clone(&self.this);
        let on_end = Box::new(move |end| {
            if let Some(hub) = this.upgrade() {
                hub.stream_ended(key, attempt, end);
            }
        });
        let mut stream = None;
        let sent = settled.peer.open_stream(Method::SubscriptionsListen.name(), on_end, |out, id| {
            // Before it is sent, so that no notice comes earlier.
            if let Some(sub) = self.lock().attempted(key, attempt) {
                sub.stream = Some(id);
            }
            stream = Some(id);
            out.extend_from_slice(b"{\"notifications\":");
            write_json(out, &filter.to_wire());
            out.push(b',');
            if !settled.stamp.write(out, None, &Object::new()) {
                out.pop();
            }
            out.push(b'}');
        });
        match sent {
            Ok(()) => {
                // If it was given up meanwhile, the cancellation may have been sent before it.
                let given_up = |sub: &Sub| matches!(sub.phase, Phase::Over(ChangesEnd::Closed));
                let is_given_up = self.lock().find(key).is_none_or(|sub| given_up(sub));
                if let Some(id) = stream.filter(|_| is_given_up) {
                    settled.peer.forget(id);
                    tell_cancelled(settled, id);
                }
            }
            Err(NotStarted::Busy(problem)) => self.failed(session, key, attempt, Error::Busy(problem)),
            Err(NotStarted::Closed) => {
                let during = During::Call(Method::SubscriptionsListen.name().to_owned());
                let error = session.closed(during, Some(&settled.peer), Duration::ZERO);
                self.failed(session, key, attempt, error);
            }
        }
    }

    fn failed(&self, session: &Session, key: u64, attempt: u64, error: Error) {
        if let Some(sub) = self.lock().attempted(key, attempt) {
            sub.failed(error, session.config.timeouts.reopen);
        }
    }

    /// From the reading thread.
    fn stream_ended(&self, key: u64, attempt: u64, end: StreamEnd) {
        let Some(session) = self.session.upgrade() else { return };
        let error = match end {
            // spec: 2026-07-28 basic/patterns/subscriptions#graceful-closure; a server that cancels means to end it as well
            StreamEnd::Answer(Ok(_)) | StreamEnd::Cancelled => None,
            StreamEnd::Answer(Err(NoResult::Error(error))) => Some(Error::Peer(error)),
            StreamEnd::Answer(Err(NoResult::Garbled(problem))) => Some(Error::Protocol(problem)),
            StreamEnd::Answer(Err(NoResult::Failed(failure))) => {
                let during = During::Call(Method::SubscriptionsListen.name().to_owned());
                let on = self.lock().on.as_ref().map(|on| Arc::clone(&on.settled));
                let Some(on) = on else { return }; // its end has been told
                Some(session.lost(during, &on.peer, Duration::ZERO, *failure, true))
            }
        };
        match error {
            Some(error) => self.failed(&session, key, attempt, error),
            None => {
                if let Some(sub) = self.lock().attempted(key, attempt) {
                    sub.ended();
                }
            }
        }
        if self.due_for_callbacks() > 0 {
            self.dispatcher.nudge();
        }
        self.call_thread();
    }

    /// Sees to it that the thread looks what there is to do.
    fn call_thread(&self) {
        let mut state = self.lock();
        if state.is_closed || state.next_time().is_none() {
            return;
        }
        if !state.is_running {
            let Some(this) = self.this.upgrade() else { return };
            let thread = std::thread::Builder::new().name("mcp-listen".into());
            match thread.spawn(move || this.run()) {
                Ok(_) => state.is_running = true,
                Err(e) => return state.cannot_run(&e),
            }
        }
        self.wake.notify_all();
    }

    /// The life of the thread `mcp-listen`, at most one a client: asks Legacy servers about resources, looks at the clock
    /// for what is being opened and for what is to be opened again. Ends when there is nothing of that left to do.
    fn run(&self) {
        loop {
            let Some(session) = self.session.upgrade() else { return self.rest() };
            self.open_due(&session);
            self.give_up_late(&session);
            let round = self.lock().round();
            if let Some(round) = round {
                let outcomes = round.ask(&session);
                self.lock().finish_round(round.number(), &outcomes, session.config.timeouts.reopen);
                continue;
            }
            drop(session);
            let mut state = self.lock();
            match state.next_time().filter(|_| !state.is_closed) {
                None => {
                    state.is_running = false;
                    return;
                }
                Some(at) => {
                    let left = at.saturating_duration_since(Instant::now());
                    drop(self.wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner));
                }
            }
        }
    }

    fn rest(&self) {
        self.lock().is_running = false;
    }

    /// Gives up what the server has not acknowledged in time.
    fn give_up_late(&self, session: &Arc<Session>) {
        let during = || During::Call(Method::SubscriptionsListen.name().to_owned());
        loop {
            let late = {
                let mut state = self.lock();
                let Some(settled) = state.on.as_ref().map(|on| Arc::clone(&on.settled)) else { return };
                state.take_late().map(|(key, attempt, id)| (settled, key, attempt, id))
            };
            let Some((settled, key, attempt, id)) = late else { return };
            id.into_iter().for_each(|id| cancel(&settled, id));
            let after = session.config.timeouts.call.unwrap_or_default();
            let error = Error::Timeout(session.failure(during(), Some(&settled.peer), after));
            self.failed(session, key, attempt, error);
        }
    }
}

impl SettledAgain for Hub {
    fn settled_again(&self) {
        self.settled();
    }
}

/// Gives up a subscription and tells the server.
fn cancel(settled: &Settled, id: i64) {
    if settled.peer.forget(id) {
        tell_cancelled(settled, id);
    }
}

/// spec: 2026-07-28 basic/patterns/subscriptions#cancellation (stdio: the client cancels the request)
fn tell_cancelled(settled: &Settled, id: i64) {
    let mut params = Vec::new();
    write_json(&mut params, &CancelledParams::new(id).with_reason("nobody listens any more".to_owned()));
    let params = String::from_utf8_lossy(&params);
    if let Err(e) = settled.peer.notify(Method::Cancelled.name(), Some(&params)) {
        log::debug!("the cancellation of {id} was not sent: {e:?}");
    }
}
