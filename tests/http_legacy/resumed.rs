//! Clients that come back for what they have missed.
//!
//! spec: 2025-11-25 basic/transports#resumability-and-redelivery

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::eras::Legacy;
use crate::hosted;
use crate::http::{Conn, Events, Hosted, text};
use crate::puppet::{Order, Puppet, filled, puppet};

/// Those over whose HTTP a client can come back.
const RESUMABLE: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

/// A call of the puppet that has begun.
#[track_caller]
fn begun(session: &Legacy<'_>, puppet: &Puppet, id: i64) -> Conn {
    let call = json!({"name": "puppet", "arguments": {"line": id}, "_meta": {"progressToken": id}});
    let mut conn = session.hosted.connect();
    conn.send(&session.request(id, "tools/call", call));
    puppet.expect("began");
    conn
}

/// The next message and the id of its event.
#[track_caller]
fn next(events: &mut Events) -> (Value, String) {
    loop {
        let event = events.event().expect("a message");
        if event.data.as_ref().is_some_and(|data| !data.is_empty()) {
            return (event.message(), event.id.expect("an id"));
        }
    }
}

/// What the next messages say, which are log messages.
#[track_caller]
fn logged(events: &mut Events, n: usize) -> Vec<String> {
    (0..n)
        .map(|_| events.notice("notifications/message")["data"].as_str().expect("text").to_owned())
        .collect()
}

/// Has the puppet of `line` say something.
#[track_caller]
fn say(puppet: &Puppet, line: usize, texts: &[&str]) {
    for text in texts {
        puppet.order_on(line, Order::Log((*text).to_owned()));
    }
}

#[test]
fn a_stream_opens_with_an_event_to_come_back_to_in_the_newest_revision() {
    let (hosted, puppet) = hosted();
    for version in RESUMABLE {
        let session = Legacy::open(&hosted, version);
        for is_get in [true, false] {
            let mut events = if is_get {
                let events = session.listen();
                hosted.server.handle().tools_changed();
                events
            } else {
                let conn = begun(&session, &puppet, 1);
                puppet.order_on(1, Order::Log("x".into()));
                conn.events()
            };
            let first = events.event().expect("an event");
            if version == "2025-11-25" {
                assert!(first.id.as_ref().is_some_and(|id| !id.is_empty()), "{first:?}");
                assert_eq!(first.data.as_deref(), Some(""), "{first:?}");
                assert!(first.retry.is_some(), "{first:?}");
            } else {
                // Older clients take every event for a message.
                assert!(first.message()["method"].is_string(), "{first:?}");
            }
            if !is_get {
                puppet.order_on(1, Order::Return("done".into()));
                assert!(events.rest().len() <= 2);
            }
        }
    }
}

#[test]
fn ids_of_events_are_unique_in_a_session() {
    let (hosted, puppet) = hosted();
    let session = Legacy::new(&hosted);
    let mut ids: Vec<Option<String>> = Vec::new();
    let mut standing = session.listen();
    let mut calls: Vec<Events> = (0..3)
        .map(|line| {
            let conn = begun(&session, &puppet, line);
            puppet.order_on(line as usize, Order::Log("x".into()));
            conn.events()
        })
        .collect();
    for (line, events) in calls.iter_mut().enumerate() {
        say(&puppet, line, &["a", "b", "c"]);
        puppet.order_on(line, Order::Return("done".into()));
        while let Some(event) = events.event() {
            ids.push(event.id);
        }
    }
    for _ in 0..3 {
        hosted.server.handle().tools_changed();
        ids.push(standing.event().expect("an event").id);
    }
    assert!(ids.len() >= 18, "{ids:?}");
    assert!(ids.iter().all(|id| id.as_ref().is_some_and(|id| !id.is_empty())), "{ids:?}");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
}

#[test]
fn what_was_missed_comes_again_in_order_and_then_what_is_new() {
    let (hosted, puppet) = hosted();
    for version in RESUMABLE {
        let session = Legacy::open(&hosted, version);
        let mut events = {
            let conn = begun(&session, &puppet, 1);
            puppet.order_on(1, Order::Log("one".into()));
            conn.events()
        };
        // Another call says something as well.
        let mut other = {
            let conn = begun(&session, &puppet, 2);
            puppet.order_on(2, Order::Log("other".into()));
            conn.events()
        };
        let (first, last) = next(&mut events);
        assert_eq!(first["params"]["data"], "one");
        drop(events);
        say(&puppet, 1, &["two", "three"]);
        say(&puppet, 2, &["other two"]);
        assert_eq!(logged(&mut other, 2), ["other", "other two"]);
        // It asks: the question is missed as well, and answered later.
        puppet.order_on(1, Order::Roots);
        let mut back = hosted.open(&session.resume(&last));
        assert_eq!(logged(&mut back, 2), ["two", "three"]);
        let (question, _) = back.request("roots/list");
        session.answer(&question, json!({"roots": []}));
        puppet.expect("roots: 0");
        say(&puppet, 1, &["four"]);
        assert_eq!(logged(&mut back, 1), ["four"]);
        puppet.order_on(1, Order::Return("done".into()));
        assert_eq!(text(&back.last(1)["result"]), "done");
        // Also after the end, from any event on.
        let messages = hosted.open(&session.resume(&last)).rest();
        assert_eq!(messages.len(), 5, "{messages:?}");
        assert_eq!(messages[4]["id"], 1);
        puppet.order_on(2, Order::Return("done".into()));
        other.last(2);
    }
}

#[test]
fn a_client_comes_back_from_event_to_event() {
    let (hosted, puppet) = hosted();
    let session = Legacy::new(&hosted);
    let mut events = {
        let conn = begun(&session, &puppet, 1);
        puppet.order_on(1, Order::Log("0".into()));
        conn.events()
    };
    for n in 1..20 {
        let (message, id) = next(&mut events);
        assert_eq!(message["params"]["data"], (n - 1).to_string());
        puppet.order_on(1, Order::Log(n.to_string()));
        // Sometimes the old connection is still there.
        let old = if n % 2 == 0 { Some(events) } else { None };
        events = hosted.open(&session.resume(&id));
        if let Some(mut old) = old {
            // It may have got this one before it was given up, and nothing more.
            assert!(old.rest().len() <= 1);
        }
    }
    assert_eq!(next(&mut events).0["params"]["data"], "19");
    puppet.order_on(1, Order::Return("done".into()));
    events.last(1);
}

#[test]
fn the_stream_of_a_session_is_resumed_as_well() {
    let (hosted, _puppet) = hosted();
    let session = Legacy::new(&hosted);
    let mut stream = session.listen();
    hosted.server.handle().tools_changed();
    let (message, last) = next(&mut stream);
    assert_eq!(message["method"], "notifications/tools/list_changed");
    hosted.server.handle().prompts_changed();
    stream.notice("notifications/prompts/list_changed");
    hosted.server.handle().resources_changed();
    stream.notice("notifications/resources/list_changed");
    drop(stream);
    let mut back = hosted.open(&session.resume(&last));
    back.notice("notifications/prompts/list_changed");
    back.notice("notifications/resources/list_changed");
    hosted.server.handle().tools_changed();
    back.notice("notifications/tools/list_changed");
    // While it is open, the one that resumes takes over.
    let mut again = hosted.open(&session.resume(&last));
    back.expect_end();
    again.notice("notifications/prompts/list_changed");
    again.notice("notifications/resources/list_changed");
    again.notice("notifications/tools/list_changed");
}

#[test]
fn a_client_is_sent_away_and_comes_for_the_result() {
    let (hosted, puppet) = hosted();
    let session = Legacy::new(&hosted);
    let retry = Duration::from_millis(1234);
    for has_begun in [false, true] {
        let conn = begun(&session, &puppet, 1);
        if has_begun {
            puppet.order_on(1, Order::Log("before".into()));
        }
        puppet.order_on(1, Order::Away(retry));
        puppet.expect("away: true");
        let mut events = conn.events();
        let (mut last, mut told) = (None, None);
        while let Some(event) = events.event() {
            last = event.id.or(last);
            told = event.retry.or(told);
        }
        assert_eq!(told, Some(1234), "the client is told when to come back");
        let last = last.expect("an id");
        say(&puppet, 1, &["after"]);
        // It may come twice: the puppet sends it away again.
        let mut back = hosted.open(&session.resume(&last));
        assert_eq!(logged(&mut back, 1), ["after"]);
        puppet.order_on(1, Order::Away(retry));
        puppet.expect("away: true");
        back.expect_end();
        puppet.order_on(1, Order::Away(retry));
        puppet.told();
        puppet.order_on(1, Order::Return("done".into()));
        let messages = hosted.open(&session.resume(&last)).rest();
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert_eq!(text(&messages[1]["result"]), "done");
    }
}

#[test]
fn a_client_comes_back_for_what_a_task_asked_meanwhile() {
    let (hosted, _puppet) = hosted();
    let session = Legacy::new(&hosted);
    let made = session.ask("tools/call", json!({"name": "task", "arguments": {}, "task": {}}));
    let about = json!({"taskId": made["task"]["taskId"]});
    let mut result = hosted.open(&session.request(9, "tasks/result", about));
    let (question, last) = next(&mut result);
    drop(result);
    session.answer(&question["id"], filled("Ulm"));
    let mut back = hosted.open(&session.resume(&last));
    let (question, _) = back.request("elicitation/create");
    session.answer(&question, filled("Bonn"));
    assert_eq!(text(&back.last(9)["result"]), "Ulm to Bonn, 12A");
}

#[test]
fn who_cannot_come_back_is_not_sent_away() {
    let (hosted, puppet) = hosted();
    for version in ["2025-06-18", "2025-03-26", "2024-11-05"] {
        let session = Legacy::open(&hosted, version);
        let mut conn = begun(&session, &puppet, 1);
        puppet.order_on(1, Order::Away(Duration::from_secs(1)));
        puppet.expect("away: false");
        puppet.order_on(1, Order::Return("done".into()));
        assert_eq!(conn.response().text(), "done", "{version}");
    }
    let mut conn = hosted.connect();
    conn.send(&crate::eras::call(1, "puppet", json!({})));
    puppet.expect("began");
    puppet.order(Order::Away(Duration::from_secs(1)));
    puppet.expect("away: false");
    puppet.order(Order::Return("done".into()));
    assert_eq!(conn.response().text(), "done");
}

#[test]
fn a_server_that_keeps_no_events_gives_them_no_ids() {
    let (server, puppet) = puppet();
    let hosted = Hosted::with(&server, |builder| builder.without_events());
    let session = Legacy::new(&hosted);
    let conn = begun(&session, &puppet, 1);
    puppet.order_on(1, Order::Away(Duration::from_secs(1)));
    puppet.expect("away: false");
    puppet.order_on(1, Order::Elicit);
    let mut events = conn.events();
    let event = events.event().expect("an event");
    assert_eq!((&event.id, &event.message()["method"]), (&None, &json!("elicitation/create")));
    session.answer(&event.message()["id"], filled("green"));
    puppet.expect("form: green");
    puppet.order_on(1, Order::Return("done".into()));
    events.last(1);
    assert_eq!(hosted.ask(&session.resume("1")).status, 400);
    // What a client misses it has missed; the call goes on all the same.
    let conn = begun(&session, &puppet, 2);
    drop(conn);
    puppet.order_on(2, Order::Away(Duration::from_secs(1)));
    puppet.expect("away: false");
    puppet.order_on(2, Order::Return("done".into()));
    session.ask("ping", json!({}));
}

#[test]
fn events_that_are_not_known_are_refused_at_once() {
    let (hosted, puppet) = hosted();
    let session = Legacy::new(&hosted);
    let mut events = {
        let conn = begun(&session, &puppet, 1);
        puppet.order_on(1, Order::Log("0".into()));
        conn.events()
    };
    let (_, last) = next(&mut events);
    let stranger = Legacy::new(&hosted);
    for bad in
        ["", "0", "garbage", "1-", "-1", "99999999999999999999-1", "1-99999", "\u{7e}", &"9".repeat(5000)]
    {
        let response = hosted.ask(&session.resume(bad));
        assert_eq!(response.status, 400, "{bad}: {response}");
    }
    assert_eq!(hosted.ask(&session.resume(&format!("{last}0000"))).status, 400);
    assert_eq!(hosted.ask(&stranger.resume(&last)).status, 400);
    // So many events are not kept: what is left comes, with the answer.
    for n in 1..400 {
        puppet.order_on(1, Order::Log(n.to_string()));
    }
    assert_eq!(logged(&mut events, 399).last().map(String::as_str), Some("399"));
    let mut back = hosted.open(&session.resume(&last));
    let first: i64 = logged(&mut back, 1)[0].parse().expect("a number");
    assert!(first > 1, "{first}");
    let rest: Vec<String> = ((first + 1)..400).map(|n| n.to_string()).collect();
    assert_eq!(logged(&mut back, rest.len()), rest);
    puppet.order_on(1, Order::Return("done".into()));
    assert_eq!(text(&back.last(1)["result"]), "done");
}
