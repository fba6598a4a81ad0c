//! Settling the protocol more than once: for another caller after one gave up, and on another connection.

use std::io;
use std::thread;

use crossbeam_channel::{Receiver, Sender, unbounded};
use serde_json::json;
use tinymcp::client::{CallOptions, Timeouts};
use tinymcp::testing::ScriptedPeer;
use tinymcp::transport::{Connection, OpenOptions, Transport};
use tinymcp::{CancelToken, Client, Error, ErrorObject, ProtocolVersion};

use super::client::settled;
use super::{LONG, answer_handshake, answer_probe, discovered, text};

/// A call that is cancelled once `reached` has seen the server being asked.
fn cancelled<T>(client: &Client, reached: impl FnOnce() -> T) -> T {
    let token = CancelToken::new();
    let options = CallOptions::default().with_cancel(&token);
    thread::scope(|scope| {
        let call = scope.spawn(|| client.call_tool_with("a", (), &options));
        let reached = reached();
        token.cancel("enough");
        let error = call.join().expect("no panic").expect_err("cancelled");
        assert!(matches!(&error, Error::Cancelled(reason) if reason == "enough"), "{error}");
        reached
    })
}

fn legacy_identity() -> serde_json::Value {
    json!({
        "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
        "serverInfo": {"name": "scripted", "version": "0"}
    })
}

#[test]
fn a_token_ends_the_wait_for_a_server_that_never_answers() {
    // The answer to `initialize` comes when nobody waits for it, or after the next caller has come.
    for is_late in [false, true] {
        let timeouts = Timeouts::none().with_probe(LONG);
        let (client, server) =
            ScriptedPeer::for_client(Client::builder().timeouts(timeouts)).expect("a client");
        let mut server = server.with_deadline(LONG);
        let first = cancelled(&client, || server.expect_request("server/discover"));
        let initialize = cancelled(&client, || {
            let second = server.expect_request("server/discover");
            // Whoever asked this has gone.
            server.respond(&first.id, discovered(&["2026-07-28"]));
            server.respond_error(&second.id, ErrorObject::new(-32601, "unknown method"));
            server.expect_request("initialize")
        });
        thread::scope(|scope| {
            if !is_late {
                server.respond(&initialize.id, legacy_identity());
            }
            let call = scope.spawn(|| client.call_tool("a", ()));
            if is_late {
                server.respond(&initialize.id, legacy_identity());
            }
            // The handshake was neither cancelled nor begun anew.
            // spec: 2025-11-25 basic/utilities/cancellation (initialize MUST NOT be cancelled)
            server.expect_notification("notifications/initialized");
            let request = server.expect_request("tools/call");
            server.respond(&request.id, text("served"));
            assert_eq!(call.join().expect("no panic").expect("answered").text_content(), "served");
        });
        drop(client);
        server.expect_end();
    }
}

#[test]
fn a_close_does_not_wait_for_a_handshake_that_was_given_up() {
    let timeouts = Timeouts::none().with_probe(LONG);
    let (client, mut server) =
        ScriptedPeer::for_client(Client::builder().timeouts(timeouts)).expect("a client");
    cancelled(&client, || server.expect_request("server/discover"));
    let handle = client.handle();
    client.close().expect("closed");
    let error = handle.initialize().expect_err("closed");
    assert!(
        matches!(error, Error::Closed(_)) && error.to_string().contains("closed by this client"),
        "{error}"
    );
    server.expect_end();
}

/// Leads to another scripted server each time it is opened.
struct Doors(Sender<ScriptedPeer>);

impl Transport for Doors {
    fn open(self: Box<Self>, options: &OpenOptions) -> io::Result<Connection> {
        let (peer, transport) = ScriptedPeer::new();
        self.0.send(peer.with_deadline(LONG)).map_err(io::Error::other)?;
        Box::new(transport).open(options)
    }

    fn again(&self) -> Option<Box<dyn Transport>> {
        Some(Box::new(Self(self.0.clone())))
    }
}

fn next(doors: &Receiver<ScriptedPeer>) -> ScriptedPeer {
    doors.recv_timeout(LONG).expect("opened")
}

#[test]
fn another_connection_may_be_of_another_era() {
    let (opened, doors) = unbounded();
    let (changed_tx, changed) = unbounded();
    let client = Client::builder()
        .on_tools_changed(move |client| {
            changed_tx.send(client.initialize().map(|it| it.version.clone())).expect("the test lives");
        })
        .open(Doors(opened))
        .expect("opens");
    let mut old = next(&doors);
    let identity = thread::scope(|scope| {
        let settling = scope.spawn(|| client.initialize());
        answer_handshake(&mut old, "2025-06-18", true);
        settling.join().expect("no panic").expect("settles")
    });
    assert_eq!(identity.version, ProtocolVersion::V2025_06_18);
    let open = client.start_call("a", (), &CallOptions::default()).expect("sent");
    old.expect_request("tools/call");
    let abandoned = client.start_call("b", (), &CallOptions::default()).expect("sent");
    old.expect_request("tools/call");

    let mut modern = thread::scope(|scope| {
        let listing = scope.spawn(|| client.list_tools());
        let page = old.expect_request("tools/list");
        old.respond(&page.id, json!({"tools": [], "nextCursor": "of the old server"}));
        old.expect_request("tools/list");
        let reconnecting = scope.spawn(|| client.reconnect());
        old.expect_end();
        let mut server = next(&doors);
        // A cursor of the old server is none of the new one's.
        assert!(matches!(listing.join().expect("no panic"), Err(Error::Closed(_))));
        // Calls that come now wait for the new connection.
        let waiting = scope.spawn(|| client.call_tool("a", ()));
        answer_probe(&mut server);
        let identity = reconnecting.join().expect("no panic").expect("reconnects");
        assert_eq!(identity.version, ProtocolVersion::V2026_07_28);
        let call = server.expect_request("tools/call");
        assert!(call.params.expect("some").as_str().contains("io.modelcontextprotocol/protocolVersion"));
        server.respond(&call.id, json!({"content": [], "resultType": "complete"}));
        waiting.join().expect("no panic").expect("answered");
        server
    });
    // Nothing of the old calls goes to the new server, which has given the same ids to others.
    let error = open.wait().expect_err("its connection is gone");
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error}");
    assert!(error.to_string().contains("this client reconnected"), "{error}");
    abandoned.cancel("no longer wanted");
    let version = changed.recv_timeout(LONG).expect("told").expect("settled");
    assert_eq!(version, ProtocolVersion::V2026_07_28);
    assert_eq!(client.initialize().expect("settled").version, ProtocolVersion::V2026_07_28);
    assert_eq!(identity.version, ProtocolVersion::V2025_06_18, "what was returned before is as it was");

    thread::scope(|scope| {
        let reconnecting = scope.spawn(|| client.reconnect());
        modern.expect_end();
        let mut server = next(&doors);
        let probe = server.expect_request("server/discover");
        // A Legacy server is answered, also after a Modern one.
        server.request("alive?", "ping", json!({}));
        server.expect_result("alive?");
        server.respond_error(&probe.id, ErrorObject::new(-32601, "unknown method"));
        let initialize = server.expect_request("initialize");
        server.respond(&initialize.id, legacy_identity());
        server.expect_notification("notifications/initialized");
        reconnecting.join().expect("no panic").expect("reconnects");
        let pinging = scope.spawn(|| client.ping());
        let ping = server.expect_request("ping");
        server.respond(&ping.id, json!({}));
        pinging.join().expect("no panic").expect("answered");
    });
}

#[test]
fn what_cannot_be_opened_again_is_left_as_it_is() {
    let (client, mut server) = settled(false);
    let error = client.reconnect().expect_err("a memory pair");
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    assert_eq!(error.to_string(), "unsupported: in-memory peer cannot be opened again");
    let call = client.start_call("a", (), &CallOptions::default()).expect("sent");
    let request = server.expect_request("tools/call");
    server.respond(&request.id, text("as before"));
    assert_eq!(call.wait().expect("answered").text_content(), "as before");
    let handle = client.handle();
    drop(client);
    assert!(matches!(handle.reconnect(), Err(Error::Closed(_))));
}
