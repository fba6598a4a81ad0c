//! Starting members, and starting them again: each on a thread of its own, at most one for a member.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use super::closed;
use super::shared::Shared;
use super::state::Stage;
use crate::client::{Client, ClientHandle};
use crate::error::{Error, Result};

impl Shared {
    /// Has a member started, or started again, unless that is under way. `anew`: also if it is up, which it is not from now on.
    pub(super) fn begin_start(self: &Arc<Self>, id: usize, anew: bool) {
        {
            let mut state = self.lock();
            if state.is_closed {
                return;
            }
            let Some(member) = state.find(id) else { return };
            match member.stage {
                Stage::Idle | Stage::Out { .. } => {}
                // Not under somebody's call.
                Stage::Ready | Stage::Silent if anew && member.busy == 0 => {}
                Stage::Ready | Stage::Silent | Stage::Starting | Stage::Leaving => return,
            }
            member.stage = Stage::Starting;
            state.starts.push(id);
        }
        let landing = Landing { shared: Arc::clone(self), id };
        let thread = thread::Builder::new().name("mcp-pool-start".to_owned());
        if let Err(error) = thread.spawn(move || landing.shared.start(id, anew)) {
            let context = "cannot start a thread for a member of a pool".to_owned();
            self.started(id, Err(Error::Transport { context, error }));
        }
    }

    /// The life of a thread `mcp-pool-start`. Owner: the pool. Bound: one a member. End: when the member is up, or is not.
    fn start(self: &Arc<Self>, id: usize, anew: bool) {
        let old = self.lock().find(id).and_then(|member| member.handle());
        let is_first = old.is_none();
        let reconnected = match old {
            Some(client) => match reconnect(&client, anew) {
                Err(Error::Unsupported(_)) => None,
                outcome => Some(outcome),
            },
            None => None,
        };
        let outcome = reconnected.unwrap_or_else(|| self.make(id));
        if !is_first && outcome.is_ok() {
            if let Some(member) = self.lock().find(id) {
                member.restarts = member.restarts.saturating_add(1);
            }
        }
        let client = self.started(id, outcome);
        if let Some(client) = client {
            self.learn_timeouts(&client);
            self.subscribe_all();
        }
    }

    /// Makes the client of a member, in place of the one there was.
    fn make(&self, id: usize) -> Result<()> {
        let old = self.lock().find(id).and_then(|member| member.client.take());
        if let Some(old) = old {
            // The old process is gone first.
            old.close()?;
        }
        let made = catch_unwind(AssertUnwindSafe(|| (self.factory)(id)));
        let client =
            made.unwrap_or_else(|_| Err(Error::InvalidUse("the factory of a pool panicked".to_owned())))?;
        let handle = client.handle();
        // From here on whoever closes the pool ends it, also while the protocol is being settled.
        if let Some(client) = self.take_in(id, client) {
            drop(client);
            return Err(closed("initialize"));
        }
        handle.initialize().map(drop)
    }

    /// Gives a client to its member; gives it back if nobody wants it any more.
    fn take_in(&self, id: usize, client: Client) -> Option<Client> {
        let mut state = self.lock();
        if state.is_closed {
            return Some(client);
        }
        let born = state.next_life();
        match state.find(id).filter(|member| matches!(member.stage, Stage::Starting)) {
            Some(member) => {
                member.born = born;
                member.client.replace(client)
            }
            None => Some(client),
        }
    }

    /// A start is over. The client if the member is up.
    fn started(&self, id: usize, outcome: Result<()>) -> Option<ClientHandle> {
        let mut state = self.lock();
        let life = state.next_life();
        let member = state.find(id).filter(|member| matches!(member.stage, Stage::Starting))?;
        let client = match outcome {
            Ok(()) => {
                member.stage = Stage::Ready;
                (member.life, member.is_used, member.unanswered) = (life, false, 0);
                member.ready_since = Some(Instant::now());
                member.handle()
            }
            Err(error) => {
                self.take_out(&mut state, id, error);
                None
            }
        };
        state.signal();
        drop(state);
        // It has another connection to look after.
        self.wake();
        client
    }
}

/// The end of a start, also of one that could not begin.
struct Landing {
    shared: Arc<Shared>,
    id: usize,
}

impl Drop for Landing {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        if let Some(at) = state.starts.iter().position(|id| *id == self.id) {
            state.starts.swap_remove(at);
        }
        state.signal();
    }
}

fn reconnect(client: &ClientHandle, anew: bool) -> Result<()> {
    match client.mark().filter(|_| anew) {
        Some(mark) => client.replace_mark(&mark),
        None => client.revive(true),
    }
}
