//! [`Grants`]: what the user agreed to before, kept and taken back.
//!
//! **Invariants:** a grant is for one server as it was configured, and for what was shown; what was taken back is not found again, also
//! if another process had read it; taking back ends what is under way by it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use super::asking::Answer;
use super::permit::{Permit, Running};
use super::question::QuestionKind;
use super::store::Store;
use super::subject::Subject;
use crate::sync::{Mutex, lock};

/// More are not kept.
pub(super) const MAX_GRANTS: usize = 10_000;

/// A definition longer than this is not kept, in bytes: the user is asked each time.
const MAX_BYTES: usize = 256 * 1024;

/// Something the user agreed to.
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
    /// Whether it is about the same, as it was or as it is now.
    fn is_about(&self, subject: &Subject<'_>) -> bool {
        self.kind == subject.kind()
            && self.server == subject.server()
            && self.tool.as_deref() == subject.tool().map(|tool| tool.name.as_str())
            && self.configured == subject.configured()
    }

    pub(super) fn is_same_place(&self, other: &Self) -> bool {
        (self.kind, &self.server, &self.tool, &self.configured)
            == (other.kind, &other.server, &other.tool, &other.configured)
    }
}

/// What is known of a subject.
pub(super) enum Known {
    /// The user agreed to it; how.
    Granted(String),
    /// The user agreed to something else: this.
    Changed(String),
    Nothing,
}

/// What the user agreed to before. A clone is another handle to the same: keep one, to show what was granted and to take it back.
///
/// ```no_run
/// use tinymcp::host::consent::Grants;
/// use tinymcp::host::Host;
///
/// let grants = Grants::open("/home/me/.config/agent/grants.json")?;
/// let host = Host::builder().grants(&grants).start()?;
/// for grant in grants.list() {
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
    session: Vec<Grant>,
    /// What is under way. Bound: the calls that are; each is forgotten with its permit.
    running: Vec<Weak<Running>>,
}

impl Grants {
    /// For this process alone: what is granted for always lasts as long as it does.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps in `path` what is granted for always; a file that is not there yet is made when it is needed, readable by its owner alone.
    /// Several processes may use one.
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
    #[must_use]
    pub fn list(&self) -> Vec<Grant> {
        let mut all = self.kept();
        all.extend(lock(&self.0.state).session.iter().cloned());
        all
    }

    fn kept(&self) -> Vec<Grant> {
        self.0.store.as_ref().map(Store::grants).unwrap_or_default()
    }

    /// Takes back what was granted for a tool, and ends calls of it that are under way, however they were allowed. Their callers get
    /// [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown). Returns how many grants and calls that were.
    ///
    /// # Errors
    /// When the file cannot be written: for this process it is taken back all the same.
    pub fn revoke_tool(&self, server: &str, tool: &str) -> io::Result<usize> {
        self.revoke(&|on, of| on == server && of == Some(tool))
    }

    /// The same for everything of a server: its tools, its start, what it asks.
    ///
    /// # Errors
    /// As [`revoke_tool`](Self::revoke_tool).
    pub fn revoke_server(&self, server: &str) -> io::Result<usize> {
        self.revoke(&|on, _| on == server)
    }

    /// The same for everything.
    ///
    /// # Errors
    /// As [`revoke_tool`](Self::revoke_tool).
    pub fn revoke_all(&self) -> io::Result<usize> {
        self.revoke(&|_, _| true)
    }

    fn revoke(&self, is_meant: &dyn Fn(&str, Option<&str>) -> bool) -> io::Result<usize> {
        let is_grant = |grant: &Grant| is_meant(&grant.server, grant.tool.as_deref());
        // Before what runs is ended: nothing may begin again by it.
        let written = match &self.0.store {
            Some(store) => store.remove(&is_grant),
            None => Ok(0),
        };
        let (ended, forgotten) = {
            let mut state = lock(&self.0.state);
            let before = state.session.len();
            state.session.retain(|grant| !is_grant(grant));
            let running: Vec<_> = state.running.iter().filter_map(Weak::upgrade).collect();
            (running, before - state.session.len())
        };
        let ended: Vec<_> =
            ended.into_iter().filter(|run| is_meant(&run.server, run.tool.as_deref())).collect();
        for run in &ended {
            run.revoked.cancel("consent was taken back");
        }
        written.map(|kept| kept + forgotten + ended.len())
    }

    pub(super) fn find(&self, subject: &Subject<'_>) -> Known {
        let bound_to = subject.bound_to();
        let session = lock(&self.0.state).session.iter().find(|grant| grant.is_about(subject)).cloned();
        let kept = || self.kept().into_iter().find(|grant| grant.is_about(subject));
        let mut changed = None;
        for grant in session.into_iter().chain(std::iter::once_with(kept).flatten()) {
            if grant.bound_to == bound_to {
                let how = if grant.is_kept { "granted for always" } else { "granted for the session" };
                return Known::Granted(how.to_owned());
            }
            changed = Some(grant.bound_to);
        }
        changed.map_or(Known::Nothing, Known::Changed)
    }

    /// # Errors
    /// When it cannot be kept.
    pub(super) fn remember(&self, subject: &Subject<'_>, answer: Answer) -> io::Result<()> {
        let bound_to = subject.bound_to();
        if bound_to.len() > MAX_BYTES {
            let problem =
                format!("its definition has {} bytes, at most {MAX_BYTES} are kept", bound_to.len());
            return Err(io::Error::other(problem));
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let grant = Grant {
            kind: subject.kind(),
            server: subject.server().to_owned(),
            tool: subject.tool().map(|tool| tool.name.clone()),
            is_kept: answer == Answer::Always && self.0.store.is_some(),
            since,
            configured: subject.configured().to_owned(),
            bound_to,
        };
        if let Some(store) = self.0.store.as_ref().filter(|_| grant.is_kept) {
            return store.add(grant);
        }
        let mut state = lock(&self.0.state);
        state.session.retain(|old| !old.is_same_place(&grant));
        if state.session.len() >= MAX_GRANTS {
            return Err(io::Error::other(format!("{MAX_GRANTS} grants are kept already")));
        }
        state.session.push(grant);
        Ok(())
    }

    /// Notes what begins, so that it can be ended.
    pub(super) fn run(&self, subject: &Subject<'_>, reason: String) -> Permit {
        let tool = subject.tool().map(|tool| tool.name.as_str());
        let running = Arc::new(Running::new(subject.server(), tool, reason));
        let mut state = lock(&self.0.state);
        if state.running.len() == state.running.capacity() {
            state.running.retain(|run| run.strong_count() > 0);
        }
        state.running.push(Arc::downgrade(&running));
        drop(state);
        Permit::new(running)
    }
}

impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grants").field("path", &self.path()).finish_non_exhaustive()
    }
}
