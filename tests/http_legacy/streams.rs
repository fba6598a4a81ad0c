//! The stream of a session for what belongs to no request.
//!
//! spec: 2025-11-25 basic/transports#listening-for-messages-from-the-server

use std::time::Duration;

use serde_json::json;
use tinymcp::{Context, FnTool};

use crate::eras::{LEGACY, Legacy};
use crate::hosted;
use crate::http::{Hosted, Request};
use crate::puppet::{Order, STOCK, puppet};

const TOOLS: &str = "notifications/tools/list_changed";
const UPDATED: &str = "notifications/resources/updated";

#[test]
fn changes_are_told_on_the_stream_of_the_session() {
    let (hosted, _puppet) = hosted();
    for version in LEGACY {
        let session = Legacy::open(&hosted, version);
        let mut stream = session.listen();
        assert_eq!(stream.head.header("X-Accel-Buffering"), Some("no"));
        assert!(stream.head.header("Cache-Control").is_some_and(|value| value.contains("no-")));
        let tool = FnTool::new(version, "", json!({"type": "object"}), |_, _: &Context| "done");
        hosted.server.tools().register(tool).expect("free");
        let told = stream.message();
        assert_eq!((&told["method"], told.get("id")), (&json!(TOOLS), None));
        session.ask("resources/subscribe", json!({"uri": STOCK}));
        hosted.server.handle().resource_updated("tea://elsewhere");
        hosted.server.handle().resource_updated(STOCK);
        assert_eq!(stream.notice(UPDATED)["uri"], STOCK);
        session.ask("resources/unsubscribe", json!({"uri": STOCK}));
        hosted.server.handle().resource_updated(STOCK);
        hosted.server.handle().prompts_changed();
        stream.notice("notifications/prompts/list_changed");
    }
}

#[test]
fn what_belongs_to_a_call_is_not_on_it() {
    let (hosted, puppet) = hosted();
    let session = Legacy::new(&hosted);
    let mut stream = session.listen();
    let call = json!({"name": "puppet", "arguments": {}, "_meta": {"progressToken": 1}});
    let mut conn = hosted.connect();
    conn.send(&session.request(1, "tools/call", call));
    puppet.expect("began");
    puppet.order(Order::Progress(1.0));
    let mut events = conn.events();
    events.notice("notifications/progress");
    puppet.order(Order::Log("hot".into()));
    assert_eq!(events.notice("notifications/message")["data"], "hot");
    // And what belongs to no call is not on the call's.
    hosted.server.handle().tools_changed();
    stream.notice(TOOLS);
    puppet.order(Order::Return("done".into()));
    events.last(1);
    hosted.server.handle().tools_changed();
    stream.notice(TOOLS);
}

#[test]
fn what_happened_shortly_before_it_opened_is_told() {
    let (hosted, _puppet) = hosted();
    for version in LEGACY {
        let session = Legacy::open(&hosted, version);
        session.ask("resources/subscribe", json!({"uri": STOCK}));
        hosted.server.handle().resource_updated(STOCK);
        hosted.server.handle().tools_changed();
        // Another session's stream tells when they have been sent.
        let other = Legacy::open(&hosted, version);
        let mut seen = other.listen();
        hosted.server.handle().prompts_changed();
        while seen.message()["method"] != "notifications/prompts/list_changed" {}
        let mut stream = session.listen();
        let mut told: Vec<String> =
            (0..3).map(|_| stream.message()["method"].as_str().expect("a method").to_owned()).collect();
        told.sort();
        assert_eq!(told, ["notifications/prompts/list_changed", UPDATED, TOOLS], "{version}");
    }
}

#[test]
fn a_second_stream_takes_over() {
    let (hosted, _puppet) = hosted();
    let session = Legacy::new(&hosted);
    let mut first = session.listen();
    hosted.server.handle().tools_changed();
    first.notice(TOOLS);
    let mut second = session.listen();
    // A message is sent on one stream alone: the first has ended.
    first.expect_end();
    hosted.server.handle().tools_changed();
    second.notice(TOOLS);
    drop(second);
    let mut third = session.listen();
    hosted.server.handle().prompts_changed();
    // What was sent to the second before its end was noticed may come again or be lost; this is not.
    while third.message()["method"] != "notifications/prompts/list_changed" {}
}

#[test]
fn a_silent_stream_says_that_it_lives_and_ends_with_the_server() {
    let (server, _puppet) = puppet();
    let hosted = Hosted::with(&server, |builder| builder.keep_alive(Duration::from_millis(20)));
    let session = Legacy::new(&hosted);
    let mut stream = session.listen();
    let mut comments = 0;
    while comments < 3 {
        comments += stream.block().expect("it stays open").comments;
    }
    let start = std::time::Instant::now();
    server.handle().stop();
    stream.expect_end();
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
}

#[test]
fn a_stop_ends_streams_and_calls_of_sessions() {
    let (hosted, puppet) = hosted();
    let session = Legacy::new(&hosted);
    let (mut stream, mut conn) = (session.listen(), hosted.connect());
    conn.send(&session.tool(1, "held", json!({"name": "a"})));
    puppet.expect("a began");
    hosted.server.handle().stop();
    stream.expect_end();
    // What was accepted is finished.
    puppet.open_gate();
    assert_eq!(conn.response().text(), "a let go");
}

#[test]
fn who_wants_no_stream_is_told_so() {
    let (hosted, _puppet) = hosted();
    let session = Legacy::new(&hosted);
    let get = session.signed(Request::get());
    let refused = hosted.ask(&get.clone().set("Accept", "application/json"));
    assert_eq!(refused.status, 406, "{refused}");
    // Whoever says nothing takes what there is.
    for request in
        [get.clone().without("Accept"), get.clone().set("Accept", "*/*"), get.set("Accept", "text/*")]
    {
        let stream = hosted.open(&request);
        drop(stream);
    }
}
