//! [`Host`], the owner, and [`HostHandle`], which does everything else.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use super::builder::HostBuilder;
use super::config::ServerEntry;
use super::events::{HostEvents, ServerState};
use super::inner::Inner;
use crate::client::{CallOptions, Caller, ServerIdentity};
use crate::error::{Error, Result};
use crate::json::Json;
use crate::peer::CloseReport;
use crate::protocol::CallToolResult;
use crate::sync::Deadline;
use crate::tool::{Arguments, ToolRegistry};

/// The owner of many servers. Dropping it ends them all, as [`close`](Self::close) does.
///
/// ```no_run
/// use serde_json::json;
/// use std::time::Duration;
/// use tinymcp::host::config::ServerEntry;
/// use tinymcp::host::consent::Rules;
/// use tinymcp::host::Host;
///
/// let host = Host::builder()
///     .server(ServerEntry::command("notes", "python3", ["notes_server.py"]))
///     .server(ServerEntry::command("files", "npx", ["-y", "@modelcontextprotocol/server-filesystem", "/home/user"]))
///     .policy(Rules::new().allow("*", "*"))
///     .start()?;
/// for (server, state) in host.wait_ready(Duration::from_secs(30)) {
///     println!("{server}: {state}");
/// }
/// println!("{} tools", host.tools().len());
/// let result = host.call_tool("notes__create_note", json!({"title": "Plan", "content": "Write it down."}))?;
/// println!("{}", result.text_content());
/// host.close();
/// # Ok::<(), tinymcp::Error>(())
/// ```
pub struct Host {
    handle: HostHandle,
}

/// How each server of a host ended.
pub type HostReport = Vec<(Arc<str>, Result<CloseReport>)>;

impl Host {
    /// Everything that can be set before it starts.
    #[must_use]
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    pub(super) fn of(inner: Arc<Inner>) -> Self {
        Self { handle: HostHandle { inner } }
    }

    /// A handle for other threads.
    #[must_use]
    pub fn handle(&self) -> HostHandle {
        self.handle.clone()
    }

    /// Ends all servers, side by side, and returns how each ended. Open calls fail. Returns in bounded time, whatever servers do.
    pub fn close(self) -> HostReport {
        self.handle.inner.close()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        for (server, report) in self.handle.inner.close() {
            if let Err(error) = report {
                log::warn!("{server}: {error}");
            }
        }
    }
}

impl Deref for Host {
    type Target = HostHandle;
    fn deref(&self) -> &HostHandle {
        &self.handle
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Host").field(&self.handle.servers()).finish()
    }
}

/// Uses the servers of a [`Host`]. Cheap to clone; of no use any more once the owner has closed.
///
/// It is a [`Caller`]: whatever is written for one server can be used with many.
#[derive(Clone)]
pub struct HostHandle {
    pub(super) inner: Arc<Inner>,
}

impl HostHandle {
    /// The tools of all servers that are ready, by the names of [`tool_name`](super::tool_name), kept up to date. Every call goes
    /// through the policy, the audit log and the filter of the host, from wherever it is made. Tools of the program itself can be
    /// registered beside them.
    #[must_use]
    pub fn tools(&self) -> &ToolRegistry {
        &self.inner.catalogue.tools
    }

    /// Calls a tool and waits for its result.
    ///
    /// # Errors
    /// - [`Error::InvalidUse`] when there is no such tool, or the arguments are no object.
    /// - [`Error::Denied`] when it is not allowed, or the program's own check refuses the result.
    /// - [`Error::OutcomeUnknown`] when consent was taken back, or the server removed, while it ran.
    /// - As [`ClientHandle::call_tool`](crate::ClientHandle::call_tool).
    pub fn call_tool(&self, name: &str, arguments: impl serde::Serialize) -> Result<CallToolResult> {
        self.call_tool_with(name, arguments, &CallOptions::default())
    }

    /// [`call_tool`](Self::call_tool) with a timeout, a cancel token or metadata of its own.
    ///
    /// # Errors
    /// As [`call_tool`](Self::call_tool).
    pub fn call_tool_with(
        &self,
        name: &str,
        arguments: impl serde::Serialize,
        options: &CallOptions,
    ) -> Result<CallToolResult> {
        let json =
            Json::new(&arguments).map_err(|e| Error::InvalidUse(format!("arguments are no JSON: {e}")))?;
        let json = if json.as_str() == "null" { Json::empty_object() } else { json };
        let arguments = Arguments::from_raw(json.as_raw()).map_err(|e| Error::InvalidUse(e.to_string()))?;
        self.call(name, arguments, options)
    }

    /// What each server does now.
    #[must_use]
    pub fn servers(&self) -> Vec<(Arc<str>, ServerState)> {
        self.inner.members().iter().map(|member| (Arc::clone(&member.name), member.state())).collect()
    }

    /// What one server does now; `None` if there is none of this name.
    #[must_use]
    pub fn state(&self, server: &str) -> Option<ServerState> {
        self.inner.member(server).ok().map(|member| member.state())
    }

    /// What a server said of itself, once it was ready; self-reported.
    #[must_use]
    pub fn identity(&self, server: &str) -> Option<Arc<ServerIdentity>> {
        self.inner.member(server).ok()?.identity()
    }

    /// How a model should use a server, as that says; made harmless.
    #[must_use]
    pub fn instructions(&self, server: &str) -> Option<String> {
        let text = self.identity(server)?.instructions.clone()?;
        Some(self.inner.settings.filter.apply_text(text))
    }

    /// What happens to the servers from now on.
    #[must_use]
    pub fn watch(&self) -> HostEvents {
        self.inner.bulletin.listen()
    }

    /// Waits until the first server is ready; `None` if none is within `time`, or none can be any more.
    #[must_use]
    pub fn wait_first(&self, time: Duration) -> Option<Arc<str>> {
        let ready = |servers: &[(Arc<str>, ServerState)]| {
            servers.iter().find(|(_, state)| *state == ServerState::Ready).map(|(name, _)| Arc::clone(name))
        };
        ready(&self.wait(time, |servers| ready(servers).is_some()))
    }

    /// Waits until every server is ready or is known not to be, at most for `time`. Returns what each does then.
    pub fn wait_ready(&self, time: Duration) -> Vec<(Arc<str>, ServerState)> {
        self.wait(time, |_| false)
    }

    /// Waits until `is_enough`, or no server is on its way any more.
    fn wait(
        &self,
        time: Duration,
        is_enough: impl Fn(&[(Arc<str>, ServerState)]) -> bool,
    ) -> Vec<(Arc<str>, ServerState)> {
        let deadline = Deadline::after(Some(time));
        let events = self.watch();
        loop {
            let servers = self.servers();
            let is_moving =
                |state: &ServerState| matches!(state, ServerState::Waiting | ServerState::Starting);
            if is_enough(&servers) || !servers.iter().any(|(_, state)| is_moving(state)) {
                return servers;
            }
            let left = deadline.remaining().unwrap_or_default();
            if left.is_zero() || events.next_timeout(left).is_none() {
                return self.servers();
            }
        }
    }

    /// Takes a further server in and starts it. Returns at once: [`watch`](Self::watch) and [`wait_ready`](Self::wait_ready) tell
    /// what comes of it.
    ///
    /// # Errors
    /// [`Error::InvalidUse`] when there is one of this name, [`Error::Busy`] with more than 1,000 servers.
    pub fn add(&self, entry: ServerEntry) -> Result<()> {
        self.inner.add(entry)
    }

    /// Takes a server out: its open calls fail with [`Error::OutcomeUnknown`], its tools are gone, and its process is ended.
    ///
    /// # Errors
    /// [`Error::InvalidUse`] when there is none of this name; when its process cannot be ended.
    pub fn remove(&self, server: &str) -> Result<CloseReport> {
        self.inner.remove(server)
    }

    /// Starts a server again, or one that is disabled or could not be started for the first time, and waits until it is ready. Open
    /// calls fail as they do when a server dies. Tools keep their names.
    ///
    /// # Errors
    /// [`Error::InvalidUse`] when there is none of this name; why it could not be started.
    pub fn restart(&self, server: &str) -> Result<()> {
        let member = self.inner.member(server)?;
        self.inner.restart(&member)
    }
}

impl fmt::Debug for HostHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostHandle").field(&self.servers()).finish()
    }
}
