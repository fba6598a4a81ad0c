//! The way into bwrap: what std's `Command` cannot do before a program is run, done by a few lines of shell.
//!
//! They close inherited descriptors, hand over variables by a descriptor (a command line is public), and, as the owner of the
//! device nodes, make those read-only: bwrap shows the machine's own, and their owner could change their modes for everybody.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{CommandLine, briefly};
use crate::{Error, Result};

/// How long a try of the sandbox may take.
const TRY: Duration = Duration::from_secs(10);

/// `O_CLOEXEC`, as `/proc/self/fdinfo` has it on every architecture that Linux has kept its generic flags on.
const CLOSE_ON_EXEC: u32 = 0o2_000_000;

/// What it takes to enter.
#[derive(Clone, Debug)]
pub(super) struct Tools {
    bwrap: PathBuf,
    sh: PathBuf,
    /// An `env` that can give a signal its default meaning again (GNU).
    env: Option<PathBuf>,
    /// To make device nodes read-only, if they are ours.
    unshare: Option<PathBuf>,
}

impl Tools {
    pub(super) fn find(bwrap: &Path) -> Result<Self> {
        let find = |name: &Path, package: &str| {
            briefly::tool(name).ok_or_else(|| {
                let name = name.display();
                Error::Unsupported(format!(
                    "the sandbox needs the program {name}, which is not in PATH: install {package} (Linux only)"
                ))
            })
        };
        let owns_devices = owns_devices();
        let bwrap = find(bwrap, "bubblewrap")?;
        let sh = find(Path::new("sh"), "a shell")?;
        let unshare = owns_devices.then(|| find(Path::new("unshare"), "util-linux")).transpose()?;
        let resets_signals = |env: &PathBuf| {
            let mut command = Command::new(env);
            command.args(["--default-signal=TERM", "true"]);
            briefly::run(command, TRY).is_ok_and(|(status, _)| status.success())
        };
        let env = briefly::tool(Path::new("/usr/bin/env")).filter(resets_signals);
        if env.is_none() {
            log::debug!("env has no --default-signal: a contained server is killed at SIGTERM");
        }
        Ok(Self { bwrap, sh, env, unshare })
    }

    /// Runs nothing in a sandbox of these options.
    pub(super) fn try_out(&self, mut options: Vec<OsString>) -> Result<()> {
        options.extend(["--args", "3"].map(OsString::from));
        let command = CommandLine::new("/bin/sh").args(["-c", ":"]);
        let (command, _end) = enter(self, command, options, None)?.into_command();
        let problem = match briefly::run(command, TRY) {
            Ok((status, _)) if status.success() => return Ok(()),
            Ok((status, said)) if said.is_empty() => status.to_string(),
            Ok((_, said)) => said,
            Err(error) => error.to_string(),
        };
        let hint = if problem.contains("amespace")
            || problem.contains("uid map")
            || problem.contains("unshare")
        {
            "; the system does not let this user have user namespaces (kernel.unprivileged_userns_clone, \
             user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns, or a container's own seccomp profile)"
        } else {
            ""
        };
        Err(Error::Unsupported(format!("{} contains nothing here: {problem}{hint}", self.bwrap.display())))
    }
}

/// Whether this process's user owns the device nodes, which is `root`.
fn owns_devices() -> bool {
    let own = fs::metadata("/proc/self").map(|about| about.uid());
    let devices = fs::metadata("/dev/null").map(|about| about.uid());
    own.ok().zip(devices.ok()).is_some_and(|(own, devices)| own == devices)
}

/// `command` in a bwrap of `options`, which say `--args 3` where the variables belong.
pub(super) fn enter(
    tools: &Tools,
    mut command: CommandLine,
    options: Vec<OsString>,
    seccomp: Option<&Path>,
) -> Result<CommandLine> {
    let folder = briefly::PrivateFolder::new().map_err(|error| not_prepared("a private folder", error))?;
    let variables = variables(&folder, &command)?;
    let inherited = inheritable().map_err(|error| not_prepared("descriptors", error))?;
    let sh = shell(tools, &inherited)?;

    if let Some(env) = &tools.env {
        // What env does not take for an assignment.
        if command.program.as_bytes().contains(&b'=') {
            command = command.wrapped_in("/bin/sh", ["-c", r#"exec "$0" "$@""#]);
        }
        command = command.wrapped_in(env, ["--default-signal=TERM"]);
    }
    let mut inside = options;
    if seccomp.is_some() {
        inside.extend(["--seccomp", "4"].map(OsString::from));
    }
    inside.push("--".into());
    command = command.wrapped_in(&tools.bwrap, inside);

    let mut before: Vec<OsString> =
        vec!["-c".into(), script(tools, &inherited, seccomp.is_some()).into(), "sh".into()];
    before.extend([Some(variables.as_path()), seccomp].into_iter().flatten().map(OsString::from));
    command = command.wrapped_in(sh, before);
    if let Some(unshare) = &tools.unshare {
        let options = ["--user", "--map-root-user", "--mount", "--propagation", "private", "--"];
        command = command.wrapped_in(unshare, options);
    }
    command.env = [("PATH".into(), "/usr/bin:/bin:/usr/sbin:/sbin".into())].into();
    command.cwd = None;
    command.needs.clear();
    command.at_end(move || drop(folder));
    Ok(command)
}

/// Everything up to `exec` of bwrap, whose arguments are what remains of `$@`.
fn script(tools: &Tools, inherited: &[u32], has_seccomp: bool) -> String {
    let mut script = String::new();
    if tools.env.is_some() {
        // bwrap itself would end at once, and its death takes the server along. The server gets its signal back from `env`.
        script += "trap '' TERM; ";
    }
    for fd in inherited {
        let _ = write!(script, "exec {fd}>&-; ");
    }
    if tools.unshare.is_some() {
        script +=
            "for d in null zero full random urandom; do mount --bind -o ro /dev/$d /dev/$d || exit 1; done; ";
    }
    // Now, so that nothing is left even if this program is killed.
    script += r#"exec 3<"$1" && rm -r -- "${1%/*}" || exit 1; shift; "#;
    if has_seccomp {
        script += r#"exec 4<"$1" || exit 1; shift; "#;
    }
    script + r#"exec "$@""#
}

/// The shell that can close these: some know descriptors of one digit alone.
fn shell(tools: &Tools, inherited: &[u32]) -> Result<PathBuf> {
    let Some(fd) = inherited.iter().find(|fd| **fd > 9) else { return Ok(tools.sh.clone()) };
    briefly::tool(Path::new("bash")).ok_or_else(|| {
        let leads_to = fs::read_link(format!("/proc/self/fd/{fd}")).unwrap_or_default();
        Error::Unsupported(format!(
            "the sandbox would inherit descriptor {fd} of this process ({}), and there is no bash to close it",
            leads_to.display()
        ))
    })
}

/// Descriptors of this process that a program it starts would have. Through one that leads to a folder it could leave the sandbox.
fn inheritable() -> io::Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc/self/fdinfo")? {
        let entry = entry?;
        let Some(fd) =
            entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()).filter(|fd| *fd > 2)
        else {
            continue;
        };
        // Closed meanwhile, if it cannot be read.
        let Ok(about) = fs::read_to_string(entry.path()) else { continue };
        let flags = about.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        if flags.is_none_or(|flags| flags & CLOSE_ON_EXEC == 0) {
            found.push(fd);
        }
    }
    Ok(found)
}

/// A file of options that set the command's variables. bwrap reads it by a descriptor; the script removes it and its
/// folder before.
fn variables(folder: &briefly::PrivateFolder, command: &CommandLine) -> Result<PathBuf> {
    let mut options = Vec::new();
    for (name, value) in &command.env {
        for part in [OsStr::new("--setenv"), name, value] {
            if part.as_bytes().contains(&0) {
                return Err(Error::InvalidUse(format!(
                    "the variable {} has a zero byte",
                    name.to_string_lossy()
                )));
            }
            options.extend_from_slice(part.as_bytes());
            options.push(0);
        }
    }
    let written =
        folder.file("variables").and_then(|(mut file, path)| file.write_all(&options).map(|()| path));
    written.map_err(|error| not_prepared("a file of variables", error))
}

fn not_prepared(what: &str, error: io::Error) -> Error {
    Error::Transport { context: format!("cannot prepare {what} for the sandbox"), error }
}
