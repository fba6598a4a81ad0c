//! Our client and our server, in every revision: what the one asks for, the other has.

use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tinymcp::protocol::{CacheScope, CompletionReference, LogLevel, Resource, ResourceTemplate};
use tinymcp::testing::{Pair, pair_with};
use tinymcp::transport::{Direction, Tap};
use tinymcp::{
    Client, Context, FnResource, FnTemplate, PromptRegistry, ProtocolVersion, ResourceRegistry, Server,
    ToolRegistry, prompt, tool,
};

fn server() -> Server {
    let readme = Resource::new("notes:///readme", "readme");
    let note = ResourceTemplate::new("notes:///{name}", "note");
    let note = FnTemplate::new(note, |variables, _: &Context| {
        variables.get("name").filter(|name| *name != "none").map(|name| format!("about {name}"))
    });
    let hour = Duration::from_secs(3600);
    let resources = ResourceRegistry::new()
        .with(FnResource::text(readme, "read me").cache(hour, CacheScope::Private))
        .expect("free")
        .with_template(note)
        .expect("free");
    let explain = prompt! {
        /// Explain something
        fn explain(topic: String) -> String { format!("Explain {topic}") }
    };
    let explain = explain.complete_from("topic", ["tides", "moon"]);
    let shout = tool! {
        fn shout(text: String, cx: &Context) -> String {
            cx.log(LogLevel::Info, None, json!("quiet"));
            cx.log(LogLevel::Error, "shout", json!(text));
            text
        }
    };
    Server::builder("all", "1")
        .tools(ToolRegistry::new().with(shout).expect("free"))
        .resources(resources)
        .prompts(PromptRegistry::new().with(explain).expect("free"))
        .logging()
        .build()
        .expect("a server")
}

/// The methods that are sent.
struct Sent(Mutex<Sender<String>>);

impl Tap for Sent {
    fn frame(&self, direction: Direction, frame: &[u8]) {
        let frame: Value = serde_json::from_slice(frame).expect("JSON");
        if let (Direction::Sent, Some(method)) = (direction, frame["method"].as_str()) {
            let _ = self.0.lock().expect("not poisoned").send(method.to_owned());
        }
    }
}

fn connect(version: &ProtocolVersion) -> (Pair, impl Fn() -> Vec<String>) {
    let (sender, sent) = channel();
    let builder = Client::builder().versions([version.clone()]).tap(Sent(Mutex::new(sender)));
    let client = pair_with(builder, &server()).expect("a client");
    client.initialize().expect("settled");
    (client, move || sent.try_iter().collect())
}

#[test]
fn resources_are_listed_and_read() {
    for version in ProtocolVersion::ALL {
        let (client, sent) = connect(&version);
        let resources = client.list_resources().expect("listed");
        assert_eq!(resources.items[0].uri, "notes:///readme", "{version}");
        let templates = client.list_resource_templates().expect("listed");
        assert_eq!(templates.items[0].uri_template, "notes:///{name}");
        assert_eq!(client.read_resource("notes:///tides").expect("read").text_content(), "about tides");
        for uri in ["notes:///none", "file:///etc/passwd"] {
            let missing = client.read_resource(uri).expect_err("no such note");
            assert!(missing.is_resource_not_found(), "{version} {uri}: {missing}");
        }
        sent();
        for _ in 0..2 {
            assert_eq!(client.read_resource("notes:///readme").expect("read").text_content(), "read me");
        }
        assert_eq!(sent().len(), if version.is_modern() { 1 } else { 2 }, "{version}");
    }
}

#[test]
fn prompts_are_listed_completed_and_filled_in() {
    for version in ProtocolVersion::ALL {
        let (client, _) = connect(&version);
        let prompts = client.list_prompts().expect("listed");
        assert_eq!(prompts.items[0].name, "explain");
        let found = client.complete(CompletionReference::prompt("explain"), "topic", "ti", ());
        assert_eq!(found.expect("completed").completion.values, ["tides"], "{version}");
        let filled = client.get_prompt("explain", json!({"topic": "tides"})).expect("filled in");
        assert_eq!(filled.messages[0].content.as_text(), Some("Explain tides"));
        let error = client.get_prompt("explain", ()).expect_err("a topic is needed");
        assert_eq!(error.peer_error().expect("the server's").code, -32602);
    }
}

#[test]
fn log_messages_come_from_the_level_that_was_set() {
    for version in ProtocolVersion::ALL {
        let (heard, messages) = channel();
        let heard = Mutex::new(heard);
        let builder = Client::builder().versions([version.clone()]).on_notification(move |method, params| {
            let params = params.map(|params| params.to_value()).unwrap_or_default();
            let _ = heard.lock().expect("not poisoned").send((method.to_owned(), params));
        });
        let client = pair_with(builder, &server()).expect("a client");
        client.set_log_level(LogLevel::Warning).expect("set");
        client.call_tool("shout", json!({"text": "fire"})).expect("called");
        let (method, params) = messages.recv_timeout(Duration::from_secs(20)).expect("a message");
        assert_eq!(
            (method.as_str(), &params["data"]),
            ("notifications/message", &json!("fire")),
            "{version}"
        );
        assert_eq!((&params["level"], &params["logger"]), (&json!("error"), &json!("shout")));
    }
}
