//! [`AuditSink`]: where the lines of a log go.

use std::io;

/// Where an [`AuditLog`](super::AuditLog) puts its lines: a file, or a place of your own, such as the journal of the system or a
/// collector.
///
/// What comes here is hidden and cut already, and is counted when it fails. Calls come from every thread that does something,
/// several at a time, and each waits for the return: a sink that may block for long holds up what is done.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use tinymcp::host::audit::{AuditLog, AuditSink, Intent, Outcome};
///
/// struct Memory(Arc<Mutex<Vec<String>>>);
///
/// impl AuditSink for Memory {
///     fn write_line(&self, line: &str) -> std::io::Result<()> {
///         self.0.lock().unwrap().push(line.to_owned());
///         Ok(())
///     }
/// }
///
/// let lines = Arc::new(Mutex::new(Vec::new()));
/// let log = AuditLog::builder().to(Memory(lines.clone()))?;
/// log.intent(&Intent::call("notes", "list"))?.outcome(&Outcome::ok());
/// assert_eq!(lines.lock().unwrap().len(), 3); // the header, the intent, the outcome
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait AuditSink: Send + Sync {
    /// Takes one line of JSON; it ends with a line break.
    ///
    /// # Errors
    /// When it is not kept: then the log does what its [`OnFailure`](super::OnFailure) says.
    fn write_line(&self, line: &str) -> io::Result<()>;

    /// Sees to it that what was written outlives the machine's power, as far as [`Fsync`](super::Fsync) asks for that.
    ///
    /// # Errors
    /// When it may not.
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
