//! [`Changes`]: tells clients what has changed, in the words of their era.
//!
//! A change is *marked* for everyone who wants to hear of it, and told 10 ms after the first mark, together with what was
//! marked meanwhile: a burst is few notices, and the last change is always told. Connections with a handshake hear
//! of every list, and of the resources they subscribed to; a `subscriptions/listen` hears of what its filter names.
//!
//! **Invariants:** nothing is sent to a listener before its subscription is acknowledged or its handshake completed;
//! sending never waits for a peer, and no lock is held meanwhile; what a peer does not take now stays marked, and is tried
//! again; what is marked is never more than what is listened to.

mod marks;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(super) use marks::{List, Lists, MAX_URI_BYTES};
use marks::{Listener, Marks, Owner, Turn};

use super::{Server, ServerHandle};
use crate::context::LegacyClient;
use crate::jsonrpc::{RequestId, write_json};
use crate::method::Method;
use crate::peer::{Call, NotSent, Outlet};
use crate::protocol::meta;

/// A change is told this long after it was marked: changes come in bursts.
const SETTLE: Duration = Duration::from_millis(10);

/// What a peer had no room for is tried again after this.
const RETRY: Duration = Duration::from_millis(100);

/// So long the thread waits for something to do.
const IDLE: Duration = Duration::from_secs(10);

/// The listeners of a server and what they are to be told.
///
/// Owner: the server; handles of it share it. Thread: `mcp-changes`, started by the first mark, ends after 10 s without
/// work or with the last listener.
#[derive(Default)]
pub(super) struct Changes {
    /// Held for a look-up or a mark.
    state: Mutex<State>,
    /// Signalled when there is something to tell earlier than before, and when listeners have gone.
    wake: Condvar,
}

#[derive(Default)]
struct State {
    marks: Marks,
    /// When to tell what is marked.
    due: Option<Instant>,
    /// Whether the thread runs.
    is_running: bool,
}

impl Changes {
    /// A connection that may listen from now on, under the number returned.
    pub(super) fn open(&self) -> u64 {
        self.lock().marks.open()
    }

    /// Ends the subscriptions of `connection`, which can have none any more: each is told what it has not been told, and
    /// then `end` is called.
    pub(super) fn close(&self, connection: u64, end: &dyn Fn(&Arc<dyn Outlet>, &Arc<Call>)) {
        let turns = self.lock().marks.close(connection);
        for mut turn in turns {
            let _ = send(&mut turn); // as far as that goes: there is no other time
            if let Owner::Listen(call) = &turn.owner {
                end(&turn.outlet, call);
            }
        }
        self.wake.notify_one();
    }

    /// Ends what the handshake of `connection` opened, after a last word.
    pub(super) fn forget(&self, connection: u64) {
        let turns = self.lock().marks.take_legacy(connection);
        for mut turn in turns {
            let _ = send(&mut turn);
        }
        self.wake.notify_one();
    }

    /// A Legacy client has introduced itself. It is told nothing before [`initialized`](Self::initialized).
    pub(super) fn greet(
        &self,
        connection: u64,
        outlet: &Arc<dyn Outlet>,
        client: &Arc<LegacyClient>,
        lists: Lists,
    ) {
        let mut state = self.lock();
        if !state.marks.greet_again(connection, client) {
            let listener = Listener::new(connection, Owner::Legacy(Arc::clone(client)), outlet, lists);
            if let Err(problem) = state.marks.add(listener) {
                log::debug!("{problem}");
            }
        }
    }

    /// A Legacy client has completed its handshake.
    pub(super) fn initialized(self: &Arc<Self>, connection: u64) {
        self.mark(&mut |marks| marks.initialized(connection));
    }

    /// Watches a resource for a Legacy client.
    ///
    /// # Errors
    /// When the connection carries no notices, or watches too much.
    pub(super) fn subscribe(&self, connection: u64, uri: &str) -> Result<(), String> {
        self.lock().marks.subscribe(connection, uri)
    }

    /// Watches it no longer.
    pub(super) fn unsubscribe(&self, connection: u64, uri: &str) {
        self.lock().marks.unsubscribe(connection, uri);
    }

    /// Opens a subscription: `acknowledge` is called once it hears of changes and before it is told of any.
    ///
    /// # Errors
    /// When there are too many, or it could not be acknowledged.
    pub(super) fn listen(
        self: &Arc<Self>,
        connection: u64,
        (outlet, call): (&Arc<dyn Outlet>, &Arc<Call>),
        (lists, uris): (Lists, &[String]),
        acknowledge: &dyn Fn() -> Result<(), NotSent>,
    ) -> Result<(), String> {
        let mut listener = Listener::new(connection, Owner::Listen(Arc::clone(call)), outlet, lists);
        for uri in uris {
            listener.watch(uri);
        }
        let key = self.lock().marks.add(listener)?;
        if let Err(not_sent) = acknowledge() {
            self.lock().marks.remove(key);
            log::debug!("subscription {} was not acknowledged: {not_sent:?}", call.id);
            return Err("server busy: the client does not read".to_owned());
        }
        let mut is_open = false;
        self.mark(&mut |marks| {
            let is_due = marks.acknowledged(key);
            is_open = is_due.is_some();
            is_due == Some(true)
        });
        if is_open { Ok(()) } else { Err("server is ending".to_owned()) }
    }

    /// The list has changed.
    pub(super) fn list_changed(self: &Arc<Self>, list: List) {
        self.mark(&mut |marks| marks.mark_list(list));
    }

    /// What a registry of `list` calls when it changes, for its `on_change`.
    pub(super) fn teller(self: &Arc<Self>, list: List) -> impl Fn() + Send + Sync + 'static {
        let changes = Arc::clone(self);
        move || changes.list_changed(list)
    }

    /// Has `mark` look for what is to be told, and told it is.
    fn mark(self: &Arc<Self>, mark: &mut dyn FnMut(&mut Marks) -> bool) {
        let mut state = self.lock();
        if !mark(&mut state.marks) {
            return;
        }
        let at = Instant::now() + SETTLE;
        state.due = Some(state.due.map_or(at, |due| due.min(at)));
        if !state.is_running {
            let changes = Arc::clone(self);
            let thread = std::thread::Builder::new().name("mcp-changes".into());
            match thread.spawn(move || changes.run()) {
                Ok(_) => state.is_running = true,
                Err(e) => log::warn!("no thread to tell of changes, the next one tries again: {e}"),
            }
        }
        self.wake.notify_one();
    }

    fn run(&self) {
        let mut state = self.lock();
        let mut last = Instant::now();
        while !state.marks.is_empty() {
            let at = state.due.unwrap_or(last + IDLE);
            let now = Instant::now();
            if now < at {
                state = self.wake.wait_timeout(state, at - now).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            if state.due.take().is_none() {
                break;
            }
            let is_left;
            (state, is_left) = self.tell(state);
            last = Instant::now();
            if is_left {
                let again = last + RETRY;
                state.due = Some(state.due.map_or(again, |due| due.min(again)));
            }
        }
        state.due = None;
        state.is_running = false;
    }

    /// Tells every listener what is due; whether some had no room for it.
    fn tell<'a>(&'a self, mut state: MutexGuard<'a, State>) -> (MutexGuard<'a, State>, bool) {
        state.marks.prune();
        let (mut key, mut is_left) = (0, false);
        while let Some(mut turn) = state.marks.next_turn(key) {
            key = turn.key;
            drop(state);
            let sent = send(&mut turn);
            let notices = std::mem::take(&mut turn.notices);
            drop(turn); // perhaps the last to hold a connection
            state = self.lock();
            match sent {
                Ok(()) => {}
                Err(NotSent::Full(_)) => {
                    state.marks.put_back(key, notices);
                    is_left = true;
                }
                Err(NotSent::Closed(_)) => state.marks.remove(key),
            }
        }
        (state, is_left)
    }

    // Poisoned locks are entered: nothing of somebody else runs inside.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends what is due until there is no room; what was sent is taken out of `turn`.
fn send(turn: &mut Turn) -> Result<(), NotSent> {
    while let Some(notice) = turn.notices.last() {
        let mut params = Vec::new();
        let mut member = |name: &str, write: &dyn Fn(&mut Vec<u8>)| {
            params.push(if params.is_empty() { b'{' } else { b',' });
            write_json(&mut params, name);
            params.push(b':');
            write(&mut params);
        };
        let call = match &turn.owner {
            Owner::Legacy(_) => None,
            Owner::Listen(call) => {
                member("_meta", &|out| write_meta(out, &call.id));
                Some(&**call)
            }
        };
        if let Some(subject) = &notice.subject {
            let name = if notice.method == Method::ElicitationComplete { "elicitationId" } else { "uri" };
            member(name, &|out| write_json(out, &**subject));
        }
        if !params.is_empty() {
            params.push(b'}');
        }
        let params = String::from_utf8_lossy(&params);
        turn.outlet.post(call, notice.method.name(), Some(&*params).filter(|params| !params.is_empty()))?;
        turn.notices.pop();
    }
    Ok(())
}

/// Appends the metadata of a message that belongs to the subscription of the request `id`.
///
/// spec: 2026-07-28 basic/patterns/subscriptions#receiving-notifications
fn write_meta(out: &mut Vec<u8>, id: &RequestId) {
    out.push(b'{');
    write_json(out, meta::SUBSCRIPTION_ID);
    out.push(b':');
    write_json(out, id);
    out.push(b'}');
}

macro_rules! tells {
    ($($owner:ty: $changes:expr;)*) => {$(
        impl $owner {
            /// Tells clients that the list of tools has changed. A [`ToolRegistry`](crate::ToolRegistry) says so by itself;
            /// this is for tools that describe themselves anew.
            ///
            /// Returns at once. Clients are told 10 ms later, together with what changes meanwhile.
            pub fn tools_changed(&self) {
                $changes(self).list_changed(List::Tools);
            }

            /// Tells clients that the list of prompts has changed, if the server has prompts.
            pub fn prompts_changed(&self) {
                $changes(self).list_changed(List::Prompts);
            }

            /// Tells clients that the list of resources or of resource templates has changed, if the server has resources.
            pub fn resources_changed(&self) {
                $changes(self).list_changed(List::Resources);
            }

            /// Tells the clients that subscribed to the resource `uri` that it has changed. The URI is compared as it is
            /// written.
            ///
            /// Returns at once, and may be called at any rate: many changes of a resource are few notices, and the last is
            /// always told.
            ///
            /// ```
            /// use tinymcp::Server;
            ///
            /// let server = Server::builder("notes", "1.0.0").build()?;
            /// let handle = server.handle(); // for a thread that watches the files
            /// handle.resource_updated("file:///notes/today.md");
            /// # Ok::<(), tinymcp::Error>(())
            /// ```
            pub fn resource_updated(&self, uri: &str) {
                $changes(self).mark(&mut |marks| marks.mark_resource(uri));
            }

            /// Tells the client whose user was sent to a URL by the elicitation `id` that this is done. Only revision 2025-11-25
            /// has such a notice; other clients are told nothing.
            pub fn elicitation_completed(&self, id: &str) {
                $changes(self).mark(&mut |marks| marks.mark_completed(id));
            }
        }
    )*};
}
tells! {
    Server: |server: &Self| Arc::clone(&server.0.changes);
    ServerHandle: |handle: &Self| Arc::clone(&handle.changes);
}
