//! Changes on a Legacy server, as a client hears of them: broadcasts, and subscriptions to resources.

mod support;

use std::sync::mpsc::channel;
use std::thread;

use serde_json::{Value, json};
use support::changing::{answered, legacy, quick};
use support::peers::{self, LONG};
use tinymcp::client::{Change, Changes, ChangesEnd, Filter};
use tinymcp::json::Json;
use tinymcp::testing::ScriptedPeer;
use tinymcp::{Client, Error, ErrorObject};

const TOOLS: &str = "notifications/tools/list_changed";

#[test]
fn child() {
    peers::child();
}

fn updated(server: &mut ScriptedPeer, uri: &str) {
    server.notify("notifications/resources/updated", json!({"uri": uri}));
}

fn of(uri: &str) -> Change {
    Change::ResourceUpdated(uri.to_owned())
}

/// Everything there is to tell of.
fn all() -> Value {
    let lists = json!({"listChanged": true});
    json!({"tools": lists, "prompts": lists, "resources": {"listChanged": true, "subscribe": true}})
}

/// Serves so many requests of `method`: the URIs of those it refuses are those that end with a `!`.
#[track_caller]
fn serve(server: &mut ScriptedPeer, method: &str, requests: usize) -> Vec<String> {
    let mut uris = Vec::new();
    for _ in 0..requests {
        let request = server.expect_request(method);
        let uri = answered(request.params)["uri"].as_str().expect("a URI").to_owned();
        match uri.ends_with('!') {
            true => server.respond_error(&request.id, ErrorObject::new(-32002, "no such resource")),
            false => server.respond(&request.id, json!({})),
        }
        uris.push(uri);
    }
    uris.sort();
    uris
}

/// What the client listens to, for which it subscribes to so many resources.
#[track_caller]
fn listening(
    client: &Client,
    server: &mut ScriptedPeer,
    filter: Filter,
    subscribes: usize,
) -> tinymcp::Result<Changes> {
    let handle = client.handle();
    let asking = thread::spawn(move || handle.listen(filter));
    serve(server, "resources/subscribe", subscribes);
    asking.join().expect("no panic")
}

#[test]
fn broadcasts_reach_those_who_asked_and_the_callbacks() {
    let (tx, heard) = channel();
    let (prompts, updates, others) = (tx.clone(), tx.clone(), tx);
    let builder = Client::builder()
        .on_prompts_changed(move |_| drop(prompts.send("prompts".to_owned())))
        .on_resource_updated(["a:1"], move |_, uri| drop(updates.send(uri.to_owned())))
        .on_notification(move |method, _| drop(others.send(method.to_owned())));
    let (client, mut server) = legacy(builder, all());
    assert_eq!(serve(&mut server, "resources/subscribe", 1), ["a:1"]);
    let lists = client.listen(Filter::new().tools().prompts().resources()).expect("needs no request");
    let mut single =
        listening(&client, &mut server, Filter::new().tools().resource("a:1").resource("a:2"), 1)
            .expect("opens");
    for (method, said) in [("notifications/prompts/list_changed", "prompts"), ("x/y", "x/y")] {
        server.notify(method, json!({}));
        assert_eq!(heard.recv_timeout(LONG).as_deref(), Ok(said));
    }
    server.notify("notifications/resources/list_changed", json!({}));
    server.notify(TOOLS, json!({}));
    updated(&mut server, "a:1");
    updated(&mut server, "a:2/below");
    updated(&mut server, "a:3"); // nobody's
    assert_eq!(heard.recv_timeout(LONG).as_deref(), Ok("notifications/resources/updated"));
    assert_eq!(heard.recv_timeout(LONG).as_deref(), Ok("a:1"));
    let all: Vec<_> = std::iter::from_fn(|| lists.try_next()).collect();
    assert_eq!(all, [Change::PromptsChanged, Change::ResourcesChanged, Change::ToolsChanged]);
    assert_eq!((single.next(), single.next()), (Some(Change::ToolsChanged), Some(of("a:1"))));
    assert_eq!((single.next(), single.try_next()), (Some(of("a:2")), None));
}

#[test]
fn a_resource_is_subscribed_to_once_and_until_nobody_listens() {
    let (client, mut server) = legacy(Client::builder(), all());
    let pair = || Filter::new().resource("a:1").resource("a:2");
    let first = listening(&client, &mut server, pair(), 2).expect("opens");
    let second = listening(&client, &mut server, pair().resource("a:3"), 1).expect("opens");
    drop(first);
    second.close();
    assert_eq!(serve(&mut server, "resources/unsubscribe", 3), ["a:1", "a:2", "a:3"]);
    // One that is wanted again while it is given up is asked for again, after that.
    let first = listening(&client, &mut server, Filter::new().resource("a:1"), 1).expect("opens");
    drop(first);
    let given_up = server.expect_request("resources/unsubscribe").id;
    let handle = client.handle();
    let asking = thread::spawn(move || handle.listen(Filter::new().resource("a:1")));
    server.respond(&given_up, json!({}));
    assert_eq!(serve(&mut server, "resources/subscribe", 1), ["a:1"]);
    let mut again = asking.join().expect("no panic").expect("opens");
    updated(&mut server, "a:1");
    assert_eq!(again.next(), Some(of("a:1")));
}

#[test]
fn what_the_server_does_not_tell_of_is_not_honoured() {
    let (client, mut server) = legacy(Client::builder(), all());
    let filter = Filter::new().resource("a:1").resource("a:2!");
    let changes = listening(&client, &mut server, filter, 2).expect("a part");
    assert_eq!(changes.honoured(), Filter::new().resource("a:1"));
    let error = listening(&client, &mut server, Filter::new().resource("a:2!"), 1).expect_err("nothing");
    assert_eq!(error.peer_error().map(|error| error.code), Some(-32002));
    drop(changes);
    assert_eq!(serve(&mut server, "resources/unsubscribe", 1), ["a:1"]);

    let (client, mut server) =
        legacy(Client::builder(), json!({"tools": {"listChanged": true}, "resources": {}}));
    let everything = Filter::new().tools().prompts().resources().resource("a:1");
    let mut changes = client.listen(everything).expect("a part");
    assert_eq!(changes.honoured(), Filter::new().tools());
    // What comes in spite of that is heard.
    server.notify("notifications/prompts/list_changed", json!({}));
    assert_eq!(changes.next(), Some(Change::PromptsChanged));
    for nothing in [Filter::new().prompts(), Filter::new().resource("a:1")] {
        let error = client.listen(nothing).expect_err("nothing");
        assert!(matches!(error, Error::Unsupported(_)), "{error}");
    }
}

#[test]
fn a_thousand_resources_are_few_waits() {
    let (client, mut server) = legacy(Client::builder(), all());
    let uris: Vec<_> = (0..1000).map(|n| format!("file:///{n}")).collect();
    let mut changes =
        listening(&client, &mut server, Filter::new().resource_uris(&uris), 1000).expect("opens");
    uris.iter().rev().for_each(|uri| updated(&mut server, uri));
    assert_eq!(changes.by_ref().take(1000).count(), 1000);
    assert_eq!(changes.try_next(), None);
    // The end of the connection ends the giving up.
    drop(changes);
    client.close().expect("closes");
}

#[test]
fn a_server_that_does_not_answer_is_waited_for_as_long_as_for_a_call() {
    let (client, mut server) = legacy(quick(std::time::Duration::from_millis(50)), all());
    let asking = thread::spawn(move || client.listen(Filter::new().resource("a:1")).map(drop));
    server.expect_request("resources/subscribe");
    let error = asking.join().expect("no panic").expect_err("no answer");
    assert!(error.is_timeout(), "{error}");
}

#[test]
fn a_server_that_is_gone_interrupts() {
    let (client, mut server) = legacy(Client::builder(), all());
    let mut changes =
        listening(&client, &mut server, Filter::new().tools().resource("a:1"), 1).expect("opens");
    server.notify(TOOLS, Json::parse("{}").expect("JSON"));
    server.close();
    assert_eq!((changes.next(), changes.next()), (Some(Change::ToolsChanged), Some(Change::Interrupted)));
    let asking = client.listen(Filter::new().resource("a:2")).expect_err("gone");
    assert!(asking.is_closed(), "{asking}");
    client.close().expect("closes");
    assert_eq!(changes.next(), None);
    assert!(matches!(changes.end(), Some(ChangesEnd::Closed)));
}
