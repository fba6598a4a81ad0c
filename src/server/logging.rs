//! Log messages to clients: that there are some, and which ones a Legacy client wants.

use super::ServerHandle;
use super::asked::Asked;
use super::feature::Feature;
use crate::context::log_params;
use crate::json::{Json, Object};
use crate::jsonrpc::ErrorObject;
use crate::method::Method;
use crate::peer::Served;
use crate::protocol::{LogLevel, ProtocolVersion, ServerCapabilities};

pub(super) struct Logging;

impl Feature for Logging {
    fn methods(&self) -> &'static [Method] {
        &[Method::LoggingSetLevel]
    }

    fn is_quick(&self, _: Method) -> bool {
        true
    }

    fn declare(&self, capabilities: &mut ServerCapabilities, _: &ProtocolVersion) {
        // spec: 2026-07-28 server/utilities/logging#capabilities (MUST be declared by a server that sends messages)
        capabilities.logging = Some(Object::new());
    }

    fn serve(&self, asked: Asked<'_>, out: &mut Vec<u8>) -> Served {
        Served::Answered(set_level(asked, out))
    }
}

fn set_level(mut asked: Asked<'_>, out: &mut Vec<u8>) -> Result<(), ErrorObject> {
    // spec: 2025-11-25 server/utilities/logging#error-handling (another word is -32602)
    let level: LogLevel = asked.param("level")?;
    if let Some(client) = asked.legacy() {
        client.log_threshold.set(level);
    }
    asked.write_lowered(out, &Json::empty_object())
}

impl ServerHandle {
    /// Sends a log message that belongs to no request, if the server was built with
    /// [`logging`](super::ServerBuilder::logging): to every client with a handshake that wants messages of this level.
    /// Modern clients get messages for their requests only, by [`Context::log`](crate::Context::log).
    ///
    /// Never waits for a client: a message that one has no room for is dropped. Data over 64 KiB is cut off.
    ///
    /// ```
    /// use tinymcp::Server;
    /// use tinymcp::protocol::LogLevel;
    ///
    /// let server = Server::builder("notes", "1.0.0").logging().build()?;
    /// let handle = server.handle(); // for a thread that watches the disk
    /// handle.log(LogLevel::Warning, "disk", "nearly full");
    /// # Ok::<(), tinymcp::Error>(())
    /// ```
    pub fn log<'a>(&self, level: LogLevel, logger: impl Into<Option<&'a str>>, data: impl Into<Json>) {
        self.send_log(level, logger.into(), data.into());
    }

    fn send_log(&self, level: LogLevel, logger: Option<&str>, data: Json) {
        // spec: 2026-07-28 server/utilities/logging#per-request-log-level (a message belongs to a request)
        let outlets = self.changes.outlets(|client| client.log_threshold.admits(level));
        if outlets.is_empty() {
            return;
        }
        let params = log_params(level, logger, data);
        for outlet in outlets {
            if let Err(reason) = outlet.post(None, Method::LogMessage.name(), Some(&params)) {
                log::debug!("dropped a log message of the server: {reason:?}");
            }
        }
    }
}
