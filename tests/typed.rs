//! Tools with types that derive `schemars::JsonSchema`.
#![cfg(feature = "schemars")]

#[path = "support/judge.rs"]
mod judge;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tinymcp::tool::{ToolOutput, Typed};
use tinymcp::{Arguments, Context, FnTool, Tool, ToolRegistry};

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Inner {
    x: f32,
    pair: (u8, u8),
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Level {
    /// Not much
    Low,
    High,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind")]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64 },
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Node {
    name: String,
    #[serde(default)]
    children: Vec<Node>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Everything {
    /// An inner one
    inner: Inner,
    maybe: Option<Inner>,
    level: Level,
    maybe_level: Option<Level>,
    big: u64,
    maybe_number: Option<u32>,
    any: serde_json::Value,
    shape: Shape,
    node: Option<Node>,
    map: BTreeMap<String, i32>,
    #[serde(default)]
    list: Vec<String>,
}

/// What clients are known to refuse.
fn lint(schema: &serde_json::Value, place: &str, problems: &mut Vec<String>) {
    let Some(map) = schema.as_object() else {
        problems.push(format!("{place}: boolean"));
        return;
    };
    if !map.contains_key("type") && !map.contains_key("$ref") {
        problems.push(format!("{place}: no type: {schema}"));
    }
    if map.get("type").and_then(|kind| kind.as_array()).is_some_and(|kinds| kinds.len() == 2) {
        problems.push(format!("{place}: list of types"));
    }
    for keyword in ["oneOf", "allOf", "format", "const", "$schema"] {
        if map.contains_key(keyword) {
            problems.push(format!("{place}: {keyword}"));
        }
    }
    for keyword in ["properties", "$defs"] {
        for (name, schema) in map.get(keyword).and_then(|v| v.as_object()).into_iter().flatten() {
            lint(schema, &format!("{place}.{name}"), problems);
        }
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(schema) = map.get(keyword).filter(|schema| **schema != serde_json::json!({})) {
            lint(schema, &format!("{place}.{keyword}"), problems);
        }
    }
}

fn typed<A: serde::de::DeserializeOwned + JsonSchema + std::fmt::Debug>() -> Result<FnTool, String> {
    FnTool::typed("t", "d", |args: A, _cx: &Context| format!("{args:?}")).map_err(|e| e.to_string())
}

fn text(tool: &FnTool, arguments: &str) -> String {
    match tool.execute(Arguments::from_text(arguments).unwrap(), &Context::detached()) {
        Ok(result) => result.text_content(),
        Err(e) => e.to_string(),
    }
}

#[test]
fn derived_schemas_are_client_proof() {
    for tool in [typed::<Everything>().unwrap(), typed::<Node>().unwrap(), typed::<()>().unwrap()] {
        let mut problems = Vec::new();
        let schema = tool.parameters().to_value();
        lint(&schema, "root", &mut problems);
        assert_eq!(problems, Vec::<String>::new(), "{schema}");
        assert_eq!(schema["type"], "object");
        assert!(
            ["oneOf", "anyOf", "allOf", "title", "$ref"].iter().all(|k| schema.get(k).is_none()),
            "{schema}"
        );
        assert!(judge::is_schema(&schema), "{}", tool.parameters());
        ToolRegistry::new().register(tool).unwrap();
    }
    let schema = typed::<Everything>().unwrap().parameters().to_value();
    assert_eq!(schema["properties"]["inner"]["type"], "object");
    assert_eq!(schema["properties"]["inner"]["description"], "An inner one");
    assert_eq!(schema["properties"]["maybe_level"]["type"], "string");
    assert_eq!(schema["properties"]["level"]["enum"], serde_json::json!(["high", "low"]));
}

#[test]
fn arguments_are_read_with_leniency() {
    let tool = typed::<Everything>().unwrap();
    let arguments = r#"{"inner":{"x":"1.5","pair":[1,"2"]},"maybe":null,"level":"low","maybe_level":"high","big":"18446744073709551615",
        "maybe_number":30.0,"any":[1],"shape":{"kind":"Circle","radius":1},"node":{"name":"n"},"map":"{\"k\":\"1\"}"}"#;
    assert_eq!(
        text(&tool, arguments),
        "Everything { inner: Inner { x: 1.5, pair: (1, 2) }, maybe: None, level: Low, maybe_level: Some(High), \
         big: 18446744073709551615, maybe_number: Some(30), any: Array [Number(1)], shape: Circle { radius: 1.0 }, \
         node: Some(Node { name: \"n\", children: [] }), map: {\"k\": 1}, list: [] }"
    );
    let node = typed::<Node>().unwrap();
    assert_eq!(
        text(&node, r#"{"children":5}"#),
        "bad arguments for tool t: children: expected a list, found 5; name: missing"
    );
    assert_eq!(text(&typed::<()>().unwrap(), "{}"), "()");
}

#[test]
fn types_that_are_no_objects_are_refused_by_name() {
    assert_eq!(
        typed::<Shape>().unwrap_err(),
        "invalid schema of tool t: anyOf at the root, which model APIs refuse: wrap the enum in a struct with one field"
    );
    assert_eq!(
        typed::<Vec<u8>>().unwrap_err(),
        "invalid schema of tool t: the arguments' type is \"array\", expected a struct"
    );
    assert!(typed::<serde_json::Value>().is_err());
    assert!(typed::<Level>().is_err());
}

#[test]
fn typed_results_match_their_schema() {
    let node = Node { name: "n".into(), children: vec![Node { name: "c".into(), children: vec![] }] };
    let schema = <Typed<Node>>::output_schema().unwrap().to_value();
    let result = Typed(node).into_result().unwrap();
    let content = result.structured_content.unwrap().to_value();
    assert!(judge::is_valid(&schema, &content), "{schema} {content}");
    assert_eq!(schema["type"], "object");
}
