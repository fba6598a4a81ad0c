//! Calls that end with a question: resuming what an earlier round learned, and keeping it for the next.
//!
//! spec: 2026-07-28 basic/patterns/mrtr

use serde::Serialize;
use serde_json::value::RawValue;

use super::asked::{Asked, bad_params};
use crate::context::{AskError, Context, Resumed, Rounds, StateError};
use crate::era::Lower;
use crate::json::{FromJson, Json, JsonError, Members, Object, write_members};
use crate::jsonrpc::ErrorObject;
use crate::method::Method;
use crate::tool::ToolError;

/// Members that say which round of a call this is; in all others the rounds are alike.
const INPUT_RESPONSES: &str = "inputResponses";
const REQUEST_STATE: &str = "requestState";

impl Asked<'_> {
    /// What earlier rounds of this call learned.
    ///
    /// # Errors
    /// -32602 if the request state is not one of this call.
    pub(super) fn resumed(&mut self) -> Result<Rounds, ErrorObject> {
        if !self.is_modern() || !self.method.may_need_input() {
            return Ok(Rounds::default());
        }
        let responses = self.members.take(INPUT_RESPONSES).filter(|raw| raw.get() != "null");
        let state = self.members.take(REQUEST_STATE).filter(|raw| raw.get() != "null");
        if let Some(responses) = responses {
            check_responses(responses).map_err(|e| bad_params(e, Some(INPUT_RESPONSES)))?;
        }
        let responses = responses.map(Json::of_frame);
        let states = &self.server.config.states;
        let Some(state) = state else {
            // A client that knows what will be asked may say it ahead.
            return Ok(Rounds::new(responses.map(Resumed::ahead), states));
        };
        let state = String::from_json(state)
            .map_err(|_| bad_params(JsonError::new("expected a string"), Some(REQUEST_STATE)))?;
        // spec: 2026-07-28 basic/patterns/mrtr#server-requirements-basic-workflow (MUST reject what fails verification)
        // Without a store none was ever given out.
        let kept =
            states.get().ok_or(StateError::Unknown).and_then(|store| store.take(&self.binding(), &state));
        let state = kept.map_err(|e| ErrorObject::invalid_params(format!("params.{REQUEST_STATE}: {e}")))?;
        Ok(Rounds::new(Some(Resumed { state: Some(state), responses }), states))
    }

    /// Ends this round with what the handler asked; `None` if it asked nothing that has no answer.
    pub(super) fn pause(&self, cx: &Context, out: &mut Vec<u8>) -> Option<Result<(), ErrorObject>> {
        let pause = cx.pause(|| self.binding())?;
        Some(pause.map_err(ErrorObject::internal).and_then(|pause| {
            let mut result = Object::new();
            result.insert("resultType", "input_required");
            result.insert("inputRequests", &pause.questions);
            result.insert("requestState", &pause.request_state);
            self.write_lowered(out, &result)
        }))
    }

    /// Writes what a handler other than a tool's came to.
    pub(super) fn finish<T: Serialize + Lower>(
        &self,
        cx: &Context,
        result: Result<T, ToolError>,
        out: &mut Vec<u8>,
    ) -> Result<(), ErrorObject> {
        match result.map_err(|error| examine(error, cx, self.method)) {
            Ok(result) => self.write(out, result),
            Err(error) => self.pause(cx, out).unwrap_or_else(|| Err(error.into_error())),
        }
    }

    /// What every round of a call has in common, and no other call.
    fn binding(&self) -> Vec<u8> {
        let mut binding = self.method.name().as_bytes().to_vec();
        let params = self.serving.request.params.and_then(|params| Members::of(params).ok());
        let mut members = params.unwrap_or_default();
        for of_the_round in ["_meta", INPUT_RESPONSES, REQUEST_STATE] {
            while members.take(of_the_round).is_some() {}
        }
        write_members(&mut binding, &members);
        if let Some(principal) = &self.serving.call.principal {
            binding.extend_from_slice(principal.id().as_bytes());
        }
        binding
    }
}

/// Answers are by key, and whatever was asked, an answer is an object.
///
/// spec: 2026-07-28 basic/patterns/mrtr#error-handling (SHOULD be valid `InputResponses`)
fn check_responses(responses: &RawValue) -> Result<(), JsonError> {
    let responses = Members::of(responses)?;
    match responses.iter().find(|(_, answer)| !answer.get().starts_with('{')) {
        Some((key, answer)) => Err(JsonError::expected("an object", answer).inside(key)),
        None => Ok(()),
    }
}

/// What the failure of a handler of `method` is apart from its text: a question that is open now, or an error that tells the
/// client what it lacks.
pub(super) fn examine(error: ToolError, cx: &Context, method: Method) -> ToolError {
    let is_modern = cx.protocol_version().is_modern();
    // Revision 2026-07-28 asks for what in 2025-11-25 is an error.
    let error = error.put_to(cx);
    match error.ask_error() {
        // spec: 2026-07-28 basic/index#error-codes (-32021 with the capabilities)
        Some(AskError::Unsupported { error, .. }) if is_modern || method != Method::ToolsCall => {
            ToolError::protocol((**error).clone())
        }
        _ => error,
    }
}
