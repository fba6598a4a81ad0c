//! [`Feature`]: what a server can do beside tools.

use super::asked::Asked;
use super::listen::Filter;
use crate::json::{JsonError, Members};
use crate::method::Method;
use crate::peer::Served;
use crate::protocol::{ProtocolVersion, ServerCapabilities};

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

    /// Takes what it can tell of out of the members of a filter of `subscriptions/listen`, beside the changes of its list.
    ///
    /// # Errors
    /// What is wrong with a member, and with which.
    fn filter(&self, _members: &mut Members<'_>, _filter: &mut Filter) -> Result<(), JsonError> {
        Ok(())
    }
}
