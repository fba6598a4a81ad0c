//! Who answers what servers ask.

use std::sync::Arc;

use super::ClientBuilder;
use crate::client::asked::Asked;
use crate::client::handler::{ClientHandler, Roots};
use crate::error::Result;
use crate::jsonrpc::ErrorObject;
use crate::protocol::{
    CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitResult, ElicitUrlParams,
    ListRootsParams, Root,
};

impl ClientBuilder {
    /// Asks the user with a form, for a server that wants it: `answer` shows the form and says what the user did.
    /// Where it runs is told at [`ClientHandler`]. That the client can do this, and each of the following, is
    /// declared to servers if it is set, and not otherwise.
    ///
    /// ```
    /// use serde_json::json;
    /// use tinymcp::context::Context;
    /// use tinymcp::protocol::{ElicitParams, ElicitResult, PrimitiveSchema, RequestedSchema};
    /// use tinymcp::{Client, FnTool, Server, ToolError, ToolRegistry, testing};
    ///
    /// let greet = FnTool::new("greet", "", json!({"type": "object"}), |_, cx: &Context| {
    ///     let form = RequestedSchema::new().optional("name", PrimitiveSchema::text().with_default("Ada"));
    ///     let answer = cx.elicit("name", ElicitParams::form("Who are you?", form))?;
    ///     let content = answer.content_as::<serde_json::Value>()?.unwrap_or_default();
    ///     Ok::<_, ToolError>(format!("hello {}", content["name"].as_str().unwrap_or("whoever")))
    /// });
    /// let server = Server::builder("greeter", "1").tools(ToolRegistry::new().with(greet)?).build()?;
    ///
    /// let client = Client::builder().on_elicit(|form| {
    ///     println!("{} asks: {}", form.origin(), form.message);
    ///     Ok(ElicitResult::accept(form.defaults()))
    /// });
    /// let client = testing::pair_with(client, &server)?;
    /// assert_eq!(client.call_tool("greet", ())?.text_content(), "hello Ada");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on_elicit(
        mut self,
        answer: impl Fn(&Asked<ElicitFormParams>) -> Result<ElicitResult, ErrorObject> + Send + Sync + 'static,
    ) -> Self {
        self.handlers.form = Some(Arc::new(answer));
        self
    }

    /// Sends the user to a URL, for a server that wants it. `answer` shows the whole URL and its [host](Asked::host),
    /// and opens it if the user agrees; nothing here does. See [`ClientHandler::elicit_url`].
    ///
    /// ```
    /// use tinymcp::Client;
    /// use tinymcp::protocol::ElicitResult;
    ///
    /// let builder = Client::builder().on_elicit_url(|url| {
    ///     println!("{}\n{} wants you to visit {} at {}", url.message, url.origin(), url.host(), url.url);
    ///     Ok(ElicitResult::decline()) // or `accept_url`, once the user agreed and a browser is open
    /// });
    /// # let _ = builder;
    /// ```
    #[must_use]
    pub fn on_elicit_url(
        mut self,
        answer: impl Fn(&Asked<ElicitUrlParams>) -> Result<ElicitResult, ErrorObject> + Send + Sync + 'static,
    ) -> Self {
        self.handlers.url = Some(Arc::new(answer));
        self
    }

    /// Asks the language model, for a server that wants it. The user should see the question and the answer.
    ///
    /// ```
    /// use tinymcp::protocol::CreateMessageResult;
    /// use tinymcp::{Client, ErrorObject};
    ///
    /// let builder = Client::builder().on_sample(|request| {
    ///     if request.max_tokens > 4_000 {
    ///         return Err(ErrorObject::new(-1, "too long"));
    ///     }
    ///     Ok(CreateMessageResult::text("some-model", "what the model said"))
    /// });
    /// # let _ = builder;
    /// ```
    #[must_use]
    pub fn on_sample(
        mut self,
        answer: impl Fn(&Asked<CreateMessageParams>) -> Result<CreateMessageResult, ErrorObject>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.handlers.sample = Some(Arc::new(answer));
        self
    }

    /// The closure of [`on_sample`](Self::on_sample) can give tools to the model. From 2025-11-25 on.
    #[must_use]
    pub fn sampling_with_tools(mut self) -> Self {
        self.handlers.with_tools = true;
        self
    }

    /// The closure of [`on_sample`](Self::on_sample) can add context of servers. Without this, no question for it
    /// comes with that wish.
    #[must_use]
    pub fn sampling_with_context(mut self) -> Self {
        self.handlers.with_context = true;
        self
    }

    /// The folders on which servers may work; [`set_roots`](crate::ClientHandle::set_roots) changes them. One that does not
    /// begin with `file://`, or has `..` in its path, is an error when the client is opened.
    ///
    /// ```
    /// use tinymcp::Client;
    /// use tinymcp::protocol::Root;
    ///
    /// let builder = Client::builder().roots([Root::new("file:///home/ada/plans").with_name("Plans")]);
    /// # let _ = builder;
    /// ```
    #[must_use]
    pub fn roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        self.handlers.roots = Some(Roots::listed(roots.into_iter().collect()));
        self
    }

    /// Finds out the folders on which servers may work, whenever a server asks;
    /// [`roots_changed`](crate::ClientHandle::roots_changed) tells that there are others.
    #[must_use]
    pub fn on_roots(
        mut self,
        answer: impl Fn(&Asked<ListRootsParams>) -> Result<Vec<Root>, ErrorObject> + Send + Sync + 'static,
    ) -> Self {
        self.handlers.roots = Some(Roots::Asked(Arc::new(answer)));
        self
    }

    /// One object that answers servers, in place of closures. For what both can do, the closure is asked.
    #[must_use]
    pub fn handler(mut self, handler: impl ClientHandler + 'static) -> Self {
        self.handlers.other = Some(Arc::new(handler));
        self
    }
}
