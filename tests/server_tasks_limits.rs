//! What tasks tell while they run, and where they end.

#[path = "support/dialog.rs"]
mod dialog;
#[path = "support/tasks.rs"]
mod tasks;

use serde_json::{Value, json};
use tasks::*;
use tinymcp::server::TaskOptions;

#[test]
fn a_subscription_tells_what_becomes_of_its_tasks() {
    let (server, _) = server();
    let mut dialog = modern(&server);
    let id = make(&mut dialog, "asks");
    assert_eq!(look_while(&mut dialog, &id, "working")["status"], "input_required");
    dialog.send("subscriptions/listen", json!({"notifications": {"taskIds": [id, "unknown", id]}}));
    let acknowledged = dialog.peer.expect_notification("notifications/subscriptions/acknowledged");
    let params = acknowledged.params.expect("params").to_value();
    assert_eq!(params["notifications"], json!({"taskIds": [id]}));
    let subscription = params["_meta"].clone();
    dialog.peer.request(1000, "tasks/cancel", {
        let mut params = json!({"taskId": id, "_meta": {}});
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(NEW);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = able();
        params
    });
    dialog.peer.expect_result(1000);
    let told = dialog.peer.expect_notification("notifications/tasks").params.expect("params").to_value();
    assert_eq!(
        (&told["status"], &told["taskId"], &told["_meta"]),
        (&json!("cancelled"), &json!(id), &subscription)
    );
    let task = dialog.ask("tasks/get", json!({"taskId": id})).result();
    for (name, value) in told.as_object().expect("an object").iter().filter(|(name, _)| *name != "_meta") {
        assert_eq!(&task[name], value, "what tasks/get says");
    }
}

#[test]
fn progress_belongs_to_legacy_tasks() {
    let (server, gate) = server();
    let mut dialog = legacy(&server);
    let params = json!({"name": "held", "task": {}, "_meta": {"progressToken": "p"}});
    let id = dialog.ask("tools/call", params.clone()).result()["task"]["taskId"].clone();
    let progress =
        dialog.peer.expect_notification("notifications/progress").params.expect("params").to_value();
    assert_eq!(progress["progressToken"], "p");
    assert_eq!(progress["_meta"]["io.modelcontextprotocol/related-task"], json!({"taskId": id}));
    gate.open();
    let mut dialog = modern(&server);
    let id = dialog.ask("tools/call", params).result()["taskId"].as_str().expect("an id").to_owned();
    while dialog.ask("tasks/get", json!({"taskId": id})).result()["status"] == "working" {}
    assert_eq!(dialog.ask("tools/list", json!({})).before.len(), 0, "none of a Modern one");
}

#[test]
fn limits_are_kept_and_told() {
    let (server, gate) = server_with(TaskOptions::default().with_max_tasks(2).with_max_running(1));
    let mut dialog = modern(&server);
    let (held, waiting) = (make(&mut dialog, "held"), make(&mut dialog, "held"));
    let (code, message) = dialog.ask("tools/call", json!({"name": "held"})).error();
    assert_eq!((code, message.starts_with("server busy: no more than 2 tasks")), (-32603, true), "{message}");
    // One that waits for a thread and is cancelled never runs.
    dialog.ask("tasks/cancel", json!({"taskId": waiting})).result();
    let third = make(&mut dialog, "required");
    assert_eq!(dialog.ask("tasks/get", json!({"taskId": waiting})).error().0, -32602, "it made room");
    assert_eq!(dialog.ask("tasks/get", json!({"taskId": third})).result()["status"], "working");
    gate.open();
    assert_eq!(look_while(&mut dialog, &third, "working")["status"], "completed");
    assert_eq!(look_while(&mut dialog, &held, "working")["status"], "completed");

    let (server, _) = server_with(TaskOptions::default());
    let mut dialog = legacy(&server);
    let rows = [
        (json!({}), 3_600_000),
        (json!({"ttl": 0}), 1000),
        (json!({"ttl": 60_000}), 60_000),
        (json!({"ttl": u64::MAX}), 86_400_000),
        (json!({"ttl": "soon"}), 3_600_000),
        (json!(true), 3_600_000),
    ];
    for (task, ttl) in rows {
        let made = dialog.ask("tools/call", json!({"name": "required", "task": task})).result();
        assert_eq!(made["task"]["ttl"], ttl, "{task}");
    }
    let (server, _) = server_with(TaskOptions::default().with_max_result_bytes(10));
    let mut dialog = modern(&server);
    let id = make(&mut dialog, "required");
    let task = look_while(&mut dialog, &id, "working");
    assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!(-32603)), "{task}");
}

#[test]
fn a_server_that_stops_cancels_its_tasks() {
    let (server, _) = server();
    let mut dialog = modern(&server);
    let id = make(&mut dialog, "waits");
    server.handle().stop();
    dialog.peer.expect_end();
    let meta = json!({"io.modelcontextprotocol/protocolVersion": NEW, "io.modelcontextprotocol/clientCapabilities": able()});
    let ask = |method: &str, params: Value| {
        let request = tinymcp::Message::request(1, method, Some(params.into()));
        match server.handle_request(request) {
            Some(tinymcp::Message::Response(response)) => response.result.map(|result| result.to_value()),
            other => panic!("no response: {other:?}"),
        }
    };
    while ask("tasks/get", json!({"taskId": id, "_meta": meta})).expect("known")["status"] == "working" {
        std::thread::yield_now();
    }
    let task = ask("tasks/get", json!({"taskId": id, "_meta": meta})).expect("known");
    assert_eq!(
        (&task["status"], &task["statusMessage"]),
        (&json!("cancelled"), &json!("the server is ending"))
    );
    let refused = ask("tools/call", json!({"name": "waits", "_meta": meta})).expect_err("no more");
    assert_eq!(refused.message, "the server is ending");
}

#[test]
fn many_answer_and_cancel_at_once() {
    let (server, _) = server();
    let mut maker = modern(&server);
    for round in 0..20 {
        let id = make(&mut maker, "asks");
        look_while(&mut maker, &id, "working");
        let racers: Vec<_> = (0..4)
            .map(|racer| {
                let (server, id) = (server.clone(), id.clone());
                std::thread::spawn(move || {
                    let mut dialog = modern(&server);
                    let answer = json!({"action": "accept", "content": {"name": racer.to_string()}});
                    let responses = json!({"name": answer, "name#2": answer, "roots": {"roots": []}});
                    for _ in 0..5 {
                        dialog
                            .ask("tasks/update", json!({"taskId": id, "inputResponses": responses}))
                            .result();
                    }
                    if racer == 3 && round % 2 == 0 {
                        dialog.ask("tasks/cancel", json!({"taskId": id})).result();
                    }
                })
            })
            .collect();
        racers.into_iter().for_each(|racer| racer.join().expect("no panic"));
        // Whoever came first answered; every question has one answer.
        loop {
            let task = maker.ask("tasks/get", json!({"taskId": id})).result();
            match task["status"].as_str().expect("a status") {
                "completed" | "cancelled" => break,
                "input_required" => {
                    let responses = json!({"name#2": {"action": "decline"}, "roots": {"roots": []}});
                    maker.ask("tasks/update", json!({"taskId": id, "inputResponses": responses})).result();
                }
                "working" => std::thread::yield_now(),
                other => panic!("{other}: {task}"),
            }
        }
    }
}

#[test]
fn a_result_that_is_waited_for_at_the_end_of_the_input_is_answered() {
    let (server, gate) = server();
    let mut dialog = legacy(&server);
    let id = make(&mut dialog, "held");
    dialog.peer.request(77, "tasks/result", json!({"taskId": id}));
    dialog.peer.request(78, "ping", json!({}));
    dialog.peer.expect_result(78);
    dialog.peer.close();
    gate.open();
    dialog.peer.expect_result(77);
}
