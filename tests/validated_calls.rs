//! Arguments and results of tools against their schemas (feature `validation`), on both sides.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tinymcp::client::{CallOptions, Caller};
use tinymcp::json::{FromJson, Json, JsonError};
use tinymcp::protocol::{CallToolResult, RequestedSchema, ToolDefinition};
use tinymcp::testing;
use tinymcp::tool::{Parameter, RegistryError, Schema, SchemaScope, Structured, Validation};
use tinymcp::{
    Arguments, Client, Context, Error, FnTool, ProtocolVersion, RemoteTool, Server, Tool, ToolError,
    ToolRegistry, tool,
};

/// What was logged as a warning or an error.
struct Logged(Mutex<Vec<String>>);

static LOGGED: Logged = Logged(Mutex::new(Vec::new()));

impl log::Log for Logged {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn
    }
    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            self.0.lock().expect("no panic").push(record.args().to_string());
        }
    }
    fn flush(&self) {}
}

/// From now on; the tests share it.
fn listen_to_the_log() {
    if log::set_logger(&LOGGED).is_ok() {
        log::set_max_level(log::LevelFilter::Warn);
    }
}

fn was_logged(text: &str) -> bool {
    LOGGED.0.lock().expect("no panic").iter().any(|line| line.contains(text))
}

/// What a registry with `tool` answers to a call of it.
fn answer(tool: impl Tool + 'static, arguments: &str) -> CallToolResult {
    let name = tool.name().to_owned();
    let tools = ToolRegistry::new().with(tool).expect("registers");
    let arguments = Arguments::from_text(arguments).expect("an object");
    tools.execute(&name, arguments, &Context::detached()).expect("a result")
}

fn refused(tool: impl Tool + 'static) -> String {
    match ToolRegistry::new().register(tool) {
        Err(e @ RegistryError::InvalidSchema { .. }) => e.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Says what it was called with; what is beyond the small check is in its schema.
fn echo(calls: &Arc<AtomicUsize>) -> FnTool {
    let schema = json!({
        "type": "object",
        "properties": {
            "id": {"type": "string", "pattern": "^[a-z]+$"},
            "n": {"type": "integer", "minimum": 1, "maximum": 10},
            "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "uniqueItems": true},
            "either": {"anyOf": [{"type": "string"}, {"type": "boolean"}]},
        },
        "required": ["id"],
        "additionalProperties": false,
        "$defs": {"tag": {"type": "string", "maxLength": 3}},
    });
    let calls = Arc::clone(calls);
    FnTool::new("echo", "Says its arguments", schema, move |arguments, _cx| {
        calls.fetch_add(1, Ordering::SeqCst);
        arguments.as_str().to_owned()
    })
}

#[test]
fn arguments_are_compared_with_the_whole_schema_before_the_tool_runs() {
    let calls = Arc::new(AtomicUsize::new(0));
    for (arguments, problems) in [
        (r#"{"id": "A"}"#, r#"id: expected text like ^[a-z]+$, found "A""#),
        (r#"{"id": "a", "n": 11}"#, "n: expected at most 10, found 11"),
        (
            r#"{"id": "a", "tags": ["abc", "abcd"]}"#,
            r#"tags[1]: expected at most 3 characters, found "abcd""#,
        ),
        (r#"{"id": "a", "tags": ["a", "a"]}"#, r#"tags: expected no item twice, found ["a","a"]"#),
        (r#"{"id": "a", "either": 5}"#, "either: expected a string or a boolean, found 5"),
        (
            r#"{"n": "x", "more": 1}"#,
            r#"id: missing; n: expected an integer, found "x"; more: unknown member"#,
        ),
    ] {
        let result = answer(echo(&calls), arguments);
        assert!(result.is_error(), "{arguments}");
        let text = result.text_content();
        let told = text.strip_prefix("bad arguments for tool echo: ").expect("names the tool");
        let sorted = |text: &str| {
            let mut problems: Vec<_> = text.split("; ").map(str::to_owned).collect();
            problems.sort();
            problems
        };
        assert_eq!(sorted(told), sorted(problems), "{arguments}");
    }
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    // Sloppy arguments are mended before, exact ones left alone.
    for (given, want) in [
        (r#"{"id": "a", "n": "3", "tags": "[\"x\"]"}"#, r#"{"id":"a","n":3,"tags":["x"]}"#),
        (r#"{"id": "a",  "n": 3.0, "tags": null}"#, r#"{"id":"a","n":3}"#),
        (r#"{"id" : "a", "n": 10}"#, r#"{"id" : "a", "n": 10}"#),
    ] {
        let result = answer(echo(&calls), given);
        assert_eq!(result.text_content(), want);
    }
}

#[test]
fn arguments_are_compared_by_either_dialect_and_over_a_connection() {
    let pair = |schema: Value| {
        let tool = FnTool::new("t", "Takes a pair", schema, |arguments, _cx| arguments.as_str().to_owned());
        let server =
            Server::builder("s", "1").tools(ToolRegistry::new().with(tool).expect("registers")).build();
        testing::pair(&server.expect("builds")).expect("starts")
    };
    let modern = json!({"type": "object", "properties": {"pair": {"type": "array",
        "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}}});
    let old = json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"pair":
        {"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": false}}});
    for schema in [modern, old] {
        let client = pair(schema);
        let call = |value: Value| client.call_tool("t", json!({"pair": value})).expect("a result");
        assert_eq!(call(json!(["a", 1])).text_content(), r#"{"pair":["a",1]}"#);
        let wrong = call(json!(["a", "b"]));
        assert!(wrong.is_error());
        assert_eq!(
            wrong.text_content(),
            r#"bad arguments for tool t: pair[1]: expected an integer, found "b""#
        );
    }
}

#[test]
fn a_tool_whose_schema_cannot_be_used_is_refused() {
    let tool = |schema: Value| FnTool::new("t", "", schema, |_, _| ());
    for (property, problem) in [
        (json!({"type": "thing"}), "properties.x.type: fits none of 2 alternatives"),
        (json!({"$ref": "https://example.com/x"}), "$ref leads out of the schema: https://example.com/x"),
        (json!({"$ref": "#/$defs/none"}), "$ref: pointer '/$defs/none' does not exist"),
        (json!({"pattern": "(?=a)"}), "properties.x.pattern: expected a pattern of bounded size"),
    ] {
        let error = refused(tool(json!({"type": "object", "properties": {"x": property}})));
        assert!(error.starts_with(&format!("invalid schema of tool t: {problem}")), "{error}");
    }
    assert_eq!(
        refused(tool(json!({"$schema": "https://example.com/mine", "type": "object"}))),
        "invalid schema of tool t: unsupported dialect: https://example.com/mine"
    );
    let output = tool(json!({"type": "object"})).output_schema(json!({"minimum": "1"}));
    assert_eq!(
        refused(output),
        "invalid schema of tool t: outputSchema: minimum: expected a number, found \"1\""
    );
    let tools = ToolRegistry::new().with(tool(json!({"type": "object"}))).expect("registers");
    assert!(tools.replace(tool(json!({"type": "object", "minimum": "1"}))).is_err());
    assert_eq!(tools.len(), 1);
}

/// A type that its schema says more about than that it is a string.
#[derive(Debug)]
struct Word(String);

impl FromJson for Word {
    fn from_json(raw: &serde_json::value::RawValue) -> Result<Self, JsonError> {
        String::from_json(raw).map(Self)
    }
}

impl serde::Serialize for Word {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Parameter for Word {
    fn schema(_: &mut SchemaScope) -> Schema {
        Schema::of("string").with("pattern", "^[a-z]+$")
    }
}

#[test]
fn typed_arguments_are_read_once_unless_their_schema_says_more() {
    tinymcp::data! {
        struct Part {
            /// How many
            count: u8,
            note: Option<String>,
        }
    }
    let typed = tool! {
        /// Counts
        fn count(parts: Vec<Part>, first: Option<u64>) -> String {
            let notes = parts.iter().filter(|part| part.note.is_some()).count();
            format!("{} {notes} {first:?}", parts.iter().map(|part| u64::from(part.count)).sum::<u64>())
        }
    };
    assert_eq!(typed.validation(), Validation::default().without_arguments());
    assert_eq!(
        answer(typed, r#"{"parts": "[{\"count\": \"2\", \"note\": null}]", "more": 1}"#).text_content(),
        "2 0 None"
    );

    let more =
        || tool! { fn say(word: Word, times: Option<u8>) -> String { format!("{} {times:?}", word.0) } };
    assert_eq!(more().validation(), Validation::default());
    assert_eq!(answer(more(), r#"{"word": "a", "times": "2"}"#).text_content(), "a Some(2)");
    assert_eq!(
        answer(more(), r#"{"word": "A", "times": 1}"#).text_content(),
        r#"bad arguments for tool say: word: expected text like ^[a-z]+$, found "A""#
    );
    assert!(answer(more().deny_unknown_arguments(), r#"{"word": "a", "x": 1}"#).is_error());
    // Behind a pointer, and in a second registry, it is the same tool.
    let boxed: Box<dyn Tool> = Box::new(more());
    assert!(answer(boxed, r#"{"word": "A"}"#).is_error());
    let tools = ToolRegistry::new().with(more()).expect("registers");
    let registered = tools.get("say").expect("is there");
    assert_eq!(registered.validation(), Validation::default().without_arguments().without_results());
    assert!(answer(registered, r#"{"word": "A"}"#).is_error());
}

#[test]
fn a_server_does_not_send_results_that_break_their_schema() {
    listen_to_the_log();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let tool = |result: CallToolResult| {
        FnTool::new("measure", "", json!({"type": "object"}), move |_, _| result.clone())
            .output_schema(schema.clone())
    };
    let structured = |value: Value| CallToolResult::structured(&value).expect("JSON");
    let good = answer(tool(structured(json!({"n": 1}))), "{}");
    assert_eq!(good.structured_content, Some(Json::from(json!({"n": 1}))));
    for (result, problem) in [
        (structured(json!({"n": "x"})), "n: expected an integer, found \"x\""),
        (structured(json!({})), "n: missing"),
        (CallToolResult::text("1"), "structuredContent: missing"),
    ] {
        let result = answer(tool(result), "{}");
        let text = format!("the result of tool measure breaks its output schema: {problem}");
        assert!(result.is_error() && result.structured_content.is_none());
        assert_eq!(result.text_content(), text);
        assert!(was_logged(&format!("tool measure broke its own output schema: {problem}")));
    }
    // A tool that failed has nothing to conform.
    let failed = answer(tool(CallToolResult::error("no sensor")), "{}");
    assert_eq!(failed.text_content(), "no sensor");
    // Types that write what they promise.
    let listed = tool! { fn list() -> Vec<u8> { vec![1, 2] } };
    assert_eq!(answer(listed, "{}").text_content(), "[1,2]");
    let gap = answer(tool! { fn list() -> Vec<Option<u8>> { vec![None] } }, "{}");
    assert!(gap.text_content().ends_with("[0]: expected an integer, found null"), "{}", gap.text_content());
}

/// A tool whose results nobody compares on its side.
struct Liar {
    parameters: Json,
    output_schema: Json,
}

impl Liar {
    fn new(output_schema: Value) -> Self {
        Self { parameters: json!({"type": "object"}).into(), output_schema: output_schema.into() }
    }
}

impl Tool for Liar {
    fn name(&self) -> &str {
        "liar"
    }
    fn description(&self) -> &str {
        "Returns what it is told to"
    }
    fn parameters(&self) -> &Json {
        &self.parameters
    }
    fn execute(&self, arguments: Arguments<'_>, _: &Context) -> Result<CallToolResult, ToolError> {
        let value = arguments.to_value();
        let mut result = CallToolResult::structured(&value["result"])?;
        if value["result"].is_null() {
            result.structured_content = None;
        }
        result.is_error = value["fails"].as_bool();
        Ok(result)
    }
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new("liar", self.parameters.clone()).with_output_schema(self.output_schema.clone())
    }
    fn validation(&self) -> Validation {
        Validation::default().without_results().of_others()
    }
}

fn liar(output_schema: Value) -> Server {
    let tools = ToolRegistry::new().with(Liar::new(output_schema)).expect("registers");
    Server::builder("s", "1").tools(tools).build().expect("builds")
}

fn number() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
}

fn broken(result: tinymcp::Result<CallToolResult>) -> String {
    match result {
        Err(Error::Protocol(problem)) => problem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_client_does_not_take_results_that_break_their_schema() {
    for version in [ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28]
    {
        let client = testing::pair_with(Client::builder().versions([version.clone()]), &liar(number()))
            .expect("starts");
        let lie = || client.call_tool("liar", json!({"result": {"n": "x"}}));
        // Nothing is known of the tool yet.
        assert!(lie().is_ok(), "{version}");
        client.list_tools().expect("a list");
        assert_eq!(
            broken(lie()),
            "the result of tool liar breaks its output schema: n: expected an integer, found \"x\""
        );
        let nothing = client.call_tool("liar", json!({"result": null}));
        assert!(broken(nothing).ends_with("structuredContent: missing"));
        // Good ones, failed ones.
        assert!(client.call_tool("liar", json!({"result": {"n": 1}})).is_ok());
        let failed =
            client.call_tool("liar", json!({"result": {"n": "x"}, "fails": true})).expect("a result");
        assert!(failed.is_error());
        // A handle to a call that was open before the listing knows no better.
        let handle =
            client.start_call("liar", json!({"result": {}}), &CallOptions::default()).expect("starts");
        assert!(broken(handle.wait()).ends_with("n: missing"));
    }
    // A revision without structured results.
    let old = Client::builder().versions([ProtocolVersion::V2025_03_26]);
    let client = testing::pair_with(old, &liar(number())).expect("starts");
    client.list_tools().expect("a list");
    assert!(client.call_tool("liar", json!({"result": {"n": "x"}})).is_ok());
}

#[test]
fn a_client_may_trust_its_server() {
    let client = testing::pair_with(Client::builder().trust_results(), &liar(number())).expect("starts");
    let tools = client.discover_tools().expect("a list");
    assert!(client.call_tool("liar", json!({"result": {"n": "x"}})).is_ok());
    let arguments = Arguments::from_text(r#"{"result": 5}"#).expect("an object");
    assert!(tools[0].execute(arguments, &Context::detached()).is_ok());
}

#[test]
fn the_last_listing_counts() {
    let server = liar(number());
    let client = testing::pair(&server).expect("starts");
    client.list_tools().expect("a list");
    let lie = || client.call_tool("liar", json!({"result": {"n": "x"}}));
    assert!(lie().is_err());
    server.tools().replace(Liar::new(json!({"type": "object"}))).expect("replaces");
    client.list_tools().expect("a list");
    assert!(lie().is_ok());
}

#[test]
fn a_schema_that_a_client_cannot_use_costs_only_the_comparison() {
    listen_to_the_log();
    let client = testing::pair(&liar(json!({"type": "object", "$ref": "https://example.com/theirs"})))
        .expect("starts");
    client.list_tools().expect("a list");
    for _ in 0..2 {
        assert!(client.call_tool("liar", json!({"result": {"n": "x"}})).is_ok());
    }
    let warning = "tool liar: results are not compared with its output schema: \
                   $ref leads out of the schema: https://example.com/theirs";
    assert!(was_logged(warning));
}

#[test]
fn a_remote_tool_knows_its_schemas() {
    listen_to_the_log();
    let client = testing::pair(&liar(number())).expect("starts");
    // From a definition alone: this client has listed nothing.
    let caller: Arc<dyn Caller> = Arc::new(client.handle());
    let definition = ToolDefinition::new(
        "liar",
        json!({"type": "object", "properties": {"result": {"not": {"const": 7}}}}),
    )
    .with_output_schema(number());
    let remote = RemoteTool::new(definition, Arc::clone(&caller));
    let lie = Arguments::from_text(r#"{"result": {"n": "x"}}"#).expect("an object");
    let error = remote.execute(lie.clone(), &Context::detached()).expect_err("broken");
    let problem = "protocol violation: the result of tool liar breaks its output schema: n: expected an integer, found \"x\"";
    assert_eq!(error.to_string(), problem);
    // In a registry its arguments are compared before anything is sent, and a broken result is a failed one.
    let tools = ToolRegistry::new().with(remote).expect("registers");
    let call =
        |text| tools.execute("liar", Arguments::from_text(text).expect("an object"), &Context::detached());
    let refused = call(r#"{"result": 7}"#).expect("a result");
    assert_eq!(
        refused.text_content(),
        "bad arguments for tool liar: result: expected what does not fit {\"const\":7}, found 7"
    );
    let failed = tools.execute("liar", lie, &Context::detached()).expect("a result");
    assert!(failed.is_error() && failed.text_content() == problem);
    assert!(!call(r#"{"result": {"n": 1}}"#).expect("a result").is_error());

    // What is wrong with a schema of theirs is a warning.
    let odd =
        ToolDefinition::new("liar", json!({"type": "object", "properties": {"a": {"pattern": "(?=a)"}}}));
    tools.replace(RemoteTool::new(odd, caller)).expect("registers all the same");
    assert!(was_logged("tool liar: a schema is not compared with: properties.a.pattern: "));
    assert!(!call(r#"{"result": {"n": 1}, "a": "b"}"#).expect("a result").is_error());
}

#[test]
fn structured_values_without_a_schema_pass() {
    let free = FnTool::new("free", "", json!({"type": "object"}), |_, _| Structured(json!([1, null])));
    assert!(!answer(free, "{}").is_error());
}

#[test]
fn the_answer_to_a_form_is_compared_with_all_of_its_schema() {
    let schema: RequestedSchema = serde_json::from_value(json!({
        "type": "object",
        "properties": {
            "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
            "when": {"type": "null", "description": "a kind nobody knows"},
        },
        "required": ["code"],
    }))
    .expect("a schema");
    let check = |content: Value| {
        let content = serde_json::from_value(content).expect("an object");
        schema.check(&content).map_err(|problems| problems[0].to_string())
    };
    assert_eq!(check(json!({"code": "ABC", "when": null})), Ok(()));
    assert!(check(json!({"code": "abc"})).expect_err("no match").starts_with("code: "));
    assert!(check(json!({"code": "ABC", "when": 5})).expect_err("no null").starts_with("when: "));
    assert_eq!(check(json!({})), Err("code: missing".to_owned()));
}
