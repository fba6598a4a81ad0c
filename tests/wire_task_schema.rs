//! The wire types of subscriptions and of both kinds of tasks: against the official schemas where there is one, and against
//! messages in the shape that the tasks extension describes.

#[path = "support/schema.rs"]
mod schema;

use std::time::Duration;

use schema::{check, check_frame, frame_problems};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tinymcp::json::Object;
use tinymcp::method::Direction;
use tinymcp::protocol::task::legacy::{
    self, CreateTaskResult, ListTasksResult, RelatedTaskMetadata, TaskMetadata, TaskSupport, TasksCapability,
    ToolExecution,
};
use tinymcp::protocol::task::{TaskState, Ttl, extension_required, unknown_task};
use tinymcp::protocol::{
    CallToolParams, CallToolResult, ClientCapabilities, ListChangedParams, PaginatedParams, ProtocolVersion,
    ResultType, ServerCapabilities, SubscriptionFilter, SubscriptionsAcknowledgedParams,
    SubscriptionsListenParams, SubscriptionsListenResult, TASKS_EXTENSION, Task, TaskParams, TaskStatus,
    ToolDefinition, UpdateTaskParams, meta,
};
use tinymcp::{ErrorObject, Message};

const OLD: ProtocolVersion = ProtocolVersion::V2025_11_25;
const NEW: ProtocolVersion = ProtocolVersion::V2026_07_28;

fn value<T: Serialize>(of: &T) -> Value {
    serde_json::to_value(of).expect("JSON")
}

fn object(value: Value) -> Object {
    serde_json::from_value(value).expect("an object")
}

/// `value` as a `T`, which writes it again as it was.
#[track_caller]
fn read<T: Serialize + DeserializeOwned>(value: &Value) -> T {
    let read: T = serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{e}: {value:#}"));
    assert_eq!(&serde_json::to_value(&read).expect("JSON"), value);
    read
}

/// What `of` is on the wire, which is a `definition` of `version` and reads as the same again.
#[track_caller]
fn written<T>(version: &ProtocolVersion, definition: &str, of: &T) -> Value
where
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let wire = value(of);
    check(version, definition, &wire);
    assert_eq!(&serde_json::from_value::<T>(wire.clone()).expect(definition), of);
    wire
}

fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

fn answer(result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "result": result})
}

/// With what every request of 2026-07-28 says.
fn stamped(mut params: Value) -> Value {
    let capabilities = ClientCapabilities::default().with_extension(TASKS_EXTENSION, &Object::new());
    params["_meta"] = json!({meta::PROTOCOL_VERSION: NEW, meta::CLIENT_CAPABILITIES: capabilities});
    params
}

fn task() -> Task {
    Task::new("t-1", "2026-07-28T08:00:00Z", Duration::from_secs(60))
        .with_status_message("counting")
        .with_poll_interval_ms(500_u64)
}

/// The task in every state, with and without an end.
fn tasks() -> Vec<Task> {
    let asked = json!({"who": {"method": "elicitation/create", "params": {
        "mode": "form", "message": "Who?",
        "requestedSchema": {"type": "object", "properties": {"who": {"type": "string"}}}
    }}});
    vec![
        task(),
        Task::new("t-2", "2026-07-28T08:00:00Z", Ttl::Unlimited),
        task().input_required(object(asked)),
        task().completed(json!({"content": [{"type": "text", "text": "3"}], "isError": true})),
        task().failed(ErrorObject::new(-32603, "overflow")),
        task().cancelled(),
    ]
}

#[test]
fn subscriptions_are_those_of_the_schema() {
    let filter = SubscriptionFilter::default()
        .with_tools_list_changed(true)
        .with_prompts_list_changed(true)
        .with_resources_list_changed(false)
        .with_resource_subscriptions(["file:///a".to_owned()]);
    written(&NEW, "SubscriptionFilter", &filter);
    written(&NEW, "SubscriptionFilter", &SubscriptionFilter::default().with_task_ids(["t-1".to_owned()]));
    let params = stamped(value(&SubscriptionsListenParams::new(filter.clone())));
    read::<SubscriptionsListenParams>(&params);
    check_frame(&NEW, Direction::ToServer, &request("subscriptions/listen", params), None);
    for id in [1.into(), "one".into()] {
        let acknowledged = SubscriptionsAcknowledgedParams::new(&id, filter.clone());
        let params = written(&NEW, "SubscriptionsAcknowledgedNotificationParams", &acknowledged);
        let frame = notification("notifications/subscriptions/acknowledged", params);
        check_frame(&NEW, Direction::ToClient, &frame, None);
        let changed = written(&NEW, "NotificationParams", &ListChangedParams::of_subscription(&id));
        for what in ["tools", "prompts", "resources"] {
            let frame = notification(&format!("notifications/{what}/list_changed"), changed.clone());
            check_frame(&NEW, Direction::ToClient, &frame, None);
        }
        let mut ended = SubscriptionsListenResult::new(&id);
        ended.result_type = Some(ResultType::Complete);
        let result = written(&NEW, "SubscriptionsListenResult", &ended);
        check_frame(&NEW, Direction::ToClient, &answer(result), Some("subscriptions/listen"));
    }
}

#[test]
fn the_old_tasks_are_those_of_the_schema() {
    let old: Vec<_> = tasks().iter().map(legacy::Task::from).collect();
    for task in &old {
        written(&OLD, "Task", task);
        for (definition, method) in [("GetTaskResult", "tasks/get"), ("CancelTaskResult", "tasks/cancel")] {
            let result = written(&OLD, definition, task);
            // Either side runs tasks.
            check_frame(&OLD, Direction::ToClient, &answer(result.clone()), Some(method));
            check_frame(&OLD, Direction::ToServer, &answer(result), Some(method));
        }
        let params = written(&OLD, "TaskStatusNotificationParams", task);
        let frame = notification("notifications/tasks/status", params);
        check_frame(&OLD, Direction::ToClient, &frame, None);
        check_frame(&OLD, Direction::ToServer, &frame, None);
        let mut about = Object::new();
        about.insert(meta::MODEL_IMMEDIATE_RESPONSE, "it takes a while");
        let made = CreateTaskResult::new(task.clone()).with_meta(about);
        assert_eq!(made.immediate_response().as_deref(), Some("it takes a while"));
        let result = written(&OLD, "CreateTaskResult", &made);
        check_frame(&OLD, Direction::ToClient, &answer(result), Some("tools/call"));
    }
    let page = ListTasksResult::new(old).with_next_cursor("2");
    let result = written(&OLD, "ListTasksResult", &page);
    check_frame(&OLD, Direction::ToClient, &answer(result), Some("tasks/list"));
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let frame = request(method, value(&TaskParams::new("t-1")));
        check_frame(&OLD, Direction::ToServer, &frame, None);
        check_frame(&OLD, Direction::ToClient, &frame, None);
    }
    let list = request("tasks/list", value(&PaginatedParams::after("2")));
    check_frame(&OLD, Direction::ToServer, &list, None);
    written(&OLD, "RelatedTaskMetadata", &RelatedTaskMetadata::new("t-1"));
    let statuses = ["working", "input_required", "completed", "failed", "cancelled"];
    for status in statuses.map(TaskStatus::from) {
        assert!(!matches!(status, TaskStatus::Unknown(_)), "{status}");
        written(&OLD, "TaskStatus", &status);
    }
}

#[test]
fn the_old_wishes_and_capabilities_are_those_of_the_schema() {
    for wish in [TaskMetadata::default(), TaskMetadata::default().with_ttl(60_000_u64)] {
        written(&OLD, "TaskMetadata", &wish);
        let params = CallToolParams::new("count").with_task(wish);
        let params = written(&OLD, "CallToolRequestParams", &params);
        check_frame(&OLD, Direction::ToServer, &request("tools/call", params), None);
    }
    for support in [TaskSupport::Forbidden, TaskSupport::Optional, TaskSupport::Required] {
        let execution = ToolExecution::default().with_task_support(support.clone());
        written(&OLD, "ToolExecution", &execution);
        let tool = ToolDefinition::new("count", json!({"type": "object"})).with_execution(execution);
        written(&OLD, "Tool", &tool);
        assert_eq!(tool.task_support(), support);
    }
    let tasks = || TasksCapability::default().with_cancel(Object::new());
    let server = tasks().with_list(Object::new()).with_request("tools/call");
    let server = ServerCapabilities::default().with_tasks(server);
    assert_eq!(
        written(&OLD, "ServerCapabilities", &server)["tasks"],
        json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}})
    );
    let tasks = tasks().with_request("sampling/createMessage").with_request("elicitation/create");
    let client = ClientCapabilities::default().with_tasks(tasks);
    assert_eq!(
        written(&OLD, "ClientCapabilities", &client)["tasks"],
        json!({"cancel": {}, "requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}}})
    );
}

#[test]
fn the_schema_would_find_a_wrong_task() {
    let mut wrong = value(&legacy::Task::from(&task()));
    wrong.as_object_mut().expect("an object").remove("ttl");
    assert!(schema::problems(&OLD, "Task", &wrong).is_err());
    // Nor is what one revision says right in the other.
    assert!(schema::problems(&OLD, "Task", &value(&task())).is_err());
    let update = request("tasks/update", stamped(value(&UpdateTaskParams::new("t-1", Object::new()))));
    assert!(frame_problems(&OLD, Direction::ToServer, &update, None).is_err());
    let get = request("tasks/get", stamped(value(&TaskParams::new("t-1"))));
    assert_eq!(frame_problems(&NEW, Direction::ToServer, &get, None), Ok(()));
    assert!(frame_problems(&NEW, Direction::ToClient, &get, None).is_err());
    let list = request("tasks/list", stamped(json!({})));
    assert!(frame_problems(&NEW, Direction::ToServer, &list, None).is_err());
    let made = answer(value(&task().into_created()));
    assert_eq!(frame_problems(&NEW, Direction::ToClient, &made, Some("tools/call")), Ok(()));
    assert!(frame_problems(&NEW, Direction::ToClient, &made, Some("prompts/get")).is_err());
}

/// spec: seps/2663-tasks-extension, a task from its making to its end
#[test]
fn a_task_of_the_extension_lives_through_all_its_messages() {
    let base = |status: &str, more: Value| {
        let mut all = json!({
            "taskId": "0b6f", "status": status, "createdAt": "2026-07-28T08:00:00Z",
            "lastUpdatedAt": "2026-07-28T08:01:00Z", "ttlMs": 3_600_000, "pollIntervalMs": 5000
        });
        all.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        all
    };
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    assert!(read::<ClientCapabilities>(&capabilities).has_extension(TASKS_EXTENSION));
    assert!(read::<ServerCapabilities>(&capabilities).has_extension(TASKS_EXTENSION));

    let made: Task = read(&base("working", json!({"resultType": "task", "statusMessage": "begun"})));
    assert_eq!(made.result_type, Some(ResultType::Task));
    assert_eq!(made.ttl_ms.duration(), Some(Duration::from_secs(3600)));
    assert_eq!(made.state(), Ok(TaskState::Working));

    let asked = json!({"name": {"method": "elicitation/create", "params": {
        "mode": "form", "message": "Name?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    }}});
    let waiting: Task =
        read(&base("input_required", json!({"resultType": "complete", "inputRequests": asked})));
    assert!(matches!(waiting.state(), Ok(TaskState::InputRequired(asked)) if asked.json("name").is_some()));

    let update =
        json!({"taskId": "0b6f", "inputResponses": {"name": {"action": "accept", "content": {"name": "A"}}}});
    read::<UpdateTaskParams>(&update);
    for (method, params) in [
        ("tasks/update", update),
        ("tasks/get", json!({"taskId": "0b6f"})),
        ("tasks/cancel", json!({"taskId": "0b6f"})),
    ] {
        let frame = request(method, stamped(params));
        check_frame(&NEW, Direction::ToServer, &frame, None);
        read::<Message>(&frame);
    }

    let result = json!({"content": [{"type": "text", "text": "Hello"}], "isError": false});
    let done: Task = read(&base("completed", json!({"resultType": "complete", "result": result})));
    let Ok(TaskState::Completed(result)) = done.state() else { panic!("{done:?}") };
    assert_eq!(result.to::<CallToolResult>().expect("a result").text_content(), "Hello");
    // Two examples of the proposal say so in answer to `tasks/get`.
    let error = json!({"code": -32603, "message": "rate limit"});
    let failed: Task =
        read(&base("failed", json!({"resultType": "task", "statusMessage": "no", "error": error})));
    assert!(matches!(failed.state(), Ok(TaskState::Failed(error)) if error.code == -32603));

    for task in tasks() {
        let wire = value(&task);
        assert_eq!(read::<Task>(&wire), task);
        check_frame(&NEW, Direction::ToClient, &notification("notifications/tasks", wire), None);
        let mut answered = task.clone();
        answered.result_type = Some(ResultType::Complete);
        check_frame(&NEW, Direction::ToClient, &answer(value(&answered)), Some("tasks/get"));
        check_frame(&NEW, Direction::ToClient, &answer(value(&task.into_created())), Some("tools/call"));
    }
    for error in [extension_required(), unknown_task()] {
        let frame = json!({"jsonrpc": "2.0", "id": 1, "error": error});
        check_frame(&NEW, Direction::ToClient, &frame, Some("tasks/get"));
    }
}
