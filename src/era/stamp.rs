//! What a Modern message says besides its own content.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::json::{Json, Members, Object};
use crate::jsonrpc::write_json;
use crate::method::Method;
use crate::protocol::{CacheScope, ClientCapabilities, Implementation, ProtocolVersion, meta};

use super::lowered;

/// Writes results with what every Modern result carries: `resultType`, the server's software, and for some methods
/// caching hints. What a result says itself is left alone.
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    server_info: Option<Json>,
    ttl_ms: u64,
    cache_scope: CacheScope,
    /// The members of a result that has neither a `resultType` nor a `_meta` of its own, without the closing brace.
    plain: String,
}

impl Stamp {
    /// The stamp of a server; `None` if it is not to be named. Results are not to be cached unless they say so.
    pub(crate) fn new(server_info: Option<&Implementation>) -> Self {
        let server_info = server_info.and_then(|info| Json::new(info).ok());
        let plain = match &server_info {
            Some(info) => format!(r#""resultType":"complete","_meta":{{"{}":{info}}}"#, meta::SERVER_INFO),
            None => r#""resultType":"complete""#.to_owned(),
        };
        Self { server_info, ttl_ms: 0, cache_scope: CacheScope::Private, plain }
    }

    /// The same with caching hints for results that have none: one scope for all pages of a list.
    ///
    /// spec: 2026-07-28 server/utilities/caching#interaction-with-pagination
    pub(crate) fn with_cache_hints(mut self, ttl_ms: u64, cache_scope: CacheScope) -> Self {
        self.ttl_ms = ttl_ms;
        self.cache_scope = cache_scope;
        self
    }

    /// Appends the members of a result that has some, and neither a `resultType` nor a `_meta` among them, nor caching
    /// hints to be given; before its closing brace. Saves the look at what was written.
    pub(crate) fn append_plain(&self, out: &mut Vec<u8>) {
        out.push(b',');
        out.extend_from_slice(self.plain.as_bytes());
    }

    /// Appends `result`, an object, as the stamped result of `method`.
    ///
    /// # Errors
    /// When `result` cannot be JSON.
    pub(crate) fn write<T: Serialize + ?Sized>(
        &self,
        out: &mut Vec<u8>,
        method: Option<Method>,
        result: &T,
    ) -> Result<(), serde_json::Error> {
        let start = out.len();
        serde_json::to_writer(&mut *out, result)?;
        self.complete(out, start, method);
        Ok(())
    }

    /// Adds what the result of `method` lacks that was appended from `start` on.
    pub(crate) fn complete(&self, out: &mut Vec<u8>, start: usize, method: Option<Method>) {
        // What was written is UTF-8; reading it again costs one pass that looks at no value.
        let stamped = std::str::from_utf8(&out[start..]).ok().and_then(|text| self.additions(method, text));
        match stamped {
            Some(Additions::Append { first, members }) => {
                out.pop();
                if !first {
                    out.push(b',');
                }
                out.extend_from_slice(members.as_bytes());
                out.push(b'}');
            }
            Some(Additions::Replace(object)) => {
                out.truncate(start);
                write_json(out, &object);
            }
            None => {}
        }
    }

    /// What `text` lacks. `None`: it is no object, or lacks nothing.
    fn additions(&self, method: Option<Method>, text: &str) -> Option<Additions> {
        let members = Members::parse(text).ok()?;
        let mut first = true;
        let (mut result_type, mut own_meta, mut ttl, mut scope) = (None::<&RawValue>, None, false, false);
        for (name, value) in members.iter() {
            first = false;
            match name {
                "resultType" => result_type = Some(value),
                "_meta" => own_meta = Some(value),
                "ttlMs" => ttl = true,
                "cacheScope" => scope = true,
                _ => {}
            }
        }
        let complete = result_type.is_none_or(|kind| kind.get() == r#""complete""#);
        // spec: 2026-07-28 server/utilities/caching#cacheable-results (only complete results carry hints)
        let hints = complete && method.is_some_and(Method::is_cacheable);

        let mut add = String::new();
        let mut member = |text: &str| {
            if !add.is_empty() {
                add.push(',');
            }
            add.push_str(text);
        };
        // spec: 2026-07-28 basic/index#responses (resultType), basic/index#meta (serverInfo)
        match (result_type, own_meta, &self.server_info) {
            (None, None, _) => member(&self.plain),
            (Some(_), None, Some(info)) => member(&format!(r#""_meta":{{"{}":{info}}}"#, meta::SERVER_INFO)),
            (None, Some(_), _) => member(r#""resultType":"complete""#),
            _ => {}
        }
        if hints && !ttl {
            member(&format!(r#""ttlMs":{}"#, self.ttl_ms));
        }
        if hints && !scope {
            member(&format!(r#""cacheScope":"{}""#, self.cache_scope));
        }
        match (own_meta, &self.server_info) {
            (Some(own), Some(info)) if lacks_server_info(own) => {
                // The rare case: a `_meta` to be opened.
                let mut whole: Object = serde_json::from_str(text).ok()?;
                let added: Object = serde_json::from_str(&format!("{{{add}}}")).ok()?;
                let mut opened: Object = whole.get("_meta").unwrap_or_default();
                opened.insert(meta::SERVER_INFO, info);
                whole.insert("_meta", &opened);
                for (name, value) in added.iter() {
                    whole.insert(name, value);
                }
                Some(Additions::Replace(whole))
            }
            _ => (!add.is_empty()).then_some(Additions::Append { first, members: add }),
        }
    }
}

/// Writes the parameters of a client's requests with the `_meta` that its revision asks for.
#[derive(Clone, Debug)]
pub(crate) struct RequestStamp {
    /// The members every request carries, without braces. Empty in the Legacy era.
    members: String,
}

impl RequestStamp {
    /// The stamp of the Legacy era, in which the handshake has said everything.
    pub(crate) const fn legacy() -> Self {
        Self { members: String::new() }
    }

    /// The stamp of a client that speaks `version`; `client_info` is `None` if it is not to be named.
    pub(crate) fn new(
        version: &ProtocolVersion,
        client_info: Option<&Implementation>,
        capabilities: &ClientCapabilities,
    ) -> Self {
        if version.is_legacy() {
            return Self::legacy();
        }
        let mut all = Object::new();
        // spec: 2026-07-28 basic/index#meta (the first two are required on every request)
        all.insert(meta::PROTOCOL_VERSION, version);
        all.insert(meta::CLIENT_CAPABILITIES, &lowered(capabilities.clone(), version));
        if let Some(info) = client_info {
            all.insert(meta::CLIENT_INFO, &lowered(info.clone(), version));
        }
        let mut text = Vec::new();
        write_json(&mut text, &all);
        let text = String::from_utf8_lossy(&text);
        // An object, so its text begins and ends with a brace.
        Self { members: text[1..text.len() - 1].to_owned() }
    }

    /// Whether this is the stamp of a Modern client.
    pub(crate) fn is_modern(&self) -> bool {
        !self.members.is_empty()
    }

    /// Appends `"_meta":{…}` made of the era's members, the progress token, and what the application adds; `false` if
    /// there is nothing to say.
    pub(crate) fn write(&self, out: &mut Vec<u8>, progress_token: Option<i64>, own: &Object) -> bool {
        if self.members.is_empty() && progress_token.is_none() && own.is_empty() {
            return false;
        }
        out.extend_from_slice(b"\"_meta\":{");
        out.extend_from_slice(self.members.as_bytes());
        let mut is_first = self.members.is_empty();
        let mut separate = |out: &mut Vec<u8>| {
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
        };
        if let Some(token) = progress_token {
            separate(out);
            out.extend_from_slice(b"\"progressToken\":");
            write_json(out, &token);
        }
        for (name, value) in own.iter() {
            // What the application adds never replaces what the protocol needs.
            if name == meta::PROGRESS_TOKEN || (self.is_modern() && is_fixed(name)) {
                log::debug!("ignored _meta member {name}: the client sets it");
                continue;
            }
            separate(out);
            write_json(out, name);
            out.push(b':');
            out.extend_from_slice(value.as_str().as_bytes());
        }
        out.push(b'}');
        true
    }
}

fn is_fixed(name: &str) -> bool {
    matches!(name, meta::PROTOCOL_VERSION | meta::CLIENT_INFO | meta::CLIENT_CAPABILITIES)
}

fn lacks_server_info(meta: &RawValue) -> bool {
    Members::of(meta).is_ok_and(|members| members.iter().all(|(name, _)| name != meta::SERVER_INFO))
}

enum Additions {
    /// Members to write after those that are there, if there are any.
    Append {
        first: bool,
        members: String,
    },
    Replace(Object),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{CallToolResult, ListToolsResult};
    use serde_json::{Value, json};

    fn stamp<T: Serialize>(method: &str, result: &T) -> Value {
        let stamp = Stamp::new(Some(&Implementation::new("s", "1")));
        let mut out = b"before".to_vec();
        stamp.write(&mut out, Method::from_name(method), result).expect("JSON");
        serde_json::from_slice(out.strip_prefix(b"before").expect("kept")).expect("JSON")
    }

    #[test]
    fn results_get_what_they_lack_and_keep_what_they_have() {
        let info = json!({"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}});
        assert_eq!(stamp("ping", &json!({})), json!({"resultType": "complete", "_meta": info}));
        assert_eq!(
            stamp("tools/call", &CallToolResult::text("a")),
            json!({"content": [{"type": "text", "text": "a"}], "resultType": "complete", "_meta": info})
        );
        assert_eq!(
            stamp("tools/list", &ListToolsResult::new(vec![]).with_ttl_ms(5_u64)),
            json!({"tools": [], "ttlMs": 5, "cacheScope": "private", "resultType": "complete", "_meta": info})
        );
        assert_eq!(
            stamp("resources/read", &json!({"resultType": "input_required", "inputRequests": {}})),
            json!({"resultType": "input_required", "inputRequests": {}, "_meta": info})
        );
    }

    #[test]
    fn a_result_keeps_its_own_metadata() {
        let own = json!({"_meta": {"com.example/a": 1}, "x": 1});
        assert_eq!(
            stamp("tools/list", &own),
            json!({
                "x": 1, "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                "_meta": {"com.example/a": 1, "io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}
            })
        );
        let named = json!({"resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "o", "version": "2"}}});
        assert_eq!(stamp("tools/call", &named), named);
        assert_eq!(stamp("tools/call", &json!([1])), json!([1]));
    }

    #[test]
    fn requests_get_the_metadata_of_their_era() {
        let info = Implementation::new("c", "1");
        let caps = ClientCapabilities::default();
        let modern = RequestStamp::new(&ProtocolVersion::LATEST, Some(&info), &caps);
        let legacy = RequestStamp::new(&ProtocolVersion::LATEST_LEGACY, Some(&info), &caps);
        let mut own = Object::new();
        own.insert("com.example/a", &1);
        own.insert(meta::PROTOCOL_VERSION, "1900-01-01");
        own.insert(meta::PROGRESS_TOKEN, "mine");
        let write = |stamp: &RequestStamp, token: Option<i64>, own: &Object| -> Option<Value> {
            let mut out = b"{".to_vec();
            let wrote = stamp.write(&mut out, token, own);
            out.push(b'}');
            let object: Value = serde_json::from_slice(&out).expect("JSON");
            wrote.then(|| object["_meta"].clone())
        };
        assert_eq!(write(&legacy, None, &Object::new()), None);
        assert_eq!(write(&legacy, Some(7), &Object::new()), Some(json!({"progressToken": 7})));
        let fixed = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        assert_eq!(write(&modern, None, &Object::new()), Some(fixed.clone()));
        let mut all = fixed;
        all["progressToken"] = json!(7);
        all["com.example/a"] = json!(1);
        assert_eq!(write(&modern, Some(7), &own), Some(all));
    }

    #[test]
    fn a_server_may_stay_unnamed() {
        let stamp = Stamp::new(None).with_cache_hints(60_000, CacheScope::Public);
        let mut out = Vec::new();
        stamp.write(&mut out, Some(Method::Discover), &json!({"a": 1})).expect("JSON");
        let text = r#"{"a":1,"resultType":"complete","ttlMs":60000,"cacheScope":"public"}"#;
        assert_eq!(String::from_utf8(out).expect("UTF-8"), text);
    }
}
