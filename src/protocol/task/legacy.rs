//! Tasks as the experiment of 2025-11-25 had them: either side may run the other's request as a task.
//!
//! What differs from the extension, by the headings of `2025-11-25 basic/utilities/tasks`:
//!
//! - **Who decides** (`#capabilities`, `#tool-level-negotiation`). The requestor asks for a task with the parameter `task`
//!   ([`TaskMetadata`]), if the receiver's capability names that kind of request ([`TasksCapability`]) and the tool allows it
//!   ([`ToolExecution`]): one that requires or forbids it answers -32601 to the other form. A receiver without the
//!   capability ignores the parameter.
//! - **Being made** (`#creating-tasks`). The result is a [`CreateTaskResult`]; a task begins as `working`.
//! - **The result** (`#result-retrieval`). `tasks/result` waits for the end of the task and answers exactly what the request would
//!   have, an error included, with [`RELATED_TASK`](crate::protocol::meta::RELATED_TASK) in its metadata. A task that
//!   asks something is `input_required`, and its requests go to the requestor as they do without a task.
//! - **States** (`#task-status-lifecycle`). `failed` also means a tool that failed.
//! - **`tasks/cancel`** (`#task-cancellation`). Answers with the task, which is then `cancelled` and stays so; -32602 if it had
//!   ended before.
//! - **`tasks/list`** (`#task-listing`). All that this requestor could get, page by page.
//! - **Messages about a task** (`#associating-task-related-messages`) name it in their metadata ([`RelatedTaskMetadata`]), save for
//!   those whose parameters or result do. Its progress token stays good until its end.

use crate::json::{FromJson, Json, Members, Object, wire};

use super::{TaskState, TaskStatus, Ttl};
use crate::protocol::meta;

wire::wire! {
    /// A task of 2025-11-25: result of `tasks/get` and `tasks/cancel`, parameters of `notifications/tasks/status`.
    pub struct Task {
        /// Its id, chosen by the receiver.
        pub task_id: String = "taskId",
        /// How it is doing.
        pub status: TaskStatus = "status",
        /// The same in words, for people.
        pub status_message: Option<String> = "statusMessage",
        /// When it was made, in ISO 8601. Empty if it cannot be read.
        pub created_at: String = "createdAt" or lenient,
        /// When it last changed, in ISO 8601. Empty if it cannot be read.
        pub last_updated_at: String = "lastUpdatedAt" or lenient,
        /// How long it is kept, counted from when it was made; on the wire in milliseconds.
        pub ttl: Ttl = "ttl",
        /// How long to wait between two looks at it, in milliseconds.
        pub poll_interval: Option<u64> = "pollInterval",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// Result of a request that became a task.
    pub struct CreateTaskResult {
        /// The task.
        pub task: Task = "task",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// Result of `tasks/list`: one page of tasks.
    pub struct ListTasksResult {
        /// The tasks.
        pub tasks: Vec<Task> = "tasks",
        /// Where the next page begins, if there is one.
        pub next_cursor: Option<String> = "nextCursor",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// The parameter `task` of a request: it is to become a task.
    #[derive(Default)]
    pub struct TaskMetadata {
        /// How long to keep the task, counted from when it is made, in milliseconds. The receiver may choose
        /// otherwise.
        pub ttl: Option<u64> = "ttl",
    }

    /// In the metadata of a message: the task it belongs to.
    pub struct RelatedTaskMetadata {
        /// The task.
        pub task_id: String = "taskId",
    }

    /// How a tool can be run.
    #[derive(Default)]
    pub struct ToolExecution {
        /// Whether as a task. Absent means forbidden.
        pub task_support: Option<TaskSupport> = "taskSupport",
    }

    /// Which requests a client or server runs as tasks, and what can be done with those. What is absent cannot.
    #[derive(Default)]
    pub struct TasksCapability {
        /// `tasks/list`.
        pub list: Option<Object> = "list" or present,
        /// `tasks/cancel`.
        pub cancel: Option<Object> = "cancel" or present,
        /// The requests: `{"tools": {"call": {}}}` is `tools/call`. See [`allows`](Self::allows).
        pub requests: Option<Object> = "requests" or present,
    }
}

wire::string_enum! {
    /// Whether a tool runs as a task.
    pub enum TaskSupport {
        /// Never.
        Forbidden = "forbidden",
        /// If the caller wants it.
        Optional = "optional",
        /// Only so.
        Required = "required",
    }
}

impl From<&super::Task> for Task {
    /// The same task in the words of 2025-11-25, without its payload.
    fn from(task: &super::Task) -> Self {
        let status = match task.state() {
            Ok(TaskState::Completed(result)) if is_error(result) => TaskStatus::Failed,
            _ => task.status.clone(),
        };
        Self {
            task_id: task.task_id.clone(),
            status,
            status_message: task.status_message.clone(),
            created_at: task.created_at.clone(),
            last_updated_at: task.last_updated_at.clone(),
            ttl: task.ttl_ms,
            poll_interval: task.poll_interval_ms,
            meta: task.meta.clone(),
            extra: Object::new(),
        }
    }
}

/// Whether a result is that of a tool that failed.
fn is_error(result: &Json) -> bool {
    // spec: 2025-11-25 schema#taskstatus
    Members::of(result.as_raw()).is_ok_and(|mut members| members.lenient("isError") == Some(true))
}

impl CreateTaskResult {
    /// That the request became `task`.
    #[must_use]
    pub fn new(task: impl Into<Task>) -> Self {
        Self { task: task.into(), meta: None, extra: Object::new() }
    }

    /// What to tell a model meanwhile, if the server says that.
    #[must_use]
    pub fn immediate_response(&self) -> Option<String> {
        self.meta.as_ref()?.get(meta::MODEL_IMMEDIATE_RESPONSE)
    }
}

wire::builders!(CreateTaskResult {
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl ListTasksResult {
    /// The only page.
    #[must_use]
    pub fn new(tasks: Vec<Task>) -> Self {
        Self { tasks, next_cursor: None, meta: None, extra: Object::new() }
    }
}

wire::builders!(ListTasksResult {
    /// Says where the next page begins.
    with_next_cursor => next_cursor: String,
    /// Sets the metadata.
    with_meta => meta: Object,
});

wire::builders!(TaskMetadata {
    /// Sets how long to keep the task, in milliseconds.
    with_ttl => ttl: u64,
});

impl RelatedTaskMetadata {
    /// The task `task_id`.
    #[must_use]
    pub fn new(task_id: impl Into<String>) -> Self {
        Self { task_id: task_id.into(), extra: Object::new() }
    }

    /// The task that a message with the metadata `meta` belongs to.
    ///
    /// ```
    /// use tinymcp::json::Object;
    /// use tinymcp::protocol::task::legacy::RelatedTaskMetadata;
    ///
    /// let mut meta = Object::new();
    /// RelatedTaskMetadata::new("786512e2").add_to(&mut meta);
    /// assert_eq!(RelatedTaskMetadata::of(&meta).map(|related| related.task_id), Some("786512e2".to_owned()));
    /// ```
    #[must_use]
    pub fn of(meta: &Object) -> Option<Self> {
        Self::from_json(meta.json(meta::RELATED_TASK)?.as_raw()).ok()
    }

    /// Says in `meta` that its message belongs to the task.
    pub fn add_to(&self, meta: &mut Object) {
        meta.insert(meta::RELATED_TASK, self);
    }
}

wire::builders!(ToolExecution {
    /// Says whether it runs as a task.
    with_task_support => task_support: TaskSupport,
});

impl TasksCapability {
    /// The same with `method` among the requests that can become tasks: `tools/call` of a server;
    /// `sampling/createMessage` and `elicitation/create` of a client. The name of another shape is none, and changes nothing.
    ///
    /// ```
    /// use tinymcp::protocol::task::legacy::TasksCapability;
    ///
    /// let tasks = TasksCapability::default().with_request("tools/call");
    /// assert!(tasks.allows("tools/call") && !tasks.allows("sampling/createMessage"));
    /// ```
    #[must_use]
    pub fn with_request(mut self, method: &str) -> Self {
        if let Some((group, name)) = method.split_once('/') {
            let requests = self.requests.get_or_insert_default();
            let mut names: Object = requests.get(group).unwrap_or_default();
            names.insert(name, &Object::new());
            requests.insert(group, &names);
        }
        self
    }

    /// Whether `method` can become a task.
    #[must_use]
    pub fn allows(&self, method: &str) -> bool {
        // spec: 2025-11-25 basic/utilities/tasks#capability-negotiation (the list is exhaustive)
        let Some((group, name)) = method.split_once('/') else { return false };
        let names: Option<Object> = self.requests.as_ref().and_then(|requests| requests.get(group));
        let said = names.as_ref().and_then(|names| names.json(name));
        said.is_some_and(|said| !matches!(said.as_str(), "null" | "false"))
    }
}

wire::builders!(TasksCapability {
    /// Adds `tasks/list`.
    with_list => list: Object,
    /// Adds `tasks/cancel`.
    with_cancel => cancel: Object,
});
