//! The lines of scripted servers that tell of changes.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tinymcp::Client;
use tinymcp::client::{Changes, ClientBuilder, Filter, Timeouts};
use tinymcp::json::Json;
use tinymcp::testing::ScriptedPeer;
use tinymcp::transport::{Connection, MemoryTransport, OpenOptions, Transport};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A client that waits so long for answers, and hardly before it opens a stream again.
pub(crate) fn quick(call: Duration) -> ClientBuilder {
    Client::builder().timeouts(Timeouts::default().with_call(call).with_reopen(Duration::from_millis(2)))
}

/// Answers the probe of a client: 2026-07-28, with a server that tells of tools, prompts and single resources.
pub(crate) fn greet_modern(server: &mut ScriptedPeer) {
    let discover = server.expect_request("server/discover");
    let capabilities = json!({
        "tools": {"listChanged": true}, "prompts": {"listChanged": true}, "resources": {"subscribe": true},
    });
    let result =
        json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities});
    server.respond(&discover.id, result);
}

/// Answers the handshake of a client: 2025-11-25, with a server of these capabilities.
pub(crate) fn greet_legacy(server: &mut ScriptedPeer, capabilities: Value) {
    let initialize = server.expect_request("initialize");
    let info = json!({"name": "scripted", "version": "0"});
    let result = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info});
    server.respond(&initialize.id, result);
    server.expect_notification("notifications/initialized");
}

/// A client that has settled on 2026-07-28.
pub(crate) fn modern(builder: ClientBuilder) -> (Client, ScriptedPeer) {
    let (client, mut server) = ScriptedPeer::for_client(builder).expect("starts");
    let handle = client.handle();
    let settling = thread::spawn(move || handle.initialize().map(drop));
    greet_modern(&mut server);
    settling.join().expect("no panic").expect("settles");
    (client, server)
}

/// A client that has settled on 2025-11-25.
pub(crate) fn legacy(builder: ClientBuilder, capabilities: Value) -> (Client, ScriptedPeer) {
    let builder = builder.versions([tinymcp::ProtocolVersion::V2025_11_25]);
    let (client, mut server) = ScriptedPeer::for_client(builder).expect("starts");
    let handle = client.handle();
    let settling = thread::spawn(move || handle.initialize().map(drop));
    greet_legacy(&mut server, capabilities);
    settling.join().expect("no panic").expect("settles");
    (client, server)
}

/// Leads to one scripted server after the other.
#[derive(Clone)]
pub(crate) struct Again(Arc<Mutex<VecDeque<MemoryTransport>>>);

impl Again {
    pub(crate) fn of(servers: usize) -> (Self, Vec<ScriptedPeer>) {
        let (peers, transports): (Vec<_>, VecDeque<_>) = (0..servers).map(|_| ScriptedPeer::new()).unzip();
        (Self(Arc::new(Mutex::new(transports))), peers)
    }
}

impl Transport for Again {
    fn open(self: Box<Self>, options: &OpenOptions) -> io::Result<Connection> {
        let next = self.0.lock().expect("not poisoned").pop_front();
        Box::new(next.ok_or_else(|| io::Error::other("there are no more servers"))?).open(options)
    }

    fn again(&self) -> Option<Box<dyn Transport>> {
        Some(Box::new(self.clone()))
    }
}

/// What the client listens to, all of which the server acknowledges; and the id of the stream.
#[track_caller]
pub(crate) fn listening(client: &Client, server: &mut ScriptedPeer, filter: Filter) -> (Changes, Value) {
    let handle = client.handle();
    let asking = thread::spawn(move || handle.listen(filter));
    let listen = server.expect_request("subscriptions/listen");
    let id = json!(listen.id);
    acknowledge(server, &id, answered(listen.params)["notifications"].clone());
    (asking.join().expect("no panic").expect("acknowledged"), id)
}

pub(crate) fn acknowledge(server: &mut ScriptedPeer, id: &Value, honoured: Value) {
    let params = json!({"_meta": {SUBSCRIPTION: id}, "notifications": honoured});
    server.notify("notifications/subscriptions/acknowledged", params);
}

pub(crate) fn notice(server: &mut ScriptedPeer, method: &str, id: &Value, uri: Option<&str>) {
    let mut params = json!({"_meta": {SUBSCRIPTION: id}});
    if let Some(uri) = uri {
        params["uri"] = json!(uri);
    }
    server.notify(method, params);
}

pub(crate) fn changed(server: &mut ScriptedPeer, method: &str, id: &Value) {
    notice(server, method, id, None);
}

pub(crate) fn updated(server: &mut ScriptedPeer, id: &Value, uri: &str) {
    notice(server, "notifications/resources/updated", id, Some(uri));
}

/// Parameters as a value.
pub(crate) fn answered(params: Option<Json>) -> Value {
    params.map_or(Value::Null, |params| serde_json::from_str(params.as_str()).expect("JSON"))
}
