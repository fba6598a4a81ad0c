//! A server that shows what it hears, and does odd things on request. Written without the crate it tests; a process of its own.
//!
//! A binary that uses this has `#[test] fn child() { mirror::child() }`.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::io::{BufRead, Write};
use std::process::exit;

use serde::Deserialize;
use serde_json::value::RawValue;
use tinymcp::transport::ChildProcess;

const ROLE: &str = "TINYMCP_TEST_MIRROR";

/// An error with all that JSON allows, which no reader of ours keeps.
pub(crate) const ERROR: &str =
    r#"{"code":-31999,"message":"no \u00e4","data":{"n":9007199254740993},"hint":1e400,"more":[0.10]}"#;

/// A mirror; `early` is what it does before anything else.
pub(crate) fn mirror(early: &str) -> ChildProcess {
    let exe = std::env::current_exe().expect("the test binary");
    ChildProcess::new(exe).args(["--exact", "child", "--quiet", "--nocapture"]).env(ROLE, early)
}

/// The body of the test `child`.
pub(crate) fn child() {
    let Ok(early) = std::env::var(ROLE) else { return };
    match &*early {
        "exit" => exit(3),
        "ping" => say(r#"{"jsonrpc":"2.0","id":"early","method":"ping"}"#),
        _ => {}
    }
    let mut seen = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("text");
        if let Ok(frame) = serde_json::from_str(&line) {
            serve(&early, &line, frame, &seen);
        }
        seen.push(line);
    }
    exit(0);
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: String,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        exit(0);
    }
}

fn notify(method: &str, params: &str) {
    say(&format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#));
}

fn answer(id: &RawValue, result: &str) {
    say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result},"x-more":1e400}}"#));
}

fn serve(early: &str, line: &str, frame: Frame<'_>, seen: &[String]) {
    let params: serde_json::Value =
        frame.params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default();
    let Some(id) = frame.id else { return };
    if frame.method.is_empty() {
        // The answer to our question: shown to the call that made us ask.
        let call: String = serde_json::from_str(id.get()).unwrap_or_default();
        if let Some(call) = call.strip_prefix("ask-") {
            say(&format!(r#"{{"jsonrpc":"2.0","id":{call},"result":{{"heard":{line}}}}}"#));
        }
        return;
    }
    let token = params["_meta"]["progressToken"].to_string();
    let subscription = format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}"#);
    match &*frame.method {
        "initialize" if early == "mute" => {}
        "initialize" if early == "refuse" => {
            say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{ERROR}}}"#))
        }
        "initialize" => answer(
            id,
            &format!(
                r#"{{"protocolVersion":{},"capabilities":{{}},"serverInfo":{{"name":"mirror","version":"1"}}}}"#,
                params["protocolVersion"]
            ),
        ),
        "mirror" => answer(id, &format!(r#"{{"heard":{line}}}"#)),
        "heard" => answer(id, &format!("[{}]", seen.join(","))),
        "error" => say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{ERROR},"x-more":0.10}}"#)),
        "pid" => answer(id, &format!(r#"{{"pid":{}}}"#, std::process::id())),
        "ask" => say(&format!(
            r#"{{"jsonrpc":"2.0","id":"ask-{}","method":"sampling/createMessage","params":{{"n":1e400}}}}"#,
            id.get().replace('"', "\\\"")
        )),
        "progress" => {
            for step in ["1", "2.50"] {
                notify(
                    "notifications/progress",
                    &format!(r#"{{"progress":{step},"progressToken":{token}}}"#),
                );
            }
            answer(id, "{}");
        }
        "tell" => {
            notify("notifications/message", r#"{"level":"info","data":1e400}"#);
            answer(id, "{}");
        }
        // Never answers.
        "silent" => {}
        // Answers to a call that waits: `params.id` is as it stands in the message heard.
        "release" => {
            answer(
                serde_json::from_str::<&RawValue>(&params["id"].to_string()).expect("JSON"),
                r#"{"late":true}"#,
            );
            answer(id, "{}");
        }
        "garbled" => say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"n":NaN}}}}"#)),
        "string" => say(&format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{}}}}"#)),
        "twice" => (0..2).for_each(|_| answer(id, "{}")),
        "noise" => {
            say("a banner\n\n[]\n5\n{}");
            answer(id, "{}");
        }
        "long" => answer(id, &format!(r#""{}""#, "z".repeat(params["bytes"].as_u64().unwrap_or(0) as usize))),
        "flood" => {
            for n in 0..20_000 {
                notify(
                    "notifications/message",
                    &format!(r#"{{"level":"info","data":"{n} {}"}}"#, "x".repeat(100)),
                );
            }
            answer(id, "{}");
        }
        "die" => exit(7),
        "deaf" => loop {
            std::thread::park();
        },
        "subscriptions/listen" => {
            notify(
                "notifications/subscriptions/acknowledged",
                &format!(r#"{{{subscription},"notifications":{{}}}}"#),
            );
            notify("notifications/tools/list_changed", &format!(r#"{{{subscription},"n":0.10}}"#));
            if params["ends"] == "gracefully" {
                answer(id, &format!(r#"{{"resultType":"complete",{subscription}}}"#));
            } else if params["ends"] == "by cancellation" {
                notify("notifications/cancelled", &format!(r#"{{"requestId":{id}}}"#));
                answer(id, &format!(r#"{{"resultType":"complete",{subscription}}}"#));
            }
        }
        _ => say(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"unknown method"}}}}"#
        )),
    }
}
