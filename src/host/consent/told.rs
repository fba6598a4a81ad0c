//! What servers say, in words for people.

use std::fmt::Write;

use crate::protocol::{CreateMessageParams, ElicitFormParams, SamplingContent, ToolAnnotations};

/// What a server says of what its tool does, and what it does not say where that matters.
///
/// spec: 2026-07-28 schema#toolannotations
pub(super) fn hints(hints: Option<&ToolAnnotations>) -> Vec<String> {
    let hints = hints.cloned().unwrap_or_default();
    let mut words = Vec::new();
    words.push(match hints.read_only_hint {
        Some(true) => "it says that it only reads",
        Some(false) => "it says that it changes something",
        None => "it does not say that it only reads",
    });
    // Of what only reads these mean nothing.
    if hints.read_only_hint != Some(true) {
        words.push(match hints.destructive_hint {
            Some(true) => "it says that it may destroy something",
            Some(false) => "it says that it destroys nothing",
            None => "it does not say that it destroys nothing",
        });
        words.extend(match hints.idempotent_hint {
            Some(true) => Some("it says that doing it twice is doing it once"),
            Some(false) => Some("it says that doing it twice does more"),
            None => None,
        });
    }
    words.extend(match hints.open_world_hint {
        Some(true) => Some("it says that it reaches the world outside"),
        Some(false) => Some("it says that it does not reach the world outside"),
        None => None,
    });
    words.into_iter().map(str::to_owned).collect()
}

/// What a server wants to know from the model.
pub(super) fn conversation(params: &CreateMessageParams) -> String {
    let mut text = String::new();
    if let Some(system) = &params.system_prompt {
        let _ = writeln!(text, "system: {system}");
    }
    for message in &params.messages {
        let _ = writeln!(text, "{}: {}", message.role, blocks(&message.content));
    }
    let _ = write!(text, "(at most {} tokens", params.max_tokens);
    if let Some(context) = &params.include_context {
        let _ = write!(text, ", with the context {context}");
    }
    let tools: Vec<_> = params.tools.iter().flatten().map(|tool| tool.name.as_str()).collect();
    if !tools.is_empty() {
        let _ = write!(text, ", with the tools {}", tools.join(", "));
    }
    text.push(')');
    text
}

/// Texts as they are, and that there is something else where there is.
pub(super) fn blocks(blocks: &[SamplingContent]) -> String {
    let told = blocks.iter().map(|block| match block {
        SamplingContent::Text(content) => content.text.clone(),
        SamplingContent::Image(content) => {
            format!("[a picture, {}, {} characters of base64]", content.mime_type, content.data.len())
        }
        SamplingContent::Audio(content) => {
            format!("[a sound, {}, {} characters of base64]", content.mime_type, content.data.len())
        }
        SamplingContent::ToolUse(content) => {
            let input = serde_json::to_string(&content.input).unwrap_or_default();
            format!("[uses tool {}: {input}]", content.name)
        }
        SamplingContent::ToolResult(content) => {
            let result = serde_json::to_string(content).unwrap_or_default();
            format!("[result of a tool: {result}]")
        }
        SamplingContent::Unknown(object) => {
            format!("[something unknown: {}]", serde_json::to_string(object).unwrap_or_default())
        }
    });
    told.collect::<Vec<_>>().join("\n")
}

/// What a server wants to know from the user.
pub(super) fn form(params: &ElicitFormParams) -> String {
    let fields = params.requested_schema.properties.iter().map(|(name, _)| {
        let is_required = params.requested_schema.required.contains(name);
        if is_required { format!("{name} (required)") } else { name.clone() }
    });
    let fields: Vec<_> = fields.collect();
    let asked = if fields.is_empty() { "nothing but yes or no".to_owned() } else { fields.join(", ") };
    format!("{}\n(it asks for: {asked})", params.message)
}
