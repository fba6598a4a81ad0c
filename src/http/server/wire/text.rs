//! The text of answers: status lines, headers, chunks.

use std::cell::Cell;
use std::io::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use super::Response;
use super::parse::Manner;

/// A body up to this size is copied behind its head: a second system call is dearer.
pub(super) const SMALL_BODY: usize = 16 * 1024;

/// For a client that waits for a word before it sends its body.
pub(super) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
/// Ends a stream.
pub(super) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
/// A comment among events: something for a proxy to see, and for the operating system to find out whether the peer is there.
pub(super) const KEEP_ALIVE: &[u8] = b":\n\n";

thread_local! {
    /// Text is put together here, so that an answer allocates nothing.
    static TEXT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// The date of this second.
    static DATE: Cell<(u64, [u8; 29])> = const { Cell::new((u64::MAX, [0; 29])) };
}

/// Runs `write` with an empty text.
pub(super) fn with_text<R>(write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    let mut text = TEXT.try_with(Cell::take).unwrap_or_default();
    text.clear();
    let result = write(&mut text);
    if text.capacity() <= 2 * SMALL_BODY {
        // A thread that ends has no place for it any more.
        let _ = TEXT.try_with(|place| place.set(text));
    }
    result
}

/// The head of an answer as a whole.
pub(super) fn response_head(text: &mut Vec<u8>, response: &Response, manner: Manner) {
    status_line(text, response.status);
    headers(text, &response.headers);
    // These have no body, and say so by what they are.
    if !matches!(response.status, 100..=199 | 204 | 304) {
        text.extend_from_slice(b"Content-Length: ");
        number(text, response.body.len());
    }
    date(text);
    end_of_head(text, manner);
}

/// The head of an answer that goes on.
pub(super) fn stream_head(text: &mut Vec<u8>, more: &[(&'static str, String)], manner: Manner) {
    status_line(text, 200);
    text.extend_from_slice(
        b"Content-Type: text/event-stream\r\nCache-Control: no-cache\r\nX-Accel-Buffering: no\r\n",
    );
    headers(text, more);
    if !manner.is_http_1_0 {
        text.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
    }
    date(text);
    end_of_head(text, manner);
}

/// Events as a part of a stream: a chunk, or as they are.
pub(super) fn events(text: &mut Vec<u8>, events: &[u8], manner: Manner) {
    if events.is_empty() {
        return; // an empty chunk would be the last
    }
    if manner.is_http_1_0 {
        text.extend_from_slice(events);
        return;
    }
    // Writing to memory does not fail.
    let _ = write!(text, "{:x}\r\n", events.len());
    text.extend_from_slice(events);
    text.extend_from_slice(b"\r\n");
}

fn status_line(text: &mut Vec<u8>, status: u16) {
    text.extend_from_slice(b"HTTP/1.1 ");
    let status = status.clamp(100, 999);
    text.extend([status / 100, status / 10 % 10, status % 10].map(|digit| b'0' + digit as u8));
    text.push(b' ');
    text.extend_from_slice(reason(status).as_bytes());
    text.extend_from_slice(b"\r\n");
}

fn headers(text: &mut Vec<u8>, headers: &[(&'static str, String)]) {
    for (name, value) in headers {
        text.extend_from_slice(name.as_bytes());
        text.extend_from_slice(b": ");
        // A line end in a value would begin another header.
        text.extend(
            value.bytes().map(|byte| if byte.is_ascii_control() && byte != b'\t' { b' ' } else { byte }),
        );
        text.extend_from_slice(b"\r\n");
    }
}

fn end_of_head(text: &mut Vec<u8>, manner: Manner) {
    match (manner.keeps_alive, manner.is_http_1_0) {
        (false, _) => text.extend_from_slice(b"Connection: close\r\n"),
        (true, true) => text.extend_from_slice(b"Connection: keep-alive\r\n"),
        (true, false) => {}
    }
    text.extend_from_slice(b"\r\n");
}

fn number(text: &mut Vec<u8>, number: usize) {
    let _ = write!(text, "{number}\r\n");
}

fn date(text: &mut Vec<u8>) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let known = DATE.try_with(Cell::get).unwrap_or((u64::MAX, [0; 29]));
    let (_, date) = if known.0 == now {
        known
    } else {
        let new = (now, date_of(now));
        let _ = DATE.try_with(|place| place.set(new));
        new
    };
    text.extend_from_slice(b"Date: ");
    text.extend_from_slice(&date);
    text.extend_from_slice(b"\r\n");
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`. The calendar repeats every 146,097 days; years are counted from March, so that the day
/// that comes and goes is the last one.
fn date_of(seconds: u64) -> [u8; 29] {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan", "Feb"];
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // From the first of March of the year 0 to the first of January 1970.
    let since = days + 719_468;
    let (era, day) = (since / 146_097, since % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year + u64::from(month >= 10);
    let mut date = [b' '; 29];
    let text = format!(
        "{}, {day:02} {} {year:04} {:02}:{:02}:{:02} GMT",
        DAYS[(days % 7) as usize],
        MONTHS[(month % 12) as usize],
        second / 3600,
        second / 60 % 60,
        second % 60
    );
    let length = text.len().min(29);
    date[..length].copy_from_slice(&text.as_bytes()[..length]);
    date
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        // It may be empty, and nobody reads it.
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, date) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (951_868_799, "Tue, 29 Feb 2000 23:59:59 GMT"),
            (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"),
            (1_798_761_599, "Thu, 31 Dec 2026 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        ] {
            assert_eq!(String::from_utf8_lossy(&date_of(seconds)), date);
        }
    }

    #[test]
    fn a_value_cannot_end_its_line() {
        let mut response = Response::new(404);
        response.headers.push(("X-Said", "a\r\nSet-Cookie: b\0\u{e9}\tc".to_owned()));
        let mut text = Vec::new();
        response_head(&mut text, &response, Manner::LAST);
        let text = String::from_utf8(text).expect("text");
        assert!(
            text.starts_with(
                "HTTP/1.1 404 Not Found\r\nX-Said: a  Set-Cookie: b \u{e9}\tc\r\nContent-Length: 0\r\n"
            ),
            "{text}"
        );
        assert!(text.ends_with(" GMT\r\nConnection: close\r\n\r\n"), "{text}");
    }
}
