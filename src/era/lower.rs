//! Taking out of a message what its receiver's revision lacks.
//!
//! Our types are the newest form. The table below says since when, or until when, each member exists; what
//! needs more than being left out, such as a kind of content with a replacement, is written out after it.
//! An unknown revision counts as newer than all.

use serde_json::value::RawValue;

use crate::json::{FromJson, Json, JsonError, Members, Object, canonical};
use crate::protocol::{
    Annotations, AudioContent, BlobResourceContents, CallToolParams, CallToolResult, ClientCapabilities,
    CompleteParams, CompleteResult, CompletionReference, Content, DiscoverResult, ElicitationCapability,
    EmbeddedResource, GetPromptParams, GetPromptResult, ImageContent, Implementation, InitializeParams,
    InitializeResult, Page, ProgressParams, Prompt, PromptArgument, PromptMessage, PromptReference,
    ProtocolVersion, ReadResourceParams, ReadResourceResult, Resource, ResourceContents, ResourceLink,
    ResourceTemplate, RootsCapability, SamplingCapability, ServerCapabilities, TextContent,
    TextResourceContents, ToolDefinition,
};

/// A wire type that differs between revisions.
pub(crate) trait Lower {
    /// Makes `self` what `version` knows. Costs next to nothing if it is already.
    fn lower(&mut self, version: &ProtocolVersion);
}

/// `value` as `version` knows it.
pub(crate) fn lowered<T: Lower>(mut value: T, version: &ProtocolVersion) -> T {
    value.lower(version);
    value
}

impl<T: Lower> Lower for Option<T> {
    fn lower(&mut self, version: &ProtocolVersion) {
        if let Some(value) = self {
            value.lower(version);
        }
    }
}

impl<T: Lower> Lower for Vec<T> {
    fn lower(&mut self, version: &ProtocolVersion) {
        for value in self {
            value.lower(version);
        }
    }
}

/// Rows: `member: since V` and `until V` leave the member out in other revisions, `only V` in all but one,
/// `within` lowers what is inside, `by f` calls a function on the whole.
macro_rules! table {
    ($( $name:ident $(<$t:ident>)? { $( $field:ident : $rule:ident $($arg:ident)? ),* $(,)? } )*) => {$(
        impl $(<$t: Lower>)? Lower for $name $(<$t>)? {
            fn lower(&mut self, version: &ProtocolVersion) {
                $( table!(@ self version $field $rule $($arg)?); )*
            }
        }
    )*};
    (@ $this:ident $version:ident $field:ident since $first:ident) => {
        if *$version < ProtocolVersion::$first { $this.$field = None; }
    };
    (@ $this:ident $version:ident $field:ident until $last:ident) => {
        if *$version > ProtocolVersion::$last { $this.$field = None; }
    };
    (@ $this:ident $version:ident $field:ident only $one:ident) => {
        if *$version != ProtocolVersion::$one { $this.$field = None; }
    };
    (@ $this:ident $version:ident $field:ident within) => { $this.$field.lower($version); };
    (@ $this:ident $version:ident $field:ident by $function:ident) => { $function($this, $version); };
}
pub(super) use table;

table! {
    Page<T> {
        items: within,
        ttl_ms: since V2026_07_28,
        cache_scope: since V2026_07_28,
        result_type: since V2026_07_28,
    }
    ToolDefinition {
        title: since V2025_06_18,
        output_schema: since V2025_06_18,
        output_schema: by object_schemas,
        annotations: since V2025_03_26,
        icons: since V2025_11_25,
        execution: only V2025_11_25,
        meta: since V2025_06_18,
    }
    CallToolParams {
        task: only V2025_11_25,
        input_responses: since V2026_07_28,
        request_state: since V2026_07_28,
    }
    CallToolResult {
        content: within,
        structured_content: by structured_result,
        result_type: since V2026_07_28,
    }

    Annotations { last_modified: since V2025_06_18 }
    TextContent { annotations: within, meta: since V2025_06_18 }
    ImageContent { annotations: within, meta: since V2025_06_18 }
    AudioContent { annotations: within, meta: since V2025_06_18 }
    ResourceLink { icons: since V2025_11_25 }
    EmbeddedResource { resource: within, annotations: within, meta: since V2025_06_18 }
    TextResourceContents { meta: since V2025_06_18 }
    BlobResourceContents { meta: since V2025_06_18 }

    Resource {
        title: since V2025_06_18,
        annotations: within,
        icons: since V2025_11_25,
        meta: since V2025_06_18,
    }
    ResourceTemplate {
        title: since V2025_06_18,
        annotations: within,
        icons: since V2025_11_25,
        meta: since V2025_06_18,
    }
    ReadResourceParams { input_responses: since V2026_07_28, request_state: since V2026_07_28 }
    ReadResourceResult {
        contents: within,
        ttl_ms: since V2026_07_28,
        cache_scope: since V2026_07_28,
        result_type: since V2026_07_28,
    }

    Prompt {
        title: since V2025_06_18,
        arguments: within,
        icons: since V2025_11_25,
        meta: since V2025_06_18,
    }
    PromptArgument { title: since V2025_06_18 }
    GetPromptParams { input_responses: since V2026_07_28, request_state: since V2026_07_28 }
    GetPromptResult { messages: within, result_type: since V2026_07_28 }
    PromptMessage { content: within }

    CompleteParams { reference: within, context: since V2025_06_18 }
    PromptReference { title: since V2025_06_18 }
    CompleteResult { result_type: since V2026_07_28 }

    Implementation {
        title: since V2025_06_18,
        description: since V2025_11_25,
        website_url: since V2025_11_25,
        icons: since V2025_11_25,
    }
    InitializeParams { capabilities: within, client_info: within }
    InitializeResult { capabilities: within, server_info: within }
    DiscoverResult { capabilities: within }

    ClientCapabilities {
        roots: within,
        sampling: within,
        elicitation: since V2025_06_18,
        elicitation: by elicitation_with_forms,
        tasks: only V2025_11_25,
        extensions: since V2026_07_28,
    }
    RootsCapability { list_changed: until V2025_11_25 }
    SamplingCapability { context: since V2025_11_25, tools: since V2025_11_25 }
    ElicitationCapability { form: since V2025_11_25, url: since V2025_11_25 }
    ServerCapabilities {
        completions: since V2025_03_26,
        tasks: only V2025_11_25,
        extensions: since V2026_07_28,
    }

    ProgressParams { message: since V2025_03_26 }
}

impl Lower for ResourceContents {
    fn lower(&mut self, version: &ProtocolVersion) {
        match self {
            Self::Text(contents) => contents.lower(version),
            Self::Blob(contents) => contents.lower(version),
        }
    }
}

impl Lower for CompletionReference {
    fn lower(&mut self, version: &ProtocolVersion) {
        if let Self::Prompt(prompt) = self {
            prompt.lower(version);
        }
    }
}

impl Lower for Content {
    fn lower(&mut self, version: &ProtocolVersion) {
        match self {
            Self::Audio(audio) if *version < ProtocolVersion::V2025_03_26 => {
                *self = Self::Text(audio_as_text(audio));
            }
            Self::ResourceLink(link) if *version < ProtocolVersion::V2025_06_18 => {
                let name = link.title.as_ref().unwrap_or(&link.name);
                let about = link.description.as_ref().map_or(String::new(), |about| format!("\n{about}"));
                let text = format!("[resource: {name}, {}]{about}", link.uri);
                let annotations = link.annotations.take();
                *self = Self::Text(TextContent { annotations, ..TextContent::new(text) });
            }
            _ => {}
        }
        match self {
            Self::Text(content) => content.lower(version),
            Self::Image(content) => content.lower(version),
            Self::Audio(content) => content.lower(version),
            Self::ResourceLink(content) => content.lower(version),
            Self::Resource(content) => content.lower(version),
            Self::Unknown(_) => {}
        }
    }
}

pub(super) fn audio_as_text(audio: &mut AudioContent) -> TextContent {
    let annotations = audio.annotations.take();
    TextContent { annotations, ..TextContent::new(left_out("audio", &audio.mime_type, &audio.data)) }
}

/// Says what is missing: a `kind` of content, whose bytes are `base64`.
pub(super) fn left_out(kind: &str, mime_type: &str, base64: &str) -> String {
    let bytes = base64.trim_end_matches('=').len() * 3 / 4;
    format!("[{kind} left out: {mime_type}, {bytes} bytes]")
}

/// Up to 2025-11-25 structured content is an object, and before 2025-06-18 there is none. What is taken out
/// stays as text.
pub(super) fn structured_objects(
    content: &mut Vec<Content>,
    structured: &mut Option<Json>,
    version: &ProtocolVersion,
) {
    // spec: 2025-06-18 server/tools#structured-content
    let Some(json) = structured.as_ref() else { return };
    let fits =
        !version.is_legacy() || *version >= ProtocolVersion::V2025_06_18 && json.as_str().starts_with('{');
    if fits {
        return;
    }
    let is_same = |said: &Json| canonical(said.as_raw()) == canonical(json.as_raw());
    let says_so = |text: &str| text == json.as_str() || Json::parse(text).is_ok_and(|said| is_same(&said));
    if !content.iter().filter_map(Content::as_text).any(says_so) {
        content.push(Content::text(json.as_str()));
    }
    *structured = None;
}

fn structured_result(result: &mut CallToolResult, version: &ProtocolVersion) {
    structured_objects(&mut result.content, &mut result.structured_content, version);
}

/// Up to 2025-11-25 an output schema describes an object, and the schemas of properties are objects.
fn object_schemas(tool: &mut ToolDefinition, version: &ProtocolVersion) {
    // spec: 2025-11-25 schema#tool
    if !version.is_legacy() {
        return;
    }
    if tool.output_schema.as_ref().is_some_and(|schema| !describes_object(schema)) {
        tool.output_schema = None;
    }
    for schema in std::iter::once(&mut tool.input_schema).chain(&mut tool.output_schema) {
        if let Some(lowered) = without_boolean_properties(schema) {
            *schema = lowered;
        }
    }
}

fn describes_object(schema: &Json) -> bool {
    Members::of(schema.as_raw())
        .is_ok_and(|mut members| members.take("type").is_some_and(|kind| kind.get() == r#""object""#))
}

/// `true` and `false` as the schema of a property, written as objects that mean the same.
fn without_boolean_properties(schema: &Json) -> Option<Json> {
    let mut root = Object::from_json(schema.as_raw()).ok()?;
    let mut properties: Object = root.get("properties")?;
    let boolean = |json: &Json| matches!(json.as_str(), "true" | "false");
    if !properties.iter().any(|(_, json)| boolean(json)) {
        return None;
    }
    properties = properties
        .iter()
        .map(|(name, json)| {
            let json = match json.as_str() {
                "true" => Json::empty_object(),
                "false" => Json::from(serde_json::json!({ "not": {} })),
                _ => json.clone(),
            };
            (name.to_owned(), json)
        })
        .collect();
    root.insert("properties", &properties);
    Json::new(&root).ok()
}

/// Before 2025-11-25 elicitation means forms, so a client that has only URLs has none of it.
fn elicitation_with_forms(capabilities: &mut ClientCapabilities, version: &ProtocolVersion) {
    let no_forms = capabilities.elicitation.as_ref().is_some_and(|how| !how.allows_form());
    if no_forms && *version < ProtocolVersion::V2025_11_25 {
        capabilities.elicitation = None;
    }
    capabilities.elicitation.lower(version);
}

/// Reads the result of `tools/call` from a server that speaks `version`.
///
/// # Errors
/// When it is not such a result.
pub(crate) fn read_call_result(
    raw: &RawValue,
    version: &ProtocolVersion,
) -> Result<CallToolResult, JsonError> {
    let mut result = CallToolResult::from_json(raw)?;
    // Up to 2025-11-25 null cannot be a value; servers that write every member mean that there is none.
    if version.is_legacy() && result.structured_content.as_ref().is_some_and(|json| json.as_str() == "null") {
        result.structured_content = None;
    }
    Ok(result)
}
