//! What is lowered to a revision is judged by that revision's official schema.

mod input;
mod server;

use serde::Serialize;
use serde_json::{Value, json};

use super::schema::{check, check_frame, defines};
use super::*;
use crate::json::{FromJson, Json, Object};
use crate::jsonrpc::{ErrorObject, write_error};
use crate::method::{Direction, Method};
use crate::protocol::task::legacy::{TaskSupport, TasksCapability, ToolExecution};
use crate::protocol::{
    Annotations, AudioContent, BlobResourceContents, CacheScope, CallToolParams, CallToolResult,
    CancelledParams, ClientCapabilities, Content, DiscoverResult, ElicitationCapability, EmbeddedResource,
    Icon, IconTheme, ImageContent, Implementation, InitializeParams, InitializeResult, ListToolsResult,
    ProgressParams, PromptsCapability, ProtocolVersion, ResourceLink, ResourcesCapability, Role,
    RootsCapability, SamplingCapability, ServerCapabilities, TextContent, TextResourceContents,
    ToolAnnotations, ToolDefinition, ToolsCapability,
};

pub(super) fn object(value: Value) -> Object {
    Json::from(value).to().expect("an object")
}

pub(super) fn value<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).expect("JSON")
}

pub(super) fn meta() -> Object {
    object(json!({"com.example/trace": 1}))
}

fn icons() -> Vec<Icon> {
    let icon = Icon::new("https://example.com/a.png").with_mime_type("image/png");
    vec![icon.with_sizes(vec!["48x48".into()]).with_theme(IconTheme::Dark)]
}

fn annotations() -> Annotations {
    let annotations = Annotations::default().with_audience(vec![Role::User, Role::Assistant]);
    annotations.with_priority(0.5).with_last_modified("2026-01-01T00:00:00Z")
}

/// One block of every kind, with everything set.
fn blocks() -> Vec<Content> {
    macro_rules! full {
        ($block:expr) => {
            $block.with_annotations(annotations()).with_meta(meta()).into()
        };
    }
    let link = ResourceLink::new("file:///a.txt", "a").with_title("A").with_description("the first letter");
    vec![
        full!(TextContent::new("text")),
        full!(ImageContent::new("AAAA", "image/png")),
        full!(AudioContent::new("AAAAAA==", "audio/wav")),
        full!(link.with_mime_type("text/plain").with_size(3_u64).with_icons(icons())),
        full!(EmbeddedResource::new(
            TextResourceContents::new("a:b", "c").with_mime_type("text/plain").with_meta(meta())
        )),
        full!(EmbeddedResource::new(
            BlobResourceContents::new("a:b", "AAAA").with_mime_type("image/png").with_meta(meta())
        )),
    ]
}

fn tool() -> ToolDefinition {
    let hints = ToolAnnotations::default().with_title("T").with_read_only(false).with_destructive(false);
    ToolDefinition::new(
        "t",
        json!({"type": "object", "properties": {"any": true, "none": false, "text": {"type": "string"}}}),
    )
    .with_title("T")
    .with_description("does it")
    .with_output_schema(json!({"type": "object", "properties": {"any": true}}))
    .with_annotations(hints.with_idempotent(true).with_open_world(true))
    .with_icons(icons())
    .with_execution(ToolExecution::default().with_task_support(TaskSupport::Optional))
    .with_meta(meta())
}

fn implementation() -> Implementation {
    let named = Implementation::new("n", "1").with_title("N").with_description("about n");
    named.with_website_url("https://example.com").with_icons(icons())
}

fn server_capabilities() -> ServerCapabilities {
    ServerCapabilities::default()
        .with_experimental(object(json!({"x": {}})))
        .with_logging(Object::new())
        .with_completions(Object::new())
        .with_prompts(PromptsCapability::new(true))
        .with_resources(ResourcesCapability::new(true).with_subscribe(true))
        .with_tools(ToolsCapability::new(true))
        .with_tasks(TasksCapability::default().with_list(Object::new()).with_request("tools/call"))
        .with_extensions(object(json!({"com.example/x": {}})))
}

fn client_capabilities() -> ClientCapabilities {
    ClientCapabilities::default()
        .with_experimental(object(json!({"x": {}})))
        .with_roots(RootsCapability::new(true))
        .with_sampling(SamplingCapability::default().with_context(Object::new()).with_tools(Object::new()))
        .with_elicitation(ElicitationCapability::default().with_form(Object::new()).with_url(Object::new()))
        .with_tasks(TasksCapability::default().with_list(Object::new()))
        .with_extensions(object(json!({"com.example/x": {}})))
}

/// Everything in `value` is a member that `definition` names, so nothing was forgotten in the table.
#[track_caller]
pub(super) fn check_members(version: &ProtocolVersion, definition: &str, value: &Value) {
    check(version, definition, value);
    let schema = super::schema::schema(version);
    let definitions = schema.get("$defs").or_else(|| schema.get("definitions")).expect("definitions");
    let known = &definitions[definition]["properties"];
    for name in value.as_object().expect("an object").keys() {
        assert!(!known[name].is_null(), "{version} has no {definition}.{name}");
    }
}

#[test]
fn lowered_values_are_those_of_the_schema() {
    for version in ProtocolVersion::ALL {
        check_members(&version, "Tool", &value(&lowered(tool(), &version)));
        check_members(&version, "Implementation", &value(&lowered(implementation(), &version)));
        check_members(&version, "ServerCapabilities", &value(&lowered(server_capabilities(), &version)));
        check_members(&version, "ClientCapabilities", &value(&lowered(client_capabilities(), &version)));
        for block in lowered(blocks(), &version) {
            let definition = match &block {
                Content::Text(_) => "TextContent",
                Content::Image(_) => "ImageContent",
                Content::Audio(_) => "AudioContent",
                Content::ResourceLink(_) => "ResourceLink",
                _ => "EmbeddedResource",
            };
            check_members(&version, definition, &value(&block));
        }
        if version.is_legacy() {
            let result = InitializeResult::new(version.clone(), server_capabilities(), implementation());
            let result = lowered(result.with_instructions("read me").with_meta(meta()), &version);
            check_members(&version, "InitializeResult", &value(&result));
            let params = InitializeParams::new(version.clone(), client_capabilities(), implementation());
            let request = frame(1, "initialize", value(&lowered(params, &version)));
            check_frame(&version, Direction::ToServer, &request, None);
        }
    }
}

fn frame(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// `result` as a server answers `method` with it.
fn answer<T: Serialize>(version: &ProtocolVersion, method: Method, result: &T) -> Value {
    let mut out = Vec::new();
    if version.is_modern() {
        Stamp::new(Some(&implementation())).write(&mut out, Some(method), result).expect("JSON");
    } else {
        out = serde_json::to_vec(result).expect("JSON");
    }
    let result: Value = serde_json::from_slice(&out).expect("JSON");
    json!({"jsonrpc": "2.0", "id": 1, "result": result})
}

#[test]
fn answers_pass_the_frame_check() {
    for version in ProtocolVersion::ALL {
        let check = |method: Method, response: &Value| {
            check_frame(&version, Direction::ToClient, response, Some(method.name()));
        };
        for structured in [json!({"a": 1}), json!([1]), json!("a"), json!(null)] {
            let result = CallToolResult::new(blocks()).with_structured_content(structured).with_meta(meta());
            let result = lowered(result, &version);
            check(Method::ToolsCall, &answer(&version, Method::ToolsCall, &result));
            let response = answer(&version, Method::ToolsCall, &CallToolResult::error("no"));
            check(Method::ToolsCall, &response);
        }
        let list = ListToolsResult::new(vec![tool()]).with_next_cursor("2").with_ttl_ms(5_u64);
        let list = lowered(list.with_cache_scope(CacheScope::Public).with_meta(meta()), &version);
        check(Method::ToolsList, &answer(&version, Method::ToolsList, &list));
        if version.is_modern() {
            let result = DiscoverResult::new(ProtocolVersion::ALL.to_vec(), server_capabilities());
            let result = lowered(result.with_instructions("read me"), &version);
            check(Method::Discover, &answer(&version, Method::Discover, &result));
        } else {
            check(Method::Ping, &answer(&version, Method::Ping, &json!({})));
        }
    }
}

#[test]
fn notices_and_errors_pass_the_frame_check() {
    for version in ProtocolVersion::ALL {
        let notice = |method: &str, params: Value| {
            let frame = json!({"jsonrpc": "2.0", "method": method, "params": params});
            check_frame(&version, Direction::ToClient, &frame, None);
        };
        let progress = ProgressParams::new(1, 0.5).with_total(1.0).with_message("half").with_meta(meta());
        let progress = lowered(progress, &version);
        assert_eq!(progress.message.is_some(), version >= ProtocolVersion::V2025_03_26);
        notice("notifications/progress", value(&progress));
        notice(
            "notifications/cancelled",
            value(&CancelledParams::new("a").with_reason("no").with_meta(meta())),
        );
        for error in [
            ErrorObject::new(-32602, "bad").with_data(json!({"a": 1})),
            unsupported_version(&"1900-01-01".into(), &Offered::default()),
        ] {
            for id in [Some(&1.into()), None] {
                let mut out = Vec::new();
                write_error(&mut out, id, &error);
                let frame: Value = serde_json::from_slice(&out).expect("JSON");
                if id.is_some() || defines(&version, "JSONRPCErrorResponse") {
                    check_frame(&version, Direction::ToClient, &frame, None);
                }
            }
        }
        let params = CallToolParams::new("a").with_arguments(json!({})).with_request_state("s");
        let params = lowered(params.with_input_responses(Object::new()), &version);
        assert_eq!(params.request_state.is_some(), version.is_modern());
    }
}

#[test]
fn what_a_revision_lacks_is_said_as_text() {
    let texts = |version| -> Vec<String> {
        let all = lowered(CallToolResult::new(blocks()), version).content;
        all.iter().filter_map(|block| block.as_text().map(str::to_owned)).collect()
    };
    let audio = "[audio left out: audio/wav, 4 bytes]";
    let link = "[resource: A, file:///a.txt]\nthe first letter";
    assert_eq!(texts(&ProtocolVersion::V2024_11_05), ["text", audio, link]);
    assert_eq!(texts(&ProtocolVersion::V2025_03_26), ["text", link]);
    assert_eq!(texts(&ProtocolVersion::V2025_06_18), ["text"]);
}

#[test]
fn structured_content_that_is_taken_out_stays_as_text() {
    let lower = |result: CallToolResult, version: &ProtocolVersion| {
        let result = lowered(result, version);
        (result.text_content(), result.structured_content.map(|json| json.to_string()))
    };
    let said = || CallToolResult::structured(&json!([1, 2])).expect("JSON");
    let unsaid = |value: Value| CallToolResult::text("two").with_structured_content(value);
    let (old, between, legacy, modern) = (
        ProtocolVersion::V2024_11_05,
        ProtocolVersion::V2025_06_18,
        ProtocolVersion::V2025_11_25,
        ProtocolVersion::V2026_07_28,
    );
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(lower(said(), &modern), ("[1,2]".into(), some("[1,2]")));
    assert_eq!(lower(said(), &legacy), ("[1,2]".into(), None));
    assert_eq!(lower(unsaid(json!([1])), &legacy), ("two\n[1]".into(), None));
    assert_eq!(lower(unsaid(json!(null)), &legacy), ("two\nnull".into(), None));
    assert_eq!(lower(unsaid(json!(null)), &modern), ("two".into(), some("null")));
    assert_eq!(lower(unsaid(json!({"a": 1})), &between), ("two".into(), some(r#"{"a":1}"#)));
    assert_eq!(
        lower(unsaid(json!({"a": 1})), &old),
        (
            r#"two
{"a":1}"#
                .into(),
            None
        )
    );
    let unknown = ProtocolVersion::from("2031-01-01");
    assert_eq!(lower(unsaid(json!([1])), &unknown), ("two".into(), some("[1]")));
    let spaced = CallToolResult::text(r#"{ "a": 1 }"#).with_structured_content(json!({"a": 1}));
    assert_eq!(lower(spaced, &old), (r#"{ "a": 1 }"#.into(), None));
}

#[test]
fn schemas_become_those_of_an_object() {
    let list =
        ToolDefinition::new("t", json!({"type": "object"})).with_output_schema(json!({"type": "array"}));
    let legacy = ProtocolVersion::V2025_11_25;
    assert_eq!(lowered(list.clone(), &legacy).output_schema, None);
    assert_eq!(lowered(list.clone(), &ProtocolVersion::LATEST), list);
    let properties = value(&lowered(tool(), &legacy))["inputSchema"]["properties"].take();
    assert_eq!(properties, json!({"any": {}, "none": {"not": {}}, "text": {"type": "string"}}));
    assert_eq!(lowered(tool(), &ProtocolVersion::LATEST).input_schema, tool().input_schema);
}

#[test]
fn a_client_with_urls_only_cannot_be_asked_by_form() {
    let urls = ElicitationCapability::default().with_url(Object::new());
    let client = ClientCapabilities::default().with_elicitation(urls);
    assert_eq!(lowered(client.clone(), &ProtocolVersion::V2025_06_18).elicitation, None);
    assert_eq!(lowered(client.clone(), &ProtocolVersion::V2025_11_25), client);
}

#[test]
fn null_from_a_legacy_server_is_no_value() {
    let json = Json::from(json!({"content": [], "structuredContent": null}));
    let read = |version| read_call_result(json.as_raw(), version).expect("a result").structured_content;
    assert_eq!(read(&ProtocolVersion::V2025_11_25), None);
    assert_eq!(read(&ProtocolVersion::V2026_07_28), Some(Json::from(Value::Null)));
    assert!(CallToolResult::from_json(Json::from("x").as_raw()).is_err());
}
