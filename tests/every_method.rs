//! Every method of the method table, both ways, in every revision that has it, over real child processes.
//!
//! A client that has every handler meets `examples/everything_server.rs`. What neither would say by itself is said by a
//! scripted peer in a process of its own. Each step drives one method one way and looks at what comes of it; in the end what
//! passed must be what the table says there is, no more and no less, and as the schema of the revision has it.

mod support;
#[path = "support/wire.rs"]
mod wire;

use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use serde_json::{Value, json};
use support::peers::Raw;
use tinymcp::client::{CallOptions, Change, ClientBuilder, Filter};
use tinymcp::method::{Direction, Method};
use tinymcp::protocol::{
    CompletionReference, Content, CreateMessageResult, ElicitResult, LogLevel, ResourceContents, Root,
};
use tinymcp::transport::ChildProcess;
use tinymcp::{CancelToken, Client, Error, ErrorObject, ProtocolVersion};
use wire::{To, Wire};

const LONG: Duration = Duration::from_secs(30);
const STOCK: &str = "tea://stock";

/// Holds what a scripted server says, as JSON.
const SCRIPT: &str = "TINYMCP_TEST_SCRIPT";

/// The process of a scripted server. It shakes hands; called for a tool, it says its lines, waits for the answers to those that are
/// requests, and returns them as text.
#[test]
fn child() {
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

fn everything_server() -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    let profile = test.parent().and_then(Path::parent).expect("target/PROFILE/deps/TEST");
    profile.join("examples").join(format!("everything_server{}", std::env::consts::EXE_SUFFIX))
}

/// A client of the server in one revision, what passed, and what its callbacks were told.
struct Stage {
    version: ProtocolVersion,
    wire: Wire,
    client: Client,
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
    fn new(version: &ProtocolVersion) -> Self {
        let (wire, (tell, told)) = (Wire::default(), unbounded());
        let client = able(version, &wire, &tell).open(Self::server()).expect("starts");
        client.initialize().expect("settled");
        Self { version: version.clone(), wire, client, told }
    }

    fn server() -> ChildProcess {
        ChildProcess::new(everything_server())
    }

    /// What a callback is told next; others are passed over.
    #[track_caller]
    fn told(&self, what: &str) -> Value {
        loop {
            let (told, value) = self.told.recv_timeout(LONG).expect(what);
            if told == what {
                return value;
            }
        }
    }

    /// The text of a tool's result.
    #[track_caller]
    fn call(&self, tool: &str, arguments: Value) -> String {
        self.call_with(tool, arguments, &CallOptions::default())
    }

    #[track_caller]
    fn call_with(&self, tool: &str, arguments: Value, options: &CallOptions) -> String {
        let result = self.client.call_tool_with(tool, arguments, options).expect(tool);
        assert!(!result.is_error(), "{tool}: {}", result.text_content());
        result.text_content()
    }

    fn order(&self) -> String {
        self.call("order", json!({"tea": "green", "grams": 1}))
    }

    /// Says these lines to a client of this revision, and returns what it answers.
    #[track_caller]
    fn said_to_client(&self, lines: &[Value]) -> Vec<Value> {
        let exe = std::env::current_exe().expect("the test binary");
        let server = ChildProcess::new(exe)
            .args(["--exact", "child", "--quiet", "--nocapture", "--test-threads=1"])
            .env(SCRIPT, json!(lines).to_string());
        let client = able(&self.version, &self.wire, &unbounded().0).open(server).expect("starts");
        let answers = client.call_tool("script", ()).expect("a result").text_content();
        client.close().expect("closed");
        serde_json::from_str(&answers).expect("JSON")
    }

    /// Opens a connection to another process of the server by hand, says `lines`, and returns the answers to those with an id,
    /// and what comes after the input has ended.
    #[track_caller]
    fn said_to_server(&self, lines: &[Value]) -> (Vec<Value>, Vec<Value>) {
        let (line, mut raw) = (self.wire.line(), Raw::of(Command::new(everything_server())).read());
        let hello = json!({
            "protocolVersion": self.version, "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}
        });
        let hello = [
            json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        ];
        let hello = if self.version.is_legacy() { &hello[..] } else { &[] };
        for said in hello.iter().chain(lines) {
            raw.send(&said.to_string());
            line.passed(To::Server, said.clone());
        }
        let ids: Vec<_> = lines.iter().filter_map(|said| said.get("id")).collect();
        let (mut answers, mut came) = (Vec::new(), Vec::new());
        while answers.len() < ids.len() {
            let heard = raw.next();
            line.passed(To::Client, heard.clone());
            let is_acknowledged = heard["method"] == Method::SubscriptionsAcknowledged.name();
            if is_acknowledged || heard.get("method").is_none() && heard["id"] != "hello" {
                answers.push(heard);
            }
        }
        let (rest, status, _) = raw.finish();
        assert!(status.success(), "{status}");
        for heard in rest {
            line.passed(To::Client, heard.clone());
            came.push(heard);
        }
        (answers, came)
    }
}

/// Drives `method` in one direction, and looks at what comes of it.
fn drive(stage: &Stage, method: Method, to: To) {
    let Stage { version, client, .. } = stage;
    let options = CallOptions::default();
    match (method, to) {
        (Method::Initialize | Method::Initialized | Method::Discover, To::Server) => {
            let client = able(version, &stage.wire, &unbounded().0).open(Stage::server()).expect("starts");
            let server = client.initialize().expect("settled");
            assert_eq!(server.version, *version);
            assert_eq!(server.info.as_ref().expect("named").name, "tea-shop");
            assert!(server.instructions.as_ref().expect("instructions").contains(STOCK));
            let can = &server.capabilities;
            assert!(can.tools.is_some() && can.prompts.is_some() && can.logging.is_some());
            assert_eq!(can.resources.as_ref().and_then(|resources| resources.subscribe), Some(true));
            assert_eq!(can.completions.is_some(), *version > ProtocolVersion::V2024_11_05);
            assert_eq!(can.has_extension("com.example/loyalty"), version.is_modern());
            if version.is_modern() {
                let found = client.discover(&options).expect("discovered");
                assert!(found.supported_versions.contains(version));
            }
            client.close().expect("closed");
        }
        (Method::Ping, To::Server) => client.ping().expect("alive"),
        (Method::Ping, To::Client) => {
            let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
            let pong = json!({"jsonrpc": "2.0", "id": "p", "result": {}});
            assert_eq!(stage.said_to_client(&[ping]), [pong]);
        }
        (Method::ToolsList, To::Server) => {
            let listed = client.list_tools_with(&options.with_fresh()).expect("listed");
            assert!(listed.rejected.is_empty());
            let names: Vec<_> = listed.items.iter().map(|tool| &*tool.name).collect();
            assert!(names.contains(&"brew") && names.contains(&"cater"), "{names:?}");
        }
        (Method::ToolsCall, To::Server) => {
            let bought = client.call_tool("order", json!({"tea": "black", "gift": true}));
            let bought = bought.expect("a result");
            if *version >= ProtocolVersion::V2025_06_18 {
                let bill: Value = bought.structured_as().expect("readable").expect("structured");
                assert_eq!(bill, json!({"what": "100 g of black tea", "cents": 1050}));
            }
            let text: Value = serde_json::from_str(&bought.text_content()).expect("the same as text");
            assert_eq!(text["cents"], 1050);
            let much = client.call_tool("order", json!({"tea": "green", "grams": 5000}));
            assert!(much.expect("a result").is_error());
            let shown = client.call_tool("menu", ()).expect("a result").content;
            let kinds: Vec<_> = shown.iter().map(Content::kind).collect();
            let audio = if *version < ProtocolVersion::V2025_03_26 { "text" } else { "audio" };
            let link = if *version < ProtocolVersion::V2025_06_18 { "text" } else { "resource_link" };
            assert_eq!(kinds, ["text", "image", audio, link, "resource"], "{shown:?}");
        }
        (Method::ResourcesList, To::Server) => {
            let listed = client.list_resources_with(&options.with_fresh()).expect("listed").items;
            let uris: BTreeSet<_> = listed.iter().map(|resource| &*resource.uri).collect();
            assert!(
                uris.is_superset(&BTreeSet::from(["tea://about", "tea://leaf/green", STOCK])),
                "{uris:?}"
            );
        }
        (Method::ResourceTemplatesList, To::Server) => {
            let listed = client.list_resource_templates().expect("listed").items;
            assert_eq!(listed[0].uri_template, "tea://leaf/{name}");
        }
        (Method::ResourcesRead, To::Server) => {
            assert_eq!(
                client.read_resource("tea://about").expect("read").text_content(),
                "Open from ten to six."
            );
            let leaf = client.read_resource("tea://leaf/oolong").expect("read");
            assert_eq!(leaf.text_content(), "oolong tea, loose");
            match &client.read_resource("tea://logo").expect("read").contents[0] {
                ResourceContents::Blob(logo) => assert!(logo.bytes().expect("Base64").starts_with(b"<svg")),
                other => panic!("{other:?}"),
            }
            assert!(client.read_resource("tea://leaf/mint").expect_err("none").is_resource_not_found());
        }
        (Method::ResourcesSubscribe | Method::ResourcesUnsubscribe, To::Server) => {
            let changes = client.listen(Filter::new().resource("tea://leaf/green")).expect("listened to");
            assert!(changes.honoured().includes(&Change::ResourceUpdated("tea://leaf/green".into())));
        }
        (Method::PromptsList, To::Server) => {
            let listed = client.list_prompts_with(&options.with_fresh()).expect("listed").items;
            let names: Vec<_> = listed.iter().map(|prompt| &*prompt.name).collect();
            assert!(names.contains(&"invitation") && names.contains(&"pairing"), "{names:?}");
        }
        (Method::PromptsGet, To::Server) => {
            let got =
                client.get_prompt("pairing", json!({"tea": "green", "dish": "rice"})).expect("filled in");
            assert_eq!(got.messages[0].content.as_text(), Some("I drink green tea and eat rice."));
            let got = client.get_prompt("invitation", ()).expect("filled in");
            assert!(got.messages[0].content.as_text().expect("text").contains("file:///home/ada"));
        }
        (Method::CompletionComplete, To::Server) => {
            let leaf = CompletionReference::resource("tea://leaf/{name}");
            let found = client.complete(leaf, "name", "o", ()).expect("completed");
            assert_eq!(found.completion.values, ["oolong"]);
            let found =
                client.complete(CompletionReference::prompt("pairing"), "dish", "", json!({"tea": "black"}));
            let first = if *version < ProtocolVersion::V2025_06_18 { "rice" } else { "scones" };
            assert_eq!(found.expect("completed").completion.values, [first, "cake"]);
        }
        (Method::LoggingSetLevel, To::Server) => client.set_log_level(LogLevel::Info).expect("set"),
        (Method::LogMessage, To::Client) => {
            client.set_log_level(LogLevel::Info).expect("set");
            stage.order();
            let logged = stage.told("other");
            assert_eq!(logged[0], method.name());
            assert_eq!(logged[1]["data"], "sold 1 g of green tea");
        }
        (Method::SubscriptionsListen, To::Server) | (Method::SubscriptionsAcknowledged, To::Client) => {
            let wanted = Filter::new().tools().prompts().resources().resource(STOCK);
            let changes = client.listen(wanted.clone()).expect("listened to");
            assert_eq!(changes.honoured(), wanted);
            stage.order();
            assert_eq!(changes.next_timeout(LONG), Some(Change::ResourceUpdated(STOCK.into())));
        }
        (Method::SamplingCreateMessage, To::Client) => {
            assert_eq!(stage.call("advise", json!({"mood": "fine"})), "oolong");
        }
        (Method::RootsList, To::Client) => assert!(stage.call("locate", json!({})).starts_with("file:///")),
        (Method::ElicitationCreate, To::Client) => {
            assert_eq!(stage.call("choose", json!({})), "1 x green for Ada, no milk");
            let party = "party 1: 12 guests, file:///home/ada, oolong";
            assert_eq!(stage.call("cater", json!({})), party);
            if *version >= ProtocolVersion::V2025_11_25 {
                assert_eq!(stage.call("pay", json!({})), "paid");
            }
        }
        (Method::ElicitationComplete, To::Client) => {
            assert_eq!(stage.call("pay", json!({})), "paid");
            assert_eq!(stage.told("complete"), "7");
        }
        (Method::Cancelled, To::Server) => {
            let token = CancelToken::new();
            let cancel = token.clone();
            let options = options.with_cancel(&token).with_progress(move |_| cancel.cancel("thirst is gone"));
            let brewed = client.call_tool_with("brew", json!({"steps": 1000, "pause_ms": 60_000}), &options);
            assert!(matches!(brewed, Err(Error::Cancelled(why)) if why == "thirst is gone"));
        }
        (Method::Cancelled, To::Client) if version.is_modern() => {
            // A subscription is what a server cancels: when it ends.
            let listen = json!({
                "notifications": {"toolsListChanged": true},
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": version,
                    "io.modelcontextprotocol/clientCapabilities": {}
                }
            });
            let listen =
                json!({"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": listen});
            let (acknowledged, rest) = stage.said_to_server(&[listen]);
            assert_eq!(acknowledged[0]["params"]["notifications"], json!({"toolsListChanged": true}));
            assert_eq!(rest[0]["params"]["requestId"], "l");
            assert_eq!(rest[1]["result"]["resultType"], "complete");
        }
        (Method::Cancelled, To::Client) => {
            // The question of a call that is cancelled is cancelled, too.
            let token = CancelToken::new();
            let options = options.with_cancel(&token);
            let call = client.start_call("advise", json!({"mood": "slow"}), &options).expect("sent");
            assert_eq!(stage.told("slow"), "asked");
            token.cancel("enough");
            assert!(matches!(call.wait(), Err(Error::Cancelled(_))));
            assert_eq!(stage.told("slow"), "cancelled");
        }
        (Method::Progress, To::Client) => {
            let (seen, steps) = unbounded();
            let options = options.with_progress(move |p| seen.send((p.progress, p.total)).expect("kept"));
            assert_eq!(stage.call_with("brew", json!({}), &options), "a cup of black tea");
            let steps: Vec<_> = steps.try_iter().collect();
            assert_eq!(steps, [(1.0, Some(3.0)), (2.0, Some(3.0)), (3.0, Some(3.0))]);
        }
        (Method::Progress | Method::TasksStatus, To::Server) => {
            // Our client has no progress to tell, and no tasks of its own. The server takes it and goes on.
            let params = match method {
                Method::Progress => json!({"progressToken": 1, "progress": 0.5}),
                _ => json!({
                    "taskId": "1", "status": "working", "ttl": null,
                    "createdAt": "2025-11-25T00:00:00Z", "lastUpdatedAt": "2025-11-25T00:00:00Z"
                }),
            };
            let told = json!({"jsonrpc": "2.0", "method": method.name(), "params": params});
            let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
            let (answers, rest) = stage.said_to_server(&[told, ping]);
            assert_eq!((&answers[0]["result"], rest.len()), (&json!({}), 0));
        }
        (
            Method::ToolsListChanged | Method::PromptsListChanged | Method::ResourcesListChanged,
            To::Client,
        ) => {
            assert_eq!(stage.call("open_season", json!({"name": "Winter"})), "Winter has begun");
            match method {
                Method::ToolsListChanged => {
                    stage.told("tools");
                    assert_eq!(stage.call("taste", json!({})), "delicious");
                }
                Method::PromptsListChanged => {
                    stage.told("prompts");
                    let season = client.get_prompt("season", ()).expect("filled in");
                    assert_eq!(season.messages[0].content.as_text(), Some("Winter is here"));
                }
                _ => {
                    stage.told("resources");
                    let listed = client.list_resources().expect("listed").items;
                    assert!(listed.iter().any(|resource| resource.uri.starts_with("tea://season/")));
                }
            }
        }
        (Method::ResourcesUpdated, To::Client) => {
            let left = || {
                let read = client.read_resource_with(STOCK, &CallOptions::default().with_fresh());
                let left: Value = serde_json::from_str(&read.expect("read").text_content()).expect("JSON");
                left["green"].as_u64().expect("a number")
            };
            let before = left();
            stage.order();
            assert_eq!(stage.told("updated"), STOCK);
            assert_eq!(left(), before - 1);
        }
        (Method::RootsListChanged, To::Server) => {
            client.set_roots([Root::new("file:///tmp")]).expect("told");
            assert_eq!(stage.call("locate", json!({})), "file:///tmp");
            client.set_roots([Root::new("file:///home/ada")]).expect("told");
        }
        (method, to) => panic!("nothing drives {method} to {to:?} in {version}"),
    }
}

/// The ways that a method goes, as a message or as a request for input.
fn ways(method: Method, version: &ProtocolVersion) -> &'static [To] {
    let is_question = version.is_modern() && method.is_input_request();
    if !is_question && !method.is_in(version) {
        return &[];
    }
    match method.direction(version) {
        Direction::ToServer => &[To::Server],
        Direction::ToClient => &[To::Client],
        _ => &[To::Server, To::Client],
    }
}

#[test]
fn every_method_of_every_revision_works_both_ways() {
    std::thread::scope(|scope| {
        for version in ProtocolVersion::ALL {
            scope.spawn(move || every_method(&version));
        }
    });
}

fn every_method(version: &ProtocolVersion) {
    let stage = Stage::new(version);
    let mut table = BTreeSet::new();
    for &method in Method::ALL {
        if method.name().contains("tasks") {
            continue;
        }
        for &to in ways(method, version) {
            let mark = stage.wire.mark();
            drive(&stage, method, to);
            stage.wire.expect(mark, method.name(), to);
            table.insert((to, method.name().to_owned()));
        }
    }
    stage.client.close().expect("closed");
    let wire = stage.wire;
    assert_eq!(wire.methods(), table, "{version}");
    let problems = wire.problems(version);
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}
