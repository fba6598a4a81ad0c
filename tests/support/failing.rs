//! A transport that carries each request by itself, so that one can fail while the connection goes on, and its far end, which
//! the test plays.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::io;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, select, unbounded};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tinymcp::client::ClientBuilder;
use tinymcp::transport::{
    Connection, FailureKind, FrameRead, FrameWrite, Link, OpenOptions, Received, RequestFailure, Transport,
};
use tinymcp::{Client, ProtocolVersion};

pub(crate) const LONG: Duration = Duration::from_secs(20);

enum Said {
    Frame(Value),
    Failed(RequestFailure),
}

/// Leads to another far end each time it is opened.
pub(crate) struct Road {
    opened: Sender<Far>,
    /// Tools whose schema has this word in it are refused.
    refused: Option<&'static str>,
    is_unique: bool,
}

impl Road {
    pub(crate) fn new() -> (Self, Receiver<Far>) {
        let (opened, ends) = unbounded();
        (Self { opened, refused: None, is_unique: false }, ends)
    }

    pub(crate) fn refusing(self, word: &'static str) -> Self {
        Self { refused: Some(word), ..self }
    }

    /// Cannot be opened again.
    pub(crate) fn unique(self) -> Self {
        Self { is_unique: true, ..self }
    }
}

impl Transport for Road {
    fn open(self: Box<Self>, _: &OpenOptions) -> io::Result<Connection> {
        let ((sent, wrote), (say, said), (stop, stopped)) = (unbounded(), unbounded(), unbounded());
        self.opened.send(Far { wrote, say }).map_err(io::Error::other)?;
        let reader = Reader { said, stopped, failure: None };
        Ok(Connection::new(reader, Writer(sent), FarLink { stop, refused: self.refused }))
    }

    fn again(&self) -> Option<Box<dyn Transport>> {
        let again = Self { opened: self.opened.clone(), refused: self.refused, is_unique: self.is_unique };
        (!self.is_unique).then(|| Box::new(again) as Box<dyn Transport>)
    }
}

struct Reader {
    said: Receiver<Said>,
    stopped: Receiver<()>,
    failure: Option<RequestFailure>,
}

impl FrameRead for Reader {
    fn read_frame(&mut self, frame: &mut Vec<u8>) -> io::Result<Received> {
        frame.clear();
        let said = select! {
            recv(self.said) -> said => said.ok(),
            recv(self.stopped) -> _ => None,
        };
        Ok(match said {
            Some(Said::Frame(message)) => {
                *frame = message.to_string().into_bytes();
                Received::Frame
            }
            Some(Said::Failed(failure)) => {
                self.failure = Some(failure);
                Received::Failed
            }
            None => Received::End,
        })
    }

    fn take_failure(&mut self) -> Option<RequestFailure> {
        self.failure.take()
    }

    fn has_frame(&self) -> bool {
        !self.said.is_empty()
    }
}

struct Writer(Sender<Value>);

impl FrameWrite for Writer {
    fn write_frames(&mut self, frames: &[u8]) -> io::Result<()> {
        for frame in frames.split(|b| *b == b'\n').filter(|frame| !frame.is_empty()) {
            let message = serde_json::from_slice(frame).map_err(io::Error::other)?;
            self.0.send(message).map_err(io::Error::other)?;
        }
        Ok(())
    }
}

struct FarLink {
    stop: Sender<()>,
    refused: Option<&'static str>,
}

impl Link for FarLink {
    fn name(&self) -> &str {
        "https://far.example/mcp"
    }

    fn refuses_tool(&self, input_schema: &RawValue) -> Option<String> {
        let word = self.refused.filter(|word| input_schema.get().contains(word))?;
        Some(format!("{word} is no good"))
    }

    fn interrupt(&self) {
        let _ = self.stop.send(());
    }
}

/// The far end of a connection.
pub(crate) struct Far {
    wrote: Receiver<Value>,
    say: Sender<Said>,
}

/// A request that has come.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) id: i64,
    pub(crate) params: Value,
}

impl Far {
    /// The next message, which is of `method`.
    #[track_caller]
    pub(crate) fn expect(&self, method: &str) -> Asked {
        let message = self.wrote.recv_timeout(LONG).unwrap_or_else(|e| panic!("no {method}: {e}"));
        assert_eq!(message["method"], method, "{message}");
        Asked { id: message["id"].as_i64().unwrap_or(-1), params: message["params"].clone() }
    }

    /// The next message and its method.
    #[track_caller]
    pub(crate) fn any(&self) -> (String, Asked) {
        let message = self.wrote.recv_timeout(LONG).expect("a message");
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        (method, Asked { id: message["id"].as_i64().unwrap_or(-1), params: message["params"].clone() })
    }

    /// The next message, if one comes within `time`.
    pub(crate) fn next_within(&self, time: Duration) -> Option<Asked> {
        let message = self.wrote.recv_timeout(time).ok()?;
        Some(Asked { id: message["id"].as_i64().unwrap_or(-1), params: message["params"].clone() })
    }

    /// Asserts that nothing else has come.
    #[track_caller]
    pub(crate) fn expect_nothing(&self) {
        let message = self.wrote.try_recv().ok();
        assert!(message.is_none(), "{message:?}");
    }

    pub(crate) fn answer(&self, asked: &Asked, result: Value) {
        self.frame(json!({"jsonrpc": "2.0", "id": asked.id, "result": result}));
    }

    /// The connection may have been closed meanwhile.
    pub(crate) fn answer_if_heard(&self, asked: &Asked, result: Value) {
        let _ = self.say.send(Said::Frame(json!({"jsonrpc": "2.0", "id": asked.id, "result": result})));
    }

    pub(crate) fn error(&self, asked: &Asked, code: i64, data: Value) {
        let mut error = json!({"code": code, "message": "no"});
        if !data.is_null() {
            error["data"] = data;
        }
        self.frame(json!({"jsonrpc": "2.0", "id": asked.id, "error": error}));
    }

    pub(crate) fn notify(&self, method: &str, params: Value) {
        self.frame(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn frame(&self, message: Value) {
        self.say.send(Said::Frame(message)).expect("it listens");
    }

    pub(crate) fn fail(&self, asked: &Asked, kind: FailureKind) {
        self.fail_as(RequestFailure::new(asked.id, kind, problem(kind)));
    }

    /// Refuses with a status.
    pub(crate) fn refuse(&self, asked: &Asked, status: u16) {
        let failure = RequestFailure::new(asked.id, FailureKind::Refused, format!("HTTP {status}"));
        self.fail_as(failure.with_status(status));
    }

    pub(crate) fn fail_as(&self, failure: RequestFailure) {
        self.say.send(Said::Failed(failure)).expect("it listens");
    }

    /// Settles the protocol.
    #[track_caller]
    pub(crate) fn greet(&self, version: &ProtocolVersion) {
        let capabilities = json!({
            "tools": {"listChanged": true}, "resources": {"subscribe": true, "listChanged": true}, "prompts": {}
        });
        if version.is_modern() {
            let asked = self.expect("server/discover");
            let result = json!({
                "resultType": "complete", "supportedVersions": [version], "capabilities": capabilities
            });
            return self.answer(&asked, result);
        }
        let asked = self.expect("initialize");
        self.answer(
            &asked,
            json!({
                "protocolVersion": version, "capabilities": capabilities, "serverInfo": {"name": "far", "version": "1"}
            }),
        );
        self.expect("notifications/initialized");
    }
}

/// What is said of such a failure.
pub(crate) fn problem(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::NotSent => "connection refused",
        FailureKind::OutcomeUnknown => "HTTP 502 Bad Gateway",
        FailureKind::SessionEnded => "HTTP 404 Not Found",
        _ => "HTTP 400 Bad Request",
    }
}

/// The far end of a further connection.
#[track_caller]
pub(crate) fn next(ends: &Receiver<Far>) -> Far {
    ends.recv_timeout(LONG).expect("opened")
}

/// A client that has settled on `version`, its far end, and where those of later connections come from.
pub(crate) fn settled_on(
    builder: ClientBuilder,
    version: ProtocolVersion,
    road: impl FnOnce(Road) -> Road,
) -> (Client, Far, Receiver<Far>) {
    let (way, ends) = Road::new();
    let client = builder.versions([version.clone()]).open(road(way)).expect("opens");
    let far = next(&ends);
    during(|| client.initialize(), || far.greet(&version)).expect("settled");
    (client, far, ends)
}

pub(crate) fn modern(builder: ClientBuilder) -> (Client, Far) {
    let (client, far, _) = settled_on(builder, ProtocolVersion::V2026_07_28, |road| road);
    (client, far)
}

/// What `act` returns, while the far end follows `script`.
#[track_caller]
pub(crate) fn during<T: Send>(act: impl FnOnce() -> T + Send, script: impl FnOnce()) -> T {
    thread::scope(|scope| {
        let acting = scope.spawn(act);
        script();
        acting.join().expect("no panic")
    })
}

/// A result of a tool.
pub(crate) fn said(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}], "resultType": "complete"})
}
