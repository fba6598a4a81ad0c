//! Log messages that a server sends to its client.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::{FromJson, Json, JsonError, Object, wire};

/// How severe a log message is, by RFC 5424: a later one is more severe than those before it.
///
/// ```
/// use tinymcp::protocol::LogLevel;
///
/// assert!(LogLevel::Error > LogLevel::Warning);
/// assert_eq!(LogLevel::from(log::Level::Warn).as_str(), "warning");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// Details for whoever looks for a mistake.
    Debug,
    /// What goes on.
    Info,
    /// What goes on and matters. Also what a message counts as whose level cannot be read, as for syslog.
    #[default]
    Notice,
    /// What may become an error.
    Warning,
    /// Something failed.
    Error,
    /// A part failed.
    Critical,
    /// Somebody must act at once.
    Alert,
    /// Nothing works.
    Emergency,
}

impl LogLevel {
    /// All levels, the least severe first.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<log::Level> for LogLevel {
    /// RFC 5424 has nothing below `debug`, so `trace` becomes that as well.
    fn from(level: log::Level) -> Self {
        match level {
            log::Level::Error => Self::Error,
            log::Level::Warn => Self::Warning,
            log::Level::Info => Self::Info,
            log::Level::Debug | log::Level::Trace => Self::Debug,
        }
    }
}

impl FromJson for LogLevel {
    /// A word that is none of the eight is an error: nobody can say what it is more severe than.
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        let word = String::from_json(raw)?;
        let known = Self::ALL.into_iter().find(|level| level.as_str() == word);
        known.ok_or_else(|| JsonError::expected("a log level", raw))
    }
}

impl Serialize for LogLevel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

wire::deserialize_through_json!(LogLevel);

wire::wire! {
    /// Parameters of `logging/setLevel`, up to 2025-11-25.
    pub struct SetLevelParams {
        /// The least severe messages to send.
        // spec: 2025-11-25 server/utilities/logging#error-handling (another word is -32602)
        pub level: LogLevel = "level",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// Parameters of `notifications/message`.
    pub struct LogMessageParams {
        /// How severe it is. A word that is no level is read as [`Notice`](LogLevel::Notice): the message matters more.
        pub level: LogLevel = "level" or lenient,
        /// Which part of the server says it.
        pub logger: Option<String> = "logger",
        /// What it says: text, or any other value.
        pub data: Json = "data",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }
}

impl SetLevelParams {
    /// Asks for messages of `level` and above.
    #[must_use]
    pub fn new(level: LogLevel) -> Self {
        Self { level, meta: None, extra: Object::new() }
    }
}

wire::builders!(SetLevelParams {
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl LogMessageParams {
    /// A message: a text, or any other value.
    #[must_use]
    pub fn new(level: LogLevel, data: impl Into<Json>) -> Self {
        Self { level, logger: None, data: data.into(), meta: None, extra: Object::new() }
    }
}

wire::builders!(LogMessageParams {
    /// Says which part of the server says it.
    with_logger => logger: String,
    /// Sets the metadata.
    with_meta => meta: Object,
});

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: FromJson>(text: &str) -> Result<T, String> {
        T::from_json(Json::parse(text).expect("JSON").as_raw()).map_err(|e| e.to_string())
    }

    #[test]
    fn levels_are_ordered_and_spelled_as_in_the_specification() {
        assert!(LogLevel::ALL.is_sorted());
        for level in LogLevel::ALL {
            assert_eq!(read(&format!("\"{level}\"")), Ok(level));
        }
        let levels = log::Level::iter().map(LogLevel::from);
        let expected = [LogLevel::Error, LogLevel::Warning, LogLevel::Info, LogLevel::Debug, LogLevel::Debug];
        assert_eq!(levels.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_unknown_level_cannot_be_set() {
        for (text, expected) in [
            (r#"{"level":"alert"}"#, Ok(SetLevelParams::new(LogLevel::Alert))),
            (r#"{"level":"loud"}"#, Err(r#"level: expected a log level, found "loud""#)),
            (r#"{"level":"INFO"}"#, Err(r#"level: expected a log level, found "INFO""#)),
            (r#"{"level":7}"#, Err("level: expected a string, found 7")),
            (r#"{"level":null}"#, Err("level: expected a string, found null")),
            ("{}", Err("level: missing")),
        ] {
            assert_eq!(read::<SetLevelParams>(text), expected.map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn an_unknown_level_does_not_cost_the_message() {
        let message = |level| LogMessageParams::new(level, "a");
        for (text, expected) in [
            (r#"{"level":"error","data":"a"}"#, Ok(message(LogLevel::Error))),
            (r#"{"level":"error","data":"a","logger":5}"#, Ok(message(LogLevel::Error))),
            (r#"{"level":"loud","data":"a"}"#, Ok(message(LogLevel::Notice))),
            (r#"{"data":"a"}"#, Ok(message(LogLevel::Notice))),
            (r#"{"level":"info","data":null}"#, Ok(LogMessageParams::new(LogLevel::Info, Json::null()))),
            (r#"{"level":"info"}"#, Err("data: missing")),
        ] {
            assert_eq!(read::<LogMessageParams>(text), expected.map_err(str::to_owned), "{text}");
        }
    }
}
