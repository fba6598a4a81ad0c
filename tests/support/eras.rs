//! Requests as Modern and Legacy clients make them over HTTP.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::{Value, json};

use crate::http::{Events, Hosted, Request, Response};

pub(crate) const MODERN: &str = "2026-07-28";
/// The revisions with a handshake over Streamable HTTP, the newest first. What is new in one is not in the later ones.
pub(crate) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

pub(crate) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const INFO: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub(crate) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

pub(crate) fn message(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

pub(crate) fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// The methods whose requests are named by what they are about.
const NAMED: [&str; 6] =
    ["tools/call", "prompts/get", "resources/read", "tasks/get", "tasks/update", "tasks/cancel"];

/// A Modern request with all that it needs, unless `params` say it already.
pub(crate) fn modern(id: impl Into<Value>, method: &str, mut params: Value) -> Request {
    let able = json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}});
    let meta = params.as_object_mut().expect("an object").entry("_meta").or_insert(json!({}));
    if let Some(meta) = meta.as_object_mut() {
        meta.entry(VERSION).or_insert(json!(MODERN));
        meta.entry(CAPABILITIES).or_insert(able);
        meta.entry(INFO).or_insert(json!({"name": "raw", "version": "1"}));
    }
    let named = ["name", "uri", "taskId"].iter().find_map(|member| params.get(member)?.as_str());
    let name = named.map(str::to_owned);
    let request = Request::post(&message(id, method, params))
        .with("MCP-Protocol-Version", MODERN)
        .with("Mcp-Method", method);
    match name {
        Some(name) if NAMED.contains(&method) => request.with("Mcp-Name", &name),
        _ => request,
    }
}

/// A Modern request whose body lacks a member of `_meta`, or its `_meta` as a whole.
pub(crate) fn modern_lacking(id: i64, method: &str, params: Value, member: Option<&str>) -> Request {
    let request = modern(id, method, params);
    let mut body = request.json();
    match member {
        Some(member) => drop(body["params"]["_meta"].as_object_mut().expect("there").remove(member)),
        None => drop(body["params"].as_object_mut().expect("there").remove("_meta")),
    }
    request.with_body(body.to_string())
}

/// A Modern call of a tool.
pub(crate) fn call(id: impl Into<Value>, tool: &str, arguments: Value) -> Request {
    modern(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

/// A session of a Legacy client.
pub(crate) struct Legacy<'a> {
    pub(crate) hosted: &'a Hosted,
    pub(crate) version: &'static str,
    pub(crate) id: String,
    /// What the server says of itself.
    pub(crate) hello: Value,
    /// What every request carries besides.
    headers: Vec<(&'static str, &'static str)>,
    last_id: AtomicI64,
}

pub(crate) fn initialize(version: &str, capabilities: Value) -> Request {
    let client = json!({"name": "raw", "version": "1"});
    let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": client});
    Request::post(&message(0, "initialize", params))
}

impl<'a> Legacy<'a> {
    pub(crate) fn new(hosted: &'a Hosted) -> Self {
        Self::open(hosted, "2025-11-25")
    }

    #[track_caller]
    pub(crate) fn open(hosted: &'a Hosted, version: &'static str) -> Self {
        Self::open_with(hosted, version, Vec::new())
    }

    /// One whose requests have further headers.
    #[track_caller]
    pub(crate) fn open_with(
        hosted: &'a Hosted,
        version: &'static str,
        headers: Vec<(&'static str, &'static str)>,
    ) -> Self {
        let able = json!({"elicitation": {}, "sampling": {}, "roots": {"listChanged": true}});
        let hello = initialize(version, able);
        let hello = headers.iter().fold(hello, |hello, (name, value)| hello.with(name, value));
        let hello = hosted.ask(&hello);
        let id = hello.header("Mcp-Session-Id").expect("a session").to_owned();
        let hello = hello.result();
        assert_eq!(hello["protocolVersion"], version);
        let session = Self { hosted, version, id, hello, headers, last_id: AtomicI64::new(0) };
        session.notify("notifications/initialized", json!({}));
        session
    }

    /// Adds what every request of the session carries.
    pub(crate) fn signed(&self, request: Request) -> Request {
        let signed = request.with("Mcp-Session-Id", &self.id);
        let signed = self.headers.iter().fold(signed, |signed, (name, value)| signed.with(name, value));
        // Earlier revisions know no such header.
        if self.version < "2025-06-18" { signed } else { signed.with("MCP-Protocol-Version", self.version) }
    }

    pub(crate) fn post(&self, body: &Value) -> Request {
        self.signed(Request::post(body))
    }

    pub(crate) fn request(&self, id: impl Into<Value>, method: &str, params: Value) -> Request {
        self.post(&message(id, method, params))
    }

    pub(crate) fn tool(&self, id: impl Into<Value>, tool: &str, arguments: Value) -> Request {
        self.request(id, "tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Sends a request with an id of its own, and returns its answer; notifications before it are passed over.
    #[track_caller]
    pub(crate) fn ask(&self, method: &str, params: Value) -> Value {
        let id = 1_000 + self.last_id.fetch_add(1, Ordering::SeqCst);
        let mut answer = self.hosted.messages(&self.request(id, method, params)).pop().expect("an answer");
        assert_eq!(answer["id"], id, "{answer}");
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].take()
    }

    /// The text of a tool's result.
    #[track_caller]
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> String {
        crate::http::text(&self.ask("tools/call", json!({"name": tool, "arguments": arguments})))
    }

    /// Sends what needs no answer.
    #[track_caller]
    pub(crate) fn tell(&self, body: &Value) {
        self.hosted.ask(&self.post(body)).expect_accepted();
    }

    #[track_caller]
    pub(crate) fn notify(&self, method: &str, params: Value) {
        self.tell(&notification(method, params));
    }

    #[track_caller]
    pub(crate) fn answer(&self, id: &Value, result: Value) {
        self.tell(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    /// Opens the stream for what belongs to no request.
    #[track_caller]
    pub(crate) fn listen(&self) -> Events {
        self.hosted.open(&self.signed(Request::get()))
    }

    /// Comes back for what followed the event `last`.
    pub(crate) fn resume(&self, last: &str) -> Request {
        self.signed(Request::get()).with("Last-Event-ID", last)
    }

    #[track_caller]
    pub(crate) fn delete(&self) -> Response {
        self.hosted.ask(&self.signed(Request::new("DELETE", "/mcp")))
    }
}
