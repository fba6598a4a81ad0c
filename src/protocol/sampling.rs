//! Sampling: a server asks the client's language model.
//!
//! The feature is deprecated from 2026-07-28 on, and still in use.

mod turns;

use crate::json::{Json, Object, wire};

use super::{AudioContent, Content, ImageContent, Role, TextContent, ToolDefinition};

wire::wire! {
    /// Parameters of `sampling/createMessage`.
    ///
    /// ```
    /// use tinymcp::protocol::CreateMessageParams;
    ///
    /// let ask = CreateMessageParams::new(100).with_system_prompt("Be brief.").with_user("What is the capital of France?");
    /// assert_eq!(ask.messages[0].text_content(), "What is the capital of France?");
    /// ```
    pub struct CreateMessageParams {
        /// The conversation so far.
        pub messages: Vec<SamplingMessage> = "messages",
        /// Which model to take; the client decides.
        pub model_preferences: Option<ModelPreferences> = "modelPreferences",
        /// The system prompt.
        pub system_prompt: Option<String> = "systemPrompt",
        /// Which servers' context to add. Deprecated from 2025-11-25 on, except for `none`.
        pub include_context: Option<IncludeContext> = "includeContext",
        /// How varied the answer may be.
        pub temperature: Option<f64> = "temperature" or plain,
        /// How long the answer may be, in tokens.
        pub max_tokens: u64 = "maxTokens",
        /// Texts at which the model stops.
        pub stop_sequences: Option<Vec<String>> = "stopSequences",
        /// For the provider of the model, in its own terms.
        pub metadata: Option<Object> = "metadata",
        /// Tools the model may use; the server calls them. From 2025-11-25 on. One that cannot be read is an error, as
        /// without it another question would be asked.
        pub tools: Option<Vec<ToolDefinition>> = "tools" or default,
        /// Whether it may, must or must not use them. From 2025-11-25 on.
        pub tool_choice: Option<ToolChoice> = "toolChoice",
        /// Asks for a task instead of the result. Revision 2025-11-25 only.
        pub task: Option<Object> = "task",
        /// Metadata. Up to 2025-11-25.
        pub meta: Option<Object> = "_meta",
    }

    /// One message of a conversation with a model.
    pub struct SamplingMessage {
        /// Who says it.
        pub role: Role = "role",
        /// What is said. Before 2025-11-25 one block.
        pub content: Vec<SamplingContent> = "content" or single,
        /// Metadata. From 2025-11-25 on.
        pub meta: Option<Object> = "_meta",
    }

    /// Result of `sampling/createMessage`: what the model says.
    pub struct CreateMessageResult {
        /// Who says it: the assistant.
        pub role: Role = "role",
        /// What is said. Before 2025-11-25 one block.
        pub content: Vec<SamplingContent> = "content" or single,
        /// The name of the model.
        pub model: String = "model",
        /// Why it stopped, if that is known.
        pub stop_reason: Option<StopReason> = "stopReason",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// Which model a server would like. Priorities are between 0 and 1.
    #[derive(Default)]
    pub struct ModelPreferences {
        /// Models by name, the best first.
        pub hints: Option<Vec<ModelHint>> = "hints",
        /// How much low cost counts.
        pub cost_priority: Option<f64> = "costPriority" or plain,
        /// How much a quick answer counts.
        pub speed_priority: Option<f64> = "speedPriority" or plain,
        /// How much ability counts.
        pub intelligence_priority: Option<f64> = "intelligencePriority" or plain,
    }

    /// A model that would suit.
    #[derive(Default)]
    pub struct ModelHint {
        /// A part of its name, such as `sonnet`.
        pub name: Option<String> = "name",
    }

    /// Whether a model uses its tools.
    #[derive(Default)]
    pub struct ToolChoice {
        /// Absent means [`Auto`](ToolChoiceMode::Auto).
        pub mode: Option<ToolChoiceMode> = "mode",
    }

    /// The model wants a tool called. From 2025-11-25 on.
    pub struct ToolUseContent as "tool_use" {
        /// Tells this use from others.
        pub id: String = "id",
        /// The tool.
        pub name: String = "name",
        /// Its arguments.
        pub input: Object = "input" or default,
        /// Metadata, to be sent along with later requests.
        pub meta: Option<Object> = "_meta",
    }

    /// What came of using a tool. From 2025-11-25 on.
    pub struct ToolResultContent as "tool_result" {
        /// The [`id`](ToolUseContent::id) of the use.
        pub tool_use_id: String = "toolUseId",
        /// What the tool says.
        pub content: Vec<Content> = "content" or default,
        /// The same as one value, up to 2025-11-25 an object.
        pub structured_content: Option<Json> = "structuredContent" or null,
        /// The tool failed, and the content says why. Absent means false.
        pub is_error: Option<bool> = "isError",
        /// Metadata, to be sent along with later requests.
        pub meta: Option<Object> = "_meta",
    }
}

wire::string_enum! {
    /// Which servers' context a client adds to a conversation.
    pub enum IncludeContext {
        /// None.
        None = "none",
        /// That of the server that asks.
        ThisServer = "thisServer",
        /// That of all its servers.
        AllServers = "allServers",
    }

    /// Whether a model uses its tools.
    pub enum ToolChoiceMode {
        /// It decides.
        Auto = "auto",
        /// It must use one at least.
        Required = "required",
        /// It must use none.
        None = "none",
    }

    /// Why a model stopped. Providers have reasons of their own.
    pub enum StopReason {
        /// It had said everything.
        EndTurn = "endTurn",
        /// It came to one of the stop sequences.
        StopSequence = "stopSequence",
        /// The answer became too long.
        MaxTokens = "maxTokens",
        /// It wants tools used. From 2025-11-25 on.
        ToolUse = "toolUse",
    }
}

/// One block of a message, told by its member `type`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SamplingContent {
    /// Text.
    Text(TextContent),
    /// A picture.
    Image(ImageContent),
    /// A sound. From 2025-03-26 on.
    Audio(AudioContent),
    /// The model wants a tool called. From 2025-11-25 on.
    ToolUse(ToolUseContent),
    /// What came of it. From 2025-11-25 on.
    ToolResult(ToolResultContent),
    /// A kind this version of the crate does not know, or a known one that lacks what it needs, as it came.
    Unknown(Object),
}

impl SamplingContent {
    /// A block of text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// The text, if it is a block of text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(content) => Some(&content.text),
            _ => None,
        }
    }
}

super::content::blocks!(SamplingContent {
    Text(TextContent) = "text",
    Image(ImageContent) = "image",
    Audio(AudioContent) = "audio",
    ToolUse(ToolUseContent) = "tool_use",
    ToolResult(ToolResultContent) = "tool_result",
});

/// The text of all blocks, parted by line breaks.
fn joined(blocks: &[SamplingContent]) -> String {
    blocks.iter().filter_map(SamplingContent::as_text).collect::<Vec<_>>().join("\n")
}

impl CreateMessageParams {
    /// A question whose answer may be `max_tokens` long, without messages yet.
    #[must_use]
    pub fn new(max_tokens: u64) -> Self {
        Self {
            messages: Vec::new(),
            model_preferences: None,
            system_prompt: None,
            include_context: None,
            temperature: None,
            max_tokens,
            stop_sequences: None,
            metadata: None,
            tools: None,
            tool_choice: None,
            task: None,
            meta: None,
            extra: Object::new(),
        }
    }

    /// Adds a message.
    #[must_use]
    pub fn with_message(mut self, message: SamplingMessage) -> Self {
        self.messages.push(message);
        self
    }

    /// Adds what the user says: text, or any other block.
    #[must_use]
    pub fn with_user(self, content: impl Into<SamplingContent>) -> Self {
        self.with_message(SamplingMessage::user(content))
    }

    /// Adds what the model said before: text, or any other block.
    #[must_use]
    pub fn with_assistant(self, content: impl Into<SamplingContent>) -> Self {
        self.with_message(SamplingMessage::assistant(content))
    }

    /// Whether the model is to be given tools, which needs the capability `sampling.tools`.
    #[must_use]
    pub fn needs_tools(&self) -> bool {
        // spec: 2026-07-28 schema#createmessagerequestparams
        self.tools.is_some() || self.tool_choice.is_some()
    }
}

wire::builders!(CreateMessageParams {
    /// Says which model to take.
    with_model_preferences => model_preferences: ModelPreferences,
    /// Sets the system prompt.
    with_system_prompt => system_prompt: String,
    /// Says which servers' context to add.
    with_include_context => include_context: IncludeContext,
    /// Says how varied the answer may be.
    with_temperature => temperature: f64,
    /// Sets the texts at which the model stops.
    with_stop_sequences => stop_sequences: Vec<String>,
    /// Adds what the provider of the model wants to know.
    with_metadata => metadata: Object,
    /// Gives the model tools.
    with_tools => tools: Vec<ToolDefinition>,
    /// Says whether the model uses its tools.
    with_tool_choice => tool_choice: ToolChoice,
    /// Asks for a task instead of the result.
    with_task => task: Object,
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl SamplingMessage {
    /// A message of any number of blocks.
    #[must_use]
    pub fn new(role: Role, content: Vec<SamplingContent>) -> Self {
        Self { role, content, meta: None, extra: Object::new() }
    }

    /// What the user says: text, or any other block.
    #[must_use]
    pub fn user(content: impl Into<SamplingContent>) -> Self {
        Self::new(Role::User, vec![content.into()])
    }

    /// What the model says: text, or any other block.
    #[must_use]
    pub fn assistant(content: impl Into<SamplingContent>) -> Self {
        Self::new(Role::Assistant, vec![content.into()])
    }

    /// All its text, blocks parted by line breaks.
    #[must_use]
    pub fn text_content(&self) -> String {
        joined(&self.content)
    }
}

wire::builders!(SamplingMessage {
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl CreateMessageResult {
    /// What the model `model` says.
    #[must_use]
    pub fn new(model: impl Into<String>, content: Vec<SamplingContent>) -> Self {
        Self {
            role: Role::Assistant,
            content,
            model: model.into(),
            stop_reason: None,
            meta: None,
            extra: Object::new(),
        }
    }

    /// One text that the model `model` says.
    #[must_use]
    pub fn text(model: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(model, vec![SamplingContent::text(text)])
    }

    /// All its text, blocks parted by line breaks.
    #[must_use]
    pub fn text_content(&self) -> String {
        joined(&self.content)
    }

    /// The tools that the model wants used.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUseContent> {
        self.content.iter().filter_map(|block| match block {
            SamplingContent::ToolUse(content) => Some(content),
            _ => None,
        })
    }

    /// The same as a message, to go on with the conversation.
    #[must_use]
    pub fn into_message(self) -> SamplingMessage {
        SamplingMessage { meta: self.meta, ..SamplingMessage::new(self.role, self.content) }
    }
}

wire::builders!(CreateMessageResult {
    /// Says why the model stopped.
    with_stop_reason => stop_reason: StopReason,
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl ModelPreferences {
    /// Adds a model by a part of its name; those added first are preferred.
    #[must_use]
    pub fn with_hint(mut self, name: impl Into<String>) -> Self {
        self.hints.get_or_insert_default().push(ModelHint { name: Some(name.into()), extra: Object::new() });
        self
    }
}

wire::builders!(ModelPreferences {
    /// Says how much low cost counts, from 0 to 1.
    with_cost_priority => cost_priority: f64,
    /// Says how much a quick answer counts, from 0 to 1.
    with_speed_priority => speed_priority: f64,
    /// Says how much ability counts, from 0 to 1.
    with_intelligence_priority => intelligence_priority: f64,
});

impl From<ToolChoiceMode> for ToolChoice {
    fn from(mode: ToolChoiceMode) -> Self {
        Self { mode: Some(mode), extra: Object::new() }
    }
}

impl ToolUseContent {
    /// The use `id` of the tool `name`.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: Object) -> Self {
        Self { id: id.into(), name: name.into(), input, meta: None, extra: Object::new() }
    }
}

wire::builders!(ToolUseContent {
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl ToolResultContent {
    /// What came of the use `tool_use_id`.
    #[must_use]
    pub fn new(tool_use_id: impl Into<String>, content: Vec<Content>) -> Self {
        Self {
            tool_use_id: tool_use_id.into(),
            content,
            structured_content: None,
            is_error: None,
            meta: None,
            extra: Object::new(),
        }
    }
}

wire::builders!(ToolResultContent {
    /// Sets the structured content.
    with_structured_content => structured_content: Json,
    /// Says whether the tool failed.
    with_is_error => is_error: bool,
    /// Sets the metadata.
    with_meta => meta: Object,
});

#[cfg(test)]
mod tests;
