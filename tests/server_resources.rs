//! Listing and reading resources, in every revision and over the wire.

#[cfg(feature = "validation")]
#[path = "support/schema.rs"]
mod schema;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tinymcp::protocol::{
    Annotations, CacheScope, ElicitParams, Icon, PrimitiveSchema, ReadResourceResult, RequestedSchema,
    Resource, ResourceContents, ResourceTemplate, TextResourceContents, Variables,
};
use tinymcp::resource::NotFound;
use tinymcp::testing::ScriptedPeer;
use tinymcp::{
    CancelToken, Context, ErrorObject, FnResource, FnTemplate, ProtocolVersion, ResourceRegistry, Server,
    ToolError,
};

fn meta() -> Value {
    json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
           "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}})
}

/// A client of `version` that has introduced itself, if its era does that.
struct Peer {
    peer: ScriptedPeer,
    version: ProtocolVersion,
    capabilities: Value,
    last: i64,
}

impl Peer {
    fn new(server: &Server, version: &ProtocolVersion) -> Self {
        let peer = ScriptedPeer::for_server(server);
        let mut peer = Self { peer, version: version.clone(), capabilities: Value::Null, last: 0 };
        let hello = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
        let hello = if version.is_legacy() {
            peer.ask("initialize", hello)
        } else {
            peer.ask("server/discover", json!({}))
        };
        peer.capabilities = hello.expect("an answer")["capabilities"].take();
        peer
    }

    /// Sends a request and returns its id.
    fn send(&mut self, method: &str, mut params: Value) -> i64 {
        if self.version.is_modern() {
            params["_meta"] = meta();
        }
        self.last += 1;
        self.peer.request(self.last, method, params);
        self.last
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<Value, ErrorObject> {
        let id = self.send(method, params);
        let message: Value = serde_json::from_str(&self.peer.expect_frame()).expect("JSON");
        assert_eq!(message["id"], id, "{message}");
        #[cfg(feature = "validation")]
        schema::check_frame(&self.version, tinymcp::method::Direction::ToClient, &message, Some(method));
        match message.get("error") {
            Some(error) => Err(serde_json::from_value(error.clone()).expect("an error")),
            None => Ok(message["result"].clone()),
        }
    }

    fn read(&mut self, uri: &str) -> Result<Value, ErrorObject> {
        self.ask("resources/read", json!({"uri": uri}))
    }

    fn uris(&mut self, cursor: Option<&str>) -> (Vec<String>, Option<String>) {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let page = self.ask("resources/list", params).expect("a page");
        let items = page["resources"].as_array().expect("a list");
        let uris = items.iter().map(|item| item["uri"].as_str().expect("a URI").to_owned());
        (uris.collect(), page["nextCursor"].as_str().map(str::to_owned))
    }
}

fn server(resources: ResourceRegistry) -> Server {
    Server::builder("library", "1").resources(resources).page_size(3).build().expect("a server")
}

fn plain(uri: &str) -> FnResource {
    FnResource::text(Resource::new(uri, "plain"), format!("text of {uri}"))
}

/// Everything that can be registered.
fn library() -> ResourceRegistry {
    let config = Resource::new("config://app", "config")
        .with_title("Configuration")
        .with_description("How it is set up")
        .with_mime_type("application/json")
        .with_annotations(Annotations::default().with_priority(0.5))
        .with_icons(vec![Icon::new("https://example.com/i.png")]);
    let folder = |_: &Context| -> Vec<ResourceContents> {
        let part = TextResourceContents::new("files://inbox/a", "A").with_mime_type("text/markdown");
        vec![part.into(), ResourceContents::text("", "B")]
    };
    let resources = ResourceRegistry::new();
    for resource in [
        FnResource::text(config, "{}").cache(Duration::from_secs(60), CacheScope::Public),
        FnResource::bytes(Resource::new("logo://app", "logo").with_mime_type("image/png"), &[0, 1, 2]),
        FnResource::new(Resource::new("files://inbox", "inbox").with_mime_type("text/plain"), folder),
        FnResource::new(Resource::new("who://asks", "who"), |cx| format!("{}", cx.protocol_version())),
        FnResource::new(Resource::new("raw://result", "raw"), |_| {
            ReadResourceResult::blob("raw://result", b"x").with_ttl_ms(7_u64)
        }),
        FnResource::new(Resource::new("bad://io", "bad"), |_| -> Result<String, std::io::Error> {
            Err(std::io::Error::other("disk full"))
        }),
        FnResource::new(Resource::new("bad://panic", "bad"), |_| -> String { panic!("a secret") }),
        FnResource::new(Resource::new("gone://none", "gone"), |_| None::<String>),
        FnResource::new(Resource::new("gone://theirs", "gone"), |_| -> Result<String, ToolError> {
            Err(ToolError::protocol(ErrorObject::new(-32002, "theirs is gone")))
        }),
        FnResource::new(Resource::new("ask://name", "ask"), |cx| -> Result<String, ToolError> {
            let form =
                ElicitParams::form("Who?", RequestedSchema::new().required("name", PrimitiveSchema::text()));
            let answer: Option<Value> = cx.elicit("who", form)?.content_as()?;
            Ok(answer.unwrap_or_default()["name"].to_string())
        }),
    ] {
        resources.register(resource).expect("registered");
    }
    let note = ResourceTemplate::new("notes://{title}", "note").with_mime_type("text/markdown");
    let note = FnTemplate::new(note, |variables: &Variables, _: &Context| match variables.get("title") {
        Some("panic") => panic!("a secret"),
        Some(title) if title.starts_with("no") => Err(NotFound::new(format_args!("Note not found: {title}"))),
        title => Ok(title.unwrap_or_default().to_owned()),
    });
    resources.register_template(note.cache(Duration::from_secs(1), CacheScope::Private)).expect("registered");
    resources
}

#[test]
fn everything_is_read_in_every_revision() {
    let server = server(library());
    for version in ProtocolVersion::ALL {
        let mut peer = Peer::new(&server, &version);
        assert!(peer.capabilities["resources"].is_object(), "{version}");
        let modern = version.is_modern();
        for (uri, contents, ttl, scope) in [
            (
                "config://app",
                json!([{"uri": "config://app", "text": "{}", "mimeType": "application/json"}]),
                60_000,
                "public",
            ),
            // The same address, and the answer has it as it was asked for.
            (
                "config://%61pp",
                json!([{"uri": "config://%61pp", "text": "{}", "mimeType": "application/json"}]),
                60_000,
                "public",
            ),
            (
                "logo://app",
                json!([{"uri": "logo://app", "blob": "AAEC", "mimeType": "image/png"}]),
                0,
                "private",
            ),
            (
                "files://inbox",
                json!([{"uri": "files://inbox/a", "text": "A", "mimeType": "text/markdown"},
                       {"uri": "files://inbox", "text": "B", "mimeType": "text/plain"}]),
                0,
                "private",
            ),
            ("who://asks", json!([{"uri": "who://asks", "text": version}]), 0, "private"),
            ("raw://result", json!([{"uri": "raw://result", "blob": "eA=="}]), 7, "private"),
            (
                "notes://to%20do",
                json!([{"uri": "notes://to%20do", "text": "to do", "mimeType": "text/markdown"}]),
                1000,
                "private",
            ),
        ] {
            let read = peer.read(uri).unwrap_or_else(|e| panic!("{version} {uri}: {e}"));
            assert_eq!(read["contents"], contents, "{version} {uri}");
            let hints = (read.get("ttlMs"), read.get("cacheScope"), read.get("resultType"));
            if modern {
                assert_eq!(
                    hints,
                    (Some(&json!(ttl)), Some(&json!(scope)), Some(&json!("complete"))),
                    "{uri}"
                );
            } else {
                assert_eq!(hints, (None, None, None), "{version} {uri}");
            }
        }
        let missing = if modern { -32602 } else { -32002 };
        for (uri, code, message) in [
            ("gone://none", missing, "resource not found: gone://none"),
            ("gone://theirs", missing, "theirs is gone"),
            ("notes://nothing", missing, "Note not found: nothing"),
            ("never://heard", missing, "resource not found: never://heard"),
            ("bad://io", -32603, "disk full"),
            ("bad://panic", -32603, "resource `bad://panic` panicked"),
            ("notes://panic", -32603, "resource `notes://{title}` panicked"),
        ] {
            let error = peer.read(uri).expect_err(uri);
            assert_eq!((error.code, error.message.as_str()), (code, message), "{version}");
            let data = (code == missing).then(|| json!({"uri": uri}));
            assert_eq!(error.data.map(|data| data.to_value()), data, "{version} {uri}");
        }
        assert_eq!(peer.ask("resources/read", json!({})).expect_err("no URI").code, -32602);
    }
}

#[test]
fn descriptions_are_what_the_revision_knows() {
    let server = Server::builder("library", "1").resources(library()).build().expect("a server");
    for version in ProtocolVersion::ALL {
        let mut peer = Peer::new(&server, &version);
        let page = peer.ask("resources/list", json!({"cursor": null})).expect("a page");
        let listed = &page["resources"];
        let config = listed.as_array().expect("a list").iter().find(|item| item["uri"] == "config://app");
        let config = config.expect("listed").clone();
        assert_eq!(
            (&config["size"], &config["annotations"]),
            (&json!(2), &json!({"priority": 0.5})),
            "{version}"
        );
        assert_eq!(config.get("title").is_some(), version >= ProtocolVersion::V2025_06_18, "{version}");
        assert_eq!(config.get("icons").is_some(), version >= ProtocolVersion::V2025_11_25, "{version}");
        let templates = peer.ask("resources/templates/list", json!({})).expect("a page");
        let note = json!([{"uriTemplate": "notes://{title}", "name": "note", "mimeType": "text/markdown"}]);
        assert_eq!(templates["resourceTemplates"], note);
        assert_eq!(templates.get("ttlMs").is_some(), version.is_modern());
        for method in ["resources/list", "resources/templates/list"] {
            let error = peer.ask(method, json!({"cursor": "x"})).expect_err("no cursor");
            assert_eq!((error.code, error.message.as_str()), (-32602, "invalid cursor: x"));
        }
    }
}

#[test]
fn a_read_may_ask_its_client() {
    let server = server(library());
    let mut peer = Peer::new(&server, &ProtocolVersion::V2026_07_28);
    let first = peer.read("ask://name").expect("a question");
    assert_eq!(first["resultType"], "input_required");
    assert!(first["inputRequests"]["who"].is_object() && first.get("ttlMs").is_none(), "{first}");
    let again = json!({"uri": "ask://name", "requestState": first["requestState"],
                       "inputResponses": {"who": {"action": "accept", "content": {"name": "Ada"}}}});
    let read = peer.ask("resources/read", again).expect("contents");
    assert_eq!(read["contents"][0]["text"], "\"Ada\"");
    // The state is that of another address.
    let other = peer.read("ask://name").expect("a question");
    let foreign = json!({"uri": "who://asks", "requestState": other["requestState"]});
    assert_eq!(peer.ask("resources/read", foreign).expect_err("foreign").code, -32602);
}

#[test]
fn hostile_addresses_reach_no_handler() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let path = runs.clone();
    let resources = ResourceRegistry::new()
        .with_template(FnTemplate::new(ResourceTemplate::new("notes://{title}", "note"), move |_, _| {
            counted.fetch_add(1, Ordering::SeqCst);
            "read"
        }))
        .and_then(|resources| {
            resources.with_template(FnTemplate::new(
                ResourceTemplate::new("file:///srv/{+path}", "file"),
                move |_, _| {
                    path.fetch_add(1, Ordering::SeqCst);
                    "read"
                },
            ))
        })
        .expect("registered");
    let server = server(resources);
    let long = format!("notes://{}", "a".repeat(8 * 1024));
    for version in [ProtocolVersion::V2024_11_05, ProtocolVersion::V2026_07_28] {
        let mut peer = Peer::new(&server, &version);
        for uri in [
            "",
            "notes",
            "notes:",
            "notes://",
            "Notes://a",
            "notes://a/b",
            "notes://..",
            "notes://.",
            "notes://%2e%2e",
            "notes://%2E.",
            "notes://a%2Fb",
            "notes://..%2f..%2fetc%2Fpasswd",
            "notes://a%5Cb",
            "notes://a\\b",
            "notes://a%00",
            "notes://a\0b",
            "notes://%0a",
            "notes://%C0%AE%C0%AE",
            "notes://%c0%af",
            "notes://%ff",
            "notes://%ED%A0%80",
            "notes://a%",
            "notes://a%4",
            "notes://a%zz",
            "notes://a?b",
            "notes://a#b",
            "file:///srv/../etc/passwd",
            "file:///srv/a/%2e%2e/b",
            "file:///srv//etc/passwd",
            "file:///srv/a%2F..%2Fb",
            "file:///srv/a%5C..%5Cb",
            "file:///srv/",
            "file:///srv/a/..",
            "file:///srv/a%00b",
        ] {
            let error = peer.read(uri).expect_err(uri);
            let missing = if version.is_modern() { -32602 } else { -32002 };
            assert_eq!((error.code, &error.data.expect("data").to_value()["uri"]), (missing, &json!(uri)));
        }
        let error = peer.read(&long).expect_err("too long");
        assert_eq!(error.message, "params.uri: 8200 bytes, at most 8192 are allowed");
        assert_eq!((error.code, error.data.is_none()), (-32602, true));
        for not_text in [json!(1), json!(null), json!(["notes://a"]), json!({"title": "a"})] {
            assert_eq!(
                peer.ask("resources/read", json!({"uri": not_text})).expect_err("no text").code,
                -32602
            );
        }
        assert_eq!(runs.load(Ordering::SeqCst), 0);
        // Encoded once too often, it is only a name.
        assert_eq!(peer.read("notes://%252e%252e").expect("a name")["contents"][0]["text"], "read");
        assert_eq!(runs.swap(0, Ordering::SeqCst), 1);
    }
}

#[test]
fn pages_are_stable_while_resources_come_and_go() {
    let listed = |uris: &'static [&'static str]| {
        move |_: &Context| Ok(uris.iter().map(|uri| Resource::new(*uri, "of a template")).collect())
    };
    let resources = ResourceRegistry::new();
    for uri in ["m:d", "m:b", "m:f", "m:h"] {
        resources.register(plain(uri)).expect("registered");
    }
    let template =
        FnTemplate::new(ResourceTemplate::new("m:{x}", "m").with_mime_type("text/plain"), |_, _| "x");
    // A registered one hides a listed one, and what is no address is left out.
    let template = template.list(listed(&["m:g", "m:a", "m:c", "m:b", "no address"]));
    resources.register_template(template).expect("registered");
    let server = server(resources.clone());
    let mut peer = Peer::new(&server, &ProtocolVersion::LATEST_LEGACY);
    let (first, cursor) = peer.uris(None);
    assert_eq!(first, ["m:a", "m:b", "m:c"]);
    resources.remove("m:%64").expect("the same as m:d");
    resources.register(plain("m:aa")).expect("registered");
    resources.register(plain("m:e")).expect("registered");
    let (second, cursor) = peer.uris(cursor.as_deref());
    assert_eq!(second, ["m:e", "m:f", "m:g"]);
    let (third, cursor) = peer.uris(cursor.as_deref());
    assert_eq!((third, cursor), (vec!["m:h".to_owned()], None));
    assert_eq!(resources.uris(), ["m:aa", "m:b", "m:e", "m:f", "m:h"]);

    let page = resources.list(None, 0, &Context::detached()).expect("a page");
    assert_eq!((page.items.len(), page.items[0].mime_type.as_deref()), (1, Some("text/plain")));
    resources
        .register_template(
            FnTemplate::new(ResourceTemplate::new("n:{x}", "n"), |_, _| "x").list(|_| panic!("a secret")),
        )
        .expect("registered");
    let error = peer.ask("resources/list", json!({})).expect_err("a panic");
    assert_eq!((error.code, error.message.as_str()), (-32603, "the list of `n:{x}` panicked"));
}

#[test]
fn templates_page_too() {
    let resources = ResourceRegistry::new();
    for at in 0..7 {
        let template = FnTemplate::new(ResourceTemplate::new(format!("t{at}:{{x}}"), "t"), |_, _| "x");
        resources.register_template(template).expect("registered");
    }
    let server = server(resources.clone());
    let mut peer = Peer::new(&server, &ProtocolVersion::LATEST);
    let (mut cursor, mut seen) = (None::<String>, Vec::new());
    loop {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let page = peer.ask("resources/templates/list", params).expect("a page");
        seen.push(page["resourceTemplates"].as_array().expect("a list").len());
        cursor = page["nextCursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, [3, 3, 1]);
    assert_eq!(resources.uri_templates().len(), 7);
}

#[test]
fn a_handler_that_waits_delays_nobody() {
    let gate = CancelToken::new();
    let (waits, lists) = (gate.clone(), gate.clone());
    let slow = FnResource::new(Resource::new("slow://one", "slow"), move |_| {
        if waits.wait_timeout(Duration::from_secs(60)) { "opened" } else { "forgotten" }
    });
    let listed = FnTemplate::new(ResourceTemplate::new("slow://{x}/y", "slow"), |_, _| "x").list(move |_| {
        let _ = lists.wait_timeout(Duration::from_secs(60));
        Ok(vec![])
    });
    let resources =
        ResourceRegistry::new().with(slow).expect("registered").with(plain("a:a")).expect("registered");
    let server = server(resources.with_template(listed).expect("registered"));
    let mut peer = Peer::new(&server, &ProtocolVersion::LATEST_LEGACY);
    // Dense enough for the reading thread to take work on itself.
    for _ in 0..200 {
        peer.read("a:a").expect("contents");
    }
    let slow = peer.send("resources/read", json!({"uri": "slow://one"}));
    let list = peer.send("resources/list", json!({}));
    assert_eq!(peer.ask("ping", json!({})).expect("a pong"), json!({}));
    assert_eq!(peer.read("a:a").expect("contents")["contents"][0]["text"], "text of a:a");
    gate.cancel("open");
    let mut ids: Vec<Value> = (0..2)
        .map(|_| serde_json::from_str::<Value>(&peer.peer.expect_frame()).expect("JSON")["id"].clone())
        .collect();
    ids.sort_by_key(Value::as_i64);
    assert_eq!(ids, [json!(slow), json!(list)]);
}

#[test]
fn variables_are_completed() {
    let template = FnTemplate::new(ResourceTemplate::new("t://{country}/{city}", "t"), |_, _| "x")
        .complete_from("country", ["France", "Finland", "Peru"])
        .complete("city", |typed, known, _| match known.get("country") {
            Some("France") => vec![format!("{typed}aris")],
            _ => panic!("a secret"),
        });
    let resources = ResourceRegistry::new().with_template(template).expect("registered");
    let bare = server(library());
    let server = server(resources);
    for version in ProtocolVersion::ALL {
        let declares = |peer: &Peer| peer.capabilities.get("completions").is_some();
        let mut peer = Peer::new(&server, &version);
        assert_eq!(declares(&peer), version >= ProtocolVersion::V2025_03_26, "{version}");
        assert!(!declares(&Peer::new(&bare, &version)));
        let mut ask = |uri: &str, name: &str, value: &str, known: Value| {
            let params = json!({"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": name, "value": value},
                                "context": {"arguments": known}});
            peer.ask("completion/complete", params).map(|result| result["completion"]["values"].clone())
        };
        let template = "t://{country}/{city}";
        assert_eq!(
            ask(template, "country", "f", json!({})).expect("proposals"),
            json!(["France", "Finland"])
        );
        assert_eq!(
            ask(template, "city", "P", json!({"country": "France"})).expect("proposals"),
            json!(["Paris"])
        );
        assert_eq!(ask(template, "other", "P", json!({})).expect("proposals"), json!([]));
        let error = ask(template, "city", "P", json!({})).expect_err("a panic");
        assert_eq!((error.code, error.message.contains("secret")), (-32603, false), "{error}");
        assert_eq!(ask("t://{other}", "city", "P", json!({})).expect_err("unknown").code, -32602);
    }
}

#[test]
fn a_server_without_resources_says_so() {
    let server = Server::builder("tools only", "1").build().expect("a server");
    let mut modern = Peer::new(&server, &ProtocolVersion::LATEST);
    assert!(modern.capabilities.get("resources").is_none() && server.resources().is_none());
    assert_eq!(modern.read("a:a").expect_err("no such method").code, -32601);
    // Served: the one given last.
    let server = Server::builder("s", "1").resources(ResourceRegistry::new());
    let server = server.resources(ResourceRegistry::new().with(plain("a:a")).expect("registered")).build();
    let server = server.expect("a server");
    server.resources().expect("given").register(plain("a:b")).expect("registered");
    let mut peer = Peer::new(&server, &ProtocolVersion::LATEST);
    assert_eq!(peer.uris(None).0, ["a:a", "a:b"]);
}
