//! A scripted server against a client: limits, the end, lists, notices.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam_channel::unbounded;
use serde_json::{Value, json};
use tinymcp::client::CallOptions;
use tinymcp::testing::ScriptedPeer;
use tinymcp::{Client, Error, ErrorObject, Tool};

use super::client::{heard, settled, settled_with};
use super::{LONG, answer_handshake, text};

#[test]
fn too_many_calls_are_refused_before_anything_is_sent() {
    let (client, mut server) = settled_with(Client::builder().max_open_calls(1), false);
    let call = client.start_call("a", (), &CallOptions::default()).expect("sent");
    let refused = client.start_call("b", (), &CallOptions::default()).expect_err("no room");
    assert!(matches!(refused, Error::Busy(_)) && refused.is_retryable(), "{refused}");
    let request = server.expect_request("tools/call");
    heard(&mut server); // nothing else came
    server.respond(&request.id, text(""));
    call.wait().expect("answered");
    drop(client.start_call("c", (), &CallOptions::default()).expect("room again"));
    assert_eq!(server.expect_request("tools/call").params.expect("params").to_value()["name"], "c");
}

#[test]
fn arguments_must_be_an_object() {
    let (client, mut server) = settled(false);
    for arguments in [json!(1), json!("a"), json!([])] {
        let refused = client.call_tool("a", arguments).expect_err("no object");
        assert!(matches!(refused, Error::InvalidUse(_)), "{refused}");
    }
    heard(&mut server);
}

#[test]
fn noise_and_oversized_frames_are_skipped_and_counted() {
    let (client, mut server) = settled_with(Client::builder().max_frame_bytes(400), false);
    let call = client.start_call("a", (), &CallOptions::default()).expect("sent");
    let request = server.expect_request("tools/call");
    for noise in ["starting up...", "{\"level\":\"info\"}", "[1", "5"] {
        server.send_raw(noise);
    }
    server.send_raw("");
    server.respond(&request.id, text(&"a".repeat(400)));
    let error = call.wait().expect_err("too long");
    assert!(error.to_string().ends_with("cannot be read: frame exceeds 400 bytes"), "{error}");
    let call = client.start_call("a", (), &CallOptions::default()).expect("sent");
    let request = server.expect_request("tools/call");
    server.respond(&request.id, text("short"));
    assert_eq!(call.wait().expect("answered").text_content(), "short");
    assert_eq!(client.noise(), 5);
}

#[test]
fn the_end_of_the_connection_ends_every_call_with_what_is_known() {
    let (client, mut server) = settled(true);
    let call = client.start_call("a", (), &CallOptions::default()).expect("sent");
    thread::scope(|scope| {
        let listing = scope.spawn(|| client.list_tools());
        server.expect_request("tools/call");
        server.expect_request("tools/list");
        server.close();
        // A list can be asked for again; whether a tool has done its work nobody knows.
        assert!(matches!(listing.join().expect("no panic"), Err(Error::Closed(_))));
    });
    assert!(matches!(call.wait(), Err(Error::OutcomeUnknown(_))));
    let error = client.call_tool("a", ()).expect_err("it is over");
    assert!(error.is_closed(), "{error}");
    drop(client);
    server.expect_end();
}

#[test]
fn handles_are_inert_after_the_owner_has_closed() {
    let (client, mut server) = settled(true);
    let handle = client.handle();
    let call = client.start_call("a", (), &CallOptions::default()).expect("sent");
    let waiting = thread::spawn(move || call.wait());
    server.expect_request("tools/call");
    let report = client.close().expect("closed");
    assert!(report.flushed && !report.reader_detached && report.handlers_detached == 0, "{report:?}");
    assert!(waiting.join().expect("no panic").expect_err("closed").is_closed());
    let error = handle.call_tool("a", ()).expect_err("closed");
    assert!(error.is_closed() && error.to_string().contains("closed by this client"), "{error}");
    server.expect_end();
}

#[test]
fn results_keep_their_kind() {
    let (client, mut server) = settled(true);
    for (answer, want) in [
        (Ok(json!({"content": [], "resultType": "complete"})), "ok"),
        (Ok(json!({"content": []})), "ok"),
        (Ok(json!({"content": [], "isError": true})), "failed"),
        (Ok(json!({"content": [], "resultType": "input_required"})), "protocol"),
        (
            Ok(json!({"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}})),
            "unsupported",
        ),
        (Ok(json!({"content": [], "resultType": "surprise"})), "unsupported"),
        (Ok(json!({"content": 5})), "protocol"),
        (Ok(json!(5)), "protocol"),
        (Err(ErrorObject::new(-32602, "unknown tool: a").with_data(json!([1]))), "peer"),
    ] {
        let call = client.start_call("a", (), &CallOptions::default()).expect("sent");
        let request = server.expect_request("tools/call");
        match answer.clone() {
            Ok(result) => server.respond(&request.id, result),
            Err(error) => server.respond_error(&request.id, error),
        }
        let got = match call.wait() {
            Ok(result) if result.is_error == Some(true) => "failed",
            Ok(_) => "ok",
            Err(Error::Peer(error)) => {
                assert_eq!((error.code, error.data), (-32602, Some(json!([1]).into())));
                "peer"
            }
            Err(Error::Unsupported(_)) => "unsupported",
            Err(Error::Protocol(_)) => "protocol",
            Err(other) => panic!("{other}"),
        };
        assert_eq!(got, want, "{answer:?}");
    }
}

/// The client lists while the server answers with these pages.
fn list(pages: &[Value]) -> tinymcp::Result<(Vec<String>, usize)> {
    let (client, mut server) = settled(false);
    thread::scope(|scope| {
        let listing = scope.spawn(|| client.list_tools());
        let mut cursor = Value::Null;
        for page in pages {
            let request = server.expect_request("tools/list");
            let asked = request.params.map(|params| params.to_value()["cursor"].clone()).unwrap_or_default();
            assert_eq!(asked, cursor);
            server.respond(&request.id, page.clone());
            cursor = page["nextCursor"].clone();
        }
        let list = listing.join().expect("no panic")?;
        Ok((list.items.into_iter().map(|tool| tool.name).collect(), list.rejected.len()))
    })
}

fn page(names: &[&str], next: Value) -> Value {
    let tools = names.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
    json!({"tools": tools.collect::<Vec<_>>(), "nextCursor": next})
}

#[test]
fn lists_are_read_page_by_page() {
    let pages = [page(&["a", "b"], json!("p2")), page(&[], json!("")), page(&["c"], Value::Null)];
    assert_eq!(list(&pages).expect("listed").0, ["a", "b", "c"]);
    let mut odd = page(&["good"], Value::Null);
    for tool in [json!(5), json!({"name": "no-schema"}), json!({"inputSchema": {"type": "object"}})] {
        odd["tools"].as_array_mut().expect("tools").push(tool);
    }
    assert_eq!(list(&[odd]).expect("listed"), (vec!["good".to_owned()], 3));
    let looping = [page(&["a"], json!("p2")), page(&["b"], json!("p3")), page(&["c"], json!("p2"))];
    assert!(matches!(list(&looping), Err(Error::Protocol(_))));
    assert!(matches!(list(&[json!({"tools": 5})]), Err(Error::Protocol(_))));
    for partial in [json!({"tools": [], "resultType": "part"}), json!({"resultType": "input_required"})] {
        assert!(matches!(list(&[partial]), Err(Error::Unsupported(_))));
    }
}

#[test]
fn remote_tools_look_like_local_ones() {
    let (client, mut server) = settled(false);
    let tools = thread::scope(|scope| {
        let discovering = scope.spawn(|| client.discover_tools());
        let request = server.expect_request("tools/list");
        server.respond(&request.id, page(&["far"], Value::Null));
        discovering.join().expect("no panic").expect("listed")
    });
    let registry = tinymcp::ToolRegistry::new();
    for tool in tools {
        assert_eq!(tool.name(), "far");
        registry.register(tool).expect("a good name");
    }
    let cx = tinymcp::Context::detached();
    let token = cx.cancel_token().clone();
    let calling = thread::spawn(move || registry.execute("far", tinymcp::Arguments::empty(), &cx));
    let request = server.expect_request("tools/call");
    token.cancel("enough");
    let cancelled = server.expect_notification("notifications/cancelled").params.expect("params").to_value();
    assert_eq!(cancelled, json!({"requestId": request.id, "reason": "enough"}));
    let result = calling.join().expect("no panic").expect("a result");
    assert_eq!((result.is_error(), result.text_content().as_str()), (true, "cancelled: enough"));
}

#[test]
fn changes_coalesce_and_callbacks_may_panic_and_call_back() {
    let runs = Arc::new(AtomicUsize::new(0));
    let (entered_tx, entered) = unbounded();
    let (go, gone) = unbounded::<()>();
    let (others_tx, others) = unbounded();
    let counted = Arc::clone(&runs);
    let builder = Client::builder()
        .on_tools_changed(move |client| {
            let run = counted.fetch_add(1, Ordering::SeqCst);
            entered_tx.send(()).expect("the test lives");
            let _ = gone.recv_timeout(LONG);
            assert_ne!(run, 0, "the panic of a test");
            // A callback may use the connection it was called from.
            client.ping().expect("alive");
            entered_tx.send(()).expect("the test lives");
        })
        .on_notification(move |method, params| {
            others_tx.send((method.to_owned(), params.map(|p| p.to_value()))).expect("the test lives");
        });
    let (client, mut server) = settled_with(builder, false);
    let changed = |server: &mut ScriptedPeer| server.notify("notifications/tools/list_changed", json!({}));
    changed(&mut server);
    entered.recv_timeout(LONG).expect("called");
    for _ in 0..500 {
        changed(&mut server);
    }
    heard(&mut server);
    go.send(()).expect("waiting"); // the first run panics, and the burst is one more
    entered.recv_timeout(LONG).expect("called again");
    go.send(()).expect("waiting");
    let ping = server.expect_request("ping");
    server.respond(&ping.id, json!({}));
    entered.recv_timeout(LONG).expect("pinged");
    server.notify("notifications/message", json!({"level": "info", "data": 1}));
    server.notify("x/custom", json!({"a": 2}));
    let got: Vec<_> = (0..2).map(|_| others.recv_timeout(LONG).expect("called")).collect();
    assert_eq!(got[0], ("notifications/message".to_owned(), Some(json!({"level": "info", "data": 1}))));
    assert_eq!(got[1], ("x/custom".to_owned(), Some(json!({"a": 2}))));
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    drop(client);
    server.expect_end();
}

#[test]
fn closing_from_a_callback_joins_nothing_it_runs_on() {
    let slot = Arc::new(std::sync::Mutex::new(None::<Client>));
    let (done_tx, done) = unbounded();
    let closing = Arc::clone(&slot);
    let builder = Client::builder().on_tools_changed(move |_| {
        let client = closing.lock().expect("no panic").take().expect("there");
        done_tx.send(client.close().map(|report| report.reader_detached)).expect("the test lives");
    });
    let (client, mut server) = settled_with(builder, false);
    *slot.lock().expect("no panic") = Some(client);
    server.notify("notifications/tools/list_changed", json!({}));
    assert!(!done.recv_timeout(LONG).expect("closed").expect("in order"));
    server.expect_end();
}

#[test]
fn a_peer_that_does_not_read_costs_the_caller_its_timeout_and_no_more() {
    let builder = Client::builder()
        .versions([tinymcp::ProtocolVersion::V2025_11_25])
        .max_unsent_bytes(20_000)
        .patience(tinymcp::transport::Patience::default().with_flush(Duration::from_millis(10)));
    let (client, mut server) = ScriptedPeer::for_client(builder).expect("a client");
    thread::scope(|scope| {
        let settling = scope.spawn(|| client.initialize().map(drop));
        answer_handshake(&mut server, "2025-11-25", false);
        settling.join().expect("no panic").expect("settled");
    });
    // The transport holds 256 frames, then the client's own queue fills.
    let quick = CallOptions::default().with_timeout(Duration::from_millis(1));
    let mut open = Vec::new();
    let refused = loop {
        match client.start_call("a", json!({"a": "a".repeat(500)}), &quick) {
            Ok(call) => open.push(call),
            // Earlier ones are refused while the writer's thread wakes up.
            Err(refused) if open.len() > 280 => break refused,
            Err(_) => thread::yield_now(),
        }
        assert!(open.len() < 10_000, "nothing bounds what waits");
    };
    assert!(matches!(refused, Error::Busy(_)), "{refused}");
    assert!(open.remove(0).wait().expect_err("nobody reads").is_timeout());
    // Closing returns, and says that not everything was written.
    drop(open);
    server.close();
    let report = client.close().expect("closed");
    assert!(!report.flushed, "{report:?}");
}

#[test]
fn an_answer_that_cannot_be_read_ends_its_call_at_once() {
    let (client, mut server) = settled(false);
    for garbled in [
        r#""result":{"content":[],"structuredContent":{"mean":NaN}}}"#,
        "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\tb\"}]}}",
        r#""result":{"content":["#,
        r#""result":{}} and more"#,
        r#""error":null}"#,
    ] {
        let (noise, call) = (client.noise(), client.start_call("t", (), &CallOptions::default()));
        let id = server.expect_request("tools/call").id;
        server.send_raw(format!(r#"{{"jsonrpc":"2.0","id":{id},{garbled}"#));
        let error = call.expect("sent").wait().expect_err("no result");
        assert!(matches!(error, Error::Protocol(_)), "{error}");
        assert!(error.to_string().contains("the answer to tools/call cannot be read"), "{error}");
        heard(&mut server);
        assert_eq!(client.noise(), noise + 1);
    }
    // What is not UTF-8 costs a character.
    let call = client.start_call("t", (), &CallOptions::default()).expect("sent");
    let id = server.expect_request("tools/call").id;
    let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"caf"#);
    server.send_raw([head.as_bytes(), b"\xe9\"}]}}"].concat());
    assert_eq!(call.wait().expect("a result").text_content(), "caf\u{fffd}");
    // A line of a log is none, whatever numbers are in it.
    let call = client.start_call("t", (), &CallOptions::default()).expect("sent");
    let id = server.expect_request("tools/call").id;
    server.send_raw(format!(r#"{{"id":{id},"level":"info","result":NaN}}"#));
    server.respond(&id, text("fine"));
    assert_eq!(call.wait().expect("a result").text_content(), "fine");
}
