//! [`Redaction`]: what is kept out of recordings.

use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::json::{FromJson, Json, Members, nested};

/// What stands in place of what was taken out.
const REDACTED: &str = "\"[redacted]\"";

type Change = Arc<dyn Fn(&str, &Json) -> Option<Json> + Send + Sync>;

/// What is kept out of recordings: members by their names, and whatever a closure replaces.
///
/// It works on the copy that is recorded. What passes between program and server is never changed.
///
/// A name is found at any depth of arguments, results, questions, answers and observations, in whatever case it is written, and in
/// JSON that stands as text inside a string, as structured results do in their text. The closures see each of those whole, by the
/// name it has in the [event](super::Event) (`arguments`, `result`, `uri`, …), after that.
///
/// ```
/// use tinymcp::json::Json;
/// use tinymcp::trajectory::Redaction;
///
/// let redaction = Redaction::new().keys(["token"]).with(|member, json| {
///     (member == "arguments" && json.as_str().contains("sk-")).then(|| Json::from("[a key]"))
/// });
/// let read = |text| Json::parse(text).expect("JSON");
/// assert_eq!(
///     redaction.apply("result", &read(r#"{"Token":[1],"text":"{\"token\":5}","id":9007199254740993}"#)).as_str(),
///     r#"{"Token":"[redacted]","text":"{\"token\":\"[redacted]\"}","id":9007199254740993}"#,
/// );
/// assert_eq!(redaction.apply("arguments", &read(r#"{"auth":"sk-1"}"#)), Json::from("[a key]"));
/// ```
#[derive(Clone, Default)]
pub struct Redaction {
    /// In lower case.
    keys: BTreeSet<String>,
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
        self.keys.is_empty() && self.changes.is_empty()
    }

    /// What is recorded of `json`, which is the `member` of an event.
    #[must_use]
    pub fn apply(&self, member: &str, json: &Json) -> Json {
        let mut json = match self.keys.is_empty() {
            true => json.clone(),
            false => self.without_keys(json.as_raw()),
        };
        for change in &self.changes {
            match catch_unwind(AssertUnwindSafe(|| change(member, &json))) {
                Ok(Some(changed)) => json = changed,
                Ok(None) => {}
                Err(_) => {
                    log::error!("a redaction panicked, and {member} is not recorded");
                    return Json::from("[redacted]");
                }
            }
        }
        json
    }

    fn without_keys(&self, raw: &RawValue) -> Json {
        let mut out = String::with_capacity(raw.get().len());
        self.write(&mut out, raw);
        // Only whole values are put in the place of others.
        Json::parse(&out).unwrap_or_else(|_| Json::from("[redacted]"))
    }

    fn write(&self, out: &mut String, raw: &RawValue) {
        // What is nested too deep to be looked at is not recorded.
        if nested(|| self.write_parts(out, raw)).is_none() {
            out.push_str(REDACTED);
        }
    }

    fn write_parts(&self, out: &mut String, raw: &RawValue) {
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'{') => match Members::of(raw) {
                Ok(members) => self.write_members(out, &members),
                Err(_) => out.push_str(REDACTED),
            },
            Some(b'[') => match serde_json::from_str::<Vec<&RawValue>>(text) {
                Ok(items) => {
                    out.push('[');
                    for (i, item) in items.into_iter().enumerate() {
                        if i > 0 {
                            out.push(',');
                        }
                        self.write(out, item);
                    }
                    out.push(']');
                }
                Err(_) => out.push_str(REDACTED),
            },
            Some(b'"') => self.write_string(out, raw),
            _ => out.push_str(text),
        }
    }

    fn write_members(&self, out: &mut String, members: &Members<'_>) {
        out.push('{');
        for (i, (name, value)) in members.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            out.push_str(Json::from(name).as_str());
            out.push(':');
            match self.keys.contains(&name.to_lowercase()) {
                true => out.push_str(REDACTED),
                false => self.write(out, value),
            }
        }
        out.push('}');
    }

    /// A string may be JSON itself.
    fn write_string(&self, out: &mut String, raw: &RawValue) {
        let inner = || {
            let text = raw.get();
            let begins = text.trim_start_matches(['"', ' ']).starts_with(['{', '[', '\\']);
            let inner = begins.then(|| String::from_json(raw).ok())??;
            let inner_raw: &RawValue = serde_json::from_str(inner.trim()).ok()?;
            if !inner_raw.get().starts_with(['{', '[']) {
                return None;
            }
            let mut changed = String::new();
            self.write(&mut changed, inner_raw);
            // As it was, white space and all, if there is nothing to be kept out.
            (changed != crate::json::one_line(inner_raw.get())).then_some(changed)
        };
        match inner() {
            Some(changed) => out.push_str(Json::from(changed).as_str()),
            None => out.push_str(raw.get()),
        }
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redaction").field("keys", &self.keys).field("closures", &self.changes.len()).finish()
    }
}
