//! Settling the protocol: the Modern probe, and the handshake it falls back to.
//!
//! ```text
//!  server/discover ─┬─ DiscoverResult ──────────────▶ Modern, with a revision both speak
//!                   ├─ -32022 with data.supported ──▶ Modern, asked again with one of those
//!                   ├─ any other answer, or silence ▶ initialize
//!                   └─ the child dies ─────────────▶ started again, then initialize
//! ```
//!
//! spec: 2026-07-28 basic/transports/stdio#backward-compatibility

use std::time::{Duration, Instant};

use super::session::{ServerIdentity, Session, Settled, modern_meta, write_meta};
use crate::error::{Error, Phase, Result};
use crate::json::{FromJson, Object};
use crate::jsonrpc::{ErrorCode, ErrorObject, write_json};
use crate::peer::{NotStarted, Patient, Peer, Waited, wait};
use crate::protocol::lifecycle::{Implementation, InitializeParams, InitializeResult};
use crate::protocol::lifecycle::DiscoverResult;
use crate::protocol::meta;
use crate::protocol::version::ProtocolVersion;
use crate::sync::Deadline;

/// What the probe said.
enum Probed {
    Modern(ServerIdentity),
    /// The server speaks only the handshake, as far as one can tell; why.
    Legacy(String),
    /// The child died of the probe.
    Died(Error),
}

pub(super) fn settle(session: &Session) -> Result<Settled> {
    let peer = session.peer()?;
    let handshake = Handshake { session, deadline: Deadline::after(session.config.timeouts.connect) };
    let modern: Vec<_> = handshake.offered(ProtocolVersion::is_modern);
    let legacy: Vec<_> = handshake.offered(ProtocolVersion::is_legacy);
    let Some(preferred) = modern.last() else { return handshake.initialize(&peer, &legacy) };
    match handshake.probe(&peer, preferred, &modern)? {
        Probed::Modern(identity) => Ok(Settled::new(identity, peer, &session.config)),
        Probed::Legacy(why) if legacy.is_empty() => Err(Error::Unsupported(format!(
            "the server speaks no revision of {}: {why}",
            listed(&modern)
        ))),
        Probed::Died(error) if legacy.is_empty() => Err(error),
        Probed::Legacy(_) => match handshake.initialize(&peer, &legacy) {
            // It answered the probe, or did not, and then died of it.
            Err(Error::Closed(failure)) => {
                handshake.initialize_again(&legacy).unwrap_or(Err(Error::Closed(failure)))
            }
            settled => settled,
        },
        Probed::Died(error) => handshake.initialize_again(&legacy).unwrap_or(Err(error)),
    }
}

struct Handshake<'a> {
    session: &'a Session,
    /// For all of it.
    deadline: Deadline,
}

impl Handshake<'_> {
    /// The offered revisions of one era, oldest first.
    fn offered(&self, is_of_era: fn(&ProtocolVersion) -> bool) -> Vec<ProtocolVersion> {
        let offered = &self.session.config.versions;
        ProtocolVersion::ALL.into_iter().filter(|version| is_of_era(version) && offered.contains(version)).collect()
    }

    fn probe(
        &self,
        peer: &Peer,
        preferred: &ProtocolVersion,
        modern: &[ProtocolVersion],
    ) -> Result<Probed> {
        let error = match self.discover(peer, preferred) {
            Ok(Ok(discovered)) => match choose(&discovered.supported_versions, modern) {
                Some(version) => return Ok(Probed::Modern(identity(version, discovered))),
                None => return self.without_common_version(&discovered.supported_versions),
            },
            Ok(Err(problem)) => return Ok(problem),
            Err(error) => error,
        };
        let supported = error.data.as_ref().and_then(|data| {
            let data = Object::from_json(data.as_raw()).ok()?;
            data.get::<Vec<ProtocolVersion>>("supported")
        });
        match supported {
            Some(supported) if error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION => {
                let Some(version) = choose(&supported, modern) else {
                    return self.without_common_version(&supported);
                };
                match self.discover(peer, &version) {
                    Ok(Ok(discovered)) => Ok(Probed::Modern(identity(version, discovered))),
                    Ok(Err(problem)) => Ok(problem),
                    Err(error) => Err(Error::Peer(error)),
                }
            }
            // spec: 2026-07-28 basic/transports/stdio#backward-compatibility (not keyed to one error code)
            _ => Ok(Probed::Legacy(error.to_string())),
        }
    }

    /// A Modern server without a Modern revision in common. If it lists a Legacy one that is offered too, the
    /// handshake is what it asks for.
    fn without_common_version(&self, supported: &[ProtocolVersion]) -> Result<Probed> {
        let legacy = self.offered(ProtocolVersion::is_legacy);
        let why = format!("it supports {}", listed(supported));
        if choose(supported, &legacy).is_some() {
            return Ok(Probed::Legacy(why));
        }
        Err(Error::Unsupported(format!(
            "no revision in common with the server: {why}, offered {}",
            listed(&self.session.config.versions)
        )))
    }

    /// Asks with `version`: the answer, or what else happened, or the server's error.
    fn discover(
        &self,
        peer: &Peer,
        version: &ProtocolVersion,
    ) -> std::result::Result<std::result::Result<DiscoverResult, Probed>, ErrorObject> {
        let fixed = modern_meta(version, &self.session.config);
        let start = Instant::now();
        let probe = Deadline::after(Some(self.session.config.timeouts.probe)).earlier(self.deadline);
        let waited = self.ask(peer, "server/discover", probe, |out| {
            out.push(b'{');
            write_meta(out, Some(&fixed), None, &Object::new());
            out.push(b'}');
        });
        let problem = match waited {
            Ok(Waited::Answer(Ok(result))) => match DiscoverResult::from_json(result.as_raw()) {
                Ok(discovered) => return Ok(Ok(discovered)),
                Err(e) => Probed::Legacy(format!("its answer to server/discover is none: {e}")),
            },
            Ok(Waited::Answer(Err(error))) => return Err(error),
            Ok(Waited::TimedOut(after)) => Probed::Legacy(format!("no answer to server/discover in {after:?}")),
            Ok(Waited::Cancelled(reason)) => Probed::Legacy(reason),
            Ok(Waited::Closed) => {
                Probed::Died(self.session.closed(Phase::Handshake, Some(peer), start.elapsed()))
            }
            Err(error) => Probed::Died(error),
        };
        Ok(Err(problem))
    }

    /// spec: 2025-11-25 basic/lifecycle#initialization
    fn initialize(&self, peer: &Peer, legacy: &[ProtocolVersion]) -> Result<Settled> {
        let config = &self.session.config;
        let Some(preferred) = legacy.last() else {
            return Err(Error::InvalidUse("no known revision is offered".into()));
        };
        let params = InitializeParams::new(preferred.clone(), config.capabilities.clone(), config.info.clone());
        let start = Instant::now();
        let waited = self.ask(peer, "initialize", self.deadline, |out| write_json(out, &params))?;
        let result = match waited {
            Waited::Answer(Ok(result)) => result,
            Waited::Answer(Err(error)) => return Err(Error::Peer(error)),
            // spec: 2025-11-25 basic/utilities/cancellation (initialize MUST NOT be cancelled)
            Waited::TimedOut(after) => {
                return Err(Error::Timeout(self.session.failure(Phase::Handshake, Some(peer), after)));
            }
            Waited::Cancelled(reason) => return Err(Error::Cancelled(reason)),
            Waited::Closed => return Err(self.session.closed(Phase::Handshake, Some(peer), start.elapsed())),
        };
        let result = InitializeResult::from_json(result.as_raw())
            .map_err(|e| Error::Protocol(format!("the result of initialize: {e}")))?;
        if !legacy.contains(&result.protocol_version) {
            // spec: 2025-11-25 basic/lifecycle#version-negotiation (the client SHOULD disconnect)
            return Err(Error::Unsupported(format!(
                "the server answered with revision {}, offered {}",
                result.protocol_version,
                listed(legacy)
            )));
        }
        peer.notify("notifications/initialized", None)
            .map_err(|_| self.session.closed(Phase::Handshake, Some(peer), start.elapsed()))?;
        let identity = ServerIdentity {
            version: result.protocol_version,
            info: Some(result.server_info),
            capabilities: result.capabilities,
            instructions: result.instructions,
        };
        Ok(Settled::new(identity, peer.clone(), config))
    }

    /// On a new connection to the same server; `None` if there can be none.
    fn initialize_again(&self, legacy: &[ProtocolVersion]) -> Option<Result<Settled>> {
        let peer = match self.session.reopen()? {
            Ok(peer) => peer,
            Err(e) => return Some(Err(e)),
        };
        log::debug!("the server ended at the probe and was started again");
        Some(self.initialize(&peer, legacy))
    }

    fn ask(
        &self,
        peer: &Peer,
        method: &str,
        deadline: Deadline,
        write_params: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Waited> {
        let start = Instant::now();
        let waiting = match peer.request(method, false, |out, _| write_params(out)) {
            Ok(waiting) => waiting,
            Err(NotStarted::Busy(problem)) => return Err(Error::Busy(problem)),
            Err(NotStarted::Closed) => return Ok(Waited::Closed),
        };
        let left: Option<Duration> = deadline.remaining();
        let patient = Patient { each: left, total: None, resets: false };
        let waited = wait(&waiting, start, patient, None, None);
        peer.forget(waiting.id);
        Ok(waited)
    }
}

/// The newest of `ours` that the server lists.
fn choose(supported: &[ProtocolVersion], ours: &[ProtocolVersion]) -> Option<ProtocolVersion> {
    ours.iter().rev().find(|version| supported.contains(version)).cloned()
}

fn identity(version: ProtocolVersion, discovered: DiscoverResult) -> ServerIdentity {
    let info = discovered.meta.as_ref().and_then(|fields| fields.get::<Implementation>(meta::SERVER_INFO));
    ServerIdentity {
        version,
        info,
        capabilities: discovered.capabilities,
        instructions: discovered.instructions,
    }
}

fn listed(versions: &[ProtocolVersion]) -> String {
    let names: Vec<_> = versions.iter().map(ProtocolVersion::as_str).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

