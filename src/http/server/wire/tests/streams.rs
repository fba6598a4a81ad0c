//! Answers that go on.

use crossbeam_channel::{Receiver, unbounded};

use super::*;

/// A wire that hands every stream it opens to the test, and the news that its peer has gone.
fn streaming(limits: Limits) -> (Rig, Receiver<(EventStream, Receiver<()>)>) {
    let (streams_tx, streams) = unbounded();
    let rig = Rig::new(limits, move |request, reply| {
        if request.admitted == "/echo" {
            return echo(request, reply);
        }
        let (gone_tx, gone) = unbounded();
        reply.when_gone(Box::new(move || tell(&gone_tx, ())));
        let stream = reply.stream(&[("Mcp-Session-Id", "s".to_owned())], b"data: first\n\n");
        let _ = streams_tx.send((stream, gone));
    });
    (rig, streams)
}

#[test]
fn events_arrive_when_they_are_sent() {
    let (rig, streams) = streaming(limits());
    let mut peer = rig.peer();
    for _ in 0..2 {
        let head = peer.get("/").head();
        assert_eq!(head.status, 200);
        let said =
            ["content-type", "cache-control", "x-accel-buffering", "transfer-encoding", "mcp-session-id"];
        let said = said.map(|name| head.header(name).unwrap_or("nothing"));
        assert_eq!(said, ["text/event-stream", "no-cache", "no", "chunked", "s"]);
        assert_eq!(peer.chunk(), "data: first\n\n");
        let (stream, gone) = streams.recv_timeout(SOON).expect("served");
        for n in 0..100 {
            let event = format!("data: {n}\n\n");
            assert_eq!(stream.send(event.as_bytes()), Ok(()));
            assert_eq!(peer.chunk(), event);
        }
        assert_eq!(stream.send(b""), Ok(())); // not the last chunk
        stream.clone().finish(b"data: last\n\n");
        assert_eq!((peer.chunk(), peer.chunk()), ("data: last\n\n".to_owned(), String::new()));
        assert_eq!(stream.send(b"data: late\n\n"), Err(NotWritten::Gone));
        stream.finish(b"data: late\n\n");
        // It has no effect on what comes later over the same connection.
        peer.post("/echo", "on").answer().is(200, "on");
        stream.finish(b"data: late\n\n");
        drop(stream);
        peer.post("/echo", "and on").answer().is(200, "and on");
        assert!(gone.recv_timeout(SOON).is_err(), "it was dropped");
    }
}

#[test]
fn a_stream_that_is_not_read_is_full_and_loses_nothing() {
    let (rig, streams) = streaming(limits());
    let mut peer = rig.peer();
    peer.get("/").head();
    let (stream, _gone) = streams.recv_timeout(SOON).expect("served");
    let mut sent = vec!["data: first\n\n".to_owned()];
    for round in 0..3 {
        let full = loop {
            let event = format!("data: {} {}\n\n", sent.len(), "x".repeat(20_000 * round + 100));
            match stream.send(event.as_bytes()) {
                Ok(()) => sent.push(event),
                Err(e) => break e,
            }
        };
        assert_eq!(full, NotWritten::Full(64 * 1024));
        for part in ["data: an answer\n\n".to_owned(), format!("data: {}\n\n", "y".repeat(200_000))] {
            assert_eq!(stream.push(part.as_bytes(), usize::MAX), Ok(()));
            sent.push(part);
        }
        assert_eq!(stream.send(b"data: not yet\n\n"), Err(NotWritten::Full(64 * 1024)));
        for event in sent.drain(..) {
            assert_eq!(peer.chunk(), event);
        }
        eventually("there is room", || match stream.send(b"data: resumed\n\n") {
            Ok(()) => true,
            Err(e) => {
                assert_eq!(e, NotWritten::Full(64 * 1024));
                false
            }
        });
        sent.push("data: resumed\n\n".to_owned());
    }
    while stream.send(&[b'x'; 10_000]).is_ok() {
        sent.push("x".repeat(10_000));
    }
    let last = "z".repeat(1_000_000);
    stream.finish(last.as_bytes());
    sent.push(last);
    drop(stream);
    for event in sent {
        assert_eq!(peer.chunk(), event);
    }
    assert_eq!(peer.chunk(), "");
    peer.post("/echo", "on").answer().is(200, "on");
}

#[test]
fn a_peer_that_goes_is_noticed() {
    let (rig, streams) = streaming(limits());
    // It closes; it closes its half; it is reset with events that it has not read.
    for way in 0..3 {
        let mut peer = rig.peer();
        peer.get("/");
        let (stream, gone) = streams.recv_timeout(SOON).expect("served");
        if way < 2 {
            peer.head();
            peer.chunk();
        }
        let start = Instant::now();
        let kept = match way {
            1 => {
                peer.half_close();
                Some(peer)
            }
            _ => {
                drop(peer);
                None
            }
        };
        assert_eq!(gone.recv_timeout(SOON), Ok(()), "way {way}");
        assert!(start.elapsed() < Duration::from_secs(2));
        assert_eq!(stream.send(b"data: late\n\n"), Err(NotWritten::Gone));
        stream.finish(b"data: late\n\n");
        drop(kept);
    }
    eventually("nothing is open", || rig.wire.common.registry.sizes().0 == 0);
}

#[test]
fn a_peer_that_goes_before_the_answer_is_noticed() {
    let (held_tx, held) = unbounded();
    let rig = Rig::new(limits(), move |_, reply| tell(&held_tx, reply));
    let mut peer = rig.peer();
    peer.post("/", "body");
    let reply = held.recv_timeout(SOON).expect("served");
    let (gone_tx, gone) = unbounded();
    let (first, second, third) = (gone_tx.clone(), gone_tx.clone(), gone_tx);
    reply.when_gone(Box::new(move || tell(&first, 1)));
    reply.when_gone(Box::new(move || tell(&second, 2)));
    drop(peer);
    assert_eq!(gone.recv_timeout(SOON), Ok(2), "the second replaces the first");
    reply.when_gone(Box::new(move || tell(&third, 3)));
    assert_eq!(gone.try_recv(), Ok(3), "at once, as it has gone");
    reply.answer(Response::new(200));
    // Whoever has more to say is noticed as well: what was sent meanwhile lies unread.
    let mut peer = rig.peer();
    peer.post("/", "one").post("/", "two");
    let reply = held.recv_timeout(SOON).expect("served");
    let (gone_tx, gone) = unbounded();
    reply.when_gone(Box::new(move || tell(&gone_tx, ())));
    drop(peer);
    assert_eq!(gone.recv_timeout(SOON), Ok(()));
    // A callback is not called once the answer is written.
    let mut peer = rig.peer();
    peer.get("/");
    let reply = held.recv_timeout(SOON).expect("served");
    let (gone_tx, gone) = unbounded::<()>();
    reply.when_gone(Box::new(move || tell(&gone_tx, ())));
    reply.answer(Response::new(200));
    peer.answer().is(200, "");
    assert!(gone.recv_timeout(SOON).is_err());
    // One that panics costs nothing.
    peer.get("/");
    let reply = held.recv_timeout(SOON).expect("served");
    reply.when_gone(Box::new(|| panic!("the panic of a test")));
    drop(peer);
    let mut peer = rig.peer();
    peer.get("/");
    held.recv_timeout(SOON).expect("served").answer(Response::new(200));
    peer.answer().is(200, "");
}

#[test]
fn a_silent_stream_says_so() {
    let (rig, streams) = streaming(Limits { keep_alive: Duration::from_millis(50), ..limits() });
    let mut peer = rig.peer();
    peer.get("/").head();
    assert_eq!(peer.chunk(), "data: first\n\n");
    let (stream, _gone) = streams.recv_timeout(SOON).expect("served");
    for _ in 0..3 {
        assert_eq!(peer.chunk(), ":\n\n");
    }
    // Not while it speaks.
    let start = Instant::now();
    let mut said = 0;
    while start.elapsed() < Duration::from_millis(300) {
        assert_eq!(stream.send(b"data: x\n\n"), Ok(()));
        said += 1;
        std::thread::sleep(Duration::from_millis(5));
    }
    stream.finish(b"data: last\n\n");
    let mut comments = 0;
    loop {
        match peer.chunk().as_str() {
            "data: x\n\n" => said -= 1,
            ":\n\n" => comments += 1,
            "data: last\n\n" => break,
            other => panic!("{other}"),
        }
    }
    assert_eq!(said, 0);
    assert!(comments < 4, "{comments} comments");
}

#[test]
fn a_stream_that_is_given_up_is_closed() {
    let (rig, streams) = streaming(limits());
    let mut peer = rig.peer();
    peer.get("/").head();
    assert_eq!(peer.chunk(), "data: first\n\n");
    let (stream, gone) = streams.recv_timeout(SOON).expect("served");
    let other = stream.clone();
    drop(stream);
    assert_eq!(other.send(b"data: still\n\n"), Ok(()));
    assert_eq!(peer.chunk(), "data: still\n\n");
    drop(other);
    peer.is_closed();
    assert!(gone.recv_timeout(SOON).is_err(), "who gave it up is not told");
}

#[test]
fn many_threads_may_send_on_one_stream() {
    let (rig, streams) = streaming(limits());
    let mut peer = rig.peer();
    peer.get("/").head();
    peer.chunk();
    let (stream, _gone) = streams.recv_timeout(SOON).expect("served");
    let senders: Vec<_> = (0..4)
        .map(|n| {
            let stream = stream.clone();
            std::thread::spawn(move || {
                for _ in 0..500 {
                    stream.push(format!("data: {n}\n\n").as_bytes(), usize::MAX).expect("there is room");
                }
            })
        })
        .collect();
    let mut counts = [0; 4];
    for _ in 0..2000 {
        let chunk = peer.chunk();
        let n: usize = chunk.trim().trim_start_matches("data: ").parse().expect("whole events");
        counts[n] += 1;
    }
    assert_eq!(counts, [500; 4]);
    senders.into_iter().for_each(|sender| sender.join().expect("sent"));
}
