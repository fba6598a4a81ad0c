//! Tools that may run as tasks, and `greet`, which never does.

use std::time::Duration;

use tinymcp::context::Question;
use tinymcp::protocol::{ElicitParams, PrimitiveSchema, RequestedSchema};
use tinymcp::tool::TaskMode;
use tinymcp::{Context, ErrorObject, FnTool, ToolError, tool};

use crate::asking::name;

pub(crate) fn tools() -> Vec<FnTool> {
    let greet = tool! {
        /// Greet somebody
        fn greet(name: String) -> String { format!("Hello, {name}!") }
    };
    let slow = tool! {
        /// Take some time
        fn slow_compute(seconds: f64, label: Option<String>, cx: &Context) -> Result<String, ToolError> {
            work(seconds, cx)?;
            Ok(format!("{} took {seconds} s", label.as_deref().unwrap_or("it")))
        }
    };
    let failing = tool! {
        /// Take a second, and fail
        fn failing_job(cx: &Context) -> Result<String, ToolError> {
            work(1.0, cx)?;
            Err(ToolError::new("the job has failed, as it always does"))
        }
    };
    let broken = tool! {
        /// End with an error of the protocol
        fn protocol_error_job() -> Result<String, ToolError> {
            Err(ToolError::protocol(ErrorObject::internal("the job is broken")))
        }
    };
    let delete = tool! {
        /// Delete a file that does not exist, if the user agrees
        fn confirm_delete(filename: String, cx: &Context) -> Result<String, ToolError> {
            let question = ElicitParams::form(format!("Delete {filename}?"), confirm());
            let answer = cx.elicit("confirm", question)?;
            let agreed = answer.content.and_then(|content| content.get("confirm")).unwrap_or(false);
            Ok(format!("{filename} {}", if agreed { "is gone" } else { "is kept" }))
        }
    };
    let multi = tool! {
        /// Ask two things at once
        fn multi_input(cx: &Context) -> Result<String, ToolError> {
            let name = RequestedSchema::new().required("name", PrimitiveSchema::text());
            let (name, sure) = cx.ask((
                Question::elicit("name", ElicitParams::form("What is your name?", name)),
                Question::elicit("sure", ElicitParams::form("Are you sure?", confirm())),
            ))?;
            let name = name.content.and_then(|content| content.get("name")).unwrap_or_else(String::new);
            Ok(format!("{name} is {}", if sure.is_accepted() { "sure" } else { "not sure" }))
        }
    };
    let asks_first = tool! {
        /// Ask the user for their name, and greet them at leisure
        fn test_tool_with_task(cx: &Context) -> Result<String, ToolError> {
            let name = name(cx)?;
            cx.begin_task()?;
            work(0.1, cx)?;
            Ok(format!("Hello, {name}!"))
        }
    };
    vec![
        greet,
        slow.task_mode(TaskMode::Optional),
        failing.task_mode(TaskMode::Required),
        broken.task_mode(TaskMode::Required),
        delete.destructive(true).task_mode(TaskMode::Optional),
        multi.task_mode(TaskMode::Optional),
        asks_first.task_mode(TaskMode::RequiredLater),
    ]
}

fn confirm() -> RequestedSchema {
    RequestedSchema::new().required("confirm", PrimitiveSchema::boolean())
}

/// Does what takes `seconds`, unless nobody wants the result any more.
fn work(seconds: f64, cx: &Context) -> Result<(), ToolError> {
    let time = Duration::try_from_secs_f64(seconds)
        .map_err(|e| ToolError::bad_arguments(format_args!("seconds: {e}")))?;
    if cx.cancel_token().wait_timeout(time) { Err(ToolError::new("cancelled")) } else { Ok(()) }
}
