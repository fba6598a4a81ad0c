//! One file, one log: a second one is refused, whichever process it is in.
//!
//! **Invariant:** whatever holds the file is given back by the operating system when its process ends, however that ends.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

/// A file whose log was dropped may be held for so long: a child of this process that is just being started has all that its parent
/// has, until its program runs.
#[cfg(target_os = "linux")]
const LET_GO: Duration = Duration::from_millis(250);

/// Holds a file for as long as it lives.
pub(super) struct Held {
    /// A name that the kernel gives to one socket at a time. std has no file locks before Rust 1.89, and a file that says who
    /// holds another outlives a process that is killed. Nothing is ever sent to it.
    #[cfg(target_os = "linux")]
    _name: std::os::unix::net::UnixDatagram,
}

impl Held {
    /// Holds the file `name` in the folder `parent`, across its rotations.
    ///
    /// # Errors
    /// [`io::ErrorKind::ResourceBusy`] when it is held already.
    #[cfg(target_os = "linux")]
    pub(super) fn take(parent: &Path, name: &std::ffi::OsStr) -> io::Result<Self> {
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::ffi::OsStrExt;
        use std::os::unix::fs::MetadataExt;
        use std::os::unix::net::{SocketAddr, UnixDatagram};

        // By what the folder is, as it may be reached in several ways. The file may be another one after a rotation.
        let folder = parent.metadata()?;
        let name =
            format!("tinymcp-audit/{:x}:{:x}/{:016x}", folder.dev(), folder.ino(), hash(name.as_bytes()));
        let name = SocketAddr::from_abstract_name(name)?;
        let begun = Instant::now();
        loop {
            match UnixDatagram::bind_addr(&name) {
                Ok(socket) => return Ok(Self { _name: socket }),
                Err(e) if e.kind() == io::ErrorKind::AddrInUse && begun.elapsed() < LET_GO => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(e) if e.kind() == io::ErrorKind::AddrInUse => return Err(in_use()),
                Err(e) => {
                    return Err(io::Error::new(e.kind(), format!("cannot be held for this process: {e}")));
                }
            }
        }
    }

    /// Elsewhere opening the file holds it, see [`exclusive`].
    #[cfg(not(target_os = "linux"))]
    pub(super) fn take(_: &Path, _: &std::ffi::OsStr) -> io::Result<Self> {
        Ok(Self {})
    }
}

fn in_use() -> io::Error {
    io::Error::new(io::ErrorKind::ResourceBusy, "in use by another audit log")
}

/// FNV-1a: the same in every version of every program, as std's is not.
#[cfg(target_os = "linux")]
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, b| (hash ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

/// How a file is opened that nobody else may have open for writing.
pub(super) fn exclusive(options: &mut OpenOptions) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // What is logged is nobody else's business.
        options.mode(0o600);
    }
    #[cfg(any(target_os = "macos", target_os = "freebsd", target_os = "netbsd", target_os = "openbsd"))]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // O_EXLOCK | O_NONBLOCK: locked as it is opened, or refused at once.
        options.custom_flags(0x20 | 0x4);
    }
    #[cfg(windows)]
    {
        use std::os::windows::fs::OpenOptionsExt;
        // FILE_SHARE_READ | FILE_SHARE_DELETE: others may read, and it may be renamed when it is rotated.
        options.share_mode(1 | 4);
    }
    let _ = options;
}

/// The same error, in the same words wherever the file was found to be held.
pub(super) fn held_elsewhere(error: io::Error) -> io::Error {
    // EWOULDBLOCK of O_EXLOCK; ERROR_SHARING_VIOLATION.
    let is_held =
        error.kind() == io::ErrorKind::WouldBlock || cfg!(windows) && error.raw_os_error() == Some(32);
    if is_held { in_use() } else { error }
}
