//! The strings of JSON that is kept as text: cleaned where they stand, so that everything else stays as it came.

use std::borrow::Cow;

use super::caps::{cut, head};
use super::visible::visible;
use crate::json::{Json, repair_surrogates};

/// What was done to a text.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Characters were written out.
    pub(super) controls: bool,
    /// It was cut, or something was left out.
    pub(super) cut: bool,
}

impl Changes {
    pub(super) fn any(self) -> bool {
        self.controls || self.cut
    }
}

/// A text without what is not seen, and of at most `most` bytes; `None` if it is so already.
pub(super) fn clean(text: &str, most: usize, is_line: bool, changes: &mut Changes) -> Option<String> {
    // No more is looked at than is passed on.
    let shown = head(text, most);
    let mut out = match if is_line { super::visible_line(shown) } else { visible(shown) } {
        Cow::Borrowed(_) if shown.len() == text.len() => return None,
        Cow::Borrowed(shown) => shown.to_owned(),
        Cow::Owned(written) => {
            changes.controls = true;
            written
        }
    };
    if shown.len() < text.len() || out.len() > most {
        changes.cut = true;
        let bytes = text.len().max(out.len());
        cut(&mut out, bytes, most, is_line);
    }
    Some(out)
}

/// JSON whose strings, names of members included, are [`clean`]; `None` if they are so already.
pub(super) fn clean_json(json: &Json, most: usize, changes: &mut Changes) -> Option<Json> {
    let text = json.as_str();
    let is_plain = |part: &[u8]| part.iter().all(|b| *b < 0x7f && *b != b'\\');
    if text.len() <= most && is_plain(text.as_bytes()) {
        return None;
    }
    let bytes = text.as_bytes();
    let (mut out, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(offset) = bytes[at..].iter().position(|b| *b == b'"') {
        let start = at + offset;
        let end = end_of_string(bytes, start + 1);
        at = end + 1;
        let token = &text[start..at.min(text.len())];
        if token.len() <= most && is_plain(token.as_bytes()) {
            continue;
        }
        let Some(said) = unquoted(token) else { continue };
        if let Some(cleaned) = clean(&said, most, false, changes) {
            out.push_str(&text[copied..start]);
            out.push_str(Json::from(cleaned).as_str());
            copied = at;
        }
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&text[copied..]);
    Json::parse(&out).ok()
}

/// Where the string that begins at `start` ends.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut escaped = false;
    for (offset, b) in bytes[start..].iter().enumerate() {
        match b {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return start + offset,
            _ => {}
        }
    }
    bytes.len()
}

fn unquoted(token: &str) -> Option<String> {
    serde_json::from_str(token)
        .or_else(|e| repair_surrogates(token).map_or(Err(e), |text| serde_json::from_str(&text)))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_cleaned_and_all_else_stays() {
        let clean = |text: &str, most| {
            let mut changes = Changes::default();
            clean_json(&Json::parse(text).expect(text), most, &mut changes)
                .map(|json| json.as_str().to_owned())
        };
        let exact = r#"{"n":18446744073709551616,"f":1.10,"e":1E400,"é":"\u00e9\n","a":[ ]}"#;
        assert_eq!(clean(exact, 1000), None);
        for (text, want) in [
            (
                r#"{"n":18446744073709551616,"t":"a\u202eb"}"#,
                r#"{"n":18446744073709551616,"t":"a\\u{202e}b"}"#,
            ),
            ("[\"a\u{200b}\", 1.10, \"\\u001b[0m\"]", r#"["a\\u{200b}", 1.10, "\\u{1b}[0m"]"#),
            ("{\"k\u{202e}\":1}", r#"{"k\\u{202e}":1}"#),
            (r#""\ud83d \u001b""#, "\"\u{fffd} \\\\u{1b}\""),
            ("\"\u{7f}\"", r#""\\u{7f}""#),
        ] {
            assert_eq!(clean(text, 1000).as_deref(), Some(want), "{text}");
            assert_eq!(clean(want, 1000), None, "{want}");
        }
        let cut = clean(&format!(r#"{{"a":"{}","b":1}}"#, "é".repeat(500)), 300).expect("cut");
        assert!(cut.contains("cut here: there are 1000 bytes") && cut.ends_with(r#"","b":1}"#), "{cut}");
        assert_eq!(clean(&cut, 300), None);
    }
}
