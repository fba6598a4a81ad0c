//! [`RootError`]: what is wrong with a path, in the words of whoever gave it.

use std::fmt;
use std::io;
use std::path::Path;

use crate::guard::path::shown;

/// Why something in a [`Root`](super::Root) could not be done.
///
/// The text names the path as it was given, and never where the folder really is, unless
/// [`Root::show_location`](super::Root::show_location) allows that. With `?` it becomes a [`ToolError`](crate::ToolError).
///
/// ```
/// use tinymcp::guard::{Root, RootErrorKind};
///
/// let folder = Root::open(std::env::temp_dir())?;
/// let error = folder.read("../etc/passwd").unwrap_err();
/// assert_eq!(error.to_string(), "../etc/passwd: the path leads out of the folder");
/// assert_eq!(error.kind(), RootErrorKind::BadPath);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[error("{path}: {problem}{location}")]
pub struct RootError {
    path: String,
    problem: String,
    location: Location,
    kind: RootErrorKind,
    #[source]
    source: Option<io::Error>,
}

/// Where the folder is, for texts, if that may be told.
#[derive(Clone, Default)]
pub(super) struct Location(pub(super) Option<String>);

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |location| write!(f, " (in {location})"))
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What kind of problem a [`RootError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RootErrorKind {
    /// The text is no path beneath the folder, whatever is there.
    BadPath,
    /// A link on the way leads out of the folder.
    Outside,
    /// Nothing is there.
    NotFound,
    /// Something is there already.
    Exists,
    /// It is a folder, a device, a pipe: nothing to be read or written as a file.
    NotAFile,
    /// It is no folder.
    NotAFolder,
    /// A file, or what was to be written, has more bytes than allowed.
    TooLarge,
    /// A folder has more entries than allowed.
    TooMany,
    /// A file is not UTF-8.
    NotText,
    /// Nothing may be changed here.
    ReadOnly,
    /// The system refused; [`source`](std::error::Error::source) is its error.
    System,
}

impl RootError {
    pub(super) fn new(path: &Path, kind: RootErrorKind, problem: impl Into<String>) -> Self {
        Self { path: shown(path), problem: problem.into(), location: Location::default(), kind, source: None }
    }

    /// What the system says about `path`.
    pub(super) fn of(path: &Path, error: io::Error) -> Self {
        use RootErrorKind as Kind;
        let (kind, problem) = match error.kind() {
            // cap-std's own error for what would lead out; the system's has a number.
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
                (Kind::Outside, "a link leads out of the folder")
            }
            io::ErrorKind::NotFound => (Kind::NotFound, "not found"),
            io::ErrorKind::AlreadyExists => (Kind::Exists, "it exists already"),
            io::ErrorKind::NotADirectory => (Kind::NotAFolder, "not a folder"),
            io::ErrorKind::IsADirectory => (Kind::NotAFile, "a folder, not a file"),
            _ => {
                return Self { source: Some(error), ..Self::new(path, Kind::System, "the system refused") };
            }
        };
        Self::new(path, kind, problem)
    }

    pub(super) fn located(self, location: Location) -> Self {
        Self { location, ..self }
    }

    /// What kind of problem it is.
    #[must_use]
    pub fn kind(&self) -> RootErrorKind {
        self.kind
    }

    /// The path as it was given, with control characters escaped, and cut after 200 characters.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// For functions that return [`io::Result`].
impl From<RootError> for io::Error {
    fn from(error: RootError) -> Self {
        use RootErrorKind as Kind;
        let kind = match error.kind {
            Kind::BadPath | Kind::NotText => io::ErrorKind::InvalidInput,
            Kind::Outside | Kind::ReadOnly => io::ErrorKind::PermissionDenied,
            Kind::NotFound => io::ErrorKind::NotFound,
            Kind::Exists => io::ErrorKind::AlreadyExists,
            Kind::NotAFolder => io::ErrorKind::NotADirectory,
            Kind::NotAFile | Kind::TooLarge | Kind::TooMany => io::ErrorKind::Other,
            Kind::System => error.source.as_ref().map_or(io::ErrorKind::Other, io::Error::kind),
        };
        Self::new(kind, error)
    }
}
