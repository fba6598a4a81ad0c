//! [`AuditLog`]: intents before, outcomes after.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::builder::{AuditLogBuilder, Fsync, OnFailure};
use super::file::{Aside, AuditFile};
use super::intent::{Ended, Intent, Kind, Outcome};
use super::line::{Header, Line, Now};
use super::redact::{Pass, Redaction};
use super::sink::AuditSink;
use super::syncer::Syncer;
use super::trouble::{AuditTrouble, Health};
use crate::error::{Error, Result};
use crate::sync::{Mutex, lock};

/// So many secrets are hidden by their value.
const MAX_SECRETS: usize = 1024;

/// What was done on behalf of the user: a line before, a line after.
///
/// Clones are the same log. It is closed with the last of them. The guide has [the format](crate::guide::audit).
///
/// ```
/// use tinymcp::host::audit::{AuditLog, Intent, Outcome};
/// use tinymcp::json::Json;
/// use tinymcp::protocol::CallToolResult;
///
/// # let folder = std::env::temp_dir().join(format!("tinymcp-audit-log-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("audit.jsonl");
/// let log = AuditLog::open(&path)?;
/// let arguments = Json::parse(r#"{"title": "Plan", "token": "x"}"#)?;
/// let intent = Intent::call("notes", "create_note").with_arguments(&arguments).with_allowed("rule allow notes/*");
/// let entry = log.intent(&intent)?; // now the call may go out
/// entry.outcome(&Outcome::of_call(&Ok(CallToolResult::text("done"))));
///
/// let account = AuditLog::read(&path)?.explain().next().expect("one call")?;
/// assert_eq!(account.target(), Some("create_note"));
/// assert_eq!(account.intent().unwrap().json("arguments").unwrap().as_str(), r#"{"title":"Plan","token":"[redacted]"}"#);
/// # drop(log);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct AuditLog(Arc<Open>);

/// Owner of the thread, if there is one. That ends first, in the order of these, so that it still finds the file.
struct Open {
    syncer: Option<Syncer>,
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    place: Place,
    health: Health,
    settings: Settings,
    begun: Instant,
    /// How many ids were given out.
    entries: AtomicU64,
    /// What is hidden by value. Bound: [`MAX_SECRETS`]. Locked to copy the pointer.
    secrets: Mutex<Arc<Vec<String>>>,
    header: Header,
}

pub(super) enum Place {
    File(AuditFile),
    Sink(Box<dyn AuditSink>),
}

pub(super) struct Settings {
    pub(super) redaction: Redaction,
    pub(super) on_failure: OnFailure,
    pub(super) value_bytes: usize,
    pub(super) fsync: Fsync,
    pub(super) program: String,
}

/// A line that was not kept; whether it is written all the same.
struct NotKept {
    error: io::Error,
    is_written: bool,
}

impl AuditLog {
    /// To set up a log.
    #[must_use]
    pub fn builder() -> AuditLogBuilder {
        AuditLogBuilder::default()
    }

    /// Goes on with a file, or begins one, with defaults.
    ///
    /// # Errors
    /// As [`AuditLogBuilder::open`].
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::builder().open(path)
    }

    /// Begins a new file, with defaults.
    ///
    /// # Errors
    /// As [`AuditLogBuilder::create`].
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::builder().create(path)
    }

    pub(super) fn start(place: Place, health: Health, mut settings: Settings) -> io::Result<Self> {
        let fsync = settings.fsync;
        let header = Header { run: new_run(), program: std::mem::take(&mut settings.program) };
        let shared = Arc::new(Shared {
            place,
            health,
            settings,
            begun: Instant::now(),
            entries: AtomicU64::new(0),
            secrets: Mutex::default(),
            header,
        });
        let syncer = match fsync {
            Fsync::Every(time) => Some(Syncer::start(&shared, time)?),
            Fsync::Never | Fsync::EachLine => None,
        };
        let log = Self(Arc::new(Open { syncer, shared }));
        log.begin();
        Ok(log)
    }

    /// Writes the header. A file that does not take it gets it with its first line.
    fn begin(&self) {
        let shared = &self.0.shared;
        let header = match &shared.place {
            Place::File(_) => String::new(),
            Place::Sink(_) => shared.header(false, false),
        };
        // What comes of it is told by the log's health.
        let _ = self.put(&header, false);
    }

    /// Writes what is about to be done. When this returns, the line is written, as far as the policy asks.
    ///
    /// # Errors
    /// [`Error::Denied`] when it cannot be written and the log is one that [denies](OnFailure::Deny) then.
    pub fn intent(&self, intent: &Intent<'_>) -> Result<Entry> {
        let shared = &self.0.shared;
        let number = shared.entries.fetch_add(1, Relaxed) + 1;
        let line = shared.line("intent", |line| {
            line.word("id", &shared.id(number));
            line.intent(intent, shared.settings.value_bytes);
        });
        let mut entry =
            Entry { log: self.clone(), number, begun: Instant::now(), lost: None, is_done: false };
        let is_denied = shared.settings.on_failure == OnFailure::Deny;
        if let Err(not) = self.put(&line, is_denied) {
            if is_denied {
                entry.is_done = true;
                let error = denied(&not);
                if not.is_written {
                    // It stands there, so that it must not read as one of which nothing is known.
                    self.put_outcome(&entry, &Outcome::failed(&error));
                }
                return Err(error);
            }
            if !not.is_written {
                let owned = |text: Option<&str>| text.map(str::to_owned);
                entry.lost = Some((intent.kind, owned(intent.server), owned(intent.target)));
            }
        }
        Ok(entry)
    }

    /// Writes what has happened, and has no outcome: a change of state.
    ///
    /// # Errors
    /// As [`intent`](Self::intent).
    pub fn event(&self, event: &Intent<'_>) -> Result<()> {
        let shared = &self.0.shared;
        let line = shared.line("event", |line| line.intent(event, shared.settings.value_bytes));
        let is_denied = shared.settings.on_failure == OnFailure::Deny;
        match self.put(&line, is_denied) {
            Err(not) if is_denied => Err(denied(&not)),
            _ => Ok(()),
        }
    }

    /// From now on hides this text wherever it occurs, for example a secret that a server was started with. A text of less than
    /// four bytes is hidden where it is the whole of a string. At most 1,024 are kept.
    ///
    /// # Errors
    /// [`Error::Busy`] when there are so many already.
    pub fn hide(&self, secret: &str) -> Result<()> {
        let mut secrets = lock(&self.0.shared.secrets);
        if secret.is_empty() || secrets.iter().any(|known| known == secret) {
            return Ok(());
        }
        if secrets.len() >= MAX_SECRETS {
            return Err(Error::Busy(format!("{MAX_SECRETS} secrets are hidden from the audit log already")));
        }
        let mut more = secrets.to_vec();
        more.push(secret.to_owned());
        *secrets = Arc::new(more);
        Ok(())
    }

    /// How many lines could not be written, or brought to the disk, since the log was opened.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.0.shared.health.failures()
    }

    fn put_outcome(&self, entry: &Entry, outcome: &Outcome<'_>) {
        let shared = &self.0.shared;
        let line = shared.line("outcome", |line| {
            line.word("id", &shared.id(entry.number));
            if let Some((kind, server, target)) = &entry.lost {
                // There is no intent that tells.
                line.about(*kind, server.as_deref(), target.as_deref());
                line.flag("intent_lost", true);
            }
            line.outcome(outcome, entry.begun.elapsed(), shared.settings.value_bytes);
        });
        // Too late to deny anything; it is counted and told.
        let _ = self.put(&line, false);
    }

    /// Writes a line, after one that tells how many were lost before it. `is_denied`: what it tells of is not done without it.
    fn put(&self, line: &str, is_denied: bool) -> Result<(), NotKept> {
        let shared = &self.0.shared;
        if let Err(error) = shared.tell_lost().and_then(|()| shared.append(line)) {
            shared.health.lost(&error, is_denied);
            return Err(NotKept { error, is_written: false });
        }
        let not_synced = |error: io::Error| NotKept { error, is_written: true };
        match shared.settings.fsync {
            Fsync::EachLine => shared.sync().map_err(not_synced),
            Fsync::Every(_) => {
                if let Some(syncer) = &self.0.syncer {
                    syncer.wake();
                }
                // The last time it failed: whether it still does must be known before anything else is done.
                if shared.health.is_unsynced() { shared.sync().map_err(not_synced) } else { Ok(()) }
            }
            Fsync::Never => Ok(()),
        }
    }
}

impl Shared {
    /// A line of this kind, without what is hidden.
    fn line(&self, kind: &str, fill: impl FnOnce(&mut Line<'_>)) -> String {
        let secrets = Arc::clone(&lock(&self.secrets));
        let pass = Pass { rules: &self.settings.redaction, values: &secrets };
        let mut line = Line::new(kind, self.now(), &pass);
        fill(&mut line);
        line.end()
    }

    fn header(&self, is_rotated: bool, repaired: bool) -> String {
        let pass = Pass { rules: &self.settings.redaction, values: &[] };
        self.header.line(self.now(), is_rotated, repaired, &pass)
    }

    fn now(&self) -> Now {
        Now { wall: SystemTime::now(), since: self.begun.elapsed() }
    }

    fn id(&self, number: u64) -> String {
        format!("{}-{number}", self.header.run)
    }

    fn append(&self, line: &str) -> io::Result<()> {
        match &self.place {
            Place::Sink(sink) => sink.write_line(line),
            Place::File(file) => {
                let (result, aside) =
                    file.append(line, |before| self.header(before.is_rotated, before.repaired));
                match aside {
                    Some(Aside::NotRotated(error)) => {
                        self.health.tell(&AuditTrouble::NotRotated { error: &error });
                    }
                    Some(Aside::Moved(error)) => {
                        self.health.tell(&AuditTrouble::Moved { error: error.as_ref() });
                    }
                    None => {}
                }
                result
            }
        }
    }

    fn tell_lost(&self) -> io::Result<()> {
        let Some(lost) = self.health.take_lost() else { return Ok(()) };
        let line = self.line("lost", |line| {
            line.number("lines", lost.0);
            line.number("denied", lost.1);
        });
        match self.append(&line) {
            Ok(()) => self.health.recovered(lost.0),
            Err(e) => {
                self.health.give_back(lost);
                return Err(e);
            }
        }
        Ok(())
    }

    /// Brings what was written to the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        let result = match &self.place {
            Place::Sink(sink) => sink.sync(),
            Place::File(file) => file.sync(),
        };
        match &result {
            Ok(()) => self.health.synced(),
            Err(e) => self.health.unsynced(e),
        }
        result
    }
}

impl Drop for Open {
    /// The thread, if there is one, brings the last lines to the disk after this.
    fn drop(&mut self) {
        if let Err(e) = self.shared.tell_lost() {
            log::error!("the audit log was closed without having told of all lost lines: {e}");
        }
    }
}

fn denied(not: &NotKept) -> Error {
    Error::Denied(format!("the audit log cannot be written: {}", not.error))
}

/// Tells this log's ids from those of others: when it was opened, and by which process, and which of its logs it is.
fn new_run() -> String {
    static LOGS: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let log = LOGS.fetch_add(1, Relaxed);
    format!("{:x}-{:x}-{log:x}", since.as_millis(), std::process::id())
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AuditLog {}", self.0.shared.header.run)
    }
}

/// An intent that is written, and whose outcome is still to come.
///
/// One that is dropped without [`outcome`](Self::outcome) reads as unknown.
#[must_use = "what came of it is to be written as well"]
pub struct Entry {
    log: AuditLog,
    number: u64,
    begun: Instant,
    /// What the intent was about, if its line was lost.
    lost: Option<(Kind, Option<String>, Option<String>)>,
    is_done: bool,
}

impl Entry {
    /// What the lines of the intent and of its outcome have in common.
    #[must_use]
    pub fn id(&self) -> String {
        self.log.0.shared.id(self.number)
    }

    /// Writes what came of it. When that fails it is counted and told, as it is too late to deny anything.
    pub fn outcome(mut self, outcome: &Outcome<'_>) {
        self.is_done = true;
        self.log.put_outcome(&self, outcome);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.is_done {
            self.log
                .put_outcome(self, &Outcome::new(Ended::Unknown).with_detail("dropped without an outcome"));
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry {}", self.id())
    }
}
