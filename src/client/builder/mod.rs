//! [`ClientBuilder`] and what it sets.

mod handlers;
mod limits;
mod notices;

use std::ffi::OsStr;
use std::sync::Arc;

pub use limits::Timeouts;

use super::handler::Handlers;
use super::notices::Notices;
use super::session::Session;
use super::trace::TraceContext;
use super::{Client, ClientHandle};
use crate::era::RequestStamp;
use crate::error::Result;
use crate::peer::Limits;
use crate::protocol::{ClientCapabilities, Implementation, ProtocolVersion};
use crate::transport::{ChildProcess, DEFAULT_MAX_FRAME_BYTES, OpenOptions, Patience, Tap, Transport};

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
    pub(super) max_resends: u32,
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
            max_resends: 2,
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

    /// Shows every frame to `tap`.
    #[must_use]
    pub fn tap(mut self, tap: impl Tap + 'static) -> Self {
        self.tap = Some(Arc::new(tap));
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
