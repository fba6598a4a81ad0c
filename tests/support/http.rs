//! A server behind a socket, and what is said to it and heard from it.

#![allow(dead_code, reason = "each test binary uses a part of it")]

#[path = "conn.rs"]
mod conn;

use crossbeam_channel::{Receiver, bounded};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

pub(crate) use conn::{Conn, Events};
use serde_json::Value;
use tinymcp::Server;
use tinymcp::http::{HttpServer, HttpServerBuilder};

/// Long enough for a loaded machine; a test that waits this long has failed.
pub(crate) const LONG: Duration = Duration::from_secs(10);

/// A server that is being served, until the end of this value.
pub(crate) struct Hosted {
    pub(crate) server: Server,
    pub(crate) address: SocketAddr,
    pub(crate) url: String,
    over: Option<Receiver<tinymcp::Result<()>>>,
}

impl Hosted {
    pub(crate) fn new(server: &Server) -> Self {
        Self::with(server, |builder| builder)
    }

    pub(crate) fn with(server: &Server, change: impl FnOnce(HttpServerBuilder) -> HttpServerBuilder) -> Self {
        Self::bound(server, "127.0.0.1:0", change)
    }

    pub(crate) fn bound(
        server: &Server,
        address: &str,
        change: impl FnOnce(HttpServerBuilder) -> HttpServerBuilder,
    ) -> Self {
        let http = change(HttpServer::builder(server)).bind(address).expect("bound");
        let (address, url) = (http.address(), http.url());
        let (tell, over) = bounded(1);
        std::thread::spawn(move || tell.send(http.serve()));
        Self { server: server.clone(), address, url, over: Some(over) }
    }

    pub(crate) fn connect(&self) -> Conn {
        Conn::to(self.address)
    }

    /// Sends a request over a connection of its own and reads its answer.
    #[track_caller]
    pub(crate) fn ask(&self, request: &Request) -> Response {
        self.connect().ask(request)
    }

    /// Sends a request over a connection of its own, whose answer is a stream of events.
    #[track_caller]
    pub(crate) fn open(&self, request: &Request) -> Events {
        let mut conn = self.connect();
        conn.send(request);
        conn.events()
    }

    /// Sends a request and reads its messages, whether they come as one or as a stream: the last one is the answer.
    #[track_caller]
    pub(crate) fn messages(&self, request: &Request) -> Vec<Value> {
        let mut conn = self.connect();
        conn.send(request);
        conn.messages()
    }

    /// Stops the server and waits for its end.
    #[track_caller]
    pub(crate) fn stop(mut self) -> Duration {
        let start = Instant::now();
        self.server.handle().stop();
        self.wait();
        start.elapsed()
    }

    /// Stops the server, whose end is waited for later.
    pub(crate) fn stop_later(self) -> Stopping {
        self.server.handle().stop();
        Stopping(self)
    }

    /// Waits for the end of a server that was stopped.
    #[track_caller]
    pub(crate) fn wait(&mut self) {
        let over = self.over.take().expect("waited for once");
        over.recv_timeout(LONG).expect("the server ends").expect("served");
    }
}

/// A server that is ending.
pub(crate) struct Stopping(Hosted);

impl Stopping {
    #[track_caller]
    pub(crate) fn join(mut self) {
        self.0.wait();
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        let Some(over) = self.over.take() else { return };
        self.server.handle().stop();
        let ended = over.recv_timeout(LONG);
        if !std::thread::panicking() {
            ended.expect("the server ends").expect("served");
        }
    }
}

/// A request to be, with what every one needs unless it is taken away.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(method: &str, target: &str) -> Self {
        let (method, target) = (method.to_owned(), target.to_owned());
        Self { method, target, headers: Vec::new(), body: Vec::new() }.with("Host", "localhost")
    }

    /// A POST of a message to the endpoint.
    pub(crate) fn post(body: &Value) -> Self {
        let mut request = Self::new("POST", "/mcp")
            .with("Content-Type", "application/json")
            .with("Accept", "application/json, text/event-stream");
        request.body = body.to_string().into_bytes();
        request
    }

    pub(crate) fn get() -> Self {
        Self::new("GET", "/mcp").with("Accept", "text/event-stream")
    }

    /// Adds a header, beside others of its name.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// Replaces a header.
    pub(crate) fn set(self, name: &str, value: &str) -> Self {
        self.without(name).with(name, value)
    }

    pub(crate) fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn at(mut self, target: &str) -> Self {
        target.clone_into(&mut self.target);
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// The bytes up to the body.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        let has = |name: &str| self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if self.method == "POST" && !has("Content-Length") && !has("Transfer-Encoding") {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        head.push_str("\r\n");
        head.into_bytes()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        [self.head(), self.body.clone()].concat()
    }
}

/// An answer. Of a stream it is the head alone.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// The one value of a header.
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "{name} came twice: {self}");
        value
    }

    #[track_caller]
    pub(crate) fn is(&self, kind: &str) -> bool {
        self.header("Content-Type").is_some_and(|value| value.split(';').next() == Some(kind))
    }

    /// The message that is the body.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert!(self.is("application/json"), "{self}");
        let message: Value = serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {self}"));
        assert!(message.is_array() || message["jsonrpc"] == "2.0", "{message}");
        message
    }

    /// The result of a request that was served.
    #[track_caller]
    pub(crate) fn result(&self) -> Value {
        assert_eq!(self.status, 200, "{self}");
        let mut message = self.json();
        assert!(message["result"].is_object(), "{message}");
        message["result"].take()
    }

    /// The status and the code of an error.
    #[track_caller]
    pub(crate) fn error(&self) -> (u16, i64) {
        let message = self.json();
        assert!(message["error"]["message"].is_string(), "{message}");
        (self.status, message["error"]["code"].as_i64().expect("a code"))
    }

    /// The text of a tool's result.
    #[track_caller]
    pub(crate) fn text(&self) -> String {
        text(&self.result())
    }

    /// Expects the answer to what needs none.
    #[track_caller]
    pub(crate) fn expect_accepted(&self) {
        assert_eq!((self.status, self.body.len()), (202, 0), "{self}");
    }
}

impl std::fmt::Display for Response {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let body = &self.body[..self.body.len().min(500)];
        write!(f, "{} {:?} {}", self.status, self.headers, String::from_utf8_lossy(body))
    }
}

/// The text of a tool's result.
#[track_caller]
pub(crate) fn text(result: &Value) -> String {
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {result}")).to_owned()
}
