//! [`Crew`]: the threads that wait for news and serve requests.
//!
//! A thread waits for news. It reads what there is and, when that completes a request, serves it itself: one wake-up for a
//! request, and no handing over. Most requests are over before another thread could have been woken to wait instead. So a *stand-by*
//! looks every half millisecond whether somebody waits again, and if not, waits itself: because a request takes long, or because
//! there is more to do than one thread can. When as many serve as may, one more still waits. It never serves then: what it reads
//! it queues, for those who have finished.
//!
//! **Invariants:** while requests are served, some thread waits for news, or a stand-by looks whether one has to; no more serve at once
//! than there are places.

use std::cell::{Cell, OnceCell};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::common::Common;
use super::readiness::Event;
use crate::sync::lock;

/// How long a stand-by stays when there is another one.
const IDLE: Duration = Duration::from_secs(10);

/// How often the stand-by looks. Shorter requests cost no other thread; after longer ones somebody waits.
const LOOK: Duration = Duration::from_micros(500);

/// After so many looks in a row at which somebody waited, the stand-by stops looking. Waking it again costs a request some
/// microseconds.
const QUIET_LOOKS: usize = 2;

/// After so many looks in a row at which nobody waited, although requests are short, there is work for another thread, if there is a
/// processor for it.
const BUSY_LOOKS: usize = 4;

/// What a thread is called.
pub(super) const NAME: &str = "mcp-http";

/// A request that waits for a thread.
pub(super) type Job = Box<dyn FnOnce() + Send>;

/// What a thread of the crew does until it ends.
pub(super) type Work = Box<dyn Fn(&Arc<Crew>) + Send + Sync>;

/// Owner: the wire. Bound: a thread for each place, one for each place that is lent, and one that waits. End of the threads:
/// [`end`](Self::end); a thread that serves a request then ends with it.
pub(super) struct Crew {
    common: Arc<Common>,
    /// What a thread does.
    work: Work,
    /// Held for a few instructions, and to start a thread.
    state: Mutex<State>,
    /// Signalled when a thread ends, and at the end.
    changed: Condvar,
    /// What those who stand by wait for.
    bench: Condvar,
    /// So many threads can run at once.
    processors: usize,
    /// Threads that wait for news, or will when they have started.
    waiting: AtomicUsize,
    /// Counts who went to wait.
    returns: AtomicUsize,
    /// Those of them who wait without an end.
    untimed: AtomicUsize,
    /// Set within the lock.
    has_ended: AtomicBool,
}

#[derive(Default)]
struct State {
    threads: usize,
    serving: usize,
    /// Those of them who wait for people.
    lent: usize,
    /// Threads that stand by, or will when they have started.
    standing_by: usize,
    /// One of them is to wait for news at once.
    is_called: bool,
    /// So many may be called without a look, as the last one has found that requests take long.
    ahead: usize,
    /// One of them is to look.
    is_watched: bool,
    /// It does.
    has_watcher: bool,
    /// Bound: `waiting` of the limits.
    queue: VecDeque<Job>,
    /// Why there is no more news.
    failure: Option<io::Error>,
}

/// The place of a thread that serves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    None,
    Taken,
    Lent,
}

thread_local! {
    /// The crew a thread is of.
    static CREW: OnceCell<Arc<Crew>> = const { OnceCell::new() };
    static PLACE: Cell<Place> = const { Cell::new(Place::None) };
}

/// What is to be done with a request.
pub(super) enum Turn<'a> {
    /// To be served by the calling thread, which has a place now.
    Now,
    /// To be put here.
    Later(Queue<'a>),
    /// So many wait already.
    Never(usize),
}

/// The queue, with room in it.
pub(super) struct Queue<'a>(MutexGuard<'a, State>);

impl Queue<'_> {
    pub(super) fn push(mut self, job: Job) {
        self.0.queue.push_back(job);
    }
}

impl Crew {
    pub(super) fn new(common: Arc<Common>, work: Work) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            common,
            work,
            state: Mutex::default(),
            changed: Condvar::new(),
            bench: Condvar::new(),
            processors,
            waiting: AtomicUsize::new(0),
            returns: AtomicUsize::new(0),
            untimed: AtomicUsize::new(0),
            has_ended: AtomicBool::new(false),
        }
    }

    /// Starts the first thread and waits until the crew has ended.
    pub(super) fn run(self: &Arc<Self>) -> io::Result<()> {
        let mut state = lock(&self.state);
        if !self.has_ended() && state.threads == 0 {
            self.start(&mut state, false)?;
        }
        while !self.has_ended() {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.failure.take().map_or(Ok(()), Err)
    }

    fn start(self: &Arc<Self>, state: &mut State, stands_by: bool) -> io::Result<()> {
        let crew = Arc::clone(self);
        // It counts already as what it will be, so that nobody starts another before it is.
        if stands_by {
            state.standing_by += 1;
        } else {
            self.waiting.fetch_add(1, Ordering::SeqCst);
        }
        let started = std::thread::Builder::new().name(NAME.into()).spawn(move || {
            CREW.with(|own| drop(own.set(Arc::clone(&crew))));
            if !stands_by || crew.stand_by(lock(&crew.state)) {
                (crew.work)(&crew);
            }
        });
        if let Err(e) = started {
            if stands_by {
                state.standing_by -= 1;
            } else {
                self.waiting.fetch_sub(1, Ordering::SeqCst);
            }
            return Err(e);
        }
        state.threads += 1;
        Ok(())
    }

    /// Waits for news; ends early for the looks that are due. The calling thread is one of those who wait, and is not when this
    /// returns. `None`: there are none.
    pub(super) fn wait(&self) -> io::Result<Option<Event>> {
        let due = self.common.registry.until_due(self.common.clock.now());
        let untimed = usize::from(due.is_none());
        self.untimed.fetch_add(untimed, Ordering::SeqCst);
        let news = self.common.readiness.wait(due);
        self.untimed.fetch_sub(untimed, Ordering::SeqCst);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        news
    }

    /// The calling thread goes to wait, or stands by until it is to; `false`: it is to end, and counts no more.
    pub(super) fn go_on(&self) -> bool {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            let mut state = lock(&self.state);
            // Who has left it to itself meanwhile knows nothing of this thread.
            if self.waiting.load(Ordering::SeqCst) > 0 {
                state.standing_by += 1;
                return self.stand_by(state);
            }
        }
        self.go_to_wait();
        true
    }

    fn go_to_wait(&self) {
        self.returns.fetch_add(1, Ordering::SeqCst);
        self.waiting.fetch_add(1, Ordering::SeqCst);
    }

    /// Waits to be needed among those who wait for news: then `true`, and the calling thread is one of them. Otherwise it is to
    /// end, and counts no more.
    fn stand_by(&self, mut state: MutexGuard<'_, State>) -> bool {
        let (mut quiet, mut busy) = (0, 0);
        let is_needed = loop {
            if self.has_ended() {
                break false;
            }
            if std::mem::take(&mut state.is_called) {
                break true;
            }
            if !state.is_watched || state.has_watcher {
                let (woken, wait) =
                    self.bench.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
                state = woken;
                // The last one stays, and nobody is to miss what it was told in this moment.
                let is_wanted = state.is_watched || state.is_called;
                if wait.timed_out() && state.standing_by > 1 && !is_wanted {
                    break false;
                }
                continue;
            }
            let before = self.returns.load(Ordering::SeqCst);
            state.has_watcher = true;
            state = self.bench.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            state.has_watcher = false;
            let returned = self.returns.load(Ordering::SeqCst).wrapping_sub(before);
            if self.waiting.load(Ordering::SeqCst) > 0 {
                (quiet, busy) = (quiet + 1, 0);
                if quiet >= QUIET_LOOKS {
                    state.is_watched = false;
                    state.ahead = 0;
                }
                continue;
            }
            (quiet, busy) = (0, busy + 1);
            // Each has come back once at most: it is the requests, and more of them may wait.
            let is_slow = returned <= state.serving;
            let at_work = state.threads - state.standing_by;
            if is_slow || busy >= BUSY_LOOKS && at_work < self.processors {
                state.ahead = if is_slow { state.serving } else { 0 };
                state.is_watched = false;
                break true;
            }
        };
        state.standing_by -= 1;
        if is_needed {
            state.is_called = false;
            self.go_to_wait();
        } else {
            self.leave(&mut state);
        }
        is_needed
    }

    /// The crew has ended, and the calling thread ends.
    pub(super) fn ends(&self) {
        // And the next one.
        self.common.readiness.wake();
        self.leave(&mut lock(&self.state));
    }

    fn leave(&self, state: &mut State) {
        state.threads -= 1;
        self.changed.notify_all();
    }

    /// Takes a place for the calling thread, to serve a request.
    pub(super) fn take_place(self: &Arc<Self>) -> Turn<'_> {
        let mut state = lock(&self.state);
        if state.serving >= self.places(&state) {
            let limit = self.common.limits.waiting;
            return if state.queue.len() < limit { Turn::Later(Queue(state)) } else { Turn::Never(limit) };
        }
        self.sit_down(&mut state);
        Turn::Now
    }

    /// So many may serve now.
    fn places(&self, state: &State) -> usize {
        self.common.limits.threads.max(1).saturating_add(state.lent)
    }

    fn sit_down(self: &Arc<Self>, state: &mut State) {
        state.serving += 1;
        PLACE.set(Place::Taken);
        self.see_to_news(state);
    }

    /// The calling thread is about to do what may take long, without a place: somebody else is to look for news meanwhile.
    pub(super) fn leaves_the_news(self: &Arc<Self>) {
        self.see_to_news(&mut lock(&self.state));
    }

    fn see_to_news(self: &Arc<Self>, state: &mut State) {
        let waiting = self.waiting.load(Ordering::SeqCst);
        if waiting == 0 {
            // Unless one is on its way.
            if !state.is_called {
                self.call_another(state);
            }
        } else if self.untimed.load(Ordering::SeqCst) >= waiting && self.common.registry.has_looks() {
            // Who waits without an end began to before there was anything to look at.
            self.common.readiness.wake();
        }
    }

    /// Nobody waits for news: somebody does from now on, or looks whether it has to be.
    fn call_another(self: &Arc<Self>, state: &mut State) {
        let is_called = state.ahead > 0;
        state.ahead -= usize::from(is_called);
        if state.standing_by > 0 {
            state.is_called = is_called;
            state.is_watched |= !is_called;
            if is_called || !state.has_watcher {
                self.bench.notify_one();
            }
            return;
        }
        state.is_watched = !is_called;
        // With more threads there is one that does not serve, and is soon back.
        if state.threads <= self.places(state) {
            if let Err(e) = self.start(state, !is_called) {
                log::warn!("no further thread for requests, {} are at work: {e}", state.threads);
            }
        }
    }

    /// The calling thread has served its request: the next one that waits, for which it keeps the place, or none.
    pub(super) fn next_or_leave(&self) -> Option<Job> {
        let mut state = lock(&self.state);
        if PLACE.replace(Place::Taken) == Place::Lent {
            state.lent -= 1;
        }
        // It may have been in the place of one that is back.
        let is_one_too_many = state.serving > self.places(&state);
        let job = if is_one_too_many { None } else { state.queue.pop_front() };
        if job.is_none() {
            state.serving -= 1;
            PLACE.set(Place::None);
        }
        job
    }

    /// A request that waits, and a place for the calling thread, if there are both.
    pub(super) fn take_waiting(self: &Arc<Self>) -> Option<Job> {
        let mut state = lock(&self.state);
        if state.serving >= self.places(&state) {
            return None;
        }
        let job = state.queue.pop_front()?;
        self.sit_down(&mut state);
        Some(job)
    }

    fn lend(&self) {
        let mut state = lock(&self.state);
        state.lent += 1;
        if !state.queue.is_empty() {
            self.common.readiness.wake();
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }

    /// The operating system gives no more news: everything ends.
    pub(super) fn fail(&self, e: io::Error) {
        lock(&self.state).failure.get_or_insert(e);
        self.end(Duration::ZERO);
    }

    /// The threads end when they are done. Returns how many have not within `grace`.
    pub(super) fn end(&self, grace: Duration) -> usize {
        let deadline = Instant::now() + grace;
        let own = CREW.with(|own| own.get().is_some_and(|own| std::ptr::eq(&raw const **own, self)));
        let mut state = lock(&self.state);
        self.has_ended.store(true, Ordering::SeqCst);
        self.bench.notify_all();
        let dropped = std::mem::take(&mut state.queue);
        self.common.readiness.wake();
        while state.threads > usize::from(own) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let left = state.threads - usize::from(own).min(state.threads);
        drop(state);
        self.changed.notify_all();
        drop(dropped); // other people's requests: not under the lock
        left
    }
}

impl std::fmt::Debug for Crew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Crew").finish_non_exhaustive()
    }
}

/// The calling thread, which serves a request, waits for the peer of another one: its place may be used meanwhile. Nothing
/// happens on other threads, or the second time.
pub(crate) fn lend() {
    if PLACE.get() == Place::Taken {
        PLACE.set(Place::Lent);
        CREW.with(|crew| crew.get().map(|crew| crew.lend()));
    }
}

#[cfg(test)]
impl Crew {
    pub(super) fn queued(&self) -> usize {
        lock(&self.state).queue.len()
    }

    /// How many serve, and how many of them have lent their places.
    pub(super) fn busy(&self) -> (usize, usize) {
        let state = lock(&self.state);
        (state.serving, state.lent)
    }
}
