//! Notifications of the server, brought to users' callbacks on a thread of their own.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use serde_json::value::RawValue;

use super::ClientHandle;
use super::session::Session;
use crate::json::Json;

/// So many notifications may wait for a callback that is slow.
const QUEUE: usize = 256;

type OnToolsChanged = dyn Fn(&ClientHandle) + Send + Sync;

type OnOther = dyn Fn(&str, Option<&Json>) + Send + Sync;

/// The callbacks.
#[derive(Clone, Default)]
pub(super) struct Notices {
    pub(super) on_tools_changed: Option<Arc<OnToolsChanged>>,
    pub(super) on_other: Option<Arc<OnOther>>,
}

/// Queues notifications for the thread `mcp-notices`, which the first one starts. Bound: [`QUEUE`]. End: the
/// dispatcher's close, after the callback that runs then.
pub(super) struct Dispatcher {
    shared: Arc<Shared>,
    queue: Mutex<Queue>,
}

struct Shared {
    notices: Notices,
    session: Weak<Session>,
    /// The tools changed and the callback has not been told: further changes say nothing new. Looked at after every
    /// notice, so that a full queue does not lose it, and cleared before the callback runs, so that a change
    /// during the callback leads to exactly one more.
    tools_changed: AtomicBool,
}

enum Queue {
    NotStarted,
    Open(Sender<Notice>),
    Closed,
}

enum Notice {
    ToolsChanged,
    Other(String, Option<Json>),
}

impl fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dispatcher")
    }
}

impl Dispatcher {
    pub(super) fn new(notices: Notices, session: Weak<Session>) -> Self {
        let shared = Shared { notices, session, tools_changed: AtomicBool::new(false) };
        Self { shared: Arc::new(shared), queue: Mutex::new(Queue::NotStarted) }
    }

    /// From the reading thread: never blocks.
    pub(super) fn notified(&self, method: &str, params: Option<&RawValue>) {
        let shared = &self.shared;
        if method == "notifications/tools/list_changed" && shared.notices.on_tools_changed.is_some() {
            if !shared.tools_changed.swap(true, Ordering::SeqCst) {
                self.queue(Notice::ToolsChanged);
            }
        } else if shared.notices.on_other.is_some() {
            self.queue(Notice::Other(method.to_owned(), params.map(Json::from_raw)));
        } else {
            log::debug!("ignored {method}: no callback is set");
        }
    }

    fn queue(&self, notice: Notice) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*queue, Queue::NotStarted) {
            let (sender, receiver) = bounded(QUEUE);
            let shared = Arc::clone(&self.shared);
            let spawned = std::thread::Builder::new()
                .name("mcp-notices".into())
                .spawn(move || shared.deliver(&receiver));
            match spawned {
                Ok(_) => *queue = Queue::Open(sender),
                Err(e) => log::warn!("no thread for notifications: {e}"),
            }
        }
        let Queue::Open(sender) = &*queue else { return };
        if let Err(TrySendError::Full(Notice::Other(method, _))) = sender.try_send(notice) {
            log::warn!("dropped {method}: {QUEUE} notifications wait for a callback that is slow");
        }
    }

    pub(super) fn close(&self) {
        *self.queue.lock().unwrap_or_else(PoisonError::into_inner) = Queue::Closed;
    }
}

impl Shared {
    fn deliver(&self, queue: &Receiver<Notice>) {
        for notice in queue {
            let call = std::panic::AssertUnwindSafe(|| self.deliver_one(&notice));
            if std::panic::catch_unwind(call).is_err() {
                log::error!("a notification callback panicked");
            }
        }
    }

    fn deliver_one(&self, notice: &Notice) {
        if let (Notice::Other(method, params), Some(callback)) = (notice, &self.notices.on_other) {
            callback(method, params.as_ref());
        }
        if self.tools_changed.swap(false, Ordering::SeqCst) {
            if let (Some(callback), Some(session)) = (&self.notices.on_tools_changed, self.session.upgrade())
            {
                callback(&ClientHandle { session });
            }
        }
    }
}
