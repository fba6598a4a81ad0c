//! [`Resolver`]: replaces what an entry names.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, MAIN_SEPARATOR, MAIN_SEPARATOR_STR, Path, PathBuf};
use std::sync::Arc;

use super::answers::Answers;
use super::entry::{CommandEntry, Reach, ServerEntry, UrlEntry};
use super::error::{ConfigError, ConfigErrorKind, shown_name};
use super::input::{Input, InputKind};
use super::launch::{Launch, LaunchReach, UrlTransport};
use super::secret::{Environment, Secret, SecretError, SecretSource};
use super::template::{Piece, split};
use super::{Config, check, env_file, files};
use crate::json::Json;

/// So many bytes the values of one server may have, when everything is replaced: more than a system lets a program have.
const MAX_VALUE_BYTES: usize = 4 * 1024 * 1024;

/// Replaces what entries name: variables, answers of the user, secrets, folders.
///
/// | in a file | becomes |
/// |---|---|
/// | `${env:NAME}`, `${NAME}` | the variable; not set is an error |
/// | `${env:NAME:-default}`, `${NAME:-default}` | the variable, or the default if it is not set or empty, as in shells. A default may name others |
/// | `${input:id}` | what the user answers; asked once for each id, or until there is an answer |
/// | `${secret:name}` | a secret of a [`SecretSource`] |
/// | `${workspaceFolder}`, `${workspaceFolderBasename}` | [`workspace`](Self::workspace), and its last part |
/// | `${userHome}` | the user's home folder |
/// | `${pathSeparator}`, `${/}` | `/`, or `\` on Windows |
/// | any other `$` | itself |
///
/// This is done in `command`, `args`, `env`, `cwd`, `envFile`, `url` and `headers`; never in names, and never in what came of it: a variable
/// whose value is `${TOKEN}` stays that text.
///
/// Where folders are concerned: a `~` that begins `command`, `cwd` or `envFile` is the home folder (arguments are not looked at: there it
/// may mean anything). A relative `cwd` or `envFile` is below the workspace, or else below the folder of the file that the entry is from. A
/// `command` with a separator in it, `./server`, is below `cwd`, or else the same. A server without a `cwd` is started in the workspace, or
/// else where this process is.
///
/// ```
/// use std::collections::BTreeMap;
/// use tinymcp::host::config::{LaunchReach, Resolver, ServerEntry};
///
/// let entry = ServerEntry::command("notes", "notes-server", ["--dir", "${workspaceFolder}/notes"])
///     .with_env("TOKEN", "${env:NOTES_TOKEN}");
/// let variables = BTreeMap::from([("NOTES_TOKEN".to_owned(), "s3cr3t".to_owned())]);
/// let launch = Resolver::new().workspace("/srv/project").secrets(variables).resolve(&entry)?;
///
/// let LaunchReach::Command { args, env, .. } = &launch.reach else { unreachable!() };
/// assert_eq!(args[1].reveal(), "/srv/project/notes");
/// assert_eq!(env["TOKEN"].reveal(), "s3cr3t");
/// assert!(!format!("{launch:?}").contains("s3cr3t"));
/// # Ok::<(), tinymcp::host::config::ConfigError>(())
/// ```
pub struct Resolver {
    sources: Vec<Arc<dyn SecretSource>>,
    asks_environment: bool,
    inputs: BTreeMap<String, Input>,
    answers: Answers,
    workspace: Option<PathBuf>,
    home: Option<PathBuf>,
    max_file_bytes: usize,
}

impl Default for Resolver {
    fn default() -> Self {
        Self::new()
    }
}

impl Resolver {
    /// One that knows the environment of this process, and the user's home folder from it.
    #[must_use]
    pub fn new() -> Self {
        let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        let home = std::env::var_os(home).filter(|home| !home.is_empty()).map(PathBuf::from);
        let (sources, inputs, answers) = (Vec::new(), BTreeMap::new(), Answers::default());
        let max_file_bytes = Config::MAX_BYTES;
        Self { sources, asks_environment: true, inputs, answers, workspace: None, home, max_file_bytes }
    }

    /// The same, with the inputs that `config` declares.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        config.inputs.iter().cloned().fold(Self::new(), Self::input)
    }

    /// Asks `source`, after those given before and before the environment.
    #[must_use]
    pub fn secrets(mut self, source: impl SecretSource + 'static) -> Self {
        self.sources.push(Arc::new(source));
        self
    }

    /// Does not ask the environment of this process.
    #[must_use]
    pub fn no_environment(mut self) -> Self {
        self.asks_environment = false;
        self
    }

    /// Declares an input. One that an entry names and nobody declared is asked for as a password without a question.
    #[must_use]
    pub fn input(mut self, input: Input) -> Self {
        self.inputs.insert(input.id.clone(), input);
        self
    }

    /// Answers the input `id`: no source is asked.
    #[must_use]
    pub fn answer(self, id: &str, answer: impl Into<Secret>) -> Self {
        self.answers.set(id, answer.into());
        self
    }

    /// Forgets what was answered for `id`, so that it is asked for again.
    pub fn forget(&self, id: &str) {
        self.answers.forget(id);
    }

    /// The folder that is worked in. A relative one is below that of this process.
    #[must_use]
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        self.workspace = Some(std::path::absolute(&folder).unwrap_or(folder));
        self
    }

    /// The user's home folder, instead of the environment's.
    #[must_use]
    pub fn home(mut self, folder: impl Into<PathBuf>) -> Self {
        self.home = Some(folder.into());
        self
    }

    /// Up to this many bytes of an `envFile` are read; a larger one is an error. Default: 1 MiB.
    #[must_use]
    pub fn max_file_bytes(mut self, bytes: usize) -> Self {
        self.max_file_bytes = bytes;
        self
    }

    /// [`ServerEntry::canonical`], and the workspace that a server would be started in: what to keep when a user has allowed to start it.
    #[must_use]
    pub fn canonical(&self, entry: &ServerEntry) -> String {
        let mut members = entry.canonical_members();
        if let (Some(workspace), Reach::Command(_)) = (&self.workspace, &entry.reach) {
            members.insert("workspace", &workspace.to_string_lossy());
        }
        Json::from(members).as_str().to_owned()
    }

    /// Replaces everything in `entry`. May be called by several threads at once; sources are asked on the thread that calls.
    ///
    /// # Errors
    /// Naming file, server, field and variable: when one has no value and no default, when a source fails, when a value cannot be used (a
    /// line break in a header), when its file of variables cannot be read, or when the values of one server are together over 4 MiB.
    pub fn resolve(&self, entry: &ServerEntry) -> Result<Launch, ConfigError> {
        let work = || {
            check::entry(entry)?;
            let (variables, replaced) = (BTreeMap::new(), Vec::new());
            let mut expansion = Expansion { resolver: self, variables, replaced, left: MAX_VALUE_BYTES };
            let reach = match &entry.reach {
                Reach::Command(command) => self.command(&mut expansion, command, entry.source.as_deref())?,
                Reach::Url(url) => Self::url(&mut expansion, url)?,
            };
            Ok(Launch { name: entry.name.clone(), reach, replaced: expansion.replaced })
        };
        work().map_err(|error: ConfigError| entry.place(error))
    }

    fn command(
        &self,
        expansion: &mut Expansion<'_>,
        entry: &CommandEntry,
        source: Option<&Path>,
    ) -> Result<LaunchReach, ConfigError> {
        // Below the folder of the file, if there is no workspace; both may be relative to that of this process.
        let folder = source.and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
        let base = self.workspace.as_deref().or(folder);
        let below = |base: Option<&Path>, path: PathBuf| match base {
            Some(base) => plain_join(base, &path),
            None => path,
        };

        let cwd = match &entry.cwd {
            Some(cwd) => Some(below(base, expansion.path("cwd", cwd)?)),
            None => self.workspace.clone(),
        };
        let program = expansion.text(&entry.command).and_then(|text| check::program(&text).map(|()| text));
        let mut program = program.and_then(|text| self.at_home(text)).map_err(|e| e.inside("command"))?;
        let has_separator = program.contains('/') || program.contains(MAIN_SEPARATOR);
        if has_separator && Path::new(&program).is_relative() {
            let path = below(cwd.as_deref().or(base), PathBuf::from(&program));
            let not_text = || ConfigError::value("its folder is not named in UTF-8").inside("command");
            program = path.into_os_string().into_string().map_err(|_| not_text())?;
        }

        let mut args = Vec::with_capacity(entry.args.len());
        for (i, arg) in entry.args.iter().enumerate() {
            let arg = expansion.text(arg).and_then(|text| check::no_nul(&text).map(|()| text));
            args.push(arg.map_err(|e| e.inside(&format!("[{i}]")).inside("args"))?.into());
        }

        let mut env = BTreeMap::new();
        if let Some(path) = &entry.env_file {
            let path = below(base, expansion.path("envFile", path)?);
            let read = files::read(&path, self.max_file_bytes).and_then(|text| env_file::variables(&text));
            let variables = read.map_err(|error| {
                let problem = format!("{}: {}", shown_name(&path.display().to_string()), error.problem());
                ConfigError::new(error.kind(), problem).inside("envFile")
            })?;
            let variables = variables.into_iter().map(|(name, text)| (name, Secret::from(text)));
            env.extend(variables.inspect(|(_, value)| expansion.replaced.push(value.clone())));
        }
        for (name, text) in &entry.env {
            let text = expansion.text(text).and_then(|text| check::no_nul(&text).map(|()| text));
            env.insert(name.clone(), text.map_err(|e| e.inside(name).inside("env"))?.into());
        }
        env.retain(|name, _| !entry.env_removed.contains(name));
        Ok(LaunchReach::Command { program, args, env, env_removed: entry.env_removed.clone(), cwd })
    }

    fn url(expansion: &mut Expansion<'_>, entry: &UrlEntry) -> Result<LaunchReach, ConfigError> {
        let url = expansion.text(&entry.url).and_then(|text| check::address(&text).map(|()| text));
        let url = url.map_err(|e| e.inside("url"))?.into();
        let mut headers = BTreeMap::new();
        for (name, text) in &entry.headers {
            let text = expansion.text(text).and_then(|text| check::header_value(&text).map(|()| text));
            headers.insert(name.clone(), text.map_err(|e| e.inside(name).inside("headers"))?.into());
        }
        let word = entry.transport.as_deref().unwrap_or_default();
        let transport = match word.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
            "" | "remote" => UrlTransport::Any,
            "http" | "streamablehttp" => UrlTransport::Http,
            "sse" => UrlTransport::Sse,
            "ws" | "websocket" => {
                return Err(ConfigError::value("WebSocket is not spoken here: http or sse is").inside("type"));
            }
            _ => return Err(ConfigError::value("expected http, streamable-http or sse").inside("type")),
        };
        Ok(LaunchReach::Url { url, headers, transport })
    }

    /// The home folder in place of a `~` that begins a path.
    fn at_home(&self, path: String) -> Result<String, ConfigError> {
        let rest = match path.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with(['/', MAIN_SEPARATOR]) => rest,
            _ => return Ok(path),
        };
        Ok(self.home_text("~")? + rest)
    }

    fn home_text(&self, name: &str) -> Result<String, ConfigError> {
        let home = self.home.as_deref().ok_or_else(|| unset(name, "the user has no home folder"))?;
        folder_text(name, home)
    }

    fn workspace_folder(&self, name: &str) -> Result<&Path, ConfigError> {
        self.workspace.as_deref().ok_or_else(|| unset(name, "no workspace is open"))
    }

    /// The first answer of the sources.
    fn ask(
        &self,
        name: &str,
        ask: impl Fn(&dyn SecretSource) -> Result<Option<Secret>, SecretError>,
    ) -> Result<Option<Secret>, ConfigError> {
        let environment: Option<&dyn SecretSource> =
            if self.asks_environment { Some(&Environment) } else { None };
        let sources = self.sources.iter().map(|source| &**source).chain(environment);
        for source in sources {
            match ask(source) {
                Ok(None) => {}
                Ok(found) => return Ok(found),
                Err(error) => {
                    let problem = format!("{}: {error}", shown_name(name));
                    return Err(ConfigError::new(ConfigErrorKind::Source, problem).of_variable(name));
                }
            }
        }
        Ok(None)
    }

    fn answer_of(&self, id: &str) -> Result<Secret, ConfigError> {
        let name = format!("input:{id}");
        let nested = || {
            let problem = format!("{} is needed to answer itself", shown_name(&name));
            ConfigError::new(ConfigErrorKind::Source, problem).of_variable(&name)
        };
        let declared = self.inputs.get(id);
        let undeclared;
        let input = match declared {
            Some(input) => input,
            None => {
                undeclared = Input::undeclared(id);
                &undeclared
            }
        };
        self.answers.get(id, nested, || {
            let answer = self.ask(&name, |source| source.input(input))?;
            let answer = answer.or_else(|| input.default.as_deref().map(Secret::from));
            let answer = answer.ok_or_else(|| match declared {
                Some(_) => unset(&name, "nobody answers, and it has no default"),
                None => unset(&name, "nobody answers, and no such input is declared"),
            })?;
            if let InputKind::Pick { options } = &input.kind {
                if !options.iter().any(|option| option.value == answer.reveal()) {
                    let problem = format!("{}: the answer is none of the options", shown_name(&name));
                    return Err(ConfigError::value(problem).of_variable(&name));
                }
            }
            Ok(answer)
        })
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver")
            .field("sources", &self.sources.len())
            .field("asks_environment", &self.asks_environment)
            .field("inputs", &self.inputs.keys().collect::<Vec<_>>())
            .field("workspace", &self.workspace)
            .field("home", &self.home)
            .finish_non_exhaustive()
    }
}

/// The values of one entry.
struct Expansion<'a> {
    resolver: &'a Resolver,
    /// What has been looked up, so that one name has one value.
    variables: BTreeMap<String, Option<Secret>>,
    /// What was put in place of a name.
    replaced: Vec<Secret>,
    /// How many bytes there may still be.
    left: usize,
}

impl Expansion<'_> {
    fn text(&mut self, text: &str) -> Result<String, ConfigError> {
        let mut out = String::new();
        self.write(&mut out, &split(text).map_err(ConfigError::value)?)?;
        Ok(out)
    }

    fn path(&mut self, field: &str, text: &str) -> Result<PathBuf, ConfigError> {
        let path = self.text(text).and_then(|path| match path.is_empty() {
            true => Err(ConfigError::value("is empty")),
            false => check::no_nul(&path).and_then(|()| self.resolver.at_home(path)),
        });
        path.map(PathBuf::from).map_err(|e| e.inside(field))
    }

    fn write(&mut self, out: &mut String, pieces: &[Piece<'_>]) -> Result<(), ConfigError> {
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.push(out, text)?,
                Piece::PathSeparator => self.push(out, MAIN_SEPARATOR_STR)?,
                Piece::Variable { name, default } => match (self.variable(name)?, default) {
                    (Some(value), Some(default)) if value.reveal().is_empty() => self.write(out, default)?,
                    (Some(value), _) => self.replace(out, value)?,
                    (None, Some(default)) => self.write(out, default)?,
                    (None, None) => return Err(unset(name, "not set, and it has no default")),
                },
                Piece::Input(id) => {
                    let answer = self.resolver.answer_of(id)?;
                    self.replace(out, answer)?;
                }
                Piece::Secret(name) => {
                    let full = format!("secret:{name}");
                    let value = self.resolver.ask(&full, |source| source.secret(name))?;
                    let value = value.ok_or_else(|| unset(&full, "no source has it"))?;
                    self.replace(out, value)?;
                }
                Piece::WorkspaceFolder => {
                    let name = "workspaceFolder";
                    let folder = folder_text(name, self.resolver.workspace_folder(name)?)?;
                    self.push(out, &folder)?;
                }
                Piece::WorkspaceFolderBasename => {
                    let name = "workspaceFolderBasename";
                    let last = self.resolver.workspace_folder(name)?.file_name();
                    let last = last.ok_or_else(|| unset(name, "the workspace has no name"))?;
                    let last = folder_text(name, Path::new(last))?;
                    self.push(out, &last)?;
                }
                Piece::UserHome => {
                    let home = self.resolver.home_text("userHome")?;
                    self.push(out, &home)?;
                }
            }
        }
        Ok(())
    }

    fn replace(&mut self, out: &mut String, value: Secret) -> Result<(), ConfigError> {
        self.push(out, value.reveal())?;
        if !self.replaced.contains(&value) {
            self.replaced.push(value);
        }
        Ok(())
    }

    fn push(&mut self, out: &mut String, text: &str) -> Result<(), ConfigError> {
        let too_large = || {
            let problem = format!("the values of a server exceed {MAX_VALUE_BYTES} bytes");
            ConfigError::new(ConfigErrorKind::TooLarge, problem)
        };
        self.left = self.left.checked_sub(text.len()).ok_or_else(too_large)?;
        out.push_str(text);
        Ok(())
    }

    fn variable(&mut self, name: &str) -> Result<Option<Secret>, ConfigError> {
        if let Some(known) = self.variables.get(name) {
            return Ok(known.clone());
        }
        let found = self.resolver.ask(name, |source| source.variable(name))?;
        self.variables.insert(name.to_owned(), found.clone());
        Ok(found)
    }
}

fn unset(name: &str, why: &str) -> ConfigError {
    ConfigError::new(ConfigErrorKind::Unset, format!("{}: {why}", shown_name(name))).of_variable(name)
}

fn folder_text(name: &str, folder: &Path) -> Result<String, ConfigError> {
    let text = folder.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        ConfigError::value(format!("{name}: the folder is not named in UTF-8")).of_variable(name)
    })
}

/// `path` below `base`, without the `.` that it may begin with.
fn plain_join(base: &Path, path: &Path) -> PathBuf {
    base.join(path.components().skip_while(|part| *part == Component::CurDir).collect::<PathBuf>())
}
