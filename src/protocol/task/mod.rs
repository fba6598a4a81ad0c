//! Tasks: work that outlasts its request, in the form of the extension `io.modelcontextprotocol/tasks` (2026-07-28).
//!
//! The experiment of 2025-11-25 differs in its names and rules; it is in [`legacy`]. The rules of the extension, by the
//! headings of `seps/2663-tasks-extension`:
//!
//! - **Capability negotiation** (`#capability-negotiation`). Either side declares the extension among its `extensions` with
//!   empty settings, a client with every request. The server alone decides whether a request becomes a task; a
//!   client that declares the extension takes either result, and one that did not declare it on this very request gets
//!   no task: if there is no other way, -32021 ([`extension_required`]). In 2025-11-25 the declaration means nothing.
//! - **What can become a task** (`#supported-methods`). `tools/call`. A task in answer to anything else is an invalid response.
//! - **Being made** (`#task-creation`). The result says `resultType: "task"`, which nothing else may say, and the task itself,
//!   without a payload ([`Task::into_created`]). From that moment on `tasks/get` finds it. Questions of a multi round-trip
//!   request come before it, not after.
//! - **States** (`#task-status`). `working` and `input_required` may become any other; `completed`, `failed` and `cancelled` are
//!   final. `failed` is for JSON-RPC errors alone: a tool that failed is `completed`, with `isError` in its result.
//! - **`tasks/get`** (`#task-polling`). The task and its payload: all open questions, the result, or the error; `resultType` is
//!   `complete`. An unknown or expired task is -32602 ([`unknown_task`]). The client keeps to `pollIntervalMs`.
//! - **`tasks/update`** (`#task-update-requests`). Answers by the keys of the questions; the result is empty. Keys that are not
//!   open are ignored, and some answers may come without the others. A key is used once in a task's life, so that a
//!   client asks its user once however often it polls. What a task asks is as little to be trusted as any question.
//! - **`tasks/cancel`** (`#task-cancellation`). A wish, acknowledged with an empty result whatever becomes of it;
//!   `notifications/cancelled` is no substitute.
//! - **`notifications/tasks`** (`#task-status-notifications`). What `tasks/get` would say, on a subscription that names the task
//!   in `taskIds`; progress and log messages never come with a task.
//! - **Time to live** (`#task-polling`). `ttlMs` counts from `createdAt` and may change. After it, the server may fail and forget
//!   the task.
//! - **HTTP** (`#streamable-http-routing-headers`). Requests about a task carry its id in the header `Mcp-Name`.
//! - **Security** (`#security-implications`). An id must be unguessable, and every request about it checked for the right to
//!   it. `tasks/list` and `tasks/result` are gone (-32601).
//!
//! Two examples of the proposal have `tasks/get` answer with `resultType: "task"`, against its text. So a reader does
//! not ask what a task says there; it knows what it asked.
//!
//! **Invariant:** the forms only; who keeps tasks, and for how long, is decided elsewhere.

pub mod legacy;
mod time;

use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

pub use time::timestamp;

use crate::json::{FromJson, Json, JsonError, Object, wire};
use crate::jsonrpc::{ErrorCode, ErrorObject};

use super::{ClientCapabilities, ResultType};

/// The identifier of the tasks extension.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

wire::wire! {
    /// A task: what `tasks/get` answers, `notifications/tasks` tells, and a request that became a task is answered with.
    pub struct Task {
        /// Its id, chosen by the server; whoever knows it may have access to the task.
        pub task_id: String = "taskId",
        /// How it is doing.
        pub status: TaskStatus = "status",
        /// The same in words, for people and models.
        pub status_message: Option<String> = "statusMessage",
        /// When it was made, in ISO 8601; see [`timestamp`]. Empty if it cannot be read.
        pub created_at: String = "createdAt" or lenient,
        /// When it last changed, in ISO 8601. Empty if it cannot be read.
        pub last_updated_at: String = "lastUpdatedAt" or lenient,
        /// How long it is kept, counted from when it was made.
        pub ttl_ms: Ttl = "ttlMs",
        /// How long to wait between two looks at it, in milliseconds.
        pub poll_interval_ms: Option<u64> = "pollIntervalMs",
        /// When [`InputRequired`](TaskStatus::InputRequired): all that is asked and not yet answered, by key.
        pub input_requests: Option<Object> = "inputRequests",
        /// When [`Completed`](TaskStatus::Completed): the result of the request that became a task.
        pub result: Option<Json> = "result",
        /// When [`Failed`](TaskStatus::Failed): its error.
        pub error: Option<ErrorObject> = "error",
        /// What kind of result this is; see the module's documentation before asking.
        pub result_type: Option<ResultType> = "resultType",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// Parameters of `tasks/get` and `tasks/cancel`; in 2025-11-25 also of `tasks/result`.
    pub struct TaskParams {
        /// The task.
        pub task_id: String = "taskId",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// Parameters of `tasks/update`.
    pub struct UpdateTaskParams {
        /// The task.
        pub task_id: String = "taskId",
        /// Answers to what it asks, by key.
        pub input_responses: Object = "inputResponses",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }
}

wire::string_enum! {
    /// How a task is doing.
    pub enum TaskStatus {
        /// It is being worked on.
        Working = "working",
        /// It waits for answers of the client.
        InputRequired = "input_required",
        /// Its result is there.
        Completed = "completed",
        /// It ended with an error. In 2025-11-25 also: with the result of a tool that failed.
        Failed = "failed",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}

impl TaskStatus {
    /// Whether it stays so forever. False for an unknown status, so that a client goes on asking.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// How long a task is kept. On the wire a number of milliseconds, or `null`.
///
/// ```
/// use std::time::Duration;
/// use tinymcp::protocol::task::Ttl;
///
/// assert_eq!(Ttl::from(Duration::from_secs(60)), Ttl::Ms(60_000));
/// assert_eq!(Ttl::Ms(500).duration(), Some(Duration::from_millis(500)));
/// assert_eq!(Ttl::Unlimited.duration(), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ttl {
    /// Without a limit. A time to live that is missing or cannot be read counts as this.
    #[default]
    Unlimited,
    /// So many milliseconds after it was made.
    Ms(u64),
}

impl Ttl {
    /// The time from the task's beginning on; `None` if it has no end.
    #[must_use]
    pub fn duration(self) -> Option<Duration> {
        match self {
            Self::Unlimited => None,
            Self::Ms(ms) => Some(Duration::from_millis(ms)),
        }
    }
}

impl From<Duration> for Ttl {
    fn from(duration: Duration) -> Self {
        Self::Ms(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }
}

impl FromJson for Ttl {
    const OPTIONAL: bool = true;
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        Ok(Option::<u64>::from_json(raw)?.map_or(Self::Unlimited, Self::Ms))
    }
    fn absent() -> Option<Self> {
        Some(Self::Unlimited)
    }
}

impl Serialize for Ttl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unlimited => serializer.serialize_unit(),
            Self::Ms(ms) => serializer.serialize_u64(*ms),
        }
    }
}

wire::deserialize_through_json!(Ttl);

/// What a task is up to, with what its status promises.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum TaskState<'a> {
    /// It is being worked on.
    Working,
    /// It waits for answers to these questions.
    InputRequired(&'a Object),
    /// Its result, of the kind that the request has.
    Completed(&'a Json),
    /// Its error.
    Failed(&'a ErrorObject),
    /// It was cancelled.
    Cancelled,
    /// A status this version of the crate does not know.
    Unknown(&'a str),
}

impl Task {
    /// A task at work that was made at `created_at` (see [`timestamp`]) and is kept for `ttl`.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use tinymcp::protocol::CallToolResult;
    /// use tinymcp::protocol::task::{Task, TaskState, TaskStatus, timestamp};
    ///
    /// let now = timestamp(SystemTime::now());
    /// let task = Task::new("786512e2", now, Duration::from_secs(600)).with_poll_interval_ms(500_u64);
    /// assert_eq!(task.state(), Ok(TaskState::Working));
    /// let done = task.completed(serde_json::json!({"content": []}));
    /// assert!(matches!(done.state(), Ok(TaskState::Completed(result)) if result.to::<CallToolResult>().is_ok()));
    /// ```
    #[must_use]
    pub fn new(task_id: impl Into<String>, created_at: impl Into<String>, ttl: impl Into<Ttl>) -> Self {
        let created_at = created_at.into();
        Self {
            task_id: task_id.into(),
            status: TaskStatus::Working,
            status_message: None,
            last_updated_at: created_at.clone(),
            created_at,
            ttl_ms: ttl.into(),
            poll_interval_ms: None,
            input_requests: None,
            result: None,
            error: None,
            result_type: None,
            meta: None,
            extra: Object::new(),
        }
    }

    /// The same task at work, after its questions were answered.
    #[must_use]
    pub fn working(self) -> Self {
        self.becomes(TaskStatus::Working)
    }

    /// The same task, waiting for answers to `input_requests`.
    #[must_use]
    pub fn input_required(self, input_requests: Object) -> Self {
        Self { input_requests: Some(input_requests), ..self.becomes(TaskStatus::InputRequired) }
    }

    /// The same task with its result; that of a tool that failed, too.
    #[must_use]
    pub fn completed(self, result: impl Into<Json>) -> Self {
        Self { result: Some(result.into()), ..self.becomes(TaskStatus::Completed) }
    }

    /// The same task with the JSON-RPC error that ended it.
    #[must_use]
    pub fn failed(self, error: ErrorObject) -> Self {
        Self { error: Some(error), ..self.becomes(TaskStatus::Failed) }
    }

    /// The same task, cancelled.
    #[must_use]
    pub fn cancelled(self) -> Self {
        self.becomes(TaskStatus::Cancelled)
    }

    /// The same task as the result of the request that became it: without its payload.
    #[must_use]
    pub fn into_created(self) -> Self {
        let status = self.status.clone();
        // spec: seps/2663-tasks-extension#polymorphic-results
        Self { result_type: Some(ResultType::Task), ..self.becomes(status) }
    }

    /// Another status, and the payload of the former one gone.
    fn becomes(self, status: TaskStatus) -> Self {
        Self { status, input_requests: None, result: None, error: None, ..self }
    }

    /// Its status with what that promises.
    ///
    /// # Errors
    /// When the task lacks what its status promises. One that has just been made may lack it: ask `tasks/get`.
    pub fn state(&self) -> Result<TaskState<'_>, JsonError> {
        let missing = |name: &str| JsonError::new("missing").inside(name);
        Ok(match &self.status {
            TaskStatus::Working => TaskState::Working,
            TaskStatus::InputRequired => {
                let asked = self.input_requests.as_ref();
                TaskState::InputRequired(asked.ok_or_else(|| missing("inputRequests"))?)
            }
            TaskStatus::Completed => {
                TaskState::Completed(self.result.as_ref().ok_or_else(|| missing("result"))?)
            }
            TaskStatus::Failed => TaskState::Failed(self.error.as_ref().ok_or_else(|| missing("error"))?),
            TaskStatus::Cancelled => TaskState::Cancelled,
            TaskStatus::Unknown(word) => TaskState::Unknown(word),
        })
    }
}

wire::builders!(Task {
    /// Says in words how it is doing.
    with_status_message => status_message: String,
    /// Sets how long to wait between two looks at it, in milliseconds.
    with_poll_interval_ms => poll_interval_ms: u64,
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl TaskParams {
    /// About the task `task_id`.
    #[must_use]
    pub fn new(task_id: impl Into<String>) -> Self {
        Self { task_id: task_id.into(), meta: None, extra: Object::new() }
    }
}

impl UpdateTaskParams {
    /// Answers to what the task `task_id` asks.
    #[must_use]
    pub fn new(task_id: impl Into<String>, input_responses: Object) -> Self {
        Self { task_id: task_id.into(), input_responses, meta: None, extra: Object::new() }
    }
}

/// -32021: without tasks this request cannot be served, and its client did not declare the extension.
#[must_use]
pub fn extension_required() -> ErrorObject {
    // spec: seps/2663-tasks-extension#capability-negotiation
    let required = ClientCapabilities::default().with_extension(TASKS_EXTENSION, &Object::new());
    let mut data = Object::new();
    data.insert("requiredCapabilities", &required);
    let message = format!("the request needs the client capability extensions.{TASKS_EXTENSION}");
    ErrorObject::new(ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY, message).with_data(data)
}

/// -32602: there is no such task, or no longer. The text does not repeat the id, which may be a secret.
#[must_use]
pub fn unknown_task() -> ErrorObject {
    // spec: seps/2663-tasks-extension#protocol-errors
    ErrorObject::new(ErrorCode::INVALID_PARAMS, "unknown or expired task")
}

#[cfg(test)]
mod tests;
