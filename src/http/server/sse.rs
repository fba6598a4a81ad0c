//! Writing server-sent events.
//!
//! **Invariant:** what is written is whole events, whatever the data holds.
//!
//! spec: <https://html.spec.whatwg.org/multipage/server-sent-events.html>

use std::time::Duration;

/// Appends an event: its id and its name if it has them, and its data. A line break in the data is one for the reader too.
pub(super) fn write_event(out: &mut Vec<u8>, id: Option<&str>, name: Option<&str>, data: &[u8]) {
    if let Some(id) = id {
        write_id(out, id);
    }
    if let Some(name) = name {
        write_field(out, "event", name.as_bytes());
    }
    write_data(out, data);
}

/// Appends the event that a stream begins with, which tells the client by which id to come back, and when.
///
/// spec: 2025-11-25 basic/transports#sending-messages-to-the-server (SHOULD prime the client)
pub(super) fn write_priming(out: &mut Vec<u8>, id: &str, retry: Option<Duration>) {
    if !write_id(out, id) {
        return;
    }
    if let Some(retry) = retry {
        write_field(out, "retry", milliseconds(retry).as_bytes());
    }
    write_data(out, b"");
}

/// Appends how long the client is to wait before it comes back, before its connection is closed. It is no event to the client.
///
/// spec: 2025-11-25 basic/transports#sending-messages-to-the-server (SHOULD send `retry` before closing)
pub(super) fn write_retry(out: &mut Vec<u8>, retry: Duration) {
    write_field(out, "retry", milliseconds(retry).as_bytes());
    out.push(b'\n');
}

/// Whether the id can be written. Ids come from the event store, which may be anyone's: one that would end its line is left out.
fn write_id(out: &mut Vec<u8>, id: &str) -> bool {
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic());
    if is_id {
        write_field(out, "id", id.as_bytes());
    } else {
        log::error!("the event store gave an id that is not visible ASCII; the event is sent without it");
    }
    is_id
}

/// The data, and the empty line that ends an event.
fn write_data(out: &mut Vec<u8>, data: &[u8]) {
    let mut rest = data;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        write_field(out, "data", &rest[..at]);
        let is_both = rest[at..].starts_with(b"\r\n");
        rest = &rest[at + 1 + usize::from(is_both)..];
    }
    write_field(out, "data", rest);
    out.push(b'\n');
}

/// `value` is in one line.
fn write_field(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    // The reader drops the space, or else the first space of the value.
    for part in [name.as_bytes(), b": ", value, b"\n"] {
        out.extend_from_slice(part);
    }
}

/// Whole ones, rounded up.
fn milliseconds(time: Duration) -> String {
    time.as_nanos().div_ceil(1_000_000).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn events_are_written_whole() {
        for (id, name, data, want) in [
            (None, None, "{\"a\":1}", "data: {\"a\":1}\n\n"),
            (Some("3-7"), None, "{}", "id: 3-7\ndata: {}\n\n"),
            (None, Some("endpoint"), "/messages?session=1", "event: endpoint\ndata: /messages?session=1\n\n"),
            (Some("1"), Some("message"), "{}", "id: 1\nevent: message\ndata: {}\n\n"),
            (Some("1"), None, "", "id: 1\ndata: \n\n"),
            (None, None, " x", "data:  x\n\n"),
            (None, None, "a\nb", "data: a\ndata: b\n\n"),
            (None, None, "a\r\nb", "data: a\ndata: b\n\n"),
            (None, None, "a\rb", "data: a\ndata: b\n\n"),
            (None, None, "a\n\rb", "data: a\ndata: \ndata: b\n\n"),
            (None, None, "a\n\nid: evil\n", "data: a\ndata: \ndata: id: evil\ndata: \n\n"),
            (None, None, "\r\n", "data: \ndata: \n\n"),
            // Ids that would be more than an id.
            (Some("1\ndata: evil"), None, "{}", "data: {}\n\n"),
            (Some("1\r"), None, "{}", "data: {}\n\n"),
            (Some("\0"), None, "{}", "data: {}\n\n"),
            (Some("é"), None, "{}", "data: {}\n\n"),
            (Some("1 2"), None, "{}", "data: {}\n\n"),
            (Some(""), None, "{}", "data: {}\n\n"),
        ] {
            assert_eq!(written(|out| write_event(out, id, name, data.as_bytes())), want, "{id:?} {data:?}");
        }
        let two = written(|out| {
            write_event(out, None, None, b"1");
            write_event(out, None, None, b"2");
        });
        assert_eq!(two, "data: 1\n\ndata: 2\n\n");
    }

    #[test]
    fn clients_are_told_when_to_come_back_and_from_where() {
        let half = Duration::from_millis(500);
        assert_eq!(written(|out| write_retry(out, half)), "retry: 500\n\n");
        assert_eq!(written(|out| write_retry(out, Duration::from_micros(1))), "retry: 1\n\n");
        assert_eq!(written(|out| write_retry(out, Duration::ZERO)), "retry: 0\n\n");
        assert_eq!(written(|out| write_priming(out, "3-1", Some(half))), "id: 3-1\nretry: 500\ndata: \n\n");
        assert_eq!(written(|out| write_priming(out, "3-1", None)), "id: 3-1\ndata: \n\n");
        assert_eq!(written(|out| write_priming(out, "3\n1", Some(half))), "");
    }
}
