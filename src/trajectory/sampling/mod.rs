//! Arguments made up for a schema: what a random policy plays.
//!
//! **Invariants:** what is made is valid by the keywords of [`SUPPORTED`]; a schema that says more is an error that names what, and
//! never a guess; the same seed and schema give the same arguments.

mod format;
mod number;
mod rng;
mod schema;

use std::fmt;

use serde_json::{Map, Value};

pub use rng::Random;
use schema::{Problem, Schemas};

use crate::json::Json;

/// The keywords of JSON Schema that arguments are made by. Those that only describe, such as `title`, are passed over; any other is
/// an error.
pub const SUPPORTED: [&str; 26] = [
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "minProperties",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "format",
    "anyOf",
    "$ref",
    "$defs",
    "definitions",
    "default",
    "examples",
    "nullable",
];

/// Why no arguments can be made for a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CannotSample {
    /// What is in the way, each with its place in the schema.
    pub problems: Vec<String>,
}

impl fmt::Display for CannotSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no arguments can be made: {}", self.problems.join("; "))
    }
}

impl std::error::Error for CannotSample {}

/// Makes up arguments that a schema allows.
///
/// ```
/// use serde_json::json;
/// use tinymcp::trajectory::Sampler;
///
/// let schema = json!({
///     "type": "object",
///     "properties": {
///         "path": {"enum": ["a.txt", "b.txt"]},
///         "line": {"type": "integer", "minimum": 1, "maximum": 9},
///     },
///     "required": ["path", "line"],
/// });
/// let mut sampler = Sampler::new(42);
/// let arguments = sampler.arguments(&schema.into())?.to_value();
/// assert!(["a.txt", "b.txt"].contains(&arguments["path"].as_str().unwrap()));
/// assert!((1..=9).contains(&arguments["line"].as_i64().unwrap()));
/// # Ok::<(), tinymcp::trajectory::CannotSample>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sampler {
    random: Random,
}

impl Sampler {
    /// The sampler of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { random: Random::new(seed) }
    }

    /// Its generator, for choices beside arguments.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// An object that `schema` allows, by the keywords of [`SUPPORTED`].
    ///
    /// # Errors
    /// When the schema has other keywords, or allows nothing that could be found.
    pub fn arguments(&mut self, schema: &Json) -> Result<Json, CannotSample> {
        let root = schema.to_value();
        let schemas = Schemas::of(&root);
        let problems = schemas.problems();
        if !problems.is_empty() {
            return Err(CannotSample { problems });
        }
        let whole = |problem: Problem| CannotSample { problems: vec![problem.to_string()] };
        let made = match &root {
            // It says nothing of what there may be.
            Value::Object(members) if members.is_empty() => Value::Object(Map::new()),
            root => Maker { schemas: &schemas, random: &mut self.random }.object(root, 0).map_err(whole)?,
        };
        Ok(Json::from(made))
    }
}

/// Deeper than this nothing is made that need not be.
const DEEP: usize = 6;

/// Deeper than this nothing is made at all.
const TOO_DEEP: usize = 64;

struct Maker<'a> {
    schemas: &'a Schemas<'a>,
    random: &'a mut Random,
}

impl<'a> Maker<'a> {
    /// The root is of an object, whether it says so or not.
    fn object(&mut self, schema: &'a Value, depth: usize) -> Result<Value, Problem> {
        match self.value(schema, depth)? {
            Value::Object(made) => Ok(Value::Object(made)),
            _ => self.members(self.schemas.resolved(schema)?, depth),
        }
    }

    fn value(&mut self, schema: &'a Value, depth: usize) -> Result<Value, Problem> {
        if depth > TOO_DEEP {
            return Err(Problem::new("it needs more than 64 levels"));
        }
        let schema = self.schemas.resolved(schema)?;
        let Value::Object(members) = schema else {
            // `true`, as `false` is a problem that was found before.
            return Ok(Value::String("any".into()));
        };
        if let Some(constant) = members.get("const") {
            return Ok(constant.clone());
        }
        if let Some(Value::Array(allowed)) = members.get("enum") {
            return self.random.pick(allowed).cloned().ok_or_else(|| Problem::new("an empty enum"));
        }
        if let Some(Value::Array(ways)) = members.get("anyOf") {
            return self.one_of(ways, depth);
        }
        let Some(kind) = self.kind(members, depth) else { return Ok(Value::String("any".into())) };
        match kind {
            "object" => self.members(schema, depth),
            "array" => self.items(members, depth),
            "string" => format::string(members, self.random).map(Value::String),
            "integer" => number::integer(members, self.random),
            "number" => number::number(members, self.random),
            "boolean" => Ok(Value::Bool(self.random.flip())),
            _ => Ok(Value::Null),
        }
    }

    /// One of several ways; where it is deep, the first that comes to an end.
    fn one_of(&mut self, ways: &'a [Value], depth: usize) -> Result<Value, Problem> {
        let empty = Problem::new("an empty anyOf");
        if depth < DEEP {
            let way = self.random.pick(ways).ok_or(empty)?;
            return self.value(way, depth + 1);
        }
        let mut last = empty;
        for way in ways {
            match self.value(way, depth + 1) {
                Ok(value) => return Ok(value),
                Err(problem) => last = problem,
            }
        }
        Err(last)
    }

    /// The kind to make; of several, where it is deep, the flattest.
    fn kind(&mut self, members: &'a Map<String, Value>, depth: usize) -> Option<&'a str> {
        match members.get("type") {
            Some(Value::String(kind)) => Some(kind),
            Some(Value::Array(kinds)) => {
                let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
                let flat = |kind: &&&str| depth < DEEP || !matches!(**kind, "object" | "array");
                let some: Vec<&str> = kinds.iter().filter(flat).copied().collect();
                self.random.pick(if some.is_empty() { &kinds } else { &some }).copied()
            }
            _ if members.contains_key("properties") => Some("object"),
            _ if members.contains_key("items") => Some("array"),
            _ => None,
        }
    }

    fn members(&mut self, schema: &'a Value, depth: usize) -> Result<Value, Problem> {
        let mut made = Map::new();
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for (name, property) in properties.unwrap_or(self.schemas.none()) {
            let is_required = required.contains(&name.as_str());
            if is_required || depth < DEEP && self.random.flip() {
                match self.value(property, depth + 1) {
                    Ok(value) => drop(made.insert(name.clone(), value)),
                    // It can be left out.
                    Err(_) if !is_required => {}
                    Err(problem) => return Err(problem.inside(name)),
                }
            }
        }
        let known = properties.unwrap_or(&none);
        for name in required.iter().filter(|name| !known.contains_key(**name)) {
            // Nothing is said of it, unless the rest has a schema.
            let value = match schema.get("additionalProperties") {
                Some(rest @ Value::Object(_)) => self.value(rest, depth + 1)?,
                _ => Value::String("any".into()),
            };
            made.insert((*name).to_owned(), value);
        }
        self.fill(schema, &mut made, depth)?;
        Ok(Value::Object(made))
    }

    /// As many members as there must be.
    fn fill(
        &mut self,
        schema: &'a Value,
        made: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Problem> {
        let least = schema.get("minProperties").and_then(Value::as_u64).unwrap_or_default();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(self.schemas.none());
        for (name, property) in properties {
            if made.len() as u64 >= least {
                return Ok(());
            }
            if !made.contains_key(name) {
                made.insert(name.clone(), self.value(property, depth + 1)?);
            }
        }
        let mut extra = 0;
        while (made.len() as u64) < least {
            if extra > 1_000 {
                return Err(Problem::new("minProperties above 1,000"));
            }
            let value = match schema.get("additionalProperties") {
                Some(Value::Bool(false)) => return Err(Problem::new("more minProperties than properties")),
                Some(rest @ Value::Object(_)) => self.value(rest, depth + 1)?,
                _ => Value::String("any".into()),
            };
            extra += 1;
            made.insert(format!("member{extra}"), value);
        }
        Ok(())
    }

    fn items(&mut self, members: &'a Map<String, Value>, depth: usize) -> Result<Value, Problem> {
        let number = |name: &str| members.get(name).and_then(Value::as_u64);
        let least = number("minItems").unwrap_or_default();
        let most = number("maxItems").unwrap_or(least.saturating_add(3)).min(least.saturating_add(3));
        if most < least {
            return Err(Problem::new("minItems above maxItems"));
        }
        if least > 1_000 {
            return Err(Problem::new("minItems above 1,000"));
        }
        let count = if depth < DEEP { least + self.random.below(most - least + 1) } else { least };
        let is_unique = members.get("uniqueItems") == Some(&Value::Bool(true));
        let mut made: Vec<Value> = Vec::new();
        let mut tries = 0;
        while (made.len() as u64) < count {
            let item = match members.get("items") {
                Some(schema) => self.value(schema, depth + 1).map_err(|problem| problem.inside("items"))?,
                None if is_unique => Value::from(made.len()),
                None => Value::String("any".into()),
            };
            if !is_unique || !made.contains(&item) {
                made.push(item);
                continue;
            }
            tries += 1;
            if tries > 1_000 {
                if made.len() as u64 >= least {
                    break;
                }
                return Err(Problem::new("too few different items for minItems with uniqueItems"));
            }
        }
        Ok(Value::Array(made))
    }
}
