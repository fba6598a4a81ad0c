//! [`Resolve`], and looking a name up within a time.

use std::fmt;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_channel::bounded;

/// Look-ups of a policy at the same time, those included that were given up.
const MAX_LOOKUPS: usize = 16;

/// Finds the addresses of a host. Any function will do: `|host: &str| …`.
pub trait Resolve: Send + Sync + 'static {
    /// All addresses of `host`, a name in lower case without a dot at its end.
    ///
    /// # Errors
    /// When it has none, or nobody can say.
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

impl<F: Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static> Resolve for F {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self(host)
    }
}

/// The system's, which std asks.
fn of_system(host: &str) -> io::Result<Vec<IpAddr>> {
    Ok((host, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
}

/// Why there are no addresses.
pub(super) enum NotFound {
    Busy(usize),
    Late,
    Failed(io::Error),
}

/// The look-ups of a policy and its clones.
#[derive(Clone)]
pub(super) struct LookUps {
    resolver: Arc<dyn Resolve>,
    open: Arc<AtomicUsize>,
}

impl LookUps {
    pub(super) fn new() -> Self {
        Self::by(of_system)
    }

    pub(super) fn by(resolver: impl Resolve) -> Self {
        Self { resolver: Arc::new(resolver), open: Arc::default() }
    }

    /// The addresses of `host`, within `time`.
    ///
    /// The system's resolver blocks, and nothing can interrupt it: it runs on a thread of its own (`mcp-resolve`). Owner: the
    /// look-up. Bound: [`MAX_LOOKUPS`] of a policy. End: when the resolver returns, by the system's own time-outs; one that is late is
    /// left to itself until then, and counted.
    pub(super) fn find(&self, host: &str, time: Duration) -> Result<Vec<IpAddr>, NotFound> {
        let open = Open::one_of(&self.open)?;
        // One answer at most, so that the thread never waits to send it.
        let (sender, answer) = bounded(1);
        let (resolver, host) = (Arc::clone(&self.resolver), host.to_owned());
        let look_up = move || {
            let found = resolver.resolve(&host);
            // Before the answer: who has it may ask again.
            drop(open);
            // Nobody may be waiting any more.
            let _ = sender.send(found);
        };
        std::thread::Builder::new().name("mcp-resolve".into()).spawn(look_up).map_err(NotFound::Failed)?;
        match answer.recv_timeout(time) {
            Ok(found) => found.map_err(NotFound::Failed),
            Err(crossbeam_channel::RecvTimeoutError::Timeout) => Err(NotFound::Late),
            Err(crossbeam_channel::RecvTimeoutError::Disconnected) => {
                Err(NotFound::Failed(io::Error::other("the resolver panicked")))
            }
        }
    }
}

impl fmt::Debug for LookUps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LookUps({} open)", self.open.load(Ordering::Relaxed))
    }
}

/// Counts as open until it is dropped.
struct Open(Arc<AtomicUsize>);

impl Open {
    fn one_of(count: &Arc<AtomicUsize>) -> Result<Self, NotFound> {
        let more = |open| (open < MAX_LOOKUPS).then_some(open + 1);
        match count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(Self(Arc::clone(count))),
            Err(open) => Err(NotFound::Busy(open)),
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
