//! [`ConfigError`]: what is wrong with a configuration, and where.

use std::fmt;

/// What is wrong with a configuration, and where: file, server, field and line, as far as they are known.
///
/// ```
/// use tinymcp::host::config::{Config, ConfigErrorKind};
///
/// let config = Config::parse(r#"{"mcpServers": {"notes": {"command": 5}}}"#, "mcp.json")?;
/// let error = &config.rejected[0];
/// assert_eq!(error.to_string(), "mcp.json:1:38: server \"notes\": command: expected a string, found a number");
/// assert_eq!((error.server(), error.field(), error.line()), (Some("notes"), Some("command"), Some(1)));
/// assert_eq!(error.kind(), ConfigErrorKind::Value);
/// # Ok::<(), tinymcp::host::config::ConfigError>(())
/// ```
///
/// No value of the file, of a variable or of an answer is ever part of the text, as it may be a secret: only names and kinds of values are.
/// `Debug` shows the same text.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigError(Box<Parts>);

#[derive(Clone, PartialEq, Eq)]
struct Parts {
    kind: ConfigErrorKind,
    file: Option<String>,
    server: Option<String>,
    field: Option<String>,
    variable: Option<String>,
    place: Option<(usize, usize)>,
    problem: String,
}

/// What kind of thing is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigErrorKind {
    /// There is no such file. Often this is no error at all: nothing is configured yet.
    Missing,
    /// The file is there and cannot be read.
    Unreadable,
    /// A file, or a value after its variables were replaced, is over its limit.
    TooLarge,
    /// The file is not JSON.
    Syntax,
    /// The file has comments or trailing commas, and this program was built without the feature `jsonc`.
    NeedsJsonc,
    /// A value has the wrong type, or cannot be used: a NUL byte in an argument.
    Value,
    /// The same name is given twice.
    Duplicate,
    /// A variable, input or secret has no value and no default.
    Unset,
    /// A [`SecretSource`](super::SecretSource) failed.
    Source,
    /// The file is not as it was when it was read.
    Changed,
    /// The file could not be written.
    Unwritable,
}

impl ConfigError {
    pub(super) fn new(kind: ConfigErrorKind, problem: impl Into<String>) -> Self {
        let problem = problem.into();
        let (file, server, field, variable, place) = (None, None, None, None, None);
        Self(Box::new(Parts { kind, file, server, field, variable, place, problem }))
    }

    pub(super) fn value(problem: impl Into<String>) -> Self {
        Self::new(ConfigErrorKind::Value, problem)
    }

    /// Of this file, unless it is known already.
    pub(super) fn of_file(mut self, file: Option<&str>) -> Self {
        self.0.file = self.0.file.or_else(|| file.map(str::to_owned));
        self
    }

    pub(super) fn of_server(mut self, server: &str) -> Self {
        self.0.server = Some(server.to_owned());
        self
    }

    pub(super) fn of_variable(mut self, name: &str) -> Self {
        self.0.variable = Some(name.to_owned());
        self
    }

    /// The same problem, seen from what holds the value as `name`.
    pub(super) fn inside(mut self, name: &str) -> Self {
        self.0.field = Some(match self.0.field.take() {
            Some(inner) if inner.starts_with('[') => format!("{name}{inner}"),
            Some(inner) => format!("{name}.{inner}"),
            None => name.to_owned(),
        });
        self
    }

    /// In this line and column, unless they are known already.
    pub(super) fn at(mut self, place: Option<(usize, usize)>) -> Self {
        self.0.place = self.0.place.or(place);
        self
    }

    /// What kind of thing is wrong.
    #[must_use]
    pub fn kind(&self) -> ConfigErrorKind {
        self.0.kind
    }

    /// Whether there is no such file, which often means that nothing is configured yet.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.0.kind == ConfigErrorKind::Missing
    }

    /// The file, as it was named.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// The server.
    #[must_use]
    pub fn server(&self) -> Option<&str> {
        self.0.server.as_deref()
    }

    /// The field: `env.TOKEN`, `args[2]`, `inputs[0].id`.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        self.0.field.as_deref()
    }

    /// The variable that has no value: `TOKEN`, `input:token`, `workspaceFolder`.
    #[must_use]
    pub fn variable(&self) -> Option<&str> {
        self.0.variable.as_deref()
    }

    /// The line, from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.0.place.map(|(line, _)| line)
    }

    /// The column in bytes, from 1.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.0.place.map(|(_, column)| column)
    }

    /// What is wrong there, without the place.
    #[must_use]
    pub fn problem(&self) -> &str {
        &self.0.problem
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.0.file {
            write!(f, "{}", shown(file, usize::MAX))?;
            if let Some((line, column)) = self.0.place {
                write!(f, ":{line}:{column}")?;
            }
            f.write_str(": ")?;
        }
        if let Some(server) = &self.0.server {
            write!(f, "server \"{}\": ", shown(server, NAME_CHARS))?;
        }
        if let Some(field) = &self.0.field {
            write!(f, "{}: ", shown(field, NAME_CHARS))?;
        }
        f.write_str(&self.0.problem)
    }
}

impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ConfigError {}

impl From<ConfigError> for crate::Error {
    /// What is configured cannot be used.
    fn from(error: ConfigError) -> Self {
        Self::InvalidUse(error.to_string())
    }
}

/// So much of a name is shown in an error.
const NAME_CHARS: usize = 120;

/// A name as it can be shown: files may name anything.
pub(super) fn shown(text: &str, characters: usize) -> String {
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i >= characters {
            out.push('…');
            break;
        }
        match c {
            '"' | '\'' | '\\' => out.push(c),
            _ => out.extend(c.escape_debug()),
        }
    }
    out
}

/// A name of a variable or header, without what may be its value, written to the wrong place.
pub(super) fn name_alone(name: &str) -> String {
    let is_end = |c: char| matches!(c, '=' | ':') || c.is_whitespace() || c.is_control();
    match name.find(is_end) {
        Some(end) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// A name of a variable, as it can be shown.
pub(super) fn shown_name(name: &str) -> String {
    shown(name, NAME_CHARS)
}
