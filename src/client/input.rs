//! [`Rounds`]: a call that a server answers with questions, and that is made again with the answers.
//!
//! ```text
//!  request ──▶ result ─────────────────────────────────────────────▶ the caller
//!     ▲          └─ input_required ──▶ handlers, one question after another ─┐
//!     └────────── the same request, a fresh id, the answers, the state ◀─────┘
//! ```
//!
//! A server of 2025-11-25 may refuse a call with URLs that the user has to visit first; that is a round as well.
//!
//! The handlers run on the thread that waits for the call: it has nothing else to do, whatever it holds and expects
//! (a terminal, a thread-local, an order) stays as it was when it made the call, its cancel token and its deadline
//! count for them too, and nobody has to bound or end other threads. A server that asks several things at once gets
//! them answered in its order.
//!
//! **Invariant:** everything about a call is in its own [`Rounds`]; no state or answer reaches another call.
//!
//! spec: 2026-07-28 basic/patterns/mrtr

use std::thread;
use std::time::Duration;

use crossbeam_channel::{after, never, select};

use super::ClientHandle;
use super::asked::{About, RelatedCall};
use super::call::Open;
use super::resend;
use super::session::Settled;
use crate::context::Ability;
use crate::error::{Error, Result};
use crate::json::{FromJson, Json, Object};
use crate::jsonrpc::{ErrorObject, write_json};
use crate::protocol::{
    ElicitUrlParams, InputRequests, InputRequiredResult, RequestState, UrlElicitationRequired,
};
use crate::sync::{CancelToken, Deadline};

/// A server that only wants its state back gets it at once the first time; then after this, and twice as long each time.
const PAUSE: Duration = Duration::from_millis(10);

/// What one round says beside the call itself. Its state is in no `Debug` and no log.
pub(super) struct Round {
    pub(super) answers: Object,
    pub(super) state: Option<RequestState>,
}

impl Round {
    /// Appends its members after others.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        if !self.answers.is_empty() {
            out.extend_from_slice(b",\"inputResponses\":");
            write_json(out, &self.answers);
        }
        if let Some(state) = &self.state {
            out.extend_from_slice(b",\"requestState\":");
            write_json(out, state);
        }
    }
}

/// The questions in a result that is no complete one.
pub(super) fn questions(result: &Json, method: &str) -> Result<InputRequiredResult> {
    let wrong = |problem: String| Error::Protocol(format!("the result of {method}: {problem}"));
    let asked = InputRequiredResult::from_json(result.as_raw()).map_err(|e| wrong(e.to_string()))?;
    if asked.input_requests.is_empty() && asked.request_state.is_none() {
        // spec: 2026-07-28 basic/patterns/mrtr#server-requirements-basic-workflow
        return Err(wrong("input is required, and nothing is asked".to_owned()));
    }
    Ok(asked)
}

/// The rounds of one call.
pub(super) struct Rounds<'a> {
    /// The name or URI of what is called.
    name: &'a str,
    write_members: &'a dyn Fn(&mut Vec<u8>),
    deadline: Deadline,
    count: u32,
    /// Rounds in which nothing was asked, since the last question.
    empty: u32,
    /// The URLs the user has been sent to, by id; each token fires when the server says that it is done with.
    visited: Vec<(String, CancelToken)>,
}

impl<'a> Rounds<'a> {
    /// Of the call `first`, which has been sent.
    pub(super) fn new(first: &Open, name: &'a str, write_members: &'a dyn Fn(&mut Vec<u8>)) -> Self {
        Self { name, write_members, deadline: first.total(), count: 0, empty: 0, visited: Vec::new() }
    }

    /// Goes on from the `answer` to the round `open` until there is a result; `read` is `None` for one that asks.
    pub(super) fn finish<T>(
        &mut self,
        mut open: Open,
        mut answer: Result<Json>,
        read: impl Fn(&Json, &Settled) -> Result<Option<T>>,
    ) -> Result<T> {
        loop {
            if let Ok(result) = &answer {
                if let Some(done) = read(result, &open.settled)? {
                    return Ok(done);
                }
            }
            open = self.next(&open, answer)?;
            answer = resend::answer(&mut open, self.write_members);
        }
    }

    /// Whether nothing was asked.
    pub(super) fn is_first(&self) -> bool {
        self.count == 0
    }

    /// Makes the call again, after what the server wants has been done.
    fn next(&mut self, open: &Open, answer: Result<Json>) -> Result<Open> {
        let round = match answer {
            Ok(result) => {
                let asked = questions(&result, &open.method)?;
                self.count(open)?;
                Some(self.answered(open, asked)?)
            }
            Err(Error::Peer(error)) => {
                if !self.visited(open, &error)? {
                    return Err(Error::Peer(error));
                }
                None
            }
            Err(error) => return Err(error),
        };
        self.check(open)?;
        open.again(self.write_members, round)
    }

    fn count(&mut self, open: &Open) -> Result<()> {
        let limit = open.session.config.max_input_rounds;
        self.count += 1;
        if self.count > limit {
            let what = format!("{} {}", open.method, self.name);
            return Err(Error::Protocol(format!("{what} asks again after {limit} rounds of input")));
        }
        Ok(())
    }

    /// Whether the caller still wants the result.
    fn check(&self, open: &Open) -> Result<()> {
        open.options.check_cancelled()?;
        if self.deadline.has_passed() { Err(open.overdue()) } else { Ok(()) }
    }

    /// The answers to all questions of a round.
    fn answered(&mut self, open: &Open, asked: InputRequiredResult) -> Result<Round> {
        if asked.input_requests.is_empty() {
            self.pause(open);
        } else {
            self.empty = 0;
        }
        must_be_answerable(open, &asked.input_requests)?;
        let mut answers = Object::new();
        for (key, request) in asked.input_requests {
            self.check(open)?;
            let (answering, version) = (&open.session.answers, &open.settled.identity.version);
            let answer = answering.answer(request, version, self.about(open, &key));
            // A handler that stops because the call was given up has no error of its own.
            self.check(open)?;
            let answer = answer.map_err(|error| Error::NotAnswered { key: key.clone(), error })?;
            answers.insert(key, &answer);
        }
        Ok(Round { answers, state: asked.request_state })
    }

    fn about(&self, open: &Open, key: &str) -> About {
        About {
            client: ClientHandle { session: open.session.clone() },
            server: Some(open.settled.identity.clone()),
            key: key.to_owned(),
            call: Some(RelatedCall::new(&open.method, self.name)),
            cancel: open.options.cancel().cloned().unwrap_or_default(),
            deadline: self.deadline.instant(),
        }
    }

    /// Keeps a server that asks nothing from keeping both sides busy.
    fn pause(&mut self, open: &Open) {
        let pause = match self.empty {
            0 => Duration::ZERO,
            n => PAUSE * 2_u32.saturating_pow(n.min(7) - 1),
        };
        self.empty += 1;
        match open.options.cancel() {
            Some(token) => drop(token.wait_timeout(pause)),
            None => thread::sleep(pause),
        }
    }

    /// Sends the user to the URLs that a call requires; whether the call is to be made again.
    ///
    /// spec: 2025-11-25 client/elicitation#url-elicitation-required-error
    fn visited(&mut self, open: &Open, error: &ErrorObject) -> Result<bool> {
        let version = &open.settled.identity.version;
        let answering = &open.session.answers;
        if version.is_modern() || !Ability::Url.is_in(&answering.declared, version) {
            return Ok(false);
        }
        let required = UrlElicitationRequired::of(error).map(|required| required.elicitations);
        let Some(required) = required.filter(|required| !required.is_empty()) else { return Ok(false) };
        if self.count(open).is_err() {
            log::debug!("{} {} wants URLs visited time and again", open.method, self.name);
            return Ok(false);
        }
        let mut again = Vec::new();
        let mut is_new = false;
        for params in required {
            let id = name_of(&params).to_owned();
            if let Some((_, done)) = self.visited.iter().find(|(known, _)| *known == id) {
                again.push(done.clone());
                continue;
            }
            is_new = true;
            // Before the user goes there: the notice may come before the answer to the next round.
            self.visited.push((id.clone(), answering.urls.open(&id)));
            self.check(open)?;
            let answer = answering.visit(params, self.about(open, &id));
            self.check(open)?;
            if !answer.is_ok_and(|result| result.is_accepted()) {
                return Ok(false);
            }
        }
        // The handler has returned, so the user is done as far as one can tell. If the server sees it otherwise, it
        // may say when.
        Ok(is_new || self.are_done(open, &again)?)
    }

    /// Waits until the server says of all these URLs that they are done with, as long as for an answer.
    fn are_done(&self, open: &Open, urls: &[CancelToken]) -> Result<bool> {
        let patience = Deadline::after(open.options.timeout(&open.session)).earlier(self.deadline);
        let cancelled = open.options.cancel().map_or_else(never, CancelToken::receiver);
        let ended = open.settled.peer.ended();
        for url in urls {
            let timeout = patience.remaining().map_or_else(never, after);
            select! {
                recv(url.receiver()) -> _ => {}
                recv(cancelled) -> _ => open.options.check_cancelled()?,
                recv(ended) -> _ => return Ok(false),
                recv(timeout) -> _ => return Ok(false),
            }
        }
        Ok(true)
    }
}

/// What tells a URL from others. An id is required, and its absence no reason to fail.
fn name_of(params: &ElicitUrlParams) -> &str {
    params.elicitation_id.as_deref().unwrap_or(&params.url)
}

/// Nobody is asked anything if one of the questions has nobody to answer it.
fn must_be_answerable(open: &Open, asked: &InputRequests) -> Result<()> {
    for (key, request) in asked.iter() {
        // spec: 2026-07-28 basic/patterns/mrtr#server-requirements-basic-workflow (the server MUST NOT)
        if let Err(error) = open.session.answers.check(request, &open.settled.identity.version) {
            return Err(Error::Unsupported(format!("the server asked for {key}: {}", error.message)));
        }
    }
    Ok(())
}
