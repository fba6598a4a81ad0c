//! Progress, cancellation, timeouts and traces: what goes with a call.
//!
//! [`CallOptions`] belong to one call. Every request of a client that takes its time has a form with them:
//! [`call_tool_with`](crate::ClientHandle::call_tool_with), [`read_resource_with`](crate::ClientHandle::read_resource_with) and so on.
//!
//! # Progress
//!
//! ```
//! use std::sync::mpsc;
//! use tinymcp::client::CallOptions;
//! use tinymcp::{Context, Server, ToolRegistry, testing, tool};
//!
//! let copy = tool! {
//!     /// Copy all files
//!     fn copy(cx: &Context) -> &'static str {
//!         for n in 1..=3 {
//!             cx.progress(f64::from(n), 3.0, "copying");
//!         }
//!         "done"
//!     }
//! };
//! let client = testing::pair(&Server::builder("files", "1").tools(ToolRegistry::new().with(copy)?).build()?)?;
//!
//! let (tx, rx) = mpsc::channel();
//! let options = CallOptions::default().with_progress(move |report| {
//!     tx.send((report.progress, report.total)).expect("heard"); // on the thread that waits for the call
//! });
//! assert_eq!(client.call_tool_with("copy", (), &options)?.text_content(), "done");
//! drop(options);
//! assert_eq!(rx.iter().last(), Some((3.0, Some(3.0))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A report that is not more than the one before is not sent, and of very many some are left out, never the last one of a known
//! total. All of them arrive before the result. Who did not ask for progress gets none, which costs the tool nothing.
//!
//! # Cancellation
//!
//! The one who calls gives up; the tool is told, and decides what to do about it. Nobody can stop a thread from outside.
//!
//! ```
//! use std::time::Duration;
//! use tinymcp::client::CallOptions;
//! use tinymcp::{CancelToken, Context, Error, Server, ToolError, ToolRegistry, testing, tool};
//!
//! let token = CancelToken::new();
//! let options = CallOptions::default().with_cancel(&token).with_progress(move |_| token.cancel("the user left"));
//!
//! let wait = tool! {
//!     fn wait(cx: &Context) -> Result<String, ToolError> {
//!         cx.progress(0.0, None, None);
//!         // In place of sleeping; a loop asks `cx.is_cancelled()`.
//!         cx.cancel_token().wait_timeout(Duration::from_secs(60));
//!         Err(ToolError::new("given up"))
//!     }
//! };
//! let client = testing::pair(&Server::builder("s", "1").tools(ToolRegistry::new().with(wait)?).build()?)?;
//! match client.call_tool_with("wait", (), &options) {
//!     Err(Error::Cancelled(reason)) => assert_eq!(reason, "the user left"),
//!     other => panic!("{other:?}"),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A call that is dropped ([`CallHandle`](crate::client::CallHandle)) or runs out of time is cancelled as well. A request is answered
//! once, or not at all if it was cancelled.
//!
//! # Timeouts
//!
//! A call has 60 s, counted from the moment it is made. With
//! [`with_reset_on_progress`](crate::client::CallOptions::with_reset_on_progress) every report of progress starts them anew, up to a total of
//! an hour. [Limits](crate::guide::limits) has all times and where to set them.
//!
//! # Trace context
//!
//! A call can say which trace it belongs to, in the words of W3C Trace Context; a server finds that in the metadata of the request and may
//! put its own spans below.
//!
//! ```
//! use tinymcp::client::{CallOptions, TraceContext};
//! use tinymcp::{Context, Server, ToolRegistry, testing, tool};
//!
//! let tools = ToolRegistry::new().with(tool! {
//!     fn trace(cx: &Context) -> String {
//!         cx.meta().get("traceparent").unwrap_or_default()
//!     }
//! })?;
//! let client = testing::pair(&Server::builder("s", "1").tools(tools).build()?)?;
//!
//! let parent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
//! let options = CallOptions::default().with_trace(&TraceContext::new(parent)?);
//! assert_eq!(client.call_tool_with("trace", (), &options)?.text_content(), parent);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`ClientBuilder::trace`](crate::client::ClientBuilder::trace) asks a closure before each call, where tracing libraries keep what is
//! current. Any other member of `_meta` is added by [`with_meta`](crate::client::CallOptions::with_meta).
//!
//! # Is anybody there?
//!
//! ```
//! use tinymcp::{Server, testing};
//!
//! let client = testing::pair(&Server::builder("s", "1").build()?)?;
//! client.ping()?;
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! A server answers in any state, also while every tool is busy, and so does a client that a Legacy server asks. From 2026-07-28 on the
//! protocol has no `ping`: the client asks `server/discover` instead.
//!
//! [`CallOptions`]: crate::client::CallOptions
