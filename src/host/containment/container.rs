//! [`Container`]: a server in an image, run by docker, podman or what has their command line.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{CommandLine, Sandbox, briefly};
use crate::transport::Environment;
use crate::{Error, Result};

/// How long removing a container may take.
const REMOVAL: Duration = Duration::from_secs(10);

/// Variables that the container client itself gets from this process, where they are set.
const CLIENT: [&str; 24] = [
    "APPDATA",
    "CONTAINERS_CONF",
    "CONTAINERS_STORAGE_CONF",
    "CONTAINER_CONNECTION",
    "CONTAINER_HOST",
    "CONTAINER_SSHKEY",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_API_VERSION",
    "DOCKER_CERT_PATH",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "DOCKER_HOST",
    "DOCKER_TLS_VERIFY",
    "HOME",
    "LOGNAME",
    "PATH",
    "REGISTRY_AUTH_FILE",
    "SYSTEMROOT",
    "TMPDIR",
    "USER",
    "USERPROFILE",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
];

/// What steers the client or its loader, and so must not come from a server's variables: it runs outside of the container.
const STEERING: [&str; 11] = [
    "BUILDAH_",
    "CONTAINER",
    "DBUS_",
    "DOCKER_",
    "DYLD_",
    "GCONV_PATH",
    "GODEBUG",
    "LD_",
    "PODMAN_",
    "REGISTRY_",
    "SSH_",
];

/// A sandbox by a container runtime: `docker`, `podman`, or another that takes the same options.
///
/// The command's program and arguments are run **in the image**. The container has no network, a read-only root with a `/tmp` in
/// memory, no capabilities, no way to new privileges, and at most 512 processes, each unless asked otherwise. The image is not
/// looked at: what is in it, and who wrote it, is for the user to know; a digest (`name@sha256:…`) keeps it what it was.
///
/// Ending the server ends the client, `docker run`, and then, by its id, the container: a client that is killed leaves it running. The
/// id is in a file of its own for each start. If this program itself is killed, the server sees the end of its input; one that ignores
/// that runs on, as its container belongs to the runtime and not to this program.
///
/// The server's variables go **by name**, `--env NAME`, with the value in the client's own variables: not on the command line. Those
/// of [`Environment::Base`] describe this machine (`PATH`, `HOME`) and stay outside, unless they were given another value.
///
/// ```
/// use tinymcp::host::containment::Container;
///
/// let sandbox = Container::new("docker", "node:22-slim")
///     .read_only("/srv/docs", "/docs")
///     .memory_bytes(512 << 20)
///     .cpus(1.5);
/// # let _ = sandbox;
/// ```
///
/// An image that is a server, with a program of its own:
///
/// ```no_run
/// use tinymcp::host::containment::{Container, Containment, Spawner};
/// use tinymcp::transport::ChildProcess;
///
/// let contained = Containment::new(&Spawner::start()?)
///     .with(Container::new("podman", "docker.io/mcp/time").program_of_image());
/// // Only the arguments go to the image's program; the name is for messages.
/// let server = contained.apply(ChildProcess::new("time").arg("--local-timezone=Europe/Rome"));
/// # let _ = server;
/// # Ok::<(), tinymcp::Error>(())
/// ```
#[derive(Clone)]
pub struct Container {
    runtime: PathBuf,
    image: OsString,
    /// By the place in the container.
    mounts: BTreeMap<PathBuf, Mount>,
    network: OsString,
    has_writable_root: bool,
    runs_program_of_image: bool,
    processes: u64,
    memory_bytes: Option<u64>,
    cpus: Option<f64>,
    user: Option<OsString>,
    variables: BTreeMap<OsString, OsString>,
    options: Vec<OsString>,
}

#[derive(Clone, Debug)]
struct Mount {
    source: PathBuf,
    is_writable: bool,
}

impl Container {
    /// `image`, run by `runtime`: a path, or a name in `PATH`.
    #[must_use]
    pub fn new(runtime: impl Into<PathBuf>, image: impl Into<OsString>) -> Self {
        Self {
            runtime: runtime.into(),
            image: image.into(),
            mounts: BTreeMap::new(),
            network: "none".into(),
            has_writable_root: false,
            runs_program_of_image: false,
            processes: 512,
            memory_bytes: None,
            cpus: None,
            user: None,
            variables: BTreeMap::new(),
            options: Vec::new(),
        }
    }

    /// Shows a folder or file of this machine at a place in the container, read-only.
    #[must_use]
    pub fn read_only(mut self, source: impl Into<PathBuf>, target: impl Into<PathBuf>) -> Self {
        self.mounts.insert(target.into(), Mount { source: source.into(), is_writable: false });
        self
    }

    /// Shows a folder or file of this machine at a place in the container, which may change it.
    #[must_use]
    pub fn writable(mut self, source: impl Into<PathBuf>, target: impl Into<PathBuf>) -> Self {
        self.mounts.insert(target.into(), Mount { source: source.into(), is_writable: true });
        self
    }

    /// Joins this network of the runtime (`bridge`, or one with rules of its own). Default: `none`.
    #[must_use]
    pub fn network(mut self, name: impl Into<OsString>) -> Self {
        self.network = name.into();
        self
    }

    /// Lets it change its own files, which end with the container.
    #[must_use]
    pub fn writable_root(mut self) -> Self {
        self.has_writable_root = true;
        self
    }

    /// Runs the image's own program with the command's arguments, instead of the command's program.
    #[must_use]
    pub fn program_of_image(mut self) -> Self {
        self.runs_program_of_image = true;
        self
    }

    /// Sets how many processes and threads it may have. Default: 512.
    #[must_use]
    pub fn processes(mut self, count: u64) -> Self {
        self.processes = count;
        self
    }

    /// Sets how much memory all its processes may use together, in bytes. Default: what the runtime allows.
    #[must_use]
    pub fn memory_bytes(mut self, bytes: u64) -> Self {
        self.memory_bytes = Some(bytes);
        self
    }

    /// Sets how many processors it may use at once, 0.5 for half of one. Default: what the runtime allows.
    #[must_use]
    pub fn cpus(mut self, count: f64) -> Self {
        self.cpus = Some(count);
        self
    }

    /// Runs it as this user of the image, `NAME`, `UID` or `UID:GID`. Default: the image's.
    #[must_use]
    pub fn user(mut self, user: impl Into<OsString>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// Sets a variable **on the command line**, which every user of this machine can read: for `PATH`, `HOME` and other things that
    /// are no secrets and mean something else to the client.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// A further option of `run`, after all others, which it can undo: `--security-opt=seccomp=profile.json`, `--runtime=runsc`.
    #[must_use]
    pub fn option(mut self, option: impl Into<OsString>) -> Self {
        self.options.push(option.into());
        self
    }

    fn restrictions(&self) -> Vec<OsString> {
        let mut options: Vec<OsString> =
            ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--network"]
                .map(OsString::from)
                .into();
        options.push(self.network.clone());
        options.extend(["--pids-limit".into(), self.processes.to_string().into()]);
        if !self.has_writable_root {
            options.extend(["--read-only", "--tmpfs", "/tmp"].map(OsString::from));
        }
        if let Some(bytes) = self.memory_bytes {
            // Swap included: the same limit twice.
            let bytes = OsString::from(bytes.to_string());
            options.extend(["--memory".into(), bytes.clone(), "--memory-swap".into(), bytes]);
        }
        if let Some(cpus) = self.cpus {
            options.extend(["--cpus".into(), cpus.to_string().into()]);
        }
        if let Some(user) = &self.user {
            options.extend(["--user".into(), user.clone()]);
        }
        options
    }

    fn mount_options(&self) -> Result<Vec<OsString>> {
        let mut options = Vec::new();
        for (target, mount) in &self.mounts {
            for path in [&mount.source, target] {
                let text =
                    path.to_str().filter(|text| !text.contains([',', '"', '\n']) && path.is_absolute());
                if text.is_none() {
                    let text = format!(
                        "a container shows absolute paths of plain text without commas: {}",
                        path.display()
                    );
                    return Err(Error::InvalidUse(text));
                }
            }
            let context = || mount.source.display().to_string();
            fs::metadata(&mount.source).map_err(|error| Error::Transport { context: context(), error })?;
            let mode = if mount.is_writable { "" } else { ",readonly" };
            let (source, target) = (mount.source.display(), target.display());
            options.extend([
                "--mount".into(),
                format!("type=bind,source={source},target={target}{mode}").into(),
            ]);
        }
        Ok(options)
    }
}

impl Sandbox for Container {
    fn wrap(&self, mut command: CommandLine) -> Result<CommandLine> {
        let Some(runtime) = briefly::tool(&self.runtime) else {
            let runtime = self.runtime.display();
            return Err(Error::Unsupported(format!("the container runtime {runtime} is not in PATH")));
        };
        if !command.needs.is_empty() {
            let text =
                "limits by prlimit are for programs of this machine: set those of the container instead";
            return Err(Error::InvalidUse(text.into()));
        }
        let prepared = |error| Error::Transport {
            context: "cannot prepare a private folder for the container".into(),
            error,
        };
        let folder = briefly::PrivateFolder::new().map_err(prepared)?;
        let id_file = folder.path().join("id");

        let mut options: Vec<OsString> =
            ["run", "--rm", "--init", "--interactive", "--cidfile"].map(OsString::from).into();
        options.push(id_file.clone().into());
        options.extend(self.restrictions());
        options.extend(self.mount_options()?);
        let (names, mut env) = by_name(&command.env, &self.variables)?;
        options.extend(names);
        for (name, value) in &self.variables {
            let mut assignment = name.clone();
            assignment.push("=");
            assignment.push(value);
            options.extend(["--env".into(), assignment]);
        }
        if let Some(folder) = command.cwd.take() {
            options.extend(["--workdir".into(), folder.into()]);
        }
        if !self.runs_program_of_image {
            options.extend(["--entrypoint".into(), command.program.clone()]);
        }
        options.extend(self.options.iter().cloned());
        options.push(self.image.clone());

        let client = own_variables();
        env.extend(client.clone());
        command.env = env;
        command.args.splice(0..0, options);
        command.program = runtime.clone().into();
        command.at_end(move || {
            remove(&runtime, client, &id_file);
            drop(folder);
        });
        Ok(command)
    }
}

/// `Debug` shows the names of variables, not their values.
impl fmt::Debug for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Container")
            .field("runtime", &self.runtime)
            .field("image", &self.image)
            .field("mounts", &self.mounts)
            .field("restrictions", &self.restrictions())
            .field("variables", &self.variables.keys())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// What the client needs of this process's variables.
fn own_variables() -> BTreeMap<OsString, OsString> {
    CLIENT.iter().filter_map(|name| Some(((*name).into(), std::env::var_os(name)?))).collect()
}

type Passed = (Vec<OsString>, BTreeMap<OsString, OsString>);

/// The options that hand `variables` over by name, and those variables.
fn by_name(
    variables: &BTreeMap<OsString, OsString>,
    set_otherwise: &BTreeMap<OsString, OsString>,
) -> Result<Passed> {
    let mut passed = Passed::default();
    for (name, value) in variables.iter().filter(|(name, _)| !set_otherwise.contains_key(*name)) {
        let text = name.to_string_lossy();
        let is_base = Environment::base_names().contains(&&*text);
        if is_base && std::env::var_os(name).as_ref() == Some(value) {
            continue;
        }
        let steers = STEERING.iter().any(|start| text.starts_with(start)) || CLIENT.contains(&&*text);
        if steers || text.contains('=') || text.is_empty() {
            return Err(Error::InvalidUse(format!(
                "the variable {text} would be read by the container client itself: set it by Container::env"
            )));
        }
        passed.0.extend(["--env".into(), name.clone()]);
        passed.1.insert(name.clone(), value.clone());
    }
    Ok(passed)
}

/// Removes the container of this id, running or not. That `--rm` has done so before is the usual case.
fn remove(runtime: &Path, variables: BTreeMap<OsString, OsString>, id_file: &Path) {
    let Ok(id) = fs::read_to_string(id_file) else {
        return log::debug!("the container client ended before there was a container");
    };
    let id = id.trim();
    if id.is_empty() || !id.bytes().all(|b| b.is_ascii_hexdigit()) {
        return log::warn!("the container client wrote no id of a container: {} bytes", id.len());
    }
    let mut command = Command::new(runtime);
    command.args([OsStr::new("rm"), OsStr::new("--force"), OsStr::new(id)]).env_clear().envs(variables);
    match briefly::run(command, REMOVAL) {
        Ok((status, _)) if status.success() => {}
        Ok((status, said)) => log::debug!("removing the container {id}: {status}: {said}"),
        Err(error) => log::warn!("cannot remove the container {id}: {error}"),
    }
}
