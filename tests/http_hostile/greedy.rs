//! Peers that send or ask for too much.

use serde_json::{Value, json};

use crate::eras::{Legacy, call};
use crate::http::{Conn, Hosted, LONG, Request};
use crate::puppet::{puppet, puppet_with};
use crate::support::alone::alone;
use crate::support::peers::eventually;
use crate::{echo, hosted, memory, serves, threads};

/// Sends bytes until the server has had enough: what it says at the end.
fn poured(hosted: &Hosted, first: &[u8], piece: &[u8], most: usize) -> String {
    let mut conn = hosted.connect();
    let mut sent = conn.try_send_bytes(first);
    for _ in 0..most / piece.len() {
        sent = sent && !conn.has_news() && conn.try_send_bytes(piece);
        if !sent {
            break;
        }
    }
    String::from_utf8_lossy(&conn.rest()).into_owned()
}

#[test]
fn a_head_has_a_size() {
    let _alone = alone();
    let (hosted, _puppet) = hosted();
    let begun = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n";
    let before = memory();
    for (first, piece) in [
        (&begun[..], "X-Many: 1\r\n".repeat(100).into_bytes()),
        (begun, b"X-Long: ".iter().copied().chain([b'x'; 992]).collect()),
        (b"POST /", vec![b'x'; 1000]),
        (b"", vec![b'A'; 1000]),
        (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: ", vec![b' '; 1000]),
    ] {
        let said = poured(&hosted, first, &piece, 1_000_000);
        // A connection that is cut off while it sends may lose its answer.
        let is_told =
            ["400", "414", "431"].iter().any(|status| said.starts_with(&format!("HTTP/1.1 {status} ")));
        assert!(said.is_empty() || is_told, "{said}");
        serves(&hosted);
    }
    // One that sends no more than is needed to be refused is told why.
    let mut conn = hosted.connect();
    conn.send_bytes(&[&begun[..], b"X: ", &[b'x'; 20_000], b"\r\n\r\n"].concat());
    assert_eq!(conn.response().status, 431);
    let many = (0..200).fold(echo(), |request, n| request.with(&format!("X-{n}"), "1"));
    assert_eq!(hosted.ask(&many).status, 431);
    let some = (0..50).fold(echo(), |request, n| request.with(&format!("X-{n}"), &"v".repeat(100)));
    assert_eq!(hosted.ask(&some).text(), "hi");
    let grown = memory().saturating_sub(before);
    assert!(grown < 20_000, "{grown} KiB");
}

#[test]
fn a_body_has_a_size() {
    let _alone = alone();
    let (server, _puppet) = puppet_with(|builder| builder.max_frame_bytes(10_000));
    let hosted = Hosted::new(&server);
    // Told by the head alone.
    for length in ["10001", "1000000000000", "18446744073709551615"] {
        let mut conn = hosted.connect();
        conn.send_bytes(&echo().with("Content-Length", length).head());
        assert_eq!(conn.response().status, 413, "{length}");
        let mut conn = hosted.connect();
        conn.send_bytes(&echo().with("Content-Length", length).with("Expect", "100-continue").head());
        assert_eq!(conn.response().status, 413, "{length}");
    }
    let chunked = echo().with("Transfer-Encoding", "chunked").head();
    let mut conn = hosted.connect();
    conn.send_bytes(&[&chunked[..], b"2711\r\n"].concat());
    assert_eq!(conn.response().status, 413);
    let before = memory();
    let said = poured(&hosted, &chunked, &[b"3e8\r\n", &[b' '; 1000][..], b"\r\n"].concat(), 20_000_000);
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 413 "), "{said}");
    assert!(memory() < before + 5_000, "{} KiB", memory() - before);
    // The limit is exact.
    let fits = echo();
    let padding = " ".repeat(10_000 - fits.body.len());
    let padded = |more: &str| {
        let body = [fits.body.as_slice(), padding.as_bytes(), more.as_bytes()].concat();
        hosted.ask(&fits.clone().with_body(body))
    };
    assert_eq!(padded("").text(), "hi");
    assert_eq!(padded(" ").status, 413);
}

#[test]
fn bodies_that_do_not_end_are_bounded_together() {
    let _alone = alone();
    let (hosted, _puppet) = hosted();
    let before = memory();
    let begun = [echo().set("Content-Length", "10000000").head(), vec![b' '; 1_000_000]].concat();
    let mut conns: Vec<Conn> = Vec::new();
    let mut refused = 0;
    for _ in 0..100 {
        let mut conn = hosted.connect();
        // The server reads as long as it has room: then it says that it has not, and no more than that is cut off.
        if conn.try_send_bytes(&begun) && !conn.has_news() {
            conns.push(conn);
            continue;
        }
        let said = String::from_utf8_lossy(&conn.rest()).into_owned();
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 503 "), "{said}");
        refused += 1;
    }
    eventually("what is beyond 64 MiB is refused", || {
        refused + conns.iter().filter(|conn| conn.has_news()).count() >= 30
    });
    let grown = memory().saturating_sub(before);
    assert!(grown < 150_000, "{grown} KiB");
    serves(&hosted);
    drop(conns);
    // There is room again.
    let mut whole = echo();
    whole.body.extend(vec![b' '; 10_000_000]);
    eventually("a large body is taken", || hosted.ask(&whole).status == 200);
}

#[test]
fn calls_beyond_the_threads_wait_and_beyond_that_are_refused() {
    let _alone = alone();
    let (server, puppet) = puppet_with(|builder| builder.max_threads(2).max_open_requests(4));
    let hosted = Hosted::new(&server);
    let call = |name: &str| call(name, "held", json!({"name": name}));
    let mut accepted: Vec<Conn> = Vec::new();
    for name in ["a", "b"] {
        let mut conn = hosted.connect();
        conn.send(&call(name));
        puppet.expect(&format!("{name} began"));
        accepted.push(conn);
    }
    // Many more: some wait, all others are refused soon.
    let mut more: Vec<Conn> = (0..40)
        .map(|n| {
            let mut conn = hosted.connect();
            conn.send(&call(&n.to_string()));
            conn
        })
        .collect();
    let mut refused = 0;
    let start = std::time::Instant::now();
    while refused < 36 {
        assert!(start.elapsed() < LONG, "{refused} were refused");
        let Some(at) = more.iter().position(Conn::has_news) else {
            std::thread::yield_now();
            continue;
        };
        let response = more.remove(at).response();
        assert_eq!(response.error(), (503, -32603), "{response}");
        assert!(response.header("Retry-After").is_some(), "{response}");
        refused += 1;
    }
    assert!(threads() < 30, "{}", threads());
    puppet.open_gate();
    for conn in accepted.iter_mut().chain(&mut more) {
        let text = conn.response().text();
        assert!(text.ends_with("let go"), "{text}");
    }
    serves(&hosted);
}

#[test]
fn connections_beyond_the_limit_are_refused_until_there_is_room() {
    let _alone = alone();
    let (server, _puppet) = puppet();
    let hosted = Hosted::with(&server, |builder| builder.max_connections(8));
    let mut conns: Vec<Conn> = (0..8).map(|_| hosted.connect()).collect();
    for conn in &mut conns {
        assert_eq!(conn.ask(&echo()).text(), "hi");
    }
    for _ in 0..20 {
        let mut conn = hosted.connect();
        conn.try_send_bytes(&echo().bytes());
        let said = String::from_utf8_lossy(&conn.rest()).into_owned();
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 503 "), "{said}");
    }
    for conn in &mut conns {
        assert_eq!(conn.ask(&echo()).text(), "hi");
    }
    conns.pop();
    eventually("there is room", || {
        let mut conn = hosted.connect();
        conn.try_send_bytes(&echo().bytes());
        conn.rest_until("hi")
    });
}

#[test]
fn requests_in_a_row_are_answered_in_their_order() {
    let _alone = alone();
    let (hosted, puppet) = hosted();
    let mut conn = hosted.connect();
    let session = Legacy::new(&hosted);
    // The first one is slow, the second one a stream, and the rest are behind them.
    let steps = json!({"name": "steps", "arguments": {"n": 2}, "_meta": {"progressToken": 1}});
    let rest = (3..50).map(|n| call(n, "echo", json!({"message": n.to_string()})).bytes());
    let all = [
        session.tool(1, "held", json!({"name": "a"})).bytes(),
        session.request(2, "tools/call", steps).bytes(),
    ];
    let all: Vec<u8> = all.into_iter().chain(rest).flatten().collect();
    conn.send_bytes(&all);
    puppet.expect("a began");
    assert!(!conn.has_news());
    puppet.open_gate();
    assert_eq!(conn.response().text(), "a let go");
    let mut events = conn.events();
    for _ in 0..2 {
        events.notice("notifications/progress");
    }
    assert_eq!(events.message()["id"], 2);
    let mut conn = events.into_conn();
    for n in 3..50 {
        assert_eq!(conn.response().text(), n.to_string());
    }
    drop(session);
}

#[test]
fn answers_that_are_not_read_hold_back_what_follows() {
    let _alone = alone();
    let (hosted, _puppet) = hosted();
    let before = memory();
    let mut conn = hosted.connect();
    let mut writer = conn.another();
    // 40 MB of answers to a client that sends on and on before it reads.
    let request = call(1, "big", json!({"bytes": 100_000})).bytes();
    let writing = std::thread::spawn(move || (0..400).all(|_| writer.try_send_bytes(&request)));
    for _ in 0..20 {
        serves(&hosted);
    }
    let grown = memory().saturating_sub(before);
    assert!(grown < 20_000, "{grown} KiB");
    for n in 0..400 {
        assert_eq!(conn.response().text().len(), 100_000, "{n}");
    }
    assert!(writing.join().expect("no panic"));
}

#[test]
fn a_flood_of_connections_leaves_others_be() {
    let _alone = alone();
    let (hosted, _puppet) = hosted();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for n in 0..200 {
                    let mut conn = hosted.connect();
                    match n % 4 {
                        0 => drop(conn.try_send_bytes(b"GET / HTTP/1.1\r\n\r\n")),
                        1 => drop(conn.try_send_bytes(b"garbage\r\n\r\n")),
                        2 => drop(conn.try_send_bytes(&echo().bytes())),
                        _ => {}
                    }
                }
            });
        }
        for _ in 0..100 {
            serves(&hosted);
        }
    });
    let get = hosted.ask(&Request::get().at("/nowhere"));
    assert_eq!(get.status, 404);
}

#[test]
fn a_client_that_asks_for_ever_is_answered_to_the_end() {
    let _alone = alone();
    let (hosted, _puppet) = hosted();
    let session = Legacy::new(&hosted);
    // Two thousand in a row over one connection, and as many streams one after the other.
    let mut conn = hosted.connect();
    let ping = session.request(1, "ping", json!({})).bytes();
    for _ in 0..20 {
        conn.send_bytes(&ping.repeat(100));
        for _ in 0..100 {
            assert_eq!(conn.response().result(), json!({}));
        }
    }
    let steps: Value = json!({"name": "steps", "arguments": {"n": 1}, "_meta": {"progressToken": 1}});
    let before = memory();
    for id in 0..300 {
        assert_eq!(hosted.messages(&session.request(id, "tools/call", steps.clone())).len(), 2);
    }
    assert!(memory() < before + 10_000, "{} KiB", memory() - before);
    drop(session);
}
