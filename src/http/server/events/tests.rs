use super::*;

fn begin(events: &MemoryEvents, session: &str) -> StreamKey {
    events.begin(session).expect("begins")
}

fn store(events: &MemoryEvents, stream: &StreamKey, message: &str) -> String {
    let id = events.store(stream, message).expect("stores");
    assert!(!id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
    id
}

fn end(events: &MemoryEvents, stream: &StreamKey) {
    events.end(stream).expect("ends");
}

/// The messages after `last`, whether the stream has ended, and whether some are missing.
fn after(events: &MemoryEvents, session: &str, last: &str) -> Option<(Vec<String>, bool, bool)> {
    let replay = events.after(session, last).ok()?;
    let messages = replay.events.iter().map(|(_, message)| message.to_string()).collect();
    Some((messages, replay.has_ended, replay.is_cut))
}

fn some(messages: &[&str], has_ended: bool, is_cut: bool) -> Option<(Vec<String>, bool, bool)> {
    Some((messages.iter().map(|message| (*message).to_owned()).collect(), has_ended, is_cut))
}

#[test]
fn a_stream_is_replayed_after_any_of_its_events_and_alone() {
    let events = MemoryEvents::new();
    let [a, b] = [begin(&events, "s"), begin(&events, "s")];
    let primed = store(&events, &a, "");
    let b1 = store(&events, &b, "b1");
    let a1 = store(&events, &a, "a1");
    let b2 = store(&events, &b, "b2");
    let a2 = store(&events, &a, "a2");
    assert_eq!(after(&events, "s", &primed), some(&["a1", "a2"], false, false));
    assert_eq!(after(&events, "s", &a1), some(&["a2"], false, false));
    assert_eq!(after(&events, "s", &a2), some(&[], false, false));
    end(&events, &a);
    assert_eq!(after(&events, "s", &primed), some(&["a1", "a2"], true, false));
    assert_eq!(after(&events, "s", &a2), some(&[], true, false));
    assert_eq!(after(&events, "s", &b1), some(&["b2"], false, false));
    let replay = events.after("s", &b1).expect("kept");
    assert_eq!(replay.stream, b);
    assert_eq!(replay.events[0].0, b2);
    // It can be asked for again, and goes on.
    let b3 = store(&events, &replay.stream, "b3");
    assert_eq!(after(&events, "s", &b1), some(&["b2", "b3"], false, false));
    let mut ids = vec![primed, a1, a2, b1, b2, b3];
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 6);
}

#[test]
fn ids_of_others_and_made_up_ones_are_unknown() {
    let events = MemoryEvents::new();
    let mine = begin(&events, "mine");
    let theirs = begin(&events, "theirs");
    let id = store(&events, &mine, "secret");
    store(&events, &theirs, "other");
    assert_eq!(after(&events, "theirs", &id), None);
    assert_eq!(after(&events, "min", &id), None);
    assert_eq!(after(&events, "", &id), None);
    let (stream, number) = id.split_once('-').expect("two numbers");
    for made_up in [
        String::new(),
        "-".into(),
        "x".into(),
        stream.into(),
        format!("{stream}-"),
        format!("-{number}"),
        format!("{stream}-{number}-1"),
        format!("+{id}"),
        format!("0{id}"),
        format!(" {id}"),
        format!("{stream}-+{number}"),
        format!("{stream}-{}", u64::MAX),
        format!("{}-{number}", u64::MAX),
        format!("{stream}-99999999999999999999999"),
        "é".into(),
    ] {
        assert_eq!(after(&events, "mine", &made_up), None, "{made_up:?}");
    }
    assert!(after(&events, "mine", &id).is_some());
}

#[test]
fn a_session_that_ends_leaves_nothing() {
    let events = MemoryEvents::new();
    let mine: Vec<_> = (0..3).map(|_| begin(&events, "mine")).collect();
    let theirs = begin(&events, "theirs");
    let id = store(&events, &mine[1], "x");
    let kept = store(&events, &theirs, "");
    store(&events, &theirs, "y");
    events.forget("mine").expect("forgets");
    events.forget("unknown").expect("forgets");
    assert_eq!(after(&events, "mine", &id), None);
    assert_eq!(after(&events, "theirs", &kept), some(&["y"], false, false));
    // What is still stored for it gets an id, and is not kept.
    let late = store(&events, &mine[1], "z");
    end(&events, &mine[1]);
    assert_eq!(after(&events, "mine", &late), None);
    events.forget("theirs").expect("forgets");
    assert_eq!(format!("{events:?}"), "0 events of 0 streams, 0 bytes");
    assert!(lock(&events.kept).sessions.is_empty());
}

#[test]
fn of_a_stream_the_newest_events_are_kept() {
    let events = MemoryEvents::new();
    let stream = begin(&events, "s");
    let primed = store(&events, &stream, "");
    let ids: Vec<_> = (0..=MAX_EVENTS).map(|n| store(&events, &stream, &n.to_string())).collect();
    let (messages, _, is_cut) = after(&events, "s", &primed).expect("kept");
    assert!(is_cut && messages.len() == MAX_EVENTS && messages[0] == "1");
    // The first one is not kept, but who has it misses nothing.
    let (messages, _, is_cut) = after(&events, "s", &ids[0]).expect("kept");
    assert!(!is_cut && messages.len() == MAX_EVENTS);
    // By bytes, among them one that is larger than all that a stream may have.
    let stream = begin(&events, "s");
    let primed = store(&events, &stream, "");
    let half = "h".repeat(MAX_STREAM_BYTES / 2);
    for message in ["1", &half, "2"] {
        store(&events, &stream, message);
    }
    assert_eq!(after(&events, "s", &primed), some(&["1", &half, "2"], false, false));
    store(&events, &stream, &half);
    assert_eq!(after(&events, "s", &primed), some(&["2", &half], false, true));
    let large = "l".repeat(MAX_STREAM_BYTES * 2);
    store(&events, &stream, &large);
    end(&events, &stream);
    assert_eq!(after(&events, "s", &primed), some(&[&large], true, true));
}

#[test]
fn of_a_session_the_streams_that_have_ended_make_room_first() {
    let events = MemoryEvents::new();
    let streams: Vec<_> = (0..MAX_STREAMS).map(|_| begin(&events, "s")).collect();
    let ids: Vec<_> = streams.iter().map(|stream| store(&events, stream, "x")).collect();
    let is_kept = |at: usize| after(&events, "s", &ids[at]).is_some();
    end(&events, &streams[3]);
    begin(&events, "s");
    assert!(!is_kept(3) && is_kept(0));
    begin(&events, "s");
    assert!(!is_kept(0) && (1..MAX_STREAMS).all(|at| at == 3 || is_kept(at)));
    // Others have room of their own.
    let other = begin(&events, "other");
    let id = store(&events, &other, "x");
    assert!(after(&events, "other", &id).is_some() && is_kept(1));
    // What has nothing to tell is not kept at all.
    let empty = begin(&events, "empty");
    let id = store(&events, &empty, "");
    assert!(after(&events, "empty", &id).is_some());
    end(&events, &empty);
    assert!(after(&events, "empty", &id).is_none());
}

#[test]
fn of_all_the_oldest_make_room() {
    let events = MemoryEvents::new();
    let large = "x".repeat(MAX_BYTES / 4);
    let streams: Vec<_> = (0..4).map(|n| begin(&events, &format!("s{n}"))).collect();
    let primed: Vec<_> = streams.iter().map(|stream| store(&events, stream, "")).collect();
    end(&events, &begin(&events, "s0"));
    for stream in &streams[..3] {
        store(&events, stream, &large);
    }
    store(&events, &streams[0], "1");
    end(&events, &streams[1]);
    store(&events, &streams[3], &large);
    assert!(lock(&events.kept).bytes <= MAX_BYTES);
    assert_eq!(after(&events, "s0", &primed[0]), some(&["1"], false, true));
    assert_eq!(after(&events, "s1", &primed[1]), some(&[&large], true, false));
    store(&events, &streams[3], &large);
    assert_eq!(after(&events, "s3", &primed[3]), some(&[&large], false, true));
    store(&events, &streams[2], &"y".repeat(MAX_BYTES / 2));
    // With its last event, a stream that has ended is gone.
    assert_eq!(after(&events, "s1", &primed[1]), None);
    // More than there may be at all is not kept, and that is told.
    store(&events, &streams[2], &"z".repeat(MAX_BYTES));
    assert_eq!(after(&events, "s2", &primed[2]), some(&[], false, true));
    assert_eq!(format!("{events:?}"), "0 events of 3 streams, 0 bytes");
}

#[test]
fn events_are_kept_for_a_time() {
    let events = MemoryEvents::new();
    let stream = begin(&events, "s");
    let start = Instant::now();
    let primed = events.store_at(&stream, "", start);
    events.store_at(&stream, "1", start);
    events.store_at(&stream, "2", start + Duration::from_secs(200));
    let seen = |seconds: u64| {
        let replay = events.after_at("s", &primed, start + Duration::from_secs(seconds))?;
        Some((replay.events.len(), replay.is_cut))
    };
    assert_eq!(seen(299), Some((2, false)));
    assert_eq!(seen(300), Some((1, true)));
    assert_eq!(seen(499), Some((1, true)));
    assert_eq!(seen(500), Some((0, true)));
    end(&events, &stream);
    assert_eq!(seen(500), None);
}

#[test]
fn neither_messages_nor_sessions_are_shown() {
    let events = MemoryEvents::new();
    let stream = begin(&events, "session-secret");
    let id = store(&events, &stream, "message-secret");
    let replay = events.after("session-secret", &id).expect("kept");
    let shown = format!("{events:?} {stream:?} {replay:?}");
    assert!(!shown.contains("secret"), "{shown}");
}
