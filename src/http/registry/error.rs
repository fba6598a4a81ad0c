//! [`RegistryError`] and [`SetupError`]: why there is no answer, and why a server cannot be set up.

use crate::error::Error;

/// Why a registry gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The registry knows no such server, or no such version of it. A deleted one counts as unknown unless it was asked for.
    #[error("{0}")]
    NotFound(String),
    /// The registry answers with another status than that all is well: 401, 429, 500.
    #[error("{registry}: {told}")]
    Rejected {
        /// The registry.
        registry: String,
        /// The status of HTTP.
        status: u16,
        /// What it says.
        told: String,
    },
    /// Nobody answers there, or not in time.
    #[error("{0}")]
    Unreachable(String),
    /// The answer has more bytes than are read.
    #[error("{registry}: an answer exceeds {limit} bytes")]
    TooLarge {
        /// The registry.
        registry: String,
        /// So many are read.
        limit: usize,
    },
    /// The answer is not what a registry answers with.
    #[error("{0}")]
    Malformed(String),
    /// What was asked for cannot be asked.
    #[error("{0}")]
    InvalidUse(String),
}

impl RegistryError {
    /// Whether the same question may get an answer in a moment.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Rejected { status, .. } => matches!(status, 429 | 500 | 502 | 503 | 504),
            _ => false,
        }
    }
}

impl From<RegistryError> for Error {
    fn from(error: RegistryError) -> Self {
        let text = error.to_string();
        match error {
            RegistryError::NotFound(_) | RegistryError::InvalidUse(_) => Self::InvalidUse(text),
            RegistryError::TooLarge { .. } | RegistryError::Malformed(_) => Self::Protocol(text),
            RegistryError::Rejected { .. } | RegistryError::Unreachable(_) => Self::Transport {
                context: "a registry of servers".to_owned(),
                error: std::io::Error::other(text),
            },
        }
    }
}

/// Why no configuration entry can be made of a package or a remote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {problem}")]
pub struct SetupError {
    kind: SetupErrorKind,
    what: String,
    problem: String,
}

/// What kind of thing is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetupErrorKind {
    /// It is of a kind that no program is known for which starts it: a bundle that is to be downloaded, a kind that is new.
    CannotRun,
    /// Its version cannot be pinned: what is started could be something else tomorrow.
    NotPinned,
    /// What was published is no name of a package, no address, no name of a header.
    Malformed,
    /// The registry marks the server as deleted.
    Deleted,
    /// A value that was chosen for it cannot be used.
    Choice,
}

impl SetupError {
    pub(super) fn new(kind: SetupErrorKind, problem: impl Into<String>) -> Self {
        Self { kind, what: String::new(), problem: problem.into() }
    }

    pub(super) fn malformed(problem: impl Into<String>) -> Self {
        Self::new(SetupErrorKind::Malformed, problem)
    }

    /// Of this package or remote.
    pub(super) fn of(mut self, what: &str) -> Self {
        what.clone_into(&mut self.what);
        self
    }

    /// What kind of thing is wrong.
    #[must_use]
    pub fn kind(&self) -> SetupErrorKind {
        self.kind
    }

    /// What is wrong, without the server's name.
    #[must_use]
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

impl From<SetupError> for Error {
    /// What was published cannot be used.
    fn from(error: SetupError) -> Self {
        Self::InvalidUse(error.to_string())
    }
}
