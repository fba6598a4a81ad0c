//! What servers in the wild do, and what a client makes of it.
//!
//! Each test names its rule. The servers are this binary started again, see `support/odd.rs`.

mod support;

use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::{Value, json};
use support::peers::{self, LONG, client, heard, odd};
use tinymcp::client::{CallOptions, Timeouts};
use tinymcp::{Client, Error, ProtocolVersion, Tool};

#[test]
fn child() {
    peers::child();
}

fn call(mode: &str) -> String {
    let client = client(mode);
    let result = client.call_tool("t", ()).unwrap_or_else(|e| panic!("{mode}: {e}"));
    client.close().expect("closes");
    result.text_content()
}

#[test]
fn oddly_answered_ids_find_their_call_and_the_rest_is_ignored() {
    assert_eq!(call("id_string"), "a string");
    assert_eq!(call("id_float"), "a float");
    assert_eq!(call("dup"), "first");
    for mode in ["wrong_id", "init_id_string", "init_twice", "init_batch"] {
        assert!(call(mode).starts_with("ok "), "{mode}");
    }
    assert_eq!(call("batch_answers"), "in a batch");
    // A second answer is not taken for the next call's.
    let client = client("dup");
    for _ in 0..20 {
        assert_eq!(client.call_tool("t", ()).expect("answers").text_content(), "first");
    }
}

#[test]
fn a_lone_surrogate_harms_one_character() {
    assert_eq!(call("surrogate"), "cut \u{fffd}");
}

#[test]
fn noise_on_stdout_is_skipped_and_counted() {
    let client = client("banner");
    assert!(client.call_tool("t", ()).expect("answers").text_content().starts_with("ok "));
    // A greeting, a coloured log line, six kinds of JSON that is no message (one array holds two), bytes that are no text;
    // and libtest's header. Blank lines are none.
    assert_eq!(client.noise(), 10 + 1);
    // Nothing of it was answered: the server's log has the requests alone.
    let answers = heard(&client).into_iter().filter(|message| message.get("method").is_none()).count();
    assert_eq!(answers, 0, "{:?}", heard(&client));
    assert!(call("content_length").starts_with("ok "));
}

#[test]
fn requests_of_the_server_are_answered_at_once() {
    // Inside a call, while the caller waits.
    let answer: Value = serde_json::from_str(&call("sampling")).expect("an answer");
    assert_eq!((answer["id"].as_str(), answer["error"]["code"].as_i64()), (Some("s1"), Some(-32601)));
    // Before the answer to initialize.
    let client = client("ping_in_init");
    client.initialize().expect("settles");
    let pong = |message: &Value| message["id"] == "srv-1";
    let heard = heard(&client);
    let at = |is_it: &dyn Fn(&Value) -> bool| heard.iter().position(is_it).expect("heard");
    assert_eq!(heard[at(&pong)]["result"], json!({}));
    assert!(at(&pong) < at(&|message| message["method"] == "notifications/initialized"));
}

#[test]
fn unknown_messages_are_ignored_and_the_notifications_reach_the_hook() {
    let (tx, rx) = channel();
    let client = Client::builder()
        .on_notification(move |method, params| {
            let _ = tx.send((method.to_owned(), params.map(|p| p.as_str().to_owned())));
        })
        .open(odd("unknown_note"))
        .expect("starts");
    client.call_tool("t", ()).expect("answers");
    assert_eq!(rx.recv_timeout(LONG), Ok(("window/logMessage".into(), Some(r#"{"type":3}"#.into()))));
    assert_eq!(rx.recv_timeout(LONG), Ok(("notifications/tools/list_changed".into(), None)));
    assert_eq!(rx.recv_timeout(LONG), Ok(("x/y".into(), Some("[1]".into()))));
    let refused = peers::until_heard(&client, |message| message["id"] == "r1");
    assert_eq!(refused["error"]["code"], -32601);
    assert!(call("early_note").starts_with("ok "));
}

#[test]
fn numbers_stay_what_they_are() {
    let client = client("bigint");
    let result = client.call_tool("t", ()).expect("answers");
    let exact = r#"{"a":9007199254740993,"b":18446744073709551615,"c":1000000000000000000000000000000,"d":1e400,"e":1.10}"#;
    assert_eq!(result.structured_content.expect("structured").as_str(), exact);
    // And on the way out.
    let exact = exact.replace(r#""d":1e400,"#, ""); // which the odd server itself could not read
    let arguments = tinymcp::json::Json::parse(&exact).expect("JSON");
    client.call_tool("t", &arguments).expect("answers");
    let (tx, rx) = channel();
    struct Out(std::sync::mpsc::Sender<String>);
    impl tinymcp::transport::Tap for Out {
        fn frame(&self, direction: tinymcp::transport::Direction, frame: &[u8]) {
            if direction == tinymcp::transport::Direction::Sent {
                let _ = self.0.send(String::from_utf8_lossy(frame).into_owned());
            }
        }
    }
    let tapped = Client::builder().tap(Out(tx)).open(odd("ok")).expect("starts");
    tapped.call_tool("t", &arguments).expect("answers");
    drop(tapped);
    assert!(rx.iter().any(|frame| frame.contains(&format!(r#""arguments":{exact}"#))));
}

#[test]
fn arguments_with_line_breaks_travel_on_one_line() {
    let client = client("ok");
    let text = "{\r\n  \"text\": \"a\\nb  c\",\n\t\"n\": [ 1,\n 2 ]\n}\n";
    let raw: &serde_json::value::RawValue = serde_json::from_str(text).expect("JSON");
    assert_eq!(client.call_tool("echo", raw).expect("one message").text_content(), "a\nb  c");
    let options = CallOptions::default().with_meta("x", raw);
    assert!(client.call_tool_with("t", raw, &options).is_ok());
    assert_eq!(
        client.call_tool("echo", json!({"text": "\n\r\u{2028}\u{0}"})).expect("one").text_content(),
        "\n\r\u{2028}\u{0}"
    );
}

#[test]
fn null_stands_for_absent_and_odd_extras_are_ignored() {
    for mode in ["null_caps", "no_caps", "no_info", "tools_array", "bool_caps"] {
        let client = client(mode);
        let identity = client.initialize().unwrap_or_else(|e| panic!("{mode}: {e}"));
        assert_eq!(identity.instructions, None);
        assert_eq!(client.list_tools().unwrap_or_else(|e| panic!("{mode}: {e}")).items.len(), 1);
    }
    for mode in ["null_desc", "odd_desc"] {
        let client = client(mode);
        let list = client.list_tools().unwrap_or_else(|e| panic!("{mode}: {e}"));
        assert_eq!((list.items.len(), list.rejected.len()), (1, 0), "{mode}: {list:?}");
        assert_eq!(list.items[0].description, None);
        assert_eq!(client.discover_tools().expect("lists")[0].description(), "");
    }
    for mode in ["ping_array", "ping_null"] {
        client(mode).ping().unwrap_or_else(|e| panic!("{mode}: {e}"));
    }
    assert_eq!(call("content_null"), "");
    assert!(call("result_and_error_null").starts_with("ok"));
}

#[test]
fn what_the_server_said_of_itself_is_kept() {
    let client = client("instructions");
    let identity = client.initialize().expect("settles");
    assert_eq!(identity.version, ProtocolVersion::V2025_06_18);
    assert_eq!(identity.info.as_ref().map(|info| info.name.as_str()), Some("odd"));
    assert_eq!(identity.instructions.as_deref(), Some("Be brief."));
    assert!(identity.capabilities.tools.is_some());
}

#[test]
fn one_malformed_tool_hides_no_other() {
    let list = client("bad_tool").list_tools().expect("lists");
    let names: Vec<_> = list.items.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["t", "b"]);
    let rejected: Vec<_> = list.rejected.iter().map(|rejected| rejected.name.as_deref()).collect();
    assert_eq!(rejected, [Some("c"), None, None, None, None]);
    assert!(list.rejected.iter().all(|rejected| !rejected.problem.is_empty()));
}

#[test]
fn pages_are_followed_to_their_end_and_loops_are_errors() {
    assert_eq!(client("three_pages").list_tools().expect("lists").items.len(), 4);
    for (mode, word) in [
        ("cursor_loop", "same"),
        ("cursor_pair", "odd"),
        ("empty_cursor", "\"\""),
        ("endless_pages", "1000 pages"),
    ] {
        let error = client(mode).list_tools().expect_err(mode);
        assert!(matches!(error, Error::Protocol(_)), "{mode}: {error}");
        assert!(error.to_string().contains(word), "{mode}: {error}");
    }
    for mode in ["no_tools_member", "tools_null"] {
        match client(mode).list_tools() {
            Ok(list) => assert!(list.items.is_empty(), "{mode}"),
            Err(error) => assert!(error.to_string().contains("tools"), "{mode}: {error}"),
        }
    }
}

#[test]
fn odd_answers_are_that_calls_error() {
    let client = client("error_odd");
    let error = client.call_tool("t", ()).expect_err("refused");
    let peer = error.peer_error().expect("the peer's");
    assert_eq!(peer.message, "no code");
    client.ping().expect("goes on");
    let client = peers::client("result_string");
    let error = client.call_tool("t", ()).expect_err("no result");
    assert!(matches!(error, Error::Protocol(_)), "{error}");
    client.ping().expect("goes on");
    // Content of a kind that is not known does not cost the known.
    let result = peers::client("content_odd").call_tool("t", ()).expect("a result");
    assert_eq!((result.content.len(), result.text_content().as_str()), (2, "t"));
}

#[test]
fn an_answer_without_jsonrpc_is_noise() {
    let client = peers::hasty("no_jsonrpc", Duration::from_millis(200));
    client.initialize().expect("settles");
    let noise = client.noise();
    assert!(client.call_tool("t", ()).expect_err("no answer").is_timeout());
    assert_eq!(client.noise(), noise + 1);
}

#[test]
fn arguments_that_are_no_object_are_refused_before_anything_is_sent() {
    let client = client("ok");
    for arguments in [json!([1]), json!("x"), json!(5)] {
        let error = client.call_tool("t", arguments).expect_err("no object");
        assert!(matches!(error, Error::InvalidUse(_)), "{error}");
    }
    assert!(client.call_tool("t", json!(null)).is_ok());
    let calls = heard(&client).into_iter().filter(|message| message["method"] == "tools/call").count();
    assert_eq!(calls, 2); // the last one above and the question
}

#[test]
fn a_call_ends_at_its_timeout_and_the_server_is_told() {
    let client = client("never");
    client.initialize().expect("settles");
    let options = CallOptions::default().with_timeout(Duration::from_millis(100));
    let handle = client.start_call("t", (), &options).expect("sent");
    let id = handle.request_id();
    let error = peers::fails_within(LONG, || handle.wait());
    assert!(error.is_timeout(), "{error}");
    assert!(error.to_string().contains(" ms during tools/call: "), "{error}");
    let cancelled = peers::until_heard(&client, |message| message["method"] == "notifications/cancelled");
    // The id comes back with its type.
    assert_eq!(cancelled["params"]["requestId"].as_i64().map(Into::into), id);
    assert_eq!(cancelled["params"]["reason"], "timeout");
    client.ping().expect("goes on");
}

#[test]
fn an_abandoned_call_is_cancelled_and_a_finished_one_is_not() {
    let client = client("never");
    drop(client.start_call("t", (), &CallOptions::default()).expect("sent"));
    let is_cancel = |message: &Value| message["method"] == "notifications/cancelled";
    assert_eq!(peers::until_heard(&client, is_cancel)["params"]["reason"], "abandoned");
    client.start_call("t", (), &CallOptions::default()).expect("sent").cancel("changed my mind");
    peers::until_heard(&client, |message| message["params"]["reason"] == "changed my mind");
    let token = tinymcp::CancelToken::new();
    let handle = client.start_call("t", (), &CallOptions::default().with_cancel(&token)).expect("sent");
    token.cancel("user pressed stop");
    let error = handle.wait().expect_err("cancelled");
    assert!(matches!(&error, Error::Cancelled(reason) if reason == "user pressed stop"), "{error}");
    peers::until_heard(&client, |message| message["params"]["reason"] == "user pressed stop");

    let client = peers::client("ok");
    let handle = client.start_call("t", (), &CallOptions::default()).expect("sent");
    client.ping().expect("answers"); // both answers are here, or the call's comes a moment later
    handle.wait().expect("a result");
    assert!(!heard(&client).iter().any(is_cancel));
}

#[test]
fn a_late_answer_is_ignored() {
    let client = client("late");
    client.initialize().expect("settles");
    let options = CallOptions::default().with_timeout(Duration::from_millis(20));
    assert!(client.call_tool_with("t", (), &options).expect_err("too late").is_timeout());
    for text in ["a", "b"] {
        let result = client.call_tool("echo", json!({"text": text})).expect("answers");
        assert_eq!(result.text_content(), text);
    }
    assert!(client.call_tool("t", ()).expect("answers").text_content().starts_with("ok"));
}

#[test]
fn progress_starts_the_timeout_anew_up_to_the_total() {
    // Twenty reports 50 ms apart: a second in all, with a timeout far below that and without a callback.
    let timeouts = Timeouts::default().with_call(Duration::from_millis(700)).with_reset_on_progress();
    let client = Client::builder().timeouts(timeouts).open(odd("progress_slow")).expect("starts");
    assert!(client.call_tool("t", ()).expect("alive").text_content().starts_with("ok"));
    // Without the reset the same call ends at its timeout, progress or not.
    let fixed = Client::builder()
        .timeouts(Timeouts::default().with_call(Duration::from_millis(300)))
        .open(odd("progress_slow"))
        .expect("starts");
    fixed.initialize().expect("settles");
    let watched = CallOptions::default().with_progress(|_| {});
    assert!(fixed.call_tool_with("t", (), &watched).expect_err("too slow").is_timeout());

    let forever = peers::client("progress_forever");
    forever.initialize().expect("settles");
    let options = CallOptions::default()
        .with_timeout(Duration::from_secs(20))
        .with_total(Duration::from_millis(300))
        .with_reset_on_progress();
    let error = peers::fails_within(Duration::from_secs(10), || forever.call_tool_with("t", (), &options));
    assert!(error.is_timeout(), "{error}");
}

#[test]
fn progress_arrives_in_order_before_the_result_and_nothing_after() {
    let reports = |mode: &str| {
        let (tx, rx) = channel();
        let client = client(mode);
        let options = CallOptions::default().with_progress(move |report| {
            let _ = tx.send(report.progress);
        });
        client.call_tool_with("t", (), &options).expect("a result");
        drop(options);
        client.ping().expect("goes on");
        rx.iter().collect::<Vec<_>>()
    };
    assert_eq!(reports("progress_slow"), (1..=20).map(f64::from).collect::<Vec<_>>());
    // Not increasing, not a number, not ours: ignored.
    assert_eq!(reports("progress_odd"), [1.0, 3.0]);
    assert_eq!(reports("progress_after"), Vec::<f64>::new());
}

#[test]
fn a_storm_of_change_notices_is_one_or_two_calls_of_a_callback_that_calls_back() {
    let (tx, rx) = channel();
    let client = Client::builder()
        .on_tools_changed(move |client| {
            let _ = tx.send(client.list_tools().expect("no deadlock").items.len());
        })
        .open(odd("storm"))
        .expect("starts");
    client.call_tool("t", ()).expect("answers");
    assert_eq!(rx.recv_timeout(LONG), Ok(1));
    client.call_tool("echo", json!({"text": "behind the storm"})).expect("answers");
    let lists = || heard(&client).into_iter().filter(|message| message["method"] == "tools/list").count();
    let after = lists();
    assert!((1..=2).contains(&after), "{after} lists for 200 notices");
    // A later one is told again.
    client.call_tool("t", ()).expect("answers");
    while rx.try_recv().is_ok() {}
    peers::eventually("told again", || lists() > after);
}

#[test]
fn a_callback_may_close_the_client_and_drop_it() {
    let (give, take) = channel::<Client>();
    let (tx, rx) = channel();
    let take = std::sync::Mutex::new(take);
    let client = Client::builder()
        .on_tools_changed(move |handle| {
            let client = take.lock().expect("not poisoned").recv().expect("the client");
            client.close().expect("closes");
            let _ = tx.send(handle.ping().expect_err("closed").to_string());
        })
        .open(odd("storm"))
        .expect("starts");
    client.call_tool("t", ()).expect("answers");
    give.send(client).expect("the callback waits");
    let error = rx.recv_timeout(LONG).expect("the callback came back");
    assert!(error.contains("closed by this client"), "{error}");
}

#[test]
fn a_panicking_callback_costs_nothing_but_itself() {
    let (tx, rx) = channel();
    let client = Client::builder()
        .on_tools_changed(|_| panic!("the panic of a test"))
        .on_notification(move |method, _| {
            let _ = tx.send(method.to_owned());
            panic!("another panic of a test")
        })
        .open(odd("storm"))
        .expect("starts");
    client.call_tool("t", ()).expect("answers");
    client.call_tool("t", ()).expect("answers");
    drop(client);
    let client = Client::builder().tap(PanickingTap).open(odd("unknown_note")).expect("starts");
    client.call_tool("t", ()).expect("answers");
    client.call_tool("t", ()).expect("answers");
    drop(rx);
}

struct PanickingTap;

impl tinymcp::transport::Tap for PanickingTap {
    fn frame(&self, _: tinymcp::transport::Direction, _: &[u8]) {
        panic!("the panic of a tap in a test")
    }
}

#[test]
fn handles_are_inert_after_the_close() {
    let client = client("never");
    let handle = client.handle();
    let tools = client.discover_tools().expect("lists");
    let open = client.start_call("t", (), &CallOptions::default()).expect("sent");
    let waiter = {
        let handle = handle.clone();
        std::thread::spawn(move || handle.call_tool("t", ()))
    };
    peers::until_heard(&client, |message| message["id"] == 5 || message["id"] == 4);
    client.close().expect("closes");
    let told = |error: Error| {
        assert!(error.is_closed(), "{error}");
        assert!(error.to_string().contains("closed by this client"), "{error}");
    };
    told(open.wait().expect_err("closed"));
    told(waiter.join().expect("no panic").expect_err("closed"));
    told(handle.ping().expect_err("closed"));
    told(handle.list_tools().map(drop).expect_err("closed"));
    told(handle.call_tool("t", ()).map(drop).expect_err("closed"));
    assert!(handle.initialize().is_ok(), "what was settled stays known");
    let error =
        tools[0].execute(tinymcp::Arguments::empty(), &tinymcp::Context::detached()).expect_err("closed");
    assert!(error.to_string().contains("closed"), "{error}");
}
