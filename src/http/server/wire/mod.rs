//! HTTP/1.1 on non-blocking sockets: connections, requests, answers and event streams. Knows nothing of MCP.
//!
//! Every socket is registered with the operating system once, for edges; the threads of the [crew](crew) wait there
//! for whichever has news. A request costs a thread while it is served. A connection that waits for a request, or for the rest
//! of one, or for its peer to read, and an event stream that waits for an event, cost none.
//!
//! **Invariants:** nothing here waits for a peer, except for the operating system's news of any; whatever a peer sends or does not
//! send is bounded, in bytes and in time; an accepted answer is written in full or its connection is closed.

mod head;
mod limits;
mod reply;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

pub use head::Head;
pub(crate) use limits::Limits;
pub(crate) use reply::{EventStream, NotWritten, Reply, Response};

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

    /// Serves a request, on a thread of its own for as long as it takes. A reply that is dropped unanswered is a 500.
    fn serve(&self, request: Request<Self::Admitted>, reply: Reply);

    /// Answers that there is no room: as many requests as allowed wait already.
    fn busy(&self, limit: usize) -> Response;
}

/// A listening socket and everything that came of it.
pub(crate) struct Wire<S: Service> {
    service: Arc<S>,
}

impl<S: Service> Wire<S> {
    /// Takes a listening socket.
    ///
    /// # Errors
    /// When the operating system has no more handles.
    pub(crate) fn new(_listener: TcpListener, _limits: Limits, _service: Arc<S>) -> io::Result<Self> {
        unimplemented!()
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        unimplemented!()
    }

    /// Serves until [`stop`](Self::stop), on the calling thread and others, and returns when everything has ended.
    ///
    /// # Errors
    /// When the first thread cannot be started.
    pub(crate) fn run(&self) -> io::Result<()> {
        unimplemented!()
    }

    /// Accepts no more connections and no more requests. What is being served is finished, up to `grace`; then every
    /// connection is closed, when what was answered is written or after a second. Returns when that is so; `false`: something was cut off.
    pub(crate) fn stop(&self, _grace: Duration) -> bool {
        unimplemented!()
    }
}

/// The calling thread, which serves a request, waits for the peer of another one: its place may be used meanwhile. Nothing
/// happens on other threads, or the second time.
pub(crate) fn lend() {
    unimplemented!()
}
