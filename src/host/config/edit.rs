//! Changing members of objects in the text of a file, so that everything else in it stays as it is: comments, order, spelling.

use std::ops::Range;

use serde_json::value::RawValue;

use super::text::{Fields, Plain};

/// Changes to one text. They are collected first and made together, as all places are those of the text before.
pub(super) struct Editor<'a> {
    original: &'a str,
    plain: &'a Plain,
    /// What is between a line's indentation and that of what it holds.
    unit: String,
    newline: &'static str,
    edits: Vec<(Range<usize>, String)>,
}

/// What happens to a member.
pub(super) enum Change {
    /// Its value becomes this JSON.
    Set(String),
    Remove,
}

impl<'a> Editor<'a> {
    pub(super) fn new(original: &'a str, plain: &'a Plain) -> Self {
        let newline = if original.contains("\r\n") { "\r\n" } else { "\n" };
        let indented = original.lines().find(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty());
        let unit = indented.map_or("  ", |line| &line[..line.len() - line.trim_start().len()]);
        // A long one is no indentation but a text that is aligned.
        let unit = if unit.len() > 8 { "  " } else { unit };
        Self { original, plain, unit: unit.to_owned(), newline, edits: Vec::new() }
    }

    /// Puts `json` in the place of a value.
    pub(super) fn replace(&mut self, value: &RawValue, json: &str) {
        let start = self.plain.offset(value);
        let json = self.pretty(json, self.indentation(start));
        self.edits.push((start..start + value.get().len(), json));
    }

    /// Changes members of `object`, by their number in `fields`, which are all of its members; adds new ones at its end.
    pub(super) fn members(
        &mut self,
        object: &RawValue,
        fields: &Fields<'_>,
        changes: Vec<(usize, Change)>,
        added: &[(String, String)],
    ) {
        let mut removed = vec![false; fields.len()];
        for (i, change) in changes {
            match change {
                Change::Set(json) => self.replace(fields[i].1, &json),
                Change::Remove => removed[i] = true,
            }
        }
        let start = self.plain.offset(object);
        let close = start + object.get().len() - 1;
        let ends: Vec<usize> =
            fields.iter().map(|(_, raw)| self.plain.offset(raw) + raw.get().len()).collect();
        let kept = removed.iter().rposition(|removed| !removed);
        let mut end = self.original[..close].trim_ascii_end().len();

        // What goes, goes with the comments before it and behind it in its line.
        let mut i = 0;
        while i < fields.len() {
            let first = i;
            while i < fields.len() && removed[i] {
                i += 1;
            }
            if first == i {
                i += 1;
                continue;
            }
            let from = if first == 0 { start + 1 } else { self.after_comma(ends[first - 1], close) };
            let to = self.after_comma(ends[i - 1], close);
            // A comment that ends with its line keeps the end of it.
            let (from, to) = match self.line_end(to) {
                Some(end) => (self.line_end(from).unwrap_or(from), end),
                None => (from, to),
            };
            self.edits.push((from..to, String::new()));
            end = end.max(if i == fields.len() { to } else { 0 });
        }
        if let Some(last) = kept {
            let comma = self.comma(ends[last], close);
            let has_trailing = ends.last().is_some_and(|end| self.comma(*end, close).is_some());
            match comma {
                None if !added.is_empty() => self.edits.push((ends[last]..ends[last], ",".into())),
                Some(at) if added.is_empty() && last + 1 < fields.len() && !has_trailing => {
                    self.edits.push((at..at + 1, String::new()));
                }
                _ => {}
            }
        }

        if added.is_empty() {
            return;
        }
        let outer = self.indentation(start);
        let inner = match fields.first().map(|(_, raw)| self.key_start(raw)) {
            Some(first) if self.is_first_of_line(first) => self.indentation(first).to_owned(),
            _ => format!("{outer}{}", self.unit),
        };
        let mut text = String::new();
        for (i, (name, json)) in added.iter().enumerate() {
            let comma = if i + 1 < added.len() { "," } else { "" };
            let name = crate::json::Json::from(name.as_str());
            let json = self.pretty(json, &inner);
            text += &format!("{}{inner}{name}: {json}{comma}", self.newline);
        }
        if !self.original[end..close].contains('\n') {
            text += &format!("{}{outer}", self.newline);
        }
        self.edits.push((end..end, text));
    }

    /// The comma that follows a value, before `close`: one that JSON has, or not.
    fn comma(&self, end: usize, close: usize) -> Option<usize> {
        let trailing = self.plain.trailing.partition_point(|at| *at < end);
        let trailing = self.plain.trailing.get(trailing).copied().filter(|at| *at < close);
        let next = self.plain.text[end..close].find(|c: char| !c.is_ascii_whitespace()).map(|at| end + at);
        next.or(trailing)
    }

    fn after_comma(&self, end: usize, close: usize) -> usize {
        self.comma(end, close).map_or(end, |comma| comma + 1)
    }

    /// The end of the line of `at`, if nothing but comments is between.
    fn line_end(&self, at: usize) -> Option<usize> {
        let rest = &self.plain.text[at..];
        let end = at + rest.find(['\r', '\n']).unwrap_or(rest.len());
        let is_blank = self.plain.text[at..end].bytes().all(|byte| byte.is_ascii_whitespace());
        let before = self.plain.comments.partition_point(|comment| comment.start < end);
        let is_in_comment = before > 0 && end < self.plain.comments[before - 1].end;
        (is_blank && !is_in_comment).then_some(end)
    }

    /// The text with all changes.
    pub(super) fn finish(mut self) -> String {
        // In one place, what goes comes after what is put there.
        self.edits.sort_by_key(|(range, _)| (range.start, range.end));
        let (mut out, mut at) = (String::with_capacity(self.original.len()), 0);
        for (range, text) in self.edits {
            out += &self.original[at..range.start];
            out += &text;
            at = range.end;
        }
        out + &self.original[at..]
    }

    /// Where the name begins whose value this is. Only white space and the colon are between, and no quote before a name is escaped.
    fn key_start(&self, value: &RawValue) -> usize {
        let bytes = &self.plain.text.as_bytes()[..self.plain.offset(value)];
        let last =
            |bytes: &[u8], wanted: u8| bytes.iter().rposition(|byte| *byte == wanted).unwrap_or_default();
        let mut at = last(&bytes[..last(bytes, b':')], b'"');
        loop {
            at = last(&bytes[..at], b'"');
            let escapes = bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
            if escapes % 2 == 0 {
                return at;
            }
        }
    }

    /// The white space that the line of `at` begins with.
    fn indentation(&self, at: usize) -> &'a str {
        let line = &self.original[self.original[..at].rfind('\n').map_or(0, |end| end + 1)..];
        let end = line.find(|c| c != ' ' && c != '\t').unwrap_or(line.len());
        &line[..end]
    }

    fn is_first_of_line(&self, at: usize) -> bool {
        let line = self.original[..at].rfind('\n').map(|end| end + 1);
        line.is_some_and(|start| self.original[start..at].bytes().all(|byte| matches!(byte, b' ' | b'\t')))
    }

    /// `json`, which is one line, with a line for each member of an object. Numbers and strings stay as they are.
    fn pretty(&self, json: &str, indentation: &str) -> String {
        let mut out = String::new();
        let mut depth = 0;
        let (mut in_string, mut escaped) = (false, false);
        // Which of the open ones are lists of short texts: those stay in one line.
        let mut lists: Vec<bool> = Vec::new();
        let mut chars = json.chars().peekable();
        let line = |out: &mut String, depth: usize| {
            out.push_str(self.newline);
            out.push_str(indentation);
            out.extend(std::iter::repeat_n(self.unit.as_str(), depth.min(64)));
        };
        while let Some(c) = chars.next() {
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
                '{' if chars.peek() == Some(&'}') => {
                    out.push_str("{}");
                    chars.next();
                }
                '{' => {
                    out.push(c);
                    lists.push(false);
                    depth += 1;
                    line(&mut out, depth);
                }
                '}' => {
                    lists.pop();
                    depth -= 1;
                    line(&mut out, depth);
                    out.push(c);
                }
                '[' => {
                    lists.push(true);
                    out.push(c);
                }
                ']' => {
                    lists.pop();
                    out.push(c);
                }
                ',' if lists.last() == Some(&true) => out.push_str(", "),
                ',' => {
                    out.push(c);
                    line(&mut out, depth);
                }
                ':' => out.push_str(": "),
                ' ' | '\t' | '\r' | '\n' => {}
                c => out.push(c),
            }
        }
        out
    }
}
