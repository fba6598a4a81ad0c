//! [`Recorder`]: a caller that records what is done through it.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use super::event::BeginEvent;
use super::inputs::InputLog;
use super::recording::{Open, Recording};
use super::redaction::Redaction;
use super::sink::Sink;
use crate::client::{Address, CallOptions, Caller, Events, Filter, List, Placed};
use crate::error::Result;
use crate::json::Json;
use crate::protocol::{
    CallToolResult, GetPromptResult, Prompt, ReadResourceResult, Resource, ToolDefinition,
};
use crate::sync::{Mutex, lock};
use crate::tool::Arguments;

/// A [`Caller`] before another one, such as a client or a host, that records what is done through it.
///
/// [`begin`](Self::begin) opens a trajectory: what is done through the [`Recording`] it returns belongs to that. Any number may be
/// open at a time, in any threads, and one [`Sink`] holds them all. What is done through the recorder itself belongs to a
/// trajectory of its own, without a task, that ends with the last clone of the recorder.
///
/// Recording never fails a call and changes nothing of it. A call takes a few microseconds more: its event is put together and
/// written by the thread that made it, after the result has come and before it is returned.
///
/// ```
/// use std::sync::Arc;
/// use tinymcp::client::{CallOptions, Caller};
/// use tinymcp::trajectory::{Recorder, Sink, Trajectories};
/// use tinymcp::{Arguments, Server, ToolRegistry, testing, tool};
///
/// let tools = ToolRegistry::new().with(tool! { fn add(a: i64, b: i64) -> i64 { a + b } })?;
/// let client = testing::pair(&Server::builder("calculator", "1.0.0").tools(tools).build()?)?;
///
/// let sink = Sink::memory(); // or Sink::open("episodes.jsonl")?
/// let recorder = Recorder::new(Arc::new(client.handle()), &sink);
///
/// let recording = recorder.begin("What is 1 + 2?");
/// let arguments = Arguments::from_text(r#"{"a": 1, "b": 2}"#).map_err(|e| e.to_string())?;
/// let result = recording.call("add", arguments, &CallOptions::default())?;
/// recording.set_answer(format!("It is {}.", result.text_content()));
/// recording.set_success(true);
/// recording.end();
///
/// let read = Trajectories::new(&sink.contents()[..]).next().expect("one")?;
/// assert_eq!(read.final_answer(), Some("It is 3."));
/// assert_eq!(read.tool_calls().next().expect("one").tool, "add");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Recorder {
    core: Core,
    own: Arc<OnceLock<Recording>>,
}

/// What every trajectory of a recorder needs.
#[derive(Clone)]
pub(super) struct Core {
    pub(super) caller: Arc<dyn Caller>,
    pub(super) sink: Sink,
    pub(super) settings: Arc<Settings>,
    pub(super) shared: Arc<Shared>,
}

/// What is set before.
#[derive(Clone, Default)]
pub(super) struct Settings {
    pub(super) server: Option<Arc<str>>,
    pub(super) redaction: Redaction,
    pub(super) inputs: Option<InputLog>,
    pub(super) notices: Option<Filter>,
}

pub(super) struct Shared {
    /// Before the number of each trajectory: no two recorders have the same.
    prefix: String,
    count: AtomicU64,
    /// The key of the tools that were listed last. Locked for a look or an exchange.
    offered: Mutex<Option<Arc<str>>>,
    /// What is done through the recorder itself; its clones own it.
    own: Weak<OnceLock<Recording>>,
}

impl Shared {
    pub(super) fn offer(&self, key: &Arc<str>) {
        *lock(&self.offered) = Some(Arc::clone(key));
    }

    pub(super) fn offered(&self) -> Option<Arc<str>> {
        lock(&self.offered).clone()
    }
}

impl Recorder {
    /// Records in `sink` what is done through `caller`.
    #[must_use]
    pub fn new(caller: Arc<dyn Caller>, sink: &Sink) -> Self {
        Self::of(caller, sink.clone(), Arc::default())
    }

    fn of(caller: Arc<dyn Caller>, sink: Sink, settings: Arc<Settings>) -> Self {
        let own = Arc::default();
        let (count, offered) = (AtomicU64::new(0), Mutex::new(None));
        let shared = Shared { prefix: unique(), count, offered, own: Arc::downgrade(&own) };
        Self { core: Core { caller, sink, settings, shared: Arc::new(shared) }, own }
    }

    /// One that records what is done through another caller, in the same place and in the same way.
    #[must_use]
    pub fn before(&self, caller: Arc<dyn Caller>) -> Self {
        Self::of(caller, self.core.sink.clone(), Arc::clone(&self.core.settings))
    }

    /// Calls the server by this name in the recording. Without it, the name is what the caller notes in the
    /// [`CallNotes`](crate::client::CallNotes): that of a host for its server, or what the server calls itself.
    #[must_use]
    pub fn with_server(mut self, name: impl Into<Arc<str>>) -> Self {
        Arc::make_mut(&mut self.core.settings).server = Some(name.into());
        self
    }

    /// Keeps out of the recording what `redaction` does.
    #[must_use]
    pub fn with_redaction(mut self, redaction: Redaction) -> Self {
        Arc::make_mut(&mut self.core.settings).redaction = redaction;
        self
    }

    /// Records what servers ask meanwhile, and what they are answered by the handler of `inputs`.
    #[must_use]
    pub fn with_inputs(mut self, inputs: &InputLog) -> Self {
        Arc::make_mut(&mut self.core.settings).inputs = Some(inputs.clone());
        self
    }

    /// Records of what `filter` asks for that it changes, whether or not the program listens to it through
    /// [`events`](Caller::events), which is recorded in any case.
    ///
    /// Each trajectory listens from its beginning to its end, and a change is recorded with the request after or during which it
    /// came. What cannot be listened to is a warning in the log, and no error.
    #[must_use]
    pub fn with_notices(mut self, filter: Filter) -> Self {
        Arc::make_mut(&mut self.core.settings).notices = Some(filter);
        self
    }

    /// Opens a trajectory for `task`: what the agent is to do, in the user's words.
    ///
    /// If too many are open, see [`Sink::with_max_open`], what it does is not recorded.
    pub fn begin(&self, task: impl Into<String>) -> Recording {
        self.begin_with(BeginEvent::new(task))
    }

    /// Opens a trajectory of which more is known than its task.
    pub fn begin_with(&self, begin: BeginEvent) -> Recording {
        self.core.begin_next(begin)
    }

    /// Opens a trajectory under an id of your own, which nothing else in the file may have.
    pub fn begin_as(&self, id: impl Into<String>, begin: BeginEvent) -> Recording {
        Open::begin(&self.core, id.into(), begin)
    }

    /// Where it records.
    #[must_use]
    pub fn sink(&self) -> &Sink {
        &self.core.sink
    }

    /// What is done through the recorder itself.
    fn own(&self) -> &Recording {
        self.own.get_or_init(|| self.core.begin_next(BeginEvent::new("")))
    }
}

impl Core {
    fn begin_next(&self, begin: BeginEvent) -> Recording {
        let number = self.shared.count.fetch_add(1, Ordering::Relaxed);
        Open::begin(self, format!("{}-{number}", self.shared.prefix), begin)
    }

    /// What is done through the recorder itself, as long as that is there.
    pub(super) fn own(&self) -> Option<Recording> {
        let own = self.shared.own.upgrade()?;
        Some(own.get_or_init(|| self.begin_next(BeginEvent::new(""))).clone())
    }
}

impl Caller for Recorder {
    fn call(&self, name: &str, arguments: Arguments<'_>, options: &CallOptions) -> Result<CallToolResult> {
        self.own().call(name, arguments, options)
    }

    fn list_tools(&self, options: &CallOptions) -> Result<List<ToolDefinition>> {
        self.own().list_tools(options)
    }

    fn list_resources(&self, options: &CallOptions) -> Result<List<Placed<Resource>>> {
        self.own().list_resources(options)
    }

    fn read_resource(&self, address: Address<'_>, options: &CallOptions) -> Result<ReadResourceResult> {
        self.own().read_resource(address, options)
    }

    fn list_prompts(&self, options: &CallOptions) -> Result<List<Placed<Prompt>>> {
        self.own().list_prompts(options)
    }

    fn get_prompt(
        &self,
        address: Address<'_>,
        arguments: &Json,
        options: &CallOptions,
    ) -> Result<GetPromptResult> {
        self.own().get_prompt(address, arguments, options)
    }

    fn events(&self, filter: Filter) -> Result<Events> {
        self.own().events(filter)
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("sink", &self.core.sink)
            .field("server", &self.core.settings.server)
            .finish_non_exhaustive()
    }
}

/// 16 hexadecimal digits that no other recorder has: std's seeds for hash maps are random, and so is the moment.
fn unique() -> String {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(super::format::microseconds(std::time::SystemTime::now()));
    hasher.write_u32(std::process::id());
    format!("{:016x}", hasher.finish())
}
