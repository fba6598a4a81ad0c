//! What clients in the wild send, and what a server on stdio makes of it. Every server is a process of its own.

#![cfg(unix)]

mod support;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::peers::{self, INIT, INITIALIZED, LONG, Raw, call, request, text};

#[test]
fn child() {
    peers::child();
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
}

#[test]
fn piped_input_is_answered_in_full_before_the_exit() {
    let mut raw = Raw::new("");
    let lines = [
        INIT,
        INITIALIZED,
        &call(1, "wait", json!({"ms": 300})),
        &call("b", "echo", json!({"message": "m"})),
    ];
    raw.send_bytes((lines.join("\n") + "\n" + &request(2, "tools/list")).as_bytes()); // the last line has no end
    let (answers, status, _) = raw.finish();
    let mut ids: Vec<_> = answers.iter().map(|answer| answer["id"].to_string()).collect();
    ids.sort();
    assert_eq!(ids, ["\"b\"", "0", "1", "2"]);
    assert!(status.success());
    // Also what only a few threads can work off.
    let mut raw = Raw::initialized("threads=2");
    (1..=20).for_each(|id| raw.send(&call(id, "wait", json!({"ms": 20}))));
    let (answers, status, _) = raw.finish();
    assert_eq!((answers.len(), status.success()), (20, true));
}

#[test]
fn the_end_of_input_ends_the_server() {
    // The best of a few: the machine may be busy with other tests.
    let best = (0..5).map(|_| {
        let mut raw = Raw::initialized("");
        let (rest, status, took) = raw.finish();
        assert!(rest.is_empty() && status.success());
        took
    });
    let best = best.min().expect("five");
    assert!(best < Duration::from_millis(100), "{best:?}");
    let (rest, status, _) = Raw::new("").finish();
    assert!(rest.is_empty() && status.success());
}

#[test]
fn a_stuck_handler_delays_the_exit_by_the_grace_alone() {
    let mut raw = Raw::initialized("grace=300");
    raw.send(&call(1, "stubborn", json!({"ms": 3_600_000})));
    raw.send(&call(2, "wait", json!({})));
    raw.send(&call(3, "echo", json!({"message": "m"})));
    assert_eq!(text(&raw.answer(3)), "m");
    let (rest, status, took) = raw.finish();
    assert!(rest.is_empty() && status.success(), "{rest:?}");
    assert!(took >= Duration::from_millis(290) && took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn a_bad_line_is_that_lines_error() {
    let mut raw = Raw::new("");
    for (line, want) in [
        ("not json", -32700),
        ("{", -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#, -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}{}"#, -32700),
        ("[1,", -32700),
        ("\u{1b}[2mINFO\u{1b}[0m", -32700),
        ("Content-Length: 5", -32700),
        ("[]", -32600),
        ("[1]", -32600),
        ("5", -32600),
        ("\"x\"", -32600),
        ("null", -32600),
        ("true", -32600),
        ("{}", -32600),
        (r#"{"jsonrpc":"1.0","method":"ping"}"#, -32600),
        (r#"{"jsonrpc":2.0,"method":"ping"}"#, -32600),
        (r#"{"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"ping"}"#, -32600),
    ] {
        let answer = raw.ask(line);
        assert_eq!(code(&answer), want, "{line}");
        assert!(answer.get("id").is_none(), "{line}: {answer}");
    }
    // With an id that can be read the error has it.
    for line in [
        r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#,
        r#"{"id":7,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":5}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":"x"}"#,
        r#"{"jsonrpc":"2.0","id":7}"#,
    ] {
        let answer = raw.ask(line);
        assert_eq!((code(&answer), &answer["id"]), (-32600, &json!(7)), "{line}");
    }
    // Bytes that are no text, and lines that are none.
    raw.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}\n");
    assert_eq!(code(&raw.next()), -32700);
    raw.send_bytes(b"\n\r\n   \n\t\n");
    raw.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":\"crlf\",\"method\":\"ping\"}\r\n");
    assert_eq!(raw.next()["id"], "crlf");
    assert_eq!(raw.ask(INIT)["result"]["serverInfo"]["name"], "served");
    let (rest, status, _) = raw.finish();
    assert!(rest.is_empty() && status.success());
}

#[test]
fn ids_come_back_as_they_came() {
    let mut raw = Raw::new("");
    let ids = [
        "0",
        "-1",
        "9223372036854775807",
        "-9223372036854775808",
        r#""""#,
        r#""1""#,
        r#""\u00e9\"\n""#,
        r#""a b""#,
    ];
    for id in ids {
        let answer = raw.ask(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        assert_eq!(answer["id"], serde_json::from_str::<Value>(id).expect("JSON"));
        assert_eq!(answer["result"], json!({}));
    }
    // Members in any order, unknown ones, parameters of no use.
    let answer =
        raw.ask(r#"{"x":{"y":[1]},"params":{"_meta":{"a":1}},"method":"ping","id":3,"jsonrpc":"2.0"}"#);
    assert_eq!(answer["result"], json!({}));
}

#[test]
fn ping_is_answered_in_any_state_and_other_requests_only_after_the_handshake() {
    let mut raw = Raw::new("");
    assert_eq!(raw.ask(&request(1, "ping"))["result"], json!({}));
    assert_eq!(code(&raw.ask(&request(2, "tools/list"))), -32602);
    assert_eq!(code(&raw.ask(&call(3, "echo", json!({"message": "m"})))), -32602);
    assert!(raw.ask(INIT)["result"].is_object());
    // Without `notifications/initialized`.
    assert!(raw.ask(&request(4, "tools/list"))["result"]["tools"].is_array());
    assert_eq!(text(&raw.ask(&call(5, "echo", json!({"message": "m"})))), "m");
    assert_eq!(raw.ask(&request(6, "ping"))["result"], json!({}));
    // A second handshake is answered like the first.
    assert!(raw.ask(INIT)["result"].is_object());
}

#[test]
fn a_probe_for_the_other_era_does_not_spoil_the_connection() {
    let probe = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}"#;
    let mut both = Raw::new("");
    assert_eq!(both.ask(probe)["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(both.ask(INIT)["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(text(&both.ask(&call(2, "echo", json!({"message": "m"})))), "m");

    let mut legacy = Raw::new("versions=2025-11-25+2025-06-18");
    assert_eq!(code(&legacy.ask(probe)), -32601);
    assert_eq!(legacy.ask(INIT)["result"]["protocolVersion"], "2025-06-18");

    let mut modern = Raw::new("versions=2026-07-28");
    let refused = modern.ask(INIT);
    assert_eq!((code(&refused), &refused["error"]["data"]["supported"]), (-32022, &json!(["2026-07-28"])));
    assert!(modern.ask(probe)["result"].is_object());
    let wrong = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    assert_eq!(modern.ask(wrong)["error"]["data"]["supported"], json!(["2026-07-28"]));
}

#[test]
fn versions_are_negotiated_and_never_an_error() {
    let ask = |options: &str, version: Value| {
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}});
        let line = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string();
        Raw::new(options).ask(&line)["result"]["protocolVersion"].as_str().map(str::to_owned)
    };
    for (asked, want) in [
        (json!("2024-11-05"), "2024-11-05"),
        (json!("2025-03-26"), "2025-03-26"),
        (json!("2025-06-18"), "2025-06-18"),
        (json!("2025-11-25"), "2025-11-25"),
        (json!("2026-07-28"), "2025-11-25"),
        (json!("1999-01-01"), "2025-11-25"),
        (json!("2099-01-01"), "2025-11-25"),
        (json!("draft"), "2025-11-25"),
        (json!(""), "2025-11-25"),
        (json!(null), "2025-11-25"),
        (json!(5), "2025-11-25"),
    ] {
        assert_eq!(ask("", asked.clone()).as_deref(), Some(want), "{asked}");
    }
    let capped = "versions=2025-03-26+2024-11-05";
    assert_eq!(ask(capped, json!("2025-11-25")).as_deref(), Some("2025-03-26"));
    assert_eq!(ask(capped, json!("2024-11-05")).as_deref(), Some("2024-11-05"));
    for params in [json!({}), json!({"capabilities": null, "clientInfo": null}), json!({"clientInfo": "me"})]
    {
        let line = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string();
        assert_eq!(Raw::new("").ask(&line)["result"]["protocolVersion"], "2025-11-25", "{line}");
    }
    assert!(Raw::new("").ask(&request(0, "initialize"))["result"].is_object());
}

#[test]
fn an_id_in_use_harms_neither_call() {
    let mut raw = Raw::initialized("");
    raw.send(&call(1, "gate", json!({})));
    let refused = raw.ask(&call(1, "echo", json!({"message": "m"})));
    assert_eq!((code(&refused), refused.get("id")), (-32600, None));
    assert!(refused["error"]["message"].as_str().expect("text").contains('1'));
    // Nor by any other kind of answer.
    for line in
        [request(1, "ping"), request(1, "no/such"), r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#.to_owned()]
    {
        let refused = raw.ask(&line);
        assert_eq!((code(&refused), refused.get("id")), (-32600, None), "{line}");
    }
    // "1" is another id.
    raw.send(&call("1", "echo", json!({"message": "m"})));
    assert_eq!(text(&raw.answer("1")), "m");
    raw.send(&call(2, "open_gate", json!({})));
    assert_eq!(text(&raw.answer(1)), "opened");
    assert_eq!(text(&raw.answer(2)), "done");
    // Answered: free again.
    assert_eq!(text(&raw.ask(&call(1, "echo", json!({"message": "again"})))), "again");
    assert!(raw.finish().0.is_empty());
}

#[test]
fn batches_are_of_one_revision_alone() {
    let init = |version: &str| INIT.replace("2025-06-18", version);
    let batch = format!(
        "[{},{},{},7,{},{}]",
        request(1, "ping"),
        call(2, "echo", json!({"message": "m"})),
        INITIALIZED,
        call(3, "boom", json!({"text": "secret"})),
        request(4, "no/such"),
    );
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut raw = Raw::new("");
        assert_eq!(code(&raw.ask(&format!("[{}]", init(version)))), -32600);
        raw.ask(&init(version));
        assert_eq!(code(&raw.ask(&batch)), -32600, "{version}");
        assert_eq!(raw.ask(&request(5, "ping"))["result"], json!({}));
        assert!(raw.finish().0.is_empty());
    }
    let mut raw = Raw::new("");
    raw.ask(&init("2025-03-26"));
    let answers = raw.ask(&batch);
    let of = |id: Value| {
        answers.as_array().expect("a batch").iter().find(|a| a.get("id") == Some(&id)).expect("one")
    };
    assert_eq!(answers.as_array().map(Vec::len), Some(5), "{answers}");
    assert_eq!(of(json!(1))["result"], json!({}));
    assert_eq!(text(of(json!(2))), "m");
    assert_eq!(of(json!(3))["result"]["isError"], true);
    assert_eq!(code(of(json!(4))), -32601);
    assert_eq!(code(&raw.ask("[]")), -32600);
    assert_eq!(code(&raw.ask("[1]")[0]), -32600);
    assert_eq!(code(&raw.ask(&format!("[{}]", init("2025-03-26")))[0]), -32600);
    // Nothing but notifications: no answer, not even an empty one.
    raw.send(&format!("[{INITIALIZED},{INITIALIZED}]"));
    assert_eq!(raw.ask(&request(5, "ping"))["id"], 5);
    // A cancelled member has no answer, the others have.
    raw.send(&format!("[{},{}]", call(6, "wait", json!({})), call(7, "echo", json!({"message": "m"}))));
    raw.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6}}"#);
    let answers = raw.next();
    assert_eq!((answers.as_array().map(Vec::len), &answers[0]["id"]), (Some(1), &json!(7)));
}

/// How long pings take while `busy` runs: the median of twenty, as single ones may hit a busy machine.
fn ping_behind(options: &str, busy: &[String]) -> Duration {
    let mut raw = Raw::initialized(options);
    busy.iter().for_each(|line| raw.send(line));
    let mut times: Vec<_> = (0..21)
        .map(|i| {
            let start = Instant::now();
            raw.send(&request(format!("p{i}"), "ping"));
            assert_eq!(raw.next()["id"], format!("p{i}"), "a ping overtakes the calls");
            start.elapsed()
        })
        .collect();
    times.sort();
    times[10]
}

#[test]
fn a_ping_waits_for_no_tool() {
    // More than there are threads, and than may run on those that read.
    let sleeping: Vec<_> = (1..=12).map(|id| call(id, "stubborn", json!({"ms": 20_000}))).collect();
    for (options, busy) in [("grace=0", &sleeping[..1]), ("grace=0,threads=2", &sleeping[..])] {
        let median = ping_behind(options, busy);
        assert!(median < Duration::from_millis(5), "{options}: {median:?}");
    }
}

#[test]
fn more_calls_than_threads_wait_and_more_than_the_limit_are_refused_at_once() {
    let mut raw = Raw::initialized("threads=1,open=3,grace=0");
    let ids = [1, 2, 3];
    ids.iter().for_each(|id| raw.send(&call(*id, "wait", json!({}))));
    let refused = raw.ask(&call(4, "echo", json!({"message": "m"})));
    assert_eq!((code(&refused), &refused["id"]), (-32603, &json!(4)));
    assert!(refused["error"]["message"].as_str().expect("text").contains("busy: 3 requests"), "{refused}");
    for id in ids {
        let params = json!({"requestId": id});
        raw.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string(),
        );
    }
    // They count until a thread has put them away.
    let start = Instant::now();
    loop {
        let answer = raw.ask(&call(4, "echo", json!({"message": "m"})));
        if answer.get("result").is_some() {
            assert_eq!(text(&answer), "m");
            break;
        }
        assert!(start.elapsed() < LONG, "{answer}");
    }
}

#[test]
fn a_call_that_is_cancelled_before_its_turn_is_not_begun() {
    let mut raw = Raw::initialized("threads=1");
    // Measured once, it is known to be long, and further calls wait for the one thread.
    assert_eq!(text(&raw.ask(&call(0, "run_slowly", json!({})))), "1");
    (1..=4).for_each(|id| raw.send(&call(id, "run_slowly", json!({}))));
    for id in 2..=4 {
        let params = json!({"requestId": id});
        raw.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string(),
        );
    }
    raw.send(&call(5, "run_slowly", json!({})));
    assert_eq!(text(&raw.answer(1)), "2");
    assert_eq!(text(&raw.answer(5)), "3");
    assert!(raw.finish().0.is_empty());
}

#[test]
fn a_cancelled_call_learns_of_it_and_has_no_answer() {
    let mut raw = Raw::initialized("");
    let cancel = |id: Value| {
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "enough"}})
            .to_string()
    };
    let params = json!({"name": "wait", "arguments": {}, "_meta": {"progressToken": "t"}});
    raw.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string());
    assert_eq!(raw.next()["params"]["message"], "begun");
    raw.send(&call("1", "gate", json!({})));
    // None of these concerns it.
    for id in [json!(99), json!("x"), json!(null), json!([1]), json!(1.5)] {
        raw.send(&cancel(id));
    }
    raw.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#);
    raw.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}"#);
    raw.send(&cancel(json!(1)));
    let start = Instant::now();
    loop {
        raw.send(&call(2, "cancelled", json!({})));
        if text(&raw.answer(2)) == "1" {
            break;
        }
        assert!(start.elapsed() < LONG, "the handler never saw it");
    }
    // Its namesake, a string, was left alone.
    raw.send(&call(3, "open_gate", json!({})));
    assert_eq!(text(&raw.answer("1")), "opened");
    assert_eq!(text(&raw.answer(3)), "done");
    // Its id is free, and a late cancellation of it is ignored.
    assert_eq!(text(&raw.ask(&call(1, "echo", json!({"message": "m"})))), "m");
    raw.send(&cancel(json!(1)));
    assert_eq!(raw.ask(&request(5, "ping"))["id"], 5);
    let (rest, status, _) = raw.finish();
    assert!(rest.is_empty() && status.success(), "{rest:?}");
}

#[test]
fn a_panic_is_that_calls_failure() {
    let mut raw = Raw::initialized("threads=2");
    for id in 1..=50 {
        let answer = raw.ask(&call(id, "boom", json!({"text": "secret"})));
        assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(id), &json!(true)));
        assert!(text(&answer).contains("boom") && !answer.to_string().contains("secret"), "{answer}");
    }
    for id in 1..=10 {
        assert_eq!(raw.ask(&call(id, "poison", json!({})))["result"]["isError"], true);
    }
    assert_eq!(raw.ask(&call(1, "odd_panic", json!({})))["result"]["isError"], true);
    // Both threads are still there.
    raw.send(&call(1, "wait", json!({})));
    assert_eq!(text(&raw.ask(&call(2, "echo", json!({"message": "m"})))), "m");
    raw.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    assert!(raw.finish().0.is_empty());
}

#[test]
fn bad_arguments_are_for_the_model_and_unknown_tools_are_not() {
    let mut raw = Raw::initialized("");
    for (id, arguments) in
        [json!({}), json!({"message": 5}), json!({"message": null}), json!({"message": [1]})]
            .into_iter()
            .enumerate()
    {
        let answer = raw.ask(&call(id, "echo", arguments));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(text(&answer).contains("message"), "{answer}");
    }
    let answer = raw.ask(&call(7, "echo", json!([1])));
    assert_eq!(text(&answer), "bad arguments for tool echo: expected an object, found [1]");
    for (arguments, want) in [
        (json!({"message": "m", "extra": 1}), "m"),
        (json!("{\"message\":\"m\"}"), "m"),
        (json!({"message": "30"}), "30"),
    ] {
        assert_eq!(text(&raw.ask(&call(1, "echo", arguments))), want);
    }
    for arguments in [json!({"ms": "60000"}), json!({"ms": 60000.0}), json!(null), json!({"ms": null})] {
        raw.send(&call(1, "wait", arguments));
        raw.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    }
    assert_eq!(code(&raw.ask(&call(2, "no_such_tool", json!({})))), -32602);
    for params in [json!({}), json!({"name": 5}), json!({"name": null}), json!([1])] {
        let line = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}).to_string();
        raw.send(&line);
        assert_eq!(code(&raw.answer(3)), -32602, "{line}");
    }
    assert_eq!(code(&raw.ask(&request(4, "tools/call"))), -32602);
    assert_eq!(code(&raw.ask(&call(5, "refuse", json!({})))), -32050);
    let failed = raw.ask(&call(6, "fail", json!({})));
    assert_eq!((text(&failed), &failed["result"]["isError"]), ("disk full", &json!(true)));
}

#[test]
fn progress_precedes_its_answer_and_nothing_follows_it() {
    let mut raw = Raw::initialized("");
    for token in [json!("t"), json!(7), json!(0)] {
        let params = json!({"name": "progress", "arguments": {"n": 20}, "_meta": {"progressToken": token}});
        raw.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string());
        for n in 1..=20 {
            let report = raw.next();
            assert_eq!(report["method"], "notifications/progress");
            assert_eq!(
                (&report["params"]["progressToken"], &report["params"]["progress"]),
                (&token, &json!(f64::from(n)))
            );
        }
        // The reports of the thread the call left behind may precede the answer, too.
        loop {
            let message = raw.next();
            if message["id"] == 1 {
                break;
            }
            assert_eq!(message["params"]["message"], "late");
        }
        (0..50).for_each(|i| assert_eq!(raw.ask(&request(i, "ping"))["id"], i));
    }
    raw.send(&call(1, "progress", json!({"n": 5})));
    assert_eq!(raw.next()["id"], 1, "nobody asked for progress");
    assert!(raw.finish().0.is_empty());
}

#[test]
fn unknown_methods_are_refused_unknown_notifications_are_not_and_empty_lists_are_given() {
    let mut raw = Raw::initialized("");
    assert_eq!(code(&raw.ask(&request(1, "no/such"))), -32601);
    assert_eq!(code(&raw.ask(&request(1, "notifications/initialized"))), -32601);
    assert_eq!(code(&raw.ask(&request(1, "sampling/createMessage"))), -32601);
    raw.send(r#"{"jsonrpc":"2.0","method":"notifications/no/such","params":{"a":1}}"#);
    raw.send(r#"{"jsonrpc":"2.0","method":"tools/list"}"#);
    raw.send(r#"{"jsonrpc":"2.0","id":77,"result":{}}"#);
    raw.send(r#"{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}"#);
    raw.send(r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}"#);
    for (method, member) in [
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        assert_eq!(raw.ask(&request(2, method))["result"], json!({member: []}));
        assert_eq!(code(&Raw::initialized("strict=").ask(&request(2, method))), -32601);
    }
    let capabilities = Raw::new("").ask(INIT)["result"]["capabilities"].clone();
    assert_eq!(capabilities, json!({"tools": {"listChanged": true}}), "and nothing else is advertised");
    assert!(raw.finish().0.is_empty());
}

#[test]
fn pages_hold_every_tool_once_and_bad_cursors_are_refused() {
    let mut raw = Raw::initialized("page=4");
    let mut names = Vec::new();
    let mut cursor = None::<String>;
    loop {
        let params = cursor.as_ref().map_or(json!({"cursor": null}), |cursor| json!({"cursor": cursor}));
        let line = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}).to_string();
        let page = raw.ask(&line)["result"].clone();
        names.extend(page["tools"].as_array().expect("tools").iter().map(|tool| tool["name"].to_string()));
        match page.get("nextCursor") {
            Some(next) => cursor = Some(next.as_str().expect("a string").to_owned()),
            None => break,
        }
    }
    let mut unique = names.clone();
    unique.dedup();
    assert!(names.len() > 12 && unique == names, "{names:?}");
    for cursor in [json!("x"), json!(""), json!(5)] {
        let line = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": cursor}})
            .to_string();
        assert_eq!(code(&raw.ask(&line)), -32602, "{line}");
    }
}
