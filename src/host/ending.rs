//! How servers leave a host, one by one or all of them.
//!
//! **Invariants:** who takes a server out returns when nothing of it is left, also of what was just being started, or when that has
//! taken too long; its name is free only then; its last event is that it was stopped.

use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::events::{HostEvent, ServerState};
use super::inner::Inner;
use super::member::Member;
use crate::error::{Error, Result};
use crate::peer::CloseReport;
use crate::sync::{Mutex, lock};

/// So long is waited for those who just start a server, or end it: to see that nobody wants it any more.
const LANDING: Duration = Duration::from_secs(5);

impl Inner {
    /// Takes a server out: its open calls fail, its tools are gone, and it is ended.
    ///
    /// # Errors
    /// When there is none of this name, or its process cannot be ended.
    pub(super) fn remove(&self, name: &str) -> Result<CloseReport> {
        let member = self.member(name)?;
        if !member.leaves() {
            return Err(self.unknown(name)); // somebody else takes it out
        }
        let report = self.end(&member);
        let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
        if members.get(name).is_some_and(|held| Arc::ptr_eq(held, &member)) {
            members.remove(name);
        }
        drop(members);
        report.unwrap_or_else(|| Ok(CloseReport::default()))
    }

    /// Ends what runs of `member`, which leaves; `None` if nothing does.
    fn end(&self, member: &Arc<Member>) -> Option<Result<CloseReport>> {
        let begun = Instant::now();
        let left = || LANDING.saturating_sub(begun.elapsed());
        let (client, restarter) = member.discard();
        self.withdraw(member);
        let mut report = client.map(|client| client.close());
        if let Some(restarter) = restarter {
            restarter.has_landed(left());
        }
        if !member.has_landed(left()) {
            let problem = "what just starts it does not end: it may leave a process behind".to_owned();
            self.tell(HostEvent::Trouble { server: Arc::clone(&member.name), problem });
        }
        // Of one who was just starting it when it began to leave.
        if let (Some(client), _) = member.discard() {
            report = report.or(Some(client.close()));
        }
        self.withdraw(member);
        let (server, state) = (Arc::clone(&member.name), ServerState::Stopped);
        member.is_over(|| self.tell(HostEvent::State { server, state }));
        report
    }

    /// Takes the tools of `member` out of the registry.
    pub(super) fn withdraw(&self, member: &Arc<Member>) {
        let removed = self.catalogue.remove(member);
        if !removed.is_empty() {
            let (server, added, changed) = (Arc::clone(&member.name), Vec::new(), Vec::new());
            self.tell(HostEvent::Tools { server, added, removed, changed });
            self.offer_again(member);
        }
    }

    /// Ends all servers, side by side. The second time there is nothing to do.
    pub(super) fn close(&self) -> Vec<(Arc<str>, Result<CloseReport>)> {
        let members = {
            let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
            self.closed.cancel("the host was closed");
            std::mem::take(&mut *members)
        };
        if let Some(supervisor) = lock(&self.supervisor).take() {
            supervisor.stop();
        }
        let reports = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for member in members.values() {
                let reports = &reports;
                let end = move || {
                    if !member.leaves() {
                        // Who takes it out is about to end it.
                        member.wait_over(LANDING * 2);
                    } else if let Some(report) = self.end(member) {
                        lock(reports).push((Arc::clone(&member.name), report));
                    }
                };
                let thread = thread::Builder::new().name("mcp-host-end".to_owned());
                if thread.spawn_scoped(scope, end).is_err() {
                    end(); // one after the other, then
                }
            }
        });
        self.bulletin.end();
        let mut reports = std::mem::take(&mut *lock(&reports));
        reports.sort_by(|(a, _): &(Arc<str>, Result<CloseReport>), (b, _)| a.cmp(b));
        reports
    }
}

pub(super) fn closed() -> Error {
    Error::Cancelled("the host was closed".into())
}
