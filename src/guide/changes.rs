//! Changes: a server says that something is different now, and clients hear of it.
//!
//! Four things can change: the list of tools, that of prompts, that of resources and their templates, and what is behind the address of a
//! resource. Servers and clients of both eras do it alike here.
//!
//! # On a server
//!
//! The registries say by themselves that their lists have changed. What a resource holds, only the program knows:
//!
//! ```
//! use tinymcp::client::{Change, Filter};
//! use tinymcp::protocol::Resource;
//! use tinymcp::{FnResource, PromptRegistry, ResourceRegistry, Server, ToolRegistry, prompt, testing, tool};
//!
//! let today = FnResource::new(Resource::new("notes://today", "today"), |_cx| "…");
//! let server = Server::builder("notes", "1.0.0")
//!     .tools(ToolRegistry::new())
//!     .prompts(PromptRegistry::new())
//!     .resources(ResourceRegistry::new().with(today)?)
//!     .build()?;
//! let client = testing::pair(&server)?;
//! let mut changes = client.listen(Filter::new().tools().prompts().resources().resource("notes://today"))?;
//!
//! server.tools().register(tool! { fn echo(text: String) -> String { text } })?;
//! assert_eq!(changes.next(), Some(Change::ToolsChanged));
//!
//! server.prompts().expect("given").register(prompt! { fn hello() -> String { "Hello!".into() } })?;
//! assert_eq!(changes.next(), Some(Change::PromptsChanged));
//!
//! let plan = FnResource::text(Resource::new("notes://plan", "plan"), "…");
//! server.resources().expect("given").register(plan)?;
//! assert_eq!(changes.next(), Some(Change::ResourcesChanged));
//!
//! let handle = server.handle(); // for a thread that watches the files
//! handle.resource_updated("notes://today");
//! assert_eq!(changes.next(), Some(Change::ResourceUpdated("notes://today".into())));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`resource_updated`](crate::ServerHandle::resource_updated) and its like return at once and may be called at any rate. Clients are told
//! 10 ms later, together with what changed meanwhile: a burst is few notices, and the last change is always told.
//!
//! # On a client: one after the other
//!
//! [`listen`](crate::ClientHandle::listen) gives an iterator, as above. [`Filter`](crate::client::Filter) says what to hear of;
//! [`honoured`](crate::client::Changes::honoured) what of that the server tells. Closing or dropping it ends the subscription:
//!
//! ```
//! use std::time::Duration;
//! use tinymcp::client::{Change, Filter};
//! use tinymcp::protocol::Resource;
//! use tinymcp::{Client, FnResource, ProtocolVersion, ResourceRegistry, Server, testing};
//!
//! let text = |uri: &str| FnResource::text(Resource::new(uri, uri), "…");
//! let resources = ResourceRegistry::new().with(text("notes://a"))?.with(text("notes://b"))?;
//! let server = Server::builder("notes", "1.0.0").resources(resources).build()?;
//! let older = Client::builder().versions([ProtocolVersion::V2025_11_25]);
//! let client = testing::pair_with(older, &server)?;
//!
//! let a = client.listen(Filter::new().resource("notes://a"))?; // `resources/subscribe` in this era
//! let mut b = client.listen(Filter::new().resources().resource("notes://b"))?;
//! server.resource_updated("notes://b");
//! assert_eq!(b.next(), Some(Change::ResourceUpdated("notes://b".into())));
//! assert_eq!(a.next_timeout(Duration::ZERO), None);
//! drop(b); // `resources/unsubscribe`
//!
//! server.resources().expect("given").remove("notes://b");
//! client.close()?;
//! assert_eq!(a.into_iter().next(), None); // ended with the client
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # On a client: callbacks
//!
//! ```
//! use tinymcp::{Client, Server, ToolRegistry, testing, tool};
//!
//! let (tx, names) = std::sync::mpsc::channel();
//! let builder = Client::builder().on_tools_changed(move |client| {
//!     let list = client.list_tools().expect("a list"); // a callback may use the client
//!     let _ = tx.send(list.into_iter().map(|tool| tool.name).collect::<Vec<_>>());
//! });
//! let server = Server::builder("growing", "1.0.0").tools(ToolRegistry::new()).build()?;
//! let client = testing::pair_with(builder, &server)?;
//! assert!(client.list_tools()?.items.is_empty());
//! server.tools().register(tool! { fn echo(text: String) -> String { text } })?;
//! assert_eq!(names.recv()?, ["echo"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`on_prompts_changed`](crate::client::ClientBuilder::on_prompts_changed),
//! [`on_resources_changed`](crate::client::ClientBuilder::on_resources_changed) and
//! [`on_resource_updated`](crate::client::ClientBuilder::on_resource_updated) are alike. They run on one thread, one after another. Every
//! other notification goes to [`on_notification`](crate::client::ClientBuilder::on_notification).
//!
//! # Rules
//!
//! - Callbacks hear of what changes after the server was asked for it, which is done when the protocol is settled. What there is then, a
//!   program asks for itself, as above.
//! - Changes are kept as marks, not in a queue: what changes ten times before it is looked at is one change, and the last change is never
//!   lost. In what order different things are told is not promised.
//! - A stream outlives its connection. [`Change::Interrupted`](crate::client::Change::Interrupted) says that changes may be missed; when the
//!   server is heard again, after a try of the client itself or a [`reconnect`](crate::ClientHandle::reconnect), everything that was asked
//!   for counts as changed, once. It ends when the server ends it or refuses it several times, when it is closed, or with the client.
//! - Results that a client [keeps](crate::guide::caching) are forgotten before anybody hears of the change.
//!
//! | on the wire | Legacy | Modern |
//! |---|---|---|
//! | who is told of lists | every client with a handshake | who asks by `subscriptions/listen` |
//! | who is told of a resource | who asked by `resources/subscribe` | who named it in `subscriptions/listen` |
//! | the end | `resources/unsubscribe`, or the connection's | the client cancels, or the server answers the request |
