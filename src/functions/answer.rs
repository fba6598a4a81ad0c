//! Results as answers to a model.

use super::{Format, FunctionCall, Functions, array};
use crate::json::{Json, Object};
use crate::protocol::{CallToolResult, Content, ResourceContents};

impl Functions {
    /// The messages, or items, that answer `results`, each of its call, in their order: what to add to the conversation.
    ///
    /// Text passes as it is. Pictures are passed to Anthropic, which takes them in results; others get a text that says what was there,
    /// and so do sounds and files. A result without any content is its structured value.
    #[must_use]
    pub fn answers(&self, results: &[(FunctionCall, CallToolResult)]) -> Vec<Json> {
        match self.format {
            Format::OpenAi => results.iter().map(|(call, result)| chat(call, result)).collect(),
            Format::OpenAiResponses => results.iter().map(|(call, result)| output(call, result)).collect(),
            Format::Anthropic if results.is_empty() => Vec::new(),
            Format::Anthropic => {
                let blocks: Vec<Json> = results.iter().map(|(call, result)| block(call, result)).collect();
                let mut message = Object::new();
                message.insert("role", "user");
                message.insert("content", &array(&blocks));
                vec![message.into()]
            }
        }
    }
}

fn chat(call: &FunctionCall, result: &CallToolResult) -> Json {
    let mut message = Object::new();
    message.insert("role", "tool");
    message.insert("tool_call_id", &call.id);
    message.insert("content", &marked(result));
    message.into()
}

fn output(call: &FunctionCall, result: &CallToolResult) -> Json {
    let mut item = Object::new();
    item.insert("type", "function_call_output");
    item.insert("call_id", &call.id);
    item.insert("output", &marked(result));
    item.into()
}

/// The format has no mark for what failed, so that the text has one.
fn marked(result: &CallToolResult) -> String {
    let text = text(result);
    if result.is_error() { format!("error: {text}") } else { text }
}

/// Everything in words.
fn text(result: &CallToolResult) -> String {
    if result.content.is_empty() {
        return result.structured_content.as_ref().map_or_else(String::new, |json| json.as_str().to_owned());
    }
    result.content.iter().map(in_words).collect::<Vec<_>>().join("\n")
}

fn in_words(content: &Content) -> String {
    let sized =
        |what: &str, kind: &str, data: &str| format!("[{what}: {kind}, {} bytes of base64]", data.len());
    match content {
        Content::Text(text) => text.text.clone(),
        Content::Image(image) => sized("image", &image.mime_type, &image.data),
        Content::Audio(audio) => sized("audio", &audio.mime_type, &audio.data),
        Content::ResourceLink(link) => format!("[resource {}: {}]", link.name, link.uri),
        Content::Resource(resource) => match &resource.resource {
            ResourceContents::Text(text) => text.text.clone(),
            ResourceContents::Blob(blob) => {
                sized("resource", blob.mime_type.as_deref().unwrap_or("of no type"), &blob.blob)
            }
        },
        Content::Unknown(block) => Json::from(block.clone()).as_str().to_owned(),
    }
}

fn block(call: &FunctionCall, result: &CallToolResult) -> Json {
    let mut blocks: Vec<Json> = result.content.iter().map(part).collect();
    if blocks.is_empty() {
        let text = text(result);
        blocks.extend((!text.is_empty()).then(|| text_part(&text)));
    }
    let mut block = Object::new();
    block.insert("type", "tool_result");
    block.insert("tool_use_id", &call.id);
    block.insert("content", &array(&blocks));
    if result.is_error() {
        block.insert("is_error", &true);
    }
    block.into()
}

/// The kinds of pictures that are taken.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

fn part(content: &Content) -> Json {
    match content {
        Content::Image(image) if PICTURES.contains(&image.mime_type.as_str()) => {
            let mut source = Object::new();
            source.insert("type", "base64");
            source.insert("media_type", &image.mime_type);
            source.insert("data", &image.data);
            let mut part = Object::new();
            part.insert("type", "image");
            part.insert("source", &Json::from(source));
            part.into()
        }
        other => text_part(&in_words(other)),
    }
}

fn text_part(text: &str) -> Json {
    let mut part = Object::new();
    part.insert("type", "text");
    part.insert("text", text);
    part.into()
}
