//! JSON text, laid out for reading: its strings and numbers stay as they are written.

/// Deeper levels are not moved in further.
const MAX_INDENT: usize = 16;

/// Lays out the beginning of `json`, at most about `room` bytes. The second value is how many bytes of the JSON text that was.
pub(super) fn pretty(json: &str, room: usize) -> (String, usize) {
    let mut out = String::new();
    let mut depth = 0_usize;
    let (mut in_string, mut escaped) = (false, false);
    let mut chars = json.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if out.len() >= room {
            return (out, at);
        }
        if in_string {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
            out.push(c);
            continue;
        }
        match c {
            '"' => {
                in_string = true;
                out.push(c);
            }
            '{' | '[' => {
                out.push(c);
                let closes = chars.peek().is_some_and(|(_, next)| matches!(next, '}' | ']'));
                depth += 1;
                if !closes {
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                if !out.ends_with(['{', '[']) {
                    new_line(&mut out, depth);
                }
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    (out, json.len())
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth.min(MAX_INDENT)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_text() {
        let json = r#"{"a":9007199254740993,"b":[1.0,{}],"c":"x:{,\"","d":[]}"#;
        let want = "{\n  \"a\": 9007199254740993,\n  \"b\": [\n    1.0,\n    {}\n  ],\n  \"c\": \"x:{,\\\"\",\n  \"d\": []\n}";
        assert_eq!(pretty(json, 1000), (want.to_owned(), json.len()));
        let (cut, used) = pretty(json, 20);
        assert!(want.starts_with(&cut) && used < json.len() && cut.len() >= 20, "{cut}");
        let deep = "[".repeat(10_000);
        assert!(pretty(&deep, usize::MAX).0.len() < 10_000 * (2 + 2 * MAX_INDENT));
    }
}
