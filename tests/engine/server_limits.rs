//! A scripted client against a server: limits, the end, paging, changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use serde_json::{Value, json};
use tinymcp::json::Json;
use tinymcp::protocol::{CallToolResult, ToolDefinition};
use tinymcp::testing::ScriptedPeer;
use tinymcp::{Arguments, Context, FnTool, Message, RequestId, Server, Tool, ToolError, ToolRegistry};

use super::{LONG, expect_nothing, initialize, modern, server, tools};

#[test]
fn ping_is_answered_in_any_state() {
    let (tools, gate) = tools();
    let server = Server::builder("s", "1").tools(tools).max_threads(1).build().expect("a server");
    let mut client = ScriptedPeer::for_server(&server).with_deadline(LONG);
    expect_nothing(&mut client);
    initialize(&mut client, "2024-11-05");
    expect_nothing(&mut client);
    client.request(1, "tools/call", json!({"name": "hold"}));
    gate.entered();
    client.request(2, "tools/call", json!({"name": "hold"})); // waits for the one thread
    expect_nothing(&mut client);
    // A Modern ping does not exist.
    client.request(3, "ping", modern(json!({})));
    assert_eq!(client.expect_error(RequestId::from(3)).code, -32601);
    gate.release();
    client.expect_result(1);
    gate.entered();
    gate.release();
    client.expect_result(2);
}

/// A tool that was short so often that its calls are run by whoever reads, and then is not.
#[test]
fn a_tool_that_suddenly_blocks_does_not_stop_the_reading() {
    let (entered_tx, entered) = unbounded();
    let (release, released) = bounded::<()>(0);
    let moody = FnTool::new("moody", "Short, mostly", json!({"type": "object"}), move |arguments, _| {
        if arguments.as_str().contains("block") {
            entered_tx.send(()).expect("the test lives");
            let _ = released.recv_timeout(LONG);
        }
        "done"
    });
    let tools = ToolRegistry::new().with(moody).expect("a good tool");
    let server = Server::builder("s", "1").tools(tools).build().expect("a server");
    let mut client = ScriptedPeer::for_server(&server).with_deadline(LONG);
    initialize(&mut client, "2025-11-25");
    for _ in 0..40 {
        for id in 0..30 {
            client.request(id, "tools/call", json!({"name": "moody"}));
            client.expect_result(id);
        }
        // With another one behind it, so that its answer could be left to that one's turn.
        client.request(0, "tools/call", json!({"name": "moody", "arguments": {"block": true}}));
        client.request("behind", "tools/call", json!({"name": "moody"}));
        entered.recv_timeout(LONG).expect("called");
        client.expect_result("behind");
        expect_nothing(&mut client);
        // Nothing else is said until its answer has come.
        release.send_timeout((), LONG).expect("it waits");
        client.expect_result(0);
        // A pause, after which the stand-by still looks and traffic counts as sparse.
        std::thread::park_timeout(Duration::from_millis(2));
        client.request(0, "tools/call", json!({"name": "moody"}));
        client.expect_result(0);
        std::thread::park_timeout(Duration::from_millis(2));
        expect_nothing(&mut client);
    }
}

/// The description of a tool is its author's code too.
#[test]
fn a_tool_that_is_slow_to_describe_itself_does_not_stop_the_reading() {
    struct Slow(Json, Sender<()>, Receiver<()>, Arc<AtomicBool>);
    impl Tool for Slow {
        fn name(&self) -> &str {
            "slow"
        }
        fn description(&self) -> &str {
            "Slow to say what it is"
        }
        fn parameters(&self) -> &Json {
            &self.0
        }
        fn execute(&self, _: Arguments<'_>, _: &Context) -> Result<CallToolResult, ToolError> {
            Ok(CallToolResult::default())
        }
        fn definition(&self) -> ToolDefinition {
            // Before it is the registration that asks.
            if self.3.load(Ordering::SeqCst) {
                self.1.send(()).expect("the test lives");
                let _ = self.2.recv_timeout(LONG);
            }
            ToolDefinition::new("slow", self.0.clone())
        }
    }
    let (entered_tx, entered) = unbounded();
    let (release, released) = bounded::<()>(0);
    let is_slow = Arc::new(AtomicBool::new(false));
    let slow = Slow(json!({"type": "object"}).into(), entered_tx, released, Arc::clone(&is_slow));
    let tools = ToolRegistry::new().with(slow).expect("a good tool");
    let server = Server::builder("s", "1").tools(tools).build().expect("a server");
    is_slow.store(true, Ordering::SeqCst);
    let mut client = ScriptedPeer::for_server(&server).with_deadline(LONG);
    client.request(1, "tools/list", modern(json!({})));
    entered.recv_timeout(LONG).expect("asked");
    expect_nothing(&mut client);
    release.send_timeout((), LONG).expect("it waits");
    client.expect_result(1);
}

#[test]
fn a_client_that_does_not_read_loses_nothing_and_stops_nobody_else() {
    let (tools, _gate) = tools();
    let server = Server::builder("s", "1").tools(tools).max_unsent_bytes(1000).max_threads(4).build();
    let server = server.expect("a server");
    let mut deaf = ScriptedPeer::for_server(&server).with_deadline(LONG);
    // More answers than the transport and the server's queue hold, and then the server stops reading.
    for id in 0..450 {
        deaf.request(id, "tools/call", modern(json!({"name": "echo"})));
    }
    let mut other = ScriptedPeer::for_server(&server).with_deadline(LONG);
    other.request(1, "tools/call", modern(json!({"name": "echo"})));
    other.expect_result(1);
    let mut ids: Vec<_> = (0..450)
        .map(|_| serde_json::from_str::<Value>(&deaf.expect_frame()).expect("JSON")["id"].as_i64())
        .collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq((0..450).map(Some)));
    expect_nothing(&mut deaf);
}

#[test]
fn overload_is_an_immediate_error() {
    let (tools, gate) = tools();
    let server = Server::builder("s", "1").tools(tools).max_open_requests(2).build().expect("a server");
    let mut client = ScriptedPeer::for_server(&server).with_deadline(LONG);
    for id in 1..=2 {
        client.request(id, "tools/call", modern(json!({"name": "hold"})));
        gate.entered();
    }
    for method in ["tools/call", "tools/list"] {
        client.request(3, method, modern(json!({"name": "echo"})));
        let error = client.expect_error(RequestId::from(3));
        assert_eq!((error.code, error.message.as_str()), (-32603, "server busy: 2 requests in flight"));
    }
    // Neither a ping nor a cancellation needs room, and a cancelled request makes some.
    expect_nothing(&mut client);
    client.notify("notifications/cancelled", json!({"requestId": 1}));
    client.request(3, "tools/call", modern(json!({"name": "echo"})));
    client.expect_result(3);
    gate.release();
    gate.release();
    client.expect_result(2);
}

#[test]
fn an_oversized_frame_is_its_own_error() {
    let (tools, _gate) = tools();
    let server = Server::builder("s", "1").tools(tools).max_frame_bytes(300).build().expect("a server");
    let mut client = ScriptedPeer::for_server(&server).with_deadline(LONG);
    client.request(1, "tools/call", modern(json!({"name": "echo", "arguments": {"a": "a".repeat(300)}})));
    let error = client.expect_error(None);
    assert_eq!((error.code, error.message.as_str()), (-32700, "frame exceeds 300 bytes"));
    client.request(1, "tools/call", modern(json!({"name": "echo", "arguments": {"a": "a"}})));
    client.expect_result(1);
}

#[test]
fn a_stuck_handler_delays_the_end_by_the_grace_alone() {
    let (tools, gate) = tools();
    let ends = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ends);
    let hook = move || {
        counted.fetch_add(1, Ordering::SeqCst);
    };
    let server = Server::builder("s", "1").tools(tools).grace(Duration::from_millis(20)).on_end(hook);
    let server = server.build().expect("a server");
    let mut client = ScriptedPeer::for_server(&server).with_deadline(LONG);
    client.request(1, "tools/call", modern(json!({"name": "hold", "_meta": {"progressToken": 1}})));
    let cx = gate.entered();
    client.close();
    client.expect_end(); // joins the server, while the handler is still at the gate
    assert!(cx.is_cancelled());
    assert_eq!(ends.load(Ordering::SeqCst), 1);
    cx.progress(1.0, None, None);
    gate.release();
}

#[test]
fn a_server_can_end_by_itself() {
    let (mut client, gate, server) = server();
    client.request(1, "tools/call", modern(json!({"name": "hold"})));
    gate.entered();
    server.handle().stop();
    gate.release();
    client.expect_result(1); // what was accepted is finished
    client.expect_end();
    assert!(server.handle().is_stopped());
}

fn listed(client: &mut ScriptedPeer, params: Value) -> (Vec<String>, Value) {
    client.request("list", "tools/list", params);
    let result = client.expect_result("list").to_value();
    let names = result["tools"].as_array().expect("tools").iter();
    (
        names.map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect(),
        result["nextCursor"].clone(),
    )
}

fn named(name: &str) -> FnTool {
    FnTool::new(name, "A tool", json!({"type": "object"}), |_, _| "")
}

#[test]
fn pages_survive_tools_that_come_and_go() {
    let tools = ToolRegistry::new();
    for name in ["e", "b", "d", "a", "c"] {
        tools.register(named(name)).expect("a good tool");
    }
    let server = Server::builder("s", "1").tools(tools.clone()).page_size(2).build().expect("a server");
    let mut client = ScriptedPeer::for_server(&server).with_deadline(LONG);
    for old in [false, true] {
        if old {
            initialize(&mut client, "2025-06-18");
        }
        let params = |cursor: Value| {
            let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
            if old { params } else { modern(params) }
        };
        let (first, cursor) = listed(&mut client, params(Value::Null));
        assert_eq!(first, ["a", "b"]);
        let (second, last) = listed(&mut client, params(cursor.clone()));
        assert_eq!(second, ["c", "d"]);
        assert_eq!(listed(&mut client, params(last.clone())), (vec!["e".to_owned()], Value::Null));
        // The last tool of the first page goes, and the first of the second: the cursor still says where to go on.
        for name in ["b", "c"] {
            tools.remove(name);
            if old {
                client.expect_notification("notifications/tools/list_changed");
            }
        }
        assert_eq!(listed(&mut client, params(cursor)), (vec!["d".to_owned(), "e".to_owned()], Value::Null));
        tools.remove("e");
        if old {
            client.expect_notification("notifications/tools/list_changed");
        }
        assert_eq!(listed(&mut client, params(last)), (vec![], Value::Null));
        for garbage in
            [json!("garbage"), json!(""), json!("after-"), json!("after-zz"), json!("after-ff"), json!(2)]
        {
            client.request("bad", "tools/list", params(garbage.clone()));
            assert_eq!(client.expect_error(RequestId::from("bad")).code, -32602, "{garbage}");
        }
        for name in ["b", "c", "e"] {
            tools.register(named(name)).expect("free");
            if old {
                client.expect_notification("notifications/tools/list_changed");
            }
        }
    }
}

#[test]
fn changes_are_told_to_legacy_connections_alone() {
    let (mut client, _gate, server) = server();
    let change = |n: usize| server.tools().register(named(&format!("new{n}"))).expect("free");
    change(0);
    expect_nothing(&mut client); // nobody has settled anything
    client.request(1, "tools/list", modern(json!({})));
    client.expect_result(1);
    change(1);
    expect_nothing(&mut client); // a Modern client would subscribe
    let result = initialize(&mut client, "2025-03-26");
    assert_eq!(result["capabilities"]["tools"]["listChanged"], true);
    change(2);
    client.expect_notification("notifications/tools/list_changed");
    expect_nothing(&mut client);
    // Another connection of the same server has settled nothing.
    let mut other = ScriptedPeer::for_server(&server).with_deadline(LONG);
    expect_nothing(&mut other);
    change(3);
    expect_nothing(&mut other);
    client.expect_notification("notifications/tools/list_changed");
}

#[test]
fn one_message_is_served_without_a_wire() {
    let (_client, _gate, server) = server();
    let ask =
        |message| server.handle_request(message).map(|answer| serde_json::to_value(answer).expect("JSON"));
    let request = |id: i64, method: &str, params: Value| Message::request(id, method, Some(params.into()));
    assert_eq!(ask(Message::notification("notifications/initialized", None)), None);
    assert_eq!(ask(Message::response(RequestId::from(1), Ok(json!({}).into()))), None);
    let answer =
        ask(request(1, "tools/call", modern(json!({"name": "steps", "_meta": {"progressToken": 1}}))));
    let answer = answer.expect("an answer");
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(1), &json!("done")));
    assert_eq!(ask(request(2, "tools/list", json!({}))).expect("an answer")["error"]["code"], -32602);
    ask(request(3, "initialize", json!({"protocolVersion": "2025-06-18"}))).expect("an answer");
    let listed = ask(request(4, "tools/list", json!({}))).expect("an answer");
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(4));
    assert_eq!(ask(request(5, "ping", json!({}))).expect("an answer")["result"], json!({}));
    assert_eq!(ask(request(6, "ping", modern(json!({})))).expect("an answer")["error"]["code"], -32601);
}
