//! [`InputLog`]: what servers ask, and what they are answered.

use std::fmt;
use std::sync::{Arc, Weak};

use serde::Serialize;

use super::event::InputEvent;
use super::failure::RecordedError;
use super::recording::{Moment, Open, Recording, current};
use crate::client::{Asked, ClientHandler};
use crate::context::Ability;
use crate::json::{Json, Object};
use crate::jsonrpc::ErrorObject;
use crate::protocol::{
    CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitResult, ElicitUrlParams,
    ListRootsParams, ListRootsResult, Root,
};
use crate::sync::{Mutex, lock};

/// A [`ClientHandler`] before another one that records what servers ask and what they are answered.
///
/// It is given to the client when that is built, and to the [`Recorder`](super::Recorder) that is made around it. A question
/// belongs to the trajectory whose call brought it. A Legacy server does not say which call that is: it is the trajectory that has
/// calls open, if it is the only one, or else that of the recorder itself.
///
/// ```
/// use std::sync::Arc;
/// use tinymcp::client::{Asked, ClientHandler};
/// use tinymcp::context::Ability;
/// use tinymcp::protocol::{ListRootsParams, Root};
/// use tinymcp::trajectory::{InputLog, Recorder, Sink};
/// use tinymcp::{Client, ErrorObject, Server, testing};
///
/// struct Home;
/// impl ClientHandler for Home {
///     fn can(&self, ability: Ability) -> bool { matches!(ability, Ability::Roots) }
///     fn roots(&self, _: &Asked<ListRootsParams>) -> Result<Vec<Root>, ErrorObject> {
///         Ok(vec![Root::new("file:///home/ada")])
///     }
/// }
///
/// let inputs = InputLog::new(Home);
/// let server = Server::builder("any", "1.0.0").build()?;
/// let client = testing::pair_with(Client::builder().handler(inputs.clone()), &server)?;
/// let recorder = Recorder::new(Arc::new(client.handle()), &Sink::memory()).with_inputs(&inputs);
/// # drop(recorder);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct InputLog(Arc<Inner>);

struct Inner {
    handler: Box<dyn ClientHandler>,
    /// The trajectories with open calls, each as often as it has such. Bound: the open calls. Locked for a look or a change.
    open: Mutex<Vec<Arc<Open>>>,
    /// The recorder's own. Locked for a look.
    own: Mutex<Weak<Open>>,
}

impl InputLog {
    /// Records what `handler` is asked and answers.
    pub fn new(handler: impl ClientHandler + 'static) -> Self {
        let inner = Inner { handler: Box::new(handler), open: Mutex::default(), own: Mutex::default() };
        Self(Arc::new(inner))
    }

    pub(super) fn fall_back_to(&self, own: Option<&Recording>) {
        *lock(&self.0.own) = own.map(|own| Arc::downgrade(&own.0)).unwrap_or_default();
    }

    /// Until what it returns is dropped, `open` has a call open.
    pub(super) fn enter(&self, open: &Arc<Open>) -> Entered<'_> {
        let mut entered = lock(&self.0.open);
        entered.push(Arc::clone(open));
        let is_among_others = entered.iter().any(|one| !Arc::ptr_eq(one, open));
        Entered { log: self, open: Arc::downgrade(open), is_among_others }
    }

    /// Where a question belongs that comes now.
    fn place(&self) -> Option<Arc<Open>> {
        if let Some(current) = current() {
            return Some(current);
        }
        let open = lock(&self.0.open);
        let only = open.first().filter(|first| open.iter().all(|one| Arc::ptr_eq(one, first))).cloned();
        drop(open);
        only.or_else(|| lock(&self.0.own).upgrade())
    }

    fn answer<P: Serialize, A>(
        &self,
        method: &str,
        asked: &Asked<P>,
        answer: impl FnOnce(&dyn ClientHandler) -> Result<A, ErrorObject>,
        written: impl FnOnce(&A) -> Option<Json>,
    ) -> Result<A, ErrorObject> {
        let Some(open) = self.place() else { return answer(&*self.0.handler) };
        let Some(writing) = open.write() else { return answer(&*self.0.handler) };
        let at = Moment::now();
        let answered = answer(&*self.0.handler);
        let event = InputEvent {
            server: Some(open.redacted("server", asked.origin())),
            key: asked.key().to_owned(),
            method: method.to_owned(),
            params: Json::new(asked.params()).ok(),
            answer: answered.as_ref().ok().and_then(written),
            error: answered.as_ref().err().map(RecordedError::from),
            of_method: asked.call().map(|call| call.method.clone()),
            of_name: asked.call().map(|call| call.name.clone()),
            duration_ns: at.elapsed_ns(),
            extra: Object::new(),
        };
        open.event(&writing, at, "input", |fields| fields.members(&event));
        answered
    }
}

/// A call that is open, as far as questions go.
pub(super) struct Entered<'a> {
    log: &'a InputLog,
    open: Weak<Open>,
    /// Another trajectory has calls open as well.
    pub(super) is_among_others: bool,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let mut open = lock(&self.log.0.open);
        let at = open.iter().position(|one| Arc::as_ptr(one) == self.open.as_ptr());
        let left = at.map(|at| open.swap_remove(at));
        drop(open);
        // Not under the lock: it may have been the last handle.
        drop(left);
    }
}

fn plain<A: Serialize>(answer: &A) -> Option<Json> {
    Json::new(answer).ok()
}

impl ClientHandler for InputLog {
    fn can(&self, ability: Ability) -> bool {
        self.0.handler.can(ability)
    }

    fn elicit(&self, form: &Asked<ElicitFormParams>) -> Result<ElicitResult, ErrorObject> {
        self.answer("elicitation/create", form, |handler| handler.elicit(form), plain)
    }

    fn elicit_url(&self, url: &Asked<ElicitUrlParams>) -> Result<ElicitResult, ErrorObject> {
        self.answer("elicitation/create", url, |handler| handler.elicit_url(url), plain)
    }

    fn sample(&self, request: &Asked<CreateMessageParams>) -> Result<CreateMessageResult, ErrorObject> {
        self.answer("sampling/createMessage", request, |handler| handler.sample(request), plain)
    }

    fn roots(&self, request: &Asked<ListRootsParams>) -> Result<Vec<Root>, ErrorObject> {
        let written = |roots: &Vec<Root>| plain(&ListRootsResult::new(roots.clone()));
        self.answer("roots/list", request, |handler| handler.roots(request), written)
    }
}

impl fmt::Debug for InputLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InputLog")
    }
}
