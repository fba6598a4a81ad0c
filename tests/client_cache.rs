//! What a client need not ask twice; the servers are scripted, so that each request is seen.

#[path = "support/scripted.rs"]
mod scripted;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use scripted::{
    MODERN, answer, answer_plain, connected, during, everything, expect_nothing, greet, next, several,
};
use serde_json::{Value, json};
use tinymcp::client::CallOptions;
use tinymcp::json::Object;
use tinymcp::protocol::{CacheScope, Root};
use tinymcp::testing::{self, ScriptedPeer};
use tinymcp::transport::{Direction, Tap};
use tinymcp::{Client, Error, ErrorObject, ProtocolVersion, Server, ToolRegistry};

const HOUR: u64 = 3_600_000;

fn client() -> (Client, ScriptedPeer) {
    connected(Client::builder(), &MODERN, &everything())
}

/// A typed call and what a server answers to it.
struct Case {
    method: &'static str,
    result: Value,
    call: fn(&Client, &CallOptions) -> Result<(), Error>,
}

fn cases() -> [Case; 6] {
    let case = |method, result, call| Case { method, result, call };
    [
        case("tools/list", json!({"tools": []}), |c, o| c.list_tools_with(o).map(drop)),
        case("resources/list", json!({"resources": []}), |c, o| c.list_resources_with(o).map(drop)),
        case("resources/templates/list", json!({"resourceTemplates": []}), |c, o| {
            c.list_resource_templates_with(o).map(drop)
        }),
        case("prompts/list", json!({"prompts": []}), |c, o| c.list_prompts_with(o).map(drop)),
        case("resources/read", json!({"contents": []}), |c, o| {
            c.read_resource_with("file:///a", o).map(drop)
        }),
        case("server/discover", json!({"supportedVersions": ["2026-07-28"], "capabilities": {}}), |c, o| {
            c.discover(o).map(drop)
        }),
    ]
}

impl Case {
    fn result(&self, ttl: &Value) -> Value {
        let mut result = self.result.clone();
        if !ttl.is_null() {
            result["ttlMs"] = ttl.clone();
        }
        result["cacheScope"] = json!("private");
        result["resultType"] = json!("complete");
        result
    }

    /// The server is asked.
    #[track_caller]
    fn asks(&self, client: &Client, server: &mut ScriptedPeer, ttl: &Value, options: &CallOptions) {
        let call = || (self.call)(client, options);
        during(call, || drop(answer(server, self.method, self.result(ttl)))).expect("answered");
    }

    /// The server is not asked.
    #[track_caller]
    fn knows(&self, client: &Client, server: &mut ScriptedPeer) {
        (self.call)(client, &CallOptions::default()).expect("known");
        expect_nothing(client, server);
    }
}

#[test]
fn what_may_be_used_again_is_not_asked_for_again() {
    let plain = CallOptions::default();
    let (client, mut server) = client();
    for case in cases() {
        for ttl in [json!(0), json!(-1), Value::Null, json!("soon")] {
            case.asks(&client, &mut server, &ttl, &plain);
        }
        case.asks(&client, &mut server, &json!(HOUR), &plain);
        case.knows(&client, &mut server);
        // What is different for the server is different here.
        let tenant = plain.clone().with_meta("com.example/tenant", &1);
        case.asks(&client, &mut server, &json!(0), &tenant);
        case.knows(&client, &mut server);
        // On demand it is asked all the same, and its last word counts.
        case.asks(&client, &mut server, &json!(u64::MAX), &plain.clone().with_fresh());
        case.knows(&client, &mut server);
        case.asks(&client, &mut server, &json!(0), &plain.clone().with_fresh());
        case.asks(&client, &mut server, &json!(HOUR), &plain);
    }
    for case in cases() {
        case.knows(&client, &mut server);
    }
}

#[test]
fn other_parameters_are_another_request() {
    let (client, mut server) = client();
    let read = |uri: &str, server: &mut ScriptedPeer| {
        let contents = json!({"contents": [{"uri": uri, "text": uri}], "ttlMs": HOUR});
        let asked = || assert_eq!(answer_plain(server, "resources/read", contents), json!({"uri": uri}));
        during(|| client.read_resource(uri), asked).expect("read");
    };
    read("a:1", &mut server);
    read("a:2", &mut server);
    for uri in ["a:1", "a:2"] {
        let known = client.read_resource(uri).expect("known");
        assert_eq!(known, tinymcp::protocol::ReadResourceResult::text(uri, uri).with_ttl_ms(HOUR));
    }
    // A prompt is for once.
    for _ in 0..2 {
        let get = || client.get_prompt("p", ());
        let prompt = json!({"messages": [], "ttlMs": HOUR});
        during(get, || drop(answer(&mut server, "prompts/get", prompt))).expect("a prompt");
    }
    expect_nothing(&client, &mut server);
}

#[test]
fn nothing_is_kept_of_a_legacy_server_or_on_demand_of_any() {
    let legacy = ProtocolVersion::V2025_11_25;
    for (builder, version) in [(Client::builder(), legacy), (Client::builder().no_cache(), MODERN)] {
        let (client, mut server) = connected(builder, &version, &everything());
        for case in cases().into_iter().filter(|case| version.is_modern() || case.method != "server/discover")
        {
            for _ in 0..2 {
                case.asks(&client, &mut server, &json!(HOUR), &CallOptions::default());
            }
        }
    }
}

/// What each notice puts out, by its method and its address.
const NOTICES: &[(&str, Option<&str>, &[&str])] = &[
    ("notifications/tools/list_changed", None, &["tools/list"]),
    ("notifications/prompts/list_changed", None, &["prompts/list"]),
    ("notifications/resources/list_changed", None, &["resources/list", "resources/templates/list"]),
    ("notifications/resources/updated", Some("file:///a"), &["resources/read"]),
    ("notifications/resources/updated", Some("file:///a/part"), &["resources/read"]),
    ("notifications/resources/updated", Some("file:///b"), &[]),
];

fn notify(server: &mut ScriptedPeer, method: &str, uri: Option<&str>) {
    let subscription = json!({"io.modelcontextprotocol/subscriptionId": 0});
    server.notify(method, json!({"uri": uri, "_meta": subscription}));
}

#[test]
fn a_change_puts_out_what_it_concerns() {
    let plain = CallOptions::default();
    for (notice, uri, gone) in NOTICES {
        let (client, mut server) = client();
        for case in cases() {
            case.asks(&client, &mut server, &json!(HOUR), &plain);
        }
        notify(&mut server, notice, *uri);
        expect_nothing(&client, &mut server); // by now it is read
        for case in cases() {
            match gone.contains(&case.method) {
                true => case.asks(&client, &mut server, &json!(HOUR), &plain),
                false => case.knows(&client, &mut server),
            }
        }
    }
}

#[test]
fn a_change_during_a_request_keeps_its_result_from_being_kept() {
    let plain = CallOptions::default();
    for (notice, uri, gone) in NOTICES {
        let (client, mut server) = client();
        for case in cases() {
            let call = || (case.call)(&client, &plain);
            let script = || {
                let request = server.expect_request(case.method);
                notify(&mut server, notice, *uri);
                server.respond(&request.id, case.result(&json!(HOUR)));
            };
            during(call, script).expect("answered");
            match gone.contains(&case.method) {
                true => case.asks(&client, &mut server, &json!(HOUR), &plain),
                false => case.knows(&client, &mut server),
            }
        }
    }
}

#[test]
fn another_connection_begins_with_nothing() {
    let (client, mut server, doors) = several(Client::builder(), &MODERN, &everything());
    let plain = CallOptions::default();
    cases().iter().for_each(|case| case.asks(&client, &mut server, &json!(HOUR), &plain));
    let again = || client.reconnect();
    let mut second = None;
    let script = || {
        let mut server = next(&doors);
        greet(&mut server, &MODERN, &everything());
        second = Some(server);
    };
    during(again, script).expect("connected again");
    let mut server = second.expect("opened");
    for case in cases() {
        case.asks(&client, &mut server, &json!(HOUR), &plain);
        case.knows(&client, &mut server);
    }
}

#[test]
fn who_has_lost_the_server_or_has_closed_is_told_so() {
    let (lost, mut server) = client();
    for case in cases() {
        case.asks(&lost, &mut server, &json!(HOUR), &CallOptions::default());
    }
    let call = || lost.call_tool("t", ());
    let end = || {
        server.expect_request("tools/call");
        server.close();
    };
    assert!(during(call, end).is_err());
    for case in cases() {
        let error = (case.call)(&lost, &CallOptions::default()).expect_err("it is gone");
        assert!(error.is_closed(), "{}: {error}", case.method);
    }
    let (closed, mut server) = client();
    let handle = closed.handle();
    let tools = &cases()[0];
    tools.asks(&closed, &mut server, &json!(HOUR), &CallOptions::default());
    closed.close().expect("closes");
    assert!(handle.list_tools().expect_err("closed").is_closed());
}

#[test]
fn what_is_no_answer_is_not_kept() {
    let (client, mut server) = client();
    let tools = &cases()[0];
    let odd = json!({"tools": 5, "ttlMs": HOUR});
    let partial = json!({"tools": [], "ttlMs": HOUR, "resultType": "later"});
    for answered in [Some(odd), Some(partial), None] {
        let listed = during(
            || client.list_tools(),
            || {
                let request = server.expect_request("tools/list");
                match answered {
                    Some(result) => server.respond(&request.id, result),
                    None => server.respond_error(&request.id, ErrorObject::new(-32603, "no")),
                }
            },
        );
        assert!(listed.is_err());
    }
    tools.asks(&client, &mut server, &json!(HOUR), &CallOptions::default());
}

/// Asks for the client's roots before the next request of `method` is answered; what the last round said.
fn answer_in_rounds(server: &mut ScriptedPeer, method: &str, result: Value) -> Value {
    let question = json!({"r": {"method": "roots/list", "params": {}}});
    answer(
        server,
        method,
        json!({"resultType": "input_required", "inputRequests": question, "requestState": "s"}),
    );
    answer_plain(server, method, result)
}

#[test]
fn what_depends_on_answers_is_not_kept() {
    let builder = Client::builder().roots([Root::new("file:///w")]);
    let (client, mut server) = connected(builder, &MODERN, &everything());
    let read = json!({"contents": [], "ttlMs": HOUR});
    for _ in 0..2 {
        let call = || client.read_resource("a:b");
        let script = || {
            let last = answer_in_rounds(&mut server, "resources/read", read.clone());
            assert_eq!(last["inputResponses"]["r"]["roots"][0]["uri"], "file:///w");
            assert_eq!((&last["requestState"], &last["uri"]), (&json!("s"), &json!("a:b")));
        };
        during(call, script).expect("read");
    }
    // Nor is it when the caller has the answers, or asked for without them.
    let options = CallOptions::default().with_input(Object::new(), Some("s".into()));
    for _ in 0..2 {
        let call = || client.read_resource_with("a:b", &options);
        let script = || assert_eq!(answer(&mut server, "resources/read", read.clone())["requestState"], "s");
        during(call, script).expect("read");
    }
    let call = || client.read_resource("a:b");
    during(call, || drop(answer(&mut server, "resources/read", read.clone()))).expect("read");
    client.read_resource("a:b").expect("known");
    let call = || client.read_resource_with("a:b", &options);
    during(call, || drop(answer(&mut server, "resources/read", read.clone()))).expect("read");
    // A prompt takes rounds as well; a list does not.
    let call = || client.get_prompt("p", ());
    let script = || drop(answer_in_rounds(&mut server, "prompts/get", json!({"messages": []})));
    during(call, script).expect("a prompt");
    let asks = json!({"resultType": "input_required", "inputRequests": {"r": {"method": "roots/list"}}});
    let call = || client.list_prompts();
    let listed = during(call, || drop(answer(&mut server, "prompts/list", asks)));
    assert!(matches!(listed, Err(Error::Unsupported(_))));
}

fn page(name: &str, cursor: Option<&str>, ttl: u64) -> Value {
    json!({"prompts": [{"name": name}], "nextCursor": cursor, "ttlMs": ttl, "cacheScope": "public"})
}

fn names(client: &Client) -> Vec<String> {
    client.list_prompts().expect("listed").into_iter().map(|prompt| prompt.name).collect()
}

#[test]
fn each_page_is_kept_for_its_own_time() {
    let (client, mut server) = client();
    let listed = during(
        || names(&client),
        || {
            answer(&mut server, "prompts/list", page("a", Some("2"), HOUR));
            answer(&mut server, "prompts/list", page("b", Some("3"), 0));
            answer(&mut server, "prompts/list", page("c", None, HOUR));
        },
    );
    assert_eq!(listed, ["a", "b", "c"]);
    // The page that is stale is asked for by its cursor.
    let listed = during(
        || names(&client),
        || assert_eq!(answer(&mut server, "prompts/list", page("B", Some("3"), 0))["cursor"], "2"),
    );
    assert_eq!(listed, ["a", "B", "c"]);
    // If the server does not know it any more, nothing that was kept counts.
    let listed = during(
        || names(&client),
        || {
            let request = server.expect_request("prompts/list");
            server.respond_error(&request.id, ErrorObject::new(-32602, "unknown cursor"));
            assert_eq!(answer(&mut server, "prompts/list", page("new", None, HOUR))["cursor"], Value::Null);
        },
    );
    assert_eq!(listed, ["new"]);
    assert_eq!(names(&client), ["new"]);
    expect_nothing(&client, &mut server);
    // The same holds for whoever goes from page to page.
    let mut pages = client.prompt_pages(&CallOptions::default());
    assert_eq!(pages.next().expect("a page").expect("known").items[0].name, "new");
    assert!(pages.next().is_none());
    expect_nothing(&client, &mut server);
}

/// Counts the requests of a method.
struct Count(Arc<AtomicUsize>, &'static str);

impl Tap for Count {
    fn frame(&self, direction: Direction, frame: &[u8]) {
        if direction == Direction::Sent && String::from_utf8_lossy(frame).contains(self.1) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[test]
fn our_own_server_says_how_long() {
    let hour = Duration::from_millis(HOUR);
    for (time, caching, asked) in [(hour, true, 1), (hour, false, 3), (Duration::ZERO, true, 3)] {
        let echo = tinymcp::tool! { fn echo(text: String) -> String { text } };
        let tools = ToolRegistry::new().with(echo).expect("a good tool");
        let server = Server::builder("s", "1").tools(tools).cache(time, CacheScope::Public).build();
        let count = Arc::new(AtomicUsize::new(0));
        let builder = Client::builder().tap(Count(Arc::clone(&count), "tools/list"));
        let builder = if caching { builder } else { builder.no_cache() };
        let client = testing::pair_with(builder, &server.expect("a server")).expect("a client");
        for _ in 0..3 {
            assert_eq!(client.list_tools().expect("listed").items.len(), 1);
        }
        assert_eq!(count.load(Ordering::SeqCst), asked);
    }
}

#[test]
fn what_was_kept_grows_stale() {
    let (client, mut server) = client();
    during(|| names(&client), || drop(answer(&mut server, "prompts/list", page("old", None, 30))));
    thread::scope(|scope| {
        // It asks the server as soon as it must, and no sooner; nothing else ends this.
        let listing = scope.spawn(|| {
            loop {
                let listed = names(&client);
                if listed != ["old"] {
                    return listed;
                }
                thread::yield_now();
            }
        });
        answer(&mut server, "prompts/list", page("new", None, 0));
        assert_eq!(listing.join().expect("no panic"), ["new"]);
    });
}
