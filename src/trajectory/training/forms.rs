//! The forms of messages.

use super::conversation::{Call, Conversation, Said, Turn};
use super::dumps::dumped;
use super::options::{ArgumentsForm, MessageForm, ReasoningForm, SftOptions};
use super::results::{Part, list, object, parts, repaired, text};
use crate::json::Json;
use crate::protocol::ToolDefinition;

/// The messages of a turn, in its form.
pub(super) fn messages(turn: &Turn<'_>, options: &SftOptions) -> Vec<Json> {
    match (turn, options.form) {
        (Turn::User(text), _) => vec![user(text, options)],
        (Turn::Assistant(said), MessageForm::OpenAi) => openai(said, options),
        (Turn::Assistant(said), MessageForm::Anthropic) => anthropic(said, options),
        (Turn::Assistant(said), MessageForm::Hermes) => hermes(said, options),
    }
}

/// What comes before the turns.
pub(super) fn opening(
    conversation: &Conversation<'_>,
    tools: Option<&[ToolDefinition]>,
    options: &SftOptions,
) -> Vec<Json> {
    let system = match options.form {
        MessageForm::OpenAi => conversation
            .system
            .as_ref()
            .map(|text| object(&[("role", "system".into()), ("content", content(text, options))])),
        // Beside the messages.
        MessageForm::Anthropic => None,
        MessageForm::Hermes => {
            hermes_system(conversation.system.as_deref(), tools, options).map(|text| said_by("system", &text))
        }
    };
    system.into_iter().chain([user(conversation.task, options)]).collect()
}

fn user(text: &str, options: &SftOptions) -> Json {
    match options.form {
        MessageForm::OpenAi => object(&[("role", "user".into()), ("content", content(text, options))]),
        MessageForm::Anthropic => object(&[("role", "user".into()), ("content", list(&[text_block(text)]))]),
        MessageForm::Hermes => said_by("human", text),
    }
}

/// Text as the content of a message.
fn content(text: &str, options: &SftOptions) -> Json {
    if options.has_media { list(&[text_block(text)]) } else { text.into() }
}

fn text_block(text: &str) -> Json {
    object(&[("type", "text".into()), ("text", text.into())])
}

/// What the model says, with what it thinks before it if that is where it goes.
fn spoken(said: &Said<'_>, options: &SftOptions) -> Option<String> {
    let is_inside = options.reasoning == Some(ReasoningForm::Think)
        || options.form == MessageForm::Hermes && options.reasoning.is_some();
    match said.reasoning.filter(|_| is_inside) {
        Some(reasoning) => {
            let text = said.text.unwrap_or_default();
            Some(format!("<think>\n{reasoning}\n</think>\n\n{text}").trim_end().to_owned())
        }
        None => said.text.map(str::to_owned),
    }
}

/// What the model thinks, if that is a member by itself.
fn thought<'a>(said: &Said<'a>, options: &SftOptions) -> Option<&'a str> {
    said.reasoning.filter(|_| options.reasoning == Some(ReasoningForm::Field))
}

fn openai(said: &Said<'_>, options: &SftOptions) -> Vec<Json> {
    let text = match spoken(said, options) {
        Some(text) => content(&text, options),
        None if options.has_empty_content => content("", options),
        None => Json::null(),
    };
    let mut message = vec![("role", Json::from("assistant")), ("content", text)];
    message.extend(thought(said, options).map(|text| ("reasoning_content", text.into())));
    if !said.calls.is_empty() {
        let calls: Vec<_> = said.calls.iter().map(|call| openai_call(call, options)).collect();
        message.push(("tool_calls", list(&calls)));
    }
    let results = said.calls.iter().map(|call| {
        let content = match options.has_media {
            true => list(&parts(call.record).iter().map(openai_part).collect::<Vec<_>>()),
            false => text_of(call, options),
        };
        object(&[("role", "tool".into()), ("content", content), ("tool_call_id", call.id.as_str().into())])
    });
    [object(&message)].into_iter().chain(results).collect()
}

fn text_of(call: &Call<'_>, options: &SftOptions) -> Json {
    text(call.record, options).into()
}

fn openai_call(call: &Call<'_>, options: &SftOptions) -> Json {
    let arguments = match options.arguments {
        ArgumentsForm::Text => dumped(&call.record.arguments, options.is_unicode).into(),
        ArgumentsForm::Object => repaired(call.record.arguments.as_raw()),
    };
    let function = object(&[("name", call.record.tool.as_str().into()), ("arguments", arguments)]);
    object(&[("id", call.id.as_str().into()), ("type", "function".into()), ("function", function)])
}

fn openai_part(part: &Part<'_>) -> Json {
    match part {
        Part::Text(text) => text_block(text),
        Part::Image { data, mime_type } => {
            let url = object(&[("url", format!("data:{mime_type};base64,{data}").into())]);
            object(&[("type", "image_url".into()), ("image_url", url)])
        }
        Part::Audio { data, mime_type } => {
            let format = mime_type.rsplit('/').next().unwrap_or_default();
            let audio =
                object(&[("data", (*data).into()), ("format", format.trim_start_matches("x-").into())]);
            object(&[("type", "input_audio".into()), ("input_audio", audio)])
        }
    }
}

fn anthropic(said: &Said<'_>, options: &SftOptions) -> Vec<Json> {
    let mut blocks = Vec::new();
    blocks.extend(
        thought(said, options).map(|text| object(&[("type", "thinking".into()), ("thinking", text.into())])),
    );
    // An empty block of text is none, except for an answer that has nothing else.
    let text = spoken(said, options).filter(|text| !text.is_empty() || said.is_final);
    blocks.extend(text.map(|text| text_block(&text)));
    blocks.extend(said.calls.iter().map(|call| {
        object(&[
            ("type", "tool_use".into()),
            ("id", call.id.as_str().into()),
            ("name", call.record.tool.as_str().into()),
            ("input", repaired(call.record.arguments.as_raw())),
        ])
    }));
    let message = object(&[("role", "assistant".into()), ("content", list(&blocks))]);
    if said.calls.is_empty() {
        return vec![message];
    }
    let results: Vec<_> = said.calls.iter().map(|call| anthropic_result(call, options)).collect();
    vec![message, object(&[("role", "user".into()), ("content", list(&results))])]
}

fn anthropic_result(call: &Call<'_>, options: &SftOptions) -> Json {
    let content: Vec<_> = match options.has_media {
        true => parts(call.record).iter().map(anthropic_part).collect(),
        false => vec![text_block(&text(call.record, options))],
    };
    let mut block = vec![
        ("type", Json::from("tool_result")),
        ("tool_use_id", call.id.as_str().into()),
        ("content", list(&content)),
    ];
    if call.record.is_error {
        block.push(("is_error", serde_json::Value::Bool(true).into()));
    }
    object(&block)
}

fn anthropic_part(part: &Part<'_>) -> Json {
    match part {
        Part::Text(text) => text_block(text),
        Part::Image { data, mime_type } => {
            let source = object(&[
                ("type", "base64".into()),
                ("media_type", (*mime_type).into()),
                ("data", (*data).into()),
            ]);
            object(&[("type", "image".into()), ("source", source)])
        }
        // There are no sounds in results.
        Part::Audio { mime_type, .. } => text_block(&format!("[audio: {mime_type}]")),
    }
}

fn said_by(whom: &str, text: &str) -> Json {
    object(&[("from", whom.into()), ("value", text.into())])
}

fn hermes(said: &Said<'_>, options: &SftOptions) -> Vec<Json> {
    let mut value = spoken(said, options).unwrap_or_default();
    for call in &said.calls {
        if !value.is_empty() {
            value.push('\n');
        }
        let call = object(&[
            ("name", call.record.tool.as_str().into()),
            ("arguments", repaired(call.record.arguments.as_raw())),
        ]);
        value += &tagged("tool_call", &dumped(&call, options.is_unicode));
    }
    let message = said_by("gpt", &value);
    if said.calls.is_empty() {
        return vec![message];
    }
    let results = said.calls.iter().map(|call| {
        let content = match options.has_media {
            true => with_marks(call),
            false => text(call.record, options),
        };
        let result = object(&[("name", call.record.tool.as_str().into()), ("content", content.into())]);
        tagged("tool_response", &dumped(&result, options.is_unicode))
    });
    vec![message, said_by("tool", &results.collect::<Vec<_>>().join("\n"))]
}

/// JSON between tags. Nothing in it looks like one: `</` only stands in strings, where the stroke can be escaped.
fn tagged(tag: &str, json: &str) -> String {
    format!("<{tag}>\n{}\n</{tag}>", json.replace("</", "<\\/"))
}

/// A result as text, with a mark where there is a picture.
fn with_marks(call: &Call<'_>) -> String {
    let parts = parts(call.record).into_iter().map(|part| match part {
        Part::Text(text) => text,
        Part::Image { .. } => "<image>".to_owned(),
        Part::Audio { mime_type, .. } => format!("[audio: {mime_type}]"),
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// The pictures of a turn, where they stand beside the messages.
pub(super) fn images(turn: &Turn<'_>, options: &SftOptions) -> Vec<Json> {
    let Turn::Assistant(said) = turn else { return Vec::new() };
    if !options.has_media || options.form != MessageForm::Hermes {
        return Vec::new();
    }
    let parts = said.calls.iter().flat_map(|call| parts(call.record));
    let image = |part| match part {
        Part::Image { data, mime_type } => Some(Json::from(format!("data:{mime_type};base64,{data}"))),
        _ => None,
    };
    parts.filter_map(image).collect()
}

fn hermes_system(
    system: Option<&str>,
    tools: Option<&[ToolDefinition]>,
    options: &SftOptions,
) -> Option<String> {
    let tools = tools.filter(|tools| !tools.is_empty()).map(|tools| {
        let lines: Vec<_> = tools.iter().map(|one| dumped(&tool(one, MessageForm::OpenAi), options.is_unicode)).collect();
        format!(
            "The tools stand between <tools> and </tools>, one a line. A call of one is a JSON object with its name and \
             arguments between <tool_call> and </tool_call>; the result comes between <tool_response> and \
             </tool_response>.\n{}",
            tagged("tools", &lines.join("\n"))
        )
    });
    match (system, tools) {
        (Some(system), Some(tools)) => Some(format!("{system}\n\n{tools}")),
        (Some(system), None) => Some(system.to_owned()),
        (None, tools) => tools,
    }
}

/// A tool as it is offered in this form.
pub(super) fn tool(tool: &ToolDefinition, form: MessageForm) -> Json {
    let mut members = vec![("name", Json::from(tool.name.as_str()))];
    members.extend(tool.description.as_ref().map(|text| ("description", text.as_str().into())));
    let schema = repaired(tool.input_schema.as_raw());
    if form == MessageForm::Anthropic {
        members.push(("input_schema", schema));
        return object(&members);
    }
    members.push(("parameters", schema));
    object(&[("type", "function".into()), ("function", object(&members))])
}
