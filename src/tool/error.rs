//! [`ToolError`]: how a tool says that it could not do its work.

use std::error::Error;
use std::fmt;

use crate::context::{AskError, Context};
use crate::jsonrpc::{ErrorCode, ErrorObject};
use crate::protocol::{CallToolResult, ElicitUrlParams, UrlElicitationRequired};

/// Why a tool call failed.
///
/// Nearly always this is a *failed result*: text that the model reads, so that it can try something else. Any
/// [`std::error::Error`] becomes one with `?`, its causes included. An error of the protocol itself, with code and
/// data, is for callers that use the tool wrongly in a way no model can mend; make it with [`ToolError::protocol`].
///
/// This type does not implement `Error` itself, as [`From`] for every error type rules that out.
///
/// ```
/// use tinymcp::ToolError;
///
/// fn port(text: &str) -> Result<u16, ToolError> {
///     if text.is_empty() {
///         return Err(ToolError::new("port: must not be empty"));
///     }
///     Ok(text.parse()?)
/// }
///
/// let result = port("many").unwrap_err().into_result().unwrap();
/// assert_eq!(result.is_error, Some(true));
/// assert_eq!(port("many").unwrap_err().to_string(), "invalid digit found in string");
/// ```
pub struct ToolError(Kind);

enum Kind {
    Text(String),
    Arguments(String),
    /// Kept as it is, so that whoever runs the tool can recognise an error of its own.
    Lifted(Box<dyn Error + Send + Sync>),
    Result(Box<CallToolResult>),
    Protocol(Box<ErrorObject>),
    /// For clients of one revision an error, for later ones a question.
    Question(Box<ErrorObject>, Box<Ask>),
}

/// Puts a question, or says why that cannot be done. A closure, so that only programs that use it carry the code.
type Ask = dyn FnOnce(&Context) -> Result<(), ToolError> + Send + Sync;

impl ToolError {
    /// A failed result with this text.
    pub fn new(message: impl fmt::Display) -> Self {
        Self(Kind::Text(message.to_string()))
    }

    /// A failed result that blames the arguments; name the field and what was expected. The tool's name is
    /// put in front.
    pub fn bad_arguments(problem: impl fmt::Display) -> Self {
        Self(Kind::Arguments(problem.to_string()))
    }

    /// A failed result with any content.
    #[must_use]
    pub fn result(mut result: CallToolResult) -> Self {
        result.is_error = Some(true);
        Self(Kind::Result(Box::new(result)))
    }

    /// An error of the protocol: the model may never see it.
    #[must_use]
    pub fn protocol(error: ErrorObject) -> Self {
        Self(Kind::Protocol(Box::new(error)))
    }

    /// There is no tool of this name.
    #[must_use]
    pub fn unknown_tool(name: &str) -> Self {
        // spec: 2026-07-28 server/tools#error-handling
        Self::protocol(ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("unknown tool: {name}")))
    }

    /// An error of the protocol that blames the parameters of the request.
    pub(crate) fn invalid_params(problem: impl fmt::Display) -> Self {
        Self::protocol(ErrorObject::invalid_params(problem))
    }

    /// The protocol error, if it is one.
    #[must_use]
    pub fn protocol_error(&self) -> Option<&ErrorObject> {
        match &self.0 {
            Kind::Protocol(error) | Kind::Question(error, _) => Some(error),
            _ => None,
        }
    }

    /// The error that `?` made this one of, if it is an `E`.
    #[must_use]
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        match &self.0 {
            Kind::Lifted(error) => error.downcast_ref(),
            _ => None,
        }
    }

    /// What kept the handler from asking its client, wherever it is among the causes.
    pub(crate) fn ask_error(&self) -> Option<&AskError> {
        let Kind::Lifted(error) = &self.0 else { return None };
        let mut cause: Option<&(dyn Error + 'static)> = Some(&**error);
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            cause = error.source();
        }
        None
    }

    /// The user must visit URLs before this can go on: the client sends them there and calls again. A 2025-11-25 client gets
    /// the error -32042, a Modern one a question. A client that cannot send its user to a URL is told that it lacks this.
    #[must_use]
    pub fn url_elicitation_required(elicitations: Vec<ElicitUrlParams>) -> Self {
        let error = UrlElicitationRequired::new(elicitations.clone()).into();
        let ask = move |cx: &Context| Ok(cx.require(elicitations)?);
        Self(Kind::Question(Box::new(error), Box::new(ask)))
    }

    /// Whether it stands for a question to later clients.
    pub(crate) fn is_question(&self) -> bool {
        matches!(self.0, Kind::Question(..))
    }

    /// Puts the question to the client of `cx` that this error stands for, if it does. What is left is the reason why that
    /// cannot be done.
    pub(crate) fn put_to(self, cx: &Context) -> Self {
        match self.0 {
            Kind::Question(error, ask) => match ask(cx) {
                Ok(()) => Self(Kind::Protocol(error)),
                Err(error) => error,
            },
            _ => self,
        }
    }

    /// What to answer the call with: a result with `is_error`, or an error of the protocol.
    ///
    /// # Errors
    /// When it is an error of the protocol.
    pub fn into_result(self) -> Result<CallToolResult, ErrorObject> {
        match self.0 {
            Kind::Protocol(error) | Kind::Question(error, _) => Err(*error),
            Kind::Result(result) => Ok(*result),
            _ => Ok(CallToolResult::error(self.to_string())),
        }
    }

    /// What to answer a request with that is no tool call, and so has no failed result.
    pub(crate) fn into_error(self) -> ErrorObject {
        match self.0 {
            Kind::Protocol(error) | Kind::Question(error, _) => *error,
            Kind::Arguments(_) => ErrorObject::invalid_params(self),
            _ => ErrorObject::internal(self),
        }
    }

    /// The same error where the prompt is known: its arguments come from a user, so the client is to be told.
    pub(crate) fn of_prompt(self, name: &str) -> Self {
        match self.0 {
            Kind::Arguments(problem) => {
                // spec: 2026-07-28 server/prompts#error-handling
                Self::invalid_params(format_args!("bad arguments for prompt {name}: {problem}"))
            }
            _ => self,
        }
    }

    /// The same error where the tool is known.
    pub(crate) fn of_tool(self, name: &str) -> Self {
        match self.0 {
            Kind::Arguments(problem) => Self::new(format_args!("bad arguments for tool {name}: {problem}")),
            _ => self,
        }
    }
}

/// Any error lifts into a failed result. An [`ErrorObject`] does too: use [`ToolError::protocol`] to pass it on.
impl<E: Error + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self(Kind::Lifted(Box::new(error)))
    }
}

impl fmt::Display for ToolError {
    /// The text of the failed result.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Text(text) => f.write_str(text),
            Kind::Arguments(problem) => write!(f, "bad arguments: {problem}"),
            Kind::Lifted(error) => f.write_str(&with_causes(&**error)),
            Kind::Result(result) => f.write_str(&result.text_content()),
            Kind::Protocol(error) | Kind::Question(error, _) => error.fmt(f),
        }
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.protocol_error().is_some() { "protocol" } else { "failed" };
        write!(f, "ToolError({kind}: {self})")
    }
}

/// `error: cause: its cause`; a cause that the text already quotes is not repeated.
fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        // By hand, as the search of std is 3 kB of code that small servers use for nothing else.
        let is_quoted = message.is_empty()
            || text.as_bytes().windows(message.len()).any(|part| part == message.as_bytes());
        if !is_quoted {
            text = format!("{text}: {message}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("{message}")]
        struct Outer {
            message: &'static str,
            #[source]
            cause: std::num::ParseIntError,
        }
        let outer =
            |message| ToolError::from(Outer { message, cause: "x".parse::<u8>().expect_err("no number") });
        assert_eq!(outer("cannot read port").to_string(), "cannot read port: invalid digit found in string");
        assert_eq!(
            outer("port: invalid digit found in string!").to_string(),
            "port: invalid digit found in string!"
        );
        assert!(outer("x").downcast_ref::<Outer>().is_some());
    }

    #[test]
    fn only_protocol_errors_are_protocol_errors() {
        let lifted = ToolError::from(ErrorObject::new(-1, "theirs"));
        assert_eq!(lifted.into_result().expect("a failed result").is_error, Some(true));
        let error = ToolError::unknown_tool("x").into_result().expect_err("a protocol error");
        assert_eq!((error.code, error.message.as_str()), (-32602, "unknown tool: x"));
    }
}
