//! The client: starts or reaches a server, settles the protocol, calls its tools.
//!
//! [`Client`] owns the connection; its drop, or [`Client::close`], ends it. A [`ClientHandle`] does everything else, can be
//! cloned into any thread, and is inert once the owner has closed.
//!
//! **Invariants:** the era is settled once and is asked in one place, `Session`; user callbacks never run on the reading
//! thread.

mod builder;
mod call;
mod handshake;
mod notices;
mod remote;
#[cfg(feature = "validation")]
mod results;
mod role;
mod session;
mod tools;

use std::ffi::OsStr;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

pub use builder::{ClientBuilder, Timeouts};
pub use call::{CallHandle, CallOptions};
pub use remote::{Caller, RemoteTool};
pub use session::ServerIdentity;
use session::Session;
pub use tools::ToolList;

use crate::error::Result;
use crate::json::Json;
use crate::peer::CloseReport;
use crate::protocol::tool::CallToolResult;
use crate::transport::Patience;

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
    patience: Patience,
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
        self.handle.session.close(&self.patience)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Err(e) = self.handle.session.close(&self.patience) {
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
    /// Settles which revision is spoken and returns what the server said of itself. Done once; later calls return the
    /// same.
    ///
    /// A Modern server is recognised by its answer to `server/discover`; with any other the `initialize` handshake follows.
    ///
    /// # Errors
    /// When the server cannot be reached, does not answer within the connect timeout, or speaks no revision offered.
    pub fn initialize(&self) -> Result<&ServerIdentity> {
        Ok(&self.session.settled()?.identity)
    }

    /// Calls a tool and waits for its result. A tool that ran and failed is a result whose
    /// [`is_error`](CallToolResult::is_error) is true.
    ///
    /// `arguments` is anything that serializes to a JSON object; `()` stands for none.
    ///
    /// With the feature `validation`, the structured content of a result is compared with the output schema of the tool, as far
    /// as that is known: from the last [`list_tools`](Self::list_tools) or [`discover_tools`](Self::discover_tools), or from the
    /// [`RemoteTool`] that makes the call. `ClientBuilder::trust_results` turns that off.
    ///
    /// # Errors
    /// When the server answers with an error (an unknown tool), or does not answer; when the result breaks its schema.
    pub fn call_tool(&self, name: &str, arguments: impl serde::Serialize) -> Result<CallToolResult> {
        self.start_call(name, arguments, &CallOptions::default())?.wait()
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
        self.start_call(name, arguments, options)?.wait()
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
        call::start(&self.session, name, &call::arguments(arguments)?, options)
    }

    /// The tools of the server as [`Tool`](crate::Tool)s, ready to be registered beside local ones.
    ///
    /// # Errors
    /// As [`list_tools`](Self::list_tools).
    pub fn discover_tools(&self) -> Result<Vec<RemoteTool>> {
        let list = self.list_tools()?;
        let caller: Arc<dyn Caller> = Arc::new(self.clone());
        Ok(list.tools.into_iter().map(|tool| RemoteTool::new(tool, Arc::clone(&caller))).collect())
    }

    /// All tools of the server, page by page, and the ones that were malformed.
    ///
    /// # Errors
    /// When the server does not answer, or its pages never end: a cursor that comes again, or more than 1,000 pages.
    pub fn list_tools(&self) -> Result<ToolList> {
        tools::list(&self.session)
    }

    /// Whether the server is alive: `ping`, or `server/discover` where the revision has no ping.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn ping(&self) -> Result<()> {
        let method = if self.session.settled()?.is_modern() { "server/discover" } else { "ping" };
        self.request(method, &[], &CallOptions::default()).map(drop)
    }

    /// Sends any request and returns its result as it came. `params` are members of the parameters object; the
    /// metadata that the revision asks for is added.
    ///
    /// # Errors
    /// As any call.
    pub fn request(&self, method: &str, params: &[(&str, Json)], options: &CallOptions) -> Result<Json> {
        call::request(&self.session, method, params, options)
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
