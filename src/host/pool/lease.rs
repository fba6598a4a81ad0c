//! [`Lease`]: a connection for one conversation alone.

use std::fmt;
use std::sync::Arc;

use super::shared::{Patience, Shared};
use super::state::Stage;
use crate::client::{CallOptions, Caller, ClientHandle, Events, Filter, Mark};
use crate::error::{Error, Result};
use crate::host::resilience::Times;
use crate::host::resilience::route::{Act, Need, Route, routed_calls};
use crate::protocol::ToolDefinition;

/// A connection of a [`Pool`](super::Pool) that nobody else uses until this is dropped: what
/// [`PoolHandle::lease`](super::PoolHandle::lease) returns.
///
/// Its calls are made on that connection and on no other. If it ends, a Legacy server has forgotten what was done on it, and they
/// fail with [`Error::SessionEnded`] or [`Error::Closed`]; take another lease and begin again. On a Modern server they go
/// on, on the connection that comes in its place.
///
/// ```
/// use serde_json::json;
/// use tinymcp::client::{CallOptions, Caller};
/// use tinymcp::host::pool::Pool;
/// use tinymcp::{Arguments, Client, Server, ToolRegistry, tool, transport};
/// # let echo = tool! { fn echo(text: String) -> String { text } };
/// # let server = Server::builder("echo", "1").tools(ToolRegistry::new().with(echo)?).build()?;
/// # let pool = Pool::builder().size(2).open(move |_| {
/// #     let (near, far) = transport::memory_pair();
/// #     let server = server.clone();
/// #     std::thread::spawn(move || server.serve(far));
/// #     Client::builder().open(near)
/// # })?;
///
/// let browser = pool.lease(&CallOptions::default())?;
/// for text in ["open a page", "read it"] {
///     browser.call("echo", Arguments::new(&json!({"text": text})).expect("an object"), &CallOptions::default())?;
/// }
/// drop(browser); // for others
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Lease {
    shared: Arc<Shared>,
    id: usize,
    born: u64,
    life: u64,
    /// `None` on a Modern server.
    mark: Option<Mark>,
    client: ClientHandle,
}

impl Lease {
    pub(super) fn take(shared: &Arc<Shared>, options: &CallOptions) -> Result<Self> {
        let times = Times::new(options, &shared.timeouts());
        let patience =
            Patience { method: "initialize", until: times.deadline(), cancel: options.cancel_token() };
        shared.forget_idle();
        loop {
            let mut state = shared.lock();
            if state.is_closed {
                return Err(super::closed(patience.method));
            }
            let free = state.members.iter_mut().filter(|member| {
                let is_free = matches!(member.stage, Stage::Ready) && !member.is_leased && member.busy == 0;
                // A conversation that goes by a key may be remembered there.
                let is_modern = || member.client.as_ref().and_then(|client| client.is_modern());
                is_free && (member.conversations == 0 || is_modern() == Some(true))
            });
            let mut free: Vec<_> = free.collect();
            free.sort_by_key(|member| (member.is_used, member.conversations));
            if let Some(member) = free.into_iter().next() {
                let Some(client) = member.handle() else { return Err(super::closed(patience.method)) };
                let is_modern = client.is_modern().unwrap_or_default();
                let id = member.id;
                if member.is_used && !is_modern && !shared.options.reuses_sessions {
                    drop(state);
                    shared.begin_start(id, true);
                    continue;
                }
                let mark = client.mark().filter(|_| !is_modern);
                if mark.is_none() && !is_modern {
                    // It has just ended, which the pool will notice.
                    let error = super::closed(patience.method);
                    shared.take_out(&mut state, id, error);
                    continue;
                }
                (member.is_leased, member.is_used) = (true, true);
                let (born, life) = (member.born, member.life);
                drop(state);
                return Ok(Self { shared: Arc::clone(shared), id, born, life, mark, client });
            }
            let idle = state.startable(std::time::Instant::now());
            if let Some(idle) = idle.filter(|_| !state.has_starting()) {
                drop(state);
                shared.begin_start(idle, false);
                continue;
            }
            let may_come = |member: &super::state::Member| match member.stage {
                Stage::Starting | Stage::Out { was_up: true, .. } => true,
                Stage::Ready | Stage::Silent => {
                    member.is_leased || member.busy > 0 || member.conversations > 0
                }
                _ => false,
            };
            if !state.members.iter().any(may_come) {
                return Err(super::shared::none_is_ready(&state, patience.method));
            }
            match shared.wait(state, &patience) {
                Err(Error::Timeout(failure)) => {
                    let after = crate::error::Seconds(failure.after);
                    return Err(Error::Busy(format!("no connection of the pool became free within {after}")));
                }
                waited => waited?,
            }
        }
    }

    fn options(&self, options: &CallOptions) -> CallOptions {
        let options = options.clone();
        match &self.mark {
            Some(mark) => options.only_on(mark),
            None => options,
        }
    }
}

impl Route for Lease {
    fn route(&self, need: Need<'_>, options: &CallOptions, act: Act<'_>) -> Result<()> {
        let seat = self.shared.seat_at(self.id, self.born, need.method())?;
        let Some(seat) = seat else { return Err(super::sticky::ended(&self.client, need.method())) };
        act(&seat.client, &self.options(options)).inspect_err(|error| seat.note(error))
    }

    fn listed(&self, tools: &[ToolDefinition]) {
        self.shared.repeatable.refresh(tools);
    }
}

impl Caller for Lease {
    routed_calls!();

    /// The changes on its connection, and on the one that comes in its place.
    fn events(&self, filter: Filter) -> Result<Events> {
        self.client.listen(filter).map(Events::new)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let must_forget = {
            let mut state = self.shared.lock();
            // It is leased as long as this lives, whatever becomes of its connection.
            let is_up = state.find(self.id).is_some_and(|member| {
                member.is_leased = false;
                member.is_up() && member.life == self.life
            });
            state.signal();
            is_up && self.mark.is_some() && !self.shared.options.reuses_sessions
        };
        // What was done on it is nobody else's business.
        if must_forget {
            self.shared.begin_start(self.id, true);
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("member", &self.id).finish_non_exhaustive()
    }
}
