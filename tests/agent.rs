//! The example agent with a model at an endpoint: a scripted server of Chat Completions.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

/// Beside this test, where cargo builds examples.
fn agent() -> PathBuf {
    let mut path = std::env::current_exe().expect("a path");
    path.pop();
    path.pop();
    path.join("examples").join(format!("agent{}", std::env::consts::EXE_SUFFIX))
}

/// Answers one request after the other with `answers`; returns what was asked.
fn serve(listener: &TcpListener, answers: &[(u16, Value)]) -> Vec<(String, Value)> {
    let mut asked = Vec::new();
    for (status, answer) in answers {
        let (stream, _) = listener.accept().expect("a connection");
        let mut reader = BufReader::new(stream);
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("a line");
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().expect("a number");
            }
            head += &line;
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("a body");
        asked.push((head, serde_json::from_slice(&body).expect("JSON")));
        let answer = answer.to_string();
        let head = format!(
            "HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nContent-Length: {}",
            answer.len()
        );
        let response = format!("{head}\r\nConnection: close\r\n\r\n{answer}");
        reader.get_mut().write_all(response.as_bytes()).expect("written");
    }
    asked
}

fn run(answers: Vec<(u16, Value)>) -> (std::process::Output, Vec<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/v1/", listener.local_addr().expect("an address"));
    let serving = std::thread::spawn(move || serve(&listener, &answers));
    let output = Command::new(agent())
        .args(["--endpoint", &url, "--model", "scripted", "Save a note."])
        .env("API_KEY", "s3cret")
        .env_remove("HTTP_PROXY")
        .output()
        .expect("the example was built");
    (output, serving.join().expect("no panic"))
}

fn calls(calls: Value) -> Value {
    json!({"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": calls}}]})
}

#[test]
fn a_model_at_an_endpoint_calls_and_ends() {
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let text = json!({"choices": [{"message": {"role": "assistant", "content": "All saved."}}]});
    let both = json!([call("a", "word_count", r#"{"text": "one two"}"#), call("b", "no_such_tool", "{")]);
    let (output, asked) = run(vec![(200, calls(both)), (200, text)]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert!(printed.contains("1. word_count") && printed.trim_end().ends_with("All saved."), "{printed}");
    assert!(
        asked[0].0.starts_with("POST /v1/chat/completions ") && asked[0].0.contains("Bearer s3cret"),
        "{}",
        asked[0].0
    );
    assert_eq!(asked[0].1["model"], "scripted");
    assert_eq!(asked[0].1["messages"][0]["content"], "Save a note.");
    let names: Vec<_> = asked[0].1["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| tool["function"]["name"].to_string())
        .collect();
    assert!(names.iter().any(|name| name.contains("create_note")), "{names:?}");
    // Each call has its answer, also the one that could not be made.
    let messages = asked[1].1["messages"].as_array().expect("messages");
    assert_eq!(messages.len(), 4);
    assert_eq!((&messages[2]["tool_call_id"], &messages[2]["content"]), (&json!("a"), &json!("2")));
    assert_eq!(messages[3]["tool_call_id"], "b");
    assert!(messages[3]["content"].as_str().expect("text").contains("no_such_tool"));
}

#[test]
fn an_endpoint_that_refuses_is_an_error_that_says_so() {
    let (output, _) = run(vec![(401, json!({"error": {"message": "wrong key"}}))]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && error.contains("401") && error.contains("wrong key"), "{error}");
    assert!(!error.contains("s3cret"));
}
