//! [`Outgoing`]: what a frame is that is to be sent, as far as HTTP needs to know.

use serde_json::value::RawValue;

use super::learned::Learned;
use crate::http::headers::named_by;
use crate::json::{FromJson, Members, string};
use crate::jsonrpc::{BadFrame, Incoming, RequestId};
use crate::method::Method;
use crate::protocol::{ProtocolVersion, meta};

/// A frame, and what was seen in it.
pub(super) struct Outgoing {
    pub(super) frame: Vec<u8>,
    pub(super) what: What,
    /// Empty for a response.
    pub(super) method: String,
    /// What it is about: the name of a tool or prompt, the address of a resource, the id of a task.
    pub(super) name: Option<String>,
    /// The revision of a Modern request; `None` in the Legacy era.
    pub(super) version: Option<String>,
    /// Arguments as headers: whole names, encoded values.
    pub(super) mirrored: Vec<(String, String)>,
    /// It has a cursor, so that its answer is not the beginning of a list.
    pub(super) has_cursor: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Request(RequestId),
    Notification,
    /// The caller has given up this request.
    Cancellation(RequestId),
    Response,
}

impl Outgoing {
    pub(super) fn of(frame: &[u8], learned: &Learned) -> Result<Self, BadFrame> {
        let (what, method, params) = match Incoming::decode(frame)? {
            Incoming::Request { id, method, params } => (What::Request(id), method.into_owned(), params),
            Incoming::Notification { method, params } => (What::Notification, method.into_owned(), params),
            Incoming::Response { .. } => (What::Response, String::new(), None),
        };
        let mut outgoing = Self {
            frame: frame.to_vec(),
            what,
            method,
            name: None,
            version: None,
            mirrored: Vec::new(),
            has_cursor: false,
        };
        if let Some(members) = params.and_then(|params| Members::of(params).ok()) {
            outgoing.look_at(members, learned);
        }
        Ok(outgoing)
    }

    fn look_at(&mut self, mut params: Members<'_>, learned: &Learned) {
        self.version = params.take("_meta").and_then(modern_version);
        let Some(method) = Method::from_name(&self.method) else { return };
        match method {
            Method::ToolsList => self.has_cursor = params.take("cursor").is_some(),
            Method::Cancelled if self.what == What::Notification => {
                if let Some(Ok(id)) = params.take("requestId").map(RequestId::from_json) {
                    self.what = What::Cancellation(id);
                }
            }
            _ => self.name = named_by(method).and_then(|about| text(params.take(about))),
        }
        if let (Method::ToolsCall, Some(name), Some(_)) = (method, &self.name, &self.version) {
            self.mirrored = learned.headers(name, params.take("arguments"));
        }
    }

    pub(super) fn id(&self) -> Option<&RequestId> {
        match &self.what {
            What::Request(id) => Some(id),
            _ => None,
        }
    }

    pub(super) fn is(&self, method: Method) -> bool {
        self.method == method.name()
    }

    /// What is sent after it waits until it was accepted: the server is to know of it then. Nothing depends on the order of
    /// responses, nor on that of cancellations.
    pub(super) fn is_ordered(&self) -> bool {
        self.what == What::Notification
    }
}

/// The revision in the metadata of a Modern request.
fn modern_version(meta: &RawValue) -> Option<String> {
    let version = text(Members::of(meta).ok()?.take(meta::PROTOCOL_VERSION))?;
    (!ProtocolVersion::from(version.as_str()).is_legacy()).then_some(version)
}

fn text(raw: Option<&RawValue>) -> Option<String> {
    string(raw?).ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_told_apart() {
        let learned = Learned::default();
        let modern = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
        let future = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01"}"#;
        let legacy = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}"#;
        let request = |method: &str, params: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{{params}}}}}"#)
        };
        for (frame, what, name, version) in [
            (request("tools/call", &format!(r#""name":"t",{modern}"#)), "request", "t", "2026-07-28"),
            (request("tools/call", &format!(r#""name":"t",{future}"#)), "request", "t", "2031-01-01"),
            (request("tools/call", &format!(r#""name":"t",{legacy}"#)), "request", "t", ""),
            (request("tools/call", r#""name":"t""#), "request", "t", ""),
            (request("tools/call", r#""name":5"#), "request", "", ""),
            (request("prompts/get", r#""name":"p""#), "request", "p", ""),
            (request("resources/read", r#""uri":"a://b","name":"n""#), "request", "a://b", ""),
            (request("tasks/get", r#""taskId":"1""#), "request", "1", ""),
            (request("completion/complete", r#""name":"n""#), "request", "", ""),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#.to_owned(), "request", "", ""),
            (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(), "notification", "", ""),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#.to_owned(),
                "cancellation",
                "",
                "",
            ),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#.to_owned(),
                "notification",
                "",
                "",
            ),
            (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#.to_owned(), "response", "", ""),
            (r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":""}}"#.to_owned(), "response", "", ""),
        ] {
            let found = Outgoing::of(frame.as_bytes(), &learned).expect("a message");
            let kind = match &found.what {
                What::Request(_) => "request",
                What::Notification => "notification",
                What::Cancellation(id) => {
                    assert_eq!(*id, RequestId::from(7));
                    "cancellation"
                }
                What::Response => "response",
            };
            assert_eq!(kind, what, "{frame}");
            assert_eq!(found.name.as_deref().unwrap_or_default(), name, "{frame}");
            assert_eq!(found.version.as_deref().unwrap_or_default(), version, "{frame}");
        }
        assert!(Outgoing::of(b"{}", &learned).is_err());
    }
}
