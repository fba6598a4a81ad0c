//! [`Error`]: what can go wrong on a client, as far as a caller acts differently on it.

use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use crate::json::{FromJson, Object};
use crate::jsonrpc::{ErrorCode, ErrorObject};

/// The result of a client's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed.
///
/// An error that the peer sent is [`Error::Peer`], or [`Error::Refused`] if it was its answer to the handshake; every
/// other variant was raised here. A tool that ran and failed is no error: it is a result with `is_error`.
///
/// ```
/// use tinymcp::{Error, ErrorObject};
///
/// fn advice(error: &Error) -> &'static str {
///     match error {
///         Error::Peer(_) => "the call was wrong, or the server failed: its message says which",
///         Error::Rejected { status: Some(401 | 403), .. } => "bring other credentials",
///         _ if error.is_retryable() => "try again in a moment",
///         _ if error.is_closed() => "connect anew",
///         _ => "give up",
///     }
/// }
///
/// assert_eq!(advice(&Error::Busy("64 requests in flight".into())), "try again in a moment");
/// assert_eq!(Error::from(ErrorObject::new(-32602, "unknown tool: x")).to_string(), "unknown tool: x (-32602)");
/// ```
/// `Debug` shows the same text, for programs whose `main` returns an error.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The peer answered with an error.
    #[error("{0}")]
    Peer(ErrorObject),

    /// The server answered the handshake with an error.
    #[error("the server refused the handshake: {error}{failure}")]
    Refused {
        /// The server's error.
        error: ErrorObject,
        /// What is known about the server.
        failure: Box<Failure>,
    },

    /// No answer in time. The peer has been told to stop where the protocol allows that.
    #[error("no answer within {} during {}{}", Seconds(.0.after), .0.phase, .0)]
    Timeout(Box<Failure>),

    /// The caller's [`CancelToken`](crate::CancelToken) fired.
    #[error("cancelled: {0}")]
    Cancelled(String),

    /// The connection is gone: the server ended, or this client was closed.
    #[error("connection closed during {}{}", .0.phase, .0)]
    Closed(Box<Failure>),

    /// A call was sent and will have no answer, and may or may not have taken effect: the connection broke, or what
    /// carried this call did. Sending it again could do its work twice.
    #[error("no answer to {}, outcome unknown{}", .0.phase, .0)]
    OutcomeUnknown(Box<Failure>),

    /// The call did not reach the server, or its answer did not come back and the call may be repeated without harm. The
    /// next one may get through. On transports that carry each request by itself.
    #[error("{} did not get through{}", .0.phase, .0)]
    Unreachable(Box<Failure>),

    /// The server, or something before it, refused the call before it began, not in the words of the protocol: it wants
    /// credentials, or does not know the address. On transports that carry each request by itself.
    #[error("the server rejected {}{failure}", failure.phase)]
    Rejected {
        /// With which status, where the transport has such: 401 over HTTP.
        status: Option<u16>,
        /// What is known about the server.
        failure: Box<Failure>,
    },

    /// The server does not know the session, which is the connection to it, and a new one was of no use or could not be
    /// made. The call did not begin. On transports that carry each request by itself, in the Legacy era.
    #[error("the session ended before {}{}", .0.phase, .0)]
    SessionEnded(Box<Failure>),

    /// The server could not be started, or a pipe or socket failed.
    #[error("{context}: {error}")]
    Transport {
        /// What was tried, with the command or address.
        context: String,
        /// What the operating system said. It is part of the text above, so it is not also the `source()`.
        error: io::Error,
    },

    /// The peer broke the protocol.
    #[error("protocol violation: {0}")]
    Protocol(String),

    /// The peer, or the revision it speaks, lacks what the call needs.
    #[error("unsupported: {0}")]
    Unsupported(String),

    /// The call itself is wrong: arguments that are no object, a frame over the limit.
    #[error("invalid use: {0}")]
    InvalidUse(String),

    /// Too much is under way already. Nothing was sent.
    #[error("busy: {0}")]
    Busy(String),

    /// Who decides for the user has not allowed it: a policy, the user, or a program's own check. Nothing was sent, unless the
    /// text says so.
    #[error("denied: {0}")]
    Denied(String),

    /// The server cannot finish the call without an answer that this client did not give: its handler refused or
    /// failed, or what it gave was not what was asked for. A user who declines is no error but an answer.
    #[error("the server asked for {key}, and there is no answer: {error}")]
    NotAnswered {
        /// The question's key.
        key: String,
        /// What the handler said. A Legacy server would have got it as the answer.
        error: ErrorObject,
    },
}

impl Error {
    /// Whether the same call can be made again without doing its work twice: nothing was sent, or the
    /// peer did not start on it. What a connection error allows beyond that depends on the method.
    ///
    /// ```
    /// use tinymcp::Error;
    ///
    /// assert!(Error::Busy("64 requests in flight".into()).is_retryable());
    /// assert!(!Error::InvalidUse("arguments must be a JSON object".into()).is_retryable());
    /// ```
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Busy(_) | Self::Unreachable(_) => true,
            // Too many requests; the service is not available. Other refusals will be the same in a moment.
            Self::Rejected { status, .. } => matches!(status, Some(429 | 503)),
            _ => false,
        }
    }

    /// Whether the connection is gone, so that only a new one helps.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        match self {
            Self::Closed(_) | Self::SessionEnded(_) | Self::Transport { .. } => true,
            Self::OutcomeUnknown(failure) => failure.is_closed,
            _ => false,
        }
    }

    /// Whether no answer came in time.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout(_))
    }

    /// Whether the peer has no resource at the address it was asked for.
    ///
    /// ```
    /// use serde_json::json;
    /// use tinymcp::{Error, ErrorObject};
    ///
    /// let missing = ErrorObject::new(-32602, "no such note").with_data(json!({"uri": "notes://plan"}));
    /// assert!(Error::Peer(missing).is_resource_not_found());
    /// assert!(!Error::Peer(ErrorObject::new(-32602, "uri: missing")).is_resource_not_found());
    /// ```
    #[must_use]
    pub fn is_resource_not_found(&self) -> bool {
        let Self::Peer(error) = self else { return false };
        // spec: 2026-07-28 server/resources#error-handling (-32602 that names the address; -32002 of earlier revisions)
        match error.code {
            ErrorCode::RESOURCE_NOT_FOUND => true,
            ErrorCode::INVALID_PARAMS => {
                let data = error.data.as_ref().and_then(|data| Object::from_json(data.as_raw()).ok());
                data.is_some_and(|data| data.get::<String>("uri").is_some())
            }
            _ => false,
        }
    }

    /// What the peer answered, if it is the peer's error.
    #[must_use]
    pub fn peer_error(&self) -> Option<&ErrorObject> {
        match self {
            Self::Peer(error) | Self::Refused { error, .. } => Some(error),
            _ => None,
        }
    }

    /// What is known about the server at the time of a timeout, a refusal, or the end of a connection or of what carried a
    /// call.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Timeout(failure)
            | Self::Closed(failure)
            | Self::OutcomeUnknown(failure)
            | Self::Unreachable(failure)
            | Self::SessionEnded(failure)
            | Self::Rejected { failure, .. }
            | Self::Refused { failure, .. } => Some(failure),
            _ => None,
        }
    }
}

impl Error {
    /// The same, for another who waited for the same. What the operating system said keeps its kind and its text.
    pub(crate) fn copy(&self) -> Self {
        match self {
            Self::Peer(error) => Self::Peer(error.clone()),
            Self::Refused { error, failure } => {
                Self::Refused { error: error.clone(), failure: failure.clone() }
            }
            Self::Timeout(failure) => Self::Timeout(failure.clone()),
            Self::Cancelled(reason) => Self::Cancelled(reason.clone()),
            Self::Closed(failure) => Self::Closed(failure.clone()),
            Self::OutcomeUnknown(failure) => Self::OutcomeUnknown(failure.clone()),
            Self::Unreachable(failure) => Self::Unreachable(failure.clone()),
            Self::Rejected { status, failure } => {
                Self::Rejected { status: *status, failure: failure.clone() }
            }
            Self::SessionEnded(failure) => Self::SessionEnded(failure.clone()),
            Self::Transport { context, error } => Self::Transport {
                context: context.clone(),
                error: io::Error::new(error.kind(), error.to_string()),
            },
            Self::Protocol(problem) => Self::Protocol(problem.clone()),
            Self::Unsupported(problem) => Self::Unsupported(problem.clone()),
            Self::InvalidUse(problem) => Self::InvalidUse(problem.clone()),
            Self::Busy(problem) => Self::Busy(problem.clone()),
            Self::Denied(reason) => Self::Denied(reason.clone()),
            Self::NotAnswered { key, error } => Self::NotAnswered { key: key.clone(), error: error.clone() },
        }
    }
}

#[cfg(feature = "host")]
impl Error {
    /// The same with other texts, of which some are a server's.
    pub(crate) fn map_texts(self, map: &dyn Fn(String) -> String) -> Self {
        let failed = |mut failure: Box<Failure>| {
            failure.stderr_tail = map(failure.stderr_tail);
            failure.detail = failure.detail.map(map);
            failure.server = map(failure.server);
            failure
        };
        let answered = |mut error: ErrorObject| {
            error.message = map(error.message);
            error
        };
        match self {
            Self::Peer(error) => Self::Peer(answered(error)),
            Self::Refused { error, failure } => {
                Self::Refused { error: answered(error), failure: failed(failure) }
            }
            Self::Timeout(failure) => Self::Timeout(failed(failure)),
            Self::Cancelled(reason) => Self::Cancelled(reason),
            Self::Closed(failure) => Self::Closed(failed(failure)),
            Self::OutcomeUnknown(failure) => Self::OutcomeUnknown(failed(failure)),
            Self::Unreachable(failure) => Self::Unreachable(failed(failure)),
            Self::Rejected { status, failure } => Self::Rejected { status, failure: failed(failure) },
            Self::SessionEnded(failure) => Self::SessionEnded(failed(failure)),
            Self::Transport { context, error } => Self::Transport {
                context: map(context),
                error: io::Error::new(error.kind(), map(error.to_string())),
            },
            Self::Protocol(problem) => Self::Protocol(map(problem)),
            Self::Unsupported(problem) => Self::Unsupported(map(problem)),
            Self::InvalidUse(problem) => Self::InvalidUse(map(problem)),
            Self::Busy(problem) => Self::Busy(map(problem)),
            Self::Denied(reason) => Self::Denied(reason),
            Self::NotAnswered { key, error } => Self::NotAnswered { key, error: answered(error) },
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<ErrorObject> for Error {
    fn from(error: ErrorObject) -> Self {
        Self::Peer(error)
    }
}

/// What a connection was doing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Starting the server and settling the protocol.
    Handshake,
    /// Waiting for the answer to a request of this method.
    Call(String),
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Handshake => f.write_str("handshake"),
            Self::Call(method) => f.write_str(method),
        }
    }
}

/// Everything known about a connection that failed, or about a call that failed by itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// What was going on.
    pub phase: Phase,
    /// The server: a command line or an address.
    pub server: String,
    /// How long was waited.
    pub after: Duration,
    /// How the server process ended, if it is a child and has ended.
    pub status: Option<ExitStatus>,
    /// The last of what the server wrote to stderr, if that is captured.
    pub stderr_tail: String,
    /// Anything else, such as the read error that ended the connection.
    pub detail: Option<String>,
    /// Whether the connection is gone. If not, only the call was lost.
    pub is_closed: bool,
}

#[cfg(feature = "host")]
impl Failure {
    /// Of a call that was not made on any connection.
    pub(crate) fn new(phase: Phase, server: String, detail: String) -> Self {
        let (after, stderr_tail) = (Duration::ZERO, String::new());
        Self { phase, server, after, status: None, stderr_tail, detail: Some(detail), is_closed: false }
    }
}

impl fmt::Display for Failure {
    /// Continues a sentence: `: python3 server.py, exit status: 3, stderr: …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ": {}", self.server)?;
        if let Some(detail) = &self.detail {
            write!(f, ", {detail}")?;
        }
        if let Some(status) = self.status {
            write!(f, ", {status}")?;
        }
        if !self.stderr_tail.is_empty() {
            write!(f, ", stderr: {}", self.stderr_tail.trim_end())?;
        }
        Ok(())
    }
}

/// `1.5 s`, `30 s`, `250 ms`. In whole numbers, as std's code for printing others is 12 kB.
pub(crate) struct Seconds(pub(crate) Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.as_secs(), self.0.subsec_millis()) {
            (0, millis) => write!(f, "{millis} ms"),
            (seconds, 0) => write!(f, "{seconds} s"),
            (seconds, millis) => write!(f, "{seconds}.{} s", millis / 100),
        }
    }
}
