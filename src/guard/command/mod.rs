//! [`Program`]: a program of the author's choice with arguments of somebody else's.
//!
//! **Invariant:** no shell anywhere: an argument arrives as it is, or not at all.

mod capture;
mod error;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use self::capture::Capture;
pub use self::error::CommandError;
use crate::sync::{CancelToken, Deadline};
use crate::sys::{Signal, signal_group};
use crate::transport::Environment;

/// How long a program may run.
const TIME: Duration = Duration::from_secs(30);

/// What it may write, to stdout and to stderr each.
const MAX_OUTPUT_BYTES: usize = 1024 * 1024;

/// Arguments of a call, and the bytes of all of them. Systems have limits of their own, of which this stays below.
const MAX_ARGS: usize = 1000;
const MAX_ARG_BYTES: usize = 100 * 1024;

/// Between being asked to end and being made to.
const TERM_TIME: Duration = Duration::from_millis(500);

/// A killed process ends at once, unless it is stuck in the system.
const KILL_TIME: Duration = Duration::from_secs(2);

/// For the last bytes of a program that has ended, and whose group has been killed.
const LAST_BYTES: Duration = Duration::from_secs(1);

/// A program that tools run with arguments from a model.
///
/// The author fixes the program and its first arguments. Those of a [`run`](Self::run) are checked: none has a NUL character, none begins with
/// `-` and so becomes an option, and `--` is put before them, which tells most programs that no option follows. No shell sees them. The program
/// gets no input, and only the [base](Environment::Base) of the environment; what it writes and how long it runs is limited, and with
/// it ends whatever it has started (on Unix its process group).
///
/// ```
/// # #[cfg(unix)] {
/// use tinymcp::guard::Program;
/// use tinymcp::{ToolError, tool};
///
/// let grep = Program::new("/usr/bin/env").arg("echo").without_separator(); // `echo` would print the `--`
/// let find = tool! {
///     fn find(word: String) -> Result<String, ToolError> { Ok(grep.run([word])?.into_text()?) }
/// };
/// # let client = tinymcp::testing::pair(&tinymcp::Server::builder("t", "1").tools(tinymcp::ToolRegistry::new().with(find)?).build()?)?;
/// # let find = |word: &str| Ok::<_, tinymcp::Error>(client.call_tool("find", serde_json::json!({"word": word}))?.text_content());
/// assert_eq!(find("$(reboot); `x`")?, "$(reboot); `x`\n");
/// assert_eq!(find("--help")?, "env: argument 1 begins with -: \"--help\"");
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # What it leaves to you
///
/// An argument is still a path, a pattern, a query: check it as one, with [`Root`](super::Root) for example. Do not fix a shell or another
/// interpreter as the program (`sh -c`, `python -c`, `xargs`, `.bat` files on Windows): it would read code from the arguments again. Name the program by a
/// whole path; a bare name is searched in this process's `PATH`.
#[derive(Clone)]
pub struct Program {
    program: OsString,
    fixed: Vec<OsString>,
    has_separator: bool,
    takes_dashes: bool,
    environment: Environment,
    variables: BTreeMap<OsString, OsString>,
    current_dir: Option<PathBuf>,
    time: Duration,
    max_output_bytes: usize,
}

impl Program {
    /// `program` without fixed arguments.
    #[must_use]
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            fixed: Vec::new(),
            has_separator: true,
            takes_dashes: false,
            environment: Environment::Base,
            variables: BTreeMap::new(),
            current_dir: None,
            time: TIME,
            max_output_bytes: MAX_OUTPUT_BYTES,
        }
    }

    /// Adds an argument of the author's, which is not checked. It comes before those of a run.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.fixed.push(arg.as_ref().to_owned());
        self
    }

    /// Adds several.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(self, args: impl IntoIterator<Item = S>) -> Self {
        args.into_iter().fold(self, Self::arg)
    }

    /// Puts no `--` before the arguments of a run, for programs that do not know it, or mean something else by it (`git log`).
    #[must_use]
    pub fn without_separator(self) -> Self {
        Self { has_separator: false, ..self }
    }

    /// Takes arguments that begin with `-`. After the `--` they are none of the program's options; **without** it, whoever gives the
    /// arguments chooses among all options that the program has.
    #[must_use]
    pub fn allow_dashes(self) -> Self {
        Self { takes_dashes: true, ..self }
    }

    /// Chooses which variables the program inherits. Default: [`Environment::Base`], which has no secrets.
    #[must_use]
    pub fn environment(self, environment: Environment) -> Self {
        Self { environment, ..self }
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.variables.insert(name.as_ref().to_owned(), value.as_ref().to_owned());
        self
    }

    /// Starts it in `folder`.
    #[must_use]
    pub fn current_dir(self, folder: impl Into<PathBuf>) -> Self {
        Self { current_dir: Some(folder.into()), ..self }
    }

    /// How long it may run. Default: 30 s. Then it is asked to end, and half a second later made to.
    #[must_use]
    pub fn time_limit(self, time: Duration) -> Self {
        Self { time, ..self }
    }

    /// How much it may write to stdout, and to stderr. Default: 1 MiB each. With more it is ended.
    #[must_use]
    pub fn max_output_bytes(self, max_output_bytes: usize) -> Self {
        Self { max_output_bytes, ..self }
    }

    /// Runs it and waits for its end.
    ///
    /// # Errors
    /// When an argument is refused, it cannot be started, runs too long or writes too much. A program that fails is no error here:
    /// [`CommandOutput::into_text`] makes it one.
    pub fn run<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Result<CommandOutput, CommandError> {
        self.run_until(args, &CancelToken::new())
    }

    /// The same, ended when `cancel` fires: [`Context::cancel_token`](crate::Context::cancel_token) in a tool.
    ///
    /// # Errors
    /// As for [`run`](Self::run), and when it was cancelled.
    pub fn run_until<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        cancel: &CancelToken,
    ) -> Result<CommandOutput, CommandError> {
        // One more than allowed is enough to know.
        let args = args.into_iter().take(MAX_ARGS + 1).map(|arg| arg.as_ref().to_owned());
        let args: Vec<OsString> = args.collect();
        self.check(&args)?;
        self.finish(&args, cancel)
    }

    fn check(&self, args: &[OsString]) -> Result<(), CommandError> {
        let refused = |problem| Err(CommandError::Argument { program: self.name(), problem });
        if args.len() > MAX_ARGS {
            return refused(format!("more than {MAX_ARGS} arguments"));
        }
        if args.iter().map(|arg| arg.len()).sum::<usize>() > MAX_ARG_BYTES {
            return refused(format!("arguments of more than {MAX_ARG_BYTES} bytes"));
        }
        for (at, arg) in args.iter().enumerate() {
            let bytes = arg.as_encoded_bytes();
            let problem = if bytes.contains(&0) {
                "has a NUL character"
            } else if bytes.starts_with(b"-") && !self.takes_dashes {
                "begins with -"
            } else {
                continue;
            };
            let text: String = arg.to_string_lossy().chars().take(100).collect();
            return refused(format!("argument {} {problem}: {text:?}", at + 1));
        }
        Ok(())
    }

    /// The name of the program without its folders, for messages.
    fn name(&self) -> String {
        let path = std::path::Path::new(&self.program);
        path.file_name().unwrap_or(&self.program).to_string_lossy().into_owned()
    }

    fn command(&self, args: &[OsString]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.fixed);
        if self.has_separator && !args.is_empty() {
            command.arg("--");
        }
        command.args(args);
        // This process's stdin may be the protocol.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if self.environment != Environment::All {
            command.env_clear();
        }
        if self.environment == Environment::Base {
            let kept = |name: &&'static str| Some((*name, std::env::var_os(name)?));
            command.envs(Environment::base_names().iter().filter_map(kept));
        }
        command.envs(&self.variables);
        if let Some(folder) = &self.current_dir {
            command.current_dir(folder);
        }
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    }

    fn finish(&self, args: &[OsString], cancel: &CancelToken) -> Result<CommandOutput, CommandError> {
        let program = self.name();
        let failed = |source| CommandError::System { program: program.clone(), source };
        let deadline = Deadline::after(Some(self.time));
        // Ends it whatever happens from here on.
        let mut running = Running { child: self.command(args).spawn().map_err(failed)?, is_over: false };
        let (stdout, stderr) = (running.child.stdout.take(), running.child.stderr.take());
        let capture = Capture::of(stdout, stderr, self.max_output_bytes).map_err(failed)?;
        let mut pause = Duration::from_micros(200);
        let status = loop {
            // std cannot wait for a process with a time limit, so this looks again and again, at first often.
            if let Some(status) = running.status().map_err(failed)? {
                break status;
            }
            if capture.is_full() {
                return Err(CommandError::TooMuch { program, max_bytes: self.max_output_bytes });
            }
            let left = deadline.remaining().unwrap_or(self.time);
            if left.is_zero() {
                return Err(CommandError::Late { program, time: self.time });
            }
            if cancel.wait_timeout(pause.min(left)) {
                return Err(CommandError::Cancelled { program });
            }
            pause = (pause * 2).min(Duration::from_millis(10));
        };
        // What it left running would hold the pipes.
        running.end();
        let Some((stdout, stderr)) = capture.take() else {
            return Err(CommandError::TooMuch { program, max_bytes: self.max_output_bytes });
        };
        Ok(CommandOutput { program, status, stdout, stderr })
    }
}

/// Without arguments and variables, which may be secrets.
impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program")
            .field("program", &self.program)
            .field("has_separator", &self.has_separator)
            .field("takes_dashes", &self.takes_dashes)
            .field("time", &self.time)
            .field("max_output_bytes", &self.max_output_bytes)
            .finish_non_exhaustive()
    }
}

/// A child that is ended, with its process group, when this is dropped.
struct Running {
    child: Child,
    is_over: bool,
}

impl Running {
    fn status(&mut self) -> std::io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Its status, within `time`.
    fn wait(&mut self, time: Duration) -> Option<ExitStatus> {
        let deadline = Deadline::after(Some(time));
        loop {
            match self.status() {
                Ok(None) if !deadline.has_passed() => std::thread::sleep(Duration::from_millis(2)),
                status => return status.ok().flatten(),
            }
        }
    }

    /// Ends it and what it has started.
    fn end(&mut self) -> Option<ExitStatus> {
        if self.is_over {
            return self.status().ok().flatten();
        }
        self.is_over = true;
        let group = self.child.id();
        let mut status = self.status().ok().flatten();
        if status.is_none() && signal_group(group, Signal::Term) {
            status = self.wait(TERM_TIME);
        }
        // Its id is nobody else's as long as the group has members; without members nothing is signalled.
        if !signal_group(group, Signal::Kill) && status.is_none() {
            // No groups on this platform. An ended child cannot be killed, which is fine.
            let _ = self.child.kill();
        }
        if status.is_none() {
            status = self.wait(KILL_TIME);
        }
        if status.is_none() {
            log::warn!("a program (process {group}) does not end though it was killed");
        }
        status
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// How a program ended, and what it wrote.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CommandOutput {
    program: String,
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote to stdout.
    pub stdout: Vec<u8>,
    /// What it wrote to stderr.
    pub stderr: Vec<u8>,
}

impl CommandOutput {
    /// What it wrote to stdout, if it ended well. What is not UTF-8 is replaced.
    ///
    /// # Errors
    /// When it failed; the error has the end of what it wrote to stderr.
    pub fn into_text(self) -> Result<String, CommandError> {
        if self.status.success() {
            return Ok(String::from_utf8_lossy(&self.stdout).into_owned());
        }
        Err(CommandError::failed(self.program, self.status, &self.stderr))
    }
}
