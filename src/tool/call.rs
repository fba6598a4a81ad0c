//! What the macros expand to: reading the arguments of one call, writing the schema they follow.
//!
//! Public for the macros alone, through the hidden `__private` module.

use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::value::RawValue;

use super::{Arguments, FnTool, ObjectSchema, Parameter, Schema, SchemaScope, ToolError, ToolOutput};
use crate::context::Context;
use crate::json::{FromJson, Json, JsonError, Members, nested_object};

/// One call of a tool or prompt that a macro declared.
#[derive(Debug)]
pub struct Call<'a> {
    members: Members<'a>,
    cx: &'a Context,
    strict: bool,
    problems: Vec<JsonError>,
}

impl<'a> Call<'a> {
    pub(crate) fn new(
        arguments: &'a Arguments<'_>,
        cx: &'a Context,
        strict: bool,
    ) -> Result<Self, ToolError> {
        let members = Members::of(arguments.as_raw()).map_err(ToolError::bad_arguments)?;
        Ok(Self { members, cx, strict, problems: Vec::new() })
    }

    /// Ends the reading: everything that was wrong is told at once.
    ///
    /// spec: 2026-07-28 server/tools#security-considerations (servers validate all tool inputs)
    ///
    /// # Errors
    /// Bad arguments.
    pub fn check(&mut self) -> Result<(), ToolError> {
        for name in self.members.names() {
            if self.strict {
                self.problems.push(JsonError::new("unknown argument").inside(name));
            } else {
                log::debug!("ignored an unknown argument: {name}");
            }
        }
        if self.problems.is_empty() { Ok(()) } else { Err(bad_arguments(&self.problems)) }
    }

    /// What was read; [`check`](Self::check) made sure that it is there.
    ///
    /// # Errors
    /// Never after a successful check.
    pub fn take<T>(&self, read: Option<T>) -> Result<T, ToolError> {
        read.ok_or_else(|| bad_arguments(&self.problems))
    }
}

/// One error for all problems.
pub(crate) fn bad_arguments(problems: &[JsonError]) -> ToolError {
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    ToolError::bad_arguments(problems.join("; "))
}

/// What may stand in the parameter list of `tool!` and `prompt!`: arguments, and the context of the call.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a tool or prompt",
    label = "neither a `Parameter` nor `&Context`",
    note = "declare structs and enums inside `tinymcp::data! {{ … }}`; use owned types (`String`, not `&str`); the context of the call is `cx: &Context`"
)]
pub trait Param<'a>: Sized {
    /// Adds itself to the schema.
    fn declare(signature: &mut Signature, name: &str, docs: &[&str], default: impl FnOnce() -> Option<Self>);

    /// Takes itself out of the call; `None` when that is not possible, which the call remembers.
    fn read(call: &mut Call<'a>, name: &str, default: impl FnOnce() -> Option<Self>) -> Option<Self>;
}

impl<'a> Param<'a> for &'a Context {
    fn declare(_: &mut Signature, _: &str, _: &[&str], _: impl FnOnce() -> Option<Self>) {}

    fn read(call: &mut Call<'a>, _: &str, _: impl FnOnce() -> Option<Self>) -> Option<Self> {
        Some(call.cx)
    }
}

impl<T: Parameter> Param<'_> for T {
    fn declare(signature: &mut Signature, name: &str, docs: &[&str], default: impl FnOnce() -> Option<Self>) {
        signature.object.property::<T>(&mut signature.scope, name, docs, default());
    }

    fn read(call: &mut Call<'_>, name: &str, default: impl FnOnce() -> Option<Self>) -> Option<Self> {
        read_field(&mut call.members, name, default).map_err(|e| call.problems.push(e)).ok()
    }
}

/// Name, description and parameters while `tool!` or `prompt!` collects them.
#[derive(Debug)]
pub struct Signature {
    name: &'static str,
    description: String,
    scope: SchemaScope,
    object: ObjectSchema,
}

impl Signature {
    /// One without parameters so far.
    #[must_use]
    pub fn new(name: &'static str, docs: &[&str]) -> Self {
        Self {
            name,
            description: super::doc_text(docs),
            scope: SchemaScope::default(),
            object: ObjectSchema::default(),
        }
    }

    /// The tool that `run` does the work of.
    pub fn tool<R, F>(self, run: F) -> FnTool
    where
        R: ToolOutput,
        F: for<'a> Fn(&mut Call<'a>) -> Result<R, ToolError> + Send + Sync + 'static,
    {
        let schema = self.scope.document(self.object.finish(&[]));
        FnTool::declared(self.name, self.description, schema.to_json(), run)
    }

    /// Name, description and parameters.
    pub(crate) fn into_parts(self) -> (&'static str, String, ObjectSchema) {
        (self.name, self.description, self.object)
    }
}

/// Reads one member: `null` and a missing one are the default, if there is one.
///
/// # Errors
/// When the member is needed and missing, or is not a `T`.
pub fn read_field<T: FromJson>(
    members: &mut Members<'_>,
    name: &str,
    default: impl FnOnce() -> Option<T>,
) -> Result<T, JsonError> {
    match members.take(name) {
        Some(raw) if raw.get() != "null" => T::from_json(raw).map_err(|e| e.inside(name)),
        given => match (default(), given) {
            (Some(default), _) => Ok(default),
            (None, Some(null)) => T::from_json(null).map_err(|e| e.inside(name)),
            (None, None) => T::absent().ok_or_else(|| JsonError::new("missing").inside(name)),
        },
    }
}

/// Writes one member, unless it is written by leaving it out.
///
/// # Errors
/// The serializer's.
pub fn write_field<M: SerializeMap, T: FromJson + Serialize>(
    map: &mut M,
    name: &str,
    value: &T,
) -> Result<(), M::Error> {
    if value.is_absent() { Ok(()) } else { map.serialize_entry(name, value) }
}

/// Reads an object that may also be JSON text in a string.
///
/// # Errors
/// When there is no object, it lies too deep in others of its kind, or `read` fails.
pub fn read_object<T>(
    raw: &RawValue,
    read: impl Fn(&mut Members<'_>) -> Result<T, JsonError>,
) -> Result<T, JsonError> {
    nested_object(raw, read)
}

/// Reads one of some words.
///
/// # Errors
/// When it is none of them.
pub fn read_word<T, const N: usize>(raw: &RawValue, words: [(&str, T); N]) -> Result<T, JsonError> {
    let word = String::from_json(raw).ok();
    let mut known = Vec::with_capacity(N);
    for (name, value) in words {
        if word.as_deref() == Some(name) {
            return Ok(value);
        }
        known.push(name);
    }
    Err(JsonError::expected(&format!("one of {}", known.join(", ")), raw))
}

/// Reads the member `type`, which tells the variant of a `data!` enum apart; gives its index in `known`.
///
/// # Errors
/// When it is none of them.
pub fn read_tag(members: &mut Members<'_>, known: &[&str]) -> Result<usize, JsonError> {
    let raw = members.take("type").ok_or_else(|| JsonError::new("missing").inside("type"))?;
    let tag = String::from_json(raw).ok();
    let at = known.iter().position(|name| tag.as_deref() == Some(name));
    at.ok_or_else(|| JsonError::expected(&format!("one of {}", known.join(", ")), raw).inside("type"))
}

/// The schema of an enum of words. What its variants' docs say goes into the description.
#[must_use]
pub fn word_schema(docs: &[&str], variants: &[(&str, &[&str])]) -> Schema {
    let words: Vec<&str> = variants.iter().map(|(name, _)| *name).collect();
    let mut text = super::doc_text(docs);
    for (name, docs) in variants {
        let docs = super::doc_text(docs);
        if !docs.is_empty() {
            text = format!("{text}\n- {name}: {docs}");
        }
    }
    Schema::one_of(&words).described(text.trim_start_matches('\n'))
}

/// The schema of an enum whose variants have fields: objects told apart by `type`.
#[derive(Debug, Default)]
pub struct VariantsSchema {
    names: Vec<String>,
    variants: Vec<Schema>,
}

impl VariantsSchema {
    /// Adds a variant; `fields` adds its fields.
    pub fn variant(&mut self, name: &str, docs: &[&str], fields: impl FnOnce(&mut ObjectSchema)) {
        let mut object = ObjectSchema::default();
        // Not `const`: an `enum` of one word is understood by more clients.
        object.fixed("type", Schema::one_of(&[name]));
        fields(&mut object);
        self.names.push(name.to_owned());
        self.variants.push(object.finish(docs));
    }

    /// The schema for a nested place.
    #[must_use]
    pub fn finish(self, docs: &[&str]) -> Schema {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        outline_schema(&names, docs).with("anyOf", &self.variants)
    }
}

/// The output schema of an enum whose variants have fields.
#[must_use]
pub fn outline(names: &[&str], docs: &[&str]) -> Json {
    outline_schema(names, docs).to_json()
}

/// An object whose `type` is one of `names`. Without the variants' fields: compositions at a root are refused by clients.
fn outline_schema(names: &[&str], docs: &[&str]) -> Schema {
    let mut object = ObjectSchema::default();
    object.fixed("type", Schema::one_of(names));
    object.finish(docs)
}

/// The name of a parameter or field: `r#type` is `type`.
#[must_use]
pub fn plain_name(name: &'static str) -> &'static str {
    name.strip_prefix("r#").unwrap_or(name)
}

/// Lets `= "text"` be the default of a `String`, and everything else the default of its own type.
pub trait IntoDefault<T> {
    /// The default.
    fn into_default(self) -> T;
}

impl<T> IntoDefault<T> for T {
    fn into_default(self) -> T {
        self
    }
}

impl IntoDefault<String> for &str {
    fn into_default(self) -> String {
        self.to_owned()
    }
}
