//! Every method of the method table, both ways, in every revision that has it, over real child processes.
//!
//! A client that has every handler meets `examples/everything_server.rs`. What neither would say by itself is said by a
//! scripted peer in a process of its own. Each step drives one method one way and looks at what comes of it; in the end what
//! passed must be what the table says there is, no more and no less, and as the schema of the revision has it.

#[cfg(all(feature = "http-server", feature = "http-client"))]
#[path = "support/relaying.rs"]
mod relaying;
#[path = "support/stage.rs"]
mod stage;
mod support;
#[path = "support/wire.rs"]
mod wire;

use std::collections::BTreeSet;
use std::time::Duration;

use crossbeam_channel::unbounded;
use serde_json::{Value, json};
use stage::{LONG, Route, STOCK, Stage};
use tinymcp::client::{CallOptions, Change, ClientBuilder, Filter};
use tinymcp::method::{Direction, Method};
use tinymcp::protocol::{CompletionReference, Content, LogLevel, ResourceContents, Root, TaskStatus};
use tinymcp::transport::EndStep;
use tinymcp::{CancelToken, Error, ProtocolVersion};
use wire::To;

#[test]
fn child() {
    stage::child();
}

/// Drives `method` in one direction, and looks at what comes of it.
fn drive(stage: &Stage, method: Method, to: To) {
    let Stage { version, client, .. } = stage;
    let options = CallOptions::default();
    match (method, to) {
        (Method::Initialize | Method::Initialized | Method::Discover, To::Server) => {
            let client = stage.another(|builder| builder);
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
            let mut hand = stage.by_hand();
            hand.ask("l", "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
            let acknowledged = hand.until(|heard| heard.get("method").is_some());
            assert_eq!(acknowledged["params"]["notifications"], json!({"toolsListChanged": true}));
            let rest = hand.end();
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
                _ => task_status(),
            };
            let told = json!({"jsonrpc": "2.0", "method": method.name(), "params": params});
            let mut hand = stage.by_hand();
            hand.say(told);
            hand.ask("p", "ping", json!({}));
            assert_eq!(hand.until(|heard| heard["id"] == "p")["result"], json!({}));
            assert_eq!(hand.end(), [Value::Null; 0]);
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
                    assert!(listed.iter().any(|resource| resource.uri == "tea://season"));
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
        (
            Method::TasksGet
            | Method::TasksResult
            | Method::TasksUpdate
            | Method::TasksList
            | Method::TasksCancel,
            To::Server,
        ) => drive_task(stage, method),
        (Method::TasksGet | Method::TasksResult | Method::TasksList | Method::TasksCancel, To::Client) => {
            // Our client has no tasks of its own, and does not say that it has.
            let params = if method == Method::TasksList { json!({}) } else { json!({"taskId": "1"}) };
            let asked = json!({"jsonrpc": "2.0", "id": "t", "method": method.name(), "params": params});
            assert_eq!(stage.said_to_client(&[asked])[0]["error"]["code"], -32601);
        }
        (Method::TasksStatus, To::Client) => {
            // Our server says nothing that it is not asked for; another may.
            let status = json!({"jsonrpc": "2.0", "method": method.name(), "params": task_status()});
            assert_eq!(stage.said_to_client(&[status]), [Value::Null; 0]);
            assert_eq!(stage.told("other"), json!([method.name(), task_status()]));
        }
        (Method::TasksChanged, To::Client) => {
            let mut hand = stage.by_hand();
            hand.ask("c", "tools/call", json!({"name": "brew", "arguments": {"pause_ms": 60_000}}));
            let made = hand.until(|heard| heard["id"] == "c");
            let id = &made["result"]["taskId"];
            hand.ask("l", "subscriptions/listen", json!({"notifications": {"taskIds": [id]}}));
            let acknowledged = hand.until(|heard| heard.get("method").is_some());
            assert_eq!(acknowledged["params"]["notifications"], json!({"taskIds": [id]}));
            hand.ask("x", "tasks/cancel", json!({"taskId": id}));
            let told = hand.until(|heard| heard["method"] == method.name());
            assert_eq!((&told["params"]["taskId"], &told["params"]["status"]), (id, &json!("cancelled")));
            hand.end();
        }
        (method, to) => panic!("nothing drives {method} to {to:?} in {version}"),
    }
}

fn task_status() -> Value {
    let time = "2025-11-25T00:00:00Z";
    json!({"taskId": "1", "status": "working", "ttl": null, "createdAt": time, "lastUpdatedAt": time})
}

/// Makes a task of a call that asks three things.
fn drive_task(stage: &Stage, method: Method) {
    let client = stage.another(ClientBuilder::tasks);
    let (options, is_modern) = (CallOptions::default(), stage.version.is_modern());
    let wish = if is_modern { options.clone() } else { options.clone().with_task(Duration::from_secs(60)) };
    let is_slow = method == Method::TasksCancel;
    let (tool, arguments) =
        if is_slow { ("brew", json!({"pause_ms": 60_000})) } else { ("cater", json!({})) };
    let task = client.call_tool_task(tool, arguments, &wish).expect("a task");
    let id = task.id().expect("a task");
    let status = task.status(&options).expect("known").expect("a task");
    assert_eq!(status.task_id, id);
    if is_slow {
        assert_eq!(status.status, TaskStatus::Working);
        task.cancel(&options).expect("acknowledged");
        let waited = task.wait(&options);
        assert!(matches!(waited, Err(Error::Cancelled(_))), "{waited:?}");
    } else {
        let party = task.wait(&options).expect("a result").text_content();
        assert_eq!(party, "party 1: 12 guests, file:///home/ada, oolong");
    }
    if method == Method::TasksList {
        let listed = client.request(method.name(), &[], &options).expect("listed").to_value();
        assert_eq!(
            (&listed["tasks"][0]["taskId"], &listed["tasks"][0]["status"]),
            (&json!(id), &json!("completed"))
        );
    }
    client.close().expect("closed");
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
            scope.spawn(move || every_method(&version, |_| None, |_, _| true));
        }
    });
}

/// Client, bridge to stdio, HTTP, relay, server.
#[cfg(all(feature = "http-server", feature = "http-client"))]
#[test]
fn every_method_of_every_revision_passes_the_bridges() {
    let over_http: Route = |server| {
        // Until the process ends: each client has a relay, so that Modern ones have servers of their own as well.
        let relay = Box::leak(Box::new(relaying::Relaying::to(move || server.clone())));
        Some(relay.url.clone())
    };
    std::thread::scope(|scope| {
        for version in ProtocolVersion::ALL {
            let is_modern = version.is_modern();
            // Nobody can know whose a log message is, and over HTTP a subscription ends with its stream.
            let passes = move |method, to| {
                !is_modern || !matches!((method, to), (Method::LogMessage | Method::Cancelled, To::Client))
            };
            scope.spawn(move || every_method(&version, over_http, passes));
        }
    });
}

fn every_method(version: &ProtocolVersion, route: Route, passes: impl Fn(Method, To) -> bool) {
    let stage = Stage::new(version, route);
    let mut table = BTreeSet::new();
    for &method in Method::ALL {
        for &to in ways(method, version).iter().filter(|to| passes(method, **to)) {
            let mark = stage.wire.mark();
            drive(&stage, method, to);
            stage.wire.expect(mark, method.name(), to);
            table.insert((to, method.name().to_owned()));
        }
    }
    // Nothing is still brewed.
    let report = stage.client.close().expect("closed");
    assert!(report.flushed && report.ending.step == EndStep::EndOfInput, "{report}");
    let wire = stage.wire;
    assert_eq!(wire.methods(), table, "{version}");
    let problems = wire.problems(version);
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}
