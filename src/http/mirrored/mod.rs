//! [`Mirrored`]: arguments of a tool that travel in headers as well, so that a proxy can route a call without reading its body.
//!
//! A tool's schema says which: `x-mcp-header` names the header of a property. The client writes them, the server compares
//! them with the body. Both look for a value where the tool will find it, so also in an object that came as text.
//!
//! **Invariant:** what a header says is never taken for the argument; it can only have a request refused.

mod schema;

use std::borrow::Cow;

use serde_json::value::RawValue;

#[cfg(feature = "http-server")]
use super::headers::{quoted, shown};
#[cfg(feature = "http-server")]
use super::value::decode;
#[cfg(feature = "http-client")]
use super::value::encode;
use crate::json::{FromJson, Json, nested_object, string};
use crate::tool::Arguments;

/// The largest integer that every reader of a header has exactly, and the smallest is its negative.
#[cfg(feature = "http-server")]
const MAX_INTEGER: u128 = (1 << 53) - 1;

/// An argument that is mirrored into a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mirrored {
    /// The header's name, as it is sent.
    header: String,
    /// The header's name in lower case, as it is looked up.
    key: String,
    /// The names of the properties that lead to the argument, one inside the other.
    path: Vec<String>,
}

/// The arguments that a tool with this schema of its input has mirrored.
///
/// # Errors
/// When an annotation breaks a rule of the specification: where, and which. A client must not offer such a tool.
///
/// spec: 2026-07-28 basic/transports/streamable-http#schema-extension
pub(super) fn of_schema(schema: &RawValue) -> Result<Vec<Mirrored>, String> {
    schema::mirrored(schema).map_err(|e| e.to_string())
}

/// The headers of a call with these `arguments`, names and encoded values. Those of arguments that are missing or `null` are
/// left out, as the specification says.
///
/// A value is written by what it is and not by what the schema wants, so that a server can tell what is wrong with it:
/// `1.5` as well, and integers that are too large. Lists and objects have no form in a header, and have none.
///
/// spec: 2026-07-28 basic/transports/streamable-http#client-behavior
#[cfg(feature = "http-client")]
pub(super) fn header_values(mirrored: &[Mirrored], arguments: Option<&RawValue>) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    for argument in mirrored {
        let value = argument.value(arguments);
        if let Some(text) = value.as_ref().and_then(|value| text(value.as_raw())) {
            headers.push((argument.header.clone(), encode(&text).into_owned()));
        }
    }
    headers
}

/// Compares the headers of a call with its `arguments`. `header` finds the value of a header by its name in lower case, and
/// refuses one that came twice.
///
/// # Errors
/// When a header is missing, is there without an argument, cannot be read, or says something else than the body: the text
/// that belongs into a `HeaderMismatch`.
///
/// spec: 2026-07-28 basic/transports/streamable-http#server-behavior-for-custom-headers
#[cfg(feature = "http-server")]
pub(super) fn check<'a>(
    mirrored: &[Mirrored],
    arguments: Option<&RawValue>,
    header: impl Fn(&str) -> Result<Option<&'a str>, String>,
) -> Result<(), String> {
    for argument in mirrored {
        let header = header(&argument.key)?;
        argument.check(arguments, header).map_err(|e| format!("{} {e}", argument.header))?;
    }
    Ok(())
}

impl Mirrored {
    /// The argument, unless it is missing or `null`.
    fn value(&self, arguments: Option<&RawValue>) -> Option<Json> {
        // What is no object at all is the tool's to refuse.
        let arguments = Arguments::from_raw(arguments?).ok()?;
        value_at(arguments.as_raw(), &self.path)
    }

    /// The problem continues the name of the header.
    #[cfg(feature = "http-server")]
    fn check(&self, arguments: Option<&RawValue>, header: Option<&str>) -> Result<(), String> {
        let place = || format!("arguments.{}", self.path.join("."));
        let value = self.value(arguments);
        let (value, header) = match (&value, header) {
            (None, None) => return Ok(()),
            (Some(value), Some(header)) => (value.as_raw(), header),
            (Some(value), None) => {
                return Err(format!("header is missing, but {} is {}", place(), shown(value.as_str())));
            }
            (None, Some(header)) => {
                return Err(format!("header value {} has no body value at {}", quoted(header), place()));
            }
        };
        let decoded = decode(header).map_err(|e| format!("header value {}: {e}", quoted(header)))?;
        let is_same = match integer(value.get()) {
            Some(body) if body.unsigned_abs() > MAX_INTEGER => {
                let body = shown(value.get());
                return Err(format!("body value {body} is not between -{MAX_INTEGER} and {MAX_INTEGER}"));
            }
            // spec: 2026-07-28 basic/transports/streamable-http#server-validation (SHOULD compare integers numerically)
            Some(body) => integer(&decoded) == Some(body),
            None => text(value).is_some_and(|body| body == decoded),
        };
        if is_same {
            return Ok(());
        }
        Err(format!("header value {} does not match body value {}", quoted(&decoded), shown(value.get())))
    }
}

/// The value at `path`, unless it is missing or `null`.
fn value_at(value: &RawValue, path: &[String]) -> Option<Json> {
    let Some((name, rest)) = path.split_first() else {
        return Some(Json::from_raw(value)).filter(|value| value.as_str() != "null");
    };
    let member =
        nested_object(value, |members| Ok(members.take(name).and_then(|value| value_at(value, rest))));
    member.ok().flatten()
}

/// `value` as the text of a header, not encoded yet; `None` if it is a list or an object.
fn text(value: &RawValue) -> Option<Cow<'_, str>> {
    let json = value.get();
    match json.as_bytes().first()? {
        b'"' => string(value).ok(),
        b'[' | b'{' => None,
        _ => Some(integer(json).map_or(Cow::Borrowed(json), |n| Cow::Owned(n.to_string()))),
    }
}

/// The integer that `text` is in any of JSON's spellings, without quotes.
fn integer(text: &str) -> Option<i128> {
    let number = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    let json = serde_json::from_str::<&RawValue>(text).ok().filter(|_| number)?;
    i128::from_json(json).ok()
}

#[cfg(all(test, feature = "http-server", feature = "http-client"))]
mod tests;
