//! `subscriptions/listen`: one request that stays open, and what it brings.
//!
//! spec: 2026-07-28 basic/patterns/subscriptions

use std::sync::Arc;

use serde_json::value::RawValue;

use super::Inner;
use super::asked::{Asked, bad_params};
use super::changes::{text, write_meta};
use super::feature::Feature;
use crate::json::{FromJson, JsonError, Members};
use crate::jsonrpc::{ErrorObject, write_json};
use crate::method::Method;
use crate::peer::{Call, Outlet, Served};
use crate::protocol::ServerCapabilities;

/// The parameter that holds the filter.
const NOTIFICATIONS: &str = "notifications";

/// The members of a filter that ask for the notices of a list.
const LISTS: [(&str, Method); 3] = [
    ("toolsListChanged", Method::ToolsListChanged),
    ("promptsListChanged", Method::PromptsListChanged),
    ("resourcesListChanged", Method::ResourcesListChanged),
];

/// The one that asks for the notices of single resources.
pub(super) const RESOURCES: &str = "resourceSubscriptions";

/// The one that asks for the notices of tasks.
pub(super) const TASKS: &str = "taskIds";

/// What a client wants to hear, and of that only what the server can tell.
#[derive(Default)]
pub(super) struct Filter {
    told: Vec<Method>,
    /// The resources that are watched; `None` if there can be none, or none were asked for.
    pub(super) uris: Option<Vec<String>>,
    /// The tasks that are watched; likewise.
    pub(super) tasks: Option<Vec<Arc<str>>>,
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
        let told = told(&self.capabilities(&asked.version));
        let raw = asked.members.take(NOTIFICATIONS);
        let filter = read_filter(asked, raw, &told, &self.config.features)?;
        let (outlet, call) = (asked.serving.outlet, asked.serving.call);
        let (honoured, watches) = (filter.told.clone(), filter.uris.is_some());
        // spec: 2026-07-28 basic/patterns/subscriptions#acknowledgment (the first message of the subscription)
        let acknowledge = |uris: &[Arc<str>]| {
            let watched = [(RESOURCES, watches.then_some(uris)), (TASKS, filter.tasks.as_deref())];
            let params = acknowledgement(call, &honoured, watched);
            outlet.post(Some(call), Method::SubscriptionsAcknowledged.name(), text(&params))
        };
        let connection = asked.connection.number;
        let uris = filter.uris.as_deref().unwrap_or_default();
        let tasks = filter.tasks.as_deref().unwrap_or_default();
        self.changes
            .listen(connection, (outlet, call), (filter.told, uris, tasks), &acknowledge)
            .map_err(ErrorObject::internal)
    }

    /// Ends the subscriptions of a connection in good order; `is_shared`: with other messages they share a channel.
    ///
    /// spec: 2026-07-28 basic/patterns/cancellation (a server that tears a subscription down MUST cancel it),
    /// basic/patterns/subscriptions#graceful-closure (and SHOULD answer the request)
    pub(super) fn end_subscriptions(&self, connection: u64, is_shared: bool) {
        self.changes.close(connection, &|outlet: &dyn Outlet, call: &Arc<Call>| {
            let mut json = br#"{"requestId":"#.to_vec();
            write_json(&mut json, &call.id);
            json.extend_from_slice(br#","reason":"the server is ending"}"#);
            if is_shared {
                // Without room for it the answer says the same.
                drop(outlet.post(Some(call), Method::Cancelled.name(), text(&json)));
            }
            json.clear();
            json.push(b'{');
            write_meta(&mut json, &call.id);
            json.push(b'}');
            self.config.stamp.complete(&mut json, 0, None);
            text(&json).into_iter().for_each(|result| outlet.answer(call, Ok(result), false));
        });
    }
}

/// The notices of lists that a server with these capabilities has.
pub(super) fn told(capabilities: &ServerCapabilities) -> Vec<Method> {
    let all = [
        (capabilities.tools.as_ref().is_some_and(|tools| tools.list_changed()), Method::ToolsListChanged),
        (capabilities.prompts.as_ref().is_some_and(|p| p.list_changed()), Method::PromptsListChanged),
        (capabilities.resources.as_ref().is_some_and(|r| r.list_changed()), Method::ResourcesListChanged),
    ];
    let mut told = Vec::new();
    for (is_told, method) in all {
        if is_told {
            told.push(method);
        }
    }
    told
}

/// The parameters that say what is honoured.
fn acknowledgement(call: &Call, told: &[Method], watched: [(&str, Option<&[Arc<str>]>); 2]) -> Vec<u8> {
    let mut out = vec![b'{'];
    write_meta(&mut out, &call.id);
    out.extend_from_slice(br#","notifications":{"#);
    for (name, _) in LISTS.iter().filter(|(_, method)| told.contains(method)) {
        write_json(&mut out, name);
        out.extend_from_slice(b":true,");
    }
    for (name, subjects) in watched {
        let Some(subjects) = subjects else { continue };
        write_json(&mut out, name);
        out.extend_from_slice(b":[");
        for subject in subjects {
            write_json(&mut out, &**subject);
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
fn read_filter(
    asked: &Asked<'_>,
    raw: Option<&RawValue>,
    told: &[Method],
    features: &[Box<dyn Feature>],
) -> Result<Filter, ErrorObject> {
    let members = raw.map_or_else(|| Err(JsonError::new("missing")), Members::of);
    let mut members = members.map_err(bad_filter)?;
    let mut filter = Filter::default();
    for (name, method) in LISTS {
        if is_true(&mut members, name).map_err(bad_filter)? && told.contains(&method) {
            filter.told.push(method);
        }
    }
    for feature in features {
        feature.filter(asked, &mut members, &mut filter)?;
    }
    Ok(filter)
}

/// -32602 for the filter.
pub(super) fn bad_filter(error: JsonError) -> ErrorObject {
    bad_params(error, Some(NOTIFICATIONS))
}

fn is_true(members: &mut Members<'_>, name: &str) -> Result<bool, JsonError> {
    match members.take(name).filter(|raw| raw.get() != "null") {
        Some(raw) => bool::from_json(raw).map_err(|e| e.inside(name)),
        None => Ok(false),
    }
}
