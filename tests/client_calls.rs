//! What a client asks of a server beside tools, in every revision; the servers are scripted.

#[path = "support/scripted.rs"]
mod scripted;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use scripted::{
    MODERN, answer, answer_plain, connected, during, everything, expect_nothing, greet, next, several,
};
use serde_json::{Value, json};
use tinymcp::client::{CallOptions, ClientBuilder, TraceContext};
use tinymcp::protocol::{CompletionReference, LogLevel};
use tinymcp::testing::ScriptedPeer;
use tinymcp::{CancelToken, Client, Error, ErrorObject, ProtocolVersion};

const LEVEL: &str = "io.modelcontextprotocol/logLevel";

fn client(version: &ProtocolVersion) -> (Client, ScriptedPeer) {
    connected(Client::builder(), version, &everything())
}

fn revisions() -> Vec<ProtocolVersion> {
    ProtocolVersion::ALL.to_vec()
}

#[test]
fn every_list_is_read_to_its_end_in_every_revision() {
    for version in revisions() {
        let (client, mut server) = client(&version);
        macro_rules! check {
            ($list:ident, $method:literal, $member:literal, $key:literal, $field:ident, $extra:tt) => {
                let item = |value: &str| {
                    let mut item = json!($extra);
                    item[$key] = json!(value);
                    item
                };
                let pages = [
                    json!({$member: [item("a:1"), {"title": "odd"}], "nextCursor": ""}),
                    json!({$member: [item("a:2")]}),
                ];
                let list = during(
                    || client.$list(),
                    || {
                        assert_eq!(answer_plain(&mut server, $method, pages[0].clone()), json!({}));
                        assert_eq!(answer_plain(&mut server, $method, pages[1].clone()), json!({"cursor": ""}));
                    },
                );
                let list = list.unwrap_or_else(|e| panic!("{version}: {e}"));
                assert_eq!(list.rejected.len(), 1, "{version}");
                let keys: Vec<_> = list.into_iter().map(|item| item.$field).collect();
                assert_eq!(keys, ["a:1", "a:2"], "{version}");
            };
        }
        check!(list_tools, "tools/list", "tools", "name", name, {"inputSchema": {"type": "object"}});
        check!(list_resources, "resources/list", "resources", "uri", uri, {"name": "n"});
        check!(
            list_resource_templates,
            "resources/templates/list",
            "resourceTemplates",
            "uriTemplate",
            uri_template,
            {"name": "n"}
        );
        check!(list_prompts, "prompts/list", "prompts", "name", name, {});
    }
}

#[test]
fn what_is_not_declared_is_not_asked_for() {
    for version in revisions() {
        let (client, mut server) = connected(Client::builder(), &version, &json!({}));
        let refused = |name: &str, outcome: Result<(), Error>| {
            let error = outcome.expect_err(name);
            assert!(matches!(error, Error::Unsupported(_)), "{version} {name}: {error}");
            let text = error.to_string();
            assert!(text.contains(name) && text.contains(version.as_str()), "{version} {name}: {text}");
        };
        refused("resources", client.list_resources().map(drop));
        refused("resources", client.list_resource_templates().map(drop));
        refused("resources", client.read_resource("a:b").map(drop));
        refused("prompts", client.list_prompts().map(drop));
        refused("prompts", client.get_prompt("p", ()).map(drop));
        refused("logging", client.set_log_level(LogLevel::Info));
        let mut pages = client.resource_pages(&CallOptions::default());
        refused("resources", pages.next().expect("an error").map(drop));
        assert!(pages.next().is_none());
        let complete = || client.complete(CompletionReference::prompt("p"), "a", "", ());
        let found = json!({"completion": {"values": ["x"]}});
        if version == ProtocolVersion::V2024_11_05 {
            // No server of that revision could declare it.
            let found = during(complete, || drop(answer(&mut server, "completion/complete", found)));
            assert_eq!(found.expect("answered").completion.values, ["x"]);
        } else {
            refused("completions", complete().map(drop));
        }
        if version.is_legacy() {
            refused("server/discover", client.discover(&CallOptions::default()).map(drop));
        }
        // Tools are asked for anyway, and by hand everything is.
        let tools = || client.list_tools();
        during(tools, || drop(answer(&mut server, "tools/list", json!({"tools": []})))).expect("listed");
        let by_hand = || client.request("resources/list", &[], &CallOptions::default());
        during(by_hand, || drop(answer(&mut server, "resources/list", json!({})))).expect("answered");
    }
}

#[test]
fn icons_that_must_not_be_loaded_are_left_out() {
    let icons = |all: &[&str]| all.iter().map(|src| json!({"src": src})).collect::<Vec<_>>();
    let mixed =
        icons(&["https://example.com/a", "javascript:alert(1)", "data:image/png;base64,AA", "http://a"]);
    for version in [ProtocolVersion::V2025_11_25, MODERN] {
        let (client, mut server) = client(&version);
        let page = json!({"prompts": [
            {"name": "mixed", "icons": mixed}, {"name": "bad", "icons": icons(&["file:///etc/passwd"])}
        ]});
        let list = during(|| client.list_prompts(), || drop(answer(&mut server, "prompts/list", page)));
        let list = list.expect("listed");
        let left = list.items[0].icons.as_ref().expect("two are left");
        assert_eq!(
            left.iter().map(|icon| icon.src.as_str()).collect::<Vec<_>>(),
            ["https://example.com/a", "data:image/png;base64,AA"]
        );
        assert_eq!(list.items[1].icons, None);
        let identity = client.initialize().expect("known");
        let own = identity.info.as_ref().and_then(|info| info.icons.as_ref()).expect("one is left");
        assert_eq!(
            own.iter().map(|icon| icon.src.as_str()).collect::<Vec<_>>(),
            ["https://example.com/a.png"]
        );
    }
}

#[test]
fn pages_are_asked_for_when_they_are_needed() {
    let (client, mut server) = client(&MODERN);
    let mut pages = client.resource_pages(&CallOptions::default());
    expect_nothing(&client, &mut server);
    let page = |uri: &str, next: &str| json!({"resources": [{"uri": uri, "name": "n"}], "nextCursor": next});
    for (uri, cursor, next) in [("a:1", Value::Null, "2"), ("a:2", json!("2"), "3")] {
        let got = during(
            || pages.next(),
            || assert_eq!(answer(&mut server, "resources/list", page(uri, next))["cursor"], cursor),
        );
        assert_eq!(got.expect("a page").expect("good").items[0].uri, uri);
        expect_nothing(&client, &mut server);
    }
    let got = during(|| pages.next(), || drop(answer(&mut server, "resources/list", page("a:3", "2"))));
    let error = got.expect("an error").expect_err("a loop");
    assert!(matches!(error, Error::Protocol(_)) && error.to_string().contains("\"2\""), "{error}");
    assert!(pages.next().is_none());
    expect_nothing(&client, &mut server);
}

#[test]
fn a_list_whose_cursor_is_refused_is_begun_again_once() {
    let page = |name: &str, next: Value| json!({"prompts": [{"name": name}], "nextCursor": next});
    let refuse = |server: &mut ScriptedPeer| {
        let request = server.expect_request("prompts/list");
        server.respond_error(&request.id, ErrorObject::new(-32602, "unknown cursor"));
    };
    for version in [ProtocolVersion::V2025_06_18, MODERN] {
        let (client, mut server) = client(&version);
        let list = during(
            || client.list_prompts(),
            || {
                answer(&mut server, "prompts/list", page("old", json!("x")));
                refuse(&mut server);
                answer(&mut server, "prompts/list", page("new", Value::Null));
            },
        );
        let names: Vec<_> = list.expect("listed").into_iter().map(|prompt| prompt.name).collect();
        assert_eq!(names, ["new"]);
        let twice = during(
            || client.list_prompts(),
            || {
                for _ in 0..2 {
                    answer(&mut server, "prompts/list", page("a", json!("x")));
                    refuse(&mut server);
                }
            },
        );
        assert_eq!(twice.expect_err("twice").peer_error().expect("the server's").code, -32602);
        // Without a cursor it is the request itself that is wrong.
        assert!(during(|| client.list_prompts(), || refuse(&mut server)).is_err());
        expect_nothing(&client, &mut server);
    }
}

#[test]
fn resources_are_read_or_not_found() {
    for version in revisions() {
        let (client, mut server) = client(&version);
        let contents = json!({"contents": [{"uri": "a:b", "text": "hi"}, {"uri": "a:c", "blob": "AAEC"}]});
        let read = during(
            || client.read_resource("a:b"),
            || assert_eq!(answer_plain(&mut server, "resources/read", contents), json!({"uri": "a:b"})),
        );
        let read = read.expect("read");
        assert_eq!((read.contents.len(), read.text_content().as_str()), (2, "hi"));
        for (code, data, is_missing) in [
            (-32002, Value::Null, true),
            (-32602, json!({"uri": "a:b"}), true),
            (-32602, json!({"url": "a:b"}), false),
            (-32602, Value::Null, false),
            (-32603, json!({"uri": "a:b"}), false),
        ] {
            let read = during(
                || client.read_resource("a:b"),
                || {
                    let request = server.expect_request("resources/read");
                    server.respond_error(&request.id, ErrorObject::new(code, "no").with_data(data.clone()));
                },
            );
            let error = read.expect_err("no such resource");
            assert_eq!(error.is_resource_not_found(), is_missing, "{code} {data}");
        }
        for (odd, is_unsupported) in [(json!({"contents": 5}), false), (json!({"resultType": "later"}), true)]
        {
            let read =
                during(|| client.read_resource("a:b"), || drop(answer(&mut server, "resources/read", odd)));
            assert_eq!(matches!(read.expect_err("odd"), Error::Unsupported(_)), is_unsupported);
        }
    }
}

#[test]
fn prompts_are_filled_in_with_texts() {
    for version in revisions() {
        let (client, mut server) = client(&version);
        let prompt = json!({"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]});
        let mut get = |arguments: Value| {
            let mut asked = Value::Null;
            let got = during(
                || client.get_prompt("p", &arguments),
                || asked = answer_plain(&mut server, "prompts/get", prompt.clone()),
            );
            assert_eq!(got.expect("a prompt").messages.len(), 1);
            asked
        };
        assert_eq!(
            get(json!({"a": "1", "b": null, "c": ""})),
            json!({"name": "p", "arguments": {"a": "1", "c": ""}})
        );
        assert_eq!(get(Value::Null), json!({"name": "p"}));
        for arguments in [json!({"a": 1}), json!({"a": ["1"]}), json!("a"), json!([])] {
            let error = client.get_prompt("p", arguments).expect_err("no texts");
            assert!(matches!(error, Error::InvalidUse(_)), "{error}");
        }
        expect_nothing(&client, &mut server);
    }
}

#[test]
fn proposals_are_asked_for_with_what_the_revision_takes() {
    for version in revisions() {
        let (client, mut server) = client(&version);
        let found = json!({"completion": {"values": ["rust", "ruby"], "total": 2, "hasMore": false}});
        let mut asked = Value::Null;
        let reference = CompletionReference::prompt("p");
        let completed = during(
            || client.complete(reference, "language", "ru", json!({"style": "short"})),
            || asked = answer_plain(&mut server, "completion/complete", found),
        );
        assert_eq!(completed.expect("found").completion.values, ["rust", "ruby"]);
        let mut want = json!({
            "ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "language", "value": "ru"}
        });
        if version >= ProtocolVersion::V2025_06_18 {
            want["context"] = json!({"arguments": {"style": "short"}});
        }
        assert_eq!(asked, want, "{version}");
        let template = CompletionReference::resource("notes://{title}");
        let wrong = client.complete(template, "title", "", json!({"n": 1})).expect_err("no text");
        assert!(matches!(wrong, Error::InvalidUse(_)), "{wrong}");
    }
}

#[test]
fn options_hold_for_every_call() {
    let (client, mut server) = client(&ProtocolVersion::V2025_11_25);
    let token = CancelToken::new();
    let reported = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reported);
    let options =
        CallOptions::default().with_cancel(&token).with_meta("com.example/a", &1).with_progress(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
        });
    let read = during(
        || client.read_resource_with("a:b", &options),
        || {
            let request = server.expect_request("resources/read");
            let fields = request.params.expect("params").to_value()["_meta"].clone();
            assert_eq!(fields["com.example/a"], 1);
            let progress = json!({"progressToken": fields["progressToken"], "progress": 1});
            server.notify("notifications/progress", progress);
            server.respond(&request.id, json!({"contents": []}));
        },
    );
    read.expect("read");
    assert_eq!(reported.load(Ordering::SeqCst), 1);
    let got = during(
        || client.get_prompt_with("p", (), &options),
        || {
            server.expect_request("prompts/get");
            token.cancel("enough");
            server.expect_notification("notifications/cancelled");
        },
    );
    assert!(matches!(got, Err(Error::Cancelled(_))));
    // From now on nothing is sent with that token.
    assert!(matches!(client.list_resources_with(&options), Err(Error::Cancelled(_))));
    expect_nothing(&client, &mut server);
}

#[test]
fn a_legacy_server_is_told_the_log_level_and_told_again_after_a_reconnect() {
    let version = ProtocolVersion::V2025_06_18;
    let (client, mut server, doors) = several(Client::builder(), &version, &everything());
    let set = |level: LogLevel, server: &mut ScriptedPeer| {
        let told = during(
            || client.set_log_level(level),
            || assert_eq!(answer(server, "logging/setLevel", json!({})), json!({"level": level})),
        );
        told.expect("told");
    };
    set(LogLevel::Warning, &mut server);
    // What is refused changes nothing.
    let refused = during(
        || client.set_log_level(LogLevel::Debug),
        || {
            let request = server.expect_request("logging/setLevel");
            server.respond_error(&request.id, ErrorObject::new(-32603, "no"));
        },
    );
    assert!(refused.is_err());
    let again = during(
        || client.reconnect(),
        || {
            server = next(&doors);
            greet(&mut server, &version, &everything());
            assert_eq!(answer(&mut server, "logging/setLevel", json!({})), json!({"level": "warning"}));
        },
    );
    again.expect("connected again");
    // A server that no longer declares it is left alone.
    let again = during(
        || client.reconnect(),
        || {
            server = next(&doors);
            greet(&mut server, &version, &json!({}));
        },
    );
    again.expect("connected again");
    expect_nothing(&client, &mut server);
    // For one request there is no level in this revision.
    let options = CallOptions::default().with_log_level(LogLevel::Debug);
    let listed = during(
        || client.list_tools_with(&options),
        || assert_eq!(answer(&mut server, "tools/list", json!({"tools": []})), json!({})),
    );
    listed.expect("listed");
}

#[test]
fn a_modern_server_is_told_the_log_level_by_every_later_request() {
    let (client, mut server, doors) = several(Client::builder(), &MODERN, &everything());
    let level = |server: &mut ScriptedPeer, options: &CallOptions| {
        let mut fields = Value::Null;
        let called = during(
            || client.call_tool_with("t", (), options),
            || fields = answer(server, "tools/call", json!({"content": []}))["_meta"].clone(),
        );
        called.expect("called");
        fields[LEVEL].clone()
    };
    let plain = CallOptions::default();
    assert_eq!(level(&mut server, &plain), Value::Null);
    assert_eq!(level(&mut server, &plain.clone().with_log_level(LogLevel::Info)), "info");
    client.set_log_level(LogLevel::Error).expect("noted");
    assert_eq!(level(&mut server, &plain), "error");
    assert_eq!(level(&mut server, &plain.clone().with_log_level(LogLevel::Info)), "info");
    let again = during(
        || client.reconnect(),
        || {
            server = next(&doors);
            greet(&mut server, &MODERN, &everything());
        },
    );
    again.expect("connected again");
    assert_eq!(level(&mut server, &plain), "error");
}

#[test]
fn calls_say_which_trace_they_belong_to() {
    let trace = |span: u8| {
        let text = format!("00-0af7651916cd43dd8448eb211c80319c-{span:016x}-01");
        TraceContext::new(text).expect("a trace")
    };
    for version in revisions() {
        let span = AtomicUsize::new(0);
        let current = move |method: &str| {
            let span = span.fetch_add(1, Ordering::SeqCst) as u8;
            (method == "tools/call").then(|| trace(span + 1))
        };
        let builder: ClientBuilder = Client::builder().trace(current);
        let (client, mut server) = connected(builder, &version, &everything());
        let mut fields = |options: &CallOptions| {
            let mut fields = Value::Null;
            let called = during(
                || client.call_tool_with("t", (), options),
                || fields = answer(&mut server, "tools/call", json!({"content": []}))["_meta"].clone(),
            );
            called.expect("called");
            fields
        };
        assert_eq!(fields(&CallOptions::default())["traceparent"], trace(1).to_string());
        let own = trace(9).with_tracestate("v=1").expect("good").with_baggage("k=2").expect("good");
        let told = fields(&CallOptions::default().with_trace(&own));
        assert_eq!(told["traceparent"], own.to_string());
        assert_eq!((&told["tracestate"], &told["baggage"]), (&json!("v=1"), &json!("k=2")));
        let by_hand = CallOptions::default().with_meta("traceparent", "mine");
        assert_eq!(fields(&by_hand)["traceparent"], "mine");
        let listed = during(
            || client.list_tools(),
            || {
                let told = answer(&mut server, "tools/list", json!({"tools": []}));
                assert_eq!(told["_meta"]["traceparent"], Value::Null);
            },
        );
        listed.expect("listed");
    }
}

#[test]
fn a_modern_server_is_asked_what_it_is_by_now() {
    let (client, mut server) = client(&MODERN);
    let result =
        json!({"supportedVersions": ["2026-07-28"], "capabilities": {"prompts": {}}, "instructions": "new"});
    let discovered = during(
        || client.discover(&CallOptions::default()),
        || drop(answer(&mut server, "server/discover", result)),
    );
    assert_eq!(discovered.expect("answered").instructions.as_deref(), Some("new"));
    assert_eq!(client.initialize().expect("known").instructions, None);
}
