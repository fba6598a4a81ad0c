//! [`State`]: everybody who listens to changes, and how far each has come. Without threads, time-outs and sending.
//!
//! ```text
//!              listen()                  sent                  acknowledged
//!   Lost ───▶ Due ─────────────▶ Opening ───────────▶ Open
//!     ▲        ▲    try again       │                   │
//!     │        └────────────────────┴── broken off ─────┤
//!     └────────── the connection ended ─────────────────┘      and from each of them to Over, for good
//! ```

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ChangesEnd;
use super::filter::{Change, Filter};
use super::heard::{Heard, News};
use super::marks::Marks;
use super::wake::Wake;
use crate::client::backoff::backoff;
use crate::client::session::Settled;
use crate::error::Error;
use crate::jsonrpc::ErrorCode;
use crate::sync::Deadline;

/// So many times in a row it is tried to open a stream again that the server breaks off or refuses.
pub(super) const TRIES: u32 = 5;

/// A stream that lived this long had been opened well: what breaks it off is another matter.
pub(super) const WELL: Duration = Duration::from_secs(30);

/// The key of what the callbacks listen to.
pub(super) const CALLBACKS: u64 = 0;

#[derive(Default)]
pub(super) struct State {
    /// Bound: `MAX_OPEN` and the callbacks'.
    pub(super) subs: Vec<Sub>,
    /// The connection that is listened on.
    pub(super) on: Option<On>,
    /// The last number that was given out, for keys, tries and connections.
    last: u64,
    pub(super) is_closed: bool,
    /// Whether the thread that opens streams runs.
    pub(super) is_running: bool,
}

/// A connection.
pub(super) struct On {
    pub(super) number: u64,
    pub(super) settled: Arc<Settled>,
    /// Legacy: the resources that the server was asked for.
    pub(super) subscribed: BTreeSet<Arc<str>>,
}

/// One who listens.
pub(super) struct Sub {
    pub(super) key: u64,
    pub(super) filter: Filter,
    pub(super) honoured: Filter,
    pub(super) marks: Marks,
    pub(super) phase: Phase,
    /// Whoever asked for it still waits whether it can be opened.
    pub(super) is_new: bool,
    /// It was open before.
    was_open: bool,
    /// It is not now, and that has been told.
    has_gap: bool,
    /// So many times in a row it was tried to open it again.
    tries: u32,
    /// So many times in a row it did not get through.
    losses: u32,
    /// Which time it is that it is being opened: what comes of another time does not matter.
    attempt: u64,
    /// Modern: the request that is open.
    pub(super) stream: Option<i64>,
    /// Signalled when there is something to take and at every change of phase. `None` for the callbacks.
    wake: Option<Arc<Wake>>,
}

pub(super) enum Phase {
    /// There is no connection.
    Lost,
    Due(Instant),
    /// Not longer than this.
    Opening(Deadline),
    Open {
        since: Instant,
    },
    Over(ChangesEnd),
}

/// What is to be opened now.
pub(super) struct Opening {
    pub(super) key: u64,
    pub(super) attempt: u64,
    pub(super) filter: Filter,
    pub(super) settled: Arc<Settled>,
}

/// What became of a notice.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Routed {
    pub(super) is_taken: bool,
    /// The callbacks have something to take, and had nothing before.
    pub(super) is_for_callbacks: bool,
}

impl State {
    pub(super) fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(super) fn find(&mut self, key: u64) -> Option<&mut Sub> {
        self.subs.iter_mut().find(|sub| sub.key == key)
    }

    /// The one that is being opened, or was, at this try.
    pub(super) fn attempted(&mut self, key: u64, attempt: u64) -> Option<&mut Sub> {
        self.find(key).filter(|sub| sub.attempt == attempt && !matches!(sub.phase, Phase::Over(_)))
    }

    /// Uses `settled` from now on; everything is to be opened on it. What was used before is for the caller to drop.
    pub(super) fn adopt(&mut self, settled: Arc<Settled>) -> (u64, Option<On>) {
        let number = self.next_number();
        let old = self.on.replace(On { number, settled, subscribed: BTreeSet::new() });
        for sub in &mut self.subs {
            sub.lose();
            if matches!(sub.phase, Phase::Lost) {
                (sub.tries, sub.losses, sub.phase) = (0, 0, Phase::Due(Instant::now()));
            }
        }
        (number, old)
    }

    /// The connection `number` has ended. What was used is for the caller to drop.
    pub(super) fn lost(&mut self, number: u64) -> Option<On> {
        if self.on.as_ref()?.number != number {
            return None;
        }
        self.subs.iter_mut().for_each(Sub::lose);
        self.on.take()
    }

    /// Ends everything.
    pub(super) fn close(&mut self) -> Option<On> {
        self.is_closed = true;
        self.subs.iter_mut().for_each(|sub| sub.over(ChangesEnd::Closed));
        self.on.take()
    }

    /// The next one that is to be opened, which is `Opening` then, or already open. `until` is for the server's answer.
    pub(super) fn next_due(&mut self, until: Deadline) -> Option<Opening> {
        let on = self.on.as_ref()?;
        let now = Instant::now();
        loop {
            let is_due = |sub: &&mut Sub| matches!(sub.phase, Phase::Due(at) if at <= now);
            let sub = self.subs.iter_mut().find(is_due)?;
            let possible = sub.filter.within(&on.settled.identity.capabilities);
            if on.settled.is_modern() {
                // For callbacks nothing is asked for that the server does not have.
                let filter = if sub.wake.is_some() { sub.filter.clone() } else { possible };
                if filter.is_empty() {
                    sub.opened(filter);
                    continue;
                }
                self.last += 1;
                (sub.attempt, sub.phase) = (self.last, Phase::Opening(until));
                let settled = Arc::clone(&on.settled);
                return Some(Opening { key: sub.key, attempt: sub.attempt, filter, settled });
            }
            if possible.uris.is_subset(&on.subscribed) {
                sub.opened(possible);
            } else {
                sub.phase = Phase::Opening(until);
            }
        }
    }

    /// When the thread that opens streams has something to do.
    pub(super) fn next_time(&self) -> Option<Instant> {
        if self.has_round() {
            return Some(Instant::now());
        }
        let on = self.on.as_ref()?;
        let times = self.subs.iter().filter_map(|sub| match sub.phase {
            Phase::Due(at) => Some(at),
            // Whoever waits looks at the clock himself, and Legacy requests have clocks of their own.
            Phase::Opening(until) if !sub.is_new && on.settled.is_modern() => until.instant(),
            _ => None,
        });
        times.min()
    }

    /// The next one that was not acknowledged in time, and its request.
    pub(super) fn take_late(&mut self) -> Option<(u64, u64, Option<i64>)> {
        if self.on.as_ref().is_none_or(|on| !on.settled.is_modern()) {
            return None;
        }
        let is_late =
            |sub: &&mut Sub| !sub.is_new && matches!(sub.phase, Phase::Opening(until) if until.has_passed());
        let sub = self.subs.iter_mut().find(is_late)?;
        Some((sub.key, sub.attempt, sub.stream.take()))
    }

    /// The thread that opens streams cannot be started: nobody is to wait for it.
    pub(super) fn cannot_run(&mut self, error: &io::Error) {
        log::warn!("no thread to open streams of changes: {error}");
        for sub in self.subs.iter_mut().filter(|sub| sub.is_new) {
            let (context, error) = ("cannot start a thread".into(), io::Error::from(error.kind()));
            sub.over(ChangesEnd::Failed(Error::Transport { context, error }));
        }
    }

    /// Hands a notice to those who listen to it.
    pub(super) fn route(&mut self, heard: &Heard, is_modern: bool) -> Routed {
        let mut routed = Routed::default();
        if !is_modern {
            for sub in &mut self.subs {
                if !matches!(sub.phase, Phase::Over(_)) {
                    sub.mark(&heard.news, &mut routed);
                }
            }
            return routed;
        }
        let Some(id) = heard.stream else {
            log::debug!("a notice of change names no subscription: {:?}", heard.news);
            return routed;
        };
        routed.is_taken = true;
        let Some(sub) = self.subs.iter_mut().find(|sub| sub.stream == Some(id)) else {
            log::debug!("ignored a notice: subscription {id} is not open (any more)");
            return routed;
        };
        match (&heard.news, &sub.phase) {
            (News::Acknowledged(honoured), Phase::Opening(_)) => {
                sub.acknowledged(honoured.as_ref());
                routed.is_for_callbacks = sub.wake.is_none() && sub.marks.len() > 0;
            }
            // spec: 2026-07-28 basic/patterns/subscriptions#acknowledgment (nothing MUST come before it)
            (news, Phase::Opening(_)) => {
                log::debug!("ignored {news:?}: subscription {id} is not acknowledged")
            }
            (news, _) => {
                if !sub.mark(news, &mut routed) {
                    log::debug!("ignored {news:?}: subscription {id} does not ask for it");
                }
            }
        }
        routed
    }

    /// What the callbacks are to be told next.
    pub(super) fn take_for_callbacks(&mut self) -> Option<Change> {
        self.find(CALLBACKS)?.marks.take()
    }
}

impl Sub {
    pub(super) fn new(key: u64, filter: Filter, phase: Phase, wake: Option<Arc<Wake>>) -> Self {
        Self {
            key,
            marks: Marks::new(&filter),
            filter,
            honoured: Filter::new(),
            phase,
            is_new: wake.is_some(),
            was_open: false,
            has_gap: false,
            tries: 0,
            losses: 0,
            attempt: 0,
            stream: None,
            wake,
        }
    }

    pub(super) fn wake(&self) {
        if let Some(wake) = &self.wake {
            wake.notify_all();
        }
    }

    /// Whether what it listens to is asked for on the connection, or is about to be.
    pub(super) fn is_on(&self) -> bool {
        matches!(self.phase, Phase::Opening(_) | Phase::Open { .. })
    }

    fn mark(&mut self, news: &News, routed: &mut Routed) -> bool {
        let had_none = self.marks.len() == 0;
        let is_wanted = self.marks.mark(news);
        if is_wanted {
            routed.is_taken = true;
            routed.is_for_callbacks |= had_none && self.wake.is_none();
            self.wake();
        }
        is_wanted
    }

    /// The server has opened the stream.
    fn acknowledged(&mut self, honoured: Option<&Filter>) {
        let honoured = match honoured {
            Some(honoured) => self.filter.both(honoured),
            None => {
                log::warn!(
                    "an acknowledgement does not say what it honours: all is expected that was asked for"
                );
                self.filter.clone()
            }
        };
        self.opened(honoured);
    }

    /// What the server has of it is told from now on.
    pub(super) fn opened(&mut self, honoured: Filter) {
        if honoured.is_empty() && self.is_new {
            let problem = "the server tells of nothing that was asked for".to_owned();
            return self.over(ChangesEnd::Failed(Error::Unsupported(problem)));
        }
        let before = std::mem::replace(&mut self.honoured, honoured);
        if self.was_open {
            // What changed meanwhile, nobody knows. Callbacks are also told of what the server does not tell of.
            self.marks.resume();
            let all =
                if self.wake.is_some() { [&before, &self.honoured] } else { [&self.filter, &self.filter] };
            all.into_iter().for_each(|filter| self.marks.mark_all(filter));
        }
        (self.was_open, self.has_gap, self.is_new) = (true, false, false);
        self.phase = Phase::Open { since: Instant::now() };
        self.wake();
    }

    pub(super) fn over(&mut self, end: ChangesEnd) {
        if !matches!(self.phase, Phase::Over(_)) {
            self.phase = Phase::Over(end);
            self.wake();
        }
    }

    /// Its connection is gone.
    fn lose(&mut self) {
        if matches!(self.phase, Phase::Over(_)) {
            return;
        }
        self.stream = None;
        self.phase = Phase::Lost;
        self.interrupt();
    }

    fn interrupt(&mut self) {
        if self.wake.is_some() && self.was_open && !std::mem::replace(&mut self.has_gap, true) {
            self.marks.interrupt();
        }
        self.wake();
    }

    /// The server has ended the stream in good order.
    pub(super) fn ended(&mut self) {
        self.stream = None;
        if self.wake.is_some() {
            self.over(ChangesEnd::Ended);
        } else {
            log::debug!("the server ended the subscription of the callbacks");
            self.phase = Phase::Lost; // until there is another connection
        }
    }

    fn again_after(&mut self, pause: Duration, error: &Error) {
        log::debug!("a subscription is to be opened again in {pause:?}: {error}");
        self.phase = Phase::Due(Instant::now() + pause);
        self.interrupt();
    }

    /// It could not be opened, or was broken off.
    pub(super) fn failed(&mut self, error: Error, first: Duration) {
        self.stream = None;
        if matches!(&self.phase, Phase::Open { since } if since.elapsed() >= WELL) {
            (self.tries, self.losses) = (0, 0);
        }
        if self.is_new {
            return self.over(ChangesEnd::Failed(error));
        }
        if error.is_closed() {
            self.phase = Phase::Lost; // nothing helps but another connection
            return self.interrupt();
        }
        if matches!(error, Error::Unreachable(_)) {
            // What carried the stream broke, or did not get as far as the server, which may be gone for a while: at once,
            // and then now and then, for as long as anybody listens.
            let pause = if self.losses == 0 { Duration::ZERO } else { backoff(first, self.losses) };
            self.losses = self.losses.saturating_add(1);
            if self.losses == TRIES {
                log::warn!("changes are not heard of, and it is tried again and again: {error}");
            }
            return self.again_after(pause, &error);
        }
        if self.tries < TRIES && may_succeed(&error) {
            self.tries += 1;
            return self.again_after(backoff(first, self.tries), &error);
        }
        if self.wake.is_some() {
            return self.over(ChangesEnd::Failed(error));
        }
        log::warn!("callbacks hear of no changes until the client reconnects: {error}");
        self.phase = Phase::Lost;
        if self.was_open {
            let filter = self.filter.clone();
            self.marks.mark_all(&filter);
        }
    }
}

/// Whether it makes sense to ask for the same once more.
fn may_succeed(error: &Error) -> bool {
    let refused = [ErrorCode::METHOD_NOT_FOUND, ErrorCode::INVALID_PARAMS];
    error.peer_error().is_none_or(|error| !refused.contains(&error.code))
}
