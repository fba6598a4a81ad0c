//! [`ServerRegistry`]: asks a registry.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde_json::value::RawValue;

use super::error::RegistryError;
use super::page::{Listing, Page, is_name, is_version};
use super::query::{Query, encoded};
use crate::error::{Error, Result};
use crate::host::filter::visible_line;
use crate::http::HttpTransport;
use crate::http::client::{Fetcher, Unfetched};
use crate::json::FromJson;
use crate::url::Url;

/// The official registry.
const OFFICIAL: &str = "https://registry.modelcontextprotocol.io";

/// The version of the API that is asked for, unless the address names one.
const API: &str = "v0.1";

/// How long an answer may take, all of it.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// So many bytes of an answer are read.
const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;

/// So many pages an iterator of pages reads.
const MAX_PAGES: usize = 10_000;

/// So many servers a search finds.
const MAX_FOUND: usize = 1_000;

/// A registry of servers: the official one, or any that has the same API.
///
/// Its clones share connections. Nothing is kept: each question is a request.
///
/// ```no_run
/// use tinymcp::http::registry::{ServerRegistry, SetupOptions};
///
/// let registry = ServerRegistry::official()?; // `https`: needs the feature `tls`
/// for server in registry.search("weather")?.servers {
///     println!("{} {}: {}", server.name, server.version, server.description.as_deref().unwrap_or("-"));
/// }
/// let setup = registry.server("io.github.user/weather")?.setup(&SetupOptions::new())?;
/// println!("{}", setup.entry.canonical());
/// # Ok::<(), tinymcp::Error>(())
/// ```
#[derive(Clone)]
pub struct ServerRegistry {
    fetcher: Fetcher,
    answer_time: Duration,
    max_answer_bytes: usize,
}

impl ServerRegistry {
    /// The official registry, `registry.modelcontextprotocol.io`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] without the feature `tls`; when the environment names a proxy that cannot be used.
    pub fn official() -> Result<Self> {
        Self::new(OFFICIAL)
    }

    /// The registry at `url`: what stands before `/v0.1/servers` in its addresses.
    ///
    /// ```
    /// use tinymcp::http::registry::ServerRegistry;
    ///
    /// assert!(ServerRegistry::new("http://localhost:8080/registry").is_ok());
    /// assert!(ServerRegistry::new("registry.example").is_err());
    /// ```
    ///
    /// # Errors
    /// When it is no address, or `https` without the feature `tls`; when the environment names a proxy that cannot be used.
    pub fn new(url: &str) -> Result<Self> {
        Self::over(HttpTransport::new(url)?)
    }

    /// The registry at the address of `transport`, with its headers, proxy, certificates and time to connect: for registries that want
    /// a token, for example.
    ///
    /// ```
    /// use tinymcp::http::HttpTransport;
    /// use tinymcp::http::registry::ServerRegistry;
    ///
    /// let transport = HttpTransport::new("http://localhost:8080")?.header("Authorization", "Bearer s3cr3t")?;
    /// let registry = ServerRegistry::over(transport)?;
    /// assert!(!format!("{registry:?}").contains("s3cr3t"));
    /// # Ok::<(), tinymcp::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the address has a query, or the environment names a proxy that cannot be used.
    pub fn over(transport: HttpTransport) -> Result<Self> {
        let fetcher = Fetcher::new(transport).map_err(Error::InvalidUse)?;
        if fetcher.url().whole().contains('?') {
            return Err(Error::InvalidUse(format!(
                "{}: the address of a registry has no query",
                fetcher.name()
            )));
        }
        Ok(Self { fetcher, answer_time: ANSWER_TIME, max_answer_bytes: MAX_ANSWER_BYTES })
    }

    /// How long an answer may take, all of it. Default: 30 s.
    #[must_use]
    pub fn answer_time(mut self, time: Duration) -> Self {
        self.answer_time = time;
        self
    }

    /// So many bytes of an answer are read; a longer one is an error. Default: 8 MiB.
    #[must_use]
    pub fn max_answer_bytes(mut self, bytes: usize) -> Self {
        self.max_answer_bytes = bytes;
        self
    }

    /// A page of the list.
    ///
    /// # Errors
    /// When there is no answer, or none that is a page. A server that cannot be read is no error: it is in [`Page::broken`].
    pub fn list(&self, query: &Query) -> Result<Page, RegistryError> {
        self.page(&format!("servers{}", query.encoded()))
    }

    /// The pages of the list, one request each, from that of `query` on. Ends after an error, at a page that it has had before, and
    /// after 10,000 pages.
    #[must_use]
    pub fn pages(&self, query: Query) -> Pages<'_> {
        Pages { registry: self, query: Some(query), seen: BTreeSet::new() }
    }

    /// The latest version of each server in whose name, or where the registry looks there, description, `text` occurs: all pages of
    /// them. Where more than 1,000 are found, [`Page::next_cursor`] is where the rest begins.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn search(&self, text: &str) -> Result<Page, RegistryError> {
        let mut found = Page::default();
        for page in self.pages(Query::new().with_search(text).latest()) {
            let page = page?;
            let before = found.servers.len() + found.broken.len();
            found.servers.extend(page.servers);
            let broken = page.broken.into_iter();
            found.broken.extend(broken.map(|mut broken| {
                broken.index += before;
                broken
            }));
            found.next_cursor = page.next_cursor;
            if found.servers.len() + found.broken.len() >= MAX_FOUND {
                break;
            }
        }
        Ok(found)
    }

    /// The latest version of the server `name`: `io.github.user/weather`.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] when there is none; when there is no answer, or none that is this server.
    pub fn server(&self, name: &str) -> Result<Listing, RegistryError> {
        self.one(name, None, false)
    }

    /// This version of the server `name`; a deleted one too, whose [status](Listing::status) then says so.
    ///
    /// # Errors
    /// As [`server`](Self::server).
    pub fn server_version(&self, name: &str, version: &str) -> Result<Listing, RegistryError> {
        self.one(name, Some(version), true)
    }

    /// All versions of the server `name`, the newest first; deleted ones too.
    ///
    /// # Errors
    /// As [`server`](Self::server).
    pub fn versions(&self, name: &str) -> Result<Page, RegistryError> {
        self.check_name(name)?;
        let mut page = self.page(&format!("servers/{}/versions?include_deleted=true", encoded(name)))?;
        let other = page.servers.iter().position(|server| !server.name.eq_ignore_ascii_case(name));
        if let Some(other) = other.map(|at| page.servers.swap_remove(at)) {
            return Err(self.malformed(format!("asked for {name}, it answers with {}", other.name)));
        }
        Ok(page)
    }

    fn one(&self, name: &str, version: Option<&str>, deleted: bool) -> Result<Listing, RegistryError> {
        self.check_name(name)?;
        let asked = version.unwrap_or("latest");
        if !is_version(asked) {
            return Err(RegistryError::InvalidUse(format!("no version: {}", visible_line(asked))));
        }
        let deleted = if deleted { "?include_deleted=true" } else { "" };
        let body = self.get(&format!("servers/{}/versions/{}{deleted}", encoded(name), encoded(asked)))?;
        let listing = Listing::from_json(&body).map_err(|e| self.malformed(format!("{name}: {e}")))?;
        let is_other_version =
            version.is_some_and(|version| version != "latest" && version != listing.version);
        if is_other_version || !listing.name.eq_ignore_ascii_case(name) {
            let told =
                format!("asked for {name} {asked}, it answers with {} {}", listing.name, listing.version);
            return Err(self.malformed(told));
        }
        Ok(listing)
    }

    fn check_name(&self, name: &str) -> Result<(), RegistryError> {
        if is_name(name) {
            return Ok(());
        }
        let name = visible_line(name);
        Err(RegistryError::InvalidUse(format!("no name of a server, such as io.github.user/weather: {name}")))
    }

    fn page(&self, path: &str) -> Result<Page, RegistryError> {
        let body = self.get(path)?;
        Page::read(&body).map_err(|e| self.malformed(e.to_string()))
    }

    fn malformed(&self, problem: String) -> RegistryError {
        RegistryError::Malformed(format!("{}: {}", self.fetcher.name(), visible_line(&problem)))
    }

    /// The JSON at `path`, which is below the version of the API.
    fn get(&self, path: &str) -> Result<Box<RawValue>, RegistryError> {
        let registry = self.fetcher.name();
        let base = self.fetcher.url().whole();
        let base = base.trim_end_matches('/');
        let last = base.rsplit('/').next().unwrap_or_default();
        let has_api =
            last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let url = if has_api { format!("{base}/{path}") } else { format!("{base}/{API}/{path}") };
        let url = Url::parse(&url).map_err(|e| RegistryError::InvalidUse(format!("the question: {e}")))?;
        let page = self.fetcher.get(&url, self.max_answer_bytes, self.answer_time).map_err(|e| match e {
            Unfetched::Unreachable(problem) => {
                RegistryError::Unreachable(format!("{registry}: {}", visible_line(&problem)))
            }
            Unfetched::Refused(problem) => self.malformed(problem),
            Unfetched::TooLarge => {
                RegistryError::TooLarge { registry: registry.clone(), limit: self.max_answer_bytes }
            }
        })?;
        let told = format!("{}", visible_line(&page.told));
        match page.status {
            200 => {}
            404 => return Err(RegistryError::NotFound(format!("{registry}: {told}"))),
            status => return Err(RegistryError::Rejected { registry, status, told }),
        }
        // A byte that is no UTF-8 costs the text that it is in, not all others.
        let text = String::from_utf8_lossy(&page.body);
        serde_json::from_str(&text).map_err(|e| {
            let what = if e.is_eof() { "an answer that breaks off" } else { "an answer that is no JSON" };
            self.malformed(format!("{what}: {}", page.told))
        })
    }
}

impl fmt::Debug for ServerRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerRegistry")
            .field("url", &format_args!("{}", self.fetcher.name()))
            .field("answer_time", &self.answer_time)
            .field("max_answer_bytes", &self.max_answer_bytes)
            .finish()
    }
}

/// The pages of a registry's list: [`ServerRegistry::pages`].
#[derive(Debug)]
pub struct Pages<'a> {
    registry: &'a ServerRegistry,
    query: Option<Query>,
    /// Owner: this iterator. Bound: [`MAX_PAGES`].
    seen: BTreeSet<String>,
}

impl Iterator for Pages<'_> {
    type Item = Result<Page, RegistryError>;

    fn next(&mut self) -> Option<Self::Item> {
        let query = self.query.take()?;
        let page = match self.registry.list(&query) {
            Ok(page) => page,
            Err(error) => return Some(Err(error)),
        };
        self.seen.extend(query.cursor.clone());
        if let Some(cursor) = &page.next_cursor {
            // A registry that leads in a circle would be read for ever.
            if self.seen.contains(cursor) {
                return Some(Err(self.registry.malformed("its pages lead back to one before".to_owned())));
            }
            if self.seen.len() + 1 < MAX_PAGES {
                self.query = Some(query.with_cursor(cursor));
            }
        }
        Some(Ok(page))
    }
}
