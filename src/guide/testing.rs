//! Testing: your tools and your client code, in one process, without waiting for anything.
//!
//! # A pair
//!
//! [`testing::pair`](crate::testing::pair) connects a client with a server. Everything is real but the pipe.
//!
//! ```
//! use serde_json::json;
//! use tinymcp::{Server, ToolRegistry, testing, tool};
//!
//! fn server() -> Result<Server, Box<dyn std::error::Error>> {
//!     let add = tool! { fn add(a: i64, b: i64) -> i64 { a + b } };
//!     Ok(Server::builder("calculator", "1.0.0").tools(ToolRegistry::new().with(add)?).build()?)
//! }
//!
//! let client = testing::pair(&server()?)?;
//! assert_eq!(client.call_tool("add", json!({"a": 1, "b": 2}))?.text_content(), "3");
//!
//! let report = client.close()?; // dropping it would do as well
//! assert_eq!(report.server.handlers_detached, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`pair_with`](crate::testing::pair_with) takes a client of your making: with handlers, timeouts, or the revision that is to be spoken. A
//! test that runs for one revision of each era has seen both ways a server works:
//!
//! ```
//! use tinymcp::{Client, ProtocolVersion, Server, testing};
//!
//! let server = Server::builder("empty", "1.0.0").build()?;
//! for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
//!     let client = testing::pair_with(Client::builder().versions([version.clone()]), &server)?;
//!     assert_eq!(client.initialize()?.version, version);
//! }
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! # A tool alone
//!
//! A tool, a prompt or a resource needs no connection: [`Context::detached`](crate::Context::detached) is a call by nobody. Progress and log
//! messages go nowhere, and asking is [`AskError::NoClient`](crate::context::AskError::NoClient).
//!
//! ```
//! use tinymcp::{Arguments, Context, ToolRegistry, tool};
//!
//! let tools = ToolRegistry::new().with(tool! { fn add(a: i64, b: i64) -> i64 { a + b } })?;
//! let result = tools.execute("add", Arguments::from_text(r#"{"a": 1, "b": 2}"#)?, &Context::detached())?;
//! assert_eq!(result.text_content(), "3");
//! # Ok::<(), tinymcp::ToolError>(())
//! ```
//!
//! # A scripted peer
//!
//! What if the other side answers nonsense, or not at all? A [`ScriptedPeer`](crate::testing::ScriptedPeer) sends what it is told, and expects
//! what it is told, each within 5 s. If that does not come it panics and shows the whole conversation.
//!
//! ```
//! use serde_json::json;
//! use tinymcp::testing::ScriptedPeer;
//! use tinymcp::{Client, Error, ProtocolVersion};
//!
//! let (client, mut server) = ScriptedPeer::for_client(Client::builder().versions([ProtocolVersion::V2025_11_25]))?;
//! let caller = std::thread::spawn(move || client.call_tool("echo", json!({"text": "hi"})));
//!
//! let initialize = server.expect_request("initialize");
//! server.respond(&initialize.id, json!({
//!     "protocolVersion": "2025-11-25",
//!     "capabilities": {"tools": {}},
//!     "serverInfo": {"name": "scripted", "version": "0"},
//! }));
//! server.expect_notification("notifications/initialized");
//! server.expect_request("tools/call");
//! server.close(); // it ends in the middle of the call
//!
//! let outcome = caller.join().expect("no panic");
//! assert!(matches!(outcome, Err(Error::OutcomeUnknown(_))));
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! # Over HTTP
//!
//! A pair has no sockets, and a handler cannot tell. What depends on HTTP itself, such as a guard, is tested at port 0: see the second
//! example of [serving over HTTP](crate::guide::http).
//!
//! # One message
//!
//! [`Server::handle_request`](crate::Server::handle_request) serves a message without any connection, for tests of single answers and for
//! transports of your own.
