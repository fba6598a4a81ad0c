//! [`SftOptions`]: in which form, and how much.

use std::fmt;
use std::sync::Arc;

/// In which form messages are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MessageForm {
    /// `messages` as OpenAI has them, and the chat templates of open models: roles `system`, `user`, `assistant` with
    /// `tool_calls`, and `tool`.
    #[default]
    OpenAi,
    /// `system` and `messages` as Anthropic has them: blocks of `text`, `tool_use` and `tool_result`. Contents are always lists of
    /// blocks, and arguments always objects.
    Anthropic,
    /// `conversations` of `from` and `value`, all of it text: calls stand in `<tool_call>`, results in `<tool_response>`, tools in
    /// the system message, as models of the Hermes kind have them and ShareGPT files are read.
    Hermes,
}

/// What the arguments of calls are in [`MessageForm::OpenAi`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArgumentsForm {
    /// A string that is their JSON text, as in OpenAI's API. Most chat templates of open models would encode it once more.
    #[default]
    Text,
    /// The object itself: what most chat templates want.
    Object,
}

/// What is written of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResultForm {
    /// The JSON text of an object whose `content` is the list of its texts.
    #[default]
    Texts,
    /// Its texts alone, parted by line breaks; what is no text is named in square brackets.
    Plain,
    /// The JSON text of the whole result: every kind of content, and structured content.
    Whole,
}

/// What the tools are that stand beside the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolsForm {
    /// A list, as the APIs have it. A reader that puts many examples into columns of one type may give each schema the members
    /// of all others.
    List,
    /// A string that is the JSON text of that list: what trainers read from columns.
    Text,
}

/// Where the model's thoughts are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReasoningForm {
    /// In a member `reasoning_content` of its message (Anthropic: a block `thinking`; Hermes: as [`Think`](Self::Think)).
    Field,
    /// In `<think>` before what it says.
    Think,
}

/// What is kept of a trajectory that is too long. The system message and the task always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Keep {
    /// The beginning, as far as it fits; then there is no final answer.
    Start,
    /// The end, with the final answer.
    End,
}

pub(super) type Count = Arc<dyn Fn(&str) -> usize + Send + Sync>;

#[derive(Clone)]
pub(super) struct Limit {
    pub(super) tokens: usize,
    pub(super) keep: Keep,
    pub(super) count: Count,
}

/// How training examples are made of trajectories.
///
/// The default is the shape of [`trajectory_to_sft_example`](super::trajectory_to_sft_example). Three more come ready:
/// [`templates`](Self::templates), [`anthropic`](Self::anthropic) and [`hermes`](Self::hermes).
///
/// ```
/// use serde_json::json;
/// use tinymcp::protocol::CallToolResult;
/// use tinymcp::trajectory::{Keep, SftOptions, ToolCallRecord, ToolsForm, Trajectory};
///
/// let mut trajectory = Trajectory::new("What is 1 + 2?");
/// trajectory.push(ToolCallRecord::new("add", json!({"a": 1, "b": 2})).with_result(CallToolResult::text("3")));
/// trajectory.set_final_answer("3");
///
/// let options = SftOptions::hermes()
///     .without_system()
///     .with_tools(ToolsForm::Text)
///     .with_limit(4096, Keep::End, |text| text.len() / 4); // of course a tokenizer counts better
/// let example = options.example(&trajectory).expect("it fits");
/// assert_eq!(
///     example.messages()[1].as_str(),
///     r#"{"from":"gpt","value":"<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1, \"b\": 2}}\n</tool_call>"}"#,
/// );
/// ```
#[derive(Clone)]
pub struct SftOptions {
    pub(super) form: MessageForm,
    pub(super) arguments: ArgumentsForm,
    pub(super) results: ResultForm,
    pub(super) tools: Option<ToolsForm>,
    pub(super) reasoning: Option<ReasoningForm>,
    pub(super) system: Option<String>,
    pub(super) is_parallel: bool,
    pub(super) has_media: bool,
    pub(super) has_empty_content: bool,
    pub(super) has_empty_answer: bool,
    pub(super) is_unicode: bool,
    pub(super) limit: Option<Limit>,
}

const SYSTEM: &str =
    "You are a helpful assistant with access to tools. Use tools to complete tasks step by step.";

impl Default for SftOptions {
    fn default() -> Self {
        Self {
            form: MessageForm::OpenAi,
            arguments: ArgumentsForm::Text,
            results: ResultForm::Texts,
            tools: None,
            reasoning: None,
            system: Some(SYSTEM.to_owned()),
            is_parallel: false,
            has_media: false,
            has_empty_content: false,
            has_empty_answer: true,
            is_unicode: false,
            limit: None,
        }
    }
}

impl SftOptions {
    /// The default.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// For trainers that render messages by the chat template of an open model: arguments are objects, nothing is `null`, results
    /// are plain text.
    #[must_use]
    pub fn templates() -> Self {
        Self {
            arguments: ArgumentsForm::Object,
            results: ResultForm::Plain,
            has_empty_content: true,
            is_unicode: true,
            ..Self::default()
        }
    }

    /// Messages as Anthropic has them; results are plain text.
    #[must_use]
    pub fn anthropic() -> Self {
        Self { form: MessageForm::Anthropic, results: ResultForm::Plain, is_unicode: true, ..Self::default() }
    }

    /// Conversations as text; results are plain text.
    #[must_use]
    pub fn hermes() -> Self {
        Self { form: MessageForm::Hermes, results: ResultForm::Plain, is_unicode: true, ..Self::default() }
    }

    /// Sets the form of messages.
    #[must_use]
    pub fn with_form(self, form: MessageForm) -> Self {
        Self { form, ..self }
    }

    /// Sets what arguments are.
    #[must_use]
    pub fn with_arguments(self, arguments: ArgumentsForm) -> Self {
        Self { arguments, ..self }
    }

    /// Sets what is written of results.
    #[must_use]
    pub fn with_results(self, results: ResultForm) -> Self {
        Self { results, ..self }
    }

    /// Writes the tools that were offered last beside the messages, if it is known which they were. In
    /// [`MessageForm::Hermes`] they stand in the system message as well.
    #[must_use]
    pub fn with_tools(self, tools: ToolsForm) -> Self {
        Self { tools: Some(tools), ..self }
    }

    /// Writes what the model thought, as far as [turns](crate::trajectory::TurnEvent) tell.
    #[must_use]
    pub fn with_reasoning(self, reasoning: ReasoningForm) -> Self {
        Self { reasoning: Some(reasoning), ..self }
    }

    /// Begins with this system message. One that was recorded goes before it.
    #[must_use]
    pub fn with_system(self, text: impl Into<String>) -> Self {
        Self { system: Some(text.into()), ..self }
    }

    /// Begins with the task, unless a system message was recorded.
    #[must_use]
    pub fn without_system(self) -> Self {
        Self { system: None, ..self }
    }

    /// Makes one message of the calls of a turn, in the order in which they began. Calls before the first turn, and trajectories
    /// without turns, have a message each.
    #[must_use]
    pub fn with_parallel_calls(self) -> Self {
        Self { is_parallel: true, ..self }
    }

    /// Writes pictures (and in [`MessageForm::OpenAi`] sounds) of results as parts of their messages. Contents are lists of parts
    /// throughout then, as columns have one type. In [`MessageForm::Hermes`] `<image>` stands where one was, and a member
    /// `images` has them as `data:` addresses.
    #[must_use]
    pub fn with_media(self) -> Self {
        Self { has_media: true, ..self }
    }

    /// Writes `""` instead of `null` where a message has calls and no text: many templates write the word otherwise, or fail.
    #[must_use]
    pub fn with_empty_content(self) -> Self {
        Self { has_empty_content: true, ..self }
    }

    /// Leaves the final message out if there is no answer.
    #[must_use]
    pub fn without_empty_answer(self) -> Self {
        Self { has_empty_answer: false, ..self }
    }

    /// Writes letters beyond ASCII as they are in JSON that stands in a string, instead of escapes.
    #[must_use]
    pub fn with_unicode(self) -> Self {
        Self { is_unicode: true, ..self }
    }

    /// Leaves something out of trajectories that have more than so many tokens, as `count` counts them: it is shown the JSON text of
    /// each message by itself, and of the tools, and what it says is added up. A call is never parted from its result; messages of
    /// one turn stay or go together if [parallel calls](Self::with_parallel_calls) are one message.
    #[must_use]
    pub fn with_limit(
        self,
        tokens: usize,
        keep: Keep,
        count: impl Fn(&str) -> usize + Send + Sync + 'static,
    ) -> Self {
        Self { limit: Some(Limit { tokens, keep, count: Arc::new(count) }), ..self }
    }
}

impl fmt::Debug for SftOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SftOptions")
            .field("form", &self.form)
            .field("arguments", &self.arguments)
            .field("results", &self.results)
            .field("tools", &self.tools)
            .field("limit", &self.limit.as_ref().map(|limit| limit.tokens))
            .finish_non_exhaustive()
    }
}
