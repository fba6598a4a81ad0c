//! Several messages in one POST, which 2025-03-26 alone knows.
//!
//! spec: 2025-03-26 basic/transports#sending-messages-to-the-server

use serde_json::{Value, json};

use crate::eras::{LEGACY, Legacy, initialize, message, notification};
use crate::hosted;
use crate::http::Request;
use crate::puppet::Order;

const BATCHES: &str = "2025-03-26";

fn call(id: impl Into<Value>, text: &str) -> Value {
    message(id, "tools/call", json!({"name": "echo", "arguments": {"message": text}}))
}

/// The answers to a batch, in the order of their ids.
#[track_caller]
fn answers(session: &Legacy<'_>, batch: &Value) -> Vec<Value> {
    let messages = session.hosted.messages(&session.post(batch));
    let mut answers: Vec<Value> = messages
        .into_iter()
        .flat_map(|message| match message {
            Value::Array(batch) => batch,
            one => vec![one],
        })
        .collect();
    answers.sort_by_key(|answer| answer["id"].to_string());
    answers
}

#[test]
fn a_batch_is_answered_as_a_whole() {
    let (hosted, _puppet) = hosted();
    let session = Legacy::open(&hosted, BATCHES);
    let batch = json!([
        call(1, "one"),
        notification("notifications/com.example/note", json!({})),
        message(2, "ping", json!({})),
        call("3", "three"),
        message(4, "no/method", json!({})),
        {"jsonrpc": "2.0", "id": 99, "result": {}},
    ]);
    let answers = answers(&session, &batch);
    let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!("3"), &json!(1), &json!(2), &json!(4)], "one answer a request");
    assert_eq!(crate::http::text(&answers[0]["result"]), "three");
    assert_eq!(crate::http::text(&answers[1]["result"]), "one");
    assert_eq!(answers[2]["result"], json!({}));
    assert_eq!(answers[3]["error"]["code"], -32601);
    // An array, also of one.
    let response = hosted.ask(&session.post(&json!([message(5, "ping", json!({}))])));
    assert_eq!(response.json(), json!([{"jsonrpc": "2.0", "id": 5, "result": {}}]));
}

#[test]
fn a_batch_without_requests_is_accepted() {
    let (hosted, puppet) = hosted();
    let session = Legacy::open(&hosted, BATCHES);
    let note = notification("notifications/com.example/note", json!({}));
    session.tell(&json!([note]));
    session.tell(&json!([note, note, note]));
    // Answers to what the server has asked may come together as well.
    let mut conn = hosted.connect();
    conn.send(&session.tool(4, "puppet", json!({})));
    puppet.expect("began");
    puppet.order(Order::Roots);
    let mut events = conn.events();
    let (id, _) = events.request("roots/list");
    session.tell(&json!([
        {"jsonrpc": "2.0", "id": "nobody's", "result": {}},
        {"jsonrpc": "2.0", "id": id, "result": {"roots": []}},
    ]));
    puppet.expect("roots: 0");
    puppet.order(Order::Return("done".into()));
    events.last(4);
}

#[test]
fn what_is_wrong_in_a_batch_is_told_in_its_place() {
    let (hosted, _puppet) = hosted();
    let session = Legacy::open(&hosted, BATCHES);
    let ping = message(1, "ping", json!({}));
    let answers = answers(&session, &json!([5, ping, {}, [ping]]));
    let codes: Vec<&Value> = answers.iter().map(|answer| &answer["error"]["code"]).collect();
    assert_eq!(codes.iter().filter(|code| ***code == -32600).count(), 3, "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| answer["result"] == json!({})).count(), 1, "{answers:?}");
    let empty = hosted.ask(&session.post(&json!([])));
    assert_eq!(empty.error(), (400, -32600), "{empty}");
    let broken = hosted.ask(&session.post(&json!([])).with_body("[{\"jsonrpc\":"));
    assert_eq!(broken.error(), (400, -32700), "{broken}");
}

#[test]
fn a_handshake_is_no_part_of_a_batch() {
    let (hosted, _puppet) = hosted();
    let hello = initialize(BATCHES, json!({})).json();
    let alone = hosted.ask(&Request::post(&json!([hello])));
    assert_eq!((alone.status, alone.header("Mcp-Session-Id")), (400, None), "{alone}");
    let session = Legacy::open(&hosted, BATCHES);
    let answers = answers(&session, &json!([hello, message(1, "ping", json!({}))]));
    assert_eq!((&answers[0]["id"], &answers[0]["error"]["code"]), (&json!(0), &json!(-32600)), "{answers:?}");
    assert_eq!(answers[1]["result"], json!({}));
}

#[test]
fn questions_and_progress_come_before_the_answers() {
    let (hosted, puppet) = hosted();
    let session = Legacy::open(&hosted, BATCHES);
    let asks = message(1, "tools/call", json!({"name": "puppet", "_meta": {"progressToken": "p"}}));
    let mut conn = hosted.connect();
    conn.send(&session.post(&json!([asks, call(2, "two")])));
    puppet.expect("began");
    puppet.order(Order::Progress(1.0));
    let mut events = conn.events();
    let mut early = Vec::new();
    let mut until = |events: &mut crate::http::Events, method: &str| loop {
        let message = events.message();
        if message["method"] == method {
            return message;
        }
        // The other call may be answered by now.
        early.push(message);
    };
    assert_eq!(until(&mut events, "notifications/progress")["params"]["progressToken"], "p");
    puppet.order(Order::Roots);
    let question = until(&mut events, "roots/list");
    session.answer(&question["id"], json!({"roots": []}));
    puppet.expect("roots: 0");
    puppet.order(Order::Return("one".into()));
    let rest = events.rest().into_iter().chain(early);
    let answers = rest.flat_map(|message| message.as_array().cloned().unwrap_or(vec![message]));
    let mut ids: Vec<i64> = answers.map(|answer| answer["id"].as_i64().expect("an id")).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2]);
}

#[test]
fn other_revisions_know_no_batches() {
    let (hosted, _puppet) = hosted();
    for version in LEGACY.into_iter().filter(|version| *version != BATCHES) {
        let session = Legacy::open(&hosted, version);
        for batch in
            [json!([message(1, "ping", json!({}))]), json!([notification("notifications/x", json!({}))])]
        {
            let response = hosted.ask(&session.post(&batch));
            assert_eq!(response.error(), (400, -32600), "{version}: {response}");
        }
        session.ask("ping", json!({}));
    }
}
