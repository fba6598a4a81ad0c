//! [`Standing`]: what is known of a call that failed, and so whether it may be made again.

use crate::error::{Error, Failure, Phase};

/// What is known of a call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It was not begun, or its method can be repeated: it may be made again, whatever it is.
    NotBegun,
    /// It may or may not have been carried out: it may be made again only if that does no harm.
    Unknown,
    /// Another try would bring the same, or nobody wants one.
    Final,
}

impl Standing {
    /// What `error` says. `has_begun`: the server is known to have begun with the call, so that an error that says that nothing
    /// was sent is about a later request of it.
    pub(crate) fn of(error: &Error, has_begun: bool) -> Self {
        let standing = match error {
            Error::Busy(_)
            | Error::Unreachable(_)
            | Error::SessionEnded(_)
            | Error::Closed(_)
            | Error::Transport { .. } => Self::NotBegun,
            Error::Rejected { .. } if error.is_retryable() => Self::NotBegun,
            Error::Timeout(failure) if failure.phase == Phase::Handshake => Self::NotBegun,
            Error::Timeout(_) | Error::OutcomeUnknown(_) => Self::Unknown,
            _ => Self::Final,
        };
        match standing {
            Self::NotBegun if has_begun => Self::Unknown,
            standing => standing,
        }
    }

    pub(crate) fn may_repeat(self, is_repeatable: bool) -> bool {
        match self {
            Self::NotBegun => true,
            Self::Unknown => is_repeatable,
            Self::Final => false,
        }
    }
}

/// The error that is told: one that says that nothing was sent would be wrong if the call has begun and is not repeated.
pub(crate) fn honest(error: Error, has_begun: bool, method: &str) -> Error {
    if !has_begun || Standing::of(&error, false) != Standing::NotBegun {
        return error;
    }
    let phase = Phase::Call(method.to_owned());
    let unknown = |mut failure: Box<Failure>| {
        failure.phase = Phase::Call(method.to_owned());
        failure.detail.get_or_insert_with(|| "a later request of the call failed".to_owned());
        Error::OutcomeUnknown(failure)
    };
    match error {
        Error::Unreachable(failure)
        | Error::SessionEnded(failure)
        | Error::Closed(failure)
        | Error::Timeout(failure)
        | Error::Rejected { failure, .. } => unknown(failure),
        error => unknown(Box::new(Failure::new(phase, String::from("the call"), error.to_string()))),
    }
}

/// Whether the server, or the way to it, is to blame: what a breaker counts.
pub(crate) fn is_servers_failure(error: &Error) -> bool {
    matches!(
        error,
        Error::Unreachable(_)
            | Error::SessionEnded(_)
            | Error::Closed(_)
            | Error::Transport { .. }
            | Error::Rejected { .. }
            | Error::Timeout(_)
            | Error::OutcomeUnknown(_)
            | Error::Refused { .. }
            | Error::Protocol(_)
    )
}

/// Whether the server has answered, if only with an error.
pub(crate) fn is_answer(error: &Error) -> bool {
    matches!(error, Error::Peer(_))
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::jsonrpc::ErrorObject;

    fn failure(phase: Phase) -> Box<Failure> {
        Box::new(Failure::new(phase, "a server".to_owned(), "gone".to_owned()))
    }

    #[test]
    fn only_what_was_not_begun_is_repeated_without_being_asked() {
        let call = || failure(Phase::Call("tools/call".into()));
        let rejected = |status| Error::Rejected { status: Some(status), failure: call() };
        let transport = Error::Transport { context: "x".into(), error: io::Error::other("y") };
        let refused = Error::Refused { error: ErrorObject::new(-1, "no"), failure: call() };
        let (safe, unsure, over) = (Standing::NotBegun, Standing::Unknown, Standing::Final);
        for (error, want) in [
            (Error::Busy("x".into()), safe),
            (Error::Unreachable(call()), safe),
            (Error::SessionEnded(call()), safe),
            (Error::Closed(call()), safe),
            (transport, safe),
            (rejected(503), safe),
            (rejected(429), safe),
            (rejected(401), over),
            (Error::Timeout(failure(Phase::Handshake)), safe),
            (Error::Timeout(call()), unsure),
            (Error::OutcomeUnknown(call()), unsure),
            (Error::Cancelled("x".into()), over),
            (Error::Denied("x".into()), over),
            (Error::Protocol("x".into()), over),
            (Error::Unsupported("x".into()), over),
            (Error::InvalidUse("x".into()), over),
            (Error::Peer(ErrorObject::new(-32602, "unknown tool")), over),
            (Error::NotAnswered { key: "k".into(), error: ErrorObject::new(-1, "no") }, over),
            (refused, over),
        ] {
            let text = error.to_string();
            assert_eq!(Standing::of(&error, false), want, "{text}");
            let begun = if want == safe { unsure } else { want };
            assert_eq!(Standing::of(&error, true), begun, "{text}");
            let told = honest(error, true, "tools/call");
            assert_eq!(
                matches!(told, Error::OutcomeUnknown(_)),
                want != over && !told.is_timeout(),
                "{told}"
            );
        }
    }
}
