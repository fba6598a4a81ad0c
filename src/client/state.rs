//! [`State`]: a connection, and how far it has come.
//!
//! ```text
//!          needed            done
//!  Opened ───────▶ Settling ─────▶ Settled
//!     ▲              │    ▲           │
//!     └─── failed ───┘    └ reconnect ┘      and from each of them to Closed, for good
//! ```
//!
//! **Invariants:** at most one [`Turn`] at a time, and what is needed to open the connection again belongs to it
//! meanwhile; the lock around the state is held for a look or an exchange, never while anybody waits or a connection is
//! opened or closed.

use std::convert::Infallible;
use std::mem;
use std::sync::{Arc, OnceLock};

use crossbeam_channel::{Receiver, Sender, bounded, never, select};

use super::session::Settled;
use crate::error::{Error, Result};
use crate::peer::{Peer, Waiting};
use crate::sync::{CancelToken, Mutex, lock};
use crate::transport::Transport;

/// A copy of the transport, to open it again; `None` where that makes no sense.
pub(super) type Again = Option<Box<dyn Transport>>;

pub(super) enum State {
    /// There is a connection, alive or not, and the protocol is not settled on it.
    Opened(Line),
    /// A [`Turn`] is under way. The connection is known here so that closing can end it.
    Settling {
        peer: Peer,
        flight: Arc<Flight>,
    },
    Settled {
        settled: Arc<Settled>,
        again: Again,
    },
    /// By the owner. What was settled stays known.
    Closed {
        peer: Option<Peer>,
        settled: Option<Arc<Settled>>,
    },
}

/// A connection on which nothing is settled.
pub(super) struct Line {
    pub(super) peer: Peer,
    pub(super) again: Again,
    /// An `initialize` that was sent and whose caller was cancelled. It must not be cancelled itself, and a server may
    /// refuse a second one: whoever settles next waits for the same answer.
    pub(super) greeting: Option<Waiting>,
    /// An earlier connection of this client was settled.
    pub(super) is_another: bool,
    /// It was ended to be replaced, and could not be: only a reconnect helps.
    pub(super) is_lost: bool,
}

impl Line {
    pub(super) fn new(peer: Peer, again: Again) -> Self {
        Self { peer, again, greeting: None, is_another: false, is_lost: false }
    }

    fn take(&mut self) -> Self {
        let (again, greeting) = (self.again.take(), self.greeting.take());
        Self { peer: self.peer.clone(), again, greeting, ..*self }
    }
}

/// A turn as those see it who wait for its end.
pub(super) struct Flight {
    /// Disconnected at the end. Nothing is ever sent.
    over: Receiver<Infallible>,
    /// How it ended, for those who asked for the same.
    outcome: OnceLock<Result<Arc<Settled>>>,
}

impl Flight {
    /// Waits for the end.
    ///
    /// # Errors
    /// When `cancel` fires before.
    pub(super) fn wait(&self, cancel: Option<&CancelToken>) -> Result<()> {
        let cancelled = cancel.map_or_else(never, CancelToken::receiver);
        select! {
            recv(self.over) -> _ => Ok(()),
            recv(cancelled) -> _ => {
                let reason = cancel.and_then(CancelToken::reason).unwrap_or("cancelled");
                Err(Error::Cancelled(reason.to_owned()))
            }
        }
    }

    /// Tells those who asked for the same; before the turn ends.
    pub(super) fn conclude(&self, outcome: &Result<Arc<Settled>>) {
        // Set once: by the holder of the turn.
        let _ = self.outcome.set(match outcome {
            Ok(settled) => Ok(Arc::clone(settled)),
            Err(error) => Err(error.copy()),
        });
    }

    /// `None` if whoever asks is to try it.
    pub(super) fn outcome(&self) -> Option<Result<Arc<Settled>>> {
        Some(match self.outcome.get()? {
            Ok(settled) => Ok(Arc::clone(settled)),
            Err(error) => Err(error.copy()),
        })
    }
}

/// The right to settle the protocol. Its end leaves the connection to the next one, unless it is settled or closed by then.
pub(super) struct Turn<'a> {
    state: &'a Mutex<State>,
    pub(super) line: Line,
    pub(super) flight: Arc<Flight>,
    /// Dropped after the state has been changed.
    _running: Sender<Infallible>,
}

/// What was found by one who needs something of the connection.
pub(super) enum Found<'a, T> {
    /// There is nothing to be done.
    Final(T),
    /// It is up to the finder.
    Turn(Turn<'a>),
    /// Somebody is at it.
    UnderWay(Arc<Flight>),
    Closed(Option<Peer>),
}

impl State {
    /// Before the first connection.
    pub(super) fn new() -> Mutex<Self> {
        Mutex::new(Self::Closed { peer: None, settled: None })
    }

    /// For one who needs the protocol settled.
    pub(super) fn find(state: &Mutex<Self>) -> Found<'_, Arc<Settled>> {
        let mut now = lock(state);
        match &mut *now {
            Self::Opened(line) => {
                let line = line.take();
                Found::Turn(now.begin(line, state))
            }
            Self::Settling { flight, .. } => Found::UnderWay(Arc::clone(flight)),
            Self::Settled { settled, .. } | Self::Closed { settled: Some(settled), .. } => {
                Found::Final(Arc::clone(settled))
            }
            Self::Closed { peer, .. } => Found::Closed(peer.clone()),
        }
    }

    /// For one who wants another connection than the one there is, or than `old`, in whose place somebody may have put one;
    /// there is none if it cannot be opened again.
    pub(super) fn find_another<'a>(
        state: &'a Mutex<Self>,
        old: Option<&Peer>,
    ) -> Found<'a, Option<Arc<Settled>>> {
        let mut now = lock(state);
        match &mut *now {
            Self::Settled { settled, .. } if old.is_some_and(|old| !settled.peer.is(old)) => {
                Found::Final(Some(Arc::clone(settled)))
            }
            Self::Opened(Line { again: None, .. }) | Self::Settled { again: None, .. } => Found::Final(None),
            Self::Opened(line) => {
                let line = line.take();
                Found::Turn(now.begin(line, state))
            }
            Self::Settled { settled, again } => {
                let line = Line { is_another: true, ..Line::new(settled.peer.clone(), again.take()) };
                Found::Turn(now.begin(line, state))
            }
            Self::Settling { flight, .. } => Found::UnderWay(Arc::clone(flight)),
            Self::Closed { peer, .. } => Found::Closed(peer.clone()),
        }
    }

    fn begin<'a>(&mut self, line: Line, state: &'a Mutex<Self>) -> Turn<'a> {
        let (running, over) = bounded(0);
        let flight = Arc::new(Flight { over, outcome: OnceLock::new() });
        *self = Self::Settling { peer: line.peer.clone(), flight: Arc::clone(&flight) };
        Turn { state, line, flight, _running: running }
    }

    /// Closes for good; the connection that is to be ended, if it was not closed before.
    pub(super) fn close(state: &Mutex<Self>) -> Option<Peer> {
        let mut now = lock(state);
        let (peer, settled) = match &*now {
            Self::Opened(Line { peer, .. }) | Self::Settling { peer, .. } => (peer.clone(), None),
            Self::Settled { settled, .. } => (settled.peer.clone(), Some(Arc::clone(settled))),
            Self::Closed { .. } => return None,
        };
        let before = mem::replace(&mut *now, Self::Closed { peer: Some(peer.clone()), settled });
        drop(now);
        drop(before); // with a transport of somebody else: not under the lock
        Some(peer)
    }

    /// The connection there is, or was at last.
    pub(super) fn peer(&self) -> Option<Peer> {
        match self {
            Self::Opened(Line { peer, .. }) | Self::Settling { peer, .. } => Some(peer.clone()),
            Self::Settled { settled, .. } => Some(settled.peer.clone()),
            Self::Closed { peer, .. } => peer.clone(),
        }
    }

    /// What is settled at the moment, or was at last.
    pub(super) fn known(&self) -> Option<Arc<Settled>> {
        match self {
            Self::Settled { settled, .. } => Some(Arc::clone(settled)),
            Self::Closed { settled, .. } => settled.clone(),
            Self::Opened(_) | Self::Settling { .. } => None,
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(self, Self::Closed { .. })
    }

    /// Whether `peer` is the connection that calls are made on.
    pub(super) fn is_settled_on(&self, peer: &Peer) -> bool {
        matches!(self, Self::Settled { settled, .. } if settled.peer.is(peer))
    }
}

impl Turn<'_> {
    /// Puts `peer` in the place of the connection there was; `false` if the owner has closed meanwhile, who has
    /// not seen this one.
    #[must_use]
    pub(super) fn replace(&mut self, peer: &Peer) -> bool {
        self.line.is_lost = false;
        let old = mem::replace(&mut self.line.peer, peer.clone());
        let is_open = match &mut *lock(self.state) {
            State::Settling { peer: now, .. } => {
                *now = peer.clone();
                true
            }
            _ => false,
        };
        drop(old); // and with it what was somebody else's: not under the lock
        is_open
    }

    /// The protocol is settled, unless the owner has closed meanwhile. `tell` is called under the lock.
    pub(super) fn finish(&mut self, settled: &Arc<Settled>, tell: impl FnOnce()) -> bool {
        let mut now = lock(self.state);
        if !matches!(&*now, State::Settling { .. }) {
            return false;
        }
        *now = State::Settled { settled: Arc::clone(settled), again: self.line.again.take() };
        tell();
        true
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut now = lock(self.state);
        if matches!(&*now, State::Settling { .. }) {
            *now = State::Opened(self.line.take());
        }
    }
}
