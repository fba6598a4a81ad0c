//! Settling the protocol: the Modern probe, and the handshake it falls back to.
//!
//! ```text
//!  server/discover ─┬─ DiscoverResult ──────────────▶ Modern, with a revision both speak
//!                   ├─ -32022 with data.supported ──▶ Modern, asked again with one of those
//!                   ├─ -32020, -32021 ──────────────▶ Modern, and the error
//!                   ├─ any other answer, or silence ▶ initialize
//!                   ├─ not sent, HTTP 401, 403, 429, 503 ──▶ the error
//!                   ├─ any other failure ───────────▶ initialize
//!                   └─ the child dies ─────────────▶ started again, then initialize
//! ```
//!
//! spec: 2026-07-28 basic/transports/stdio#backward-compatibility, basic/transports/streamable-http#backward-compatibility

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::call::must_be_complete;
use super::lists::without_unsafe;
use super::session::{ServerIdentity, Session, Settled};
use super::state::Turn;
use crate::era::{Offered, choose, lowered};
use crate::error::{Error, Phase, Result};
use crate::json::{FromJson, Object};
use crate::jsonrpc::{ErrorCode, ErrorObject, write_json};
use crate::peer::{NoResult, NotStarted, Patient, Peer, Waited, Waiting, wait};
use crate::protocol::lifecycle::{DiscoverResult, Implementation, InitializeParams, InitializeResult};
use crate::protocol::meta;
use crate::protocol::version::ProtocolVersion;
use crate::sync::{CancelToken, Deadline};
use crate::transport::{FailureKind, Patience, RequestFailure};

/// What the probe said.
enum Probed {
    Modern(Box<ServerIdentity>),
    /// The server speaks only the handshake, as far as one can tell; why.
    Legacy(String),
    /// What carried the probe failed, which says nothing of what the server speaks.
    Lost(Error),
    /// The child died of the probe.
    Died(Error),
}

/// What one `server/discover` brought.
enum Discovered {
    Result(Box<DiscoverResult>),
    /// The server's error, which may name the revisions to ask with instead.
    Error(ErrorObject),
    /// No answer of a Modern server.
    Other(Probed),
}

/// Settles the protocol on the connection of `turn`, or on another to the same server if it dies of the probe.
///
/// # Errors
/// Also when `cancel` fires. The connection is as good for the next try as before.
pub(super) fn settle(
    session: &Session,
    turn: &mut Turn<'_>,
    cancel: Option<&CancelToken>,
) -> Result<Settled> {
    let peer = turn.line.peer.clone();
    let legacy = session.offered.legacy();
    let deadline = Deadline::after(session.config.timeouts.connect);
    let patience = Some(session.config.timeouts.probe);
    let handshake = Handshake { session, cancel, start: Instant::now(), deadline, patience };
    let preferred = session.offered.latest();
    let probed = if turn.line.greeting.is_some() {
        Probed::Legacy("it was sent the handshake before".to_owned())
    } else if preferred.is_modern() {
        handshake.probe(&peer, preferred)?
    } else {
        Probed::Legacy("no Modern revision is offered".to_owned())
    };
    match (probed, legacy) {
        (Probed::Modern(identity), _) => Ok(Settled::new(*identity, peer, &session.config)),
        (Probed::Legacy(why), None) => {
            let offered = listed(session.offered.newest_first());
            let problem = format!("the server speaks none of {offered}: {why}");
            Err(Error::Unsupported(handshake.told(&peer, &problem)))
        }
        (Probed::Died(error) | Probed::Lost(error), None) => Err(error),
        (Probed::Legacy(_) | Probed::Lost(_), Some(legacy)) => match handshake.initialize(turn, &legacy) {
            // It answered the probe, or did not, and then died of it.
            Err(Error::Closed(failure)) if preferred.is_modern() => {
                handshake.initialize_again(turn, &legacy).unwrap_or(Err(Error::Closed(failure)))
            }
            // The probe was answered too late, and the server holds to it: whoever takes long to start is asked once more.
            // spec: 2026-07-28 basic/versioning#backward-compatibility-with-initialization-based-versions (a recognized modern
            // error identifies a modern server)
            Err(Error::Refused { error, failure })
                if preferred.is_modern() && error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION =>
            {
                match (Handshake { patience: None, ..handshake }).probe(&peer, preferred)? {
                    Probed::Modern(identity) => Ok(Settled::new(*identity, peer, &session.config)),
                    Probed::Legacy(_) | Probed::Lost(_) | Probed::Died(_) => {
                        Err(Error::Refused { error, failure })
                    }
                }
            }
            settled => settled,
        },
        (Probed::Died(error), Some(legacy)) => {
            handshake.initialize_again(turn, &legacy).unwrap_or(Err(error))
        }
    }
}

struct Handshake<'a> {
    session: &'a Session,
    /// Of the caller in whose thread this runs.
    cancel: Option<&'a CancelToken>,
    /// Of all of it, the probe included: that is the time the caller waited.
    start: Instant,
    /// For all of it.
    deadline: Deadline,
    /// How long each probe may take, if that is to be less.
    patience: Option<Duration>,
}

impl Handshake<'_> {
    /// Asks with the newest revision, and if the server names others, once more with one of those.
    fn probe(&self, peer: &Peer, preferred: &ProtocolVersion) -> Result<Probed> {
        let start = Instant::now();
        let error = match self.discover(peer, preferred)? {
            Discovered::Result(result) => return self.settle_on(peer, *result),
            Discovered::Other(probed) => return Ok(probed),
            Discovered::Error(error) => error,
        };
        let supported = error.data.as_ref().and_then(|data| {
            let data = Object::from_json(data.as_raw()).ok()?;
            data.get::<Vec<ProtocolVersion>>("supported")
        });
        let supported = match (error.code, supported) {
            (ErrorCode::UNSUPPORTED_PROTOCOL_VERSION, Some(supported)) => supported,
            // spec: 2026-07-28 basic/versioning#backward-compatibility-with-initialization-based-versions (a recognized
            // modern error identifies a modern server)
            (ErrorCode::HEADER_MISMATCH | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY, _) => {
                return Err(self.refused(peer, error, start));
            }
            // spec: 2026-07-28 basic/transports/stdio#backward-compatibility (not keyed to one error code)
            _ => return Ok(Probed::Legacy(error.to_string())),
        };
        match choose(&supported, &self.session.offered) {
            Some(version) if version.is_modern() => match self.discover(peer, &version)? {
                Discovered::Result(result) => self.settle_on(peer, *result),
                Discovered::Other(probed) => Ok(probed),
                Discovered::Error(error) => Err(self.refused(peer, error, start)),
            },
            common => self.without_modern(peer, common, &supported),
        }
    }

    fn settle_on(&self, peer: &Peer, discovered: DiscoverResult) -> Result<Probed> {
        match choose(&discovered.supported_versions, &self.session.offered) {
            Some(version) if version.is_modern() => {
                Ok(Probed::Modern(Box::new(identity(version, discovered))))
            }
            common => self.without_modern(peer, common, &discovered.supported_versions),
        }
    }

    /// A server that knows the probe but has no Modern revision in common. If it lists a Legacy one that is offered, the
    /// handshake is what it asks for.
    fn without_modern(
        &self,
        peer: &Peer,
        common: Option<ProtocolVersion>,
        supported: &[ProtocolVersion],
    ) -> Result<Probed> {
        let why = format!("it supports {}", listed(supported));
        match common {
            Some(_) => Ok(Probed::Legacy(why)),
            None => {
                let offered = listed(self.session.offered.newest_first());
                let problem = format!("no revision in common with the server: {why}, offered {offered}");
                Err(Error::Unsupported(self.told(peer, &problem)))
            }
        }
    }

    /// Asks with `version`.
    fn discover(&self, peer: &Peer, version: &ProtocolVersion) -> Result<Discovered> {
        let stamp = self.session.config.stamp(version);
        let start = Instant::now();
        let probe = Deadline::after(self.patience).earlier(self.deadline);
        let asked = send(peer, "server/discover", |out| {
            out.push(b'{');
            stamp.write(out, None, &Object::new());
            out.push(b'}');
        });
        let waited = asked.map(|waiting| match waiting {
            Some(waiting) => {
                let waited = self.wait(peer, &waiting, probe);
                peer.forget(waiting.id); // an answer that comes late is ignored
                waited
            }
            None => Waited::Closed,
        });
        Ok(Discovered::Other(match waited {
            Ok(Waited::Answer(Ok(result))) => match DiscoverResult::from_json(result.as_raw()) {
                Ok(result) => match must_be_complete(result.result_type.as_ref()) {
                    Ok(()) => return Ok(Discovered::Result(Box::new(result))),
                    Err(e) => Probed::Legacy(format!("its answer to server/discover is none: {e}")),
                },
                Err(e) => Probed::Legacy(format!("its answer to server/discover is none: {e}")),
            },
            Ok(Waited::Answer(Err(NoResult::Error(error)))) => return Ok(Discovered::Error(error)),
            Ok(Waited::Answer(Err(NoResult::Garbled(problem)))) => {
                Probed::Legacy(format!("its answer to server/discover cannot be read: {problem}"))
            }
            Ok(Waited::Answer(Err(NoResult::Failed(failure)))) => self.lost(peer, *failure, start)?,
            Ok(Waited::TimedOut(after)) => {
                Probed::Legacy(format!("no answer to server/discover in {after:?}"))
            }
            Ok(Waited::Cancelled(reason)) => return Err(Error::Cancelled(reason)),
            Ok(Waited::Closed) => {
                Probed::Died(self.session.closed(Phase::Handshake, Some(peer), start.elapsed()))
            }
            Err(error) => Probed::Died(error),
        }))
    }

    /// What to make of a probe that failed by itself.
    ///
    /// # Errors
    /// When the handshake would fare no better: the server is not there or has no time, or wants credentials.
    fn lost(&self, peer: &Peer, failure: RequestFailure, start: Instant) -> Result<Probed> {
        let is_refused = matches!(failure.kind, FailureKind::Refused | FailureKind::SessionEnded);
        let why = format!("it refused server/discover: {}", failure.problem);
        match self.session.lost(Phase::Handshake, peer, start.elapsed(), failure, false) {
            error @ Error::Rejected { status: Some(401 | 403), .. } => Err(error),
            error if error.is_retryable() => Err(error),
            // spec: 2026-07-28 basic/transports/streamable-http#backward-compatibility (a body that is no modern error)
            _ if is_refused => Ok(Probed::Legacy(why)),
            error => Ok(Probed::Lost(error)),
        }
    }

    /// spec: 2025-11-25 basic/lifecycle#initialization
    fn initialize(&self, turn: &mut Turn<'_>, legacy: &Offered) -> Result<Settled> {
        let config = &self.session.config;
        let peer = &turn.line.peer.clone();
        let start = Instant::now();
        let waiting = match turn.line.greeting.take() {
            Some(waiting) => Some(waiting),
            None => {
                let preferred = legacy.latest().clone();
                let params = InitializeParams::new(
                    preferred.clone(),
                    config.capabilities.clone(),
                    config.info.clone(),
                );
                let params = lowered(params, &preferred);
                send(peer, "initialize", |out| write_json(out, &params))?
            }
        };
        let waited = match waiting {
            Some(waiting) => {
                let waited = self.wait(peer, &waiting, self.deadline);
                if let Waited::Cancelled(reason) = waited {
                    turn.line.greeting = Some(waiting);
                    return Err(Error::Cancelled(reason));
                }
                peer.forget(waiting.id);
                waited
            }
            None => Waited::Closed,
        };
        let result = match waited {
            Waited::Answer(Ok(result)) => result,
            Waited::Answer(Err(NoResult::Error(error))) => return Err(self.refused(peer, error, start)),
            Waited::Answer(Err(NoResult::Garbled(problem))) => {
                let problem = format!("the answer to initialize cannot be read: {problem}");
                return Err(Error::Protocol(self.told(peer, &problem)));
            }
            Waited::Answer(Err(NoResult::Failed(failure))) => {
                return Err(self.session.lost(Phase::Handshake, peer, start.elapsed(), *failure, false));
            }
            // spec: 2025-11-25 basic/utilities/cancellation (initialize MUST NOT be cancelled)
            Waited::TimedOut(_) => {
                let after = self.start.elapsed();
                return Err(Error::Timeout(self.session.failure(Phase::Handshake, Some(peer), after)));
            }
            Waited::Cancelled(reason) => return Err(Error::Cancelled(reason)),
            Waited::Closed => return Err(self.session.closed(Phase::Handshake, Some(peer), start.elapsed())),
        };
        let result = InitializeResult::from_json(result.as_raw())
            .map_err(|e| Error::Protocol(self.told(peer, &format!("the result of initialize: {e}"))))?;
        if !legacy.contains(&result.protocol_version) {
            // spec: 2025-11-25 basic/lifecycle#version-negotiation (the client SHOULD disconnect)
            let problem = format!(
                "the server answered with revision {}, offered {}",
                result.protocol_version,
                listed(legacy.newest_first())
            );
            let error = Error::Unsupported(self.told(peer, &problem));
            peer.close("no revision in common", &Patience::default());
            return Err(error);
        }
        let identity = Arc::new(ServerIdentity {
            version: result.protocol_version,
            info: shown(Some(result.server_info).filter(|info| !info.name.is_empty())),
            capabilities: result.capabilities,
            instructions: result.instructions,
        });
        self.session.greet(&identity);
        // spec: 2025-11-25 basic/lifecycle#initialization (the client MUST say so)
        peer.notify("notifications/initialized", None)
            .map_err(|_| self.session.closed(Phase::Handshake, Some(peer), start.elapsed()))?;
        Ok(Settled::new(identity, peer.clone(), config))
    }

    fn refused(&self, peer: &Peer, error: ErrorObject, start: Instant) -> Error {
        let failure = self.session.failure(Phase::Handshake, Some(peer), start.elapsed());
        Error::Refused { error, failure }
    }

    /// `problem`, with what is known about the server.
    fn told(&self, peer: &Peer, problem: &str) -> String {
        format!("{problem}; handshake{}", self.session.failure(Phase::Handshake, Some(peer), Duration::ZERO))
    }

    /// On a new connection to the same server; `None` if there can be none.
    fn initialize_again(&self, turn: &mut Turn<'_>, legacy: &Offered) -> Option<Result<Settled>> {
        let patience = Patience::default().with_exit(Duration::from_millis(200));
        if let Err(e) = self.session.reopen(turn, &patience)? {
            return Some(Err(e));
        }
        log::debug!("the server ended at the probe and was started again");
        Some(self.initialize(turn, legacy))
    }

    fn wait(&self, peer: &Peer, waiting: &Waiting, deadline: Deadline) -> Waited {
        let patient = Patient { each: deadline.remaining(), total: None, resets: false };
        wait(waiting, Instant::now(), patient, self.cancel, None, &|| peer.look_after())
    }
}

/// Sends a request; `None` if the connection has ended.
fn send(peer: &Peer, method: &str, write_params: impl FnOnce(&mut Vec<u8>)) -> Result<Option<Waiting>> {
    match peer.request(method, false, |out, _| write_params(out)) {
        Ok(waiting) => Ok(Some(waiting)),
        Err(NotStarted::Busy(problem)) => Err(Error::Busy(problem)),
        Err(NotStarted::Closed) => Ok(None),
    }
}

fn identity(version: ProtocolVersion, discovered: DiscoverResult) -> ServerIdentity {
    let info = discovered.meta.as_ref().and_then(|fields| fields.get::<Implementation>(meta::SERVER_INFO));
    ServerIdentity {
        version,
        info: shown(info),
        capabilities: discovered.capabilities,
        instructions: discovered.instructions,
    }
}

/// What is fit for display.
fn shown(info: Option<Implementation>) -> Option<Implementation> {
    info.map(|mut info| {
        without_unsafe(&mut info.icons);
        info
    })
}

fn listed<'a>(versions: impl IntoIterator<Item = &'a ProtocolVersion>) -> String {
    let names: Vec<_> = versions.into_iter().map(ProtocolVersion::as_str).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}
