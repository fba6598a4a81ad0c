//! The two bridges as programs: a client on stdio, `bridge_to_stdio`, HTTP, `bridge_to_http`, a server on stdio.

#[path = "support/mirror.rs"]
mod mirror;
#[path = "support/relaying.rs"]
mod relaying;

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use relaying::Relaying;
use serde_json::{Value, json};
use tinymcp::http::HttpTransport;
use tinymcp::transport::ChildProcess;
use tinymcp::{Client, ProtocolVersion};

#[test]
fn child() {
    mirror::child();
}

const INIT: &str = r#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    let profile = test.parent().and_then(Path::parent).expect("target/PROFILE/deps/TEST");
    let path = profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(path.exists(), "{} is missing: build it with cargo build --examples", path.display());
    path
}

/// A program that is killed with its test.
struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Program {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let output = BufReader::new(child.stdout.take().expect("stdout")).lines();
        Self { input: child.stdin.take(), child, output }
    }

    fn say(&mut self, line: &str) {
        let line = format!("{line}\n");
        self.input.as_mut().expect("open").write_all(line.as_bytes()).expect("it reads");
    }

    fn next(&mut self) -> String {
        self.output.next().expect("a line").expect("text")
    }

    fn ask(&mut self, line: &str) -> String {
        self.say(line);
        self.next()
    }

    /// Ends its input: what it still says, and how it ends.
    fn finish(mut self) -> (Vec<String>, ExitStatus) {
        self.input = None;
        let rest = self.output.by_ref().map(|line| line.expect("text")).collect();
        (rest, self.child.wait().expect("it exits"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A mirror over HTTP, and its address.
fn served() -> (Program, String) {
    let mut command = Command::new(example("bridge_to_http"));
    let (variable, mirror) = mirror::command("ok");
    command.args(["127.0.0.1:0", "--", "env", &variable]).args(mirror);
    let mut program = Program::start(command);
    let url = program.next();
    (program, url)
}

/// The same on stdio again.
fn bridged(url: &str) -> Program {
    let mut command = Command::new(example("bridge_to_stdio"));
    command.arg(url);
    Program::start(command)
}

fn value(text: &str) -> Value {
    serde_json::from_str(&text.replace("1e400", "0")).unwrap_or_else(|e| panic!("{text}: {e}"))
}

#[cfg(unix)]
#[test]
fn messages_pass_both_ways_byte_for_byte() {
    let (_served, url) = served();
    let mut client = bridged(&url);
    assert_eq!(value(&client.ask(INIT))["result"]["protocolVersion"], "2025-11-25");
    client.say(INITIALIZED);
    let sent = r#"{ "method" : "mirror","x-own":[1e400], "params":{"n":9007199254740993,"m":0.10,"s":"\ud83d\ude00 ä"},"id":"\u00e4", "jsonrpc":"2.0"}"#;
    let answer = client.ask(sent);
    assert!(answer.ends_with(&format!(r#""result":{{"heard":{sent}}},"x-more":1e400}}"#)), "{answer}");
    assert_eq!(
        client.ask(r#"{"jsonrpc":"2.0","id":7,"method":"error"}"#),
        format!(r#"{{"jsonrpc":"2.0","id":7,"error":{},"x-more":0.10}}"#, mirror::ERROR)
    );
    // The server asks, and the client answers.
    assert_eq!(
        client.ask(r#"{"jsonrpc":"2.0","id":8,"method":"ask"}"#),
        r#"{"jsonrpc":"2.0","id":"ask-8","method":"sampling/createMessage","params":{"n":1e400}}"#
    );
    let reply = r#"{"jsonrpc":"2.0","id":"ask-8","result":{"n":0.10}}"#;
    assert!(client.ask(reply).contains(reply));
    // A Modern request on the same connection, whose id nobody changes in the end.
    let modern = r#"{"jsonrpc":"2.0","id":"m","method":"progress","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":"t"}}}"#;
    assert!(client.ask(modern).contains(r#"{"progress":1,"progressToken":"t"}"#));
    assert!(client.next().contains(r#"{"progress":2.50,"progressToken":"t"}"#));
    assert_eq!(value(&client.next())["id"], "m");
    let (rest, status) = client.finish();
    assert!(rest.is_empty() && status.success(), "{rest:?} {status}");
}

#[cfg(unix)]
#[test]
fn piped_input_is_answered_in_full() {
    let (_served, url) = served();
    let mut client = bridged(&url);
    let call = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"pid"}}"#);
    client.say(&[INIT, INITIALIZED, "no JSON", "", &call(1), "[]", &call(2)].join("\n"));
    let (lines, status) = client.finish();
    assert!(status.success());
    let answers: Vec<Value> = lines.iter().map(|line| value(line)).collect();
    let errors: Vec<_> = answers.iter().filter_map(|answer| answer["error"]["code"].as_i64()).collect();
    assert_eq!(errors, [-32700, -32600]);
    for id in [Value::from("init"), 1.into(), 2.into()] {
        assert!(answers.iter().any(|answer| answer["id"] == id && answer["result"].is_object()), "{lines:?}");
    }
}

#[cfg(unix)]
#[test]
fn an_answer_that_is_too_long_is_an_error() {
    let (_served, url) = served();
    let mut client = bridged(&url);
    client.ask(INIT);
    client.say(INITIALIZED);
    let answer = client.ask(r#"{"jsonrpc":"2.0","id":"l","method":"long","params":{"bytes":17000000}}"#);
    assert_eq!(value(&answer)["id"], "l");
    assert_eq!(value(&answer)["error"]["code"], -32603);
    assert!(client.ask(r#"{"jsonrpc":"2.0","id":1,"method":"pid"}"#).contains("pid"));
}

#[test]
fn a_server_that_is_not_there_is_the_error_of_a_request() {
    // Bound and let go, so that nobody listens.
    let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
    let mut client = bridged(&format!("http://{free}/mcp"));
    let answer = value(&client.ask(INIT));
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&"init".into(), &(-32603).into()));
    let (_, status) = client.finish();
    assert!(status.success());
}

#[test]
fn what_is_said_wrong_on_the_command_line_is_told() {
    for (program, args, told) in [
        ("bridge_to_http", &["127.0.0.1:0"][..], "usage: bridge_to_http ADDRESS -- SERVER [ARG...]"),
        ("bridge_to_stdio", &[], "usage: bridge_to_stdio URL"),
        ("bridge_to_stdio", &["localhost"], "the address"),
    ] {
        let mut command = Command::new(example(program));
        let mut child = command.args(args).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut said = String::new();
        child.stderr.take().expect("stderr").read_to_string(&mut said).expect("text");
        assert!(said.contains(told), "{said}");
        assert!(!child.wait().expect("it exits").success());
    }
}

/// A server on stdio, a relay, another relay, and clients of both eras.
#[test]
fn a_relay_reaches_servers_over_http_as_well() {
    let inner = Relaying::to(|| ChildProcess::new(example("echo_server")));
    let url = inner.url.clone();
    let outer = Relaying::to(move || HttpTransport::new(&url).expect("an address"));
    for version in ProtocolVersion::ALL.into_iter().skip(1) {
        let transport = HttpTransport::new(&outer.url).expect("an address");
        let client = Client::builder().versions([version.clone()]).open(transport).expect("opened");
        let clients: Vec<_> = (0..4).map(|_| client.handle()).collect();
        std::thread::scope(|scope| {
            for (number, client) in clients.iter().enumerate() {
                scope.spawn(move || {
                    for message in [format!("ä{number}"), "x".repeat(100_000)] {
                        let told = client.call_tool("echo", json!({"message": message})).expect("a result");
                        assert_eq!(told.text_content(), message);
                    }
                });
            }
        });
        client.close().expect("closed");
    }
}
