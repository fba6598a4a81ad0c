//! A client of HTTP that sends what it is told, byte for byte, and shows the messages of answers as they came.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

/// Long enough for a loaded machine; a test that waits this long has failed.
const LONG: Duration = Duration::from_secs(30);

/// Whom a message is for, and in which words.
#[derive(Clone)]
pub(crate) struct Poster {
    address: SocketAddr,
    headers: Vec<(String, String)>,
}

/// An answer, read as far as was asked for.
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    body: BufReader<Chunks>,
}

impl Poster {
    /// One that names no session.
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, headers: Vec::new() }
    }

    /// A Legacy client of this revision, after its handshake.
    pub(crate) fn legacy(address: SocketAddr, version: &str) -> Self {
        let mut client = Self::new(address);
        let answer = client.initialize(version);
        assert_eq!(answer.status, 200);
        client
            .headers
            .push(("Mcp-Session-Id".into(), answer.header("mcp-session-id").expect("a session").into()));
        answer.only();
        let told = client.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert_eq!(told.status, 202);
        client
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
        let mut socket = TcpStream::connect(self.address).expect("connects");
        socket.set_read_timeout(Some(LONG)).expect("a time-out");
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Accept: application/json, text/event-stream\r\nConnection: close\r\n",
            body.len()
        );
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        socket.write_all(format!("{head}\r\n{body}").as_bytes()).expect("sent");
        Answer::read(socket)
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
    fn read(socket: TcpStream) -> Self {
        let mut socket = BufReader::new(socket);
        let mut line = String::new();
        socket.read_line(&mut line).expect("an answer");
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            socket.read_line(&mut line).expect("a header");
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        let is_chunked =
            headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let body = BufReader::new(Chunks { socket, left: if is_chunked { Some(0) } else { None } });
        Self { status, headers, body }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    fn is_stream(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }

    /// The next message; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<String> {
        if !self.is_stream() {
            let mut body = String::new();
            self.body.read_to_string(&mut body).expect("text");
            return Some(body).filter(|body| !body.is_empty());
        }
        loop {
            let mut line = String::new();
            if self.body.read_line(&mut line).expect("text") == 0 {
                return None;
            }
            match line.trim_end_matches('\n').strip_prefix("data: ") {
                Some(message) if !message.is_empty() => return Some(message.to_owned()),
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

/// The bytes of a body, without what says how long its parts are.
struct Chunks {
    socket: BufReader<TcpStream>,
    /// Of this chunk; `None`: up to the end.
    left: Option<usize>,
}

impl Read for Chunks {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let Some(left) = &mut self.left else { return self.socket.read(buf) };
        if *left == 0 {
            let mut line = String::new();
            self.socket.read_line(&mut line)?;
            if line.trim().is_empty() {
                line.clear();
                self.socket.read_line(&mut line)?;
            }
            *left = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
        }
        let wanted = buf.len().min(*left);
        let read = self.socket.read(&mut buf[..wanted])?;
        *left -= read;
        Ok(read)
    }
}
