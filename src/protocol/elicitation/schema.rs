//! [`RequestedSchema`]: the fields of a form, in order.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::{FromJson, InOrder, JsonError, Members, Object, wire};

use super::PrimitiveSchema;

/// The fields of a form: a flat object, in the order in which the user is to see them.
///
/// ```
/// use tinymcp::json::Object;
/// use tinymcp::protocol::{PrimitiveSchema, RequestedSchema};
///
/// let form = RequestedSchema::new()
///     .required("env", PrimitiveSchema::choice(["prod", "test"]).with_title("Environment"))
///     .optional("count", PrimitiveSchema::integer().with_range(1, 9).with_default(3));
///
/// let mut answer = Object::new();
/// answer.insert("env", "live");
/// form.fill_defaults(&mut answer);
/// assert_eq!(answer.get::<u8>("count"), Some(3));
/// let problems = form.check(&answer).unwrap_err();
/// assert_eq!(problems[0].to_string(), r#"env: expected one of "prod", "test", found "live""#);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RequestedSchema {
    /// The dialect of JSON Schema. From 2025-11-25 on.
    pub dialect: Option<String>,
    /// The fields by name.
    pub properties: Vec<(String, PrimitiveSchema)>,
    /// The names of the fields that must have a value.
    pub required: Vec<String>,
    /// Members this version of the crate does not know, kept as they came.
    pub extra: Object,
}

impl RequestedSchema {
    /// A form without fields, which asks for a yes or no.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field that must have a value.
    #[must_use]
    pub fn required(self, name: impl Into<String>, field: impl Into<PrimitiveSchema>) -> Self {
        let name = name.into();
        let mut form = self.optional(name.clone(), field);
        form.required.push(name);
        form
    }

    /// Adds a field that may be left empty. One of the same name that was added before is replaced.
    #[must_use]
    pub fn optional(mut self, name: impl Into<String>, field: impl Into<PrimitiveSchema>) -> Self {
        let name = name.into();
        self.required.retain(|required| *required != name);
        match self.properties.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = field.into(),
            None => self.properties.push((name, field.into())),
        }
        self
    }

    /// The field `name`.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&PrimitiveSchema> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, field)| field)
    }

    /// Whether the field `name` must have a value.
    #[must_use]
    pub fn is_required(&self, name: &str) -> bool {
        self.required.iter().any(|required| required == name)
    }

    /// Gives each field that has no value in `content` the value to begin with, if there is one.
    pub fn fill_defaults(&self, content: &mut Object) {
        for (name, field) in &self.properties {
            if content.json(name).is_none_or(|value| value.as_str() == "null") {
                if let Some(value) = field.default_value() {
                    content.insert(name, &value);
                }
            }
        }
    }
}

impl FromJson for RequestedSchema {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        let mut members = Members::of(raw)?;
        match members.take("type") {
            Some(kind) if kind.get() != r#""object""# => {
                return Err(JsonError::expected(r#""object""#, kind).inside("type"));
            }
            _ => {}
        }
        let properties = match members.take("properties").filter(|raw| raw.get() != "null") {
            Some(raw) => Members::of(raw).map_err(|e| e.inside("properties"))?.in_order(),
            None => Vec::new(),
        };
        let field = |(name, raw)| PrimitiveSchema::from_json(raw).map(|field| (name, field));
        Ok(Self {
            dialect: members.lenient("$schema"),
            properties: properties.into_iter().map(field).collect::<Result<_, _>>()?,
            required: members.lenient("required").unwrap_or_default(),
            extra: members.rest(),
        })
    }
}

impl Serialize for RequestedSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(dialect) = &self.dialect {
            map.serialize_entry("$schema", dialect)?;
        }
        map.serialize_entry("type", "object")?;
        map.serialize_entry("properties", &InOrder(&self.properties))?;
        if !self.required.is_empty() {
            map.serialize_entry("required", &self.required)?;
        }
        for (name, value) in self.extra.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

wire::deserialize_through_json!(RequestedSchema);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use crate::protocol::StringFormat;

    fn read(text: &str) -> Result<RequestedSchema, String> {
        RequestedSchema::from_json(Json::parse(text).expect("JSON").as_raw()).map_err(|e| e.to_string())
    }

    #[test]
    fn a_form_is_written_in_the_order_of_its_fields() {
        let text = concat!(
            r#"{"type":"object","properties":{"#,
            r#""z":{"type":"string","title":"Z","minLength":1,"maxLength":9,"format":"email","default":"a@b"},"#,
            r#""n":{"type":"number","minimum":0.5,"maximum":2},"#,
            r#""i":{"type":"integer","default":3},"#,
            r#""b":{"type":"boolean","description":"B","default":false},"#,
            r#""one":{"type":"string","enum":["a","b"],"default":"a"},"#,
            r#""titled":{"type":"string","oneOf":[{"const":"a","title":"A"}]},"#,
            r#""some":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a","b"]},"default":["b"]},"#,
            r#""a":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}"#,
            r#"},"required":["z","a"]}"#,
        );
        let made = RequestedSchema::new()
            .required(
                "z",
                PrimitiveSchema::text()
                    .with_title("Z")
                    .with_length(1, 9)
                    .with_format(StringFormat::Email)
                    .with_default("a@b"),
            )
            .optional("n", PrimitiveSchema::number().with_range(0.5, 2))
            .optional("i", PrimitiveSchema::integer().with_default(3))
            .optional("b", PrimitiveSchema::boolean().with_description("B").with_default(false))
            .optional("one", PrimitiveSchema::choice(["a", "b"]).with_default("a"))
            .optional("titled", PrimitiveSchema::titled_choice([("a", "A")]))
            .optional("some", PrimitiveSchema::choices(["a", "b"]).with_items(1, 2).with_default(["b"]))
            .required("a", PrimitiveSchema::titled_choices([("a", "A")]));
        assert_eq!(serde_json::to_string(&made).expect("JSON"), text);
        assert_eq!(read(text), Ok(made));
    }

    #[test]
    fn odd_fields_survive_and_the_last_of_one_name_counts() {
        for field in [
            "true",
            "{}",
            r#"{"type":"object","properties":{}}"#,
            r#"{"type":["string","null"]}"#,
            r#"{"type":"string","enum":[1]}"#,
            r#"{"type":"array","items":{"type":"string"}}"#,
            r#"{"type":"array"}"#,
            r#"{"enum":["a"]}"#,
        ] {
            let text = format!(r#"{{"type":"object","properties":{{"x":{field}}}}}"#);
            let form = read(&text).expect(&text);
            assert!(matches!(form.field("x"), Some(PrimitiveSchema::Unknown(_))), "{field}");
            assert_eq!(serde_json::to_string(&form).expect("JSON"), text);
        }
        let text = r#"{"type":"object","properties":{"a":{"type":"string"},"b":{},"a":{"type":"boolean","x-new":[1]}},"required":["a"],"more":1}"#;
        let form = read(text).expect("a form");
        let names: Vec<_> = form.properties.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(
            serde_json::to_string(&form).expect("JSON"),
            r#"{"type":"object","properties":{"a":{"type":"boolean","x-new":[1]},"b":{}},"required":["a"],"more":1}"#
        );
        for (text, problem) in [
            ("[]", "expected an object, found []"),
            (r#"{"type":"array"}"#, r#"type: expected "object", found "array""#),
            (r#"{"properties":[]}"#, "properties: expected an object, found []"),
        ] {
            assert_eq!(read(text), Err(problem.to_owned()), "{text}");
        }
        for text in ["{}", r#"{"type":"object","properties":null,"required":null}"#, r#"{"required":5}"#] {
            assert_eq!(read(text), Ok(RequestedSchema::new()), "{text}");
        }
    }

    #[test]
    fn a_field_added_again_is_replaced() {
        let form = RequestedSchema::new()
            .required("a", PrimitiveSchema::text())
            .optional("a", PrimitiveSchema::boolean())
            .required("b", PrimitiveSchema::text())
            .required("b", PrimitiveSchema::text());
        assert!(!form.is_required("a") && form.is_required("b"));
        assert_eq!((form.properties.len(), form.required.len()), (2, 1));
    }

    #[test]
    fn defaults_fill_what_has_no_value() {
        let form = RequestedSchema::new()
            .optional("s", PrimitiveSchema::text().with_default("d"))
            .optional("n", PrimitiveSchema::number().with_default(2.5))
            .optional("i", PrimitiveSchema::integer().with_default(3))
            .optional("b", PrimitiveSchema::boolean().with_default(true))
            .optional("none", PrimitiveSchema::text())
            .optional("one", PrimitiveSchema::choice(["a"]).with_default("a"))
            .optional("some", PrimitiveSchema::choices(["a"]).with_default(["a"]))
            .optional("odd", PrimitiveSchema::Unknown(Json::parse(r#"{"default":[{}]}"#).expect("JSON")));
        let mut content: Object =
            Json::parse(r#"{"s":"mine","i":null,"own":1}"#).expect("JSON").to().expect("an object");
        form.fill_defaults(&mut content);
        assert_eq!(
            Json::from(content).as_str(),
            r#"{"b":true,"i":3,"n":2.5,"odd":[{}],"one":"a","own":1,"s":"mine","some":["a"]}"#
        );
    }
}
