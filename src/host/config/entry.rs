//! [`ServerEntry`]: one server as a configuration has it, before anything in it is replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::error::{ConfigError, name_alone};
use crate::json::Object;

/// One server, as it is written: `${env:TOKEN}` is still that text, so that an entry can be shown, compared and kept without
/// showing a secret that is named in it. [`resolve`](super::Resolver::resolve) makes a [`Launch`](super::Launch) of it.
///
/// Texts that are secrets themselves may stand in `env`, `headers`, `args` and the URL: `Debug` shows names, numbers and the address's
/// host alone.
///
/// ```
/// use tinymcp::host::config::ServerEntry;
///
/// let notes = ServerEntry::command("notes", "notes-server", ["--verbose"]).with_env("NOTES_DIR", "${userHome}/notes");
/// let search = ServerEntry::url("search", "https://example.com/mcp").with_header("Authorization", "Bearer ${env:TOKEN}");
///
/// assert_eq!(search.takes()[0].to_string(), "headers.Authorization takes TOKEN");
/// assert!(notes.takes().is_empty());
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerEntry {
    /// What the user calls it.
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
    /// Whether it is kept but not started.
    pub disabled: bool,
    /// The file it comes from; `None` for one that the program itself made.
    pub source: Option<PathBuf>,
    /// Members that are not known here, kept as they are.
    pub extra: Object,
    /// Where its fields are in the file.
    pub(super) places: Places,
}

/// How a server is reached.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Reach {
    /// It is started, and talks on its stdin and stdout.
    Command(CommandEntry),
    /// It is reached at an address.
    Url(UrlEntry),
}

/// A server that is started.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct CommandEntry {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables it gets beyond the basic ones.
    pub env: BTreeMap<String, String>,
    /// Variables it does not get even where they are basic ones: those that a file sets to `null`.
    pub env_removed: BTreeSet<String>,
    /// A file of further variables.
    pub env_file: Option<String>,
    /// The folder it is started in.
    pub cwd: Option<String>,
}

/// A server at an address.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct UrlEntry {
    /// `http` or `https`.
    pub url: String,
    /// Headers of every request.
    pub headers: BTreeMap<String, String>,
    /// What `type` said, if anything: `http`, `streamable-http`, `sse`.
    pub transport: Option<String>,
}

/// The line and column of each field, and of the entry itself under the empty name. Entries are equal wherever they stand.
#[derive(Clone, Default)]
pub(super) struct Places(pub(super) Arc<BTreeMap<String, (usize, usize)>>);

impl PartialEq for Places {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Places {
    /// Where `field` is, or else what holds it.
    pub(super) fn of(&self, field: Option<&str>) -> Option<(usize, usize)> {
        let mut field = field.unwrap_or_default();
        loop {
            if let Some(place) = self.0.get(field) {
                return Some(*place);
            }
            field = match field.rfind(['.', '[']) {
                Some(end) => &field[..end],
                None if field.is_empty() => return None,
                None => "",
            };
        }
    }
}

impl ServerEntry {
    /// A server that is reached so.
    pub fn new(name: impl Into<String>, reach: Reach) -> Self {
        let (extra, places) = (Object::new(), Places::default());
        Self { name: name.into(), reach, disabled: false, source: None, extra, places }
    }

    /// A server that is started.
    pub fn command<T: Into<String>>(
        name: impl Into<String>,
        program: impl Into<String>,
        args: impl IntoIterator<Item = T>,
    ) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self::new(name, Reach::Command(CommandEntry { command: program.into(), args, ..Default::default() }))
    }

    /// A server at an address.
    pub fn url(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self::new(name, Reach::Url(UrlEntry { url: url.into(), ..Default::default() }))
    }

    /// Gives the server that is started the variable `name`. As this and the next two do, it leaves a server at an address as it is,
    /// and says so in the log.
    #[must_use]
    pub fn with_env(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let (name, value) = (name.into(), value.into());
        self.started("a variable", |command| drop(command.env.insert(name, value)))
    }

    /// Gives the server that is started the variables in the file at `path`.
    #[must_use]
    pub fn with_env_file(self, path: impl Into<String>) -> Self {
        self.started("a file of variables", |command| command.env_file = Some(path.into()))
    }

    /// Starts the server in the folder `cwd`.
    #[must_use]
    pub fn with_cwd(self, cwd: impl Into<String>) -> Self {
        self.started("a folder", |command| command.cwd = Some(cwd.into()))
    }

    /// Sends the header `name` with every request. As the next one does, it leaves a server that is started as it is, and says so in
    /// the log.
    #[must_use]
    pub fn with_header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let (name, value) = (name.into(), value.into());
        self.at_address("a header", |url| drop(url.headers.insert(name, value)))
    }

    /// Says what the server at the address speaks: `http` or `sse`.
    #[must_use]
    pub fn with_transport(self, transport: impl Into<String>) -> Self {
        self.at_address("a transport", |url| url.transport = Some(transport.into()))
    }

    /// Keeps the server, not to be started.
    #[must_use]
    pub fn with_disabled(mut self, disabled: bool) -> Self {
        self.disabled = disabled;
        self
    }

    fn started(mut self, what: &str, change: impl FnOnce(&mut CommandEntry)) -> Self {
        match &mut self.reach {
            Reach::Command(command) => change(command),
            Reach::Url(_) => log::warn!("server {:?} is at an address: {what} is of no use to it", self.name),
        }
        self
    }

    fn at_address(mut self, what: &str, change: impl FnOnce(&mut UrlEntry)) -> Self {
        match &mut self.reach {
            Reach::Url(url) => change(url),
            Reach::Command(_) => log::warn!("server {:?} is started: {what} is of no use to it", self.name),
        }
        self
    }

    /// The file, as errors name it.
    pub(super) fn file(&self) -> Option<String> {
        self.source.as_ref().map(|path| path.display().to_string())
    }

    /// `error` with all that is known of where it is.
    pub(super) fn place(&self, error: ConfigError) -> ConfigError {
        let place = self.places.of(error.field());
        error.at(place).of_server(&self.name).of_file(self.file().as_deref())
    }
}

impl From<CommandEntry> for Reach {
    fn from(command: CommandEntry) -> Self {
        Self::Command(command)
    }
}

impl From<UrlEntry> for Reach {
    fn from(url: UrlEntry) -> Self {
        Self::Url(url)
    }
}

/// Scheme and host of an address: the rest may be a secret, the path of some included.
pub(super) fn host_of(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "…".into() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = rest[..end].rsplit('@').next().unwrap_or_default();
    // A default may be a secret, and a reference may have a slash in it.
    if [scheme, host].iter().any(|part| part.contains(['$', '{', '}'])) {
        return "…".into();
    }
    format!("{scheme}://{host}/…")
}

/// The names in a map, without what they stand for.
pub(super) fn names<V>(map: &BTreeMap<String, V>) -> Vec<String> {
    map.keys().map(|name| name_alone(name)).collect()
}

/// A program, which has no secret in it unless a default is one.
pub(super) fn program_of(command: &str) -> &str {
    if command.contains(":-") { "…" } else { command }
}

impl fmt::Debug for ServerEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerEntry")
            .field("name", &self.name)
            .field("reach", &self.reach)
            .field("disabled", &self.disabled)
            .field("source", &self.source)
            .field("extra", &self.extra.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .finish()
    }
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command) => command.fmt(f),
            Self::Url(url) => url.fmt(f),
        }
    }
}

impl fmt::Debug for CommandEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandEntry")
            .field("command", &program_of(&self.command))
            .field("args", &format_args!("{} of them", self.args.len()))
            .field("env", &names(&self.env))
            .field("env_removed", &self.env_removed)
            .field("has_env_file", &self.env_file.is_some())
            .field("has_cwd", &self.cwd.is_some())
            .finish()
    }
}

impl fmt::Debug for UrlEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UrlEntry")
            .field("url", &host_of(&self.url))
            .field("headers", &names(&self.headers))
            .field("transport", &self.transport)
            .finish()
    }
}
