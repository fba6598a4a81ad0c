//! [`Gatekeeper`]: policy, what was answered before, and the user, in this order.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::asking::{Answer, AskLimits, Asking, Consent};
use super::desk::{Place, cancelled, taken_back};
use super::grants::{Before, Grants, Known};
use super::permit::{Permit, Running};
use super::question::{Question, QuestionKind};
use super::rules::{Decision, Policy};
use super::subject::Subject;
use crate::error::{Error, Result};
use crate::host::filter::visible_line;
use crate::sync::CancelToken;

/// Told: the server, and what it did too often, or what does not work with its consent.
type OnTrouble = Box<dyn Fn(&str, String) + Send + Sync>;

/// Told: what the user was asked about, and the answer.
type OnAnswer = Box<dyn Fn(&Subject<'_>, &str) + Send + Sync>;

/// Decides about everything that a host does.
pub(in crate::host) struct Gatekeeper {
    policy: Arc<dyn Policy>,
    grants: Grants,
    asking: Asking,
    on_trouble: OnTrouble,
    on_answer: OnAnswer,
}

/// What is left to do once the policy and what was answered before are known.
enum Next {
    Allowed(String),
    Ask(Question),
}

impl Gatekeeper {
    pub(in crate::host) fn new(
        policy: Arc<dyn Policy>,
        consent: Option<Arc<dyn Consent>>,
        grants: Grants,
        limits: AskLimits,
        on_trouble: impl Fn(&str, String) + Send + Sync + 'static,
        on_answer: impl Fn(&Subject<'_>, &str) + Send + Sync + 'static,
    ) -> Self {
        let (on_trouble, on_answer) = (Box::new(on_trouble), Box::new(on_answer));
        Self { policy, grants, asking: Asking::new(consent, limits), on_trouble, on_answer }
    }

    #[cfg(test)]
    pub(super) fn grants(&self) -> &Grants {
        &self.grants
    }

    /// Whether `subject` may be done; asks if need be, until `cancel` fires.
    ///
    /// # Errors
    /// [`Error::Denied`] with who denied it and why; [`Error::Cancelled`].
    pub(in crate::host) fn permit(
        &self,
        subject: &Subject<'_>,
        cancel: Option<&CancelToken>,
    ) -> Result<Permit> {
        // From here on it can be taken back, so that nothing is decided by what is no longer so.
        let running = self.grants.begin(subject);
        let allowed = self
            .allowed(subject, &running, cancel)
            .and_then(|why| if running.revoked.is_cancelled() { Err(taken_back()) } else { Ok(why) });
        match allowed {
            Ok(why) => Ok(Permit::new(running, why)),
            Err(Error::Denied(why)) => Err(denied(subject, &why)),
            Err(error) => Err(error),
        }
    }

    /// Why it is allowed.
    fn allowed(
        &self,
        subject: &Subject<'_>,
        running: &Running,
        cancel: Option<&CancelToken>,
    ) -> Result<String> {
        let mut question = match self.next(subject)? {
            Next::Allowed(why) => return Ok(why),
            Next::Ask(question) => question,
        };
        if cancel.is_some_and(CancelToken::is_cancelled) {
            return Err(cancelled(cancel));
        }
        self.asking.must_be_there()?;
        let mut place = self.place(subject)?;
        if !place.has_turn() {
            place.wait(cancel, &running.revoked)?;
            // Another question may have been answered for this one as well.
            match self.next(subject) {
                Ok(Next::Ask(again)) => question = again,
                Ok(Next::Allowed(why)) => {
                    place.is_settled();
                    return Ok(why);
                }
                Err(error) => {
                    place.is_settled();
                    return Err(error);
                }
            }
        }
        let answer = self.asking.ask(&place, question, cancel, &running.revoked)?;
        // Remembered before the next question has its turn.
        let said = self.answered(subject, answer);
        drop(place);
        said
    }

    /// # Errors
    /// When it is denied by the policy, or by what the user said before.
    fn next(&self, subject: &Subject<'_>) -> Result<Next> {
        let decision = catch_unwind(AssertUnwindSafe(|| self.policy.decide(subject)));
        let decision = match decision {
            Ok(Decision::Deny(why)) => return Err(Error::Denied(why)),
            Ok(decision) => decision,
            Err(_) => return Err(Error::Denied("the policy panicked".to_owned())),
        };
        let (known, problem) = self.grants.find(subject);
        if let Some(problem) = problem {
            (self.on_trouble)(subject.server(), format!("what was agreed to before is not known: {problem}"));
        }
        let ask = |before: Option<&Before>, why: &str| Next::Ask(Question::of(subject, before, why));
        Ok(match (decision, known) {
            (_, Known::Refused) => {
                let why = "the user said no, and not to be asked again in this session";
                return Err(Error::Denied(why.to_owned()));
            }
            (Decision::Allow(why), _) => Next::Allowed(why),
            (Decision::AllowUnlessChanged(why), Known::Nothing | Known::Granted(_)) => Next::Allowed(why),
            (Decision::AllowUnlessChanged(_), Known::Changed(before)) => {
                ask(Some(&before), "it is not what you agreed to")
            }
            (Decision::Ask(_), Known::Granted(how)) => Next::Allowed(how.to_owned()),
            (Decision::Ask(why), Known::Changed(before)) => ask(Some(&before), &why),
            (Decision::Ask(why), Known::Nothing) => ask(None, &why),
            (Decision::Deny(why), _) => return Err(Error::Denied(why)),
        })
    }

    fn place(&self, subject: &Subject<'_>) -> Result<Place<'_>> {
        self.asking.enter(subject.server()).map_err(|too_many| {
            if let Some(count) = too_many.tell {
                let so_far = if count == 1 { "one was".to_owned() } else { format!("{count} were") };
                let problem = format!("{}: {so_far} denied without asking", too_many.problem);
                (self.on_trouble)(subject.server(), problem);
            }
            Error::Denied(format!("{}: it was not asked about", too_many.problem))
        })
    }

    fn answered(&self, subject: &Subject<'_>, answer: Answer) -> Result<String> {
        let (is_yes, said) = match answer {
            Answer::No => (false, "the user said no"),
            Answer::NoSession => (false, "the user said no, for the session"),
            Answer::Once => (true, "the user said yes, once"),
            Answer::Session => (true, "the user said yes, for the session"),
            Answer::Always => (true, "the user said yes, always"),
        };
        (self.on_answer)(subject, said);
        if !matches!(answer, Answer::Once | Answer::No) {
            if let Err(problem) = self.grants.remember(subject, answer) {
                // It counts all the same, at least this time.
                (self.on_trouble)(subject.server(), format!("consent is not kept: {problem}"));
            }
        }
        if is_yes { Ok(said.to_owned()) } else { Err(Error::Denied(said.to_owned())) }
    }
}

fn denied(subject: &Subject<'_>, why: &str) -> Error {
    let server = visible_line(subject.server());
    let what = match (subject.kind(), subject.tool()) {
        (QuestionKind::Start, _) => format!("starting server {server}"),
        (_, Some(tool)) => format!("tool {} of server {server}", visible_line(&tool.name)),
        (kind, None) => format!("{kind} by server {server}"),
    };
    Error::Denied(format!("{what}: {why}"))
}
