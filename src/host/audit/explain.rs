//! [`Explained`]: what was done, each deed with what came of it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;

use super::intent::{Ended, Kind};
use super::read::{AuditLine, AuditReader, LineKind};

/// So many intents may wait for their outcomes; the one that waits for longest reads as unknown then.
const MAX_OPEN: usize = 100_000;

/// What was done, in the order in which it ended; what has no outcome comes when its process is known to have ended.
///
/// Events come as accounts as well. Lines that are damaged, and that tell how many were lost, are left out; their numbers are
/// [`damaged`](Self::damaged) and [`lost`](Self::lost).
#[derive(Debug)]
pub struct Explained {
    lines: Option<AuditReader>,
    /// By the number of the line, so that the oldest is the first.
    open: BTreeMap<u64, AuditLine>,
    /// The number of an intent by its id.
    places: BTreeMap<String, u64>,
    seen: u64,
    run: Option<String>,
    ready: VecDeque<Account>,
    damaged: u64,
    lost: u64,
}

impl Explained {
    pub(super) fn new(lines: AuditReader) -> Self {
        Self {
            lines: Some(lines),
            open: BTreeMap::new(),
            places: BTreeMap::new(),
            seen: 0,
            run: None,
            ready: VecDeque::new(),
            damaged: 0,
            lost: 0,
        }
    }

    /// How many damaged lines there were so far.
    #[must_use]
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// How many lines could not be written, of those that have been told of so far.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    fn take(&mut self, line: AuditLine) {
        self.seen += 1;
        match line.kind() {
            LineKind::Header => {
                let run = line.text("run");
                if run != self.run {
                    // One file, one process: those before have ended.
                    self.give_up();
                    self.run = run;
                }
            }
            LineKind::Intent => {
                self.places.insert(line.text("id").unwrap_or_default(), self.seen);
                self.open.insert(self.seen, line);
                if self.open.len() > MAX_OPEN {
                    self.give_up_oldest();
                }
            }
            LineKind::Outcome => {
                let place = self.places.remove(&line.text("id").unwrap_or_default());
                let intent = place.and_then(|place| self.open.remove(&place));
                self.ready.push_back(Account::of(intent, Some(line)));
            }
            LineKind::Event => self.ready.push_back(Account::of(Some(line), None)),
            LineKind::Lost => {
                let lines = line.members().get::<u64>("lines").unwrap_or_default();
                self.lost = self.lost.saturating_add(lines);
            }
            LineKind::Damaged => self.damaged += 1,
            LineKind::Other => {}
        }
    }

    fn give_up_oldest(&mut self) {
        if let Some((_, line)) = self.open.pop_first() {
            self.places.remove(&line.text("id").unwrap_or_default());
            self.ready.push_back(Account::of(Some(line), None));
        }
    }

    fn give_up(&mut self) {
        while !self.open.is_empty() {
            self.give_up_oldest();
        }
    }
}

impl Iterator for Explained {
    type Item = io::Result<Account>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(account) = self.ready.pop_front() {
                return Some(Ok(account));
            }
            match self.lines.as_mut()?.next() {
                Some(Ok(line)) => self.take(line),
                Some(Err(e)) => return Some(Err(e)),
                None => {
                    self.give_up();
                    if self.ready.is_empty() {
                        self.lines = None;
                    }
                }
            }
        }
    }
}

/// One deed: what was about to be done, and what came of it. Its text is one line for people.
#[derive(Clone, Debug)]
pub struct Account {
    intent: Option<AuditLine>,
    outcome: Option<AuditLine>,
    server: Option<String>,
    target: Option<String>,
}

impl Account {
    fn of(intent: Option<AuditLine>, outcome: Option<AuditLine>) -> Self {
        // An outcome tells what it is about if its intent could not be written.
        let told = intent.as_ref().or(outcome.as_ref());
        let key = told.and_then(AuditLine::deed).map_or("target", Kind::target_key);
        let (server, target) =
            (told.and_then(|line| line.text("server")), told.and_then(|line| line.text(key)));
        Self { intent, outcome, server, target }
    }

    /// What the lines have in common; none for an event.
    #[must_use]
    pub fn id(&self) -> Option<String> {
        self.intent.as_ref().or(self.outcome.as_ref())?.text("id")
    }

    /// What was done; `None` if its line was lost with an old file, or is of a newer version.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        self.intent.as_ref().or(self.outcome.as_ref())?.deed()
    }

    /// With which server.
    #[must_use]
    pub fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// The tool, the URI or the prompt.
    #[must_use]
    pub fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    /// The line before; `None` if it was lost.
    #[must_use]
    pub fn intent(&self) -> Option<&AuditLine> {
        self.intent.as_ref()
    }

    /// The line after, if there is one.
    #[must_use]
    pub fn outcome(&self) -> Option<&AuditLine> {
        self.outcome.as_ref()
    }

    /// How it ended. Without an outcome that is unknown; an event has happened, which is well.
    #[must_use]
    pub fn ended(&self) -> Ended {
        match (&self.intent, &self.outcome) {
            (Some(event), None) if event.kind() == LineKind::Event => Ended::Ok,
            (_, None) => Ended::Unknown,
            (_, Some(outcome)) => Ended::from_word(&outcome.text("outcome").unwrap_or_default()),
        }
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |line: &Option<AuditLine>, name| line.as_ref().and_then(|line| line.text(name));
        let time = text(&self.intent, "time").or_else(|| text(&self.outcome, "time"));
        let kind = self.kind().map_or("something", Kind::as_str);
        write!(f, "{} {kind}", time.unwrap_or_default())?;
        match (&self.server, &self.target) {
            (Some(server), Some(target)) => write!(f, " {server}/{target}")?,
            (Some(one), None) | (None, Some(one)) => write!(f, " {one}")?,
            (None, None) => {}
        }
        if let Some(allowed) = text(&self.intent, "allowed") {
            write!(f, ", allowed by {allowed}")?;
        }
        if let Some(detail) = text(&self.intent, "detail") {
            write!(f, ": {detail}")?;
        }
        let Some(outcome) = &self.outcome else {
            return if self.ended() == Ended::Unknown {
                f.write_str(": unknown, no outcome")
            } else {
                Ok(())
            };
        };
        write!(f, ": {}", self.ended().as_str())?;
        if let Some(took) = outcome.json("took_ms") {
            write!(f, " after {took} ms")?;
        }
        for name in ["error", "detail"] {
            if let Some(text) = outcome.text(name) {
                write!(f, ": {text}")?;
            }
        }
        Ok(())
    }
}
