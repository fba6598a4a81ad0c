//! [`Permit`]: something is allowed, until it is taken back.

use std::sync::Arc;

use crate::sync::CancelToken;

/// Something is allowed, for as long as this is held or until it is taken back.
#[derive(Debug)]
pub(in crate::host) struct Permit {
    running: Arc<Running>,
}

/// What is under way. Known to the [`Grants`](super::Grants) while its permit is held.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) server: String,
    /// The tool, of a call.
    pub(super) tool: Option<String>,
    reason: String,
    pub(super) revoked: CancelToken,
}

impl Permit {
    pub(super) fn new(running: Arc<Running>) -> Self {
        Self { running }
    }

    /// Fires when the consent is taken back.
    pub(in crate::host) fn token(&self) -> &CancelToken {
        &self.running.revoked
    }

    pub(in crate::host) fn was_revoked(&self) -> bool {
        self.running.revoked.is_cancelled()
    }

    /// Why it is allowed.
    pub(in crate::host) fn reason(&self) -> &str {
        &self.running.reason
    }
}

impl Running {
    pub(super) fn new(server: &str, tool: Option<&str>, reason: String) -> Self {
        let tool = tool.map(str::to_owned);
        Self { server: server.to_owned(), tool, reason, revoked: CancelToken::new() }
    }
}
