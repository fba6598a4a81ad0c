//! A logger for server binaries, and what this crate logs at which level.
//!
//! The crate writes to the [`log`](https://docs.rs/log) facade and never installs a logger: that is the program's choice.
//! [`init`] is a default for programs that have none. It writes to stderr, as stdout is the protocol.
//!
//! | level | what it means | examples |
//! |---|---|---|
//! | `ERROR` | something was lost | a tool or a callback panicked |
//! | `WARN` | somebody should change something | a stuck thread, a schema that clients refuse, a server that prints to stdout |
//! | `INFO` | never used | |
//! | `DEBUG` | lifecycle, and every message that is ignored, with the reason | a late response, an unknown argument, progress that nobody asked for |
//! | `TRACE` | frames, **unredacted** | only with a [`WireLog`](crate::transport::WireLog) as the tap |
//!
//! Up to `DEBUG`, what a message holds is logged only as a short excerpt of the part that is malformed, and what a tool
//! panicked with. With a `WireLog`, `TRACE` shows everything, secrets included:
//!
//! ```
//! use tinymcp::{Server, transport::WireLog};
//!
//! tinymcp::logging::init();
//! let server = Server::builder("notes", "1.0.0").tap(WireLog::default()).build()?;
//! # let _ = server;
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! A client gives the servers that it starts few of its environment variables, and `RUST_LOG` is none of them: set it by
//! [`ChildProcess::env`](crate::transport::ChildProcess::env), and have the server's stderr shown by
//! [`Stderr::Inherit`](crate::transport::Stderr::Inherit).
//!
//! A server whose clients are to see what its handlers log installs a [`Bridge`]; [`init_bridged`] is the default with one.

mod bridge;

pub use bridge::{Bridge, LoggerTaken};
use env_logger::{Builder, Env, Target};

pub use crate::context::Entered;

/// Logs to stderr what the environment variable `RUST_LOG` asks for, in [`env_logger`'s words]; without it, warnings
/// and errors. Lines have no time and no colour.
///
/// For the `main` of a program. Safe to call more than once, and where another logger is installed already: the first
/// one stays.
///
/// ```
/// tinymcp::logging::init();
/// tinymcp::logging::init();
/// log::warn!("the disk is nearly full");
/// ```
///
/// [`env_logger`'s words]: https://docs.rs/env_logger/0.11/env_logger/#enabling-logging
pub fn init() {
    // The error says that there is a logger: that is what was wanted.
    let _ = stderr().try_init();
}

/// [`init`], and the records of handlers go to the clients of their calls as well: see [`Bridge`].
///
/// ```
/// tinymcp::logging::init_bridged()?;
/// let again = tinymcp::logging::init_bridged().unwrap_err();
/// assert!(again.to_string().contains("a program has only one"));
/// # Ok::<(), tinymcp::logging::LoggerTaken>(())
/// ```
///
/// # Errors
/// When the program has a logger already.
pub fn init_bridged() -> Result<(), LoggerTaken> {
    let logger = stderr().build();
    let level = logger.filter();
    Bridge::wrap(Box::new(logger), level).install()
}

fn stderr() -> Builder {
    let filter = Env::default().default_filter_or("warn");
    let mut builder = Builder::from_env(filter);
    builder.target(Target::Stderr);
    builder
}
