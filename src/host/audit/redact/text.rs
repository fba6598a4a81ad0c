//! What is hidden of plain text: values after the name of a key, passwords of URLs.

use std::ops::Range;

use super::keys::Keys;

/// So far back a key is looked for.
const MAX_KEY_BYTES: usize = 128;

/// Finds `key=value`, `key: value`, `"key": "value"` and `--key value`.
pub(super) fn assigned(text: &str, keys: &Keys, spans: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(offset) = bytes[at..].iter().position(|b| matches!(b, b':' | b'=' | b'-')) {
        let found = at + offset;
        at = found + 1;
        let value = match bytes[found] {
            b'-' => after_option(text, found, keys),
            _ => after_key(text, found, keys),
        };
        if let Some(value) = value {
            at = value.end.max(at);
            spans.push(value);
        }
    }
}

fn is_key(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

fn is_quote(b: u8) -> bool {
    matches!(b, b'"' | b'\'' | b'`')
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t')
}

/// The value after the sign at `sign`, if a key that is hidden stands before it.
fn after_key(text: &str, sign: usize, keys: &Keys) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let next = bytes.get(sign + 1);
    let is_path = bytes[sign] == b':' && (next == Some(&b':') || text[sign + 1..].starts_with("//"));
    if is_path {
        return None;
    }
    let head = text[..sign].trim_end_matches([' ', '\t']).trim_end_matches(['"', '\'', '`', '\\']);
    let mut from = head.len().saturating_sub(MAX_KEY_BYTES);
    while !head.is_char_boundary(from) {
        from += 1;
    }
    let key = &head[from..];
    let key = key.rfind(|c| !is_key(c)).map_or(key, |at| key[at..].trim_start_matches(|c| !is_key(c)));
    if key.is_empty() || !keys.matches(key) {
        return None;
    }
    let mut from = sign + 1;
    // `==`, `=>`, `:=`
    while bytes.get(from).is_some_and(|b| matches!(b, b'=' | b'>')) {
        from += 1;
    }
    let value = value(text, from)?;
    let is_header = ends_with(key, "authorization") || ends_with(key, "cookie");
    let is_in_quotes = value.start > 0 && is_quote(bytes[value.start - 1]);
    if is_header && !is_in_quotes {
        // Several words, or several cookies.
        let line = &text[value.start..];
        let end = line.find(['\n', '\r', '"', '\'', '\\']).unwrap_or(line.len());
        return Some(value.start..value.end.max(value.start + end));
    }
    Some(value)
}

fn ends_with(key: &str, end: &str) -> bool {
    key.len().checked_sub(end.len()).and_then(|at| key.get(at..)).is_some_and(|t| t.eq_ignore_ascii_case(end))
}

/// The value after `--key` and a space, if the key is hidden.
fn after_option(text: &str, dash: usize, keys: &Keys) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let is_start = dash == 0 || bytes[dash - 1].is_ascii_whitespace() || is_quote(bytes[dash - 1]);
    if !is_start {
        return None;
    }
    let name = text[dash..].trim_start_matches('-');
    let end = name.find(|c| !is_key(c)).unwrap_or(name.len());
    let from = text.len() - name.len() + end;
    if end == 0
        || end > MAX_KEY_BYTES
        || !bytes.get(from).is_some_and(|b| is_space(*b))
        || !keys.matches(&name[..end])
    {
        return None;
    }
    value(text, from).filter(|value| bytes[value.start] != b'-')
}

/// The value that begins at `from` or after the spaces there.
fn value(text: &str, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let start = from + bytes[from..].iter().position(|b| !is_space(*b))?;
    let slashes = bytes[start..].iter().take_while(|b| **b == b'\\').count();
    let opening = bytes.get(start + slashes).copied().unwrap_or_default();
    let value = if is_quote(opening) {
        quoted(bytes, start + slashes + 1, opening, slashes)
    } else if matches!(bytes[start], b'{' | b'[') {
        start..closed(bytes, start)
    } else {
        bare(text, start)
    };
    let is_plain = matches!(&text[value.clone()], "" | "null" | "true" | "false");
    // What was hidden already stays as it is, so that hiding twice changes nothing.
    (!is_plain && !text[value.start..].starts_with(super::REDACTED)).then_some(value)
}

/// Up to the quote that is escaped no more than the one before `start`.
fn quoted(bytes: &[u8], start: usize, quote: u8, slashes: usize) -> Range<usize> {
    let mut run = 0;
    for (offset, b) in bytes[start..].iter().enumerate() {
        if *b == quote && run <= slashes {
            return start..start + offset - run;
        }
        run = if *b == b'\\' { run + 1 } else { 0 };
    }
    start..bytes.len()
}

/// The end of the brackets that open at `start`.
fn closed(bytes: &[u8], start: usize) -> usize {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (offset, b) in bytes[start..].iter().enumerate() {
        match b {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return start + offset + 1;
                }
            }
            _ => {}
        }
    }
    bytes.len()
}

/// A word; two if the first says what kind of credential the second is.
fn bare(text: &str, start: usize) -> Range<usize> {
    let ends = |c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '&' | ',' | ';' | ')' | '}' | ']' | '<' | '\\')
    };
    let word = |from: usize| from..text[from..].find(ends).map_or(text.len(), |end| from + end);
    let first = word(start);
    let is_scheme =
        ["bearer", "basic", "digest", "token"].iter().any(|s| text[first.clone()].eq_ignore_ascii_case(s));
    let spaces = text[first.end..].bytes().take_while(|b| is_space(*b)).count();
    if is_scheme && spaces > 0 { start..word(first.end + spaces).end } else { first }
}

/// Finds the password of `scheme://user:password@host`.
pub(super) fn passwords_of_urls(text: &str, spans: &mut Vec<Range<usize>>) {
    for (at, sign) in text.match_indices("://") {
        let start = at + sign.len();
        let ends =
            |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '<' | '>' | '\\');
        let authority = &text[start..text[start..].find(ends).map_or(text.len(), |end| start + end)];
        let Some((user, _)) = authority.rsplit_once('@') else { continue };
        if let Some((name, password)) = user.split_once(':').filter(|(_, password)| !password.is_empty()) {
            let start = start + name.len() + 1;
            spans.push(start..start + password.len());
        }
    }
}
