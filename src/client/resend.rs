//! Requests that fail by themselves while the connection goes on, and are made once more where that does no harm.
//!
//! | what happened | what is done |
//! |---|---|
//! | it did not reach the server, or no answer came back and it can be repeated | after a pause it is sent again, a few times |
//! | the server does not know the session | another session is made, or found, and it is sent there, once |
//! | the server misses headers that mirror arguments | the tools are listed, from which the transport learns, and it is sent again, once |
//!
//! **Invariants:** a request that may have been carried out is sent again only if the method table or the tool itself says that
//! this does no harm; each time under a fresh id; within the call's timeout and total, and not after it was cancelled.

use std::collections::HashSet;
use std::mem;
use std::time::Duration;

use crossbeam_channel::{after, never, select};

use super::ClientBuilder;
use super::backoff::backoff;
use super::call::Open;
use super::lists::list_tools_anew;
use crate::error::{Error, Result};
use crate::json::{Json, Members};
use crate::jsonrpc::ErrorCode;
use crate::method::Method;
use crate::protocol::ToolDefinition;
use crate::sync::{CancelToken, Mutex, lock};

/// Before a request is sent again for the first time.
const PAUSE: Duration = Duration::from_millis(100);

/// So many tools are remembered as harmless to repeat.
const MAX_TOOLS: usize = 1_024;

/// Waits for the answer to `open`, which is the last of the requests that were sent for it.
pub(super) fn answer(open: &mut Open, write_members: &dyn Fn(&mut Vec<u8>)) -> Result<Json> {
    match open.wait() {
        Err(error) => recovered(open, error, write_members),
        answer => answer,
    }
}

/// The answer to `open`, which has ended in `error`, if another try brings one.
#[cold]
pub(super) fn recovered(
    open: &mut Open,
    mut error: Error,
    write_members: &dyn Fn(&mut Vec<u8>),
) -> Result<Json> {
    let (mut pauses, mut was_renewed, mut was_listed) = (0, false, false);
    loop {
        if let Error::OutcomeUnknown(failure) = error {
            let is_harmless = !failure.is_closed && is_harmless(open, write_members);
            error = if is_harmless { Error::Unreachable(failure) } else { Error::OutcomeUnknown(failure) };
        }
        let mut settled = open.settled.clone();
        match &error {
            Error::Unreachable(_) if pauses < open.session.config.max_resends => {
                pauses += 1;
                if !pause(open, backoff(PAUSE, pauses))? {
                    return Err(error);
                }
            }
            Error::SessionEnded(_) if !open.options.stays && !mem::replace(&mut was_renewed, true) => {
                match open.session.renew(&settled, open.options.cancel())? {
                    Some(renewed) => settled = renewed,
                    None => return Err(error),
                }
            }
            Error::Peer(peer) if peer.code == ErrorCode::HEADER_MISMATCH && calls_tool(open) => {
                if mem::replace(&mut was_listed, true) || !listed_anew(open)? {
                    return Err(error);
                }
            }
            _ => return Err(error),
        }
        log::debug!("{} is sent again: {error}", open.method);
        *open = open.repeat(settled, write_members)?;
        match open.wait() {
            Err(again) => error = again,
            answer => return answer,
        }
    }
}

/// Waits, unless there is no time for that: `false`.
fn pause(open: &Open, pause: Duration) -> Result<bool> {
    if open.deadline().remaining().is_some_and(|left| left <= pause) {
        return Ok(false);
    }
    let cancelled = open.options.cancel().map_or_else(never, CancelToken::receiver);
    select! {
        recv(cancelled) -> _ => open.options.check_cancelled()?,
        // Sending tells how it ended.
        recv(open.settled.peer.ended()) -> _ => {}
        recv(after(pause)) -> _ => {}
    }
    Ok(true)
}

fn calls_tool(open: &Open) -> bool {
    open.method == Method::ToolsCall.name() && open.settled.is_modern()
}

/// Lists the tools, past whatever is kept of them; whether that went well.
///
/// spec: 2026-07-28 basic/transports/streamable-http#client-behavior
fn listed_anew(open: &Open) -> Result<bool> {
    let options = open.options.of_task(Some(open.deadline().remaining())).with_fresh();
    match list_tools_anew(&open.session, &options) {
        Ok(()) => Ok(true),
        Err(Error::Cancelled(reason)) => Err(Error::Cancelled(reason)),
        Err(e) => {
            log::debug!("the tools cannot be listed for another try of a call: {e}");
            Ok(false)
        }
    }
}

/// Whether it is a call of a tool that can be repeated, as far as its server can be believed.
fn is_harmless(open: &Open, write_members: &dyn Fn(&mut Vec<u8>)) -> bool {
    if open.method != Method::ToolsCall.name() {
        return false;
    }
    if open.options.is_repeatable {
        return true;
    }
    let mut call = vec![b'{'];
    write_members(&mut call);
    call.push(b'}');
    let call = String::from_utf8(call).ok().and_then(|call| Json::parse(&call).ok());
    let name = call.and_then(|call| Members::of(call.as_raw()).ok()?.lenient::<String>("name"));
    name.is_some_and(|name| open.session.repeatable.has(&name))
}

/// Whether the server says of a tool that calling it again does no harm.
pub(crate) fn is_repeatable(tool: &ToolDefinition) -> bool {
    tool.annotations
        .as_ref()
        .is_some_and(|hints| hints.read_only_hint == Some(true) || hints.idempotent_hint == Some(true))
}

/// The tools of the last listing that can be repeated. Owner: the session. Bound: [`MAX_TOOLS`]. The lock is held for a look-up
/// or an exchange.
#[derive(Default)]
pub(crate) struct Repeatable(Mutex<Option<HashSet<String>>>);

impl Repeatable {
    /// Takes those of `tools` in place of all before.
    pub(crate) fn refresh(&self, tools: &[ToolDefinition]) {
        let names = tools.iter().filter(|tool| is_repeatable(tool)).map(|tool| tool.name.clone());
        let names = names.take(MAX_TOOLS).collect();
        *lock(&self.0) = Some(names);
    }

    pub(crate) fn has(&self, tool: &str) -> bool {
        lock(&self.0).as_ref().is_some_and(|names| names.contains(tool))
    }

    /// Whether there was a listing at all.
    #[cfg(feature = "host")]
    pub(crate) fn is_known(&self) -> bool {
        lock(&self.0).is_some()
    }
}

impl ClientBuilder {
    /// How often a request is sent again that did not reach the server, or whose answer did not come back although the
    /// connection goes on. Default: 2, after 100 ms and then 200 ms, a random part less, as far as the call's time allows.
    ///
    /// That happens on transports that carry each request by itself. A request that may have been carried out is sent again only
    /// if that does no harm: if its method can be repeated, and for a tool if its annotations say `readOnlyHint` or
    /// `idempotentHint`, as it was listed last or as the [`RemoteTool`](super::RemoteTool) knows it. Any other is
    /// [`Error::OutcomeUnknown`] at once.
    #[must_use]
    pub fn max_resends(mut self, times: u32) -> Self {
        self.max_resends = times;
        self
    }
}
