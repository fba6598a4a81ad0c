//! Calls that become tasks, as a client sees them: on servers of its own kind, and on scripted ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};
use tinymcp::client::{CallOptions, ClientBuilder, Outcome, Timeouts};
use tinymcp::context::Question;
use tinymcp::json::Object;
use tinymcp::jsonrpc::Request;
use tinymcp::protocol::{
    CallToolResult, ElicitParams, ElicitResult, PrimitiveSchema, RequestedSchema, Root, TASKS_EXTENSION,
    TaskStatus,
};
use tinymcp::server::TaskOptions;
use tinymcp::testing::{ScriptedPeer, pair_with};
use tinymcp::tool::TaskMode;
use tinymcp::{
    CancelToken, Client, Context, Error, FnTool, Message, ProtocolVersion, Server, ToolError, ToolRegistry,
};

fn form(message: &str) -> ElicitParams {
    ElicitParams::form(message, RequestedSchema::new().required("name", PrimitiveSchema::text()))
}

/// Tasks that end, fail, wait and ask. Each wants to be looked at as often as may be.
fn server() -> Server {
    let tools = ToolRegistry::new();
    let add = |name: &str, mode: TaskMode, run: fn(&Context) -> Result<String, ToolError>| {
        let tool = FnTool::new(name, "", json!({"type": "object"}), move |_, cx: &Context| run(cx));
        tools.register(tool.task_mode(mode)).expect("registered");
    };
    add("never", TaskMode::Never, |_| Ok("at once".into()));
    add("later", TaskMode::Required, |_| Ok("later".into()));
    add("fails", TaskMode::Required, |_| Err(ToolError::new("disk full")));
    add("refuses", TaskMode::Required, |_| {
        Err(ToolError::protocol(tinymcp::ErrorObject::new(-32050, "not today")))
    });
    add("waits", TaskMode::Required, |cx| {
        let _ = cx.cancel_token().wait_timeout(Duration::from_secs(60));
        Ok("waited".into())
    });
    add("asks", TaskMode::Required, |cx| {
        let first = cx.elicit("name", form("Who?"))?.content_as::<Value>()?.unwrap_or_default();
        let (second, roots) =
            cx.ask((Question::elicit("name", form("And who?")), Question::roots("roots")))?;
        let second = second.content_as::<Value>()?.unwrap_or_default();
        Ok(format!("{} {} {}", first["name"], second["name"], roots.len()))
    });
    add("asks first", TaskMode::RequiredLater, |cx| {
        let first = cx.elicit("name", form("Who?"))?.content_as::<Value>()?.unwrap_or_default();
        cx.begin_task()?;
        let second = cx.elicit("name", form("And who?"))?.content_as::<Value>()?.unwrap_or_default();
        Ok(format!("{} {}", first["name"], second["name"]))
    });
    let options = TaskOptions::default().with_poll_interval(Duration::ZERO);
    Server::builder("tasks", "1").tools(tools).tasks(options).build().expect("a server")
}

/// A client, and how often its user was asked.
fn able() -> (ClientBuilder, Arc<AtomicU32>) {
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let client = Client::builder().tasks().roots([Root::new("file:///a")]).on_elicit(move |form| {
        let mut content = form.defaults();
        content.insert("name", &format!("{} {}", form.message, count.fetch_add(1, Ordering::SeqCst)));
        Ok(ElicitResult::accept(content))
    });
    (client, asked)
}

fn old(client: ClientBuilder) -> ClientBuilder {
    client.versions([ProtocolVersion::V2025_11_25])
}

#[test]
fn who_only_wants_the_result_need_not_know_of_tasks() {
    let server = server();
    for is_modern in [true, false] {
        let (client, asked) = able();
        let client = pair_with(if is_modern { client } else { old(client) }, &server).expect("a pair");
        let options = if is_modern { CallOptions::default() } else { CallOptions::default().with_task(None) };
        let call = |tool: &str| client.call_tool_with(tool, (), &options);
        assert_eq!(call("later").expect("a result").text_content(), "later");
        let failed = call("fails").expect("a result");
        assert_eq!((failed.is_error(), failed.text_content()), (true, "disk full".to_owned()));
        assert!(matches!(call("refuses"), Err(Error::Peer(error)) if error.code == -32050));
        assert_eq!(call("asks").expect("a result").text_content(), r#""Who? 0" "And who? 1" 1"#);
        assert_eq!(asked.load(Ordering::SeqCst), 2, "each question once");
        assert_eq!(
            client.start_call("later", (), &options).expect("sent").wait().expect("a result").text_content(),
            "later"
        );
        // Neither need who calls a remote tool.
        let tools = client.discover_tools().expect("tools");
        let later = tools.iter().find(|tool| tinymcp::Tool::name(*tool) == "later").expect("later");
        let result = tinymcp::Tool::execute(later, tinymcp::Arguments::empty(), &Context::detached());
        assert_eq!(result.expect("a result").text_content(), "later");
        if is_modern {
            assert_eq!(call("never").expect("a result").text_content(), "at once");
        } else {
            assert!(matches!(call("never"), Err(Error::Peer(error)) if error.code == -32601));
            assert!(matches!(client.call_tool("later", ()), Err(Error::Peer(error)) if error.code == -32601));
        }
        client.close().expect("closed");
    }
}

#[test]
fn a_task_can_be_watched_left_and_found_again() {
    let server = server();
    let options = CallOptions::default();
    let id = {
        let client = pair_with(able().0, &server).expect("a pair");
        let at_once = client.call_tool_task("never", (), &options).expect("called");
        assert_eq!((at_once.id(), at_once.status(&options).expect("no task")), (None, None));
        assert_eq!(at_once.wait(&options).expect("a result").text_content(), "at once");
        at_once.cancel(&options).expect("nothing to cancel");
        let task = client.call_tool_task("waits", (), &options).expect("called");
        let status = task.status(&options).expect("known").expect("a task");
        assert_eq!((status.status, Some(&*status.task_id)), (TaskStatus::Working, task.id()));
        assert_eq!(task.result(&options).expect("known"), None);
        assert!(!format!("{task:?}").contains(&status.task_id), "an id may be a secret");
        client.close().expect("closed");
        status.task_id
    };
    let client = pair_with(able().0, &server).expect("a pair");
    let task = client.task(&*id);
    assert_eq!(task.status(&options).expect("known").expect("a task").status, TaskStatus::Working);
    task.cancel(&options).expect("acknowledged");
    assert!(matches!(task.wait(&options), Err(Error::Cancelled(why)) if why == "cancelled by the client"));
    assert!(matches!(client.task("made up").wait(&options), Err(Error::Peer(error)) if error.code == -32602));
    client.close().expect("closed");

    let client = pair_with(old(Client::builder()), &server).expect("a pair");
    let task = client
        .call_tool_task("later", (), &options.clone().with_task(Duration::from_secs(60)))
        .expect("called");
    let result = task.wait(&options).expect("a result");
    assert_eq!(task.result(&options).expect("ended"), Some(result));
    let task = client.call_tool_task("waits", (), &options.clone().with_task(None)).expect("called");
    assert_eq!(task.result(&options).expect("known"), None);
    task.cancel(&options).expect("cancelled");
    assert_eq!(task.status(&options).expect("known").expect("a task").status, TaskStatus::Cancelled);
    assert!(matches!(task.cancel(&options), Err(Error::Peer(error)) if error.code == -32602));
    client.close().expect("closed");
}

#[test]
fn old_servers_are_asked_for_a_task_only_if_they_have_any() {
    let plain = Server::builder("plain", "1").build().expect("a server");
    for (version, problem) in [
        (ProtocolVersion::V2025_06_18, "revision 2025-06-18 has no tasks"),
        (ProtocolVersion::V2025_11_25, "the server runs no calls as tasks"),
    ] {
        let client = pair_with(Client::builder().versions([version]), &plain).expect("a pair");
        let called = client.call_tool_with("later", (), &CallOptions::default().with_task(None));
        assert!(matches!(&called, Err(Error::Unsupported(said)) if said == problem), "{called:?}");
        client.close().expect("closed");
    }
}

/// A Modern server by script, and a call under way.
struct Scripted {
    peer: ScriptedPeer,
    call: JoinHandle<(tinymcp::Result<CallToolResult>, Client)>,
}

impl Scripted {
    /// The server has been asked for the tool `t` by a client with a task's worth of patience.
    fn call(client: ClientBuilder, options: CallOptions) -> (Self, Request) {
        let (client, mut peer) = ScriptedPeer::for_client(client).expect("a client");
        let call = thread::spawn(move || (client.call_tool_with("t", (), &options), client));
        let discover = peer.expect_request("server/discover");
        let capabilities = json!({"tools": {}, "extensions": {TASKS_EXTENSION: {}}});
        peer.respond(
            &discover.id,
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private"}),
        );
        let request = peer.expect_request("tools/call");
        (Self { peer, call }, request)
    }

    fn with_task(client: ClientBuilder, options: CallOptions) -> Self {
        let (mut scripted, request) = Self::call(client, options);
        let declared = &request.params.expect("params").to_value()["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        assert_eq!(declared["extensions"], json!({TASKS_EXTENSION: {}}));
        scripted.peer.respond(&request.id, task("working", json!({"resultType": "task"})));
        scripted
    }

    /// Answers the next look.
    #[track_caller]
    fn look(&mut self, answer: Value) {
        let request = self.peer.expect_request("tasks/get");
        assert_eq!(request.params.expect("params").to_value()["taskId"], "x");
        self.peer.respond(&request.id, answer);
    }

    /// The client gives the task up. A request of its own that was open, it gives up before.
    #[track_caller]
    fn cancelled(&mut self) {
        loop {
            match self.peer.expect() {
                Message::Notification(notice) if notice.method == "notifications/cancelled" => {}
                Message::Request(request) if request.method == "tasks/cancel" => {
                    assert_eq!(request.params.expect("params").to_value()["taskId"], "x");
                    return;
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn outcome(mut self) -> String {
        let (result, client) = self.call.join().expect("no panic");
        self.peer.close(); // before the client waits for that
        drop(client);
        outcome(&result)
    }
}

fn outcome(result: &tinymcp::Result<CallToolResult>) -> String {
    match result {
        Ok(result) => result.text_content(),
        Err(error) => error.to_string(),
    }
}

fn task(status: &str, more: Value) -> Value {
    let mut task = json!({"taskId": "x", "status": status, "createdAt": "2026-01-01T00:00:00Z",
        "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": null, "pollIntervalMs": 0, "resultType": "complete"});
    task.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    task
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

#[test]
fn every_status_of_a_task() {
    let error = json!({"code": -32050, "message": "not today"});
    let rows = [
        (task("completed", json!({"result": text("done")})), "done"),
        // Against the text of the extension, and in its examples.
        (task("completed", json!({"result": text("done"), "resultType": "task"})), "done"),
        (task("failed", json!({"error": error})), "not today (-32050)"),
        (task("cancelled", json!({})), "cancelled: by the server"),
        (task("cancelled", json!({"statusMessage": "too late"})), "cancelled: too late"),
        (task("completed", json!({})), "protocol violation: the result of tasks/get: result: missing"),
        (task("failed", json!({})), "protocol violation: the result of tasks/get: error: missing"),
        (
            task("input_required", json!({})),
            "protocol violation: the result of tasks/get: inputRequests: missing",
        ),
        (
            task("completed", json!({"result": 5})),
            "protocol violation: the result of tasks/get: result: expected an object, found 5",
        ),
        (json!({"resultType": "complete"}), "protocol violation: the result of tasks/get: taskId: missing"),
    ];
    for (last, expected) in rows {
        let mut scripted = Scripted::with_task(Client::builder().tasks(), CallOptions::default());
        scripted.look(task("working", json!({})));
        scripted.look(task("a later word", json!({})));
        scripted.look(last.clone());
        assert_eq!(scripted.outcome(), expected, "{last}");
    }
}

#[test]
fn a_task_comes_only_where_it_may() {
    let (mut scripted, request) = Scripted::call(Client::builder(), CallOptions::default());
    scripted.peer.respond(&request.id, task("working", json!({"resultType": "task"})));
    let problem = "protocol violation: the result of tools/call: a task, and this client did not declare that it knows tasks";
    assert_eq!(scripted.outcome(), problem);
    let (client, mut peer) = ScriptedPeer::for_client(Client::builder().tasks()).expect("a client");
    let list = thread::spawn(move || client.list_tools().map(drop));
    let discover = peer.expect_request("server/discover");
    peer.respond(&discover.id, json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}));
    let request = peer.expect_request("tools/list");
    peer.respond(&request.id, task("working", json!({"resultType": "task", "tools": []})));
    assert!(matches!(list.join().expect("no panic"), Err(Error::Protocol(_))));
}

#[test]
fn a_question_is_put_to_the_user_once() {
    let (client, asked) = able();
    let mut scripted = Scripted::with_task(client, CallOptions::default());
    let ask = |message: &str| {
        json!({"method": "elicitation/create", "params": {"mode": "form", "message": message,
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}})
    };
    let waiting = |requests: Value| task("input_required", json!({"inputRequests": requests}));
    let update = |scripted: &mut Scripted, keys: &[&str]| {
        let request = scripted.peer.expect_request("tasks/update");
        let params = request.params.expect("params").to_value();
        let given: Vec<_> = params["inputResponses"].as_object().expect("answers").keys().cloned().collect();
        assert_eq!(
            (&params["taskId"], given),
            (&json!("x"), keys.iter().map(|key| (*key).to_owned()).collect())
        );
        scripted.peer.respond(&request.id, json!({"resultType": "complete"}));
    };
    scripted.look(waiting(json!({"a": ask("A"), "b": ask("B")})));
    update(&mut scripted, &["a", "b"]);
    // The server has not made use of the answers yet.
    scripted.look(waiting(json!({"a": ask("A"), "b": ask("B")})));
    scripted.look(waiting(json!({"b": ask("B"), "c": ask("C")})));
    update(&mut scripted, &["c"]);
    scripted.look(task("completed", json!({"result": text("done")})));
    assert_eq!(scripted.outcome(), "done");
    assert_eq!(asked.load(Ordering::SeqCst), 3);

    // A server that never stops asking, and one that asks what nobody can answer.
    let mut scripted = Scripted::with_task(able().0.max_input_rounds(1), CallOptions::default());
    scripted.look(waiting(json!({"a": ask("A")})));
    update(&mut scripted, &["a"]);
    scripted.look(waiting(json!({"b": ask("B")})));
    scripted.cancelled();
    assert_eq!(scripted.outcome(), "protocol violation: a task asks again after 1 rounds of input");
    let mut scripted = Scripted::with_task(Client::builder().tasks(), CallOptions::default());
    scripted.look(waiting(json!({"a": ask("A")})));
    scripted.cancelled();
    assert_eq!(scripted.outcome(), "unsupported: the server asked for a: unknown method: elicitation/create");
}

#[test]
fn who_gives_up_has_the_task_cancelled() {
    // While it waits for the next look, which a strange server wants late.
    let token = CancelToken::new();
    let mut scripted =
        Scripted::with_task(Client::builder().tasks(), CallOptions::default().with_cancel(&token));
    scripted.look(task("working", json!({"pollIntervalMs": u64::MAX})));
    token.cancel("the user left");
    scripted.cancelled();
    assert_eq!(scripted.outcome(), "cancelled: the user left");
    // While it waits for an answer.
    let token = CancelToken::new();
    let mut scripted =
        Scripted::with_task(Client::builder().tasks(), CallOptions::default().with_cancel(&token));
    scripted.peer.expect_request("tasks/get");
    token.cancel("the user left");
    scripted.cancelled();
    assert_eq!(scripted.outcome(), "cancelled: the user left");
    // No answer in time, and a task that takes too long.
    let timeouts = Timeouts::default().with_call(Duration::from_millis(500));
    let mut scripted =
        Scripted::with_task(Client::builder().tasks().timeouts(timeouts), CallOptions::default());
    scripted.peer.expect_request("tasks/get");
    scripted.cancelled();
    assert!(scripted.outcome().starts_with("no answer within"));
    let options = CallOptions::default().with_total(Duration::from_millis(500));
    let mut scripted = Scripted::with_task(Client::builder().tasks(), options);
    scripted.look(task("working", json!({"pollIntervalMs": 60_000})));
    scripted.cancelled();
    assert!(scripted.outcome().starts_with("no answer within"));
    // The server ends.
    let mut scripted = Scripted::with_task(Client::builder().tasks(), CallOptions::default());
    scripted.look(task("working", json!({"pollIntervalMs": 60_000})));
    scripted.peer.close();
    assert!(scripted.outcome().starts_with("connection closed"));
}

#[test]
fn one_round_of_a_call_may_end_with_a_task() {
    let server = server();
    let client = pair_with(able().0, &server).expect("a pair");
    let Outcome::Task(task) = client.call_tool_once("later", (), &CallOptions::default()).expect("called")
    else {
        panic!("no task")
    };
    let result = client.task(task.task_id).wait(&CallOptions::default());
    assert_eq!(outcome(&result), "later");
    client.close().expect("closed");
}

#[test]
fn a_call_is_asked_first_and_then_is_a_task() {
    let server = server();
    for is_modern in [true, false] {
        let (client, asked) = able();
        let client = pair_with(if is_modern { client } else { old(client) }, &server).expect("a pair");
        let options = if is_modern { CallOptions::default() } else { CallOptions::default().with_task(None) };
        let result = client.call_tool_with("asks first", (), &options).expect("a result");
        assert_eq!(result.text_content(), r#""Who? 0" "And who? 1""#);
        let task = client.call_tool_task("asks first", (), &options).expect("called");
        if is_modern {
            assert_eq!(asked.load(Ordering::SeqCst), 3, "one question came before the task");
        }
        assert!(task.id().is_some());
        assert_eq!(task.wait(&options).expect("a result").text_content(), r#""Who? 2" "And who? 3""#);
        client.close().expect("closed");
    }
    // Round by round.
    let client = pair_with(able().0, &server).expect("a pair");
    let Outcome::InputRequired(first) =
        client.call_tool_once("asks first", (), &CallOptions::default()).expect("called")
    else {
        panic!("no question")
    };
    let mut answers = Object::new();
    answers.insert("name", &json!({"action": "accept", "content": {"name": "Ada"}}));
    let options = CallOptions::default().with_input(answers, first.request_state);
    let Outcome::Task(task) = client.call_tool_once("asks first", (), &options).expect("called") else {
        panic!("no task")
    };
    let result = client.task(task.task_id).wait(&CallOptions::default());
    assert_eq!(outcome(&result), r#""Ada" "And who? 0""#);
    client.close().expect("closed");
}
