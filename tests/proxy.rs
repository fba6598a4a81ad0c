//! What a program that stands between a server and a client passes on: all that it was told, also what this crate does not
//! know.
//!
//! A scripted server answers with members of its own at every level. Our client reads them, our server tells them to another
//! client, and what arrives is compared with what was sent.

#[path = "support/dialog.rs"]
mod dialog;

use std::thread::{self, JoinHandle};

use crossbeam_channel::unbounded;
use dialog::Dialog;
use serde::Serialize;
use serde_json::{Value, json};
use tinymcp::client::CallOptions;
use tinymcp::protocol::CompletionReference;
use tinymcp::testing::ScriptedPeer;
use tinymcp::{
    Client, ClientHandle, FnPrompt, FnResource, FnTemplate, Message, PromptRegistry, ProtocolVersion,
    ResourceRegistry, Server, ToolRegistry,
};

/// `value` with a member that nobody knows in every object.
fn odd(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(odd).collect(),
        Value::Object(members) => {
            let inside = members.into_iter().map(|(name, value)| match &*name {
                // What a member of these is called is not up to anybody.
                "properties" | "$defs" => (name, value),
                _ => (name, odd(value)),
            });
            let own = json!({"n": 9_007_199_254_740_993_u64, "list": [null, {"deep": 0.1}]});
            inside.chain([("x-odd".to_owned(), own)]).collect()
        }
        other => other,
    }
}

fn meta() -> Value {
    json!({"com.example/m": {"a": [1]}})
}

fn icons() -> Value {
    json!([{"src": "https://example.com/i.png", "mimeType": "image/png", "sizes": ["48x48"]}])
}

/// Every kind of content with all it can have.
fn content() -> Value {
    let hints = json!({"audience": ["user"], "priority": 0.5, "lastModified": "2026-07-28T00:00:00Z"});
    json!([
        {"type": "text", "text": "t", "annotations": hints, "_meta": meta()},
        {"type": "image", "data": "AAAA", "mimeType": "image/png", "annotations": hints, "_meta": meta()},
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav", "annotations": hints, "_meta": meta()},
        {"type": "resource_link", "uri": "odd://a", "name": "a", "size": 1, "icons": icons(), "_meta": meta()},
        {"type": "resource", "annotations": hints, "_meta": meta(),
            "resource": {"uri": "odd://a", "mimeType": "text/plain", "text": "t", "_meta": meta()}},
        {"type": "resource", "resource": {"uri": "odd://a", "blob": "AAAA", "_meta": meta()}},
    ])
}

/// What the server answers to a request of `method`.
fn told(method: &str, version: &ProtocolVersion) -> Value {
    let capabilities = json!({
        "tools": {"listChanged": true}, "prompts": {"listChanged": true}, "completions": {}, "logging": {},
        "resources": {"subscribe": true, "listChanged": true}, "experimental": {"e": {"on": true}},
    });
    let info = json!({"name": "odd", "version": "1", "title": "Odd", "icons": icons()});
    let mut told = odd(match method {
        "initialize" => json!({
            "protocolVersion": version, "capabilities": capabilities, "serverInfo": info,
            "instructions": "none", "_meta": meta()
        }),
        "server/discover" => json!({
            "supportedVersions": [version], "capabilities": capabilities, "instructions": "none",
            "_meta": {"io.modelcontextprotocol/serverInfo": info, "com.example/m": 1}
        }),
        "tools/list" => json!({"tools": [{
            "name": "t", "title": "T", "description": "a tool", "icons": icons(), "_meta": meta(),
            "inputSchema": {
                "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
                "properties": {"a": {"type": "string", "x-own": [1]}}, "$defs": {}, "x-keyword": true
            },
            "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
            "annotations": {"title": "T", "readOnlyHint": true, "openWorldHint": false},
        }]}),
        "tools/call" => {
            json!({"content": content(), "structuredContent": {"n": 1}, "isError": false, "_meta": meta()})
        }
        "resources/list" => json!({"resources": [{
            "uri": "odd://a", "name": "a", "title": "A", "description": "d", "mimeType": "text/plain", "size": 1,
            "icons": icons(), "annotations": {"priority": 1}, "_meta": meta()
        }]}),
        "resources/templates/list" => json!({"resourceTemplates": [{
            "uriTemplate": "odd://x/{name}", "name": "x", "title": "X", "description": "d", "mimeType": "text/plain",
            "icons": icons(), "annotations": {"priority": 0.25}, "_meta": meta()
        }]}),
        "resources/read" => json!({"_meta": meta(), "contents": [
            {"uri": "odd://a", "mimeType": "text/plain", "text": "t", "_meta": meta()},
            {"uri": "odd://a", "mimeType": "image/png", "blob": "AAAA", "_meta": meta()},
        ]}),
        "prompts/list" => json!({"prompts": [{
            "name": "p", "title": "P", "description": "d", "icons": icons(), "_meta": meta(),
            "arguments": [{"name": "a", "title": "A", "description": "d", "required": true}],
        }]}),
        "prompts/get" => json!({"description": "d", "_meta": meta(), "messages":
            content().as_array().expect("an array").iter().map(|block| json!({"role": "user", "content": block}))
                .collect::<Vec<_>>()
        }),
        "completion/complete" => {
            json!({"completion": {"values": ["v"], "total": 5, "hasMore": true}, "_meta": meta()})
        }
        _ => json!({}),
    });
    if version.is_modern() {
        (told["resultType"], told["ttlMs"], told["cacheScope"]) =
            (json!("complete"), json!(0), json!("private"));
    }
    told
}

fn progress(token: &Value) -> Value {
    let mut progress = odd(json!({"progress": 1, "total": 2, "message": "m", "_meta": meta()}));
    progress["progressToken"] = token.clone();
    progress
}

/// The server. It ends when it is asked for `x/end`.
fn serve(mut peer: ScriptedPeer, version: ProtocolVersion) -> JoinHandle<()> {
    thread::spawn(move || {
        loop {
            let Message::Request(request) = peer.expect() else { continue };
            let params = request.params.as_ref().map(|params| params.to_value()).unwrap_or_default();
            let token = &params["_meta"]["progressToken"];
            if !token.is_null() {
                peer.notify("notifications/progress", progress(token));
                peer.notify("notifications/com.example", odd(json!({"_meta": meta()})));
            }
            peer.respond(&request.id, told(&request.method, &version));
            if request.method == "x/end" {
                return;
            }
        }
    })
}

/// `value` as JSON, without what each server says for itself.
fn plain(value: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(value).expect("JSON");
    for name in ["resultType", "ttlMs", "cacheScope"] {
        value.as_object_mut().map(|members| members.remove(name));
    }
    if let Some(meta) = value.get_mut("_meta").and_then(Value::as_object_mut) {
        meta.remove("io.modelcontextprotocol/serverInfo");
    }
    // A number is the same however it is written.
    fn normal(value: &mut Value) {
        match value {
            Value::Number(n) if n.as_f64().is_some_and(|n| n.fract() == 0.0 && n.abs() < 1e9) => {
                *value = json!(n.as_f64());
            }
            Value::Array(items) => items.iter_mut().for_each(normal),
            Value::Object(members) => members.values_mut().for_each(normal),
            _ => {}
        }
    }
    normal(&mut value);
    value
}

#[track_caller]
fn same(what: &str, came: &impl Serialize, sent: &Value) {
    let (came, sent) = (plain(came), plain(sent));
    assert!(came == sent, "{what}: sent {sent:#}\ncame {came:#}");
}

const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28];

/// A client of the odd server, and that server.
fn connected(version: &ProtocolVersion, builder: tinymcp::client::ClientBuilder) -> (Client, JoinHandle<()>) {
    let (client, peer) = ScriptedPeer::for_client(builder.versions([version.clone()])).expect("a client");
    (client, serve(peer, version.clone()))
}

#[test]
fn a_client_keeps_what_it_does_not_know() {
    for version in &VERSIONS {
        let (heard, notes) = unbounded();
        let builder = Client::builder().no_cache().on_notification(move |method, params| {
            let params = params.map(|params| params.to_value()).unwrap_or_default();
            let _ = heard.send((method.to_owned(), params));
        });
        let (client, server) = connected(version, builder);
        let sent = |method: &str| told(method, version);
        let identity = client.initialize().expect("settled");
        let hello = sent(if version.is_modern() { "server/discover" } else { "initialize" });
        same("capabilities", &identity.capabilities, &hello["capabilities"]);
        let name = if version.is_modern() {
            same("discover", &client.discover(&CallOptions::default()).expect("discovered"), &hello);
            &hello["_meta"]["io.modelcontextprotocol/serverInfo"]
        } else {
            &hello["serverInfo"]
        };
        same("the name of the server", &identity.info, name);
        same("tools", &client.list_tools().expect("listed").items, &sent("tools/list")["tools"]);
        same(
            "resources",
            &client.list_resources().expect("listed").items,
            &sent("resources/list")["resources"],
        );
        same(
            "templates",
            &client.list_resource_templates().expect("listed").items,
            &sent("resources/templates/list")["resourceTemplates"],
        );
        same("prompts", &client.list_prompts().expect("listed").items, &sent("prompts/list")["prompts"]);
        same("a reading", &client.read_resource("odd://a").expect("read"), &sent("resources/read"));
        same("a prompt", &client.get_prompt("p", ()).expect("filled in"), &sent("prompts/get"));
        let completed = client.complete(CompletionReference::prompt("p"), "a", "", ()).expect("completed");
        same("proposals", &completed, &sent("completion/complete"));
        let (tell, reports) = unbounded();
        let options =
            CallOptions::default().with_progress(move |progress| tell.send(plain(progress)).expect("kept"));
        same("a call", &client.call_tool_with("t", (), &options).expect("called"), &sent("tools/call"));
        let report = reports.try_recv().expect("a report");
        same("progress", &report, &progress(&report["progressToken"]));
        let (method, params) =
            notes.recv_timeout(std::time::Duration::from_secs(20)).expect("a notification");
        assert_eq!(method, "notifications/com.example");
        same("a notification", &params, &odd(json!({"_meta": meta()})));
        client.request("x/end", &[], &CallOptions::default()).expect("ended");
        server.join().expect("no panic");
    }
}

/// A server that has what the server of `client` has.
fn proxy(client: &ClientHandle) -> Server {
    let asks = |client: &ClientHandle| client.clone();
    let (tools, resources, prompts) = (ToolRegistry::new(), ResourceRegistry::new(), PromptRegistry::new());
    for tool in client.discover_tools().expect("listed") {
        tools.register(tool).expect("registered");
    }
    for resource in client.list_resources().expect("listed") {
        let (client, uri) = (asks(client), resource.uri.clone());
        let resource = FnResource::new(resource, move |_| client.read_resource(&uri));
        resources.register(resource).expect("registered");
    }
    for template in client.list_resource_templates().expect("listed") {
        let (client, at) = (asks(client), asks(client));
        let reference = CompletionReference::resource(&*template.uri_template);
        let template = FnTemplate::new(template, move |_, _| at.read_resource("odd://a"));
        let complete = move |typed: &str, _: &_, _: &_| {
            client.complete(reference.clone(), "name", typed, ()).map(|found| found.completion)
        };
        resources.register_template(template.complete("name", complete)).expect("registered");
    }
    for prompt in client.list_prompts().expect("listed") {
        let (client, name) = (asks(client), prompt.name.clone());
        let prompt = FnPrompt::new(prompt, move |arguments, _| client.get_prompt(&name, arguments.as_map()));
        prompts.register(prompt).expect("registered");
    }
    let proxy = Server::builder("proxy", "1").tools(tools).resources(resources).prompts(prompts);
    proxy.build().expect("a server")
}

#[test]
fn a_proxy_passes_on_what_it_does_not_know() {
    for version in &VERSIONS {
        let (client, server) = connected(version, Client::builder().no_cache());
        let proxy = proxy(&client);
        let mut dialog = Dialog::open(&proxy, version);
        for (method, member) in [
            ("tools/list", "tools"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
            ("prompts/list", "prompts"),
        ] {
            same(method, &dialog.ask(method, json!({})).result()[member], &told(method, version)[member]);
        }
        for (method, params) in [
            ("tools/call", json!({"name": "t", "arguments": {"a": "b"}})),
            ("resources/read", json!({"uri": "odd://a"})),
            ("prompts/get", json!({"name": "p", "arguments": {"a": "b"}})),
        ] {
            same(method, &dialog.ask(method, params).result(), &told(method, version));
        }
        let params = json!({
            "ref": {"type": "ref/resource", "uri": "odd://x/{name}"}, "argument": {"name": "name", "value": ""}
        });
        let completed = dialog.ask("completion/complete", params).result();
        let sent = told("completion/complete", version);
        same("completion", &completed["completion"], &sent["completion"]);
        drop(dialog);
        client.request("x/end", &[], &CallOptions::default()).expect("ended");
        server.join().expect("no panic");
    }
}
