//! Who is let in over HTTP, and as whom.
//!
//! spec: 2026-07-28 basic/transports/streamable-http#security--endpoint

#[path = "support/eras.rs"]
mod eras;
#[path = "support/http.rs"]
mod http;
#[path = "support/puppet.rs"]
mod puppet;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use eras::{Legacy, call, message, modern};
use http::{Hosted, Request};
use puppet::{Puppet, filled, puppet, puppet_with};
use serde_json::{Value, json};
use tinymcp::context::Principal;
use tinymcp::http::{Denied, Head, HttpServer};

const KEY: &str = "X-Key";
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Knows Alice and Bob by their keys, and nobody else.
fn by_key(head: &Head) -> Result<Principal, Denied> {
    match head.header("x-key") {
        Some(name @ ("alice" | "bob")) => Ok(Principal::new(name)),
        Some("mallory") => Err(Denied::forbidden("not you")),
        Some("panic") => panic!("the panic of a test"),
        Some("fresh") => {
            // As tokens do, each tells something new of the same person.
            static NUMBER: AtomicU32 = AtomicU32::new(0);
            Ok(Principal::new("carol").with("token", &NUMBER.fetch_add(1, Ordering::SeqCst)))
        }
        Some("odd") => Err(Denied::unauthorized("x").with_challenge("Bearer\r\nX-Evil: 1")),
        _ => Err(Denied::unauthorized("no such key").with_challenge(r#"Bearer realm="tea""#)),
    }
}

fn guarded() -> (Hosted, Puppet) {
    let (server, puppet) = puppet();
    (Hosted::with(&server, |builder| builder.guard(by_key)), puppet)
}

fn as_whom(name: &'static str) -> Vec<(&'static str, &'static str)> {
    vec![(KEY, name)]
}

fn whoami() -> Request {
    call(1, "whoami", json!({}))
}

/// A guard may ask a database.
#[test]
fn guards_look_at_several_requests_at_once() {
    let (server, _puppet) = puppet();
    // Each waits until all are there.
    let at_once = Arc::new((Mutex::new(0), Condvar::new()));
    let guard = move |head: &Head| {
        let (count, all) = &*at_once;
        let mut count = count.lock().expect("no panic");
        *count += 1;
        all.notify_all();
        let (_count, wait) =
            all.wait_timeout_while(count, Duration::from_secs(10), |count| *count < 4).expect("no panic");
        if wait.timed_out() { Err(Denied::forbidden("alone")) } else { by_key(head) }
    };
    let hosted = Hosted::with(&server, |builder| builder.guard(guard));
    let mut conns: Vec<_> = (0..4).map(|_| hosted.connect()).collect();
    conns.iter_mut().for_each(|conn| conn.send(&whoami().with(KEY, "alice")));
    conns.iter_mut().for_each(|conn| assert_eq!(conn.response().text(), "alice"));
}

#[test]
fn the_guard_says_who_comes_in() {
    let (hosted, _puppet) = guarded();
    let mut conn = hosted.connect();
    for name in ["alice", "bob", "alice"] {
        assert_eq!(conn.ask(&whoami().with(KEY, name)).text(), name);
    }
    for request in [
        whoami(),
        whoami().with(KEY, "eve"),
        Request::get(),
        Request::new("DELETE", "/mcp"),
        Request::get().at("/sse"),
    ] {
        let response = hosted.ask(&request);
        assert_eq!(response.status, 401, "{response}");
        assert_eq!(response.header("WWW-Authenticate"), Some(r#"Bearer realm="tea""#));
        assert_eq!(response.json().get("id"), None, "{response}");
    }
    let forbidden = hosted.ask(&whoami().with(KEY, "mallory"));
    assert_eq!((forbidden.status, forbidden.header("WWW-Authenticate")), (403, None), "{forbidden}");
    // Nothing that a guard says becomes a header of its own.
    let odd = hosted.ask(&whoami().with(KEY, "odd"));
    assert_eq!((odd.status, odd.header("X-Evil")), (401, None), "{odd}");
    // Without a guard nobody is known.
    assert_eq!(Hosted::new(&puppet().0).ask(&whoami().with(KEY, "alice")).text(), "nobody");
}

#[test]
fn nobody_needs_to_send_a_body_to_be_refused() {
    let (hosted, _puppet) = guarded();
    for (request, status) in [
        (whoami(), 401),
        (whoami().with(KEY, "mallory"), 403),
        (whoami().with(KEY, "alice").with("Origin", "https://evil.example"), 403),
        (whoami().with(KEY, "alice").set("Host", "evil.example"), 403),
        (whoami().with(KEY, "alice").at("/nowhere"), 404),
    ] {
        for more in
            [("Content-Length", "1000000"), ("Transfer-Encoding", "chunked"), ("Expect", "100-continue")]
        {
            let mut conn = hosted.connect();
            conn.send_bytes(&request.clone().with(more.0, more.1).head());
            assert_eq!(conn.response().status, status, "{more:?}");
        }
    }
    // What is sent all the same is not taken for another request.
    let mut conn = hosted.connect();
    let inner = whoami().with(KEY, "alice").bytes();
    let request = whoami().with_body(inner);
    if conn.try_send_bytes(&request.bytes()) {
        assert_eq!(conn.response().status, 401);
        conn.expect_closed();
    }
}

#[test]
fn a_guard_is_asked_once_about_those_that_may_come_from_where_they_do() {
    let asked = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&asked);
    let (server, _puppet) = puppet();
    let hosted = Hosted::with(&server, |builder| {
        builder.guard(move |head: &Head| {
            counted.fetch_add(1, Ordering::SeqCst);
            assert_eq!((head.method(), head.path(), head.query()), ("POST", "/mcp", Some("a=b")));
            assert_eq!(head.header("X-KEY"), Some("k"));
            assert_eq!(head.headers("x-two").collect::<Vec<_>>(), ["1", "2"]);
            assert_eq!(head.header("x-none"), None);
            Ok(Principal::new("somebody"))
        })
    });
    let request = whoami().at("/mcp?a=b").with(KEY, "k").with("X-Two", "1").with("X-Two", "2");
    assert_eq!(hosted.ask(&request).text(), "somebody");
    assert_eq!(hosted.ask(&request.with("Origin", "https://evil.example")).status, 403);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[test]
fn what_is_not_served_at_all_is_said_to_everybody() {
    let (server, _puppet) = puppet_with(|builder| builder.versions([tinymcp::ProtocolVersion::V2026_07_28]));
    let hosted = Hosted::with(&server, |builder| builder.guard(by_key));
    for method in ["GET", "DELETE"] {
        let response = hosted.ask(&Request::new(method, "/mcp").with("Accept", "text/event-stream"));
        assert_eq!((response.status, response.header("Allow")), (405, Some("POST")), "{response}");
    }
    assert_eq!(hosted.ask(&whoami()).status, 401);
}

#[test]
fn a_guard_that_panics_lets_nobody_in_and_harms_nobody() {
    let (hosted, _puppet) = guarded();
    for _ in 0..50 {
        let response = hosted.ask(&whoami().with(KEY, "panic"));
        assert_eq!(response.status, 500, "{response}");
    }
    assert_eq!(hosted.ask(&whoami().with(KEY, "alice")).text(), "alice");
}

/// The state of a call that Alice has begun.
#[track_caller]
fn state_of(hosted: &Hosted, name: &str) -> Value {
    hosted.ask(&call(1, "book", json!({})).with(KEY, name)).result()["requestState"].take()
}

fn goes_on(state: &Value, name: &str) -> Request {
    let params = json!({
        "name": "book", "arguments": {}, "inputResponses": {"from": filled("Ulm")}, "requestState": state,
    });
    modern(2, "tools/call", params).with(KEY, name)
}

#[test]
fn a_state_is_its_owners() {
    let (hosted, _puppet) = guarded();
    let state = state_of(&hosted, "alice");
    let stolen = hosted.ask(&goes_on(&state, "bob"));
    assert_eq!(stolen.json()["error"]["code"], -32602, "{stolen}");
    let own = hosted.ask(&goes_on(&state, "alice")).result();
    assert_eq!(own["resultType"], "input_required", "{own}");
}

#[test]
fn a_session_is_its_owners() {
    let (hosted, _puppet) = guarded();
    let session = Legacy::open_with(&hosted, "2025-11-25", as_whom("alice"));
    assert_eq!(session.call("whoami", json!({})), "alice");
    let mut stream = session.listen();
    hosted.server.handle().tools_changed();
    let last = loop {
        let event = stream.event().expect("an event");
        if event.data.as_ref().is_some_and(|data| !data.is_empty()) {
            break event.id.expect("an id");
        }
    };
    for request in [
        session.request(1, "ping", json!({})),
        session.post(&eras::notification("notifications/cancelled", json!({"requestId": 1}))),
        session.signed(Request::get()),
        session.resume(&last),
        session.signed(Request::new("DELETE", "/mcp")),
    ] {
        let response = hosted.ask(&request.clone().set(KEY, "bob"));
        assert_eq!(response.status, 404, "{response}");
        assert_eq!(hosted.ask(&request.without(KEY)).status, 401);
    }
    // Alice has noticed nothing.
    session.ask("ping", json!({}));
    hosted.server.handle().tools_changed();
    stream.notice("notifications/tools/list_changed");
    // Her place to post to is hers as well.
    let mut events = hosted.open(&Request::get().at("/sse").with(KEY, "alice"));
    let place = events.event().expect("an event").data.expect("a place");
    let ping = Request::post(&message(1, "ping", json!({}))).at(&place);
    assert_eq!(hosted.ask(&ping.clone().with(KEY, "bob")).status, 404);
    assert_eq!(hosted.ask(&ping.with(KEY, "alice")).status, 202);
    assert_eq!(events.message()["id"], 1);
}

#[test]
fn somebody_is_the_same_with_a_fresh_token() {
    let (hosted, _puppet) = guarded();
    let session = Legacy::open_with(&hosted, "2025-11-25", as_whom("fresh"));
    assert_eq!(session.call("whoami", json!({})), "carol");
    let state = state_of(&hosted, "fresh");
    assert_eq!(hosted.ask(&goes_on(&state, "fresh")).result()["resultType"], "input_required");
}

#[test]
fn a_task_is_its_owners() {
    let (hosted, _puppet) = guarded();
    let able = json!({"elicitation": {"form": {}}, "extensions": {TASKS: {}}});
    let ask = |method: &str, mut params: Value, name: &str| {
        params["_meta"] = json!({eras::CAPABILITIES: able});
        hosted.ask(&modern(1, method, params).with(KEY, name))
    };
    let task = ask("tools/call", json!({"name": "task", "arguments": {}}), "alice").result();
    let about = json!({"taskId": task["taskId"]});
    let update = json!({"taskId": task["taskId"], "inputResponses": {"from": filled("Ulm")}});
    for (method, params) in [("tasks/get", &about), ("tasks/update", &update), ("tasks/cancel", &about)] {
        let response = ask(method, params.clone(), "bob");
        assert_eq!(response.json()["error"]["code"], -32602, "{method}: {response}");
    }
    assert_eq!(ask("tasks/get", about.clone(), "alice").result()["taskId"], task["taskId"]);
    // Nor is anybody told of its status.
    let listen = |name: &str| {
        let params =
            json!({"notifications": {"taskIds": [task["taskId"]]}, "_meta": {eras::CAPABILITIES: able}});
        let mut events = hosted.open(&modern(1, "subscriptions/listen", params).with(KEY, name));
        events.notice("notifications/subscriptions/acknowledged")["notifications"]["taskIds"].take()
    };
    assert_eq!((listen("bob"), listen("alice")), (json!([]), json!([task["taskId"]])));
    // The task of a Legacy client belongs to its session.
    let [mine, theirs] = ["alice", "bob"].map(|name| Legacy::open_with(&hosted, "2025-11-25", as_whom(name)));
    let made = mine.ask("tools/call", json!({"name": "task", "arguments": {}, "task": {}}));
    let about = json!({"taskId": made["task"]["taskId"]});
    let refused = hosted.ask(&theirs.request(1, "tasks/get", about.clone()));
    assert_eq!(refused.json()["error"]["code"], -32602, "{refused}");
    assert_eq!(theirs.ask("tasks/list", json!({}))["tasks"], json!([]));
    mine.ask("tasks/cancel", about);
    // Its handler knows him as well.
    let task = ask("tools/call", json!({"name": "task_whoami"}), "alice").result();
    let done = loop {
        let task = ask("tasks/get", json!({"taskId": task["taskId"]}), "alice").result();
        if task["status"] != "working" {
            break task;
        }
    };
    assert_eq!(done["result"]["content"][0]["text"], "alice", "{done}");
    let made = mine.ask("tools/call", json!({"name": "task_whoami", "task": {}}));
    let result = mine.ask("tasks/result", json!({"taskId": made["task"]["taskId"]}));
    assert_eq!(result["content"][0]["text"], "alice", "{result}");
}

#[track_caller]
fn statuses(hosted: &Hosted, header: &str, values: &[&str], status: u16) {
    for value in values {
        let response = hosted.ask(&whoami().set(header, value));
        assert_eq!(response.status, status, "{header}: {value}: {response}");
        if status == 403 && !response.body.is_empty() {
            assert_eq!(response.json().get("id"), None, "{response}");
        }
    }
}

#[test]
fn a_local_server_is_called_by_local_names_alone() {
    let (server, _puppet) = puppet();
    let hosted = Hosted::new(&server);
    let port = hosted.address.port();
    let own = format!("127.0.0.1:{port}");
    statuses(&hosted, "Host", &["localhost", "LOCALHOST:1", &own, "127.0.0.1", "[::1]", "[::1]:8000"], 200);
    let foreign =
        ["evil.com", "localhost.evil.com", "localhost.evil.com:80", "127.0.0.1.evil.com", "0.0.0.0:80"];
    statuses(&hosted, "Host", &foreign, 403);
    statuses(&hosted, "Host", &["user@localhost", "localhost, evil.com", "localhost/x", "[::1"], 403);
    // None, and several: HTTP itself has them refused.
    let none = hosted.ask(&whoami().without("Host"));
    assert!(matches!(none.status, 400 | 403), "{none}");
    let two = hosted.ask(&whoami().with("Host", "localhost"));
    assert!(matches!(two.status, 400 | 403), "{two}");
    // Whatever is asked for.
    for request in
        [Request::get(), Request::new("DELETE", "/mcp"), Request::get().at("/sse"), Request::get().at("/x")]
    {
        assert_eq!(hosted.ask(&request.clone().set("Host", "evil.com")).status, 403);
        assert_eq!(hosted.ask(&request.with("Origin", "https://evil.example")).status, 403);
    }
}

#[test]
fn pages_of_other_origins_are_refused() {
    let (server, _puppet) = puppet();
    let hosted = Hosted::new(&server);
    let own = format!("http://127.0.0.1:{}", hosted.address.port());
    let local = [
        "http://localhost",
        "http://localhost:3000",
        "https://127.0.0.1:8443",
        "http://[::1]:1",
        own.as_str(),
    ];
    statuses(&hosted, "Origin", &local, 200);
    let foreign = [
        "https://evil.example",
        "http://evil.example:3000",
        "null",
        "",
        "http://localhost.evil.example",
        "http://0.0.0.0:8000",
        "http://192.168.0.1",
        "http://localhost@evil.example",
        "http://localhost http://evil.example",
        "file://",
        "localhost",
    ];
    statuses(&hosted, "Origin", &foreign, 403);
    for second in ["http://localhost", "https://evil.example"] {
        let two = whoami().with("Origin", "http://localhost").with("Origin", second);
        assert_eq!(hosted.ask(&two).status, 403);
    }
}

#[test]
fn hosts_and_origins_can_be_allowed() {
    let (server, _puppet) = puppet();
    let hosted = Hosted::with(&server, |builder| {
        builder
            .allow_host("mcp.example.com")
            .allow_host("other.example.com:8443")
            .allow_origin("https://app.example.com")
            .allow_origin("vscode-webview://1a2b")
    });
    statuses(
        &hosted,
        "Host",
        &["mcp.example.com", "MCP.example.com:80", "other.example.com:8443", "localhost"],
        200,
    );
    statuses(&hosted, "Host", &["example.com", "x.mcp.example.com", "other.example.com", "evil.com"], 403);
    statuses(
        &hosted,
        "Origin",
        &[
            "https://app.example.com",
            "https://app.example.com:443",
            "vscode-webview://1a2b",
            "http://localhost",
        ],
        200,
    );
    let foreign = [
        "http://app.example.com",
        "https://app.example.com:8443",
        "https://x.app.example.com",
        "https://app.example.com.evil.example",
        "vscode-webview://1a2c",
        "https://mcp.example.com",
    ];
    statuses(&hosted, "Origin", &foreign, 403);
    let open = Hosted::with(&server, |builder| builder.allow_any_host());
    statuses(&open, "Host", &["whatever.example.com"], 200);
    statuses(&open, "Origin", &["https://whatever.example.com"], 403);
    for bad in ["http://x", "x y", ""] {
        let refused = HttpServer::builder(&server).allow_host(bad).bind("127.0.0.1:0").err();
        assert!(matches!(refused, Some(tinymcp::Error::InvalidUse(_))), "{bad}: {refused:?}");
        let refused = HttpServer::builder(&server).allow_origin(bad).bind("127.0.0.1:0").err();
        assert!(
            bad == "http://x" || matches!(refused, Some(tinymcp::Error::InvalidUse(_))),
            "{bad}: {refused:?}"
        );
    }
}

#[test]
fn a_server_for_others_is_called_by_any_name_but_not_by_any_page() {
    let (server, _puppet) = puppet();
    let hosted = Hosted::bound(&server, "0.0.0.0:0", |builder| builder);
    let address = (std::net::Ipv4Addr::LOCALHOST, hosted.address.port()).into();
    for (name, value, status) in [
        ("Host", "tea.example.com", 200),
        ("Host", "192.0.2.1:80", 200),
        ("Origin", "http://localhost:3000", 200),
        ("Origin", "https://evil.example", 403),
        ("Origin", "null", 403),
    ] {
        let response = http::Conn::to(address).ask(&whoami().set(name, value));
        assert_eq!(response.status, status, "{name}: {value}: {response}");
    }
}
