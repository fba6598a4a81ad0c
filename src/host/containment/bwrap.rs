//! [`Bwrap`]: a server that sees a few folders of this machine, and nothing else of it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::entrance::{self, Tools};
use super::view::{Folder, View};
use super::{CommandLine, Sandbox, program_of};
use crate::sync::{Mutex, lock};
use crate::{Error, Result};

/// A sandbox by bubblewrap (`bwrap`, Linux): namespaces of its own for files, network, processes and users, and no privileges.
///
/// The server sees, all of it read-only: `/usr` with what belongs to it (`/bin`, `/sbin`, `/lib…`); a few files of `/etc` by
/// name; its own program, if that lies elsewhere; and the folders it is given. It has a `/tmp`, `/dev` and `/proc` of its own. It
/// has **no home, no `/run`, no network, no terminal**, and no privileges, as `root` neither. It ends with this program, however
/// that ends, if a [`Spawner`](super::Spawner) starts it; and signals to its process group reach it.
///
/// Its variables are exactly those that the [command](CommandLine) has, and `PWD`. Their values are on no command line.
///
/// Whether all this works here is tried before the first start. Where it does not (no `bwrap`, no user namespaces), starting fails
/// and says what is missing: nothing is ever started without the sandbox. bubblewrap 0.5 or newer.
///
/// ```
/// use tinymcp::host::containment::Bwrap;
///
/// let sandbox = Bwrap::new()
///     .read_only("/srv/docs")
///     .writable("/srv/notes")
///     .private_home(); // an empty one, for programs that insist
/// # let _ = sandbox;
/// ```
#[derive(Clone)]
pub struct Bwrap {
    program: PathBuf,
    folders: BTreeMap<PathBuf, Folder>,
    has_home: bool,
    has_network: bool,
    shows_program_folder: bool,
    seccomp: Option<PathBuf>,
    options: Vec<OsString>,
    /// What it takes, once it has been found to work. Shared by clones.
    tools: Arc<Mutex<Option<Tools>>>,
}

impl Default for Bwrap {
    fn default() -> Self {
        Self::new()
    }
}

impl Bwrap {
    /// The system's programs and nothing of the user's.
    #[must_use]
    pub fn new() -> Self {
        Self {
            program: "bwrap".into(),
            folders: BTreeMap::from([("/tmp".into(), Folder::Own)]),
            has_home: false,
            has_network: false,
            shows_program_folder: false,
            seccomp: None,
            options: Vec::new(),
            tools: Arc::default(),
        }
    }

    /// Uses this program instead of the `bwrap` in `PATH`.
    #[must_use]
    pub fn program(mut self, path: impl Into<PathBuf>) -> Self {
        self.program = path.into();
        self.anew()
    }

    /// Shows a folder or file, at the place where it is, read-only.
    #[must_use]
    pub fn read_only(mut self, path: impl Into<PathBuf>) -> Self {
        self.folders.insert(path.into(), Folder::ReadOnly);
        self
    }

    /// Shows a folder or file, which the server may change.
    #[must_use]
    pub fn writable(mut self, path: impl Into<PathBuf>) -> Self {
        self.folders.insert(path.into(), Folder::Writable);
        self
    }

    /// An empty, writable folder at the place that the server's `HOME` names. It ends with the server.
    #[must_use]
    pub fn private_home(mut self) -> Self {
        self.has_home = true;
        self
    }

    /// Lets it use this machine's network, all of it: services on `localhost`, and whatever other machines it can reach. Also shows
    /// what resolving names and trusting certificates takes. The [guide](crate::guide::containment#a-part-of-the-network) has ways
    /// to allow less.
    #[must_use]
    pub fn share_net(mut self) -> Self {
        self.has_network = true;
        self.anew()
    }

    /// Shows the whole folder in which the server's program lies, not the program alone: for one that brings its libraries.
    #[must_use]
    pub fn program_folder(mut self) -> Self {
        self.shows_program_folder = true;
        self
    }

    /// Refuses system calls: by the filter in this file, compiled BPF as `seccomp_export_bpf` writes it.
    #[must_use]
    pub fn seccomp(mut self, filter: impl Into<PathBuf>) -> Self {
        self.seccomp = Some(filter.into());
        self
    }

    /// A further option of bwrap, after all others. It can undo any of them.
    #[must_use]
    pub fn option(mut self, option: impl Into<OsString>) -> Self {
        self.options.push(option.into());
        self
    }

    /// What was tried was another.
    fn anew(mut self) -> Self {
        self.tools = Arc::default();
        self
    }

    /// Finds out whether it works here, if that is not known yet: runs something in it.
    ///
    /// # Errors
    /// [`Error::Unsupported`] says what is missing.
    pub fn check(&self) -> Result<()> {
        self.tools().map(drop)
    }

    fn tools(&self) -> Result<Tools> {
        let known = lock(&self.tools).clone();
        if let Some(tools) = known {
            return Ok(tools);
        }
        let tools = Tools::find(&self.program)?;
        let mut options = self.isolation();
        options.extend(View::of_system(self.has_network).finish());
        tools.try_out(options)?;
        *lock(&self.tools) = Some(tools.clone());
        Ok(tools)
    }

    /// What does not depend on the server.
    fn isolation(&self) -> Vec<OsString> {
        let mut options = vec!["--unshare-all"];
        if self.has_network {
            options.push("--share-net");
        }
        // Without `--new-session`, so that signals to the process group arrive.
        options.extend(["--unshare-user", "--cap-drop", "ALL", "--clearenv", "--die-with-parent"]);
        options.into_iter().map(OsString::from).collect()
    }

    fn view(&self, command: &CommandLine, program: &Path) -> Result<View> {
        let mut folders = self.folders.clone();
        if self.has_home {
            let home = command.env.get(std::ffi::OsStr::new("HOME")).map(PathBuf::from);
            let home = home.filter(|home| home.is_absolute() && home.parent().is_some());
            let home = home
                .ok_or_else(|| Error::InvalidUse("a private home needs the variable HOME, a path".into()))?;
            folders.entry(home).or_insert(Folder::Own);
        }
        let mut view = View::of_system(self.has_network);
        // Sorted: a folder comes before what is in it.
        for (path, folder) in &folders {
            if !path.is_absolute() || path.parent().is_none() {
                let text = format!(
                    "a sandbox shows folders by absolute paths, and not all of /: {}",
                    path.display()
                );
                return Err(Error::InvalidUse(text));
            }
            if *folder != Folder::Own {
                is_there(path)?;
            }
            view.show(path, *folder);
        }
        for file in command.needs.iter().map(PathBuf::as_path).chain([program]) {
            let folder =
                file.parent().filter(|folder| self.shows_program_folder && folder.parent().is_some());
            let needed = folder.unwrap_or(file);
            if !view.shows(needed) {
                view.show(needed, Folder::ReadOnly);
            }
        }
        Ok(view)
    }

    /// Where it starts: in the folder that the command names; else in this process's, if it is shown; else in the root.
    fn start_folder(command: &CommandLine, view: &View) -> Result<PathBuf> {
        let current = std::env::current_dir().unwrap_or_else(|_| "/".into());
        match &command.cwd {
            Some(folder) => {
                let folder = current.join(folder);
                if !view.has_folder(&folder) {
                    let text =
                        format!("the folder to start in is not shown in the sandbox: {}", folder.display());
                    return Err(Error::InvalidUse(text));
                }
                if view.shows(&folder) {
                    is_there(&folder)?;
                }
                Ok(folder)
            }
            None if view.shows(&current) => Ok(current),
            None => Ok("/".into()),
        }
    }
}

impl Sandbox for Bwrap {
    fn wrap(&self, mut command: CommandLine) -> Result<CommandLine> {
        let tools = self.tools()?;
        let program = program_of(&command)?;
        self.seccomp.as_deref().map(is_there).transpose()?;
        let view = self.view(&command, &program)?;
        let folder = Self::start_folder(&command, &view)?;
        command.program = program.into();
        let mut options = self.isolation();
        // Here, as they come: after `--clearenv`.
        options.extend(["--args", "3"].map(OsString::from));
        options.extend(view.finish());
        options.extend(["--chdir".into(), folder.into()]);
        options.extend(self.options.iter().cloned());
        entrance::enter(&tools, command, options, self.seccomp.as_deref())
    }
}

/// The names of folders, not what else there may be.
impl fmt::Debug for Bwrap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bwrap")
            .field("program", &self.program)
            .field("folders", &self.folders)
            .field("has_home", &self.has_home)
            .field("has_network", &self.has_network)
            .field("shows_program_folder", &self.shows_program_folder)
            .field("seccomp", &self.seccomp)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

fn is_there(path: &Path) -> Result<()> {
    let about = fs::metadata(path).map(drop);
    about.map_err(|error: io::Error| Error::Transport { context: path.display().to_string(), error })
}
