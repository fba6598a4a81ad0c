//! [`PromptOutput`]: what a prompt may return.

use crate::protocol::{Content, GetPromptResult, PromptMessage};
use crate::tool::ToolError;
use crate::tool::output::ToolFailure;

/// A type that a prompt may return.
///
/// | type | messages |
/// |---|---|
/// | `String`, `&str` | one text, said by the user |
/// | [`Content`] | one of any kind, said by the user |
/// | [`PromptMessage`], `Vec<PromptMessage>` | as they are |
/// | [`GetPromptResult`] | as it is, with a description of its own |
/// | `Result<T, E>` | `T`, or an error of the request |
///
/// ```
/// use tinymcp::prompt::PromptOutput;
/// use tinymcp::protocol::{Content, PromptMessage, Role};
///
/// let shown = Content::image("iVBORw0KGgo=", "image/png");
/// let messages = vec![PromptMessage::user(shown), PromptMessage::assistant(Content::text("A cat."))];
/// assert_eq!(messages.into_result()?.messages[1].role, Role::Assistant);
/// # Ok::<(), tinymcp::ToolError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be what a prompt returns",
    label = "not a `PromptOutput`",
    note = "return text, `Content`, messages, a `GetPromptResult`, or a `Result` of those whose error is `ToolError` or any `std::error::Error`"
)]
pub trait PromptOutput {
    /// The result as it goes to the client.
    ///
    /// # Errors
    /// When the prompt could not be filled in.
    fn into_result(self) -> Result<GetPromptResult, ToolError>;
}

impl PromptOutput for GetPromptResult {
    fn into_result(self) -> Result<GetPromptResult, ToolError> {
        Ok(self)
    }
}

impl PromptOutput for Vec<PromptMessage> {
    fn into_result(self) -> Result<GetPromptResult, ToolError> {
        Ok(GetPromptResult::new(self))
    }
}

impl PromptOutput for PromptMessage {
    fn into_result(self) -> Result<GetPromptResult, ToolError> {
        Ok(GetPromptResult::new(vec![self]))
    }
}

impl PromptOutput for Content {
    fn into_result(self) -> Result<GetPromptResult, ToolError> {
        PromptMessage::user(self).into_result()
    }
}

impl PromptOutput for String {
    fn into_result(self) -> Result<GetPromptResult, ToolError> {
        Ok(GetPromptResult::text(self))
    }
}

impl PromptOutput for &str {
    fn into_result(self) -> Result<GetPromptResult, ToolError> {
        Ok(GetPromptResult::text(self))
    }
}

impl<T: PromptOutput, E: ToolFailure> PromptOutput for Result<T, E> {
    fn into_result(self) -> Result<GetPromptResult, ToolError> {
        self.map_err(Into::into)?.into_result()
    }
}
