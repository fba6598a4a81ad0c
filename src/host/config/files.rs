//! Files: read up to a limit, and written so that there is always a whole one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::{ConfigError, ConfigErrorKind};

/// Reads a file of text of up to `max` bytes.
pub(super) fn read(path: &Path, max: usize) -> Result<String, ConfigError> {
    let unreadable = |error: &io::Error| match error.kind() {
        io::ErrorKind::NotFound => ConfigError::new(ConfigErrorKind::Missing, "there is no such file"),
        _ => ConfigError::new(ConfigErrorKind::Unreadable, format!("cannot be read: {error}")),
    };
    let about = fs::metadata(path).map_err(|e| unreadable(&e))?;
    // Opening a pipe waits for who writes it, and a device may have no end.
    if !about.is_file() {
        return Err(ConfigError::new(
            ConfigErrorKind::Unreadable,
            "cannot be read: it is not a regular file",
        ));
    }
    let too_large = || ConfigError::new(ConfigErrorKind::TooLarge, format!("the file exceeds {max} bytes"));
    if about.len() > max as u64 {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|e| unreadable(&e))?;
    file.take((max as u64).saturating_add(1)).read_to_end(&mut bytes).map_err(|e| unreadable(&e))?;
    if bytes.len() > max {
        return Err(too_large());
    }
    String::from_utf8(bytes).map_err(|_| ConfigError::new(ConfigErrorKind::Syntax, "the file is not UTF-8"))
}

/// Puts `text` in the place of the file at `path`: all of it or, whatever happens, what was there before. Through a symbolic link, the file
/// it names is replaced. Permissions stay as they are; a new file is its owner's alone.
pub(super) fn write(path: &Path, text: &str) -> Result<(), ConfigError> {
    let work = || {
        let path = target(path)?;
        let permissions = match fs::metadata(&path) {
            Ok(about) if about.is_dir() => return Err(io::Error::from(io::ErrorKind::IsADirectory)),
            Ok(about) => Some(about.permissions()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut temporary = Temporary::beside(&path, folder)?;
        temporary.file.write_all(text.as_bytes())?;
        if let Some(permissions) = permissions {
            temporary.file.set_permissions(permissions)?;
        }
        temporary.file.sync_all()?;
        fs::rename(&temporary.path, &path)?;
        temporary.is_renamed = true;
        // The name is on the disk when its folder is. Not every system can open one.
        if let Ok(folder) = File::open(folder) {
            let _ = folder.sync_all();
        }
        Ok(())
    };
    work().map_err(|error: io::Error| {
        ConfigError::new(ConfigErrorKind::Unwritable, format!("cannot be written: {error}"))
    })
}

/// The file that is meant: links are followed, so that they stay links. The file may be missing.
fn target(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
            // A link to nothing yet.
            Ok(link) => Ok(path.parent().unwrap_or(Path::new("")).join(link)),
            Err(_) => Ok(path.to_owned()),
        },
        result => result,
    }
}

/// A new file beside another; gone when it is dropped before it was renamed.
struct Temporary {
    path: PathBuf,
    file: File,
    is_renamed: bool,
}

impl Temporary {
    fn beside(path: &Path, folder: &Path) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        for _ in 0..16 {
            let mut temporary = std::ffi::OsString::from(".");
            temporary.push(name);
            temporary.push(format!(".{}-{}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
            let path = folder.join(temporary);
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            match options.open(&path) {
                // Left behind by a process of this number that was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Ok(file) => return Ok(Self { path, file, is_renamed: false }),
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_renamed {
            let _ = fs::remove_file(&self.path);
        }
    }
}
