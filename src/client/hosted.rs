//! What a host has to know of its clients: whether the connection is alive and which it is, and what a call has come to.
//!
//! **Invariant:** nothing here waits for a server but [`ClientHandle::revive`] and [`Ping::wait`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, TryRecvError};

use super::call::{CallOptions, Open, start_request};
use super::resend::Repeatable;
use super::session::{Session, Settled};
use super::state::State;
use super::{ClientHandle, Timeouts};
use crate::error::{Error, Failure, Phase, Result};
use crate::peer::Peer;
use crate::sync::{CancelToken, lock};

/// One connection of a client, to be told from those before and after it.
#[derive(Clone, Debug)]
pub(crate) struct Mark(Peer);

/// Whether a call is known to have begun on the server: it was answered, if only with a question or with a task, and made again
/// or waited for. Then an error that says that nothing was sent is about a later request of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Begun(Arc<AtomicBool>);

impl Begun {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    pub(super) fn note(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl CallOptions {
    pub(crate) fn cancel_token(&self) -> Option<&CancelToken> {
        self.cancel.as_ref()
    }

    /// Whether whoever makes the call says that it can be repeated.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.is_repeatable
    }

    /// The timeout and the total, and whether progress starts the timeout anew; what is not set is that of `timeouts`.
    pub(crate) fn times(&self, timeouts: &Timeouts) -> (Option<Duration>, Option<Duration>, bool) {
        let resets = self.resets.unwrap_or(timeouts.reset_on_progress);
        (self.timeout.unwrap_or(timeouts.call), self.total.unwrap_or(timeouts.call_total), resets)
    }

    /// The same call, of whose times so much is gone.
    pub(crate) fn shortened(self, spent: Duration, timeouts: &Timeouts) -> Self {
        if spent.is_zero() {
            return self;
        }
        let (timeout, total, resets) = self.times(timeouts);
        let left = |time: Option<Duration>| time.map(|time| time.saturating_sub(spent));
        let timeout = if resets { timeout } else { left(timeout) };
        self.with_timeout(timeout).with_total(left(total))
    }

    /// The same call, of which `begun` learns whether it began.
    pub(crate) fn watched_by(mut self, begun: &Begun) -> Self {
        self.begun = Some(begun.clone());
        self
    }

    /// The same call, which is made on the connection `mark` and on no other.
    pub(crate) fn only_on(mut self, mark: &Mark) -> Self {
        self.only_on = Some(mark.clone());
        self.staying()
    }

    /// Whether it may be made on the connection of `settled`.
    ///
    /// # Errors
    /// [`Error::SessionEnded`], as the connection it belongs to was replaced.
    pub(super) fn check_connection(&self, session: &Session, settled: &Settled, method: &str) -> Result<()> {
        match &self.only_on {
            Some(mark) if !mark.0.is(&settled.peer) => {
                let phase = Phase::Call(method.to_owned());
                let mut failure = session.failure(phase, Some(&settled.peer), Duration::ZERO);
                failure.detail = Some("the conversation ended with its connection".to_owned());
                Err(Error::SessionEnded(failure))
            }
            _ => Ok(()),
        }
    }
}

/// A `ping` that is under way.
pub(crate) struct Ping(Open);

impl Ping {
    /// Waits for the answer, at most the time that was given; whether there is one.
    pub(crate) fn wait(&self) -> Result<()> {
        match self.0.wait() {
            // Whoever knows no ping answers all the same.
            Ok(_) | Err(Error::Peer(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl ClientHandle {
    /// Becomes ready (disconnected) when the connection that there is now has ended; `None` if there was never one.
    pub(crate) fn ended(&self) -> Option<Receiver<()>> {
        lock(&self.session.state).peer().map(|peer| peer.ended())
    }

    /// How the connection of now has ended, for people.
    pub(crate) fn how_it_ended(&self) -> String {
        let peer = lock(&self.session.state).peer();
        let error = self.session.closed(Phase::Handshake, peer.as_ref(), Duration::ZERO);
        let how = error.failure().map(ToString::to_string).unwrap_or_default();
        how.trim_start_matches(": ").to_owned()
    }

    /// How many answers came on the connection of now to what was never asked.
    pub(crate) fn strays(&self) -> u64 {
        lock(&self.session.state).peer().map_or(0, |peer| peer.strays())
    }

    /// The connection that calls are made on, if the protocol is settled on it and it is alive as far as one can tell.
    pub(crate) fn mark(&self) -> Option<Mark> {
        let settled = self.session.current()?;
        is_alive(&settled.peer).then(|| Mark(settled.peer.clone()))
    }

    /// Whether its owner has closed it.
    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.session.state).is_closed()
    }

    /// Whether its connection has ended, or was never opened, as far as one can tell.
    pub(crate) fn has_ended(&self) -> bool {
        !lock(&self.session.state).peer().as_ref().is_some_and(is_alive)
    }

    /// Whether Modern is spoken; `None` as long as nothing is settled.
    pub(crate) fn is_modern(&self) -> Option<bool> {
        self.session.current().map(|settled| settled.is_modern())
    }

    /// What the server is called in messages.
    pub(crate) fn server_name(&self) -> String {
        self.session.origin()
    }

    pub(crate) fn timeouts(&self) -> &Timeouts {
        &self.session.config.timeouts
    }

    /// The tools that can be repeated, as of the last listing.
    pub(crate) fn repeatable(&self) -> &Repeatable {
        &self.session.repeatable
    }

    /// Sees to it that there is a connection that is alive, with the protocol settled on it: nothing is done if there is one, the
    /// protocol is settled if that is all that is missing, and else the server is started again. `by_force`: one that
    /// has not settled the protocol is not given another chance, as it may hang. Whoever asks at the same time shares the outcome.
    ///
    /// # Errors
    /// As [`reconnect`](Self::reconnect).
    pub(crate) fn revive(&self, by_force: bool) -> Result<()> {
        let (old, is_settled) = {
            let state = lock(&self.session.state);
            let is_settled = matches!(&*state, State::Settled { .. });
            (state.peer(), is_settled)
        };
        let is_alive = old.as_ref().is_some_and(is_alive);
        match old {
            Some(_) if is_alive && is_settled => Ok(()),
            Some(old) if !is_alive || by_force => self.replace(&old),
            _ => self.session.settled(None).map(drop),
        }
    }

    /// Starts the server once more if `mark` is still its connection, also if that seems to be alive.
    ///
    /// # Errors
    /// As [`reconnect`](Self::reconnect).
    pub(crate) fn replace_mark(&self, mark: &Mark) -> Result<()> {
        self.replace(&mark.0)
    }

    fn replace(&self, old: &Peer) -> Result<()> {
        // Not a connection that somebody has made in its place meanwhile.
        let another = self.session.another(Some(old), None)?;
        let name = || Error::Unsupported(format!("{} cannot be opened again", self.server_name()));
        another.map(drop).ok_or_else(name)
    }

    /// Asks whether the server is alive, without waiting for the answer.
    ///
    /// # Errors
    /// When it cannot be sent.
    pub(crate) fn start_ping(&self, time: Duration) -> Result<Ping> {
        let settled = self.session.current();
        let settled = settled.ok_or_else(|| self.session.closed(Phase::Handshake, None, Duration::ZERO))?;
        let method = if settled.is_modern() { "server/discover" } else { "ping" };
        let options = CallOptions::default().with_timeout(time).with_total(time).staying();
        start_request(&self.session, settled, method, &[], &options).map(Ping)
    }

    /// Everything known about the connection, for an error that is raised elsewhere.
    pub(crate) fn failure(&self, phase: Phase, after: Duration, detail: String) -> Box<Failure> {
        let peer = lock(&self.session.state).peer();
        let mut failure = self.session.failure(phase, peer.as_ref(), after);
        failure.detail = Some(detail);
        failure
    }
}

/// Whether something can be sent and answered, as far as one can tell without asking.
fn is_alive(peer: &Peer) -> bool {
    // Nothing is ever sent on it: it is empty as long as no write has failed.
    peer.end().is_none() && peer.broken().try_recv() == Err(TryRecvError::Empty)
}
