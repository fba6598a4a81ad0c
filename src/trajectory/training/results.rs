//! What is written of a result.

use serde_json::value::RawValue;

use super::super::event::ToolCallRecord;
use super::super::plain::Texts;
use super::dumps::dumped;
use super::options::{ResultForm, SftOptions};
use crate::json::Json;
use crate::protocol::{Content, ResourceContents};

/// A part of a result.
pub(super) enum Part<'a> {
    Text(String),
    Image { data: &'a str, mime_type: &'a str },
    Audio { data: &'a str, mime_type: &'a str },
}

/// The result of a call as one text.
pub(super) fn text(call: &ToolCallRecord, options: &SftOptions) -> String {
    let json = match options.results {
        ResultForm::Plain => return plain(call),
        ResultForm::Whole => match &call.result {
            Some(result) => Json::new(result),
            None => Json::new(&Texts::of(call)),
        },
        ResultForm::Texts => Json::new(&Texts::of(call)),
    };
    dumped(&json.unwrap_or_else(|_| Json::empty_object()), options.is_unicode)
}

fn plain(call: &ToolCallRecord) -> String {
    let parts = parts(call).into_iter().map(|part| match part {
        Part::Text(text) => text,
        Part::Image { data, mime_type } => named("image", mime_type, data),
        Part::Audio { data, mime_type } => named("audio", mime_type, data),
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// What stands for what is no text.
fn named(kind: &str, mime_type: &str, data: &str) -> String {
    format!("[{kind}: {mime_type}, {} bytes]", data.len() / 4 * 3)
}

/// What a result is made of.
pub(super) fn parts(call: &ToolCallRecord) -> Vec<Part<'_>> {
    let Some(result) = &call.result else {
        let problem = call.error.as_ref().map(|error| error.message.clone());
        return problem.map(Part::Text).into_iter().collect();
    };
    let mut parts: Vec<_> = result.content.iter().map(part).collect();
    if parts.is_empty() {
        // A server may leave it at that.
        parts.extend(result.structured_content.as_ref().map(|json| Part::Text(json.as_str().to_owned())));
    }
    parts
}

fn part(content: &Content) -> Part<'_> {
    match content {
        Content::Text(text) => Part::Text(text.text.clone()),
        Content::Image(image) => Part::Image { data: &image.data, mime_type: &image.mime_type },
        Content::Audio(audio) => Part::Audio { data: &audio.data, mime_type: &audio.mime_type },
        Content::ResourceLink(link) => Part::Text(format!("[{}: {}]", link.name, link.uri)),
        Content::Resource(embedded) => resource(&embedded.resource),
        Content::Unknown(block) => Part::Text(Json::from(block.clone()).as_str().to_owned()),
    }
}

fn resource(contents: &ResourceContents) -> Part<'_> {
    match contents {
        ResourceContents::Text(text) => Part::Text(text.text.clone()),
        ResourceContents::Blob(blob) => {
            let mime_type = blob.mime_type.as_deref().unwrap_or("application/octet-stream");
            match mime_type.starts_with("image/") {
                true => Part::Image { data: &blob.blob, mime_type },
                false => Part::Text(named(&blob.uri, mime_type, &blob.blob)),
            }
        }
    }
}

/// The members of an object, in this order.
pub(super) fn object(members: &[(&str, Json)]) -> Json {
    let mut out = String::from("{");
    for (i, (name, value)) in members.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(Json::from(*name).as_str());
        out.push(':');
        out.push_str(value.as_str());
    }
    out.push('}');
    // Whole values, put together.
    Json::parse(&out).unwrap_or_else(|_| Json::empty_object())
}

pub(super) fn list(items: &[Json]) -> Json {
    Json::new(items).unwrap_or_else(|_| Json::null())
}

/// JSON in which no lone half of a surrogate pair is left, which many readers refuse.
pub(super) fn repaired(raw: &RawValue) -> Json {
    match crate::json::repair_surrogates(raw.get()) {
        Some(text) => Json::parse(&text).unwrap_or_else(|_| Json::null()),
        None => Json::parse(raw.get()).unwrap_or_else(|_| Json::null()),
    }
}
