//! [`ChildProcess`]: a server started as a child, and ended for certain.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::spawn::AtEnd;
use super::stderr::StderrTail;
use super::{
    CommandLine, Connection, EndStep, Ending, Environment, FrameWrite, LineReader, Link, OpenOptions,
    Patience, Spawn, Transport,
};
use crate::sync::{Deadline, Mutex, lock};
use crate::sys::{Signal, signal_group};

/// What becomes of a child's stderr.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Stderr {
    /// Read it all the time and keep the last 16 KiB for error messages.
    #[default]
    Capture,
    /// Let it go where this process's stderr goes.
    Inherit,
    /// Discard it.
    Discard,
    /// Like `Capture`, and give each line to this callback, on a thread of its own. If it cannot keep up, up to 1,024 lines
    /// wait and further ones are dropped, which is reported in the log.
    Lines(Arc<dyn Fn(&str) + Send + Sync>),
}

impl Stderr {
    /// Gives each line to `callback`, on a thread of its own.
    pub fn lines(callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::Lines(Arc::new(callback))
    }
}

impl fmt::Debug for Stderr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Capture => "Capture",
            Self::Inherit => "Inherit",
            Self::Discard => "Discard",
            Self::Lines(_) => "Lines",
        })
    }
}

/// A server to be started as a child process that talks on its stdin and stdout.
///
/// On Unix the child leads a process group of its own: a terminal's Ctrl-C reaches only the host, and closing
/// reaches what the child has started (`npx`, `sh -c`).
///
/// ```no_run
/// use tinymcp::transport::{ChildProcess, Environment};
///
/// let server = ChildProcess::new("python3")
///     .arg("server.py")
///     .current_dir("/srv/notes")
///     .environment(Environment::Base)
///     .env("NOTES_DIR", "/srv/notes/data");
/// # let _ = server;
/// ```
#[derive(Clone)]
pub struct ChildProcess {
    program: OsString,
    args: Vec<OsString>,
    environment: Environment,
    variables: BTreeMap<OsString, Option<OsString>>,
    current_dir: Option<PathBuf>,
    stderr: Stderr,
    spawn: Option<Arc<dyn Spawn>>,
    /// What messages say in place of the command line.
    shown: Option<String>,
}

/// Without the values of variables, which may be secrets.
impl fmt::Debug for ChildProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildProcess")
            .field("program", &self.program)
            .field("args", &self.args.iter().filter(|_| self.shown.is_none()).collect::<Vec<_>>())
            .field("environment", &self.environment)
            .field("variables", &self.variables.keys())
            .field("current_dir", &self.current_dir)
            .field("stderr", &self.stderr)
            .field("has_spawn", &self.spawn.is_some())
            .finish()
    }
}

impl ChildProcess {
    /// `program` without arguments. It is searched in `PATH` unless it is a path itself.
    #[must_use]
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            environment: Environment::default(),
            variables: BTreeMap::new(),
            current_dir: None,
            stderr: Stderr::default(),
            spawn: None,
            shown: None,
        }
    }

    /// What errors and logs say in place of the command line: for one with secrets among its arguments.
    #[must_use]
    pub fn shown_as(mut self, name: impl Into<String>) -> Self {
        self.shown = Some(name.into());
        self
    }

    /// Adds an argument. No shell is involved: it arrives as it is.
    #[must_use]
    pub fn arg(self, arg: impl AsRef<OsStr>) -> Self {
        self.args([arg])
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Chooses which variables the child inherits. Default: [`Environment::Base`].
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// Sets a variable, whatever the child inherits.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.variables.insert(name.as_ref().to_owned(), Some(value.as_ref().to_owned()));
        self
    }

    /// Removes a variable, whatever the child inherits.
    #[must_use]
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.variables.insert(name.as_ref().to_owned(), None);
        self
    }

    /// Starts the child in `directory`.
    #[must_use]
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.current_dir = Some(directory.into());
        self
    }

    /// Chooses what becomes of the child's stderr. Default: [`Stderr::Capture`].
    #[must_use]
    pub fn stderr(mut self, stderr: Stderr) -> Self {
        self.stderr = stderr;
        self
    }

    /// Has it wrapped and started by `spawn`, this time and each time it is started again.
    #[must_use]
    pub fn spawn_with(mut self, spawn: Arc<dyn Spawn>) -> Self {
        self.spawn = Some(spawn);
        self
    }

    /// As text, for messages.
    fn name(&self) -> String {
        if let Some(shown) = &self.shown {
            return shown.clone();
        }
        let words = std::iter::once(&self.program).chain(&self.args);
        let quoted = words.map(|word| {
            let word = word.to_string_lossy();
            let is_plain = !word.is_empty() && !word.contains([' ', '"', '\'', '\t', '\n']);
            if is_plain { word.into_owned() } else { format!("{word:?}") }
        });
        quoted.collect::<Vec<_>>().join(" ")
    }

    /// The system's error, of its kind, with what it is about: the command, or the folder to start it in (which may mean something
    /// else to whoever wraps it).
    fn not_started(&self, name: &str, error: &io::Error) -> io::Error {
        let text = match &self.current_dir {
            Some(folder) if self.spawn.is_none() && !folder.is_dir() => {
                format!("{name}: no folder {}", folder.display())
            }
            _ => format!("{name}: {error}"),
        };
        io::Error::new(error.kind(), text)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        if self.environment != Environment::All {
            command.env_clear().envs(self.environment.variables());
        }
        for (name, value) in &self.variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(directory) = &self.current_dir {
            command.current_dir(directory);
        }
        command
    }

    /// The same with all its variables, for somebody else to change.
    fn command_line(&self) -> CommandLine {
        let mut line = CommandLine::new(&self.program).args(&self.args);
        line.env.extend(self.environment.variables());
        for (name, value) in &self.variables {
            // On Windows `Path` is `PATH`.
            line.env.retain(|other, _| !(cfg!(windows) && other.eq_ignore_ascii_case(name)));
            match value {
                Some(value) => line.env.insert(name.clone(), value.clone()),
                None => line.env.remove(name),
            };
        }
        line.cwd.clone_from(&self.current_dir);
        line
    }

    fn start(&self) -> io::Result<(Child, AtEnd)> {
        let (mut command, at_end) = match &self.spawn {
            Some(spawn) => spawn.wrap(self.command_line())?.into_command(),
            None => (self.command(), AtEnd::default()),
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(match self.stderr {
            Stderr::Inherit => Stdio::inherit(),
            Stderr::Discard => Stdio::null(),
            Stderr::Capture | Stderr::Lines(_) => Stdio::piped(),
        });
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = match &self.spawn {
            Some(spawn) => spawn.spawn(command)?,
            None => command.spawn()?,
        };
        Ok((child, at_end))
    }
}

impl Transport for ChildProcess {
    fn open(self: Box<Self>, options: &OpenOptions) -> io::Result<Connection> {
        let name = self.name();
        let (mut child, at_end) = self.start().map_err(|e| self.not_started(&name, &e))?;
        let stdin = child.stdin.take().expect("stdin is piped");
        let stdout = child.stdout.take().expect("stdout is piped");
        let stderr = child.stderr.take();
        let group = child.id();
        // From here on an early return drops the link, which ends the child.
        let mut link = ChildLink {
            name,
            group,
            child: Mutex::new(Reaper { child, status: None }),
            stderr: StderrTail::none(),
            at_end: Mutex::new(at_end),
            _spawn: self.spawn.clone(),
        };
        if let Some(pipe) = stderr {
            let callback = match &self.stderr {
                Stderr::Lines(callback) => Some(Arc::clone(callback)),
                _ => None,
            };
            link.stderr = StderrTail::read(pipe, callback)?;
        }
        let reader = LineReader::new(stdout, options.max_frame_bytes);
        Ok(Connection::new(reader, PipeWriter::new(stdin)?, link))
    }

    fn again(&self) -> Option<Box<dyn Transport>> {
        Some(Box::new(self.clone()))
    }
}

/// The child's stdin. On Unix without blocking, so that a caller writes its own frame and a full pipe is
/// seen rather than waited on. The flag is on our end of the pipe alone; the child's end blocks as ever.
struct PipeWriter {
    pipe: File,
    /// The same pipe under std's type that can switch the flag.
    #[cfg(unix)]
    switch: std::os::unix::net::UnixStream,
}

impl PipeWriter {
    #[cfg(unix)]
    fn new(stdin: ChildStdin) -> io::Result<Self> {
        let pipe = std::os::fd::OwnedFd::from(stdin);
        let switch = std::os::unix::net::UnixStream::from(pipe.try_clone()?);
        switch.set_nonblocking(true)?;
        Ok(Self { pipe: File::from(pipe), switch })
    }

    #[cfg(windows)]
    fn new(stdin: ChildStdin) -> io::Result<Self> {
        Ok(Self { pipe: File::from(std::os::windows::io::OwnedHandle::from(stdin)) })
    }
}

impl FrameWrite for PipeWriter {
    #[cfg(unix)]
    fn write_frames(&mut self, frames: &[u8]) -> io::Result<()> {
        self.switch.set_nonblocking(false)?;
        let written = self.pipe.write_all(frames);
        self.switch.set_nonblocking(true)?;
        written
    }

    #[cfg(not(unix))]
    fn write_frames(&mut self, frames: &[u8]) -> io::Result<()> {
        self.pipe.write_all(frames)
    }

    #[cfg(unix)]
    fn write_some(&mut self, frames: &[u8]) -> io::Result<Option<usize>> {
        let mut written = 0;
        while written < frames.len() {
            match self.pipe.write(&frames[written..]) {
                Ok(n) => written += n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(Some(written))
    }
}

/// The running child. Ends it when dropped, in case nobody closed it.
struct ChildLink {
    name: String,
    /// The child's process id, which is also its group's.
    group: u32,
    child: Mutex<Reaper>,
    stderr: StderrTail,
    at_end: Mutex<AtEnd>,
    /// Whoever started the child may have to live as long as it does.
    _spawn: Option<Arc<dyn Spawn>>,
}

/// The child and, once reaped, how it ended: asked once, remembered.
struct Reaper {
    child: Child,
    status: Option<ExitStatus>,
}

impl Reaper {
    fn poll(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status
    }
}

impl ChildLink {
    /// Waits for the child's end. std cannot wait for a process with a time limit, so this looks again and
    /// again, at first often: a child that ends at once is noticed at once.
    fn wait(&self, time: Duration) -> Option<ExitStatus> {
        let deadline = Deadline::after(Some(time));
        let mut pause = Duration::from_micros(100);
        loop {
            // Not under the lock while pausing: others ask for the status meanwhile.
            if let Some(status) = lock(&self.child).poll() {
                return Some(status);
            }
            let left = deadline.remaining().unwrap_or(time);
            if left.is_zero() {
                return None;
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }

    fn signal(&self, signal: Signal) {
        if !signal_group(self.group, signal) && signal == Signal::Kill {
            // No groups on this platform, or it is gone. An ended child cannot be killed, which is fine.
            let _ = lock(&self.child).child.kill();
        }
    }

    fn end(&self, patience: &Patience) -> Ending {
        let steps = [
            (EndStep::AlreadyEnded, None, Duration::ZERO),
            (EndStep::EndOfInput, None, patience.exit),
            (EndStep::Term, Some(Signal::Term), patience.term),
            // Nothing survives this, but a process in an uninterruptible system call may take long to die.
            (EndStep::Kill, Some(Signal::Kill), Duration::from_secs(2)),
        ];
        for (step, signal, time) in steps {
            if let Some(signal) = signal {
                self.signal(signal);
            }
            if let Some(status) = self.wait(time) {
                let orphans_signalled = self.end_orphans(patience.term);
                return Ending { step, status: Some(status), orphans_signalled };
            }
        }
        Ending { step: EndStep::Stuck, status: None, orphans_signalled: false }
    }

    /// Signals what the child has left behind in its group. The child itself has been reaped; its id cannot be
    /// given to another process while the group has members.
    fn end_orphans(&self, time: Duration) -> bool {
        if !signal_group(self.group, Signal::Term) {
            return false;
        }
        // What has ended but is not yet reaped by init still counts as a member: do not wait for that for long.
        let started = Instant::now();
        while signal_group(self.group, Signal::Probe) {
            if started.elapsed() >= time.min(Duration::from_millis(200)) {
                signal_group(self.group, Signal::Kill);
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }
}

impl Link for ChildLink {
    fn name(&self) -> &str {
        &self.name
    }

    fn exit_status(&self) -> Option<ExitStatus> {
        // Its output ends a moment before the process does.
        self.wait(Duration::from_millis(200))
    }

    fn has_ended(&self) -> bool {
        lock(&self.child).poll().is_some()
    }

    fn stderr_tail(&self) -> String {
        // After the end of the process only what it left behind can keep the pipe open.
        self.stderr.text(if self.has_ended() { Duration::from_millis(200) } else { Duration::ZERO })
    }

    fn close(&self, patience: &Patience) -> Ending {
        let ending = self.end(patience);
        // Taken out first: it is somebody else's code.
        let at_end = std::mem::take(&mut *lock(&self.at_end));
        drop(at_end);
        ending
    }
}

impl Drop for ChildLink {
    fn drop(&mut self) {
        if lock(&self.child).poll().is_none() {
            self.signal(Signal::Kill);
            self.wait(Duration::from_secs(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_cannot_start_is_named() {
        let open = |server: ChildProcess| {
            let error = Box::new(server).open(&OpenOptions::default()).expect_err("nothing starts");
            (error.kind(), error.to_string())
        };
        let (kind, text) = open(ChildProcess::new("no-such-server").args(["--port", "two words"]));
        assert_eq!(kind, io::ErrorKind::NotFound);
        assert!(text.starts_with("no-such-server --port \"two words\": "), "{text}");
        // The system blames the program for a missing folder.
        let (kind, text) = open(ChildProcess::new("sh").current_dir("/no/such/folder"));
        assert_eq!((kind, text.as_str()), (io::ErrorKind::NotFound, "sh: no folder /no/such/folder"));
    }
}
