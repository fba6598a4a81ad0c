//! How a line of the log is written. Pure.

use std::time::{Duration, SystemTime};

use super::intent::{Intent, Kind, Outcome};
use super::redact::{Pass, push_string};
use crate::protocol::task::timestamp;

/// The version of the format that is written.
pub(super) const VERSION: u64 = 1;
/// What the first line says the file is.
pub(super) const FORMAT: &str = "tinymcp-audit";
/// So much is shown of a text: of an error, of a detail, of a name.
const TEXT_BYTES: usize = 4 * 1024;
/// So much more is looked at.
const BEYOND: usize = 64 * 1024;

/// When something is written.
#[derive(Clone, Copy)]
pub(super) struct Now {
    pub(super) wall: SystemTime,
    /// Since the log was opened.
    pub(super) since: Duration,
}

/// One line while it is written.
pub(super) struct Line<'p>(String, &'p Pass<'p>);

impl<'p> Line<'p> {
    pub(super) fn new(kind: &str, now: Now, pass: &'p Pass<'p>) -> Self {
        let mut line = Self(String::with_capacity(512), pass);
        line.0.push_str("{\"type\":");
        push_string(&mut line.0, kind);
        line.0.push_str(",\"time\":\"");
        line.0.push_str(&timestamp(now.wall));
        line.0.push('"');
        line.millis("ms", now.since);
        line
    }

    /// Whole, with its line break.
    pub(super) fn end(mut self) -> String {
        self.0.push_str("}\n");
        self.0
    }

    fn key(&mut self, key: &str) {
        self.0.push_str(",\"");
        self.0.push_str(key);
        self.0.push_str("\":");
    }

    /// A text that is known to hide nothing.
    pub(super) fn word(&mut self, key: &str, word: &str) {
        self.key(key);
        push_string(&mut self.0, word);
    }

    pub(super) fn number(&mut self, key: &str, number: u64) {
        self.key(key);
        self.0.push_str(&number.to_string());
    }

    pub(super) fn flag(&mut self, key: &str, flag: bool) {
        if flag {
            self.key(key);
            self.0.push_str("true");
        }
    }

    /// Milliseconds with three places.
    fn millis(&mut self, key: &str, time: Duration) {
        self.key(key);
        let micros = time.as_micros();
        self.0.push_str(&format!("{}.{:03}", micros / 1000, micros % 1000));
    }

    /// A text without what is hidden, and not too long.
    pub(super) fn text(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.key(key);
            self.shown(text);
        }
    }

    fn shown(&mut self, text: &str) {
        // What lies beyond is looked at a little, so that what is hidden is not cut in two.
        let shown = self.1.text(cut(text, TEXT_BYTES + BEYOND));
        let (shown, is_cut) =
            (cut(&shown, TEXT_BYTES), shown.len() > TEXT_BYTES || text.len() > TEXT_BYTES + BEYOND);
        if is_cut {
            push_string(&mut self.0, &format!("{shown}… ({} bytes in all)", text.len()));
        } else {
            push_string(&mut self.0, shown);
        }
    }

    /// A value, or how it begins; and how long it is.
    fn value(&mut self, key: &str, json: &str, bytes: usize, most: usize) {
        let (shown, is_whole) = self.1.json(json, most);
        if is_whole && shown.len() <= most && json.len() == bytes {
            self.key(key);
            self.0.push_str(&shown);
        } else {
            self.key(&format!("{key}_preview"));
            push_string(&mut self.0, cut(&shown, most));
        }
        self.number(&format!("{key}_bytes"), bytes as u64);
    }

    pub(super) fn about(&mut self, kind: Kind, server: Option<&str>, target: Option<&str>) {
        self.word("kind", kind.as_str());
        self.text("server", server);
        self.text(kind.target_key(), target);
    }

    /// `most`: so many bytes are shown of the arguments.
    pub(super) fn intent(&mut self, intent: &Intent<'_>, most: usize) {
        self.about(intent.kind, intent.server, intent.target);
        if let Some(identity) = intent.identity {
            self.key("identity");
            self.0.push_str("{\"name\":");
            self.shown(&identity.name);
            self.0.push_str(",\"version\":");
            self.shown(&identity.version);
            self.0.push('}');
        }
        self.text("allowed", intent.allowed);
        self.text("detail", intent.detail);
        if let Some(arguments) = intent.arguments {
            let json = arguments.as_str();
            self.value("arguments", json, json.len(), most);
        }
    }

    pub(super) fn outcome(&mut self, outcome: &Outcome<'_>, took: Duration, most: usize) {
        self.word("outcome", outcome.ended.as_str());
        self.millis("took_ms", took);
        if let Some(kind) = outcome.error_kind {
            self.word("error_kind", kind);
        }
        self.text("error", outcome.error.as_deref());
        self.text("detail", outcome.detail);
        if let Some(result) = &outcome.result {
            self.value("result", &result.text, result.bytes, most);
        }
    }
}

/// At most so many bytes of `text`, in whole characters.
pub(super) fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// What stands at the beginning of a file, and of what each process adds to one.
pub(super) struct Header {
    pub(super) run: String,
    pub(super) program: String,
}

impl Header {
    /// `is_rotated`: the run began in an earlier file. `repaired`: the line before was torn.
    pub(super) fn line(&self, now: Now, is_rotated: bool, repaired: bool, pass: &Pass<'_>) -> String {
        let mut line = Line::new("header", now, pass);
        line.word("format", FORMAT);
        line.number("version", VERSION);
        line.word("run", &self.run);
        line.number("pid", std::process::id().into());
        line.text("program", Some(&self.program));
        line.word("tinymcp", env!("CARGO_PKG_VERSION"));
        line.flag("continued", is_rotated);
        line.flag("repaired", repaired);
        line.end()
    }
}
