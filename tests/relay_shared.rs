//! A relay between Modern clients and the one server that they share: nobody gets, or ends, what is another's.

#[path = "support/http.rs"]
mod http;
#[path = "support/mirror.rs"]
mod mirror;
#[path = "support/posts.rs"]
mod posts;
#[path = "support/relaying.rs"]
mod relaying;
mod support;

use std::thread;

use mirror::mirror;
use posts::{Answer, Poster};
use relaying::Relaying;
use serde_json::{Value, json};
use support::peers::eventually;

#[test]
fn child() {
    mirror::child();
}

fn relay() -> (Relaying, Poster) {
    let relay = Relaying::to(|| mirror("ok"));
    let client = Poster::new(relay.address);
    (relay, client)
}

fn pid(client: &Poster) -> u64 {
    client.modern("1", "pid", "{}").value()["result"]["pid"].as_u64().expect("a pid")
}

/// What the server has heard so far.
fn heard(client: &Poster) -> Vec<Value> {
    client.modern("\"heard\"", "heard", "{}").value()["result"].as_array().expect("an array").clone()
}

/// The id under which the server knows the last call of this method, once it has come.
fn number(client: &Poster, method: &str) -> i64 {
    let mut found = None;
    eventually("the call has arrived", || {
        found = heard(client).iter().rfind(|message| message["method"] == method).map(|it| it["id"].clone());
        found.is_some()
    });
    found.as_ref().and_then(Value::as_i64).expect("a number")
}

fn release(client: &Poster, number: i64) {
    let released = client.modern("1", "release", &format!(r#"{{"id":{number}}}"#));
    assert_eq!(released.value()["result"], json!({}));
}

/// The error of an answer.
fn error(answer: Answer) -> (i64, String) {
    let error = answer.value()["error"].take();
    (error["code"].as_i64().expect("a code"), error["message"].as_str().expect("a text").to_owned())
}

#[test]
fn nothing_changes_but_the_id() {
    let (_relay, client) = relay();
    for id in [r#""\u00e4 \"1\"""#, "7", "-1", "\"7\""] {
        let answer =
            client.modern(id, "mirror", r#"{"n":9007199254740993, "m":[0.10,-0.0] ,"s":"😀 \u2028"}"#).only();
        assert!(
            answer.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"heard":{{"#)),
            "{answer}"
        );
        assert!(answer.contains(r#""n":9007199254740993, "m":[0.10,-0.0] ,"s":"😀 \u2028""#), "{answer}");
        assert!(answer.ends_with(r#","x-more":1e400}"#), "{answer}");
        let error = client.modern(id, "error", "{}").only();
        assert_eq!(
            error,
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{},"x-more":0.10}}"#, mirror::ERROR)
        );
    }
    let numbers: Vec<_> =
        heard(&client).iter().map(|message| message["id"].as_i64().expect("a number")).collect();
    assert_eq!(numbers, (1..=8).collect::<Vec<_>>());
}

#[test]
fn equal_ids_do_not_meet() {
    let (_relay, client) = relay();
    thread::scope(|scope| {
        let calls = [(); 2].map(|()| {
            let call = scope.spawn(|| client.modern("5", "silent", "{}").value());
            (number(&client, "silent"), call)
        });
        let [(first, a), (second, b)] = calls;
        // Each `number` saw the last one: they came one after the other.
        assert!(first <= second);
        eventually("both have arrived", || {
            heard(&client).iter().filter(|message| message["method"] == "silent").count() == 2
        });
        let ids: Vec<_> = heard(&client)
            .iter()
            .filter(|message| message["method"] == "silent")
            .map(|message| message["id"].as_i64().expect("a number"))
            .collect();
        ids.iter().for_each(|id| release(&client, *id));
        for call in [a, b] {
            assert_eq!(
                call.join().expect("no panic"),
                json!({
                    "jsonrpc": "2.0", "id": 5, "result": {"late": true}, "x-more": 0
                })
            );
        }
    });
}

#[test]
fn progress_comes_back_under_the_token_of_its_client() {
    let (_relay, client) = relay();
    for token in [r#""t\u00e4""#, "5"] {
        let messages =
            client.modern_with("1", "progress", "{}", &format!(r#""progressToken":{token}"#)).rest();
        let progress = |n| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progress":{n},"progressToken":{token}}}}}"#
            )
        };
        assert_eq!(messages[..2], [progress("1"), progress("2.50")]);
    }
    // Nobody has asked for it.
    client.modern("1", "progress", "{}").only();
    // What names no call is nobody's.
    client.modern("1", "tell", "{}").only();
    client.modern("1", "flood", "{}").only();
}

#[test]
fn subscriptions_are_told_under_the_ids_of_their_clients() {
    let (_relay, client) = relay();
    let of = |id: &str| format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}"#);
    let mut streams = [r#""a\"b""#, "1", "1"].map(|id| (id, client.modern(id, "subscriptions/listen", "{}")));
    for (id, stream) in &mut streams {
        let acknowledged = stream.next().expect("a notice");
        assert!(acknowledged.contains("acknowledged") && acknowledged.contains(&of(id)), "{acknowledged}");
        let changed = stream.next().expect("a notice");
        assert!(changed.contains(&format!(r#"{{{},"n":0.10}}"#, of(id))), "{changed}");
    }
    for ends in ["gracefully", "by cancellation"] {
        let messages =
            client.modern("\"x\"", "subscriptions/listen", &format!(r#"{{"ends":"{ends}"}}"#)).rest();
        let last: Value = serde_json::from_str(&messages[2].replace("1e400", "0")).expect("JSON");
        assert_eq!(last["result"]["_meta"], json!({"io.modelcontextprotocol/subscriptionId": "x"}), "{ends}");
        assert_eq!((messages.len(), &last["id"]), (3, &json!("x")));
    }
}

#[test]
fn a_client_that_leaves_cancels_its_call() {
    let (_relay, client) = relay();
    let stream = client.modern("1", "subscriptions/listen", "{}");
    let number = number(&client, "subscriptions/listen");
    drop(stream);
    let mut told = None;
    eventually("the server is told", || {
        told = heard(&client).into_iter().find(|message| message["method"] == "notifications/cancelled");
        told.is_some()
    });
    let params = json!({"requestId": number, "reason": "the client closed the connection"});
    assert_eq!(told.expect("told")["params"], params);
    // A late answer finds nobody.
    release(&client, number);
}

#[test]
fn a_server_that_ends_is_started_again() {
    let (_relay, client) = relay();
    let before = pid(&client);
    thread::scope(|scope| {
        let waits = scope.spawn(|| error(client.modern("1", "silent", "{}")));
        number(&client, "silent");
        let ended = (-32603, "the server has ended (exit status: 7)".to_owned());
        assert_eq!(error(client.modern("2", "die", "{}")), ended);
        assert_eq!(waits.join().expect("no panic"), ended);
    });
    assert_ne!(pid(&client), before);
}

#[test]
fn a_server_that_never_answers_is_not_started_again_at_once() {
    let relay = Relaying::to(|| mirror("exit"));
    let client = Poster::new(relay.address);
    let problems: Vec<_> = (0..6).map(|_| error(client.modern("1", "pid", "{}")).1).collect();
    let has = |text| problems.iter().any(|problem| problem.starts_with(text));
    assert!(has("the server has ended, and is not started again for another"), "{problems:?}");
    assert_eq!(problems[0], "the server has ended (exit status: 3)");
}

#[test]
fn a_client_cannot_speak_for_another() {
    let (_relay, client) = relay();
    thread::scope(|scope| {
        let call = scope.spawn(|| client.modern("1", "silent", "{}").value());
        let number = number(&client, "silent");
        let post = |method: &str, body: &str| client.of_modern(method).post(body);
        // Accepted, as a notification is, and not passed on.
        for method in ["notifications/cancelled", "notifications/progress"] {
            let note =
                format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"requestId":{number}}}}}"#);
            assert_eq!(post(method, &note).status, 202);
        }
        assert_eq!(post("notifications/x", r#"{"jsonrpc":"2.0","method":"notifications/x"}"#).status, 202);
        assert_eq!(post("x", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).status, 400);
        let heard = heard(&client);
        assert!(heard.contains(&json!({"jsonrpc": "2.0", "method": "notifications/x"})));
        assert!(!heard.iter().any(|message| message["params"]["requestId"] == number));
        // What could be read in two ways.
        let meta = r#""params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#;
        for body in [
            format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"pid",{meta},"id":9}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":9,"method":"pid",{meta},"ID":{number}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":9,"method":"die","method":"pid",{meta}}}"#),
        ] {
            let (code, message) = error(post("pid", &body));
            assert_eq!(code, -32600, "{message}");
        }
        // What would change the connection for all.
        for method in ["initialize", "logging/setLevel", "resources/subscribe", "ping"] {
            assert_eq!(error(client.modern("1", method, "{}")).0, -32601);
        }
        release(&client, number);
        assert_eq!(call.join().expect("no panic")["result"], json!({"late": true}));
    });
}

#[test]
fn what_the_server_says_of_a_call_decides_its_status() {
    let (_relay, client) = relay();
    let unknown = client.modern("1", "tools/list", "{}");
    assert_eq!(unknown.status, 404);
    assert_eq!(error(unknown), (-32601, "unknown method".to_owned()));
    assert_eq!(client.modern("1", "error", "{}").status, 200);
    let (code, problem) = error(client.modern("1", "garbled", "{}"));
    assert_eq!(code, -32603);
    assert!(problem.starts_with("the answer cannot be read: not JSON"), "{problem}");
    assert_eq!(client.modern("1", "string", "{}").value()["id"], 1);
    assert_eq!(client.modern("1", "twice", "{}").value()["id"], 1);
    // There is no one client to ask.
    let asks = thread::scope(|scope| {
        let asks = scope.spawn(|| client.modern("1", "ask", "{}").value());
        release(&client, number(&client, "ask"));
        asks.join().expect("no panic")
    });
    assert_eq!(asks["result"], json!({"late": true}));
}

#[test]
fn the_end_of_the_relay_ends_what_is_open() {
    let (mut relay, client) = relay();
    let mut stream = client.modern("\"s\"", "subscriptions/listen", "{}");
    assert!(stream.next().is_some() && stream.next().is_some());
    thread::scope(|scope| {
        let call = scope.spawn(|| client.modern("1", "silent", "{}").value());
        let number = number(&client, "silent");
        let stops = scope.spawn(|| relay.stop());
        // That is told at once; calls get the grace.
        let last: Value = serde_json::from_str(&stream.next().expect("a result")).expect("JSON");
        assert_eq!(last["result"]["resultType"], "complete");
        assert_eq!(stream.next(), None);
        release(&client, number); // what was accepted is finished
        assert_eq!(call.join().expect("no panic")["result"], json!({"late": true}));
        stops.join().expect("no panic");
    });
}
