//! Running the handler of a task: on a thread of its own, and asking without keeping a request waiting.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crossbeam_channel::{after, bounded, select};

use super::Tasks;
use super::store::Outcome;
use crate::context::{AskError, Asker, Context, Entered, not_answered};
use crate::era::Lower;
use crate::json::{FromJson, Json, Object};
use crate::jsonrpc::{ErrorCode, ErrorObject};
use crate::method::Method;
use crate::peer::{Asked, Call, NotSent, Outlet, Pending, ask};
use crate::protocol::task::legacy::RelatedTaskMetadata;
use crate::protocol::{CallToolResult, ResultType};
use crate::server::input::examine;
use crate::tool::registry::execute_caught;
use crate::tool::{Arguments, Tool, ToolError};

/// The longest text about a failure that a status has, in characters.
const MAX_MESSAGE: usize = 200;

/// A call of a tool that became a task.
pub(super) struct Run {
    pub(super) id: String,
    pub(super) tool: Arc<dyn Tool>,
    pub(super) arguments: Option<Json>,
    pub(super) cx: Context,
    /// Has its thread work for it.
    pub(super) enter: Option<fn(&Context) -> Entered>,
}

impl Run {
    /// What the call comes to.
    pub(super) fn outcome(&self) -> Outcome {
        // Not only the tool is code of others, its errors are as well.
        catch_unwind(AssertUnwindSafe(|| self.result()))
            .unwrap_or_else(|_| {
                let name = self.tool.name();
                log::error!("the handler of a task panicked: tool `{name}`");
                Err(ErrorObject::internal(format!("the handler of tool {name} panicked")))
            })
            .and_then(|result| self.written(result))
            .unwrap_or_else(Outcome::Error)
    }

    fn result(&self) -> Result<CallToolResult, ErrorObject> {
        let _entered = self.enter.map(|enter| enter(&self.cx));
        let result = self.execute().or_else(|error| {
            let is_question = error.is_question();
            let error = examine(error, &self.cx, Method::ToolsCall);
            let is_answered = |error: &ErrorObject| error.code == ErrorCode::URL_ELICITATION_REQUIRED;
            let may_go_on = is_question
                && self.cx.protocol_version().is_modern()
                && error.protocol_error().is_some_and(is_answered);
            // As after a round of a call: what was required is done, or is an error.
            if !may_go_on {
                return Err(error);
            }
            self.cx.start_over();
            self.execute()
        });
        result.or_else(ToolError::into_result)
    }

    fn execute(&self) -> Result<CallToolResult, ToolError> {
        let arguments = self.arguments.as_ref();
        let arguments =
            arguments.map_or_else(|| Ok(Arguments::empty()), |json| Arguments::from_raw(json.as_raw()));
        let arguments = arguments.map_err(|e| e.of_tool(self.tool.name()))?;
        execute_caught(&*self.tool, arguments, &self.cx)
    }

    /// The result as the caller's revision writes it.
    fn written(&self, mut result: CallToolResult) -> Result<Outcome, ErrorObject> {
        let version = self.cx.protocol_version();
        result.lower(version);
        if version.is_modern() {
            result.result_type.get_or_insert(ResultType::Complete);
        } else {
            // spec: 2025-11-25 basic/utilities/tasks#related-task-metadata
            RelatedTaskMetadata::new(&*self.id).add_to(result.meta.get_or_insert_default());
        }
        let failure = result.is_error().then(|| result.text_content().chars().take(MAX_MESSAGE).collect());
        Ok(Outcome::Result(Json::new(&result).map_err(ErrorObject::internal)?, failure))
    }
}

/// How the handler of a Modern task asks: by what `tasks/get` tells, and `tasks/update` brings.
pub(super) struct Mailbox {
    pub(super) tasks: Weak<Tasks>,
    pub(super) id: String,
    pub(super) call: Arc<Call>,
    pub(super) patience: Duration,
}

impl Mailbox {
    fn cancelled(&self) -> AskError {
        AskError::Cancelled(self.call.cancel.reason().unwrap_or("the task has ended").to_owned())
    }
}

impl Asker for Mailbox {
    fn ask(&self, questions: Vec<(String, Asked)>) -> Result<Vec<Json>, AskError> {
        let Some(tasks) = self.tasks.upgrade() else { return Err(self.cancelled()) };
        let mut answers = vec![None; questions.len()];
        let (replies, answered) = bounded(questions.len());
        let keys = tasks.with(|store, now| store.ask(&self.id, questions, &replies, now));
        let keys = keys.ok_or_else(|| self.cancelled())?;
        drop(replies);
        let (cancelled, late) = (self.call.cancel.receiver(), after(self.patience));
        while answers.iter().any(Option::is_none) {
            select! {
                recv(answered) -> answer => match answer {
                    Ok((place, answer)) => answers[place] = Some(answer),
                    Err(_) => return Err(self.cancelled()),
                },
                recv(cancelled) -> _ => return Err(self.cancelled()),
                recv(late) -> _ => {
                    tasks.with(|store, now| store.withdraw(&self.id, &keys, now));
                    return Err(AskError::TimedOut(self.patience));
                }
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }
}

/// How the handler of a Legacy task asks: by requests to its client, which name the task.
pub(super) struct Caller {
    pub(super) tasks: Weak<Tasks>,
    pub(super) id: String,
    pub(super) outlet: Weak<dyn Outlet>,
    pub(super) call: Arc<Call>,
    pub(super) patience: Duration,
}

impl Asker for Caller {
    fn ask(&self, questions: Vec<(String, Asked)>) -> Result<Vec<Json>, AskError> {
        let (Some(tasks), Some(outlet)) = (self.tasks.upgrade(), self.outlet.upgrade()) else {
            return Err(AskError::Closed);
        };
        let (keys, mut requests): (Vec<String>, Vec<Asked>) = questions.into_iter().unzip();
        for request in &mut requests {
            let mut params = Object::from_json(request.params.as_raw()).unwrap_or_default();
            let mut meta: Object = params.get("_meta").unwrap_or_default();
            // spec: 2025-11-25 basic/utilities/tasks#input-required-status
            RelatedTaskMetadata::new(&*self.id).add_to(&mut meta);
            params.insert("_meta", &meta);
            request.params = params.into();
        }
        tasks.with(|store, now| store.asks(&self.id, true, now));
        let answers = ask(&*outlet, &self.call, &requests, Some(self.patience));
        tasks.with(|store, now| store.asks(&self.id, false, now));
        let answers = answers.into_iter().zip(&keys);
        answers.map(|(answer, key)| answer.map_err(|why| not_answered(key, why))).collect()
    }
}

/// The outlet of a Legacy task: its notifications name it. Keeps the connection no longer than that lasts.
pub(super) struct Relay {
    pub(super) outlet: Weak<dyn Outlet>,
    pub(super) id: String,
}

impl Relay {
    /// The parameters, an object without metadata, with the task they belong to.
    fn related(&self, params: &str) -> String {
        let mut meta = Object::new();
        RelatedTaskMetadata::new(&*self.id).add_to(&mut meta);
        let members = params.strip_suffix('}').unwrap_or(params);
        let comma = if members == "{" { "" } else { "," };
        format!("{members}{comma}\"_meta\":{}}}", Json::from(meta))
    }
}

impl Outlet for Relay {
    fn notify(&self, call: &Call, method: &str, params: &str, is_due: &dyn Fn() -> bool) -> bool {
        self.outlet.upgrade().is_some_and(|outlet| outlet.notify(call, method, &self.related(params), is_due))
    }

    fn post(&self, call: Option<&Call>, method: &str, params: Option<&str>) -> Result<(), NotSent> {
        let outlet =
            self.outlet.upgrade().ok_or_else(|| NotSent::Closed("the connection has ended".to_owned()))?;
        outlet.post(call, method, Some(&self.related(params.unwrap_or("{}"))))
    }

    fn pending(&self) -> Option<&Pending> {
        None // who asks does so by the outlet itself
    }

    fn send(&self, call: &Call, frame: &[u8]) -> Result<(), NotSent> {
        let outlet =
            self.outlet.upgrade().ok_or_else(|| NotSent::Closed("the connection has ended".to_owned()))?;
        outlet.send(call, frame)
    }

    fn look_after(&self) {}

    fn answer(&self, _call: &Arc<Call>, _result: Result<&str, &ErrorObject>, _waits: bool) {}
}
