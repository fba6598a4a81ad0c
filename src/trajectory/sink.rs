//! [`Sink`]: the file that recordings go to, and its repair.

use std::collections::VecDeque;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::format::{Definitions, FORMAT, Header, Line, WIRE_FORMAT, content_key};
use super::repair::{Ending, repair};
use crate::protocol::ToolDefinition;
use crate::sync::{Mutex, lock};

/// So many contents of lists of tools are known to be in the file already; the oldest is forgotten, and written again if it comes
/// again. A reader keeps as many.
pub(super) const KNOWN_DEFINITIONS: usize = 1024;

/// What a sink in memory holds.
const MEMORY_BYTES: usize = 64 * 1024 * 1024;

/// So many trajectories are open in one sink.
const MAX_OPEN: u64 = 1024;

/// Where recordings go: a file, or memory. Any number of recorders and threads share one; clones are the same sink.
///
/// An event is written by one system call that appends its whole line, so whoever ends a program at any moment loses no event
/// that was complete, and at most the last line of the file is torn. **Nothing here fails a session**: what cannot be written is
/// counted ([`lost`](Self::lost)) and reported in the log, [`problem`](Self::problem) says why, and the next event is tried again.
/// A disk that is full is no reason not to open a file either: its recording begins once there is room.
///
/// A file belongs to one sink of one program at a time. Recordings hold whatever passed: the file is made readable for its owner
/// alone (on Unix), and a [`Redaction`](super::Redaction) can keep more out of it.
///
/// ```
/// use tinymcp::trajectory::Sink;
///
/// let path = std::env::temp_dir().join(format!("tinymcp-doc-sink-{}.jsonl", std::process::id()));
/// let sink = Sink::open(&path)?; // begun, or gone on with
/// assert_eq!((sink.written(), sink.lost()), (0, 0));
/// # std::fs::remove_file(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Sink(Arc<Inner>);

struct Inner {
    /// Locked for one write. Owner: every clone. End: the last clone's.
    out: Mutex<Out>,
    name: String,
    syncs: AtomicBool,
    written: AtomicU64,
    lost: AtomicU64,
    /// Contents that are in the file. Bound: [`KNOWN_DEFINITIONS`]. Locked for a look.
    known: Mutex<VecDeque<Arc<str>>>,
    open: AtomicU64,
    max_open: AtomicU64,
    refused: AtomicU64,
}

struct Out {
    to: To,
    /// The last line is not whole: the next one begins on a line of its own.
    is_torn: bool,
    /// The header, until the file has it.
    header: Vec<u8>,
    /// Why the last event could not be written, which was reported.
    problem: Option<String>,
}

enum To {
    File(File),
    /// Bound: [`MEMORY_BYTES`].
    Memory(Vec<u8>),
}

impl Sink {
    /// Begins the recording at `path`, or goes on with it. A last line that was torn is cut off, and one that only lacks its line
    /// end gets it.
    ///
    /// # Errors
    /// When the file cannot be opened, or is no recording, or one of a later version: it is left as it is. That there is no room
    /// for it is reported as for any event.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::open_as(path.as_ref(), FORMAT)
    }

    /// The same for frames.
    pub(super) fn open_wire(path: &Path) -> io::Result<Self> {
        Self::open_as(path, WIRE_FORMAT)
    }

    fn open_as(path: &Path, format: &str) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        let ending = repair(&mut file, format)
            .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
        let mut out = Out::new(To::File(file));
        out.is_torn = ending == Ending::WithoutLineEnd;
        if ending == Ending::WithoutHeader {
            out.header = header(format);
        }
        let begun = out.begin();
        let is_news = out.note(&begun);
        let sink = Self::new(out, path.display().to_string());
        if is_news {
            sink.tell(&begun);
        }
        begun.or_else(|e| if is_full(&e) { Ok(()) } else { Err(e) })?;
        Ok(sink)
    }

    /// A sink that keeps everything in memory, at most 64 MiB; what comes then is lost. [`contents`](Self::contents) is the
    /// recording, to be read by [`Lines::new`](super::Lines::new) or [`Trajectories::new`](super::Trajectories::new).
    #[must_use]
    pub fn memory() -> Self {
        Self::new(Out::new(To::Memory(header(FORMAT))), "memory".to_owned())
    }

    fn new(out: Out, name: String) -> Self {
        Self(Arc::new(Inner {
            out: Mutex::new(out),
            name,
            syncs: AtomicBool::new(false),
            written: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            known: Mutex::default(),
            open: AtomicU64::new(0),
            max_open: AtomicU64::new(MAX_OPEN),
            refused: AtomicU64::new(0),
        }))
    }

    /// Waits after each event until the disk has it. It is then safe from power failures as well, and each event takes
    /// milliseconds. Off by default: what is written survives the program, however that ends.
    #[must_use]
    pub fn with_sync(self) -> Self {
        self.0.syncs.store(true, Ordering::Relaxed);
        self
    }

    /// So many trajectories may be open at once; 1024 by default. One begun beyond that is not recorded, which the log reports
    /// and [`refused`](Self::refused) counts, and its calls go through as ever.
    #[must_use]
    pub fn with_max_open(self, trajectories: usize) -> Self {
        self.0.max_open.store(trajectories as u64, Ordering::Relaxed);
        self
    }

    /// How many events were written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.0.written.load(Ordering::Relaxed)
    }

    /// How many events could not be written.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }

    /// Why the last event could not be written; `None` once one is again.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        lock(&self.0.out).problem.clone()
    }

    /// How many trajectories were not recorded as too many were open.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.0.refused.load(Ordering::Relaxed)
    }

    /// How many trajectories are open.
    #[must_use]
    pub fn open_trajectories(&self) -> u64 {
        self.0.open.load(Ordering::Relaxed)
    }

    /// What a sink in memory holds; of a file it is empty.
    #[must_use]
    pub fn contents(&self) -> Vec<u8> {
        match &lock(&self.0.out).to {
            To::Memory(held) => held.clone(),
            To::File(_) => Vec::new(),
        }
    }

    /// Writes a line with its end. The error has been counted and reported.
    pub(super) fn write(&self, lines: &[u8]) -> io::Result<()> {
        let mut out = lock(&self.0.out);
        let written = out.write(lines).and_then(|()| match &out.to {
            To::File(file) if self.0.syncs.load(Ordering::Relaxed) => file.sync_data(),
            _ => Ok(()),
        });
        let is_news = out.note(&written);
        drop(out);
        let counted = if written.is_ok() { &self.0.written } else { &self.0.lost };
        counted.fetch_add(1, Ordering::Relaxed);
        if is_news {
            self.tell(&written);
        }
        written
    }

    fn tell(&self, written: &io::Result<()>) {
        match written {
            Ok(()) => log::warn!("recording to {} goes on; {} events are lost", self.0.name, self.lost()),
            Err(e) => log::error!("cannot record to {}: {e}", self.0.name),
        }
    }

    /// Sees to it that the file has these definitions; their key.
    pub(super) fn define(&self, tools: &[ToolDefinition]) -> Arc<str> {
        let key: Arc<str> = content_key(tools).into();
        // Counted if it fails, and then tried again with the next list.
        let _ = self.keep(&key, || Definitions::new(tools.to_vec()));
        key
    }

    /// The same for definitions whose key is known.
    pub(super) fn keep(&self, key: &Arc<str>, definitions: impl FnOnce() -> Definitions) -> io::Result<()> {
        if lock(&self.0.known).contains(key) {
            return Ok(());
        }
        // Without the lock: two that do this at once write the same twice.
        let mut line = Vec::new();
        Line::Definitions(definitions()).write(&mut line);
        self.write(&line)?;
        let mut known = lock(&self.0.known);
        known.push_back(Arc::clone(key));
        if known.len() > KNOWN_DEFINITIONS {
            known.pop_front();
        }
        Ok(())
    }

    /// A trajectory wants to be open; whether it may.
    pub(super) fn begin(&self) -> bool {
        let open = self.0.open.fetch_add(1, Ordering::Relaxed);
        let may = open < self.0.max_open.load(Ordering::Relaxed);
        if !may {
            self.0.open.fetch_sub(1, Ordering::Relaxed);
            if self.0.refused.fetch_add(1, Ordering::Relaxed).is_power_of_two() {
                log::warn!("not recorded: {open} trajectories are open in {}", self.0.name);
            }
        }
        may
    }

    /// One that was allowed to is no longer open.
    pub(super) fn end(&self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink")
            .field("name", &self.0.name)
            .field("written", &self.written())
            .field("lost", &self.lost())
            .field("problem", &self.problem())
            .finish_non_exhaustive()
    }
}

impl Out {
    fn new(to: To) -> Self {
        Self { to, is_torn: false, header: Vec::new(), problem: None }
    }

    /// Writes what must be there before the next line: the header, or the end of a line that has none.
    fn begin(&mut self) -> io::Result<()> {
        let To::File(file) = &mut self.to else { return Ok(()) };
        if self.is_torn {
            file.write_all(b"\n")?;
            self.is_torn = false;
        }
        if !self.header.is_empty() {
            if let Err(e) = file.write_all(&self.header) {
                // Half a header would make it no recording. What is no file stays as it is.
                let _ = file.set_len(0);
                return Err(e);
            }
            self.header = Vec::new();
        }
        Ok(())
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        self.begin()?;
        let to = match &mut self.to {
            To::File(file) => file,
            To::Memory(held) if held.len() + lines.len() > MEMORY_BYTES => {
                return Err(io::Error::other(format!("{MEMORY_BYTES} bytes are held")));
            }
            To::Memory(held) => {
                held.extend_from_slice(lines);
                return Ok(());
            }
        };
        let mut rest = lines;
        while !rest.is_empty() {
            match to.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    rest = &rest[written..];
                    // What is there of it ends in no line end, until all of it is.
                    self.is_torn = !rest.is_empty();
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Keeps the problem, if there is one; whether that has begun or ended.
    fn note(&mut self, written: &io::Result<()>) -> bool {
        let problem = written.as_ref().err().map(ToString::to_string);
        let is_failing = problem.is_some();
        std::mem::replace(&mut self.problem, problem).is_some() != is_failing
    }
}

/// Whether there may be room later.
fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

fn header(format: &str) -> Vec<u8> {
    let mut line = Vec::new();
    Header::now(format).write(&mut line);
    line
}
