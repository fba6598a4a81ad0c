//! [`TaskHandle`]: a call that became a task of its server, watched until it ends.
//!
//! ```text
//!  tools/call ──▶ task ──▶ tasks/get, again and again ──▶ completed, failed, cancelled ──▶ the caller
//!                              └─ input_required ──▶ handlers ──▶ tasks/update ─┐
//!                              ▲────────────────────────────────────────────────┘
//! ```
//!
//! A 2025-11-25 server asks by requests of its own, and has the result fetched by `tasks/result`.
//!
//! **Invariants:** each question of a task is put to a handler once, however often the task is looked at; nothing here runs
//! by itself: a task that nobody waits for is not looked at.
//!
//! spec: seps/2663-tasks-extension

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{after, never, select};

use super::ClientHandle;
use super::asked::{About, RelatedCall};
use super::call::{CallOptions, Open, must_be_complete, request, request_on, settled};
use super::session::{Session, Settled};
use super::tool_call::Expectation;
use crate::era::read_call_result;
use crate::error::{Error, Phase, Result};
use crate::json::{FromJson, Json, Object};
use crate::method::Method;
use crate::protocol::task::{Task, TaskState, TaskStatus, legacy};
use crate::protocol::{CallToolResult, InputRequests};
use crate::sync::{CancelToken, Deadline, Mutex, lock};

/// No server is asked more often, whatever it suggests.
const MIN_INTERVAL: Duration = Duration::from_millis(50);

/// Nor less often.
const MAX_INTERVAL: Duration = Duration::from_secs(60);

/// Where the server suggests nothing.
const INTERVAL: Duration = Duration::from_secs(1);

/// A call of a tool that the server works on as a task. Dropping it changes nothing: the task goes on, and
/// [`ClientHandle::task`] comes back to it by its id, after a restart of this program as well.
///
/// Its methods can be used by several threads; let one of them [`wait`](Self::wait), as it answers what the task asks.
///
/// ```
/// use serde_json::json;
/// use tinymcp::client::CallOptions;
/// use tinymcp::server::TaskOptions;
/// use tinymcp::tool::TaskMode;
/// use tinymcp::{Client, Server, ToolRegistry, testing, tool};
///
/// let report = tool! { fn report(year: u32) -> String { format!("all about {year}") } }.task_mode(TaskMode::Required);
/// let server = Server::builder("reports", "1").tools(ToolRegistry::new().with(report)?).tasks(TaskOptions::default()).build()?;
/// let client = testing::pair_with(Client::builder().tasks(), &server)?;
///
/// // Whoever only wants the result need not know of tasks.
/// assert_eq!(client.call_tool("report", json!({"year": 1999}))?.text_content(), "all about 1999");
///
/// let task = client.call_tool_task("report", json!({"year": 2001}), &CallOptions::default())?;
/// let id = task.id().expect("the server made a task").to_owned(); // to be kept in a file, for example
/// let result = client.task(id).wait(&CallOptions::default())?;
/// assert_eq!(result.text_content(), "all about 2001");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TaskHandle {
    session: Arc<Session>,
    of: Of,
    /// What was called, for those who answer its questions; empty if nobody knows any more.
    name: String,
    /// What its result must look like.
    expectation: Expectation,
    /// What was asked and answered. Bound: the rounds a call may have, and what fits into an answer of the server for each.
    /// Held for a look-up.
    asked: Mutex<Answered>,
}

enum Of {
    Task(String),
    /// The server made no task.
    Result(CallToolResult),
}

#[derive(Default)]
struct Answered {
    keys: BTreeSet<String>,
    /// Given by the handlers, and not acknowledged by the server.
    unsent: Object,
    rounds: u32,
}

impl TaskHandle {
    pub(super) fn of_task(session: &Arc<Session>, id: String, name: &str, expectation: Expectation) -> Self {
        Self::new(session, Of::Task(id), name, expectation)
    }

    pub(super) fn of_result(session: &Arc<Session>, result: CallToolResult, name: &str) -> Self {
        Self::new(session, Of::Result(result), name, Expectation::default())
    }

    fn new(session: &Arc<Session>, of: Of, name: &str, expectation: Expectation) -> Self {
        let (session, name) = (Arc::clone(session), name.to_owned());
        Self { session, of, name, expectation, asked: Mutex::default() }
    }

    /// The id of the task; `None` if the server gave the result at once. Whoever knows it may have access to the task.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        match &self.of {
            Of::Task(id) => Some(id),
            Of::Result(_) => None,
        }
    }

    /// Looks how the task is doing; `None` if the server gave the result at once. A task of a 2025-11-25 server comes without
    /// payload.
    ///
    /// # Errors
    /// [`Error::Peer`] when the server does not know it, or no longer. As any call.
    pub fn status(&self, options: &CallOptions) -> Result<Option<Task>> {
        let Of::Task(id) = &self.of else { return Ok(None) };
        Ok(Some(self.look(id, options)?.0))
    }

    /// The result, if the task has ended.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn result(&self, options: &CallOptions) -> Result<Option<CallToolResult>> {
        let id = match &self.of {
            Of::Task(id) => id,
            Of::Result(result) => return Ok(Some(result.clone())),
        };
        let (task, settled) = self.look(id, options)?;
        match settled.is_modern() {
            true => self.ended(&task, &settled),
            false if task.status == TaskStatus::Cancelled => Err(cancelled(&task)),
            false if task.status.is_terminal() => self.fetch(id, options).map(Some),
            false => Ok(None),
        }
    }

    /// Waits for the result. The task is looked at as often as the server suggests, between 50 ms and 60 s; what it asks is
    /// answered on this thread, by the handlers of the client. The timeout of `options` counts for each look, the total for
    /// everything. When the cancel token fires the task is cancelled; after another error it goes on, and can be waited
    /// for again.
    ///
    /// # Errors
    /// - [`Error::Peer`] when the task failed, or the server does not know it (any more).
    /// - [`Error::Cancelled`] when the task was cancelled, by this or by another.
    /// - As [`call_tool`](ClientHandle::call_tool).
    pub fn wait(&self, options: &CallOptions) -> Result<CallToolResult> {
        self.wait_since(Instant::now(), options)
    }

    /// The same, for a call that began earlier.
    pub(super) fn wait_since(&self, start: Instant, options: &CallOptions) -> Result<CallToolResult> {
        let id = match &self.of {
            Of::Task(id) => id,
            Of::Result(result) => return Ok(result.clone()),
        };
        let result = self.watch(id, start, options);
        if let Err(Error::Cancelled(_)) = &result {
            if options.cancel().is_some_and(CancelToken::is_cancelled) {
                self.abandon();
            }
        }
        result
    }

    /// Asks the server to cancel the task. It may end in another way nevertheless.
    ///
    /// # Errors
    /// [`Error::Peer`] when the server does not know it, or, one of 2025-11-25, when it has ended. As any call.
    pub fn cancel(&self, options: &CallOptions) -> Result<()> {
        let Of::Task(id) = &self.of else { return Ok(()) };
        let settled = settled(&self.session, options)?;
        request(&self.session, settled, Method::TasksCancel.name(), &about(id), &options.of_task(None))
            .map(drop)
    }

    /// Tells the server that nobody wants the result, without waiting for its answer.
    pub(super) fn abandon(&self) {
        let Of::Task(id) = &self.of else { return };
        let options = CallOptions::default();
        let Ok(settled) = settled(&self.session, &options) else { return };
        let write = |out: &mut Vec<u8>| super::call::write_members(out, &about(id));
        match Open::start(&self.session, settled, Method::TasksCancel.name(), &write, &options) {
            // The answer is of no interest.
            Ok(open) => drop(open.settled.peer.forget(open.waiting.id)),
            Err(e) => log::debug!("a task was not cancelled: {e}"),
        }
    }

    fn watch(&self, id: &str, start: Instant, options: &CallOptions) -> Result<CallToolResult> {
        let deadline = Deadline::of(start, options.total(&self.session));
        // A task that takes no time is not waited for as long as one that does.
        let mut interval = MIN_INTERVAL;
        loop {
            self.pause(interval, deadline, options)?;
            let options = options.of_task(self.left(start, deadline)?.into());
            let (task, settled) = self.look(id, &options)?;
            interval = task.poll_interval_ms.map_or(INTERVAL, Duration::from_millis);
            interval = interval.clamp(MIN_INTERVAL, MAX_INTERVAL);
            let asks = task.status == TaskStatus::InputRequired;
            if !settled.is_modern() {
                if task.status == TaskStatus::Cancelled {
                    return Err(cancelled(&task)); // what it came to is an error that looks like any other
                }
                // spec: 2025-11-25 basic/utilities/tasks#input-required-status (it SHOULD then be waited for)
                if asks || task.status.is_terminal() {
                    return self.fetch(id, &options);
                }
            } else if let Some(result) = self.ended(&task, &settled)? {
                return Ok(result);
            } else if asks {
                self.answer(id, task.input_requests.as_ref(), &settled, deadline, &options)?;
            }
        }
    }

    /// What is left of the time in all; `None` for ever.
    fn left(&self, start: Instant, deadline: Deadline) -> Result<Option<Duration>> {
        match deadline.remaining() {
            Some(left) if left.is_zero() => {
                let phase = Phase::Call(Method::TasksGet.name().to_owned());
                Err(Error::Timeout(self.session.failure(phase, None, start.elapsed())))
            }
            left => Ok(left),
        }
    }

    fn pause(&self, interval: Duration, deadline: Deadline, options: &CallOptions) -> Result<()> {
        let cancelled = options.cancel().map_or_else(never, CancelToken::receiver);
        let time = deadline.remaining().map_or(interval, |left| left.min(interval));
        let peer = settled(&self.session, options)?;
        select! {
            recv(cancelled) -> _ => options.check_cancelled(),
            // The next look tells how it ended, or finds another connection.
            recv(peer.peer.ended()) -> _ => Ok(()),
            recv(after(time)) -> _ => Ok(()),
        }
    }

    fn look(&self, id: &str, options: &CallOptions) -> Result<(Task, Arc<Settled>)> {
        let settled = settled(&self.session, options)?;
        let options = options.of_task(None);
        let method = Method::TasksGet.name();
        let (result, settled) = request_on(&self.session, settled, method, &about(id), &options)?;
        let wrong = |e: crate::json::JsonError| Error::Protocol(format!("the result of {method}: {e}"));
        let task = if settled.is_modern() {
            Task::from_json(result.as_raw()).map_err(wrong)?
        } else {
            from_legacy(legacy::Task::from_json(result.as_raw()).map_err(wrong)?)
        };
        Ok((task, settled))
    }

    /// `tasks/result`: waits for the end of the task and returns what the call came to.
    fn fetch(&self, id: &str, options: &CallOptions) -> Result<CallToolResult> {
        let settled = settled(&self.session, options)?;
        // It may take as long as the task.
        let options = options.of_task(None).with_timeout(options.total(&self.session));
        let (result, settled) =
            request_on(&self.session, settled, Method::TasksResult.name(), &about(id), &options)?;
        let result = read_call_result(result.as_raw(), &settled.identity.version);
        let result = result.map_err(|e| Error::Protocol(format!("the result of tasks/result: {e}")))?;
        self.expectation.check(result, &settled)
    }

    /// What a Modern task came to; `None` if it has not ended.
    fn ended(&self, task: &Task, settled: &Settled) -> Result<Option<CallToolResult>> {
        let wrong = |problem: String| Error::Protocol(format!("the result of tasks/get: {problem}"));
        match task.state().map_err(|e| wrong(e.to_string()))? {
            TaskState::Completed(result) => {
                let result = read_call_result(result.as_raw(), &settled.identity.version);
                let result = result.map_err(|e| wrong(e.inside("result").to_string()))?;
                must_be_complete(result.result_type.as_ref())?;
                self.expectation.check(result, settled).map(Some)
            }
            TaskState::Failed(error) => Err(Error::Peer(error.clone())),
            TaskState::Cancelled => Err(cancelled(task)),
            _ => Ok(None),
        }
    }

    /// Answers what is asked for the first time.
    fn answer(
        &self,
        id: &str,
        asked: Option<&Object>,
        settled: &Arc<Settled>,
        deadline: Deadline,
        options: &CallOptions,
    ) -> Result<()> {
        let wrong = |problem: String| Error::Protocol(format!("the result of tasks/get: {problem}"));
        let asked = asked.ok_or_else(|| wrong("inputRequests: missing".to_owned()))?;
        let asked = InputRequests::from_json(Json::from(asked.clone()).as_raw());
        let mut asked: Vec<_> = asked.map_err(|e| wrong(e.to_string()))?.into_iter().collect();
        {
            let mut answered = lock(&self.asked);
            asked.retain(|(key, _)| !answered.keys.contains(key));
            answered.rounds += u32::from(!asked.is_empty());
            let limit = self.session.config.max_input_rounds;
            if answered.rounds > limit {
                return Err(Error::Protocol(format!("a task asks again after {limit} rounds of input")));
            }
        }
        let (answering, version) = (&self.session.answers, &settled.identity.version);
        // Nobody is asked anything if one of the questions has nobody to answer it.
        for (key, request) in &asked {
            if let Err(error) = answering.check(request, version) {
                return Err(Error::Unsupported(format!("the server asked for {key}: {}", error.message)));
            }
        }
        for (key, request) in asked {
            options.check_cancelled()?;
            let about = About {
                client: ClientHandle { session: Arc::clone(&self.session) },
                server: Some(Arc::clone(&settled.identity)),
                key: key.clone(),
                call: Some(RelatedCall::new(Method::ToolsCall.name(), &self.name)),
                cancel: options.cancel().cloned().unwrap_or_default(),
                deadline: deadline.instant(),
            };
            let answer = answering.answer(request, version, about);
            options.check_cancelled()?;
            let answer = answer.map_err(|error| Error::NotAnswered { key: key.clone(), error })?;
            let mut answered = lock(&self.asked);
            answered.unsent.insert(key.clone(), &answer);
            answered.keys.insert(key);
        }
        let unsent = lock(&self.asked).unsent.clone();
        if unsent.is_empty() {
            return Ok(()); // the server has not made use of what it has
        }
        let [task] = about(id);
        let params = [task, ("inputResponses", unsent.into())];
        let method = Method::TasksUpdate.name();
        request(
            &self.session,
            Arc::clone(settled),
            method,
            &params,
            &options.of_task(deadline.remaining().into()),
        )?;
        lock(&self.asked).unsent = Object::new();
        Ok(())
    }
}

fn about(id: &str) -> [(&'static str, Json); 1] {
    [("taskId", Json::from(id))]
}

fn cancelled(task: &Task) -> Error {
    Error::Cancelled(task.status_message.clone().unwrap_or_else(|| "by the server".to_owned()))
}

/// The task in the words of the extension, without payload.
fn from_legacy(task: legacy::Task) -> Task {
    let mut modern = Task::new(task.task_id, task.created_at, task.ttl);
    (modern.status, modern.status_message) = (task.status, task.status_message);
    (modern.last_updated_at, modern.poll_interval_ms) = (task.last_updated_at, task.poll_interval);
    (modern.meta, modern.extra) = (task.meta, task.extra);
    modern
}

/// The task that a server answered a tool call with, if it did.
///
/// # Errors
/// When it is one, and nothing allows that.
pub(super) fn created(
    result: &Json,
    kind: Option<&str>,
    settled: &Settled,
    session: &Session,
    asked_for: bool,
) -> Result<Option<Task>> {
    let wrong = |problem: String| Error::Protocol(format!("the result of tools/call: {problem}"));
    if settled.is_modern() {
        return match kind {
            // spec: seps/2663-tasks-extension#capability-negotiation (the server MUST NOT)
            Some("task") if !session.config.tasks => {
                Err(wrong("a task, and this client did not declare that it knows tasks".to_owned()))
            }
            Some("task") => Task::from_json(result.as_raw()).map(Some).map_err(|e| wrong(e.to_string())),
            _ => Ok(None),
        };
    }
    if !asked_for {
        return Ok(None);
    }
    // A server may have given the result at once.
    match legacy::CreateTaskResult::from_json(result.as_raw()) {
        Ok(created) => Ok(Some(from_legacy(created.task))),
        Err(_) => Ok(None),
    }
}

/// The parameter that asks a 2025-11-25 server for a task; `None` if the server decides by itself.
///
/// # Errors
/// When the server has no tasks.
pub(super) fn wish(ttl: Option<Duration>, settled: &Settled) -> Result<Option<Json>> {
    if settled.is_modern() {
        return Ok(None);
    }
    let version = &settled.identity.version;
    if !Method::TasksGet.is_in(version) {
        return Err(Error::Unsupported(format!("revision {version} has no tasks")));
    }
    let tasks = settled.identity.capabilities.tasks.as_ref();
    if !tasks.is_some_and(|tasks| tasks.allows(Method::ToolsCall.name())) {
        return Err(Error::Unsupported("the server runs no calls as tasks".to_owned()));
    }
    let ttl = ttl.map(|ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX));
    let wish = legacy::TaskMetadata { ttl, ..legacy::TaskMetadata::default() };
    Ok(Some(Json::new(&wish).map_err(|e| Error::InvalidUse(e.to_string()))?))
}

impl fmt::Debug for TaskHandle {
    /// The id may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskHandle").field("name", &self.name).finish_non_exhaustive()
    }
}
