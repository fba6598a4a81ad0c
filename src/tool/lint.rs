//! What registration refuses, and what it warns about.
//!
//! Schemas that were written by hand pass to clients as they are. Refused is only what takes other tools
//! down with it; the rest is a line in the log for the server's author.

use serde_json::value::RawValue;

use super::Tool;
use crate::json::{FromJson, Json, JsonError, Members, nested};
use crate::registry::{self, RegistryError};

/// Looks at a tool before it is registered.
pub(crate) fn check(tool: &(impl Tool + ?Sized)) -> Result<(), RegistryError> {
    let name = tool.name();
    check_name(name)?;
    let invalid = |problem: String| RegistryError::InvalidSchema { tool: name.to_owned(), problem };
    check_input(tool.parameters()).map_err(invalid)?;
    let mut warnings = Vec::new();
    let root = "inputSchema";
    let members = Members::of(tool.parameters().as_raw()).unwrap_or_default();
    for keyword in members.names().filter(|name| ["oneOf", "anyOf", "allOf", "not", "enum"].contains(name)) {
        warnings.push(format!("{root} has {keyword} at its root, which model APIs refuse"));
    }
    look(tool.parameters().as_raw(), root, true, &mut warnings);
    let definition = tool.definition();
    if let Some(output) = &definition.output_schema {
        Members::of(output.as_raw()).map_err(|e| invalid(format!("outputSchema: {e}")))?;
    }
    if tool.description().is_empty() {
        warnings.push("it has no description, so a model cannot know when to use it".to_owned());
    }
    for warning in warnings {
        log::warn!("tool {name}: {warning}");
    }
    Ok(())
}

// spec: 2025-11-25 server/tools#tool-names (SHOULD; so only what breaks clients is refused)
fn check_name(name: &str) -> Result<(), RegistryError> {
    registry::check_name("tool name", name)?;
    if let Some(odd) = name.chars().find(|c| !c.is_ascii_alphanumeric() && !"_-.".contains(*c)) {
        log::warn!("tool name {name:?} has {odd:?}: clients expect letters, digits, `_`, `-` and `.` only");
    }
    Ok(())
}

fn check_input(schema: &Json) -> Result<(), String> {
    let mut members = Members::of(schema.as_raw()).map_err(|e| e.to_string())?;
    match members.take("type") {
        Some(kind) if String::from_json(kind).is_ok_and(|kind| kind == "object") => Ok(()),
        Some(kind) => Err(JsonError::expected("\"object\"", kind).inside("type").to_string()),
        None => Err("type: missing, expected \"object\"".to_owned()),
    }
}

/// Collects what clients are known to choke on in `schema` and below.
fn look(schema: &RawValue, place: &str, is_root: bool, warnings: &mut Vec<String>) {
    if nested(|| look_inside(schema, place, is_root, warnings)).is_none() {
        warnings.push("it is nested deeper than clients read".to_owned());
    }
}

fn look_inside(schema: &RawValue, place: &str, is_root: bool, warnings: &mut Vec<String>) {
    if matches!(schema.get(), "true" | "false") {
        warnings.push(format!("{place} is a boolean, which clients refuse as a schema"));
    }
    let Ok(mut members) = Members::of(schema) else {
        return;
    };
    let has = |keyword: &str| members.names().any(|name| name == keyword);
    let has_items = has("items");
    let is_composed = ["$ref", "anyOf", "oneOf", "allOf", "enum", "const"].into_iter().any(has);
    let kind = members.take("type");
    if kind.is_some_and(|kind| kind.get().starts_with('[')) {
        warnings.push(format!("{place} has a list of types, which some clients refuse"));
    }
    if kind.is_none() && !is_composed && !is_root {
        warnings.push(format!("{place} has no type, which some clients refuse"));
    }
    if kind.is_some_and(|kind| kind.get() == "\"array\"") && !has_items {
        warnings.push(format!("{place} is an array without items, which clients refuse"));
    }
    if let Some(items) = members.take("items") {
        look(items, &format!("{place}.items"), false, warnings);
    }
    for keyword in ["properties", "$defs", "definitions"] {
        for (name, schema) in
            members.take(keyword).and_then(|raw| Members::of(raw).ok()).iter().flat_map(Members::iter)
        {
            look(schema, &format!("{place}.{keyword}.{name}"), false, warnings);
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        let variants = members.take(keyword).and_then(|raw| Vec::<Json>::from_json(raw).ok());
        for (at, schema) in variants.iter().flatten().enumerate() {
            look(schema.as_raw(), &format!("{place}.{keyword}[{at}]"), false, warnings);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_choke_on_is_told() {
        let schema = Json::parse(
            r#"{"type":"object","properties":{"a":true,"b":{"type":["string","null"]},"c":{},"d":{"type":"array"},
                "e":{"type":"array","items":true},"f":{"anyOf":[{"type":"string"},{}]},"g":{"type":"string"}},"$defs":{"X":false}}"#,
        )
        .expect("JSON");
        let mut warnings = Vec::new();
        look(schema.as_raw(), "s", true, &mut warnings);
        assert_eq!(
            warnings,
            [
                "s.properties.a is a boolean, which clients refuse as a schema",
                "s.properties.b has a list of types, which some clients refuse",
                "s.properties.c has no type, which some clients refuse",
                "s.properties.d is an array without items, which clients refuse",
                "s.properties.e.items is a boolean, which clients refuse as a schema",
                "s.properties.f.anyOf[1] has no type, which some clients refuse",
                "s.$defs.X is a boolean, which clients refuse as a schema",
            ]
        );
    }

    #[test]
    fn the_root_is_an_object() {
        for (schema, want) in [
            (r#"{"type":"object"}"#, Ok(())),
            ("{}", Err("type: missing, expected \"object\"")),
            (r#"{"type":"null"}"#, Err("type: expected \"object\", found \"null\"")),
            (r#"{"type":["object"]}"#, Err("type: expected \"object\", found [\"object\"]")),
            ("true", Err("expected an object, found true")),
            (r#"{"oneOf":[]}"#, Err("type: missing, expected \"object\"")),
        ] {
            let got = check_input(&Json::parse(schema).expect("JSON"));
            assert_eq!(got, want.map_err(str::to_owned), "{schema}");
        }
    }
}
