//! What is left of the servers of a relay when their clients have gone: nothing. Linux only, to look.
#![cfg(target_os = "linux")]

#[path = "support/mirror.rs"]
mod mirror;
#[path = "support/posts.rs"]
mod posts;
#[path = "support/relaying.rs"]
mod relaying;
mod support;

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use mirror::mirror;
use posts::Poster;
use relaying::Relaying;
use support::alone::{alone, children, is_alive};
use support::peers::eventually;
use tinymcp::http::HttpServer;

#[test]
fn child() {
    mirror::child();
}

const V: &str = "2025-11-25";

fn relay() -> Relaying {
    Relaying::to(|| mirror("ok"))
}

fn pid(client: &Poster) -> u64 {
    client.call("1", "pid").value()["result"]["pid"].as_u64().expect("a pid")
}

#[test]
fn servers_end_with_their_sessions_and_with_the_relay() {
    let alone = alone();
    let mut relay = relay();
    let [ended, open] = [(); 2].map(|()| Poster::legacy(relay.address, V));
    let gone = pid(&ended).to_string();
    assert_eq!(ended.delete(), 204);
    eventually("its server has ended", || !is_alive(&gone));
    assert_eq!(ended.call("1", "pid").status, 404);
    pid(&open);
    assert_eq!(Poster::legacy(relay.address, V).post(r#"{"jsonrpc":"2.0","method":"x"}"#).status, 202);
    let modern = Poster::new(relay.address).modern("1", "pid", "{}").value();
    assert!(modern["result"]["pid"].is_u64());
    assert_eq!(children().len(), 3);
    relay.stop();
    assert_eq!(children(), Vec::<String>::new());
    drop(relay);
    drop(alone);
}

#[test]
fn a_client_that_leaves_during_its_handshake_leaves_no_server() {
    let _alone = alone();
    let relay = Relaying::to(|| mirror("mute"));
    let mut socket = TcpStream::connect(relay.address).expect("connects");
    let body = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
    let head = format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
    socket.write_all(format!("{head}{body}").as_bytes()).expect("sent");
    eventually("the server runs", || children().len() == 1);
    drop(socket);
    eventually("the server has ended", || children().is_empty());
}

#[test]
fn an_idle_session_ends_and_its_server_with_it() {
    let _alone = alone();
    let builder = HttpServer::relay(|| mirror("ok")).session_idle(Duration::from_millis(100));
    let relay = Relaying::with(builder);
    let client = Poster::legacy(relay.address, V);
    eventually("the server has ended", || children().is_empty());
    assert_eq!(client.call("1", "pid").status, 404);
}

#[test]
fn a_server_that_does_not_read_is_ended_all_the_same() {
    let _alone = alone();
    let relay = relay();
    let client = Poster::legacy(relay.address, V);
    let server = pid(&client).to_string();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| client.call("1", "deaf"));
        // More than a pipe holds, and than waits for it: what does not fit is refused, and nobody waits.
        let mebibyte =
            format!(r#"{{"jsonrpc":"2.0","method":"x","params":{{"x":"{}"}}}}"#, "x".repeat(1 << 20));
        let mut posts = (0..64).map(|_| client.post(&mebibyte));
        let busy = posts.find(|answer| answer.status != 202).expect("there is an end to it");
        assert_eq!(busy.status, 503);
        assert_eq!(busy.value()["error"]["message"], "server busy: 16777216 bytes wait for it");
        assert_eq!(client.delete(), 204);
        assert_eq!(call.join().expect("no panic").status, 404);
    });
    eventually("the server has ended", || !is_alive(&server));
}
