//! Completion: what can be filled in for an argument of a prompt, or for a place in the address of a resource.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::{FromJson, JsonError, Members, Object, wire};

use super::ResultType;

wire::wire! {
    /// Parameters of `completion/complete`.
    pub struct CompleteParams {
        /// What is being filled in.
        pub reference: CompletionReference = "ref",
        /// The argument in question.
        pub argument: CompletionArgument = "argument",
        /// What else is known. From 2025-06-18 on.
        pub context: Option<CompletionContext> = "context",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// An argument that is being typed.
    pub struct CompletionArgument {
        /// Its name.
        pub name: String = "name",
        /// What has been typed so far.
        pub value: String = "value",
    }

    /// What is known while an argument is being typed.
    #[derive(Default)]
    pub struct CompletionContext {
        /// The other arguments that have been filled in. A number or boolean is read as its text.
        pub arguments: Option<BTreeMap<String, String>> = "arguments" or texts,
    }

    /// A prompt, by name.
    pub struct PromptReference as "ref/prompt" {
        /// Its name for programs.
        pub name: String = "name",
        /// Its name for people. From 2025-06-18 on.
        pub title: Option<String> = "title",
    }

    /// A resource or a kind of resource, by address.
    pub struct ResourceTemplateReference as "ref/resource" {
        /// Its address, or the template of it.
        pub uri: String = "uri",
    }

    /// Result of `completion/complete`.
    pub struct CompleteResult {
        /// What was found.
        pub completion: Completion = "completion",
        /// That it is complete. From 2026-07-28 on.
        pub result_type: Option<ResultType> = "resultType",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// Proposals for an argument.
    #[derive(Default)]
    pub struct Completion {
        /// The best ones first, at most [`MAX_VALUES`](Self::MAX_VALUES).
        pub values: Vec<String> = "values",
        /// How many there are, with those that are not in `values`.
        pub total: Option<u64> = "total",
        /// There are more than those in `values`.
        pub has_more: Option<bool> = "hasMore",
    }
}

/// What is being filled in, told by its member `type`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CompletionReference {
    /// A prompt.
    Prompt(PromptReference),
    /// A resource template.
    Resource(ResourceTemplateReference),
    /// A kind this version of the crate does not know, as it came.
    Unknown(Object),
}

impl CompletionReference {
    /// A prompt, by name.
    #[must_use]
    pub fn prompt(name: impl Into<String>) -> Self {
        Self::Prompt(PromptReference { name: name.into(), title: None, extra: Object::new() })
    }

    /// A resource template, by the template itself.
    #[must_use]
    pub fn resource(uri: impl Into<String>) -> Self {
        Self::Resource(ResourceTemplateReference { uri: uri.into(), extra: Object::new() })
    }
}

impl FromJson for CompletionReference {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        let members = Members::of(raw)?;
        let kind = members.iter().find(|(name, _)| *name == "type").map_or("", |(_, kind)| kind.get());
        match kind {
            r#""ref/prompt""# => PromptReference::from_members(members).map(Self::Prompt),
            r#""ref/resource""# => ResourceTemplateReference::from_members(members).map(Self::Resource),
            _ => Ok(Self::Unknown(members.rest())),
        }
    }
}

impl Serialize for CompletionReference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Prompt(prompt) => prompt.serialize(serializer),
            Self::Resource(resource) => resource.serialize(serializer),
            Self::Unknown(reference) => reference.serialize(serializer),
        }
    }
}

wire::deserialize_through_json!(CompletionReference);

impl CompleteParams {
    /// Asks for proposals for the argument `name`, of which `value` has been typed.
    #[must_use]
    pub fn new(reference: CompletionReference, name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            reference,
            argument: CompletionArgument { name: name.into(), value: value.into(), extra: Object::new() },
            context: None,
            meta: None,
            extra: Object::new(),
        }
    }

    /// Adds another argument that has been filled in.
    #[must_use]
    pub fn with_known(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let context = self.context.get_or_insert_default();
        context.arguments.get_or_insert_default().insert(name.into(), value.into());
        self
    }

    /// The other argument `name`, if it has been filled in.
    #[must_use]
    pub fn known(&self, name: &str) -> Option<&str> {
        self.context.as_ref()?.get(name)
    }
}

impl CompletionContext {
    /// The argument `name`, if it has been filled in.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.arguments.as_ref()?.get(name).map(String::as_str)
    }
}

wire::builders!(CompleteParams {
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl CompleteResult {
    /// A result that is `completion`.
    #[must_use]
    pub fn new(completion: Completion) -> Self {
        Self { completion, result_type: None, meta: None, extra: Object::new() }
    }
}

wire::builders!(CompleteResult {
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl From<Completion> for CompleteResult {
    fn from(completion: Completion) -> Self {
        Self::new(completion)
    }
}

impl Completion {
    /// More proposals than this are cut off.
    // spec: 2026-07-28 server/utilities/completion#completion-results (at most 100 items)
    pub const MAX_VALUES: usize = 100;

    /// All proposals there are, the best first. Says how many they are, and keeps the first [`MAX_VALUES`](Self::MAX_VALUES).
    ///
    /// ```
    /// use tinymcp::protocol::Completion;
    ///
    /// let found = Completion::new((0..500).map(|n| n.to_string()));
    /// assert_eq!((found.values.len(), found.total, found.has_more), (100, Some(500), Some(true)));
    /// ```
    #[must_use]
    pub fn new<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        let mut all = values.into_iter();
        let values: Vec<String> = all.by_ref().take(Self::MAX_VALUES).map(Into::into).collect();
        let more = all.count();
        Self {
            total: Some((values.len() + more) as u64),
            has_more: Some(more > 0),
            values,
            extra: Object::new(),
        }
    }

    /// Sets how many there are, when those given are not all, and with it whether there are more.
    #[must_use]
    pub fn with_total(mut self, total: u64) -> Self {
        self.total = Some(total);
        self.has_more = Some(total > self.values.len() as u64);
        self
    }

    /// Says that there are more than those given, nobody knows how many.
    #[must_use]
    pub fn with_more(mut self) -> Self {
        self.total = None;
        self.has_more = Some(true);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    fn read<T: FromJson>(text: &str) -> Result<T, String> {
        T::from_json(Json::parse(text).expect("JSON").as_raw()).map_err(|e| e.to_string())
    }

    #[test]
    fn references_are_told_by_type_and_unknown_ones_are_kept() {
        let odd = r#"{"name":"x","type":"ref/tool"}"#;
        let kept: CompletionReference = read(odd).expect("a reference");
        assert_eq!(serde_json::to_string(&kept).expect("JSON"), odd);
        assert!(matches!(kept, CompletionReference::Unknown(_)));
        for (text, expected) in [
            (r#"{"type":"ref/prompt","name":"p","title":5}"#, Ok(CompletionReference::prompt("p"))),
            (r#"{"uri":"a:{b}","type":"ref/resource"}"#, Ok(CompletionReference::resource("a:{b}"))),
            (r#"{"type":"ref/prompt"}"#, Err("name: missing")),
            (r#"{"type":"ref/resource","uri":5}"#, Err("uri: expected a string, found 5")),
            (r#""p""#, Err(r#"expected an object, found "p""#)),
        ] {
            assert_eq!(read::<CompletionReference>(text), expected.map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn parameters_name_what_is_wrong_with_them() {
        let good = CompleteParams::new(CompletionReference::prompt("p"), "a", "x");
        let reference = r#""ref":{"type":"ref/prompt","name":"p"}"#;
        for (text, expected) in [
            (r#""argument":{"name":"a","value":"x"}"#, Ok(good.clone())),
            (r#""argument":{"name":"a","value":"x"},"context":null"#, Ok(good.clone())),
            (r#""argument":{"name":"a","value":"x"},"context":[]"#, Ok(good.clone())),
            (
                r#""argument":{"name":"a","value":"x"},"context":{"arguments":{"b":5}}"#,
                Ok(good.with_known("b", "5")),
            ),
            (r#""argument":{"name":"a"}"#, Err("argument.value: missing")),
            (r#""context":{}"#, Err("argument: missing")),
        ] {
            let text = format!("{{{reference},{text}}}");
            assert_eq!(read::<CompleteParams>(&text), expected.map_err(str::to_owned), "{text}");
        }
        let params =
            CompleteParams::new(CompletionReference::resource("a:{b}"), "b", "").with_known("c", "d");
        assert_eq!((params.known("c"), params.known("e")), (Some("d"), None));
    }

    #[test]
    fn what_is_cut_off_is_said() {
        let of = |count: usize| Completion::new(vec!["x"; count]);
        for (completion, values, total, has_more) in [
            (of(0), 0, Some(0), Some(false)),
            (of(100), 100, Some(100), Some(false)),
            (of(101), 100, Some(101), Some(true)),
            (of(3).with_total(3), 3, Some(3), Some(false)),
            (of(3).with_total(1000), 3, Some(1000), Some(true)),
            (of(101).with_more(), 100, None, Some(true)),
        ] {
            assert_eq!(
                (completion.values.len(), completion.total, completion.has_more),
                (values, total, has_more)
            );
        }
        let odd: CompleteResult =
            read(r#"{"completion":{"values":["a"],"total":"many","hasMore":7}}"#).expect("a result");
        assert_eq!((odd.completion.total, odd.completion.has_more), (None, None));
    }
}
