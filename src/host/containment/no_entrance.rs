//! No way into bwrap: it is for Linux.

use std::ffi::OsString;
use std::path::Path;

use super::CommandLine;
use crate::{Error, Result};

/// Never found.
#[derive(Clone, Debug)]
pub(super) struct Tools;

impl Tools {
    pub(super) fn find(_bwrap: &Path) -> Result<Self> {
        Err(needs_linux())
    }

    pub(super) fn try_out(&self, _options: Vec<OsString>) -> Result<()> {
        Err(needs_linux())
    }
}

pub(super) fn enter(
    _tools: &Tools,
    _command: CommandLine,
    _options: Vec<OsString>,
    _seccomp: Option<&Path>,
) -> Result<CommandLine> {
    Err(needs_linux())
}

fn needs_linux() -> Error {
    Error::Unsupported("the sandbox by bwrap needs Linux".into())
}
