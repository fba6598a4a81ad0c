//! What a server asks its Legacy client during a call, and how calls are given up.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tinymcp::ProtocolVersion;

use crate::eras::{LEGACY, Legacy};
use crate::hosted;
use crate::http::{Conn, Events, Hosted, text};
use crate::puppet::{Order, Puppet, filled, puppet_with};

/// A call of the puppet that has begun.
#[track_caller]
fn begun(session: &Legacy<'_>, puppet: &Puppet, id: i64) -> Conn {
    let mut conn = session.hosted.connect();
    conn.send(&session.tool(id, "puppet", json!({"line": id % 4})));
    puppet.expect("began");
    conn
}

fn sampled() -> Value {
    json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Hi!"}})
}

#[test]
fn questions_come_in_the_stream_of_the_call_and_answers_by_posts() {
    let (hosted, puppet) = hosted();
    for version in LEGACY {
        let session = Legacy::open(&hosted, version);
        // Not there: what a call asks belongs to the call.
        let standing = session.listen();
        let mut events = {
            let conn = begun(&session, &puppet, 4);
            puppet.order(Order::Sample);
            conn.events()
        };
        assert_eq!(events.head.header("X-Accel-Buffering"), Some("no"));
        let (id, params) = events.request("sampling/createMessage");
        assert_eq!(params["maxTokens"], 100);
        session.answer(&id, sampled());
        puppet.expect("sample: Hi!");
        puppet.order(Order::Roots);
        let (second, _) = events.request("roots/list");
        assert_ne!(id, second);
        session.answer(&second, json!({"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]}));
        puppet.expect("roots: 2");
        if *version >= *"2025-06-18" {
            puppet.order(Order::Elicit);
            let (id, params) = events.request("elicitation/create");
            assert_eq!(params["message"], "Which?");
            // Of those who do not wait, nobody is disturbed.
            session.answer(&json!("another"), json!({}));
            session.answer(&id, filled("green"));
            puppet.expect("form: green");
        }
        puppet.order(Order::Return(version.to_owned()));
        assert_eq!(text(&events.last(4)["result"]), version);
        drop(standing);
    }
}

#[test]
fn an_answer_that_is_an_error_ends_the_question() {
    let (hosted, puppet) = hosted();
    let session = Legacy::new(&hosted);
    let conn = begun(&session, &puppet, 4);
    puppet.order(Order::Sample);
    let mut events = conn.events();
    let (id, _) = events.request("sampling/createMessage");
    session.tell(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": -1, "message": "no model"}}));
    let result = events.last(4)["result"].take();
    assert_eq!(result["isError"], true, "{result}");
    assert!(text(&result).contains("no model"), "{result}");
}

#[test]
fn an_ability_that_the_client_has_not_is_not_asked_for() {
    let (hosted, puppet) = hosted();
    let hello = hosted.ask(&crate::eras::initialize("2025-11-25", json!({})));
    let id = hello.header("Mcp-Session-Id").expect("a session").to_owned();
    let call = crate::eras::message(1, "tools/call", json!({"name": "puppet", "arguments": {}}));
    let mut conn = hosted.connect();
    conn.send(&crate::http::Request::post(&call).with("Mcp-Session-Id", &id));
    puppet.expect("began");
    puppet.order(Order::Sample);
    let result = conn.response().result();
    assert_eq!(result["isError"], true, "{result}");
    assert!(text(&result).contains("sampling"), "{result}");
}

/// No message at all in answer to a call.
#[track_caller]
fn unanswered(mut conn: Conn) {
    let response = conn.response();
    assert_eq!(response.body, b"", "{response}");
}

#[test]
fn a_cancelled_call_has_no_answer() {
    let (hosted, puppet) = hosted();
    let session = Legacy::new(&hosted);
    let mut conn = hosted.connect();
    conn.send(&session.tool(5, "wait", json!({"name": "w"})));
    puppet.expect("w began");
    // Not this one, whose id is a text.
    session.notify("notifications/cancelled", json!({"requestId": "5"}));
    session.ask("ping", json!({}));
    assert!(puppet.is_silent());
    session.notify("notifications/cancelled", json!({"requestId": 5, "reason": "enough"}));
    assert!(puppet.time_to("w cancelled") < Duration::from_secs(1));
    unanswered(conn);
    // One whose stream is open: it ends.
    let conn = begun(&session, &puppet, 8);
    puppet.order(Order::Sample);
    let mut events = conn.events();
    let (id, _) = events.request("sampling/createMessage");
    session.notify("notifications/cancelled", json!({"requestId": 8, "reason": "enough"}));
    let rest = events.rest();
    // The question may be taken back; the call has no answer.
    assert!(rest.iter().all(|message| message["method"] == "notifications/cancelled"), "{rest:?}");
    session.answer(&id, sampled());
    session.ask("ping", json!({}));
}

#[test]
fn a_broken_connection_is_no_cancellation() {
    let (hosted, puppet) = hosted();
    for version in LEGACY {
        let session = Legacy::open(&hosted, version);
        let mut conn = hosted.connect();
        conn.send(&session.tool(1, "held", json!({"name": version})));
        puppet.expect(&format!("{version} began"));
        drop(conn);
        // The call of another session is cancelled meanwhile: were it a cancellation, it would have been told before.
        let mut other = hosted.connect();
        other.send(&session.tool(2, "wait", json!({"name": "other"})));
        puppet.expect("other began");
        session.notify("notifications/cancelled", json!({"requestId": 2}));
        puppet.expect("other cancelled");
    }
    puppet.open_gate();
    let mut ends: Vec<String> = LEGACY.iter().map(|_| puppet.told()).collect();
    ends.sort();
    let mut want: Vec<String> = LEGACY.iter().map(|version| format!("{version} let go")).collect();
    want.sort();
    assert_eq!(ends, want);
}

#[test]
fn answers_and_cancellations_need_no_thread_that_calls_may_take() {
    let (server, puppet) = puppet_with(|builder| builder.max_threads(2));
    let hosted = Hosted::new(&server);
    let session = Legacy::new(&hosted);
    // All threads wait for the client.
    let mut calls: Vec<Events> = [4, 5]
        .into_iter()
        .map(|id| {
            let conn = begun(&session, &puppet, id);
            puppet.order_on(id as usize % 4, Order::Sample);
            conn.events()
        })
        .collect();
    let ids: Vec<Value> = calls.iter_mut().map(|events| events.request("sampling/createMessage").0).collect();
    // They make room for another call.
    assert_eq!(session.call("echo", json!({"message": "room"})), "room");
    for id in ids.iter().rev() {
        session.answer(id, sampled());
        puppet.expect("sample: Hi!");
    }
    for (id, events) in [4, 5].into_iter().zip(&mut calls) {
        puppet.order_on(id as usize % 4, Order::Return("done".into()));
        events.last(id);
    }
}

#[test]
fn a_full_house_answers_pings_and_hears_cancellations() {
    let (server, puppet) = puppet_with(|builder| builder.max_threads(2));
    let hosted = Hosted::new(&server);
    let session = Legacy::new(&hosted);
    let conns: Vec<Conn> = ["a", "b"]
        .into_iter()
        .enumerate()
        .map(|(id, name)| {
            let mut conn = hosted.connect();
            conn.send(&session.tool(id as i64, "wait", json!({"name": name})));
            puppet.expect(&format!("{name} began"));
            conn
        })
        .collect();
    let start = Instant::now();
    assert_eq!(session.ask("ping", json!({})), json!({}));
    session.notify("notifications/cancelled", json!({"requestId": 1}));
    puppet.expect("b cancelled");
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    session.notify("notifications/cancelled", json!({"requestId": 0}));
    puppet.expect("a cancelled");
    conns.into_iter().for_each(unanswered);
}

#[test]
fn a_task_asks_on_the_stream_of_its_session() {
    let (hosted, _puppet) = hosted();
    let session = Legacy::new(&hosted);
    let mut stream = session.listen();
    let made = session.ask("tools/call", json!({"name": "task", "arguments": {}, "task": {}}));
    let about = json!({"taskId": made["task"]["taskId"]});
    for answer in ["Ulm", "Bonn"] {
        let (question, params) = stream.request("elicitation/create");
        assert_eq!(params["_meta"]["io.modelcontextprotocol/related-task"], about, "{params}");
        session.answer(&question, filled(answer));
    }
    assert_eq!(text(&session.ask("tasks/result", about)), "Ulm to Bonn, 12A");
}

/// spec: 2025-11-25 basic/utilities/tasks#input-required-status
#[test]
fn a_task_asks_while_its_result_is_waited_for() {
    let (hosted, _puppet) = hosted();
    let session = Legacy::new(&hosted);
    let made = session.ask("tools/call", json!({"name": "task", "arguments": {}, "task": {}}));
    let id = made["task"]["taskId"].clone();
    assert_eq!(made["task"]["status"], "working", "{made}");
    let about = json!({"taskId": id});
    let mut result = hosted.open(&session.request(9, "tasks/result", about.clone()));
    for answer in ["Ulm", "Bonn"] {
        let (question, params) = result.request("elicitation/create");
        assert_eq!(params["_meta"]["io.modelcontextprotocol/related-task"], about, "{params}");
        let asking = session.ask("tasks/get", about.clone());
        assert_eq!(asking["status"], "input_required", "{asking}");
        session.answer(&question, filled(answer));
    }
    let done = result.last(9)["result"].take();
    assert_eq!(text(&done), "Ulm to Bonn, 12A");
    assert_eq!(done["_meta"]["io.modelcontextprotocol/related-task"], about);
    assert_eq!(session.ask("tasks/get", about.clone())["status"], "completed");
    // The result stays, and belongs to the session.
    assert_eq!(text(&session.ask("tasks/result", about.clone())), "Ulm to Bonn, 12A");
    let stranger = Legacy::new(&hosted);
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let response = hosted.ask(&stranger.request(1, method, about.clone()));
        assert_eq!(response.json()["error"]["code"], -32602, "{method}: {response}");
    }
    assert_eq!(stranger.ask("tasks/list", json!({}))["tasks"], json!([]));
    assert_eq!(session.ask("tasks/list", json!({}))["tasks"].as_array().map(Vec::len), Some(1));
    // One whose question nobody answers is cancelled.
    let made = session.ask("tools/call", json!({"name": "task", "arguments": {}, "task": {}}));
    let about = json!({"taskId": made["task"]["taskId"]});
    let mut result = hosted.open(&session.request(10, "tasks/result", about.clone()));
    result.request("elicitation/create");
    assert_eq!(session.ask("tasks/cancel", about)["status"], "cancelled");
    let answer = result.rest().pop().expect("an answer");
    assert_eq!(answer["id"], 10, "{answer}");
}

#[test]
fn a_server_without_modern_revisions_serves_the_same() {
    let versions = [ProtocolVersion::V2025_03_26, ProtocolVersion::V2025_11_25];
    let (server, puppet) = puppet_with(|builder| builder.versions(versions));
    let hosted: Hosted = Hosted::new(&server);
    let session = Legacy::new(&hosted);
    let conn = begun(&session, &puppet, 4);
    puppet.order(Order::Elicit);
    let mut events = conn.events();
    let (id, _) = events.request("elicitation/create");
    session.answer(&id, filled("green"));
    puppet.expect("form: green");
    puppet.order(Order::Return("done".into()));
    events.last(4);
    // What a Modern client asks is an unknown method, or a request without a session: never a Modern error.
    let response = hosted.ask(&crate::eras::modern(1, "server/discover", json!({})));
    assert!(matches!(response.status, 400 | 404), "{response}");
    let code = response.json()["error"]["code"].as_i64().expect("a code");
    assert!(!(-32099..=-32020).contains(&code), "{response}");
}
