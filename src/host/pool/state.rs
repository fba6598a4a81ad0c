//! [`State`]: the members of a pool, and which of them takes a call. Pure.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::builder::Balance;
use crate::client::{Client, ClientHandle};
use crate::error::Error;

/// How a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemberState {
    /// Nobody needed it yet.
    Idle,
    /// It is being started, or started again.
    Starting,
    /// It takes calls.
    Ready,
    /// It did not answer a ping. It takes calls only if no other does.
    Silent,
    /// Its connection has ended, or could not be opened; the text says why.
    Out {
        /// When that is tried again.
        again_in: Duration,
        /// What was wrong.
        problem: String,
    },
    /// It is being taken out for good.
    Leaving,
}

/// What [`PoolHandle::members`](super::PoolHandle::members) tells of one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemberReport {
    /// Its number.
    pub id: usize,
    /// How it is.
    pub state: MemberState,
    /// Open calls.
    pub open_calls: usize,
    /// Whether somebody has leased it.
    pub is_leased: bool,
    /// How often it was started again.
    pub restarts: u32,
}

pub(super) enum Stage {
    Idle,
    Starting,
    Ready,
    Silent,
    Out {
        /// Then it is started again.
        until: Instant,
        error: Error,
        /// It had been started.
        was_up: bool,
    },
    Leaving,
}

/// One connection.
pub(super) struct Member {
    pub(super) id: usize,
    pub(super) stage: Stage,
    /// Taken out by whoever closes it.
    pub(super) client: Option<Client>,
    /// Counts the clients of this pool, to tell this one from an earlier one of the member.
    pub(super) born: u64,
    /// Counts the connections of this pool, likewise.
    pub(super) life: u64,
    /// Open calls.
    pub(super) busy: usize,
    pub(super) is_leased: bool,
    /// Whether a call was made on the connection it has now.
    pub(super) is_used: bool,
    /// Conversations that go by a key.
    pub(super) conversations: usize,
    /// Starts that did not go well, or after which it did not stay, in a row.
    pub(super) failures: u32,
    /// Pings that were not answered, in a row.
    pub(super) unanswered: u32,
    pub(super) ready_since: Option<Instant>,
    pub(super) restarts: u32,
}

impl Member {
    fn new(id: usize) -> Self {
        Self {
            id,
            stage: Stage::Idle,
            client: None,
            born: 0,
            life: 0,
            busy: 0,
            is_leased: false,
            is_used: false,
            conversations: 0,
            failures: 0,
            unanswered: 0,
            ready_since: None,
            restarts: 0,
        }
    }

    pub(super) fn handle(&self) -> Option<ClientHandle> {
        self.client.as_ref().map(Client::handle)
    }

    pub(super) fn is_up(&self) -> bool {
        matches!(self.stage, Stage::Ready | Stage::Silent)
    }

    pub(super) fn report(&self, now: Instant) -> MemberReport {
        let state = match &self.stage {
            Stage::Idle => MemberState::Idle,
            Stage::Starting => MemberState::Starting,
            Stage::Ready => MemberState::Ready,
            Stage::Silent => MemberState::Silent,
            Stage::Leaving => MemberState::Leaving,
            Stage::Out { until, error, .. } => MemberState::Out {
                again_in: until.saturating_duration_since(now),
                problem: error.to_string(),
            },
        };
        MemberReport {
            id: self.id,
            state,
            open_calls: self.busy,
            is_leased: self.is_leased,
            restarts: self.restarts,
        }
    }
}

pub(super) struct State {
    pub(super) members: Vec<Member>,
    next_id: usize,
    lives: u64,
    /// Where the last call went; the next one begins to look behind it.
    turn: usize,
    pub(super) is_closed: bool,
    /// Whose threads `mcp-pool-start` have not ended.
    pub(super) starts: Vec<usize>,
    /// Disconnected, and replaced, at a change that somebody may wait for. Nothing is ever sent.
    changed: (Sender<Infallible>, Receiver<Infallible>),
    pub(super) waiting: usize,
}

impl State {
    pub(super) fn new(members: usize) -> Self {
        let members = (0..members).map(Member::new).collect::<Vec<_>>();
        Self {
            next_id: members.len(),
            members,
            lives: 0,
            turn: 0,
            is_closed: false,
            starts: Vec::new(),
            changed: bounded(0),
            waiting: 0,
        }
    }

    pub(super) fn add(&mut self) -> usize {
        let id = self.next_id;
        self.next_id += 1;
        self.members.push(Member::new(id));
        id
    }

    /// The number of another connection.
    pub(super) fn next_life(&mut self) -> u64 {
        self.lives += 1;
        self.lives
    }

    pub(super) fn has_starting(&self) -> bool {
        self.members.iter().any(|member| matches!(member.stage, Stage::Starting))
    }

    /// A member to be started by one who finds none: who is due, and if there is nobody to wait for, another one.
    pub(super) fn worth_starting(&self, now: Instant) -> Option<usize> {
        let is_due = |stage: &Stage| matches!(stage, Stage::Out { until, .. } if *until <= now);
        let due = self.members.iter().find(|member| is_due(&member.stage)).map(|member| member.id);
        due.or_else(|| self.startable(now).filter(|_| !self.may_come_up()))
    }

    /// Whether it is worth waiting for a member: one that is being started, or will be, as it did not fail to start before.
    pub(super) fn may_come_up(&self) -> bool {
        let may = |stage: &Stage| matches!(stage, Stage::Starting | Stage::Out { was_up: true, .. });
        self.members.iter().any(|member| may(&member.stage))
    }

    /// A member that can be started now.
    pub(super) fn startable(&self, now: Instant) -> Option<usize> {
        let is_due = |stage: &Stage| match stage {
            Stage::Idle => true,
            Stage::Out { until, .. } => *until <= now,
            _ => false,
        };
        self.members.iter().find(|member| is_due(&member.stage)).map(|member| member.id)
    }

    pub(super) fn find(&mut self, id: usize) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.id == id)
    }

    /// Wakes all who wait for a change.
    pub(super) fn signal(&mut self) {
        if self.waiting > 0 {
            self.changed = bounded(0);
        }
    }

    /// Ready (disconnected) at the next change, for one who has counted himself among those who wait.
    pub(super) fn change(&self) -> Receiver<Infallible> {
        self.changed.1.clone()
    }

    /// The member that takes a call, without those in `not`; one that does not answer pings only if there is no other.
    pub(super) fn choose(&mut self, balance: Balance, not: &[(usize, u64)]) -> Option<&mut Member> {
        let fit = |member: &Member| !member.is_leased && !not.contains(&(member.id, member.life));
        let ready = |member: &Member| matches!(member.stage, Stage::Ready) && fit(member);
        let silent = |member: &Member| matches!(member.stage, Stage::Silent) && fit(member);
        let at = self.next(balance, &ready).or_else(|| self.next(balance, &silent))?;
        self.turn = at;
        Some(&mut self.members[at])
    }

    fn next(&self, balance: Balance, fit: &dyn Fn(&Member) -> bool) -> Option<usize> {
        let count = self.members.len();
        let mut order = (1..=count).map(|step| (self.turn + step) % count);
        let is_fit = |at: &usize| fit(&self.members[*at]);
        match balance {
            Balance::RoundRobin => order.find(is_fit),
            // The first of the least busy ones, in order.
            Balance::LeastBusy => order.filter(is_fit).min_by_key(|at| self.members[*at].busy),
        }
    }

    /// The member that a conversation begins on: with the fewest of them, and then the least to do.
    pub(super) fn choose_for_conversation(&mut self) -> Option<&mut Member> {
        let fit = |member: &&mut Member| member.is_up() && !member.is_leased;
        let members = self.members.iter_mut().filter(fit);
        members
            .min_by_key(|member| (matches!(member.stage, Stage::Silent), member.conversations, member.busy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Members by a letter each: `r`eady, `s`ilent, `l`eased, `o`ut, `i`dle, and a digit for open calls.
    fn state(members: &[&str]) -> State {
        let mut state = State::new(members.len());
        for (member, text) in state.members.iter_mut().zip(members) {
            let (kind, busy) = text.split_at(1);
            member.busy = busy.parse().unwrap_or(0);
            member.is_leased = kind == "l";
            member.stage = match kind {
                "r" | "l" => Stage::Ready,
                "s" => Stage::Silent,
                "o" => Stage::Out { until: Instant::now(), error: Error::Busy("x".into()), was_up: true },
                _ => Stage::Idle,
            };
        }
        state
    }

    fn chosen(state: &mut State, balance: Balance, not: &[usize], times: usize) -> Vec<usize> {
        let not: Vec<_> = not.iter().map(|id| (*id, 0)).collect();
        (0..times).filter_map(|_| state.choose(balance, &not).map(|member| member.id)).collect()
    }

    #[test]
    fn calls_go_round_or_to_who_has_least_to_do() {
        let (least, round) = (Balance::LeastBusy, Balance::RoundRobin);
        for (members, balance, not, want) in [
            (&["r", "r", "r"][..], round, &[][..], vec![1, 2, 0, 1]),
            (&["r", "r", "r"], least, &[], vec![1, 2, 0, 1]),
            (&["r2", "r1", "r2"], least, &[], vec![1, 1, 1, 1]),
            (&["r2", "r1", "r2"], round, &[], vec![1, 2, 0, 1]),
            (&["r", "o", "i", "l", "s"], round, &[], vec![0, 0, 0, 0]),
            (&["r", "r", "r"], round, &[1], vec![2, 0, 2, 0]),
            (&["o", "s3", "s1"], least, &[], vec![2, 2, 2, 2]),
            (&["r9", "s"], least, &[0], vec![1, 1, 1, 1]),
            (&["o", "l", "i"], least, &[], vec![]),
            (&["r"], round, &[0], vec![]),
            (&[], round, &[], vec![]),
        ] {
            assert_eq!(chosen(&mut state(members), balance, not, 4), want, "{members:?} {balance:?} {not:?}");
        }
    }
}
