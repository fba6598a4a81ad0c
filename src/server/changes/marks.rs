//! [`Marks`]: who is to be told of what, without time, threads or sending.

use std::sync::{Arc, Weak};

use crate::context::LegacyClient;
use crate::method::Method;
use crate::peer::{Call, Outlet};

/// So many `subscriptions/listen` of a connection may be open.
const MAX_LISTENS: usize = 64;

/// So many resources are watched for a connection, over all its subscriptions.
const MAX_URIS: usize = 1024;

/// A longer URI is not watched.
pub(in crate::server) const MAX_URI_BYTES: usize = 8 * 1024;

/// So many completed elicitations wait for a client that does not read; the oldest make room.
const MAX_COMPLETED: usize = 1024;

/// The lists whose changes can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) enum List {
    Tools,
    Prompts,
    Resources,
}

/// A flag for each [`List`], in their order.
pub(in crate::server) type Lists = [bool; 3];

/// The notice of each [`List`], in their order.
const LIST_NOTICES: [Method; 3] =
    [Method::ToolsListChanged, Method::PromptsListChanged, Method::ResourcesListChanged];

/// Something to tell: of a list, or of the resource or the question that `subject` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) method: Method,
    pub(super) subject: Option<Arc<str>>,
}

/// Whom a listener's notices belong to.
#[derive(Clone)]
pub(super) enum Owner {
    /// A connection with a handshake.
    Legacy(Arc<LegacyClient>),
    /// An open `subscriptions/listen`.
    Listen(Arc<Call>),
}

/// One who is told of changes: what he wants to hear, and what of that he has not been told.
pub(super) struct Listener {
    /// Given by [`Marks::add`]; grows from listener to listener.
    key: u64,
    connection: u64,
    owner: Owner,
    /// Not kept alive from here: an outlet leads to its connection, and that to the server.
    outlet: Weak<dyn Outlet>,
    /// Whether anything may be sent: a subscription is acknowledged first, and a handshake completed.
    is_ready: bool,
    lists: Lists,
    due_lists: Lists,
    /// In the order of their URIs.
    watched: Vec<Watched>,
    completed: Vec<Arc<str>>,
}

/// A resource whose changes are told.
pub(super) struct Watched {
    uri: Arc<str>,
    is_due: bool,
}

/// What one listener is to be told now.
pub(super) struct Turn {
    pub(super) key: u64,
    pub(super) owner: Owner,
    pub(super) outlet: Arc<dyn Outlet>,
    pub(super) notices: Vec<Notice>,
}

/// Every listener of a server. Bound: one a connection, and [`MAX_LISTENS`] subscriptions; what is due for a listener is no
/// more than what it listens to.
#[derive(Default)]
pub(super) struct Marks {
    /// In the order of their keys.
    listeners: Vec<Listener>,
    /// Connections that may listen.
    connections: Vec<u64>,
    last: u64,
}

impl Listener {
    pub(super) fn new(connection: u64, owner: Owner, outlet: &Arc<dyn Outlet>, lists: Lists) -> Self {
        Self {
            key: 0,
            connection,
            owner,
            outlet: Arc::downgrade(outlet),
            is_ready: false,
            lists,
            due_lists: Lists::default(),
            watched: Vec::new(),
            completed: Vec::new(),
        }
    }

    /// Watches `uri`; `false` if it does so already.
    pub(super) fn watch(&mut self, uri: &str) -> bool {
        match self.find(uri) {
            Ok(_) => false,
            Err(at) => {
                self.watched.insert(at, Watched { uri: Arc::from(uri), is_due: false });
                true
            }
        }
    }

    /// Where `uri` is, or where it belongs.
    fn find(&self, uri: &str) -> Result<usize, usize> {
        self.watched.binary_search_by(|watched| (*watched.uri).cmp(uri))
    }

    fn is_listen(&self) -> bool {
        matches!(self.owner, Owner::Listen(_))
    }

    /// Whether there is still somebody to tell.
    fn is_alive(&self) -> bool {
        let is_open = match &self.owner {
            Owner::Legacy(_) => true,
            Owner::Listen(call) => !call.cancel.is_cancelled(),
        };
        is_open && self.outlet.strong_count() > 0
    }

    fn is_due(&self) -> bool {
        let lists = self.due_lists.contains(&true);
        self.is_ready && (lists || !self.completed.is_empty() || self.watched.iter().any(|w| w.is_due))
    }

    fn set_ready(&mut self) -> bool {
        self.is_ready = true;
        self.is_due()
    }

    /// Takes out what is due. `None`: there is nobody to tell.
    fn turn(&mut self) -> Option<Turn> {
        let outlet = self.outlet.upgrade()?;
        let mut notices = Vec::new();
        for (due, method) in self.due_lists.iter_mut().zip(LIST_NOTICES) {
            if std::mem::take(due) {
                notices.push(Notice { method, subject: None });
            }
        }
        for watched in &mut self.watched {
            if std::mem::take(&mut watched.is_due) {
                let subject = Some(Arc::clone(&watched.uri));
                notices.push(Notice { method: Method::ResourcesUpdated, subject });
            }
        }
        for id in self.completed.drain(..) {
            notices.push(Notice { method: Method::ElicitationComplete, subject: Some(id) });
        }
        Some(Turn { key: self.key, owner: self.owner.clone(), outlet, notices })
    }

    fn put_back(&mut self, notice: Notice) {
        match notice.subject {
            None => {
                let at = LIST_NOTICES.iter().position(|method| *method == notice.method);
                at.into_iter().for_each(|at| self.due_lists[at] = true);
            }
            Some(id) if notice.method == Method::ElicitationComplete => self.completed.push(id),
            // Nobody is told of what he no longer watches.
            Some(uri) => self.find(&uri).into_iter().for_each(|at| self.watched[at].is_due = true),
        }
    }
}

impl Marks {
    /// A connection that may listen from now on.
    pub(super) fn open(&mut self) -> u64 {
        self.last += 1;
        self.connections.push(self.last);
        self.last
    }

    /// The subscriptions of `connection`, which can have none any more, and what they have not been told.
    pub(super) fn close(&mut self, connection: u64) -> Vec<Turn> {
        self.connections.retain(|open| *open != connection);
        self.take_out(connection, true)
    }

    /// The same for what a handshake opened.
    pub(super) fn take_legacy(&mut self, connection: u64) -> Vec<Turn> {
        self.take_out(connection, false)
    }

    fn take_out(&mut self, connection: u64, listens: bool) -> Vec<Turn> {
        let mut turns = Vec::new();
        self.listeners.retain_mut(|listener| {
            let is_meant = listener.connection == connection && listener.is_listen() == listens;
            // Nothing precedes an acknowledgement that is under way: whoever is about to send it finds the listener gone.
            if is_meant && listener.is_ready && listener.is_alive() {
                turns.extend(listener.turn());
            }
            !is_meant
        });
        turns
    }

    /// Adds a listener that is not ready, and gives it a key.
    ///
    /// # Errors
    /// When its connection may not listen (any more), or has too many subscriptions.
    pub(super) fn add(&mut self, mut listener: Listener) -> Result<u64, String> {
        self.prune();
        let connection = listener.connection;
        if !self.connections.contains(&connection) {
            return Err("change notices need a connection that stays open".to_owned());
        }
        if listener.is_listen() {
            let listens = self.of(connection).filter(|other| other.is_listen()).count();
            if listens >= MAX_LISTENS {
                return Err(format!("server busy: {MAX_LISTENS} subscriptions are open"));
            }
        }
        self.check_room(connection, listener.watched.len())?;
        self.last += 1;
        listener.key = self.last;
        self.listeners.push(listener);
        Ok(self.last)
    }

    fn of(&self, connection: u64) -> impl Iterator<Item = &Listener> {
        self.listeners.iter().filter(move |listener| listener.connection == connection)
    }

    fn check_room(&self, connection: u64, more: usize) -> Result<(), String> {
        let watched: usize = self.of(connection).map(|listener| listener.watched.len()).sum();
        if watched + more > MAX_URIS {
            return Err(format!(
                "server busy: no more than {MAX_URIS} resources are watched for a connection"
            ));
        }
        Ok(())
    }

    /// What the handshake of `connection` opened.
    pub(super) fn legacy(&mut self, connection: u64) -> Option<&mut Listener> {
        self.listeners.iter_mut().find(|l| l.connection == connection && !l.is_listen() && l.is_alive())
    }

    /// A further handshake on a connection: it keeps what it watches. `false`: it is the first.
    pub(super) fn greet_again(&mut self, connection: u64, client: &Arc<LegacyClient>) -> bool {
        let known = self.legacy(connection);
        known.map(|listener| listener.owner = Owner::Legacy(Arc::clone(client))).is_some()
    }

    /// Watches a resource for a connection with a handshake.
    ///
    /// # Errors
    /// When it has none that could be told, or watches too much.
    pub(super) fn subscribe(&mut self, connection: u64, uri: &str) -> Result<(), String> {
        let room = self.check_room(connection, 1);
        let Some(listener) = self.legacy(connection) else {
            return Err("change notices need a connection that stays open".to_owned());
        };
        if listener.find(uri).is_err() {
            room?;
            listener.watch(uri);
        }
        Ok(())
    }

    /// Watches it no longer.
    pub(super) fn unsubscribe(&mut self, connection: u64, uri: &str) {
        if let Some(listener) = self.legacy(connection) {
            listener.find(uri).into_iter().for_each(|at| drop(listener.watched.remove(at)));
        }
    }

    /// The listener may be told from now on; whether there is something to tell. `None`: it is gone.
    pub(super) fn acknowledged(&mut self, key: u64) -> Option<bool> {
        let listener = self.listeners.iter_mut().find(|listener| listener.key == key);
        listener.map(Listener::set_ready)
    }

    /// The same for what the handshake of `connection` opened.
    pub(super) fn initialized(&mut self, connection: u64) -> bool {
        self.legacy(connection).is_some_and(Listener::set_ready)
    }

    pub(super) fn remove(&mut self, key: u64) {
        self.listeners.retain(|listener| listener.key != key);
    }

    /// A list has changed; whether that is news for anybody.
    pub(super) fn mark_list(&mut self, list: List) -> bool {
        let at = list as usize;
        let wanted = self.listeners.iter_mut().filter(|listener| listener.lists[at]);
        wanted.fold(false, |is_news, listener| {
            let was_due = std::mem::replace(&mut listener.due_lists[at], true);
            is_news | (!was_due && listener.is_ready)
        })
    }

    /// A resource has changed; whether that is news for anybody.
    pub(super) fn mark_resource(&mut self, uri: &str) -> bool {
        self.listeners.iter_mut().fold(false, |is_news, listener| match listener.find(uri) {
            Ok(at) => {
                let was_due = std::mem::replace(&mut listener.watched[at].is_due, true);
                is_news | (!was_due && listener.is_ready)
            }
            Err(_) => is_news,
        })
    }

    /// What a client's user was sent to a URL for is done; whether that is news for anybody. Only the connection that was asked
    /// hears it.
    pub(super) fn mark_completed(&mut self, id: &str) -> bool {
        self.listeners.iter_mut().fold(false, |is_news, listener| match &listener.owner {
            Owner::Legacy(client)
                if client.forget_url(id) && Method::ElicitationComplete.is_in(&client.version) =>
            {
                if listener.completed.len() == MAX_COMPLETED {
                    listener.completed.remove(0);
                    log::debug!("a client that does not read is not told that an elicitation is complete");
                }
                listener.completed.push(Arc::from(id));
                is_news | listener.is_ready
            }
            _ => is_news,
        })
    }

    /// The first listener after the key `after` that is to be told something.
    pub(super) fn next_turn(&mut self, after: u64) -> Option<Turn> {
        let later = self.listeners.iter_mut().filter(|listener| listener.key > after);
        later.filter(|listener| listener.is_due()).find_map(Listener::turn)
    }

    /// What the listener could not be told now.
    pub(super) fn put_back(&mut self, key: u64, notices: Vec<Notice>) {
        if let Some(listener) = self.listeners.iter_mut().find(|listener| listener.key == key) {
            notices.into_iter().for_each(|notice| listener.put_back(notice));
        }
    }

    /// Forgets those whose request or connection has ended.
    pub(super) fn prune(&mut self) {
        self.listeners.retain(Listener::is_alive);
    }

    /// Whether nobody listens.
    pub(super) fn is_empty(&self) -> bool {
        self.listeners.is_empty()
    }
}
