//! Errors: what goes wrong, and who gets to see it.
//!
//! There are two kinds. A tool that ran and failed gives a *result* that says so: the model reads it and can try something else.
//! Everything else is an *error* of the call, which the program sees as an [`Error`](crate::Error):
//!
//! ```
//! use serde_json::json;
//! use tinymcp::{Error, Server, ToolError, ToolRegistry, testing, tool};
//!
//! let tools = ToolRegistry::new().with(tool! {
//!     /// Divide two numbers
//!     fn divide(dividend: f64, divisor: f64) -> Result<f64, ToolError> {
//!         if divisor == 0.0 { return Err(ToolError::new("divisor: must not be zero")); }
//!         Ok(dividend / divisor)
//!     }
//! })?;
//! let client = testing::pair(&Server::builder("calculator", "1").tools(tools).build()?)?;
//!
//! // For the model.
//! let failed = client.call_tool("divide", json!({"dividend": 1, "divisor": 0}))?;
//! assert!(failed.is_error());
//! assert_eq!(failed.text_content(), "divisor: must not be zero");
//! let failed = client.call_tool("divide", json!({"dividend": "x"}))?;
//! assert!(failed.text_content().contains("divisor: missing"));
//!
//! // For the program.
//! match client.call_tool("multiply", ()) {
//!     Err(Error::Peer(error)) => assert_eq!(error.message, "unknown tool: multiply"),
//!     other => panic!("{other:?}"),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Inside a tool, `?` makes a failed result of any `std::error::Error`, with its causes.
//! [`ToolError::protocol`](crate::ToolError::protocol) makes an error with a code, for callers that use the tool wrongly in a way no
//! model can mend.
//!
//! # What a caller does
//!
//! | question | answered by |
//! |---|---|
//! | Is trying again in a moment worthwhile? | [`Error::is_retryable`](crate::Error::is_retryable) |
//! | Is the connection gone? | [`Error::is_closed`](crate::Error::is_closed); then [`reconnect`](crate::ClientHandle::reconnect) |
//! | May the call have done its work? | [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown): yes. Do not send it again blindly |
//! | Does the server want credentials? | [`Error::Rejected`](crate::Error::Rejected) with status 401 or 403 |
//! | What did the peer say? | [`Error::peer_error`](crate::Error::peer_error) |
//! | How did the server end? | [`Error::failure`](crate::Error::failure): exit status, the end of stderr, how long it took |
//!
//! # Calls that fail by themselves
//!
//! Where each request is carried by itself, one can fail while the connection goes on. What was not begun, or can be repeated without
//! harm, is sent again: after a pause, within the time the call has, up to
//! [`max_resends`](crate::client::ClientBuilder::max_resends) times. So a server behind a proxy can be restarted without anybody noticing.
//!
//! | what happened | what is done | then the caller gets |
//! |---|---|---|
//! | the request was not sent: nobody listens at the address | sent again, whatever it is | [`Error::Unreachable`](crate::Error::Unreachable) |
//! | it was sent and no answer came; listing, reading, or a tool with `readOnlyHint` or `idempotentHint` | sent again | the same |
//! | it was sent and no answer came; any other tool, or a method that is not known | nothing | [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown), of which [`is_closed`](crate::Error::is_closed) is false |
//! | it was refused, with a status and not in the words of the protocol | nothing | [`Error::Rejected`](crate::Error::Rejected) |
//! | the server does not know the session (Legacy) | another session is made, which all calls share, and the call made there, once | [`Error::SessionEnded`](crate::Error::SessionEnded) |
//! | the server misses headers that mirror arguments, -32020 (Modern) | the tools are listed and the call is made again, once | [`Error::Peer`](crate::Error::Peer) |
//! | a stream of changes broke off | opened again: see [`changes`](super::changes) | |
//!
//! # Who sees what
//!
//! | what happened | the caller gets | a model sees it |
//! |---|---|---|
//! | a tool returned an error, or panicked | a result with [`is_error`](crate::protocol::CallToolResult::is_error) | yes |
//! | bad arguments | the same; the text names every field and what was expected | yes, and can correct itself |
//! | a result that breaks its tool's output schema, noticed by the server (feature `validation`) | the same; an error in the server's log | yes |
//! | the same, noticed by the client | [`Error::Protocol`](crate::Error::Protocol) | as the host decides |
//! | no such tool | [`Error::Peer`](crate::Error::Peer), code -32602 | as the host decides |
//! | no such resource | the same, code -32002 in the Legacy era; the address is in the error's data; [`is_resource_not_found`](crate::Error::is_resource_not_found) knows both | as the host decides |
//! | a resource's function returned an error, or panicked | [`Error::Peer`](crate::Error::Peer), code -32603 | as the host decides |
//! | a tool returned [`ToolError::protocol`](crate::ToolError::protocol) | [`Error::Peer`](crate::Error::Peer) with its code and data | as the host decides |
//! | the server asked for what this client cannot do | [`Error::Unsupported`](crate::Error::Unsupported); nobody was asked | as the host decides |
//! | a handler for what the server asked failed, or its answer was not valid | [`Error::NotAnswered`](crate::Error::NotAnswered); a Legacy server gets the error, and says itself what comes of it | as the host decides |
//! | bad arguments for a prompt, or no such prompt | [`Error::Peer`](crate::Error::Peer), code -32602; the text names every argument | no: users choose prompts |
//! | a prompt or a completer returned an error, or panicked | [`Error::Peer`](crate::Error::Peer), code -32603 | no |
//! | no answer in time | [`Error::Timeout`](crate::Error::Timeout); the server is told to stop | as the host decides |
//! | [`reconnect`](crate::ClientHandle::reconnect) during a call | as when the server ends | as the host decides |
//! | a call failed by itself | as above | as the host decides |
//! | the server ended during a call | [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown), or [`Error::Closed`](crate::Error::Closed) if repeating the request is harmless; with exit status and the end of stderr | as the host decides |
//!
//! # Panics
//!
//! A panic in a tool, in a handler of a client, in a callback for notifications or lines of stderr, or in a cleanup hook is caught; its text goes to
//! the log alone (and to stderr, where Rust's panic hook writes it). One in a progress callback unwinds through the call that
//! waits. One in a [`Tap`](crate::transport::Tap) is caught and costs it that frame. A program built with `panic = "abort"` cannot catch anything: a panic in one tool
//! ends the server and every call with it. For small binaries use `opt-level = "s"` and LTO, and keep unwinding.
