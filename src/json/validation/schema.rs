//! What is done to a schema before it is compiled.

use std::collections::BTreeSet;

use jsonschema::Draft;
use serde_json::{Map, Value, json};

use super::SchemaError;

/// How many different patterns a schema may have: each may take as much memory as a pattern may.
const MAX_PATTERNS: usize = 200;

/// How many references a schema may have. A chain of them is followed in one go, on the stack; the schema of the protocol
/// itself has 277.
const MAX_REFERENCES: usize = 1_000;

/// How much memory may go to what the crate writes down for its messages: of every part the way to it, of what stands
/// under `not` a copy. A long name at the root, or many `not`s inside each other, make that a thousand times the schema.
const MAX_NOTES_BYTES: usize = 32 * 1024 * 1024;

/// What serde_json's smallest object takes: its map has room for eleven members.
const OBJECT_BYTES: usize = 700;

/// What has been seen.
#[derive(Default)]
struct Seen {
    patterns: BTreeSet<String>,
    references: usize,
    notes: usize,
    /// The length of the way to where we are.
    way: usize,
}

impl Seen {
    /// Goes through the member `name` of a part, and gives the bytes that the member takes, about.
    fn member(&mut self, name: &str, part: &mut Value) -> Result<usize, SchemaError> {
        self.way += name.len() + 1;
        let bytes = prepare_part(part, self)?;
        self.way -= name.len() + 1;
        if name == "not" {
            self.notes += bytes;
        }
        Ok(bytes + name.len())
    }
}

/// Refuses what the crate would accept, and makes sure that what may be tried again and again is paid for each time.
pub(super) fn prepare(schema: &mut Value) -> Result<(), SchemaError> {
    let mut seen = Seen::default();
    prepare_part(schema, &mut seen)?;
    for (count, limit, what) in [
        (seen.patterns.len(), MAX_PATTERNS, "has more than {} patterns"),
        (seen.references, MAX_REFERENCES, "has more than {} references"),
        (seen.notes, MAX_NOTES_BYTES, "takes more than {} bytes when it is compiled"),
    ] {
        if count > limit {
            let problem = what.replace("{}", &limit.to_string());
            return Err(SchemaError::TooLarge(format!("the schema {problem}")));
        }
    }
    Ok(())
}

/// Goes through every part that may be a schema, and gives the bytes that it takes, about. The recursion ends where that of
/// the JSON parser did.
fn prepare_part(schema: &mut Value, seen: &mut Seen) -> Result<usize, SchemaError> {
    let mut bytes = size_of::<Value>();
    match schema {
        Value::Object(members) => {
            bytes += OBJECT_BYTES;
            check_dialect(members)?;
            if let Some(Value::String(pattern)) = members.get("pattern") {
                seen.patterns.insert(pattern.clone());
            }
            if let Some(Value::Object(by_pattern)) = members.get("patternProperties") {
                seen.patterns.extend(by_pattern.keys().cloned());
            }
            let references = ["$ref", "$dynamicRef", "$recursiveRef"];
            seen.references += references.iter().filter(|name| members.contains_key(**name)).count();
            for (name, part) in members.iter_mut() {
                seen.notes += seen.way + name.len();
                bytes += match (name.as_str(), part) {
                    (
                        "const" | "enum" | "default" | "examples" | "dependentRequired" | "$vocabulary",
                        data,
                    ) => data.to_string().len(),
                    // What is named there are members of the value.
                    ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(parts))
                    | ("dependentSchemas" | "dependencies", Value::Object(parts)) => {
                        let mut sum = 0;
                        seen.way += name.len() + 1;
                        for (name, part) in parts {
                            sum += seen.member(name, part)?;
                        }
                        seen.way -= name.len() + 1;
                        sum
                    }
                    (_, part) => seen.member(name, part)?,
                };
            }
            look_at_value(members);
        }
        Value::Array(parts) => {
            for part in parts {
                bytes += seen.member("0", part)?;
            }
        }
        Value::String(text) => bytes += text.len(),
        _ => {}
    }
    Ok(bytes)
}

/// A part with an `$id` of its own may have a dialect of its own.
fn check_dialect(members: &Map<String, Value>) -> Result<(), SchemaError> {
    match members.get("$schema") {
        Some(Value::String(dialect))
            if Draft::default().detect(&json!({"$schema": dialect})) == Draft::Unknown =>
        {
            Err(SchemaError::UnsupportedDialect(dialect.clone()))
        }
        _ => Ok(()),
    }
}

/// Lets a part with alternatives, or a reference, ask for the value's type, which may be any. It could otherwise be tried
/// without a look at the value, which is what is counted. `type` is asked first.
fn look_at_value(members: &mut Map<String, Value>) {
    let leads_on = [
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "dependentSchemas",
        "dependencies",
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
    ];
    if !members.contains_key("type") && leads_on.iter().any(|name| members.contains_key(*name)) {
        let any = json!(["array", "boolean", "null", "number", "object", "string"]);
        members.insert("type".to_owned(), any);
    }
}
