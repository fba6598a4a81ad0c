//! Bytes that are no HTTP, or one that nobody should understand in two ways.

use crate::http::{Conn, Hosted, Request};
use crate::support::alone::alone;
use crate::{echo, hosted, serves};

/// Sends bytes and expects a status of these, and that the connection is closed.
#[track_caller]
fn refused(hosted: &Hosted, bytes: &[u8], statuses: &[u16]) {
    let mut conn = hosted.connect();
    // It may be refused before all of it is sent.
    conn.try_send_bytes(bytes);
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
    let said = conn.rest();
    let said = String::from_utf8_lossy(&said);
    let status = said.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    assert!(status.is_some_and(|status| statuses.contains(&status)), "{shown:?}: {said}");
    assert_eq!(said.matches("\r\nDate:").count(), 1, "{shown:?}: {said}");
}

/// A request of these lines, whose body is that of an echo.
fn request(lines: &[&str]) -> Vec<u8> {
    let echo = echo();
    let mut bytes = lines.join("\r\n").into_bytes();
    bytes.extend(b"\r\n\r\n");
    bytes.extend(&echo.body);
    bytes
}

#[test]
fn what_is_no_request_is_refused_at_once() {
    let _alone = alone();
    let (hosted, _puppet) = hosted();
    for bytes in [
        &b"hello\r\n\r\n"[..],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"\0\0\0\0\0\0\0\0\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /mcp\r\n\r\n",
        b"GET  /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /mcp HTTP/1.1 x\r\nHost: localhost\r\n\r\n",
        b"G\xcbT /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /m\x00cp HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /mcp HTTP/1.1\r\nHost localhost\r\n\r\n",
        b"GET /mcp HTTP/1.1\r\nHost : localhost\r\n\r\n",
        b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n X: folded\r\n\r\n",
        b"GET /mcp HTTP/1.1\r\n: nameless\r\nHost: localhost\r\n\r\n",
        b"GET /mcp HTTP/1.1\r\nHost: local\0host\r\n\r\n",
        b"GET /mcp HTTP/1.1\r\nX\x80: 1\r\nHost: localhost\r\n\r\n",
        b"GET /mcp HTTP/2.0\r\nHost: localhost\r\n\r\n",
        b"GET /mcp HTTP/0.9\r\nHost: localhost\r\n\r\n",
        b"GET /mcp HTTP/1.1\r\n\r\n",
    ] {
        refused(&hosted, bytes, &[400, 403, 505]);
    }
    serves(&hosted);
    // Without an end it is only refused when its time is over, or when it cannot become one.
    for garbage in [&b"\xff\xfe\xfd"[..], b"\x16\x03\x01", b"{\"jsonrpc\":"] {
        let mut conn = hosted.connect();
        conn.send_bytes(garbage);
        serves(&hosted);
        drop(conn);
    }
}

#[test]
fn one_body_has_one_length() {
    let _alone = alone();
    let (hosted, _puppet) = hosted();
    let length = echo().body.len().to_string();
    let with = |headers: &[(&str, &str)]| {
        let request = headers.iter().fold(echo(), |request, (name, value)| request.with(name, value));
        [request.head(), request.body].concat()
    };
    for headers in [
        &[("Content-Length", "x")][..],
        &[("Content-Length", "-1")],
        &[("Content-Length", "+5")],
        &[("Content-Length", "0x10")],
        &[("Content-Length", "")],
        &[("Content-Length", "5 5")],
        &[("Content-Length", "5, 6")],
        &[("Content-Length", "99999999999999999999999999")],
        &[("Content-Length", "5"), ("Content-Length", "6")],
        &[("Content-Length", &length), ("Content-Length", "0")],
        // Somebody in between may look at the other one.
        &[("Content-Length", &length), ("Transfer-Encoding", "chunked")],
        &[("Transfer-Encoding", "chunked"), ("Content-Length", &length)],
        &[("Transfer-Encoding", "chunked"), ("Content-Length", "0")],
        &[("Transfer-Encoding", "gzip")],
        &[("Transfer-Encoding", "gzip, chunked")],
        &[("Transfer-Encoding", "chunked, identity")],
        &[("Transfer-Encoding", "xchunked")],
        &[("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")],
        &[("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "identity")],
        &[("Transfer-Encoding", "")],
        &[("Transfer-Encoding", "\"chunked\"")],
    ] {
        refused(&hosted, &with(headers), &[400, 413, 501]);
    }
    serves(&hosted);
    // Without any a request has no body, and what follows is another request.
    let head = String::from_utf8(echo().head()).expect("UTF-8");
    let bare = head.replace(&format!("Content-Length: {length}\r\n"), "");
    let mut conn = hosted.connect();
    conn.send_bytes(bare.as_bytes());
    assert!(matches!(conn.response().status, 400 | 411));
}

#[test]
fn chunks_are_what_they_say() {
    let _alone = alone();
    let (hosted, _puppet) = hosted();
    let head = echo().with("Transfer-Encoding", "chunked").head();
    let body = String::from_utf8(echo().body).expect("UTF-8");
    let size = format!("{:x}", body.len());
    let send = |body: &str| {
        let mut conn = hosted.connect();
        conn.send_bytes(&head);
        conn.try_send_bytes(body.as_bytes());
        conn
    };
    for good in [
        format!("{size}\r\n{body}\r\n0\r\n\r\n"),
        format!("{}\r\n{body}\r\n0\r\n\r\n", size.to_uppercase()),
        format!("000{size}\r\n{body}\r\n000\r\n\r\n"),
        format!("{size};name=value\r\n{body}\r\n0;x\r\n\r\n"),
        format!("1\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n", &body[..1], body.len() - 1, &body[1..]),
        format!("{size}\r\n{body}\r\n0\r\nX-Trailer: 1\r\n\r\n"),
    ] {
        assert_eq!(send(&good).response().text(), "hi", "{good}");
    }
    let many: String = (0..10_000).map(|n| format!("X-{n}: trailer\r\n")).collect();
    for bad in [
        format!("x\r\n{body}\r\n0\r\n\r\n"),
        format!("-1\r\n{body}\r\n0\r\n\r\n"),
        format!("+{size}\r\n{body}\r\n0\r\n\r\n"),
        format!("0x{size}\r\n{body}\r\n0\r\n\r\n"),
        format!(" {size}\r\n{body}\r\n0\r\n\r\n"),
        format!("\r\n{size}\r\n{body}\r\n0\r\n\r\n"),
        format!("{size}\r\n{body}0\r\n\r\n"),
        format!("{size}\r\n{body}xx0\r\n\r\n"),
        format!("1\r\n{body}\r\n0\r\n\r\n"),
        "ffffffffffffffff\r\nx".to_owned(),
        "fffffffffffffffffffff\r\nx".to_owned(),
        format!("{size};{}\r\n{body}\r\n0\r\n\r\n", "e".repeat(100_000)),
        format!("{size}\r\n{body}\r\n0\r\n{many}\r\n"),
    ] {
        let mut conn = send(&bad);
        let said = conn.rest();
        let said = String::from_utf8_lossy(&said);
        let shown = &bad[..bad.len().min(200)];
        assert!(said.starts_with("HTTP/1.1 4"), "{shown:?}: {said}");
        assert_eq!(said.matches("\r\nDate:").count(), 1, "{shown:?}: {said}");
    }
    serves(&hosted);
}

#[test]
fn a_line_end_of_one_byte_hides_no_second_request() {
    let _alone = alone();
    let (hosted, _puppet) = hosted();
    let length = format!("Content-Length: {}", echo().body.len());
    let head = String::from_utf8(echo().head()).expect("UTF-8");
    // Some take it for the end of a line: then all is well, or it is refused, and nothing is left over.
    for bytes in [
        head.replace("\r\n", "\n").into_bytes(),
        head.replace(&length, &format!("X: y\r{length}")).into_bytes(),
        request(&["POST /mcp HTTP/1.1", "Host: localhost", &length, "X: a\rTransfer-Encoding: chunked"]),
    ] {
        let mut conn = hosted.connect();
        conn.send_bytes(&bytes);
        conn.end_input();
        let said = conn.rest();
        let said = String::from_utf8_lossy(&said);
        assert!(said.matches("\r\nDate:").count() <= 1, "{said}");
    }
    serves(&hosted);
}

#[test]
fn empty_lines_before_a_request_are_none_of_it() {
    let _alone = alone();
    let (hosted, _puppet) = hosted();
    let mut conn = hosted.connect();
    conn.send_bytes(b"\r\n");
    assert_eq!(conn.ask(&echo()).text(), "hi");
    conn.send_bytes(b"\r\n\r\n");
    assert_eq!(conn.ask(&echo()).text(), "hi");
    // Not without end.
    let mut conn = hosted.connect();
    let lines = b"\r\n".repeat(100_000);
    while !conn.has_news() && conn.try_send_bytes(&lines) {}
    let said = String::from_utf8_lossy(&conn.rest()).into_owned();
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 400 "), "{said}");
    serves(&hosted);
}

#[test]
fn an_older_client_of_http_is_served_once_or_not_at_all() {
    let _alone = alone();
    let (hosted, _puppet) = hosted();
    let head = String::from_utf8(echo().head()).expect("UTF-8").replace("HTTP/1.1", "HTTP/1.0");
    let mut conn: Conn = hosted.connect();
    conn.send_bytes(&[head.as_bytes(), &echo().body].concat());
    let response = conn.response();
    assert!(response.status == 505 || response.text() == "hi", "{response}");
    conn.expect_closed();
    // Whole addresses are allowed as targets; what is none is not found or refused.
    let absolute = echo().at("http://localhost/mcp");
    assert!(matches!(hosted.ask(&absolute).status, 200 | 400 | 404));
    for target in ["*", "mcp", "/%6dcp", "/mcp#x", "//mcp", "/./mcp", "/x/../mcp"] {
        let response = hosted.ask(&echo().at(target).with("Connection", "close"));
        assert!(matches!(response.status, 400 | 404), "{target}: {response}");
    }
    let connect = Request::new("CONNECT", "localhost:80").with("Connection", "close");
    assert!(hosted.ask(&connect).status >= 400);
}
