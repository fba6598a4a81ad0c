//! [`ToolRegistry`]: many tools, found by name.

use std::any::Any;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

#[cfg(feature = "validation")]
use super::checked::checked as kept;
use super::lint;
use super::{Arguments, Tool, ToolError};
use crate::context::Context;
use crate::jsonrpc::ErrorObject;
use crate::protocol::{CallToolResult, ToolDefinition};
use crate::sync::{Mutex, lock};

/// Many tools, local and remote, found by name.
///
/// A clone is another handle to the same registry. Tools may come and go while calls are running: a call
/// holds on to its tool.
///
/// ```
/// use tinymcp::{Arguments, Context, ToolRegistry, tool};
///
/// let tools = ToolRegistry::new();
/// tools.register(tool! {
///     /// Add two numbers
///     fn add(a: i64, b: i64) -> i64 { a + b }
/// })?;
///
/// let result = tools.execute("add", Arguments::from_text(r#"{"a": 1, "b": 2}"#)?, &Context::detached())?;
/// assert_eq!(result.text_content(), "3");
/// let result = tools.execute("add", Arguments::from_text(r#"{"a": 1}"#)?, &Context::detached())?;
/// assert!(result.is_error());
/// assert_eq!(result.text_content(), "bad arguments for tool add: b: missing");
/// let error = tools.execute("sub", Arguments::empty(), &Context::detached()).unwrap_err();
/// assert_eq!(error.to_string(), "unknown tool: sub (-32602)");
/// # Ok::<(), tinymcp::ToolError>(())
/// ```
#[derive(Clone, Default)]
pub struct ToolRegistry {
    shared: Arc<Shared>,
}

/// Owner: the handles and the servers of the registry. Bound: what the program registers. Locks are held for a look-up or a
/// change and never while a tool or a listener runs.
#[derive(Default)]
struct Shared {
    tools: RwLock<BTreeMap<String, Arc<dyn Tool>>>,
    generation: AtomicU64,
    listeners: Mutex<Vec<(u64, Arc<Listener>)>>,
    next_listener: AtomicU64,
}

type Listener = dyn Fn() + Send + Sync;

/// Why a tool cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// There is a tool of this name already.
    #[error("duplicate tool: {0}")]
    Duplicate(String),

    /// Clients would refuse the name.
    #[error("invalid tool name {name:?}: {problem}")]
    InvalidName {
        /// The name.
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

impl ToolRegistry {
    /// Without tools.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `tool`. What clients are known to dislike about its schema goes to the log as a warning.
    ///
    /// # Errors
    /// When its name is taken, empty, longer than 128 characters or has control characters, or when its input schema is not
    /// that of an object; with the feature `validation` also when one of its schemas cannot be used.
    pub fn register(&self, tool: impl Tool + 'static) -> Result<(), RegistryError> {
        lint::check(&tool)?;
        let tool = kept(tool)?;
        let name = tool.name().to_owned();
        match self.shared.write().entry(name) {
            Entry::Occupied(taken) => return Err(RegistryError::Duplicate(taken.key().clone())),
            Entry::Vacant(free) => free.insert(tool),
        };
        self.shared.changed();
        Ok(())
    }

    /// Adds `tool`, in a chain.
    ///
    /// # Errors
    /// Those of [`register`](Self::register).
    pub fn with(self, tool: impl Tool + 'static) -> Result<Self, RegistryError> {
        self.register(tool)?;
        Ok(self)
    }

    /// Adds `tool` in place of the one that has its name, which is returned. Running calls of that one go on.
    ///
    /// # Errors
    /// When its name or input schema is invalid.
    pub fn replace(&self, tool: impl Tool + 'static) -> Result<Option<Arc<dyn Tool>>, RegistryError> {
        lint::check(&tool)?;
        let tool = kept(tool)?;
        let name = tool.name().to_owned();
        let old = self.shared.write().insert(name, tool);
        self.shared.changed();
        Ok(old)
    }

    /// Takes the tool out. Running calls go on.
    pub fn remove(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let old = self.shared.write().remove(name);
        if old.is_some() {
            self.shared.changed();
        }
        old
    }

    /// The tool of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.shared.read().get(name).cloned()
    }

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.read().len()
    }

    /// Whether there is no tool.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shared.read().is_empty()
    }

    /// All names, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.shared.read().keys().cloned().collect()
    }

    /// All tools as clients see them, in the order of their names.
    #[must_use]
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        let tools: Vec<_> = self.shared.read().values().cloned().collect();
        tools.iter().map(|tool| tool.definition()).collect()
    }

    /// At most `page_size` tools, in the order of their names, and where the next page begins if there is more.
    ///
    /// A cursor stays good when tools come and go in between: it stands for a name, not for a count.
    ///
    /// # Errors
    /// When the cursor is none that a registry gave out.
    pub fn page(
        &self,
        cursor: Option<&str>,
        page_size: usize,
    ) -> Result<(Vec<ToolDefinition>, Option<String>), RegistryError> {
        let after = cursor.map(decode_cursor).transpose()?;
        let from = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let (page, more) = {
            let tools = self.shared.read();
            let mut rest = tools
                .range::<str, _>((from, Bound::Unbounded))
                .map(|(name, tool)| (name.clone(), tool.clone()));
            // A page of none would never come to an end.
            let page: Vec<_> = rest.by_ref().take(page_size.max(1)).collect();
            (page, rest.next().is_some())
        };
        let next = page.last().filter(|_| more).map(|(name, _)| encode_cursor(name));
        Ok((page.iter().map(|(_, tool)| tool.definition()).collect(), next))
    }

    /// Calls a tool, local or remote. A tool that failed, or panicked, is a result as well, whose
    /// [`is_error`](CallToolResult::is_error) is true: a model can read it and mend its call. What a panic said goes only
    /// to the log.
    ///
    /// # Errors
    /// What no model can mend: there is no such tool, or it answered with an error of the protocol.
    pub fn execute(
        &self,
        name: &str,
        arguments: Arguments<'_>,
        cx: &Context,
    ) -> Result<CallToolResult, ErrorObject> {
        let tool = self.get(name).ok_or_else(|| ToolError::unknown_tool(name));
        tool.and_then(|tool| execute_caught(&*tool, arguments, cx)).or_else(ToolError::into_result)
    }

    /// Runs `callback` after every change, on the thread that made it, until the listener is dropped. It may use the
    /// registry.
    pub fn on_change(&self, callback: impl Fn() + Send + Sync + 'static) -> ChangeListener {
        let id = self.shared.next_listener.fetch_add(1, Ordering::Relaxed);
        lock(&self.shared.listeners).push((id, Arc::new(callback)));
        ChangeListener { id, shared: Arc::downgrade(&self.shared) }
    }

    /// How often the tools have changed.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.shared.generation.load(Ordering::Acquire)
    }
}

/// `tool` as it is kept.
#[cfg(not(feature = "validation"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature `validation` it may fail")]
fn kept(tool: impl Tool + 'static) -> Result<Arc<dyn Tool>, RegistryError> {
    Ok(Arc::new(tool))
}

/// Calls `tool`; a panic in it becomes a failed result.
pub(crate) fn execute_caught(
    tool: &dyn Tool,
    arguments: Arguments<'_>,
    cx: &Context,
) -> Result<CallToolResult, ToolError> {
    // A panic may leave the tool's own state half changed; that is the tool's business, as
    // it is with threads.
    catch_unwind(AssertUnwindSafe(|| tool.execute(arguments, cx))).unwrap_or_else(|payload| {
        let name = tool.name();
        log::error!("tool `{name}` panicked: {}", panic_text(&*payload));
        Err(ToolError::new(format_args!("tool `{name}` panicked")))
    })
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text")
}

impl Shared {
    // Poisoned locks are entered: every critical section here is a single operation on the map.
    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<String, Arc<dyn Tool>>> {
        self.tools.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Arc<dyn Tool>>> {
        self.tools.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
        let listeners: Vec<_> = lock(&self.listeners).iter().map(|(_, listener)| listener.clone()).collect();
        for listener in listeners {
            listener();
        }
    }
}

impl fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolRegistry").field(&self.names()).finish()
    }
}

/// Keeps a callback of [`ToolRegistry::on_change`] alive; dropping it ends the callback.
#[must_use = "the callback ends when this is dropped"]
pub struct ChangeListener {
    id: u64,
    shared: Weak<Shared>,
}

impl Drop for ChangeListener {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            // Taken out first: the callback's own drop may use the registry.
            let mine = {
                let mut listeners = lock(&shared.listeners);
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

/// A cursor is the last name of its page in hexadecimal, so that nobody mistakes it for something to build.
fn encode_cursor(name: &str) -> String {
    name.bytes().fold(String::from("after-"), |text, byte| text + &format!("{byte:02x}"))
}

fn decode_cursor(cursor: &str) -> Result<String, RegistryError> {
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
