//! The wire with real sockets, and a service made of closures.

#[cfg(target_os = "linux")]
mod alone;
mod basics;
mod crowd;
mod slow;
mod stop;
mod streams;
mod strict;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::*;

/// Long enough for anything that is to happen.
const SOON: Duration = Duration::from_secs(20);

fn limits() -> Limits {
    Limits {
        head_bytes: 16 * 1024,
        headers: 100,
        body_bytes: 1024 * 1024,
        receiving_bytes: 16 * 1024 * 1024,
        sending_bytes: 16 * 1024 * 1024,
        head_time: Duration::from_secs(10),
        body_time: Duration::from_secs(30),
        idle_time: Duration::from_secs(60),
        write_time: Duration::from_secs(30),
        keep_alive: Duration::from_secs(15),
        connections: 5000,
        threads: 16,
        waiting: 16,
        stream_bytes: 64 * 1024,
    }
}

type Admit = dyn Fn(&Head) -> Result<String, Response> + Send + Sync;
type Serve = dyn Fn(Request<String>, Reply) + Send + Sync;

/// Admits by `admit`, which by default gives the path, and serves by `serve`.
struct Script {
    admit: Box<Admit>,
    serve: Box<Serve>,
}

impl Service for Script {
    type Admitted = String;

    fn admit(&self, head: &Head) -> Result<String, Response> {
        (self.admit)(head)
    }

    fn serve(&self, request: Request<String>, reply: Reply) {
        (self.serve)(request, reply);
    }

    fn busy(&self, limit: usize) -> Response {
        let mut response = Response::new(503);
        response.body = format!("{limit} wait").into_bytes();
        response
    }
}

/// A wire that runs. Dropped, it stops, and must do so in time.
struct Rig {
    wire: Arc<Wire<Script>>,
    runner: Option<JoinHandle<()>>,
}

impl Rig {
    fn new(limits: Limits, serve: impl Fn(Request<String>, Reply) + Send + Sync + 'static) -> Self {
        Self::admitting(limits, |head| Ok(head.path().to_owned()), serve)
    }

    fn admitting(
        limits: Limits,
        admit: impl Fn(&Head) -> Result<String, Response> + Send + Sync + 'static,
        serve: impl Fn(Request<String>, Reply) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let script = Script { admit: Box::new(admit), serve: Box::new(serve) };
        let wire = Arc::new(Wire::new(listener, limits, Arc::new(script)).expect("handles"));
        let runs = Arc::clone(&wire);
        let runner = Some(std::thread::spawn(move || runs.run().expect("it runs")));
        Self { wire, runner }
    }

    /// Answers with the body.
    fn echo(limits: Limits) -> Self {
        Self::new(limits, echo)
    }

    fn peer(&self) -> Peer {
        let stream = TcpStream::connect(self.wire.address()).expect("it listens");
        stream.set_read_timeout(Some(SOON)).expect("set");
        stream.set_write_timeout(Some(SOON)).expect("set");
        stream.set_nodelay(true).expect("set");
        Peer { stream, read: Vec::new() }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.wire.stop(Duration::ZERO);
        let ended = self.runner.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            ended.expect("once").expect("it ran");
        }
    }
}

fn echo(request: Request<String>, reply: Reply) {
    reply.answer(response(200, request.body));
}

fn response(status: u16, body: impl Into<Vec<u8>>) -> Response {
    let mut response = Response::new(status);
    response.body = body.into();
    response
}

/// Sends to a test that may be over.
fn tell<T>(to: &crossbeam_channel::Sender<T>, what: T) {
    let _ = to.send(what);
}

/// A client, byte by byte.
struct Peer {
    stream: TcpStream,
    read: Vec<u8>,
}

/// What a client reads.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (n, value) = line.split_once(": ")?;
            n.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    #[track_caller]
    fn is(&self, status: u16, body: impl AsRef<[u8]>) {
        let read = (self.status, String::from_utf8_lossy(&self.body));
        assert_eq!(read, (status, String::from_utf8_lossy(body.as_ref())));
    }
}

impl Peer {
    fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.stream.write_all(bytes.as_ref()).expect("sent");
        self
    }

    fn post(&mut self, path: &str, body: impl AsRef<[u8]>) -> &mut Self {
        let body = body.as_ref();
        let head = format!("POST {path} HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n\r\n", body.len());
        self.send([head.as_bytes(), body].concat())
    }

    fn get(&mut self, path: &str) -> &mut Self {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n"))
    }

    /// Reads on; `false` at the end.
    fn fill(&mut self) -> bool {
        let mut room = [0; 64 * 1024];
        match self.stream.read(&mut room) {
            Ok(n) => {
                self.read.extend_from_slice(&room[..n]);
                n > 0
            }
            Err(e) if matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => false,
            Err(e) => panic!("nothing came: {e}; so far {:?}", String::from_utf8_lossy(&self.read)),
        }
    }

    fn until(&mut self, end: &[u8]) -> Vec<u8> {
        loop {
            if let Some(at) = self.read.windows(end.len()).position(|window| window == end) {
                return self.read.drain(..at + end.len()).collect();
            }
            assert!(self.fill(), "closed after {:?}", String::from_utf8_lossy(&self.read));
        }
    }

    fn exactly(&mut self, length: usize) -> Vec<u8> {
        while self.read.len() < length {
            assert!(self.fill(), "closed after {:?}", String::from_utf8_lossy(&self.read));
        }
        self.read.drain(..length).collect()
    }

    /// The head of an answer.
    fn head(&mut self) -> Answer {
        let head = String::from_utf8(self.until(b"\r\n\r\n")).expect("text");
        let status = head.get(9..12).and_then(|status| status.parse().ok()).expect("a status");
        assert!(head.starts_with("HTTP/1.1 "), "{head}");
        Answer { status, head, body: Vec::new() }
    }

    /// An answer with its length.
    fn answer(&mut self) -> Answer {
        let mut answer = self.head();
        let length = answer.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        answer.body = self.exactly(length);
        answer
    }

    /// A chunk; nothing is the last.
    fn chunk(&mut self) -> String {
        let size = String::from_utf8(self.until(b"\r\n")).expect("text");
        let size = usize::from_str_radix(size.trim_end(), 16).expect("a size");
        let mut chunk = self.exactly(size + 2);
        assert_eq!(chunk.split_off(size), b"\r\n");
        String::from_utf8(chunk).expect("text")
    }

    /// What comes until the other side closes.
    fn rest(&mut self) -> String {
        while self.fill() {}
        String::from_utf8_lossy(&std::mem::take(&mut self.read)).into_owned()
    }

    #[track_caller]
    fn is_closed(&mut self) {
        assert_eq!(self.rest(), "");
    }

    fn half_close(&mut self) -> &mut Self {
        self.stream.shutdown(Shutdown::Write).expect("open");
        self
    }
}

/// Waits for what other threads do, which nothing tells of.
#[track_caller]
fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < deadline, "not so in time: {what}");
        std::thread::yield_now();
    }
}
