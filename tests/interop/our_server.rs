//! Other people's clients with our servers.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tinymcp::http::HttpServer;
use tinymcp::{CancelToken, Context, Server, ToolError, ToolRegistry, data, tool};

use crate::Case;
use crate::passed::{Manners, check};
use crate::peers::Way::{Http, Sse, Stdio};
use crate::peers::{Peers, Ran, Way, example, script};
use crate::serving::Serving;

pub(crate) const CASES: &[Case] = &[
    ("our server, Python 1.x client", |peers| python_v1(peers, Stdio)),
    ("our server, Python 1.x client, HTTP", |peers| python_v1(peers, Http)),
    ("our server, Python 1.x client, SSE", |peers| python_v1(peers, Sse)),
    ("our server, Python 2.x client, Legacy", |peers| python_v2(peers, Stdio, "legacy")),
    ("our server, Python 2.x client, Modern found by the probe", |peers| python_v2(peers, Stdio, "auto")),
    ("our server, Python 2.x client, Modern without a probe", |peers| python_v2(peers, Stdio, MODERN)),
    ("our server, Python 2.x client, Legacy, HTTP", |peers| python_v2(peers, Http, "legacy")),
    ("our server, Python 2.x client, Modern found by the probe, HTTP", |peers| {
        python_v2(peers, Http, "auto");
    }),
    ("our server, Python 2.x client, Modern without a probe, HTTP", |peers| python_v2(peers, Http, MODERN)),
    ("our server, Python 2.x client, SSE", |peers| python_v2(peers, Sse, "legacy")),
    ("our server, TypeScript 1.x client", |peers| typescript(peers, "1", Stdio, "legacy")),
    ("our server, TypeScript 1.x client, HTTP", |peers| typescript(peers, "1", Http, "legacy")),
    ("our server, TypeScript 1.x client, SSE", |peers| typescript(peers, "1", Sse, "legacy")),
    ("our server, TypeScript 2.x client, Legacy, HTTP", |peers| typescript(peers, "2", Http, "legacy")),
    ("our server, TypeScript 2.x client, Modern found by the probe, HTTP", |peers| {
        typescript(peers, "2", Http, "auto");
    }),
    ("our server, TypeScript 2.x client, Modern only, HTTP", |peers| typescript(peers, "2", Http, MODERN)),
    ("our server, TypeScript 2.x client, SSE", |peers| typescript(peers, "2", Sse, "legacy")),
    ("our server, rmcp client, Legacy", |peers| rmcp(peers, Stdio, "legacy")),
    ("our server, rmcp client, Modern", |peers| rmcp(peers, Stdio, "modern")),
    ("our server, rmcp client, Legacy, HTTP", |peers| rmcp(peers, Http, "legacy")),
    ("our server, rmcp client, Modern, HTTP", |peers| rmcp(peers, Http, "modern")),
    ("our server, inspector, Legacy", |peers| inspector(peers, Stdio, "legacy")),
    ("our server, inspector, Modern", |peers| inspector(peers, Stdio, "modern")),
    ("our server, inspector, Legacy, HTTP", |peers| inspector(peers, Http, "legacy")),
    ("our server, inspector, Modern, HTTP", |peers| inspector(peers, Http, "modern")),
    ("our server, inspector, SSE", |peers| inspector(peers, Sse, "legacy")),
];

pub(crate) const MODERN: &str = "2026-07-28";

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
    serve_as_told(&server.expect("all revisions"));
}

/// Over stdio or, if an argument says so, over HTTP.
pub(crate) fn serve_as_told(server: &Server) {
    if std::env::args().nth(2).is_none() {
        server.start().expect("stdin and stdout");
    } else {
        let http = HttpServer::builder(server).bind("127.0.0.1:0").expect("a free port");
        println!("{}", http.url());
        http.serve().expect("threads");
    }
}

/// A server of ours: how a client is to reach it, and the tools it has.
pub(crate) struct Target {
    pub(crate) args: Vec<OsString>,
    tools: Vec<&'static str>,
    serving: Option<Serving>,
}

impl Target {
    pub(crate) fn of(way: Way, command: Vec<OsString>, serve: impl FnOnce() -> Serving) -> Self {
        let serving = (way != Stdio).then(serve);
        let args = match &serving {
            None => command,
            Some(serving) if way == Sse => vec![serving.at("/sse").into()],
            Some(serving) => vec![serving.url().into()],
        };
        Self { args, tools: Vec::new(), serving }
    }

    /// This program, as a server.
    pub(crate) fn of_ours(peers: &Peers, way: Way, name: &str) -> Self {
        let me = OsString::from(std::env::current_exe().expect("a path"));
        let target = Self::of(way, vec![me.clone(), name.into()], || peers.serve(me, [name, "http"]));
        Self { tools: vec!["count", "echo", "fail", "wait", "waited"], ..target }
    }

    pub(crate) fn serving(&self) -> &Serving {
        self.serving.as_ref().expect("over HTTP")
    }

    fn args(&self) -> impl Iterator<Item = OsString> {
        self.args.clone().into_iter()
    }

    fn has(&self, tool: &str) -> bool {
        self.tools.contains(&tool)
    }

    /// Ends it, after several clients.
    fn end_of_several(self) {
        let Some(serving) = self.serving else { return };
        let (passed, said) = serving.end();
        assert_eq!(said, "", "on its stderr");
        let in_trouble = passed.iter().find(|request| request.status.is_some_and(|status| status >= 500));
        assert!(in_trouble.is_none(), "{in_trouble:?}");
    }

    /// Ends it, after one client that spoke `version`.
    pub(crate) fn end(self, way: Way, version: &str, manners: Manners) {
        let Some(serving) = self.serving else { return };
        let (passed, said) = serving.end();
        assert_eq!(said, "", "on its stderr");
        check(&passed, way, &version.into(), manners);
    }
}

/// The smallest of the examples.
fn echo_server() -> Target {
    Target { args: vec![example("echo_server").into()], tools: vec!["echo"], serving: None }
}

fn python_v1(peers: &Peers, way: Way) {
    python(peers, peers.python_v1(), Target::of_ours(peers, way, SERVE), way, "legacy");
}

fn python_v2(peers: &Peers, way: Way, mode: &str) {
    python(peers, peers.python_v2(), Target::of_ours(peers, way, SERVE), way, mode);
}

fn python(peers: &Peers, python: PathBuf, target: Target, way: Way, mode: &str) {
    let version = version(mode);
    let args = [script("client.py").into(), mode.into()].into_iter().chain(target.args());
    let seen = peers.run(python, args).json();
    // Without a probe the client has not asked for the name.
    assert_eq!(seen["server"], if mode == MODERN { Value::Null } else { "interop".into() });
    seen_tools(&seen, version, &target);
    target.end(way, version, Manners::All);
}

/// What is settled on.
pub(crate) fn version(mode: &str) -> &'static str {
    if mode == "legacy" { "2025-11-25" } else { MODERN }
}

fn typescript(peers: &Peers, sdk: &str, way: Way, mode: &str) {
    let (target, version) = (Target::of_ours(peers, way, SERVE), version(mode));
    let args = [peers.module("client.mjs"), sdk.into(), mode.into()].into_iter().chain(target.args());
    let seen = peers.run(peers.node(), args).json();
    assert_eq!(seen["given_up"], true);
    seen_tools(&seen, version, &target);
    target.end(way, version, Manners::All);
}

fn rmcp(peers: &Peers, way: Way, era: &str) {
    for target in [Target::of_ours(peers, way, SERVE)].into_iter().chain((way == Stdio).then(echo_server)) {
        let args = ["client".into(), era.into()].into_iter().chain(target.args());
        let mut seen = peers.run(peers.rmcp(), args).json();
        // This client handles each notification on a task of its own: their order is not ours.
        if let Some(steps) = seen["progress"].as_array_mut() {
            steps.sort_by_key(|step| step[0].as_f64().map(f64::to_bits));
        }
        seen_tools(&seen, version(era), &target);
        target.end(way, version(era), Manners::All);
    }
}

/// What every client saw.
fn seen_tools(seen: &Value, version: &str, target: &Target) {
    assert_eq!(seen["version"], version);
    assert_eq!(seen["tools"], json!(target.tools));
    assert_eq!(seen["echo"], json!([false, "grüße ☕"]));
    assert_eq!(seen["bad_arguments"], json!([true, "bad arguments for tool echo: message: missing"]));
    assert_eq!(seen["many"], true, "200 calls at once");
    let [code, message] = &seen["unknown_tool"].as_array().expect("an error")[..] else { panic!("{seen}") };
    assert_eq!(*code, -32602);
    assert!(message.as_str().is_some_and(|text| text.ends_with("unknown tool: no such tool")), "{message}");
    if target.has("count") {
        assert_eq!(seen["structured"], json!({ "total": 5 }));
        let steps: Vec<Value> = (1..=5).map(|step| json!([step, 5, format!("step {step}")])).collect();
        let told = whole(seen["progress"].as_array().expect("a list"));
        assert!(told == steps || may_miss_some(seen) && steps.starts_with(&told), "{told:?}");
        assert_eq!(seen["fail"], json!([true, "on purpose"]));
        assert_eq!(seen["waited"], "true", "it is told that a call is given up");
    }
}

/// Clients on the TypeScript SDK forget whom to tell of progress when they read the answer, and tell of progress later than they
/// read it: what comes together with the answer is lost. That progress arrives is seen by `wait`, which is given up then.
pub(crate) fn may_miss_some(seen: &Value) -> bool {
    seen["language"] == "TypeScript"
}

/// Numbers as one client writes them, `1.0`, and another, `1`.
pub(crate) fn whole(list: &[Value]) -> Vec<Value> {
    let whole = |value: &Value| match value.as_f64() {
        Some(number) if number.fract() == 0.0 => json!(number as i64),
        _ => value.clone(),
    };
    list.iter().map(|item| item.as_array().expect("a list").iter().map(whole).collect()).collect()
}

fn inspector(peers: &Peers, way: Way, era: &str) {
    let target = Target::of_ours(peers, way, SERVE);
    assert_eq!(inspected_tools(peers, &target.args, era), target.tools);
    let call = |args: &[&str]| {
        inspect(peers, &target.args, era, &[&["--method", "tools/call", "--tool-name"], args].concat())
    };
    let echo = call(&["echo", "--tool-arg", "message=grüße ☕"]).json();
    assert_eq!(echo["content"], json!([{ "type": "text", "text": "grüße ☕" }]));
    // What a Modern result says of its server is how one can tell that the era was spoken.
    let server_info = &echo["_meta"]["io.modelcontextprotocol/serverInfo"]["name"];
    assert_eq!(server_info.is_string(), era == "modern", "{echo}");
    let count = call(&["count", "--tool-arg", "to=3"]).json();
    assert_eq!(count["structuredContent"], json!({ "total": 3 }));
    if way == Stdio {
        let bad = call(&["echo"]);
        assert!(bad.code != Some(0) && bad.stdout.contains("message: missing"), "{}", bad.stdout);
        let unknown = call(&["nothing"]);
        assert!(unknown.code != Some(0) && unknown.stderr.contains("not found"), "{}", unknown.stderr);
    }
    target.end_of_several();
}

/// Runs the inspector on what a command starts, or on a URL.
fn inspect(peers: &Peers, server: &[OsString], era: &str, args: &[&str]) -> Ran {
    let head = [peers.npm("mcp-inspector"), "--cli".into()];
    let era = ["-e".into(), peers.mark().into(), "--protocol-era".into(), era.into()];
    let args = args.iter().map(OsString::from);
    peers.run(peers.node(), head.into_iter().chain(server.iter().cloned()).chain(args).chain(era))
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
    let args = [script("notes_client.py").into(), calls.to_string().into(), server];
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
