//! [`TaskMode`]: whether calls of a tool become tasks.

use crate::protocol::task::legacy::{TaskSupport, ToolExecution};

/// Whether a call of a tool becomes a task: work that outlasts its request, and whose result the client fetches later.
///
/// It counts on a server that was built with [`tasks`](crate::server::ServerBuilder::tasks); elsewhere every call is answered
/// when the tool is done.
///
/// ```
/// use tinymcp::tool::{TaskMode, Tool};
///
/// let transcode = tinymcp::tool! {
///     /// Convert a film
///     fn transcode(path: String) -> String { format!("{path}.webm") }
/// }
/// .task_mode(TaskMode::Optional);
/// assert_eq!(Tool::task_mode(&transcode), TaskMode::Optional);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskMode {
    /// No call.
    #[default]
    Never,
    /// Every call whose client can deal with a task: a Modern one that declares the extension for tasks with the request, a
    /// 2025-11-25 one that asks for a task.
    Optional,
    /// Every call; without a client that can deal with a task it is an error. For work that nobody would wait for.
    Required,
    /// As [`Optional`](Self::Optional), but a Modern call only from where its handler says so, with
    /// [`begin_task`](crate::Context::begin_task). Until then it is a plain call, and what it asks are rounds of that.
    OptionalLater,
    /// As [`Required`](Self::Required), but a Modern call only from where its handler says so, with
    /// [`begin_task`](crate::Context::begin_task). A client that cannot deal with a task has its error before anything is done.
    RequiredLater,
}

impl TaskMode {
    /// How 2025-11-25 writes it.
    pub(crate) fn execution(self) -> Option<ToolExecution> {
        let support = match self {
            // spec: 2025-11-25 basic/utilities/tasks#tool-level-negotiation (absent means forbidden)
            Self::Never => return None,
            Self::Optional | Self::OptionalLater => TaskSupport::Optional,
            Self::Required | Self::RequiredLater => TaskSupport::Required,
        };
        Some(ToolExecution::default().with_task_support(support))
    }
}
