//! Golden transcripts: what client and server say to each other in each revision, to the byte.
//!
//! A file holds `>` lines (client to server), `<` lines (server to client) and `#` lines that say what it pins. The server is
//! given the `>` lines and must answer with the `<` lines; the client is given the `<` lines and must say the `>` lines.
//! `UPDATE=1 cargo test --test transcripts` lets both talk to each other and writes down what they say.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::json;
use tinymcp::client::{CallOptions, ClientBuilder};
use tinymcp::testing::{self, ScriptedPeer};
use tinymcp::transport::{Direction, Tap};
use tinymcp::{Client, ErrorObject, FnTool, ProtocolVersion, Server, ToolError, ToolRegistry, tool};

/// A file's name, the revisions that the client offers, those that the server offers, and what the file pins.
fn cases() -> Vec<(&'static str, Vec<ProtocolVersion>, Vec<ProtocolVersion>, &'static str)> {
    use ProtocolVersion as V;
    let all = || V::ALL.to_vec();
    let legacy = "The handshake; the members that this revision has, and no others.";
    vec![
        ("2024-11-05", vec![V::V2024_11_05], all(), legacy),
        ("2025-03-26", vec![V::V2025_03_26], all(), legacy),
        ("2025-06-18", vec![V::V2025_06_18], all(), legacy),
        ("2025-11-25", vec![V::V2025_11_25], all(), legacy),
        ("2026-07-28", all(), all(), "The probe; metadata in every request, the stamp on every result."),
        (
            "2024-11-05-after-a-probe",
            all(),
            vec![V::V2024_11_05],
            "A client that tries the newest revision first and falls back to an old server's only one.",
        ),
    ]
}

fn server(versions: &[ProtocolVersion]) -> Server {
    let add = tool! {
        /// Add two numbers.
        fn add(
            /// The first
            a: i64,
            /// The second
            b: i64 = 1,
        ) -> i64 { a + b }
    }
    .title("Add")
    .read_only();
    let count = FnTool::new("count", "Counts to two.", json!({"type": "object"}), |_, cx| {
        cx.progress(1.0, 2.0, "one");
        cx.progress(2.0, 2.0, "two");
        "counted"
    });
    let fail = FnTool::new("fail", "Fails.", json!({"type": "object"}), |_, _| -> Result<(), ToolError> {
        Err(ToolError::new("it failed"))
    });
    let refuse =
        FnTool::new("refuse", "Refuses.", json!({"type": "object"}), |_, _| -> Result<(), ToolError> {
            Err(ToolError::protocol(ErrorObject::new(-32000, "not today")))
        });
    let tools = ToolRegistry::new();
    for tool in [add, count, fail, refuse] {
        tools.register(tool).expect("a good tool");
    }
    let server = Server::builder("golden", "1.0.0").tools(tools).versions(versions.iter().cloned());
    server.instructions("Count with it.").page_size(3).build().expect("a server")
}

fn client(versions: &[ProtocolVersion]) -> ClientBuilder {
    Client::builder().name("golden-client", "1.0.0").versions(versions.iter().cloned())
}

/// What the client does, whatever the revision.
fn converse(client: &Client) {
    client.initialize().expect("settled");
    assert_eq!(client.list_tools().expect("listed").items.len(), 4);
    assert_eq!(client.call_tool("add", json!({"a": 1, "b": 2})).expect("a result").text_content(), "3");
    assert_eq!(client.call_tool("add", json!({"b": 2})).expect("a result").is_error, Some(true));
    let options = CallOptions::default().with_progress(|_| {});
    assert_eq!(client.call_tool_with("count", (), &options).expect("a result").text_content(), "counted");
    assert_eq!(client.call_tool("fail", ()).expect("a result").is_error, Some(true));
    assert_eq!(
        client.call_tool("refuse", ()).expect_err("refused").peer_error().expect("theirs").code,
        -32000
    );
    assert_eq!(client.call_tool("nope", ()).expect_err("unknown").peer_error().expect("theirs").code, -32602);
    client.ping().expect("alive");
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/transcripts/{name}.jsonl"))
}

/// Writes down what passes, as the client sees it.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<String>>);

impl Tap for Recorder {
    fn frame(&self, direction: Direction, frame: &[u8]) {
        let arrow = if direction == Direction::Sent { '>' } else { '<' };
        let line = format!("{arrow} {}\n", String::from_utf8_lossy(frame));
        self.0.lock().expect("no panic").push_str(&line);
    }
}

/// The lines of a transcript: whether the client says it, and what.
fn lines(name: &str) -> Vec<(bool, String)> {
    let path = path(name);
    let text =
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e} (UPDATE=1 makes it)", path.display()));
    let line = |line: &str| match line.split_once(' ') {
        Some((">", frame)) => (true, frame.to_owned()),
        Some(("<", frame)) => (false, frame.to_owned()),
        _ => panic!("{}: neither > nor < nor #: {line}", path.display()),
    };
    text.lines().filter(|text| !text.starts_with('#')).map(line).collect()
}

fn is_update() -> bool {
    std::env::var_os("UPDATE").is_some()
}

fn update() {
    for (name, offered, served, pins) in cases() {
        let recorder = Recorder::default();
        let pair =
            testing::pair_with(client(&offered).tap(recorder.clone()), &server(&served)).expect("a pair");
        converse(&pair);
        pair.close().expect("closed");
        let text = format!("# {pins}\n{}", recorder.0.lock().expect("no panic"));
        fs::write(path(name), text).expect("written");
    }
}

#[test]
fn servers_and_clients_say_what_they_always_said() {
    if is_update() {
        update();
    }
    for (name, offered, served, _) in cases() {
        let lines = lines(name);
        assert!(lines.len() > 15, "{name} is too short");

        let server = server(&served);
        let mut peer = ScriptedPeer::for_server(&server).with_deadline(Duration::from_secs(20));
        for (is_clients, frame) in &lines {
            if *is_clients {
                peer.send_raw(frame);
            } else {
                assert_eq!(peer.expect_frame(), *frame, "the server in {name}");
            }
        }
        peer.close();
        peer.expect_end();

        let (client, peer) = ScriptedPeer::for_client(client(&offered)).expect("a client");
        let mut peer = peer.with_deadline(Duration::from_secs(20));
        let talking = thread::spawn(move || converse(&client));
        for (is_clients, frame) in &lines {
            if *is_clients {
                assert_eq!(peer.expect_frame(), *frame, "the client in {name}");
            } else {
                peer.send_raw(frame);
            }
        }
        talking.join().expect("no panic");
        peer.expect_end();
    }
}

#[test]
fn every_transcript_is_played() {
    let known: Vec<_> = cases().into_iter().map(|(name, ..)| path(name)).collect();
    for entry in fs::read_dir(path("x").parent().expect("a folder")).expect("a folder") {
        let path = entry.expect("an entry").path();
        assert!(known.contains(&path), "{} belongs to no case", path.display());
    }
    for version in ProtocolVersion::ALL {
        assert!(cases().iter().any(|(name, ..)| *name == version.as_str()), "no transcript of {version}");
    }
}
