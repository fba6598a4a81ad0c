//! The three parts of an open connection: who reads, who writes, and who ends it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::select;
use serde_json::value::RawValue;
use ureq::http::{HeaderMap, Method as Verb};

use super::exchange::Purpose;
use super::line::{Item, Line, Outlet};
use super::outgoing::Outgoing;
use super::settings::OutgoingRequest;
use super::wire::Call;
use crate::http::headers;
use crate::http::mirrored::of_schema;
use crate::jsonrpc::is_empty_line;
use crate::transport::{Ending, FrameRead, FrameWrite, Link, Patience, Received, RequestFailure};

pub(super) struct HttpReader {
    line: Arc<Line>,
    outlet: Outlet,
    failure: Option<RequestFailure>,
    is_over: bool,
}

impl HttpReader {
    pub(super) fn new(line: &Arc<Line>, outlet: Outlet) -> Self {
        Self { line: Arc::clone(line), outlet, failure: None, is_over: false }
    }
}

impl FrameRead for HttpReader {
    fn read_frame(&mut self, frame: &mut Vec<u8>) -> io::Result<Received> {
        frame.clear();
        if self.is_over {
            return Ok(Received::End);
        }
        let item = match self.outlet.items.try_recv() {
            Ok(item) => item,
            Err(_) => {
                let stop = self.line.stop.receiver();
                select! {
                    recv(self.outlet.items) -> item => item.unwrap_or(Item::End),
                    recv(self.outlet.rejected) -> failure => failure.map_or(Item::End, Item::Failed),
                    recv(stop) -> _ => Item::End,
                }
            }
        };
        Ok(match item {
            Item::Frame(bytes) => {
                *frame = bytes;
                Received::Frame
            }
            Item::TooLong(head) => {
                *frame = head;
                Received::TooLong(self.line.max_frame_bytes)
            }
            Item::Failed(failure) => {
                self.failure = Some(failure);
                Received::Failed
            }
            Item::End => {
                self.is_over = true;
                Received::End
            }
        })
    }

    fn take_failure(&mut self) -> Option<RequestFailure> {
        self.failure.take()
    }

    fn has_frame(&self) -> bool {
        !self.outlet.items.is_empty() || !self.outlet.rejected.is_empty()
    }
}

pub(super) struct HttpWriter(Arc<Line>);

impl HttpWriter {
    pub(super) fn new(line: &Arc<Line>) -> Self {
        Self(Arc::clone(line))
    }
}

impl FrameWrite for HttpWriter {
    /// Only hands them on, and so never waits for the server.
    fn write_frames(&mut self, frames: &[u8]) -> io::Result<()> {
        for frame in frames.split_inclusive(|byte| *byte == b'\n') {
            let frame = frame.strip_suffix(b"\n").unwrap_or(frame);
            if is_empty_line(frame) {
                continue;
            }
            match Outgoing::of(frame, &self.0.learned) {
                Ok(outgoing) => self.0.accept(outgoing),
                Err(bad) => log::warn!("what is no message was not sent: {}", bad.error),
            }
        }
        Ok(())
    }

    fn write_some(&mut self, frames: &[u8]) -> io::Result<Option<usize>> {
        self.write_frames(frames)?;
        Ok(Some(frames.len()))
    }
}

pub(super) struct HttpLink {
    line: Arc<Line>,
    name: String,
}

impl HttpLink {
    pub(super) fn new(line: &Arc<Line>) -> Self {
        Self { line: Arc::clone(line), name: line.settings.name().to_string() }
    }

    /// Tells a Legacy server that its session is over.
    ///
    /// spec: 2025-11-25 basic/transports#session-management
    fn end_session(&self, time: Duration) {
        let mut headers = HeaderMap::new();
        self.line.add_session(&mut headers);
        if !headers.contains_key(headers::SESSION_ID) || time.is_zero() {
            return;
        }
        let Some(exchange) = self.line.exchanges.begin(Purpose::Stream, None, false) else { return };
        let call = Call {
            verb: Verb::DELETE,
            url: &self.line.settings.url,
            headers,
            body: None,
            shown: OutgoingRequest { http_method: "DELETE", method: None, name: None },
            read_timeout: None,
            timeout: Some(time),
        };
        match self.line.send(&exchange, &call) {
            Ok(reply) => log::debug!("the session of {} was ended: {}", self.name, reply.head.told()),
            Err(trouble) => log::debug!("the session of {} was not ended: {}", self.name, trouble.problem),
        }
        self.line.exchanges.end(&exchange);
    }
}

impl Link for HttpLink {
    fn name(&self) -> &str {
        &self.name
    }

    fn refuses_tool(&self, input_schema: &RawValue) -> Option<String> {
        of_schema(input_schema).err()
    }

    fn interrupt(&self) {
        self.line.stop.cancel("interrupted");
    }

    fn close(&self, patience: &Patience) -> Ending {
        self.line.stop.cancel("closed");
        self.line.exchanges.finish_notes(patience.flush);
        self.end_session(patience.exit);
        self.line.hang_up();
        self.line.join(patience.threads);
        Ending::default()
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        // Nobody has closed it: its threads must not outlive it.
        self.line.hang_up();
        self.line.join(Duration::ZERO);
    }
}
