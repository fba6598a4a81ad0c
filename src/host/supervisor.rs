//! The thread that sees servers end.
//!
//! **Invariant:** it never waits for a server, nor for anybody else's code.

use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Select, Sender, unbounded};

use super::inner::Inner;
use super::member::Member;
use crate::error::{Error, Result};
use crate::sync::{Mutex, lock};

enum Order {
    /// Look after this one; the channel is disconnected when its connection ends.
    Watch(Weak<Member>, Receiver<()>),
    Stop,
}

/// Owner: the host. Bound of the orders: one for each time a server is ready. End: [`stop`](Self::stop).
pub(super) struct Supervisor {
    orders: Sender<Order>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Supervisor {
    pub(super) fn start(inner: Weak<Inner>) -> Result<Self> {
        let (orders, received) = unbounded();
        let thread =
            thread::Builder::new().name("mcp-host".into()).spawn(move || watch(&inner, &received)).map_err(
                |error| Error::Transport { context: "cannot start a thread for the host".into(), error },
            )?;
        Ok(Self { orders, thread: Mutex::new(Some(thread)) })
    }

    pub(super) fn watch(&self, member: &Arc<Member>, ended: Receiver<()>) {
        // It has stopped only if the host is closed.
        let _ = self.orders.send(Order::Watch(Arc::downgrade(member), ended));
    }

    pub(super) fn stop(&self) {
        let _ = self.orders.send(Order::Stop);
        let thread = lock(&self.thread).take();
        // What it holds of the host may be the last there is: then it stops itself, and does not wait for that.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != thread::current().id()) {
            let _ = thread.join();
        }
    }
}

fn watch(inner: &Weak<Inner>, orders: &Receiver<Order>) {
    let mut watched: Vec<(Weak<Member>, Receiver<()>)> = Vec::new();
    loop {
        let ready = {
            let mut select = Select::new();
            select.recv(orders);
            for (_, ended) in &watched {
                select.recv(ended);
            }
            select.ready()
        };
        if ready > 0 {
            let (member, _) = watched.swap_remove(ready - 1);
            if let (Some(inner), Some(member)) = (inner.upgrade(), member.upgrade()) {
                inner.ended(&member);
            }
            continue;
        }
        match orders.try_recv() {
            Ok(Order::Watch(member, ended)) => {
                // In place of what was watched of it before.
                watched.retain(|(other, _)| other.strong_count() > 0 && !other.ptr_eq(&member));
                watched.push((member, ended));
            }
            Ok(Order::Stop) => return,
            Err(error) if error.is_disconnected() => return,
            Err(_) => {}
        }
    }
}
