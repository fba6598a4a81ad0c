//! [`CancelToken`]: a flag that can be waited on.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::primitive::{Mutex, lock};

/// Tells work to stop. Clones share one state; once fired, a token stays fired.
///
/// ```
/// use std::time::Duration;
/// use tinymcp::CancelToken;
///
/// let token = CancelToken::new();
/// let waiter = token.clone();
/// let thread = std::thread::spawn(move || waiter.wait_timeout(Duration::from_secs(60)));
/// token.cancel("user pressed stop");
/// assert!(thread.join().unwrap());
/// assert_eq!(token.reason(), Some("user pressed stop"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    reason: OnceLock<String>,
    /// Made by the first one who waits; firing drops the sender, which wakes every receiver. Nothing is ever sent.
    wake: Mutex<Wake>,
    /// What fires with it. Bound: twice those that are still held by somebody, see `carries`.
    #[cfg(feature = "host")]
    carried: Mutex<Vec<std::sync::Weak<Inner>>>,
}

type Wake = Option<(Option<Sender<Infallible>>, Receiver<Infallible>)>;

impl CancelToken {
    /// A token that has not fired.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Fires the token. The first reason stays; later calls do nothing.
    pub fn cancel(&self, reason: impl Into<String>) {
        if self.0.reason.set(reason.into()).is_ok() {
            let mut wake = lock(&self.0.wake);
            match wake.as_mut() {
                Some((sender, _)) => drop(sender.take()),
                None => *wake = Some((None, bounded(0).1)),
            }
            drop(wake);
            #[cfg(feature = "host")]
            self.cancel_carried();
        }
    }

    /// Fires `other` when this one fires, for as long as somebody holds `other`; at once if this one has.
    #[cfg(feature = "host")]
    pub(crate) fn carries(&self, other: &Self) {
        let mut carried = lock(&self.0.carried);
        if carried.len() == carried.capacity() {
            carried.retain(|other| other.strong_count() > 0);
        }
        carried.push(Arc::downgrade(&other.0));
        drop(carried);
        // After it was added: whoever fires this one now finds it there, or is seen here.
        if let Some(reason) = self.reason() {
            other.cancel(reason);
        }
    }

    #[cfg(feature = "host")]
    fn cancel_carried(&self) {
        let carried = std::mem::take(&mut *lock(&self.0.carried));
        let reason = self.reason().unwrap_or_default();
        for other in carried.iter().filter_map(std::sync::Weak::upgrade) {
            Self(other).cancel(reason);
        }
    }

    /// Whether the token has fired.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.reason.get().is_some()
    }

    /// Why it fired.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.0.reason.get().map(String::as_str)
    }

    /// Waits until the token fires or `timeout` has passed; `true` if it fired. What a handler uses
    /// instead of sleeping.
    #[must_use]
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        // Nothing is ever sent, so the only way out besides the timeout is the sender's drop.
        let _ = self.receiver().recv_timeout(timeout);
        self.is_cancelled()
    }

    /// Becomes ready (disconnected) when the token fires: for `select!`.
    pub(crate) fn receiver(&self) -> Receiver<Infallible> {
        lock(&self.0.wake)
            .get_or_insert_with(|| {
                let (sender, receiver) = bounded(0);
                (Some(sender), receiver)
            })
            .1
            .clone()
    }
}

#[cfg(all(test, feature = "host"))]
mod tests {
    use super::*;

    #[test]
    fn one_token_fires_others() {
        let (parent, child, grandchild) = (CancelToken::new(), CancelToken::new(), CancelToken::new());
        parent.carries(&child);
        child.carries(&grandchild);
        assert!(!grandchild.is_cancelled());
        parent.cancel("revoked");
        assert_eq!(grandchild.reason(), Some("revoked"));
        let late = CancelToken::new();
        parent.carries(&late);
        assert_eq!(late.reason(), Some("revoked"));
    }

    #[test]
    fn what_nobody_holds_is_forgotten() {
        let parent = CancelToken::new();
        for _ in 0..10_000 {
            parent.carries(&CancelToken::new());
        }
        assert!(lock(&parent.0.carried).len() < 16);
    }
}
