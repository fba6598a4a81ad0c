use serde::Serialize;
use serde_json::json;

use super::*;
use crate::json::FromJson;

fn read<T: FromJson>(text: &str) -> Result<T, String> {
    T::from_json(Json::parse(text).expect("JSON").as_raw()).map_err(|e| e.to_string())
}

fn written<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("JSON")
}

#[test]
fn content_is_one_block_or_a_list() {
    let block = r#"{"type":"text","text":"a"}"#;
    for (content, len, again) in [
        (block.to_owned(), 1, block.to_owned()),
        (format!("[{block}]"), 1, block.to_owned()),
        (format!("[{block},{block}]"), 2, format!("[{block},{block}]")),
        ("[]".to_owned(), 0, "[]".to_owned()),
    ] {
        let message: SamplingMessage =
            read(&format!(r#"{{"role":"user","content":{content}}}"#)).expect("a message");
        assert_eq!(message.content.len(), len, "{content}");
        assert_eq!(written(&message), format!(r#"{{"role":"user","content":{again}}}"#));
    }
    for (text, problem) in [
        (r#"{"role":"user"}"#, "content: missing"),
        (r#"{"role":"user","content":"a"}"#, r#"content: expected an object, found "a""#),
        (r#"{"role":"user","content":[5]}"#, "content[0]: expected an object, found 5"),
        (r#"{"content":[]}"#, "role: missing"),
    ] {
        assert_eq!(read::<SamplingMessage>(text), Err(problem.to_owned()), "{text}");
    }
}

#[test]
fn odd_blocks_are_kept_as_they_came() {
    for (text, known) in [
        (r#"{"type":"tool_use","id":"1","name":"a","input":{"x":1}}"#, true),
        (r#"{"type":"tool_use","id":"1","name":"a","input":[1]}"#, false),
        (
            r#"{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"a"}],"structuredContent":null}"#,
            true,
        ),
        (r#"{"content":[],"type":"tool_result"}"#, false),
        (r#"{"type":"hologram","x":1}"#, false),
        (r#"{"type":"image","data":"AA==","mimeType":"image/png","new":1}"#, true),
    ] {
        let block: SamplingContent = read(text).expect("a block");
        assert_eq!(!matches!(block, SamplingContent::Unknown(_)), known, "{text}");
        let again: serde_json::Value = serde_json::from_str(&written(&block)).expect("JSON");
        assert_eq!(again, serde_json::from_str::<serde_json::Value>(text).expect("JSON"));
    }
    let lazy: SamplingContent = read(r#"{"type":"tool_use","id":"1","name":"a"}"#).expect("a block");
    assert_eq!(written(&lazy), r#"{"type":"tool_use","id":"1","name":"a","input":{}}"#);
}

#[test]
fn odd_wishes_cost_themselves_and_odd_tools_the_request() {
    let ask = read::<CreateMessageParams>(
        r#"{"messages":[],"maxTokens":100.0,"temperature":"hot","modelPreferences":[],"toolChoice":{"mode":"maybe"},"includeContext":"galaxy","tools":null}"#,
    )
    .expect("parameters");
    assert_eq!((ask.max_tokens, ask.temperature, ask.model_preferences.is_none()), (100, None, true));
    assert_eq!(ask.include_context, Some(IncludeContext::Unknown("galaxy".into())));
    assert_eq!(ask.tool_choice, Some(ToolChoiceMode::Unknown("maybe".into()).into()));
    let odd = r#"{"messages":[],"maxTokens":1,"tools":[{"name":"a"}]}"#;
    assert_eq!(read::<CreateMessageParams>(odd), Err("tools[0].inputSchema: missing".into()));
    assert!(read::<CreateMessageParams>(r#"{"messages":[]}"#).is_err());
}

#[test]
fn questions_and_answers_are_written_as_said() {
    let ask = CreateMessageParams::new(50)
        .with_system_prompt("Be brief.")
        .with_model_preferences(ModelPreferences::default().with_hint("small").with_speed_priority(1.0))
        .with_temperature(0.5)
        .with_user("Why?")
        .with_assistant("Because.");
    assert_eq!(
        written(&ask),
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"Why?"}},{"role":"assistant","content":{"type":"text","text":"Because."}}],"modelPreferences":{"hints":[{"name":"small"}],"speedPriority":1},"systemPrompt":"Be brief.","temperature":0.5,"maxTokens":50}"#
    );
    assert!(!ask.needs_tools() && ask.with_tool_choice(ToolChoiceMode::None).needs_tools());

    let input = Json::from(json!({"city": "Paris"})).to().expect("an object");
    let uses = vec!["I look it up.".into(), ToolUseContent::new("1", "weather", input).into(), "So.".into()];
    let answer = CreateMessageResult::new("m", uses).with_stop_reason(StopReason::ToolUse);
    assert_eq!(answer.text_content(), "I look it up.\nSo.");
    assert_eq!(answer.tool_uses().map(|used| used.name.as_str()).collect::<Vec<_>>(), ["weather"]);
    assert_eq!(answer.into_message().role, Role::Assistant);
    let own: CreateMessageResult =
        read(r#"{"role":"assistant","content":[],"model":"m","stopReason":"refusal"}"#).expect("an answer");
    assert_eq!(own.stop_reason, Some(StopReason::Unknown("refusal".into())));
}
