//! The events of requests: calls, lists, resources, prompts.

use std::time::Duration;

use super::failure::RecordedError;
use crate::json::{Json, Object, wire};
use crate::protocol::{CallToolResult, GetPromptResult, ProtocolVersion, ReadResourceResult};

wire::string_enum! {
    /// What was listed.
    pub enum ListKind {
        /// Tools.
        Tools = "tools",
        /// Resources.
        Resources = "resources",
        /// Prompts.
        Prompts = "prompts",
    }
}

wire::wire! {
    /// A call of a tool and its result, or why there is none.
    pub struct ToolCallRecord {
        /// The server's name with who called it, where that is known.
        pub server: Option<String> = "server",
        /// The revision that was spoken.
        pub revision: Option<ProtocolVersion> = "revision",
        /// The tool, by the name it was called by.
        pub tool: String = "tool",
        /// Its arguments.
        pub arguments: Json = "arguments",
        /// The whole result; absent if there is none.
        pub result: Option<CallToolResult> = "result",
        /// Whether there is no result, or one that says that the tool failed.
        pub is_error: bool = "is_error" or lenient,
        /// Why there is no result.
        pub error: Option<RecordedError> = "error",
        /// How long it took.
        pub duration_ns: u64 = "duration_ns" or lenient,
        /// What was decided about it.
        pub decision: Option<RecordedDecision> = "decision",
    }

    /// What a policy or a user decided about a request.
    pub struct RecordedDecision {
        /// Whether it was let through.
        pub allowed: bool = "allowed",
        /// Why, or why not.
        pub reason: Option<String> = "reason",
    }

    /// A list, as it was offered.
    pub struct ListEvent {
        /// The server, if it is of one.
        pub server: Option<String> = "server",
        /// The revision that was spoken, if it is of one server.
        pub revision: Option<ProtocolVersion> = "revision",
        /// Of what.
        pub what: ListKind = "what",
        /// The key of the tools in a line of definitions; of lists of tools that did not fail.
        pub definitions: Option<String> = "definitions",
        /// The resources or prompts.
        pub items: Option<Vec<ListedItem>> = "items",
        /// What was in the list and could not be used.
        pub rejected: Option<Vec<RejectedItem>> = "rejected",
        /// Why there is no list.
        pub error: Option<RecordedError> = "error",
        /// How long it took.
        pub duration_ns: u64 = "duration_ns" or lenient,
        /// What was decided about it.
        pub decision: Option<RecordedDecision> = "decision",
    }

    /// A resource or prompt in a list.
    pub struct ListedItem {
        /// Its server, where there are several.
        pub server: Option<String> = "server",
        /// As the server has it.
        pub item: Json = "item",
    }

    /// Something in a list that could not be used.
    pub struct RejectedItem {
        /// Its name, if it has one.
        pub name: Option<String> = "name",
        /// What is wrong with it.
        pub problem: String = "problem",
    }

    /// A resource that was read.
    pub struct ReadEvent {
        /// The server, where that is known.
        pub server: Option<String> = "server",
        /// The revision that was spoken.
        pub revision: Option<ProtocolVersion> = "revision",
        /// Its address.
        pub uri: String = "uri",
        /// The whole result; absent if there is none.
        pub result: Option<ReadResourceResult> = "result",
        /// Why there is no result.
        pub error: Option<RecordedError> = "error",
        /// How long it took.
        pub duration_ns: u64 = "duration_ns" or lenient,
        /// What was decided about it.
        pub decision: Option<RecordedDecision> = "decision",
    }

    /// A prompt that was filled in.
    pub struct PromptEvent {
        /// The server, where that is known.
        pub server: Option<String> = "server",
        /// The revision that was spoken.
        pub revision: Option<ProtocolVersion> = "revision",
        /// Its name.
        pub name: String = "name",
        /// Its arguments.
        pub arguments: Json = "arguments",
        /// The whole result; absent if there is none.
        pub result: Option<GetPromptResult> = "result",
        /// Why there is no result.
        pub error: Option<RecordedError> = "error",
        /// How long it took.
        pub duration_ns: u64 = "duration_ns" or lenient,
        /// What was decided about it.
        pub decision: Option<RecordedDecision> = "decision",
    }
}

impl ToolCallRecord {
    /// A call of `tool`, without a result so far.
    #[must_use]
    pub fn new(tool: impl Into<String>, arguments: impl Into<Json>) -> Self {
        Self {
            server: None,
            revision: None,
            tool: tool.into(),
            arguments: arguments.into(),
            result: None,
            is_error: false,
            error: None,
            duration_ns: 0,
            decision: None,
            extra: Object::new(),
        }
    }

    /// Sets the result, and with it whether the tool failed.
    #[must_use]
    pub fn with_result(mut self, result: CallToolResult) -> Self {
        self.is_error = result.is_error();
        self.result = Some(result);
        self
    }

    /// Sets why there is no result.
    #[must_use]
    pub fn with_error(mut self, error: RecordedError) -> Self {
        self.is_error = true;
        self.error = Some(error);
        self
    }

    /// Sets how long it took.
    #[must_use]
    pub fn with_duration(mut self, duration: Duration) -> Self {
        self.duration_ns = nanoseconds(duration);
        self
    }

    /// How long it took.
    #[must_use]
    pub fn duration(&self) -> Duration {
        Duration::from_nanos(self.duration_ns)
    }
}

impl RecordedDecision {
    /// Whether it was let through, and why.
    #[must_use]
    pub fn new(allowed: bool, reason: impl Into<Option<String>>) -> Self {
        Self { allowed, reason: reason.into(), extra: Object::new() }
    }
}

/// 584 years are enough.
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
