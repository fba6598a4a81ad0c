//! Log messages to clients: that there are some, and which ones a Legacy client wants.

use super::asked::Asked;
use super::feature::Feature;
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
