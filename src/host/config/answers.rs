//! What the user answered, asked once.

use std::collections::BTreeMap;
use std::sync::Condvar;
use std::thread::{self, ThreadId};

use super::secret::Secret;
use crate::sync::{Mutex, lock};

/// Answers by the id of what was asked. Owned by a [`Resolver`](super::Resolver) and of its size: at most one for each id that an entry
/// names, until it is dropped.
#[derive(Default)]
pub(super) struct Answers {
    /// Held for a look-up; never while somebody is asked.
    known: Mutex<BTreeMap<String, Answer>>,
    /// Those who need an answer that another thread is asking for wait here until it has asked.
    asked: Condvar,
}

enum Answer {
    Asking(ThreadId),
    Known(Secret),
}

impl Answers {
    pub(super) fn set(&self, id: &str, answer: Secret) {
        lock(&self.known).insert(id.to_owned(), Answer::Known(answer));
        self.asked.notify_all();
    }

    pub(super) fn forget(&self, id: &str) {
        let mut known = lock(&self.known);
        if let Some(Answer::Known(_)) = known.get(id) {
            known.remove(id);
        }
    }

    /// The answer for `id`, asked for with `ask` unless it is known or another thread is asking. A failure is not kept.
    pub(super) fn get<E>(
        &self,
        id: &str,
        nested: impl FnOnce() -> E,
        ask: impl FnOnce() -> Result<Secret, E>,
    ) -> Result<Secret, E> {
        let here = thread::current().id();
        let mut known = lock(&self.known);
        loop {
            match known.get(id) {
                Some(Answer::Known(answer)) => return Ok(answer.clone()),
                Some(Answer::Asking(by)) if *by == here => return Err(nested()),
                Some(Answer::Asking(_)) => {
                    known = self.asked.wait(known).unwrap_or_else(std::sync::PoisonError::into_inner);
                }
                None => break,
            }
        }
        known.insert(id.to_owned(), Answer::Asking(here));
        drop(known);
        let asking = AskingGuard { answers: self, id };
        let answer = ask()?;
        self.set(id, answer.clone());
        drop(asking);
        Ok(answer)
    }
}

/// Whoever stops asking, by a panic too, lets the others ask.
struct AskingGuard<'a> {
    answers: &'a Answers,
    id: &'a str,
}

impl Drop for AskingGuard<'_> {
    fn drop(&mut self) {
        let mut known = lock(&self.answers.known);
        if let Some(Answer::Asking(_)) = known.get(self.id) {
            known.remove(self.id);
        }
        self.answers.asked.notify_all();
    }
}
