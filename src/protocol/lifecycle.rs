//! Who talks to whom: the `initialize` handshake, `server/discover`, and the members that requests and results of
//! many methods share.

use crate::json::{Object, wire};

use super::{ClientCapabilities, ProtocolVersion, ServerCapabilities};

wire::wire! {
    /// Which software a client or server is. Self-reported: for display and logs, not for decisions. So what is
    /// missing or unreadable is empty, and costs no handshake.
    #[derive(Default)]
    pub struct Implementation {
        /// Its name for programs.
        pub name: String = "name" or lenient,
        /// Its version.
        pub version: String = "version" or lenient,
        /// Its name for people. From 2025-06-18 on.
        pub title: Option<String> = "title",
        /// What it does. From 2025-11-25 on.
        pub description: Option<String> = "description",
        /// Where to read about it. From 2025-11-25 on.
        pub website_url: Option<String> = "websiteUrl",
        /// How it looks. From 2025-11-25 on.
        pub icons: Option<Vec<Icon>> = "icons",
    }

    /// A picture for a server, tool, prompt or resource.
    pub struct Icon {
        /// An `https:` or `data:` URI.
        pub src: String = "src",
        /// The MIME type, if the source's own is missing or too general.
        pub mime_type: Option<String> = "mimeType",
        /// Sizes at which it looks good: `48x48`, or `any`.
        pub sizes: Option<Vec<String>> = "sizes",
        /// The background it is drawn for.
        pub theme: Option<IconTheme> = "theme",
    }

    /// Parameters of `initialize`, up to 2025-11-25.
    pub struct InitializeParams {
        /// The newest revision the client speaks.
        pub protocol_version: ProtocolVersion = "protocolVersion",
        /// What the client can do.
        pub capabilities: ClientCapabilities = "capabilities" or lenient,
        /// Which software it is.
        pub client_info: Implementation = "clientInfo",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// Result of `initialize`, up to 2025-11-25.
    pub struct InitializeResult {
        /// The revision to speak from now on.
        pub protocol_version: ProtocolVersion = "protocolVersion",
        /// What the server offers.
        pub capabilities: ServerCapabilities = "capabilities" or lenient,
        /// Which software it is.
        pub server_info: Implementation = "serverInfo" or lenient,
        /// How to use the server, for the model.
        pub instructions: Option<String> = "instructions",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// Result of `server/discover`, from 2026-07-28 on.
    pub struct DiscoverResult {
        /// The revisions the server speaks.
        pub supported_versions: Vec<ProtocolVersion> = "supportedVersions",
        /// What it offers.
        pub capabilities: ServerCapabilities = "capabilities" or lenient,
        /// How to use it, for the model.
        pub instructions: Option<String> = "instructions",
        /// How long the result may be cached, in milliseconds.
        pub ttl_ms: Option<u64> = "ttlMs",
        /// Who may cache it.
        pub cache_scope: Option<CacheScope> = "cacheScope",
        /// That it is complete.
        pub result_type: Option<ResultType> = "resultType",
        /// Metadata, with the server's software under [`SERVER_INFO`](super::meta::SERVER_INFO).
        pub meta: Option<Object> = "_meta",
    }

    /// Parameters of a request for one page of a list.
    #[derive(Default)]
    pub struct PaginatedParams {
        /// Where the page begins: the `nextCursor` of the page before. Absent for the first page.
        pub cursor: Option<String> = "cursor",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }
}

wire::string_enum! {
    /// A background an icon is drawn for.
    pub enum IconTheme {
        /// A light one.
        Light = "light",
        /// A dark one.
        Dark = "dark",
    }

    /// Who may cache a result. From 2026-07-28 on.
    pub enum CacheScope {
        /// Anyone, for everyone.
        Public = "public",
        /// Only the client, for its user.
        Private = "private",
    }

    /// What a result is. From 2026-07-28 on; an absent one means [`Complete`](Self::Complete).
    pub enum ResultType {
        /// The answer.
        Complete = "complete",
        /// A question: the request is to be sent again with the answers.
        InputRequired = "input_required",
        /// A [`Task`](super::Task), in the place of the answer.
        Task = "task",
    }
}

impl Implementation {
    /// A program by name and version.
    #[must_use]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            title: None,
            description: None,
            website_url: None,
            icons: None,
            extra: Object::new(),
        }
    }
}

wire::builders!(Implementation {
    /// Sets the name for people.
    with_title => title: String,
    /// Sets what it does.
    with_description => description: String,
    /// Sets where to read about it.
    with_website_url => website_url: String,
    /// Sets how it looks.
    with_icons => icons: Vec<Icon>,
});

impl Icon {
    /// The icon at `src`.
    #[must_use]
    pub fn new(src: impl Into<String>) -> Self {
        Self { src: src.into(), mime_type: None, sizes: None, theme: None, extra: Object::new() }
    }

    /// Whether the icon may be loaded at all: only from an `https:` or `data:` URI. Fetch it without credentials
    /// and do not follow a redirect to another host or scheme.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        // spec: 2026-07-28 basic/index#icons
        let scheme = self.src.split_once(':').map_or("", |(scheme, _)| scheme);
        scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("data")
    }
}

wire::builders!(Icon {
    /// Sets the MIME type.
    with_mime_type => mime_type: String,
    /// Sets the sizes at which it looks good.
    with_sizes => sizes: Vec<String>,
    /// Sets the background it is drawn for.
    with_theme => theme: IconTheme,
});

impl InitializeParams {
    /// A client's opening.
    #[must_use]
    pub fn new(
        protocol_version: ProtocolVersion,
        capabilities: ClientCapabilities,
        client_info: Implementation,
    ) -> Self {
        Self { protocol_version, capabilities, client_info, meta: None, extra: Object::new() }
    }
}

impl InitializeResult {
    /// A server's answer to a client's opening.
    #[must_use]
    pub fn new(
        protocol_version: ProtocolVersion,
        capabilities: ServerCapabilities,
        server_info: Implementation,
    ) -> Self {
        Self {
            protocol_version,
            capabilities,
            server_info,
            instructions: None,
            meta: None,
            extra: Object::new(),
        }
    }
}

wire::builders!(InitializeResult {
    /// Sets how to use the server.
    with_instructions => instructions: String,
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl DiscoverResult {
    /// What a server speaks and offers.
    #[must_use]
    pub fn new(supported_versions: Vec<ProtocolVersion>, capabilities: ServerCapabilities) -> Self {
        Self {
            supported_versions,
            capabilities,
            instructions: None,
            ttl_ms: None,
            cache_scope: None,
            result_type: None,
            meta: None,
            extra: Object::new(),
        }
    }
}

wire::builders!(DiscoverResult {
    /// Sets how to use the server.
    with_instructions => instructions: String,
    /// Sets how long the result may be cached, in milliseconds.
    with_ttl_ms => ttl_ms: u64,
    /// Sets who may cache it.
    with_cache_scope => cache_scope: CacheScope,
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl PaginatedParams {
    /// Asks for the page after the one that ended with `cursor`.
    #[must_use]
    pub fn after(cursor: impl Into<String>) -> Self {
        Self { cursor: Some(cursor.into()), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{FromJson, Json};

    #[test]
    fn only_https_and_data_icons_are_safe() {
        for (src, safe) in [
            ("https://example.com/a.png", true),
            ("HTTPS://example.com/a.png", true),
            ("data:image/png;base64,AAAA", true),
            ("http://example.com/a.png", false),
            ("javascript:alert(1)", false),
            (" https://example.com", false),
            ("file:///etc/passwd", false),
            ("icon.png", false),
        ] {
            assert_eq!(Icon::new(src).is_safe(), safe, "{src}");
        }
    }

    #[test]
    fn unreadable_capabilities_do_not_cost_the_handshake() {
        for capabilities in ["null", "[]", "5"] {
            let text = format!(
                r#"{{"protocolVersion":"2025-06-18","capabilities":{capabilities},"serverInfo":{{"name":"a","version":"1"}}}}"#
            );
            let read = InitializeResult::from_json(Json::parse(&text).expect("JSON").as_raw());
            assert_eq!(read.map(|r| r.capabilities), Ok(ServerCapabilities::default()), "{text}");
        }
    }
}
