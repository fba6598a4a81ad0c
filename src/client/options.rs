//! [`CallOptions`]: what can be set for one call.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::input::Round;
use super::notes::CallNotes;
#[cfg(feature = "validation")]
use super::results::Expected;
use super::session::{Session, Settled};
use super::trace::TraceContext;
use crate::error::{Error, Result};
use crate::json::Object;
use crate::protocol::LogLevel;
use crate::protocol::input::RequestState;
use crate::protocol::notice::ProgressParams;
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
    pub(super) timeout: Option<Option<Duration>>,
    pub(super) total: Option<Option<Duration>>,
    pub(super) resets: Option<bool>,
    pub(super) cancel: Option<CancelToken>,
    pub(super) on_progress: Option<OnProgress>,
    pub(super) meta: Object,
    pub(super) log_level: Option<LogLevel>,
    pub(super) trace: Option<TraceContext>,
    pub(super) is_fresh: bool,
    /// What goes with the request beyond its own members; in a later round that of this round.
    pub(super) input: Option<Arc<Round>>,
    /// Asks for a task, which is to be kept so long.
    pub(super) task: Option<Option<Duration>>,
    /// What a caller that knows the tool expects of the result.
    #[cfg(feature = "validation")]
    pub(super) expected: Option<Arc<Expected>>,
    /// A caller that knows the tool knows that calling it again does no harm.
    pub(super) is_repeatable: bool,
    pub(super) notes: Option<CallNotes>,
    /// It belongs to the connection for which this was settled, and is not made on another.
    pub(super) stays: bool,
    /// The connection on which alone it is made.
    #[cfg(feature = "host")]
    pub(super) only_on: Option<super::hosted::Mark>,
    /// Set once the call is known to have begun on the server, whatever becomes of the request that is open now.
    #[cfg(feature = "host")]
    pub(super) begun: Option<super::hosted::Begun>,
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

    /// Says that making this call twice does no more than making it once, whatever its tool says of itself: after its outcome was
    /// lost it may be made again.
    #[must_use]
    pub fn with_repeatable(mut self) -> Self {
        self.is_repeatable = true;
        self
    }

    /// Lets those on the request's way note in `notes` which way that was. They are read once it is over.
    #[must_use]
    pub fn with_notes(mut self, notes: &CallNotes) -> Self {
        self.notes = Some(notes.clone());
        self
    }

    /// Where to note which way the request goes; `None` if nobody wants to know.
    #[must_use]
    pub fn notes(&self) -> Option<&CallNotes> {
        self.notes.as_ref()
    }

    /// The same for a request about a task that the call became, with `total` as the time in all.
    pub(super) fn of_task(&self, total: Option<Option<Duration>>) -> Self {
        let total = total.or(self.total);
        Self { total, resets: Some(false), on_progress: None, input: None, task: None, ..self.clone() }
    }

    pub(crate) fn cancel(&self) -> Option<&CancelToken> {
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

    /// The server has begun with the call: what fails from now on is not all of it.
    #[inline]
    pub(super) fn note_begun(&self) {
        #[cfg(feature = "host")]
        if let Some(begun) = &self.begun {
            begun.note();
        }
    }

    /// Not on another connection than that for which this was settled.
    pub(super) fn staying(self) -> Self {
        Self { stays: true, ..self }
    }

    pub(super) fn check_input(&self, settled: &Settled) -> Result<()> {
        if self.input.is_some() && !settled.is_modern() {
            let version = &settled.identity.version;
            return Err(Error::Unsupported(format!("revision {version} has no answers in a call")));
        }
        Ok(())
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
