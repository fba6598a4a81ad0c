//! [`HttpServerBuilder`] and what it sets.

use std::fmt;
use std::net::{TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use super::backend::{Backend, Local};
use super::endpoint::{Endpoint, Paths};
use super::events::{EventStore, MemoryEvents};
use super::guard::{Denied, Guard};
use super::origin::{Allowed, Hosts};
use super::sessions::Sessions;
use super::wire::{Head, Limits, Wire};
use super::{HttpServer, KEEP_ALIVE};
use crate::context::Principal;
use crate::error::{Error, Result};
use crate::protocol::ProtocolVersion;
use crate::server::Server;

/// An [`HttpServer`] to be. Everything has a default; how many requests are served at once and how large they may be is set on
/// the [`ServerBuilder`](crate::server::ServerBuilder).
///
/// ```
/// use std::time::Duration;
/// use tinymcp::Server;
/// use tinymcp::http::HttpServer;
///
/// let server = Server::builder("notes", "1.0.0").max_threads(32).build()?;
/// let http = HttpServer::builder(&server)
///     .path("/notes/mcp")
///     .allow_host("notes.example.com") // the name that a proxy passes on
///     .max_sessions(200)
///     .session_idle(Duration::from_secs(600))
///     .bind("127.0.0.1:0")?;
/// assert_eq!(http.url(), format!("http://{}/notes/mcp", http.address()));
/// # Ok::<(), tinymcp::Error>(())
/// ```
pub struct HttpServerBuilder {
    backend: Arc<dyn Backend>,
    paths: Paths,
    hosts: Hosts,
    origins: Vec<String>,
    guard: Option<Guard>,
    events: Option<Arc<dyn EventStore>>,
    max_sessions: usize,
    session_idle: Duration,
    session_prefix: Option<String>,
    limits: Limits,
}

impl HttpServerBuilder {
    pub(super) fn new(server: &Server) -> Self {
        Self::of(Arc::new(Local::new(server)), 1000)
    }

    pub(super) fn of(backend: Arc<dyn Backend>, max_sessions: usize) -> Self {
        let own = backend.limits().clone();
        let has_pair = backend.offered().contains(&ProtocolVersion::V2024_11_05);
        Self {
            backend,
            paths: Paths {
                mcp: "/mcp".to_owned(),
                pair: has_pair.then(|| ("/sse".to_owned(), "/messages".to_owned())),
            },
            hosts: Hosts::Usual,
            origins: Vec::new(),
            guard: None,
            events: Some(Arc::new(MemoryEvents::new())),
            max_sessions,
            session_idle: Duration::from_secs(30 * 60),
            session_prefix: None,
            limits: Limits {
                head_bytes: 16 * 1024,
                headers: 100,
                body_bytes: own.frame_bytes,
                receiving_bytes: 64 * 1024 * 1024,
                sending_bytes: 64 * 1024 * 1024,
                head_time: Duration::from_secs(10),
                body_time: Duration::from_secs(60),
                idle_time: Duration::from_secs(60),
                write_time: Duration::from_secs(30),
                keep_alive: KEEP_ALIVE,
                connections: 16_384,
                threads: own.threads,
                waiting: own.in_flight,
                stream_bytes: 64 * 1024,
            },
        }
    }

    /// The path of the endpoint. Default: `/mcp`.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.paths.mcp = path.into();
        self
    }

    /// Where clients of 2024-11-05 open their stream, and where they post to; `None`: they are not served. Default: `/sse` and
    /// `/messages`, if the server offers that revision.
    #[must_use]
    pub fn sse_paths(mut self, paths: Option<(&str, &str)>) -> Self {
        self.paths.pair = paths.map(|(stream, messages)| (stream.to_owned(), messages.to_owned()));
        self
    }

    /// Lets requests in that name this host, with or without a port, in their `Host` header. A server that is bound to a loopback
    /// address otherwise accepts `localhost` and loopback addresses alone, so that no web page can reach it under a
    /// name of its own; one that is bound to another address accepts any, unless hosts are named here.
    #[must_use]
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        match &mut self.hosts {
            Hosts::Only(hosts) => hosts.push(host.into()),
            Hosts::Usual | Hosts::Any => self.hosts = Hosts::Only(vec![host.into()]),
        }
        self
    }

    /// Lets requests in whatever host they name: where a proxy has looked at that before.
    #[must_use]
    pub fn allow_any_host(mut self) -> Self {
        self.hosts = Hosts::Any;
        self
    }

    /// Lets requests in that browsers send for pages of this origin, such as `https://app.example.com`. Otherwise only those of
    /// pages from this machine are. What browsers ask for before that (CORS) is for a proxy to answer.
    #[must_use]
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Has `guard` look at the head of each request, before its body is read, and say who makes it. It may take a
    /// while: others go on meanwhile, up to the number of threads. If it panics, the request is not let in.
    ///
    /// Sessions, tasks and the states of calls belong to the [id](Principal::id) of whoever began them.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use tinymcp::Server;
    /// use tinymcp::context::Principal;
    /// use tinymcp::http::{Denied, HttpServer};
    ///
    /// let keys = HashMap::from([("opensesame".to_owned(), "alice")]); // in earnest: hashes of keys
    /// let server = Server::builder("notes", "1.0.0").build()?;
    /// let http = HttpServer::builder(&server).guard(move |request| {
    ///     let key = request.header("x-api-key").ok_or_else(|| Denied::unauthorized("a key is needed"))?;
    ///     let who = keys.get(key).ok_or_else(|| Denied::unauthorized("no such key"))?;
    ///     Ok(Principal::new(*who))
    /// });
    /// # let _ = http;
    /// # Ok::<(), tinymcp::Error>(())
    /// ```
    #[must_use]
    pub fn guard(
        mut self,
        guard: impl Fn(&Head) -> std::result::Result<Principal, Denied> + Send + Sync + 'static,
    ) -> Self {
        self.guard = Some(Box::new(guard));
        self
    }

    /// Keeps the events of Legacy streams in `events`, for clients that come back. Default: a [`MemoryEvents`].
    #[must_use]
    pub fn events(mut self, events: impl EventStore + 'static) -> Self {
        self.events = Some(Arc::new(events));
        self
    }

    /// Keeps no events: what a Legacy client misses it has missed.
    #[must_use]
    pub fn without_events(mut self) -> Self {
        self.events = None;
        self
    }

    /// How many Legacy clients may have a session; whoever is idle for longest makes room. Default: 1000.
    #[must_use]
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions.max(1);
        self
    }

    /// After how long without an open request or stream a session ends. Default: 30 min.
    #[must_use]
    pub fn session_idle(mut self, time: Duration) -> Self {
        self.session_idle = time;
        self
    }

    /// Begins the id of a new session with the value of the header `name`, and a dash: for a proxy that chooses among several
    /// servers by the beginning of a session's id. The proxy must set the header of every request, so that no client can. Up to 64
    /// letters and digits of ASCII; a request without that gets an id without it.
    #[must_use]
    pub fn session_prefix_from(mut self, name: impl Into<String>) -> Self {
        self.session_prefix = Some(name.into());
        self
    }

    /// How many connections may be open; further ones get a 503. Default: 16,384.
    #[must_use]
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.limits.connections = connections.max(1);
        self
    }

    /// How long the head of a request may take, in all. Default: 10 s.
    #[must_use]
    pub fn head_time(mut self, time: Duration) -> Self {
        self.limits.head_time = time;
        self
    }

    /// How long the body of a request may take, in all. Default: 60 s.
    #[must_use]
    pub fn body_time(mut self, time: Duration) -> Self {
        self.limits.body_time = time;
        self
    }

    /// How long a connection may wait for a request. Default: 60 s.
    #[must_use]
    pub fn idle_time(mut self, time: Duration) -> Self {
        self.limits.idle_time = time;
        self
    }

    /// How long a client may take to read some more of its answer. Default: 30 s.
    #[must_use]
    pub fn write_time(mut self, time: Duration) -> Self {
        self.limits.write_time = time;
        self
    }

    /// After how long a silent stream carries a comment. Default: 15 s.
    #[must_use]
    pub fn keep_alive(mut self, time: Duration) -> Self {
        self.limits.keep_alive = time;
        self
    }

    /// How many bytes may wait on a stream for a client that does not read. Default: 64 KiB.
    #[must_use]
    pub fn max_unsent_bytes(mut self, bytes: usize) -> Self {
        self.limits.stream_bytes = bytes;
        self
    }

    /// Listens at `address`. Without a reason use a loopback address: whoever can connect can call every tool.
    ///
    /// A server without a [`state_store`](crate::server::ServerBuilder::state_store) of its own has the states of calls that
    /// wait for input travel with them from then on, in [`SealedStates`](crate::http::SealedStates) with a random key.
    ///
    /// # Errors
    /// When the address cannot be bound, a path does not begin with `/`, or a host or origin that is allowed is none.
    pub fn bind(self, address: impl ToSocketAddrs + fmt::Debug) -> Result<HttpServer> {
        let pair = self.paths.pair.iter().flat_map(|(stream, messages)| [stream, messages]);
        if let Some(path) = [&self.paths.mcp].into_iter().chain(pair).find(|path| !path.starts_with('/')) {
            return Err(Error::InvalidUse(format!("the path {path:?} does not begin with a slash")));
        }
        let cannot = |error| Error::Transport { context: format!("cannot listen at {address:?}"), error };
        let listener = TcpListener::bind(&address).map_err(cannot)?;
        let bound = listener.local_addr().map_err(cannot)?;
        let backend = self.backend;
        backend.prepare(self.max_sessions)?;
        let endpoint = Arc::new(Endpoint {
            // Each stream costs a connection, of which there is a limit.
            modern: backend.modern_line(self.limits.connections),
            allowed: Allowed::new(bound.ip(), &self.hosts, &self.origins).map_err(Error::InvalidUse)?,
            guard: self.guard,
            sessions: Sessions::new(self.max_sessions, self.session_idle),
            events: self.events,
            paths: self.paths,
            session_prefix: self.session_prefix,
            backend,
        });
        let wire = Wire::new(listener, self.limits, Arc::clone(&endpoint)).map_err(cannot)?;
        Ok(HttpServer { wire, endpoint })
    }
}

impl fmt::Debug for HttpServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServerBuilder").field("paths", &self.paths).finish_non_exhaustive()
    }
}
