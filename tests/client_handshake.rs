//! How a client settles the protocol with odd servers, and what it says when it cannot.

#![cfg(unix)]

mod support;

use std::time::Duration;

use support::peers::{self, LONG, brief, client, fails_within, heard, odd};
use tinymcp::client::Timeouts;
use tinymcp::transport::ChildProcess;
use tinymcp::{Client, Error, Phase, ProtocolVersion};

#[test]
fn child() {
    peers::child();
}

/// One sentence: no line break before the server's own words, no full stop, nothing said twice.
fn is_one_sentence(error: &Error) {
    let text = error.to_string();
    let ours = text.split("stderr:").next().expect("a part");
    assert!(!ours.contains('\n') && !ours.trim_end().ends_with('.'), "{text}");
    assert_eq!(text.matches("--exact child").count() % 2, text.matches("--exact child").count(), "{text}");
}

fn refused(mode: &str) -> Error {
    let client = Client::builder().patience(brief()).open(odd(mode)).expect("starts");
    let error = fails_within(Duration::from_secs(10), || client.initialize().map(drop));
    is_one_sentence(&error);
    // A later use fails as well, and at once.
    fails_within(Duration::from_secs(10), || client.ping());
    error
}

#[test]
fn a_command_that_cannot_be_started_is_named() {
    let folder = std::env::temp_dir().join(format!("tinymcp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let text_file = folder.join("not-a-program");
    std::fs::write(&text_file, "just text").expect("a file");
    let nowhere = folder.join("nowhere");
    let exe = std::env::current_exe().expect("the test binary");
    let at = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let cases = [
        (
            ChildProcess::new("no-such-program-4711").arg("--flag"),
            vec!["no-such-program-4711 --flag".to_owned()],
        ),
        (ChildProcess::new(&nowhere), vec![at(&nowhere)]),
        (
            ChildProcess::new(&text_file).arg("a b"),
            vec![at(&text_file), "\"a b\"".to_owned(), "ermission".to_owned()],
        ),
        (ChildProcess::new(&folder), vec![at(&folder)]),
        (ChildProcess::new(exe).current_dir(&nowhere), vec![at(&nowhere), "no folder".to_owned()]),
        (ChildProcess::new("a\0b"), vec!["nul byte".to_owned()]),
    ];
    for (command, words) in cases {
        let error = Client::builder().open(command).expect_err("cannot start");
        let text = error.to_string();
        assert!(matches!(error, Error::Transport { .. }) && text.starts_with("cannot connect: "), "{text}");
        words.iter().for_each(|word| assert!(text.contains(word), "{word} in {text}"));
        is_one_sentence(&error);
    }
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn a_server_that_exits_at_once_leaves_its_status_and_its_words() {
    for (mode, code, words) in [
        ("exit_now", 3, "fatal: TOKEN not set"),
        ("exit_ok", 0, ""),
        ("init_exit", 4, "cannot open config.toml"),
    ] {
        let error = refused(mode);
        let failure = error.failure().unwrap_or_else(|| panic!("{mode}: {error}"));
        assert!(matches!(error, Error::Closed(_)), "{mode}: {error}");
        assert_eq!(failure.phase, Phase::Handshake);
        assert_eq!(failure.status.and_then(|status| status.code()), Some(code), "{mode}: {error}");
        assert_eq!(failure.stderr_tail.trim_end(), words);
        let text = error.to_string();
        for word in ["handshake", "--exact child", &format!("exit status: {code}"), words] {
            assert!(text.contains(word), "{word} in {text}");
        }
    }
}

#[test]
fn a_server_that_dies_of_the_probe_is_started_again_without_it() {
    let client = client("dies_on_discover");
    assert_eq!(client.initialize().expect("settles").version, ProtocolVersion::V2025_06_18);
    let methods: Vec<_> = heard(&client).iter().map(|message| message["method"].clone()).collect();
    assert_eq!(methods, ["initialize", "notifications/initialized", "tools/call"]);
}

#[test]
fn a_server_that_is_silent_fails_at_the_connect_timeout() {
    for (mode, words) in [("silent", ""), ("silent_loud", "waiting for the database")] {
        let timeouts = Timeouts::default()
            .with_connect(Duration::from_millis(600))
            .with_probe(Duration::from_millis(100));
        let client = Client::builder().timeouts(timeouts).patience(brief()).open(odd(mode)).expect("starts");
        let error = fails_within(Duration::from_secs(5), || client.initialize().map(drop));
        assert!(error.is_timeout(), "{error}");
        let text = error.to_string();
        for word in ["during handshake", "--exact child", words] {
            assert!(text.contains(word), "{word} in {text}");
        }
        is_one_sentence(&error);
        // spec: 2025-11-25 basic/utilities/cancellation (initialize MUST NOT be cancelled); what was sent is asked of
        // a server that reads but does not answer, below.
    }
}

#[test]
fn a_probe_without_an_answer_falls_back_and_nothing_is_cancelled() {
    let timeouts = Timeouts::default().with_probe(Duration::from_millis(50));
    let client = Client::builder().timeouts(timeouts).open(odd("mute_discover")).expect("starts");
    // The call's own time does not run during the handshake.
    let options = tinymcp::client::CallOptions::default().with_timeout(LONG);
    assert!(client.call_tool_with("t", (), &options).is_ok());
    let methods: Vec<_> = heard(&client).iter().map(|message| message["method"].clone()).collect();
    assert_eq!(methods[..3], ["server/discover", "initialize", "notifications/initialized"]);
    assert!(!methods.iter().any(|method| method == "notifications/cancelled"));

    let slow_probe =
        Timeouts::default().with_probe(Duration::from_millis(400)).with_call(Duration::from_millis(300));
    let client = Client::builder().timeouts(slow_probe).open(odd("mute_discover")).expect("starts");
    assert!(client.call_tool("t", ()).is_ok(), "the handshake took longer than the call may");
    assert!(peers::client("odd_discover").initialize().is_ok());
}

#[test]
fn an_error_to_initialize_reaches_the_user() {
    let error = refused("init_error");
    let peer = error.peer_error().expect("the server's error");
    assert_eq!((peer.code, peer.message.as_str()), (-32001, "session token expired"));
    assert!(peer.data.is_some());
    let text = error.to_string();
    for word in ["handshake", "session token expired (-32001)", "--exact child"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    let error = refused("init_junk");
    assert!(matches!(error, Error::Protocol(_)), "{error}");
    for word in ["initialize", "handshake", "--exact child"] {
        assert!(error.to_string().contains(word), "{word} in {error}");
    }
}

#[test]
fn an_error_that_is_only_text_reaches_the_user_too() {
    let error = refused("init_error_text");
    assert_eq!(error.peer_error().expect("the server's error").message, "no licence");
    assert!(error.to_string().contains("no licence"), "{error}");
}

#[test]
fn a_close_during_the_handshake_ends_it_and_starts_nothing_anew() {
    let client = Client::builder().patience(brief()).open(odd("silent")).expect("starts");
    let handle = client.handle();
    let (tx, rx) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || {
        tx.send(()).expect("open");
        fails_within(LONG, || handle.ping())
    });
    rx.recv().expect("it is about to wait");
    client.close().expect("closes");
    let error = waiting.join().expect("no panic");
    assert!(error.is_closed() && error.to_string().contains("closed by this client"), "{error}");
}

#[test]
fn versions_are_taken_or_refused_by_name() {
    for (mode, version) in
        [("ok", "2025-06-18"), ("old_version", "2024-11-05"), ("echo_version", "2025-11-25")]
    {
        let client = client(mode);
        assert_eq!(client.initialize().expect(mode).version.as_str(), version);
        assert!(client.call_tool("t", ()).is_ok(), "{mode}");
    }
    for (mode, version) in
        [("bad_version", "1999-01-01"), ("draft_version", "DRAFT-2025-v3"), ("modern_version", "2026-07-28")]
    {
        let error = refused(mode);
        assert!(matches!(error, Error::Unsupported(_)), "{mode}: {error}");
        for word in [version, "2025-11-25", "handshake", "--exact child"] {
            assert!(error.to_string().contains(word), "{mode}: {word} in {error}");
        }
    }
    let error = refused("null_version");
    assert!(error.to_string().contains("protocolVersion"), "{error}");
}

#[test]
fn the_application_may_cap_the_versions() {
    let offer = |versions: &[ProtocolVersion], mode: &str| {
        let client =
            Client::builder().versions(versions.to_vec()).patience(brief()).open(odd(mode)).expect("starts");
        client.initialize().map(|identity| identity.version.clone())
    };
    use ProtocolVersion as V;
    assert_eq!(offer(&[V::V2024_11_05], "echo_version").expect("settles"), V::V2024_11_05);
    assert_eq!(offer(&[V::V2025_03_26, V::V2024_11_05], "echo_version").expect("settles"), V::V2025_03_26);
    // The server answers 2025-06-18 whatever it is asked for.
    let error = offer(&[V::V2025_11_25, V::V2025_03_26], "ok").expect_err("not offered");
    assert!(error.to_string().contains("2025-06-18"), "{error}");
    let error = offer(&[V::V2026_07_28], "ok").expect_err("Modern only");
    assert!(
        error.to_string().contains("2026-07-28") && error.to_string().contains("--exact child"),
        "{error}"
    );
    let error = offer(&[V::V2026_07_28], "future_only").expect_err("Modern only");
    assert!(error.to_string().contains("2031-01-01"), "{error}");
    assert!(Client::builder().versions([]).open(odd("ok")).is_err());
}

#[test]
fn one_handshake_serves_all_who_need_it_at_once() {
    let client = client("ok");
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| client.call_tool("t", ()).expect("answers"));
        }
    });
    let handshakes = heard(&client).iter().filter(|message| message["method"] == "initialize").count();
    assert_eq!(handshakes, 1);
}
