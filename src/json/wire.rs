//! `wire!` and `string_enum!`: how every protocol type is declared.

/// Declares a wire type: public fields, each with its name on the wire, read by [`FromJson`](super::FromJson) and
/// written by serde.
///
/// - `Option<T>` fields are left out when `None`, accept `null`, and a value of the wrong type counts as
///   absent (with a warning in the log).
/// - `= "name" or default` accepts a missing or `null` member and takes `Default::default()`.
/// - Fields the type does not know are kept in `extra` and written back.
macro_rules! wire {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident {
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
                #[allow(unused_mut)]
                let mut members = $crate::json::Members::of(raw)?;
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
}

/// `Deserialize` by way of [`FromJson`](super::FromJson), so that wire types can stand in users' own serde types.
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

pub(crate) use {deserialize_through_json, member, string_enum, wire};
