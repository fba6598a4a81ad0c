//! [`Rounds`]: what a Modern call learned before its handler ran once more.
//!
//! A Modern handler that needs an answer returns early, and runs again from its beginning when the client comes back with
//! it. So what it asked and did before is kept under keys, and given to it when it comes to the same place.
//!
//! spec: 2026-07-28 basic/patterns/mrtr

use std::collections::BTreeMap;

use crate::json::{Json, Members, Object};
use crate::sync::{Mutex, lock};

/// The rounds of one call. Owner: its context. Bound: what its handler asks; what is kept of it is bounded by the server's
/// store.
#[derive(Debug, Default)]
pub(crate) struct Rounds(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    answers: Object,
    steps: Object,
    /// How often each key was used in this round.
    uses: BTreeMap<String, u32>,
    /// Asked in this round, and not answered yet, in order. As text, so that a server whose tools never ask does not carry the
    /// code for what can be asked.
    open: Vec<(String, Json)>,
}

/// What a call has learned when it ends with a question.
pub(crate) struct Pause {
    /// The questions by key, as an `InputRequests` writes them.
    pub(crate) open: Vec<(String, Json)>,
    /// What [`Rounds::resume`] takes.
    pub(crate) state: Json,
}

impl Rounds {
    /// Goes on from the `state` of an earlier round with the client's answers. Only answers to what was asked count, once.
    pub(crate) fn resume(state: &[u8], responses: Option<Members<'_>>) -> Option<Self> {
        let state: Json = serde_json::from_slice(state).ok()?;
        let mut state = Members::of(state.as_raw()).ok()?;
        let mut answers: Object = state.required("answers").ok()?;
        let asked: Vec<String> = state.required("asked").ok()?;
        let mut responses = responses.unwrap_or_default();
        for key in asked {
            // What is missing is asked again.
            // spec: 2026-07-28 basic/patterns/mrtr#error-handling
            if let Some(answer) = responses.take(&key) {
                answers.insert(key, answer);
            }
        }
        let steps = state.required("steps").ok()?;
        Some(Self(Mutex::new(State { answers, steps, ..State::default() })))
    }

    /// The answers to `questions`, in their order, if all are there. If not, the missing ones are open from now on.
    pub(crate) fn ask(&self, questions: Vec<(String, Json)>) -> Option<Vec<Json>> {
        let mut state = lock(&self.0);
        let keyed: Vec<_> =
            questions.into_iter().map(|(key, request)| (state.unique(&key), request)).collect();
        let answers: Option<Vec<_>> = keyed.iter().map(|(key, _)| state.answers.json(key).cloned()).collect();
        if answers.is_none() {
            for (key, request) in keyed {
                if state.answers.json(&key).is_none() {
                    state.open.push((key, request));
                }
            }
        }
        answers
    }

    /// The key for this use of `key`, and the value of that step, if an earlier round took it.
    pub(crate) fn step(&self, key: &str) -> (String, Option<Json>) {
        let mut state = lock(&self.0);
        let key = state.unique(key);
        let value = state.steps.json(&key).cloned();
        (key, value)
    }

    /// Keeps the value of a step.
    pub(crate) fn keep_step(&self, key: String, value: &Json) {
        lock(&self.0).steps.insert(key, value);
    }

    /// What is open; `None` if nothing is. Called when the handler has returned.
    pub(crate) fn pause(&self) -> Option<Pause> {
        let state = std::mem::take(&mut *lock(&self.0));
        if state.open.is_empty() {
            return None;
        }
        let asked: Vec<_> = state.open.iter().map(|(key, _)| key.as_str()).collect();
        let mut kept = Object::new();
        kept.insert("asked", &asked);
        kept.insert("answers", &state.answers);
        kept.insert("steps", &state.steps);
        Some(Pause { open: state.open, state: kept.into() })
    }
}

impl State {
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
