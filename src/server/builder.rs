//! [`ServerBuilder`] and what it sets.

use std::fmt;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::Serialize;

use super::changes::Changes;
use super::completions::Completions;
use super::connection::Connection;
use super::feature::Feature;
use super::heard::{Callbacks, Hear, dispatcher};
use super::logging::Logging;
use super::pace::Paces;
use super::prompts::Prompts;
use super::resources::Resources;
use super::tasks::{TaskFeature, TaskOptions};
use super::watch::Watch;
use super::{Inner, Server};
use crate::context::{Context, Entered, StateStore, States};
use crate::era::{Offered, Stamp};
use crate::error::Result;
use crate::json::{Json, Object};
use crate::method::Method;
use crate::peer::Limits;
use crate::prompt::PromptRegistry;
use crate::protocol::{CacheScope, Implementation, ProtocolVersion};
use crate::resource::ResourceRegistry;
use crate::sync::{CancelToken, Mutex};
use crate::tool::ToolRegistry;
use crate::transport::{DEFAULT_MAX_FRAME_BYTES, Tap};

/// A [`Server`] to be.
///
/// ```
/// use std::time::Duration;
/// use tinymcp::{ProtocolVersion, Server, ToolRegistry, tool};
///
/// let tools = ToolRegistry::new().with(tool! { fn now() -> String { "noon".into() } })?;
/// let server = Server::builder("clock", "1.0.0")
///     .instructions("Ask for the time before making an appointment.")
///     .tools(tools)
///     .versions([ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28])
///     .grace(Duration::from_secs(1))
///     .on_end(|| log::debug!("the clock stops"))
///     .build()?;
/// assert_eq!(server.tools().names(), ["now"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ServerBuilder {
    info: Implementation,
    instructions: Option<String>,
    extensions: Object,
    experimental: Object,
    tools: ToolRegistry,
    enter: Option<fn(&Context) -> Entered>,
    features: Vec<Box<dyn Feature>>,
    versions: Vec<ProtocolVersion>,
    limits: Limits,
    grace: Duration,
    input_time: Duration,
    states: States,
    page_size: usize,
    cache: (Duration, CacheScope),
    refuses_unoffered_lists: bool,
    tap: Option<Arc<dyn Tap>>,
    callbacks: Callbacks,
    /// Makes what serves the callbacks, once there are any.
    hear: Option<fn(Callbacks) -> Box<dyn Hear>>,
    cleanup: Option<Box<dyn FnOnce() + Send>>,
}

/// What a server was built with.
pub(super) struct Config {
    pub(super) info: Implementation,
    pub(super) instructions: Option<String>,
    pub(super) extensions: Object,
    pub(super) experimental: Object,
    pub(super) tools: ToolRegistry,
    /// Has a thread work for a call, if log messages are sent. A pointer, so that no other server contains what it does.
    pub(super) enter: Option<fn(&Context) -> Entered>,
    /// Everything beside tools.
    pub(super) features: Vec<Box<dyn Feature>>,
    pub(super) offered: Offered,
    pub(super) limits: Limits,
    pub(super) grace: Duration,
    /// How long a client may take to answer a question.
    pub(super) input_time: Duration,
    pub(super) states: States,
    pub(super) page_size: usize,
    pub(super) refuses_unoffered_lists: bool,
    pub(super) tap: Option<Arc<dyn Tap>>,
    /// Who hears the notifications of clients.
    pub(super) hear: Option<Box<dyn Hear>>,
    /// What every Modern result says.
    pub(super) stamp: Stamp,
    /// The connection behind `handle_request`.
    pub(super) implicit: OnceLock<Connection>,
}

impl ServerBuilder {
    pub(super) fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            info: Implementation::new(name, version),
            instructions: None,
            extensions: Object::new(),
            experimental: Object::new(),
            tools: ToolRegistry::new(),
            enter: None,
            features: Vec::new(),
            versions: ProtocolVersion::ALL.to_vec(),
            limits: Limits {
                in_flight: 1024,
                threads: 64,
                pending: 4096,
                unsent_bytes: 16 * 1024 * 1024,
                frame_bytes: DEFAULT_MAX_FRAME_BYTES,
            },
            grace: Duration::from_secs(5),
            input_time: Duration::from_secs(600),
            states: States::default(),
            page_size: 250,
            cache: (Duration::ZERO, CacheScope::Private),
            refuses_unoffered_lists: false,
            tap: None,
            callbacks: Callbacks::default(),
            hear: None,
            cleanup: None,
        }
    }

    /// What the server calls itself, with title, icons and so on.
    #[must_use]
    pub fn info(mut self, info: Implementation) -> Self {
        self.info = info;
        self
    }

    /// How a model should use the server.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Declares an extension with its settings, an object; `()` for none. Modern clients see it.
    #[must_use]
    pub fn extension<T: Serialize>(mut self, identifier: impl Into<String>, settings: T) -> Self {
        self.extensions.insert(identifier, &settings_of(&settings));
        self
    }

    /// Declares a non-standard feature with its settings, an object; `()` for none.
    #[must_use]
    pub fn experimental<T: Serialize>(mut self, name: impl Into<String>, settings: T) -> Self {
        self.experimental.insert(name, &settings_of(&settings));
        self
    }

    /// The tools to serve: the registry itself, not a copy, so that later changes reach the clients.
    #[must_use]
    pub fn tools(mut self, tools: ToolRegistry) -> Self {
        self.tools = tools;
        self
    }

    /// Lets tools run as tasks: calls that are answered at once, with something by which the client finds the result later.
    /// Which tools do so is up to [`Tool::task_mode`](crate::Tool::task_mode).
    ///
    /// A Modern client that declares the extension `io.modelcontextprotocol/tasks` gets a task for every call of a tool that is
    /// [`Optional`](crate::tool::TaskMode::Optional) or [`Required`](crate::tool::TaskMode::Required); whoever knows its id, which
    /// cannot be guessed, may see it. The handlers of the [other modes](crate::tool::TaskMode) choose the calls by
    /// [`Context::begin_task`](crate::Context::begin_task). A 2025-11-25 client gets one when it asks for it, sees only its own, and loses
    /// them with its connection. Other clients call optional tools as ever.
    ///
    /// ```
    /// use serde_json::json;
    /// use tinymcp::server::TaskOptions;
    /// use tinymcp::tool::TaskMode;
    /// use tinymcp::{Context, Message, Server, ToolError, ToolRegistry, tool};
    ///
    /// let index = tool! {
    ///     /// Index all documents
    ///     fn index(cx: &Context) -> Result<String, ToolError> {
    ///         if cx.is_cancelled() { return Err(ToolError::new("cancelled")); } // between two documents
    ///         Ok("done".to_owned())
    ///     }
    /// };
    /// let tools = ToolRegistry::new().with(index.task_mode(TaskMode::Required))?;
    /// let server = Server::builder("documents", "1.0.0").tools(tools).tasks(TaskOptions::default()).build()?;
    ///
    /// let meta = json!({
    ///     "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    ///     "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
    /// });
    /// let call = Message::request(1, "tools/call", Some(json!({"name": "index", "_meta": meta}).into()));
    /// let Some(Message::Response(made)) = server.handle_request(call) else { unreachable!() };
    /// assert_eq!(made.result?.to_value()["status"], "working");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn tasks(self, options: TaskOptions) -> Self {
        self.with_feature(Box::new(TaskFeature::new(options)))
    }

    /// The prompts to serve: the registry itself, not a copy, so that later changes reach the clients.
    ///
    /// ```
    /// use tinymcp::{PromptRegistry, Server, prompt};
    ///
    /// let prompts = PromptRegistry::new().with(prompt! {
    ///     /// Explain something
    ///     fn explain(topic: String) -> String { format!("Explain {topic}.") }
    /// })?;
    /// let server = Server::builder("teacher", "1.0.0").prompts(prompts).build()?;
    /// # let _ = server;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn prompts(self, prompts: PromptRegistry) -> Self {
        self.with_feature(Box::new(Prompts(prompts))).with_completions(false)
    }

    /// Declares that arguments can be completed, also while nothing that is served has a completer. Otherwise that is
    /// declared as soon as something has.
    #[must_use]
    pub fn completions(self) -> Self {
        self.with_completions(true)
    }

    /// Lets handlers send log messages to clients, by [`Context::log`] and by a [`Bridge`](crate::logging::Bridge), and lets
    /// clients say which ones they want.
    ///
    /// The protocol deprecates this since 2026-07-28 in favour of stderr, but clients show it.
    ///
    /// ```
    /// use tinymcp::{Context, Server, ToolRegistry, tool};
    ///
    /// let tools = ToolRegistry::new().with(tool! {
    ///     fn copy(cx: &Context) -> String {
    ///         cx.info("copied 3 files");
    ///         "done".into()
    ///     }
    /// })?;
    /// let server = Server::builder("files", "1.0.0").tools(tools).logging().build()?;
    /// # let _ = server;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn logging(mut self) -> Self {
        self.enter = Some(Context::enter);
        self.with_feature(Box::new(Logging))
    }

    /// The resources to serve: the registry itself, not a copy, so that later changes reach the clients.
    ///
    /// ```
    /// use tinymcp::protocol::Resource;
    /// use tinymcp::{FnResource, ResourceRegistry, Server};
    ///
    /// let rules = FnResource::text(Resource::new("house://rules", "rules"), "Be kind.");
    /// let server = Server::builder("house", "1.0.0").resources(ResourceRegistry::new().with(rules)?).build()?;
    /// # let _ = server;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn resources(self, resources: ResourceRegistry) -> Self {
        self.with_feature(Box::new(Resources(resources)))
            .with_feature(Box::new(Watch))
            .with_completions(false)
    }

    /// The revisions that are served. Default: all.
    #[must_use]
    pub fn versions(mut self, versions: impl IntoIterator<Item = ProtocolVersion>) -> Self {
        self.versions = versions.into_iter().collect();
        self
    }

    /// How long accepted requests may take to finish after the end of the input. Default: 5 s.
    #[must_use]
    pub fn grace(mut self, time: Duration) -> Self {
        self.grace = time;
        self
    }

    /// How long a client may take to answer what a handler asks, from a person for example. After that a Legacy call fails,
    /// and the state of a Modern one is refused. Default: 10 min.
    #[must_use]
    pub fn input_time(mut self, time: Duration) -> Self {
        self.input_time = time;
        self
    }

    /// Where Modern calls that wait for input keep what they know. Default: [`MemoryStates`](crate::context::MemoryStates), made when
    /// it is needed.
    #[must_use]
    pub fn state_store(mut self, store: impl StateStore + 'static) -> Self {
        let store: Arc<dyn StateStore> = Arc::new(store);
        self.states = Arc::new(OnceLock::from(store));
        self
    }

    /// How many threads run tools for one connection; at least one. More calls wait. Not counted is a call that has waited
    /// for an answer of its Legacy client for 250 ms: the client may call others before it answers. Default: 64.
    #[must_use]
    pub fn max_threads(mut self, threads: usize) -> Self {
        self.limits.threads = threads;
        self
    }

    /// How many requests of a connection may be open; further ones are answered with an error. Default: 1,024.
    #[must_use]
    pub fn max_open_requests(mut self, requests: usize) -> Self {
        self.limits.in_flight = requests;
        self
    }

    /// The longest frame that is read, in bytes; a longer one is answered with an error. Default: 16 MiB.
    #[must_use]
    pub fn max_frame_bytes(mut self, bytes: usize) -> Self {
        self.limits.frame_bytes = bytes;
        self
    }

    /// How many bytes may wait for a client that does not read; then reading stops too. Default: 16 MiB.
    #[must_use]
    pub fn max_unsent_bytes(mut self, bytes: usize) -> Self {
        self.limits.unsent_bytes = bytes;
        self
    }

    /// How many things a page of a list has; at least one. Default: 250.
    #[must_use]
    pub fn page_size(mut self, items: usize) -> Self {
        self.page_size = items;
        self
    }

    /// How long Modern clients may keep lists, and for whom. Default: not at all, for the one client. A resource has its
    /// own [`cache`](crate::FnResource::cache).
    #[must_use]
    pub fn cache(mut self, time: Duration, scope: CacheScope) -> Self {
        self.cache = (time, scope);
        self
    }

    /// Adds a feature.
    #[cfg(test)]
    pub(super) fn feature(mut self, feature: impl Feature + 'static) -> Self {
        self.features.push(Box::new(feature));
        self
    }

    /// Refuses the lists of features that the server does not have. By default they are empty for Legacy clients, many of
    /// which ask for every list whatever the server declares, and treat the error as a failure. Modern clients always
    /// get the error.
    #[must_use]
    pub fn refuse_unoffered_lists(mut self) -> Self {
        self.refuses_unoffered_lists = true;
        self
    }

    /// Shows every frame of every connection to `tap`.
    #[must_use]
    pub fn tap(mut self, tap: impl Tap + 'static) -> Self {
        self.tap = Some(Arc::new(tap));
        self
    }

    /// Runs `callback` when the root folders of a Legacy client have changed, on a thread of its own: what was learned of them
    /// is out of date. Changes that come while it runs lead to one more run. It should hold a
    /// [`ServerHandle`](super::ServerHandle), not the server, which would then never end.
    #[must_use]
    pub fn on_roots_changed(mut self, callback: impl Fn() + Send + Sync + 'static) -> Self {
        self.callbacks.on_roots_changed = Some(Box::new(callback));
        self.hear = Some(dispatcher);
        self
    }

    /// Runs `callback` with the method and the parameters of every notification of a client that the server itself has no use
    /// for, on a thread of its own, in order. At most 256 wait for it; further ones are dropped with a warning.
    ///
    /// ```
    /// use tinymcp::json::Json;
    /// use tinymcp::{Message, Server};
    ///
    /// let (tx, rx) = std::sync::mpsc::channel();
    /// let server = Server::builder("s", "1")
    ///     .on_notification(move |method, _params: Option<&Json>| tx.send(method.to_owned()).expect("heard"))
    ///     .build()?;
    /// assert!(server.handle_request(Message::notification("com.example/hello", None)).is_none());
    /// assert_eq!(rx.recv()?, "com.example/hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on_notification(mut self, callback: impl Fn(&str, Option<&Json>) + Send + Sync + 'static) -> Self {
        self.callbacks.on_other = Some(Box::new(callback));
        self.hear = Some(dispatcher);
        self
    }

    /// Runs `hook` once when the serving ends, in whatever way, on the thread that serves: with several connections, as
    /// soon as none is left. A panic in it goes to the log.
    #[must_use]
    pub fn on_end(mut self, hook: impl FnOnce() + Send + 'static) -> Self {
        self.cleanup = Some(Box::new(hook));
        self
    }

    /// Adds `feature` in place of one that answers the same methods.
    fn with_feature(mut self, feature: Box<dyn Feature>) -> Self {
        self.features.retain(|old| old.methods() != feature.methods());
        self.features.push(feature);
        self
    }

    /// Lets the features complete arguments.
    fn with_completions(self, is_declared: bool) -> Self {
        let mut features = self.features.iter();
        if !is_declared && features.any(|feature| feature.methods().contains(&Method::CompletionComplete)) {
            return self;
        }
        self.with_feature(Box::new(Completions { is_declared }))
    }

    /// The server.
    ///
    /// # Errors
    /// When no known revision is to be served.
    pub fn build(self) -> Result<Server> {
        let offered = Offered::new(&self.versions)?;
        let (ttl, scope) = self.cache;
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        let config = Config {
            stamp: Stamp::new(Some(&self.info)).with_cache_hints(ttl_ms, scope),
            info: self.info,
            instructions: self.instructions,
            extensions: self.extensions,
            experimental: self.experimental,
            tools: self.tools,
            enter: self.enter,
            features: self.features,
            offered,
            limits: self.limits,
            grace: self.grace,
            input_time: self.input_time,
            states: self.states,
            page_size: self.page_size,
            refuses_unoffered_lists: self.refuses_unoffered_lists,
            tap: self.tap,
            hear: self.hear.map(|make| make(self.callbacks)),
            implicit: OnceLock::new(),
        };
        let changes = Arc::<Changes>::default();
        let mut listeners = vec![config.tools.on_change(changes.teller(Method::ToolsListChanged))];
        listeners.extend(config.features.iter().filter_map(|feature| feature.tell_changes(&changes)));
        Ok(Server(Arc::new(Inner {
            _listeners: listeners,
            config,
            paces: Paces::default(),
            changes,
            stop: CancelToken::new(),
            servings: AtomicUsize::new(0),
            cleanup: Mutex::new(self.cleanup),
        })))
    }
}

impl Config {
    /// Whether log messages are sent.
    pub(super) fn logs(&self) -> bool {
        self.enter.is_some()
    }
}

/// Settings of an extension, an object: `()` stands for none.
fn settings_of<T: Serialize>(settings: &T) -> Json {
    match Json::new(settings) {
        Ok(json) if json.as_str() != "null" => json,
        Ok(_) => Json::empty_object(),
        Err(e) => {
            log::warn!("settings that cannot be JSON are left out: {e}");
            Json::empty_object()
        }
    }
}

impl fmt::Debug for ServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerBuilder").field("info", &self.info).finish_non_exhaustive()
    }
}
