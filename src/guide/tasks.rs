//! Tasks: calls that take too long to wait for.
//!
//! A call may become a *task*: it is answered at once, the server works on while no request is open, and the client looks at it from time
//! to time. Use it for work of minutes or hours, whose result should survive a lost connection. For anything shorter a call with
//! [progress](crate::guide::calls#progress) is simpler. Tasks are experimental in 2025-11-25 and an extension of 2026-07-28.
//!
//! The handler is the same. A server says which tools may run as tasks, a client that it knows tasks:
//!
//! ```
//! use serde_json::json;
//! use tinymcp::client::CallOptions;
//! use tinymcp::server::TaskOptions;
//! use tinymcp::tool::TaskMode;
//! use tinymcp::{Client, Context, Server, ToolError, ToolRegistry, testing, tool};
//!
//! let index = tool! {
//!     /// Index all documents
//!     fn index(folder: String, cx: &Context) -> Result<String, ToolError> {
//!         for _document in 0..3 {
//!             if cx.is_cancelled() { return Err(ToolError::new("cancelled")); }
//!         }
//!         Ok(format!("3 documents in {folder}"))
//!     }
//! };
//! let tools = ToolRegistry::new().with(index.task_mode(TaskMode::Optional))?;
//! let server = Server::builder("documents", "1.0.0").tools(tools).tasks(TaskOptions::default()).build()?;
//! let client = testing::pair_with(Client::builder().tasks(), &server)?;
//!
//! // Whoever only wants the result need not know of tasks.
//! let result = client.call_tool("index", json!({"folder": "inbox"}))?;
//! assert_eq!(result.text_content(), "3 documents in inbox");
//!
//! // Whoever does other things meanwhile keeps the id, in a file for example, and comes back.
//! let task = client.call_tool_task("index", json!({"folder": "archive"}), &CallOptions::default())?;
//! let id = task.id().expect("the server made a task").to_owned();
//! drop(task);
//! let task = client.task(id);
//! assert_eq!(task.wait(&CallOptions::default())?.text_content(), "3 documents in archive");
//! assert!(task.status(&CallOptions::default())?.is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`TaskHandle`](crate::client::TaskHandle) has the rest: [`result`](crate::client::TaskHandle::result) does not wait,
//! [`cancel`](crate::client::TaskHandle::cancel) ends the work.
//!
//! A client of 2025-11-25 asks for a task itself, call by call:
//!
//! ```
//! use std::time::Duration;
//! use tinymcp::client::CallOptions;
//! use tinymcp::server::TaskOptions;
//! use tinymcp::tool::TaskMode;
//! use tinymcp::{Client, ProtocolVersion, Server, ToolRegistry, testing, tool};
//!
//! let report = tool! { fn report() -> &'static str { "all is well" } }.task_mode(TaskMode::Optional);
//! let server = Server::builder("reports", "1.0.0")
//!     .tools(ToolRegistry::new().with(report)?)
//!     .tasks(TaskOptions::default())
//!     .build()?;
//! let older = Client::builder().versions([ProtocolVersion::V2025_11_25]);
//! let client = testing::pair_with(older, &server)?;
//!
//! let options = CallOptions::default().with_task(Duration::from_secs(600)); // how long it is to be kept
//! let task = client.call_tool_task("report", (), &options)?;
//! assert!(task.id().is_some());
//! assert_eq!(task.wait(&CallOptions::default())?.text_content(), "all is well");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Questions first
//!
//! What an optional or required tool asks is a part of its task, which exists by then. A tool that had better know more before there is one is
//! [`OptionalLater`](crate::tool::TaskMode::OptionalLater) or [`RequiredLater`](crate::tool::TaskMode::RequiredLater), and its handler
//! says when: with [`begin_task`](crate::Context::begin_task). Until then a Modern call is a plain one, whose questions are
//! [rounds](crate::guide::asking#what-may-run-twice) of it; then its client gets the task, and the handler runs again from its beginning,
//! as that:
//!
//! ```
//! use serde_json::json;
//! use tinymcp::client::CallOptions;
//! use tinymcp::protocol::{ElicitParams, ElicitResult, PrimitiveSchema, RequestedSchema};
//! use tinymcp::server::TaskOptions;
//! use tinymcp::tool::TaskMode;
//! use tinymcp::{Client, Context, Server, ToolError, ToolRegistry, testing, tool};
//!
//! let print = tool! {
//!     /// Print a book
//!     fn print(title: String, pages: u32, cx: &Context) -> Result<String, ToolError> {
//!         if pages < 10 {
//!             return Ok(format!("{title} is printed")); // not worth a task
//!         }
//!         let copies = RequestedSchema::new().required("copies", PrimitiveSchema::integer());
//!         let answer = cx.elicit("copies", ElicitParams::form("How many?", copies))?;
//!         let Some(copies) = answer.content.and_then(|content| content.get::<u32>("copies")) else {
//!             return Ok("nothing was printed".to_owned());
//!         };
//!         let order: u32 = cx.step("order", || Ok::<_, ToolError>(17))?; // is kept, as the answer is
//!         cx.begin_task()?;
//!         Ok(format!("order {order}: {copies} of {title}")) // from here on for as long as it takes
//!     }
//! };
//! let tools = ToolRegistry::new().with(print.task_mode(TaskMode::OptionalLater))?;
//! let server = Server::builder("press", "1.0.0").tools(tools).tasks(TaskOptions::default()).build()?;
//! let reader = Client::builder().tasks().on_elicit(|form| {
//!     let mut answer = form.defaults();
//!     answer.insert("copies", &3);
//!     Ok(ElicitResult::accept(answer))
//! });
//! let client = testing::pair_with(reader, &server)?;
//!
//! let options = CallOptions::default();
//! let leaflet = client.call_tool_task("print", json!({"title": "Tea", "pages": 2}), &options)?;
//! assert_eq!(leaflet.id(), None);
//! let novel = client.call_tool_task("print", json!({"title": "Emma", "pages": 400}), &options)?;
//! assert!(novel.id().is_some());
//! assert_eq!(novel.wait(&options)?.text_content(), "order 17: 3 of Emma");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Where a call cannot become a task, or is one, `begin_task` is `Ok` at once and the handler goes on. So it is for 2025-11-25, where the
//! client decides: a call that it wants as a task is one from its start, and is asked by requests. A client that repeats the last round
//! has no second task of it, unless the server's store of states accepts one twice, as a sealed state may be.
//!
//! # Rules
//!
//! | | 2025-11-25 | 2026-07-28, by the extension `io.modelcontextprotocol/tasks` |
//! |---|---|---|
//! | who decides that a call becomes a task | the client, [`CallOptions::with_task`](crate::client::CallOptions::with_task) | the server, for clients that declare the extension |
//! | an optional tool runs as a task | if the client asks for it | if the client declares the extension |
//! | a required tool, for other clients | error -32601 | error -32021 |
//! | an optional or required tool of the modes named *later* | the same | the same, but from where its handler says so |
//! | who may see the task | the connection that made it, and it ends with that | whoever knows its id |
//! | what the handler asks | a request to the client | a part of the task, under a key |
//! | a tool that failed | `failed` | `completed`, with `isError` |
//! | a step of the handler | is done once: the handler of a task is not run again | the same; one from before the task counts |
//! | progress and log messages | until the task ends | none |
//! | cancelling | at once and for good; the handler's token fires | the same |
//!
//! - A task lives for an hour, whether it has ended or not; then it is cancelled and forgotten.
//!   [`TaskOptions`](crate::server::TaskOptions) sets that and the other [limits](crate::guide::limits).
//! - What a client gave up waiting for it cancels, unless the program itself keeps the [`TaskHandle`](crate::client::TaskHandle).
//! - Tasks are kept in the memory of the server: a server that ends cancels them.
//! - An id cannot be guessed, and whoever knows it may see the task: treat it as a secret.
