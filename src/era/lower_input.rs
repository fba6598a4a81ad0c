//! Taking out what a receiver's revision lacks of what a server asks of a client, and of the answers.

use crate::json::{Json, Object};
use crate::protocol::{
    Content, CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitParams, ElicitResult,
    ElicitUrlParams, InputRequest, InputRequiredResult, ListRootsResult, PrimitiveSchema, ProtocolVersion,
    RequestedSchema, Root, SamplingContent, SamplingMessage, SingleSelectEnumSchema, ToolResultContent,
    ToolUseContent,
};

use super::lower::{Lower, audio_as_text, left_out, structured_objects, table};

table! {
    CreateMessageParams {
        messages: by single_blocks,
        messages: within,
        tools: since V2025_11_25,
        tools: within,
        tool_choice: since V2025_11_25,
        task: only V2025_11_25,
        meta: until V2025_11_25,
    }
    SamplingMessage { content: within, meta: since V2025_11_25 }
    CreateMessageResult { content: within, content: by single_block }
    ToolResultContent { content: within, content: by structured_result }

    ElicitFormParams {
        mode: since V2025_11_25,
        requested_schema: within,
        task: only V2025_11_25,
        meta: until V2025_11_25,
    }
    ElicitUrlParams {
        elicitation_id: only V2025_11_25,
        task: only V2025_11_25,
        meta: until V2025_11_25,
    }
    ElicitResult { content: by accepted_values, meta: until V2025_11_25 }
    SingleSelectEnumSchema { one_of: by named_values, default: since V2025_11_25 }

    Root { meta: since V2025_06_18 }
    ListRootsResult { roots: within, meta: until V2025_11_25 }
}

/// Before 2025-11-25 a message is one block, and knows nothing of tools.
fn is_single(version: &ProtocolVersion) -> bool {
    *version < ProtocolVersion::V2025_11_25
}

/// A message of several blocks becomes as many messages, and one without blocks none.
fn single_blocks(params: &mut CreateMessageParams, version: &ProtocolVersion) {
    if !is_single(version) || params.messages.iter().all(|message| message.content.len() == 1) {
        return;
    }
    let split = |message: SamplingMessage| {
        let SamplingMessage { role, content, extra, .. } = message;
        let each = move |block| {
            let mut message = SamplingMessage::new(role.clone(), vec![block]);
            message.extra = extra.clone();
            message
        };
        content.into_iter().map(each)
    };
    params.messages = std::mem::take(&mut params.messages).into_iter().flat_map(split).collect();
}

/// An answer cannot be split: blocks become one text, unless it is one block already.
fn single_block(result: &mut CreateMessageResult, version: &ProtocolVersion) {
    if !is_single(version) || result.content.len() == 1 {
        return;
    }
    let texts: Vec<_> = result.content.iter().map(block_as_text).collect();
    result.content = vec![SamplingContent::text(texts.join("\n"))];
}

fn block_as_text(block: &SamplingContent) -> String {
    match block {
        SamplingContent::Text(content) => content.text.clone(),
        SamplingContent::Image(image) => left_out("image", &image.mime_type, &image.data),
        SamplingContent::Audio(audio) => left_out("audio", &audio.mime_type, &audio.data),
        SamplingContent::ToolUse(content) => tool_use_as_text(content),
        SamplingContent::ToolResult(content) => tool_result_as_text(content),
        SamplingContent::Unknown(block) => unknown_as_text(block),
    }
}

fn tool_use_as_text(content: &ToolUseContent) -> String {
    format!("[tool use: {} {}]", content.name, Json::from(content.input.clone()))
}

fn tool_result_as_text(result: &ToolResultContent) -> String {
    let mut lines =
        vec![if result.is_error == Some(true) { "[tool error]" } else { "[tool result]" }.to_owned()];
    for block in &result.content {
        // The oldest revision has the fewest kinds, so most of them become text by themselves.
        let block = super::lowered(block.clone(), &ProtocolVersion::V2024_11_05);
        lines.push(match &block {
            Content::Text(text) => text.text.clone(),
            Content::Image(image) => left_out("image", &image.mime_type, &image.data),
            other => format!("[{} left out]", other.kind()),
        });
    }
    lines.join("\n")
}

fn unknown_as_text(block: &Object) -> String {
    format!("[{} left out]", block.get::<String>("type").unwrap_or_else(|| "unknown content".to_owned()))
}

impl Lower for SamplingContent {
    fn lower(&mut self, version: &ProtocolVersion) {
        match self {
            Self::Audio(audio) if *version < ProtocolVersion::V2025_03_26 => {
                *self = Self::Text(audio_as_text(audio));
            }
            Self::ToolUse(content) if is_single(version) => *self = Self::text(tool_use_as_text(content)),
            Self::ToolResult(content) if is_single(version) => {
                *self = Self::text(tool_result_as_text(content));
            }
            _ => {}
        }
        match self {
            Self::Text(content) => content.lower(version),
            Self::Image(content) => content.lower(version),
            Self::Audio(content) => content.lower(version),
            Self::ToolResult(content) => content.lower(version),
            Self::ToolUse(_) | Self::Unknown(_) => {}
        }
    }
}

fn structured_result(result: &mut ToolResultContent, version: &ProtocolVersion) {
    structured_objects(&mut result.content, &mut result.structured_content, version);
}

/// What the user entered is said only if the user accepts.
fn accepted_values(result: &mut ElicitResult, _: &ProtocolVersion) {
    // spec: 2025-06-18 client/elicitation#response-actions
    if !result.is_accepted() {
        result.content = None;
    }
}

/// Before 2025-11-25 the names of values stand in a list of their own.
fn named_values(field: &mut SingleSelectEnumSchema, version: &ProtocolVersion) {
    // spec: 2025-06-18 schema#enumschema
    if *version < ProtocolVersion::V2025_11_25 && field.one_of.is_some() {
        let (values, names) =
            field.options().map(|(value, name)| (value.to_owned(), name.to_owned())).unzip();
        (field.enum_values, field.enum_names, field.one_of) = (Some(values), Some(names), None);
    }
}

impl Lower for RequestedSchema {
    fn lower(&mut self, version: &ProtocolVersion) {
        if *version < ProtocolVersion::V2025_11_25 {
            self.dialect = None;
        }
        for (_, field) in &mut self.properties {
            field.lower(version);
        }
    }
}

impl Lower for PrimitiveSchema {
    fn lower(&mut self, version: &ProtocolVersion) {
        // spec: 2025-06-18 schema#primitiveschemadefinition (only a boolean has a default)
        let no_default = *version < ProtocolVersion::V2025_11_25;
        match self {
            Self::String(field) if no_default => field.default = None,
            Self::Number(field) if no_default => field.default = None,
            Self::SingleSelect(field) => field.lower(version),
            _ => {}
        }
    }
}

impl Lower for ElicitParams {
    fn lower(&mut self, version: &ProtocolVersion) {
        match self {
            Self::Form(params) => params.lower(version),
            Self::Url(params) => params.lower(version),
            Self::Unknown(_) => {}
        }
    }
}

impl Lower for InputRequest {
    fn lower(&mut self, version: &ProtocolVersion) {
        match self {
            Self::Elicit(params) => params.lower(version),
            Self::CreateMessage(params) => params.lower(version),
            Self::ListRoots(_) | Self::Unknown { .. } => {}
        }
    }
}

impl Lower for InputRequiredResult {
    fn lower(&mut self, version: &ProtocolVersion) {
        for request in self.input_requests.iter_mut() {
            request.lower(version);
        }
    }
}

/// What of a question `version` has no words for, if anything; else the question can be lowered to it.
pub(crate) fn inexpressible(params: &ElicitParams, version: &ProtocolVersion) -> Option<String> {
    if *version < ProtocolVersion::V2025_06_18 {
        return Some(format!("revision {version} has no elicitation"));
    }
    if *version >= ProtocolVersion::V2025_11_25 || matches!(version, ProtocolVersion::Unknown(_)) {
        return None;
    }
    match params {
        ElicitParams::Form(params) => {
            let mut fields = params.requested_schema.properties.iter();
            let (name, _) = fields.find(|(_, field)| matches!(field, PrimitiveSchema::MultiSelect(_)))?;
            Some(format!("field {name}: revision {version} has no choice of several values"))
        }
        ElicitParams::Url(_) => Some(format!("revision {version} has no elicitation by url")),
        ElicitParams::Unknown(_) => Some(format!("revision {version} has no elicitation but by form")),
    }
}
