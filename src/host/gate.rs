//! The gate: the way of every use of a server.
//!
//! ```text
//!  consent ──▶ audit: intent ──▶ attempts (retry, breaker, restart) ──▶ audit: outcome
//! ```
//!
//! **Invariants:** the time for asking is not the call's; nothing is sent before its intent is written; whatever began has an
//! outcome written; a call whose consent was taken back, or whose server was removed, is unknown in its outcome.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::audit::{Entry, Intent, Kind, Outcome};
use super::catalogue::Route;
use super::consent::{Permit, Subject};
use super::inner::Inner;
use super::member::Member;
use super::resilience::Attempts;
use crate::client::{CallOptions, ClientHandle};
use crate::error::{Error, Failure, Phase, Result};
use crate::json::Json;
use crate::sync::CancelToken;

/// What is done with a server.
pub(super) enum Use<'a> {
    Call {
        route: &'a Arc<Route>,
        arguments: &'a Json,
        /// Set when the tool is no longer as it was when the user was asked: nothing was sent then.
        is_stale: &'a Cell<bool>,
        /// What the call took so far, without the asking.
        spent: &'a Cell<Duration>,
    },
    Read {
        uri: &'a str,
    },
    Prompt {
        name: &'a str,
        arguments: &'a Json,
    },
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
            Self::Call { route, arguments, .. } => {
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
        if let Some(notes) = options.notes() {
            notes.set_server(Arc::clone(&member.name));
        }
        let permit = match usage {
            Use::Call { route, arguments, .. } => Some(self.permit_call(route, arguments, options)?),
            Use::Read { .. } | Use::Prompt { .. } => None,
        };
        if let (Some(notes), Some(permit)) = (options.notes(), &permit) {
            notes.set_decision(true, permit.reason());
        }
        self.check_current(usage)?;
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
        let outcome = self.attempt(usage, member, is_repeatable, &options.clone().with_cancel(&token), run);
        if let Use::Call { spent, .. } = usage {
            spent.set(spent.get() + begun.elapsed());
        }
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
        // A model, or a terminal, will see what the server says.
        outcome.map_err(|error| match member.harmless_error(error) {
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

    /// Whether the tool is still as it was when the user was asked.
    ///
    /// # Errors
    /// [`Error::Denied`] if it is not.
    fn check_current(&self, usage: &Use<'_>) -> Result<()> {
        let Use::Call { route, is_stale, .. } = usage else { return Ok(()) };
        let is_current = self.catalogue.has(route);
        // The tools of one that is being taken out are gone, which is another error.
        if is_current || route.member.gone.is_cancelled() {
            return Ok(());
        }
        is_stale.set(true);
        let (tool, server) = (&route.shown.name, &route.member.name);
        Err(Error::Denied(format!("tool {tool} of server {server} has changed meanwhile")))
    }

    fn attempt<T>(
        &self,
        usage: &Use<'_>,
        member: &Arc<Member>,
        is_repeatable: bool,
        options: &CallOptions,
        run: &mut dyn FnMut(&ClientHandle, &CallOptions) -> Result<T>,
    ) -> Result<T> {
        let begun = Instant::now();
        member.wait_started(options)?;
        let (handle, restarter) = member.running()?;
        let before = match usage {
            Use::Call { spent, .. } => spent.get(),
            Use::Read { .. } | Use::Prompt { .. } => Duration::ZERO,
        };
        let spent = before + begun.elapsed();
        let options = &options.clone().shortened(spent, handle.timeouts());
        let (method, mut was_tried) = (usage.method(), false);
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
            // It may have been started again since.
            self.check_current(usage)
                .map_err(|error| if was_tried { unsure(member, method) } else { error })?;
            was_tried = true;
            result = Some(run(&handle, options)?);
            Ok(())
        })?;
        // `run` returns well only after an attempt that did.
        result.ok_or_else(|| Error::Protocol(format!("{method} has no result")))
    }

    /// Whether the server did something odd meanwhile.
    fn look_at(&self, member: &Arc<Member>) {
        if let Some(count) = member.handle().and_then(|handle| member.strays.news(handle.strays())) {
            self.trouble(member, format!("{count} answers to nothing that was asked"));
        }
    }
}

/// What a call came to whose first attempt was lost, and that is not made again, as its tool is another one now.
fn unsure(member: &Member, method: &str) -> Error {
    let why = "the tool changed before it could be called again".to_owned();
    let phase = Phase::Call(method.to_owned());
    Error::OutcomeUnknown(Box::new(Failure::new(phase, member.name.to_string(), why)))
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
