//! Prompts, and the completion of arguments.
//!
//! A prompt is a text, or several messages, with which a *user* begins a conversation: hosts show prompts as a menu or as commands. Its
//! arguments are texts that the user types in.
//!
//! ```
//! use serde_json::json;
//! use tinymcp::protocol::{Content, ImageContent, PromptMessage, ResourceContents};
//! use tinymcp::{PromptRegistry, Server, prompt, testing};
//!
//! let hello = prompt! {
//!     /// Begin a conversation
//!     fn hello() -> String { "Hello!".into() }
//! };
//! let review = prompt! {
//!     /// Review a change
//!     fn review(
//!         /// The name of a branch
//!         branch: String,
//!         tone: Option<String>,
//!     ) -> Vec<PromptMessage> {
//!         let tone = tone.unwrap_or_else(|| "kind".into());
//!         let shot = ImageContent::from_bytes(b"<svg/>", "image/svg+xml");
//!         let rules = ResourceContents::text("house://rules", "Be kind.");
//!         vec![
//!             PromptMessage::user(Content::text(format!("Review {branch}, and be {tone}."))),
//!             PromptMessage::user(Content::Image(shot)),
//!             PromptMessage::user(Content::resource(rules)), // an embedded resource
//!             PromptMessage::assistant(Content::text("I have read the rules.")),
//!         ]
//!     }
//! }
//! .title("Review a change");
//!
//! let prompts = PromptRegistry::new().with(hello)?.with(review)?;
//! let client = testing::pair(&Server::builder("teacher", "1.0.0").prompts(prompts).build()?)?;
//!
//! for prompt in client.list_prompts()? {
//!     println!("/{}: {}", prompt.name, prompt.display_name());
//! }
//! assert_eq!(client.get_prompt("hello", ())?.messages[0].content.as_text(), Some("Hello!"));
//! let filled = client.get_prompt("review", json!({"branch": "next"}))?;
//! assert_eq!(filled.messages[0].content.as_text(), Some("Review next, and be kind."));
//! assert_eq!(filled.messages[2].content.kind(), "resource");
//!
//! let error = client.get_prompt("review", ()).unwrap_err();
//! assert!(error.to_string().contains("branch: missing"), "{error}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The parameters are those of [`tool!`](macro@crate::tool); what a user typed becomes a number, a boolean, a word of an enum, or whatever
//! the type is. Bad arguments are an error of the request and not, as with a tool, something for a model: no model has seen anything
//! yet. A prompt whose arguments are known only at run time is an [`FnPrompt::new`](crate::FnPrompt::new).
//!
//! # Completion
//!
//! While a user types an argument of a prompt, or a variable of a resource template, the host can ask what could be meant. A
//! parameter whose type is an enum of words completes itself; the others do as they are told:
//!
//! ```
//! use serde_json::json;
//! use tinymcp::protocol::{CompletionReference, ResourceTemplate};
//! use tinymcp::{FnTemplate, PromptRegistry, ResourceRegistry, Server, prompt, testing};
//!
//! let review = prompt! { fn review(branch: String, tone: Option<String>) -> String { format!("{branch} {tone:?}") } }
//!     .complete_from("tone", ["kind", "strict"])
//!     .complete("branch", |typed, known, _cx| {
//!         // What was filled in before may matter.
//!         let all = if known.get("tone") == Some("strict") { vec!["main"] } else { vec!["main", "next"] };
//!         all.into_iter().filter(|branch| branch.starts_with(typed)).collect::<Vec<_>>()
//!     });
//! let note = FnTemplate::new(ResourceTemplate::new("notes://{title}", "note"), |_, _| "…")
//!     .complete_from("title", ["milk", "money"]);
//!
//! let server = Server::builder("teacher", "1.0.0")
//!     .prompts(PromptRegistry::new().with(review)?)
//!     .resources(ResourceRegistry::new().with_template(note)?)
//!     .build()?;
//! let client = testing::pair(&server)?;
//!
//! let of_prompt = || CompletionReference::prompt("review");
//! assert_eq!(client.complete(of_prompt(), "tone", "st", ())?.completion.values, ["strict"]);
//! assert_eq!(client.complete(of_prompt(), "branch", "", json!({"tone": "strict"}))?.completion.values, ["main"]);
//!
//! let of_template = CompletionReference::resource("notes://{title}");
//! assert_eq!(client.complete(of_template, "title", "mi", ())?.completion.values, ["milk"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An answer has at most 100 proposals and says if there are more. A completer may be asked at every key that is pressed: it should
//! answer soon, and show nothing that the user is not allowed to see.
