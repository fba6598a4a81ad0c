//! Clients of 2024-11-05 over HTTP+SSE: one stream for all that the server says, and a place to post to.
//!
//! spec: 2024-11-05 basic/transports#http-with-sse

#[path = "support/eras.rs"]
mod eras;
#[path = "support/http.rs"]
mod http;
#[path = "support/puppet.rs"]
mod puppet;

use std::time::{Duration, Instant};

use eras::{Legacy, initialize, message, notification};
use http::{Events, Hosted, LONG, Request, Response, text};
use puppet::{Order, Puppet, STOCK, puppet, puppet_with};
use serde_json::{Value, json};
use tinymcp::ProtocolVersion;

fn hosted() -> (Hosted, Puppet) {
    let (server, puppet) = puppet();
    (Hosted::new(&server), puppet)
}

/// A client with its stream open.
struct Pair<'a> {
    hosted: &'a Hosted,
    events: Events,
    /// Where it posts to.
    place: String,
}

impl<'a> Pair<'a> {
    #[track_caller]
    fn connect(hosted: &'a Hosted) -> Self {
        Self::connect_at(hosted, "/sse")
    }

    #[track_caller]
    fn connect_at(hosted: &'a Hosted, path: &str) -> Self {
        let mut events = hosted.open(&Request::get().at(path));
        let first = events.event().expect("an event");
        assert_eq!(first.event.as_deref(), Some("endpoint"), "{first:?}");
        Self { hosted, events, place: first.data.expect("a place") }
    }

    /// After the handshake.
    #[track_caller]
    fn new(hosted: &'a Hosted) -> Self {
        let mut pair = Self::connect(hosted);
        let able = json!({"sampling": {}, "roots": {}});
        let hello = initialize("2024-11-05", able).json();
        pair.tell(&hello);
        assert_eq!(pair.answer(0)["protocolVersion"], "2024-11-05");
        pair.tell(&notification("notifications/initialized", json!({})));
        pair
    }

    fn post(&self, body: &Value) -> Response {
        self.hosted.ask(&Request::post(body).at(&self.place))
    }

    #[track_caller]
    fn tell(&self, body: &Value) {
        let response = self.post(body);
        assert_eq!(response.status, 202, "{response}");
    }

    #[track_caller]
    fn next(&mut self) -> Value {
        let event = self.events.event().expect("a message");
        assert!(event.event.as_ref().is_none_or(|name| name == "message"), "{event:?}");
        event.message()
    }

    /// The result of the request `id`, which comes next.
    #[track_caller]
    fn answer(&mut self, id: impl Into<Value>) -> Value {
        let mut answer = self.next();
        assert_eq!(answer["id"], id.into(), "{answer}");
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].take()
    }

    #[track_caller]
    fn ask(&mut self, id: i64, method: &str, params: Value) -> Value {
        self.tell(&message(id, method, params));
        self.answer(id)
    }

    fn call(&self, id: i64, tool: &str, arguments: Value) {
        self.tell(&message(id, "tools/call", json!({"name": tool, "arguments": arguments})));
    }
}

#[test]
fn what_is_posted_is_answered_on_the_stream() {
    let (hosted, puppet) = hosted();
    let mut pair = Pair::new(&hosted);
    assert_eq!(pair.events.head.header("X-Accel-Buffering"), Some("no"));
    assert!(pair.place.starts_with("/messages?sessionId="), "{}", pair.place);
    assert_eq!(pair.ask(1, "ping", json!({})), json!({}));
    assert!(pair.ask(2, "tools/list", json!({}))["tools"].is_array());
    pair.call(3, "echo", json!({"message": "hi"}));
    assert_eq!(text(&pair.answer(3)), "hi");
    // Calls are answered when they are done, and others meanwhile.
    pair.call(4, "held", json!({"name": "a"}));
    puppet.expect("a began");
    pair.ask(5, "ping", json!({}));
    pair.tell(&message(4, "tools/list", json!({})));
    let refused = pair.next();
    assert_eq!((refused.get("id"), &refused["error"]["code"]), (None, &json!(-32600)), "{refused}");
    puppet.open_gate();
    assert_eq!(text(&pair.answer(4)), "a let go");
    pair.tell(&message(6, "no/method", json!({})));
    let unknown = pair.next();
    assert_eq!((&unknown["id"], &unknown["error"]["code"]), (&json!(6), &json!(-32601)));
}

#[test]
fn progress_questions_and_changes_come_on_the_same_stream() {
    let (hosted, puppet) = hosted();
    let mut pair = Pair::new(&hosted);
    pair.tell(&message(1, "tools/call", json!({"name": "puppet", "_meta": {"progressToken": "p"}})));
    puppet.expect("began");
    puppet.order(Order::Progress(1.0));
    assert_eq!(pair.events.notice("notifications/progress")["progressToken"], "p");
    puppet.order(Order::Roots);
    let (id, _) = pair.events.request("roots/list");
    pair.tell(&json!({"jsonrpc": "2.0", "id": id, "result": {"roots": [{"uri": "file:///a"}]}}));
    puppet.expect("roots: 1");
    puppet.order(Order::Return("done".into()));
    assert_eq!(text(&pair.answer(1)), "done");
    hosted.server.handle().tools_changed();
    pair.events.notice("notifications/tools/list_changed");
    pair.ask(2, "resources/subscribe", json!({"uri": STOCK}));
    hosted.server.handle().resource_updated(STOCK);
    assert_eq!(pair.events.notice("notifications/resources/updated")["uri"], STOCK);
    // Nobody is sent away who cannot come back.
    pair.call(3, "puppet", json!({}));
    puppet.expect("began");
    puppet.order(Order::Away(Duration::from_secs(1)));
    puppet.expect("away: false");
    pair.tell(&notification("notifications/cancelled", json!({"requestId": 3})));
    assert!(puppet.told().starts_with("cancelled"));
    // It has no answer.
    pair.ask(4, "ping", json!({}));
}

#[test]
fn a_session_is_known_by_its_place_and_ends_with_its_stream() {
    let (hosted, puppet) = hosted();
    let (pair, mut other) = (Pair::new(&hosted), Pair::new(&hosted));
    assert_ne!(pair.place, other.place);
    let ping = message(1, "ping", json!({}));
    for place in ["/messages", "/messages?sessionId=", "/messages?sessionId=unknown", "/messages?session=x"] {
        let status = hosted.ask(&Request::post(&ping).at(place)).status;
        assert!(matches!(status, 400 | 404), "{place}: {status}");
    }
    // It is no session of the endpoint, nor the reverse.
    let id = pair.place.split_once('=').expect("an id").1;
    assert!(id.len() >= 32, "{id}");
    assert_eq!(hosted.ask(&Request::post(&ping).with("Mcp-Session-Id", id)).status, 404);
    let session = Legacy::new(&hosted);
    let place = format!("/messages?sessionId={}", session.id);
    assert_eq!(hosted.ask(&Request::post(&ping).at(&place)).status, 404);
    // What is open is given up with the stream.
    pair.call(1, "wait", json!({"name": "w"}));
    puppet.expect("w began");
    let place = pair.place.clone();
    drop(pair);
    puppet.expect("w cancelled");
    let start = Instant::now();
    while hosted.ask(&Request::post(&ping).at(&place)).status != 404 {
        assert!(start.elapsed() < LONG, "it goes on");
    }
    other.ask(2, "ping", json!({}));
}

#[test]
fn what_is_no_message_is_refused() {
    let (hosted, _puppet) = hosted();
    let mut pair = Pair::new(&hosted);
    let ping = message(1, "ping", json!({}));
    for body in ["not json", "{}", "5", "", &json!([ping]).to_string()] {
        let response = hosted.ask(&Request::post(&json!(null)).with_body(body).at(&pair.place));
        assert_eq!(response.status, 400, "{body}: {response}");
    }
    for (method, path, allow) in
        [("POST", "/sse", "GET"), ("GET", pair.place.as_str(), "POST"), ("PUT", "/sse", "GET")]
    {
        let response = hosted.ask(&Request::new(method, path).with("Connection", "close"));
        assert_eq!((response.status, response.header("Allow")), (405, Some(allow)), "{method} {path}");
    }
    pair.ask(2, "ping", json!({}));
}

#[test]
fn a_silent_stream_says_that_it_lives_and_ends_with_the_server() {
    let (server, puppet) = puppet();
    let hosted = Hosted::with(&server, |builder| builder.keep_alive(Duration::from_millis(20)));
    let mut pair = Pair::new(&hosted);
    assert!(pair.events.block().expect("a comment").comments > 0);
    pair.call(1, "held", json!({"name": "a"}));
    puppet.expect("a began");
    server.handle().stop();
    puppet.open_gate();
    puppet.expect("a let go");
    // What was accepted is answered, if the stream is still there.
    let rest = pair.events.rest();
    assert!(rest.len() <= 1, "{rest:?}");
}

#[test]
fn it_is_served_where_and_if_it_is_wanted() {
    let (server, _puppet) = puppet();
    let none = Hosted::with(&server, |builder| builder.sse_paths(None));
    let (server, _puppet) = puppet_with(|builder| builder.versions([ProtocolVersion::V2025_11_25]));
    let newer = Hosted::new(&server);
    for hosted in [&none, &newer] {
        assert_eq!(hosted.ask(&Request::get().at("/sse")).status, 404);
        assert_eq!(hosted.ask(&Request::post(&json!({})).at("/messages?sessionId=1")).status, 404);
        assert_eq!(Legacy::new(hosted).call("echo", json!({"message": "hi"})), "hi");
    }
    let (server, _puppet) = puppet();
    let elsewhere = Hosted::with(&server, |builder| builder.sse_paths(Some(("/old/stream", "/old/post"))));
    let pair = Pair::connect_at(&elsewhere, "/old/stream");
    assert!(pair.place.starts_with("/old/post?"), "{}", pair.place);
    pair.tell(&message(1, "ping", json!({})));
    assert_eq!(elsewhere.ask(&Request::get().at("/sse")).status, 404);
}
