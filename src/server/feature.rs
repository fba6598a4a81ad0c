//! [`Feature`]: what a server can do beside tools.

use std::sync::Arc;
use std::time::Duration;

use super::asked::Asked;
use crate::method::Method;
use crate::peer::Served;
use crate::protocol::{ProtocolVersion, ServerCapabilities};
use crate::tool::Tool;

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

    /// Takes a call of `tool` over; `None` if it does not. May be called by the reading thread.
    fn take_call(&self, _asked: &mut Asked<'_>, _tool: &Arc<dyn Tool>, _out: &mut Vec<u8>) -> Option<Served> {
        None
    }

    /// The connection of this number has ended, or is about to.
    fn connection_ended(&self, _connection: u64) {}

    /// The server ends: whatever runs for longer than a request is to stop, and gets `grace` for it.
    fn stop(&self, _grace: Duration) {}
}
