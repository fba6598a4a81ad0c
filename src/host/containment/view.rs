//! [`View`]: what of this machine's files a sandbox shows, as options of bwrap.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

/// What beside `/usr` belongs to the system's programs. Where it is a link into `/usr`, it is that in the sandbox.
const SYSTEM: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// What programs need to be found, loaded and shown: no keys, no services' settings.
const ETC: [&str; 8] = [
    "alternatives",
    "group",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "nsswitch.conf",
    "passwd",
];

/// What finding and trusting other machines takes. Not `/etc/ssl` as a whole: it holds private keys, which `root` could read.
const ETC_NETWORK: [&str; 10] = [
    "ca-certificates.conf",
    "gai.conf",
    "host.conf",
    "hosts",
    "pki/ca-trust/extracted",
    "pki/tls/certs",
    "resolv.conf",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
];

/// What a folder of the sandbox is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Folder {
    /// That of this machine, which cannot be written to.
    ReadOnly,
    /// That of this machine.
    Writable,
    /// An empty one in memory, which ends with the sandbox.
    Own,
}

pub(super) struct View {
    options: Vec<OsString>,
    mounts: Vec<(PathBuf, Folder)>,
}

impl View {
    /// The system's programs; own processes and devices.
    pub(super) fn of_system(has_network: bool) -> Self {
        let mut view = Self { options: Vec::new(), mounts: Vec::new() };
        view.show(Path::new("/usr"), Folder::ReadOnly);
        for path in SYSTEM.map(Path::new) {
            match fs::read_link(path) {
                Ok(target) => {
                    view.push([OsStr::new("--symlink"), target.as_os_str(), path.as_os_str()]);
                    view.mounts.push((path.to_owned(), Folder::ReadOnly));
                }
                Err(_) if path.is_dir() => view.show(path, Folder::ReadOnly),
                Err(_) => {}
            }
        }
        let network: &[&str] = if has_network { &ETC_NETWORK } else { &[] };
        let etc = ETC.iter().chain(network).map(|name| Path::new("/etc").join(name));
        etc.filter(|path| path.exists()).for_each(|path| view.show(&path, Folder::ReadOnly));
        // Of its own processes, and read-only: to `root`, whose files they are, `/proc/sys` would be the machine's settings.
        view.push(["--proc", "/proc", "--remount-ro", "/proc"]);
        // No terminal, into which a server could type (TIOCSTI) what the user's shell then runs.
        view.push(["--dev", "/dev", "--ro-bind", "/dev/null", "/dev/tty"]);
        view
    }

    /// Shows `path`, over what was there. What is below it comes after it.
    pub(super) fn show(&mut self, path: &Path, folder: Folder) {
        match folder {
            Folder::ReadOnly => self.push([OsStr::new("--ro-bind"), path.as_os_str(), path.as_os_str()]),
            Folder::Writable => self.push([OsStr::new("--bind"), path.as_os_str(), path.as_os_str()]),
            Folder::Own => self
                .push(["--perms", "1777", "--tmpfs"].map(OsStr::new).into_iter().chain([path.as_os_str()])),
        }
        self.mounts.push((path.to_owned(), folder));
    }

    /// Whether `path` is there as it is outside.
    pub(super) fn shows(&self, path: &Path) -> bool {
        let mounts = self.mounts.iter().filter(|(mount, _)| path.starts_with(mount));
        // Of two at the same place the later is seen.
        let seen = mounts.max_by_key(|(mount, _)| mount.components().count());
        seen.is_some_and(|(_, folder)| *folder != Folder::Own)
    }

    /// Whether something can start in `folder`.
    pub(super) fn has_folder(&self, folder: &Path) -> bool {
        self.shows(folder) || self.mounts.iter().any(|(mount, _)| mount == folder)
    }

    /// The options; nothing can be added to the sandbox's root any more.
    pub(super) fn finish(mut self) -> Vec<OsString> {
        self.push(["--remount-ro", "/"]);
        self.options
    }

    fn push<S: AsRef<OsStr>>(&mut self, options: impl IntoIterator<Item = S>) {
        self.options.extend(options.into_iter().map(|option| option.as_ref().to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_is_what_was_shown_nearest() {
        let mut view = View { options: Vec::new(), mounts: Vec::new() };
        view.show(Path::new("/home/u"), Folder::Own);
        view.show(Path::new("/home/u/work"), Folder::Writable);
        for (path, is_shown, is_folder) in [
            ("/home", false, false),
            ("/home/u", false, true),
            ("/home/u/.ssh", false, false),
            ("/home/u/work", true, true),
            ("/home/u/work/a", true, true),
            ("/home/u/workshop", false, false),
        ] {
            let path = Path::new(path);
            assert_eq!(
                (view.shows(path), view.has_folder(path)),
                (is_shown, is_folder),
                "{}",
                path.display()
            );
        }
        assert_eq!(view.finish().last().expect("options"), "/");
    }

    #[test]
    fn private_keys_and_settings_of_services_are_not_among_what_is_shown() {
        for name in ETC.iter().chain(&ETC_NETWORK) {
            assert!(!["ssl", "ssl/private", "shadow", "ssh", "pki"].contains(name), "{name}");
        }
    }
}
