//! A call that its handler makes a task.

use super::{AskError, Context, Rounds};

impl Context {
    /// Makes a task of this call: its client has that for an answer, and the handler **runs again from its beginning**,
    /// with the answers and [steps](Self::step) it has, for as long as the work takes. For tools of
    /// [`TaskMode::OptionalLater`](crate::tool::TaskMode::OptionalLater) and
    /// [`RequiredLater`](crate::tool::TaskMode::RequiredLater), which ask first, or decide call by call.
    ///
    /// ```
    /// use serde_json::json;
    /// use tinymcp::protocol::{ElicitParams, ElicitResult, RequestedSchema};
    /// use tinymcp::server::TaskOptions;
    /// use tinymcp::tool::TaskMode;
    /// use tinymcp::{Client, Context, Server, ToolError, ToolRegistry, testing, tool};
    ///
    /// let migrate = tool! {
    ///     /// Move everything to another machine
    ///     fn migrate(to: String, cx: &Context) -> Result<String, ToolError> {
    ///         let question = ElicitParams::form(format!("Move everything to {to}?"), RequestedSchema::new());
    ///         if !cx.elicit("sure", question)?.is_accepted() {
    ///             return Ok("nothing was moved".to_owned()); // there was no task
    ///         }
    ///         cx.begin_task()?;
    ///         Ok(format!("everything is at {to}")) // an hour later
    ///     }
    /// };
    /// let tools = ToolRegistry::new().with(migrate.task_mode(TaskMode::OptionalLater))?;
    /// let server = Server::builder("machines", "1.0.0").tools(tools).tasks(TaskOptions::default()).build()?;
    /// let user = Client::builder().tasks().on_elicit(|form| Ok(ElicitResult::accept(form.defaults())));
    /// let client = testing::pair_with(user, &server)?;
    /// // Here the user is asked.
    /// let task = client.call_tool_task("migrate", json!({"to": "b"}), &Default::default())?;
    /// assert!(task.id().is_some());
    /// assert_eq!(task.wait(&Default::default())?.text_content(), "everything is at b");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// `Ok` says that the handler is to go on: as the task, or as a plain call where it cannot become one. That is where the client
    /// does not know tasks, the server has none, the tool is of another mode, or the handler runs locally. A 2025-11-25
    /// client decides by itself which calls are tasks, and those are from their start: it is asked by requests, which
    /// need no rounds.
    ///
    /// # Errors
    /// [`AskError::BecomesTask`], to be passed on with `?`.
    pub fn begin_task(&self) -> Result<(), AskError> {
        if self.0.rounds.begin() { Err(AskError::BecomesTask) } else { Ok(()) }
    }

    /// What the task knows that the handler has just begun, if it has.
    pub(crate) fn begun(&self) -> Option<Rounds> {
        self.0.rounds.begun()
    }

    /// The handler of a task runs once more.
    pub(crate) fn start_over(&self) {
        self.0.rounds.start_over();
    }
}
