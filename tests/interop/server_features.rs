//! Other people's clients on a tour of our everything server: what it has, what it asks of them, and what it tells.

use serde_json::{Value, json};

use crate::Case;
use crate::peers::{Peers, Ran, example, script};

pub(crate) const CASES: &[Case] = &[
    ("our everything server, Python 2.x client, Legacy", |peers| toured(&python(peers, "legacy"), false)),
    ("our everything server, Python 2.x client, Modern found by the probe", |peers| {
        toured(&python(peers, "auto"), true);
    }),
    ("our everything server, Python 2.x client, Modern without a probe", |peers| {
        toured(&python(peers, "2026-07-28"), true);
    }),
    ("our everything server, TypeScript 2.x client, Legacy", |peers| {
        toured(&typescript(peers, "legacy"), false);
    }),
    ("our everything server, TypeScript 2.x client, Modern found by the probe", |peers| {
        toured(&typescript(peers, "auto"), true);
    }),
    ("our everything server, TypeScript 2.x client, Modern only", |peers| {
        toured(&typescript(peers, "2026-07-28"), true);
    }),
];

fn python(peers: &Peers, mode: &str) -> Ran {
    let args = [script("tour_v2.py"), mode.into(), example("everything_server")];
    peers.run(peers.python_v2(), args)
}

fn typescript(peers: &Peers, mode: &str) -> Ran {
    let args = [peers.module("tour_ts.mjs"), mode.into(), example("everything_server").into()];
    peers.run(peers.node(), args)
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

fn toured(ran: &Ran, is_modern: bool) {
    let seen = ran.json();
    has(&seen, "version", &json!(if is_modern { "2026-07-28" } else { "2025-11-25" }));
    what_it_has(&seen, is_modern);
    what_it_asks(&seen, is_modern);
    what_it_tells(&seen, is_modern);
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
    let steps: Vec<Value> = (1..=4).map(|step| json!([f64::from(step), 4.0, "steeping"])).collect();
    let told: Vec<Value> = seen["progress"].as_array().expect("a list").iter().map(floats).collect();
    assert_eq!(told, steps);
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

/// Numbers as one client writes them, `1`, and another, `1.0`.
fn floats(list: &Value) -> Value {
    let items = list.as_array().expect("a list").iter();
    items.map(|item| item.as_f64().map_or_else(|| item.clone(), Value::from)).collect()
}
