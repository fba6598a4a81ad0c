//! Judges messages by the official JSON Schema of a revision (`tests/spec/<revision>/schema.json`).
//!
//! Used by the tests of the crate and by its unit tests, so it names the crate `tinymcp` in both.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};
use tinymcp::method::{Direction, Method};
use tinymcp::protocol::ProtocolVersion;

/// Compiled schemas, by revision and definition.
type Validators = HashMap<(String, String), Arc<Validator>>;

static VALIDATORS: Mutex<Option<Validators>> = Mutex::new(None);

/// The official schema of `version`.
pub(crate) fn schema(version: &ProtocolVersion) -> Value {
    let path = format!("{}/tests/spec/{version}/schema.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_json::from_slice(&text).expect("the schema is JSON")
}

/// The member that holds the definitions.
fn definitions_key(version: &ProtocolVersion) -> &'static str {
    if *version < ProtocolVersion::V2025_11_25 { "definitions" } else { "$defs" }
}

/// Read once a revision: every frame asks.
fn definitions(version: &ProtocolVersion) -> Arc<Value> {
    static DEFINITIONS: Mutex<BTreeMap<String, Arc<Value>>> = Mutex::new(BTreeMap::new());
    let mut definitions = DEFINITIONS.lock().unwrap_or_else(PoisonError::into_inner);
    let read = || Arc::new(schema(version)[definitions_key(version)].take());
    Arc::clone(definitions.entry(version.to_string()).or_insert_with(read))
}

fn validator(version: &ProtocolVersion, definition: &str) -> Arc<Validator> {
    let mut validators = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner);
    let validators = validators.get_or_insert_default();
    let key = (version.to_string(), definition.to_owned());
    Arc::clone(validators.entry(key).or_insert_with(|| {
        let defs = definitions_key(version);
        let mut root = schema(version);
        assert!(!root[defs][definition].is_null(), "{version} has no definition {definition}");
        root["$ref"] = format!("#/{defs}/{definition}").into();
        Arc::new(jsonschema::validator_for(&root).expect("the official schema is a schema"))
    }))
}

/// Whether `version` defines `definition`.
pub(crate) fn defines(version: &ProtocolVersion, definition: &str) -> bool {
    !definitions(version)[definition].is_null()
}

/// What is wrong with `value` as a `definition` of `version`.
pub(crate) fn problems(version: &ProtocolVersion, definition: &str, value: &Value) -> Result<(), String> {
    let validator = validator(version, definition);
    let problems: Vec<String> = validator
        .iter_errors(value)
        .map(|e| format!("at {:?}: {e}", e.instance_path().to_string()))
        .collect();
    if problems.is_empty() {
        return Ok(());
    }
    Err(format!("no {definition} of {version}: {}\n{value:#}", problems.join("; ")))
}

/// Panics unless `value` is a `definition` of `version`.
#[track_caller]
pub(crate) fn check(version: &ProtocolVersion, definition: &str, value: &Value) {
    if let Err(problem) = problems(version, definition, value) {
        panic!("{problem}");
    }
}

/// What is wrong with one frame that went in `direction` between two sides that speak `version`.
///
/// `answered` is the method of the request that a response answers. A method of no revision, or of an
/// extension, is judged by its envelope only; one of another revision is an error.
pub(crate) fn frame_problems(
    version: &ProtocolVersion,
    direction: Direction,
    frame: &Value,
    answered: Option<&str>,
) -> Result<(), String> {
    if let Value::Array(frames) = frame {
        if *version != ProtocolVersion::V2025_03_26 {
            return Err(format!("{version} has no batches"));
        }
        return frames.iter().try_for_each(|frame| frame_problems(version, direction, frame, answered));
    }
    let Some(method) = frame.get("method").and_then(Value::as_str) else {
        return response_problems(version, frame, answered);
    };
    let is_request = frame.get("id").is_some();
    let envelope = if is_request { "JSONRPCRequest" } else { "JSONRPCNotification" };
    problems(version, envelope, frame)?;
    let Some(known) = Method::from_name(method) else { return Ok(()) };
    if !known.is_in(version) {
        return Err(format!("{version} has no message {method}"));
    }
    if known.is_request() != is_request {
        return Err(format!("{method} is a {:?}", known.kind()));
    }
    if ![direction, Direction::Both].contains(&known.direction(version)) {
        return Err(format!("{method} does not go {direction:?} in {version}"));
    }
    // The schema knows nothing of extensions.
    if known.extension(version).is_some() {
        return Ok(());
    }
    problems(version, &definition_of(version, method), frame)
}

/// Panics unless `frame` is a message of `version` that may go in `direction`.
#[track_caller]
pub(crate) fn check_frame(
    version: &ProtocolVersion,
    direction: Direction,
    frame: &Value,
    answered: Option<&str>,
) {
    if let Err(problem) = frame_problems(version, direction, frame, answered) {
        panic!("{problem}\nin {frame}");
    }
}

/// The definition whose `method` is `method`.
fn definition_of(version: &ProtocolVersion, method: &str) -> String {
    let definitions = definitions(version);
    let mut found = definitions
        .as_object()
        .expect("an object")
        .iter()
        .filter(|(_, definition)| definition["properties"]["method"]["const"] == method);
    found.next().unwrap_or_else(|| panic!("{version} has no definition for {method}")).0.clone()
}

fn response_problems(version: &ProtocolVersion, frame: &Value, answered: Option<&str>) -> Result<(), String> {
    let old = *version < ProtocolVersion::V2025_11_25;
    if let Some(error) = frame.get("error") {
        let mut frame = frame.clone();
        // The schemas before 2025-11-25 cannot express what their text allows: an error without an id.
        if old && frame.get("id").is_none() {
            frame["id"] = json!(0);
        }
        problems(version, if old { "JSONRPCError" } else { "JSONRPCErrorResponse" }, &frame)?;
        let special = match error["code"].as_i64() {
            Some(-32020) => "HeaderMismatchError",
            Some(-32021) => "MissingRequiredClientCapabilityError",
            Some(-32022) => "UnsupportedProtocolVersionError",
            Some(-32042) => "URLElicitationRequiredError",
            _ => return Ok(()),
        };
        return if defines(version, special) { problems(version, special, &frame) } else { Ok(()) };
    }
    problems(version, if old { "JSONRPCResponse" } else { "JSONRPCResultResponse" }, frame)?;
    let result = &frame["result"];
    let Some(known) = answered.and_then(Method::from_name) else { return Ok(()) };
    if version.is_modern() && result["resultType"] == "input_required" {
        if !known.may_need_input() {
            return Err(format!("{known} cannot ask for input"));
        }
        return problems(version, "InputRequiredResult", result);
    }
    let is_task = version.is_modern() && result["resultType"] == "task";
    if is_task && known != Method::ToolsCall {
        return Err(format!("{known} cannot become a task"));
    }
    if is_task || known.extension(version).is_some() {
        return problems(version, "Result", result);
    }
    if result.get("task").is_some() && defines(version, "CreateTaskResult") {
        return problems(version, "CreateTaskResult", result);
    }
    if !known.is_in(version) {
        return Err(format!("{version} has no request {known}"));
    }
    let definition = definition_of(version, known.name()).replace("Request", "Result");
    let definition = if defines(version, &definition) { definition.as_str() } else { "EmptyResult" };
    problems(version, definition, result)
}
