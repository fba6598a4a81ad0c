//! Tasks: calls that are answered at once, and whose results are fetched later.
//!
//! One store serves both forms: the extension `io.modelcontextprotocol/tasks` of 2026-07-28, and the experiment of 2025-11-25.
//! In both the handler is written like any other. It runs on a thread of its own; what it asks becomes part of the task,
//! and it waits for the answer.
//!
//! **Invariants:** a task can be found before its call is answered; no lock is held while a handler runs or something is sent;
//! nothing of this is linked by a program whose server has no tasks.

mod options;
mod run;
mod store;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
pub use options::TaskOptions;
use run::{Caller, Mailbox, Relay, Run};
use store::{Moment, NewTask, Outcome, Owner, Store, Waiter, legacy_task};

use super::asked::{Asked, bad_params};
use super::changes::Changes;
use super::connection::Nowhere;
use super::feature::Feature;
use super::listen::{Filter, TASKS, bad_filter};
use crate::context::{Asker, Context, Rounds};
use crate::json::{FromJson, Json, JsonError, Members, Object};
use crate::jsonrpc::{ErrorCode, ErrorObject};
use crate::method::Method;
use crate::peer::{Call, Ground, Outlet, Served};
use crate::protocol::task::legacy::{CreateTaskResult, ListTasksResult, TaskMetadata, TasksCapability};
use crate::protocol::task::{TASKS_EXTENSION, Task, TaskStatus, extension_required};
use crate::protocol::{ProtocolVersion, ServerCapabilities};
use crate::sync::{Deadline, Mutex, Refused, ThreadPool, lock};
use crate::tool::{ChangeListener, TaskMode, Tool};

/// Owner: the server. Threads: `mcp-task`, up to [`TaskOptions::max_running`]. End: the server's, which cancels what runs.
pub(super) struct TaskFeature {
    tasks: Arc<Tasks>,
    pool: ThreadPool,
}

/// The store and what it leaves to be done.
pub(super) struct Tasks {
    options: TaskOptions,
    /// Held for a look-up or a change; see [`store::After`].
    store: Mutex<Store>,
    /// Tells of changes, once the server is built.
    changes: OnceLock<Arc<Changes>>,
    /// Something was answered. One place: whoever ends a connection looks for himself.
    answered: (Sender<()>, Receiver<()>),
}

/// How often a connection that ends looks whether its tasks are done: several may end at once, and one notice wakes one.
const LOOK: Duration = Duration::from_millis(50);

impl Tasks {
    /// Works on the store, and then does what that leads to, without waiting for a client.
    fn with<T>(&self, work: impl FnOnce(&mut Store, Moment) -> T) -> T {
        self.work(false, work)
    }

    /// The handler of a task has returned. On its own thread, which may wait for the client to read.
    fn finish(&self, id: &str, outcome: Outcome) {
        self.work(true, |store, now| store.finish(id, outcome, now));
    }

    fn work<T>(&self, waits: bool, work: impl FnOnce(&mut Store, Moment) -> T) -> T {
        let (result, after) = {
            let mut store = lock(&self.store);
            let result = work(&mut store, Moment::now());
            (result, std::mem::take(&mut store.after))
        };
        let has_answers = !after.answers.is_empty();
        for (waiter, outcome) in after.answers {
            if let Some(outlet) = waiter.outlet.upgrade() {
                outlet.answer(&waiter.call, outcome.as_answer(), waits);
            }
        }
        if has_answers {
            // A place that is taken says the same.
            let _ = self.answered.0.try_send(());
        }
        drop(after.jobs);
        if let Some(changes) = self.changes.get() {
            after.changed.iter().for_each(|id| changes.tell(Method::TasksChanged, Some(id)));
        }
        result
    }
}

impl Outcome {
    fn as_answer(&self) -> Result<&str, &ErrorObject> {
        match self {
            Self::Result(json, _) => Ok(json.as_str()),
            Self::Error(error) => Err(error),
        }
    }
}

impl TaskFeature {
    pub(super) fn new(options: TaskOptions) -> Self {
        let pool = ThreadPool::new("mcp-task", options.max_running, options.max_tasks.max(1));
        let store = Mutex::new(Store::new(options.clone()));
        Self {
            tasks: Arc::new(Tasks { options, store, changes: OnceLock::new(), answered: bounded(1) }),
            pool,
        }
    }

    /// How long the task is to live that a call becomes; `None` if it becomes none, or not before its handler has it so.
    ///
    /// # Errors
    /// When it can only be a task, and its client cannot deal with one; or the other way round.
    fn lifetime(&self, asked: &mut Asked<'_>, mode: TaskMode) -> Result<Option<Duration>, ErrorObject> {
        let options = &self.tasks.options;
        if asked.is_modern() {
            // spec: seps/2663-tasks-extension#capability-negotiation (the server decides)
            if mode == TaskMode::Never {
                return Ok(None);
            }
            let is_able = asked.declares(TASKS_EXTENSION);
            return match mode {
                TaskMode::Required | TaskMode::RequiredLater if !is_able => Err(extension_required()),
                TaskMode::OptionalLater | TaskMode::RequiredLater => {
                    asked.may_begin = is_able;
                    Ok(None)
                }
                TaskMode::Optional if !is_able || goes_on(asked) => Ok(None),
                _ => Ok(Some(options.lifetime(None))),
            };
        }
        let has_tasks = Method::TasksGet.is_in(&asked.version);
        let wish = asked.members.take("task").filter(|raw| has_tasks && raw.get() != "null");
        // spec: 2025-11-25 basic/utilities/tasks#tool-level-negotiation
        let refused = |problem: &str| Err(ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, problem));
        match (mode, wish) {
            (TaskMode::Never, Some(_)) => refused("this tool does not run as a task"),
            (TaskMode::Required | TaskMode::RequiredLater, None) => refused("this tool runs only as a task"),
            (_, None) => Ok(None),
            (_, Some(wish)) => {
                let ttl = TaskMetadata::from_json(wish).ok().and_then(|wish| wish.ttl);
                Ok(Some(options.lifetime(ttl)))
            }
        }
    }

    /// Makes a task of a call, of which so much is known.
    ///
    /// # Errors
    /// When there is no room for it.
    fn create(
        &self,
        asked: &mut Asked<'_>,
        tool: &Arc<dyn Tool>,
        ttl: Duration,
        known: Rounds,
    ) -> Result<Task, ErrorObject> {
        let known_bytes = known.bytes();
        let owner = owner(asked);
        let (number, id) = self.tasks.with(|store, _| store.next_id());
        // spec: seps/2663-tasks-extension#task-cancellation (`notifications/cancelled` does not reach it)
        let Call { id: request, principal, .. } = &**asked.serving.call;
        let call = Arc::new(Call::by(request.clone(), principal.clone()));
        let patience = asked.server.config.input_time;
        let tasks = Arc::downgrade(&self.tasks);
        let (outlet, asker): (Arc<dyn Outlet>, Arc<dyn Asker>) = match owner {
            Owner::Bearer(_) => {
                let mailbox = Mailbox { tasks, id: id.clone(), call: Arc::clone(&call), patience };
                (Arc::new(Nowhere), Arc::new(mailbox))
            }
            Owner::Connection(_) => {
                // It asks when the request it came of is long answered.
                let own = asked.serving.outlet;
                let outlet = own.of_connection().unwrap_or_else(|| Arc::downgrade(own));
                let relay = Relay { outlet: outlet.clone(), id: id.clone() };
                let caller = Caller { tasks, id: id.clone(), outlet, call: Arc::clone(&call), patience };
                (Arc::new(relay), Arc::new(caller))
            }
        };
        let cx = asked.task_context(&outlet, &call, asker, known);
        let arguments = asked.members.take("arguments").map(Json::of_frame);
        let enter = asked.server.config.enter;
        let run = Run { id: id.clone(), tool: Arc::clone(tool), arguments, cx, enter };
        let tasks = Arc::downgrade(&self.tasks);
        let job = Box::new(move || {
            let outcome = run.outcome();
            if let Some(tasks) = tasks.upgrade() {
                tasks.finish(&run.id, outcome);
            }
        });
        let bytes = asked.serving.request.params.map_or(0, |params| params.get().len()) + known_bytes;
        let new = NewTask { number, id: id.clone(), owner, ttl, call, job, bytes };
        self.tasks.with(|store, now| store.insert(new, now))
    }

    /// Has the task `id` begun, after those that wait already.
    fn begin(&self, id: &str) {
        // Whichever thread comes first takes what has waited longest: what is cancelled while it waits costs nothing.
        let tasks = Arc::clone(&self.tasks);
        let accepted = self.pool.execute(move |_| {
            if let Some(job) = tasks.with(|store, _| store.begin()) {
                job();
            }
        });
        let problem = match accepted {
            // As many as there can be tasks have been accepted, and are enough for all of them.
            Ok(()) | Err(Refused::Full(_)) => return,
            Err(Refused::NoThread(e)) => format!("no thread for the task: {e}"),
            Err(Refused::Closed) => "the server is ending".to_owned(),
        };
        let outcome = Outcome::Error(ErrorObject::internal(problem));
        self.tasks.with(|store, now| store.finish(id, outcome, now));
    }

    /// Has a task begun that its request is answered with.
    fn begin_told(&self, asked: &Asked<'_>, task: Task, out: &mut Vec<u8>) -> Result<(), ErrorObject> {
        self.begin(&task.task_id);
        if asked.is_modern() {
            asked.write_lowered(out, &task.into_created())
        } else {
            asked.write_lowered(out, &CreateTaskResult::new(&task))
        }
    }

    fn answer(&self, asked: &mut Asked<'_>, out: &mut Vec<u8>) -> Result<(), ErrorObject> {
        let owner = owner(asked);
        // spec: seps/2663-tasks-extension#protocol-errors (-32021 without the declaration)
        if asked.is_modern() && !asked.declares(TASKS_EXTENSION) {
            return Err(extension_required());
        }
        let id: String = asked.param("taskId")?;
        match asked.method {
            Method::TasksUpdate => {
                let bad = |e: JsonError| bad_params(e, Some("inputResponses"));
                let responses = asked.members.take("inputResponses");
                let responses = responses.ok_or_else(|| bad(JsonError::new("missing")))?;
                let responses = Members::of(responses).map_err(bad)?;
                self.tasks.with(|store, now| store.answer(&owner, &id, responses, now))?;
                asked.write_lowered(out, &Object::new())
            }
            Method::TasksCancel => {
                let was_open = self.tasks.with(|store, now| store.cancel(&owner, &id, now))?;
                if asked.is_modern() {
                    return asked.write_lowered(out, &Object::new());
                }
                if !was_open {
                    // spec: 2025-11-25 basic/utilities/tasks#task-cancellation
                    return Err(ErrorObject::invalid_params("the task has ended already"));
                }
                self.write_task(asked, &id, out)
            }
            _ => self.write_task(asked, &id, out),
        }
    }

    fn write_task(&self, asked: &Asked<'_>, id: &str, out: &mut Vec<u8>) -> Result<(), ErrorObject> {
        let (task, outcome) = self.tasks.with(|store, now| store.get(&owner(asked), id, now))?;
        if asked.is_modern() {
            asked.write_lowered(out, &detailed(task, outcome.as_deref()))
        } else {
            asked.write_lowered(out, &legacy_task(&task, outcome.as_deref()))
        }
    }

    /// `tasks/result`: waits without a thread.
    fn result(&self, asked: &mut Asked<'_>, out: &mut Vec<u8>) -> Served {
        let id: String = match asked.param("taskId") {
            Ok(id) => id,
            Err(error) => return Served::Answered(Err(error)),
        };
        let (outlet, call) = (Arc::downgrade(asked.serving.outlet), Arc::clone(asked.serving.call));
        let waiter = Waiter { outlet, call };
        match self.tasks.with(|store, now| store.result(&owner(asked), &id, waiter, now)) {
            Ok(None) => Served::Open,
            Ok(Some(outcome)) => Served::Answered(match outcome.as_answer() {
                Ok(result) => {
                    out.extend_from_slice(result.as_bytes());
                    Ok(())
                }
                Err(error) => Err(error.clone()),
            }),
            Err(error) => Served::Answered(Err(error)),
        }
    }

    fn list(&self, asked: &mut Asked<'_>, out: &mut Vec<u8>) -> Result<(), ErrorObject> {
        let cursor: Option<String> = asked.param("cursor")?;
        let after = cursor.map_or(Some(0), |cursor| {
            let number = u64::from_str_radix(&cursor, 16).ok()?;
            Some(number).filter(|number| format!("{number:x}") == cursor)
        });
        let after = after.ok_or_else(|| bad_params(JsonError::new("unknown cursor"), Some("cursor")))?;
        let page_size = asked.server.config.page_size;
        let (tasks, next) = self.tasks.with(|store, now| store.list(&owner(asked), after, page_size, now));
        let mut result = ListTasksResult::new(tasks);
        result.next_cursor = next.map(|number| format!("{number:x}"));
        asked.write_lowered(out, &result)
    }
}

/// Whether a call goes on with an earlier one, which was no task.
fn goes_on(asked: &Asked<'_>) -> bool {
    asked.members.iter().any(|(name, raw)| name == "requestState" && raw.get() != "null")
}

fn owner(asked: &Asked<'_>) -> Owner {
    match &asked.serving.call.principal {
        _ if !asked.is_modern() => Owner::Connection(asked.connection.number),
        principal => Owner::Bearer(principal.as_ref().map(|principal| principal.id().to_owned())),
    }
}

/// The task with all that its status promises.
fn detailed(mut task: Task, outcome: Option<&Outcome>) -> Task {
    match (&task.status, outcome) {
        (TaskStatus::Completed, Some(Outcome::Result(json, _))) => task.result = Some(json.clone()),
        (TaskStatus::Failed, Some(Outcome::Error(error))) => task.error = Some(error.clone()),
        _ => {}
    }
    task
}

impl Feature for TaskFeature {
    fn methods(&self) -> &'static [Method] {
        &[Method::TasksGet, Method::TasksUpdate, Method::TasksCancel, Method::TasksResult, Method::TasksList]
    }

    fn is_quick(&self, _method: Method) -> bool {
        true
    }

    fn declare(&self, capabilities: &mut ServerCapabilities, version: &ProtocolVersion) {
        if version.is_modern() {
            capabilities.extensions.get_or_insert_default().insert(TASKS_EXTENSION, &Object::new());
        } else if Method::TasksGet.is_in(version) {
            let tasks = TasksCapability::default().with_request(Method::ToolsCall.name());
            capabilities.tasks = Some(tasks.with_list(Object::new()).with_cancel(Object::new()));
        }
    }

    fn serve(&self, mut asked: Asked<'_>, out: &mut Vec<u8>) -> Served {
        match asked.method {
            Method::TasksResult => self.result(&mut asked, out),
            Method::TasksList => Served::Answered(self.list(&mut asked, out)),
            _ => Served::Answered(self.answer(&mut asked, out)),
        }
    }

    fn take_call(&self, asked: &mut Asked<'_>, tool: &Arc<dyn Tool>, out: &mut Vec<u8>) -> Option<Served> {
        let ttl = match self.lifetime(asked, tool.task_mode()) {
            Ok(ttl) => ttl?,
            Err(error) => return Some(Served::Answered(Err(error))),
        };
        // What a Legacy task sends must not come before the answer that names it.
        let is_told_of = !asked.is_modern() && asked.serving.outlet.pending().is_some();
        if is_told_of && asked.serving.ground == Ground::Reader {
            return Some(Served::Elsewhere); // sending that answer may take long
        }
        let known = match asked.resumed() {
            Ok(known) => known,
            Err(error) => return Some(Served::Answered(Err(error))),
        };
        let task = match self.create(asked, tool, ttl, known) {
            Ok(task) => task,
            Err(error) => return Some(Served::Answered(Err(error))),
        };
        if is_told_of {
            let id = task.task_id.clone();
            let result = Json::new(&CreateTaskResult::new(&task)).map_err(ErrorObject::internal);
            let answer = result.as_ref().map(Json::as_str);
            asked.serving.outlet.answer(asked.serving.call, answer, true);
            self.begin(&id);
            return Some(Served::Open);
        }
        Some(Served::Answered(self.begin_told(asked, task, out)))
    }

    fn take_begun(
        &self,
        asked: &mut Asked<'_>,
        tool: &Arc<dyn Tool>,
        cx: &Context,
        out: &mut Vec<u8>,
    ) -> Option<Result<(), ErrorObject>> {
        let known = cx.begun()?;
        if cx.is_cancelled() {
            return None; // nobody would learn of the task
        }
        // The handler has taken its arguments, and is to have them again.
        asked.members =
            asked.serving.request.params.and_then(|params| Members::of(params).ok()).unwrap_or_default();
        let ttl = self.tasks.options.lifetime(None);
        let task = self.create(asked, tool, ttl, known);
        Some(task.and_then(|task| self.begin_told(asked, task, out)))
    }

    fn tell_changes(&self, changes: &Arc<Changes>) -> Option<ChangeListener> {
        let tasks = Arc::downgrade(&self.tasks);
        changes.describe_tasks(move |id| {
            let tasks = tasks.upgrade()?;
            let (task, outcome) = tasks.with(|store, _| store.look(id))?;
            Json::new(&detailed(task, outcome.as_deref())).ok()
        });
        self.tasks.changes.get_or_init(|| Arc::clone(changes));
        None
    }

    /// Tasks that the server does not know are left out of what it agrees to.
    fn filter(
        &self,
        asked: &Asked<'_>,
        members: &mut Members<'_>,
        filter: &mut Filter,
    ) -> Result<(), ErrorObject> {
        let Some(raw) = members.take(TASKS).filter(|raw| raw.get() != "null") else { return Ok(()) };
        // spec: seps/2663-tasks-extension#task-status-notifications (-32021 without the declaration)
        if !asked.declares(TASKS_EXTENSION) {
            return Err(extension_required());
        }
        let ids = Vec::<String>::from_json(raw).map_err(|e| bad_filter(e.inside(TASKS)))?;
        let owner = owner(asked);
        filter.tasks = Some(self.tasks.with(|store, now| store.known(&owner, ids, now)));
        Ok(())
    }

    fn drain(&self, connection: u64, deadline: Deadline) {
        while lock(&self.tasks.store).is_awaited(connection) && !deadline.has_passed() {
            let until = deadline.earlier(Deadline::after(Some(LOOK)));
            // By its answer, or by the time: both are looked at.
            let _ = until.instant().map(|at| self.tasks.answered.1.recv_deadline(at));
        }
    }

    fn connection_ended(&self, connection: u64) {
        self.tasks.with(|store, _| store.forget(connection));
    }

    fn stop(&self, grace: Duration) {
        self.tasks.with(|store, now| store.end_all("the server is ending", now));
        let stuck = self.pool.close(grace);
        if stuck > 0 {
            log::warn!("{stuck} tasks still run after the grace of {grace:?}");
        }
    }
}

impl Drop for TaskFeature {
    fn drop(&mut self) {
        self.tasks.with(|store, now| store.end_all("the server is ending", now));
    }
}
