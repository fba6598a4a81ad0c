//! Whoever waits for an answer keeps no thread from those whose work that answer takes.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use serde_json::json;
use tinymcp::protocol::{CreateMessageParams, CreateMessageResult, Root};
use tinymcp::testing::{ScriptedPeer, pair_with};
use tinymcp::{Client, ErrorObject, FnTool, Message, ProtocolVersion, Server, ToolRegistry};

fn server(threads: usize) -> Server {
    let tools = ToolRegistry::new();
    let schema = || json!({"type": "object"});
    let ask =
        FnTool::new("ask", "", schema(), |_, cx| Ok::<_, tinymcp::ToolError>(cx.roots()?[0].uri.clone()));
    let sample = FnTool::new("sample", "", schema(), |_, cx| {
        let said = cx.sample("said", CreateMessageParams::new(10).with_user("Where?"))?;
        Ok::<_, tinymcp::ToolError>(said.text_content())
    });
    tools.register(ask).expect("registered");
    tools.register(sample).expect("registered");
    tools.register(FnTool::new("plain", "", schema(), |_, _| "done")).expect("registered");
    Server::builder("asks", "1").tools(tools).max_threads(threads).build().expect("a server")
}

#[test]
fn tools_run_while_as_many_as_there_are_threads_wait_for_a_user() {
    let mut peer = ScriptedPeer::for_server(&server(2));
    let able = json!({"roots": {}});
    peer.request(0, "initialize", json!({"protocolVersion": "2025-11-25", "capabilities": able}));
    peer.expect_result(0);
    for id in 1..=8 {
        peer.request(id, "tools/call", json!({"name": "ask"}));
    }
    // Not one of them is answered before all are here.
    let asked: Vec<_> = (1..=8).map(|_| peer.expect_request("roots/list")).collect();
    peer.request(9, "tools/call", json!({"name": "plain"}));
    peer.expect_result(9);
    for question in &asked {
        peer.respond(&question.id, json!({"roots": [{"uri": "file:///work"}]}));
    }
    for _ in 1..=8 {
        let Message::Response(response) = peer.expect() else { panic!("no answer") };
        assert!(response.result.expect("a result").as_str().contains("file:///work"));
    }
}

/// Each question is answered by calling a tool that asks as well: on both sides more wait than there are threads.
#[test]
fn handlers_that_call_tools_that_ask_do_not_wait_for_each_other() {
    let asked = std::sync::Arc::new(AtomicU32::new(0));
    let count = asked.clone();
    let client = Client::builder()
        .versions([ProtocolVersion::V2025_11_25])
        .on_roots(|_| Ok(vec![Root::new("file:///work")]))
        .on_sample(move |question| {
            count.fetch_add(1, Ordering::SeqCst);
            let result = question.client().call_tool("ask", ());
            let result = result.map_err(|e| ErrorObject::new(-32603, e.to_string()))?;
            Ok(CreateMessageResult::text("m", result.text_content()))
        });
    let client = pair_with(client, &server(8)).expect("a pair");
    thread::scope(|scope| {
        let calls: Vec<_> = (0..40).map(|_| scope.spawn(|| client.call_tool("sample", ()))).collect();
        for call in calls {
            let result = call.join().expect("no panic").expect("a result");
            assert_eq!(result.text_content(), "file:///work");
        }
    });
    assert_eq!(asked.load(Ordering::SeqCst), 40);
}
