//! [`RemoteTool`]: a tool of a server, behind the same interface as a local one.

use std::fmt;
use std::sync::Arc;

use super::resend::is_repeatable;
#[cfg(feature = "validation")]
use super::results::Expected;
use super::{CallOptions, Caller};
use crate::context::Context;
use crate::error::Error;
use crate::json::Json;
use crate::protocol::task::legacy::TaskSupport;
use crate::protocol::{CallToolResult, ToolDefinition};
#[cfg(feature = "validation")]
use crate::tool::Validation;
use crate::tool::{Arguments, Tool, ToolError};

/// A tool of a server. Registered in a [`ToolRegistry`](crate::ToolRegistry) it looks like any local one.
///
/// `execute` blocks until the answer is here. Cancelling its context cancels the remote call; progress of the remote call is
/// reported as progress of this one. Arguments pass as the text they are; with the feature `validation`, a registry compares
/// them with the tool's schema before, and mends what is sloppy.
///
/// What the server asks during the call is answered by the handlers of the client that reaches it, not by the client
/// that this program serves. A proxy that would rather pass a question on calls by [`ClientHandle::call_tool_once`](super::ClientHandle::call_tool_once),
/// each round in a [`Context::step`], and puts what comes back to its own client by [`Context::ask`]; it must declare
/// to the server, by a handler, what it passes on.
#[derive(Clone)]
pub struct RemoteTool {
    definition: ToolDefinition,
    caller: Arc<dyn Caller>,
    #[cfg(feature = "validation")]
    expected: Option<Arc<Expected>>,
}

impl RemoteTool {
    /// The tool that `definition` describes, called through `caller`.
    #[must_use]
    pub fn new(definition: ToolDefinition, caller: Arc<dyn Caller>) -> Self {
        Self {
            #[cfg(feature = "validation")]
            expected: Expected::of(&definition),
            definition,
            caller,
        }
    }
}

impl Tool for RemoteTool {
    fn name(&self) -> &str {
        &self.definition.name
    }

    fn description(&self) -> &str {
        self.definition.description.as_deref().unwrap_or_default()
    }

    fn parameters(&self) -> &Json {
        &self.definition.input_schema
    }

    fn execute(
        &self,
        arguments: Arguments<'_>,
        cx: &Context,
    ) -> std::result::Result<CallToolResult, ToolError> {
        let mut options = CallOptions::default().with_cancel(cx.cancel_token());
        if self.definition.task_support() == TaskSupport::Required {
            // spec: 2025-11-25 basic/utilities/tasks#tool-level-negotiation
            options = options.with_task(None);
        }
        if is_repeatable(&self.definition) {
            options = options.with_repeatable();
        }
        #[cfg(feature = "validation")]
        {
            options.expected.clone_from(&self.expected);
        }
        if cx.wants_progress() {
            let cx = cx.clone();
            options = options.with_progress(move |report| {
                cx.progress(report.progress, report.total, report.message.as_deref())
            });
        }
        self.caller.call(self.name(), arguments, &options).map_err(|error| match error {
            // The server's refusal stays one: an unknown tool is no result a model could learn from.
            Error::Peer(error) => ToolError::protocol(error),
            error => ToolError::from(error),
        })
    }

    fn definition(&self) -> ToolDefinition {
        self.definition.clone()
    }

    /// Its client compares the results.
    #[cfg(feature = "validation")]
    fn validation(&self) -> Validation {
        Validation::default().without_results().of_others()
    }
}

impl fmt::Debug for RemoteTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RemoteTool").field(&self.definition.name).finish()
    }
}
