//! JSON-RPC 2.0: messages, ids, errors, and their text.
//!
//! A message is told by which members it has, never by trying one type after another; parameters and
//! results stay text until the method is known. `Incoming` borrows from the frame it was read from and is
//! what the engine works with; [`Message`] owns its text and is what applications hold.
//!
//! **Invariant:** knows no method name and no MCP type.

use std::borrow::Cow;
use std::fmt;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::{FromJson, Json, JsonError, Members, is_blank, string, wire};

/// The id of a request: a string or an integer, returned exactly as it came (`1` and `"1"` differ).
///
/// Integers are those of 64 bits. There are two kinds for good: JSON-RPC fixes them, so a match may name both.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestId {
    /// An integer.
    Number(i64),
    /// A string.
    String(String),
}

impl From<i64> for RequestId {
    fn from(n: i64) -> Self {
        Self::Number(n)
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl fmt::Display for RequestId {
    /// Strings are quoted, so that `1` and `"1"` look different in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(n) => write!(f, "{n}"),
            Self::String(text) => write!(f, "{text:?}"),
        }
    }
}

impl FromJson for RequestId {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        let text = raw.get();
        if text.starts_with('"') {
            return String::from_json(raw).map(Self::String);
        }
        // Not through the lenient integers of tool arguments: "30" above is a string id.
        let expected = || JsonError::expected("a string or a 64-bit integer", raw);
        if !text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            return Err(expected());
        }
        i64::from_json(raw).map(Self::Number).map_err(|_| expected())
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(n) => serializer.serialize_i64(*n),
            Self::String(text) => serializer.serialize_str(text),
        }
    }
}

wire::deserialize_through_json!(RequestId);

/// The error codes of JSON-RPC and of every MCP revision.
///
/// spec: 2026-07-28 basic/index#error-codes (those from -32020 to -32099 are the specification's own)
/// A namespace, without values: an error's code is any integer, as applications have their own.
#[derive(Debug)]
pub enum ErrorCode {}

impl ErrorCode {
    /// The line is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The JSON is not a JSON-RPC message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method does not exist, or its feature is not offered.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// Parameters of the wrong shape; also an unknown tool, an invalid cursor, missing request metadata.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The receiver failed.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// Resource not found, up to revision 2025-11-25; later revisions use [`INVALID_PARAMS`](Self::INVALID_PARAMS).
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// Revision 2026-07-28, HTTP: a header contradicts the body.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// Revision 2026-07-28: the request needs a capability the client did not declare.
    pub const MISSING_REQUIRED_CLIENT_CAPABILITY: i64 = -32021;
    /// Revision 2026-07-28: the request's protocol version is not served.
    pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
    /// Revision 2025-11-25 only: the user must visit a URL first.
    pub const URL_ELICITATION_REQUIRED: i64 = -32042;
}

/// The error of a response.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ErrorObject {
    /// One of [`ErrorCode`], or the application's own.
    pub code: i64,
    /// One sentence.
    pub message: String,
    /// Whatever else the sender wants to say.
    pub data: Option<Json>,
}

impl ErrorObject {
    /// An error without data.
    #[must_use]
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The same error with `data`.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<Json>) -> Self {
        self.data = Some(data.into());
        self
    }

    pub(crate) fn method_not_found(method: &str) -> Self {
        Self::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method: {method}"))
    }

    /// -32602: the parameters are wrong; name the one and what was expected.
    pub fn invalid_params(problem: impl fmt::Display) -> Self {
        Self::new(ErrorCode::INVALID_PARAMS, problem.to_string())
    }

    pub(crate) fn invalid_request(problem: impl fmt::Display) -> Self {
        Self::new(ErrorCode::INVALID_REQUEST, problem.to_string())
    }

    /// -32603: the receiver failed.
    pub fn internal(problem: impl fmt::Display) -> Self {
        Self::new(ErrorCode::INTERNAL_ERROR, problem.to_string())
    }
}

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for ErrorObject {}

impl FromJson for ErrorObject {
    /// Lenient: a peer's error must reach the user even if it is oddly written.
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        let Ok(mut members) = Members::of(raw) else {
            // Only its text.
            let text = String::from_json(raw).unwrap_or_else(|_| raw.get().to_owned());
            return Ok(Self::new(ErrorCode::INTERNAL_ERROR, text));
        };
        Ok(Self {
            code: members.lenient("code").unwrap_or(ErrorCode::INTERNAL_ERROR),
            message: members.lenient("message").unwrap_or_else(|| "no message".to_owned()),
            data: members.take("data").map(Json::from_raw),
        })
    }
}

impl Serialize for ErrorObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("code", &self.code)?;
        map.serialize_entry("message", &self.message)?;
        if let Some(data) = &self.data {
            map.serialize_entry("data", data)?;
        }
        map.end()
    }
}

wire::deserialize_through_json!(ErrorObject);

/// One JSON-RPC message.
///
/// ```
/// use tinymcp::{Message, RequestId};
///
/// let message = Message::decode(br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#)?;
/// let Message::Request(request) = &message else { panic!("not a request") };
/// assert_eq!((request.id.clone(), request.method.as_str()), (RequestId::from(7), "ping"));
/// assert_eq!(message.encode(), br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
/// # Ok::<(), tinymcp::ErrorObject>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Message {
    /// Expects a response with the same id.
    Request(Request),
    /// Expects none.
    Notification(Notification),
    /// Answers a request of the other side.
    Response(Response),
}

/// A call that expects a response.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// Chosen by the sender, unique among its open requests.
    pub id: RequestId,
    /// What to do.
    pub method: String,
    /// With what.
    pub params: Option<Json>,
}

/// A message that expects no response.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Notification {
    /// What happened.
    pub method: String,
    /// To what.
    pub params: Option<Json>,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Response {
    /// The request's id; `None` only in an error about a message whose id could not be read.
    pub id: Option<RequestId>,
    /// What came of it.
    pub result: Result<Json, ErrorObject>,
}

impl Message {
    /// A request.
    #[must_use]
    pub fn request(id: impl Into<RequestId>, method: impl Into<String>, params: Option<Json>) -> Self {
        Self::Request(Request { id: id.into(), method: method.into(), params })
    }

    /// A notification.
    #[must_use]
    pub fn notification(method: impl Into<String>, params: Option<Json>) -> Self {
        Self::Notification(Notification { method: method.into(), params })
    }

    /// A response.
    #[must_use]
    pub fn response(id: impl Into<Option<RequestId>>, result: Result<Json, ErrorObject>) -> Self {
        Self::Response(Response { id: id.into(), result })
    }

    /// Reads one message.
    ///
    /// # Errors
    /// The error a server would answer with: -32700 if `frame` is not JSON, -32600 if it is not a
    /// single JSON-RPC message.
    pub fn decode(frame: &[u8]) -> Result<Self, ErrorObject> {
        Incoming::decode(frame).map(Self::from).map_err(|bad| bad.error)
    }

    /// The message as one line of JSON, without the line's end.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(128);
        match self {
            Self::Request(Request { id, method, params }) => {
                write_call(&mut out, Some(id), method, params.as_ref().map(Json::as_str));
            }
            Self::Notification(Notification { method, params }) => {
                write_call(&mut out, None, method, params.as_ref().map(Json::as_str));
            }
            Self::Response(Response { id, result: Ok(result) }) => {
                begin_result(&mut out, id.as_ref());
                out.extend_from_slice(result.as_str().as_bytes());
                out.push(b'}');
            }
            Self::Response(Response { id, result: Err(error) }) => write_error(&mut out, id.as_ref(), error),
        }
        out
    }
}

impl From<Incoming<'_>> for Message {
    fn from(incoming: Incoming<'_>) -> Self {
        match incoming {
            Incoming::Request { id, method, params } => {
                Self::Request(Request { id, method: method.into_owned(), params: params.map(Json::from_raw) })
            }
            Incoming::Notification { method, params } => Self::Notification(Notification {
                method: method.into_owned(),
                params: params.map(Json::from_raw),
            }),
            Incoming::Response { id, result } => {
                Self::Response(Response { id, result: result.map(Json::from_raw) })
            }
        }
    }
}

/// A message that still lies in its frame.
#[derive(Debug)]
pub(crate) enum Incoming<'a> {
    Request { id: RequestId, method: Cow<'a, str>, params: Option<&'a RawValue> },
    Notification { method: Cow<'a, str>, params: Option<&'a RawValue> },
    Response { id: Option<RequestId>, result: Result<&'a RawValue, ErrorObject> },
}

/// A frame that is no message: the error to answer with, and to whom.
#[derive(Debug)]
pub(crate) struct BadFrame {
    pub(crate) id: Option<RequestId>,
    pub(crate) error: ErrorObject,
    /// It was a JSON array: a batch where one is allowed.
    pub(crate) is_batch: bool,
}

impl BadFrame {
    fn new(error: ErrorObject) -> Self {
        Self { id: None, error, is_batch: false }
    }

    /// A batch that is refused as a whole.
    pub(crate) fn batch(problem: impl fmt::Display) -> Self {
        Self::new(ErrorObject::invalid_request(problem))
    }

    /// A frame that was skipped because it is longer than `limit` bytes.
    pub(crate) fn too_long(limit: usize) -> Self {
        Self::new(ErrorObject::new(ErrorCode::PARSE_ERROR, format!("frame exceeds {limit} bytes")))
    }
}

impl<'a> Incoming<'a> {
    /// Reads one message out of `frame`.
    pub(crate) fn decode(frame: &'a [u8]) -> Result<Self, BadFrame> {
        let not_json = |problem: &dyn fmt::Display| {
            BadFrame::new(ErrorObject::new(ErrorCode::PARSE_ERROR, format!("not JSON: {problem}")))
        };
        let text = std::str::from_utf8(frame).map_err(|e| not_json(&e))?;
        let mut members = match Members::parse(text) {
            Ok(members) => members,
            Err(e) if !e.is_data() => return Err(not_json(&e)),
            Err(_) => {
                // JSON so far, but not an object. What follows may still be broken.
                serde_json::from_str::<&RawValue>(text).map_err(|e| not_json(&e))?;
                return Err(BadFrame {
                    is_batch: text.trim_start().starts_with('['),
                    ..BadFrame::new(ErrorObject::invalid_request("a message is a JSON object"))
                });
            }
        };
        let raw_id = members.take("id");
        let id = raw_id.map(RequestId::from_json).transpose();
        let bad = |problem: String| {
            Err(BadFrame {
                id: id.as_ref().ok().cloned().flatten(),
                ..BadFrame::new(ErrorObject::invalid_request(problem))
            })
        };
        // spec: 2026-07-28 basic/index#messages (all messages follow JSON-RPC 2.0)
        if members.take("jsonrpc").is_none_or(|version| string(version).as_deref() != Ok("2.0")) {
            return bad("member jsonrpc must be \"2.0\"".into());
        }
        let Some(method) = members.take("method") else {
            return Self::decode_response(members, raw_id, &id).map_err(|problem| BadFrame {
                id: id.ok().flatten(),
                ..BadFrame::new(ErrorObject::invalid_request(problem))
            });
        };
        let Ok(method) = string(method) else {
            return bad(format!("member method must be a string, found {}", method.get()));
        };
        let params = members.take("params").filter(|raw| raw.get() != "null");
        if let Some(params) = params.filter(|raw| !raw.get().starts_with(['{', '['])) {
            return bad(JsonError::expected("an object", params).inside("params").to_string());
        }
        match (raw_id, id) {
            // spec: 2026-07-28 basic/index#notifications (they have no id)
            (None, _) => Ok(Self::Notification { method, params }),
            // spec: 2026-07-28 basic/index#requests (an id is a string or integer, never null)
            (Some(_), Err(e)) => Err(BadFrame::new(ErrorObject::invalid_request(format!("id: {e}")))),
            (Some(_), Ok(None)) => Err(BadFrame::new(ErrorObject::invalid_request("id: unreadable"))),
            (Some(_), Ok(Some(id))) => Ok(Self::Request { id, method, params }),
        }
    }

    fn decode_response(
        mut members: Members<'a>,
        raw_id: Option<&RawValue>,
        id: &Result<Option<RequestId>, JsonError>,
    ) -> Result<Self, String> {
        let result = match (members.take("error"), members.take("result")) {
            (Some(error), _) if error.get() != "null" => {
                Err(ErrorObject::from_json(error).map_err(|e| e.inside("error").to_string())?)
            }
            (_, Some(result)) => Ok(result),
            _ => return Err("a message has a method, a result or an error".into()),
        };
        match (id, &result) {
            (Ok(id), _) if id.is_some() || result.is_err() => Ok(Self::Response { id: id.clone(), result }),
            // JSON-RPC itself spells an unreadable id as null.
            (Err(_), Err(_)) if raw_id.is_some_and(|raw| raw.get() == "null") => {
                Ok(Self::Response { id: None, result })
            }
            (Err(e), _) => Err(format!("id: {e}")),
            (Ok(_), _) => Err("a result needs the id of its request".into()),
        }
    }
}

/// Whether a line can be skipped without a word.
pub(crate) fn is_empty_line(frame: &[u8]) -> bool {
    is_blank(frame)
}

/// Appends `value` as JSON. What the crate itself writes always has a JSON form.
pub(crate) fn write_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value).expect("wire types serialize");
}

/// Appends what every message begins with.
fn begin(out: &mut Vec<u8>, id: Option<&RequestId>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0""#);
    if let Some(id) = id {
        out.extend_from_slice(br#","id":"#);
        write_json(out, id);
    }
}

/// Appends a request (`id`) or a notification (no `id`).
pub(crate) fn write_call(out: &mut Vec<u8>, id: Option<&RequestId>, method: &str, params: Option<&str>) {
    begin(out, id);
    out.extend_from_slice(br#","method":"#);
    write_json(out, method);
    if let Some(params) = params {
        out.extend_from_slice(br#","params":"#);
        out.extend_from_slice(params.as_bytes());
    }
    out.push(b'}');
}

/// Appends a response, which has its request's id, up to the place where its result's text and a closing brace belong.
///
/// spec: 2026-07-28 basic/index#result-responses
pub(crate) fn begin_result(out: &mut Vec<u8>, id: Option<&RequestId>) {
    begin(out, id);
    out.extend_from_slice(br#","result":"#);
}

/// Appends an error response. An id that could not be read is left out.
pub(crate) fn write_error(out: &mut Vec<u8>, id: Option<&RequestId>, error: &ErrorObject) {
    // spec: 2025-11-25 schema#jsonrpcerrorresponse (`id` is optional, not null)
    begin(out, id);
    out.extend_from_slice(br#","error":"#);
    write_json(out, error);
    out.push(b'}');
}

/// serde's view of a message is its wire form.
impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = String::from_utf8(self.encode()).map_err(serde::ser::Error::custom)?;
        Json::parse(&text).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Json::deserialize(deserializer)?;
        Self::decode(json.as_str().as_bytes()).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
