//! The fields of a form: what one of them may be.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::{FromJson, Json, JsonError, Members, Object, wire};

/// What one field of a form may be.
///
/// The functions here begin the description of a field, and what they return has the rest of it:
///
/// ```
/// use tinymcp::protocol::{PrimitiveSchema, StringFormat};
///
/// let mail = PrimitiveSchema::text().with_title("E-mail").with_format(StringFormat::Email);
/// let size = PrimitiveSchema::titled_choice([("s", "Small"), ("l", "Large")]).with_default("s");
/// let tags = PrimitiveSchema::choices(["red", "green", "blue"]).with_items(1, 2);
/// assert_eq!(size.options().collect::<Vec<_>>(), [("s", "Small"), ("l", "Large")]);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PrimitiveSchema {
    /// Text.
    String(StringSchema),
    /// A number.
    Number(NumberSchema),
    /// Yes or no.
    Boolean(BooleanSchema),
    /// One of several.
    SingleSelect(SingleSelectEnumSchema),
    /// Some of several. From 2025-11-25 on.
    MultiSelect(MultiSelectEnumSchema),
    /// A kind this version of the crate does not know, as it came.
    Unknown(Json),
}

wire::wire! {
    /// A field for text.
    #[derive(Default)]
    pub struct StringSchema as "string" {
        /// Its name for people.
        pub title: Option<String> = "title",
        /// What it is for.
        pub description: Option<String> = "description",
        /// How many characters there must be.
        pub min_length: Option<u64> = "minLength",
        /// How many characters there may be.
        pub max_length: Option<u64> = "maxLength",
        /// What kind of text it is.
        pub format: Option<StringFormat> = "format",
        /// The value to begin with. From 2025-11-25 on.
        pub default: Option<String> = "default",
    }

    /// A field for a number.
    pub struct NumberSchema {
        /// Whether it is a whole number.
        pub kind: NumberKind = "type",
        /// Its name for people.
        pub title: Option<String> = "title",
        /// What it is for.
        pub description: Option<String> = "description",
        /// The least value.
        pub minimum: Option<f64> = "minimum" or plain,
        /// The greatest value.
        pub maximum: Option<f64> = "maximum" or plain,
        /// The value to begin with. From 2025-11-25 on.
        pub default: Option<f64> = "default" or plain,
    }

    /// A field for yes or no.
    #[derive(Default)]
    pub struct BooleanSchema as "boolean" {
        /// Its name for people.
        pub title: Option<String> = "title",
        /// What it is for.
        pub description: Option<String> = "description",
        /// The value to begin with.
        pub default: Option<bool> = "default",
    }

    /// A field for one of several values, in any of the forms the revisions know: `enum`, `oneOf` with titles (from
    /// 2025-11-25 on), or `enum` with `enumNames`. [`options`](Self::options) is the same for all.
    #[derive(Default)]
    pub struct SingleSelectEnumSchema as "string" {
        /// Its name for people.
        pub title: Option<String> = "title",
        /// What it is for.
        pub description: Option<String> = "description",
        /// The values.
        pub enum_values: Option<Vec<String>> = "enum",
        /// Their names for people, in the same order. Written to peers before 2025-11-25.
        pub enum_names: Option<Vec<String>> = "enumNames",
        /// The values with their names for people. From 2025-11-25 on.
        pub one_of: Option<Vec<EnumOption>> = "oneOf",
        /// The value to begin with. From 2025-11-25 on.
        pub default: Option<String> = "default",
    }

    /// A field for some of several values. From 2025-11-25 on.
    #[derive(Default)]
    pub struct MultiSelectEnumSchema as "array" {
        /// Its name for people.
        pub title: Option<String> = "title",
        /// What it is for.
        pub description: Option<String> = "description",
        /// How many must be chosen.
        pub min_items: Option<u64> = "minItems",
        /// How many may be chosen.
        pub max_items: Option<u64> = "maxItems",
        /// The values.
        pub items: EnumItems = "items",
        /// The values to begin with.
        pub default: Option<Vec<String>> = "default",
    }

    /// The values of a [`MultiSelectEnumSchema`].
    #[derive(Default)]
    pub struct EnumItems {
        /// `string`, if they have no names for people.
        pub kind: Option<String> = "type",
        /// The values.
        pub enum_values: Option<Vec<String>> = "enum",
        /// The values with their names for people.
        pub any_of: Option<Vec<EnumOption>> = "anyOf",
    }

    /// A value to choose.
    pub struct EnumOption {
        /// The value.
        pub value: String = "const",
        /// Its name for people.
        pub title: Option<String> = "title",
    }
}

wire::string_enum! {
    /// What kind of text a field is for.
    pub enum StringFormat {
        /// An e-mail address.
        Email = "email",
        /// A URI.
        Uri = "uri",
        /// A day, such as `2026-07-28`.
        Date = "date",
        /// A moment, such as `2026-07-28T12:00:00Z`.
        DateTime = "date-time",
    }

    /// Whether a number is a whole one.
    pub enum NumberKind {
        /// Any number.
        Number = "number",
        /// A whole number.
        Integer = "integer",
    }
}

fn strings<S: Into<String>>(values: impl IntoIterator<Item = S>) -> Vec<String> {
    values.into_iter().map(Into::into).collect()
}

fn options<V: Into<String>, T: Into<String>>(values: impl IntoIterator<Item = (V, T)>) -> Vec<EnumOption> {
    values.into_iter().map(|(value, title)| EnumOption::new(value, title)).collect()
}

impl PrimitiveSchema {
    /// A field for text.
    #[must_use]
    pub fn text() -> StringSchema {
        StringSchema::default()
    }

    /// A field for a number.
    #[must_use]
    pub fn number() -> NumberSchema {
        NumberSchema::new(NumberKind::Number)
    }

    /// A field for a whole number.
    #[must_use]
    pub fn integer() -> NumberSchema {
        NumberSchema::new(NumberKind::Integer)
    }

    /// A field for yes or no.
    #[must_use]
    pub fn boolean() -> BooleanSchema {
        BooleanSchema::default()
    }

    /// A field for one of `values`.
    #[must_use]
    pub fn choice<S: Into<String>>(values: impl IntoIterator<Item = S>) -> SingleSelectEnumSchema {
        SingleSelectEnumSchema { enum_values: Some(strings(values)), ..SingleSelectEnumSchema::default() }
    }

    /// A field for one of several values, each given with its name for people.
    #[must_use]
    pub fn titled_choice<V: Into<String>, T: Into<String>>(
        values: impl IntoIterator<Item = (V, T)>,
    ) -> SingleSelectEnumSchema {
        SingleSelectEnumSchema { one_of: Some(options(values)), ..SingleSelectEnumSchema::default() }
    }

    /// A field for some of `values`. From 2025-11-25 on.
    #[must_use]
    pub fn choices<S: Into<String>>(values: impl IntoIterator<Item = S>) -> MultiSelectEnumSchema {
        let items = EnumItems {
            kind: Some("string".to_owned()),
            enum_values: Some(strings(values)),
            ..EnumItems::default()
        };
        MultiSelectEnumSchema { items, ..MultiSelectEnumSchema::default() }
    }

    /// A field for some of several values, each given with its name for people. From 2025-11-25 on.
    #[must_use]
    pub fn titled_choices<V: Into<String>, T: Into<String>>(
        values: impl IntoIterator<Item = (V, T)>,
    ) -> MultiSelectEnumSchema {
        let items = EnumItems { any_of: Some(options(values)), ..EnumItems::default() };
        MultiSelectEnumSchema { items, ..MultiSelectEnumSchema::default() }
    }

    /// Its name for people.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        match self {
            Self::String(field) => field.title.as_deref(),
            Self::Number(field) => field.title.as_deref(),
            Self::Boolean(field) => field.title.as_deref(),
            Self::SingleSelect(field) => field.title.as_deref(),
            Self::MultiSelect(field) => field.title.as_deref(),
            Self::Unknown(_) => None,
        }
    }

    /// What it is for.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        match self {
            Self::String(field) => field.description.as_deref(),
            Self::Number(field) => field.description.as_deref(),
            Self::Boolean(field) => field.description.as_deref(),
            Self::SingleSelect(field) => field.description.as_deref(),
            Self::MultiSelect(field) => field.description.as_deref(),
            Self::Unknown(_) => None,
        }
    }

    /// The value to begin with.
    #[must_use]
    pub fn default_value(&self) -> Option<Json> {
        match self {
            Self::String(field) => field.default.as_deref().map(Json::from),
            Self::Number(field) => field.default.and_then(|n| Json::new(&wire::Plain(Some(n))).ok()),
            Self::Boolean(field) => field.default.and_then(|yes| Json::new(&yes).ok()),
            Self::SingleSelect(field) => field.default.as_deref().map(Json::from),
            Self::MultiSelect(field) => field.default.as_ref().and_then(|values| Json::new(values).ok()),
            Self::Unknown(json) => Members::of(json.as_raw()).ok()?.take("default").map(Json::from_raw),
        }
    }
}

impl FromJson for PrimitiveSchema {
    /// Never refused, so that one odd field does not cost the others.
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        Ok(Self::known(raw).unwrap_or_else(|| Self::Unknown(Json::from_raw(raw))))
    }
}

impl PrimitiveSchema {
    /// Reads a kind that this version knows.
    fn known(raw: &RawValue) -> Option<Self> {
        let members = Members::of(raw).ok()?;
        let member =
            |wanted: &str| members.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.get());
        match member("type")? {
            r#""string""# if member("enum").or(member("oneOf")).is_some() => {
                let field = SingleSelectEnumSchema::from_members(members).ok()?;
                (field.one_of.is_some() || field.enum_values.is_some()).then_some(Self::SingleSelect(field))
            }
            r#""string""# => StringSchema::from_members(members).ok().map(Self::String),
            r#""number""# | r#""integer""# => NumberSchema::from_members(members).ok().map(Self::Number),
            r#""boolean""# => BooleanSchema::from_members(members).ok().map(Self::Boolean),
            r#""array""# => {
                let field = MultiSelectEnumSchema::from_members(members).ok()?;
                let known = field.items.any_of.is_some() || field.items.enum_values.is_some();
                known.then_some(Self::MultiSelect(field))
            }
            _ => None,
        }
    }
}

impl Serialize for PrimitiveSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::String(field) => field.serialize(serializer),
            Self::Number(field) => field.serialize(serializer),
            Self::Boolean(field) => field.serialize(serializer),
            Self::SingleSelect(field) => field.serialize(serializer),
            Self::MultiSelect(field) => field.serialize(serializer),
            Self::Unknown(json) => json.serialize(serializer),
        }
    }
}

wire::deserialize_through_json!(PrimitiveSchema);

macro_rules! kinds {
    ($($variant:ident $field:ident)*) => {$(
        impl From<$field> for PrimitiveSchema {
            fn from(field: $field) -> Self {
                Self::$variant(field)
            }
        }

        wire::builders!($field {
            /// Sets the name for people.
            with_title => title: String,
            /// Says what it is for.
            with_description => description: String,
        });
    )*};
}
kinds! {
    String StringSchema
    Number NumberSchema
    Boolean BooleanSchema
    SingleSelect SingleSelectEnumSchema
    MultiSelect MultiSelectEnumSchema
}

impl StringSchema {
    /// Sets how many characters there must be, and how many there may be.
    #[must_use]
    pub fn with_length(mut self, min: u64, max: u64) -> Self {
        (self.min_length, self.max_length) = (Some(min), Some(max));
        self
    }
}

wire::builders!(StringSchema {
    /// Sets what kind of text it is.
    with_format => format: StringFormat,
    /// Sets the value to begin with.
    with_default => default: String,
});

impl NumberSchema {
    fn new(kind: NumberKind) -> Self {
        Self {
            kind,
            title: None,
            description: None,
            minimum: None,
            maximum: None,
            default: None,
            extra: Object::new(),
        }
    }

    /// Sets the least and the greatest value.
    #[must_use]
    pub fn with_range(mut self, min: impl Into<f64>, max: impl Into<f64>) -> Self {
        (self.minimum, self.maximum) = (Some(min.into()), Some(max.into()));
        self
    }
}

wire::builders!(NumberSchema {
    /// Sets the value to begin with.
    with_default => default: f64,
});

wire::builders!(BooleanSchema {
    /// Sets the value to begin with.
    with_default => default: bool,
});

impl SingleSelectEnumSchema {
    /// The values with their names for people; a value without one is its own name.
    pub fn options(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        let names = self.enum_names.as_deref().unwrap_or_default();
        let plain = if self.one_of.is_some() { &None } else { &self.enum_values };
        let plain = plain.iter().flatten().enumerate();
        let plain = plain.map(|(at, value)| (value.as_str(), names.get(at).unwrap_or(value).as_str()));
        self.one_of.iter().flatten().map(EnumOption::pair).chain(plain)
    }
}

wire::builders!(SingleSelectEnumSchema {
    /// Sets the value to begin with.
    with_default => default: String,
});

impl MultiSelectEnumSchema {
    /// The values with their names for people; a value without one is its own name.
    pub fn options(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        let plain = if self.items.any_of.is_some() { &None } else { &self.items.enum_values };
        let plain = plain.iter().flatten().map(|value| (value.as_str(), value.as_str()));
        self.items.any_of.iter().flatten().map(EnumOption::pair).chain(plain)
    }

    /// Sets how many must be chosen, and how many may be.
    #[must_use]
    pub fn with_items(mut self, min: u64, max: u64) -> Self {
        (self.min_items, self.max_items) = (Some(min), Some(max));
        self
    }

    /// Sets the values to begin with.
    #[must_use]
    pub fn with_default<S: Into<String>>(mut self, values: impl IntoIterator<Item = S>) -> Self {
        self.default = Some(strings(values));
        self
    }
}

impl EnumOption {
    /// A value with its name for people.
    #[must_use]
    pub fn new(value: impl Into<String>, title: impl Into<String>) -> Self {
        Self { value: value.into(), title: Some(title.into()), extra: Object::new() }
    }

    fn pair(&self) -> (&str, &str) {
        (&self.value, self.title.as_ref().unwrap_or(&self.value))
    }
}
