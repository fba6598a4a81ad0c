//! [`Stdio`]: this process's own stdin and stdout, for servers.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::process::{self, Command};

use super::{Connection, FrameWrite, LineReader, Link, OpenOptions, Transport};

/// This process's stdin and stdout.
///
/// stdout is the protocol from then on (spec: 2026-07-28 basic/transports/stdio): print nothing else there. What a handler starts as a child process
/// inherits both handles and would eat requests from stdin or write into the protocol: use [`child_command`].
///
/// The inherited handles are never switched to non-blocking: that flag is shared with whoever started us.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Stdio;

impl Stdio {
    /// This process's stdin and stdout.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl Transport for Stdio {
    fn open(self: Box<Self>, options: &OpenOptions) -> io::Result<Connection> {
        // Duplicates: std's own handles have a buffer and, for stdout, a flush at every line. They are also not
        // inherited by children, unlike the originals.
        let reader = LineReader::new(duplicate_stdin()?, options.max_frame_bytes);
        Ok(Connection::new(reader, FileWriter(duplicate_stdout()?), StdioLink))
    }
}

#[cfg(unix)]
fn duplicate_stdin() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

#[cfg(unix)]
fn duplicate_stdout() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

#[cfg(windows)]
fn duplicate_stdin() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}

#[cfg(windows)]
fn duplicate_stdout() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}

struct FileWriter(File);

impl FrameWrite for FileWriter {
    fn write_frames(&mut self, frames: &[u8]) -> io::Result<()> {
        self.0.write_all(frames)
    }
}

struct StdioLink;

impl Link for StdioLink {
    fn name(&self) -> &str {
        "stdio"
    }
}

/// A command for a handler to run: its stdin is empty and its stdout goes to this server's stderr, so that it can
/// neither take requests from the server's stdin nor write into the protocol.
///
/// To read what it prints, ask for that: [`Command::output`] captures only what has not been set otherwise.
///
/// ```
/// # if cfg!(unix) {
/// use std::process::Stdio;
/// use tinymcp::transport::child_command;
///
/// let output = child_command("echo").arg("built").stdout(Stdio::piped()).output()?;
/// assert_eq!(output.stdout, b"built\n");
///
/// let status = child_command("cat").status()?; // an ordinary command would eat the server's next requests
/// assert!(status.success());
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn child_command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(process::Stdio::null());
    // Without a stderr to share (it is closed) the output is discarded.
    #[cfg(unix)]
    let stderr = {
        use std::os::fd::AsFd;
        io::stderr().as_fd().try_clone_to_owned().map(process::Stdio::from)
    };
    #[cfg(windows)]
    let stderr = {
        use std::os::windows::io::AsHandle;
        io::stderr().as_handle().try_clone_to_owned().map(process::Stdio::from)
    };
    command.stdout(stderr.unwrap_or_else(|_| process::Stdio::null()));
    command
}
