//! The end of a pool, and of a member: no new calls, open ones finish, then the connection is closed.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::shared::{Patience, Shared};
use super::state::{Stage, State};
use crate::client::Client;
use crate::error::{Error, Result};
use crate::peer::CloseReport;
use crate::sync::Deadline;

/// So long is waited for those who just start a member: to see that nobody wants it any more, and end what they started.
const LANDING: Duration = Duration::from_secs(5);

/// How a pool ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct PoolReport {
    /// So many calls were still open when the grace was over, and were cut off.
    pub calls_cut_off: usize,
    /// How each member ended that had a connection.
    pub members: Vec<MemberEnd>,
}

impl PoolReport {
    /// Whether all calls had finished.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.calls_cut_off == 0
    }
}

/// How a member of a pool ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct MemberEnd {
    /// Its number.
    pub id: usize,
    /// What its close had to do, or that its server could not be ended.
    pub outcome: Result<CloseReport>,
}

impl Shared {
    pub(super) fn close(&self, grace: Duration) -> PoolReport {
        {
            let mut state = self.lock();
            state.is_closed = true;
            // Whoever waits for a member need not.
            state.signal();
        }
        self.wake();
        let busy = |state: &State| state.members.iter().map(|member| member.busy).sum::<usize>();
        self.until(grace, &|state| busy(state) == 0);
        let (calls_cut_off, clients) = {
            let mut state = self.lock();
            let calls = busy(&state);
            let members = state.members.iter_mut();
            let clients: Vec<_> =
                members.filter_map(|member| Some((member.id, member.client.take()?))).collect();
            (calls, clients)
        };
        self.end_sources();
        let members = close_all(clients);
        self.until(LANDING, &|state| state.starts.is_empty());
        PoolReport { calls_cut_off, members }
    }

    pub(super) fn remove(&self, id: usize, grace: Duration) -> Result<CloseReport> {
        {
            let mut state = self.lock();
            let member = state.find(id).filter(|member| !matches!(member.stage, Stage::Leaving));
            let member = member.ok_or_else(|| Error::InvalidUse(format!("the pool has no member {id}")))?;
            member.stage = Stage::Leaving;
            state.signal();
        }
        self.until(grace, &|state| state.members.iter().all(|member| member.id != id || member.busy == 0));
        let client = {
            let mut state = self.lock();
            let at = state.members.iter().position(|member| member.id == id);
            let client = at.and_then(|at| state.members.remove(at).client);
            state.signal();
            client
        };
        self.forget_source(id);
        let report = client.map_or_else(|| Ok(CloseReport::default()), Client::close);
        self.until(LANDING, &|state| !state.starts.contains(&id));
        report
    }

    /// Waits until `holds`, at most `grace`.
    fn until(&self, grace: Duration, holds: &dyn Fn(&State) -> bool) {
        let patience = Patience { method: "", until: Deadline::after(Some(grace)), cancel: None };
        loop {
            let state = self.lock();
            if holds(&state) || self.wait(state, &patience).is_err() {
                return;
            }
        }
    }
}

/// Closes all of them side by side: each may take seconds.
fn close_all(clients: Vec<(usize, Client)>) -> Vec<MemberEnd> {
    let ends = Arc::new(crate::sync::Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for (id, client) in clients {
            let thread = thread::Builder::new().name("mcp-pool-close".to_owned());
            let told = Arc::clone(&ends);
            let client = Arc::new(crate::sync::Mutex::new(Some(client)));
            let theirs = Arc::clone(&client);
            let close = move || {
                let client = crate::sync::lock(&theirs).take();
                if let Some(client) = client {
                    let end = MemberEnd { id, outcome: client.close() };
                    crate::sync::lock(&told).push(end);
                }
            };
            if thread.spawn_scoped(scope, close.clone()).is_err() {
                close(); // one after the other, then
            }
        }
    });
    let mut ends = std::mem::take(&mut *crate::sync::lock(&ends));
    ends.sort_by_key(|end: &MemberEnd| end.id);
    ends
}
