//! The requests that ask for change notices: `subscriptions/listen`, and those of the Legacy era.

use std::sync::Arc;

use super::Inner;
use super::asked::{Asked, bad_params};
use super::changes::{text, write_meta};
use crate::json::{FromJson, JsonError, Members};
use crate::jsonrpc::{ErrorObject, write_json};
use crate::method::Method;
use crate::peer::{Call, Outlet, Served};
use crate::protocol::ServerCapabilities;

/// A longer URI is not watched.
const MAX_URI_BYTES: usize = 8 * 1024;

/// The members of a filter that ask for the notices of a list.
const LISTS: [(&str, Method); 3] = [
    ("toolsListChanged", Method::ToolsListChanged),
    ("promptsListChanged", Method::PromptsListChanged),
    ("resourcesListChanged", Method::ResourcesListChanged),
];

/// The one that asks for the notices of single resources.
const RESOURCES: &str = "resourceSubscriptions";

/// What a client wants to hear, and of that only what the server can tell.
struct Filter {
    told: Vec<Method>,
    uris: Vec<String>,
}

impl Inner {
    /// Opens a subscription: it is acknowledged and stays open.
    pub(super) fn listen(&self, mut asked: Asked<'_>) -> Served {
        match self.open_subscription(&mut asked) {
            Ok(()) => Served::Open,
            Err(error) => Served::Answered(Err(error)),
        }
    }

    fn open_subscription(&self, asked: &mut Asked<'_>) -> Result<(), ErrorObject> {
        let filter = read_filter(asked, &told(&self.capabilities(&asked.version)))?;
        let (outlet, call) = (asked.serving.outlet, asked.serving.call);
        let honoured = filter.told.clone();
        // spec: 2026-07-28 basic/patterns/subscriptions#acknowledgment (the first message of the subscription)
        let acknowledge = |uris: &[Arc<str>]| {
            let params = acknowledgement(call, &honoured, uris);
            outlet.post(Some(call), Method::SubscriptionsAcknowledged.name(), text(&params))
        };
        let connection = asked.connection.number;
        self.changes
            .listen(connection, (outlet, call), (filter.told, &filter.uris), &acknowledge)
            .map_err(ErrorObject::internal)
    }

    /// Ends the subscriptions of a connection in good order.
    ///
    /// spec: 2026-07-28 basic/patterns/cancellation (a server that tears a subscription down MUST cancel it),
    /// basic/patterns/subscriptions#graceful-closure (and SHOULD answer the request)
    pub(super) fn end_subscriptions(&self, connection: u64) {
        self.changes.close(connection, &|outlet: &dyn Outlet, call: &Arc<Call>| {
            let mut json = br#"{"requestId":"#.to_vec();
            write_json(&mut json, &call.id);
            json.extend_from_slice(br#","reason":"the server is ending"}"#);
            // Without room for it the answer says the same.
            drop(outlet.post(Some(call), Method::Cancelled.name(), text(&json)));
            json.clear();
            json.push(b'{');
            write_meta(&mut json, &call.id);
            json.push(b'}');
            self.config.stamp.complete(&mut json, 0, None);
            text(&json).into_iter().for_each(|result| outlet.answer(call, Ok(result), false));
        });
    }

    /// `resources/subscribe` and `resources/unsubscribe`.
    pub(super) fn subscribe(&self, mut asked: Asked<'_>, out: &mut Vec<u8>) -> Result<(), ErrorObject> {
        if !told(&self.capabilities(&asked.version)).contains(&Method::ResourcesUpdated) {
            return Err(ErrorObject::method_not_found(asked.method.name()));
        }
        let uri: String = asked.param("uri")?;
        let connection = asked.connection.number;
        if asked.method == Method::ResourcesUnsubscribe {
            self.changes.unsubscribe(connection, &uri);
        } else {
            check_length(&uri).map_err(|e| bad_params(e, Some("uri")))?;
            self.changes.subscribe(connection, &uri).map_err(ErrorObject::internal)?;
        }
        out.extend_from_slice(b"{}");
        Ok(())
    }
}

/// The notices that a server with these capabilities has.
pub(super) fn told(capabilities: &ServerCapabilities) -> Vec<Method> {
    let resources = capabilities.resources.as_ref();
    let all = [
        (capabilities.tools.as_ref().is_some_and(|tools| tools.list_changed()), Method::ToolsListChanged),
        (capabilities.prompts.as_ref().is_some_and(|p| p.list_changed()), Method::PromptsListChanged),
        (resources.is_some_and(|resources| resources.list_changed()), Method::ResourcesListChanged),
        (resources.is_some_and(|resources| resources.subscribe == Some(true)), Method::ResourcesUpdated),
    ];
    all.into_iter().filter(|(is_told, _)| *is_told).map(|(_, method)| method).collect()
}

/// The parameters that say what is honoured.
fn acknowledgement(call: &Call, told: &[Method], uris: &[Arc<str>]) -> Vec<u8> {
    let mut out = vec![b'{'];
    write_meta(&mut out, &call.id);
    out.extend_from_slice(br#","notifications":{"#);
    for (name, _) in LISTS.iter().filter(|(_, method)| told.contains(method)) {
        write_json(&mut out, name);
        out.extend_from_slice(b":true,");
    }
    if told.contains(&Method::ResourcesUpdated) {
        write_json(&mut out, RESOURCES);
        out.extend_from_slice(b":[");
        for uri in uris {
            write_json(&mut out, &**uri);
            out.push(b',');
        }
        close(&mut out, b"],");
    }
    close(&mut out, b"}}");
    out
}

/// Ends a list of members or values, each of which is followed by a comma.
fn close(out: &mut Vec<u8>, end: &[u8]) {
    if out.last() == Some(&b',') {
        out.pop();
    }
    out.extend_from_slice(end);
}

/// What a client wants to hear of what can be `told`. Strict, unlike most reading: what is misread here would be waited for
/// in vain.
fn read_filter(asked: &mut Asked<'_>, told: &[Method]) -> Result<Filter, ErrorObject> {
    let bad = |error: JsonError| bad_params(error, Some("notifications"));
    let raw = asked.members.take("notifications").ok_or_else(|| bad(JsonError::new("missing")))?;
    let mut members = Members::of(raw).map_err(bad)?;
    let mut filter = Filter { told: Vec::new(), uris: Vec::new() };
    for (name, method) in LISTS {
        if is_true(&mut members, name).map_err(bad)? && told.contains(&method) {
            filter.told.push(method);
        }
    }
    if let Some(raw) = members.take(RESOURCES).filter(|raw| raw.get() != "null") {
        let uris = Vec::<String>::from_json(raw).map_err(|e| bad(e.inside(RESOURCES)))?;
        for (at, uri) in uris.iter().enumerate() {
            check_length(uri).map_err(|e| bad(e.at(at).inside(RESOURCES)))?;
        }
        if told.contains(&Method::ResourcesUpdated) {
            filter.told.push(Method::ResourcesUpdated);
            filter.uris = uris;
        }
    }
    Ok(filter)
}

fn is_true(members: &mut Members<'_>, name: &str) -> Result<bool, JsonError> {
    match members.take(name).filter(|raw| raw.get() != "null") {
        Some(raw) => bool::from_json(raw).map_err(|e| e.inside(name)),
        None => Ok(false),
    }
}

fn check_length(uri: &str) -> Result<(), JsonError> {
    match uri.len() > MAX_URI_BYTES {
        true => Err(JsonError::new(format!("longer than {MAX_URI_BYTES} bytes"))),
        false => Ok(()),
    }
}
