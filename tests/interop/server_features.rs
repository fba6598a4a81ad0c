//! Other people's clients on a tour of our everything server: what it has, what it asks of them, and what it tells.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::Case;
use crate::our_server::{MODERN, Target, may_miss_some, version, whole};
use crate::passed::Manners;
use crate::peers::Way::{Http, Sse, Stdio};
use crate::peers::{Peers, Ran, Way, example, script};

pub(crate) const CASES: &[Case] = &[
    ("our everything server, Python 1.x client", |peers| python_v1(peers, Stdio)),
    ("our everything server, Python 1.x client, HTTP", |peers| python_v1(peers, Http)),
    ("our everything server, Python 1.x client, SSE", |peers| python_v1(peers, Sse)),
    ("our everything server, Python 2.x client, Legacy", |peers| python_v2(peers, Stdio, "legacy")),
    ("our everything server, Python 2.x client, Modern found by the probe", |peers| {
        python_v2(peers, Stdio, "auto");
    }),
    ("our everything server, Python 2.x client, Modern without a probe", |peers| {
        python_v2(peers, Stdio, MODERN);
    }),
    ("our everything server, Python 2.x client, Legacy, HTTP", |peers| python_v2(peers, Http, "legacy")),
    ("our everything server, Python 2.x client, Modern found by the probe, HTTP", |peers| {
        python_v2(peers, Http, "auto");
    }),
    ("our everything server, Python 2.x client, Modern without a probe, HTTP", |peers| {
        python_v2(peers, Http, MODERN);
    }),
    ("our everything server, TypeScript 1.x client", |peers| typescript(peers, "1", Stdio, "legacy")),
    ("our everything server, TypeScript 1.x client, HTTP", |peers| typescript(peers, "1", Http, "legacy")),
    ("our everything server, TypeScript 1.x client, SSE", |peers| typescript(peers, "1", Sse, "legacy")),
    ("our everything server, TypeScript 2.x client, Legacy", |peers| {
        typescript(peers, "2", Stdio, "legacy");
    }),
    ("our everything server, TypeScript 2.x client, Modern found by the probe", |peers| {
        typescript(peers, "2", Stdio, "auto");
    }),
    ("our everything server, TypeScript 2.x client, Modern only", |peers| {
        typescript(peers, "2", Stdio, MODERN);
    }),
    ("our everything server, TypeScript 2.x client, Legacy, HTTP", |peers| {
        typescript(peers, "2", Http, "legacy");
    }),
    ("our everything server, TypeScript 2.x client, Modern found by the probe, HTTP", |peers| {
        typescript(peers, "2", Http, "auto");
    }),
    ("our everything server, TypeScript 2.x client, Modern only, HTTP", |peers| {
        typescript(peers, "2", Http, MODERN);
    }),
    ("our everything server, Python 1.x client, its stream breaks off", |peers| {
        python(peers, peers.python_v1(), Http, "legacy", Manners::ComesBack);
    }),
    ("our everything server, Python 2.x client, its stream breaks off", |peers| {
        python(peers, peers.python_v2(), Http, "legacy", Manners::ComesBack);
    }),
    ("our everything server, TypeScript 1.x client, its stream breaks off", |peers| {
        typescript_with(peers, "1", Http, "legacy", Manners::ComesBack);
    }),
    ("our everything server, TypeScript 2.x client, its stream breaks off", |peers| {
        typescript_with(peers, "2", Http, "legacy", Manners::ComesBack);
    }),
    ("our everything server, rmcp client, its stream breaks off", |peers| {
        rmcp_with(peers, Http, "legacy", Manners::ComesBack);
    }),
    ("our everything server, rmcp client, Legacy", |peers| rmcp(peers, Stdio, "legacy")),
    ("our everything server, rmcp client, Modern", |peers| rmcp(peers, Stdio, "modern")),
    ("our everything server, rmcp client, Legacy, HTTP", |peers| rmcp(peers, Http, "legacy")),
    ("our everything server, rmcp client, Modern, HTTP", |peers| rmcp(peers, Http, "modern")),
];

fn target(peers: &Peers, way: Way) -> Target {
    let program = example("everything_server");
    let serve = || peers.serve(&program, ["--http", "127.0.0.1:0"]);
    Target::of(way, vec![program.clone().into()], serve)
}

fn python_v1(peers: &Peers, way: Way) {
    python(peers, peers.python_v1(), way, "legacy", Manners::All);
}

fn python_v2(peers: &Peers, way: Way, mode: &str) {
    python(peers, peers.python_v2(), way, mode, Manners::All);
}

fn python(peers: &Peers, python: PathBuf, way: Way, mode: &str, manners: Manners) {
    let tour = |target: Vec<OsString>| {
        peers.run(python, [script("tour.py").into(), mode.into()].into_iter().chain(target))
    };
    toured(peers, way, version(mode), manners, tour);
}

fn typescript(peers: &Peers, sdk: &str, way: Way, mode: &str) {
    typescript_with(peers, sdk, way, mode, Manners::All);
}

fn typescript_with(peers: &Peers, sdk: &str, way: Way, mode: &str, manners: Manners) {
    let tour = |target: Vec<OsString>| {
        let args = [peers.module("tour.mjs"), sdk.into(), mode.into()].into_iter().chain(target);
        peers.run(peers.node(), args)
    };
    toured(peers, way, version(mode), manners, tour);
}

fn rmcp(peers: &Peers, way: Way, era: &str) {
    rmcp_with(peers, way, era, Manners::All);
}

fn rmcp_with(peers: &Peers, way: Way, era: &str, manners: Manners) {
    let tour = |target: Vec<OsString>| {
        peers.run(peers.rmcp(), ["tour".into(), era.into()].into_iter().chain(target))
    };
    toured(peers, way, version(era), manners, tour);
}

/// The parts of a value that `shape` has.
fn part(value: &Value, shape: &Value) -> Value {
    match (value, shape) {
        (Value::Object(value), Value::Object(shape)) => shape
            .iter()
            .filter_map(|(name, shape)| Some((name.clone(), part(value.get(name)?, shape))))
            .collect(),
        (Value::Array(value), Value::Array(shape)) if value.len() == shape.len() => {
            value.iter().zip(shape).map(|(value, shape)| part(value, shape)).collect()
        }
        _ => value.clone(),
    }
}

fn has(seen: &Value, name: &str, expected: &Value) {
    assert_eq!(part(&seen[name], expected), *expected, "{name}");
}

/// Has `tour` take it, from beginning to end.
fn toured(peers: &Peers, way: Way, version: &str, manners: Manners, tour: impl FnOnce(Vec<OsString>) -> Ran) {
    let target = target(peers, way);
    if manners == Manners::ComesBack {
        target.serving().relay().cut_soon(|request| request.verb == "GET");
    }
    let (seen, is_modern) = (tour(target.args.clone()).json(), version == MODERN);
    has(&seen, "version", &json!(version));
    what_it_has(&seen, is_modern);
    what_it_asks(&seen, is_modern);
    what_it_tells(&seen, is_modern);
    target.end(way, version, manners);
}

fn what_it_has(seen: &Value, is_modern: bool) {
    let logo = "PHN2ZyB4bWxucz0naHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmcnPjxjaXJjbGUgcj0nOScvPjwvc3ZnPg==";
    let uris = ["about", "leaf/black", "leaf/green", "leaf/oolong", "logo", "stock"];
    has(seen, "resources", &json!(uris.map(|uri| format!("tea://{uri}"))));
    has(seen, "templates", &json!([{ "name": "leaf", "uriTemplate": "tea://leaf/{name}" }]));
    let read = json!([
        { "contents": [{ "uri": "tea://about", "mimeType": "text/plain", "text": "Open from ten to six." }] },
        { "contents": [{ "uri": "tea://logo", "mimeType": "image/svg+xml", "blob": logo }] },
        { "contents": [{ "uri": "tea://leaf/green", "text": "green tea, loose" }] },
    ]);
    has(seen, "read", &read);
    if is_modern {
        assert_eq!(
            (&seen["read"][0]["ttlMs"], &seen["read"][0]["cacheScope"]),
            (&json!(3_600_000), &json!("public"))
        );
    }
    // The TypeScript client makes the older code the newer one.
    let missing = &seen["missing"];
    assert!(missing[0] == -32602 || !is_modern && missing[0] == -32002, "{missing}");
    let uri = "tea://leaf/coffee";
    assert_eq!(
        (&missing[1], &missing[2]["uri"]),
        (&json!(format!("resource not found: {uri}")), &json!(uri))
    );
    let menu = json!({ "content": [
        { "type": "text" },
        { "type": "image", "data": logo, "mimeType": "image/svg+xml" },
        { "type": "audio", "data": "Y2xpbms=", "mimeType": "audio/wav" },
        { "type": "resource_link", "uri": "tea://stock", "name": "stock" },
        { "type": "resource", "resource": { "uri": "tea://about", "text": "Open from ten to six." } },
    ] });
    let mut shown = part(&seen["menu"], &menu);
    shown["content"][0] = json!({ "type": "text" });
    assert_eq!(shown, menu);

    has(
        seen,
        "prompts",
        &json!([
            { "name": "invitation" },
            { "name": "pairing", "title": "Pairing", "arguments": [{ "name": "tea", "required": true }, { "name": "dish", "required": false }] },
        ]),
    );
    let pairing = json!([
        { "role": "user", "content": { "type": "text", "text": "I drink black tea and eat cake." } },
        { "role": "assistant", "content": { "type": "text", "text": "A good choice. Would you like more?" } },
    ]);
    has(seen, "pairing", &pairing);
    has(seen, "bad_prompt", &json!([-32602, "bad arguments for prompt pairing: tea: missing", null]));
    has(seen, "completed", &json!([["scones", "cake"], ["cake"], ["green"], ["oolong"]]));
    has(seen, "structured", &json!({ "what": "5 g of green tea", "cents": 290 }));
}

fn what_it_asks(seen: &Value, is_modern: bool) {
    has(
        seen,
        "invitation",
        &json!([{ "role": "user", "content": { "text": "Come to tea at file:///srv/one." } }]),
    );
    let mut answers = seen["answers"].clone();
    // It says which process it is: once, though it is asked more than once.
    let party = answers[4][2].as_str().and_then(|text| text.split_once(": ")).expect("a party").1.to_owned();
    answers[4][2] = party.into();
    let expected = json!([
        ["choose", false, "1 x green for Ada, no milk"],
        ["pay", false, "paid"],
        ["advise", false, "oolong, of course"],
        ["locate", false, "file:///srv/one"],
        ["cater", false, "12 guests, file:///srv/one, oolong, of course"],
        ["choose", false, "the guest would like nothing"],
        ["open_season", false, "spring has begun"],
        ["order", false, r#"{"what":"100 g of black tea","cents":800}"#],
        ["order", true, "only 995 g of green tea are left"],
    ]);
    assert_eq!(answers, expected);
    let mut page = json!({ "mode": "url", "message": "Please pay", "url": "https://example.com/pay/7" });
    if !is_modern {
        page["elicitationId"] = "7".into();
    }
    assert_eq!(seen["asked"][1], page);
    let question = &seen["asked"][2];
    assert_eq!(question["messages"][0]["content"]["text"], "Which tea if I feel tired?");
    assert_eq!(question["maxTokens"], 100);
}

fn what_it_tells(seen: &Value, is_modern: bool) {
    let steps: Vec<Value> = (1..=4).map(|step| json!([step, 4, "steeping"])).collect();
    let told = whole(seen["progress"].as_array().expect("a list"));
    assert!(told == steps || may_miss_some(seen) && steps.starts_with(&told), "{told:?}");
    let sold = |what: &str| json!(["info", "everything_server", format!("sold {what} tea")]);
    // What is below its level comes to nobody.
    has(seen, "logged", &json!([sold("100 g of black"), sold("5 g of green")]));
    let then = seen["tools_then"].as_array().expect("a list").len();
    assert_eq!(then, seen["tools"].as_array().expect("a list").len() + 1);
    let before = seen["told_before"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let completed = before.filter(|name| name.to_lowercase().contains("elicit")).count();
    assert_eq!(completed, usize::from(!is_modern), "the URL is done with");
    if is_modern {
        let all = json!({
            "toolsListChanged": true,
            "promptsListChanged": true,
            "resourcesListChanged": true,
            "resourceSubscriptions": ["tea://stock"],
        });
        has(seen, "honoured", &all);
    }
}
