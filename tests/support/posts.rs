//! A client of HTTP that sends what it is told, byte for byte, and shows the messages of answers as they came.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::http::{Conn, Events, Request, Response};

/// Whom a message is for, and in which words.
#[derive(Clone)]
pub(crate) struct Poster {
    address: SocketAddr,
    headers: Vec<(String, String)>,
}

/// An answer, read as far as was asked for.
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: Response,
    events: Option<Events>,
}

impl Poster {
    /// One that names no session.
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, headers: Vec::new() }
    }

    /// A Legacy client of this revision, after its handshake.
    pub(crate) fn legacy(address: SocketAddr, version: &str) -> Self {
        Self::try_legacy(address, version).expect("a session")
    }

    /// `None`: there is no room for it.
    pub(crate) fn try_legacy(address: SocketAddr, version: &str) -> Option<Self> {
        let mut client = Self::new(address);
        let answer = client.initialize(version);
        if answer.status == 503 {
            return None;
        }
        assert_eq!(answer.status, 200);
        client
            .headers
            .push(("Mcp-Session-Id".into(), answer.header("mcp-session-id").expect("a session").into()));
        answer.only();
        let told = client.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert_eq!(told.status, 202);
        Some(client)
    }

    pub(crate) fn initialize(&self, version: &str) -> Answer {
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
        self.post(
            &json!({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": params}).to_string(),
        )
    }

    /// The same with one more header.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut with = self.clone();
        with.headers.push((name.into(), value.into()));
        with
    }

    pub(crate) fn post(&self, body: &str) -> Answer {
        self.send("POST", "/mcp", body)
    }

    pub(crate) fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut request = Request::new(method, path)
            .with("Content-Type", "application/json")
            .with("Accept", "application/json, text/event-stream")
            .with_body(body);
        request.headers.extend(self.headers.iter().cloned());
        let mut conn = Conn::to(self.address);
        conn.send(&request);
        match conn.answer() {
            Ok(events) => {
                Answer { status: events.head.status, head: events.head.clone(), events: Some(events) }
            }
            Err(head) => Answer { status: head.status, head, events: None },
        }
    }

    /// A Modern request, with all that it needs to say; `params` begin with their brace.
    pub(crate) fn modern(&self, id: &str, method: &str, params: &str) -> Answer {
        self.modern_with(id, method, params, "")
    }

    /// The same with further members of `_meta`.
    pub(crate) fn modern_with(&self, id: &str, method: &str, params: &str, meta: &str) -> Answer {
        let inner = params.trim_start_matches('{').trim_end_matches('}');
        let (comma, meta_comma) =
            (if inner.is_empty() { "" } else { "," }, if meta.is_empty() { "" } else { "," });
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"c","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{{}}{meta_comma}{meta}}}{comma}{inner}}}}}"#
        );
        self.of_modern(method).post(&body)
    }

    /// The headers of a Modern message.
    pub(crate) fn of_modern(&self, method: &str) -> Self {
        self.with("MCP-Protocol-Version", "2026-07-28").with("Mcp-Method", method)
    }

    /// A Legacy request without further parameters.
    pub(crate) fn call(&self, id: &str, method: &str) -> Answer {
        self.post(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#))
    }

    /// Opens the stream of a session.
    pub(crate) fn listen(&self) -> Answer {
        let answer = self.send("GET", "/mcp", "");
        assert_eq!(answer.status, 200);
        answer
    }

    pub(crate) fn delete(&self) -> u16 {
        self.send("DELETE", "/mcp", "").status
    }

    /// What the server has heard so far.
    pub(crate) fn heard(&self) -> Vec<Value> {
        let answer = self.call("\"heard\"", "heard").only();
        serde_json::from_str::<Value>(&answer.replace("1e400", "0")).expect("JSON")["result"]
            .as_array()
            .expect("an array")
            .clone()
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.header(name)
    }

    /// The next message; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<String> {
        let Some(events) = &mut self.events else {
            let body = String::from_utf8(std::mem::take(&mut self.head.body)).expect("text");
            return Some(body).filter(|body| !body.is_empty());
        };
        loop {
            match events.event()?.data {
                Some(message) if !message.is_empty() => return Some(message),
                _ => {}
            }
        }
    }

    pub(crate) fn rest(mut self) -> Vec<String> {
        std::iter::from_fn(|| self.next()).collect()
    }

    /// The one message.
    pub(crate) fn only(self) -> String {
        let mut messages = self.rest();
        assert_eq!(messages.len(), 1, "{messages:?}");
        messages.remove(0)
    }

    /// The one message as a value, in which `1e400` is 0.
    pub(crate) fn value(self) -> Value {
        let text = self.only();
        serde_json::from_str(&text.replace("1e400", "0")).unwrap_or_else(|e| panic!("{text}: {e}"))
    }
}
