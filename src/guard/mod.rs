//! For server authors: what must not be reached through the arguments of a call.
//!
//! A model fills in the arguments, and whoever wrote the text it read may have chosen them. Three things are worth a guard of their own:
//!
//! | an argument becomes | pass it through | which gives |
//! |---|---|---|
//! | a path | [`Root`] | files of one folder, and of nothing else |
//! | a URL | [`UrlPolicy`] | a [`CheckedUrl`] with the socket addresses to connect to |
//! | an argument of a program | [`Program`] | its output, bounded in size and time |
//!
//! The [guide](crate::guide::guarding) shows them at work, and what they leave to you. Every error here becomes a failed result with `?`; its text
//! is for the model, and tells nothing that the caller did not say.
//!
//! **Invariants:** what is checked is what is used: an opened file and not its path, an address and not its name, a list of arguments
//! and not a line for a shell.

mod command;
mod net;
mod path;
mod root;

pub use command::{CommandError, CommandOutput, Program};
pub use net::{CheckedUrl, Network, Resolve, UrlError, UrlPolicy, special_use};
pub use root::{Entry, FileKind, Metadata, Root, RootError, RootErrorKind, Walk};
