//! [`Session`]: one connection and what was settled on it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use super::builder::ClientBuilder;
use super::handshake;
#[cfg(feature = "validation")]
use super::results::ResultSchemas;
use super::role::ClientRole;
use crate::era::{Offered, RequestStamp};
use crate::error::{Error, Failure, Phase, Result};
use crate::peer::{CloseReport, Peer, Setup, Writing};
use crate::protocol::capability::ServerCapabilities;
use crate::protocol::lifecycle::Implementation;
use crate::protocol::version::ProtocolVersion;
use crate::sync::{Mutex, lock};
use crate::transport::{EndStep, Patience, Transport, tapped};

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

/// What was settled: fixed for the rest of the session.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) identity: ServerIdentity,
    pub(super) peer: Peer,
    /// What every request says in `_meta`.
    pub(super) stamp: RequestStamp,
}

impl Settled {
    pub(super) fn new(identity: ServerIdentity, peer: Peer, config: &ClientBuilder) -> Self {
        let stamp = config.stamp(&identity.version);
        Self { identity, peer, stamp }
    }

    pub(super) fn is_modern(&self) -> bool {
        self.stamp.is_modern()
    }
}

/// One connection. Shared by the owner and every handle.
pub(super) struct Session {
    pub(super) config: ClientBuilder,
    pub(super) offered: Offered,
    pub(super) role: Arc<ClientRole>,
    #[cfg(feature = "validation")]
    pub(super) results: ResultSchemas,
    settled: OnceLock<Settled>,
    /// Held while the protocol is being settled: others who need it wait for the same outcome. Closing does not take it.
    settling: Mutex<()>,
    /// Held for a look or an exchange, never while a connection is opened or closed.
    current: Mutex<Current>,
    is_closed: AtomicBool,
}

/// The connection as it is now. While the protocol is being settled a dead child may be replaced.
struct Current {
    peer: Option<Peer>,
    again: Option<Box<dyn Transport>>,
}

impl Session {
    pub(super) fn open(config: ClientBuilder, transport: Box<dyn Transport>) -> Result<Arc<Self>> {
        let offered = Offered::new(&config.versions)?;
        let again = transport.again();
        let session = Arc::new_cyclic(|session: &Weak<Self>| Self {
            role: Arc::new(ClientRole::new(config.notices.clone(), session.clone())),
            config,
            offered,
            #[cfg(feature = "validation")]
            results: ResultSchemas::default(),
            settled: OnceLock::new(),
            settling: Mutex::new(()),
            current: Mutex::new(Current { peer: None, again }),
            is_closed: AtomicBool::new(false),
        });
        let peer = session.start(transport)?;
        lock(&session.current).peer = Some(peer);
        Ok(session)
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
        let role = Arc::<ClientRole>::clone(&self.role);
        Peer::start(connection, role, &setup)
            .map_err(|error| Error::Transport { context: format!("cannot start a thread for {name}"), error })
    }

    /// What was settled; settles it if nobody has.
    pub(super) fn settled(&self) -> Result<&Settled> {
        if let Some(settled) = self.settled.get() {
            return Ok(settled);
        }
        let _settling = lock(&self.settling);
        if let Some(settled) = self.settled.get() {
            return Ok(settled);
        }
        let settled = handshake::settle(self)?;
        self.role.settle(settled.is_modern());
        Ok(self.settled.get_or_init(|| settled))
    }

    /// The engine, settled or not.
    pub(super) fn peer(&self) -> Result<Peer> {
        let peer = lock(&self.current).peer.clone();
        match peer {
            Some(peer) if !self.is_closed.load(Ordering::SeqCst) => Ok(peer),
            peer => Err(self.closed(Phase::Handshake, peer.as_ref(), Duration::ZERO)),
        }
    }

    /// Replaces a connection that died by a new one to the same server; `None` if that is not possible.
    pub(super) fn reopen(&self) -> Option<Result<Peer>> {
        if self.is_closed.load(Ordering::SeqCst) {
            return None; // it did not die, it was ended
        }
        let (old, transport, again) = {
            let mut current = lock(&self.current);
            let transport = current.again.take()?;
            let again = transport.again();
            (current.peer.take(), transport, again)
        };
        if let Some(old) = old {
            old.close("replaced", &Patience::default().with_exit(Duration::from_millis(200)));
        }
        let peer = match self.start(transport) {
            Ok(peer) => peer,
            Err(e) => return Some(Err(e)),
        };
        let mut current = lock(&self.current);
        current.again = again;
        current.peer = Some(peer.clone());
        drop(current);
        // The owner may have closed meanwhile, and would then not have seen this one.
        if self.is_closed.load(Ordering::SeqCst) {
            peer.close("closed by this client", &Patience::default());
            return Some(Err(self.closed(Phase::Handshake, Some(&peer), Duration::ZERO)));
        }
        Some(Ok(peer))
    }

    pub(super) fn close(&self, patience: &Patience) -> Result<CloseReport> {
        if self.is_closed.swap(true, Ordering::SeqCst) {
            return Ok(CloseReport::default());
        }
        // Also when a dead child is being replaced just now: whoever does that sees `is_closed` and ends the new one.
        self.role.close();
        let peer = lock(&self.current).peer.clone();
        let Some(peer) = peer else { return Ok(CloseReport::default()) };
        let report = peer.close("closed by this client", patience);
        match report.ending.step {
            EndStep::Stuck => Err(Error::Transport {
                context: format!("cannot end {}", peer.link().name()),
                error: std::io::Error::from(std::io::ErrorKind::TimedOut),
            }),
            _ => Ok(report),
        }
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
        let detail = if self.is_closed.load(Ordering::SeqCst) {
            Some("closed by this client".to_owned())
        } else {
            peer.and_then(Peer::end).flatten()
        };
        Box::new(Failure {
            phase,
            server: link.map_or_else(|| "no connection".to_owned(), |link| link.name().to_owned()),
            after,
            status: link.filter(|_| has_ended).and_then(|link| link.exit_status()),
            stderr_tail: link.map(|link| link.stderr_tail()).unwrap_or_default(),
            detail,
        })
    }

    pub(super) fn closed(&self, phase: Phase, peer: Option<&Peer>, after: Duration) -> Error {
        // A failed write comes before the end of the peer's output is read.
        Error::Closed(self.failure_of(phase, peer, after, true))
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.settled.get() {
            Some(settled) => write!(f, "{}, {}", settled.peer.link().name(), settled.identity.version),
            None => f.write_str("not settled"),
        }
    }
}
