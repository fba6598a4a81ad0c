//! [`Reply`]: the right to answer one request; [`EventStream`]: an answer that goes on.

use std::sync::Arc;

use super::connection::Connection;
use super::parse::Manner;

/// An answer as a whole.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// `Content-Length`, `Date` and `Connection` are added.
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn new(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }
}

/// One request of a connection, and how it wants to be answered.
#[derive(Debug)]
struct Exchange {
    connection: Arc<Connection>,
    turn: u32,
    manner: Manner,
}

/// The right to answer one request. Dropped unanswered it is a 500, unless the peer has gone.
#[derive(Debug)]
pub(crate) struct Reply {
    /// Until it is answered.
    exchange: Option<Exchange>,
}

impl Reply {
    pub(super) fn new(connection: Arc<Connection>, turn: u32, manner: Manner) -> Self {
        Self { exchange: Some(Exchange { connection, turn, manner }) }
    }

    /// Answers as a whole. Never waits: what the peer does not take now is written when it does.
    pub(crate) fn answer(mut self, response: Response) {
        if let Some(Exchange { connection, turn, manner }) = self.exchange.take() {
            connection.answer(turn, manner, response);
        }
    }

    /// Begins an event stream: status 200, `Content-Type: text/event-stream`, `Cache-Control: no-cache`, `X-Accel-Buffering: no`
    /// and `headers`. The head is written with `first` behind it, at once.
    pub(crate) fn stream(mut self, headers: &[(&'static str, String)], first: &[u8]) -> EventStream {
        let exchange = self.exchange.take().map(|mut exchange| {
            let Exchange { connection, turn, manner } = &mut exchange;
            *manner = connection.open_stream(*turn, *manner, headers, first);
            Arc::new(Open(exchange))
        });
        EventStream { exchange: exchange.expect("a reply has its exchange until it is used up") }
    }

    /// Has `gone` called when the peer closes the connection before the request is answered in full, by the thread that notices, which
    /// must not block. At once, by the calling thread, if that has happened. A second one replaces the first.
    pub(crate) fn when_gone(&self, gone: Box<dyn FnOnce() + Send>) {
        if let Some(exchange) = &self.exchange {
            exchange.connection.when_gone(exchange.turn, gone);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(Exchange { connection, turn, manner }) = self.exchange.take() {
            connection.unanswered(turn, manner);
        }
    }
}

/// An answer that goes on, event by event. Clones share it; the last one dropped without [`finish`](Self::finish) closes the
/// connection.
#[derive(Clone, Debug)]
pub(crate) struct EventStream {
    exchange: Arc<Open>,
}

/// Closes the connection when it is dropped, unless the stream was finished.
#[derive(Debug)]
struct Open(Exchange);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.connection.abandon(self.0.turn);
    }
}

impl EventStream {
    /// Sends whole events, at once as far as the peer takes them. Never waits.
    ///
    /// # Errors
    /// `Full` with the limit, when so many bytes wait for the peer already; `Gone`.
    pub(crate) fn send(&self, events: &[u8]) -> Result<(), NotWritten> {
        let Exchange { connection, turn, manner } = &self.exchange.0;
        connection.send(*turn, *manner, events, connection.common.limits.stream_bytes)
    }

    /// The same with another limit: for answers among events.
    ///
    /// # Errors
    /// `Full` with the limit, `Gone`.
    pub(crate) fn push(&self, events: &[u8], limit: usize) -> Result<(), NotWritten> {
        let Exchange { connection, turn, manner } = &self.exchange.0;
        connection.send(*turn, *manner, events, limit)
    }

    /// Sends whole events, for which there is always room, and ends the answer. The connection can serve another request then.
    pub(crate) fn finish(&self, events: &[u8]) {
        let Exchange { connection, turn, manner } = &self.exchange.0;
        connection.finish(*turn, *manner, events);
    }

    /// See [`Reply::when_gone`].
    pub(crate) fn when_gone(&self, gone: Box<dyn FnOnce() + Send>) {
        let Exchange { connection, turn, .. } = &self.exchange.0;
        connection.when_gone(*turn, gone);
    }
}

/// Why an event was not sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotWritten {
    /// So many bytes wait for the peer already.
    Full(usize),
    /// The peer has closed the connection, or the answer has ended.
    Gone,
}
