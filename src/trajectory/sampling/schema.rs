//! [`Schemas`]: what a schema says that arguments cannot be made by, and its references.

use std::collections::HashSet;
use std::fmt;
use std::ptr::from_ref;

use serde_json::{Map, Value};

use super::SUPPORTED;
use super::format::FORMATS;
use super::number::FORMATS as NUMBERS;
use super::shape::is_shaped;

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

/// Where schemas are inside of one: under names, or as the only one.
const GROUPS: [&str; 3] = ["properties", "$defs", "definitions"];
const SINGLE: [&str; 2] = ["items", "additionalProperties"];

impl<'a> Schemas<'a> {
    pub(super) fn of(root: &'a Value) -> Self {
        Self { root, none: Map::new() }
    }

    pub(super) fn root(&self) -> &Value {
        self.root
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

    /// Everything that is said and not understood, with its place. A reference is looked at where it leads, wherever in the document
    /// that is.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        self.visit(&mut |schema, place| {
            if problems.len() < 20 {
                let place = if place.is_empty() { String::new() } else { format!(" at {}", place.join(".")) };
                problems
                    .extend(self.problems_of(schema, place.is_empty()).into_iter().map(|text| text + &place));
            }
        });
        problems
    }

    /// Each schema of the document that counts, once.
    pub(super) fn all(&self) -> Vec<&Value> {
        let mut all = Vec::new();
        self.visit(&mut |schema, _| all.push(schema));
        all
    }

    fn visit<'s>(&'s self, see: &mut impl FnMut(&'s Value, &[String])) {
        let mut seen = HashSet::new();
        let mut left = vec![(self.root, Vec::new())];
        while let Some((schema, place)) = left.pop() {
            if !seen.insert(from_ref(schema).addr()) {
                continue;
            }
            see(schema, &place);
            let from = left.len();
            let mut add = |schema, names: &[&str]| {
                let inside = place.iter().cloned().chain(names.iter().map(|name| (*name).to_owned()));
                left.push((schema, inside.collect()));
            };
            if let Some(target) = schema.get("$ref").and_then(|reference| self.target(reference)) {
                add(target, &["$ref"]);
            }
            for group in GROUPS {
                for (name, schema) in schema.get(group).and_then(Value::as_object).unwrap_or(&self.none) {
                    add(schema, &[group, name]);
                }
            }
            for single in SINGLE {
                // Members that are not named are never made, unless they must be.
                let schema = schema.get(single);
                if let Some(schema) = schema.filter(|schema| single == "items" || schema.is_object()) {
                    add(schema, &[single]);
                }
            }
            let ways = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
            for (index, way) in ways.enumerate() {
                add(way, &["anyOf", &index.to_string()]);
            }
            // The first of them is seen first.
            left[from..].reverse();
        }
    }

    fn problems_of(&self, schema: &Value, is_root: bool) -> Vec<String> {
        let members = match schema {
            Value::Object(members) => members,
            Value::Bool(true) => return Vec::new(),
            other => return vec![format!("the schema {}", shortened(other))],
        };
        let beside = |allowed: &[&str]| {
            members.keys().any(|other| is_said(other) && !allowed.contains(&other.as_str()))
        };
        let mut problems = Vec::new();
        for (keyword, value) in members {
            let problem = match keyword.as_str() {
                known if !is_shaped(known, value) => Some(format!("{known} {}", shortened(value))),
                "$ref" if self.target(value).is_none() => Some(format!("$ref {value}")),
                "$ref" if beside(&["$ref"]) => Some("$ref beside other keywords".to_owned()),
                // References inside of it would begin there.
                "$id" if !is_root => Some("$id".to_owned()),
                "format" if !is_format(value, members.get("type")) => Some(format!("format {value}")),
                "anyOf" if beside(&["anyOf", "type"]) => Some("anyOf beside other keywords".to_owned()),
                "enum" | "const" if beside(&["enum", "const", "type"]) => {
                    Some(format!("{keyword} beside other keywords"))
                }
                known if SUPPORTED.contains(&known) || PASSED_OVER.contains(&known) => None,
                known if known.starts_with("x-") => None,
                unknown => Some(unknown.to_owned()),
            };
            problems.extend(problem);
        }
        problems
    }
}

/// The beginning of a value, which can be long.
fn shortened(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

/// Whether it is known what a format asks of values of this type.
fn is_format(format: &Value, kind: Option<&Value>) -> bool {
    let Some(format) = format.as_str() else { return false };
    let is_text = match kind {
        Some(Value::String(kind)) => kind == "string",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
        _ => true,
    };
    FORMATS.contains(&format) || !is_text && NUMBERS.iter().any(|(name, _)| *name == format)
}

/// Whether a keyword says something of what is valid.
fn is_said(keyword: &str) -> bool {
    !PASSED_OVER.contains(&keyword)
        && !keyword.starts_with("x-")
        && !matches!(keyword, "default" | "examples" | "nullable" | "$defs" | "definitions")
}
