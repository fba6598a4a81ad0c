//! Our client with other people's servers.

use std::ffi::OsString;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tinymcp::client::CallOptions;
use tinymcp::protocol::Content;
use tinymcp::{Arguments, Context, Error, ProtocolVersion, Tool, ToolRegistry};

use crate::Case;
use crate::peers::Way::{Http, Sse, Stdio};
use crate::peers::{ANY, LEGACY, Peers, Used, Way, client, locked, script};
use crate::serving::Serving;

pub(crate) const CASES: &[Case] = &[
    ("our client, Python 1.x notes server", |peers| notes(peers, Stdio)),
    ("our client, Python 1.x notes server, HTTP", |peers| notes(peers, Http)),
    ("our client, Python 1.x notes server, SSE", |peers| notes(peers, Sse)),
    ("our client, Python 1.x server, each Legacy revision", |peers| {
        each_revision(&|versions| peers.open(Stdio, versions, peers.python_v1(), [script("notes_v1.py")]));
    }),
    ("our client, Python 1.x server, each Legacy revision, HTTP", |peers| {
        let serving = peers.serve(peers.python_v1(), [script("notes_v1.py").into(), OsString::from("http")]);
        each_revision_at(peers, serving);
    }),
    ("our client, Python 2.x server, Modern", |peers| echo_v2(peers, Stdio, &ANY, "2026-07-28")),
    ("our client, Python 2.x server, Legacy", |peers| echo_v2(peers, Stdio, &LEGACY, "2025-11-25")),
    ("our client, Python 2.x server, Modern, HTTP", |peers| echo_v2(peers, Http, &ANY, "2026-07-28")),
    ("our client, Python 2.x server, Legacy, HTTP", |peers| echo_v2(peers, Http, &LEGACY, "2025-11-25")),
    ("our client, Python 2.x server, SSE", |peers| echo_v2(peers, Sse, &ANY, "2025-11-25")),
    ("our client, TypeScript 1.x server", |peers| {
        echo(echo_ts(peers, Stdio, &ANY), "2025-11-25", "on purpose", Unknown::Result);
    }),
    ("our client, TypeScript 1.x server, HTTP", |peers| {
        echo(echo_ts(peers, Http, &ANY), "2025-11-25", "on purpose", Unknown::Result);
    }),
    ("our client, TypeScript 1.x server, SSE", |peers| {
        echo(echo_ts(peers, Sse, &ANY), "2025-11-25", "on purpose", Unknown::Result);
    }),
    ("our client, TypeScript 1.x server, each Legacy revision", |peers| {
        each_revision(&|versions| echo_ts(peers, Stdio, versions));
    }),
    ("our client, TypeScript 1.x server, each Legacy revision, HTTP", |peers| {
        each_revision_at(peers, peers.serve(peers.node(), [peers.module("echo_ts.mjs"), "http".into()]));
    }),
    ("our client, rmcp server, Modern", |peers| rmcp(peers, Stdio, &ANY, "2026-07-28")),
    ("our client, rmcp server, Legacy", |peers| rmcp(peers, Stdio, &LEGACY, "2025-11-25")),
    ("our client, rmcp server, Modern, HTTP", |peers| rmcp(peers, Http, &ANY, "2026-07-28")),
    ("our client, rmcp server, Legacy, HTTP", |peers| rmcp(peers, Http, &LEGACY, "2025-11-25")),
    ("our client, everything server", |peers| everything(peers, Stdio)),
    ("our client, everything server, HTTP", |peers| everything(peers, Http)),
    ("our client, everything server, SSE", |peers| everything(peers, Sse)),
    ("our client, filesystem server", filesystem),
];

/// How a server says that it has no such tool.
#[derive(Clone, Copy, PartialEq)]
enum Unknown {
    Error(i64),
    Result,
}

fn unknown_tool(used: &Used, expected: Unknown) {
    match (used.client.call_tool("no_such_tool", ()), expected) {
        (Err(Error::Peer(error)), Unknown::Error(code)) => {
            assert_eq!(error.code, code);
            assert!(
                error.message.contains("no_such_tool") || error.message.contains("tool not found"),
                "{error}"
            );
        }
        (Ok(result), Unknown::Result) => {
            assert_eq!(result.is_error, Some(true));
            assert!(result.text_content().contains("no_such_tool"), "{result:?}");
        }
        (answer, _) => panic!("{answer:?}"),
    }
}

/// Calls a tool that reports progress, and gives the reports; each came before the result, in order.
fn with_progress(
    used: &Used,
    name: &str,
    arguments: Value,
) -> (tinymcp::protocol::CallToolResult, Vec<(f64, Option<f64>)>) {
    let reports = Arc::<Mutex<Vec<(f64, Option<f64>)>>>::default();
    let seen = Arc::clone(&reports);
    let options = CallOptions::default()
        .with_progress(move |report| locked(&seen).push((report.progress, report.total)));
    let result = used.client.call_tool_with(name, arguments, &options).expect("a result");
    let reports = std::mem::take(&mut *locked(&reports));
    assert!(reports.windows(2).all(|pair| pair[0].0 < pair[1].0), "{reports:?}");
    (result, reports)
}

/// The tools `echo`, `count` and `fail`.
fn echo(used: Used, version: &str, failure: &str, unknown: Unknown) {
    let client = &used.client;
    let identity = client.initialize().expect("settled");
    assert_eq!(identity.version.as_str(), version);
    let is_modern = identity.version.is_modern();

    let list = client.list_tools().expect("a list");
    assert!(list.rejected.is_empty(), "{:?}", list.rejected);
    let mut names: Vec<_> = list.items.iter().map(|tool| tool.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["count", "echo", "fail"]);
    let count = list.items.iter().find(|tool| tool.name == "count").expect("listed");
    assert!(count.output_schema.is_some());

    let result = client.call_tool("echo", json!({ "message": "grüße ☕\n\u{0}" })).expect("a result");
    assert_eq!(result.text_content(), "grüße ☕\n\u{0}");
    let large = "x".repeat(3_000_000);
    let result = client.call_tool("echo", json!({ "message": large })).expect("a result");
    assert!(result.text_content() == large, "a large message");
    let options = CallOptions::default();
    let open: Vec<_> = (0..200)
        .map(|i| client.start_call("echo", json!({ "message": i.to_string() }), &options).expect("sent"))
        .collect();
    for (i, call) in open.into_iter().enumerate() {
        assert_eq!(call.wait().expect("a result").text_content(), i.to_string());
    }

    let (result, reports) = with_progress(&used, "count", json!({ "to": 5 }));
    assert_eq!(result.structured_content.expect("structured").to_value(), json!({ "total": 5 }));
    assert_eq!(reports, [1.0, 2.0, 3.0, 4.0, 5.0].map(|step| (step, Some(5.0))));

    let failed = client.call_tool("fail", json!({ "why": "on purpose" })).expect("a result");
    assert_eq!(failed.is_error, Some(true));
    assert!(failed.text_content().contains(failure), "{failed:?}");
    unknown_tool(&used, unknown);
    client.ping().expect("alive");
    assert_eq!(used.sent("initialize"), usize::from(!is_modern));
    used.close();
}

fn each_revision(open: &dyn Fn(&[ProtocolVersion]) -> Used) {
    for version in LEGACY {
        let used = open(std::slice::from_ref(&version));
        assert_eq!(used.client.initialize().expect("settled").version, version);
        assert!(!used.client.list_tools().expect("a list").items.is_empty());
        assert_eq!(used.sent("server/discover"), 0);
        used.close();
    }
    // All of them and the Modern one: the probe is refused, and the handshake finds the newest.
    let used = open(&ANY);
    assert_eq!(used.client.initialize().expect("settled").version, ProtocolVersion::V2025_11_25);
    assert_eq!((used.sent("server/discover"), used.sent("initialize")), (1, 1));
    used.close();
    // Only the Modern one: refused with an error that says so.
    let used = open(&[ProtocolVersion::V2026_07_28]);
    let error = used.client.initialize().expect_err("it speaks Legacy only");
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
}

/// A server over HTTP speaks all of them at once.
fn each_revision_at(peers: &Peers, serving: Serving) {
    each_revision(&|versions| peers.open_at(client(), Http, versions, &serving));
    serving.end();
}

fn notes(peers: &Peers, way: Way) {
    let used = peers.open(way, &ANY, peers.python_v1(), [script("notes_v1.py")]);
    let client = &used.client;
    let identity = client.initialize().expect("settled");
    assert_eq!(identity.info.as_ref().expect("named").name, "notes");
    let mut tools = ToolRegistry::new();
    for tool in client.discover_tools().expect("a list") {
        tools = tools.with(tool).expect("a new name");
    }
    assert_eq!(tools.names(), ["create_note", "search_notes"]);
    // Through the registry, as any local tool.
    let call = |name: &str, arguments: &str| {
        let arguments = Arguments::from_text(arguments).expect("an object");
        match tools.get(name).expect("registered").execute(arguments, &Context::detached()) {
            Ok(result) => (result.is_error.unwrap_or(false), result.text_content()),
            // With the feature `validation` bad arguments are not even sent.
            Err(error) => (true, error.to_string()),
        }
    };
    let path = peers.home().join(".notes/Plan_ A.md");
    let saved =
        call("create_note", r#"{"title": "Plan: A", "content": "Write it down.", "tags": ["work", "ü"]}"#);
    assert_eq!(saved, (false, format!("saved to {}", path.display())));
    assert_eq!(std::fs::read_to_string(path).expect("saved"), "Plan: A\nwork, ü\n\nWrite it down.");
    assert_eq!(call("search_notes", r#"{"query": "WRITE"}"#), (false, "Plan_ A".into()));
    assert_eq!(call("search_notes", r#"{"query": "nowhere"}"#), (false, "nothing found".into()));
    let (failed, text) = call("create_note", r#"{"title": "Plan"}"#);
    assert!(failed && text.contains("content"), "{text}");
    unknown_tool(&used, Unknown::Result);
    used.close();
}

fn echo_v2(peers: &Peers, way: Way, versions: &[ProtocolVersion], version: &str) {
    let used = peers.open(way, versions, peers.python_v2(), [script("echo_v2.py")]);
    // It keeps what was raised to itself, and calls an unknown tool a failed one.
    echo(used, version, "Error executing tool fail", Unknown::Result);
}

fn echo_ts(peers: &Peers, way: Way, versions: &[ProtocolVersion]) -> Used {
    peers.open(way, versions, peers.node(), [peers.module("echo_ts.mjs")])
}

fn rmcp(peers: &Peers, way: Way, versions: &[ProtocolVersion], version: &str) {
    let used = peers.open(way, versions, peers.rmcp(), ["server"]);
    echo(used, version, "on purpose", Unknown::Error(-32602));
}

fn everything(peers: &Peers, way: Way) {
    let used = peers.everything(client(), way);
    let client = &used.client;
    let identity = client.initialize().expect("settled");
    assert_eq!(identity.version, ProtocolVersion::V2025_11_25);
    assert!(identity.instructions.as_ref().is_some_and(|text| !text.is_empty()));
    let list = client.list_tools().expect("a list");
    assert!(list.rejected.is_empty(), "{:?}", list.rejected);
    assert!(list.items.len() >= 10, "{} tools", list.items.len());
    let tool = |name: &str| list.items.iter().find(|tool| tool.name == name).expect("listed");
    assert!(tool("get-structured-content").output_schema.is_some());
    let hints = tool("get-sum").annotations.as_ref().expect("annotated");
    assert_eq!((hints.read_only_hint, hints.destructive_hint), (Some(true), Some(false)));

    let call = |name: &str, arguments: Value| client.call_tool(name, arguments).expect("a result");
    assert_eq!(call("echo", json!({ "message": "hello" })).text_content(), "Echo: hello");
    assert!(call("get-sum", json!({ "a": 2, "b": 0.5 })).text_content().contains("is 2.5"));

    let weather = call("get-structured-content", json!({ "location": "Chicago" }));
    let structured = weather.structured_content.as_ref().expect("structured").to_value();
    assert_eq!(structured["temperature"], 36);
    assert_eq!(serde_json::from_str::<Value>(&weather.text_content()).expect("JSON"), structured);

    let image = call("get-tiny-image", json!({}));
    let kinds: Vec<_> = image.content.iter().map(Content::kind).collect();
    assert_eq!(kinds, ["text", "image", "text"]);
    let Content::Image(image) = &image.content[1] else { panic!("{image:?}") };
    assert!(image.mime_type == "image/png" && image.data.starts_with("iVBORw0KGgo"), "{image:?}");

    let annotated = call("get-annotated-message", json!({ "messageType": "error", "includeImage": true }));
    let Content::Text(text) = &annotated.content[0] else { panic!("{annotated:?}") };
    let annotations = text.annotations.as_ref().expect("annotated");
    assert_eq!(annotations.priority, Some(1.0));
    assert_eq!(annotations.audience.as_ref().map(Vec::len), Some(2));

    let links = call("get-resource-links", json!({ "count": 4 }));
    assert_eq!(links.content.iter().filter(|content| content.kind() == "resource_link").count(), 4);
    let reference = call("get-resource-reference", json!({ "resourceType": "Text", "resourceId": 1 }));
    assert!(reference.content.iter().any(|content| content.kind() == "resource"), "{reference:?}");

    let arguments = json!({ "duration": 0.5, "steps": 5 });
    let (result, reports) = with_progress(&used, "trigger-long-running-operation", arguments);
    assert!(result.text_content().contains("completed"));
    assert_eq!(reports, [1.0, 2.0, 3.0, 4.0, 5.0].map(|step| (step, Some(5.0))));

    // Given up after 0.3 s; the connection goes on, and the server is told.
    let slow = CallOptions::default().with_timeout(Duration::from_millis(300));
    let arguments = json!({ "duration": 2, "steps": 1 });
    let late = client.call_tool_with("trigger-long-running-operation", arguments, &slow);
    assert!(late.as_ref().is_err_and(Error::is_timeout), "{late:?}");
    // Progress keeps the same call alive.
    let patient = CallOptions::default().with_timeout(Duration::from_millis(1500)).with_reset_on_progress();
    let arguments = json!({ "duration": 3, "steps": 6 });
    let result = client.call_tool_with("trigger-long-running-operation", arguments, &patient);
    assert!(result.expect("a result").text_content().contains("completed"));

    let bad = call("get-sum", json!({ "a": "two" }));
    assert_eq!(bad.is_error, Some(true));
    unknown_tool(&used, Unknown::Result);
    let resources =
        client.request("resources/list", &[], &CallOptions::default()).expect("a list").to_value();
    assert!(resources["resources"].as_array().is_some_and(|list| !list.is_empty()), "{resources}");
    client.ping().expect("alive");
    used.close();
}

fn filesystem(peers: &Peers) {
    let root = peers.home().join("files");
    std::fs::create_dir(&root).expect("a new directory");
    let args: [OsString; 2] = [peers.npm("mcp-server-filesystem"), root.clone().into()];
    let used = peers.open(Stdio, &ANY, peers.node(), args);
    let call = |name: &str, arguments: Value| {
        let result = used.client.call_tool(name, arguments).expect("a result");
        (result.is_error.unwrap_or(false), result.text_content())
    };
    let allowed = call("list_allowed_directories", json!({}));
    assert!(!allowed.0 && allowed.1.contains(&root.display().to_string()), "{allowed:?}");
    let path = root.join("ä file.txt");
    let written = call("write_file", json!({ "path": path, "content": "one\ntwo\n" }));
    assert!(!written.0, "{written:?}");
    assert_eq!(std::fs::read_to_string(&path).expect("written"), "one\ntwo\n");
    assert_eq!(call("read_text_file", json!({ "path": path })), (false, "one\ntwo\n".into()));
    assert_eq!(call("read_text_file", json!({ "path": path, "head": 1 })), (false, "one".into()));
    assert_eq!(call("list_directory", json!({ "path": root })), (false, "[FILE] ä file.txt".into()));
    let denied = call("read_text_file", json!({ "path": "/etc/hostname" }));
    assert!(denied.0 && denied.1.contains("outside allowed"), "{denied:?}");
    used.close();
}
