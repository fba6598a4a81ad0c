//! [`RecordedError`]: an error as it is recorded.

use std::io;

use crate::error::Error;
use crate::json::{Json, Object, wire};
use crate::jsonrpc::ErrorObject;

wire::string_enum! {
    /// What kind of error it was: the variants of [`Error`].
    pub enum ErrorKind {
        /// The server answered with an error.
        Peer = "peer",
        /// The server refused the handshake.
        Refused = "refused",
        /// No answer in time.
        Timeout = "timeout",
        /// The caller gave it up.
        Cancelled = "cancelled",
        /// The connection was gone.
        Closed = "closed",
        /// It may or may not have taken effect.
        OutcomeUnknown = "outcome_unknown",
        /// It did not get through.
        Unreachable = "unreachable",
        /// The server, or something before it, turned it away.
        Rejected = "rejected",
        /// The session was over.
        SessionEnded = "session_ended",
        /// A pipe or socket failed, or the server could not be started.
        Transport = "transport",
        /// The server broke the protocol.
        Protocol = "protocol",
        /// The server, or the revision it speaks, lacks what was needed.
        Unsupported = "unsupported",
        /// The call itself was wrong.
        InvalidUse = "invalid_use",
        /// Too much was under way.
        Busy = "busy",
        /// Who decides for the user did not allow it.
        Denied = "denied",
        /// The server asked for something and got no answer.
        NotAnswered = "not_answered",
    }
}

wire::wire! {
    /// An error as it is recorded.
    pub struct RecordedError {
        /// What kind it was.
        pub kind: ErrorKind = "kind",
        /// The whole text.
        pub message: String = "message",
        /// The code of the server's error.
        pub code: Option<i64> = "code",
        /// The data of the server's error.
        pub data: Option<Json> = "data" or null,
    }
}

impl RecordedError {
    /// An error of this kind and text.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), code: None, data: None, extra: Object::new() }
    }

    fn of_object(kind: ErrorKind, error: &ErrorObject) -> Self {
        let recorded = Self::new(kind, error.message.as_str());
        Self { code: Some(error.code), data: error.data.clone(), ..recorded }
    }

    /// The error that a caller gets who is to see the same once more. What a [`Failure`](crate::Failure) would tell beside is
    /// in the text of a [`Error::Protocol`].
    #[must_use]
    pub fn to_error(&self) -> Error {
        let text = self.message.clone();
        let object = || ErrorObject {
            code: self.code.unwrap_or(-32603),
            message: text.clone(),
            data: self.data.clone(),
        };
        match self.kind {
            ErrorKind::Peer | ErrorKind::Refused => Error::Peer(object()),
            ErrorKind::Cancelled => Error::Cancelled(text),
            ErrorKind::Transport => {
                Error::Transport { context: "recorded".to_owned(), error: io::Error::other(text) }
            }
            ErrorKind::Unsupported => Error::Unsupported(text),
            ErrorKind::InvalidUse => Error::InvalidUse(text),
            ErrorKind::Busy => Error::Busy(text),
            ErrorKind::Denied => Error::Denied(text),
            ErrorKind::NotAnswered => {
                Error::NotAnswered { key: self.extra.get("key").unwrap_or_default(), error: object() }
            }
            _ => Error::Protocol(format!("recorded {}: {text}", self.kind)),
        }
    }
}

impl From<&ErrorObject> for RecordedError {
    fn from(error: &ErrorObject) -> Self {
        Self::of_object(ErrorKind::Peer, error)
    }
}

impl From<&Error> for RecordedError {
    fn from(error: &Error) -> Self {
        // Where the variant carries the text, without what `Display` puts before it.
        let plain = |kind, text: &str| Self::new(kind, text);
        let whole = |kind| Self::new(kind, error.to_string());
        match error {
            Error::Peer(object) => Self::of_object(ErrorKind::Peer, object),
            Error::Refused { error: object, .. } => Self::of_object(ErrorKind::Refused, object),
            Error::Timeout(_) => whole(ErrorKind::Timeout),
            Error::Cancelled(reason) => plain(ErrorKind::Cancelled, reason),
            Error::Closed(_) => whole(ErrorKind::Closed),
            Error::OutcomeUnknown(_) => whole(ErrorKind::OutcomeUnknown),
            Error::Unreachable(_) => whole(ErrorKind::Unreachable),
            Error::Rejected { .. } => whole(ErrorKind::Rejected),
            Error::SessionEnded(_) => whole(ErrorKind::SessionEnded),
            Error::Transport { .. } => whole(ErrorKind::Transport),
            Error::Protocol(problem) => plain(ErrorKind::Protocol, problem),
            Error::Unsupported(problem) => plain(ErrorKind::Unsupported, problem),
            Error::InvalidUse(problem) => plain(ErrorKind::InvalidUse, problem),
            Error::Busy(problem) => plain(ErrorKind::Busy, problem),
            Error::Denied(reason) => plain(ErrorKind::Denied, reason),
            Error::NotAnswered { key, error: object } => {
                let mut recorded = Self::of_object(ErrorKind::NotAnswered, object);
                recorded.extra.insert("key", key);
                recorded
            }
        }
    }
}
