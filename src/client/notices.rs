//! The callbacks for notifications, and the thread that runs them.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use serde_json::value::RawValue;

use super::ClientHandle;
use super::changes::{Change, Filter};
use super::session::Session;
use crate::json::Json;
use crate::sync::{CallbackQueue, QUEUE, caught};

/// A change is told this long after its notice: changes come in bursts, and a callback that lists the tools anew would
/// otherwise do so in the middle of one.
const SETTLE: Duration = Duration::from_millis(10);

/// If more changes came while the callbacks ran, they are told after this.
const PAUSE: Duration = Duration::from_millis(100);

type OnChange = dyn Fn(&ClientHandle) + Send + Sync;

type OnUpdate = dyn Fn(&ClientHandle, &str) + Send + Sync;

type OnElicitationComplete = dyn Fn(&str) + Send + Sync;

type OnOther = dyn Fn(&str, Option<&Json>) + Send + Sync;

/// The callbacks.
#[derive(Clone, Default)]
pub(super) struct Notices {
    pub(super) on_tools_changed: Option<Arc<OnChange>>,
    pub(super) on_prompts_changed: Option<Arc<OnChange>>,
    pub(super) on_resources_changed: Option<Arc<OnChange>>,
    /// With the resources it is for.
    pub(super) on_resource_updated: Option<(Filter, Arc<OnUpdate>)>,
    pub(super) on_elicitation_complete: Option<Arc<OnElicitationComplete>>,
    pub(super) on_other: Option<Arc<OnOther>>,
}

impl Notices {
    /// Which changes there are callbacks for.
    pub(super) fn filter(&self) -> Filter {
        let mut filter = self.on_resource_updated.as_ref().map_or_else(Filter::new, |(uris, _)| uris.clone());
        if self.on_tools_changed.is_some() {
            filter = filter.tools();
        }
        if self.on_prompts_changed.is_some() {
            filter = filter.prompts();
        }
        if self.on_resources_changed.is_some() {
            filter = filter.resources();
        }
        filter
    }

    fn tell(&self, change: &Change, client: &ClientHandle) {
        let callback = match change {
            Change::ToolsChanged => &self.on_tools_changed,
            Change::PromptsChanged => &self.on_prompts_changed,
            Change::ResourcesChanged => &self.on_resources_changed,
            Change::ResourceUpdated(uri) => {
                if let Some((_, callback)) = &self.on_resource_updated {
                    callback(client, uri);
                }
                &None
            }
            Change::Interrupted => &None,
        };
        if let Some(callback) = callback {
            callback(client);
        }
    }
}

/// Brings notifications to the thread `mcp-notices`. Changes are not in its queue: the thread takes them from the hub.
pub(super) struct Dispatcher {
    shared: Arc<Shared>,
    queue: CallbackQueue<Notice>,
}

struct Shared {
    notices: Notices,
    session: Weak<Session>,
}

enum Notice {
    /// There are changes to be told.
    Changes,
    ElicitationComplete(String),
    Other(String, Option<Json>),
}

impl fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dispatcher")
    }
}

impl Dispatcher {
    pub(super) fn new(notices: Notices, session: Weak<Session>) -> Self {
        let shared = Arc::new(Shared { notices, session });
        let at_work = Arc::clone(&shared);
        Self { shared, queue: CallbackQueue::new("mcp-notices", move |queue| at_work.deliver(queue)) }
    }

    /// A notification that nobody else takes. Never blocks.
    pub(super) fn other(&self, method: &str, params: Option<&RawValue>) {
        let notices = &self.shared.notices;
        if method == "notifications/elicitation/complete" && notices.on_elicitation_complete.is_some() {
            // Told by `elicitation_complete`, if it is of any interest.
        } else if notices.on_other.is_some() {
            self.queue(Notice::Other(method.to_owned(), params.map(Json::of_frame)));
        } else {
            log::debug!("ignored {method}: no callback is set");
        }
    }

    /// There are changes to be told where there were none. Never blocks. If the queue is full, the thread finds them by
    /// itself: it looks after every notification.
    pub(super) fn nudge(&self) {
        self.queue(Notice::Changes);
    }

    /// Never blocks.
    pub(super) fn elicitation_complete(&self, id: String) {
        if self.shared.notices.on_elicitation_complete.is_some() {
            self.queue(Notice::ElicitationComplete(id));
        }
    }

    fn queue(&self, notice: Notice) {
        let dropped = match self.queue.push(notice) {
            Some(Notice::Other(method, _)) => method,
            Some(Notice::ElicitationComplete(id)) => format!("the end of elicitation {id}"),
            Some(Notice::Changes) | None => return,
        };
        log::warn!("dropped {dropped}: {QUEUE} notifications wait for a callback that is slow");
    }

    pub(super) fn close(&self) {
        self.queue.close();
    }
}

impl Shared {
    fn deliver(&self, queue: &Receiver<Notice>) {
        // When changes are to be told.
        let mut due: Option<Instant> = None;
        loop {
            let notice = match due {
                Some(at) => queue.recv_deadline(at),
                None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match notice {
                Ok(Notice::ElicitationComplete(id)) => caught(|| self.tell_elicitation_complete(&id)),
                Ok(Notice::Other(method, params)) => caught(|| self.tell_other(&method, params.as_ref())),
                Ok(Notice::Changes) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let mut pause = SETTLE;
            if due.is_some_and(|at| at <= Instant::now()) {
                self.tell_changes();
                (due, pause) = (None, PAUSE);
            }
            if due.is_none() && self.due() > 0 {
                due = Some(Instant::now() + pause);
            }
        }
    }

    fn due(&self) -> usize {
        self.session.upgrade().map_or(0, |session| session.changes.due_for_callbacks())
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

    /// Tells what is due now, and not what comes meanwhile. Each change is taken just before its callback runs, so that
    /// changes from then on lead to exactly one more call.
    fn tell_changes(&self) {
        for _ in 0..self.due() {
            let Some(session) = self.session.upgrade() else { return };
            let Some(change) = session.changes.take_for_callbacks() else { return };
            caught(|| self.notices.tell(&change, &ClientHandle { session }));
        }
    }
}
