//! [`Rounds`]: what a Modern call learned before its handler ran once more.
//!
//! A Modern handler that needs an answer returns early, and runs again from its beginning when the client comes back with
//! it. So what it asked and did before is kept under keys, and given to it when it comes to the same place.
//!
//! Most calls never ask. What is known is taken apart by the first question or step, and what keeps it for the next
//! round is put in place by the first question without an answer, so that programs without questions do not link that.
//!
//! spec: 2026-07-28 basic/patterns/mrtr

use std::collections::BTreeMap;
use std::time::Duration;

use super::state::{MemoryStates, StateError, States};
use crate::json::{InOrder, Json, Members, Object};
use crate::sync::{Mutex, lock};

/// The rounds of one call. Owner: its context. Bound: what its handler asks; what is kept of it is bounded by the store.
#[derive(Default)]
pub(crate) struct Rounds {
    /// Made when it is needed. Held for a look, and while what was kept is taken apart.
    round: Mutex<Option<Box<Round>>>,
    /// Where the next round finds what is known; `None` where there is no next one.
    states: Option<States>,
    /// The handler may make a task of the call.
    may_begin: bool,
}

/// What a request says that goes on with a call.
pub(crate) struct Resumed {
    /// What the store kept; `None` if nothing was asked before, as far as one can tell.
    pub(crate) state: Option<Vec<u8>>,
    /// The client's answers, an object, if there are any.
    pub(crate) responses: Option<Json>,
}

impl Resumed {
    /// Of a client that has answers before it was asked.
    pub(crate) fn ahead(responses: Json) -> Self {
        Self { state: None, responses: Some(responses) }
    }
}

#[derive(Default)]
struct Round {
    /// From the round before, until it is needed.
    resumed: Option<Resumed>,
    answers: Object,
    /// Answers to what may be asked yet. Those that are needed become answers, the others are forgotten with the round.
    ahead: Object,
    steps: Object,
    /// The keys of this round.
    keys: Keys,
    /// Asked in this round, and not answered yet, in order. As text: what can be asked is known where it is asked.
    open: Vec<(String, Json)>,
    /// Ends the round. Set by the first question without an answer.
    pause: Option<Keep>,
    /// The call goes on as a task.
    begins: bool,
    /// So many of the answers and steps from before a task are still to come up in its handler.
    unmet: usize,
}

/// Keeps what is known in a store, under a binding and for a time.
type Keep = fn(Round, &States, &[u8], Duration) -> Result<Pause, StateError>;

/// What to tell the client when a call ends with questions.
pub(crate) struct Pause {
    /// The questions by key, an object in their order.
    pub(crate) questions: Json,
    /// What the client is to send back.
    pub(crate) request_state: String,
}

impl Rounds {
    /// The rounds of a call whose state is kept in `states`.
    pub(crate) fn new(resumed: Option<Resumed>, states: &States) -> Self {
        let round = resumed.map(|resumed| Box::new(Round { resumed: Some(resumed), ..Round::default() }));
        Self { round: Mutex::new(round), states: Some(States::clone(states)), may_begin: false }
    }

    /// The same; whether the handler may make a task of the call.
    pub(crate) fn may_begin(self, may_begin: bool) -> Self {
        Self { may_begin, ..self }
    }

    /// Whether the call may end with questions.
    pub(super) fn may_ask(&self) -> bool {
        self.states.is_some()
    }

    /// The answers to `questions`, in their order, if all are there. If not, the missing ones are open from now on.
    pub(super) fn ask(&self, questions: Vec<(String, Json)>) -> Option<Vec<Json>> {
        self.with(|round| {
            let keyed: Vec<_> =
                questions.into_iter().map(|(key, request)| (round.keys.unique(&key), request)).collect();
            for (key, _) in &keyed {
                if let Some(answer) = round.ahead.remove(key) {
                    round.answers.insert(key, &answer);
                }
            }
            let answers: Option<Vec<_>> =
                keyed.iter().map(|(key, _)| round.answers.json(key).cloned()).collect();
            if answers.is_none() {
                round.pause = Some(Round::keep);
                for (key, request) in keyed {
                    if round.answers.json(&key).is_none() {
                        round.open.push((key, request));
                    }
                }
            }
            answers
        })
    }

    /// The key for this use of `key`, and the value of that step, if an earlier round took it.
    pub(super) fn step(&self, key: &str) -> (String, Option<Json>) {
        self.with(|round| {
            let key = round.keys.unique(key);
            let value = round.steps.json(&key).cloned();
            (key, value)
        })
    }

    /// Keeps the value of a step.
    pub(super) fn keep_step(&self, key: String, value: &Json) {
        self.with(|round| round.steps.insert(key, value));
    }

    /// Has the call go on as a task when the handler has returned; `false` if it cannot.
    pub(super) fn begin(&self) -> bool {
        if self.may_begin {
            self.with(|round| round.begins = true);
        }
        self.may_begin
    }

    /// What the task knows from its start that the call becomes, if it becomes one: not while a question is open.
    ///
    /// spec: seps/2663-tasks-extension#task-creation (SHOULD resolve all rounds before)
    pub(super) fn begun(&self) -> Option<Self> {
        let round = lock(&self.round).take_if(|round| round.begins && round.pause.is_none())?;
        let Round { answers, steps, .. } = *round;
        let round = Box::new(Round { answers, steps, ..Round::default() });
        let known = Self { round: Mutex::new(Some(round)), ..Self::default() };
        known.start_over();
        Some(known)
    }

    /// The handler of a task begins to run, or does so once more.
    pub(super) fn start_over(&self) {
        if let Some(round) = lock(&self.round).as_mut() {
            round.keys = Keys::default();
            round.unmet = round.answers.len() + round.steps.len();
        }
    }

    /// The answer to this use of `key` from before the task.
    pub(super) fn answer_before(&self, key: &str) -> Option<Json> {
        self.before(key, |round| &round.answers)
    }

    /// The value of this step from before the task.
    pub(super) fn step_before(&self, key: &str) -> Option<Json> {
        self.before(key, |round| &round.steps)
    }

    fn before(&self, key: &str, known: fn(&Round) -> &Object) -> Option<Json> {
        let mut round = lock(&self.round);
        // A task may run for long: it remembers no keys beyond those.
        let round = round.as_mut().filter(|round| round.unmet > 0)?;
        let key = round.keys.unique(key);
        let found = known(round).json(&key).cloned()?;
        round.unmet -= 1;
        Some(found)
    }

    /// The bytes of what is known to a task.
    pub(crate) fn bytes(&self) -> usize {
        lock(&self.round).as_ref().map_or(0, |round| {
            let known = round.answers.iter().chain(round.steps.iter());
            known.map(|(key, json)| key.len() + json.as_str().len()).sum()
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Round) -> T) -> T {
        let mut round = lock(&self.round);
        let round = round.get_or_insert_default();
        round.resume();
        work(round)
    }

    /// Ends the round, if the handler asked something that has no answer. `binding` is what the next round must have in common
    /// with this one; it is waited for as long as `time`.
    pub(crate) fn pause(
        &self,
        binding: impl FnOnce() -> Vec<u8>,
        time: Duration,
    ) -> Option<Result<Pause, StateError>> {
        let round = lock(&self.round).take()?;
        let keep = round.pause?;
        let states = self.states.as_ref().ok_or(StateError::Unknown);
        Some(states.and_then(|states| keep(*round, states, &binding(), time)))
    }
}

impl Round {
    /// Takes apart what an earlier round left. Only answers to what was asked count; what is missing is asked again.
    ///
    /// spec: 2026-07-28 basic/patterns/mrtr#error-handling
    fn resume(&mut self) {
        let Some(Resumed { state, responses }) = self.resumed.take() else { return };
        let responses = responses.as_ref().and_then(|responses| Members::of(responses.as_raw()).ok());
        let mut responses = responses.unwrap_or_default();
        let Some(state) = state else {
            self.ahead = responses.rest();
            return;
        };
        let Ok(state) = serde_json::from_slice::<Json>(&state) else {
            log::error!("the state store returned something else than it was given");
            return;
        };
        let mut state = Members::of(state.as_raw()).unwrap_or_default();
        self.answers = state.lenient("answers").unwrap_or_default();
        self.steps = state.lenient("steps").unwrap_or_default();
        for key in state.lenient::<Vec<String>>("asked").unwrap_or_default() {
            if let Some(answer) = responses.take(&key) {
                self.answers.insert(key, answer);
            }
        }
    }

    /// Keeps what is known.
    fn keep(self, states: &States, binding: &[u8], time: Duration) -> Result<Pause, StateError> {
        let asked: Vec<_> = self.open.iter().map(|(key, _)| key.as_str()).collect();
        let mut kept = Object::new();
        kept.insert("asked", &asked);
        kept.insert("answers", &self.answers);
        kept.insert("steps", &self.steps);
        let states = states.get_or_init(|| std::sync::Arc::new(MemoryStates::new()));
        let request_state = states.keep(binding, Json::from(kept).as_str().into(), time)?;
        let questions = Json::new(&InOrder(&self.open)).map_err(|e| StateError::Failed(e.to_string()))?;
        Ok(Pause { questions, request_state })
    }
}

/// The keys that were used.
#[derive(Debug, Default)]
pub(crate) struct Keys(BTreeMap<String, u32>);

impl Keys {
    /// A handler may ask in a loop, for example until an answer is good: each use of a key is a question of its own. A
    /// handler that runs again uses its keys in the same order.
    ///
    /// spec: 2026-07-28 basic/patterns/mrtr#server-requirements-basic-workflow (keys MUST be unique)
    pub(crate) fn unique(&mut self, key: &str) -> String {
        loop {
            let uses = self.0.entry(key.to_owned()).or_default();
            *uses += 1;
            if *uses == 1 {
                return key.to_owned();
            }
            let numbered = format!("{key}#{uses}");
            if !self.0.contains_key(&numbered) {
                self.0.insert(numbered.clone(), 1);
                return numbered;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_task_remembers_keys_until_it_has_come_to_all_that_it_knew() {
        let call = Rounds::new(Some(Resumed::ahead(json!({"a": {}, "b": {}}).into())), &States::default());
        let call = call.may_begin(true);
        let asked = |key: &str| call.ask(vec![(key.to_owned(), Json::null())]);
        assert!(asked("a").is_some());
        let (key, _) = call.step("a");
        call.keep_step(key, &Json::from(json!(7)));
        assert!(asked("b").is_some());
        assert!(call.begin() && call.begin());
        let task = call.begun().expect("a task");
        assert_eq!((call.begun().is_none(), task.begin(), task.bytes()), (true, false, 10));
        for _ in 0..2 {
            // An answer is none for a step, and a use of a key that is not known counts as well.
            assert_eq!((task.step_before("b"), task.answer_before("new")), (None, None));
            assert!(task.answer_before("a").is_some());
            assert_eq!(task.step_before("a"), Some(Json::from(json!(7))));
            assert_eq!(task.answer_before("b"), None, "its second use");
            task.start_over();
            assert!(task.answer_before("a").is_some() && task.answer_before("b").is_some());
            assert!(task.step_before("a").is_some());
            for _ in 0..100 {
                assert_eq!((task.step_before("a"), task.answer_before("later")), (None, None));
            }
            let keys = lock(&task.round).as_ref().map(|round| round.keys.0.len());
            assert_eq!(keys, Some(3), "a, b and the step a#2");
            task.start_over();
        }
    }
}
