//! What is in a resource: text or bytes.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::{FromJson, JsonError, Members, Object, wire};

use super::base64;

wire::wire! {
    /// A resource, or part of one, that is text.
    pub struct TextResourceContents {
        /// Its address.
        pub uri: String = "uri",
        /// The text.
        pub text: String = "text",
        /// Its MIME type.
        pub mime_type: Option<String> = "mimeType",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// A resource, or part of one, that is bytes.
    pub struct BlobResourceContents {
        /// Its address.
        pub uri: String = "uri",
        /// The bytes in base64.
        pub blob: String = "blob",
        /// Its MIME type.
        pub mime_type: Option<String> = "mimeType",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }
}

/// A resource or part of one, told by which of `text` and `blob` it has.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ResourceContents {
    /// Text.
    Text(TextResourceContents),
    /// Bytes.
    Blob(BlobResourceContents),
}

impl ResourceContents {
    /// A resource that is text.
    #[must_use]
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Text(TextResourceContents::new(uri, text))
    }

    /// A resource that is bytes, in base64.
    #[must_use]
    pub fn blob(uri: impl Into<String>, blob: impl Into<String>) -> Self {
        Self::Blob(BlobResourceContents::new(uri, blob))
    }

    /// Its address.
    #[must_use]
    pub fn uri(&self) -> &str {
        match self {
            Self::Text(contents) => &contents.uri,
            Self::Blob(contents) => &contents.uri,
        }
    }

    /// Its MIME type.
    #[must_use]
    pub fn mime_type(&self) -> Option<&str> {
        match self {
            Self::Text(contents) => contents.mime_type.as_deref(),
            Self::Blob(contents) => contents.mime_type.as_deref(),
        }
    }
}

impl FromJson for ResourceContents {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        let mut members = Members::of(raw)?;
        // Some servers write both members, and mean the one that is not null.
        for part in ["text", "blob"] {
            if members.iter().any(|(name, value)| name == part && value.get() == "null") {
                members.take(part);
            }
        }
        if members.names().any(|name| name == "text") {
            return TextResourceContents::from_members(members).map(Self::Text);
        }
        BlobResourceContents::from_members(members).map(Self::Blob)
    }
}

impl Serialize for ResourceContents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(contents) => contents.serialize(serializer),
            Self::Blob(contents) => contents.serialize(serializer),
        }
    }
}

wire::deserialize_through_json!(ResourceContents);

impl From<TextResourceContents> for ResourceContents {
    fn from(contents: TextResourceContents) -> Self {
        Self::Text(contents)
    }
}

impl From<BlobResourceContents> for ResourceContents {
    fn from(contents: BlobResourceContents) -> Self {
        Self::Blob(contents)
    }
}

impl TextResourceContents {
    /// The text at an address.
    #[must_use]
    pub fn new(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self { uri: uri.into(), text: text.into(), mime_type: None, meta: None, extra: Object::new() }
    }
}

impl BlobResourceContents {
    /// `bytes` at an address.
    #[must_use]
    pub fn from_bytes(uri: impl Into<String>, bytes: &[u8]) -> Self {
        Self::new(uri, base64::encode(bytes))
    }

    /// The bytes.
    ///
    /// # Errors
    /// When they are not in base64.
    pub fn bytes(&self) -> Result<Vec<u8>, JsonError> {
        base64::decode(&self.blob).map_err(|e| e.inside("blob"))
    }

    /// The bytes at an address, in base64.
    #[must_use]
    pub fn new(uri: impl Into<String>, blob: impl Into<String>) -> Self {
        Self { uri: uri.into(), blob: blob.into(), mime_type: None, meta: None, extra: Object::new() }
    }
}

macro_rules! resource_parts {
    ($($name:ident)*) => {$(
        wire::builders!($name {
            /// Sets the MIME type.
            with_mime_type => mime_type: String,
            /// Sets the metadata.
            with_meta => meta: Object,
        });
    )*};
}
resource_parts!(TextResourceContents BlobResourceContents);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    #[test]
    fn a_blob_that_is_not_base64_is_an_error_only_when_its_bytes_are_wanted() {
        let json = Json::parse(r#"{"uri":"a:b","blob":"?"}"#).expect("JSON");
        let contents = ResourceContents::from_json(json.as_raw()).expect("contents");
        let ResourceContents::Blob(blob) = contents else { panic!("{contents:?}") };
        assert_eq!(blob.bytes().map_err(|e| e.to_string()), Err("blob: byte 0 is not base64".into()));
    }

    #[test]
    fn the_part_that_is_null_is_not_there() {
        for (text, written) in [
            (r#"{"uri":"a:b","text":"c","blob":null}"#, r#"{"uri":"a:b","text":"c"}"#),
            (r#"{"uri":"a:b","text":null,"blob":"AA=="}"#, r#"{"uri":"a:b","blob":"AA=="}"#),
        ] {
            let contents =
                ResourceContents::from_json(Json::parse(text).expect("JSON").as_raw()).expect(text);
            assert_eq!(serde_json::to_string(&contents).expect("JSON"), written);
        }
    }
}
