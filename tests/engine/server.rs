//! A scripted client against a server: answers, ids, cancelling, progress.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tinymcp::RequestId;

use super::{expect_nothing, initialize, modern, server, text};

#[test]
fn ids_come_back_as_they_came() {
    let (mut client, ..) = server();
    for id in ["1", r#""1""#, "0", "-7", "9223372036854775807", r#""""#, r#""grün \" \\""#, r#""null""#] {
        client.send_raw(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        assert_eq!(client.expect_frame(), format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    }
    for id in ["null", "1.5", "true", "{}", "[1]", "9223372036854775808"] {
        client.send_raw(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        let frame = client.expect_frame();
        assert!(!frame.contains("\"id\":") && frame.contains("-32600"), "{id}: {frame}");
    }
}

#[test]
fn a_duplicate_is_refused_without_harm_to_the_first() {
    let (mut client, gate, _) = server();
    client.request(7, "tools/call", modern(json!({"name": "hold"})));
    gate.entered();
    for method in ["tools/call", "tools/list"] {
        client.request(7, method, modern(json!({"name": "echo"})));
        let error = client.expect_error(None);
        assert_eq!((error.code, error.message.as_str()), (-32600, "request id 7 is in use"));
    }
    // The same digits as a string are another id.
    client.request("7", "tools/call", modern(json!({"name": "echo", "arguments": {"a": 1}})));
    assert_eq!(client.expect_result("7").to_value()["content"][0]["text"], r#"{"a":1}"#);
    gate.release();
    assert_eq!(client.expect_result(7).to_value()["content"][0]["text"], "released");
    // After its answer the id is free.
    client.request(7, "tools/list", modern(json!({})));
    client.expect_result(7);
}

#[test]
fn a_cancelled_request_is_never_answered() {
    for old in [false, true] {
        let (mut client, gate, _) = server();
        let params = if old {
            initialize(&mut client, "2025-11-25");
            json!({"name": "hold"})
        } else {
            modern(json!({"name": "hold"}))
        };
        client.request("x", "tools/call", params);
        let cx = gate.entered();
        client.notify("notifications/cancelled", json!({"requestId": "x", "reason": "no longer"}));
        expect_nothing(&mut client);
        assert_eq!(cx.cancel_token().reason(), Some("no longer"));
        // The handler returns a result all the same, and reports after the end.
        cx.progress(1.0, None, None);
        gate.release();
        // At the end of the input everything accepted has been finished, and its answers written.
        client.close();
        client.expect_end();
    }
}

#[test]
fn a_cancellation_that_comes_late_or_means_nothing_is_ignored() {
    let (mut client, gate, _) = server();
    client.request(1, "tools/call", modern(json!({"name": "echo"})));
    client.expect_result(1);
    for params in [
        json!({"requestId": 1}),
        json!({"requestId": 99, "reason": "unknown"}),
        json!({"requestId": null}),
        json!({"reason": "no id"}),
        json!({}),
        json!([1]),
    ] {
        client.notify("notifications/cancelled", params);
    }
    client.send_raw(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#);
    expect_nothing(&mut client);
    // Its id is told by its type too.
    client.request(5, "tools/call", modern(json!({"name": "hold"})));
    gate.entered();
    client.notify("notifications/cancelled", json!({"requestId": "5"}));
    expect_nothing(&mut client);
    gate.release();
    client.expect_result(5);
}

#[test]
fn progress_rises_precedes_the_answer_and_ends_with_it() {
    let (mut client, gate, _) = server();
    for token in [json!("tok"), json!(0), json!(-3)] {
        client.request(1, "tools/call", modern(json!({"name": "steps", "_meta": {"progressToken": token}})));
        for done in [1.0, 2.0, 3.0] {
            let params =
                client.expect_notification("notifications/progress").params.expect("params").to_value();
            assert_eq!(params["progressToken"], token);
            assert_eq!((params["progress"].as_f64(), params["total"].as_f64()), (Some(done), Some(3.0)));
            assert_eq!(params["message"], "step");
        }
        client.expect_result(1);
    }
    // A handler's context that outlives its call is inert.
    client.request(2, "tools/call", modern(json!({"name": "hold", "_meta": {"progressToken": 2}})));
    let cx = gate.entered();
    cx.progress(0.5, None, None);
    client.expect_notification("notifications/progress");
    gate.release();
    client.expect_result(2);
    cx.progress(0.75, None, None);
    expect_nothing(&mut client);
    // Without a token that can be used, or any, there is none.
    for meta in [json!({}), json!({"progressToken": null}), json!({"progressToken": [1]})] {
        client.request(3, "tools/call", modern(json!({"name": "steps", "_meta": meta})));
        client.expect_result(3);
    }
}

#[test]
fn progress_rises_whichever_thread_of_a_handler_reports_it() {
    const LAST: u32 = 2000;
    let (mut client, gate, _) = server();
    client.request(1, "tools/call", modern(json!({"name": "hold", "_meta": {"progressToken": 1}})));
    let cx = gate.entered();
    let reported = AtomicU32::new(0);
    let mut seen = Vec::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let done @ ..LAST = reported.fetch_add(1, Ordering::SeqCst) {
                    cx.progress(f64::from(done + 1), f64::from(LAST), None);
                }
            });
        }
        while seen.last() != Some(&f64::from(LAST)) {
            let params = client.expect_notification("notifications/progress").params.expect("params");
            seen.push(params.to_value()["progress"].as_f64().expect("a number"));
        }
    });
    assert!(seen.is_sorted_by(|a, b| a < b), "{seen:?}");
    assert!(seen.len() < LAST as usize, "a flood is thinned out");
    gate.release();
    client.expect_result(1);
}

#[test]
fn answers_come_as_calls_finish() {
    let (mut client, gate, _) = server();
    client.request(1, "tools/call", modern(json!({"name": "hold"})));
    gate.entered();
    for id in 2..50 {
        client.request(id, "tools/call", modern(json!({"name": "echo"})));
        client.expect_result(id);
    }
    gate.release();
    client.expect_result(1);
}

/// A request that comes alone, while the stand-by still watches the dense ones before it, changes nothing for those after
/// it: the first call of a tool runs on the reading thread, and a ping behind it is answered.
#[test]
fn a_held_call_holds_up_no_ping_when_traffic_stops_and_goes() {
    for _ in 0..10 {
        let (mut client, gate, _) = server();
        for id in 0..200 {
            client.request(id, "tools/call", modern(json!({"name": "echo"})));
            client.expect_result(id);
            if id % 40 == 39 {
                // The pause is the traffic that is meant, long enough to end what counts as dense.
                std::thread::sleep(std::time::Duration::from_millis(3));
                expect_nothing(&mut client);
            }
        }
        for id in 200..240 {
            client.request(id, "tools/call", modern(json!({"name": "echo"})));
            client.expect_result(id);
        }
        client.request("held", "tools/call", modern(json!({"name": "hold"})));
        expect_nothing(&mut client);
        gate.release();
        client.expect_result("held");
    }
}

#[test]
fn a_panic_is_the_error_of_its_call() {
    let (mut client, ..) = server();
    initialize(&mut client, "2025-11-25");
    for id in 0..3 {
        client.request(id, "tools/call", json!({"name": "panics"}));
        let result = client.expect_result(id).to_value();
        assert_eq!(result["isError"], true, "{result}");
        client.request(id, "tools/call", json!({"name": "echo"}));
        assert_eq!(client.expect_result(id).to_value(), text("{}"));
    }
}

#[test]
fn a_bad_line_is_its_own_error() {
    let (mut client, ..) = server();
    initialize(&mut client, "2025-11-25");
    for (line, code, id) in [
        (&b"{not json"[..], -32700, None),
        (b"Content-Length: 5", -32700, None),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b"5", -32600, None),
        (b"\"ping\"", -32600, None),
        (b"null", -32600, None),
        (b"[]", -32600, None),
        (b"{}", -32600, None),
        (b"{\"jsonrpc\":\"1.0\",\"id\":3,\"method\":\"ping\"}", -32600, Some(3)),
        (b"{\"id\":3,\"method\":\"ping\"}", -32600, Some(3)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":3}", -32600, Some(3)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":4}", -32600, Some(3)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\",\"params\":5}", -32600, Some(3)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\",\"params\":[]}", -32602, Some(3)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{}}", -32602, Some(3)),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"no\"}}",
            -32602,
            Some(3),
        ),
    ] {
        client.send_raw(line);
        let error = client.expect_error(id.map(RequestId::from));
        assert_eq!(error.code, code, "{}: {error}", String::from_utf8_lossy(line));
    }
    for empty in ["", " ", "\t", "\r"] {
        client.send_raw(empty);
        expect_nothing(&mut client);
    }
}

#[test]
fn what_needs_no_answer_gets_none() {
    let (mut client, ..) = server();
    for frame in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/unknown","params":{"a":1}}"#,
        r#"{"jsonrpc":"2.0","method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":"late"}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"yours"}}"#,
    ] {
        client.send_raw(frame);
        expect_nothing(&mut client);
    }
    initialize(&mut client, "2025-06-18");
    expect_nothing(&mut client);
}

#[test]
fn the_end_of_the_input_answers_everything_first() {
    let (mut client, ..) = server();
    let ids: Vec<i64> = (0..100).collect();
    for id in &ids {
        client.request(*id, "tools/call", modern(json!({"name": "echo", "arguments": {"id": id}})));
    }
    client.close();
    let mut answered: Vec<(i64, Value)> = ids
        .iter()
        .map(|_| {
            let frame: Value = serde_json::from_str(&client.expect_frame()).expect("JSON");
            (frame["id"].as_i64().expect("a number"), frame["result"]["content"][0]["text"].clone())
        })
        .collect();
    answered.sort_by_key(|(id, _)| *id);
    let want: Vec<_> = ids.iter().map(|id| (*id, json!(format!(r#"{{"id":{id}}}"#)))).collect();
    assert_eq!(answered, want);
    client.expect_end();
}
