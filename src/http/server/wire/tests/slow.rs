//! Peers that take their time.

use crossbeam_channel::unbounded;

use super::*;

const SHORT: Duration = Duration::from_millis(150);

/// Runs, and must have taken `SHORT` or a little more.
fn takes_short<R>(run: impl FnOnce() -> R) -> R {
    let start = Instant::now();
    let result = run();
    let took = start.elapsed();
    assert!(took >= SHORT && took < SHORT + Duration::from_secs(5), "{took:?}");
    result
}

#[test]
fn a_head_has_to_come_in_time() {
    let rig = Rig::echo(Limits { head_time: SHORT, ..limits() });
    for text in ["G", "GET / HTTP/1.1\r\nHost: a\r\n"] {
        let mut peer = rig.peer();
        peer.get("/").answer().is(200, "");
        let answer = takes_short(|| peer.send(text).answer());
        assert_eq!((answer.status, answer.header("connection")), (408, Some("close")));
        peer.is_closed();
    }
    // In all, not from byte to byte.
    let mut peer = rig.peer();
    let mut slow = Peer { stream: peer.stream.try_clone().expect("handles"), read: Vec::new() };
    let start = Instant::now();
    let drips = std::thread::spawn(move || {
        while start.elapsed() < SOON && slow.stream.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
        start.elapsed()
    });
    assert_eq!(peer.answer().status, 408);
    drop(peer);
    assert!(drips.join().expect("it ends") < SOON);
}

#[test]
fn a_body_has_to_come_in_time() {
    let rig = Rig::echo(Limits { body_time: SHORT, ..limits() });
    for text in [
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
    ] {
        let mut peer = rig.peer();
        assert_eq!(takes_short(|| peer.send(text).answer()).status, 408);
        peer.is_closed();
    }
}

#[test]
fn a_connection_without_requests_is_closed() {
    let rig = Rig::echo(Limits { idle_time: SHORT, ..limits() });
    let mut peer = rig.peer();
    takes_short(|| peer.is_closed());
    let mut peer = rig.peer();
    for _ in 0..3 {
        peer.get("/").answer().is(200, "");
        std::thread::sleep(SHORT / 2);
    }
    peer.is_closed();
    let mut peer = rig.peer();
    peer.send("\r\n\r\n").is_closed();
}

#[test]
fn who_is_served_may_wait() {
    let (held_tx, held) = unbounded();
    let short =
        Limits { idle_time: SHORT, head_time: SHORT, body_time: SHORT, write_time: SHORT, ..limits() };
    let rig = Rig::new(short, move |request, reply| tell(&held_tx, (request, reply)));
    let mut peer = rig.peer();
    peer.post("/", "patience");
    let (request, reply) = held.recv_timeout(SOON).expect("served");
    std::thread::sleep(3 * SHORT);
    reply.answer(response(200, request.body));
    peer.answer().is(200, "patience");
}

#[test]
fn who_does_not_read_is_closed() {
    let (gone_tx, gone) = unbounded::<&str>();
    let rig = Rig::new(Limits { write_time: SHORT, ..limits() }, move |request, reply| {
        let gone = gone_tx.clone();
        let path = request.admitted.clone();
        reply.when_gone(Box::new(move || tell(&gone, if path == "/" { "answer" } else { "stream" })));
        let much = vec![b'x'; 32 * 1024 * 1024];
        if request.admitted == "/" {
            reply.answer(response(200, much));
        } else {
            let stream = reply.stream(&[], b"");
            assert_eq!(stream.push(&much, usize::MAX), Ok(()));
            stream.finish(b"");
        }
    });
    for (path, what) in [("/", "answer"), ("/stream", "stream")] {
        let mut peer = rig.peer();
        takes_short(|| {
            peer.get(path);
            assert_eq!(gone.recv_timeout(SOON), Ok(what));
        });
        let mut all = 0;
        while peer.fill() {
            all += std::mem::take(&mut peer.read).len();
        }
        assert!(all < 32 * 1024 * 1024);
    }
}

#[test]
fn more_to_read_is_no_more_time_to_read_it() {
    let (gone_tx, gone) = unbounded();
    let rig = Rig::new(Limits { write_time: SHORT, ..limits() }, move |_, reply| {
        let gone = gone_tx.clone();
        let stream = reply.stream(&[], b"");
        stream.when_gone(Box::new(move || tell(&gone, ())));
        stream.push(&vec![b'x'; 32 * 1024 * 1024], usize::MAX).expect("there is always room");
        let start = Instant::now();
        while stream.push(b"data: more\n\n", usize::MAX).is_ok() && start.elapsed() < SOON {
            std::thread::sleep(SHORT / 10);
        }
    });
    let mut peer = rig.peer();
    peer.get("/");
    takes_short(|| gone.recv_timeout(SOON).expect("it is noticed"));
}

#[test]
fn what_nobody_reads_is_bounded_in_all() {
    let (gone_tx, gone) = unbounded();
    let rig = Rig::new(Limits { sending_bytes: 1_000_000, ..limits() }, move |request, reply| {
        let gone = gone_tx.clone();
        reply.when_gone(Box::new(move || tell(&gone, ())));
        // More than the operating system takes.
        let size = if request.admitted == "/" { 2 } else { 32 * 1024 * 1024 };
        reply.answer(response(200, vec![b'x'; size]));
    });
    // One that waits alone may be larger than the limit: others are given up meanwhile, unless they need not wait.
    let mut first = rig.peer();
    first.get("/much").fill();
    for _ in 0..5 {
        let mut other = rig.peer();
        other.get("/much");
        // Less than until it would be looked at anyway.
        gone.recv_timeout(Duration::from_secs(4)).expect("it is given up at once");
        while other.fill() {}
        assert!(other.read.len() < 32 * 1024 * 1024);
        rig.peer().get("/").answer().is(200, "xx");
    }
    assert_eq!(first.answer().body.len(), 32 * 1024 * 1024);
    assert_eq!(rig.peer().get("/much").answer().body.len(), 32 * 1024 * 1024);
    assert!(gone.is_empty());
}

#[test]
fn what_is_being_received_is_bounded_in_all() {
    let rig = Rig::echo(Limits { receiving_bytes: 1_000_000, ..limits() });
    let part = |length: usize| {
        format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n{}", "x".repeat(length))
    };
    let mut first = rig.peer();
    first.send(part(899_999));
    eventually("the first is received", || rig.wire.common.receiving() == 899_999);
    let mut second = rig.peer();
    let answer = second.send(part(200_000)).answer();
    answer.is(503, "more than 1000000 bytes are being received");
    assert_eq!(answer.header("retry-after"), Some("1"));
    second.is_closed();
    // The small ones still come through, and the first as well.
    rig.peer().post("/", "small").answer().is(200, "small");
    assert_eq!(first.send("x").answer().body.len(), 900_000);
    eventually("nothing is received any more", || rig.wire.common.receiving() == 0);
}
