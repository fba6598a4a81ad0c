//! One request: how it is sent, its one outcome.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::input::{Round, Rounds};
pub(super) use super::options::CallOptions;
use super::resend::answer;
use super::session::{Session, Settled};
use crate::error::{Error, Phase, Result};
use crate::json::{FromJson, Json, Members};
use crate::jsonrpc::write_json;
use crate::method::Method;
use crate::peer::{NoResult, NotStarted, Patient, Waited, Waiting, wait};
use crate::protocol::lifecycle::ResultType;
use crate::protocol::notice::{CancelledParams, ProgressParams};
use crate::sync::Deadline;

/// A request that has been sent.
pub(super) struct Open {
    pub(super) session: Arc<Session>,
    /// Of the connection on which it was sent: there may be another by the time the answer comes.
    pub(super) settled: Arc<Settled>,
    pub(super) method: Cow<'static, str>,
    pub(super) waiting: Waiting,
    start: Instant,
    /// When the first round of the call was sent, if this is a later one.
    began: Option<Instant>,
    /// Shared, as an open call is moved about, and options are large.
    pub(super) options: Arc<CallOptions>,
}

impl Open {
    pub(super) fn start(
        session: &Arc<Session>,
        settled: Arc<Settled>,
        method: impl Into<Cow<'static, str>>,
        write_members: &dyn Fn(&mut Vec<u8>),
        options: &CallOptions,
    ) -> Result<Self> {
        options.check_cancelled()?;
        options.check_input(&settled)?;
        let method = method.into();
        #[cfg(feature = "host")]
        options.check_connection(session, &settled, &method)?;
        Self::send(session, settled, method, write_members, Arc::new(options.clone()), !options.stays)
    }

    /// The next round: the same request with the server's state and the answers, under an id of its own.
    ///
    /// spec: 2026-07-28 basic/patterns/mrtr#client-requirements-basic-workflow
    pub(super) fn again(&self, write_members: &dyn Fn(&mut Vec<u8>), round: Option<Round>) -> Result<Self> {
        self.options.check_cancelled()?;
        self.options.note_begun();
        let mut options = (*self.options).clone();
        options.input = round.map(Arc::new);
        let (session, settled) = (&self.session, Arc::clone(&self.settled));
        let next =
            Self::send(session, settled, self.method.clone(), write_members, Arc::new(options), false)?;
        Ok(Self { began: Some(self.began()), ..next })
    }

    /// The same request once more, on the connection of `settled`, under an id of its own. Its timeout goes on, unless
    /// progress starts it anew or another connection had to be settled, which has a time of its own.
    pub(super) fn repeat(&self, settled: Arc<Settled>, write_members: &dyn Fn(&mut Vec<u8>)) -> Result<Self> {
        self.options.check_cancelled()?;
        let goes_on = settled.peer.is(&self.settled.peer) && !self.resets();
        let (method, options) = (self.method.clone(), Arc::clone(&self.options));
        let next = Self::send(&self.session, settled, method, write_members, options, false)?;
        let start = if goes_on { self.start } else { next.start };
        Ok(Self { start, began: Some(self.began()), ..next })
    }

    /// When the first round of the call was sent.
    pub(super) fn began(&self) -> Instant {
        self.began.unwrap_or(self.start)
    }

    /// Sends it on another connection if that of `settled` has been replaced since this was looked up, and it may be `moved`.
    fn send(
        session: &Arc<Session>,
        settled: Arc<Settled>,
        method: Cow<'static, str>,
        write_members: &dyn Fn(&mut Vec<u8>),
        options: Arc<CallOptions>,
        moved: bool,
    ) -> Result<Self> {
        let start = Instant::now();
        let wants_progress = options.on_progress.is_some()
            || options.resets.unwrap_or(session.config.timeouts.reset_on_progress);
        let fields = options.fields(session, &settled, &method);
        let sent = settled.peer.request(&method, wants_progress, |out, id| {
            out.push(b'{');
            let before = out.len();
            write_members(out);
            if let Some(round) = &options.input {
                round.write(out);
            }
            if out.len() > before {
                out.push(b',');
            }
            if !settled.stamp.write(out, wants_progress.then_some(id), &fields) && out.len() > before {
                out.pop();
            }
            out.push(b'}');
        });
        drop(fields);
        if moved && matches!(sent, Err(NotStarted::Closed)) && session.has_replaced(&settled) {
            let settled = session.settled(options.cancel())?;
            options.check_input(&settled)?;
            return Self::send(session, settled, method, write_members, options, false);
        }
        let waiting = sent.map_err(|not_started| match not_started {
            NotStarted::Busy(problem) => Error::Busy(problem),
            NotStarted::Closed => {
                session.closed(Phase::Call(method.to_string()), Some(&settled.peer), start.elapsed())
            }
        })?;
        let session = Arc::clone(session);
        Ok(Self { session, settled, method, waiting, start, began: None, options })
    }

    /// Waits for the answer to this round.
    pub(super) fn wait(&self) -> Result<Json> {
        let mut last = f64::NEG_INFINITY;
        let mut report = |params: &Json| match ProgressParams::from_json(params.as_raw()) {
            // spec: 2026-07-28 basic/patterns/progress (the value MUST increase)
            Ok(progress) if progress.progress > last => {
                last = progress.progress;
                if let Some(callback) = &self.options.on_progress {
                    callback(&progress);
                }
            }
            Ok(progress) => log::debug!("ignored progress {}: it was {last} before", progress.progress),
            Err(e) => log::debug!("ignored progress: {e}"),
        };
        let peer = &self.settled.peer;
        let look = || peer.look_after();
        let cancel = self.options.cancel.as_ref();
        let mut since = self.start;
        let waited = loop {
            let on_progress =
                self.options.on_progress.is_some().then_some(&mut report as &mut dyn FnMut(&Json));
            let spent = since.duration_since(self.began());
            let patient = Patient {
                each: self.options.timeout(&self.session),
                total: self.options.total(&self.session).map(|total| total.saturating_sub(spent)),
                resets: self.resets(),
            };
            match wait(&self.waiting, since, patient, cancel, on_progress, &look) {
                Waited::TimedOut(_) => match self.held_up().filter(|until| *until > since) {
                    Some(until) if !self.total().has_passed() => since = until,
                    _ => break Waited::TimedOut(self.start.elapsed()),
                },
                waited => break waited,
            }
        };
        if matches!(waited, Waited::Answer(_)) {
            peer.give_back(&self.waiting);
        }
        match waited {
            Waited::Answer(Ok(result)) => Ok(result),
            Waited::Answer(Err(NoResult::Error(error))) => Err(Error::Peer(error)),
            Waited::Answer(Err(NoResult::Failed(failure))) => {
                let (phase, after) = (Phase::Call(self.method.to_string()), self.start.elapsed());
                Err(self.session.lost(phase, peer, after, *failure, self.is_idempotent()))
            }
            // Half an answer is what a server leaves that died while it wrote.
            Waited::Answer(Err(NoResult::Garbled(_))) if self.has_ended_soon() => Err(self.broken()),
            Waited::Answer(Err(NoResult::Garbled(problem))) => {
                Err(Error::Protocol(format!("the answer to {} cannot be read: {problem}", self.method)))
            }
            Waited::TimedOut(after) => {
                let phase = Phase::Call(self.method.to_string());
                let failure = self.session.failure(phase, Some(peer), after);
                self.give_up("timeout");
                Err(Error::Timeout(failure))
            }
            Waited::Cancelled(reason) => {
                self.give_up(&reason);
                Err(Error::Cancelled(reason))
            }
            Waited::Closed => Err(self.broken()),
        }
    }

    /// When a Legacy server last waited for an answer of this client, before it could go on with this or another call.
    fn held_up(&self) -> Option<Instant> {
        if self.settled.is_modern() { None } else { self.session.answers.held_up.until() }
    }

    /// Whether progress starts the timeout anew.
    fn resets(&self) -> bool {
        self.options.resets.unwrap_or(self.session.config.timeouts.reset_on_progress)
    }

    /// Whether its method can be repeated.
    fn is_idempotent(&self) -> bool {
        Method::from_name(&self.method).is_some_and(Method::is_idempotent)
    }

    /// When this round is given up, as far as one can tell.
    pub(super) fn deadline(&self) -> Deadline {
        let timeout = if self.resets() { None } else { self.options.timeout(&self.session) };
        Deadline::of(self.start, timeout).earlier(self.total())
    }

    /// When the call is given up in all.
    pub(super) fn total(&self) -> Deadline {
        Deadline::of(self.began(), self.options.total(&self.session))
    }

    fn has_ended_soon(&self) -> bool {
        self.settled.peer.has_ended_within(Duration::from_millis(50))
    }

    /// The connection ended while the call was open.
    fn broken(&self) -> Error {
        let (phase, after) = (Phase::Call(self.method.to_string()), self.start.elapsed());
        let mut failure = self.session.failure(phase, Some(&self.settled.peer), after);
        failure.is_closed = true;
        if self.is_idempotent() {
            return Error::Closed(failure);
        }
        failure.detail.get_or_insert_with(|| "the connection closed".to_owned());
        Error::OutcomeUnknown(failure)
    }

    /// The call took too long in all.
    pub(super) fn overdue(&self) -> Error {
        let phase = Phase::Call(self.method.to_string());
        Error::Timeout(self.session.failure(phase, Some(&self.settled.peer), self.began().elapsed()))
    }

    /// Stops waiting and tells the server, without waiting for it to read that.
    pub(super) fn give_up(&self, reason: &str) {
        let peer = &self.settled.peer;
        // spec: 2026-07-28 basic/patterns/cancellation#behavior-requirements (only of what is believed to be in progress)
        if !peer.forget(self.waiting.id) {
            return; // the answer is here: there is nothing to cancel
        }
        let mut params = CancelledParams::new(self.waiting.id);
        params.reason = Some(reason.to_owned());
        let params = serde_json::to_string(&params).expect("wire types serialize");
        // spec: 2026-07-28 basic/patterns/cancellation (on stdio the client MUST send it)
        if let Err(e) = peer.notify("notifications/cancelled", Some(&params)) {
            log::debug!("the cancellation of {} was not sent: {e:?}", self.waiting.id);
        }
    }
}

/// What was settled, for a call. The handshake, if this is the first use, has a time of its own.
pub(super) fn settled(session: &Session, options: &CallOptions) -> Result<Arc<Settled>> {
    options.check_cancelled()?;
    session.settled(options.cancel.as_ref())
}

/// Sends any request on the connection for which this was settled, and waits for its result.
pub(super) fn request(
    session: &Arc<Session>,
    settled: Arc<Settled>,
    method: &str,
    params: &[(&str, Json)],
    options: &CallOptions,
) -> Result<Json> {
    request_on(session, settled, method, params, options).map(|(result, _)| result)
}

/// The same, and the connection that the result is of: another one if that for which this was settled is of no use any more.
pub(super) fn request_on(
    session: &Arc<Session>,
    settled: Arc<Settled>,
    method: &str,
    params: &[(&str, Json)],
    options: &CallOptions,
) -> Result<(Json, Arc<Settled>)> {
    let mut open = start_request(session, settled, method, params, options)?;
    let result = answer(&mut open, &|out| write_members(out, params))?;
    Ok((result, open.settled))
}

/// Sends any request on the connection for which this was settled.
pub(super) fn start_request(
    session: &Arc<Session>,
    settled: Arc<Settled>,
    method: &str,
    params: &[(&str, Json)],
    options: &CallOptions,
) -> Result<Open> {
    Open::start(session, settled, method.to_owned(), &|out| write_members(out, params), options)
}

/// The same for a request that a Modern server may answer with questions, in as many rounds as it takes; `name` is
/// what is asked for, for those who answer. The result does not ask anything; whether it is whole is for the caller
/// to look at. `true`: it is the answer to the request alone, and so may be cached.
///
/// spec: 2026-07-28 server/utilities/caching#cache-key (what depends on input MUST NOT be cached)
pub(super) fn request_in_rounds(
    session: &Arc<Session>,
    settled: Arc<Settled>,
    method: Method,
    name: &str,
    params: &[(&str, Json)],
    options: &CallOptions,
) -> Result<(Json, bool)> {
    let write = |out: &mut Vec<u8>| write_members(out, params);
    let mut open = Open::start(session, settled, method.name(), &write, options)?;
    let answer = answer(&mut open, &write);
    let mut rounds = Rounds::new(&open, name, &write);
    let result = rounds.finish(open, answer, |result, settled| {
        let kind = Members::of(result.as_raw()).ok().and_then(|mut members| members.lenient("resultType"));
        let asks = settled.is_modern() && kind == Some(ResultType::InputRequired);
        Ok((!asks).then(|| result.clone()))
    })?;
    Ok((result, rounds.is_first() && options.input.is_none()))
}

pub(super) fn write_members(out: &mut Vec<u8>, params: &[(&str, Json)]) {
    for (i, (name, value)) in params.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write_json(out, name);
        out.push(b':');
        out.extend_from_slice(value.as_str().as_bytes());
    }
}

/// Whether the result says that it is whole.
pub(super) fn must_be_complete(kind: Option<&ResultType>) -> Result<()> {
    // spec: 2026-07-28 basic/index#resulttype (absent is complete; an unrecognized value is invalid)
    match kind.map(ResultType::as_str) {
        None | Some("complete") => Ok(()),
        // spec: seps/2663-tasks-extension#capability-negotiation (an invalid response to all but tool calls)
        Some("task") => {
            Err(Error::Protocol("a task in answer to a request that cannot become one".to_owned()))
        }
        Some(other) => Err(Error::Unsupported(format!("a result of type {other}"))),
    }
}
