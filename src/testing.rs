//! For your own tests: a client and a server in one process, and a peer that follows a script.
//!
//! [`pair`] is for tests of tools and of code that calls them: everything is real but the pipe. [`ScriptedPeer`] is for
//! tests of what must happen when the other side misbehaves: it sends what it is told and expects what it is told,
//! each within a deadline, and panics with the whole conversation if that does not come.
//!
//! Nothing here starts a process, opens a socket or sleeps.
//!
//! **Invariant:** uses the public doors of client and server only.

use std::fmt;
use std::ops::Deref;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use crate::client::{Client, ClientBuilder};
use crate::error::Result;
use crate::json::Json;
use crate::jsonrpc::{ErrorObject, Message, Notification, Request, RequestId};
use crate::peer::CloseReport;
use crate::server::Server;
use crate::transport::{MemoryTransport, memory_pair};

/// How long a [`ScriptedPeer`] waits by default.
const DEADLINE: Duration = Duration::from_secs(5);

/// A client of `server`, which runs on a thread until the client closes.
///
/// ```
/// use serde_json::json;
/// use tinymcp::{Server, ToolRegistry, testing, tool};
///
/// let tools = ToolRegistry::new().with(tool! {
///     /// Add two numbers
///     fn add(a: i64, b: i64) -> i64 { a + b }
/// })?;
/// let server = Server::builder("calculator", "1.0.0").tools(tools).build()?;
///
/// let client = testing::pair(&server)?;
/// assert_eq!(client.call_tool("add", json!({"a": 1, "b": 2}))?.text_content(), "3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When a thread cannot be started.
pub fn pair(server: &Server) -> Result<Pair> {
    pair_with(Client::builder(), server)
}

/// [`pair`] with a client of your own making: its versions, timeouts, callbacks.
///
/// ```
/// use tinymcp::{Client, ProtocolVersion, Server, testing};
///
/// let server = Server::builder("empty", "1.0.0").build()?;
/// let legacy = Client::builder().versions([ProtocolVersion::V2025_06_18]);
/// let client = testing::pair_with(legacy, &server)?;
/// assert_eq!(client.initialize()?.version, ProtocolVersion::V2025_06_18);
///
/// let ended = client.close()?;
/// assert!(ended.server.flushed && ended.client.handlers_detached == 0);
/// # Ok::<(), tinymcp::Error>(())
/// ```
///
/// # Errors
/// When no revision is offered or a thread cannot be started.
pub fn pair_with(client: ClientBuilder, server: &Server) -> Result<Pair> {
    let (near, far) = memory_pair();
    let client = client.open(near)?;
    Ok(Pair { client: Some(client), server: Some(serve(server, far)) })
}

type Served = JoinHandle<Result<CloseReport>>;

fn serve(server: &Server, transport: MemoryTransport) -> Served {
    let server = server.clone();
    std::thread::spawn(move || server.serve(transport))
}

/// A [`Client`] and the thread that serves it. Dropping it closes the client, which ends the serving, and waits for that.
#[derive(Debug)]
pub struct Pair {
    /// `None` once closed.
    client: Option<Client>,
    /// Owner: this pair. End: the client's.
    server: Option<Served>,
}

/// How both sides of a [`Pair`] ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PairReport {
    /// What the client's close had to do.
    pub client: CloseReport,
    /// What the server's end had to do.
    pub server: CloseReport,
}

impl Pair {
    /// Closes the client and waits for the server to end.
    ///
    /// # Errors
    /// When either could not end in order.
    ///
    /// # Panics
    /// When the serving thread panicked.
    pub fn close(mut self) -> Result<PairReport> {
        let client = self.client.take().map_or_else(|| Ok(CloseReport::default()), Client::close)?;
        let server = self.server.take().map_or_else(|| Ok(CloseReport::default()), joined)?;
        Ok(PairReport { client, server })
    }
}

impl Deref for Pair {
    type Target = Client;
    fn deref(&self) -> &Client {
        self.client.as_ref().expect("open until it is closed")
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        drop(self.client.take());
        if let Some(Err(e)) = self.server.take().map(JoinHandle::join) {
            log::error!("the serving thread panicked: {e:?}");
        }
    }
}

fn joined(server: Served) -> Result<CloseReport> {
    server.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The other side of a connection, played by a test: a server for a [`Client`], or a client for a [`Server`].
///
/// A server that answers a call twice, and with progress in between:
///
/// ```
/// use serde_json::json;
/// use tinymcp::testing::ScriptedPeer;
/// use tinymcp::{Client, ProtocolVersion};
///
/// let legacy = Client::builder().versions([ProtocolVersion::V2025_11_25]);
/// let (client, mut server) = ScriptedPeer::for_client(legacy)?;
/// let caller = std::thread::spawn(move || client.call_tool("echo", json!({"text": "hi"})));
///
/// let initialize = server.expect_request("initialize");
/// server.respond(&initialize.id, json!({
///     "protocolVersion": "2025-11-25",
///     "capabilities": {"tools": {}},
///     "serverInfo": {"name": "scripted", "version": "0"},
/// }));
/// server.expect_notification("notifications/initialized");
/// let call = server.expect_request("tools/call");
/// let answer = json!({"content": [{"type": "text", "text": "hi"}]});
/// server.respond(&call.id, answer.clone());
/// server.respond(&call.id, answer);
///
/// assert_eq!(caller.join().expect("no panic")?.text_content(), "hi");
/// server.expect_end();
/// # Ok::<(), tinymcp::Error>(())
/// ```
///
/// A client that sends what no client should:
///
/// ```
/// use tinymcp::Server;
/// use tinymcp::testing::ScriptedPeer;
///
/// let server = Server::builder("empty", "1.0.0").build()?;
/// let mut client = ScriptedPeer::for_server(&server);
/// client.send_raw("{not json");
/// assert_eq!(client.expect_error(None).code, -32700);
/// client.close();
/// client.expect_end();
/// # Ok::<(), tinymcp::Error>(())
/// ```
pub struct ScriptedPeer {
    incoming: Receiver<Vec<u8>>,
    /// `None` once closed.
    outgoing: Option<Sender<Vec<u8>>>,
    deadline: Duration,
    /// Everything that passed, for panic messages.
    log: Vec<String>,
    /// The server it talks to, if it is one.
    server: Option<Served>,
}

impl ScriptedPeer {
    /// A peer and the transport that leads to it.
    #[must_use]
    pub fn new() -> (Self, MemoryTransport) {
        let (near, far) = memory_pair();
        let (incoming, outgoing) = near.into_channels();
        let peer =
            Self { incoming, outgoing: Some(outgoing), deadline: DEADLINE, log: Vec::new(), server: None };
        (peer, far)
    }

    /// A client and the scripted server it is connected to. Nothing has been said yet.
    ///
    /// # Errors
    /// When no revision is offered or a thread cannot be started.
    pub fn for_client(client: ClientBuilder) -> Result<(Client, Self)> {
        let (peer, transport) = Self::new();
        Ok((client.open(transport)?, peer))
    }

    /// A scripted client of `server`, which runs on a thread until the script ends. Nothing has been said yet.
    #[must_use]
    pub fn for_server(server: &Server) -> Self {
        let (mut peer, transport) = Self::new();
        peer.server = Some(serve(server, transport));
        peer
    }

    /// Waits so long for each thing that is expected. Default: 5 s.
    #[must_use]
    pub fn with_deadline(mut self, time: Duration) -> Self {
        self.deadline = time;
        self
    }

    /// Sends any text as one frame.
    ///
    /// # Panics
    /// When the other side is gone or does not read.
    #[track_caller]
    pub fn send_raw(&mut self, frame: impl AsRef<[u8]>) {
        let frame = frame.as_ref();
        self.log.push(format!("> {}", String::from_utf8_lossy(frame)));
        let sent = match &self.outgoing {
            Some(outgoing) => outgoing.send_timeout(frame.to_vec(), self.deadline).map_err(|e| e.to_string()),
            None => Err("this side was closed".to_owned()),
        };
        if let Err(problem) = sent {
            self.fail(&format!("cannot send: {problem}"));
        }
    }

    /// Sends a message.
    ///
    /// # Panics
    /// As [`send_raw`](Self::send_raw).
    #[track_caller]
    pub fn send(&mut self, message: &Message) {
        self.send_raw(message.encode());
    }

    /// Sends a request.
    ///
    /// # Panics
    /// As [`send_raw`](Self::send_raw).
    #[track_caller]
    pub fn request(&mut self, id: impl Into<RequestId>, method: &str, params: impl Into<Json>) {
        self.send(&Message::request(id, method, Some(params.into())));
    }

    /// Sends a notification.
    ///
    /// # Panics
    /// As [`send_raw`](Self::send_raw).
    #[track_caller]
    pub fn notify(&mut self, method: &str, params: impl Into<Json>) {
        self.send(&Message::notification(method, Some(params.into())));
    }

    /// Answers a request with a result.
    ///
    /// # Panics
    /// As [`send_raw`](Self::send_raw).
    #[track_caller]
    pub fn respond(&mut self, id: &RequestId, result: impl Into<Json>) {
        self.send(&Message::response(id.clone(), Ok(result.into())));
    }

    /// Answers a request with an error.
    ///
    /// # Panics
    /// As [`send_raw`](Self::send_raw).
    #[track_caller]
    pub fn respond_error(&mut self, id: &RequestId, error: ErrorObject) {
        self.send(&Message::response(id.clone(), Err(error)));
    }

    /// The next frame, whatever it is.
    ///
    /// # Panics
    /// When none comes in time.
    #[track_caller]
    pub fn expect_frame(&mut self) -> String {
        match self.next() {
            Some(frame) => frame,
            None => self.fail("expected a frame, and the other side closed"),
        }
    }

    /// The next message.
    ///
    /// # Panics
    /// When none comes in time, or what comes is no message.
    #[track_caller]
    pub fn expect(&mut self) -> Message {
        let frame = self.expect_frame();
        match Message::decode(frame.as_bytes()) {
            Ok(message) => message,
            Err(e) => self.fail(&format!("expected a message, and the last frame is none: {e}")),
        }
    }

    /// The next message, which is a request of `method`.
    ///
    /// # Panics
    /// When it is anything else, or none comes in time.
    #[track_caller]
    pub fn expect_request(&mut self, method: &str) -> Request {
        match self.expect() {
            Message::Request(request) if request.method == method => request,
            _ => self.fail(&format!("expected a request {method}")),
        }
    }

    /// The next message, which is a notification of `method`.
    ///
    /// # Panics
    /// When it is anything else, or none comes in time.
    #[track_caller]
    pub fn expect_notification(&mut self, method: &str) -> Notification {
        match self.expect() {
            Message::Notification(notification) if notification.method == method => notification,
            _ => self.fail(&format!("expected a notification {method}")),
        }
    }

    /// The next message, which answers the request `id` with a result.
    ///
    /// # Panics
    /// When it is anything else, or none comes in time.
    #[track_caller]
    pub fn expect_result(&mut self, id: impl Into<RequestId>) -> Json {
        let id = id.into();
        match self.expect() {
            Message::Response(response) if response.id.as_ref() == Some(&id) && response.result.is_ok() => {
                response.result.expect("just looked at")
            }
            _ => self.fail(&format!("expected a result for {id}")),
        }
    }

    /// The next message, which is an error: the answer to the request `id`, or about a message without a readable one.
    ///
    /// # Panics
    /// When it is anything else, or none comes in time.
    #[track_caller]
    pub fn expect_error(&mut self, id: impl Into<Option<RequestId>>) -> ErrorObject {
        let id = id.into();
        match self.expect() {
            Message::Response(response) if response.id == id && response.result.is_err() => {
                response.result.expect_err("just looked at")
            }
            _ => {
                let id = id.map_or_else(|| "no request in particular".to_owned(), |id| id.to_string());
                self.fail(&format!("expected an error for {id}"))
            }
        }
    }

    /// Says that nothing more comes from this side.
    pub fn close(&mut self) {
        self.log.push("> (end)".to_owned());
        self.outgoing = None;
    }

    /// The other side sends nothing more. A server that was started for this peer has then ended.
    ///
    /// # Panics
    /// When it sends something, or does not end in time, or the server panicked.
    #[track_caller]
    pub fn expect_end(&mut self) {
        if self.next().is_some() {
            self.fail("expected the end");
        }
        if let Some(Err(e)) = self.server.take().map(joined) {
            self.fail(&format!("the server ended with an error: {e}"));
        }
    }

    /// Everything that passed so far, a line each, `>` for what this peer sent and `<` for what it was sent.
    #[must_use]
    pub fn conversation(&self) -> &[String] {
        &self.log
    }

    /// `None` at the end.
    #[track_caller]
    fn next(&mut self) -> Option<String> {
        match self.incoming.recv_timeout(self.deadline) {
            Ok(frame) => {
                let frame = String::from_utf8_lossy(&frame).into_owned();
                self.log.push(format!("< {frame}"));
                Some(frame)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => self.fail(&format!("nothing came in {:?}", self.deadline)),
        }
    }

    #[track_caller]
    fn fail(&self, problem: &str) -> ! {
        panic!("{problem}\n{}", self.log.join("\n"));
    }
}

impl Drop for ScriptedPeer {
    /// Ends the conversation, and waits for the server that was started for it.
    fn drop(&mut self) {
        self.outgoing = None;
        if let Some(server) = self.server.take() {
            // A server that cannot write would wait for a reader.
            while self.incoming.recv_timeout(self.deadline).is_ok() {}
            if server.is_finished() || !std::thread::panicking() {
                let _ = server.join();
            }
        }
    }
}

impl fmt::Debug for ScriptedPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedPeer").field("frames", &self.log.len()).finish_non_exhaustive()
    }
}
