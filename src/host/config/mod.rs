//! Configuration files: which servers there are, and how each is reached.
//!
//! ```text
//!  file ──▶ Plain (JSON, comments blanked out) ──▶ Config { servers, rejected, inputs } ──▶ Resolver ──▶ Launch
//!                                                     └── to_text, write: the same text with what has changed
//! ```
//!
//! [`Config`] reads the files of other hosts as they are; a [`ServerEntry`] is what one says, with `${env:TOKEN}` as it is written;
//! [`Resolver`] replaces what entries name. The [guide](crate::guide::config) shows all of it.
//!
//! **Invariants:** nothing is started here, and nobody is asked for consent; a broken server hides no other; nothing that a file, a variable
//! or an answer says is in an error or in `Debug`, only names are.

mod answers;
mod check;
mod digest;
mod edit;
mod entry;
mod env_file;
mod error;
mod file;
mod files;
mod input;
mod launch;
mod layout;
mod read;
mod resolve;
mod secret;
mod shown;
mod template;
mod text;
mod write;

pub use entry::{CommandEntry, Reach, ServerEntry, UrlEntry};
pub use error::{ConfigError, ConfigErrorKind};
pub use file::Config;
pub use input::{Input, InputKind, PickOption};
pub use launch::{Launch, LaunchReach, UrlTransport};
pub use resolve::Resolver;
pub use secret::{Environment, Secret, SecretError, SecretSource};
pub use shown::{Taken, TakenKind};
