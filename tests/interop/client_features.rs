//! Our client and what other people's servers have beside tools, and what they ask of it.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tinymcp::client::{CallOptions, Change, ClientBuilder, Filter};
use tinymcp::json::Object;
use tinymcp::protocol::{
    CacheScope, CompletionReference, Content, CreateMessageResult, ElicitResult, LogLevel, PrimitiveSchema,
    ResourceContents, Root,
};
use tinymcp::{CancelToken, Client, Error, ErrorObject, ProtocolVersion};

use crate::Case;
use crate::peers::{ANY, LEGACY, Peers, Used, locked, script};

pub(crate) const CASES: &[Case] = &[
    ("our client, everything server, what it asks", everything_asks),
    ("our client, everything server, what it has and tells", everything_has),
    ("our client, Python 2.x features, Modern", |peers| python(peers, &ANY)),
    ("our client, Python 2.x features, Legacy", |peers| python(peers, &LEGACY)),
    ("our client, TypeScript 2.x features, Modern", |peers| typescript(peers, &ANY)),
    ("our client, TypeScript 2.x features, Legacy", |peers| typescript(peers, &LEGACY)),
];

/// No peer needs nearly as long for anything.
const SOON: Duration = Duration::from_secs(20);

/// A client that answers everything, and what it was asked and told.
pub(crate) struct Seen {
    /// Each question in short.
    questions: Arc<Mutex<Vec<String>>>,
    /// What the user does with the next forms; accepts once there is no more.
    refusals: Arc<Mutex<Vec<ElicitResult>>>,
    notices: Receiver<(String, Value)>,
}

/// What a patient user fills in: the defaults, and something for each required field.
fn filled_in(form: &tinymcp::client::Asked<tinymcp::protocol::ElicitFormParams>) -> Object {
    let mut content = form.defaults();
    for (name, field) in &form.requested_schema.properties {
        if form.requested_schema.is_required(name) && content.json(name).is_none() {
            match field {
                PrimitiveSchema::Boolean(_) => content.insert(name, &true),
                PrimitiveSchema::SingleSelect(choice) => {
                    content.insert(name, choice.options().next().expect("a choice").0);
                }
                _ => content.insert(name, "Ada"),
            }
        }
    }
    content
}

pub(crate) fn answering() -> (ClientBuilder, Seen) {
    let questions = Arc::<Mutex<Vec<String>>>::default();
    let refusals = Arc::<Mutex<Vec<ElicitResult>>>::default();
    let (told, notices) = channel();
    let told: Mutex<Sender<(String, Value)>> = Mutex::new(told);
    let note = {
        let questions = Arc::clone(&questions);
        move |question: String| locked(&questions).push(question)
    };
    let (form, url, sample) = (note.clone(), note.clone(), note);
    let refused = Arc::clone(&refusals);
    let builder = Client::builder()
        .roots([Root::new("file:///srv/one").with_name("One")])
        .on_elicit(move |asked| {
            form(asked.message.clone());
            let refusal = locked(&refused).pop();
            Ok(refusal.unwrap_or_else(|| ElicitResult::accept(filled_in(asked))))
        })
        .on_elicit_url(move |asked| {
            url(format!("{} {}", asked.host(), asked.url));
            Ok(ElicitResult::accept_url())
        })
        .on_sample(move |request| {
            let prompt: Vec<_> = request.messages.iter().map(|message| message.text_content()).collect();
            sample(format!("{:?} {prompt:?} {}", request.system_prompt, request.max_tokens));
            if prompt[0].contains("secret") {
                return Err(ErrorObject::new(-1, "the user said no"));
            }
            Ok(CreateMessageResult::text("model-1", "once upon a time"))
        })
        .on_notification(move |method, params| {
            let params = params.map(|params| params.to_value()).unwrap_or_default();
            let _ = locked(&told).send((method.to_owned(), params));
        });
    (builder, Seen { questions, refusals, notices })
}

impl Seen {
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.questions))
    }

    /// The next notification for which `is_wanted`; others are passed over.
    fn notice(&self, is_wanted: impl Fn(&str, &Value) -> bool) -> Value {
        let end = Instant::now() + SOON;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let (method, params) = self.notices.recv_timeout(left).expect("a notification in time");
            if is_wanted(&method, &params) {
                return params;
            }
        }
    }

    fn log(&self, text: &str) {
        self.notice(|method, params| {
            method == "notifications/message"
                && params["data"].as_str().is_some_and(|data| data.contains(text))
        });
    }
}

fn text(used: &Used, tool: &str, arguments: Value) -> String {
    used.client.call_tool(tool, arguments).expect("a result").text_content()
}

pub(crate) fn everything(peers: &Peers, builder: ClientBuilder) -> Used {
    let used =
        peers.open_as(builder, &ANY, peers.node(), [peers.npm("mcp-server-everything"), "stdio".into()]);
    assert_eq!(used.client.initialize().expect("settled").version, ProtocolVersion::V2025_11_25);
    // It asks for the roots now, or else 0.35 s after the handshake, and does not end while that question is open, even if
    // its input has ended: this case may be over before.
    text(&used, "get-roots-list", json!({}));
    used
}

fn everything_asks(peers: &Peers) {
    let (builder, seen) = answering();
    let used = everything(peers, builder);
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

fn everything_has(peers: &Peers) {
    let (builder, seen) = answering();
    let used = everything(peers, builder);
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
    assert_eq!(used.sent("resources/unsubscribe"), 1);
    let is_log = |(method, _): &(String, Value)| method == "notifications/message";
    assert_eq!(seen.notices.try_iter().filter(is_log).count(), 0);

    give_up(&used, "trigger-long-running-operation", json!({ "duration": 1, "steps": 10 }));
    used.close();
}

/// Cancels a call once the server has reported progress on it, or 0.3 s later.
fn give_up(used: &Used, tool: &str, arguments: Value) {
    let token = CancelToken::new();
    let fire = token.clone();
    let options = CallOptions::default().with_cancel(&token).with_progress(move |_| fire.cancel("enough"));
    let call = used.client.start_call(tool, arguments, &options).expect("sent");
    let fire = token.clone();
    let late = std::thread::spawn(move || {
        fire.wait_timeout(Duration::from_millis(300)) || {
            fire.cancel("enough");
            true
        }
    });
    let given_up = call.wait();
    assert!(matches!(given_up, Err(Error::Cancelled(_))), "{given_up:?}");
    late.join().expect("no panic");
}

fn python(peers: &Peers, versions: &[ProtocolVersion]) {
    let (builder, seen) = answering();
    let used = peers.open_as(builder, versions, peers.python_v2(), [script("features_v2.py")]);
    features(peers, used, &seen, versions == ANY);
}

fn typescript(peers: &Peers, versions: &[ProtocolVersion]) {
    let (builder, seen) = answering();
    let used = peers.open_as(builder, versions, peers.node(), [peers.module("features_ts.mjs")]);
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
    appears(&sign);
    client.ping().expect("alive");
    used.close();
}

fn appears(path: &Path) {
    let end = Instant::now() + SOON;
    while !path.exists() {
        assert!(Instant::now() < end, "{} does not appear", path.display());
        std::thread::sleep(Duration::from_millis(10));
    }
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
