//! [`FnPrompt`]: a prompt made of a closure.

use std::fmt;

use super::{PromptArguments, PromptOutput};
use crate::completion::{Completers, CompletionOutput};
use crate::context::Context;
use crate::protocol::{CompletionContext, GetPromptResult, Icon, Prompt, PromptArgument};
use crate::tool::ToolError;

type Fill = dyn Fn(&PromptArguments, &Context) -> Result<GetPromptResult, ToolError> + Send + Sync;

/// A prompt made of a closure: by [`prompt!`](crate::prompt!) if its arguments are known when it is written, by
/// [`FnPrompt::new`] if they come at run time.
///
/// ```
/// use tinymcp::prompt;
/// use tinymcp::protocol::Completion;
///
/// let review = prompt! {
///     /// Review a change
///     fn review(branch: String, tone: Option<String>) -> String {
///         format!("Review {branch}, and be {}.", tone.as_deref().unwrap_or("kind"))
///     }
/// }
/// .title("Review")
/// .complete_from("tone", ["kind", "strict"])
/// .complete("branch", |typed, known, _cx| {
///     let all = if known.get("tone") == Some("strict") { vec!["main"] } else { vec!["main", "next"] };
///     all.into_iter().filter(|branch| branch.starts_with(typed)).collect::<Vec<_>>()
/// });
/// # let _ = review;
/// ```
pub struct FnPrompt {
    definition: Prompt,
    fill: Box<Fill>,
    completers: Completers,
}

impl FnPrompt {
    /// A prompt whose arguments are known only at run time, from a file for example. Arguments are compared with those that
    /// `definition` declares before the closure sees them: it gets all that are required, and none that is unknown.
    ///
    /// ```
    /// use tinymcp::protocol::{Prompt, PromptArgument};
    /// use tinymcp::{Context, FnPrompt, PromptArguments};
    ///
    /// let definition = Prompt::new("explain").with_argument(PromptArgument::new("topic").with_required(true));
    /// let explain = FnPrompt::new(definition, |arguments, _cx| {
    ///     Ok::<_, tinymcp::ToolError>(format!("Explain {}.", arguments.required("topic")?))
    /// });
    ///
    /// let fill = |name, value| explain.fill(&[(name, value)].into_iter().collect(), &Context::detached());
    /// assert_eq!(fill("topic", "tides")?.messages[0].content.as_text(), Some("Explain tides."));
    /// assert_eq!(
    ///     fill("subject", "tides").unwrap_err().to_string(),
    ///     "bad arguments for prompt explain: topic: missing; subject: unknown argument (-32602)",
    /// );
    /// # Ok::<(), tinymcp::ToolError>(())
    /// ```
    pub fn new<R: PromptOutput>(
        definition: Prompt,
        fill: impl Fn(&PromptArguments, &Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let declared = definition.clone();
        Self::of(definition, move |arguments, cx| {
            arguments.check(&declared)?;
            fill(arguments, cx).into_result()
        })
    }

    /// A prompt whose closure compares the arguments itself.
    pub(super) fn of(
        definition: Prompt,
        fill: impl Fn(&PromptArguments, &Context) -> Result<GetPromptResult, ToolError> + Send + Sync + 'static,
    ) -> Self {
        Self { definition, fill: Box::new(fill), completers: Completers::default() }
    }

    /// Its name for programs.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// How it is described to clients.
    #[must_use]
    pub fn definition(&self) -> &Prompt {
        &self.definition
    }

    /// Whether any argument can be completed.
    #[must_use]
    pub fn has_completers(&self) -> bool {
        !self.completers.is_empty()
    }

    /// Sets the name that people see.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.title = Some(title.into());
        self
    }

    /// Adds an icon.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.definition.icons.get_or_insert_default().push(icon);
        self
    }

    /// Sets the name of an argument that people see. Nothing happens if there is no such argument.
    #[must_use]
    pub fn argument_title(mut self, argument: &str, title: impl Into<String>) -> Self {
        let named = |declared: &&mut PromptArgument| declared.name == argument;
        if let Some(declared) = self.definition.arguments.iter_mut().flatten().find(named) {
            declared.title = Some(title.into());
        }
        self
    }

    /// Has `complete` propose values for an argument while a user types: see [`Completers::set`].
    #[must_use]
    pub fn complete<R: CompletionOutput>(
        mut self,
        argument: impl Into<String>,
        complete: impl Fn(&str, &CompletionContext, &Context) -> R + Send + Sync + 'static,
    ) -> Self {
        self.completers.set(argument, complete);
        self
    }

    /// Proposes those of `values` for an argument that begin with what the user typed: see [`Completers::set_list`].
    #[must_use]
    pub fn complete_from<T: Into<String>>(
        mut self,
        argument: impl Into<String>,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        self.completers.set_list(argument, values);
        self
    }

    /// Fills it in. The result says what the prompt is for, if the closure did not.
    ///
    /// # Errors
    /// When an argument is missing, unknown or wrong, which is -32602, or when the closure failed.
    pub fn fill(&self, arguments: &PromptArguments, cx: &Context) -> Result<GetPromptResult, ToolError> {
        let filled = (self.fill)(arguments, cx);
        let mut result = filled.map_err(|e| e.of_prompt(&self.definition.name))?;
        if result.description.is_none() {
            result.description.clone_from(&self.definition.description);
        }
        Ok(result)
    }

    /// What completes its arguments.
    pub(crate) fn completers(&self) -> &Completers {
        &self.completers
    }
}

impl fmt::Debug for FnPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnPrompt")
            .field("definition", &self.definition)
            .field("completers", &self.completers)
            .finish_non_exhaustive()
    }
}
