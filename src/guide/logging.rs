//! Log messages of a server for its client's user, and the logs of this crate.
//!
//! Two things are called logging. *Log messages* are part of the protocol: a server sends them to its client, which shows them. *Logs*
//! are those of the `log` crate, which go to stderr or wherever a program sends them. A [`Bridge`](crate::logging::Bridge) makes the first of
//! the second.
//!
//! # Log messages
//!
//! ```
//! use std::sync::mpsc;
//! use tinymcp::protocol::LogLevel;
//! use tinymcp::{Client, Context, ProtocolVersion, Server, ToolRegistry, testing, tool};
//!
//! let tools = ToolRegistry::new().with(tool! {
//!     fn copy(cx: &Context) -> &'static str {
//!         cx.debug("looking for files");
//!         cx.warning("the disk is nearly full");
//!         cx.log(LogLevel::Error, "disk", serde_json::json!({"free": 0})); // a part of the server, any value
//!         "done"
//!     }
//! })?;
//! let server = Server::builder("files", "1.0.0").tools(tools).logging().build()?;
//!
//! for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
//!     let (tx, messages) = mpsc::channel();
//!     let builder = Client::builder().versions([version]).on_notification(move |method, params| {
//!         if let ("notifications/message", Some(params)) = (method, params) {
//!             tx.send(params.to_value()).expect("heard");
//!         }
//!     });
//!     let client = testing::pair_with(builder, &server)?;
//!     client.set_log_level(LogLevel::Warning)?;
//!     client.call_tool("copy", ())?;
//!     assert_eq!(messages.recv()?["data"], "the disk is nearly full");
//!     assert_eq!(messages.recv()?["logger"], "disk");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - Without [`logging`](crate::server::ServerBuilder::logging) on the server nothing is sent, and that it logs is not declared.
//! - A Legacy client sets the level of its connection; before that it gets what is at least `info`, as the specification leaves that to
//!   the server. A Modern client says with each request what it wants, and gets nothing otherwise;
//!   [`set_log_level`](crate::ClientHandle::set_log_level) does either,
//!   [`with_log_level`](crate::client::CallOptions::with_log_level) is for one Modern call.
//! - Messages never wait for the client: what it has no room for is dropped. They end with the answer of their call.
//! - Over HTTP they are events of the answer to their call: a call without any is answered as one object.
//! - What belongs to no call goes to Legacy clients alone, by [`ServerHandle::log`](crate::ServerHandle::log).
//! - Clients keep what they get. Messages must not hold secrets.
//!
//! The protocol deprecates log messages since 2026-07-28 in favour of stderr, but clients show them.
//!
//! # The bridge
//!
//! With it, what a handler writes by `log::info!` goes to the client of its call as well, and still to the program's logger:
//!
//! ```
//! tinymcp::logging::init_bridged()?; // or `Bridge::wrap` around a logger of your own
//! # Ok::<(), tinymcp::logging::LoggerTaken>(())
//! ```
//!
//! A record finds its client by its thread: the one that runs a handler works for its call. A thread that a handler starts does so while
//! it holds the guard of [`Context::enter`](crate::Context::enter). Records of this crate and of other threads go to no client.
//!
//! # The logs of this crate
//!
//! It writes to the `log` facade and installs no logger by itself. [`logging::init`](crate::logging::init) is a default for the `main` of a
//! server: stderr, and what `RUST_LOG` asks for. [`logging`](crate::logging) says which level means what; a
//! [`WireLog`](crate::transport::WireLog) adds every frame.
