//! [`Context`]: what a handler sees of the call it serves.

use crate::sync::CancelToken;

/// What a handler sees of the call it serves: whether it was cancelled, and where to report progress.
///
/// Cheap to clone; a clone that outlives its call is inert.
#[derive(Clone, Debug, Default)]
pub struct Context {
    cancel: CancelToken,
}

impl Context {
    /// A context without a caller: for running a tool locally.
    #[must_use]
    pub fn detached() -> Self {
        Self::default()
    }

    /// Fires when the caller gave up on this call.
    #[must_use]
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }
}
