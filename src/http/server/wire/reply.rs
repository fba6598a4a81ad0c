//! [`Reply`]: the right to answer one request; [`EventStream`]: an answer that goes on.

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

/// The right to answer one request. Dropped unanswered it is a 500.
pub(crate) struct Reply {}

impl Reply {
    /// Answers as a whole. Never waits: what the peer does not take now is written when it does.
    pub(crate) fn answer(self, _response: Response) {
        unimplemented!()
    }

    /// Begins an event stream: status 200, `Content-Type: text/event-stream`, `Cache-Control: no-cache`, `X-Accel-Buffering: no`
    /// and `headers`. The head is written with `first` behind it, at once.
    pub(crate) fn stream(self, _headers: &[(&'static str, String)], _first: &[u8]) -> EventStream {
        unimplemented!()
    }

    /// Has `gone` called when the peer closes the connection before the request is answered in full, by the thread that notices, at
    /// most 250 ms later: it must not block. At once if that has happened. A second one replaces the first.
    pub(crate) fn when_gone(&self, _gone: Box<dyn FnOnce() + Send>) {
        unimplemented!()
    }
}

/// An answer that goes on, event by event. Clones share it; the last one dropped without [`finish`](Self::finish) closes the
/// connection.
#[derive(Clone)]
pub(crate) struct EventStream {}

impl EventStream {
    /// Sends whole events, at once as far as the peer takes them. Never waits.
    ///
    /// # Errors
    /// `Full` with the limit, when so many bytes wait for the peer already; `Gone`.
    pub(crate) fn send(&self, _events: &[u8]) -> Result<(), NotWritten> {
        unimplemented!()
    }

    /// The same for an answer among others on the stream: there is always room for it.
    ///
    /// # Errors
    /// `Gone`.
    pub(crate) fn push(&self, _events: &[u8]) -> Result<(), NotWritten> {
        unimplemented!()
    }

    /// Sends whole events, for which there is always room, and ends the answer. The connection can serve another request then.
    pub(crate) fn finish(&self, _events: &[u8]) {
        unimplemented!()
    }

    /// See [`Reply::when_gone`].
    pub(crate) fn when_gone(&self, _gone: Box<dyn FnOnce() + Send>) {
        unimplemented!()
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
