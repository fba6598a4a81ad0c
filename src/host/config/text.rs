//! The text of a file: JSON, or JSON with comments and trailing commas, as white space of the same length.
//!
//! **Invariant:** every value of the plain text stands where it stands in the file, so that errors can name lines and changes can
//! be made in the file itself.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::value::RawValue;

use super::error::{ConfigError, ConfigErrorKind, name_alone, shown_name};
use crate::json::Members;

/// A file's text as JSON.
pub(super) struct Plain {
    /// As the file, but for what JSON does not have.
    pub(super) text: String,
    /// Where the commas were that JSON does not have.
    pub(super) trailing: Vec<usize>,
    /// Where the comments were.
    pub(super) comments: Vec<std::ops::Range<usize>>,
    /// Where each line begins.
    lines: Vec<usize>,
}

/// The members of an object in their order.
pub(super) type Fields<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

impl Plain {
    /// # Errors
    /// When `text` is not JSON, or has comments and the feature `jsonc` is off.
    pub(super) fn of(text: &str) -> Result<Self, ConfigError> {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut plain = Self { text: text.to_owned(), trailing: Vec::new(), comments: Vec::new(), lines };
        if plain.text.starts_with('\u{feff}') {
            plain.text.replace_range(..3, "   "); // as editors on Windows begin a file
        }
        plain.blank_out()?;
        if plain.text.trim_ascii().is_empty() {
            return Err(ConfigError::new(
                ConfigErrorKind::Syntax,
                "the file is empty: expected a JSON object",
            ));
        }
        match serde_json::from_str::<&RawValue>(&plain.text) {
            Ok(_) => Ok(plain),
            Err(error) => Err(plain.syntax(&error)),
        }
    }

    /// The object that is the whole file.
    pub(super) fn root(&self) -> Result<&RawValue, ConfigError> {
        serde_json::from_str(&self.text).map_err(|error| self.syntax(&error))
    }

    /// serde_json's words, which have no value of the file in them, as only the grammar was checked.
    fn syntax(&self, error: &serde_json::Error) -> ConfigError {
        let text = error.to_string();
        let problem = text.split(" at line ").next().unwrap_or_default();
        let place = (error.line() > 0).then(|| (error.line(), error.column().max(1)));
        if let Some(error) = self.needs_jsonc() {
            return error;
        }
        ConfigError::new(ConfigErrorKind::Syntax, format!("not JSON: {problem}")).at(place)
    }

    /// Where a byte of the text is.
    pub(super) fn place(&self, at: usize) -> Option<(usize, usize)> {
        let line = self.lines.partition_point(|start| *start <= at);
        Some((line, at - self.lines.get(line.checked_sub(1)?)? + 1))
    }

    /// Where a part of the text begins.
    pub(super) fn offset(&self, part: &RawValue) -> usize {
        part.get().as_ptr().addr() - self.text.as_ptr().addr()
    }

    /// The line and column of a part of the text.
    pub(super) fn place_of(&self, part: &RawValue) -> Option<(usize, usize)> {
        self.place(self.offset(part))
    }

    /// The members of an object, names that are given twice included.
    pub(super) fn fields<'a>(&self, object: &'a RawValue) -> Result<Fields<'a>, ConfigError> {
        match Members::of(object) {
            Ok(members) => Ok(members.into_pairs()),
            Err(_) => Err(expected("an object", object).at(self.place_of(object))),
        }
    }

    /// Refuses a name that is given twice: which counts, differs between programs, and people see only one of them.
    pub(super) fn once(&self, fields: &Fields<'_>) -> Result<(), ConfigError> {
        let mut seen: HashMap<&str, &RawValue> = HashMap::new();
        for (name, value) in fields {
            if let Some(first) = seen.insert(name, value) {
                return Err(self.twice(first, value).inside(&name_alone(name)));
            }
        }
        Ok(())
    }

    /// The error about a name that stands in two places.
    pub(super) fn twice(&self, first: &RawValue, second: &RawValue) -> ConfigError {
        let line = |value| self.place_of(value).map_or(0, |(line, _)| line);
        let (one, other) = (line(first), line(second));
        let problem = if one == other {
            format!("given twice, both in line {one}")
        } else {
            format!("given twice, in lines {one} and {other}")
        };
        ConfigError::new(ConfigErrorKind::Duplicate, problem).at(self.place_of(second))
    }

    #[cfg(feature = "jsonc")]
    fn blank_out(&mut self) -> Result<(), ConfigError> {
        use jsonc_parser::{Scanner, ScannerOptions, tokens::Token};
        let options = ScannerOptions {
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let mut scanner = Scanner::new(&self.text, &options);
        // Whether a value ended before, and the comma after it.
        let (mut after_value, mut comma) = (false, None);
        loop {
            match scanner.scan() {
                Ok(Some(Token::CommentLine(_) | Token::CommentBlock(_))) => {
                    self.comments.push(scanner.token_start()..scanner.token_end());
                }
                Ok(Some(Token::Comma)) => {
                    comma = after_value.then(|| scanner.token_start());
                    after_value = false;
                }
                Ok(Some(Token::CloseBrace | Token::CloseBracket)) => {
                    if let Some(at) = comma.take() {
                        self.trailing.push(at);
                    }
                    after_value = true;
                }
                Ok(Some(token)) => {
                    comma = None;
                    after_value = !matches!(token, Token::OpenBrace | Token::OpenBracket | Token::Colon);
                }
                Ok(None) => break,
                Err(_) if self.text[scanner.token_start()..].starts_with("/*") => {
                    let place = self.place(scanner.token_start());
                    return Err(ConfigError::new(
                        ConfigErrorKind::Syntax,
                        "not JSON: a comment does not end",
                    )
                    .at(place));
                }
                // What is wrong there is said by who reads the JSON.
                Err(_) => break,
            }
        }
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        let commas = self.trailing.iter().map(|at| *at..at + 1);
        for blank in self.comments.iter().cloned().chain(commas) {
            for byte in &mut bytes[blank] {
                if !matches!(byte, b'\n' | b'\r') {
                    *byte = b' ';
                }
            }
        }
        self.text =
            String::from_utf8(bytes).unwrap_or_else(|_| unreachable!("whole tokens were blanked out"));
        Ok(())
    }

    #[cfg(not(feature = "jsonc"))]
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "with `jsonc` it can fail")]
    fn blank_out(&mut self) -> Result<(), ConfigError> {
        Ok(())
    }

    #[cfg(feature = "jsonc")]
    #[expect(clippy::unused_self, reason = "without `jsonc` it looks at the text")]
    fn needs_jsonc(&self) -> Option<ConfigError> {
        None
    }

    /// Whether it is a comment or a trailing comma that is no JSON here.
    #[cfg(not(feature = "jsonc"))]
    fn needs_jsonc(&self) -> Option<ConfigError> {
        let bytes = self.text.as_bytes();
        let (mut in_string, mut escaped, mut before) = (false, false, b'{');
        for (at, byte) in bytes.iter().enumerate() {
            if in_string {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' => escaped = true,
                    b'"' => in_string = false,
                    _ => {}
                }
                continue;
            }
            let last = before;
            if !byte.is_ascii_whitespace() {
                before = *byte;
            }
            let what = match byte {
                b'"' => {
                    in_string = true;
                    continue;
                }
                b'/' if matches!(bytes.get(at + 1), Some(b'/' | b'*')) => "a comment",
                b',' if !matches!(last, b'{' | b'[' | b',' | b':') => {
                    match bytes[at + 1..].iter().find(|next| !next.is_ascii_whitespace()) {
                        Some(b'}' | b']') => "a comma after the last of its kind",
                        _ => continue,
                    }
                }
                _ => continue,
            };
            let problem = format!("{what}, which this program reads only if built with the feature `jsonc`");
            return Some(ConfigError::new(ConfigErrorKind::NeedsJsonc, problem).at(self.place(at)));
        }
        None
    }
}

/// What kind of value this is, which says nothing of the value.
pub(super) fn kind(raw: &RawValue) -> &'static str {
    match raw.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

pub(super) fn expected(what: &str, found: &RawValue) -> ConfigError {
    ConfigError::value(format!("expected {what}, found {}", kind(found)))
}

/// The text in a string.
pub(super) fn string(raw: &RawValue) -> Result<String, ConfigError> {
    if kind(raw) != "a string" {
        return Err(expected("a string", raw));
    }
    crate::json::string(raw).map(Cow::into_owned).map_err(|_| ConfigError::value("not a string of Unicode"))
}

/// The strings in a list.
pub(super) fn strings<'a>(
    plain: &Plain,
    raw: &'a RawValue,
) -> Result<Vec<(String, &'a RawValue)>, ConfigError> {
    let items = items(raw)?.into_iter().enumerate();
    items
        .map(|(i, item)| match string(item) {
            Ok(text) => Ok((text, item)),
            Err(error) => Err(error.at(plain.place_of(item)).inside(&format!("[{i}]"))),
        })
        .collect()
}

/// The values in a list.
pub(super) fn items(raw: &RawValue) -> Result<Vec<&RawValue>, ConfigError> {
    serde_json::from_str(raw.get()).map_err(|_| expected("a list", raw))
}

/// A name in a text for people.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", shown_name(name))
}
