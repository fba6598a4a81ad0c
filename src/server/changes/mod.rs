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
#[cfg(test)]
mod tests;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use marks::{Listener, Marks, Notice, Owner, Turn};
pub(crate) use marks::{Most, OF_A_CLIENT};

use super::{Server, ServerHandle};
use crate::context::LegacyClient;
use crate::json::Json;
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

/// Sends the acknowledgement of a subscription that watches these resources.
type Acknowledge<'a> = dyn Fn(&[Arc<str>]) -> Result<(), NotSent> + 'a;

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
    /// What a notice says of a task, an object; set by the feature that has them.
    tasks: OnceLock<Box<Describe>>,
}

/// `None`: there is no such task any more.
type Describe = dyn Fn(&str) -> Option<Json> + Send + Sync;

#[derive(Default)]
struct State {
    marks: Marks,
    /// When to tell what is marked.
    due: Option<Instant>,
    /// Whether the thread runs.
    is_running: bool,
}

impl Changes {
    /// Has notices of tasks say what `describe` returns.
    pub(super) fn describe_tasks(&self, describe: impl Fn(&str) -> Option<Json> + Send + Sync + 'static) {
        // The first one stays: a server is built once.
        self.tasks.get_or_init(|| Box::new(describe));
    }

    /// A connection that may listen from now on, under the number returned.
    pub(super) fn open(&self, most: Most) -> u64 {
        self.lock().marks.open(most)
    }

    /// Ends the subscriptions of `connection`, which can have none any more: each is told what it has not been told, and
    /// then `end` is called.
    pub(super) fn close(&self, connection: u64, end: &dyn Fn(&dyn Outlet, &Arc<Call>)) {
        for turn in self.take_out(connection, true) {
            self.send(&turn); // as far as that goes: there is no other time
            if let Owner::Listen(call) = &turn.owner {
                end(&*turn.outlet, call);
            }
        }
    }

    /// Ends what the handshake of `connection` opened, after a last word.
    pub(super) fn forget(&self, connection: u64) {
        for turn in self.take_out(connection, false) {
            self.send(&turn);
        }
        // Perhaps that was the last one.
        self.wake.notify_one();
    }

    fn take_out(&self, connection: u64, listens: bool) -> Vec<Turn> {
        self.lock().marks.close(connection, listens)
    }

    /// A Legacy client has introduced itself, and can be `told` these notices. It hears of nothing before
    /// [`initialized`](Self::initialized).
    pub(super) fn greet(
        &self,
        connection: u64,
        outlet: &Arc<dyn Outlet>,
        client: Arc<LegacyClient>,
        told: Vec<Method>,
    ) {
        let listener = Listener::new(connection, Owner::Legacy(client), outlet, told);
        self.lock().marks.greet(listener);
    }

    /// A Legacy client has completed its handshake.
    pub(super) fn initialized(self: &Arc<Self>, connection: u64) {
        let mut state = self.lock();
        if state.marks.initialized(connection) {
            self.schedule(&mut state);
        }
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

    /// Opens a subscription that is `told` these notices, of resources those with these URIs. `acknowledge` is called when it
    /// misses nothing any more, and before it is told anything, with the URIs in order and each once.
    ///
    /// # Errors
    /// When there are too many, or it could not be acknowledged.
    pub(super) fn listen(
        self: &Arc<Self>,
        connection: u64,
        (outlet, call): (&Arc<dyn Outlet>, &Arc<Call>),
        (told, uris, tasks): (Vec<Method>, &[String], &[Arc<str>]),
        acknowledge: &Acknowledge<'_>,
    ) -> Result<(), String> {
        let mut listener = Listener::new(connection, Owner::Listen(Arc::clone(call)), outlet, told);
        uris.iter().for_each(|uri| listener.watch(uri));
        listener.tasks = tasks.to_vec();
        let uris = listener.watched.clone();
        let key = self.lock().marks.add(listener)?;
        // The call is then answered, and its listener forgotten like any other whose call has ended.
        acknowledge(&uris).map_err(|_| "server busy: the client does not read")?;
        let mut state = self.lock();
        if state.marks.acknowledged(key).ok_or("server is ending")? {
            self.schedule(&mut state);
        }
        Ok(())
    }

    /// Something has changed.
    pub(super) fn tell(self: &Arc<Self>, method: Method, subject: Option<&str>) {
        let notice = Notice { method, subject: subject.map(Arc::from) };
        let mut state = self.lock();
        if state.marks.mark(&notice) {
            self.schedule(&mut state);
        }
    }

    /// Where to send what belongs to no request: to connections with a handshake whose client `wants` it.
    pub(super) fn outlets(&self, wants: impl Fn(&LegacyClient) -> bool) -> Vec<Arc<dyn Outlet>> {
        self.lock().marks.outlets(wants)
    }

    /// What a registry calls when it changes, for its `on_change`; `method` is the notice of that.
    pub(super) fn teller(self: &Arc<Self>, method: Method) -> impl Fn() + Send + Sync + 'static {
        let changes = Arc::clone(self);
        move || changes.tell(method, None)
    }

    /// Has told what is marked.
    fn schedule(self: &Arc<Self>, state: &mut State) {
        state.is_due_within(SETTLE);
        if !state.is_running {
            let changes = Arc::clone(self);
            let thread = std::thread::Builder::new().name("mcp-changes".into());
            state.is_running = thread.spawn(move || changes.run()).is_ok();
            if !state.is_running {
                log::warn!("no thread to tell of changes; the next change tries again");
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
            state = self.tell_all(state);
            last = Instant::now();
        }
        state.due = None;
        state.is_running = false;
    }

    /// Tells every listener what is due.
    fn tell_all<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.marks.prune();
        let mut key = 0;
        while let Some(turn) = state.marks.next_turn(key) {
            key = turn.key;
            drop(state);
            let left = self.send(&turn);
            let Turn { notices, outlet, .. } = turn;
            drop(outlet); // perhaps the last to hold a connection
            state = self.lock();
            let left = &notices[notices.len() - left..];
            if !left.is_empty() {
                state.marks.put_back(key, left);
                state.is_due_within(RETRY);
            }
        }
        state
    }

    /// Sends what is due while there is room; how many notices are left.
    fn send(&self, turn: &Turn) -> usize {
        let mut params = Vec::new();
        for (at, notice) in turn.notices.iter().enumerate() {
            params.clear();
            let call = match &turn.owner {
                Owner::Legacy(_) => None,
                Owner::Listen(call) => {
                    params.push(b'{');
                    write_meta(&mut params, &call.id);
                    Some(&**call)
                }
            };
            if notice.method == Method::TasksChanged {
                let describe = self.tasks.get().zip(notice.subject.as_deref());
                let Some(task) = describe.and_then(|(describe, id)| describe(id)) else { continue };
                params.extend_from_slice(b",");
                params.extend_from_slice(&task.as_str().as_bytes()[1..]);
                params.pop();
            } else if let Some(subject) = &notice.subject {
                params.push(if params.is_empty() { b'{' } else { b',' });
                let is_question = notice.method == Method::ElicitationComplete;
                write_json(&mut params, if is_question { "elicitationId" } else { "uri" });
                params.push(b':');
                write_json(&mut params, &**subject);
            }
            if !params.is_empty() {
                params.push(b'}');
            }
            let params = text(&params);
            let sent = turn.outlet.post(call, notice.method.name(), params);
            if matches!(sent, Err(NotSent::Full(_))) {
                return turn.notices.len() - at;
            }
        }
        0
    }

    // Poisoned locks are entered: nothing of somebody else runs inside.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_due_within(&mut self, time: Duration) {
        let at = Instant::now() + time;
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }
}

/// What was written as JSON, if there is any.
pub(super) fn text(json: &[u8]) -> Option<&str> {
    std::str::from_utf8(json).ok().filter(|text| !text.is_empty())
}

/// Appends the metadata of a message that belongs to the subscription of the request `id`, as a member.
///
/// spec: 2026-07-28 basic/patterns/subscriptions#receiving-notifications
pub(super) fn write_meta(out: &mut Vec<u8>, id: &RequestId) {
    out.extend_from_slice(b"\"_meta\":{");
    write_json(out, meta::SUBSCRIPTION_ID);
    out.push(b':');
    write_json(out, id);
    out.push(b'}');
}

macro_rules! tells {
    ($($owner:ty)*) => {$(
        impl $owner {
            /// Tells clients that the list of tools has changed. A [`ToolRegistry`](crate::ToolRegistry) says so by itself;
            /// this is for tools that describe themselves anew.
            ///
            /// Returns at once. Clients are told 10 ms later, together with what changes meanwhile.
            pub fn tools_changed(&self) {
                self.changes().tell(Method::ToolsListChanged, None);
            }

            /// Tells clients that the list of prompts has changed, if the server has prompts.
            pub fn prompts_changed(&self) {
                self.changes().tell(Method::PromptsListChanged, None);
            }

            /// Tells clients that the list of resources or of resource templates has changed, if the server has resources.
            pub fn resources_changed(&self) {
                self.changes().tell(Method::ResourcesListChanged, None);
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
                self.changes().tell(Method::ResourcesUpdated, Some(uri));
            }

            /// Tells the client whose user was sent to a URL by the elicitation `id` that this is done. Only revision 2025-11-25
            /// has such a notice; other clients are told nothing.
            pub fn elicitation_completed(&self, id: &str) {
                self.changes().tell(Method::ElicitationComplete, Some(id));
            }
        }
    )*};
}
tells!(Server ServerHandle);

impl Server {
    fn changes(&self) -> &Arc<Changes> {
        &self.0.changes
    }
}

impl ServerHandle {
    fn changes(&self) -> &Arc<Changes> {
        &self.changes
    }
}
