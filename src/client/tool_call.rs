//! Calls of tools: at once, in the background, or round by round.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::call::{CallOptions, Open, must_be_complete, settled};
use super::input::{Rounds, questions};
use super::resend::recovered;
#[cfg(feature = "validation")]
use super::results::Expected;
use super::session::{Session, Settled};
use super::tasks::{TaskHandle, created, wish};
use crate::era::read_call_result;
use crate::error::{Error, Result};
use crate::json::Json;
use crate::jsonrpc::write_json;
use crate::protocol::{CallToolResult, InputRequiredResult, ResultType, Task};

/// What came of one round of a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// It is over.
    Complete(CallToolResult),
    /// The server asks something first. [`CallOptions::with_input`] goes on.
    InputRequired(InputRequiredResult),
    /// The server made a task of it. [`ClientHandle::task`](super::ClientHandle::task) goes on.
    Task(Task),
}

/// An open call. Dropping it without [`wait`](Self::wait) gives the call up and tells the server so.
#[must_use = "dropping the handle gives the call up"]
pub struct CallHandle {
    /// What is sent again if the server asks something.
    name: String,
    arguments: Json,
    open: Option<Open>,
    expectation: Expectation,
}

impl CallHandle {
    /// Waits for the result. What a Modern server asks first is answered on this thread, by the handlers of the client.
    ///
    /// # Errors
    /// As [`ClientHandle::call_tool`](super::ClientHandle::call_tool).
    pub fn wait(mut self) -> Result<CallToolResult> {
        match self.open.take() {
            Some(open) => finish(open, &self.name, &self.arguments, self.expectation.clone()),
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

/// What goes with `tools/call` on a connection for which this was settled.
fn members<'a>(
    settled: &Settled,
    name: &'a str,
    arguments: &'a Json,
    options: &CallOptions,
) -> Result<impl Fn(&mut Vec<u8>) + 'a> {
    let task = options.task.map(|ttl| wish(ttl, settled)).transpose()?.flatten();
    Ok(move |out: &mut Vec<u8>| {
        write_call(out, name, arguments);
        if let Some(task) = &task {
            out.extend_from_slice(b",\"task\":");
            out.extend_from_slice(task.as_str().as_bytes());
        }
    })
}

/// Waits for the answer to the first round, for which the call may have to be sent again.
fn answer(open: &mut Open, name: &str, arguments: &Json) -> Result<Json> {
    match open.wait() {
        Err(error) => {
            let write = members(&open.settled, name, arguments, &open.options)?;
            recovered(open, error, &write)
        }
        answer => answer,
    }
}

/// Sends a tool call.
fn send(session: &Arc<Session>, name: &str, arguments: &Json, options: &CallOptions) -> Result<Open> {
    let settled = settled(session, options)?;
    let write = members(&settled, name, arguments, options)?;
    Open::start(session, settled, "tools/call", &write, options)
}

/// What came of a call that asks nothing any more.
enum Came {
    Result(CallToolResult),
    Task(Task),
}

/// Makes a result or a task of the `answer` to the first round, in as many further ones as it takes.
fn come(open: Open, answer: Result<Json>, name: &str, arguments: &Json) -> Result<Came> {
    let write = members(&open.settled, name, arguments, &open.options)?;
    let (session, asked_for) = (Arc::clone(&open.session), open.options.task.is_some());
    Rounds::new(&open, name, &write)
        .finish(open, answer, |result, settled| came(result, settled, &session, asked_for))
}

/// Waits for the result of a call, also if it becomes a task.
fn finish(mut open: Open, name: &str, arguments: &Json, expectation: Expectation) -> Result<CallToolResult> {
    let answer = answer(&mut open, name, arguments);
    if let (Ok(result), None) = (&answer, open.options.task) {
        // Most calls end here: what is large is moved once.
        let result = read(result, &open.settled)?;
        if matches!(result.result_type, None | Some(ResultType::Complete)) {
            return expectation.check(result, &open.settled);
        }
    }
    finish_in_rounds(open, answer, name, arguments, expectation)
}

fn finish_in_rounds(
    open: Open,
    answer: Result<Json>,
    name: &str,
    arguments: &Json,
    expectation: Expectation,
) -> Result<CallToolResult> {
    let (session, settled) = (Arc::clone(&open.session), Arc::clone(&open.settled));
    let (start, options) = (open.began(), Arc::clone(&open.options));
    match come(open, answer, name, arguments)? {
        Came::Result(result) => expectation.check(result, &settled),
        Came::Task(task) => {
            options.note_begun();
            let task = TaskHandle::of_task(&session, task.task_id, name, expectation);
            let result = task.wait_since(start, &options);
            // Nobody else knows of the task.
            if result.as_ref().is_err_and(|error| !matches!(error, Error::Peer(_) | Error::Cancelled(_))) {
                task.abandon();
            }
            result
        }
    }
}

/// Calls a tool, and leaves it to the caller to wait for the task that it becomes.
pub(super) fn tool_task(
    session: &Arc<Session>,
    name: &str,
    arguments: &Json,
    options: &CallOptions,
) -> Result<TaskHandle> {
    let expectation = Expectation::of(session, name, options);
    let mut open = send(session, name, arguments, options)?;
    let answer = answer(&mut open, name, arguments);
    let settled = Arc::clone(&open.settled);
    Ok(match come(open, answer, name, arguments)? {
        Came::Result(result) => TaskHandle::of_result(session, expectation.check(result, &settled)?, name),
        Came::Task(task) => TaskHandle::of_task(session, task.task_id, name, expectation),
    })
}

/// Sends a tool call that is waited for later.
pub(super) fn start(
    session: &Arc<Session>,
    name: &str,
    arguments: Json,
    options: &CallOptions,
) -> Result<CallHandle> {
    let expectation = Expectation::of(session, name, options);
    let open = Some(send(session, name, &arguments, options)?);
    Ok(CallHandle { name: name.to_owned(), arguments, open, expectation })
}

/// Calls a tool, in as many rounds as it takes.
pub(super) fn tool(
    session: &Arc<Session>,
    name: &str,
    arguments: &Json,
    options: &CallOptions,
) -> Result<CallToolResult> {
    let expectation = Expectation::of(session, name, options);
    finish(send(session, name, arguments, options)?, name, arguments, expectation)
}

/// Calls a tool, one round.
pub(super) fn tool_once(
    session: &Arc<Session>,
    name: &str,
    arguments: &Json,
    options: &CallOptions,
) -> Result<Outcome> {
    let expectation = Expectation::of(session, name, options);
    let mut open = send(session, name, arguments, options)?;
    let result = answer(&mut open, name, arguments)?;
    match came(&result, &open.settled, session, options.task.is_some())? {
        Some(Came::Result(result)) => expectation.check(result, &open.settled).map(Outcome::Complete),
        Some(Came::Task(task)) => Ok(Outcome::Task(task)),
        None => Ok(Outcome::InputRequired(questions(&result, "tools/call")?)),
    }
}

/// Reads what a call came to; `None` if it is a question.
fn came(result: &Json, settled: &Settled, session: &Session, asked_for: bool) -> Result<Option<Came>> {
    let read = read(result, settled)?;
    let kind = read.result_type.as_ref();
    if kind == Some(&ResultType::InputRequired) && settled.is_modern() {
        return Ok(None);
    }
    if let Some(task) = created(result, kind.map(ResultType::as_str), settled, session, asked_for)? {
        return Ok(Some(Came::Task(task)));
    }
    must_be_complete(kind)?;
    Ok(Some(Came::Result(read)))
}

fn read(result: &Json, settled: &Settled) -> Result<CallToolResult> {
    read_call_result(result.as_raw(), &settled.identity.version)
        .map_err(|e| Error::Protocol(format!("the result of tools/call: {e}")))
}

/// What the result of a call must look like. Nothing without the feature `validation`.
#[derive(Clone, Default)]
pub(super) struct Expectation {
    #[cfg(feature = "validation")]
    expected: Option<Arc<Expected>>,
}

impl Expectation {
    /// What is known when the call is made counts: the tool may change before its result is here.
    #[cfg(feature = "validation")]
    fn of(session: &Session, name: &str, options: &CallOptions) -> Self {
        let expected = match session.config.trusts_results {
            true => None,
            false => session.results.of(name).or_else(|| options.expected.clone()),
        };
        Self { expected }
    }

    #[cfg(not(feature = "validation"))]
    fn of(_: &Session, _: &str, _: &CallOptions) -> Self {
        Self {}
    }

    #[cfg(feature = "validation")]
    pub(super) fn check(&self, result: CallToolResult, settled: &Settled) -> Result<CallToolResult> {
        match &self.expected {
            Some(expected) => expected.check(&result, &settled.identity.version).map(|()| result),
            None => Ok(result),
        }
    }

    #[cfg(not(feature = "validation"))]
    #[expect(clippy::unused_self, reason = "the feature makes use of it")]
    pub(super) fn check(&self, result: CallToolResult, _: &Settled) -> Result<CallToolResult> {
        Ok(result)
    }
}
