//! The requests that ask for change notices: `subscriptions/listen`, and those of the Legacy era.

use std::sync::Arc;

use super::Inner;
use super::asked::{Asked, bad_params};
use super::changes::{Lists, MAX_URI_BYTES};
use crate::json::{JsonError, Members};
use crate::jsonrpc::{ErrorObject, write_json};
use crate::method::Method;
use crate::peer::{Call, Outlet, Served};
use crate::protocol::{
    ProtocolVersion, SubscriptionFilter, SubscriptionsAcknowledgedParams, SubscriptionsListenResult,
};

impl Inner {
    /// Opens a subscription: it is acknowledged and stays open.
    pub(super) fn listen(&self, mut asked: Asked<'_>) -> Served {
        match self.open_subscription(&mut asked) {
            Ok(()) => Served::Open,
            Err(error) => Served::Answered(Err(error)),
        }
    }

    fn open_subscription(&self, asked: &mut Asked<'_>) -> Result<(), ErrorObject> {
        let filter = self.honoured(read_filter(asked)?, &asked.version);
        let lists =
            [&filter.tools_list_changed, &filter.prompts_list_changed, &filter.resources_list_changed];
        let lists = lists.map(Option::is_some);
        let (outlet, call) = (asked.serving.outlet, asked.serving.call);
        let uris = filter.resource_subscriptions.clone().unwrap_or_default();
        let mut params = Vec::new();
        write_json(&mut params, &SubscriptionsAcknowledgedParams::new(&call.id, filter));
        let params = String::from_utf8_lossy(&params);
        // spec: 2026-07-28 basic/patterns/subscriptions#acknowledgment (the first message of the subscription)
        let acknowledge = || outlet.post(Some(call), Method::SubscriptionsAcknowledged.name(), Some(&params));
        let connection = asked.connection.number;
        self.changes
            .listen(connection, (outlet, call), (lists, &uris), &acknowledge)
            .map_err(ErrorObject::internal)
    }

    /// The part of `asked` that this server has, each resource once.
    fn honoured(&self, asked: SubscriptionFilter, version: &ProtocolVersion) -> SubscriptionFilter {
        let (lists, resources) = self.told(version);
        let list = |at: usize, asked: Option<bool>| asked.filter(|asked| *asked && lists[at]);
        let mut filter = SubscriptionFilter::default();
        filter.tools_list_changed = list(0, asked.tools_list_changed);
        filter.prompts_list_changed = list(1, asked.prompts_list_changed);
        filter.resources_list_changed = list(2, asked.resources_list_changed);
        filter.resource_subscriptions = asked.resource_subscriptions.filter(|_| resources);
        if let Some(uris) = &mut filter.resource_subscriptions {
            uris.sort_unstable();
            uris.dedup();
        }
        filter
    }

    /// What clients of `version` can be told of: lists, and single resources.
    pub(super) fn told(&self, version: &ProtocolVersion) -> (Lists, bool) {
        let all = self.capabilities(version);
        let lists = [
            all.tools.is_some_and(|tools| tools.list_changed()),
            all.prompts.is_some_and(|prompts| prompts.list_changed()),
            all.resources.as_ref().is_some_and(|resources| resources.list_changed()),
        ];
        (lists, all.resources.is_some_and(|resources| resources.subscribe == Some(true)))
    }

    /// Ends the subscriptions of a connection in good order.
    ///
    /// spec: 2026-07-28 basic/patterns/cancellation (a server that tears a subscription down MUST cancel it),
    /// basic/patterns/subscriptions#graceful-closure (and SHOULD answer the request)
    pub(super) fn end_subscriptions(&self, connection: u64) {
        self.changes.close(connection, &|outlet: &Arc<dyn Outlet>, call: &Arc<Call>| {
            let mut params = br#"{"requestId":"#.to_vec();
            write_json(&mut params, &call.id);
            params.extend_from_slice(br#","reason":"the server is ending"}"#);
            let params = String::from_utf8_lossy(&params);
            if let Err(not_sent) = outlet.post(Some(call), Method::Cancelled.name(), Some(&params)) {
                log::debug!("subscription {} was not cancelled: {not_sent:?}", call.id);
            }
            let mut result = Vec::new();
            match self.config.stamp.write(&mut result, None, &SubscriptionsListenResult::new(&call.id)) {
                Ok(()) => outlet.answer(call, &String::from_utf8_lossy(&result)),
                Err(e) => log::error!("subscription {} has no end: {e}", call.id),
            }
        });
    }

    /// `resources/subscribe` and `resources/unsubscribe`.
    pub(super) fn subscribe(&self, mut asked: Asked<'_>, out: &mut Vec<u8>) -> Result<(), ErrorObject> {
        if !self.told(&asked.version).1 {
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

/// What a client wants to hear. Strict, unlike most reading: what is misread here would be waited for in vain.
fn read_filter(asked: &mut Asked<'_>) -> Result<SubscriptionFilter, ErrorObject> {
    let bad = |error| bad_params(error, Some("notifications"));
    let raw = asked.members.take("notifications").ok_or_else(|| bad(JsonError::new("missing")))?;
    let mut members = Members::of(raw).map_err(bad)?;
    let mut filter = SubscriptionFilter::default();
    filter.tools_list_changed = members.required("toolsListChanged").map_err(bad)?;
    filter.prompts_list_changed = members.required("promptsListChanged").map_err(bad)?;
    filter.resources_list_changed = members.required("resourcesListChanged").map_err(bad)?;
    filter.resource_subscriptions = members.required("resourceSubscriptions").map_err(bad)?;
    for (at, uri) in filter.resource_subscriptions.iter().flatten().enumerate() {
        check_length(uri).map_err(|e| bad(e.at(at).inside("resourceSubscriptions")))?;
    }
    Ok(filter)
}

fn check_length(uri: &str) -> Result<(), JsonError> {
    match uri.len() > MAX_URI_BYTES {
        true => Err(JsonError::new(format!("longer than {MAX_URI_BYTES} bytes"))),
        false => Ok(()),
    }
}
