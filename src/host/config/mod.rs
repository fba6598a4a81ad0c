//! Configuration files: which servers there are, and how each is reached.

mod entry;

pub use entry::{CommandEntry, Reach, ServerEntry, UrlEntry};
