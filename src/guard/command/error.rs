//! [`CommandError`]: why a program did not do its work.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

/// How much of stderr an error has.
const TAIL_BYTES: usize = 2048;

/// Why a [`Program`](super::Program) was not run to its end, or failed. With `?` it becomes a [`ToolError`](crate::ToolError).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// An argument is refused; nothing was started.
    #[error("{program}: {problem}")]
    #[non_exhaustive]
    Argument {
        /// The program's name.
        program: String,
        /// Which argument, and what is wrong with it.
        problem: String,
    },
    /// The system could not start it, or tell how it ended.
    #[error("{program}: cannot be run")]
    #[non_exhaustive]
    System {
        /// The program's name.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// It ran longer than it may, and was ended.
    #[error("{program}: not done within {time:?}")]
    #[non_exhaustive]
    Late {
        /// The program's name.
        program: String,
        /// How long it may run.
        time: Duration,
    },
    /// It wrote more than it may, and was ended.
    #[error("{program}: more than {max_bytes} bytes of output")]
    #[non_exhaustive]
    TooMuch {
        /// The program's name.
        program: String,
        /// How much it may write.
        max_bytes: usize,
    },
    /// The call was cancelled, and it was ended.
    #[error("{program}: cancelled")]
    #[non_exhaustive]
    Cancelled {
        /// The program's name.
        program: String,
    },
    /// It ended with a failure.
    #[error("{program}: {status}{}", tail(.stderr))]
    #[non_exhaustive]
    Failed {
        /// The program's name.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// The end of what it wrote to stderr, up to 2 KiB.
        stderr: String,
    },
}

impl CommandError {
    pub(super) fn failed(program: String, status: ExitStatus, stderr: &[u8]) -> Self {
        let tail = &stderr[stderr.len().saturating_sub(TAIL_BYTES)..];
        Self::Failed { program, status, stderr: String::from_utf8_lossy(tail).trim().to_owned() }
    }
}

fn tail(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!(": {stderr}") }
}
