//! JSON text as Python's `json.dumps` writes it, with the numbers as they came.

use std::fmt::Write as _;

use serde_json::value::RawValue;

use crate::json::{FromJson, Json, Members, nested};

/// Appends `raw` with a space after each comma and colon; without `unicode` everything beyond ASCII is escaped.
pub(super) fn dumps(out: &mut String, raw: &RawValue, unicode: bool) {
    // What is nested too deep is JSON as well.
    if nested(|| parts(out, raw, unicode)).is_none() {
        out.push_str(raw.get());
    }
}

pub(super) fn dumped(json: &Json, unicode: bool) -> String {
    let mut out = String::with_capacity(json.as_str().len() + 16);
    dumps(&mut out, json.as_raw(), unicode);
    out
}

fn parts(out: &mut String, raw: &RawValue, unicode: bool) {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'{') => {
            let members = Members::of(raw).unwrap_or_default();
            out.push('{');
            for (i, (name, value)) in members.in_order().into_iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                string(out, &name, unicode);
                out.push_str(": ");
                dumps(out, value, unicode);
            }
            out.push('}');
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
            out.push('[');
            for (i, item) in items.into_iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                dumps(out, item, unicode);
            }
            out.push(']');
        }
        // Half of a surrogate pair, which some trainers do not read, becomes U+FFFD.
        Some(b'"') => string(out, &String::from_json(raw).unwrap_or_default(), unicode),
        _ => out.push_str(text),
    }
}

fn string(out: &mut String, text: &str, unicode: bool) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            _ if unicode && c >= ' ' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // A string takes everything.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_as_python_writes_it_and_numbers_stay() {
        for (text, ascii, unicode) in [
            (
                r#"{"a":[1,2.50,9007199254740993,1e400],"b":{},"a2":[]}"#,
                r#"{"a": [1, 2.50, 9007199254740993, 1e400], "b": {}, "a2": []}"#,
                r#"{"a": [1, 2.50, 9007199254740993, 1e400], "b": {}, "a2": []}"#,
            ),
            (r#""\u00e9\ud83d\ude00\/\u007f""#, r#""\u00e9\ud83d\ude00/\u007f""#, "\"é😀/\u{7f}\""),
            (r#""cut \ud83d""#, r#""cut \ufffd""#, "\"cut \u{fffd}\""),
            (r#"{"a":1,"a":2}"#, r#"{"a": 2}"#, r#"{"a": 2}"#),
            (r#""\u0000\b\f\"\\""#, r#""\u0000\b\f\"\\""#, r#""\u0000\b\f\"\\""#),
        ] {
            let json = Json::parse(text).expect("JSON");
            assert_eq!(dumped(&json, false), ascii);
            assert_eq!(dumped(&json, true), unicode);
        }
    }
}
