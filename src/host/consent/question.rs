//! [`Question`]: what the user is shown before something is done.

use std::borrow::Cow;
use std::fmt;

use super::difference::{difference, laid_out};
use super::grants::Before;
use super::subject::Subject;
use super::told;
use crate::host::filter::{visible, visible_line};
use crate::json::Json;

/// Of a longer text `Display` shows the beginning, in characters.
const SHOWN: usize = 4_000;

/// The same of what has changed.
const SHOWN_CHANGE: usize = 16_000;

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
    /// A server wants to ask the user something, with a form.
    Elicit,
    /// A server wants to send the user to an address.
    ElicitUrl,
}

impl QuestionKind {
    pub(super) const ALL: [Self; 6] =
        [Self::Start, Self::Call, Self::Sample, Self::SampleAnswer, Self::Elicit, Self::ElicitUrl];

    /// A word for files.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Call => "call",
            Self::Sample => "sample",
            Self::SampleAnswer => "sample-answer",
            Self::Elicit => "elicit",
            Self::ElicitUrl => "elicit-url",
        }
    }
}

impl fmt::Display for QuestionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "start",
            Self::Call => "call",
            Self::Sample => "sampling",
            Self::SampleAnswer => "the answer of sampling",
            Self::Elicit => "elicitation",
            Self::ElicitUrl => "elicitation by address",
        })
    }
}

/// What the user is asked.
///
/// Every text in it has been made harmless, but for the JSON of [`arguments`](Self::arguments): control characters and those that turn
/// text around are written out. `Display` is for a terminal: it shows all of it, and what comes from a server on lines of its own that
/// begin with `| `, so that it is not mistaken for anything else. Of long texts it shows the beginning and how much there is;
/// `{:#}` shows the whole.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Question {
    /// What it is about.
    pub kind: QuestionKind,
    /// The server, by its name with the host.
    pub server: String,
    /// What is to be done, in a line: for a start the command or the address, as it is written.
    pub summary: String,
    /// The tool of a call, by the name its server gave it.
    pub tool: Option<String>,
    /// What the server calls the tool for people.
    pub title: Option<String>,
    /// What the server says of the tool, wants to know from the model or from the user; or what the model has answered.
    pub description: Option<String>,
    /// As it is, in JSON: the arguments of a call, the entry of a server, the parameters of what a server asks, an answer to it.
    pub arguments: Option<Json>,
    /// What the server says of what the tool does, and what it does not say, in words. That is a claim, which nobody has checked.
    pub hints: Vec<String>,
    /// What has changed since the user agreed to it: lines that begin with `-` were there, those with `+` are there now, others are
    /// around them.
    pub change: Option<String>,
    /// Whatever else the user should know: the file that a server is configured in, and what it takes from the environment.
    pub notes: Vec<String>,
    /// Why it is asked.
    pub reason: String,
}

impl Question {
    /// `before` is what was agreed to, if it was something else.
    pub(super) fn of(subject: &Subject<'_>, before: Option<&Before>, reason: &str) -> Self {
        let mut question = Self {
            kind: subject.kind(),
            server: line(subject.server()),
            summary: String::new(),
            tool: subject.tool().map(|tool| line(&tool.name)),
            title: None,
            description: None,
            arguments: None,
            hints: Vec::new(),
            change: before.map(|before| changed(before, subject)),
            notes: Vec::new(),
            reason: line(reason),
        };
        question.describe(subject);
        question
    }

    fn describe(&mut self, subject: &Subject<'_>) {
        let server = &self.server;
        match subject {
            Subject::Start { entry, canonical } => {
                self.summary = format!("Start server {server}: {}", line(&entry.written()));
                let file = entry.source.as_ref().map(|file| line(&file.to_string_lossy()));
                self.notes.extend(file.map(|file| format!("It is configured in {file}.")));
                let taken: Vec<_> = entry.takes().iter().map(|taken| line(&taken.to_string())).collect();
                if !taken.is_empty() {
                    self.notes.push(format!("From outside of that, {}.", taken.join(", ")));
                }
                self.arguments = Json::parse(canonical).ok();
            }
            Subject::Call { tool, arguments, .. } => {
                self.summary = format!("Call {} of server {server}", line(&tool.name));
                let title = Some(tool.display_name()).filter(|title| *title != tool.name);
                self.title = title.map(line);
                self.description = tool.description.as_deref().map(text);
                self.arguments = Some((*arguments).clone());
                self.hints = told::hints(tool.annotations.as_ref());
            }
            Subject::Sample { params, .. } => {
                self.summary = format!("Let server {server} ask the language model");
                self.description = Some(text(&told::conversation(params)));
                self.arguments = Json::new(params).ok();
            }
            Subject::SampleAnswer { result, .. } => {
                self.summary = format!("Give the language model's answer to server {server}");
                self.description = Some(text(&told::blocks(&result.content)));
                self.arguments = Json::new(result).ok();
            }
            Subject::Elicit { params, .. } => {
                self.summary = format!("Let server {server} ask you something");
                self.description = Some(text(&told::form(params)));
                self.arguments = Json::new(params).ok();
            }
            Subject::ElicitUrl { params, .. } => {
                self.summary = format!("Let server {server} send you to {}", line(&params.url));
                self.description = Some(text(&params.message));
                self.arguments = Json::new(params).ok();
            }
        }
    }

    /// Whether the arguments say more than the description does.
    fn shows_arguments(&self) -> bool {
        matches!(self.kind, QuestionKind::Start | QuestionKind::Call)
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_whole = f.alternate();
        let at_most = |characters| if is_whole { usize::MAX } else { characters };
        writeln!(f, "{}", cut(&self.summary, at_most(SHOWN)))?;
        if let Some(title) = &self.title {
            writeln!(f, "| {}", cut(title, at_most(SHOWN)))?;
        }
        if let Some(description) = &self.description {
            apart(f, &cut(description, at_most(SHOWN)))?;
        }
        if !self.hints.is_empty() {
            writeln!(f, "Its server claims, unchecked: {}.", self.hints.join("; "))?;
        }
        if let Some(arguments) = self.arguments.as_ref().filter(|_| self.shows_arguments()) {
            f.write_str(if self.kind == QuestionKind::Call {
                "With the arguments\n"
            } else {
                "As configured\n"
            })?;
            apart(f, &cut(&visible(&laid_out(arguments.as_str())), at_most(SHOWN)))?;
        }
        for note in &self.notes {
            writeln!(f, "{}", cut(note, at_most(SHOWN)))?;
        }
        if let Some(change) = &self.change {
            writeln!(f, "It has changed since you agreed to it:")?;
            writeln!(f, "{}", cut(change.trim_end_matches('\n'), at_most(SHOWN_CHANGE)))?;
        }
        write!(f, "Asked because: {}", cut(&self.reason, at_most(SHOWN)))
    }
}

/// On lines that begin with a bar.
fn apart(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    text.lines().try_for_each(|line| writeln!(f, "| {line}"))
}

/// The beginning of a text, and how much it is.
fn cut(text: &str, characters: usize) -> Cow<'_, str> {
    match text.char_indices().nth(characters) {
        None => Cow::Borrowed(text),
        Some((end, _)) => {
            Cow::Owned(format!("{}… ({characters} of {} characters)", &text[..end], text.chars().count()))
        }
    }
}

fn changed(before: &Before, subject: &Subject<'_>) -> String {
    let mut change = String::new();
    if before.configured != subject.configured() {
        change.push_str(&difference(&before.configured, &subject.configured()));
    }
    change.push_str(&difference(&before.bound_to, &subject.bound_to()));
    text(&change)
}

/// With line breaks.
fn text(text: &str) -> String {
    visible(text).into_owned()
}

/// In one line.
fn line(text: &str) -> String {
    visible_line(text).into_owned()
}
