//! Roots: the folders of a client that a server may work on.
//!
//! The feature is deprecated from 2026-07-28 on, and still in use.

use crate::json::{Object, wire};

wire::wire! {
    /// A folder or file that servers may work on.
    pub struct Root {
        /// Its address, which begins with `file://`.
        pub uri: String = "uri",
        /// Its name for people.
        pub name: Option<String> = "name",
        /// Metadata. From 2025-06-18 on.
        pub meta: Option<Object> = "_meta",
    }

    /// Parameters of `roots/list`.
    #[derive(Default)]
    pub struct ListRootsParams {
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// Result of `roots/list`.
    #[derive(Default)]
    pub struct ListRootsResult {
        /// The roots.
        pub roots: Vec<Root> = "roots",
        /// Metadata. Up to 2025-11-25.
        pub meta: Option<Object> = "_meta",
    }
}

impl Root {
    /// The folder or file at `uri`.
    ///
    /// ```
    /// use tinymcp::protocol::Root;
    ///
    /// let root = Root::new("file:///home/ada/plans").with_name("Plans");
    /// assert!(root.is_file());
    /// assert_eq!(serde_json::to_string(&root)?, r#"{"uri":"file:///home/ada/plans","name":"Plans"}"#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: None, meta: None, extra: Object::new() }
    }

    /// Whether its address begins with `file://`, as every revision so far asks for.
    #[must_use]
    pub fn is_file(&self) -> bool {
        // spec: 2026-07-28 schema#root
        self.uri.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file://"))
    }
}

wire::builders!(Root {
    /// Sets the name for people.
    with_name => name: String,
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl ListRootsResult {
    /// The roots of a client.
    #[must_use]
    pub fn new(roots: Vec<Root>) -> Self {
        Self { roots, ..Self::default() }
    }
}

wire::builders!(ListRootsResult {
    /// Sets the metadata.
    with_meta => meta: Object,
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{FromJson, Json};

    #[test]
    fn roots_are_read_leniently_and_need_an_address() {
        let read = |text: &str| {
            let read = ListRootsResult::from_json(Json::parse(text).expect("JSON").as_raw());
            read.map(|result| result.roots).map_err(|e| e.to_string())
        };
        assert_eq!(read(r#"{"roots":[]}"#), Ok(vec![]));
        assert_eq!(read(r#"{"roots":[{"uri":"file:///a","name":5}]}"#), Ok(vec![Root::new("file:///a")]));
        assert_eq!(read(r#"{"roots":[{"name":"a"}]}"#), Err("roots[0].uri: missing".to_owned()));
        assert_eq!(read("{}"), Err("roots: missing".to_owned()));
    }

    #[test]
    fn only_files_are_files() {
        for (uri, is_file) in
            [("file:///a", true), ("FILE:///a", true), ("file:/a", false), ("https://a", false), ("é", false)]
        {
            assert_eq!(Root::new(uri).is_file(), is_file, "{uri}");
        }
    }
}
