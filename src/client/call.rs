//! One call: its options, its handle, its one outcome.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::session::{Session, Settled};
use crate::era::read_call_result;
use crate::error::{Error, Phase, Result};
use crate::json::{FromJson, Json, Object};
use crate::jsonrpc::write_json;
use crate::method::Method;
use crate::peer::{NoResult, NotStarted, Patient, Waited, Waiting, wait};
use crate::protocol::lifecycle::ResultType;
use crate::protocol::notice::{CancelledParams, ProgressParams};
use crate::protocol::tool::CallToolResult;
use crate::protocol::version::ProtocolVersion;
use crate::sync::CancelToken;

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
    meta: Object,
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

    /// Whoever gave the call up before it was sent does not want it to be.
    fn check_cancelled(&self) -> Result<()> {
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

/// An open call. Dropping it without [`wait`](Self::wait) gives the call up and tells the server so.
#[must_use = "dropping the handle gives the call up"]
pub struct CallHandle {
    open: Option<Open>,
}

impl CallHandle {
    /// Waits for the result.
    ///
    /// # Errors
    /// As [`ClientHandle::call_tool`](super::ClientHandle::call_tool).
    pub fn wait(mut self) -> Result<CallToolResult> {
        match self.open.take() {
            Some(open) => {
                let settled = Arc::clone(&open.settled);
                tool_result(&open.wait()?, &settled.identity.version)
            }
            None => Err(Error::InvalidUse("the call has been waited for".into())),
        }
    }

    /// Gives the call up and tells the server why.
    pub fn cancel(mut self, reason: &str) {
        if let Some(open) = self.open.take() {
            open.give_up(reason);
        }
    }

    /// The id of the request.
    #[must_use]
    pub fn request_id(&self) -> Option<crate::RequestId> {
        self.open.as_ref().map(|open| open.waiting.id.into())
    }
}

impl Drop for CallHandle {
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            open.give_up("abandoned");
        }
    }
}

impl fmt::Debug for CallHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallHandle").field("id", &self.request_id()).finish_non_exhaustive()
    }
}

/// A request that has been sent.
pub(super) struct Open {
    session: Arc<Session>,
    /// Of the connection on which it was sent: there may be another by the time the answer comes.
    settled: Arc<Settled>,
    method: Cow<'static, str>,
    waiting: Waiting,
    start: Instant,
    options: CallOptions,
}

impl Open {
    fn start(
        session: &Arc<Session>,
        settled: Arc<Settled>,
        method: impl Into<Cow<'static, str>>,
        write_members: impl FnOnce(&mut Vec<u8>),
        options: &CallOptions,
    ) -> Result<Self> {
        options.check_cancelled()?;
        let start = Instant::now();
        let wants_progress = options.on_progress.is_some()
            || options.resets.unwrap_or(session.config.timeouts.reset_on_progress);
        let method = method.into();
        let sent = settled.peer.request(&method, wants_progress, |out, id| {
            out.push(b'{');
            let before = out.len();
            write_members(out);
            if out.len() > before {
                out.push(b',');
            }
            if !settled.stamp.write(out, wants_progress.then_some(id), &options.meta) && out.len() > before {
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
        Ok(Self { session: Arc::clone(session), settled, method, waiting, start, options: options.clone() })
    }

    pub(super) fn wait(self) -> Result<Json> {
        let defaults = &self.session.config.timeouts;
        let patient = Patient {
            each: self.options.timeout.unwrap_or(defaults.call),
            total: self.options.total.unwrap_or(defaults.call_total),
            resets: self.options.resets.unwrap_or(defaults.reset_on_progress),
        };
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
        let on_progress = self.options.on_progress.is_some().then_some(&mut report as &mut dyn FnMut(&Json));
        let peer = &self.settled.peer;
        let look = || peer.look_after();
        let cancel = self.options.cancel.as_ref();
        let waited = wait(&self.waiting, self.start, patient, cancel, on_progress, &look);
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

    /// Stops waiting and tells the server, without waiting for it to read that.
    fn give_up(self, reason: &str) {
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

/// `arguments` as the text of a JSON object.
pub(super) fn arguments(arguments: impl Serialize) -> Result<Json> {
    let json = Json::new(&arguments).map_err(|e| Error::InvalidUse(format!("arguments are no JSON: {e}")))?;
    match json.as_str().as_bytes().first() {
        Some(b'{') => Ok(json),
        _ if json.as_str() == "null" => Ok(Json::empty_object()),
        _ => Err(Error::InvalidUse(format!("arguments must be a JSON object, not {:.40}", json.as_str()))),
    }
}

/// Sends a tool call.
pub(super) fn start(
    session: &Arc<Session>,
    name: &str,
    arguments: &Json,
    options: &CallOptions,
) -> Result<CallHandle> {
    let write = |out: &mut Vec<u8>| {
        out.extend_from_slice(b"\"name\":");
        write_json(out, name);
        out.extend_from_slice(b",\"arguments\":");
        out.extend_from_slice(arguments.as_str().as_bytes());
    };
    let settled = settled(session, options)?;
    Ok(CallHandle { open: Some(Open::start(session, settled, "tools/call", write, options)?) })
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
    let write = |out: &mut Vec<u8>| {
        for (i, (name, value)) in params.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            write_json(out, name);
            out.push(b':');
            out.extend_from_slice(value.as_str().as_bytes());
        }
    };
    Open::start(session, settled, method.to_owned(), write, options)
}

/// Reads a tool's result.
fn tool_result(result: &Json, version: &ProtocolVersion) -> Result<CallToolResult> {
    let result = read_call_result(result.as_raw(), version)
        .map_err(|e| Error::Protocol(format!("the result of tools/call: {e}")))?;
    must_be_complete(result.result_type.as_ref())?;
    Ok(result)
}

/// Whether the result says that it is whole.
pub(super) fn must_be_complete(kind: Option<&ResultType>) -> Result<()> {
    // spec: 2026-07-28 basic/index#resulttype (absent is complete; an unrecognized value is invalid)
    match kind.map(ResultType::as_str) {
        None | Some("complete") => Ok(()),
        Some(other) => Err(Error::Unsupported(format!("a result of type {other}"))),
    }
}
