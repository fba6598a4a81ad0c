//! A server whose tools are tasks.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::time::Duration;

use serde_json::{Value, json};
use tinymcp::protocol::{ElicitParams, ElicitUrlParams, PrimitiveSchema, RequestedSchema, TASKS_EXTENSION};
use tinymcp::server::TaskOptions;
use tinymcp::tool::TaskMode;
use tinymcp::{CancelToken, Context, ErrorObject, FnTool, ProtocolVersion, Server, ToolError, ToolRegistry};

use super::dialog::Dialog;

pub(crate) const OLD: ProtocolVersion = ProtocolVersion::V2025_11_25;
pub(crate) const NEW: ProtocolVersion = ProtocolVersion::V2026_07_28;

pub(crate) fn able() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "roots": {}, "extensions": {TASKS_EXTENSION: {}}})
}

/// Lets a test hold a tool until it looks.
#[derive(Clone, Default)]
pub(crate) struct Gate(pub(crate) CancelToken);

impl Gate {
    pub(crate) fn open(&self) {
        self.0.cancel("open");
    }
}

pub(crate) fn form(message: &str) -> ElicitParams {
    ElicitParams::form(message, RequestedSchema::new().required("name", PrimitiveSchema::text()))
}

pub(crate) type Handler = Box<dyn Fn(&Context) -> Result<String, ToolError> + Send + Sync>;

pub(crate) fn tools(gate: &Gate) -> ToolRegistry {
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

pub(crate) fn server_with(options: TaskOptions) -> (Server, Gate) {
    let gate = Gate::default();
    let server = Server::builder("tasks", "1").tools(tools(&gate)).tasks(options).build().expect("a server");
    (server, gate)
}

pub(crate) fn server() -> (Server, Gate) {
    server_with(TaskOptions::default())
}

pub(crate) fn modern(server: &Server) -> Dialog {
    Dialog::open_as(server, &NEW, able())
}

pub(crate) fn legacy(server: &Server) -> Dialog {
    Dialog::open_as(server, &OLD, json!({"elicitation": {"form": {}, "url": {}}, "roots": {}}))
}

#[track_caller]
pub(crate) fn make(dialog: &mut Dialog, tool: &str) -> String {
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
pub(crate) fn look_while(dialog: &mut Dialog, id: &str, while_it_is: &str) -> Value {
    for _ in 0..100_000 {
        let task = dialog.ask("tasks/get", json!({"taskId": id})).result();
        if task["status"] != while_it_is {
            return task;
        }
        std::thread::yield_now();
    }
    panic!("the task stays {while_it_is}");
}
