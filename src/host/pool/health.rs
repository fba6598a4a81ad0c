//! The thread `mcp-pool`: notices what has ended, asks who is alive, and has brought back who is out.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Select, never};

use super::shared::Shared;
use super::state::Stage;
use crate::client::Ping;
use crate::error::{Error, Phase, Result};

/// So many pings may go unanswered in a row before a member without open calls is started again.
const UNANSWERED: u32 = 2;

/// Begins to look after a pool. The thread's owner: the pool. Bound: one. End: when nobody holds the pool any more, or it is
/// closed; it is not waited for.
pub(super) fn watch(shared: &Arc<Shared>, woken: Receiver<()>) -> Result<()> {
    let weak = Arc::downgrade(shared);
    let every = shared.options.check_every;
    thread::Builder::new()
        .name("mcp-pool".to_owned())
        .spawn(move || run(&weak, &woken, every))
        .map(drop)
        .map_err(|error| Error::Transport { context: "cannot start a thread for a pool".to_owned(), error })
}

/// Something that may have ended.
type Ended = (usize, Receiver<()>);

fn run(shared: &Weak<Shared>, woken: &Receiver<()>, every: Option<Duration>) {
    let mut next_check = every.and_then(|every| Instant::now().checked_add(every));
    loop {
        let Some(pool) = shared.upgrade() else { return };
        let is_due = next_check.is_some_and(|at| at <= Instant::now());
        let is_unsure = is_due && pool.check();
        if is_due {
            // Whoever did not answer is asked again at once.
            next_check = every.filter(|_| !is_unsure).and_then(|every| Instant::now().checked_add(every));
            next_check = next_check.or_else(|| every.map(|_| Instant::now() + pool.options.check_time));
        }
        let Some((ended, next_start)) = pool.look() else { return };
        drop(pool);
        let until = match (next_check, next_start) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        if !wait(woken, &ended, until) {
            return;
        }
    }
}

/// Waits until there is something to do; `false` if there is nobody to do it for.
fn wait(woken: &Receiver<()>, ended: &[Ended], until: Option<Instant>) -> bool {
    let mut select = Select::new();
    select.recv(woken);
    for (_, ended) in ended {
        select.recv(ended);
    }
    let ready = match until {
        Some(until) => select.ready_deadline(until).ok(),
        None => Some(select.ready()),
    };
    ready != Some(0) || woken.recv().is_ok()
}

impl Shared {
    /// Takes out whose connection has ended, and starts who is due. The connections there are, and when the next one is due; `None` after
    /// the close.
    fn look(self: &Arc<Self>) -> Option<(Vec<Ended>, Option<Instant>)> {
        let now = Instant::now();
        let ups: Vec<_> = {
            let state = self.lock();
            if state.is_closed {
                return None;
            }
            let up = state.members.iter().filter(|member| member.is_up());
            up.filter_map(|member| Some((member.id, member.life, member.handle()?))).collect()
        };
        let mut ended = Vec::new();
        for (id, life, client) in ups {
            // Before it is looked whether it has ended: nothing is missed in between.
            let end = client.ended().unwrap_or_else(never);
            if !client.has_ended() {
                ended.push((id, end));
                continue;
            }
            let failure =
                client.failure(Phase::Handshake, Duration::ZERO, "its connection has ended".to_owned());
            let mut state = self.lock();
            if state.find(id).is_some_and(|member| member.life == life && member.is_up()) {
                self.take_out(&mut state, id, Error::Closed(failure));
            }
        }
        let (mut due, mut next_start) = (Vec::new(), None::<Instant>);
        for member in &self.lock().members {
            match member.stage {
                Stage::Out { until, .. } if until <= now => due.push(member.id),
                Stage::Out { until, .. } => {
                    next_start = Some(next_start.map_or(until, |next| next.min(until)))
                }
                _ => {}
            }
        }
        due.into_iter().for_each(|id| self.begin_start(id, false));
        Some((ended, next_start))
    }

    /// Asks all members whether they are alive, side by side; whether one of them did not answer.
    fn check(self: &Arc<Self>) -> bool {
        let asked: Vec<_> = {
            let state = self.lock();
            let up = state.members.iter().filter(|member| member.is_up());
            up.filter_map(|member| Some((member.id, member.life, member.handle()?))).collect()
        };
        let time = self.options.check_time;
        let pings = asked.into_iter().map(|(id, life, client)| (id, life, client.start_ping(time)));
        let pings: Vec<_> = pings.collect();
        let mut is_unsure = false;
        for (id, life, ping) in pings {
            let answer = ping.as_ref().map_err(Error::copy).and_then(Ping::wait);
            is_unsure |= self.answered(id, life, answer);
        }
        is_unsure
    }

    /// Whether `answer` says that the member is not well.
    fn answered(self: &Arc<Self>, id: usize, life: u64, answer: Result<()>) -> bool {
        let mut state = self.lock();
        let member = state.find(id).filter(|member| member.life == life && member.is_up());
        let Some(member) = member else { return false };
        match answer {
            // Too much waits for it to be asked as well: it is at work.
            Ok(()) | Err(Error::Busy(_)) => {
                if matches!(member.stage, Stage::Silent) {
                    member.stage = Stage::Ready;
                    state.signal();
                } else {
                    member.unanswered = 0;
                }
                false
            }
            Err(error) => {
                log::debug!("member {id} of a pool does not answer: {error}");
                member.stage = Stage::Silent;
                member.unanswered = member.unanswered.saturating_add(1);
                // A server that does one thing at a time does not answer while it does it.
                if member.unanswered < UNANSWERED || member.busy > 0 {
                    return true;
                }
                self.take_out(&mut state, id, error);
                drop(state);
                self.begin_start(id, true);
                false
            }
        }
    }
}
