//! Peers that take their time, or say nothing at all, or do not read.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::eras::{Legacy, call, modern};
use crate::http::{Conn, Events, Hosted, LONG, Request};
use crate::puppet::{Order, puppet, puppet_with};
use crate::support::alone::{alone, descriptors};
use crate::support::peers::eventually;
use crate::{cpu_ticks, echo, has_descriptors, hosted, memory, serves, threads};

/// What the limits are set to that a test waits for.
const SHORT: Duration = Duration::from_millis(100);

/// Sends bytes one at a time, as slowly as it can, until the server has had enough: the time that took.
#[track_caller]
fn trickles(conn: &mut Conn, bytes: &[u8]) -> Duration {
    let start = Instant::now();
    for byte in bytes.iter().cycle() {
        if !conn.try_send_bytes(&[*byte]) || conn.has_news() {
            return start.elapsed();
        }
        assert!(start.elapsed() < LONG, "it waits for ever");
        // A peer that is slow: the time itself is what is tried.
        std::thread::sleep(Duration::from_millis(5));
    }
    unreachable!("it goes round and round")
}

/// The server has closed, perhaps with the words that it took too long.
#[track_caller]
fn timed_out(conn: &mut Conn) {
    let said = String::from_utf8(conn.rest()).expect("UTF-8");
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 408 "), "{said}");
}

#[test]
fn a_head_has_its_time() {
    let _alone = alone();
    let (server, _puppet) = puppet();
    let hosted = Hosted::with(&server, |builder| builder.head_time(SHORT));
    for begun in [&b"P"[..], b"POST /mcp HTTP/1.1\r\n", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: "] {
        let mut conn = hosted.connect();
        conn.send_bytes(begun);
        serves(&hosted);
        timed_out(&mut conn);
        // And it does not begin anew with each byte.
        let mut conn = hosted.connect();
        conn.send_bytes(begun);
        let took = trickles(&mut conn, b"x");
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
    // The next request of a connection has the same time, and not more.
    let mut conn = hosted.connect();
    conn.ask(&echo()).result();
    conn.send_bytes(b"POST ");
    timed_out(&mut conn);
}

#[test]
fn a_body_has_its_time() {
    let _alone = alone();
    let (server, _puppet) = puppet();
    let hosted = Hosted::with(&server, |builder| builder.body_time(SHORT));
    let chunked = echo().with("Transfer-Encoding", "chunked").head();
    for (begun, more) in [
        (echo().set("Content-Length", "1000000").head(), &b" "[..]),
        ([echo().set("Content-Length", "1000000").head(), b"{".to_vec()].concat(), b" "),
        (chunked.clone(), b"1\r\n \r\n"),
        ([chunked, b"ffff\r\n{".to_vec()].concat(), b" "),
    ] {
        let mut conn = hosted.connect();
        conn.send_bytes(&begun);
        serves(&hosted);
        timed_out(&mut conn);
        let mut conn = hosted.connect();
        conn.send_bytes(&begun);
        let took = trickles(&mut conn, more);
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
}

#[test]
fn a_silent_connection_is_closed_and_a_busy_one_is_not() {
    let _alone = alone();
    let (server, puppet) = puppet();
    let hosted = Hosted::with(&server, |builder| builder.idle_time(SHORT));
    let mut listens =
        hosted.open(&modern(1, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})));
    listens.message();
    let mut calls = hosted.connect();
    calls.send(&call(1, "held", json!({"name": "a"})));
    puppet.expect("a began");
    // One that never says anything, and one that says nothing more.
    let mut silent = hosted.connect();
    let mut idle = hosted.connect();
    idle.ask(&echo()).result();
    silent.expect_closed();
    idle.expect_closed();
    server.handle().tools_changed();
    listens.notice("notifications/tools/list_changed");
    puppet.open_gate();
    assert_eq!(calls.response().text(), "a let go");
    calls.expect_closed();
}

#[test]
fn a_client_that_does_not_read_its_answer_holds_no_thread_and_is_given_up() {
    let alone = alone();
    let (server, _puppet) = puppet_with(|builder| builder.max_threads(1));
    let hosted = Hosted::with(&server, |builder| builder.write_time(SHORT));
    let before = memory();
    // More than the sockets hold.
    let bytes = 16_000_000;
    let mut conns: Vec<Conn> = vec![hosted.connect()];
    for conn in &mut conns {
        conn.send(&call(1, "big", json!({"bytes": bytes})));
        // There is one thread, which is free at once.
        serves(&hosted);
    }
    assert!(memory() < before + 150_000, "{} KiB", memory() - before);
    // The server has three for itself.
    let left = alone.descriptors() + 3 + conns.len();
    eventually("their connections are given up", || descriptors() <= left);
    for conn in &mut conns {
        // Cut off: what the sockets held is all there is.
        assert!(conn.rest().len() < bytes);
    }
}

#[test]
fn a_stream_that_is_not_read_is_bounded_and_others_go_on() {
    let _alone = alone();
    let (server, puppet) = puppet();
    let hosted = Hosted::with(&server, |builder| builder.write_time(Duration::from_millis(300)));
    let session = Legacy::new(&hosted);
    let listens: Vec<Conn> = (0..2)
        .map(|_| {
            let mut conn = hosted.connect();
            conn.send(&modern(
                1,
                "subscriptions/listen",
                json!({"notifications": {"toolsListChanged": true}}),
            ));
            conn
        })
        .collect();
    eventually("they are acknowledged", || listens.iter().all(Conn::has_news));
    let before = memory();
    let open = descriptors();
    // 15 MB for a Modern client and as much for a Legacy one.
    let params = json!({
        "name": "flood", "arguments": {"messages": 1_500}, "_meta": {crate::eras::LOG_LEVEL: "info"},
    });
    let mut unread = hosted.connect();
    unread.send(&modern(1, "tools/call", params));
    puppet.expect("flood began");
    puppet.expect("flood over");
    let mut also_unread = hosted.connect();
    also_unread.send(&session.tool(1, "flood", json!({"messages": 1_500})));
    puppet.expect("flood began");
    puppet.expect("flood over");
    let used = memory().saturating_sub(before);
    assert!(used < 15_000, "{used} KiB");
    serves(&hosted);
    session.ask("ping", json!({}));
    // The streams are cut off: the clients' ends are left, and what is in the sockets is all there is.
    eventually("the streams are cut off", || descriptors() <= open + 2);
    drop(listens);
    assert!(unread.rest().len() < 14_000_000);
    assert!(also_unread.rest().len() < 14_000_000);
}

#[test]
fn half_a_connection_is_answered_or_closed() {
    let _alone = alone();
    let (hosted, puppet) = hosted();
    // Nothing, and not enough.
    for sent in [&b""[..], b"POST /mcp HT", &echo().bytes()[..100]] {
        let mut conn = hosted.connect();
        conn.send_bytes(sent);
        conn.end_input();
        let said = String::from_utf8(conn.rest()).expect("UTF-8");
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 4"), "{said}");
    }
    // Enough: the answer may come or not, nothing hangs.
    let mut conn = hosted.connect();
    conn.send(&echo());
    conn.end_input();
    let said = String::from_utf8(conn.rest()).expect("UTF-8");
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 200 "), "{said}");
    // A Modern client that has closed its half has gone.
    let mut conn = hosted.connect();
    conn.send(&call(1, "wait", json!({"name": "w"})));
    puppet.expect("w began");
    conn.end_input();
    puppet.expect("w cancelled");
    conn.rest();
    serves(&hosted);
}

#[test]
fn connections_that_wait_cost_no_threads() {
    if !has_descriptors("slow::connections_that_wait_cost_no_threads", 4600) {
        return;
    }
    let _alone = alone();
    let (hosted, _puppet) = hosted();
    serves(&hosted);
    let before = threads();
    let silent: Vec<Conn> = (0..1000).map(|_| hosted.connect()).collect();
    let mut kept: Vec<Conn> = (0..500).map(|_| hosted.connect()).collect();
    for conn in &mut kept {
        assert_eq!(conn.ask(&echo()).text(), "hi");
    }
    let mut streams: Vec<Events> = (0..500)
        .map(|id| {
            let filter = json!({"notifications": {"toolsListChanged": true}});
            let mut events = hosted.open(&modern(id, "subscriptions/listen", filter));
            events.notice("notifications/subscriptions/acknowledged");
            events
        })
        .collect();
    let session = Legacy::new(&hosted);
    let sse = hosted.open(&Request::get().at("/sse"));
    let standing = session.listen();
    assert!(threads() <= before + 8, "{before} threads have become {}", threads());
    // Somebody else is served at once. The best of a few: the machine may be busy.
    let best = (0..5).map(|_| {
        let start = Instant::now();
        serves(&hosted);
        start.elapsed()
    });
    let best = best.min().expect("five");
    assert!(best < Duration::from_millis(50), "{best:?}");
    // Nothing is done for those that wait. Time itself is what is measured here.
    let used = cpu_ticks();
    std::thread::sleep(Duration::from_millis(500));
    let used = cpu_ticks() - used;
    assert!(used <= 3, "{used} ticks in 500 ms");
    hosted.server.handle().tools_changed();
    for events in &mut streams {
        events.notice("notifications/tools/list_changed");
    }
    for conn in &mut kept {
        assert_eq!(conn.ask(&echo()).text(), "hi");
    }
    assert!(threads() <= before + 8, "{before} threads have become {}", threads());
    drop((silent, kept, streams, sse, standing));
    drop(session);
}

#[test]
fn a_stop_in_the_middle_of_everything_is_bounded() {
    let _alone = alone();
    let (server, puppet) = puppet_with(|builder| builder.grace(Duration::from_millis(300)));
    let hosted = Hosted::new(&server);
    let session = Legacy::new(&hosted);
    let mut conns: Vec<Conn> = (0..6).map(|_| hosted.connect()).collect();
    conns[0].send_bytes(b"POST /mcp HT");
    conns[1].send_bytes(&echo().set("Content-Length", "1000").head());
    conns[2].ask(&echo()).result();
    conns[3].send(&call(1, "big", json!({"bytes": 20_000_000})));
    conns[4].send(&call(1, "wait", json!({"name": "modern"})));
    puppet.expect("modern began");
    conns[5].send(&session.tool(1, "puppet", json!({})));
    puppet.expect("began");
    puppet.order(Order::Sample);
    let mut streams = [
        hosted.open(&modern(1, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}))),
        session.listen(),
        hosted.open(&Request::get().at("/sse")),
    ];
    let start = Instant::now();
    server.handle().stop();
    for events in &mut streams {
        while events.event().is_some() {}
    }
    drop(session);
    let took = hosted.stop();
    // The grace, and a second for what is written to those that do not read.
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert!(start.elapsed() < Duration::from_secs(3));
    // Calls that have run out of time were given up.
    let mut told = vec![puppet.told()];
    while !puppet.is_silent() {
        told.push(puppet.told());
    }
    assert!(told.contains(&"modern cancelled".to_owned()), "{told:?}");
    drop(conns);
}

#[test]
fn a_server_can_be_stopped_before_and_while_it_begins() {
    let _alone = alone();
    let (server, _puppet) = puppet();
    // Bound, and not served at all.
    drop(tinymcp::http::HttpServer::builder(&server).bind("127.0.0.1:0").expect("bound"));
    server.handle().stop();
    let took = Hosted::new(&server).stop();
    assert!(took < Duration::from_secs(2), "{took:?}");
    for _ in 0..20 {
        let (server, _puppet) = puppet();
        let hosted = Hosted::new(&server);
        let mut conn = hosted.connect();
        conn.send(&echo());
        let took = hosted.stop();
        assert!(took < Duration::from_secs(2), "{took:?}");
        let said = String::from_utf8(conn.rest()).expect("UTF-8");
        assert!(said.is_empty() || said.contains("hi") || said.contains("ending"), "{said}");
    }
}

#[test]
fn connections_that_break_off_leave_nothing() {
    let alone = alone();
    let (hosted, puppet) = hosted();
    let session = Legacy::new(&hosted);
    let whole = echo().bytes();
    for cut in (0..whole.len()).step_by(7) {
        let mut conn = hosted.connect();
        conn.send_bytes(&whole[..cut]);
    }
    for n in 0..50 {
        let mut conn = hosted.connect();
        conn.send(&echo());
        let mut conn = hosted.connect();
        conn.send(&call(n, "wait", json!({"name": "w"})));
        puppet.expect("w began");
        drop(conn);
        puppet.expect("w cancelled");
        drop(session.listen());
        drop(hosted.open(&Request::get().at("/sse")));
    }
    // The session's own listening end, and those of the server and of this test.
    let settled = alone.descriptors() + 12;
    eventually("their descriptors are closed", || descriptors() <= settled);
    let pings: Vec<Value> = (0..3).map(|_| session.ask("ping", json!({}))).collect();
    assert_eq!(pings, vec![json!({}); 3]);
    drop(session);
}
