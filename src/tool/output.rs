//! [`ToolOutput`]: what a tool may return.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

use serde::Serialize;
use serde_json::Value;

use super::{Parameter, Schema, ToolError};
use crate::json::Json;
use crate::protocol::{CallToolResult, Content};

/// A type that a tool may return.
///
/// | type | result |
/// |---|---|
/// | `String`, `&str`, numbers, `bool` | one text |
/// | `()` | no content |
/// | [`Content`], `Vec<Content>`, [`CallToolResult`] | as it is |
/// | a [`data!`](crate::data) type, a `Vec` or map of parameter types | structured content, its schema, and the same as text |
/// | [`Structured`], [`Json`], [`Value`] | structured content without a schema, and the same as text |
/// | `Result<T, E>` | `T`, or a failed result |
///
/// ```
/// use tinymcp::tool::{Structured, ToolOutput};
///
/// let result = Structured(vec![1, 2]).into_result()?;
/// assert_eq!(result.structured_content.as_ref().unwrap().as_str(), "[1,2]");
/// assert_eq!(result.text_content(), "[1,2]");
/// assert_eq!(<Vec<u8>>::output_schema().unwrap().as_str(), r#"{"type":"array","items":{"type":"integer","minimum":0}}"#);
/// # Ok::<(), tinymcp::ToolError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool's result",
    label = "not a `ToolOutput`",
    note = "return text, content, a type declared by `tinymcp::data!`, `Structured(value)`, or a `Result` of those whose error is `ToolError` or any `std::error::Error`"
)]
pub trait ToolOutput {
    /// The schema of the structured content, if that is known.
    #[must_use]
    fn output_schema() -> Option<Json> {
        None
    }

    /// The result as it goes to the caller.
    ///
    /// # Errors
    /// When the tool failed.
    fn into_result(self) -> Result<CallToolResult, ToolError>;
}

/// Any serializable value as structured content, without a schema.
#[derive(Clone, Debug)]
pub struct Structured<T>(
    /// The value.
    pub T,
);

impl<T: Serialize> ToolOutput for Structured<T> {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        structured(&self.0)
    }
}

/// What `data!` types do.
///
/// # Errors
/// When `value` cannot be JSON.
pub fn structured<T: Serialize + ?Sized>(value: &T) -> Result<CallToolResult, ToolError> {
    Ok(CallToolResult::structured(value)?)
}

impl ToolOutput for CallToolResult {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(self)
    }
}

impl ToolOutput for Content {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::new(vec![self]))
    }
}

impl ToolOutput for Vec<Content> {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::new(self))
    }
}

impl ToolOutput for () {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::new(Vec::new()))
    }
}

impl ToolOutput for String {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::text(self))
    }
}

macro_rules! texts {
    ($($ty:ty)*) => {$(
        impl ToolOutput for $ty {
            fn into_result(self) -> Result<CallToolResult, ToolError> {
                Ok(CallToolResult::text(self.to_string()))
            }
        }
    )*};
}
texts!(&str bool u8 u16 u32 u64 usize i8 i16 i32 i64 isize i128 f32 f64);

macro_rules! without_schema {
    ($($ty:ty)*) => {$(
        impl ToolOutput for $ty {
            fn into_result(self) -> Result<CallToolResult, ToolError> {
                structured(&self)
            }
        }
    )*};
}
without_schema!(Json Value);

impl<T: Parameter> ToolOutput for Vec<T> {
    fn output_schema() -> Option<Json> {
        Some(Schema::root::<Self>().to_json())
    }
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        structured(&self)
    }
}

impl<T: Parameter> ToolOutput for BTreeMap<String, T> {
    fn output_schema() -> Option<Json> {
        Some(Schema::root::<Self>().to_json())
    }
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        structured(&self)
    }
}

impl<T: Parameter, S: BuildHasher + Default + 'static> ToolOutput for HashMap<String, T, S> {
    fn output_schema() -> Option<Json> {
        Some(Schema::root::<Self>().to_json())
    }
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        structured(&self)
    }
}

/// What a failed `Result` may hold: any `std::error::Error`, and `ToolError` itself. Not to be implemented.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool's error",
    label = "neither `ToolError` nor a `Send + Sync` type that implements `std::error::Error`",
    note = "a tool that fails with a text returns `Result<_, ToolError>` and `Err(ToolError::new(text))`"
)]
pub trait ToolFailure: Into<ToolError> {}

// Otherwise the compiler reports what is missing for this impl, which says nothing about tools.
#[diagnostic::do_not_recommend]
impl<E: Into<ToolError>> ToolFailure for E {}

impl<T: ToolOutput, E: ToolFailure> ToolOutput for Result<T, E> {
    fn output_schema() -> Option<Json> {
        T::output_schema()
    }
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        self.map_err(Into::into)?.into_result()
    }
}
