//! What the registries of tools, resources and prompts have in common: [`Keyed`] finds things by key and pages through them,
//! [`Changes`] counts changes and tells whoever listens.
//!
//! **Invariant:** no lock is held while somebody else's code runs. Locks are held for a look-up, a page or a change.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use crate::sync::{Mutex, lock};

/// Why something cannot be registered, or a page not be given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// There is one of this name already.
    #[error("duplicate {what}: {name}")]
    Duplicate {
        /// What it is: a tool, a resource, a prompt.
        what: &'static str,
        /// Its name or address.
        name: String,
    },

    /// Clients would refuse the name or address.
    #[error("invalid {what} {name:?}: {problem}")]
    InvalidName {
        /// What it is: the name of a tool, the address of a resource.
        what: &'static str,
        /// The name or address, at most 128 characters of it.
        name: String,
        /// What is wrong with it.
        problem: String,
    },

    /// Clients would refuse a schema, and with it perhaps every tool of the server.
    #[error("invalid schema of tool {tool}: {problem}")]
    InvalidSchema {
        /// The tool.
        tool: String,
        /// What is wrong with its schema.
        problem: String,
    },

    /// The cursor is none that this registry gave out.
    #[error("invalid cursor: {0}")]
    InvalidCursor(String),
}

impl RegistryError {
    pub(crate) fn invalid_name(what: &'static str, name: &str, problem: impl fmt::Display) -> Self {
        Self::InvalidName {
            what,
            name: name.chars().take(MAX_NAME_CHARS).collect(),
            problem: problem.to_string(),
        }
    }
}

/// The longest name of a tool or prompt.
const MAX_NAME_CHARS: usize = 128;

/// What no client accepts as a name, be it of a tool or of a prompt.
pub(crate) fn check_name(what: &'static str, name: &str) -> Result<(), RegistryError> {
    let length = name.chars().count();
    let problem = if length == 0 {
        "empty".to_owned()
    } else if length > MAX_NAME_CHARS {
        format!("{length} characters, at most {MAX_NAME_CHARS} are allowed")
    } else if name.contains(char::is_control) {
        "has control characters".to_owned()
    } else {
        return Ok(());
    };
    Err(RegistryError::invalid_name(what, name, problem))
}

/// Things found by key, in the order of their keys.
///
/// spec: 2026-07-28 server/tools#capabilities (a deterministic order)
///
/// Owner: a registry. Bound: what the program registers.
pub(crate) struct Keyed<T: ?Sized>(RwLock<BTreeMap<String, Arc<T>>>);

impl<T: ?Sized> Keyed<T> {
    /// Adds `item`; the error is that `key` is taken.
    pub(crate) fn add(&self, what: &'static str, key: String, item: Arc<T>) -> Result<(), RegistryError> {
        match self.write().entry(key) {
            Entry::Occupied(taken) => Err(RegistryError::Duplicate { what, name: taken.key().clone() }),
            Entry::Vacant(free) => {
                free.insert(item);
                Ok(())
            }
        }
    }

    /// Adds `item`, and returns what had its key.
    pub(crate) fn replace(&self, key: String, item: Arc<T>) -> Option<Arc<T>> {
        self.write().insert(key, item)
    }

    pub(crate) fn remove(&self, key: &str) -> Option<Arc<T>> {
        self.write().remove(key)
    }

    pub(crate) fn get(&self, key: &str) -> Option<Arc<T>> {
        self.read().get(key).cloned()
    }

    pub(crate) fn len(&self) -> usize {
        self.read().len()
    }

    pub(crate) fn keys(&self) -> Vec<String> {
        self.read().keys().cloned().collect()
    }

    /// All items in the order of their keys.
    pub(crate) fn items(&self) -> Vec<Arc<T>> {
        self.read().values().cloned().collect()
    }

    /// At most `size` items after `cursor`, and where the next page begins if there is more. A page of none would never come
    /// to an end, so that it has one at least.
    ///
    /// # Errors
    /// When the cursor is none that [`encode_cursor`] made.
    pub(crate) fn page(
        &self,
        cursor: Option<&str>,
        size: usize,
    ) -> Result<(Vec<Arc<T>>, Option<String>), RegistryError> {
        let after = cursor.map(decode_cursor).transpose()?;
        let mut page = self.after(after.as_deref(), size.max(1).saturating_add(1));
        let more = page.len() > size.max(1);
        page.truncate(size.max(1));
        let next = page.last().filter(|_| more).map(|(key, _)| encode_cursor(key));
        Ok((page.into_iter().map(|(_, item)| item).collect(), next))
    }

    /// The first `count` items whose keys come after `key`.
    pub(crate) fn after(&self, key: Option<&str>, count: usize) -> Vec<(String, Arc<T>)> {
        let from = key.map_or(Bound::Unbounded, Bound::Excluded);
        let items = self.read();
        let rest = items.range::<str, _>((from, Bound::Unbounded)).take(count);
        rest.map(|(key, item)| (key.clone(), item.clone())).collect()
    }

    // Poisoned locks are entered: every critical section here is a single operation on the map.
    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<String, Arc<T>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Arc<T>>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Default for Keyed<T> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

/// A cursor is the last key of its page in hexadecimal, so that nobody mistakes it for something to build. It stands for a
/// key and not for a count, and so stays good when items come and go in between.
pub(crate) fn encode_cursor(key: &str) -> String {
    key.bytes().fold(String::from("after-"), |text, byte| text + &format!("{byte:02x}"))
}

/// The key that a cursor stands for.
///
/// # Errors
/// When it is none that [`encode_cursor`] made.
pub(crate) fn decode_cursor(cursor: &str) -> Result<String, RegistryError> {
    let digits = cursor.strip_prefix("after-").filter(|digits| !digits.is_empty() && digits.len() % 2 == 0);
    let bytes = digits.and_then(|digits| {
        let byte = |pair: &[u8]| match std::str::from_utf8(pair) {
            // `from_str_radix` also takes a sign.
            Ok(pair) if !pair.starts_with('+') => u8::from_str_radix(pair, 16).ok(),
            _ => None,
        };
        digits.as_bytes().chunks(2).map(byte).collect::<Option<Vec<u8>>>()
    });
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| RegistryError::InvalidCursor(cursor.chars().take(64).collect()))
}

/// How often something has changed, and who is to be told.
///
/// Owner: a registry. Bound: the listeners that are kept. A clone is another handle.
#[derive(Clone, Default)]
pub(crate) struct Changes(Arc<Inner>);

#[derive(Default)]
struct Inner {
    generation: AtomicU64,
    listeners: Mutex<Vec<(u64, Arc<Listener>)>>,
    next_listener: AtomicU64,
}

type Listener = dyn Fn() + Send + Sync;

impl Changes {
    /// Counts a change and tells every listener, on this thread.
    pub(crate) fn happened(&self) {
        self.0.generation.fetch_add(1, Ordering::AcqRel);
        let listeners: Vec<_> =
            lock(&self.0.listeners).iter().map(|(_, listener)| listener.clone()).collect();
        for listener in listeners {
            listener();
        }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::Acquire)
    }

    /// Runs `callback` after every change until the listener is dropped.
    pub(crate) fn listen(&self, callback: Arc<Listener>) -> ChangeListener {
        let id = self.0.next_listener.fetch_add(1, Ordering::Relaxed);
        lock(&self.0.listeners).push((id, callback));
        ChangeListener { id, changes: Arc::downgrade(&self.0) }
    }
}

/// Keeps a registry's `on_change` callback alive; dropping it ends the callback.
#[must_use = "the callback ends when this is dropped"]
pub struct ChangeListener {
    id: u64,
    changes: Weak<Inner>,
}

impl Drop for ChangeListener {
    fn drop(&mut self) {
        if let Some(changes) = self.changes.upgrade() {
            // Taken out first: the callback's own drop may use the registry.
            let mine = {
                let mut listeners = lock(&changes.listeners);
                listeners.iter().position(|(id, _)| *id == self.id).map(|at| listeners.remove(at))
            };
            drop(mine);
        }
    }
}

impl fmt::Debug for ChangeListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChangeListener").field(&self.id).finish()
    }
}
