//! Calls that need input: several POSTs, and a state that travels with them. And tasks, which are asked for again and again.
//!
//! spec: 2026-07-28 basic/patterns/mrtr

use serde_json::{Value, json};
use tinymcp::http::SealedStates;

use crate::eras::{CAPABILITIES, call, modern};
use crate::hosted;
use crate::http::{Hosted, Request};
use crate::puppet::{filled, puppet, puppet_with};

const TASKS: &str = "io.modelcontextprotocol/tasks";

/// A further round of a call: with the answer to `key`, and the state of the round before.
fn next(id: i64, tool: &str, arguments: Value, key: &str, answer: &str, state: &Value) -> Request {
    let responses = json!({key: filled(answer)});
    let params =
        json!({"name": tool, "arguments": arguments, "inputResponses": responses, "requestState": state});
    modern(id, "tools/call", params)
}

/// What a round asks for, and the state.
#[track_caller]
fn required(hosted: &Hosted, request: &Request, key: &str) -> Value {
    let mut result = hosted.ask(request).result();
    assert_eq!(result["resultType"], "input_required", "{result}");
    let requests = result["inputRequests"].as_object().expect("requests");
    assert_eq!(requests.keys().collect::<Vec<_>>(), [key]);
    assert_eq!(requests[key]["method"], "elicitation/create");
    assert!(result["requestState"].is_string(), "{result}");
    result["requestState"].take()
}

#[test]
fn a_call_goes_on_over_several_posts() {
    let (hosted, _puppet) = hosted();
    let first = required(&hosted, &call(1, "book", json!({})), "from");
    let second = required(&hosted, &next(2, "book", json!({}), "from", "Ulm", &first), "to");
    let done = next(3, "book", json!({}), "to", "Bonn", &second);
    assert_eq!(hosted.ask(&done).text(), "Ulm to Bonn, 12A");
    // Who forgets an answer is asked again.
    let again = modern(4, "tools/call", json!({"name": "book", "arguments": {}, "requestState": second}));
    required(&hosted, &again, "to");
}

#[test]
fn a_state_is_good_for_its_call_and_unchanged() {
    let (hosted, _puppet) = hosted();
    let state = required(&hosted, &call(1, "book", json!({})), "from");
    let text = state.as_str().expect("text");
    let mut changed = text.to_owned().into_bytes();
    let at = changed.len() / 2;
    changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
    let changed = String::from_utf8(changed).expect("ASCII");
    for state in
        [json!(changed), json!(text[1..]), json!(format!("{text}A")), json!(""), json!("x".repeat(100_000))]
    {
        let response = hosted.ask(&next(2, "book", json!({}), "from", "Ulm", &state));
        assert_eq!(response.json()["error"]["code"], -32602, "{response}");
    }
    // Another call, or another tool.
    for request in [
        next(2, "book", json!({"extra": 1}), "from", "Ulm", &state),
        next(2, "puppet", json!({}), "from", "Ulm", &state),
    ] {
        let response = hosted.ask(&request);
        assert_eq!(response.json()["error"]["code"], -32602, "{response}");
    }
    // It is still good for its own.
    required(&hosted, &next(3, "book", json!({}), "from", "Ulm", &state), "to");
}

#[test]
fn any_server_with_the_key_goes_on_with_a_call() {
    let replica = |byte: u8| {
        let states = SealedStates::with_key(&[byte; 32]).expect("long enough");
        Hosted::new(&puppet_with(|builder| builder.state_store(states)).0)
    };
    let (one, two, stranger) = (replica(1), replica(1), replica(2));
    let first = required(&one, &call(1, "book", json!({})), "from");
    let second = required(&two, &next(2, "book", json!({}), "from", "Ulm", &first), "to");
    assert_eq!(one.ask(&next(3, "book", json!({}), "to", "Bonn", &second)).text(), "Ulm to Bonn, 12A");
    let response = stranger.ask(&next(3, "book", json!({}), "to", "Bonn", &second));
    assert_eq!(response.json()["error"]["code"], -32602, "{response}");
    // Without a key of the program each process has its own.
    let other = Hosted::new(&puppet().0);
    let response = other.ask(&next(3, "book", json!({}), "to", "Bonn", &second));
    assert_eq!(response.json()["error"]["code"], -32602, "{response}");
}

#[test]
fn a_call_becomes_a_task_that_is_asked_for() {
    let (hosted, _puppet) = hosted();
    let able = json!({CAPABILITIES: {"elicitation": {"form": {}}, "extensions": {TASKS: {}}}});
    let ask = |id: i64, method: &str, mut params: Value| {
        params["_meta"] = able.clone();
        hosted.ask(&modern(id, method, params)).result()
    };
    let task = ask(1, "tools/call", json!({"name": "task", "arguments": {}}));
    assert_eq!(task["resultType"], "task", "{task}");
    let id = &task["taskId"];
    let mut number = 2;
    let mut look_while = |status: &str| {
        for _ in 0..100_000 {
            number += 1;
            let task = ask(number, "tasks/get", json!({"taskId": id}));
            if task["status"] != status {
                return task;
            }
            std::thread::yield_now();
        }
        panic!("the task stays {status}");
    };
    for (key, answer) in [("from", "Ulm"), ("to", "Bonn")] {
        let asking = look_while("working");
        assert_eq!(asking["status"], "input_required", "{asking}");
        assert!(asking["inputRequests"][key].is_object(), "{asking}");
        ask(0, "tasks/update", json!({"taskId": id, "inputResponses": {key: filled(answer)}}));
    }
    let done = look_while("working");
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(crate::http::text(&done["result"]), "Ulm to Bonn, 12A");
    // Its name is in a header as well; a wrong one is refused.
    let mut params = json!({"taskId": id});
    params["_meta"] = able.clone();
    let misnamed = modern(1, "tasks/get", params).set("Mcp-Name", "another");
    assert_eq!(hosted.ask(&misnamed).error(), (400, -32020));
}
