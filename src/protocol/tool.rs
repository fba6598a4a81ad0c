//! Tools: how they are described, called and answered.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::json::{Json, JsonError, Members, Object, wire};

use super::task::legacy::{TaskMetadata, TaskSupport, ToolExecution};
use super::{Content, Icon, Listed, Page, RequestState, ResultType};

wire::wire! {
    /// A tool as a server describes it.
    pub struct ToolDefinition {
        /// Its name for programs, unique on its server.
        pub name: String = "name",
        /// Its name for people. From 2025-06-18 on.
        pub title: Option<String> = "title",
        /// What it does, for the model.
        pub description: Option<String> = "description",
        /// The JSON Schema of its arguments, always of an object.
        pub input_schema: Json = "inputSchema",
        /// The JSON Schema of its structured result. From 2025-06-18 on; up to 2025-11-25 of an object.
        pub output_schema: Option<Json> = "outputSchema",
        /// Hints on what it does to the world. From 2025-03-26 on.
        pub annotations: Option<ToolAnnotations> = "annotations",
        /// How it looks. From 2025-11-25 on.
        pub icons: Option<Vec<Icon>> = "icons",
        /// Whether it runs as a task. Revision 2025-11-25 only.
        pub execution: Option<ToolExecution> = "execution",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// What a tool does to the world, as far as its server can be believed.
    #[derive(Default)]
    pub struct ToolAnnotations {
        /// A name for people.
        pub title: Option<String> = "title",
        /// It changes nothing. Absent means false.
        pub read_only_hint: Option<bool> = "readOnlyHint",
        /// It may destroy something. Absent means true.
        pub destructive_hint: Option<bool> = "destructiveHint",
        /// Calling it again with the same arguments changes nothing more. Absent means false.
        pub idempotent_hint: Option<bool> = "idempotentHint",
        /// It deals with the world outside, such as a web search. Absent means true.
        pub open_world_hint: Option<bool> = "openWorldHint",
    }

    /// Parameters of `tools/call`.
    pub struct CallToolParams {
        /// The tool.
        pub name: String = "name",
        /// Its arguments, an object.
        pub arguments: Option<Json> = "arguments",
        /// Asks for a task instead of the result. Revision 2025-11-25 only.
        pub task: Option<TaskMetadata> = "task" or present,
        /// Answers to what the server asked in an earlier round, by key. From 2026-07-28 on.
        pub input_responses: Option<Object> = "inputResponses",
        /// What the server wanted back from an earlier round. From 2026-07-28 on.
        pub request_state: Option<RequestState> = "requestState" or default,
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// Result of `tools/call`.
    #[derive(Default)]
    pub struct CallToolResult {
        /// What the tool says.
        pub content: Vec<Content> = "content" or default,
        /// The same as one value, in the shape of the tool's output schema. From 2025-06-18 on. `null` is a value
        /// from 2026-07-28 on.
        pub structured_content: Option<Json> = "structuredContent" or null,
        /// The tool failed, and the content says why. Absent means false.
        pub is_error: Option<bool> = "isError",
        /// That it is complete. From 2026-07-28 on.
        pub result_type: Option<ResultType> = "resultType",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }
}

impl ToolDefinition {
    /// A tool that takes arguments in the shape of `input_schema`, the JSON Schema of an object.
    #[must_use]
    pub fn new(name: impl Into<String>, input_schema: impl Into<Json>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            input_schema: input_schema.into(),
            output_schema: None,
            annotations: None,
            icons: None,
            execution: None,
            meta: None,
            extra: Object::new(),
        }
    }

    /// The name to show to people: the title, else the annotations' title, else the name.
    #[must_use]
    pub fn display_name(&self) -> &str {
        // spec: 2025-06-18 schema#basemetadata
        let annotated = || self.annotations.as_ref().and_then(|hints| hints.title.as_deref());
        self.title.as_deref().or_else(annotated).unwrap_or(&self.name)
    }

    /// Whether it runs as a task. Revision 2025-11-25 only.
    #[must_use]
    pub fn task_support(&self) -> TaskSupport {
        // spec: 2025-11-25 basic/utilities/tasks#tool-level-negotiation (absent means forbidden)
        let said = self.execution.as_ref().and_then(|execution| execution.task_support.clone());
        said.unwrap_or(TaskSupport::Forbidden)
    }
}

/// Result of `tools/list`: one page of tools.
pub type ListToolsResult = Page<ToolDefinition>;

impl Listed for ToolDefinition {
    const MEMBER: &'static str = "tools";
    const KEY: &'static str = "name";

    fn key(&self) -> &str {
        &self.name
    }

    /// Refuses a tool whose arguments cannot be an object.
    fn check(&self) -> Result<(), JsonError> {
        // A schema without `type` accepts any value and with it an object. Schemas inside are not judged.
        let checked =
            Members::of(self.input_schema.as_raw()).and_then(|mut schema| match schema.take("type") {
                Some(kind) if kind.get() != r#""object""# => {
                    Err(JsonError::expected(r#""object""#, kind).inside("type"))
                }
                _ => Ok(()),
            });
        checked.map_err(|e| e.inside("inputSchema"))
    }
}

wire::builders!(ToolDefinition {
    /// Sets the name for people.
    with_title => title: String,
    /// Says what it does.
    with_description => description: String,
    /// Sets the JSON Schema of the structured result.
    with_output_schema => output_schema: Json,
    /// Sets hints on what it does to the world.
    with_annotations => annotations: ToolAnnotations,
    /// Sets how it looks.
    with_icons => icons: Vec<Icon>,
    /// Says whether it runs as a task.
    with_execution => execution: ToolExecution,
    /// Sets the metadata.
    with_meta => meta: Object,
});

wire::builders!(ToolAnnotations {
    /// Sets the name for people.
    with_title => title: String,
    /// Says whether it changes nothing.
    with_read_only => read_only_hint: bool,
    /// Says whether it may destroy something.
    with_destructive => destructive_hint: bool,
    /// Says whether calling it again changes nothing more.
    with_idempotent => idempotent_hint: bool,
    /// Says whether it deals with the world outside.
    with_open_world => open_world_hint: bool,
});

impl CallToolParams {
    /// A call without arguments.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            arguments: None,
            task: None,
            input_responses: None,
            request_state: None,
            meta: None,
            extra: Object::new(),
        }
    }
}

wire::builders!(CallToolParams {
    /// Sets the arguments, an object.
    with_arguments => arguments: Json,
    /// Asks for a task.
    with_task => task: TaskMetadata,
    /// Adds the answers to an earlier round's questions.
    with_input_responses => input_responses: Object,
    /// Adds what the server wanted back from an earlier round.
    with_request_state => request_state: RequestState,
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl CallToolResult {
    /// A result that is `content`.
    #[must_use]
    pub fn new(content: Vec<Content>) -> Self {
        Self { content, ..Self::default() }
    }

    /// A result that is one text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![Content::text(text)])
    }

    /// The result of a tool that failed; `text` tells the model why.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: Some(true), ..Self::text(text) }
    }

    /// A result that is one value, and the same as text for clients that look only there.
    ///
    /// # Errors
    /// When `value` cannot be JSON.
    pub fn structured<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        let json = Json::new(value)?;
        // spec: 2025-06-18 server/tools#structured-content
        Ok(Self { structured_content: Some(json.clone()), ..Self::text(json.as_str()) })
    }

    /// Whether the tool failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.is_error == Some(true)
    }

    /// All its text, blocks parted by line breaks.
    #[must_use]
    pub fn text_content(&self) -> String {
        let mut out = String::new();
        for (at, text) in self.content.iter().filter_map(Content::as_text).enumerate() {
            if at > 0 {
                out.push('\n');
            }
            out.push_str(text);
        }
        out
    }

    /// The structured content as a `T`; `None` if there is none.
    ///
    /// # Errors
    /// When it does not have `T`'s shape.
    pub fn structured_as<T: DeserializeOwned>(&self) -> Result<Option<T>, serde_json::Error> {
        self.structured_content.as_ref().map(Json::to).transpose()
    }
}

wire::builders!(CallToolResult {
    /// Sets the structured content.
    with_structured_content => structured_content: Json,
    /// Sets the metadata.
    with_meta => meta: Object,
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::FromJson;

    fn read<T: FromJson>(text: &str) -> T {
        T::from_json(Json::parse(text).expect("JSON").as_raw()).expect(text)
    }

    #[test]
    fn one_bad_tool_does_not_hide_the_others() {
        let page: ListToolsResult = read(
            r#"{"nextCursor":"p2","ttlMs":-1,"tools":[
                {"name":"good","description":null,"annotations":null,"inputSchema":{"type":"object","properties":{"any":true}}},
                {"name":"odd","title":7,"annotations":[],"inputSchema":{}},
                5,
                {"inputSchema":{"type":"object"}},
                {"name":"","inputSchema":{"type":"object"}},
                {"name":"no schema"},
                {"name":"true schema","inputSchema":true},
                {"name":"string schema","inputSchema":{"type":"string"}}
            ]}"#,
        );
        let names: Vec<_> = page.items.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["good", "odd"]);
        assert!(page.items[0].input_schema.as_str().contains(r#""any":true"#));
        let rejected: Vec<_> =
            page.rejected.iter().map(|r| (r.name.as_deref().unwrap_or("-"), r.problem.as_str())).collect();
        assert_eq!(
            rejected,
            [
                ("-", "expected an object, found 5"),
                ("-", "name: missing"),
                ("-", "name: empty"),
                ("no schema", "inputSchema: missing"),
                ("true schema", "inputSchema: expected an object, found true"),
                ("string schema", r#"inputSchema.type: expected "object", found "string""#),
            ]
        );
        assert_eq!((page.next_cursor.as_deref(), page.ttl_ms), (Some("p2"), None));
    }

    #[test]
    fn null_and_absent_structured_content_differ() {
        assert_eq!(read::<CallToolResult>(r#"{"content":[]}"#).structured_content, None);
        let null: CallToolResult = read(r#"{"content":[],"structuredContent":null}"#);
        assert_eq!(null.structured_as::<Option<u8>>().expect("null"), Some(None));
        let text = serde_json::to_string(&null).expect("JSON");
        assert_eq!(text, r#"{"content":[],"structuredContent":null}"#);
    }

    #[test]
    fn results_without_content_or_with_null_are_read() {
        for text in [r"{}", r#"{"content":null,"isError":null}"#] {
            assert_eq!(read::<CallToolResult>(text), CallToolResult::default(), "{text}");
        }
        let failed: CallToolResult = read(r#"{"content":[],"isError":true}"#);
        assert!(failed.is_error());
    }

    #[test]
    fn a_structured_result_says_the_same_as_text() {
        let result = CallToolResult::structured(&[1, 2]).expect("JSON");
        assert_eq!(result.text_content(), "[1,2]");
        assert_eq!(result.structured_as::<Vec<u8>>().expect("a list"), Some(vec![1, 2]));
        let two =
            CallToolResult::new(vec![Content::text("a"), Content::image("", "i/x"), Content::text("b")]);
        assert_eq!(two.text_content(), "a\nb");
    }
}
