//! What the owner of a host, its handles and its threads share, and how servers come and go in it.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::thread;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded, select};

use super::audit::{Intent, Kind};
use super::builder::Settings;
use super::catalogue::Catalogue;
use super::config::ServerEntry;
use super::ending::closed;
use super::events::{Bulletin, HostEvent, ServerState};
use super::member::Member;
use super::resilience::{Breaker, RestartEvent, Restarter};
use super::subscriptions::Subscriptions;
use super::supervisor::Supervisor;
use crate::client::ClientHandle;
use crate::error::{Error, Result};
use crate::sync::{CancelToken, Deadline, Mutex, lock};

/// More servers than this are refused.
const MAX_SERVERS: usize = 1_000;

pub(super) struct Inner {
    pub(super) settings: Settings,
    pub(super) catalogue: Catalogue,
    pub(super) bulletin: Arc<Bulletin>,
    pub(super) subscriptions: Subscriptions,
    /// Locked for a look or a change. One that leaves is there until nothing of it is left.
    pub(super) members: RwLock<BTreeMap<Arc<str>, Arc<Member>>>,
    pub(super) supervisor: Mutex<Option<Arc<Supervisor>>>,
    /// As many tokens as servers may be started side by side.
    slots: (Sender<()>, Receiver<()>),
    /// Fires when the host is closed.
    pub(super) closed: CancelToken,
    this: Weak<Self>,
}

impl Inner {
    pub(super) fn start(settings: Settings) -> Result<Arc<Self>> {
        let slots = bounded(settings.max_starting.max(1));
        let inner = Arc::new_cyclic(|this: &Weak<Self>| Self {
            bulletin: Arc::clone(&settings.bulletin),
            settings,
            catalogue: Catalogue::default(),
            subscriptions: Subscriptions::default(),
            members: RwLock::default(),
            supervisor: Mutex::default(),
            slots,
            closed: CancelToken::new(),
            this: this.clone(),
        });
        *lock(&inner.supervisor) = Some(Arc::new(Supervisor::start(Arc::downgrade(&inner))?));
        Ok(inner)
    }

    pub(super) fn members(&self) -> Vec<Arc<Member>> {
        self.members.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// # Errors
    /// When there is none of this name.
    pub(super) fn member(&self, name: &str) -> Result<Arc<Member>> {
        let member = self.members.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        member.ok_or_else(|| self.unknown(name))
    }

    pub(super) fn unknown(&self, name: &str) -> Error {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        let known = members.keys().map(|name| &**name).collect::<Vec<_>>().join(", ");
        Error::InvalidUse(format!("there is no server {name:?}, but: {known}"))
    }

    pub(super) fn tell(&self, event: HostEvent) {
        self.bulletin.tell(&event);
    }

    fn set_state(&self, member: &Arc<Member>, state: ServerState) {
        self.change_state(member, state, |_| true);
    }

    fn change_state(&self, member: &Member, state: ServerState, may_end: impl Fn(&ServerState) -> bool) {
        let state = match state {
            ServerState::Failed(why) => ServerState::Failed(member.harmless(why)),
            ServerState::Ended(how) => ServerState::Ended(member.harmless(how)),
            state => state,
        };
        let event = HostEvent::State { server: Arc::clone(&member.name), state: state.clone() };
        if member.set_state(&state, may_end, || self.tell(event)) {
            self.note(Kind::State, member, &state.to_string());
        }
    }

    /// Writes down what has happened, not what is done: so a log that cannot be written stops nothing here, and tells by itself.
    fn note(&self, kind: Kind, member: &Member, what: &str) {
        if let Some(log) = &self.settings.audit {
            let _ = log.event(&Intent::new(kind).with_server(&member.name).with_detail(what));
        }
    }

    /// For what outlives a call, and must not keep the host alive.
    pub(super) fn this(&self) -> Weak<Self> {
        self.this.clone()
    }

    fn supervisor(&self) -> Option<Arc<Supervisor>> {
        lock(&self.supervisor).clone()
    }

    /// Takes a server in, and starts it on a thread of its own.
    ///
    /// # Errors
    /// When there is one of this name, there are too many, or the host is closed.
    pub(super) fn add(&self, entry: ServerEntry) -> Result<()> {
        let configured = self.settings.resolver.canonical(&entry);
        let breaker = Breaker::new(self.settings.breaker.clone());
        let member = Arc::new(Member::new(entry, configured, breaker));
        member.introduced(|| {
            self.take_in(&member)?;
            self.tell(HostEvent::State { server: Arc::clone(&member.name), state: member.state() });
            Ok::<_, Error>(())
        })?;
        if member.state() != ServerState::Disabled {
            self.start_apart(&member);
        }
        Ok(())
    }

    fn take_in(&self, member: &Arc<Member>) -> Result<()> {
        let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
        if self.closed.is_cancelled() {
            return Err(closed());
        }
        if let Some(other) = members.get(&member.name) {
            if other.state() == ServerState::Stopped {
                return Err(Error::Busy(format!("server {:?} is being taken out", member.name)));
            }
            return Err(Error::InvalidUse(format!("there is a server {:?} already", member.name)));
        }
        if members.len() >= MAX_SERVERS {
            return Err(Error::Busy(format!("{MAX_SERVERS} servers are in this host")));
        }
        self.closed.carries(&member.gone);
        members.insert(Arc::clone(&member.name), Arc::clone(member));
        Ok(())
    }

    /// Starts `member` on a thread of its own. Bound: one for a server. End: when the server is ready, or was refused or given up.
    fn start_apart(&self, member: &Arc<Member>) {
        let (inner, failed, member) = (self.this.clone(), Arc::clone(member), Arc::clone(member));
        let name = Arc::clone(&member.name);
        let thread = thread::Builder::new().name("mcp-host-start".into()).spawn(move || {
            if let Some(inner) = inner.upgrade() {
                // What went wrong is the member's state.
                let _ = inner.start_member(&member, None);
            }
        });
        if let Err(error) = thread {
            self.tell(HostEvent::Host(format!("no thread to start server {name}: {error}")));
            self.set_state(&failed, ServerState::Failed(format!("no thread to start it: {error}")));
        }
    }

    /// Starts `member` for the first time.
    ///
    /// # Errors
    /// What went wrong.
    pub(super) fn start_member(&self, member: &Arc<Member>, cancel: Option<&CancelToken>) -> Result<()> {
        member.start(cancel, || {
            self.set_state(member, ServerState::Waiting);
            let started = self.started(member);
            if started.is_err() {
                // What was started of it is of no use.
                drop(member.discard());
            }
            self.arrived(member, started.map_err(|error| member.harmless_error(error)))?;
            // Not before: what starts it again must find it ready.
            if let Some(Err(error)) = member.restarter().map(|restarter| restarter.watch()) {
                self.trouble(member, format!("it is started again by the next call only: {error}"));
            }
            Ok(())
        })
    }

    /// Starts a server and lists what it has.
    fn started(&self, member: &Arc<Member>) -> Result<()> {
        let allowed = self.allow_start(member)?;
        let _slot = self.slot(member)?;
        self.set_state(member, ServerState::Starting);
        let begun = Instant::now();
        let client = self.open(member, allowed.as_deref())?;
        let handle = client.handle();
        // Before it has said anything, so that it can be stopped.
        if let Some(_unwanted) = member.keep(client, self.restarter(member, &handle)) {
            return Err(closed());
        }
        self.settle(member, &handle, begun)
    }

    /// Starts `member` again, or for the first time if it could not be.
    ///
    /// # Errors
    /// What went wrong.
    pub(super) fn restart(&self, member: &Arc<Member>) -> Result<()> {
        match member.running() {
            Ok((_, restarter)) => {
                let restarted = restarter.restart(Deadline::after(None), Some(&member.gone));
                restarted.map_err(|error| member.harmless_error(error))
            }
            Err(_) => self.start_member(member, None),
        }
    }

    /// A server is there, or not.
    fn arrived(&self, member: &Arc<Member>, outcome: Result<()>) -> Result<()> {
        match &outcome {
            Ok(()) => {
                self.set_state(member, ServerState::Ready);
                let ended = member.handle().and_then(|handle| handle.ended());
                if let (Some(supervisor), Some(ended)) = (self.supervisor(), ended) {
                    supervisor.watch(member, ended);
                }
            }
            Err(error) => self.set_state(member, ServerState::Failed(error.to_string())),
        }
        outcome
    }

    /// What starts `member` again, and tells of it.
    fn restarter(&self, member: &Arc<Member>, handle: &ClientHandle) -> Restarter {
        let (inner, member) = (self.this.clone(), Arc::downgrade(member));
        let policy = self.settings.restart.clone().on_event(move |event| {
            if let (Some(inner), Some(member)) = (inner.upgrade(), member.upgrade()) {
                inner.restarted(&member, event);
            }
        });
        Restarter::new(handle, policy)
    }

    /// Runs before those who wait for the restart go on.
    fn restarted(&self, member: &Arc<Member>, event: &RestartEvent) {
        self.note(Kind::Restart, member, &format!("{event:?}"));
        match event {
            RestartEvent::Restarting(_) => {
                self.ended(member); // whoever sees it first
                self.set_state(member, ServerState::Starting);
            }
            RestartEvent::Restarted => {
                let Some(handle) = member.handle() else { return };
                let settled = self.settle(member, &handle, Instant::now());
                if let (Err(error), false) = (settled, handle.has_ended()) {
                    // It is there, and has what it had.
                    self.trouble(
                        member,
                        format!("it was started again and its tools cannot be listed: {error}"),
                    );
                }
                // Of one that has ended already the supervisor tells.
                let _ = self.arrived(member, Ok(()));
            }
            RestartEvent::Failed(why) | RestartEvent::GivenUp(why) => {
                self.set_state(member, ServerState::Failed(why.clone()));
            }
        }
    }

    /// Waits for a place among the servers that are being started.
    fn slot(&self, member: &Member) -> Result<Slot<'_>> {
        let gone = member.gone.receiver();
        let slot = select! {
            send(self.slots.0, ()) -> _ => Slot(&self.slots.1),
            recv(gone) -> _ => return Err(closed()),
        };
        // Both may have been ready.
        if member.gone.is_cancelled() { Err(closed()) } else { Ok(slot) }
    }

    /// The connection to `member` has ended.
    pub(super) fn ended(&self, member: &Arc<Member>) {
        if member.gone.is_cancelled() || member.state() != ServerState::Ready {
            return; // it was ended, or somebody is at it
        }
        let how = member.handle().map(|handle| handle.how_it_ended()).unwrap_or_default();
        // Unless somebody has begun to start it again since.
        self.change_state(member, ServerState::Ended(how), |before| *before == ServerState::Ready);
    }
}

/// A place among those that are started. Dropping it makes room.
struct Slot<'a>(&'a Receiver<()>);

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let _ = self.0.try_recv();
    }
}
