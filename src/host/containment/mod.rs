//! Containment of server processes: what a server's process can reach, use up and outlive.
//!
//! A [`Sandbox`] changes the command that a server is started with. [`Bwrap`] shows it a few folders of this machine and no
//! network, [`Container`] runs it in an image, [`Limits`] bounds what it uses. A [`Containment`] puts them around each other and
//! has the result started by a [`Spawner`], whose thread lives as long as what it starts. The guide has
//! [a page](crate::guide::containment).
//!
//! **Invariants:** what cannot be contained as asked is not started. No value of a variable is on a command line, except where a
//! method says so.

mod briefly;
mod bwrap;
mod container;
#[cfg_attr(not(unix), path = "no_entrance.rs")]
mod entrance;
mod limits;
mod spawner;
mod view;

use std::fmt;
use std::io;
use std::process::{Child, Command};
use std::sync::Arc;

pub use bwrap::Bwrap;
pub use container::Container;
pub use limits::Limits;
pub use spawner::Spawner;

pub use crate::transport::CommandLine;
use crate::transport::{ChildProcess, Spawn};
use crate::{Error, Result};

/// Changes the command that a server is started with, so that it can do less.
///
/// A closure is one too: for `aa-exec`, `systemd-run`, `ip netns exec`, or whatever a machine has.
///
/// ```
/// use tinymcp::host::containment::{CommandLine, Sandbox};
///
/// // A profile of AppArmor, which the machine's administrator has loaded.
/// let confined = |command: CommandLine| Ok(command.wrapped_in("aa-exec", ["-p", "mcp-server", "--"]));
/// let command = confined.wrap(CommandLine::new("notes-server"))?;
/// assert_eq!(command.args.last().unwrap(), "notes-server");
/// # Ok::<(), tinymcp::Error>(())
/// ```
pub trait Sandbox: Send + Sync {
    /// Wraps `command`. Called for each start of the server, restarts included. What is to be done when the process has ended
    /// is given to [`CommandLine::at_end`].
    ///
    /// # Errors
    /// Why the command cannot be contained: it is not started then. [`Error::Unsupported`] if this machine lacks what that takes,
    /// [`Error::InvalidUse`] if the command does not fit.
    fn wrap(&self, command: CommandLine) -> Result<CommandLine>;
}

impl<F: Fn(CommandLine) -> Result<CommandLine> + Send + Sync> Sandbox for F {
    fn wrap(&self, command: CommandLine) -> Result<CommandLine> {
        self(command)
    }
}

/// Sandboxes around each other, and the thread that starts what comes of it.
///
/// ```no_run
/// use tinymcp::Client;
/// use tinymcp::host::containment::{Bwrap, Containment, Limits, Spawner};
/// use tinymcp::transport::ChildProcess;
///
/// let spawner = Spawner::start()?; // one for all servers
/// let contained = Containment::new(&spawner)
///     .with(Limits::new().memory_bytes(1 << 30).open_files(256)) // innermost
///     .with(Bwrap::new().writable("/srv/notes"));
/// let server = contained.apply(ChildProcess::new("notes-server").arg("/srv/notes"));
/// let client = Client::builder().open(server)?;
/// # let _ = client;
/// # Ok::<(), tinymcp::Error>(())
/// ```
#[derive(Clone)]
pub struct Containment {
    spawner: Spawner,
    layers: Vec<Arc<dyn Sandbox>>,
}

impl Containment {
    /// No sandbox yet: servers are started by `spawner`, and that is all.
    #[must_use]
    pub fn new(spawner: &Spawner) -> Self {
        Self { spawner: spawner.clone(), layers: Vec::new() }
    }

    /// Puts `sandbox` around those so far: the first is the innermost.
    #[must_use]
    pub fn with(self, sandbox: impl Sandbox + 'static) -> Self {
        self.with_shared(Arc::new(sandbox))
    }

    /// The same for one that several share.
    #[must_use]
    pub fn with_shared(mut self, sandbox: Arc<dyn Sandbox>) -> Self {
        self.layers.push(sandbox);
        self
    }

    /// Has `server` started like this, each time that it is.
    #[must_use]
    pub fn apply(self, server: ChildProcess) -> ChildProcess {
        server.spawn_with(Arc::new(self))
    }
}

impl Sandbox for Containment {
    fn wrap(&self, command: CommandLine) -> Result<CommandLine> {
        self.layers.iter().try_fold(command, |command, layer| layer.wrap(command))
    }
}

impl Spawn for Containment {
    fn wrap(&self, command: CommandLine) -> io::Result<CommandLine> {
        Sandbox::wrap(self, command).map_err(|error| match error {
            Error::Transport { context, error } => {
                io::Error::new(error.kind(), format!("{context}: {error}"))
            }
            Error::Unsupported(text) => io::Error::new(io::ErrorKind::Unsupported, text),
            Error::InvalidUse(text) => io::Error::new(io::ErrorKind::InvalidInput, text),
            error => io::Error::other(error.to_string()),
        })
    }

    fn spawn(&self, command: Command) -> io::Result<Child> {
        self.spawner.spawn(command)
    }
}

impl fmt::Debug for Containment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Containment").field("layers", &self.layers.len()).finish_non_exhaustive()
    }
}

/// The program of `command`, as an absolute path.
fn program_of(command: &CommandLine) -> Result<std::path::PathBuf> {
    let context = || "cannot be contained".to_owned();
    command.find_program().map_err(|error| Error::Transport { context: context(), error })
}
