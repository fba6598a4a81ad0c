//! Our client and the everything server: what it asks, and what it has and tells.

use serde_json::{Value, json};
use tinymcp::ProtocolVersion;
use tinymcp::client::{Change, ClientBuilder, Filter};
use tinymcp::protocol::{CompletionReference, Content, ElicitResult, LogLevel, ResourceContents, Root};

use crate::Case;
use crate::answering::{SOON, answering, give_up, soon, text};
use crate::peers::Way::{Http, Sse, Stdio};
use crate::peers::{Peers, Used, Way, locked};

pub(crate) const CASES: &[Case] = &[
    ("our client, everything server, what it asks", |peers| everything_asks(peers, Stdio)),
    ("our client, everything server, what it asks, HTTP", |peers| everything_asks(peers, Http)),
    ("our client, everything server, what it asks, SSE", |peers| everything_asks(peers, Sse)),
    ("our client, everything server, what it has and tells", |peers| everything_has(peers, Stdio)),
    ("our client, everything server, what it has and tells, HTTP", |peers| everything_has(peers, Http)),
    ("our client, everything server, what it has and tells, SSE", |peers| everything_has(peers, Sse)),
];

pub(crate) fn everything(peers: &Peers, builder: ClientBuilder, way: Way) -> Used {
    let used = peers.everything(builder, way);
    assert_eq!(used.client.initialize().expect("settled").version, ProtocolVersion::V2025_11_25);
    // It asks for the roots now, or else 0.35 s after the handshake, and does not end while that question is open, even if
    // its input has ended: this case may be over before.
    text(&used, "get-roots-list", json!({}));
    used
}

fn everything_asks(peers: &Peers, way: Way) {
    let (builder, seen) = answering();
    let used = everything(peers, builder, way);
    // It offers these tools once it knows what the client can do.
    let names: Vec<_> = used.client.list_tools().expect("a list").into_iter().map(|tool| tool.name).collect();
    for name in ["get-roots-list", "trigger-sampling-request", "trigger-url-elicitation"] {
        assert!(names.iter().any(|other| other == name), "{name} is not among {names:?}");
    }

    // Roots, and that they changed.
    let roots = text(&used, "get-roots-list", json!({}));
    assert!(roots.contains("1 total") && roots.contains("One\n   URI: file:///srv/one"), "{roots}");
    used.client.set_roots([Root::new("file:///srv/two"), Root::new("file:///srv/three")]).expect("told");
    seen.log("Roots updated: 2 root(s)");
    assert!(text(&used, "get-roots-list", json!({})).contains("file:///srv/three"));

    // Every kind of form field: what has a default comes back with it.
    let answer = text(&used, "trigger-elicitation-request", json!({}));
    let raw = answer.split_once("Raw result: ").expect("shown").1;
    let raw: Value = serde_json::from_str(raw).expect("JSON");
    assert_eq!(raw["action"], "accept");
    let expected = json!({
        "name": "Ada",
        "firstLine": "It was a dark and stormy night.",
        "integer": 42,
        // Its default, 3.14, in a way that no lint takes for a bad pi.
        "number": 314.0 / 100.0,
        "untitledSingleSelectEnum": "Monica",
        "untitledMultipleSelectEnum": ["Guitar"],
        "titledSingleSelectEnum": "hero-1",
        "titledMultipleSelectEnum": ["fish-1"],
        "legacyTitledEnum": "pet-1",
    });
    assert_eq!(raw["content"], expected);
    for (refusal, word) in [(ElicitResult::decline(), "declined"), (ElicitResult::cancel(), "cancelled")] {
        locked(&seen.refusals).push(refusal);
        assert!(text(&used, "trigger-elicitation-request", json!({})).contains(word));
    }
    assert_eq!(seen.asked(), ["Please provide inputs for the following fields:"; 3]);

    // A URL: asked for by a request, and by the error -32042, after which the call is made once more.
    let url = "https://example.com/login?next=1";
    let visited = text(&used, "trigger-url-elicitation", json!({ "url": url, "elicitationId": "e1" }));
    assert!(visited.contains("completed the URL elicitation flow"), "{visited}");
    assert_eq!(seen.asked(), [format!("example.com {url}")]);
    let arguments = json!({ "url": url, "elicitationId": "e2", "errorPath": true });
    let visited = text(&used, "trigger-url-elicitation", arguments);
    assert!(visited.contains("completed the URL elicitation flow"), "{visited}");
    let asked = seen.asked();
    assert!(asked.len() == 2 && asked[0].starts_with("modelcontextprotocol.io "), "{asked:?}");

    let told = text(&used, "trigger-sampling-request", json!({ "prompt": "a story", "maxTokens": 50 }));
    assert!(told.contains("once upon a time") && told.contains("model-1"), "{told}");
    let asked = seen.asked();
    assert!(asked[0].contains("a story") && asked[0].ends_with(" 50"), "{asked:?}");
    let refused = used.client.call_tool("trigger-sampling-request", json!({ "prompt": "a secret" }));
    let refused = refused.expect("a result");
    assert!(refused.is_error == Some(true), "{refused:?}");
    assert!(refused.text_content().contains("the user said no"), "{refused:?}");
    used.close();
}

fn everything_has(peers: &Peers, way: Way) {
    let (builder, seen) = answering();
    let used = everything(peers, builder, way);
    let client = &used.client;

    let resources = client.list_resources().expect("a list");
    assert!(resources.rejected.is_empty(), "{:?}", resources.rejected);
    let document = resources.items.iter().find(|r| r.uri.ends_with("features.md")).expect("listed");
    assert_eq!(document.mime_type.as_deref(), Some("text/markdown"));
    assert!(client.read_resource(&document.uri).expect("read").text_content().contains('#'));
    let templates = client.list_resource_templates().expect("a list");
    let uris: Vec<_> = templates.items.iter().map(|template| template.uri_template.as_str()).collect();
    let text_uris = "demo://resource/dynamic/text/{resourceId}";
    assert_eq!(uris, [text_uris, "demo://resource/dynamic/blob/{resourceId}"]);
    let read = client.read_resource("demo://resource/dynamic/text/7").expect("read");
    assert!(read.text_content().starts_with("Resource 7: "), "{read:?}");
    let read = client.read_resource("demo://resource/dynamic/blob/7").expect("read");
    let ResourceContents::Blob(blob) = &read.contents[0] else { panic!("{read:?}") };
    assert!(blob.bytes().expect("base64").starts_with(b"Resource 7: "), "{read:?}");
    // It says so with -32602 and no `data`, which could be anything.
    let missing = client.read_resource("demo://nowhere").expect_err("there is none");
    assert!(missing.peer_error().is_some_and(|error| error.message.contains("not found")), "{missing}");

    let prompts = client.list_prompts().expect("a list");
    assert_eq!(prompts.items.len(), 4, "{prompts:?}");
    let weather =
        client.get_prompt("args-prompt", json!({ "city": "Köln", "state": null })).expect("filled in");
    assert_eq!(weather.messages[0].content.as_text(), Some("What's weather in Köln?"));
    let embedded = json!({ "resourceType": "Text", "resourceId": "3" });
    let embedded = client.get_prompt("resource-prompt", embedded).expect("filled in");
    let Content::Resource(embedded) = &embedded.messages[1].content else { panic!("{embedded:?}") };
    assert_eq!(embedded.resource.uri(), "demo://resource/dynamic/text/3");
    assert_eq!(
        client.get_prompt("args-prompt", ()).expect_err("no city").peer_error().expect("its").code,
        -32602
    );

    let complete = |reference, argument: &str, typed: &str, known: Value| {
        client.complete(reference, argument, typed, known).expect("completed").completion.values
    };
    let prompt = || CompletionReference::prompt("completable-prompt");
    assert_eq!(complete(prompt(), "department", "S", json!({})), ["Sales", "Support"]);
    assert_eq!(complete(prompt(), "name", "", json!({ "department": "Sales" })), ["David", "Eve", "Frank"]);
    assert_eq!(complete(CompletionReference::resource(text_uris), "resourceId", "12", json!({})), ["12"]);

    // What is told of resources and lists. Each notice comes at once, and then every 5 s.
    let watched = "demo://resource/dynamic/text/1";
    client.set_log_level(LogLevel::Info).expect("set");
    let changes = client.listen(Filter::new().resources().resource(watched)).expect("listening");
    assert!(changes.honoured().includes(&Change::ResourcesChanged));
    seen.log("Received Subscribe Resource request");
    text(&used, "toggle-subscriber-updates", json!({}));
    let updated = Change::ResourceUpdated(watched.to_owned());
    assert_eq!(changes.next_timeout(SOON), Some(updated));
    text(&used, "toggle-subscriber-updates", json!({}));
    let arguments =
        json!({ "name": "made.gz", "data": "data:text/plain,hello", "outputType": "resourceLink" });
    let linked = client.call_tool("gzip-file-as-resource", arguments).expect("a result");
    let Content::ResourceLink(link) = &linked.content[0] else { panic!("{linked:?}") };
    assert_eq!(changes.next_timeout(SOON), Some(Change::ResourcesChanged));
    let resources = client.list_resources().expect("a list");
    assert!(resources.items.iter().any(|resource| resource.uri == link.uri), "{resources:?}");
    let read = client.read_resource(&link.uri).expect("read");
    let ResourceContents::Blob(blob) = &read.contents[0] else { panic!("{read:?}") };
    assert!(blob.bytes().expect("base64").starts_with(&[0x1f, 0x8b]), "{read:?}");

    // Below the level nothing comes: its message would have come before the answer.
    client.set_log_level(LogLevel::Emergency).expect("set");
    changes.close();
    client.ping().expect("alive");
    soon("the end of the subscription", || used.sent("resources/unsubscribe") == 1);
    let is_log = |(method, _): &(String, Value)| method == "notifications/message";
    assert_eq!(seen.notices.try_iter().filter(is_log).count(), 0);

    give_up(&used, "trigger-long-running-operation", json!({ "duration": 1, "steps": 10 }));
    used.close();
}
