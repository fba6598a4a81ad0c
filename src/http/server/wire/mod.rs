//! HTTP/1.1 on non-blocking sockets: connections, requests, answers and event streams. Knows nothing of MCP.
//!
//! Every socket is registered with the operating system once, for edges; the threads of the [crew] wait there
//! for whichever has news. A request costs a thread while it is served. A connection that waits for a request, or for the rest
//! of one, or for its peer to read, and an event stream that waits for an event, cost none.
//!
//! ```text
//!  readiness ─▶ crew ─▶ connection ─▶ inbox: parse, chunked ─▶ Service::admit, Service::serve
//!      ▲          │          ▲
//!      └──────────┤          └── exchange: text, outgoing ◀── Reply, EventStream
//!                 └─▶ registry: which are open, and what has taken too long
//! ```
//!
//! **Invariants:** nothing here waits for a peer, except for the operating system's news of any; whatever a peer sends or does not
//! send is bounded, in bytes and in time; an accepted answer is written in full or its connection is closed.
//!
//! **Locks**, each held for a few instructions or one system call that does not wait: one in each connection; within it, or without,
//! that of the registry or of the listening socket; that of the crew, within no other. None is held across the service's code.

mod accept;
mod chunked;
mod common;
mod connection;
mod crew;
mod exchange;
mod head;
mod inbox;
mod limits;
mod outgoing;
mod parse;
mod readiness;
mod registry;
mod reply;
mod serve;
#[cfg(test)]
mod tests;
mod text;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) use crew::lend;
pub use head::Head;
pub(crate) use limits::Limits;
pub(crate) use reply::{EventStream, NotWritten, Reply, Response};

use common::{ACCEPT, Common};
use crew::Crew;
use readiness::Source;

/// When everything is answered, or the grace is over, so long is waited for peers to take what was written.
const FLUSH: Duration = Duration::from_secs(1);

/// And so long for threads whose requests are answered or cut off.
const LEAVE: Duration = Duration::from_millis(250);

/// So many connections wait to be accepted, if the operating system allows it.
const BACKLOG: i32 = 4096;

/// A whole request.
#[derive(Debug)]
pub(crate) struct Request<A> {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
    /// What came of [`Service::admit`].
    pub(crate) admitted: A,
}

/// Answers requests.
pub(crate) trait Service: Send + Sync + Sized + 'static {
    /// What is learned of a request by its head.
    type Admitted: Send + 'static;

    /// Looks at a head, before the body is read. Must not block for long: it is other people's time.
    ///
    /// # Errors
    /// The answer to a request that is not served; its body is not read, and the connection is closed.
    fn admit(&self, head: &Head) -> Result<Self::Admitted, Response>;

    /// Whether [`admit`](Self::admit) runs other people's code, so that others are not to wait for it.
    fn admits_at_length(&self) -> bool {
        false
    }

    /// Serves a request, on a thread of its own for as long as it takes. A reply that is dropped unanswered is a 500.
    fn serve(&self, request: Request<Self::Admitted>, reply: Reply);

    /// Whether the request runs nobody else's code and is served at once. It needs no place then: what others wait for may be
    /// in it. Only asked when there is no place.
    fn is_quick(&self, request: &Request<Self::Admitted>) -> bool {
        let _ = request;
        false
    }

    /// Puts a refusal of the wire, whose body is a text for people, into the words of the service.
    fn put(&self, refusal: Response) -> Response {
        refusal
    }

    /// Answers that there is no room: as many requests as allowed wait already.
    fn busy(&self, limit: usize) -> Response;
}

/// A listening socket and everything that came of it.
#[derive(Debug)]
pub(crate) struct Wire<S: Service> {
    address: SocketAddr,
    common: Arc<Common>,
    crew: Arc<Crew>,
    /// What the crew's threads call.
    service: std::marker::PhantomData<Arc<S>>,
}

impl<S: Service> Wire<S> {
    /// Takes a listening socket.
    ///
    /// # Errors
    /// When the operating system has no more handles.
    pub(crate) fn new(listener: TcpListener, limits: Limits, service: Arc<S>) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        // Of a burst of connections std lets 128 wait to be accepted. The others would try again after a second, or three.
        rustix::net::listen(&listener, BACKLOG)?;
        let address = listener.local_addr()?;
        let listener = Source::Listener(Arc::new(listener));
        let common = Arc::new(Common::new(listener.clone(), limits)?);
        common.readiness.register(&listener, ACCEPT)?;
        let of_crew = Arc::clone(&common);
        let work = move |crew: &Arc<Crew>| serve::work(&service, &of_crew, crew);
        let crew = Arc::new(Crew::new(Arc::clone(&common), Box::new(work)));
        Ok(Self { address, common, crew, service: std::marker::PhantomData })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until [`stop`](Self::stop), on threads of its own, and returns when everything has ended. The calling thread waits:
    /// it could not return if it served a request that does not end.
    ///
    /// # Errors
    /// When the first thread cannot be started, or the operating system tells no more news.
    pub(crate) fn run(&self) -> io::Result<()> {
        self.crew.run()
    }

    /// Accepts no more connections and no more requests. What is being served is finished, up to `grace`; then every
    /// connection is closed, when what was answered is written or after a second. Returns when that is so; `false`: something was cut off.
    pub(crate) fn stop(&self, grace: Duration) -> bool {
        let Common { registry, .. } = &*self.common;
        self.common.begin_to_stop();
        self.common.close_listener();
        registry.close();
        registry.all().iter().for_each(|connection| connection.stop(false));
        registry.wait_until(after(grace), |_| self.common.exchanges() == 0);
        let cut_off = registry.all().iter().filter(|connection| connection.cut_off()).count();
        registry.wait_until(after(FLUSH), |open| open == 0);
        let unread = self.common.exchanges();
        registry.all().iter().for_each(|connection| connection.stop(true));
        let stuck = self.crew.end(LEAVE);
        if stuck > 0 {
            log::warn!("{stuck} threads still serve requests that were cut off, and were left to themselves");
        }
        cut_off + unread == 0
    }
}

fn after(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or(now + Duration::from_secs(365 * 24 * 3600))
}
