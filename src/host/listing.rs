//! What servers have, as they list it: asked for, offered, and told.
//!
//! **Invariants:** a list that cannot be had leaves the last one; however often a server says that its tools have changed, they are
//! listed now and then, in bounded time; whatever it has that is of no use is told in a bounded number of words, once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::caller::WeakCaller;
use super::events::HostEvent;
use super::filter::visible_line;
use super::inner::Inner;
use super::member::Member;
use crate::client::{CallOptions, Caller, ClientHandle, ServerIdentity};
use crate::error::{Error, Result};

/// So many refused tools of a listing are told by their names; of the others, how many there are.
const MAX_REFUSED_TOLD: usize = 32;

/// So many characters of a refused tool's name are told.
const MAX_NAME_TOLD: usize = 128;

impl Inner {
    /// Learns who the server of `member` is, and what it has.
    pub(super) fn settle(&self, member: &Arc<Member>, handle: &ClientHandle, begun: Instant) -> Result<()> {
        let identity = handle.initialize()?;
        let left = self.settings.start_time.saturating_sub(begun.elapsed()).max(Duration::from_millis(100));
        let listed = self.list(member, handle, &within(left).with_cancel(&member.gone));
        self.compare(member, &identity);
        self.subscriptions.came(member);
        listed
    }

    /// Whether it is still the same server.
    fn compare(&self, member: &Arc<Member>, after: &Arc<ServerIdentity>) {
        let Some(before) = member.set_identity(after) else { return };
        if before.info != after.info || before.version != after.version {
            let server = Arc::clone(&member.name);
            self.tell(HostEvent::Identity { server, before, after: Arc::clone(after) });
        }
    }

    /// Lists the tools of `member` anew.
    ///
    /// # Errors
    /// When it does not tell.
    fn list(&self, member: &Arc<Member>, handle: &ClientHandle, options: &CallOptions) -> Result<()> {
        let (listed, rejected) = match handle.list_tools_with(options) {
            // One without tools has none.
            Err(Error::Unsupported(_)) => (Vec::new(), Vec::new()),
            Err(error) => return Err(error),
            Ok(list) => (list.items, list.rejected),
        };
        let rejected =
            rejected.into_iter().map(|r| (r.name.unwrap_or_default(), r.problem.to_string())).collect();
        member.set_listed(listed.into());
        self.offer(member, rejected);
        Ok(())
    }

    /// Offers the tools that `member` was listed with. `rejected` are those that are none.
    fn offer(&self, member: &Arc<Member>, mut rejected: Vec<(String, String)>) {
        let caller: Arc<dyn Caller> = Arc::new(WeakCaller(self.this()));
        let mut has_room = false;
        loop {
            let listed = member.listed();
            let refreshed = self.catalogue.refresh(member, &listed, &self.settings.filter, &caller);
            member.set_clash(&listed, refreshed.has_clash);
            self.tell_refused(member, std::mem::take(&mut rejected), refreshed.refused);
            let (added, removed, changed) = (refreshed.added, refreshed.removed, refreshed.changed);
            has_room |= !removed.is_empty();
            if !(added.is_empty() && removed.is_empty() && changed.is_empty()) {
                self.tell(HostEvent::Tools { server: Arc::clone(&member.name), added, removed, changed });
            }
            // Another thread may have offered an older list meanwhile, over a newer one.
            if Arc::ptr_eq(&listed, &member.listed()) {
                break;
            }
        }
        // One that is being taken out has none.
        if member.gone.is_cancelled() {
            self.withdraw(member);
        }
        if has_room {
            self.offer_again(member);
        }
    }

    /// Names of `but` are free: others may have waited for them.
    pub(super) fn offer_again(&self, but: &Arc<Member>) {
        for member in self.members().iter().filter(|member| !Arc::ptr_eq(member, but)) {
            if member.is_clashing() {
                self.offer(member, Vec::new());
            }
        }
    }

    fn tell_refused(&self, member: &Arc<Member>, rejected: Vec<(String, String)>, refused: Vec<HostEvent>) {
        let rejected = rejected.into_iter().map(|(tool, problem)| HostEvent::ToolRefused {
            server: Arc::clone(&member.name),
            tool,
            problem,
        });
        let (mut told, mut more) = (0, 0);
        for mut event in refused.into_iter().chain(rejected) {
            if let HostEvent::ToolRefused { tool, problem, .. } = &mut event {
                *tool = short_name(tool);
                *problem = member.harmless(std::mem::take(problem));
            }
            match &event {
                HostEvent::ToolRefused { tool, problem, .. } if !member.is_refusal_news(tool, problem) => {}
                HostEvent::ToolRefused { .. } if told >= MAX_REFUSED_TOLD => more += 1,
                HostEvent::ToolRefused { .. } => {
                    told += 1;
                    self.tell(event);
                }
                _ => self.tell(event),
            }
        }
        if more > 0 {
            self.trouble(member, format!("{more} more of its tools are not offered"));
        }
    }

    /// The server says that its tools have changed.
    pub(super) fn changed(&self, member: &Arc<Member>, handle: &ClientHandle) {
        let pause = member.pause_before_listing();
        if member.gone.wait_timeout(pause) {
            return;
        }
        let options = within(self.settings.start_time).with_cancel(&member.gone).with_fresh();
        let listed = self.list(member, handle, &options);
        member.has_listed();
        if let (Err(error), false) = (listed, member.gone.is_cancelled()) {
            self.trouble(member, format!("its tools have changed and cannot be listed: {error}"));
        }
    }

    /// Tells that a server does what it should not.
    pub(super) fn trouble(&self, member: &Member, problem: String) {
        let problem = member.harmless(problem);
        self.tell(HostEvent::Trouble { server: Arc::clone(&member.name), problem });
    }
}

/// The name that a server gives to a tool, for one line of any terminal.
fn short_name(tool: &str) -> String {
    let mut chars = tool.chars();
    let mut short: String = chars.by_ref().take(MAX_NAME_TOLD).collect();
    if chars.next().is_some() {
        short.push('…');
    }
    visible_line(&short).into_owned()
}

/// So long for all pages together.
fn within(time: Duration) -> CallOptions {
    CallOptions::default().with_timeout(time).with_total(time)
}
