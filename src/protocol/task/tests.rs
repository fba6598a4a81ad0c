use serde_json::{Value, json};

use super::legacy::{RelatedTaskMetadata, TaskSupport, TasksCapability};
use super::*;
use crate::protocol::{CallToolParams, CallToolResult, ServerCapabilities, ToolDefinition};

fn read<T: FromJson>(value: &Value) -> Result<T, String> {
    T::from_json(Json::from(value.clone()).as_raw()).map_err(|e| e.to_string())
}

fn value<T: Serialize>(of: &T) -> Value {
    serde_json::to_value(of).expect("JSON")
}

fn task() -> Task {
    Task::new("t-1", "2026-07-28T00:00:00Z", Duration::from_secs(60)).with_poll_interval_ms(250_u64)
}

#[test]
fn a_task_says_what_its_status_promises_and_nothing_of_the_one_before() {
    let mut asked = Object::new();
    asked.insert("name", &json!({"method": "roots/list"}));
    let failed = ErrorObject::new(-32603, "broken");
    let base = json!({
        "taskId": "t-1", "createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z",
        "ttlMs": 60000, "pollIntervalMs": 250
    });
    let with = |more: Value| {
        let mut all = base.clone();
        all.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        all
    };
    let waiting = task().input_required(asked.clone());
    for (task, wire) in [
        (task(), json!({"status": "working"})),
        (
            waiting.clone(),
            json!({"status": "input_required", "inputRequests": {"name": {"method": "roots/list"}}}),
        ),
        (waiting.clone().working(), json!({"status": "working"})),
        (
            waiting.clone().completed(json!({"content": []})),
            json!({"status": "completed", "result": {"content": []}}),
        ),
        (
            waiting.clone().failed(failed.clone()),
            json!({"status": "failed", "error": {"code": -32603, "message": "broken"}}),
        ),
        (waiting.clone().cancelled(), json!({"status": "cancelled"})),
        (waiting.clone().into_created(), json!({"status": "input_required", "resultType": "task"})),
    ] {
        assert_eq!(value(&task), with(wire));
        assert_eq!(read(&value(&task)), Ok(task));
    }
    assert_eq!(waiting.state(), Ok(TaskState::InputRequired(&asked)));
    assert_eq!(waiting.clone().failed(failed.clone()).state(), Ok(TaskState::Failed(&failed)));
    assert_eq!(waiting.cancelled().state(), Ok(TaskState::Cancelled));
}

#[test]
fn a_payload_that_is_missing_is_named() {
    for (status, missing) in
        [("input_required", "inputRequests"), ("completed", "result"), ("failed", "error")]
    {
        let task: Task = read(&json!({"taskId": "a", "status": status})).expect("a task");
        assert_eq!(task.state().map_err(|e| e.to_string()), Err(format!("{missing}: missing")));
    }
    let later: Task = read(&json!({"taskId": "a", "status": "paused"})).expect("a task");
    assert_eq!(later.state(), Ok(TaskState::Unknown("paused")));
    assert!(!later.status.is_terminal() && TaskStatus::Failed.is_terminal());
}

#[test]
fn what_is_not_essential_does_not_cost_the_task() {
    let odd = json!({
        "taskId": "a", "status": "working", "createdAt": 5, "lastUpdatedAt": null, "ttlMs": -1, "pollIntervalMs": "soon",
        "new": [1]
    });
    let task: Task = read(&odd).expect("a task");
    assert_eq!((task.ttl_ms, task.poll_interval_ms, task.created_at.as_str()), (Ttl::Unlimited, None, ""));
    assert_eq!(value(&task)["new"], json!([1]));
    assert_eq!(read::<Task>(&json!({"status": "working"})), Err("taskId: missing".to_owned()));
    assert_eq!(read::<Task>(&json!({"taskId": "a"})), Err("status: missing".to_owned()));
}

#[test]
fn no_limit_is_written_as_null() {
    let task = Task::new("a", "", Ttl::Unlimited);
    assert_eq!(value(&task)["ttlMs"], Value::Null);
    assert!(value(&task).as_object().expect("an object").contains_key("ttlMs"));
    assert!(value(&legacy::Task::from(&task)).as_object().expect("an object").contains_key("ttl"));
    assert_eq!(read(&value(&task)), Ok(task));
}

#[test]
fn a_failed_tool_is_completed_in_one_form_and_failed_in_the_other() {
    let failed = Json::new(&CallToolResult::error("no")).expect("JSON");
    for (result, old) in [
        (failed, TaskStatus::Failed),
        (Json::new(&CallToolResult::text("yes")).expect("JSON"), TaskStatus::Completed),
        (Json::null(), TaskStatus::Completed),
    ] {
        let done = task().completed(result);
        assert_eq!(done.status, TaskStatus::Completed);
        assert_eq!(legacy::Task::from(&done).status, old);
    }
    let old = value(&legacy::Task::from(&task().with_status_message("busy")));
    assert_eq!(
        old,
        json!({
            "taskId": "t-1", "status": "working", "statusMessage": "busy", "createdAt": "2026-07-28T00:00:00Z",
            "lastUpdatedAt": "2026-07-28T00:00:00Z", "ttl": 60000, "pollInterval": 250
        })
    );
}

#[test]
fn an_empty_wish_for_a_task_may_be_a_list() {
    // An empty object of PHP.
    for wish in [json!({}), json!([]), json!({"ttl": "never"})] {
        let params: CallToolParams = read(&json!({"name": "a", "task": wish})).expect("params");
        assert_eq!(params.task.expect("wished for").ttl, None);
    }
    let params: CallToolParams = read(&json!({"name": "a", "task": null})).expect("params");
    assert_eq!(params.task, None);
}

#[test]
fn a_tool_without_a_word_about_tasks_forbids_them() {
    for (execution, support) in [
        (json!(null), TaskSupport::Forbidden),
        (json!({}), TaskSupport::Forbidden),
        (json!({"taskSupport": 1}), TaskSupport::Forbidden),
        (json!({"taskSupport": "optional"}), TaskSupport::Optional),
        (json!({"taskSupport": "perhaps"}), TaskSupport::Unknown("perhaps".to_owned())),
    ] {
        let tool = json!({"name": "a", "inputSchema": {"type": "object"}, "execution": execution});
        assert_eq!(read::<ToolDefinition>(&tool).expect("a tool").task_support(), support, "{tool}");
    }
}

#[test]
fn the_old_capability_names_every_kind_of_request() {
    let all = json!({
        "list": {}, "cancel": true,
        "requests": {"tools": {"call": []}, "sampling": {"createMessage": {}}, "elicitation": {"create": {}}}
    });
    let tasks: TasksCapability = read(&all).expect("a capability");
    assert!(tasks.list.is_some() && tasks.cancel.is_some());
    for method in ["tools/call", "sampling/createMessage", "elicitation/create"] {
        assert!(tasks.allows(method) && !TasksCapability::default().allows(method), "{method}");
    }
    assert!(!tasks.allows("prompts/get") && !tasks.allows("tools") && !tasks.allows("tools/list"));
    let more =
        TasksCapability::default().with_request("tools/call").with_request("tools/list").with_request("ping");
    assert_eq!(value(&more), json!({"requests": {"tools": {"call": {}, "list": {}}}}));
    for tools in [json!({}), json!({"call": false}), json!({"call": null}), json!([])] {
        let odd: ServerCapabilities =
            read(&json!({"tasks": {"requests": {"tools": tools}}})).expect("capabilities");
        assert!(!odd.tasks.expect("declared").allows("tools/call"), "{tools}");
    }
}

#[test]
fn an_unreadable_relation_is_none() {
    let mut meta = Object::new();
    assert_eq!(RelatedTaskMetadata::of(&meta), None);
    meta.insert(crate::protocol::meta::RELATED_TASK, "t-1");
    assert_eq!(RelatedTaskMetadata::of(&meta), None);
}

#[test]
fn errors_say_what_the_client_lacks_and_no_secret() {
    let error = extension_required();
    assert_eq!(error.code, -32021);
    assert_eq!(
        error.data.expect("data").to_value(),
        json!({"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}})
    );
    assert_eq!(unknown_task().code, -32602);
}
