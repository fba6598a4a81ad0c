//! A relay between Legacy clients and a server for each: what passes, byte for byte, and whom the end of what concerns.

#[path = "support/mirror.rs"]
mod mirror;
#[path = "support/posts.rs"]
mod posts;
#[path = "support/relaying.rs"]
mod relaying;
mod support;

use mirror::mirror;
use posts::Poster;
use relaying::Relaying;
use serde_json::{Value, json};
use support::peers::eventually;
use tinymcp::http::HttpServer;

#[test]
fn child() {
    mirror::child();
}

const V: &str = "2025-11-25";

fn relay() -> Relaying {
    Relaying::to(|| mirror("ok"))
}

fn pid(client: &Poster) -> u64 {
    client.call("1", "pid").value()["result"]["pid"].as_u64().expect("a pid")
}

#[test]
fn messages_pass_byte_for_byte() {
    let relay = relay();
    let client = Poster::legacy(relay.address, V);
    for sent in [
        r#"{"jsonrpc":"2.0","id":7,"method":"mirror"}"#,
        r#"{ "method" : "mirror","x-own":[1e400], "params":{"n":9007199254740993,"m":0.10,"k":-0.0,"a":1,"a":2},"id":"\u00e4 😀", "jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":-9223372036854775808,"method":"mirror","params":{"s":"\ud83d\ude00 \u2028 \"\\"}}"#,
    ] {
        let id = serde_json::from_str::<Value>(&sent.replace("1e400", "0")).expect("JSON")["id"].to_string();
        let answer = client.post(sent).only();
        let told = format!(r#""result":{{"heard":{sent}}},"x-more":1e400}}"#);
        assert!(answer.ends_with(&told), "{answer}");
        assert_eq!(
            serde_json::from_str::<Value>(&answer.replace("1e400", "0")).expect("JSON")["id"].to_string(),
            id
        );
    }
    // A frame is one line: only what lies between the parts goes.
    let answer = client
        .post("{\"jsonrpc\":\"2.0\",\r\n  \"id\": 1,\n\"method\":\"mirror\", \"params\": {\"n\": 0.10}\n}\n")
        .only();
    assert!(answer.contains(r#"{"jsonrpc":"2.0","id":1,"method":"mirror","params":{"n":0.10}}"#), "{answer}");
    let answer = client.call("\"e\"", "error").only();
    assert_eq!(answer, format!(r#"{{"jsonrpc":"2.0","id":"e","error":{},"x-more":0.10}}"#, mirror::ERROR));
}

#[test]
fn long_messages_pass() {
    let relay = relay();
    let client = Poster::legacy(relay.address, V);
    let text = "ä".repeat(2_000_000);
    let sent = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"mirror","params":{{"text":"{text}"}}}}"#);
    assert!(client.post(&sent).only().contains(&sent));
    // More than a frame may have: that call fails, and nothing else.
    let answer =
        client.post(r#"{"jsonrpc":"2.0","id":2,"method":"long","params":{"bytes":17000000}}"#).value();
    assert_eq!(answer["id"], 2);
    assert_eq!(
        answer["error"]["message"], "the answer cannot be read: frame exceeds 16777216 bytes",
        "{answer}"
    );
    pid(&client);
}

#[test]
fn each_client_has_a_server_of_its_own() {
    let relay = relay();
    let clients = [Poster::legacy(relay.address, V), Poster::legacy(relay.address, V)];
    let pids = clients.each_ref().map(pid);
    assert_ne!(pids[0], pids[1]);
    // The same id at the same time.
    std::thread::scope(|scope| {
        let waits = clients.each_ref().map(|client| scope.spawn(|| client.call("5", "silent").value()));
        for client in &clients {
            eventually("the call has arrived", || {
                client.heard().iter().any(|message| message["method"] == "silent")
            });
            let release = r#"{"jsonrpc":"2.0","id":6,"method":"release","params":{"id":5}}"#;
            assert_eq!(client.post(release).value()["result"], json!({}));
        }
        for wait in waits {
            assert_eq!(wait.join().expect("no panic")["result"], json!({"late": true}));
        }
    });
}

#[test]
fn questions_go_over_a_stream_that_is_open() {
    let relay = relay();
    let client = Poster::legacy(relay.address, V);
    let question = r#"{"jsonrpc":"2.0","id":"ask-1","method":"sampling/createMessage","params":{"n":1e400}}"#;
    let reply = r#"{"jsonrpc":"2.0","id":"ask-1","result":{"model":"m","n":0.10},"x":1}"#;
    // Over that of the call, if there is no other.
    let mut call = client.call("1", "ask");
    assert_eq!(call.next().as_deref(), Some(question));
    assert_eq!(client.post(reply).status, 202);
    assert_eq!(call.only(), format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"heard":{reply}}}}}"#));
    // Over the one that the client has opened for such.
    let mut stream = client.listen();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| client.call("1", "ask").only());
        assert_eq!(stream.next().as_deref(), Some(question));
        assert_eq!(client.post(reply).status, 202);
        assert!(call.join().expect("no panic").contains(reply));
    });
    assert_eq!(client.call("2", "tell").rest().len(), 1);
    assert!(stream.next().expect("a notice").contains(r#""data":1e400"#));
}

#[test]
fn what_nobody_can_hear_yet_waits() {
    let relay = relay();
    let client = Poster::legacy(relay.address, V);
    // It comes before the answer, and belongs to no call that is known.
    let messages = client.call("1", "tell").rest();
    assert_eq!(messages.len(), 2, "{messages:?}");
    let flood = client.call("2", "flood");
    assert!(flood.rest().last().expect("an answer").contains(r#""id":2"#));
}

#[test]
fn a_ping_before_the_handshake_is_answered_for_the_client() {
    let relay = Relaying::to(|| mirror("ping"));
    let client = Poster::legacy(relay.address, V);
    assert_eq!(client.heard()[0]["method"], "initialize");
    assert!(client.heard().contains(&json!({"jsonrpc": "2.0", "id": "early", "result": {}})));
    // That of the client is its server's to answer.
    assert_eq!(client.call("1", "ping").value()["error"]["code"], -32601);
}

#[test]
fn progress_goes_with_its_call() {
    let relay = relay();
    let client = Poster::legacy(relay.address, V);
    let mut stream = client.listen();
    for token in ["7", r#""t""#] {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"progress","params":{{"_meta":{{"progressToken":{token}}}}}}}"#
        );
        let messages = client.post(&call).rest();
        let progress = |n| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progress":{n},"progressToken":{token}}}}}"#
            )
        };
        assert_eq!(messages[..2], [progress("1"), progress("2.50")]);
        assert_eq!(messages.len(), 3);
    }
    client.call("2", "tell").only();
    assert!(stream.next().expect("a notice").contains("notifications/message"));
}

#[test]
fn a_cancelled_call_has_no_answer() {
    let relay = relay();
    let client = Poster::legacy(relay.address, V);
    let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s","reason":"\u00e4"}}"#;
    std::thread::scope(|scope| {
        let call = scope.spawn(|| client.call("\"s\"", "silent"));
        eventually("the call has arrived", || client.heard().iter().any(|message| message["id"] == "s"));
        assert_eq!(client.post(cancelled).status, 202);
        let call = call.join().expect("no panic");
        assert_eq!((call.status, call.rest()), (202, vec![]));
    });
    let heard: Value = serde_json::from_str(cancelled).expect("JSON");
    assert!(client.heard().contains(&heard));
    // A late answer finds nobody.
    let release = r#"{"jsonrpc":"2.0","id":6,"method":"release","params":{"id":"s"}}"#;
    assert_eq!(client.post(release).value()["result"], json!({}));
}

#[test]
fn a_server_that_dies_ends_its_session_alone() {
    let relay = relay();
    let (client, other) = (Poster::legacy(relay.address, V), Poster::legacy(relay.address, V));
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| client.call("1", "silent").value());
        eventually("the call has arrived", || {
            client.heard().iter().any(|message| message["method"] == "silent")
        });
        let dies = client.call("2", "die").value();
        assert_eq!(
            dies["error"],
            json!({"code": -32603, "message": "the server has ended (exit status: 7)"})
        );
        assert_eq!(waits.join().expect("no panic")["error"], dies["error"]);
    });
    eventually("the session has ended", || client.call("3", "pid").status == 404);
    pid(&other);
    pid(&Poster::legacy(relay.address, V));
}

#[test]
fn a_handshake_that_fails_begins_no_session() {
    for (early, status, code, message) in
        [("refuse", 400, -31999, "no ä"), ("exit", 400, -32603, "the server has ended (exit status: 3)")]
    {
        let relay = Relaying::to(move || mirror(early));
        let answer = Poster::new(relay.address).initialize(V);
        assert_eq!((answer.status, answer.header("mcp-session-id")), (status, None));
        let error = answer.value()["error"].clone();
        assert_eq!((&error["code"], &error["message"]), (&json!(code), &json!(message)));
    }
    let relay = Relaying::to(|| tinymcp::transport::ChildProcess::new("/no/such/server"));
    let error = Poster::new(relay.address).initialize(V).value()["error"].clone();
    assert_eq!(error, json!({"code": -32603, "message": "the server cannot be reached"}));
}

#[test]
fn whoever_is_idle_makes_room() {
    let builder = HttpServer::relay(|| mirror("ok")).max_sessions(1);
    let relay = Relaying::with(builder);
    let first = Poster::legacy(relay.address, V);
    let second = Poster::legacy(relay.address, V);
    assert_eq!(first.call("1", "pid").status, 404);
    let stream = second.listen();
    let busy = Poster::new(relay.address).initialize(V);
    assert_eq!(busy.status, 503);
    assert_eq!(busy.value()["error"]["message"], "server busy: 1 sessions are in use");
    drop(stream);
    eventually("the stream is closed", || Poster::new(relay.address).initialize(V).status == 200);
}

#[test]
fn batches_are_taken_apart() {
    let relay = relay();
    let client = Poster::legacy(relay.address, "2025-03-26");
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"mirror"},
        {"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":1.5,"method":"m"},
        {"jsonrpc":"2.0","id":2,"method":"error"}]"#;
    let messages = client.post(batch).rest();
    let has = |text: &str| messages.iter().any(|message| message.contains(text));
    assert_eq!(messages.len(), 3, "{messages:?}");
    assert!(has(r#"{"heard":{"jsonrpc":"2.0","id":1,"method":"mirror"}}"#), "{messages:?}");
    assert!(has("-31999") && has("-32600"), "{messages:?}");
    assert!(client.heard().contains(&json!({"jsonrpc": "2.0", "method": "notifications/x"})));
    assert_eq!(Poster::legacy(relay.address, V).post(batch).status, 400);
}

#[test]
fn clients_of_2024_11_05_are_served() {
    let relay = relay();
    let client = Poster::new(relay.address);
    let mut stream = client.send("GET", "/sse", "");
    let place = stream.next().expect("a place to post to");
    let post = |body: &str| assert_eq!(client.send("POST", &place, body).status, 202);
    post(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}"#);
    assert!(stream.next().expect("an answer").contains("2024-11-05"));
    post(r#"{"jsonrpc":"2.0","id":1,"method":"mirror","params":{"n":0.10}}"#);
    assert!(stream.next().expect("an answer").contains(r#""params":{"n":0.10}"#));
    post(r#"{"jsonrpc":"2.0","id":2,"method":"ask"}"#);
    assert!(stream.next().expect("a question").contains("ask-2"));
    post(r#"{"jsonrpc":"2.0","id":"ask-2","result":{}}"#);
    assert!(stream.next().expect("an answer").contains(r#""id":2"#));
}

#[test]
fn answers_that_cannot_be_read_are_errors() {
    let relay = relay();
    let client = Poster::legacy(relay.address, V);
    let garbled = client.call("1", "garbled").value();
    assert_eq!(garbled["error"]["code"], -32603);
    assert!(
        garbled["error"]["message"]
            .as_str()
            .expect("a text")
            .starts_with("the answer cannot be read: not JSON")
    );
    // The client's own, as it is.
    assert_eq!(client.call("2", "string").value()["id"], "2");
    assert_eq!(client.call("3", "twice").value()["id"], 3);
    assert_eq!(client.call("4", "noise").value()["id"], 4);
}
