//! A scripted server against a client: answers, ids, giving up, progress.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crossbeam_channel::unbounded;
use serde_json::{Value, json};
use tinymcp::client::{CallOptions, ClientBuilder, Timeouts};
use tinymcp::testing::ScriptedPeer;
use tinymcp::{CancelToken, Client, ErrorObject, ProtocolVersion, RequestId};

use super::{LONG, answer_handshake, answer_probe, text};

/// A client that is settled in one era, and the scripted server behind it.
#[track_caller]
pub(super) fn settled_with(builder: ClientBuilder, is_modern: bool) -> (Client, ScriptedPeer) {
    let (client, mut server) = ScriptedPeer::for_client(builder).expect("a client");
    server = server.with_deadline(LONG);
    thread::scope(|scope| {
        let settling = scope.spawn(|| client.initialize().map(drop));
        if is_modern {
            answer_probe(&mut server)
        } else {
            answer_handshake(&mut server, "2025-11-25", true)
        }
        settling.join().expect("no panic").expect("settled");
    });
    (client, server)
}

pub(super) fn settled(is_modern: bool) -> (Client, ScriptedPeer) {
    settled_with(Client::builder(), is_modern)
}

/// The server has said everything before this and the client has heard it. Legacy only.
#[track_caller]
pub(super) fn heard(server: &mut ScriptedPeer) {
    server.request("heard?", "ping", json!({}));
    assert_eq!(server.expect_result("heard?").to_value(), json!({}));
}

fn quick() -> CallOptions {
    CallOptions::default().with_timeout(Duration::from_millis(30))
}

#[test]
fn ids_are_fresh_integers_and_answers_find_their_call() {
    let (client, mut server) = settled(false);
    let calls: Vec<_> = (0..3)
        .map(|n| client.start_call("echo", json!({"n": n}), &CallOptions::default()).expect("sent"))
        .collect();
    let requests: Vec<_> = calls.iter().map(|_| server.expect_request("tools/call")).collect();
    let ids: Vec<_> = requests.iter().map(|request| request.id.clone()).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
    assert!(ids.iter().all(|id| matches!(id, RequestId::Number(_))), "{ids:?}");
    // In another order; one in the string form of its id; noise and strangers in between.
    server.respond(&ids[2], text("2"));
    server.respond(&RequestId::from(999), text("stranger"));
    server.respond(&RequestId::from("0x1"), text("stranger"));
    server.respond_error(&RequestId::from("x"), ErrorObject::new(-1, "stranger"));
    server.send_raw(r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"of nothing in particular"}}"#);
    server.respond(&RequestId::String(ids[0].to_string()), text("0"));
    server.respond_error(&ids[0], ErrorObject::new(-1, "a second answer"));
    server.respond(&ids[1], text("1"));
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(call.wait().expect("answered").text_content(), n.to_string());
    }
}

#[test]
fn a_timeout_cancels_with_the_same_id_and_a_late_answer_is_ignored() {
    for is_modern in [true, false] {
        let (client, mut server) = settled(is_modern);
        let error = client.call_tool_with("slow", (), &quick()).expect_err("no answer");
        assert!(error.is_timeout(), "{error}");
        let request = server.expect_request("tools/call");
        let cancelled =
            server.expect_notification("notifications/cancelled").params.expect("params").to_value();
        assert_eq!(cancelled["requestId"], json!(request.id));
        assert_eq!(cancelled["reason"], "timeout");
        server.respond(&request.id, text("late"));
        let call = client.start_call("next", (), &CallOptions::default()).expect("sent");
        let next = server.expect_request("tools/call");
        assert_ne!(next.id, request.id);
        server.respond(&next.id, text("in time"));
        assert_eq!(call.wait().expect("answered").text_content(), "in time");
    }
}

#[test]
fn giving_up_tells_the_server_once() {
    let (client, mut server) = settled(true);
    let start = |options: &CallOptions| client.start_call("slow", (), options).expect("sent");
    let token = CancelToken::new();
    let drops = || drop(start(&CallOptions::default()));
    let cancels = || start(&CallOptions::default()).cancel("changed my mind");
    let fires = || {
        let call = start(&CallOptions::default().with_cancel(&token));
        token.cancel("user pressed stop");
        assert_eq!(call.wait().expect_err("cancelled").to_string(), "cancelled: user pressed stop");
    };
    let ways: [(&dyn Fn(), &str); 3] =
        [(&drops, "abandoned"), (&cancels, "changed my mind"), (&fires, "user pressed stop")];
    for (give_up, reason) in ways {
        give_up();
        let request = server.expect_request("tools/call");
        let cancelled =
            server.expect_notification("notifications/cancelled").params.expect("params").to_value();
        assert_eq!(cancelled, json!({"requestId": request.id, "reason": reason}));
    }
    // A call that was given up before it was made is not made.
    let given_up = client.start_call("slow", (), &CallOptions::default().with_cancel(&token));
    assert_eq!(given_up.expect_err("cancelled").to_string(), "cancelled: user pressed stop");
    drop(client);
    server.expect_end();
}

#[test]
fn an_answer_that_came_first_is_not_cancelled() {
    let (client, mut server) = settled(false);
    let call = client.start_call("quick", (), &CallOptions::default()).expect("sent");
    let request = server.expect_request("tools/call");
    server.respond(&request.id, text("here"));
    heard(&mut server);
    drop(call);
    heard(&mut server);
    // The answer is there even for one whose token fired meanwhile, or which is waited for too late.
    drop(client);
    server.expect_end();
}

#[test]
fn progress_comes_in_order_on_the_waiting_thread() {
    let (client, mut server) = settled(false);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let options = CallOptions::default()
        .with_progress(move |p| noted.lock().expect("no panic").push((p.progress, thread::current().id())));
    let call = client.start_call("steps", (), &options).expect("sent");
    let request = server.expect_request("tools/call");
    let token = request.params.expect("params").to_value()["_meta"]["progressToken"].clone();
    assert_eq!(token, json!(request.id));
    for done in [1, 2, 2, 1, 3] {
        server.notify("notifications/progress", json!({"progressToken": token, "progress": done}));
    }
    // The token in the string form of our id, one of nobody, and none.
    server.notify("notifications/progress", json!({"progressToken": token.to_string(), "progress": 4}));
    server.notify("notifications/progress", json!({"progressToken": 12345, "progress": 5}));
    server.notify("notifications/progress", json!({"progress": 5}));
    server.notify("notifications/progress", json!({"progressToken": token, "progress": "much"}));
    server.respond(&request.id, text("done"));
    server.notify("notifications/progress", json!({"progressToken": token, "progress": 6}));
    heard(&mut server);
    assert!(seen.lock().expect("no panic").is_empty(), "before anybody waits");
    assert_eq!(call.wait().expect("answered").text_content(), "done");
    let here = thread::current().id();
    let want: Vec<_> = [1.0, 2.0, 3.0, 4.0].map(|done| (done, here)).to_vec();
    assert_eq!(*seen.lock().expect("no panic"), want);
    // Nobody asks for progress without a wish for it.
    let call = client.start_call("steps", (), &CallOptions::default()).expect("sent");
    let request = server.expect_request("tools/call");
    assert!(request.params.expect("params").to_value().get("_meta").is_none());
    server.respond(&request.id, text(""));
    call.wait().expect("answered");
}

#[test]
fn a_slow_progress_callback_stops_nothing_but_its_own_call() {
    let (client, mut server) = settled(false);
    let (entered_tx, entered) = unbounded();
    let (go, gone) = unbounded::<()>();
    let options = CallOptions::default().with_progress(move |_| {
        entered_tx.send(()).expect("the test lives");
        let _ = gone.recv_timeout(LONG);
    });
    let slow = client.start_call("slow", (), &options).expect("sent");
    let request = server.expect_request("tools/call");
    let waiting = thread::spawn(move || slow.wait());
    for done in 0..200 {
        server.notify("notifications/progress", json!({"progressToken": request.id, "progress": done}));
    }
    server.respond(&request.id, text("slow"));
    entered.recv_timeout(LONG).expect("called");
    heard(&mut server);
    let other = client.start_call("other", (), &CallOptions::default()).expect("sent");
    let asked = server.expect_request("tools/call");
    server.respond(&asked.id, text("other"));
    assert_eq!(other.wait().expect("answered").text_content(), "other");
    // What waits for a slow callback is bounded, and its answer is not lost.
    drop(go);
    assert_eq!(waiting.join().expect("no panic").expect("answered").text_content(), "slow");
    assert!(entered.try_iter().count() <= 65);
}

#[test]
fn progress_can_keep_a_call_alive_up_to_the_total() {
    let each = Duration::from_millis(900);
    let (heard_tx, heard_rx) = unbounded();
    for resets in [true, false] {
        let (client, mut server) = settled(true);
        let heard_tx = heard_tx.clone();
        let mut options = CallOptions::default()
            .with_timeout(if resets { each } else { Duration::from_millis(60) })
            .with_total(each * 5 / 4)
            .with_progress(move |_| {
                let _ = heard_tx.send(());
            });
        if resets {
            options = options.with_reset_on_progress();
        }
        let call = client.start_call("long", (), &options).expect("sent");
        let request = server.expect_request("tools/call");
        let waiting = thread::spawn(move || {
            let start = std::time::Instant::now();
            let error = call.wait().expect_err("it never ends");
            (error, start.elapsed())
        });
        let mut done = 0;
        while !waiting.is_finished() {
            done += 1;
            server.notify("notifications/progress", json!({"progressToken": request.id, "progress": done}));
            // Paced by the client's own callback, and not in a rush.
            let _ = heard_rx.recv_timeout(Duration::from_millis(40));
            thread::park_timeout(Duration::from_millis(5));
        }
        let (error, after) = waiting.join().expect("no panic");
        assert!(error.is_timeout(), "{error}");
        assert_eq!(after > each, resets, "{after:?}");
        let cancelled =
            server.expect_notification("notifications/cancelled").params.expect("params").to_value();
        assert_eq!(cancelled["requestId"], json!(request.id));
        drop(client);
    }
}

#[test]
fn a_legacy_client_answers_pings_and_refuses_the_rest() {
    let (client, mut server) = settled(false);
    for id in [json!(1), json!("1"), json!(-1)] {
        server.send_raw(json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string());
        let answer: Value = serde_json::from_str(&server.expect_frame()).expect("JSON");
        assert_eq!(answer, json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    }
    for method in ["roots/list", "sampling/createMessage", "elicitation/create", "tools/list", "what"] {
        server.request("q", method, json!({}));
        assert_eq!(server.expect_error(RequestId::from("q")).code, -32601, "{method}");
    }
    drop(client);
    server.expect_end();
}

#[test]
fn a_modern_client_never_writes_a_response() {
    let (client, mut server) = settled(true);
    for frame in [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"roots/list"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"ping","params":{"_meta":{}}}"#,
        r#"[{"jsonrpc":"2.0","id":3,"method":"ping"}]"#,
        r#"[]"#,
        "{not json",
        r#"{"jsonrpc":"2.0","id":4,"method":5}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
    ] {
        server.send_raw(frame);
    }
    let call = client.start_call("echo", (), &CallOptions::default()).expect("sent");
    let request = server.expect_request("tools/call"); // the first frame since
    server.respond(&request.id, text("fine"));
    assert_eq!(call.wait().expect("answered").text_content(), "fine");
    drop(client);
    server.expect_end();
}

#[test]
fn every_modern_request_says_what_its_client_is() {
    let (client, mut server) = settled(true);
    let options = CallOptions::default().with_meta("com.example/trace", &"t").with_progress(|_| {});
    let call = client.start_call("echo", json!({"a": 1}), &options).expect("sent");
    let request = server.expect_request("tools/call");
    let params = request.params.expect("params").to_value();
    let meta = &params["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "tinymcp");
    assert_eq!((&meta["com.example/trace"], &meta["progressToken"]), (&json!("t"), &json!(request.id)));
    assert_eq!((&params["name"], &params["arguments"]), (&json!("echo"), &json!({"a": 1})));
    server.respond(&request.id, text(""));
    call.wait().expect("answered");
}

#[test]
fn a_server_may_send_batches_to_a_legacy_client() {
    let builder = Client::builder().versions([ProtocolVersion::V2025_03_26]);
    let (client, mut server) = ScriptedPeer::for_client(builder).expect("a client");
    let calls = thread::scope(|scope| {
        let starting = scope.spawn(|| {
            [0, 1].map(|n| client.start_call("echo", json!({"n": n}), &CallOptions::default()).expect("sent"))
        });
        answer_handshake(&mut server, "2025-03-26", false);
        starting.join().expect("no panic")
    });
    let ids = [0, 1].map(|_| server.expect_request("tools/call").id);
    let answer = |n: usize| json!({"jsonrpc": "2.0", "id": ids[n], "result": text(&n.to_string())});
    let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
    let note = json!({"jsonrpc": "2.0", "method": "notifications/unknown"});
    server.send_raw(json!([answer(1), ping, note, answer(0)]).to_string());
    let answered: Value = serde_json::from_str(&server.expect_frame()).expect("JSON");
    assert_eq!(answered, json!([{"jsonrpc": "2.0", "id": "p", "result": {}}]));
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(call.wait().expect("answered").text_content(), n.to_string());
    }
}

#[test]
fn timeouts_of_the_client_hold_for_its_calls() {
    let timeouts = Timeouts::default().with_call(Duration::from_millis(20));
    let (client, mut server) = settled_with(Client::builder().timeouts(timeouts), true);
    assert!(client.list_tools().expect_err("no answer").is_timeout());
    let request = server.expect_request("tools/list");
    let cancelled = server.expect_notification("notifications/cancelled").params.expect("params").to_value();
    assert_eq!(cancelled["requestId"], json!(request.id));
}
