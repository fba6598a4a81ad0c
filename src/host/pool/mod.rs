//! Several connections to the same server, used as one.
//!
//! ```text
//!  calls ──▶ choose a member ──▶ its connection ──▶ result
//!               ▲    ▲                 │ nothing was sent, or harmless: the next member
//!               │    └─────────────────┘
//!  mcp-pool: pings, notices ends ──▶ out ──▶ mcp-pool-start: connects again ──▶ back
//! ```
//!
//! | | |
//! |---|---|
//! | [`Pool`], [`PoolBuilder`], [`PoolHandle`] | the pool, what is set before, and what makes calls |
//! | [`Lease`] | a connection for one conversation alone |
//! | [`Sticky`] | a conversation that stays on one connection, which others may use as well |
//! | [`MemberReport`], [`MemberState`], [`PoolReport`] | how its members are, and how they ended |
//!
//! **Invariants:** a call goes to another member only if nothing was sent or it can be repeated; a conversation never goes on on
//! another connection without its program being told; no lock is held while a server is waited for.

mod builder;
mod close;
mod events;
mod health;
mod lease;
mod shared;
mod start;
mod state;
mod sticky;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use builder::{Balance, PoolBuilder, Start};
pub use close::{MemberEnd, PoolReport};
pub use lease::Lease;
use shared::Shared;
pub use state::{MemberReport, MemberState};
pub use sticky::Sticky;

use super::resilience::route::{Act, Need, Route, routed_calls};
use crate::client::{CallOptions, Caller, Events, Filter, RemoteTool};
use crate::error::{Error, Result};
use crate::peer::CloseReport;
use crate::protocol::ToolDefinition;

/// Several connections to the same server, used as one [`Caller`]: a call goes to whichever has the least to do.
///
/// What one connection cannot carry fails over to another, if nothing was sent or the call can be repeated; a call that may have
/// been carried out is [`Error::OutcomeUnknown`]. A member that dies, or does not answer a ping, is taken out and brought back.
///
/// **Sessions.** A Modern server keeps nothing between calls, so any member can take any call. A Legacy one may: each connection is
/// a session, and over stdio a process of its own. Calls of the pool itself go to any of them all the same, which is right for servers
/// that keep nothing (most of them). One that does needs a [`lease`](PoolHandle::lease), which is a connection for one
/// conversation alone, or a [`sticky`](PoolHandle::sticky) key.
///
/// Dropping it closes all connections at once; [`close`](Self::close) lets open calls finish.
///
/// ```
/// use std::time::Duration;
/// use serde_json::json;
/// use tinymcp::client::{CallOptions, Caller};
/// use tinymcp::host::pool::Pool;
/// use tinymcp::{Arguments, Client, Server, ToolRegistry, tool, transport};
///
/// let tools = ToolRegistry::new().with(tool! { fn add(a: i64, b: i64) -> i64 { a + b } })?;
/// let server = Server::builder("calculator", "1").tools(tools).build()?;
///
/// // Each member is a client of its own. With a program: `Client::connect("my-server", &[])`.
/// let pool = Pool::builder().size(3).open(move |_| {
///     let (near, far) = transport::memory_pair();
///     let server = server.clone();
///     std::thread::spawn(move || server.serve(far));
///     Client::builder().open(near)
/// })?;
/// let sum = pool.call("add", Arguments::new(&json!({"a": 1, "b": 2})).expect("an object"), &CallOptions::default())?;
/// assert_eq!(sum.text_content(), "3");
///
/// let report = pool.close(Duration::from_secs(5));
/// assert!(report.is_drained());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Pool {
    handle: PoolHandle,
}

/// Uses a pool that a [`Pool`] owns. Cheap to clone; inert once the owner has closed.
#[derive(Clone)]
pub struct PoolHandle {
    shared: Arc<Shared>,
}

impl Pool {
    /// Everything that can be set before.
    #[must_use]
    pub fn builder() -> PoolBuilder {
        PoolBuilder::default()
    }

    /// A handle for other threads.
    #[must_use]
    pub fn handle(&self) -> PoolHandle {
        self.handle.clone()
    }

    /// Takes no more calls, waits up to `grace` for open ones to finish, and closes all connections, side by side. Calls that are
    /// still open then fail with [`Error::Closed`] or [`Error::OutcomeUnknown`].
    pub fn close(self, grace: Duration) -> PoolReport {
        self.handle.shared.close(grace)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let report = self.handle.shared.close(Duration::ZERO);
        for end in report.members {
            if let Err(error) = end.outcome {
                log::warn!("member {} of a pool: {error}", end.id);
            }
        }
    }
}

impl Deref for Pool {
    type Target = PoolHandle;
    fn deref(&self) -> &PoolHandle {
        &self.handle
    }
}

impl PoolHandle {
    /// How its members are.
    #[must_use]
    pub fn members(&self) -> Vec<MemberReport> {
        self.shared.lock().members.iter().map(|member| member.report(Instant::now())).collect()
    }

    /// Adds a member and begins to start it. Returns its number, which the factory is given, and which no other member ever has.
    ///
    /// # Errors
    /// [`Error::Busy`] when there are 256 already, [`Error::Closed`] after the pool was closed.
    pub fn add(&self) -> Result<usize> {
        let id = self.shared.add()?;
        self.shared.begin_start(id, false);
        Ok(id)
    }

    /// Takes a member out for good: it gets no more calls, open ones have up to `grace` to finish, and then its connection is closed.
    ///
    /// # Errors
    /// [`Error::InvalidUse`] when there is no such member, or it is being taken out; as [`Client::close`](crate::Client::close).
    pub fn remove(&self, id: usize, grace: Duration) -> Result<CloseReport> {
        self.shared.remove(id, grace)
    }

    /// A connection for one conversation alone: nobody else uses it until the lease is dropped. If none is free it waits, as long as
    /// `options` say a call may take.
    ///
    /// On a Legacy server, whose connections may remember what was done on them, it is a connection on which nothing was done
    /// before, see [`PoolBuilder::reuse_sessions`]; those with conversations that go by a [key](Self::sticky) are left to them.
    ///
    /// # Errors
    /// [`Error::Busy`] when none became free; as any call when none can be opened.
    pub fn lease(&self, options: &CallOptions) -> Result<Lease> {
        Lease::take(&self.shared, options)
    }

    /// A conversation that goes by `key`: all its calls are made on one connection, which others may use as well. Which one is
    /// decided by its first call. Several handles of one key are the same conversation.
    ///
    /// It lasts until [`Sticky::end`], or until nobody has held a handle of it or made a call for half an hour.
    ///
    /// If that connection ends, a Legacy server has forgotten the conversation: its calls fail with
    /// [`Error::SessionEnded`]. After that the same key begins another one. A Modern server has nothing to forget, and its
    /// conversations go on elsewhere.
    ///
    /// # Errors
    /// - [`Error::InvalidUse`] when the key is longer than 1 KiB.
    /// - [`Error::Busy`] when there are 10,000 conversations of which somebody holds a handle. One that nobody holds makes room, the
    ///   one that was used least recently first.
    pub fn sticky(&self, key: impl Into<String>) -> Result<Sticky> {
        Sticky::of(&self.shared, key.into())
    }

    /// The tools of the server, ready to be registered beside local ones, each called through this pool.
    ///
    /// # Errors
    /// As [`ClientHandle::discover_tools`](crate::ClientHandle::discover_tools).
    pub fn discover_tools(&self) -> Result<Vec<RemoteTool>> {
        let list = self.list_tools(&CallOptions::default())?;
        let caller: Arc<dyn Caller> = Arc::new(self.clone());
        Ok(list.into_iter().map(|tool| RemoteTool::new(tool, Arc::clone(&caller))).collect())
    }
}

impl Route for PoolHandle {
    fn route(&self, need: Need<'_>, options: &CallOptions, act: Act<'_>) -> Result<()> {
        self.shared.route(need, options, act)
    }

    fn listed(&self, tools: &[ToolDefinition]) {
        self.shared.repeatable.refresh(tools);
    }
}

impl Caller for PoolHandle {
    routed_calls!();

    /// The changes on all members. One that several tell of at the same time is one.
    fn events(&self, filter: Filter) -> Result<Events> {
        self.shared.events(filter).map(Events::new)
    }
}

macro_rules! by_handle {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        /// As its [`PoolHandle`].
        impl Caller for Pool {$(
            fn $name(&self, $($argument: $type),*) -> $result {
                self.handle.$name($($argument),*)
            }
        )*}
    };
}

by_handle! {
    call(name: &str, arguments: crate::Arguments<'_>, options: &CallOptions) -> Result<crate::protocol::CallToolResult>;
    list_tools(options: &CallOptions) -> Result<crate::client::List<ToolDefinition>>;
    list_resources(options: &CallOptions)
        -> Result<crate::client::List<crate::client::Placed<crate::protocol::Resource>>>;
    read_resource(address: crate::client::Address<'_>, options: &CallOptions)
        -> Result<crate::protocol::ReadResourceResult>;
    list_prompts(options: &CallOptions)
        -> Result<crate::client::List<crate::client::Placed<crate::protocol::Prompt>>>;
    get_prompt(address: crate::client::Address<'_>, arguments: &crate::json::Json, options: &CallOptions)
        -> Result<crate::protocol::GetPromptResult>;
    events(filter: Filter) -> Result<Events>;
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("members", &self.members()).finish()
    }
}

impl fmt::Debug for PoolHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolHandle").field("members", &self.members()).finish()
    }
}

/// The pool takes no more calls.
fn closed(method: &str) -> Error {
    let phase = crate::error::Phase::Call(method.to_owned());
    let mut failure =
        crate::error::Failure::new(phase, "a pool".to_owned(), "closed by this program".to_owned());
    failure.is_closed = true;
    Error::Closed(Box::new(failure))
}
