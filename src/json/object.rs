//! JSON objects: [`Members`] while reading one, [`Object`] to keep one.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{FromJson, Json, JsonError};

/// The members of one JSON object, each still text, to be taken out by name.
///
/// If a name occurs twice, the last one counts, as everywhere in serde_json.
///
/// ```
/// use tinymcp::json::{Json, Members};
///
/// let json = Json::parse(r#"{"title": "Plan", "copies": "2"}"#)?;
/// let mut members = Members::of(json.as_raw())?;
/// assert_eq!(members.required::<String>("title")?, "Plan");
/// assert_eq!(members.required::<u32>("copies")?, 2); // a model wrote the number as a string
/// assert_eq!(members.required::<String>("body").unwrap_err().to_string(), "body: missing");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Splits `raw` into its members.
    ///
    /// # Errors
    /// When `raw` is not an object.
    pub fn of(raw: &'a RawValue) -> Result<Self, JsonError> {
        Self::parse(raw.get()).map_err(|_| JsonError::expected("an object", raw))
    }

    /// Splits the object in `text`; the error tells broken JSON from a value of another kind.
    pub(crate) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<SplitObject<'a>>(text).map(|split| Self(split.0))
    }

    /// Takes the member `name` out.
    pub fn take(&mut self, name: &str) -> Option<&'a RawValue> {
        let at = self.0.iter().rposition(|(key, _)| key == name)?;
        // Not by a swap: of the others, too, the last one counts.
        Some(self.0.remove(at).1)
    }

    /// Reads the member `name`; `null` or a missing member is `None` where `T` allows that.
    ///
    /// # Errors
    /// When it is missing and `T` needs a value, or is not a `T`.
    pub fn required<T: FromJson>(&mut self, name: &str) -> Result<T, JsonError> {
        match self.take(name) {
            Some(raw) => T::from_json(raw).map_err(|e| e.inside(name)),
            None => T::absent().ok_or_else(|| JsonError::new("missing").inside(name)),
        }
    }

    /// Reads the member `name` if it is there, is not `null`, and is a `T`. What has another type is
    /// reported in the log and treated as absent: an optional field must not cost the whole message.
    pub fn lenient<T: FromJson>(&mut self, name: &str) -> Option<T> {
        let raw = self.take(name).filter(|raw| raw.get() != "null")?;
        T::from_json(raw)
            .map_err(|e| log::warn!("ignored an optional field of the wrong type: {}", e.inside(name)))
            .ok()
    }

    /// The names that have not been taken.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_ref())
    }

    /// Everything that has not been taken.
    #[must_use]
    pub fn rest(self) -> Object {
        self.0.into_iter().map(|(key, raw)| (key.into_owned(), Json::from_raw(raw))).collect()
    }

    /// The members in the order they were written in, each name once; none may have been taken before.
    pub(crate) fn in_order(self) -> Vec<(String, &'a RawValue)> {
        let mut places: BTreeMap<_, usize> = BTreeMap::new();
        let mut members: Vec<(String, &'a RawValue)> = Vec::with_capacity(self.0.len());
        for (name, raw) in self.0 {
            match places.get(&name) {
                Some(&at) => members[at] = (name.into_owned(), raw),
                None => {
                    members.push((name.clone().into_owned(), raw));
                    places.insert(name, members.len() - 1);
                }
            }
        }
        members
    }

    /// The value of a member; the last one of its name, as with [`take`](Self::take).
    #[cfg(feature = "http-server")]
    pub(crate) fn find(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, raw)| *raw)
    }

    /// The members as they were written, names that occur twice included.
    #[cfg(feature = "host")]
    pub(crate) fn into_pairs(self) -> Vec<(Cow<'a, str>, &'a RawValue)> {
        self.0
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(key, raw)| (key.as_ref(), *raw))
    }
}

struct SplitObject<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for SplitObject<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Split;
        impl<'de> Visitor<'de> for Split {
            type Value = SplitObject<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(4);
                while let Some(key) = map.next_key_seed(Key)? {
                    members.push((key, map.next_value()?));
                }
                Ok(SplitObject(members))
            }
        }
        deserializer.deserialize_map(Split)
    }
}

/// A member name, borrowed unless it has escapes.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member name")
    }
    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }
    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

/// A JSON object whose values are kept as text: `_meta`, capabilities, and the fields of a message that
/// this version does not know.
///
/// ```
/// use tinymcp::json::Object;
///
/// let mut meta = Object::new();
/// meta.insert("com.example/trace", &42);
/// assert_eq!(meta.get::<u64>("com.example/trace"), Some(42));
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct Object(BTreeMap<String, Json>);

impl Object {
    /// An object without members.
    #[must_use]
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// The value of `name` as a `T`; `None` if it is missing or something else.
    #[must_use]
    pub fn get<T: FromJson>(&self, name: &str) -> Option<T> {
        T::from_json(self.0.get(name)?.as_raw()).ok()
    }

    /// The value of `name` as it is.
    #[must_use]
    pub fn json(&self, name: &str) -> Option<&Json> {
        self.0.get(name)
    }

    /// Sets `name`. A value that cannot be JSON (a map with keys that are not strings) becomes `null`,
    /// which is reported in the log.
    pub fn insert<T: Serialize + ?Sized>(&mut self, name: impl Into<String>, value: &T) {
        let name = name.into();
        let json = Json::new(value).unwrap_or_else(|e| {
            log::warn!("member {name} cannot be JSON and is sent as null: {e}");
            Json::null()
        });
        self.0.insert(name, json);
    }

    /// Takes `name` out.
    pub fn remove(&mut self, name: &str) -> Option<Json> {
        self.0.remove(name)
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many members there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The members in name order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter()).finish()
    }
}

impl FromIterator<(String, Json)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Json)>>(members: I) -> Self {
        // One by one: collecting would bring a sort of its own into every program, 12 kB of it, for a handful of members.
        let mut object = Self::new();
        for (name, value) in members {
            object.0.insert(name, value);
        }
        object
    }
}

impl FromJson for Object {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        Members::of(raw).map(Members::rest)
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(&self.0)
    }
}

/// A JSON object with its members in this order.
pub(crate) struct InOrder<'a, V>(pub(crate) &'a [(String, V)]);

impl<V: Serialize> Serialize for InOrder<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Json::deserialize(deserializer)?;
        Self::from_json(json.as_raw()).map_err(D::Error::custom)
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Self {
        // Names are strings and values are JSON already.
        Self::new(&object).expect("an object serializes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_name_counts_whatever_was_taken_before() {
        let mut members = Members::parse(r#"{"a":0,"b":0,"c":1,"c":2,"d":0}"#).expect("an object");
        for (name, want) in [("a", "0"), ("b", "0"), ("c", "2"), ("c", "1")] {
            assert_eq!(members.take(name).map(RawValue::get), Some(want), "{name}");
        }
        let members = Members::parse(r#"{"a":0,"c":1,"c":2}"#).expect("an object");
        assert_eq!(members.rest().get::<u8>("c"), Some(2));
    }
}
