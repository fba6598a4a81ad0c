//! Prompts: how they are described, asked for and answered.

use std::collections::BTreeMap;

use crate::json::{Object, wire};

use super::{Content, Icon, Listed, Page, RequestState, ResultType, Role};

wire::wire! {
    /// A prompt as a server describes it.
    pub struct Prompt {
        /// Its name for programs, unique on its server.
        pub name: String = "name",
        /// Its name for people. From 2025-06-18 on.
        pub title: Option<String> = "title",
        /// What it is for.
        pub description: Option<String> = "description",
        /// What it can be filled in with.
        pub arguments: Option<Vec<PromptArgument>> = "arguments",
        /// How it looks. From 2025-11-25 on.
        pub icons: Option<Vec<Icon>> = "icons",
        /// Metadata. From 2025-06-18 on.
        pub meta: Option<Object> = "_meta",
    }

    /// An argument of a prompt, always a string.
    pub struct PromptArgument {
        /// Its name for programs.
        pub name: String = "name",
        /// Its name for people. From 2025-06-18 on.
        pub title: Option<String> = "title",
        /// What it is.
        pub description: Option<String> = "description",
        /// There must be one. Absent means false.
        pub required: Option<bool> = "required",
    }

    /// Parameters of `prompts/get`.
    pub struct GetPromptParams {
        /// The prompt.
        pub name: String = "name",
        /// Its arguments. A number or boolean is read as its text, and `null` as none.
        pub arguments: Option<BTreeMap<String, String>> = "arguments" or texts,
        /// Answers to what the server asked in an earlier round, by key. From 2026-07-28 on.
        pub input_responses: Option<Object> = "inputResponses",
        /// What the server wanted back from an earlier round. From 2026-07-28 on.
        pub request_state: Option<RequestState> = "requestState",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// Result of `prompts/get`.
    pub struct GetPromptResult {
        /// What the prompt is for.
        pub description: Option<String> = "description",
        /// The messages to begin a conversation with.
        pub messages: Vec<PromptMessage> = "messages",
        /// That it is complete. From 2026-07-28 on.
        pub result_type: Option<ResultType> = "resultType",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// A message of a prompt.
    pub struct PromptMessage {
        /// Who says it.
        pub role: Role = "role",
        /// What is said.
        pub content: Content = "content",
    }
}

/// Result of `prompts/list`: one page of prompts.
pub type ListPromptsResult = Page<Prompt>;

impl Listed for Prompt {
    const MEMBER: &'static str = "prompts";
    const KEY: &'static str = "name";

    fn key(&self) -> &str {
        &self.name
    }
}

impl Prompt {
    /// A prompt without arguments.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            arguments: None,
            icons: None,
            meta: None,
            extra: Object::new(),
        }
    }

    /// The name to show to people: the title, else the name.
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// Adds an argument.
    ///
    /// ```
    /// use tinymcp::protocol::{Prompt, PromptArgument};
    ///
    /// let prompt = Prompt::new("review")
    ///     .with_argument(PromptArgument::new("code").with_required(true))
    ///     .with_argument(PromptArgument::new("language"));
    /// assert_eq!(prompt.arguments.map_or(0, |arguments| arguments.len()), 2);
    /// ```
    #[must_use]
    pub fn with_argument(mut self, argument: PromptArgument) -> Self {
        self.arguments.get_or_insert_default().push(argument);
        self
    }
}

wire::builders!(Prompt {
    /// Sets the name for people.
    with_title => title: String,
    /// Says what it is for.
    with_description => description: String,
    /// Sets what it can be filled in with.
    with_arguments => arguments: Vec<PromptArgument>,
    /// Sets how it looks.
    with_icons => icons: Vec<Icon>,
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl PromptArgument {
    /// An argument that may be left out.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), title: None, description: None, required: None, extra: Object::new() }
    }

    /// Whether there must be one.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.required == Some(true)
    }
}

wire::builders!(PromptArgument {
    /// Sets the name for people.
    with_title => title: String,
    /// Says what it is.
    with_description => description: String,
    /// Says whether there must be one.
    with_required => required: bool,
});

impl GetPromptParams {
    /// Asks for a prompt without arguments.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            arguments: None,
            input_responses: None,
            request_state: None,
            meta: None,
            extra: Object::new(),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn with_argument(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.arguments.get_or_insert_default().insert(name.into(), value.into());
        self
    }
}

wire::builders!(GetPromptParams {
    /// Sets the arguments.
    with_arguments => arguments: BTreeMap<String, String>,
    /// Adds the answers to an earlier round's questions.
    with_input_responses => input_responses: Object,
    /// Adds what the server wanted back from an earlier round.
    with_request_state => request_state: RequestState,
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl GetPromptResult {
    /// A result that is `messages`.
    #[must_use]
    pub fn new(messages: Vec<PromptMessage>) -> Self {
        Self { description: None, messages, result_type: None, meta: None, extra: Object::new() }
    }

    /// A result that is one text, said by the user.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![PromptMessage::user(Content::text(text))])
    }
}

wire::builders!(GetPromptResult {
    /// Says what the prompt is for.
    with_description => description: String,
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl PromptMessage {
    /// A message.
    #[must_use]
    pub fn new(role: Role, content: impl Into<Content>) -> Self {
        Self { role, content: content.into(), extra: Object::new() }
    }

    /// What the user says.
    #[must_use]
    pub fn user(content: impl Into<Content>) -> Self {
        Self::new(Role::User, content)
    }

    /// What the model says.
    #[must_use]
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self::new(Role::Assistant, content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{FromJson, Json};

    fn read<T: FromJson>(text: &str) -> Result<T, String> {
        T::from_json(Json::parse(text).expect("JSON").as_raw()).map_err(|e| e.to_string())
    }

    #[test]
    fn arguments_are_text_however_they_are_written() {
        let none = GetPromptParams::new("p");
        for (json, expected) in [
            (r#"{"name":"p"}"#, Ok(none.clone())),
            (r#"{"name":"p","arguments":null}"#, Ok(none.clone())),
            (r#"{"name":"p","arguments":{}}"#, Ok(none.clone().with_arguments(BTreeMap::new()))),
            (
                r#"{"name":"p","arguments":{"a":"x","b":1e2,"c":true,"d":null,"e":"5"}}"#,
                Ok(none
                    .with_argument("a", "x")
                    .with_argument("b", "1e2")
                    .with_argument("c", "true")
                    .with_argument("e", "5")),
            ),
            (r#"{"name":"p","arguments":[]}"#, Err("arguments: expected an object, found []")),
            (r#"{"name":"p","arguments":{"a":[1]}}"#, Err("arguments.a: expected a string, found [1]")),
            (r#"{"name":"p","arguments":{"a":{}}}"#, Err("arguments.a: expected a string, found {}")),
            (r#"{"arguments":{}}"#, Err("name: missing")),
        ] {
            assert_eq!(read::<GetPromptParams>(json), expected.map_err(str::to_owned), "{json}");
        }
    }

    #[test]
    fn odd_members_of_a_prompt_cost_themselves_only() {
        let bare = Prompt::new("p");
        for text in [
            r#"{"name":"p","title":null,"description":5,"arguments":null,"icons":null,"_meta":null}"#,
            r#"{"name":"p","arguments":{"a":"b"}}"#,
        ] {
            assert_eq!(read::<Prompt>(text), Ok(bare.clone()), "{text}");
        }
        let argument: PromptArgument =
            read(r#"{"name":"a","required":"true","title":1}"#).expect("an argument");
        assert_eq!((argument.is_required(), argument.title), (true, None));
    }

    #[test]
    fn what_is_said_in_unknown_ways_survives() {
        let text = r#"{"messages":[{"role":"oracle","content":{"type":"video","url":"x"}}],"later":1}"#;
        let result: GetPromptResult = read(text).expect("a result");
        assert_eq!(serde_json::to_string(&result).expect("JSON"), text);
        for (text, problem) in [
            ("{}", "messages: missing"),
            (r#"{"messages":[{"role":"user"}]}"#, "messages[0].content: missing"),
            (
                r#"{"messages":[{"role":"user","content":"hi"}]}"#,
                r#"messages[0].content: expected an object, found "hi""#,
            ),
        ] {
            assert_eq!(read::<GetPromptResult>(text), Err(problem.to_owned()), "{text}");
        }
    }
}
