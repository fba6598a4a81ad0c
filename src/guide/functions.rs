//! Function calling: tools for language models' own interfaces, and functions that become servers.
//!
//! A language model is given a list of functions and answers with calls. [`Functions`](crate::functions::Functions) makes the one from a
//! [`ToolRegistry`](crate::ToolRegistry), which may be that of a [host](super::host), and answers the other:
//!
//! ```
//! use tinymcp::functions::{Format, Functions};
//! use tinymcp::json::Json;
//! use tinymcp::{Context, ToolRegistry, tool};
//!
//! # fn ask_the_model(request: &str) -> Json {
//! #     let calls = r#"[{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Oslo\"}"}}]"#;
//! #     let message = match request.contains("\"role\":\"tool\"") {
//! #         false => format!(r#"{{"role": "assistant", "content": null, "tool_calls": {calls}}}"#),
//! #         true => r#"{"role": "assistant", "content": "It rains in Oslo."}"#.to_owned(),
//! #     };
//! #     Json::parse(&message).unwrap()
//! # }
//! let tools = ToolRegistry::new().with(tool! {
//!     /// What the weather is like
//!     fn weather(city: String) -> String { format!("It rains in {city}.") }
//! })?;
//! let functions = Functions::of(&tools, Format::OpenAi);
//! let mut messages = vec![Json::parse(r#"{"role": "user", "content": "Do I need an umbrella in Oslo?"}"#)?];
//! loop {
//!     let list: Vec<&str> = messages.iter().map(Json::as_str).collect();
//!     let request = format!(r#"{{"model": "…", "messages": [{}], "tools": {}}}"#, list.join(","), functions.tools().as_str());
//!     let message = ask_the_model(&request); // `choices[0].message` of the answer
//!     messages.push(message.clone());
//!     let answers = functions.dispatch(&message, &tools, &Context::detached())?;
//!     if answers.is_empty() {
//!         assert!(message.as_str().contains("It rains in Oslo."));
//!         break;
//!     }
//!     messages.extend(answers);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With Anthropic's Messages it is the same loop: calls are blocks of the message's content, and all answers of a turn are one message.
//!
//! ```
//! use tinymcp::functions::{Format, Functions};
//! use tinymcp::json::Json;
//! use tinymcp::{Context, ToolRegistry, tool};
//!
//! let tools = ToolRegistry::new().with(tool! { fn add(a: i64, b: i64) -> i64 { a + b } })?;
//! let functions = Functions::of(&tools, Format::Anthropic);
//! let message = Json::parse(
//!     r#"{"role": "assistant", "content": [
//!         {"type": "text", "text": "I add them."},
//!         {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 20, "b": 22}}
//!     ]}"#,
//! )?;
//! let answers = functions.dispatch(&message, &tools, &Context::detached())?;
//! assert_eq!(answers.len(), 1);
//! assert_eq!(answers[0].to_value()["content"][0]["content"][0]["text"], "42");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What can go wrong
//!
//! A model may name a function that is not there, or write arguments that are no JSON, or are not what the schema wants; a tool may fail, or not
//! be allowed. All of it is an answer that the model can read and mend its call by. Each call has one answer: interfaces refuse a conversation in which one
//! is missing. A call without an id is given one, by its place; one that comes again under the same id is made once.
//!
//! Arguments and results pass as the text they are, so that large numbers are not rounded. Names are changed where a format does not take them, and found again
//! by a table. Pictures are passed where results may have them; elsewhere a text says what was there.
//!
//! # From function calling to MCP
//!
//! A program that has functions, as an array of definitions and a `match` on their names, becomes a server by
//! [`import`](crate::functions::import):
//!
//! ```
//! use tinymcp::functions::import;
//! use tinymcp::json::Json;
//! use tinymcp::{Server, ToolError, ToolRegistry};
//!
//! let definitions = Json::parse(
//!     r#"[{"type": "function", "function": {"name": "shout", "description": "Say it loudly",
//!          "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}}]"#,
//! )?;
//! let tools = ToolRegistry::new();
//! let run = |name: &str, arguments: tinymcp::Arguments<'_>| match name {
//!     "shout" => Ok(arguments.to_value()["text"].as_str().unwrap_or_default().to_uppercase()),
//!     _ => Err(ToolError::unknown_tool(name)),
//! };
//! for tool in import(&definitions, run)? {
//!     tools.register(tool)?;
//! }
//! Server::builder("shouter", "1.0.0").tools(tools).build()?; // .start()
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Then the loop of the agent goes through [`Client::discover_tools`](crate::ClientHandle::discover_tools) or a [host](super::host) in place of the
//! `match`, and any other program can use the same functions. `examples/agent.rs` is such a loop.
