//! Calls that become tasks: of the everything server, and of a server of ours.

use std::time::Duration;

use serde_json::{Value, json};
use tinymcp::client::CallOptions;
use tinymcp::protocol::task::TaskStatus;
use tinymcp::protocol::{ElicitParams, PrimitiveSchema, RequestedSchema};
use tinymcp::server::TaskOptions;
use tinymcp::tool::TaskMode;
use tinymcp::transport::{EndStep, Patience};
use tinymcp::{Context, Server, ToolError, ToolRegistry, tool};

use crate::Case;
use crate::answering::answering;
use crate::client_everything::everything;
use crate::our_server::{Target, serve_as_told};
use crate::passed::Manners;
use crate::peers::{Peers, Way};

pub(crate) const CASES: &[Case] = &[
    ("our client, everything server, tasks", |peers| everything_tasks(peers, Way::Stdio)),
    ("our client, everything server, tasks, HTTP", |peers| everything_tasks(peers, Way::Http)),
    ("our server, TypeScript 1.x client, tasks", |peers| typescript(peers, Way::Stdio)),
    ("our server, TypeScript 1.x client, tasks, HTTP", |peers| typescript(peers, Way::Http)),
];

/// A research of four seconds, which asks in between what is meant.
fn everything_tasks(peers: &Peers, way: Way) {
    let (builder, seen) = answering();
    let used = everything(peers, builder.tasks().patience(Patience::default()), way);
    let client = &used.client;
    let research = "simulate-research-query";
    let list = client.list_tools().expect("a list");
    let tool = list.items.iter().find(|tool| tool.name == research).expect("listed");
    assert!(tool.execution.is_some(), "{tool:?}");

    let options = CallOptions::default();
    let as_task = CallOptions::default().with_task(Duration::from_secs(60));
    let arguments = |ambiguous: bool| json!({ "topic": "python", "ambiguous": ambiguous });
    let given_up = client.call_tool_task(research, arguments(false), &as_task).expect("begun");
    given_up.cancel(&options).expect("cancelled");
    let status = given_up.status(&options).expect("known").expect("a task");
    assert_eq!(status.status, TaskStatus::Cancelled);

    let task = client.call_tool_task(research, arguments(true), &as_task).expect("begun");
    let id = task.id().expect("the server made a task").to_owned();
    let result = task.wait(&options).expect("a result").text_content();
    assert!(result.contains("# Research Report: python (programming)"), "{result}");
    let asked = seen.asked();
    assert!(asked.len() == 1 && asked[0].contains("multiple interpretations"), "{asked:?}");
    // It can be fetched again.
    assert_eq!(client.task(id).wait(&options).expect("a result").text_content(), result);
    // It keeps tasks for minutes, and does not end before.
    used.close_by(EndStep::Term);
}

/// The argument that makes this program the server below.
pub(crate) const SERVE: &str = "serve-the-interop-tasks";

/// A server whose tools run as tasks.
pub(crate) fn serve() {
    let report = tool! {
        /// Ask what about, and report
        fn report(cx: &Context) -> Result<String, ToolError> {
            let fields = RequestedSchema::new().required("topic", PrimitiveSchema::text());
            let answer = cx.elicit("topic", ElicitParams::form("What about?", fields))?;
            let content = answer.content_as::<Value>()?.unwrap_or_default();
            Ok(format!("all about {}", content["topic"].as_str().unwrap_or("nothing")))
        }
    };
    let fails = tool! {
        /// Fail
        fn fails() -> Result<String, ToolError> { Err(ToolError::new("on purpose")) }
    };
    let wait = tool! {
        /// Wait until it is cancelled
        fn wait(cx: &Context) -> bool { cx.cancel_token().wait_timeout(Duration::from_secs(60)) }
    };
    let tools = [
        report.task_mode(TaskMode::Required),
        fails.task_mode(TaskMode::Optional),
        wait.task_mode(TaskMode::Optional),
    ];
    let tools = tools.into_iter().try_fold(ToolRegistry::new(), ToolRegistry::with).expect("three names");
    let tasks = TaskOptions::default().with_poll_interval(Duration::from_millis(100));
    let server = Server::builder("tasks", "1.0.0").tools(tools).tasks(tasks).build();
    serve_as_told(&server.expect("all revisions"));
}

fn typescript(peers: &Peers, way: Way) {
    let target = Target::of_ours(peers, way, SERVE);
    let args = [peers.module("tasks.mjs")].into_iter().chain(target.args.clone());
    let seen = peers.run(peers.node(), args).json();
    target.end(way, "2025-11-25", Manners::All);
    assert_eq!(seen["tools"], json!({ "fails": "optional", "report": "required", "wait": "optional" }));
    assert_eq!(seen["capabilities"]["requests"]["tools"]["call"], json!({}));
    let report = &seen["report"];
    assert_eq!(
        (&report["outcome"], &report["status"]),
        (&json!("all about tides"), &json!("completed")),
        "{seen}"
    );
    assert_eq!((&report["steps"][0], &seen["asked"]), (&json!("taskCreated"), &json!(["What about?"])));
    assert_eq!(seen["again"], "all about tides");
    // A tool that failed has a result all the same, for which this client does not look by itself.
    assert_eq!(seen["fails"]["status"], "failed");
    assert_eq!(
        (&seen["why"]["isError"], &seen["why"]["content"][0]["text"]),
        (&json!(true), &json!("on purpose"))
    );
    assert_eq!(
        (&seen["cancelled"], &seen["listed"], &seen["unknown"]),
        (&json!("cancelled"), &json!(3), &json!(-32602))
    );
}
