//! [`wait`]: the caller's thread, blocked on its channels.

use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, never, select};

use super::pending::{Answer, Waiting};
use crate::json::Json;
use crate::sync::{CancelToken, Deadline};

/// How long a caller waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patient {
    /// For the answer, or, if `resets`, for the next sign of life.
    pub(crate) each: Option<Duration>,
    /// In all, whatever happens.
    pub(crate) total: Option<Duration>,
    /// Progress starts `each` anew.
    pub(crate) resets: bool,
}

/// How the waiting ended.
#[derive(Debug)]
pub(crate) enum Waited {
    Answer(Answer),
    /// After this long.
    TimedOut(Duration),
    Cancelled(String),
    /// The connection ended.
    Closed,
}

/// What to do with progress, on the waiting thread.
pub(crate) type OnProgress<'a> = Option<&'a mut dyn FnMut(&Json)>;

/// How often a caller that still waits looks whether there is anybody to wait for.
const LOOK: Duration = Duration::from_millis(250);

/// Waits for the answer. The time runs from `start`, so that writing the request counts. `look` is called now and then
/// and may end the connection if it finds the peer gone.
pub(crate) fn wait(
    waiting: &Waiting,
    start: std::time::Instant,
    patient: Patient,
    cancel: Option<&CancelToken>,
    mut on_progress: OnProgress<'_>,
    look: &dyn Fn(),
) -> Waited {
    let total = Deadline::of(start, patient.total);
    let mut deadline = Deadline::of(start, patient.each).earlier(total);
    let closed_or = |answer: Result<Option<Answer>, ()>| match answer {
        Ok(Some(answer)) => Waited::Answer(answer),
        Ok(None) | Err(()) => Waited::Closed,
    };
    if cancel.is_none() && on_progress.is_none() && !patient.resets {
        // Asking for the time is not free: most answers come before the first look.
        let mut next_look = Deadline::of(start, Some(LOOK));
        loop {
            let Some(at) = deadline.earlier(next_look).instant() else {
                return closed_or(waiting.answer().recv().map_err(drop));
            };
            match waiting.answer().recv_deadline(at) {
                Err(RecvTimeoutError::Timeout) if deadline.has_passed() => {
                    return Waited::TimedOut(start.elapsed());
                }
                Err(RecvTimeoutError::Timeout) => {
                    look();
                    next_look = Deadline::after(Some(LOOK));
                }
                answer => return closed_or(answer.map_err(drop)),
            }
        }
    }
    let cancelled = cancel.map_or_else(never, CancelToken::receiver);
    let mut progress: Receiver<Json> = waiting.progress.clone();
    loop {
        let until = deadline.earlier(Deadline::after(Some(LOOK)));
        let timeout = until.instant().map_or_else(never, crossbeam_channel::at);
        select! {
            recv(progress) -> report => match report {
                Ok(report) => {
                    if patient.resets {
                        deadline = Deadline::after(patient.each).earlier(total);
                    }
                    if let Some(on_progress) = on_progress.as_mut() {
                        on_progress(&report);
                    }
                }
                // The request is answered, or the connection has ended: the other channel says which.
                Err(_) => progress = never(),
            },
            recv(waiting.answer()) -> answer => {
                // Progress precedes its answer: what is here was sent before it.
                while let (Some(on_progress), Ok(report)) = (on_progress.as_mut(), waiting.progress.try_recv()) {
                    on_progress(&report);
                }
                return closed_or(answer.map_err(drop));
            },
            recv(cancelled) -> _ => {
                let reason = cancel.and_then(CancelToken::reason).unwrap_or("cancelled");
                return Waited::Cancelled(reason.to_owned());
            },
            recv(timeout) -> _ => {
                // Whatever came in time counts, also if a slow callback kept us from looking and `select!` chose the clock.
                let has_come = !waiting.answer().is_empty()
                    || patient.resets && !total.has_passed() && !progress.is_empty();
                if !deadline.has_passed() {
                    look();
                } else if !has_come {
                    return Waited::TimedOut(start.elapsed());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::pending::Pending;
    use super::*;

    #[test]
    fn what_has_come_counts_however_late_the_caller_looks() {
        let start = Instant::now().checked_sub(Duration::from_secs(1)).expect("a clock that runs");
        let [brief, long] = [Duration::from_millis(1), Duration::from_secs(60)].map(Some);
        let token = CancelToken::new();
        // The channels and the clock are ready at once, and `select!` takes any of them.
        for _ in 0..50 {
            let pending = Pending::new(1);
            let waiting = pending.register(true).expect("room");
            let id = waiting.id.into();
            assert!(pending.progress(&id, Json::null()));
            let sent = std::cell::Cell::new(false);
            // Progress that is here starts the time anew; then the answer comes.
            let mut report = |_: &Json| {
                if !sent.replace(true) {
                    assert!(pending.complete(&id, Ok(Json::null())));
                }
            };
            let patient = Patient { each: brief, total: long, resets: true };
            let waited = wait(&waiting, start, patient, Some(&token), Some(&mut report), &|| {});
            assert!(matches!(waited, Waited::Answer(Ok(_))), "{waited:?}");
            assert!(sent.get());
            // Beyond the total nothing new is waited for.
            let waiting = pending.register(true).expect("room");
            assert!(pending.progress(&waiting.id.into(), Json::null()));
            let patient = Patient { each: brief, total: brief, resets: true };
            let waited = wait(&waiting, start, patient, Some(&token), None, &|| {});
            assert!(matches!(waited, Waited::TimedOut(_)), "{waited:?}");
        }
    }
}
