//! [`Inbox`]: what a peer has sent and nobody has taken yet, and the request it will be.

use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::chunked::{Chunked, too_large};
use super::head::Head;
use super::parse::{Framing, Manner, Parsed, Refusal, end_of_head, parse};
use super::{Limits, Response};

/// Room is made for so much of a body at once, whatever length its peer promises.
const BODY_ROOM: usize = 64 * 1024;

/// Before a request so many empty lines are passed over.
const EMPTY_LINES: usize = 8;

/// What a connection has received. Belongs to one thread at a time: the one that reads. Between requests it holds no memory.
#[derive(Debug)]
pub(super) struct Inbox {
    /// A part of a head, or the beginning of the next request. Bound: a head and one read.
    input: Vec<u8>,
    /// So far the end of the head was looked for.
    scanned: usize,
    /// Empty lines before the next request.
    empty_lines: usize,
    arriving: Option<Box<Arriving>>,
    held: Held,
}

/// A request whose body has not come as a whole.
#[derive(Debug)]
struct Arriving {
    head: Head,
    manner: Manner,
    /// Of a type that only the service's side knows. In a box only here: few bodies come later than their heads.
    admitted: Box<dyn Any + Send>,
    body: Body,
}

#[derive(Debug)]
struct Body {
    left: Left,
    bytes: Vec<u8>,
}

#[derive(Debug)]
enum Left {
    Bytes(usize),
    Chunks(Chunked),
}

/// What came of some bytes.
#[derive(Debug)]
pub(super) enum Progress<A> {
    /// The request is not complete.
    More {
        /// And its peer waits for a word before it sends on.
        expects_continue: bool,
    },
    Whole(Whole<A>),
}

/// A whole request.
#[derive(Debug)]
pub(super) struct Whole<A> {
    pub(super) head: Head,
    pub(super) manner: Manner,
    pub(super) body: Vec<u8>,
    pub(super) admitted: A,
}

/// The answer to a request that is not served.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) response: Response,
    /// It is the wire's, and not the service's: a text.
    pub(super) is_own: bool,
    pub(super) manner: Manner,
}

/// What of a request is being received. Each has a time of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Nothing,
    Head,
    Body,
}

/// Bytes that count among those of all connections, until this is dropped.
#[derive(Debug)]
pub(super) struct Held {
    bytes: usize,
    all: Arc<AtomicUsize>,
}

impl Held {
    pub(super) fn new(all: &Arc<AtomicUsize>) -> Self {
        Self { bytes: 0, all: Arc::clone(all) }
    }

    /// Counts so many more, whatever the limit.
    pub(super) fn add(&mut self, bytes: usize) {
        self.set(self.bytes.saturating_add(bytes), usize::MAX);
    }

    /// Counts so many from now on; `false`, and as before, if all are then more than `limit`.
    pub(super) fn set(&mut self, bytes: usize, limit: usize) -> bool {
        if bytes > self.bytes {
            let more = bytes - self.bytes;
            let grown = |all: usize| all.checked_add(more).filter(|all| *all <= limit);
            if self.all.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_err() {
                return false;
            }
        } else if bytes < self.bytes {
            self.all.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
        true
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.set(0, 0);
    }
}

impl Inbox {
    pub(super) fn new(held: Held) -> Self {
        Self { input: Vec::new(), scanned: 0, empty_lines: 0, arriving: None, held }
    }

    /// Whether bytes lie here that could be the next request.
    pub(super) fn has_input(&self) -> bool {
        !self.input.is_empty()
    }

    pub(super) fn stage(&self) -> Stage {
        match &self.arriving {
            Some(_) => Stage::Body,
            None if self.input.is_empty() => Stage::Nothing,
            None => Stage::Head,
        }
    }

    /// Takes what was read. `admit` is asked once, when the head is there.
    pub(super) fn take<A: Send + 'static>(
        &mut self,
        read: &[u8],
        peer: SocketAddr,
        limits: &Limits,
        admit: impl FnOnce(&Head) -> Result<A, Response>,
    ) -> Result<Progress<A>, Refused> {
        let progress = if self.input.is_empty() {
            let mut rest = read;
            let progress = self.advance(&mut rest, peer, limits, admit)?;
            if !rest.is_empty() {
                self.input = rest.to_vec();
            }
            progress
        } else {
            let mut input = std::mem::take(&mut self.input);
            input.extend_from_slice(read);
            let mut rest = input.as_slice();
            let progress = self.advance(&mut rest, peer, limits, admit)?;
            let taken = input.len() - rest.len();
            if taken < input.len() {
                input.drain(..taken);
                self.input = input;
            }
            progress
        };
        if let Progress::Whole(_) = progress {
            // What came after it is bound by one read, and not refused.
            self.held.set(self.input.len(), usize::MAX);
            return Ok(progress);
        }
        let body = self.arriving.as_ref().map_or(0, |arriving| arriving.body.bytes.len());
        if !self.held.set(self.input.len() + body, limits.receiving_bytes) {
            let manner = self.arriving.as_ref().map_or(Manner::LAST, |arriving| arriving.manner);
            let why = format!("more than {} bytes are being received", limits.receiving_bytes);
            let mut response = Refusal::new(503, why).into_response();
            response.headers.push(("Retry-After", "1".to_owned()));
            return Err(Refused { response, is_own: true, manner });
        }
        Ok(progress)
    }

    fn advance<A: Send + 'static>(
        &mut self,
        rest: &mut &[u8],
        peer: SocketAddr,
        limits: &Limits,
        admit: impl FnOnce(&Head) -> Result<A, Response>,
    ) -> Result<Progress<A>, Refused> {
        let more = || Ok(Progress::More { expects_continue: false });
        if let Some(arriving) = &mut self.arriving {
            let manner = arriving.manner;
            if !arriving.body.take(rest, limits).map_err(|refusal| refusal.refuse(manner))? {
                return more();
            }
            let Some(arriving) = self.arriving.take() else { return more() };
            let Arriving { head, manner, admitted, body } = *arriving;
            let admitted = *admitted.downcast::<A>().expect("each wire has one service, which admitted this");
            return Ok(Progress::Whole(Whole { head, manner, body: body.bytes, admitted }));
        }
        // Some clients send an empty line after a body.
        while let Some(after) = rest.strip_prefix(b"\r\n") {
            *rest = after;
            self.scanned = 0;
            self.empty_lines += 1;
            if self.empty_lines > EMPTY_LINES {
                return Err(Refusal::bad("too many empty lines before a request").refuse(Manner::LAST));
            }
        }
        let length = self.head_length(rest, limits).map_err(|refusal| refusal.refuse(Manner::LAST))?;
        let Some(length) = length else { return more() };
        let (head, after) = rest.split_at(length);
        *rest = after;
        (self.scanned, self.empty_lines) = (0, 0);
        let parsed = parse(head, peer, limits).map_err(|refusal| refusal.refuse(Manner::LAST))?;
        let Parsed { head, body, manner, expects_continue } = parsed;
        let admitted = admit(&head).map_err(|response| Refused { response, is_own: false, manner })?;
        let had = rest.len();
        let mut body = Body::new(body, limits).map_err(|refusal| refusal.refuse(manner))?;
        if body.take(rest, limits).map_err(|refusal| refusal.refuse(manner))? {
            return Ok(Progress::Whole(Whole { head, manner, body: body.bytes, admitted }));
        }
        self.arriving = Some(Box::new(Arriving { head, manner, admitted: Box::new(admitted), body }));
        Ok(Progress::More { expects_continue: expects_continue && had == 0 })
    }

    /// How long the head is, if it is there.
    fn head_length(&mut self, rest: &[u8], limits: &Limits) -> Result<Option<usize>, Refusal> {
        let length = end_of_head(rest, &mut self.scanned)?;
        if length.unwrap_or(rest.len()) > limits.head_bytes {
            return Err(Refusal::new(431, format!("the head exceeds {} bytes", limits.head_bytes)));
        }
        Ok(length)
    }
}

impl Refusal {
    fn refuse(self, manner: Manner) -> Refused {
        Refused { response: self.into_response(), is_own: true, manner }
    }
}

impl Body {
    fn new(framing: Framing, limits: &Limits) -> Result<Self, Refusal> {
        let (left, room) = match framing {
            Framing::Chunked => (Left::Chunks(Chunked::default()), 0),
            Framing::Sized(length) => {
                let length = usize::try_from(length).ok().filter(|length| *length <= limits.body_bytes);
                let length = length.ok_or_else(|| too_large(limits.body_bytes))?;
                (Left::Bytes(length), length.min(BODY_ROOM))
            }
        };
        Ok(Self { left, bytes: Vec::with_capacity(room) })
    }

    /// Takes what belongs to the body; `true`: that was all of it.
    fn take(&mut self, rest: &mut &[u8], limits: &Limits) -> Result<bool, Refusal> {
        match &mut self.left {
            Left::Chunks(chunked) => chunked.take(rest, &mut self.bytes, limits.body_bytes),
            Left::Bytes(left) => {
                let (body, after) = rest.split_at(rest.len().min(*left));
                self.bytes.extend_from_slice(body);
                *left -= body.len();
                *rest = after;
                Ok(*left == 0)
            }
        }
    }
}
