//! The server's side of HTTP: an [`HttpServer`] carries the messages of a [`Server`](crate::Server).
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
mod builder;
mod endpoint;
mod events;
mod exchange;
mod guard;
mod legacy;
mod mirrored_tools;
mod modern;
mod origin;
mod pair;
mod sealed;
mod session;
mod sessions;
mod sse;
mod standing;
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
pub use sealed::SealedStates;
pub use wire::Head;
use wire::Wire;

use crate::error::{Error, Result};
use crate::server::Server;
use crate::sync::Deadline;

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

    /// Serves until [`ServerHandle::stop`](crate::ServerHandle::stop). Then nothing more is accepted, open streams end, and what
    /// was accepted is finished, up to the server's grace.
    ///
    /// # Errors
    /// When a thread cannot be started, or the operating system tells no more of connections.
    pub fn serve(self) -> Result<()> {
        let Self { wire, endpoint } = self;
        let _cleanup = endpoint.server.begin_serving();
        let (over_tx, over) = bounded::<()>(0);
        let wire = &wire;
        std::thread::scope(|scope| {
            let running =
                std::thread::Builder::new().name("mcp-http".into()).spawn_scoped(scope, move || {
                    let _over = over_tx;
                    wire.run()
                });
            let running = running.map_err(cannot_start)?;
            let stopped = endpoint.server.stop_token().receiver();
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
    let grace = endpoint.server.grace();
    endpoint.modern.end_subscriptions();
    endpoint.modern.drain(Deadline::after(Some(grace)));
    endpoint.sessions.end_streams();
    if !wire.stop(grace) {
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
