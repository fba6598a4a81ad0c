//! Asking the client: [`Question`], [`Ability`] and [`AskError`].

use std::fmt;
use std::time::Duration;

use crate::error::Seconds;
use crate::json::{FromJson, Json, JsonError, Object};
use crate::jsonrpc::ErrorObject;
use crate::peer::NotAnswered;
use crate::protocol::{
    ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult,
    ElicitationCapability, IncludeContext, InputRequest, ListRootsParams, ListRootsResult,
    MissingRequiredClientCapability, ProtocolVersion, Root,
};

/// Why the client did not give what a handler needs. Handlers pass it on with `?`.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The answer is not here yet: the handler is to return, and runs again with it. Modern clients are asked this way.
    #[error("input is required from the client")]
    InputRequired,

    /// The call becomes a task: the handler is to return, and runs again as that. See
    /// [`Context::begin_task`](crate::Context::begin_task).
    #[error("the call becomes a task")]
    BecomesTask,

    /// The client did not say that it can do this, or its revision has no such thing. Nothing was asked.
    #[error("the client does not support {what}")]
    Unsupported {
        /// What it would have to support.
        what: String,
        /// The same as the protocol's error -32021, which names the capabilities.
        error: Box<ErrorObject>,
    },

    /// The client answered with an error.
    #[error("the client refused {key}: {error}")]
    Refused {
        /// The question's key.
        key: String,
        /// The client's error.
        error: ErrorObject,
    },

    /// The client's answer is not what was asked for.
    #[error("the client's answer to {key} is not valid: {problem}")]
    BadAnswer {
        /// The question's key.
        key: String,
        /// What is wrong with it.
        problem: String,
    },

    /// No answer in time.
    #[error("the client did not answer within {}", Seconds(*.0))]
    TimedOut(Duration),

    /// The call was cancelled meanwhile.
    #[error("cancelled: {0}")]
    Cancelled(String),

    /// The connection ended meanwhile.
    #[error("the connection has ended")]
    Closed,

    /// There is no client: the handler runs locally, or without a connection.
    #[error("there is no client to ask")]
    NoClient,

    /// Anything else: too many open questions, an answer that cannot be read, a step whose value is no JSON.
    #[error("{0}")]
    Failed(String),
}

/// What a server may ask of a client, if the client declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ability {
    /// Ask its user with a form.
    Form,
    /// Send its user to a URL.
    Url,
    /// Ask its language model.
    Sampling,
    /// Give tools to its language model.
    SamplingTools,
    /// Add context of servers to what its language model is asked.
    SamplingContext,
    /// Tell its root folders.
    Roots,
}

impl Ability {
    /// Whether a client with these capabilities has it in `version`.
    pub(crate) fn is_in(self, capabilities: &ClientCapabilities, version: &ProtocolVersion) -> bool {
        let elicitation = capabilities.elicitation.as_ref();
        let sampling = capabilities.sampling.as_ref();
        let since = match self {
            Self::Sampling | Self::Roots | Self::SamplingContext => ProtocolVersion::V2024_11_05,
            Self::Form => ProtocolVersion::V2025_06_18,
            Self::Url | Self::SamplingTools => ProtocolVersion::V2025_11_25,
        };
        *version >= since
            && match self {
                Self::Form => elicitation.is_some_and(ElicitationCapability::allows_form),
                Self::Url => elicitation.is_some_and(ElicitationCapability::allows_url),
                Self::Sampling => sampling.is_some(),
                Self::SamplingTools => sampling.is_some_and(|sampling| sampling.tools.is_some()),
                // The capability came with 2025-11-25; before that every client that samples had it.
                Self::SamplingContext if *version < ProtocolVersion::V2025_11_25 => sampling.is_some(),
                Self::SamplingContext => sampling.is_some_and(|sampling| sampling.context.is_some()),
                Self::Roots => capabilities.roots.is_some(),
            }
    }

    /// In words.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Form => "elicitation with a form",
            Self::Url => "elicitation by a URL",
            Self::Sampling => "sampling",
            Self::SamplingTools => "sampling with tools",
            Self::SamplingContext => "sampling with context of servers",
            Self::Roots => "roots",
        }
    }

    /// Adds what a client with it declares.
    pub(crate) fn declare(self, capabilities: &mut ClientCapabilities) {
        match self {
            Self::Form => capabilities.elicitation.get_or_insert_default().form = Some(Object::new()),
            Self::Url => capabilities.elicitation.get_or_insert_default().url = Some(Object::new()),
            Self::Sampling => drop(capabilities.sampling.get_or_insert_default()),
            Self::SamplingTools => capabilities.sampling.get_or_insert_default().tools = Some(Object::new()),
            Self::SamplingContext => {
                capabilities.sampling.get_or_insert_default().context = Some(Object::new());
            }
            Self::Roots => drop(capabilities.roots.get_or_insert_default()),
        }
    }

    /// The capabilities that a client with it declares.
    fn required(self) -> ClientCapabilities {
        let mut capabilities = ClientCapabilities::default();
        self.declare(&mut capabilities);
        capabilities
    }

    pub(super) fn missing(self) -> AskError {
        let what = self.what().to_owned();
        let error = MissingRequiredClientCapability::new(self.required()).into();
        AskError::Unsupported { what, error: Box::new(error) }
    }
}

/// What a client must be able to do to be asked `request`.
pub(crate) fn needed(request: &InputRequest) -> Option<Ability> {
    match request {
        InputRequest::Elicit(params) if matches!(**params, ElicitParams::Url(_)) => Some(Ability::Url),
        InputRequest::Elicit(_) => Some(Ability::Form),
        InputRequest::CreateMessage(params) if params.needs_tools() => Some(Ability::SamplingTools),
        InputRequest::CreateMessage(_) => Some(Ability::Sampling),
        InputRequest::ListRoots(_) => Some(Ability::Roots),
        _ => None,
    }
}

/// A question to the client, under a key that tells it from the other questions of its handler.
///
/// ```
/// use tinymcp::Context;
/// use tinymcp::context::{AskError, Question};
/// use tinymcp::protocol::CreateMessageParams;
///
/// fn summary(text: &str, cx: &Context) -> Result<String, AskError> {
///     let request = CreateMessageParams::new(200).with_user(format!("Summarize: {text}"));
///     let (answer, roots) = cx.ask((Question::sample("summary", request), Question::roots("roots")))?;
///     Ok(format!("{} ({} roots)", answer.text_content(), roots.len()))
/// }
///
/// let error = summary("a", &Context::detached()).unwrap_err();
/// assert_eq!(error.to_string(), "there is no client to ask");
/// ```
pub struct Question<A> {
    key: String,
    request: InputRequest,
    read: fn(&InputRequest, &Json) -> Result<A, String>,
}

impl Question<ElicitResult> {
    /// Asks the user, with a form or by a URL. A form's answer is checked against its schema.
    #[must_use]
    pub fn elicit(key: impl Into<String>, params: impl Into<ElicitParams>) -> Self {
        Self { key: key.into(), request: params.into().into(), read: read_elicited }
    }
}

impl Question<CreateMessageResult> {
    /// Asks the client's language model.
    #[must_use]
    pub fn sample(key: impl Into<String>, params: CreateMessageParams) -> Self {
        Self {
            key: key.into(),
            request: params.into(),
            read: |_, answer| CreateMessageResult::from_json(answer.as_raw()).map_err(|e| e.to_string()),
        }
    }
}

impl Question<Vec<Root>> {
    /// Asks for the client's root folders.
    #[must_use]
    pub fn roots(key: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            request: ListRootsParams::default().into(),
            read: |_, answer| match ListRootsResult::from_json(answer.as_raw()) {
                Ok(result) => Ok(result.roots),
                Err(e) => Err(e.to_string()),
            },
        }
    }
}

fn read_elicited(request: &InputRequest, answer: &Json) -> Result<ElicitResult, String> {
    let result = ElicitResult::from_json(answer.as_raw()).map_err(|e| e.to_string())?;
    // spec: 2026-07-28 client/elicitation#requested-schema (both sides SHOULD validate)
    let InputRequest::Elicit(params) = request else { return Ok(result) };
    if let (ElicitParams::Form(form), true) = (&**params, result.is_accepted()) {
        let nothing = Object::new();
        let content = result.content.as_ref().unwrap_or(&nothing);
        form.requested_schema.check(content).map_err(|problems| joined(&problems))?;
    }
    Ok(result)
}

fn joined(problems: &[JsonError]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl<A> fmt::Debug for Question<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question").field("key", &self.key).finish_non_exhaustive()
    }
}

/// One question, a tuple of up to four, or a list: what is asked at once, and answered at once.
pub trait Questions {
    /// What comes back.
    type Answers;

    /// Gives away the questions.
    #[doc(hidden)]
    fn pose(&self, questions: &mut Vec<(String, InputRequest)>);

    /// Reads the answers, in the order of the questions.
    ///
    /// # Errors
    /// When an answer is not what was asked for.
    #[doc(hidden)]
    fn read(self, answers: &mut dyn Iterator<Item = Json>) -> Result<Self::Answers, AskError>;
}

impl<A> Questions for Question<A> {
    type Answers = A;

    fn pose(&self, questions: &mut Vec<(String, InputRequest)>) {
        questions.push((self.key.clone(), self.request.clone()));
    }

    fn read(self, answers: &mut dyn Iterator<Item = Json>) -> Result<A, AskError> {
        let answer = answers.next().ok_or(AskError::InputRequired)?;
        (self.read)(&self.request, &answer).map_err(|problem| AskError::BadAnswer { key: self.key, problem })
    }
}

impl<Q: Questions> Questions for Vec<Q> {
    type Answers = Vec<Q::Answers>;

    fn pose(&self, questions: &mut Vec<(String, InputRequest)>) {
        self.iter().for_each(|question| question.pose(questions));
    }

    fn read(self, answers: &mut dyn Iterator<Item = Json>) -> Result<Self::Answers, AskError> {
        self.into_iter().map(|question| question.read(answers)).collect()
    }
}

macro_rules! tuples {
    ($(($($part:ident $name:ident),*))*) => {$(
        impl<$($part: Questions),*> Questions for ($($part,)*) {
            type Answers = ($($part::Answers,)*);

            fn pose(&self, questions: &mut Vec<(String, InputRequest)>) {
                let ($($name,)*) = self;
                $( $name.pose(questions); )*
            }

            fn read(self, answers: &mut dyn Iterator<Item = Json>) -> Result<Self::Answers, AskError> {
                let ($($name,)*) = self;
                Ok(($($name.read(answers)?,)*))
            }
        }
    )*};
}
tuples! { (A a, B b) (A a, B b, C c) (A a, B b, C c, D d) }

/// Why a question that was sent has no answer.
pub(crate) fn not_answered(key: &str, why: NotAnswered) -> AskError {
    match why {
        NotAnswered::Refused(error) => AskError::Refused { key: key.to_owned(), error },
        NotAnswered::TimedOut(after) => AskError::TimedOut(after),
        NotAnswered::Cancelled(reason) => AskError::Cancelled(reason),
        NotAnswered::Closed => AskError::Closed,
        NotAnswered::Failed(problem) => AskError::Failed(problem),
        NotAnswered::NoPeer => AskError::NoClient,
    }
}

/// What a client is asked for `request`, limited to what it can do.
///
/// spec: 2026-07-28 client/sampling (a server SHOULD NOT name servers' context to a client without that capability)
pub(super) fn limited(mut request: InputRequest, has_context: bool) -> InputRequest {
    if let InputRequest::CreateMessage(params) = &mut request {
        if !has_context && params.include_context.as_ref().is_some_and(|of| *of != IncludeContext::None) {
            log::debug!("left out includeContext: the client does not support it");
            params.include_context = None;
        }
    }
    request
}
