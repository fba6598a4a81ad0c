//! [`Root`]: a folder that paths cannot leave.
//!
//! **Invariants:** every path is cleaned as text first, and then walked by cap-std from a handle of the folder, so that a link that is put in
//! between leads nowhere else. What is opened is looked at once more, through its handle, before it is read.

mod error;
mod list;
mod uri;
mod write;

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

use super::path::{Names, clean};

use self::error::Location;
pub use self::error::{RootError, RootErrorKind};
pub use self::list::{Entry, Walk};

/// A larger file is not read, and not written.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// What is taken for a file before anything of it was read.
const FIRST_BYTES: usize = 1024 * 1024;

/// More entries than this are not listed.
const MAX_ENTRIES: usize = 10_000;

/// Folders nested deeper are listed, but not what is in them.
const MAX_DEPTH: usize = 64;

type Result<T> = std::result::Result<T, RootError>;

/// A folder that paths cannot leave, for tools whose arguments name files.
///
/// Neither `..` nor an absolute path nor a link leads out of it, also when another process changes links at the same
/// moment: paths are walked from an open handle of the folder (on Linux by `openat2`, elsewhere a part at a time). Links that stay inside
/// are followed. Clones share the handle; the folder stays the same one even if it is renamed.
///
/// ```
/// use tinymcp::guard::Root;
/// use tinymcp::{Server, ToolError, ToolRegistry, testing, tool};
///
/// # let folder = std::env::temp_dir().join(format!("tinymcp-doc-root-{}", std::process::id()));
/// let root = Root::create(&folder)?;
/// root.create_dir_all("2026")?;
/// root.write("2026/plan.md", "tea")?;
///
/// let read = tool! {
///     /// Read a file.
///     fn read(path: String) -> Result<String, ToolError> { Ok(root.read_to_string(path)?) }
/// };
/// let tools = ToolRegistry::new().with(read)?;
/// let client = testing::pair(&Server::builder("files", "1").tools(tools).build()?)?;
/// let read = |path: &str| Ok::<_, tinymcp::Error>(client.call_tool("read", serde_json::json!({"path": path}))?.text_content());
/// assert_eq!(read("./2026//plan.md")?, "tea");
/// assert_eq!(read("/etc/passwd")?, "/etc/passwd: the path is absolute; name it from the folder on");
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Which paths are good
///
/// Relative ones, separated by `/`, of up to 4,095 bytes. `.` and doubled separators are dropped; `..` takes away the name before it, and is
/// refused where there is none. So that a server does the same everywhere, names are refused that mean something else on another
/// system: with a `\`, a colon or a control character, with a dot or a space at their end, and device names of Windows such as
/// `con` or `nul.txt`. [`native_names`](Self::native_names) takes those that this system takes. Nothing is decoded:
/// `%2e%2e` is a name of six characters, so decode what came from a URL **before** you hand it over.
///
/// # What it does not see
///
/// A hard link to a file elsewhere, and a file system that is mounted inside the folder, are part of it. Upper and lower case, and the
/// ways to write an accent, are the system's affair: compare files, not names. A read on a network file system that hangs, hangs.
#[derive(Clone)]
pub struct Root {
    dir: Arc<Dir>,
    /// For the program, and for texts only if allowed.
    location: Arc<Path>,
    names: Names,
    is_read_only: bool,
    shows_location: bool,
    max_bytes: u64,
    max_entries: usize,
}

impl Root {
    /// The folder at `folder`, which is the program's own choice and no argument of a call.
    ///
    /// # Errors
    /// When it cannot be opened, or is no folder.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let failed = |e| RootError::of(folder, e);
        let dir = Dir::open_ambient_dir(folder, ambient_authority()).map_err(failed)?;
        let location = std::fs::canonicalize(folder).map_err(failed)?;
        Ok(Self {
            dir: Arc::new(dir),
            location: location.into(),
            names: Names::Portable,
            is_read_only: false,
            shows_location: false,
            max_bytes: MAX_FILE_BYTES,
            max_entries: MAX_ENTRIES,
        })
    }

    /// The same, made with the folders above it if it is missing.
    ///
    /// # Errors
    /// When it can be neither made nor opened.
    pub fn create(folder: impl AsRef<Path>) -> Result<Self> {
        std::fs::create_dir_all(&folder).map_err(|e| RootError::of(folder.as_ref(), e))?;
        Self::open(folder)
    }

    /// A folder in it as a root of its own, with the same rules.
    ///
    /// # Errors
    /// When `path` is not the path of a folder in this one.
    pub fn subfolder(&self, path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let cleaned = self.relative(path)?;
        let dir = self.dir.open_dir(&cleaned).map_err(|e| self.failed(path, e))?;
        Ok(Self { dir: Arc::new(dir), location: self.location.join(cleaned).into(), ..self.clone() })
    }

    /// Refuses everything that changes a file or a folder.
    #[must_use]
    pub fn read_only(self) -> Self {
        Self { is_read_only: true, ..self }
    }

    /// Takes all names that this system takes, for folders that exist already. On Windows nothing changes.
    #[must_use]
    pub fn native_names(self) -> Self {
        Self { names: Names::Native, ..self }
    }

    /// Lets errors say where the folder is. Otherwise only [`location`](Self::location) knows.
    #[must_use]
    pub fn show_location(self) -> Self {
        Self { shows_location: true, ..self }
    }

    /// How many bytes a file may have that is read as a whole, or written. Default: 8 MiB.
    #[must_use]
    pub fn max_file_bytes(self, max_bytes: u64) -> Self {
        Self { max_bytes, ..self }
    }

    /// How many entries [`read_dir`](Self::read_dir) and [`walk`](Self::walk) list. Default: 10,000.
    #[must_use]
    pub fn max_entries(self, max_entries: usize) -> Self {
        Self { max_entries, ..self }
    }

    /// Where the folder was when it was opened, without links. For the program; not for the caller of a tool.
    #[must_use]
    pub fn location(&self) -> &Path {
        &self.location
    }

    /// `path` cleaned: without `.`, `..` and doubled separators; `.` for the folder itself. No file is looked at.
    ///
    /// # Errors
    /// When it is no path beneath the folder; [see above](Self#which-paths-are-good).
    ///
    /// ```
    /// # let root = tinymcp::guard::Root::open(std::env::temp_dir())?;
    /// assert_eq!(root.relative("a/./b//../c")?, std::path::Path::new("a/c"));
    /// assert_eq!(
    ///     root.relative("a\\b").unwrap_err().to_string(),
    ///     r"a\b: the path has a \; folders are separated by /"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn relative(&self, path: impl AsRef<Path>) -> Result<PathBuf> {
        let path = path.as_ref();
        clean(path, self.names).map_err(|problem| self.error(path, RootErrorKind::BadPath, problem))
    }

    /// The content of a file.
    ///
    /// # Errors
    /// When it is no file of this folder, or [too large](Self::max_file_bytes). A pipe or device is an error at once.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Vec<u8>> {
        let path = path.as_ref();
        let (file, len) = self.opened(path)?;
        if len > self.max_bytes {
            return Err(self.too_large(path));
        }
        // A size costs nothing to have; it may also be wrong, as in /proc.
        let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or_default().min(FIRST_BYTES));
        file.take(self.max_bytes.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|e| self.failed(path, e))?;
        if bytes.len() as u64 > self.max_bytes {
            return Err(self.too_large(path));
        }
        Ok(bytes)
    }

    /// The content of a text file.
    ///
    /// # Errors
    /// As for [`read`](Self::read), and when it is not UTF-8.
    pub fn read_to_string(&self, path: impl AsRef<Path>) -> Result<String> {
        let path = path.as_ref();
        String::from_utf8(self.read(path)?)
            .map_err(|_| self.error(path, RootErrorKind::NotText, "not a text in UTF-8"))
    }

    /// A file, opened to be read, of any size.
    ///
    /// # Errors
    /// When it is no file of this folder.
    pub fn open_file(&self, path: impl AsRef<Path>) -> Result<File> {
        Ok(self.opened(path.as_ref())?.0)
    }

    /// What is there; links are followed as long as they stay inside.
    ///
    /// # Errors
    /// When nothing is there, or it is outside.
    pub fn metadata(&self, path: impl AsRef<Path>) -> Result<Metadata> {
        let path = path.as_ref();
        let cleaned = self.relative(path)?;
        Ok(Metadata::of(&self.dir.metadata(cleaned).map_err(|e| self.failed(path, e))?))
    }

    /// Whether something is there.
    ///
    /// # Errors
    /// When that cannot be said, or it would be outside.
    pub fn exists(&self, path: impl AsRef<Path>) -> Result<bool> {
        match self.metadata(path) {
            Ok(_) => Ok(true),
            Err(e) if e.kind() == RootErrorKind::NotFound => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// A regular file and its size.
    fn opened(&self, path: &Path) -> Result<(File, u64)> {
        let cleaned = self.relative(path)?;
        let failed = |e| self.failed(path, e);
        // Before it is opened: opening some devices does something.
        self.must_be_a_file(path, &self.dir.metadata(&cleaned).map_err(failed)?)?;
        let mut options = OpenOptions::new();
        options.read(true);
        without_waiting(&mut options);
        let file = self.dir.open_with(cleaned, &options).map_err(failed)?;
        // And once more, as another may be there by now.
        let metadata = file.metadata().map_err(failed)?;
        self.must_be_a_file(path, &metadata)?;
        Ok((file.into_std(), metadata.len()))
    }

    fn must_be_a_file(&self, path: &Path, metadata: &cap_std::fs::Metadata) -> Result<()> {
        match FileKind::of(metadata.file_type()) {
            FileKind::File => Ok(()),
            FileKind::Folder => Err(self.error(path, RootErrorKind::NotAFile, "a folder, not a file")),
            _ => Err(self.error(path, RootErrorKind::NotAFile, "not a regular file")),
        }
    }

    fn too_large(&self, path: &Path) -> RootError {
        self.error(path, RootErrorKind::TooLarge, format!("more than {} bytes", self.max_bytes))
    }

    fn error(&self, path: &Path, kind: RootErrorKind, problem: impl Into<String>) -> RootError {
        RootError::new(path, kind, problem).located(self.told_location())
    }

    fn failed(&self, path: &Path, error: std::io::Error) -> RootError {
        RootError::of(path, error).located(self.told_location())
    }

    fn told_location(&self) -> Location {
        Location(self.shows_location.then(|| self.location.display().to_string()))
    }
}

/// Without the location, which is nobody's business.
impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Root")
            .field("names", &self.names)
            .field("is_read_only", &self.is_read_only)
            .field("max_bytes", &self.max_bytes)
            .field("max_entries", &self.max_entries)
            .finish_non_exhaustive()
    }
}

/// A pipe without a writer would be waited for otherwise. For regular files it changes nothing.
#[cfg(unix)]
fn without_waiting(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt;
    use rustix::fs::OFlags;

    // Nor does a terminal become this process's own.
    if let Ok(flags) = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()) {
        options.custom_flags(flags);
    }
}

#[cfg(not(unix))]
fn without_waiting(_options: &mut OpenOptions) {}

/// What something in a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, in a listing.
    Link,
    /// A pipe, a socket, a device.
    Other,
}

impl FileKind {
    fn of(kind: cap_std::fs::FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_dir() {
            Self::Folder
        } else if kind.is_symlink() {
            Self::Link
        } else {
            Self::Other
        }
    }
}

/// What [`Root::metadata`] tells.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metadata {
    /// What it is.
    pub kind: FileKind,
    /// Its size in bytes.
    pub len: u64,
    /// When it was changed last, where the system knows.
    pub modified: Option<SystemTime>,
    /// Whether its permissions let nobody write it.
    pub is_read_only: bool,
}

impl Metadata {
    fn of(metadata: &cap_std::fs::Metadata) -> Self {
        Self {
            kind: FileKind::of(metadata.file_type()),
            len: metadata.len(),
            modified: metadata.modified().ok().map(cap_std::time::SystemTime::into_std),
            is_read_only: metadata.permissions().readonly(),
        }
    }
}
