//! [`CallbackQueue`]: a queue and the thread that empties it, for callbacks that a reading thread must not run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

use super::primitive::{Mutex, lock};

/// So many things may wait for a callback that is slow.
pub(crate) const QUEUE: usize = 256;

/// Queues things for a thread of its own, which the first one starts.
///
/// Owner: the server or client whose callbacks they are for. Bound: [`QUEUE`]. End of the thread: after what waits when
/// it is closed or dropped.
pub(crate) struct CallbackQueue<T> {
    name: &'static str,
    deliver: Arc<Deliver<T>>,
    /// Held for a `try_send`, which never waits.
    queue: Mutex<Queue<T>>,
}

type Deliver<T> = dyn Fn(&Receiver<T>) + Send + Sync;

enum Queue<T> {
    NotStarted,
    Open(Sender<T>),
    Closed,
}

impl<T: Send + 'static> CallbackQueue<T> {
    /// The thread, called `name`, runs `deliver`, which is to take until the channel is disconnected.
    pub(crate) fn new(name: &'static str, deliver: impl Fn(&Receiver<T>) + Send + Sync + 'static) -> Self {
        Self { name, deliver: Arc::new(deliver), queue: Mutex::new(Queue::NotStarted) }
    }

    /// Never blocks. Gives back what there is no room for; after the close nothing is wanted any more.
    pub(crate) fn push(&self, thing: T) -> Option<T> {
        let mut queue = lock(&self.queue);
        if matches!(*queue, Queue::NotStarted) {
            let (sender, receiver) = bounded(QUEUE);
            let deliver = Arc::clone(&self.deliver);
            let thread = std::thread::Builder::new().name(self.name.into());
            match thread.spawn(move || deliver(&receiver)) {
                Ok(_) => *queue = Queue::Open(sender),
                Err(e) => log::warn!("no thread for notifications: {e}"),
            }
        }
        let Queue::Open(sender) = &*queue else { return None };
        match sender.try_send(thing) {
            Err(TrySendError::Full(thing)) => Some(thing),
            Ok(()) | Err(TrySendError::Disconnected(_)) => None,
        }
    }

    /// Takes nothing more.
    pub(crate) fn close(&self) {
        *lock(&self.queue) = Queue::Closed;
    }
}

/// Runs a callback; a panic in it goes to the log.
pub(crate) fn caught(callback: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(callback)).is_err() {
        log::error!("a notification callback panicked");
    }
}
