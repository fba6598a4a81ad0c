//! [`PromptRegistry`]: many prompts, found by name.

use std::fmt;
use std::sync::Arc;

use super::{FnPrompt, PromptArguments};
use crate::context::Context;
use crate::protocol::{GetPromptResult, Prompt};
use crate::registry::{ChangeListener, Changes, Keyed, RegistryError, check_name};
use crate::tool::{ToolError, caught};

/// Many prompts, found by name.
///
/// A clone is another handle to the same registry. Prompts may come and go while requests are served.
///
/// ```
/// use tinymcp::{Context, PromptRegistry, Server, prompt};
///
/// let prompts = PromptRegistry::new().with(prompt! {
///     /// Explain something
///     fn explain(topic: String) -> String { format!("Explain {topic}.") }
/// })?;
/// let server = Server::builder("teacher", "1.0.0").prompts(prompts.clone()).build()?;
/// assert_eq!(server.prompts().expect("some").names(), ["explain"]);
///
/// let arguments = [("topic", "tides")].into_iter().collect();
/// let result = prompts.fill("explain", &arguments, &Context::detached())?;
/// assert_eq!(result.messages[0].content.as_text(), Some("Explain tides."));
/// let error = prompts.fill("translate", &arguments, &Context::detached()).unwrap_err();
/// assert_eq!(error.to_string(), "unknown prompt: translate (-32602)");
/// # Ok::<(), tinymcp::ToolError>(())
/// ```
#[derive(Clone, Default)]
pub struct PromptRegistry {
    prompts: Arc<Keyed<FnPrompt>>,
    changes: Changes,
    /// Of this handle alone.
    #[cfg(feature = "trajectory")]
    instead: Option<Arc<Instead>>,
}

/// Fills in in place of the prompts, which are only listed.
#[cfg(feature = "trajectory")]
pub(crate) type Instead =
    dyn Fn(&str, &PromptArguments, &Context) -> Result<GetPromptResult, ToolError> + Send + Sync;

impl PromptRegistry {
    /// Without prompts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `prompt`.
    ///
    /// # Errors
    /// When its name is taken, empty, longer than 128 characters or has control characters.
    pub fn register(&self, prompt: FnPrompt) -> Result<(), RegistryError> {
        check_name("prompt name", prompt.name())?;
        self.prompts.add("prompt", prompt.name().to_owned(), Arc::new(prompt))?;
        self.changes.happened();
        Ok(())
    }

    /// Adds `prompt`, in a chain.
    ///
    /// # Errors
    /// Those of [`register`](Self::register).
    pub fn with(self, prompt: FnPrompt) -> Result<Self, RegistryError> {
        self.register(prompt)?;
        Ok(self)
    }

    /// Adds `prompt` in place of the one that has its name, which is returned.
    ///
    /// # Errors
    /// When its name is invalid.
    pub fn replace(&self, prompt: FnPrompt) -> Result<Option<Arc<FnPrompt>>, RegistryError> {
        check_name("prompt name", prompt.name())?;
        let old = self.prompts.replace(prompt.name().to_owned(), Arc::new(prompt));
        self.changes.happened();
        Ok(old)
    }

    /// Takes the prompt out.
    pub fn remove(&self, name: &str) -> Option<Arc<FnPrompt>> {
        let old = self.prompts.remove(name);
        if old.is_some() {
            self.changes.happened();
        }
        old
    }

    /// The prompt of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<FnPrompt>> {
        self.prompts.get(name)
    }

    /// How many prompts there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.prompts.len()
    }

    /// Whether there is no prompt.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All names, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.prompts.keys()
    }

    /// All prompts as clients see them, in the order of their names.
    #[must_use]
    pub fn definitions(&self) -> Vec<Prompt> {
        self.prompts.items().iter().map(|prompt| prompt.definition().clone()).collect()
    }

    /// At most `page_size` prompts, in the order of their names, and where the next page begins if there is more.
    ///
    /// A cursor stays good when prompts come and go in between.
    ///
    /// # Errors
    /// When the cursor is none that a registry gave out.
    pub fn page(
        &self,
        cursor: Option<&str>,
        page_size: usize,
    ) -> Result<(Vec<Prompt>, Option<String>), RegistryError> {
        let (page, next) = self.prompts.page(cursor, page_size)?;
        Ok((page.iter().map(|prompt| prompt.definition().clone()).collect(), next))
    }

    /// Fills in a prompt.
    ///
    /// # Errors
    /// When there is no such prompt, or as [`FnPrompt::fill`], or when it panicked: what it said goes to the log alone.
    pub fn fill(
        &self,
        name: &str,
        arguments: &PromptArguments,
        cx: &Context,
    ) -> Result<GetPromptResult, ToolError> {
        #[cfg(feature = "trajectory")]
        if let Some(instead) = &self.instead {
            return caught("prompt", name, || instead(name, arguments, cx));
        }
        // spec: 2026-07-28 server/prompts#error-handling (unknown prompt: -32602)
        let prompt = self.get(name);
        let prompt =
            prompt.ok_or_else(|| ToolError::invalid_params(format_args!("unknown prompt: {name}")))?;
        caught("prompt", name, || prompt.fill(arguments, cx))
    }

    /// A handle to the same registry which fills in by `instead`, also what is not listed.
    #[cfg(feature = "trajectory")]
    pub(crate) fn answered_by(&self, instead: Arc<Instead>) -> Self {
        Self { instead: Some(instead), ..self.clone() }
    }

    /// Whether an argument of any prompt can be completed.
    #[must_use]
    pub fn has_completers(&self) -> bool {
        self.prompts.items().iter().any(|prompt| prompt.has_completers())
    }

    /// Runs `callback` after every change, on the thread that made it, until the listener is dropped. It may use the
    /// registry.
    pub fn on_change(&self, callback: impl Fn() + Send + Sync + 'static) -> ChangeListener {
        self.changes.listen(Arc::new(callback))
    }

    /// How often the prompts have changed.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.changes.generation()
    }
}

impl fmt::Debug for PromptRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PromptRegistry").field(&self.names()).finish()
    }
}
