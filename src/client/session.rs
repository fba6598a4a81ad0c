//! [`Session`]: a client's connection and what was settled on it. The steps it goes through are [`State`]'s.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::answer::Answers;
use super::builder::ClientBuilder;
use super::cache::Cache;
use super::changes::Hub;
use super::handshake;
use super::log_level::Level;
use super::notices::Dispatcher;
use super::resend::Repeatable;
#[cfg(feature = "validation")]
use super::results::ResultSchemas;
use super::role::ClientRole;
use super::state::{Found, Line, State, Turn};
use crate::era::{Offered, RequestStamp};
use crate::error::{Error, Failure, Phase, Result};
use crate::json::Object;
use crate::peer::{CloseReport, NotSent, Peer, Setup, Writing};
use crate::protocol::TASKS_EXTENSION;
use crate::protocol::capability::ServerCapabilities;
use crate::protocol::lifecycle::Implementation;
use crate::protocol::version::ProtocolVersion;
use crate::sync::{CancelToken, Mutex, lock};
use crate::transport::{EndStep, FailureKind, Patience, RequestFailure, Transport, tapped};

/// What a server said of itself. Self-reported: for display and logs, not for decisions about trust.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ServerIdentity {
    /// The revision that is spoken.
    pub version: ProtocolVersion,
    /// Name and version; a Modern server may keep them to itself.
    pub info: Option<Implementation>,
    /// What it offers.
    pub capabilities: ServerCapabilities,
    /// How a model should use it.
    pub instructions: Option<String>,
}

/// What was settled on a connection: fixed for the rest of its life.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) identity: Arc<ServerIdentity>,
    pub(super) peer: Peer,
    /// What every request says in `_meta`.
    pub(super) stamp: RequestStamp,
    /// `None` where nothing is to be kept.
    pub(super) cache: Option<Arc<Cache>>,
}

impl Settled {
    pub(super) fn new(identity: impl Into<Arc<ServerIdentity>>, peer: Peer, config: &ClientBuilder) -> Self {
        let identity = identity.into();
        let stamp = config.stamp(&identity.version);
        // spec: 2026-07-28 server/utilities/caching (results of earlier revisions say nothing of it)
        let cache = (config.is_caching && stamp.is_modern()).then(Arc::default);
        Self { identity, peer, stamp, cache }
    }

    pub(super) fn is_modern(&self) -> bool {
        self.stamp.is_modern()
    }
}

/// What has to be done once more on a further connection: something that the server was told, or that was learned of it.
pub(super) trait SettledAgain: Send + Sync {
    /// The protocol was settled on a connection that is not the first one. Called by whoever settled it, without any
    /// lock; calls may be made.
    fn settled_again(&self);
}

/// So many may want to be told. Each part of the client registers once, so that this is never reached.
const LISTENERS: usize = 64;

/// Calls that are open in a session that ended may hear the same from the server, and then be made again, this long; then
/// they are cut off.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// One connection at a time. Shared by the owner and every handle.
pub(super) struct Session {
    pub(super) config: ClientBuilder,
    pub(super) offered: Offered,
    /// Who is told of changes.
    pub(super) changes: Arc<Hub>,
    pub(super) answers: Arc<Answers>,
    role: Arc<ClientRole>,
    pub(super) level: Arc<Level>,
    pub(super) state: Mutex<State>,
    /// Bound: [`LISTENERS`]. End of each: its owner's.
    listeners: Mutex<Vec<Weak<dyn SettledAgain>>>,
    pub(super) repeatable: Repeatable,
    #[cfg(feature = "validation")]
    pub(super) results: ResultSchemas,
}

impl Session {
    pub(super) fn open(mut config: ClientBuilder, transport: Box<dyn Transport>) -> Result<Arc<Self>> {
        let offered = Offered::new(&config.versions)?;
        let mut handlers = std::mem::take(&mut config.handlers);
        handlers.for_one_client()?;
        config.capabilities = handlers.capabilities();
        if config.tasks {
            config.capabilities = config.capabilities.with_extension(TASKS_EXTENSION, &Object::new());
        }
        let answers = Arc::new(Answers::new(handlers, config.capabilities.clone()));
        let again = transport.again();
        let session = Arc::new_cyclic(|session: &Weak<Self>| {
            let filter = config.notices.filter();
            let dispatcher = Arc::new(Dispatcher::new(config.notices.clone(), session.clone()));
            Self {
                role: Arc::new(ClientRole::new(&dispatcher, &answers, session)),
                changes: Hub::new(filter, dispatcher, session.clone()),
                level: Arc::new(Level::new(session.clone())),
                config,
                offered,
                answers,
                state: State::new(),
                listeners: Mutex::default(),
                repeatable: Repeatable::default(),
                #[cfg(feature = "validation")]
                results: ResultSchemas::default(),
            }
        });
        let (changes, level) = (Arc::downgrade(&session.changes), Arc::downgrade(&session.level));
        session.on_settled_again(changes)?;
        session.on_settled_again(level)?;
        let peer = session.start(transport)?;
        *lock(&session.state) = State::Opened(Line::new(peer, again));
        Ok(session)
    }

    /// The server of the handshake may ask something from now on.
    pub(super) fn greet(&self, server: &Arc<ServerIdentity>) {
        self.role.greet(server);
    }

    /// Tells a Legacy server something that it need not know if it is not ready yet; others are told nothing.
    ///
    /// # Errors
    /// When too much waits for a server that does not read.
    pub(super) fn tell_legacy(&self, method: &str) -> Result<()> {
        let peer = lock(&self.state).peer();
        match peer.filter(|_| self.role.greeted().is_some()).map(|peer| peer.notify(method, None)) {
            Some(Err(NotSent::Full(limit))) => {
                Err(Error::Busy(format!("{limit} bytes wait for a server that does not read")))
            }
            // The server of the next connection will ask by itself.
            Some(Err(NotSent::Closed(_)) | Ok(())) | None => Ok(()),
        }
    }

    /// What the server said of itself, as far as that is known at the moment; asks nobody.
    pub(super) fn identity(&self) -> Option<Arc<ServerIdentity>> {
        lock(&self.state).known().map(|settled| Arc::clone(&settled.identity))
    }

    /// What the transport calls the server.
    pub(super) fn origin(&self) -> String {
        let peer = lock(&self.state).peer();
        peer.map_or_else(|| "no connection".to_owned(), |peer| peer.link().name().to_owned())
    }

    /// Tells `listener` of every further connection.
    ///
    /// # Errors
    /// When too many want to be told.
    pub(super) fn on_settled_again(&self, listener: Weak<dyn SettledAgain>) -> Result<()> {
        let mut listeners = lock(&self.listeners);
        listeners.retain(|listener| listener.strong_count() > 0);
        if listeners.len() >= LISTENERS {
            return Err(Error::Busy(format!("{LISTENERS} parts of the client are told of a reconnect")));
        }
        listeners.push(listener);
        Ok(())
    }

    /// Opens `transport` and starts the engine on it.
    fn start(&self, transport: Box<dyn Transport>) -> Result<Peer> {
        let opened = transport.open(&self.config.open_options());
        let mut connection =
            opened.map_err(|error| Error::Transport { context: "cannot connect".into(), error })?;
        if let Some(tap) = &self.config.tap {
            connection = tapped(connection, tap);
        }
        let name = connection.link.name().to_owned();
        let setup =
            Setup { limits: self.config.limits.clone(), writing: Writing::Threaded, runs_short_calls: false };
        self.role.begin();
        let role = Arc::<ClientRole>::clone(&self.role);
        Peer::start(connection, role, &setup)
            .map_err(|error| Error::Transport { context: format!("cannot start a thread for {name}"), error })
    }

    /// What was settled; settles it if nobody has. Whoever waits, for the server or for another who settles it, does so
    /// until `cancel` fires.
    pub(super) fn settled(&self, cancel: Option<&CancelToken>) -> Result<Arc<Settled>> {
        loop {
            match State::find(&self.state) {
                Found::Final(settled) => return Ok(settled),
                Found::UnderWay(flight) => flight.wait(cancel)?,
                Found::Turn(mut turn) => {
                    let settled = self.settle(&mut turn, cancel)?;
                    turn.flight.conclude(&Ok(Arc::clone(&settled)));
                    self.after(turn);
                    return Ok(settled);
                }
                Found::Closed(peer) => {
                    return Err(self.closed(Phase::Handshake, peer.as_ref(), Duration::ZERO));
                }
            }
        }
    }

    /// Ends the connection, opens another to the same server and settles the protocol on that. If somebody is at it, the
    /// outcome is the same; one who settles the protocol meanwhile makes as fresh a connection, if that goes well.
    pub(super) fn reconnect(&self) -> Result<Arc<Settled>> {
        let another = self.another(None, None)?;
        another.ok_or_else(|| Error::Unsupported(format!("{} cannot be opened again", self.origin())))
    }

    /// Another connection in place of `old`, whose session the server does not know any more; the one that somebody else
    /// has made in its place, if so. `None` if it cannot be opened again.
    ///
    /// spec: 2025-11-25 basic/transports#session-management (the client MUST start a new session)
    pub(super) fn renew(&self, old: &Settled, cancel: Option<&CancelToken>) -> Result<Option<Arc<Settled>>> {
        self.another(Some(&old.peer), cancel)
    }

    pub(super) fn another(
        &self,
        old: Option<&Peer>,
        cancel: Option<&CancelToken>,
    ) -> Result<Option<Arc<Settled>>> {
        loop {
            match State::find_another(&self.state, old) {
                Found::Final(another) => return Ok(another),
                Found::UnderWay(flight) => {
                    flight.wait(cancel)?;
                    if let Some(outcome) = flight.outcome() {
                        return outcome.map(Some);
                    }
                }
                Found::Turn(mut turn) => {
                    if let Some(old) = old {
                        old.await_answers(LAST_ANSWERS);
                    }
                    let outcome = match self.reopen(&mut turn, &self.config.patience) {
                        Some(Ok(())) => self.settle(&mut turn, cancel),
                        Some(Err(error)) => Err(error),
                        None => Err(self.closed(Phase::Handshake, Some(&turn.line.peer), Duration::ZERO)),
                    };
                    // That this caller gave up is no outcome for others.
                    if !matches!(outcome, Err(Error::Cancelled(_))) {
                        turn.flight.conclude(&outcome);
                    }
                    if outcome.is_ok() {
                        self.after(turn);
                    }
                    return outcome.map(Some);
                }
                Found::Closed(peer) => {
                    return Err(self.closed(Phase::Handshake, peer.as_ref(), Duration::ZERO));
                }
            }
        }
    }

    fn settle(&self, turn: &mut Turn<'_>, cancel: Option<&CancelToken>) -> Result<Arc<Settled>> {
        if turn.line.is_lost {
            return Err(self.closed(Phase::Handshake, Some(&turn.line.peer), Duration::ZERO));
        }
        let settled = Arc::new(handshake::settle(self, turn, cancel)?);
        let tell = || {
            self.role.settle(settled.is_modern());
            self.role.keep_true(settled.cache.as_ref());
        };
        if turn.finish(&settled, tell) {
            Ok(settled)
        } else {
            Err(self.closed(Phase::Handshake, Some(&settled.peer), Duration::ZERO))
        }
    }

    /// After a turn that went well.
    fn after(&self, turn: Turn<'_>) {
        let is_another = turn.line.is_another;
        drop(turn); // whoever waits for it need not wait for this
        if is_another {
            let listeners: Vec<_> = lock(&self.listeners).iter().filter_map(Weak::upgrade).collect();
            listeners.iter().for_each(|listener| listener.settled_again());
        } else {
            self.changes.settled();
        }
    }

    /// What was settled on the connection that calls are made on now, if there is one.
    pub(super) fn current(&self) -> Option<Arc<Settled>> {
        match &*lock(&self.state) {
            State::Settled { settled, .. } => Some(Arc::clone(settled)),
            _ => None,
        }
    }

    /// Whether calls are made, or will be, on another connection than that of `settled`.
    pub(super) fn has_replaced(&self, settled: &Settled) -> bool {
        let state = lock(&self.state);
        !state.is_closed() && !state.is_settled_on(&settled.peer)
    }

    /// Ends the connection and opens another to the same server; `None` if that is not possible. What was there before is
    /// gone then.
    pub(super) fn reopen(&self, turn: &mut Turn<'_>, patience: &Patience) -> Option<Result<()>> {
        if lock(&self.state).is_closed() {
            return None; // it did not die, it was ended
        }
        let transport = turn.line.again.take()?;
        (turn.line.is_lost, turn.line.greeting) = (true, None);
        let old = &turn.line.peer;
        let report = old.close("replaced by another connection", patience);
        log::debug!("{} is started again; it {}", old.link().name(), report.ending);
        if let Err(stuck) = not_stuck(old, report) {
            turn.line.again = Some(transport);
            return Some(Err(stuck));
        }
        turn.line.again = transport.again();
        Some(self.start(transport).and_then(|peer| {
            if turn.replace(&peer) {
                return Ok(());
            }
            peer.close("closed by this client", &self.config.patience);
            Err(self.closed(Phase::Handshake, Some(&peer), Duration::ZERO))
        }))
    }

    pub(super) fn close(&self) -> Result<CloseReport> {
        // Also when a connection is being opened just now: whoever does that sees that it is closed and ends the new one.
        let Some(peer) = State::close(&self.state) else { return Ok(CloseReport::default()) };
        self.changes.close();
        let report = peer.close("closed by this client", &self.config.patience);
        not_stuck(&peer, report)
    }

    pub(super) fn noise(&self) -> u64 {
        self.role.noise()
    }

    /// Everything known about the connection, for an error.
    pub(super) fn failure(&self, phase: Phase, peer: Option<&Peer>, after: Duration) -> Box<Failure> {
        let has_ended = peer.is_none_or(|peer| peer.end().is_some());
        self.failure_of(phase, peer, after, has_ended)
    }

    fn failure_of(
        &self,
        phase: Phase,
        peer: Option<&Peer>,
        after: Duration,
        has_ended: bool,
    ) -> Box<Failure> {
        let link = peer.map(Peer::link);
        let is_call = matches!(phase, Phase::Call(_));
        let (is_closed, is_current) = {
            let state = lock(&self.state);
            (state.is_closed(), peer.is_none_or(|peer| state.is_settled_on(peer)))
        };
        let detail = if is_closed {
            Some("closed by this client".to_owned())
        } else {
            let end = peer.and_then(Peer::end).flatten();
            end.or_else(|| (is_call && !is_current).then(|| "this client reconnected".to_owned()))
        };
        Box::new(Failure {
            phase,
            server: link.map_or_else(|| "no connection".to_owned(), |link| link.name().to_owned()),
            after,
            status: link.filter(|_| has_ended).and_then(|link| link.exit_status()),
            stderr_tail: link.map(|link| link.stderr_tail()).unwrap_or_default(),
            detail,
            is_closed: has_ended,
        })
    }

    /// A request failed by itself; the connection goes on. `is_repeatable`: it does no harm if it was carried out and is made
    /// once more.
    pub(super) fn lost(
        &self,
        phase: Phase,
        peer: &Peer,
        after: Duration,
        request: RequestFailure,
        is_repeatable: bool,
    ) -> Error {
        let mut failure = self.failure(phase, Some(peer), after);
        failure.detail = Some(request.problem);
        match request.kind {
            FailureKind::NotSent => Error::Unreachable(failure),
            FailureKind::OutcomeUnknown if is_repeatable => Error::Unreachable(failure),
            FailureKind::OutcomeUnknown => Error::OutcomeUnknown(failure),
            FailureKind::Refused => Error::Rejected { status: request.status, failure },
            FailureKind::SessionEnded => Error::SessionEnded(failure),
        }
    }

    pub(super) fn closed(&self, phase: Phase, peer: Option<&Peer>, after: Duration) -> Error {
        // A failed write comes before the end of the peer's output is read.
        Error::Closed(self.failure_of(phase, peer, after, true))
    }
}

/// An error if the server's process could not be ended.
fn not_stuck(peer: &Peer, report: CloseReport) -> Result<CloseReport> {
    match report.ending.step {
        EndStep::Stuck => Err(Error::Transport {
            context: format!("cannot end {}", peer.link().name()),
            error: std::io::Error::from(std::io::ErrorKind::TimedOut),
        }),
        _ => Ok(report),
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*lock(&self.state) {
            State::Settled { settled, .. } | State::Closed { settled: Some(settled), .. } => {
                write!(f, "{}, {}", settled.peer.link().name(), settled.identity.version)
            }
            _ => f.write_str("not settled"),
        }
    }
}
