//! [`Schema`] and [`Parameter`]: Rust types as the JSON Schema that clients accept.
//!
//! A client hands the schemas of all tools to a model API, and one schema that the API refuses takes
//! every tool of every server down with it. So what is generated here keeps to the part of JSON Schema that all of
//! them take: each property has a `type`, lists have `items`, optional values have a plain type and
//! are simply not required, nested types stand in place, and `$ref` appears only where a type contains itself.

use std::any::TypeId;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::BuildHasher;
use std::path::PathBuf;

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json::{FromJson, InOrder, Json, JsonError};

/// A JSON Schema whose keywords keep their order.
///
/// ```
/// use tinymcp::tool::Schema;
///
/// let port = Schema::of("integer").described("Where to listen").with("maximum", &65535);
/// assert_eq!(port.to_json().as_str(), r#"{"type":"integer","description":"Where to listen","maximum":65535}"#);
/// assert_eq!(
///     Schema::root::<Vec<String>>().to_json().as_str(),
///     r#"{"type":"array","items":{"type":"string"}}"#,
/// );
/// ```
#[derive(Clone, PartialEq)]
pub struct Schema(Vec<(Cow<'static, str>, Json)>);

impl Schema {
    /// A schema without keywords, which describes any value.
    #[must_use]
    pub const fn empty() -> Self {
        Self(Vec::new())
    }

    /// Values of one type: `string`, `integer`, `number`, `boolean`, `object`, `array`.
    #[must_use]
    pub fn of(kind: &str) -> Self {
        Self::empty().with("type", kind)
    }

    /// One of these strings.
    #[must_use]
    pub fn one_of(words: &[&str]) -> Self {
        Self::of("string").with("enum", words)
    }

    /// The schema of `T` as a whole document: a type that contains itself gets its `$defs` here.
    #[must_use]
    pub fn root<T: Parameter>() -> Self {
        let mut scope = SchemaScope::default();
        let schema = T::schema(&mut scope);
        scope.document(schema)
    }

    /// The same schema with `keyword` set, in its old place if it was set before. A value that cannot be JSON (a map
    /// with keys that are not strings) becomes `null`, which is reported in the log.
    #[must_use]
    pub fn with<T: Serialize + ?Sized>(mut self, keyword: impl Into<Cow<'static, str>>, value: &T) -> Self {
        let keyword = keyword.into();
        let json = Json::new(value).unwrap_or_else(|e| {
            log::warn!("schema keyword {keyword} cannot be JSON and is sent as null: {e}");
            Json::from(Value::Null)
        });
        match self.0.iter_mut().find(|(name, _)| *name == keyword) {
            Some((_, old)) => *old = json,
            None => self.0.push((keyword, json)),
        }
        self
    }

    /// The same schema with this description; an empty text changes nothing.
    #[must_use]
    pub fn described(self, text: &str) -> Self {
        if text.is_empty() { self } else { self.with("description", text) }
    }

    /// The value of `keyword`.
    #[must_use]
    pub fn get(&self, keyword: &str) -> Option<&Json> {
        self.0.iter().find(|(name, _)| name == keyword).map(|(_, value)| value)
    }

    /// The schema's text.
    #[must_use]
    pub fn to_json(&self) -> Json {
        Json::new(self).expect("keywords are strings and their values JSON")
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(keyword, value)| (keyword, value)))
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().map(|(keyword, value)| (keyword, value))).finish()
    }
}

impl From<Schema> for Json {
    fn from(schema: Schema) -> Self {
        schema.to_json()
    }
}

/// A type that can be a tool's parameter, or a field of one.
///
/// Implemented for strings, booleans, numbers, `Option`, `Vec`, maps with string keys, `PathBuf`, and JSON itself;
/// [`data!`](crate::data) implements it for structs and enums. By hand:
///
/// ```
/// use serde::{Serialize, Serializer};
/// use tinymcp::json::{FromJson, JsonError};
/// use tinymcp::tool::{Parameter, Schema, SchemaScope};
///
/// struct Percent(f64);
///
/// impl FromJson for Percent {
///     fn from_json(raw: &serde_json::value::RawValue) -> Result<Self, JsonError> {
///         match f64::from_json(raw)? {
///             n if (0.0..=100.0).contains(&n) => Ok(Self(n)),
///             n => Err(JsonError::new(format!("{n} is not between 0 and 100"))),
///         }
///     }
/// }
///
/// impl Serialize for Percent {
///     fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
///         self.0.serialize(serializer)
///     }
/// }
///
/// impl Parameter for Percent {
///     fn schema(_: &mut SchemaScope) -> Schema {
///         Schema::of("number").with("minimum", &0).with("maximum", &100)
///     }
/// }
///
/// assert_eq!(Schema::root::<Percent>().get("maximum").unwrap().as_str(), "100");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool's parameter or field",
    label = "not a `Parameter`",
    note = "declare structs and enums inside `tinymcp::data! {{ … }}`; use owned types (`String`, not `&str`)"
)]
pub trait Parameter: FromJson + Serialize + 'static {
    /// The schema of this type. Types with a name of their own go through [`SchemaScope::named`].
    fn schema(scope: &mut SchemaScope) -> Schema;
}

/// The types whose schema is being written, so that a type inside itself becomes a `$ref`.
#[derive(Debug, Default)]
pub struct SchemaScope {
    open: Vec<TypeId>,
    /// Types met inside themselves, under their key in `$defs`; the schema follows when it is complete.
    recursive: Vec<(TypeId, String, Option<Schema>)>,
}

impl SchemaScope {
    /// The schema of the type `T`, which `write` knows how to write. It stands in place, unless `T` contains
    /// itself; then it goes to `$defs` under `name`.
    pub fn named<T: 'static>(&mut self, name: &str, write: impl FnOnce(&mut Self) -> Schema) -> Schema {
        let id = TypeId::of::<T>();
        if let Some((_, key, _)) = self.recursive.iter().find(|(known, ..)| *known == id) {
            return reference(key);
        }
        if self.open.contains(&id) {
            let taken = self.recursive.iter().filter(|(_, key, _)| key.starts_with(name)).count();
            let key = if taken == 0 { name.to_owned() } else { format!("{name}{}", taken + 1) };
            let schema = reference(&key);
            self.recursive.push((id, key, None));
            return schema;
        }
        self.open.push(id);
        let schema = write(self);
        self.open.pop();
        match self.recursive.iter_mut().find(|(known, ..)| *known == id) {
            Some((_, key, complete)) => {
                *complete = Some(schema);
                reference(key)
            }
            None => schema,
        }
    }

    /// Makes a whole document of `schema`: its root is never a `$ref`, and `$defs` stand at its end.
    pub(crate) fn document(self, schema: Schema) -> Schema {
        if self.recursive.is_empty() {
            return schema;
        }
        let definitions: Vec<(String, Schema)> = self
            .recursive
            .into_iter()
            .map(|(_, key, schema)| (key, schema.unwrap_or(Schema::empty())))
            .collect();
        let target = schema.get("$ref").map(Json::as_str);
        let is_root = |key: &str| reference(key).get("$ref").map(Json::as_str) == target;
        let root = definitions.iter().find(|(key, _)| is_root(key)).map(|(_, s)| s.clone());
        root.unwrap_or(schema).with("$defs", &InOrder(&definitions))
    }
}

fn reference(key: &str) -> Schema {
    Schema::empty().with("$ref", &format!("#/$defs/{key}"))
}

/// Collects the properties of an object; what `tool!` and `data!` write their schemas with.
#[derive(Debug, Default)]
pub struct ObjectSchema {
    properties: Vec<(String, Schema)>,
    required: Vec<String>,
}

impl ObjectSchema {
    /// Adds a property of type `T`. It is required unless `T` allows it to be missing or there is a default.
    pub fn property<T: Parameter>(
        &mut self,
        scope: &mut SchemaScope,
        name: &str,
        docs: &[&str],
        default: Option<T>,
    ) {
        let mut schema = T::schema(scope);
        // What the property's docs say comes first, then what those of its type say.
        let own = schema.get("description").and_then(|text| text.to::<String>().ok()).unwrap_or_default();
        schema = schema.described(format!("{}\n{own}", doc_text(docs)).trim_matches('\n'));
        match &default {
            Some(default) => schema = schema.with("default", default),
            None if T::absent().is_some() => {}
            None => self.required.push(name.to_owned()),
        }
        self.properties.push((name.to_owned(), schema));
    }

    /// Adds a property with a schema of its own.
    pub(crate) fn fixed(&mut self, name: &str, schema: Schema) {
        self.properties.push((name.to_owned(), schema));
        self.required.push(name.to_owned());
    }

    /// The properties so far: name, schema, and whether it is required.
    pub(crate) fn properties(&self) -> impl Iterator<Item = (&str, &Schema, bool)> {
        let is_required = |name: &String| self.required.contains(name);
        self.properties.iter().map(move |(name, schema)| (name.as_str(), schema, is_required(name)))
    }

    /// The object's schema.
    #[must_use]
    pub fn finish(self, docs: &[&str]) -> Schema {
        // `properties` stands there even without any: some clients read it without looking.
        let schema =
            Schema::of("object").described(&doc_text(docs)).with("properties", &InOrder(&self.properties));
        if self.required.is_empty() { schema } else { schema.with("required", &self.required) }
    }
}

/// The text of doc comments: one space after `///` is not part of it.
#[must_use]
pub(crate) fn doc_text(docs: &[&str]) -> String {
    let lines = docs.iter().flat_map(|doc| doc.split('\n'));
    let lines: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end()).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

macro_rules! scalars {
    ($($($ty:ty)* => $schema:expr;)*) => {$($(
        impl Parameter for $ty {
            fn schema(_: &mut SchemaScope) -> Schema {
                $schema
            }
        }
    )*)*};
}
scalars! {
    String PathBuf => Schema::of("string");
    bool => Schema::of("boolean");
    // No `format`: clients refuse those they do not know, such as `uint32`.
    u8 u16 u32 u64 usize => Schema::of("integer").with("minimum", &0);
    i8 i16 i32 i64 isize i128 => Schema::of("integer");
    f32 f64 => Schema::of("number");
    Json Value => any_value();
}

/// Any JSON value. `true` and `{}` say the same, but clients that demand a `type` everywhere refuse them; those
/// that know lists of types want `items` as soon as `array` is among them.
pub(crate) fn any_value() -> Schema {
    Schema::of("object")
        .with("type", &["string", "number", "boolean", "object", "array", "null"])
        .with("items", &Schema::empty())
}

impl FromJson for PathBuf {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        String::from_json(raw).map(Self::from)
    }
}

impl<T: Parameter> Parameter for Option<T> {
    // Not `["string", "null"]`: clients refuse it. A `null` is accepted all the same.
    fn schema(scope: &mut SchemaScope) -> Schema {
        T::schema(scope)
    }
}

impl<T: Parameter> Parameter for Box<T> {
    fn schema(scope: &mut SchemaScope) -> Schema {
        T::schema(scope)
    }
}

impl<T: Parameter> Parameter for Vec<T> {
    fn schema(scope: &mut SchemaScope) -> Schema {
        Schema::of("array").with("items", &T::schema(scope))
    }
}

impl<T: Parameter> Parameter for BTreeMap<String, T> {
    fn schema(scope: &mut SchemaScope) -> Schema {
        Schema::of("object").with("additionalProperties", &T::schema(scope))
    }
}

impl<T: Parameter, S: BuildHasher + Default + 'static> Parameter for HashMap<String, T, S> {
    fn schema(scope: &mut SchemaScope) -> Schema {
        Schema::of("object").with("additionalProperties", &T::schema(scope))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<T: Parameter>() -> String {
        Schema::root::<T>().to_json().to_string()
    }

    #[test]
    fn every_type_has_a_plain_schema() {
        assert_eq!(text::<Option<u8>>(), r#"{"type":"integer","minimum":0}"#);
        assert_eq!(
            text::<BTreeMap<String, f32>>(),
            r#"{"type":"object","additionalProperties":{"type":"number"}}"#
        );
        assert_eq!(
            text::<Value>(),
            r#"{"type":["string","number","boolean","object","array","null"],"items":{}}"#
        );
        assert_eq!(text::<PathBuf>(), r#"{"type":"string"}"#);
    }

    #[test]
    fn doc_comments_lose_one_space_a_line() {
        assert_eq!(doc_text(&[" Title", "", "  - a", " b "]), "Title\n\n - a\nb");
        assert_eq!(doc_text(&["\n one\n two\n"]), "one\ntwo");
        assert_eq!(doc_text(&[]), "");
    }
}
