//! [`Consent`]: who asks the user. How long that may take, and how often.
//!
//! **Invariants:** whoever waits for an answer does so in bounded time, even if the one who asks never returns; nobody is asked more
//! often than a person can bear.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_channel::{after, bounded, never, select};

use super::desk::{Desk, Place, TooMany, cancelled, taken_back};
use super::question::Question;
use crate::error::{Error, Result, Seconds};
use crate::sync::{CancelToken, ThreadPool};

/// What the user says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Answer {
    /// Yes, this time.
    Once,
    /// Yes, and to the same again as long as the host lives: to a tool as it is described now, with whatever arguments.
    Session,
    /// Yes, and to the same again, also in later runs: kept in the file of [`Grants`](super::Grants), and if there is none, for the
    /// session.
    Always,
    /// No.
    No,
    /// No, and nobody is to be asked about this tool again as long as the host lives; for what is no call, about this kind of thing
    /// from this server.
    NoSession,
}

/// Asks the user.
///
/// Runs on a thread of its own, `mcp-consent`, while the call waits; of one server one question at a time, and over all servers
/// [up to four](AskLimits::with_shown), so it must be ready for several threads. Once `cancel` fires nobody waits for the answer any
/// more: a dialog is to be closed then. A panic is a no.
///
/// ```
/// use std::sync::Mutex;
/// use tinymcp::CancelToken;
/// use tinymcp::host::consent::{Answer, Consent, Question};
///
/// /// Asks on the terminal, one question at a time.
/// struct Terminal(Mutex<()>);
///
/// impl Consent for Terminal {
///     fn ask(&self, question: &Question, cancel: &CancelToken) -> Answer {
///         let Ok(_turn) = self.0.lock() else { return Answer::No };
///         if cancel.is_cancelled() {
///             return Answer::No; // nobody waits any more
///         }
///         eprintln!("{question}\n[o]nce, for this [s]ession, [a]lways, [N]o, n[e]ver?");
///         let mut line = String::new();
///         match std::io::stdin().read_line(&mut line).map(|_| line.trim()) {
///             Ok("o") => Answer::Once,
///             Ok("s") => Answer::Session,
///             Ok("a") => Answer::Always,
///             Ok("e") => Answer::NoSession,
///             _ => Answer::No,
///         }
///     }
/// }
/// ```
pub trait Consent: Send + Sync + 'static {
    /// The user's answer.
    fn ask(&self, question: &Question, cancel: &CancelToken) -> Answer;
}

impl<F: Fn(&Question, &CancelToken) -> Answer + Send + Sync + 'static> Consent for F {
    fn ask(&self, question: &Question, cancel: &CancelToken) -> Answer {
        self(question, cancel)
    }
}

/// How long the user may take, and how much the user is asked. What goes beyond is denied without asking, and told as an event.
///
/// ```
/// use std::time::Duration;
/// use tinymcp::host::consent::AskLimits;
///
/// let limits = AskLimits::default().with_time(Duration::from_secs(60)).with_shown(1);
/// # let _ = tinymcp::host::Host::builder().ask_limits(limits);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AskLimits {
    pub(super) time: Duration,
    pub(super) waiting: usize,
    pub(super) per_minute: usize,
    pub(super) shown: usize,
}

impl Default for AskLimits {
    fn default() -> Self {
        Self { time: Duration::from_secs(300), waiting: 8, per_minute: 30, shown: 4 }
    }
}

impl AskLimits {
    /// How long the user may take for an answer, from when the question is shown; and how long a question may wait to be shown.
    /// It is no time of the call. After it, the answer is no. Default: 5 minutes.
    #[must_use]
    pub fn with_time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// How many questions of one server may be open: one that is shown, and others that wait for it. Default: 8.
    #[must_use]
    pub fn with_waiting(mut self, questions: usize) -> Self {
        self.waiting = questions;
        self
    }

    /// How many questions of one server are shown within a minute. Default: 30.
    #[must_use]
    pub fn with_per_minute(mut self, questions: usize) -> Self {
        self.per_minute = questions;
        self
    }

    /// How many questions are shown at a time, each of another server; 1 at least. Default: 4.
    #[must_use]
    pub fn with_shown(mut self, questions: usize) -> Self {
        self.shown = questions.max(1);
        self
    }
}

/// Owner: a gatekeeper. Threads: `mcp-consent`, twice as many as questions are shown at a time, as nobody can end one that does not
/// come back; each until its question is answered. They are not waited for at the end.
pub(super) struct Asking {
    consent: Option<Arc<dyn Consent>>,
    time: Duration,
    desk: Desk,
    pool: ThreadPool,
    threads: usize,
    /// How many threads are with a question, whether somebody waits for its answer or not.
    busy: Arc<AtomicUsize>,
}

impl Asking {
    pub(super) fn new(consent: Option<Arc<dyn Consent>>, limits: AskLimits) -> Self {
        let threads = limits.shown.saturating_mul(2);
        let pool = ThreadPool::new("mcp-consent", threads, threads);
        Self { consent, time: limits.time, desk: Desk::new(limits), pool, threads, busy: Arc::default() }
    }

    /// # Errors
    /// When nobody can be asked.
    pub(super) fn must_be_there(&self) -> Result<()> {
        let why = "the user would have to be asked, and nobody is set to do that: set a Consent \
                   (HostBuilder::consent), or a rule that allows it (HostBuilder::policy)";
        self.consent.as_ref().map(|_| ()).ok_or_else(|| Error::Denied(why.to_owned()))
    }

    /// Whether a question of `server` can be asked, now or later; a place is taken then.
    pub(super) fn enter(&self, server: &str) -> Result<Place<'_>, TooMany> {
        self.desk.enter(server)
    }

    /// Asks, and waits for the answer. `_turn` is held meanwhile.
    ///
    /// # Errors
    /// [`Error::Denied`] when there is none, or `revoked` fires; [`Error::Cancelled`] when `cancel` fires.
    pub(super) fn ask(
        &self,
        _turn: &Place<'_>,
        question: Question,
        cancel: Option<&CancelToken>,
        revoked: &CancelToken,
    ) -> Result<Answer> {
        self.must_be_there()?;
        let Some(consent) = self.consent.clone() else { return Ok(Answer::No) };
        let busy = Busy::new(&self.busy);
        if busy.before >= self.threads {
            let why =
                format!("{} earlier questions have not come back from whoever asks the user", busy.before);
            return Err(Error::Denied(why));
        }
        let withdrawn = CancelToken::new();
        let (tell, answer) = bounded(1);
        let seen = withdrawn.clone();
        let asked = self.pool.execute(move |_| {
            if seen.is_cancelled() {
                return;
            }
            let answer = catch_unwind(AssertUnwindSafe(|| consent.ask(&question, &seen)));
            // Before the answer is known, so that the next question finds this thread free.
            drop(busy);
            // Nobody may wait any more.
            let _ = tell.send(answer);
        });
        if let Err(refused) = asked {
            return Err(Error::Denied(format!("the user could not be asked: {refused:?}")));
        }
        let cancelled_by = cancel.map_or_else(never, CancelToken::receiver);
        let (reason, error) = select! {
            recv(answer) -> answer => return match answer {
                Ok(Ok(answer)) => Ok(answer),
                Ok(Err(_)) => Err(Error::Denied("whoever asks the user panicked".to_owned())),
                Err(_) => Err(Error::Denied("the question was not answered".to_owned())),
            },
            recv(cancelled_by) -> _ => ("the call was given up", cancelled(cancel)),
            recv(revoked.receiver()) -> _ => ("consent was taken back", taken_back()),
            recv(after(self.time)) -> _ => {
                let why = format!("the user did not answer within {}", Seconds(self.time));
                ("no answer in time", Error::Denied(why))
            }
        };
        withdrawn.cancel(reason);
        Err(error)
    }
}

/// Counts a thread that is with a question, until it is dropped.
struct Busy {
    count: Arc<AtomicUsize>,
    before: usize,
}

impl Busy {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        Self { before: count.fetch_add(1, Ordering::Relaxed), count: Arc::clone(count) }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}
