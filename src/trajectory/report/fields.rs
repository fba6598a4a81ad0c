//! What an event holds, as HTML: labelled values, large ones by their beginning.

use std::fmt::Write as _;

use serde::Serialize;

use super::escape;
use super::pretty::pretty;
use super::words::{count, several};
use crate::json::Json;
use crate::protocol::{CallToolResult, Content, GetPromptResult, ReadResourceResult, ResourceContents};
use crate::trajectory::failure::RecordedError;

/// What is said of a value that is not shown whole points here: the line of the event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// Puts the body of one event together.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) html: String,
    /// How many bytes of HTML each value may have.
    room: usize,
    place: Place,
    /// Values that are not shown whole.
    pub(super) cut: u64,
}

/// So many characters of a blob are shown.
const BLOB_CHARS: usize = 64;

/// So many blocks of a result are shown.
const MAX_BLOCKS: usize = 64;

impl Body {
    pub(super) fn new(room: usize, place: Place) -> Self {
        Self { html: String::new(), room, place, cut: 0 }
    }

    fn label(&mut self, label: &str, note: &str) {
        self.html.push_str("<h4>");
        escape::attribute(&mut self.html, label);
        if !note.is_empty() {
            self.html.push_str(" <small>");
            escape::text(&mut self.html, note, 400);
            self.html.push_str("</small>");
        }
        self.html.push_str("</h4>");
    }

    /// A text, as it reads.
    pub(super) fn text(&mut self, label: &str, note: &str, text: &str) {
        self.label(label, note);
        self.html.push_str("<pre dir=\"auto\">");
        let shown = escape::text(&mut self.html, text, self.room);
        self.html.push_str("</pre>");
        self.rest(shown, text.len());
    }

    /// JSON, laid out.
    pub(super) fn json(&mut self, label: &str, json: &str) {
        self.label(label, "");
        let (laid_out, read) = pretty(json, self.room);
        self.html.push_str("<pre class=\"j\">");
        let shown = escape::text(&mut self.html, &laid_out, self.room);
        self.html.push_str("</pre>");
        // In proportion, if it had no room as HTML: escapes make it longer.
        let read = if shown == laid_out.len() { read } else { read.min(shown) };
        self.rest(read, json.len());
    }

    pub(super) fn value<T: Serialize>(&mut self, label: &str, value: &T) {
        let json = Json::new(value).unwrap_or_else(|_| Json::null());
        self.json(label, json.as_str());
    }

    fn rest(&mut self, shown: usize, all: usize) {
        if shown >= all {
            return;
        }
        self.cut += 1;
        let _ = write!(
            self.html,
            "<p class=\"cut\">The first {} of {} bytes. The whole is in the recording, in the record at byte {} ({} long).</p>",
            count(shown as u64),
            count(all as u64),
            self.place.offset,
            several(self.place.length, "byte"),
        );
    }

    /// Bytes in base64: what they are, how many, and their beginning.
    fn blob(&mut self, label: &str, mime_type: &str, base64: &str) {
        self.label(label, mime_type);
        let padding = base64.bytes().rev().take(2).filter(|byte| *byte == b'=').count();
        let bytes = (base64.len() / 4 * 3).saturating_sub(padding);
        let _ = write!(
            self.html,
            "<p class=\"cut\">{} in {} of base64, in the record at byte {}: <code>",
            several(bytes as u64, "byte"),
            several(base64.len() as u64, "character"),
            self.place.offset,
        );
        let beginning = escape::line(base64, BLOB_CHARS);
        self.cut += u64::from(base64.len() > BLOB_CHARS);
        escape::text(&mut self.html, &beginning, 1000);
        self.html.push_str("</code></p>");
    }

    fn resource(&mut self, label: &str, contents: &ResourceContents) {
        let note = format!("{} {}", contents.uri(), contents.mime_type().unwrap_or_default());
        match contents {
            ResourceContents::Text(text) => self.text(label, &note, &text.text),
            ResourceContents::Blob(blob) => self.blob(label, &note, &blob.blob),
        }
    }

    fn content(&mut self, label: &str, content: &Content) {
        match content {
            Content::Text(text) => self.text(label, "text", &text.text),
            Content::Image(image) => self.blob(label, &format!("image, {}", image.mime_type), &image.data),
            Content::Audio(audio) => self.blob(label, &format!("audio, {}", audio.mime_type), &audio.data),
            Content::Resource(resource) => self.resource(label, &resource.resource),
            other => self.value(label, other),
        }
    }

    fn more(&mut self, count_left_out: usize, what: &str) {
        if count_left_out > 0 {
            self.cut += 1;
            let _ = write!(
                self.html,
                "<p class=\"cut\">{} more, in the record at byte {}.</p>",
                several(count_left_out as u64, what),
                self.place.offset
            );
        }
    }

    pub(super) fn call_result(&mut self, result: &CallToolResult) {
        let structured = result.structured_content.as_ref().map(Json::as_str);
        for content in result.content.iter().take(MAX_BLOCKS) {
            match content.as_text() {
                Some(text) if structured == Some(text) => {
                    self.label("Result", "text: the structured content once more")
                }
                _ => self.content("Result", content),
            }
        }
        self.more(result.content.len().saturating_sub(MAX_BLOCKS), "block");
        if let Some(structured) = structured {
            self.json("Structured content", structured);
        }
        if result.content.is_empty() && structured.is_none() {
            self.label("Result", "without content");
        }
        for (label, meta) in
            [("Metadata of the result", result.meta.as_ref()), ("Further members", Some(&result.extra))]
        {
            if let Some(meta) = meta.filter(|meta| !meta.is_empty()) {
                self.value(label, meta);
            }
        }
    }

    pub(super) fn read_result(&mut self, result: &ReadResourceResult) {
        for contents in result.contents.iter().take(MAX_BLOCKS) {
            self.resource("Contents", contents);
        }
        self.more(result.contents.len().saturating_sub(MAX_BLOCKS), "part");
    }

    pub(super) fn prompt_result(&mut self, result: &GetPromptResult) {
        for message in result.messages.iter().take(MAX_BLOCKS) {
            let role = format!("Message of the {}", message.role);
            self.content(&role, &message.content);
        }
        self.more(result.messages.len().saturating_sub(MAX_BLOCKS), "message");
    }

    pub(super) fn error(&mut self, error: &RecordedError) {
        let code = error.code.map(|code| format!(" {code}")).unwrap_or_default();
        self.text("Error", &format!("{}{code}", error.kind), &error.message);
        if let Some(data) = &error.data {
            self.json("Data of the error", data.as_str());
        }
    }

    pub(super) fn optional<T: Serialize>(&mut self, label: &str, value: Option<&T>) {
        if let Some(value) = value {
            self.value(label, value);
        }
    }
}
