//! Change notices, as scripted clients of both eras see them.
//!
//! Order on the wire stands in for waiting: a `ping` is answered after what was sent before it.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tinymcp::json::Json;
use tinymcp::testing::ScriptedPeer;
use tinymcp::transport::Stream;
use tinymcp::{FnTool, Message, RequestId, Server, ToolRegistry, tool};

const LONG: Duration = Duration::from_secs(20);

const CHANGED: &str = "notifications/tools/list_changed";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const CANCELLED: &str = "notifications/cancelled";

fn server() -> Server {
    let tools = ToolRegistry::new();
    let registry = tools.clone();
    let grow = tool! { fn grow(name: String) -> &'static str {
        registry.register(named(&name)).expect("free");
        "grown"
    } };
    tools.register(grow).expect("a good tool");
    Server::builder("changing", "1").tools(tools).build().expect("a server")
}

fn named(name: &str) -> FnTool {
    FnTool::new(name, "", json!({"type": "object"}), |_, _| "done")
}

fn connect(server: &Server) -> ScriptedPeer {
    ScriptedPeer::for_server(server).with_deadline(LONG)
}

fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    params
}

#[track_caller]
fn initialize(client: &mut ScriptedPeer) {
    greet(client);
    client.notify("notifications/initialized", json!({}));
    settle(client);
}

#[track_caller]
fn greet(client: &mut ScriptedPeer) {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "scripted", "version": "0"}
    });
    client.request("init", "initialize", params);
    client.expect_result("init");
}

/// What was sent before has been heard, and nothing was said.
#[track_caller]
fn settle(client: &mut ScriptedPeer) {
    client.request("settle", "ping", json!({}));
    client.expect_result("settle");
}

fn subscription(params: Option<&Json>) -> Value {
    params.expect("parameters").to_value()["_meta"]["io.modelcontextprotocol/subscriptionId"].take()
}

#[track_caller]
fn listen(client: &mut ScriptedPeer, id: impl Into<RequestId>, filter: Value) -> Value {
    let id = id.into();
    client.request(id.clone(), "subscriptions/listen", modern(json!({"notifications": filter})));
    let acknowledged = client.expect_notification(ACKNOWLEDGED);
    assert_eq!(subscription(acknowledged.params.as_ref()), json!(id));
    acknowledged.params.expect("parameters").to_value()["notifications"].take()
}

#[track_caller]
fn expect_change(client: &mut ScriptedPeer, id: impl Into<RequestId>) {
    let changed = client.expect_notification(CHANGED);
    assert_eq!(subscription(changed.params.as_ref()), json!(id.into()));
}

/// Two kinds of clients on one server, and one that mixes.
#[test]
fn a_change_is_told_in_the_words_of_each_era() {
    let server = server();
    let (mut old, mut new, mut both) = (connect(&server), connect(&server), connect(&server));
    initialize(&mut old);
    initialize(&mut both);
    assert_eq!(listen(&mut new, 1, json!({"toolsListChanged": true})), json!({"toolsListChanged": true}));
    listen(&mut both, "1", json!({"toolsListChanged": true}));
    server.tools().register(named("a")).expect("free");
    assert_eq!(old.expect_notification(CHANGED).params, None);
    expect_change(&mut new, 1);
    assert_eq!(both.expect_notification(CHANGED).params, None);
    expect_change(&mut both, "1");
    // By hand, from a handle, for tools that describe themselves anew.
    server.handle().tools_changed();
    old.expect_notification(CHANGED);
    expect_change(&mut new, 1);
}

#[test]
fn modern_clients_learn_that_changes_can_be_told() {
    let mut client = connect(&server());
    client.request(1, "server/discover", modern(json!({})));
    let discovered = client.expect_result(1).to_value();
    assert_eq!(discovered["capabilities"], json!({"tools": {"listChanged": true}}));
}

#[test]
fn a_subscription_hears_what_it_asked_for_of_what_there_is() {
    let server = server();
    let mut client = connect(&server);
    let everything = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": ["file:///a"], "com.example/more": 1
    });
    assert_eq!(listen(&mut client, 1, everything), json!({"toolsListChanged": true}));
    // Nothing is agreed, and the request stays open all the same.
    assert_eq!(listen(&mut client, 2, json!({"toolsListChanged": false})), json!({}));
    assert_eq!(
        listen(&mut client, 3, json!({"promptsListChanged": true, "toolsListChanged": null})),
        json!({})
    );
    server.prompts_changed();
    server.resources_changed();
    server.resource_updated("file:///a");
    server.elicitation_completed("e");
    server.tools_changed();
    expect_change(&mut client, 1);
    settle(&mut client);
}

#[test]
fn several_subscriptions_end_one_by_one() {
    let server = server();
    let mut client = connect(&server);
    for id in [RequestId::from(1), "1".into(), 2.into()] {
        listen(&mut client, id, json!({"toolsListChanged": true}));
    }
    client.notify(CANCELLED, json!({"requestId": "1", "reason": "enough"}));
    settle(&mut client);
    server.tools_changed();
    expect_change(&mut client, 1);
    expect_change(&mut client, 2);
    // Its id is free again.
    listen(&mut client, "1", json!({}));
    client.notify(CANCELLED, json!({"requestId": 1}));
    client.notify(CANCELLED, json!({"requestId": 2}));
    settle(&mut client);
    server.tools_changed();
    settle(&mut client);
    listen(&mut client, 1, json!({"toolsListChanged": true}));
    server.tools_changed();
    expect_change(&mut client, 1);
}

#[test]
fn an_open_subscription_keeps_its_id() {
    let mut client = connect(&server());
    listen(&mut client, 1, json!({}));
    client.request(1, "subscriptions/listen", modern(json!({"notifications": {}})));
    assert_eq!(client.expect_error(None).message, "request id 1 is in use");
}

#[test]
fn bad_filters_are_refused_by_name() {
    let mut client = connect(&server());
    for (params, message) in [
        (json!({}), "params.notifications: missing".to_owned()),
        (json!({"notifications": 1}), "params.notifications: expected an object, found 1".to_owned()),
        (
            json!({"notifications": {"toolsListChanged": "maybe"}}),
            "params.notifications.toolsListChanged: expected a boolean, found \"maybe\"".to_owned(),
        ),
    ] {
        client.request(1, "subscriptions/listen", modern(params));
        let error = client.expect_error(RequestId::from(1));
        assert_eq!((error.code, error.message), (-32602, message));
    }
}

#[test]
fn so_many_subscriptions_may_be_open() {
    let server = server();
    let mut client = connect(&server);
    (1..=64).for_each(|id| drop(listen(&mut client, id, json!({"toolsListChanged": true}))));
    client.request(65, "subscriptions/listen", modern(json!({"notifications": {}})));
    let error = client.expect_error(RequestId::from(65));
    assert_eq!(
        (error.code, error.message.as_str()),
        (-32603, "server busy: no more than 64 subscriptions are open for a connection")
    );
    // Others have room, and a cancelled one makes room.
    listen(&mut connect(&server), 1, json!({}));
    client.notify(CANCELLED, json!({"requestId": 1}));
    listen(&mut client, 65, json!({"toolsListChanged": true}));
    server.tools_changed();
    (2..=65).for_each(|id| expect_change(&mut client, id));
}

#[test]
fn the_acknowledgement_comes_first_whatever_happens_meanwhile() {
    let server = server();
    let handle = server.handle();
    let done = tinymcp::CancelToken::new();
    let changing = {
        let done = done.clone();
        thread::spawn(move || {
            while !done.is_cancelled() {
                handle.tools_changed();
            }
        })
    };
    let mut client = connect(&server);
    for id in 1..=50 {
        client.request(
            id,
            "subscriptions/listen",
            modern(json!({"notifications": {"toolsListChanged": true}})),
        );
    }
    let mut acknowledged = Vec::new();
    let mut told = Vec::new();
    while acknowledged.len() < 50 || told.len() < 50 {
        let Message::Notification(notification) = client.expect() else { panic!("only notices") };
        let id = subscription(notification.params.as_ref());
        if notification.method == ACKNOWLEDGED {
            acknowledged.push(id);
        } else {
            assert!(acknowledged.contains(&id), "{id} is told before it is acknowledged");
            told.extend(Some(id.clone()).filter(|id| !told.contains(id)));
        }
    }
    done.cancel("enough");
    changing.join().expect("no panic");
}

#[test]
fn a_handshake_is_completed_before_anything_is_told() {
    let server = server();
    let mut client = connect(&server);
    greet(&mut client);
    server.tools_changed();
    settle(&mut client);
    client.notify("notifications/initialized", json!({}));
    client.expect_notification(CHANGED);
}

#[test]
fn a_burst_is_few_notices() {
    let server = server();
    let mut client = connect(&server);
    listen(&mut client, 1, json!({"toolsListChanged": true}));
    (0..1000).for_each(|n| server.tools().register(named(&format!("t{n}"))).expect("free"));
    client.close();
    let mut notices = 0;
    while client.expect_frame().contains(CHANGED) {
        notices += 1;
    }
    assert!((1..100).contains(&notices), "{notices} notices");
    client.expect_result(1);
    client.expect_end();
}

#[track_caller]
fn expect_ended(client: &mut ScriptedPeer, id: impl Into<RequestId>) {
    let id = id.into();
    let cancelled = client.expect_notification(CANCELLED).params.expect("parameters").to_value();
    assert_eq!(cancelled["requestId"], json!(id));
    let result = client.expect_result(id.clone()).to_value();
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/subscriptionId"], json!(id));
}

#[test]
fn subscriptions_end_in_order_at_the_end_of_the_input_and_at_a_stop() {
    for stops in [false, true] {
        let server = server();
        let mut client = connect(&server);
        listen(&mut client, 1, json!({"toolsListChanged": true}));
        listen(&mut client, "two", json!({}));
        if stops {
            server.handle().stop();
        } else {
            // What was changed last is told before the end.
            server.tools_changed();
            client.close();
            expect_change(&mut client, 1);
        }
        expect_ended(&mut client, 1);
        expect_ended(&mut client, "two");
        client.close();
        client.expect_end();
    }
}

#[test]
fn the_work_that_is_done_at_the_end_is_told_as_well() {
    let mut client = connect(&server());
    initialize(&mut client);
    client.request(1, "tools/call", json!({"name": "grow", "arguments": {"name": "late"}}));
    client.close();
    let (first, second) = (client.expect_frame(), client.expect_frame());
    assert!(first.contains(CHANGED) != second.contains(CHANGED), "{first} {second}");
    client.expect_end();
}

#[test]
fn one_who_does_not_read_delays_nobody_and_hears_of_the_last_change() {
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixStream;

    let tools = ToolRegistry::new().with(tool! { fn big(bytes: usize) -> String { "z".repeat(bytes) } });
    let server = Server::builder("s", "1").tools(tools.expect("a good tool"));
    let server = server.max_unsent_bytes(64 * 1024).build().expect("a server");
    let (mut near, far) = UnixStream::pair().expect("a pair");
    let input = far.try_clone().expect("a descriptor");
    let served = server.clone();
    let serving = thread::spawn(move || served.serve(Stream::new("slow", input, far)));
    let mut send = |id: u32, method: &str, params: Value| {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": modern(params)});
        writeln!(near, "{request}").expect("sent");
    };
    send(1, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    // More than the socket and the outbox hold.
    (2..=9).for_each(|id| send(id, "tools/call", json!({"name": "big", "arguments": {"bytes": 1 << 20}})));
    let mut reads = connect(&server);
    listen(&mut reads, 1, json!({"toolsListChanged": true}));
    for n in 0..20 {
        server.tools().register(named(&format!("t{n}"))).expect("free");
        expect_change(&mut reads, 1);
    }
    // Now it reads: answers and notices, the last of which is told after everything was read.
    near.set_read_timeout(Some(LONG)).expect("a timeout");
    let mut lines = BufReader::new(near.try_clone().expect("a descriptor")).lines();
    let mut next = || lines.next().expect("a line").expect("readable");
    assert!(next().contains(ACKNOWLEDGED));
    let (mut answers, mut notices) = (0, 0);
    while answers < 8 || notices < 1 {
        match next() {
            line if line.contains(CHANGED) => notices += 1,
            line => {
                assert!(line.contains(r#""result""#), "{line:.200}");
                answers += 1;
            }
        }
    }
    assert!(notices <= 20);
    near.shutdown(std::net::Shutdown::Write).expect("shut down");
    serving.join().expect("no panic").expect("served");
}

#[test]
fn a_message_without_a_wire_cannot_listen() {
    let server = server();
    let ask = |method: &str, params: Value| {
        let answer = server.handle_request(Message::request(1, method, Some(params.into())));
        let Some(Message::Response(response)) = answer else { panic!("an answer") };
        response.result
    };
    let error = ask("subscriptions/listen", modern(json!({"notifications": {}}))).expect_err("refused");
    assert_eq!(error.message, "change notices need a connection that stays open");
    server.tools_changed();
    assert!(ask("ping", json!({})).is_ok());
}

#[test]
fn a_handle_outlives_its_server() {
    let server = server();
    let handle = server.handle();
    let mut client = connect(&server);
    initialize(&mut client);
    client.close();
    client.expect_end();
    drop(server);
    handle.tools_changed();
    handle.resource_updated("file:///a");
}

#[test]
fn what_clients_notify_reaches_the_callbacks() {
    let (heard_tx, heard) = crossbeam_channel::unbounded();
    let (roots_tx, roots) = crossbeam_channel::unbounded();
    let (open, gate) = crossbeam_channel::bounded::<()>(0);
    let server = Server::builder("s", "1")
        .on_notification(move |method, params| {
            heard_tx.send((method.to_owned(), params.map(ToString::to_string))).expect("heard");
            assert_ne!(method, "panic", "on purpose");
        })
        .on_roots_changed(move || {
            roots_tx.send(()).expect("heard");
            let _ = gate.recv_timeout(LONG);
        })
        .build()
        .expect("a server");
    let mut client = connect(&server);
    initialize(&mut client);
    client.notify("panic", json!({}));
    client.notify("com.example/one", json!({"a": 1}));
    client.send_raw(r#"{"jsonrpc":"2.0","method":"com.example/two"}"#);
    let next = || heard.recv_timeout(LONG).expect("heard");
    assert_eq!(next(), ("panic".to_owned(), Some("{}".to_owned())));
    assert_eq!(next(), ("com.example/one".to_owned(), Some(r#"{"a":1}"#.to_owned())));
    assert_eq!(next(), ("com.example/two".to_owned(), None));
    // While the callback runs, further changes say one thing, even if the queue is full.
    client.notify("notifications/roots/list_changed", json!({}));
    roots.recv_timeout(LONG).expect("heard");
    (0..300).for_each(|_| client.notify("com.example/flood", json!({})));
    (0..300).for_each(|_| client.notify("notifications/roots/list_changed", json!({})));
    settle(&mut client);
    assert!(roots.is_empty());
    drop(open);
    roots.recv_timeout(LONG).expect("heard");
    (0..256).for_each(|_| assert_eq!(next().0, "com.example/flood"));
    client.notify("com.example/last", json!({}));
    assert_eq!(next().0, "com.example/last");
    assert!(roots.is_empty());
}
