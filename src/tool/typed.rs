//! Feature `schemars`: arguments and results of any type that derives `JsonSchema`.
//!
//! What schemars writes is right and yet refused by clients: `true` for any value, lists of types with
//! `null`, `oneOf` for enums, integer formats of its own. [`simplify`] says the same in the words that clients take.

use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::schema::any_value;
use super::{Arguments, FnTool, RegistryError, ToolError, ToolOutput, output};
use crate::context::Context;
use crate::json::Json;
use crate::protocol::CallToolResult;

impl FnTool {
    /// A tool whose arguments are of any type that derives `Deserialize` and `JsonSchema` (feature `schemars`).
    ///
    /// Its schema is put in a form that clients accept. Strings are turned into the numbers, booleans, lists
    /// and objects that the schema asks for before serde sees the arguments; `()` takes none.
    ///
    /// # Errors
    /// When the type's schema is not that of an object: a list, or an enum, which would have `oneOf` at its root.
    ///
    /// ```
    /// use tinymcp::{Arguments, Context, FnTool, Tool};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Search {
    ///     /// What to look for
    ///     query: String,
    ///     limit: Option<u8>,
    /// }
    ///
    /// let search = FnTool::typed("search", "Search the notes", |args: Search, _cx: &Context| {
    ///     format!("{} {:?}", args.query, args.limit)
    /// })?;
    /// let result = search.execute(Arguments::from_text(r#"{"query": "x", "limit": "5"}"#)?, &Context::detached())?;
    /// assert_eq!(result.text_content(), "x Some(5)");
    /// # Ok::<(), tinymcp::ToolError>(())
    /// ```
    pub fn typed<A, R>(
        name: impl Into<String>,
        description: impl Into<String>,
        run: impl Fn(A, &Context) -> R + Send + Sync + 'static,
    ) -> Result<Self, RegistryError>
    where
        A: DeserializeOwned + JsonSchema,
        R: ToolOutput,
    {
        let name = name.into();
        let mut schema = simplified::<A>(SchemaSettings::draft2020_12().for_deserialize());
        let is_unit = schema["type"] == "null";
        if is_unit {
            schema = json!({"type": "object"});
        }
        if let Err(problem) = prepare_root(&mut schema) {
            return Err(RegistryError::InvalidSchema { tool: name, problem });
        }
        Ok(Self::new(name, description, schema, move |arguments: Arguments<'_>, cx: &Context| {
            // serde reads `()` and unit structs from `null` alone.
            let arguments = if is_unit { read("null") } else { read(arguments.as_str()) };
            run(arguments?, cx).into_result()
        }))
    }
}

fn read<A: DeserializeOwned>(text: &str) -> Result<A, ToolError> {
    serde_json::from_str(text).map_err(ToolError::bad_arguments)
}

/// A value of any type that derives `Serialize` and `JsonSchema` as structured content with its
/// schema (feature `schemars`).
#[derive(Clone, Debug)]
pub struct Typed<T>(
    /// The value.
    pub T,
);

impl<T: Serialize + JsonSchema> ToolOutput for Typed<T> {
    fn output_schema() -> Option<Json> {
        Some(simplified::<T>(SchemaSettings::draft2020_12().for_serialize()).into())
    }
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        output::structured(&self.0)
    }
}

fn simplified<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value();
    if let Some(map) = schema.as_object_mut() {
        map.remove("$schema");
        // The name of the Rust type says nothing to a model.
        map.remove("title");
    }
    simplify(&mut schema);
    schema
}

/// Makes sure of an object at the root, which is all that model APIs take.
fn prepare_root(schema: &mut Value) -> Result<(), String> {
    let Some(map) = schema.as_object_mut() else {
        return Err("the arguments' type accepts any value, expected a struct".to_owned());
    };
    if let Some(keyword) = ["oneOf", "anyOf", "allOf"].into_iter().find(|keyword| map.contains_key(*keyword))
    {
        return Err(format!(
            "{keyword} at the root, which model APIs refuse: wrap the enum in a struct with one field"
        ));
    }
    match map.get("type") {
        Some(kind) if kind == "object" => {}
        Some(kind) => return Err(format!("the arguments' type is {kind}, expected a struct")),
        None => return Err("the arguments' type is no object, expected a struct".to_owned()),
    }
    map.entry("properties").or_insert_with(|| json!({}));
    Ok(())
}

/// Rewrites `schema` and everything below it.
fn simplify(schema: &mut Value) {
    if *schema == Value::Bool(true) || *schema == json!({}) {
        *schema = any_value().to_json().to_value();
        return;
    }
    let Some(map) = schema.as_object_mut() else {
        return;
    };
    if map.get("format").and_then(Value::as_str).is_some_and(is_number_format) {
        map.remove("format");
    }
    if let Some(word) = map.remove("const") {
        if word.is_string() {
            map.entry("type").or_insert_with(|| "string".into());
        }
        map.insert("enum".into(), Value::Array(vec![word]));
    }
    simplify_list(map);
    for keyword in ["properties", "$defs"] {
        for schema in
            map.get_mut(keyword).and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut)
        {
            simplify(schema);
        }
    }
    // `false` means something here and is accepted; `true` is what its absence means.
    match map.get_mut("additionalProperties") {
        Some(Value::Bool(true)) => drop(map.remove("additionalProperties")),
        Some(schema) => simplify(schema),
        None => {}
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        for schema in map.get_mut(keyword).and_then(Value::as_array_mut).into_iter().flatten() {
            simplify(schema);
        }
    }
    simplify_variants(map);
    allow_missing_instead_of_null(map);
}

/// The names that schemars gives to the number types of Rust.
fn is_number_format(format: &str) -> bool {
    let digits = format.trim_start_matches('u').strip_prefix("int");
    digits.is_some_and(|digits| digits.chars().all(|c| c.is_ascii_digit()))
        || matches!(format, "float" | "double")
}

/// Lists: a tuple gets `items` instead of `false` for what follows its last place.
fn simplify_list(map: &mut Map<String, Value>) {
    if let Some(places) = map.get_mut("prefixItems").and_then(Value::as_array_mut) {
        places.iter_mut().for_each(simplify);
        let first = places.first().cloned();
        let same = first.filter(|first| places.iter().all(|place| place == first));
        map.insert("items".into(), same.unwrap_or_else(|| any_value().to_json().to_value()));
    } else if let Some(items) = map.get_mut("items") {
        simplify(items);
    } else if map.get("type").is_some_and(|kind| kind == "array") {
        map.insert("items".into(), any_value().to_json().to_value());
    }
}

/// Alternatives: words become one `enum`, a single one takes the place of all, others are `anyOf` with the type that they share.
fn simplify_variants(map: &mut Map<String, Value>) {
    for keyword in ["allOf", "oneOf", "anyOf"] {
        let Some(Value::Array(variants)) = map.get(keyword) else {
            continue;
        };
        if let Some(words) = words(variants) {
            map.remove(keyword);
            let (words, docs): (Vec<_>, Vec<_>) = words.into_iter().unzip();
            let own = map.get("description").and_then(Value::as_str).map(str::to_owned);
            let lines: Vec<String> = own.into_iter().chain(docs.into_iter().flatten()).collect();
            map.insert("type".into(), "string".into());
            map.insert("enum".into(), words.into());
            if !lines.is_empty() {
                map.insert("description".into(), lines.join("\n").into());
            }
        } else if let [Value::Object(only)] = variants.as_slice() {
            let only = only.clone();
            map.remove(keyword);
            for (name, value) in only {
                // What stands outside is said about this place and counts more.
                map.entry(name).or_insert(value);
            }
        } else if keyword != "allOf" {
            let kind = variants.first().and_then(|variant| variant.get("type")).cloned();
            let shared = kind.filter(|kind| variants.iter().all(|variant| variant.get("type") == Some(kind)));
            if let Some(variants) = map.remove(keyword) {
                // Every variant of a Rust enum is told apart by what it holds; `oneOf` is known to fewer clients.
                map.insert("anyOf".into(), variants);
            }
            if let Some(kind) = shared {
                map.entry("type").or_insert(kind);
            }
        }
    }
}

/// The words of an enum without fields, each with a line about it if it has docs.
fn words(variants: &[Value]) -> Option<Vec<(String, Option<String>)>> {
    let mut all = Vec::new();
    for variant in variants {
        for word in variant.get("enum")?.as_array()? {
            let word = word.as_str()?;
            let docs = variant.get("description").and_then(Value::as_str);
            all.push((word.to_owned(), docs.map(|docs| format!("- {word}: {docs}"))));
        }
    }
    Some(all)
}

/// A member that is not required has a plain type: leaving it out says what `null` says.
fn allow_missing_instead_of_null(map: &mut Map<String, Value>) {
    let required = map.get("required").cloned().unwrap_or_default();
    let is_required =
        |name: &String| required.as_array().is_some_and(|names| names.iter().any(|n| n == name));
    let properties = map.get_mut("properties").and_then(Value::as_object_mut);
    for (_, schema) in properties.into_iter().flatten().filter(|(name, _)| !is_required(name)) {
        let Some(map) = schema.as_object_mut() else {
            continue;
        };
        if map.get("default").is_some_and(Value::is_null) {
            map.remove("default");
        }
        // Any value: `null` is as good as another.
        let Some(Value::Array(kinds)) =
            map.get_mut("type").filter(|kinds| kinds.as_array().is_none_or(|k| k.len() == 2))
        else {
            if let Some(Value::Array(variants)) = map.get_mut("anyOf") {
                variants.retain(|variant| variant.get("type").is_none_or(|kind| kind != "null"));
                simplify_variants(map);
            }
            continue;
        };
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            map.insert("type".into(), kind);
        }
        if let Some(Value::Array(words)) = map.get_mut("enum") {
            words.retain(|word| !word.is_null());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simple(schema: Value) -> Value {
        let mut schema = schema;
        simplify(&mut schema);
        schema
    }

    #[test]
    fn schemas_are_said_in_the_words_of_clients() {
        let any = any_value().to_json().to_value();
        for (given, want) in [
            (json!({"type": "integer", "format": "uint8"}), json!({"type": "integer"})),
            (
                json!({"type": "string", "format": "date-time"}),
                json!({"type": "string", "format": "date-time"}),
            ),
            (json!({"const": "a"}), json!({"type": "string", "enum": ["a"]})),
            (
                json!({"description": "D", "oneOf": [
                    {"type": "string", "enum": ["a"]}, {"type": "string", "const": "b", "description": "B"}
                ]}),
                json!({"type": "string", "enum": ["a", "b"], "description": "D\n- b: B"}),
            ),
            (
                json!({"properties": {"n": {"type": ["integer", "null"], "default": null}, "any": true}}),
                json!({"properties": {"n": {"type": "integer"}, "any": any}}),
            ),
            (
                json!({"properties": {"n": {"type": ["integer", "null"]}}, "required": ["n"]}),
                json!({"properties": {"n": {"type": ["integer", "null"]}}, "required": ["n"]}),
            ),
            (
                json!({"properties": {"n": {"description": "N", "anyOf": [
                    {"type": "object", "description": "O"}, {"type": "null"}
                ]}}}),
                json!({"properties": {"n": {"description": "N", "type": "object"}}}),
            ),
            (
                json!({"oneOf": [{"type": "object", "title": "A"}, {"type": "object", "title": "B"}]}),
                json!({"type": "object", "anyOf": [{"type": "object", "title": "A"}, {"type": "object", "title": "B"}]}),
            ),
            (
                json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "string"}], "items": false}),
                json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "string"}], "items": {"type": "string"}}),
            ),
        ] {
            assert_eq!(simple(given.clone()), want, "{given}");
        }
    }
}
