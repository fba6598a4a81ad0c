//! Resources, prompts, completion and log messages.

use super::*;
use crate::protocol::{
    CompleteParams, CompleteResult, Completion, CompletionReference, GetPromptParams, GetPromptResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, LogLevel, LogMessageParams, Prompt,
    PromptArgument, PromptMessage, ReadResourceParams, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate, ResourceUpdatedParams, SetLevelParams, SubscribeParams, UnsubscribeParams,
};

fn resource() -> Resource {
    let described = Resource::new("file:///a.txt", "a").with_title("A").with_description("the first letter");
    let sized = described.with_mime_type("text/plain").with_size(3_u64);
    sized.with_annotations(annotations()).with_icons(icons()).with_meta(meta())
}

fn template() -> ResourceTemplate {
    let described = ResourceTemplate::new("file:///{path}", "files").with_title("Files");
    let typed = described.with_description("any file").with_mime_type("text/plain");
    typed.with_annotations(annotations()).with_icons(icons()).with_meta(meta())
}

fn prompt() -> Prompt {
    let argument = PromptArgument::new("code").with_title("Code").with_description("what to look at");
    let described = Prompt::new("review").with_title("Review").with_description("looks at code");
    described.with_argument(argument.with_required(true)).with_icons(icons()).with_meta(meta())
}

fn contents() -> Vec<ResourceContents> {
    let blocks = blocks().into_iter();
    blocks
        .filter_map(|block| if let Content::Resource(it) = block { Some(it.resource) } else { None })
        .collect()
}

fn reference() -> CompletionReference {
    let CompletionReference::Prompt(mut prompt) = CompletionReference::prompt("review") else {
        unreachable!("a prompt");
    };
    prompt.title = Some("Review".into());
    CompletionReference::Prompt(prompt)
}

fn completing(reference: CompletionReference) -> CompleteParams {
    CompleteParams::new(reference, "language", "py").with_known("framework", "flask")
}

#[test]
fn lowered_values_are_those_of_the_schema() {
    assert_eq!(contents().len(), 2);
    for version in ProtocolVersion::ALL {
        check_members(&version, "Resource", &value(&lowered(resource(), &version)));
        check_members(&version, "ResourceTemplate", &value(&lowered(template(), &version)));
        for argument in prompt().arguments.expect("one") {
            check_members(&version, "PromptArgument", &value(&lowered(argument, &version)));
        }
        check_members(&version, "Prompt", &value(&lowered(prompt(), &version)));
        check_members(&version, "PromptReference", &value(&lowered(reference(), &version)));
        for part in lowered(contents(), &version) {
            let text = matches!(part, ResourceContents::Text(_));
            let definition = if text { "TextResourceContents" } else { "BlobResourceContents" };
            check_members(&version, definition, &value(&part));
        }
        for block in blocks() {
            let message = lowered(PromptMessage::assistant(block), &version);
            check_members(&version, "PromptMessage", &value(&message));
        }
    }
}

#[test]
fn answers_pass_the_frame_check() {
    for version in ProtocolVersion::ALL {
        fn check<T: Serialize + Lower>(version: &ProtocolVersion, method: Method, result: T) {
            let result = answer(version, method, &lowered(result, version));
            check_frame(version, Direction::ToClient, &result, Some(method.name()));
        }
        macro_rules! page {
            ($page:expr) => {
                $page
                    .with_next_cursor("2")
                    .with_ttl_ms(5_u64)
                    .with_cache_scope(CacheScope::Private)
                    .with_meta(meta())
            };
        }
        let bare = || ListResourcesResult::new(vec![]);
        check(&version, Method::ResourcesList, bare());
        check(&version, Method::ResourcesList, page!(ListResourcesResult::new(vec![resource()])));
        let templates = page!(ListResourceTemplatesResult::new(vec![template()]));
        check(&version, Method::ResourceTemplatesList, templates);
        check(&version, Method::PromptsList, page!(ListPromptsResult::new(vec![prompt()])));
        let read = ReadResourceResult::new(contents()).with_ttl_ms(5_u64);
        let read = read.with_cache_scope(CacheScope::Public).with_meta(meta());
        check(&version, Method::ResourcesRead, read);
        check(&version, Method::ResourcesRead, ReadResourceResult::blob("a:b", b"c"));
        let messages = blocks().into_iter().map(PromptMessage::user).collect();
        let got = GetPromptResult::new(messages).with_description("looks at code").with_meta(meta());
        check(&version, Method::PromptsGet, got);
        for count in [0, 1, 101] {
            let found = CompleteResult::new(Completion::new(vec!["python"; count])).with_meta(meta());
            check(&version, Method::CompletionComplete, found);
        }
    }
}

#[test]
fn requests_and_notices_pass_the_frame_check() {
    for version in ProtocolVersion::ALL {
        let request = |method: &str, params: Value| {
            let mut params = params;
            if version.is_modern() {
                params["_meta"] = json!({
                    "io.modelcontextprotocol/protocolVersion": version,
                    "io.modelcontextprotocol/clientCapabilities": {}
                });
            }
            check_frame(&version, Direction::ToServer, &frame(1, method, params), None);
        };
        let read = ReadResourceParams::new("a:b").with_request_state("s").with_input_responses(Object::new());
        let read = lowered(read, &version);
        assert_eq!(read.request_state.is_some() && read.input_responses.is_some(), version.is_modern());
        request("resources/read", value(&read));
        let get = GetPromptParams::new("review").with_argument("code", "x").with_request_state("s");
        let get = lowered(get.with_input_responses(Object::new()), &version);
        assert_eq!(get.request_state.is_some() && get.input_responses.is_some(), version.is_modern());
        request("prompts/get", value(&get));
        for reference in [reference(), CompletionReference::resource("file:///{path}")] {
            let params = lowered(completing(reference), &version);
            assert_eq!(params.context.is_some(), version >= ProtocolVersion::V2025_06_18);
            request("completion/complete", value(&params));
        }
        if version.is_legacy() {
            request("resources/subscribe", value(&SubscribeParams::new("a:b").with_meta(meta())));
            request("resources/unsubscribe", value(&UnsubscribeParams::new("a:b").with_meta(meta())));
            request("logging/setLevel", value(&SetLevelParams::new(LogLevel::Alert).with_meta(meta())));
        }
        let notice = |method: &str, params: Value| {
            let frame = json!({"jsonrpc": "2.0", "method": method, "params": params});
            check_frame(&version, Direction::ToClient, &frame, None);
        };
        let updated = ResourceUpdatedParams::new("a:b").with_meta(meta());
        notice("notifications/resources/updated", value(&updated));
        for level in LogLevel::ALL {
            let message = LogMessageParams::new(level, json!({"a": 1})).with_logger("l").with_meta(meta());
            notice("notifications/message", value(&message));
        }
    }
}

#[test]
fn what_a_revision_lacks_in_a_prompt_is_said_as_text() {
    let texts = |version| -> Vec<String> {
        let messages = blocks().into_iter().map(PromptMessage::user).collect();
        let messages = lowered(GetPromptResult::new(messages), version).messages;
        messages.iter().filter_map(|message| message.content.as_text().map(str::to_owned)).collect()
    };
    let audio = "[audio left out: audio/wav, 4 bytes]";
    let link = "[resource: A, file:///a.txt]\nthe first letter";
    assert_eq!(texts(&ProtocolVersion::V2024_11_05), ["text", audio, link]);
    assert_eq!(texts(&ProtocolVersion::V2025_03_26), ["text", link]);
    assert_eq!(texts(&ProtocolVersion::V2025_06_18), ["text"]);
}
