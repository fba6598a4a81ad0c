//! Calls that their handlers make tasks, when they have asked what they want to know before.

#[path = "support/dialog.rs"]
mod dialog;
#[path = "support/tasks.rs"]
mod tasks;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use dialog::Dialog;
use serde_json::{Value, json};
use tasks::{Gate, NEW, OLD, able, form, look_while, make, modern};
use tinymcp::context::{AskError, Question};
use tinymcp::protocol::{ElicitUrlParams, TASKS_EXTENSION};
use tinymcp::server::TaskOptions;
use tinymcp::tool::TaskMode;
use tinymcp::{Arguments, Context, FnTool, ProtocolVersion, Server, ToolError, ToolRegistry};

/// How often something was done.
#[derive(Clone, Default)]
struct Count(Arc<AtomicU32>);

impl Count {
    fn one_more(&self) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn so_far(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

struct Built {
    tools: ToolRegistry,
}

impl Built {
    fn new() -> Self {
        Self { tools: ToolRegistry::new() }
    }

    fn with(
        self,
        name: &str,
        mode: TaskMode,
        run: impl Fn(&Context) -> Result<String, ToolError> + Send + Sync + 'static,
    ) -> Self {
        let tool = FnTool::new(name, "", json!({"type": "object"}), move |_, cx: &Context| run(cx));
        self.tools.register(tool.task_mode(mode)).expect("registered");
        self
    }

    fn server_with(self, options: TaskOptions) -> Server {
        Server::builder("later", "1").tools(self.tools).tasks(options).build().expect("a server")
    }

    fn server(self) -> Server {
        self.server_with(TaskOptions::default())
    }
}

/// The name that the user gives.
fn name(cx: &Context, message: &str) -> Result<String, ToolError> {
    let answer = cx.elicit("name", form(message))?.content_as::<Value>()?.unwrap_or_default();
    Ok(answer["name"].as_str().unwrap_or("nobody").to_owned())
}

fn called(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

/// A round of a call of `tool`, which goes on with `before` if there was one.
#[track_caller]
fn round(dialog: &mut Dialog, tool: &str, before: Option<(&Value, Value)>) -> Value {
    let mut params = json!({"name": tool, "arguments": {"a": 1}});
    if let Some((asked, answers)) = before {
        params["requestState"] = asked["requestState"].clone();
        params["inputResponses"] = answers;
    }
    dialog.ask("tools/call", params).result()
}

#[track_caller]
fn keys(asked: &Value) -> Vec<&str> {
    asked["inputRequests"].as_object().expect("questions").keys().map(String::as_str).collect()
}

/// The id of the task that `came` is, and nothing but that.
#[track_caller]
fn id(came: &Value) -> String {
    assert_eq!((&came["resultType"], &came["status"]), (&json!("task"), &json!("working")), "{came}");
    for absent in ["requestState", "inputRequests", "content", "result"] {
        assert_eq!(came.get(absent), None, "{came}");
    }
    came["taskId"].as_str().expect("an id").to_owned()
}

#[track_caller]
fn text_of(task: &Value) -> &str {
    assert_eq!(task["status"], "completed", "{task}");
    task["result"]["content"][0]["text"].as_str().expect("a text")
}

#[test]
fn who_gets_a_task() {
    let begins = |cx: &Context| {
        cx.begin_task()?;
        Ok("done".to_owned())
    };
    let all = || {
        Built::new()
            .with("optional later", TaskMode::OptionalLater, begins)
            .with("required later", TaskMode::RequiredLater, begins)
            .with("never begins", TaskMode::RequiredLater, |_| Ok("done".to_owned()))
            .with("optional", TaskMode::Optional, begins)
            .with("required", TaskMode::Required, begins)
            .with("never", TaskMode::Never, begins)
    };
    let server = all().server();
    let between = ProtocolVersion::V2025_06_18;
    let rows = [
        // revision, declared or asked for, tool, what comes
        (&NEW, true, "optional later", "task"),
        (&NEW, true, "required later", "task"),
        (&NEW, true, "never begins", "result"),
        (&NEW, true, "optional", "task"),
        (&NEW, true, "required", "task"),
        (&NEW, true, "never", "result"),
        (&NEW, false, "optional later", "result"),
        (&NEW, false, "required later", "-32021"),
        (&NEW, false, "never begins", "-32021"),
        (&NEW, false, "optional", "result"),
        // From its start: the client said so.
        (&OLD, true, "optional later", "task"),
        (&OLD, true, "required later", "task"),
        (&OLD, true, "never begins", "task"),
        (&OLD, false, "optional later", "result"),
        (&OLD, false, "required later", "-32601"),
        (&between, true, "optional later", "result"),
        (&between, true, "required later", "-32601"),
    ];
    for (version, wants, tool, expected) in rows {
        let abilities = if wants { able() } else { json!({}) };
        let mut dialog = Dialog::open_as(&server, version, abilities);
        let params = if wants { json!({"name": tool, "task": {}}) } else { json!({"name": tool}) };
        let (came, id) = match dialog.ask("tools/call", params).answer {
            Ok(result) if result["resultType"] == "task" => ("task".to_owned(), result["taskId"].clone()),
            Ok(result) if result["task"].is_object() => ("task".to_owned(), result["task"]["taskId"].clone()),
            Ok(result) => {
                assert_eq!(result["content"][0]["text"], "done", "{result}");
                ("result".to_owned(), Value::Null)
            }
            Err((code, _)) => (code.to_string(), Value::Null),
        };
        assert_eq!(came, expected, "{version} {wants} {tool}");
        if let Some(id) = id.as_str() {
            assert_eq!(look_while(&mut dialog, id, "working")["status"], "completed", "{version} {tool}");
        }
    }
    let listed = Dialog::open(&server, &OLD).ask("tools/list", json!({})).result();
    let support: Vec<_> = listed["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| &tool["execution"]["taskSupport"])
        .collect();
    // In the order of their names.
    let expected = [json!(null), json!("required"), json!("optional"), json!("optional"), json!("required")];
    assert_eq!(support[..5], expected.iter().collect::<Vec<_>>(), "{listed}");
    // A server without tasks answers every call when it is done, and a local call is its own.
    let plain = Server::builder("plain", "1").tools(all().tools).build().expect("a server");
    for tool in ["optional later", "required later"] {
        let result = modern(&plain).ask("tools/call", json!({"name": tool})).result();
        assert_eq!(result["content"][0]["text"], "done");
        let local = plain.tools().execute(tool, Arguments::empty(), &Context::detached());
        assert_eq!(local.expect("a result").text_content(), "done");
    }
}

#[test]
fn a_call_asks_twice_and_then_becomes_a_task_which_asks_again() {
    let (runs, orders, bills) = (Count::default(), Count::default(), Count::default());
    let (run, order, bill) = (runs.clone(), orders.clone(), bills.clone());
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let tool = FnTool::new("asks", "", schema, move |arguments: Arguments<'_>, cx: &Context| {
        run.one_more();
        let a = arguments.to_value();
        let first = name(cx, "Who?")?;
        let order = cx.step("number", || Ok::<_, ToolError>(order.one_more()))?;
        // The same keys: a question and a step of their own.
        let second = name(cx, "And who?")?;
        let bill = cx.step("number", || Ok::<_, ToolError>(bill.one_more()))?;
        cx.begin_task()?;
        let also = cx.step("number", || Ok::<_, ToolError>("of the task".to_owned()))?;
        let third = name(cx, "And last?")?;
        let (fourth, roots) = cx.ask((Question::elicit("name", form("And?")), Question::roots("roots")))?;
        let said = (fourth.is_accepted(), roots.len());
        Ok::<_, ToolError>(format!("{} {first} {order} {second} {bill} {also} {third} {said:?}", a["a"]))
    });
    let built = Built::new();
    built.tools.register(tool.task_mode(TaskMode::RequiredLater)).expect("registered");
    let server = built.server();
    let mut dialog = modern(&server);

    let first = round(&mut dialog, "asks", None);
    assert_eq!((&first["resultType"], first.get("taskId")), (&json!("input_required"), None), "{first}");
    assert_eq!(keys(&first), ["name"]);
    let second = round(&mut dialog, "asks", Some((&first, json!({"name": called("Ada")}))));
    assert_eq!((&second["resultType"], second.get("taskId")), (&json!("input_required"), None), "{second}");
    assert_eq!(keys(&second), ["name#2"]);
    // Something else than the answer changes nothing.
    let again = round(&mut dialog, "asks", Some((&second, json!({"other": called("Eve")}))));
    assert_eq!(keys(&again), ["name#2"]);
    let last = json!({"name#2": called("Bob"), "roots": {"roots": []}});
    let id = id(&round(&mut dialog, "asks", Some((&again, last.clone()))));

    // The task has keys of its own, and no answer that was not asked for.
    let asks = look_while(&mut dialog, &id, "working");
    assert_eq!((&asks["status"], keys(&asks)), (&json!("input_required"), vec!["name"]), "{asks}");
    let params = json!({"taskId": id, "inputResponses": {"name": called("Cy")}});
    dialog.ask("tasks/update", params).result();
    let asks = look_while(&mut dialog, &id, "working");
    assert_eq!(keys(&asks), ["name#2", "roots"]);
    let params =
        json!({"taskId": id, "inputResponses": {"name#2": {"action": "decline"}, "roots": {"roots": []}}});
    dialog.ask("tasks/update", params).result();
    let done = look_while(&mut dialog, &id, "working");
    assert_eq!(text_of(&done), "1 Ada 1 Bob 1 of the task Cy (false, 0)");
    assert_eq!((runs.so_far(), orders.so_far(), bills.so_far()), (5, 1, 1));

    // The last round counts once: there is no second task of it.
    let mut params = json!({"name": "asks", "arguments": {"a": 1}, "inputResponses": last});
    params["requestState"] = again["requestState"].clone();
    assert_eq!(dialog.ask("tools/call", params).error().0, -32602);
    assert_eq!(runs.so_far(), 5);
}

#[test]
fn a_client_without_tasks_is_asked_and_answered_in_rounds() {
    let server = Built::new()
        .with("asks", TaskMode::OptionalLater, |cx| {
            let first = name(cx, "Who?")?;
            cx.begin_task()?;
            Ok(format!("{first} {}", name(cx, "And who?")?))
        })
        .server();
    let elicitation = json!({"elicitation": {"form": {}}});
    let mut dialog = Dialog::open_as(&server, &NEW, elicitation.clone());
    let first = round(&mut dialog, "asks", None);
    let second = round(&mut dialog, "asks", Some((&first, json!({"name": called("Ada")}))));
    assert_eq!(keys(&second), ["name#2"]);
    let result = round(&mut dialog, "asks", Some((&second, json!({"name#2": called("Bob")}))));
    assert_eq!(result["content"][0]["text"], "Ada Bob");
    // Each request is taken for itself: it may be the last that declares them.
    let mut dialog = Dialog::open_as(&server, &NEW, elicitation);
    let first = round(&mut dialog, "asks", None);
    let mut other = modern(&server);
    let id = id(&round(&mut other, "asks", Some((&first, json!({"name": called("Ada")})))));
    let asks = look_while(&mut other, &id, "working");
    assert_eq!(keys(&asks), ["name"]);
    // A Legacy client is asked by requests, by a task from its start.
    let mut dialog = tasks::legacy(&server);
    let id = make(&mut dialog, "asks");
    for answer in ["Ada", "Bob"] {
        let asked = dialog.peer.expect_request("elicitation/create");
        let params = asked.params.expect("params").to_value();
        assert_eq!(params["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], json!(id));
        dialog.peer.respond(&asked.id, called(answer));
    }
    let result = dialog.ask("tasks/result", json!({"taskId": id})).result();
    assert_eq!(result["content"][0]["text"], "Ada Bob");
}

#[test]
fn cancelling() {
    // The task, while it asks and while it works.
    let server = Built::new()
        .with("asks", TaskMode::RequiredLater, |cx| {
            let first = name(cx, "Who?")?;
            cx.begin_task()?;
            name(cx, &first)
        })
        .with("works", TaskMode::RequiredLater, |cx| {
            let first = name(cx, "Who?")?;
            cx.begin_task()?;
            let _ = cx.cancel_token().wait_timeout(Duration::from_secs(60));
            Ok(first)
        })
        .server();
    for (tool, status) in [("asks", "input_required"), ("works", "working")] {
        let mut dialog = modern(&server);
        let first = round(&mut dialog, tool, None);
        let id = id(&round(&mut dialog, tool, Some((&first, json!({"name": called("Ada")})))));
        // The request that it came of is over, and so is what could be cancelled of it.
        dialog.peer.notify("notifications/cancelled", json!({"requestId": 3}));
        if status != "working" {
            look_while(&mut dialog, &id, "working");
        }
        assert_eq!(dialog.ask("tasks/get", json!({"taskId": id})).result()["status"], status);
        dialog.ask("tasks/cancel", json!({"taskId": id})).result();
        assert_eq!(dialog.ask("tasks/get", json!({"taskId": id})).result()["status"], "cancelled");
    }
    // The call, before it is a task: then there is none, which would take the only place.
    let (began, begun) = (Gate::default(), Gate::default());
    let (reached, held) = (began.clone(), begun.clone());
    let server = Built::new()
        .with("begins late", TaskMode::RequiredLater, move |cx| {
            reached.open();
            let _ = cx.cancel_token().wait_timeout(Duration::from_secs(60));
            cx.begin_task()?;
            let _ = held.0.wait_timeout(Duration::from_secs(60));
            Ok("nobody knows".to_owned())
        })
        .with("required", TaskMode::Required, |_| Ok("done".to_owned()))
        .server_with(TaskOptions::default().with_max_tasks(1));
    let mut dialog = modern(&server);
    dialog.peer.request(77, "tools/call", {
        let mut params = json!({"name": "begins late", "_meta": {}});
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(NEW);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = able();
        params
    });
    assert!(began.0.wait_timeout(Duration::from_secs(60)));
    dialog.peer.notify("notifications/cancelled", json!({"requestId": 77}));
    dialog.peer.close();
    dialog.peer.expect_end(); // when the handler has returned
    make(&mut modern(&server), "required");
    begun.open();
}

#[test]
fn no_room_for_a_task_is_an_error_of_the_call_that_would_be_one() {
    let gate = Gate::default();
    let held = gate.clone();
    let tools = || {
        let held = held.clone();
        Built::new()
            .with("begins", TaskMode::RequiredLater, move |cx| {
                name(cx, "Who?")?;
                cx.step("large", || Ok::<_, ToolError>("x".repeat(2000)))?;
                cx.begin_task()?;
                Ok("done".to_owned())
            })
            .with("held", TaskMode::Required, move |_| {
                let _ = held.0.wait_timeout(Duration::from_secs(60));
                Ok("let go".to_owned())
            })
    };
    let begin = |dialog: &mut Dialog| {
        let first = round(dialog, "begins", None);
        let mut params =
            json!({"name": "begins", "arguments": {"a": 1}, "inputResponses": {"name": called("Ada")}});
        params["requestState"] = first["requestState"].clone();
        dialog.ask("tools/call", params)
    };
    let server = tools().server_with(TaskOptions::default().with_max_tasks(1));
    let mut dialog = modern(&server);
    let only = make(&mut dialog, "held");
    let (code, message) = begin(&mut dialog).error();
    assert_eq!((code, message.starts_with("server busy: no more than 1 tasks")), (-32603, true), "{message}");
    gate.open();
    look_while(&mut dialog, &only, "working");
    id(&begin(&mut dialog).result());
    // What it knows counts.
    for (bytes, has_room) in [(2000, false), (4000, true)] {
        let server = tools().server_with(TaskOptions::default().with_max_bytes(bytes));
        let came = begin(&mut modern(&server));
        assert_eq!(came.answer.is_ok(), has_room, "{bytes}: {:?}", came.answer);
    }
}

#[test]
fn a_task_that_runs_again_for_a_url_knows_what_it_knew() {
    let (orders, runs) = (Count::default(), Count::default());
    let (order, run) = (orders.clone(), runs.clone());
    let server = Built::new()
        .with("pays", TaskMode::RequiredLater, move |cx| {
            let run = run.one_more();
            let who = name(cx, "Who?")?;
            let order = cx.step("order", || Ok::<_, ToolError>(order.one_more()))?;
            cx.begin_task()?;
            if run == 3 {
                let url = ElicitUrlParams::new("Pay", "https://example.com/pay").with_elicitation_id("7");
                return Err(ToolError::url_elicitation_required(vec![url]));
            }
            Ok(format!("{who} {order} {run}"))
        })
        .server();
    let mut dialog = modern(&server);
    let first = round(&mut dialog, "pays", None);
    let id = id(&round(&mut dialog, "pays", Some((&first, json!({"name": called("Ada")})))));
    let asks = look_while(&mut dialog, &id, "working");
    assert_eq!(keys(&asks), ["7"]);
    dialog.ask("tasks/update", json!({"taskId": id, "inputResponses": {"7": {"action": "accept"}}})).result();
    let done = look_while(&mut dialog, &id, "working");
    assert_eq!((text_of(&done), orders.so_far(), runs.so_far()), ("Ada 1 4", 1, 4));
}

#[test]
fn what_a_handler_makes_of_the_error() {
    let server = Built::new()
        .with("swallows", TaskMode::RequiredLater, |cx| {
            let came = cx.begin_task();
            Ok(format!("{:?}", came.map_err(|error| matches!(error, AskError::BecomesTask))))
        })
        .with("asks and begins", TaskMode::RequiredLater, |cx| {
            let asked = cx.elicit("name", form("Who?"));
            cx.begin_task()?;
            Ok(asked?.action.to_string())
        })
        .with("begins and asks", TaskMode::RequiredLater, |cx| {
            let begun = cx.begin_task();
            let who = name(cx, "Who?")?;
            begun?;
            Ok(who)
        })
        .with("wraps", TaskMode::RequiredLater, |cx| {
            cx.begin_task().map_err(|error| ToolError::new(format_args!("sorry: {error}")))?;
            Ok("done".to_owned())
        })
        .server();
    let mut dialog = modern(&server);
    // A result is a result.
    let result = round(&mut dialog, "swallows", None);
    assert_eq!(result["content"][0]["text"], "Err(true)");
    // As long as a question is open there is no task.
    for (tool, text) in [("asks and begins", "accept"), ("begins and asks", "Ada")] {
        let first = round(&mut dialog, tool, None);
        assert_eq!((&first["resultType"], keys(&first)), (&json!("input_required"), vec!["name"]), "{tool}");
        let id = id(&round(&mut dialog, tool, Some((&first, json!({"name": called("Ada")})))));
        assert_eq!(text_of(&look_while(&mut dialog, &id, "working")), text, "{tool}");
    }
    // Whatever its text has become.
    let id = id(&round(&mut dialog, "wraps", None));
    assert_eq!(text_of(&look_while(&mut dialog, &id, "working")), "done");
}

#[test]
fn a_client_that_lacks_what_is_required_is_told_before_its_user_is_asked() {
    let server = Built::new()
        .with("asks", TaskMode::RequiredLater, |cx| {
            let who = name(cx, "Who?")?;
            cx.begin_task()?;
            Ok(who)
        })
        .server();
    let mut dialog = Dialog::open_as(&server, &NEW, json!({"elicitation": {"form": {}}}));
    dialog.send("tools/call", json!({"name": "asks"}));
    let error = &dialog.next("tools/call")["error"];
    assert_eq!(error["code"], -32021, "{error}");
    assert_eq!(error["data"], json!({"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}}));
}
