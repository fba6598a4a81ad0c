//! [`Asking`]: what a server asks, on its way to the program's handler and back.
//!
//! **Invariant:** nothing reaches the handler that the policy has not allowed, and no model's answer the server.

use std::sync::{Arc, Weak};

use serde::Serialize;

use super::audit::{Entry, Intent, Kind, Outcome};
use super::consent::{Permit, Subject};
use super::ending::closed;
use super::inner::Inner;
use super::member::Member;
use crate::client::{Asked, ClientHandler};
use crate::context::Ability;
use crate::error::{Error, Result};
use crate::json::Json;
use crate::jsonrpc::ErrorObject;
use crate::protocol::{
    CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitResult, ElicitUrlParams,
    ListRootsParams, Root,
};

/// The code of what a user has refused.
///
/// spec: 2026-07-28 client/sampling#error-handling
const REFUSED: i64 = -1;

/// The handler of one server's client.
pub(super) struct Asking {
    inner: Weak<Inner>,
    member: Weak<Member>,
    handler: Arc<dyn ClientHandler>,
}

impl Asking {
    pub(super) fn new(inner: Weak<Inner>, member: &Arc<Member>, handler: Arc<dyn ClientHandler>) -> Self {
        Self { inner, member: Arc::downgrade(member), handler }
    }

    /// The question with a text that can be shown.
    fn harmless<P: Clone>(&self, asked: &Asked<P>, text: impl Fn(&mut P) -> &mut String) -> Asked<P> {
        let mut params = asked.params().clone();
        if let Some(inner) = self.inner.upgrade() {
            let text = text(&mut params);
            *text = inner.settings.filter.apply_text(std::mem::take(text));
        }
        asked.with_params(params)
    }

    fn there(&self) -> Result<(Arc<Inner>, Arc<Member>)> {
        let inner = self.inner.upgrade().ok_or_else(closed)?;
        Ok((inner, self.member.upgrade().ok_or_else(closed)?))
    }
}

impl Inner {
    /// Asks whether what a server asks may be answered, and writes down that it is.
    fn admit<P: Serialize>(
        &self,
        member: &Arc<Member>,
        kind: Kind,
        subject: &Subject<'_>,
        asked: &Asked<P>,
    ) -> Result<(Permit, Option<Entry>)> {
        let permit = self.permit(subject, member, kind, asked.key(), Some(asked.cancel_token()))?;
        let question = Json::new(asked.params()).unwrap_or_else(|_| Json::null());
        let intent = Intent::new(kind).with_target(asked.key()).with_arguments(&question);
        let entry = self.intend(member, intent, Some(permit.reason()))?;
        Ok((permit, entry))
    }
}

/// What a server is told that must not have the model's answer. Why is no business of its.
fn refused() -> ErrorObject {
    ErrorObject::new(REFUSED, "the user rejected the request")
}

/// The user's answer, unless consent was taken back while it was given.
fn unless_revoked(
    permit: &Permit,
    answer: Result<ElicitResult, ErrorObject>,
) -> Result<ElicitResult, ErrorObject> {
    if permit.was_revoked() { Ok(ElicitResult::decline()) } else { answer }
}

/// Writes down what an answer came to.
fn noted<A: Serialize>(entry: Option<Entry>, answer: Result<A, ErrorObject>) -> Result<A, ErrorObject> {
    if let Some(entry) = entry {
        entry.outcome(&match &answer {
            Ok(answer) => Outcome::ok().with_result(answer),
            Err(error) if error.code == REFUSED => Outcome::denied(&error.message),
            Err(error) => Outcome::failed(&Error::Peer(error.clone())),
        });
    }
    answer
}

impl ClientHandler for Asking {
    fn can(&self, ability: Ability) -> bool {
        self.handler.can(ability)
    }

    fn elicit(&self, form: &Asked<ElicitFormParams>) -> Result<ElicitResult, ErrorObject> {
        let admitted = self.there().and_then(|(inner, member)| {
            inner.admit(
                &member,
                Kind::Elicit,
                &Subject::elicit(&member.name, &member.configured, form.params()),
                form,
            )
        });
        match admitted {
            Ok((permit, entry)) => noted(
                entry,
                unless_revoked(&permit, self.handler.elicit(&self.harmless(form, |form| &mut form.message))),
            ),
            Err(_) => Ok(ElicitResult::decline()),
        }
    }

    fn elicit_url(&self, url: &Asked<ElicitUrlParams>) -> Result<ElicitResult, ErrorObject> {
        let admitted = self.there().and_then(|(inner, member)| {
            inner.admit(
                &member,
                Kind::Elicit,
                &Subject::elicit_url(&member.name, &member.configured, url.params()),
                url,
            )
        });
        match admitted {
            Ok((permit, entry)) => noted(
                entry,
                unless_revoked(&permit, self.handler.elicit_url(&self.harmless(url, |url| &mut url.message))),
            ),
            Err(_) => Ok(ElicitResult::decline()),
        }
    }

    fn sample(&self, request: &Asked<CreateMessageParams>) -> Result<CreateMessageResult, ErrorObject> {
        let (inner, member) = self.there().map_err(|_| refused())?;
        let harmless = inner.settings.filter.apply_sample(&member.name, request.params().clone());
        let harmless = request.with_params(harmless.map_err(|_| refused())?);
        let subject = Subject::sample(&member.name, &member.configured, request.params());
        let admitted = inner.admit(&member, Kind::Sample, &subject, request);
        let (permit, entry) = admitted.map_err(|_| refused())?;
        let answer = self.handler.sample(&harmless).and_then(|result| {
            let subject = Subject::sample_answer(&member.name, &member.configured, &result);
            let cancel = Some(request.cancel_token());
            let answer = inner.permit(&subject, &member, Kind::Sample, request.key(), cancel);
            if answer.is_err() || permit.was_revoked() { Err(refused()) } else { Ok(result) }
        });
        noted(entry, answer)
    }

    fn roots(&self, request: &Asked<ListRootsParams>) -> Result<Vec<Root>, ErrorObject> {
        self.handler.roots(request)
    }
}
