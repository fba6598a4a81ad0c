//! Streams of changes over several connections: what a reconnect opens again, in whatever era, and that nothing is left.

#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::process::Command;
use std::sync::mpsc::{TryRecvError, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use support::alone::alone;
use support::changing::{
    Again, acknowledge, answered, changed, greet_legacy, greet_modern, listening, modern, quick, updated,
};
use support::peers::{self, LONG, brief, odd_in_shell};
use tinymcp::client::{Change, Changes, Filter};
use tinymcp::testing::ScriptedPeer;
use tinymcp::{Client, Error, ErrorObject, ProtocolVersion};

const TOOLS: &str = "notifications/tools/list_changed";

#[test]
fn child() {
    peers::child();
}

fn of(uri: &str) -> Change {
    Change::ResourceUpdated(uri.to_owned())
}

/// What is told after a gap, sorted by its name, whether or not the gap is told as well.
fn after_gap(changes: &mut Changes, count: usize) -> Vec<Change> {
    let mut told: Vec<_> = changes.filter(|change| *change != Change::Interrupted).take(count).collect();
    told.sort_by_key(|change| format!("{change:?}"));
    told
}

/// Acknowledges so many streams, in whatever order they are opened; the ids by what they ask for.
#[track_caller]
fn acknowledge_all(server: &mut ScriptedPeer, streams: usize) -> Vec<(Value, Value)> {
    let mut opened = Vec::new();
    for _ in 0..streams {
        let listen = server.expect_request("subscriptions/listen");
        let (id, asked) = (json!(listen.id), answered(listen.params)["notifications"].clone());
        acknowledge(server, &id, asked.clone());
        opened.push((asked, id));
    }
    opened
}

#[test]
fn a_reconnect_opens_everything_again_in_the_era_of_the_new_server() {
    let (transport, mut servers) = Again::of(3);
    let (tx, called) = channel();
    let client = Client::builder()
        .on_tools_changed(move |_| {
            let _ = tx.send(());
        })
        .open(transport)
        .expect("starts");
    let [first, second, third] = servers.as_mut_slice() else { unreachable!() };
    let handle = client.handle();
    let settling = thread::spawn(move || handle.initialize().map(drop));
    greet_modern(first);
    settling.join().expect("no panic").expect("settles");
    acknowledge_all(first, 1); // the callbacks'
    let (mut changes, id) = listening(&client, first, Filter::new().tools().resource("a:1"));
    updated(first, &id, "a:1");
    assert_eq!(changes.next(), Some(of("a:1")));
    first.close();
    assert_eq!(changes.next(), Some(Change::Interrupted));
    assert_eq!(called.try_recv(), Err(TryRecvError::Empty));

    // It comes again as a Legacy server.
    let handle = client.handle();
    let again = thread::spawn(move || handle.reconnect().map(|identity| identity.version.clone()));
    let discover = second.expect_request("server/discover").id;
    second.respond_error(&discover, ErrorObject::new(-32601, "no such method"));
    greet_legacy(second, json!({"tools": {}, "resources": {"subscribe": true}}));
    assert_eq!(again.join().expect("no panic").expect("settles"), ProtocolVersion::V2025_11_25);
    let subscribe = second.expect_request("resources/subscribe");
    assert_eq!(answered(subscribe.params)["uri"], "a:1");
    assert_eq!(changes.try_next(), None, "not before it is open");
    second.respond(&subscribe.id, json!({}));
    // Of what there was or is; and the callbacks of everything.
    assert_eq!(after_gap(&mut changes, 2), [of("a:1"), Change::ToolsChanged]);
    assert_eq!(changes.honoured(), Filter::new().resource("a:1"));
    assert_eq!(called.recv_timeout(LONG), Ok(()));
    second.notify(TOOLS, json!({}));
    second.notify("notifications/resources/updated", json!({"uri": "a:1"}));
    assert_eq!([changes.next(), changes.next()], [Some(Change::ToolsChanged), Some(of("a:1"))]);
    assert_eq!(called.recv_timeout(LONG), Ok(()));

    // And, although it lives, as a Modern one.
    let handle = client.handle();
    let again = thread::spawn(move || handle.reconnect().map(drop));
    greet_modern(third);
    again.join().expect("no panic").expect("settles");
    let opened = acknowledge_all(third, 2);
    let own = opened.iter().find(|(asked, _)| asked["resourceSubscriptions"].is_array()).expect("ours");
    assert_eq!(after_gap(&mut changes, 2), [of("a:1"), Change::ToolsChanged]);
    assert_eq!(called.recv_timeout(LONG), Ok(()));
    updated(third, &own.1, "a:1");
    assert_eq!(changes.next(), Some(of("a:1")));
    // One that was closed stays closed; the first connection's notices are nobody's.
    drop(changes);
    third.expect_notification("notifications/cancelled");
    let error = client.reconnect().expect_err("no more servers");
    assert!(matches!(error, Error::Transport { .. }), "{error}");
    assert_eq!(called.try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn a_stream_that_is_not_acknowledged_again_is_asked_for_once_more() {
    let (tx, called) = channel();
    let builder = quick(Duration::from_millis(300)).on_tools_changed(move |_| {
        let _ = tx.send(());
    });
    let (_client, mut server) = modern(builder);
    let late = json!(server.expect_request("subscriptions/listen").id);
    let cancelled = server.expect_notification("notifications/cancelled");
    assert_eq!(answered(cancelled.params)["requestId"], late);
    let again = json!(server.expect_request("subscriptions/listen").id);
    acknowledge(&mut server, &late, json!({"toolsListChanged": true}));
    acknowledge(&mut server, &again, json!({"toolsListChanged": true}));
    changed(&mut server, TOOLS, &late);
    changed(&mut server, TOOLS, &again);
    assert_eq!(called.recv_timeout(LONG), Ok(()));
}

/// Starts a server that speaks the revision in the file `version`, and notes its process in the file `pid`.
const SCRIPT: &str = r#"
    echo $$ > "$PLACE/pid"
    TINYMCP_TEST_PEER="served:versions=$(cat "$PLACE/version")"
    export TINYMCP_TEST_PEER
    exec "$0" "$@"
"#;

#[test]
fn a_real_server_that_is_killed_is_heard_again_after_a_reconnect() {
    let _alone = alone();
    let place = std::env::temp_dir().join(format!("tinymcp-changes-{}", std::process::id()));
    fs::create_dir_all(&place).expect("a folder");
    let speak = |version: &str| fs::write(place.join("version"), version).expect("written");
    speak("2026-07-28");
    let (tx, called) = channel();
    let client = Client::builder()
        .patience(brief())
        .on_tools_changed(move |client| {
            let _ = tx.send(client.list_tools().map(|list| list.items.len()).ok());
        })
        .open(odd_in_shell(SCRIPT, "ok").env("PLACE", &place))
        .expect("starts");
    let mut changes = client.listen(Filter::new().tools()).expect("opens");
    let grow = |name: &str| client.call_tool("grow", json!({"name": name})).expect("grows");
    for (round, next) in ["2025-06-18", "2026-07-28", "2026-07-28"].into_iter().enumerate() {
        grow(&format!("new{round}"));
        assert_eq!(changes.next(), Some(Change::ToolsChanged));
        assert!(called.recv_timeout(LONG).expect("called").is_some());
        let pid = fs::read_to_string(place.join("pid")).expect("a process");
        assert!(Command::new("kill").args(["-9", pid.trim()]).status().expect("kill").success());
        assert_eq!(changes.next(), Some(Change::Interrupted));
        speak(next);
        assert_eq!(client.reconnect().expect("starts again").version.as_str(), next);
        assert_eq!(changes.next(), Some(Change::ToolsChanged));
        assert!(called.recv_timeout(LONG).expect("called").is_some());
    }
    client.close().expect("closes");
    assert_eq!(changes.next(), None);
    fs::remove_dir_all(&place).expect("removed");
}
