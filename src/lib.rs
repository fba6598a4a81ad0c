//! The Model Context Protocol (MCP) for synchronous Rust: clients and servers on plain threads, without an async runtime.
//!
//! MCP connects language models with tools: a *server* offers tools, and a *client*, usually inside an agent, finds and
//! calls them. They exchange JSON-RPC messages, most often over the stdin and stdout of a server that the client starts, or over HTTP.
//!
//! # A server
//!
//! Types give the schema, doc comments the descriptions:
//!
//! ```no_run
//! use tinymcp::{Server, ToolError, ToolRegistry, tool};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let divide = tool! {
//!         /// Divide two numbers
//!         fn divide(
//!             dividend: f64,
//!             /// Anything but zero
//!             divisor: f64 = 2.0,
//!         ) -> Result<f64, ToolError> {
//!             if divisor == 0.0 { return Err(ToolError::new("divisor: must not be zero")); }
//!             Ok(dividend / divisor)
//!         }
//!     };
//!     let tools = ToolRegistry::new().with(divide)?;
//!     Server::builder("calculator", "1.0.0").tools(tools).build()?.start()?; // until stdin ends
//!     Ok(())
//! }
//! ```
//!
//! # A client
//!
//! ```no_run
//! use serde_json::json;
//! use tinymcp::{Client, Tool};
//!
//! fn main() -> tinymcp::Result<()> {
//!     let client = Client::connect("target/debug/calculator", &[])?;
//!     for tool in client.discover_tools()? {
//!         println!("{}: {}", tool.name(), tool.description());
//!     }
//!     let result = client.call_tool("divide", json!({"dividend": 84}))?;
//!     println!("{}", result.text_content());
//!     client.close().map(drop)
//! }
//! ```
//!
//! # Where things are
//!
//! | | |
//! |---|---|
//! | [`guide`] | **start here**: a page a theme with code that runs, and [every feature](guide::features) in one table |
//! | [`server`] | [`Server`]: serves tools, resources and prompts over stdio or any [`transport`]; [`ServerHandle`] stops it and tells of changes |
//! | [`client`] | [`Client`] owns a connection; [`ClientHandle`] is shared by threads; [`RemoteTool`] is a server's tool |
//! | [`tool`](mod@tool) | [`tool!`](macro@tool), [`data!`], [`Tool`], [`ToolRegistry`] (local and remote tools alike), [`Arguments`], [`ToolError`] |
//! | [`resource`] | [`FnResource`], [`FnTemplate`], [`ResourceRegistry`]: what is read by its address |
//! | [`prompt`](mod@prompt), [`completion`] | [`prompt!`](macro@prompt), [`PromptRegistry`]; what completes the arguments of both |
//! | [`Context`], [`context`] | what a handler sees of its call: cancellation, progress, log messages, who calls, what it may ask |
//! | [`host`] | many servers behind one registry, under the user's control, with the feature of that name |
//! | [`trajectory`] | recording, training examples, environments, with the feature of that name |
//! | [`guard`] | for servers whose arguments become paths, URLs or commands, with the feature of that name |
//! | [`testing`] | a client and a server in one process, and a peer that follows a script |
//! | [`transport`] | child processes, stdio, sockets, memory; [`Tap`](transport::Tap) sees every frame |
//! | [`http`] | [`HttpServer`](http::HttpServer) and [`HttpTransport`](http::HttpTransport): the same over Streamable HTTP, with the [features](#features) for it |
//! | [`logging`] | a logger for server binaries, and a bridge from it to clients; which level means what |
//! | [`protocol`], [`method`], [`jsonrpc`] | the messages, the table of methods, JSON-RPC |
//! | [`json`] | JSON kept as its text, and read leniently |
//!
//! ```text
//!                       calls ─▶                                          ─▶ registries ─▶ your tools, resources, prompts
//!  your code ─▶ Client ═ peer ═ transport ═══════════ transport ═ peer ═ Server                     │
//!  your handlers ◀── answers                                              ◀── Context ◀─────────────┘
//!                                                                             asks, reports progress, logs
//!
//!  or over HTTP:       Client ═ peer ═ HttpTransport ── requests, event streams ──▶ HttpServer ═ Server
//! ```
//!
//! `peer` is the engine that both sides share: one thread reads and hands each answer to the thread that waits for its
//! id; tools run on a pool. It knows JSON-RPC and nothing of MCP. Which era a message is of is decided in one place by pure
//! functions, so that one handler serves every revision from 2024-11-05 to 2026-07-28.
//!
//! For tests, a client and a server in one process:
//!
//! ```
//! use tinymcp::{Server, ToolRegistry, testing, tool};
//!
//! let echo = tool! { fn echo(text: String) -> String { text } };
//! let server = Server::builder("test", "1").tools(ToolRegistry::new().with(echo)?).build()?;
//!
//! let client = testing::pair(&server)?;
//! assert_eq!(client.call_tool("echo", serde_json::json!({"text": "hi"}))?.text_content(), "hi");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! All are off by default.
//!
//! - `http-server`: a server speaks Streamable HTTP, and HTTP+SSE ([`Server::serve_http`], [guide](guide::http)). Adds 17 crates.
//! - `http-client`: a client reaches such servers ([`Client::connect_http`], [guide](guide::http_client)). Adds 8 crates. `http` is both.
//! - `tls`: `https` for the client, by rustls; includes `http-client`. Adds 12 crates more.
//! - `host`: many servers behind one registry, under the user's control ([guide](guide::host)). Adds no crate. `jsonc` reads configuration files with
//!   comments, `patterns` takes regular expressions in redaction: one crate each.
//! - `trajectory`: what agents do is recorded, replayed and made into training examples; servers are environments. Adds no crate.
//! - `guard`: a folder that paths cannot leave, checks of URLs, programs without a shell ([guide](guide::guarding)). Adds 14 crates.
//! - `schemars`: `FnTool::typed` takes any type that derives `JsonSchema` as a tool's arguments.
//! - `validation`: arguments and structured results are compared with the whole of their JSON Schemas, by
//!   `json::Validator`. Adds 52 crates and 4.6 MB.

// What belongs to a feature can be linked to only with it. The checks and docs.rs build with all of them.
#![cfg_attr(
    not(all(
        feature = "http",
        feature = "tls",
        feature = "guard",
        feature = "host",
        feature = "trajectory"
    )),
    allow(rustdoc::broken_intra_doc_links)
)]

// So that the crate's macros name it the same way inside and outside.
extern crate self as tinymcp;

mod sys;

mod sync;

mod registry;

#[cfg(any(feature = "guard", feature = "http-client"))]
mod url;

pub mod json;

pub mod jsonrpc;

pub mod protocol;

pub mod method;

mod error;

pub mod transport;

mod era;

mod peer;

pub mod context;

pub mod tool;

pub mod completion;

pub mod prompt;

pub mod resource;

pub mod server;

pub mod client;

pub mod functions;

#[cfg(feature = "host")]
pub mod host;

#[cfg(feature = "guard")]
pub mod guard;

#[cfg(feature = "trajectory")]
pub mod trajectory;

#[cfg(any(feature = "http-server", feature = "http-client"))]
pub mod http;

pub mod testing;

pub mod logging;

pub mod guide;

pub use client::{Client, ClientHandle, RemoteTool};
pub use context::Context;
pub use error::{Error, Failure, Phase, Result};
pub use jsonrpc::{ErrorCode, ErrorObject, Message, RequestId};
pub use method::Method;
pub use peer::CloseReport;
pub use prompt::{FnPrompt, PromptArguments, PromptRegistry};
pub use protocol::version::ProtocolVersion;
pub use resource::{FnResource, FnTemplate, ResourceRegistry};
pub use server::{Server, ServerHandle};
pub use sync::CancelToken;
pub use tool::{Arguments, FnTool, Tool, ToolError, ToolRegistry};

/// The examples of the README are compiled as tests, with the feature that some of them need.
#[cfg(all(doctest, feature = "http"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// What the macros expand to. Not part of the public API.
#[doc(hidden)]
pub mod __private {
    pub use crate::tool::call::{
        IntoDefault, Param, Signature, VariantsSchema, outline, plain_name, read_field, read_object,
        read_tag, read_word, word_schema, write_field,
    };
    pub use crate::tool::output::structured;
    pub use crate::tool::schema::ObjectSchema;
    pub use serde;
    pub use serde_json::value::RawValue;
}
