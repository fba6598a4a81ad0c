//! The audit log: what was done on behalf of the user, and what came of it.
//!
//! ```text
//!  intent ──▶ Redaction ──▶ a line ──▶ AuditFile or AuditSink ──▶ the frame goes out … ──▶ outcome ──▶ a line
//!                                            │ fails
//!                                            └──▶ Health: counted, told once, and Continue or Deny
//! ```
//!
//! **Invariants:** an intent is written before what it tells of begins; a line is written by one `write`, and whole or followed by
//! a line break; what is hidden is hidden on the copy that is written, never in what is sent; one file has one log at a time.

mod builder;
mod explain;
mod file;
mod intent;
mod line;
mod lock;
mod log;
mod read;
mod redact;
mod sink;
mod syncer;
mod trouble;

pub use builder::{AuditLogBuilder, Fsync, OnFailure};
pub use explain::{Account, Explained};
pub use intent::{Ended, Intent, Kind, Outcome};
pub use log::{AuditLog, Entry};
pub use read::{AuditLine, AuditReader, LineKind};
pub use redact::{REDACTED, Redaction};
pub use sink::AuditSink;
pub use trouble::AuditTrouble;
