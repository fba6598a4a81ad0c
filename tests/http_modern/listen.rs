//! Streams of change notices: `subscriptions/listen`.
//!
//! spec: 2026-07-28 basic/patterns/subscriptions

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tinymcp::{Context, FnTool};

use crate::eras::{SUBSCRIPTION, modern};
use crate::http::{Events, Hosted};
use crate::puppet::{Order, STOCK, puppet};
use crate::{hosted, watched};

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";
const UPDATED: &str = "notifications/resources/updated";

/// A stream that has been acknowledged, with what it may bring.
#[track_caller]
fn listen(hosted: &Hosted, id: impl Into<Value>, filter: Value) -> (Events, Value) {
    let id = id.into();
    let mut events =
        hosted.open(&modern(id.clone(), "subscriptions/listen", json!({"notifications": filter})));
    let mut params = events.notice(ACKNOWLEDGED);
    assert_eq!(params["_meta"][SUBSCRIPTION], id);
    (events, params["notifications"].take())
}

fn named(name: &str) -> FnTool {
    FnTool::new(name, "", json!({"type": "object"}), |_, _: &Context| "done")
}

#[track_caller]
fn hears(events: &mut Events, id: impl Into<Value>, method: &str) -> Value {
    let params = events.notice(method);
    assert_eq!(params["_meta"][SUBSCRIPTION], id.into(), "{params}");
    params
}

#[test]
fn a_stream_is_acknowledged_and_brings_what_was_asked_for() {
    let (hosted, _puppet) = hosted();
    let all = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": [STOCK],
    });
    let (mut every, honoured) = listen(&hosted, 1, all.clone());
    assert_eq!(honoured, all);
    assert_eq!(every.head.header("X-Accel-Buffering"), Some("no"));
    assert_eq!(every.head.header("Mcp-Session-Id"), None);
    let (mut tools, honoured) = listen(&hosted, "1", json!({"toolsListChanged": true}));
    assert_eq!(honoured, json!({"toolsListChanged": true}));
    let (mut prompts, _) = listen(&hosted, 1, json!({"promptsListChanged": true, "toolsListChanged": false}));
    let (mut lists, _) = listen(&hosted, 2, json!({"resourcesListChanged": true}));
    let (mut stock, _) = listen(&hosted, 3, json!({"resourceSubscriptions": [STOCK]}));
    let (mut none, honoured) = listen(&hosted, 4, json!({}));
    assert_eq!(honoured, json!({}));

    // Each step waits for its notice, so that what belongs to nobody would come before the next one.
    let server = hosted.server.clone();
    server.tools().register(named("late")).expect("free");
    hears(&mut every, 1, TOOLS);
    hears(&mut tools, "1", TOOLS);
    server.handle().prompts_changed();
    hears(&mut every, 1, PROMPTS);
    hears(&mut prompts, 1, PROMPTS);
    server.handle().resources_changed();
    hears(&mut every, 1, RESOURCES);
    hears(&mut lists, 2, RESOURCES);
    server.handle().resource_updated("tea://elsewhere");
    server.handle().resource_updated(STOCK);
    assert_eq!(hears(&mut every, 1, UPDATED)["uri"], STOCK);
    assert_eq!(hears(&mut stock, 3, UPDATED)["uri"], STOCK);

    let mut all =
        [(every, json!(1)), (tools, json!("1")), (prompts, json!(1)), (lists, json!(2)), (stock, json!(3))];
    let stopping = hosted.stop_later();
    for (events, id) in &mut all {
        let result = events.last(id.clone())["result"].take();
        assert_eq!((&result["resultType"], &result["_meta"][SUBSCRIPTION]), (&json!("complete"), &*id));
    }
    assert_eq!(none.last(4)["result"]["_meta"][SUBSCRIPTION], 4);
    stopping.join();
}

#[test]
fn a_stop_ends_open_streams_soon() {
    let (hosted, _puppet) = hosted();
    let mut streams: Vec<Events> =
        (0..20).map(|id| listen(&hosted, id, json!({"toolsListChanged": true})).0).collect();
    // Their clients stay: after a second they are not waited for any more.
    let took = hosted.stop();
    assert!(took < Duration::from_secs(3), "{took:?}");
    for (id, events) in streams.iter_mut().enumerate() {
        events.last(id);
    }
}

#[test]
fn what_belongs_to_a_request_is_not_told_to_listeners_nor_the_reverse() {
    let (hosted, puppet) = hosted();
    let (mut tools, _) = listen(&hosted, 1, json!({"toolsListChanged": true}));
    let mut conn = hosted.connect();
    conn.send(&watched(1, 0));
    puppet.expect("began");
    puppet.order(Order::Progress(1.0));
    let mut call = conn.events();
    call.notice("notifications/progress");
    hosted.server.handle().tools_changed();
    hears(&mut tools, 1, TOOLS);
    puppet.order(Order::Progress(2.0));
    call.notice("notifications/progress");
    puppet.order(Order::Return("done".into()));
    call.last(1);
    hosted.server.handle().tools_changed();
    hears(&mut tools, 1, TOOLS);
}

#[test]
fn a_silent_stream_says_that_it_lives() {
    let (server, puppet) = puppet();
    let hosted = Hosted::with(&server, |builder| builder.keep_alive(Duration::from_millis(20)));
    let (mut events, _) = listen(&hosted, 1, json!({"toolsListChanged": true}));
    for _ in 0..3 {
        let block = events.block().expect("a comment");
        assert!(block.comments > 0 && block.data.is_none(), "{block:?}");
    }
    server.handle().tools_changed();
    hears(&mut events, 1, TOOLS);
    assert!(events.block().expect("a comment").comments > 0);
    // A call that has begun to stream says so as well.
    let mut conn = hosted.connect();
    conn.send(&watched(1, 0));
    puppet.expect("began");
    puppet.order(Order::Progress(1.0));
    let mut call = conn.events();
    call.notice("notifications/progress");
    assert!(call.block().expect("a comment").comments > 0);
    puppet.order(Order::Return("done".into()));
    call.last(1);
}

#[test]
fn a_listener_that_goes_is_forgotten_and_others_are_not() {
    let (hosted, _puppet) = hosted();
    let filter = || json!({"toolsListChanged": true, "resourceSubscriptions": [STOCK]});
    let (mut stays, _) = listen(&hosted, 1, filter());
    for round in 0..50 {
        let (goes, _) = listen(&hosted, 1, filter());
        let handle = hosted.server.handle();
        if round % 2 == 0 {
            drop(goes);
            handle.resource_updated(STOCK);
        } else {
            handle.resource_updated(STOCK);
            drop(goes);
        }
        hears(&mut stays, 1, UPDATED);
    }
}

#[test]
fn a_burst_of_changes_is_told_once_or_a_few_times() {
    let (hosted, _puppet) = hosted();
    let (mut tools, _) =
        listen(&hosted, 1, json!({"toolsListChanged": true, "resourceSubscriptions": [STOCK]}));
    let start = Instant::now();
    for n in 0..1000 {
        hosted.server.tools().register(named(&format!("tool{n}"))).expect("free");
    }
    let lasted = start.elapsed();
    hosted.server.handle().resource_updated(STOCK);
    let mut told = 0;
    loop {
        let message = tools.message();
        if message["method"] == UPDATED {
            break;
        }
        told += 1;
    }
    // They wait for each other for 10 ms.
    assert!(told >= 1 && told <= 2 + lasted.as_millis() / 5, "{told} times in {lasted:?}");
}

#[test]
fn bad_filters_are_refused() {
    let (hosted, _puppet) = hosted();
    let mut conn = hosted.connect();
    for params in [
        json!({}),
        json!({"notifications": 1}),
        json!({"notifications": {"toolsListChanged": "maybe"}}),
        json!({"notifications": {"resourceSubscriptions": "tea://stock"}}),
    ] {
        let response = conn.ask(&modern(1, "subscriptions/listen", params));
        assert_eq!(response.json()["error"]["code"], -32602, "{response}");
    }
}
