//! What a client reads of a server besides its lists: resources, prompts and proposals for their arguments.

use std::collections::BTreeMap;

use serde::Serialize;

use super::ClientHandle;
use super::call::{CallOptions, settled};
use super::tool_call::arguments;
use super::typed::ask;
use crate::era::{Lower, lowered};
use crate::error::{Error, Result};
use crate::json::{FromJson, Json, Members, Object};
use crate::method::Method;
use crate::protocol::{
    CompleteParams, CompleteResult, CompletionReference, DiscoverResult, GetPromptParams, GetPromptResult,
    ReadResourceParams, ReadResourceResult,
};

impl ClientHandle {
    /// Reads the resource at an address.
    ///
    /// ```no_run
    /// # fn main() -> tinymcp::Result<()> {
    /// let client = tinymcp::Client::connect("python3", &["notes_server.py"])?;
    /// match client.read_resource("notes://plan") {
    ///     Ok(read) => println!("{}", read.text_content()),
    ///     Err(error) if error.is_resource_not_found() => println!("no such note"),
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - One that [`is_resource_not_found`](Error::is_resource_not_found) when there is none.
    /// - [`Error::Unsupported`] when the server does not declare that it has resources; nothing was sent.
    /// - As any call.
    pub fn read_resource(&self, uri: &str) -> Result<ReadResourceResult> {
        self.read_resource_with(uri, &CallOptions::default())
    }

    /// [`read_resource`](Self::read_resource) with a timeout, a cancel token, a progress callback or metadata of its own.
    ///
    /// # Errors
    /// As [`read_resource`](Self::read_resource).
    pub fn read_resource_with(&self, uri: &str, options: &CallOptions) -> Result<ReadResourceResult> {
        self.ask_for(Method::ResourcesRead, ReadResourceParams::new(uri), options)
    }

    /// Gets a prompt, filled in with `arguments`: anything that serializes to a JSON object of strings; `()` stands for
    /// none. A member that is `null` is left out.
    ///
    /// ```no_run
    /// # fn main() -> tinymcp::Result<()> {
    /// let client = tinymcp::Client::connect("python3", &["notes_server.py"])?;
    /// let prompt = client.get_prompt("review", serde_json::json!({"code": "fn main() {}"}))?;
    /// println!("{} messages", prompt.messages.len());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - [`Error::InvalidUse`] when an argument is no string.
    /// - [`Error::Unsupported`] when the server does not declare that it has prompts; nothing was sent.
    /// - As any call.
    pub fn get_prompt(&self, name: &str, arguments: impl Serialize) -> Result<GetPromptResult> {
        self.get_prompt_with(name, arguments, &CallOptions::default())
    }

    /// [`get_prompt`](Self::get_prompt) with a timeout, a cancel token, a progress callback or metadata of its own.
    ///
    /// # Errors
    /// As [`get_prompt`](Self::get_prompt).
    pub fn get_prompt_with(
        &self,
        name: &str,
        arguments: impl Serialize,
        options: &CallOptions,
    ) -> Result<GetPromptResult> {
        let mut params = GetPromptParams::new(name);
        params.arguments = texts(arguments)?;
        self.ask_for(Method::PromptsGet, params, options)
    }

    /// What could be filled in for `argument` of a prompt, or for a place in a resource template, of which `value` has been
    /// typed. `known` are the other arguments that have been filled in: anything that serializes to a JSON object of
    /// strings; `()` stands for none. Revisions before 2025-06-18 cannot take them: there they are left out.
    ///
    /// ```no_run
    /// # fn main() -> tinymcp::Result<()> {
    /// # use tinymcp::protocol::CompletionReference;
    /// let client = tinymcp::Client::connect("python3", &["notes_server.py"])?;
    /// let review = CompletionReference::prompt("review");
    /// let found = client.complete(review, "language", "ru", serde_json::json!({"style": "short"}))?;
    /// println!("{}", found.completion.values.join(", "));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - [`Error::InvalidUse`] when a known argument is no string.
    /// - [`Error::Unsupported`] when the server does not declare that it completes arguments; nothing was sent. In
    ///   revision 2024-11-05 no server could declare it, and all are asked.
    /// - As any call.
    pub fn complete(
        &self,
        reference: CompletionReference,
        argument: &str,
        value: &str,
        known: impl Serialize,
    ) -> Result<CompleteResult> {
        self.complete_with(reference, argument, value, known, &CallOptions::default())
    }

    /// [`complete`](Self::complete) with a timeout, a cancel token or metadata of its own.
    ///
    /// # Errors
    /// As [`complete`](Self::complete).
    pub fn complete_with(
        &self,
        reference: CompletionReference,
        argument: &str,
        value: &str,
        known: impl Serialize,
        options: &CallOptions,
    ) -> Result<CompleteResult> {
        let mut params = CompleteParams::new(reference, argument, value);
        for (name, value) in texts(known)?.unwrap_or_default() {
            params = params.with_known(name, value);
        }
        self.ask_for(Method::CompletionComplete, params, options)
    }

    /// Asks what the server speaks and offers by now. What was settled at the beginning,
    /// [`initialize`](Self::initialize) returns; this does not change it.
    ///
    /// # Errors
    /// - [`Error::Unsupported`] on a connection of a revision before 2026-07-28; nothing was sent.
    /// - As any call.
    pub fn discover(&self, options: &CallOptions) -> Result<DiscoverResult> {
        let settled = settled(&self.session, options)?;
        ask(&self.session, &settled, Method::Discover, &[], options)?.read(Method::Discover)
    }

    fn ask_for<P: Lower + Serialize, T: FromJson>(
        &self,
        method: Method,
        params: P,
        options: &CallOptions,
    ) -> Result<T> {
        let settled = settled(&self.session, options)?;
        let params = Json::new(&lowered(params, &settled.identity.version)).expect("wire types serialize");
        let params: Object = Members::of(params.as_raw()).map(Members::rest).unwrap_or_default();
        let params: Vec<_> = params.iter().map(|(name, value)| (name, value.clone())).collect();
        ask(&self.session, &settled, method, &params, options)?.read(method)
    }
}

/// The arguments of a prompt, which are strings.
fn texts(value: impl Serialize) -> Result<Option<BTreeMap<String, String>>> {
    let json = arguments(value)?;
    let members = Members::of(json.as_raw()).map_err(|e| Error::InvalidUse(format!("arguments: {e}")))?;
    let mut texts = BTreeMap::new();
    for (name, raw) in members.iter().filter(|(_, raw)| raw.get() != "null") {
        let text = String::from_json(raw)
            .map_err(|e| Error::InvalidUse(format!("arguments: {}", e.inside(name))))?;
        texts.insert(name.to_owned(), text);
    }
    Ok((!texts.is_empty()).then_some(texts))
}
