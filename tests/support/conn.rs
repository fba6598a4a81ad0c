//! A raw HTTP/1.1 client over sockets, which says exactly what it is told to say, and reads event streams one event at a time.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use serde_json::Value;

use super::{LONG, Request, Response};

/// How the end of a body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Length(usize),
    /// So much of a chunk is still to come.
    Chunked(usize),
    UntilClose,
    Over,
}

/// A connection, which keeps what was read too much.
pub(crate) struct Conn {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Conn {
    pub(crate) fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("connected");
        stream.set_read_timeout(Some(LONG)).expect("set");
        stream.set_write_timeout(Some(LONG)).expect("set");
        stream.set_nodelay(true).expect("set");
        Self { stream, buffer: Vec::new() }
    }

    #[track_caller]
    pub(crate) fn send(&mut self, request: &Request) {
        self.send_bytes(&request.bytes());
    }

    #[track_caller]
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server reads");
    }

    /// Whether the server still takes what is sent.
    pub(crate) fn try_send_bytes(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Says that nothing more will be sent.
    pub(crate) fn end_input(&self) {
        self.stream.shutdown(Shutdown::Write).expect("open");
    }

    #[track_caller]
    pub(crate) fn ask(&mut self, request: &Request) -> Response {
        self.send(request);
        self.response()
    }

    /// Reads some more. `false`: the server has closed.
    #[track_caller]
    fn fill(&mut self) -> bool {
        let mut chunk = [0; 16 * 1024];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return false,
                Ok(n) => {
                    self.buffer.extend_from_slice(&chunk[..n]);
                    return true;
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
                    return false;
                }
                Err(e) => panic!("{e}, after {}", shown(&self.buffer)),
            }
        }
    }

    /// A line, without its end.
    #[track_caller]
    fn line(&mut self) -> String {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                let line = String::from_utf8(line).expect("UTF-8");
                return line.strip_suffix("\r\n").expect("CRLF").to_owned();
            }
            assert!(self.fill(), "closed after {}", shown(&self.buffer));
        }
    }

    /// The head of the next answer, and how its body ends.
    #[track_caller]
    fn head(&mut self) -> (Response, Framing) {
        let line = self.line();
        let status = line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        let status: u16 = status.unwrap_or_else(|| panic!("no status line: {line}"));
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(':') else {
                assert_eq!(line, "", "a header");
                break;
            };
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let response = Response { status, headers, body: Vec::new() };
        let length = response.header("Content-Length").map(|text| text.parse().expect("a length"));
        let chunked = response.header("Transfer-Encoding").is_some_and(|how| how == "chunked");
        assert!(!(chunked && length.is_some()), "two lengths: {response}");
        let framing = match length {
            Some(length) => Framing::Length(length),
            None if chunked => Framing::Chunked(0),
            None if status == 204 => Framing::Length(0),
            None => Framing::UntilClose,
        };
        (response, framing)
    }

    /// The next part of a body; nothing at its end.
    #[track_caller]
    fn part(&mut self, framing: &mut Framing) -> Vec<u8> {
        let most = match framing {
            Framing::Over | Framing::Length(0) => return Vec::new(),
            Framing::Chunked(0) => {
                let line = self.line();
                let size = usize::from_str_radix(line.trim(), 16).expect("the size of a chunk");
                if size == 0 {
                    assert_eq!(self.line(), "", "no trailers");
                    *framing = Framing::Over;
                    return Vec::new();
                }
                *framing = Framing::Chunked(size);
                size
            }
            Framing::Length(left) | Framing::Chunked(left) => *left,
            Framing::UntilClose => usize::MAX,
        };
        if self.buffer.is_empty() && !self.fill() {
            assert_eq!(*framing, Framing::UntilClose, "closed in the middle of a body");
            *framing = Framing::Over;
            return Vec::new();
        }
        let part: Vec<u8> = self.buffer.drain(..most.min(self.buffer.len())).collect();
        match framing {
            Framing::Length(left) => *left -= part.len(),
            Framing::Chunked(left) => {
                *left -= part.len();
                if *left == 0 {
                    assert_eq!(self.line(), "", "the end of a chunk");
                }
            }
            Framing::UntilClose | Framing::Over => {}
        }
        part
    }

    /// The next answer, with all of its body.
    #[track_caller]
    pub(crate) fn response(&mut self) -> Response {
        let (mut response, mut framing) = self.head();
        loop {
            let part = self.part(&mut framing);
            if part.is_empty() {
                return response;
            }
            response.body.extend(part);
        }
    }

    /// The next answer, which is a stream of events.
    #[track_caller]
    pub(crate) fn events(mut self) -> Events {
        let (mut head, mut framing) = self.head();
        if head.status != 200 || !head.is("text/event-stream") {
            head.body = self.part(&mut framing);
            panic!("no stream: {head}");
        }
        Events { conn: self, framing, head, text: Vec::new() }
    }

    /// The messages of the next answer.
    #[track_caller]
    pub(crate) fn messages(mut self) -> Vec<Value> {
        let (head, mut framing) = self.head();
        if head.is("text/event-stream") {
            return Events { conn: self, framing, head, text: Vec::new() }.rest();
        }
        let mut response = head;
        loop {
            let part = self.part(&mut framing);
            if part.is_empty() {
                return vec![response.json()];
            }
            response.body.extend(part);
        }
    }

    /// Expects to be told that the body may be sent.
    #[track_caller]
    pub(crate) fn expect_continue(&mut self) {
        assert_eq!(self.line(), "HTTP/1.1 100 Continue");
        assert_eq!(self.line(), "");
    }

    /// Expects that the server closes, and says nothing more before.
    #[track_caller]
    pub(crate) fn expect_closed(&mut self) {
        assert!(!self.fill() && self.buffer.is_empty(), "{}", shown(&self.buffer));
    }

    /// Everything up to the end of the connection.
    #[track_caller]
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        while self.fill() {}
        std::mem::take(&mut self.buffer)
    }

    /// Whether `text` comes before the end.
    pub(crate) fn rest_until(&mut self, text: &str) -> bool {
        loop {
            if String::from_utf8_lossy(&self.buffer).contains(text) {
                return true;
            }
            if !self.fill() {
                return false;
            }
        }
    }

    /// The same connection once more, to write to it while it is read from.
    pub(crate) fn another(&self) -> Self {
        Self { stream: self.stream.try_clone().expect("cloned"), buffer: Vec::new() }
    }

    /// Whether something has come, or the end, without waiting for it.
    pub(crate) fn has_news(&self) -> bool {
        self.stream.set_nonblocking(true).expect("set");
        let seen = self.stream.peek(&mut [0; 1]);
        self.stream.set_nonblocking(false).expect("set");
        !self.buffer.is_empty() || seen.is_ok()
    }
}

/// The beginning of what came.
fn shown(bytes: &[u8]) -> String {
    format!("{} bytes: {:?}", bytes.len(), String::from_utf8_lossy(&bytes[..bytes.len().min(1000)]))
}

/// An event as it stands on the stream. A block of comments alone is one without fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) data: Option<String>,
    pub(crate) retry: Option<u64>,
    pub(crate) comments: usize,
}

impl Event {
    /// The message that is its data.
    #[track_caller]
    pub(crate) fn message(&self) -> Value {
        let data = self.data.as_ref().unwrap_or_else(|| panic!("no data: {self:?}"));
        serde_json::from_str(data).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// A stream of events that is open.
pub(crate) struct Events {
    conn: Conn,
    framing: Framing,
    pub(crate) head: Response,
    /// What was read and not given out yet.
    text: Vec<u8>,
}

impl Events {
    /// The next block, comments alone included; `None` at the end of the stream.
    #[track_caller]
    pub(crate) fn block(&mut self) -> Option<Event> {
        let mut event = Event::default();
        loop {
            let line = match self.line() {
                Some(line) => line,
                None if event == Event::default() => return None,
                None => panic!("the stream ends in the middle of {event:?}"),
            };
            if line.is_empty() {
                return Some(event);
            }
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            match field {
                "" => event.comments += 1,
                "id" => event.id = Some(value),
                "event" => event.event = Some(value),
                "retry" => event.retry = Some(value.parse().expect("milliseconds")),
                "data" => {
                    let data = event.data.get_or_insert_default();
                    if !data.is_empty() {
                        data.push('\n');
                    }
                    data.push_str(&value);
                }
                _ => panic!("an unknown field: {line}"),
            }
        }
    }

    /// The next event, comments apart; `None` at the end of the stream.
    #[track_caller]
    pub(crate) fn event(&mut self) -> Option<Event> {
        loop {
            match self.block() {
                Some(event) if event == (Event { comments: event.comments, ..Event::default() }) => {}
                other => return other,
            }
        }
    }

    /// The next event that is a message.
    #[track_caller]
    pub(crate) fn message(&mut self) -> Value {
        loop {
            let event = self.event().expect("a message before the end of the stream");
            if event.data.as_ref().is_some_and(|data| !data.is_empty()) {
                return event.message();
            }
        }
    }

    /// The next message, which is a notification of this method: its parameters.
    #[track_caller]
    pub(crate) fn notice(&mut self, method: &str) -> Value {
        let mut message = self.message();
        assert_eq!(message["method"], method, "{message}");
        assert!(message.get("id").is_none(), "{message}");
        message["params"].take()
    }

    /// The next message, which is a request of this method: its id and its parameters.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str) -> (Value, Value) {
        let mut message = self.message();
        assert_eq!(message["method"], method, "{message}");
        assert!(message["id"].is_i64() || message["id"].is_string(), "{message}");
        (message["id"].take(), message["params"].take())
    }

    /// The answer to `id`, which is the last message, and the end of the stream.
    #[track_caller]
    pub(crate) fn last(&mut self, id: impl Into<Value>) -> Value {
        let message = self.message();
        assert_eq!(message["id"], id.into(), "{message}");
        assert!(message.get("method").is_none(), "{message}");
        self.expect_end();
        message
    }

    /// The messages up to the end of the stream.
    #[track_caller]
    pub(crate) fn rest(&mut self) -> Vec<Value> {
        let mut messages = Vec::new();
        while let Some(event) = self.event() {
            if event.data.as_ref().is_some_and(|data| !data.is_empty()) {
                messages.push(event.message());
            }
        }
        messages
    }

    /// Expects the end of the stream, and no message before it.
    #[track_caller]
    pub(crate) fn expect_end(&mut self) {
        assert_eq!(self.rest(), Vec::<Value>::new());
    }

    /// The connection of a stream that has ended.
    #[track_caller]
    pub(crate) fn into_conn(mut self) -> Conn {
        self.expect_end();
        self.conn
    }

    /// Whether something has come, or the end, without waiting for it.
    pub(crate) fn has_news(&self) -> bool {
        !self.text.is_empty() || self.conn.has_news()
    }

    #[track_caller]
    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=end).collect();
                let line = String::from_utf8(line).expect("UTF-8");
                return Some(line.trim_end_matches(['\r', '\n']).to_owned());
            }
            let part = self.conn.part(&mut self.framing);
            if part.is_empty() {
                assert!(self.text.is_empty(), "{}", shown(&self.text));
                return None;
            }
            self.text.extend(part);
        }
    }
}
