//! [`FileTurn`]: the right to change a file, of which one process has it at a time.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a change waits for that of another process.
const TURN_TIME: Duration = Duration::from_secs(5);

/// Between two looks whether it is over.
const LOOK: Duration = Duration::from_millis(2);

/// The right to change a file, until it is dropped or the process ends.
pub(super) struct FileTurn {
    /// A name that the kernel gives to one socket at a time, and takes back when its process ends, however that does. std has no
    /// locks of files before Rust 1.89. Nothing is ever sent to it.
    #[cfg(target_os = "linux")]
    _name: std::os::unix::net::UnixDatagram,
    /// A file that stays, and that nobody else can open as long as this has it open. Of systems that are neither Windows nor of the
    /// BSD family it is only seen that another process has changed the file.
    #[cfg(not(target_os = "linux"))]
    _lock: File,
}

impl FileTurn {
    /// # Errors
    /// When others have it for too long, or it cannot be had at all.
    pub(super) fn take(path: &Path) -> io::Result<Self> {
        let begun = Instant::now();
        loop {
            if let Some(turn) = Self::tried(path)? {
                return Ok(turn);
            }
            if begun.elapsed() > TURN_TIME {
                let problem = format!("{}: another process is changing it", path.display());
                return Err(io::Error::new(io::ErrorKind::WouldBlock, problem));
            }
            std::thread::sleep(LOOK);
        }
    }

    #[cfg(target_os = "linux")]
    fn tried(path: &Path) -> io::Result<Option<Self>> {
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::ffi::OsStrExt;
        use std::os::unix::fs::MetadataExt;
        use std::os::unix::net::{SocketAddr, UnixDatagram};

        // By what the folder is, as it may be reached in several ways.
        let folder = path.parent().unwrap_or(Path::new("/")).metadata()?;
        let name = path.file_name().unwrap_or_default().as_bytes();
        let name = format!("tinymcp-grants/{:x}:{:x}/{:016x}", folder.dev(), folder.ino(), hash(name));
        match UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?) {
            Ok(socket) => Ok(Some(Self { _name: socket })),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
            Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn tried(path: &Path) -> io::Result<Option<Self>> {
        let lock = beside(path, "lock");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(any(target_os = "macos", target_os = "freebsd", target_os = "netbsd", target_os = "openbsd"))]
        {
            use std::os::unix::fs::OpenOptionsExt;
            // O_EXLOCK | O_NONBLOCK: locked as it is opened, or refused at once.
            options.mode(0o600).custom_flags(0x20 | 0x4);
        }
        #[cfg(windows)]
        std::os::windows::fs::OpenOptionsExt::share_mode(&mut options, 0);
        match options.open(&lock) {
            Ok(lock) => Ok(Some(Self { _lock: lock })),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            // ERROR_SHARING_VIOLATION.
            Err(error) if cfg!(windows) && error.raw_os_error() == Some(32) => Ok(None),
            Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", lock.display()))),
        }
    }
}

/// FNV-1a: the same in every version of every program, as std's is not.
#[cfg(target_os = "linux")]
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, b| (hash ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

/// A new file, for its owner alone.
pub(super) fn own_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// `path` with `.what` at its end.
pub(super) fn beside(path: &Path, what: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{what}"));
    path.with_file_name(name)
}
