//! Notifications of clients, brought to the program's callbacks on a thread of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::Receiver;
use serde_json::value::RawValue;

use crate::json::Json;
use crate::sync::{CallbackQueue, QUEUE, caught};

/// Who takes the notifications of clients. Behind a trait, so that only a program that sets a callback links what follows.
pub(super) trait Hear: Send + Sync {
    /// From a reading thread: never blocks.
    fn notified(&self, method: &str, params: Option<&RawValue>);
}

/// The callbacks.
#[derive(Default)]
pub(super) struct Callbacks {
    pub(super) on_roots_changed: Option<Box<dyn Fn() + Send + Sync>>,
    pub(super) on_other: Option<Box<OnOther>>,
}

pub(super) type OnOther = dyn Fn(&str, Option<&Json>) + Send + Sync;

/// Brings notifications to the thread `mcp-heard`.
struct Dispatcher {
    shared: Arc<Shared>,
    queue: CallbackQueue<Notice>,
}

struct Shared {
    callbacks: Callbacks,
    /// Root folders changed and the callback has not been told: further changes say nothing new. Looked at after every notice,
    /// so that a full queue does not lose it, and cleared before the callback runs.
    roots_changed: AtomicBool,
}

/// Method and parameters. `None`: the flag is to be looked at.
type Notice = Option<(String, Option<Json>)>;

/// What brings notifications to `callbacks`.
pub(super) fn dispatcher(callbacks: Callbacks) -> Box<dyn Hear> {
    let shared = Arc::new(Shared { callbacks, roots_changed: AtomicBool::new(false) });
    let at_work = Arc::clone(&shared);
    Box::new(Dispatcher {
        shared,
        queue: CallbackQueue::new("mcp-heard", move |queue| at_work.deliver(queue)),
    })
}

impl Hear for Dispatcher {
    fn notified(&self, method: &str, params: Option<&RawValue>) {
        let shared = &self.shared;
        if method == "notifications/roots/list_changed" && shared.callbacks.on_roots_changed.is_some() {
            if !shared.roots_changed.swap(true, Ordering::SeqCst) {
                self.queue(None);
            }
        } else if shared.callbacks.on_other.is_some() {
            self.queue(Some((method.to_owned(), params.map(Json::of_frame))));
        }
    }
}

impl Dispatcher {
    fn queue(&self, notice: Notice) {
        if let Some(Some((method, _))) = self.queue.push(notice) {
            log::warn!("dropped {method}: {QUEUE} notifications wait for a callback that is slow");
        }
    }
}

impl Shared {
    fn deliver(&self, queue: &Receiver<Notice>) {
        for notice in queue {
            if let (Some((method, params)), Some(callback)) = (notice, &self.callbacks.on_other) {
                caught(|| callback(&method, params.as_ref()));
            }
            if self.roots_changed.swap(false, Ordering::SeqCst) {
                self.callbacks.on_roots_changed.iter().for_each(caught);
            }
        }
    }
}
