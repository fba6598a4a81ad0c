//! The end of a wire.

use crossbeam_channel::{bounded, unbounded};

use super::*;

/// Stops, which must take no longer than this beyond the grace.
#[track_caller]
fn stop(rig: &Rig, grace: Duration) -> bool {
    let start = Instant::now();
    let clean = rig.wire.stop(grace);
    assert!(start.elapsed() < grace + Duration::from_secs(5), "{:?}", start.elapsed());
    clean
}

#[test]
fn who_waits_for_nothing_is_closed_at_once() {
    let rig = Rig::echo(limits());
    let mut fresh = rig.peer();
    let mut idle = rig.peer();
    idle.get("/").answer().is(200, "");
    let mut begun = rig.peer();
    begun.get("/").answer().is(200, "");
    begun.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhell");
    eventually("a part is received", || rig.wire.common.receiving() > 0);
    let start = Instant::now();
    assert!(stop(&rig, Duration::from_secs(60)));
    assert!(start.elapsed() < Duration::from_secs(5));
    [&mut fresh, &mut idle, &mut begun].into_iter().for_each(Peer::is_closed);
    assert!(TcpStream::connect(rig.wire.address()).is_err(), "it listens no more");
    assert!(stop(&rig, Duration::ZERO), "a second time");
    assert!(rig.wire.run().is_ok(), "and does not begin again");
}

#[test]
fn what_is_served_is_finished() {
    let (held_tx, held) = unbounded();
    let rig = Rig::new(limits(), move |request, reply| tell(&held_tx, (request, reply)));
    let (mut one, mut other) = (rig.peer(), rig.peer());
    one.post("/", "one");
    other.get("/");
    let [first, second] = [(); 2].map(|()| held.recv_timeout(SOON).expect("served"));
    let ((one_request, answers), (_, streams)) =
        if first.0.body.is_empty() { (second, first) } else { (first, second) };
    let stream = streams.stream(&[], b"data: 1\n\n");
    std::thread::scope(|scope| {
        let stopping = scope.spawn(|| stop(&rig, SOON));
        eventually("it stops", || TcpStream::connect(rig.wire.address()).is_err());
        assert_eq!(stream.send(b"data: 2\n\n"), Ok(()));
        answers.answer(response(200, one_request.body));
        let answer = one.answer();
        answer.is(200, "one");
        assert_eq!(answer.header("connection"), Some("close"));
        one.is_closed();
        stream.finish(b"data: 3\n\n");
        other.head();
        assert_eq!([(); 4].map(|()| other.chunk()), ["data: 1\n\n", "data: 2\n\n", "data: 3\n\n", ""]);
        other.is_closed();
        assert!(stopping.join().expect("no panic"), "nothing was cut off");
    });
}

#[test]
fn what_is_not_finished_is_cut_off() {
    let (gone_tx, gone) = unbounded();
    let (hold_tx, hold) = bounded::<()>(0);
    let (streams_tx, streams) = unbounded();
    let rig = Rig::new(limits(), move |request, reply| {
        let (gone, path) = (gone_tx.clone(), request.admitted.clone());
        reply.when_gone(Box::new(move || tell(&gone, path)));
        match request.admitted.as_str() {
            "/stream" => tell(&streams_tx, reply.stream(&[], b"data: 1\n\n")),
            _ => {
                let _ = hold.recv();
                reply.answer(response(200, "late"));
            }
        }
    });
    let (mut one, mut other) = (rig.peer(), rig.peer());
    other.get("/stream").head();
    assert_eq!(other.chunk(), "data: 1\n\n");
    one.get("/call");
    eventually("it is served", || rig.wire.crew.busy().0 == 1);
    let stream = streams.recv_timeout(SOON).expect("served");
    assert!(!stop(&rig, Duration::from_millis(50)));
    let mut told: Vec<_> = gone.try_iter().collect();
    told.sort_unstable();
    assert_eq!(told, ["/call", "/stream"]);
    assert_eq!(stream.send(b"data: 2\n\n"), Err(NotWritten::Gone));
    one.is_closed();
    other.is_closed();
    drop(hold_tx);
}

#[test]
fn who_does_not_read_does_not_keep_it() {
    let rig = Rig::new(limits(), |request, reply| match request.admitted.as_str() {
        "/close" => reply.answer(Response::new(200)),
        _ => reply.answer(response(200, vec![b'x'; 32 * 1024 * 1024])),
    });
    // One has a long answer before it, one was told that the connection ends and does not end it.
    let (mut one, mut other) = (rig.peer(), rig.peer());
    other.send("GET /close HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").answer().is(200, "");
    one.get("/");
    one.head();
    assert!(!stop(&rig, Duration::ZERO));
    assert!(one.rest().len() < 32 * 1024 * 1024);
    // Who reads it has it all.
    let rig = Rig::new(limits(), |_, reply| reply.answer(response(200, vec![b'x'; 8 * 1024 * 1024])));
    let mut peer = rig.peer();
    peer.get("/");
    peer.head();
    let reader = std::thread::spawn(move || peer.exactly(8 * 1024 * 1024).len());
    assert!(stop(&rig, SOON));
    assert_eq!(reader.join().expect("it reads"), 8 * 1024 * 1024);
}

#[test]
fn it_can_be_stopped_by_who_is_served() {
    let (wire_tx, wire) = bounded::<Arc<Wire<Script>>>(1);
    let (said_tx, said) = unbounded();
    let rig = Rig::new(limits(), move |_, reply| {
        reply.answer(response(200, "bye"));
        let _ = said_tx.send(wire.recv().expect("sent").stop(SOON));
    });
    wire_tx.send(Arc::clone(&rig.wire)).expect("room");
    let mut peer = rig.peer();
    peer.get("/").answer().is(200, "bye");
    peer.is_closed();
    assert_eq!(said.recv_timeout(SOON), Ok(true));
}

#[test]
fn one_that_never_ran_can_be_stopped_and_dropped() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let script = Script { admit: Box::new(|_| Ok(String::new())), serve: Box::new(echo) };
    let script = Arc::new(script);
    let wire = Wire::new(listener, limits(), Arc::clone(&script)).expect("handles");
    let address = wire.address();
    drop(wire);
    assert!(TcpStream::connect(address).is_err());
    assert_eq!(Arc::strong_count(&script), 1);
    let wire = Wire::new(TcpListener::bind(address).expect("free"), limits(), script).expect("handles");
    assert!(wire.stop(SOON));
    assert!(wire.run().is_ok());
}
