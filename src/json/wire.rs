//! `wire!` and `string_enum!`: how every protocol type is declared.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::{FromJson, JsonError, Members};

/// Declares a wire type: public fields, each with its name on the wire, read by [`FromJson`] and
/// written by serde.
///
/// - `Option<T>` fields are left out when `None`, accept `null`, and a value of the wrong type counts as
///   absent (with a warning in the log).
/// - `= "name" or default` accepts a missing or `null` member and takes `Default::default()`; `or lenient` does so for
///   a value of the wrong type as well.
/// - `= "name" or null` is for an `Option<Json>` in which an explicit `null` is a value.
/// - `= "name" or texts` is for an `Option<BTreeMap<String, String>>` that is checked, see [`texts`].
/// - `= "name" or present` is for a capability: whatever is not `null` or `false` declares it.
/// - `= "name" or single` is for a `Vec` that is written as its only item if it has just one.
/// - `= "name" or plain` is for an `Option<f64>` that is written without a point if it is a whole number.
/// - `struct Name as "kind"` is told by its member `type`, which is checked when read and written first.
/// - Fields the type does not know are kept in `extra` and written back.
macro_rules! wire {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident $(as $kind:literal)? {
            $( $(#[$fmeta:meta])* pub $field:ident : $ty:ty = $wire:literal $(or $default:ident)? ),* $(,)?
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $( $(#[$fmeta])* pub $field: $ty, )*
            /// Members this version of the crate does not know, kept as they came.
            pub extra: $crate::json::Object,
        }

        impl $crate::json::FromJson for $name {
            fn from_json(raw: &::serde_json::value::RawValue) -> Result<Self, $crate::json::JsonError> {
                Self::from_members($crate::json::Members::of(raw)?)
            }
        }

        impl $name {
            /// Reads an object that has been split already.
            #[allow(unused_mut)]
            pub(crate) fn from_members(
                mut members: $crate::json::Members<'_>,
            ) -> Result<Self, $crate::json::JsonError> {
                $( $crate::json::wire::check_kind(&mut members, $kind)?; )?
                Ok(Self {
                    $( $field: $crate::json::wire::member!(members, $ty, $wire $(, $default)?), )*
                    extra: members.rest(),
                })
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                #[allow(unused_imports)]
                use ::serde::ser::SerializeMap as _;
                #[allow(unused_mut)]
                let mut map = serializer.serialize_map(None)?;
                $( map.serialize_entry("type", $kind)?; )?
                $( if !$crate::json::FromJson::is_absent(&self.$field) {
                    map.serialize_entry($wire, $crate::json::wire::written!(self.$field $(, $default)?))?;
                } )*
                for (name, value) in self.extra.iter() {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }

        $crate::json::wire::deserialize_through_json!($name);
    )*};
}

/// Reads one member in the way its declaration asks for.
macro_rules! member {
    ($members:ident, $ty:ty, $wire:literal) => {
        if <$ty as $crate::json::FromJson>::OPTIONAL {
            match $members.lenient::<$ty>($wire) {
                Some(value) => value,
                None => <$ty as $crate::json::FromJson>::absent()
                    .ok_or_else(|| $crate::json::JsonError::new("missing").inside($wire))?,
            }
        } else {
            $members.required::<$ty>($wire)?
        }
    };
    ($members:ident, $ty:ty, $wire:literal, default) => {
        match $members.take($wire).filter(|raw| raw.get() != "null") {
            Some(raw) => <$ty as $crate::json::FromJson>::from_json(raw).map_err(|e| e.inside($wire))?,
            None => <$ty>::default(),
        }
    };
    ($members:ident, $ty:ty, $wire:literal, lenient) => {
        $members.lenient::<$ty>($wire).unwrap_or_default()
    };
    ($members:ident, $ty:ty, $wire:literal, null) => {
        match $members.take($wire) {
            Some(raw) => Some($crate::json::FromJson::from_json(raw).map_err(|e| e.inside($wire))?),
            None => None,
        }
    };
    ($members:ident, $ty:ty, $wire:literal, texts) => {
        $crate::json::wire::texts(&mut $members, $wire)?
    };
    ($members:ident, $ty:ty, $wire:literal, single) => {
        $crate::json::wire::single(&mut $members, $wire)?
    };
    ($members:ident, $ty:ty, $wire:literal, plain) => {
        $members.lenient::<f64>($wire)
    };
    ($members:ident, $ty:ty, $wire:literal, present) => {
        $crate::json::wire::present(&mut $members, $wire)
    };
}

/// The form in which one member is written.
macro_rules! written {
    ($field:expr, single) => {
        &$crate::json::wire::Single(&$field)
    };
    ($field:expr, plain) => {
        &$crate::json::wire::Plain($field)
    };
    ($field:expr $(, $default:ident)?) => {
        &$field
    };
}

/// A list that may stand on the wire as its only item.
pub(crate) fn single<T: FromJson>(members: &mut Members<'_>, name: &str) -> Result<Vec<T>, JsonError> {
    let raw = members.take(name).ok_or_else(|| JsonError::new("missing").inside(name))?;
    let read = if raw.get().starts_with('[') {
        Vec::from_json(raw)
    } else {
        T::from_json(raw).map(|item| vec![item])
    };
    read.map_err(|e| e.inside(name))
}

/// Written as the item if there is just one, which is what older revisions ask for.
pub(crate) struct Single<'a, T>(pub(crate) &'a [T]);

impl<T: Serialize> Serialize for Single<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            [item] => item.serialize(serializer),
            items => items.serialize(serializer),
        }
    }
}

/// Written as `3` and not as `3.0`, which many a reader does not take for an integer.
pub(crate) struct Plain(pub(crate) Option<f64>);

impl Serialize for Plain {
    #[expect(clippy::cast_possible_truncation, reason = "checked to be a whole number that an i64 holds")]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(n) if n.trunc() == n && n.abs() < 9e15 => serializer.serialize_i64(n as i64),
            n => n.serialize(serializer),
        }
    }
}

/// Takes the member `type` out, which must be `kind`.
pub(crate) fn check_kind(members: &mut Members<'_>, kind: &str) -> Result<(), JsonError> {
    let found = members.required::<String>("type")?;
    if found == kind {
        return Ok(());
    }
    Err(JsonError::new(format!("expected {kind:?}, found {found:?}")).inside("type"))
}

/// A capability. Some languages write an empty object as `[]` or `true`, and mean that it is there.
pub(crate) fn present<T: FromJson + Default>(members: &mut Members<'_>, name: &str) -> Option<T> {
    let raw = members.take(name).filter(|raw| !matches!(raw.get(), "null" | "false"))?;
    Some(T::from_json(raw).unwrap_or_else(|e| {
        log::warn!("took an oddly written capability as an empty one: {}", e.inside(name));
        T::default()
    }))
}

/// A map of texts. A number or boolean is read as its text, since callers forget the quotes, and `null` as none;
/// anything else is an error rather than an argument that nobody gave.
pub(crate) fn texts(
    members: &mut Members<'_>,
    name: &str,
) -> Result<Option<BTreeMap<String, String>>, JsonError> {
    let Some(raw) = members.take(name).filter(|raw| raw.get() != "null") else { return Ok(None) };
    let mut texts = BTreeMap::new();
    for (key, value) in Members::of(raw).map_err(|e| e.inside(name))?.iter() {
        let text = match value.get().as_bytes()[0] {
            b'n' => continue,
            b't' | b'f' | b'-' | b'0'..=b'9' => value.get().to_owned(),
            _ => String::from_json(value).map_err(|e| e.inside(key).inside(name))?,
        };
        texts.insert(key.to_owned(), text);
    }
    Ok(Some(texts))
}

/// Consuming setters of optional fields: `with_title => title: String`.
macro_rules! builders {
    ($name:ident $(<$t:ident>)? { $( $(#[$meta:meta])* $with:ident => $field:ident : $ty:ty ),* $(,)? }) => {
        impl $(<$t>)? $name $(<$t>)? {
            $(
                $(#[$meta])*
                #[must_use]
                pub fn $with(mut self, $field: impl Into<$ty>) -> Self {
                    self.$field = Some($field.into());
                    self
                }
            )*
        }
    };
}

/// `Deserialize` by way of [`FromJson`], so that wire types can stand in users' own serde types.
macro_rules! deserialize_through_json {
    ($name:ident) => {
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let json = <$crate::json::Json as ::serde::Deserialize>::deserialize(deserializer)?;
                $crate::json::FromJson::from_json(json.as_raw()).map_err(::serde::de::Error::custom)
            }
        }
    };
}

/// Declares an enum of strings that keeps values it does not know.
macro_rules! string_enum {
    ($(
        $(#[$meta:meta])*
        pub enum $name:ident { $( $(#[$vmeta:meta])* $variant:ident = $wire:literal ),* $(,)? }
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[$vmeta])* $variant, )*
            /// A value this version of the crate does not know.
            Unknown(String),
        }

        impl $name {
            /// The word on the wire.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self { $( Self::$variant => $wire, )* Self::Unknown(word) => word }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word { $( $wire => Self::$variant, )* _ => Self::Unknown(word.to_owned()) }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl $crate::json::FromJson for $name {
            fn from_json(raw: &::serde_json::value::RawValue) -> Result<Self, $crate::json::JsonError> {
                String::from_json(raw).map(|word| Self::from(word.as_str()))
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        $crate::json::wire::deserialize_through_json!($name);
    )*};
}

pub(crate) use {builders, deserialize_through_json, member, string_enum, wire, written};
