//! What is hidden of JSON, which may be cut off at its end.

use std::borrow::Cow;

use super::{Pass, REDACTED};

/// Beyond what is shown of a string so much of it is looked at, so that what is hidden by a pattern is not cut in two.
const BEYOND: usize = 64 * 1024;

impl Pass<'_> {
    /// JSON text without what is hidden and without white space, and whether it is whole. It ends a little after `limit` bytes.
    pub(in super::super) fn json(&self, json: &str, limit: usize) -> (String, bool) {
        let mut scan = Scan {
            pass: self,
            json,
            at: 0,
            out: String::with_capacity(json.len().min(limit).min(4096)),
            limit,
            objects: Vec::new(),
            is_key: false,
            is_hidden: false,
            is_whole: true,
        };
        scan.run();
        (scan.out, scan.is_whole)
    }
}

struct Scan<'a> {
    pass: &'a Pass<'a>,
    json: &'a str,
    at: usize,
    out: String,
    limit: usize,
    /// What is open: `true` for an object.
    objects: Vec<bool>,
    /// The next string is a name.
    is_key: bool,
    /// The next value is hidden.
    is_hidden: bool,
    is_whole: bool,
}

impl Scan<'_> {
    fn run(&mut self) {
        let bytes = self.json.as_bytes();
        while let Some(b) = bytes.get(self.at).copied() {
            if self.out.len() > self.limit {
                self.is_whole = false;
                return;
            }
            match b {
                b'"' => self.string(),
                b'{' | b'[' if self.is_hidden => self.skip_container(),
                b'{' | b'[' => {
                    self.objects.push(b == b'{');
                    self.is_key = b == b'{';
                    self.sign(b);
                }
                b'}' | b']' => {
                    self.objects.pop();
                    self.is_key = false;
                    self.sign(b);
                }
                b',' => {
                    self.is_key = self.objects.last() == Some(&true);
                    self.sign(b);
                }
                b':' => self.sign(b),
                _ if b.is_ascii_whitespace() => self.at += 1,
                _ => self.literal(),
            }
        }
        self.is_whole &= self.objects.is_empty();
    }

    fn sign(&mut self, b: u8) {
        self.out.push(char::from(b));
        self.at += 1;
    }

    fn string(&mut self) {
        let start = self.at + 1;
        let (end, is_closed) = end_of_string(self.json.as_bytes(), start);
        self.at = if is_closed { end + 1 } else { end };
        self.is_whole &= is_closed;
        let raw = &self.json[start..end];
        if std::mem::take(&mut self.is_hidden) && !self.is_key {
            self.hide();
            return;
        }
        let most = self.limit.saturating_sub(self.out.len()).saturating_add(BEYOND);
        let (text, is_all) = unescaped(raw, most);
        self.is_whole &= is_all;
        let shown = self.pass.text(&text);
        if is_all && is_closed && matches!(shown, Cow::Borrowed(_)) {
            self.out.push('"');
            self.out.push_str(raw);
            self.out.push('"');
        } else {
            push_string(&mut self.out, &shown);
        }
        if self.is_key {
            self.is_key = false;
            self.is_hidden = self.pass.rules.keys.matches(&text);
        } else if text.starts_with("--") && self.objects.last() == Some(&false) {
            // `["--token", "x"]`, but not `["--token=x", "y"]`
            self.is_hidden = !text.contains('=') && self.pass.rules.keys.matches(&text);
        }
    }

    /// A number, `true`, `false` or `null`.
    fn literal(&mut self) {
        let rest = &self.json[self.at..];
        let end = rest.find(|c: char| matches!(c, ',' | '}' | ']' | '"') || c.is_ascii_whitespace());
        let word = &rest[..end.unwrap_or(rest.len())];
        self.at += word.len();
        let is_number = !matches!(word, "true" | "false" | "null");
        if std::mem::take(&mut self.is_hidden) && is_number
            || self.pass.values.iter().any(|value| value == word)
        {
            self.hide();
        } else {
            self.out.push_str(word);
        }
    }

    fn hide(&mut self) {
        push_string(&mut self.out, REDACTED);
    }

    fn skip_container(&mut self) {
        self.is_hidden = false;
        self.hide();
        let bytes = self.json.as_bytes();
        let mut depth = 0_usize;
        while let Some(b) = bytes.get(self.at) {
            self.at += 1;
            match b {
                b'"' => {
                    let (end, is_closed) = end_of_string(bytes, self.at);
                    self.at = if is_closed { end + 1 } else { end };
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        return;
                    }
                }
                _ => {}
            }
        }
        self.is_whole = false;
    }
}

/// Where the string that begins at `start` ends, and whether a quote is there.
fn end_of_string(bytes: &[u8], start: usize) -> (usize, bool) {
    let mut escaped = false;
    for (offset, b) in bytes[start..].iter().enumerate() {
        match b {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return (start + offset, true),
            _ => {}
        }
    }
    (bytes.len(), false)
}

/// What a string says, up to `most` bytes, and whether that is all of it.
fn unescaped(raw: &str, most: usize) -> (Cow<'_, str>, bool) {
    let mut cut = raw.len().min(most);
    while !raw.is_char_boundary(cut) {
        cut -= 1;
    }
    if !raw.as_bytes()[..cut].contains(&b'\\') {
        return (Cow::Borrowed(&raw[..cut]), cut == raw.len());
    }
    // An escape has at most six bytes for one of text.
    let mut last = raw.len().min(most.saturating_mul(6));
    while !raw.is_char_boundary(last) {
        last -= 1;
    }
    let mut text = String::with_capacity(cut);
    let mut rest = &raw[..last];
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if text.len() >= most {
            break;
        }
        let Some(c) = rest.chars().next() else { return (Cow::Owned(text), false) };
        rest = &rest[c.len_utf8()..];
        match c {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            'u' => {
                let unit = |text: &str| u32::from_str_radix(text.get(..4)?, 16).ok();
                let Some(first) = unit(rest) else { return (Cow::Owned(text), false) };
                rest = &rest[4..];
                let second =
                    rest.strip_prefix("\\u").and_then(unit).filter(|unit| (0xDC00..0xE000).contains(unit));
                let code = match second.filter(|_| (0xD800..0xDC00).contains(&first)) {
                    Some(second) => {
                        rest = &rest[6..];
                        0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00)
                    }
                    None => first,
                };
                text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            other => text.push(other),
        }
    }
    text.push_str(rest);
    let is_all = text.len() <= most && last == raw.len();
    if text.len() > most {
        let mut cut = most;
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        text.truncate(cut);
    }
    (Cow::Owned(text), is_all)
}

/// Appends `text` as a JSON string.
pub(in super::super) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    let mut copied = 0;
    for (at, b) in text.bytes().enumerate() {
        if b >= 0x20 && b != b'"' && b != b'\\' {
            continue;
        }
        out.push_str(&text[copied..at]);
        copied = at + 1;
        match b {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                out.push_str("\\u00");
                out.push(char::from(HEX[usize::from(b >> 4)]));
                out.push(char::from(HEX[usize::from(b & 15)]));
            }
        }
    }
    out.push_str(&text[copied..]);
    out.push('"');
}
