//! [`Redaction`]: what is kept out of recordings.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::json::{FromJson, Json, Members, nested};
use crate::protocol::ToolDefinition;

/// What stands in place of what was taken out.
const REDACTED: &str = "\"[redacted]\"";

type TextChange = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;
type Change = Arc<dyn Fn(&str, &Json) -> Option<Json> + Send + Sync>;

/// What is kept out of recordings: members by their names, texts by what they look like, and whatever a closure replaces.
///
/// It works on the copy that is recorded. What passes between program and server is never changed.
///
/// Names and texts are found at any depth of arguments, results, questions, answers, observations and definitions of tools, and in
/// JSON that stands as text inside a string, as structured results do in their text; names in whatever case they are written. The
/// closures of [`with`](Self::with) see each of those whole, by the name it has in the [event](super::Event) (`arguments`,
/// `result`, `uri`, `tools`, …), after that.
///
/// A definition says what a parameter is called and may be, and keeps that: of one whose name is kept out it loses `default`,
/// `const`, `enum` and `examples`.
///
/// ```
/// use tinymcp::json::Json;
/// use tinymcp::trajectory::Redaction;
///
/// let redaction = Redaction::new()
///     .keys(["token"])
///     .texts(|text| text.contains("ghp_").then(|| "[a token]".to_owned()))
///     .with(|member, json| (member == "arguments" && json.as_str().contains("sk-")).then(|| Json::from("[a key]")));
/// let read = |text| Json::parse(text).expect("JSON");
/// assert_eq!(
///     redaction.apply("result", &read(r#"{"Token":[1],"text":"{\"token\":5}","id":9007199254740993}"#)).as_str(),
///     r#"{"Token":"[redacted]","text":"{\"token\":\"[redacted]\"}","id":9007199254740993}"#,
/// );
/// assert_eq!(redaction.apply("result", &read(r#"["use ghp_16C7 here", "or"]"#)).as_str(), r#"["[a token]","or"]"#);
/// assert_eq!(redaction.apply("arguments", &read(r#"{"auth":"sk-1"}"#)), Json::from("[a key]"));
/// ```
#[derive(Clone, Default)]
pub struct Redaction {
    /// In lower case.
    keys: BTreeSet<String>,
    texts: Vec<TextChange>,
    changes: Vec<Change>,
}

impl Redaction {
    /// Keeps nothing out so far.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the values of members out that have one of these names.
    #[must_use]
    pub fn keys<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.keys.extend(names.into_iter().map(|name| name.as_ref().to_lowercase()));
        self
    }

    /// Records what `change` gives in place of a string, which it is shown without quotes and escapes; `None` leaves that as it
    /// is. If it panics, nothing of what that string is part of is recorded.
    #[must_use]
    pub fn texts(mut self, change: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        self.texts.push(Arc::new(change));
        self
    }

    /// Takes out of strings what this regular expression matches, in the syntax of the crate `regex-lite`. Feature `patterns`.
    ///
    /// # Errors
    /// With what is wrong with it.
    #[cfg(feature = "patterns")]
    pub fn regex(self, regex: &str) -> Result<Self, String> {
        let regex = regex_lite::Regex::new(regex).map_err(|e| format!("{regex}: {e}"))?;
        Ok(self.texts(move |text| match regex.replace_all(text, "[redacted]") {
            Cow::Owned(changed) => Some(changed),
            Cow::Borrowed(_) => None,
        }))
    }

    /// Records what `change` gives in place of what it is shown; `None` leaves that as it is. If it panics, nothing of what it was
    /// shown is recorded.
    #[must_use]
    pub fn with(mut self, change: impl Fn(&str, &Json) -> Option<Json> + Send + Sync + 'static) -> Self {
        self.changes.push(Arc::new(change));
        self
    }

    /// Whether nothing is kept out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.texts.is_empty() && self.changes.is_empty()
    }

    /// What is recorded of `json`, which is the `member` of an event.
    #[must_use]
    pub fn apply(&self, member: &str, json: &Json) -> Json {
        self.apply_in(Place::Values, member, json)
    }

    /// What is recorded of a list of tools; `None` if that is no such list any more.
    pub(super) fn definitions<'a>(&self, tools: &'a [ToolDefinition]) -> Option<Cow<'a, [ToolDefinition]>> {
        if self.is_empty() {
            return Some(Cow::Borrowed(tools));
        }
        let redacted = self.apply_in(Place::Schemas, "tools", &Json::new(tools).ok()?);
        redacted.to().map(Cow::Owned).ok()
    }

    fn apply_in(&self, place: Place, member: &str, json: &Json) -> Json {
        catch_unwind(AssertUnwindSafe(|| {
            let json = match self.keys.is_empty() && self.texts.is_empty() {
                true => json.clone(),
                false => self.without_parts(json.as_raw(), place),
            };
            self.changes.iter().fold(json, |json, change| change(member, &json).unwrap_or(json))
        }))
        .unwrap_or_else(|_| {
            log::error!("a redaction panicked, and {member} is not recorded");
            Json::from("[redacted]")
        })
    }

    fn without_parts(&self, raw: &RawValue, place: Place) -> Json {
        let mut out = String::with_capacity(raw.get().len());
        self.write(&mut out, raw, place);
        // Only whole values are put in the place of others.
        Json::parse(&out).unwrap_or_else(|_| Json::from("[redacted]"))
    }

    fn write(&self, out: &mut String, raw: &RawValue, place: Place) {
        // What is nested too deep to be looked at is not recorded.
        if nested(|| self.write_parts(out, raw, place)).is_none() {
            out.push_str(REDACTED);
        }
    }

    fn write_parts(&self, out: &mut String, raw: &RawValue, place: Place) {
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'{') => match Members::of(raw) {
                Ok(members) => self.write_members(out, &members, place),
                Err(_) => out.push_str(REDACTED),
            },
            Some(b'[') => match serde_json::from_str::<Vec<&RawValue>>(text) {
                Ok(items) => {
                    out.push('[');
                    for (i, item) in items.into_iter().enumerate() {
                        if i > 0 {
                            out.push(',');
                        }
                        self.write(out, item, place.in_list());
                    }
                    out.push(']');
                }
                Err(_) => out.push_str(REDACTED),
            },
            Some(b'"') => self.write_string(out, raw),
            _ => out.push_str(text),
        }
    }

    fn write_members(&self, out: &mut String, members: &Members<'_>, place: Place) {
        out.push('{');
        let mut is_first = true;
        for (name, value) in members.iter() {
            if place == Place::Hidden && EXAMPLES.contains(&name) {
                continue;
            }
            if !std::mem::take(&mut is_first) {
                out.push(',');
            }
            out.push_str(Json::from(self.text(name).as_ref()).as_str());
            out.push(':');
            match (self.keys.contains(&name.to_lowercase()), place.of(name)) {
                // What a parameter may be is no secret.
                (true, Place::Schemas) if place == Place::Properties => self.write(out, value, Place::Hidden),
                (true, _) => out.push_str(REDACTED),
                (false, place) => self.write(out, value, place),
            }
        }
        out.push('}');
    }

    /// A string may be JSON itself.
    fn write_string(&self, out: &mut String, raw: &RawValue) {
        let text = raw.get();
        let begins = text.trim_start_matches(['"', ' ']).starts_with(['{', '[', '\\']);
        if !begins && self.texts.is_empty() {
            return out.push_str(text);
        }
        let Ok(whole) = String::from_json(raw) else { return out.push_str(REDACTED) };
        let inner = begins.then(|| serde_json::from_str::<&RawValue>(whole.trim()).ok()).flatten();
        if let Some(inner) = inner.filter(|inner| inner.get().starts_with(['{', '['])) {
            let mut changed = String::new();
            self.write(&mut changed, inner, Place::Values);
            // As it was, white space and all, if there is nothing to be kept out.
            match changed == crate::json::one_line(inner.get()) {
                true => out.push_str(text),
                false => out.push_str(Json::from(changed).as_str()),
            }
            return;
        }
        match self.text(&whole) {
            Cow::Borrowed(_) => out.push_str(text),
            Cow::Owned(changed) => out.push_str(Json::from(changed).as_str()),
        }
    }

    fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.texts.iter().fold(Cow::Borrowed(text), |text, change| match change(&text) {
            Some(changed) => Cow::Owned(changed),
            None => text,
        })
    }
}

/// What the members of an object are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Values by their names.
    Values,
    /// Parts of a definition or of a schema.
    Schemas,
    /// Schemas by the names of what they are of.
    Properties,
    /// Parts of the schema of what is kept out.
    Hidden,
}

/// The members of a schema that hold values.
const EXAMPLES: [&str; 4] = ["const", "default", "enum", "examples"];

/// The members of a schema that hold schemas by their names.
const PROPERTIES: [&str; 5] = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];

impl Place {
    /// Of the items of a list.
    fn in_list(self) -> Self {
        if self == Self::Properties { Self::Schemas } else { self }
    }

    /// Of a member.
    fn of(self, name: &str) -> Self {
        match self {
            Self::Schemas if PROPERTIES.contains(&name) => Self::Properties,
            Self::Schemas if EXAMPLES.contains(&name) => Self::Values,
            Self::Properties => Self::Schemas,
            same => same,
        }
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redaction")
            .field("keys", &self.keys)
            .field("closures", &(self.texts.len() + self.changes.len()))
            .finish()
    }
}
