//! What a server asks of a client, lowered to a revision and judged by its official schema.

use serde_json::{Value, json};

use super::*;
use crate::era::lower_input::inexpressible;
use crate::era::schema::{check, check_frame};
use crate::method::Direction;
use crate::protocol::task::legacy::ToolExecution;
use crate::protocol::{
    AudioContent, Content, CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitParams,
    ElicitResult, ElicitUrlParams, ElicitationCompleteParams, ImageContent, IncludeContext, InputRequests,
    InputRequiredResult, ListRootsParams, ListRootsResult, ModelPreferences, PrimitiveSchema,
    ProtocolVersion, RequestedSchema, Role, Root, SamplingContent, SamplingMessage, StopReason, StringFormat,
    ToolChoiceMode, ToolDefinition, ToolResultContent, ToolUseContent,
};

fn tool_use() -> ToolUseContent {
    ToolUseContent::new("1", "weather", object(json!({"city": "Paris"}))).with_meta(meta())
}

fn tool_result(structured: Value) -> ToolResultContent {
    let content = vec![
        Content::text("18 °C"),
        Content::image("AAAA", "image/png"),
        Content::audio("AAAA", "audio/wav"),
        Content::resource_link("file:///a", "a"),
        Content::resource(crate::protocol::ResourceContents::text("file:///a", "b")),
    ];
    let result = ToolResultContent::new("1", content).with_structured_content(structured);
    result.with_is_error(false).with_meta(meta())
}

fn blocks() -> Vec<SamplingContent> {
    vec![
        "text".into(),
        ImageContent::new("AAAA", "image/png").into(),
        AudioContent::new("AAAA", "audio/wav").into(),
    ]
}

fn ask() -> CreateMessageParams {
    let preferences = ModelPreferences::default().with_hint("small").with_cost_priority(1.0);
    CreateMessageParams::new(100)
        .with_message(SamplingMessage::new(Role::User, blocks()).with_meta(meta()))
        .with_assistant(tool_use())
        .with_user(tool_result(json!([1])))
        .with_model_preferences(preferences.with_speed_priority(0.5).with_intelligence_priority(0.0))
        .with_system_prompt("Be brief.")
        .with_include_context(IncludeContext::None)
        .with_temperature(1.0)
        .with_stop_sequences(vec!["stop".into()])
        .with_metadata(object(json!({"a": 1})))
        .with_tools(vec![
            ToolDefinition::new("weather", json!({"type": "object", "properties": {"city": true}}))
                .with_execution(
                    serde_json::from_value::<ToolExecution>(json!({"taskSupport": "optional"}))
                        .expect("valid"),
                ),
        ])
        .with_tool_choice(ToolChoiceMode::Auto)
        .with_task(object(json!({"ttl": 1})))
        .with_meta(object(json!({"progressToken": 1})))
}

fn form() -> RequestedSchema {
    let mut form = RequestedSchema::new()
        .required(
            "text",
            PrimitiveSchema::text()
                .with_title("T")
                .with_length(1, 9)
                .with_format(StringFormat::Email)
                .with_default("a@b"),
        )
        .optional(
            "number",
            PrimitiveSchema::number().with_description("D").with_range(0.5, 9).with_default(2.5),
        )
        .optional("integer", PrimitiveSchema::integer().with_range(1, 9).with_default(3))
        .optional("boolean", PrimitiveSchema::boolean().with_title("B").with_default(true))
        .optional("choice", PrimitiveSchema::choice(["a", "b"]).with_default("a"))
        .required("titled", PrimitiveSchema::titled_choice([("a", "A"), ("b", "B")]).with_default("a"));
    form.dialect = Some("https://json-schema.org/draft/2020-12/schema".into());
    form
}

fn choices() -> RequestedSchema {
    form()
        .optional("choices", PrimitiveSchema::choices(["a", "b"]).with_items(1, 2).with_default(["a"]))
        .optional("titled choices", PrimitiveSchema::titled_choices([("a", "A")]))
}

/// `params` in a request that a Legacy server sends.
fn request(version: &ProtocolVersion, method: &str, params: Value) {
    let frame = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    check_frame(version, Direction::ToClient, &frame, None);
}

fn answer(version: &ProtocolVersion, method: &str, result: Value) {
    let frame = json!({"jsonrpc": "2.0", "id": 1, "result": result});
    check_frame(version, Direction::ToServer, &frame, Some(method));
}

#[test]
fn sampling_follows_the_schema_of_every_revision() {
    for version in ProtocolVersion::ALL {
        let params = value(&lowered(ask(), &version));
        let results = [
            CreateMessageResult::new("m", blocks()),
            CreateMessageResult::text("m", "a"),
            CreateMessageResult::new("m", vec![]),
            CreateMessageResult::new("m", vec![tool_use().into()]),
            CreateMessageResult::new("m", vec!["so".into(), tool_use().into()]),
        ];
        let results = results.map(|result| {
            let result = result.with_stop_reason(StopReason::EndTurn).with_meta(meta());
            value(&lowered(result, &version))
        });
        for message in params["messages"].as_array().expect("messages") {
            check_members(&version, "SamplingMessage", message);
        }
        if version >= ProtocolVersion::V2025_11_25 {
            check_members(&version, "CreateMessageRequestParams", &params);
            check_members(&version, "ToolUseContent", &params["messages"][1]["content"]);
            check_members(&version, "ToolResultContent", &params["messages"][2]["content"]);
            check_members(&version, "Tool", &params["tools"][0]);
        }
        for result in &results {
            check_members(&version, "CreateMessageResult", result);
        }
        if version.is_legacy() {
            request(&version, "sampling/createMessage", params);
            for result in results {
                answer(&version, "sampling/createMessage", result);
            }
        } else {
            check(
                &version,
                "CreateMessageRequest",
                &json!({"method": "sampling/createMessage", "params": params}),
            );
        }
    }
}

#[test]
fn what_a_revision_lacks_in_a_conversation_is_said_as_text() {
    let said = |version| -> Vec<String> {
        let messages = lowered(ask(), version).messages;
        assert!(messages.iter().all(|message| message.content.len() == 1));
        messages.iter().map(|message| format!("{}: {}", message.role, message.text_content())).collect()
    };
    let used = r#"assistant: [tool use: weather {"city":"Paris"}]"#;
    let came = concat!(
        "user: [tool result]\n18 °C\n[image left out: image/png, 3 bytes]\n",
        "[audio left out: audio/wav, 3 bytes]\n[resource: a, file:///a]\n[resource left out]"
    );
    let audio = "user: [audio left out: audio/wav, 3 bytes]";
    assert_eq!(said(&ProtocolVersion::V2024_11_05), ["user: text", "user: ", audio, used, came]);
    assert_eq!(said(&ProtocolVersion::V2025_06_18), ["user: text", "user: ", "user: ", used, came]);

    let both = CreateMessageResult::new("m", blocks());
    let old = lowered(both.clone(), &ProtocolVersion::V2025_06_18);
    assert_eq!(
        old.text_content(),
        "text\n[image left out: image/png, 3 bytes]\n[audio left out: audio/wav, 3 bytes]"
    );
    assert_eq!(lowered(both.clone(), &ProtocolVersion::V2025_11_25), both);
    let picture = CreateMessageResult::new("m", vec![ImageContent::new("AAAA", "image/png").into()]);
    assert_eq!(lowered(picture.clone(), &ProtocolVersion::V2024_11_05), picture);

    let structured = |version| -> Option<Value> {
        let lowered = lowered(tool_result(json!([1])), version);
        lowered.structured_content.map(|json| json.to_value())
    };
    assert_eq!(structured(&ProtocolVersion::V2025_11_25), None);
    assert_eq!(structured(&ProtocolVersion::V2026_07_28), Some(json!([1])));
}

#[test]
fn elicitation_follows_the_schema_of_every_revision() {
    for version in ProtocolVersion::ALL.into_iter().filter(|v| *v >= ProtocolVersion::V2025_06_18) {
        let new = version >= ProtocolVersion::V2025_11_25;
        let form = if new { choices() } else { form() };
        let form = ElicitFormParams::new("m", form).with_task(object(json!({"ttl": 1}))).with_meta(meta());
        let url = ElicitUrlParams::new("m", "https://example.com").with_elicitation_id("1");
        let url = url.with_task(object(json!({"ttl": 1}))).with_meta(meta());
        let kinds = [ElicitParams::from(form), url.into()];
        let sent = kinds.into_iter().filter(|params| inexpressible(params, &version).is_none());
        let sent: Vec<_> = sent.map(|params| value(&lowered(params, &version))).collect();
        assert_eq!(sent.len(), if new { 2 } else { 1 });
        for (params, definition) in sent.iter().zip(["ElicitRequestFormParams", "ElicitRequestURLParams"]) {
            if new {
                check_members(&version, definition, params);
            }
            if version.is_legacy() {
                request(&version, "elicitation/create", params.clone());
            } else {
                check(&version, "ElicitRequest", &json!({"method": "elicitation/create", "params": params}));
            }
        }
        let content = object(json!({"a": "x", "b": 1, "c": true}));
        let mut odd = ElicitResult::decline();
        odd.content = Some(content.clone());
        for result in [ElicitResult::accept(content), ElicitResult::accept_url(), ElicitResult::cancel(), odd]
        {
            let result = lowered(result.with_meta(meta()), &version);
            assert!(result.content.is_none() || result.is_accepted());
            check_members(&version, "ElicitResult", &value(&result));
            if version.is_legacy() {
                answer(&version, "elicitation/create", value(&result));
            }
        }
    }
    let complete = json!({
        "jsonrpc": "2.0", "method": "notifications/elicitation/complete",
        "params": ElicitationCompleteParams::new("1")
    });
    check_frame(&ProtocolVersion::V2025_11_25, Direction::ToClient, &complete, None);
}

#[test]
fn forms_for_2025_06_18_use_its_words() {
    let old = value(&lowered(ElicitParams::form("m", form()), &ProtocolVersion::V2025_06_18));
    assert_eq!(
        old,
        json!({"message": "m", "requestedSchema": {
            "type": "object",
            "properties": {
                "text": {"type": "string", "title": "T", "minLength": 1, "maxLength": 9, "format": "email"},
                "number": {"type": "number", "description": "D", "minimum": 0.5, "maximum": 9},
                "integer": {"type": "integer", "minimum": 1, "maximum": 9},
                "boolean": {"type": "boolean", "title": "B", "default": true},
                "choice": {"type": "string", "enum": ["a", "b"]},
                "titled": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}
            },
            "required": ["text", "titled"]
        }})
    );
    let same = ElicitParams::form("m", choices());
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28, "2031-01-01".into()] {
        assert_eq!(lowered(same.clone(), &version), same, "{version}");
    }
}

#[test]
fn what_cannot_be_asked_is_named() {
    let odd = ElicitParams::Unknown(object(json!({"mode": "voice"})));
    let url = ElicitParams::url("m", "https://example.com");
    let (old, between) = (ProtocolVersion::V2025_03_26, ProtocolVersion::V2025_06_18);
    let later = ProtocolVersion::from("2031-01-01");
    for (params, version, want) in [
        (ElicitParams::form("m", form()), &old, Some("revision 2025-03-26 has no elicitation")),
        (ElicitParams::form("m", form()), &between, None),
        (
            ElicitParams::form("m", choices()),
            &between,
            Some("field choices: revision 2025-06-18 has no choice of several values"),
        ),
        (url.clone(), &between, Some("revision 2025-06-18 has no elicitation by url")),
        (odd.clone(), &between, Some("revision 2025-06-18 has no elicitation but by form")),
        (ElicitParams::form("m", choices()), &ProtocolVersion::V2025_11_25, None),
        (url, &later, None),
        (odd, &ProtocolVersion::V2026_07_28, None),
    ] {
        assert_eq!(inexpressible(&params, version).as_deref(), want, "{params:?}");
    }
}

#[test]
fn roots_follow_the_schema_of_every_revision() {
    for version in ProtocolVersion::ALL {
        let root = Root::new("file:///a").with_name("A").with_meta(meta());
        let result = lowered(ListRootsResult::new(vec![root]).with_meta(meta()), &version);
        let result = value(&result);
        check_members(&version, "ListRootsResult", &result);
        check_members(&version, "Root", &result["roots"][0]);
        if version.is_legacy() {
            answer(&version, "roots/list", result);
            request(&version, "roots/list", value(&ListRootsParams::default()));
        }
    }
}

#[test]
fn questions_in_a_result_follow_the_schema() {
    let version = ProtocolVersion::V2026_07_28;
    let mut asked = InputRequests::new();
    asked.insert("sampling", ask());
    asked.insert("form", ElicitParams::from(ElicitFormParams::new("m", choices()).with_meta(meta())));
    asked.insert(
        "url",
        ElicitParams::from(ElicitUrlParams::new("m", "https://a.example").with_elicitation_id("1")),
    );
    asked.insert("roots", ListRootsParams::default());
    for result in [InputRequiredResult::new(asked), InputRequiredResult::state("s").with_meta(meta())] {
        let result = value(&lowered(result.with_request_state("s"), &version));
        check_members(&version, "InputRequiredResult", &result);
        let frame = json!({"jsonrpc": "2.0", "id": 1, "result": result});
        check_frame(&version, Direction::ToClient, &frame, Some("tools/call"));
        assert!(result["inputRequests"]["sampling"]["params"]["task"].is_null());
        assert!(result["inputRequests"]["url"]["params"]["elicitationId"].is_null());
    }
}
