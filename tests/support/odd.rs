//! A server that is odd in one way, named by its mode. Written without the crate it tests.

use std::io::{BufRead, Write};
use std::process::{Command, Stdio, exit};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// Everything heard, for the tool `heard`.
static HEARD: Mutex<Vec<Value>> = Mutex::new(Vec::new());
/// The client has answered a request of ours.
static ANSWERED: (Mutex<Option<Value>>, Condvar) = (Mutex::new(None), Condvar::new());

fn raw(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    if out.write_all(bytes).and_then(|()| out.flush()).is_err() {
        exit(0);
    }
}

fn send(message: &Value) {
    raw(format!("{message}\n").as_bytes());
}

fn result(id: &Value, result: Value) {
    send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn note(method: &str, params: Value) {
    send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
}

fn text(text: impl Into<String>) -> Value {
    json!({"content": [{"type": "text", "text": text.into()}]})
}

fn stderr(text: &str) {
    let mut err = std::io::stderr().lock();
    err.write_all(text.as_bytes()).and_then(|()| err.flush()).expect("stderr");
}

fn sleep_for_ever() -> ! {
    loop {
        std::thread::park();
    }
}

#[expect(clippy::zombie_processes, reason = "it is to outlive this process")]
fn grandchild(program: &str, args: &[&str]) {
    // It inherits stdout and stderr and so keeps both pipes open.
    Command::new(program).args(args).stdin(Stdio::null()).spawn().expect("a grandchild");
}

pub(crate) fn serve(mode: &str) -> ! {
    match mode {
        "exit_now" => {
            stderr("fatal: TOKEN not set\n");
            exit(3);
        }
        "exit_ok" => exit(0),
        "silent" => sleep_for_ever(),
        "silent_loud" => {
            stderr("waiting for the database\n");
            sleep_for_ever();
        }
        "stderr_init" => stderr(&("x".repeat(300_000) + "\n")),
        "banner" => raw(
            b"Starting server...\n\x1b[2mINFO\x1b[0m ready\n\n[]\n[1,2]\n5\n\"quoted\"\nnull\n{}\n\xff\xfe\n",
        ),
        "content_length" => raw(b"Content-Length: 2\r\n\r\n{}\n"),
        "grandchild" | "exit_mid_grandchild" => grandchild("sleep", &["600"]),
        "runaway" => grandchild("setsid", &["sleep", "3"]),
        "ping_in_init" => send(&json!({"jsonrpc": "2.0", "id": "srv-1", "method": "ping"})),
        _ => {}
    }
    let mode: &'static str = Box::leak(mode.to_owned().into_boxed_str());
    let mut pages = 0;
    let mut lines = std::io::stdin().lock();
    let mut line = String::new();
    while lines.read_line(&mut line).is_ok_and(|n| n > 0) {
        if let Ok(message) = serde_json::from_str::<Value>(&line) {
            handle(mode, message, &mut pages);
        }
        line.clear();
        if mode == "no_read" && pages > 0 {
            sleep_for_ever();
        }
    }
    drop(lines);
    match mode {
        "ignore_eof" => sleep_for_ever(),
        "exit_5" => exit(5),
        _ => exit(0),
    }
}

fn handle(mode: &'static str, message: Value, pages: &mut usize) {
    HEARD.lock().expect("not poisoned").push(message.clone());
    let id = message["id"].clone();
    let tool = json!({"name": "t", "description": "d", "inputSchema": {"type": "object"}});
    match message["method"].as_str() {
        Some("server/discover") if mode == "dies_on_discover" => exit(1),
        Some("server/discover") if mode == "mute_discover" => {}
        Some("server/discover") if mode == "odd_discover" => {
            result(&id, json!({"supportedVersions": "all of them"}));
        }
        Some("server/discover") if mode == "future_only" => send(&json!({
            "jsonrpc": "2.0", "id": id,
            "error": {"code": -32022, "message": "m", "data": {"supported": ["2031-01-01"]}},
        })),
        Some("initialize") => initialize(mode, &id, &message, &tool, pages),
        Some("ping") if mode == "ping_array" => result(&id, json!([])),
        Some("ping") if mode == "ping_null" => result(&id, Value::Null),
        Some("ping") => result(&id, json!({})),
        Some("tools/list") => {
            *pages += 1;
            list(mode, &id, &tool, *pages);
        }
        Some("tools/call") => {
            std::thread::spawn(move || call(mode, &message));
        }
        Some(_) if !id.is_null() => send(&json!({
            "jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"},
        })),
        None if message.get("result").is_some() || message.get("error").is_some() => {
            *ANSWERED.0.lock().expect("not poisoned") = Some(message);
            ANSWERED.1.notify_all();
        }
        _ => {}
    }
}

fn initialize(mode: &str, id: &Value, message: &Value, tool: &Value, pages: &mut usize) {
    let mut answer = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "odd", "version": "1"},
    });
    match mode {
        "init_error" => {
            stderr("the token is from yesterday\n");
            let error =
                json!({"code": -32001, "message": "session token expired", "data": {"hint": "log in"}});
            return send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
        "init_error_text" => {
            return send(&json!({"jsonrpc": "2.0", "id": id, "error": "no licence"}));
        }
        "init_id_string" => return result(&json!(id.to_string()), answer),
        "init_exit" => {
            stderr("cannot open config.toml\n");
            exit(4);
        }
        "init_junk" => return result(id, json!("hello")),
        "old_version" => answer["protocolVersion"] = json!("2024-11-05"),
        "bad_version" => answer["protocolVersion"] = json!("1999-01-01"),
        "modern_version" => answer["protocolVersion"] = json!("2026-07-28"),
        "draft_version" => answer["protocolVersion"] = json!("DRAFT-2025-v3"),
        "null_version" => answer["protocolVersion"] = Value::Null,
        "echo_version" => answer["protocolVersion"] = message["params"]["protocolVersion"].clone(),
        "null_caps" => {
            answer["capabilities"] = Value::Null;
            answer["instructions"] = Value::Null;
        }
        "no_caps" => {
            answer = json!({"protocolVersion": "2025-06-18", "serverInfo": {"name": "odd", "version": 1}});
        }
        "no_info" => answer["serverInfo"] = Value::Null,
        "tools_array" => answer["capabilities"] = json!({"tools": [tool]}),
        "bool_caps" => answer["capabilities"] = json!({"tools": true, "logging": {}, "x": 1}),
        "instructions" => answer["instructions"] = json!("Be brief."),
        "early_note" => note("notifications/message", json!({"level": "info", "data": "early"})),
        "init_batch" => {
            return raw(format!("[{}]\n", json!({"jsonrpc": "2.0", "id": id, "result": answer})).as_bytes());
        }
        _ => {}
    }
    result(id, answer);
    if mode == "init_twice" {
        result(id, json!("again"));
    }
    if mode == "no_read" {
        *pages += 1;
    }
}

fn list(mode: &str, id: &Value, tool: &Value, page: usize) {
    let answer = match mode {
        "null_desc" => json!({"tools": [{
            "name": "t", "title": null, "description": null, "inputSchema": {"type": "object"},
            "outputSchema": null, "annotations": null, "icons": null, "_meta": null,
        }], "nextCursor": null, "_meta": null}),
        "odd_desc" => json!({"tools": [{
            "name": "t", "description": 5, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": "yes"},
        }]}),
        "bad_tool" => json!({"tools": [
            tool,
            {"name": "b", "inputSchema": {"type": "object", "properties": {"x": true}}},
            {"name": "c"}, {"description": "no name"}, "junk", null, {"name": 5, "inputSchema": {}},
        ]}),
        "cursor_loop" => json!({"tools": [tool], "nextCursor": "same"}),
        "cursor_pair" => json!({"tools": [tool], "nextCursor": if page % 2 == 0 { "even" } else { "odd" }}),
        "endless_pages" => json!({"tools": [], "nextCursor": page.to_string()}),
        "three_pages" if page < 4 => json!({"tools": [tool], "nextCursor": format!("page {page}")}),
        "empty_cursor" if page < 3 => json!({"tools": [tool], "nextCursor": ""}),
        "no_tools_member" => json!({}),
        "tools_null" => json!({"tools": null}),
        _ => json!({"tools": [tool]}),
    };
    result(id, answer);
}

fn call(mode: &str, message: &Value) {
    let id = &message["id"];
    let params = &message["params"];
    let token = &params["_meta"]["progressToken"];
    let progress = |n: u32| note("notifications/progress", json!({"progressToken": token, "progress": n}));
    if params["name"] == "heard" {
        let all = json!(*HEARD.lock().expect("not poisoned"));
        return result(id, text(all.to_string()));
    }
    if params["name"] == "echo" {
        return result(id, text(params["arguments"]["text"].as_str().unwrap_or_default()));
    }
    match mode {
        "stderr_call" => stderr(&("y".repeat(300_000) + "\n")),
        "huge_line" => {
            let chunk = vec![b'a'; 1 << 20];
            (0..200).for_each(|_| raw(&chunk));
            raw(b"\n");
        }
        "surrogate" => {
            let line =
                r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"cut \ud83d"}]}}"#;
            return raw((line.replace("ID", &id.to_string()) + "\n").as_bytes());
        }
        "id_string" => return result(&json!(id.to_string()), text("a string")),
        "id_float" => {
            let line = json!({"jsonrpc": "2.0", "id": "ID", "result": text("a float")}).to_string();
            return raw((line.replace("\"ID\"", &format!("{id}.0")) + "\n").as_bytes());
        }
        "dup" => {
            result(id, text("first"));
            result(id, text("second"));
            return send(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": "third"}}));
        }
        "wrong_id" => {
            result(&json!(999_999), text("nobody asked"));
            result(&json!("x"), text("nobody asked"));
            result(&Value::Null, text("nobody asked"));
            send(&json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "what?"}}));
        }
        "batch_answers" => {
            let note = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {}});
            let answer = json!({"jsonrpc": "2.0", "id": id, "result": text("in a batch")});
            return send(&json!([note, 5, answer]));
        }
        "never" => return,
        "exit_mid" | "exit_mid_grandchild" => {
            stderr("Traceback: boom\n");
            exit(7);
        }
        "half_answer" => {
            raw(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"conte"#).as_bytes());
            exit(7);
        }
        "abort_mid" => std::process::abort(),
        "unknown_note" => {
            note("window/logMessage", json!({"type": 3}));
            note("notifications/tools/list_changed", Value::Null);
            send(&json!({"jsonrpc": "2.0", "method": "x/y", "params": [1]}));
            send(&json!({"jsonrpc": "2.0", "id": "r1", "method": "no/such"}));
        }
        "bigint" => {
            let line = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"t"}],"structuredContent":{"a":9007199254740993,"b":18446744073709551615,"c":1000000000000000000000000000000,"d":1e400,"e":1.10}}}"#;
            return raw((line.replace("ID", &id.to_string()) + "\n").as_bytes());
        }
        "progress_forever" => {
            for n in 1.. {
                progress(n);
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        "progress_slow" => {
            for n in 1..=20 {
                progress(n);
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        "progress_odd" => {
            for n in [json!(1), json!("two"), json!(1), json!(0.5), json!(3)] {
                note("notifications/progress", json!({"progressToken": token, "progress": n}));
            }
            note("notifications/progress", json!({"progressToken": "other", "progress": 9}));
            note("notifications/progress", Value::Null);
            note("notifications/progress", json!([1]));
        }
        "progress_after" => {
            result(id, text("done"));
            return progress(1);
        }
        "sampling" => {
            let params = json!({"messages": [], "maxTokens": 1});
            send(
                &json!({"jsonrpc": "2.0", "id": "s1", "method": "sampling/createMessage", "params": params}),
            );
            let answered = ANSWERED.0.lock().expect("not poisoned");
            let wait = Duration::from_secs(20);
            let (answered, _) =
                ANSWERED.1.wait_timeout_while(answered, wait, |a| a.is_none()).expect("not poisoned");
            let answer = answered.as_ref().map_or("none".to_owned(), Value::to_string);
            return result(id, text(answer));
        }
        "storm" => (0..200).for_each(|_| note("notifications/tools/list_changed", Value::Null)),
        "flood" => {
            let line = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x".repeat(500)}});
            let lines = format!("{line}\n").repeat(100);
            std::thread::spawn(move || {
                loop {
                    raw(lines.as_bytes());
                }
            });
        }
        "late" => {
            std::thread::sleep(Duration::from_millis(300));
        }
        "error_odd" => {
            return send(&json!({"jsonrpc": "2.0", "id": id, "error": {"message": "no code", "extra": 1}}));
        }
        "result_and_error_null" => {
            return send(&json!({"jsonrpc": "2.0", "id": id, "result": text("ok"), "error": null}));
        }
        "no_jsonrpc" => return send(&json!({"id": id, "result": text("ok")})),
        "content_null" => return result(id, json!({"content": null, "isError": null})),
        "content_odd" => {
            return result(
                id,
                json!({"content": [{"type": "hologram", "x": 1}, {"type": "text", "text": "t"}]}),
            );
        }
        "result_string" => return result(id, json!("just text")),
        "env" => {
            let all: serde_json::Map<_, _> = std::env::vars().map(|(k, v)| (k, v.into())).collect();
            let dir = std::env::current_dir().expect("a directory");
            return result(id, text(json!({"env": all, "dir": dir}).to_string()));
        }
        "speak" => stderr(params["arguments"]["text"].as_str().unwrap_or_default()),
        _ => {}
    }
    result(id, text(format!("ok {}", std::process::id())));
}
