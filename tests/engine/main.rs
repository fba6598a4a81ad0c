//! The rules of the engine, each shown through the public doors: a scripted client against a real server, and a scripted
//! server against a real client.
//!
//! Order on the wire stands in for waiting: a `ping` sent after something is answered after whatever that did.

mod client;
mod client_limits;
mod eras;
mod probe;
mod server;
mod server_limits;
mod settling;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use serde_json::{Value, json};
use tinymcp::testing::ScriptedPeer;
use tinymcp::{Context, FnTool, Server, ToolRegistry};

/// Longer than any of these tests takes.
pub(crate) const LONG: std::time::Duration = std::time::Duration::from_secs(20);

/// The parameters of a Modern request.
pub(crate) fn modern(mut params: Value) -> Value {
    let meta = params["_meta"].take();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    for (name, value) in meta.as_object().into_iter().flatten() {
        params["_meta"][name] = value.clone();
    }
    params
}

/// Plays the client's part of the handshake.
#[track_caller]
pub(crate) fn initialize(client: &mut ScriptedPeer, version: &str) -> Value {
    let params = json!({
        "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "scripted", "version": "0"}
    });
    client.request("init", "initialize", params);
    let result = client.expect_result("init").to_value();
    client.notify("notifications/initialized", json!({}));
    result
}

/// Plays the server's part of the handshake, from the Modern probe on if `probes`.
#[track_caller]
pub(crate) fn answer_handshake(server: &mut ScriptedPeer, version: &str, probes: bool) {
    if probes {
        let probe = server.expect_request("server/discover");
        server.respond_error(&probe.id, tinymcp::ErrorObject::new(-32601, "unknown method"));
    }
    let request = server.expect_request("initialize");
    server.respond(
        &request.id,
        json!({
            "protocolVersion": version, "capabilities": {"tools": {}},
            "serverInfo": {"name": "scripted", "version": "0"}
        }),
    );
    server.expect_notification("notifications/initialized");
}

/// Plays a Modern server's answer to the probe.
#[track_caller]
pub(crate) fn answer_probe(server: &mut ScriptedPeer) {
    let probe = server.expect_request("server/discover");
    server.respond(&probe.id, discovered(&["2026-07-28"]));
}

pub(crate) fn discovered(versions: &[&str]) -> Value {
    json!({
        "supportedVersions": versions, "capabilities": {"tools": {}}, "resultType": "complete",
        "ttlMs": 0, "cacheScope": "private"
    })
}

/// A tool's result in text.
pub(crate) fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// Asserts that nothing came of what was sent before: the answer to a Legacy ping is the next frame.
#[track_caller]
pub(crate) fn expect_nothing(client: &mut ScriptedPeer) {
    client.send_raw(r#"{"jsonrpc":"2.0","id":"nothing?","method":"ping"}"#);
    assert_eq!(client.expect_frame(), r#"{"jsonrpc":"2.0","id":"nothing?","result":{}}"#);
}

/// The test's side of the tool `hold`, which tells that it runs and waits to be released or cancelled.
pub(crate) struct Gate {
    pub(crate) entered: Receiver<Context>,
    pub(crate) release: Sender<()>,
}

impl Gate {
    #[track_caller]
    pub(crate) fn entered(&self) -> Context {
        self.entered.recv_timeout(LONG).expect("a call arrives at the gate")
    }

    #[track_caller]
    pub(crate) fn release(&self) {
        self.release.send_timeout((), LONG).expect("a call waits at the gate");
    }
}

/// `hold`, and with it `echo`, `steps` (which reports progress 1, 2, 2, 1, 3) and `panics`.
pub(crate) fn tools() -> (ToolRegistry, Gate) {
    let (entered_tx, entered) = unbounded();
    let (release, released) = bounded::<()>(0);
    let hold = FnTool::new("hold", "Waits", json!({"type": "object"}), move |_, cx| {
        entered_tx.send(cx.clone()).expect("the test lives");
        // Not cancelled by its token, so that the answer races with the cancellation.
        let _ = released.recv_timeout(LONG);
        "released"
    });
    let echo = FnTool::new("echo", "Echoes", json!({"type": "object"}), |args, _| args.as_str().to_owned());
    let steps = FnTool::new("steps", "Reports progress", json!({"type": "object"}), |_, cx| {
        for done in [1.0, 2.0, 2.0, 1.0, 3.0] {
            cx.progress(done, 3.0, "step");
        }
        "done"
    });
    let panics = FnTool::new("panics", "Panics", json!({"type": "object"}), |_, _| -> String {
        panic!("the panic of a test")
    });
    let tools = ToolRegistry::new();
    for tool in [hold, echo, steps, panics] {
        tools.register(tool).expect("a good tool");
    }
    (tools, Gate { entered, release })
}

/// A server of these tools, and a scripted client of it that has said nothing yet.
pub(crate) fn server() -> (ScriptedPeer, Gate, Server) {
    let (tools, gate) = tools();
    let server = Server::builder("engine", "1").tools(tools).build().expect("a server");
    (ScriptedPeer::for_server(&server).with_deadline(LONG), gate, server)
}
