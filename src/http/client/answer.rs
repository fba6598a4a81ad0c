//! Bodies that hold messages: taking them apart, seeing what passes, and handing them to the connection's reader.

use serde_json::value::RawValue;
use ureq::http::{HeaderValue, StatusCode};

use super::line::{Item, Line};
use super::outgoing::Outgoing;
use crate::json::{Members, compact, string};
use crate::jsonrpc::{ErrorCode, ErrorObject, Incoming, RequestId, begin_result, write_error};
use crate::method::Method;

/// So much is kept of a message that is too long: enough to see which call it answers.
pub(super) const HEAD_BYTES: usize = 256;

/// What came of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// It answers the request whose exchange this is.
    Answer,
    /// It is something else.
    Other,
}

impl Line {
    /// Takes in one message. `sent` is the request whose answer is looked for.
    pub(super) fn hear(&self, sent: &Outgoing, message: &[u8]) -> Heard {
        let frame = one_line(message);
        let heard = match Incoming::decode(&frame) {
            Ok(Incoming::Response { id: Some(id), result })
                if sent.id().is_some_and(|own| is_same(own, &id)) =>
            {
                if let Ok(result) = result {
                    self.observe(sent, result);
                }
                Heard::Answer
            }
            // What is no message is reported by whoever reads the frame.
            _ => Heard::Other,
        };
        self.deliver(Item::Frame(frame));
        heard
    }

    /// Takes in a body that holds one message or, in 2025-03-26, several.
    pub(super) fn hear_body(&self, sent: &Outgoing, body: &[u8]) -> Heard {
        let Some(messages) = batch(body) else { return self.hear_single(sent, body) };
        let mut heard = Heard::Other;
        for message in messages {
            if self.hear(sent, message.get().as_bytes()) == Heard::Answer {
                heard = Heard::Answer;
            }
        }
        heard
    }

    fn hear_single(&self, sent: &Outgoing, body: &[u8]) -> Heard {
        match (sent.id(), Incoming::decode(body)) {
            // It is about what was sent: there was nothing else.
            (Some(own), Ok(Incoming::Response { id: None, result: Err(error) })) => {
                self.hear_error(own, &error)
            }
            _ => self.hear(sent, body),
        }
    }

    /// Takes in the body of a reply that refuses `sent`, if it is an error of JSON-RPC.
    pub(super) fn hear_refusal(
        &self,
        sent: &Outgoing,
        status: StatusCode,
        has_session: bool,
        body: &[u8],
    ) -> bool {
        let (Some(own), Ok(Incoming::Response { id, result: Err(error) })) =
            (sent.id(), Incoming::decode(body))
        else {
            return false;
        };
        let is_own = id.is_some_and(|id| is_same(own, &id));
        // spec: 2025-11-25 basic/transports#session-management (404: the session is over). A body says so too, often with
        // another id; that of a server without the method has this one.
        let is_about_session = has_session && status == StatusCode::NOT_FOUND;
        if is_about_session && !(is_own && error.code == ErrorCode::METHOD_NOT_FOUND) {
            return false;
        }
        self.hear_error(own, &error);
        true
    }

    /// An error without an id, or with that of nobody.
    fn hear_error(&self, own: &RequestId, error: &ErrorObject) -> Heard {
        let mut frame = Vec::new();
        write_error(&mut frame, Some(own), error);
        self.deliver(Item::Frame(frame));
        Heard::Answer
    }

    /// Takes in the head of a message that is too long to be read.
    pub(super) fn hear_too_long(&self, sent: &Outgoing, head: &[u8]) -> Heard {
        let is_call =
            head.windows(8).any(|part| part == b"\"method\"") || sent.is(Method::SubscriptionsListen);
        match sent.id() {
            // Where in it the id is nobody knows, but nothing else is that long.
            Some(own) if !is_call => {
                let mut head = Vec::new();
                begin_result(&mut head, Some(own));
                self.deliver(Item::TooLong(head));
                Heard::Answer
            }
            _ => {
                self.deliver(Item::TooLong(head.to_vec()));
                Heard::Other
            }
        }
    }

    /// Notes what the transport itself needs of a result that passes.
    fn observe(&self, sent: &Outgoing, result: &RawValue) {
        match Method::from_name(&sent.method) {
            Some(Method::ToolsList) => self.learned.learn(result, !sent.has_cursor),
            Some(Method::Initialize) => {
                let version = Members::of(result).ok().and_then(|mut result| result.take("protocolVersion"));
                let version = version.and_then(|raw| string(raw).ok());
                let version = version.and_then(|version| HeaderValue::from_str(&version).ok());
                self.legacy(|legacy| legacy.version = version);
            }
            _ => {}
        }
    }
}

/// `message` without the line breaks between its tokens. Its numbers and texts stay as they are.
fn one_line(message: &[u8]) -> Vec<u8> {
    let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
    if !message.iter().any(is_break) {
        return message.trim_ascii().to_vec();
    }
    let mut line = compact(message);
    // What is no JSON may have them elsewhere.
    line.iter_mut().filter(|byte| is_break(byte)).for_each(|byte| *byte = b' ');
    line
}

/// The messages in an array.
fn batch(body: &[u8]) -> Option<Vec<&RawValue>> {
    let begins = body.iter().find(|byte| !byte.is_ascii_whitespace());
    begins.filter(|byte| **byte == b'[')?;
    serde_json::from_slice(body).ok()
}

/// Servers exist that write our number as a string.
fn is_same(own: &RequestId, id: &RequestId) -> bool {
    own == id
        || matches!((own, id), (RequestId::Number(own), RequestId::String(id)) if own.to_string() == *id)
}
