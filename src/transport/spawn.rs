//! [`CommandLine`] and [`Spawn`]: what a child is started as, for those who contain it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// How a [`ChildProcess`](super::ChildProcess) is started: by whom, and wrapped in what. Used anew for each start, restarts
/// included, and kept as long as the process.
///
/// ```
/// use std::process::{Child, Command};
/// use std::sync::Arc;
/// use tinymcp::transport::{ChildProcess, CommandLine, Spawn};
///
/// /// Lets other programs of the machine go first.
/// struct Nice;
///
/// impl Spawn for Nice {
///     fn wrap(&self, command: CommandLine) -> std::io::Result<CommandLine> {
///         Ok(command.wrapped_in("nice", ["-n", "10"]))
///     }
/// }
///
/// let server = ChildProcess::new("notes-server").spawn_with(Arc::new(Nice));
/// # let _ = server;
/// ```
pub trait Spawn: Send + Sync {
    /// Changes the command before it is run. What it runs must end up in the process that is started or below it, in its process
    /// group, and with its pipes.
    ///
    /// # Errors
    /// Why it cannot be started like this. Nothing is started then.
    fn wrap(&self, command: CommandLine) -> io::Result<CommandLine> {
        Ok(command)
    }

    /// Starts the process. Pipes, process group, environment and folder are set already.
    ///
    /// # Errors
    /// What the operating system says.
    fn spawn(&self, mut command: Command) -> io::Result<Child> {
        command.spawn()
    }
}

/// A program with everything it is started with. `Debug` shows the names of its variables, not their values.
///
/// ```
/// use tinymcp::transport::CommandLine;
///
/// let mut command = CommandLine::new("node").args(["server.js"]);
/// command.env.insert("API_KEY".into(), "secret".into());
/// let command = command.wrapped_in("nice", ["-n", "10", "--"]);
/// assert_eq!(command.program, "nice");
/// assert_eq!(command.args, ["-n", "10", "--", "node", "server.js"]);
/// assert!(!format!("{command:?}").contains("secret"));
/// ```
#[non_exhaustive]
pub struct CommandLine {
    /// The program: a path, or a name to be searched in the `PATH` of `env`.
    pub program: OsString,
    /// Its arguments. No shell reads them.
    pub args: Vec<OsString>,
    /// Its variables: these and no others.
    pub env: BTreeMap<OsString, OsString>,
    /// The folder it starts in; `None` is that of this process.
    pub cwd: Option<PathBuf>,
    /// Files it needs that `program` does not name: of a wrapper, the program that it runs. What gives it a file system of its
    /// own shows them there, read-only.
    pub needs: Vec<PathBuf>,
    at_end: AtEnd,
}

impl CommandLine {
    /// `program` without arguments and variables.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            needs: Vec::new(),
            at_end: AtEnd::default(),
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Makes `program` with `args` the command; program and arguments so far are further arguments of it.
    #[must_use]
    pub fn wrapped_in<S: AsRef<OsStr>>(
        mut self,
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = S>,
    ) -> Self {
        let inner = std::mem::replace(&mut self.program, program.into());
        let before = args.into_iter().map(|arg| arg.as_ref().to_owned()).chain([inner]);
        self.args.splice(0..0, before.collect::<Vec<_>>());
        self
    }

    /// Has `work` done when the process has ended, or could not be started; also when this command is dropped. What was added last
    /// is done first. It runs on the thread that closes the connection, which waits for it.
    pub fn at_end(&mut self, work: impl FnOnce() + Send + 'static) {
        self.at_end.0.push(Box::new(work));
    }

    /// Where the program lies: as an absolute path, symbolic links not followed.
    ///
    /// # Errors
    /// There is no such program, or it cannot be run.
    pub fn find_program(&self) -> io::Result<PathBuf> {
        let folder = match &self.cwd {
            Some(cwd) => std::path::absolute(cwd)?,
            None => std::env::current_dir()?,
        };
        let program = Path::new(&self.program);
        if program.components().count() > 1 || program.is_absolute() {
            let path = folder.join(program);
            return match path.metadata() {
                Ok(_) if is_program(&path) => Ok(std::path::absolute(path)?),
                Ok(_) => Err(io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    format!("{} is no program", path.display()),
                )),
                Err(e) => Err(io::Error::new(e.kind(), format!("{}: {e}", path.display()))),
            };
        }
        let default = OsString::from("/usr/local/bin:/usr/bin:/bin");
        let folders = self.env.get(OsStr::new("PATH")).unwrap_or(&default);
        let mut paths = std::env::split_paths(folders).map(|entry| folder.join(entry).join(program));
        paths.find(|path| is_program(path)).ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("no program {} in PATH", program.display()))
        })
    }

    /// As std takes it, without pipes and process group; and what is to be done at the end.
    pub(crate) fn into_command(self) -> (Command, AtEnd) {
        let mut command = Command::new(&self.program);
        command.args(&self.args).env_clear().envs(&self.env);
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        (command, self.at_end)
    }
}

impl fmt::Debug for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandLine")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &self.env.keys())
            .field("cwd", &self.cwd)
            .field("needs", &self.needs)
            .finish_non_exhaustive()
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| {
        #[cfg(unix)]
        let may_run = std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o111 != 0;
        #[cfg(not(unix))]
        let may_run = true;
        about.is_file() && may_run
    })
}

/// What is to be done when a process has ended: done by the drop, once, whatever the way there.
#[derive(Default)]
pub(crate) struct AtEnd(Vec<Box<dyn FnOnce() + Send>>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        while let Some(work) = self.0.pop() {
            if catch_unwind(AssertUnwindSafe(work)).is_err() {
                log::error!("what is to be done at the end of a server's process panicked");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::{Mutex, lock};
    use std::sync::Arc;

    #[test]
    fn the_end_is_done_once_and_backwards_whatever_panics() {
        let seen = Arc::<Mutex<Vec<u32>>>::default();
        let mut command = CommandLine::new("x");
        for i in 0..3 {
            let seen = Arc::clone(&seen);
            command.at_end(move || {
                lock(&seen).push(i);
                assert_ne!(i, 1, "the panic of a test");
            });
        }
        let (_, end) = command.into_command();
        assert!(lock(&seen).is_empty());
        drop(end);
        assert_eq!(*lock(&seen), [2, 1, 0]);
    }

    #[test]
    #[cfg(unix)]
    fn programs_are_found_as_the_system_does() {
        let found = |command: &CommandLine| command.find_program().map_err(|e| e.to_string());
        let mut command = CommandLine::new("sh");
        assert!(found(&command).expect("there is a shell").ends_with("bin/sh"));
        command.env.insert("PATH".into(), "/no/such/folder".into());
        assert_eq!(found(&command).expect_err("not there"), "no program sh in PATH");
        command.env.insert("PATH".into(), "bin".into());
        command.cwd = Some("/".into());
        assert_eq!(found(&command).expect("below the folder it starts in"), Path::new("/bin/sh"));
        command.program = "./bin/sh".into();
        assert_eq!(found(&command).expect("a path"), Path::new("/bin/sh"));
        command.program = "/etc/passwd".into();
        assert_eq!(found(&command).expect_err("a text"), "/etc/passwd is no program");
    }
}
