//! The metadata of a request, and with it the request's era.

use serde_json::value::RawValue;

use super::Offered;
use crate::json::{FromJson, Json, JsonError, Members, Object, string};
use crate::jsonrpc::{ErrorCode, ErrorObject};
use crate::method::Method;
use crate::protocol::{ClientCapabilities, Implementation, LogLevel, ProgressToken, ProtocolVersion, meta};

/// What a request's `_meta` says.
#[derive(Debug, Default)]
pub(crate) struct RequestMeta<'a> {
    /// The revision that a Modern request names. `None`: the request is of the Legacy era, and its connection knows the
    /// rest.
    pub(crate) modern: Option<ProtocolVersion>,
    /// Asks for progress.
    pub(crate) progress_token: Option<ProgressToken>,
    /// The least severe log messages that a Modern request asks for.
    pub(crate) log_level: Option<LogLevel>,
    raw: Option<&'a RawValue>,
}

impl RequestMeta<'_> {
    /// The rest, for the handler.
    pub(crate) fn keep(&self) -> KeptMeta {
        KeptMeta(self.raw.map(Json::of_frame))
    }
}

/// The `_meta` of a request as its text, because most handlers never ask.
#[derive(Debug, Default)]
pub(crate) struct KeptMeta(Option<Json>);

impl KeptMeta {
    /// What the client of a Modern request can do during it.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        self.member(meta::CLIENT_CAPABILITIES).unwrap_or_default()
    }

    /// Which software the client of a Modern request is, if it says so in a readable way.
    pub(crate) fn client_info(&self) -> Option<Implementation> {
        self.member(meta::CLIENT_INFO)
    }

    /// What the protocol itself has no use for: trace context, and what applications add.
    pub(crate) fn other(&self) -> Object {
        let mut other =
            self.0.as_ref().and_then(|raw| Object::from_json(raw.as_raw()).ok()).unwrap_or_default();
        for name in [
            meta::PROTOCOL_VERSION,
            meta::CLIENT_CAPABILITIES,
            meta::CLIENT_INFO,
            meta::PROGRESS_TOKEN,
            meta::LOG_LEVEL,
        ] {
            other.remove(name);
        }
        other
    }

    fn member<T: FromJson>(&self, name: &str) -> Option<T> {
        Members::of(self.0.as_ref()?.as_raw()).ok()?.lenient(name)
    }
}

/// Reads the `_meta` of a request and tells its era.
///
/// Modern is a request that names its revision in `_meta`, or ought to: one that carries other members of
/// Modern metadata, a method that only Modern revisions have, and any request if no Legacy revision is offered.
///
/// # Errors
/// What to answer: -32602 if a required member is missing or malformed, -32022 if the revision is not offered.
pub(crate) fn resolve<'a>(
    method: Option<Method>,
    meta: Option<&'a RawValue>,
    offered: &Offered,
) -> Result<RequestMeta<'a>, ErrorObject> {
    let invalid = |e: JsonError| ErrorObject::invalid_params(e.inside("_meta").inside("params"));
    let meta = meta.filter(|raw| raw.get() != "null");
    let mut members = meta.map(Members::of).transpose().map_err(invalid)?;
    let mut take = |name: &str| members.as_mut().and_then(|members| members.take(name));

    // To a server without Modern revisions these members mean nothing.
    let offers_modern = offered.latest().is_modern();
    let version = take(meta::PROTOCOL_VERSION).filter(|_| offers_modern);
    let capabilities = take(meta::CLIENT_CAPABILITIES);
    let client_info = take(meta::CLIENT_INFO);
    let progress_token = take(meta::PROGRESS_TOKEN).and_then(read_token);
    let log_level = take(meta::LOG_LEVEL).filter(|raw| raw.get() != "null");

    let must_be_modern = || {
        offers_modern
            && (capabilities.is_some()
                || client_info.is_some()
                || method.is_some_and(|method| method.revisions().0.is_modern())
                || offered.latest_legacy().is_none())
    };
    let modern = match version {
        None if !must_be_modern() => None,
        // spec: 2026-07-28 basic/index#meta (a request without a required field is malformed: -32602)
        None => return Err(invalid(JsonError::new("missing").inside(meta::PROTOCOL_VERSION))),
        Some(version) => {
            let version = string(version).map_err(|e| invalid(e.inside(meta::PROTOCOL_VERSION)))?;
            let version = ProtocolVersion::from(version.as_ref());
            // Before the other members are judged: which of them are required depends on the revision.
            // spec: 2026-07-28 basic/versioning#protocol-version-negotiation (-32022 with the versions that are served)
            if !version.is_modern() || !offered.contains(&version) {
                return Err(unsupported_version(&version, offered));
            }
            capabilities
                .ok_or_else(|| JsonError::new("missing"))
                .and_then(object)
                .map_err(|e| invalid(e.inside(meta::CLIENT_CAPABILITIES)))?;
            Some(version)
        }
    };
    // To a Legacy request it means nothing.
    // spec: 2026-07-28 server/utilities/logging#error-handling (SHOULD be -32602 if it is no level)
    let log_level = log_level.filter(|_| modern.is_some()).map(LogLevel::from_json).transpose();
    let log_level = log_level.map_err(|e| invalid(e.inside(meta::LOG_LEVEL)))?;
    Ok(RequestMeta { modern, progress_token, log_level, raw: meta })
}

fn object(raw: &RawValue) -> Result<&RawValue, JsonError> {
    if raw.get().starts_with('{') { Ok(raw) } else { Err(JsonError::expected("an object", raw)) }
}

/// A token of the wrong type costs the progress, not the request.
fn read_token(raw: &RawValue) -> Option<ProgressToken> {
    if raw.get() == "null" {
        return None;
    }
    ProgressToken::from_json(raw)
        .map_err(|e| log::debug!("ignored a progress token: {}", e.inside(meta::PROGRESS_TOKEN)))
        .ok()
}

/// -32022: the request's revision is not served.
pub(crate) fn unsupported_version(requested: &ProtocolVersion, offered: &Offered) -> ErrorObject {
    // spec: 2026-07-28 schema#unsupportedprotocolversionerror
    // The same as `server/discover` lists: what the request can name instead. Legacy revisions are only for a handshake, and
    // named where there is no other.
    let mut supported: Vec<_> = offered.newest_first().filter(|version| version.is_modern()).collect();
    if supported.is_empty() {
        supported = offered.newest_first().filter(|version| *version != requested).collect();
    }
    unsupported(&format!("unsupported protocol version: {requested}"), requested, &supported)
}

/// -32022 to an `initialize` of a server that has no revision with a handshake. Such a client may have asked for a revision
/// that is served, only not like this: all of them are named.
pub(crate) fn no_handshake(requested: &ProtocolVersion, offered: &Offered) -> ErrorObject {
    let supported: Vec<_> = offered.newest_first().collect();
    unsupported("no supported protocol version has an initialize request", requested, &supported)
}

fn unsupported(problem: &str, requested: &ProtocolVersion, supported: &[&ProtocolVersion]) -> ErrorObject {
    let mut data = Object::new();
    data.insert("supported", supported);
    data.insert("requested", requested);
    let names = supported.iter().map(|version| version.as_str()).collect::<Vec<_>>().join(", ");
    let message = format!("{problem}, supported: {names}");
    ErrorObject::new(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION, message).with_data(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const VERSION: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    const CAPABILITIES: &str = r#""io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}"#;

    fn run(method: &str, meta: Option<&str>, offered: &Offered) -> Result<RequestMeta<'static>, ErrorObject> {
        // Leaked, so that the table below need not hold on to its texts.
        let meta = meta.map(|text| serde_json::from_str(text.to_owned().leak()).expect("JSON"));
        resolve(Method::from_name(method), meta, offered)
    }

    #[test]
    fn the_era_is_told_by_the_metadata_of_the_request() {
        let all = Offered::default();
        let modern = run("tools/call", Some(&format!("{{{VERSION},{CAPABILITIES}}}")), &all).expect("Modern");
        assert_eq!(modern.modern, Some(ProtocolVersion::V2026_07_28));
        assert!(modern.keep().capabilities().elicitation.is_some());
        assert_eq!(modern.keep().client_info(), None);
        for meta in [None, Some("null"), Some("{}"), Some(r#"{"progressToken":7}"#)] {
            let legacy = run("tools/call", meta, &all).expect("Legacy");
            assert!(legacy.modern.is_none(), "{meta:?}");
        }
    }

    #[test]
    fn everything_a_request_says_is_kept() {
        let meta = format!(
            r#"{{{VERSION},{CAPABILITIES},"io.modelcontextprotocol/clientInfo":{{"name":"c","version":"1"}},
            "io.modelcontextprotocol/logLevel":"info","progressToken":"p","traceparent":"00-1","com.example/x":[1]}}"#
        );
        let got = run("tools/list", Some(&meta), &Offered::default()).expect("Modern");
        assert_eq!(got.progress_token, Some("p".into()));
        assert_eq!(got.log_level, Some(LogLevel::Info));
        assert_eq!(
            got.keep().other().iter().map(|(name, _)| name).collect::<Vec<_>>(),
            ["com.example/x", "traceparent"]
        );
        assert_eq!(got.keep().client_info(), Some(Implementation::new("c", "1")));
    }

    #[test]
    fn what_is_missing_or_malformed_is_named() {
        let all = Offered::default();
        let no_legacy = Offered::new(&[ProtocolVersion::V2026_07_28]).expect("one");
        let at = "params._meta.io.modelcontextprotocol/";
        for (method, meta, offered, code, message) in [
            ("tools/call", "5", &all, -32602, "params._meta: expected an object, found 5".to_owned()),
            ("tools/call", "{}", &no_legacy, -32602, format!("{at}protocolVersion: missing")),
            ("server/discover", "{}", &all, -32602, format!("{at}protocolVersion: missing")),
            ("subscriptions/listen", "null", &all, -32602, format!("{at}protocolVersion: missing")),
            (
                "tools/call",
                &format!("{{{CAPABILITIES}}}"),
                &all,
                -32602,
                format!("{at}protocolVersion: missing"),
            ),
            (
                "tools/call",
                r#"{"io.modelcontextprotocol/protocolVersion":20260728}"#,
                &all,
                -32602,
                format!("{at}protocolVersion: expected a string, found 20260728"),
            ),
            (
                "tools/call",
                &format!("{{{VERSION}}}"),
                &all,
                -32602,
                format!("{at}clientCapabilities: missing"),
            ),
            (
                "tools/call",
                &format!(r#"{{{VERSION},"io.modelcontextprotocol/clientCapabilities":[]}}"#),
                &all,
                -32602,
                format!("{at}clientCapabilities: expected an object, found []"),
            ),
            (
                "tools/call",
                r#"{"io.modelcontextprotocol/protocolVersion":"1900-01-01"}"#,
                &no_legacy,
                -32022,
                "unsupported protocol version: 1900-01-01, supported: 2026-07-28".to_owned(),
            ),
        ] {
            let error = run(method, Some(meta), offered).expect_err(meta);
            assert_eq!((error.code, error.message), (code, message), "{meta}");
        }
    }

    #[test]
    fn an_unsupported_version_names_the_supported_ones() {
        let error = run(
            "tools/call",
            Some(r#"{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}"#),
            &Offered::new(&[ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28]).expect("two"),
        )
        .expect_err("Legacy has no request metadata");
        let data = error.data.expect("data").to_value();
        assert_eq!(data, json!({"supported": ["2026-07-28"], "requested": "2025-11-25"}));
    }
}
