//! [`Config`]: one file of servers.

use std::fmt;
use std::path::{Path, PathBuf};

use super::entry::ServerEntry;
use super::error::{ConfigError, ConfigErrorKind};
use super::input::Input;
use super::layout::parts;
use super::read::contents;
use super::text::Plain;
use super::{files, write};

/// One file of servers.
///
/// ```
/// use tinymcp::host::config::Config;
///
/// let config = Config::parse(
///     r#"{"mcpServers": {
///         "notes": {"command": "notes-server", "args": ["--verbose"]},
///         "broken": {"args": []}
///     }}"#,
///     "mcp.json",
/// )?;
/// assert_eq!(config.servers[0].name, "notes");
/// assert_eq!(config.rejected[0].to_string(), "mcp.json:3:19: server \"broken\": has neither command nor url");
/// # Ok::<(), tinymcp::host::config::ConfigError>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Config {
    /// The servers, in the order of the file. Those that are disabled are among them.
    pub servers: Vec<ServerEntry>,
    /// What the user is asked for.
    pub inputs: Vec<Input>,
    /// What is wrong with entries that could not be read. They stay in the file when it is written.
    pub rejected: Vec<ConfigError>,
    source: Option<PathBuf>,
    section: Option<&'static str>,
    /// The file's text: what is written is this with what has changed.
    original: String,
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

impl Config {
    /// Up to this many bytes of a file are read: 1 MiB.
    pub const MAX_BYTES: usize = 1024 * 1024;

    /// A file that is not there yet, without servers. Its servers are written under `mcpServers`.
    #[must_use]
    pub fn new() -> Self {
        let (servers, inputs, rejected) = (Vec::new(), Vec::new(), Vec::new());
        Self { servers, inputs, rejected, source: None, section: None, original: "{}\n".into() }
    }

    /// Reads the file at `path`.
    ///
    /// # Errors
    /// When there is none, which [`is_missing`](ConfigError::is_missing) tells; when it cannot be read, is over 1 MiB, or is not JSON or not
    /// an object; when a section is there twice. What is wrong with one server is in [`rejected`](Self::rejected) instead.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        Self::read_limited(path, Self::MAX_BYTES)
    }

    /// Reads the file at `path`, if it has up to `max_bytes`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_limited(path: impl AsRef<Path>, max_bytes: usize) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let text = files::read(path, max_bytes).map_err(|e| e.of_file(Some(&path.display().to_string())))?;
        Self::of_text(text, path, &whole(path))
    }

    /// Reads a text of up to 1 MiB that errors call `name`, and that is taken for a file of this name: what is relative in it is below the
    /// folder in that.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(text: &str, name: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let name = name.as_ref();
        if text.len() > Self::MAX_BYTES {
            let problem = format!("the text exceeds {} bytes", Self::MAX_BYTES);
            let error = ConfigError::new(ConfigErrorKind::TooLarge, problem);
            return Err(error.of_file(Some(&name.display().to_string())));
        }
        Self::of_text(text.to_owned(), name, name)
    }

    /// `name` is for errors, `source` what entries remember.
    fn of_text(original: String, name: &Path, source: &Path) -> Result<Self, ConfigError> {
        let file = name.display().to_string();
        let read = || {
            let plain = Plain::of(&original)?;
            let parts = parts(&plain)?;
            let section = parts.sections.first().map(|section| section.path);
            Ok((contents(&plain, &parts, &file, source), section))
        };
        let (contents, section) = read().map_err(|e: ConfigError| e.of_file(Some(&file)))?;
        let (servers, inputs, rejected) = (contents.servers, contents.inputs, contents.rejected);
        Ok(Self { servers, inputs, rejected, source: Some(source.to_owned()), section, original })
    }

    /// The file it was read from, by its whole path.
    #[must_use]
    pub fn source(&self) -> Option<&Path> {
        self.source.as_deref()
    }

    /// Where in the file the servers are: `mcpServers`, `servers`, `context_servers`, `amp.mcpServers`, `mcp.servers` or `mcp`; empty for a
    /// file of nothing but servers. `None` for one that has no place for any, which may be a mistake in its name.
    #[must_use]
    pub fn section(&self) -> Option<&str> {
        self.section
    }

    /// The server called `name`.
    #[must_use]
    pub fn server(&self, name: &str) -> Option<&ServerEntry> {
        self.servers.iter().find(|entry| entry.name == name)
    }

    /// The text of the file with what has changed: servers that were added, changed or taken out of [`servers`](Self::servers), and
    /// [`inputs`](Self::inputs) if they have changed. Everything else stays as it was, with comments, order, and the spelling of numbers.
    ///
    /// New servers come after the others, in the way this file has them: `type` where editors want it.
    ///
    /// # Errors
    /// When two servers have the same name, or one has what no file can say.
    ///
    /// # Example
    /// ```
    /// use tinymcp::host::config::{Config, ServerEntry};
    ///
    /// let mut config = Config::parse(r#"{"theme": "dark", "mcpServers": {}}"#, "settings.json")?;
    /// config.servers.push(ServerEntry::command("notes", "notes-server", ["--verbose"]));
    /// assert_eq!(
    ///     config.to_text()?,
    ///     r#"{"theme": "dark", "mcpServers": {
    ///   "notes": {
    ///     "command": "notes-server",
    ///     "args": ["--verbose"]
    ///   }
    /// }}"#
    /// );
    /// # Ok::<(), tinymcp::host::config::ConfigError>(())
    /// ```
    pub fn to_text(&self) -> Result<String, ConfigError> {
        let file = self.source.as_ref().map(|path| path.display().to_string());
        write::text(&self.original, &self.servers, &self.inputs).map_err(|e| e.of_file(file.as_deref()))
    }

    /// Writes [`to_text`](Self::to_text) to the file at `path`: all of it or, whatever happens, what was there before, as another file is
    /// written, brought to the disk and renamed. The permissions of a file that is there stay; a new one can be read by its owner alone. A
    /// symbolic link stays one.
    ///
    /// # Errors
    /// Those of `to_text`; when the file cannot be written; [`Changed`](ConfigErrorKind::Changed) when it is the one that this was read from
    /// and is not as it was then: another program has written it, and nothing of that is to be lost. Read it again.
    pub fn write(&mut self, path: impl AsRef<Path>) -> Result<(), ConfigError> {
        let path = path.as_ref();
        let file = path.display().to_string();
        let text = self.to_text()?;
        let work = || {
            if self.source.as_deref() == Some(whole(path).as_path()) {
                match files::read(path, self.original.len()) {
                    Ok(now) if now == self.original => {}
                    Err(error) if error.is_missing() => {}
                    Ok(_) | Err(_) => {
                        let problem = "is not as it was when it was read: read it again before it is written";
                        return Err(ConfigError::new(ConfigErrorKind::Changed, problem));
                    }
                }
            }
            files::write(path, &text)
        };
        work().map_err(|e| e.of_file(Some(&file)))?;
        let written = Self::of_text(text, path, &whole(path))?;
        *self = written;
        Ok(())
    }
}

/// The path that names the same file wherever this process is: what is remembered of a file must not be true of another.
fn whole(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("servers", &self.servers)
            .field("inputs", &self.inputs)
            .field("rejected", &self.rejected)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}
