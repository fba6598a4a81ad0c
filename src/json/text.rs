//! [`Json`]: one JSON value kept as its exact text.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// One JSON value, kept as its exact text.
///
/// Used wherever a value only passes through: structured results, `_meta`, unknown fields. Large
/// integers and the order of members survive, which they would not as a [`Value`].
///
/// ```
/// use tinymcp::json::Json;
///
/// let id = Json::parse("18446744073709551616")?; // 2^64: more than any integer type of serde_json
/// assert_eq!(id.as_str(), "18446744073709551616");
/// assert_eq!(Json::new(&vec![1, 2])?, Json::parse("[1, 2]")?);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Serializes `value`.
    ///
    /// # Errors
    /// When the value's own `Serialize` fails, or a map has keys that are not strings.
    pub fn new<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        Ok(Self::from_raw_box(serde_json::value::to_raw_value(value)?))
    }

    /// Keeps `text` if it is one JSON value.
    ///
    /// # Errors
    /// When `text` is not exactly one JSON value.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        Ok(Self::from_raw_box(serde_json::from_str(text)?))
    }

    /// `null`.
    #[must_use]
    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned())
    }

    /// `{}`.
    #[must_use]
    pub fn empty_object() -> Self {
        Self(RawValue::from_string("{}".to_owned()).expect("{} is JSON"))
    }

    /// The value's text: one line, never with a line break.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// The value as serde_json's raw form.
    #[must_use]
    pub fn as_raw(&self) -> &RawValue {
        &self.0
    }

    /// Reads the value as `T`.
    ///
    /// # Errors
    /// When the value does not have `T`'s shape.
    pub fn to<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.0.get())
    }

    /// The value as a tree. Integers beyond 64 bits become floating point there.
    #[must_use]
    pub fn to_value(&self) -> Value {
        // A number beyond f64 (1e400) is text that no `Value` can hold.
        serde_json::from_str(self.0.get()).unwrap_or(Value::Null)
    }

    /// Keeps a part of a frame, or of a [`Json`], which is one line already.
    pub(crate) fn of_frame(raw: &RawValue) -> Self {
        Self(raw.to_owned())
    }

    /// Keeps text from anywhere.
    pub(crate) fn from_raw(raw: &RawValue) -> Self {
        Self::from_raw_box(raw.to_owned())
    }

    fn from_raw_box(raw: Box<RawValue>) -> Self {
        // spec: 2026-07-28 basic/transports/stdio (no embedded newlines)
        // A frame is one line, so what is kept must be one line too: a pretty-printed value is
        // written out compactly. Line breaks cannot occur inside a JSON string.
        let bytes = raw.get().as_bytes();
        // By bytes: searching for characters takes 25 times as long, which a large result feels.
        if !bytes.contains(&b'\n') && !bytes.contains(&b'\r') {
            return Self(raw);
        }
        let compact = one_line(raw.get());
        Self(RawValue::from_string(compact).unwrap_or(raw))
    }
}

/// Drops the white space between tokens.
pub(crate) fn one_line(text: &str) -> String {
    String::from_utf8(compact(text.as_bytes())).unwrap_or_else(|_| unreachable!("only ASCII was taken out"))
}

/// The same of what may not be JSON, nor text. A line break inside of a string, where JSON has none, stays.
pub(crate) fn compact(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for byte in text {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
        } else if *byte == b'"' {
            in_string = true;
        } else if byte.is_ascii_whitespace() {
            continue;
        }
        out.push(*byte);
    }
    out
}

impl PartialEq for Json {
    /// Equal as text, or equal as values (member order and number spelling aside).
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str() || {
            let tree = |json: &Self| serde_json::from_str::<Value>(json.as_str());
            matches!((tree(self), tree(other)), (Ok(a), Ok(b)) if a == b)
        }
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from_raw_box)
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self::from(&value)
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        // A `Value` always has a JSON text: its keys are strings and its numbers finite.
        Self::new(value).expect("a JSON value serializes")
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::new(text).expect("a string serializes")
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

/// Whether `line` holds nothing but JSON white space.
pub(crate) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

/// Replaces lone surrogate escapes (`\ud83d` without its second half) by U+FFFD.
///
/// JavaScript peers cut strings in the middle of a surrogate pair; serde_json refuses such a string
/// and with it the whole message. `None`: there is nothing to repair.
pub(crate) fn repair_surrogates(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let unit = |at: usize| -> Option<u32> {
        let digits = text.get(at + 2..at + 6)?;
        (bytes.get(at) == Some(&b'\\') && bytes.get(at + 1) == Some(&b'u'))
            .then(|| u32::from_str_radix(digits, 16).ok())?
    };
    let mut out = Cow::Borrowed("");
    let (mut at, mut copied) = (0, 0);
    while let Some(found) = text[at..].find('\\') {
        let escape = at + found;
        match unit(escape) {
            Some(0xD800..=0xDBFF) if matches!(unit(escape + 6), Some(0xDC00..=0xDFFF)) => at = escape + 12,
            Some(0xD800..=0xDFFF) => {
                out += &text[copied..escape];
                out += "\\ufffd";
                at = escape + 6;
                copied = at;
            }
            _ => at = (escape + 2).min(text.len()),
        }
        // An escape is ASCII, but what follows a backslash in broken input may not be.
        while !text.is_char_boundary(at) {
            at += 1;
        }
    }
    if copied == 0 {
        return None;
    }
    out += &text[copied..];
    Some(out.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_are_replaced_and_pairs_kept() {
        let cases = [
            (r#""cut \ud83d""#, Some(r#""cut \ufffd""#)),
            (r#""\ude00 first""#, Some(r#""\ufffd first""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\ud83d\ude00""#, None),
            (r#""\\ud83d""#, None),
            (r#""plain""#, None),
            (r#""\"#, None),
        ];
        for (text, want) in cases {
            assert_eq!(repair_surrogates(text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn kept_text_is_one_line() {
        let json = Json::parse("{\n  \"a b\": [1,\r\n 2], \"c\": \"x\\n y\"\n}").expect("valid");
        assert_eq!(json.as_str(), r#"{"a b":[1,2],"c":"x\n y"}"#);
    }
}
