//! [`Source`]: where something comes from. [`Provenance`]: the same, as it is kept with each block.

use serde::{Serialize, Serializer};

use super::strings::Changes;
use super::visible::visible_line;
use crate::json::{FromJson, Json, Object};

/// The key in `_meta` under which each block says where it comes from. What a server writes there is taken out first.
pub const PROVENANCE: &str = "io.github.tinymcp/provenance";

/// Keys that begin so are this library's alone.
const OURS: &str = "io.github.tinymcp/";

/// Where something comes from.
///
/// ```
/// use tinymcp::host::filter::{Part, Source};
///
/// let source = Source::tool("notes", "create_note");
/// assert_eq!((source.server, source.part), ("notes", Part::Tool("create_note")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Source<'a> {
    /// The server, by its name with the host.
    pub server: &'a str,
    /// What of it.
    pub part: Part<'a>,
}

/// What of a server something comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part<'a> {
    /// The server itself: its lists, its instructions, what it asks.
    Server,
    /// The tool of this name.
    Tool(&'a str),
    /// The resource at this address.
    Resource(&'a str),
    /// The prompt of this name.
    Prompt(&'a str),
}

impl<'a> Source<'a> {
    /// A server itself.
    #[must_use]
    pub fn server(server: &'a str) -> Self {
        Self { server, part: Part::Server }
    }

    /// A tool, by the name that its server has for it.
    #[must_use]
    pub fn tool(server: &'a str, tool: &'a str) -> Self {
        Self { server, part: Part::Tool(tool) }
    }

    /// A resource, by its address.
    #[must_use]
    pub fn resource(server: &'a str, uri: &'a str) -> Self {
        Self { server, part: Part::Resource(uri) }
    }

    /// A prompt, by its name.
    #[must_use]
    pub fn prompt(server: &'a str, prompt: &'a str) -> Self {
        Self { server, part: Part::Prompt(prompt) }
    }

    /// `tool create_note of server notes`.
    pub(super) fn named(&self) -> String {
        let server = visible_line(self.server);
        match self.part {
            Part::Server => format!("server {server}"),
            Part::Tool(name) => format!("tool {} of server {server}", visible_line(name)),
            Part::Resource(uri) => format!("resource {} of server {server}", visible_line(uri)),
            Part::Prompt(name) => format!("prompt {} of server {server}", visible_line(name)),
        }
    }
}

/// Where a block comes from, and what the filter did to it: what stands under [`PROVENANCE`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Provenance {
    /// The server, by its name with the host.
    pub server: String,
    /// The tool, if it comes from one.
    pub tool: Option<String>,
    /// The address of the resource, if it comes from one.
    pub uri: Option<String>,
    /// The prompt, if it comes from one.
    pub prompt: Option<String>,
    /// Characters were written out in it.
    pub controls: bool,
    /// It was cut, or something in it was left out.
    pub cut: bool,
    /// The filter itself says it, in place of what was left out.
    pub added: bool,
}

impl Provenance {
    /// What the filter noted in the metadata of a block.
    ///
    /// ```
    /// use tinymcp::host::filter::{Provenance, ResultFilter, Source};
    /// use tinymcp::protocol::{CallToolResult, Content};
    ///
    /// let sent = CallToolResult::text("all \u{1b}[1mwell");
    /// let result = ResultFilter::new().apply_call(&Source::tool("notes", "status"), sent)?;
    /// let Content::Text(block) = &result.content[0] else { panic!("a text") };
    /// let provenance = Provenance::of(block.meta.as_ref().unwrap()).expect("noted");
    /// assert_eq!((provenance.server.as_str(), provenance.tool.as_deref()), ("notes", Some("status")));
    /// assert!(provenance.controls && !provenance.cut);
    /// # Ok::<(), tinymcp::Error>(())
    /// ```
    #[must_use]
    pub fn of(meta: &Object) -> Option<Self> {
        let noted = Object::from_json(meta.json(PROVENANCE)?.as_raw()).ok()?;
        let is = |name| noted.get::<bool>(name) == Some(true);
        Some(Self {
            server: noted.get("server")?,
            tool: noted.get("tool"),
            uri: noted.get("uri"),
            prompt: noted.get("prompt"),
            controls: is("controls"),
            cut: is("cut"),
            added: is("added"),
        })
    }
}

/// What is noted with each block of one result.
pub(super) struct Stamp<'a> {
    source: &'a Source<'a>,
    /// The note for a block that was not changed: most of them.
    plain: Json,
}

struct Note<'a> {
    source: &'a Source<'a>,
    changes: Changes,
    added: bool,
}

impl Serialize for Note<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("server", &visible_line(self.source.server))?;
        match self.source.part {
            Part::Server => {}
            Part::Tool(name) => map.serialize_entry("tool", &visible_line(name))?,
            Part::Resource(uri) => map.serialize_entry("uri", &visible_line(uri))?,
            Part::Prompt(name) => map.serialize_entry("prompt", &visible_line(name))?,
        }
        for (name, is) in
            [("controls", self.changes.controls), ("cut", self.changes.cut), ("added", self.added)]
        {
            if is {
                map.serialize_entry(name, &true)?;
            }
        }
        map.end()
    }
}

impl<'a> Stamp<'a> {
    pub(super) fn of(source: &'a Source<'a>) -> Self {
        let plain = Self::note(source, Changes::default(), false);
        Self { source, plain }
    }

    fn note(source: &Source<'_>, changes: Changes, added: bool) -> Json {
        // Strings and booleans alone, which are JSON.
        Json::new(&Note { source, changes, added }).unwrap_or_else(|_| Json::null())
    }

    pub(super) fn put(&self, meta: &mut Option<Object>, changes: Changes) {
        let meta = meta.get_or_insert_default();
        if changes.any() {
            meta.insert(PROVENANCE, &Self::note(self.source, changes, false));
        } else {
            meta.insert(PROVENANCE, &self.plain);
        }
    }

    /// With what the filter adds.
    pub(super) fn put_added(&self, meta: &mut Option<Object>) {
        meta.get_or_insert_default().insert(PROVENANCE, &Self::note(self.source, Changes::default(), true));
    }
}

/// Whether only this library writes it.
pub(super) fn is_ours(key: &str) -> bool {
    key.starts_with(OURS)
}
