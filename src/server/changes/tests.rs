//! Who is told of what, step by step; and what clients see of it, with features that only declare themselves.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tinymcp::testing::ScriptedPeer;

use super::*;
use crate::peer::{Pending, Served};
use crate::protocol::{PromptsCapability, ProtocolVersion, ServerCapabilities};
use crate::server::asked::Asked as Question;
use crate::server::feature::Feature;
use crate::server::watch::Watch;

/// Has room for so many notices.
struct Room(AtomicUsize, Mutex<Vec<String>>);

impl Room {
    fn new(notices: usize) -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(notices), Mutex::default()))
    }

    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.1.lock().expect("no panic"))
    }
}

impl Outlet for Room {
    fn notify(&self, _call: &Call, _method: &str, _params: &str, _is_due: &dyn Fn() -> bool) -> bool {
        false
    }

    fn post(&self, _call: Option<&Call>, method: &str, params: Option<&str>) -> Result<(), NotSent> {
        let room = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |room| room.checked_sub(1));
        room.map_err(|_| NotSent::Full(0))?;
        let what = method.trim_start_matches("notifications/");
        self.1.lock().expect("no panic").push(format!("{what} {}", params.unwrap_or("-")));
        Ok(())
    }

    fn pending(&self) -> Option<&Pending> {
        None
    }

    fn send(&self, _call: &Call, _frame: &[u8]) -> Result<(), NotSent> {
        Err(NotSent::Full(0))
    }

    fn look_after(&self) {}

    fn answer(&self, _call: &Arc<Call>, _result: Result<&str, &crate::jsonrpc::ErrorObject>, _: bool) {}
}

fn listen(marks: &mut Marks, connection: u64, room: &Arc<Room>, uris: &[&str]) -> (u64, Arc<Call>) {
    let call = Arc::new(Call::new(1.into()));
    let outlet: Arc<dyn Outlet> = Arc::<Room>::clone(room);
    let told = vec![Method::ToolsListChanged];
    let mut listener = Listener::new(connection, Owner::Listen(Arc::clone(&call)), &outlet, told);
    uris.iter().for_each(|uri| listener.watch(uri));
    (marks.add(listener).expect("room"), call)
}

fn greet(
    marks: &mut Marks,
    connection: u64,
    room: &Arc<Room>,
    version: &ProtocolVersion,
) -> Arc<LegacyClient> {
    let client = Arc::new(LegacyClient {
        version: version.clone(),
        capabilities: None,
        info: None,
        log_threshold: crate::context::LogThreshold::new(false),
        asked_urls: crate::sync::Mutex::default(),
    });
    let outlet: Arc<dyn Outlet> = Arc::<Room>::clone(room);
    let told = vec![Method::ToolsListChanged];
    marks.greet(Listener::new(connection, Owner::Legacy(Arc::clone(&client)), &outlet, told));
    client
}

fn tools() -> Notice {
    Notice { method: Method::ToolsListChanged, subject: None }
}

fn updated(uri: &str) -> Notice {
    Notice { method: Method::ResourcesUpdated, subject: Some(uri.into()) }
}

fn completed(id: &str) -> Notice {
    Notice { method: Method::ElicitationComplete, subject: Some(id.into()) }
}

/// Tells everybody, as the thread does.
fn tell(marks: &mut Marks) {
    let mut key = 0;
    while let Some(turn) = marks.next_turn(key) {
        key = turn.key;
        let left = Changes::default().send(&turn);
        marks.put_back(key, &turn.notices[turn.notices.len() - left..]);
    }
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/subscriptionId":1}"#;

#[test]
fn what_is_marked_is_told_once_and_not_before_the_listener_is_ready() {
    let mut marks = Marks::default();
    let connection = marks.open(OF_A_CLIENT);
    let room = Room::new(99);
    let (key, _call) = listen(&mut marks, connection, &room, &["b", "a", "b"]);
    for notice in [tools(), updated("a"), updated("a"), tools(), updated("c"), completed("a")] {
        assert!(!marks.mark(&notice), "nobody can be told yet");
    }
    tell(&mut marks);
    assert_eq!(room.heard(), [""; 0]);
    assert_eq!(marks.acknowledged(key), Some(true));
    assert!(!marks.mark(&tools()), "it is marked already");
    assert!(marks.mark(&updated("b")));
    tell(&mut marks);
    let resource = |uri: &str| format!(r#"resources/updated {{{META},"uri":"{uri}"}}"#);
    assert_eq!(room.heard(), [format!("tools/list_changed {{{META}}}"), resource("a"), resource("b")]);
    tell(&mut marks);
    assert_eq!(room.heard(), [""; 0]);
    assert!(marks.mark(&updated("a")), "news again");
}

#[test]
fn what_there_is_no_room_for_is_told_later_and_holds_nobody_up() {
    let mut marks = Marks::default();
    let (first, second) = (marks.open(OF_A_CLIENT), marks.open(OF_A_CLIENT));
    let (slow, quick) = (Room::new(1), Room::new(99));
    for (connection, room) in [(first, &slow), (second, &quick)] {
        greet(&mut marks, connection, room, &ProtocolVersion::V2025_06_18);
        marks.initialized(connection);
        marks.subscribe(connection, "a").expect("room");
        marks.subscribe(connection, "b").expect("room");
    }
    for notice in [updated("b"), tools(), updated("a")] {
        assert!(marks.mark(&notice));
    }
    tell(&mut marks);
    let (a, b) = (r#"resources/updated {"uri":"a"}"#, r#"resources/updated {"uri":"b"}"#);
    assert_eq!(slow.heard(), [b]);
    assert_eq!(quick.heard(), [b, "tools/list_changed -", a]);
    // What is marked while it waits is no more than once there; nobody is told of what he gave up.
    marks.mark(&tools());
    marks.mark(&updated("b"));
    marks.unsubscribe(first, "a");
    slow.0.store(99, Ordering::SeqCst);
    tell(&mut marks);
    assert_eq!(slow.heard(), ["tools/list_changed -", b]);
}

#[test]
fn only_who_was_asked_hears_that_it_is_complete() {
    let mut marks = Marks::default();
    let rooms = [(); 3].map(|()| Room::new(99));
    let versions = [ProtocolVersion::V2025_11_25, ProtocolVersion::V2025_11_25, ProtocolVersion::V2025_06_18];
    let clients = [0, 1, 2].map(|at| {
        let connection = marks.open(OF_A_CLIENT);
        let client = greet(&mut marks, connection, &rooms[at], &versions[at]);
        marks.initialized(connection);
        client
    });
    clients[0].url_asked("e");
    clients[2].url_asked("e");
    assert!(marks.mark(&completed("e")));
    assert!(!marks.mark(&completed("e")), "it is complete only once");
    rooms[0].0.store(0, Ordering::SeqCst);
    tell(&mut marks);
    rooms[0].0.store(9, Ordering::SeqCst);
    tell(&mut marks);
    assert_eq!(rooms[0].heard(), [r#"elicitation/complete {"elicitationId":"e"}"#]);
    assert_eq!((rooms[1].heard().len(), rooms[2].heard().len()), (0, 0));
    // So many are remembered.
    (0..1025).for_each(|n| clients[0].url_asked(&n.to_string()));
    assert!(!clients[0].forget_url("0") && clients[0].forget_url("1") && clients[0].forget_url("1024"));
}

#[test]
fn who_has_gone_is_forgotten() {
    let mut marks = Marks::default();
    let connection = marks.open(OF_A_CLIENT);
    let room = Room::new(99);
    let (cancelled, call) = listen(&mut marks, connection, &room, &[]);
    let (open, _call) = listen(&mut marks, connection, &room, &["a"]);
    call.close();
    marks.prune();
    assert_eq!((marks.acknowledged(cancelled), marks.acknowledged(open)), (None, Some(false)));
    // One that is being acknowledged is not ended by somebody else.
    let (waits, _call) = listen(&mut marks, connection, &room, &[]);
    marks.mark(&updated("a"));
    let turns = marks.close(connection, true);
    let [turn] = turns.as_slice() else { panic!("one is open") };
    assert_eq!((turn.key, turn.notices.len()), (open, 1));
    assert!(marks.close(connection, true).is_empty());
    assert_eq!(marks.acknowledged(waits), None);
    assert!(marks.is_empty());
    let outlet: Arc<dyn Outlet> = room;
    let late = Listener::new(connection, Owner::Listen(Arc::new(Call::new(1.into()))), &outlet, vec![]);
    assert_eq!(marks.add(late), Err("change notices need a connection that stays open".to_owned()));
    // The same for one whose connection has gone without a word.
    let connection = marks.open(OF_A_CLIENT);
    let room = Room::new(99);
    listen(&mut marks, connection, &room, &[]);
    drop(room);
    marks.prune();
    assert!(marks.is_empty());
}

/// Prompts, as far as they are declared.
struct Declared;

impl Feature for Declared {
    fn methods(&self) -> &'static [Method] {
        &[]
    }

    fn is_quick(&self, _method: Method) -> bool {
        true
    }

    fn declare(&self, capabilities: &mut ServerCapabilities, _version: &ProtocolVersion) {
        capabilities.prompts = Some(PromptsCapability::new(true));
    }

    fn serve(&self, _asked: Question<'_>, _out: &mut Vec<u8>) -> Served {
        unreachable!("it has no methods")
    }
}

const LONG: Duration = Duration::from_secs(20);

fn server() -> Server {
    Server::builder("declared", "1").feature(Declared).feature(Watch).build().expect("a server")
}

fn connect(server: &Server) -> ScriptedPeer {
    ScriptedPeer::for_server(server).with_deadline(LONG)
}

fn initialized(server: &Server, version: &str) -> ScriptedPeer {
    let mut client = connect(server);
    let params =
        json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "0"}});
    client.request(0, "initialize", params);
    client.expect_result(0);
    client.notify("notifications/initialized", json!({}));
    settle(&mut client);
    client
}

#[track_caller]
fn settle(client: &mut ScriptedPeer) {
    client.request("settle", "ping", json!({}));
    client.expect_result("settle");
}

#[track_caller]
fn ask(client: &mut ScriptedPeer, method: &str, uri: &str) {
    client.request(1, method, json!({"uri": uri}));
    assert_eq!(client.expect_result(1).as_str(), "{}");
}

#[track_caller]
fn expect(client: &mut ScriptedPeer, method: &str) -> Value {
    client
        .expect_notification(&format!("notifications/{method}"))
        .params
        .map_or(Value::Null, |p| p.to_value())
}

fn modern(filter: Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}
    });
    json!({"notifications": filter, "_meta": meta})
}

/// Every frame is one that the client's revision has.
fn judge(client: &ScriptedPeer, version: &str) {
    let frames: Vec<(bool, Value)> = client
        .conversation()
        .iter()
        .filter_map(|line| Some((line.starts_with('<'), serde_json::from_str(line.get(2..)?).ok()?)))
        .collect();
    assert!(frames.len() > 2 && !version.is_empty());
    #[cfg(feature = "validation")]
    for (_, frame) in frames.iter().filter(|(is_ours, _)| *is_ours) {
        let asked = frames.iter().find(|(is_ours, asked)| !is_ours && asked["id"] == frame["id"]);
        let answered =
            asked.filter(|_| frame.get("id").is_some()).and_then(|(_, asked)| asked["method"].as_str());
        crate::era::schema::check_frame(
            &ProtocolVersion::from(version),
            crate::method::Direction::ToClient,
            frame,
            answered,
        );
    }
}

#[test]
fn legacy_clients_hear_of_the_resources_they_subscribed_to() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let server = server();
        let (mut one, mut other) = (initialized(&server, version), initialized(&server, version));
        ask(&mut one, "resources/subscribe", "file:///a");
        ask(&mut one, "resources/subscribe", "file:///b");
        ask(&mut one, "resources/subscribe", "file:///a");
        ask(&mut other, "resources/subscribe", "file:///b");
        server.resource_updated("file:///a");
        assert_eq!(expect(&mut one, "resources/updated"), json!({"uri": "file:///a"}));
        server.resource_updated("file:///b");
        for client in [&mut one, &mut other] {
            assert_eq!(expect(client, "resources/updated"), json!({"uri": "file:///b"}));
        }
        ask(&mut one, "resources/unsubscribe", "file:///b");
        ask(&mut one, "resources/unsubscribe", "file:///never");
        server.handle().resource_updated("file:///b");
        expect(&mut other, "resources/updated");
        server.prompts_changed();
        server.resources_changed();
        for client in [&mut one, &mut other] {
            assert_eq!(expect(client, "prompts/list_changed"), Value::Null);
            assert_eq!(expect(client, "resources/list_changed"), Value::Null);
            settle(client);
            judge(client, version);
        }
    }
}

#[test]
fn modern_clients_hear_of_what_they_listen_to() {
    let server = server();
    let mut client = connect(&server);
    let everything = json!({
        "resourceSubscriptions": ["file:///b", "file:///a", "file:///b"], "promptsListChanged": true,
        "resourcesListChanged": true, "toolsListChanged": true
    });
    client.request(1, "subscriptions/listen", modern(everything.clone()));
    let meta = |id: Value| json!({"io.modelcontextprotocol/subscriptionId": id});
    let mut honoured = everything;
    honoured["resourceSubscriptions"] = json!(["file:///a", "file:///b"]);
    let acknowledged = expect(&mut client, "subscriptions/acknowledged");
    assert_eq!(acknowledged, json!({"_meta": meta(json!(1)), "notifications": honoured}));
    client.request("1", "subscriptions/listen", modern(json!({"resourceSubscriptions": ["file:///b"]})));
    expect(&mut client, "subscriptions/acknowledged");
    client.request("none", "subscriptions/listen", modern(json!({"resourceSubscriptions": []})));
    let acknowledged = expect(&mut client, "subscriptions/acknowledged");
    assert_eq!(acknowledged["notifications"], json!({"resourceSubscriptions": []}));
    for list in ["prompts", "resources", "tools"] {
        match list {
            "prompts" => server.prompts_changed(),
            "resources" => server.resources_changed(),
            _ => server.tools_changed(),
        }
        assert_eq!(expect(&mut client, &format!("{list}/list_changed")), json!({"_meta": meta(json!(1))}));
    }
    (0..1000).for_each(|_| server.resource_updated("file:///b"));
    let mut heard = Vec::new();
    while heard.len() < 2 {
        let changed = expect(&mut client, "resources/updated");
        assert_eq!(changed["uri"], "file:///b");
        heard.extend(Some(changed["_meta"].clone()).filter(|meta| !heard.contains(meta)));
    }
    assert!(heard.contains(&meta(json!(1))) && heard.contains(&meta(json!("1"))));
    client.close();
    while client.conversation().iter().filter(|line| line.contains(r#""resultType""#)).count() < 3 {
        client.expect_frame();
    }
    client.expect_end();
    let notices = client.conversation().iter().filter(|line| line.contains("resources/updated")).count();
    assert!(notices < 100, "{notices} notices");
    judge(&client, "2026-07-28");
}

#[test]
fn what_is_watched_has_limits() {
    let server = server();
    let mut client = initialized(&server, "2025-11-25");
    let uri = |n: usize| format!("file:///{n}");
    for n in 0..1000 {
        ask(&mut client, "resources/subscribe", &uri(n));
    }
    let listen = |uris: std::ops::Range<usize>| {
        modern(json!({"resourceSubscriptions": uris.map(uri).collect::<Vec<_>>()}))
    };
    let full = "server busy: no more than 1024 resources and tasks are watched for a connection";
    client.request(1, "subscriptions/listen", listen(0..25));
    let error = client.expect_error(crate::RequestId::from(1));
    assert_eq!((error.code, error.message.as_str()), (-32603, full));
    client.request(2, "subscriptions/listen", listen(0..24));
    expect(&mut client, "subscriptions/acknowledged");
    client.request(1, "resources/subscribe", json!({"uri": "file:///one-more"}));
    assert_eq!(client.expect_error(crate::RequestId::from(1)).message, full);
    ask(&mut client, "resources/subscribe", &uri(0)); // is watched already
    client.notify("notifications/cancelled", json!({"requestId": 2}));
    client.request(3, "subscriptions/listen", listen(0..24)); // which forgets the other
    expect(&mut client, "subscriptions/acknowledged");
    for (params, message) in [
        (json!({}), "params.uri: missing"),
        (json!({"uri": "x".repeat(8193)}), "params.uri: longer than 8192 bytes"),
    ] {
        client.request(1, "resources/subscribe", params);
        let error = client.expect_error(crate::RequestId::from(1));
        assert_eq!((error.code, error.message.as_str()), (-32602, message));
    }
    for (uris, message) in [
        (json!("a"), "params.notifications.resourceSubscriptions: expected a list, found \"a\""),
        (json!(["a", 1]), "params.notifications.resourceSubscriptions[1]: expected a string, found 1"),
        (
            json!(["a", "x".repeat(8193)]),
            "params.notifications.resourceSubscriptions[1]: longer than 8192 bytes",
        ),
    ] {
        client.request(1, "subscriptions/listen", modern(json!({"resourceSubscriptions": uris})));
        let error = client.expect_error(crate::RequestId::from(1));
        assert_eq!((error.code, error.message.as_str()), (-32602, message));
    }
}
