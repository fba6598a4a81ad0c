//! What servers in the wild do around resources, prompts, completion and questions, and what a client makes of it.

#[path = "support/scripted.rs"]
#[allow(dead_code, reason = "each test binary uses a part of it")]
mod scripted;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use scripted::{MODERN, answer, connected, during, everything};
use serde::Serialize;
use serde_json::{Value, json};
use tinymcp::client::ClientBuilder;
use tinymcp::json::Object;
use tinymcp::protocol::{CompletionReference, CreateMessageResult, ElicitResult, Root};
use tinymcp::testing::ScriptedPeer;
use tinymcp::{Client, Error, ErrorObject, ProtocolVersion, RequestId};

const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;

/// Long enough for a loaded machine.
const LONG: Duration = Duration::from_secs(30);

fn client(version: &ProtocolVersion) -> (Client, ScriptedPeer) {
    connected(Client::builder(), version, &everything())
}

fn plain(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("JSON")
}

/// Each list: its method, its member, and an item with everything that any of them needs.
const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
    ("prompts/list", "prompts"),
];

fn item(name: &str) -> Value {
    let uri = format!("x:/{name}");
    json!({"name": name, "uri": uri, "uriTemplate": uri, "inputSchema": {"type": "object"}})
}

/// The items of a list and the names of those that were rejected.
type Listed = Result<(Vec<Value>, Vec<Option<String>>), Error>;

fn list(client: &Client, method: &str) -> Listed {
    macro_rules! listed {
        ($list:ident) => {
            client.$list().map(|list| {
                let rejected = list.rejected.iter().map(|rejected| rejected.name.clone()).collect();
                (list.items.iter().map(plain).collect(), rejected)
            })
        };
    }
    match method {
        "tools/list" => listed!(list_tools),
        "resources/list" => listed!(list_resources),
        "resources/templates/list" => listed!(list_resource_templates),
        _ => listed!(list_prompts),
    }
}

#[test]
fn no_list_goes_round_in_circles() {
    let (client, mut server) = client(&LEGACY);
    for (method, member) in LISTS {
        for cursors in [&["same", "same"][..], &["odd", "even", "odd"]] {
            let script = || {
                for cursor in cursors {
                    answer(&mut server, method, json!({member: [item("a")], "nextCursor": cursor}));
                }
            };
            let error = during(|| list(&client, method), script).expect_err(method);
            assert!(matches!(error, Error::Protocol(_)), "{method}: {error}");
            assert!(error.to_string().contains(cursors[0]), "{method}: {error}");
        }
    }
}

#[test]
fn one_odd_item_hides_no_other_in_any_list() {
    let (client, mut server) = client(&LEGACY);
    for (method, member) in LISTS {
        let mut bare = item("bare");
        for name in ["title", "description", "mimeType", "annotations", "icons", "arguments", "_meta", "size"]
        {
            bare[name] = Value::Null;
        }
        let mut odd = item("odd");
        for name in ["title", "description", "mimeType", "annotations", "icons", "_meta", "size"] {
            odd[name] = json!([[5]]);
        }
        let items = json!([bare, {"name": "lacks"}, odd, 5, null, {"name": 7}]);
        let script = || drop(answer(&mut server, method, json!({member: items, "nextCursor": null})));
        let (items, rejected) = during(|| list(&client, method), script).expect(method);
        let names: Vec<_> = items.iter().map(|item| item["name"].clone()).collect();
        // All that a prompt needs is its name.
        if method == "prompts/list" {
            assert_eq!((&names[..], rejected.len()), (&[json!("bare"), json!("lacks"), json!("odd")][..], 3));
        } else {
            assert_eq!((&names[..], rejected.len()), (&[json!("bare"), json!("odd")][..], 4), "{method}");
            assert_eq!(rejected[0].as_deref(), Some("lacks"), "{method}");
        }
    }
}

#[test]
fn odd_results_are_read_or_are_the_error_of_their_call() {
    for version in [LEGACY, MODERN] {
        let (client, mut server) = client(&version);
        // What is read of it, or a word of the error.
        for (result, expected) in [
            (json!({"contents": [{"uri": "a:b", "text": "t"}]}), Ok("t")),
            (json!({"contents": [{"uri": "a:b", "text": "t", "mimeType": null, "_meta": null}]}), Ok("t")),
            (json!({"contents": [{"uri": "a:b", "text": "t", "blob": null}], "ttlMs": "soon"}), Ok("t")),
            (json!({"contents": [{"uri": "a:b", "blob": "AA=="}]}), Ok("")),
            (json!({"contents": []}), Ok("")),
            (json!({"contents": null}), Err("contents")),
            (json!({}), Err("contents")),
            (json!({"contents": [{"uri": "a:b"}]}), Err("contents")),
            (json!({"contents": ["t"]}), Err("contents")),
            (json!("t"), Err("resources/read")),
            (json!([]), Err("resources/read")),
            (Value::Null, Err("resources/read")),
        ] {
            let script = || drop(answer(&mut server, "resources/read", result.clone()));
            match (during(|| client.read_resource("a:b"), script), expected) {
                (Ok(read), Ok(text)) => assert_eq!(read.text_content(), text, "{result}"),
                (Err(error @ Error::Protocol(_)), Err(word)) => {
                    assert!(error.to_string().contains(word), "{result}: {error}");
                }
                (read, expected) => panic!("{version} {result}: {read:?}, not {expected:?}"),
            }
        }
        for (result, is_read) in [
            (
                json!({"messages": [{"role": "user", "content": {"type": "text", "text": "t"}}], "description": null}),
                true,
            ),
            (json!({"messages": [{"role": "user", "content": {"type": "hologram"}}]}), true),
            (json!({"messages": [{"role": "narrator", "content": {"type": "text", "text": "t"}}]}), true),
            (json!({"messages": []}), true),
            (json!({"messages": null}), false),
            (json!({"messages": [{"role": "user"}]}), false),
        ] {
            let script = || drop(answer(&mut server, "prompts/get", result.clone()));
            let got = during(|| client.get_prompt("p", ()), script);
            assert_eq!(got.is_ok(), is_read, "{version} {result}: {got:?}");
        }
        for (result, expected) in [
            (json!({"completion": {"values": ["a"], "total": null, "hasMore": null}}), Ok(1)),
            (json!({"completion": {"values": ["a"], "total": "many", "hasMore": "no"}}), Ok(1)),
            (json!({"completion": {"values": []}}), Ok(0)),
            (json!({"completion": {"values": null}}), Err(())),
            (json!({"completion": null}), Err(())),
            (json!({"values": []}), Err(())),
        ] {
            let script = || drop(answer(&mut server, "completion/complete", result.clone()));
            let reference = CompletionReference::prompt("p");
            let got = during(|| client.complete(reference, "a", "", ()), script);
            assert_eq!(
                got.map(|got| got.completion.values.len()).map_err(drop),
                expected,
                "{version} {result}"
            );
        }
    }
}

/// With members that nobody knows, at each level that is an object of the protocol.
fn sprinkled(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: serde_json::Map<_, _> =
                members.iter().map(|(name, value)| (name.clone(), sprinkled(value))).collect();
            members.insert(
                "x-unknown".to_owned(),
                json!({"kept": [9_007_199_254_740_993_u64, null, {"a": ""}]}),
            );
            Value::Object(members)
        }
        Value::Array(items) => items.iter().map(sprinkled).collect(),
        other => other.clone(),
    }
}

/// A client that notes the parameters of every question.
fn noting() -> (ClientBuilder, Arc<Mutex<Vec<Value>>>) {
    let noted = Arc::<Mutex<Vec<Value>>>::default();
    let note = {
        let noted = Arc::clone(&noted);
        move |params: Value| noted.lock().expect("not poisoned").push(params)
    };
    let (form, sample) = (note.clone(), note);
    let builder = Client::builder()
        .on_elicit(move |asked| {
            form(plain(asked.params()));
            Ok(ElicitResult::accept(Object::new()))
        })
        .on_sample(move |asked| {
            sample(plain(asked.params()));
            let mut answer = CreateMessageResult::text("m", "said");
            answer.extra.insert("x-ours", &1);
            Ok(answer)
        })
        .roots([Root::new("file:///a")]);
    (builder, noted)
}

#[test]
fn what_nobody_knows_reaches_those_who_answer() {
    let schema = json!({"type": "object", "properties": {}});
    let form = sprinkled(&json!({"mode": "form", "message": "m", "requestedSchema": schema}));
    let content = json!({"type": "text", "text": "t"});
    let sample = sprinkled(&json!({
        "messages": [{"role": "user", "content": content}], "maxTokens": 5,
        "modelPreferences": {"hints": [{"name": "h"}]}
    }));
    let (builder, noted) = noting();
    let (_client, mut server) = connected(builder, &LEGACY, &json!({}));
    for (id, method, params) in [(1, "elicitation/create", form), (2, "sampling/createMessage", sample)] {
        server.request(id, method, params.clone());
        let answer = server.expect_result(id).to_value();
        assert_eq!(noted.lock().expect("not poisoned").pop(), Some(params), "{method}");
        assert_eq!(answer.get("x-ours").is_some(), method.starts_with("sampling"), "{answer}");
    }
    // Nothing where there may be something, and something odd where there is nothing.
    for params in [json!({}), json!({"cursor": 5, "_meta": null}), json!([])] {
        server.request(3, "roots/list", params);
        assert_eq!(server.expect_result(3).to_value()["roots"][0]["uri"], "file:///a");
    }
    server.send_raw(r#"{"jsonrpc":"2.0","id":4,"method":"roots/list"}"#);
    server.expect_result(4);
}

#[test]
fn a_server_that_asks_during_a_call_is_answered_by_another_thread() {
    let (builder, noted) = noting();
    let (client, mut server) = connected(builder, &LEGACY, &everything());
    let params = json!({"messages": [], "maxTokens": 1});
    // Whatever is called.
    let read = during(
        || client.read_resource("a:b"),
        || {
            let request = server.expect_request("resources/read");
            server.request("s1", "sampling/createMessage", params.clone());
            assert_eq!(server.expect_result(RequestId::from("s1")).to_value()["content"]["text"], "said");
            server.respond(&request.id, json!({"contents": []}));
        },
    );
    read.expect("read");
    assert_eq!(noted.lock().expect("not poisoned").len(), 1);
}

#[test]
fn what_broke_is_not_asked_again_by_itself() {
    for version in [LEGACY, MODERN] {
        type Act = fn(&Client) -> Result<(), Error>;
        let acts: [(&str, Act); 4] = [
            ("resources/read", |client| client.read_resource("a:b").map(drop)),
            ("prompts/get", |client| client.get_prompt("p", ()).map(drop)),
            ("prompts/list", |client| client.list_prompts().map(drop)),
            ("completion/complete", |client| {
                client.complete(CompletionReference::prompt("p"), "a", "", ()).map(drop)
            }),
        ];
        for (method, act) in acts {
            let (client, mut server) = client(&version);
            let outcome = during(
                || act(&client),
                || {
                    server.expect_request(method);
                    server.close();
                },
            );
            let error = outcome.expect_err(method);
            assert!(error.is_closed() && error.to_string().contains(method), "{version}: {error}");
            let begun = std::time::Instant::now();
            assert!(act(&client).expect_err("it is gone").is_closed());
            assert!(begun.elapsed() < LONG / 2);

            // An error of the server's is the outcome, too.
            let (client, mut server) = scripted::connected(Client::builder(), &version, &everything());
            let outcome = during(
                || act(&client),
                || {
                    let request = server.expect_request(method);
                    server.respond_error(&request.id, ErrorObject::new(-32603, "broken"));
                },
            );
            assert_eq!(outcome.expect_err(method).peer_error().map(|error| error.code), Some(-32603));
            scripted::expect_nothing(&client, &mut server);
        }
    }
}
