//! [`AuditLogBuilder`]: how a log is kept.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::file::{AuditFile, Open, Rotation};
use super::log::{AuditLog, Place, Settings};
use super::redact::Redaction;
use super::sink::AuditSink;
use super::trouble::{AuditTrouble, Health};

/// So many bytes are shown of arguments and of a result by default.
const VALUE_BYTES: usize = 4 * 1024;
/// And so many at most.
const MAX_VALUE_BYTES: usize = 64 * 1024;
/// A file is rotated at this size at the earliest.
const MIN_FILE_BYTES: u64 = 4 * 1024;

/// When lines are brought to the disk, beyond the operating system's memory. What a process has written survives its own end in
/// any case; this is about the machine's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fsync {
    /// When the operating system sees fit.
    #[default]
    Never,
    /// Each one, before what it tells of is done. A disk takes from 0.1 to 10 ms for that.
    EachLine,
    /// So long after a line was written, by a thread of the log's own.
    Every(Duration),
}

/// What happens to a deed whose intent cannot be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnFailure {
    /// It is done. That the log fails is told once, and how many lines it lost when it no longer does.
    #[default]
    Continue,
    /// It is not done, and fails with [`Error::Denied`](crate::Error::Denied). An outcome that cannot be written is told like
    /// above: what it tells of is done already.
    Deny,
}

/// Sets up an [`AuditLog`].
///
/// ```
/// use std::time::Duration;
/// use tinymcp::host::audit::{AuditLog, Fsync, OnFailure, Redaction};
///
/// # let folder = std::env::temp_dir().join(format!("tinymcp-audit-builder-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("audit.jsonl");
/// let log = AuditLog::builder()
///     .fsync(Fsync::Every(Duration::from_secs(1)))
///     .redaction(Redaction::new().with_key("iban"))
///     .rotate(10_000_000, 5) // audit.jsonl and audit.jsonl.1 to .5
///     .on_failure(OnFailure::Deny)
///     .on_trouble(|trouble| eprintln!("{trouble}"))
///     .open(&path)?;
/// assert_eq!(log.failures(), 0);
/// # drop(log);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct AuditLogBuilder {
    fsync: Fsync,
    redaction: Redaction,
    rotation: Option<Rotation>,
    on_failure: OnFailure,
    health: Health,
    value_bytes: usize,
    program: String,
}

impl Default for AuditLogBuilder {
    fn default() -> Self {
        let program = std::env::args_os().next().unwrap_or_default();
        let program = Path::new(&program).file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self {
            fsync: Fsync::default(),
            redaction: Redaction::default(),
            rotation: None,
            on_failure: OnFailure::default(),
            health: Health::default(),
            value_bytes: VALUE_BYTES,
            program,
        }
    }
}

impl AuditLogBuilder {
    /// Sets when lines are brought to the disk. Never is the default.
    #[must_use]
    pub fn fsync(mut self, fsync: Fsync) -> Self {
        self.fsync = fsync;
        self
    }

    /// Sets what is hidden. [`Redaction::new`] is the default.
    #[must_use]
    pub fn redaction(mut self, redaction: Redaction) -> Self {
        self.redaction = redaction;
        self
    }

    /// Leaves a file that would become larger than `max_bytes` (4 KiB at least): it gets the ending `.1`, the one before it `.2`,
    /// and so on; `keep` of them are kept, one at least. Without this a file grows on.
    #[must_use]
    pub fn rotate(mut self, max_bytes: u64, keep: u32) -> Self {
        self.rotation = Some(Rotation { max_bytes: max_bytes.max(MIN_FILE_BYTES), keep: keep.max(1) });
        self
    }

    /// Sets what happens when the log cannot be written. Going on is the default.
    #[must_use]
    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = on_failure;
        self
    }

    /// Runs `callback` when something is wrong with the log, and when it no longer is: on the thread that found out, without a
    /// lock. The program's logger is told in any case.
    #[must_use]
    pub fn on_trouble(mut self, callback: impl Fn(&AuditTrouble<'_>) + Send + Sync + 'static) -> Self {
        self.health.on_trouble = Some(Box::new(callback));
        self
    }

    /// Shows so many bytes of arguments and of a result; of what is longer, how it begins and how long it is. 4 KiB is the
    /// default, 64 KiB the most.
    #[must_use]
    pub fn max_value_bytes(mut self, bytes: usize) -> Self {
        self.value_bytes = bytes.min(MAX_VALUE_BYTES);
        self
    }

    /// Names the program in the header. The default is the name of its file.
    #[must_use]
    pub fn program(mut self, name: impl Into<String>) -> Self {
        self.program = name.into();
        self
    }

    /// Begins a new file.
    ///
    /// # Errors
    /// When there is one already, or it cannot be made.
    pub fn create(self, path: impl AsRef<Path>) -> io::Result<AuditLog> {
        self.at(path.as_ref(), Open::New)
    }

    /// Goes on with a file, or begins one if there is none. A last line that is cut off is ended, and told of.
    ///
    /// # Errors
    /// - [`ResourceBusy`](io::ErrorKind::ResourceBusy) when another log has it open, in whichever process;
    /// - [`InvalidData`](io::ErrorKind::InvalidData) when it is something else than an audit file, or of a newer format;
    /// - what the operating system says otherwise. A disk that is full is no error here, but what
    ///   [`on_failure`](Self::on_failure) is about.
    pub fn open(self, path: impl AsRef<Path>) -> io::Result<AuditLog> {
        self.at(path.as_ref(), Open::Append)
    }

    fn at(self, path: &Path, open: Open) -> io::Result<AuditLog> {
        let (file, torn) = AuditFile::open(path, open, self.rotation, self.fsync != Fsync::Never)?;
        if let Some(bytes) = torn {
            self.health.tell(&AuditTrouble::Torn { bytes });
        }
        self.build(Place::File(file))
    }

    /// Puts the lines somewhere else. Rotation is not for it.
    ///
    /// # Errors
    /// When the thread for [`Fsync::Every`] cannot be started.
    pub fn to(self, sink: impl AuditSink + 'static) -> io::Result<AuditLog> {
        self.build(Place::Sink(Box::new(sink)))
    }

    fn build(self, place: Place) -> io::Result<AuditLog> {
        let settings = Settings {
            redaction: self.redaction,
            on_failure: self.on_failure,
            value_bytes: self.value_bytes,
            fsync: self.fsync,
            program: self.program,
        };
        AuditLog::start(place, self.health, settings)
    }
}

impl fmt::Debug for AuditLogBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditLogBuilder")
            .field("fsync", &self.fsync)
            .field("rotation", &self.rotation)
            .field("on_failure", &self.on_failure)
            .finish_non_exhaustive()
    }
}
