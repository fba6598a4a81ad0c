//! What is refused, and how.

use super::*;

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    let rig = Rig::new(limits(), |request, reply| {
        assert_eq!(request.head.path(), "/fine", "nothing else is served");
        echo(request, reply);
    });
    let long_name = format!("GET / HTTP/1.1\r\nHost: a\r\n{}: b\r\n\r\n", "x".repeat(20_000));
    let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "x: y\r\n".repeat(101));
    let long_target = format!("GET /{}", "x".repeat(20_000));
    let table: [(&str, u16); 52] = [
        ("GET / HTTP/1.1\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n\n", 400),
        ("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nx: a\r\n b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nx: a\r\n\tb\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nx\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nx y: z\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nx: a\0b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nx: a\x01b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nx: a\x7fb\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /  HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400),
        ("G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET http://a?b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / FOO/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / http/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        ("\x16\x03\x01\x02", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\nx", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +7\r\n\r\n0123456", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -7\r\n\r\n0123456", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x7\r\n\r\n0123456", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", 400),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
        ("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 501),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            501,
        ),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n", 413),
        (&long_name, 431),
        (&many, 431),
        (&long_target, 431),
    ];
    for (text, status) in table {
        let mut peer = rig.peer();
        let answer = peer.send(text).answer();
        assert_eq!(answer.status, status, "{:?}", &text[..text.len().min(200)]);
        assert_eq!(answer.header("connection"), Some("close"));
        assert!(!answer.body.is_empty() && answer.body.is_ascii());
        peer.is_closed();
        // As well after a request that is served.
        let mut peer = rig.peer();
        peer.get("/fine").answer().is(200, "");
        assert_eq!(peer.send(text).answer().status, status);
    }
    let mut peer = rig.peer();
    peer.send(b"GET / HTTP/1.1\r\nHost: a\r\nx: \xe9\r\n\r\n");
    assert_eq!(peer.answer().status, 400);
}

#[test]
fn what_is_unusual_is_read() {
    let rig = Rig::echo(limits());
    let mut peer = rig.peer();
    for text in [
        "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost:\r\n\r\n",
        "M-SEARCH * HTTP/1.1\r\nhOST: a\r\nx: \u{e9}\tb\r\nContent-Length: 000\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n",
    ] {
        peer.send(text).answer().is(200, "");
    }
}

#[test]
fn a_body_that_is_not_wanted_is_not_read() {
    let rig = Rig::admitting(
        limits(),
        |head| if head.path() == "/" { Ok(String::new()) } else { Err(response(403, "no")) },
        |_, reply| reply.answer(Response::new(204)),
    );
    // More than any buffer holds: the answer can be read although the body was sent, and not taken.
    let long =
        format!("POST /no HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n{}", "x".repeat(900_000));
    let mut peer = rig.peer();
    peer.send(&long).answer().is(403, "no");
    peer.is_closed();
    let mut peer = rig.peer();
    let chunk = format!("80000\r\n{}\r\n", "x".repeat(0x80000));
    peer.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n").send(&chunk).send(&chunk);
    peer.send("1\r\nx\r\n");
    let answer = peer.answer();
    answer.is(413, "the body exceeds 1048576 bytes");
    peer.is_closed();
    let mut peer = rig.peer();
    peer.send("HEAD /no HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(peer.rest().split("\r\n\r\n").collect::<Vec<_>>()[1..], [""]);
}
