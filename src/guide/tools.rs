//! Writing tools: from a function to something that a model can call.
//!
//! A tool is a function with a name, a description, and a schema of its arguments. [`tool!`](macro@crate::tool) takes all of it from
//! the function: types give the schema, doc comments the descriptions, `= value` a default.
//!
//! ```
//! use serde_json::json;
//! use tinymcp::protocol::Icon;
//! use tinymcp::{Context, Server, ToolError, ToolRegistry, data, testing, tool};
//!
//! data! {
//!     /// What to search
//!     #[derive(Clone, Copy)]
//!     enum Place { Inbox, Archive }
//! }
//!
//! let search = tool! {
//!     /// Search mails. Returns the subjects of those that fit.
//!     fn search(
//!         /// Words that must occur
//!         query: String,
//!         place: Place = Place::Inbox,
//!         limit: u32 = 10,
//!         cx: &Context,
//!     ) -> Result<Vec<String>, ToolError> {
//!         if query.is_empty() { return Err(ToolError::new("query: must not be empty")); }
//!         log::debug!("searching for {:?}", cx.client_info());
//!         let name = match place { Place::Inbox => "inbox", Place::Archive => "archive" };
//!         Ok((1..=limit.min(2)).map(|n| format!("{query} {n} in {name}")).collect())
//!     }
//! };
//!
//! // What hosts show, and hints for them. None of it is a promise that a client may rely on.
//! let search = search.title("Search mails").read_only().icon(Icon::new("https://example.com/search.svg"));
//! let tools = ToolRegistry::new().with(search)?;
//! let client = testing::pair(&Server::builder("mail", "1.0.0").tools(tools).build()?)?;
//!
//! let listed = client.list_tools()?;
//! assert_eq!(listed.items[0].display_name(), "Search mails");
//! let found = client.call_tool("search", json!({"query": "tea", "place": "Archive"}))?;
//! assert_eq!(found.structured_as::<Vec<String>>()?, Some(vec!["tea 1 in archive".into(), "tea 2 in archive".into()]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a tool returns
//!
//! [`ToolOutput`](crate::tool::ToolOutput) lists the types: text, numbers, lists and `data!` types with a schema of their own, content of
//! any kind, a whole [`CallToolResult`](crate::protocol::CallToolResult), or a `Result` of these. An `Err` is a [failed result](crate::guide::errors), which
//! the model reads.
//!
//! ```
//! use tinymcp::protocol::{AudioContent, CallToolResult, Content, ImageContent, ResourceContents};
//! use tinymcp::{Server, ToolRegistry, testing, tool};
//!
//! let tools = ToolRegistry::new().with(tool! {
//!     fn everything() -> CallToolResult {
//!         CallToolResult::new(vec![
//!             Content::text("some words"),
//!             ImageContent::from_bytes(b"<svg/>", "image/svg+xml").into(),
//!             AudioContent::from_bytes(&[0; 4], "audio/wav").into(),
//!             Content::resource(ResourceContents::text("notes://plan", "Buy milk")), // embedded
//!             Content::resource_link("notes://list", "list"),                        // named
//!         ])
//!     }
//! })?;
//! let client = testing::pair(&Server::builder("kinds", "1").tools(tools).build()?)?;
//!
//! let result = client.call_tool("everything", ())?;
//! let kinds: Vec<_> = result.content.iter().map(Content::kind).collect();
//! assert_eq!(kinds, ["text", "image", "audio", "resource", "resource_link"]);
//! let Content::Image(image) = &result.content[1] else { panic!("an image") };
//! assert_eq!(image.bytes()?, b"<svg/>");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Tools that come and go
//!
//! A registry may change while it is served; clients are [told](crate::guide::changes). A tool whose schema is known only at run time is
//! an [`FnTool::new`](crate::FnTool::new), one with state of its own a type that implements [`Tool`](crate::Tool). With the feature
//! `schemars`, `FnTool::typed` takes any type that derives `JsonSchema`.
//!
//! ```
//! use serde_json::json;
//! use tinymcp::{Context, FnTool, ToolError, ToolRegistry};
//!
//! let schema = json!({"type": "object", "properties": {"sql": {"type": "string"}}, "required": ["sql"]});
//! let query = FnTool::new("query", "Ask the database", schema, |arguments, _: &Context| {
//!     let sql = arguments.to_value()["sql"].as_str().unwrap_or_default().to_owned();
//!     Ok::<_, ToolError>(format!("{sql}: 3 rows"))
//! });
//! let tools = ToolRegistry::new().with(query)?;
//! tools.remove("query");
//! assert!(tools.is_empty());
//! # Ok::<(), tinymcp::ToolError>(())
//! ```
//!
//! # Rules
//!
//! **stdout is the protocol.** What a tool prints there by `println!` stands between the messages: this crate's client skips
//! such lines and counts them, others end the connection. Log by the `log` crate, see [`logging`](crate::logging);
//! `eprintln!` and `dbg!` are safe as well, as they write to stderr.
//!
//! **stdin is the protocol, too.** A process that a tool starts inherits both, would eat the client's next requests, and write
//! between the answers. Start processes by [`child_command`](crate::transport::child_command), which takes both away.
//!
//! **Tools run at the same time**, on several threads; shared state needs a lock of its own. A tool may block as long as
//! it likes: others go on, and so does `ping`. Long work should look at
//! [`Context::is_cancelled`](crate::Context::is_cancelled), and wait on [`CancelToken::wait_timeout`](crate::CancelToken::wait_timeout)
//! instead of sleeping; nobody can stop a thread from outside.
//!
//! **Arguments are read leniently**, because models are: a number or a boolean may come as a string (`"30"`), an integer as
//! `30.0`, a list or an object as the text of one, all arguments together as a string, and `null` stands for an absent
//! optional one. What changes the meaning stays an error: `1.5` or `"many"` for an integer, a number out of range, a number
//! for a string.
//!
//! **Unknown arguments are ignored** with a debug line, as models invent some now and then.
//! [`deny_unknown_arguments`](crate::FnTool::deny_unknown_arguments) makes them an error and tells clients so in the schema.
//!
//! **Schemas are checked in part** by default: see [validation](crate::guide::validation).
//!
//! **Large integers**: JSON passes through this crate as text, so 64-bit integers arrive exactly in `u64` and `i64`, and larger
//! ones in [`Json`](crate::json::Json). JavaScript hosts read every number as a double and round beyond 2^53: return 64-bit
//! ids as strings, and declare the parameters that take them back as `String`.
