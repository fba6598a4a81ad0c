//! [`Merged`]: the changes of all members, as those of one server.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::shared::{Patience, Shared};
use crate::client::{CallOptions, Change, Changes, Event, EventSource, Filter};
use crate::error::{Error, Result};
use crate::host::resilience::Times;
use crate::sync::{Deadline, Mutex, lock};

/// So many may listen to a pool at the same time.
const MAX_OPEN: usize = 64;

/// A change is told so long after its first sign, or as soon as all members have told of it: to the members of one server it
/// happens at the same time.
const SETTLING: Duration = Duration::from_millis(250);

/// Who listens to the changes of a pool. Owner: the taker; the pool knows it as long as he holds it.
pub(super) struct Merged {
    filter: Filter,
    /// By member, and by which client of it. Bound: the members. Held for a look or an exchange.
    subs: Mutex<Vec<Sub>>,
    /// A signal says that there may be something to take.
    signal: Sender<()>,
    /// A member is listened to again, after something that may have been missed.
    has_gap: AtomicBool,
    is_over: AtomicBool,
}

struct Sub {
    id: usize,
    born: u64,
    /// `None` while it is being opened, and when it is over.
    changes: Option<Arc<Changes>>,
    is_over: bool,
    /// It was listened to before.
    is_again: bool,
}

/// What the taker holds.
struct Taking {
    merged: Arc<Merged>,
    signalled: Receiver<()>,
    /// Each change once. Bound: what was asked for.
    due: VecDeque<Due>,
    /// How many members are listened to.
    open: usize,
    /// Members whose changes may be missed.
    interrupted: HashSet<u64>,
    /// That this is so of all of them was told.
    is_told: bool,
}

impl Shared {
    pub(super) fn events(self: &Arc<Self>, filter: Filter) -> Result<impl EventSource + use<>> {
        let (signal, signalled) = bounded(1);
        let merged = Arc::new(Merged {
            filter,
            subs: Mutex::default(),
            signal,
            has_gap: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        self.until_one_is_up()?;
        // Nobody else knows of it yet, so that all that are up are listened to when this returns.
        self.subscribe(&merged)?;
        {
            let mut sources = lock(&self.sources);
            sources.retain(|source| source.strong_count() > 0);
            if sources.len() >= MAX_OPEN {
                return Err(Error::Busy(format!("{MAX_OPEN} listen to the changes of the pool already")));
            }
            sources.push(Arc::downgrade(&merged));
        }
        // Who has come up meanwhile. From now on whoever starts a member does it.
        self.subscribe(&merged)?;
        let (due, interrupted) = (VecDeque::new(), HashSet::new());
        Ok(Taking { merged, signalled, due, open: 0, interrupted, is_told: false })
    }

    /// Starts a member if there is none.
    fn until_one_is_up(self: &Arc<Self>) -> Result<()> {
        let method = "subscriptions/listen";
        let times = Times::new(&CallOptions::default(), &self.timeouts());
        let patience = Patience { method, until: times.deadline(), cancel: None };
        loop {
            let state = self.lock();
            if state.is_closed {
                return Err(super::closed(method));
            }
            if state.members.iter().any(|member| member.is_up()) {
                return Ok(());
            }
            match state.worth_starting(Instant::now()) {
                Some(id) => {
                    drop(state);
                    self.begin_start(id, false);
                }
                None if state.may_come_up() => self.wait(state, &patience)?,
                None => return Err(super::shared::none_is_ready(&state, method)),
            }
        }
    }

    /// Listens to all members that are up and are not listened to yet.
    fn subscribe(&self, merged: &Arc<Merged>) -> Result<()> {
        let members: Vec<_> = {
            let state = self.lock();
            let up = state.members.iter().filter(|member| member.is_up());
            up.filter_map(|member| Some((member.id, member.born, member.handle()?))).collect()
        };
        let mut failed = None;
        for (id, born, client) in members {
            if !merged.reserve(id, born) {
                continue;
            }
            match client.listen(merged.filter.clone()) {
                Ok(changes) => merged.add(born, changes),
                Err(error) => {
                    merged.ended(born);
                    failed = failed.or(Some(error));
                }
            }
        }
        match failed {
            Some(error) if lock(&merged.subs).iter().all(|sub| sub.is_over) => Err(error),
            Some(error) => {
                log::warn!("changes of a member of a pool are not heard: {error}");
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// A member has come up: whoever listens to the pool listens to it as well.
    pub(super) fn subscribe_all(&self) {
        // One at a time: who has gone meanwhile is not kept.
        let sources = lock(&self.sources).clone();
        for merged in sources.iter().filter_map(Weak::upgrade) {
            if let Err(error) = self.subscribe(&merged) {
                log::warn!("changes of a member of a pool are not heard: {error}");
            }
        }
    }

    /// Those whose takers are there. Not to be dropped under the lock: the last one tells the servers.
    fn sources(&self) -> Vec<Arc<Merged>> {
        lock(&self.sources).iter().filter_map(Weak::upgrade).collect()
    }

    pub(super) fn forget_source(&self, id: usize) {
        for merged in self.sources() {
            merged.forget(|sub| sub.id == id);
        }
    }

    /// There will be no more changes.
    pub(super) fn end_sources(&self) {
        for merged in self.sources() {
            merged.is_over.store(true, Ordering::SeqCst);
            let _ = merged.signal.try_send(());
        }
    }
}

impl Merged {
    /// Whether nobody listens to this member yet; in place of an earlier client of it.
    fn reserve(&self, id: usize, born: u64) -> bool {
        let mut subs = lock(&self.subs);
        if subs.iter().any(|sub| sub.born == born && !sub.is_over) {
            return false;
        }
        let old: Vec<_> = subs.extract_all(|sub| sub.id == id);
        subs.push(Sub { id, born, changes: None, is_over: false, is_again: !old.is_empty() });
        drop(subs);
        drop(old);
        true
    }

    fn add(&self, born: u64, changes: Changes) {
        changes.signal_to(self.signal.clone());
        let mut subs = lock(&self.subs);
        // Unless it was removed meanwhile.
        match subs.iter_mut().find(|sub| sub.born == born) {
            Some(sub) => {
                sub.changes = Some(Arc::new(changes));
                if sub.is_again {
                    self.has_gap.store(true, Ordering::SeqCst);
                    let _ = self.signal.try_send(());
                }
            }
            None => {
                drop(subs);
                drop(changes);
            }
        }
    }

    /// It tells of nothing more, until the member comes back.
    fn ended(&self, born: u64) {
        let ended = lock(&self.subs).iter_mut().find(|sub| sub.born == born).and_then(|sub| {
            sub.is_over = true;
            sub.changes.take()
        });
        drop(ended);
    }

    fn forget(&self, which: impl Fn(&Sub) -> bool) {
        let gone = lock(&self.subs).extract_all(which);
        drop(gone); // tells the servers: not under the lock
    }

    fn open(&self) -> Vec<(u64, Arc<Changes>)> {
        let subs = lock(&self.subs);
        subs.iter().filter_map(|sub| Some((sub.born, Arc::clone(sub.changes.as_ref()?)))).collect()
    }
}

trait ExtractAll<T> {
    /// Takes out what `which` says.
    fn extract_all(&mut self, which: impl Fn(&T) -> bool) -> Vec<T>;
}

impl<T> ExtractAll<T> for Vec<T> {
    fn extract_all(&mut self, which: impl Fn(&T) -> bool) -> Vec<T> {
        let (out, kept) = std::mem::take(self).into_iter().partition(which);
        *self = kept;
        out
    }
}

/// A change that nobody has been told of yet.
struct Due {
    change: Change,
    /// Who has told of it.
    by: HashSet<u64>,
    /// Then it is told, whoever has.
    until: Instant,
}

impl Taking {
    /// Takes what the members have.
    fn collect(&mut self) {
        let open = self.merged.open();
        self.interrupted.retain(|born| open.iter().any(|(open, _)| open == born));
        let soon = Instant::now() + SETTLING;
        for (born, changes) in &open {
            while let Some(change) = changes.try_next() {
                if change == Change::Interrupted {
                    self.interrupted.insert(*born);
                    continue;
                }
                self.interrupted.remove(born);
                self.add(change, soon).by.insert(*born);
            }
            if changes.end().is_some() {
                self.merged.ended(*born);
            }
        }
        if self.merged.has_gap.swap(false, Ordering::SeqCst) {
            let merged = Arc::clone(&self.merged);
            for change in merged.filter.all_changes() {
                self.add(change, Instant::now());
            }
        }
        // That one member is interrupted is no matter: when it is back, everything counts as changed. Of all of them it is.
        let is_interrupted = !open.is_empty() && self.interrupted.len() == open.len();
        if is_interrupted && !std::mem::replace(&mut self.is_told, true) {
            self.add(Change::Interrupted, Instant::now());
        }
        self.is_told &= is_interrupted;
        // Whoever has not told of a change by now may still do so.
        self.open = open.len();
    }

    fn add(&mut self, change: Change, until: Instant) -> &mut Due {
        let at = self.due.iter().position(|due| due.change == change).unwrap_or(self.due.len());
        if at == self.due.len() {
            self.due.push_back(Due { change, by: HashSet::new(), until });
        }
        &mut self.due[at]
    }
}

impl EventSource for Taking {
    fn next(&mut self, time: Option<Duration>) -> Option<Event> {
        let deadline = Deadline::after(time);
        loop {
            self.collect();
            let is_over = self.merged.is_over.load(Ordering::SeqCst);
            let is_settled = |due: &Due| due.by.len() >= self.open || due.until <= Instant::now();
            if self.due.front().is_some_and(|due| is_over || is_settled(due)) {
                return self.due.pop_front().map(|due| Event::new(None, due.change));
            }
            if is_over || deadline.has_passed() {
                return None;
            }
            let settled = self.due.front().map_or(Deadline::after(None), |due| Deadline::at(due.until));
            // The sender is ours: this ends by a signal or by the time.
            let _ = match deadline.earlier(settled).remaining() {
                Some(left) => self.signalled.recv_timeout(left).map_err(drop),
                None => self.signalled.recv().map_err(drop),
            };
        }
    }
}
