//! Making a file of JSON lines end in a whole line.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::format::{FORMAT_VERSION, Header};
use super::lines::invalid;
use crate::json::{FromJson, Json};

/// As much of a file is looked at to know what it is.
const HEADER_BYTES: u64 = 64 << 10;

/// What a file lacks before more is written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Whole,
    /// There is nothing in it.
    WithoutHeader,
    /// The last line has not got its end.
    WithoutLineEnd,
}

/// Makes `file`, which is of this format, end in a whole line, but for the end of that.
///
/// # Errors
/// When it is something else, or of a later version; nothing is changed then.
pub(super) fn repair(file: &mut File, format: &str) -> io::Result<Ending> {
    let length = file.seek(SeekFrom::End(0))?;
    if length == 0 {
        return Ok(Ending::WithoutHeader);
    }
    let has_header = check_header(file, format, length)?;
    let end = last_line_end(file, length)?;
    let whole = if has_header { Ending::Whole } else { Ending::WithoutHeader };
    if end == length {
        return Ok(whole);
    }
    let mut last = Vec::new();
    file.seek(SeekFrom::Start(end))?;
    file.read_to_end(&mut last)?;
    // Only its end may be missing: no beginning of an object is one.
    if std::str::from_utf8(&last).is_ok_and(|last| Json::parse(last).is_ok()) {
        return Ok(Ending::WithoutLineEnd);
    }
    log::warn!("cut {} bytes of a torn line off a recording", length - end);
    file.set_len(end)?;
    Ok(whole)
}

/// Whether the header is whole; it may be torn itself.
fn check_header(file: &mut File, format: &str, length: u64) -> io::Result<bool> {
    let mut start = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(HEADER_BYTES).read_to_end(&mut start)?;
    let end = start.iter().position(|byte| *byte == b'\n');
    let line = String::from_utf8_lossy(&start[..end.unwrap_or(start.len())]);
    let header = Json::parse(&line).ok().and_then(|json| Header::from_json(json.as_raw()).ok());
    match header.filter(|header| header.format == format) {
        Some(Header { version, .. }) if version > FORMAT_VERSION => {
            Err(invalid(format!("version {version} of {format}, and this program knows {FORMAT_VERSION}")))
        }
        Some(_) => Ok(true),
        // Torn: all there is of it is the beginning of what would have been written.
        None if end.is_none() && length < HEADER_BYTES && is_begun(&line, format) => Ok(false),
        None => Err(invalid(format!("not a file of {format}"))),
    }
}

fn is_begun(line: &str, format: &str) -> bool {
    let whole = format!("{{\"format\":\"{format}\",\"version\":");
    whole.starts_with(line) || line.starts_with(&whole)
}

/// Where the last whole line of the file ends.
fn last_line_end(file: &mut File, length: u64) -> io::Result<u64> {
    const STEP: u64 = 64 << 10;
    let mut end = length;
    while end > 0 {
        let start = end.saturating_sub(STEP);
        let mut part = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        file.take(end - start).read_to_end(&mut part)?;
        if let Some(at) = part.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}
