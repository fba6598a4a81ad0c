//! Resources: how they are described, read and watched.

use crate::json::{Object, wire};

use super::{
    Annotations, BlobResourceContents, CacheScope, Icon, Listed, Page, RequestState, ResourceContents,
    ResourceLink, ResultType,
};

wire::wire! {
    /// A resource as a server describes it.
    pub struct Resource {
        /// Its address.
        pub uri: String = "uri",
        /// Its name for programs.
        pub name: String = "name",
        /// Its name for people. From 2025-06-18 on.
        pub title: Option<String> = "title",
        /// What it is, for the model.
        pub description: Option<String> = "description",
        /// Its MIME type.
        pub mime_type: Option<String> = "mimeType",
        /// Its size in bytes, before base64.
        pub size: Option<u64> = "size",
        /// Hints.
        pub annotations: Option<Annotations> = "annotations",
        /// How it looks. From 2025-11-25 on.
        pub icons: Option<Vec<Icon>> = "icons",
        /// Metadata. From 2025-06-18 on.
        pub meta: Option<Object> = "_meta",
    }

    /// A kind of resource as a server describes it: an address with places to fill in.
    pub struct ResourceTemplate {
        /// A URI template by RFC 6570.
        pub uri_template: String = "uriTemplate",
        /// Its name for programs.
        pub name: String = "name",
        /// Its name for people. From 2025-06-18 on.
        pub title: Option<String> = "title",
        /// What such resources are, for the model.
        pub description: Option<String> = "description",
        /// The MIME type, if it is the same for all of them.
        pub mime_type: Option<String> = "mimeType",
        /// Hints.
        pub annotations: Option<Annotations> = "annotations",
        /// How it looks. From 2025-11-25 on.
        pub icons: Option<Vec<Icon>> = "icons",
        /// Metadata. From 2025-06-18 on.
        pub meta: Option<Object> = "_meta",
    }

    /// Parameters of `resources/read`.
    pub struct ReadResourceParams {
        /// The address.
        pub uri: String = "uri",
        /// Answers to what the server asked in an earlier round, by key. From 2026-07-28 on.
        pub input_responses: Option<Object> = "inputResponses",
        /// What the server wanted back from an earlier round. From 2026-07-28 on.
        pub request_state: Option<RequestState> = "requestState",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// Result of `resources/read`.
    pub struct ReadResourceResult {
        /// The resource, or its parts, or what is in it if it is a folder.
        pub contents: Vec<ResourceContents> = "contents",
        /// How long the result may be cached, in milliseconds. From 2026-07-28 on.
        pub ttl_ms: Option<u64> = "ttlMs",
        /// Who may cache it. From 2026-07-28 on.
        pub cache_scope: Option<CacheScope> = "cacheScope",
        /// That it is complete. From 2026-07-28 on.
        pub result_type: Option<ResultType> = "resultType",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// Parameters of `resources/subscribe`, up to 2025-11-25.
    pub struct SubscribeParams {
        /// The address of the resource to be told about.
        pub uri: String = "uri",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// Parameters of `resources/unsubscribe`, up to 2025-11-25.
    pub struct UnsubscribeParams {
        /// The address of the resource not to be told about any more.
        pub uri: String = "uri",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// Parameters of `notifications/resources/updated`.
    pub struct ResourceUpdatedParams {
        /// The address of the resource that changed. It may lie below the one subscribed to.
        pub uri: String = "uri",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }
}

/// Result of `resources/list`: one page of resources.
pub type ListResourcesResult = Page<Resource>;

/// Result of `resources/templates/list`: one page of templates.
pub type ListResourceTemplatesResult = Page<ResourceTemplate>;

impl Listed for Resource {
    const MEMBER: &'static str = "resources";
    const KEY: &'static str = "uri";

    fn key(&self) -> &str {
        &self.uri
    }
}

impl Listed for ResourceTemplate {
    const MEMBER: &'static str = "resourceTemplates";
    const KEY: &'static str = "uriTemplate";

    fn key(&self) -> &str {
        &self.uri_template
    }
}

impl Resource {
    /// A resource by address and name.
    #[must_use]
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            annotations: None,
            icons: None,
            meta: None,
            extra: Object::new(),
        }
    }
}

wire::builders!(Resource {
    /// Sets the size in bytes.
    with_size => size: u64,
});

impl From<Resource> for ResourceLink {
    fn from(resource: Resource) -> Self {
        Self {
            uri: resource.uri,
            name: resource.name,
            title: resource.title,
            description: resource.description,
            mime_type: resource.mime_type,
            size: resource.size,
            icons: resource.icons,
            annotations: resource.annotations,
            meta: resource.meta,
            extra: resource.extra,
        }
    }
}

impl ResourceTemplate {
    /// A kind of resource by the template of its address, and its name.
    #[must_use]
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri_template: uri_template.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            annotations: None,
            icons: None,
            meta: None,
            extra: Object::new(),
        }
    }
}

macro_rules! described {
    ($($name:ident)*) => {$(
        impl $name {
            /// The name to show to people: the title, else the name.
            #[must_use]
            pub fn display_name(&self) -> &str {
                self.title.as_deref().unwrap_or(&self.name)
            }
        }

        wire::builders!($name {
            /// Sets the name for people.
            with_title => title: String,
            /// Says what it is.
            with_description => description: String,
            /// Sets the MIME type.
            with_mime_type => mime_type: String,
            /// Sets hints.
            with_annotations => annotations: Annotations,
            /// Sets how it looks.
            with_icons => icons: Vec<Icon>,
            /// Sets the metadata.
            with_meta => meta: Object,
        });
    )*};
}
described!(Resource ResourceTemplate);

impl ReadResourceParams {
    /// Asks for the resource at an address.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), input_responses: None, request_state: None, meta: None, extra: Object::new() }
    }
}

wire::builders!(ReadResourceParams {
    /// Adds the answers to an earlier round's questions.
    with_input_responses => input_responses: Object,
    /// Adds what the server wanted back from an earlier round.
    with_request_state => request_state: RequestState,
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl ReadResourceResult {
    /// A result that is `contents`.
    #[must_use]
    pub fn new(contents: Vec<ResourceContents>) -> Self {
        Self {
            contents,
            ttl_ms: None,
            cache_scope: None,
            result_type: None,
            meta: None,
            extra: Object::new(),
        }
    }

    /// A result that is one text.
    #[must_use]
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(vec![ResourceContents::text(uri, text)])
    }

    /// A result that is bytes.
    ///
    /// ```
    /// use tinymcp::protocol::{ReadResourceResult, ResourceContents};
    ///
    /// let read = ReadResourceResult::blob("file:///a.bin", &[0, 1, 2]);
    /// let ResourceContents::Blob(blob) = &read.contents[0] else { panic!("a blob") };
    /// assert_eq!((blob.blob.as_str(), blob.bytes()?), ("AAEC", vec![0, 1, 2]));
    /// # Ok::<(), tinymcp::json::JsonError>(())
    /// ```
    #[must_use]
    pub fn blob(uri: impl Into<String>, bytes: &[u8]) -> Self {
        Self::new(vec![BlobResourceContents::from_bytes(uri, bytes).into()])
    }

    /// All its text, parts parted by line breaks.
    #[must_use]
    pub fn text_content(&self) -> String {
        let texts = self.contents.iter().filter_map(|part| match part {
            ResourceContents::Text(part) => Some(part.text.as_str()),
            ResourceContents::Blob(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

wire::builders!(ReadResourceResult {
    /// Sets how long the result may be cached, in milliseconds.
    with_ttl_ms => ttl_ms: u64,
    /// Sets who may cache it.
    with_cache_scope => cache_scope: CacheScope,
    /// Sets the metadata.
    with_meta => meta: Object,
});

macro_rules! addressed {
    ($($name:ident)*) => {$(
        impl $name {
            /// About the resource at an address.
            #[must_use]
            pub fn new(uri: impl Into<String>) -> Self {
                Self { uri: uri.into(), meta: None, extra: Object::new() }
            }
        }

        wire::builders!($name {
            /// Sets the metadata.
            with_meta => meta: Object,
        });
    )*};
}
addressed!(SubscribeParams UnsubscribeParams ResourceUpdatedParams);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{FromJson, Json};

    fn read<T: FromJson>(text: &str) -> Result<T, String> {
        T::from_json(Json::parse(text).expect("JSON").as_raw()).map_err(|e| e.to_string())
    }

    #[test]
    fn odd_members_of_a_resource_cost_themselves_only() {
        let plain = Resource::new("a:b", "b");
        for text in [
            r#"{"uri":"a:b","name":"b"}"#,
            r#"{"uri":"a:b","name":"b","title":null,"description":null,"size":null,"annotations":null}"#,
            r#"{"uri":"a:b","name":"b","title":1,"mimeType":[],"size":"big","icons":"x","_meta":false}"#,
        ] {
            assert_eq!(read::<Resource>(text), Ok(plain.clone()), "{text}");
        }
        assert_eq!(read(r#"{"uri":"a:b","name":"b","size":3.0}"#), Ok(plain.with_size(3_u64)));
        assert_eq!(
            read::<Resource>(r#"{"uri":5,"name":"b"}"#),
            Err("uri: expected a string, found 5".into())
        );
    }

    #[test]
    fn contents_are_told_by_what_they_have() {
        let text = ReadResourceResult::text("a:b", "c");
        let blob = ReadResourceResult::blob("a:b", b"foob");
        for (json, expected) in [
            (r#"{"contents":[{"uri":"a:b","text":"c"}]}"#, Ok(text.clone())),
            (
                r#"{"contents":[{"uri":"a:b","text":"c","mimeType":null}],"ttlMs":"soon","cacheScope":1}"#,
                Ok(text),
            ),
            (r#"{"contents":[{"uri":"a:b","text":null,"blob":"Zm9vYg=="}]}"#, Ok(blob)),
            (r#"{"contents":[]}"#, Ok(ReadResourceResult::new(vec![]))),
            (r#"{"contents":[{"uri":"a:b"}]}"#, Err("contents[0].blob: missing".to_owned())),
            (r#"{"contents":[{"text":"c"}]}"#, Err("contents[0].uri: missing".to_owned())),
            ("{}", Err("contents: missing".to_owned())),
        ] {
            assert_eq!(read::<ReadResourceResult>(json), expected, "{json}");
        }
    }

    #[test]
    fn a_resource_is_linked_with_all_it_says_of_itself() {
        let text = r#"{"uri":"a:b","name":"b","title":"B","size":1,"later":1}"#;
        let link = ResourceLink::from(read::<Resource>(text).expect("a resource"));
        let linked = serde_json::to_string(&link).expect("JSON");
        assert_eq!(linked, text.replace('{', r#"{"type":"resource_link","#));
    }
}
