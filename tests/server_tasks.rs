//! Tasks of a server, as clients of both eras see them.

#[path = "support/dialog.rs"]
mod dialog;

use std::time::Duration;

use dialog::Dialog;
use serde_json::{Value, json};
use tinymcp::protocol::{ElicitParams, ElicitUrlParams, PrimitiveSchema, RequestedSchema, TASKS_EXTENSION};
use tinymcp::server::TaskOptions;
use tinymcp::tool::TaskMode;
use tinymcp::{CancelToken, Context, ErrorObject, FnTool, ProtocolVersion, Server, ToolError, ToolRegistry};

const OLD: ProtocolVersion = ProtocolVersion::V2025_11_25;
const NEW: ProtocolVersion = ProtocolVersion::V2026_07_28;

fn able() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "roots": {}, "extensions": {TASKS_EXTENSION: {}}})
}

/// Lets a test hold a tool until it looks.
#[derive(Clone, Default)]
struct Gate(CancelToken);

impl Gate {
    fn open(&self) {
        self.0.cancel("open");
    }
}

fn form(message: &str) -> ElicitParams {
    ElicitParams::form(message, RequestedSchema::new().required("name", PrimitiveSchema::text()))
}

type Handler = Box<dyn Fn(&Context) -> Result<String, ToolError> + Send + Sync>;

fn tools(gate: &Gate) -> ToolRegistry {
    let tools = ToolRegistry::new();
    let add = |name: &str, mode: TaskMode, run: Handler| {
        let schema = json!({"type": "object"});
        let tool = FnTool::new(name, "", schema, move |_, cx| run(cx)).task_mode(mode);
        tools.register(tool).expect("registered");
    };
    add("never", TaskMode::Never, Box::new(|_| Ok("at once".into())));
    add("optional", TaskMode::Optional, Box::new(|_| Ok("either way".into())));
    add("required", TaskMode::Required, Box::new(|_| Ok("later".into())));
    add("fails", TaskMode::Required, Box::new(|_| Err(ToolError::new("disk full"))));
    add(
        "refuses",
        TaskMode::Required,
        Box::new(|_| Err(ToolError::protocol(ErrorObject::new(-32050, "not today")))),
    );
    add("panics", TaskMode::Required, Box::new(|_| panic!("the panic of a test")));
    let held = gate.clone();
    add(
        "held",
        TaskMode::Required,
        Box::new(move |cx| {
            cx.progress(1.0, 2.0, "waits");
            let _ = held.0.wait_timeout(Duration::from_secs(60));
            Ok("let go".into())
        }),
    );
    add(
        "waits",
        TaskMode::Required,
        Box::new(|cx| {
            let _ = cx.cancel_token().wait_timeout(Duration::from_secs(60));
            Ok(cx.cancel_token().reason().unwrap_or("not cancelled").to_owned())
        }),
    );
    add(
        "asks",
        TaskMode::Optional,
        Box::new(|cx| {
            let first = cx.elicit("name", form("Who?"))?;
            let kept: u32 = cx.step("step", || Ok::<_, ToolError>(7))?;
            let both = (
                tinymcp::context::Question::elicit("name", form("And who?")),
                tinymcp::context::Question::roots("roots"),
            );
            let (second, roots) = cx.ask(both)?;
            let name = |answer: &tinymcp::protocol::ElicitResult| {
                Ok::<_, ToolError>(answer.content_as::<Value>()?.unwrap_or_default()["name"].clone())
            };
            Ok(format!("{} {} {kept} {}", name(&first)?, name(&second)?, roots.len()))
        }),
    );
    let logged_in = std::sync::atomic::AtomicBool::new(false);
    add(
        "login",
        TaskMode::Required,
        Box::new(move |_| match logged_in.swap(true, std::sync::atomic::Ordering::SeqCst) {
            true => Ok("in".into()),
            false => {
                let url =
                    ElicitUrlParams::new("Log in", "https://example.com/login").with_elicitation_id("7");
                Err(ToolError::url_elicitation_required(vec![url]))
            }
        }),
    );
    tools
}

fn server_with(options: TaskOptions) -> (Server, Gate) {
    let gate = Gate::default();
    let server = Server::builder("tasks", "1").tools(tools(&gate)).tasks(options).build().expect("a server");
    (server, gate)
}

fn server() -> (Server, Gate) {
    server_with(TaskOptions::default())
}

fn modern(server: &Server) -> Dialog {
    Dialog::open_as(server, &NEW, able())
}

fn legacy(server: &Server) -> Dialog {
    Dialog::open_as(server, &OLD, json!({"elicitation": {"form": {}, "url": {}}, "roots": {}}))
}

#[track_caller]
fn make(dialog: &mut Dialog, tool: &str) -> String {
    let task = if dialog.version.is_modern() {
        let task = dialog.ask("tools/call", json!({"name": tool})).result();
        assert_eq!(task["resultType"], "task", "{task}");
        task
    } else {
        dialog.ask("tools/call", json!({"name": tool, "task": {}})).result()["task"].take()
    };
    assert_eq!(task["status"], "working", "{task}");
    task["taskId"].as_str().expect("an id").to_owned()
}

/// Looks until the task has another status than `while_it_is`. Each look is a round trip to the server.
#[track_caller]
fn look_while(dialog: &mut Dialog, id: &str, while_it_is: &str) -> Value {
    for _ in 0..100_000 {
        let task = dialog.ask("tasks/get", json!({"taskId": id})).result();
        if task["status"] != while_it_is {
            return task;
        }
        std::thread::yield_now();
    }
    panic!("the task stays {while_it_is}");
}

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
