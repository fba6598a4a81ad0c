//! Legacy clients of a server over HTTP: sessions, and what belongs to them.
//!
//! spec: 2025-11-25 basic/transports#streamable-http

#[path = "http_legacy/asks.rs"]
mod asks;
#[path = "http_legacy/batches.rs"]
mod batches;
#[path = "support/eras.rs"]
mod eras;
#[path = "support/http.rs"]
mod http;
#[path = "support/puppet.rs"]
mod puppet;
#[path = "http_legacy/resumed.rs"]
mod resumed;
#[path = "http_legacy/streams.rs"]
mod streams;

use std::collections::BTreeSet;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use eras::{LEGACY, Legacy, initialize, message, notification};
use http::{Hosted, LONG, Request};
use puppet::{Puppet, STOCK, puppet, puppet_with};
use serde_json::json;
use tinymcp::ProtocolVersion;
use tinymcp::http::{EventError, EventStore, MemoryEvents, Replay, StreamKey};

fn hosted() -> (Hosted, Puppet) {
    let (server, puppet) = puppet();
    (Hosted::new(&server), puppet)
}

/// Tells which sessions have ended.
struct Ends {
    events: MemoryEvents,
    tell: Sender<String>,
}

impl Ends {
    fn new() -> (Self, Receiver<String>) {
        let (tell, told) = unbounded();
        (Self { events: MemoryEvents::new(), tell }, told)
    }
}

impl EventStore for Ends {
    fn begin(&self, session: &str) -> Result<StreamKey, EventError> {
        self.events.begin(session)
    }

    fn store(&self, stream: &StreamKey, message: &str) -> Result<String, EventError> {
        self.events.store(stream, message)
    }

    fn end(&self, stream: &StreamKey) -> Result<(), EventError> {
        self.events.end(stream)
    }

    fn after(&self, session: &str, last: &str) -> Result<Replay, EventError> {
        self.events.after(session, last)
    }

    fn forget(&self, session: &str) -> Result<(), EventError> {
        drop(self.tell.send(session.to_owned()));
        self.events.forget(session)
    }
}

#[test]
fn a_session_begins_in_every_revision() {
    let (hosted, _puppet) = hosted();
    let mut ids = BTreeSet::new();
    for version in LEGACY {
        let session = Legacy::open(&hosted, version);
        assert!(session.id.len() >= 32, "{}", session.id);
        assert!(session.id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{}", session.id);
        assert_eq!(session.hello["serverInfo"]["name"], "puppet");
        assert_eq!(session.call("echo", json!({"message": "hi"})), "hi");
        assert_eq!(session.ask("ping", json!({})), json!({}));
        assert!(session.ask("tools/list", json!({}))["tools"].is_array());
        // Answers carry no such id again, or the same.
        let response = hosted.ask(&session.request("1", "ping", json!({})));
        assert!(response.header("Mcp-Session-Id").is_none_or(|id| id == session.id), "{response}");
        assert_eq!(response.json()["id"], "1");
        ids.insert(session.id.clone());
    }
    ids.extend((0..20).map(|_| Legacy::new(&hosted).id));
    assert_eq!(ids.len(), 24, "all differ");
}

#[test]
fn versions_are_settled_as_over_any_transport() {
    let (hosted, _puppet) = hosted();
    let asked = [
        ("1999-01-01", LEGACY[0]),
        ("2026-07-28", LEGACY[0]),
        ("draft", LEGACY[0]),
        ("2025-06-18", LEGACY[1]),
    ];
    for (asked, settled) in asked {
        let response = hosted.ask(&initialize(asked, json!({})));
        assert!(response.header("Mcp-Session-Id").is_some());
        assert_eq!(response.result()["protocolVersion"], settled);
    }
    let (server, _puppet) = puppet_with(|builder| builder.versions([ProtocolVersion::V2025_06_18]));
    let hosted = Hosted::new(&server);
    let session = Legacy::open(&hosted, "2025-06-18");
    let request = session.request(1, "ping", json!({}));
    for (version, status) in [("2025-06-18", 200), ("2025-11-25", 400), ("2026-07-28", 400)] {
        assert_eq!(
            hosted.ask(&request.clone().set("MCP-Protocol-Version", version)).status,
            status,
            "{version}"
        );
    }
}

#[test]
fn a_request_belongs_to_a_session() {
    let (hosted, _puppet) = hosted();
    let session = Legacy::new(&hosted);
    let ping = message(5, "ping", json!({}));
    for body in [ping.clone(), notification("notifications/initialized", json!({}))] {
        let without = hosted.ask(&Request::post(&body).with("MCP-Protocol-Version", "2025-11-25"));
        assert_eq!(without.status, 400, "{without}");
        let unknown = hosted.ask(&Request::post(&body).with("Mcp-Session-Id", &"0".repeat(32)));
        assert_eq!(unknown.status, 404, "{unknown}");
        let empty = hosted.ask(&Request::post(&body).with("Mcp-Session-Id", ""));
        assert!(matches!(empty.status, 400 | 404), "{empty}");
    }
    // What is wrong is told to the request that it is about.
    assert_eq!(hosted.ask(&Request::post(&ping)).json()["id"], 5);
    for request in [Request::get(), Request::new("DELETE", "/mcp")] {
        assert_eq!(hosted.ask(&request).status, 400);
        assert_eq!(hosted.ask(&request.with("Mcp-Session-Id", "unknown")).status, 404);
    }
    // The id is compared as it is; the name of its header is not.
    let request = session.post(&ping).without("Mcp-Session-Id");
    assert_eq!(hosted.ask(&request.clone().with("mcp-session-id", &session.id)).status, 200);
    assert_eq!(hosted.ask(&request.with("Mcp-Session-Id", &session.id.to_uppercase())).status, 404);
}

#[test]
fn the_header_of_the_revision_may_be_missing_but_not_wrong() {
    let (hosted, _puppet) = hosted();
    for version in LEGACY {
        let session = Legacy::open(&hosted, version);
        let request = session.request(1, "ping", json!({})).without("MCP-Protocol-Version");
        assert_eq!(hosted.ask(&request).status, 200, "{version}");
        assert_eq!(
            hosted.ask(&request.clone().with("MCP-Protocol-Version", version)).status,
            200,
            "{version}"
        );
        for wrong in ["1999-01-01", "latest", "2025-11-25x", "2026-07-28", ""] {
            let response = hosted.ask(&request.clone().with("MCP-Protocol-Version", wrong));
            assert_eq!(response.status, 400, "{version}: {wrong}: {response}");
        }
        let get = session.signed(Request::get()).set("MCP-Protocol-Version", "1999-01-01");
        assert_eq!(hosted.ask(&get).status, 400);
    }
}

#[test]
fn a_session_ends_by_delete() {
    let (hosted, puppet) = hosted();
    let session = Legacy::new(&hosted);
    let mut stream = session.listen();
    let mut conn = hosted.connect();
    conn.send(&session.tool(1, "wait", json!({"name": "w"})));
    puppet.expect("w began");
    assert!((200..300).contains(&session.delete().status));
    // Whatever was open ends.
    puppet.expect("w cancelled");
    stream.expect_end();
    let response = conn.response();
    assert!(response.body.is_empty() || response.json().get("result").is_none(), "{response}");
    for request in [
        session.request(2, "ping", json!({})),
        session.post(&notification("notifications/initialized", json!({}))),
        session.signed(Request::get()),
        session.signed(Request::new("DELETE", "/mcp")),
    ] {
        assert_eq!(hosted.ask(&request).status, 404, "{}", request.method);
    }
    // Another is not harmed.
    let other = Legacy::new(&hosted);
    assert_eq!(other.delete().status / 100, 2);
}

#[test]
fn what_needs_no_answer_is_accepted() {
    let (hosted, _puppet) = hosted();
    for version in LEGACY {
        let session = Legacy::open(&hosted, version);
        for body in [
            notification("notifications/com.example/unknown", json!({})),
            notification("notifications/cancelled", json!({"requestId": 99})),
            notification("notifications/progress", json!({"progressToken": 1, "progress": 1})),
            json!({"jsonrpc": "2.0", "id": "never asked", "result": {}}),
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "m"}}),
        ] {
            session.tell(&body);
        }
        for body in ["not json", "{}", "[]", "5", r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#] {
            let response = hosted.ask(&session.post(&json!(null)).with_body(body));
            assert_eq!(response.status, 400, "{version}: {body}: {response}");
        }
        session.ask("ping", json!({}));
    }
}

#[test]
fn errors_are_answers_and_methods_those_of_the_revision() {
    let (hosted, _puppet) = hosted();
    for version in LEGACY {
        let session = Legacy::open(&hosted, version);
        for (method, params, code) in [
            ("no/method", json!({}), -32601),
            ("tools/call", json!({"name": "nothing"}), -32602),
            ("resources/read", json!({"uri": "tea://nothing"}), -32002),
        ] {
            let response = hosted.ask(&session.request(1, method, params));
            assert_eq!(response.json()["error"]["code"], code, "{version}: {method}: {response}");
            assert_eq!(response.json()["id"], 1);
        }
        assert_eq!(session.ask("logging/setLevel", json!({"level": "error"})), json!({}));
    }
}

#[test]
fn an_id_is_in_use_while_its_call_is_open() {
    let (hosted, puppet) = hosted();
    let (session, other) = (Legacy::new(&hosted), Legacy::new(&hosted));
    let mut first = hosted.connect();
    first.send(&session.tool(7, "held", json!({"name": "a"})));
    puppet.expect("a began");
    for method in ["ping", "tools/list"] {
        let second = hosted.ask(&session.request(7, method, json!({})));
        assert_eq!(second.error(), (400, -32600), "{second}");
        // An answer of this id would be taken for that of the first.
        assert_eq!(second.json().get("id"), None);
    }
    assert_eq!(hosted.ask(&session.request("7", "ping", json!({}))).status, 200);
    assert_eq!(hosted.ask(&other.request(7, "tools/list", json!({}))).status, 200, "another session's");
    puppet.open_gate();
    puppet.expect("a let go");
    assert_eq!(first.response().text(), "a let go");
    assert_eq!(hosted.ask(&session.request(7, "tools/list", json!({}))).status, 200);
}

#[test]
fn sessions_do_not_see_each_other() {
    let (hosted, puppet) = hosted();
    let (one, two) = (Legacy::new(&hosted), Legacy::new(&hosted));
    let (mut at_one, mut at_two) = (one.listen(), two.listen());
    one.ask("resources/subscribe", json!({"uri": STOCK}));
    hosted.server.handle().resource_updated(STOCK);
    assert_eq!(at_one.notice("notifications/resources/updated")["uri"], STOCK);
    // A question to one is not answered by the other, nor its call cancelled.
    let mut conn = hosted.connect();
    conn.send(&one.tool(1, "puppet", json!({})));
    puppet.expect("began");
    puppet.order(puppet::Order::Elicit);
    let mut events = conn.events();
    let (id, _) = events.request("elicitation/create");
    two.answer(&id, puppet::filled("intruder"));
    two.notify("notifications/cancelled", json!({"requestId": 1}));
    two.ask("ping", json!({}));
    one.answer(&id, puppet::filled("owner"));
    puppet.expect("form: owner");
    puppet.order(puppet::Order::Return("done".into()));
    events.last(1);
    // Nor is what one missed told to the other.
    hosted.server.handle().tools_changed();
    let event = at_one.event().expect("an event");
    assert_eq!(event.message()["method"], "notifications/tools/list_changed");
    let last = event.id.expect("an id");
    assert_eq!(hosted.ask(&two.resume(&last)).status, 400);
    at_two.notice("notifications/tools/list_changed");
}

#[test]
fn idle_sessions_end_and_busy_ones_do_not() {
    let (server, puppet) = puppet();
    let (ends, ended) = Ends::new();
    let idle = Duration::from_millis(100);
    let hosted = Hosted::with(&server, |builder| builder.session_idle(idle).events(ends));
    let (busy, listens, idles) = (Legacy::new(&hosted), Legacy::new(&hosted), Legacy::new(&hosted));
    let mut call = hosted.connect();
    call.send(&busy.tool(1, "held", json!({"name": "a"})));
    puppet.expect("a began");
    let mut stream = listens.listen();
    assert_eq!(ended.recv_timeout(LONG).expect("one ends"), idles.id);
    assert_eq!(hosted.ask(&idles.request(1, "ping", json!({}))).status, 404);
    // Another time as long, which another session measures.
    let clock = Legacy::new(&hosted).id;
    assert_eq!(ended.recv_timeout(LONG).expect("one ends"), clock);
    server.handle().tools_changed();
    stream.notice("notifications/tools/list_changed");
    puppet.open_gate();
    assert_eq!(call.response().text(), "a let go");
    drop(stream);
    // Now they are idle.
    let last: BTreeSet<String> = (0..2).map(|_| ended.recv_timeout(LONG).expect("both end")).collect();
    assert_eq!(last, BTreeSet::from([busy.id.clone(), listens.id.clone()]));
}

#[test]
fn a_call_whose_client_is_away_keeps_its_session() {
    let (server, puppet) = puppet();
    let (ends, ended) = Ends::new();
    let idle = Duration::from_millis(100);
    let hosted = Hosted::with(&server, |builder| builder.session_idle(idle).events(ends));
    let session = Legacy::new(&hosted);
    let mut conn = hosted.connect();
    conn.send(&session.tool(1, "puppet", json!({})));
    puppet.expect("began");
    puppet.order(puppet::Order::Away(Duration::from_millis(10)));
    puppet.expect("away: true");
    let first = conn.events().event().expect("a priming event").id.expect("an id");
    let clocks: Vec<String> = (0..2)
        .map(|_| {
            let clock = Legacy::new(&hosted).id;
            assert_eq!(ended.recv_timeout(LONG).expect("one ends"), clock);
            clock
        })
        .collect();
    assert!(!clocks.contains(&session.id));
    puppet.order(puppet::Order::Return("late".into()));
    let mut events = hosted.open(&session.resume(&first));
    assert_eq!(http::text(&events.last(1)["result"]), "late");
}

#[test]
fn the_session_that_is_idle_for_longest_makes_room() {
    let (server, puppet) = puppet();
    let hosted = Hosted::with(&server, |builder| builder.max_sessions(3));
    let sessions: Vec<Legacy<'_>> = (0..3).map(|_| Legacy::new(&hosted)).collect();
    sessions[0].ask("ping", json!({}));
    let fourth = Legacy::new(&hosted);
    let ping = |session: &Legacy<'_>| hosted.ask(&session.request(1, "ping", json!({}))).status;
    assert_eq!(ping(&sessions[1]), 404);
    assert_eq!([ping(&sessions[0]), ping(&sessions[2]), ping(&fourth)], [200, 200, 200]);
    // Those in use do not, which is told to who comes later.
    let streams = [sessions[0].listen(), sessions[2].listen(), fourth.listen()];
    let refused = hosted.ask(&initialize("2025-11-25", json!({})));
    assert_eq!((refused.status, refused.json()["id"].clone()), (503, json!(0)), "{refused}");
    assert_eq!(refused.header("Mcp-Session-Id"), None);
    // Nor while a call is open.
    drop(streams);
    let mut call = hosted.connect();
    call.send(&sessions[0].tool(1, "held", json!({"name": "a"})));
    puppet.expect("a began");
    let begun: Vec<String> = (0..5).map(|_| Legacy::new(&hosted).id).collect();
    assert_eq!(begun.len(), 5);
    puppet.open_gate();
    assert_eq!(call.response().text(), "a let go");
}

#[test]
fn ten_thousand_clients_that_never_say_goodbye_are_forgotten() {
    let (server, _puppet) = puppet();
    let (ends, ended) = Ends::new();
    let hosted = Hosted::with(&server, |builder| builder.max_sessions(50).events(ends));
    let mut conn = hosted.connect();
    let hello = initialize("2025-11-25", json!({})).bytes();
    // A few at a time, so that the round trips do not take all of it.
    for _ in 0..1000 {
        conn.send_bytes(&hello.repeat(10));
        for _ in 0..10 {
            assert_eq!(conn.response().status, 200);
        }
    }
    assert!(ended.len() >= 10_000 - 50, "{} have ended", ended.len());
    assert_eq!(Legacy::new(&hosted).call("echo", json!({"message": "on"})), "on");
}

#[test]
fn a_client_that_hurries_is_served() {
    let (hosted, _puppet) = hosted();
    let hello = hosted.ask(&initialize("2025-11-25", json!({})));
    let id = hello.header("Mcp-Session-Id").expect("a session");
    // Without `notifications/initialized`.
    let list = Request::post(&message(1, "tools/list", json!({}))).with("Mcp-Session-Id", id);
    assert!(hosted.ask(&list).result()["tools"].is_array());
    // An `initialize` within a session opens another, or is refused; the first one goes on.
    let again = hosted.ask(&initialize("2025-11-25", json!({})).with("Mcp-Session-Id", id));
    assert!(
        again.status == 400 || again.header("Mcp-Session-Id").is_some_and(|other| other != id),
        "{again}"
    );
    assert!(hosted.ask(&list).result()["tools"].is_array());
}
