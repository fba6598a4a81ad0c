//! The names that tools have with the host: `server__tool`.
//!
//! **Invariant:** a name depends on the server's name and the tool's alone, so that it is the same in every run; it is one that
//! every model's interface takes.

use crate::functions::fitted;

/// Between the server's name and the tool's.
const BETWEEN: &str = "__";

/// The name of `tool` on `server`: `[A-Za-z0-9_-]`, 1 to 64 characters. Others become `_`; what is too long is cut, and ends in a number
/// made of the whole. Two tools can come to the same name, which is found out where they are kept.
///
/// ```
/// use tinymcp::host::tool_name;
///
/// assert_eq!(tool_name("notes", "create_note"), "notes__create_note");
/// assert_eq!(tool_name("my files", "read.file"), "my_files__read_file");
/// let long = tool_name("archive", &"very_".repeat(20));
/// assert_eq!((long.len(), &long[..20]), (64, "archive__very_very_v"));
/// assert_ne!(long, tool_name("archive", &"very_".repeat(21)));
/// ```
#[must_use]
pub fn tool_name(server: &str, tool: &str) -> String {
    fitted(&format!("{server}{BETWEEN}{tool}"))
}
