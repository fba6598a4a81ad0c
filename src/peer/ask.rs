//! Asking the peer while one of its requests is served.
//!
//! A function on what every [`Outlet`] has, and not a method of it: programs that never ask do not link it.

use std::time::{Duration, Instant};

use super::pending::NoSlot;
use super::{Call, NoResult, NotSent, Outlet, Patient, Pending, Waited, Waiting, serve, wait};
use crate::json::Json;
use crate::jsonrpc::{ErrorObject, RequestId, write_call, write_json};

/// A question: a request to the peer.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// A JSON object.
    pub(crate) params: Json,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub(crate) enum NotAnswered {
    /// The peer's error.
    Refused(ErrorObject),
    /// After this long.
    TimedOut(Duration),
    /// The request that is served was cancelled.
    Cancelled(String),
    /// The connection has ended.
    Closed,
    /// Too much is under way already, or the answer cannot be read.
    Failed(String),
    /// There is nobody to ask.
    NoPeer,
}

/// Asks all `questions` at once for the sake of `call` and waits: for all answers, at most `patience`, or until `call` is
/// cancelled. One outcome a question, in their order; if one cannot be sent, that is the outcome of all.
///
/// A thread that reads lends the reading role while it runs a call, so a stand-by reads the answers.
pub(crate) fn ask(
    outlet: &dyn Outlet,
    call: &Call,
    questions: &[Asked],
    patience: Option<Duration>,
) -> Vec<Result<Json, NotAnswered>> {
    let Some(pending) = outlet.pending() else {
        return questions.iter().map(|_| Err(NotAnswered::NoPeer)).collect();
    };
    let asking = Asking { outlet, pending, call, start: Instant::now(), patience };
    let open: Vec<_> = questions.iter().map(|question| asking.begin(question)).collect();
    if let Some(failed) = open.iter().find_map(|waiting| waiting.as_ref().err()).cloned() {
        // Nobody is to think about the others, and nobody to wait for them.
        open.iter().flatten().for_each(|waiting| asking.withdraw(waiting, "another question was not sent"));
        return questions.iter().map(|_| Err(failed.clone())).collect();
    }
    open.into_iter().map(|waiting| waiting.and_then(|waiting| asking.finish(&waiting))).collect()
}

struct Asking<'a> {
    outlet: &'a dyn Outlet,
    pending: &'a Pending,
    call: &'a Call,
    start: Instant,
    patience: Option<Duration>,
}

impl Asking<'_> {
    fn begin(&self, question: &Asked) -> Result<Waiting, NotAnswered> {
        if let Some(reason) = self.call.cancel.reason() {
            return Err(NotAnswered::Cancelled(reason.to_owned()));
        }
        let waiting = self.pending.register(false).map_err(|no_slot| match no_slot {
            NoSlot::Full(limit) => {
                NotAnswered::Failed(format!("{limit} questions wait for an answer already"))
            }
            NoSlot::Closed => NotAnswered::Closed,
        })?;
        let id = RequestId::Number(waiting.id);
        let sent = self.send(Some(&id), &question.method, question.params.as_str());
        sent.map_err(|not_sent| {
            self.pending.forget(waiting.id);
            match not_sent {
                NotSent::Full(limit) => {
                    NotAnswered::Failed(format!("{limit} bytes wait for a client that does not read"))
                }
                NotSent::Closed(_) => NotAnswered::Closed,
            }
        })?;
        Ok(waiting)
    }

    fn finish(&self, waiting: &Waiting) -> Result<Json, NotAnswered> {
        let patient = Patient { each: self.patience, total: None, resets: false };
        let look = || self.outlet.look_after();
        match wait(waiting, self.start, patient, Some(&self.call.cancel), None, &look) {
            Waited::Answer(answer) => {
                self.pending.give_back(waiting);
                answer.map_err(|none| match none {
                    NoResult::Error(error) => NotAnswered::Refused(error),
                    NoResult::Garbled(problem) => NotAnswered::Failed(problem),
                    NoResult::Failed(failure) => NotAnswered::Failed(failure.problem),
                })
            }
            Waited::TimedOut(after) => {
                self.withdraw(waiting, "timeout");
                Err(NotAnswered::TimedOut(after))
            }
            Waited::Cancelled(reason) => {
                self.withdraw(waiting, &reason);
                Err(NotAnswered::Cancelled(reason))
            }
            Waited::Closed => Err(NotAnswered::Closed),
        }
    }

    /// spec: 2025-11-25 basic/utilities/cancellation (either side may give up a request of its own)
    fn withdraw(&self, waiting: &Waiting, reason: &str) {
        if !self.pending.forget(waiting.id) {
            return;
        }
        let mut params = format!("{{\"requestId\":{},\"reason\":", waiting.id).into_bytes();
        write_json(&mut params, reason);
        params.push(b'}');
        let params = String::from_utf8_lossy(&params);
        if let Err(e) = self.send(None, "notifications/cancelled", &params) {
            log::debug!("the cancellation of {} was not sent: {e:?}", waiting.id);
        }
    }

    fn send(&self, id: Option<&RequestId>, method: &str, params: &str) -> Result<(), NotSent> {
        serve::with_buffer(|frame| {
            write_call(frame, id, method, Some(params));
            frame.push(b'\n');
            self.outlet.send(self.call, frame)
        })
    }
}
