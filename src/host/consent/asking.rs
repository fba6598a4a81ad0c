//! [`Consent`]: who asks the user. How long that may take, and how often.
//!
//! **Invariants:** whoever waits for an answer does so in bounded time, even if the one who asks never returns; nobody is asked more
//! often than a person can bear.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{after, bounded, never, select};

use super::question::Question;
use crate::error::{Error, Result, Seconds};
use crate::sync::{CancelToken, Mutex, ThreadPool, lock};

/// So many questions are with users at a time, over all servers.
const THREADS: usize = 16;

/// So many questions of one server wait at a time.
const MAX_WAITING: usize = 8;

/// So many questions of one server are asked within [`WINDOW`].
const MAX_ASKED: usize = 30;

const WINDOW: Duration = Duration::from_secs(60);

/// What the user says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Answer {
    /// Yes, this time.
    Once,
    /// Yes, and again as long as the host lives.
    Session,
    /// Yes, and again, also in later runs: kept in the file of [`Grants`](super::Grants), if there is one.
    Always,
    /// No.
    No,
}

/// Asks the user.
///
/// Runs on a thread of its own, `mcp-consent`, while the call waits; up to 16 questions at a time, so it must be ready for several
/// threads. Once `cancel` fires nobody waits for the answer any more: a dialog is to be closed then. A panic is a no.
///
/// ```
/// use tinymcp::CancelToken;
/// use tinymcp::host::consent::{Answer, Consent, Question};
///
/// /// Asks on the terminal.
/// struct Terminal;
///
/// impl Consent for Terminal {
///     fn ask(&self, question: &Question, _: &CancelToken) -> Answer {
///         eprintln!("{question}\n[o]nce, for this [s]ession, [a]lways, [N]o?");
///         let mut line = String::new();
///         match std::io::stdin().read_line(&mut line).map(|_| line.trim()) {
///             Ok("o") => Answer::Once,
///             Ok("s") => Answer::Session,
///             Ok("a") => Answer::Always,
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

/// Why a question is not asked.
pub(super) struct TooMany {
    pub(super) problem: String,
    /// So many were denied since somebody was told of it; `None` if it is too early to tell again.
    pub(super) tell: Option<u64>,
}

/// Owner: a gatekeeper. Threads: [`THREADS`], each until its question is answered; they are not waited for at the end.
pub(super) struct Asking {
    consent: Option<Arc<dyn Consent>>,
    time: Duration,
    pool: ThreadPool,
    /// By server. Bound: the servers there are. Locked for a count.
    paces: Mutex<HashMap<String, Pace>>,
}

#[derive(Default)]
struct Pace {
    waiting: usize,
    asked: VecDeque<Instant>,
    denied: u64,
    told: Option<Instant>,
}

impl Asking {
    pub(super) fn new(consent: Option<Arc<dyn Consent>>, time: Duration) -> Self {
        let pool = ThreadPool::new("mcp-consent", THREADS, THREADS * MAX_WAITING);
        Self { consent, time, pool, paces: Mutex::default() }
    }

    /// Whether a question of `server` can be asked now; the place is taken then.
    pub(super) fn enter(&self, server: &str) -> Result<Place<'_>, TooMany> {
        let mut paces = lock(&self.paces);
        let pace = paces.entry(server.to_owned()).or_default();
        let now = Instant::now();
        while pace.asked.front().is_some_and(|asked| now.duration_since(*asked) >= WINDOW) {
            pace.asked.pop_front();
        }
        let problem = if pace.waiting >= MAX_WAITING {
            format!("{MAX_WAITING} questions of the server wait for an answer")
        } else if pace.asked.len() >= MAX_ASKED {
            format!("the server had {MAX_ASKED} questions asked within a minute")
        } else {
            pace.waiting += 1;
            pace.asked.push_back(now);
            return Ok(Place { asking: self, server: server.to_owned() });
        };
        pace.denied += 1;
        let is_time = pace.told.is_none_or(|told| now.duration_since(told) >= WINDOW);
        let tell = is_time.then(|| std::mem::take(&mut pace.denied));
        if tell.is_some() {
            pace.told = Some(now);
        }
        Err(TooMany { problem, tell })
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// [`Error::Denied`] when there is none, [`Error::Cancelled`] when `cancel` fires.
    pub(super) fn ask(&self, question: Question, cancel: Option<&CancelToken>) -> Result<Answer> {
        let Some(consent) = &self.consent else {
            let why = "it needs the user's consent, and the host has nobody to ask (HostBuilder::consent)";
            return Err(Error::Denied(why.to_owned()));
        };
        let (consent, withdrawn) = (Arc::clone(consent), CancelToken::new());
        let (tell, answer) = bounded(1);
        let seen = withdrawn.clone();
        let asked = self.pool.execute(move |_| {
            if seen.is_cancelled() {
                return;
            }
            let answer = catch_unwind(AssertUnwindSafe(|| consent.ask(&question, &seen)));
            // Nobody may wait any more.
            let _ = tell.send(answer.unwrap_or_else(|_| {
                log::error!("who asks for consent panicked");
                Answer::No
            }));
        });
        if asked.is_err() {
            return Err(Error::Denied("too many questions wait for the user".to_owned()));
        }
        let cancelled = cancel.map_or_else(never, CancelToken::receiver);
        select! {
            recv(answer) -> answer => answer.map_err(|_| Error::Denied("the question was not answered".to_owned())),
            recv(cancelled) -> _ => {
                let reason = cancel.and_then(CancelToken::reason).unwrap_or("cancelled").to_owned();
                withdrawn.cancel(reason.clone());
                Err(Error::Cancelled(reason))
            }
            recv(after(self.time)) -> _ => {
                withdrawn.cancel("no answer in time");
                Err(Error::Denied(format!("the user did not answer within {}", Seconds(self.time))))
            }
        }
    }
}

/// A question that waits. Dropping it makes room.
pub(super) struct Place<'a> {
    asking: &'a Asking,
    server: String,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(pace) = lock(&self.asking.paces).get_mut(&self.server) {
            pace.waiting = pace.waiting.saturating_sub(1);
        }
    }
}
