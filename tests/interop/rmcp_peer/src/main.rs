//! ```text
//! rmcp_peer server [http]                                an echo server; over HTTP it prints its URL first
//! rmcp_peer features [http]                              likewise, with everything beside plain tools
//! rmcp_peer client legacy|modern URL|COMMAND [ARG...]    uses the tools of a server and prints what it saw as one JSON object
//! rmcp_peer tour legacy|modern URL|COMMAND [ARG...]      likewise, of the everything server
//! ```
mod features;
mod tour;

use std::error::Error;
use std::sync::{Arc, Mutex};

use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ContentBlock,
    ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext, RunningService};
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess, stdio};
use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient, RoleServer, ServerHandler, ServiceExt,
    tool, tool_router,
};
use serde_json::{Value, json};

use features::Features;

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
        ["server"] => drop(EchoServer.serve(stdio()).await?.waiting().await?),
        ["features"] => drop(Features::default().serve(stdio()).await?.waiting().await?),
        ["server", "http"] => serve_http(EchoServer).await?,
        ["features", "http"] => serve_http(Features::default()).await?,
        ["client", ref args @ ..] => client(args).await?,
        ["tour", ref args @ ..] => {
            println!("{}", tour::take(connect(tour::Guest::default(), args).await?).await?)
        }
        _ => {
            return Err(
                "rmcp_peer server|features [http] | client|tour legacy|modern URL|COMMAND [ARG...]".into()
            );
        }
    }
    Ok(())
}

/// A value of the SDK, by what it is on the wire.
fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

async fn serve_http<S: ServerHandler + Clone>(server: S) -> Result<(), Box<dyn Error>> {
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, Default::default());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    Ok(axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?)
}

/// Connects as the first of `args` says, `legacy` or `modern`, to the server that the others say.
async fn connect<H: ClientHandler>(
    handler: H,
    args: &[&str],
) -> Result<RunningService<RoleClient, H>, Box<dyn Error>> {
    let [era, target @ ..] = args else { return Err("no era".into()) };
    let lifecycle = match *era {
        "modern" => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
        _ => ClientLifecycleMode::Initialize,
    };
    Ok(match *target {
        [url] if url.starts_with("http://") => {
            let transport = StreamableHttpClientTransport::from_uri(url);
            handler.serve_with_lifecycle(transport, lifecycle).await?
        }
        [command, ref args @ ..] => {
            let mut child = tokio::process::Command::new(command);
            child.args(args);
            handler.serve_with_lifecycle(TokioChildProcess::new(child)?, lifecycle).await?
        }
        [] => return Err("no server".into()),
    })
}

async fn client(args: &[&str]) -> Result<(), Box<dyn Error>> {
    let watcher = Watcher::default();
    let client = connect(watcher.clone(), args).await?;
    let tools = client.list_all_tools().await?;
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    let call = |name: &'static str, arguments: Value| {
        client.call_tool(
            CallToolRequestParams::new(name).with_arguments(arguments.as_object().unwrap().clone()),
        )
    };
    let answer = |result: &CallToolResult| {
        let result = json!(result);
        json!([result["isError"] == true, result["content"][0]["text"]])
    };

    let info = client.peer_info();
    let mut seen = json!({
        "version": info.as_ref().map(|info| info.protocol_version.to_string()),
        "tools": names,
        "echo": answer(&call("echo", json!({ "message": "grüße ☕" })).await?),
        "bad_arguments": answer(&call("echo", json!({})).await?),
    });
    let all = (0..200).map(|i| call("echo", json!({ "message": i.to_string() })));
    let all = futures_util::future::try_join_all(all).await?;
    seen["many"] = all.iter().enumerate().all(|(i, result)| answer(result)[1] == i.to_string()).into();
    seen["unknown_tool"] = tour::refusal(call("no such tool", json!({})).await);
    seen["unknown_tool"].as_array_mut().unwrap().truncate(2);
    if names.contains(&"count") {
        watcher.0.lock().unwrap().clear();
        let result = call("count", json!({ "to": 5 })).await?;
        seen["structured"] = result.structured_content.unwrap_or_default();
        // What came before the answer may be handled after it.
        while watcher.0.lock().unwrap().len() < 5 {
            tokio::task::yield_now().await;
        }
        seen["progress"] = Value::from(std::mem::take(&mut *watcher.0.lock().unwrap()));
    }
    if names.contains(&"fail") {
        seen["fail"] = answer(&call("fail", json!({ "why": "on purpose" })).await?);
    }
    if names.contains(&"wait") {
        let request =
            ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new("wait")));
        let waiting = client.send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
        while watcher.0.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        waiting.cancel(Some("enough".to_owned())).await?;
        seen["waited"] = answer(&call("waited", json!({})).await?)[1].clone();
    }
    client.cancel().await?;
    println!("{seen}");
    Ok(())
}
