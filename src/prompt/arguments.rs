//! [`PromptArguments`]: what a prompt is filled in with.

use std::collections::BTreeMap;

use crate::protocol::Prompt;
use crate::tool::ToolError;

/// The arguments a prompt is filled in with, all of them texts.
///
/// ```
/// use tinymcp::prompt::PromptArguments;
///
/// let arguments: PromptArguments = [("topic", "tides"), ("words", "200")].into_iter().collect();
/// assert_eq!(arguments.get("topic"), Some("tides"));
/// assert_eq!(arguments.required("words")?, "200");
/// assert_eq!(arguments.required("tone").unwrap_err().to_string(), "bad arguments: tone: missing");
/// # Ok::<(), tinymcp::ToolError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptArguments(BTreeMap<String, String>);

impl PromptArguments {
    /// The argument `name`, if it was given.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The argument `name`.
    ///
    /// # Errors
    /// Bad arguments, if it was not given.
    pub fn required(&self, name: &str) -> Result<&str, ToolError> {
        self.get(name).ok_or_else(|| ToolError::bad_arguments(format_args!("{name}: missing")))
    }

    /// All that were given, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// All that were given, by name.
    #[must_use]
    pub fn as_map(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// Compares them with what `prompt` declares.
    ///
    /// # Errors
    /// Bad arguments, which name every one that is missing or unknown.
    pub(super) fn check(&self, prompt: &Prompt) -> Result<(), ToolError> {
        // spec: 2026-07-28 server/prompts#implementation-considerations (servers validate arguments before)
        let declared = prompt.arguments.as_deref().unwrap_or_default();
        let missing =
            declared.iter().filter(|argument| argument.is_required() && self.get(&argument.name).is_none());
        let unknown = self.0.keys().filter(|name| declared.iter().all(|argument| argument.name != **name));
        let problems = missing.map(|argument| format!("{}: missing", argument.name));
        let problems: Vec<_> =
            problems.chain(unknown.map(|name| format!("{name}: unknown argument"))).collect();
        if problems.is_empty() { Ok(()) } else { Err(ToolError::bad_arguments(problems.join("; "))) }
    }
}

impl From<BTreeMap<String, String>> for PromptArguments {
    fn from(arguments: BTreeMap<String, String>) -> Self {
        Self(arguments)
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for PromptArguments {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(arguments: I) -> Self {
        Self(arguments.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
