//! [`Backend`]: what an endpoint serves, and its connections, the [`Line`]s.
//!
//! A [`Server`] of this program is one; a [relay](super::relay) to servers elsewhere is the other.

use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::value::RawValue;

use super::mirrored_tools::MirroredTools;
use super::sealed::SealedStates;
use super::session::Session;
use super::way::Way;
use super::wire::Head;
use crate::context::StateError;
use crate::era::Offered;
use crate::error::{Error, Result};
use crate::json::Json;
use crate::jsonrpc::{ErrorObject, Incoming};
use crate::peer::{self, Call, Ground, Limits, Request, Served, Serving};
use crate::protocol::ProtocolVersion;
use crate::server::{Cleanup, Line as ServerLine, Most, OF_A_CLIENT, Server};
use crate::sync::{CancelToken, Deadline};
use crate::transport::Tap;

/// What an endpoint serves.
pub(super) trait Backend: Send + Sync {
    /// Called once, before anything else: there will be at most so many sessions.
    fn prepare(&self, sessions: usize) -> Result<()>;

    /// The revisions that it may speak.
    fn offered(&self) -> &Offered;

    fn limits(&self) -> &Limits;

    /// How long what was accepted may take to finish at the end.
    fn grace(&self) -> Duration;

    /// Sees every message.
    fn tap(&self) -> Option<&Arc<dyn Tap>>;

    /// Fires when the serving is to end.
    fn stop_token(&self) -> &CancelToken;

    /// Whether arguments of a tool are what its headers say.
    fn check_mirrored(&self, tool: &str, arguments: Option<&RawValue>, head: &Head) -> Result<(), String>;

    /// A line of one Legacy client.
    fn line(&self, session: &Weak<Session>) -> Arc<dyn Line>;

    /// The line of all Modern clients, who may have so many subscriptions open.
    fn modern_line(&self, listens: usize) -> Arc<dyn Line>;

    /// It is served until the end of what is returned.
    fn begin_serving(&self) -> Box<dyn Serves + '_>;
}

/// Something is served as long as this lives.
pub(super) trait Serves {}

/// A request as a line sees it.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) way: &'a Way,
    pub(super) call: &'a Arc<Call>,
    pub(super) request: Request<'a>,
    /// The message that it is.
    pub(super) message: &'a [u8],
}

/// A connection to what is served: that of one Legacy client, or that of all Modern ones.
pub(super) trait Line: Send + Sync {
    /// Serves a request: appends the result's JSON to `out`, or leaves the call open.
    fn serve(&self, asked: Asked<'_>, out: &mut Vec<u8>) -> Served;

    /// Acts on a notification or an answer of a client, which is this message; of a session, if it is Legacy.
    ///
    /// # Errors
    /// When it is not taken.
    fn hear(
        &self,
        session: Option<&Session>,
        incoming: Incoming<'_>,
        message: &[u8],
    ) -> std::result::Result<(), ErrorObject>;

    /// The client of a call that was left open has gone. It is closed already.
    fn given_up(&self, _call: &Arc<Call>) {}

    /// Whether a client that asks whether it is alive is answered for it.
    fn is_here(&self) -> bool {
        true
    }

    fn accepts_batches(&self) -> bool;

    /// The revision that a handshake settled.
    fn legacy_version(&self) -> Option<ProtocolVersion>;

    /// Ends its subscriptions in good order.
    fn end_subscriptions(&self) {}

    /// Waits for what is to be answered without a thread that serves it.
    fn drain(&self, deadline: Deadline);

    /// Its client has gone for good. Called once, after every call was closed.
    fn end(&self, _reason: &str) {}
}

/// A server of this program.
pub(super) struct Local {
    server: Server,
    mirrored: MirroredTools,
}

impl Local {
    pub(super) fn new(server: &Server) -> Self {
        Self { server: server.clone(), mirrored: MirroredTools::new(server.tools()) }
    }
}

impl Backend for Local {
    fn prepare(&self, _sessions: usize) -> Result<()> {
        let no_key = |e: StateError| Error::Transport {
            context: "cannot make a key".to_owned(),
            error: std::io::Error::other(e.to_string()),
        };
        let states = SealedStates::new().map_err(no_key)?;
        self.server.keep_states_in(|| Arc::new(states));
        Ok(())
    }

    fn offered(&self) -> &Offered {
        self.server.offered()
    }

    fn limits(&self) -> &Limits {
        self.server.limits()
    }

    fn grace(&self) -> Duration {
        self.server.grace()
    }

    fn tap(&self) -> Option<&Arc<dyn Tap>> {
        self.server.tap()
    }

    fn stop_token(&self) -> &CancelToken {
        self.server.stop_token()
    }

    fn check_mirrored(
        &self,
        tool: &str,
        arguments: Option<&RawValue>,
        head: &Head,
    ) -> std::result::Result<(), String> {
        self.mirrored.check(tool, arguments, head)
    }

    fn line(&self, _session: &Weak<Session>) -> Arc<dyn Line> {
        Arc::new(self.server.line(OF_A_CLIENT))
    }

    fn modern_line(&self, listens: usize) -> Arc<dyn Line> {
        Arc::new(self.server.line(Most { listens, subjects: MAX_SUBJECTS }))
    }

    fn begin_serving(&self) -> Box<dyn Serves + '_> {
        Box::new(self.server.begin_serving())
    }
}

impl Serves for Cleanup<'_> {}

/// So many resources and tasks are watched by all Modern clients together.
const MAX_SUBJECTS: usize = 100_000;

impl Line for ServerLine {
    fn serve(&self, asked: Asked<'_>, out: &mut Vec<u8>) -> Served {
        let Asked { way, call, request, .. } = asked;
        let outlet = way.outlet();
        self.role().serve(Serving { outlet: &outlet, call, request, ground: Ground::Worker }, out)
    }

    fn hear(
        &self,
        session: Option<&Session>,
        incoming: Incoming<'_>,
        _message: &[u8],
    ) -> std::result::Result<(), ErrorObject> {
        match (incoming, session) {
            (Incoming::Response { id: Some(id), result }, Some(session)) => {
                if !session.pending().complete(&id, result.map(Json::of_frame).map_err(peer::NoResult::Error))
                {
                    log::debug!("ignored a response to {id}: nobody waits for it");
                }
            }
            (Incoming::Response { .. }, _) => log::warn!("a client could not read one of our messages"),
            (Incoming::Notification { method, params }, session) => match (method.as_ref(), session) {
                ("notifications/cancelled", Some(session)) => match peer::cancelled(params) {
                    Ok((id, reason)) if session.cancel(&id, &reason) => {
                        log::debug!("request {id} cancelled: {reason}");
                    }
                    Ok((id, _)) => log::debug!("ignored the cancellation of {id}: no such request is open"),
                    Err(problem) => log::debug!("ignored a cancellation: {problem}"),
                },
                ("notifications/progress", Some(_)) => log::debug!("ignored progress: nobody asked for it"),
                _ => self.role().notified(&method, params),
            },
            (Incoming::Request { .. }, _) => {}
        }
        Ok(())
    }

    fn accepts_batches(&self) -> bool {
        self.role().accepts_batches()
    }

    fn legacy_version(&self) -> Option<ProtocolVersion> {
        Self::legacy_version(self)
    }

    fn end_subscriptions(&self) {
        Self::end_subscriptions(self);
    }

    fn drain(&self, deadline: Deadline) {
        Self::drain(self, deadline);
    }
}
