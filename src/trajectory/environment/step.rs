//! What goes into a step of an environment and what comes out: [`Action`], [`Observation`], [`Step`].

use std::sync::Arc;

use crate::client::{Address, Placed};
use crate::error::Result;
use crate::json::{Json, Members};
use crate::protocol::{CallToolResult, Content, ReadResourceResult};
use crate::tool::Arguments;
use crate::trajectory::event::TurnEvent;

/// A tool to call, and with what.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Action {
    /// The tool, by the name it has in the action space.
    pub tool: String,
    /// Its arguments: a JSON object.
    pub arguments: Json,
    /// What the agent thought and said before it, for the recording.
    pub turn: Option<TurnEvent>,
}

impl Action {
    /// Calls `tool` with `arguments`, anything that serializes to a JSON object; `()` stands for none.
    ///
    /// # Errors
    /// [`Error::InvalidUse`](crate::Error::InvalidUse) when they are no object.
    pub fn new(tool: impl Into<String>, arguments: impl serde::Serialize) -> Result<Self> {
        let invalid = |problem: String| crate::Error::InvalidUse(format!("arguments: {problem}"));
        let json = Json::new(&arguments).map_err(|e| invalid(e.to_string()))?;
        let json = if json.as_str() == "null" { Json::empty_object() } else { json };
        Arguments::from_raw(json.as_raw()).map_err(|e| invalid(e.to_string()))?;
        Ok(Self { tool: tool.into(), arguments: json, turn: None })
    }

    /// The first action of a turn of the agent, which thought this before; a [`TurnEvent`] can also have what it said. Actions
    /// without a turn are of the one before.
    #[must_use]
    pub fn in_turn(mut self, turn: impl Into<TurnEvent>) -> Self {
        self.turn = Some(turn.into());
        self
    }
}

/// A resource to observe after each step: its URI, and its server where there are several.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Watched {
    /// The server's name, with a caller that has several.
    pub server: Option<Arc<str>>,
    /// The resource.
    pub uri: String,
}

impl Watched {
    pub(super) fn address(&self) -> Address<'_> {
        match &self.server {
            Some(server) => Address::of(server, &self.uri),
            None => Address::from(self.uri.as_str()),
        }
    }
}

impl From<&str> for Watched {
    fn from(uri: &str) -> Self {
        Self { server: None, uri: uri.to_owned() }
    }
}

impl From<Address<'_>> for Watched {
    fn from(address: Address<'_>) -> Self {
        Self { server: address.server.map(Arc::from), uri: address.name.to_owned() }
    }
}

/// What an agent sees.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Observation {
    /// What the tool said.
    pub content: Vec<Content>,
    /// The same as one value, if the tool gave one.
    pub structured: Option<Json>,
    /// The tool failed, or could not be called as the action had it.
    pub is_error: bool,
    /// The resources that are watched, by their addresses, as they are now. One that cannot be read is missing.
    pub resources: Vec<Placed<ReadResourceResult>>,
}

impl Observation {
    pub(super) fn of(result: CallToolResult) -> Self {
        Self {
            is_error: result.is_error(),
            content: result.content,
            structured: result.structured_content,
            resources: Vec::new(),
        }
    }

    /// For an action that could not be carried out.
    pub(super) fn refusal(problem: &str) -> Self {
        Self { content: vec![Content::text(problem)], is_error: true, ..Self::default() }
    }

    /// What several servers said when they were reset.
    pub(super) fn joined(mut all: Vec<CallToolResult>) -> Self {
        match all.len() {
            1 => all.pop().map(Self::of).unwrap_or_default(),
            _ => Self { content: all.into_iter().flat_map(|one| one.content).collect(), ..Self::default() },
        }
    }

    /// As a tool would have said it; without the resources.
    pub(super) fn to_json(&self) -> Option<Json> {
        let mut result = CallToolResult::new(self.content.clone());
        result.structured_content.clone_from(&self.structured);
        result.is_error = self.is_error.then_some(true);
        Json::new(&result).ok()
    }

    /// All text of what the tool said, a block a line.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|content| match content {
            Content::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// A member of the structured value; or, if it has none of this name, of the first text that is a JSON object with it.
    pub(super) fn member(&self, name: &str) -> Option<Json> {
        let of = |json: &Json| {
            let value = Members::of(json.as_raw()).ok()?.take(name).map(|raw| Json::parse(raw.get()))?;
            value.ok()
        };
        if let Some(value) = self.structured.as_ref().and_then(of) {
            return Some(value);
        }
        self.content.iter().find_map(|content| match content {
            Content::Text(text) if text.text.trim_start().starts_with('{') => {
                of(&Json::parse(&text.text).ok()?)
            }
            _ => None,
        })
    }
}

/// What came of an action.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// What the agent sees now.
    pub observation: Observation,
    /// How good that was.
    pub reward: f64,
    /// The episode has come to its end.
    pub terminated: bool,
    /// The episode was broken off: too many steps, too long a step, or too long in all.
    pub truncated: bool,
    /// What is seen at the beginning of the next episode, if a [`VecEnvironment`](super::VecEnvironment) has begun it already.
    pub next: Option<Observation>,
    /// What is worth knowing beside.
    pub info: StepInfo,
}

impl Step {
    /// Whether it was the last of its episode: another step needs a reset first, unless there is a [`next`](Self::next).
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.terminated || self.truncated
    }
}

/// What is worth knowing of a step.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct StepInfo {
    /// How many steps the episode has had, this one included.
    pub steps: u64,
    /// How long the action took.
    pub duration: std::time::Duration,
    /// The sum of the rewards of the episode.
    pub total_reward: f64,
    /// Whether the agent did what it was to do, if anybody said so by now.
    pub success: Option<bool>,
    /// Why the episode was broken off, or what went wrong.
    pub problem: Option<String>,
}
