//! Answering one question of a server: the same for a Legacy request and for a question of a Modern call.
//!
//! **Invariant:** nothing reaches a handler that was not declared, and nothing leaves that was not asked for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use serde::Serialize;

use super::asked::{About, Asked};
use super::handler::{ClientHandler, Handlers, must_be_files};
use super::urls::{Urls, host};
use crate::context::{Ability, needed};
use crate::era::{Lower, lowered};
use crate::json::{Json, JsonError, Object};
use crate::jsonrpc::{ErrorCode, ErrorObject};
use crate::method::Method;
use crate::protocol::{
    ClientCapabilities, CreateMessageParams, ElicitFormParams, ElicitParams, ElicitResult, ElicitUrlParams,
    InputRequest, ListRootsParams, ListRootsResult, ProtocolVersion,
};
use crate::sync::{Mutex, lock};

/// Who answers, and what was declared of it. Fixed for the life of a client.
pub(super) struct Answers {
    pub(super) handlers: Handlers,
    pub(super) declared: ClientCapabilities,
    pub(super) urls: Urls,
    pub(super) held_up: HeldUp,
}

/// How long a Legacy server has been kept waiting for an answer: meanwhile its own answers cannot come, whichever call they
/// are for. Locked for a look.
#[derive(Default)]
pub(super) struct HeldUp(Mutex<Held>);

#[derive(Default)]
struct Held {
    questions: usize,
    last: Option<Instant>,
}

/// A question is open until this is dropped.
pub(super) struct Holding<'a>(&'a HeldUp);

impl HeldUp {
    pub(super) fn hold(&self) -> Holding<'_> {
        lock(&self.0).questions += 1;
        Holding(self)
    }

    /// The last moment at which an answer was wanted here.
    pub(super) fn until(&self) -> Option<Instant> {
        let held = lock(&self.0);
        if held.questions > 0 { Some(Instant::now()) } else { held.last }
    }
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        let mut held = lock(&self.0.0);
        held.questions -= 1;
        held.last = Some(Instant::now());
    }
}

impl Answers {
    pub(super) fn new(handlers: Handlers, declared: ClientCapabilities) -> Self {
        Self { handlers, declared, urls: Urls::default(), held_up: HeldUp::default() }
    }

    /// Whether the client has anything to do with this method of a Legacy server.
    pub(super) fn answers(&self, method: &str) -> bool {
        match Method::from_name(method) {
            Some(Method::ElicitationCreate) => self.declared.elicitation.is_some(),
            Some(Method::SamplingCreateMessage) => self.declared.sampling.is_some(),
            Some(Method::RootsList) => self.declared.roots.is_some(),
            _ => false,
        }
    }

    /// Why `request` is not answered, if it should not have been asked.
    ///
    /// # Errors
    /// -32601 if the client answers no such requests, -32602 if it answers others of the kind.
    pub(super) fn check(&self, request: &InputRequest, version: &ProtocolVersion) -> Result<(), ErrorObject> {
        let lacks = |ability: Ability| !ability.is_in(&self.declared, version);
        let Some(ability) = needed(request) else {
            return Err(ErrorObject::method_not_found(request.method()));
        };
        let (is_missing, is_known) = match request {
            InputRequest::Elicit(params) => (
                lacks(ability) || matches!(**params, ElicitParams::Unknown(_)),
                !lacks(Ability::Form) || !lacks(Ability::Url),
            ),
            InputRequest::CreateMessage(params) => {
                if let (false, Err(problem)) = (lacks(ability), params.check_turns()) {
                    // spec: 2025-11-25 client/sampling#error-handling
                    return Err(ErrorObject::invalid_params(problem));
                }
                (lacks(ability), !lacks(Ability::Sampling))
            }
            _ => (lacks(ability), false),
        };
        let what = match request {
            InputRequest::Elicit(params) if matches!(**params, ElicitParams::Unknown(_)) => {
                "elicitation of another mode"
            }
            _ => ability.what(),
        };
        match (is_missing, is_known) {
            (false, _) => Ok(()),
            // spec: 2025-11-25 client/elicitation#error-handling, schema#createmessagerequestparams
            (true, true) => Err(ErrorObject::new(
                ErrorCode::INVALID_PARAMS,
                format!("this client does not support {what}"),
            )),
            (true, false) => Err(ErrorObject::method_not_found(request.method())),
        }
    }

    /// The answer, as `version` knows it.
    ///
    /// # Errors
    /// What to answer instead: the handler's error, or that its answer is not fit to be sent.
    pub(super) fn answer(
        &self,
        request: InputRequest,
        version: &ProtocolVersion,
        about: About,
    ) -> Result<Json, ErrorObject> {
        self.check(&request, version)?;
        let method = request.method().to_owned();
        caught(&method, || match request {
            InputRequest::Elicit(params) => match *params {
                ElicitParams::Form(params) => written(self.form(params, about)?, version),
                ElicitParams::Url(params) => written(self.url(params, about)?, version),
                ElicitParams::Unknown(_) => Err(ErrorObject::method_not_found(&method)),
            },
            InputRequest::CreateMessage(params) => self.sample(*params, about, version),
            InputRequest::ListRoots(params) => written(self.roots(params, about)?, version),
            InputRequest::Unknown { .. } => Err(ErrorObject::method_not_found(&method)),
        })
    }

    /// Sends the user to a URL that a call requires.
    pub(super) fn visit(&self, params: ElicitUrlParams, about: About) -> Result<ElicitResult, ErrorObject> {
        caught("elicitation/create", || self.url(params, about))
    }

    fn form(&self, params: ElicitFormParams, about: About) -> Result<ElicitResult, ErrorObject> {
        let asked = Asked::new(params, about);
        let mut result = self.handlers.elicit(&asked)?;
        if !result.is_accepted() {
            return Ok(result);
        }
        // A field without a value is left out: the protocol has no other word for that.
        let content = result.content.take().unwrap_or_default();
        let content: Object = content
            .iter()
            .filter(|(_, value)| value.as_str() != "null")
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect();
        // spec: 2026-07-28 client/elicitation#form-mode-security (clients SHOULD validate)
        asked.requested_schema.check(&content).map_err(|problems| {
            let problems: Vec<_> = problems.iter().map(JsonError::to_string).collect();
            unfit("elicitation/create", &problems.join("; "))
        })?;
        result.content = Some(content);
        Ok(result)
    }

    /// spec: 2026-07-28 client/elicitation#safe-url-handling
    fn url(&self, params: ElicitUrlParams, about: About) -> Result<ElicitResult, ErrorObject> {
        if let Err(problem) = host(&params.url) {
            log::warn!("refused a URL of {}: it {problem}", about.client.session.origin());
            return Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("params.url: {problem}")));
        }
        if let Some(id) = &params.elicitation_id {
            self.urls.open(id);
        }
        let mut result = self.handlers.elicit_url(&Asked::new(params, about))?;
        result.content = None; // what the user enters there is no business of the client
        Ok(result)
    }

    fn sample(
        &self,
        mut params: CreateMessageParams,
        about: About,
        version: &ProtocolVersion,
    ) -> Result<Json, ErrorObject> {
        // spec: 2026-07-28 client/sampling#context-inclusion (the client MAY ignore it)
        if !self.handlers.can(Ability::SamplingContext) {
            params.include_context = None;
        }
        written(self.handlers.sample(&Asked::new(params, about))?, version)
    }

    fn roots(&self, params: ListRootsParams, about: About) -> Result<ListRootsResult, ErrorObject> {
        let roots = self.handlers.roots(&Asked::new(params, about))?;
        must_be_files(&roots).map_err(|problem| unfit("roots/list", &problem))?;
        Ok(ListRootsResult::new(roots))
    }
}

/// A panic of a handler is the error of who asked.
fn caught<T>(method: &str, answer: impl FnOnce() -> Result<T, ErrorObject>) -> Result<T, ErrorObject> {
    // What a handler leaves half done is its own; the client's state is only looked at here.
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_| {
        log::error!("the handler of {method} panicked");
        Err(ErrorObject::internal(format!("the handler of {method} panicked")))
    })
}

fn written<T: Lower + Serialize>(answer: T, version: &ProtocolVersion) -> Result<Json, ErrorObject> {
    Json::new(&lowered(answer, version)).map_err(ErrorObject::internal)
}

/// The handler's answer is not what was asked for: its mistake, and nobody else can mend it.
fn unfit(method: &str, problem: &str) -> ErrorObject {
    log::warn!("the answer to {method} is not valid and was not sent: {problem}");
    ErrorObject::internal(format!("this client has no valid answer: {problem}"))
}
