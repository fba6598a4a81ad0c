//! Legacy servers tell of a resource that was subscribed to: asking for what somebody listens to, once for all of them, and
//! not any longer for what nobody does.
//!
//! **Invariant:** one thread does it, a [`Round`] after the other, so that no two requests about the same resource are open.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::subs::{Phase, State};
use crate::client::call::{self, CallOptions};
use crate::client::resend::answer;
use crate::client::session::{Session, Settled};
use crate::error::{Error, Result};
use crate::json::Json;
use crate::method::Method;

/// So many requests of a round are open at a time.
const WINDOW: usize = 32;

/// What to ask for at a time.
pub(super) struct Round {
    /// The connection.
    number: u64,
    settled: Arc<Settled>,
    subscribe: Vec<Arc<str>>,
    unsubscribe: Vec<Arc<str>>,
}

/// What became of the requests to subscribe.
pub(super) type Outcomes = BTreeMap<Arc<str>, Result<()>>;

impl State {
    /// Whether there is anything to ask for.
    pub(super) fn has_round(&self) -> bool {
        let Some(on) = self.on.as_ref().filter(|on| !on.settled.is_modern()) else { return false };
        let is_wanted =
            |uri: &Arc<str>| self.subs.iter().any(|sub| sub.is_on() && sub.filter.uris.contains(uri));
        self.subs.iter().any(|sub| matches!(sub.phase, Phase::Opening(_)))
            || !on.subscribed.iter().all(is_wanted)
    }

    /// What to ask for now. What is to be given up counts as not subscribed to from here on.
    pub(super) fn round(&mut self) -> Option<Round> {
        if !self.has_round() {
            return None;
        }
        let on = self.on.as_mut()?;
        let mut kept = BTreeSet::new();
        let mut subscribe = BTreeSet::new();
        for sub in self.subs.iter().filter(|sub| sub.is_on()) {
            for uri in &sub.filter.uris {
                if on.subscribed.contains(uri) {
                    kept.insert(Arc::clone(uri));
                } else if matches!(sub.phase, Phase::Opening(_)) {
                    subscribe.insert(Arc::clone(uri));
                } // else it was refused
            }
        }
        let before = std::mem::replace(&mut on.subscribed, kept);
        let unsubscribe = before.difference(&on.subscribed).cloned().collect();
        let settled = Arc::clone(&on.settled);
        Some(Round { number: on.number, settled, subscribe: subscribe.into_iter().collect(), unsubscribe })
    }

    /// A round is over: those are open whose resources were all asked for.
    pub(super) fn finish_round(&mut self, number: u64, outcomes: &Outcomes, first: Duration) {
        let Some(on) = self.on.as_mut().filter(|on| on.number == number) else { return };
        on.subscribed
            .extend(outcomes.iter().filter(|(_, asked)| asked.is_ok()).map(|(uri, _)| Arc::clone(uri)));
        for sub in self.subs.iter_mut().filter(|sub| matches!(sub.phase, Phase::Opening(_))) {
            let mut honoured = sub.filter.within(&on.settled.identity.capabilities);
            let is_known = |uri| on.subscribed.contains(uri) || outcomes.contains_key(uri);
            if !honoured.uris.iter().all(is_known) {
                continue;
            }
            let refused = || honoured.uris.iter().filter_map(|uri| outcomes.get(uri)?.as_ref().err());
            // What did not get through may do so later; without a session there is nothing.
            let is_lost = |error: &&Error| matches!(error, Error::Unreachable(_)) || error.is_closed();
            let lost = refused().find(is_lost).map(Error::copy);
            let refused = refused().next();
            honoured.uris.retain(|uri| on.subscribed.contains(uri));
            match refused {
                _ if lost.is_some() => lost.into_iter().for_each(|error| sub.failed(error, first)),
                Some(error) if honoured.is_empty() => sub.failed(error.copy(), first),
                _ => sub.opened(honoured),
            }
        }
    }
}

impl Round {
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Asks, and waits for the answers.
    pub(super) fn ask(&self, session: &Arc<Session>) -> Outcomes {
        for (uri, outcome) in self.ask_all(session, Method::ResourcesUnsubscribe, &self.unsubscribe) {
            if let Err(error) = outcome {
                log::debug!("{uri} may still be subscribed to: {error}");
            }
        }
        let outcomes = self.ask_all(session, Method::ResourcesSubscribe, &self.subscribe);
        for (uri, outcome) in &outcomes {
            if let Err(error) = outcome {
                log::warn!("changes of {uri} are not told: {error}");
            }
        }
        outcomes
    }

    fn ask_all(&self, session: &Arc<Session>, method: Method, uris: &[Arc<str>]) -> Outcomes {
        // Whoever makes another session has all of it opened there.
        let options = CallOptions::default().staying();
        let mut outcomes = Outcomes::new();
        for chunk in uris.chunks(WINDOW) {
            let start = |uri: &Arc<str>| {
                call::start_request(session, Arc::clone(&self.settled), method.name(), &about(uri), &options)
            };
            let open: Vec<_> = chunk.iter().map(|uri| (Arc::clone(uri), start(uri))).collect();
            outcomes.extend(open.into_iter().map(|(uri, open)| {
                let asked = open
                    .and_then(|mut open| answer(&mut open, &|out| call::write_members(out, &about(&uri))));
                (uri, asked.map(drop))
            }));
            let closed = outcomes.values().find_map(|asked| asked.as_ref().err().filter(|e| e.is_closed()));
            if let Some(closed) = closed.map(Error::copy) {
                // The others would fail as well.
                for uri in uris {
                    outcomes.entry(Arc::clone(uri)).or_insert_with(|| Err(closed.copy()));
                }
                break;
            }
        }
        outcomes
    }
}

fn about(uri: &str) -> [(&'static str, Json); 1] {
    [("uri", Json::from(uri))]
}
