//! The names of the headers of MCP. Header names are compared without case.

use crate::json::shortened;
use crate::method::Method;

/// The revision that is spoken.
pub(super) const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The method of a Modern request.
pub(super) const METHOD: &str = "mcp-method";
/// What a Modern request is about: the name of a tool or prompt, the address of a resource, the id of a task.
pub(super) const NAME: &str = "mcp-name";
/// Begins the names of the headers that mirror arguments.
pub(super) const PARAM_PREFIX: &str = "mcp-param-";
/// The session of a Legacy client.
pub(super) const SESSION_ID: &str = "mcp-session-id";
/// The last event a Legacy client has seen.
pub(super) const LAST_EVENT_ID: &str = "last-event-id";

/// The parameter that [`NAME`] mirrors.
///
/// spec: 2026-07-28 basic/transports/streamable-http#standard-request-headers, seps/2663-tasks-extension
pub(super) fn named_by(method: Method) -> Option<&'static str> {
    Some(match method {
        Method::ToolsCall | Method::PromptsGet => "name",
        Method::ResourcesRead => "uri",
        Method::TasksGet | Method::TasksUpdate | Method::TasksCancel => "taskId",
        _ => return None,
    })
}

/// So many characters of a value are shown in a problem: it is somebody else's, and may be long.
const SHOWN: usize = 100;

/// The beginning of a value, for a problem.
pub(super) fn shown(text: &str) -> String {
    shortened(text, SHOWN)
}

/// The same in quotation marks.
pub(super) fn quoted(text: &str) -> String {
    format!("{:?}", shown(text))
}

/// The one value of the header `name`, if it is there.
///
/// # Errors
/// When there are several.
#[cfg(feature = "http-server")]
pub(super) fn only<'a>(
    values: impl IntoIterator<Item = &'a str>,
    name: &str,
) -> Result<Option<&'a str>, String> {
    let mut values = values.into_iter();
    let first = values.next();
    match values.next() {
        Some(_) => Err(format!("there is more than one {name} header")),
        None => Ok(first),
    }
}
