//! [`Marks`]: who is to be told of what, without time, threads or sending.

use std::sync::{Arc, Weak};

use crate::context::LegacyClient;
use crate::method::Method;
use crate::peer::{Call, Outlet};

/// How much may be listened to over a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Most {
    /// `subscriptions/listen` that are open.
    pub(crate) listens: usize,
    /// Resources and tasks that are watched, over all subscriptions.
    pub(crate) subjects: usize,
}

/// For a connection of one client.
pub(crate) const OF_A_CLIENT: Most = Most { listens: 64, subjects: 1024 };

/// So much waits for a client that does not read. What it watches always has room; further completed elicitations are
/// dropped.
const MAX_DUE: usize = 2 * OF_A_CLIENT.subjects;

/// Fewer listeners than this are not looked through for those that have gone.
const FEW: usize = 64;

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

/// One who is told of changes.
pub(super) struct Listener {
    /// Given by [`Marks::add`]; grows from listener to listener.
    key: u64,
    connection: u64,
    owner: Owner,
    /// Not kept alive from here: an outlet leads to its connection, and that to the server.
    outlet: Weak<dyn Outlet>,
    /// Whether anything may be sent: a subscription is acknowledged first, and a handshake completed.
    is_ready: bool,
    /// The notices it wants; of resources, those it watches.
    told: Vec<Method>,
    /// Sorted.
    pub(super) watched: Vec<Arc<str>>,
    /// The tasks whose status it wants to know.
    pub(super) tasks: Vec<Arc<str>>,
    /// What it has not been told, each once.
    due: Vec<Notice>,
}

/// What one listener is to be told now.
pub(super) struct Turn {
    pub(super) key: u64,
    pub(super) owner: Owner,
    pub(super) outlet: Arc<dyn Outlet>,
    pub(super) notices: Vec<Notice>,
}

/// A connection that may listen.
struct Share {
    connection: u64,
    most: Most,
    /// Of these so many are known here, alive or not.
    listens: usize,
    subjects: usize,
}

/// Every listener of a server. Bound: a connection has one, and as many subscriptions as its [`Most`] says; what is due for
/// one is no more than what it listens to.
#[derive(Default)]
pub(super) struct Marks {
    /// In the order of their keys.
    listeners: Vec<Listener>,
    shares: Vec<Share>,
    last: u64,
    /// Looked through for those that have gone when there are so many. There may be ten thousand.
    prune_at: usize,
}

impl Listener {
    pub(super) fn new(connection: u64, owner: Owner, outlet: &Arc<dyn Outlet>, told: Vec<Method>) -> Self {
        let outlet = Arc::downgrade(outlet);
        Self {
            key: 0,
            connection,
            owner,
            outlet,
            is_ready: false,
            told,
            watched: Vec::new(),
            tasks: Vec::new(),
            due: Vec::new(),
        }
    }

    /// Watches a resource, if it does not yet.
    pub(super) fn watch(&mut self, uri: &str) {
        if let Err(at) = self.find(uri) {
            self.watched.insert(at, Arc::from(uri));
        }
    }

    /// Where `uri` is among what is watched, or where it belongs.
    fn find(&self, uri: &str) -> Result<usize, usize> {
        self.watched.binary_search_by(|watched| (**watched).cmp(uri))
    }

    fn is_listen(&self) -> bool {
        matches!(self.owner, Owner::Listen(_))
    }

    /// Whether there is still somebody to tell.
    fn is_alive(&self) -> bool {
        let is_open = match &self.owner {
            Owner::Legacy(_) => true,
            Owner::Listen(call) => call.while_open(|| ()).is_some(),
        };
        is_open && self.outlet.strong_count() > 0
    }

    fn is_due(&self) -> bool {
        self.is_ready && !self.due.is_empty()
    }

    fn subjects(&self) -> usize {
        self.watched.len() + self.tasks.len()
    }

    fn wants(&self, notice: &Notice) -> bool {
        match (&notice.subject, &self.owner) {
            // spec: 2025-11-25 client/elicitation#completion-notifications-for-url-mode-elicitation (only to whom was asked)
            (Some(id), Owner::Legacy(client)) if notice.method == Method::ElicitationComplete => {
                notice.method.is_in(&client.version) && client.forget_url(id)
            }
            (Some(id), _) if notice.method == Method::TasksChanged => self.tasks.contains(id),
            (Some(uri), _) => notice.method == Method::ResourcesUpdated && self.find(uri).is_ok(),
            (None, _) => self.told.contains(&notice.method),
        }
    }

    /// Has it told, once; whether that is news that can be told.
    fn mark(&mut self, notice: &Notice) -> bool {
        let is_news = !self.due.contains(notice) && self.due.len() < MAX_DUE;
        if is_news {
            self.due.push(notice.clone());
        }
        is_news && self.is_ready
    }

    /// Takes out what is due. `None`: there is nobody to tell.
    fn turn(&mut self) -> Option<Turn> {
        let outlet = self.outlet.upgrade()?;
        let notices = std::mem::take(&mut self.due);
        Some(Turn { key: self.key, owner: self.owner.clone(), outlet, notices })
    }
}

impl Marks {
    /// A connection that may listen from now on.
    pub(super) fn open(&mut self, most: Most) -> u64 {
        self.last += 1;
        self.shares.push(Share { connection: self.last, most, listens: 0, subjects: 0 });
        self.last
    }

    /// Takes out the subscriptions of `connection`, or, if not `listens`, what its handshake opened, with what is still to be
    /// told. It can have no more of either.
    pub(super) fn close(&mut self, connection: u64, listens: bool) -> Vec<Turn> {
        if let Some(at) = self.shares.iter().position(|share| share.connection == connection) {
            self.shares.swap_remove(at);
        }
        let mut turns = Vec::new();
        for mut listener in std::mem::take(&mut self.listeners) {
            if listener.connection != connection || listener.is_listen() != listens {
                self.listeners.push(listener);
            } else if listener.is_ready && listener.is_alive() {
                // Nothing precedes an acknowledgement that is under way; who sends it finds the listener gone.
                turns.extend(listener.turn());
            }
        }
        turns
    }

    /// Adds a listener that is not ready, and gives it a key.
    ///
    /// # Errors
    /// When its connection may not listen (any more), or has too many subscriptions.
    pub(super) fn add(&mut self, mut listener: Listener) -> Result<u64, String> {
        let (listens, subjects) = (usize::from(listener.is_listen()), listener.subjects());
        let connection = listener.connection;
        if self.listeners.len() >= self.prune_at.max(FEW) || self.room(connection, listens, subjects).is_err()
        {
            self.prune();
        }
        let share = self.room(connection, listens, subjects)?;
        share.listens += listens;
        share.subjects += subjects;
        self.last += 1;
        listener.key = self.last;
        self.listeners.push(listener);
        Ok(self.last)
    }

    /// Room for so much more on a connection.
    fn room(&mut self, connection: u64, listens: usize, subjects: usize) -> Result<&mut Share, String> {
        let share =
            self.shares.iter_mut().find(|share| share.connection == connection).ok_or(NO_CONNECTION)?;
        let most = share.most;
        let (limit, what) = if share.listens + listens > most.listens {
            (most.listens, "subscriptions are open")
        } else if share.subjects + subjects > most.subjects {
            (most.subjects, "resources and tasks are watched")
        } else {
            return Ok(share);
        };
        Err(format!("server busy: no more than {limit} {what} for a connection"))
    }

    fn share(&mut self, connection: u64) -> Option<&mut Share> {
        self.shares.iter_mut().find(|share| share.connection == connection)
    }

    fn find(&mut self, key: u64) -> Option<&mut Listener> {
        let at = self.listeners.binary_search_by_key(&key, |listener| listener.key).ok()?;
        self.listeners.get_mut(at)
    }

    /// What the handshake of `connection` opened.
    fn legacy(&mut self, connection: u64) -> Option<&mut Listener> {
        self.listeners.iter_mut().find(|l| l.connection == connection && !l.is_listen())
    }

    /// Adds a listener for a handshake. One that comes again keeps what is watched.
    pub(super) fn greet(&mut self, listener: Listener) {
        match self.legacy(listener.connection) {
            Some(known) => known.owner = listener.owner,
            // Without a wire there is nobody to tell.
            None => drop(self.add(listener)),
        }
    }

    /// Watches a resource for a connection with a handshake.
    ///
    /// # Errors
    /// When the connection cannot be told, or watches too much.
    pub(super) fn subscribe(&mut self, connection: u64, uri: &str) -> Result<(), String> {
        let listener = self.legacy(connection).ok_or(NO_CONNECTION)?;
        if listener.find(uri).is_err() {
            self.room(connection, 0, 1)?.subjects += 1;
            self.legacy(connection).ok_or(NO_CONNECTION)?.watch(uri);
        }
        Ok(())
    }

    /// Watches it no longer.
    pub(super) fn unsubscribe(&mut self, connection: u64, uri: &str) {
        let Some(listener) = self.legacy(connection) else { return };
        let Ok(at) = listener.find(uri) else { return };
        listener.watched.remove(at);
        let is_due = |notice: &Notice| notice.subject.as_deref() == Some(uri);
        if let Some(at) = listener.due.iter().position(is_due) {
            listener.due.remove(at);
        }
        if let Some(share) = self.share(connection) {
            share.subjects -= 1;
        }
    }

    /// Where to send what belongs to no request: to connections with a handshake whose client `wants` it.
    pub(super) fn outlets(&self, wants: impl Fn(&LegacyClient) -> bool) -> Vec<Arc<dyn Outlet>> {
        let is_meant =
            |l: &&Listener| l.is_ready && matches!(&l.owner, Owner::Legacy(client) if wants(client));
        self.listeners.iter().filter(is_meant).filter_map(|listener| listener.outlet.upgrade()).collect()
    }

    /// The listener may be told from now on; whether there is something to tell. `None`: it is gone.
    pub(super) fn acknowledged(&mut self, key: u64) -> Option<bool> {
        let listener = self.find(key)?;
        listener.is_ready = true;
        Some(listener.is_due())
    }

    /// The same for what the handshake of `connection` opened.
    pub(super) fn initialized(&mut self, connection: u64) -> bool {
        let key = self.legacy(connection).map(|listener| listener.key);
        key.and_then(|key| self.acknowledged(key)) == Some(true)
    }

    /// Something has changed; whether that is news for anybody.
    pub(super) fn mark(&mut self, notice: &Notice) -> bool {
        let mut is_news = false;
        for listener in &mut self.listeners {
            is_news |= listener.wants(notice) && listener.mark(notice);
        }
        is_news
    }

    /// The first listener after the key `after` that is to be told something.
    pub(super) fn next_turn(&mut self, after: u64) -> Option<Turn> {
        let start = self.listeners.partition_point(|listener| listener.key <= after);
        self.listeners[start..].iter_mut().filter(|listener| listener.is_due()).find_map(Listener::turn)
    }

    /// What the listener could not be told now. Nobody is told of what he no longer watches.
    pub(super) fn put_back(&mut self, key: u64, notices: &[Notice]) {
        if let Some(listener) = self.find(key) {
            for notice in notices {
                if notice.method == Method::ElicitationComplete || listener.wants(notice) {
                    listener.mark(notice);
                }
            }
        }
    }

    /// Forgets those whose request or connection has ended.
    pub(super) fn prune(&mut self) {
        for listener in std::mem::take(&mut self.listeners) {
            if listener.is_alive() {
                self.listeners.push(listener);
            } else if let Some(share) = self.share(listener.connection) {
                share.listens -= usize::from(listener.is_listen());
                share.subjects -= listener.subjects();
            }
        }
        self.prune_at = 2 * self.listeners.len();
    }

    /// Whether nobody listens.
    pub(super) fn is_empty(&self) -> bool {
        self.listeners.is_empty()
    }
}

/// Why there is no listening: the messages come one by one, or the connection is about to end.
const NO_CONNECTION: &str = "change notices need a connection that stays open";
