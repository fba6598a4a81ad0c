//! Other people's clients with our servers.

use std::ffi::OsString;
use std::time::Duration;

use serde_json::{Value, json};
use tinymcp::{CancelToken, Context, Server, ToolError, ToolRegistry, data, tool};

use crate::Case;
use crate::peers::{Peers, Ran, example, script};

pub(crate) const CASES: &[Case] = &[
    ("our server, Python 1.x client", python_v1),
    ("our server, Python 2.x client, Legacy", |peers| python_v2(peers, "legacy", "2025-11-25")),
    ("our server, Python 2.x client, Modern found by the probe", |peers| {
        python_v2(peers, "auto", "2026-07-28")
    }),
    ("our server, Python 2.x client, Modern without a probe", |peers| {
        python_v2(peers, "2026-07-28", "2026-07-28")
    }),
    ("our server, rmcp client, Legacy", |peers| rmcp(peers, "legacy", "2025-11-25")),
    ("our server, rmcp client, Modern", |peers| rmcp(peers, "modern", "2026-07-28")),
    ("our server, inspector, Legacy", |peers| inspector(peers, "legacy")),
    ("our server, inspector, Modern", |peers| inspector(peers, "modern")),
];

/// The argument that makes this program the server below.
pub(crate) const SERVE: &str = "serve-the-interop-tools";

data! {
    struct Total {
        total: u32,
    }
}

/// A server with what `examples/echo_server` lacks.
pub(crate) fn serve() {
    let echo = tool! {
        /// Echo a message
        fn echo(message: String) -> String { message }
    };
    let count = tool! {
        /// Count up and report each step
        fn count(to: u32, cx: &Context) -> Total {
            for step in 1..=to {
                let message = format!("step {step}");
                cx.progress(f64::from(step), f64::from(to), message.as_str());
            }
            Total { total: to }
        }
    };
    let fail = tool! {
        /// Fail
        fn fail(why: String) -> Result<String, ToolError> { Err(ToolError::new(why)) }
    };
    let told = CancelToken::new();
    let seen = told.clone();
    let wait = tool! {
        /// Wait until it is cancelled
        fn wait(cx: &Context) -> &'static str {
            cx.progress(1.0, None, "begun");
            if !cx.cancel_token().wait_timeout(Duration::from_secs(60)) { return "nobody cancelled" }
            told.cancel("seen");
            "cancelled"
        }
    };
    let waited = tool! {
        /// Say whether that was cancelled
        fn waited() -> bool { seen.wait_timeout(Duration::from_secs(20)) }
    };
    let tools =
        [echo, count, fail, wait, waited].into_iter().try_fold(ToolRegistry::new(), ToolRegistry::with);
    let server = Server::builder("interop", "1.0.0").tools(tools.expect("five names")).build();
    server.expect("all revisions").start().expect("stdin and stdout");
}

/// Our two servers: the example, and the one above, with the tools of each.
fn servers() -> [(Vec<OsString>, Vec<&'static str>); 2] {
    let me = std::env::current_exe().expect("a path");
    [
        (vec![example("echo_server").into()], vec!["echo"]),
        (vec![me.into(), SERVE.into()], vec!["count", "echo", "fail", "wait", "waited"]),
    ]
}

fn python_v1(peers: &Peers) {
    let calls = json!([["echo", { "message": "grüße ☕" }], ["echo", {}], ["no such tool", {}]]);
    for (server, tools) in servers() {
        let args = [script("client_v1.py").into(), calls.to_string().into()].into_iter().chain(server);
        let seen = peers.run(peers.python_v1(), args).json();
        assert_eq!(seen["version"], "2025-11-25");
        assert_eq!(seen["tools"], json!(tools));
        assert_eq!(seen["answers"][0], json!([false, "grüße ☕"]));
        assert_eq!(seen["answers"][1], json!([true, "bad arguments for tool echo: message: missing"]));
        assert_eq!(seen["answers"][2], json!([-32602, "unknown tool: no such tool"]));
    }
}

fn python_v2(peers: &Peers, mode: &str, version: &str) {
    for (server, tools) in servers() {
        let args = [script("client_v2.py").into(), mode.into()].into_iter().chain(server);
        let seen = peers.run(peers.python_v2(), args).json();
        // Without a probe the client has not asked for the name.
        let name = match &tools[..] {
            _ if mode == "2026-07-28" => json!(null),
            ["echo"] => json!("echo"),
            _ => json!("interop"),
        };
        assert_eq!(seen["server"], name);
        let listed = seen["tools"].as_object().expect("tools by name");
        assert!(listed.keys().eq(tools.iter()), "{listed:?}");
        assert_eq!(seen["many"], true, "200 calls at once");
        check(&seen, version, &tools);
        if tools.contains(&"count") {
            let progress = seen["progress"].as_array().expect("a list");
            let steps: Vec<Value> =
                (1..=5).map(|step| json!([f64::from(step), 5.0, format!("step {step}")])).collect();
            assert_eq!(*progress, steps);
            assert_eq!(seen["waited"], "true", "it is told that a call is given up");
        }
    }
}

fn rmcp(peers: &Peers, era: &str, version: &str) {
    for (server, tools) in servers() {
        let args = ["client".into(), era.into()].into_iter().chain(server);
        let seen = peers.run(peers.rmcp(), args).json();
        assert_eq!(seen["tools"], json!(tools));
        check(&seen, version, &tools);
        if tools.contains(&"count") {
            // This client handles each notification on a task of its own: their order is not ours.
            let mut steps: Vec<_> =
                seen["progress"].as_array().expect("a list").iter().map(|p| p[0].as_f64()).collect();
            steps.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
            assert_eq!(steps, [1.0, 2.0, 3.0, 4.0, 5.0].map(Some));
        }
    }
}

/// What every client saw.
fn check(seen: &Value, version: &str, tools: &[&str]) {
    assert_eq!(seen["version"], version);
    let echo = &seen["echo"];
    assert_eq!(*echo.get(0).unwrap_or(echo), "grüße ☕");
    assert_eq!(seen["bad_arguments"], json!([true, "bad arguments for tool echo: message: missing"]));
    assert_eq!(seen["unknown_tool"], json!([-32602, "unknown tool: no such tool"]));
    if tools.contains(&"count") {
        assert_eq!(seen["structured"], json!({ "total": 5 }));
    }
    if tools.contains(&"fail") {
        assert_eq!(seen["fail"], json!([true, "on purpose"]));
    }
}

fn inspector(peers: &Peers, era: &str) {
    for (server, tools) in servers() {
        assert_eq!(inspected_tools(peers, &server, era), tools);
        let call = |args: &[&str]| {
            inspect(peers, &server, era, &[&["--method", "tools/call", "--tool-name"], args].concat())
        };
        let echo = call(&["echo", "--tool-arg", "message=grüße ☕"]).json();
        assert_eq!(echo["content"], json!([{ "type": "text", "text": "grüße ☕" }]));
        // What a Modern result says of its server is how one can tell that the era was spoken.
        let server_info = &echo["_meta"]["io.modelcontextprotocol/serverInfo"]["name"];
        assert_eq!(server_info.is_string(), era == "modern", "{echo}");
        let bad = call(&["echo"]);
        assert!(bad.code != Some(0) && bad.stdout.contains("message: missing"), "{}", bad.stdout);
        let unknown = call(&["nothing"]);
        assert!(unknown.code != Some(0) && unknown.stderr.contains("not found"), "{}", unknown.stderr);
        if tools.contains(&"count") {
            let count = call(&["count", "--tool-arg", "to=3"]).json();
            assert_eq!(count["structuredContent"], json!({ "total": 3 }));
        }
    }
}

fn inspect(peers: &Peers, server: &[OsString], era: &str, args: &[&str]) -> Ran {
    let head = [peers.npm("mcp-inspector"), "--cli".into()];
    let mark = ["-e".into(), peers.mark().into(), "--protocol-era".into(), era.into()];
    let args = args.iter().map(OsString::from);
    peers.run(peers.node(), head.into_iter().chain(server.iter().cloned()).chain(args).chain(mark))
}

/// The names of the tools, none of which has a schema that other clients could not take: so says `--strict`.
fn inspected_tools(peers: &Peers, server: &[OsString], era: &str) -> Vec<String> {
    let listed = inspect(peers, server, era, &["--method", "tools/list", "--strict"]).json();
    let tools = listed["tools"].as_array().expect("a list");
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

/// The notes server, if this crate has it.
pub(crate) fn notes_case() -> Option<Case> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/notes_server.rs");
    std::path::Path::new(source)
        .exists()
        .then_some(("our notes server, Python 1.x client and inspector", notes))
}

fn notes(peers: &Peers) {
    let calls = json!([
        ["create_note", { "title": "Plan", "content": "Write it down.", "tags": ["work"] }],
        ["search_notes", { "query": "WRITE" }],
        ["search_notes", { "query": "nowhere" }],
        ["create_note", { "title": "Plan" }],
    ]);
    let server = OsString::from(example("notes_server"));
    for era in ["legacy", "modern"] {
        let tools = inspected_tools(peers, std::slice::from_ref(&server), era);
        assert_eq!(tools, ["create_note", "search_notes"]);
    }
    let args = [script("client_v1.py").into(), calls.to_string().into(), server];
    let seen = peers.run(peers.python_v1(), args).json();
    let answer =
        |at: usize| (seen["answers"][at][0].as_bool(), seen["answers"][at][1].as_str().unwrap_or_default());
    let (failed, text) = answer(0);
    assert!(failed == Some(false) && text.contains("Plan"), "{seen}");
    let (failed, text) = answer(1);
    assert!(failed == Some(false) && text.contains("Plan"), "{seen}");
    let (failed, text) = answer(2);
    assert!(failed == Some(false) && !text.contains("Plan"), "{seen}");
    let (failed, text) = answer(3);
    assert!(failed == Some(true) && text.contains("content"), "{seen}");
    // What was made is a resource.
    assert!(
        seen["read"]["notes://Plan"].as_str().is_some_and(|note| note.ends_with("Write it down.")),
        "{seen}"
    );
    assert_eq!((&seen["templates"], &seen["completed"]), (&json!(["notes://{title}"]), &json!(["Plan"])));
    for era in ["legacy", "modern"] {
        let read = inspect(
            peers,
            &[example("notes_server").into()],
            era,
            &["--method", "resources/read", "--uri", "notes://Plan"],
        );
        assert!(
            read.json()["contents"][0]["text"].as_str().is_some_and(|note| note.ends_with("Write it down."))
        );
    }
}
