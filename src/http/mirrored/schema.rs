//! Finding the annotations in a schema, wherever they are.
//!
//! spec: 2026-07-28 basic/transports/streamable-http#schema-extension

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::slice;

use serde_json::value::RawValue;

use super::super::headers::PARAM_PREFIX;
use super::Mirrored;
use crate::http::headers::{quoted, shown};
use crate::json::{FromJson, JsonError, Members, nested, string};

/// The keyword, whose value is the name of the header without `Mcp-Param-`.
const ANNOTATION: &str = "x-mcp-header";

/// Before the name of a header as it is sent.
const SENT_PREFIX: &str = "Mcp-Param-";

/// The arguments that are mirrored, and every annotation that is not allowed as an error.
pub(super) fn mirrored(schema: &RawValue) -> Result<Vec<Mirrored>, JsonError> {
    // Most schemas have none. Where the keyword is not found as it is, only an escape could hide it.
    let text = schema.get();
    if !text.contains(ANNOTATION) && !text.contains("\\u") {
        return Ok(Vec::new());
    }
    let mut search = Search::default();
    search.schema(schema, Some(&[]))?;
    Ok(search.found)
}

#[derive(Default)]
struct Search {
    found: Vec<Mirrored>,
    /// Of the headers that were found, in lower case.
    keys: BTreeSet<String>,
}

impl Search {
    /// Searches a schema, or a list of schemas. `path` leads to the value it describes by properties alone, the root being
    /// at the empty one; `None`: it cannot be reached so.
    fn schema(&mut self, schema: &RawValue, path: Option<&[String]>) -> Result<(), JsonError> {
        nested(|| self.keywords(schema, path)).unwrap_or_else(|| Err(JsonError::new("nested too deeply")))
    }

    fn keywords(&mut self, schema: &RawValue, path: Option<&[String]>) -> Result<(), JsonError> {
        if schema.get().starts_with('[') {
            let schemas: Vec<&RawValue> = serde_json::from_str(schema.get()).unwrap_or_default();
            let mut schemas = schemas.into_iter().enumerate();
            return schemas.try_for_each(|(at, schema)| self.schema(schema, None).map_err(|e| e.at(at)));
        }
        // What is neither has no keywords: `true`, or a value of another keyword.
        let Ok(members) = Members::of(schema) else { return Ok(()) };
        let keywords = members.in_order();
        if let Some((_, name)) = keywords.iter().find(|(keyword, _)| keyword == ANNOTATION) {
            let argument = annotated(name, &keywords, path.unwrap_or_default())?;
            if !self.keys.insert(argument.key.clone()) {
                let problem = format!("{} is the header of another property too", argument.header);
                return Err(JsonError::new(problem).inside(ANNOTATION));
            }
            self.found.push(argument);
        }
        for (keyword, value) in &keywords {
            let found = match keyword.as_str() {
                // Data: what looks like a schema there is none.
                "const" | "default" | "enum" | "examples" => Ok(()),
                "properties" => self.schemas(value, path),
                "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties" => {
                    self.schemas(value, None)
                }
                // All others, known or not: an annotation must not be overlooked.
                _ => self.schema(value, None),
            };
            found.map_err(|e| e.inside(keyword))?;
        }
        Ok(())
    }

    /// Searches an object whose members are schemas; they are at their names below `path`.
    fn schemas(&mut self, schemas: &RawValue, path: Option<&[String]>) -> Result<(), JsonError> {
        let Ok(members) = Members::of(schemas) else { return self.schema(schemas, None) };
        for (name, schema) in members.in_order() {
            let path = path.map(|path| [path, slice::from_ref(&name)].concat());
            self.schema(schema, path.as_deref()).map_err(|e| e.inside(&name))?;
        }
        Ok(())
    }
}

/// The argument at `path`, whose schema has these `keywords` and in it the `name` of a header.
fn annotated(
    name: &RawValue,
    keywords: &[(String, &RawValue)],
    path: &[String],
) -> Result<Mirrored, JsonError> {
    let refused = |problem: String| Err(JsonError::new(problem).inside(ANNOTATION));
    let keyword = |name: &str| keywords.iter().find(|(keyword, _)| keyword == name).map(|(_, value)| *value);
    if path.is_empty() {
        return refused("allowed only on properties that are reached by `properties` alone".into());
    }
    let name = String::from_json(name).map_err(|e| e.inside(ANNOTATION))?;
    if name.is_empty() {
        return refused("the name of a header must not be empty".into());
    }
    if !name.bytes().all(is_token) {
        return refused(format!("{} is not a name that a header can have", quoted(&name)));
    }
    if keyword("$ref").is_some() {
        return refused("not allowed beside $ref".into());
    }
    let kind = keyword("type");
    if !kind.is_some_and(is_primitive) {
        let kind = kind.map_or("missing".into(), |kind| shown(kind.get()));
        return refused(format!("allowed only on string, integer and boolean, and the type is {kind}"));
    }
    let header = format!("{SENT_PREFIX}{name}");
    let key = format!("{PARAM_PREFIX}{}", name.to_ascii_lowercase());
    Ok(Mirrored { header, key, path: path.to_vec() })
}

/// Whether a type has a form in headers. That it may be `null` as well is no harm: then there is no header.
fn is_primitive(kind: &RawValue) -> bool {
    let one = |kind: &str| matches!(kind, "string" | "integer" | "boolean");
    let kinds: Result<Vec<Cow<'_, str>>, _> = serde_json::from_str(kind.get());
    match kinds {
        Ok(kinds) => {
            let mut kinds = kinds.iter().filter(|kind| *kind != "null");
            kinds.next().is_some_and(|kind| one(kind)) && kinds.next().is_none()
        }
        Err(_) => string(kind).is_ok_and(|kind| one(&kind)),
    }
}

/// Whether the name of a header may hold `byte`: RFC 9110, section 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
