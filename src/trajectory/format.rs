//! The format of recordings: JSON lines, each a [`Line`]. [The guide](crate::guide::trajectories) has it in full.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::value::RawValue;

use super::event::Event;
use super::redaction::Redaction;
use crate::json::{FromJson, Json, JsonError, Members, compact, wire};
use crate::protocol::ToolDefinition;

/// What the first line of a recording calls its format.
pub const FORMAT: &str = "tinymcp-trajectory";

/// The same of a file of frames.
pub(super) const WIRE_FORMAT: &str = "tinymcp-wire";

/// The version of the formats that is written. Readers take any event and member that they do not know for one of a later
/// program; a version beyond theirs has something that must not be passed over, and they refuse it.
pub const FORMAT_VERSION: u64 = 1;

wire::wire! {
    /// The first line of a recording. It may occur again, where one file was put behind another.
    pub struct Header {
        /// [`FORMAT`], in a recording.
        pub format: String = "format",
        /// [`FORMAT_VERSION`], or that of who wrote it.
        pub version: u64 = "version",
        /// Which program wrote it.
        pub creator: Option<String> = "creator",
        /// When the file was begun, in microseconds since 1970.
        pub created_us: Option<u64> = "created_us",
    }

    /// Tools as they were offered: their definitions in this order. Written once for each content, before what refers to it by
    /// its key.
    pub struct Definitions {
        /// The key of this content.
        pub key: String = "key",
        /// The tools.
        pub tools: Vec<ToolDefinition> = "tools",
    }
}

/// One line of a recording.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Line {
    /// The first line.
    Header(Header),
    /// Tools as they were offered, which events refer to.
    Definitions(Definitions),
    /// Something that happened.
    Event(Box<Event>),
}

impl Line {
    /// Reads a line.
    ///
    /// # Errors
    /// When it is no line of a recording, for example because it is cut off.
    pub fn parse(line: &str) -> Result<Self, JsonError> {
        let mut members =
            Members::parse(line).map_err(|e| JsonError::new(format!("no line of a recording: {e}")))?;
        match members.take("event").map(String::from_json).transpose().map_err(|e| e.inside("event"))? {
            None => Header::from_members(members).and_then(Header::checked).map(Self::Header),
            Some(name) if name == "definitions" => Definitions::from_members(members).map(Self::Definitions),
            Some(name) => Event::from_members(name, members).map(|event| Self::Event(Box::new(event))),
        }
    }

    /// Appends it to `out`, with the line's end.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Header(header) => return header.write(out),
            Self::Definitions(definitions) => {
                let mut fields = Fields::of(out, "definitions");
                fields.members(definitions);
                fields.end();
            }
            Self::Event(event) => event.write(out),
        }
        out.push(b'\n');
    }
}

impl From<Event> for Line {
    fn from(event: Event) -> Self {
        Self::Event(Box::new(event))
    }
}

impl Header {
    /// The header of a file of this format that is begun now.
    pub(super) fn now(format: &str) -> Self {
        Self {
            format: format.to_owned(),
            version: FORMAT_VERSION,
            creator: Some(concat!("tinymcp ", env!("CARGO_PKG_VERSION")).to_owned()),
            created_us: Some(microseconds(SystemTime::now())),
            extra: crate::json::Object::new(),
        }
    }

    /// Appends its line to `out`, with the line's end.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        to_json(out, self);
        out.push(b'\n');
    }

    fn checked(self) -> Result<Self, JsonError> {
        if self.format != FORMAT {
            return Err(
                JsonError::new(format!("expected {FORMAT:?}, found {:?}", self.format)).inside("format")
            );
        }
        Ok(self)
    }
}

impl Definitions {
    /// `tools` and the key of that content.
    #[must_use]
    pub fn new(tools: Vec<ToolDefinition>) -> Self {
        let key = content_key(&tools);
        Self { key, tools, extra: crate::json::Object::new() }
    }
}

/// The key of a list of tools: equal lists have equal keys, in every program and version. 128 bits of FNV-1a over the JSON text,
/// in hexadecimal: for telling contents apart, not for proving that nobody made two of one key.
#[must_use]
pub fn content_key(tools: &[ToolDefinition]) -> String {
    struct Fnv(u128);
    impl std::io::Write for Fnv {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            for byte in bytes {
                self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013B);
            }
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut hash = Fnv(0x6C62_272E_07BB_0142_62B8_2175_6295_C58D);
    // A definition is JSON, and nothing fails to be counted.
    serde_json::to_writer(&mut hash, tools).expect("definitions serialize");
    format!("{:032x}", hash.0)
}

/// Since 1970; before that is 0.
pub(super) fn microseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

fn to_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let before = out.len();
    if let Err(e) = serde_json::to_writer(&mut *out, value) {
        log::warn!("a value cannot be JSON and is recorded as null: {e}");
        out.truncate(before);
        out.extend_from_slice(b"null");
    }
}

/// The members of events that hold what passed, and not what the recording itself is about: what a redaction sees.
const CONTENT: [&str; 15] = [
    "arguments",
    "result",
    "error",
    "params",
    "answer",
    "observation",
    "info",
    "items",
    "rejected",
    "uri",
    "task",
    "text",
    "reasoning",
    "metadata",
    "decision",
];

/// Writes the members of one event straight into its line: what is recorded is not copied first, unless something is to be kept
/// out of it.
pub(super) struct Fields<'a> {
    line: &'a mut Vec<u8>,
    redaction: Option<&'a Redaction>,
}

impl<'a> Fields<'a> {
    /// Begins the line of an event.
    pub(super) fn of(line: &'a mut Vec<u8>, event: &str) -> Self {
        line.extend_from_slice(b"{\"event\":");
        to_json(line, event);
        Self { line, redaction: None }
    }

    /// Keeps out what `redaction` does.
    pub(super) fn redacted(self, redaction: &'a Redaction) -> Self {
        Self { redaction: Some(redaction).filter(|redaction| !redaction.is_empty()), ..self }
    }

    /// What is to be kept out of a member.
    fn redaction_of(&self, name: &str) -> Option<&'a Redaction> {
        self.redaction.filter(|_| CONTENT.contains(&name))
    }

    /// What every event says.
    pub(super) fn place(&mut self, trajectory: &str, seq: u64, turn: u64, time_us: u64, at_ns: u64) {
        self.value("trajectory", trajectory);
        self.value("seq", &seq);
        self.value("turn", &turn);
        self.value("time_us", &time_us);
        self.value("at_ns", &at_ns);
    }

    fn name(&mut self, name: &str) {
        self.line.extend_from_slice(b",\"");
        self.line.extend_from_slice(name.as_bytes());
        self.line.extend_from_slice(b"\":");
    }

    /// A member; `name` needs no escapes.
    pub(super) fn value<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) {
        self.name(name);
        match self.redaction_of(name) {
            None => to_json(self.line, value),
            Some(redaction) => {
                let json = Json::new(value).unwrap_or_else(|_| Json::null());
                self.line.extend_from_slice(redaction.apply(name, &json).as_str().as_bytes());
            }
        }
    }

    /// A member, if there is something.
    pub(super) fn optional<T: Serialize>(&mut self, name: &str, value: Option<&T>) {
        if let Some(value) = value {
            self.value(name, value);
        }
    }

    /// A member that is JSON already, and may have line breaks.
    pub(super) fn raw(&mut self, name: &str, raw: &RawValue) {
        if self.redaction.is_some() {
            return self.value(name, raw);
        }
        self.name(name);
        let text = raw.get().as_bytes();
        if text.contains(&b'\n') || text.contains(&b'\r') {
            self.line.extend_from_slice(&compact(text));
        } else {
            self.line.extend_from_slice(text);
        }
    }

    /// All members of an object.
    pub(super) fn members<T: Serialize>(&mut self, object: &T) {
        if self.redaction.is_some() {
            let json = Json::new(object).unwrap_or_else(|_| Json::empty_object());
            for (name, value) in Members::of(json.as_raw()).unwrap_or_default().iter() {
                self.value(name, value);
            }
            return;
        }
        let before = self.line.len();
        to_json(self.line, object);
        match self.line.get(before..) {
            // Its brace becomes the comma; an empty one adds nothing.
            Some([b'{', .., b'}']) if self.line.len() > before + 2 => {
                self.line[before] = b',';
                self.line.pop();
            }
            _ => self.line.truncate(before),
        }
    }

    pub(super) fn end(self) {
        self.line.push(b'}');
    }
}
