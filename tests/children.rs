//! Children and what is left of them: processes, threads, descriptors. One test at a time, as they are counted.

#![cfg(target_os = "linux")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::alone::{alone, descriptors, is_alive, mcp_threads, stat_field};
use support::peers::{self, LONG, brief, ends, eventually, odd, odd_in_shell};
use tinymcp::client::CallOptions;
use tinymcp::testing::ScriptedPeer;
use tinymcp::transport::{ChildProcess, EndStep, Environment, Patience, Stderr, Stream, memory_pair};
use tinymcp::{Client, CloseReport, Server};

#[test]
fn child() {
    peers::child();
}

fn pid(client: &Client) -> String {
    client.call_tool("t", ()).expect("answers").text_content().trim_start_matches("ok ").to_owned()
}

#[test]
fn two_hundred_clients_made_and_dropped_leave_nothing() {
    let _alone = alone();
    // In four threads, so that children are also started while others end: a pipe must not leak into a sibling.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for i in 0..50 {
                    let client = peers::client("ok");
                    match i % 5 {
                        0 => {}
                        1 => drop(client.initialize().expect("settles").clone()),
                        2 => drop(client.start_call("t", (), &CallOptions::default()).expect("sent")),
                        3 => drop(client.close().expect("closes")),
                        _ => drop(pid(&client)),
                    }
                }
            });
        }
    });
}

#[test]
fn two_hundred_connections_of_a_server_leave_nothing() {
    let _alone = alone();
    let server = support::served::server("");
    for i in 0..200 {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let server = server.clone();
        let serving = std::thread::spawn(move || server.serve(Stream::unix(theirs).expect("a transport")));
        if i % 2 == 0 {
            let client = Client::builder().open(Stream::unix(ours).expect("a transport")).expect("opens");
            client.call_tool("echo", json!({"message": "m"})).expect("answers");
        } else {
            drop(ours);
        }
        let report = serving.join().expect("no panic").expect("served");
        assert!(!report.reader_detached && report.handlers_detached == 0, "{report:?}");
    }
}

#[test]
fn handles_and_remote_tools_may_outlive_the_client_and_hold_nothing() {
    let alone = alone();
    let kept: Vec<_> = (0..20)
        .map(|_| {
            let client = peers::client("ok");
            (client.handle(), client.discover_tools().expect("lists"))
        })
        .collect();
    eventually("no descriptor left", || descriptors() <= alone.descriptors());
    eventually("no thread left", || mcp_threads().is_empty());
    assert!(kept.iter().all(|(handle, _)| handle.ping().is_err()));
}

#[test]
fn the_steps_of_ending_a_child_go_only_as_far_as_needed() {
    let _alone = alone();
    let close = |command: ChildProcess| -> (CloseReport, String) {
        let client = Client::builder().patience(brief()).open(command).expect("starts");
        let pid = pid(&client);
        (ends(LONG, move || client.close().expect("closes")), pid)
    };
    let (report, _) = close(odd("ok"));
    assert_eq!(
        (report.ending.step, report.ending.status.and_then(|s| s.code())),
        (EndStep::EndOfInput, Some(0))
    );
    assert!(report.flushed && !report.reader_detached && !report.ending.orphans_signalled, "{report:?}");
    assert_eq!(report.to_string(), "exited at end of input (exit status: 0)");
    let (report, _) = close(odd("exit_5"));
    assert_eq!(
        (report.ending.step, report.ending.status.and_then(|s| s.code())),
        (EndStep::EndOfInput, Some(5))
    );

    let start = Instant::now();
    let (report, pid) = close(odd("ignore_eof"));
    assert_eq!(report.ending.step, EndStep::Term);
    assert_eq!(report.to_string(), "exited at SIGTERM (signal: 15 (SIGTERM))");
    assert!(start.elapsed() >= Duration::from_millis(200), "it was not given its time");
    assert!(!is_alive(&pid));

    let patience =
        Patience::default().with_exit(Duration::from_millis(50)).with_term(Duration::from_millis(100));
    let deaf = odd_in_shell(r#"trap "" TERM; exec "$0" "$@""#, "ignore_eof");
    let client = Client::builder().patience(patience).open(deaf).expect("starts");
    let start = Instant::now();
    let report = client.close().expect("closes");
    assert_eq!(report.ending.step, EndStep::Kill);
    assert_eq!(report.to_string(), "killed (signal: 9 (SIGKILL))");
    assert!(start.elapsed() < Duration::from_secs(2));

    let client = peers::client("exit_mid");
    client.call_tool("t", ()).expect_err("it dies");
    let report = client.close().expect("closes");
    assert_eq!(
        (report.ending.step, report.ending.status.and_then(|s| s.code())),
        (EndStep::AlreadyEnded, Some(7))
    );
}

#[test]
fn a_child_leads_a_group_of_its_own_and_takes_its_own_children_along() {
    let _alone = alone();
    let client = Client::builder().patience(brief()).open(odd("grandchild")).expect("starts");
    let pid = pid(&client);
    let group = |pid: &str| stat_field(&fs::read_to_string(format!("/proc/{pid}/stat")).expect("alive"), 2);
    assert_eq!(group(&pid), pid, "a terminal's Ctrl-C reaches this process alone");
    let members = || {
        let output =
            Command::new("sh").args(["-c", "cat /proc/[0-9]*/stat 2>/dev/null"]).output().expect("sh");
        let stats = String::from_utf8_lossy(&output.stdout).into_owned();
        stats.lines().filter(|stat| stat_field(stat, 2) == pid && stat_field(stat, 0) != "Z").count()
    };
    assert_eq!(members(), 2);
    let report = client.close().expect("closes");
    assert!(report.ending.orphans_signalled && !report.reader_detached, "{report:?}");
    eventually("the grandchild is gone", || members() == 0);
}

#[test]
fn a_child_gets_the_environment_and_the_directory_it_is_given() {
    let _alone = alone();
    let seen = |command: ChildProcess| -> (BTreeMap<String, String>, String) {
        let client = Client::builder().open(command).expect("starts");
        let text = client.call_tool("t", ()).expect("answers").text_content();
        let seen: Value = serde_json::from_str(&text).expect("JSON");
        (
            serde_json::from_value(seen["env"].clone()).expect("variables"),
            seen["dir"].as_str().expect("a path").to_owned(),
        )
    };
    let role = ["TINYMCP_TEST_PEER"];
    // Whatever else this process has, for example from Cargo, stands for a secret.
    let (secret, _) = std::env::vars()
        .find(|(name, _)| !Environment::base_names().contains(&name.as_str()))
        .expect("more than the base");
    let (base, dir) = seen(odd("env"));
    assert!(!base.contains_key(&secret));
    assert!(
        base.keys()
            .all(|name| role.contains(&name.as_str()) || Environment::base_names().contains(&name.as_str())),
        "{base:?}"
    );
    assert_eq!(base.get("PATH"), std::env::var("PATH").ok().as_ref());
    assert_eq!(base.get("HOME"), std::env::var("HOME").ok().as_ref());
    assert_eq!(dir, std::env::current_dir().expect("a directory").to_string_lossy());

    let (more, _) =
        seen(odd("env").env("API_KEY", "k=1 \u{e9}").env("PATH", "/bin:/usr/bin").env_remove("HOME"));
    assert_eq!((more.get("API_KEY").map(String::as_str), more.get("HOME")), (Some("k=1 \u{e9}"), None));
    assert_eq!(more.get("PATH").map(String::as_str), Some("/bin:/usr/bin"));

    let (none, _) = seen(odd("env").environment(Environment::None).env("A", ""));
    assert_eq!(none.keys().map(String::as_str).collect::<Vec<_>>(), ["A", "TINYMCP_TEST_PEER"]);

    let (all, _) = seen(odd("env").environment(Environment::All).env_remove("PATH"));
    assert!(all.contains_key(&secret) && !all.contains_key("PATH"));
    assert!(std::env::vars().all(|(name, _)| name == "PATH" || all.contains_key(&name)));

    let folder = fs::canonicalize(std::env::temp_dir()).expect("a folder");
    let (_, dir) = seen(odd("env").current_dir(&folder));
    assert_eq!(dir, folder.to_string_lossy());
}

#[test]
fn stderr_goes_where_it_is_told() {
    let _alone = alone();
    let say = |stderr: Stderr, text: &str| {
        let client = Client::builder().open(odd("speak").stderr(stderr)).expect("starts");
        client.call_tool("t", json!({"text": text})).expect("answers");
        client.close().expect("closes");
    };
    let lines = Arc::new(Mutex::new(Vec::new()));
    let (tx, rx) = channel();
    let kept = Arc::clone(&lines);
    let callback = move |line: &str| {
        kept.lock().expect("ours").push(line.to_owned());
        let _ = tx.send(());
    };
    say(Stderr::lines(callback), "one\r\ntwo\n\nlast without an end");
    (0..4).for_each(|_| rx.recv_timeout(LONG).expect("a line"));
    assert_eq!(*lines.lock().expect("ours"), ["one", "two", "", "last without an end"]);
    say(Stderr::Discard, &"x".repeat(300_000));

    let last_words = |stderr: Stderr| {
        let client = Client::builder().open(odd("exit_mid").stderr(stderr)).expect("starts");
        let error = client.call_tool("t", ()).expect_err("it dies");
        error.failure().expect("known").stderr_tail.clone()
    };
    assert_eq!(last_words(Stderr::Capture), "Traceback: boom\n");
    assert_eq!(last_words(Stderr::lines(|_| {})), "Traceback: boom\n");
    assert_eq!(last_words(Stderr::Discard), "");
    // Inherited: this process's stderr has it, so a process with a stderr of ours runs the client.
    let output = Command::new(std::env::current_exe().expect("the test binary"))
        .args(["--exact", "a_client_whose_child_inherits_stderr", "--nocapture", "--test-threads=1"])
        .env("TINYMCP_TEST_INHERIT", "1")
        .output()
        .expect("runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.contains("Traceback: boom"), "{stderr}");
}

#[test]
fn a_client_whose_child_inherits_stderr() {
    if std::env::var_os("TINYMCP_TEST_INHERIT").is_some() {
        let client = Client::builder().open(odd("exit_mid").stderr(Stderr::Inherit)).expect("starts");
        let error = client.call_tool("t", ()).expect_err("it dies");
        assert_eq!(error.failure().expect("known").stderr_tail, "");
    }
}

#[test]
fn a_server_ends_with_a_host_that_was_killed() {
    let _alone = alone();
    let mut host = Command::new(std::env::current_exe().expect("the test binary"))
        .args(["--exact", "a_host_to_be_killed", "--nocapture", "--test-threads=1"])
        .env("TINYMCP_TEST_HOST", "1")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("runs");
    let lines = BufReader::new(host.stdout.take().expect("stdout")).lines();
    let pid = lines.map_while(Result::ok).find_map(|line| Some(line.strip_prefix("server ")?.to_owned()));
    let pid = pid.expect("a process id");
    assert!(is_alive(&pid));
    host.kill().expect("killed");
    host.wait().expect("reaped");
    eventually("the server saw the end of its input", || !is_alive(&pid));
}

#[test]
fn a_host_to_be_killed() {
    if std::env::var_os("TINYMCP_TEST_HOST").is_some() {
        use std::io::Write;
        let client = peers::client("ok");
        let pid = pid(&client);
        writeln!(std::io::stdout(), "\nserver {pid}").expect("stdout");
        loop {
            std::thread::park(); // with the client open
        }
    }
}

#[test]
fn one_server_serves_over_every_kind_of_channel() {
    let _alone = alone();
    let server = support::served::server("");
    let check = |client: Client| {
        let (tx, rx) = channel();
        let options = CallOptions::default().with_progress(move |report| {
            let _ = tx.send(report.progress);
        });
        assert_eq!(client.call_tool("echo", json!({"message": "m"})).expect("answers").text_content(), "m");
        client.call_tool_with("progress", json!({"n": 3}), &options).expect("answers");
        drop(options);
        assert_eq!(rx.iter().take(3).collect::<Vec<_>>(), [1.0, 2.0, 3.0]);
        let big = client.call_tool("big", json!({"bytes": 3_000_000})).expect("answers");
        assert_eq!(big.text_content().len(), 3_000_000);
        client.ping().expect("answers");
        let report = client.close().expect("closes");
        assert_eq!((report.ending.step, report.flushed), (EndStep::None, true));
    };
    let serve = |transport: Box<dyn FnOnce(Server) -> tinymcp::Result<CloseReport> + Send>| {
        let server = server.clone();
        std::thread::spawn(move || transport(server).expect("serves"))
    };
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    let unix = serve(Box::new(move |server| server.serve(Stream::unix(theirs).expect("a transport"))));
    check(Client::builder().open(Stream::unix(ours).expect("a transport")).expect("opens"));

    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let ours = std::net::TcpStream::connect(listener.local_addr().expect("an address")).expect("connects");
    let (theirs, _) = listener.accept().expect("accepts");
    let tcp = serve(Box::new(move |server| server.serve(Stream::tcp(theirs).expect("a transport"))));
    check(Client::builder().open(Stream::tcp(ours).expect("a transport")).expect("opens"));

    let (ours, theirs) = memory_pair();
    let memory = serve(Box::new(move |server| server.serve(theirs)));
    check(Client::builder().open(ours).expect("opens"));
    for serving in [unix, tcp, memory] {
        let report = serving.join().expect("no panic");
        assert!(!report.reader_detached && report.handlers_detached == 0, "{report:?}");
    }
}

#[test]
fn a_stop_ends_every_connection_promptly_though_nothing_is_read() {
    let _alone = alone();
    let server = support::served::server("");
    let handle = server.handle();
    let serving: Vec<_> = (0..3)
        .map(|i| {
            let server = server.clone();
            let (unix, theirs) = UnixStream::pair().expect("a pair");
            let (memory, other) = memory_pair();
            let thread = std::thread::spawn(move || match i {
                0 => server.serve(Stream::unix(theirs).expect("a transport")),
                1 => server.serve(other),
                // Nothing can end this read.
                _ => server.serve(Stream::new("no end", theirs.try_clone().expect("a clone"), theirs)),
            });
            (thread, unix, memory)
        })
        .collect();
    eventually("all are served", || mcp_threads().len() >= 3);
    let start = Instant::now();
    handle.stop();
    let mut detached = 0;
    let mut ends = Vec::new();
    for (thread, unix, memory) in serving {
        let report = thread.join().expect("no panic").expect("served");
        detached += usize::from(report.reader_detached);
        ends.push((unix, memory));
    }
    // Bar: 100 ms. The rest is for three threads on a busy machine.
    assert!(start.elapsed() < Duration::from_millis(250), "{:?}", start.elapsed());
    assert_eq!(detached, 1);
    drop(ends); // which ends the one that was stuck
}

#[test]
fn the_thread_that_tells_of_changes_ends_with_the_last_who_listens() {
    let _alone = alone();
    let server = Server::builder("s", "1").build().expect("a server");
    let mut client = ScriptedPeer::for_server(&server).with_deadline(LONG);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}
    });
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
    client.request(1, "subscriptions/listen", params);
    client.expect_notification("notifications/subscriptions/acknowledged");
    let runs = || mcp_threads().iter().any(|name| name.trim_end() == "mcp-changes");
    assert!(!runs(), "nothing has changed yet");
    server.tools_changed();
    client.expect_notification("notifications/tools/list_changed");
    assert!(runs());
    client.close();
    let start = Instant::now();
    client.expect_notification("notifications/cancelled");
    client.expect_result(1);
    client.expect_end();
    eventually("the thread has ended", || !runs());
    // And not by growing tired of waiting.
    assert!(start.elapsed() < Duration::from_secs(8));
}
