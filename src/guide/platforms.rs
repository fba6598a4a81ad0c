//! Platforms: where this crate has run, and what differs.
//!
//! Tested on **Linux** alone. On macOS the same code runs, untested. On Windows there are no process groups and no SIGTERM, so that
//! a server which does not exit by itself is ended by force, and what it started is left running; that code has never run.
//!
//! | | Linux | macOS | Windows |
//! |---|---|---|---|
//! | tested | yes | no | no |
//! | closing ends what a server started | yes | yes | no |
//! | a server that does not exit gets SIGTERM first | yes | yes | no |
//! | Ctrl-C in a terminal reaches a child server | no | no | yes |
//! | Unix sockets | yes | yes | no |
//! | a path is kept in its [folder](crate::guard::Root) by | `openat2` | a walk, a part at a time | the same |
//! | a program of a tool ends with [what it started](crate::guard::Program) | yes | yes | no |
//! | a server over HTTP waits for all its connections by | `epoll` | `poll` | `poll` |
//!
//! `poll` is tried on Linux as well. It looks at every connection each time, which is fine for hundreds of them and not for ten thousand.
//!
//! Rust 1.85 or newer. There is one `unsafe` call, `kill(2)` for a process group, which std lacks.
//!
//! ```
//! // The environment variables that a child server gets by default.
//! let names = tinymcp::transport::Environment::base_names();
//! assert!(names.contains(&"PATH") && !names.contains(&"API_KEY"));
//! ```
