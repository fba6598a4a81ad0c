//! What a log tells when it cannot write: once when it begins, once when it is over.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use crate::sync::caught;

/// What is wrong with an audit log, or no longer is.
#[derive(Debug)]
#[non_exhaustive]
pub enum AuditTrouble<'a> {
    /// Lines cannot be written, from now on. Told once, however many there are.
    Failing {
        /// What the operating system says.
        error: &'a io::Error,
    },
    /// Lines can be written again.
    Recovered {
        /// How many were not.
        lost: u64,
    },
    /// The file could not be rotated, and grows on.
    NotRotated {
        /// What the operating system says.
        error: &'a io::Error,
    },
    /// The file was moved or removed by somebody else, and its lines went with it.
    Moved {
        /// Why no new one could be begun, so that further lines go there too; `None` if one was.
        error: Option<&'a io::Error>,
    },
    /// The last line of an earlier process was cut off, and is not whole.
    Torn {
        /// How many bytes there are of it.
        bytes: u64,
    },
}

impl fmt::Display for AuditTrouble<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failing { error } => write!(f, "the audit log cannot be written: {error}"),
            Self::Recovered { lost: 0 } => f.write_str("the audit log is written again; no line is lost"),
            Self::Recovered { lost } => write!(f, "the audit log is written again; {lost} lines are lost"),
            Self::NotRotated { error } => write!(f, "the audit log cannot be rotated, and grows on: {error}"),
            Self::Moved { error: None } => {
                f.write_str("the audit file was moved or removed, and a new one is begun")
            }
            Self::Moved { error: Some(error) } => {
                write!(f, "the audit file was moved or removed, and lines go with it: {error}")
            }
            Self::Torn { bytes } => {
                write!(
                    f,
                    "the last line of the audit log was cut off by the end of its process: {bytes} bytes"
                )
            }
        }
    }
}

pub(super) type OnTrouble = Box<dyn Fn(&AuditTrouble<'_>) + Send + Sync>;

/// Whether a log is well. Counted without a lock, as callbacks run in between.
#[derive(Default)]
pub(super) struct Health {
    pub(super) on_trouble: Option<OnTrouble>,
    is_failing: AtomicBool,
    failures: AtomicU64,
    /// Those of the failures that no line has told of yet.
    lost: AtomicU64,
    /// Those of them whose deeds were denied for it.
    denied: AtomicU64,
    /// The last try to bring lines to the disk failed.
    unsynced: AtomicBool,
}

impl Health {
    pub(super) fn tell(&self, trouble: &AuditTrouble<'_>) {
        match trouble {
            AuditTrouble::Failing { .. } => log::error!("{trouble}"),
            _ => log::warn!("{trouble}"),
        }
        if let Some(callback) = &self.on_trouble {
            caught(|| callback(trouble));
        }
    }

    /// A line was lost.
    pub(super) fn lost(&self, error: &io::Error, is_denied: bool) {
        self.failures.fetch_add(1, SeqCst);
        self.lost.fetch_add(1, SeqCst);
        self.denied.fetch_add(u64::from(is_denied), SeqCst);
        self.fails(error);
    }

    fn fails(&self, error: &io::Error) {
        if !self.is_failing.swap(true, SeqCst) {
            self.tell(&AuditTrouble::Failing { error });
        }
    }

    /// What was lost and is not told yet: lines, and how many of them denied something.
    pub(super) fn take_lost(&self) -> Option<(u64, u64)> {
        if self.lost.load(SeqCst) == 0 {
            return None;
        }
        let (lost, denied) = (self.lost.swap(0, SeqCst), self.denied.swap(0, SeqCst));
        (lost > 0).then_some((lost, denied))
    }

    pub(super) fn give_back(&self, (lost, denied): (u64, u64)) {
        self.lost.fetch_add(lost, SeqCst);
        self.denied.fetch_add(denied, SeqCst);
    }

    /// A line was written that tells of so many.
    pub(super) fn recovered(&self, lost: u64) {
        if self.is_failing.swap(false, SeqCst) {
            self.tell(&AuditTrouble::Recovered { lost });
        }
    }

    /// Lines were written, and may not outlive the machine.
    pub(super) fn unsynced(&self, error: &io::Error) {
        self.unsynced.store(true, SeqCst);
        self.failures.fetch_add(1, SeqCst);
        self.fails(error);
    }

    pub(super) fn is_unsynced(&self) -> bool {
        self.unsynced.load(SeqCst)
    }

    pub(super) fn synced(&self) {
        if self.unsynced.swap(false, SeqCst) && self.lost.load(SeqCst) == 0 {
            self.recovered(0);
        }
    }

    pub(super) fn failures(&self) -> u64 {
        self.failures.load(SeqCst)
    }
}
