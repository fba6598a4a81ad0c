//! Which log messages the server is to send.

use std::borrow::Cow;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::ClientHandle;
use super::call::{CallOptions, settled};
use super::session::{Session, Settled, SettledAgain};
use super::typed::{ask, must_declare};
use crate::error::Result;
use crate::json::{Json, Object};
use crate::method::Method;
use crate::protocol::{LogLevel, meta};
use crate::sync::{Mutex, lock};

/// A server that was started again is told the level once more, and its answer waited for no longer than this.
const RETOLD: Duration = Duration::from_secs(5);

/// The level that was set for the whole client, on whatever connection.
pub(super) struct Level {
    session: Weak<Session>,
    /// Held for a look or an exchange.
    wanted: Mutex<Option<LogLevel>>,
}

impl Level {
    pub(super) fn new(session: Weak<Session>) -> Self {
        Self { session, wanted: Mutex::new(None) }
    }
}

impl SettledAgain for Level {
    fn settled_again(&self) {
        let (Some(session), Some(level)) = (self.session.upgrade(), *lock(&self.wanted)) else { return };
        // Not on a further connection, which would be told by another of these.
        let options = CallOptions::default().with_timeout(RETOLD).with_total(RETOLD).staying();
        let told = settled(&session, &options).and_then(|settled| tell(&session, &settled, level, &options));
        if let Err(e) = told {
            log::warn!("the server was started again and not told the log level {level}: {e}");
        }
    }
}

/// Tells the server, where the revision has a request for that.
fn tell(
    session: &Arc<Session>,
    settled: &Arc<Settled>,
    level: LogLevel,
    options: &CallOptions,
) -> Result<()> {
    if settled.is_modern() {
        return must_declare(settled, "logging", "the log level");
    }
    ask(session, settled, Method::LoggingSetLevel, &[("level", Json::from(level.as_str()))], options)
        .map(drop)
}

impl ClientHandle {
    /// Asks for the server's log messages of `level` and above, from now on and also after a reconnect. They come to
    /// [`on_notification`](super::ClientBuilder::on_notification) as `notifications/message`.
    ///
    /// Up to revision 2025-11-25 the server is told at once. From 2026-07-28 on every later request says it, and the server
    /// sends what belongs to that request; it sends nothing for those that do not say it.
    ///
    /// # Errors
    /// - [`Error::Unsupported`](crate::Error::Unsupported) when the server does not declare that it sends log messages;
    ///   nothing was sent.
    /// - As any call. What was set before stays.
    pub fn set_log_level(&self, level: LogLevel) -> Result<()> {
        self.set_log_level_with(level, &CallOptions::default())
    }

    /// [`set_log_level`](Self::set_log_level) with a timeout, a cancel token or metadata of its own.
    ///
    /// # Errors
    /// As [`set_log_level`](Self::set_log_level).
    pub fn set_log_level_with(&self, level: LogLevel, options: &CallOptions) -> Result<()> {
        let settled = settled(&self.session, options)?;
        let wanted = &self.session.level.wanted;
        // Before it is said: a reconnect meanwhile is to say it, too.
        let before = lock(wanted).replace(level);
        let told = tell(&self.session, &settled, level, options);
        if told.is_err() {
            let mut now = lock(wanted);
            if *now == Some(level) {
                *now = before;
            }
        }
        told
    }
}

impl CallOptions {
    /// Asks for log messages of `level` and above during this call. From revision 2026-07-28 on; before, the level is one of
    /// the connection, and this changes nothing.
    #[must_use]
    pub fn with_log_level(mut self, level: LogLevel) -> Self {
        self.log_level = Some(level);
        self
    }

    /// What a request says in `_meta` beyond what its revision asks for.
    pub(super) fn fields(&self, session: &Session, settled: &Settled, method: &str) -> Cow<'_, Object> {
        let level = match settled.is_modern() {
            true => self.log_level.or_else(|| *lock(&session.level.wanted)),
            false => None,
        };
        let current = || session.config.trace.as_ref().and_then(|current| current(method));
        let trace = self.trace.clone().or_else(current);
        if level.is_none() && trace.is_none() {
            return Cow::Borrowed(&self.meta);
        }
        let mut fields = Object::new();
        if let Some(trace) = trace {
            trace.write(&mut fields);
        }
        if let Some(level) = level {
            fields.insert(meta::LOG_LEVEL, &level);
        }
        // What the call says itself comes last, and counts.
        for (name, value) in self.meta.iter() {
            fields.insert(name, value);
        }
        Cow::Owned(fields)
    }
}
