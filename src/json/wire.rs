//! `wire!` and `string_enum!`: how every protocol type is declared.

use std::collections::BTreeMap;

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
                $( if !$crate::json::FromJson::is_absent(&self.$field) { map.serialize_entry($wire, &self.$field)?; } )*
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
    ($members:ident, $ty:ty, $wire:literal, present) => {
        $crate::json::wire::present(&mut $members, $wire)
    };
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

pub(crate) use {builders, deserialize_through_json, member, string_enum, wire};
