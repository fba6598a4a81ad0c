//! [`Permit`]: something is allowed, until it is taken back.

use std::sync::Arc;

use super::question::QuestionKind;
use super::subject::Subject;
use crate::sync::CancelToken;

/// Something is allowed, for as long as this is held or until it is taken back.
#[derive(Debug)]
pub(in crate::host) struct Permit {
    running: Arc<Running>,
    reason: String,
}

/// What is being decided about, or under way. Known to the [`Grants`](super::Grants) for as long as somebody holds it.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) kind: QuestionKind,
    pub(super) server: String,
    /// The tool, of a call.
    pub(super) tool: Option<String>,
    pub(super) revoked: CancelToken,
}

impl Permit {
    pub(super) fn new(running: Arc<Running>, reason: String) -> Self {
        Self { running, reason }
    }

    /// Fires when the consent is taken back, and at no other time.
    pub(in crate::host) fn token(&self) -> &CancelToken {
        &self.running.revoked
    }

    pub(in crate::host) fn was_revoked(&self) -> bool {
        self.running.revoked.is_cancelled()
    }

    /// Why it is allowed: the rule, the hint, or what the user said and for how long.
    pub(in crate::host) fn reason(&self) -> &str {
        &self.reason
    }
}

impl Running {
    pub(super) fn new(subject: &Subject<'_>) -> Self {
        Self {
            kind: subject.kind(),
            server: subject.server().to_owned(),
            tool: subject.tool().map(|tool| tool.name.clone()),
            revoked: CancelToken::new(),
        }
    }
}
