//! `prompt!`: what it does not share with `tool!`.

use std::collections::BTreeMap;

use super::{FnPrompt, PromptArguments, PromptOutput};
use crate::context::Context;
use crate::protocol::{Prompt, PromptArgument};
use crate::tool::call::{Call, Signature};
use crate::tool::{Arguments, ToolError};

/// Declares a prompt as a function: parameters are its arguments, doc comments the descriptions.
///
/// ```
/// use tinymcp::{Context, PromptArguments, prompt};
///
/// let explain = prompt! {
///     /// Explain something
///     fn explain(
///         /// What
///         topic: String,
///         language: Option<String>,
///         /// How many examples
///         count: u32 = 3,
///     ) -> String {
///         let language = language.unwrap_or_else(|| "English".to_owned());
///         format!("Explain {topic} in {language}, with {count} examples.")
///     }
/// };
///
/// let definition = explain.definition();
/// assert_eq!(definition.description.as_deref(), Some("Explain something"));
/// let arguments = definition.arguments.as_deref().unwrap_or_default();
/// assert_eq!(arguments.iter().map(|a| (&*a.name, a.is_required())).collect::<Vec<_>>(), [
///     ("topic", true),
///     ("language", false),
///     ("count", false),
/// ]);
///
/// let fill = |given: &[(&str, &str)]| explain.fill(&given.iter().copied().collect(), &Context::detached());
/// let result = fill(&[("topic", "tides"), ("count", "5")])?;
/// assert_eq!(result.messages[0].content.as_text(), Some("Explain tides in English, with 5 examples."));
/// assert_eq!(
///     fill(&[("count", "many"), ("tone", "dry")]).unwrap_err().to_string(),
///     r#"bad arguments for prompt explain: topic: missing; count: expected an integer, found "many"; tone: unknown argument (-32602)"#,
/// );
/// # Ok::<(), tinymcp::ToolError>(())
/// ```
///
/// The parameter list is that of [`tool!`](macro@crate::tool), `cx: &Context` included; what a user typed becomes a number,
/// a boolean, a word of an enum, or whatever the parameter's type is. An empty text counts as absent where the type cannot be
/// read from one and the argument is not required. Arguments whose type is an enum of words can be
/// completed. The result types are those of [`PromptOutput`], and the whole is an
/// [`FnPrompt`], whose methods add a title and completers.
#[macro_export]
macro_rules! prompt {
    ($($function:tt)*) => {
        $crate::__function!(prompt { $($function)* })
    };
}

impl Signature {
    /// The prompt that `fill` does the work of.
    pub fn prompt<R, F>(self, fill: F) -> FnPrompt
    where
        R: PromptOutput,
        F: for<'a> Fn(&mut Call<'a>) -> Result<R, ToolError> + Send + Sync + 'static,
    {
        let (name, description, parameters) = self.into_parts();
        let mut definition = Prompt::new(name);
        definition.description = Some(description).filter(|text| !text.is_empty());
        let (mut words, mut no_texts) = (Vec::new(), Vec::new());
        for (name, schema, is_required) in parameters.properties() {
            let mut argument = PromptArgument::new(name).with_required(is_required);
            argument.description = schema.get("description").and_then(|text| text.to().ok());
            definition = definition.with_argument(argument);
            let takes_text = schema.get("enum").is_none()
                && schema.get("type").is_some_and(|kind| kind.as_str() == r#""string""#);
            if !is_required && !takes_text {
                no_texts.push(name.to_owned());
            }
            if let Some(known) = schema.get("enum").and_then(|known| known.to::<Vec<String>>().ok()) {
                words.push((name.to_owned(), known));
            }
        }
        let prompt = FnPrompt::of(definition, move |arguments: &PromptArguments, cx: &Context| {
            // Forms send what was not filled in as an empty text.
            let is_blank =
                |name: &str, text: &str| text.is_empty() && no_texts.iter().any(|blank| blank == name);
            let given = arguments.iter().filter(|(name, text)| !is_blank(name, text));
            // Texts are read as leniently as models' arguments are: `"5"` is a number where one is asked for.
            let arguments = Arguments::new(&given.collect::<BTreeMap<_, _>>())?;
            // A user, unlike a model, invents no arguments: one that is unknown is a mistake.
            let mut call = Call::new(&arguments, cx, true)?;
            fill(&mut call)?.into_result()
        });
        words.into_iter().fold(prompt, |prompt, (name, known)| prompt.complete_from(name, known))
    }
}
