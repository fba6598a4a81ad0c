//! [`Limits`]: how much a server's process may use.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::{CommandLine, Sandbox, briefly, program_of};
use crate::{Error, Result};

/// What a process may use, enforced by the kernel: the program is run by `prlimit`, a tool of util-linux.
///
/// Each limit is of **one process**, not of all that a server starts; only [`processes`](Self::processes) counts together, over
/// everything that the same user runs. A process with the right to do so (`root`, outside of [`Bwrap`](super::Bwrap)) can
/// raise its limits again, and `root` is not held to a number of processes anywhere. For limits of a whole tree of processes
/// use a [`Container`](super::Container), or `systemd-run` in a closure.
///
/// There are never core dumps: they hold everything the server knew.
///
/// ```
/// use std::time::Duration;
/// use tinymcp::host::containment::Limits;
///
/// let limits = Limits::new().memory_bytes(2 << 30).cpu_time(Duration::from_secs(600)).open_files(512);
/// # let _ = limits;
/// ```
#[derive(Clone, Debug, Default)]
pub struct Limits {
    memory_bytes: Option<u64>,
    cpu_time: Option<Duration>,
    open_files: Option<u64>,
    processes: Option<u64>,
    file_bytes: Option<u64>,
}

impl Limits {
    /// No limit but that of core dumps, which are off.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Address space, in bytes (`RLIMIT_AS`): reserved memory counts, used or not. Programs on V8, Java and Go reserve
    /// many gigabytes that they never touch, and do not start under a small limit.
    #[must_use]
    pub fn memory_bytes(mut self, bytes: u64) -> Self {
        self.memory_bytes = Some(bytes);
        self
    }

    /// Time of the processor, after which it is killed (`RLIMIT_CPU`). In whole seconds: rounded up.
    #[must_use]
    pub fn cpu_time(mut self, time: Duration) -> Self {
        self.cpu_time = Some(time);
        self
    }

    /// Open descriptors (`RLIMIT_NOFILE`).
    #[must_use]
    pub fn open_files(mut self, count: u64) -> Self {
        self.open_files = Some(count);
        self
    }

    /// Processes and threads of the user (`RLIMIT_NPROC`), those outside of this server included.
    #[must_use]
    pub fn processes(mut self, count: u64) -> Self {
        self.processes = Some(count);
        self
    }

    /// The size of a file that it writes, in bytes (`RLIMIT_FSIZE`).
    #[must_use]
    pub fn file_bytes(mut self, bytes: u64) -> Self {
        self.file_bytes = Some(bytes);
        self
    }

    fn options(&self) -> Vec<OsString> {
        let seconds = |time: Duration| time.as_secs() + u64::from(time.subsec_nanos() > 0);
        let limits = [
            ("as", self.memory_bytes),
            ("cpu", self.cpu_time.map(|time| seconds(time).max(1))),
            ("nofile", self.open_files),
            ("nproc", self.processes),
            ("fsize", self.file_bytes),
            ("core", Some(0)),
        ];
        let set = limits.into_iter().filter_map(|(name, limit)| Some(format!("--{name}={}", limit?).into()));
        set.chain(["--".into()]).collect()
    }
}

impl Sandbox for Limits {
    fn wrap(&self, mut command: CommandLine) -> Result<CommandLine> {
        let Some(prlimit) = briefly::tool(Path::new("prlimit")) else {
            return Err(Error::Unsupported(
                "limits need the program prlimit, which is not in PATH: install util-linux (Linux only)"
                    .into(),
            ));
        };
        let program = program_of(&command)?;
        command.program = program.clone().into();
        command.needs.push(program);
        Ok(command.wrapped_in(prlimit, self.options()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_set_is_limited_and_there_is_never_a_core_dump() {
        assert_eq!(Limits::new().options(), ["--core=0", "--"]);
        let all = Limits::new()
            .memory_bytes(1 << 30)
            .cpu_time(Duration::from_millis(1500))
            .open_files(64)
            .processes(32)
            .file_bytes(1000);
        let expected =
            ["--as=1073741824", "--cpu=2", "--nofile=64", "--nproc=32", "--fsize=1000", "--core=0", "--"];
        assert_eq!(all.options(), expected);
        assert_eq!(Limits::new().cpu_time(Duration::ZERO).options()[0], "--cpu=1");
    }
}
