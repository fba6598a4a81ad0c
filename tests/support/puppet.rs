//! A server whose tools do what the test says, when it says so.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use serde_json::{Value, json};
use tinymcp::protocol::{CreateMessageParams, ElicitParams, PrimitiveSchema, RequestedSchema, Resource};
use tinymcp::server::{ServerBuilder, TaskOptions};
use tinymcp::tool::TaskMode;
use tinymcp::{
    CancelToken, Context, FnResource, FnTool, PromptRegistry, ResourceRegistry, Server, ToolError,
    ToolRegistry, prompt, tool,
};

use crate::http::LONG;

pub(crate) const STOCK: &str = "tea://stock";

/// What the tool `puppet` is to do next.
pub(crate) enum Order {
    Progress(f64),
    Log(String),
    Away(Duration),
    Elicit,
    Sample,
    Roots,
    Return(String),
    Panic,
}

/// Calls of `puppet` that are open at the same time follow different lines of orders.
const LINES: usize = 4;

/// The strings of the tools.
pub(crate) struct Puppet {
    orders: Vec<Sender<Order>>,
    told: Receiver<String>,
    /// Opened for all calls of `held`.
    pub(crate) gate: CancelToken,
}

impl Puppet {
    pub(crate) fn order(&self, order: Order) {
        self.order_on(0, order);
    }

    pub(crate) fn order_on(&self, line: usize, order: Order) {
        self.orders[line].send(order).expect("a puppet");
    }

    /// What a tool tells next.
    #[track_caller]
    pub(crate) fn told(&self) -> String {
        self.told.recv_timeout(LONG).expect("a tool tells something")
    }

    #[track_caller]
    pub(crate) fn expect(&self, what: &str) {
        assert_eq!(self.told(), what);
    }

    /// The time until a tool tells `what`.
    #[track_caller]
    pub(crate) fn time_to(&self, what: &str) -> Duration {
        let start = Instant::now();
        self.expect(what);
        start.elapsed()
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.told.is_empty()
    }

    pub(crate) fn open_gate(&self) {
        self.gate.cancel("open");
    }
}

pub(crate) fn form(message: &str) -> ElicitParams {
    ElicitParams::form(message, RequestedSchema::new().required("text", PrimitiveSchema::text()))
}

/// The answer to a form.
pub(crate) fn filled(text: &str) -> Value {
    json!({"action": "accept", "content": {"text": text}})
}

fn content(answer: &tinymcp::protocol::ElicitResult) -> Result<String, ToolError> {
    let content: Value = answer.content_as()?.unwrap_or_default();
    Ok(content["text"].as_str().unwrap_or("nothing").to_owned())
}

fn follow(orders: &Receiver<Order>, tell: &Sender<String>, cx: &Context) -> Result<String, ToolError> {
    let tell = |what: String| drop(tell.send(what));
    let deadline = Instant::now() + 2 * LONG;
    loop {
        // Orders are given by another thread, and the call may be given up by a third: it looks at both.
        let order = match orders.recv_timeout(Duration::from_millis(2)) {
            Ok(order) => order,
            Err(RecvTimeoutError::Timeout) if cx.is_cancelled() => {
                let reason = cx.cancel_token().reason().unwrap_or("no reason").to_owned();
                tell(format!("cancelled: {reason}"));
                return Err(ToolError::new(reason));
            }
            Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => continue,
            Err(_) => return Err(ToolError::new("no orders")),
        };
        match order {
            Order::Progress(done) => cx.progress(done, None, None),
            Order::Log(text) => cx.info(text),
            Order::Away(retry) => tell(format!("away: {}", cx.send_away(retry))),
            Order::Elicit => tell(format!("form: {}", content(&cx.elicit("form", form("Which?"))?)?)),
            Order::Sample => {
                let params = CreateMessageParams::new(100).with_user("Hello?");
                tell(format!("sample: {}", cx.sample("sample", params)?.text_content()));
            }
            Order::Roots => tell(format!("roots: {}", cx.roots()?.len())),
            Order::Return(text) => return Ok(text),
            Order::Panic => panic!("the panic of a test"),
        }
    }
}

/// Asks twice, and does something in between that is not done again.
fn book(cx: &Context) -> Result<String, ToolError> {
    let from = content(&cx.elicit("from", form("From?"))?)?;
    let seat = cx.step("seat", || Ok::<_, ToolError>("12A".to_owned()))?;
    let to = content(&cx.elicit("to", form("To?"))?)?;
    Ok(format!("{from} to {to}, {seat}"))
}

fn mirrored() -> Value {
    json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
        "place": {"type": "object", "properties": {"zone": {"type": "string", "x-mcp-header": "Zone"}}},
        "query": {"type": "string"},
    }})
}

fn tools(orders: Vec<Receiver<Order>>, tell: &Sender<String>, gate: &CancelToken) -> ToolRegistry {
    let tools = ToolRegistry::new();
    let add = |tool: FnTool| tools.register(tool).expect("registered");
    add(tool! { fn echo(message: String) -> String { message } });
    add(tool! { fn big(bytes: usize) -> String { "z".repeat(bytes) } });
    add(tool! { fn whoami(cx: &Context) -> String {
        cx.principal().map_or("nobody", |principal| principal.id()).to_owned()
    } });
    add(tool! { fn boom() -> String { panic!("the panic of a test") } });
    add(tool! { fn steps(cx: &Context, n: u32) -> String {
        (1..=n).for_each(|i| cx.progress(f64::from(i), f64::from(n), "step"));
        "done".to_owned()
    } });
    // Says when it begins, and when it is given up.
    let told = tell.clone();
    add(tool! { fn wait(cx: &Context, name: String) -> String {
        drop(told.send(format!("{name} began")));
        let cancelled = cx.cancel_token().wait_timeout(2 * LONG);
        drop(told.send(format!("{name} {}", if cancelled { "cancelled" } else { "forgotten" })));
        "over".to_owned()
    } });
    // Says when it begins, and does not look whether it is given up.
    let (told, held) = (tell.clone(), gate.clone());
    add(tool! { fn held(cx: &Context, name: String) -> String {
        drop(told.send(format!("{name} began")));
        let _ = held.wait_timeout(2 * LONG);
        let ended = if cx.is_cancelled() { "cancelled" } else { "let go" };
        drop(told.send(format!("{name} {ended}")));
        format!("{name} {ended}")
    } });
    let told = tell.clone();
    add(tool! { fn puppet(cx: &Context, line: usize = 0) -> Result<String, ToolError> {
        drop(told.send("began".to_owned()));
        follow(&orders[line], &told, cx)
    } });
    // Sends as much progress as it can until it is given up.
    let told = tell.clone();
    add(tool! { fn flood(cx: &Context, messages: u32) -> String {
        drop(told.send("flood began".to_owned()));
        let text = "f".repeat(10_000);
        let sent = (0..messages).take_while(|_| { cx.info(text.as_str()); !cx.is_cancelled() }).count();
        drop(told.send("flood over".to_owned()));
        sent.to_string()
    } });
    let schema = json!({"type": "object"});
    add(FnTool::new("book", "", schema.clone(), |_, cx: &Context| book(cx)));
    add(FnTool::new("task", "", schema, |_, cx: &Context| book(cx)).task_mode(TaskMode::Required));
    let whoami = tool! { fn task_whoami(cx: &Context) -> String {
        cx.principal().map_or("nobody", |principal| principal.id()).to_owned()
    } };
    add(whoami.task_mode(TaskMode::Required));
    add(FnTool::new("mirrored", "", mirrored(), |arguments, _: &Context| arguments.as_str().to_owned()));
    tools
}

/// Such a server, and its strings.
pub(crate) fn puppet() -> (Server, Puppet) {
    puppet_with(|builder| builder)
}

pub(crate) fn puppet_with(change: impl FnOnce(ServerBuilder) -> ServerBuilder) -> (Server, Puppet) {
    let (orders, followed): (Vec<_>, Vec<_>) = (0..LINES).map(|_| unbounded()).unzip();
    let (tell, told) = unbounded();
    let gate = CancelToken::new();
    let stock = Resource::new(STOCK, "stock");
    let resources = ResourceRegistry::new().with(FnResource::text(stock, "7 tins")).expect("registered");
    let prompts = PromptRegistry::new();
    prompts
        .register(prompt! { fn brew(tea: String) -> String { format!("Brew {tea}!") } })
        .expect("registered");
    let builder = Server::builder("puppet", "1")
        .tools(tools(followed, &tell, &gate))
        .resources(resources)
        .prompts(prompts)
        .tasks(TaskOptions::default())
        .logging()
        .grace(Duration::from_secs(1));
    (change(builder).build().expect("a server"), Puppet { orders, told, gate })
}
