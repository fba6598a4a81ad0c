//! The kinds of questions: forms, URLs, the language model, root folders. A page of examples to [asking](crate::guide::asking).
//!
//! # Forms
//!
//! A form is flat: texts, numbers, booleans and choices, each with a title, a description, bounds and a default.
//!
//! ```
//! use tinymcp::json::Object;
//! use tinymcp::protocol::{PrimitiveSchema, RequestedSchema, StringFormat};
//!
//! let form = RequestedSchema::new()
//!     .required("mail", PrimitiveSchema::text().with_format(StringFormat::Email))
//!     .optional("name", PrimitiveSchema::text().with_length(1, 80).with_default("Ada"))
//!     .optional("copies", PrimitiveSchema::integer().with_range(1, 9).with_default(1))
//!     .optional("news", PrimitiveSchema::boolean().with_default(false))
//!     .optional("size", PrimitiveSchema::titled_choice([("s", "Small"), ("l", "Large")]))
//!     .optional("colours", PrimitiveSchema::choices(["red", "green", "blue"]).with_items(1, 2));
//!
//! let mut answer = Object::new();
//! form.fill_defaults(&mut answer); // what the user sees at first
//! assert_eq!(answer.get::<String>("name").as_deref(), Some("Ada"));
//! answer.insert("size", "m");
//! let problems = form.check(&answer).unwrap_err();
//! assert_eq!(problems.len(), 2, "{problems:?}"); // mail is missing, and there is no size m
//! ```
//!
//! Both sides check an accepted answer against the form: a client sends none that does not fit, and a server takes none. An answer is
//! accepted, declined or cancelled; only the first has contents.
//!
//! # URLs
//!
//! What no model and no host should see, such as a password or a payment, belongs on a page of the server's own. The user is sent there:
//!
//! ```
//! use tinymcp::protocol::{ElicitParams, ElicitResult};
//! use tinymcp::{Client, Context, ProtocolVersion, Server, ServerHandle, ToolError, ToolRegistry, testing, tool};
//! # use std::sync::{Arc, OnceLock, mpsc};
//!
//! let handle: Arc<OnceLock<ServerHandle>> = Arc::default();
//! # let page = handle.clone();
//! let connect = tinymcp::FnTool::new("connect", "", serde_json::json!({"type": "object"}), move |_, cx: &Context| {
//!     let mut login = tinymcp::protocol::ElicitUrlParams::new("Log in to continue", "https://example.com/login?t=1");
//!     login.elicitation_id = Some("login-1".into());
//!     let agreed = cx.elicit("login", ElicitParams::Url(login))?.is_accepted();
//!     // The page has been visited: clients of 2025-11-25 like to hear that.
//!     page.get().expect("built").elicitation_completed("login-1");
//!     Ok::<_, ToolError>(format!("agreed: {agreed}"))
//! });
//! let server = Server::builder("shop", "1.0.0").tools(ToolRegistry::new().with(connect)?).build()?;
//! # assert!(handle.set(server.handle()).is_ok());
//!
//! let (tx, completed) = mpsc::channel();
//! let builder = Client::builder()
//!     .versions([ProtocolVersion::V2025_11_25])
//!     .on_elicit_url(|url| {
//!         println!("{} wants to send you to {}: {}", url.origin(), url.host(), url.url);
//!         Ok(ElicitResult::accept_url()) // once the user has agreed, and a browser is open
//!     })
//!     .on_elicitation_complete(move |id| tx.send(id.to_owned()).expect("heard"));
//! let client = testing::pair_with(builder, &server)?;
//! assert_eq!(client.call_tool("connect", ())?.text_content(), "agreed: true");
//! assert_eq!(completed.recv()?, "login-1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! *Accepted* means that the user agreed to go there, not that they have done what is to be done: the server finds that out by itself. A
//! tool that cannot go on before may end with
//! [`ToolError::url_elicitation_required`](crate::ToolError::url_elicitation_required); the client sends its user there and calls again.
//!
//! # The language model
//!
//! ```
//! use tinymcp::protocol::{CreateMessageParams, CreateMessageResult, ModelPreferences};
//! use tinymcp::{Client, Context, Server, ToolError, ToolRegistry, testing, tool};
//!
//! let summarize = tool! {
//!     /// Summarize a text
//!     fn summarize(text: String, cx: &Context) -> Result<String, ToolError> {
//!         let request = CreateMessageParams::new(200) // tokens at most
//!             .with_system_prompt("Answer in one sentence.")
//!             .with_model_preferences(ModelPreferences::default().with_hint("small"))
//!             .with_user(format!("Summarize: {text}"));
//!         Ok(cx.sample("summary", request)?.text_content())
//!     }
//! };
//! let server = Server::builder("texts", "1.0.0").tools(ToolRegistry::new().with(summarize)?).build()?;
//!
//! let builder = Client::builder().on_sample(|request| {
//!     // A host shows the user what is asked, asks its model, and shows the answer.
//!     assert_eq!(request.messages[0].text_content(), "Summarize: a long text");
//!     Ok(CreateMessageResult::text("some-model", "Short."))
//! });
//! let client = testing::pair_with(builder, &server)?;
//! assert_eq!(client.call_tool("summarize", serde_json::json!({"text": "a long text"}))?.text_content(), "Short.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Root folders
//!
//! ```
//! use tinymcp::protocol::Root;
//! use tinymcp::{Client, Context, ProtocolVersion, Server, ToolError, ToolRegistry, testing, tool};
//!
//! let places = tool! {
//!     fn places(cx: &Context) -> Result<String, ToolError> {
//!         let uris: Vec<_> = cx.roots()?.into_iter().map(|root| root.uri).collect();
//!         Ok(uris.join(" "))
//!     }
//! };
//! let (tx, changed) = std::sync::mpsc::channel();
//! let server = Server::builder("files", "1.0.0")
//!     .tools(ToolRegistry::new().with(places)?)
//!     .on_roots_changed(move || tx.send(()).expect("heard"))
//!     .build()?;
//!
//! let builder = Client::builder().versions([ProtocolVersion::V2025_11_25]).roots([Root::new("file:///plans")]);
//! let client = testing::pair_with(builder, &server)?;
//! assert_eq!(client.call_tool("places", ())?.text_content(), "file:///plans");
//!
//! client.set_roots([Root::new("file:///plans"), Root::new("file:///letters")])?;
//! changed.recv()?; // a Legacy server is told; a Modern one asks when it wants to know
//! assert_eq!(client.call_tool("places", ())?.text_content(), "file:///plans file:///letters");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Roots are a wish of the client, not a fence: a server that must stay inside them has to see to that itself.
//!
//! # Several at once
//!
//! ```
//! use tinymcp::context::Question;
//! use tinymcp::protocol::{CreateMessageParams, CreateMessageResult, Root};
//! use tinymcp::{Client, Context, Server, ToolError, ToolRegistry, testing, tool};
//!
//! let tools = ToolRegistry::new().with(tool! {
//!     fn propose(cx: &Context) -> Result<String, ToolError> {
//!         let name = Question::sample("name", CreateMessageParams::new(10).with_user("A name for a folder?"));
//!         let (name, roots) = cx.ask((name, Question::roots("roots")))?; // one round
//!         Ok(format!("{}/{}", roots[0].uri, name.text_content()))
//!     }
//! })?;
//! let server = Server::builder("files", "1.0.0").tools(tools).build()?;
//! let builder = Client::builder()
//!     .roots([Root::new("file:///plans")])
//!     .on_sample(|_| Ok(CreateMessageResult::text("some-model", "spring")));
//! let client = testing::pair_with(builder, &server)?;
//! assert_eq!(client.call_tool("propose", ())?.text_content(), "file:///plans/spring");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
