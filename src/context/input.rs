//! What a handler asks of its client, and does only once.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ask::{limited, needed, not_answered};
use super::{Ability, AskError, Caller, Context, Pause, Question, Questions, StateError};
use crate::era::{Lower, inexpressible};
use crate::json::Json;
use crate::peer::{Asked, ask};
use crate::protocol::{
    CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, ElicitUrlParams, InputRequest, Root,
};

/// How a handler asks that neither ends nor keeps its request waiting: as a task.
pub(crate) trait Asker: Send + Sync {
    /// Asks `questions` at once, and waits for all the answers, which are in the same order.
    ///
    /// # Errors
    /// Why one of them has no answer.
    fn ask(&self, questions: Vec<(String, Asked)>) -> Result<Vec<Json>, AskError>;
}

/// # Asking the client
///
/// A handler asks as if the answer came at once:
///
/// ```
/// use tinymcp::protocol::{ElicitParams, PrimitiveSchema, RequestedSchema};
/// use tinymcp::{Context, ToolError};
///
/// fn deploy(target: &str, cx: &Context) -> Result<String, ToolError> {
///     let fields = RequestedSchema::new().required("sure", PrimitiveSchema::boolean());
///     let answer = cx.elicit("confirm", ElicitParams::form(format!("Deploy to {target}?"), fields))?;
///     if !answer.is_accepted() {
///         return Ok("not deployed".to_owned());
///     }
///     let release: u32 = cx.step("release", || Ok::<_, ToolError>(7))?; // made once
///     Ok(format!("release {release} is deployed to {target}"))
/// }
/// # let error = deploy("test", &Context::detached()).unwrap_err();
/// # assert_eq!(error.to_string(), "there is no client to ask");
/// ```
///
/// A Legacy client gets a request, and this thread waits for the answer. A Modern client gets it as the
/// end of the call: `elicit` returns [`AskError::InputRequired`], the handler passes that on with `?`, and **runs again from
/// its beginning** when the client comes back; then `elicit` returns the answer. So whatever a handler does before a
/// question may be done more than once, unless it is a [`step`](Self::step). What it does after its last question is done
/// once, as the server accepts each state of a call once.
///
/// Answers and steps are found again by their keys. A key used a second time in one run, as in a loop, is
/// another question; a handler that runs again must ask in the same order.
impl Context {
    /// Asks the user, with a form or by sending them to a URL. The answer to a form fits its schema.
    ///
    /// # Errors
    /// [`AskError::InputRequired`], to be passed on, or why there is no answer. A user who declines is no error.
    pub fn elicit(&self, key: &str, params: impl Into<ElicitParams>) -> Result<ElicitResult, AskError> {
        self.ask(Question::elicit(key, params))
    }

    /// Asks the client's language model.
    ///
    /// # Errors
    /// [`AskError::InputRequired`], to be passed on, or why there is no answer.
    pub fn sample(&self, key: &str, params: CreateMessageParams) -> Result<CreateMessageResult, AskError> {
        self.ask(Question::sample(key, params))
    }

    /// The client's root folders: where it would like the server to work.
    ///
    /// # Errors
    /// [`AskError::InputRequired`], to be passed on, or why there is no answer.
    pub fn roots(&self) -> Result<Vec<Root>, AskError> {
        self.ask(Question::roots("roots"))
    }

    /// Asks several questions at once: a tuple or a list of [`Question`]s. That takes one round instead of one each.
    ///
    /// # Errors
    /// [`AskError::InputRequired`], to be passed on, or why there is no answer to one of them. Nothing is asked if the client
    /// cannot do all of it.
    pub fn ask<Q: Questions>(&self, questions: Q) -> Result<Q::Answers, AskError> {
        let mut requests = Vec::new();
        questions.pose(&mut requests);
        let answers = self.ask_client(requests)?;
        questions.read(&mut answers.into_iter())
    }

    /// Does something once, however often the handler runs again: the value is kept for later rounds, in the request
    /// state, and for the task that the call becomes by [`begin_task`](Self::begin_task). It must survive being written and read
    /// as JSON.
    ///
    /// Once means once for each state: if this round ends with neither a question nor a task, or the process ends, nothing is kept,
    /// and a client that starts the call over starts over.
    ///
    /// # Errors
    /// That of `work`, which is not kept.
    pub fn step<T, E>(&self, key: &str, work: impl FnOnce() -> Result<T, E>) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
        E: From<AskError>,
    {
        let failed = |e: serde_json::Error| AskError::Failed(format!("the value of step {key} is lost: {e}"));
        let (place, kept) = self.kept(key);
        if let Some(kept) = kept {
            return kept.to().map_err(|e| failed(e).into());
        }
        let value = work()?;
        if let Some(place) = place {
            self.0.rounds.keep_step(place, &Json::new(&value).map_err(failed)?);
        }
        Ok(value)
    }

    /// Where the value of this step is to be kept, if it is, and the value it has already.
    fn kept(&self, key: &str) -> (Option<String>, Option<Json>) {
        match (&self.0.caller, &self.0.asker) {
            (Caller::Modern, None) => {
                let (unique, kept) = self.0.rounds.step(key);
                (Some(unique), kept)
            }
            // A task does not run again.
            _ => (None, self.0.rounds.step_before(key)),
        }
    }

    /// Whether the client can be asked for this. A Modern one only while a tool is called, a prompt filled in or a resource read.
    #[must_use]
    pub fn supports(&self, ability: Ability) -> bool {
        match self.0.caller {
            Caller::Local => false,
            Caller::Modern if !self.has_rounds() => false,
            _ => ability.is_in(&self.client_capabilities(), self.protocol_version()),
        }
    }

    /// Whether the answers of a Modern client have a way back: as another round, or to a task.
    fn has_rounds(&self) -> bool {
        self.0.asker.is_some() || self.0.rounds.may_ask()
    }

    fn ask_client(&self, questions: Vec<(String, InputRequest)>) -> Result<Vec<Json>, AskError> {
        let Some((outlet, call)) = &self.0.served else { return Err(AskError::NoClient) };
        // spec: 2026-07-28 basic/patterns/mrtr#supported-requests (MUST NOT on any other)
        if matches!(self.0.caller, Caller::Modern) && !self.has_rounds() {
            return Err(AskError::Failed(ONLY_IN_ROUNDS.to_owned()));
        }
        let (capabilities, version) = (self.client_capabilities(), self.protocol_version());
        // spec: 2026-07-28 basic/patterns/mrtr#server-requirements-basic-workflow (nothing that was not declared)
        let lacking = questions.iter().filter_map(|(_, request)| needed(request));
        if let Some(ability) = lacking.into_iter().find(|ability| !ability.is_in(&capabilities, version)) {
            return Err(ability.missing());
        }
        let has_context = Ability::SamplingContext.is_in(&capabilities, version);
        let mut asked = Vec::with_capacity(questions.len());
        for (key, request) in questions {
            let mut request = limited(request, has_context);
            if let InputRequest::CreateMessage(params) = &request {
                let cannot = |problem| AskError::Failed(format!("{key} cannot be asked: {problem}"));
                params.check_turns().map_err(cannot)?;
            }
            if let InputRequest::Elicit(params) = &mut request {
                if let Some(problem) = inexpressible(params, version) {
                    return Err(AskError::Failed(format!("{key} cannot be asked: {problem}")));
                }
                self.name_elicitation(&key, params);
            }
            request.lower(version);
            asked.push((key, request));
        }
        if let Some(asker) = &self.0.asker {
            let mut answers: Vec<_> = asked.iter().map(|(key, _)| self.0.rounds.answer_before(key)).collect();
            let open = asked.iter().zip(&answers).filter(|(_, answer)| answer.is_none());
            let open: Vec<_> = open.map(|((key, request), _)| (key.clone(), as_request(request))).collect();
            if !open.is_empty() {
                let places = answers.iter_mut().filter(|answer| answer.is_none());
                places.zip(asker.ask(open)?).for_each(|(place, answer)| *place = Some(answer));
            }
            return Ok(answers.into_iter().flatten().collect());
        }
        if matches!(self.0.caller, Caller::Modern) {
            let asked = asked.into_iter().map(|(key, request)| (key, written(&request)));
            return self.0.rounds.ask(asked.collect()).ok_or(AskError::InputRequired);
        }
        let requests: Vec<_> = asked.iter().map(|(_, request)| as_request(request)).collect();
        let answers = ask(&**outlet, call, &requests, self.0.patience);
        answers
            .into_iter()
            .zip(&asked)
            .map(|(answer, (key, _))| answer.map_err(|why| not_answered(key, why)))
            .collect()
    }

    /// Asks the user to visit URLs, without looking at the answers: the handler finds out by itself whether it can go on.
    pub(crate) fn require(&self, elicitations: Vec<ElicitUrlParams>) -> Result<(), AskError> {
        if let Caller::Legacy(client) = &self.0.caller {
            // It gets an error that says the same, and is told when they are done.
            // spec: 2025-11-25 client/elicitation#capabilities (MUST NOT be asked in a mode that was not declared)
            if !self.supports(Ability::Url) {
                return Err(Ability::Url.missing());
            }
            let ids = elicitations.iter().filter_map(|params| params.elicitation_id.as_ref());
            ids.for_each(|id| client.url_asked(id));
            return Ok(());
        }
        let key =
            |params: &ElicitUrlParams| params.elicitation_id.clone().unwrap_or_else(|| "url".to_owned());
        let questions = elicitations.into_iter();
        let questions = questions.map(|params| (key(&params), ElicitParams::Url(params).into()));
        match self.ask_client(questions.collect()) {
            Ok(_) | Err(AskError::InputRequired) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Revision 2025-11-25 wants an id for every URL.
    fn name_elicitation(&self, key: &str, params: &mut ElicitParams) {
        if let ElicitParams::Url(params) = params {
            let of_call = self.request_id().map(ToString::to_string).unwrap_or_default();
            let id = params.elicitation_id.get_or_insert_with(|| format!("{of_call}-{key}"));
            if let Caller::Legacy(client) = &self.0.caller {
                client.url_asked(id);
            }
        }
    }

    /// Ends the round when the handler has returned, if it asked something that has no answer.
    pub(crate) fn pause(&self, binding: impl FnOnce() -> Vec<u8>) -> Option<Result<Pause, StateError>> {
        self.0.rounds.pause(binding, self.0.patience.unwrap_or_default())
    }
}

/// spec: 2026-07-28 basic/patterns/mrtr#supported-requests
const ONLY_IN_ROUNDS: &str =
    "a client of revision 2026-07-28 can be asked only by tools/call, prompts/get and resources/read";

fn written<T: Serialize>(value: &T) -> Json {
    Json::new(value).expect("wire types serialize")
}

/// The same as a Legacy request.
fn as_request(request: &InputRequest) -> Asked {
    let params = match request {
        InputRequest::Elicit(params) => written(params),
        InputRequest::CreateMessage(params) => written(params),
        InputRequest::ListRoots(params) => written(params),
        InputRequest::Unknown { params, .. } => written(params),
    };
    Asked { method: request.method().to_owned(), params }
}
