//! Asking the peer while one of its requests is served.

use std::time::{Duration, Instant};

use super::{Call, NoResult, NotStarted, Patient, Shared, Waited, Waiting, serve, wait};
use crate::json::Json;
use crate::jsonrpc::{ErrorObject, write_call, write_json};

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

impl Shared {
    /// Asks all `questions` at once and waits for the answers. The reading role is not this thread's while it waits: a
    /// call that was thought to be short has lent it.
    pub(super) fn ask_peer(
        &self,
        call: &Call,
        questions: &[Asked],
        patience: Option<Duration>,
    ) -> Vec<Result<Json, NotAnswered>> {
        let start = Instant::now();
        let open: Vec<_> = questions.iter().map(|question| self.start_asking(call, question)).collect();
        open.into_iter()
            .map(|waiting| waiting.and_then(|waiting| self.await_answer(call, &waiting, start, patience)))
            .collect()
    }

    fn start_asking(&self, call: &Call, question: &Asked) -> Result<Waiting, NotAnswered> {
        if let Some(reason) = call.cancel.reason() {
            return Err(NotAnswered::Cancelled(reason.to_owned()));
        }
        self.request(&question.method, false, |out, _| {
            out.extend_from_slice(question.params.as_str().as_bytes())
        })
        .map_err(|not_started| match not_started {
            NotStarted::Busy(problem) => NotAnswered::Failed(problem),
            NotStarted::Closed => NotAnswered::Closed,
        })
    }

    fn await_answer(
        &self,
        call: &Call,
        waiting: &Waiting,
        start: Instant,
        patience: Option<Duration>,
    ) -> Result<Json, NotAnswered> {
        let patient = Patient { each: patience, total: None, resets: false };
        match wait(waiting, start, patient, Some(&call.cancel), None, &|| self.look_after()) {
            Waited::Answer(answer) => {
                self.pending.give_back(waiting);
                answer.map_err(|none| match none {
                    NoResult::Error(error) => NotAnswered::Refused(error),
                    NoResult::Garbled(problem) => NotAnswered::Failed(problem),
                })
            }
            Waited::TimedOut(after) => {
                self.give_up(waiting, "timeout");
                Err(NotAnswered::TimedOut(after))
            }
            Waited::Cancelled(reason) => {
                self.give_up(waiting, &reason);
                Err(NotAnswered::Cancelled(reason))
            }
            Waited::Closed => Err(NotAnswered::Closed),
        }
    }

    /// spec: 2025-11-25 basic/utilities/cancellation (either side may give up a request of its own)
    fn give_up(&self, waiting: &Waiting, reason: &str) {
        if !self.pending.forget(waiting.id) {
            return;
        }
        let mut params = format!("{{\"requestId\":{},\"reason\":", waiting.id).into_bytes();
        write_json(&mut params, reason);
        params.push(b'}');
        let params = String::from_utf8_lossy(&params);
        let sent = serve::with_buffer(|frame| {
            write_call(frame, None, "notifications/cancelled", Some(&params));
            frame.push(b'\n');
            self.outbox.push(frame)
        });
        self.sent(sent);
        self.outbox.nudge();
    }
}
