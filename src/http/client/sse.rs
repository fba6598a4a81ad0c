//! [`EventReader`]: events out of the bytes of an event stream, however they are cut.
//!
//! By the rules of the HTML standard (section 9.2.6, "interpreting an event stream"). Works on bytes, so that a text that is
//! not UTF-8 is the problem of its event.

use std::time::Duration;

/// So much is kept of the data of an event that is too long: enough to see which call it answers.
const HEAD_BYTES: usize = 256;

/// A longer id cannot be sent back in a header, and is ignored.
const MAX_ID_BYTES: usize = 4096;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// What a stream brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// An event that has data.
    Whole {
        /// `message`, unless the stream says otherwise.
        kind: String,
        data: Vec<u8>,
    },
    /// An event longer than the limit; the head of its data.
    TooLong(Vec<u8>),
}

/// Reads one stream, once from its beginning.
#[derive(Debug)]
pub(super) struct EventReader {
    max_bytes: usize,
    /// What has come of the current line.
    line: Vec<u8>,
    is_first_line: bool,
    /// The last byte was a CR, so that an LF belongs to it.
    is_after_cr: bool,
    kind: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The current event is longer than the limit, and its lines are only looked at for their ends.
    is_too_long: bool,
    /// The current line of such an event holds something.
    has_line: bool,
    /// As the stream said last, for the events to come.
    id: Vec<u8>,
    /// As of the last event that is complete.
    last_id: Vec<u8>,
    retry: Option<Duration>,
}

impl EventReader {
    /// Of an event, its fields and their names together may have `max_bytes`.
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            line: Vec::new(),
            is_first_line: true,
            is_after_cr: false,
            kind: Vec::new(),
            data: Vec::new(),
            has_data: false,
            is_too_long: false,
            has_line: false,
            id: Vec::new(),
            last_id: Vec::new(),
            retry: None,
        }
    }

    /// For the same stream, when it is opened again.
    pub(super) fn reopened(self) -> Self {
        let id = self.last_id.clone();
        Self { id, last_id: self.last_id, retry: self.retry, ..Self::new(self.max_bytes) }
    }

    /// The id of the last event that is complete, if it has one: what a stream that breaks off is continued from.
    pub(super) fn last_id(&self) -> Option<&[u8]> {
        Some(self.last_id.as_slice()).filter(|id| !id.is_empty())
    }

    /// How long to wait before the stream is opened again, if it says so.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Takes what came and gives the events that are complete with it. What is left at the end of the stream is no event.
    pub(super) fn feed(&mut self, mut bytes: &[u8], mut on_event: impl FnMut(Event)) {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.is_after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n')) else {
                self.extend_line(bytes);
                return;
            };
            self.extend_line(&bytes[..end]);
            self.is_after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if let Some(event) = self.end_line() {
                on_event(event);
            }
        }
    }

    fn extend_line(&mut self, part: &[u8]) {
        if self.is_too_long {
            self.has_line |= !part.is_empty();
        } else if self.data.len() + self.kind.len() + self.line.len() + part.len() > self.max_bytes {
            self.is_too_long = true;
            self.has_line = true;
            self.keep_head(part);
        } else {
            self.line.extend_from_slice(part);
        }
    }

    /// What is known of the data when the event proves too long.
    fn keep_head(&mut self, part: &[u8]) {
        let room = HEAD_BYTES.saturating_sub(self.line.len());
        self.line.extend_from_slice(&part[..room.min(part.len())]);
        let line = std::mem::take(&mut self.line);
        if let Some(rest) = line.strip_prefix(b"data:") {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(rest.strip_prefix(b" ").unwrap_or(rest));
        }
        self.data.truncate(HEAD_BYTES);
        self.data.shrink_to_fit();
    }

    fn end_line(&mut self) -> Option<Event> {
        if self.is_too_long {
            let is_over = !std::mem::take(&mut self.has_line);
            return if is_over { self.dispatch() } else { None };
        }
        let mut line = std::mem::take(&mut self.line);
        let text = match line.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if self.is_first_line => rest,
            _ => &line,
        };
        self.is_first_line = false;
        if text.is_empty() {
            return self.dispatch();
        }
        self.field(text);
        line.clear();
        self.line = line; // its memory serves the next line
        None
    }

    fn field(&mut self, line: &[u8]) {
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(0) => return, // a comment
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"event" => self.kind = value.to_vec(),
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"id" if value.contains(&0) => {}
            b"id" if value.len() > MAX_ID_BYTES => log::debug!("ignored the id of an event: too long"),
            b"id" => self.id = value.to_vec(),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                // More digits than a number holds are a wait that never ends.
                let millis = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
                self.retry = Some(Duration::from_millis(millis.unwrap_or(u64::MAX)));
            }
            _ => {}
        }
    }

    fn dispatch(&mut self) -> Option<Event> {
        self.last_id.clone_from(&self.id);
        let (kind, data) = (std::mem::take(&mut self.kind), std::mem::take(&mut self.data));
        if std::mem::take(&mut self.is_too_long) {
            self.has_data = false;
            return Some(Event::TooLong(data));
        }
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        let kind = if kind.is_empty() { "message".into() } else { String::from_utf8_lossy(&kind) };
        Some(Event::Whole { kind: kind.into_owned(), data })
    }
}

#[cfg(test)]
mod tests;
