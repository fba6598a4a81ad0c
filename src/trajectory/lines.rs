//! [`Lines`]: a recording, line by line.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use super::format::{FORMAT_VERSION, Header, Line};

/// A longer line is passed over, as if it were broken.
const MAX_LINE_BYTES: usize = 256 * 1024 * 1024;

/// The lines of a recording, each read when it is asked for.
///
/// A last line that is torn, as a program leaves it that was killed, is passed over ([`is_torn`](Self::is_torn)), and so is any
/// other that is no line of a recording, with a warning in the log ([`broken`](Self::broken) counts them).
///
/// ```
/// use tinymcp::trajectory::{Line, Lines};
///
/// let text = r#"{"format":"tinymcp-trajectory","version":1}
/// {"event":"begin","trajectory":"7","seq":0,"task":"Tidy up"}
/// {"event":"turn","traj"#;
/// let mut lines = Lines::new(text.as_bytes());
/// let begin = lines.nth(1).expect("a line")?;
/// assert_eq!(begin.offset, 44);
/// assert!(matches!(begin.line, Line::Event(event) if event.trajectory == "7"));
/// assert!(lines.next().is_none() && lines.is_torn());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// An item is an error if reading failed, if the file is no recording, or if it is one of a later version; it is the last one.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    offset: u64,
    number: u64,
    broken: u64,
    is_torn: bool,
    is_over: bool,
}

/// One line and where it is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReadLine {
    /// Where it begins, in bytes from the beginning of what was read.
    pub offset: u64,
    /// How many bytes it has, without its end.
    pub length: u64,
    /// What it says.
    pub line: Line,
}

impl Lines<BufReader<File>> {
    /// The lines of a file.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self::new(BufReader::with_capacity(64 << 10, File::open(path)?)))
    }
}

impl<R: BufRead> Lines<R> {
    /// The lines of anything that can be read.
    pub fn new(reader: R) -> Self {
        Self { reader, offset: 0, number: 0, broken: 0, is_torn: false, is_over: false }
    }

    /// How many lines were passed over so far, besides a torn last one.
    #[must_use]
    pub fn broken(&self) -> u64 {
        self.broken
    }

    /// Whether the end was reached, and the last line there is torn.
    #[must_use]
    pub fn is_torn(&self) -> bool {
        self.is_torn
    }

    /// The next line as bytes, and whether it is whole and has its end. `None` at the end of what there is.
    fn bytes(&mut self) -> io::Result<Option<Bytes>> {
        let mut line = Vec::new();
        let mut length = 0;
        loop {
            let available = match self.reader.fill_buf() {
                Ok(available) => available,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            length += part.len();
            if length <= MAX_LINE_BYTES {
                line.extend_from_slice(part);
            }
            let (used, is_last) = (part.len() + usize::from(end.is_some()), available.is_empty());
            self.reader.consume(used);
            if end.is_some() || is_last {
                let has_end = end.is_some();
                return Ok((has_end || length > 0).then_some(Bytes { line, length, has_end }));
            }
        }
    }

    fn read(&mut self) -> io::Result<Option<ReadLine>> {
        loop {
            let Some(Bytes { mut line, length, has_end }) = self.bytes()? else { return Ok(None) };
            let offset = self.offset;
            self.offset += length as u64 + u64::from(has_end);
            self.number += 1;
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            if line.is_empty() && length == 0 {
                continue;
            }
            let parsed = if length > MAX_LINE_BYTES {
                Err(format!("longer than {MAX_LINE_BYTES} bytes"))
            } else {
                let text = std::str::from_utf8(&line).map_err(|e| e.to_string());
                text.and_then(|text| Line::parse(text).map_err(|e| e.to_string()))
            };
            match parsed {
                Ok(Line::Header(Header { version, .. })) if version > FORMAT_VERSION => {
                    return Err(invalid(format!(
                        "a recording of version {version}, and this program knows {FORMAT_VERSION}"
                    )));
                }
                Ok(line) => return Ok(Some(ReadLine { offset, length: length as u64, line })),
                Err(_) if !has_end => self.is_torn = true,
                Err(problem) if self.number == 1 => {
                    return Err(invalid(format!("not a recording: {problem}")));
                }
                Err(problem) => {
                    self.broken += 1;
                    if self.broken.is_power_of_two() {
                        log::warn!("passed over line {} of a recording: {problem}", self.number);
                    }
                }
            }
        }
    }
}

struct Bytes {
    line: Vec<u8>,
    /// Of the whole line, which may be more than is held.
    length: usize,
    has_end: bool,
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = io::Result<ReadLine>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = self.read().transpose();
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}

pub(super) fn invalid(problem: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem.into())
}
