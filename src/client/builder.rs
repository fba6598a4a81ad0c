//! [`ClientBuilder`] and what it sets.

use std::ffi::OsStr;
use std::sync::Arc;
use std::time::Duration;

use super::asked::Asked;
use super::changes::Filter;
use super::handler::{ClientHandler, Handlers, Roots};
use super::notices::Notices;
use super::session::Session;
use super::trace::TraceContext;
use super::{Client, ClientHandle};
use crate::era::RequestStamp;
use crate::error::Result;
use crate::json::Json;
use crate::jsonrpc::ErrorObject;
use crate::peer::Limits;
use crate::protocol::{
    ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitResult,
    ElicitUrlParams, Implementation, ListRootsParams, ProtocolVersion, Root,
};
use crate::transport::{ChildProcess, DEFAULT_MAX_FRAME_BYTES, OpenOptions, Patience, Tap, Transport};

/// How long a client waits. `None` is for ever.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Timeouts {
    /// For settling the protocol, from its start. Default: 30 s.
    pub connect: Option<Duration>,
    /// For the answer to the Modern probe, within `connect`; then the handshake is tried. Default: 5 s.
    pub probe: Duration,
    /// For the answer to a call; with `reset_on_progress`, for the answer or the next progress. Default: 60 s.
    pub call: Option<Duration>,
    /// For a call in all, however much progress it reports. Default: 1 h.
    pub call_total: Option<Duration>,
    /// Whether progress starts `call` anew. Each call then asks for progress. Default: no.
    pub reset_on_progress: bool,
    /// Before a stream of change notices that broke off is opened again; twice as long before each further try, up to
    /// 30 s, and a random part of it shorter. Default: 1 s.
    pub reopen: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Some(Duration::from_secs(30)),
            probe: Duration::from_secs(5),
            call: Some(Duration::from_secs(60)),
            call_total: Some(Duration::from_secs(3600)),
            reset_on_progress: false,
            reopen: Duration::from_secs(1),
        }
    }
}

impl Timeouts {
    /// No limit anywhere but for the probe.
    #[must_use]
    pub fn none() -> Self {
        Self { connect: None, call: None, call_total: None, ..Self::default() }
    }

    /// Sets the time for settling the protocol.
    #[must_use]
    pub fn with_connect(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.connect = time.into();
        self
    }

    /// Sets the time for the Modern probe.
    #[must_use]
    pub fn with_probe(mut self, time: Duration) -> Self {
        self.probe = time;
        self
    }

    /// Sets the time for a call.
    #[must_use]
    pub fn with_call(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.call = time.into();
        self
    }

    /// Sets the time for a call in all.
    #[must_use]
    pub fn with_call_total(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.call_total = time.into();
        self
    }

    /// Sets the time before a stream of change notices is opened again.
    #[must_use]
    pub fn with_reopen(mut self, time: Duration) -> Self {
        self.reopen = time;
        self
    }

    /// Lets progress start the time of a call anew.
    #[must_use]
    pub fn with_reset_on_progress(mut self) -> Self {
        self.reset_on_progress = true;
        self
    }
}

/// A [`Client`] to be.
///
/// ```no_run
/// use std::time::Duration;
/// use tinymcp::client::Timeouts;
/// use tinymcp::{Client, ProtocolVersion, transport::ChildProcess};
///
/// let client = Client::builder()
///     .name("my-agent", "1.2.0")
///     .timeouts(Timeouts::default().with_call(Duration::from_secs(10)))
///     .versions([ProtocolVersion::V2025_11_25])
///     .open(ChildProcess::new("npx").args(["-y", "some-server"]).env("API_KEY", "…"))?;
/// # Ok::<(), tinymcp::Error>(())
/// ```
#[derive(Clone)]
pub struct ClientBuilder {
    pub(super) info: Implementation,
    /// Follows from the handlers when the client is opened.
    pub(super) capabilities: ClientCapabilities,
    pub(super) handlers: Handlers,
    pub(super) max_input_rounds: u32,
    pub(super) versions: Vec<ProtocolVersion>,
    pub(super) timeouts: Timeouts,
    pub(super) limits: Limits,
    pub(super) tap: Option<Arc<dyn Tap>>,
    pub(super) notices: Notices,
    pub(super) patience: Patience,
    /// Whether servers are told that this client knows tasks.
    pub(super) tasks: bool,
    pub(super) trace: Option<Arc<CurrentTrace>>,
    pub(super) is_caching: bool,
    #[cfg(feature = "validation")]
    pub(super) trusts_results: bool,
}

type CurrentTrace = dyn Fn(&str) -> Option<TraceContext> + Send + Sync;

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            info: Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
            capabilities: ClientCapabilities::default(),
            handlers: Handlers::default(),
            max_input_rounds: 10,
            versions: ProtocolVersion::ALL.to_vec(),
            timeouts: Timeouts::default(),
            limits: Limits {
                in_flight: 1024,
                threads: 16,
                pending: 4096,
                unsent_bytes: 64 * 1024 * 1024,
                frame_bytes: DEFAULT_MAX_FRAME_BYTES,
            },
            tap: None,
            notices: Notices::default(),
            #[cfg(feature = "validation")]
            trusts_results: false,
            patience: Patience::default(),
            tasks: false,
            trace: None,
            is_caching: true,
        }
    }
}

impl std::fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientBuilder").field("info", &self.info).finish_non_exhaustive()
    }
}

impl ClientBuilder {
    /// What this client calls itself. Default: this crate.
    #[must_use]
    pub fn name(self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.info(Implementation::new(name, version))
    }

    /// What this client calls itself, with title, icons and so on.
    #[must_use]
    pub fn info(mut self, info: Implementation) -> Self {
        self.info = info;
        self
    }

    /// The revisions that are offered. Default: all.
    #[must_use]
    pub fn versions(mut self, versions: impl IntoIterator<Item = ProtocolVersion>) -> Self {
        self.versions = versions.into_iter().collect();
        self
    }

    /// How long to wait.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// How long closing waits at each step.
    #[must_use]
    pub fn patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// The longest frame that is read, in bytes. A longer one is skipped, and its call fails. Default: 16 MiB.
    #[must_use]
    pub fn max_frame_bytes(mut self, bytes: usize) -> Self {
        self.limits.frame_bytes = bytes;
        self
    }

    /// How many calls may be open; further ones are [`Error::Busy`](crate::Error::Busy). Default: 4,096.
    #[must_use]
    pub fn max_open_calls(mut self, calls: usize) -> Self {
        self.limits.pending = calls;
        self
    }

    /// How many bytes may wait for a server that does not read; further calls are
    /// [`Error::Busy`](crate::Error::Busy). Default: 64 MiB.
    #[must_use]
    pub fn max_unsent_bytes(mut self, bytes: usize) -> Self {
        self.limits.unsent_bytes = bytes;
        self
    }

    /// Shows every frame to `tap`.
    #[must_use]
    pub fn tap(mut self, tap: impl Tap + 'static) -> Self {
        self.tap = Some(Arc::new(tap));
        self
    }

    /// Calls `callback` after the server said that its tools changed.
    ///
    /// Callbacks run on a thread of their own, one at a time, and may use the handle as they like: list the tools, listen to
    /// more changes, close the client. A burst of notices is one call, 10 ms later, and changes during the callback are one more.
    /// So is a reconnect, as nobody knows what changed meanwhile. What an iterator of changes takes, they are told as well:
    /// see [`ClientHandle::listen`].
    ///
    /// A Modern server tells of changes that it was asked for: that is done once the protocol is settled, without waiting for the
    /// answer. If it does not succeed there is a warning in the log.
    ///
    /// ```
    /// use tinymcp::{Client, Server, ToolRegistry, testing, tool};
    ///
    /// let (tx, rx) = std::sync::mpsc::channel();
    /// let builder = Client::builder().on_tools_changed(move |client| {
    ///     let _ = tx.send(client.list_tools().map(|list| list.items.len()));
    /// });
    /// let server = Server::builder("growing", "1.0.0").tools(ToolRegistry::new()).build()?;
    /// let client = testing::pair_with(builder, &server)?;
    /// assert!(client.list_tools()?.items.is_empty());
    /// server.tools().register(tool! { fn echo(text: String) -> String { text } })?;
    /// assert_eq!(rx.recv()??, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on_tools_changed(mut self, callback: impl Fn(&ClientHandle) + Send + Sync + 'static) -> Self {
        self.notices.on_tools_changed = Some(Arc::new(callback));
        self
    }

    /// Calls `callback` after the server said that its prompts changed; otherwise as [`on_tools_changed`](Self::on_tools_changed).
    #[must_use]
    pub fn on_prompts_changed(mut self, callback: impl Fn(&ClientHandle) + Send + Sync + 'static) -> Self {
        self.notices.on_prompts_changed = Some(Arc::new(callback));
        self
    }

    /// As [`on_tools_changed`](Self::on_tools_changed), for the lists of resources and of resource templates.
    #[must_use]
    pub fn on_resources_changed(mut self, callback: impl Fn(&ClientHandle) + Send + Sync + 'static) -> Self {
        self.notices.on_resources_changed = Some(Arc::new(callback));
        self
    }

    /// As [`on_tools_changed`](Self::on_tools_changed), for what these resources hold. `callback` is given the URI that changed, as it is
    /// written here. Resources that are not known yet are better [listened to](ClientHandle::listen) later.
    #[must_use]
    pub fn on_resource_updated<S: AsRef<str>>(
        mut self,
        uris: impl IntoIterator<Item = S>,
        callback: impl Fn(&ClientHandle, &str) + Send + Sync + 'static,
    ) -> Self {
        let uris = Filter::new().resource_uris(uris);
        self.notices.on_resource_updated = Some((uris, Arc::new(callback)));
        self
    }

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

    /// Calls `callback` with the id of a URL the user was sent to, when the server says that it is done with. Servers
    /// of 2025-11-25 may say so. It runs on the thread of the other notifications.
    #[must_use]
    pub fn on_elicitation_complete(mut self, callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.notices.on_elicitation_complete = Some(Arc::new(callback));
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

    /// The folders on which servers may work; [`set_roots`](ClientHandle::set_roots) changes them. One that does not
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
    /// [`roots_changed`](ClientHandle::roots_changed) tells that there are others.
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

    /// How often a call is made again because the server asked something. Default: 10.
    #[must_use]
    pub fn max_input_rounds(mut self, rounds: u32) -> Self {
        self.max_input_rounds = rounds;
        self
    }

    /// Tells Modern servers that a call may become a task: the server works on it while no request is open, and the client
    /// looks from time to time. [`call_tool`](ClientHandle::call_tool) waits for the result all the same;
    /// [`call_tool_task`](ClientHandle::call_tool_task) lets a program do other things meanwhile, or end and come back.
    ///
    /// Tasks of 2025-11-25 need no such declaration: see [`CallOptions::with_task`](super::CallOptions::with_task).
    #[must_use]
    pub fn tasks(mut self) -> Self {
        self.tasks = true;
        self
    }

    /// Calls `callback` with every notification that no other callback and no [`Changes`](super::Changes) takes, in order, on
    /// the same thread. If it cannot keep up, up to 256 wait and further ones are dropped, which is reported in the log.
    #[must_use]
    pub fn on_notification(mut self, callback: impl Fn(&str, Option<&Json>) + Send + Sync + 'static) -> Self {
        self.notices.on_other = Some(Arc::new(callback));
        self
    }

    /// Takes structured results as they come, and does not compare them with the output schemas of their tools (feature
    /// `validation`).
    #[cfg(feature = "validation")]
    #[must_use]
    pub fn trust_results(mut self) -> Self {
        self.trusts_results = true;
        self
    }

    /// Starts `program` with `args` as a server.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn connect(self, program: impl AsRef<OsStr>, args: &[&str]) -> Result<Client> {
        self.open(ChildProcess::new(program).args(args))
    }

    /// Opens `transport`.
    ///
    /// # Errors
    /// When no revision is offered, or the transport cannot be opened: the error names the command or address.
    pub fn open(self, transport: impl Transport) -> Result<Client> {
        let session = Session::open(self, Box::new(transport))?;
        Ok(Client { handle: ClientHandle { session } })
    }

    pub(super) fn stamp(&self, version: &ProtocolVersion) -> RequestStamp {
        RequestStamp::new(version, Some(&self.info), &self.capabilities)
    }

    pub(super) fn open_options(&self) -> OpenOptions {
        OpenOptions { max_frame_bytes: self.limits.frame_bytes }
    }
}
