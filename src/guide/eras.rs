//! Eras and revisions: which versions of the protocol are spoken, and how a program deals with several at once.
//!
//! It does nothing: servers and clients are written once, and the two sides find out what they have in common. This page is for
//! those who want to know what happens, to offer fewer revisions, or to look at what was settled.
//!
//! ```
//! use tinymcp::{Client, ProtocolVersion, Server, testing};
//!
//! let server = Server::builder("clock", "1.0.0").instructions("Ask before noon.").build()?;
//!
//! // All revisions are offered: the newest is spoken.
//! let client = testing::pair(&server)?;
//! let identity = client.initialize()?;
//! assert_eq!(identity.version, ProtocolVersion::V2026_07_28);
//! assert_eq!(identity.instructions.as_deref(), Some("Ask before noon."));
//! assert!(identity.capabilities.resources.is_none());
//!
//! // One is offered: that one, or none.
//! let older = Client::builder().versions([ProtocolVersion::V2025_06_18]);
//! let client = testing::pair_with(older, &server)?;
//! assert_eq!(client.initialize()?.version, ProtocolVersion::V2025_06_18);
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! # Two eras
//!
//! *Legacy* are the revisions with a handshake: a connection begins with `initialize`, what was settled then holds for all of it,
//! and a server may send requests to its client. *Modern* is 2026-07-28: there is no handshake, every request says in its `_meta`
//! which revision it speaks and what its client can do, and a server that needs something ends the call with a question.
//!
//! | revision | era | a connection begins with | who speaks it here |
//! |---|---|---|---|
//! | 2024-11-05 | Legacy | `initialize` | client and server |
//! | 2025-03-26 | Legacy | `initialize`; batches are accepted in this revision alone | client and server |
//! | 2025-06-18 | Legacy | `initialize` | client and server |
//! | 2025-11-25 | Legacy | `initialize` | client and server |
//! | 2026-07-28 | Modern | nothing: every request carries its `_meta` | client and server |
//!
//! # What is in which revision
//!
//! | feature | 2024-11-05 | 2025-03-26 | 2025-06-18 | 2025-11-25 | 2026-07-28 | server | client |
//! |---|---|---|---|---|---|---|---|
//! | tools, resources, prompts | yes | yes | yes | yes | yes | [`tools`](crate::server::ServerBuilder::tools), [`resources`](crate::server::ServerBuilder::resources), [`prompts`](crate::server::ServerBuilder::prompts) | [`call_tool`](crate::ClientHandle::call_tool), [`read_resource`](crate::ClientHandle::read_resource), [`get_prompt`](crate::ClientHandle::get_prompt) |
//! | annotations of tools | | yes | yes | yes | yes | [`read_only`](crate::FnTool::read_only) and others | [`ToolAnnotations`](crate::protocol::ToolAnnotations) |
//! | audio | | yes | yes | yes | yes | [`Content::audio`](crate::protocol::Content::audio) | the same |
//! | titles, structured results, resource links | | | yes | yes | yes | [`Structured`](crate::tool::Structured), [`Content::resource_link`](crate::protocol::Content::resource_link) | [`structured_as`](crate::protocol::CallToolResult::structured_as) |
//! | icons | | | | yes | yes | [`icon`](crate::FnTool::icon) | [`Icon`](crate::protocol::Icon) |
//! | completion of arguments | yes | yes | yes | yes | yes | [`complete`](crate::FnPrompt::complete) | [`complete`](crate::ClientHandle::complete) |
//! | sampling | yes | yes | yes | yes | yes | [`Context::sample`](crate::Context::sample) | [`on_sample`](crate::client::ClientBuilder::on_sample) |
//! | sampling with tools | | | | yes | yes | the same | [`sampling_with_tools`](crate::client::ClientBuilder::sampling_with_tools) |
//! | root folders | yes | yes | yes | yes | yes | [`Context::roots`](crate::Context::roots) | [`roots`](crate::client::ClientBuilder::roots) |
//! | elicitation with a form | | | yes | yes | yes | [`Context::elicit`](crate::Context::elicit) | [`on_elicit`](crate::client::ClientBuilder::on_elicit) |
//! | elicitation by a URL | | | | yes | yes | the same | [`on_elicit_url`](crate::client::ClientBuilder::on_elicit_url) |
//! | log messages | yes | yes | yes | yes | yes | [`Context::log`](crate::Context::log) | [`set_log_level`](crate::ClientHandle::set_log_level) |
//! | notices of changes, of resources too | yes | yes | yes | yes | yes | [`resource_updated`](crate::Server::resource_updated) | [`on_tools_changed`](crate::client::ClientBuilder::on_tools_changed) and [more](crate::guide::changes) |
//! | tasks | | | | yes | by an extension | [`tasks`](crate::server::ServerBuilder::tasks) | [`call_tool_task`](crate::ClientHandle::call_tool_task) |
//! | hints for caches | | | | | yes | [`cache`](crate::server::ServerBuilder::cache) | by itself |
//! | `ping` | yes | yes | yes | yes | | by itself | [`ping`](crate::ClientHandle::ping), which asks `server/discover` instead where there is none |
//! | batches | | yes | | | | accepted | accepted, never sent |
//! | stdio | yes | yes | yes | yes | yes | [`start`](crate::Server::start) | [`connect`](crate::Client::connect) |
//! | Streamable HTTP, with sessions | | yes | yes | yes | | `serve_http` | `connect_http` |
//! | the same without sessions, and arguments in headers | | | | | yes | the same | the same |
//! | HTTP with SSE | yes | | | | | the same | the same |
//!
//! # On a server
//!
//! A server decides the era of each request by the request alone, so one connection may mix them. Results are lowered to what the
//! caller's revision knows: where it lacks audio, resource links or structured results, they become text. An `initialize` that asks
//! for 2026-07-28, or for a revision nobody knows, is answered with the newest Legacy revision offered.
//!
//! Over HTTP as well: all revisions share [one address](crate::guide::http#one-address-both-eras). What a stdio server knows by its connection,
//! it knows there by the session of a Legacy client.
//!
//! A handler that must know asks its [`Context`](crate::Context): [`protocol_version`](crate::Context::protocol_version),
//! [`client_capabilities`](crate::Context::client_capabilities), [`client_info`](crate::Context::client_info).
//!
//! # On a client
//!
//! A client asks `server/discover` first and takes everything but a Modern answer, silence included, as a sign of an older server,
//! which it then greets with `initialize`; a server that dies of the question is started again. [Over HTTP](crate::guide::http_client#which-era) statuses count
//! as well. A client that knows its server saves
//! the question by [`versions`](crate::client::ClientBuilder::versions), as above.
//!
//! What a server does not declare it is not asked for: [`Error::Unsupported`](crate::Error::Unsupported) names the capability and the
//! revision, and nothing was sent. Tools are the exception, as many servers forget to declare them.
//!
//! ```
//! use tinymcp::{Error, Server, testing};
//!
//! let client = testing::pair(&Server::builder("empty", "1").build()?)?;
//! let error = client.read_resource("notes://plan").unwrap_err();
//! assert!(matches!(error, Error::Unsupported(_)), "{error}");
//! # Ok::<(), tinymcp::Error>(())
//! ```
