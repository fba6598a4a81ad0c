//! [`ThreadPool`]: threads for other people's code.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::Deadline;

type Job = Box<dyn FnOnce(&Worker<'_>) + Send>;

/// How long a thread without work stays.
const IDLE: Duration = Duration::from_secs(10);

/// A pool that grows when a job finds no idle thread, up to a bound, and shrinks again when there is
/// nothing to do. It must grow: jobs wait for people and for each other. A job that waits for the peer [lends](Self::lend)
/// its place: what the peer does meanwhile may need a thread of this pool.
///
/// Owner: the server or client it serves. Bound: `max_threads` that work, `max_queued`. End: [`close`](Self::close), or drop,
/// which waits a short grace; a thread that is still busy then is left to itself and reported.
#[derive(Debug)]
pub(crate) struct ThreadPool {
    shared: Arc<Shared>,
}

/// Why a job was not taken.
#[derive(Debug)]
pub(crate) enum Refused {
    /// This many jobs are waiting already.
    Full(usize),
    /// The first thread could not be started.
    NoThread(io::Error),
    /// The pool is closed.
    Closed,
}

struct Shared {
    name: &'static str,
    max_threads: usize,
    max_queued: usize,
    state: Mutex<State>,
    /// Signalled when there is a job, and at the close.
    work: Condvar,
    /// Signalled when a thread ends.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    threads: usize,
    idle: usize,
    /// Threads that only have their answer to send, see [`Worker::is_finishing`].
    finishing: usize,
    /// Threads that wait for the peer, see [`ThreadPool::lend`].
    lent: usize,
    /// A thread was started and has not come to look for a job yet.
    is_starting: bool,
    is_closed: bool,
}

/// The place of a thread among those of its pool.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    None,
    /// In the pool at this address.
    Taken(usize),
    Lent,
}

thread_local! {
    static PLACE: Cell<Place> = const { Cell::new(Place::None) };
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ThreadPool {
    pub(crate) fn new(name: &'static str, max_threads: usize, max_queued: usize) -> Self {
        let shared = Shared {
            name,
            max_threads: max_threads.max(1),
            max_queued,
            state: Mutex::default(),
            work: Condvar::new(),
            ended: Condvar::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Runs `job` on a thread of the pool, soon.
    pub(crate) fn execute(&self, job: impl FnOnce(&Worker<'_>) + Send + 'static) -> Result<(), Refused> {
        let mut state = self.shared.lock();
        if state.is_closed {
            return Err(Refused::Closed);
        }
        if state.queue.len() >= self.shared.max_queued {
            return Err(Refused::Full(self.shared.max_queued));
        }
        state.queue.push_back(Box::new(job));
        // `idle` counts waiting threads, some of which have been signalled and not yet woken: the
        // jobs already queued are theirs.
        if state.idle >= state.queue.len() {
            self.shared.work.notify_one();
            return Ok(());
        }
        if let Err(e) = self.shared.grow(&mut state) {
            if state.threads == 0 {
                state.queue.pop_back();
                return Err(Refused::NoThread(e));
            }
            log::warn!("no further thread for {}, {} are at work: {e}", self.shared.name, state.threads);
        }
        Ok(())
    }

    /// Another thread may work in place of the calling one, if that is of this pool, until its job is done.
    pub(crate) fn lend(&self) {
        let own = self.shared.address();
        if PLACE.get() != Place::Taken(own) {
            return;
        }
        PLACE.set(Place::Lent);
        let mut state = self.shared.lock();
        state.lent += 1;
        if let Err(e) = self.shared.grow(&mut state) {
            log::warn!("no further thread for {}, {} are at work: {e}", self.shared.name, state.threads);
        }
    }

    /// Takes no more jobs, drops the waiting ones, and waits for the running ones. Returns how many threads
    /// were still busy when `grace` was over.
    pub(crate) fn close(&self, grace: Duration) -> usize {
        let deadline = Deadline::after(Some(grace));
        let mut state = self.shared.lock();
        state.is_closed = true;
        let dropped = std::mem::take(&mut state.queue);
        self.shared.work.notify_all();
        while state.threads > 0 && !deadline.has_passed() {
            let left = deadline.remaining().unwrap_or(grace);
            state = self.shared.ended.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let stuck = state.threads;
        drop(state);
        drop(dropped); // a job's own drop is foreign code: not under the lock
        stuck
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        let stuck = self.close(Duration::from_millis(100));
        if stuck > 0 {
            log::warn!("{stuck} threads of {} are stuck and were left to themselves", self.shared.name);
        }
    }
}

/// The thread that runs a job.
pub(crate) struct Worker<'a> {
    shared: &'a Shared,
    is_finishing: Cell<bool>,
}

impl Worker<'_> {
    /// The job has only its answer to send: jobs that come from now on may wait for this thread instead of starting
    /// another. Whoever gets the answer often has the next job, before this thread is back from sending it.
    pub(crate) fn is_finishing(&self) {
        if !self.is_finishing.replace(true) {
            self.shared.lock().finishing += 1;
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn address(self: &Arc<Self>) -> usize {
        Arc::as_ptr(self).addr()
    }

    /// So many threads there may be now.
    fn places(&self, state: &State) -> usize {
        self.max_threads.saturating_add(state.lent)
    }

    /// Starts a thread if jobs wait for none that is idle. One at a time: a burst of short jobs is done before the
    /// first new thread runs, and a thread that runs and finds more waiting starts the next.
    fn grow(self: &Arc<Self>, state: &mut State) -> io::Result<()> {
        let soon_idle = state.idle + state.finishing;
        if state.is_starting || soon_idle >= state.queue.len() || state.threads >= self.places(state) {
            return Ok(());
        }
        let shared = Arc::clone(self);
        std::thread::Builder::new().name(self.name.into()).spawn(move || shared.run())?;
        state.threads += 1;
        state.is_starting = true;
        Ok(())
    }

    fn run(self: Arc<Self>) {
        self.lock().is_starting = false;
        while let Some(job) = self.next() {
            let worker = Worker { shared: &self, is_finishing: Cell::new(false) };
            PLACE.set(Place::Taken(self.address()));
            if catch_unwind(AssertUnwindSafe(|| job(&worker))).is_err() {
                // Calls catch their own panics and answer; this is the last line of defence.
                log::error!("a job of {} panicked", self.name);
            }
            if worker.is_finishing.get() {
                self.lock().finishing -= 1;
            }
            if PLACE.replace(Place::None) == Place::Lent {
                self.lock().lent -= 1;
            }
        }
        self.ended.notify_all();
    }

    /// The next job; `None` when this thread is to end, which has then been counted.
    fn next(self: &Arc<Self>) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if state.threads > self.places(&state) {
                break; // it worked in the place of one that is back
            }
            if let Some(job) = state.queue.pop_front() {
                if let Err(e) = self.grow(&mut state) {
                    log::warn!("no further thread for {}, {} are at work: {e}", self.name, state.threads);
                }
                return Some(job);
            }
            if state.is_closed {
                break;
            }
            state.idle += 1;
            let (woken, wait) = self.work.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if wait.timed_out() && state.queue.is_empty() {
                break;
            }
        }
        state.threads -= 1;
        None
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use crossbeam_channel::{bounded, unbounded};

    #[test]
    fn jobs_that_wait_for_each_other_finish() {
        let pool = ThreadPool::new("test-pool", 64, 64);
        let (done_tx, done_rx) = unbounded();
        let mut previous = None;
        for i in 0..50 {
            let (tx, rx) = bounded::<()>(0);
            let (before, done) = (previous.replace(rx), done_tx.clone());
            pool.execute(move |_| {
                if let Some(before) = before {
                    let _ = before.recv();
                }
                drop(tx);
                let _ = done.send(i);
            })
            .expect("room");
        }
        drop(done_tx);
        assert_eq!(done_rx.iter().count(), 50);
    }

    #[test]
    fn a_job_that_lends_its_place_keeps_no_other_waiting() {
        let pool = Arc::new(ThreadPool::new("test-pool", 1, 64));
        let other = Arc::new(ThreadPool::new("test-pool", 1, 64));
        let (hold_tx, hold_rx) = bounded::<()>(0);
        let (at_work_tx, at_work_rx) = unbounded();
        for _ in 0..20 {
            let (hold, at_work) = (hold_rx.clone(), at_work_tx.clone());
            let pools = [Arc::downgrade(&other), Arc::downgrade(&pool)];
            pool.execute(move |_| {
                pools.iter().filter_map(std::sync::Weak::upgrade).for_each(|pool| pool.lend());
                let _ = at_work.send(());
                let _ = hold.recv();
            })
            .expect("room");
        }
        for _ in 0..20 {
            at_work_rx.recv_timeout(Duration::from_secs(60)).expect("all are at work at once");
        }
        drop(hold_tx);
        // They are back, and one place is left.
        let (busy, most) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
        let (done_tx, done) = unbounded();
        for _ in 0..20 {
            let (busy, most, done) = (busy.clone(), most.clone(), done_tx.clone());
            pool.execute(move |_| {
                let count = |by: i32| {
                    let mut busy = busy.lock().expect("no panic");
                    *busy += by;
                    *busy
                };
                let now = count(1);
                let mut most = most.lock().expect("no panic");
                *most = now.max(*most);
                drop(most);
                std::thread::yield_now();
                count(-1);
                let _ = done.send(());
            })
            .expect("room");
        }
        for _ in 0..20 {
            done.recv_timeout(Duration::from_secs(60)).expect("done");
        }
        let mut state = pool.shared.lock();
        while state.threads > 1 {
            state = pool.shared.ended.wait(state).expect("no panic");
        }
        assert_eq!((state.lent, other.shared.lock().threads), (0, 0));
    }

    #[test]
    fn overload_is_refused_and_panics_cost_no_thread() {
        let pool = ThreadPool::new("test-pool", 1, 1);
        let (hold_tx, hold_rx) = bounded::<()>(0);
        let (at_work_tx, at_work_rx) = bounded::<()>(0);
        pool.execute(move |_| {
            let _ = at_work_tx.send(());
            let _ = hold_rx.recv();
            panic!("the panic of a test");
        })
        .expect("room");
        at_work_rx.recv().expect("the job runs");
        let (tx, rx) = bounded(1);
        pool.execute(move |_| tx.send(5).expect("open")).expect("room for one in the queue");
        assert!(matches!(pool.execute(|_| ()), Err(Refused::Full(1))));
        drop(hold_tx);
        assert_eq!(rx.recv(), Ok(5));
    }

    #[test]
    fn close_reports_what_is_stuck_and_drop_joins_what_is_not() {
        let (hold_tx, hold_rx) = bounded::<()>(0);
        let (at_work_tx, at_work_rx) = bounded::<()>(0);
        let pool = ThreadPool::new("test-pool", 2, 2);
        pool.execute(move |_| {
            let _ = at_work_tx.send(());
            let _ = hold_rx.recv();
        })
        .expect("room");
        at_work_rx.recv().expect("the job runs");
        assert_eq!(pool.close(Duration::ZERO), 1);
        drop(hold_tx);
        assert_eq!(pool.close(Duration::from_secs(60)), 0);
        assert!(matches!(pool.execute(|_| ()), Err(Refused::Closed)));
    }
}
