//! The file of grants: JSON, read anew whenever it has changed, written as a whole.
//!
//! **Invariants:** whoever changes it holds the lock beside it, and reads it before, so that nothing another process has taken back
//! comes back; a reader sees the old file or the new one, whenever a writer ends; what is no such file grants nothing.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use super::grants::Grant;
use super::question::QuestionKind;
use super::turn::{FileTurn, beside, own_file};
use crate::json::{FromJson, Json, JsonError, Members, Object};
use crate::sync::{Mutex, lock};

/// Larger files are not read, and none is made.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Of temporary files.
const NEW: &str = "new-";

pub(super) struct Store {
    path: PathBuf,
    /// Locked for a look or an exchange.
    read: Mutex<Seen>,
    /// Held while this process changes the file, disk included: changes of one process follow each other.
    changing: Mutex<()>,
    /// Of temporary names.
    count: AtomicU64,
}

/// What was read, and of which file.
#[derive(Clone, Default)]
struct Seen {
    stamp: Option<Stamp>,
    grants: Arc<Vec<Grant>>,
}

/// A file is replaced as a whole, so that a change shows in one of these.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    #[cfg(unix)]
    inode: u64,
}

impl Stamp {
    fn of(metadata: &fs::Metadata) -> Self {
        Self {
            modified: metadata.modified().ok(),
            bytes: metadata.len(),
            #[cfg(unix)]
            inode: std::os::unix::fs::MetadataExt::ino(metadata),
        }
    }
}

impl Store {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        // Where a link leads, so that it is not the link that is replaced.
        let path = match fs::canonicalize(path) {
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => std::path::absolute(path)?,
            Err(error) => return Err(named(path, &error)),
        };
        let store =
            Self { path, read: Mutex::default(), changing: Mutex::default(), count: AtomicU64::new(0) };
        store.grants()?;
        Ok(store)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What the file grants now. It is read if it is another than before.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn grants(&self) -> io::Result<Arc<Vec<Grant>>> {
        let stamp = match fs::metadata(&self.path) {
            Ok(metadata) => Stamp::of(&metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Arc::default()),
            Err(error) => return Err(named(&self.path, &error)),
        };
        let seen = lock(&self.read).clone();
        if seen.stamp == Some(stamp) {
            return Ok(seen.grants);
        }
        let (stamp, grants) = read(&self.path)?;
        let grants = Arc::new(grants);
        *lock(&self.read) = Seen { stamp: Some(stamp), grants: Arc::clone(&grants) };
        Ok(grants)
    }

    /// Changes what the file says as it is then; `change` tells whether there is anything to write.
    ///
    /// # Errors
    /// When it cannot be read, changed or written. It is as it was then.
    pub(super) fn change(&self, change: impl FnOnce(&mut Vec<Grant>) -> io::Result<bool>) -> io::Result<()> {
        let _one = lock(&self.changing);
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        make(folder).map_err(|error| named(folder, &error))?;
        let _turn = FileTurn::take(&self.path)?;
        let (stamp, mut grants) = match read(&self.path) {
            Ok((stamp, grants)) => (Some(stamp), grants),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (None, Vec::new()),
            Err(error) => return Err(error),
        };
        if change(&mut grants)? {
            self.write(&grants, stamp).map_err(|error| named(&self.path, &error))?;
        }
        Ok(())
    }

    /// Writes a new file beside it and puts that in its place, if it is still the one that was read.
    fn write(&self, grants: &[Grant], read: Option<Stamp>) -> io::Result<()> {
        let text = text(grants);
        if text.len() as u64 > MAX_FILE_BYTES {
            let problem = format!("would have {} bytes, and may have {MAX_FILE_BYTES}", text.len());
            return Err(io::Error::other(problem));
        }
        self.clear_away();
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let temporary = beside(&self.path, &format!("{NEW}{}-{number}", std::process::id()));
        let written = own_file(&temporary).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            let found = fs::metadata(&self.path).ok().map(|metadata| Stamp::of(&metadata));
            if found != read {
                return Err(io::Error::other("it was changed by a process that did not wait for its turn"));
            }
            fs::rename(&temporary, &self.path)
        });
        if written.is_err() {
            // What is left of it is of no use.
            let _ = fs::remove_file(&temporary);
        }
        written?;
        // The new name is to survive a crash as well, where folders can be brought to the disk.
        if let Some(folder) = self.path.parent().and_then(|folder| File::open(folder).ok()) {
            let _ = folder.sync_all();
        }
        Ok(())
    }

    /// Removes what a process left that ended while it wrote. Whoever calls has the turn, so nobody else is writing.
    fn clear_away(&self) {
        let begin = beside(&self.path, NEW);
        let (Some(folder), Some(begin)) = (begin.parent(), begin.file_name()) else { return };
        let begin = begin.as_encoded_bytes();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(begin) {
                log::debug!("removing {}, which nobody finished", entry.path().display());
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Makes a folder for its owner alone, unless it is there.
fn make(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn read(path: &Path) -> io::Result<(Stamp, Vec<Grant>)> {
    let inner = || {
        let mut file = File::open(path)?;
        let stamp = Stamp::of(&file.metadata()?);
        if stamp.bytes > MAX_FILE_BYTES {
            let problem = format!("{} bytes, at most {MAX_FILE_BYTES} are read", stamp.bytes);
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let grants = parse(&text).map_err(|problem| {
            io::Error::new(io::ErrorKind::InvalidData, format!("no file of grants: {problem}"))
        })?;
        Ok((stamp, grants))
    };
    inner().map_err(|error| named(path, &error))
}

fn text(grants: &[Grant]) -> String {
    let mut lines = Vec::with_capacity(grants.len());
    for grant in grants {
        let mut object = Object::new();
        object.insert("kind", grant.kind.word());
        object.insert("server", &grant.server);
        if let Some(tool) = &grant.tool {
            object.insert("tool", tool);
        }
        object.insert("since", &grant.since);
        object.insert("configured", &grant.configured);
        object.insert("boundTo", &grant.bound_to);
        lines.push(format!("    {}", Json::from(object).as_str()));
    }
    format!("{{\n  \"version\": 1,\n  \"grants\": [\n{}\n  ]\n}}\n", lines.join(",\n"))
}

fn parse(text: &str) -> Result<Vec<Grant>, String> {
    let json = Json::parse(text).map_err(|e| e.to_string())?;
    let mut members = Members::of(json.as_raw()).map_err(|e| e.to_string())?;
    let version: u64 = members.required("version").map_err(|e| e.to_string())?;
    if version != 1 {
        return Err(format!("version {version}"));
    }
    let grants: Vec<Json> = members.required("grants").map_err(|e| e.to_string())?;
    grants.iter().map(|grant| one(grant).map_err(|e| format!("a grant: {e}"))).collect()
}

fn one(json: &Json) -> Result<Grant, JsonError> {
    let mut members = Members::of(json.as_raw())?;
    let word: String = members.required("kind")?;
    let kind = QuestionKind::ALL.into_iter().find(|kind| kind.word() == word);
    Ok(Grant {
        kind: kind.ok_or_else(|| JsonError::new(format!("kind {word:?}")))?,
        server: members.required("server")?,
        tool: members.take("tool").map(String::from_json).transpose()?,
        is_kept: true,
        since: members.required("since")?,
        configured: members.required("configured")?,
        bound_to: members.required("boundTo")?,
    })
}
