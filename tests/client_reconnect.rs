//! A server that is started again by its client: what goes on, what ends, and that nothing is left. One test at a time, as
//! processes are counted.

#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::json;
use support::alone::{alone, are_asleep};
use support::peers::{self, LONG, brief, ends, eventually, fails_within, odd, odd_in_shell};
use tinymcp::client::{CallOptions, ClientBuilder};
use tinymcp::transport::ChildProcess;
use tinymcp::{CancelToken, Client, ClientHandle, Error, ProtocolVersion, Tool};

#[test]
fn child() {
    peers::child();
}

/// A folder in which each start and each end of a server in order is noted, and which may hold back those that start.
struct Watch(PathBuf);

impl Watch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tinymcp-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn server(&self, mode: &str) -> ChildProcess {
        let script = r#"
            echo start >> "$WATCH/log"
            if [ -p "$WATCH/gate" ]; then
                read word < "$WATCH/gate"
                [ "$word" = fail ] && exit 3
            fi
            "$0" "$@"
            echo end >> "$WATCH/log"
        "#;
        odd_in_shell(script, mode).env("WATCH", &self.0)
    }

    fn log(&self) -> String {
        let log = fs::read_to_string(self.0.join("log")).expect("text");
        log.lines().collect::<Vec<_>>().join(" ")
    }

    /// From now on a server that starts waits for a word.
    fn hold(&self) {
        let made = Command::new("mkfifo").arg(self.0.join("gate")).status().expect("mkfifo");
        assert!(made.success());
    }

    /// Says the word to the one that waits.
    fn say(&self, word: &'static str) {
        let gate = self.0.join("gate");
        ends(LONG, move || {
            let mut gate = fs::OpenOptions::new().write(true).open(gate).expect("a reader");
            writeln!(gate, "{word}").expect("said");
        });
    }

    fn release(&self) {
        fs::remove_file(self.0.join("gate")).expect("removed");
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Without the probe, so that a server is started once for each connection.
fn legacy() -> ClientBuilder {
    Client::builder().versions([ProtocolVersion::V2025_06_18]).patience(brief())
}

fn echo(client: &ClientHandle) -> tinymcp::Result<String> {
    client.call_tool("echo", json!({"text": "here"})).map(|result| result.text_content())
}

/// So many threads that ask for a reconnect and wait for it.
fn ask(client: &Client, threads: usize) -> Vec<thread::JoinHandle<Result<ProtocolVersion, Error>>> {
    let asking = (0..threads)
        .map(|_| {
            let handle = client.handle();
            thread::Builder::new()
                .name("asking".into())
                .spawn(move || handle.reconnect().map(|identity| identity.version.clone()))
                .expect("a thread")
        })
        .collect();
    eventually("all wait", || are_asleep("asking", threads));
    asking
}

#[test]
fn a_server_that_died_serves_again() {
    let _alone = alone();
    let client = peers::client("exit_mid");
    let handle = client.handle();
    let tools = client.discover_tools().expect("lists");
    for _ in 0..3 {
        let error = handle.call_tool("t", ()).expect_err("it dies");
        assert!(matches!(error, Error::OutcomeUnknown(_)), "{error}");
        assert!(echo(&handle).expect_err("it is dead").is_closed());
        assert_eq!(client.initialize().expect("known").version, ProtocolVersion::V2025_06_18);
        assert_eq!(handle.reconnect().expect("starts again").version, ProtocolVersion::V2025_06_18);
        assert_eq!(echo(&handle).expect("serves"), "here");
    }
    // What was found on the first connection is called on the last.
    let error = tools[0].execute(tinymcp::Arguments::empty(), &tinymcp::Context::detached());
    assert!(error.expect_err("it dies").to_string().contains("Traceback: boom"));
    client.reconnect().expect("starts again");
    assert_eq!(echo(&client).expect("serves"), "here");
}

#[test]
fn a_reconnect_may_come_first_and_on_a_server_that_lives() {
    let _alone = alone();
    let watch = Watch::new("living");
    let client = legacy().open(watch.server("never")).expect("starts");
    client.reconnect().expect("nothing was settled before");
    let open = client.start_call("t", (), &CallOptions::default()).expect("sent");
    client.reconnect().expect("starts again");
    let error = open.wait().expect_err("its connection is gone");
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error}");
    assert!(error.to_string().contains("this client reconnected"), "{error}");
    assert_eq!(echo(&client).expect("serves"), "here");
    client.close().expect("closes");
    // The first one may be ended before it has begun; none starts before the one before it is gone.
    let log = watch.log();
    assert!(log.ends_with("start end start end"), "{log}");
}

#[test]
fn those_who_ask_at_once_share_one_reconnect_and_its_outcome() {
    let _alone = alone();
    let watch = Watch::new("shared");
    let client = legacy().open(watch.server("exit_mid")).expect("starts");
    client.call_tool("t", ()).expect_err("it dies");
    watch.hold();
    let asking = ask(&client, 8);
    // Others wait for it, as long as they like.
    let token = CancelToken::new();
    let waiting = {
        let (handle, options) = (client.handle(), CallOptions::default().with_cancel(&token));
        let call = move || handle.call_tool_with("echo", json!({"text": "here"}), &options);
        thread::Builder::new().name("calling".into()).spawn(call).expect("a thread")
    };
    eventually("it waits", || are_asleep("calling", 1));
    token.cancel("enough");
    assert!(matches!(waiting.join().expect("no panic"), Err(Error::Cancelled(_))));
    watch.say("go");
    for asked in asking {
        assert_eq!(asked.join().expect("no panic").expect("shared"), ProtocolVersion::V2025_06_18);
    }
    assert_eq!(watch.log().matches("start").count(), 2);
    assert_eq!(echo(&client).expect("serves"), "here");

    let asking = ask(&client, 8);
    watch.say("fail");
    for asked in asking {
        let error = asked.join().expect("no panic").expect_err("it exits");
        assert_eq!(error.failure().expect("known").status.and_then(|status| status.code()), Some(3));
    }
    assert_eq!(watch.log().matches("start").count(), 3);
    watch.release();
    assert!(echo(&client).expect_err("nobody starts it unasked").is_closed());
    client.reconnect().expect("starts again");
    assert_eq!(echo(&client).expect("serves"), "here");
    assert_eq!(watch.log().matches("start").count(), 4);
}

#[test]
fn a_server_that_cannot_be_started_again_may_be_later() {
    let _alone = alone();
    let folder = Watch::new("gone");
    let client = Client::builder().open(odd("ok").current_dir(&folder.0)).expect("starts");
    client.call_tool("t", ()).expect("answers");
    fs::remove_dir_all(&folder.0).expect("removed");
    for _ in 0..2 {
        let error = client.reconnect().expect_err("no folder");
        assert!(matches!(error, Error::Transport { .. }), "{error}");
        assert!(error.to_string().contains("no folder"), "{error}");
        let error = fails_within(LONG, || client.call_tool("t", ()));
        assert!(matches!(error, Error::Closed(_)) && error.to_string().contains("exit status: 0"), "{error}");
    }
    fs::create_dir_all(&folder.0).expect("a folder");
    client.reconnect().expect("starts again");
    client.call_tool("t", ()).expect("answers");
}

#[test]
fn a_close_is_the_end() {
    let _alone = alone();
    let watch = Watch::new("closed");
    let client = legacy().open(watch.server("ok")).expect("starts");
    client.call_tool("t", ()).expect("answers");
    watch.hold();
    let asking = ask(&client, 2);
    let handle = client.handle();
    ends(Duration::from_secs(5), move || client.close().map(drop)).expect("closes");
    let closed = |error: Error| {
        assert!(matches!(error, Error::Closed(_)), "{error}");
        assert!(error.to_string().contains("closed by this client"), "{error}");
    };
    asking.into_iter().for_each(|asked| closed(asked.join().expect("no panic").expect_err("closed")));
    closed(handle.reconnect().map(drop).expect_err("closed"));
    closed(echo(&handle).map(drop).expect_err("closed"));
    assert_eq!(watch.log().matches("start").count(), 2);
}
