//! [`CallNotes`]: what those on a request's way note about it, for whoever made it.

use std::sync::Arc;

use super::ServerIdentity;
use crate::protocol::ProtocolVersion;
use crate::sync::{Mutex, lock};

/// What is noted about a request on its way: which server it went to, in which revision, and what was decided about it.
///
/// Given along by [`CallOptions::with_notes`](super::CallOptions::with_notes), and read once the request is over: recorders do
/// that. A [`Caller`](super::Caller) with several servers, or with a policy, notes what it knows by
/// [`CallOptions::notes`](super::CallOptions::notes); one that only passes requests on need not do anything.
///
/// ```
/// use tinymcp::client::{CallNotes, CallOptions, Caller};
/// use tinymcp::{Arguments, ProtocolVersion, Server, ToolRegistry, testing, tool};
///
/// let tools = ToolRegistry::new().with(tool! { fn now() -> String { "noon".to_owned() } })?;
/// let client = testing::pair(&Server::builder("clock", "1.0.0").tools(tools).build()?)?;
///
/// let notes = CallNotes::new();
/// client.handle().call("now", Arguments::empty(), &CallOptions::default().with_notes(&notes))?;
/// assert_eq!(notes.server().as_deref(), Some("clock"));
/// assert_eq!(notes.revision(), Some(ProtocolVersion::LATEST));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CallNotes(Arc<Mutex<Noted>>);

#[derive(Debug, Default)]
struct Noted {
    server: Option<Arc<str>>,
    revision: Option<ProtocolVersion>,
    /// The server as it calls itself, for want of the above.
    identity: Option<Arc<ServerIdentity>>,
    decision: Option<(bool, String)>,
}

impl CallNotes {
    /// Nothing so far.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes the server's name with who calls it. The first name counts: that of who is nearest to the one who asks.
    pub fn set_server(&self, name: impl Into<Arc<str>>) {
        lock(&self.0).server.get_or_insert_with(|| name.into());
    }

    /// Notes the revision that is spoken. The last one counts.
    pub fn set_revision(&self, revision: ProtocolVersion) {
        lock(&self.0).revision = Some(revision);
    }

    /// Notes whether the request was let through, and why. The first refusal counts, or else the last permission.
    pub fn set_decision(&self, allowed: bool, reason: impl Into<String>) {
        let decision = &mut lock(&self.0).decision;
        if !matches!(decision, Some((false, _))) {
            *decision = Some((allowed, reason.into()));
        }
    }

    /// Notes what the server said of itself, which counts where nobody knows better.
    pub(super) fn set_identity(&self, identity: Arc<ServerIdentity>) {
        lock(&self.0).identity = Some(identity);
    }

    /// The server, if anybody noted it.
    #[must_use]
    pub fn server(&self) -> Option<Arc<str>> {
        let noted = lock(&self.0);
        let info = || noted.identity.as_ref()?.info.as_ref();
        noted.server.clone().or_else(|| info().map(|info| info.name.as_str().into()))
    }

    /// The revision, if anybody noted it.
    #[must_use]
    pub fn revision(&self) -> Option<ProtocolVersion> {
        let noted = lock(&self.0);
        noted.revision.clone().or_else(|| noted.identity.as_ref().map(|identity| identity.version.clone()))
    }

    /// Shows the server and the revision, if anybody noted them.
    #[cfg(feature = "trajectory")]
    pub(crate) fn way(&self, show: impl FnOnce(Option<&str>, Option<&ProtocolVersion>)) {
        let noted = lock(&self.0);
        let identity = noted.identity.as_deref();
        let named = || Some(identity?.info.as_ref()?.name.as_str());
        show(
            noted.server.as_deref().or_else(named),
            noted.revision.as_ref().or_else(|| identity.map(|identity| &identity.version)),
        );
    }

    /// What was decided and why, if anything was.
    #[must_use]
    pub fn decision(&self) -> Option<(bool, String)> {
        lock(&self.0).decision.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_and_the_first_refusal_count() {
        let notes = CallNotes::new();
        notes.set_server("files");
        notes.set_server("what it calls itself");
        notes.set_decision(true, "rule");
        notes.set_decision(true, "always");
        assert_eq!(notes.decision(), Some((true, "always".to_owned())));
        notes.set_decision(false, "user");
        notes.set_decision(true, "hint");
        assert_eq!(notes.decision(), Some((false, "user".to_owned())));
        assert_eq!(notes.server().as_deref(), Some("files"));
    }
}
