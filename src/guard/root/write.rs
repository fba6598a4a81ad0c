//! Changes: a file is replaced as a whole or not at all.

use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, OpenOptions, Permissions};

use super::{Result, Root, RootErrorKind, without_waiting};

/// A name beside a file that nobody else has: tries.
const TRIES: u32 = 8;

impl Root {
    /// Writes a file, new or in place of another one.
    ///
    /// It is written under another name beside it (`.tmp-…`, left behind only if the process is killed) and then renamed, so
    /// that nobody ever reads half of it, and a full disk leaves the old one. It keeps the permissions of the old
    /// one, not its owner. If `path` is a link that stays inside, what it leads to is replaced.
    ///
    /// # Errors
    /// When it cannot be written: its folder is missing, it is none of this root, it is a folder, a device or marked as
    /// read-only, it is [too large](Self::max_file_bytes), the root is [read-only](Self::read_only).
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Result<()> {
        let (path, content) = (path.as_ref(), content.as_ref());
        let place = self.place(path, content.len())?;
        let old = match place.dir.metadata(&place.name) {
            Ok(metadata) => {
                self.must_be_a_file(path, &metadata)?;
                if metadata.permissions().readonly() {
                    return Err(self.error(path, RootErrorKind::ReadOnly, "marked as read-only"));
                }
                Some(metadata.permissions())
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(self.failed(path, e)),
        };
        let whole = |name: &Path| place.dir.rename(name, &place.dir, &place.name);
        self.beside(path, &place, content, old, whole)
    }

    /// Writes a file that must be new; there is nothing or all of it, as for [`write`](Self::write).
    ///
    /// On a file system without hard links it is visible while it is being written.
    ///
    /// # Errors
    /// When something is there already, a link that leads nowhere included, and as for [`write`](Self::write).
    pub fn create_new(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Result<()> {
        let (path, content) = (path.as_ref(), content.as_ref());
        let place = self.new_place(path, content.len())?;
        if place.dir.symlink_metadata(&place.name).is_ok() {
            return Err(self.error(path, RootErrorKind::Exists, "it exists already"));
        }
        let whole = |name: &Path| {
            // A link fails if there is something by now; a rename would replace it.
            let linked = match place.dir.hard_link(name, &place.dir, &place.name) {
                Err(e) if has_no_links(&e) => written_in_place(&place, content),
                linked => linked,
            };
            // The name beside it, whether or not it got its own.
            place.dir.remove_file(name).and(linked)
        };
        self.beside(path, &place, content, None, whole)
    }

    /// A file, new or not, to be written at its end.
    ///
    /// # Errors
    /// As for [`write`](Self::write); how much is written is not limited.
    pub fn append_file(&self, path: impl AsRef<Path>) -> Result<File> {
        let path = path.as_ref();
        let place = self.place(path, 0)?;
        let failed = |e| self.failed(path, e);
        match place.dir.metadata(&place.name) {
            Ok(metadata) => self.must_be_a_file(path, &metadata)?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(failed(e)),
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        without_waiting(&mut options);
        let file = place.dir.open_with(&place.name, &options).map_err(failed)?;
        self.must_be_a_file(path, &file.metadata().map_err(failed)?)?;
        Ok(file.into_std())
    }

    /// Makes a folder, and those above it that are missing. One that is there is fine.
    ///
    /// # Errors
    /// When one on the way is something else, or leads out.
    pub fn create_dir_all(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let cleaned = self.changeable(path)?;
        self.dir.create_dir_all(cleaned).map_err(|e| self.failed(path, e))
    }

    /// Removes a file, or a link but not what it leads to.
    ///
    /// # Errors
    /// When there is none, or it is a folder.
    pub fn remove_file(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let cleaned = self.changeable(path)?;
        let failed = |e| self.failed(path, e);
        // Which systems say in different ways.
        if self.dir.symlink_metadata(&cleaned).map_err(failed)?.is_dir() {
            return Err(self.error(path, RootErrorKind::NotAFile, "a folder, not a file"));
        }
        self.dir.remove_file(cleaned).map_err(failed)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// When there is none, or it is not empty, or is the root itself.
    pub fn remove_dir(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let cleaned = self.changeable(path)?;
        self.not_itself(path, &cleaned)?;
        self.dir.remove_dir(cleaned).map_err(|e| self.failed(path, e))
    }

    /// Renames a file or folder within this root. A file that is there under the new name is replaced; a link is renamed
    /// itself.
    ///
    /// # Errors
    /// When there is none, or the new folder is missing.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
        let (from, to) = (from.as_ref(), to.as_ref());
        let (old, new) = (self.changeable(from)?, self.changeable(to)?);
        self.not_itself(from, &old)?;
        self.not_itself(to, &new)?;
        // So that an error names the one that it is about.
        self.dir.symlink_metadata(&old).map_err(|e| self.failed(from, e))?;
        self.dir.rename(old, &self.dir, new).map_err(|e| self.failed(to, e))
    }

    /// `path`, if anything may be changed.
    fn changeable(&self, path: &Path) -> Result<PathBuf> {
        let cleaned = self.relative(path)?;
        if self.is_read_only {
            return Err(self.error(path, RootErrorKind::ReadOnly, "the folder is read-only"));
        }
        Ok(cleaned)
    }

    fn not_itself(&self, path: &Path, cleaned: &Path) -> Result<()> {
        if cleaned == Path::new(".") {
            return Err(self.error(path, RootErrorKind::BadPath, "that is the folder itself"));
        }
        Ok(())
    }

    /// Where a file of `len` bytes is to be written, with a link at its end followed.
    fn place(&self, path: &Path, len: usize) -> Result<Place> {
        let cleaned = self.changeable(path)?;
        match self.dir.symlink_metadata(&cleaned) {
            Ok(metadata) if metadata.is_symlink() => {
                let target = self.dir.canonicalize(&cleaned).map_err(|e| self.failed(path, e))?;
                self.place_of(path, &target, len)
            }
            // What is missing here says so below, with its folder.
            _ => self.place_of(path, &cleaned, len),
        }
    }

    fn new_place(&self, path: &Path, len: usize) -> Result<Place> {
        let cleaned = self.changeable(path)?;
        self.place_of(path, &cleaned, len)
    }

    fn place_of(&self, path: &Path, cleaned: &Path, len: usize) -> Result<Place> {
        if len as u64 > self.max_bytes {
            return Err(self.too_large(path));
        }
        let (Some(folder), Some(name)) = (cleaned.parent(), cleaned.file_name()) else {
            return Err(self.error(path, RootErrorKind::NotAFile, "a folder, not a file"));
        };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let dir = self.dir.open_dir(folder).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => self.error(path, RootErrorKind::NotFound, "its folder is missing"),
            _ => self.failed(path, e),
        })?;
        Ok(Place { dir, name: name.into() })
    }

    /// Writes `content` beside its place, then `whole` puts it there.
    fn beside(
        &self,
        path: &Path,
        place: &Place,
        content: &[u8],
        permissions: Option<Permissions>,
        whole: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<()> {
        let failed = |e| self.failed(path, e);
        let (name, file) = place.unused().map_err(failed)?;
        let written = (|| {
            // While it is empty.
            permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions))?;
            let mut file = file.into_std();
            file.write_all(content)?;
            // Or a crash may leave the new name and no content.
            file.sync_all()
        })();
        written.and_then(|()| whole(&name)).map_err(|e| {
            // What is left is in nobody's way; the error that counts is the first.
            if let Err(e) = place.dir.remove_file(&name) {
                log::debug!("cannot remove {}: {e}", name.display());
            }
            failed(e)
        })
    }
}

/// A folder that is open, and a name in it.
struct Place {
    dir: Dir,
    name: PathBuf,
}

impl Place {
    /// A new file whose name nobody can guess, and so nobody can have taken.
    fn unused(&self) -> io::Result<(PathBuf, cap_std::fs::File)> {
        let mut tries = 0;
        loop {
            // std seeds it from the system's random numbers.
            let name = PathBuf::from(format!(".tmp-{:016x}", RandomState::new().build_hasher().finish()));
            match self.dir.open_with(&name, OpenOptions::new().write(true).create_new(true)) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && tries < TRIES => tries += 1,
                opened => return opened.map(|file| (name, file)),
            }
        }
    }
}

fn written_in_place(place: &Place, content: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = place.dir.open_with(&place.name, options.write(true).create_new(true))?.into_std();
    file.write_all(content).and_then(|()| file.sync_all()).inspect_err(|_| {
        // Half of it is worse than none; the error that counts is the first.
        if let Err(e) = place.dir.remove_file(&place.name) {
            log::debug!("cannot remove {}: {e}", place.name.display());
        }
    })
}

/// Whether the file system knows no hard links, or the system lets this user make none.
fn has_no_links(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied)
}
