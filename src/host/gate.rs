//! The gate: the way of every use of a server.
//!
//! ```text
//!  consent ──▶ audit: intent ──▶ attempts (retry, breaker, restart) ──▶ audit: outcome
//! ```
//!
//! **Invariants:** the time for asking is not the call's; nothing is sent before its intent is written; whatever began has an
//! outcome written; a call whose consent was taken back, or whose server was removed, is unknown in its outcome.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::audit::{Entry, Intent, Kind, Outcome};
use super::catalogue::Route;
use super::consent::{Permit, Subject};
use super::events::HostEvent;
use super::inner::Inner;
use super::member::Member;
use super::resilience::Attempts;
use crate::client::{CallOptions, ClientHandle};
use crate::error::{Error, Failure, Phase, Result};
use crate::json::Json;
use crate::sync::CancelToken;

/// What is done with a server.
pub(super) enum Use<'a> {
    Call { route: &'a Route, arguments: &'a Json },
    Read { uri: &'a str },
    Prompt { name: &'a str, arguments: &'a Json },
}

impl Use<'_> {
    fn method(&self) -> &'static str {
        match self {
            Self::Call { .. } => "tools/call",
            Self::Read { .. } => "resources/read",
            Self::Prompt { .. } => "prompts/get",
        }
    }

    fn intent(&self) -> Intent<'_> {
        match self {
            Self::Call { route, arguments } => {
                Intent::new(Kind::Call).with_target(&route.definition.name).with_arguments(arguments)
            }
            Self::Read { uri } => Intent::new(Kind::Read).with_target(uri),
            Self::Prompt { name, arguments } => {
                Intent::new(Kind::Prompt).with_target(name).with_arguments(arguments)
            }
        }
    }
}

impl Inner {
    /// Does what `usage` says with the server of `member`: `run` is called once for each attempt.
    pub(super) fn pass<T: Serialize>(
        &self,
        usage: &Use<'_>,
        member: &Arc<Member>,
        is_repeatable: bool,
        options: &CallOptions,
        run: &mut dyn FnMut(&ClientHandle, &CallOptions) -> Result<T>,
    ) -> Result<T> {
        let permit = match usage {
            Use::Call { route, arguments } => Some(self.permit_call(route, arguments, options)?),
            Use::Read { .. } | Use::Prompt { .. } => None,
        };
        let entry = self.intend(member, usage.intent(), permit.as_ref().map(Permit::reason))?;

        let token = CancelToken::new();
        member.gone.carries(&token);
        if let Some(permit) = &permit {
            permit.token().carries(&token);
        }
        if let Some(cancel) = options.cancel_token() {
            cancel.carries(&token);
        }
        let begun = Instant::now();
        let outcome =
            self.attempt(usage.method(), member, is_repeatable, &options.clone().with_cancel(&token), run);
        let outcome = outcome.map_err(|error| match error {
            Error::Cancelled(_) if is_repeatable && permit.is_none() => error,
            Error::Cancelled(_) => {
                taken_back(error, usage.method(), member, permit.as_ref(), begun.elapsed())
            }
            error => error,
        });
        if let Some(entry) = entry {
            entry.outcome(&Outcome::of(&outcome));
        }
        self.look_at(member);
        outcome.map_err(|error| match error {
            // A model, or a terminal, will see what the server says.
            Error::Peer(mut error) => {
                error.message = self.settings.filter.apply_text(error.message);
                Error::Peer(error)
            }
            error => error,
        })
    }

    /// Asks whether a tool may be called.
    fn permit_call(&self, route: &Route, arguments: &Json, options: &CallOptions) -> Result<Permit> {
        let configured = &route.member.configured;
        let subject = Subject::call(&route.member.name, configured, &route.definition, arguments);
        self.permit(&subject, &route.member, Kind::Call, &route.definition.name, options.cancel_token())
    }

    /// Asks whether something may be done. A refusal is written down, as what was not done.
    ///
    /// # Errors
    /// When it may not.
    pub(super) fn permit(
        &self,
        subject: &Subject<'_>,
        member: &Arc<Member>,
        kind: Kind,
        target: &str,
        cancel: Option<&CancelToken>,
    ) -> Result<Permit> {
        // Nobody is to be asked any more about a server that is gone.
        let given_up = CancelToken::new();
        member.gone.carries(&given_up);
        if let Some(cancel) = cancel {
            cancel.carries(&given_up);
        }
        let permitted = self.settings.gatekeeper.permit(subject, Some(&given_up));
        if let (Err(error), Some(log)) = (&permitted, &self.settings.audit) {
            let intent =
                Intent::new(kind).with_server(&member.name).with_target(target).with_detail("not done");
            // It is not done in any case.
            if let Ok(entry) = log.intent(&intent) {
                entry.outcome(&Outcome::failed(error));
            }
        }
        permitted
    }

    /// Writes down what is about to be done.
    ///
    /// # Errors
    /// When it cannot be written, and must not be done then.
    pub(super) fn intend<'a>(
        &self,
        member: &'a Member,
        mut intent: Intent<'a>,
        allowed: Option<&'a str>,
    ) -> Result<Option<Entry>> {
        let Some(log) = &self.settings.audit else { return Ok(None) };
        let identity = member.identity();
        intent = intent.with_server(&member.name);
        if let Some(allowed) = allowed {
            intent = intent.with_allowed(allowed);
        }
        match identity.as_ref().and_then(|identity| identity.info.as_ref()) {
            Some(info) => {
                // For as long as the call of `intent` takes.
                let intent = Intent { identity: Some(info), ..intent };
                log.intent(&intent).map(Some)
            }
            None => log.intent(&intent).map(Some),
        }
    }

    fn attempt<T>(
        &self,
        method: &str,
        member: &Arc<Member>,
        is_repeatable: bool,
        options: &CallOptions,
        run: &mut dyn FnMut(&ClientHandle, &CallOptions) -> Result<T>,
    ) -> Result<T> {
        let (handle, restarter) = member.running()?;
        let attempts = Attempts {
            method,
            retry: &self.settings.retry,
            breaker: Some(&member.breaker),
            revive: &*restarter,
            options,
            timeouts: handle.timeouts(),
        };
        let mut result = None;
        let is_repeatable = is_repeatable || options.is_repeatable();
        attempts.run(&|| is_repeatable, &mut |options| {
            result = Some(run(&handle, options)?);
            Ok(())
        })?;
        // `run` returns well only after an attempt that did.
        result.ok_or_else(|| Error::Protocol(format!("{method} has no result")))
    }

    /// Whether the server did something odd meanwhile.
    fn look_at(&self, member: &Arc<Member>) {
        if let Some(count) = member.handle().and_then(|handle| member.strays.news(handle.strays())) {
            let problem = format!("{count} answers to nothing that was asked");
            self.tell(HostEvent::Trouble { server: Arc::clone(&member.name), problem });
        }
    }
}

/// What a call came to whose time was cut short: unknown, if that was not what its caller wanted.
fn taken_back(
    error: Error,
    method: &str,
    member: &Member,
    permit: Option<&Permit>,
    after: Duration,
) -> Error {
    let why = if permit.is_some_and(Permit::was_revoked) {
        "consent was taken back while it ran"
    } else if member.gone.is_cancelled() {
        "the server was stopped while it ran"
    } else {
        return error;
    };
    let mut failure = Failure::new(Phase::Call(method.to_owned()), member.name.to_string(), why.to_owned());
    failure.after = after;
    Error::OutcomeUnknown(Box::new(failure))
}
