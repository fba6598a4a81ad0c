//! An open connection without an engine: what the test writes and what is read.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;

use serde_json::{Value, json};
use tinymcp::http::HttpTransport;
use tinymcp::transport::{
    FailureKind, FrameWrite, Link, OpenOptions, Patience, Received, RequestFailure, Transport,
};

use crate::http::{LONG, ScriptedHttp};

/// What the reader brought.
#[derive(Debug)]
pub(crate) enum Seen {
    Frame(String),
    TooLong(String),
    Failed(RequestFailure),
    End,
}

pub(crate) struct Line {
    writer: Box<dyn FrameWrite>,
    pub(crate) link: Box<dyn Link>,
    seen: Receiver<Seen>,
}

impl Line {
    pub(crate) fn to(server: &ScriptedHttp) -> Self {
        Self::open(HttpTransport::new(&server.url("/mcp")).expect("an address"))
    }

    pub(crate) fn open(transport: HttpTransport) -> Self {
        Self::with_limit(transport, OpenOptions::default().max_frame_bytes)
    }

    pub(crate) fn with_limit(transport: HttpTransport, max_frame_bytes: usize) -> Self {
        let mut options = OpenOptions::default();
        options.max_frame_bytes = max_frame_bytes;
        let connection = Box::new(transport).open(&options).expect("opens");
        let (see, seen) = channel();
        let mut reader = connection.reader;
        thread::spawn(move || {
            let mut frame = Vec::new();
            loop {
                let text = |frame: &[u8]| String::from_utf8_lossy(frame).into_owned();
                let next = match reader.read_frame(&mut frame).expect("reads") {
                    Received::Frame => Seen::Frame(text(&frame)),
                    Received::TooLong(_) => Seen::TooLong(text(&frame)),
                    Received::Failed => Seen::Failed(reader.take_failure().expect("a failure")),
                    _ => Seen::End,
                };
                let is_end = matches!(next, Seen::End);
                if see.send(next).is_err() || is_end {
                    return;
                }
            }
        });
        Self { writer: connection.writer, link: connection.link, seen }
    }

    pub(crate) fn write(&mut self, message: &Value) {
        self.writer.write_frames(format!("{message}\n").as_bytes()).expect("writes");
    }

    /// A request in the Legacy era.
    pub(crate) fn ask(&mut self, id: i64, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    /// A request in the Modern era.
    pub(crate) fn ask_modern(&mut self, id: i64, method: &str, mut params: Value) {
        params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
        self.ask(id, method, params);
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub(crate) fn cancel(&mut self, id: i64) {
        self.notify("notifications/cancelled", json!({"requestId": id}));
    }

    #[track_caller]
    pub(crate) fn next(&self) -> Seen {
        self.seen.recv_timeout(LONG).expect("something is read")
    }

    #[track_caller]
    pub(crate) fn frame(&self) -> Value {
        match self.next() {
            Seen::Frame(frame) => serde_json::from_str(&frame).unwrap_or_else(|e| panic!("{frame}: {e}")),
            other => panic!("no frame: {other:?}"),
        }
    }

    /// The next frame, which is the answer to `id`.
    #[track_caller]
    pub(crate) fn result(&self, id: i64) -> Value {
        let frame = self.frame();
        assert_eq!(frame["id"], id, "{frame}");
        frame["result"].clone()
    }

    #[track_caller]
    pub(crate) fn failure(&self, id: i64) -> (FailureKind, String) {
        match self.next() {
            Seen::Failed(failure) => {
                assert_eq!(failure.id, id.into(), "{failure:?}");
                (failure.kind, failure.problem)
            }
            other => panic!("no failure: {other:?}"),
        }
    }

    /// Nothing has been read that was not looked at.
    #[track_caller]
    pub(crate) fn expect_silence(&self) {
        if let Ok(seen) = self.seen.try_recv() {
            panic!("unexpected: {seen:?}");
        }
    }

    /// Ends the connection as the engine does.
    pub(crate) fn close(self) {
        drop(self.writer);
        self.link.close(&Patience::default());
        // Disconnected: its end has been seen before.
        assert!(matches!(self.seen.recv_timeout(LONG), Ok(Seen::End) | Err(RecvTimeoutError::Disconnected)));
    }

    /// Settles a Legacy session `s-1`, with a server that has no stream of its own.
    pub(crate) fn greet(&mut self, server: &ScriptedHttp) {
        self.initialize(server);
        server.expect_verb("GET").reply("405 Method Not Allowed", &[], "");
    }

    /// The same up to the stream of the session.
    pub(crate) fn initialize(&mut self, server: &ScriptedHttp) {
        self.ask(0, "initialize", json!({"protocolVersion": "2025-11-25"}));
        let arrived = server.expect("initialize");
        let result = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}});
        let answer = json!({"jsonrpc": "2.0", "id": 0, "result": result});
        arrived.reply_json("200 OK", &[("mcp-session-id", "s-1")], &answer);
        self.result(0);
        self.notify("notifications/initialized", json!({}));
        server.expect("notifications/initialized").accepted();
    }
}
