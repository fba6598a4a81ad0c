//! `data!`: structs and enums as parameter and result types.

/// Declares structs and enums that tools take or return.
///
/// They are ordinary types: attributes, derives and visibility pass through. [`FromJson`](crate::json::FromJson),
/// serde's `Serialize` and `Deserialize`, [`Parameter`](crate::tool::Parameter) and
/// [`ToolOutput`](crate::tool::ToolOutput) are added.
///
/// ```
/// use tinymcp::tool::{Schema, ToolOutput};
/// use tinymcp::{data, json::{FromJson, Json}};
///
/// data! {
///     /// How urgent it is
///     #[derive(Debug, Clone, Copy, PartialEq)]
///     pub enum Priority {
///         Low as "low",
///         /// Wakes somebody up
///         High as "high",
///     }
///
///     #[derive(Debug, PartialEq)]
///     pub struct Task {
///         /// What is to be done
///         pub title: String,
///         pub priority: Priority = Priority::Low,
///         pub due as "dueDate": Option<String>,
///         /// Smaller tasks
///         pub parts: Vec<Task> = vec![],
///     }
///
///     /// Where to look
///     #[derive(Debug)]
///     pub enum Place {
///         Anywhere as "anywhere",
///         Near as "near" { city: String, radius_km: f64 = 10.0 },
///     }
/// }
///
/// let task = Task::from_json(Json::parse(r#"{"title": "write", "priority": "high"}"#)?.as_raw())?;
/// assert_eq!((task.priority, &task.due), (Priority::High, &None));
/// assert_eq!(Json::new(&task)?.as_str(), r#"{"title":"write","priority":"high","parts":[]}"#);
///
/// let near = Place::from_json(Json::parse(r#"{"type": "near", "city": "Ulm"}"#)?.as_raw())?;
/// assert!(matches!(near, Place::Near { radius_km: 10.0, .. }));
///
/// let error = Task::from_json(Json::parse(r#"{"title": "write", "priority": "max"}"#)?.as_raw()).unwrap_err();
/// assert_eq!(error.to_string(), r#"priority: expected one of low, high, found "max""#);
///
/// // Used as a tool's result, a `Task` is structured content with an output schema.
/// assert!(Task::output_schema().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// - A struct's field is required unless its type is an `Option` or it has a default. `null` counts as absent.
/// - A variant's name is the word on the wire, unless `as "word"` gives another.
/// - An enum whose variants have fields is an object with the variant's name in the member `type`.
/// - Nested types stand in place in the schema; a type that contains itself becomes a `$ref`.
#[macro_export]
macro_rules! data {
    () => {};
    (
        $(#[$($meta:tt)*])*
        $vis:vis struct $name:ident {
            $(
                $(#[$($fmeta:tt)*])*
                $fvis:vis $field:ident $(as $wire:literal)? : $ty:ty $(= $default:expr)?
            ),* $(,)?
        }
        $($rest:tt)*
    ) => {
        $(#[$($meta)*])*
        $vis struct $name { $( $(#[$($fmeta)*])* $fvis $field: $ty, )* }

        impl $crate::json::FromJson for $name {
            fn from_json(
                raw: &$crate::__private::RawValue,
            ) -> ::core::result::Result<Self, $crate::json::JsonError> {
                $crate::__private::read_object(raw, |_members| {
                    ::core::result::Result::Ok(Self {
                        $(
                            $field: $crate::__private::read_field(
                                _members,
                                $crate::__name!($field $(as $wire)?),
                                || $crate::__default!($($default)?),
                            )?,
                        )*
                    })
                })
            }
        }

        impl $crate::__private::serde::Serialize for $name {
            fn serialize<S: $crate::__private::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                #[allow(unused_mut)]
                let mut map = $crate::__private::serde::Serializer::serialize_map(
                    serializer,
                    ::core::option::Option::None,
                )?;
                $(
                    $crate::__private::write_field(
                        &mut map,
                        $crate::__name!($field $(as $wire)?),
                        &self.$field,
                    )?;
                )*
                $crate::__private::serde::ser::SerializeMap::end(map)
            }
        }

        impl $crate::tool::Parameter for $name {
            fn schema(scope: &mut $crate::tool::SchemaScope) -> $crate::tool::Schema {
                scope.named::<Self>(::core::stringify!($name), |_scope| {
                    #[allow(unused_mut)]
                    let mut object = $crate::__private::ObjectSchema::default();
                    $(
                        object.property::<$ty>(
                            _scope,
                            $crate::__name!($field $(as $wire)?),
                            &[$( $crate::__doc!($($fmeta)*) ),*],
                            $crate::__default!($($default)?),
                        );
                    )*
                    object.finish(&[$( $crate::__doc!($($meta)*) ),*])
                })
            }
        }

        impl $crate::tool::ToolOutput for $name {
            fn output_schema() -> ::core::option::Option<$crate::json::Json> {
                ::core::option::Option::Some($crate::tool::Schema::root::<Self>().to_json())
            }
            fn into_result(
                self,
            ) -> ::core::result::Result<$crate::protocol::CallToolResult, $crate::tool::ToolError> {
                $crate::__private::structured(&self)
            }
        }

        $crate::__deserialize!($name);
        $crate::data! { $($rest)* }
    };
    (
        $(#[$($meta:tt)*])*
        $vis:vis enum $name:ident {
            $( $(#[$($vmeta:tt)*])* $variant:ident $(as $wire:literal)? ),* $(,)?
        }
        $($rest:tt)*
    ) => {
        $(#[$($meta)*])*
        $vis enum $name { $( $(#[$($vmeta)*])* $variant, )* }

        impl $crate::json::FromJson for $name {
            fn from_json(
                raw: &$crate::__private::RawValue,
            ) -> ::core::result::Result<Self, $crate::json::JsonError> {
                $crate::__private::read_word(
                    raw,
                    [$( ($crate::__name!($variant $(as $wire)?), Self::$variant) ),*],
                )
            }
        }

        impl $crate::__private::serde::Serialize for $name {
            fn serialize<S: $crate::__private::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(match *self {
                    $( Self::$variant => $crate::__name!($variant $(as $wire)?), )*
                })
            }
        }

        impl $crate::tool::Parameter for $name {
            fn schema(_: &mut $crate::tool::SchemaScope) -> $crate::tool::Schema {
                $crate::__private::word_schema(
                    &[$( $crate::__doc!($($meta)*) ),*],
                    &[$( ($crate::__name!($variant $(as $wire)?), &[$( $crate::__doc!($($vmeta)*) ),*]) ),*],
                )
            }
        }

        impl $crate::tool::ToolOutput for $name {
            fn into_result(
                self,
            ) -> ::core::result::Result<$crate::protocol::CallToolResult, $crate::tool::ToolError> {
                ::core::result::Result::Ok($crate::protocol::CallToolResult::text(match self {
                    $( Self::$variant => $crate::__name!($variant $(as $wire)?), )*
                }))
            }
        }

        $crate::__deserialize!($name);
        $crate::data! { $($rest)* }
    };
    (
        $(#[$($meta:tt)*])*
        $vis:vis enum $name:ident {
            $(
                $(#[$($vmeta:tt)*])*
                $variant:ident $(as $wire:literal)? $({
                    $(
                        $(#[$($fmeta:tt)*])*
                        $field:ident $(as $fwire:literal)? : $ty:ty $(= $default:expr)?
                    ),* $(,)?
                })?
            ),* $(,)?
        }
        $($rest:tt)*
    ) => {
        $(#[$($meta)*])*
        $vis enum $name {
            $( $(#[$($vmeta)*])* $variant $({ $( $(#[$($fmeta)*])* $field: $ty, )* })?, )*
        }

        impl $crate::json::FromJson for $name {
            fn from_json(
                raw: &$crate::__private::RawValue,
            ) -> ::core::result::Result<Self, $crate::json::JsonError> {
                $crate::__private::read_object(raw, |members| {
                    let known = [$( $crate::__name!($variant $(as $wire)?) ),*];
                    let tag = known[$crate::__private::read_tag(members, &known)?];
                    $(
                        if tag == $crate::__name!($variant $(as $wire)?) {
                            return ::core::result::Result::Ok(Self::$variant $({
                                $(
                                    $field: $crate::__private::read_field(
                                        members,
                                        $crate::__name!($field $(as $fwire)?),
                                        || $crate::__default!($($default)?),
                                    )?,
                                )*
                            })?);
                        }
                    )*
                    // Not reached: the tag is one of them.
                    ::core::result::Result::Err($crate::json::JsonError::new("unknown type"))
                })
            }
        }

        impl $crate::__private::serde::Serialize for $name {
            fn serialize<S: $crate::__private::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                let mut map = $crate::__private::serde::Serializer::serialize_map(
                    serializer,
                    ::core::option::Option::None,
                )?;
                match self {
                    $(
                        Self::$variant $({ $($field),* })? => {
                            $crate::__private::serde::ser::SerializeMap::serialize_entry(
                                &mut map,
                                "type",
                                $crate::__name!($variant $(as $wire)?),
                            )?;
                            $($(
                                $crate::__private::write_field(
                                    &mut map,
                                    $crate::__name!($field $(as $fwire)?),
                                    $field,
                                )?;
                            )*)?
                        }
                    )*
                }
                $crate::__private::serde::ser::SerializeMap::end(map)
            }
        }

        impl $crate::tool::Parameter for $name {
            fn schema(scope: &mut $crate::tool::SchemaScope) -> $crate::tool::Schema {
                scope.named::<Self>(::core::stringify!($name), |_scope| {
                    let mut variants = $crate::__private::VariantsSchema::default();
                    $(
                        variants.variant(
                            $crate::__name!($variant $(as $wire)?),
                            &[$( $crate::__doc!($($vmeta)*) ),*],
                            |_object| {
                                $($(
                                    _object.property::<$ty>(
                                        _scope,
                                        $crate::__name!($field $(as $fwire)?),
                                        &[$( $crate::__doc!($($fmeta)*) ),*],
                                        $crate::__default!($($default)?),
                                    );
                                )*)?
                            },
                        );
                    )*
                    variants.finish(&[$( $crate::__doc!($($meta)*) ),*])
                })
            }
        }

        impl $crate::tool::ToolOutput for $name {
            fn output_schema() -> ::core::option::Option<$crate::json::Json> {
                ::core::option::Option::Some($crate::__private::outline(
                    &[$( $crate::__name!($variant $(as $wire)?) ),*],
                    &[$( $crate::__doc!($($meta)*) ),*],
                ))
            }
            fn into_result(
                self,
            ) -> ::core::result::Result<$crate::protocol::CallToolResult, $crate::tool::ToolError> {
                $crate::__private::structured(&self)
            }
        }

        $crate::__deserialize!($name);
        $crate::data! { $($rest)* }
    };
    ($($other:tt)*) => {
        ::core::compile_error!(
            "expected `struct Name { field: Type, other: Type = default }` or `enum Name { A, B as \"b\" }`; \
             no generics, tuple structs or tuple variants"
        );
    };
}

/// The text of a doc comment; other attributes have none.
#[doc(hidden)]
#[macro_export]
macro_rules! __doc {
    (doc = $doc:expr) => {
        $doc
    };
    ($($other:tt)*) => {
        ""
    };
}

/// `Deserialize` by way of `FromJson`.
#[doc(hidden)]
#[macro_export]
macro_rules! __deserialize {
    ($name:ident) => {
        impl<'de> $crate::__private::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::__private::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                let json =
                    <$crate::json::Json as $crate::__private::serde::Deserialize>::deserialize(deserializer)?;
                $crate::json::FromJson::from_json(json.as_raw())
                    .map_err($crate::__private::serde::de::Error::custom)
            }
        }
    };
}
