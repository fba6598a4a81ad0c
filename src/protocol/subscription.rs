//! `subscriptions/listen` of 2026-07-28: one request that stays open, and the change notices that belong to it.
//!
//! What the specification asks of both sides (`basic/patterns/subscriptions`):
//!
//! - `#notification-filter`: nothing is sent that the filter does not name; an absent member asks for nothing.
//! - `#acknowledgment`: `notifications/subscriptions/acknowledged` is the first message of a subscription, with the part of
//!   the filter that the server honours. Other subscriptions' messages may come between the request and it.
//! - `#receiving-notifications`: every message of a subscription carries the id of its request in `_meta`, under
//!   [`SUBSCRIPTION_ID`](super::meta::SUBSCRIPTION_ID).
//! - `#graceful-closure`: a server that ends a subscription answers the request; one that breaks off has said nothing.
//! - `#cancellation`: a client ends it by cancelling the request, and asks anew after a reconnect.
//!
//! **Invariant:** which subscriptions are open, and who is told what, is decided elsewhere.

use crate::json::{Object, wire};
use crate::jsonrpc::RequestId;

use super::{ResultType, meta};

wire::wire! {
    /// Which change notices a client wants, or a server will send.
    #[derive(Default)]
    pub struct SubscriptionFilter {
        /// `notifications/tools/list_changed`.
        pub tools_list_changed: Option<bool> = "toolsListChanged",
        /// `notifications/prompts/list_changed`.
        pub prompts_list_changed: Option<bool> = "promptsListChanged",
        /// `notifications/resources/list_changed`.
        pub resources_list_changed: Option<bool> = "resourcesListChanged",
        /// `notifications/resources/updated` of the resources with these URIs.
        pub resource_subscriptions: Option<Vec<String>> = "resourceSubscriptions",
        /// `notifications/tasks` of the tasks with these ids: a member that the
        /// [tasks extension](super::task) adds.
        pub task_ids: Option<Vec<String>> = "taskIds",
    }

    /// Parameters of `subscriptions/listen`.
    pub struct SubscriptionsListenParams {
        /// What to send.
        pub notifications: SubscriptionFilter = "notifications",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// Parameters of `notifications/subscriptions/acknowledged`.
    pub struct SubscriptionsAcknowledgedParams {
        /// What will be sent: of what was asked for, the part that the server has.
        pub notifications: SubscriptionFilter = "notifications",
        /// Metadata, with the subscription's id.
        pub meta: Option<Object> = "_meta",
    }

    /// Result of `subscriptions/listen`: the server has ended the subscription in good order.
    pub struct SubscriptionsListenResult {
        /// That it is complete.
        pub result_type: Option<ResultType> = "resultType",
        /// Metadata, with the subscription's id.
        pub meta: Option<Object> = "_meta",
    }

    /// Parameters of `notifications/tools/list_changed`, `notifications/prompts/list_changed` and
    /// `notifications/resources/list_changed`.
    #[derive(Default)]
    pub struct ListChangedParams {
        /// Metadata, from 2026-07-28 on with the subscription's id.
        pub meta: Option<Object> = "_meta",
    }
}

impl SubscriptionFilter {
    /// Whether it names nothing.
    ///
    /// ```
    /// use tinymcp::protocol::SubscriptionFilter;
    ///
    /// let filter = SubscriptionFilter::default();
    /// assert!(filter.is_empty() && filter.clone().with_tools_list_changed(false).is_empty());
    /// assert!(!filter.with_resource_subscriptions(["file:///a".to_owned()]).is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { tools_list_changed, prompts_list_changed, resources_list_changed, .. } = self;
        let lists = [tools_list_changed, prompts_list_changed, resources_list_changed];
        let singles = [&self.resource_subscriptions, &self.task_ids];
        !lists.contains(&&Some(true)) && singles.iter().all(|ids| ids.as_ref().is_none_or(Vec::is_empty))
    }
}

wire::builders!(SubscriptionFilter {
    /// Names changes of the list of tools.
    with_tools_list_changed => tools_list_changed: bool,
    /// Names changes of the list of prompts.
    with_prompts_list_changed => prompts_list_changed: bool,
    /// Names changes of the list of resources.
    with_resources_list_changed => resources_list_changed: bool,
    /// Names resources whose changes matter.
    with_resource_subscriptions => resource_subscriptions: Vec<String>,
    /// Names tasks whose changes matter.
    with_task_ids => task_ids: Vec<String>,
});

impl SubscriptionsListenParams {
    /// Asks for what `notifications` names.
    #[must_use]
    pub fn new(notifications: SubscriptionFilter) -> Self {
        Self { notifications, meta: None, extra: Object::new() }
    }
}

impl SubscriptionsAcknowledgedParams {
    /// That the subscription of the request `id` is open and brings what `notifications` names.
    #[must_use]
    pub fn new(id: &RequestId, notifications: SubscriptionFilter) -> Self {
        Self { notifications, meta: Some(of_subscription(id)), extra: Object::new() }
    }
}

impl SubscriptionsListenResult {
    /// That the subscription of the request `id` has ended.
    #[must_use]
    pub fn new(id: &RequestId) -> Self {
        Self { result_type: None, meta: Some(of_subscription(id)), extra: Object::new() }
    }
}

impl ListChangedParams {
    /// A notice of the subscription that the request `id` opened.
    #[must_use]
    pub fn of_subscription(id: &RequestId) -> Self {
        Self { meta: Some(of_subscription(id)), ..Self::default() }
    }
}

/// The metadata of a message that belongs to the subscription of the request `id`.
///
/// ```
/// use tinymcp::protocol::subscription::{of_subscription, subscription_id};
///
/// assert_eq!(subscription_id(&of_subscription(&7.into())), Some(7.into()));
/// ```
#[must_use]
pub fn of_subscription(id: &RequestId) -> Object {
    let mut object = Object::new();
    object.insert(meta::SUBSCRIPTION_ID, id);
    object
}

/// The request that opened the subscription to which a message with the metadata `meta` belongs.
#[must_use]
pub fn subscription_id(meta: &Object) -> Option<RequestId> {
    meta.get(meta::SUBSCRIPTION_ID)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{FromJson, Json, JsonError};

    fn read<T: FromJson>(text: &str) -> Result<T, JsonError> {
        T::from_json(Json::parse(text).expect("JSON").as_raw())
    }

    #[test]
    fn an_odd_member_costs_itself_and_not_the_others() {
        let params: SubscriptionsListenParams = read(
            r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":"maybe","resourceSubscriptions":"a","new":1}}"#,
        )
        .expect("params");
        let filter = &params.notifications;
        assert_eq!((filter.tools_list_changed, filter.prompts_list_changed), (Some(true), None));
        assert_eq!(filter.resource_subscriptions, None);
        let text = serde_json::to_string(&params).expect("JSON");
        assert_eq!(text, r#"{"notifications":{"toolsListChanged":true,"new":1}}"#);
        assert_eq!(
            read::<SubscriptionsListenParams>("{}").map_err(|e| e.to_string()),
            Err("notifications: missing".to_owned())
        );
    }

    #[test]
    fn every_message_of_a_subscription_names_it() {
        for id in [RequestId::from(1), RequestId::from("1")] {
            let acknowledged = SubscriptionsAcknowledgedParams::new(&id, SubscriptionFilter::default());
            let ended = SubscriptionsListenResult::new(&id);
            let changed = ListChangedParams::of_subscription(&id);
            for meta in [acknowledged.meta, ended.meta, changed.meta] {
                assert_eq!(subscription_id(&meta.expect("metadata")), Some(id.clone()));
            }
        }
        assert_eq!(subscription_id(&Object::new()), None);
    }
}
