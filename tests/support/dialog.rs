//! A scripted client of any revision, whose server is judged by the official schema in builds that have a validator
//! (feature `validation`).

#![allow(dead_code, reason = "each test binary uses a part of it")]

use serde_json::{Value, json};
use tinymcp::testing::ScriptedPeer;
use tinymcp::{ProtocolVersion, Server};

#[cfg(feature = "validation")]
#[path = "schema.rs"]
mod schema;

/// A conversation with a server, in one revision.
pub(crate) struct Dialog {
    pub(crate) peer: ScriptedPeer,
    pub(crate) version: ProtocolVersion,
    /// What the server says it can do.
    pub(crate) capabilities: Value,
    /// What the client says it can do.
    abilities: Value,
    last_id: i64,
}

/// What came back: the notifications before the answer, and the answer.
pub(crate) struct Came {
    pub(crate) before: Vec<Value>,
    pub(crate) answer: Result<Value, (i64, String)>,
}

impl Came {
    #[track_caller]
    pub(crate) fn result(self) -> Value {
        self.answer.unwrap_or_else(|(code, message)| panic!("{message} ({code})"))
    }

    #[track_caller]
    pub(crate) fn error(self) -> (i64, String) {
        self.answer.expect_err("an error")
    }
}

impl Dialog {
    /// Opens a connection to `server` in `version`.
    pub(crate) fn open(server: &Server, version: &ProtocolVersion) -> Self {
        Self::open_as(server, version, json!({}))
    }

    /// Opens one for a client that says it has `abilities`.
    pub(crate) fn open_as(server: &Server, version: &ProtocolVersion, abilities: Value) -> Self {
        let peer = ScriptedPeer::for_server(server);
        let (version, capabilities) = (version.clone(), Value::Null);
        let mut dialog = Self { peer, version, capabilities, abilities, last_id: 0 };
        let hello = if dialog.version.is_modern() {
            dialog.ask("server/discover", json!({}))
        } else {
            let client = json!({"name": "dialog", "version": "1"});
            let abilities = &dialog.abilities;
            let hello =
                json!({"protocolVersion": dialog.version, "capabilities": abilities, "clientInfo": client});
            let hello = dialog.ask("initialize", hello);
            dialog.peer.notify("notifications/initialized", json!({}));
            hello
        };
        dialog.capabilities = hello.result()["capabilities"].take();
        dialog
    }

    /// Opens a connection to `server` in every revision.
    pub(crate) fn all(server: &Server) -> impl Iterator<Item = Self> {
        ProtocolVersion::ALL.iter().map(|version| Self::open(server, version))
    }

    /// Sends a request and waits for its answer. A Modern one gets its metadata, beside what `params` say.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Came {
        self.send(method, params);
        self.answer(method)
    }

    /// Sends a request.
    #[track_caller]
    pub(crate) fn send(&mut self, method: &str, mut params: Value) {
        if self.version.is_modern() {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!(self.version);
            meta["io.modelcontextprotocol/clientCapabilities"] = self.abilities.clone();
        }
        self.last_id += 1;
        self.peer.request(self.last_id, method, params);
    }

    /// Waits for the answer to the last request, which was one of `method`.
    #[track_caller]
    pub(crate) fn answer(&mut self, method: &str) -> Came {
        let mut before = Vec::new();
        loop {
            let frame = self.next(method);
            if frame.get("method").is_some() {
                before.push(frame);
                continue;
            }
            assert_eq!(frame["id"], self.last_id, "{}: {frame}", self.version);
            let answer = match frame.get("error") {
                Some(error) => {
                    let code = error["code"].as_i64().expect("a code");
                    Err((code, error["message"].as_str().expect("a message").to_owned()))
                }
                None => Ok(frame["result"].clone()),
            };
            return Came { before, answer };
        }
    }

    /// The next frame.
    #[track_caller]
    pub(crate) fn next(&mut self, _method: &str) -> Value {
        let frame: Value = serde_json::from_str(&self.peer.expect_frame()).expect("JSON");
        #[cfg(feature = "validation")]
        schema::check_frame(&self.version, tinymcp::method::Direction::ToClient, &frame, Some(_method));
        frame
    }
}
