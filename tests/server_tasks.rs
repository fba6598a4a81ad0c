//! Tasks of a server, as clients of both eras see them.

#[path = "support/dialog.rs"]
mod dialog;
#[path = "support/tasks.rs"]
mod tasks;

use dialog::Dialog;
use serde_json::{Value, json};
use tasks::*;
use tinymcp::protocol::TASKS_EXTENSION;
use tinymcp::{ProtocolVersion, Server};

#[test]
fn a_task_is_declared_in_the_words_of_each_revision() {
    let (server, _) = server();
    for dialog in Dialog::all(&server) {
        let (tasks, extensions) = (&dialog.capabilities["tasks"], &dialog.capabilities["extensions"]);
        let legacy = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
        assert_eq!(*tasks, if dialog.version == OLD { legacy } else { Value::Null }, "{}", dialog.version);
        let modern = if dialog.version == NEW { json!({TASKS_EXTENSION: {}}) } else { Value::Null };
        assert_eq!(*extensions, modern, "{}", dialog.version);
    }
    for mut dialog in Dialog::all(&server) {
        let tools = dialog.ask("tools/list", json!({})).result();
        let support = |name: &str| {
            let tools = tools["tools"].as_array().expect("tools");
            tools.iter().find(|tool| tool["name"] == name).expect(name)["execution"]["taskSupport"].clone()
        };
        let all = [support("never"), support("optional"), support("required")];
        let told = if dialog.version == OLD {
            json!([null, "optional", "required"])
        } else {
            json!([null, null, null])
        };
        assert_eq!(json!(all), told, "{}", dialog.version);
    }
}

#[test]
fn who_gets_a_task() {
    let (server, _) = server();
    let modern_able = able();
    let rows = [
        // revision, declared or asked for, tool, what comes
        (&NEW, true, "never", "result"),
        (&NEW, true, "optional", "task"),
        (&NEW, true, "required", "task"),
        (&NEW, false, "never", "result"),
        (&NEW, false, "optional", "result"),
        (&NEW, false, "required", "-32021"),
        (&OLD, true, "never", "-32601"),
        (&OLD, true, "optional", "task"),
        (&OLD, true, "required", "task"),
        (&OLD, false, "never", "result"),
        (&OLD, false, "optional", "result"),
        (&OLD, false, "required", "-32601"),
        // Older revisions do not know the parameter.
        (&ProtocolVersion::V2025_06_18, true, "never", "result"),
        (&ProtocolVersion::V2025_06_18, true, "optional", "result"),
        (&ProtocolVersion::V2025_06_18, true, "required", "-32601"),
    ];
    for (version, wants, tool, expected) in rows {
        let abilities = if version.is_modern() && wants {
            modern_able.clone()
        } else {
            json!({"extensions": {TASKS_EXTENSION: null}})
        };
        let mut dialog = Dialog::open_as(&server, version, abilities);
        let mut params = json!({"name": tool});
        // Modern servers ignore the old parameter.
        if wants || version.is_modern() {
            params["task"] = json!({"ttl": 60_000});
        }
        let came = match dialog.ask("tools/call", params).answer {
            Ok(result) if result["resultType"] == "task" || result["task"].is_object() => "task".to_owned(),
            Ok(result) => {
                assert!(result["content"].is_array(), "{result}");
                "result".to_owned()
            }
            Err((code, _)) => code.to_string(),
        };
        assert_eq!(came, expected, "{version} {wants} {tool}");
    }
    let mut dialog = Dialog::open(&server, &NEW);
    dialog.send("tools/call", json!({"name": "required"}));
    let frame = dialog.next("tools/call");
    assert_eq!(
        frame["error"]["data"],
        json!({"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}})
    );
    // A server without tasks answers every call when it is done.
    let plain = Server::builder("plain", "1").tools(tools(&Gate::default())).build().expect("a server");
    for mut dialog in Dialog::all(&plain) {
        let result = dialog.ask("tools/call", json!({"name": "required", "task": {}})).result();
        assert_eq!(result["content"][0]["text"], "later");
        assert_eq!(dialog.ask("tasks/get", json!({"taskId": "a"})).error().0, -32601);
    }
}

#[test]
fn what_a_call_comes_to() {
    let (server, _) = server();
    let rows = [
        // tool, status and what is told of it, in 2026-07-28 and in 2025-11-25
        ("required", "completed", "completed", "later"),
        ("fails", "completed", "failed", "disk full"),
        ("panics", "completed", "failed", "tool `panics` panicked"),
        ("refuses", "failed", "failed", "not today"),
    ];
    for (tool, new, old, text) in rows {
        let mut dialog = modern(&server);
        let id = make(&mut dialog, tool);
        let task = look_while(&mut dialog, &id, "working");
        assert_eq!(
            (&task["status"], &task["resultType"]),
            (&json!(new), &json!("complete")),
            "{tool}: {task}"
        );
        for absent in ["task", "ttl", "pollInterval", "requestState", "inputRequests"] {
            assert_eq!(task.get(absent), None, "{task}");
        }
        assert_eq!((&task["ttlMs"], &task["pollIntervalMs"]), (&json!(3_600_000), &json!(1000)));
        if new == "failed" {
            assert_eq!(task["error"], json!({"code": -32050, "message": text}));
            assert_eq!(task["statusMessage"], text);
        } else {
            assert_eq!(task["result"]["content"][0]["text"], text, "{task}");
            assert_eq!(task["result"]["isError"] == true, tool != "required", "{task}");
        }
        let mut dialog = legacy(&server);
        let id = make(&mut dialog, tool);
        let answer = dialog.ask("tasks/result", json!({"taskId": id})).answer;
        let task = dialog.ask("tasks/get", json!({"taskId": id})).result();
        assert_eq!(task["status"], old, "{tool}: {task}");
        assert_eq!(task["statusMessage"].as_str(), Some(text).filter(|_| old == "failed"));
        match answer {
            Ok(result) => {
                assert_eq!(result["content"][0]["text"], text);
                let related = &result["_meta"]["io.modelcontextprotocol/related-task"];
                assert_eq!(*related, json!({"taskId": id}));
            }
            Err(error) => assert_eq!(error, (-32050, "not today".to_owned())),
        }
    }
}

#[test]
fn what_a_modern_task_asks_is_answered_by_key() {
    let (server, _) = server();
    let mut dialog = modern(&server);
    let id = make(&mut dialog, "asks");
    let keys = |task: &Value| -> Vec<String> {
        task["inputRequests"].as_object().expect("questions").keys().cloned().collect()
    };
    let first = look_while(&mut dialog, &id, "working");
    assert_eq!((&first["status"], keys(&first)), (&json!("input_required"), vec!["name".to_owned()]));
    assert_eq!(first["inputRequests"]["name"]["method"], "elicitation/create");
    // Looking again changes nothing, and neither does what was not asked.
    let again = dialog.ask("tasks/get", json!({"taskId": id})).result();
    assert_eq!(again, first);
    let update = |dialog: &mut Dialog, responses: Value| {
        let ack = dialog.ask("tasks/update", json!({"taskId": id, "inputResponses": responses})).result();
        assert_eq!(
            (&ack["resultType"], ack.as_object().map(serde_json::Map::len)),
            (&json!("complete"), Some(2))
        );
    };
    update(&mut dialog, json!({"other": {"action": "accept"}, "name#2": 5}));
    assert_eq!(dialog.ask("tasks/get", json!({"taskId": id})).result(), first);
    update(&mut dialog, json!({"name": {"action": "accept", "content": {"name": "Ada"}}}));
    // Two at once, under keys of their own; one answer alone is kept.
    let second = look_while(&mut dialog, &id, "working");
    assert_eq!(keys(&second), ["name#2", "roots"]);
    update(&mut dialog, json!({"roots": {"roots": [{"uri": "file:///a"}]}, "name": {"action": "decline"}}));
    let third = dialog.ask("tasks/get", json!({"taskId": id})).result();
    assert_eq!(keys(&third), ["name#2"]);
    update(&mut dialog, json!({"name#2": {"action": "accept", "content": {"name": "Bob"}}, "roots": 5}));
    let last = look_while(&mut dialog, &id, "working");
    assert_eq!(last["result"]["content"][0]["text"], "\"Ada\" \"Bob\" 7 1", "{last}");
    update(&mut dialog, json!({"name": {"action": "cancel"}}));
    assert_eq!(dialog.ask("tasks/get", json!({"taskId": id})).result(), last);
    // A URL that must be visited is asked for once, and then the handler runs again.
    let id = make(&mut dialog, "login");
    let asked = look_while(&mut dialog, &id, "working");
    assert_eq!(asked["inputRequests"]["7"]["params"]["url"], "https://example.com/login", "{asked}");
    dialog.ask("tasks/update", json!({"taskId": id, "inputResponses": {"7": {"action": "accept"}}})).result();
    let done = look_while(&mut dialog, &id, "working");
    assert_eq!(done["result"]["content"][0]["text"], "in", "{done}");
}

#[test]
fn a_legacy_task_asks_by_requests_that_name_it() {
    let (server, _) = server();
    let mut dialog = legacy(&server);
    let id = make(&mut dialog, "asks");
    let related = json!({"taskId": id});
    let answer = |dialog: &mut Dialog, method: &str, answer: Value| {
        let asked = dialog.peer.expect_request(method);
        let params = asked.params.expect("params").to_value();
        assert_eq!(params["_meta"]["io.modelcontextprotocol/related-task"], related, "{params}");
        dialog.peer.respond(&asked.id, answer);
    };
    let asked = dialog.peer.expect_request("elicitation/create");
    assert_eq!(dialog.ask("tasks/get", json!({"taskId": id})).result()["status"], "input_required");
    dialog.peer.respond(&asked.id, json!({"action": "accept", "content": {"name": "Ada"}}));
    // Meanwhile somebody waits for the result.
    answer(&mut dialog, "elicitation/create", json!({"action": "accept", "content": {"name": "Bob"}}));
    dialog.send("tasks/result", json!({"taskId": id}));
    answer(&mut dialog, "roots/list", json!({"roots": []}));
    let result = dialog.answer("tasks/result").result();
    assert_eq!(result["content"][0]["text"], "\"Ada\" \"Bob\" 7 0");
}

#[test]
fn cancelling() {
    let (server, _) = server();
    for tool in ["waits", "asks"] {
        let mut dialog = modern(&server);
        let id = make(&mut dialog, tool);
        if tool == "asks" {
            assert_eq!(look_while(&mut dialog, &id, "working")["status"], "input_required");
        }
        for _ in 0..2 {
            let ack = dialog.ask("tasks/cancel", json!({"taskId": id})).result();
            assert_eq!(ack.as_object().map(serde_json::Map::len), Some(2), "an empty result: {ack}");
            let task = dialog.ask("tasks/get", json!({"taskId": id})).result();
            assert_eq!((&task["status"], task.get("error")), (&json!("cancelled"), None), "{task}");
        }
    }
    let mut dialog = legacy(&server);
    let id = make(&mut dialog, "waits");
    dialog.send("tasks/result", json!({"taskId": id}));
    dialog.peer.request(1000, "tasks/cancel", json!({"taskId": id}));
    assert_eq!(dialog.answer("tasks/result").error().0, -32603);
    assert_eq!(dialog.peer.expect_result(1000).to_value()["status"], "cancelled");
    let (code, message) = dialog.ask("tasks/cancel", json!({"taskId": id})).error();
    assert_eq!((code, &*message), (-32602, "the task has ended already"));
    // Nobody waits any more for a result whose request was cancelled.
    let id = make(&mut dialog, "waits");
    dialog.peer.request(1001, "tasks/result", json!({"taskId": id}));
    dialog.peer.notify("notifications/cancelled", json!({"requestId": 1001}));
    assert_eq!(dialog.ask("tasks/cancel", json!({"taskId": id})).result()["status"], "cancelled");
    assert_eq!(dialog.ask("ping", json!({})).before.len(), 0);
}

#[test]
fn a_task_outlives_its_request_and_its_connection_only_if_it_is_modern() {
    let (server, gate) = server();
    let mut first = modern(&server);
    let id = make(&mut first, "held");
    // The id of the request is free again; cancelling that request does nothing to the task.
    first.peer.notify("notifications/cancelled", json!({"requestId": 2}));
    first.peer.close();
    first.peer.expect_end();
    let mut second = modern(&server);
    assert_eq!(second.ask("tasks/get", json!({"taskId": id})).result()["status"], "working");
    gate.open();
    assert_eq!(look_while(&mut second, &id, "working")["result"]["content"][0]["text"], "let go");

    let mut owner = legacy(&server);
    let (one, two) = (make(&mut owner, "waits"), make(&mut owner, "required"));
    let mut other = legacy(&server);
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        assert_eq!(other.ask(method, json!({"taskId": one})).error().0, -32602, "{method}");
    }
    assert_eq!(second.ask("tasks/get", json!({"taskId": one})).error().0, -32602);
    assert_eq!(owner.ask("tasks/get", json!({"taskId": id})).error().0, -32602);
    assert_eq!(other.ask("tasks/list", json!({})).result()["tasks"], json!([]));
    let listed = owner.ask("tasks/list", json!({})).result();
    let ids: Vec<_> =
        listed["tasks"].as_array().expect("tasks").iter().map(|task| task["taskId"].clone()).collect();
    assert_eq!((ids, listed.get("nextCursor")), (vec![json!(one), json!(two)], None));
    for cursor in ["", "x", "+1", "01", "-1", "fffffffffffffffff"] {
        assert_eq!(owner.ask("tasks/list", json!({"cursor": cursor})).error().0, -32602, "{cursor}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let (server, _) = server();
    let id = make(&mut modern(&server), "required");
    let mut undeclared = Dialog::open(&server, &NEW);
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({"taskId": id, "inputResponses": {}});
        assert_eq!(undeclared.ask(method, params).error().0, -32021, "{method}");
    }
    for method in ["tasks/list", "tasks/result"] {
        assert_eq!(undeclared.ask(method, json!({"taskId": id})).error().0, -32601, "{method}");
    }
    let listen = json!({"notifications": {"taskIds": [id]}});
    assert_eq!(undeclared.ask("subscriptions/listen", listen).error().0, -32021);
    let mut dialog = modern(&server);
    for method in ["tasks/list", "tasks/result"] {
        assert_eq!(dialog.ask(method, json!({"taskId": id})).error().0, -32601, "{method}");
    }
    let upper = id.to_uppercase();
    for unknown in ["", "nonexistent", &upper, &id[..31], &format!("{id} "), &"9".repeat(100_000), "\u{0}"] {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let error = dialog.ask(method, json!({"taskId": unknown, "inputResponses": {}})).error();
            assert_eq!(error, (-32602, "unknown or expired task".to_owned()), "{method}");
        }
    }
    for (method, params, problem) in [
        ("tasks/get", json!({}), "params.taskId: missing"),
        ("tasks/get", json!({"taskId": 5}), "params.taskId: expected a string, found 5"),
        ("tasks/update", json!({"taskId": id}), "params.inputResponses: missing"),
        (
            "tasks/update",
            json!({"taskId": id, "inputResponses": []}),
            "params.inputResponses: expected an object, found []",
        ),
        (
            "subscriptions/listen",
            json!({"notifications": {"taskIds": [5]}}),
            "params.notifications.taskIds[0]: expected a string, found 5",
        ),
    ] {
        assert_eq!(dialog.ask(method, params).error(), (-32602, problem.to_owned()), "{method}");
    }
}
