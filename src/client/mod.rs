//! The client: starts or reaches a server, settles the protocol, uses what the server offers and answers what it asks.
//!
//! [`Client`] owns the connection; its drop, or [`Client::close`], ends it. A [`ClientHandle`] does everything else, can be
//! cloned into any thread, and is inert once the owner has closed.
//!
//! | | |
//! |---|---|
//! | [`ClientBuilder`], [`Timeouts`] | what is set before: handlers, callbacks, times, limits |
//! | [`CallOptions`], [`CallHandle`], [`Outcome`], [`CallNotes`] | one call: its options, a call that is waited for later, one round of a call, which way it went |
//! | [`List`], [`Pages`] | lists of tools, resources, templates and prompts |
//! | [`RemoteTool`] | a server's tool beside local ones |
//! | [`Caller`], [`Events`] | what a client has in common with what stands before clients: a pool, a host, a recorder |
//! | [`ClientHandler`], [`Asked`] | answering servers |
//! | [`Changes`], [`Filter`], [`Change`] | hearing of changes |
//! | [`TaskHandle`] | calls that became tasks |
//!
//! **Invariants:** the era is settled once for a connection and is asked in one place; user callbacks never run on the reading
//! thread.

mod answer;
mod asked;
mod backoff;
mod builder;
mod cache;
mod call;
mod caller;
mod changes;
mod handler;
mod handshake;
#[cfg(feature = "host")]
mod hosted;
mod input;
mod lists;
mod log_level;
mod notes;
mod notices;
mod options;
mod reads;
mod remote;
mod resend;
#[cfg(feature = "validation")]
mod results;
mod role;
mod session;
mod state;
mod tasks;
mod tool_call;
mod trace;
mod typed;
mod urls;

use std::ffi::OsStr;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

pub use asked::{Asked, RelatedCall};
#[cfg(feature = "host")]
pub(crate) use backoff::{Backoff, Random};
pub use builder::{ClientBuilder, Timeouts};
pub use caller::{Address, Caller, Event, EventSource, Events, Placed};
pub use changes::{Change, Changes, ChangesEnd, Filter};
pub use handler::ClientHandler;
#[cfg(feature = "host")]
pub(crate) use hosted::{Begun, Mark, Ping};
pub use lists::{List, Pages};
pub use notes::CallNotes;
pub use options::CallOptions;
pub use remote::RemoteTool;
#[cfg(feature = "host")]
pub(crate) use resend::{Repeatable, is_repeatable};
pub use session::ServerIdentity;
use session::Session;
pub use tasks::TaskHandle;
pub use tool_call::{CallHandle, Outcome};
pub use trace::TraceContext;

use crate::error::Result;
use crate::json::Json;
use crate::peer::CloseReport;
use crate::protocol::roots::Root;
use crate::protocol::tool::CallToolResult;

/// The owner of a connection to a server.
///
/// ```no_run
/// use serde_json::json;
/// use tinymcp::Client;
///
/// let client = Client::connect("python3", &["notes_server.py"])?;
/// for tool in client.discover_tools()? {
///     println!("{}", tinymcp::Tool::name(&tool));
/// }
/// let result = client.call_tool("create_note", json!({"title": "Plan", "content": "Write it down."}))?;
/// println!("{}", result.text_content());
/// client.close()?;
/// # Ok::<(), tinymcp::Error>(())
/// ```
///
/// Dropping it closes the connection as [`close`](Self::close) does.
pub struct Client {
    handle: ClientHandle,
}

impl Client {
    /// Starts `program` with `args` as a server. The protocol is settled by [`initialize`](ClientHandle::initialize), or else
    /// by the first use.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn connect(program: impl AsRef<OsStr>, args: &[&str]) -> Result<Self> {
        Self::builder().connect(program, args)
    }

    /// Everything that can be set before connecting.
    #[must_use]
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// A handle for other threads.
    #[must_use]
    pub fn handle(&self) -> ClientHandle {
        self.handle.clone()
    }

    /// Ends the connection: signals the end of input, waits for the server to exit, ends it if it does not.
    /// Open calls fail with [`Error::Closed`](crate::Error::Closed). Returns in bounded time, whatever the server does.
    ///
    /// # Errors
    /// When the server process could not be ended even by force.
    pub fn close(self) -> Result<CloseReport> {
        self.handle.session.close()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Err(e) = self.handle.session.close() {
            log::warn!("{e}");
        }
    }
}

impl Deref for Client {
    type Target = ClientHandle;
    fn deref(&self) -> &ClientHandle {
        &self.handle
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({:?})", self.handle.session)
    }
}

/// Uses a connection that a [`Client`] owns. Cheap to clone; inert once the owner has closed.
#[derive(Clone)]
pub struct ClientHandle {
    session: Arc<Session>,
}

impl ClientHandle {
    /// Settles which revision is spoken and returns what the server said of itself. Done once for a connection; later calls
    /// return the same.
    ///
    /// A Modern server is recognised by its answer to `server/discover`; with any other the `initialize` handshake follows.
    ///
    /// # Errors
    /// When the server cannot be reached, does not answer within the connect timeout, or speaks no revision offered.
    pub fn initialize(&self) -> Result<Arc<ServerIdentity>> {
        Ok(Arc::clone(&self.session.settled(None)?.identity))
    }

    /// Starts the server once more, after it died or at any other time: ends the old connection, waits for the old process to
    /// exit, opens a new one and settles the protocol on it. Returns what the new server says of itself; it may speak
    /// another revision. Every handle and every [`RemoteTool`] goes on with the new connection.
    ///
    /// Open calls of the old connection fail as they do when a server dies. Threads that ask at the same time share one
    /// reconnect and its outcome; so does one that asks while the first use settles the protocol. One that asks after
    /// another's reconnect is over replaces that connection as well. If it fails it can be asked for again; until then calls
    /// fail, or settle the protocol if that is all that is missing.
    ///
    /// ```no_run
    /// # fn main() -> tinymcp::Result<()> {
    /// let client = tinymcp::Client::connect("python3", &["notes_server.py"])?;
    /// let listed = match client.list_tools() {
    ///     Err(error) if error.is_closed() => {
    ///         client.reconnect()?;
    ///         client.list_tools()?
    ///     }
    ///     listed => listed?,
    /// };
    /// # drop(listed); Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - [`Error::Unsupported`](crate::Error::Unsupported) when the transport cannot be opened again, as sockets and memory
    ///   pairs cannot; the connection is left as it is.
    /// - [`Error::Closed`](crate::Error::Closed) after the owner has closed.
    /// - [`Error::Transport`](crate::Error::Transport) when the old process could not be ended or the new one not started.
    /// - As [`initialize`](Self::initialize).
    pub fn reconnect(&self) -> Result<Arc<ServerIdentity>> {
        Ok(Arc::clone(&self.session.reconnect()?.identity))
    }

    /// Calls a tool and waits for its result. A tool that ran and failed is a result whose
    /// [`is_error`](CallToolResult::is_error) is true.
    ///
    /// `arguments` is anything that serializes to a JSON object; `()` stands for none.
    ///
    /// What the server asks meanwhile is answered by the handlers of [`ClientBuilder`]. A Modern server asks by
    /// ending the call, which is then made again with the answers, up to
    /// [`max_input_rounds`](ClientBuilder::max_input_rounds) times. The timeout starts anew with each round, and in
    /// both eras it does not count what the handlers take; the total does.
    ///
    /// A server that makes a task of the call is looked at until that has ended, as by [`TaskHandle::wait`]; if it is given up,
    /// the task is cancelled.
    ///
    /// With the feature `validation`, the structured content of a result is compared with the output schema of the tool, as far
    /// as that is known: from the last [`list_tools`](Self::list_tools) or [`discover_tools`](Self::discover_tools), or from the
    /// [`RemoteTool`] that makes the call. `ClientBuilder::trust_results` turns that off.
    ///
    /// A call that did not get through is made again where that does no harm, see
    /// [`max_resends`](ClientBuilder::max_resends).
    ///
    /// # Errors
    /// When the server answers with an error (an unknown tool), or does not answer. When it asks for something:
    /// - [`Error::Unsupported`](crate::Error::Unsupported) that this client has no handler for, or of an unknown kind;
    /// - [`Error::NotAnswered`](crate::Error::NotAnswered) if the handler fails;
    /// - [`Error::Protocol`](crate::Error::Protocol) if it asks too often.
    /// - with the feature `validation`, [`Error::Protocol`](crate::Error::Protocol) when the result breaks its schema.
    pub fn call_tool(&self, name: &str, arguments: impl serde::Serialize) -> Result<CallToolResult> {
        self.call_tool_with(name, arguments, &CallOptions::default())
    }

    /// [`call_tool`](Self::call_tool) with a timeout, a cancel token, a progress callback or metadata of its own.
    ///
    /// # Errors
    /// As [`call_tool`](Self::call_tool).
    pub fn call_tool_with(
        &self,
        name: &str,
        arguments: impl serde::Serialize,
        options: &CallOptions,
    ) -> Result<CallToolResult> {
        tool_call::tool(&self.session, name, &tool_call::arguments(arguments)?, options)
    }

    /// One round of a call: what a Modern server asks is handed to the caller, and not to the handlers. So the
    /// answers can come from elsewhere, at any time, and even in another process.
    ///
    /// ```no_run
    /// use serde_json::json;
    /// use tinymcp::client::{CallOptions, Outcome};
    /// use tinymcp::json::Object;
    /// use tinymcp::protocol::ElicitResult;
    ///
    /// # fn main() -> tinymcp::Result<()> {
    /// # let client = tinymcp::Client::connect("some-server", &[])?;
    /// let mut options = CallOptions::default();
    /// let result = loop {
    ///     match client.call_tool_once("deploy", json!({"target": "test"}), &options)? {
    ///         Outcome::InputRequired(asked) => {
    ///             let mut answers = Object::new();
    ///             for (key, question) in asked.input_requests.iter() {
    ///                 println!("{key}: {}", question.method());
    ///                 answers.insert(key, &ElicitResult::decline());
    ///             }
    ///             options = options.with_input(answers, asked.request_state);
    ///         }
    ///         Outcome::Complete(result) => break result,
    ///         Outcome::Task(task) => break client.task(task.task_id).wait(&CallOptions::default())?,
    ///         _ => return Err(tinymcp::Error::Unsupported("an outcome of a later version".into())),
    ///     }
    /// };
    /// # drop(result); Ok(()) }
    /// ```
    ///
    /// What a server may ask is still what the handlers of the client can do, as only that is declared. A Legacy
    /// server asks by requests, which the handlers answer; a call to it is complete, or a task if that was asked for.
    ///
    /// # Errors
    /// As [`call_tool`](Self::call_tool).
    pub fn call_tool_once(
        &self,
        name: &str,
        arguments: impl serde::Serialize,
        options: &CallOptions,
    ) -> Result<Outcome> {
        tool_call::tool_once(&self.session, name, &tool_call::arguments(arguments)?, options)
    }

    /// Calls a tool, and returns as soon as the server has made a task of the call, or answered it in another way. What it asks
    /// before that is answered by the handlers.
    ///
    /// # Errors
    /// As [`call_tool`](Self::call_tool).
    pub fn call_tool_task(
        &self,
        name: &str,
        arguments: impl serde::Serialize,
        options: &CallOptions,
    ) -> Result<TaskHandle> {
        tool_call::tool_task(&self.session, name, &tool_call::arguments(arguments)?, options)
    }

    /// Comes back to the task `id` of this server. Nothing is sent yet. A Modern server may know it from an earlier connection;
    /// one of 2025-11-25 ties it to who made it.
    #[must_use]
    pub fn task(&self, id: impl Into<String>) -> TaskHandle {
        TaskHandle::of_task(&self.session, id.into(), "", tool_call::Expectation::default())
    }

    /// Sends a call and returns at once, so that one thread can keep many calls open. The timeout runs from now.
    ///
    /// # Errors
    /// When the call cannot be sent.
    pub fn start_call(
        &self,
        name: &str,
        arguments: impl serde::Serialize,
        options: &CallOptions,
    ) -> Result<CallHandle> {
        tool_call::start(&self.session, name, tool_call::arguments(arguments)?, options)
    }

    /// The tools of the server as [`Tool`](crate::Tool)s, ready to be registered beside local ones.
    ///
    /// # Errors
    /// As [`list_tools`](Self::list_tools).
    pub fn discover_tools(&self) -> Result<Vec<RemoteTool>> {
        let list = self.list_tools()?;
        let caller: Arc<dyn Caller> = Arc::new(self.clone());
        Ok(list.into_iter().map(|tool| RemoteTool::new(tool, Arc::clone(&caller))).collect())
    }

    /// Whether the server is alive: `ping`, or `server/discover` where the revision has no ping.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn ping(&self) -> Result<()> {
        let options = CallOptions::default();
        let settled = call::settled(&self.session, &options)?;
        let method = if settled.is_modern() { "server/discover" } else { "ping" };
        call::request(&self.session, settled, method, &[], &options).map(drop)
    }

    /// Sends any request and returns its result as it came. `params` are members of the parameters object; the
    /// metadata that the revision asks for is added.
    ///
    /// # Errors
    /// As any call.
    pub fn request(&self, method: &str, params: &[(&str, Json)], options: &CallOptions) -> Result<Json> {
        call::request(&self.session, call::settled(&self.session, options)?, method, params, options)
    }

    /// Changes the list of roots that the client was [built](ClientBuilder::roots) with. A Legacy server is told that
    /// it changed; a Modern one asks whenever it wants to know.
    ///
    /// # Errors
    /// - [`Error::InvalidUse`](crate::Error::InvalidUse) if there was no such list, or a root does not begin with
    ///   `file://` or has `..` in its path; nothing is changed then.
    /// - [`Error::Busy`](crate::Error::Busy) if too much waits for a server that does not read: the list is changed,
    ///   and the server was not told.
    pub fn set_roots(&self, roots: impl IntoIterator<Item = Root>) -> Result<()> {
        self.session.answers.handlers.set_roots(roots.into_iter().collect())?;
        self.roots_changed()
    }

    /// Tells a Legacy server that the roots changed, which a handler of the client's own finds out.
    /// [`set_roots`](Self::set_roots) does it by itself.
    ///
    /// # Errors
    /// [`Error::InvalidUse`](crate::Error::InvalidUse) if the client has no roots,
    /// [`Error::Busy`](crate::Error::Busy) if too much waits for a server that does not read.
    pub fn roots_changed(&self) -> Result<()> {
        if self.session.answers.declared.roots.is_none() {
            return Err(crate::Error::InvalidUse("the client has no roots".to_owned()));
        }
        self.session.tell_legacy("notifications/roots/list_changed")
    }

    /// How many lines the server wrote that were no messages. They were skipped, and the first ones reported in the log.
    #[must_use]
    pub fn noise(&self) -> u64 {
        self.session.noise()
    }
}

impl fmt::Debug for ClientHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientHandle({:?})", self.session)
    }
}
