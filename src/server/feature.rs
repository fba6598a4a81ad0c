//! [`Feature`]: what a server can do beside tools.

use super::asked::Asked;
use crate::context::Context;
use crate::method::Method;
use crate::peer::Served;
use crate::protocol::{CompleteParams, Completion, ProtocolVersion, ServerCapabilities};
use crate::tool::ToolError;

/// A feature of a server: some methods and their answers. Behind a trait, so that a program links only the features
/// that its server was built with.
pub(super) trait Feature: Send + Sync {
    /// The methods it answers.
    fn methods(&self) -> &'static [Method];

    /// Whether `method`, one of its own, runs nobody else's code, so that the reading thread can answer it.
    fn is_quick(&self, method: Method) -> bool;

    /// Adds what clients of `version` are told of it.
    fn declare(&self, capabilities: &mut ServerCapabilities, version: &ProtocolVersion);

    /// Answers a request of one of its methods.
    fn serve(&self, asked: Asked<'_>, out: &mut Vec<u8>) -> Served;

    /// Proposes values for an argument; `None` if `params` are about nothing of this feature.
    fn complete(&self, _params: &CompleteParams, _cx: &Context) -> Option<Result<Completion, ToolError>> {
        None
    }
}
