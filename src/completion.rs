//! Completers: what proposes values for an argument of a prompt, or for a variable of a resource template.
//!
//! **Invariant:** no answer has more than [`Completion::MAX_VALUES`] values, and none claims to be all there is when it
//! is not.

use std::collections::BTreeMap;
use std::fmt;

use crate::context::Context;
use crate::protocol::{CompleteParams, Completion, CompletionContext};
use crate::tool::ToolError;

/// What a completer may return.
///
/// | type | proposals |
/// |---|---|
/// | `Vec` of `String` or `&str` | all there are, the best first |
/// | [`Completion`] | some of them, with how many there are in all |
/// | `Result<T, E>` | `T`, or an error of the request |
///
/// More than 100 values are cut off, and the answer says so.
///
/// ```
/// use tinymcp::completion::CompletionOutput;
///
/// let found = vec!["x"; 300].into_completion()?;
/// assert_eq!((found.values.len(), found.total, found.has_more), (100, Some(300), Some(true)));
/// # Ok::<(), tinymcp::ToolError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be what a completer returns",
    label = "not a `CompletionOutput`",
    note = "return a `Vec` of `String` or `&str`, a `Completion`, or a `Result` of those whose error is `ToolError` or any `std::error::Error`"
)]
pub trait CompletionOutput {
    /// The proposals as they go to the client.
    ///
    /// # Errors
    /// When the completer failed.
    fn into_completion(self) -> Result<Completion, ToolError>;
}

impl CompletionOutput for Completion {
    fn into_completion(mut self) -> Result<Completion, ToolError> {
        // spec: 2026-07-28 server/utilities/completion#completion-results (at most 100 items)
        if self.values.len() > Self::MAX_VALUES {
            let given = self.values.len() as u64;
            self.total = self.total.map(|total| total.max(given));
            self.has_more = Some(true);
            self.values.truncate(Self::MAX_VALUES);
        }
        Ok(self)
    }
}

macro_rules! lists {
    ($($item:ty)*) => {$(
        impl CompletionOutput for Vec<$item> {
            fn into_completion(self) -> Result<Completion, ToolError> {
                Ok(Completion::new(self))
            }
        }
    )*};
}
lists!(String & str);

impl<T: CompletionOutput, E: Into<ToolError>> CompletionOutput for Result<T, E> {
    fn into_completion(self) -> Result<Completion, ToolError> {
        self.map_err(Into::into)?.into_completion()
    }
}

type Completer = dyn Fn(&str, &CompletionContext, &Context) -> Result<Completion, ToolError> + Send + Sync;

/// The completers of one prompt or resource template, by the argument they are for.
///
/// ```
/// use tinymcp::Context;
/// use tinymcp::completion::Completers;
/// use tinymcp::protocol::CompletionContext;
///
/// let mut completers = Completers::default();
/// completers.set_list("language", ["English", "Español", "Русский"]);
/// completers.set("greeting", |typed: &str, known: &CompletionContext, _: &Context| match known.get("language") {
///     Some("Español") => vec!["hola", "buenos días"],
///     _ => vec![if typed.is_empty() { "hello" } else { "hi" }],
/// });
///
/// let (known, cx) = (CompletionContext::default(), Context::detached());
/// assert_eq!(completers.complete("language", "e", &known, &cx)?.values, ["English", "Español"]);
/// assert_eq!(completers.complete("greeting", "h", &known, &cx)?.values, ["hi"]);
/// assert!(completers.complete("name", "", &known, &cx)?.values.is_empty());
/// # Ok::<(), tinymcp::ToolError>(())
/// ```
#[derive(Default)]
pub struct Completers(BTreeMap<String, Box<Completer>>);

impl Completers {
    /// Has `complete` propose values for `argument`: it gets what has been typed so far, the other arguments that are known,
    /// and the context of the request, and decides itself what matches.
    pub fn set<R: CompletionOutput>(
        &mut self,
        argument: impl Into<String>,
        complete: impl Fn(&str, &CompletionContext, &Context) -> R + Send + Sync + 'static,
    ) {
        let complete = move |typed: &str, known: &CompletionContext, cx: &Context| {
            complete(typed, known, cx).into_completion()
        };
        self.0.insert(argument.into(), Box::new(complete));
    }

    /// Proposes those of `values` for `argument` that begin with what has been typed, upper and lower case being the same.
    /// Their order is kept.
    pub fn set_list<T: Into<String>>(
        &mut self,
        argument: impl Into<String>,
        values: impl IntoIterator<Item = T>,
    ) {
        // Beside each value what it is compared by.
        let values = values.into_iter().map(Into::into).map(|value: String| (value.to_lowercase(), value));
        let values: Vec<_> = values.collect();
        self.set(argument, move |typed, _, _| {
            let typed = typed.to_lowercase();
            let matching = values.iter().filter(|(lower, _)| lower.starts_with(&typed));
            Completion::new(matching.map(|(_, value)| value.as_str()))
        });
    }

    /// Answers a request.
    pub(crate) fn answer(&self, params: &CompleteParams, cx: &Context) -> Result<Completion, ToolError> {
        let nothing = CompletionContext::default();
        let known = params.context.as_ref().unwrap_or(&nothing);
        self.complete(&params.argument.name, &params.argument.value, known, cx)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The proposals for `argument`, of which `typed` has been typed: none without a completer for it.
    ///
    /// # Errors
    /// When the completer failed.
    pub fn complete(
        &self,
        argument: &str,
        typed: &str,
        known: &CompletionContext,
        cx: &Context,
    ) -> Result<Completion, ToolError> {
        match self.0.get(argument) {
            Some(complete) => complete(typed, known, cx),
            None => Ok(Completion::new::<String>([])),
        }
    }
}

impl fmt::Debug for Completers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_matched_by_their_beginning_whatever_the_case() {
        let mut completers = Completers::default();
        completers.set_list("x", ["Straße", "STRAND", "Ärger", "rust", "Rust 2024"]);
        for (typed, expected) in [
            ("stra", &["Straße", "STRAND"][..]),
            ("STRASSE", &[]),
            ("ä", &["Ärger"]),
            ("RUST ", &["Rust 2024"]),
            ("ust", &[]),
            ("", &["Straße", "STRAND", "Ärger", "rust", "Rust 2024"]),
        ] {
            let known = CompletionContext::default();
            let found = completers.complete("x", typed, &known, &Context::detached()).expect("proposals");
            assert_eq!(found.values, expected, "{typed}");
            assert_eq!((found.total, found.has_more), (Some(expected.len() as u64), Some(false)));
        }
    }

    #[test]
    fn what_is_cut_off_is_said() {
        let many = Completion::new(["x"; 3]);
        let mut over = many.clone();
        over.values = vec!["x".to_owned(); 101];
        for (given, values, total, more) in [
            (many.clone(), 3, Some(3), Some(false)),
            (many.with_total(9), 3, Some(9), Some(true)),
            (over.clone(), 100, Some(101), Some(true)),
            (over.clone().with_total(5000), 100, Some(5000), Some(true)),
            (over.with_more(), 100, None, Some(true)),
        ] {
            let found = given.into_completion().expect("proposals");
            assert_eq!((found.values.len(), found.total, found.has_more), (values, total, more));
        }
    }
}
