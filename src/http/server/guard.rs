//! The guard: who may come in, by the head of a request alone.

use super::wire::{Head, Response};
use crate::context::Principal;
use crate::jsonrpc::{ErrorCode, ErrorObject};

use super::answers::error_response;

/// Turns the head of a request into the one who makes it.
pub(super) type Guard = Box<dyn Fn(&Head) -> Result<Principal, Denied> + Send + Sync>;

/// Why a request is not let in: what its answer says. The problem is told to the client.
///
/// ```
/// use tinymcp::http::Denied;
///
/// fn may_come(token: Option<&str>) -> Result<(), Denied> {
///     match token {
///         Some("opensesame") => Ok(()),
///         Some("opensesame-but-not-here") => Err(Denied::forbidden("this token is for another server")),
///         _ => Err(Denied::unauthorized("no such token").with_challenge(r#"Bearer realm="notes""#)),
///     }
/// }
/// assert!(may_come(Some("opensesame")).is_ok() && may_come(None).is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Denied {
    status: u16,
    challenge: Option<String>,
    problem: String,
}

impl Denied {
    /// 401: nobody is known by what the request shows, if anything. The challenge is `Bearer` unless another is set.
    pub fn unauthorized(problem: impl Into<String>) -> Self {
        Self { status: 401, challenge: Some("Bearer".to_owned()), problem: problem.into() }
    }

    /// 403: it is known who asks, and he may not.
    pub fn forbidden(problem: impl Into<String>) -> Self {
        Self { status: 403, challenge: None, problem: problem.into() }
    }

    /// Sets the `WWW-Authenticate` header: how to be let in. One with control characters is left out.
    #[must_use]
    pub fn with_challenge(mut self, challenge: impl Into<String>) -> Self {
        self.challenge = Some(challenge.into());
        self
    }

    pub(super) fn into_response(self) -> Response {
        let error = ErrorObject::new(ErrorCode::INVALID_REQUEST, self.problem);
        let mut response = error_response(self.status, None, &error);
        // A line break in it would begin another header.
        let challenge = self.challenge.filter(|text| !text.contains(|c: char| c.is_control()));
        response.headers.extend(challenge.map(|challenge| ("WWW-Authenticate", challenge)));
        response
    }
}
