//! [`Bridge`]: the log records of a handler, sent to the client of its call as well.

use std::fmt;

use log::{LevelFilter, Log, Metadata, Record};

use super::Entered;
use crate::context::Context;
use crate::protocol::LogLevel;

/// A logger that passes every record on to another, and those of a handler also to the client of its call, as log messages:
/// the target becomes the name of the logger.
///
/// The thread that runs a handler works for its call; one that a handler starts does so while it holds the guard of
/// [`Context::enter`]. Records of other threads, and those of this crate, go to no client. What a client gets is up to
/// [`Context::log`]: nothing, unless the server was built with [`logging`](crate::server::ServerBuilder::logging).
///
/// A program has one logger, so the bridge is installed in its place and wraps it:
///
/// ```
/// use log::{LevelFilter, Log, Metadata, Record};
/// use tinymcp::logging::Bridge;
///
/// struct Mine;
/// impl Log for Mine {
///     fn enabled(&self, metadata: &Metadata<'_>) -> bool { metadata.level() <= log::Level::Warn }
///     fn log(&self, record: &Record<'_>) {
///         if self.enabled(record.metadata()) { eprintln!("{}", record.args()); }
///     }
///     fn flush(&self) {}
/// }
///
/// Bridge::wrap(Box::new(Mine), LevelFilter::Warn).to_clients(LevelFilter::Info).install()?;
/// # Ok::<(), tinymcp::logging::LoggerTaken>(())
/// ```
pub struct Bridge {
    inner: Box<dyn Log>,
    inner_level: LevelFilter,
    client_level: LevelFilter,
}

impl Bridge {
    /// Wraps `logger`, which gets nothing beyond `level`.
    #[must_use]
    pub fn wrap(logger: Box<dyn Log>, level: LevelFilter) -> Self {
        Self { inner: logger, inner_level: level, client_level: LevelFilter::Debug }
    }

    /// Sends nothing beyond `level` to clients, whatever they ask for. Default: `Debug`, as `Trace` is often more than anybody
    /// outside should see.
    #[must_use]
    pub fn to_clients(mut self, level: LevelFilter) -> Self {
        self.client_level = level;
        self
    }

    /// Makes it the logger of the program.
    ///
    /// # Errors
    /// When the program has a logger already.
    pub fn install(self) -> Result<(), LoggerTaken> {
        let most = self.inner_level.max(self.client_level);
        log::set_boxed_logger(Box::new(self)).map_err(|_| LoggerTaken)?;
        log::set_max_level(most);
        Ok(())
    }

    fn is_for_inner(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= self.inner_level && self.inner.enabled(metadata)
    }

    /// The call to whose client a record goes.
    fn receiver(&self, metadata: &Metadata<'_>) -> Option<Context> {
        if metadata.level() > self.client_level || is_own(metadata.target()) {
            return None;
        }
        Context::current().filter(|cx| cx.wants_log(LogLevel::from(metadata.level())))
    }
}

/// What this crate says is about the connection, not about the work of a handler.
fn is_own(target: &str) -> bool {
    let name = env!("CARGO_PKG_NAME");
    target.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

impl Log for Bridge {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.is_for_inner(metadata) || self.receiver(metadata).is_some()
    }

    fn log(&self, record: &Record<'_>) {
        if self.is_for_inner(record.metadata()) {
            self.inner.log(record);
        }
        if let Some(cx) = self.receiver(record.metadata()) {
            // Sending may log, in a tap for example: that is nobody's record, or there would be no end to it.
            let _nobody = Entered::replacing(None);
            cx.log(LogLevel::from(record.level()), record.target(), record.args().to_string());
        }
    }

    fn flush(&self) {
        self.inner.flush();
    }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge")
            .field("inner_level", &self.inner_level)
            .field("client_level", &self.client_level)
            .finish_non_exhaustive()
    }
}

/// The program has a logger already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "another logger is installed already, and a program has only one: wrap that one in the bridge and install the bridge"
)]
pub struct LoggerTaken;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crate_knows_its_own_records() {
        for (target, own) in [
            ("tinymcp", true),
            ("tinymcp::server::tools", true),
            ("tinymcp_weather", false),
            ("tiny", false),
            ("my::tinymcp", false),
            ("", false),
        ] {
            assert_eq!(is_own(target), own, "{target}");
        }
    }
}
