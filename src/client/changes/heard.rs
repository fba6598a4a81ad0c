//! [`Heard`]: a notice of change as it came, read once.

use serde_json::value::RawValue;

use super::filter::Filter;
use crate::json::{FromJson, Members};
use crate::jsonrpc::RequestId;
use crate::method::Method;
use crate::peer::own_id;
use crate::protocol::meta;
use crate::protocol::subscription::SubscriptionFilter;

/// A list whose changes are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Tools,
    Prompts,
    Resources,
}

/// What a notice says.
#[derive(Debug, PartialEq)]
pub(super) enum News {
    /// A subscription is open; `None`: for what, cannot be read.
    Acknowledged(Option<Filter>),
    List(List),
    Resource(String),
}

/// A notice that has to do with changes.
#[derive(Debug, PartialEq)]
pub(super) struct Heard {
    pub(super) news: News,
    /// The request of ours that it names as the subscription it belongs to.
    pub(super) stream: Option<i64>,
}

impl Heard {
    /// Reads a notice; `None` if it is another one, or says nothing that can be read.
    pub(super) fn of(method: &str, params: Option<&RawValue>) -> Option<Self> {
        let method = Method::from_name(method)?;
        if !matches!(
            method,
            Method::ToolsListChanged
                | Method::PromptsListChanged
                | Method::ResourcesListChanged
                | Method::ResourcesUpdated
                | Method::SubscriptionsAcknowledged
        ) {
            return None;
        }
        let mut members = params.and_then(|raw| Members::of(raw).ok()).unwrap_or_default();
        // spec: 2026-07-28 basic/patterns/subscriptions#receiving-notifications (told apart by this member)
        let stream = members.take("_meta").and_then(|raw| Members::of(raw).ok()?.take(meta::SUBSCRIPTION_ID));
        let stream = stream.and_then(|raw| own_id(&RequestId::from_json(raw).ok()?));
        let news = match method {
            Method::ToolsListChanged => News::List(List::Tools),
            Method::PromptsListChanged => News::List(List::Prompts),
            Method::ResourcesListChanged => News::List(List::Resources),
            Method::ResourcesUpdated => News::Resource(members.lenient("uri")?),
            _ => {
                let honoured = members.lenient::<SubscriptionFilter>("notifications");
                News::Acknowledged(honoured.as_ref().map(Filter::of_wire))
            }
        };
        Some(Self { news, stream })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    fn heard(method: &str, params: &str) -> Option<Heard> {
        Heard::of(method, Some(Json::parse(params).expect("JSON").as_raw()))
    }

    #[test]
    fn notices_are_read_leniently() {
        let list = |list, stream| Some(Heard { news: News::List(list), stream });
        let tools = "notifications/tools/list_changed";
        let of = |id: &str| {
            heard(tools, &format!(r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}"#))
        };
        assert_eq!(Heard::of(tools, None), list(List::Tools, None));
        for (id, stream) in
            [("7", Some(7)), (r#""7""#, Some(7)), (r#""07""#, None), ("null", None), ("[7]", None)]
        {
            assert_eq!(of(id), list(List::Tools, stream), "{id}");
        }
        assert_eq!(heard(tools, "[1]"), list(List::Tools, None));
        assert_eq!(heard("notifications/prompts/list_changed", r#"{"_meta":5}"#), list(List::Prompts, None));
        let updated = "notifications/resources/updated";
        let resource = Heard { news: News::Resource("a:b".into()), stream: None };
        assert_eq!(heard(updated, r#"{"uri":"a:b","title":1}"#), Some(resource));
        for nothing in [r#"{"uri":5}"#, "{}", "null"] {
            assert_eq!(heard(updated, nothing), None, "{nothing}");
        }
        assert_eq!(heard("notifications/message", "{}"), None);
        assert_eq!(heard("notifications/tools/List_changed", "{}"), None);
    }

    #[test]
    fn an_acknowledgement_that_cannot_be_read_is_one() {
        let acknowledged = |params: &str| {
            let heard = heard("notifications/subscriptions/acknowledged", params).expect("one");
            let News::Acknowledged(filter) = heard.news else { panic!("{heard:?}") };
            filter
        };
        let some =
            acknowledged(r#"{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}}"#);
        assert_eq!(some, Some(Filter::new().tools().resource("a:b")));
        assert_eq!(acknowledged(r#"{"notifications":{}}"#), Some(Filter::new()));
        for odd in ["{}", r#"{"notifications":true}"#, "[]"] {
            assert_eq!(acknowledged(odd), None, "{odd}");
        }
    }
}
