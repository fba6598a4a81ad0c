//! [`ToolRegistry`]: many tools, found by name.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

#[cfg(feature = "validation")]
use super::checked::checked as kept;
use super::lint;
use super::{Arguments, Tool, ToolError};
use crate::context::Context;
use crate::jsonrpc::ErrorObject;
use crate::protocol::{CallToolResult, ToolDefinition};
use crate::registry::{ChangeListener, Changes, Keyed, RegistryError};

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
    tools: Arc<Keyed<dyn Tool>>,
    changes: Changes,
    /// Of this handle alone.
    #[cfg(feature = "trajectory")]
    instead: Option<Arc<Instead>>,
}

/// Finds what answers in place of the tools, which are only listed.
#[cfg(feature = "trajectory")]
pub(crate) type Instead = dyn Fn(&str) -> Arc<dyn Tool> + Send + Sync;

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
        self.tools.add("tool", name, tool)?;
        self.changes.happened();
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
        let old = self.tools.replace(name, tool);
        self.changes.happened();
        Ok(old)
    }

    /// Takes the tool out. Running calls go on.
    pub fn remove(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let old = self.tools.remove(name);
        if old.is_some() {
            self.changes.happened();
        }
        old
    }

    /// The tool of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        #[cfg(feature = "trajectory")]
        if let Some(instead) = &self.instead {
            return Some(instead(name));
        }
        self.tools.get(name)
    }

    /// A handle to the same registry which finds another tool for each name, also for those that are not listed.
    #[cfg(feature = "trajectory")]
    pub(crate) fn answered_by(&self, instead: Arc<Instead>) -> Self {
        Self { instead: Some(instead), ..self.clone() }
    }

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there is no tool.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All names, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.tools.keys()
    }

    /// All tools as clients see them, in the order of their names.
    #[must_use]
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.tools.items().iter().map(|tool| described(&**tool)).collect()
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
        let (page, next) = self.tools.page(cursor, page_size)?;
        Ok((page.iter().map(|tool| described(&**tool)).collect(), next))
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
        self.changes.listen(Arc::new(callback))
    }

    /// How often the tools have changed.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.changes.generation()
    }
}

/// `tool` as clients see it. Whether it runs as a task is a matter of this program: a remote tool's description speaks of its
/// own server.
fn described(tool: &dyn Tool) -> ToolDefinition {
    let mut definition = tool.definition();
    definition.execution = tool.task_mode().execution();
    definition
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
    caught("tool", tool.name(), || tool.execute(arguments, cx))
}

/// Runs a handler; a panic in it becomes an error, and its text goes to the log alone.
pub(crate) fn caught<T>(
    what: &str,
    name: &str,
    run: impl FnOnce() -> Result<T, ToolError>,
) -> Result<T, ToolError> {
    // A panic may leave the handler's own state half changed; that is its author's business, as
    // it is with threads.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
        log::error!("{what} `{name}` panicked: {}", panic_text(&*payload));
        Err(ToolError::new(format_args!("{what} `{name}` panicked")))
    })
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text")
}

impl fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolRegistry").field(&self.names()).finish()
    }
}
