//! Calls of tools: at once, in the background, or round by round.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::call::{CallOptions, Open, must_be_complete, settled};
use super::input::{Rounds, questions};
use super::session::{Session, Settled};
use crate::era::read_call_result;
use crate::error::{Error, Result};
use crate::json::Json;
use crate::jsonrpc::write_json;
use crate::protocol::{CallToolResult, InputRequiredResult, ResultType};

/// What came of one round of a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// It is over.
    Complete(CallToolResult),
    /// The server asks something first. [`CallOptions::with_input`] goes on.
    InputRequired(InputRequiredResult),
}

/// An open call. Dropping it without [`wait`](Self::wait) gives the call up and tells the server so.
#[must_use = "dropping the handle gives the call up"]
pub struct CallHandle {
    /// What is sent again if the server asks something.
    name: String,
    arguments: Json,
    open: Option<Open>,
}

impl CallHandle {
    /// Waits for the result. What a Modern server asks first is answered on this thread, by the handlers of the client.
    ///
    /// # Errors
    /// As [`ClientHandle::call_tool`](super::ClientHandle::call_tool).
    pub fn wait(mut self) -> Result<CallToolResult> {
        match self.open.take() {
            Some(open) => {
                let write = |out: &mut Vec<u8>| write_call(out, &self.name, &self.arguments);
                Rounds::new(&open, &self.name, &write).finish(open, tool_result)
            }
            None => Err(Error::InvalidUse("the call has been waited for".into())),
        }
    }

    /// Gives the call up and tells the server why.
    pub fn cancel(mut self, reason: &str) {
        if let Some(open) = self.open.take() {
            open.give_up(reason);
        }
    }

    /// The id of the request.
    #[must_use]
    pub fn request_id(&self) -> Option<crate::RequestId> {
        self.open.as_ref().map(|open| open.waiting.id.into())
    }
}

impl Drop for CallHandle {
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            open.give_up("abandoned");
        }
    }
}

impl fmt::Debug for CallHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallHandle").field("id", &self.request_id()).finish_non_exhaustive()
    }
}

/// `arguments` as the text of a JSON object.
pub(super) fn arguments(arguments: impl Serialize) -> Result<Json> {
    let json = Json::new(&arguments).map_err(|e| Error::InvalidUse(format!("arguments are no JSON: {e}")))?;
    match json.as_str().as_bytes().first() {
        Some(b'{') => Ok(json),
        _ if json.as_str() == "null" => Ok(Json::empty_object()),
        _ => Err(Error::InvalidUse(format!("arguments must be a JSON object, not {:.40}", json.as_str()))),
    }
}

fn write_call(out: &mut Vec<u8>, name: &str, arguments: &Json) {
    out.extend_from_slice(b"\"name\":");
    write_json(out, name);
    out.extend_from_slice(b",\"arguments\":");
    out.extend_from_slice(arguments.as_str().as_bytes());
}

/// Sends a tool call.
fn send(session: &Arc<Session>, name: &str, arguments: &Json, options: &CallOptions) -> Result<Open> {
    let settled = settled(session, options)?;
    Open::start(session, settled, "tools/call", &|out| write_call(out, name, arguments), options)
}

/// Sends a tool call that is waited for later.
pub(super) fn start(
    session: &Arc<Session>,
    name: &str,
    arguments: Json,
    options: &CallOptions,
) -> Result<CallHandle> {
    let open = Some(send(session, name, &arguments, options)?);
    Ok(CallHandle { name: name.to_owned(), arguments, open })
}

/// Calls a tool, in as many rounds as it takes.
pub(super) fn tool(
    session: &Arc<Session>,
    name: &str,
    arguments: &Json,
    options: &CallOptions,
) -> Result<CallToolResult> {
    let open = send(session, name, arguments, options)?;
    let write = |out: &mut Vec<u8>| write_call(out, name, arguments);
    Rounds::new(&open, name, &write).finish(open, tool_result)
}

/// Calls a tool, one round.
pub(super) fn tool_once(
    session: &Arc<Session>,
    name: &str,
    arguments: &Json,
    options: &CallOptions,
) -> Result<Outcome> {
    let open = send(session, name, arguments, options)?;
    let result = open.wait()?;
    match tool_result(&result, &open.settled)? {
        Some(result) => Ok(Outcome::Complete(result)),
        None => Ok(Outcome::InputRequired(questions(&result, "tools/call")?)),
    }
}

/// Reads a tool's result; `None` if it is a question.
fn tool_result(result: &Json, settled: &Settled) -> Result<Option<CallToolResult>> {
    let result = read_call_result(result.as_raw(), &settled.identity.version)
        .map_err(|e| Error::Protocol(format!("the result of tools/call: {e}")))?;
    if result.result_type == Some(ResultType::InputRequired) && settled.is_modern() {
        return Ok(None);
    }
    must_be_complete(result.result_type.as_ref())?;
    Ok(Some(result))
}
