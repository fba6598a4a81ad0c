//! [`ServerEntry`]: one server as a configuration has it, before anything in it is replaced.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::json::Object;

/// One server, as it is written: `${env:TOKEN}` is still that text, so that an entry can be shown, compared and kept without
/// showing a secret that is named in it. [`resolve`](super::Resolver::resolve) makes a [`Launch`](super::Launch) of it.
///
/// Texts that are secrets themselves may stand in `env` and `headers`: `Debug` shows their names alone.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerEntry {
    /// What the user calls it.
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
    /// Whether it is kept but not started.
    pub disabled: bool,
    /// The file it comes from; `None` for one that the program itself made.
    pub source: Option<PathBuf>,
    /// Members that are not known here, kept as they are.
    pub extra: Object,
}

/// How a server is reached.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Reach {
    /// It is started, and talks on its stdin and stdout.
    Command(CommandEntry),
    /// It is reached at an address.
    Url(UrlEntry),
}

/// A server that is started.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct CommandEntry {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables it gets beyond the basic ones.
    pub env: BTreeMap<String, String>,
    /// A file of further variables.
    pub env_file: Option<String>,
    /// The folder it is started in.
    pub cwd: Option<String>,
}

/// A server at an address.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct UrlEntry {
    /// `http` or `https`.
    pub url: String,
    /// Headers of every request.
    pub headers: BTreeMap<String, String>,
    /// What `type` said, if anything: `http`, `streamable-http`, `sse`.
    pub transport: Option<String>,
}
