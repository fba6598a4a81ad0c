//! One request: its options, its one outcome.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::input::{Round, Rounds};
#[cfg(feature = "validation")]
use super::results::Expected;
use super::session::{Session, Settled};
use super::trace::TraceContext;
use crate::error::{Error, Phase, Result};
use crate::json::{FromJson, Json, Members, Object};
use crate::jsonrpc::write_json;
use crate::method::Method;
use crate::peer::{NoResult, NotStarted, Patient, Waited, Waiting, wait};
use crate::protocol::LogLevel;
use crate::protocol::input::RequestState;
use crate::protocol::lifecycle::ResultType;
use crate::protocol::notice::{CancelledParams, ProgressParams};
use crate::sync::{CancelToken, Deadline};

type OnProgress = Arc<dyn Fn(&ProgressParams) + Send + Sync>;

/// What can be set for one call. What is not set is the client's.
///
/// ```
/// use std::time::Duration;
/// use tinymcp::client::CallOptions;
///
/// let options = CallOptions::default()
///     .with_timeout(Duration::from_secs(5))
///     .with_progress(|progress| println!("{} of {:?}", progress.progress, progress.total));
/// # let _ = options;
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct CallOptions {
    timeout: Option<Option<Duration>>,
    total: Option<Option<Duration>>,
    resets: Option<bool>,
    cancel: Option<CancelToken>,
    on_progress: Option<OnProgress>,
    pub(super) meta: Object,
    pub(super) log_level: Option<LogLevel>,
    pub(super) trace: Option<TraceContext>,
    pub(super) is_fresh: bool,
    pub(super) input: Option<Arc<Round>>,
    /// Asks for a task, which is to be kept so long.
    pub(super) task: Option<Option<Duration>>,
    /// What a caller that knows the tool expects of the result.
    #[cfg(feature = "validation")]
    pub(super) expected: Option<Arc<Expected>>,
}

impl CallOptions {
    /// How long to wait for the answer; `None` is for ever.
    #[must_use]
    pub fn with_timeout(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.timeout = Some(time.into());
        self
    }

    /// How long to wait in all, however much progress is reported; `None` is for ever.
    #[must_use]
    pub fn with_total(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.total = Some(time.into());
        self
    }

    /// Lets progress start the timeout anew, up to the total. Progress is then asked for, with or without a callback.
    #[must_use]
    pub fn with_reset_on_progress(mut self) -> Self {
        self.resets = Some(true);
        self
    }

    /// Gives the call up, and tells the server so, when `token` fires.
    #[must_use]
    pub fn with_cancel(mut self, token: &CancelToken) -> Self {
        self.cancel = Some(token.clone());
        self
    }

    /// Goes on with a call that ended in [`Outcome::InputRequired`](super::Outcome::InputRequired): `answers` are by the
    /// keys of its questions, each the result that such a question asks for, and `state` is what the server wants
    /// back, unchanged. They belong to that call, made with the same name and arguments, and to no other. From
    /// 2026-07-28 on.
    #[must_use]
    pub fn with_input(mut self, answers: Object, state: Option<RequestState>) -> Self {
        self.input = Some(Arc::new(Round { answers, state }));
        self
    }

    /// Asks a 2025-11-25 server to run the call as a task and to keep that for `ttl`, counted from its beginning; `None` leaves
    /// it to the server. It is needed for tools whose [`task_support`](crate::protocol::ToolDefinition::task_support) is
    /// `Required`. A server without tasks is [`Error::Unsupported`]; a Modern one decides by itself, for clients
    /// built with [`tasks`](super::ClientBuilder::tasks).
    #[must_use]
    pub fn with_task(mut self, ttl: impl Into<Option<Duration>>) -> Self {
        self.task = Some(ttl.into());
        self
    }

    /// The same for a request about a task that the call became, with `total` as the time in all.
    pub(super) fn of_task(&self, total: Option<Option<Duration>>) -> Self {
        let total = total.or(self.total);
        Self { total, resets: Some(false), on_progress: None, input: None, task: None, ..self.clone() }
    }

    pub(super) fn cancel(&self) -> Option<&CancelToken> {
        self.cancel.as_ref()
    }

    pub(super) fn total(&self, session: &Session) -> Option<Duration> {
        self.total.unwrap_or(session.config.timeouts.call_total)
    }

    pub(super) fn timeout(&self, session: &Session) -> Option<Duration> {
        self.timeout.unwrap_or(session.config.timeouts.call)
    }

    /// Whoever gave the call up before it was sent does not want it to be.
    pub(super) fn check_cancelled(&self) -> Result<()> {
        match self.cancel.as_ref().filter(|token| token.is_cancelled()) {
            Some(token) => Err(Error::Cancelled(token.reason().unwrap_or("cancelled").to_owned())),
            None => Ok(()),
        }
    }

    /// Asks for progress. `callback` runs on the thread that waits for the result, in order, and never after it.
    #[must_use]
    pub fn with_progress(mut self, callback: impl Fn(&ProgressParams) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Arc::new(callback));
        self
    }

    /// Adds a member to the request's `_meta`.
    #[must_use]
    pub fn with_meta<T: Serialize + ?Sized>(mut self, name: impl Into<String>, value: &T) -> Self {
        self.meta.insert(name, value);
        self
    }
}

impl fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions")
            .field("timeout", &self.timeout)
            .field("total", &self.total)
            .finish_non_exhaustive()
    }
}

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
        let input = options.input.as_deref();
        if input.is_some() && !settled.is_modern() {
            let version = &settled.identity.version;
            return Err(Error::Unsupported(format!("revision {version} has no answers in a call")));
        }
        Self::send(session, settled, method.into(), write_members, options, input)
    }

    /// The next round: the same request with the server's state and the answers, under an id of its own.
    ///
    /// spec: 2026-07-28 basic/patterns/mrtr#client-requirements-basic-workflow
    pub(super) fn again(&self, write_members: &dyn Fn(&mut Vec<u8>), round: Option<&Round>) -> Result<Self> {
        self.options.check_cancelled()?;
        let (session, settled) = (&self.session, Arc::clone(&self.settled));
        let next = Self::send(session, settled, self.method.clone(), write_members, &self.options, round)?;
        Ok(Self { began: Some(self.began()), ..next })
    }

    /// When the first round of the call was sent.
    pub(super) fn began(&self) -> Instant {
        self.began.unwrap_or(self.start)
    }

    fn send(
        session: &Arc<Session>,
        settled: Arc<Settled>,
        method: Cow<'static, str>,
        write_members: &dyn Fn(&mut Vec<u8>),
        options: &CallOptions,
        round: Option<&Round>,
    ) -> Result<Self> {
        let start = Instant::now();
        let wants_progress = options.on_progress.is_some()
            || options.resets.unwrap_or(session.config.timeouts.reset_on_progress);
        let fields = options.fields(session, &settled, &method);
        let sent = settled.peer.request(&method, wants_progress, |out, id| {
            out.push(b'{');
            let before = out.len();
            write_members(out);
            if let Some(round) = round {
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
        let waiting = sent.map_err(|not_started| match not_started {
            NotStarted::Busy(problem) => Error::Busy(problem),
            NotStarted::Closed => {
                session.closed(Phase::Call(method.to_string()), Some(&settled.peer), start.elapsed())
            }
        })?;
        let (session, options) = (Arc::clone(session), Arc::new(options.clone()));
        Ok(Self { session, settled, method, waiting, start, began: None, options })
    }

    /// Waits for the answer to this round.
    pub(super) fn wait(&self) -> Result<Json> {
        let defaults = &self.session.config.timeouts;
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
                resets: self.options.resets.unwrap_or(defaults.reset_on_progress),
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
        let failure = self.session.failure(phase, Some(&self.settled.peer), after);
        let is_idempotent = Method::from_name(&self.method).is_some_and(Method::is_idempotent);
        if is_idempotent { Error::Closed(failure) } else { Error::OutcomeUnknown(failure) }
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
    start_request(session, settled, method, params, options)?.wait()
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
    let open = Open::start(session, settled, method.name(), &write, options)?;
    let answer = open.wait();
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
