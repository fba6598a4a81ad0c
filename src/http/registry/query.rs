//! [`Query`]: what is asked of a registry's list.

use std::fmt::Write;

/// What is asked of a registry's list. Empty, it asks for the first page of all versions of all servers.
///
/// ```
/// use tinymcp::http::registry::Query;
///
/// let query = Query::new().with_search("file system").latest().with_limit(20);
/// assert_eq!(query.search.as_deref(), Some("file system"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Query {
    /// A part of a name, or, where the registry looks there, of a description.
    pub search: Option<String>,
    /// `latest`, or a version.
    pub version: Option<String>,
    /// Only what has changed since: a date and time of RFC 3339. Deleted servers are among them.
    pub updated_since: Option<String>,
    /// Whether deleted servers are listed.
    pub include_deleted: bool,
    /// So many servers on a page; the registry may give fewer.
    pub limit: Option<u32>,
    /// Where the page begins: [`Page::next_cursor`](super::Page::next_cursor) of the one before.
    pub cursor: Option<String>,
}

impl Query {
    /// All versions of all servers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Only servers in whose name, or description, this occurs.
    #[must_use]
    pub fn with_search(mut self, text: impl Into<String>) -> Self {
        self.search = Some(text.into());
        self
    }

    /// Only the latest version of each.
    #[must_use]
    pub fn latest(self) -> Self {
        self.with_version("latest")
    }

    /// Only this version.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Only what has changed since this date and time of RFC 3339, deleted servers included.
    #[must_use]
    pub fn with_updated_since(mut self, time: impl Into<String>) -> Self {
        self.updated_since = Some(time.into());
        self
    }

    /// Deleted servers as well.
    #[must_use]
    pub fn with_deleted(mut self, include: bool) -> Self {
        self.include_deleted = include;
        self
    }

    /// So many servers on a page.
    #[must_use]
    pub fn with_limit(mut self, servers: u32) -> Self {
        self.limit = Some(servers);
        self
    }

    /// The page that begins there.
    #[must_use]
    pub fn with_cursor(mut self, cursor: impl Into<String>) -> Self {
        self.cursor = Some(cursor.into());
        self
    }

    /// With its `?`, or empty.
    pub(super) fn encoded(&self) -> String {
        let limit = self.limit.map(|limit| limit.to_string());
        let deleted = self.include_deleted.then_some("true");
        let mut text = String::new();
        for (name, value) in [
            ("search", self.search.as_deref()),
            ("version", self.version.as_deref()),
            ("updated_since", self.updated_since.as_deref()),
            ("include_deleted", deleted),
            ("limit", limit.as_deref()),
            ("cursor", self.cursor.as_deref()),
        ] {
            let Some(value) = value else { continue };
            text.push(if text.is_empty() { '?' } else { '&' });
            text += name;
            text.push('=');
            text += &encoded(value);
        }
        text
    }
}

/// `text` as one part of a path or of a query.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_encoded() {
        assert_eq!(Query::new().encoded(), "");
        let query =
            Query::new().with_search("a&b=ü #").with_limit(5).with_cursor("x/y:1.0+z").with_deleted(true);
        assert_eq!(
            query.encoded(),
            "?search=a%26b%3D%C3%BC%20%23&include_deleted=true&limit=5&cursor=x%2Fy%3A1.0%2Bz"
        );
    }
}
