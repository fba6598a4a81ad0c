//! [`AuditFile`]: a file that lines are appended to, and that is rotated when it is large.
//!
//! **Invariants:** one `write` a line; what a line needs before it (a header, the end of a torn line) is in the same `write`;
//! no line is split between files, and none that was written is lost but with the oldest file.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::line::{FORMAT, VERSION};
use super::lock::{Held, exclusive, held_elsewhere};
use super::read::{AuditLine, LineKind};
use crate::sync::{Mutex, lock};

/// When a file is rotated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rotation {
    pub(super) max_bytes: u64,
    /// So many old files are kept.
    pub(super) keep: u32,
}

/// So often it is seen to that the file is still the one of its path.
const LOOK: Duration = Duration::from_secs(1);

pub(super) struct AuditFile {
    path: PathBuf,
    rotation: Option<Rotation>,
    /// Old files are brought to the disk before they are left.
    is_synced: bool,
    /// Held for one `write`, or for a rotation; only those who write to the same file wait for it.
    state: Mutex<State>,
    /// Given back last.
    held: Option<Held>,
}

struct State {
    file: Arc<File>,
    bytes: u64,
    /// From here on it is rotated.
    rotate_at: u64,
    /// The last line is not whole: a line break comes before the next.
    is_torn: bool,
    needs_header: bool,
    is_rotated: bool,
    repaired: bool,
    /// When it was last seen to be the file of its path.
    seen: Instant,
    /// It is not, and another one cannot be opened there. Told once.
    is_adrift: bool,
}

/// What happened to the file besides.
pub(super) enum Aside {
    NotRotated(io::Error),
    /// The error is why no new one could be begun.
    Moved(Option<io::Error>),
}

/// What a line needs before it.
#[derive(Clone, Copy)]
pub(super) struct Before {
    pub(super) is_rotated: bool,
    pub(super) repaired: bool,
}

/// How it is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Open {
    /// There must be none yet.
    New,
    /// What there is goes on.
    Append,
}

impl AuditFile {
    /// The file, and how many bytes its last line has if that is torn.
    pub(super) fn open(
        path: &Path,
        open: Open,
        rotation: Option<Rotation>,
        is_synced: bool,
    ) -> io::Result<(Self, Option<u64>)> {
        let named = |e: io::Error| io::Error::new(e.kind(), format!("audit file {}: {e}", path.display()));
        let (file, torn) = Self::opened(path, open, rotation, is_synced).map_err(named)?;
        Ok((file, torn))
    }

    fn opened(
        path: &Path,
        open: Open,
        rotation: Option<Rotation>,
        is_synced: bool,
    ) -> io::Result<(Self, Option<u64>)> {
        // Through links, so that what is rotated is the file and not a link to it.
        let found = fs::canonicalize(path).ok();
        let path = found.as_deref().unwrap_or(path);
        let name =
            path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file"))?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let is_special = path.metadata().is_ok_and(|found| !found.is_file());
        if is_special && path.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder"));
        }
        // A device or a pipe is nobody's alone, and is not rotated.
        let held = if is_special { None } else { Some(Held::take(&fs::canonicalize(parent)?, name)?) };
        let (file, bytes, torn) = match open {
            Open::New => (new_file(path)?, 0, None),
            Open::Append if is_special => (OpenOptions::new().append(true).open(path)?, 0, None),
            Open::Append => appended(path)?,
        };
        if is_synced && bytes == 0 && !is_special {
            sync_folder(parent)?;
        }
        let rotation = rotation.filter(|_| !is_special);
        let state = State {
            file: Arc::new(file),
            bytes,
            rotate_at: rotation.map_or(u64::MAX, |rotation| rotation.max_bytes),
            is_torn: torn.is_some(),
            needs_header: true,
            is_rotated: false,
            repaired: torn.is_some(),
            seen: Instant::now(),
            is_adrift: false,
        };
        let file = Self { path: path.to_owned(), rotation, is_synced, state: Mutex::new(state), held };
        Ok((file, torn))
    }

    /// Appends `line`, after a header if one is due. The second is told when the lock is free.
    pub(super) fn append(
        &self,
        line: &str,
        header: impl Fn(Before) -> String,
    ) -> (io::Result<()>, Option<Aside>) {
        let mut state = lock(&self.state);
        let aside = self.reopen_if_moved(&mut state).or_else(|| self.rotate_if_due(&mut state, line.len()));
        (self.append_to(&mut state, line, header), aside)
    }

    fn append_to(&self, state: &mut State, line: &str, header: impl Fn(Before) -> String) -> io::Result<()> {
        let mut before = String::new();
        if state.is_torn {
            before.push('\n');
        }
        if state.needs_header {
            before += &header(Before { is_rotated: state.is_rotated, repaired: state.repaired });
        }
        let joined;
        let text = if before.is_empty() {
            line
        } else {
            joined = before + line;
            &joined
        };
        let (written, result) = write(&state.file, text.as_bytes());
        state.bytes += written as u64;
        match result {
            Ok(()) => (state.is_torn, state.needs_header) = (false, false),
            // Where nothing was written the file ends as before.
            Err(_) if written > 0 => state.is_torn = text.as_bytes()[written - 1] != b'\n',
            Err(_) => {}
        }
        result.map_err(|e| io::Error::new(e.kind(), format!("audit file {}: {e}", self.path.display())))
    }

    fn rotate_if_due(&self, state: &mut State, more: usize) -> Option<Aside> {
        let rotation = self.rotation?;
        if state.bytes == 0 || state.bytes + more as u64 <= state.rotate_at {
            return None;
        }
        match self.rotate(state, rotation) {
            Ok(()) => None,
            Err(e) => {
                // Again when as much more has been written, and not with each line.
                state.rotate_at = state.bytes + rotation.max_bytes;
                Some(Aside::NotRotated(e))
            }
        }
    }

    /// `log` becomes `log.1`, `log.1` becomes `log.2`, and so on. Whenever it is cut off there are as many lines as before.
    fn rotate(&self, state: &mut State, rotation: Rotation) -> io::Result<()> {
        if self.is_synced {
            state.file.sync_data()?;
        }
        for number in (1..rotation.keep).rev() {
            rename(&numbered(&self.path, number), &numbered(&self.path, number + 1))?;
        }
        let first = numbered(&self.path, 1);
        rename(&self.path, &first)?;
        let file = match new_file(&self.path) {
            Ok(file) => file,
            Err(e) => {
                // What is open goes on, under its name if that can be had again.
                rename(&first, &self.path)?;
                return Err(e);
            }
        };
        *state = State {
            file: Arc::new(file),
            bytes: 0,
            rotate_at: rotation.max_bytes,
            is_torn: false,
            needs_header: true,
            is_rotated: true,
            repaired: false,
            seen: Instant::now(),
            is_adrift: false,
        };
        // Last: whatever comes of it, lines go to the new file.
        if self.is_synced { sync_folder(self.path.parent().unwrap_or(Path::new("."))) } else { Ok(()) }
    }

    /// Begins anew where somebody else has moved the file or removed it, so that no more lines go where nobody looks.
    fn reopen_if_moved(&self, state: &mut State) -> Option<Aside> {
        if self.held.is_none() || state.seen.elapsed() < LOOK {
            return None;
        }
        state.seen = Instant::now();
        let ours = identity(&state.file.metadata().ok()?)?;
        if fs::metadata(&self.path).ok().and_then(|found| identity(&found)) == Some(ours) {
            return None;
        }
        let (file, bytes, torn) = match appended(&self.path) {
            Ok(opened) => opened,
            // What is open goes on: better there than nowhere.
            Err(e) => {
                let was_told = std::mem::replace(&mut state.is_adrift, true);
                return (!was_told).then_some(Aside::Moved(Some(e)));
            }
        };
        if self.is_synced {
            // Its lines count as written, wherever it is now. If that fails there is nobody left to try again.
            let _ = state.file.sync_data();
        }
        *state = State {
            file: Arc::new(file),
            bytes,
            rotate_at: self.rotation.map_or(u64::MAX, |rotation| rotation.max_bytes),
            is_torn: torn.is_some(),
            needs_header: true,
            is_rotated: true,
            repaired: torn.is_some(),
            seen: Instant::now(),
            is_adrift: false,
        };
        Some(Aside::Moved(None))
    }

    /// Brings what was written to the disk. Not under the lock: others write meanwhile.
    pub(super) fn sync(&self) -> io::Result<()> {
        let file = Arc::clone(&lock(&self.state).file);
        match file.sync_data() {
            // A device or a pipe has nothing to be brought anywhere.
            Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
            result => result.map_err(|e| {
                io::Error::new(e.kind(), format!("audit file {} to the disk: {e}", self.path.display()))
            }),
        }
    }
}

/// Which file it is, whatever its name. `None` where nobody can move a file that is open.
fn identity(found: &fs::Metadata) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some((found.dev(), found.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = found;
        None
    }
}

/// Writes all of `bytes`, in one `write` unless the disk is nearly full. How many were written, whatever came of it.
fn write(mut file: &File, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut written = 0;
    while written < bytes.len() {
        match file.write(&bytes[written..]) {
            Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
            Ok(n) => written += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return (written, Err(e)),
        }
    }
    (written, Ok(()))
}

fn new_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    exclusive(options.append(true).create_new(true));
    options.open(path).map_err(held_elsewhere)
}

/// A file that may be there already, its length, and how many bytes its last line has if that is torn.
fn appended(path: &Path) -> io::Result<(File, u64, Option<u64>)> {
    let mut options = OpenOptions::new();
    exclusive(options.read(true).append(true).create(true));
    let mut file = options.open(path).map_err(held_elsewhere)?;
    let bytes = file.metadata()?.len();
    if bytes == 0 {
        return Ok((file, 0, None));
    }
    must_be_ours(&mut file)?;
    let torn = torn(&mut file, bytes)?;
    Ok((file, bytes, torn))
}

/// The first line is looked at as far as this.
const HEADER_BYTES: u64 = 16 * 1024;

/// Refuses to add to what is something else.
fn must_be_ours(file: &mut File) -> io::Result<()> {
    let mut begun = Vec::new();
    Read::take(&*file, HEADER_BYTES).read_to_end(&mut begun)?;
    let first = begun.split_inclusive(|b| *b == b'\n').next().unwrap_or_default();
    let line = AuditLine::parse(1, first);
    let invalid = |problem: String| Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    match line.kind() {
        LineKind::Header => match line.version() {
            Some(version) if version > VERSION => {
                invalid(format!("its format is version {version}, and {VERSION} is the newest known"))
            }
            _ => Ok(()),
        },
        // Its process was ended while it wrote the very first line.
        LineKind::Damaged if first.len() == begun.len() && is_begun_header(first) => Ok(()),
        _ => invalid(format!("is something else: its first line is no header of {FORMAT}")),
    }
}

fn is_begun_header(first: &[u8]) -> bool {
    let beginning = br#"{"type":"header","#;
    let common = first.len().min(beginning.len());
    first[..common] == beginning[..common]
}

/// How long the last line is, if it does not end.
fn torn(file: &mut File, bytes: u64) -> io::Result<Option<u64>> {
    let mut block = [0; 4096];
    let (mut end, mut last) = (bytes, 0);
    while end > 0 {
        let start = end.saturating_sub(block.len() as u64);
        let part = &mut block[..usize::try_from(end - start).unwrap_or(0)];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(part)?;
        if let Some(at) = part.iter().rposition(|b| *b == b'\n') {
            last += (part.len() - 1 - at) as u64;
            break;
        }
        last += part.len() as u64;
        end = start;
    }
    Ok(Some(last).filter(|last| *last > 0))
}

/// One that is not there is none to be renamed.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

pub(super) fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

/// The files that were rotated away, oldest first, and then the one of this path.
pub(super) fn all_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    let name = path.file_name().unwrap_or(OsStr::new("")).to_string_lossy().into_owned();
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut numbers: Vec<u32> = Vec::new();
    for entry in fs::read_dir(parent)? {
        let entry = entry?.file_name();
        let entry = entry.to_string_lossy();
        let number = entry.strip_prefix(&name).and_then(|rest| rest.strip_prefix('.'));
        numbers.extend(number.and_then(|number| number.parse::<u32>().ok()));
    }
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    Ok(numbers.into_iter().map(|number| numbered(path, number)).chain([path.to_owned()]).collect())
}

/// A file that is new must also be found again.
fn sync_folder(folder: &Path) -> io::Result<()> {
    // Elsewhere folders cannot be opened.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
