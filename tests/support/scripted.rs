//! A client of one revision, and the scripted server behind it.

use std::io;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use serde_json::{Value, json};
use tinymcp::client::ClientBuilder;
use tinymcp::testing::ScriptedPeer;
use tinymcp::transport::{Connection, OpenOptions, Transport};
use tinymcp::{Client, ProtocolVersion};

pub(crate) const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

/// Everything that a server can declare.
pub(crate) fn everything() -> Value {
    json!({
        "tools": {"listChanged": true}, "prompts": {}, "resources": {"subscribe": true}, "completions": {}, "logging": {}
    })
}

/// Leads to another scripted server each time it is opened.
struct Doors(Sender<ScriptedPeer>);

impl Transport for Doors {
    fn open(self: Box<Self>, options: &OpenOptions) -> io::Result<Connection> {
        let (peer, transport) = ScriptedPeer::new();
        self.0.send(peer).map_err(io::Error::other)?;
        Box::new(transport).open(options)
    }

    fn again(&self) -> Option<Box<dyn Transport>> {
        Some(Box::new(Self(self.0.clone())))
    }
}

/// A client that speaks `version` alone, settled; its server, and where the servers of later connections come from.
pub(crate) fn several(
    builder: ClientBuilder,
    version: &ProtocolVersion,
    capabilities: &Value,
) -> (Client, ScriptedPeer, Receiver<ScriptedPeer>) {
    let (opened, doors) = unbounded();
    let client = builder.versions([version.clone()]).open(Doors(opened)).expect("a client");
    let mut server = next(&doors);
    during(|| client.initialize(), || greet(&mut server, version, capabilities)).expect("settled");
    (client, server, doors)
}

/// The server of a further connection.
#[track_caller]
pub(crate) fn next(doors: &Receiver<ScriptedPeer>) -> ScriptedPeer {
    doors.recv_timeout(Duration::from_secs(20)).expect("opened")
}

/// A client that speaks `version` alone, settled.
pub(crate) fn connected(
    builder: ClientBuilder,
    version: &ProtocolVersion,
    capabilities: &Value,
) -> (Client, ScriptedPeer) {
    let (client, server, _) = several(builder, version, capabilities);
    (client, server)
}

/// Plays the server's part of settling the protocol.
#[track_caller]
pub(crate) fn greet(server: &mut ScriptedPeer, version: &ProtocolVersion, capabilities: &Value) {
    let icons = json!([{"src": "https://example.com/a.png"}, {"src": "file:///etc/passwd"}]);
    let info = json!({"name": "scripted", "version": "0", "icons": icons});
    if version.is_modern() {
        let probe = server.expect_request("server/discover");
        server.respond(
            &probe.id,
            json!({
                "supportedVersions": [version], "capabilities": capabilities, "resultType": "complete",
                "ttlMs": 0, "cacheScope": "private", "_meta": {"io.modelcontextprotocol/serverInfo": info}
            }),
        );
        return;
    }
    let request = server.expect_request("initialize");
    let result = json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": info});
    server.respond(&request.id, result);
    server.expect_notification("notifications/initialized");
}

/// What `act` returns, while the server follows `script`.
#[track_caller]
pub(crate) fn during<T: Send>(act: impl FnOnce() -> T + Send, script: impl FnOnce()) -> T {
    thread::scope(|scope| {
        let acting = scope.spawn(act);
        script();
        acting.join().expect("no panic")
    })
}

/// Answers the next request, which is of `method`, and returns its parameters.
#[track_caller]
pub(crate) fn answer(server: &mut ScriptedPeer, method: &str, result: Value) -> Value {
    let request = server.expect_request(method);
    server.respond(&request.id, result);
    request.params.map(|params| params.to_value()).unwrap_or_default()
}

/// The same, without the metadata of the revision.
#[track_caller]
pub(crate) fn answer_plain(server: &mut ScriptedPeer, method: &str, result: Value) -> Value {
    let mut params = answer(server, method, result);
    if let Some(params) = params.as_object_mut() {
        params.remove("_meta");
    }
    params
}

/// Asserts that nothing else was sent: a request by hand is the next frame.
#[track_caller]
pub(crate) fn expect_nothing(client: &Client, server: &mut ScriptedPeer) {
    let by_hand = || client.request("x/nothing", &[], &tinymcp::client::CallOptions::default());
    during(by_hand, || drop(answer(server, "x/nothing", json!({})))).expect("answered");
}
