//! [`Question`]: what the user is shown before something is done.

use std::fmt;

use super::difference::{difference, laid_out};
use super::subject::Subject;
use crate::host::filter::visible;
use crate::json::Json;
use crate::protocol::ToolDefinition;

/// Longer texts in a question are cut, in characters.
const MAX_TEXT: usize = 4_000;

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QuestionKind {
    /// A server of a configuration is to be started, or reached.
    Start,
    /// A tool is to be called.
    Call,
    /// A server wants the language model's answer.
    Sample,
    /// A server is to see the language model's answer.
    SampleAnswer,
    /// A server wants to ask the user something.
    Elicit,
}

impl fmt::Display for QuestionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "start",
            Self::Call => "call",
            Self::Sample => "sampling",
            Self::SampleAnswer => "the answer of sampling",
            Self::Elicit => "elicitation",
        })
    }
}

/// What the user is asked.
///
/// Every text in it has been made harmless: control characters and those that turn text around are written out. `Display` shows all of it,
/// for a terminal.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Question {
    /// What it is about.
    pub kind: QuestionKind,
    /// The server, by its name with the host.
    pub server: String,
    /// What is to be done, in a line.
    pub summary: String,
    /// The tool, for a call.
    pub tool: Option<String>,
    /// What the server says of the tool, or asks.
    pub description: Option<String>,
    /// The arguments of a call, laid out.
    pub arguments: Option<String>,
    /// What the server claims of the tool, in words.
    pub hints: Vec<String>,
    /// What has changed since the user agreed to it, line by line.
    pub change: Option<String>,
    /// Whatever else the user should know.
    pub notes: Vec<String>,
    /// Why it is asked.
    pub reason: String,
}

impl Question {
    /// `before` is what was agreed to, if it was something else.
    pub(super) fn of(subject: &Subject<'_>, before: Option<&str>, reason: &str) -> Self {
        let server = harmless(subject.server());
        let mut question = Self {
            kind: subject.kind(),
            summary: String::new(),
            tool: None,
            description: None,
            arguments: None,
            hints: Vec::new(),
            change: before.map(|before| harmless(&difference(before, &subject.bound_to()))),
            notes: Vec::new(),
            reason: reason.to_owned(),
            server,
        };
        question.describe(subject);
        question
    }

    fn describe(&mut self, subject: &Subject<'_>) {
        let server = &self.server;
        match subject {
            Subject::Start { entry, canonical } => {
                self.summary = format!("Start server {server}: {}", harmless(&entry.written()));
                self.notes
                    .extend(entry.source.as_ref().map(|file| format!("configured in {}", file.display())));
                let taken: Vec<_> =
                    entry.takes_from_environment().into_iter().map(|name| harmless(&name)).collect();
                if !taken.is_empty() {
                    self.notes.push(format!("it gets from the environment: {}", taken.join(", ")));
                }
                self.arguments = Some(harmless(&laid_out(canonical)));
            }
            Subject::Call { tool, arguments, .. } => {
                self.summary = format!("Call {} of server {server}", harmless(&tool.name));
                self.tool = Some(harmless(&tool.name));
                self.description = tool.description.as_deref().map(harmless);
                self.arguments = Some(harmless(&laid_out(arguments.as_str())));
                self.hints = hints(tool);
            }
            Subject::Sample { params, .. } => {
                self.summary = format!("Let server {server} ask the language model");
                self.description = Json::new(params).ok().map(|json| harmless(&laid_out(json.as_str())));
            }
            Subject::SampleAnswer { result, .. } => {
                self.summary = format!("Give the language model's answer to server {server}");
                self.description = Json::new(result).ok().map(|json| harmless(&laid_out(json.as_str())));
            }
            Subject::Elicit { params, .. } => {
                self.summary = format!("Let server {server} ask you something");
                self.description = Some(harmless(&params.message));
            }
            Subject::ElicitUrl { params, .. } => {
                self.summary = format!("Let server {server} send you to {}", harmless(&params.url));
                self.description = Some(harmless(&params.message));
            }
        }
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.summary)?;
        if let Some(description) = &self.description {
            writeln!(f, "It says: {description}")?;
        }
        if !self.hints.is_empty() {
            writeln!(f, "It claims: {}", self.hints.join(", "))?;
        }
        if let Some(arguments) = &self.arguments {
            writeln!(f, "{arguments}")?;
        }
        for note in &self.notes {
            writeln!(f, "{note}")?;
        }
        if let Some(change) = &self.change {
            writeln!(f, "It has changed since you agreed to it:\n{change}")?;
        }
        write!(f, "Asked because: {}", self.reason)
    }
}

/// What a server says of its tool, and what it means where it says nothing.
fn hints(tool: &ToolDefinition) -> Vec<String> {
    let hints = tool.annotations.clone().unwrap_or_default();
    let mut words = Vec::new();
    let only_reads = hints.read_only_hint == Some(true);
    words.push(if only_reads { "it only reads" } else { "it may change something" });
    if !only_reads {
        words.push(match hints.destructive_hint {
            Some(false) => "it destroys nothing",
            _ => "it may destroy something",
        });
        words.push(match hints.idempotent_hint {
            Some(true) => "doing it twice is doing it once",
            _ => "doing it twice does more",
        });
    }
    words.push(match hints.open_world_hint {
        Some(false) => "it stays on this system",
        _ => "it may reach the world outside",
    });
    words.into_iter().map(str::to_owned).collect()
}

/// `text` as it can be shown: nothing in it that moves a cursor or turns a line around, and not too much of it.
fn harmless(text: &str) -> String {
    let text = visible(text);
    match text.char_indices().nth(MAX_TEXT) {
        None => text.into_owned(),
        Some((end, _)) => format!("{}… ({} characters)", &text[..end], text.chars().count()),
    }
}
