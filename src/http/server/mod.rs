//! The server's side of HTTP: an [`HttpServer`] carries the messages of a [`Server`].
//!
//! ```text
//!   sockets ═ wire ═ endpoint ─┬─ modern ──────────────┬─▶ the Server
//!                              └─ legacy, pair ─ session ┘
//! ```
//!
//! `wire` knows HTTP and no MCP; the [`endpoint`](Endpoint) decides who is let in and which era a message is of; an `Exchange` is
//! the answer to one POST, a `Session` what is known of a Legacy client.
//!
//! **Invariants:** a request costs a thread while it is served, and an open stream or an idle connection none; nothing that a
//! client does or leaves undone holds up another.

mod answers;
mod backend;
mod builder;
mod endpoint;
mod events;
mod exchange;
mod greeting;
mod guard;
mod legacy;
mod mirrored_tools;
mod modern;
mod origin;
mod pair;
mod relay;
mod sealed;
mod session;
mod sessions;
mod sse;
mod standing;
mod way;
mod wire;

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

pub use builder::HttpServerBuilder;
use crossbeam_channel::{bounded, select};
use endpoint::Endpoint;
pub use events::{EventError, EventStore, MemoryEvents, Replay, StreamKey};
pub use guard::Denied;
use relay::{MAX_SERVERS, Relay};
pub use sealed::SealedStates;
pub use wire::Head;
use wire::Wire;

use crate::error::{Error, Result};
use crate::server::Server;
use crate::sync::{CancelToken, Deadline};
use crate::transport::Transport;

/// A [`Server`] behind a listening socket: Streamable HTTP in both eras, and HTTP+SSE for clients of 2024-11-05.
///
/// ```no_run
/// use tinymcp::http::{Denied, HttpServer};
/// use tinymcp::context::Principal;
/// use tinymcp::Server;
///
/// let server = Server::builder("notes", "1.0.0").build()?;
/// let http = HttpServer::builder(&server)
///     .guard(|request| match request.header("x-api-key") {
///         Some("opensesame") => Ok(Principal::new("alice")),
///         _ => Err(Denied::unauthorized("no such key")),
///     })
///     .bind("127.0.0.1:8000")?;
/// println!("serving {}", http.url());
/// http.serve()?; // until the server is stopped
/// # Ok::<(), tinymcp::Error>(())
/// ```
///
/// There is no TLS here: put a proxy in front, see the [guide](crate::guide::http).
pub struct HttpServer {
    wire: Wire<Endpoint>,
    endpoint: Arc<Endpoint>,
}

impl HttpServer {
    /// Serves `server`, once it is [bound](HttpServerBuilder::bind).
    #[must_use]
    pub fn builder(server: &Server) -> HttpServerBuilder {
        HttpServerBuilder::new(server)
    }

    /// Serves what a server elsewhere serves, usually a child process that speaks over its stdin and stdout. `connect` makes what
    /// reaches one.
    ///
    /// Messages pass unchanged, but for line breaks between their parts. How clients and servers are brought together depends
    /// on the era, as over HTTP a request is all there is of a Modern client:
    ///
    /// - A Legacy client has a server of its own from its `initialize` until its session ends, and messages keep their ids. What
    ///   the server asks and tells goes over the stream of the one call that is open; if there is none, or are several, over the
    ///   stream that its client has opened by a GET; if there is no such, over that of any call, or it waits. A `ping` that would have to wait is answered here. If the server ends, so does the session. By default
    ///   there may be 32 of them, see [`max_sessions`](HttpServerBuilder::max_sessions); whoever is idle for longest makes room.
    /// - Modern clients share one server, to which they are one client: it must not keep for one what no other may see. Ids, progress
    ///   tokens and ids of subscriptions are replaced on the way there and put back on the way back; a client that closes its
    ///   connection is told of as a cancellation. A notification that names none of these, such as a log message, is dropped:
    ///   nobody can know whose it is. If the server ends, calls that are open fail with -32603 and the next request starts
    ///   it again, after a pause if it ends again and again. If it only speaks Legacy, it says so itself.
    ///
    /// ```no_run
    /// use tinymcp::http::HttpServer;
    /// use tinymcp::transport::ChildProcess;
    ///
    /// let http = HttpServer::relay(|| ChildProcess::new("python3").arg("server.py")).bind("127.0.0.1:8000")?;
    /// println!("serving {}", http.url());
    /// let _stop = http.stop_token(); // for another thread
    /// http.serve()?;
    /// # Ok::<(), tinymcp::Error>(())
    /// ```
    #[must_use]
    pub fn relay<T: Transport>(connect: impl Fn() -> T + Send + Sync + 'static) -> HttpServerBuilder {
        HttpServerBuilder::of(Arc::new(Relay::new(connect)), MAX_SERVERS)
    }

    /// Ends the serving when it is fired, as [`ServerHandle::stop`](crate::ServerHandle::stop) does.
    #[must_use]
    pub fn stop_token(&self) -> CancelToken {
        self.endpoint.backend.stop_token().clone()
    }

    /// Where it listens: the port that the operating system chose, if it was bound to port 0.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.wire.address()
    }

    /// The URL of the endpoint, for clients on this machine.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address(), self.endpoint.paths.mcp)
    }

    /// Serves until [`ServerHandle::stop`](crate::ServerHandle::stop), or until its [`stop_token`](Self::stop_token) fires. Then
    /// subscriptions end, tasks that a client waits for are finished, and nothing more is accepted; what was accepted is
    /// finished, all within the server's grace.
    ///
    /// # Errors
    /// When a thread cannot be started, or the operating system tells no more of connections.
    pub fn serve(self) -> Result<()> {
        log::info!("serving {}", self.url());
        let Self { wire, endpoint } = self;
        let _serving = endpoint.backend.begin_serving();
        let (over_tx, over) = bounded::<()>(0);
        let wire = &wire;
        std::thread::scope(|scope| {
            let running =
                std::thread::Builder::new().name("mcp-http".into()).spawn_scoped(scope, move || {
                    let _over = over_tx;
                    wire.run()
                });
            let running = running.map_err(cannot_start)?;
            let stopped = endpoint.backend.stop_token().receiver();
            select! {
                recv(stopped) -> _ => {}
                recv(over) -> _ => {}
            }
            end(wire, &endpoint);
            running
                .join()
                .unwrap_or_else(|_| Err(std::io::Error::other("the thread panicked")))
                .map_err(cannot_start)
        })
    }
}

/// In good order: streams that would never end, then what is being served, then what is known of clients.
fn end(wire: &Wire<Endpoint>, endpoint: &Endpoint) {
    let grace = endpoint.backend.grace();
    endpoint.modern.end_subscriptions();
    let deadline = Deadline::after(Some(grace));
    endpoint.modern.drain(deadline);
    endpoint.sessions.drain(deadline);
    endpoint.sessions.end_streams();
    if !wire.stop(deadline.remaining().unwrap_or(grace)) {
        log::warn!("requests are left unfinished after the grace of {}", crate::error::Seconds(grace));
    }
    endpoint.sessions.end_all();
}

fn cannot_start(error: std::io::Error) -> Error {
    Error::Transport { context: "cannot start a thread".to_owned(), error }
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServer").field("url", &self.url()).finish_non_exhaustive()
    }
}

impl Server {
    /// Serves Streamable HTTP at `/mcp` of this address until [`ServerHandle::stop`](crate::ServerHandle::stop). What else can be
    /// set is in [`HttpServer`].
    ///
    /// ```no_run
    /// # let server = tinymcp::Server::builder("notes", "1.0.0").build()?;
    /// server.serve_http("127.0.0.1:8000")?;
    /// # Ok::<(), tinymcp::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the address cannot be bound or a thread cannot be started.
    pub fn serve_http(&self, address: impl ToSocketAddrs + fmt::Debug) -> Result<()> {
        HttpServer::builder(self).bind(address)?.serve()
    }
}

/// After so long without a message a stream carries a comment, so that nobody in between takes it for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
