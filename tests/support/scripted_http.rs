//! An HTTP server that follows a script: it takes requests apart, hands them to the test, and says what the test tells it to.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

/// Long enough for a loaded machine; a test that waits this long has failed.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// Listens on a free port of this machine, and serves any number of connections, each on a thread.
pub(crate) struct ScriptedHttp {
    address: SocketAddr,
    arrived: Receiver<Arrived>,
    connections: Arc<AtomicUsize>,
    is_over: Arc<Mutex<bool>>,
    acceptor: Option<JoinHandle<()>>,
}

impl ScriptedHttp {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let (arrive, arrived) = channel();
        let connections = Arc::new(AtomicUsize::new(0));
        let is_over = Arc::new(Mutex::new(false));
        let (count, over) = (Arc::clone(&connections), Arc::clone(&is_over));
        let acceptor = thread::spawn(move || {
            for socket in listener.incoming() {
                if *over.lock().expect("no panic") {
                    return;
                }
                let Ok(socket) = socket else { continue };
                let number = count.fetch_add(1, Ordering::SeqCst);
                let arrive = arrive.clone();
                thread::spawn(move || serve(&socket, number, &arrive));
            }
        });
        Self { address, arrived, connections, is_over, acceptor: Some(acceptor) }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections have been made.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The next request, in the order in which they came.
    #[track_caller]
    pub(crate) fn next(&self) -> Arrived {
        self.arrived.recv_timeout(LONG).expect("a request")
    }

    /// The next request, which is a POST of this method, or of a response if it is empty.
    #[track_caller]
    pub(crate) fn expect(&self, method: &str) -> Arrived {
        let arrived = self.next();
        assert_eq!(arrived.verb, "POST", "{arrived:?}");
        assert_eq!(arrived.json()["method"].as_str().unwrap_or_default(), method, "{arrived:?}");
        arrived
    }

    /// The next request, which is a GET or a DELETE.
    #[track_caller]
    pub(crate) fn expect_verb(&self, verb: &str) -> Arrived {
        let arrived = self.next();
        assert_eq!(arrived.verb, verb, "{arrived:?}");
        arrived
    }

    /// A request that is here already.
    pub(crate) fn try_next(&self) -> Option<Arrived> {
        self.arrived.try_recv().ok()
    }

    /// Waits for a request at most so long.
    pub(crate) fn next_within(&self, time: Duration) -> Option<Arrived> {
        self.arrived.recv_timeout(time).ok()
    }
}

impl Drop for ScriptedHttp {
    fn drop(&mut self) {
        *self.is_over.lock().expect("no panic") = true;
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

/// Reads requests until the connection ends or the test ends it.
fn serve(socket: &TcpStream, connection: usize, arrive: &Sender<Arrived>) {
    let mut reader = BufReader::new(socket.try_clone().expect("a handle"));
    while let Some(mut arrived) = read_request(&mut reader, socket) {
        let (go_on, done) = channel();
        arrived.connection = connection;
        arrived.go_on = Some(go_on);
        if arrive.send(arrived).is_err() || done.recv().is_err() {
            break;
        }
    }
    let _ = socket.shutdown(Shutdown::Both);
}

fn read_request(reader: &mut BufReader<TcpStream>, socket: &TcpStream) -> Option<Arrived> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (verb, path) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, value)| value.parse().expect("a length"));
    assert!(headers.iter().all(|(name, _)| name != "transfer-encoding"), "the body has a length");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).expect("UTF-8");
    let socket = socket.try_clone().expect("a handle");
    Some(Arrived { verb, path, headers, body, connection: 0, socket, go_on: None })
}

/// A request that waits for what the test says to it. Dropped without a word, its connection is closed.
pub(crate) struct Arrived {
    pub(crate) verb: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// Which connection it came on, counted from 0.
    pub(crate) connection: usize,
    socket: TcpStream,
    go_on: Option<Sender<()>>,
}

impl std::fmt::Debug for Arrived {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {:?} {}", self.verb, self.path, self.headers, self.body)
    }
}

impl Arrived {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    pub(crate) fn id(&self) -> Value {
        self.json()["id"].clone()
    }

    /// Says exactly this, and goes on reading.
    pub(crate) fn say(mut self, bytes: &[u8]) {
        // Whether anybody listens is the test's to see.
        let _ = self.socket.write_all(bytes);
        if let Some(go_on) = self.go_on.take() {
            let _ = go_on.send(());
        }
    }

    /// Says this in so many bytes at a time, each written by itself, and goes on reading.
    pub(crate) fn say_in_pieces(mut self, bytes: &[u8], size: usize) {
        self.socket.set_nodelay(true).expect("a socket");
        for piece in bytes.chunks(size) {
            let _ = self.socket.write_all(piece);
        }
        if let Some(go_on) = self.go_on.take() {
            let _ = go_on.send(());
        }
    }

    /// Says exactly this, and closes the connection.
    pub(crate) fn say_and_close(mut self, bytes: &[u8]) {
        let _ = self.socket.write_all(bytes);
    }

    pub(crate) fn reply(self, status: &str, headers: &[(&str, &str)], body: &str) {
        self.say(
            head(status, headers, Some(body.len()))
                .into_bytes()
                .into_iter()
                .chain(body.bytes())
                .collect::<Vec<_>>()
                .as_slice(),
        );
    }

    pub(crate) fn reply_json(self, status: &str, headers: &[(&str, &str)], body: &Value) {
        let mut all = vec![("content-type", "application/json")];
        all.extend_from_slice(headers);
        self.reply(status, &all, &body.to_string());
    }

    /// The answer of a request, as JSON.
    pub(crate) fn result(self, result: Value) {
        let answer = json!({"jsonrpc": "2.0", "id": self.id(), "result": result});
        self.reply_json("200 OK", &[], &answer);
    }

    pub(crate) fn error(self, status: &str, code: i64, message: &str) {
        let answer = json!({"jsonrpc": "2.0", "id": self.id(), "error": {"code": code, "message": message}});
        self.reply_json(status, &[], &answer);
    }

    pub(crate) fn accepted(self) {
        self.reply("202 Accepted", &[], "");
    }

    /// Opens a stream of events.
    pub(crate) fn stream(mut self, headers: &[(&str, &str)]) -> EventStream {
        let mut all = vec![("content-type", "text/event-stream"), ("transfer-encoding", "chunked")];
        all.extend_from_slice(headers);
        let _ = self.socket.write_all(head("200 OK", &all, None).as_bytes());
        EventStream {
            id: self.id(),
            socket: self.socket.try_clone().expect("a handle"),
            go_on: self.go_on.take(),
        }
    }

    /// Waits until the client has closed the connection.
    #[track_caller]
    pub(crate) fn expect_closed(&self) {
        expect_closed(&self.socket);
    }
}

fn head(status: &str, headers: &[(&str, &str)], length: Option<usize>) -> String {
    let mut head = format!("HTTP/1.1 {status}\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    if let Some(length) = length {
        head += &format!("content-length: {length}\r\n");
    }
    head + "\r\n"
}

#[track_caller]
fn expect_closed(mut socket: &TcpStream) {
    socket.set_read_timeout(Some(LONG)).expect("a socket");
    match socket.read(&mut [0]) {
        Ok(0) => {}
        Ok(_) => panic!("the client said something else"),
        Err(e) => assert_eq!(e.kind(), std::io::ErrorKind::ConnectionReset, "the client has not closed: {e}"),
    }
}

/// An open stream. Dropped, its connection breaks off.
pub(crate) struct EventStream {
    id: Value,
    socket: TcpStream,
    go_on: Option<Sender<()>>,
}

impl EventStream {
    /// Sends this text as one chunk.
    pub(crate) fn send(&mut self, text: &str) {
        let _ = self.socket.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes());
    }

    pub(crate) fn message(&mut self, message: &Value) {
        self.send(&format!("event: message\ndata: {message}\n\n"));
    }

    /// The answer of the request that opened it.
    pub(crate) fn result(&mut self, result: Value) {
        let answer = json!({"jsonrpc": "2.0", "id": self.id, "result": result});
        self.message(&answer);
    }

    /// Ends the stream, and goes on reading requests.
    pub(crate) fn end(mut self) {
        let _ = self.socket.write_all(b"0\r\n\r\n");
        if let Some(go_on) = self.go_on.take() {
            let _ = go_on.send(());
        }
    }

    /// Waits until the client has closed the connection.
    #[track_caller]
    pub(crate) fn expect_closed(&self) {
        expect_closed(&self.socket);
    }
}
