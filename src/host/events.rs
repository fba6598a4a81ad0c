//! [`HostEvents`]: what happens to the servers of a host, one thing after the other.
//!
//! **Invariants:** telling never waits; who does not take what was told loses the oldest of it, and is told so.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::client::ServerIdentity;
use crate::sync::Deadline;

/// So many events wait for one who listens.
const MAX_WAITING: usize = 1_024;

/// So many bytes of text they may have: an event can name thousands of tools.
const MAX_WAITING_BYTES: usize = 4 * 1024 * 1024;

/// What a server is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerState {
    /// It is not to be started: its entry says `disabled`.
    Disabled,
    /// It waits for its turn, or for the user's consent to start.
    Waiting,
    /// It is being started, or started again.
    Starting,
    /// Its tools can be called.
    Ready,
    /// It has ended by itself. It is started again by the next call, or at once, as the host was told.
    Ended(String),
    /// It could not be started, and why.
    Failed(String),
    /// The host has ended it.
    Stopped,
}

impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disabled => f.write_str("disabled"),
            Self::Waiting => f.write_str("waiting"),
            Self::Starting => f.write_str("starting"),
            Self::Ready => f.write_str("ready"),
            Self::Ended(why) => write!(f, "ended: {why}"),
            Self::Failed(why) => write!(f, "failed: {why}"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

/// Something that has happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HostEvent {
    /// A server does something else now.
    State {
        /// The server.
        server: Arc<str>,
        /// What it does now.
        state: ServerState,
    },
    /// Tools have come, gone, or changed what they say of themselves. By the names that are called.
    Tools {
        /// The server.
        server: Arc<str>,
        /// New ones.
        added: Vec<String>,
        /// Those there are no more.
        removed: Vec<String>,
        /// Those that are described in another way than before. Consent to them is asked for again.
        changed: Vec<String>,
    },
    /// A tool is not offered, as its name is taken or its definition cannot be used.
    ToolRefused {
        /// The server.
        server: Arc<str>,
        /// The tool, as its server calls it.
        tool: String,
        /// What is wrong.
        problem: String,
    },
    /// After a restart a server says that it is another one, or of another version, than before.
    Identity {
        /// The server.
        server: Arc<str>,
        /// What it said.
        before: Arc<ServerIdentity>,
        /// What it says.
        after: Arc<ServerIdentity>,
    },
    /// A server does what it should not: what it was refused, or what was made harmless. The host goes on.
    Trouble {
        /// The server.
        server: Arc<str>,
        /// What it did.
        problem: String,
    },
    /// Something of the host itself does not work, such as the audit log.
    Host(String),
    /// So many events were not taken in time, and are lost.
    Missed(u64),
}

impl fmt::Display for HostEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::State { server, state } => write!(f, "{server}: {state}"),
            Self::Tools { server, added, removed, changed } => {
                write!(f, "{server}: tools")?;
                for (what, names) in [("new", added), ("gone", removed), ("changed", changed)] {
                    if !names.is_empty() {
                        write!(f, ", {what}: {}", names.join(" "))?;
                    }
                }
                Ok(())
            }
            Self::ToolRefused { server, tool, problem } => {
                write!(f, "{server}: tool {tool:?} is not offered: {problem}")
            }
            Self::Identity { server, before, after } => {
                write!(f, "{server}: was {}, is {}", named(before), named(after))
            }
            Self::Trouble { server, problem } => write!(f, "{server}: {problem}"),
            Self::Host(problem) => f.write_str(problem),
            Self::Missed(count) => write!(f, "{count} events were not taken in time"),
        }
    }
}

/// Name and version, as far as it tells.
fn named(identity: &ServerIdentity) -> String {
    match &identity.info {
        Some(info) => format!("{:?} {:?}", info.name, info.version),
        None => "nameless".to_owned(),
    }
}

/// Poisoned locks are entered: every critical section is a single operation.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who listens. Owner: the host. Bound: those that are held; each keeps [`MAX_WAITING`].
#[derive(Default)]
pub(super) struct Bulletin(Mutex<Told>);

#[derive(Default)]
struct Told {
    listeners: Vec<Weak<Listener>>,
    is_over: bool,
}

#[derive(Default)]
struct Listener {
    waiting: Mutex<Waiting>,
    news: Condvar,
}

#[derive(Default)]
struct Waiting {
    events: VecDeque<HostEvent>,
    bytes: usize,
    missed: u64,
    is_over: bool,
}

impl Bulletin {
    /// Tells everybody who listens, and the log.
    pub(super) fn tell(&self, event: &HostEvent) {
        match event {
            HostEvent::State { state: ServerState::Failed(_), .. }
            | HostEvent::ToolRefused { .. }
            | HostEvent::Trouble { .. }
            | HostEvent::Host(_) => log::warn!("{event}"),
            _ => log::debug!("{event}"),
        }
        for listener in self.listeners() {
            listener.push(event.clone());
        }
    }

    /// From now on.
    pub(super) fn listen(&self) -> HostEvents {
        let listener = Arc::new(Listener::default());
        let mut told = lock(&self.0);
        told.listeners.retain(|listener| listener.strong_count() > 0);
        told.listeners.push(Arc::downgrade(&listener));
        lock(&listener.waiting).is_over = told.is_over;
        HostEvents(listener)
    }

    /// There will be no more.
    pub(super) fn end(&self) {
        lock(&self.0).is_over = true;
        for listener in self.listeners() {
            lock(&listener.waiting).is_over = true;
            listener.news.notify_all();
        }
    }

    fn listeners(&self) -> Vec<Arc<Listener>> {
        lock(&self.0).listeners.iter().filter_map(Weak::upgrade).collect()
    }
}

impl Waiting {
    fn take(&mut self) -> Option<HostEvent> {
        let event = self.events.pop_front()?;
        self.bytes -= bytes(&event);
        Some(event)
    }
}

/// How much text an event has, about.
fn bytes(event: &HostEvent) -> usize {
    let all = |names: &[String]| names.iter().map(String::len).sum::<usize>();
    match event {
        HostEvent::State { state: ServerState::Ended(text) | ServerState::Failed(text), .. } => text.len(),
        HostEvent::Tools { added, removed, changed, .. } => all(added) + all(removed) + all(changed),
        HostEvent::ToolRefused { tool, problem, .. } => tool.len() + problem.len(),
        HostEvent::Trouble { problem, .. } | HostEvent::Host(problem) => problem.len(),
        HostEvent::State { .. } | HostEvent::Identity { .. } | HostEvent::Missed(_) => 0,
    }
}

impl Listener {
    fn push(&self, event: HostEvent) {
        let mut waiting = lock(&self.waiting);
        waiting.bytes += bytes(&event);
        waiting.events.push_back(event);
        while waiting.events.len() > MAX_WAITING
            || (waiting.bytes > MAX_WAITING_BYTES && waiting.events.len() > 1)
        {
            waiting.take();
            waiting.missed += 1;
        }
        self.news.notify_one();
    }

    fn next(&self, deadline: Deadline) -> Option<HostEvent> {
        let mut waiting = lock(&self.waiting);
        loop {
            if waiting.missed > 0 {
                return Some(HostEvent::Missed(std::mem::take(&mut waiting.missed)));
            }
            if let Some(event) = waiting.take() {
                return Some(event);
            }
            if waiting.is_over || deadline.has_passed() {
                return None;
            }
            waiting = match deadline.remaining() {
                Some(left) => self.news.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.news.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

/// What happens to the servers of a host from the moment it is asked for: what [`HostHandle::watch`](super::HostHandle::watch)
/// returns.
///
/// An iterator whose [`next`](Iterator::next) waits, and which ends when the host is closed and all was taken. 1,024 events
/// wait for who is slow; then the oldest are lost, which [`HostEvent::Missed`] tells.
pub struct HostEvents(Arc<Listener>);

impl HostEvents {
    /// The next event, if there is one within `time`; `None` as well if there will be no more.
    #[must_use = "an event is told once"]
    pub fn next_timeout(&self, time: Duration) -> Option<HostEvent> {
        self.0.next(Deadline::after(Some(time)))
    }

    /// The next event, if there is one now.
    #[must_use = "an event is told once"]
    pub fn try_next(&self) -> Option<HostEvent> {
        self.next_timeout(Duration::ZERO)
    }
}

impl Iterator for HostEvents {
    type Item = HostEvent;
    fn next(&mut self) -> Option<HostEvent> {
        self.0.next(Deadline::after(None))
    }
}

impl fmt::Debug for HostEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostEvents").field("waiting", &lock(&self.0.waiting).events.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> HostEvent {
        HostEvent::Host(text.to_owned())
    }

    #[test]
    fn who_is_slow_is_told_how_much_was_missed() {
        let bulletin = Bulletin::default();
        bulletin.tell(&host("before"));
        let events = bulletin.listen();
        assert!(events.try_next().is_none());
        for i in 0..MAX_WAITING + 3 {
            bulletin.tell(&host(&i.to_string()));
        }
        bulletin.end();
        let told: Vec<_> = events.map(|event| event.to_string()).collect();
        assert_eq!(told.len(), MAX_WAITING + 1);
        assert_eq!(told[..2], ["3 events were not taken in time", "3"]);
        assert!(bulletin.listen().next().is_none());
    }

    #[test]
    fn large_events_are_fewer() {
        let bulletin = Bulletin::default();
        let events = bulletin.listen();
        let names = |count: usize| vec!["n".repeat(64); count];
        let tools = |count| HostEvent::Tools {
            server: "s".into(),
            added: names(count),
            removed: Vec::new(),
            changed: Vec::new(),
        };
        for _ in 0..100 {
            bulletin.tell(&tools(10_000));
        }
        assert_eq!(lock(&events.0.waiting).events.len(), MAX_WAITING_BYTES / 640_000);
        // One that is larger than all is told all the same.
        bulletin.tell(&tools(100_000));
        assert!(matches!(events.try_next(), Some(HostEvent::Missed(100))));
        assert!(matches!(events.try_next(), Some(HostEvent::Tools { .. })));
        assert_eq!(lock(&events.0.waiting).bytes, 0);
    }

    #[test]
    fn who_waits_is_woken() {
        let bulletin = Arc::new(Bulletin::default());
        let mut events = bulletin.listen();
        let waiting =
            std::thread::spawn(move || (events.next().map(|e| e.to_string()), events.next().is_none()));
        bulletin.tell(&host("news"));
        bulletin.end();
        assert_eq!(waiting.join().expect("no panic"), (Some("news".to_owned()), true));
    }
}
