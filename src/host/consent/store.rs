//! The file of grants: JSON, read anew whenever it has changed, written as a whole.
//!
//! **Invariants:** whoever changes it holds the lock file beside it, and reads it before, so that nothing another process has taken back
//! comes back; a reader sees the old file or the new one; what is no such file grants nothing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::grants::{Grant, MAX_GRANTS};
use super::question::QuestionKind;
use crate::json::{FromJson, Json, Members, Object};
use crate::sync::{Mutex, lock};

/// Larger files are not read.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// How long a change waits for that of another process.
const LOCK_TIME: Duration = Duration::from_secs(5);

/// A lock older than this was left by a process that died.
const STALE: Duration = Duration::from_secs(30);

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
    grants: Vec<Grant>,
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
        let store = Self {
            path: path.to_owned(),
            read: Mutex::default(),
            changing: Mutex::default(),
            count: AtomicU64::new(0),
        };
        store.refresh()?;
        Ok(store)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What the file grants now; nothing if it cannot be read, which goes to the log.
    pub(super) fn grants(&self) -> Vec<Grant> {
        self.refresh().unwrap_or_else(|error| {
            log::error!("nothing is granted by it: {error}");
            Vec::new()
        })
    }

    /// Reads the file if it is another than before.
    fn refresh(&self) -> io::Result<Vec<Grant>> {
        let stamp = match fs::metadata(&self.path) {
            Ok(metadata) => Stamp::of(&metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                *lock(&self.read) = Seen::default();
                return Ok(Vec::new());
            }
            Err(error) => return Err(named(&self.path, &error)),
        };
        let seen = lock(&self.read).clone();
        if seen.stamp == Some(stamp) {
            return Ok(seen.grants);
        }
        let (stamp, grants) = read(&self.path)?;
        *lock(&self.read) = Seen { stamp: Some(stamp), grants: grants.clone() };
        Ok(grants)
    }

    pub(super) fn add(&self, grant: Grant) -> io::Result<()> {
        self.change(|grants| {
            grants.retain(|old| !old.is_same_place(&grant));
            if grants.len() >= MAX_GRANTS {
                return Err(io::Error::other(format!("{MAX_GRANTS} grants are kept already")));
            }
            grants.push(grant);
            Ok(true)
        })
    }

    /// Returns how many there were.
    pub(super) fn remove(&self, is_meant: &dyn Fn(&Grant) -> bool) -> io::Result<usize> {
        let mut removed = 0;
        self.change(|grants| {
            let before = grants.len();
            grants.retain(|grant| !is_meant(grant));
            removed = before - grants.len();
            Ok(removed > 0)
        })?;
        Ok(removed)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Grant>) -> io::Result<bool>) -> io::Result<()> {
        let _turn = lock(&self.changing);
        let _lock = LockFile::take(&self.path)?;
        let mut grants = match read(&self.path) {
            Ok((_, grants)) => grants,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        if change(&mut grants)? {
            self.write(&grants).map_err(|error| named(&self.path, &error))?;
        }
        self.refresh().map(drop)
    }

    /// Writes a new file beside it and puts that in its place.
    fn write(&self, grants: &[Grant]) -> io::Result<()> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let temporary = beside(&self.path, &format!("new-{}-{number}", std::process::id()));
        let written = own_file(&temporary).and_then(|mut file| {
            file.write_all(text(grants).as_bytes())?;
            file.sync_all()?;
            fs::rename(&temporary, &self.path)
        });
        if written.is_err() {
            // What is left of it is of no use.
            let _ = fs::remove_file(&temporary);
        }
        written?;
        // The new name is to survive a crash as well, where folders can be brought to the disk.
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

/// Readable by its owner alone.
fn own_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn beside(path: &Path, what: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{what}"));
    path.with_file_name(name)
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

const KINDS: [(QuestionKind, &str); 5] = [
    (QuestionKind::Start, "start"),
    (QuestionKind::Call, "call"),
    (QuestionKind::Sample, "sample"),
    (QuestionKind::SampleAnswer, "sample-answer"),
    (QuestionKind::Elicit, "elicit"),
];

fn text(grants: &[Grant]) -> String {
    let mut lines = Vec::with_capacity(grants.len());
    for grant in grants {
        let kind = KINDS.iter().find(|(kind, _)| *kind == grant.kind).map_or("", |(_, word)| word);
        let mut object = Object::new();
        object.insert("kind", kind);
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

fn one(json: &Json) -> Result<Grant, crate::json::JsonError> {
    let mut members = Members::of(json.as_raw())?;
    let word: String = members.required("kind")?;
    let kind = KINDS.iter().find(|(_, known)| *known == word).map(|(kind, _)| *kind);
    Ok(Grant {
        kind: kind.ok_or_else(|| crate::json::JsonError::new(format!("kind {word:?}")))?,
        server: members.required("server")?,
        tool: members.take("tool").map(String::from_json).transpose()?,
        is_kept: true,
        since: members.required("since")?,
        configured: members.required("configured")?,
        bound_to: members.required("boundTo")?,
    })
}

/// The right to change the file: a file beside it that only one can make.
struct LockFile(PathBuf);

impl LockFile {
    fn take(path: &Path) -> io::Result<Self> {
        let lock = beside(path, "lock");
        let begun = Instant::now();
        loop {
            match own_file(&lock) {
                Ok(_) => return Ok(Self(lock)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(named(&lock, &error)),
            }
            let age = fs::metadata(&lock).and_then(|metadata| metadata.modified());
            if age.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > STALE)) {
                log::warn!("{}: left by a process that died", lock.display());
                let _ = fs::remove_file(&lock);
                continue;
            }
            if begun.elapsed() > LOCK_TIME {
                let problem = format!("{}: another process changes the grants", lock.display());
                return Err(io::Error::new(io::ErrorKind::WouldBlock, problem));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            log::warn!("{}: {error}", self.0.display());
        }
    }
}
