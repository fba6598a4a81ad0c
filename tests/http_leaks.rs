//! That clients over HTTP leave no thread and no descriptor. Alone in its program, as it counts what that has.

#![cfg(target_os = "linux")]

#[path = "support/scripted_http.rs"]
mod http;
mod support;

use std::thread;

use http::ScriptedHttp;
use serde_json::json;
use support::alone::{alone, descriptors, mcp_threads};
use support::peers::eventually;
use tinymcp::http::HttpTransport;
use tinymcp::transport::{OpenOptions, Patience, Transport};

const MODERN: &str = "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}";

#[test]
fn nothing_is_left_of_a_connection_with_everything_under_way() {
    let alone = alone();
    for is_closed in [true, false] {
        let server = ScriptedHttp::start();
        let transport = HttpTransport::new(&server.url("/mcp")).expect("an address");
        let mut connection = Box::new(transport).open(&OpenOptions::default()).expect("opens");
        let mut write = |text: String| connection.writer.write_frames(text.as_bytes()).expect("writes");
        let request = |id: i64, method: &str| {
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{MODERN}}}}}\n")
        };
        let mut streams = Vec::new();
        let mut calls = Vec::new();
        for id in 0..20 {
            write(request(id, "tools/call"));
            calls.push(server.expect("tools/call"));
            write(request(100 + id, "subscriptions/listen"));
            let mut stream = server.expect("subscriptions/listen").stream(&[]);
            stream.message(&json!({"jsonrpc": "2.0", "method": "notifications/x"}));
            streams.push(stream);
        }
        // Some are answered and do not end, some have connections that wait.
        for mut call in calls.drain(..10).map(|call| call.stream(&[])) {
            call.result(json!({}));
            streams.push(call);
        }
        calls.drain(..5).for_each(|call| call.result(json!({})));
        eventually("all are at work", || mcp_threads().len() >= 40);
        if is_closed {
            drop(connection.writer);
            connection.link.close(&Patience::default());
            eventually("no thread left", || mcp_threads().is_empty());
        }
        // Nobody reads: 20 of those frames wait, and their senders would too.
        drop(connection.reader);
        drop(connection.link);
        streams.iter().for_each(http::EventStream::expect_closed);
        calls.iter().for_each(http::Arrived::expect_closed);
        drop((streams, calls, server));
        eventually("no descriptor left", || descriptors() <= alone.descriptors());
    }
}

#[test]
fn two_hundred_clients_leave_nothing() {
    let _alone = alone();
    let server = ScriptedHttp::start();
    let url = server.url("/mcp");
    thread::scope(|scope| {
        let clients = scope.spawn(|| {
            for _ in 0..200 {
                let client = tinymcp::Client::connect_http(&url).expect("a client");
                client.initialize().expect("settled");
                drop(client);
            }
        });
        for _ in 0..200 {
            server.expect("server/discover").result(json!({
                "supportedVersions": ["2026-07-28"], "capabilities": {}, "resultType": "complete",
                "ttlMs": 0, "cacheScope": "private"
            }));
        }
        clients.join().expect("no panic");
    });
    drop(server);
}
