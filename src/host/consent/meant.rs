//! [`Meant`]: what is to be taken back.

use super::grants::Grant;
use super::permit::Running;

/// So many that could not be written are told apart; with more, everything is taken back.
const MAX_UNWRITTEN: usize = 1_000;

#[derive(Clone, PartialEq)]
pub(super) enum Meant {
    All,
    Server(String),
    Tool(String, String),
    Grant(Box<Grant>),
}

impl Meant {
    pub(super) fn is(&self, grant: &Grant) -> bool {
        match self {
            Self::All => true,
            Self::Server(server) => grant.server == *server,
            Self::Tool(server, tool) => grant.server == *server && grant.tool.as_ref() == Some(tool),
            Self::Grant(meant) => **meant == *grant,
        }
    }

    pub(super) fn is_running(&self, running: &Running) -> bool {
        match self {
            Self::All => true,
            Self::Server(server) => running.server == *server,
            Self::Tool(server, tool) => running.server == *server && running.tool.as_ref() == Some(tool),
            Self::Grant(grant) => {
                (running.kind, &running.server, &running.tool) == (grant.kind, &grant.server, &grant.tool)
            }
        }
    }

    /// Whether taking it back at this time, in seconds since 1970, undoes `grant`. One of the same second is undone as well: better
    /// that the user is asked once more.
    pub(super) fn undoes(&self, grant: &Grant, at: u64) -> bool {
        self.is(grant) && grant.since <= at
    }

    pub(super) fn add_to(self, unwritten: &mut Vec<(Self, u64)>, at: u64) {
        unwritten.retain(|(meant, _)| *meant != self);
        if unwritten.len() >= MAX_UNWRITTEN {
            unwritten.clear();
            unwritten.push((Self::All, at));
        } else {
            unwritten.push((self, at));
        }
    }
}
