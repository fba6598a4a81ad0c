//! The wire types of what a server asks of a client, against the official schema and its examples.

#[path = "support/schema.rs"]
mod schema;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use schema::{check, check_frame};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tinymcp::ErrorObject;
use tinymcp::json::Object;
use tinymcp::method::Direction;
use tinymcp::protocol::{
    ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitParams,
    ElicitResult, ElicitUrlParams, ElicitationCompleteParams, InputRequest, InputRequests,
    InputRequiredResult, ListRootsResult, MissingRequiredClientCapability, ModelPreferences,
    MultiSelectEnumSchema, NumberSchema, PrimitiveSchema, ProtocolVersion, RequestedSchema, Root,
    RootsCapability, SamplingContent, SamplingMessage, SingleSelectEnumSchema, StringSchema,
    ToolResultContent, ToolUseContent, UrlElicitationRequired,
};

/// `value` with every number as a floating point one: `50` and `50.0` are the same number.
fn normal(value: &Value) -> Value {
    match value {
        Value::Number(n) => json!(n.as_f64()),
        Value::Array(items) => items.iter().map(normal).collect(),
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), normal(value))).collect(),
        other => other.clone(),
    }
}

#[track_caller]
fn round_trip<T: Serialize + DeserializeOwned>(value: &Value) -> T {
    let read: T = serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{e}: {value:#}"));
    assert_eq!(normal(&serde_json::to_value(&read).expect("JSON")), normal(value));
    read
}

/// The official examples of `name`.
fn examples(name: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spec/2026-07-28/examples").join(name);
    let files = fs::read_dir(folder).expect(name);
    let read =
        |file: fs::DirEntry| serde_json::from_slice(&fs::read(file.path()).expect("text")).expect("JSON");
    files.map(|file| read(file.expect("a file"))).collect()
}

#[track_caller]
fn each<T: Serialize + DeserializeOwned>(name: &str) -> Vec<T> {
    let found = examples(name);
    assert!(!found.is_empty(), "no example of {name}");
    for value in &found {
        check(&ProtocolVersion::LATEST, name, value);
    }
    found.iter().map(round_trip).collect()
}

#[test]
fn official_examples_survive_a_round_trip() {
    each::<CreateMessageParams>("CreateMessageRequestParams");
    each::<CreateMessageResult>("CreateMessageResult");
    each::<SamplingMessage>("SamplingMessage");
    each::<ModelPreferences>("ModelPreferences");
    each::<ToolUseContent>("ToolUseContent");
    each::<ToolResultContent>("ToolResultContent");
    each::<ElicitFormParams>("ElicitRequestFormParams");
    each::<ElicitUrlParams>("ElicitRequestURLParams");
    each::<ElicitResult>("ElicitResult");
    each::<StringSchema>("StringSchema");
    each::<NumberSchema>("NumberSchema");
    each::<SingleSelectEnumSchema>("TitledSingleSelectEnumSchema");
    each::<SingleSelectEnumSchema>("UntitledSingleSelectEnumSchema");
    each::<MultiSelectEnumSchema>("TitledMultiSelectEnumSchema");
    each::<MultiSelectEnumSchema>("UntitledMultiSelectEnumSchema");
    each::<Root>("Root");
    each::<ListRootsResult>("ListRootsResult");
    each::<InputRequests>("InputRequests");
    each::<InputRequiredResult>("InputRequiredResult");
    each::<Object>("InputResponses");
    for error in each::<Value>("MissingRequiredClientCapabilityError") {
        let error: ErrorObject = round_trip(&error["error"]);
        let missing = MissingRequiredClientCapability::of(&error).expect("what is missing");
        assert!(missing.required_capabilities.elicitation.is_some());
    }
    let fields = ["BooleanSchema", "StringSchema", "NumberSchema"].into_iter();
    let enums = ["TitledSingleSelect", "UntitledSingleSelect", "TitledMultiSelect", "UntitledMultiSelect"];
    for name in fields.map(str::to_owned).chain(enums.map(|name| format!("{name}EnumSchema"))) {
        for field in each::<PrimitiveSchema>(&name) {
            assert!(!matches!(field, PrimitiveSchema::Unknown(_)), "{name}: {field:?}");
        }
    }
    let kinds: Vec<_> =
        ["ToolUseContent", "ToolResultContent", "TextContent", "ImageContent", "AudioContent"]
            .into_iter()
            .flat_map(each::<SamplingContent>)
            .collect();
    assert!(!kinds.iter().any(|block| matches!(block, SamplingContent::Unknown(_))));
    for name in ["ElicitRequestFormParams", "ElicitRequestURLParams"] {
        assert!(!each::<ElicitParams>(name).iter().any(|params| matches!(params, ElicitParams::Unknown(_))));
    }
}

#[test]
fn official_examples_of_requests_are_known_questions() {
    let mut methods = BTreeSet::new();
    for name in ["CreateMessageRequest", "ElicitRequest", "ListRootsRequest"] {
        for mut value in examples(name) {
            // Some show a request as it was before 2026-07-28, with an id.
            for envelope in ["id", "jsonrpc"] {
                value.as_object_mut().expect("an object").remove(envelope);
            }
            check(&ProtocolVersion::LATEST, name, &value);
            let request: InputRequest = round_trip(&value);
            assert!(!matches!(request, InputRequest::Unknown { .. }), "{value:#}");
            methods.insert(request.method().to_owned());
        }
    }
    assert_eq!(methods.len(), 3, "{methods:?}");
}

#[test]
fn answers_are_read_by_the_kind_of_their_question() {
    for answers in each::<Object>("InputResponses") {
        let login: ElicitResult = answers.get("github_login").expect("an answer");
        assert_eq!(login.content.and_then(|values| values.get::<String>("name")).as_deref(), Some("octocat"));
        let capital: CreateMessageResult = answers.get("capital_of_france").expect("an answer");
        assert_eq!(capital.text_content(), "The capital of France is Paris.");
    }
}

#[test]
fn unknown_members_survive_at_every_level() {
    let new = json!({"deep": [1, null]});
    round_trip::<CreateMessageParams>(&json!({
        "messages": [{
            "role": "narrator", "new": new,
            "content": [
                {"type": "text", "text": "a", "new": new},
                {"type": "tool_use", "id": "1", "name": "t", "input": {"x": new}, "new": new},
                {"type": "tool_result", "toolUseId": "1", "new": new, "content": [{"type": "hologram", "new": new}]},
                {"type": "hologram", "new": new}
            ]
        }],
        "modelPreferences": {"hints": [{"name": "a", "new": new}], "new": new},
        "includeContext": "galaxy", "toolChoice": {"mode": "maybe", "new": new}, "metadata": {"new": new},
        "maxTokens": 1, "new": new
    }));
    round_trip::<ElicitParams>(&json!({
        "message": "m", "new": new,
        "requestedSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "new": new,
            "properties": {
                "s": {"type": "string", "format": "color", "new": new},
                "n": {"type": "number", "new": new},
                "b": {"type": "boolean", "new": new},
                "e": {"type": "string", "enum": ["a"], "enumNames": ["A"], "new": new},
                "t": {"type": "string", "oneOf": [{"const": "a", "title": "A", "new": new}], "new": new},
                "m": {"type": "array", "items": {"type": "string", "enum": ["a"], "new": new}, "new": new},
                "o": {"type": "object", "new": new}
            }
        }
    }));
    round_trip::<ElicitParams>(&json!({"mode": "url", "message": "m", "url": "a:b", "new": new}));
    round_trip::<ElicitParams>(&json!({"mode": "voice", "new": new}));
    round_trip::<ElicitResult>(&json!({"action": "defer", "content": {"a": new}, "new": new}));
    round_trip::<ListRootsResult>(&json!({"roots": [{"uri": "file:///a", "new": new}], "new": new}));
    round_trip::<ElicitationCompleteParams>(&json!({"elicitationId": "1", "new": new}));
    round_trip::<InputRequiredResult>(&json!({
        "resultType": "input_required", "new": new,
        "inputRequests": {"a": {"method": "vision/look", "params": new}, "b": {"method": "roots/list", "params": {"new": new}}}
    }));
}

#[test]
fn errors_that_ask_of_the_client_follow_their_schema() {
    let frame = |error: ErrorObject| json!({"jsonrpc": "2.0", "id": 1, "error": error});
    let login = ElicitUrlParams::new("Log in", "https://example.com/login").with_elicitation_id("7");
    let error = frame(UrlElicitationRequired::new(vec![login]).into());
    check_frame(&ProtocolVersion::V2025_11_25, Direction::ToClient, &error, None);
    let roots = ClientCapabilities::default().with_roots(RootsCapability::default());
    let error = frame(MissingRequiredClientCapability::new(roots).into());
    check_frame(&ProtocolVersion::V2026_07_28, Direction::ToClient, &error, None);
}

#[test]
fn forms_of_every_kind_follow_the_schema() {
    let form = RequestedSchema::new()
        .required("text", PrimitiveSchema::text().with_length(1, 9).with_default("a"))
        .required("number", PrimitiveSchema::number().with_range(0.5, 9).with_default(2.5))
        .optional("integer", PrimitiveSchema::integer().with_range(1, 9).with_default(3))
        .optional("boolean", PrimitiveSchema::boolean().with_default(true))
        .optional("choice", PrimitiveSchema::choice(["a", "b"]).with_default("a"))
        .optional("titled", PrimitiveSchema::titled_choice([("a", "A")]))
        .optional("choices", PrimitiveSchema::choices(["a", "b"]).with_items(1, 2).with_default(["a"]))
        .optional("titled choices", PrimitiveSchema::titled_choices([("a", "A")]));
    let params = serde_json::to_value(ElicitParams::form("m", form.clone())).expect("JSON");
    check(&ProtocolVersion::V2025_11_25, "ElicitRequestParams", &params);
    check(&ProtocolVersion::V2026_07_28, "ElicitRequestParams", &params);
    let mut content = Object::new();
    form.fill_defaults(&mut content);
    assert_eq!(content.len(), 6);
    assert_eq!(form.check(&content), Ok(()));
}
