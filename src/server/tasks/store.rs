//! [`Store`]: the tasks of a server and what becomes of them; without threads, clocks or sending.
//!
//! **Invariants:** a task that has ended stays as it is; a key is used once in a task's life; nothing is kept beyond the limits.
//! What runs code of others, or sends, is left to be done in [`After`], outside the lock.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::Sender;

use super::TaskOptions;
use crate::context::Keys;
use crate::json::{Json, Members, Object};
use crate::jsonrpc::ErrorObject;
use crate::peer::{Asked, Call, Outlet};
use crate::protocol::task::{Task, TaskStatus, legacy, timestamp, unknown_task};

/// The work of a task.
pub(super) type Job = Box<dyn FnOnce() + Send>;

/// Who may see a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// Whoever knows its id, and is this principal if it was made by one: a Modern task.
    Bearer(Option<String>),
    /// The connection that made it: a Legacy task.
    Connection(u64),
}

/// What a task came to.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The result of the request; what a tool said of its failure, if it failed.
    Result(Json, Option<String>),
    /// Its error.
    Error(ErrorObject),
}

/// A point in time, on both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) instant: Instant,
    pub(super) time: SystemTime,
}

impl Moment {
    pub(super) fn now() -> Self {
        Self { instant: Instant::now(), time: SystemTime::now() }
    }
}

/// A request for a result that is not there yet.
pub(super) struct Waiter {
    pub(super) outlet: Weak<dyn Outlet>,
    pub(super) call: Arc<Call>,
}

/// What to do when the store is unlocked again.
#[derive(Default)]
pub(super) struct After {
    pub(super) answers: Vec<(Waiter, Arc<Outcome>)>,
    /// To be dropped: they hold what belongs to others.
    pub(super) jobs: Vec<Job>,
    /// Modern tasks whose status has changed.
    pub(super) changed: Vec<String>,
}

/// A task to be.
pub(super) struct NewTask {
    pub(super) number: u64,
    pub(super) id: String,
    pub(super) owner: Owner,
    pub(super) ttl: Duration,
    /// Of the task, not of the request: progress is reported and work cancelled through it.
    pub(super) call: Arc<Call>,
    pub(super) job: Job,
    /// What the job holds.
    pub(super) bytes: usize,
}

struct Entry {
    /// Grows from task to task.
    number: u64,
    owner: Owner,
    /// Without its payload, save for the questions.
    task: Task,
    /// `None`: it never expires, as the clock cannot count so far.
    until: Option<Instant>,
    call: Arc<Call>,
    /// Until it is begun.
    job: Option<Job>,
    keys: Keys,
    open: BTreeMap<String, Reply>,
    /// So many times a Legacy handler is asking now.
    asking: usize,
    waiters: Vec<Waiter>,
    outcome: Option<Arc<Outcome>>,
    /// What counts of it.
    bytes: usize,
}

/// Where the answer to a question goes.
struct Reply {
    place: usize,
    answers: Sender<(usize, Json)>,
}

/// All tasks of a server. Bound: those of [`TaskOptions`].
pub(super) struct Store {
    options: TaskOptions,
    tasks: BTreeMap<String, Entry>,
    bytes: usize,
    given_out: u64,
    /// No more tasks are taken.
    is_ending: bool,
    /// Keys of hashes that nobody outside can compute: one half of an id each.
    secrets: [RandomState; 2],
    pub(super) after: After,
}

impl Store {
    pub(super) fn new(options: TaskOptions) -> Self {
        let secrets = [RandomState::new(), RandomState::new()];
        let after = After::default();
        Self { options, tasks: BTreeMap::new(), bytes: 0, given_out: 0, is_ending: false, secrets, after }
    }

    /// An id that nobody can guess, and its number.
    ///
    /// spec: seps/2663-tasks-extension#security-implications
    pub(super) fn next_id(&mut self) -> (u64, String) {
        loop {
            self.given_out += 1;
            let [high, low] = self.secrets.each_ref().map(|secret| secret.hash_one(self.given_out));
            let id = format!("{high:016x}{low:016x}");
            if !self.tasks.contains_key(&id) {
                return (self.given_out, id);
            }
        }
    }

    /// Keeps a task, which `get` finds from now on.
    ///
    /// # Errors
    /// When there is no room for it.
    pub(super) fn insert(&mut self, new: NewTask, now: Moment) -> Result<Task, ErrorObject> {
        self.sweep(now.instant);
        if self.is_ending || !self.make_room(1, new.bytes) {
            self.after.jobs.push(new.job);
            let TaskOptions { max_tasks, max_bytes, .. } = self.options;
            return Err(ErrorObject::internal(match self.is_ending {
                true => "the server is ending".to_owned(),
                false => format!("server busy: no more than {max_tasks} tasks with {max_bytes} bytes"),
            }));
        }
        let poll = u64::try_from(self.options.poll_interval.as_millis()).unwrap_or(u64::MAX);
        let task = Task::new(new.id.clone(), timestamp(now.time), new.ttl).with_poll_interval_ms(poll);
        self.bytes += new.bytes;
        let entry = Entry {
            number: new.number,
            owner: new.owner,
            task: task.clone(),
            until: now.instant.checked_add(new.ttl),
            call: new.call,
            job: Some(new.job),
            keys: Keys::default(),
            open: BTreeMap::new(),
            asking: 0,
            waiters: Vec::new(),
            outcome: None,
            bytes: new.bytes,
        };
        self.tasks.insert(new.id, entry);
        Ok(task)
    }

    /// Takes out the work that has waited longest. What was cancelled meanwhile is not among it.
    pub(super) fn begin(&mut self) -> Option<Job> {
        let waiting = self.tasks.values_mut().filter(|entry| entry.job.is_some());
        let entry = waiting.min_by_key(|entry| entry.number)?;
        self.bytes -= std::mem::take(&mut entry.bytes);
        entry.job.take()
    }

    /// A task and what it came to.
    ///
    /// # Errors
    /// -32602 if `owner` has no such task.
    pub(super) fn get(
        &mut self,
        owner: &Owner,
        id: &str,
        now: Moment,
    ) -> Result<(Task, Option<Arc<Outcome>>), ErrorObject> {
        let entry = self.find(owner, id, now)?;
        Ok((entry.task.clone(), entry.outcome.clone()))
    }

    /// The same, for a notice to one who may see it.
    pub(super) fn look(&self, id: &str) -> Option<(Task, Option<Arc<Outcome>>)> {
        self.tasks.get(id).map(|entry| (entry.task.clone(), entry.outcome.clone()))
    }

    /// Those of `ids` that are tasks of `owner`, each once.
    pub(super) fn known(&mut self, owner: &Owner, mut ids: Vec<String>, now: Moment) -> Vec<Arc<str>> {
        self.sweep(now.instant);
        ids.retain(|id| self.tasks.get(id).is_some_and(|entry| entry.owner == *owner));
        ids.sort_unstable();
        ids.dedup();
        ids.into_iter().map(Arc::from).collect()
    }

    /// What the task came to, or `None`: then `waiter` is answered when it is known.
    ///
    /// # Errors
    /// -32602 if `owner` has no such task.
    pub(super) fn result(
        &mut self,
        owner: &Owner,
        id: &str,
        waiter: Waiter,
        now: Moment,
    ) -> Result<Option<Arc<Outcome>>, ErrorObject> {
        let entry = self.find(owner, id, now)?;
        if entry.outcome.is_none() {
            // Those whose request was cancelled are not waited for any more.
            entry.waiters.retain(|waiter| waiter.call.while_open(|| ()).is_some());
            entry.waiters.push(waiter);
        }
        Ok(entry.outcome.clone())
    }

    /// At most `page_size` tasks of `owner` that are younger than number `after`, the oldest first; and the number of the last
    /// one, if there are more.
    pub(super) fn list(
        &mut self,
        owner: &Owner,
        after: u64,
        page_size: usize,
        now: Moment,
    ) -> (Vec<legacy::Task>, Option<u64>) {
        self.sweep(now.instant);
        let mut own: Vec<&Entry> =
            self.tasks.values().filter(|entry| entry.owner == *owner && entry.number > after).collect();
        own.sort_unstable_by_key(|entry| entry.number);
        let page = &own[..own.len().min(page_size.max(1))];
        let next = page.last().filter(|_| page.len() < own.len()).map(|entry| entry.number);
        (page.iter().map(|entry| legacy_task(&entry.task, entry.outcome.as_deref())).collect(), next)
    }

    /// Asks `questions`, whose answers go to `answers` with their places; the keys they are asked under. `None`: the task has
    /// ended.
    pub(super) fn ask(
        &mut self,
        id: &str,
        questions: Vec<(String, Asked)>,
        answers: &Sender<(usize, Json)>,
        now: Moment,
    ) -> Option<Vec<String>> {
        let entry = self.tasks.get_mut(id).filter(|entry| entry.outcome.is_none())?;
        let mut requests = entry.task.input_requests.clone().unwrap_or_default();
        let mut keys = Vec::with_capacity(questions.len());
        for (place, (key, question)) in questions.into_iter().enumerate() {
            // spec: seps/2663-tasks-extension#task-update-requests (a key is unique over the life of its task)
            let key = entry.keys.unique(&key);
            let mut request = Object::new();
            request.insert("method", &question.method);
            if question.params.as_str() != "{}" {
                request.insert("params", &question.params);
            }
            requests.insert(key.clone(), &request);
            entry.open.insert(key.clone(), Reply { place, answers: answers.clone() });
            keys.push(key);
        }
        self.waits_for(id, requests, now);
        Some(keys)
    }

    /// Brings answers to where they are waited for. What nobody waits for is ignored.
    ///
    /// spec: seps/2663-tasks-extension#task-update-requests
    ///
    /// # Errors
    /// -32602 if `owner` has no such task.
    pub(super) fn answer(
        &mut self,
        owner: &Owner,
        id: &str,
        mut responses: Members<'_>,
        now: Moment,
    ) -> Result<(), ErrorObject> {
        let entry = self.find(owner, id, now)?;
        let keys: Vec<String> = entry.open.keys().cloned().collect();
        let mut requests = entry.task.input_requests.clone().unwrap_or_default();
        for key in keys {
            let Some(answer) = responses.take(&key) else { continue };
            if let Some(reply) = entry.open.remove(&key) {
                requests.remove(&key);
                // There is a place for each; without a receiver the asking was given up meanwhile.
                drop(reply.answers.send((reply.place, Json::of_frame(answer))));
            }
        }
        if entry.outcome.is_none() {
            self.waits_for(id, requests, now);
        }
        Ok(())
    }

    /// Asks no longer under these keys.
    pub(super) fn withdraw(&mut self, id: &str, keys: &[String], now: Moment) {
        let Some(entry) = self.tasks.get_mut(id).filter(|entry| entry.outcome.is_none()) else { return };
        let mut requests = entry.task.input_requests.clone().unwrap_or_default();
        for key in keys {
            entry.open.remove(key);
            requests.remove(key);
        }
        self.waits_for(id, requests, now);
    }

    /// A Legacy handler begins to ask its client, or is done with it.
    pub(super) fn asks(&mut self, id: &str, begins: bool, now: Moment) {
        let Some(entry) = self.tasks.get_mut(id).filter(|entry| entry.outcome.is_none()) else { return };
        entry.asking = if begins { entry.asking + 1 } else { entry.asking.saturating_sub(1) };
        let status = if entry.asking > 0 { TaskStatus::InputRequired } else { TaskStatus::Working };
        if entry.task.status != status {
            entry.task.status = status;
            entry.task.last_updated_at = timestamp(now.time);
        }
    }

    /// The task waits for answers to `requests`, if there are any, and else works.
    fn waits_for(&mut self, id: &str, requests: Object, now: Moment) {
        let Some(entry) = self.tasks.get_mut(id) else { return };
        let before = (entry.task.status.clone(), entry.task.input_requests.as_ref().map(Object::len));
        let task = entry.task.clone();
        entry.task = if requests.is_empty() { task.working() } else { task.input_required(requests) };
        let after = (entry.task.status.clone(), entry.task.input_requests.as_ref().map(Object::len));
        if before != after {
            entry.task.last_updated_at = timestamp(now.time);
            self.after.changed.push(id.to_owned());
        }
    }

    /// The task's handler has returned.
    pub(super) fn finish(&mut self, id: &str, outcome: Outcome, now: Moment) {
        let Some(entry) = self.tasks.get_mut(id).filter(|entry| entry.outcome.is_none()) else {
            log::debug!("the outcome of a task that was cancelled or has expired is dropped");
            return;
        };
        self.bytes -= std::mem::take(&mut entry.bytes);
        let size = outcome.size();
        let limit = self.options.max_result_bytes;
        let too_large = |problem: String| (Outcome::Error(ErrorObject::internal(problem)), 0);
        let (outcome, bytes) = if size > limit {
            too_large(format!("the result of the task has {size} bytes, more than {limit}"))
        } else if self.make_room(0, size) {
            (outcome, size)
        } else {
            too_large(format!("server busy: no room for a result of {size} bytes"))
        };
        self.bytes += bytes;
        self.end(id, outcome, now);
        if let Some(entry) = self.tasks.get_mut(id) {
            entry.bytes += bytes;
        }
    }

    /// A client, or the end of the server, cancels a task; whether that was still possible.
    ///
    /// # Errors
    /// -32602 if `owner` has no such task.
    pub(super) fn cancel(&mut self, owner: &Owner, id: &str, now: Moment) -> Result<bool, ErrorObject> {
        let is_open = self.find(owner, id, now)?.outcome.is_none();
        if is_open {
            self.cancel_for(id, "cancelled by the client", now);
        }
        Ok(is_open)
    }

    /// Cancels everything that is not done, and takes nothing more.
    pub(super) fn end_all(&mut self, reason: &str, now: Moment) {
        self.is_ending = true;
        let open = self.tasks.iter().filter(|(_, entry)| entry.outcome.is_none());
        let open: Vec<String> = open.map(|(id, _)| id.clone()).collect();
        open.iter().for_each(|id| self.cancel_for(id, reason, now));
    }

    fn cancel_for(&mut self, id: &str, reason: &str, now: Moment) {
        let error = ErrorObject::internal(format!("the task was cancelled: {reason}"));
        self.end(id, Outcome::Error(error), now);
        if let Some(entry) = self.tasks.get_mut(id) {
            // spec: 2025-11-25 basic/utilities/tasks#task-cancellation (at once, and for good)
            entry.task.status = TaskStatus::Cancelled;
            entry.task.status_message = Some(reason.to_owned());
            entry.call.cancel.cancel(reason);
        }
    }

    /// Whether a request of `connection` waits for what a task comes to.
    pub(super) fn is_awaited(&self, connection: u64) -> bool {
        let mut own = self.tasks.values().filter(|entry| entry.owner == Owner::Connection(connection));
        own.any(|entry| entry.waiters.iter().any(|waiter| waiter.call.while_open(|| ()).is_some()))
    }

    /// Forgets the tasks of a connection, which nobody can see any more.
    pub(super) fn forget(&mut self, connection: u64) {
        self.remove(|entry| entry.owner == Owner::Connection(connection), "the connection has ended");
    }

    /// Ends a task. Its waiters are answered, its questions withdrawn, and its work, if not begun, is not.
    fn end(&mut self, id: &str, outcome: Outcome, now: Moment) {
        let Some(entry) = self.tasks.get_mut(id) else { return };
        let outcome = Arc::new(outcome);
        self.bytes -= std::mem::take(&mut entry.bytes);
        self.after.jobs.extend(entry.job.take());
        let waiters = std::mem::take(&mut entry.waiters).into_iter();
        self.after.answers.extend(waiters.map(|waiter| (waiter, Arc::clone(&outcome))));
        entry.open.clear();
        // Nothing more is sent for it.
        entry.call.close();
        let task = &mut entry.task;
        task.input_requests = None;
        task.last_updated_at = timestamp(now.time);
        (task.status, task.status_message) = match &*outcome {
            Outcome::Result(_, failure) => (TaskStatus::Completed, failure.clone()),
            Outcome::Error(error) => (TaskStatus::Failed, Some(error.message.clone())),
        };
        entry.outcome = Some(outcome);
        if matches!(entry.owner, Owner::Bearer(_)) {
            self.after.changed.push(id.to_owned());
        }
    }

    fn find(&mut self, owner: &Owner, id: &str, now: Moment) -> Result<&mut Entry, ErrorObject> {
        self.sweep(now.instant);
        self.tasks.get_mut(id).filter(|entry| entry.owner == *owner).ok_or_else(unknown_task)
    }

    /// Forgets what has expired.
    ///
    /// spec: seps/2663-tasks-extension#task-polling (after the TTL a task may fail and be deleted)
    fn sweep(&mut self, now: Instant) {
        self.remove(|entry| entry.until.is_some_and(|until| until <= now), "the task has expired");
    }

    fn remove(&mut self, is_meant: impl Fn(&Entry) -> bool, reason: &str) {
        let gone: Vec<String> =
            self.tasks.iter().filter(|(_, entry)| is_meant(entry)).map(|(id, _)| id.clone()).collect();
        for id in gone {
            let Some(entry) = self.tasks.remove(&id) else { continue };
            self.bytes -= entry.bytes;
            entry.call.close();
            entry.call.cancel.cancel(reason);
            self.after.jobs.extend(entry.job);
            let outcome = Arc::new(Outcome::Error(unknown_task()));
            let waiters = entry.waiters.into_iter();
            self.after.answers.extend(waiters.map(|waiter| (waiter, Arc::clone(&outcome))));
        }
    }

    /// Has room for more tasks and bytes, if need be by forgetting the oldest tasks that have ended.
    fn make_room(&mut self, tasks: usize, bytes: usize) -> bool {
        let TaskOptions { max_tasks, max_bytes, .. } = self.options;
        loop {
            if self.tasks.len() + tasks <= max_tasks && self.bytes.saturating_add(bytes) <= max_bytes {
                return true;
            }
            let ended = self.tasks.iter().filter(|(_, entry)| entry.outcome.is_some());
            let oldest = ended.min_by_key(|(_, entry)| entry.number).map(|(id, _)| id.clone());
            let Some(id) = oldest.filter(|_| bytes <= max_bytes && tasks <= max_tasks) else { return false };
            log::debug!("a task that has ended makes room for another");
            if let Some(entry) = self.tasks.remove(&id) {
                self.bytes -= entry.bytes;
            }
        }
    }
}

impl Outcome {
    fn size(&self) -> usize {
        match self {
            Self::Result(json, _) => json.as_str().len(),
            Self::Error(error) => {
                error.message.len() + error.data.as_ref().map_or(0, |data| data.as_str().len())
            }
        }
    }
}

/// The task in the words of 2025-11-25.
pub(super) fn legacy_task(task: &Task, outcome: Option<&Outcome>) -> legacy::Task {
    let mut task = legacy::Task::from(task);
    // spec: 2025-11-25 basic/utilities/tasks#task-execution-errors
    if let Some(Outcome::Result(_, Some(_))) = outcome {
        task.status = TaskStatus::Failed;
    }
    task
}
