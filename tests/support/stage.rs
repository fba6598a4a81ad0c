//! A client of `examples/everything_server.rs` in one revision, and scripted peers in processes of their own for what neither
//! would say by itself.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use serde_json::{Value, json};
use tinymcp::client::{CallOptions, ClientBuilder};
use tinymcp::protocol::{CreateMessageResult, ElicitResult, Root, TASKS_EXTENSION};
use tinymcp::transport::ChildProcess;
use tinymcp::{Client, ErrorObject, ProtocolVersion};

use crate::support::peers::Raw;
use crate::wire::{Line, To, Wire};

pub(crate) const LONG: Duration = Duration::from_secs(30);
pub(crate) const STOCK: &str = "tea://stock";

/// Holds what a scripted server says, as JSON.
const SCRIPT: &str = "TINYMCP_TEST_SCRIPT";

/// The body of the test `child`: the process of a scripted server. It shakes hands; called for a tool, it says its lines, waits for the answers to those that are
/// requests, and returns them as text.
pub(crate) fn child() {
    let Ok(script) = std::env::var(SCRIPT) else { return };
    let script: Vec<Value> = serde_json::from_str(&script).expect("JSON");
    let say = |line: &Value| {
        let mut out = std::io::stdout().lock();
        out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush()).expect("stdout");
    };
    let (mut call, mut answers) = (Value::Null, Vec::new());
    for line in std::io::stdin().lock().lines() {
        let heard: Value = serde_json::from_str(&line.expect("UTF-8")).expect("JSON");
        let answer = |result: Value| say(&json!({"jsonrpc": "2.0", "id": heard["id"], "result": result}));
        match heard["method"].as_str() {
            Some("initialize") => answer(json!({
                "protocolVersion": heard["params"]["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "scripted", "version": "0"}
            })),
            Some("tools/call") => {
                call = heard["id"].clone();
                script.iter().for_each(say);
            }
            None => answers.push(heard),
            _ => {}
        }
        if !call.is_null() && answers.len() == script.iter().filter(|line| line.get("id").is_some()).count() {
            let text = json!(answers).to_string();
            say(
                &json!({"jsonrpc": "2.0", "id": call, "result": {"content": [{"type": "text", "text": text}]}}),
            );
            call = Value::Null;
        }
    }
}

fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    let profile = test.parent().and_then(Path::parent).expect("target/PROFILE/deps/TEST");
    profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// How a server is reached: over HTTP, by the bridges, at the address that this returns; or else directly.
pub(crate) type Route = fn(ChildProcess) -> Option<String>;

fn server() -> ChildProcess {
    ChildProcess::new(example("everything_server"))
}

fn reach(route: Route, server: ChildProcess) -> ChildProcess {
    match route(server.clone()) {
        Some(url) => ChildProcess::new(example("bridge_to_stdio")).arg(url),
        None => server,
    }
}

/// A client of the server in one revision, what passed, and what its callbacks were told.
pub(crate) struct Stage {
    pub(crate) version: ProtocolVersion,
    route: Route,
    pub(crate) wire: Wire,
    pub(crate) client: Client,
    tell: Sender<(&'static str, Value)>,
    told: Receiver<(&'static str, Value)>,
}

/// A client that can do everything.
fn able(version: &ProtocolVersion, wire: &Wire, tell: &Sender<(&'static str, Value)>) -> ClientBuilder {
    let teller = |what: &'static str| {
        let tell = tell.clone();
        move |value: Value| drop(tell.send((what, value)))
    };
    let [tools, prompts, resources, updated, complete, other, slow] =
        ["tools", "prompts", "resources", "updated", "complete", "other", "slow"].map(teller);
    let has_defaults = *version >= ProtocolVersion::V2025_11_25;
    Client::builder()
        .name("able", "1")
        .versions([version.clone()])
        .tap(wire.line())
        .roots([Root::new("file:///home/ada")])
        .on_elicit(move |form| {
            let mut content = form.defaults();
            // Before 2025-11-25 a form has hardly any defaults.
            for (field, value) in [("name", json!("Ada")), ("tea", json!("green")), ("guests", json!(12))] {
                if form.requested_schema.is_required(field) && content.json(field).is_none() {
                    assert!(field == "name" || !has_defaults, "no default for {field}");
                    content.insert(field, &value);
                }
            }
            Ok(ElicitResult::accept(content))
        })
        .on_elicit_url(|url| {
            assert_eq!(url.host(), "example.com");
            Ok(ElicitResult::accept_url())
        })
        .on_sample(move |request| {
            if request.messages[0].text_content().contains("slow") {
                slow(json!("asked"));
                assert!(request.cancel_token().wait_timeout(LONG), "never cancelled");
                slow(json!("cancelled"));
                return Err(ErrorObject::new(-1, "too late"));
            }
            Ok(CreateMessageResult::text("model", "oolong"))
        })
        .on_tools_changed(move |_| tools(Value::Null))
        .on_prompts_changed(move |_| prompts(Value::Null))
        .on_resources_changed(move |_| resources(Value::Null))
        .on_resource_updated([STOCK], move |_, uri| updated(json!(uri)))
        .on_elicitation_complete(move |id| complete(json!(id)))
        .on_notification(move |method, params| {
            other(json!([method, params.map(|params| params.to_value())]));
        })
}

impl Stage {
    pub(crate) fn new(version: &ProtocolVersion, route: Route) -> Self {
        let (wire, (tell, told)) = (Wire::default(), unbounded());
        let client = able(version, &wire, &tell).open(reach(route, server())).expect("starts");
        client.initialize().expect("settled");
        Self { version: version.clone(), route, wire, client, tell, told }
    }

    /// What a callback is told next; others are passed over.
    #[track_caller]
    pub(crate) fn told(&self, what: &str) -> Value {
        loop {
            let (told, value) = self.told.recv_timeout(LONG).expect(what);
            if told == what {
                return value;
            }
        }
    }

    /// The text of a tool's result.
    #[track_caller]
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> String {
        self.call_with(tool, arguments, &CallOptions::default())
    }

    #[track_caller]
    pub(crate) fn call_with(&self, tool: &str, arguments: Value, options: &CallOptions) -> String {
        let result = self.client.call_tool_with(tool, arguments, options).expect(tool);
        assert!(!result.is_error(), "{tool}: {}", result.text_content());
        result.text_content()
    }

    pub(crate) fn order(&self) -> String {
        self.call("order", json!({"tea": "green", "grams": 1}))
    }

    /// Another client of another process of the server.
    pub(crate) fn another(&self, change: impl FnOnce(ClientBuilder) -> ClientBuilder) -> Client {
        change(able(&self.version, &self.wire, &self.tell)).open(reach(self.route, server())).expect("starts")
    }

    /// Has a scripted server say these lines to a client of this revision, and returns what that answers.
    #[track_caller]
    pub(crate) fn said_to_client(&self, lines: &[Value]) -> Vec<Value> {
        let exe = std::env::current_exe().expect("the test binary");
        let server = ChildProcess::new(exe)
            .args(["--exact", "child", "--quiet", "--nocapture", "--test-threads=1"])
            .env(SCRIPT, json!(lines).to_string());
        let client =
            able(&self.version, &self.wire, &self.tell).open(reach(self.route, server)).expect("starts");
        let answers = client.call_tool("script", ()).expect("a result").text_content();
        client.close().expect("closed");
        serde_json::from_str(&answers).expect("JSON")
    }

    /// A connection to another process of the server, by hand.
    pub(crate) fn by_hand(&self) -> Hand {
        let mut command = Command::new(example("everything_server"));
        if let Some(url) = (self.route)(server()) {
            command = Command::new(example("bridge_to_stdio"));
            command.arg(url);
        }
        let raw = Raw::of(command).read();
        let mut hand = Hand { version: self.version.clone(), raw, line: self.wire.line() };
        if self.version.is_legacy() {
            let client = json!({"name": "hand", "version": "0"});
            let hello = json!({"protocolVersion": self.version, "capabilities": {}, "clientInfo": client});
            hand.ask("hello", "initialize", hello);
            hand.until(|heard| heard["id"] == "hello");
            hand.say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        hand
    }
}

/// A client by hand.
pub(crate) struct Hand {
    version: ProtocolVersion,
    raw: Raw,
    line: Line,
}

impl Hand {
    pub(crate) fn say(&mut self, message: Value) {
        self.raw.send(&message.to_string());
        self.line.passed(To::Server, message);
    }

    /// Sends a request. A Modern one says that its client can do everything.
    pub(crate) fn ask(&mut self, id: &str, method: &str, mut params: Value) {
        if self.version.is_modern() {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.version,
                "io.modelcontextprotocol/clientCapabilities": {
                    "elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}, "extensions": {TASKS_EXTENSION: {}}
                },
            });
        }
        self.say(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    /// The next message that `is_it`; others are passed over.
    #[track_caller]
    pub(crate) fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let heard = self.raw.next();
            self.line.passed(To::Client, heard.clone());
            if is_it(&heard) {
                return heard;
            }
        }
    }

    /// Ends the input. What still comes.
    #[track_caller]
    pub(crate) fn end(mut self) -> Vec<Value> {
        let (rest, status, _) = self.raw.finish();
        assert!(status.success(), "{status}");
        rest.iter().for_each(|heard| self.line.passed(To::Client, heard.clone()));
        rest
    }
}
