//! [`FunctionCall`]: what a model wants to be called, out of its message.

use std::collections::BTreeSet;

use serde_json::value::RawValue;

use super::{Format, Functions};
use crate::json::{FromJson, Json, JsonError, Members};

/// A call that a model wants.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FunctionCall {
    /// Which one, for its answer. One without an id has `call_` and its place.
    pub id: String,
    /// The function, as the model names it.
    pub function: String,
    /// The arguments as an object, or what is wrong with them.
    pub arguments: Result<Json, String>,
}

impl Functions {
    /// The calls in what a model says. For [`Format::OpenAi`] that is a message, as in `choices[0].message`; for
    /// [`Format::OpenAiResponses`] a response or its `output`; for [`Format::Anthropic`] a message or its `content`. A message without
    /// calls has none.
    ///
    /// An id that comes again is the same call, and is left out: it can be answered once.
    ///
    /// # Errors
    /// When it is no such message at all. What is wrong with one call is told by that.
    pub fn calls(&self, message: &Json) -> Result<Vec<FunctionCall>, JsonError> {
        let items = match self.format {
            Format::OpenAi => items(message, "tool_calls")?,
            Format::OpenAiResponses => items(message, "output")?,
            Format::Anthropic => items(message, "content")?,
        };
        let mut calls = Vec::new();
        let mut ids = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let Some(call) = read(self.format, index, item.as_raw()) else { continue };
            if ids.insert(call.id.clone()) {
                calls.push(call);
            } else {
                log::warn!(
                    "the model calls {} twice under the id {}: it is called once",
                    call.function,
                    call.id
                );
            }
        }
        Ok(calls)
    }
}

/// The array `member` of an object, or the array itself.
fn items(message: &Json, member: &str) -> Result<Vec<Json>, JsonError> {
    if message.as_str().starts_with('[') {
        return Vec::from_json(message.as_raw());
    }
    match Members::of(message.as_raw())?.take(member) {
        // Content of text alone is a string, and absent calls may be null.
        Some(items) if items.get().starts_with('[') => Vec::from_json(items).map_err(|e| e.inside(member)),
        _ => Ok(Vec::new()),
    }
}

/// One call; `None` if it is something else, such as text.
fn read(format: Format, index: usize, item: &RawValue) -> Option<FunctionCall> {
    let mut item = Members::of(item).ok()?;
    let kind = item.lenient::<String>("type");
    let (id, mut function) = match format {
        Format::OpenAi => {
            let id = item.lenient::<String>("id");
            // A call without its function has an answer as well.
            let inner = item.take("function").and_then(|inner| Members::of(inner).ok());
            (id, inner.unwrap_or(item))
        }
        Format::OpenAiResponses if kind.as_deref() == Some("function_call") => {
            (item.lenient::<String>("call_id").or_else(|| item.lenient("id")), item)
        }
        Format::Anthropic if kind.as_deref() == Some("tool_use") => (item.lenient::<String>("id"), item),
        _ => return None,
    };
    let id = id.filter(|id| !id.is_empty()).unwrap_or_else(|| format!("call_{index}"));
    let name = function.lenient::<String>("name").unwrap_or_default();
    let arguments = match format {
        Format::Anthropic => function.take("input"),
        _ => function.take("arguments"),
    };
    Some(FunctionCall { id, function: name, arguments: object(arguments) })
}

/// The arguments of a call: an object, the text of one, or nothing.
fn object(arguments: Option<&RawValue>) -> Result<Json, String> {
    let Some(raw) = arguments else { return Ok(Json::empty_object()) };
    let json = match raw.get().as_bytes().first() {
        Some(b'"') => {
            let text = String::from_json(raw).map_err(|e| e.to_string())?;
            if text.trim().is_empty() {
                return Ok(Json::empty_object());
            }
            Json::parse(&text).map_err(|e| format!("the arguments are no JSON: {e}"))?
        }
        _ => Json::parse(raw.get()).map_err(|e| e.to_string())?,
    };
    match json.as_str().as_bytes().first() {
        Some(b'{') => Ok(json),
        _ if json.as_str() == "null" => Ok(Json::empty_object()),
        _ => Err(format!("the arguments must be a JSON object, not {:.40}", json.as_str())),
    }
}
