//! [`Attempts`]: one call, as often as it may be made.
//!
//! ```text
//!          ┌──────────────────────────────── pause ◀── may be made again? ◀── error
//!          ▼                                                                   ▲
//!  breaker: permit? ──▶ a connection, if need be another ──▶ the attempt ──────┴──▶ result
//! ```
//!
//! **Invariants:** a call that may have been carried out is made again only if it can be repeated; one time runs over all
//! attempts, pauses and restarts; a cancelled call waits for nothing.

use std::time::{Duration, Instant};

use crossbeam_channel::{after, never, select};

use super::breaker::Breaker;
use super::retry::Retry;
use super::standing::{Standing, honest, is_answer, is_servers_failure};
use crate::client::{Begun, CallOptions, Timeouts};
use crate::error::{Error, Failure, Phase, Result};
use crate::sync::{CancelToken, Deadline};

/// Brings a server back between attempts.
pub(crate) trait Revive: Sync {
    /// Sees to it that there is a connection, by `until` and unless `cancel` fires; one that is alive is left as it is.
    ///
    /// # Errors
    /// When that failed. [`Error::Unsupported`] if it never will be possible.
    fn ready(&self, until: Deadline, cancel: Option<&CancelToken>) -> Result<()>;

    /// Whether it makes sense to try once more after this error.
    fn is_hopeful(&self, error: &Error) -> bool;

    /// What the server is called in messages.
    fn name(&self) -> String;
}

/// What is done for one call. Everything is borrowed for its duration.
pub(crate) struct Attempts<'a> {
    /// The method, for messages.
    pub(crate) method: &'a str,
    pub(crate) retry: &'a Retry,
    pub(crate) breaker: Option<&'a Breaker>,
    pub(crate) revive: &'a dyn Revive,
    pub(crate) options: &'a CallOptions,
    /// What the options leave open.
    pub(crate) timeouts: &'a Timeouts,
}

/// How much time a call has.
pub(crate) struct Times {
    start: Instant,
    timeout: Option<Duration>,
    total: Option<Duration>,
    resets: bool,
}

impl Times {
    /// From now on.
    pub(crate) fn new(options: &CallOptions, timeouts: &Timeouts) -> Self {
        let (timeout, total, resets) = options.times(timeouts);
        Self { start: Instant::now(), timeout, total, resets }
    }

    /// Until then the call may be made again. Progress starts the timeout anew, so that only the total counts then.
    pub(crate) fn deadline(&self) -> Deadline {
        let timeout = if self.resets { None } else { self.timeout };
        Deadline::of(self.start, timeout).earlier(Deadline::of(self.start, self.total))
    }

    /// The same with what is known better by now.
    pub(crate) fn learn(&mut self, options: &CallOptions, timeouts: &Timeouts) {
        (self.timeout, self.total, self.resets) = options.times(timeouts);
    }

    /// The options of an attempt that begins now: what is left of the times. The timeout and the total stay two, as time
    /// in which the user is asked counts for one of them alone.
    pub(crate) fn left(&self, options: &CallOptions, at_most: Option<Duration>) -> CallOptions {
        let spent = self.start.elapsed();
        let left = |time: Option<Duration>| time.map(|time| time.saturating_sub(spent));
        let timeout = if self.resets { self.timeout } else { left(self.timeout) };
        let timeout = match (timeout, at_most) {
            (Some(timeout), Some(at_most)) => Some(timeout.min(at_most)),
            (timeout, at_most) => timeout.or(at_most),
        };
        options.clone().with_timeout(timeout).with_total(left(self.total))
    }
}

impl Attempts<'_> {
    /// Makes the call: `attempt` is given the options for each. `is_repeatable` is asked after an attempt whose outcome is
    /// unknown.
    pub(crate) fn run(
        &self,
        is_repeatable: &dyn Fn() -> bool,
        attempt: &mut dyn FnMut(&CallOptions) -> Result<()>,
    ) -> Result<()> {
        let times = Times::new(self.options, self.timeouts);
        let cancel = self.options.cancel_token();
        let begun = Begun::default();
        let mut pauses = self.retry.pauses();
        let mut last = None;
        loop {
            check_cancelled(cancel)?;
            let tried = match self.once(&times, &begun, attempt) {
                Ok(()) => return Ok(()),
                Err(tried) => tried,
            };
            let error = match (tried, last.take()) {
                (Tried::Failed(error), _) => error,
                // What the breaker or the restart says comes after what the call itself came to.
                (Tried::NotMade(_), Some(error)) => return Err(error),
                (Tried::NotMade(error), None) => return Err(error),
            };
            let may_repeat = Standing::of(&error, begun.is_set()).may_repeat(is_repeatable());
            let error = if may_repeat { error } else { honest(error, begun.is_set(), self.method) };
            let left = times.deadline().remaining();
            let pause = pauses.next().filter(|pause| left.is_none_or(|left| *pause < left));
            let Some(pause) = pause.filter(|_| may_repeat && self.revive.is_hopeful(&error)) else {
                return Err(error);
            };
            log::debug!("{} of {} is tried again after {pause:?}: {error}", self.method, self.revive.name());
            wait(pause, cancel)?;
            last = Some(error);
        }
    }

    fn once(
        &self,
        times: &Times,
        begun: &Begun,
        attempt: &mut dyn FnMut(&CallOptions) -> Result<()>,
    ) -> Result<(), Tried> {
        let permit = match self.breaker.map(Breaker::permit).transpose() {
            Ok(permit) => permit,
            Err(tripped) => {
                let phase = Phase::Call(self.method.to_owned());
                let failure = Failure::new(phase, self.revive.name(), tripped.to_string());
                return Err(Tried::NotMade(Error::Unreachable(Box::new(failure))));
            }
        };
        let made = match self.revive.ready(times.deadline(), self.options.cancel_token()) {
            // Where nothing can be opened again, the call says best what is wrong.
            Ok(()) | Err(Error::Unsupported(_)) => {
                attempt(&times.left(self.options, self.retry.try_time()).watched_by(begun))
            }
            Err(error) => Err(error),
        };
        if let Some(permit) = permit {
            match &made {
                Ok(()) => permit.succeeded(),
                Err(error) if is_answer(error) => permit.succeeded(),
                Err(error) if is_servers_failure(error) => permit.failed(),
                Err(_) => drop(permit),
            }
        }
        made.map_err(Tried::Failed)
    }
}

enum Tried {
    Failed(Error),
    /// The breaker is open.
    NotMade(Error),
}

pub(crate) fn check_cancelled(cancel: Option<&CancelToken>) -> Result<()> {
    match cancel.filter(|token| token.is_cancelled()) {
        Some(token) => Err(Error::Cancelled(token.reason().unwrap_or("cancelled").to_owned())),
        None => Ok(()),
    }
}

/// Waits so long, unless `cancel` fires.
fn wait(pause: Duration, cancel: Option<&CancelToken>) -> Result<()> {
    let cancelled = cancel.map_or_else(never, CancelToken::receiver);
    select! {
        recv(cancelled) -> _ => check_cancelled(cancel),
        recv(after(pause)) -> _ => Ok(()),
    }
}
