//! [`Subject`]: what a decision is about.

use super::question::QuestionKind;
use crate::host::config::ServerEntry;
use crate::json::{FromJson, Json, Object, canonical};
use crate::protocol::{
    CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitUrlParams, ToolDefinition,
};

/// What a decision is about, as the server has it: nothing in it has been made harmless.
///
/// `configured` is how the server was configured, as canonical JSON: consent to one is none to another of its name.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Subject<'a> {
    /// A server of a configuration is to be started, or reached.
    #[non_exhaustive]
    Start {
        /// What is run, or where it leads, as it is written.
        entry: &'a ServerEntry,
        /// The same in one line, with the folder it would be started in: what is compared with what was agreed to before.
        canonical: &'a str,
    },
    /// A tool is to be called.
    #[non_exhaustive]
    Call {
        /// The server.
        server: &'a str,
        /// How it was configured.
        configured: &'a str,
        /// The tool, as its server describes it.
        tool: &'a ToolDefinition,
        /// Its arguments.
        arguments: &'a Json,
    },
    /// A server wants the language model's answer.
    #[non_exhaustive]
    Sample {
        /// The server.
        server: &'a str,
        /// How it was configured.
        configured: &'a str,
        /// What it wants to know.
        params: &'a CreateMessageParams,
    },
    /// The language model has answered, and the server is to see it.
    #[non_exhaustive]
    SampleAnswer {
        /// The server.
        server: &'a str,
        /// How it was configured.
        configured: &'a str,
        /// The answer.
        result: &'a CreateMessageResult,
    },
    /// A server wants to ask the user something.
    #[non_exhaustive]
    Elicit {
        /// The server.
        server: &'a str,
        /// How it was configured.
        configured: &'a str,
        /// What it asks.
        params: &'a ElicitFormParams,
    },
    /// A server wants to send the user to an address.
    #[non_exhaustive]
    ElicitUrl {
        /// The server.
        server: &'a str,
        /// How it was configured.
        configured: &'a str,
        /// Where to.
        params: &'a ElicitUrlParams,
    },
}

impl<'a> Subject<'a> {
    pub(in crate::host) fn call(
        server: &'a str,
        configured: &'a str,
        tool: &'a ToolDefinition,
        arguments: &'a Json,
    ) -> Self {
        Self::Call { server, configured, tool, arguments }
    }

    pub(in crate::host) fn start(entry: &'a ServerEntry, canonical: &'a str) -> Self {
        Self::Start { entry, canonical }
    }

    pub(in crate::host) fn sample(
        server: &'a str,
        configured: &'a str,
        params: &'a CreateMessageParams,
    ) -> Self {
        Self::Sample { server, configured, params }
    }

    pub(in crate::host) fn sample_answer(
        server: &'a str,
        configured: &'a str,
        result: &'a CreateMessageResult,
    ) -> Self {
        Self::SampleAnswer { server, configured, result }
    }

    pub(in crate::host) fn elicit(
        server: &'a str,
        configured: &'a str,
        params: &'a ElicitFormParams,
    ) -> Self {
        Self::Elicit { server, configured, params }
    }

    pub(in crate::host) fn elicit_url(
        server: &'a str,
        configured: &'a str,
        params: &'a ElicitUrlParams,
    ) -> Self {
        Self::ElicitUrl { server, configured, params }
    }

    /// The server it is about.
    #[must_use]
    pub fn server(&self) -> &'a str {
        match self {
            Self::Start { entry, .. } => &entry.name,
            Self::Call { server, .. }
            | Self::Sample { server, .. }
            | Self::SampleAnswer { server, .. }
            | Self::Elicit { server, .. }
            | Self::ElicitUrl { server, .. } => server,
        }
    }

    /// The tool it is about, if it is a call.
    #[must_use]
    pub fn tool(&self) -> Option<&'a ToolDefinition> {
        match self {
            Self::Call { tool, .. } => Some(tool),
            _ => None,
        }
    }

    /// What kind it is of.
    #[must_use]
    pub fn kind(&self) -> QuestionKind {
        match self {
            Self::Start { .. } => QuestionKind::Start,
            Self::Call { .. } => QuestionKind::Call,
            Self::Sample { .. } => QuestionKind::Sample,
            Self::SampleAnswer { .. } => QuestionKind::SampleAnswer,
            Self::Elicit { .. } => QuestionKind::Elicit,
            Self::ElicitUrl { .. } => QuestionKind::ElicitUrl,
        }
    }

    /// What consent is bound to, as canonical JSON: the entry, or the definition of the tool.
    pub(super) fn bound_to(&self) -> String {
        match self {
            Self::Start { canonical, .. } => (*canonical).to_owned(),
            Self::Call { tool, .. } => {
                let json = Json::new(tool).unwrap_or_else(|_| Json::null());
                String::from_utf8(canonical(json.as_raw())).unwrap_or_default()
            }
            // What is asked is another thing each time: for more than once it can only be agreed to as a whole.
            _ => String::new(),
        }
    }

    /// What else it must be the same as, and what tells it from others of the same name: for a start, the file it comes from and
    /// the folder it is started in.
    pub(super) fn configured(&self) -> String {
        match self {
            Self::Start { canonical, .. } => {
                let entry = Json::parse(canonical).unwrap_or_else(|_| Json::empty_object());
                let entry = Object::from_json(entry.as_raw()).unwrap_or_default();
                let places = ["file", "workspace"].into_iter();
                let places = places.filter_map(|name| Some((name.to_owned(), entry.json(name)?.clone())));
                Json::from(places.collect::<Object>()).as_str().to_owned()
            }
            Self::Call { configured, .. }
            | Self::Sample { configured, .. }
            | Self::SampleAnswer { configured, .. }
            | Self::Elicit { configured, .. }
            | Self::ElicitUrl { configured, .. } => (*configured).to_owned(),
        }
    }
}
