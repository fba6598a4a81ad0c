//! The wire types against the official schemas and examples.

#[path = "support/schema.rs"]
mod schema;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use schema::{check, check_frame, frame_problems};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tinymcp::method::Direction;
use tinymcp::protocol::{
    AudioContent, BlobResourceContents, CallToolParams, CallToolResult, CancelledParams, ClientCapabilities,
    CompleteParams, CompleteResult, Content, DiscoverResult, EmbeddedResource, GetPromptParams,
    GetPromptResult, ImageContent, InitializeParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LogMessageParams, PaginatedParams,
    ProgressParams, ProtocolVersion, ReadResourceParams, ReadResourceResult, Resource, ResourceContents,
    ResourceLink, ResourceUpdatedParams, ServerCapabilities, TextContent, TextResourceContents,
    ToolDefinition,
};
use tinymcp::{ErrorObject, Message};

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
fn round_trip<T: Serialize + DeserializeOwned>(value: &Value) {
    let read: T = serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{e}: {value:#}"));
    assert_eq!(normal(&serde_json::to_value(read).expect("JSON")), normal(value));
}

/// The official examples: folder (the schema's name) and content.
fn examples() -> Vec<(String, Value)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spec/2026-07-28/examples");
    let mut found = Vec::new();
    for folder in fs::read_dir(root).expect("examples") {
        let folder = folder.expect("a folder").path();
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        for file in fs::read_dir(&folder).expect("files") {
            let text = fs::read(file.expect("a file").path()).expect("text");
            found.push((name.clone(), serde_json::from_slice(&text).expect("JSON")));
        }
    }
    found
}

/// The parameters or the result of a whole message.
#[track_caller]
fn round_trip_inside(name: &str, value: &Value) {
    let inside = |member: &str| &value[member];
    match name {
        "ReadResourceRequest" => round_trip::<ReadResourceParams>(inside("params")),
        "GetPromptRequest" => round_trip::<GetPromptParams>(inside("params")),
        "CompleteRequest" => round_trip::<CompleteParams>(inside("params")),
        "ListResourcesRequest" | "ListResourceTemplatesRequest" | "ListPromptsRequest" => {
            round_trip::<PaginatedParams>(inside("params"));
        }
        "ResourceUpdatedNotification" => round_trip::<ResourceUpdatedParams>(inside("params")),
        "LoggingMessageNotification" => round_trip::<LogMessageParams>(inside("params")),
        "ListResourcesResultResponse" => round_trip::<ListResourcesResult>(inside("result")),
        "ListResourceTemplatesResultResponse" => round_trip::<ListResourceTemplatesResult>(inside("result")),
        "ReadResourceResultResponse" => round_trip::<ReadResourceResult>(inside("result")),
        "ListPromptsResultResponse" => round_trip::<ListPromptsResult>(inside("result")),
        "GetPromptResultResponse" => round_trip::<GetPromptResult>(inside("result")),
        "CompleteResultResponse" => round_trip::<CompleteResult>(inside("result")),
        _ => {}
    }
}

#[test]
fn official_examples_survive_a_round_trip() {
    let mut folders = BTreeSet::new();
    for (name, value) in examples() {
        check(&ProtocolVersion::V2026_07_28, &name, &value);
        match name.as_str() {
            "TextContent" => round_trip::<TextContent>(&value),
            "ImageContent" => round_trip::<ImageContent>(&value),
            "AudioContent" => round_trip::<AudioContent>(&value),
            "ResourceLink" => round_trip::<ResourceLink>(&value),
            "EmbeddedResource" => round_trip::<EmbeddedResource>(&value),
            "TextResourceContents" => round_trip::<TextResourceContents>(&value),
            "BlobResourceContents" => round_trip::<BlobResourceContents>(&value),
            "CallToolRequestParams" => round_trip::<CallToolParams>(&value),
            "CallToolResult" => round_trip::<CallToolResult>(&value),
            "CancelledNotificationParams" => round_trip::<CancelledParams>(&value),
            "ProgressNotificationParams" => round_trip::<ProgressParams>(&value),
            "PaginatedRequestParams" => round_trip::<PaginatedParams>(&value),
            "ClientCapabilities" => round_trip::<ClientCapabilities>(&value),
            "ServerCapabilities" => round_trip::<ServerCapabilities>(&value),
            "DiscoverResult" => round_trip::<DiscoverResult>(&value),
            "ListToolsResult" => round_trip::<ListToolsResult>(&value),
            "Resource" => round_trip::<Resource>(&value),
            "ListResourcesResult" => round_trip::<ListResourcesResult>(&value),
            "ListResourceTemplatesResult" => round_trip::<ListResourceTemplatesResult>(&value),
            "ReadResourceResult" => round_trip::<ReadResourceResult>(&value),
            "ResourceUpdatedNotificationParams" => round_trip::<ResourceUpdatedParams>(&value),
            "ListPromptsResult" => round_trip::<ListPromptsResult>(&value),
            "GetPromptRequestParams" => round_trip::<GetPromptParams>(&value),
            "GetPromptResult" => round_trip::<GetPromptResult>(&value),
            "CompleteRequestParams" => round_trip::<CompleteParams>(&value),
            "CompleteResult" => round_trip::<CompleteResult>(&value),
            "LoggingMessageNotificationParams" => round_trip::<LogMessageParams>(&value),
            "Tool" => round_trip::<ToolDefinition>(&value),
            "ParseError" | "InvalidParamsError" | "InternalError" | "MethodNotFoundError" => {
                round_trip::<ErrorObject>(&value);
            }
            _ if value.get("jsonrpc").is_some() => {
                round_trip::<Message>(&value);
                round_trip_inside(&name, &value);
            }
            // The types of what a server asks and of tasks are judged in files of their own.
            _ => continue,
        }
        if name.ends_with("Content") || matches!(name.as_str(), "ResourceLink" | "EmbeddedResource") {
            round_trip::<Content>(&value);
            let content: Content = serde_json::from_value(value.clone()).expect("content");
            assert!(!matches!(content, Content::Unknown(_)), "{value:#}");
        }
        if name.ends_with("ResourceContents") {
            round_trip::<ResourceContents>(&value);
        }
        folders.insert(name);
    }
    assert!(folders.len() >= 58, "found examples of {} types only", folders.len());
}

#[test]
fn official_examples_of_whole_messages_pass_the_frame_check() {
    let version = ProtocolVersion::V2026_07_28;
    for (name, value) in examples().into_iter().filter(|(_, value)| value.get("jsonrpc").is_some()) {
        let answered = match name.as_str() {
            "CallToolResultResponse" => Some("tools/call"),
            "ListToolsResultResponse" => Some("tools/list"),
            "DiscoverResultResponse" => Some("server/discover"),
            "ListResourcesResultResponse" => Some("resources/list"),
            "ListResourceTemplatesResultResponse" => Some("resources/templates/list"),
            "ReadResourceResultResponse" => Some("resources/read"),
            "ListPromptsResultResponse" => Some("prompts/list"),
            "GetPromptResultResponse" => Some("prompts/get"),
            "CompleteResultResponse" => Some("completion/complete"),
            _ => None,
        };
        let to_server = name.ends_with("Request") || name == "CancelledNotification";
        let direction = if to_server { Direction::ToServer } else { Direction::ToClient };
        // One example lacks members that the schema requires of what it shows.
        if answered == Some("resources/read") && value["result"].get("ttlMs").is_none() {
            let problem = frame_problems(&version, direction, &value, answered).expect_err("mended");
            assert!(problem.contains("ttlMs") && problem.contains("cacheScope"), "{problem}");
            continue;
        }
        check_frame(&version, direction, &value, answered);
    }
}

#[test]
fn the_frame_check_finds_what_is_wrong() {
    let modern = ProtocolVersion::V2026_07_28;
    let legacy = ProtocolVersion::V2025_06_18;
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": 1, "result": result});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}});
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let progress = json!({
        "jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}
    });
    let no_id = json!({"jsonrpc": "2.0", "error": {"code": -32700, "message": "not JSON"}});
    use Direction::{ToClient, ToServer};
    for (version, direction, frame, answered, right) in [
        (&legacy, ToServer, &call, None, true),
        (&modern, ToServer, &call, None, false),
        (&legacy, ToClient, &call, None, false),
        (&legacy, ToClient, &ping, None, true),
        (&modern, ToServer, &ping, None, false),
        (&legacy, ToServer, &progress, None, true),
        (&modern, ToServer, &progress, None, false),
        (&modern, ToClient, &progress, None, true),
        (&legacy, ToClient, &no_id, None, true),
        (&modern, ToClient, &no_id, None, true),
        (&legacy, ToClient, &json!([ping]), None, false),
        (&ProtocolVersion::V2025_03_26, ToClient, &json!([ping]), None, true),
        (&legacy, ToClient, &result(json!({"content": []})), Some("tools/call"), true),
        (&modern, ToClient, &result(json!({"content": []})), Some("tools/call"), false),
        (&legacy, ToClient, &result(json!({})), Some("tools/call"), false),
        (&legacy, ToClient, &result(json!({})), Some("ping"), true),
        (&modern, ToClient, &result(json!({"resultType": "input_required"})), Some("tools/call"), true),
        (&modern, ToClient, &result(json!({"resultType": "input_required"})), Some("tools/list"), false),
        (&legacy, ToClient, &result(json!(null)), None, false),
    ] {
        let got = frame_problems(version, direction, frame, answered);
        assert_eq!(got.is_ok(), right, "{version} {direction:?} {answered:?}: {frame}: {got:?}");
    }
}

#[test]
fn unknown_members_survive_at_every_level() {
    let new = json!({"deep": [1, null]});
    round_trip::<CallToolResult>(&json!({
        "content": [
            {"type": "text", "text": "a", "new": new, "annotations": {"priority": 1, "new": new}},
            {"type": "resource", "resource": {"uri": "a:b", "text": "", "new": new}, "new": new},
            {"type": "resource_link", "uri": "a:b", "name": "b", "icons": [{"src": "data:,", "new": new}]},
            {"type": "hologram", "new": new}
        ],
        "_meta": {"new": new},
        "new": new
    }));
    round_trip::<ListToolsResult>(&json!({
        "tools": [{
            "name": "a", "inputSchema": {"type": "object", "new": new}, "new": new,
            "annotations": {"readOnlyHint": true, "new": new}, "execution": {"taskSupport": "optional", "new": new}
        }],
        "cacheScope": "galactic", "new": new
    }));
    round_trip::<InitializeParams>(&json!({
        "protocolVersion": "2031-01-01",
        "capabilities": {
            "new": new, "roots": {"new": new}, "sampling": {"new": new}, "elicitation": {"form": {"new": new}}
        },
        "clientInfo": {"name": "a", "version": "1", "new": new, "icons": [{"src": "data:,", "theme": "sepia"}]},
        "new": new
    }));
    round_trip::<InitializeResult>(&json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {
            "new": new, "tools": {"new": new}, "prompts": {"new": new}, "resources": {"new": new}, "tasks": {"new": new}
        },
        "serverInfo": {"name": "a", "version": "1"}, "new": new
    }));
    round_trip::<DiscoverResult>(
        &json!({"supportedVersions": ["2031-01-01"], "capabilities": {}, "new": new}),
    );
    round_trip::<ReadResourceResult>(&json!({
        "contents": [{"uri": "a:b", "text": "", "new": new}, {"uri": "a:b", "blob": "", "new": new}], "new": new
    }));
    round_trip::<ListResourcesResult>(&json!({
        "resources": [{"uri": "a:b", "name": "b", "annotations": {"new": new}, "new": new}], "new": new
    }));
    round_trip::<ListResourceTemplatesResult>(
        &json!({"resourceTemplates": [{"uriTemplate": "a:{b}", "name": "b", "new": new}], "new": new}),
    );
    round_trip::<ListPromptsResult>(
        &json!({"prompts": [{"name": "a", "arguments": [{"name": "b", "new": new}], "new": new}], "new": new}),
    );
    round_trip::<GetPromptParams>(&json!({"name": "a", "arguments": {"b": "c"}, "new": new}));
    round_trip::<GetPromptResult>(&json!({
        "messages": [{"role": "oracle", "content": {"type": "hologram", "new": new}, "new": new}], "new": new
    }));
    round_trip::<CompleteParams>(&json!({
        "ref": {"type": "ref/tool", "new": new}, "argument": {"name": "a", "value": "b", "new": new},
        "context": {"arguments": {"c": "d"}, "new": new}, "new": new
    }));
    round_trip::<CompleteResult>(&json!({"completion": {"values": ["a"], "new": new}, "new": new}));
    round_trip::<LogMessageParams>(&json!({"level": "info", "data": null, "new": new}));
    round_trip::<CallToolParams>(&json!({"name": "a", "arguments": {}, "_meta": {"new": new}, "new": new}));
    round_trip::<ProgressParams>(&json!({"progressToken": "a", "progress": 0.5, "new": new}));
    round_trip::<CancelledParams>(&json!({"requestId": 1, "new": new}));
}

#[test]
fn a_page_of_tools_keeps_every_official_tool() {
    for (_, value) in examples().into_iter().filter(|(name, _)| name == "Tool") {
        let page: ListToolsResult = tinymcp::json::FromJson::from_json(
            tinymcp::json::Json::from(json!({"tools": [value, {"broken": true}]})).as_raw(),
        )
        .expect("a page");
        assert_eq!((page.items.len(), page.rejected.len()), (1, 1), "{value:#}");
    }
}
