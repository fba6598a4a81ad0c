//! [`Schemas`]: what a schema says that arguments cannot be made by, and its references.

use std::fmt;

use serde_json::{Map, Value};

use super::SUPPORTED;
use super::format::FORMATS;

/// Keywords that say nothing of what is valid.
const PASSED_OVER: [&str; 15] = [
    "$schema",
    "$id",
    "$anchor",
    "$comment",
    "title",
    "description",
    "deprecated",
    "readOnly",
    "writeOnly",
    "contentEncoding",
    "contentMediaType",
    "example",
    "propertyOrdering",
    "order",
    "markdownDescription",
];

/// What is in the way of making a value.
#[derive(Debug)]
pub(super) struct Problem {
    place: Vec<String>,
    text: String,
}

impl Problem {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { place: Vec::new(), text: text.into() }
    }

    pub(super) fn inside(mut self, name: &str) -> Self {
        self.place.insert(0, name.to_owned());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place[..] {
            [] => f.write_str(&self.text),
            place => write!(f, "{}: {}", place.join("."), self.text),
        }
    }
}

/// A schema and those it refers to, all inside one document.
pub(super) struct Schemas<'a> {
    root: &'a Value,
    none: Map<String, Value>,
}

impl<'a> Schemas<'a> {
    pub(super) fn of(root: &'a Value) -> Self {
        Self { root, none: Map::new() }
    }

    pub(super) fn none(&self) -> &Map<String, Value> {
        &self.none
    }

    /// What a reference leads to, if it is one.
    pub(super) fn resolved<'s>(&'s self, mut schema: &'s Value) -> Result<&'s Value, Problem> {
        for _ in 0..32 {
            let Some(reference) = schema.get("$ref") else { return Ok(schema) };
            schema = self
                .target(reference)
                .ok_or_else(|| Problem::new(format!("$ref {reference} leads nowhere")))?;
        }
        Err(Problem::new("$ref leads in a circle"))
    }

    fn target(&self, reference: &Value) -> Option<&Value> {
        self.root.pointer(reference.as_str()?.strip_prefix('#')?)
    }

    /// Everything that is said and not understood, with its place. A reference is looked at where it leads, as that is in the
    /// same document.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        self.look(self.root, &mut Vec::new(), &mut problems);
        problems
    }

    fn look(&self, schema: &Value, place: &mut Vec<String>, problems: &mut Vec<String>) {
        if problems.len() >= 20 || place.len() > 200 {
            return;
        }
        let mut tell = |text: String| {
            problems.push(match place.is_empty() {
                true => text,
                false => format!("{text} at {}", place.join(".")),
            });
        };
        let members = match schema {
            Value::Object(members) => members,
            Value::Bool(true) => return,
            other => return tell(format!("the schema {other}")),
        };
        for (keyword, value) in members {
            match keyword.as_str() {
                "$ref" if self.target(value).is_none() => tell(format!("$ref {value}")),
                "$ref" if members.keys().any(|other| is_said(other) && other != "$ref") => {
                    tell("$ref beside other keywords".to_owned());
                }
                "format" if !value.as_str().is_some_and(|format| FORMATS.contains(&format)) => {
                    tell(format!("format {value}"));
                }
                "anyOf"
                    if members.keys().any(|other| {
                        is_said(other) && !matches!(other.as_str(), "anyOf" | "$defs" | "type")
                    }) =>
                {
                    tell("anyOf beside other keywords".to_owned());
                }
                known
                    if SUPPORTED.contains(&known)
                        || PASSED_OVER.contains(&known)
                        || known.starts_with("x-") => {}
                unknown => tell(unknown.to_owned()),
            }
        }
        self.look_inside(members, place, problems);
    }

    fn look_inside(&self, members: &Map<String, Value>, place: &mut Vec<String>, problems: &mut Vec<String>) {
        for group in ["properties", "$defs", "definitions"] {
            for (name, schema) in members.get(group).and_then(Value::as_object).unwrap_or(&self.none) {
                place.extend([group.to_owned(), name.clone()]);
                self.look(schema, place, problems);
                place.truncate(place.len() - 2);
            }
        }
        for single in ["items", "additionalProperties"] {
            match members.get(single) {
                // Members that are not named are never made, unless they must be.
                None | Some(Value::Bool(_)) if single == "additionalProperties" => {}
                None => {}
                Some(schema) => {
                    place.push(single.to_owned());
                    self.look(schema, place, problems);
                    place.pop();
                }
            }
        }
        for (index, way) in members.get("anyOf").and_then(Value::as_array).into_iter().flatten().enumerate() {
            place.extend(["anyOf".to_owned(), index.to_string()]);
            self.look(way, place, problems);
            place.truncate(place.len() - 2);
        }
    }
}

/// Whether a keyword says something of what is valid.
fn is_said(keyword: &str) -> bool {
    !PASSED_OVER.contains(&keyword)
        && !keyword.starts_with("x-")
        && !matches!(keyword, "default" | "examples" | "$defs" | "definitions")
}
