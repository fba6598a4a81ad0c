//! Serving one request of the peer: its one answer, whatever its handler does.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::{Call, Ground, NotSent, Outlet, Pending, Request, Served, Serving, Shared};
use crate::json::Json;
use crate::jsonrpc::{ErrorObject, Incoming, RequestId, begin_result, write_call, write_error};

thread_local! {
    /// Every frame is put together here, so that a call allocates none.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A buffer larger than this is given back after use.
const KEEP_BYTES: usize = 256 * 1024;

/// Lends the thread's buffer, empty. A nested use gets one of its own.
pub(super) fn with_buffer<T>(work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut buffer = BUFFER
        .with(|buffer| buffer.try_borrow_mut().map(|mut b| std::mem::take(&mut *b)).unwrap_or_default());
    buffer.clear();
    let result = work(&mut buffer);
    if buffer.capacity() <= KEEP_BYTES {
        BUFFER.with(|place| place.replace(buffer));
    }
    result
}

/// What is to be done after a request was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The frame holds its answer: send it.
    Answer,
    /// Nothing is sent: it was cancelled, or this side does not respond.
    Silence,
    /// It was not served: a worker is to do it.
    Elsewhere,
    /// Nothing is sent yet: it stays open.
    Open,
}

impl Shared {
    /// Serves `call` into `frame`.
    pub(super) fn serve(
        self: &Arc<Self>,
        call: &Arc<Call>,
        request: Request<'_>,
        ground: Ground,
        frame: &mut Vec<u8>,
    ) -> Outcome {
        frame.clear();
        begin_result(frame, Some(&call.id));
        // The role's own state is only changed by whole steps; a panic in a handler leaves it usable.
        let outlet: Arc<dyn Outlet> = Arc::<Self>::clone(self);
        let serving = Serving { outlet: &outlet, call, request, ground };
        let served = catch_unwind(AssertUnwindSafe(|| self.role.serve(serving, frame)));
        let result = match served {
            Ok(Served::Elsewhere) => return Outcome::Elsewhere,
            Ok(Served::Open) => return Outcome::Open,
            Ok(Served::Answered(result)) => result,
            Err(_) => {
                log::error!("the handler of {} panicked", request.method);
                Err(ErrorObject::internal(format!("the handler of {} panicked", request.method)))
            }
        };
        match result {
            Ok(()) => frame.push(b'}'),
            Err(error) => {
                frame.clear();
                write_error(frame, Some(&call.id), &error);
            }
        }
        frame.push(b'\n');
        if !self.in_flight.finish(call) {
            log::debug!("no answer to request {}: it was cancelled", call.id);
            return Outcome::Silence;
        }
        if self.role.may_respond() { Outcome::Answer } else { Outcome::Silence }
    }

    /// Has a worker serve `call`, or answers that there is none.
    pub(super) fn serve_on_worker(self: &Arc<Self>, call: Arc<Call>, request: Request<'_>) {
        let method = request.method.to_owned();
        let params = request.params.map(Json::of_frame);
        self.on_worker(call, move |shared, call, answer| {
            let request = Request { method: &method, params: params.as_ref().map(Json::as_raw) };
            shared.serve(call, request, Ground::Worker, answer)
        });
    }

    /// The same for a request that is still the frame it came in, which was read once without error.
    pub(super) fn serve_frame_on_worker(self: &Arc<Self>, call: Arc<Call>, frame: Vec<u8>) {
        self.on_worker(call, move |shared, call, answer| match Incoming::decode(&frame) {
            Ok(Incoming::Request { method, params, .. }) => {
                shared.serve(call, Request { method: &method, params }, Ground::Worker, answer)
            }
            _ => Outcome::Silence,
        });
    }

    /// Runs `serve` on a worker and sends what it put into the buffer, by when everything `serve` holds is freed.
    fn on_worker(
        self: &Arc<Self>,
        call: Arc<Call>,
        serve: impl FnOnce(&Arc<Self>, &Arc<Call>, &mut Vec<u8>) -> Outcome + Send + 'static,
    ) {
        let (shared, at_work) = (Arc::clone(self), Arc::clone(&call));
        let accepted = self.pool.execute(move |worker| {
            with_buffer(|answer| {
                // What was given up while it waited for a thread is not begun.
                let is_wanted = !at_work.cancel.is_cancelled();
                let outcome = if is_wanted { serve(&shared, &at_work, answer) } else { Outcome::Silence };
                worker.is_finishing();
                if outcome == Outcome::Answer {
                    shared.sent(shared.outbox.send(answer));
                }
            });
            shared.in_flight.end();
        });
        if let Err(refused) = accepted {
            self.answer_refused(&call, &refused);
        }
    }

    /// Leaves a notification to be written, in its turn among the others: while `call` is open, and if it `is_due` then.
    fn push_notice(
        &self,
        call: Option<&Call>,
        method: &str,
        params: Option<&str>,
        is_due: &dyn Fn() -> bool,
    ) -> Result<(), NotSent> {
        with_buffer(|frame| {
            write_call(frame, None, method, params);
            frame.push(b'\n');
            let push = || is_due().then(|| self.outbox.push(frame));
            let pushed = match call {
                Some(call) => call.while_open(push).flatten(),
                None => push(),
            };
            pushed
                .unwrap_or_else(|| Err(NotSent::Closed("it was overtaken, or the request has ended".into())))
        })
    }

    /// Answers with an error, from the reading thread: it is left for another thread to write.
    pub(super) fn answer(&self, id: Option<&RequestId>, error: &ErrorObject) {
        if !self.role.may_respond() {
            log::debug!("no answer on this connection: {error}");
            return;
        }
        with_buffer(|frame| {
            write_error(frame, id, error);
            frame.push(b'\n');
            self.sent(self.outbox.push_waiting(frame));
        });
    }

    /// An answer that cannot be sent has lost its reader: there is nobody to tell.
    pub(super) fn sent(&self, sent: Result<(), NotSent>) {
        if let Err(reason) = sent {
            log::debug!("an answer was not sent: {reason:?}");
        }
    }
}

impl Outlet for Shared {
    fn notify(&self, call: &Call, method: &str, params: &str, is_due: &dyn Fn() -> bool) -> bool {
        let pushed = self.push_notice(Some(call), method, Some(params), is_due);
        match &pushed {
            Ok(()) => self.outbox.flush(),
            Err(reason) => log::debug!("dropped {method} of request {}: {reason:?}", call.id),
        }
        pushed.is_ok()
    }

    fn post(&self, call: Option<&Call>, method: &str, params: Option<&str>) -> Result<(), NotSent> {
        let pushed = self.push_notice(call, method, params, &|| true);
        self.outbox.nudge();
        pushed
    }

    fn pending(&self) -> Option<&Pending> {
        Some(&self.pending)
    }

    fn send(&self, _call: &Call, frame: &[u8]) -> Result<(), NotSent> {
        self.outbox.send(frame)
    }

    fn look_after(&self) {
        Self::look_after(self);
    }

    fn answer(&self, call: &Arc<Call>, result: Result<&str, &ErrorObject>, waits: bool) {
        with_buffer(|frame| {
            match result {
                Ok(result) => {
                    begin_result(frame, Some(&call.id));
                    frame.extend_from_slice(result.as_bytes());
                    frame.push(b'}');
                }
                Err(error) => write_error(frame, Some(&call.id), error),
            }
            frame.push(b'\n');
            if !self.in_flight.finish(call) || !self.role.may_respond() {
                return;
            }
            if waits {
                self.sent(self.outbox.send(frame));
            } else {
                self.sent(self.outbox.push(frame));
                self.outbox.nudge();
            }
        });
    }
}

/// The error of a request that arrives while as many as allowed are open.
pub(crate) fn busy(limit: usize) -> ErrorObject {
    ErrorObject::internal(format!("server busy: {limit} requests in flight"))
}
