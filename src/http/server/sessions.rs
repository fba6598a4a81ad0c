//! [`Sessions`]: the Legacy clients of a server, and the end of those that are heard of no more.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::session::Session;
use crate::sync::Deadline;

/// Every session by its id.
///
/// Owner: the endpoint. Bound: `max`; whoever is idle for longest makes room. End of each: its client's DELETE, `idle` without
/// anything open, or the server's. Thread: `mcp-sessions`, started by the first session, which waits for the next one to
/// expire and ends when it then finds none.
pub(super) struct Sessions {
    max: usize,
    idle: Duration,
    /// Held for a look-up or a sweep.
    table: std::sync::Mutex<Table>,
    /// Signalled at the end.
    wake: Condvar,
}

#[derive(Default)]
struct Table {
    sessions: HashMap<String, Arc<Session>>,
    is_swept: bool,
    is_over: bool,
}

impl Sessions {
    pub(super) fn new(max: usize, idle: Duration) -> Arc<Self> {
        Arc::new(Self { max, idle, table: std::sync::Mutex::default(), wake: Condvar::new() })
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<Session>> {
        self.table().sessions.get(id).cloned()
    }

    /// Adds a session.
    ///
    /// # Errors
    /// With the limit, if there are so many that are all in use; or when the server ends.
    pub(super) fn add(self: &Arc<Self>, session: Arc<Session>) -> Result<(), String> {
        let mut table = self.table();
        if table.is_over {
            return Err("the server is ending".to_owned());
        }
        let mut given_up = None;
        while table.sessions.len() >= self.max {
            let idle = table.sessions.values().filter_map(|session| Some((session.idle_since()?, session)));
            let longest = idle.min_by_key(|(since, _)| *since).map(|(_, session)| Arc::clone(session));
            let longest = longest.ok_or_else(|| format!("server busy: {} sessions are in use", self.max))?;
            // Unless it came into use in this moment.
            if longest.give_up_idle(Duration::ZERO) {
                table.sessions.remove(&longest.id);
                given_up = Some(longest);
            }
        }
        table.sessions.insert(session.id.clone(), session);
        if !table.is_swept {
            let sessions = Arc::clone(self);
            let thread = std::thread::Builder::new().name("mcp-sessions".into());
            table.is_swept = thread.spawn(move || sessions.sweep()).is_ok();
            if !table.is_swept {
                log::warn!("no thread to end idle sessions; the next session tries again");
            }
        }
        drop(table);
        if let Some(session) = given_up {
            log::debug!("session ended to make room, idle for longest");
            session.wind_up("the session has ended");
        }
        Ok(())
    }

    /// Ends a session; `false` if there is none of this id.
    pub(super) fn end(&self, id: &str, reason: &str) -> bool {
        let session = self.table().sessions.remove(id);
        session.map(|session| session.end(reason)).is_some()
    }

    /// Waits for what is to be answered without a thread that serves it.
    pub(super) fn drain(&self, deadline: Deadline) {
        let sessions: Vec<_> = self.table().sessions.values().cloned().collect();
        sessions.iter().for_each(|session| session.line.drain(deadline));
    }

    /// Ends the streams that wait for nothing in particular. What is being served goes on.
    pub(super) fn end_streams(&self) {
        let sessions: Vec<_> = self.table().sessions.values().cloned().collect();
        sessions.iter().for_each(|session| session.standing().end_stream());
    }

    /// Ends all, for good.
    pub(super) fn end_all(&self) {
        let mut table = self.table();
        table.is_over = true;
        let sessions = std::mem::take(&mut table.sessions);
        drop(table);
        self.wake.notify_all();
        for session in sessions.into_values() {
            session.end("the server is ending");
        }
    }

    /// Ends what is idle for too long, until nothing is left.
    fn sweep(&self) {
        let mut table = self.table();
        while !table.sessions.is_empty() {
            let now = Instant::now();
            let all = table.sessions.values();
            let due: Vec<_> = all.filter(|session| session.give_up_idle(self.idle)).cloned().collect();
            if due.is_empty() {
                let first = table.sessions.values().filter_map(|session| session.idle_since()).min();
                // All may be in use: then none can expire before this time has passed.
                let time = self.idle.saturating_sub(now.saturating_duration_since(first.unwrap_or(now)));
                table = self.wake.wait_timeout(table, time).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            due.iter().for_each(|session| drop(table.sessions.remove(&session.id)));
            drop(table);
            for session in due {
                session.wind_up("the session was idle for too long");
            }
            table = self.table();
        }
        table.is_swept = false;
    }

    // Poisoned locks are entered: nothing of somebody else runs inside.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
