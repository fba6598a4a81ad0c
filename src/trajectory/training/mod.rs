//! Training examples: trajectories as conversations in the forms that trainers read.

mod conversation;
mod dumps;
mod forms;
mod options;
mod results;

use std::io::{self, Write};

use serde::{Serialize, Serializer};

use self::conversation::{Conversation, Turn};
use self::results::{list, object};
use super::model::Trajectory;
use crate::json::{InOrder, Json};
use crate::protocol::ToolDefinition;

pub use self::options::{ArgumentsForm, Keep, MessageForm, ReasoningForm, ResultForm, SftOptions, ToolsForm};

/// A training example: one line of a file for supervised fine-tuning.
#[derive(Clone, Debug, PartialEq)]
pub struct SftExample {
    members: Vec<(String, Json)>,
}

/// What [`SftOptions::write`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SftWritten {
    /// How many examples were written.
    pub examples: u64,
    /// How many trajectories made none, as too little of them fits.
    pub too_long: u64,
}

/// The trajectory as a training example in chat form: `messages` that are a system message, the task, for each call a message of the
/// assistant with `content: null` and `tool_calls` (`id` `call_0000` and so on, `arguments` as a JSON string) and one of the tool with
/// the JSON text of its texts, then the final answer; and `metadata` with `success`, `reward` and `num_tool_calls`.
///
/// [`SftOptions`] makes others.
///
/// ```
/// use serde_json::json;
/// use tinymcp::protocol::CallToolResult;
/// use tinymcp::trajectory::{ToolCallRecord, Trajectory, trajectory_to_sft_example};
///
/// let mut trajectory = Trajectory::new("What is 1 + 2?");
/// trajectory.push(ToolCallRecord::new("add", json!({"a": 1, "b": 2})).with_result(CallToolResult::text("3")));
/// trajectory.set_final_answer("It is 3.");
/// trajectory.set_success(true);
///
/// let messages = trajectory_to_sft_example(&trajectory).messages();
/// assert_eq!(messages[2].to_value(), json!({"role": "assistant", "content": null, "tool_calls": [
///     {"id": "call_0000", "type": "function", "function": {"name": "add", "arguments": "{\"a\": 1, \"b\": 2}"}},
/// ]}));
/// assert_eq!(messages[3].to_value(), json!({
///     "role": "tool", "content": "{\"content\": [\"3\"]}", "tool_call_id": "call_0000",
/// }));
/// assert_eq!(messages[4].to_value(), json!({"role": "assistant", "content": "It is 3."}));
/// ```
#[must_use]
pub fn trajectory_to_sft_example(trajectory: &Trajectory) -> SftExample {
    // Only a limit leaves nothing.
    SftOptions::default().example(trajectory).unwrap_or(SftExample { members: Vec::new() })
}

impl SftExample {
    /// A member: `messages`, `conversations`, `system`, `tools`, `images` or `metadata`, as the form has them.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.members.iter().find(|(member, _)| member == name).map(|(_, value)| value)
    }

    /// Its messages, each in its form.
    #[must_use]
    pub fn messages(&self) -> Vec<Json> {
        let messages = self.get("messages").or_else(|| self.get("conversations"));
        messages.and_then(|messages| messages.to().ok()).unwrap_or_default()
    }

    /// All of it, in one line.
    #[must_use]
    pub fn to_json(&self) -> Json {
        Json::new(self).unwrap_or_else(|_| Json::empty_object())
    }
}

impl Serialize for SftExample {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        InOrder(&self.members).serialize(serializer)
    }
}

impl SftOptions {
    /// The example that a trajectory makes; `None` if there is a [limit](Self::with_limit) and nothing that the model said fits.
    #[must_use]
    pub fn example(&self, trajectory: &Trajectory) -> Option<SftExample> {
        let mut conversation = Conversation::of(trajectory, self);
        let tools = trajectory.tools().filter(|_| self.tools.is_some());
        let opening = forms::opening(&conversation, tools, self);
        let beside = tools.map(|tools| self.beside(tools));
        let all_calls = conversation.calls();
        let turns = self.fitting(&mut conversation, &opening, beside.as_ref())?;
        let omitted = all_calls - conversation.calls();
        let images: Vec<_> = conversation.turns.iter().flat_map(|turn| forms::images(turn, self)).collect();
        let messages = joined(opening.into_iter().chain(turns.into_iter().flatten()).collect(), self);

        let mut members = Vec::new();
        let name = if self.form == MessageForm::Hermes { "conversations" } else { "messages" };
        if let (MessageForm::Anthropic, Some(system)) = (self.form, &conversation.system) {
            members.push(("system".to_owned(), system.as_str().into()));
        }
        members.push((name.to_owned(), list(&messages)));
        members.extend(beside.map(|tools| ("tools".to_owned(), tools)));
        if self.has_media && self.form == MessageForm::Hermes {
            members.push(("images".to_owned(), list(&images)));
        }
        members.push(("metadata".to_owned(), metadata(trajectory, conversation.calls(), omitted)));
        Some(SftExample { members })
    }

    /// Writes an example a line for each trajectory.
    ///
    /// ```no_run
    /// use std::io::BufWriter;
    /// use std::fs::File;
    /// use tinymcp::trajectory::{Selection, SftOptions, Trajectories};
    ///
    /// let good = Trajectories::open("episodes.jsonl")?.select(Selection::new().success(true).complete());
    /// let written = SftOptions::templates().write(good, BufWriter::new(File::create("train.jsonl")?))?;
    /// println!("{} examples", written.examples);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first of reading or of writing.
    pub fn write(
        &self,
        trajectories: impl IntoIterator<Item = io::Result<Trajectory>>,
        mut out: impl Write,
    ) -> io::Result<SftWritten> {
        let mut written = SftWritten::default();
        for trajectory in trajectories {
            match self.example(&trajectory?) {
                Some(example) => {
                    let mut line = serde_json::to_vec(&example)?;
                    line.push(b'\n');
                    out.write_all(&line)?;
                    written.examples += 1;
                }
                None => written.too_long += 1,
            }
        }
        out.flush()?;
        Ok(written)
    }

    fn beside(&self, tools: &[ToolDefinition]) -> Json {
        let tools: Vec<_> = tools.iter().map(|tool| forms::tool(tool, self.form)).collect();
        match self.tools {
            Some(ToolsForm::Text) => Json::from(list(&tools).as_str()),
            _ => list(&tools),
        }
    }

    /// The messages of the turns, without those that do not fit, which are taken out of the conversation as well.
    fn fitting(
        &self,
        conversation: &mut Conversation<'_>,
        opening: &[Json],
        tools: Option<&Json>,
    ) -> Option<Vec<Vec<Json>>> {
        let mut turns: Vec<_> = conversation.turns.iter().map(|turn| forms::messages(turn, self)).collect();
        let Some(limit) = &self.limit else { return Some(turns) };
        let count = |messages: &[Json]| messages.iter().map(|one| (limit.count)(one.as_str())).sum::<usize>();
        let beside = tools.into_iter().chain(opening).map(|one| (limit.count)(one.as_str())).sum();
        let mut left = limit.tokens.checked_sub(beside)?;
        let mut fits = |messages: &Vec<Json>| match left.checked_sub(count(messages)) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        let kept = match limit.keep {
            Keep::Start => 0..turns.iter().take_while(|turn| fits(turn)).count(),
            Keep::End => {
                let fitting = turns.iter().rev().take_while(|turn| fits(turn)).count();
                turns.len() - fitting..turns.len()
            }
        };
        let is_kept = |at: usize| kept.contains(&at);
        let mut at = 0..;
        turns.retain(|_| at.next().is_some_and(is_kept));
        let mut at = 0..;
        conversation.turns.retain(|_| at.next().is_some_and(is_kept));
        conversation.turns.iter().any(|turn| matches!(turn, Turn::Assistant(_))).then_some(turns)
    }
}

/// Roles take turns in Anthropic's form: what follows of the same one joins it.
fn joined(messages: Vec<Json>, options: &SftOptions) -> Vec<Json> {
    if options.form != MessageForm::Anthropic {
        return messages;
    }
    let mut joined: Vec<(String, Vec<Json>)> = Vec::new();
    for message in messages {
        let Ok(mut members) = crate::json::Members::of(message.as_raw()) else { continue };
        let role = members.lenient::<String>("role").unwrap_or_default();
        let blocks = members.lenient::<Vec<Json>>("content").unwrap_or_default();
        match joined.last_mut().filter(|(last, _)| *last == role) {
            Some((_, content)) => content.extend(blocks),
            None => joined.push((role, blocks)),
        }
    }
    joined
        .into_iter()
        .map(|(role, blocks)| object(&[("role", role.into()), ("content", list(&blocks))]))
        .collect()
}

fn metadata(trajectory: &Trajectory, calls: usize, omitted: usize) -> Json {
    #[derive(Serialize)]
    struct Metadata {
        success: bool,
        reward: f64,
        num_tool_calls: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        omitted_tool_calls: Option<usize>,
    }
    let metadata = Metadata {
        success: trajectory.success().unwrap_or_default(),
        reward: trajectory.total_reward().unwrap_or_default(),
        num_tool_calls: calls,
        omitted_tool_calls: Some(omitted).filter(|omitted| *omitted > 0),
    };
    Json::new(&metadata).unwrap_or_else(|_| Json::empty_object())
}
