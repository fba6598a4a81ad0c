//! [`Check`]: the small check of arguments for tools whose schema comes at run time.
//!
//! Knows `type`, `required`, `properties`, `additionalProperties`, `items`, `enum` and `const`; everything else in a
//! schema is left to the tool. It also helps where models are sloppy, by the schema's word: strings
//! become the numbers, booleans, lists and objects asked for, `30.0` an integer, and `null` for a
//! member that is not required is left out.
//!
//! **Invariant:** what needs no help passes with its exact text.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::Arguments;
use crate::json::{FromJson, Json, JsonError, Members, nested};

/// A schema, as far as it is checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Check {
    /// Empty: any.
    types: Vec<Kind>,
    words: Option<Vec<Value>>,
    properties: BTreeMap<String, Check>,
    required: Vec<String>,
    additional: Additional,
    items: Option<Box<Check>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
enum Additional {
    #[default]
    Any,
    Denied,
    Like(Box<Check>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::String,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => return None,
        })
    }

    /// With its article, for error messages.
    fn described(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "a list",
            Self::Object => "an object",
        }
    }

    /// Whether `text`, which is JSON, is of this kind.
    fn fits(self, text: &str) -> bool {
        match self {
            Self::Null => text == "null",
            Self::Boolean => matches!(text, "true" | "false"),
            // `30.0` is an integer to JSON Schema, but few readers take it for one: that is coerced.
            Self::Integer => Self::Number.fits(text) && !text.contains(['.', 'e', 'E']),
            Self::Number => text.starts_with(|c: char| c == '-' || c.is_ascii_digit()),
            Self::String => text.starts_with('"'),
            Self::Array => text.starts_with('['),
            Self::Object => text.starts_with('{'),
        }
    }

    /// `raw` turned into this kind.
    fn coerce(self, raw: &RawValue) -> Option<String> {
        let is_string = Self::String.fits(raw.get());
        match self {
            Self::Integer => i128::from_json(raw).ok().map(|n| n.to_string()),
            _ if !is_string || self == Self::String => None,
            _ => {
                let inner = String::from_json(raw).ok()?;
                let inner = Json::parse(inner.trim()).ok()?;
                self.fits(inner.as_str()).then(|| inner.to_string())
            }
        }
    }
}

impl Check {
    /// Reads a schema. Parts it does not understand, or that lie too deep, check nothing.
    pub(crate) fn compile(schema: &RawValue) -> Self {
        nested(|| Self::read(schema)).unwrap_or_default()
    }

    fn read(schema: &RawValue) -> Self {
        let Ok(mut members) = Members::of(schema) else {
            return Self::default();
        };
        let types = match members.take("type") {
            Some(raw) if raw.get().starts_with('[') => Vec::<String>::from_json(raw).unwrap_or_default(),
            Some(raw) => String::from_json(raw).into_iter().collect(),
            None => Vec::new(),
        };
        // A type nobody knows makes the whole list useless.
        let types = types.iter().map(|name| Kind::named(name)).collect::<Option<_>>().unwrap_or_default();
        let words = match (members.take("enum"), members.take("const")) {
            (Some(words), _) => Vec::from_json(words).ok(),
            (None, Some(word)) => Value::from_json(word).ok().map(|word| vec![word]),
            (None, None) => None,
        };
        let properties = members.take("properties").and_then(|raw| Members::of(raw).ok());
        let properties = properties.iter().flat_map(Members::iter);
        let additional = match members.take("additionalProperties") {
            Some(raw) if raw.get() == "false" && members.take("patternProperties").is_none() => {
                Additional::Denied
            }
            Some(raw) if raw.get().starts_with('{') => Additional::Like(Box::new(Self::compile(raw))),
            _ => Additional::Any,
        };
        Self {
            types,
            words,
            properties: properties.map(|(name, raw)| (name.to_owned(), Self::compile(raw))).collect(),
            required: members.take("required").and_then(|raw| Vec::from_json(raw).ok()).unwrap_or_default(),
            additional,
            items: members.take("items").map(|raw| Box::new(Self::compile(raw))),
        }
    }

    /// Compares `arguments` with the schema.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub(crate) fn apply<'a>(&self, arguments: Arguments<'a>) -> Result<Arguments<'a>, Vec<JsonError>> {
        let mut problems = Vec::new();
        let changed = match self.value(arguments.as_raw(), &mut problems) {
            Cow::Borrowed(_) => None,
            Cow::Owned(text) => Some(text),
        };
        if !problems.is_empty() {
            return Err(problems);
        }
        match changed {
            None => Ok(arguments),
            Some(text) => match Arguments::from_text(&text) {
                Ok(arguments) => Ok(arguments.into_owned()),
                Err(e) => Err(vec![JsonError::new(e.to_string())]),
            },
        }
    }

    /// `arguments` after leniency, for somebody else to judge.
    #[cfg(feature = "validation")]
    pub(crate) fn mend<'a>(&self, arguments: Arguments<'a>) -> Arguments<'a> {
        let mended = match self.value(arguments.as_raw(), &mut Vec::new()) {
            Cow::Borrowed(_) => None,
            Cow::Owned(text) => Arguments::from_text(&text).map(Arguments::into_owned).ok(),
        };
        mended.unwrap_or(arguments)
    }

    /// The text of `raw` after leniency.
    fn value<'a>(&self, raw: &'a RawValue, problems: &mut Vec<JsonError>) -> Cow<'a, str> {
        let text = raw.get();
        if !self.types.is_empty() && !self.types.iter().any(|kind| kind.fits(text)) {
            // What a string spells is looked at again: a list in a string may hold numbers in strings.
            return match self.types.iter().find_map(|kind| kind.coerce(raw)) {
                Some(text) => match serde_json::from_str(&text) {
                    Ok(raw) => Cow::Owned(self.value(raw, problems).into_owned()),
                    Err(_) => Cow::Owned(text),
                },
                None => {
                    let kinds: Vec<_> = self.types.iter().map(|kind| kind.described()).collect();
                    problems.push(JsonError::expected(&kinds.join(" or "), raw));
                    Cow::Borrowed(text)
                }
            };
        }
        if let Some(words) = &self.words {
            if !Value::from_json(raw).is_ok_and(|value| words.contains(&value)) {
                let words: Vec<_> = words.iter().map(ToString::to_string).collect();
                problems.push(JsonError::expected(&format!("one of {}", words.join(", ")), raw));
            }
        }
        match text.as_bytes().first() {
            Some(b'{') => self.object(raw, problems),
            Some(b'[') => self.list(raw, problems),
            _ => Cow::Borrowed(text),
        }
    }

    fn object<'a>(&self, raw: &'a RawValue, problems: &mut Vec<JsonError>) -> Cow<'a, str> {
        let Ok(members) = Members::of(raw) else {
            return Cow::Borrowed(raw.get());
        };
        let mut kept = Vec::new();
        let mut changed = false;
        for (name, raw) in members.iter() {
            let check = match (self.properties.get(name), &self.additional) {
                (Some(check), _) => check,
                (None, Additional::Like(check)) => check,
                (None, Additional::Any) => {
                    kept.push((name, Cow::Borrowed(raw.get())));
                    continue;
                }
                (None, Additional::Denied) => {
                    problems.push(JsonError::new("unknown argument").inside(name));
                    kept.push((name, Cow::Borrowed(raw.get())));
                    continue;
                }
            };
            if raw.get() == "null" && !check.allows_null() && !self.required.iter().any(|r| r == name) {
                changed = true;
                continue;
            }
            let before = problems.len();
            let value = check.value(raw, problems);
            rename(problems, before, |e| e.inside(name));
            changed |= matches!(value, Cow::Owned(_));
            kept.push((name, value));
        }
        for name in &self.required {
            if !members.names().any(|given| given == name) {
                problems.push(JsonError::new("missing").inside(name));
            }
        }
        if !changed {
            return Cow::Borrowed(raw.get());
        }
        let members: Vec<_> =
            kept.iter().map(|(name, value)| format!("{}:{value}", Json::from(*name))).collect();
        Cow::Owned(format!("{{{}}}", members.join(",")))
    }

    fn list<'a>(&self, raw: &'a RawValue, problems: &mut Vec<JsonError>) -> Cow<'a, str> {
        let (Some(check), Ok(items)) = (&self.items, serde_json::from_str::<Vec<&RawValue>>(raw.get()))
        else {
            return Cow::Borrowed(raw.get());
        };
        let mut checked = Vec::with_capacity(items.len());
        for (index, raw) in items.into_iter().enumerate() {
            let before = problems.len();
            checked.push(check.value(raw, problems));
            rename(problems, before, |e| e.at(index));
        }
        if checked.iter().all(|value| matches!(value, Cow::Borrowed(_))) {
            return Cow::Borrowed(raw.get());
        }
        Cow::Owned(format!("[{}]", checked.join(",")))
    }

    fn allows_null(&self) -> bool {
        let by_word = || self.words.as_ref().is_none_or(|words| words.contains(&Value::Null));
        (self.types.is_empty() || self.types.contains(&Kind::Null)) && by_word()
    }
}

/// Puts the place around the problems found since `before`.
fn rename(problems: &mut [JsonError], before: usize, place: impl Fn(JsonError) -> JsonError) {
    for problem in &mut problems[before..] {
        *problem = place(problem.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arguments after the check, or what is wrong with them.
    fn check(schema: &str, arguments: &str) -> Result<String, String> {
        let schema = Json::parse(schema).expect("a schema");
        let arguments = Arguments::from_text(arguments).expect("arguments");
        match Check::compile(schema.as_raw()).apply(arguments) {
            Ok(arguments) => Ok(arguments.as_str().to_owned()),
            Err(problems) => Err(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
        }
    }

    const SCHEMA: &str = r#"{
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "x": {"type": "number"},
            "b": {"type": "boolean"},
            "s": {"type": "string", "enum": ["a", "b"]},
            "list": {"type": "array", "items": {"type": "integer"}},
            "o": {"type": "object", "properties": {"m": {"type": "integer"}}, "required": ["m"], "additionalProperties": false},
            "z": {"type": ["string", "null"]},
            "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
            "any": {}
        }
    }"#;

    #[test]
    fn what_fits_passes_with_its_exact_text() {
        for text in [
            r#"{ "n": 1000000000000000000000000000000, "any": 1e400 }"#,
            r#"{"x":1.50,"list":[1, 2],"o":{"m":-1},"z":null,"any":null,"more":[1]}"#,
            r#"{"s":"a","map":{"k":true}}"#,
            "{}",
        ] {
            assert_eq!(check(SCHEMA, text).as_deref(), Ok(text));
        }
    }

    #[test]
    fn sloppy_values_become_what_the_schema_asks_for() {
        for (given, want) in [
            (r#"{"n":"30"}"#, r#"{"n":30}"#),
            (r#"{"n":30.0,"any":1e400}"#, r#"{"n":30,"any":1e400}"#),
            (r#"{"n":null,"s":null}"#, "{}"),
            (r#"{"b":"true"}"#, r#"{"b":true}"#),
            (r#"{"x":"1.5"}"#, r#"{"x":1.5}"#),
            (r#"{"list":"[1, \"2\"]"}"#, r#"{"list":[1,2]}"#),
            (r#"{"o":"{\"m\":\"1\"}"}"#, r#"{"o":{"m":1}}"#),
            (r#"{"z":"null"}"#, r#"{"z":"null"}"#),
            (r#"{"map":{"k":"false","l":null}}"#, r#"{"map":{"k":false}}"#),
        ] {
            assert_eq!(check(SCHEMA, given).as_deref(), Ok(want), "{given}");
        }
    }

    #[test]
    fn problems_are_told_all_at_once() {
        for (given, want) in [
            (
                r#"{"n":"many","b":1}"#,
                r#"n: expected an integer, found "many"; b: expected a boolean, found 1"#,
            ),
            (r#"{"n":1.5}"#, "n: expected an integer, found 1.5"),
            (r#"{"s":"c"}"#, r#"s: expected one of "a", "b", found "c""#),
            (r#"{"s":5}"#, "s: expected a string, found 5"),
            (r#"{"list":[1,"x"]}"#, r#"list[1]: expected an integer, found "x""#),
            (r#"{"o":{"q":1}}"#, "o.q: unknown argument; o.m: missing"),
            (r#"{"o":{"m":null}}"#, "o.m: expected an integer, found null"),
            (r#"{"z":5}"#, "z: expected a string or null, found 5"),
        ] {
            assert_eq!(check(SCHEMA, given), Err(want.to_owned()), "{given}");
        }
    }

    #[test]
    fn what_is_not_understood_checks_nothing() {
        for schema in
            ["{}", r#"{"type":"thing"}"#, r##"{"properties":{"n":true,"o":{"$ref":"#/$defs/O"}}}"##, "true"]
        {
            assert_eq!(check(schema, r#"{"n":1,"o":2}"#).as_deref(), Ok(r#"{"n":1,"o":2}"#), "{schema}");
        }
    }
}
