//! Listings: bounded, in order, and never through a link.

use std::path::{Path, PathBuf};

use super::{FileKind, MAX_DEPTH, Result, Root, RootError, RootErrorKind};

/// Something in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Its path from the root on.
    pub path: PathBuf,
    /// What it is. A link is a link, wherever it leads.
    pub kind: FileKind,
    /// Its size in bytes.
    pub len: u64,
}

/// What is in a folder and in the folders below.
#[derive(Debug)]
#[non_exhaustive]
pub struct Walk {
    /// In the order of their paths; a folder comes before what is in it.
    pub entries: Vec<Entry>,
    /// Folders that could not be read, or lie deeper than 64 levels.
    pub unread: Vec<RootError>,
}

impl Root {
    /// What is in a folder, in the order of names; `.` is the root itself.
    ///
    /// # Errors
    /// When it is no folder of this one, or has [too many entries](Self::max_entries).
    pub fn read_dir(&self, path: impl AsRef<Path>) -> Result<Vec<Entry>> {
        let path = path.as_ref();
        let cleaned = self.relative(path)?;
        self.listed(path, &cleaned, self.max_entries)
    }

    /// What is in a folder and in the folders below. No link is followed.
    ///
    /// # Errors
    /// When it is no folder of this one, or there are [too many entries](Self::max_entries). A folder below that cannot be read
    /// hides no other: it is in [`Walk::unread`].
    ///
    /// ```
    /// # let folder = std::env::temp_dir().join(format!("tinymcp-doc-walk-{}", std::process::id()));
    /// let root = tinymcp::guard::Root::create(&folder)?;
    /// root.create_dir_all("b/c")?;
    /// root.write("b/c/d.txt", "")?;
    /// root.write("a.txt", "")?;
    /// let paths: Vec<_> = root.walk(".")?.entries.into_iter().map(|entry| entry.path).collect();
    /// assert_eq!(paths, ["a.txt", "b", "b/c", "b/c/d.txt"].map(std::path::PathBuf::from));
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn walk(&self, path: impl AsRef<Path>) -> Result<Walk> {
        let path = path.as_ref();
        let start = self.relative(path)?;
        let depth = |path: &Path| path.components().count();
        let too_deep = depth(&start) + MAX_DEPTH;
        let mut walk = Walk { entries: Vec::new(), unread: Vec::new() };
        // In reverse order, so that the next one is last.
        let mut open = self.listed(path, &start, self.max_entries)?;
        open.reverse();
        while let Some(entry) = open.pop() {
            let is_folder = entry.kind == FileKind::Folder;
            let folder = entry.path.clone();
            walk.entries.push(entry);
            if !is_folder {
                continue;
            }
            if depth(&folder) >= too_deep {
                let problem = format!("more than {MAX_DEPTH} folders deep");
                walk.unread.push(self.error(&folder, RootErrorKind::TooMany, problem));
                continue;
            }
            let room = self.max_entries - walk.entries.len() - open.len();
            match self.listed(&folder, &folder, room) {
                Ok(below) => open.extend(below.into_iter().rev()),
                Err(e) if e.kind() == RootErrorKind::TooMany => return Err(self.too_many(path)),
                // Removed or replaced meanwhile.
                Err(e) if matches!(e.kind(), RootErrorKind::NotFound | RootErrorKind::NotAFolder) => {}
                Err(e) => walk.unread.push(e),
            }
        }
        Ok(walk)
    }

    /// At most `room` entries of the folder at `cleaned`.
    fn listed(&self, given: &Path, cleaned: &Path, room: usize) -> Result<Vec<Entry>> {
        let failed = |e| self.failed(given, e);
        let prefix = if cleaned == Path::new(".") { Path::new("") } else { cleaned };
        let mut entries = Vec::new();
        for entry in self.dir.read_dir(cleaned).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                // Removed meanwhile.
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
                Err(e) => return Err(failed(e)),
            };
            if entries.len() == room {
                return Err(self.too_many(given));
            }
            let kind = FileKind::of(metadata.file_type());
            entries.push(Entry { path: prefix.join(entry.file_name()), kind, len: metadata.len() });
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    fn too_many(&self, path: &Path) -> RootError {
        self.error(path, RootErrorKind::TooMany, format!("more than {} entries", self.max_entries))
    }
}
