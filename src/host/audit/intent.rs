//! [`Intent`]: what is about to be done. [`Outcome`]: what came of it.

use std::borrow::Cow;
use std::io;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::json::Json;
use crate::protocol::{CallToolResult, Implementation};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A server is started, or reached for the first time.
    Start,
    /// A tool is called.
    Call,
    /// A resource is read.
    Read,
    /// A prompt is filled in.
    Prompt,
    /// A server asks the language model.
    Sample,
    /// A server asks the user.
    Elicit,
    /// The user is asked for consent.
    Consent,
    /// A server is started again.
    Restart,
    /// A server's state has changed.
    State,
}

impl Kind {
    const ALL: [Self; 9] = [
        Self::Start,
        Self::Call,
        Self::Read,
        Self::Prompt,
        Self::Sample,
        Self::Elicit,
        Self::Consent,
        Self::Restart,
        Self::State,
    ];

    /// The word in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Call => "call",
            Self::Read => "read",
            Self::Prompt => "prompt",
            Self::Sample => "sample",
            Self::Elicit => "elicit",
            Self::Consent => "consent",
            Self::Restart => "restart",
            Self::State => "state",
        }
    }

    /// The kind of this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// The member of a line that names what it is about.
    pub(super) fn target_key(self) -> &'static str {
        match self {
            Self::Call => "tool",
            Self::Read => "uri",
            Self::Prompt => "prompt",
            _ => "target",
        }
    }
}

/// What is about to be done, as far as the log tells it.
///
/// ```
/// use tinymcp::host::audit::{Intent, Kind};
/// use tinymcp::json::Json;
///
/// let arguments = Json::parse(r#"{"title": "Plan"}"#)?;
/// let intent = Intent::new(Kind::Call)
///     .with_server("notes")
///     .with_target("create_note")
///     .with_arguments(&arguments)
///     .with_allowed("rule allow notes/*");
/// assert_eq!((intent.kind, intent.target), (Kind::Call, Some("create_note")));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Intent<'a> {
    /// What is done.
    pub kind: Kind,
    /// With which server, by its name with the host.
    pub server: Option<&'a str>,
    /// With what of it: the tool's name, the URI, the prompt's name.
    pub target: Option<&'a str>,
    /// Which software the server says it is.
    pub identity: Option<&'a Implementation>,
    /// The arguments, or what a server asks.
    pub arguments: Option<&'a Json>,
    /// Why it is allowed: the rule, the hint, the answer that was remembered.
    pub allowed: Option<&'a str>,
    /// What else there is to know, in words.
    pub detail: Option<&'a str>,
}

impl<'a> Intent<'a> {
    /// Something of this kind.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            server: None,
            target: None,
            identity: None,
            arguments: None,
            allowed: None,
            detail: None,
        }
    }

    /// A tool is called.
    #[must_use]
    pub fn call(server: &'a str, tool: &'a str) -> Self {
        Self::new(Kind::Call).with_server(server).with_target(tool)
    }

    /// Sets the server, by its name with the host.
    #[must_use]
    pub fn with_server(self, server: &'a str) -> Self {
        Self { server: Some(server), ..self }
    }

    /// Sets the tool, the URI or the prompt.
    #[must_use]
    pub fn with_target(self, target: &'a str) -> Self {
        Self { target: Some(target), ..self }
    }

    /// Sets which software the server says it is.
    #[must_use]
    pub fn with_identity(self, identity: &'a Implementation) -> Self {
        Self { identity: Some(identity), ..self }
    }

    /// Sets the arguments, or what a server asks.
    #[must_use]
    pub fn with_arguments(self, arguments: &'a Json) -> Self {
        Self { arguments: Some(arguments), ..self }
    }

    /// Says why it is allowed.
    #[must_use]
    pub fn with_allowed(self, allowed: &'a str) -> Self {
        Self { allowed: Some(allowed), ..self }
    }

    /// Adds what else there is to know.
    #[must_use]
    pub fn with_detail(self, detail: &'a str) -> Self {
        Self { detail: Some(detail), ..self }
    }
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ended {
    /// As it should.
    Ok,
    /// The tool ran and failed.
    ToolError,
    /// Somebody has not allowed it.
    Denied,
    /// With an error.
    Error,
    /// Nobody knows: it was sent, and there was no answer. It may or may not have been done.
    Unknown,
}

impl Ended {
    /// The word in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ToolError => "tool_error",
            Self::Denied => "denied",
            Self::Error => "error",
            Self::Unknown => "unknown",
        }
    }

    /// What this word says; one that is not known says as little as none.
    pub(super) fn from_word(word: &str) -> Self {
        let all = [Self::Ok, Self::ToolError, Self::Denied, Self::Error];
        all.into_iter().find(|ended| ended.as_str() == word).unwrap_or(Self::Unknown)
    }
}

/// What came of an [`Intent`], as far as the log tells it.
///
/// ```
/// use tinymcp::Error;
/// use tinymcp::host::audit::{Ended, Outcome};
/// use tinymcp::protocol::CallToolResult;
///
/// assert_eq!(Outcome::of_call(&Ok(CallToolResult::text("done"))).ended(), Ended::Ok);
/// assert_eq!(Outcome::of_call(&Ok(CallToolResult::error("no such note"))).ended(), Ended::ToolError);
/// assert_eq!(Outcome::of_call(&Err(Error::Denied("by the user".into()))).ended(), Ended::Denied);
/// ```
#[derive(Clone, Debug)]
pub struct Outcome<'a> {
    pub(super) ended: Ended,
    /// The kind of error.
    pub(super) error_kind: Option<&'static str>,
    pub(super) error: Option<Cow<'a, str>>,
    pub(super) result: Option<Window>,
    pub(super) detail: Option<&'a str>,
}

impl<'a> Outcome<'a> {
    /// It ended so.
    #[must_use]
    pub fn new(ended: Ended) -> Self {
        Self { ended, error_kind: None, error: None, result: None, detail: None }
    }

    /// It went well.
    #[must_use]
    pub fn ok() -> Self {
        Self::new(Ended::Ok)
    }

    /// Somebody has not allowed it, for this reason.
    #[must_use]
    pub fn denied(reason: &'a str) -> Self {
        Self { error: Some(Cow::Borrowed(reason)), ..Self::new(Ended::Denied) }
    }

    /// Nobody knows what came of it, for this reason.
    #[must_use]
    pub fn unknown(reason: &'a str) -> Self {
        Self { error: Some(Cow::Borrowed(reason)), ..Self::new(Ended::Unknown) }
    }

    /// It failed. What was denied, and what may or may not have been done, is told apart.
    #[must_use]
    pub fn failed(error: &Error) -> Self {
        let ended = match error {
            Error::Denied(_) => Ended::Denied,
            Error::OutcomeUnknown(_) => Ended::Unknown,
            _ => Ended::Error,
        };
        Self { error_kind: Some(word(error)), error: Some(Cow::Owned(error.to_string())), ..Self::new(ended) }
    }

    /// What came of calling a tool.
    #[must_use]
    pub fn of_call(result: &Result<CallToolResult>) -> Self {
        let outcome = Self::of(result);
        match result {
            Ok(result) if result.is_error() => Self { ended: Ended::ToolError, ..outcome },
            _ => outcome,
        }
    }

    /// What came of anything else.
    #[must_use]
    pub fn of<T: Serialize>(result: &Result<T>) -> Self {
        match result {
            Ok(result) => Self::ok().with_result(result),
            Err(error) => Self::failed(error),
        }
    }

    /// Sets the result.
    #[must_use]
    pub fn with_result<T: Serialize + ?Sized>(self, result: &T) -> Self {
        Self { result: Some(Window::of(result)), ..self }
    }

    /// Adds what else there is to know.
    #[must_use]
    pub fn with_detail(self, detail: &'a str) -> Self {
        Self { detail: Some(detail), ..self }
    }

    /// How it ended.
    #[must_use]
    pub fn ended(&self) -> Ended {
        self.ended
    }
}

/// The word for an error in the file.
fn word(error: &Error) -> &'static str {
    match error {
        Error::Peer(_) => "peer",
        Error::Refused { .. } => "refused",
        Error::Timeout(_) => "timeout",
        Error::Cancelled(_) => "cancelled",
        Error::Closed(_) => "closed",
        Error::OutcomeUnknown(_) => "outcome_unknown",
        Error::Unreachable(_) => "unreachable",
        Error::Rejected { .. } => "rejected",
        Error::SessionEnded(_) => "session_ended",
        Error::Transport { .. } => "transport",
        Error::Protocol(_) => "protocol",
        Error::Unsupported(_) => "unsupported",
        Error::InvalidUse(_) => "invalid_use",
        Error::Busy(_) => "busy",
        Error::Denied(_) => "denied",
        Error::NotAnswered { .. } => "not_answered",
    }
}

/// The beginning of a value's JSON, and how long all of it is.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub(super) text: String,
    pub(super) bytes: usize,
}

/// So much is kept of a result: more than is ever shown of it, so that what is hidden by a pattern is not cut in two.
const WINDOW_BYTES: usize = 128 * 1024;

impl Window {
    fn of<T: Serialize + ?Sized>(value: &T) -> Self {
        let mut begun = Begun { kept: Vec::with_capacity(256), bytes: 0 };
        if let Err(e) = serde_json::to_writer(&mut begun, value) {
            return Self { text: format!("\"cannot be JSON: {e}\""), bytes: begun.bytes };
        }
        let text = String::from_utf8(begun.kept).unwrap_or_else(|e| {
            // Cut inside of a character.
            let whole = e.utf8_error().valid_up_to();
            let mut bytes = e.into_bytes();
            bytes.truncate(whole);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self { text, bytes: begun.bytes }
    }
}

struct Begun {
    kept: Vec<u8>,
    bytes: usize,
}

impl io::Write for Begun {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        let room = WINDOW_BYTES.saturating_sub(self.kept.len()).min(part.len());
        self.kept.extend_from_slice(&part[..room]);
        self.bytes += part.len();
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
