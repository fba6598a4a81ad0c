//! Our client and what other people's servers have beside tools, and what they ask of it.

use std::sync::Arc;

use serde_json::{Value, json};
use tinymcp::ProtocolVersion;
use tinymcp::client::{CallOptions, Change, Filter};
use tinymcp::protocol::{CacheScope, CompletionReference, ElicitResult, LogLevel, ResourceContents};

use crate::Case;
use crate::answering::{SOON, Seen, answering, filled_in, give_up, soon, text};
use crate::peers::Way::{Http, Sse, Stdio};
use crate::peers::{ANY, LEGACY, Peers, Used, Way, client, locked, script};

pub(crate) const CASES: &[Case] = &[
    ("our client, Python 2.x features, Modern", |peers| python(peers, Stdio, &ANY)),
    ("our client, Python 2.x features, Legacy", |peers| python(peers, Stdio, &LEGACY)),
    ("our client, Python 2.x features, Modern, HTTP", |peers| python(peers, Http, &ANY)),
    ("our client, Python 2.x features, Legacy, HTTP", |peers| python(peers, Http, &LEGACY)),
    ("our client, Python 2.x features, SSE", |peers| python(peers, Sse, &LEGACY)),
    ("our client, TypeScript 2.x features, Modern", |peers| typescript(peers, Stdio, &ANY)),
    ("our client, TypeScript 2.x features, Legacy", |peers| typescript(peers, Stdio, &LEGACY)),
    ("our client, TypeScript 2.x features, Modern, HTTP", |peers| typescript(peers, Http, &ANY)),
    ("our client, TypeScript 2.x features, Legacy, HTTP", |peers| typescript(peers, Http, &LEGACY)),
    ("our client, TypeScript 2.x features, their streams break off", breaking_off),
    ("our client, TypeScript 2.x server without sessions", stateless),
    ("our client, rmcp features, Modern", |peers| rmcp(peers, Stdio, &ANY)),
    ("our client, rmcp features, Legacy", |peers| rmcp(peers, Stdio, &LEGACY)),
    ("our client, rmcp features, Modern, HTTP", |peers| rmcp(peers, Http, &ANY)),
    ("our client, rmcp features, Legacy, HTTP", |peers| rmcp(peers, Http, &LEGACY)),
];

/// What a server says while a stream is broken off, it keeps for whoever comes back. (The everything server does so, too, but sends
/// all that it keeps, of all streams: answers come twice.)
fn breaking_off(peers: &Peers) {
    let serving = peers.serve(peers.node(), [peers.module("features_ts.mjs"), "http".into()]);
    let relay = Arc::clone(serving.relay());
    let during = Arc::clone(&relay);
    let builder = client().on_elicit(move |asked| {
        // The stream of the call that asks.
        assert_eq!(during.cut(|request| request.body.contains("optional")), 1);
        Ok(ElicitResult::accept(filled_in(asked)))
    });
    let used = peers.open_url(builder, Http, &LEGACY, serving);
    let changes = used.client.listen(Filter::new().tools().resource("notes:///readme")).expect("listening");
    // Without an event there is none after which to go on: the stream of a session does not begin with one here.
    text(&used, "touch", json!({ "uri": "notes:///readme" }));
    assert_eq!(changes.next_timeout(SOON), Some(Change::ResourceUpdated("notes:///readme".to_owned())));
    assert_eq!(relay.cut(|request| request.verb == "GET"), 1);
    text(&used, "grow", json!({}));
    assert_eq!(changes.next_timeout(SOON), Some(Change::ToolsChanged));
    assert_eq!(text(&used, "optional", json!({})), "accept");
    used.close_after_break();
}

/// The Legacy side of a server that keeps nothing between two requests: it tells of nothing by itself.
fn stateless(peers: &Peers) {
    let serving = peers.serve(peers.node(), [peers.module("features_ts.mjs"), "stateless".into()]);
    let used = peers.open_url(client(), Http, &LEGACY, serving);
    assert_eq!(used.client.initialize().expect("settled").version, ProtocolVersion::V2025_11_25);
    it_has(&used, false);
    assert_eq!(text(&used, "talk", json!({})), "said");
    used.close();
}

fn python(peers: &Peers, way: Way, versions: &[ProtocolVersion]) {
    let (builder, seen) = answering();
    let used = peers.open_as(builder, way, versions, peers.python_v2(), [script("features_v2.py")]);
    features(peers, used, &seen, versions == ANY);
}

fn typescript(peers: &Peers, way: Way, versions: &[ProtocolVersion]) {
    let (builder, seen) = answering();
    let used = peers.open_as(builder, way, versions, peers.node(), [peers.module("features_ts.mjs")]);
    features(peers, used, &seen, versions == ANY);
}

fn rmcp(peers: &Peers, way: Way, versions: &[ProtocolVersion]) {
    let (builder, seen) = answering();
    let used = peers.open_as(builder, way, versions, peers.rmcp(), ["features"]);
    features(peers, used, &seen, versions == ANY);
}

fn features(peers: &Peers, used: Used, seen: &Seen, is_modern: bool) {
    let client = &used.client;
    let identity = client.initialize().expect("settled");
    assert_eq!(is_modern, identity.version.is_modern());
    assert_eq!(identity.instructions.as_deref(), Some("Try everything."));

    it_asks(&used, seen, is_modern);
    it_has(&used, is_modern);
    it_tells(&used, seen, is_modern);

    give_up(&used, "wait", json!({}));
    let sign = peers.home().join("cancelled");
    soon("what the cancelled call leaves", || sign.exists());
    client.ping().expect("alive");
    used.close();
}

fn it_asks(used: &Used, seen: &Seen, is_modern: bool) {
    let calls = used.sent("tools/call");
    let told = text(used, "interview", json!({ "topic": "tides" }));
    assert_eq!(told, "tides: Ada 30 once upon a time file:///srv/one true");
    let mut asked = seen.asked();
    asked.sort_unstable();
    let story = r#"Some("Be short.") ["Tell a story"] 50"#;
    assert_eq!(asked, ["Really, Ada?", story, "Who are you?"]);
    // Two of its questions wait for no other; the third comes in the second round.
    assert_eq!(used.sent("tools/call") - calls, if is_modern { 3 } else { 1 });

    assert_eq!(text(used, "optional", json!({})), "accept");
    for (refusal, word) in [(ElicitResult::decline(), "decline"), (ElicitResult::cancel(), "cancel")] {
        locked(&seen.refusals).push(refusal);
        assert_eq!(text(used, "optional", json!({})), word);
    }
    seen.asked();
    assert_eq!(text(used, "visit", json!({})), "accept half way");
    assert_eq!(seen.asked(), ["example.com https://example.com/login"]);
    if is_modern {
        let read = used.client.read_resource("notes:///guarded").expect("read");
        assert_eq!(read.text_content(), "the word is Ada");
        let prompt = used.client.get_prompt("guided", ()).expect("filled in");
        assert_eq!(prompt.messages[0].content.as_text(), Some("Explain Ada"));
    }
}

fn it_has(used: &Used, is_modern: bool) {
    let client = &used.client;
    let resources = client.list_resources().expect("a list");
    let readme = &resources.items[0];
    assert_eq!((readme.uri.as_str(), readme.title.as_deref()), ("notes:///readme", Some("Read me")));
    assert_eq!(readme.meta.as_ref().and_then(|meta| meta.get::<u32>("kept")), Some(1));
    assert_eq!(client.list_resource_templates().expect("a list").items[0].uri_template, "notes:///{name}");
    let before = used.sent("resources/read");
    for _ in 0..2 {
        let read = client.read_resource("notes:///readme").expect("read");
        assert_eq!(read.text_content(), "read me");
        if is_modern {
            assert_eq!((read.ttl_ms, read.cache_scope), (Some(60_000), Some(CacheScope::Private)));
        }
    }
    assert_eq!(used.sent("resources/read") - before, if is_modern { 1 } else { 2 });
    let read = client.read_resource("notes:///bytes").expect("read");
    let ResourceContents::Blob(blob) = &read.contents[0] else { panic!("{read:?}") };
    assert_eq!(blob.bytes().expect("base64"), (0..=255).collect::<Vec<u8>>());
    assert_eq!(client.read_resource("notes:///gr%C3%BC%C3%9Fe").expect("read").text_content(), "about grüße");
    let missing = client.read_resource("other:///x").expect_err("there is none");
    assert!(missing.is_resource_not_found(), "{missing}");

    let prompts = client.list_prompts().expect("a list");
    let explain = &prompts.items[0];
    assert_eq!((explain.name.as_str(), explain.display_name()), ("explain", "Explain"));
    let arguments = explain.arguments.as_ref().expect("two");
    let arguments: Vec<_> = arguments.iter().map(|a| (a.name.as_str(), a.is_required())).collect();
    assert_eq!(arguments, [("topic", true), ("depth", false)]);
    let filled =
        client.get_prompt("explain", json!({ "topic": "tides", "depth": "long" })).expect("filled in");
    assert_eq!(filled.messages[0].content.as_text(), Some("Explain tides, long"));
    let refused = client.get_prompt("nothing", ()).expect_err("there is none");
    assert!(refused.peer_error().is_some(), "{refused}");

    let complete = |reference, argument: &str, typed: &str, known: Value| {
        client.complete(reference, argument, typed, known).expect("completed").completion.values
    };
    assert_eq!(complete(CompletionReference::prompt("explain"), "topic", "ti", json!({})), ["tides", "time"]);
    let known = json!({ "topic": "moon" });
    assert_eq!(complete(CompletionReference::prompt("explain"), "depth", "", known), ["moon"]);
    let template = CompletionReference::resource("notes:///{name}");
    assert_eq!(complete(template, "name", "r", json!({})), ["readme", "rivers"]);
}

fn it_tells(used: &Used, seen: &Seen, is_modern: bool) {
    let client = &used.client;
    let logged = |least: &str| {
        assert_eq!(text(used, "talk", json!({})), "said");
        // All came before the answer, and what is taken from here on came later.
        client.ping().expect("alive");
        let mut levels = Vec::new();
        loop {
            let params = seen.notice(|method, _| method == "notifications/message");
            assert_eq!(params["logger"], "talk");
            assert_eq!(params["data"]["said"], params["level"]);
            levels.push(params["level"].as_str().expect("a level").to_owned());
            if levels.last().is_some_and(|level| level == least) {
                return levels;
            }
        }
    };
    client.set_log_level(LogLevel::Warning).expect("set");
    assert_eq!(logged("error"), ["warning", "error"]);
    client.set_log_level(LogLevel::Error).expect("set");
    assert_eq!(logged("error"), ["error"]);
    if is_modern {
        // For one call only.
        let options = CallOptions::default().with_log_level(LogLevel::Debug);
        client.call_tool_with("talk", (), &options).expect("a result");
        seen.notice(|_, params| params["level"] == "debug");
        seen.notice(|_, params| params["level"] == "error");
    }

    let filter = Filter::new().tools().prompts().resources().resource("notes:///readme");
    let changes = client.listen(filter.clone()).expect("listening");
    assert_eq!(changes.honoured(), filter);
    text(used, "grow", json!({}));
    let mut told: Vec<_> = (0..3).map(|_| changes.next_timeout(SOON)).collect();
    told.sort_by_key(|change| format!("{change:?}"));
    let all = [Change::PromptsChanged, Change::ResourcesChanged, Change::ToolsChanged];
    assert_eq!(told, all.map(Some));
    // Nothing that was kept of the lists is believed any more.
    assert!(client.list_tools().expect("a list").items.iter().any(|tool| tool.name == "extra"));
    assert!(client.list_prompts().expect("a list").items.iter().any(|prompt| prompt.name == "extra"));
    assert!(client.list_resources().expect("a list").items.iter().any(|r| r.uri == "notes:///extra"));
    let reads = used.sent("resources/read");
    text(used, "touch", json!({ "uri": "notes:///readme" }));
    assert_eq!(changes.next_timeout(SOON), Some(Change::ResourceUpdated("notes:///readme".to_owned())));
    client.read_resource("notes:///readme").expect("read");
    assert_eq!(used.sent("resources/read") - reads, 1, "the kept one is outdated");
    text(used, "touch", json!({ "uri": "notes:///bytes" }));
    client.ping().expect("alive");
    assert_eq!(changes.try_next(), None, "nobody asked for that");
}
