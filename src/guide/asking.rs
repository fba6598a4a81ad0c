//! Asking the client: how a server gets the user's word, the language model's or a folder, in the middle of a call.
//!
//! | a server asks | by | a client answers by | since |
//! |---|---|---|---|
//! | the user, with a form | [`Context::elicit`] | [`on_elicit`] | 2025-06-18 |
//! | the user, to visit a URL | [`Context::elicit`] | [`on_elicit_url`] | 2025-11-25 |
//! | the language model (*sampling*) | [`Context::sample`] | [`on_sample`] | 2024-11-05 |
//! | the folders to work on (*roots*) | [`Context::roots`] | [`roots`], [`on_roots`] | 2024-11-05 |
//! | several of these at once | [`Context::ask`] | each of them | |
//!
//! Tools, prompts and resources ask alike; a completer, or what lists resources, cannot ask a Modern client. Both sides are written once, for both eras:
//!
//! ```
//! use serde_json::{Value, json};
//! use tinymcp::protocol::{ElicitParams, ElicitResult, PrimitiveSchema, RequestedSchema};
//! use tinymcp::{Client, Context, ProtocolVersion, Server, ToolError, ToolRegistry, testing, tool};
//!
//! // The server.
//! let book = tool! {
//!     /// Book a table
//!     fn book(day: String, cx: &Context) -> Result<String, ToolError> {
//!         let fields = RequestedSchema::new()
//!             .required("guests", PrimitiveSchema::integer().with_range(1, 12).with_default(2))
//!             .optional("seat", PrimitiveSchema::choice(["inside", "outside"]).with_default("inside"));
//!         let answer = cx.elicit("details", ElicitParams::form(format!("A table on {day}"), fields))?;
//!         let Some(details) = answer.content_as::<Value>()?.filter(|_| answer.is_accepted()) else {
//!             return Ok("nothing was booked".into()); // the user declined: not an error
//!         };
//!         Ok(format!("a table for {}, {}", details["guests"], details["seat"].as_str().unwrap_or("anywhere")))
//!     }
//! };
//! let server = Server::builder("restaurant", "1.0.0").tools(ToolRegistry::new().with(book)?).build()?;
//!
//! // The client, in either era.
//! for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
//!     let builder = Client::builder().versions([version]).on_elicit(|form| {
//!         println!("{} asks: {}", form.origin(), form.message);
//!         let mut answer = form.defaults(); // a host shows the form here, and lets the user decline
//!         answer.insert("guests", &4);
//!         Ok(ElicitResult::accept(answer))
//!     });
//!     let client = testing::pair_with(builder, &server)?;
//!     let booked = client.call_tool("book", json!({"day": "Monday"}))?;
//!     assert_eq!(booked.text_content(), "a table for 4, inside");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What may run twice
//!
//! A Legacy client gets a request, and the handler waits for the answer. A Modern client gets the question as the *end of the call*, and
//! calls again with the answer. Then **the handler runs again from its beginning**, and `elicit` returns the answer this time. So:
//!
//! - What a handler does **before or between questions runs again** after each of them. Reading is fine; sending a mail is not.
//! - What must be done once is a [`Context::step`]: its value is kept under a key, and later rounds get it without doing the work.
//! - What a handler does **after its last question** is done once: the server accepts each state of a call once.
//! - A call that [becomes a task](crate::guide::tasks#questions-first) runs once more, as that, with the answers and steps so far.
//! - A step counts only once the round ends with a question, or with a task. If the handler fails before, the process ends, or the client begins the
//!   whole call anew, it is done again. Nothing makes that impossible; work that must never be done twice needs a key of its own.
//! - Errors of asking must be passed on, with `?`: one of them, [`AskError::InputRequired`], is how the round ends. A handler that
//!   swallows it gives an answer nobody takes: the round ends with the question all the same.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
//! use tinymcp::protocol::{ElicitParams, ElicitResult, RequestedSchema};
//! use tinymcp::{Client, Context, FnTool, Server, ToolError, ToolRegistry, testing};
//!
//! let (runs, orders) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
//! let (run, order) = (runs.clone(), orders.clone());
//! let buy = FnTool::new("buy", "", serde_json::json!({"type": "object"}), move |_, cx: &Context| {
//!     run.fetch_add(1, SeqCst);
//!     let number = cx.step("order", || Ok::<_, ToolError>(order.fetch_add(1, SeqCst) + 1))?;
//!     let question = ElicitParams::form(format!("Pay order {number}?"), RequestedSchema::new());
//!     let paid = cx.elicit("pay", question)?.is_accepted();
//!     Ok::<_, ToolError>(format!("order {number}, paid: {paid}"))
//! });
//! let server = Server::builder("shop", "1.0.0").tools(ToolRegistry::new().with(buy)?).build()?;
//! let builder = Client::builder().on_elicit(|form| Ok(ElicitResult::accept(form.defaults())));
//! let client = testing::pair_with(builder, &server)?;
//!
//! assert_eq!(client.call_tool("buy", ())?.text_content(), "order 1, paid: true");
//! assert_eq!((runs.load(SeqCst), orders.load(SeqCst)), (2, 1)); // ran twice, ordered once
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Keys** tell the questions and steps of one handler apart. A key used twice in one run, as in a loop, is another question each time,
//! so a handler must ask in the same order whenever it runs. Several questions in one [`Context::ask`] take one round instead of one each.
//! A client that knows the keys may answer with its first call, before it is asked; what it says beyond that is ignored.
//!
//! **State.** Between rounds, answers and steps are kept by the server, and the client holds a handle that means nothing to it:
//! [`MemoryStates`], in this process, for ten minutes at most ([`input_time`]). A state belongs to the method and parameters it was made
//! for, and a made-up, changed, used or expired one is refused. Servers of which several share the work seal the state and
//! let the client carry it (`http::SealedStates`, feature `http-server`), or bring a [`StateStore`] of their own.
//!
//! # What a client cannot do is not asked
//!
//! A client declares what it has a handler for, and nothing else is asked of it. A handler that could do without looks first:
//!
//! ```
//! use tinymcp::Context;
//! use tinymcp::context::{Ability, AskError};
//! use tinymcp::protocol::CreateMessageParams;
//!
//! fn title(text: &str, cx: &Context) -> Result<String, AskError> {
//!     if !cx.supports(Ability::Sampling) {
//!         return Ok(text.chars().take(4).collect());
//!     }
//!     let request = CreateMessageParams::new(20).with_user(format!("A title for: {text}"));
//!     Ok(cx.sample("title", request)?.text_content())
//! }
//! assert_eq!(title("milk and tea", &Context::detached())?, "milk");
//! # Ok::<(), AskError>(())
//! ```
//!
//! Without that look, asking is [`AskError::Unsupported`], which a Modern client gets as error -32021 and a model of a Legacy client reads.
//!
//! # Where a client's handlers run
//!
//! | | Legacy | Modern |
//! |---|---|---|
//! | the handler runs on | a thread of the client's pool, several at once | the thread that waits for the call, one after another |
//! | its cancel token fires when | the server withdraws the question | the call is given up |
//! | the user's time | counts for the total of open calls, not for their timeout; the server has its own patience | counts for the call's total, not for its timeout |
//! | a handler's error goes to | the server | the caller |
//!
//! [`Asked`] says which server asks, for which call, and until when. One object can answer everything: [`ClientHandler`]. A program that
//! wants to answer by itself, later or elsewhere, calls round by round: [`call_tool_once`](crate::ClientHandle::call_tool_once).
//!
//! More examples, a question each: [the kinds of questions](crate::guide::questions).
//!
//! [`Context::elicit`]: crate::Context::elicit
//! [`Context::sample`]: crate::Context::sample
//! [`Context::roots`]: crate::Context::roots
//! [`Context::ask`]: crate::Context::ask
//! [`Context::step`]: crate::Context::step
//! [`AskError::InputRequired`]: crate::context::AskError::InputRequired
//! [`AskError::Unsupported`]: crate::context::AskError::Unsupported
//! [`MemoryStates`]: crate::context::MemoryStates
//! [`StateStore`]: crate::context::StateStore
//! [`input_time`]: crate::server::ServerBuilder::input_time
//! [`on_elicit`]: crate::client::ClientBuilder::on_elicit
//! [`on_elicit_url`]: crate::client::ClientBuilder::on_elicit_url
//! [`on_sample`]: crate::client::ClientBuilder::on_sample
//! [`roots`]: crate::client::ClientBuilder::roots
//! [`on_roots`]: crate::client::ClientBuilder::on_roots
//! [`Asked`]: crate::client::Asked
//! [`ClientHandler`]: crate::client::ClientHandler
