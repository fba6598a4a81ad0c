//! Answers as a whole: their status and their JSON.

use super::wire::Response;
use crate::jsonrpc::{ErrorCode, ErrorObject, RequestId, begin_result, write_error};

/// A JSON-RPC error with a status of its own.
pub(super) fn error_response(status: u16, id: Option<&RequestId>, error: &ErrorObject) -> Response {
    let mut body = Vec::new();
    write_error(&mut body, id, error);
    json_response(status, body)
}

/// -32600 with a status of its own, to what is not served for a reason of HTTP.
pub(super) fn refusal(status: u16, problem: impl Into<String>) -> Response {
    error_response(status, None, &ErrorObject::new(ErrorCode::INVALID_REQUEST, problem))
}

pub(super) fn json_response(status: u16, body: Vec<u8>) -> Response {
    Response { status, headers: vec![("Content-Type", "application/json".to_owned())], body }
}

/// The answer to a `ping`.
pub(super) fn pong(id: &RequestId) -> Vec<u8> {
    let mut message = Vec::new();
    begin_result(&mut message, Some(id));
    message.extend_from_slice(b"{}}");
    message
}

/// The status of an answer that is this error. An error of the work itself is an answer like any other.
///
/// spec: 2026-07-28 basic/transports/streamable-http#protocol-version-header, #server-validation
pub(super) fn status_of(error: &ErrorObject) -> u16 {
    match error.code {
        ErrorCode::METHOD_NOT_FOUND => 404,
        ErrorCode::PARSE_ERROR
        | ErrorCode::INVALID_REQUEST
        | ErrorCode::HEADER_MISMATCH
        | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
        | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION => 400,
        _ => 200,
    }
}
