use super::*;

/// What a stream brings if it comes in pieces of `size` bytes, as `kind|data`.
fn events(stream: &[u8], size: usize, max_bytes: usize) -> (Vec<String>, EventReader) {
    let mut reader = EventReader::new(max_bytes);
    let mut events = Vec::new();
    for piece in stream.chunks(size) {
        reader.feed(piece, |event| {
            events.push(match event {
                Event::Whole { kind, data } => format!("{kind}|{}", String::from_utf8_lossy(&data)),
                Event::TooLong(head) => format!("over|{}", String::from_utf8_lossy(&head)),
            });
        });
    }
    (events, reader)
}

#[test]
fn streams_are_read_by_the_standard_at_any_cut() {
    let cases: &[(&str, &[&str])] = &[
        ("data: a\n\n", &["message|a"]),
        ("data:a\r\rdata: b\r\n\r\ndata:  c\n\n", &["message|a", "message|b", "message| c"]),
        ("data: a\r\n\r\n\r\ndata: b\r\n\n", &["message|a", "message|b"]),
        ("\u{feff}data: a\n\n", &["message|a"]),
        ("\u{feff}\u{feff}data: a\n\n", &[]),
        ("data: {\ndata:  \"a\": 1\ndata: }\n\n", &["message|{\n \"a\": 1\n}"]),
        ("data\n\n", &["message|"]),
        ("data\ndata\n\n", &["message|\n"]),
        ("data:\n\n", &["message|"]),
        (": keep-alive\n\n:\n\ndata: a\n: in between\ndata: b\n\n", &["message|a\nb"]),
        ("event: endpoint\ndata: /m\n\ndata: a\n\n", &["endpoint|/m", "message|a"]),
        ("event: x\n\ndata: a\n\n", &["message|a"]),
        ("event: a\nevent\ndata: a\n\n", &["message|a"]),
        ("id: 1\nretry: 5\n\n", &[]),
        ("data: a\n", &[]),
        ("data: a\n\ndata: b", &["message|a"]),
        ("Data: a\n data: b\nunknown: c\ndata: d\n\n", &["message|d"]),
        ("data: a: b\n\n", &["message|a: b"]),
        ("data: \u{e4}\u{1f600}\n\n", &["message|\u{e4}\u{1f600}"]),
        ("\n\n\n", &[]),
        ("", &[]),
    ];
    for (stream, want) in cases {
        for size in 1..=stream.len().max(1) {
            let (found, _) = events(stream.as_bytes(), size, 1000);
            assert_eq!(found, *want, "{stream:?} in pieces of {size}");
        }
    }
}

#[test]
fn ids_and_times_are_remembered() {
    let cases: &[(&str, Option<&str>, Option<u64>)] = &[
        ("id: 1\ndata: a\n\n", Some("1"), None),
        ("id: 1\ndata: a\n\ndata: b\n\n", Some("1"), None),
        ("id: 1\ndata:\n\n", Some("1"), None),
        ("id: 1\n\n", Some("1"), None),
        ("id: 1\ndata: a\n", None, None),
        ("id: 1\ndata: a\n\nid: 2\ndata: b\n", Some("1"), None),
        ("id: 1\n\nid\n\n", None, None),
        ("id: 1\n\nid: a\0b\n\n", Some("1"), None),
        ("id:  1\n\n", Some(" 1"), None),
        ("retry: 500\n", None, Some(500)),
        ("retry: 500\nretry: 5s\nretry:\nretry: -1\nretry: 1.5\n", None, Some(500)),
        ("retry:7", None, None),
        ("retry: 99999999999999999999\n", None, Some(u64::MAX)),
    ];
    for (stream, id, retry) in cases {
        for size in 1..=stream.len() {
            let (_, reader) = events(stream.as_bytes(), size, 1000);
            assert_eq!(reader.last_id(), id.map(str::as_bytes), "{stream:?}");
            assert_eq!(reader.retry(), retry.map(Duration::from_millis), "{stream:?}");
        }
    }
    let long = format!("id: 1\n\nid: {}\n\n", "x".repeat(MAX_ID_BYTES + 1));
    assert_eq!(events(long.as_bytes(), 100, 10_000).1.last_id(), Some(&b"1"[..]));
}

#[test]
fn an_event_over_the_limit_is_skipped_and_costs_no_memory() {
    let long = "x".repeat(400);
    let stream = format!("data: a\n\nid: 9\ndata: {long}\ndata: {long}\n\ndata: b\n\n");
    let head = format!("over|{}", "x".repeat(32 - "data: ".len()));
    for size in 1..=stream.len() {
        let (found, reader) = events(stream.as_bytes(), size, 32);
        assert_eq!(found.len(), 3, "in pieces of {size}: {found:?}");
        assert!(found[0] == "message|a" && found[2] == "message|b");
        assert!(found[1].starts_with(&head) && found[1].len() <= "over|".len() + HEAD_BYTES, "{}", found[1]);
        assert_eq!(reader.last_id(), Some(&b"9"[..]));
    }
    // Many lines, none of them long.
    let stream = format!("{}\n\ndata: b\n\n", "data: 0123456789\n".repeat(10));
    for size in 1..=stream.len() {
        let (found, _) = events(stream.as_bytes(), size, 64);
        assert!(found.len() == 2 && found[0].starts_with("over|0123456789\n"), "{found:?}");
    }
    let mut reader = EventReader::new(1000);
    reader.feed(b"data: ", |_| panic!("no event"));
    for _ in 0..1000 {
        reader.feed(&[b'a'; 1000], |_| panic!("no event"));
    }
    assert!(reader.line.capacity() + reader.data.capacity() <= 4096);
}
