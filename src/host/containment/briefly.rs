//! Small helpers: programs that run for a moment, private folders, where a tool of the system lies.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::sys::{Signal, signal_group};
use crate::transport::CommandLine;

/// So much of what a helper says is shown.
const SAID_BYTES: u64 = 2048;

/// A tool of the system: looked for in this process's `PATH` and where systems have such.
pub(super) fn tool(name: &Path) -> Option<PathBuf> {
    let mut command = CommandLine::new(name);
    let mut folders: Vec<_> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    folders.extend(["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"].map(PathBuf::from));
    command.env.insert("PATH".into(), std::env::join_paths(folders).ok()?);
    command.find_program().ok()
}

/// A folder that only this user can look into. Its drop removes it.
pub(super) struct PrivateFolder(PathBuf);

impl PrivateFolder {
    pub(super) fn new() -> io::Result<Self> {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        // A name that others cannot take beforehand, so that one failure is not due to chance.
        let random = RandomState::new().hash_one(Instant::now());
        let path = std::env::temp_dir().join(format!("tinymcp-{}-{random:016x}", std::process::id()));
        builder.create(&path).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// A new file in it, which others cannot read either.
    pub(super) fn file(&self, name: &str) -> io::Result<(fs::File, PathBuf)> {
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let path = self.0.join(name);
        Ok((options.open(&path)?, path))
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // It may be gone already.
        let removed = fs::remove_dir_all(&self.0);
        if let Err(e) = removed.or_else(|e| if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) })
        {
            log::warn!("cannot remove {}: {e}", self.0.display());
        }
    }
}

/// Runs `command` without input, for at most `time`. How it ended, and what it said on stderr.
pub(super) fn run(mut command: Command, time: Duration) -> io::Result<(ExitStatus, String)> {
    // A file, not a pipe: what the command leaves running may hold a pipe open.
    let folder = PrivateFolder::new()?;
    let (stderr, said) = folder.file("stderr")?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if started.elapsed() >= time {
            // With what it has started, where there are groups.
            signal_group(child.id(), Signal::Kill);
            let _ = child.kill();
            child.wait()?;
            let text = format!("not done within {} s", time.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let mut text = Vec::new();
    fs::File::open(said)?.take(SAID_BYTES).read_to_end(&mut text)?;
    Ok((status, String::from_utf8_lossy(&text).trim().to_owned()))
}
