//! Changes on a Modern server, as a client hears of them: streams of notices, their ends, and the callbacks.

mod support;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use support::changing::{acknowledge, answered, changed, listening, modern, notice, quick, updated};
use support::peers::{self, LONG, ends};
use tinymcp::client::{Change, ChangesEnd, ClientBuilder, Filter};
use tinymcp::testing::{self, ScriptedPeer};
use tinymcp::{Client, ClientHandle, Error, ErrorObject, ProtocolVersion, Server, ToolRegistry, tool};

const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";

fn updated_uri(uri: &str) -> Change {
    Change::ResourceUpdated(uri.to_owned())
}

#[test]
fn child() {
    peers::child();
}

#[test]
fn each_stream_gets_what_it_asked_for_by_its_id() {
    let (client, mut server) = modern(Client::builder());
    let (mut tools, first) = listening(&client, &mut server, Filter::new().tools());
    let filter = Filter::new().tools().prompts().resource("file:///a");
    let (mut all, second) = listening(&client, &mut server, filter.clone());
    assert_eq!((tools.honoured(), all.honoured()), (Filter::new().tools(), filter));
    changed(&mut server, TOOLS, &first);
    updated(&mut server, &second, "file:///a/below");
    changed(&mut server, PROMPTS, &second);
    assert_eq!(tools.next(), Some(Change::ToolsChanged));
    assert_eq!([all.next(), all.next()], [Some(updated_uri("file:///a")), Some(Change::PromptsChanged)]);
    // Not asked for, of a stream that there is not, of none at all, with an id in words.
    changed(&mut server, PROMPTS, &first);
    updated(&mut server, &second, "file:///b");
    changed(&mut server, TOOLS, &json!(999));
    changed(&mut server, TOOLS, &json!({}));
    server.notify(TOOLS, json!({}));
    changed(&mut server, TOOLS, &json!(second.to_string()));
    assert_eq!(all.next(), Some(Change::ToolsChanged));
    assert_eq!((all.try_next(), tools.try_next()), (None, None));
    assert!(tools.end().is_none() && all.end().is_none());
    // Both are told of a change that is told twice; closing one is the end of one.
    drop(tools);
    let cancelled = server.expect_notification("notifications/cancelled");
    assert_eq!(answered(cancelled.params)["requestId"], first);
    changed(&mut server, TOOLS, &first);
    changed(&mut server, TOOLS, &second);
    assert_eq!(all.next(), Some(Change::ToolsChanged));
    all.close();
    let cancelled = server.expect_notification("notifications/cancelled");
    assert_eq!(answered(cancelled.params)["requestId"], second);
    changed(&mut server, TOOLS, &second);
    assert_eq!(all.next(), None);
    assert!(matches!(all.end(), Some(ChangesEnd::Closed)));
}

#[test]
fn a_stream_begins_with_its_acknowledgement() {
    let (client, mut server) = modern(Client::builder());
    let handle = client.handle();
    let asking = thread::spawn(move || handle.listen(Filter::new().tools().prompts().resource("a:b")));
    let listen = server.expect_request("subscriptions/listen");
    let params = answered(listen.params);
    assert_eq!(
        params["notifications"],
        json!({"toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": ["a:b"]})
    );
    assert_eq!(params["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    let id = json!(listen.id);
    changed(&mut server, TOOLS, &id);
    // Less than what was asked for, and something that was not; with the id in words.
    acknowledge(
        &mut server,
        &json!(id.to_string()),
        json!({"promptsListChanged": true, "resourcesListChanged": true}),
    );
    let mut changes = asking.join().expect("no panic").expect("acknowledged");
    assert_eq!(changes.honoured(), Filter::new().prompts());
    changed(&mut server, PROMPTS, &id);
    assert_eq!(changes.next(), Some(Change::PromptsChanged));
    assert_eq!(changes.try_next(), None, "what came before the acknowledgement does not count");
    // A second one changes nothing.
    acknowledge(&mut server, &id, json!({"toolsListChanged": true}));
    changed(&mut server, PROMPTS, &id);
    assert_eq!(changes.next(), Some(Change::PromptsChanged));
    assert_eq!(changes.honoured(), Filter::new().prompts());
}

/// What `listen` returns if the server does this.
fn refused(
    builder: ClientBuilder,
    answer: impl FnOnce(&mut ScriptedPeer, &tinymcp::RequestId),
) -> (Error, ScriptedPeer, Client) {
    let (client, mut server) = modern(builder);
    let handle = client.handle();
    let asking = thread::spawn(move || handle.listen(Filter::new().tools()));
    let id = server.expect_request("subscriptions/listen").id;
    answer(&mut server, &id);
    let error = asking.join().expect("no panic").expect_err("refused");
    (error, server, client)
}

#[test]
fn what_cannot_be_listened_to_is_an_error() {
    let (error, mut server, client) =
        refused(Client::builder(), |server, id| acknowledge(server, &json!(id), json!({})));
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    server.expect_notification("notifications/cancelled");
    let (error, ..) = refused(Client::builder(), |server, id| {
        server.respond_error(id, ErrorObject::new(-32601, "no such method"));
    });
    assert_eq!(error.peer_error().map(|error| error.code), Some(-32601));
    let (error, ..) =
        refused(Client::builder(), |server, id| server.respond(id, json!({"resultType": "complete"})));
    assert!(matches!(error, Error::Protocol(_)), "{error}");
    let (error, ..) = refused(Client::builder(), |server, _| server.close());
    assert!(matches!(error, Error::Closed(_)), "{error}");
    let (error, mut server, _client) = refused(quick(Duration::from_millis(50)), |_, _| {});
    assert!(error.is_timeout(), "{error}");
    server.expect_notification("notifications/cancelled");
    let error = client.listen(Filter::new()).expect_err("nothing");
    assert!(matches!(error, Error::InvalidUse(_)), "{error}");
    let many = (0..10_001).map(|n| format!("a:{n}"));
    let error = client.listen(Filter::new().resource_uris(many)).expect_err("too many");
    assert!(error.to_string().contains("10001") && error.to_string().contains("10000"), "{error}");
}

#[test]
fn a_limited_number_is_open_and_none_counts_as_a_call() {
    let (client, mut server) = modern(Client::builder().max_open_calls(1));
    let mut open: Vec<_> = (0..64).map(|_| listening(&client, &mut server, Filter::new().tools())).collect();
    let error = client.listen(Filter::new().tools()).expect_err("too many");
    assert!(matches!(error, Error::Busy(_)), "{error}");
    open.pop();
    server.expect_notification("notifications/cancelled");
    let (again, _) = listening(&client, &mut server, Filter::new().tools());
    // All of them are told, and end with the client.
    let (tx, taken) = channel();
    let taking: Vec<_> = open
        .into_iter()
        .map(|(mut changes, id)| {
            let tx = tx.clone();
            let taking = thread::spawn(move || {
                let _ = tx.send(changes.next());
                changes.next()
            });
            changed(&mut server, TOOLS, &id);
            taking
        })
        .collect();
    for _ in &taking {
        assert_eq!(taken.recv_timeout(LONG), Ok(Some(Change::ToolsChanged)));
    }
    client.close().expect("closes");
    for taking in taking {
        assert_eq!(taking.join().expect("no panic"), None);
    }
    assert!(matches!(again.end(), Some(ChangesEnd::Closed)));
}

#[test]
fn a_server_may_end_a_stream_in_good_order() {
    let (client, mut server) = modern(Client::builder());
    for way in ["answer", "cancel", "both"] {
        let (mut changes, id) = listening(&client, &mut server, Filter::new().tools());
        changed(&mut server, TOOLS, &id);
        if way != "answer" {
            server.notify(
                "notifications/cancelled",
                json!({"requestId": id, "reason": "the server is ending"}),
            );
        }
        if way != "cancel" {
            let request = serde_json::from_value(id.clone()).expect("an id");
            server.respond(
                &request,
                json!({"resultType": "complete", "_meta": {"io.modelcontextprotocol/subscriptionId": id}}),
            );
        }
        assert_eq!((changes.next(), changes.next()), (Some(Change::ToolsChanged), None), "{way}");
        assert!(matches!(changes.end(), Some(ChangesEnd::Ended)), "{way}: {changes:?}");
        drop(changes);
    }
    // Nothing of it was cancelled, and the connection goes on.
    let (_changes, _) = listening(&client, &mut server, Filter::new().tools());
    // A call is not for the server to cancel.
    let handle = client.handle();
    let calling = thread::spawn(move || handle.call_tool("t", ()));
    let call = server.expect_request("tools/call").id;
    server.notify("notifications/cancelled", json!({"requestId": call}));
    server.respond(&call, json!({"resultType": "complete", "content": []}));
    calling.join().expect("no panic").expect("answered");
}

#[test]
fn a_stream_that_broke_off_is_opened_again() {
    let (client, mut server) = modern(quick(LONG));
    let filter = Filter::new().tools().resource("a:b");
    let (mut changes, id) = listening(&client, &mut server, filter);
    let busy = || ErrorObject::new(-32603, "server busy");
    server.respond_error(&serde_json::from_value(id).expect("an id"), busy());
    assert_eq!(changes.next(), Some(Change::Interrupted));
    // Three times in vain: an error, an answer that cannot be read, no room.
    for _ in 0..3 {
        let again = server.expect_request("subscriptions/listen").id;
        server.respond_error(&again, busy());
    }
    let again = server.expect_request("subscriptions/listen");
    assert_eq!(answered(again.params)["notifications"]["resourceSubscriptions"], json!(["a:b"]));
    acknowledge(&mut server, &json!(again.id), json!({"toolsListChanged": true}));
    assert_eq!([changes.next(), changes.next()], [Some(Change::ToolsChanged), Some(updated_uri("a:b"))]);
    assert_eq!(changes.honoured(), Filter::new().tools());
    // It has not lived long: the tries count on, and there are five.
    server.respond_error(&again.id, busy());
    assert_eq!(changes.next(), Some(Change::Interrupted));
    let last = server.expect_request("subscriptions/listen").id;
    server.respond_error(&last, busy());
    assert_eq!(changes.next(), None);
    let Some(ChangesEnd::Failed(error)) = changes.end() else { panic!("{changes:?}") };
    assert_eq!(error.peer_error().map(|error| error.code), Some(-32603));
    // What the server does not have is not asked for again.
    let (mut changes, id) = listening(&client, &mut server, Filter::new().tools());
    let gone = ErrorObject::new(-32601, "no such method");
    server.respond_error(&serde_json::from_value(id).expect("an id"), gone);
    assert_eq!(changes.next(), None);
    drop(changes);
    client.close().expect("closes");
    server.expect_end();
}

#[test]
fn a_server_that_is_gone_interrupts_and_closing_ends() {
    let (client, mut server) = modern(Client::builder());
    let (mut changes, id) = listening(&client, &mut server, Filter::new().tools());
    changed(&mut server, TOOLS, &id);
    server.close();
    assert_eq!((changes.next(), changes.next()), (Some(Change::ToolsChanged), Some(Change::Interrupted)));
    assert!(changes.end().is_none());
    assert_eq!(changes.next_timeout(Duration::from_millis(10)), None);
    let error = client.listen(Filter::new().tools()).expect_err("gone");
    assert!(error.is_closed(), "{error}");
    let waiting = thread::spawn(move || (changes.next(), changes.end()));
    client.close().expect("closes");
    let (last, end) = waiting.join().expect("no panic");
    assert!(last.is_none() && matches!(end, Some(ChangesEnd::Closed)));
}

#[test]
fn a_burst_over_a_thousand_resources_is_a_change_each() {
    let (client, mut server) = modern(Client::builder());
    let uris: Vec<_> = (0..1000).map(|n| format!("file:///{n}")).collect();
    let (mut changes, id) = listening(&client, &mut server, Filter::new().resource_uris(&uris));
    for _ in 0..10 {
        uris.iter().for_each(|uri| updated(&mut server, &id, uri));
    }
    let (other, last) = listening(&client, &mut server, Filter::new().tools());
    changed(&mut server, TOOLS, &last); // behind all others
    assert_eq!(other.next_timeout(LONG), Some(Change::ToolsChanged));
    let mut heard: Vec<_> = (0..1000).map(|_| changes.next().expect("a change")).collect();
    assert_eq!(changes.try_next(), None);
    assert_eq!(heard.first(), Some(&updated_uri("file:///0")));
    heard.sort_by_key(|change| format!("{change:?}"));
    heard.dedup();
    assert_eq!(heard.len(), 1000);
}

#[test]
fn a_stream_may_be_dropped_while_a_notice_arrives() {
    let (client, mut server) = modern(Client::builder());
    for _ in 0..50 {
        let (changes, id) = listening(&client, &mut server, Filter::new().tools());
        let dropping = thread::spawn(move || drop(changes));
        for _ in 0..5 {
            changed(&mut server, TOOLS, &id);
        }
        server.expect_notification("notifications/cancelled");
        dropping.join().expect("no panic");
    }
}

/// Callbacks for everything, and what they are called with.
fn callbacks(tx: &Sender<String>) -> ClientBuilder {
    let said = |what: &'static str| {
        let tx = tx.clone();
        move |_: &ClientHandle| drop(tx.send(what.to_owned()))
    };
    let (updates, others) = (tx.clone(), tx.clone());
    Client::builder()
        .on_tools_changed(said("tools"))
        .on_prompts_changed(said("prompts"))
        .on_resources_changed(said("resources"))
        .on_resource_updated(["a:1", "a:2"], move |_, uri| drop(updates.send(uri.to_owned())))
        .on_notification(move |method, _| drop(others.send(method.to_owned())))
}

fn next(heard: &Receiver<String>) -> String {
    heard.recv_timeout(LONG).expect("a callback")
}

#[test]
fn callbacks_share_one_stream_that_the_client_opens_itself() {
    let (tx, heard) = channel();
    let (_client, mut server) = modern(callbacks(&tx));
    let listen = server.expect_request("subscriptions/listen");
    let asked = &answered(listen.params)["notifications"];
    // What the server has: see `modern`.
    assert_eq!(asked["resourceSubscriptions"], json!(["a:1", "a:2"]));
    assert_eq!((&asked["toolsListChanged"], &asked["resourcesListChanged"]), (&json!(true), &Value::Null));
    let id = json!(listen.id);
    acknowledge(&mut server, &id, asked.clone());
    for (method, uri, said) in [
        (TOOLS, None, "tools"),
        (PROMPTS, None, "prompts"),
        ("notifications/resources/updated", Some("a:2"), "a:2"),
        ("notifications/message", None, "notifications/message"),
    ] {
        notice(&mut server, method, &id, uri);
        assert_eq!(next(&heard), said);
    }
    // Nobody waits for the acknowledgement, and a refusal is no error.
    let (_client, mut server) = modern(callbacks(&tx));
    let listen = server.expect_request("subscriptions/listen");
    server.respond_error(&listen.id, ErrorObject::new(-32601, "no such method"));
    notice(&mut server, "x/y", &json!(1), None);
    assert_eq!(next(&heard), "x/y");
}

#[test]
fn a_callback_may_list_and_listen_and_changes_meanwhile_are_one_more_call() {
    let (tx, heard) = channel();
    let (entered, is_in) = channel();
    let (go, may_go) = channel();
    let may_go = std::sync::Mutex::new(may_go);
    let builder = Client::builder().on_tools_changed(move |client| {
        let changes = client.listen(Filter::new().prompts()).expect("opened in a callback");
        let _ = entered.send(());
        may_go.lock().expect("not poisoned").recv_timeout(LONG).expect("a word");
        drop(changes);
        let _ = tx.send(client.list_tools().expect("no deadlock").items.len());
    });
    let (client, mut server) = modern(builder);
    let listen = server.expect_request("subscriptions/listen");
    let own = json!(listen.id);
    acknowledge(&mut server, &own, json!({"toolsListChanged": true}));
    let (probe, probed) = listening(&client, &mut server, Filter::new().tools());
    changed(&mut server, TOOLS, &own);
    for call in 0..2 {
        let inner = json!(server.expect_request("subscriptions/listen").id);
        acknowledge(&mut server, &inner, json!({"promptsListChanged": true}));
        is_in.recv_timeout(LONG).expect("called");
        if call == 0 {
            (0..200).for_each(|_| changed(&mut server, TOOLS, &own));
        }
        // All of that has been heard.
        changed(&mut server, TOOLS, &probed);
        assert_eq!(probe.next_timeout(LONG), Some(Change::ToolsChanged));
        go.send(()).expect("it waits");
        let cancelled = server.expect_notification("notifications/cancelled");
        assert_eq!(answered(cancelled.params)["requestId"], inner);
        let list = server.expect_request("tools/list").id;
        server.respond(
            &list,
            json!({"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"}),
        );
        assert_eq!(heard.recv_timeout(LONG), Ok(0));
    }
    // Not a third time: a pause and more go by before the next one.
    assert!(is_in.recv_timeout(Duration::from_millis(250)).is_err());
}

#[test]
fn both_eras_of_a_real_server_tell_of_changes() {
    for version in [ProtocolVersion::V2025_06_18, ProtocolVersion::V2026_07_28] {
        let server = Server::builder("growing", "1").tools(ToolRegistry::new()).build().expect("builds");
        let (tx, heard) = channel();
        let builder = Client::builder().versions([version.clone()]).on_tools_changed(move |client| {
            let _ = tx.send(client.list_tools().map(|list| list.items.len()).ok());
        });
        let client = testing::pair_with(builder, &server).expect("starts");
        let mut changes = client.listen(Filter::new().tools().prompts()).expect("opens");
        assert_eq!(changes.honoured(), Filter::new().tools(), "{version}");
        server.tools().register(tool! { fn t() -> i64 { 1 } }).expect("registers");
        assert_eq!(changes.next(), Some(Change::ToolsChanged));
        assert_eq!(heard.recv_timeout(LONG), Ok(Some(1)));
        let error = client.listen(Filter::new().resource("a:b")).expect_err("no resources");
        assert!(matches!(error, Error::Unsupported(_)), "{version}: {error}");
        // A Modern server that ends says so. A Legacy one is gone, and may come again.
        server.handle().stop();
        match version.is_modern() {
            true => {
                let end = ends(LONG, move || (changes.next(), changes.end()));
                assert!(matches!(end, (None, Some(ChangesEnd::Ended))), "{end:?}");
            }
            false => assert_eq!(changes.next(), Some(Change::Interrupted)),
        }
    }
}
