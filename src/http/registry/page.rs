//! [`Page`] and [`Listing`]: what a registry answers, read one server at a time.

use serde_json::value::RawValue;

use super::detail::{Package, Remote, each, shown_text, shown_url};
use crate::host::filter::visible_line;
use crate::json::{FromJson, JsonError, Members, Object};

/// A page of a registry's list.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Page {
    /// The servers, in the registry's order.
    pub servers: Vec<Listing>,
    /// What else is on the page and cannot be read.
    pub broken: Vec<Broken>,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<String>,
}

/// Something on a page that is no server as registries describe them. It hides no other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Broken {
    /// Its place on the page, from 0.
    pub index: usize,
    /// What it calls itself, if that can be read; characters that cannot be seen are written out.
    pub name: Option<String>,
    /// What is wrong with it.
    pub problem: String,
}

/// A version of a server, as a registry lists it.
///
/// Texts for people (title, description, the reason of a status) are made [visible](crate::host::filter::visible) as they are read.
/// What they say is the publisher's word alone.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Listing {
    /// The server's name: `io.github.user/weather`.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// Its version.
    pub version: String,
    /// Its home page: `http` or `https`.
    pub website_url: Option<String>,
    /// Where its source is: `http` or `https`.
    pub repository_url: Option<String>,
    /// Ways to start it on this machine.
    pub packages: Vec<Package>,
    /// Addresses at which it runs already.
    pub remotes: Vec<Remote>,
    /// Packages and remotes that cannot be read, each with its place and what is wrong.
    pub unread: Vec<String>,
    /// What the registry says of it; `None` if it does not say.
    pub status: Option<Status>,
    /// Why it has that status.
    pub status_message: Option<String>,
    /// When the status was last changed.
    pub status_changed_at: Option<String>,
    /// When this version was published.
    pub published_at: Option<String>,
    /// When something of it was last changed.
    pub updated_at: Option<String>,
    /// Whether it is the latest version.
    pub is_latest: Option<bool>,
    /// Members of the server that are not known here, kept as they came.
    pub extra: Object,
}

/// Where a server is in its life.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// It is to be used.
    Active,
    /// It is listed, and its publisher advises against it.
    Deprecated,
    /// It was taken away: by its publisher, or because it does harm.
    Deleted,
    /// Something that is not known here.
    Other(String),
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Active => "active",
            Self::Deprecated => "deprecated",
            Self::Deleted => "deleted",
            Self::Other(status) => status,
        })
    }
}

/// The registry's own part of a listing.
const OFFICIAL: &str = "io.modelcontextprotocol.registry/official";

/// So many characters a name may have, and a version.
const MAX_NAME_CHARS: usize = 200;
const MAX_VERSION_CHARS: usize = 255;

/// So much of a text for people is kept.
pub(super) const SHOWN_CHARS: usize = 2_000;

impl Page {
    /// # Errors
    /// When `raw` is no page at all.
    pub(super) fn read(raw: &RawValue) -> Result<Self, JsonError> {
        let mut members = Members::of(raw)?;
        let Some(servers) = members.take("servers") else {
            return Err(JsonError::new("missing").inside("servers"));
        };
        // A registry written in Go writes an empty list so.
        let items = if servers.get() == "null" {
            Vec::new()
        } else {
            each(servers).map_err(|e| e.inside("servers"))?
        };
        let mut page = Self::default();
        for (index, item) in items.into_iter().enumerate() {
            match Listing::from_json(item) {
                Ok(listing) => page.servers.push(listing),
                Err(error) => {
                    let problem = visible_line(&error.to_string()).into_owned();
                    page.broken.push(Broken { index, name: claimed_name(item), problem });
                }
            }
        }
        let mut metadata = members.take("metadata").and_then(|raw| Members::of(raw).ok()).unwrap_or_default();
        page.next_cursor = metadata.lenient::<String>("nextCursor").filter(|cursor| !cursor.is_empty());
        Ok(page)
    }
}

/// What a server that cannot be read calls itself.
fn claimed_name(item: &RawValue) -> Option<String> {
    let mut members = Members::of(item).ok()?;
    let server = members.take("server").unwrap_or(item);
    let name: String = Members::of(server).ok()?.required("name").ok()?;
    Some(visible_line(&crate::json::shortened(&name, MAX_NAME_CHARS)).into_owned())
}

/// Whether `name` is one by the registry's rules: a namespace, a slash, a name.
pub(super) fn is_name(name: &str) -> bool {
    let is_part = |part: &str, more: &str| {
        part.contains(|c: char| c.is_ascii_alphanumeric())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    name.len() <= MAX_NAME_CHARS
        && name.split_once('/').is_some_and(|(space, name)| is_part(space, ".-") && is_part(name, "._-"))
}

/// Whether `version` can be one: any text without what cannot be seen.
pub(super) fn is_version(version: &str) -> bool {
    let is_visible = |c: char| !c.is_control() && !c.is_whitespace();
    !matches!(version, "" | "." | "..")
        && version.chars().count() <= MAX_VERSION_CHARS
        && version.chars().all(is_visible)
        && visible_line(version) == version
}

impl FromJson for Listing {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        let mut response = Members::of(raw)?;
        let server = response.take("server").ok_or_else(|| JsonError::new("missing").inside("server"))?;
        let inside = |e: JsonError| e.inside("server");
        let mut server = Members::of(server).map_err(inside)?;
        let name: String = server.required("name").map_err(inside)?;
        if !is_name(&name) {
            return Err(JsonError::new("no name of a server, such as io.github.user/weather").inside("name"));
        }
        let version: String = server.required("version").map_err(inside)?;
        if !is_version(&version) {
            return Err(JsonError::new("no version").inside("version"));
        }
        let mut unread = Vec::new();
        let packages = readable(&mut server, "packages", &mut unread);
        let remotes = readable(&mut server, "remotes", &mut unread);
        let repository = server.take("repository").and_then(|raw| Members::of(raw).ok());

        let mut meta = response.take("_meta").and_then(|raw| Members::of(raw).ok()).unwrap_or_default();
        let official = meta.take(OFFICIAL).and_then(|raw| Members::of(raw).ok());
        let mut official = official.unwrap_or(meta);
        let status = official.lenient::<String>("status").map(|status| match status.as_str() {
            "active" => Status::Active,
            "deprecated" => Status::Deprecated,
            "deleted" => Status::Deleted,
            _ => Status::Other(visible_line(&status).into_owned()),
        });
        let mut date =
            |name: &str| official.lenient::<String>(name).map(|text| visible_line(&text).into_owned());
        let (published_at, updated_at, status_changed_at) =
            (date("publishedAt"), date("updatedAt"), date("statusChangedAt"));
        Ok(Self {
            name,
            title: shown_text(&mut server, "title"),
            description: shown_text(&mut server, "description"),
            version,
            website_url: shown_url(&mut server, "websiteUrl"),
            repository_url: repository.and_then(|mut repository| shown_url(&mut repository, "url")),
            packages,
            remotes,
            unread,
            status,
            status_message: shown_text(&mut official, "statusMessage"),
            status_changed_at,
            published_at,
            updated_at,
            is_latest: official.lenient("isLatest"),
            extra: server.rest(),
        })
    }
}

/// The items of a list that can be read; the others are told in `unread`.
fn readable<T: FromJson>(members: &mut Members<'_>, name: &str, unread: &mut Vec<String>) -> Vec<T> {
    let Some(raw) = members.take(name).filter(|raw| raw.get() != "null") else { return Vec::new() };
    let mut told = |e: JsonError| unread.push(visible_line(&e.inside(name).to_string()).into_owned());
    let items = each(raw).unwrap_or_else(|e| {
        told(e);
        Vec::new()
    });
    let mut read = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        match T::from_json(item) {
            Ok(item) => read.push(item),
            Err(e) => told(e.at(index)),
        }
    }
    read
}
