//! ```text
//! rmcp_peer server                                   an echo server
//! rmcp_peer client legacy|modern COMMAND [ARG...]    uses a server and prints what it saw as one JSON object
//! ```
use std::error::Error;
use std::sync::{Arc, Mutex};

use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext, ServiceError};
use rmcp::transport::{TokioChildProcess, stdio};
use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient, RoleServer, ServiceExt, tool,
    tool_router,
};
use serde_json::{Value, json};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    message: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Count {
    to: u32,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Fail {
    why: String,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Total {
    total: u32,
}

#[derive(Clone)]
struct EchoServer;

#[tool_router(server_handler)]
impl EchoServer {
    #[tool(description = "Echo a message")]
    fn echo(&self, Parameters(Echo { message }): Parameters<Echo>) -> String {
        message
    }

    #[tool(description = "Count up and report each step")]
    async fn count(
        &self,
        Parameters(Count { to }): Parameters<Count>,
        cx: RequestContext<RoleServer>,
    ) -> Json<Total> {
        if let Some(token) = cx.meta.get_progress_token() {
            for step in 1..=to {
                let mut report = ProgressNotificationParam::new(token.clone(), f64::from(step));
                report.total = Some(f64::from(to));
                report.message = Some(format!("step {step}"));
                let _ = cx.peer.notify_progress(report).await;
            }
        }
        Json(Total { total: to })
    }

    #[tool(description = "Fail")]
    fn fail(&self, Parameters(Fail { why }): Parameters<Fail>) -> CallToolResult {
        CallToolResult::error(vec![ContentBlock::text(why)])
    }
}

#[derive(Clone, Default)]
struct Watcher(Arc<Mutex<Vec<Value>>>);

impl ClientHandler for Watcher {
    async fn on_progress(&self, report: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.0.lock().unwrap().push(json!([report.progress, report.total, report.message]));
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["server"] => {
            EchoServer.serve(stdio()).await?.waiting().await?;
        }
        ["client", era, command, ref args @ ..] => client(era, command, args).await?,
        _ => return Err("rmcp_peer server | client legacy|modern COMMAND [ARG...]".into()),
    }
    Ok(())
}

async fn client(era: &str, command: &str, args: &[&str]) -> Result<(), Box<dyn Error>> {
    let lifecycle = match era {
        "modern" => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
        _ => ClientLifecycleMode::Initialize,
    };
    let mut child = tokio::process::Command::new(command);
    child.args(args);
    let watcher = Watcher::default();
    let client = watcher.clone().serve_with_lifecycle(TokioChildProcess::new(child)?, lifecycle).await?;
    let tools = client.list_all_tools().await?;
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    let call = |name: &'static str, arguments: Value| {
        client.call_tool(
            CallToolRequestParams::new(name).with_arguments(arguments.as_object().unwrap().clone()),
        )
    };
    let text = |result: &CallToolResult| serde_json::to_value(&result.content).unwrap()[0]["text"].clone();

    let info = client.peer_info();
    let mut seen = json!({
        "version": info.as_ref().map(|info| info.protocol_version.to_string()),
        "tools": names,
        "echo": text(&call("echo", json!({ "message": "grüße ☕" })).await?),
    });
    let bad = call("echo", json!({})).await?;
    seen["bad_arguments"] = json!([bad.is_error, text(&bad)]);
    if let Err(ServiceError::McpError(error)) = call("no such tool", json!({})).await {
        seen["unknown_tool"] = json!([error.code.0, error.message]);
    }
    if names.contains(&"count") {
        let result = call("count", json!({ "to": 5 })).await?;
        seen["structured"] = result.structured_content.unwrap_or_default();
    }
    if names.contains(&"fail") {
        let result = call("fail", json!({ "why": "on purpose" })).await?;
        seen["fail"] = json!([result.is_error, text(&result)]);
    }
    client.cancel().await?;
    seen["progress"] = Value::from(std::mem::take(&mut *watcher.0.lock().unwrap()));
    println!("{seen}");
    Ok(())
}
