//! Requests and answers, one after another and side by side.

use crossbeam_channel::unbounded;

use super::*;

#[test]
fn a_connection_serves_one_request_after_another() {
    let rig = Rig::echo(limits());
    let mut peer = rig.peer();
    for n in 0..100 {
        let body = "x".repeat(n * 37);
        let answer = peer.post("/", &body).answer();
        answer.is(200, &body);
        assert_eq!(answer.header("connection"), None);
        assert!(answer.header("date").is_some_and(|date| date.ends_with(" GMT")));
    }
    peer.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: foo, Close\r\n\r\n");
    let answer = peer.answer();
    answer.is(200, "");
    assert_eq!(answer.header("connection"), Some("close"));
    peer.is_closed();
}

#[test]
fn the_service_sees_what_was_asked() {
    let (seen_tx, seen) = unbounded();
    let rig = Rig::admitting(
        limits(),
        |head| Ok(format!("admitted {}", head.path())),
        move |request, reply| {
            let _ = seen_tx.send(request);
            reply.answer(Response::new(202));
        },
    );
    let mut peer = rig.peer();
    let own = peer.stream.local_addr().expect("connected");
    peer.send(
        "PUT /a/b?c=d&e HTTP/1.1\r\nHOST: h\r\nX-A: 1\r\nx-b:\r\nx-a:  2 \t\r\nContent-Length: 2\r\n\r\nhi",
    );
    peer.answer().is(202, "");
    let request = seen.recv_timeout(SOON).expect("served");
    let head = &request.head;
    assert_eq!((head.method(), head.path(), head.query()), ("PUT", "/a/b", Some("c=d&e")));
    let headers: Vec<_> = head.all_headers().collect();
    assert_eq!(headers, [("host", "h"), ("x-a", "1"), ("x-b", ""), ("x-a", "2"), ("content-length", "2")]);
    assert_eq!(head.headers("X-A").collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!((head.header("X-B"), head.header("nothing"), head.peer()), (Some(""), None, own));
    assert_eq!((request.body.as_slice(), request.admitted.as_str()), (&b"hi"[..], "admitted /a/b"));
    assert_eq!(format!("{head:?}"), format!("PUT /a/b from {own}"));
    for (target, path, query) in [
        ("/", "/", None),
        ("*", "*", None),
        ("http://h", "/", None),
        ("HTTPS://h:1/p?q", "/p", Some("q")),
        ("/?", "/", Some("")),
    ] {
        peer.send(format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n")).answer().is(202, "");
        let head = seen.recv_timeout(SOON).expect("served").head;
        assert_eq!((head.path(), head.query()), (path, query));
    }
}

#[test]
fn requests_that_come_together_are_served_in_order() {
    let (held_tx, held) = unbounded();
    let rig = Rig::new(limits(), move |request, reply| {
        if request.admitted == "/hold" {
            let _ = held_tx.send((request, reply));
        } else {
            echo(request, reply);
        }
    });
    let mut peer = rig.peer();
    // Answered by another thread than the one that serves; the next ones lie in the inbox already.
    peer.post("/hold", "first");
    let one = |n: usize| format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n{n:03}");
    peer.send((0..50).map(one).collect::<String>());
    let (request, reply) = held.recv_timeout(SOON).expect("served");
    reply.answer(response(200, request.body));
    peer.answer().is(200, "first");
    for n in 0..50 {
        peer.answer().is(200, format!("{n:03}"));
    }
    // More of them than are read at once.
    let mut reader = Peer { stream: peer.stream.try_clone().expect("handles"), read: Vec::new() };
    let writer = std::thread::spawn(move || {
        peer.send((0..5000).map(|n| one(n % 1000)).collect::<String>());
    });
    for n in 0..5000 {
        reader.answer().is(200, format!("{:03}", n % 1000));
    }
    writer.join().expect("sent");
}

#[test]
fn a_request_may_come_in_any_two_pieces() {
    let rig = Rig::echo(limits());
    let sized = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x\r\nllo\r\n0\r\nA: b\r\n\r\n";
    for text in [sized, chunked] {
        let mut peer = rig.peer();
        for at in 1..text.len() {
            // The answer of the request before it is read between the pieces: they cannot come as one.
            let (a, b) = text.split_at(at);
            peer.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").send(a).answer().is(200, "");
            peer.send(b).answer().is(200, "hello");
        }
        let mut peer = rig.peer();
        text.bytes().for_each(|byte| {
            peer.send([byte]);
        });
        peer.answer().is(200, "hello");
    }
}

#[test]
fn large_bodies_go_both_ways() {
    let rig = Rig::echo(limits());
    let body: Vec<u8> = (0..1024 * 1024_u32).map(|n| b'a' + (n % 23) as u8).collect();
    let mut peer = rig.peer();
    for _ in 0..3 {
        let answer = peer.post("/", &body).answer();
        assert!(answer.body == body);
    }
    let mut text = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for chunk in body.chunks(10_007) {
        text.extend(format!("{:x}\r\n", chunk.len()).bytes());
        text.extend(chunk);
        text.extend(b"\r\n");
    }
    text.extend(b"0\r\n\r\n");
    assert!(peer.send(&text).answer().body == body);
}

#[test]
fn head_is_get_without_the_body() {
    let rig = Rig::new(limits(), |request, reply| match request.admitted.as_str() {
        "/stream" => {
            let stream = reply.stream(&[], b"data: 1\n\n");
            assert_eq!(stream.send(b"data: 2\n\n"), Err(NotWritten::Gone));
            stream.finish(b"data: 3\n\n");
        }
        _ => reply.answer(response(200, "a body")),
    });
    let mut peer = rig.peer();
    for _ in 0..2 {
        peer.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(peer.head().header("content-length"), Some("6"));
        peer.send("HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(peer.head().header("content-type"), Some("text/event-stream"));
    }
    peer.get("/").answer().is(200, "a body");
}

#[test]
fn http_1_0_is_spoken() {
    let rig = Rig::new(limits(), |request, reply| match request.admitted.as_str() {
        "/stream" => {
            let stream = reply.stream(&[("X-A", "b".to_owned())], b"data: 1\n\n");
            assert_eq!(stream.send(b"data: 2\n\n"), Ok(()));
            stream.finish(b"data: 3\n\n");
        }
        _ => echo(request, reply),
    });
    let mut peer = rig.peer();
    peer.send("POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi");
    let answer = peer.answer();
    answer.is(200, "hi");
    assert_eq!(answer.header("connection"), Some("keep-alive"));
    peer.send("GET / HTTP/1.0\r\n\r\n");
    assert_eq!(peer.answer().header("connection"), Some("close"));
    peer.is_closed();
    let mut peer = rig.peer();
    peer.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let head = peer.head();
    let said = ["transfer-encoding", "connection", "x-a"].map(|name| head.header(name));
    assert_eq!(said, [None, Some("close"), Some("b")]);
    assert_eq!(peer.rest(), "data: 1\n\ndata: 2\n\ndata: 3\n\n");
}

#[test]
fn who_asks_before_sending_the_body_is_told() {
    let rig = Rig::admitting(
        limits(),
        |head| if head.path() == "/no" { Err(response(401, "who?")) } else { Ok(String::new()) },
        echo,
    );
    let mut peer = rig.peer();
    let ask = |path: &str| {
        format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-Continue\r\n\r\n")
    };
    for _ in 0..2 {
        peer.send(ask("/"));
        assert_eq!(peer.head().status, 100);
        peer.send("hello").answer().is(200, "hello");
    }
    // Who does not wait is not told.
    peer.send(ask("/") + "hello").answer().is(200, "hello");
    let answer = peer.send(ask("/no")).answer();
    answer.is(401, "who?");
    assert_eq!(answer.header("connection"), Some("close"));
    peer.is_closed();
    let mut peer = rig.peer();
    peer.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n");
    assert_eq!(peer.answer().status, 417);
}

#[test]
fn who_closes_its_half_is_answered() {
    let rig = Rig::echo(limits());
    let mut peer = rig.peer();
    peer.post("/", "one").post("/", "two").half_close();
    peer.answer().is(200, "one");
    peer.answer().is(200, "two");
    peer.is_closed();
}

#[test]
fn a_service_that_does_not_answer_is_a_500() {
    let rig = Rig::admitting(
        limits(),
        |head| match head.path() {
            "/admit" => panic!("the panic of a test"),
            path => Ok(path.to_owned()),
        },
        |request, reply| match request.admitted.as_str() {
            "/panic" => panic!("the panic of a test"),
            "/drop" => drop(reply),
            "/stream" => {
                let _stream = reply.stream(&[], b"data: 1\n\n");
                panic!("the panic of a test");
            }
            _ => echo(request, reply),
        },
    );
    let mut peer = rig.peer();
    for _ in 0..20 {
        peer.get("/panic").answer().is(500, "");
        peer.get("/drop").answer().is(500, "");
        peer.post("/", "still there").answer().is(200, "still there");
    }
    peer.get("/stream").head();
    assert_eq!(peer.rest(), "9\r\ndata: 1\n\n\r\n");
    let mut peer = rig.peer();
    peer.get("/admit").answer().is(500, "");
    peer.is_closed();
}
