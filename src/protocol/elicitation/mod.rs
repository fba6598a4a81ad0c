//! Elicitation: a server asks the user, by a form or by sending the user to a URL.

mod check;
mod field;
mod schema;

use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::{FromJson, Json, JsonError, Members, Object, wire};
use crate::jsonrpc::{ErrorCode, ErrorObject};

pub use field::{
    BooleanSchema, EnumItems, EnumOption, MultiSelectEnumSchema, NumberKind, NumberSchema, PrimitiveSchema,
    SingleSelectEnumSchema, StringFormat, StringSchema,
};
pub use schema::RequestedSchema;

/// Parameters of `elicitation/create`, told by their member `mode`. From 2025-06-18 on.
///
/// ```
/// use tinymcp::protocol::{ElicitParams, PrimitiveSchema, RequestedSchema};
///
/// let fields = RequestedSchema::new()
///     .required("env", PrimitiveSchema::choice(["prod", "test"]).with_title("Environment"))
///     .optional("count", PrimitiveSchema::integer().with_range(1, 9).with_default(3));
/// let ask = ElicitParams::form("Where to deploy?", fields);
/// assert_eq!(ask.message(), "Where to deploy?");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ElicitParams {
    /// With a form. Also what is meant if there is no mode.
    Form(ElicitFormParams),
    /// By sending the user to a URL. From 2025-11-25 on.
    Url(ElicitUrlParams),
    /// In a way this version of the crate does not know, as it came.
    Unknown(Object),
}

wire::string_enum! {
    /// How the user is asked. From 2025-11-25 on.
    pub enum ElicitMode {
        /// With a form.
        Form = "form",
        /// By sending the user to a URL.
        Url = "url",
    }

    /// What the user did.
    pub enum ElicitAction {
        /// Sent the form off, or agreed to go to the URL.
        Accept = "accept",
        /// Refused.
        Decline = "decline",
        /// Put the question away.
        Cancel = "cancel",
    }
}

wire::wire! {
    /// Parameters of a question by form.
    pub struct ElicitFormParams {
        /// [`ElicitMode::Form`], or absent. From 2025-11-25 on.
        pub mode: Option<ElicitMode> = "mode",
        /// What to tell the user.
        pub message: String = "message",
        /// The fields of the form.
        pub requested_schema: RequestedSchema = "requestedSchema",
        /// Asks for a task instead of the result. Revision 2025-11-25 only.
        pub task: Option<Object> = "task",
        /// Metadata. Up to 2025-11-25.
        pub meta: Option<Object> = "_meta",
    }

    /// Parameters of a question by URL. From 2025-11-25 on.
    pub struct ElicitUrlParams {
        /// [`ElicitMode::Url`].
        pub mode: ElicitMode = "mode",
        /// What to tell the user.
        pub message: String = "message",
        /// Where to send the user.
        pub url: String = "url",
        /// Tells this question from others. Revision 2025-11-25 only, which needs it.
        pub elicitation_id: Option<String> = "elicitationId",
        /// Asks for a task instead of the result. Revision 2025-11-25 only.
        pub task: Option<Object> = "task",
        /// Metadata. Up to 2025-11-25.
        pub meta: Option<Object> = "_meta",
    }

    /// Result of `elicitation/create`.
    pub struct ElicitResult {
        /// What the user did.
        pub action: ElicitAction = "action",
        /// The values of the form's fields, if the user accepted a form. One that is no object is an error, as without it
        /// the user would have left the form empty.
        pub content: Option<Object> = "content" or default,
        /// Metadata. Up to 2025-11-25.
        pub meta: Option<Object> = "_meta",
    }

    /// Parameters of `notifications/elicitation/complete`: what the user had to do at a URL is done.
    /// Revision 2025-11-25 only.
    pub struct ElicitationCompleteParams {
        /// The question's [`elicitation_id`](ElicitUrlParams::elicitation_id).
        pub elicitation_id: String = "elicitationId",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// The data of error [`URL_ELICITATION_REQUIRED`](ErrorCode::URL_ELICITATION_REQUIRED): the user must visit URLs, and
    /// the request can then be sent again. Revision 2025-11-25 only.
    ///
    /// ```
    /// use tinymcp::ErrorObject;
    /// use tinymcp::protocol::{ElicitUrlParams, UrlElicitationRequired};
    ///
    /// let login = ElicitUrlParams::new("Please log in", "https://example.com/login").with_elicitation_id("7");
    /// let required = UrlElicitationRequired::new(vec![login]);
    /// let error = ErrorObject::from(required.clone());
    /// assert_eq!(error.code, -32042);
    /// assert_eq!(UrlElicitationRequired::of(&error), Some(required));
    /// ```
    pub struct UrlElicitationRequired {
        /// What the user has to do.
        pub elicitations: Vec<ElicitUrlParams> = "elicitations",
    }
}

impl ElicitParams {
    /// Asks by form.
    #[must_use]
    pub fn form(message: impl Into<String>, fields: RequestedSchema) -> Self {
        Self::Form(ElicitFormParams::new(message, fields))
    }

    /// Asks by sending the user to `url`.
    #[must_use]
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self::Url(ElicitUrlParams::new(message, url))
    }

    /// What to tell the user; empty if that is not known.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Form(params) => &params.message,
            Self::Url(params) => &params.message,
            Self::Unknown(_) => "",
        }
    }
}

impl FromJson for ElicitParams {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        let members = Members::of(raw)?;
        let mode = members.iter().find(|(name, _)| *name == "mode").map_or("null", |(_, mode)| mode.get());
        match mode {
            // spec: 2025-11-25 client/elicitation#elicitation-requests (no mode means a form)
            "null" | r#""form""# => ElicitFormParams::from_members(members).map(Self::Form),
            r#""url""# => ElicitUrlParams::from_members(members).map(Self::Url),
            _ => Ok(Self::Unknown(members.rest())),
        }
    }
}

impl Serialize for ElicitParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Form(params) => params.serialize(serializer),
            Self::Url(params) => params.serialize(serializer),
            Self::Unknown(params) => params.serialize(serializer),
        }
    }
}

wire::deserialize_through_json!(ElicitParams);

impl From<ElicitFormParams> for ElicitParams {
    fn from(params: ElicitFormParams) -> Self {
        Self::Form(params)
    }
}

impl From<ElicitUrlParams> for ElicitParams {
    fn from(params: ElicitUrlParams) -> Self {
        Self::Url(params)
    }
}

impl ElicitFormParams {
    /// A form.
    #[must_use]
    pub fn new(message: impl Into<String>, fields: RequestedSchema) -> Self {
        Self {
            mode: Some(ElicitMode::Form),
            message: message.into(),
            requested_schema: fields,
            task: None,
            meta: None,
            extra: Object::new(),
        }
    }
}

wire::builders!(ElicitFormParams {
    /// Asks for a task instead of the result.
    with_task => task: Object,
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl ElicitUrlParams {
    /// Sends the user to `url`.
    #[must_use]
    pub fn new(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            mode: ElicitMode::Url,
            message: message.into(),
            url: url.into(),
            elicitation_id: None,
            task: None,
            meta: None,
            extra: Object::new(),
        }
    }
}

wire::builders!(ElicitUrlParams {
    /// Sets what tells this question from others.
    with_elicitation_id => elicitation_id: String,
    /// Asks for a task instead of the result.
    with_task => task: Object,
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl ElicitResult {
    fn new(action: ElicitAction, content: Option<Object>) -> Self {
        Self { action, content, meta: None, extra: Object::new() }
    }

    /// The user sent the form off with these values.
    #[must_use]
    pub fn accept(content: Object) -> Self {
        Self::new(ElicitAction::Accept, Some(content))
    }

    /// The user agreed to go to the URL.
    #[must_use]
    pub fn accept_url() -> Self {
        Self::new(ElicitAction::Accept, None)
    }

    /// The user refused.
    #[must_use]
    pub fn decline() -> Self {
        Self::new(ElicitAction::Decline, None)
    }

    /// The user put the question away.
    #[must_use]
    pub fn cancel() -> Self {
        Self::new(ElicitAction::Cancel, None)
    }

    /// Whether the user accepted.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        self.action == ElicitAction::Accept
    }

    /// The values of an accepted form as a `T`; `None` if the user did not accept.
    ///
    /// # Errors
    /// When they do not have `T`'s shape.
    pub fn content_as<T: DeserializeOwned>(&self) -> Result<Option<T>, serde_json::Error> {
        if !self.is_accepted() {
            return Ok(None);
        }
        Json::from(self.content.clone().unwrap_or_default()).to().map(Some)
    }
}

wire::builders!(ElicitResult {
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl ElicitationCompleteParams {
    /// That the question `elicitation_id` is done with.
    #[must_use]
    pub fn new(elicitation_id: impl Into<String>) -> Self {
        Self { elicitation_id: elicitation_id.into(), meta: None, extra: Object::new() }
    }
}

impl UrlElicitationRequired {
    /// The user must do all of `elicitations`.
    #[must_use]
    pub fn new(elicitations: Vec<ElicitUrlParams>) -> Self {
        Self { elicitations, extra: Object::new() }
    }

    /// What `error` asks of the user; `None` if it is another error, or does not say it.
    #[must_use]
    pub fn of(error: &ErrorObject) -> Option<Self> {
        let data = error.data.as_ref().filter(|_| error.code == ErrorCode::URL_ELICITATION_REQUIRED)?;
        Self::from_json(data.as_raw())
            .map_err(|e| log::warn!("ignored the data of error {}: {e}", error.code))
            .ok()
    }
}

impl From<UrlElicitationRequired> for ErrorObject {
    fn from(required: UrlElicitationRequired) -> Self {
        let error = Self::new(ErrorCode::URL_ELICITATION_REQUIRED, "the user must visit a URL first");
        match Json::new(&required) {
            Ok(data) => error.with_data(data),
            Err(_) => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: FromJson>(text: &str) -> Result<T, String> {
        T::from_json(Json::parse(text).expect("JSON").as_raw()).map_err(|e| e.to_string())
    }

    #[test]
    fn questions_are_told_by_mode() {
        let form = r#""message":"m","requestedSchema":{"type":"object","properties":{}}"#;
        for (text, kind) in [
            (format!("{{{form}}}"), "form"),
            (format!(r#"{{"mode":"form",{form}}}"#), "form"),
            (r#"{"mode":"url","message":"m","url":"https://a.example"}"#.to_owned(), "url"),
            (r#"{"message":"m","mode":"voice"}"#.to_owned(), "unknown"),
            (r#"{"message":"m","mode":5}"#.to_owned(), "unknown"),
        ] {
            let params: ElicitParams = read(&text).expect(&text);
            let found = match &params {
                ElicitParams::Form(_) => "form",
                ElicitParams::Url(_) => "url",
                ElicitParams::Unknown(_) => "unknown",
            };
            assert_eq!(found, kind, "{text}");
            assert_eq!(serde_json::to_string(&params).expect("JSON"), text);
        }
        assert!(read::<ElicitParams>(&format!(r#"{{"mode":null,{form}}}"#)).is_ok());
        for (text, problem) in [
            (r#"{"message":"m"}"#, "requestedSchema: missing"),
            (r#"{"mode":"url","message":"m"}"#, "url: missing"),
            (r#"{"mode":"form","message":5}"#, "message: expected a string, found 5"),
        ] {
            assert_eq!(read::<ElicitParams>(text), Err(problem.to_owned()), "{text}");
        }
    }

    #[test]
    fn answers_say_what_the_user_did() {
        let answer: ElicitResult = read(r#"{"action":"accept","content":{"n":3}}"#).expect("a result");
        assert_eq!(
            answer.content_as::<std::collections::BTreeMap<String, u8>>().expect("numbers").map(|m| m["n"]),
            Some(3)
        );
        assert!(answer.content_as::<Vec<u8>>().is_err());
        assert_eq!(
            read::<ElicitResult>(r#"{"action":"decline","content":null}"#),
            Ok(ElicitResult::decline())
        );
        assert_eq!(ElicitResult::cancel().content_as::<Vec<u8>>().expect("no content"), None);
        assert!(ElicitResult::accept_url().is_accepted() && !ElicitResult::cancel().is_accepted());
        assert!(read::<ElicitResult>(r#"{"action":"accept","content":[1]}"#).is_err());
        let later: ElicitResult = read(r#"{"action":"defer"}"#).expect("a result");
        assert_eq!(later.action, ElicitAction::Unknown("defer".into()));
    }

    #[test]
    fn another_error_requires_no_url() {
        for (code, data) in [(-32042, "{}"), (-32042, "5"), (-32000, r#"{"elicitations":[]}"#)] {
            let error = ErrorObject::new(code, "no").with_data(Json::parse(data).expect("JSON"));
            assert_eq!(UrlElicitationRequired::of(&error), None, "{code} {data}");
        }
        assert_eq!(UrlElicitationRequired::of(&ErrorObject::new(-32042, "no")), None);
    }
}
