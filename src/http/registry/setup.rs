//! [`Setup`]: a configuration entry, made of what a registry says.

use std::collections::BTreeSet;
use std::fmt;

use super::command::{self, is_header_name};
use super::detail::{Package, PackageTransport, Remote, RemoteKind};
use super::error::{SetupError, SetupErrorKind};
use super::fill::{Filler, key_of};
use super::page::{Listing, Status};
use crate::host::config::{Input, Reach, ServerEntry};
use crate::host::filter::visible_line;
use crate::url::Url;

/// How a server is to be set up.
///
/// ```
/// use tinymcp::http::registry::SetupOptions;
///
/// let options = SetupOptions::new()
///     .with_name("weather")
///     .with_value("UNITS", "metric")
///     .with_value("API_KEY", "${env:WEATHER_KEY}"); // a secret is only named
/// # let _ = options;
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct SetupOptions {
    pub(super) name: Option<String>,
    /// By key, in the order in which they were given.
    pub(super) values: Vec<(String, String)>,
    pub(super) secrets_from_environment: bool,
    pub(super) allows_deleted: bool,
}

/// Without the values, as somebody may give a secret in spite of all.
impl fmt::Debug for SetupOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.values.iter().map(|(key, _)| key).collect();
        f.debug_struct("SetupOptions")
            .field("name", &self.name)
            .field("values", &keys)
            .field("secrets_from_environment", &self.secrets_from_environment)
            .field("allows_deleted", &self.allows_deleted)
            .finish()
    }
}

impl SetupOptions {
    /// The entry gets the last part of the server's name; what must be given and has no default is asked for.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The entry's name.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Gives a value in place of the default, or of asking for it. `key` is the name of a variable or header, a flag, the hint of an
    /// argument, the name in braces of an address; or the id of an [`Input`] of an earlier [`Setup`].
    ///
    /// The value may name what it takes: `${env:NAME}`. That of a secret must. Given several times, it is an argument that is repeated.
    #[must_use]
    pub fn with_value(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.values.push((key_of(&key.into()), value.into()));
        self
    }

    /// Takes secret variables of a package from the environment of the host (`${env:NAME}`) and does not ask for them (`${input:…}`).
    /// The publisher chooses the names: a server could ask for a key that is meant for another one.
    #[must_use]
    pub fn with_secrets_from_environment(mut self) -> Self {
        self.secrets_from_environment = true;
        self
    }

    /// Sets up even what the registry marks as deleted.
    #[must_use]
    pub fn with_deleted(mut self) -> Self {
        self.allows_deleted = true;
        self
    }
}

/// A configuration entry for a server, and what is still to be known before it can be used.
///
/// It is not started: starting it is the user's decision, who should see [`ServerEntry::canonical`] first. A package can do whatever
/// the user can.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Setup {
    /// The entry.
    pub entry: ServerEntry,
    /// What the user must give: the entry names each as `${input:id}`. Put them into
    /// [`Config::inputs`](crate::host::config::Config::inputs), or into a [`Resolver`](crate::host::config::Resolver).
    pub inputs: Vec<Input>,
    /// What the user can give and the entry leaves out, for [`SetupOptions::with_value`].
    pub optional: Vec<Input>,
    /// What the user should know before deciding, each a line.
    pub cautions: Vec<String>,
}

impl Listing {
    /// Makes an entry of the first package or else remote that can be used.
    ///
    /// # Errors
    /// When there is none: why the first one cannot be used.
    pub fn setup(&self, options: &SetupOptions) -> Result<Setup, SetupError> {
        let mut problems = Vec::new();
        for result in self.setups(options) {
            match result {
                Ok(setup) => return Ok(setup),
                Err(error) => problems.push(error),
            }
        }
        // One that cannot take what was chosen says more than one that nothing can start.
        let at = problems.iter().position(|error| error.kind() == SetupErrorKind::Choice).unwrap_or_default();
        if at < problems.len() {
            return Err(problems.swap_remove(at));
        }
        let problem = match self.unread.first() {
            Some(unread) => format!("nothing of it can be read: {unread}"),
            None => "neither a package nor an address was published".to_owned(),
        };
        Err(SetupError::new(SetupErrorKind::CannotRun, problem).of(&self.shown()))
    }

    /// Makes an entry of each package and then of each remote, in their order.
    pub fn setups(&self, options: &SetupOptions) -> Vec<Result<Setup, SetupError>> {
        let packages = self.packages.iter().map(|package| self.setup_package(package, options));
        packages.chain(self.remotes.iter().map(|remote| self.setup_remote(remote, options))).collect()
    }

    /// Makes an entry that starts `package`.
    ///
    /// | kind | command |
    /// |---|---|
    /// | `npm` | `npx -y name@version` (`bunx`, where that is the hint) |
    /// | `pypi` | `uvx name@version` (`pipx run`, `uv tool run`) |
    /// | `oci` | `docker run -i --rm -e NAME image:tag` (`podman`) |
    /// | `nuget` | `dnx name@version --yes --` |
    ///
    /// # Errors
    /// When it is of another kind, talks over HTTP, is not pinned to a version, or is not well-formed; when the server is deleted, or a
    /// value that was chosen cannot be used.
    pub fn setup_package(&self, package: &Package, options: &SetupOptions) -> Result<Setup, SetupError> {
        let what = format!("{} ({} package)", self.shown(), visible_line(&package.registry_type));
        let make = || {
            self.check_status(options)?;
            if let PackageTransport::Url(remote) = &package.transport {
                let url = visible_line(&remote.url);
                let problem = format!("it is started by hand, and is then reached at {url}");
                return Err(SetupError::new(SetupErrorKind::CannotRun, problem));
            }
            let name = self.entry_name(options)?;
            let mut filler = Filler::new(&name, options);
            let mut cautions = self.cautions();
            let (program, args, env) = command::of(package, &mut filler, &mut cautions)?;
            let mut entry = ServerEntry::command(name, program, args);
            for (name, value) in env {
                entry = entry.with_env(name, value);
            }
            finish(entry, filler, cautions)
        };
        make().map_err(|e| e.of(&what))
    }

    /// Makes an entry that reaches `remote`.
    ///
    /// # Errors
    /// When it speaks something else than HTTP, or is not well-formed; when the server is deleted, or a value that was chosen cannot be
    /// used.
    pub fn setup_remote(&self, remote: &Remote, options: &SetupOptions) -> Result<Setup, SetupError> {
        let what = format!("{} (remote)", self.shown());
        let make = || {
            self.check_status(options)?;
            let transport = match &remote.kind {
                RemoteKind::StreamableHttp => "http",
                RemoteKind::Sse => "sse",
                RemoteKind::Other(kind) => {
                    let problem = format!("it speaks {kind}, which is not known");
                    return Err(SetupError::new(SetupErrorKind::CannotRun, problem));
                }
            };
            let name = self.entry_name(options)?;
            let mut filler = Filler::new(&name, options);
            let mut cautions = self.cautions();
            let url = filler.address(&remote.url, &remote.variables)?;
            if !url.contains("${") {
                let url = Url::parse(&url).map_err(|e| SetupError::malformed(format!("its address: {e}")))?;
                if !url.is_secure() && !url.is_loopback() {
                    cautions.push(format!("{url}: what is sent there can be read and changed on its way"));
                }
            } else if url.starts_with("http://") {
                cautions
                    .push("what is sent to its http address can be read and changed on its way".to_owned());
            }
            let mut entry = ServerEntry::url(name, url).with_transport(transport);
            let mut seen = BTreeSet::new();
            for header in &remote.headers {
                if !is_header_name(&header.name) {
                    let problem = format!("no name of a header: {}", visible_line(&header.name));
                    return Err(SetupError::malformed(problem));
                }
                if !seen.insert(header.name.to_ascii_lowercase()) {
                    return Err(SetupError::malformed(format!("the header {} is given twice", header.name)));
                }
                if let Some(value) = filler.fill(&header.name, &header.field, false)?.pop() {
                    entry = entry.with_header(&header.name, value);
                }
            }
            finish(entry, filler, cautions)
        };
        make().map_err(|e| e.of(&what))
    }

    fn shown(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    fn check_status(&self, options: &SetupOptions) -> Result<(), SetupError> {
        if self.status != Some(Status::Deleted) || options.allows_deleted {
            return Ok(());
        }
        let problem = match &self.status_message {
            Some(message) => format!("deleted: {}", visible_line(message)),
            None => "deleted".to_owned(),
        };
        Err(SetupError::new(SetupErrorKind::Deleted, problem))
    }

    fn cautions(&self) -> Vec<String> {
        let mut cautions = Vec::new();
        if let Some(status) = self.status.as_ref().filter(|status| **status != Status::Active) {
            cautions.push(match &self.status_message {
                Some(message) => format!("the registry marks it as {status}: {}", visible_line(message)),
                None => format!("the registry marks it as {status}"),
            });
        }
        if self.is_latest == Some(false) {
            cautions.push("there is a newer version".to_owned());
        }
        cautions
    }

    /// The name in a configuration: `weather` of `io.github.user/weather`.
    fn entry_name(&self, options: &SetupOptions) -> Result<String, SetupError> {
        let last = self.name.rsplit('/').next().unwrap_or_default().replace('.', "-");
        let name = options.name.clone().unwrap_or(last);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-. ".contains(c);
        if name.is_empty() || !name.chars().all(is_plain) {
            let problem = format!("no name for an entry: {}", visible_line(&name));
            return Err(SetupError::new(SetupErrorKind::Choice, problem));
        }
        Ok(name)
    }
}

fn finish(entry: ServerEntry, filler: Filler<'_>, cautions: Vec<String>) -> Result<Setup, SetupError> {
    let is_bad = |text: &str| text.contains(|c: char| c.is_control() && !matches!(c, '\t' | '\n'));
    let (is_bad, where_) = match &entry.reach {
        Reach::Command(command) => (
            command.args.iter().chain(command.env.values()).any(|text| is_bad(text)),
            "an argument or a variable",
        ),
        Reach::Url(url) => (url.headers.values().any(|text| text.contains('\n') || is_bad(text)), "a header"),
    };
    if is_bad {
        return Err(SetupError::malformed(format!("{where_} has a control character in it")));
    }
    let (inputs, optional) = filler.finish()?;
    Ok(Setup { entry, inputs, optional, cautions })
}
