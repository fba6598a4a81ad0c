//! Content blocks: what tools, prompts and models say.

use crate::json::{JsonError, Object, wire};

use super::{Icon, ResourceContents, base64};

/// One block of content, told by its member `type`.
///
/// ```
/// use tinymcp::protocol::Content;
///
/// let block = Content::text("done");
/// assert_eq!(serde_json::to_string(&block)?, r#"{"type":"text","text":"done"}"#);
/// assert_eq!(block.as_text(), Some("done"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text(TextContent),
    /// A picture.
    Image(ImageContent),
    /// A sound. From 2025-03-26 on.
    Audio(AudioContent),
    /// The address of a resource. From 2025-06-18 on.
    ResourceLink(ResourceLink),
    /// A resource itself.
    Resource(EmbeddedResource),
    /// A kind this version of the crate does not know, or a known one that lacks what it needs, as it came.
    Unknown(Object),
}

impl Content {
    /// A block of text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// A picture: its bytes in base64, and their type, such as `image/png`.
    #[must_use]
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent::new(data, mime_type))
    }

    /// A sound: its bytes in base64, and their type, such as `audio/wav`.
    #[must_use]
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Audio(AudioContent::new(data, mime_type))
    }

    /// The address of a resource.
    #[must_use]
    pub fn resource_link(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self::ResourceLink(ResourceLink::new(uri, name))
    }

    /// A resource itself.
    #[must_use]
    pub fn resource(resource: impl Into<ResourceContents>) -> Self {
        Self::Resource(EmbeddedResource::new(resource))
    }

    /// The text, if it is a block of text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(content) => Some(&content.text),
            _ => None,
        }
    }

    /// The word in `type`.
    #[must_use]
    pub fn kind(&self) -> String {
        match self {
            Self::Text(_) => "text".to_owned(),
            Self::Image(_) => "image".to_owned(),
            Self::Audio(_) => "audio".to_owned(),
            Self::ResourceLink(_) => "resource_link".to_owned(),
            Self::Resource(_) => "resource".to_owned(),
            Self::Unknown(block) => block.get("type").unwrap_or_default(),
        }
    }
}

/// How blocks are read and written that are told by their member `type`. What is not known, or lacks what it needs, is kept.
macro_rules! blocks {
    ($name:ident { $($variant:ident($content:ident) = $kind:literal),* $(,)? }) => {
        impl $crate::json::FromJson for $name {
            /// A block that is an object is never refused, so that one odd block does not cost the others.
            fn from_json(raw: &::serde_json::value::RawValue) -> Result<Self, $crate::json::JsonError> {
                let members = $crate::json::Members::of(raw)?;
                let kind = members.iter().find(|(name, _)| *name == "type").map_or("", |(_, kind)| kind.get());
                let read = match kind.trim_matches('"') {
                    $( $kind => $content::from_members(members).map(Self::$variant), )*
                    _ => return Ok(Self::Unknown(members.rest())),
                };
                read.or_else(|e| {
                    log::warn!("kept a content block as it came: {e}");
                    $crate::json::Object::from_json(raw).map(Self::Unknown)
                })
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $( Self::$variant(content) => content.serialize(serializer), )*
                    Self::Unknown(block) => block.serialize(serializer),
                }
            }
        }

        $crate::json::wire::deserialize_through_json!($name);

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::text(text)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self::text(text)
            }
        }

        $(
            impl From<$content> for $name {
                fn from(content: $content) -> Self {
                    Self::$variant(content)
                }
            }
        )*
    };
}

pub(super) use blocks;

blocks!(Content {
    Text(TextContent) = "text",
    Image(ImageContent) = "image",
    Audio(AudioContent) = "audio",
    ResourceLink(ResourceLink) = "resource_link",
    Resource(EmbeddedResource) = "resource",
});

wire::string_enum! {
    /// Whom something is for, or who said it.
    pub enum Role {
        /// The person.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}

wire::wire! {
    /// Hints on how to use content.
    #[derive(Default)]
    pub struct Annotations {
        /// Whom it is for.
        pub audience: Option<Vec<Role>> = "audience",
        /// How important it is: 0 can be left out, 1 must be there.
        pub priority: Option<f64> = "priority",
        /// When it last changed, in ISO 8601. From 2025-06-18 on.
        pub last_modified: Option<String> = "lastModified",
    }

    /// A block of text.
    pub struct TextContent as "text" {
        /// The text.
        pub text: String = "text",
        /// Hints.
        pub annotations: Option<Annotations> = "annotations",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// A picture.
    pub struct ImageContent as "image" {
        /// Its bytes in base64.
        pub data: String = "data",
        /// Their MIME type.
        pub mime_type: String = "mimeType",
        /// Hints.
        pub annotations: Option<Annotations> = "annotations",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// A sound. From 2025-03-26 on.
    pub struct AudioContent as "audio" {
        /// Its bytes in base64.
        pub data: String = "data",
        /// Their MIME type.
        pub mime_type: String = "mimeType",
        /// Hints.
        pub annotations: Option<Annotations> = "annotations",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// The address of a resource that may be read or subscribed to. From 2025-06-18 on.
    pub struct ResourceLink as "resource_link" {
        /// Its address.
        pub uri: String = "uri",
        /// Its name for programs.
        pub name: String = "name",
        /// Its name for people.
        pub title: Option<String> = "title",
        /// What it is, for the model.
        pub description: Option<String> = "description",
        /// Its MIME type.
        pub mime_type: Option<String> = "mimeType",
        /// Its size in bytes, before base64.
        pub size: Option<u64> = "size",
        /// How it looks. From 2025-11-25 on.
        pub icons: Option<Vec<Icon>> = "icons",
        /// Hints.
        pub annotations: Option<Annotations> = "annotations",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// A resource itself, inside a message.
    pub struct EmbeddedResource as "resource" {
        /// The resource.
        pub resource: ResourceContents = "resource",
        /// Hints.
        pub annotations: Option<Annotations> = "annotations",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }
}

impl TextContent {
    /// A block of text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), annotations: None, meta: None, extra: Object::new() }
    }
}

macro_rules! encoded {
    ($($name:ident)*) => {$(
        impl $name {
            /// `bytes`, and their MIME type.
            #[must_use]
            pub fn from_bytes(bytes: &[u8], mime_type: impl Into<String>) -> Self {
                Self::new(base64::encode(bytes), mime_type)
            }

            /// Its bytes.
            ///
            /// # Errors
            /// When the data is not base64.
            pub fn bytes(&self) -> Result<Vec<u8>, JsonError> {
                base64::decode(&self.data).map_err(|e| e.inside("data"))
            }

            /// Bytes in base64, and their MIME type.
            #[must_use]
            pub fn new(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
                Self {
                    data: data.into(),
                    mime_type: mime_type.into(),
                    annotations: None,
                    meta: None,
                    extra: Object::new(),
                }
            }
        }
    )*};
}
encoded!(ImageContent AudioContent);

impl ResourceLink {
    /// The address and name of a resource.
    #[must_use]
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            icons: None,
            annotations: None,
            meta: None,
            extra: Object::new(),
        }
    }
}

wire::builders!(ResourceLink {
    /// Sets the name for people.
    with_title => title: String,
    /// Says what it is.
    with_description => description: String,
    /// Sets the MIME type.
    with_mime_type => mime_type: String,
    /// Sets the size in bytes.
    with_size => size: u64,
    /// Sets how it looks.
    with_icons => icons: Vec<Icon>,
});

impl EmbeddedResource {
    /// A resource as a block of content.
    #[must_use]
    pub fn new(resource: impl Into<ResourceContents>) -> Self {
        Self { resource: resource.into(), annotations: None, meta: None, extra: Object::new() }
    }
}

macro_rules! annotated {
    ($($name:ident)*) => {$(
        wire::builders!($name {
            /// Sets hints.
            with_annotations => annotations: Annotations,
            /// Sets the metadata.
            with_meta => meta: Object,
        });
    )*};
}
annotated!(TextContent ImageContent AudioContent ResourceLink EmbeddedResource);

wire::builders!(Annotations {
    /// Sets whom it is for.
    with_audience => audience: Vec<Role>,
    /// Sets how important it is, from 0 to 1.
    with_priority => priority: f64,
    /// Sets when it last changed, in ISO 8601.
    with_last_modified => last_modified: String,
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{FromJson, Json};

    fn read(text: &str) -> Content {
        Content::from_json(Json::parse(text).expect("JSON").as_raw()).expect("content")
    }

    #[test]
    fn blocks_are_told_by_type_and_odd_ones_are_kept() {
        for (text, kind, known) in [
            (r#"{"type":"text","text":"a"}"#, "text", true),
            (r#"{"text":"a","type":"text","annotations":null,"_meta":7}"#, "text", true),
            (r#"{"type":"image","data":"","mimeType":"image/png"}"#, "image", true),
            (r#"{"type":"resource","resource":{"uri":"a:b","blob":"AA=="}}"#, "resource", true),
            (r#"{"type":"resource","resource":{"uri":"a:b"}}"#, "resource", false),
            (r#"{"type":"text"}"#, "text", false),
            (r#"{"type":"text","text":5}"#, "text", false),
            (r#"{"type":"video","url":"x"}"#, "video", false),
            (r#"{"text":"a"}"#, "", false),
        ] {
            let block = read(text);
            assert_eq!(block.kind(), kind, "{text}");
            assert_eq!(!matches!(block, Content::Unknown(_)), known, "{text}");
        }
        let odd = r#"{"text":5,"type":"text"}"#;
        assert_eq!(serde_json::to_string(&read(odd)).expect("JSON"), odd);
    }

    #[test]
    fn unknown_members_of_a_block_are_kept() {
        let text = r#"{"type":"text","text":"a","annotations":{"priority":1.0,"new":1},"later":[2]}"#;
        assert_eq!(serde_json::to_string(&read(text)).expect("JSON"), text);
    }

    #[test]
    fn pictures_and_sounds_are_made_of_bytes() {
        let picture = ImageContent::from_bytes(b"foob", "image/png");
        assert_eq!((picture.data.as_str(), picture.bytes()), ("Zm9vYg==", Ok(b"foob".to_vec())));
        let cut = AudioContent::new("Zm9vY", "audio/wav").bytes();
        assert_eq!(cut.map_err(|e| e.to_string()), Err("data: base64 is cut off".into()));
    }
}
