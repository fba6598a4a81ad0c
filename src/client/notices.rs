//! Notifications of the server, brought to users' callbacks on a thread of their own.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};
use serde_json::value::RawValue;

use super::ClientHandle;
use super::session::Session;
use crate::json::Json;
use crate::sync::{Mutex, lock};

/// So many notifications may wait for a callback that is slow.
const QUEUE: usize = 256;

/// A change of the tools is told this long after its notice: changes come in bursts, and a callback that lists the tools
/// anew would otherwise do so in the middle of one.
const SETTLE: Duration = Duration::from_millis(10);

/// If more changes came while the callback ran, it is called again after this.
const PAUSE: Duration = Duration::from_millis(100);

type OnToolsChanged = dyn Fn(&ClientHandle) + Send + Sync;

type OnElicitationComplete = dyn Fn(&str) + Send + Sync;

type OnOther = dyn Fn(&str, Option<&Json>) + Send + Sync;

/// The callbacks.
#[derive(Clone, Default)]
pub(super) struct Notices {
    pub(super) on_tools_changed: Option<Arc<OnToolsChanged>>,
    pub(super) on_elicitation_complete: Option<Arc<OnElicitationComplete>>,
    pub(super) on_other: Option<Arc<OnOther>>,
}

/// Queues notifications for the thread `mcp-notices`, which the first one starts. Bound: [`QUEUE`]. End: the
/// dispatcher's close, after the callback that runs then.
pub(super) struct Dispatcher {
    shared: Arc<Shared>,
    /// Held for a `try_send`, which never waits.
    queue: Mutex<Queue>,
}

struct Shared {
    notices: Notices,
    session: Weak<Session>,
    /// The tools changed and the callback has not been told: further changes say nothing new. Looked at after every
    /// notice, so that a full queue does not lose it, and cleared before the callback runs, so that changes
    /// during the callback lead to exactly one more.
    tools_changed: AtomicBool,
}

enum Queue {
    NotStarted,
    Open(Sender<Notice>),
    Closed,
}

enum Notice {
    ToolsChanged,
    ElicitationComplete(String),
    Other(String, Option<Json>),
}

/// Runs a callback; a panic in it goes to the log.
fn caught(callback: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(callback)).is_err() {
        log::error!("a notification callback panicked");
    }
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
            self.tools_changed();
        } else if method == "notifications/elicitation/complete"
            && shared.notices.on_elicitation_complete.is_some()
        {
            // Told by `elicitation_complete`, if it is of any interest.
        } else if shared.notices.on_other.is_some() {
            self.queue(Notice::Other(method.to_owned(), params.map(Json::of_frame)));
        } else {
            log::debug!("ignored {method}: no callback is set");
        }
    }

    /// Never blocks.
    pub(super) fn tools_changed(&self) {
        let shared = &self.shared;
        if shared.notices.on_tools_changed.is_some() && !shared.tools_changed.swap(true, Ordering::SeqCst) {
            self.queue(Notice::ToolsChanged);
        }
    }

    /// Never blocks.
    pub(super) fn elicitation_complete(&self, id: String) {
        if self.shared.notices.on_elicitation_complete.is_some() {
            self.queue(Notice::ElicitationComplete(id));
        }
    }

    fn queue(&self, notice: Notice) {
        let mut queue = lock(&self.queue);
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
        let dropped = match sender.try_send(notice) {
            Err(TrySendError::Full(Notice::Other(method, _))) => method,
            Err(TrySendError::Full(Notice::ElicitationComplete(id))) => {
                format!("the end of elicitation {id}")
            }
            _ => return,
        };
        log::warn!("dropped {dropped}: {QUEUE} notifications wait for a callback that is slow");
    }

    pub(super) fn close(&self) {
        *lock(&self.queue) = Queue::Closed;
    }
}

impl Shared {
    fn deliver(&self, queue: &Receiver<Notice>) {
        // When a change of the tools is to be told.
        let mut due: Option<Instant> = None;
        loop {
            let notice = match due {
                Some(at) => queue.recv_deadline(at),
                None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match notice {
                Ok(Notice::ElicitationComplete(id)) => caught(|| self.tell_elicitation_complete(&id)),
                Ok(Notice::Other(method, params)) => caught(|| self.tell_other(&method, params.as_ref())),
                Ok(Notice::ToolsChanged) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let mut pause = SETTLE;
            if due.is_some_and(|at| at <= Instant::now()) {
                self.tools_changed.store(false, Ordering::SeqCst);
                caught(|| self.tell_tools_changed());
                (due, pause) = (None, PAUSE);
            }
            if due.is_none() && self.tools_changed.load(Ordering::SeqCst) {
                due = Some(Instant::now() + pause);
            }
        }
    }

    fn tell_elicitation_complete(&self, id: &str) {
        if let Some(callback) = &self.notices.on_elicitation_complete {
            callback(id);
        }
    }

    fn tell_other(&self, method: &str, params: Option<&Json>) {
        if let Some(callback) = &self.notices.on_other {
            callback(method, params);
        }
    }

    fn tell_tools_changed(&self) {
        if let (Some(callback), Some(session)) = (&self.notices.on_tools_changed, self.session.upgrade()) {
            callback(&ClientHandle { session });
        }
    }
}
