//! [`Grants`]: what the user agreed to before, kept and taken back.
//!
//! **Invariants:** a grant is for one server as it was configured, and for what was shown; what was taken back is not found again, also
//! if another process had read it or the disk fails; taking back ends what is under way by it, and what is just being decided.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use super::asking::Answer;
use super::meant::Meant;
use super::permit::Running;
use super::question::QuestionKind;
use super::store::Store;
use super::subject::Subject;
use crate::sync::{Mutex, lock};

/// More are not kept.
pub(super) const MAX_GRANTS: usize = 10_000;

/// A definition longer than this is not kept, in bytes: the user is asked each time.
const MAX_BYTES: usize = 256 * 1024;

/// Something the user agreed to, for more than once.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grant {
    /// What was asked.
    pub kind: QuestionKind,
    /// The server.
    pub server: String,
    /// The tool, for a call.
    pub tool: Option<String>,
    /// Whether it outlives this process.
    pub is_kept: bool,
    /// When, in seconds since 1970.
    pub since: u64,
    /// How the server was configured, as canonical JSON.
    pub(super) configured: String,
    /// What was agreed to: the tool's definition or the server's entry, as canonical JSON.
    pub(super) bound_to: String,
}

impl Grant {
    /// What the user agreed to, as canonical JSON: the definition of the tool, or the entry of the server without its secrets. Empty
    /// for what a server asks.
    #[must_use]
    pub fn agreed_to(&self) -> &str {
        &self.bound_to
    }

    pub(super) fn is_same_place(&self, other: &Self) -> bool {
        (self.kind, &self.server, &self.tool, &self.configured)
            == (other.kind, &other.server, &other.tool, &other.configured)
    }
}

/// Something the user said no to, for as long as this process lives.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// What was asked.
    pub kind: QuestionKind,
    /// The server.
    pub server: String,
    /// The tool, for a call.
    pub tool: Option<String>,
}

/// What is known of a subject.
pub(super) enum Known {
    /// The user does not want to be asked about it.
    Refused,
    /// The user agreed to it; how.
    Granted(&'static str),
    /// The user agreed to something else under this name.
    Changed(Before),
    Nothing,
}

/// What the user agreed to before.
pub(super) struct Before {
    pub(super) configured: String,
    pub(super) bound_to: String,
}

/// What the user agreed to before. A clone is another handle to the same: keep one, to show what was granted and to take it back.
///
/// ```no_run
/// use tinymcp::host::consent::Grants;
/// use tinymcp::host::Host;
///
/// let grants = Grants::open("/home/me/.config/agent/grants.json")?;
/// let host = Host::builder().grants(&grants).start()?;
/// for grant in grants.list()? {
///     println!("{} {} {:?}", grant.kind, grant.server, grant.tool);
/// }
/// grants.revoke_tool("files", "delete_file")?; // ends a call of it that is under way, too
/// # drop(host);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Grants(Arc<Shared>);

#[derive(Default)]
struct Shared {
    store: Option<Store>,
    /// Locked for a look or a change.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Bound: [`MAX_GRANTS`].
    session: Vec<Grant>,
    /// Bound: [`MAX_GRANTS`], then the oldest is asked about again.
    refused: Vec<Refusal>,
    /// What was taken back, with the time of that, and could not be taken out of the file. Bound: [`Meant::add_to`].
    unwritten: Vec<(Meant, u64)>,
    /// What is under way. Bound: the calls that are; each is forgotten with its permit.
    running: Vec<Weak<Running>>,
}

impl Grants {
    /// For this process alone: what is granted for always lasts as long as it does.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps in `path` what is granted for always; a file that is not there yet is made when it is needed, and its folder too, for its
    /// owner alone. Several processes may use one: each reads it anew when it has changed.
    ///
    /// # Errors
    /// When it cannot be read, or is no such file: nothing is taken from it then.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let store = Store::open(path.as_ref())?;
        Ok(Self(Arc::new(Shared { store: Some(store), state: Mutex::default() })))
    }

    /// The file, if there is one.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        self.0.store.as_ref().map(|store| store.path().to_owned())
    }

    /// Everything that is granted now, but for single calls.
    ///
    /// # Errors
    /// When the file cannot be read, or has become something else: nothing is granted by it then.
    pub fn list(&self) -> io::Result<Vec<Grant>> {
        let mut all = self.kept(|_| true)?;
        all.extend(lock(&self.0.state).session.iter().cloned());
        Ok(all)
    }

    /// What the user does not want to be asked about again, in the life of this process.
    #[must_use]
    pub fn refusals(&self) -> Vec<Refusal> {
        lock(&self.0.state).refused.clone()
    }

    /// Lets the user be asked about it again. Returns whether it was refused.
    pub fn lift(&self, refusal: &Refusal) -> bool {
        let mut state = lock(&self.0.state);
        let before = state.refused.len();
        state.refused.retain(|refused| refused != refusal);
        state.refused.len() < before
    }

    /// Those of the file that are meant, but for those that were taken back.
    fn kept(&self, is_meant: impl Fn(&Grant) -> bool) -> io::Result<Vec<Grant>> {
        let Some(store) = &self.0.store else { return Ok(Vec::new()) };
        let grants = store.grants()?;
        let state = lock(&self.0.state);
        let is_back = |grant: &Grant| state.unwritten.iter().any(|(meant, at)| meant.undoes(grant, *at));
        Ok(grants.iter().filter(|grant| is_meant(grant) && !is_back(grant)).cloned().collect())
    }

    /// Takes out of the file what is meant, and what could not be taken out before, and adds `grant`. Returns how many were meant.
    fn change(&self, store: &Store, meant: Option<&Meant>, grant: Option<&Grant>) -> io::Result<usize> {
        let unwritten = lock(&self.0.state).unwritten.clone();
        let mut found = 0;
        store.change(|grants| {
            let before = grants.len();
            grants.retain(|grant| !meant.is_some_and(|meant| meant.is(grant)));
            found = before - grants.len();
            grants.retain(|grant| !unwritten.iter().any(|(meant, at)| meant.undoes(grant, *at)));
            let is_less = grants.len() < before;
            grant.map_or(Ok(()), |grant| put(grants, grant.clone()))?;
            Ok(is_less || grant.is_some())
        })?;
        lock(&self.0.state).unwritten.retain(|back| !unwritten.contains(back));
        Ok(found)
    }

    /// Takes one back, and ends calls of that tool that are under way, however they were allowed: their callers get
    /// [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown). A question about it that is just being asked is withdrawn. Returns how
    /// many grants and calls that were.
    ///
    /// # Errors
    /// When the file cannot be written: for this process it is taken back all the same. Others learn of it from the file alone.
    pub fn revoke(&self, grant: &Grant) -> io::Result<usize> {
        self.take_back(Meant::Grant(Box::new(grant.clone())))
    }

    /// The same for everything that was granted for a tool.
    ///
    /// # Errors
    /// As [`revoke`](Self::revoke).
    pub fn revoke_tool(&self, server: &str, tool: &str) -> io::Result<usize> {
        self.take_back(Meant::Tool(server.to_owned(), tool.to_owned()))
    }

    /// The same for everything of a server: its tools, its start, what it asks. A server that runs goes on.
    ///
    /// # Errors
    /// As [`revoke`](Self::revoke).
    pub fn revoke_server(&self, server: &str) -> io::Result<usize> {
        self.take_back(Meant::Server(server.to_owned()))
    }

    /// The same for everything.
    ///
    /// # Errors
    /// As [`revoke`](Self::revoke).
    pub fn revoke_all(&self) -> io::Result<usize> {
        self.take_back(Meant::All)
    }

    fn take_back(&self, meant: Meant) -> io::Result<usize> {
        // Before what runs is ended: nothing may begin again by it. The file first, as what begins is noted before it is looked up.
        let written = match &self.0.store {
            Some(store) => self.change(store, Some(&meant), None),
            None => Ok(0),
        };
        let (ended, forgotten) = {
            let mut state = lock(&self.0.state);
            let before = state.session.len();
            state.session.retain(|grant| !meant.is(grant));
            if written.is_err() {
                meant.clone().add_to(&mut state.unwritten, now());
            }
            let running: Vec<_> = state.running.iter().filter_map(Weak::upgrade).collect();
            (running, before - state.session.len())
        };
        let ended: Vec<_> = ended.into_iter().filter(|running| meant.is_running(running)).collect();
        for running in &ended {
            running.revoked.cancel("consent was taken back");
        }
        written.map(|kept| kept + forgotten + ended.len())
    }

    /// What is known of `subject`, and what is wrong with the file, by which nothing is granted then.
    pub(super) fn find(&self, subject: &Subject<'_>) -> (Known, Option<io::Error>) {
        let tool = subject.tool().map(|tool| tool.name.as_str());
        let (kind, server) = (subject.kind(), subject.server());
        let is_about =
            |of: QuestionKind, on: &str, name: Option<&str>| of == kind && on == server && name == tool;
        let is_meant = |grant: &Grant| is_about(grant.kind, &grant.server, grant.tool.as_deref());
        let mut about: Vec<_> = {
            let state = lock(&self.0.state);
            if state.refused.iter().any(|no| is_about(no.kind, &no.server, no.tool.as_deref())) {
                return (Known::Refused, None);
            }
            state.session.iter().filter(|grant| is_meant(grant)).cloned().collect()
        };
        let problem = self.kept(is_meant).map(|kept| about.extend(kept)).err();
        let (configured, bound_to) = (subject.configured(), subject.bound_to());
        let mut before: Option<&Grant> = None;
        for grant in &about {
            let is_here = grant.configured == configured;
            if is_here && grant.bound_to == bound_to {
                let how = if grant.is_kept {
                    "the user said yes, always"
                } else {
                    "the user said yes, for the session"
                };
                return (Known::Granted(how), problem);
            }
            // Best is what was agreed to of this very server, then what was last.
            let rank = |grant: &Grant| (grant.configured == configured, grant.since);
            before = before.filter(|before| rank(before) >= rank(grant)).or(Some(grant));
        }
        let known = before.map_or(Known::Nothing, |grant| {
            Known::Changed(Before { configured: grant.configured.clone(), bound_to: grant.bound_to.clone() })
        });
        (known, problem)
    }

    /// Remembers an answer that is for more than once. What cannot be kept in the file is remembered for the session.
    ///
    /// # Errors
    /// When it cannot be kept.
    pub(super) fn remember(&self, subject: &Subject<'_>, answer: Answer) -> io::Result<()> {
        let (kind, server) = (subject.kind(), subject.server().to_owned());
        let tool = subject.tool().map(|tool| tool.name.clone());
        if answer == Answer::NoSession {
            let refusal = Refusal { kind, server, tool };
            let mut state = lock(&self.0.state);
            if state.refused.len() >= MAX_GRANTS {
                state.refused.remove(0);
            }
            state.refused.push(refusal);
            return Ok(());
        }
        let bound_to = subject.bound_to();
        if bound_to.len() > MAX_BYTES {
            let problem =
                format!("its definition has {} bytes, at most {MAX_BYTES} are kept", bound_to.len());
            return Err(io::Error::other(problem));
        }
        let configured = subject.configured();
        let mut grant = Grant { kind, server, tool, is_kept: false, since: now(), configured, bound_to };
        let mut kept = Ok(());
        if let Some(store) = self.0.store.as_ref().filter(|_| answer == Answer::Always) {
            grant.is_kept = true;
            kept = self.change(store, None, Some(&grant)).map(drop);
            if kept.is_ok() {
                // What is kept counts from now on, not what was said before.
                lock(&self.0.state).session.retain(|old| !old.is_same_place(&grant));
                return Ok(());
            }
            grant.is_kept = false;
        }
        put(&mut lock(&self.0.state).session, grant)?;
        kept
    }

    /// Notes what is to be decided about, so that it can be ended for as long as it is held.
    pub(super) fn begin(&self, subject: &Subject<'_>) -> Arc<Running> {
        let running = Arc::new(Running::new(subject));
        let mut state = lock(&self.0.state);
        if state.running.len() == state.running.capacity() {
            state.running.retain(|running| running.strong_count() > 0);
        }
        state.running.push(Arc::downgrade(&running));
        running
    }
}

/// In the place of one that was for the same.
fn put(grants: &mut Vec<Grant>, grant: Grant) -> io::Result<()> {
    grants.retain(|old| !old.is_same_place(&grant));
    if grants.len() >= MAX_GRANTS {
        return Err(io::Error::other(format!("{MAX_GRANTS} grants are kept already")));
    }
    grants.push(grant);
    Ok(())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grants").field("path", &self.path()).finish_non_exhaustive()
    }
}
