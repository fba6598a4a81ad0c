//! What changes on a server, told in one way whatever its era: [`Changes`].
//!
//! ```text
//!          (reading thread)
//!   notices ──▶ ClientRole ──▶ Hub ──▶ the marks of each Changes ──▶ next()
//!                               │
//!                               └────▶ the marks of the callbacks ──▶ mcp-notices ──▶ callbacks
//! ```
//!
//! A Modern server is sent a `subscriptions/listen` for each [`Changes`], and one for the callbacks; a Legacy one tells of its
//! lists by itself, and of resources after `resources/subscribe`.
//!
//! **Invariants:** what has not been taken is kept as marks, never more than what was asked for, so that nothing is lost and
//! nothing grows; the reading thread marks and never waits; after a gap everything that was asked for counts as changed.

mod filter;
mod heard;
mod hub;
mod legacy;
mod marks;
mod subs;
mod wake;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use filter::{Change, Filter};
pub(super) use hub::Hub;
use wake::Wake;

use super::ClientHandle;
use crate::error::{Error, Result};
use crate::sync::Deadline;

/// So many [`Changes`] of a client may be open.
const MAX_OPEN: usize = 64;

/// So many resources may be named by a [`Filter`] that is listened to.
const MAX_URIS: usize = 10_000;

/// The changes on a server, one after the other: what [`ClientHandle::listen`] returns.
///
/// An iterator whose [`next`](Iterator::next) waits for a change, and which ends when the server ends it, when the owner closes
/// the client, or by [`close`](Self::close). A change that comes again before it was taken is one change; no matter how slow
/// the taker is, nothing is lost. Dropping it ends the subscription. Several threads may take from one, by `&Changes`.
///
/// It outlives its connection: if the server breaks it off, it is opened again after a second or so, up to five times in a row
/// with growing pauses; if what carries it breaks, at once and then again and again, with pauses that grow to half a minute; if the
/// server is gone with the connection, a [`reconnect`](ClientHandle::reconnect) does it. [`Change::Interrupted`] says
/// that this has begun, and when it is over everything that was asked for counts as changed.
///
/// ```
/// use tinymcp::client::{Change, Filter};
/// use tinymcp::{Server, ToolRegistry, testing, tool};
///
/// let server = Server::builder("growing", "1.0.0").tools(ToolRegistry::new()).build()?;
/// let client = testing::pair(&server)?;
///
/// let mut changes = client.listen(Filter::new().tools())?;
/// server.tools().register(tool! { fn echo(text: String) -> String { text } })?;
/// assert_eq!(changes.next(), Some(Change::ToolsChanged));
/// assert_eq!(client.list_tools()?.items.len(), 1);
///
/// client.close()?;
/// assert_eq!(changes.next(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Changes {
    hub: Arc<Hub>,
    key: u64,
    wake: Arc<Wake>,
}

/// Why there are no more changes.
#[derive(Debug)]
#[non_exhaustive]
pub enum ChangesEnd {
    /// The server ended it in good order.
    Ended,
    /// This side closed it, or the client.
    Closed,
    /// It could not be opened again.
    Failed(Error),
}

impl Clone for ChangesEnd {
    fn clone(&self) -> Self {
        match self {
            Self::Ended => Self::Ended,
            Self::Closed => Self::Closed,
            Self::Failed(error) => Self::Failed(error.copy()),
        }
    }
}

impl ClientHandle {
    /// Listens to what `filter` asks for. Returns when the server has agreed to tell of it, or of a part of it, see
    /// [`Changes::honoured`].
    ///
    /// Up to 64 may be open at a time; each is told what it asked for.
    ///
    /// # Errors
    /// - [`Error::Unsupported`] when the server tells of nothing that was asked for.
    /// - [`Error::InvalidUse`] when `filter` asks for nothing, or names more than 10,000 resources.
    /// - [`Error::Busy`] when too many are open.
    /// - When the server refuses, or does not answer within the timeout of calls.
    pub fn listen(&self, filter: Filter) -> Result<Changes> {
        if filter.is_empty() {
            return Err(Error::InvalidUse("the filter asks for nothing".into()));
        }
        if filter.uris.len() > MAX_URIS {
            let named = filter.uris.len();
            return Err(Error::InvalidUse(format!("the filter names {named} resources, limit {MAX_URIS}")));
        }
        let hub = Arc::clone(&self.session.changes);
        let (key, wake) = hub.listen(&self.session, filter)?;
        Ok(Changes { hub, key, wake })
    }
}

impl Changes {
    /// The next change, if there is one within `time`; `None` as well if it has ended, see [`end`](Self::end).
    #[must_use = "a change is told once"]
    pub fn next_timeout(&self, time: Duration) -> Option<Change> {
        self.hub.next(self.key, &self.wake, Deadline::after(Some(time)))
    }

    /// The next change, if there is one now.
    #[must_use = "a change is told once"]
    pub fn try_next(&self) -> Option<Change> {
        self.next_timeout(Duration::ZERO)
    }

    /// What the server tells of: the part of what was asked for that it has acknowledged, or, in the Legacy era, that its
    /// capabilities promise and whose subscription it has accepted. It may be another part after a reconnect.
    #[must_use]
    pub fn honoured(&self) -> Filter {
        self.hub.honoured(self.key)
    }

    /// Why there are no more changes; `None` as long as there may be.
    #[must_use]
    pub fn end(&self) -> Option<ChangesEnd> {
        self.hub.end(self.key)
    }

    /// Ends it and tells the server, without waiting for that. A thread that waits for a change gets `None`.
    pub fn close(&self) {
        self.hub.end_of(self.key);
    }
}

#[cfg(feature = "host")]
impl Changes {
    /// Has a signal sent when there is something to take, or nothing more to come, for who takes from several; one that was
    /// not taken stands for all later ones. Once.
    pub(crate) fn signal_to(&self, signal: crossbeam_channel::Sender<()>) {
        let _ = self.wake.also.set(signal.clone());
        // What was marked before was not signalled.
        let _ = signal.try_send(());
    }
}

impl Iterator for Changes {
    type Item = Change;
    fn next(&mut self) -> Option<Change> {
        (&*self).next()
    }
}

impl Iterator for &Changes {
    type Item = Change;
    fn next(&mut self) -> Option<Change> {
        self.hub.next(self.key, &self.wake, Deadline::after(None))
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.hub.remove(self.key);
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").field("honoured", &self.honoured()).field("end", &self.end()).finish()
    }
}
