//! [`Gatekeeper`]: policy, what was answered before, and the user, in this order.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::asking::{Answer, Asking, Consent};
use super::grants::{Grants, Known};
use super::permit::Permit;
use super::question::{Question, QuestionKind};
use super::rules::{Decision, Policy};
use super::subject::Subject;
use crate::error::{Error, Result};
use crate::sync::CancelToken;

/// How long the user may take for an answer.
const ASK_TIME: Duration = Duration::from_secs(300);

/// Told: the server, and what it did too often.
type OnTrouble = Box<dyn Fn(&str, String) + Send + Sync>;

/// Decides about everything that a host does.
pub(in crate::host) struct Gatekeeper {
    policy: Arc<dyn Policy>,
    grants: Grants,
    asking: Asking,
    on_trouble: OnTrouble,
}

impl Gatekeeper {
    pub(in crate::host) fn new(
        policy: Arc<dyn Policy>,
        consent: Option<Arc<dyn Consent>>,
        grants: Grants,
        ask_time: Option<Duration>,
        on_trouble: impl Fn(&str, String) + Send + Sync + 'static,
    ) -> Self {
        let asking = Asking::new(consent, ask_time.unwrap_or(ASK_TIME));
        Self { policy, grants, asking, on_trouble: Box::new(on_trouble) }
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
        let decision = catch_unwind(AssertUnwindSafe(|| self.policy.decide(subject)));
        match decision {
            Ok(Decision::Allow(why)) => Ok(self.grants.run(subject, why)),
            Ok(Decision::Ask(why)) => self.consented(subject, &why, cancel),
            Ok(Decision::Deny(why)) => Err(denied(subject, &why)),
            Err(_) => Err(denied(subject, "the policy panicked")),
        }
    }

    fn consented(&self, subject: &Subject<'_>, why: &str, cancel: Option<&CancelToken>) -> Result<Permit> {
        let before = match self.grants.find(subject) {
            Known::Granted(how) => return Ok(self.grants.run(subject, how)),
            Known::Changed(before) => Some(before),
            Known::Nothing => None,
        };
        let server = subject.server();
        let place = self.asking.enter(server).map_err(|too_many| {
            if let Some(count) = too_many.tell {
                let problem = format!("{}; {count} more were denied without asking", too_many.problem);
                (self.on_trouble)(server, problem);
            }
            denied(subject, &too_many.problem)
        })?;
        let question = Question::of(subject, before.as_deref(), why);
        let answer = self.asking.ask(question, cancel).map_err(|error| match error {
            Error::Denied(why) => denied(subject, &why),
            error => error,
        })?;
        drop(place);
        let how = match answer {
            Answer::No => return Err(denied(subject, "the user said no")),
            Answer::Once => "the user said yes, once",
            Answer::Session => "the user said yes, for the session",
            Answer::Always => "the user said yes, always",
        };
        if matches!(answer, Answer::Session | Answer::Always) {
            if let Err(problem) = self.grants.remember(subject, answer) {
                // It is allowed all the same, and asked again the next time.
                (self.on_trouble)(server, format!("consent is not kept: {problem}"));
            }
        }
        Ok(self.grants.run(subject, how.to_owned()))
    }
}

fn denied(subject: &Subject<'_>, why: &str) -> Error {
    let server = subject.server();
    let what = match (subject.kind(), subject.tool()) {
        (QuestionKind::Start, _) => format!("starting server {server}"),
        (_, Some(tool)) => format!("tool {} of server {server}", tool.name),
        (kind, None) => format!("{kind} by server {server}"),
    };
    Error::Denied(format!("{what}: {why}"))
}
