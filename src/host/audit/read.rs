//! [`AuditReader`]: the lines of a log, one after the other.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::explain::Explained;
use super::file::all_files;
use super::intent::Kind;
use super::line::{FORMAT, VERSION, cut};
use super::log::AuditLog;
use crate::json::{Json, Members, Object};

/// A longer line is damaged: none is written that long.
const LINE_BYTES: u64 = 16 * 1024 * 1024;
/// So much is shown of a line that is damaged.
const DAMAGED_BYTES: usize = 1024;

impl AuditLog {
    /// Reads one file, which may still be written.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn read(path: impl AsRef<Path>) -> io::Result<AuditReader> {
        AuditReader::of(VecDeque::from([path.as_ref().to_owned()]))
    }

    /// Reads the files that were rotated away, the oldest first, and then the one of this path.
    ///
    /// # Errors
    /// When the folder cannot be read, or one of them not be opened.
    pub fn read_all(path: impl AsRef<Path>) -> io::Result<AuditReader> {
        AuditReader::of(all_files(path.as_ref())?.into())
    }
}

/// The lines of a log. A line that is damaged is one of [`LineKind::Damaged`], and costs nothing but itself.
///
/// An error of the disk, or a file of a newer format, ends it.
#[derive(Debug)]
pub struct AuditReader {
    files: VecDeque<PathBuf>,
    file: Option<BufReader<File>>,
    number: u64,
}

impl AuditReader {
    fn of(mut files: VecDeque<PathBuf>) -> io::Result<Self> {
        let file = next_file(&mut files)?;
        Ok(Self { files, file, number: 0 })
    }

    /// What was done, each with what came of it.
    #[must_use]
    pub fn explain(self) -> Explained {
        Explained::new(self)
    }

    fn read(&mut self) -> io::Result<Option<AuditLine>> {
        while let Some(file) = &mut self.file {
            let mut text = Vec::new();
            file.by_ref().take(LINE_BYTES).read_until(b'\n', &mut text)?;
            if text.is_empty() {
                (self.file, self.number) = (next_file(&mut self.files)?, 0);
                continue;
            }
            self.number += 1;
            if text.len() as u64 == LINE_BYTES && !text.ends_with(b"\n") {
                skip_line(file)?;
            }
            let line = AuditLine::parse(self.number, &text);
            match line.version().filter(|version| *version > VERSION) {
                Some(version) if line.kind == LineKind::Header => {
                    let problem = format!("format version {version} is newer than {VERSION}");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
                }
                _ => return Ok(Some(line)),
            }
        }
        Ok(None)
    }
}

fn next_file(files: &mut VecDeque<PathBuf>) -> io::Result<Option<BufReader<File>>> {
    let Some(path) = files.pop_front() else { return Ok(None) };
    let file = File::open(&path).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
    Ok(Some(BufReader::new(file)))
}

fn skip_line(file: &mut BufReader<File>) -> io::Result<()> {
    loop {
        let part = file.fill_buf()?;
        let (used, is_end) = match part.iter().position(|b| *b == b'\n') {
            Some(at) => (at + 1, true),
            None => (part.len(), part.is_empty()),
        };
        file.consume(used);
        if is_end {
            return Ok(());
        }
    }
}

impl Iterator for AuditReader {
    type Item = io::Result<AuditLine>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.read();
        if line.is_err() {
            (self.file, self.files) = (None, VecDeque::new());
        }
        line.transpose()
    }
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LineKind {
    /// A process begins, or goes on in a new file.
    Header,
    /// Something is about to be done.
    Intent,
    /// What came of it.
    Outcome,
    /// Something has happened.
    Event,
    /// So many lines could not be written.
    Lost,
    /// A kind that this version of the crate does not know.
    Other,
    /// No line of a log: torn, or overwritten.
    Damaged,
}

/// One line of a log.
#[derive(Clone, Debug)]
pub struct AuditLine {
    number: u64,
    kind: LineKind,
    members: Object,
    damaged: String,
}

impl AuditLine {
    pub(super) fn parse(number: u64, text: &[u8]) -> Self {
        let members = std::str::from_utf8(text).ok().and_then(|text| Members::parse(text.trim_end()).ok());
        let Some(members) = members.map(Members::rest) else {
            let shown = String::from_utf8_lossy(&text[..text.len().min(DAMAGED_BYTES)]).into_owned();
            return Self { number, kind: LineKind::Damaged, members: Object::new(), damaged: shown };
        };
        let kind = match members.get::<String>("type").as_deref() {
            Some("header") if members.get::<String>("format").as_deref() == Some(FORMAT) => LineKind::Header,
            Some("intent") => LineKind::Intent,
            Some("outcome") => LineKind::Outcome,
            Some("event") => LineKind::Event,
            Some("lost") => LineKind::Lost,
            _ => LineKind::Other,
        };
        Self { number, kind, members, damaged: String::new() }
    }

    /// Which line of its file it is; the first is 1.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> LineKind {
        self.kind
    }

    /// What is done, of an intent or an event.
    #[must_use]
    pub fn deed(&self) -> Option<Kind> {
        Kind::from_word(&self.text("kind")?)
    }

    /// A member that is text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        self.members.get(name)
    }

    /// Any member.
    #[must_use]
    pub fn json(&self, name: &str) -> Option<&Json> {
        self.members.json(name)
    }

    /// All members, in name order.
    #[must_use]
    pub fn members(&self) -> &Object {
        &self.members
    }

    /// How a damaged line begins; empty for others.
    #[must_use]
    pub fn damaged(&self) -> &str {
        cut(&self.damaged, DAMAGED_BYTES)
    }

    pub(super) fn version(&self) -> Option<u64> {
        self.members.get("version")
    }
}
