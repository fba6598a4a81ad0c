//! Log messages to the client of a call, and which thread works for which call.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use super::{Caller, Context, Inner};
use crate::json::Json;
use crate::protocol::{LogLevel, LogMessageParams};

/// The longest data of a log message, as JSON text in bytes. The rest of a text is cut off.
const MAX_DATA_BYTES: usize = 64 * 1024;

/// The least severe messages that a Legacy connection gets. Changed by `logging/setLevel`.
#[derive(Debug)]
pub(crate) struct LogThreshold(AtomicU8);

impl LogThreshold {
    /// Before the client has set a level. `logs` is whether the server sends messages at all.
    pub(crate) fn new(logs: bool) -> Self {
        // spec: 2025-11-25 schema#loggingmessagenotification (before `logging/setLevel` the server MAY decide)
        // A client that knows the feature without setting a level is shown what goes on, but no details.
        let threshold = Self(AtomicU8::new(u8::MAX));
        if logs {
            threshold.set(LogLevel::Info);
        }
        threshold
    }

    pub(crate) fn set(&self, level: LogLevel) {
        self.0.store(level as u8, Ordering::Relaxed);
    }

    pub(crate) fn admits(&self, level: LogLevel) -> bool {
        level as u8 >= self.0.load(Ordering::Relaxed)
    }
}

impl Context {
    /// Sends a log message to the client: how severe it is, which part of the server says it, and what it says, which is a
    /// text or any other value.
    ///
    /// Nothing is sent unless the server was built with [`logging`](crate::server::ServerBuilder::logging) and the client
    /// wants messages of this level; see [`wants_log`](Self::wants_log). Never waits for the client: a message that it has
    /// no room for is dropped, and so is one that comes after the end of the call. Data over 64 KiB is cut off.
    ///
    /// Clients see and keep these messages. They must not hold secrets.
    ///
    /// ```
    /// use serde_json::json;
    /// use tinymcp::protocol::LogLevel;
    ///
    /// # let cx = tinymcp::Context::detached();
    /// cx.info("copied 3 files");
    /// cx.log(LogLevel::Critical, "disk", json!({"free": 0, "path": "/var"}));
    /// ```
    pub fn log<'a>(&self, level: LogLevel, logger: impl Into<Option<&'a str>>, data: impl Into<Json>) {
        if self.wants_log(level) {
            self.send_log(level, logger.into(), data.into());
        }
    }

    /// Whether the client wants log messages of `level`: a Legacy one by `logging/setLevel`, and before that from `Info` on;
    /// a Modern one by what this request says, and without that not at all.
    #[must_use]
    pub fn wants_log(&self, level: LogLevel) -> bool {
        match &self.0.caller {
            Caller::Local => false,
            Caller::Legacy(client) => client.log_threshold.admits(level),
            // spec: 2026-07-28 server/utilities/logging#per-request-log-level (MUST NOT without the field)
            Caller::Modern => self.0.log_level.is_some_and(|least| level >= least),
        }
    }

    /// Has this thread work for this call until the guard is dropped, so that the
    /// [`Bridge`](crate::logging::Bridge) knows to which client its log records go. The thread that a handler runs on does
    /// so already; this is for those that the handler starts.
    ///
    /// ```
    /// # let cx = tinymcp::Context::detached();
    /// let theirs = cx.clone();
    /// std::thread::spawn(move || {
    ///     let _guard = theirs.enter();
    ///     log::info!("half done"); // goes to the client of the call as well
    /// })
    /// .join().expect("no panic");
    /// ```
    #[must_use = "the thread works for the call until this is dropped"]
    pub fn enter(&self) -> Entered {
        Entered::replacing(Some(self.clone()))
    }

    /// The call that this thread works for.
    pub(crate) fn current() -> Option<Self> {
        // Not while the thread ends, and not while it is changed.
        CURRENT.try_with(|current| current.try_borrow().ok()?.clone()).ok().flatten()
    }

    fn send_log(&self, level: LogLevel, logger: Option<&str>, data: Json) {
        let Inner { served: Some((outlet, call)), .. } = &*self.0 else { return };
        let params = log_params(level, logger, data);
        if let Err(reason) = outlet.post(Some(call), "notifications/message", Some(&params)) {
            log::debug!("dropped a log message of request {}: {reason:?}", call.id);
        }
    }
}

macro_rules! short_forms {
    ($($(#[$doc:meta])* $name:ident $level:ident)*) => {
        impl Context {
            $(
                $(#[$doc])*
                pub fn $name(&self, data: impl Into<Json>) {
                    self.log(LogLevel::$level, None, data);
                }
            )*
        }
    };
}
short_forms! {
    /// [`log`](Self::log)s a detail for whoever looks for a mistake.
    debug Debug
    /// [`log`](Self::log)s what goes on.
    info Info
    /// [`log`](Self::log)s what goes on and matters.
    notice Notice
    /// [`log`](Self::log)s what may become an error.
    warning Warning
    /// [`log`](Self::log)s what failed.
    error Error
}

/// The parameters of a log message, as JSON text.
pub(crate) fn log_params(level: LogLevel, logger: Option<&str>, data: Json) -> String {
    let mut params = LogMessageParams::new(level, bounded(data));
    params.logger = logger.map(str::to_owned);
    serde_json::to_string(&params).expect("wire types serialize")
}

/// `data`, or the beginning of it, which is then a text.
fn bounded(data: Json) -> Json {
    let bytes = data.as_str().len();
    if bytes <= MAX_DATA_BYTES {
        return data;
    }
    let text: String = data.to().unwrap_or_else(|_| data.as_str().to_owned());
    let note = format!("… [cut off, {bytes} bytes in all]");
    // What escapes a character takes counts as well.
    let written = |c: char| match c {
        '"' | '\\' => 2,
        '\0'..='\x1f' => 6,
        c => c.len_utf8(),
    };
    let room = MAX_DATA_BYTES - note.len() - 2;
    let end = text.char_indices().scan(0, |used, (at, c)| {
        *used += written(c);
        Some((at, *used))
    });
    let end = end.take_while(|(_, used)| *used <= room).last().map_or(0, |(at, _)| at);
    Json::from(format!("{}{note}", &text[..end]).as_str())
}

thread_local! {
    static CURRENT: RefCell<Option<Context>> = const { RefCell::new(None) };
}

/// While it lives, its thread works for a call: see [`Context::enter`]. Dropping it restores what the thread did before.
#[must_use = "the thread works for the call until this is dropped"]
pub struct Entered {
    before: Option<Context>,
    /// It belongs to its thread.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Entered {
    /// Has this thread work for `context` for now; `None` is nobody in particular.
    pub(crate) fn replacing(context: Option<Context>) -> Self {
        let before = CURRENT.try_with(|current| current.replace(context)).ok().flatten();
        Self { before, _not_send: std::marker::PhantomData }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let before = self.before.take();
        // Dropped outside: the last handle of a call frees other people's things.
        let done = CURRENT.try_with(|current| current.replace(before)).ok();
        drop(done);
    }
}

impl fmt::Debug for Entered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entered").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_data_is_cut_between_characters() {
        let fits = "x".repeat(MAX_DATA_BYTES - 2);
        assert_eq!(bounded(Json::from(fits.as_str())).as_str().len(), MAX_DATA_BYTES);
        for part in ["x", "\u{1}", "\"", "é", "🦀", "\n"] {
            let data = Json::from(part.repeat(MAX_DATA_BYTES).as_str());
            let cut = bounded(data.clone());
            assert!(cut.as_str().len() <= MAX_DATA_BYTES, "{part:?}: {} bytes", cut.as_str().len());
            let text: String = cut.to().expect("a text");
            assert!(text.len() > MAX_DATA_BYTES / 8, "{part:?}: {} bytes are left", text.len());
            assert!(
                text.ends_with(&format!("… [cut off, {} bytes in all]", data.as_str().len())),
                "{part:?}"
            );
        }
        let list = bounded(Json::new(&vec![7; MAX_DATA_BYTES]).expect("JSON"));
        assert!(list.to::<String>().expect("a text").starts_with("[7,7,7,"));
    }

    #[test]
    fn what_a_thread_did_before_is_restored() {
        let (outer, inner) = (Context::detached(), Context::detached());
        let is = |context: &Context| {
            Context::current().is_some_and(|current| std::sync::Arc::ptr_eq(&current.0, &context.0))
        };
        assert!(Context::current().is_none());
        {
            let _outer = outer.enter();
            assert!(is(&outer));
            {
                let _inner = inner.enter();
                assert!(is(&inner));
                let _nobody = Entered::replacing(None);
                assert!(Context::current().is_none());
            }
            assert!(is(&outer));
        }
        assert!(Context::current().is_none());
    }
}
