//! What is hidden before anything is written: by the name of a key, by a pattern, by value.
//!
//! **Invariant:** works on copies alone, and in time that is linear in what it is given, whatever that is.

mod glob;
mod keys;
mod object;
mod text;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use glob::Glob;
use keys::Keys;
pub(super) use object::push_string;

/// What stands for that which is hidden.
pub const REDACTED: &str = "[redacted]";

/// A value is hidden wherever it occurs if it is so long. What is shorter would blot out ordinary words, and so is hidden only
/// where it is the whole of a text.
const SHORT: usize = 4;

/// Which parts of arguments, results and texts are hidden from an audit log.
///
/// - **Keys.** A value is hidden if its key is one of those names, ends with one, or has one among its words; case, `_`, `-`
///   and `.` do not count. So `token` hides `access_token`, `GITHUB-TOKEN` and `tokenValue`, but not `max_tokens`. That goes for
///   members of JSON, for options in a list (`["--token", "x"]`), and for texts that say `token=x`, `"token": "x"` or
///   `--token x`. What is `null`, `true` or `false` is shown.
/// - **Patterns.** A glob hides what it matches in any text: `*` is any number of characters of a word, `?` is one. With
///   feature `patterns` there are regular expressions.
/// - **Passwords in URLs**, as in `https://user:password@host/`.
///
/// ```
/// use tinymcp::host::audit::Redaction;
///
/// let redaction = Redaction::new().with_key("pin").with_glob("acct-*");
/// assert_eq!(redaction.json(r#"{"user": "ada", "card_pin": 1234}"#), r#"{"user":"ada","card_pin":"[redacted]"}"#);
/// assert_eq!(redaction.text("no acct-77-1 at ?api_key=x1&page=2"), "no [redacted] at ?api_key=[redacted]&page=2");
/// ```
#[derive(Clone)]
pub struct Redaction {
    keys: Keys,
    globs: Vec<Glob>,
    #[cfg(feature = "patterns")]
    regexes: Vec<regex_lite::Regex>,
}

/// Names of keys that are hidden by default.
const KEYS: [&str; 24] = [
    "password",
    "passwords",
    "passwd",
    "pwd",
    "passphrase",
    "passcode",
    "token",
    "secret",
    "secrets",
    "authorization",
    "auth",
    "bearer",
    "jwt",
    "cookie",
    "credential",
    "credentials",
    "api_key",
    "access_key",
    "private_key",
    "secret_key",
    "signing_key",
    "encryption_key",
    "session_id",
    "connection_string",
];

/// What tokens of widely used services look like.
const GLOBS: [&str; 13] = [
    "Bearer *",
    "ghp_*",
    "gho_*",
    "ghs_*",
    "ghu_*",
    "github_pat_*",
    "glpat-*",
    "sk-ant-*",
    "sk-proj-*",
    "xoxb-*",
    "xoxp-*",
    "AKIA????????????????",
    "eyJ*.eyJ*.*",
];

impl Redaction {
    /// The names and patterns that are hidden by default: `password`, `token`, `secret`, `authorization`, `api_key`, `cookie`
    /// and the like, and what the tokens of widely used services look like.
    #[must_use]
    pub fn new() -> Self {
        let with_keys = KEYS.into_iter().fold(Self::none(), Self::with_key);
        GLOBS.into_iter().fold(with_keys, Self::with_glob)
    }

    /// Hides nothing but passwords in URLs, to add to.
    #[must_use]
    pub fn none() -> Self {
        Self {
            keys: Keys::default(),
            globs: Vec::new(),
            #[cfg(feature = "patterns")]
            regexes: Vec::new(),
        }
    }

    /// Also hides values by this name of their keys.
    #[must_use]
    pub fn with_key(mut self, name: &str) -> Self {
        self.keys.add(name);
        self
    }

    /// Also hides what this glob matches.
    #[must_use]
    pub fn with_glob(mut self, glob: &str) -> Self {
        self.globs.extend(Glob::new(glob));
        self
    }

    /// Also hides what this regular expression matches, in the syntax of the crate `regex-lite`. Feature `patterns`.
    ///
    /// # Errors
    /// With what is wrong with it.
    #[cfg(feature = "patterns")]
    pub fn with_regex(mut self, regex: &str) -> Result<Self, String> {
        self.regexes.push(regex_lite::Regex::new(regex).map_err(|e| format!("{regex}: {e}"))?);
        Ok(self)
    }

    /// `text` without what is hidden.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        Pass { rules: self, values: &[] }.text(text)
    }

    /// JSON without what is hidden, in one line.
    #[must_use]
    pub fn json(&self, json: &str) -> String {
        Pass { rules: self, values: &[] }.json(json, usize::MAX).0
    }
}

impl Default for Redaction {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Redaction {
    /// Without the names and patterns, which may tell something themselves.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redaction of {} keys and {} globs", self.keys.len(), self.globs.len())
    }
}

/// The rules, and the values that are hidden now.
pub(super) struct Pass<'a> {
    pub(super) rules: &'a Redaction,
    pub(super) values: &'a [String],
}

impl Pass<'_> {
    /// `text` without what is hidden.
    pub(super) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut spans = self.spans(text);
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        spans.sort_unstable_by_key(|span| span.start);
        let mut out = String::with_capacity(text.len());
        let mut shown = 0;
        for span in spans {
            if span.start >= shown {
                out.push_str(&text[shown..span.start]);
                out.push_str(REDACTED);
            }
            shown = shown.max(span.end);
        }
        out.push_str(&text[shown..]);
        Cow::Owned(out)
    }

    /// What is hidden of `text`, in any order.
    fn spans(&self, text: &str) -> Vec<Range<usize>> {
        let mut spans = Vec::new();
        for value in self.values {
            if value.len() >= SHORT {
                spans.extend(text.match_indices(value.as_str()).map(|(at, found)| at..at + found.len()));
            } else if value == text {
                spans.push(0..text.len());
            }
        }
        text::assigned(text, &self.rules.keys, &mut spans);
        text::passwords_of_urls(text, &mut spans);
        for glob in &self.rules.globs {
            glob.find_all(text, &mut spans);
        }
        #[cfg(feature = "patterns")]
        for regex in &self.rules.regexes {
            spans.extend(regex.find_iter(text).map(|found| found.range()).filter(|span| !span.is_empty()));
        }
        spans
    }
}

#[cfg(test)]
mod tests;
