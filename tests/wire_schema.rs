//! Everything that client and server write, in every revision, judged by the official schemas.
//!
//! Taps on both sides record what passes while a session uses all that the crate can say; then each frame is judged, and each
//! response by the request that it answers.

#[path = "support/schema.rs"]
mod schema;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossbeam_channel::{Receiver, bounded};
use schema::frame_problems;
use serde_json::{Value, json};
use tinymcp::client::CallOptions;
use tinymcp::method::Direction;
use tinymcp::protocol::{
    Annotations, AudioContent, CacheScope, CallToolResult, Content, EmbeddedResource, Icon, IconTheme,
    ImageContent, Implementation, ResourceContents, ResourceLink, Role, TextContent, ToolAnnotations,
};
use tinymcp::testing::{self, ScriptedPeer};
use tinymcp::tool::Structured;
use tinymcp::transport::{Direction as Way, Tap};
use tinymcp::{
    CancelToken, Client, ErrorObject, FnTool, ProtocolVersion, Server, ToolError, ToolRegistry, json::Object,
};

const LONG: Duration = Duration::from_secs(20);

/// What one side sent.
#[derive(Clone, Default)]
struct Sent(Arc<Mutex<Vec<Value>>>);

impl Tap for Sent {
    fn frame(&self, way: Way, frame: &[u8]) {
        if way == Way::Sent {
            let frame = serde_json::from_slice(frame).expect("we write JSON");
            self.0.lock().expect("no panic").push(frame);
        }
    }
}

impl Sent {
    fn frames(&self) -> Vec<Value> {
        self.0.lock().expect("no panic").clone()
    }
}

/// What is wrong with what both sides said.
fn judge(version: &ProtocolVersion, client: &[Value], server: &[Value]) -> Vec<String> {
    // An id may be used again once it has been answered, so they are matched in order.
    let mut asked: HashMap<String, Vec<String>> = HashMap::new();
    let each = |frames: &[Value]| -> Vec<Value> {
        frames
            .iter()
            .flat_map(|frame| frame.as_array().cloned().unwrap_or_else(|| vec![frame.clone()]))
            .collect()
    };
    for frame in each(client) {
        if let (Some(id), Some(method)) = (frame.get("id"), frame["method"].as_str()) {
            asked.entry(id.to_string()).or_default().insert(0, method.to_owned());
        }
    }
    let mut problems = Vec::new();
    for frame in client {
        problems.extend(frame_problems(version, Direction::ToServer, frame, None).err());
    }
    for frame in each(server) {
        let method = frame.get("id").and_then(|id| asked.get_mut(&id.to_string())).and_then(Vec::pop);
        problems.extend(frame_problems(version, Direction::ToClient, &frame, method.as_deref()).err());
    }
    problems
}

fn object(value: Value) -> Object {
    serde_json::from_value(value).expect("an object")
}

fn icon() -> Icon {
    serde_json::from_value(
        json!({"src": "data:,", "mimeType": "image/png", "sizes": ["any"], "theme": IconTheme::Dark}),
    )
    .expect("an icon")
}

/// Every kind of content with every member.
fn contents() -> Vec<Content> {
    let hints: Annotations = serde_json::from_value(
        json!({"audience": [Role::User], "priority": 0.5, "lastModified": "2026-07-28T00:00:00Z"}),
    )
    .expect("annotations");
    let own = object(json!({"com.example/x": [1]}));
    let mut text = TextContent::new("text");
    text.annotations = Some(hints.clone());
    text.meta = Some(own.clone());
    let mut image = ImageContent::new("AAAA", "image/png");
    image.annotations = Some(hints.clone());
    image.meta = Some(own.clone());
    let mut audio = AudioContent::new("AAAA", "audio/wav");
    audio.annotations = Some(hints.clone());
    audio.meta = Some(own.clone());
    let mut link = ResourceLink::new("file:///a", "a")
        .with_title("A")
        .with_description("About a")
        .with_mime_type("text/plain")
        .with_size(5_u64)
        .with_icons(vec![icon()]);
    link.annotations = Some(hints.clone());
    link.meta = Some(own.clone());
    let embedded = |resource: Value| {
        let resource: ResourceContents = serde_json::from_value(resource).expect("a resource");
        let mut block = EmbeddedResource::new(resource);
        block.annotations = Some(hints.clone());
        block.meta = Some(own.clone());
        block
    };
    vec![
        text.into(),
        image.into(),
        audio.into(),
        link.into(),
        embedded(json!({"uri": "file:///a", "mimeType": "text/plain", "text": "t", "_meta": {"a": 1}}))
            .into(),
        embedded(json!({"uri": "file:///b", "blob": "AAAA", "_meta": {"a": 1}})).into(),
    ]
}

/// Tools that say all that can be said.
fn tools() -> (ToolRegistry, Receiver<()>) {
    let (entered_tx, entered) = bounded(4);
    let schema = || json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let everything = FnTool::new("everything", "Says everything", schema(), |_, cx| {
        for done in [0.5, 1.0, 3.0] {
            cx.progress(done, 3.0, "working");
        }
        let mut result = CallToolResult::default();
        result.content = contents();
        result.meta = Some(object(json!({"com.example/y": true})));
        result
    })
    .title("Everything")
    .annotations(
        ToolAnnotations::default()
            .with_title("Everything")
            .with_read_only(true)
            .with_destructive(false)
            .with_idempotent(true)
            .with_open_world(false),
    )
    .icon(icon());
    let structured =
        FnTool::new("structured", "A structured result", schema(), |_, _| Structured(json!({"n": 1})))
            .output_schema(
                json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
            );
    let list = FnTool::new("list", "A result that is no object", schema(), |_, _| Structured(json!([1, 2])))
        .output_schema(json!({"type": "array", "items": {"type": "integer"}}));
    let null = FnTool::new("null", "A result that is null", schema(), |_, _| Structured(Value::Null));
    let fails = FnTool::new("fails", "Fails", schema(), |_, _| -> Result<(), ToolError> {
        Err(ToolError::new("it failed"))
    });
    let refuses = FnTool::new("refuses", "Refuses", schema(), |_, _| -> Result<(), ToolError> {
        Err(ToolError::protocol(ErrorObject::new(-32000, "no").with_data(json!({"why": [1]}))))
    });
    let panics =
        FnTool::new("panics", "Panics", schema(), |_, _| -> String { panic!("the panic of a test") });
    let waits = FnTool::new("waits", "Waits to be cancelled", schema(), move |_, cx| {
        let _ = entered_tx.send(());
        cx.progress(1.0, None, None);
        let _ = cx.cancel_token().wait_timeout(LONG);
    });
    let tools = ToolRegistry::new();
    for tool in [everything, structured, list, null, fails, refuses, panics, waits] {
        tools.register(tool).expect("a good tool");
    }
    (tools, entered)
}

fn named() -> Implementation {
    let named = json!({
        "name": "judged", "version": "1", "title": "Judged", "description": "Says everything",
        "websiteUrl": "https://example.com", "icons": [icon()]
    });
    serde_json::from_value(named).expect("an implementation")
}

/// A session that uses everything: what the client and the server sent.
fn session(version: &ProtocolVersion, served: &[ProtocolVersion]) -> (Vec<Value>, Vec<Value>) {
    let (from_client, from_server) = (Sent::default(), Sent::default());
    let (tools, entered) = tools();
    let server = Server::builder("judged", "1")
        .info(named())
        .instructions("Ask it everything")
        .tools(tools.clone())
        .versions(served.iter().cloned())
        .page_size(3)
        .cache(Duration::from_secs(60), CacheScope::Public)
        .tap(from_server.clone())
        .build()
        .expect("a server");
    let (changed_tx, changed) = bounded(16);
    let builder = Client::builder()
        .info(named())
        .versions([version.clone()])
        .on_tools_changed(move |_| {
            let _ = changed_tx.try_send(());
        })
        .tap(from_client.clone());
    let client = testing::pair_with(builder, &server).expect("a pair");
    assert_eq!(client.initialize().expect("settled").version, *version);
    assert_eq!(client.list_tools().expect("listed").items.len(), 8);
    let options = CallOptions::default().with_progress(|_| {}).with_meta("com.example/trace", &"t");
    let all = client.call_tool_with("everything", json!({"n": 1}), &options).expect("a result");
    assert_eq!(all.content.len(), contents().len());
    for (name, arguments, is_error) in [
        ("structured", json!({}), false),
        ("list", json!({}), false),
        ("null", json!({}), false),
        ("fails", json!({}), true),
        ("panics", json!({}), true),
        ("everything", json!({"n": "many"}), true),
    ] {
        let result = client.call_tool(name, arguments).expect("a result");
        assert_eq!(result.is_error == Some(true), is_error, "{name}");
    }
    assert!(client.call_tool("refuses", ()).is_err() && client.call_tool("unknown", ()).is_err());
    // Given up in each way.
    let token = CancelToken::new();
    let call = client.start_call("waits", (), &options.clone().with_cancel(&token)).expect("sent");
    entered.recv_timeout(LONG).expect("called");
    token.cancel("enough");
    assert!(call.wait().is_err());
    drop(client.start_call("waits", (), &CallOptions::default()).expect("sent"));
    let short = CallOptions::default().with_timeout(Duration::from_millis(1));
    assert!(client.call_tool_with("waits", (), &short).expect_err("it waits").is_timeout());
    client.ping().expect("alive");
    let bad = [("cursor", "garbage".into())];
    assert!(client.request("tools/list", &bad, &CallOptions::default()).is_err());
    for method in ["resources/list", "resources/templates/list", "prompts/list"] {
        assert_eq!(
            client.request(method, &[], &CallOptions::default()).is_ok(),
            version.is_legacy(),
            "{method}"
        );
    }
    assert!(client.request("prompts/get", &[("name", "x".into())], &CallOptions::default()).is_err());
    tools.remove("null");
    if version.is_legacy() {
        changed.recv_timeout(LONG).expect("told");
    }
    client.close().expect("closed");
    (from_client.frames(), from_server.frames())
}

#[test]
fn everything_said_in_a_session_follows_its_schema() {
    for version in ProtocolVersion::ALL {
        for served in [ProtocolVersion::ALL.to_vec(), vec![version.clone()]] {
            let (client, server) = session(&version, &served);
            let problems = judge(&version, &client, &server);
            assert!(problems.is_empty(), "{}", problems.join("\n\n"));
            // And it was a session worth judging.
            let methods: BTreeSet<_> =
                client.iter().chain(&server).filter_map(|frame| frame["method"].as_str()).collect();
            for method in ["tools/list", "tools/call", "notifications/progress", "notifications/cancelled"] {
                assert!(methods.contains(method), "{version}: no {method}");
            }
            let count = |member: &str| server.iter().filter(|frame| frame.get(member).is_some()).count();
            assert!(count("result") > 10 && count("error") >= 4, "{version}");
        }
    }
}

#[test]
fn what_a_server_says_to_a_broken_client_follows_its_schema() {
    for version in ProtocolVersion::ALL {
        let sent = Sent::default();
        let server = Server::builder("judged", "1").tools(tools().0).tap(sent.clone()).max_frame_bytes(2000);
        let server = server.build().expect("a server");
        let mut client = ScriptedPeer::for_server(&server).with_deadline(LONG);
        let mut said: Vec<Value> = Vec::new();
        let mut ask = |client: &mut ScriptedPeer, frame: Value| {
            client.send_raw(frame.to_string());
            said.push(frame);
            client.expect_frame();
        };
        let params = |mut params: Value| {
            if version.is_modern() {
                params["_meta"] = json!({
                    "io.modelcontextprotocol/protocolVersion": version,
                    "io.modelcontextprotocol/clientCapabilities": {}
                });
            }
            params
        };
        let request = |id: Value, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        if version.is_legacy() {
            let hello = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}});
            ask(&mut client, request(json!("i"), "initialize", hello));
        }
        ask(&mut client, request(json!("a"), "tools/call", params(json!({"name": "structured"}))));
        ask(&mut client, request(json!("b"), "tools/call", params(json!({"name": 5}))));
        ask(&mut client, request(json!("c"), "tools/list", params(json!({"cursor": 5}))));
        ask(&mut client, request(json!("d"), "no/such", params(json!({}))));
        let unserved = json!({"_meta": {
            "io.modelcontextprotocol/protocolVersion": "2099-01-01", "io.modelcontextprotocol/clientCapabilities": {}
        }});
        ask(&mut client, request(json!("e"), "tools/list", unserved));
        for line in [
            "{not json",
            "5",
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":9}",
        ] {
            client.send_raw(line);
            client.expect_frame();
        }
        client.send_raw(" ".repeat(1999) + "{}");
        client.expect_frame();
        if version == ProtocolVersion::V2025_03_26 {
            ask(
                &mut client,
                json!([
                    request(json!("x"), "ping", json!({})),
                    request(json!("y"), "tools/list", json!({})),
                    5
                ]),
            );
        }
        client.close();
        client.expect_end();
        // What the script said is not ours to judge; only which request each response answers.
        let problems: Vec<_> = judge(&version, &said, &sent.frames())
            .into_iter()
            .filter(|problem| !judge(&version, &said, &[]).contains(problem))
            .collect();
        assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    }
}

#[test]
fn a_probing_client_speaks_modern_until_it_knows_better() {
    let sent = Sent::default();
    let server =
        Server::builder("old", "1").versions([ProtocolVersion::V2024_11_05]).build().expect("a server");
    let client =
        testing::pair_with(Client::builder().info(named()).tap(sent.clone()), &server).expect("a pair");
    assert_eq!(client.initialize().expect("settled").version, ProtocolVersion::V2024_11_05);
    client.close().expect("closed");
    let frames = sent.frames();
    // The handshake is in the words of the newest revision it asks for.
    for (frame, version) in frames.iter().zip([ProtocolVersion::V2026_07_28, ProtocolVersion::V2025_11_25]) {
        assert_eq!(frame_problems(&version, Direction::ToServer, frame, None), Ok(()));
    }
    assert_eq!(frames.len(), 3, "{frames:?}");
}

#[test]
fn a_wrong_frame_would_be_found() {
    let modern = ProtocolVersion::V2026_07_28;
    let (client, server) = session(&modern, std::slice::from_ref(&modern));
    assert_eq!(judge(&modern, &client, &server), [""; 0]);
    // One member less, in one frame of many, on either side.
    let damage = |frames: &[Value], pointer: &str, member: &str| {
        let mut frames = frames.to_vec();
        let found =
            frames.iter_mut().find_map(|frame| frame.pointer_mut(pointer)?.as_object_mut()?.remove(member));
        assert!(found.is_some(), "no {pointer}/{member} to damage");
        frames
    };
    for (pointer, member) in [
        ("/result/tools/0", "inputSchema"),
        ("/result/content/1", "mimeType"),
        ("/result", "resultType"),
        ("/result", "ttlMs"),
        ("/error", "code"),
        ("/params", "progressToken"),
    ] {
        assert_eq!(judge(&modern, &client, &damage(&server, pointer, member)).len(), 1, "{pointer}/{member}");
    }
    for (pointer, member) in
        [("/params", "name"), ("/params/_meta", "io.modelcontextprotocol/protocolVersion")]
    {
        assert_eq!(judge(&modern, &damage(&client, pointer, member), &server).len(), 1, "{pointer}/{member}");
    }
    // And what one revision says is wrong in another.
    assert!(!judge(&ProtocolVersion::V2025_11_25, &client, &server).is_empty());
}
