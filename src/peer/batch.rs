//! Batches: several messages in one frame, in revision 2025-03-26 alone.
//!
//! Everything in a batch is accepted when it is read, so that it can be cancelled; one worker serves its requests in turn
//! and sends the answers together.
//!
//! spec: 2025-03-26 basic/index#batching

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::serve::Outcome;
use super::{Call, Ground, NotSent, Request, Shared};
use crate::json::Json;
use crate::jsonrpc::{BadFrame, ErrorObject, Incoming, RequestId, begin_result, write_error};
use crate::sync::Refused;

/// More messages than this are refused together. Each may cost an answer that is much longer than itself.
const MAX_MESSAGES: usize = 4096;

/// An accepted request of a batch.
struct Item {
    call: Arc<Call>,
    method: String,
    params: Option<Json>,
}

impl Shared {
    /// Acts on a batch; from the reading thread.
    pub(super) fn accept_batch(self: &Arc<Self>, frame: &[u8]) {
        let messages = match split(frame) {
            Ok(messages) => messages,
            Err(problem) => return self.refuse(frame, &BadFrame::batch(problem)),
        };
        let mut answers = Vec::new();
        let mut items = Vec::new();
        for message in messages {
            match Incoming::decode(message.get().as_bytes()) {
                // spec: 2025-03-26 basic/lifecycle (initialize is never part of a batch)
                Ok(Incoming::Request { id, method, .. }) if method == "initialize" => {
                    let error = ErrorObject::invalid_request("initialize cannot be part of a batch");
                    answers.push(self.error_answer(Some(&id), &error));
                }
                Ok(Incoming::Request { id, method, params })
                    if method == "ping" && !self.role.is_modern(params) && !self.in_flight.is_open(&id) =>
                {
                    answers.push(pong(&id));
                }
                Ok(Incoming::Request { id, method, params }) => {
                    if let Some(call) = self.admit(id, Request { method: &method, params }) {
                        items.push(Item {
                            call,
                            method: method.into_owned(),
                            params: params.map(Json::of_frame),
                        });
                    }
                }
                Ok(other) => self.hear(other),
                Err(bad) => {
                    let error = self.role.bad_frame(frame, &bad);
                    answers.extend(error.map(|error| self.error_answer(bad.id.as_ref(), &error)));
                }
            }
        }
        if items.is_empty() {
            return self.answer_batch(&answers, |frame| self.outbox.push_waiting(frame));
        }
        self.serve_batch(items, answers);
    }

    /// Sends the answers of a batch, if there are any, and if this connection carries answers of ours.
    fn answer_batch(&self, answers: &[Vec<u8>], send: impl FnOnce(&[u8]) -> Result<(), NotSent>) {
        if !answers.is_empty() && self.role.may_respond() {
            let frame = [b"[", answers.join(&b',').as_slice(), b"]\n"].concat();
            self.sent(send(&frame));
        }
    }

    /// An error in the answer to a batch; without the id if that belongs to an open call, whose answer it is not.
    fn error_answer(&self, id: Option<&RequestId>, error: &ErrorObject) -> Vec<u8> {
        let mut frame = Vec::new();
        write_error(&mut frame, id.filter(|id| !self.in_flight.is_open(id)), error);
        frame
    }

    fn serve_batch(self: &Arc<Self>, items: Vec<Item>, given: Vec<Vec<u8>>) {
        let shared = Arc::clone(self);
        let mut answers = given.clone();
        let calls: Vec<_> = items.iter().map(|item| Arc::clone(&item.call)).collect();
        let accepted = self.pool.execute(move |_| {
            for item in &items {
                let request =
                    Request { method: &item.method, params: item.params.as_ref().map(Json::as_raw) };
                let mut answer = Vec::new();
                if shared.serve(&item.call, request, Ground::Worker, &mut answer) == Outcome::Answer {
                    answer.pop(); // the line's end
                    answers.push(answer);
                }
            }
            shared.answer_batch(&answers, |frame| shared.outbox.send(frame));
            items.iter().for_each(|_| shared.in_flight.end());
        });
        if let Err(refused) = accepted {
            self.answer_batch(&given, |frame| self.outbox.push_waiting(frame));
            for call in calls {
                self.answer_refused(&call, &refused);
            }
        }
    }

    /// Answers a call that no worker takes.
    pub(super) fn answer_refused(&self, call: &Arc<Call>, refused: &Refused) {
        let problem = match refused {
            Refused::Full(limit) => format!("server busy: {limit} requests wait"),
            Refused::NoThread(e) => format!("server busy: no thread: {e}"),
            Refused::Closed => "server is ending".to_owned(),
        };
        if self.in_flight.finish(call) {
            self.answer(Some(&call.id), &ErrorObject::internal(problem));
        }
        self.in_flight.end();
    }
}

/// The messages of a batch.
pub(crate) fn split(frame: &[u8]) -> Result<Vec<&RawValue>, String> {
    let mut deserializer = serde_json::Deserializer::from_slice(frame);
    let messages = deserializer.deserialize_seq(Messages).map_err(|e| e.to_string())?;
    if messages.is_empty() { Err("a batch needs at least one message".to_owned()) } else { Ok(messages) }
}

struct Messages;

impl<'a> Visitor<'a> for Messages {
    type Value = Vec<&'a RawValue>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a batch")
    }
    fn visit_seq<A: SeqAccess<'a>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut messages = Vec::new();
        while let Some(message) = items.next_element()? {
            if messages.len() == MAX_MESSAGES {
                return Err(A::Error::custom(format_args!("a batch has at most {MAX_MESSAGES} messages")));
            }
            messages.push(message);
        }
        Ok(messages)
    }
}

fn pong(id: &RequestId) -> Vec<u8> {
    let mut frame = Vec::new();
    begin_result(&mut frame, Some(id));
    frame.extend_from_slice(b"{}}");
    frame
}
