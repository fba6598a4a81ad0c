//! The keys of `_meta`: which are reserved, and how one is spelled.

use crate::jsonrpc::RequestId;

/// Tells progress notifications of one request from those of another: a string or an integer, chosen by the
/// sender of the request.
///
/// spec: 2026-07-28 basic/patterns/progress#progress-flow (a string or integer)
pub type ProgressToken = RequestId;

/// In a request: the revision it speaks. Its presence makes a request a Modern one.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// In a request: which software the client is.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// In a request: what the client can do for the server meanwhile.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// In a request: the least severe log messages to send; absent means none.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// In a notification: the id of the `subscriptions/listen` request it belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// In a result: which software the server is.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// In a message of 2025-11-25: the task it belongs to.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// In the result that a task of 2025-11-25 was made: what to tell the model meanwhile.
pub const MODEL_IMMEDIATE_RESPONSE: &str = "io.modelcontextprotocol/model-immediate-response";
/// In a request: asks for progress notifications that carry this token.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// W3C Trace Context: the caller's span.
pub const TRACEPARENT: &str = "traceparent";
/// W3C Trace Context: vendor data.
pub const TRACESTATE: &str = "tracestate";
/// W3C Baggage.
pub const BAGGAGE: &str = "baggage";

/// Whether `key` is spelled as the specification asks of a `_meta` key.
///
/// ```
/// use tinymcp::protocol::meta::is_valid_key;
///
/// assert!(is_valid_key("com.example/trace-id") && is_valid_key("trace_id"));
/// assert!(!is_valid_key("-trace") && !is_valid_key("1.example/trace"));
/// ```
#[must_use]
pub fn is_valid_key(key: &str) -> bool {
    // spec: 2026-07-28 basic/index#meta
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    prefix.is_none_or(|prefix| prefix.split('.').all(is_label)) && is_name(name)
}

/// Whether `key` is set aside for the specification and its official extensions. Applications use
/// a prefix of their own, such as `com.example/`.
///
/// ```
/// use tinymcp::protocol::meta::is_reserved_key;
///
/// assert!(is_reserved_key("dev.mcp/anything") && is_reserved_key("progressToken"));
/// assert!(!is_reserved_key("com.example.mcp/anything"));
/// ```
#[must_use]
pub fn is_reserved_key(key: &str) -> bool {
    // spec: 2026-07-28 basic/index#meta (the second label decides)
    match key.split_once('/') {
        Some((prefix, _)) => matches!(prefix.split('.').nth(1), Some("modelcontextprotocol" | "mcp")),
        None => matches!(key, PROGRESS_TOKEN | TRACEPARENT | TRACESTATE | BAGGAGE),
    }
}

/// Starts with a letter, ends with a letter or digit, hyphens in between.
fn is_label(label: &str) -> bool {
    label.starts_with(|c: char| c.is_ascii_alphabetic())
        && label.ends_with(|c: char| c.is_ascii_alphanumeric())
        && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Empty, or letters and digits with `-`, `_` and `.` in between.
fn is_name(name: &str) -> bool {
    let edge = |c: char| c.is_ascii_alphanumeric();
    name.is_empty()
        || name.starts_with(edge)
            && name.ends_with(edge)
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_follow_the_naming_rules() {
        let cases = [
            // key, valid, reserved
            ("progressToken", true, true),
            ("traceparent", true, true),
            ("mine", true, false),
            ("a.b_c-d9", true, false),
            ("", true, false),
            ("com.example/", true, false),
            ("io.modelcontextprotocol/protocolVersion", true, true),
            ("org.modelcontextprotocol.api/x", true, true),
            ("com.mcp.tools/x", true, true),
            ("com.example.mcp/x", true, false),
            ("mcp/x", true, false),
            ("/x", false, false),
            ("com..example/x", false, false),
            ("9com/x", false, false),
            ("com-/x", false, false),
            ("com.ex_ample/x", false, false),
            ("com.example/x/y", false, false),
            ("_x", false, false),
            ("x.", false, false),
            ("caf\u{e9}", false, false),
        ];
        for (key, valid, reserved) in cases {
            assert_eq!((is_valid_key(key), is_reserved_key(key)), (valid, reserved), "{key:?}");
        }
    }
}
