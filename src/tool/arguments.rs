//! [`Arguments`]: what a tool was called with.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::ToolError;
use crate::json::{FromJson, Json, JsonError};

/// The arguments of a call: one JSON object, still text.
///
/// Nothing is parsed until the tool knows what it wants, so numbers of any size pass through unchanged.
///
/// ```
/// use std::collections::BTreeMap;
/// use tinymcp::tool::Arguments;
///
/// let arguments = Arguments::from_text(r#"{"copies": 2}"#)?;
/// assert_eq!(arguments.parse::<BTreeMap<String, u32>>()?["copies"], 2);
///
/// // Some clients send the object as text in a string, or nothing at all.
/// assert_eq!(Arguments::from_text(r#""{\"copies\": 2}""#)?.as_str(), r#"{"copies": 2}"#);
/// assert_eq!(Arguments::from_text("null")?.as_str(), "{}");
/// assert_eq!(
///     Arguments::from_text("[2]").unwrap_err().to_string(),
///     "bad arguments: expected an object, found [2]",
/// );
/// # Ok::<(), tinymcp::ToolError>(())
/// ```
#[derive(Clone)]
pub struct Arguments<'a>(Cow<'a, RawValue>);

impl<'a> Arguments<'a> {
    /// Of a call without arguments.
    #[must_use]
    pub fn empty() -> Self {
        let empty: &'static RawValue = serde_json::from_str("{}").expect("{} is JSON");
        Self(Cow::Borrowed(empty))
    }

    /// Takes `raw`, which may also be `null` or the text of an object in a string.
    ///
    /// # Errors
    /// When there is no object.
    pub fn from_raw(raw: &'a RawValue) -> Result<Self, ToolError> {
        let text = raw.get();
        if text.starts_with('{') {
            return Ok(Self(Cow::Borrowed(raw)));
        }
        if text == "null" {
            return Ok(Self::empty());
        }
        if let Some(inner) = String::from_json(raw).ok().filter(|_| text.starts_with('"')) {
            if inner.trim().is_empty() {
                return Ok(Self::empty());
            }
            if let Ok(raw) = RawValue::from_string(inner).and_then(|raw| match raw.get().starts_with('{') {
                true => Ok(raw),
                // Leading white space is not part of a raw value that is parsed, but of one that is adopted.
                false => serde_json::from_str(raw.get()),
            }) {
                if raw.get().starts_with('{') {
                    return Ok(Self(Cow::Owned(raw)));
                }
            }
        }
        Err(ToolError::bad_arguments(JsonError::expected("an object", raw)))
    }

    /// Takes the object in `text`.
    ///
    /// # Errors
    /// When `text` is not JSON, or there is no object.
    pub fn from_text(text: &'a str) -> Result<Self, ToolError> {
        let raw = serde_json::from_str(text)
            .map_err(|e| ToolError::bad_arguments(format_args!("not JSON: {e}")))?;
        Self::from_raw(raw)
    }

    /// Serializes `value`, for calling a tool from Rust.
    ///
    /// # Errors
    /// When `value` is not an object.
    pub fn new<T: Serialize + ?Sized>(value: &T) -> Result<Arguments<'static>, ToolError> {
        let raw = serde_json::value::to_raw_value(value).map_err(ToolError::bad_arguments)?;
        Arguments::from_raw(&raw).map(Arguments::into_owned)
    }

    /// Without the borrow.
    #[must_use]
    pub fn into_owned(self) -> Arguments<'static> {
        Arguments(Cow::Owned(self.0.into_owned()))
    }

    /// The object in serde_json's raw form.
    #[must_use]
    pub fn as_raw(&self) -> &RawValue {
        &self.0
    }

    /// The object's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Reads the object as a `T`, with the leniency of [`FromJson`].
    ///
    /// # Errors
    /// Bad arguments, which name the place.
    pub fn parse<T: FromJson>(&self) -> Result<T, ToolError> {
        T::from_json(&self.0).map_err(ToolError::bad_arguments)
    }

    /// Reads the object as a `T` by serde's strict rules.
    ///
    /// # Errors
    /// Bad arguments.
    pub fn to<'s, T: Deserialize<'s>>(&'s self) -> Result<T, ToolError> {
        serde_json::from_str(self.0.get()).map_err(ToolError::bad_arguments)
    }

    /// The object as a tree. Integers beyond 64 bits become floating point there.
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.to_json().to_value()
    }

    /// The object as JSON that can be kept.
    #[must_use]
    pub fn to_json(&self) -> Json {
        Json::from_raw(&self.0)
    }
}

impl Default for Arguments<'_> {
    fn default() -> Self {
        Self::empty()
    }
}

impl fmt::Debug for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
