//! Many connections, and more than there are places.

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::*;

/// A wire whose requests to `/hold` wait until the sender is dropped, after they have said that they are served.
fn holding(limits: Limits, lends: bool) -> (Rig, Receiver<()>, Sender<()>) {
    let (served_tx, served) = unbounded();
    let (hold_tx, hold) = bounded::<()>(0);
    let rig = Rig::new(limits, move |request, reply| {
        if request.admitted == "/hold" {
            if lends {
                lend();
                lend();
            }
            let _ = served_tx.send(());
            let _ = hold.recv();
        }
        echo(request, reply);
    });
    (rig, served, hold_tx)
}

#[test]
fn silent_connections_keep_nobody_waiting() {
    let rig = Rig::echo(limits());
    let silent: Vec<_> = (0..1000).map(|_| rig.peer()).collect();
    let begun: Vec<_> = (0..100).map(|_| drop_into(rig.peer(), "POST / HTTP/1.1\r\nHost")).collect();
    let mut peers: Vec<_> = (0..20).map(|_| rig.peer()).collect();
    for n in 0..50 {
        peers.iter_mut().for_each(|peer| {
            peer.post("/", format!("{n}"));
        });
        peers.iter_mut().for_each(|peer| peer.answer().is(200, format!("{n}")));
    }
    for mut peer in begun {
        peer.send(": a\r\n\r\n").answer().is(200, "");
    }
    for mut peer in silent {
        peer.get("/").answer().is(200, "");
    }
}

fn drop_into(mut peer: Peer, text: &str) -> Peer {
    peer.send(text);
    peer
}

#[test]
fn connections_beyond_the_limit_are_turned_away() {
    let rig = Rig::echo(Limits { connections: 20, ..limits() });
    let mut first: Vec<_> = (0..20).map(|_| rig.peer()).collect();
    first.iter_mut().for_each(|peer| peer.get("/").answer().is(200, ""));
    for n in 0..200 {
        let mut peer = rig.peer();
        if n % 2 == 0 {
            peer.post("/", "at once");
        }
        let answer = peer.answer();
        answer.is(503, "20 connections are open");
        assert_eq!((answer.header("retry-after"), answer.header("connection")), (Some("1"), Some("close")));
        peer.is_closed();
    }
    // Those who do not read it and do not close are closed; the limit holds.
    let silent: Vec<_> = (0..300).map(|_| rig.peer()).collect();
    first.iter_mut().for_each(|peer| peer.get("/").answer().is(200, ""));
    assert!(rig.wire.common.registry.sizes().0 <= 20 + 64);
    drop(silent);
    drop(first.pop());
    eventually("a place is free", || {
        let mut peer = rig.peer();
        peer.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").answer().status == 200
    });
}

#[test]
fn places_for_connections_are_used_again() {
    let rig = Rig::echo(limits());
    for _ in 0..300 {
        rig.peer().get("/").answer().is(200, "");
    }
    eventually("all are closed", || rig.wire.common.registry.sizes().0 == 0);
    let (_, places, looks) = rig.wire.common.registry.sizes();
    assert!(places < 50 && looks <= places, "{places} places, {looks} looks");
}

#[test]
fn requests_wait_for_a_thread_and_then_are_refused() {
    let (rig, served, hold) = holding(Limits { threads: 3, waiting: 2, ..limits() }, false);
    let mut peers: Vec<_> = (0..3).map(|_| rig.peer()).collect();
    for peer in &mut peers {
        peer.post("/hold", "held");
        served.recv_timeout(SOON).expect("served");
    }
    let mut waiting: Vec<_> = (0..2).map(|_| rig.peer()).collect();
    waiting.iter_mut().for_each(|peer| {
        peer.post("/", "waited");
    });
    eventually("two wait", || rig.wire.crew.queued() == 2);
    // The rest is told so, over connections that go on; streams, other connections and slow heads live meanwhile.
    let mut busy = rig.peer();
    for _ in 0..3 {
        busy.post("/", "refused").answer().is(503, "2 wait");
    }
    busy.post("/", "x".repeat(100_000)).answer().is(503, "2 wait");
    // Whoever waits and goes is served all the same, to nobody.
    drop(waiting.pop());
    drop(hold);
    peers.iter_mut().for_each(|peer| peer.answer().is(200, "held"));
    waiting.iter_mut().for_each(|peer| peer.answer().is(200, "waited"));
    busy.post("/", "served").answer().is(200, "served");
}

#[test]
fn a_place_that_is_lent_is_for_another() {
    let (rig, served, hold) = holding(Limits { threads: 1, waiting: 8, ..limits() }, true);
    let mut peers: Vec<_> = (0..10).map(|_| rig.peer()).collect();
    for peer in &mut peers {
        peer.post("/hold", "held");
        served.recv_timeout(SOON).expect("served, as the others have lent their places");
    }
    for _ in 0..100 {
        rig.peer().post("/", "meanwhile").answer().is(200, "meanwhile");
    }
    drop(hold);
    peers.iter_mut().for_each(|peer| peer.answer().is(200, "held"));
    // Everybody is back, and there is one place.
    eventually("one place is left", || rig.wire.crew.busy() == (0, 0));
    lend(); // on a thread that serves nothing
    let mut peer = rig.peer();
    peer.post("/", "on").answer().is(200, "on");
}

#[test]
fn requests_that_wait_for_each_other_are_all_served() {
    let (first_tx, first) = bounded::<()>(0);
    let (last_tx, last) = bounded::<()>(0);
    let rig =
        Rig::new(Limits { threads: 16, ..limits() }, move |request, reply| match request.admitted.as_str() {
            "/last" => drop(first.recv_timeout(SOON).map(|()| last.recv_timeout(SOON))),
            _ => echo(request, reply),
        });
    let mut peers: Vec<_> = (0..15).map(|_| rig.peer()).collect();
    peers.iter_mut().for_each(|peer| {
        peer.get("/last");
    });
    for _ in 0..15 {
        first_tx.send_timeout((), SOON).expect("all are served at once");
    }
    rig.peer().get("/").answer().is(200, "");
    for _ in 0..15 {
        last_tx.send_timeout((), SOON).expect("all are served at once");
    }
    peers.iter_mut().for_each(|peer| peer.answer().is(500, ""));
}

#[test]
fn somebody_reads_however_many_are_served() {
    for (threads, lends) in [(2, false), (5, false), (1, true), (3, true)] {
        let (release_tx, release) = unbounded::<()>();
        let blocked = if lends { 6 } else { threads - 1 };
        let rig = Rig::new(Limits { threads, ..limits() }, move |request, reply| {
            match request.admitted.as_str() {
                "/block" => {
                    if lends {
                        lend();
                    }
                    release.recv_timeout(SOON).expect("released, which needs a thread");
                }
                "/release" => (0..blocked).for_each(|_| tell(&release_tx, ())),
                _ => {}
            }
            echo(request, reply);
        });
        let mut blocking: Vec<_> = (0..blocked).map(|_| rig.peer()).collect();
        let mut other = rig.peer();
        for round in 0..100 {
            blocking.iter_mut().for_each(|peer| {
                peer.get("/block");
            });
            (0..round % 3).for_each(|_| other.get("/short").answer().is(200, ""));
            other.get("/release").answer().is(200, "");
            blocking.iter_mut().for_each(|peer| peer.answer().is(200, ""));
        }
    }
}
