//! [`Feature`]: what a server can do beside tools.

use std::sync::Arc;
use std::time::Duration;

use super::asked::Asked;
use super::changes::Changes;
use super::listen::Filter;
use crate::context::Context;
use crate::json::Members;
use crate::jsonrpc::ErrorObject;
use crate::method::Method;
use crate::peer::Served;
use crate::prompt::PromptRegistry;
use crate::protocol::{CompleteParams, Completion, ProtocolVersion, ServerCapabilities};
use crate::resource::ResourceRegistry;
use crate::sync::Deadline;
use crate::tool::{ChangeListener, Tool, ToolError};

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

    /// Marks the changes of its list in `changes`, for as long as what it returns lives.
    fn tell_changes(&self, _changes: &Arc<Changes>) -> Option<ChangeListener> {
        None
    }

    /// Takes what it can tell of out of the members of a filter of `subscriptions/listen`, beside the changes of its list.
    ///
    /// # Errors
    /// What is wrong with a member, or with who asks for it.
    fn filter(
        &self,
        _asked: &Asked<'_>,
        _members: &mut Members<'_>,
        _filter: &mut Filter,
    ) -> Result<(), ErrorObject> {
        Ok(())
    }

    /// The registry behind it, if it is that of the prompts. Kept here alone, so that a server without them links nothing
    /// of it.
    fn prompts(&self) -> Option<&PromptRegistry> {
        None
    }

    /// The same for the resources.
    fn resources(&self) -> Option<&ResourceRegistry> {
        None
    }

    /// Takes a call of `tool` over; `None` if it does not. May be called by the reading thread.
    fn take_call(&self, _asked: &mut Asked<'_>, _tool: &Arc<dyn Tool>, _out: &mut Vec<u8>) -> Option<Served> {
        None
    }

    /// Takes over a call of `tool` whose handler has ended with an error in order to have it go on elsewhere; `None` if that
    /// was not why.
    fn take_begun(
        &self,
        _asked: &mut Asked<'_>,
        _tool: &Arc<dyn Tool>,
        _cx: &Context,
        _out: &mut Vec<u8>,
    ) -> Option<Result<(), ErrorObject>> {
        None
    }

    /// Waits for what requests of this connection are to be answered with, and no thread serves now.
    fn drain(&self, _connection: u64, _deadline: Deadline) {}

    /// The connection of this number has ended, or is about to.
    fn connection_ended(&self, _connection: u64) {}

    /// The server ends: whatever runs for longer than a request is to stop, and gets `grace` for it.
    fn stop(&self, _grace: Duration) {}
}
