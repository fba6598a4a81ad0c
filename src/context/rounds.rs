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
use crate::json::{Json, Members, Object};
use crate::sync::{Mutex, lock};

/// The rounds of one call. Owner: its context. Bound: what its handler asks; what is kept of it is bounded by the store.
#[derive(Default)]
pub(crate) struct Rounds {
    /// From the round before.
    resumed: Mutex<Option<Resumed>>,
    round: Mutex<Round>,
    /// Where the next round finds what is known; `None` where there is none.
    keeping: Option<Keeping>,
}

/// What a request says that goes on with a call.
pub(crate) struct Resumed {
    /// What the store kept.
    pub(crate) state: Vec<u8>,
    /// The client's answers, an object, if there are any.
    pub(crate) responses: Option<Json>,
}

#[derive(Clone)]
struct Keeping {
    states: States,
    time: Duration,
}

#[derive(Default)]
struct Round {
    answers: Object,
    steps: Object,
    /// How often each key was used in this round.
    uses: BTreeMap<String, u32>,
    /// Asked in this round, and not answered yet, in order. As text: what can be asked is known where it is asked.
    open: Vec<(String, Json)>,
    /// Ends the round. Set by the first question without an answer.
    pause: Option<Keep>,
}

/// Keeps what is known under a binding.
type Keep = fn(&Rounds, &[u8]) -> Result<Pause, StateError>;

/// What to tell the client when a call ends with questions.
pub(crate) struct Pause {
    /// The questions by key, an object in their order.
    pub(crate) questions: Json,
    /// What the client is to send back.
    pub(crate) request_state: String,
}

impl Rounds {
    /// The rounds of a call whose state is kept in `states` for `time`.
    pub(crate) fn new(resumed: Option<Resumed>, states: &States, time: Duration) -> Self {
        let keeping = Some(Keeping { states: States::clone(states), time });
        Self { resumed: Mutex::new(resumed), round: Mutex::default(), keeping }
    }

    /// Whether there can be a next round: a client is asked only by some methods.
    pub(super) fn can_pause(&self) -> bool {
        self.keeping.is_some()
    }

    /// The answers to `questions`, in their order, if all are there. If not, the missing ones are open from now on.
    pub(super) fn ask(&self, questions: Vec<(String, Json)>) -> Option<Vec<Json>> {
        self.resume();
        let mut round = lock(&self.round);
        let keyed: Vec<_> =
            questions.into_iter().map(|(key, request)| (round.unique(&key), request)).collect();
        let answers: Option<Vec<_>> = keyed.iter().map(|(key, _)| round.answers.json(key).cloned()).collect();
        if answers.is_none() {
            round.pause = Some(Self::keep);
            for (key, request) in keyed {
                if round.answers.json(&key).is_none() {
                    round.open.push((key, request));
                }
            }
        }
        answers
    }

    /// The key for this use of `key`, and the value of that step, if an earlier round took it.
    pub(super) fn step(&self, key: &str) -> (String, Option<Json>) {
        self.resume();
        let mut round = lock(&self.round);
        let key = round.unique(key);
        let value = round.steps.json(&key).cloned();
        (key, value)
    }

    /// Keeps the value of a step.
    pub(super) fn keep_step(&self, key: String, value: &Json) {
        lock(&self.round).steps.insert(key, value);
    }

    /// Ends the round, if the handler asked something that has no answer. `binding` is what the next round must have in common
    /// with this one.
    pub(crate) fn pause(&self, binding: impl FnOnce() -> Vec<u8>) -> Option<Result<Pause, StateError>> {
        let pause = lock(&self.round).pause.take()?;
        Some(pause(self, &binding()))
    }

    /// Takes apart what an earlier round left. Only answers to what was asked count; what is missing is asked again.
    ///
    /// spec: 2026-07-28 basic/patterns/mrtr#error-handling
    fn resume(&self) {
        // Held to the end: of two threads that ask, the second must not find nothing yet.
        let mut left = lock(&self.resumed);
        let Some(resumed) = left.take() else { return };
        let Ok(state) = serde_json::from_slice::<Json>(&resumed.state) else {
            log::error!("the state store returned something else than it was given");
            return;
        };
        let mut state = Members::of(state.as_raw()).unwrap_or_default();
        let mut answers: Object = state.lenient("answers").unwrap_or_default();
        let responses = resumed.responses.as_ref().and_then(|responses| Members::of(responses.as_raw()).ok());
        let mut responses = responses.unwrap_or_default();
        for key in state.lenient::<Vec<String>>("asked").unwrap_or_default() {
            if let Some(answer) = responses.take(&key) {
                answers.insert(key, answer);
            }
        }
        let mut round = lock(&self.round);
        round.answers = answers;
        round.steps = state.lenient("steps").unwrap_or_default();
    }

    /// Keeps what is known.
    fn keep(&self, binding: &[u8]) -> Result<Pause, StateError> {
        let round = std::mem::take(&mut *lock(&self.round));
        let keeping = self.keeping.as_ref().ok_or(StateError::Unknown)?;
        let asked: Vec<_> = round.open.iter().map(|(key, _)| key.as_str()).collect();
        let mut kept = Object::new();
        kept.insert("asked", &asked);
        kept.insert("answers", &round.answers);
        kept.insert("steps", &round.steps);
        let states = keeping.states.get_or_init(|| std::sync::Arc::new(MemoryStates::new()));
        let request_state = states.keep(binding, Json::from(kept).as_str().into(), keeping.time)?;
        let questions = Json::new(&InOrder(round.open)).map_err(|e| StateError::Failed(e.to_string()))?;
        Ok(Pause { questions, request_state })
    }
}

impl Round {
    /// A handler may ask in a loop, for example until an answer is good: each use of a key is a question of its own. A
    /// handler that runs again uses its keys in the same order.
    ///
    /// spec: 2026-07-28 basic/patterns/mrtr#server-requirements-basic-workflow (keys MUST be unique)
    fn unique(&mut self, key: &str) -> String {
        loop {
            let uses = self.uses.entry(key.to_owned()).or_default();
            *uses += 1;
            if *uses == 1 {
                return key.to_owned();
            }
            let numbered = format!("{key}#{uses}");
            if !self.uses.contains_key(&numbered) {
                self.uses.insert(numbered.clone(), 1);
                return numbered;
            }
        }
    }
}

/// Members in their own order.
struct InOrder(Vec<(String, Json)>);

impl serde::Serialize for InOrder {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}
