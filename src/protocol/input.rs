//! Multi round-trip requests of 2026-07-28: a server answers with questions, and the client sends the request again with
//! the answers.
//!
//! An answer has no type of its own: what it is follows from the question with the same key, so it stays JSON
//! until it is read as an [`ElicitResult`](super::ElicitResult), [`CreateMessageResult`](super::CreateMessageResult) or
//! [`ListRootsResult`](super::ListRootsResult).

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::{FromJson, Json, JsonError, Members, Object, wire};

use super::{CreateMessageParams, ElicitParams, ListRootsParams, ResultType};

/// Something a server wants to know from the client before it goes on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum InputRequest {
    /// `elicitation/create`: ask the user.
    Elicit(Box<ElicitParams>),
    /// `sampling/createMessage`: ask the model.
    CreateMessage(Box<CreateMessageParams>),
    /// `roots/list`: name the roots.
    ListRoots(ListRootsParams),
    /// A method this version of the crate does not know.
    Unknown {
        /// The method.
        method: String,
        /// Its parameters as they came.
        params: Option<Json>,
    },
}

impl InputRequest {
    /// The method on the wire.
    #[must_use]
    pub fn method(&self) -> &str {
        match self {
            Self::Elicit(_) => "elicitation/create",
            Self::CreateMessage(_) => "sampling/createMessage",
            Self::ListRoots(_) => "roots/list",
            Self::Unknown { method, .. } => method,
        }
    }

    /// The request of `method` with `params`.
    pub(crate) fn read(method: String, params: Option<&RawValue>) -> Result<Self, JsonError> {
        let required = || params.ok_or_else(|| JsonError::new("missing"));
        let read = match method.as_str() {
            "elicitation/create" => {
                required().and_then(FromJson::from_json).map(|params| Self::Elicit(Box::new(params)))
            }
            "sampling/createMessage" => {
                required().and_then(FromJson::from_json).map(|params| Self::CreateMessage(Box::new(params)))
            }
            // There is nothing in them that the answer depends on.
            "roots/list" => {
                let params = params.and_then(|params| ListRootsParams::from_json(params).ok());
                Ok(Self::ListRoots(params.unwrap_or_default()))
            }
            _ => Ok(Self::Unknown { method, params: params.map(Json::from_raw) }),
        };
        read.map_err(|e| e.inside("params"))
    }
}

impl FromJson for InputRequest {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        let mut members = Members::of(raw)?;
        Self::read(members.required("method")?, members.take("params"))
    }
}

impl Serialize for InputRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("method", self.method())?;
        match self {
            Self::Elicit(params) => map.serialize_entry("params", params)?,
            Self::CreateMessage(params) => map.serialize_entry("params", params)?,
            Self::ListRoots(params) if *params == ListRootsParams::default() => {}
            Self::ListRoots(params) => map.serialize_entry("params", params)?,
            Self::Unknown { params: Some(params), .. } => map.serialize_entry("params", params)?,
            Self::Unknown { params: None, .. } => {}
        }
        map.end()
    }
}

wire::deserialize_through_json!(InputRequest);

impl From<ElicitParams> for InputRequest {
    fn from(params: ElicitParams) -> Self {
        Self::Elicit(Box::new(params))
    }
}

impl From<CreateMessageParams> for InputRequest {
    fn from(params: CreateMessageParams) -> Self {
        Self::CreateMessage(Box::new(params))
    }
}

impl From<ListRootsParams> for InputRequest {
    fn from(params: ListRootsParams) -> Self {
        Self::ListRoots(params)
    }
}

/// Questions by key, in the order in which they were asked. The answers come back under the same keys.
///
/// ```
/// use tinymcp::protocol::{CreateMessageParams, InputRequests, ListRootsParams};
///
/// let mut ask = InputRequests::new();
/// ask.insert("capital", CreateMessageParams::new(100).with_user("What is the capital of France?"));
/// ask.insert("roots", ListRootsParams::default());
/// assert_eq!(ask.iter().map(|(key, ask)| (key, ask.method())).collect::<Vec<_>>(), [
///     ("capital", "sampling/createMessage"),
///     ("roots", "roots/list"),
/// ]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputRequests(Vec<(String, InputRequest)>);

impl InputRequests {
    /// No questions.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Asks `request` under `key`, in place of what was asked under it before.
    pub fn insert(&mut self, key: impl Into<String>, request: impl Into<InputRequest>) {
        let key = key.into();
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = request.into(),
            None => self.0.push((key, request.into())),
        }
    }

    /// What is asked under `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&InputRequest> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, request)| request)
    }

    /// The questions in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &InputRequest)> {
        self.0.iter().map(|(key, request)| (key.as_str(), request))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut InputRequest> {
        self.0.iter_mut().map(|(_, request)| request)
    }

    /// How many questions there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is asked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl IntoIterator for InputRequests {
    type Item = (String, InputRequest);
    type IntoIter = std::vec::IntoIter<Self::Item>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromJson for InputRequests {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        let read = |(key, raw): (String, &RawValue)| match InputRequest::from_json(raw) {
            Ok(request) => Ok((key, request)),
            Err(e) => Err(e.inside(&key)),
        };
        Members::of(raw)?.in_order().into_iter().map(read).collect::<Result<_, _>>().map(Self)
    }
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl Serialize for InputRequests {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

wire::deserialize_through_json!(InputRequests);

/// What a server wants back when a request is sent again. It means nothing to the client, which returns it unchanged and
/// unread; to the server it is what an attacker may have written. `Debug` shows only its length.
///
/// ```
/// use tinymcp::protocol::RequestState;
///
/// let state = RequestState::from("key=secret");
/// assert_eq!((format!("{state:?}").as_str(), state.as_str()), ("RequestState(10 bytes)", "key=secret"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct RequestState(String);

impl RequestState {
    /// The text on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RequestState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestState({} bytes)", self.0.len())
    }
}

impl From<String> for RequestState {
    fn from(state: String) -> Self {
        Self(state)
    }
}

impl From<&str> for RequestState {
    fn from(state: &str) -> Self {
        Self(state.to_owned())
    }
}

impl FromJson for RequestState {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        // The value itself stays out of messages.
        String::from_json(raw).map(Self).map_err(|_| JsonError::new("expected a string"))
    }
}

impl Serialize for RequestState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

wire::deserialize_through_json!(RequestState);

wire::wire! {
    /// The result of a request that cannot be answered yet: the request is to be sent again, with the answers to all
    /// questions and with the state. From 2026-07-28 on. Questions or a state that cannot be read are an error, as the next
    /// round would lack them.
    pub struct InputRequiredResult {
        /// [`ResultType::InputRequired`].
        pub result_type: ResultType = "resultType",
        /// The questions. There is a state if there are none.
        pub input_requests: InputRequests = "inputRequests" or default,
        /// What the server wants back.
        pub request_state: Option<RequestState> = "requestState" or default,
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }
}

impl InputRequiredResult {
    /// Asks `input_requests`.
    #[must_use]
    pub fn new(input_requests: InputRequests) -> Self {
        Self {
            result_type: ResultType::InputRequired,
            input_requests,
            request_state: None,
            meta: None,
            extra: Object::new(),
        }
    }

    /// Asks nothing: the request is to be sent again with `state`.
    #[must_use]
    pub fn state(state: impl Into<RequestState>) -> Self {
        Self::new(InputRequests::new()).with_request_state(state)
    }
}

wire::builders!(InputRequiredResult {
    /// Sets what the server wants back.
    with_request_state => request_state: RequestState,
    /// Sets the metadata.
    with_meta => meta: Object,
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{CallToolParams, PrimitiveSchema, RequestedSchema};

    fn read<T: FromJson>(text: &str) -> Result<T, String> {
        T::from_json(Json::parse(text).expect("JSON").as_raw()).map_err(|e| e.to_string())
    }

    #[test]
    fn questions_keep_their_order_and_unknown_ones_survive() {
        let text = concat!(
            r#"{"z":{"method":"roots/list"},"#,
            r#""b":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"a:b"}},"#,
            r#""a":{"method":"vision/look","params":[1]},"#,
            r#""c":{"method":"vision/blink"}}"#,
        );
        let asked: InputRequests = read(text).expect("questions");
        assert_eq!(serde_json::to_string(&asked).expect("JSON"), text);
        assert_eq!(asked.get("a").map(InputRequest::method), Some("vision/look"));
        let twice: InputRequests =
            read(r#"{"a":{"method":"x"},"b":{"method":"y"},"a":{"method":"z"}}"#).expect("questions");
        assert_eq!(
            twice.iter().map(|(key, ask)| (key, ask.method())).collect::<Vec<_>>(),
            [("a", "z"), ("b", "y")]
        );
        let mut again = InputRequests::new();
        again.insert(
            "a",
            ElicitParams::form("m", RequestedSchema::new().required("x", PrimitiveSchema::text())),
        );
        again.insert("a", ListRootsParams::default());
        assert_eq!((again.len(), again.get("a").map(InputRequest::method)), (1, Some("roots/list")));
    }

    #[test]
    fn what_would_be_missed_in_the_next_round_is_an_error() {
        for (text, problem) in [
            (r#"{"resultType":"input_required","requestState":5}"#, "requestState: expected a string"),
            (
                r#"{"resultType":"input_required","inputRequests":[]}"#,
                "inputRequests: expected an object, found []",
            ),
            (
                r#"{"resultType":"input_required","inputRequests":{"a":{}}}"#,
                "inputRequests.a.method: missing",
            ),
            (
                r#"{"resultType":"input_required","inputRequests":{"a":{"method":"sampling/createMessage","params":{"messages":[]}}}}"#,
                "inputRequests.a.params.maxTokens: missing",
            ),
            (
                r#"{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create"}}}"#,
                "inputRequests.a.params: missing",
            ),
        ] {
            assert_eq!(read::<InputRequiredResult>(text), Err(problem.to_owned()), "{text}");
        }
        let odd: InputRequiredResult =
            read(r#"{"resultType":"input_required","inputRequests":null,"requestState":null,"new":1}"#)
                .expect("a result");
        assert!(odd.input_requests.is_empty() && odd.request_state.is_none());
        assert_eq!(serde_json::to_string(&odd).expect("JSON"), r#"{"resultType":"input_required","new":1}"#);
    }

    #[test]
    fn the_state_is_no_ones_to_see() {
        let call = CallToolParams::new("t").with_request_state("hush");
        let result = InputRequiredResult::state("hush");
        for text in [format!("{call:?}"), format!("{result:?}")] {
            assert!(text.contains("RequestState(4 bytes)") && !text.contains("hush"), "{text}");
        }
        let text = r#"{"resultType":"input_required","requestState":"a\"\\\u0000 b"}"#;
        let kept: InputRequiredResult = read(text).expect("a result");
        assert_eq!(kept.request_state.as_ref().map(RequestState::as_str), Some("a\"\\\0 b"));
        assert_eq!(serde_json::to_string(&kept).expect("JSON"), text);
        assert_eq!(
            read::<CallToolParams>(r#"{"name":"t","requestState":["hush"]}"#),
            Err("requestState: expected a string".into())
        );
    }
}
