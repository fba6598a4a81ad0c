//! The server: serves tools, resources and prompts to any number of connections, in both eras at once.
//!
//! A [`Server`] is made by its [`ServerBuilder`] from registries, which may change while it runs. A [`ServerHandle`] stops it, and tells its
//! clients of changes. The [guide](crate::guide) shows how, a page a theme.
//!
//! The unit of serving is a request plus an outlet for what precedes its answer. Which era a request is of is decided by
//! the request alone; what a Legacy handshake settled is a value looked up on the side.
//!
//! **Invariant:** nothing here asks which era it is except through the request's resolved metadata and the method
//! table.

mod asked;
mod builder;
mod changes;
mod completions;
mod connection;
mod dispatch;
mod feature;
mod heard;
mod input;
#[cfg(feature = "http-server")]
mod line;
mod listen;
mod logging;
mod pace;
mod prompts;
mod resources;
mod tasks;
mod tools;
mod watch;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use builder::Config;
pub use builder::ServerBuilder;
use changes::Changes;
use connection::Connection;
use crossbeam_channel::select;
use pace::Paces;
pub use tasks::TaskOptions;
#[cfg(feature = "http-server")]
pub(crate) use {changes::Most, changes::OF_A_CLIENT, line::Line};

use crate::error::{Error, Result, Seconds};
use crate::jsonrpc::Message;
use crate::peer::{CloseReport, Peer, Setup, Writing};
use crate::prompt::PromptRegistry;
use crate::resource::ResourceRegistry;
use crate::sync::{CancelToken, Deadline, Mutex, lock};
use crate::tool::{ChangeListener, ToolRegistry};
use crate::transport::{OpenOptions, Patience, Stdio, Transport, tapped};

/// A server that offers the tools of a [`ToolRegistry`], and what else it was [built](ServerBuilder) with.
///
/// ```no_run
/// use tinymcp::{Server, ToolError, ToolRegistry, tool};
///
/// let greet = tool! {
///     /// Greet somebody
///     fn greet(
///         /// Whom
///         name: String,
///     ) -> String { format!("Hello, {name}!") }
/// };
/// let tools = ToolRegistry::new().with(greet)?;
/// Server::builder("greeter", "1.0.0").tools(tools).build()?.start()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Cheap to clone; clones are the same server.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

pub(crate) struct Inner {
    config: Config,
    paces: Paces,
    changes: Arc<Changes>,
    /// They mark changes of the lists, as long as the server lives.
    _listeners: Vec<ChangeListener>,
    stop: CancelToken,
    /// Connections that are being served.
    servings: AtomicUsize,
    /// Run once, when the last of them ends.
    cleanup: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Server {
    /// A server that calls itself `name` and `version`.
    #[must_use]
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        ServerBuilder::new(name, version)
    }

    /// Serves this process's stdin and stdout until the input ends or [`ServerHandle::stop`] is called. Accepted requests are
    /// finished, up to the grace; then the cleanup hook runs.
    ///
    /// After a stop the thread that reads stdin stays blocked there, as nothing portable can wake it. Return from `main`
    /// after this.
    ///
    /// # Errors
    /// When the handles cannot be duplicated or a thread cannot be started.
    pub fn start(&self) -> Result<CloseReport> {
        self.serve_until_end(Box::new(Stdio::new()), true)
    }

    /// Serves one connection until it ends; for a server with many, call this on a thread for each.
    ///
    /// # Errors
    /// When the transport cannot be opened or a thread cannot be started.
    pub fn serve(&self, transport: impl Transport) -> Result<CloseReport> {
        self.serve_until_end(Box::new(transport), false)
    }

    /// Serves one connection, the only one that the program has or not.
    fn serve_until_end(&self, transport: Box<dyn Transport>, is_only: bool) -> Result<CloseReport> {
        let _cleanup = Cleanup::new(&self.0, is_only);
        let config = &self.0.config;
        let options = OpenOptions { max_frame_bytes: config.limits.frame_bytes };
        let cannot = |context: &str| {
            let context = context.to_owned();
            move |error| Error::Transport { context, error }
        };
        let mut opened = transport.open(&options).map_err(cannot("cannot open the connection"))?;
        if let Some(tap) = &config.tap {
            opened = tapped(opened, tap);
        }
        let connection = Arc::new(Connection::new(Arc::clone(&self.0), changes::OF_A_CLIENT));
        let setup = Setup { limits: config.limits.clone(), writing: Writing::Direct, runs_short_calls: true };
        let role = Arc::<Connection>::clone(&connection);
        let peer = Peer::start(opened, role, &setup)
            .inspect_err(|_| self.0.end_subscriptions(connection.number, true)) // it listens to nothing
            .map_err(cannot("cannot start a thread"))?;
        let (ended, stopped, broken) = (peer.ended(), self.0.stop.receiver(), peer.broken());
        select! {
            recv(ended) -> _ => {}
            recv(stopped) -> _ => {}
            // Whatever is still asked for would be done for nobody.
            recv(broken) -> _ => log::debug!("answers cannot be written any more"),
        }
        // They are no work to drain: they would never be done.
        self.0.end_subscriptions(connection.number, true);
        let deadline = Deadline::after(Some(config.grace));
        config.features.iter().for_each(|feature| feature.drain(connection.number, deadline));
        let mut finished = peer.drain(deadline);
        if !finished {
            // Handlers that wait for their client learn that there is no more time, and can still answer.
            peer.end_questions();
            finished = peer.drain(Deadline::after(Some(LAST_ANSWERS)));
        }
        if !finished {
            log::warn!("requests are left unfinished after the grace of {}", Seconds(config.grace));
        }
        self.0.changes.forget(connection.number);
        config.features.iter().for_each(|feature| feature.connection_ended(connection.number));
        let report = peer.close("the server is ending", &END_PATIENCE);
        if !report.flushed {
            log::error!("answers were lost: the client does not read, or its end is gone");
        }
        Ok(report)
    }

    /// Serves one message and returns its response, on an implicit connection that is the same for all messages given here:
    /// `initialize` settles it, as it would any other. Progress goes nowhere; notifications and responses give `None`.
    ///
    /// ```
    /// use tinymcp::{Message, Server};
    ///
    /// let server = Server::builder("s", "1").build()?;
    /// let ping = Message::request(1, "ping", None);
    /// let pong = server.handle_request(ping).expect("a response");
    /// assert_eq!(pong.encode(), br#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    /// # Ok::<(), tinymcp::Error>(())
    /// ```
    #[must_use]
    pub fn handle_request(&self, message: Message) -> Option<Message> {
        self.0
            .config
            .implicit
            .get_or_init(|| Connection::new_implicit(Arc::downgrade(&self.0)))
            .handle(message)
    }

    /// A handle that stops the server and tells its clients of changes, for another thread or a handler.
    #[must_use]
    pub fn handle(&self) -> ServerHandle {
        ServerHandle { stop: self.0.stop.clone(), changes: Arc::clone(&self.0.changes) }
    }

    /// The tools that are served. Changing them tells the clients.
    #[must_use]
    pub fn tools(&self) -> &ToolRegistry {
        &self.0.config.tools
    }

    /// The prompts that are served, if there are some. Changing them tells the clients.
    #[must_use]
    pub fn prompts(&self) -> Option<&PromptRegistry> {
        self.0.config.features.iter().find_map(|feature| feature.prompts())
    }

    /// The resources that are served, if there are some. Changing them tells the clients.
    #[must_use]
    pub fn resources(&self) -> Option<&ResourceRegistry> {
        self.0.config.features.iter().find_map(|feature| feature.resources())
    }
}

/// How long handlers have to answer whose questions were given up at the end of the grace.
const LAST_ANSWERS: Duration = Duration::from_millis(100);

/// How long a server waits for its own threads at the end. A stdin that stays open would keep the reader for ever.
const END_PATIENCE: Patience = Patience {
    flush: Duration::from_secs(1),
    exit: Duration::ZERO,
    term: Duration::ZERO,
    threads: Duration::from_millis(20),
};

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("info", &self.0.config.info).finish_non_exhaustive()
    }
}

/// Stops a server, and tells its clients of changes. Keeps nothing of the server alive, and does nothing after its end.
#[derive(Clone)]
pub struct ServerHandle {
    stop: CancelToken,
    changes: Arc<Changes>,
}

impl ServerHandle {
    /// Ends the serving: nothing more is accepted, what was accepted is finished up to the grace. Returns at once;
    /// [`Server::start`] returns when it is done.
    pub fn stop(&self) {
        self.stop.cancel("stopped");
    }

    /// Whether the server was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }
}

impl fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerHandle").field("is_stopped", &self.is_stopped()).finish()
    }
}

/// Ends what outlasts requests, and runs the cleanup hook, on every way out, panics included, once nothing is served any more.
pub(crate) struct Cleanup<'a> {
    server: &'a Inner,
    /// No other connection will come.
    is_only: bool,
}

impl<'a> Cleanup<'a> {
    fn new(server: &'a Inner, is_only: bool) -> Self {
        server.servings.fetch_add(1, Ordering::SeqCst);
        Self { server, is_only }
    }
}

impl Drop for Cleanup<'_> {
    fn drop(&mut self) {
        if self.server.servings.fetch_sub(1, Ordering::SeqCst) > 1 {
            return; // what the hook ends is still used by another connection
        }
        if self.is_only || self.server.stop.is_cancelled() {
            let config = &self.server.config;
            config.features.iter().for_each(|feature| feature.stop(config.grace));
        }
        let hook = lock(&self.server.cleanup).take();
        if let Some(hook) = hook {
            if catch_unwind(AssertUnwindSafe(hook)).is_err() {
                log::error!("the cleanup hook panicked");
            }
        }
    }
}
